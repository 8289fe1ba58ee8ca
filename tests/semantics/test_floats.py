"""Float ops beyond their values: fast-math flags, comparison predicates, NaN results, and what the language leaves open.

That the values themselves are right is the subject of the tests of fp_formats; here the ops are.
"""

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import NAN, Number, interesting, neighbours
from float_samples import codes as sample_codes
from op_implementations import Outcome, check, every_implementation, outcomes_of, value
from present import present

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.semantics.kernel import Open

POISON: Outcome = "poison"
BINARY = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")
ROUNDED = ("addf", "subf", "mulf", "divf")
WITH_ZERO = [fmt for fmt in FORMATS.values() if fmt.zero]

INF, NEG_INF, QNAN, SNAN, ONE, ZERO, NEG_ZERO, MAX = (
    *(0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001),
    *(0x3F80_0000, 0, 0x8000_0000, 0x7F7F_FFFF),
)


def f32(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


# --- values: the one rule, for every op and format --------------------------------------------------------------------


def exact_result(op: str, a: Fraction, b: Fraction) -> Number:
    """Return the real result, before rounding, of finite operands."""
    if op == "addf":
        return a + b
    if op == "subf":
        return a - b
    if op == "mulf":
        return a * b
    if b == 0:
        return NAN if op == "remf" or a == 0 else "infinity"
    return a / b if op == "divf" else a - b * int(a / b)


@pytest.mark.parametrize("op", thinned([*ROUNDED, "remf"], 2))
@pytest.mark.parametrize("name", thinned([fmt.name for fmt in WITH_ZERO], 3))
@pytest.mark.parametrize("count", amounts(20, 60))
def test_finite_operands_give_the_nearest_value(op: str, name: str, count: int) -> None:
    fmt = FORMATS[name]
    near = neighbours(fmt)
    rng = random.Random(f"{op} {name}")
    left = sample_codes(fmt, count, 7)
    right = [code if rng.random() < 0.5 else sample_codes(fmt, 1, k)[0] for k, code in enumerate(left)]
    rng.shuffle(right)
    for implementation, found in every_implementation(
        f"arith.{op} %a, %b : {{0}}", [name] * 2, [name], [left, right]
    ).items():
        for a, b, got in zip(left, right, found, strict=True):
            x, y = near.read(a), near.read(b)
            if not (isinstance(x, Fraction) and isinstance(y, Fraction)):
                continue
            want = exact_result(op, x, y)
            if want == NAN and fmt.nan_code is None:
                assert got == POISON
                continue
            assert isinstance(got, int), (implementation, hex(a), hex(b))
            if want == "infinity":  # x / 0
                negative = (a ^ b) >> (fmt.bits - 1)
                assert near.read(got) == near.overflow(Fraction(-1 if negative else 1)), (
                    implementation,
                    hex(a),
                    hex(b),
                )
                continue
            assert near.read(got) == near(want), (implementation, hex(a), hex(b))


@pytest.mark.parametrize("mode", ["to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"])
@pytest.mark.parametrize("op", thinned(ROUNDED, 4))
def test_rounding_modes_of_newer_mlir(op: str, mode: str) -> None:
    """The result lies between the neighbours that the mode allows (f16, whose values are enumerated)."""
    fmt = FORMATS["f16"]
    near = neighbours(fmt)
    left, right = sample_codes(fmt, 60, 11), sample_codes(fmt, 60, 12)
    implementations = every_implementation(f"arith.{op} %a, %b {mode} : {{0}}", ["f16"] * 2, ["f16"], [left, right])
    for found in implementations.values():
        for a, b, got in zip(left, right, found, strict=True):
            x, y = near.read(a), near.read(b)
            if not (isinstance(x, Fraction) and isinstance(y, Fraction)):
                continue
            want = exact_result(op, x, y)
            if not isinstance(want, Fraction) or abs(want) > near.largest:
                continue
            assert isinstance(got, int)
            value_ = near.read(got)
            assert isinstance(value_, Fraction)
            index = near.index(abs(want))
            gap = near.magnitude(index + 1) - near.magnitude(index)
            if mode == "downward":
                assert value_ <= want < value_ + gap
            elif mode == "upward":
                assert value_ - gap < want <= value_
            elif mode == "toward_zero":
                assert abs(value_) <= abs(want) < abs(value_) + gap
            else:
                assert abs(value_ - want) * 2 <= gap
                if mode == "to_nearest_away" and abs(value_ - want) * 2 == gap:
                    assert abs(value_) > abs(want)


# --- comparison -------------------------------------------------------------------------------------------------------

PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


BEYOND = Fraction(10) ** 6000
"""Greater than all that is finite."""


def holds(predicate: str, a: Number, b: Number) -> bool:
    if predicate in ("true", "false"):
        return predicate == "true"
    if NAN in (a, b):
        return predicate[0] == "u"
    if predicate in ("ord", "uno"):
        return predicate == "ord"
    x, y = ({"+inf": BEYOND, "-inf": -BEYOND}.get(n, n) for n in (a, b))  # type: ignore[arg-type]
    assert isinstance(x, Fraction)
    assert isinstance(y, Fraction)
    return {"eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": x != y}[predicate[1:]]


@pytest.mark.long
@pytest.mark.parametrize("name", [fmt.name for fmt in WITH_ZERO])
@pytest.mark.parametrize("count", amounts(6, 14))
def test_cmpf(name: str, count: int) -> None:
    fmt = FORMATS[name]
    near = neighbours(fmt)
    chosen = [*sample_codes(fmt, count, 3), 0, fmt.max_code]
    chosen += [code for code in interesting(fmt) if fmt.is_nan(code) or fmt.is_infinite(code)][:6]
    left, right = (list(column) for column in zip(*itertools.product(chosen, repeat=2), strict=True))
    for predicate in PREDICATES:
        want = [int(holds(predicate, near.read(a), near.read(b))) for a, b in zip(left, right, strict=True)]
        tensors = [value(c, f"tensor<{len(c)}x{name}>", (len(c),)) for c in (left, right)]
        assert outcomes_of(hu.eval("arith.cmpf", *tensors, predicate=predicate)) == want, predicate
        few = slice(0, None, 37)
        body = f"arith.cmpf {predicate}, %a, %b : {{0}}"
        check(body, [name] * 2, ["i1"], [left[few], right[few]], want[few], containers=("vector",))


# --- fast-math flags --------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("step", amounts(2, 1))
def test_nnan_and_ninf_on_operands_and_results(op: str, step: int) -> None:
    """nnan: a NaN operand or result is poison; ninf: an infinite one is. The plain op says what the result is."""
    corners = [ZERO, NEG_ZERO, ONE, MAX, INF, NEG_INF, QNAN, SNAN, f32(2.0)]
    pairs = list(itertools.product(corners, repeat=2))[::step]
    left, right = (list(column) for column in zip(*pairs, strict=True))
    plain = every_implementation(f"arith.{op} %a, %b : {{0}}", ["f32"] * 2, ["f32"], [left, right])["scalar kernel"]
    fmt = FORMATS["f32"]
    for flags, classes in (
        ("nnan", (fmt.is_nan,)),
        ("ninf", (fmt.is_infinite,)),
        ("nnan,ninf", (fmt.is_nan, fmt.is_infinite)),
        ("fast", (fmt.is_nan, fmt.is_infinite)),
        ("nsz,arcp,contract,afn,reassoc", ()),
    ):
        want: list[Outcome] = []
        for a, b, result in zip(left, right, plain, strict=True):
            assert isinstance(result, int)
            spoiled = any(test(code) for test in classes for code in (a, b, result))
            want.append(POISON if spoiled else result)
        check(f"arith.{op} %a, %b fastmath<{flags}> : {{0}}", ["f32"] * 2, ["f32"], [left, right], want)


def test_results_alone_trigger_the_flags() -> None:
    check("arith.addf %a, %b fastmath<ninf> : {0}", ["f32"] * 2, ["f32"], [[MAX, INF], [MAX, ONE]], [POISON, POISON])
    check("arith.divf %a, %b fastmath<nnan> : {0}", ["f32"] * 2, ["f32"], [[ZERO, ONE], [ZERO, ZERO]], [POISON, INF])
    # A NaN that replaces an overflow triggers nnan only: 448 + 448 in f8E4M3FN, 240 + 240 in f8E4M3FNUZ.
    for name, largest in (("f8E4M3FN", 0x7E), ("f8E4M3FNUZ", 0x7F)):
        nan = present(FORMATS[name].nan_code)
        for flags, want in (("nnan", POISON), ("ninf", nan)):
            check(f"arith.addf %a, %b fastmath<{flags}> : {{0}}", [name] * 2, [name], [[largest], [largest]], [want])


@pytest.mark.parametrize("flags", ["nnan", "ninf"])
def test_flags_of_comparison_negation_and_conversion(flags: str) -> None:
    nan = POISON if flags == "nnan" else None
    inf = POISON if flags == "ninf" else None
    rows = [[QNAN, ONE, INF, SNAN, ONE], [ONE, NEG_INF, INF, QNAN, ONE]]
    for predicate in ("oeq", "uno", "true", "false"):
        plain = every_implementation(f"arith.cmpf {predicate}, %a, %b : {{0}}", ["f32"] * 2, ["i1"], rows)[
            "scalar kernel"
        ]
        want = [nan or plain[0], inf or plain[1], inf or plain[2], nan or plain[3], plain[4]]
        check(f"arith.cmpf {predicate}, %a, %b fastmath<{flags}> : {{0}}", ["f32"] * 2, ["i1"], rows, want)
    operand = [QNAN, SNAN, INF, NEG_INF, ONE, f32(1e30)]
    negated: list[Outcome] = [code ^ 0x8000_0000 for code in operand]
    want = [nan or negated[0], nan or negated[1], inf or negated[2], inf or negated[3], *negated[4:]]
    check(f"arith.negf %a fastmath<{flags}> : {{0}}", ["f32"], ["f32"], [operand], want)
    # 1e30 overflows f16 to infinity.
    want = [nan or 0x7E00, nan or 0x7E00, inf or 0x7C00, inf or 0xFC00, 0x3C00, inf or 0x7C00]
    check(f"arith.truncf %a fastmath<{flags}> : {{0}} to {{r}}", ["f32"], ["f16"], [operand], want)
    want = [nan or 0x7FF8_0000_0000_0000, nan or 0x7FF8_0000_2000_0000, inf or 0x7FF0_0000_0000_0000]
    check(f"arith.extf %a fastmath<{flags}> : {{0}} to {{r}}", ["f32"], ["f64"], [operand[:3]], want)


def test_reasons_of_fastmath_poison() -> None:
    for flags, other, word in (("nnan", QNAN, "NaN"), ("ninf", INF, "infinite"), ("nnan,ninf", QNAN, "NaN")):
        found = hu.eval("arith.addf", value([other], "f32", ()), value([INF], "f32", ()), fastmath=flags)
        origin = present(found.origin())
        assert origin.reason == f"{word} operand or result under fastmath<{flags.partition(',')[0]}>"


def test_a_lost_nan_is_poison_with_or_without_flags() -> None:
    for flags in ("", " fastmath<nnan>"):
        body = f"arith.divf %a, %b{flags} : {{0}}"
        check(body, ["f6E2M3FN"] * 2, ["f6E2M3FN"], [[0, 8], [0, 0]], [POISON, 0x1F])
    found = hu.eval("arith.remf", value([2], "f4E2M1FN", ()), value([0], "f4E2M1FN", ()))
    origin = present(found.origin())
    assert origin.reason == "NaN is not representable in f4E2M1FN"
    assert origin.op == "arith.remf"


def test_stochastic_rounding_keeps_the_flags() -> None:
    bits = np.zeros(3, np.uint8)
    x = np.array([1.0, np.nan, np.inf], np.float32)
    for flags, want in (("nnan", [0x4000_0000, POISON, INF]), ("ninf", [0x4000_0000, QNAN, POISON])):
        found = hu.eval("arith.addf", x, x, rounding="stochastic", fastmath=flags, random=bits)
        assert outcomes_of(found) == want
    found = hu.eval("arith.truncf", x, to="f16", rounding="stochastic", fastmath="nnan", random=bits)
    assert outcomes_of(found) == [0x3C00, POISON, 0x7C00]


# --- what the language leaves open ------------------------------------------------------------------------------------


def opened(op: str, *columns: list[int], **given: Any) -> list[int]:
    arguments = [value(column, f"tensor<{len(column)}xf32>", (len(column),)) for column in columns]
    found = hu.eval(op, *arguments, track_open=True, **given)
    return [0] * len(columns[0]) if found.open is None else [int(mask) for mask in found.open]


def test_nan_results_are_open_and_moved_nans_are_not() -> None:
    nan = Open.NAN.value
    for op in BINARY:
        # Both operands NaN: the result is NaN for every op.
        assert opened(f"arith.{op}", [QNAN, ONE], [QNAN, ONE]) == [nan, 0]
    assert opened("arith.truncf", [QNAN, ONE], to="f16") == [nan, 0]
    assert opened("arith.extf", [QNAN, ONE], to="f64") == [nan, 0]
    assert opened("arith.negf", [QNAN, ONE]) == [0, 0]
    assert opened("arith.negf", [QNAN, ZERO], fastmath="nsz") == [0, Open.SIGN.value]
    assert opened("arith.bitcast", [QNAN, ONE], to="i32") == [0, 0]
    assert opened("arith.flush_denormals", [QNAN, 1]) == [0, 0]


def test_open_signs_of_zero() -> None:
    sign = Open.SIGN.value
    for op in ("maxnumf", "minnumf"):
        assert opened(f"arith.{op}", [ZERO, ZERO, NEG_ZERO, ONE], [NEG_ZERO, ZERO, NEG_ZERO, ZERO]) == [sign, 0, 0, 0]
    assert opened("arith.maximumf", [ZERO], [NEG_ZERO]) == [0]
    assert opened("arith.addf", [ONE, ONE], [f32(-1.0), ONE], fastmath="nsz") == [sign, 0]
    assert opened("arith.divf", [ONE, ONE], [ZERO, ONE], fastmath="nsz") == [sign, 0]  # either infinity
    assert opened("arith.divf", [ONE], [ZERO]) == [0]


@pytest.mark.parametrize("flag", ["reassoc", "contract", "arcp", "afn"])
def test_strict_results_marked_open(flag: str) -> None:
    assert opened("arith.addf", [ONE, ONE], [ONE, ONE], fastmath=flag) == [Open.VALUE.value] * 2
    assert hu.eval("arith.addf", 1.0, 2.0, type="f32", fastmath=flag).item() == 3.0


def test_openness_spreads() -> None:
    text = """func.func @f(%a: f32, %b: f32, %one: f32) -> (f32, f32, f32) {
  %z = arith.maxnumf %a, %b : f32
  %q = arith.divf %one, %z : f32
  %clean = arith.divf %one, %one : f32
  return %z, %q, %clean : f32, f32, f32
}
"""
    zero, quotient, clean = hu.run(text, 0.0, -0.0, 1.0, track_open=True)
    assert zero.open is not None
    assert quotient.open is not None
    assert int(zero.open) == Open.SIGN.value
    assert int(quotient.open) & Open.VALUE.value
    assert clean.open is None
    assert all(result.open is None for result in hu.run(text, 0.0, -0.0, 1.0))


# --- hidden detours ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", thinned([f for f in FORMATS.values() if f.bits <= 8], 3), ids=str)
@pytest.mark.parametrize("step", amounts(5, 1))
def test_negf_of_every_code(fmt: FloatFormat, step: int) -> None:
    codes = list(range(0, 1 << fmt.bits, step))
    if not fmt.signed:
        want = [0xFF for _ in codes]
    elif not fmt.has_negative_zero:
        want = [code if code in (0, 0x80) else code ^ 0x80 for code in codes]
    else:
        want = [code ^ fmt.sign_mask for code in codes]  # type: ignore[operator]
    check("arith.negf %a : {0}", [fmt.name], [fmt.name], [codes], want, containers=("tensor",))
