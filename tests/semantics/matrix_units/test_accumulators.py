"""Accumulators of one's own: the array path equals the specification, and the specification what the words say."""

import math
import random
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from present import present
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import as_rounding
from halfulp.semantics.matrix_units import models
from halfulp.semantics.matrix_units.accumulator import Accumulator, shape_of
from halfulp.semantics.matrix_units.chips import CHIPS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import accumulate

MODES = ("to_nearest_even", "toward_zero", "downward", "upward", "to_nearest_away")


def operation(a: str, b: str, d: str, k: int, scale: str = "", block: int = 0) -> TileOp:
    return TileOp("by hand", a, b, d, d, (4, 4, k), 1, "mma", scale, block)


def random_rule(dice: random.Random, fraction: int) -> Accumulator:
    """Return any rule of floats that the class accepts."""
    while True:
        given: dict[str, Any] = {}
        for each in fields(Accumulator):
            if each.name in ("width", "specials", "dot") or dice.random() < 0.4:
                continue
            choices = each.metadata["choices"]
            numbers = {
                "group": (0, 1, 2, 3, 5), "order": (0, 1, 2, 3), "bits": (None, 0, 3, 8, 12, 24, 30), "guard": (0, 1, 7),
                "shifter": (None, 0, 5, 11), "c_shifter": (None, 3, 9), "zero_exponent": (None, -126, -14, 0),
                "fraction": (None, 1, fraction - 1, fraction), "lsb": (None,), "msb": (None,),
            }.get(each.name, (False, True))  # fmt: skip
            given[each.name] = dice.choice(choices or numbers)
        try:
            return Accumulator(**given)
        except ValueError:
            continue


def codes(dice: np.random.Generator, name: str, shape: tuple[int, ...], special: bool) -> Any:
    """Return random codes, many of them of a few neighbouring binades, some special ones, zeros and subnormals."""
    fmt = FORMATS[name]
    made = dice.integers(0, 1 << fmt.bits, shape, np.uint64)
    one = scalar.from_fraction(fmt, Fraction(1)).code if fmt.zero else 127
    near = (one + dice.integers(-(3 << fmt.mantissa_bits), 3 << fmt.mantissa_bits, shape)).astype(np.uint64)
    sign = dice.integers(0, 2, shape).astype(np.uint64) * np.uint64(fmt.sign_mask or 0)
    made = np.where(dice.random(shape) < 0.7, near & np.uint64((fmt.sign_mask or 1 << fmt.bits) - 1) | sign, made)
    made = np.where(dice.random(shape) < 0.1, sign, made)
    if not special:
        finite = [scalar.value(fmt, int(code)) is not None for code in made.reshape(-1)]
        made = np.where(np.reshape(finite, shape), made, 0)
    return made.astype(fmt.storage_dtype)


def compare(rule: Accumulator, op: TileOp, operands: list[Any]) -> None:
    """Compare tiles with the specification, element by element."""
    try:
        rule.check((op.a, op.b), op.d, op.scale)
    except ValueError:
        return
    got = models.multiply_accumulate(rule.text, op, *operands)
    a, b, c, *scales = operands
    for tile, m, n in np.ndindex(c.shape):
        factors = (scales[0][tile, m].tolist(), scales[1][tile, :, n].tolist()) if scales else None
        want = accumulate(rule, op, a[tile, m].tolist(), b[tile, :, n].tolist(), int(c[tile, m, n]), factors)
        assert got[tile, m, n] == want, (rule.text, tile, m, n, hex(got[tile, m, n]), hex(want))


TYPES = (
    ("f16", "f16", "f32", 6), ("f8E4M3FN", "f8E5M2", "f16", 5), ("bf16", "bf16", "bf16", 4),
    ("f8E4M3FNUZ", "f4E2M1FN", "f8E5M2", 7), ("f4E2M1FN", "f6E2M3FN", "f8E4M3", 3), ("f32", "f32", "f32", 4),
    ("f16", "f16", "f64", 3), ("f32", "f32", "f64", 2), ("f64", "f64", "f64", 2), ("tf32", "tf32", "f32", 4),
)  # fmt: skip


@pytest.mark.parametrize(("a", "b", "d", "k"), TYPES)
@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_arrays_equal_the_specification(a: str, b: str, d: str, k: int, count: int) -> None:
    dice, numbers = random.Random(f"{a} {b} {d} {count}"), np.random.default_rng(count + k)
    for _ in range(count):
        rule, op = random_rule(dice, FORMATS[d].mantissa_bits), operation(a, b, d, k)
        special, whole = dice.random() < 0.3, k * dice.choice((1, 2))
        shapes = ((a, (2, 3, whole)), (b, (2, whole, 2)), (d, (2, 3, 2)))
        compare(rule, op, [codes(numbers, name, shape, special) for name, shape in shapes])


@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("element", "scale", "block"), [("f8E4M3FN", "f8E8M0FNU", 4), ("f4E2M1FN", "f8E4M3FN", 2)])
def test_scaled_arrays_equal_the_specification(element: str, scale: str, block: int, count: int) -> None:
    dice, numbers = random.Random(f"{element} {scale} {count}"), np.random.default_rng(count)
    for _ in range(count):
        rule, op = random_rule(dice, 23), operation(element, element, "f32", 8, scale, block)
        if element == "f4E2M1FN" and dice.random() < 0.5:
            rule = replace(
                rule, dot=block, steps="own", zero="positive", product_overflow=False, products="exact", group=4
            )
        special = dice.random() < 0.3
        shapes = (
            (element, (1, 3, 8)), (element, (1, 8, 2)), ("f32", (1, 3, 2)), (scale, (1, 3, 8 // block)),
            (scale, (1, 8 // block, 2)),
        )  # fmt: skip
        compare(rule, op, [codes(numbers, name, shape, special) for name, shape in shapes])


@pytest.mark.long
def test_every_pair_of_small_floats() -> None:
    """All pairs of factors of four bits by every cut and rounding, beside a few C."""
    op = operation("f4E2M1FN", "f4E2M1FN", "f8E4M3", 1)
    a, b = np.arange(16, dtype=np.uint8)[None, :, None], np.arange(16, dtype=np.uint8)[None, None, :]
    for number, cut in enumerate((*MODES, "to_odd")):
        rule = Accumulator(
            bits=2, cut=cut, cut_sums=cut, rounding=MODES[number % 5], c="last" if number % 2 else "with"
        )
        for c in (0x31, 0x3A, 0xB4):
            compare(rule, op, [a, b, np.full((1, 16, 16), c, np.uint8)])


@pytest.mark.parametrize("chip", CHIPS)
def test_the_specification_of_chips(chip: str) -> None:
    """The rules of chips are rows of the same class: their tiles, too, are those of the specification."""
    numbers = np.random.default_rng(7)
    for row in CHIPS[chip]:
        if row.results[0].startswith("i"):
            continue
        (a, b), (c, d) = row.types[-1].split(","), row.results[0].split(",")
        m, n, k, *_ = row.shapes[0].replace("*", "8").replace("B", "").split("x")
        scale, _, block = row.scales[0].partition(",")
        op = TileOp("chip", a, b, c, d, (int(m), int(n), int(k)), 1, row.unit, scale, int(block or 0))
        shapes = [(a, (1, 2, int(k))), (b, (1, int(k), 2)), (c, (1, 2, 2))]
        if scale:
            shapes += [(scale, (1, 2, int(k) // op.block)), (scale, (1, int(k) // op.block, 2))]
        compare(row.rule, op, [codes(numbers, name, shape, row.rule.specials == "all") for name, shape in shapes])


# Integers.


@pytest.mark.parametrize(
    ("d", "width"), [("i32", None), ("i32", 18), ("i16", 9), ("i20", 20), ("i64", 40), ("i64", 64)]
)
def test_integers_equal_the_specification(d: str, width: int | None) -> None:
    dice, numbers = random.Random(f"{d} {width}"), np.random.default_rng(5)
    for _ in range(40):
        place = dice.choice(("with", "last"))
        trees = ("flat", "neighbours", "halves", "sequential", *(("even_odd",) if place == "last" else ()))
        overflow, group = dice.choice(("default", "saturate")), dice.choice((0, 1, 3))
        rule = Accumulator(width=width, overflow=overflow, group=group, c=place, tree=dice.choice(trees))
        op = operation("i8", "i8", d, 5)
        c = numbers.integers(0, (1 << int(d[1:])) - 1, (2, 3, 2), np.uint64, endpoint=True)
        holder = {"i16": np.uint16, "i64": np.uint64}.get(d, np.uint32)
        operands = [
            numbers.integers(0, 256, (2, 3, 10), np.uint8), numbers.integers(0, 256, (2, 10, 2), np.uint8), c.astype(holder),
        ]  # fmt: skip
        compare(rule, op, operands)


def test_a_saturating_accumulator() -> None:
    """127 * 127 * 3 = 48387 is above 32767: clamped at the end, or clamped before -127 * 127 is added."""
    op = operation("i8", "i8", "i32", 4)
    a = np.array([[127, 127, 127, 129]], np.uint8)  # the last is -127
    b, c = np.full((4, 1), 127, np.uint8), np.zeros((1, 1), np.uint32)

    def total(text: str) -> int:
        return int(models.multiply_accumulate(text, op, a, b, c).astype(np.int32)[0, 0])

    assert total("exact") == 2 * 127 * 127
    assert total("custom:width=16,overflow=saturate") == 2 * 127 * 127  # all at once: 32258 is in range
    assert total("custom:width=16,overflow=saturate,tree=sequential") == 32767 - 127 * 127
    assert total("custom:width=15,overflow=saturate") == 16383
    assert total("custom:width=15") == 2 * 127 * 127 - (1 << 15)


# By hand.


def dot(text: str, pairs: list[tuple[float, float]], c: float = 0.0, d: str = "f32", a: str = "f16") -> float:
    op = operation(a, a, d, len(pairs))
    fmt = FORMATS[d]
    row, column = (
        np.array(
            [scalar.from_fraction(FORMATS[a], Fraction(pair[side])).code for pair in pairs], FORMATS[a].storage_dtype
        )
        for side in (0, 1)
    )
    code, _ = models.explain(text, op, row, column, scalar.from_fraction(fmt, Fraction(c)).code)
    value = present(scalar.value(fmt, code))
    return float(value)


def test_a_subnormal_factor_is_normal_in_the_type_of_steps() -> None:
    """2^-9 * 1 beside 2^-6 / 4 * 1 = 2^-8: an f8E4M3FN subnormal has the exponent -6, so 2 bits cut both off; in f16 it
    has its own, so that the largest is -8, and both stay."""
    pairs = [(2.0**-9, 1.0), (2.0**-8, 1.0)]
    assert dot("custom:bits=1", pairs, a="f8E4M3FN") == 0
    assert dot("custom:bits=1,steps=f16", pairs, a="f8E4M3FN") == 2.0**-9 + 2.0**-8


@pytest.mark.parametrize(
    ("text", "pairs", "c", "want"),
    [
        # E = 4 (of 16), a unit is 2**(4 - 4) = 1: each 0.75 is cut off, or rounded to 1, or sticks as 1.
        ("custom:bits=4", [(4, 4), (0.75, 1), (0.75, 1)], 0, 16),
        ("custom:bits=4,cut=to_nearest_even", [(4, 4), (0.75, 1), (0.75, 1)], 0, 18),
        ("custom:bits=4,cut=to_odd", [(4, 4), (0.25, 1), (2.25, 1)], 0, 16 + 1 + 3),
        ("custom:bits=4,cut=downward", [(4, 4), (-0.25, 1)], 0, 15),
        # The running sum: 0.75 + 0.75 is 1.5 with E = 0 and a unit of 2**-4, of which 16 then keeps 1.
        ("custom:bits=4,tree=sequential", [(0.75, 1), (0.75, 1), (4, 4)], 0, 17),
        ("custom:bits=4,tree=flat", [(0.75, 1), (0.75, 1), (4, 4)], 0, 16),
        # The register keeps its exponent: after 16 - 16 it is still 4, so that 0.75 is cut off.
        ("custom:bits=4,tree=sequential", [(4, 4), (-4, 4), (0.75, 1)], 0, 0),
        # A rounded partial sum is normalised: 0 has no exponent, and 0.75 stays.
        ("custom:bits=4,tree=sequential,partial=to_nearest_even", [(4, 4), (-4, 4), (0.75, 1)], 0, 0.75),
        # A shifter of 3 places: 1 is 4 binades below 16, and counts as 0.
        ("custom:bits=8,shifter=3", [(4, 4), (1, 1), (2, 1)], 0, 18),
        ("custom:bits=8,c_shifter=3", [(4, 4), (1, 1)], 1, 17),
        # Two halves: (16 + 0.75) and (16 + 0.75), or neighbours: (16 + 16) and (0.75 + 0.75), with units of 1.
        ("custom:bits=4,tree=halves,c=last", [(4, 4), (4, 4), (0.75, 1), (0.75, 1)], 0, 32),
        ("custom:bits=4,tree=neighbours,c=last", [(4, 4), (4, 4), (0.75, 1), (0.75, 1)], 0, 33),
        # Two groups: the second begins with the first one's sum of 0.
        ("custom:bits=4,group=2", [(4, 4), (-4, 4), (0.75, 1), (0, 0)], 0, 0.75),
        # Two groups, of k = 0 and 2, and of k = 1 and 3: 16 is not there when 0.75 is added, or is.
        ("custom:bits=4,group=2,order=1", [(4, 4), (0.75, 1), (-4, 4), (0.75, 1)], 0, 1.5),
        ("custom:bits=4,group=2", [(4, 4), (0.75, 1), (-4, 4), (0.75, 1)], 0, 0),
        ("custom:bits=4,group=2,order=2", [(4, 4), (0.75, 1), (-4, 4), (0.75, 1)], 0, 0),
        # C comes after all groups, and is not cut off: 16 + 16 + 0.75, where alignment would keep 32.
        ("custom:bits=4,group=1,c=end", [(4, 4), (4, 4)], 0.75, 32.75),
        ("custom:bits=4,group=1,c=last", [(4, 4), (4, 4)], 0.75, 32),
        # Three fraction bits of a sum: 17 is between 16 and 18, a tie.
        ("custom:bits=20,fraction=3", [(4, 4), (1, 1)], 0, 16),
        ("custom:bits=20,fraction=3,rounding=upward", [(4, 4), (1, 1)], 0, 18),
        # All exact, rounded once: 2**24 + 1 + 1.
        ("custom:", [(4096, 4096), (1, 1), (1, 1)], 0, 2**24 + 2),
        ("custom:tree=sequential,partial=to_nearest_even,nan=payload", [(4096, 4096), (1, 1), (1, 1)], 0, 2**24),
        ("custom:overflow=saturate,bits=24", [(65504, 65504)] * 4, 3.4028234663852886e38, 3.4028234663852886e38),
    ],
)
def test_by_hand(text: str, pairs: list[tuple[float, float]], c: float, want: float) -> None:
    assert dot(text, pairs, c) == want


def test_shapes() -> None:
    assert shape_of("sequential", 4) == [(0, 1), (4, 2), (5, 3)]
    assert shape_of("neighbours", 5) == [(0, 1), (2, 3), (5, 6), (7, 4)]
    assert shape_of("halves", 5) == [(0, 2), (1, 3), (5, 6), (7, 4)]
    assert shape_of("halves", 1) == []


# Text.


def test_the_text_form() -> None:
    rule = Accumulator(group=8, bits=25, rounding="toward_zero", flush=True, zero_exponent=-126)
    assert rule.text == str(rule) == "custom:group=8,bits=25,zero_exponent=-126,rounding=toward_zero,flush=true"
    assert Accumulator.from_text("custom: bits = 25, group=8,rounding=RZ,zero_exponent=-126,flush=true") == rule
    assert Accumulator.from_text("custom:bits=none") == Accumulator()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("custom:bit=25", "an accumulator has no field 'bit' (did you mean `bits`?)"),
        ("custom:bits", "bits has no value; it must be an integer from 0 to 4096, or none"),
        ("custom:bits=ten", "bits is 'ten', but must be an integer from 0 to 4096, or none"),
        ("custom:bits=-1", "bits is -1, but must be an integer from 0 to 4096"),
        ("custom:bits=99999", "bits is 99999, but must be an integer from 0 to 4096"),
        ("custom:bits=1,bits=2", "bits is given twice"),
        ("custom:flush=maybe", "flush is 'maybe', but must be true or false"),
        ("custom:tree=binary", "tree is 'binary', but must be one of flat, even_odd"),
        ("custom:rounding=half_up", "'half_up' is not clear"),
        ("custom:partial=keep", "partial is 'keep', but must be one of kept, to_nearest_even"),
        ("custom:cut=sideways", "cut is 'sideways', but must be one of to_nearest_even"),
        ("custom:bits=4,rounding=stochastic", "accumulator: rounding is 'stochastic', but must be one of"),
        ("custom:guard=3", "guard needs c=last and bits"),
        ("custom:products=rounded", "products=rounded needs partial"),
        ("custom:tree=even_odd,bits=4", "tree=even_odd needs c=last"),
        ("custom:nan=payload,bits=4", "nan=payload needs a rule of IEEE operations"),
        ("custom:order=2", "order needs group"),
        ("custom:steps=i8", "steps is 'i8', but must be one of own, f16"),
        ("custom:shifter=4", "can be used only with bits"),
    ],
)
def test_texts_that_are_none(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".*") as caught:
        Accumulator.from_text(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "a", "d", "message"),
    [
        ("custom:bits=4", "i8", "i32", "bits is for floats, but i32 is an integer"),
        ("custom:width=40", "i8", "i32", "width=40 does not fit into i32"),
        ("custom:overflow=infinity", "i8", "i32", "i32 has no infinity"),
        ("custom:width=24", "f16", "f32", "width is for integers, but f32 is a float"),
        ("custom:c=end", "i8", "i32", "c=end is for floats, but i32 is an integer"),
        ("custom:steps=f16", "bf16", "f32", "steps=f16 does not have all values of bf16"),
        ("custom:bits=4", "f4E2M1FN", "f8E4M3FN", "sums in f8E4M3FN are not defined"),
        ("custom:bits=4,fraction=24", "f16", "f32", "f32 has 1 to 23 fraction bits, not fraction=24"),
        ("custom:bits=4,dot=2", "f16", "f32", "dot can be used only for f4E2M1FN with scales"),
    ],
)
def test_types_that_do_not_go_with_a_rule(text: str, a: str, d: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.rule_of(text, operation(a, a, d, 4))


@each_row(("f16", "f32"), ("f64", "bf16"))
def test_scaled_products_of_more_than_62_bits_are_refused(element: str, scale: str) -> None:
    op = replace(operation(element, element, "f32", 4), scale=scale, block=2)
    a, b, c = (np.zeros(shape, np.uint64) for shape in ((1, 1, 4), (1, 4, 1), (1, 1, 1)))
    for model in ("exact", "custom:bits=24"):
        with pytest.raises(
            ValueError, match=f"products of {element}, {element} and two scales of type {scale} have too many"
        ):
            models.multiply_accumulate(model, op, a, b, c, a[..., :2], b[:, :2])


def test_sums_beside_infinities_keep_all_bits() -> None:
    """Codes of f64 must not become floats on the way: 2**53 + 1 has a significand of 54 bits, and 2**53 - 1 of 53."""
    op = operation("f32", "f32", "f64", 1)
    one, infinity = 0x3F800000, 0x7F800000
    a, b = np.array([[[one], [infinity]]], np.uint32), np.array([[[one]]], np.uint32)
    c = np.array([[[0x433FFFFFFFFFFFFE], [0]]], np.uint64)  # 2**53 - 2
    for text in ("custom:", "custom:bits=53", "custom:bits=200"):
        assert models.multiply_accumulate(text, op, a, b, c).tolist() == [[[0x433FFFFFFFFFFFFF], [0x7FF0000000000000]]]


def test_products_of_f64_beyond_the_range() -> None:
    """5.1e278 * -1.2e127 is infinite at once; -0.2 * -1.2 and 3 are not. 106 bits of a product do not fit 64."""
    op, rule = operation("f64", "f64", "f64", 2), Accumulator(product_overflow=True, overflow="infinity", c="last")
    a = np.array([[[-0.2, 5.1e278], [-0.2, -0.4]]]).view(np.uint64)
    b = np.array([[[-1.2], [-1.2e127]]]).view(np.uint64)
    c = np.array([[[1.0], [3.0]]]).view(np.uint64)
    found = models.multiply_accumulate(rule.text, op, a, b, c).view(np.float64)
    assert found[0, 0, 0] == -np.inf
    exact = Fraction(-0.2) * Fraction(-1.2) + Fraction(-0.4) * Fraction(-1.2e127) + 3
    assert found[0, 1, 0] == float(exact)


def test_other_names_of_modes() -> None:
    for name in ("RZ", "trunc", "toward_zero"):
        made = Accumulator(rounding=name, partial=name)
        assert (made.rounding, made.partial) == ("toward_zero", "toward_zero")
        assert made == Accumulator.from_text(f"custom:rounding={name},partial={name}")
    assert Accumulator(partial="kept").partial == "kept"


# --- registers in fixed point -----------------------------------------------------------------------------------------

CUTS: dict[str, Callable[[Fraction], int]] = {
    "toward_zero": int, "downward": math.floor, "upward": math.ceil, "to_nearest_even": round,
}  # fmt: skip
"""Roundings to integers by Python's own functions."""


def register_by_hand(rule: Accumulator, d: str, products: list[Fraction], c: Fraction) -> int:
    """Add in a register on Python's integers, and round the register to D."""
    lsb, cut = present(rule.lsb), CUTS[rule.cut]

    def held(number: int) -> int:
        if rule.msb is None:
            return number
        bits = rule.msb - lsb + 1
        lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if rule.register_overflow == "saturate":
            return lowest if number < lowest else highest if number > highest else number
        low = number & (1 << bits) - 1
        return low - (1 << bits) if low > highest else low

    register = held(cut(c / Fraction(2) ** lsb))
    group = rule.group or len(products)
    for start in range(0, len(products), group):
        register = held(register + sum(cut(each / Fraction(2) ** lsb) for each in products[start : start + group]))
    exact = register * Fraction(2) ** lsb
    code: int = scalar.from_fraction(FORMATS[d], exact, as_rounding(rule.rounding)).code
    return code if exact else 0


def random_register(dice: random.Random) -> Accumulator:
    lsb = dice.choice((-170, -40, -24, -12, -3, 0, 6))
    msb = dice.choice((None, lsb + 1, lsb + 7, lsb + 31, lsb + 32, lsb + 40, lsb + 64, lsb + 130))
    overflow = "wrap" if msb is None else dice.choice(("wrap", "saturate"))
    return Accumulator(
        lsb=lsb, msb=msb, register_overflow=overflow, cut=dice.choice([*CUTS]), group=dice.choice((0, 1, 3)),
        rounding=dice.choice(("to_nearest_even", "toward_zero", "downward")),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "d"), [("f8E4M3FN", "f8E5M2", "f32"), ("f16", "bf16", "f32"), ("f64", "f32", "f64")]
)
@pytest.mark.parametrize("count", [12, pytest.param(500, marks=pytest.mark.long)])
def test_registers_add_as_integers_do(a: str, b: str, d: str, count: int) -> None:
    dice, numbers = random.Random(f"{a} {d} {count}"), np.random.default_rng(count)
    op = replace(operation(a, b, d, 4), shape=(1, 2, 4))
    for _ in range(count):
        rule = random_register(dice)
        x, y, z = (codes(numbers, n, s, False) for n, s in ((a, (2, 1, 4)), (b, (2, 4, 2)), (d, (2, 1, 2))))
        got = models.multiply_accumulate(rule.text, op, x, y, z)
        for tile, n in np.ndindex(2, 2):
            row, column = (
                [present(scalar.value(FORMATS[t], int(k))) for k in of]
                for t, of in ((a, x[tile, 0]), (b, y[tile, :, n]))
            )
            products = [left * right for left, right in zip(row, column, strict=True)]
            want = register_by_hand(rule, d, products, present(scalar.value(FORMATS[d], int(z[tile, 0, n]))))
            assert got[tile, 0, n] == want, (rule.text, tile, n, hex(got[tile, 0, n]), hex(want))


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize(("element", "scale", "block"), [("f8E4M3FN", "f8E8M0FNU", 4), ("f16", "", 0)])
def test_arrays_of_registers_equal_the_specification(element: str, scale: str, block: int, count: int) -> None:
    """With special operands, scales, orders, steps, C at the end, and flushing."""
    dice, numbers = random.Random(f"{element} {count}"), np.random.default_rng(count)
    for _ in range(count):
        rule = replace(random_register(dice), c=dice.choice(("with", "end")), flush=dice.random() < 0.3)
        rule = replace(rule, nan=dice.choice(("default", "ones")), zero=dice.choice(("ieee", "sum", "positive")))
        if not scale and rule.group:
            rule = replace(rule, order=dice.choice((0, 2)), steps=dice.choice(("own", "f32")))
        shapes = [(element, (1, 1, 8)), (element, (1, 8, 2)), ("f32", (1, 1, 2))]
        shapes += [(scale, (1, 1, 8 // block)), (scale, (1, 8 // block, 2))] if scale else []
        op = replace(operation(element, element, "f32", dice.choice((4, 8)), scale, block), shape=(1, 2, 8))
        compare(rule, op, [codes(numbers, name, shape, dice.random() < 0.3) for name, shape in shapes])


def test_a_kulisch_register_is_exact() -> None:
    """Of f8E4M3FN, products lie between 2**-18 and 2**18: a register of all places gives the exact sum, rounded once."""
    numbers = np.random.default_rng(5)
    op = operation("f8E4M3FN", "f8E4M3FN", "f32", 32)
    x, y = (codes(numbers, "f8E4M3FN", shape, False) for shape in ((3, 4, 32), (3, 32, 4)))
    c = np.zeros((3, 4, 4), np.uint32)
    exact = models.multiply_accumulate("exact", op, x, y, c)
    assert np.array_equal(models.multiply_accumulate("custom:lsb=-18,msb=23", op, x, y, c), exact)


def test_a_zero_beside_a_large_number_does_not_move_the_grid() -> None:
    """2**-16 stays, whatever the other products are: a register has an absolute last place."""
    for first in (0.0, 2.0**-8):
        a, b = hu.convert([first, 2.0**-7], "f8E4M3FN"), hu.convert([256.0, 2.0**-9], "f8E4M3FN")
        assert float(hu.dot(a, b, acc="f32", mma="custom:lsb=-16,msb=23")) == first * 256 + 2.0**-16


def test_a_register_wraps_unless_it_saturates() -> None:
    """4 + 9 = 13 and 13 + 1 = 14 in 4 bits of two's complement: -3 and -2, or 7 twice."""
    x = hu.convert([2.0, 3.0, -1.0], "f16")
    unit = hu.Accumulator(lsb=0, msb=3, group=1)
    assert float(hu.dot(x, x, acc="f32", mma=unit)) == -2
    assert float(hu.dot(x, x, acc="f32", mma=replace(unit, register_overflow="saturate"))) == 7
    # As one group, the sum is held once: 14.
    assert float(hu.dot(x, x, acc="f32", mma=replace(unit, group=0))) == -2
    # -4 is held in 3 bits; 9 more is 5, and becomes 3; -1 more is 2.
    y = hu.convert([-2.0, 3.0, 1.0], "f16")
    assert float(hu.dot(y, x, acc="f32", mma="custom:lsb=0,msb=2,register_overflow=saturate,group=1")) == 2


@each_row(
    ({"msb": 4}, "msb needs lsb"),
    ({"lsb": 4, "msb": 4}, "msb must be above lsb"),
    ({"lsb": 0, "register_overflow": "saturate"}, "register_overflow needs msb"),
    ({"lsb": 0, "bits": 4}, "it cannot be used with bits"),
    ({"lsb": 0, "c": "last"}, "needs tree=flat, c=with or c=end"),
    ({"lsb": 0, "tree": "halves"}, "needs tree=flat"),
    ({"lsb": 5000}, "lsb is 5000, but must be an integer from -4096 to 4096, or none"),
    ({"dot": 2, "steps": "tf32"}, "dot, which adds products of f4E2M1FN, needs steps=own"),
    ({"register_overflow": "clamp"}, "must be one of wrap, saturate"),
)
def test_registers_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Accumulator(**given)
    with pytest.raises(ValueError, match="lsb is for floats, but i32 is an integer"):
        Accumulator(lsb=0).check(("i8", "i8"), "i32")
