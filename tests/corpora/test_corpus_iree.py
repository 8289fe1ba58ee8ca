"""The iree_codegen corpus: treated as iree-opt 3.13 treats it, the document's own examples included."""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest
from amounts import amounts
from corpora.corpus import CorpusEntry, digest
from corpora.corpus_iree import asked_text, entries, go_around, is_of_document, record, recorded

import halfulp
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded, ParseError, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.lexer import tokenize
from halfulp.interp.text.parser import parse_attribute, parse_type
from halfulp.interp.text.printer import print_module

# The ops and attributes of the dialect's document.
OPS = (
    "dispatch_config extract_strided_metadata fusion_barrier index_hint inner_tiled load_from_buffer null_pointer "
    "query_tile_sizes smt.assert smt.constraints smt.knob smt.lookup store_to_buffer swizzle_hint workgroup_count_hint "
    "yield"
)
"""Ops of the document."""
UNDOCUMENTED = ("ukernel.generic",)
ATTRIBUTES = (
    "denormal_fp_math compilation_info export_config smt.int_knob lowering_config smt.one_of_knob pass_pipeline root_op "
    "rotate_rows simple_target symbolic_ukernel_provider translation_info ukernel_descriptor xor_shuffle local_mapping "
    "workgroup_mapping workgroup_scope"
)
# Messages that say the same in other words: of types of LLVM 24, of enums, and of which rule is named first.
OTHERWISE = 8


def text_of(module: Module, generic: bool = False) -> str:
    return print_module(module, generic=generic, schema=Schema.LLVM24) + "\n"


@cache
def read(text: str) -> Module | HalfulpError:
    try:
        return parse_module(text, "<stdin>")
    except HalfulpError as error:
        return error


def accepted() -> Iterator[tuple[CorpusEntry, Module]]:
    for entry in entries():
        module = read(entry.text)
        if isinstance(module, Module):
            yield entry, module


def test_the_record_is_about_these_modules() -> None:
    assert recorded().keys() == {entry.name for entry in entries()}
    assert not [entry.name for entry in entries() if recorded()[entry.name].digest != digest(asked_text(entry))]
    rejected = {entry.name for entry in entries() if recorded()[entry.name].error is not None}
    assert rejected == {entry.name for entry in entries() if entry.file == "invalid.mlir"}


def test_what_iree_opt_takes_is_read_and_printed_byte_for_byte() -> None:
    checked = 0
    for entry in entries():
        theirs = recorded()[entry.name]
        if theirs.error is None:
            module = read(entry.text)
            assert isinstance(module, Module), (entry.name, module)
            assert text_of(module) == theirs.printed["custom"], entry.name
            assert text_of(read_again(theirs.printed["generic"])) == theirs.printed["custom"], entry.name
            checked += 1
    assert checked > 60


def read_again(text: str) -> Module:
    module = read(text)
    assert isinstance(module, Module), (text, module)
    return module


def test_what_iree_opt_rejects_is_rejected_at_the_same_place() -> None:
    other = 0
    for entry in entries():
        theirs = recorded()[entry.name]
        if theirs.error is not None:
            ours = read(entry.text)
            assert isinstance(ours, HalfulpError), entry.name
            place, _, message = str(ours).splitlines()[0].partition(" error: ")
            assert place == "<stdin>:{}:{}:".format(*theirs.error[:2]), (entry.name, str(ours), theirs.error)
            other += message != theirs.error[2]
    assert other <= OTHERWISE


def test_every_op_and_attribute_of_the_document_is_there() -> None:
    shown = {op.name for _, module in accepted() for op in module.walk()}
    names = {f"iree_codegen.{op}" for op in (*OPS.split(), *UNDOCUMENTED)}
    assert names <= shown
    dialect = default_registry().dialects["iree_codegen"]
    assert names == dialect.ops.keys()
    assert set(ATTRIBUTES.split()) <= dialect.attributes.keys()
    texts = "\n".join(text_of(module) for _, module in accepted())
    assert [name for name in ATTRIBUTES.split() if f"#iree_codegen.{name}" not in texts] == []
    shown |= {"check.expect_close", "check.expect_serialized_eq"}  # StableHLO has a dialect check, too
    for name in ("smt", "check", "flow", "util"):
        assert default_registry().dialects[name].ops.keys() <= shown


def test_every_op_of_the_document_has_an_error() -> None:
    wrong = "\n".join(entry.text for entry in entries() if entry.file == "invalid.mlir")
    assert [op for op in OPS.split() if f"iree_codegen.{op}" not in wrong] == []


def test_the_document_s_syntax_means_what_iree_opt_prints() -> None:
    documented = [entry for entry in entries() if is_of_document(entry)]
    assert len(documented) > 10
    for entry in documented:
        assert text_of(read_again(entry.text)) == recorded()[entry.name].printed["custom"], entry.name


@pytest.mark.parametrize("step", amounts(5, long=1))
def test_bytecode_keeps_all_of_it(step: int) -> None:
    for entry, module in list(accepted())[::step]:
        again = read_bytecode(write_bytecode(module, schema=Schema.LLVM24), "<stdin>")
        assert text_of(again) == text_of(module), entry.name


def test_a_pipeline_without_a_successor_keeps_its_word() -> None:
    text = "#iree_codegen.translation_info<pipeline = Custom workgroup_size = [4]>"
    assert str(parse_attribute(text)) == text
    module = read_again(
        "func.func @f() { iree_codegen.smt.constraints target = <set = 0>, pipeline = Custom, knobs = {} dims() {\n"
        "^bb0:\n} return }"
    )
    assert "pipeline = Custom" in text_of(module)
    assert text_of(read_again(text_of(module, generic=True))) == text_of(module)


def test_attributes_that_are_not_declared_are_kept() -> None:
    for text in (
        '#iree_gpu.target<arch = "gfx942", wgp = <compute = fp64>>',
        "#iree_cpu.lowering_config<a = [1, [2]]>",
    ):
        assert str(parse_attribute(text)) == text
    assert str(parse_type("!smt.array<[!smt.int -> !smt.bool]>")) == "!smt.array<[!smt.int -> !smt.bool]>"
    generic = '"flow.unknown"() : () -> ()'
    assert generic in text_of(read_again(generic))


def test_what_mlir_22_has_in_the_dictionary_is_read_too() -> None:
    form = "func.func @f(%m: memref<4xf32>, %i: index) {{\n%a = memref.alloc(){} : memref<4xf32>\n"
    form += "%0 = memref.load %m[%i]{} : memref<4xf32>\nreturn }}"
    older = form.format(" {alignment = 64 : i64}", " {alignment = 8 : i64, nontemporal = true}")
    newer = form.format(" alignment = 64", " alignment(8) nontemporal(true)")
    assert text_of(read_again(older)) == text_of(read_again(newer))


def test_memrefs_are_accepted_by_tile_operations_as_the_document_says() -> None:
    maps = "[affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>]"
    text = (
        "func.func @f(%a: memref<4xf16>, %c: memref<4xf32>) {\n"
        f"iree_codegen.inner_tiled ins(%a, %a) outs(%c) <indexing_maps = {maps}, iterator_types = [], "
        "kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = true, "
        "opaque = false>> : memref<4xf16>, memref<4xf16> into memref<4xf32>\nreturn }"
    )
    assert text_of(read_again(text))


@pytest.mark.parametrize(
    "text",
    [
        '#iree_codegen.smt.one_of_knob<"a", [' * 200,
        "#iree_codegen.compilation_info<lowering_config = " * 200,
        "#iree_codegen.lowering_config<tile_sizes = [" + "[" * 20000,
        "#iree_gpu.promote_with_cache_swizzle<" * 5000,
        "#iree_codegen.rotate_rows<" + "9" * 5000 + ", 1>",
        "#iree_codegen.rotate_rows<16, 0>",
        "#iree_codegen.xor_shuffle<0, 1, 5>",
        "#iree_codegen.rotate_rows<",
        "#iree_codegen",
        "#iree_codegen.",
        "#iree_gpu<",
        "#iree_gpu.mma_semantics<distributed",
    ],
    ids=range(12),
)
def test_hostile_attributes_are_refused(text: str) -> None:
    with pytest.raises((ParseError, LimitExceeded)):
        parse_attribute(text)


@pytest.mark.long
def test_random_changes_are_read_alike_or_refused() -> None:
    """Tokens removed, replaced, repeated and exchanged: what is still accepted is printed so that it means the same."""
    random = Random(9)
    texts = [tokenize(entry.text)[:-2] for entry in entries()]
    texts += [tokenize(text_of(module, generic=True))[:-2] for _, module in accepted()]
    pool = [token for tokens in texts for token in tokens]
    survived = 0
    for _ in range(8000):
        tokens = list(random.choice(texts))
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(tokens))
            tokens[at : at + 1] = random.choice(([], [random.choice(pool)], [tokens[at], random.choice(pool)]))
            if not tokens:
                break
        try:
            module = parse_module(" ".join(tokens), "<stdin>")
        except HalfulpError:
            continue
        survived += 1
        assert text_of(parse_module(text_of(module))) == text_of(module)
        assert text_of(parse_module(text_of(module, generic=True))) == text_of(module)
    assert survived > 30


# --- against iree-opt -------------------------------------------------------------------------------------------------


def check_against(tool: str, some: tuple[CorpusEntry, ...]) -> None:
    """Assert that the record is what iree-opt says, that it accepts what halfulp prints, and that it reads and writes
    the same bytecode.
    """
    for entry in some:
        asked = asked_text(entry)
        assert record(tool, asked) == recorded()[entry.name], entry.name
        module = read(entry.text)
        if isinstance(module, Module):
            for generic in (False, True):
                assert record(tool, print_module(module, generic=generic)).error is None, (entry.name, generic)
            ours = write_bytecode(module, schema=Schema.LLVM24)
            theirs = subprocess.run([tool], input=ours, capture_output=True, check=True).stdout
            assert theirs.decode() == text_of(module), entry.name
            written = subprocess.run([tool, "--emit-bytecode"], input=asked.encode(), capture_output=True, check=True)
            assert text_of(read_bytecode(written.stdout, "<stdin>")) == text_of(module), entry.name


@pytest.mark.parametrize("step", amounts(12, 1))
def test_iree_opt_still_says_so(step: int, iree_opt: str) -> None:
    check_against(iree_opt, entries()[::step])


def test_going_around_a_checkout(iree_opt: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Modules of other dialects are skipped; what iree-opt prints differently afterwards is reported."""
    (tmp_path / "deeper").mkdir()
    taken = "func.func private @f() attributes {a = #iree_codegen.local_mapping<1>}\n"
    refused = "func.func private @f() attributes {a = #iree_codegen.no_such_thing}\n"
    (tmp_path / "deeper" / "one.mlir").write_text(f"{taken}// ----- \n{refused}// -----\nmodule {{}}\n")
    assert go_around(iree_opt, tmp_path) == 0
    assert capsys.readouterr().out == "the same: 1, not taken: 1, otherwise: 0\n"
    # A tool that prints its own number in place of another: never the same twice.
    tool = tmp_path / "tool"
    tool.write_text(f'#!/bin/sh\n{iree_opt} "$@" | sed "s/<1>/<$$>/"\n')
    tool.chmod(0o755)
    assert go_around(str(tool), tmp_path) == 1
    assert "one.mlir#0: different\n" in capsys.readouterr().out


def all_kinds() -> list[str]:
    dialect = default_registry().dialects["iree_gpu"]
    assert dialect.attributes
    from halfulp.semantics.matrix_units.kinds import KINDS

    return [f"#iree_gpu.{kind.attribute}<{kind.name}>" for kind in KINDS.values() if kind.block is None]


def test_iree_opt_takes_every_kind_and_tile(iree_opt: str) -> None:
    """One module with an op for each kind, distributed and not: shapes and types are as iree-opt wants them."""
    from halfulp.interp.dialects.iree_codegen.tiled_rules import expected_tiles

    maps = "[affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>]"
    functions: list[str] = []
    for kind in all_kinds():
        for distributed in ("true", "false"):
            semantics = f"#iree_gpu.mma_semantics<distributed = {distributed}, opaque = false>"
            tiles = expected_tiles(parse_attribute(kind), parse_attribute(semantics))
            if tiles is None:
                assert "NV_WMMA" in kind
                continue
            a, b, c = tiles
            functions.append(
                f"func.func @f{len(functions)}(%a: {a}, %b: {b}, %c: {c}) -> {c} {{\n"
                f"%0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = {maps}, iterator_types = [], "
                f"kind = {kind}, semantics = {semantics}> : {a}, {b} into {c}\nreturn %0 : {c}\n}}"
            )
    text = "\n".join(functions)
    assert len(functions) == 2 * 116 - 2
    theirs = record(iree_opt, text)
    assert theirs.error is None
    assert text_of(read_again(text)) == theirs.printed["custom"]


def test_a_dispatch_config_does_not_run_inside_a_function() -> None:
    module = halfulp.load(
        "func.func @main() {\niree_codegen.dispatch_config @main {\n^bb0(%x: index):\n"
        "iree_codegen.yield %x, %x, %x : index, index, index\n}\nreturn\n}"
    )
    with pytest.raises(Unsupported, match="cannot execute 'iree_codegen.dispatch_config'"):
        halfulp.run(module)


PIPELINES = {
    "": None,
    "canonicalize": None,
    " cse , canonicalize{max-iterations=1 top-down} ": None,
    "builtin.module(func.func(cse,canonicalize{max-iterations=1}) , cse)": None,
    "func.func((cse))": None,
    "canonicalize{top-down={1}}": None,
    "func.func(cse": "encountered unbalanced parentheses while parsing pipeline",
    "cse)": "encountered extra closing ')' creating unbalanced parentheses while parsing pipeline",
    "func.func(cse))": "encountered extra closing ')' creating unbalanced parentheses while parsing pipeline",
    "canonicalize{top-down={1}": "missing closing '}' while processing pass options",
    "canonicalize{top-down=1}(cse)": "expected ',' after parsing pipeline",
    "func.func{}(cse)": "expected ',' after parsing pipeline",
    "func.func(cse)cse": "expected ',' after parsing pipeline",
    "cse,,cse": "'' does not refer to a registered pass or pass pipeline",
    "func.func()": "'' does not refer to a registered pass or pass pipeline",
    "cse,": "'' does not refer to a registered pass or pass pipeline",
    " ": "'' does not refer to a registered pass or pass pipeline",
    "cse}": "'cse}' does not refer to a registered pass or pass pipeline",
}


def pipeline_module(pipeline: str) -> str:
    return f'func.func @f() attributes {{a = #iree_codegen.pass_pipeline<"{pipeline}">}} {{ return }}\n'


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_pipelines_are_read(pipeline: str) -> None:
    problem = PIPELINES[pipeline]
    if problem is None:
        halfulp.load(pipeline_module(pipeline))
        return
    with pytest.raises(ParseError) as raised:
        halfulp.load(pipeline_module(pipeline))
    assert raised.value.message == f"invalid pass pipeline specification: '{pipeline}': {problem}"


def test_iree_opt_refuses_the_same_pipelines(iree_opt: str) -> None:
    for pipeline, problem in PIPELINES.items():
        theirs = record(iree_opt, pipeline_module(pipeline))
        assert (theirs.error is None) == (problem is None), pipeline
        if theirs.error is not None:
            assert f"invalid pass pipeline specification: '{pipeline}'" in str(theirs.error)
