"""`explain_op` against `hu.eval` and against exact arithmetic: results, exact values, rules, steps."""

import operator
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from hypothesis import assume, given
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.explanations.applications import keywords_of
from halfulp.explanations.explaining import explain_op
from halfulp.explanations.float_explainers import EXACT_OPS, FLOAT_UNIT
from halfulp.explanations.op import EXPLAINED, INTEGER_OPS, signature_of
from halfulp.explanations.records import OpExplanation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.neighbours import ulp_at
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.number_reader import MODES
from halfulp.semantics.profile import PROFILES

SMALL = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN")
EIGHT = tuple(fmt.name for fmt in FORMATS.values() if fmt.bits == 8)
ROUNDED = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/"}
BINARY = (*ROUNDED, "remf", "maximumf", "minimumf", "maxnumf", "minnumf", "maximumnumf", "minimumnumf")
PREDICATES = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")  # fmt: skip
Pairs = Sequence[tuple[int, ...]]


def of_bits(code: int, type_: str) -> Value:
    return Value(as_type(type_), ints_to_codes([code], width_of(as_type(type_)), ()))


def evaluated(op: str, types: Sequence[str], rows: Pairs, to: str | None, **how: Any) -> list[int | None]:
    """Return the result of `hu.eval` for each row of codes: a code, or None for poison."""
    columns = [
        hu.Value.from_bits(np.array(column, object), f"tensor<{len(rows)}x{type_}>")
        for column, type_ in zip(zip(*rows, strict=True), types, strict=True)
    ]
    found = hu.eval(op, *columns, to=to, **how)
    flat = codes_to_ints(found.bits, width_of(found.element_type))
    return [None if lost else code for code, lost in zip(flat, found.poisoned.ravel(), strict=True)]


def text_of(explanation: OpExplanation) -> dict[str, str]:
    """Return the lines of the text by their first word; of those with no word of their own the first counts."""
    lines: dict[str, str] = {}
    for line in str(explanation).splitlines():
        name, _, rest = line.partition(" ")
        lines.setdefault(name, rest.strip())
    return lines


def check(op: str, type_: str, types: Sequence[str], rows: Pairs, to: str | None, **how: Any) -> list[OpExplanation]:
    """Assert that explanations give what `hu.eval` gives, in their fields and in their text, and for good reasons."""
    expected, explanations = evaluated(op, types, rows, to, **how), []
    for row, code in zip(rows, expected, strict=True):
        operands = [of_bits(*operand) for operand in zip(row, types, strict=True)]
        explanation = explain_op(op, *operands, type=types[0], to=to, **how)
        where = f"{op} {type_} {[hex(x) for x in row]} {how}"
        assert explanation.result == code, where
        text = text_of(explanation)
        word = text["result"]
        if code is None:
            assert word == "poison", where
        elif word in ("true", "false"):
            assert word == ("true" if code else "false"), where
            assert op != "arith.cmpf" or text["rule"].endswith(f": {word}"), where
        else:
            assert hex_in(word) == code, where
        because(explanation, op, where)
        explanations.append(explanation)
    return explanations


def hex_in(text: str) -> int:
    return int(text[text.index("0x") :].split()[0].rstrip(")"), 16)


def because(explanation: OpExplanation, op: str, where: str) -> None:
    """Check by exact arithmetic that the stated reason gives the result."""
    x = explanation.operands[0].value
    y = explanation.operands[-1].value
    name = op.removeprefix("arith.")
    if explanation.exact is not None and name in ROUNDED:
        assert x is not None, where
        assert y is not None, where
        assert explanation.exact == {"+": x + y, "-": x - y, "*": x * y}.get(ROUNDED[name], x / (y or 1)), where
    if explanation.rounding is not None and explanation.exact is not None and explanation.profile.name == "spec":
        fmt, rounding = explanation.rounding.format, explanation.rounding
        again = scalar.from_fraction(fmt, explanation.exact, MODES[rounding.rounding])
        if explanation.exact:
            assert (explanation.result, again.poison) == (again.code, False), where
        else:
            assert explanation.result is not None, where
            assert scalar.value(fmt, explanation.result) == scalar.value(fmt, again.code), where
            if fmt.has_negative_zero:
                signs = ("-0", "+0") if explanation.result == again.code | fmt.sign_mask else ("+0", "-0")  # type: ignore[operator]
                assert explanation.rule.endswith((signs[0], "nothing is rounded")), where
        for mode, rounded in rounding.modes.items():
            assert (
                explanation.exact == 0 or rounded.code == scalar.from_fraction(fmt, explanation.exact, MODES[mode]).code
            )
    if explanation.result is None:
        assert "poison" in explanation.rule, where
    elif explanation.rounding is not None and explanation.exact is None and not explanation.steps:
        assert "NaN" in explanation.rule or "infinit" in explanation.rule or "zero" in explanation.rule, where


def pairs(fmt: FloatFormat, count: int | None, seed: str) -> list[tuple[int, ...]]:
    rng, size = random.Random(seed), 1 << fmt.bits
    if count is None:
        return list(product(range(size), repeat=2))
    return [(rng.randrange(size), rng.randrange(size)) for _ in range(count)]


def binary_cases(
    formats: Sequence[str], count: int | None
) -> Iterator[tuple[str, str, list[tuple[int, ...]], dict[str, Any]]]:
    for name in formats:
        for op in BINARY:
            for mode in MODES if op in ROUNDED else (None,):
                how = {} if mode is None else {"rounding": mode}
                yield f"arith.{op}", name, pairs(FORMATS[name], count, f"{name}{op}{mode}"), how
        for predicate in PREDICATES:
            yield "arith.cmpf", name, pairs(FORMATS[name], count, f"{name}{predicate}"), {"predicate": predicate}


@pytest.mark.long
@pytest.mark.parametrize("name", ["f4E2M1FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "f16"])
def test_binary_ops_sampled(name: str) -> None:
    for op, type_, rows, how in binary_cases([name], 2):
        if how.get("predicate", "ult") in ("oeq", "ult", "uno"):
            check(op, type_, [type_] * 2, rows, None, **how)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SMALL)
def test_binary_ops_on_every_pair(name: str) -> None:
    for op, type_, rows, how in binary_cases([name], None):
        check(op, type_, [type_] * 2, rows, None, **how)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EIGHT)
def test_binary_ops_on_pairs_of_8_bits(name: str) -> None:
    for op, type_, rows, how in binary_cases([name], 1000):
        check(op, type_, [type_] * 2, rows, None, **how)


@pytest.mark.parametrize("name", thinned([*SMALL, *EIGHT], 3))
def test_unary_ops(name: str) -> None:
    fmt = FORMATS[name]
    rows = [(code,) for code in range(1 << fmt.bits)]
    for op in ("arith.negf", "arith.flush_denormals"):
        check(op, name, [name], random.Random(name).sample(rows, min(16, len(rows))), None)


@pytest.mark.long
@pytest.mark.parametrize("source", [*SMALL, "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "f16"])
def test_casts(source: str) -> None:
    fmt, rng = FORMATS[source], random.Random(source)
    for target in rng.sample(list(FORMATS.values()), 9):
        rows = [(rng.randrange(1 << fmt.bits),) for _ in range(4)]
        op = "extf" if target.bits > fmt.bits else "truncf" if target.bits < fmt.bits else "convertf"
        if target != fmt:
            for mode in (None,) if op == "extf" else ("to_nearest_even", "upward"):
                how = {} if mode is None else {"rounding": mode}
                check(f"arith.{op}", target.name, [source], rows, target.name, **how)
    for width in (1, 4, 8, 32):
        for op in ("fptosi", "fptoui"):
            check(
                f"arith.{op}", f"i{width}", [source], [(rng.randrange(1 << fmt.bits),) for _ in range(5)], f"i{width}"
            )
        for op in ("sitofp", "uitofp"):
            check(f"arith.{op}", source, [f"i{width}"], [(rng.randrange(1 << width),) for _ in range(5)], source)


@pytest.mark.long
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("count", amounts(1, 3))
def test_profiles(profile: str, count: int) -> None:
    """Of every kind of op, a profile's own result, and in the table of profiles each profile's."""
    rng = random.Random(profile)
    for name in ("f4E2M1FN", "f8E5M2FNUZ", "f8E8M0FNU"):
        width = FORMATS[name].bits
        for op in ("addf", "divf", "remf", "maxnumf", "maximumf"):
            rows = [(rng.getrandbits(width), rng.getrandbits(width)) for _ in range(count)]
            check(f"arith.{op}", name, [name] * 2, rows, None, profile=profile)
        single = [(rng.getrandbits(32),) for _ in range(count)]
        check("arith.truncf", name, ["f32"], single, name, profile=profile)
        check(
            "arith.fptosi", "i8", [name], [(rng.getrandbits(width),) for _ in range(2 * count)], "i8", profile=profile
        )
        for row in single[:2]:
            explanation = explain_op("arith.truncf", of_bits(row[0], "f32"), to=name, profile=profile)
            listed = {each: group.code for group in explanation.profiles for each in group.profiles}
            assert set(listed) == set(PROFILES)
            for each, code in listed.items():
                assert [code] == evaluated("arith.truncf", ["f32"], [row], name, profile=each)


@pytest.mark.long
@pytest.mark.parametrize("profile", [*PROFILES, "spec,scaling=exact"])
@pytest.mark.parametrize("op", ["scaling_extf", "scaling_truncf"])
@pytest.mark.parametrize("count", amounts(1, 3))
def test_scaling(op: str, profile: str, count: int) -> None:
    rng = random.Random(op + profile)
    narrow, wide = ("f4E2M1FN", "f8E4M3FN", "f8E5M2"), ("f16", "bf16", "f32")
    for small, large in product(narrow, wide):
        source, target = (small, large) if op == "scaling_extf" else (large, small)
        for scale in ("f8E8M0FNU", "f32"):
            rows = [(rng.getrandbits(FORMATS[source].bits), rng.getrandbits(FORMATS[scale].bits)) for _ in range(count)]
            rows += [(rng.getrandbits(FORMATS[source].bits), 0x80 if scale == "f8E8M0FNU" else 0x40000000)]
            for explanation in check(f"arith.{op}", target, [source, scale], rows, target, profile=profile):
                last = explanation.steps[-1] if explanation.steps else None
                if last is not None and "exact" not in profile:
                    assert last.code == explanation.result


@pytest.mark.parametrize("profile", thinned([name for name in PROFILES if name != "spec"], 4))
def test_exact_scaling_under_other_profiles(profile: str) -> None:
    """Not every profile takes a negative scale as NaN; the others follow the rule of the exact number."""
    how: dict[str, Any] = {"profile": f"{profile},scaling=exact"}
    for target, x in (("bf16", 0x53), ("f4E2M1FN", 0x6F)):
        op = "arith.scaling_extf" if target == "bf16" else "arith.scaling_truncf"
        (explanation,) = check(op, target, ["f8E3M4", "f6E3M2FN"], [(x, 0x35)], target, **how)
        rounded = explanation.rounding
        assert "has no zero" not in explanation.rule
        if rounded is not None and rounded.exact is not None:
            exactly = rounded.exact == rounded.result.value
            assert ("nothing is rounded" in explanation.rule) == exactly


QUANTISED = (
    "!quant.uniform<i8:f32, 0.5:3>",
    "!quant.uniform<u8<2:200>:f16, 0.1:7>",
    "!quant.uniform<i4:f64, 1.3:-2>",
    "!quant.uniform<i8<-100:100>:bf16, 0.007>",
    "!quant.uniform<i16:f8E4M3FN, 0.25:300>",
)


@pytest.mark.parametrize("profile", thinned(PROFILES, 4))
@pytest.mark.parametrize("type_", thinned(QUANTISED, 2))
def test_quantisation(type_: str, profile: str) -> None:
    quantised: Any = as_type(type_)
    rng = random.Random(type_ + profile)
    expressed = str(quantised.expressed)
    width = quantised.storage_width
    with_numbers = [
        hu.Value.from_numpy(np.float64(x)) for x in rng.choices([-1e9, -3.3, -0.5, 0, 0.25, 1, 20.7, 1e9], k=4)
    ]
    rows = [
        (int(hu.convert(x, to=expressed).bits) & ((1 << quantised.expressed.format.bits) - 1),) for x in with_numbers
    ]
    rows += [(rng.getrandbits(quantised.expressed.format.bits),) for _ in range(4)]
    for row, code in zip(rows, evaluated("quant.qcast", [expressed], rows, type_, profile=profile), strict=True):
        explanation = explain_op("quant.qcast", of_bits(row[0], expressed), to=type_, profile=profile)
        assert explanation.result == code
        assert code is None or explanation.steps[-1].code == code
        assert str(explanation)
    rows = [(rng.getrandbits(width),) for _ in range(6)]
    for row, code in zip(rows, evaluated("quant.dcast", [type_], rows, expressed, profile=profile), strict=True):
        explanation = explain_op("quant.dcast", of_bits(row[0], type_), type=type_, profile=profile)
        assert (explanation.result, explanation.steps[-1].code) == (code, code)


def test_each_channel_has_its_scale() -> None:
    type_ = "!quant.uniform<i8:f32:0, {0.5:3, 0.1:7, 2.0}>"
    whole = hu.Value.from_numpy(np.array([1.3, 1.3, 1.3], np.float32))
    expected = hu.eval("quant.qcast", whole, to=f"tensor<3x{type_}>").bits.tolist()
    found = [explain_op("quant.qcast", 1.3, to=type_, channel=channel).result for channel in range(3)]
    assert found == expected
    assert "0.1..." in str(explain_op("quant.qcast", 1.3, to=type_, channel=1))
    for channel in (None, 3, -1):
        with pytest.raises(hu.errors.InputError, match="0 to 2"):
            explain_op("quant.qcast", 1.3, to=type_, channel=channel)
    with pytest.raises(hu.errors.InputError, match="not quantised per channel"):
        explain_op("arith.negf", 1.3, type="f32", channel=0)


FLAGS = ("nnan", "ninf", "nsz", "nnan,ninf", "fast", "contract")


@pytest.mark.long
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("step", amounts(4, 1))
def test_fast_math(flags: str, step: int) -> None:
    special = (0, 0x80, 0x38, 0x7C, 0xFC, 0x7D)
    rows = list(product(special, repeat=2))[FLAGS.index(flags) % step :: step]
    for op in ("addf", "mulf", "divf", "maximumf"):
        check(f"arith.{op}", "f8E5M2", ["f8E5M2"] * 2, rows, None, fastmath=flags)
    check("arith.cmpf", "f8E5M2", ["f8E5M2"] * 2, rows, None, fastmath=flags, predicate="olt")


# By hand: IEEE 754 and the arith document.
RULES = [
    ("arith.addf", "f8E4M3FN", (1.4, 2.2), {}, 0x46, "a tie: to the even significand: the value below"),
    ("arith.addf", "f8E5M2", ("inf", "-inf"), {}, 0x7E, "the sum of infinities of different signs is not a number"),
    ("arith.subf", "f8E5M2", ("inf", "inf"), {}, 0x7E, "the difference of infinities of one sign is not a number"),
    ("arith.subf", "f8E5M2", ("inf", "-inf"), {}, 0x7C, "an infinite operand decides"),
    ("arith.subf", "f16", (1, 1), {}, 0, "+0, but -0 in downward: +0"),
    ("arith.subf", "f16", (1, 1), {"rounding": "downward"}, 0x8000, "+0, but -0 in downward: -0"),
    ("arith.addf", "f16", ("-0.0", "-0.0"), {}, 0x8000, "zeros of one sign keep it: -0"),
    ("arith.mulf", "f16", (0, "inf"), {}, 0x7E00, "zero times infinity is not a number: a positive, quiet NaN"),
    ("arith.mulf", "f16", ("-0.0", 3), {}, 0x8000, "the product of the signs: -0"),
    (
        "arith.divf",
        "f8E4M3FN",
        (-1, 0),
        {},
        0xFF,
        "division by zero: f8E4M3FN has no infinities: NaN, of the same sign",
    ),
    ("arith.divf", "f4E2M1FN", (-1, 0), {}, 0xF, "division by zero: f4E2M1FN has neither infinities nor NaN"),
    ("arith.divf", "f4E2M1FN", (0, 0), {}, None, "0/0 is not a number: NaN is not representable in f4E2M1FN: poison"),
    ("arith.divf", "f16", (1, "-inf"), {}, 0x8000, "a finite number over infinity: zero"),
    ("arith.remf", "f16", (-4, 2), {}, 0x8000, "with the sign of the dividend: -0"),
    ("arith.remf", "f16", (7, "inf"), {}, 0x4700, "an infinite divisor leaves the dividend"),
    ("arith.remf", "f16", (7, 0), {}, 0x7E00, "has no remainder"),
    ("arith.addf", "f8E5M2", ("0x7D", 1), {}, 0x7F, "the first NaN operand, quieted, with its sign and payload"),
    ("arith.addf", "f4E2M1FN", ("nan", 1), {}, None, "an operand is poison (NaN is not representable in f4E2M1FN"),
    ("arith.maximumf", "f16", ("-0.0", 0), {}, 0, "-0 being less than +0"),
    ("arith.maxnumf", "f16", ("nan", 2), {}, 0x4000, "one operand is a NaN, so the result is the other: 2"),
    ("arith.minnumf", "f16", ("nan", "0x7D01"), {}, 0x7F01, "two NaNs: the second, quieted"),
    ("arith.maximumf", "f16", ("nan", 2), {}, 0x7E00, "a NaN operand"),
    ("arith.extf", "f16", ("f8E5M2FNUZ=0x80",), {}, 0x7E00, "has neither sign nor payload: a positive, quiet NaN"),
    (
        "arith.addf",
        "f80",
        ("0xBFFF0000000000000001", 1),
        {},
        0x7FFFC << 60,
        "a NaN operand: an invalid encoding, so a positive",
    ),
    (
        "arith.minnumf",
        "f80",
        ("nan", "0xBFFF0000000000000001"),
        {},
        0x7FFFC << 60,
        "two NaNs: the second, an invalid encoding",
    ),
    ("arith.cmpf", "f16", ("-0.0", 0), {"predicate": "oeq"}, 1, "equal to 0, whatever their signs"),
    ("arith.cmpf", "f16", (1, "nan"), {"predicate": "ult"}, 1, "unordered; ult holds for less or unordered: true"),
    ("arith.cmpf", "f16", (1, "inf"), {"predicate": "olt"}, 1, "1 is less than inf; olt holds for less: true"),
    ("arith.negf", "f8E8M0FNU", (2,), {}, 0xFF, "has no negative values: NaN"),
    ("arith.negf", "f8E5M2FNUZ", (0,), {}, 0, "has no -0: zero stays"),
    ("arith.flush_denormals", "f16", ("0x8001",), {}, 0x8000, "subnormal"),
    ("arith.fptosi", "i8", (-3.9,), {}, 0xFD, "toward zero: -3, and within -128 to 127"),
    ("arith.fptosi", "i8", (128,), {}, None, "outside -128 to 127: poison"),
    ("arith.fptoui", "i8", ("nan",), {}, None, "NaN is not an integer: poison"),
    ("arith.fptoui", "i8", (-0.9,), {}, 0, "toward zero: 0"),
    ("arith.sitofp", "f32", (16777217,), {}, 0x4B800000, "a tie"),
    ("arith.uitofp", "f16", ("i8=-1",), {}, 0x5BF8, "exact"),
    ("arith.truncf", "f8E4M3FN", (465,), {}, 0x7F, "it would round to 480 or more, which does not exist"),
    ("arith.addf", "f16", ("nan", 2), {"fastmath": "nnan"}, None, "NaN operand or result under fastmath<nnan>: poison"),
    ("arith.addf", "f16", ("inf", 2), {"fastmath": "ninf"}, None, "infinite operand or result under fastmath<ninf>"),
    ("quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", (1.3,), {}, 6, "to_nearest_even: 6"),
    ("quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", (1e9,), {}, 0x7F, "saturates to 127"),
    ("quant.qcast", "!quant.uniform<i8<-9:9>:f32, 0.5>", (1e9,), {}, 9, "outside -9 to 9: 9"),
    ("quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", ("nan",), {}, None, "NaN has no integer: poison"),
]


@pytest.mark.parametrize(("op", "type_", "operands", "how", "code", "words"), thinned(RULES, 4, rows=True))
def test_rules(
    op: str, type_: str, operands: tuple[Any, ...], how: dict[str, Any], code: int | None, words: str
) -> None:
    explanation = explain_op(op, *operands, **keywords_of(signature_of(op), type_, None), **how)
    assert explanation.result == code
    assert words in explanation.rule
    assert words in str(explanation)


def test_every_op_is_explained_somewhere() -> None:
    tried = {f"arith.{op}" for op in (*BINARY, "cmpf", "negf", "flush_denormals", "scaling_extf", "scaling_truncf")}
    tried |= {f"arith.{op}" for op in ("extf", "truncf", "convertf", "sitofp", "uitofp", "fptosi", "fptoui")}
    # test_exact_ops.py explains those of EXACT_OPS and of FLOAT_UNIT.
    assert tried | {"quant.qcast", "quant.dcast"} | INTEGER_OPS | set(EXACT_OPS) | set(FLOAT_UNIT) == set(EXPLAINED)


def test_the_whole_text() -> None:
    """1.4 and 2.2 are 1.375 and 2.25 in f8E4M3FN, whose sum 3.625 lies halfway between 3.5 and 3.75."""
    assert str(explain_op("arith.addf", 1.4, 2.2, type="f8E4M3FN")).splitlines() == [
        "arith.addf on f8E4M3FN, profile spec",
        "",
        "lhs       1.4 is not a value of f8E4M3FN: 1.375 (0x3B), error -0.199999... ulp",
        "rhs       2.2 is not a value of f8E4M3FN: 2.25 (0x41), error +0.199999... ulp",
        "",
        "exact     1.375 + 2.25 = 3.625 = 29/8 = 29 * 2^-3",
        "result    0x46  0 1000 110",
        "          sign 0, exponent 1000 (2^1), significand 110",
        "value     3.5 = 7/2 = 7 * 2^-1",
        "          1.110 * 2^1 in binary",
        "flags     inexact",
        "",
        "below     0x46  0 1000 110  3.5",
        "midpoint  3.625  (between 0x46 and 0x47; the exact value lies exactly on it)",
        "above     0x47  0 1000 111  3.75",
        "",
        "rule      a tie: to the even significand: the value below",
        "error     -0.5 ulp; an ulp is 0.25 here",
        "          -0.0344827... relative",
        "",
        "mode             code  value  error in ulp  flags",
        "to_nearest_even  0x46  3.5    -0.5          inexact",
        "downward         0x46  3.5    -0.5          inexact",
        "upward           0x47  3.75   +0.5          inexact",
        "toward_zero      0x46  3.5    -0.5          inexact",
        "to_nearest_away  0x47  3.75   +0.5          inexact",
        "",
        "profiles  all of them give this",
        "",
        "total     -0.4... ulp against 3.600000000000000088817841970012523233890533447265625, as given; an ulp is 0.25 there",
        "          -0.0277777... relative",
        "          -0.5 ulp by the op itself; -0.0999999... ulp by rounding lhs; +0.199999... ulp by rounding rhs",
    ]


def test_the_steps_of_a_quantisation() -> None:
    """1.3 as an f32 is 1.2999999523162842; divided by 0.5 and shifted by 3 that is exact in f32."""
    explanation = explain_op("quant.qcast", 1.3, to="!quant.uniform<i8:f32, 0.5:3>")
    assert [step.title for step in explanation.steps] == ["scale", "zero point", "x / scale", "+ zero point", "to an integer", "clamp"]  # fmt: skip
    values = [step.explanation.result.value for step in explanation.steps[:4] if step.explanation is not None]
    assert values == [Fraction(1, 2), 3, Fraction(10905190, 4194304), Fraction(10905190, 4194304) + 3]
    assert [step.code for step in explanation.steps[4:]] == [6, 6]
    (quant22,) = [group for group in explanation.profiles if "mlir22-quant" in group.profiles]
    assert (quant22.code, quant22.fields) == (5, ("qcast_rounding=toward_zero",))


def test_wrong_use() -> None:
    with pytest.raises(hu.errors.InputError, match="one number"):
        explain_op("arith.addf", 1, 2, type="tensor<2xf32>")
    with pytest.raises(hu.errors.InputError, match="that is not poison"):
        explain_op("arith.addf", hu.eval("ub.poison", to="f32"), 1, type="f32")
    with pytest.raises(hu.Unsupported, match="arith.select has no explanation; .* and others have one"):
        explain_op("arith.select", 1, 2, 3, type="i8")


# --- total error ------------------------------------------------------------------------------------------------------
#
# The total error of an op against the exact function of its operands as typed.

FUNCTIONS: dict[str, Any] = {
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": operator.truediv,
}


def test_a_tenth_and_a_fifth() -> None:
    """By hand: 0.1 -> 13/128 and 0.2 -> 13/64 in f8E4M3FN; their sum 39/128 -> 5/16; an ulp at 0.3 is 1/32."""
    explanation = hu.explain_op("arith.addf", "0.1", "0.2", type="f8E4M3FN")
    total = explanation.total
    assert total is not None
    assert total.real == Fraction(3, 10)
    assert total.error == Fraction(5, 16) - Fraction(3, 10)
    assert total.in_ulp == Fraction(2, 5)
    assert total.relative == Fraction(1, 24)
    assert total.parts == (
        ("the op itself", Fraction(1, 128)),
        ("rounding lhs", Fraction(13, 128) - Fraction(1, 10)),
        ("rounding rhs", Fraction(13, 64) - Fraction(1, 5)),
    )
    text = str(explanation)
    assert "total     +0.4 ulp against 0.3, as given; an ulp is 0.03125 there" in text
    assert "+0.25 ulp by the op itself; +0.05 ulp by rounding lhs; +0.1 ulp by rounding rhs" in text
    assert "+0.4 ulp against 0.3, as given" in explanation._repr_html_()


@pytest.mark.long
@given(
    st.sampled_from(list(FUNCTIONS)),
    st.decimals(-100, 100, places=3),
    st.decimals(-100, 100, places=3),
    st.sampled_from(["f8E4M3FN", "f16", "bf16", "f32"]),
)
def test_the_parts_add_up(op: str, x: Decimal, y: Decimal, name: str) -> None:
    explanation = hu.explain_op(op, str(x), str(y), type=name)
    total = explanation.total
    assert total is not None
    assume(total.real is not None and (op != "arith.divf" or y))
    exact = FUNCTIONS[op](Fraction(x), Fraction(y))
    assert explanation.rounding is not None
    value = explanation.rounding.result.value
    assert value is not None
    assert total.real == exact
    assert total.error == value - exact == sum(part for _, part in total.parts)
    assert total.ulp == ulp_at(FORMATS[name], exact)
    # The op itself rounds the exact function of the operands as the op gets them.
    first, second = (operand.value for operand in explanation.operands)
    assert total.parts[0][1] == value - FUNCTIONS[op](first, second)


def test_what_was_typed() -> None:
    typed = hu.explain_op("arith.addf", 0.1, Fraction(1, 3), type="f16").total
    assert typed is not None
    assert typed.real == Fraction(0.1) + Fraction(1, 3)  # a float is its binary value
    decimals = hu.explain_op("arith.addf", Decimal("0.1"), "1/3", type="f16").total
    assert decimals is not None
    assert decimals.real == Fraction(1, 10) + Fraction(1, 3)
    own = hu.explain_op("arith.truncf", "f32=0.1", to="f16").total
    assert own is not None
    assert own.real == Fraction(1, 10)
    assert [name for name, _ in own.parts] == ["the op itself", "rounding in"]


def test_nothing_is_shown_without_rounded_operands() -> None:
    explanation = hu.explain_op("arith.addf", 1.375, 2.25, type="f8E4M3FN")
    assert explanation.total is not None
    assert not explanation.total.shown
    assert "total" not in str(explanation)


@each_row(
    ("arith.maximumf", ("0.1", "0.2"), "not rational"),
    ("arith.addf", ("0.1", "inf"), "not a finite number"),
    ("arith.divf", ("0.1", "0"), "not a finite number"),
    ("arith.divf", ("0.1", "1e-9"), "not a finite number"),
)
def test_where_it_is_not_given(op: str, operands: tuple[str, ...], words: str) -> None:
    explanation = hu.explain_op(op, *operands, type="f8E4M3FN")
    assert explanation.total is not None
    assert explanation.total.real is None
    assert words in explanation.total.reason
    assert "total     error not given: " in str(explanation)
