"""mlir-runtime, mlir-expand and mlir-native: each does what its profile or the rows say, and finds what it can show."""

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from amounts import amounts
from fake_oracle import codes_of, results

from halfulp.conformance.comparing.check import Tally, check
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.comparing.inputs import sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.jit import JitOracle
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Status, Unanswered
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.loading import parse_module
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES, SPEC, Profile

pytestmark = pytest.mark.mlir

INTEGERS = ("i1", "i3", "i8", "i16", "i32", "i64", "i65", "i128", "index")
FLOAT_OPS = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf", "negf")
INTEGER_OPS = (
    *("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"),
    *("andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui"),
    *("addui_extended", "mulsi_extended", "mului_extended"),
)
SAMPLES = 200
SHARES = amounts(15, long=45)  # cases of each oracle
ROUNDED: tuple[dict[str, str], ...] = ({}, {"rounding": "upward"})


@cache
def asked(name: str) -> JitOracle:
    made = oracle(name)
    assert isinstance(made, JitOracle)
    return made


def possible(op: str, types: str | list[str], to: str | None = None, **properties: str) -> Iterator[OpCase]:
    with suppress(HalfulpError):
        yield op_case(f"arith.{op}", types, to, **properties)


def cases(name: str) -> list[OpCase]:
    """Return every case of the oracle's types that it does not refuse."""
    found: list[OpCase] = []
    floats = sorted(asked(name).floats)
    for fmt in floats:
        for op in FLOAT_OPS:
            found += possible(op, fmt)
        found += possible("cmpf", fmt, predicate="ult")
        for other in floats:
            found += possible("extf", fmt, other)
            for given in ROUNDED:
                found += possible("truncf", fmt, other, **given)
                found += possible("scaling_truncf", [fmt, "f8E8M0FNU"], other, **given)
            found += possible("scaling_extf", [fmt, "f8E8M0FNU"], other)
        for integer in INTEGERS:
            for op in ("fptosi", "fptoui"):
                found += possible(op, fmt, integer)
            for op in ("sitofp", "uitofp"):
                found += possible(op, integer, fmt)
    for integer in INTEGERS:
        for op in INTEGER_OPS:
            found += possible(op, integer)
        found += possible("cmpi", integer, predicate="slt")
        found += possible("addi", integer, overflow="nsw")
    return [one for one in found if asked(name).refuses(one) is None]


def explained(name: str, share: int | None, profile: Profile, rows: bool) -> Tally:
    """Return the tally of a share of the cases."""
    own = [row for row in divergences() if name in row.tools] if rows else []
    every = cases(name)
    chosen = every if share is None else random.Random(name).sample(every, share)
    total = Tally()
    for one in chosen:
        total.add(check(asked(name), one, sampled_inputs(one, SAMPLES), own, profile))
    return total


# What no profile says: the trap of remsi, floordivsi of more than 64 bits, and f80 codes that are not canonical.
ODD = {"arith.remsi", "arith.floordivsi"}


def predicted(name: str, share: int | None) -> None:
    profile = PROFILES[asked(name).profile]
    every = [one for one in cases(name) if one.op not in ODD and "f80" not in one.operands]
    total = Tally()
    for one in every if share is None else random.Random(name).sample(every, share):
        total.add(check(asked(name), one, sampled_inputs(one, SAMPLES), (), profile))
    assert total.clean, (total.mismatches[:3], total.failures)
    assert not total.unanswered
    assert total.equal > 0.5 * total.compared


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ["mlir-runtime", "mlir-expand"])
def test_the_profile_predicts_the_tool(name: str, share: int) -> None:
    predicted(name, share)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ["mlir-runtime", "mlir-expand", "mlir-native"])
def test_rows_explain_every_difference(name: str, share: int) -> None:
    total = explained(name, share, SPEC, rows=True)
    assert total.clean, (total.mismatches[:3], total.failures)
    assert not total.unanswered


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["mlir-runtime", "mlir-expand", "mlir-native"])
def test_every_case(name: str) -> None:
    total = explained(name, None, SPEC, rows=True)
    assert total.clean, (total.mismatches[:3], total.failures)
    assert not total.unanswered
    if asked(name).profile != "spec":
        predicted(name, None)


FOUND = [
    ("mlir-runtime", "fptosi", "f32", "i8", [0x40600000], 3, 4),
    ("mlir-runtime", "remf", "f32", None, [0x40E00000, 0x40800000], 0x40400000, 0xBF800000),
    ("mlir-runtime", "truncf", "f32", "f16", [0x3F800001], 0x3C01, 0x3C00),
    ("mlir-expand", "truncf", "f32", "f4E2M1FN", [0x3FA00000], 0x2, 0x3),
    ("mlir-expand", "truncf", "f32", "f4E2M1FN", [0xBE99999A], 0x9, 0x1),
    ("mlir-expand", "truncf", "f32", "f8E8M0FNU", [0x3FF33333], 0x80, 0x7F),
    ("mlir-expand", "truncf", "f32", "f8E8M0FNU", [0xBF800000], 0xFF, 0x7F),
    ("mlir-expand", "extf", "f8E8M0FNU", "f32", [0x00], 0x00400000, 0),
    ("mlir-expand", "maximumf", "f32", None, [0, 0x80000000], 0, 0x80000000),
    ("mlir-native", "remsi", "i32", None, [0x80000000, 0xFFFFFFFF], 0, None),
]


@pytest.mark.parametrize(("name", "op", "types", "to", "operands", "right", "given"), FOUND)
def test_it_finds_the_bugs_that_it_can_show(
    name: str, op: str, types: str, to: str | None, operands: tuple[int, ...], right: int, given: int
) -> None:
    properties = {"rounding": "upward"} if (types, to) == ("f32", "f16") else {}
    one = op_case(f"arith.{op}", types, to, **properties)
    inputs = tuple(ints_to_codes([code], width, (1,)) for code, width in zip(operands, one.operand_widths, strict=True))
    tally = check(asked(name), one, inputs)
    assert [(m.expected, m.actual) for _, m in tally.mismatches] == [(right, given)]


def test_what_traps_costs_no_other_element() -> None:
    one = op_case("arith.divsi", "i8")
    a, b = (codes.reshape(-1) for codes in np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(8, dtype=np.uint8)))
    (answer,) = asked("mlir-native").evaluate(one, (a, b))
    assert answer.status is not None
    assert np.array_equal(answer.status == Status.TRAP, b == 0)


def test_an_op_that_has_no_code() -> None:
    one = op_case("arith.maximumf", "f80")
    assert "cannot select" in str(asked("mlir-native").refuses(one))
    with pytest.raises(OracleError, match="crash"):
        asked("mlir-native").evaluate(one, sampled_inputs(one, 4))


PROGRAMS = """
func.func private @half(%a: vector<2x2xbf16>) -> (vector<2x2xbf16>, i1) {
  %c = arith.constant dense<[[0.5, 2.0], [0xFFF9, 1.0]]> : vector<2x2xbf16>
  %true = arith.constant true
  %r = arith.select %true, %c, %a : vector<2x2xbf16>
  return %r, %true : vector<2x2xbf16>, i1
}
func.func @whole(%a: vector<2x2xbf16>, %b: i8, %c: i8) -> (vector<2x2xbf16>, i1, i8) {
  %r:2 = call @half(%a) : (vector<2x2xbf16>) -> (vector<2x2xbf16>, i1)
  %q = arith.divui %b, %c : i8
  return %r#0, %r#1, %q : vector<2x2xbf16>, i1, i8
}
func.func @wide(%a: f80, %b: index) -> (f80, index) {
  %s = arith.addf %a, %a : f80
  return %s, %b : f80, index
}
func.func @tensors(%a: tensor<2x1xi33>) -> tensor<2x1xi33> {
  %low, %high = arith.mului_extended %a, %a : tensor<2x1xi33>
  return %low : tensor<2x1xi33>
}
"""


def program(function: str, *arguments: tuple[object, str]) -> ClosedProgram:
    values = tuple(Value.from_bits(bits, type_) for bits, type_ in arguments)  # type: ignore[arg-type]
    return ClosedProgram(parse_module(PROGRAMS), function, values)


def test_programs_keep_every_bit_and_end_alone() -> None:
    vector = (np.array([[1, 2], [3, 4]], np.uint16), "vector<2x2xbf16>")
    ran = asked("mlir-native").run(
        [
            program("whole", vector, (7, "i8"), (2, "i8")),
            program("whole", vector, (7, "i8"), (0, "i8")),
            program("wide", (0x3FFF8000000000000001, "f80"), (5, "index")),
            program("tensors", (np.array([[3], [1 << 32]], np.uint64), "tensor<2x1xi33>")),
            program("no such function"),
        ]
    )
    *answered, missing = ran
    whole, stopped, wide, tensors = map(results, answered)
    assert codes_of(whole) == [[[0x3F00, 0x4000], [0xFFF9, 0x3F80]], 1, 3]
    assert all(answer.status is not None and (answer.status == Status.TRAP).all() for answer in stopped)
    assert codes_of(wide) == [[0x8000000000000001, 0x4000], 5]
    assert tensors[0].bits.tolist() == [[9], [0]]
    assert isinstance(missing, Unanswered)
