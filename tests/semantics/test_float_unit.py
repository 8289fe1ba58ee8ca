"""The operations of a float unit that MLIR has no op for: what they drop, what they signal, what they call a code."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.conformance.comparing.inputs import every_input
from halfulp.conformance.comparing.op_case import op_case
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.dialects.math.functions import ELEMENTARY, FUNCTIONS, IN_FIXED_POINT
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import SPEC

MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
SMALL = ("f4E2M1FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E3M4")
INTEGERS: dict[Rounding, Callable[[Fraction], int]] = {
    Rounding.TO_NEAREST_EVEN: round,
    Rounding.DOWNWARD: math.floor,
    Rounding.UPWARD: math.ceil,
    Rounding.TOWARD_ZERO: math.trunc,
    Rounding.TO_NEAREST_AWAY: lambda x: int(math.copysign(math.floor(abs(x) + Fraction(1, 2)), x)),
    Rounding.TO_ODD: lambda x: int(x) if x == int(x) else math.floor(x) | 1,
}


def all_of(name: str) -> hu.Value:
    bits = FORMATS[name].bits
    return hu.Value.from_bits(np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16), name)


def result(found: Any) -> tuple[hu.Value, npt.NDArray[np.uint8]]:
    value, flags = found
    assert isinstance(value, hu.Value)
    return value, flags


@pytest.mark.parametrize("name", thinned([*SMALL, "f16", "bf16"], 2))
@pytest.mark.parametrize("mode", MODES)
def test_integral_values_and_what_they_drop(name: str, mode: Rounding) -> None:
    fmt, x = FORMATS[name], all_of(name)
    quiet, quiet_flags = result(hu.eval("fround", x, rounding=mode.spelling, flags=True))
    exact, exact_flags = result(hu.eval("froundnx", x, rounding=mode.spelling, flags=True))
    np.testing.assert_array_equal(quiet.bits, exact.bits)
    step = 1 if fmt.bits <= 8 else 37
    for code in range(0, 1 << fmt.bits, step):
        value, made = scalar.value(fmt, code), scalar.value(fmt, int(exact.bits[code]))
        if value is None:
            signalling = scalar.unpack(fmt, code).kind == scalar.SIGNALLING_NAN
            assert exact_flags[code] == quiet_flags[code] == (Flags.INVALID if signalling else 0), hex(code)
            continue
        whole = INTEGERS[mode](value)
        if abs(whole) > (scalar.value(fmt, fmt.max_code) or 0):  # 15.5 of f8E3M4 becomes 16, which is infinite there
            assert exact_flags[code] == Flags.OVERFLOW | Flags.INEXACT, hex(code)
            continue
        assert made == whole, hex(code)
        assert bool(exact_flags[code] & Flags.INEXACT) == (made != value), hex(code)
        assert not quiet_flags[code] & Flags.INEXACT, hex(code)


@pytest.mark.parametrize("predicate", ["oeq", "olt", "ole", "une", "uno"])
@pytest.mark.parametrize("name", ["f8E5M2", "f8E4M3FN"])
def test_signalling_comparisons(name: str, predicate: str) -> None:
    """The results are those of arith.cmpf; each NaN, quiet or not, raises invalid and nothing else does."""
    a = hu.Value.from_bits(np.repeat(np.arange(256, dtype=np.uint8), 256), name)
    b = hu.Value.from_bits(np.tile(np.arange(256, dtype=np.uint8), 256), name)
    found, flags = result(hu.eval("fcmps", a, b, predicate=predicate, flags=True))
    same, quiet = result(hu.eval("arith.cmpf", a, b, predicate=predicate, flags=True))
    np.testing.assert_array_equal(found.bits, same.bits)
    numbers = np.array([scalar.unpack(FORMATS[name], code).kind for code in range(256)])
    nan = numbers >= scalar.QUIET_NAN
    expected = np.where(nan[:, None] | nan[None, :], int(Flags.INVALID), 0).reshape(-1)
    np.testing.assert_array_equal(flags, expected)
    signalling = numbers == scalar.SIGNALLING_NAN
    raised = np.where(signalling[:, None] | signalling[None, :], int(Flags.INVALID), 0).reshape(-1)
    np.testing.assert_array_equal(quiet, raised)


def test_classes_of_f16_as_riscv_numbers_them() -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    numbers = codes.view(np.float16)
    negative, subnormal = codes >= 0x8000, (numbers != 0) & (np.abs(numbers) < np.float16(2.0**-14))
    nan, quiet = np.isnan(numbers), (codes & 0x200) != 0
    bits = [
        np.isinf(numbers) & negative,
        np.isfinite(numbers) & negative & ~subnormal & (numbers != 0),
        subnormal & negative,
        (numbers == 0) & negative,
        (numbers == 0) & ~negative,
        subnormal & ~negative,
        np.isfinite(numbers) & ~negative & ~subnormal & (numbers != 0),
        np.isinf(numbers) & ~negative,
        nan & ~quiet,
        nan & quiet,
    ]
    found, flags = result(hu.eval("fclass", all_of("f16"), flags=True))
    np.testing.assert_array_equal(found.bits, sum(each.astype(np.uint16) << k for k, each in enumerate(bits)))
    assert not flags.any()


@pytest.mark.parametrize("name", thinned([*SMALL, "f8E8M0FNU"], 3))
def test_each_code_has_one_class(name: str) -> None:
    fmt = FORMATS[name]
    found = hu.eval("fclass", all_of(name)).bits.tolist()
    for code, bits in enumerate(found):
        one = hu.eval("fclass", hu.Value.from_bits(np.array(code, np.uint8), name))
        assert int(one.bits) == bits
        assert bits.bit_count() == 1
        value = scalar.value(fmt, code)
        assert (bits >= 1 << 8) == (scalar.unpack(fmt, code).kind >= scalar.QUIET_NAN)
        if value is not None:
            assert (value > 0) == (bits in (1 << 5, 1 << 6, 1 << 7))


@pytest.mark.parametrize("mode", thinned(MODES, 4))
@pytest.mark.parametrize("signed", [True, False])
def test_integers_in_every_mode(mode: Rounding, signed: bool) -> None:
    """Every f16 to i8 and ui8, and every integer of 16 bits to f16 and f8E4M3FN."""
    which = "s" if signed else "u"
    found, flags = result(hu.eval(f"fcvt_to_{which}i", all_of("f16"), to="i8", rounding=mode.spelling, flags=True))
    low, high = (-128, 127) if signed else (0, 255)
    for code in range(0, 1 << 16, 23):
        value = scalar.value(FORMATS["f16"], code)
        whole = None if value is None else INTEGERS[mode](value)
        if whole is None or not low <= whole <= high:
            assert found.poisoned[code], hex(code)
            assert flags[code] == Flags.INVALID, hex(code)
            continue
        assert (int(found.bits[code]) - whole) % 256 == 0, hex(code)
        assert flags[code] == (Flags.INEXACT if whole != value else 0), hex(code)
    integers = np.arange(-(1 << 15), 1 << 15) if signed else np.arange(1 << 16)
    codes = hu.Value.from_bits((integers & 0xFFFF).astype(np.uint16), "i16")
    for target in ("f16", "f8E4M3FN"):
        made, raised = result(hu.eval(f"fcvt_from_{which}i", codes, to=target, rounding=mode.spelling, flags=True))
        for k in range(0, 1 << 16, 101):
            want = scalar.from_fraction(FORMATS[target], Fraction(int(integers[k])), mode)
            assert (int(made.bits[k]), int(raised[k])) == (want.code, want.flags), integers[k]


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("fadd", lambda a, b, c: a + b),
        ("fsub", lambda a, b, c: a - b),
        ("fmul", lambda a, b, c: a * b),
        ("fmadd", lambda a, b, c: a * b + c),
        ("fmsub", lambda a, b, c: a * b - c),
        ("fnmsub", lambda a, b, c: -(a * b) + c),
        ("fnmadd", lambda a, b, c: -(a * b) - c),
    ],
)
def test_mixed_arithmetic_rounds_the_exact_result_once(name: str, meaning: Any) -> None:
    rng = np.random.default_rng(1)
    types = ("f8E4M3FN", "f8E5M2", "f32")[: 3 if name.endswith(("madd", "msub")) else 2]
    columns = [rng.integers(0, 1 << FORMATS[each].bits, 400, np.uint64) for each in types]
    values = [
        hu.Value.from_bits(column.astype(np.uint32 if each == "f32" else np.uint8), each)
        for column, each in zip(columns, types, strict=True)
    ]
    for mode in MODES:
        found, flags = result(hu.eval(name, *values, to="f32", rounding=mode.spelling, flags=True))
        for k, row in enumerate(zip(*columns, strict=True)):
            numbers = [scalar.value(FORMATS[each], int(code)) for each, code in zip(types, row, strict=True)]
            if any(number is None for number in numbers):
                continue
            exact = meaning(*numbers, *[None] * (3 - len(numbers)))
            if exact:
                want = scalar.from_fraction(FORMATS["f32"], exact, mode)
                assert (int(found.bits[k]), int(flags[k])) == (want.code, want.flags), (name, mode, row)


def test_the_type_of_a_result_is_that_of_the_addend() -> None:
    a = hu.Value.from_bits(np.array([0x38], np.uint8), "f8E4M3FN")
    assert str(hu.eval("fmadd", a, a, np.array([1.0], np.float32)).type) == "tensor<1xf32>"
    with pytest.raises(hu.HalfulpError, match="fmadd"):
        hu.eval("fmadd", a, a, np.array([1.0, 2.0], np.float32))


CASES: tuple[tuple[str, tuple[str, ...], str | None, dict[str, str]], ...] = (
    ("fadd", ("f4E2M1FN", "f8E5M2"), "f6E3M2FN", {}),
    ("fsub", ("f4E2M1FN", "f4E2M1FN"), "f4E2M1FN", {}),
    ("fmul", ("f6E2M3FN", "f8E4M3FN"), "f8E4M3FN", {}),
    ("fdiv", ("f4E2M1FN", "f4E2M1FN"), "f4E2M1FN", {}),
    ("fdiv", ("f6E3M2FN", "f8E5M2"), "f16", {}),
    ("fmadd", ("f4E2M1FN", "f4E2M1FN", "f8E5M2"), None, {}),
    ("fnmsub", ("f4E2M1FN", "f4E2M1FN", "f6E3M2FN"), "f4E2M1FN", {}),
    ("fmsub", ("f4E2M1FN", "f4E2M1FN", "f8E4M3FN"), None, {}),
    ("fnmadd", ("f4E2M1FN", "f4E2M1FN", "f8E4M3FNUZ"), None, {}),
    ("fcvt", ("f8E5M2",), "f4E2M1FN", {}),
    ("fcvt_to_si", ("f8E5M2",), "i4", {}),
    ("fcvt_to_ui", ("f8E4M3FN",), "i4", {}),
    ("fcvt_from_si", ("i8",), "f4E2M1FN", {}),
    ("fcvt_from_ui", ("i8",), "f8E3M4", {}),
    ("fround", ("f8E5M2",), None, {}),
    ("froundnx", ("f6E2M3FN",), None, {}),
    ("fcmps", ("f8E5M2", "f8E5M2"), None, {"predicate": "ole"}),
    ("fclass", ("f8E4M3FN",), None, {}),
)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join((case[0], *case[1])))
def test_scalar_and_array_faces_agree(case: tuple[str, tuple[str, ...], str | None, dict[str, str]]) -> None:
    """On all operands: results, poison by the declared faults, flags of one element and of arrays."""
    name, types, to, properties = case
    modes: tuple[dict[str, str], ...] = (
        ({},) if name in ("fcmps", "fclass") else tuple({"rounding": m.spelling} for m in MODES)
    )
    for mode in modes:
        asked = op_case(name, types, to, **properties, **mode)
        inputs = every_input(asked)
        kernel = asked.kernel(asked.shape(inputs), SPEC)
        outcome = kernel.array(*inputs)
        assert {fault.reason for fault, _ in outcome.faults} == {fault.reason for fault in kernel.faults}
        lost = np.zeros(asked.shape(inputs), np.bool_)
        for _, mask in outcome.faults:
            lost |= mask
        assert kernel.flags is not None
        flags = kernel.flags(*inputs)
        rows = list(zip(*(codes.tolist() for codes in inputs), strict=True))
        for k in range(0, len(rows), max(1, len(rows) // 1000)):
            alone = kernel.scalar(*rows[k])
            assert isinstance(alone, Fault) == bool(lost[k]), (mode, rows[k])
            if not isinstance(alone, Fault):
                assert alone == int(outcome.results[0][k]), (mode, rows[k])
            if kernel.flagged is not None:
                assert kernel.flagged(*rows[k]) == (alone, int(flags[k])), (mode, rows[k])


def test_each_operation_has_a_case() -> None:
    assert {case[0] for case in CASES} == FUNCTIONS.keys() - ELEMENTARY.keys() - IN_FIXED_POINT.keys()
