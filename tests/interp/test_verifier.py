"""The rules of the language: what is rejected, where, and in which words.

Most rejections are checked against mlir-opt in test_printer.py; here are those with something more to see, and what must be
accepted.
"""

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from tables import each_row

from halfulp.interp.gc_pause import SELDOM, SeldomCollector
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.loading import parse_module
from halfulp.interp.verifier import verify


def rejected(text: str) -> VerifyError:
    with pytest.raises(VerifyError) as caught:
        parse_module(text, "in")
    return caught.value


@each_row(
    # Order does not matter in a graph region, nor in unreachable blocks.
    '"test.use"(%x) : (i32) -> ()\n%x = "test.make"() : () -> i32',
    "func.func @f() { return\n^dead: %a = arith.addi %b, %b : i32\n %b = arith.addi %a, %a : i32\n return }",
    # A block sees what dominates it through every path.
    """func.func @f(%c: i1, %x: i32) {
  %0 = arith.addi %x, %x : i32
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^c
^b:
  cf.br ^c
^c:
  %1 = arith.addi %0, %0 : i32
  cf.cond_br %c, ^a, ^d
^d:
  %2 = arith.addi %1, %0 : i32
  return
}""",
    # A region sees what stands before its op, and its own loop.
    """func.func @f(%x: i32) {
  %0 = arith.addi %x, %x : i32
  "test.op"() ({
    %1 = arith.addi %0, %x : i32
    "test.end"() : () -> ()
  }) : () -> ()
  return
}""",
)
def test_accepted(text: str) -> None:
    parse_module(text)


@each_row(
    (
        "func.func @f(%x: i32) {\n  %0 = arith.addi %1, %x : i32\n  %1 = arith.addi %x, %x : i32\n  return\n}",
        (2, 8),
        "in the same block",
    ),
    (
        """func.func @f(%c: i1, %x: i32) {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.addi %x, %x : i32
  cf.br ^b
^b:
  %1 = arith.addi %0, %x : i32
  return
}""",
        (7, 8),
        "in the same region",
    ),
    (
        """func.func @f(%x: i32) {
  cf.br ^a
^a:
  "test.op"() ({
    %1 = arith.addi %0, %x : i32
    "test.end"() : () -> ()
  }) : () -> ()
  %0 = arith.addi %x, %x : i32
  return
}""",
        (5, 10),
        "in a parent region",
    ),
)
def test_a_use_must_be_dominated(text: str, place: tuple[int, int], note: str) -> None:
    error = rejected(text)
    assert error.message == "operand #0 does not dominate this use"
    assert error.location == FileLineCol("in", *place)
    assert note in error.notes[0][1]
    assert error.notes[0][0] is not None


def test_an_isolated_op_sees_nothing_outside() -> None:
    module = parse_module(
        "func.func @f(%x: i32) { return }\nfunc.func @g(%y: i32) { %0 = arith.addi %y, %y : i32 return }"
    )
    f, g = module.body
    add = g.regions[0].blocks[0].operations[0]
    add.operands[0] = f.regions[0].blocks[0].arguments[0]
    with pytest.raises(VerifyError, match="using value defined outside the region"):
        verify(module)


def test_an_isolated_op_sees_nothing_outside_from_an_unreachable_block() -> None:
    text = 'func.func @f() {\n  return\n^a:\n  "x.y"(%0) : (i32) -> ()\n  return\n}\n%0 = "x.z"() : () -> i32'
    error = rejected(text)
    assert error.message == "'x.y' op using value defined outside the region"
    assert error.location == FileLineCol("in", 4, 3)


def test_a_redefined_symbol_points_at_the_first() -> None:
    error = rejected("func.func private @f()\nfunc.func private @f()")
    assert error.location == FileLineCol("in", 2, 1)
    assert error.notes == ((FileLineCol("in", 1, 1), "see existing symbol definition here"),)


def test_calls_are_checked_against_their_own_table() -> None:
    parse_module("module { func.func private @g()\n func.func @f() { call @g() : () -> () return } }")
    error = rejected("func.func private @g()\nmodule { func.func @f() { call @g() : () -> () return } }")
    assert "does not reference a valid function" in error.message


@each_row(
    ("call @g() : () -> i32", "incorrect number of operands"),
    ("call @g(%x) : (i32) -> ()", "incorrect number of results"),
    ("%0 = call @g(%y) : (f32) -> i32", "expected operand type 'i32', but provided 'f32'"),
    ("%0 = call @g(%x) : (i32) -> f32", "result type mismatch at index 0"),
    ("call @h(%x) : (i32) -> ()", "'h' does not reference a valid function"),
)
def test_a_call_fits_its_function(call: str, words: str) -> None:
    bound = call if call.startswith("%") or ("->" in call and call.endswith("()")) else f"%0 = {call}"
    error = rejected(f"func.func private @g(i32) -> i32\nfunc.func @f(%x: i32, %y: f32) {{ {bound} return }}")
    assert words in error.message
    assert error.op == "func.call"


def test_constraints_name_the_operand_and_its_type() -> None:
    error = rejected("func.func @f(%a: f32) { %0 = arith.andi %a, %a : f32 return }")
    assert error.message == "'arith.andi' op operand #0 must be signless-integer-like, but got 'f32'"
    error = rejected(
        'func.func @f(%a: i32) { %0 = "arith.cmpi"(%a, %a) <{predicate = 10 : i64}> : (i32, i32) -> i1 return }'
    )
    assert "predicate" in error.message


LIBRARY = '"shape.function_library"() <{sym_name = "l", mapping = {a.x = @f}}> ({^bb0:}) : () -> ()'
SECOND = LIBRARY.replace('"l"', '"m"')


@each_row(  # the answers of mlir-opt 22.1.8, which are those of MLIR 24.0.0git
    ('func.func private @f(i32 {bufferization.access = "foo"})', "invalid value for 'bufferization.access'"),
    (
        "func.func private @f(i32 {bufferization.access = 1})",
        "'bufferization.access' is expected to be a string attribute",
    ),
    (
        "func.func private @f(i32 {bufferization.writable = true})",
        "'bufferization.writable' is invalid on external functions",
    ),
    (
        "func.func @f(%a: i32 {bufferization.writable = 1}) { return }",
        "'bufferization.writable' is expected to be a boolean attribute",
    ),
    (
        "func.func @f(%a: i32 {bufferization.buffer_layout = 1}) { return }",
        "'bufferization.buffer_layout' is expected to be a memref layout attribute",
    ),
    (
        "llvm.func @f(%a: i32 {bufferization.foo}) { llvm.return }",
        "attribute 'bufferization.buffer_layout' not supported as a region arg attribute by the bufferization dialect",
    ),
    (
        '"a.b"() {bufferization.writable = true} : () -> ()',
        "attribute '\"bufferization.writable\"' not supported as an op attribute by the bufferization dialect",
    ),
    (
        "module attributes {bufferization.manual_deallocation} {}",
        "'builtin.module' op attribute 'bufferization.manual_deallocation' can be used only on ops that have an "
        "allocation and/or free side effect",
    ),
    ("module attributes {linalg.foo} {}", "attribute '\"linalg.foo\"' not supported by the linalg dialect"),
    (
        '"a.b"() ({}) {shape.lib = @l} : () -> ()',
        "shape.lib attribute may only be on op implementing SymbolTable",
    ),
    ("module attributes {shape.lib = @l} {}", "shape function library @l not found"),
    (f"module attributes {{shape.lib = @l::@m}} {{ {LIBRARY} }}", "shape function library @l::@m not found"),
    (
        "module attributes {shape.lib = @f} { func.func private @f() }",
        "@f required to be shape function library",
    ),
    (
        "module attributes {shape.lib = 3} {}",
        "only SymbolRefAttr or array of SymbolRefAttrs allowed as shape.lib attribute",
    ),
    ("module attributes {shape.lib = [3]} {}", "only SymbolRefAttr allowed in shape.lib attribute array"),
    ("module attributes {shape.lib = [@l]} {}", "@l does not refer to FunctionLibraryOp"),
    (
        f"module attributes {{shape.lib = [@l, @m]}} {{ {LIBRARY}\n {SECOND} }}",
        'only one op to shape mapping allowed, found multiple for `"a.x"`',
    ),
)
def test_dialects_have_rules_for_their_attributes(text: str, words: str) -> None:
    assert rejected(text).message == words


@each_row(
    "func.func @f(%a: i32 {bufferization.writable = true}) -> (i32 {bufferization.foo}) { return %a : i32 }",
    'func.func private @f(i32 {bufferization.access = "read-write", bufferization.buffer_layout = strided<[1]>})',
    "func.func @f() { %0 = memref.alloc() {bufferization.manual_deallocation} : memref<i32>\n return }",
    f"module attributes {{shape.lib = [@l]}} {{ {LIBRARY} }}",
    f"module attributes {{shape.lib = @l}} {{ {LIBRARY} }}",
)
def test_attributes_of_dialects_are_accepted(text: str) -> None:
    parse_module(text)


def test_the_same_types_are_judged_in_every_op() -> None:
    """The verifier remembers combinations of types: an op after many good ones is judged as the first would be."""
    good = "\n".join(f"%{i} = arith.addf %a, %a : f32" for i in range(50))
    error = rejected(
        f'func.func @f(%a: f32, %b: f16) {{\n{good}\n%x = "arith.addf"(%a, %b) : (f32, f16) -> f32\n{good.replace("%", "%z")}\nreturn }}'.replace(
            "%za", "%a"
        )
    )
    assert error.location is not None
    assert error.location == FileLineCol("in", 52, 6)
    assert "same type for all operands" in error.message


def test_a_module_made_by_hand_is_checked_too() -> None:
    module = parse_module("func.func @f() { return }")
    module.body[0].regions[0].blocks[0].operations.clear()
    with pytest.raises(VerifyError, match="empty block"):
        verify(module)
    module = parse_module("func.func @f() { return }")
    stray = Operation("test.op")
    module.body[0].regions[0].append(Block(operations=[stray]))
    stray.parent = module.body[0].regions[0].blocks[1]
    verify(module)


def lines_executed(function: Callable[[], object]) -> int:
    """Return the lines of Python that a call executes: the same number on every machine."""
    count = 0

    def on_line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def test_many_blocks_take_linear_work() -> None:
    def chain(count: int) -> str:
        blocks = "".join(f"^b{i}: cf.br ^b{i + 1}\n" for i in range(count))
        return f"func.func @f() {{ cf.br ^b0\n{blocks}^b{count}: return }}"

    parse_module(chain(4))  # makes the tables that are kept
    one, two = (lines_executed(partial(parse_module, chain(count))) for count in (150, 300))
    assert 1.9 * one < two < 2.1 * one
    parse_module(chain(3000))


def test_numbers_of_operands_are_checked_for_each_op() -> None:
    """Of two ops with the same types, the second has operands that do not add up; message of mlir-opt 22."""
    alloc = '  "memref.alloc"(%a) <{{operandSegmentSizes = array<i32: {}, 0>}}> : (index) -> memref<?xf32>\n'
    text = f"func.func @f(%a: index) {{\n{alloc.format(1)}{alloc.format(3)}  return\n}}"
    with pytest.raises(VerifyError) as caught:
        parse_module(text)
    assert caught.value.message == (
        "'memref.alloc' op operand count (1) does not match with the total size (3) specified in attribute "
        "'operandSegmentSizes'"
    )
    assert str(caught.value.location) == '"<string>":3:3'


# --- gc pause ---------------------------------------------------------------------------------------------------------
#
# The garbage collector has its thresholds again after a time in which it runs seldom.


def _fail(before: tuple[int, int, int]) -> None:
    with SeldomCollector():
        assert gc.get_threshold() == (max(before[0], SELDOM), *before[1:])
        raise ValueError("inside")


def test_the_thresholds_come_back_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"):
        _fail(before)
    assert gc.get_threshold() == before


@pytest.mark.parametrize("first", [0, SELDOM + 1])
def test_a_collector_that_runs_more_seldom_stays_so(first: int) -> None:
    """0 turns it off."""
    before = gc.get_threshold()
    try:
        gc.set_threshold(first, 7, 8)
        with SeldomCollector():
            assert gc.get_threshold() == (first, 7, 8)
        assert gc.get_threshold() == (first, 7, 8)
    finally:
        gc.set_threshold(*before)
