"""Operations, regions, names, aliases and files: what the parser builds."""

import gc
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from amounts import thinned
from conftest import MlirOpt
from tables import each_row

import halfulp as hu
from halfulp.command import main as cli
from halfulp.interp.declare import declarations
from halfulp.interp.declare.declarations import Arity, Dialect, Property, RegionSlot, Slot, Trait
from halfulp.interp.declare.parameters import read_format
from halfulp.interp.declare.registry import Registry, default_registry
from halfulp.interp.ir.attributes import DictionaryAttr, IntegerAttr, StringAttr
from halfulp.interp.ir.base import CallSiteLoc, FileLineCol, NameLoc
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import ParseError, VerifyError
from halfulp.interp.ir.operations import SKIPPED, BlockArgument, Module, Operation, OpResult
from halfulp.interp.ir.types import F, IntegerType
from halfulp.interp.loading import parse_module, split_input
from halfulp.interp.text.parser import parse_attribute, parse_type
from halfulp.interp.text.printer import print_module


def function(module: Module, name: str = "f") -> Operation:
    found = module.lookup(name)
    assert found is not None
    return found


def body(text: str) -> list[Operation]:
    module = parse_module(f"func.func @f(%a: i32, %b: f32, %c: i1) {{\n{text}\n  return\n}}", "in.mlir")
    return function(module).regions[0].blocks[0].operations


def test_an_implicit_module_holds_several_operations() -> None:
    module = parse_module("func.func private @f()\nfunc.func private @g()")
    assert module.operation.name == "builtin.module"
    assert [operation.symbol_name for operation in module.body] == ["f", "g"]
    assert parse_module("").body == []
    assert parse_module("module @m {}").operation.symbol_name == "m"


def test_operands_results_and_properties() -> None:
    add, compare, _ = body(
        "%0 = arith.addf %b, %b fastmath<nnan, contract> {x.y = 1 : i8} : f32\n%1 = arith.cmpf uno, %0, %b : f32"
    )
    assert [type(operand) for operand in add.operands] == [BlockArgument, BlockArgument]
    assert add.operands[0] is add.operands[1]
    assert add.attributes == {"x.y": IntegerAttr(1, IntegerType(8))}
    fastmath = add.properties["fastmath"]
    assert isinstance(fastmath, EnumAttr)
    assert fastmath.keywords == "nnan,contract"
    assert compare.operands[0] is add.results[0]
    assert compare.properties["predicate"] == IntegerAttr(14, IntegerType(64))
    assert str(compare.properties["fastmath"]) == "#arith.fastmath<none>"
    assert compare.results[0].type == IntegerType(1)
    assert compare.results[0].name == "1"


def test_generic_and_custom_forms_are_the_same_operation() -> None:
    custom = body("%0 = arith.addi %a, %a overflow<nsw> : i32")[0]
    generic = body('%0 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32')[0]
    older = body('%0 = "arith.addi"(%a, %a) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32')[0]
    for operation in (generic, older):
        assert operation.definition is custom.definition
        assert operation.properties == custom.properties
        assert operation.attributes == {}


def test_defaults_are_stored() -> None:
    assert (
        str(body('%0 = "arith.addi"(%a, %a) : (i32, i32) -> i32')[0].properties["overflowFlags"])
        == "#arith.overflow<none>"
    )


def test_several_results_and_their_parts() -> None:
    operations = body(
        "%x, %y = arith.addui_extended %a, %a : i32, i1\n"
        "%p:2 = arith.addui_extended %a, %a : i32, i1\n"
        '"test.use"(%x, %y, %p#1, %p#0, %p) : (i32, i1, i1, i32, i32) -> ()'
    )
    first, second = operations[0].results, operations[1].results
    assert operations[2].operands == [first[0], first[1], second[1], second[0], second[0]]


def test_a_use_before_the_definition_is_put_right() -> None:
    module = parse_module('"test.use"(%x, %x) : (i32, i32) -> ()\n%x = "test.make"() : () -> i32')
    use, make = module.body
    assert use.operands == [make.results[0]] * 2
    assert isinstance(use.operands[0], OpResult)


def test_blocks_and_branches() -> None:
    module = parse_module(
        """func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^yes(%x : i32), ^no
^no:
  cf.br ^yes(%x : i32)
^yes(%r: i32):
  return %r : i32
}"""
    )
    entry, no, yes = function(module).regions[0].blocks
    branch = entry.operations[0]
    assert branch.operands == [entry.arguments[0]]
    assert branch.successors == [(yes, [entry.arguments[1]]), (no, [])]
    assert no.operations[0].successors == [(yes, [entry.arguments[1]])]
    assert yes.arguments[0].name == "r"
    again = parse_module(print_module(module, generic=True))
    assert print_module(again) == print_module(module)


def test_names_end_with_their_region() -> None:
    text = '"test.op"() ({{ {0} = "test.a"() : () -> i32 }}, {{ {1} = "test.b"() : () -> i32 }}) : () -> ()'
    assert parse_module(text.format("%x", "%x")).body[0].regions[1].blocks[0].operations[0].name == "test.b"
    with pytest.raises(ParseError, match="undeclared"):
        parse_module(text.format("%x", "%x") + '"test.use"(%x) : (i32) -> ()')
    with pytest.raises(ParseError, match="redefinition"):
        parse_module('%x = "test.a"() : () -> i32\n' + text.format("%x", "%y"))


def test_an_op_knows_where_it_stands() -> None:
    module = parse_module('\n  func.func @f() {\n    // é\n    return loc("elsewhere")\n  }', "in.mlir")
    operation = function(module).regions[0].blocks[0].operations[0]
    assert operation.position == FileLineCol("in.mlir", 4, 5)
    assert operation.location == NameLoc("elsewhere")
    assert function(module).location == FileLineCol("in.mlir", 2, 3)


def test_columns_count_bytes() -> None:
    add = body('%0 = arith.constant {x = "é"} 1 : i32 loc(unknown) %1 = arith.addi %0, %0 : i32')[1]
    assert add.position is not None
    assert add.position.column == len('%0 = arith.constant {x = "é"} 1 : i32 loc(unknown) %1 = '.encode()) + 1


def test_locations_by_alias_defined_after_use() -> None:
    module = parse_module(
        """"test.op"() ({
^bb0(%x: i32 loc(#inner)):
  "test.end"() : () -> () loc(#outer)
}) : () -> () loc(#outer)
#inner = loc("in":1:2)
#outer = loc(callsite(#inner at "caller"))
"""
    )
    operation = module.body[0]
    outer = CallSiteLoc(FileLineCol("in", 1, 2), NameLoc("caller"))
    assert operation.location == outer
    assert operation.regions[0].blocks[0].arguments[0].location == FileLineCol("in", 1, 2)
    assert operation.regions[0].blocks[0].operations[0].location == outer


def test_aliases_of_types_and_attributes() -> None:
    module = parse_module(
        "!q = !quant.uniform<i8:f32, 2.0>\n#a = {n = [1, 2]}\nfunc.func private @f(tensor<2x!q>) attributes {t.a = #a}"
    )
    operation = function(module)
    assert str(operation.properties["function_type"]) == "(tensor<2x!quant.uniform<i8:f32, 2.000000e+00>>) -> ()"
    assert str(operation.attributes["t.a"]) == "{n = [1, 2]}"


def test_resources_are_kept() -> None:
    text = """"test.op"() {a = dense_resource<blob> : tensor<1xi64>} : () -> ()
{-#
  dialect_resources: {
    builtin: {
      blob: "0x080000000100000000000000"
    }
  },
  external_resources: {
    tool: {
      flag: true,
      text: "x"
    }
  }
#-}
"""
    module = parse_module(text)
    assert module.resources.blob("blob") == (1).to_bytes(8, "little")
    assert module.resources.blob("other") is None
    assert module.resources.external == {"tool": {"flag": True, "text": "x"}}
    assert text.partition("{-#")[2] in print_module(module)


def test_unregistered_things_are_kept_as_written() -> None:
    text = '"other.op"() <{p = 1}> {a = #other.attr<x , [y]>} : () -> !other.type<a ->  b>'
    module = parse_module(text)
    operation = module.body[0]
    assert operation.definition is None
    assert operation.raw_properties == DictionaryAttr((("p", IntegerAttr(1, IntegerType(64))),))
    assert str(operation.attributes["a"]) == "#other.attr<x , [y]>"
    assert str(operation.results[0].type) == "!other.type<a ->  b>"
    for rejected in (text, "func.func private @f(!other.type)", "module attributes {a.b = #other.x} {}"):
        with pytest.raises(ParseError):
            parse_module(rejected, allow_unregistered=False)


def test_parts_of_a_file_keep_their_places() -> None:
    text = 'module {}\n// -----\n\nfunc.func @f() { bad }\n"é" // -----module @m {}\n// -----0\n// -----'
    parts = list(split_input(text))
    assert [part.start for part in parts] == [(1, 1), (2, 9), (5, 14)]
    assert [part.text.strip() for part in parts[::2]] == ["module {}", "module @m {}\n// -----0\n// -----"]
    with pytest.raises(ParseError) as caught:
        parse_module(parts[1].text, "in", start=parts[1].start)
    assert str(caught.value).startswith("in:4:18:")
    module = parse_module(parts[2].text, "in", start=parts[2].start)
    assert module.operation.symbol_name == "m"
    assert str(module.operation.location) == '"in":5:14'
    implicit = parse_module("// nothing", "in", start=(2, 9)).operation
    assert str(implicit.location) == '"in":2:9'
    with pytest.raises(ParseError, match="^in:2:10:.*NUL"):
        parse_module(" \0", "in", start=(2, 9))


def test_symbols_are_found() -> None:
    module = parse_module(
        "module @top { module @inner { func.func @f() { call @g() : () -> () return } func.func private @g() } }"
    )
    inner = module.lookup("@inner::@g")
    assert inner is not None
    call = module.lookup("inner::f")
    assert call is not None
    assert module.lookup("g", call) is inner
    assert module.lookup("missing") is None
    assert module.lookup("@f::@x") is None


def test_bytes_are_utf_8() -> None:
    assert parse_module('module attributes {a.b = "é"} {}'.encode()).operation.attributes["a.b"] == StringAttr("é")


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    parse_module("module {}")
    assert gc.isenabled()
    with pytest.raises(ParseError):
        parse_module("module {")
    assert gc.isenabled()
    gc.disable()
    try:
        parse_module("module {}")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_deep_caller_gets_an_error_of_ours() -> None:
    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            parse_type("tuple<" * 90 + ">" * 90)

    with pytest.raises((ParseError, RecursionError)) as caught:
        deep(sys.getrecursionlimit() - 250)
    assert isinstance(caught.value, ParseError)


# --- declared formats -----------------------------------------------------------------------------------------------------


def a_dialect() -> Registry:
    dialect = Dialect("t")
    dialect.op(
        "maybe",
        "(`with` $extra^ `:` type($extra)):(`without`)? attr-dict",
        operands=(Slot("extra", declarations.ANY, Arity.OPTIONAL),),
    )
    dialect.op(
        "many",
        "$first `,` `[` $rest `]` attr-dict `:` type($first) `,` type($rest) `->` type($out)",
        operands=(Slot("first", declarations.ANY), Slot("rest", declarations.ANY, Arity.VARIADIC)),
        results=(Slot("out", declarations.ANY),),
    )
    dialect.op(
        "named",
        "$name ($label^)? (`flag` $flag^)? attr-dict-with-keyword",
        properties=(
            Property("name", declarations.SYMBOL_REF_ATTR),
            Property("label", declarations.STRING_ATTR, optional=True),
            Property("flag", declarations.UNIT_ATTR, optional=True),
        ),
    )
    dialect.op("wrap", "$body attr-dict", regions=(RegionSlot("body"),), traits=(Trait.NO_TERMINATOR,))
    registry = Registry(default_registry().dialects.values())
    registry.register(dialect)
    return registry


@each_row(
    "t.maybe without", "t.maybe with %0 : i32", "t.maybe with %0 : i32 {x = 1 : i64}",
    "%2 = t.many %0, [] : i32,  -> f32", "%2 = t.many %0, [%0, %1] : i32, i32, f32 -> f32", "t.named @a::@b",
    't.named @a "label"', 't.named @a "label" flag attributes {x}', "t.named @a flag", "t.wrap {\n  }",
)  # fmt: skip
def test_a_declared_format_reads_and_prints(line: str) -> None:
    registry = a_dialect()
    text = f'module {{\n  %0 = "test.i"() : () -> i32\n  %1 = "test.f"() : () -> f32\n  {line}\n}}\n'
    if "[] : i32," in line:
        text = text.replace(": i32,  ->", ": i32, ->")
        with pytest.raises(ParseError):
            parse_module(text, registry=registry)
        return
    module = parse_module(text, registry=registry)
    assert print_module(module) == text
    assert print_module(parse_module(print_module(module, generic=True), registry=registry)) == text


def test_a_format_must_name_what_is_declared() -> None:
    dialect = Dialect("u")
    dialect.op("bad", "$missing attr-dict")
    with pytest.raises(ValueError, match="missing"):
        parse_module("u.bad", registry=Registry([*default_registry().dialects.values(), dialect]))
    for malformed in ("`a` (`b`", "(`a`)", "wrong-directive", "%"):
        with pytest.raises(ValueError, match="format"):
            read_format(malformed)


def test_the_whole_text_is_read() -> None:
    for text in ("f32 f32", "f32>", "tensor<2xf32>>"):
        with pytest.raises(ParseError):
            parse_type(text)
    with pytest.raises(ParseError):
        parse_attribute("1 : i32 : i32")
    assert parse_type(" f32 // comment\n") == F("f32")


def test_verification_can_be_put_off() -> None:
    text = "func.func @f() -> i32 { return }"
    assert parse_module(text, verify=False).body
    with pytest.raises(VerifyError):
        parse_module(text)


@pytest.mark.long
def test_memory_grows_with_the_number_of_operations_only() -> None:
    """Less than 3 KB per operation at the peak, the text not counted."""
    count = 20_000
    lines = "".join(f"  %{n} = arith.addi %a, %b : i32\n" for n in range(count))
    text = f"func.func @f(%a: i32, %b: i32) {{\n{lines}  return\n}}"
    parse_module(text[:200].rpartition("\n")[0] + "\n  return\n}")
    tracemalloc.start()
    module = parse_module(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(module.body[0].regions[0].blocks[0].operations) == count + 1
    assert peak < 3000 * count


def test_the_same_properties_and_types_again_are_read_afresh_where_they_differ() -> None:
    lines = [
        '%0 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32',
        '%1 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nsw>}> {x.y} : (i32, i32) -> i32',
        '%2 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nuw>}> : (i32, i32) -> i32',
        '%3 = "arith.addi"(%a, %a) : (i32, i32) -> i32',
        '%4 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nuw>}> : (i32, i32) -> i32',
    ]
    operations = body("\n".join(lines))[:-1]
    assert [str(op.properties["overflowFlags"]) for op in operations] == [
        f"#arith.overflow<{flags}>" for flags in ("nsw", "nsw", "nuw", "none", "nuw")
    ]
    operations[0].properties.clear()
    assert operations[1].properties
    assert [list(op.attributes) for op in operations] == [[], ["x.y"], [], [], []]


# --- skipping ---------------------------------------------------------------------------------------------------------
#
# Parts of a module whose form is not known are skipped, and the rest runs.

PROGRAM = """\
#map = affine_map<(d0) -> (d0)>
module attributes {transform.with_named_sequence} {
  func.func private @other(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> attributes {llvm.emit_c_interface} {
    %c = arith.constant 1 : index
    cf.br ^bb1(%forward : index)
  ^bb1(%j: index):
    %forward = arith.addi %c, %j : index
    %0 = sparse_tensor.convert %x {a = [1, 2], b = "}"} : tensor<4xf32> to tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @text("}{")
  func.func @main(%c: f32, %first: i1) -> f32 {
    cf.cond_br %first, ^bb1, ^bb2
  ^bb1:
    return %c : f32
  ^bb2:
    %0 = call @callee(%c) : (f32) -> f32
    return %0 : f32
  }
  func.func private @callee(%x: f32) -> f32 {
    %0 = scf.execute_region -> f32 {
      emitc.verbatim "{ {"
      scf.yield %x : f32
    }
    return %0 : f32
  }
  gpu.module @kernels
  attributes {a} {
    gpu.func @k(%a: memref<4xf32>) kernel { gpu.return }
  } loc("x":1:2)
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  module @inner {
    func.func @last() { return }
    transform.sequence failures(propagate) { ^bb0(%a: !transform.any_op): transform.yield }
  }
}
"""


def test_the_rest_runs() -> None:
    module = hu.load(PROGRAM)
    assert hu.run(module, 1.5, True) == (hu.Value.from_numpy(np.float32(1.5)),)
    assert hu.run(module, function="@inner::@last") == ()
    (lanes,) = hu.run(module, np.array([1, 2], np.float32), np.array([True, True]), batch=True)
    assert lanes.tolist() == [1, 2]
    assert hu.trace(module, 1.5, True).results == hu.run(module, 1.5, True)


def test_what_is_skipped_keeps_its_text() -> None:
    module = hu.load(PROGRAM)
    skipped = {op.name: str(op.attributes[SKIPPED].value) for op in module.walk() if SKIPPED in op.attributes}  # type: ignore[attr-defined]
    assert list(skipped) == ["sparse_tensor.convert", "emitc.verbatim", "gpu.module", "transform.named_sequence", "transform.sequence"]  # fmt: skip
    assert all(text in PROGRAM for text in skipped.values())
    assert skipped["gpu.module"].endswith('loc("x":1:2)')
    assert skipped["transform.named_sequence"].count("\n") == 3
    printed = hu.print_module(module)
    assert hu.print_module(hu.parse(printed)) == printed
    assert hu.print_module(hu.read_bytecode(hu.write_bytecode(module))) == printed


@pytest.mark.parametrize("entry", ["callee", "main"])
def test_a_skipped_function_that_is_reached_names_the_op(entry: str) -> None:
    module = hu.load(PROGRAM)
    arguments = [1.5] if entry == "callee" else [1.5, False]
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'emitc\.verbatim'") as caught:
        hu.run(module, *arguments, function=entry)
    assert str(caught.value).startswith("<string>:23:7: error")


def test_a_module_without_any_other_function_is_an_error_as_before() -> None:
    only = "func.func @main() {\n  sparse_tensor.print %x : f32\n  return\n}"
    with pytest.raises(hu.errors.ParseError, match="sparse_tensor"):
        hu.load(only)
    with pytest.raises(hu.errors.ParseError, match="transform"):
        hu.load("transform.named_sequence @a() { transform.yield }")


def test_a_wrong_spelling_is_not_skipped() -> None:
    with pytest.raises(hu.errors.ParseError, match=r"arith\.adf"):
        hu.load(PROGRAM.replace("%forward = arith.addi", "%forward = arith.adf"))


@pytest.mark.parametrize("rest", thinned(["", "}", "((((", "} } }", '"', "\n^bb0:"], 3))
def test_damaged_texts_are_errors_of_halfulp(rest: str) -> None:
    for cut in range(0, len(PROGRAM), 53):
        try:
            hu.load(PROGRAM[:cut] + rest)
        except hu.HalfulpError:
            continue


def test_an_error_of_the_rest_is_a_note() -> None:
    text = """
    func.func @main(%x: tensor<4xi32>) -> tensor<5xi32> {
      %0 = tensor.extract_slice %x[0] [4] [1] : tensor<4xi32> to tensor<5xi32>
      return %0 : tensor<5xi32>
    }
    emitc.verbatim "x"
    """
    with pytest.raises(hu.errors.ParseError, match="emitc") as caught:
        hu.load(text)
    ((location, note),) = caught.value.notes
    assert str(location) == '"<string>":3:12'
    assert "size mismatch" in note


def test_parse_skips_nothing() -> None:
    with pytest.raises(hu.errors.ParseError, match="sparse_tensor"):
        hu.parse(PROGRAM)


def test_the_command_runs_the_rest(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/program.mlir"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"func.func @main() {{ return }}\n// -----\n{PROGRAM}")
    assert cli.main(["run", path, "--split-input-file", "--function=main"]) == 2  # the second part needs inputs
    capsys.readouterr()
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    assert cli.main(["run", path, "--input=f32=1.5", "--input=i1=true"]) == 0
    assert capsys.readouterr() == ("result[0]: f32=1.5\n", "")
    assert cli.main(["run", path, "--input=f32=1.5", "--input=i1=false"]) == 3
    assert f"{path}:23:7: error: cannot execute 'emitc.verbatim'" in capsys.readouterr().err
    assert cli.main(["translate", path]) == 3


def test_bytecode_of_mlir_with_ops_that_are_not_known(mlir_opt: MlirOpt, tmp_path: Path) -> None:
    text = """
    module attributes {transform.with_named_sequence} {
      func.func @main(%x: f32) -> f32 { return %x : f32 }
      llvm.func @other(%a: i32) -> i32 { %0 = llvm.add %a, %a : i32  llvm.return %0 : i32 }
      func.func private @waits(%x: f32) -> f32 { gpu.wait  return %x : f32 }
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) { transform.yield }
    }"""
    path = tmp_path / "program.mlirbc"
    mlir_opt(text, "--emit-bytecode", "-o", str(path))
    with pytest.raises(hu.errors.BytecodeError, match=r"transform\.named_sequence"):
        hu.read_bytecode(path)
    module = hu.load(path)
    assert hu.run(module, 1.5)[0].item() == 1.5
    with pytest.raises(hu.Unsupported, match=r"gpu\.wait"):
        hu.run(module, 1.5, function="waits")
    assert cli.main(["run", str(path), "--input=f32=1.5"]) == 0


def test_a_name_that_is_used_before_the_unknown_op() -> None:
    text = 'func.func @f() {\n  "t.a"(%x) : (i32) -> ()\n  foo.bar %x\n  return\n}\nfunc.func @g() { return }\n'
    module = parse_module(text, skip_unknown=True)
    assert [op.name for op in module.walk()].count("func.func") == 2
