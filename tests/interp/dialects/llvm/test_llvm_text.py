"""The llvm dialect: text and bytecode as mlir-opt 22 has them. tests/data/llvm holds what mlir-opt 22.1.8 printed."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from amounts import thinned
from conftest import MLIR_OPT

import halfulp as hu

DATA = Path(__file__).parents[3] / "data"
CUSTOM = (DATA / "llvm/ops.mlir").read_text()
GENERIC = (DATA / "llvm/ops_generic.mlir").read_text()

# The passes of a whole pipeline to the dialect. Two models need that loops may return new buffers.
TO_LLVM = (
    "-linalg-generalize-named-ops", "-one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops",
    "-canonicalize", "-cse", "-convert-linalg-to-loops", "-buffer-deallocation-pipeline", "-expand-strided-metadata",
    "-lower-affine", "-math-expand-ops=ops=rsqrt,tanh", "-arith-expand", "-convert-scf-to-cf", "-convert-math-to-llvm",
    "-convert-math-to-libm", "-convert-scf-to-cf", "-convert-to-llvm", "-reconcile-unrealized-casts",
)  # fmt: skip
MODELS = sorted((DATA / "programs").glob("*.linalg.mlir"))


@pytest.mark.parametrize("text", [CUSTOM, GENERIC], ids=["custom", "generic"])
def test_both_forms_are_read_and_printed_byte_for_byte(text: str) -> None:
    module = hu.parse(text)
    assert hu.print_module(module).strip() == CUSTOM.strip()
    assert hu.print_module(module, generic=True).strip() == GENERIC.strip()


@pytest.mark.parametrize("version", thinned([3, 4, 5, 6], 2))
def test_bytecode_keeps_the_ops(version: int) -> None:
    module = hu.parse(CUSTOM)
    again = hu.read_bytecode(hu.write_bytecode(module, version=version))
    assert hu.print_module(again, generic=True).strip() == GENERIC.strip()


def test_a_global_without_an_address_space_is_in_the_first() -> None:
    module = hu.parse("llvm.mlir.global external @g() : i32")
    assert "@g() {addr_space = 0 : i32} : i32" in hu.print_module(module)


_FUNCTION = "llvm.func @f(%i: i32, %f: f32, %v: vector<4xi32>, %p: !llvm.ptr, %s: !llvm.struct<(i32)>) {{\n{}\n}}"
_ANY_INTEGER = "signless integer or LLVM dialect-compatible vector of signless integer"
_ANY_FLOAT = "floating point LLVM type or LLVM dialect-compatible vector of floating point LLVM type"
_WIDTHS = "integer width of the output type is smaller or equal to the integer width of the input type"
_ERRORS = {
    '"llvm.add"(%f, %f) : (f32, f32) -> f32': f"operand #0 must be {_ANY_INTEGER}, but got 'f32'",
    '"llvm.fadd"(%i, %i) : (i32, i32) -> i32': f"operand #0 must be {_ANY_FLOAT}, but got 'i32'",
    '"llvm.add"(%i, %i) <{overflowFlags = 9 : i32}> : (i32, i32) -> i32': "LLVM integer overflow flags",
    '"llvm.load"(%i) : (i32) -> i32': "'llvm.load' op operand #0 must be LLVM pointer type, but got 'i32'",
    '"llvm.store"(%p, %i) : (!llvm.ptr, i32) -> ()': "operand #1 must be LLVM pointer type, but got 'i32'",
    '"llvm.zext"(%i) : (i32) -> i16': _WIDTHS,
    '"llvm.sext"(%i) : (i32) -> i32': _WIDTHS,
    '"llvm.extractelement"(%v, %i) : (vector<4xi32>, i32) -> i16': "result type matches vector element type",
    '"llvm.insertelement"(%v, %f, %i) : (vector<4xi32>, f32, i32) -> vector<4xi32>': "argument type matches vector",
    "%0 = llvm.extractvalue %s[1] : !llvm.struct<(i32)>": "position out of bounds: 1",
    "%0 = llvm.extractvalue %s[0, 1] : !llvm.struct<(i32)>": "expected LLVM IR structure/array type, got: 'i32'",
    "%0 = llvm.mlir.undef : index": "result #0 must be LLVM dialect-compatible type, but got 'index'",
    '%0 = llvm.icmp "oops" %i, %i : i32': "'oops' is an incorrect value of the 'predicate' attribute",
    "%0 = llvm.mlir.constant(3 : i32) : f32": "'llvm.mlir.constant' op expected integer type",
    "%0 = llvm.mlir.addressof @none : !llvm.ptr": "must reference a global defined by 'llvm.mlir.global'",
    "llvm.call @f(%i) : (i32) -> ()": "incorrect number of operands (1) for callee (expecting: 5)",
    "llvm.call @none(%i) : (i32) -> ()": "'none' does not reference a symbol in the current scope",
    "%0 = llvm.load %p atomic monotonic : !llvm.ptr -> i32": "expected alignment for atomic access",
    "%0 = llvm.load %p atomic release {alignment = 4 : i64} : !llvm.ptr -> i32": "unsupported ordering 'release'",
    "%0 = llvm.getelementptr %p[0, 1] : (!llvm.ptr) -> !llvm.ptr, i32": "type 'i32' cannot be indexed (index #1)",
    "%0 = llvm.getelementptr %p[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32)>": "is out of bounds",
    "llvm.return %i : i32": "expected no operands",
    '"llvm.call"(%p, %i) <{op_bundle_sizes = array<i32: 1>, operandSegmentSizes = array<i32: 1, 1>}> : '
    "(!llvm.ptr, i32) -> ()": "expected 1 operand bundle tags, but actually got 0",
    "%0 = llvm.atomicrmw fadd %p, %i monotonic : !llvm.ptr, i32": "op expected LLVM IR floating point type",
    "%0 = llvm.atomicrmw fadd %p, %v monotonic : !llvm.ptr, vector<4xi32>": "floating point type for vector element",
    "%0 = llvm.atomicrmw add %p, %f monotonic : !llvm.ptr, f32": "expected LLVM IR integer type",
    "%0 = llvm.atomicrmw xchg %p, %v monotonic : !llvm.ptr, vector<4xi32>": "unexpected LLVM IR type for 'xchg' bin_op",
    "%0 = llvm.atomicrmw add %p, %i unordered : !llvm.ptr, i32": "expected at least 'monotonic' ordering",
    "%0 = llvm.atomicrmw and %p, %i monotonic : !llvm.ptr, i32": "[xchg, add, sub, _and, nand, _or, _xor, max, min,",
    "%0 = llvm.atomicrmw add %i, %i monotonic : i32, i32": "operand #0 must be LLVM pointer type, but got 'i32'",
    "%0 = llvm.atomicrmw add %p, %s monotonic : !llvm.ptr, !llvm.struct<(i32)>": "dialect-compatible fixed-length vector",
    '"llvm.atomicrmw"(%p, %i) <{bin_op = 1 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i64': "result #0 and operand "
    "#1 have the same type",
    "%0 = llvm.cmpxchg %p, %i, %i acq_rel acq_rel : !llvm.ptr, i32": "failure ordering cannot be 'release' or 'acq_rel'",
    "%0 = llvm.cmpxchg %p, %i, %i unordered monotonic : !llvm.ptr, i32": "ordering must be at least 'monotonic'",
    "%0 = llvm.cmpxchg %p, %f, %f acq_rel monotonic : !llvm.ptr, f32": "'val' must be signless integer or LLVM pointer",
    "llvm.fence monotonic": "'llvm.fence' op can be given only acquire, release, acq_rel, and seq_cst orderings",
    "%0 = llvm.intr.sincos(%f) : (f32) -> !llvm.struct<(f32, f16)>": "homogeneous struct with two elements matching the "
    "operand type, but got '!llvm.struct<(f32, f16)>'",
    "%0 = llvm.intr.powi(%f, %v) : (f32, vector<4xi32>) -> f32": "operand #1 must be signless integer, but got",
    '%0 = "llvm.intr.is.fpclass"(%f) <{bit = 3 : i64}> : (f32) -> i1': "constraint: 32-bit signless integer attribute",
    '%0 = "llvm.intr.vscale"() : () -> index': "result #0 must be LLVM dialect-compatible type, but got 'index'",
    "llvm.intr.assume %i : i32": "operand #0 must be 1-bit signless integer, but got 'i32'",
    '%b = llvm.mlir.undef : i1 "llvm.intr.assume"(%b, %i) <{op_bundle_sizes = array<i32>, op_bundle_tags = []}> : (i1, '
    "i32) -> ()": "op_bundle_operands count (1) does not match with the total size (0) specified in attribute "
    "'op_bundle_sizes'",
    '%b = llvm.mlir.undef : i1 "llvm.intr.assume"(%b, %i) <{op_bundle_sizes = array<i32: 1>}> : (i1, i32) -> ()': "expected "
    "1 operand bundle tags, but actually got 0",
    '%b = llvm.mlir.undef : i1 llvm.intr.assume %b ["x"(),] : i1': "expected string",
    'llvm.call %p() ["x"(),] : !llvm.ptr, () -> ()': "expected string",
    "llvm.call %p() [3] : !llvm.ptr, () -> ()": "expected string",
    '"llvm.intr.masked.compressstore"(%v, %p, %v) : (vector<4xi32>, !llvm.ptr, vector<4xi32>) -> ()': "operand #2 must be "
    "LLVM dialect-compatible vector of 1-bit signless integer",
    "%0 = llvm.mlir.constant(0 : i32) {a = #llvm.constant_range<f32, 0, 1>} : i32": "expected builtin.integer, but found "
    "'f32'",
    "%0 = llvm.mlir.zero : !llvm.nope": "nope",
    "%0 = llvm.mlir.zero : !llvm.array<2 x void>": "invalid array element type",
    "%0 = llvm.mlir.zero : !llvm.struct<opaque>": "only identified structs can be opaque",
}


def _program(line: str) -> str:
    return _FUNCTION.format(line if "llvm.return" in line else f"  {line}\n  llvm.return")


@pytest.mark.parametrize("line", _ERRORS)
def test_what_mlir_opt_refuses_is_refused_in_its_words(line: str) -> None:
    with pytest.raises(hu.HalfulpError) as caught:
        hu.parse(_program(line))
    assert _ERRORS[line] in str(caught.value)


@pytest.mark.mlir
@pytest.mark.parametrize("line", _ERRORS)
def test_the_words_are_those_of_mlir_opt(line: str, mlir_opt: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        mlir_opt(_program(line))
    assert _ERRORS[line] in str(caught.value)


def test_an_empty_list_of_bundles_is_printed_as_mlir_opt_prints_it() -> None:
    """mlir-opt 22.1.8 leaves two spaces for it, and reads that as no list."""
    line = '"llvm.intr.assume"(%b) <{op_bundle_sizes = array<i32>, op_bundle_tags = []}> : (i1) -> ()'
    module = hu.parse(f"llvm.func @f(%b: i1) {{\n{line}\nllvm.return\n}}")
    assert "llvm.intr.assume %b  : i1\n" in hu.print_module(module).replace("%arg0", "%b")
    assert "op_bundle_tags = []" in hu.print_module(module, generic=True)


@pytest.mark.parametrize("name", ["loops", "aliases"])
def test_attributes_are_read_from_bytecode_and_written_byte_for_byte(name: str) -> None:
    """The files of bytecode are what mlir-opt 22.1.8 made of the texts. An annotation of a loop has a code, and text for
    its parts; the attributes of aliases are text.
    """
    text, code = (DATA / f"llvm/{name}.mlir").read_text(), (DATA / f"llvm/{name}.mlirbc").read_bytes()
    module = hu.read_bytecode(code)
    assert hu.print_module(module).strip() == text.strip()
    assert hu.print_module(hu.parse(text)).strip() == text.strip()
    assert hu.write_bytecode(module, producer="MLIR22.1.8") == code


@pytest.mark.mlir
def test_mlir_opt_reads_annotations_of_loops() -> None:
    text = (DATA / "llvm/loops.mlir").read_text()
    code = hu.write_bytecode(hu.parse(text))
    assert b"#llvm.loop_annotation" not in code
    assert _opt(code).decode().strip() == text.strip()


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_annotations_of_loops_are_kept_in_each_version(version: int) -> None:
    module = hu.parse((DATA / "llvm/loops.mlir").read_text())
    again = hu.read_bytecode(hu.write_bytecode(module, version=version))
    assert hu.print_module(again) == hu.print_module(module)


_WRONG_LOOPS = {
    "disableNonforced = 3 : i32": "invalid kind of attribute specified",
    "mustProgress = true, mustProgress = true": "duplicate or unknown struct parameter name: mustProgress",
    "nope = true": "duplicate or unknown struct parameter name: nope",
    "interleave = <>": "expected",
    "parallelAccesses = 3 : i32": "expected",
}


@pytest.mark.parametrize("parameters", _WRONG_LOOPS)
def test_wrong_annotations_of_loops_are_refused(parameters: str) -> None:
    program = f"llvm.func @f() {{{{\n  llvm.br ^a {{{{loop_annotation = #llvm.loop_annotation<{parameters}>}}}}\n^a:\n  llvm.return\n}}}}"
    with pytest.raises(hu.HalfulpError, match=_WRONG_LOOPS[parameters]):
        hu.parse(program.replace("{{", "{").replace("}}", "}"))


_RANGES = {
    "i8, 200, 10": "i8, -56, 10",
    "si8, -129, 3": "i8, 127, 3",
    "i1, 0, 1": "i1, 0, -1",
    "ui128, 170141183460469231731687303715884105727, 3": "i128, 170141183460469231731687303715884105727, 3",
    "i0, 0, 0": "i0, 0, 0",
}
"""Ranges, and as mlir-opt 22.1.8 prints them."""


@pytest.mark.parametrize("text", _RANGES)
def test_bounds_of_a_range_count_modulo_the_width(text: str) -> None:
    program = f"llvm.func @f(i8 {{llvm.range = #llvm.constant_range<{text}>}})"
    assert f"#llvm.constant_range<{_RANGES[text]}>" in hu.print_module(hu.parse(program))


_VALUES = {"unit": "", "integer": " = 4 : i64", "type": " = i32"}
_WORDS = {
    "llvm.func @f({} {{llvm.noalias{}}})": ("unit", "pointer"),
    "llvm.func @f() -> ({} {{llvm.nonnull{}}})": ("unit", "pointer"),
    "llvm.func @f({} {{llvm.noundef{}}})": ("unit", ""),
    "llvm.func @f() -> ({} {{llvm.signext{}}})": ("unit", "integer"),
    "llvm.func @f({} {{llvm.align{}}})": ("integer", "pointer"),
    "llvm.func @f({} {{llvm.alignstack{}}})": ("integer", ""),
    "llvm.func @f({} {{llvm.byval{}}})": ("type", "pointer"),
    "llvm.func @f() -> ({} {{llvm.byval{}}})": None,
    "llvm.func @f() -> ({} {{llvm.readnone{}}})": None,
    "llvm.func @f() -> ({} {{llvm.returned{}}})": None,
}
"""What an attribute must be, and the types that it is for; None if it does not stand there."""


def _said(form: str, kind: str, type_: str) -> str:
    """Return the words of mlir-opt about an attribute; "" if it takes it."""
    rule = _WORDS[form]
    if rule is None:
        return "is not a valid result attribute"
    wanted, place = rule
    if kind != wanted:
        return f"should be {'an' if wanted == 'integer' else 'a'} {wanted} attribute"
    fits = {"pointer": type_ == "!llvm.ptr", "integer": type_ == "i32", "": True}[place]
    return "" if fits else f"attribute attached to non-{place} LLVM type"


@pytest.mark.parametrize("type_", ["i32", "!llvm.ptr", "f32"])
@pytest.mark.parametrize("kind", _VALUES)
@pytest.mark.parametrize("form", _WORDS)
def test_attributes_of_parameters(form: str, kind: str, type_: str) -> None:
    text, words = form.format(type_, _VALUES[kind]), _said(form, kind, type_)
    if not words:
        hu.parse(text)
        return
    with pytest.raises(hu.errors.VerifyError, match=words):
        hu.parse(text)


@pytest.mark.mlir
def test_attributes_of_parameters_are_judged_as_by_mlir_opt() -> None:
    asked = [(form, kind, type_) for form in _WORDS for kind in _VALUES for type_ in ("i32", "!llvm.ptr", "f32")]
    texts = [form.format(type_, _VALUES[kind]) for form, kind, type_ in asked]
    said = subprocess.run(
        [MLIR_OPT, "--split-input-file"], input="\n// -----\n".join(texts), capture_output=True, text=True, check=False
    ).stderr
    found = {int(line): words for line, words in re.findall(r'<stdin>:(\d+):\d+: error: "[^"]*" (.*)', said)}
    assert [found.get(2 * number + 1, "") for number in range(len(asked))] == [_said(*each) for each in asked]


def test_there_are_as_many_attributes_as_results() -> None:
    text = '"llvm.func"() <{function_type = !llvm.func<void ()>, res_attrs = [{}], sym_name = "f", linkage = '
    with pytest.raises(hu.errors.VerifyError, match="number of function results, got 1, but expected 0"):
        hu.parse(f"{text}#llvm.linkage<external>}}> ({{}}) : () -> ()")


def _opt(data: bytes, *arguments: str) -> bytes:
    return subprocess.run([MLIR_OPT, *arguments], input=data, capture_output=True, check=True).stdout


@pytest.mark.mlir
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name.partition(".")[0])
def test_models_lowered_whole_are_read_and_written_byte_for_byte(model: Path) -> None:
    lowered = _opt(model.read_bytes(), *TO_LLVM)
    text = lowered.decode()
    module = hu.parse(text, filename="<stdin>")
    assert hu.print_module(module).strip() == text.strip()
    generic = hu.print_module(module, generic=True)
    assert generic.strip() == _opt(lowered, "--mlir-print-op-generic").decode().strip()
    assert hu.print_module(hu.parse(generic)).strip() == text.strip()
    code = _opt(lowered, "--emit-bytecode")
    read = hu.read_bytecode(code)
    assert hu.print_module(read).strip() == text.strip()
    assert hu.write_bytecode(read, producer="MLIR22.1.8") == code
    assert _opt(hu.write_bytecode(module)) == lowered


@pytest.mark.parametrize(
    "line",
    [
        "  llvm.intr.masked.store %v, %p, %m {alignment = 16 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr",
        "  %r = llvm.intr.masked.load %p, %m, %v {alignment = 16 : i32, nontemporal} : "
        "(!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>",
    ],
    ids=["store", "load"],
)
def test_bytecode_of_mlir_opt_has_the_properties_that_are_declared(line: str, mlir_opt: Any, tmp_path: Path) -> None:
    """In MLIR 22 a masked load may be nontemporal; a masked store has no such property."""
    text = f"llvm.func @f(%v: vector<4xf32>, %m: vector<4xi1>, %p: !llvm.ptr) {{\n{line}\n  llvm.return\n}}"
    written = tmp_path / "written.mlirbc"
    mlir_opt(text, "--emit-bytecode", "-o", str(written))
    assert hu.print_module(hu.read_bytecode(written.read_bytes())) == hu.print_module(hu.parse(text))


def test_a_part_of_an_annotation_in_bytecode_is_of_its_kind() -> None:
    """mlir-opt 22.1.8: expected mlir::LLVM::LoopPeeledAttr, but got: #llvm.loop_unroll<count = 8 : i32>."""
    code = (DATA / "llvm/loops.mlirbc").read_bytes()
    assert code.count(b"#llvm.loop_peeled<") == 1
    with pytest.raises(
        hu.errors.BytecodeError, match="#llvm.loop_annotation has no 'peeled' that is #llvm.loop_unroll<"
    ):
        hu.read_bytecode(code.replace(b"#llvm.loop_peeled<", b"#llvm.loop_unroll<"))
