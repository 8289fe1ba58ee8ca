"""Fixed point and requantisation against recorded runs of ac_types, gemmlowp and CMSIS-NN, and against their rules."""

import hashlib
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts
from planted_datapaths import E5M2, Unit
from planted_datapaths import MODES as FLOAT_MODES
from planted_fixed_point import MODES, OPS, Fixed, FixedUnit

import halfulp as hu
from halfulp.conformance.comparing.inputs import every_input, is_exhaustive, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.fp_formats.formats import FORMATS, codes_to_ints
from halfulp.fp_formats.paths import emulation
from halfulp.interp.ir.errors import HalfulpError
from halfulp.semantics.fixed_point import (
    OVERFLOWS,
    QUANTIZATIONS,
    FixedFormat,
    negated_format,
    of_fraction,
    product_format,
    quantize,
    sum_format,
)
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILES
from halfulp.semantics.requantization import RULES, Target, check, multiplier_of, requantized

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "fixed_point.json").read_text(encoding="utf-8")
)
OPERANDS = np.arange(-192, 193)


def format_of(key: str) -> FixedFormat:
    width, integer, signedness, rounding, overflow = key.split()
    return FixedFormat(int(width), int(integer), signedness == "signed", rounding, overflow)


@pytest.mark.parametrize("how", ["int64", "objects", "integers", "fractions"])
def test_every_mode_as_ac_fixed(how: str) -> None:
    assert len(RECORDED["ac_fixed"]) == 6 * len(QUANTIZATIONS) * len(OVERFLOWS)
    for key, digest in RECORDED["ac_fixed"].items():
        fmt = format_of(key)
        match how:
            case "int64":
                found = quantize(OPERANDS, 4, fmt).tolist()
            case "objects":
                found = quantize(OPERANDS.astype(object), 4, fmt).tolist()
            case "integers":
                found = [quantize(int(k), 4, fmt) for k in OPERANDS[::16]]
                assert found == quantize(OPERANDS, 4, fmt).tolist()[::16]
                continue
            case _:
                found = [of_fraction(Fraction(int(k), 16), fmt) for k in OPERANDS]
        assert hashlib.sha256(" ".join(map(str, found)).encode()).hexdigest()[:16] == digest, key


def test_numbers_that_are_not_dyadic() -> None:
    """1/3 of a unit of 1/2: nearest is 1/2 for 1/3, and one unit further up or down for directed modes."""
    for sign, trn, zero, nearest in ((1, 0, 0, 1), (-1, -1, 0, -1)):
        x = Fraction(sign, 3)
        for rounding, expected in (("AC_TRN", trn), ("AC_TRN_ZERO", zero), ("AC_RND_CONV", nearest)):
            assert of_fraction(x, FixedFormat(4, 3, True, rounding)) == expected
    coarse = FixedFormat(4, 7, True, "AC_RND_ZERO")  # multiples of 8
    assert [of_fraction(Fraction(x), coarse) for x in (4, 5, -4, -5, 12, 13)] == [0, 1, 0, -1, 1, 2]
    assert of_fraction(Fraction(4) + Fraction(1, 10**30), coarse) == 1


FOUR_BITS, THREE_BITS = Fixed(4, 2), Fixed(3, 3, False)
LONG_SIGNED, LONG_UNSIGNED = Fixed(70, 20, True, "AC_RND", "AC_SAT_SYM"), Fixed(67, -3, False)


@pytest.mark.parametrize("op", OPS)
def test_ops_round_exact_results_once(op: str) -> None:
    """In every mode, and on more bits than a word has: the codes are those of `Fraction`s."""
    targets = [Fixed(3, 2, True, rounding, overflow) for rounding in MODES for overflow in OVERFLOWS]
    cases = [((FOUR_BITS, THREE_BITS), target) for target in targets] + [
        ((LONG_SIGNED, LONG_UNSIGNED), Fixed(90, 21, True, "AC_RND_ZERO"))
    ]
    for both, target in cases:
        sources = both[:1] if op == "fixed_convert" else both
        case, unit = op_case(op, [str(fmt) for fmt in sources], str(target)), FixedUnit(op, sources, target)
        widths = case.operand_widths
        inputs = every_input(case) if sum(widths) < 10 else sampled_inputs(case, 200, seed=5)
        rows = list(
            zip(*(codes_to_ints(codes, width) for codes, width in zip(inputs, widths, strict=True)), strict=True)
        )
        expected, kernel = [unit(*row) for row in rows], case.kernel((len(rows),))
        assert codes_to_ints(kernel.array(*inputs).results[0], target.width) == expected, (op, both, target)
        assert [kernel.scalar(*row) for row in rows] == expected, (op, both, target)


def test_floats_and_fixed_point() -> None:
    """Each float of f8E5M2 in every mode, and each number of eight bits as float in every mode, with its flags."""
    read = Unit("", E5M2, E5M2).read
    numbers = [read(code) for code in range(256)]
    every = np.arange(256, dtype=np.uint8)
    for rounding, mode in MODES.items():
        target = Fixed(6, 3, True, rounding, "AC_SAT")
        kernel = op_case("fixed_convert", "f8E5M2", str(target)).kernel((256,))
        outcome = kernel.array(every)
        exact = [None if x.kind else (-1) ** x.s * x.n * Fraction(2) ** x.e for x in numbers]
        expected = [None if x is None else target.fit(mode(x / target.unit)) & 63 for x in exact]
        (_, poison), *_ = outcome.faults
        found = [None if bad else code for bad, code in zip(poison, outcome.results[0].tolist(), strict=True)]
        assert found == expected
        assert [None if isinstance(one, Fault) else one for one in map(kernel.scalar, range(1, 256, 7))] == expected[
            1::7
        ]
    source = Fixed(8, -9)
    for spelled in FLOAT_MODES:
        kernel = op_case("fixed_convert", str(source), "f8E5M2", rounding=spelled).kernel((256,))
        unit = Unit("", E5M2, E5M2, spelled)
        values = [source.value(code) for code in range(256)]
        packed = [
            unit.pack(int(x < 0), abs(x.numerator), 1 - x.denominator.bit_length()) if x else (0, 0) for x in values
        ]
        assert kernel.flags is not None
        assert kernel.array(every).results[0].tolist() == [code for code, _ in packed]
        assert kernel.flags(every).tolist() == [flags for _, flags in packed]
        assert [kernel.scalar(code) for code in range(0, 256, 7)] == [code for code, _ in packed][::7]


def test_formats_of_results_as_ac_fixed() -> None:
    """The types that ac_fixed's operators have, as its compiler prints them."""
    a, b, c, d = FixedFormat(8, 4), FixedFormat(6, 3, False), FixedFormat(5, 7), FixedFormat(4, -1, False)
    results = {
        (9, 5, True): [sum_format(a, b), sum_format(a, b, True), negated_format(a)],
        (14, 7, True): [product_format(a, b)],
        (9, 4, True): [sum_format(b, d, True)],
        (9, 4, False): [sum_format(b, d)],
        (10, 2, False): [product_format(b, d)],
        (13, 8, True): [sum_format(c, d)],
        (10, 14, True): [product_format(c, c)],
        (7, 4, True): [negated_format(b)],
    }
    for expected, found in results.items():
        assert {(fmt.width, fmt.integer_bits, fmt.signed) for fmt in found} == {expected}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((0, 1), "width is 0"),
        ((8, 1 << 20), "integer_bits"),
        ((8, 4, True, "RND"), "rounding is 'RND', but must be one of AC_TRN"),
        ((8, 4, True, "AC_RND", "AC_CLIP"), "overflow is 'AC_CLIP'"),
    ],
)
def test_bad_formats(arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        FixedFormat(*arguments)


def test_names_of_systemc_and_of_vitis() -> None:
    assert FixedFormat(8, 4, True, "SC_RND_INF", "SC_SAT") == FixedFormat(8, 4, True, "AP_RND_INF", "AP_SAT")


# --- requantisation ---------------------------------------------------------------------------------------------------

ROWS = np.array(RECORDED["requantized"], np.int64).T


def scaled(rule: str, operands: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    x, multiplier, shift = operands
    found, wrong = requantized(RULES[rule], x, multiplier, shift, Target(32))
    check(RULES[rule], operands, wrong)
    return found


@pytest.mark.parametrize(("rule", "column"), [("gemmlowp", 3), ("cmsis-nn", 4), ("cmsis-nn-single", 5)])
def test_recorded_results(rule: str, column: int) -> None:
    assert scaled(rule, list(ROWS[:3])).tolist() == ROWS[column].tolist()


def test_rules_differ_on_the_recorded_rows() -> None:
    assert (ROWS[3] != ROWS[4]).any()
    assert (ROWS[4] != ROWS[5]).any()


def one(rule: str, x: int, multiplier: int, shift: int) -> int:
    return int(scaled(rule, [np.array([each], np.int64) for each in (x, multiplier, shift)])[0])


def test_tosa_by_its_definition() -> None:
    """apply_scale_32: (value * multiplier + round) >> shift, round = 2**(shift - 1), and ±2**30 more above 31."""
    rng = np.random.default_rng(1)
    for _ in range(500):
        x, shift = int(rng.integers(-(1 << 20), 1 << 20)), int(rng.integers(2, 63))
        multiplier = int(rng.integers(0, min(1 << 31, 1 << max(1, shift - 3))))
        exact = Fraction(x * multiplier, 1 << shift)
        once = (exact + Fraction(1, 2)).__floor__()
        assert one("tosa", x, multiplier, shift) == once
        if multiplier < 1 << 15:
            assert one("tosa-16", x, multiplier, shift) == once
        more = Fraction((1 << 30) if x >= 0 else -(1 << 30), 1 << shift) if shift > 31 else 0
        assert one("tosa-double", x, multiplier, shift) == (exact + Fraction(1, 2) + more).__floor__()
    assert one("tosa-double", 1 << 20, (1 << 30) + 3, 40) != 0
    assert one("tflite-single", -3, 1 << 30, 0) == -1  # -1.5, ties upward
    assert one("gemmlowp", -3, 1 << 30, 0) == -1
    assert one("gemmlowp", -3, 1 << 30, -1) == -1  # -0.75 by way of -1: -0.5, away from zero
    assert one("tflite-single", -2, 1 << 30, -1) == 0  # -0.5, ties upward


@pytest.mark.parametrize(
    ("rule", "operands", "reason"),
    [
        ("tosa", (1, 1, 1), r"shift must lie in 2\.\.62: x = 1, multiplier = 1, shift = 1 \(element 0; 1 in all\)"),
        ("tosa", (1, -1, 4), "multiplier must lie in 0"),
        ("gemmlowp", (1 << 31, 1, 0), "x must lie in"),
        ("gemmlowp", (1 << 30, 1, 1), "the left shift overflows i32"),
        ("tflite-single", ((1 << 31) - 1, (1 << 31) - 1, 1), "the result does not fit i32"),
        ("tosa-16", (1, 1 << 15, 4), "multiplier must lie in"),
    ],
)
def test_what_libraries_leave_undefined(rule: str, operands: tuple[int, int, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        one(rule, *operands)
    assert one("gemmlowp", -(1 << 30), 1 << 30, 1) == -(1 << 30)  # the lowest number that may be shifted


def test_multipliers_of_scales() -> None:
    assert multiplier_of(0.75) == (1610612736, 0)
    assert multiplier_of(1.0) == (1 << 30, 1)
    assert multiplier_of(0.0) == (0, 0)
    assert multiplier_of(1.0 - 2.0**-40) == (1 << 30, 1)  # rounds up to a power of two
    assert multiplier_of(2.0**-33) == (0, 0)
    for scale in (-1.0, float("nan"), float("inf"), 2.0**30):
        with pytest.raises(ValueError, match="must lie in"):
            multiplier_of(scale)
    for scale in (0.3, 1e-6, 12345.678):
        multiplier, shift = multiplier_of(scale)
        assert 1 << 30 <= multiplier < 1 << 31
        assert abs(Fraction(multiplier) * Fraction(2) ** (shift - 31) / Fraction(scale) - 1) <= Fraction(1, 1 << 31)


# --- emulated ---------------------------------------------------------------------------------------------------------
#
# Narrow floats emulated in f32, and the rest of the profile `iree-3.13`: both implementations agree, and known answers
# of IREE.
#
# That the profile predicts IREE itself is checked in tests/conformance/oracles/test_iree.py.

IREE = PROFILES["iree-3.13"]
NARROW = [fmt for fmt in FORMATS.values() if fmt.bits < 32]
BINARY = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")


@pytest.mark.long
@pytest.mark.parametrize("fmt", NARROW, ids=str)
def test_both_faces_widen_and_narrow(fmt: hu.FloatFormat) -> None:
    codes = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    codes = codes if fmt.bits == 8 else codes[::7]
    assert emulation.widen_codes(fmt, codes).tolist() == [emulation.widen(fmt, int(code)) for code in codes]
    (wide,) = sampled_inputs(op_case("arith.truncf", "f32", fmt.name), 4000)
    assert emulation.narrow_codes(fmt, wide).tolist() == [emulation.narrow(fmt, int(code)) for code in wide]


def cases() -> list[OpCase]:
    found = []
    types = [fmt.name for fmt in NARROW] + ["f32", "f64"]
    for name in types:
        found += [op_case(f"arith.{op}", name) for op in (*BINARY, "negf")]
        found += [op_case("arith.cmpf", name, predicate=p) for p in ("oeq", "ult")]
        found += [op_case(f"arith.{op}", "i32", name) for op in ("sitofp", "uitofp")]
        found += [op_case(f"arith.{op}", name, "i16") for op in ("fptosi", "fptoui")]
        for other in types:
            for op in ("extf", "truncf", "convertf"):
                try:
                    found.append(op_case(f"arith.{op}", name, other))
                except HalfulpError:
                    continue
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", [*(fmt.name for fmt in NARROW), "f32", "f64"])
@pytest.mark.parametrize("count", amounts(80, 300))
def test_both_faces_of_every_op(name: str, count: int) -> None:
    rng = random.Random(name)
    for asked in cases():
        if asked.operands[0] != name:
            continue
        inputs = sampled_inputs(asked, count, seed=rng.randrange(1000))
        kernel = asked.kernel((count,), IREE)
        outcome = kernel.array(*inputs)
        poison = np.zeros(count, np.bool_)
        for _, mask in outcome.faults:
            poison |= mask
        columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, asked.operand_widths, strict=True)]
        for element, operands in enumerate(zip(*columns, strict=True)):
            one = kernel.scalar(*operands)
            assert isinstance(one, Fault) == bool(poison[element]), (asked, operands)
            assert isinstance(one, Fault) or one == outcome.results[0][element], (asked, operands)


@pytest.mark.long
def test_normal_values_of_most_formats_are_those_of_the_specification() -> None:
    """The deviations are where the profile says, nowhere else: no subnormal, no NaN, no f8E8M0FNU."""
    for fmt in NARROW:
        if not fmt.zero or fmt.name == "f8E8M0FNU":
            continue
        for op in ("addf", "mulf", "divf", "remf", "maximumf", "minnumf"):
            asked = op_case(f"arith.{op}", fmt.name)
            inputs = every_input(asked) if is_exhaustive(asked, 16) else sampled_inputs(asked, 2000)
            ours = asked.kernel(inputs[0].shape).array(*inputs).results[0]
            theirs = asked.kernel(inputs[0].shape, IREE).array(*inputs).results[0]
            magnitudes = [codes & fmt.storage_dtype.type(fmt.code_mask >> 1) for codes in (*inputs, ours)]
            plain = np.logical_and.reduce([(m >= fmt.min_normal_code + 1) & (m <= fmt.max_code) for m in magnitudes])
            assert plain.sum() >= 10
            assert (ours[plain] == theirs[plain]).all(), (op, fmt.name)


# Recorded from iree-compile 3.13.0rc20261016 for a generic x86-64 CPU.
EMULATED_RECORDED = [
    (op_case("arith.truncf", "f32", "f8E4M3FN"), (0x3C700000,), 0x00),
    (op_case("arith.truncf", "f32", "f8E5M2FNUZ"), (0xB7E00000,), 0x00),
    (op_case("arith.truncf", "f32", "f16"), (0x387FE000,), 0x0000),
    (op_case("arith.truncf", "f32", "f16", rounding="toward_zero"), (0x387FC000,), 0x0000),
    (op_case("arith.truncf", "f64", "f32"), (0x380FFFFFE0000000,), 0x00000000),
    (op_case("arith.extf", "f8E4M3FN", "f32"), (0xFF,), 0xC3F00000),
    (op_case("arith.extf", "f8E8M0FNU", "f32"), (0x00,), 0x00000000),
    (op_case("arith.extf", "bf16", "f64"), (0x0001,), 0x0000000000000000),
    (op_case("arith.mulf", "f8E4M3FN"), (0x01, 0x4F), 0x00),
    (op_case("arith.addf", "f8E8M0FNU"), (0x00, 0x81), 0x00),
    (op_case("arith.divf", "f8E8M0FNU"), (0x00, 0x00), 0x80),
    (op_case("arith.negf", "f8E5M2"), (0xFD,), 0x7F),
    (op_case("arith.negf", "bf16"), (0x7F81,), 0x7FC0),
    (op_case("arith.addf", "f32"), (0x00000001, 0x00000001), 0x00000000),
    (op_case("arith.maxnumf", "f32"), (0x80000000, 0x00000001), 0x80000000),
    (op_case("arith.cmpf", "f64", predicate="oeq"), (0x1, 0x0), 1),
    (op_case("arith.sitofp", "i16", "f8E4M3FN"), (0x8000,), 0x7F),
    (op_case("arith.sitofp", "i32", "f8E4M3FN"), (0xFFFFFC00,), 0x7F),
]


@pytest.mark.parametrize(("asked", "operands", "expected"), EMULATED_RECORDED, ids=str)
def test_recorded(asked: OpCase, operands: tuple[int, ...], expected: int) -> None:
    assert asked.kernel((1,), IREE).scalar(*operands) == expected
    assert asked.kernel((1,)).scalar(*operands) != expected
