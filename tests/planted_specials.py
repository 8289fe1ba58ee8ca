"""Mistakes of designers in signs, special operands, differences, the ends of the range, comparisons and pipelines, in addition to
those of `planted_datapaths` and `planted_results`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from planted_datapaths import (
    E3M7,
    E4M3,
    E5M2,
    WIDER,
    Fmt,
    I,
    Mistake,
    O,
    U,
    Unit,
    X,
    planted,
    plural,
    some,
)
from planted_devices import Dice, pick, split

from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.tiles import TileComputation

Term = tuple[int, int, int]
"""A sign, an integer, and the exponent of its last bit."""


@dataclass
class Special(Unit):
    """A unit with other mistakes."""

    def read(self, code: int, place: int = 0) -> X:
        x, wrong, m = super().read(code, place), self.wrong, self.src.m
        fraction = code & (1 << m) - 1
        if x.kind and ("infinities" if x.kind == "inf" else "nans") in wrong.get("as_numbers", ()):
            return X(x.s, 1 << m | fraction, x.f - self.src.bias - m, x.f, "", code)
        if "nan_infinite" in wrong and "nan" in x.kind:
            return x._replace(n=0, kind="inf")
        if wrong.get("short", (None, 0))[0] == place and not x.kind:
            bits = wrong["short"][1]
            return x._replace(n=x.n >> bits << bits)
        return x

    def special(self, xs: list[X]) -> tuple[int, int] | None:
        kinds, given = {x.kind for x in xs}, self.wrong.get("invalid")
        signs = [x.s << self.dst.bits - 1 for x in xs]
        if given is not None and kinds == {"inf"} and self.op == "add" and xs[0].s != xs[1].s:
            return signs[0] | given, 0
        if given is not None and kinds == {"inf", ""} and self.op == "mul" and not all(x.kind or x.n for x in xs):
            return signs[0] ^ signs[1] | given, 0
        return super().special(xs)

    def mul(self, a: X, b: X) -> tuple[int, int]:
        wrong = self.wrong
        if "sign" in wrong:
            b = b._replace(
                s={"a": 0, "OR": a.s | b.s, "AND": a.s & b.s}[wrong["sign"]] ^ (a.s if wrong["sign"] != "a" else 0)
            )
        if "columns" in wrong and a.n and b.n:
            k = wrong["columns"]
            n = sum(a.n << place >> k << k for place in range(b.n.bit_length()) if b.n >> place & 1)
            return self.pack(a.s ^ b.s, n, a.e + b.e) if n else ((a.s ^ b.s) << self.dst.bits - 1, 0)
        return super().mul(a, b)

    def sum(self, terms: list[Term]) -> tuple[int, int]:
        made = self.difference(terms) if terms[0][0] != terms[1][0] and terms[0][1] and terms[1][1] else None
        return super().sum(terms) if made is None else self.pack(*made)

    def difference(self, terms: list[Term]) -> Term | None:
        """Return a wrong difference of magnitudes; None where it is right."""
        wrong, m = self.wrong, self.src.m
        one, other = terms
        # An operand has its leading bit in place m, or is subnormal.
        top = max(one[2], other[2]) + m
        large, small = (one, other) if one[1] << one[2] + 500 >= other[1] << other[2] + 500 else (other, one)
        end = top - m - wrong.get("extra", 0)
        cut = small[1] >> max(end - small[2], 0) << max(end - small[2], 0)
        low = min(one[2], other[2], end - 1)
        d = (large[1] << large[2] - low) - (cut << small[2] - low)
        right = (large[1] << large[2] - low) - (small[1] << small[2] - low)
        if "ored" in wrong and cut != small[1]:
            return (large[0], d | 1 << end - 1 - low, low) if d else None
        if "most" in wrong and right and right.bit_length() - 1 + low < top - wrong["most"] >= self.dst.emin:
            return large[0], right | 1 << top - wrong["most"] - low, low
        if "not_negated" in wrong and one[2] == other[2] and other[1] > one[1]:
            return one[0], (1 << top + 1 - low) - right, low
        return None

    def pack(self, s: int, n: int, e: int, dst: Fmt | None = None, mode: str | None = None) -> tuple[int, int]:
        fmt, wrong = dst or self.dst, self.wrong
        lead = n.bit_length() - 1 + e
        shift = max(lead, fmt.emin) - fmt.m - e
        rest = n & (1 << max(shift, 0)) - 1
        if "ties_above" in wrong and shift > 0 and rest == 1 << shift - 1:
            return super().pack(s, (n << 2) + (1 if n >> shift + 1 & 1 else -1), e - 2, dst, mode)
        if "twice" in wrong and lead < fmt.emin and lead - fmt.m > e:
            first = lead - fmt.m - e
            kept, below = n >> first, n & (1 << first) - 1
            kept += self.up(mode or self.mode, s, kept & 1, below >> first - 1, below & (1 << first - 1) - 1 != 0)
            code, flags = super().pack(s, kept, e + first, dst, mode)
            tiny = code & (1 << fmt.bits - 1) - 1 < 1 << fmt.m
            return code, flags | (I | U * tiny if below else 0)
        code, flags = super().pack(s, n, e, dst, mode)
        wide, _ = Unit("", fmt, Fmt("", 12, fmt.m), self.mode).pack(0, n, e)
        field = (wide >> fmt.m) - 2047 + fmt.bias
        wrapped = s << fmt.bits - 1 | (field & (1 << fmt.e) - 1) << fmt.m | wide & (1 << fmt.m) - 1
        if ("wraps_above" in wrong and flags & O) or ("wraps_below" in wrong and lead < fmt.emin):
            return wrapped, flags
        if "late" in wrong and flags & O and field == (1 << fmt.e) - 1:
            return wrapped, I
        if "inexact_of_guard" in wrong and not flags & O and not (shift > 0 and n >> shift - 1 & 1):
            flags &= ~I
        return code, flags


SMALL = (E4M3, E5M2, E3M7)


def special(dice: Dice, ops: tuple[str, ...], fmts: tuple[Fmt, ...] = WIDER, **wrong: Any) -> Special:
    unit = some(dice, ops, fmts)
    return Special(unit.op, unit.src, unit.dst, wrong=wrong)


def ored(dice: Dice) -> Mistake:
    extra = int(dice.integers(1, 3))
    name = f"the bits of the smaller term after {extra} extra bit{'s'[: extra > 1]} ORed into a difference"
    return planted(dice, special(dice, ("add",), ored=1, extra=extra), name, count=6000)


def normalized(dice: Dice) -> Mistake:
    most = int(dice.integers(1, 4))
    name = f"sums normalized by at most {most} place"
    return planted(dice, special(dice, ("add",), most=most), name, count=6000)


def not_negated(dice: Dice) -> Mistake:
    name = "differences not negated where exponents are equal and the second term is larger"
    return planted(dice, special(dice, ("add",), SMALL, not_negated=1), name, count=6000)


def sign_of_products(dice: Dice) -> Mistake:
    how = pick(dice, ("a", "OR", "AND"))
    names = {"a": ("the sign of products that of a", "b without its sign")}
    return planted(
        dice,
        special(dice, ("mul",), sign=how),
        *names.get(how, (f"the sign of products the {how} of their operands'",)),
    )


def columns_left_out(dice: Dice) -> Mistake:
    count = int(dice.integers(3, 8))
    return planted(dice, special(dice, ("mul",), columns=count), f"the last {count} columns of the multiplier left out")


def ties_above(dice: Dice) -> Mistake:
    unit = special(dice, ("add", "mul"), SMALL, ties_above=1)
    return planted(dice, unit, "ties by the bit above the last one", count=6000)


def twice(dice: Dice) -> Mistake:
    unit = special(dice, ("mul", "cvt"), SMALL, twice=1)
    return planted(dice, unit, "subnormal results rounded twice", count=6000)


def exponent_wraps(dice: Dice) -> Mistake:
    how = pick(dice, ("above", "below"))
    unit = special(dice, ("mul", "cvt"), SMALL, **{f"wraps_{how}": 1})
    size = "large" if how == "above" else "small"
    return planted(dice, unit, f"the exponent wraps around where a result is too {size}", count=6000)


def late_overflow(dice: Dice) -> Mistake:
    unit = special(dice, ("mul",), (E4M3, E3M7), late=1)
    return planted(dice, unit, "the exponent field of infinities taken as that of numbers", count=6000)


def inexact_of_guard(dice: Dice) -> Mistake:
    unit = special(dice, ("add", "mul"), inexact_of_guard=1)
    return planted(dice, unit, "inexact raised only where the guard bit is set")


def as_numbers(dice: Dice) -> Mistake:
    what = pick(dice, ("infinities", "nans"))
    name = f"{'NaNs' if what == 'nans' else what} taken as numbers"
    return planted(dice, special(dice, ("add", "mul"), SMALL, as_numbers=(what,)), name, count=6000)


def nan_infinite(dice: Dice) -> Mistake:
    unit = special(dice, ("add", "mul"), SMALL, nan_infinite=1)
    return planted(dice, unit, "NaN operands taken as infinities", count=6000)


def short_operand(dice: Dice) -> Mistake:
    place, bits = int(dice.integers(2)), int(dice.integers(1, 3))
    unit = special(dice, ("add", "mul", "fma"), short=(place, bits))
    return planted(dice, unit, f"{'ab'[place]} without its last {plural(bits).removeprefix('1 ')}")


def invalid_result(dice: Dice) -> Mistake:
    unit = special(dice, ("add", "mul"), (E4M3, E5M2), invalid=0)
    unit.wrong["invalid"] = given = pick(dice, (0, unit.dst.inf))
    about = "infinity minus infinity" if unit.op == "add" else "infinity times zero"
    made = planted(dice, unit, about, count=20_000)
    return made._replace(names=(f"{about} gives 0x{given:02X}", f"{about} gives 0x{given | 0x80:02X}"))


# Right units that are given other operands, or whose results go elsewhere.


def turned(
    dice: Dice, computation: Computation, change: Callable[[Chunk, Chunk], Chunk], *names: str, count: int = 2000
) -> Mistake:
    rows = Recipe(computation, "weighted", seed=int(dice.integers(1 << 30)), count=count).vectors().gather()
    inputs, outputs = split(computation, rows)
    return Mistake(computation, rows, change(inputs, outputs), names)


def flags_late(dice: Dice) -> Mistake:
    computation = OpComputation(op_case(pick(dice, ("arith.addf", "arith.mulf")), "f16"))
    name = "flags 1 row late, and the others in time"
    return turned(dice, computation, lambda given, made: (made[0], np.roll(made[1], 1)), name)


def operand_late(dice: Dice) -> Mistake:
    computation, place = OpComputation(op_case("arith.mulf", "f16")), int(dice.integers(2))

    def change(given: Chunk, made: Chunk) -> Chunk:
        late = tuple(np.roll(codes, 1) if k == place else codes for k, codes in enumerate(given))
        return computation.compute(late).outputs

    return turned(dice, computation, change, f"{'ab'[place]} of the row before")


def compared_as_integers(dice: Dice) -> Mistake:
    op = pick(dice, ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.cmpf"))
    computation = OpComputation(op_case(op, "f16", **({"predicate": "olt"} if op == "arith.cmpf" else {})))
    signed = bool(dice.integers(2))

    def change(given: Chunk, made: Chunk) -> Chunk:
        a, b = (codes.view(np.int16) if signed else codes for codes in given[:2])
        nan = np.logical_or.reduce([codes & 0x7FFF > 0x7C00 for codes in given[:2]])
        found = a < b if op == "arith.cmpf" else np.maximum(a, b) if "max" in op else np.minimum(a, b)
        return (
            np.where(nan, made[0], found.astype(made[0].dtype) if op == "arith.cmpf" else found.view(np.uint16)),
            *made[1:],
        )

    return turned(dice, computation, change, f"codes compared as {'' if signed else 'un'}signed integers")


def divided_by_zero(dice: Dice) -> Mistake:
    computation = OpComputation(op_case("arith.divf", "f16"), flags=False)

    def change(given: Chunk, made: Chunk) -> Chunk:
        zero = (given[1] & 0x7FFF == 0) & (given[0] & 0x7FFF < 0x7C00) & (given[0] & 0x7FFF > 0)
        return (np.where(zero, (given[0] ^ given[1]) & 0x8000 | 0x7BFF, made[0]).astype(np.uint16),)

    return turned(dice, computation, change, "a number divided by zero gives 0x7BFF with", count=20_000)


def zero_as_one(dice: Dice) -> Mistake:
    computation = OpComputation(op_case("arith.sitofp", "i16", "f16"), flags=False)
    return turned(
        dice,
        computation,
        lambda given, made: (np.where(given[0] == 0, 0x3C00, made[0]).astype(np.uint16),),
        "0 gives 0x3C00",
    )


def tiled(dice: Dice, name: str, change: Callable[[list[Any]], None], *names: str, count: int = 400) -> Mistake:
    """Give a right tile operation changed arrays of its operands: ``change`` replaces them in place."""
    computation = TileComputation(operation_named(name), "exact")

    def computed(given: Chunk, made: Chunk) -> Chunk:
        arrays = computation.arrays(given)
        change(arrays)
        flat = [array.reshape(len(array), -1) for array in arrays]
        return computation.compute(tuple(array[:, k].copy() for array in flat for k in range(array.shape[1]))).outputs

    return turned(dice, computation, computed, *names, count=count)


def c_left_out(dice: Dice) -> Mistake:
    def change(arrays: list[Any]) -> None:
        arrays[2] = np.zeros_like(arrays[2])

    return tiled(dice, "mma.m1n1k8.f32.f16.f16", change, "C left out")


def nibbles(dice: Dice) -> Mistake:
    def change(arrays: list[Any]) -> None:
        arrays[1] = arrays[1][:, [k ^ 1 for k in range(16)]]

    names = [f"the neighbours along K of {one} swapped" for one in "AB"]
    return tiled(dice, "mma.m1n1k16.f32.e2m1.e2m1.f32.ue4m3.block16", change, *names)


def neighbour(dice: Dice) -> Mistake:
    place, both = int(dice.integers(1, 8)), bool(dice.integers(2))

    def change(arrays: list[Any]) -> None:
        arrays[1][:, place] = arrays[1][:, place - 1]
        if both:
            arrays[0][..., place] = arrays[0][..., place - 1]

    what = f"the product {place - 1}" if both else f"the element {place - 1} of B"
    return tiled(dice, "mma.m1n1k8.f32.f16.f16", change, f"{what} in place of {place}")


def transposed(dice: Dice) -> Mistake:
    place = int(dice.integers(2))

    def change(arrays: list[Any]) -> None:
        arrays[place] = np.swapaxes(arrays[place], -1, -2)

    return tiled(dice, "mma.m4n4k4.f32.f16.f16", change, f"the transpose of {'AB'[place]}", count=100)


def integers(dice: Dice) -> Mistake:
    """A unit of int8 that reads B as unsigned, or whose products have 15 bits."""
    computation, unsigned = TileComputation(operation_named("mma.m1n1k8.i32.i8.i8"), "exact"), bool(dice.integers(2))

    def change(given: Chunk, made: Chunk) -> Chunk:
        a, b, c = (np.stack(codes, axis=1) for codes in (given[:8], given[8:16], given[16:]))
        one, other = (codes.astype(np.uint8).view(np.int8).astype(np.int64) for codes in (a, b))
        products = one * (b.astype(np.int64) if unsigned else other)
        if not unsigned:
            products = (products + (1 << 14)) % (1 << 15) - (1 << 14)
        return ((products.sum(axis=1) + c[:, 0].astype(np.int64) & 0xFFFFFFFF).astype(np.uint32),)

    name = "elements of B read as unsigned" if unsigned else "products that wrap around at 15 bits"
    return turned(dice, computation, change, name)


SPECIALS: tuple[Callable[[Dice], Mistake], ...] = (
    ored, normalized, not_negated, sign_of_products, columns_left_out, ties_above, twice, exponent_wraps, late_overflow,
    inexact_of_guard, as_numbers, nan_infinite, short_operand, invalid_result, flags_late, operand_late,
    compared_as_integers, divided_by_zero, zero_as_one, c_left_out, nibbles, neighbour, transposed, integers,
)  # fmt: skip
"""The kinds of mistakes."""
