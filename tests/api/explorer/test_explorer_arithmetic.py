"""Arithmetic, stochastic rounding, hexadecimal floats, steps and conversions of the explore page, in headless Chromium,
against the specification.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from amounts import amounts
from explorer_page import around, ask, places
from float_samples import interesting, one_code

import halfulp as hu
from halfulp.explorer.decisions import OPERATIONS
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import hex_text, number_text
from halfulp.number_reader import MODES
from halfulp.texts import flags_text

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.chromium

EVERY = pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)

# The results of all modes, and of stochastic rounding with some random bits, for pairs of codes, in one string each.
COMBINED = """(name, [operation, pairs, draws]) => pairs.map(([a, b]) => {
  const format = FORMATS.get(name);
  const [x, y] = [a, b].map((code) => {
    const bits = BigInt(code);
    return { given: null, code: bits, rule: "" };
  });
  const made = combined(format, operation, x, y);
  const results = rounded(format, made);
  for (const [value, width] of draws) results.push(stochastic(format, made, { value: BigInt(value), width }).result);
  return results.map(({ code, flags }) => `${code === null ? "poison" : code.toString(16)} ${flags}`).join(", ");
})"""


def spelled(result: scalar.Result) -> str:
    return f"{'poison' if result.poison else format(result.code, 'x')} {result.flags}"


def specified(fmt: FloatFormat, operation: str, a: int, b: int, draws: list[tuple[int, int]]) -> str:
    compute = OPERATIONS[operation].compute
    results = [compute(fmt, a, b, mode) for mode in MODES.values()]
    results += [compute(fmt, a, b, Rounding.STOCHASTIC, random=draw) for draw in draws]
    return ", ".join(map(spelled, results))


def check_pairs(view: Page, fmt: FloatFormat, operation: str, pairs: list[tuple[int, int]]) -> None:
    draws = [(0, 8), (127, 8), (random.Random(fmt.name).getrandbits(64), 64)]
    texts = [[hex(a), hex(b)] for a, b in pairs]
    wrong = [
        (f"{a:x}", f"{b:x}", got, expected)
        for (a, b), got in zip(
            pairs, ask(view, COMBINED, fmt, [operation, texts, [[str(v), w] for v, w in draws]]), strict=True
        )
        if got != (expected := specified(fmt, operation, a, b, draws))
    ]
    assert wrong == [], (operation, len(wrong), wrong[:5])


def sampled_pairs(fmt: FloatFormat, count: int) -> list[tuple[int, int]]:
    """Return every pair of special codes, and random ones: near each other, since sums of far ones are dull."""
    draw = random.Random(f"pairs {fmt.name}")
    special = interesting(fmt)
    some = special if len(special) <= 24 else draw.sample(special, 24)
    near = [
        (code, (code + draw.randrange(-300, 300)) & fmt.code_mask)
        for code in (one_code(fmt, draw) for _ in range(count))
    ]
    flipped = [(a, b ^ (fmt.sign_mask or 0)) for a, b in near]
    return [
        *itertools.product(some, some),
        *near,
        *flipped,
        *((one_code(fmt, draw), one_code(fmt, draw)) for _ in range(count)),
    ]


@pytest.mark.parametrize("operation", OPERATIONS)
@EVERY
def test_arithmetic_is_that_of_the_specification(fmt: FloatFormat, operation: str, shared: Page) -> None:
    if fmt.bits <= 6:
        pairs = list(itertools.product(range(1 << fmt.bits), range(1 << fmt.bits)))
    else:
        pairs = sampled_pairs(fmt, 200 if fmt.bits <= 64 else 60)
    check_pairs(shared, fmt, operation, pairs)


@pytest.mark.exhaustive
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS.values() if fmt.bits == 8], ids=str)
def test_arithmetic_of_all_pairs_of_8_bits(fmt: FloatFormat, operation: str, shared: Page) -> None:
    for first in range(0, 256, 32):
        check_pairs(shared, fmt, operation, list(itertools.product(range(first, first + 32), range(256))))


# --- as halfulp.explain_op explains it --------------------------------------------------------------------------------

ANSWERED = """(name, [operation, mode, pairs]) => pairs.map(([number, other]) => {
  const format = FORMATS.get(name);
  const { result, given: x } = answer(format, { number, operation, other, mode, random: null });
  const code = result.code === null ? null : hexText(format, result.code);
  return [code, flagsText(result.flags), result.rule, x.exact === null ? null : numberText(x.exact)];
})"""


@pytest.mark.parametrize(
    ("operation", "mode"),
    [*((operation, "to_nearest_even") for operation in OPERATIONS), ("addf", "downward"), ("divf", "downward")],
)
@pytest.mark.parametrize("name", ["f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "f32", "f80"])
@pytest.mark.parametrize("step", amounts(11, long=1))  # no divisor of the rows: every number is in each place
def test_rules_are_those_of_explain_op(step: int, name: str, operation: str, mode: str, shared: Page) -> None:
    fmt = FORMATS[name]
    attributes: dict[str, Any] = {"rounding": mode} if mode != "to_nearest_even" else {}
    texts = ["0", "-0", "1", "-1", "0.1", "1.5", "1/3", "-3", "448", "0x1.8p-3", "inf", "-inf", "nan", "0x1"]
    if name == "f80":
        texts.append("0x00010000000000000000")  # an exponent, and no integer bit
    pairs = list(itertools.product(texts, texts))[::step]
    for (x, y), got in zip(pairs, ask(shared, ANSWERED, fmt, [operation, mode, pairs]), strict=True):
        found = hu.explain_op(f"arith.{operation}", x, y, type=name, **attributes)
        code = None if found.result is None else hex_text(fmt, found.result)
        exact = None if found.exact is None else number_text(found.exact)
        assert found.flags is not None
        expected = [code, flags_text(found.flags), found.rule, exact]
        if "infinite divisor leaves" in found.rule:  # the page rounds the dividend, which is exact
            assert got[:2] == expected[:2]
        else:
            assert got == expected, (x, y)


# --- stochastic rounding ----------------------------------------------------------------------------------------------

DRAWN = """(name, numbers) => numbers.map(([sign, n, d, value, width]) => {
  const format = FORMATS.get(name);
  const x = { kind: "finite", sign, exact: { n: sign ? -BigInt(n) : BigInt(n), d: BigInt(d) }, code: null };
  const random = { value: BigInt(value), width };
  const { discarded, result } = stochastic(format, x, random);
  const chance = discarded && String(countBelow(discarded, width));
  return [result.code === null ? "poison" : result.code.toString(16), result.flags, chance];
})"""


@EVERY
def test_draws_are_those_of_the_specification(fmt: FloatFormat, shared: Page) -> None:
    draw = random.Random(f"draws {fmt.name}")
    asked = []
    for magnitude, part, number in around(fmt, places(fmt, 40)):
        width = draw.choice((8, 16, 32, 64))
        near = int(part % 1 * (1 << width)) + draw.choice((-1, 0, 1))
        value = near if draw.random() < 0.7 and 0 <= near < 1 << width else draw.getrandbits(width)
        asked.append((magnitude, part, draw.choice((1, -1)) * number, value, width))
    assert len(asked) > 100
    given = [[int(x < 0), hex(abs(x.numerator)), hex(x.denominator), str(v), w] for _, _, x, v, w in asked]
    for (_, part, x, value, width), (code, flags, chance) in zip(asked, ask(shared, DRAWN, fmt, given), strict=True):
        expected = scalar.from_fraction(fmt, x, Rounding.STOCHASTIC, random=(value, width))
        assert f"{code} {flags}" == spelled(expected), (fmt.name, x, value, width)
        if chance is not None:
            # As many of all draws are away from zero as the page says.
            count = int(chance)
            assert 0 < count <= 1 << width
            assert Fraction(count - 1, 1 << width) < part < 1
            assert part <= Fraction(count, 1 << width)


def test_every_draw_of_8_bits_counts(shared: Page) -> None:
    fmt, number = FORMATS["f8E4M3FN"], Fraction(43, 10)
    ups = sum(
        scalar.from_fraction(fmt, number, Rounding.STOCHASTIC, random=(value, 8)).code == 0x49 for value in range(256)
    )
    (answer,) = ask(shared, DRAWN, fmt, [[0, "43", "10", "0", 8]])
    assert answer[2] == str(ups)
    got = ask(shared, DRAWN, fmt, [[0, hex(43), hex(10), str(value), 8] for value in range(256)])
    x = np.full(256, 4.3)
    ours = hu.convert(x, "f8E4M3FN", rounding="stochastic", random=np.arange(256, dtype=np.uint8)).bits
    assert [int(code, 16) for code, _, _ in got] == ours.tolist()


# --- hexadecimal floats, steps, conversions ---------------------------------------------------------------------------

HEXADECIMAL = """(name, codes) => codes.map((code) => {
  const format = FORMATS.get(name);
  const value = valueOf(format, BigInt(code));
  if (value === null) return null;
  const text = hexFloatOf(format, outcome(format, BigInt(code), 0, ""));
  const back = given(format, text);
  return [text, compare(back.exact, value) === 0 && back.reading === "" && back.code === null, back.sign];
})"""


@EVERY
def test_hexadecimal_floats_are_those_of_c(fmt: FloatFormat, shared: Page) -> None:
    draw = random.Random(f"hex {fmt.name}")
    codes = (
        list(range(1 << fmt.bits)) if fmt.bits <= 8 else interesting(fmt) + [one_code(fmt, draw) for _ in range(200)]
    )
    for code, answer in zip(codes, ask(shared, HEXADECIMAL, fmt, list(map(hex, codes))), strict=True):
        value = scalar.value(fmt, code)
        if value is None:
            assert answer is None
            continue
        text, same, sign = answer
        assert same
        assert sign == scalar.unpack(fmt, code).sign == int(text.startswith("-"))
        if fmt.bits <= 64 and (not value or abs(value) >= Fraction(2) ** -1022):
            assert float.fromhex(text) == value
            mantissa, _, exponent = float(value).hex().partition("p")
            if "." in mantissa:
                mantissa = mantissa.rstrip("0").rstrip(".")
            assert text.removeprefix("-") == f"{mantissa.removeprefix('-')}p{exponent}"


STEPPED = """(name, codes) => codes.map((code) => [-1, 1].map((direction) => {
  const format = FORMATS.get(name);
  const next = stepped(format, given(format, code), direction);
  return next === null ? null : next.toString(16);
}))"""


@EVERY
def test_steps_are_next_down_and_next_up(fmt: FloatFormat, shared: Page) -> None:
    draw = random.Random(f"steps {fmt.name}")
    codes = (
        list(range(1 << fmt.bits)) if fmt.bits <= 8 else interesting(fmt) + [one_code(fmt, draw) for _ in range(200)]
    )
    for code, answer in zip(codes, ask(shared, STEPPED, fmt, [hex(code) for code in codes]), strict=True):
        limbs = [code >> 64 * i & (1 << 64) - 1 for i in range(fmt.limbs)]
        bits = value_of_code(fmt, code, limbs)
        for step, got in zip((hu.next_down, hu.next_up), answer, strict=True):
            found = step(bits)
            stepped = int.from_bytes(found.bits.tobytes(), "little")
            if found.poison is not None or fmt.is_nan(stepped) or stepped == code:  # there is no next value
                assert got is None, (hex(code), got)
            else:
                assert got == f"{stepped:x}", hex(code)


def value_of_code(fmt: FloatFormat, code: int, limbs: list[int]) -> hu.Value:
    raw = np.array(limbs, np.uint64) if fmt.limbs > 1 else np.array(code, fmt.storage_dtype)
    return hu.Value.from_bits(raw, fmt.name)


CARRIED = """(name, [to, codes]) => codes.map((code) => {
  const [source, format] = [FORMATS.get(name), FORMATS.get(to)];
  const results = rounded(format, transferred(format, given(source, code), source));
  return results.map(({ code, flags }) => `${code === null ? "poison" : code.toString(16)} ${flags}`).join(", ");
})"""


@pytest.mark.parametrize("to", FORMATS.values(), ids=str)
def test_bits_beside_another_format_are_converted(to: FloatFormat, shared: Page) -> None:
    for fmt in FORMATS.values():
        if fmt == to:
            continue
        draw = random.Random(f"{fmt.name} {to.name}")
        codes = (
            list(range(1 << fmt.bits)) if fmt.bits <= 6 else interesting(fmt) + [one_code(fmt, draw) for _ in range(20)]
        )
        got: Any = ask(shared, CARRIED, fmt, [to.name, [hex(code) for code in codes]])
        for code, answer in zip(codes, got, strict=True):
            expected = [scalar.convert(fmt, to, code, mode) for mode in MODES.values()]
            assert answer == ", ".join(map(spelled, expected)), (fmt.name, to.name, hex(code))
