"""The text of `explain`, read back: every number in it must be that of the specification, `fp_formats.scalar`.

The reader below knows nothing of the module that wrote the text; neighbours come from a sorted list of all values.
"""

import math
import random
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.explanations.explaining import explain
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import as_type
from halfulp.number_reader import MODES
from halfulp.semantics import casts
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILES

NARROW = tuple(fmt.name for fmt in FORMATS.values() if fmt.bits <= 16)
WIDE = ("tf32", "f32", "f64", "f80", "f128")
F64 = FORMATS["f64"]
Given = int | float | Fraction | str
value_of = lru_cache(1 << 17)(scalar.value)


@cache
def values(name: str) -> tuple[list[Fraction], list[int]]:
    """Return all finite values of a narrow format in order, with their codes (+0 for zero)."""
    fmt = FORMATS[name]
    pairs = {value_of(fmt, code): code for code in reversed(range(1 << fmt.bits))}
    pairs.pop(None, None)
    known = sorted((value, code) for value, code in pairs.items() if value is not None)
    return [value for value, _ in known], [code for _, code in known]


def number(text: str) -> Fraction:
    """Return a number as it is spelled: decimal, fraction, or an integer times a power of two."""
    base, times, power = text.partition(" * 2^")
    return Fraction(base) * Fraction(2) ** int(power) if times else Fraction(text)


def agrees(text: str, expected: Fraction) -> bool:
    """Tell whether decimals, which may end in ``...``, are those of a number."""
    if "..." not in text:
        return Fraction(text) == expected
    digits, _, exponent = text.partition("...")
    shown, unit = Fraction(digits + exponent), Fraction(10) ** (int(exponent[1:] or 0) if exponent else 0)
    decimals = len(digits.partition(".")[2])
    return (shown < 0) == (expected < 0) and 0 < abs(expected) - abs(shown) < unit / 10**decimals


def spellings_agree(text: str, expected: Fraction) -> bool:
    first, *others = text.split(" = ")
    return agrees(first, expected) and all(number(other) == expected for other in others)


def plain(fmt: FloatFormat, code: int, text: str) -> bool:
    """Tell whether the text shows the value of the code."""
    exact = value_of(fmt, code)
    negative = fmt.signed and bool(code >> (fmt.bits - 1))
    if exact is not None:
        return agrees(text, exact) and text.startswith("-") == negative
    return text.endswith("inf" if fmt.is_infinite(code) else "nan")


def flags_of(text: str) -> int:
    names = {flag.name.lower().replace("_", " "): int(flag) for flag in Flags if flag.name}
    return 0 if text == "none" else sum(names[name] for name in text.split(", "))


def expected_result(fmt: FloatFormat, given: Given, mode: str) -> scalar.Result:
    rounding = MODES[mode]
    match given:
        case Fraction():
            return scalar.from_fraction(fmt, given, rounding)
        case float():
            return scalar.convert(F64, fmt, code_of(given), rounding)
        case int():
            return scalar.from_integer(fmt, given, rounding)
    return scalar.Result(int(given, 16))


def code_of(number: float) -> int:
    import struct

    return int.from_bytes(struct.pack(">d", number), "big")


_CODE = re.compile(r"0x([0-9A-F]+)  ([01 ]+?)(?:  (\S.*))?$")


def check(name: str, given: Given, mode: str) -> None:
    """Read the text of one explanation back, line by line."""
    fmt = FORMATS[name]
    text = str(explain(given, name, mode))
    where = text
    lines = text.splitlines()
    assert lines[0].endswith(f" in {name}, {mode}, profile spec"), where
    rows: dict[str, str] = {}
    for line in lines[2:]:
        rows.setdefault(line[:10].strip(), line[10:]) if line[:1] != " " else None
    result = expected_result(fmt, given, mode)
    exact = exact_of(fmt, given)
    assert ("exact" in rows) == (exact is not None), where
    if exact is not None:
        assert spellings_agree(rows["exact"], exact), where
    if result.poison:
        assert rows["result"] == "poison", where
    else:
        assert code_line(fmt, rows["result"]) == result.code, where
        value = value_of(fmt, result.code)
        if value:
            assert spellings_agree(rows["value"], value), where
            binary = lines[lines.index("value     " + rows["value"]) + 1].split()
            digits = binary[0].lstrip("-").replace(".", "")
            scaled = int(digits, 2) * Fraction(2) ** (int(binary[2][2:]) - len(digits) + 1)
            assert (-scaled if binary[0].startswith("-") else scaled) == value, where
        else:
            assert plain(fmt, result.code, rows["value"]), where
        fields = lines[lines.index("result    " + rows["result"]) + 1]
        assert (
            "".join(re.findall(r"(?:sign|exponent|bit|significand) ([01]+)", fields)) == f"{result.code:0{fmt.bits}b}"
        )
    assert flags_of(rows["flags"]) == result.flags, where
    if exact is not None:
        check_neighbours(fmt, exact, rows, where)
    check_errors(fmt, exact, rows["error"], lines, result, where)
    if not isinstance(given, str):
        check_modes(fmt, given, exact, lines, where)
        check_rule(fmt, exact, mode, rows["rule"], result, where)


def exact_of(fmt: FloatFormat, given: Given) -> Fraction | None:
    if isinstance(given, str):
        return value_of(fmt, int(given, 16))
    return Fraction(given) if not isinstance(given, float) or math.isfinite(given) else None


def code_line(fmt: FloatFormat, text: str) -> int:
    """Return the code of ``0x2A 0 0101 010 0.3125``, whose parts must agree."""
    match = _CODE.match(text)
    assert match, text
    code = int(match[1], 16)
    assert len(match[1]) == -(-fmt.bits // 4)
    assert match[2].replace(" ", "") == f"{code:0{fmt.bits}b}"
    assert match[3] is None or plain(fmt, code, match[3])
    return code


def neighbours(fmt: FloatFormat, exact: Fraction) -> tuple[int | None, int | None]:
    """Return the codes below and above: looked up among all values, or of a wide format those of directed rounding."""
    if fmt.bits <= 16:
        known, codes = values(fmt.name)
        below, above = bisect_left(known, exact), bisect_right(known, exact)
        return codes[below - 1] if below else None, codes[above] if above < len(codes) else None
    step = Fraction(2) ** (fmt.emin - fmt.mantissa_bits - 2)
    found = []
    for rounding, towards in ((Rounding.DOWNWARD, -step), (Rounding.UPWARD, step)):
        code = scalar.from_fraction(fmt, exact, rounding).code
        if value_of(fmt, code) == exact:
            code = scalar.from_fraction(fmt, exact + towards, rounding).code
        found.append(None if value_of(fmt, code) is None else code)
    return found[0], found[1]


def check_neighbours(fmt: FloatFormat, exact: Fraction, rows: dict[str, str], where: str) -> None:
    below, above = neighbours(fmt, exact)
    for name, code in (("below", below), ("above", above)):
        shown = None if rows[name].startswith("no ") else code_line(fmt, rows[name])
        assert (None if shown is None else value_of(fmt, shown)) == (None if code is None else value_of(fmt, code)), (
            where
        )
    midpoint = rows.get("midpoint")
    if below is None or above is None:
        assert midpoint is None or "and what would be next" in midpoint, where
        return
    low, high = value_of(fmt, below), value_of(fmt, above)
    assert low is not None
    assert high is not None
    inside = scalar.from_fraction(fmt, exact)
    if value_of(fmt, inside.code) == exact:
        assert midpoint is None, where
        return
    assert midpoint is not None, where
    middle = (low + high) / 2
    shown_middle, _, words = midpoint.partition("  (between 0x")
    assert agrees(shown_middle, middle), where
    side = "exactly on" if exact == middle else "below" if exact < middle else "above"
    assert words.endswith(f"; the exact value lies {side} it)"), where


def ulp_of(fmt: FloatFormat, exact: Fraction) -> Fraction:
    """Return the distance of values around a number, by its magnitude."""
    largest = value_of(fmt, fmt.max_code)
    assert largest is not None
    magnitude = min(abs(exact), largest)
    exponent = fmt.emin
    if magnitude:
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        exponent -= Fraction(2) ** exponent > magnitude
    if exact < 0 and not fmt.signed:
        exponent = fmt.emin
    return Fraction(2) ** (max(exponent, fmt.emin) - fmt.mantissa_bits)


def check_errors(
    fmt: FloatFormat, exact: Fraction | None, error: str, lines: list[str], result: scalar.Result, where: str
) -> None:
    value = None if result.poison else value_of(fmt, result.code)
    if exact is None or value is None:
        assert error == "not a finite number", where
        return
    if value == exact:
        assert error == "0 ulp", where
        return
    shown, _, unit = error.partition(" ulp; an ulp is ")
    ulp = ulp_of(fmt, exact)
    assert agrees(unit.removesuffix(" here"), ulp), where
    assert agrees(shown.removeprefix("+"), (value - exact) / ulp), where
    if exact:
        (relative,) = [line.strip() for line in lines if line.endswith(" relative")]
        assert agrees(relative.removesuffix(" relative").removeprefix("+"), (value - exact) / abs(exact)), where


def check_modes(fmt: FloatFormat, given: Given, exact: Fraction | None, lines: list[str], where: str) -> None:
    head = next(index for index, line in enumerate(lines) if line.startswith("mode "))
    columns = [lines[head].index(name) for name in ("mode", "code", "value", "error in ulp", "flags")]
    for line in lines[head + 1 : head + 6]:
        cells = [line[a:b].strip() for a, b in zip(columns, [*columns[1:], None], strict=True)]
        result = expected_result(fmt, given, cells[0])
        assert flags_of(cells[4]) == result.flags, where
        if result.poison:
            assert cells[1:4] == ["poison", "", ""], where
            continue
        assert int(cells[1], 16) == result.code, where
        assert plain(fmt, result.code, cells[2]), where
        value = value_of(fmt, result.code)
        if exact is None or value is None:
            assert cells[3] == "", where
        else:
            assert agrees(cells[3].removeprefix("+"), (value - exact) / ulp_of(fmt, exact)), where


def check_rule(
    fmt: FloatFormat, exact: Fraction | None, mode: str, rule: str, result: scalar.Result, where: str
) -> None:
    """Check the rule's claim about the exact value."""
    value = None if result.poison else value_of(fmt, result.code)
    if exact is None:
        assert "NaN" in rule or "infinity" in rule, where
        return
    if "nothing is rounded" in rule:
        assert value == exact, where
        return
    # An overflow that is named was raised, and what was not raised is not named.
    assert "overflow" not in rule or result.flags & Flags.OVERFLOW, where
    low, high = neighbours(fmt, exact)
    if low is not None and high is not None and value is not None and exact and "no zero" not in rule:
        below, above = value_of(fmt, low), value_of(fmt, high)
        assert below is not None
        assert above is not None
        assert rule.endswith("the value above is nearer") == (
            mode.startswith("to_nearest") and exact > (below + above) / 2
        ), where
        assert rule.endswith("the value below is nearer") == (
            mode.startswith("to_nearest") and exact < (below + above) / 2
        ), where
        assert rule.startswith("a tie") == (mode.startswith("to_nearest") and exact == (below + above) / 2), where
        side = "above" if value > exact else "below"
        assert f"the value {side}" in rule, where
    elif value is None and exact >= 0:
        assert "overflow" in rule, where


def inputs(name: str, rng: random.Random, count: int) -> Iterator[Given]:
    """Numbers that try a format's rounding: near values, midpoints and ends, of all magnitudes, and special ones."""
    fmt = FORMATS[name]
    yield from (0.0, -0.0, math.inf, -math.inf, math.nan, 1, -1, Fraction(1, 3))
    for _ in range(count - 8):
        kind = rng.randrange(8)
        code = rng.getrandbits(fmt.bits)
        value = value_of(fmt, code)
        place = _place_of(fmt, value, rng)
        if kind < 3 and place is not None:
            yield place
        elif kind == 3 and place is not None and abs(place) < 10**300:
            yield float(place)
        elif kind == 4:
            yield rng.choice((-1, 1)) * Fraction(rng.getrandbits(40) | 1, rng.getrandbits(30) | 1)
        elif kind == 5:
            yield rng.choice((-1, 1)) * rng.getrandbits(rng.randrange(1, 40))
        else:
            exponent = rng.uniform(fmt.emin - fmt.mantissa_bits - 4, fmt.emax + 3)
            yield rng.choice((-1.0, 1.0)) * 2.0 ** max(min(exponent, 1020), -1060) * rng.random()


def _place_of(fmt: FloatFormat, value: Fraction | None, rng: random.Random) -> Fraction | None:
    """Return a value, a midpoint, a point just beside either, or between."""
    if value is None:
        return None
    ulp = ulp_of(fmt, value)
    tiny = Fraction(rng.choice((-1, 0, 1)), 1 << rng.randrange(3, 80))
    return (
        value
        + ulp * rng.choice((Fraction(0), Fraction(1, 2), Fraction(-1, 2), Fraction(rng.getrandbits(20), 1 << 20)))
        + ulp * tiny
    )


def codes(fmt: FloatFormat) -> Iterator[str]:
    return (f"0x{code:0{-(-fmt.bits // 4)}X}" for code in range(1 << fmt.bits))


@pytest.mark.long
@pytest.mark.parametrize("name", [*NARROW, *WIDE])
def test_numbers_sampled(name: str) -> None:
    rng = random.Random(name)
    modes = list(MODES)
    for index, given in enumerate(inputs(name, rng, 40)):
        check(name, given, modes[index % len(modes)])
    fmt = FORMATS[name]
    for _ in range(20):
        check(name, f"0x{rng.getrandbits(fmt.bits):0{-(-fmt.bits // 4)}X}", rng.choice(modes))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NARROW)
def test_numbers_of_every_narrow_type(name: str) -> None:
    """Every code, and 100,000 inputs, each with the table of all modes and one of them in full."""
    rng = random.Random(f"all of {name}")
    modes = list(MODES)
    for text in codes(FORMATS[name]):
        check(name, text, modes[0])
    for index, given in enumerate(inputs(name, rng, 100_000)):
        check(name, given, modes[index % len(modes)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WIDE)
def test_numbers_of_wide_types(name: str) -> None:
    rng = random.Random(f"many of {name}")
    modes = list(MODES)
    for index, given in enumerate(inputs(name, rng, 10_000)):
        check(name, given, modes[index % len(modes)])


@pytest.mark.parametrize("name", thinned(["f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "bf16", "f16", "f32"], 3))
def test_what_profiles_give(name: str) -> None:
    """The table of profiles against the kernels that conversions are run by."""
    fmt, rng = FORMATS[name], random.Random(f"profiles of {name}")
    for _ in range(25):
        code = rng.choice((rng.getrandbits(64), code_of(rng.uniform(-500, 500)), code_of(2.0 ** rng.uniform(-140, 20))))
        explanation = explain(f"f64=0x{code:X}", name, rng.choice(list(MODES)))
        listed = {profile: group for group in explanation.profiles for profile in group.profiles}
        assert set(listed) == set(PROFILES)
        for profile, group in listed.items():
            kernel = casts.convert(F64, fmt, MODES[explanation.rounding], 0, PROFILES[profile])
            found = kernel.scalar(code)
            assert group.code == (None if isinstance(found, Fault) else found)
            assert bool(group.fields) == (group.code != explanation.profiles[0].code)
            for field, choice in (setting.split("=") for setting in group.fields):
                assert getattr(PROFILES[profile], field) == choice


# --- order ------------------------------------------------------------------------------------------------------------
#
# The order of arguments: operands, then types by keyword.

QUANTISED = "!quant.uniform<i8:f32, 0.5:3>"


def test_types_as_eval_takes_them() -> None:
    rows: list[tuple[str, tuple[float, ...], dict[str, Any]]] = [
        ("arith.addf", (1.375, 2.25), {"type": "f8E4M3FN"}),
        ("arith.truncf", (465.0,), {"type": "f32", "to": "f8E4M3FN"}),
        ("arith.fptosi", (3.7,), {"type": "f16", "to": "i8"}),
        ("arith.trunci", (300,), {"type": "i16", "to": "i8"}),
        ("arith.cmpi", (1, 2), {"type": "i8", "predicate": "slt"}),
    ]
    for op, operands, how in rows:
        assert hu.explain_op(op, *operands, **how).result == int(hu.eval(op, *operands, **how).bits)
    assert isinstance(hu.explain_op("arith.addf", "f16=1", "f16=2").type, ty.FloatType)


@each_row(
    (("arith.addf", 1, 2), {}, "type of its operands"),
    (("arith.truncf", 1), {"type": "f16"}, "type of its result"),
    (("arith.addf", 1, 2), {"to": "f16"}, "is not a cast"),
    (("arith.addf", "f16", 1, 2), {"type": "f16"}, "takes 2 operands, but 3"),
    (("arith.addf", "f16", 1, 2), {}, "'f16' is a type, not an operand of arith.addf"),
    (("arith.addf", FORMATS["f16"], 1, 2), {}, "'f16' is a type, not an operand of arith.addf"),
    (("arith.addf", as_type(QUANTISED), 1, 2), {}, "is a type, not an operand"),
    (("quant.qcast", 1), {}, "quantised type"),
)
def test_wrong_types(arguments: tuple[Any, ...], how: dict[str, Any], words: str) -> None:
    with pytest.raises(hu.errors.InputError, match=words):
        hu.explain_op(*arguments, **how)


def test_a_word_that_does_not_name_a_type() -> None:
    for word, hint in (("fp8", "f8E4M3FN"), ("f33", "unknown type"), ("e4m3", "may mean several types")):
        with pytest.raises(hu.errors.ParseError, match=hint):
            hu.explain_op("arith.addf", word, 1, 2)
    number = hu.convert(1, "f16")
    for word in ("nan", "inf", "-inf"):
        assert hu.explain_op("arith.addf", word, number).type == number.type


def test_explain_has_the_words_of_convert() -> None:
    expected = str(hu.explain(0.3, "f8E4M3FN"))
    assert str(hu.explain(0.3, to="f8E4M3FN")) == expected
    with pytest.raises(hu.errors.InputError, match="type=… names the type of the value") as caught:
        hu.explain(0.3, type="f8E4M3FN")
    assert caught.value.hint == "name the type to round to: to=…"
    typed = hu.explain(0.3, to="f8E4M3FN", type="bf16")
    assert typed.exact == hu.explain(0.3, to="bf16").result.value
    assert hu.explain("0.3", to="f8E4M3FN", type="bf16").exact == typed.exact
