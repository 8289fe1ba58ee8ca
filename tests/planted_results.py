"""More mistakes of designers, in addition to those of `planted_datapaths`: in signs, ties, carries, subnormal results and scales."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from planted_datapaths import (
    E3M7,
    E4M3,
    E5M2,
    F16,
    F32,
    MODES,
    WIDER,
    Fmt,
    Mistake,
    O,
    Unit,
    outputs_of,
    planted,
    right_rows,
    some,
)
from planted_devices import Dice, pick

from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.semantics.profile import as_profile


@dataclass
class Other(Unit):
    """A unit with other mistakes."""

    def up(self, mode: str, s: int, odd: int, guard: int, sticky: bool) -> bool:  # type: ignore[override]
        wrong = self.wrong
        if "ties" in wrong and guard and not sticky:
            return {"toward zero": False, "to odd": not odd, "upward": not s, "downward": bool(s)}[str(wrong["ties"])]
        return Unit.up(mode, s, odd, guard, sticky)

    def pack(self, s: int, n: int, e: int, dst: Fmt | None = None, mode: str | None = None) -> tuple[int, int]:
        fmt = dst or self.dst
        if s and mode is None:
            mode = self.wrong.get("negative_mode")
        lead = n.bit_length() - 1 + e
        if lead < fmt.emin and "subnormal_power" in self.wrong:
            e += self.wrong["subnormal_power"]
        code, flags = super().pack(s, n, e, dst, mode)
        if lead < fmt.emin and "smallest_normal" in self.wrong:
            return s << fmt.bits - 1 | 1 << fmt.m, flags
        if lead <= fmt.emin + 2 * fmt.bias - 1 and "overflow_of_rounding" in self.wrong:
            flags &= ~O
        return code, flags

    def sum(self, terms: list[tuple[int, int, int]]) -> tuple[int, int]:
        wrong, m = self.wrong, self.src.m
        if "negated" in wrong:
            s, n, e = terms[wrong["negated"]]
            terms = [*terms]
            terms[wrong["negated"]] = (s ^ 1, n, e)
        low = min(e for _, _, e in terms)
        total = sum((-1) ** s * (n << e - low) for s, n, e in terms)
        if "add_always" in wrong and terms[0][0] != terms[1][0] and all(n for _, n, _ in terms):
            larger = terms[0] if terms[0][1] << terms[0][2] - low >= terms[1][1] << terms[1][2] - low else terms[1]
            return self.pack(larger[0], sum(n << e - low for _, n, e in terms), low)
        top = max((e + m for _, n, e in terms if n), default=0)
        lead = abs(total).bit_length() - 1 + low
        if total and len(terms) == 2 and self.op == "add":
            if "lead_off" in wrong and self.dst.emin <= lead < top:
                low += wrong["lead_off"]
                return self.pack(int(total < 0), abs(total), low)
            if "carry_uncounted" in wrong and lead > top:
                return self.pack(int(total < 0), abs(total), low - 1)
        return super().sum(terms)

    def mul(self, a: Any, b: Any) -> tuple[int, int]:
        if "carry_uncounted" in self.wrong and a.n and b.n and (a.n * b.n) >> 2 * self.src.m + 1:
            return self.pack(a.s ^ b.s, a.n * b.n, a.e + b.e - 1)
        return super().mul(a, b)


def other(dice: Dice, ops: tuple[str, ...], fmts: tuple[Fmt, ...] = WIDER, **wrong: Any) -> Other:
    unit = some(dice, ops, fmts)
    return Other(unit.op, unit.src, unit.dst, wrong=wrong)


SMALL = (E4M3, E5M2, E3M7)


def ties(dice: Dice) -> Mistake:
    way = pick(dice, ("toward zero", "to odd", "upward", "downward"))
    return planted(dice, other(dice, ("add", "mul", "cvt"), SMALL, ties=way), f"ties {way}", count=6000)


def mode_of_negatives(dice: Dice) -> Mistake:
    unit = other(dice, ("add", "mul", "fma", "cvt"))
    unit.mode = pick(dice, MODES[:4])
    mode = pick(dice, tuple(each for each in MODES[:4] if each != unit.mode))
    unit.wrong["negative_mode"] = mode
    # Of negative numbers, two modes each give the same.
    alike = {"toward_zero": "upward", "upward": "toward_zero"}
    if alike.get(mode) == unit.mode:
        unit.wrong["negative_mode"] = mode = "downward" if unit.mode != "downward" else "to_nearest_even"
    names = [f"rounding={each}" for each in (mode, alike.get(mode, mode))]
    return planted(dice, unit, *names)


def subnormal_power(dice: Dice) -> Mistake:
    k = int(pick(dice, (-1, 1)))
    return planted(
        dice, other(dice, ("mul", "cvt"), SMALL, subnormal_power=k), f"subnormal results times 2^{k}", count=6000
    )


def smallest_normal(dice: Dice) -> Mistake:
    unit = other(dice, ("mul", "cvt"), SMALL, smallest_normal=1)
    return planted(dice, unit, "the smallest normal number in place of subnormal results", count=6000)


def overflow_of_rounding(dice: Dice) -> Mistake:
    unit = other(dice, ("add", "mul"), (E4M3, E5M2), overflow_of_rounding=1)
    return planted(dice, unit, "overflow not raised where it comes from rounding", count=12_000)


def negated(dice: Dice) -> Mistake:
    place = int(dice.integers(2))
    names = ("the product negated", "the addend negated")
    return planted(dice, other(dice, ("fma",), negated=place), names[place])


def add_always(dice: Dice) -> Mistake:
    return planted(dice, other(dice, ("add",), add_always=1), "magnitudes added where they are subtracted")


def lead_off(dice: Dice) -> Mistake:
    k = int(pick(dice, (-1, 1)))
    return planted(dice, other(dice, ("add",), lead_off=k), f"cancelled sums times 2^{k}")


def carry_uncounted(dice: Dice) -> Mistake:
    return planted(dice, other(dice, ("add", "mul"), carry_uncounted=1), "a carry not counted in the exponent")


def negative_wraps(dice: Dice) -> Mistake:
    """A conversion to unsigned integers that gives the lowest bits of negative ones."""
    src = pick(dice, (F16, E5M2, E4M3))
    case = op_case("fcvt_to_ui", src.name, "i8", rounding="toward_zero")
    computation = OpComputation(case, as_profile("riscv"))
    rows = Recipe(computation, "exhaustive").vectors().gather()

    def unit(code: int) -> tuple[int, int]:
        x = Unit("", src, src).read(code)
        if x.kind or not x.s:
            return right[code]
        number = x.n << x.e if x.e >= 0 else x.n >> -x.e
        return (-number & 255, int(x.e < 0 and x.n & (1 << -x.e) - 1 != 0)) if number < 1 << 31 else right[code]

    right = {code: (result, flags) for code, result, flags in zip(*(c.tolist() for c in rows[:3]), strict=True)}
    return Mistake(computation, rows, outputs_of(unit, computation, rows), ("negative numbers wrap",))


# Tiles of E2M1 with scales of UE4M3, added exactly.

_E2M1 = (0, 1, 2, 3, 4, 6, 8, 12)
"""The numbers of codes, in halves."""


def scaled(dice: Dice, wrong: str, *names: str) -> Mistake:
    """Plant a mistake in a tile of one element. Of rows with other specials than NaN scales, none is kept."""
    computation = TileComputation(operation_named("mma.m1n1k16.f32.e2m1.e2m1.ue4m3.block16"), "exact")
    rows = right_rows(dice, computation, 800)
    kept = (rows[32] & 0x7FFFFFFF < 0x7F000000) & (rows[32] & 0x7FFFFFFF != 0)
    rows = tuple(codes[kept] for codes in rows)

    def scale(code: int, of: str) -> Fraction | None:
        f, n = code >> 3, code & 7
        if code == 0x7F:
            return {"nan_zero": Fraction(0), "nan_bits": Fraction(480)}.get(wrong)
        if wrong == "nan_code" and code == 0x7E:
            return None
        value = Fraction(n | (8 if f else 0)) * Fraction(2) ** (max(f, 1) - 10)
        value *= 2 if wrong == f"bias{of}" and f else 1
        return Fraction(1) if wrong == f"ignored{of}" else value * value if wrong == f"twice{of}" else value

    def element(code: int) -> Fraction:
        size = 8 if wrong == "six" and code & 7 == 7 else _E2M1[code & 7]
        return Fraction(-size if code & 8 else size, 2)

    def unit(*codes: int) -> tuple[int, ...]:
        x, y, c = scale(codes[33], "_a"), scale(codes[34], "_b"), Unit("", F32, F32).read(codes[32])
        if x is None or y is None:
            return (0x7FFFFFFF,)
        count = 15 if wrong == "last" else 16
        total = sum((element(codes[k]) * element(codes[16 + k]) for k in range(count)), Fraction(0)) * x * y
        total += Fraction(c.n) * Fraction(2) ** c.e * (-1) ** c.s
        if not total:
            return (right[codes],)
        e = -(total.denominator.bit_length() - 1)
        return (Unit("", F32, F32).pack(int(total < 0), abs(total.numerator), e)[0],)

    right = dict(zip(zip(*(codes.tolist() for codes in rows[:35]), strict=True), rows[35].tolist(), strict=True))
    made = outputs_of(unit, computation, rows)
    nan = rows[35] & 0x7FFFFFFF > 0x7F800000
    made = (np.where(nan & (made[0] == 0x7FFFFFFF), rows[35], made[0]).astype(np.uint32),)
    return Mistake(computation, rows, made, names)


def scale_bias(dice: Dice) -> Mistake:
    of = pick(dice, ("a", "b"))
    return scaled(
        dice, f"bias_{of}", f"normal scales of {of.upper()} with the bias 6", f"scales of {of.upper()} with the bias 6"
    )


def scale_ignored(dice: Dice) -> Mistake:
    of = pick(dice, ("a", "b"))
    return scaled(dice, f"ignored_{of}", f"scales of {of.upper()} left out")


def scale_twice(dice: Dice) -> Mistake:
    of = pick(dice, ("a", "b"))
    return scaled(dice, f"twice_{of}", f"scales of {of.upper()} taken twice")


def scale_nan(dice: Dice) -> Mistake:
    wrong, name = pick(dice, (("nan_zero", "scales whose NaN is 0"), ("nan_bits", "scales whose NaN is the number of")))
    return scaled(dice, wrong, name)


def element_code(dice: Dice) -> Mistake:
    return scaled(dice, "six", "0x7 read as 0x6")


def last_product(dice: Dice) -> Mistake:
    return scaled(dice, "last", "the last product left out")


RESULTS: tuple[Callable[[Dice], Mistake], ...] = (
    ties, mode_of_negatives, subnormal_power, smallest_normal, overflow_of_rounding, negated, add_always, lead_off,
    carry_uncounted, negative_wraps, scale_bias, scale_ignored, scale_twice, scale_nan, element_code, last_product,
)  # fmt: skip
"""The kinds of mistakes."""
