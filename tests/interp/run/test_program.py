"""Compiled modules that run: frames, limits, events, undefined behaviour, poison, open masks, lanes and threads."""

import gc
import multiprocessing
import subprocess
import sys
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, TypeMismatch, UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.loading import parse_module
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import Listener, Settings
from halfulp.interp.values.value import Value
from halfulp.running import find_entry, run
from halfulp.semantics.kernel import OTHER, Open, Origin, Origins

SUM_TO_N = """
func.func @main(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^head(%zero, %zero : i32, i32)
^head(%i: i32, %sum: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^done
^body:
  %next = arith.addi %i, %one : i32
  %total = arith.addi %sum, %next : i32
  cf.br ^head(%next, %total : i32, i32)
^done:
  return %sum : i32
}
"""


def ints(*values: Value) -> list[Any]:
    return [value.numpy().tolist() for value in values]


def test_loops_through_blocks_keep_their_values_apart() -> None:
    assert ints(*run(SUM_TO_N, 1000)) == [500500]


def test_block_arguments_are_assigned_together() -> None:
    swap = """
    func.func @main(%a: i8, %b: i8, %c: i1) -> (i8, i8) {
      cf.br ^bb1(%a, %b, %c : i8, i8, i1)
    ^bb1(%x: i8, %y: i8, %again: i1):
      %no = arith.constant false
      cf.cond_br %again, ^bb1(%y, %x, %no : i8, i8, i1), ^bb2
    ^bb2:
      return %x, %y : i8, i8
    }"""
    assert ints(*run(swap, 1, 2, True)) == [2, 1]
    assert ints(*run(swap, 1, 2, False)) == [1, 2]


def test_calls_return_several_results_to_the_right_slots() -> None:
    text = """
    func.func private @divmod(%a: i32, %b: i32) -> (i32, i32) {
      %q = arith.divsi %a, %b : i32
      %r = arith.remsi %a, %b : i32
      return %q, %r : i32, i32
    }
    func.func @main(%a: i32, %b: i32) -> (i32, i32, i32) {
      %0:2 = call @divmod(%a, %b) : (i32, i32) -> (i32, i32)
      %1:2 = call @divmod(%0#0, %0#1) : (i32, i32) -> (i32, i32)
      return %0#1, %1#0, %1#1 : i32, i32, i32
    }"""
    assert ints(*run(text, 47, 6)) == [47 % 6, 7 // 5, 7 % 5]


@pytest.mark.long
def test_recursion_takes_no_python_stack() -> None:
    text = """
    func.func @main(%n: i32) -> i32 {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %done = arith.cmpi eq, %n, %zero : i32
      cf.cond_br %done, ^stop, ^go
    ^stop:
      return %zero : i32
    ^go:
      %less = arith.subi %n, %one : i32
      %rest = call @main(%less) : (i32) -> i32
      %sum = arith.addi %rest, %n : i32
      return %sum : i32
    }"""
    assert ints(*run(text, 999)) == [999 * 1000 // 2]
    assert ints(*run(text, 99_999, max_depth=100_000)) == [(99_999 * 100_000 // 2 + 2**31) % 2**32 - 2**31]
    with pytest.raises(LimitExceeded, match="more than 1000 deep") as caught:
        run(text, 1001)
    assert caught.value.op == "func.call"


def test_an_endless_loop_ends_at_the_step_limit() -> None:
    with pytest.raises(LimitExceeded, match="more than 1000 ops") as caught:
        run("func.func @main() { cf.br ^a\n^a: cf.br ^a }", max_steps=1000)
    assert str(caught.value).startswith("<string>:2:5: error")


def test_steps_are_counted_exactly() -> None:
    straight = "func.func @main(%a: i8) -> i8 { %0 = arith.addi %a, %a : i8\n return %0 : i8 }"
    assert ints(*run(straight, 3, max_steps=2)) == [6]
    with pytest.raises(LimitExceeded):
        run(straight, 3, max_steps=1)


# --- undefined behaviour and poison -----------------------------------------------------------------------------------

DIVIDE = """func.func @main(%a: tensor<2x3xi8>, %b: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %q = arith.divsi %a, %b : tensor<2x3xi8>
  return %q : tensor<2x3xi8>
}"""


def test_undefined_behaviour_names_op_place_element_operands_and_count() -> None:
    a = np.array([[1, 2, -128], [4, 5, 6]], np.int8)
    b = np.array([[1, 1, -1], [0, 2, 0]], np.int8)
    with pytest.raises(UndefinedBehavior) as caught:
        run(parse_module(DIVIDE, "k.mlir"), a, b)
    message = str(caught.value)
    assert message.startswith("k.mlir:2:8: error: arith.divsi: undefined behaviour: signed division overflow")
    assert "at element [0, 2]: lhs = -128, rhs = -1 (3 of 6 elements)" in message
    assert caught.value.exit_code == 4


def test_undefined_behaviour_can_become_poison_of_the_offending_elements() -> None:
    a, b = np.full((2, 3), 9, np.int8), np.array([[1, 0, 2], [3, 0, 9]], np.int8)
    (q,) = run(DIVIDE, a, b, on_ub="poison")
    assert q.poisoned.tolist() == [[False, True, False], [False, True, False]]
    assert q.numpy(poison=0)[~q.poisoned].tolist() == [9, 4, 3, 1]
    origin = q.origin(1, 1)
    assert origin is not None
    assert origin.op == "arith.divsi"
    assert origin.reason == "undefined behaviour: division by zero"
    assert origin.element == (0, 1)


def test_no_elements_no_undefined_behaviour() -> None:
    text = "func.func @main(%a: tensor<0xi8>) -> tensor<0xi8> { %q = arith.divsi %a, %a : tensor<0xi8>\n return %q : tensor<0xi8> }"
    (q,) = run(text, np.zeros(0, np.int8))
    assert q.shape == (0,)
    assert q.poison is None


def test_a_branch_on_poison_always_stops() -> None:
    text = """func.func @main(%a: i8) -> i8 {
      %p = ub.poison : i1
      cf.cond_br %p, ^x, ^x
    ^x:
      return %a : i8
    }"""
    for on_ub in ("raise", "poison"):
        with pytest.raises(UndefinedBehavior, match="the condition is poison: ub.poison"):
            run(text, 1, on_ub=on_ub)


def test_clean_values_have_no_poison_mask() -> None:
    (q,) = run(DIVIDE, np.ones((2, 3), np.int8), np.ones((2, 3), np.int8))
    assert q.poison is None
    assert q.open is None


def test_poison_of_an_argument_keeps_its_origin_through_a_run() -> None:
    add = "func.func @main(%a: i8, %b: i8) -> i8 { %0 = arith.addi %a, %b overflow<nsw> : i8\n return %0 : i8 }"
    (poisoned,) = run(add, 100, 100)
    (result,) = run(add, poisoned, 1)
    origin = result.origin()
    assert origin is not None
    assert origin.reason == "signed overflow with nsw"
    assert result.poison is not poisoned.poison


@pytest.mark.long
def test_origins_beyond_the_last_id_are_other() -> None:
    origins = Origins()
    ids = [origins.id_of(Origin("op", str(k), "why")) for k in range(70_000)]
    assert ids[:3] == [1, 2, 3]
    assert max(ids) == OTHER
    assert ids.count(OTHER) == 70_000 - (OTHER - 1)
    assert origins.id_of(Origin("op", "5", "why")) == 6


# --- shapes at run time -----------------------------------------------------------------------------------------------

DYNAMIC = """func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}"""


def test_shapes_that_differ_at_run_time_are_undefined_never_broadcast() -> None:
    with pytest.raises(UndefinedBehavior, match="'1' and '3'"):
        run(DYNAMIC, np.ones(1, np.float32), np.ones(3, np.float32))
    assert run(DYNAMIC, np.ones(3, np.float32), np.ones(3, np.float32))[0].shape == (3,)


def test_unranked_tensors_run_with_any_shape() -> None:
    text = DYNAMIC.replace("tensor<?xf32>", "tensor<*xf32>")
    for shape in ((), (2, 3), (0, 4)):
        (result,) = run(text, np.ones(shape, np.float32), np.ones(shape, np.float32))
        assert result.shape == shape
        assert (result.numpy() == 2).all()
    with pytest.raises(UndefinedBehavior, match="'2x3' and '3x2'"):
        run(text, np.ones((2, 3), np.float32), np.ones((3, 2), np.float32))


def test_scalable_vectors_need_vscale() -> None:
    text = "func.func @main(%a: vector<[4]xi8>) -> vector<[4]xi8> { %0 = arith.addi %a, %a : vector<[4]xi8>\n return %0 : vector<[4]xi8> }"
    with pytest.raises(Unsupported, match="depends on the machine"):
        run(text, np.ones(8, np.int8))
    assert run(text, np.ones(8, np.int8), vscale=2)[0].numpy().tolist() == [2] * 8


# --- index ------------------------------------------------------------------------------------------------------------


def test_index_wraps_at_the_selected_width() -> None:
    text = "func.func @main(%a: index, %b: index) -> (index, i64) { %0 = arith.addi %a, %b : index\n %1 = arith.index_cast %0 : index to i64\n return %0, %1 : index, i64 }"
    top = 2**32 - 1
    assert [int(v.bits) for v in run(text, top, 1)] == [2**32, 2**32]
    assert [int(v.bits) for v in run(text, top, 1, index_width=32)] == [0, 0]
    assert [int(v.bits) for v in run(text, top, 0, index_width=32)] == [top, 2**64 - 1]


def test_an_index_constant_too_wide_for_32_bits_is_an_error() -> None:
    text = "func.func @main() -> index { %0 = arith.constant 4294967296 : index\n return %0 : index }"
    assert int(run(text)[0].bits) == 2**32
    with pytest.raises(TypeMismatch, match="4294967296 does not fit the 32 bits"):
        run(text, index_width=32)


# --- conversion casts -------------------------------------------------------------------------------------------------


@each_row(
    # A-B-C-A
    "%0 = builtin.unrealized_conversion_cast %a, %b : i8, i16 to f32\n"
    "%1 = builtin.unrealized_conversion_cast %0 : f32 to i64\n"
    "%x:2 = builtin.unrealized_conversion_cast %1 : i64 to i8, i16",
    # N-1-N, then once more
    "%0 = builtin.unrealized_conversion_cast %a, %b : i8, i16 to i32\n"
    "%y:2 = builtin.unrealized_conversion_cast %0 : i32 to i8, i16\n"
    "%1 = builtin.unrealized_conversion_cast %y#0, %y#1 : i8, i16 to i32\n"
    "%x:2 = builtin.unrealized_conversion_cast %1 : i32 to i8, i16",
)
def test_a_chain_of_casts_that_ends_in_its_types_gives_its_values(body: str) -> None:
    text = f"func.func @main(%a: i8, %b: i16) -> (i8, i16) {{\n{body}\nreturn %x#0, %x#1 : i8, i16\n}}"
    assert ints(*run(text, 5, 300)) == [5, 300]


@each_row(
    "return %0 : f32",
    "%1 = arith.negf %0 : f32\nreturn %1 : f32",
    "%1 = call @f(%0) : (f32) -> f32\nreturn %1 : f32",
    "%t = arith.constant true\n%1 = arith.select %t, %0, %0 : f32\nreturn %1 : f32",
    "cf.br ^x(%0 : f32)\n^x(%1: f32):\nreturn %1 : f32",
)
def test_any_other_use_of_a_cast_is_unsupported_and_names_both_types(use: str) -> None:
    text = (
        "func.func private @f(%x: f32) -> f32 { return %x : f32 }\n"
        f"func.func @main(%a: i8) -> f32 {{\n%0 = builtin.unrealized_conversion_cast %a : i8 to f32\n{use}\n}}"
    )
    with pytest.raises(Unsupported, match="from 'i8' to 'f32'") as caught:
        run(text, 1)
    assert caught.value.location is not None


# --- events -----------------------------------------------------------------------------------------------------------


class Recorder(Listener):
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def op_will_run(self, op: Any, operands: Any) -> None:
        self.events.append(("will", op.name, [str(v.numpy(poison=0)) for v in operands]))

    def op_did_run(self, op: Any, operands: Any, results: Any) -> None:
        self.events.append(("did", op.name, [str(v.numpy(poison=0)) for v in results]))

    def poison_born(self, op: Any, origin: Origin, count: int) -> None:
        self.events.append(("poison", op.name, origin.reason, count))

    def undefined_behavior(self, op: Any, report: UndefinedBehavior) -> None:
        self.events.append(("undefined", op.name))

    def branch(self, op: Any, target: Any) -> None:
        self.events.append(("branch", op.name, target.label))


@each_row(
    ("%r = memref.load %m[%i] : memref<4xi32>", "%m: memref<4xi32>", "memref.load"),
    ("%r = tensor.extract %t[%i] : tensor<4xi32>", "%t: tensor<4xi32>", "tensor.extract"),
    (
        "%p = ub.poison : i1\n%r = scf.if %p -> i32 { scf.yield %x : i32 } else { scf.yield %x : i32 }",
        "%x: i32",
        "scf.if",
    ),
    ("%r = arith.divsi %x, %x : i32", "%x: i32", "arith.divsi"),
)
def test_listeners_hear_once_of_undefined_behavior_that_stops_the_run(op: str, declared: str, name: str) -> None:
    given: Any = np.zeros(4, np.int32) if "<4" in declared else 0
    recorder = Recorder()
    text = f"func.func @main({declared}, %i: index) -> i32 {{\n{op}\nreturn %r : i32\n}}"
    with pytest.raises(UndefinedBehavior):
        run(text, given, 4, listeners=[recorder])
    assert [event for event in recorder.events if event[0] == "undefined"] == [("undefined", name)]
    assert recorder.events[-1] == ("undefined", name)


def test_listeners_hear_everything_in_order() -> None:
    text = """
    func.func private @half(%x: i8) -> i8 {
      %two = arith.constant 2 : i8
      %q = arith.divui %x, %two exact : i8
      return %q : i8
    }
    func.func @main(%a: i8) -> i8 {
      %0 = call @half(%a) : (i8) -> i8
      cf.br ^end
    ^end:
      return %0 : i8
    }"""
    recorder = Recorder()
    run(text, 7, listeners=[recorder])
    assert recorder.events == [
        ("will", "func.call", ["7"]),
        ("will", "arith.constant", []),
        ("did", "arith.constant", ["2"]),
        ("will", "arith.divui", ["7", "2"]),
        ("poison", "arith.divui", "nonzero remainder with exact", 1),
        ("did", "arith.divui", ["0"]),
        ("will", "func.return", ["0"]),
        ("did", "func.return", []),
        ("did", "func.call", ["0"]),
        ("will", "cf.br", []),
        ("branch", "cf.br", "end"),
        ("did", "cf.br", []),
        ("will", "func.return", ["0"]),
        ("did", "func.return", []),
    ]


def test_listeners_hear_undefined_behaviour_before_the_run_stops() -> None:
    recorder = Recorder()
    text = "func.func @main(%a: i8) -> i8 { %q = arith.divui %a, %a : i8\n return %q : i8 }"
    with pytest.raises(UndefinedBehavior):
        run(text, 0, listeners=[recorder])
    assert recorder.events[-1] == ("undefined", "arith.divui")


# --- openness ---------------------------------------------------------------------------------------------------------


def open_of(text: str, *arguments: Any) -> list[int] | None:
    (result,) = run(text, *arguments, track_open=True)
    return None if result.open is None else [int(mask) for mask in np.ravel(result.open)]


def unary(op: str) -> str:
    return (
        f"func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {{ {op}\n return %r : tensor<3xf32> }}"
    )


NAN, SIGN, VALUE = (kind.value for kind in Open)


def test_open_masks_say_what_the_language_leaves_open() -> None:
    a = np.array([np.nan, 0.0, 2.0], np.float32)
    b = np.array([1.0, -0.0, 1.0], np.float32)
    assert open_of(unary("%r = arith.addf %a, %b : tensor<3xf32>"), a, b) == [NAN, 0, 0]
    assert open_of(unary("%r = arith.maxnumf %a, %b : tensor<3xf32>"), a, b) == [0, SIGN, 0]
    assert open_of(unary("%r = arith.mulf %a, %b fastmath<nsz> : tensor<3xf32>"), a, b) == [NAN, SIGN, 0]
    assert open_of(unary("%r = arith.addf %a, %b fastmath<reassoc> : tensor<3xf32>"), a, b) == [
        NAN | VALUE,
        VALUE,
        VALUE,
    ]
    assert open_of(unary("%r = arith.negf %a : tensor<3xf32>"), a, b) is None


def test_openness_spreads() -> None:
    a, b = np.array([0.0, 0.0, 2.0], np.float32), np.array([-0.0, 0.0, 1.0], np.float32)
    text = unary("%z = arith.maxnumf %a, %b : tensor<3xf32>\n%r = arith.divf %b, %z : tensor<3xf32>")
    mask = open_of(text, a, b)
    assert mask is not None
    assert mask[0] & VALUE
    assert mask[2] == 0


def test_open_masks_are_kept_only_when_asked_for() -> None:
    (result,) = run(unary("%r = arith.addf %a, %b : tensor<3xf32>"), *[np.full(3, np.nan, np.float32)] * 2)
    assert result.open is None


# --- lanes ------------------------------------------------------------------------------------------------------------


def test_scalar_code_runs_on_lanes_and_inactive_lanes_are_never_undefined() -> None:
    module = parse_module(
        """func.func @main(%a: i32, %b: i32) -> i32 {
          %one = arith.constant 1 : i32
          %q = arith.divsi %a, %b : i32
          %r = arith.addi %q, %one : i32
          return %r : i32
        }"""
    )
    i32 = ty.IntegerType(32)
    a = Value(i32, np.array([10, 20, 30], np.uint32))
    b = Value(i32, np.array([5, 0, 3], np.uint32))
    program = CompiledModule(module, Settings())
    function = find_entry(module)
    active = np.array([True, False, True])
    (result,) = run_batch(program, function, [a, b], 3, active)
    assert result.numpy()[active].tolist() == [3, 11]
    with pytest.raises(UndefinedBehavior, match=r"lhs = 20, rhs = 0 \(lane 1; 1 of 3 lanes\)"):
        run_batch(program, function, [a, b], 3)


# --- threads ----------------------------------------------------------------------------------------------------------


def test_threads_share_one_module() -> None:
    module = parse_module(SUM_TO_N)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: ints(*run(module, n))[0], range(200)))
    assert answers == [n * (n + 1) // 2 for n in range(200)]


def test_the_newer_number_ops_leave_no_zero_open() -> None:
    a, b = np.array([0.0, np.nan, -0.0], np.float32), np.array([-0.0, 1.0, np.nan], np.float32)
    text = unary("%r = arith.maximumnumf %a, %b : tensor<3xf32>")
    (result,) = run(text, a, b, track_open=True)
    assert result.bits.tolist() == [0, 0x3F800000, 0x80000000]
    assert result.open is None
    (result,) = run(text.replace("maximumnumf", "minimumnumf"), a, b)
    assert result.bits.tolist() == [0x80000000, 0x3F800000, 0x80000000]


# --- unresolved casts -------------------------------------------------------------------------------------------------
#
# Casts that no function is registered for: ops that are given one say so, whatever way they read their operands.

USES = {
    "llvm.extractvalue": """
  %1 = llvm.extractvalue %0[0] : !llvm.struct<(i32, i32)>
  return %1 : i32""",
    "llvm.insertvalue": """
  %c = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.insertvalue %c, %0[0] : !llvm.struct<(i32, i32)>
  return %c : i32""",
}


@pytest.mark.parametrize("op", USES)
def test_ops_that_read_slots(op: str) -> None:
    text = f"""func.func @f(%x: i64) -> i32 {{
  %0 = builtin.unrealized_conversion_cast %x : i64 to !llvm.struct<(i32, i32)>{USES[op]}
}}"""
    with pytest.raises(hu.Unsupported, match=r"from 'i64' to '!llvm.struct<\(i32, i32\)>' is used, and no function"):
        hu.run(text, 1)


# --- outside ----------------------------------------------------------------------------------------------------------
#
# Ops that no dialect has, and calls of declarations, given to the function that stands for what is outside.

TEXT = """
func.func private @g(i8) -> i8
func.func @f(%a: i8) -> (i8, tensor<2xi8>) {
  %x = call @g(%a) : (i8) -> i8
  %y = "foo.pair"(%x, %a) {k = 1 : i32} : (i8, i8) -> tensor<2xi8>
  return %x, %y : i8, tensor<2xi8>
}
"""


def test_what_is_outside_gets_the_operands_and_gives_the_results() -> None:
    seen: list[tuple[str, list[int]]] = []

    def outside(op: Operation, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> Sequence[Any]:
        seen.append((op.name, [int(value.bits) for value in operands]))
        return [hu.Value.from_bits([4, 5], "tensor<2xi8>") if op.name == "foo.pair" else hu.Value.from_bits(7, "i8")]

    module = hu.parse(TEXT)
    argument = hu.Value.from_bits(3, "i8")
    x, y = program_for(module, Settings()).run(module.body[1], [argument], outside)
    assert (int(x.bits), y.bits.tolist()) == (7, [4, 5])
    assert seen == [("func.call", [3]), ("foo.pair", [7, 3])]


def test_without_it_such_an_op_is_unsupported() -> None:
    with pytest.raises(hu.Unsupported, match="'@g' is a declaration"):
        hu.run(TEXT, 3, function="f")


# --- settings ---------------------------------------------------------------------------------------------------------
#
# The settings of a run: each field says what it means, and refuses what is not one of its choices.


@each_row(
    ({"on_ub": "ignore"}, "on_ub is 'ignore', but must be 'raise' or 'poison'"),
    ({"index_width": 16}, "index_width is 16, but must be 64 or 32"),
    ({"swizzle": "never"}, "swizzle is 'never', but must be 'hint' or 'physical'"),
    ({"mma": "chip:z80"}, "mma: unknown model 'chip:z80'; choose one of exact, ieee, chip:"),
)
def test_a_value_that_is_not_a_choice_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**given)


def test_every_field_has_a_meaning_and_defaults_to_one_of_its_choices() -> None:
    for field in fields(Settings):
        assert field.metadata["meaning"]
        choices = field.metadata["choices"]
        assert not choices or field.default in choices


def test_only_what_compiled_code_depends_on_is_in_the_key() -> None:
    plain = Settings()
    assert Settings(externals={"f": abs}).key() == plain.key()
    others: list[dict[str, Any]] = [{"max_steps": 1}, {"index_width": 32}, {"casts": {(("i8",), ("i16",)): abs}}]
    assert all(Settings(**other).key() != plain.key() for other in others)


# --- memory -----------------------------------------------------------------------------------------------------------


def different(number: int) -> str:
    return f"func.func @f(%x: i32) -> i32 {{ %c = arith.constant {number} : i32 %r = arith.addi %x, %c : i32 return %r : i32 }}"


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_module_goes_with_what_was_compiled_of_it(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "_backend", backend)
    module = parse_module(different(1))
    (result,) = run(module, 2)
    assert result.item() == 3
    assert program_for(module, Settings()) is program_for(module, Settings())
    gone = weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None


@pytest.mark.long
def test_ten_thousand_modules_take_no_memory() -> None:
    """A process of its own, since what tests before it left would hide some megabytes."""
    code = f"""if True:
        import gc
        from halfulp.running import run

        def megabytes():
            gc.collect()
            return int(open("/proc/self/statm").read().split()[1]) * 4 // 1024

        for number in range(10_001):
            run({different(0)!r}.replace("constant 0", "constant " + str(number)), 1)
            if number == 1000:
                before = megabytes()
        print(megabytes() - before)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8


# --- one module for many threads and processes ------------------------------------------------------------------------

SHARED = """\
func.func @f(%x: tensor<8xf16>, %n: index) -> tensor<8xf16> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %x) -> tensor<8xf16> {
    %c = arith.constant dense<1.5> : tensor<8xf16>
    %m = arith.mulf %s, %c : tensor<8xf16>
    %a = arith.subf %m, %x : tensor<8xf16>
    scf.yield %a : tensor<8xf16>
  }
  return %r : tensor<8xf16>
}
"""
THREADS, PROCESSES = 16, 4
HALVES = np.arange(8, dtype=np.float16)
module: Any = None


def expected(number: int) -> list[int]:
    """NumPy's own half precision, which rounds each operation once to nearest even."""
    s = HALVES + np.float16(number)
    for _ in range(number % 5):
        s = s * np.float16(1.5) - (HALVES + np.float16(number))
    return s.view(np.uint16).tolist()  # type: ignore[no-any-return]


def run_shared(number: int) -> list[int]:
    """Run the shared module, in one of three ways."""
    x, n = HALVES + np.float16(number), number % 5
    if number % 3 == 2:
        return hu.trace(module, x, n).results[0].bits.tolist()  # type: ignore[no-any-return]
    return hu.run(module, x, n)[0].bits.tolist()  # type: ignore[no-any-return]


def fresh() -> None:
    global module
    module = hu.parse(SHARED)


@pytest.mark.long
def test_sixteen_threads() -> None:
    """All begin at the same moment, before anything of the module is compiled."""
    for _ in range(3):
        fresh()
        together = Barrier(THREADS)

        def begin(number: int, together: Barrier = together) -> list[list[int]]:
            together.wait()
            return [run_shared(number + THREADS * k) for k in range(4)]

        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(begin, range(THREADS)))
        assert found == [[expected(number + THREADS * k) for k in range(4)] for number in range(THREADS)]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes() -> None:
    """The module is used before the fork, in the children, and in the parent meanwhile."""
    fresh()
    run_shared(1)
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        asked = pool.map_async(run_shared, range(32))
        assert [run_shared(number) for number in range(8)] == [expected(number) for number in range(8)]
        assert asked.get(60) == [expected(number) for number in range(32)]
