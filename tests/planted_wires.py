"""Mistakes of designers in wires, lanes and scales, in the ends of ranges, in quotients and in roundings that come too early,
in addition to those of `planted_specials`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from planted_datapaths import (
    BF16,
    E3M7,
    E4M3,
    E5M2,
    F16,
    F32,
    Fmt,
    I,
    Mistake,
    U,
    Unit,
    V,
    X,
    outputs_of,
    planted,
    some,
)
from planted_devices import Dice, pick
from planted_specials import Term, tiled, turned

from halfulp.codegen.tile_names import operation_named
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.semantics.profile import as_profile

SMALL = (E4M3, E5M2, E3M7)


@dataclass
class Early(Unit):
    """A unit that rounds or shifts at the wrong place, or ends its range elsewhere."""

    def read(self, code: int, place: int = 0) -> X:
        x = super().read(code, place)
        if "normalized" in self.wrong and place == self.wrong["normalized"] and not x.kind and x.n and not x.f:
            up = self.src.m + 1 - x.n.bit_length()
            return x._replace(n=x.n << up)
        return x

    def sum(self, terms: list[Term]) -> tuple[int, int]:
        wrong, m = self.wrong, self.src.m
        (one, other), low = terms, min(e for _, _, e in terms)
        shift = abs(one[2] - other[2])
        small = 0 if (one[2], one[1]) < (other[2], other[1]) else 1
        if one[1] and other[1] and wrong.get("exchanged") == shift:
            terms = [(s ^ (k == small), n, e) for k, (s, n, e) in enumerate(terms)]
        if one[1] and other[1] and "extra" in wrong:
            s, n, e = terms[small]
            end = max(e for _, _, e in terms) - wrong["extra"] - e
            if end > 0:
                n = (n >> end | (n & (1 << end) - 1 > 0)) << end
            terms[small] = (s, n, e)
        total = sum((-1) ** s * (n << e - low) for s, n, e in terms)
        return self.early(super().sum, terms, int(total < 0), abs(total), low, max(one[2], other[2]) + m)

    def mul(self, a: X, b: X) -> tuple[int, int]:
        top = a.e + b.e + 2 * self.src.m
        return self.early(lambda _: super(Early, self).mul(a, b), [], a.s ^ b.s, a.n * b.n, a.e + b.e, top)

    def early(
        self, plain: Callable[[Any], tuple[int, int]], terms: list[Term], s: int, n: int, e: int, top: int
    ) -> tuple[int, int]:
        """Round a carry or a product of 2 and more one place too low, and once more after its shift."""
        shift = top - self.dst.m - e
        if "early" not in self.wrong or n.bit_length() + e <= top + 1 or shift < 1 or top < self.dst.emin:
            return plain(terms)
        kept, rest = n >> shift, n & (1 << shift) - 1
        kept += self.up(self.mode, s, kept & 1, rest >> shift - 1, rest & (1 << shift - 1) - 1 > 0)
        code, flags = self.pack(s, kept, e + shift)
        return code, flags | I * (rest > 0)

    def pack(self, s: int, n: int, e: int, dst: Fmt | None = None, mode: str | None = None) -> tuple[int, int]:
        wrong, shift = self.wrong, n.bit_length() - 1 - self.dst.m - self.wrong.get("first", 0)
        if "first" in wrong and shift > 0:
            kept, rest = n >> shift, n & (1 << shift) - 1
            kept += self.up(self.mode, s, kept & 1, rest >> shift - 1, rest & (1 << shift - 1) - 1 > 0)
            code, flags = super().pack(s, kept, e + shift, dst, mode)
            tiny = kept.bit_length() - 1 + e + shift < self.dst.emin
            return code, flags | (I | U * tiny if rest else 0)
        cut = max(n.bit_length() - 1 + e, self.dst.emin) - self.dst.m - e
        if "odd" in wrong and cut > 0 and n & (1 << cut) - 1:
            return super().pack(s, ((n >> cut | 1) << 2) + 1, e + cut - 2, dst, mode)
        code, flags = super().pack(s, n, e, dst, mode)
        fmt, limit = dst or self.dst, self.wrong.get("limit")
        if limit is not None and (code & (1 << fmt.bits - 1) - 1) > limit:
            over = super().pack(s, 1, fmt.emin + 2 * fmt.bias + 1, dst, mode)
            return over[0], flags | over[1]
        shift = max(n.bit_length() - 1 - fmt.m, 0)
        if "exact_overflow" in self.wrong and flags & 4 and not n & (1 << shift) - 1:
            flags &= ~I
        return code, flags


def early(dice: Dice, ops: tuple[str, ...], fmts: tuple[Fmt, ...] = SMALL, **wrong: Any) -> Early:
    unit = some(dice, ops, fmts)
    return Early(unit.op, unit.src, unit.dst, wrong=wrong)


def rounded_before_shift(dice: Dice) -> Mistake:
    unit = early(dice, ("add", "mul"), (E5M2, E3M7, E4M3), early=1)
    return planted(dice, unit, "carries shifted in after rounding, which then rounds twice", count=6000)


def few_extra_bits(dice: Dice) -> Mistake:
    bits = int(dice.integers(1, 3))
    name = f"an adder of {bits} extra bit{'s'[: bits > 1]}, the last of them the sticky bit"
    return planted(dice, early(dice, ("add",), (E3M7, E4M3), extra=bits), name, count=6000)


def signs_at_a_shift(dice: Dice) -> Mistake:
    shift = int(dice.integers(1, 4))
    return planted(
        dice,
        early(dice, ("add",), exchanged=shift),
        f"magnitudes added in place of subtracted, and the other way round, where exponents differ by {shift}",
        count=6000,
    )


def normalized_for_nothing(dice: Dice) -> Mistake:
    place = int(dice.integers(2))
    unit = early(dice, ("add", "mul"), normalized=place)
    return planted(dice, unit, f"subnormals of {'ab'[place]} normalized without", count=6000)


def range_ends_early(dice: Dice) -> Mistake:
    unit = early(dice, ("add", "mul"))
    unit.wrong["limit"] = limit = unit.dst.inf - 1 - int(dice.integers(1, 4))
    return planted(dice, unit, f"results above 0x{limit:0{-(-unit.dst.bits // 4)}X} taken as out of range", count=6000)


def inexact_not_with_exact_overflow(dice: Dice) -> Mistake:
    unit = early(dice, ("add", "mul"), exact_overflow=1)
    return planted(dice, unit, "inexact not raised where overflow cuts no bit", count=6000)


def remainder_lost(dice: Dice) -> Mistake:
    """A divider of normalized significands that gives so many bits of the quotient, and no remainder."""
    fmt, extra = pick(dice, (F16, E3M7)), int(dice.integers(1, 4))
    computation, bits = OpComputation(op_case("arith.divf", fmt.name), flags=False), fmt.m + 1 + extra

    def change(given: Chunk, made: Chunk) -> Chunk:
        codes = made[0].copy()
        for k, (a, b) in enumerate(zip(*(column.tolist() for column in given), strict=True)):
            one, other = (Unit("", fmt, fmt).read(code) for code in (a, b))
            if one.kind or other.kind or not one.n or not other.n:
                continue
            shift = bits + other.n.bit_length() - one.n.bit_length()
            quotient = (one.n << shift) // other.n
            codes[k] = Unit("", fmt, fmt).pack(one.s ^ other.s, quotient, one.e - other.e - shift)[0]
        return (codes,)

    name = f"the remainder of a quotient of {bits} fraction bits left out of the sticky bit"
    return turned(dice, computation, change, name, count=4000)


def nan_cut(dice: Dice) -> Mistake:
    """A narrower format's NaN is cut from that of f32, which may leave nothing of it."""
    fmt = pick(dice, (F16, BF16, E5M2))
    computation, by = OpComputation(op_case("arith.truncf", "f32", fmt.name)), F32.m - fmt.m

    def change(given: Chunk, made: Chunk) -> Chunk:
        codes = given[0]
        cut = (codes >> 31 << fmt.bits - 1) | fmt.inf | (codes & (1 << F32.m) - 1) >> by
        return (np.where(codes & 0x7FFFFFFF > 0x7F800000, cut, made[0]).astype(made[0].dtype), made[1])

    return turned(dice, computation, change, "NaN operands cut or filled up, and not made quiet", count=6000)


def range_of_integers(dice: Dice) -> Mistake:
    """A conversion that clamps to a symmetric range, or to that of the other signedness."""
    src, (op, low, high, told) = pick(dice, (F16, BF16)), pick(dice, (
        ("si", -127, 127, "-127 to 127"),
        ("si", -128, 255, "that of unsigned integers above 0, up to 255"),
        ("ui", 0, 127, "that of signed integers above 0, up to 127"),
    ))  # fmt: skip
    case = op_case(f"fcvt_to_{op}", src.name, "i8", rounding="toward_zero")
    computation = OpComputation(case, as_profile("spec,float_to_int=saturate"))

    def unit(code: int) -> tuple[int, int]:
        x = Unit("", src, src).read(code)
        if "nan" in x.kind:
            return 0, V
        number = (-1) ** x.s * (1 << 40 if x.kind else x.n << x.e if x.e >= 0 else x.n >> -x.e)
        if not low <= number <= high:
            return min(max(number, low), high) & 255, V
        return number & 255, I * (x.e < 0 and x.n & (1 << -x.e) - 1 > 0)

    rows = turned(dice, computation, lambda given, made: made, count=6000).rows
    return Mistake(computation, rows, outputs_of(unit, computation, rows), (f"the range of integers taken as {told}",))


def inverted_integers(dice: Dice) -> Mistake:
    computation = OpComputation(op_case("arith.sitofp", "i16", "f32"), flags=False)

    def change(given: Chunk, made: Chunk) -> Chunk:
        numbers = given[0].view(np.int16).astype(np.int64)
        wrong = np.where(numbers < 0, numbers + 1, numbers).astype(np.float32)
        return (wrong.view(np.uint32),)

    return turned(dice, computation, change, "negative integers inverted, not negated")


def flags_kept(dice: Dice) -> Mistake:
    computation = OpComputation(op_case(pick(dice, ("arith.addf", "arith.mulf")), "f16"))

    def change(given: Chunk, made: Chunk) -> Chunk:
        return (made[0], np.bitwise_or.accumulate(made[1]))

    return turned(dice, computation, change, "flags that are never cleared")


def wires_crossed(dice: Dice) -> Mistake:
    computation, bit = OpComputation(op_case("arith.addf", "f16")), int(dice.integers(14))

    def change(given: Chunk, made: Chunk) -> Chunk:
        differ = (made[0] >> bit ^ made[0] >> bit + 1) & 1
        return ((made[0] ^ (differ << bit | differ << bit + 1)).astype(np.uint16), made[1])

    return turned(dice, computation, change, f"bits {bit} and {bit + 1} of the result exchanged")


def operand_wire(dice: Dice) -> Mistake:
    computation, bit, place = (
        OpComputation(op_case("arith.mulf", "f16")),
        int(dice.integers(1, 15)),
        int(dice.integers(2)),
    )

    def change(given: Chunk, made: Chunk) -> Chunk:
        kept = np.uint16(0xFFFF ^ 1 << bit)
        return computation.compute(tuple(x & kept if k == place else x for k, x in enumerate(given))).outputs

    return turned(dice, computation, change, f"bit {bit} of {'ab'[place]} read as 0")


def zero_first(dice: Dice) -> Mistake:
    """An adder that gives its first operand where one of the two is zero."""
    computation = OpComputation(op_case("arith.addf", "f8E5M2"))

    def change(given: Chunk, made: Chunk) -> Chunk:
        zero = (given[0] & 0x7F == 0) & (given[1] & 0x7F <= 0x7B)
        return (np.where(zero, given[0], made[0]).astype(np.uint8), made[1])

    return turned(dice, computation, change, "zero as a gives 0x00 with the sign of a", count=6000)


def lanes_exchanged(dice: Dice) -> Mistake:
    computation = TileComputation(operation_named("mma.m2n1k4.f32.f16.f16"), "exact")
    return turned(dice, computation, lambda given, made: made[::-1], "result_0_0 and result_1_0 exchanged", count=400)


def elements_exchanged(dice: Dice) -> Mistake:
    place, k = int(dice.integers(2)), int(dice.integers(7))

    def change(arrays: list[Any]) -> None:
        order = [*range(k), k + 1, k, *range(k + 2, 8)]
        arrays[place] = arrays[place][..., order, :] if place else arrays[place][..., order]

    # Where all sums are exact, that of the other operand is the same.
    return tiled(
        dice, "mma.m1n1k8.f32.f16.f16", change, *(f"the elements {k} and {k + 1} of {one} swapped" for one in "AB")
    )


def one_product_doubled(dice: Dice) -> Mistake:
    """Of f8E5M2: the wrong products are those of bf16, whose elements hold all numbers."""
    k, kind = int(dice.integers(8)), "mma.m1n1k8.f32.{0}.{0}"
    computation, wide = (TileComputation(operation_named(kind.format(name)), "exact") for name in ("e5m2", "bf16"))

    def change(given: Chunk, made: Chunk) -> Chunk:
        columns = []
        for place, codes in enumerate(given[:16]):
            numbers = (codes.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
            with np.errstate(invalid="ignore"):
                numbers *= 1 + (place == k)
            columns.append((numbers.view(np.uint32) >> 16).astype(np.uint16))
        return wide.compute((*columns, *given[16:])).outputs

    return turned(dice, computation, change, f"the product {k} times 2^1", count=400)


SCALED = "mma.m1n1k32.f32.e4m3.e4m3.f32.ue8m0.block32"


def scales_of_a(dice: Dice) -> Mistake:
    def change(arrays: list[Any]) -> None:
        arrays[4] = np.swapaxes(arrays[3], -1, -2)

    return tiled(dice, SCALED, change, "scales of A in place of those of B")


def scales_late(dice: Dice) -> Mistake:
    def change(arrays: list[Any]) -> None:
        arrays[3], arrays[4] = (np.roll(array, 1, axis=0) for array in arrays[3:5])

    return tiled(dice, SCALED, change, "all scales of the row before")


def flags_exchanged(dice: Dice) -> Mistake:
    computation = OpComputation(op_case("arith.mulf", "f8E5M2"))

    def change(given: Chunk, made: Chunk) -> Chunk:
        flags = made[1] & 0x19 | (made[1] & 2) << 1 | (made[1] & 4) >> 1
        return (made[0], flags.astype(np.uint8))

    return turned(dice, computation, change, "the flags underflow and overflow exchanged")


def rounded_to_odd(dice: Dice) -> Mistake:
    unit = early(dice, ("mul",), odd=1)
    return planted(dice, unit, "the last bit set wherever bits are cut")


def rounded_first(dice: Dice) -> Mistake:
    bits = int(dice.integers(1, 4))
    unit = early(dice, ("mul",), (F16, E3M7), first=bits)
    name = f"results rounded twice, to {unit.dst.m + 1 + bits} bits first"
    # The first rounding of this unit may also decide what is tiny.
    return planted(dice, unit, name, f"tininess=before and {name}", count=6000)


@dataclass
class Clamped(Unit):
    """A multiply-add whose addend is aligned by at most so many places to the left of the product."""

    def aligned(self, terms: list[Term], fields: list[int]) -> list[Term]:
        (product, (s, n, e)), far = terms, fields[1] - fields[0] - self.wrong["most"]
        return [product, (s, n, e - far)] if far > 0 and n and product[1] else terms


def addend_clamped(dice: Dice) -> Mistake:
    most = int(dice.integers(1, 9))
    unit = some(dice, ("fma",), most=most)
    made = Clamped(unit.op, unit.src, unit.dst, wrong=unit.wrong)
    return planted(dice, made, f"no addend more than {most} places above the product", count=6000)


def tree_of_adders(dice: Dice) -> Mistake:
    """Four products, two sums of neighbours, and their sum, which C is added to: each is rounded."""
    computation = TileComputation(operation_named("mma.m1n1k4.f32.bf16.bf16"), "exact")

    def change(given: Chunk, made: Chunk) -> Chunk:
        a, b = ([(codes.astype(np.uint32) << 16).view(np.float32) for codes in given[k : k + 4]] for k in (0, 4))
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            w, x, y, z = (one * other for one, other in zip(a, b, strict=True))
            total = (((w + x) + (y + z)) + given[8].view(np.float32)).view(np.uint32)
        return (np.where(total & 0x7FFFFFFF > 0x7F800000, np.uint32(0x7FC00000), total),)

    names = [f"--mma=custom:tree=neighbours,c=last,{told}partial=to_nearest_even" for told in ("", "products=rounded,")]
    return turned(dice, computation, change, *names, count=400)


WIRES: tuple[Callable[[Dice], Mistake], ...] = (
    rounded_before_shift, few_extra_bits, signs_at_a_shift, normalized_for_nothing, range_ends_early,
    inexact_not_with_exact_overflow, remainder_lost, nan_cut, range_of_integers, inverted_integers, flags_kept,
    wires_crossed, operand_wire, zero_first, lanes_exchanged, elements_exchanged, one_product_doubled, scales_of_a,
    scales_late, flags_exchanged, rounded_to_odd, rounded_first, addend_clamped, tree_of_adders,
)  # fmt: skip
"""The kinds of mistakes."""
