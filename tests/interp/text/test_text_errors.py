"""Malformed and hostile text: one clear error each, at its place, within bounded time and memory."""

import time
import tracemalloc

import hypothesis
import hypothesis.strategies as st
import pytest
from amounts import thinned

from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import (
    HalfulpError,
    LimitExceeded,
    ParseError,
    TypeMismatch,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.text.parser import parse_attribute, parse_type
from halfulp.interp.text.printer import print_module

MANY = 50_000


def doubling(definition: str, name: str, first: str, joint: str = ", ") -> str:
    """Aliases each of which names the one before it twice: 2^89 parts in the last."""
    lines = [definition.format(0, first)]
    lines += [definition.format(i, f"{name}{i - 1}{joint}{name}{i - 1}") for i in range(1, 90)]
    return "\n".join(lines)


HOSTILE = {
    "arrays": '"t.a"() {a = ' + "[" * MANY,
    "closed arrays": '"t.a"() {a = ' + "[" * MANY + "]" * MANY + "} : () -> ()",
    "dictionaries": '"t.a"() {a = ' + "{a = " * MANY,
    "tuples": '"t.a"() : () -> (' + "tuple<" * MANY,
    "function types": '"t.a"() : () -> (' + "() -> (" * MANY,
    "parentheses": '"t.a"() : () -> ' + "(" * MANY,
    "complex": '"t.a"() : () -> (' + "complex<" * MANY,
    "memrefs": '"t.a"() : () -> (' + "memref<2x" * MANY,
    "regions": '"t.a"() ({' * MANY,
    "modules": "module {" * MANY,
    "functions": "func.func @f() {" * MANY,
    "elements": '"t.a"() {a = dense<' + "[" * MANY,
    "locations": '"t.a"() : () -> () loc(' + "callsite(" * MANY,
    "named locations": '"t.a"() : () -> () loc(' + '"a"(' * MANY,
    "fused metadata": '"t.a"() : () -> () loc(' + "fused<loc(" * MANY,
    "distinct": '"t.a"() {a = ' + "distinct[0]<" * MANY,
    "quantised parameters": '"t.a"() : () -> (!quant.uniform<i8:f32:{0:1}, ' + "{" * MANY + "}" * MANY + ">)",
    "dialect symbol": '"t.a"() : () -> (!t.a' + "<" * MANY,
    "types in aliases": doubling("!t{} = tuple<{}>", "!t", "i1"),
    "attributes in aliases": doubling("#t{} = [{}]", "#t", "1"),
    "locations in aliases": doubling("#t{} = loc(callsite({}))", "#t", '"a" at "b"', " at "),
    "strings": '"' * MANY,
    "a value without a name": "% = arith.constant 1 : i32",
    "minus signs": '"t.a"() {a = ' + "-" * MANY,
    "digits": '"t.a"() {a = ' + "9" * 300_000 + "} : () -> ()",
    "hexadecimal digits": '"t.a"() {a = 0x' + "9" * 1_000_000 + "} : () -> ()",
    "dimension digits": '"t.a"() : () -> tensor<' + "9" * 5_000 + "xf32>",
    "width digits": '"t.a"() : () -> i' + "9" * 5_000,
    "result digits": "%0:" + "9" * 5_000 + ' = "t.a"() : () -> ()',
    "line digits": '"t.a"() : () -> () loc("f":' + "9" * 5_000 + ":1)",
    "element count": '"t.a"() {a = dense<[1]> : tensor<1000000000000xi8>} : () -> ()',
    "blob count": '"t.a"() {a = dense<"0x0102"> : tensor<1000000000000xi8>} : () -> ()',
    "no such alias": "!a = !a",
    "nul": "module {\0}",
    "lone surrogate": "module { // \ud800\n}",
    "byte order mark": "\ufeffmodule {}",
}


def attempt(text: str) -> Module | HalfulpError:
    try:
        return parse_module(text)
    except HalfulpError as error:
        return error


@pytest.mark.parametrize("name", thinned(HOSTILE, 4))
def test_hostile_text_is_rejected_quickly(name: str) -> None:
    start = time.process_time()
    with pytest.raises(ParseError) as caught:
        parse_module(HOSTILE[name], "in")
    assert isinstance(caught.value.location, FileLineCol)
    assert str(caught.value).startswith("in:")
    assert time.process_time() - start < 20  # what hangs takes minutes


def test_a_large_splat_allocates_nothing() -> None:
    text = "func.func @f() { %0 = arith.constant dense<0.0> : tensor<1000000000000xf32> return }"
    parse_module(text)
    tracemalloc.start()
    module = parse_module(text)
    print_module(module)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.long
def test_what_is_long_but_not_deep_is_fine() -> None:
    assert print_module(parse_module('"t.a"() {a = @a' + "::@a" * MANY + "} : () -> ()")).count("::") == MANY
    parse_type("vector<" + "1x" * MANY + "f32>")
    parse_attribute("[" + "[1]," * MANY + "[1]]")
    nested = '"t.a"() ({' * 40 + "}) : () -> ()" * 40
    assert print_module(parse_module(nested)).count("t.a") == 40


def test_invalid_utf_8_is_an_error_with_a_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(b'module attributes {\n  a.b = "\xff"} {}', "in")
    assert str(caught.value) == "in:2:10: error: invalid UTF-8"


@pytest.mark.long
def test_truncation_anywhere_is_an_error_of_ours() -> None:
    text = """#a = {x = dense<[1, 2]> : tensor<2xi32>}
!q = !quant.uniform<i8:f32:0, {1.0:2, 2.0}>
module @m attributes {t.a = #a} {
  func.func @f(%x: tensor<2x!q> {t.b = "s"}, %c: i1) -> (tensor<2xf32>, i1) {
    %0 = quant.dcast %x : tensor<2x!q> to tensor<2xf32> loc("l":1:2)
    cf.cond_br %c, ^a(%c : i1), ^b
  ^a(%d: i1):
    return %0, %d : tensor<2xf32>, i1
  ^b:
    %1:2 = "test.op"() <{p = 1}> ({ ^x(%y: i32): "test.br"(%y)[^z] : (i32) -> () ^z: "test.end"() : () -> () }) {q} : () -> (i1, i1)
    cf.br ^a(%1#1 : i1)
  }
}
"""
    assert len(parse_module(text).body) == 1
    for end in range(len(text) - 3):
        result = attempt(text[:end])
        if isinstance(result, HalfulpError):
            assert isinstance(result.location, FileLineCol)
        else:
            # Only what stands before the module can be a file of its own.
            assert result.body == []


@hypothesis.given(st.data())
def test_mutated_text_never_raises_anything_else(data: st.DataObject) -> None:
    text = """func.func @f(%a: f32, %t: tensor<4x?xf32>) -> f32 {
  %0 = arith.addf %a, %a fastmath<nnan> : f32
  %1:2 = "test.op"(%0, %t) <{p = [1, 2.0]}> ({}) {x = dense<"0x01"> : tensor<1xi8>} : (f32, tensor<4x?xf32>) -> (i1, f32)
  cf.cond_br %1#0, ^bb1(%a : f32), ^bb1(%0 : f32) loc(#l)
^bb1(%2: f32):
  return %2 : f32
}
#l = loc(fused<"m">["f":1:2, callsite("a" at unknown)])
"""
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 8))
        piece = data.draw(
            st.sampled_from(
                ["", "<", ">", "(", "{", "%0", "^bb1", "#l", "!", '"', "0x", "-", ":", "loc", "é", "1.5", "tensor<2x"]
            )
        )
        text = text[:at] + piece + text[at + length :]
    result = attempt(text)
    if isinstance(result, HalfulpError):
        assert result.location is not None
        assert result.render(text)
    else:
        printed = print_module(result)
        assert print_module(parse_module(printed)) == printed


def test_an_error_shows_its_line_and_a_caret() -> None:
    text = "func.func @f(%a: i32) {\n\t%0 = arith.addi %a, %b : i32\n  return\n}"
    with pytest.raises(ParseError) as caught:
        parse_module(text, "in.mlir")
    assert str(caught.value) == "in.mlir:2:22: error: use of undeclared SSA value name"
    assert caught.value.render(text) == (
        "in.mlir:2:22: error: use of undeclared SSA value name\n\t%0 = arith.addi %a, %b : i32\n\t" + " " * 20 + "^"
    )
    assert caught.value.render() == str(caught.value)


def test_notes_say_where_else_to_look() -> None:
    with pytest.raises(ParseError) as caught:
        parse_module("func.func @f(%a: f32) {\n  %0 = arith.addi %a, %a : i32\n  return\n}", "in")
    assert caught.value.message == "use of value '%a' expects different type than prior uses: 'i32' vs 'f32'"
    assert caught.value.notes == ((FileLineCol("in", 1, 14), "prior use here"),)
    assert "in:1:14: note: prior use here" in str(caught.value)


def test_a_negative_literal_of_an_unsigned_format() -> None:
    for text in ("-3.0 : f8E8M0FNU", "dense<[1.0, -3.0]> : tensor<2xf8E8M0FNU>", "array<f8E8M0FNU: -3.0>"):
        with pytest.raises(ParseError, match="unsigned type 'f8E8M0FNU'"):
            parse_attribute(text)


def test_exit_codes() -> None:
    assert (ParseError.exit_code, Unsupported.exit_code, UndefinedBehavior.exit_code) == (2, 3, 4)
    assert (TypeMismatch.exit_code, LimitExceeded.exit_code) == (2, 3)


# iree-opt 3.13 says of both: integer value too large.
TOO_LARGE = {
    "iree_codegen.dispatch_config": "iree_codegen.dispatch_config @f workgroup_size = [{}] {{ }}",
    "iree_codegen.smt.lookup": "%v = iree_codegen.smt.lookup %a [{}] -> [1] : !smt.int",
}


@pytest.mark.parametrize("op", TOO_LARGE)
def test_lists_of_signed_integers_do_not_wrap(op: str) -> None:
    for number in (1 << 63, -(1 << 63) - 1, 1 << 64):
        text = f"func.func @f(%a: vector<4xi8>) {{\n{TOO_LARGE[op].format(number)}\nreturn }}"
        with pytest.raises(ParseError, match="integer value too large") as caught:
            parse_module(text)
        assert caught.value.location == FileLineCol("<string>", 2, TOO_LARGE[op].index("{}") + 1)


def test_ops_of_dialects_of_which_a_part_is_known() -> None:
    """Others of their ops are read as MLIR's generic form has them, and kept; their own forms nobody here knows."""
    barrier = '"iree_gpu.value_barrier"(%x) : (tensor<4xf32>) -> tensor<4xf32>'
    text = f"func.func @f(%x: tensor<4xf32>) {{\n  %0 = {barrier}\n  return\n}}"
    assert barrier.replace("%x", "%arg0") in print_module(parse_module(text))
    with pytest.raises(ParseError, match="custom op 'iree_gpu.value_barrier' is unknown") as caught:
        parse_module("func.func @f(%x: tensor<4xf32>) {\n  %0 = iree_gpu.value_barrier %x\n  return\n}")
    assert "it reads every op in generic form" in str(caught.value.hint)
    with pytest.raises(ParseError, match="custom op 'arith.addq' is unknown") as caught:
        parse_module("arith.addq")
    assert "generic" not in str(caught.value.hint)
