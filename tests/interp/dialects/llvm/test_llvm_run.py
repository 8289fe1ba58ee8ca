"""Programs of the llvm dialect on numbers. The expected values follow from LLVM's language reference and exact numbers."""

import math
import re
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

POISON = "poison"


def _f32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _run(body: str, *arguments: Any, types: str = "i8 i8", result: str = "i8") -> Any:
    names = ", ".join(f"%{name}: {type_}" for name, type_ in zip("ab", types.split(), strict=False))
    program = f"llvm.func @main({names}) -> {result} {{\n  %r = {body}\n  llvm.return %r : {result}\n}}"
    (value,) = hu.run(program, *arguments)
    return POISON if value.poison is not None else value.item()


@each_row(
    ("llvm.add %a, %b : i8", 127, 1, -128),
    ("llvm.add %a, %b overflow<nsw> : i8", 127, 1, POISON),
    ("llvm.add %a, %b overflow<nuw> : i8", 127, 1, -128),
    ("llvm.add %a, %b overflow<nsw, nuw> : i8", -1, 1, POISON),
    ("llvm.sub %a, %b overflow<nuw> : i8", 1, 2, POISON),
    ("llvm.mul %a, %b : i8", 100, 3, 44),
    ("llvm.shl %a, %b : i8", 1, 8, POISON),
    ("llvm.shl %a, %b overflow<nsw> : i8", 64, 1, POISON),
    ("llvm.lshr %a, %b : i8", -1, 4, 15),
    ("llvm.ashr exact %a, %b : i8", 3, 1, POISON),
    ("llvm.sdiv %a, %b : i8", -7, 2, -3),
    ("llvm.udiv exact %a, %b : i8", 7, 2, POISON),
    ("llvm.urem %a, %b : i8", -1, 16, 15),
    ("llvm.and %a, %b : i8", 12, 10, 8),
    ("llvm.or %a, %b : i8", 12, 10, 14),
    ("llvm.xor %a, %b : i8", 12, 10, 6),
    ("llvm.intr.smax(%a, %b) : (i8, i8) -> i8", -1, 1, 1),
    ("llvm.intr.umax(%a, %b) : (i8, i8) -> i8", -1, 1, -1),
    ("llvm.intr.smin(%a, %b) : (i8, i8) -> i8", -1, 1, -1),
    ("llvm.intr.umin(%a, %b) : (i8, i8) -> i8", -1, 1, 1),
    ("llvm.intr.ctpop(%a) : (i8) -> i8", -1, 0, 8),
    ("llvm.srem %a, %b : i8", -7, 2, -1),
    ("llvm.or disjoint %a, %b : i8", 12, 3, 15),
    ("llvm.or disjoint %a, %b : i8", 12, 4, POISON),
    ("llvm.intr.fshl(%a, %b, %b) : (i8, i8, i8) -> i8", 0b01100000, 3, 0),
    ("llvm.intr.fshr(%a, %b, %b) : (i8, i8, i8) -> i8", 1, 9, -124),
    ("llvm.intr.bitreverse(%a) : (i8) -> i8", 1, 0, -128),
    ("llvm.intr.sadd.sat(%a, %b) : (i8, i8) -> i8", 100, 100, 127),
    ("llvm.intr.ssub.sat(%a, %b) : (i8, i8) -> i8", -100, 100, -128),
    ("llvm.intr.uadd.sat(%a, %b) : (i8, i8) -> i8", -56, 100, -1),
    ("llvm.intr.usub.sat(%a, %b) : (i8, i8) -> i8", 3, 4, 0),
    ("llvm.intr.sshl.sat(%a, %b) : (i8, i8) -> i8", -3, 6, -128),
    ("llvm.intr.ushl.sat(%a, %b) : (i8, i8) -> i8", 3, 6, -64),
    ("llvm.intr.ushl.sat(%a, %b) : (i8, i8) -> i8", 3, 8, POISON),
    ('"llvm.intr.abs"(%a) <{is_int_min_poison = true}> : (i8) -> i8', -128, 0, POISON),
    ('"llvm.intr.abs"(%a) <{is_int_min_poison = false}> : (i8) -> i8', -128, 0, -128),
    ('"llvm.intr.ctlz"(%a) <{is_zero_poison = false}> : (i8) -> i8', 0, 0, 8),
    ('"llvm.intr.ctlz"(%a) <{is_zero_poison = true}> : (i8) -> i8', 6, 0, 5),
    ('"llvm.intr.cttz"(%a) <{is_zero_poison = true}> : (i8) -> i8', 0, 0, POISON),
    ('"llvm.intr.cttz"(%a) <{is_zero_poison = true}> : (i8) -> i8', -128, 0, 7),
    ("llvm.intr.fshl(%a, %b, %a) : (i8, i8, i8) -> i8", 12, -1, -49),
    ("llvm.intr.fshr(%a, %b, %a) : (i8, i8, i8) -> i8", 12, -16, -49),
    ("llvm.intr.fshr(%a, %b, %a) : (i8, i8, i8) -> i8", 8, 5, 5),
    ("llvm.intr.bitreverse(%a) : (i8) -> i8", 0b00010011, 0, -56),
    ("llvm.intr.sadd.sat(%a, %b) : (i8, i8) -> i8", -100, -29, -128),
    ("llvm.intr.ssub.sat(%a, %b) : (i8, i8) -> i8", 0, -128, 127),
    ("llvm.intr.uadd.sat(%a, %b) : (i8, i8) -> i8", 100, 100, -56),
    ("llvm.intr.sshl.sat(%a, %b) : (i8, i8) -> i8", 3, 5, 96),
    ("llvm.intr.sshl.sat(%a, %b) : (i8, i8) -> i8", 3, 6, 127),
    ("llvm.shl %a, %b overflow<nsw> : i8", -64, 1, -128),
    ("llvm.shl %a, %b overflow<nuw> : i8", -64, 1, POISON),
    ("llvm.shl %a, %b overflow<nuw> : i8", 64, 1, -128),
    ("llvm.lshr %a, %b : i8", 1, -1, POISON),
    ("llvm.lshr exact %a, %b : i8", -4, 2, 63),
    ("llvm.lshr exact %a, %b : i8", -4, 3, POISON),
    ("llvm.ashr exact %a, %b : i8", -4, 2, -1),
    ("llvm.udiv exact %a, %b : i8", -2, 2, 127),
    ("llvm.sdiv exact %a, %b : i8", -7, 2, POISON),
    ("llvm.sdiv exact %a, %b : i8", -8, 2, -4),
    ("llvm.mul %a, %b overflow<nsw> : i8", 64, 2, POISON),
    ("llvm.mul %a, %b overflow<nsw> : i8", -64, 2, -128),
    ("llvm.sub %a, %b overflow<nsw> : i8", -128, 1, POISON),
    ('"llvm.intr.abs"(%a) <{is_int_min_poison = true}> : (i8) -> i8', -127, 0, 127),
    ('"llvm.intr.ctlz"(%a) <{is_zero_poison = true}> : (i8) -> i8', 0, 0, POISON),
    ('"llvm.intr.cttz"(%a) <{is_zero_poison = false}> : (i8) -> i8', 0, 0, 8),
    ("llvm.mlir.undef : i8", 0, 0, POISON),
    ("llvm.mlir.poison : i8", 0, 0, POISON),
    ("llvm.mlir.zero : i8", 0, 0, 0),
    ("llvm.mlir.constant(-3 : index) : i8", 0, 0, -3),
    ("llvm.freeze %a : i8", 5, 0, 5),
)
def test_integers(body: str, a: int, b: int, expected: Any) -> None:
    assert _run(body, a, b) == expected


@pytest.mark.parametrize(("word", "expected"), [("slt", True), ("ult", False), ("ne", True), ("sge", False)])
def test_comparisons_of_integers(word: str, expected: bool) -> None:
    assert _run(f'llvm.icmp "{word}" %a, %b : i8', -1, 1, result="i1") == expected


@each_row(
    ("llvm.fadd %a, %b : f32", _f32(1.1) + _f32(2.3)),
    ("llvm.fsub %a, %b : f32", _f32(1.1) - _f32(2.3)),
    ("llvm.fmul %a, %b : f32", _f32(1.1) * _f32(2.3)),
    ("llvm.fneg %a : f32", -_f32(1.1)),
    ("llvm.intr.copysign(%a, %b) : (f32, f32) -> f32", _f32(1.1)),
    ("llvm.intr.maximum(%a, %b) : (f32, f32) -> f32", _f32(2.3)),
    ("llvm.intr.minnum(%a, %b) : (f32, f32) -> f32", _f32(1.1)),
    ("llvm.intr.floor(%b) : (f32) -> f32", 2.0),
    ("llvm.intr.rint(%b) : (f32) -> f32", 2.0),
    # The nearest f64 is near enough to the exact value for one rounding more.
    ("llvm.intr.exp(%a) : (f32) -> f32", math.exp(_f32(1.1))),
    ("llvm.intr.sqrt(%b) : (f32) -> f32", math.sqrt(_f32(2.3))),
)
def test_floats(body: str, expected: float) -> None:
    assert _run(body, 1.1, 2.3, types="f32 f32", result="f32") == _f32(expected)


@each_row((1.1, 7), (-2.5, 3), (3.0, -2), (0.1, 20), (-1.0, -1), (7.25, 0), (1.0000001, 300))
def test_a_power_is_rounded_once(number: float, power: int) -> None:
    """Python rounds a quotient of integers once."""
    exact = float(Fraction(number) ** power)
    assert _run("llvm.intr.powi(%a, %b) : (f64, i32) -> f64", number, power, types="f64 i32", result="f64") == exact


def test_one_power_stands_for_all_elements() -> None:
    body = "llvm.intr.powi(%a, %b) : (vector<3xf64>, i8) -> vector<3xf64>"
    program = f"llvm.func @main(%a: vector<3xf64>, %b: i8) -> vector<3xf64> {{\n %r = {body}\n llvm.return %r : vector<3xf64>\n}}"
    (found,) = hu.run(program, np.array([1.5, -2.0, 0.0]), np.int8(-3))
    assert found.tolist() == [1 / 3.375, -0.125, math.inf]


@pytest.mark.parametrize("number", [0.5, -1.25, 3.0, 0.0, -0.0])
def test_sine_and_cosine_are_a_pair(number: float) -> None:
    """The nearest f64 is near enough to the exact value for one rounding more."""
    struct = "!llvm.struct<(f32, f32)>"
    for part, function in enumerate((math.sin, math.cos)):
        body = f"llvm.intr.sincos(%a) : (f32) -> {struct}\n  %s = llvm.extractvalue %r[{part}] : {struct}"
        program = f"llvm.func @main(%a: f32) -> f32 {{\n  %r = {body}\n  llvm.return %s : f32\n}}"
        found = hu.run(program, np.float32(number))[0].item()
        assert (found, math.copysign(1, found)) == (_f32(function(number)), math.copysign(1, function(number)))


def test_flags_of_sincos_and_powi_make_poison() -> None:
    flag = "{fastmathFlags = #llvm.fastmath<ninf>}"
    struct = "!llvm.struct<(f32, f32)>"
    body = f"llvm.intr.sincos(%a) {flag} : (f32) -> {struct}\n  %s = llvm.extractvalue %r[1] : {struct}"
    program = f"llvm.func @main(%a: f32) -> f32 {{\n  %r = {body}\n  llvm.return %s : f32\n}}"
    assert hu.run(program, np.float32(math.inf))[0].poison is not None
    given: dict[str, Any] = {"types": "f32 i32", "result": "f32"}
    assert _run(f"llvm.intr.powi(%a, %b) {flag} : (f32, i32) -> f32", 1e30, 2, **given) == POISON
    assert _run("llvm.intr.powi(%a, %b) : (f32, i32) -> f32", 1e30, 2, **given) == math.inf


_CLASSES = (
    (0x7F800001, "a signalling NaN"), (0x7FC00000, "a quiet NaN"), (0xFF800000, "-inf"), (0xBF800000, "-1"),
    (0x80000001, "a negative subnormal"), (0x80000000, "-0"), (0x00000000, "0"), (0x007FFFFF, "the largest subnormal"),
    (0x00800000, "the least normal"), (0x7F800000, "inf"),
)  # fmt: skip
"""A code of f32 for each bit of the mask, from bit 0 on."""


@pytest.mark.parametrize("bit", range(10))
def test_each_bit_of_the_mask_is_a_class(bit: int) -> None:
    program = """llvm.func @main(%a: vector<10xf32>) -> vector<10xi1> {
  %r = "llvm.intr.is.fpclass"(%a) <{bit = MASK : i32}> : (vector<10xf32>) -> vector<10xi1>
  llvm.return %r : vector<10xi1>
}"""
    codes = hu.Value.from_bits(np.array([code for code, _ in _CLASSES], np.uint32), "f32")
    for mask in (1 << bit, 0x3FF ^ 1 << bit):
        (found,) = hu.run(program.replace("MASK", str(mask)), codes)
        assert found.tolist() == [bool(mask >> place & 1) for place in range(10)]


def test_bits_that_name_no_class_are_refused() -> None:
    """mlir-opt accepts them, LLVM's verifier does not."""
    with pytest.raises(hu.Unsupported, match="with the bits 0x400, of which only the lowest 10 are defined"):
        _run('"llvm.intr.is.fpclass"(%a) <{bit = 1024 : i32}> : (f32) -> i1', 1.0, types="f32", result="i1")


def test_vscale_is_that_of_the_settings() -> None:
    program = 'llvm.func @main() -> TYPE {\n  %r = "llvm.intr.vscale"() : () -> TYPE\n  llvm.return %r : TYPE\n}'
    assert hu.run(program.replace("TYPE", "i64"), vscale=4)[0].item() == 4
    assert hu.run(program.replace("TYPE", "i2"), vscale=4)[0].poison is not None
    with pytest.raises(hu.Unsupported, match="depends on the machine"):
        hu.run(program.replace("TYPE", "i64"))


def test_fast_math_flags_are_those_of_their_names() -> None:
    """nnan makes poison of a NaN. Its number differs from that of arith."""
    nan = math.nan
    body = "llvm.fadd %a, %b {{fastmathFlags = #llvm.fastmath<{}>}} : f32"
    given: dict[str, Any] = {"types": "f32 f32", "result": "f32"}
    assert _run(body.format("nnan"), nan, 1.0, **given) == POISON
    assert math.isnan(_run(body.format("contract"), nan, 1.0, **given))
    assert _run(body.format("ninf"), math.inf, 1.0, **given) == POISON


@each_row(
    ("llvm.sext %a : i8 to i16", -1, "i8", "i16", -1),
    ("llvm.zext %a : i8 to i16", -1, "i8", "i16", 255),
    ("llvm.zext nneg %a : i8 to i16", -1, "i8", "i16", POISON),
    ("llvm.trunc %a : i16 to i8", 257, "i16", "i8", 1),
    ("llvm.trunc %a overflow<nuw> : i16 to i8", 257, "i16", "i8", POISON),
    ("llvm.zext nneg %a : i8 to i16", 127, "i8", "i16", 127),
    ("llvm.uitofp nneg %a : i8 to f32", -1, "i8", "f32", POISON),
    ("llvm.uitofp nneg %a : i8 to f32", 1, "i8", "f32", 1.0),
    ("llvm.trunc %a overflow<nuw> : i16 to i8", 255, "i16", "i8", -1),
    ("llvm.trunc %a overflow<nsw> : i16 to i8", 255, "i16", "i8", POISON),
    ("llvm.trunc %a overflow<nsw> : i16 to i8", -128, "i16", "i8", -128),
    ("llvm.trunc %a overflow<nsw, nuw> : i16 to i8", -1, "i16", "i8", POISON),
    ("llvm.trunc %a overflow<nsw, nuw> : i16 to i8", 127, "i16", "i8", 127),
    ("llvm.intr.bswap(%a) : (i16) -> i16", 0x1234, "i16", "i16", 0x3412),
    ("llvm.intr.bswap(%a) : (i32) -> i32", 0x01020304, "i32", "i32", 0x04030201),
    ("llvm.fptoui %a : f32 to i8", -1.0, "f32", "i8", POISON),
    ("llvm.fptoui %a : f32 to i8", -0.9, "f32", "i8", 0),
    ("llvm.fptosi %a : f32 to i8", 1000.0, "f32", "i8", POISON),
    ("llvm.fptosi %a : f32 to i8", -2.9, "f32", "i8", -2),
    ("llvm.uitofp %a : i8 to f32", -1, "i8", "f32", 255.0),
    ("llvm.sitofp %a : i8 to f32", -1, "i8", "f32", -1.0),
    ("llvm.fptrunc %a : f32 to bf16", 1.0 + 2.0**-8, "f32", "bf16", 1.0),
    ("llvm.fpext %a : f16 to f32", 0.5, "f16", "f32", 0.5),
    ("llvm.bitcast %a : f32 to i32", 1.0, "f32", "i32", 0x3F800000),
)
def test_casts(body: str, argument: Any, types: str, result: str, expected: Any) -> None:
    assert _run(body, argument, types=types, result=result) == expected


LOOP = """
llvm.func @power(%x: i64, %n: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : index) : i64
  %one = llvm.mlir.constant(1 : index) : i64
  llvm.br ^bb1(%zero, %one : i64, i64)
^bb1(%i: i64, %p: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^bb2, ^bb3
^bb2:
  %q = llvm.mul %p, %x : i64
  %j = llvm.add %i, %one : i64
  llvm.br ^bb1(%j, %q : i64, i64)
^bb3:
  llvm.return %p : i64
}
llvm.func @main(%x: i64, %n: i64) -> i64 {
  %p = llvm.call @power(%x, %n) : (i64, i64) -> i64
  %small = llvm.icmp "eq" %n, %x : i64
  %r = llvm.select %small, %n, %p : i1, i64
  llvm.switch %r : i64, ^other [ 81: ^even, -5: ^other ]
^even:
  llvm.return %r : i64
^other:
  %m = llvm.sub %r, %x : i64
  llvm.return %m : i64
}
"""


@pytest.mark.parametrize(("x", "n", "expected"), [(3, 4, 81), (2, 5, 30), (4, 4, 0)])
def test_branches_and_calls(x: int, n: int, expected: int) -> None:
    for _ in range(3):
        assert hu.run(LOOP, x, n, function="main")[0].item() == expected


def test_a_batch_runs_each_lane() -> None:
    (found,) = hu.run(LOOP, np.array([3, 2, 4]), np.array([4, 5, 4]), function="main", batch=True)
    assert found.tolist() == [81, 30, 0]


def test_vectors() -> None:
    program = """llvm.func @main(%a: vector<2xf32>) -> vector<2xf32> {
      %c = llvm.mlir.constant(dense<[1.0, 2.0]> : vector<2xf32>) : vector<2xf32>
      %r = llvm.fadd %a, %c : vector<2xf32>
      llvm.return %r : vector<2xf32>
    }"""
    assert hu.run(program, np.full(2, 0.5, np.float32))[0].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("body", ["llvm.intr.bswap(%a) : (i8) -> i8", "llvm.mlir.none : !llvm.token"])
def test_what_does_not_run_says_so(body: str) -> None:
    program = f"llvm.func @main(%a: i8, %b: i8) {{\n  %r = {body}\n  llvm.return\n}}"
    with pytest.raises(hu.Unsupported, match=r"llvm\."):
        hu.run(program, 1, 2)


def test_the_remainder_of_an_overflow_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="signed division overflow"):
        _run("llvm.srem %a, %b : i8", -128, -1)


@pytest.mark.parametrize("op", ["sdiv", "srem"])
def test_the_least_integer_may_be_divided_by_others(op: str) -> None:
    assert _run(f"llvm.{op} %a, %b : i8", -128, -2) == (64 if op == "sdiv" else 0)


@pytest.mark.parametrize("flag", ["nnan", "ninf", "nsz"])
def test_a_select_with_flags_does_not_run(flag: str) -> None:
    body = f"llvm.select %b, %a, %a {{fastmathFlags = #llvm.fastmath<{flag}>}} : i1, f32"
    with pytest.raises(hu.Unsupported, match=r"llvm\.select with flags"):
        _run(body, 1.0, True, types="f32 i1", result="f32")


SELECTED = "  %p = llvm.mlir.poison : {0}\n  %r = llvm.select {1} : {2}, {0}"


@pytest.mark.parametrize(
    ("select", "type_", "condition", "expected"),
    [
        ("%c, %a, %p", "i8", "i1", 5),
        ("%c, %p, %a", "i8", "i1", POISON),
        ("%q, %a, %a", "i8", "i1", POISON),
    ],
    ids=["not chosen", "chosen", "condition"],
)
def test_select_and_poison(select: str, type_: str, condition: str, expected: Any) -> None:
    """The arm that is not chosen does not matter; a poison condition gives poison, also of equal arms."""
    head = "llvm.mlir.poison : i1\n  %c = llvm.mlir.constant(true) : i1\n"
    program = f"""llvm.func @main(%a: {type_}) -> {type_} {{
  %q = {head}{SELECTED.format(type_, select, condition)}
  llvm.return %r : {type_}
}}"""
    (value,) = hu.run(program, np.int8(5))
    assert (POISON if value.poison is not None else value.item()) == expected


@pytest.mark.parametrize("undefined", ["undef", "poison"])
@pytest.mark.parametrize(
    ("type_", "arm", "use"),
    [
        ("!llvm.ptr", "llvm.alloca %one x i32 : (i64) -> !llvm.ptr", "llvm.load %s : !llvm.ptr -> i32"),
        (
            "!llvm.struct<(i32, i8)>",
            "llvm.mlir.zero : !llvm.struct<(i32, i8)>",
            "llvm.extractvalue %s[0] : !llvm.struct<(i32, i8)>",
        ),
        (
            "!llvm.array<2 x i32>",
            "llvm.mlir.zero : !llvm.array<2 x i32>",
            "llvm.extractvalue %s[1] : !llvm.array<2 x i32>",
        ),
    ],
)
def test_a_condition_that_is_undefined_spoils_pointers_and_aggregates(
    undefined: str, type_: str, arm: str, use: str
) -> None:
    """Equal arms do not help: nothing tells which one is chosen."""
    program = f"""llvm.func @main() -> i32 {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %u = llvm.mlir.{undefined} : i1
  %a = {arm}
  %s = llvm.select %u, %a, %a : i1, {type_}
  %r = {use}
  llvm.return %r : i32
}}"""
    reason = rf"ub\.poison \(llvm\.mlir\.{undefined} at "
    if type_ == "!llvm.ptr":
        with pytest.raises(hu.UndefinedBehavior, match=f"the pointer is poison: {reason}"):
            hu.run(program)
        return
    (value,) = hu.run(program)
    assert value.poison is not None
    assert re.match(reason, str(value.origin()))


def test_freeze_keeps_poison() -> None:
    """LLVM picks some value; here it stays poison, so that no run hides it."""
    program = """llvm.func @main() -> i8 {
  %p = llvm.mlir.poison : i8
  %r = llvm.freeze %p : i8
  llvm.return %r : i8
}"""
    assert hu.run(program)[0].poisoned.item()


def test_undefined_behaviour_is_reported() -> None:
    with pytest.raises(hu.UndefinedBehavior, match=r"llvm\.sdiv"):
        _run("llvm.sdiv %a, %b : i8", 1, 0)
    with pytest.raises(hu.UndefinedBehavior, match="reached"):
        hu.run("llvm.func @main() { llvm.unreachable }")
