"""Traces: what they note of a run, what they keep of a long one, and that hostile programs do no harm."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from command import halfulp
from tables import each_row
from tree import ROOT

import halfulp as hu
from halfulp.command import main as cli
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.run import compiler, evaluators
from halfulp.traces import trace as tracing
from halfulp.traces.record import Trace
from halfulp.traces.values import Statistics, statistics

AVERAGE = (ROOT / "examples" / "average.mlir").read_text()
LOOP = """func.func @main(%n: index, %y: i8) -> i8 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %c = arith.constant 3 : i8
  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %y) -> i8 {
    %t = arith.addi %s, %c overflow<nsw> : i8
    scf.yield %t : i8
  }
  return %r : i8
}"""
GCD = """func.func @gcd(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %done = arith.cmpi eq, %b, %zero : i32
  %r = scf.if %done -> i32 {
    scf.yield %a : i32
  } else {
    %m = arith.remui %a, %b : i32
    %g = func.call @gcd(%b, %m) : (i32, i32) -> i32
    scf.yield %g : i32
  }
  return %r : i32
}"""


def summary(trace: Trace) -> list[str]:
    """Return a step a line: the call depth, op, values, and where control went."""
    return [
        " ".join(
            [
                f"{step.depth} {'end ' if step.ends else ''}{step.op}",
                *(f"{seen.name}:{seen.text.partition('=')[2]}" for seen in step.operands),
                *(f"->{seen.name}:{seen.text.partition('=')[2]}" for seen in step.results),
                *([f"=>{step.where}"] if step.where else []),
                *([step.lanes_text] if step.lanes_text else []),
            ]
        )
        for step in trace.steps
    ]


def all_text(trace: Trace) -> str:
    return f"{trace}\n{trace.html()}\n{trace._repr_html_()}"


# --- steps ------------------------------------------------------------------------------------------------------------


def test_steps_have_lines_values_and_places() -> None:
    trace = hu.trace(
        "func.func @f(%a: f8E4M3FN) -> f32 {\n  %x = arith.extf %a : f8E4M3FN to f32\n  return %x : f32\n}", 0.3
    )
    widen, leave = trace.steps
    assert (widen.op, widen.line, widen.location) == ("arith.extf", 2, "<string>:2:8")
    assert (widen.source, widen.function, widen.depth) == ("%x = arith.extf %a : f8E4M3FN to f32", "@f", 0)
    assert [str(value) for value in (*widen.operands, *widen.results)] == ["f8E4M3FN=0.3125", "f32=0.3125"]
    assert widen.results[0].type == "f32"
    assert (leave.op, leave.results) == ("func.return", ())
    assert trace.results == hu.run("func.func @f() -> f32 { %0 = arith.constant 0.3125 : f32\n return %0 : f32 }")
    assert [(seen.name, str(seen)) for seen in trace.arguments] == [("%a", "f8E4M3FN=0.3125")]
    assert repr(trace) == "<Trace of @f: 2 ops>"


def test_values_are_spelled_as_run_spells_them() -> None:
    text = """func.func @f(%a: tensor<2x2xf4E2M1FN>, %b: tensor<2xi3>) -> tensor<2x2xf4E2M1FN> {
      %n = arith.negf %a : tensor<2x2xf4E2M1FN>
      %c = arith.addi %b, %b overflow<nsw> : tensor<2xi3>
      return %n : tensor<2x2xf4E2M1FN>
    }"""
    a = np.array([[0, 1], [7, 15]], np.uint8)
    trace = hu.trace(text, hu.Value.from_bits(a, "f4E2M1FN"), hu.Value.from_bits(np.array([1, 3], np.uint8), "i3"))
    assert str(trace.steps[0].results[0]) == "2x2xf4E2M1FN=[-0 -0.5][-6 6]"
    assert str(trace.steps[1].results[0]) == "2xi3=2 poison"
    assert "result[0]: 2x2xf4E2M1FN=[-0 -0.5][-6 6]" in str(trace)


def test_poison_is_followed_to_its_birth() -> None:
    trace = hu.trace(AVERAGE, np.array([3, 100, -7], np.int8), np.array([4, 100, -7], np.int8))
    _, add, divide, _ = trace.steps
    (birth,) = add.births
    assert (birth.origin.reason, birth.origin.element, birth.count) == ("signed overflow with nsw", (1,), 1)
    assert (divide.births, divide.results[0].poisoned) == ((), 1)
    assert divide.results[0].origins == (birth.origin,)
    assert add.site.births == 1
    lines = [line.strip() for line in str(trace).splitlines()]
    assert "poison born: signed overflow with nsw (1 element, the first [1])" in lines
    assert "poison from step 2: signed overflow with nsw (arith.addi at <string>:7:10)" in lines


def test_poison_of_an_input_and_of_an_empty_tensor() -> None:
    text = """func.func @f(%a: i8) -> (i8, tensor<2xi8>) {
      %b = arith.addi %a, %a : i8
      %e = tensor.empty() : tensor<2xi8>
      return %b, %e : i8, tensor<2xi8>
    }"""
    from halfulp.interp.values.parsing import parse_value

    trace = hu.trace(text, parse_value(ty.IntegerType(8), "poison"))
    assert "poison from given as poison (input)" in str(trace)
    assert [birth.count for birth in trace.steps[1].births] == [2]


def test_undefined_behaviour_ends_a_trace_but_loses_nothing() -> None:
    text = "func.func @f(%a: i8, %b: i8) -> i8 {\n  %s = arith.addi %a, %b : i8\n  %q = arith.divui %s, %b : i8\n  return %q : i8\n}"
    trace = hu.trace(text, 7, 0)
    assert isinstance(trace.error, hu.UndefinedBehavior)
    assert (trace.results, [step.op for step in trace.steps]) == ((), ["arith.addi", "arith.divui"])
    assert trace.steps[-1].undefined == "arith.divui: undefined behaviour: division by zero: lhs = 7, rhs = 0"
    assert str(trace).splitlines()[-1] == f"2 ops ran, then: {trace.steps[-1].undefined}"
    assert "stopped by UndefinedBehavior" in repr(trace)
    assert trace.steps[-1].undefined in trace.html()
    tolerant = hu.trace(text, 7, 0, on_ub="poison")
    assert tolerant.error is None
    assert tolerant.steps[1].undefined is not None
    assert tolerant.results[0].poisoned.all()


@each_row(
    ("%p = ub.poison : i1\n cf.cond_br %p, ^a, ^a\n^a:\n return", hu.UndefinedBehavior, "cf.cond_br"),
    ('%z = arith.constant false\n cf.assert %z, "no\\1B[31m"\n return', hu.errors.AssertionFailed, "cf.assert"),
    ("ub.unreachable", hu.UndefinedBehavior, "ub.unreachable"),
    ('%z = arith.constant 1 : i8\n "x.y"(%z) : (i8) -> ()\n return', hu.Unsupported, "x.y"),
)
def test_whatever_stops_a_program_is_its_error(body: str, kind: type[hu.HalfulpError], last: str) -> None:
    trace = hu.trace(f"func.func @f() {{\n {body}\n}}")
    assert isinstance(trace.error, kind)
    assert (trace.steps[-1].op, trace.steps[-1].undefined) == (last, trace.error.message)
    assert "\x1b" not in all_text(trace)


def test_what_is_wrong_before_the_first_op_is_raised() -> None:
    with pytest.raises(hu.TypeMismatch):
        hu.trace(LOOP, 3)
    with pytest.raises(hu.TypeMismatch):
        hu.trace(LOOP, 3, np.zeros(2, np.int8))
    with pytest.raises(hu.errors.InputError):
        hu.trace(LOOP, 3, 1, function="other")
    with pytest.raises(hu.errors.ParseError):
        hu.trace("func.func @f(")
    with pytest.raises(ValueError, match="n is 0, but must be at least 1"):
        hu.trace(LOOP, 3, 1, n=0)


def test_a_limit_of_steps_blames_no_op() -> None:
    trace = hu.trace(LOOP, 50, 1, max_steps=20)
    assert isinstance(trace.error, hu.errors.LimitExceeded)
    assert trace.steps[-1].undefined is None


# --- control ----------------------------------------------------------------------------------------------------------


def test_loops_tell_their_trips() -> None:
    assert summary(hu.trace(LOOP, 2, 1))[3:] == [
        "0 scf.for %0:0 %n:2 %1:1 %y:1 =>2 trips",
        "0 arith.addi %s:1 %c:3 ->%t:4",
        "0 scf.yield %t:4",
        "0 arith.addi %s:4 %c:3 ->%t:7",
        "0 scf.yield %t:7",
        "0 end scf.for ->%r:7",
        "0 func.return %r:7",
    ]
    assert summary(hu.trace(LOOP, 0, 1))[3] == "0 scf.for %0:0 %n:0 %1:1 %y:1 ->%r:1 =>0 trips"


def test_while_loops() -> None:
    text = """func.func @f(%a: i8) -> i8 {
      %r = scf.while (%x = %a) : (i8) -> i8 {
        %c = arith.trunci %x : i8 to i1
        scf.condition(%c) %x : i8
      } do {
      ^bb0(%y: i8):
        %h = arith.addi %y, %y : i8
        scf.yield %h : i8
      }
      return %r : i8
    }"""
    assert summary(hu.trace(text, 3)) == [
        "0 scf.while %a:3 =>1 trip",
        "0 arith.trunci %x:3 ->%c:true",
        "0 scf.condition %c:true %x:3 =>goes on",
        "0 arith.addi %y:3 %y:3 ->%h:6",
        "0 scf.yield %h:6",
        "0 arith.trunci %x:6 ->%c:false",
        "0 scf.condition %c:false %x:6 =>ends",
        "0 end scf.while ->%r:6",
        "0 func.return %r:6",
    ]


def test_calls_have_depths_and_ends() -> None:
    trace = hu.trace(GCD, 12, 4)
    assert summary(trace) == [
        "0 arith.constant ->%zero:0",
        "0 arith.cmpi %b:4 %zero:0 ->%done:false",
        "0 scf.if %done:false =>else",
        "0 arith.remui %a:12 %b:4 ->%m:0",
        "0 func.call %b:4 %m:0 =>@gcd",
        "1 arith.constant ->%zero:0",
        "1 arith.cmpi %b:0 %zero:0 ->%done:true",
        "1 scf.if %done:true =>then",
        "1 scf.yield %a:4",
        "1 end scf.if ->%r:4",
        "1 func.return %r:4",
        "0 end func.call ->%g:4",
        "0 scf.yield %g:4",
        "0 end scf.if ->%r:4",
        "0 func.return %r:4",
    ]
    assert trace.executed == 12
    assert [site.runs for site in trace.sites if site.op == "arith.cmpi"] == [2]


def test_calls_of_host_functions_and_of_functions_without_results() -> None:
    text = """
    func.func private @host(i8) -> i8
    func.func private @quiet(%x: i8) { return }
    func.func @main(%a: i8) -> i8 {
      func.call @quiet(%a) : (i8) -> ()
      func.call @quiet(%a) : (i8) -> ()
      %h = func.call @host(%a) : (i8) -> i8
      %f = func.constant @host : (i8) -> i8
      %i = func.call_indirect %f(%h) : (i8) -> i8
      return %i : i8
    }"""
    trace = hu.trace(text, 3, externals={"host": lambda x: x.item() + 1})
    assert summary(trace) == [
        "0 func.call %a:3 =>@quiet",
        "1 func.return",
        "0 func.call %a:3 =>@quiet",
        "1 func.return",
        "0 func.call %a:3 ->%h:4 =>@host",
        "0 func.constant ->%f:",
        "0 func.call_indirect %f: %h:4 ->%i:5 =>@host",
        "0 func.return %i:5",
    ]
    assert trace.steps[5].results[0].text == "@host"


def test_branches_name_their_blocks() -> None:
    text = """func.func @f(%a: i8) -> i8 {
      cf.switch %a : i8, [default: ^d, 5: ^five]
    ^d:
      return %a : i8
    ^five:
      cf.br ^d
    }"""
    assert [step.branch for step in hu.trace(text, 5).steps] == ["^five", "^d", None]
    bytecode = hu.read_bytecode(hu.write_bytecode(hu.load(text)))
    assert [step.branch for step in hu.trace(bytecode, 5).steps] == ["^bb2", "^bb1", None]


def test_batches_say_which_lanes_run() -> None:
    trace = hu.trace(GCD, np.array([12, 35, 7], np.int32), np.array([4, 0, 0], np.int32), batch=True)
    assert summary(trace)[:8] == [
        "0 arith.constant ->%zero:0",
        "0 arith.cmpi %b:4 0 0 %zero:0 ->%done:false true true",
        "0 scf.if %done:true =>then lanes 1, 2",
        "0 scf.if %done:false =>else lane 0",
        "0 scf.yield %a:35 7 lanes 1, 2",
        "0 end scf.if ->%r:35 7 lanes 1, 2",
        "0 arith.remui %a:12 %b:4 ->%m:0 lane 0",
        "0 func.call %b:4 %m:0 =>@gcd lane 0",
    ]
    assert {step.depth for step in trace.steps} == {0, 1}
    assert trace.steps[-1].depth == 0
    assert trace.results[0].numpy().tolist() == [4, 35, 7]


def test_a_call_of_a_batch_ends_when_its_last_lane_returns() -> None:
    text = """
    func.func private @sign(%x: i8) -> i8 {
      %zero = arith.constant 0 : i8
      %negative = arith.cmpi slt, %x, %zero : i8
      cf.cond_br %negative, ^less, ^more
    ^less:
      return %zero : i8
    ^more:
      %one = arith.constant 1 : i8
      return %one : i8
    }
    func.func @main(%a: i8) -> i8 {
      %s = func.call @sign(%a) : (i8) -> i8
      return %s : i8
    }"""
    trace = hu.trace(text, np.array([-1, 2, 3], np.int8), batch=True)
    assert [(step.op, step.depth, step.lanes_text) for step in trace.steps if step.op != "arith.constant"] == [
        ("func.call", 0, ""),
        ("arith.cmpi", 1, ""),
        ("cf.cond_br", 1, "lane 0"),
        ("cf.cond_br", 1, "lanes 1, 2"),
        ("func.return", 1, "lanes 1, 2"),
        ("func.return", 1, "lane 0"),
        ("func.call", 0, ""),
        ("func.return", 0, ""),
    ]
    assert [step.depth for step in trace.steps if step.op == "arith.constant"] == [1, 1]


def test_a_terminator_that_is_left_out_is_named() -> None:
    text = "func.func @f(%c: i1) {\n  scf.if %c {\n    %x = arith.constant 1 : i8\n  }\n  return\n}"
    assert [step.source for step in hu.trace(text, True).steps] == [
        "scf.if %c {",
        "%x = arith.constant 1 : i8",
        "scf.yield",
        "return",
    ]


def test_bytecode_is_shown_as_its_text() -> None:
    module = hu.read_bytecode(hu.write_bytecode(hu.load(AVERAGE)))
    trace = hu.trace(module, np.zeros(3, np.int8), np.zeros(3, np.int8))
    add = trace.steps[1]
    assert add.source == "%0 = arith.addi %arg0, %arg1 overflow<nsw> : tensor<3xi8>"
    assert trace.lines[(add.line or 0) - 1].strip() == add.source
    assert [seen.name for seen in (*add.operands, *add.results)] == ["%arg0", "%arg1", "%0"]


# --- long runs --------------------------------------------------------------------------------------------------------


def test_of_a_long_run_the_first_and_last_steps_stay_and_births_of_poison() -> None:
    trace = hu.trace(LOOP, 1000, 1, n=20)
    assert (trace.rows, trace.executed) == (2006, 2005)
    numbers = [step.number for step in trace.steps]
    assert numbers[:16] == list(range(1, 17))
    assert numbers[-4:] == [2003, 2004, 2005, 2006]
    (middle,) = numbers[16:-4]
    assert [birth.count for birth in trace.steps[16].births] == [1]
    assert trace.steps[3].trips == 1000
    assert [site.runs for site in trace.sites] == [1, 1, 1, 1, 1000, 1000, 1]
    text = str(trace)
    assert f"... {middle - 17} more steps" in text
    assert f"... {2003 - middle - 1:,} more steps" in text
    assert f"poison from step {middle}: " in text


def test_an_annotated_program_is_the_program_with_comments() -> None:
    # 1 + 3 + 3; each line of the loop ran twice.
    for source in (LOOP, LOOP.replace("\n", "\r\n"), LOOP.replace("  ", " ")):
        lines = hu.trace(source, 2, 1).annotated().splitlines()
        assert [line.partition("  // ")[0].rstrip() for line in lines] == source.splitlines()
        comments = [line.partition("  // ")[2] for line in lines]
        assert comments == [
            "%n index=2; %y i8=1",
            "-> %0 index=0",
            "-> %1 index=1",
            "-> %c i8=3",
            "-> %r i8=7",
            "the last kept of 2 runs (step 7); -> %t i8=7",
            "the last kept of 2 runs (step 8); %t i8=7",
            "",
            "%r i8=7",
            "",
        ]
    # The name of a place has the end of a line, which would end the comment.
    name = 'loc("a\\0Aend":1:1)'
    poison = f"func.func @f() -> i8 {{\n  %p = ub.poison : i8 {name}\n  return %p : i8\n}}"
    written = hu.trace(poison).annotated()
    assert str(hu.load(written)) == str(hu.load(poison))
    assert len(written.splitlines()) == 4
    assert "poison born" in written.splitlines()[1]
    stopped = hu.trace("func.func @f(%a: i8) -> i8 {\n  %q = arith.divsi %a, %a : i8\n  return %q : i8\n}", 0)
    assert [line.partition("  // ")[2] for line in stopped.annotated().splitlines()] == [
        "%a i8=0",
        "%a i8=0; ! arith.divsi: undefined behaviour: division by zero: lhs = 0, rhs = 0",
        "",
        "",
    ]
    # 2^24 + 1 rounds to 2^24: half an ulp, the distance of the numbers there being 2.
    sums = "func.func @f(%x: f32, %c: f32) -> f32 {\n %s = arith.addf %x, %c : f32\n return %s : f32\n}"
    assert "own 0.5 ulp" in hu.trace(sums, 2.0**24, 1.0, shadow=True).annotated().splitlines()[1]
    large = hu.trace("func.func @f(%x: tensor<99xi8>) {\n return\n}", np.arange(99, dtype=np.int8)).annotated()
    assert large.splitlines()[0].endswith("(min 0, max 98)")
    printed = hu.trace(hu.read_bytecode(hu.write_bytecode(hu.load(LOOP))), 2, 1).annotated()
    assert hu.run(printed, 2, 1) == hu.run(LOOP, 2, 1)


def test_a_limit_of_one_keeps_the_last_step() -> None:
    trace = hu.trace(
        "func.func @f(%a: i8) -> i8 {\n %q = arith.remui %a, %a : i8\n %r = arith.remui %q, %q : i8\n return %r : i8 }",
        3,
        n=1,
    )
    assert [(step.number, step.op) for step in trace.steps] == [(2, "arith.remui")]


@pytest.mark.long
def test_large_tensors_are_summarised() -> None:
    x = np.arange(1_000_000, dtype=np.float32) - 10
    x[5], x[6], x[7] = np.nan, np.inf, -np.inf
    text = """func.func @f(%x: tensor<1000000xf32>) -> tensor<1000000xi8> {
      %y = arith.negf %x : tensor<1000000xf32>
      %z = arith.fptosi %y : tensor<1000000xf32> to tensor<1000000xi8>
      return %z : tensor<1000000xi8>
    }"""
    trace = hu.trace(text, x)
    negated = trace.steps[0].results[0]
    assert negated.value is None
    assert str(negated) == ("1000000xf32=10 9 8 7 6 -nan -inf inf ... (min -999989, max 10, 1 NaN, 2 infinite)")
    poisoned = trace.steps[1].results[0]
    assert poisoned.statistics is not None
    assert poisoned.statistics.poisoned == poisoned.poisoned == np.count_nonzero(~(np.abs(x) < 129)) - 0
    assert len(all_text(trace)) < 60_000
    assert trace.results == hu.run(text, x)
    kept = hu.trace(text, x, keep=True).steps[0].results[0].value
    assert kept is not None
    assert np.array_equal(kept.numpy(), -x, equal_nan=True)


def brute(element: ty.Type, codes: list[int]) -> Statistics:
    """Return the same numbers from one exact value after the other."""
    width = width_of(element)
    nans = infinities = 0
    numbers: list[tuple[Any, int, int]] = []
    for code in codes:
        if isinstance(element, ty.FloatType):
            fmt = element.format
            nans += fmt.is_nan(code)
            infinities += fmt.is_infinite(code)
            if fmt.is_nan(code) or fmt.is_infinite(code):
                continue
            exact = scalar.value(fmt, code)
            numbers.append((exact, -int(bool(fmt.signed and code >> (width - 1))), code))
        else:
            unsigned = element == ty.I1 or (isinstance(element, ty.IntegerType) and element.signedness == "unsigned")
            numbers.append((code - (1 << width) if not unsigned and code >> (width - 1) else code, 0, code))
    least, greatest = (min(numbers)[2], max(numbers)[2]) if numbers else (None, None)
    return Statistics(len(codes), 0, nans, infinities, least, greatest, None, None)


ELEMENTS = [ty.FloatType(fmt) for fmt in FORMATS.values()] + [
    ty.IndexType(),
    *(ty.IntegerType(width, sign) for width in (1, 3, 8, 32, 64, 65, 130) for sign in ("signless", "unsigned")),
]


@pytest.mark.parametrize("element", thinned(ELEMENTS, 4), ids=str)
def test_statistics_are_those_of_the_exact_values(element: ty.Type) -> None:
    rng = np.random.default_rng(7)
    width = element_width(element)
    assert width is not None
    for count in (1, 2, 3, 40, 700):
        codes = [int.from_bytes(rng.bytes(24), "little") & ((1 << width) - 1) for _ in range(count)]
        if isinstance(element, ty.FloatType) and element.format.explicit_integer_bit:
            codes = [code | 1 << 63 if code >> 64 & 0x7FFF else code & ~(1 << 63) for code in codes]
        value = hu.Value(ty.TensorType((count,), element), ints_to_codes(codes, width, (count,)))
        found, expected = statistics(value), brute(element, codes)
        assert (found.nans, found.infinities, found.minimum, found.maximum) == (
            expected.nans,
            expected.infinities,
            expected.minimum,
            expected.maximum,
        )


def test_statistics_leave_out_poison_and_work_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.traces.values._CHUNK", 7)
    poison = np.zeros(50, np.uint16)
    poison[[0, 49]] = 1
    value = hu.Value(ty.TensorType((50,), ty.IntegerType(8)), np.arange(50, dtype=np.uint8), poison)
    assert statistics(value) == Statistics(50, 2, 0, 0, 1, 48, "1", "48")
    nothing = hu.Value(value.type, value.bits, np.ones(50, np.uint16))
    assert statistics(nothing) == Statistics(50, 50, 0, 0, None, None, None, None)


def test_arguments_are_noted_as_they_were() -> None:
    x = np.array([3, 100, -7], np.int8)
    trace = hu.trace(AVERAGE, x, x)
    x[:] = 0
    assert "%x 3xi8=3 100 -7" in str(trace)


def test_nothing_is_watched_when_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("watched")

    for module in (compiler, evaluators, compiler):
        for name in {"observed", "observed_control", "seen"} & {*vars(module)}:
            monkeypatch.setattr(module, name, fail)
    (result,) = hu.run(hu.load(LOOP), 5, 1)
    assert result.numpy() == 16
    with pytest.raises(AssertionError, match="watched"):
        hu.trace(hu.load(LOOP), 5, 1)


# --- files ------------------------------------------------------------------------------------------------------------


def test_an_archive_has_every_value(tmp_path: Path) -> None:
    x, y = np.array([3, 100, -7], np.int8), np.array([4, 100, -7], np.int8)
    trace = hu.trace(AVERAGE, x, y, npz=tmp_path / "t")
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["index.json", "values.npz"]
    index = json.loads((tmp_path / "t" / "index.json").read_text())
    assert (index["function"], index["ops_executed"], index["steps_left_out"]) == ("@average", 4, 0)
    with np.load(tmp_path / "t" / "values.npz") as arrays:
        for step, noted in zip(trace.steps, index["steps"], strict=True):
            assert (noted["op"], noted["location"], noted["source"]) == (step.op, step.location, step.source)
            for seen, entry in zip((*step.operands, *step.results), noted["operands"] + noted["results"], strict=True):
                assert seen.value is not None
                assert (entry["name"], entry["type"], entry["text"]) == (seen.name, seen.type, str(seen))
                assert np.array_equal(arrays[entry["codes"]], seen.value.bits)
                ids = arrays[entry["poison"]] if entry["poison"] else np.zeros(seen.shape, np.uint16)
                assert np.array_equal(ids != 0, seen.value.poisoned)
        assert np.array_equal(arrays[index["results"][0]["codes"]], trace.results[0].bits)
        # What an op takes from the one before is written once.
        assert index["steps"][1]["results"][0]["codes"] == index["steps"][2]["operands"][0]["codes"]
    (born,) = index["steps"][1]["poison_born"]
    assert index["poison_origins"][born["origin"] - 1]["reason"] == "signed overflow with nsw"
    trace.save_npz(tmp_path / "again")
    again = json.loads((tmp_path / "again" / "index.json").read_text())
    assert [step["op"] for step in again["steps"]] == [step["op"] for step in index["steps"]]


def test_large_and_wide_values_are_streamed_to_the_archive(tmp_path: Path) -> None:
    text = """func.func @f(%x: tensor<40xf80>, %n: index) -> tensor<40xf80> {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %r = scf.for %i = %0 to %n step %1 iter_args(%s = %x) -> tensor<40xf80> {
        %t = arith.addf %s, %x : tensor<40xf80>
        scf.yield %t : tensor<40xf80>
      }
      return %r : tensor<40xf80>
    }"""
    x = hu.convert(np.arange(40, dtype=np.float64), to="f80")
    hu.trace(text, x, 3, npz=tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    sums = [step["results"][0]["codes"] for step in index["steps"] if step["op"] == "arith.addf"]
    with np.load(tmp_path / "values.npz") as arrays:
        for times, name in enumerate(sums, 2):
            assert np.array_equal(arrays[name], hu.convert(times * np.arange(40, dtype=np.float64), to="f80").bits)
    assert len(set(sums)) == 3
    # What one op gives and the next takes is written once.
    assert [step["operands"][0]["codes"] for step in index["steps"] if step["op"] == "scf.yield"] == sums


def test_each_trip_of_a_loop_has_values_of_its_own_in_the_archive(tmp_path: Path) -> None:
    hu.trace(LOOP, 4, 1, npz=tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    with np.load(tmp_path / "values.npz") as arrays:
        sums = [arrays[step["results"][0]["codes"]] for step in index["steps"] if step["op"] == "arith.addi"]
    assert [int(code) for code in sums] == [4, 7, 10, 13]


def test_a_run_that_breaks_leaves_no_archive(tmp_path: Path) -> None:
    text = "func.func private @h(i8) -> i8\nfunc.func @main(%a: i8) -> i8 {\n %r = call @h(%a) : (i8) -> i8\n return %r : i8 }"

    def broken(_: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        hu.trace(text, 3, externals={"h": broken}, npz=tmp_path / "t")
    assert not (tmp_path / "t").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(hu.errors.InputError, match="cannot write to"):
        hu.trace(LOOP, 3, 1, npz=tmp_path / "file")


# --- pages ------------------------------------------------------------------------------------------------------------

HOSTILE = """// </script><script>alert(1)</script> <!-- \x1b[31m \u202e &amp; \u2028
func.func @"<img src=x onerror=alert(2)>"(%a: i8) -> i8 {
  %b = arith.addi %a, %a {"</script><b>" = "]]>&lt;"} : i8
  cf.assert %c, "</script><script>alert(3)</script>"
  return %b : i8
}""".replace("  cf.assert %c", "  %c = arith.cmpi ne, %a, %a : i8\n  cf.assert %c")


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_page_is_one_file_in_which_the_program_is_only_text(tmp_path: Path) -> None:
    (tmp_path / "<b>.mlir").write_text(HOSTILE)
    page = hu.trace(hu.load(tmp_path / "<b>.mlir"), 3).html()
    harmless = hu.trace(LOOP, 1, 1).html()
    for tag in ("<script", "</script", "<img", "<!--", "<b>"):
        assert page.count(tag) == harmless.count(tag), tag
    data = data_of(page)
    assert [text for _, text in data["lines"]] == HOSTILE.split("\n")
    assert data["stopped"].endswith("</script><script>alert(3)</script>")
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page


def test_a_notebook_gets_a_table_without_scripts() -> None:
    shown = hu.trace(HOSTILE, 3)._repr_html_()
    assert "alert(3)" in shown
    for tag in ("<script", "</script", "<img", "<!--"):
        assert tag not in shown
    long = hu.trace(LOOP, 1000, 1)._repr_html_()
    assert "more steps" in long
    assert long.count("<tr>") < 70


def test_a_page_has_the_lines_the_steps_and_the_births() -> None:
    data = data_of(hu.trace(AVERAGE, np.array([3, 100, -7], np.int8), np.array([4, 100, -7], np.int8)).html())
    assert (data["runs"], data["born"]) == ({"6": 1, "7": 1, "8": 1, "9": 1}, {"7": 1})
    steps = [dict(zip(data["steps"]["fields"], row, strict=True)) for row in data["steps"]["rows"]]
    assert [step["births"] != [] for step in steps] == [False, True, False, False]
    assert steps[2]["from"] == [[2, "signed overflow with nsw (arith.addi at <string>:7:10)"]]
    assert data["texts"][steps[2]["results"][0][1]] == "3xi8=3 poison -7"


def test_a_name_that_is_no_text_does_not_stop_a_page(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.mlir")
    path.write_text(LOOP)
    trace = hu.trace(hu.load(path), 1, 1)
    trace.html().encode("utf-8")
    trace._repr_html_().encode("utf-8")
    str(trace).encode("utf-8")


@pytest.mark.long
def test_a_page_of_a_thousand_ops_is_small() -> None:
    body = "\n".join(f"  %v{i + 1} = arith.mulf %v{i}, %v{i} : tensor<8xf32>" for i in range(1000))
    text = f"func.func @f(%v0: tensor<8xf32>) -> tensor<8xf32> {{\n{body}\n  return %v1000 : tensor<8xf32>\n}}"
    trace = hu.trace(text, np.linspace(0.999, 1.001, 8, dtype=np.float32))
    assert trace.executed == 1001
    assert len(trace.html()) < 500_000


def test_of_a_very_long_source_a_page_has_what_is_around_the_lines_that_ran() -> None:
    data = data_of(hu.trace("\n" * 5000 + LOOP + "\n" * 5000 + "//" + "x" * 5000, 1, 1).html())
    numbers = [number for number, _ in data["lines"]]
    assert (numbers[0], numbers[-1]) == (4982, 5029)


# --- the command ------------------------------------------------------------------------------------------------------

INPUTS = ("--input=3xi8=3 100 -7", "--input=3xi8=4 100 -7")
EXAMPLE = str(ROOT / "examples" / "average.mlir")


@pytest.mark.long
def test_the_command_prints_steps_then_results() -> None:
    done = halfulp("run", "--trace", EXAMPLE, *INPUTS)
    assert done.code == 0
    assert done.out.splitlines()[-2:] == ["4 ops ran", "result[0]: 3xi8=3 poison -7"]
    assert "poison born: signed overflow with nsw" in done.out
    assert done.err.startswith("note: result[0]: 1 poison element, the first at [1]")
    assert halfulp("run", "--trace", EXAMPLE, *INPUTS, "--forbid-poison").code == 4
    assert halfulp("run", "--trace", EXAMPLE, *INPUTS, "--expected_output=1 2 3").code == 1


def test_the_command_writes_pages_and_archives_whole(tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "values"
    done = halfulp("run", "--trace", EXAMPLE, *INPUTS, f"--html={page}", f"--npz={folder}")
    assert (done.code, done.out) == (0, "result[0]: 3xi8=3 poison -7\n")
    assert data_of(page.read_text(encoding="utf-8"))["rows"] == 4
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["index.json", "page.html", "values", "values.npz"]
    program = tmp_path / "average.mlir"
    assert halfulp("run", "--trace", EXAMPLE, *INPUTS, f"--annotate={program}").out == done.out
    assert halfulp("run", str(program), *INPUTS).out == done.out
    wrong = halfulp(
        "run", "--trace", EXAMPLE, "--input=1", f"--html={tmp_path / 'no.html'}", f"--npz={tmp_path / 'no'}"
    )
    assert wrong.code == 2
    assert not list(tmp_path.glob("no*"))
    assert halfulp("run", "--trace", EXAMPLE, *INPUTS, f"--html={tmp_path / 'none' / 'page.html'}").code == 2


@pytest.mark.long
def test_the_command_traces_up_to_undefined_behaviour(tmp_path: Path) -> None:
    file = tmp_path / "divide.mlir"
    file.write_text("func.func @f(%a: i8) -> i8 {\n  %q = arith.divsi %a, %a : i8\n  return %q : i8\n}\n")
    done = halfulp("run", "--trace", str(file), "--input=0", f"--html={tmp_path / 'page.html'}")
    assert (done.code, done.out) == (4, "")
    assert "division by zero" in data_of((tmp_path / "page.html").read_text(encoding="utf-8"))["stopped"]
    done = halfulp("run", "--trace", str(file), "--input=0")
    assert done.code == 4
    assert (
        done.out.splitlines()[-1]
        == "1 op ran, then: arith.divsi: undefined behaviour: division by zero: lhs = 0, rhs = 0"
    )
    assert done.err.startswith(f"{file}:2:8: error: arith.divsi: undefined behaviour")
    batch = halfulp("run", "--trace", str(file), "--batch", "--input=1 2 0", "--on-ub=poison")
    assert batch.code == 0
    assert "-> %q 3xi8=1 1 poison" in batch.out


def test_the_command_keeps_as_many_steps_as_one_says() -> None:
    done = halfulp("run", "--trace", "-", "--input=300", "--input=1", "--max-rows=10", stdin=LOOP.encode())
    assert done.code == 0
    assert len(done.out.splitlines()) < 60
    assert "605 ops ran" in done.out
    assert halfulp("run", "--trace", "-", "--max-rows=0", stdin=b"").code == 2
    unsupported = halfulp("run", "--trace", "-", stdin=b'func.func @f() { "a.b"() : () -> ()\n return }')
    assert unsupported.code == 3


# --- the documentation ------------------------------------------------------------------------------------------------

DOCUMENT = (ROOT / "docs" / "trace.md").read_text(encoding="utf-8")


def test_the_documented_output_is_the_real_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ((command, printed),) = re.findall(r"^\$ halfulp (.*)\n((?:(?!\$|```).*\n)*)", DOCUMENT, re.MULTILINE)
    assert cli.main(shlex.split(command)) == 0
    assert capsys.readouterr().out == printed
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(blocks) == 2
    for code, output in blocks:
        exec(compile(code, "trace.md", "exec"), {})
        assert capsys.readouterr().out == output


def test_the_documented_limits_are_the_real_ones() -> None:
    from halfulp.traces.values import FIRST, MOST_SHOWN

    assert f"more than {MOST_SHOWN} elements" in DOCUMENT
    assert f"first {FIRST}" in DOCUMENT
    assert f"{tracing.MOST_ROWS:,} steps" in DOCUMENT


NEW = """func.func @f(%a: tensor<2xi8>, %m: memref<2xi8>) -> (tensor<2xi8>, tensor<2xi8>) {
  %e = tensor.empty() : tensor<2xi8>
  %n = memref.alloc() : memref<3xi8>
  %c = arith.constant 0 : i8
  %g = linalg.fill ins(%c : i8) outs(%e : tensor<2xi8>) -> tensor<2xi8>
  %s = arith.addi %a, %e : tensor<2xi8>
  %o = arith.addi %a, %a overflow<nsw> : tensor<2xi8>
  return %s, %o : tensor<2xi8>, tensor<2xi8>
}"""


def test_the_poison_of_new_memory_is_counted_not_listed() -> None:
    traced = hu.trace(NEW, np.array([1, 100], np.int8), np.array([0, 0], np.int8))
    lines = [line.strip() for line in str(traced).splitlines()]
    born = [line for line in lines if line.startswith("poison born")]
    assert born == ["poison born: signed overflow with nsw (1 element, the first [1])"]
    assert "not listed: 5 poison elements of new tensors and buffers, in 2 steps" in lines
    # Where it reaches another op, its origin is named.
    assert "poison from step 1: an element of tensor.empty was never written (tensor.empty at <string>:2:8)" in lines
    page = traced._repr_html_()
    assert page.count("poison born") == 1
    assert "not listed: 5 poison elements" in page
    # The page with its steps lists and marks the one line in which an op made poison.
    data = json.loads(traced.html().partition('id="data">')[2].partition("</script>")[0])
    births = [step[6] for step in data["steps"]["rows"] if step[6]]
    assert births == [["signed overflow with nsw (1 element, the first [1])"]]
    assert data["born"] == {"7": 1}
    assert "not listed: 5 poison elements of new tensors and buffers, in 2 steps" in data["summary"]
    # What a trace keeps does not change.
    assert sum(birth.count for step in traced.steps for birth in step.births) == 6
    clean = hu.trace("func.func @f(%a: i8) -> i8 { return %a : i8 }", 1)
    assert "not listed" not in str(clean) + clean._repr_html_()
