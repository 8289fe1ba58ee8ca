"""Elements worked out by hand, a dozen for each family of matrix units; the arithmetic is beside each case.

A term in an aligned sum of F fraction bits, below the largest exponent E, is a whole number of units of 2^(E - F). What
is less than a unit is cut off: toward zero, or downward where that is said.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from tables import each_row

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units import models
from halfulp.semantics.matrix_units.aligned_sums import Alignment, ExactSum, Members, RoundedResult, SumTrace
from halfulp.semantics.matrix_units.kinds import TileOp

INF, NAN, MINUS_ZERO = "inf", "nan", "-0"
Number = float | Fraction | str


def code_of(name: str, number: Number) -> int:
    """Return the code of a number that the type has."""
    fmt = FORMATS[name]
    if number in (INF, "-inf"):
        return (fmt.infinity_code or 0) | ((fmt.sign_mask or 0) if number == "-inf" else 0)
    if number in (NAN, MINUS_ZERO):
        return (fmt.nan_code if number == NAN else fmt.sign_mask) or 0
    result = scalar.from_fraction(fmt, Fraction(number))
    assert not result.flags, (name, number)
    return result.code


class Case(NamedTuple):
    """Pairs of factors along K, the rest of which is zeros; C; and the result, a number or a code."""

    chip: str
    types: str
    shape: tuple[int, int, int]
    factors: dict[int, tuple[Number, Number]]
    c: Number
    want: Number | int
    unit: str = "mma"
    d: str = "f32"
    scale: str = ""
    block: int = 0
    scales: tuple[Sequence[Number], Sequence[Number]] = ((), ())


def run(case: Case) -> tuple[int, SumTrace, TileOp]:
    size = case.shape[2]
    a, _, b = case.types.partition(",")
    b = b or a
    op = TileOp("by hand", a, b, case.d, case.d, case.shape, 1, case.unit, case.scale, case.block)
    sides = []
    for name, side in ((a, 0), (b, 1)):
        numbers: list[Number] = [0.0] * size
        for k, pair in case.factors.items():
            numbers[k] = pair[side]
        sides.append(np.array([code_of(name, number) for number in numbers], FORMATS[name].storage_dtype))
    scales = [np.array([code_of(case.scale, number) for number in each], np.uint8) for each in case.scales if each]
    row, column = sides
    code, trace = models.explain(f"chip:{case.chip}", op, row, column, code_of(case.d, case.c), *scales)
    return code, trace, op


def check(case: Case) -> None:
    code, _, op = run(case)
    want = case.want if isinstance(case.want, int) and case.want > 1 << 10 else code_of(op.d, case.want)
    assert code == want, f"{code:#x}, not {want:#x}"


def p(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


F16, BF16, K4, K8, K16 = "f16", "bf16", (8, 8, 4), (16, 8, 8), (16, 8, 16)
FP8, K32 = "f8E4M3FN", (16, 8, 32)
NAN_F32, INF_F32 = 0x7FFFFFFF, 0x7F800000

NVIDIA = {
    # F = 23, E = 0: 2^-24 is half a unit of 2^-23, 2^-23 is one.
    "Volta cuts half a unit": Case("volta", F16, K4, {0: (p(-12), p(-12))}, 1.0, 1.0),
    "Volta keeps a unit": Case("volta", F16, K4, {0: (p(-12), p(-11))}, 1.0, 1 + p(-23)),
    # F = 24: two terms of 2^-24 are a unit each, and make one last place; by F = 23 each would be cut.
    "Turing adds two units": Case("turing", F16, K8, {0: (p(-12), p(-12)), 1: (p(-12), p(-12))}, 1.0, 1 + p(-23)),
    "Volta loses both": Case("volta", F16, K4, {0: (p(-12), p(-12)), 1: (p(-12), p(-12))}, 1.0, 1.0),
    # F = 25: four terms of 2^-25 are a unit each. Ampere's F = 24 cuts each of them.
    "Hopper adds four units": Case("hopper", F16, K16, {k: (p(-12), p(-13)) for k in range(4)}, 1.0, 1 + p(-23)),
    "Ampere loses the four": Case("ampere", F16, K16, {k: (p(-12), p(-13)) for k in range(4)}, 1.0, 1.0),
    # Toward zero: -2^-25 is half a unit; downward the sum would be 1 - 2^-24.
    "cut toward zero": Case("ampere", F16, K16, {0: (-p(-12), p(-13))}, 1.0, 1.0),
    # F = 25: 1.5 * 2^-23 is 6 units; the sum 2^25 + 6 loses its last two bits: 1 + 2^-23. To nearest it would be a tie.
    "result toward zero": Case("hopper", F16, K16, {0: (1.5 * p(-12), p(-11))}, 1.0, 1 + p(-23)),
    # -1 - 6 units of 2^-25 likewise.
    "negative result toward zero": Case("hopper", F16, K16, {0: (-1.5 * p(-12), p(-11))}, -1.0, -1 - p(-23)),
    # Split K: in the first eight 2^20 - 2^20 = 0; the second has E = max(-126, -6), so that 2^-6 stays.
    "Ampere splits K": Case("ampere", F16, K16, {0: (1024.0, 1024.0), 1: (-1024.0, 1024.0), 8: (p(-3), p(-3))}, 0, p(-6)),
    # All at once E = 20, a unit is 2^-5: 2^-6 is cut.
    "Hopper does not": Case("hopper", F16, K16, {0: (1024.0, 1024.0), 1: (-1024.0, 1024.0), 8: (p(-3), p(-3))}, 0, 0.0),
    # tf32 on Ampere: groups of 4.
    "groups of tf32": Case("ampere", "tf32", K8, {0: (p(20), 1.0), 1: (-p(20), 1.0), 4: (p(-6), 1.0)}, 0, p(-6)),
    # A subnormal is not normalised: 2^-24 is 2^-10 * 2^-14, so that E = -14 and c = 2^-39 is half a unit of 2^-38.
    "subnormals keep their exponent": Case("ampere", F16, K16, {0: (p(-24), 1.0)}, p(-39), p(-24)),
    # A zero has exponent -126, and so 0 * 2^127 has 1: E = 1, a unit is 2^-23, and 2^-26 is cut.
    "zeros have an exponent": Case("ampere", BF16, K16, {0: (0.0, p(127)), 1: (p(-13), p(-13))}, 0, 0.0),
    # C = 0 has -126 too: a unit is 2^-150, so that of 2^-140 + 2^-151 the second is cut; 2^-140 is subnormal.
    "subnormal result": Case("ampere", BF16, K16, {0: (p(-70), p(-70)), 1: (p(-75), p(-76))}, 0, p(-140)),
    # f16 results are rounded to nearest even, once: 1 + 2^-11 is a tie; with 2^-20 (F = 24 keeps it) it is above.
    "f16 ties to even": Case("ampere", F16, K16, {0: (p(-5), p(-6))}, 1.0, 1.0, d="f16"),
    "f16 above a tie": Case("ampere", F16, K16, {0: (p(-5), p(-6)), 1: (p(-10), p(-10))}, 1.0, 1 + p(-10), d="f16"),
    "f16 overflows": Case("hopper", F16, K16, {0: (256.0, 256.0)}, 0, INF, d="f16"),
    # (2 - 2^-7) 2^127 + 2^126 is beyond f32: infinity, though the cut alone would give the largest number.
    "overflow is infinite": Case("hopper", BF16, K16, {0: ((2 - p(-7)) * p(100), p(27)), 1: (p(100), p(26))}, 0, INF),
    "infinity": Case("hopper", F16, K16, {0: (INF, -1.0)}, 5.0, "-inf"),
    "infinity times zero": Case("hopper", F16, K16, {0: (INF, 0.0)}, 5.0, NAN_F32),
    "infinities of both signs": Case("volta", F16, K4, {0: (INF, 1.0), 3: (INF, -1.0)}, 5.0, NAN_F32),
    "infinity and C": Case("volta", F16, K4, {0: (INF, 1.0)}, "-inf", NAN_F32),
    "NaN": Case("ampere", F16, K16, {9: (NAN, 1.0)}, 5.0, NAN_F32),
    "NaN in f16": Case("ampere", F16, K16, {9: (NAN, 1.0)}, 5.0, 0x7FFF, d="f16"),
    "zeros give +0": Case("ampere", F16, K16, dict.fromkeys(range(16), (MINUS_ZERO, 1.0)), MINUS_ZERO, 0.0),
    # Ada's 8-bit floats: F = 13 and 13 fraction bits: 2^-13 (2^-7 has the exponent -6) is a unit, 2^-14 is none.
    "f8 keeps 13 bits": Case("ada", FP8, K32, {0: (p(-6), p(-7))}, 1.0, 1 + p(-13)),
    "f8 cuts the 14th": Case("ada", FP8, K32, {0: (p(-7), p(-7))}, 1.0, 1.0),
    # C itself loses what it has below.
    "f8 cuts C": Case("ada", FP8, K32, {}, 1 + p(-13) + p(-14), 1 + p(-13)),
    # Groups of 16: 256 * 2 - 256 * 2 in the first, 2^-6 in the second. wgmma adds all 32: E = 9, a unit is 2^-4.
    "f8 groups": Case("ada", FP8, K32, {0: (256.0, 2.0), 1: (-256.0, 2.0), 16: (p(-3), p(-3))}, 0, p(-6)),
    "f8 wgmma": Case(
        "hopper", FP8, (64, 8, 32), {0: (256.0, 2.0), 1: (-256.0, 2.0), 16: (p(-3), p(-3))}, 0, 0.0, "wgmma",
    ),
    # RTX Blackwell has F = 25 and 23 fraction bits for them.
    "f8 on RTX Blackwell": Case("rtx-blackwell", FP8, K32, {0: (p(-7), p(-7))}, 1.0, 1 + p(-14)),
}  # fmt: skip


E8M0, FP4, K64 = "f8E8M0FNU", "f4E2M1FN", (16, 8, 64)


def scaled(factors: dict[int, tuple[Number, Number]], c: Number, want: Number | int, a: Number, b: Number) -> Case:
    return Case("rtx-blackwell", FP8, K32, factors, c, want, scale=E8M0, block=32, scales=((a,), (b,)))


def dots(
    factors: dict[int, tuple[Number, Number]],
    c: Number,
    want: Number | int,
    a: Sequence[Number],
    b: Sequence[Number],
    scale: str = E8M0,
) -> Case:
    return Case("rtx-blackwell", FP4, K64, factors, c, want, scale=scale, block=64 // len(a), scales=(a, b))


SIXTEEN = dict.fromkeys(range(16, 32), (0.5, 0.5))  # a dot product of 4 in the second group of 16
ONES = (1.0,) * 4

BLOCK_SCALES = {
    "scales multiply": scaled({0: (1.5, 2.0)}, 0, 12.0, 8.0, 0.5),
    "scales cancel": scaled({0: (1.5, 2.0)}, 1.0, 4.0, p(127), p(-127)),
    # 1 * 2^4 with C = 2^30: a unit is 2^(30 - 25) = 2^5. Twice 2^6 is 4 units.
    "below a unit by its scale": scaled({0: (1.0, 1.0)}, p(30), p(30), 16.0, 1.0),
    "a unit by its scale": scaled({0: (1.0, 1.0), 1: (1.0, 1.0)}, p(30), p(30) + p(7), 16.0, 4.0),
    # The scale moves all exponents alike: 2^-18 beside 1 is 2^7 units of 2^-25, at any scale.
    "units move with the scale": scaled({0: (1.0, 1.0), 1: (p(-9), p(-9)), 2: (-1.0, 1.0)}, 0, p(-18) * p(40), p(40), 1.0),
    # The largest product 448 * 448 * 2^127 is infinite.
    "scaled overflow": scaled({0: (448.0, 448.0)}, 0, INF, p(120), p(7)),
    "NaN scale": scaled({0: (1.0, 1.0)}, 0, NAN_F32, NAN, 1.0),
    "NaN scale of zeros": scaled({}, 0, NAN_F32, 1.0, NAN),
    "sum of dots": dots({0: (6.0, 6.0), 1: (0.5, 0.5)}, 0.75, 37.0, ONES, ONES),
    "a scale per 16": dots({0: (1.0, 1.0), 16: (1.0, 1.0), 48: (1.0, 1.0)}, 0, 1 + 4 + p(-3), (1.0, 2.0, 1.0, 0.25),
                           (1.0, 2.0, 1.0, 0.5)),
    "a scale per 32": dots({0: (1.0, 1.0), 16: (1.0, 1.0), 48: (1.0, 1.0)}, 0, 8 + 8 + p(-2), (2.0, 0.5), (4.0, 0.5)),
    # F = 35: a dot product counts as one term of the exponent of its scales. 4 * 2^-37 = 2^-35 is a unit, though each
    # of its products, 2^-39, is less; 1 - 1 leaves it.
    "dots are exact": dots({0: (-1.0, 1.0), **SIXTEEN}, 1.0, p(-35), (1.0, p(-37), 1.0, 1.0), ONES),
    # 4 * 2^-38 is half a unit.
    "dots are cut": dots({0: (-1.0, 1.0), **SIXTEEN}, 1.0, 0.0, (1.0, p(-38), 1.0, 1.0), ONES),
    "NaN C": dots({0: (1.0, 1.0)}, NAN, NAN_F32, ONES, ONES),
    # Scales f8E4M3FN: 1.5 * 1.25 * 3 * 2; their signs do not count.
    "scales with fractions": dots({0: (3.0, 2.0)}, 0, 11.25, (1.5, 1.0, 1.0, 1.0), (1.25, 1.0, 1.0, 1.0), FP8),
    "signs of scales": dots({0: (3.0, 2.0)}, 0, 11.25, (-1.5, 1.0, 1.0, 1.0), (1.25, 1.0, 1.0, 1.0), FP8),
    "NaN scale per 16": dots({0: (3.0, 2.0)}, 0, NAN_F32, (1.0, 1.0, 1.0, NAN), ONES, FP8),
}  # fmt: skip


def mfma(
    chip: str, types: str, k: int, factors: dict[int, tuple[Number, Number]], c: Number, want: Number | int
) -> Case:
    shapes = {
        ("f16", 16): (16, 16, 16), ("bf16", 16): (16, 16, 16), ("bf16", 8): (16, 16, 8), ("f32", 4): (16, 16, 4),
        ("f8E4M3FNUZ", 32): (16, 16, 32), ("f64", 4): (16, 16, 4), ("tf32", 8): (16, 16, 8),
    }  # fmt: skip
    d = "f64" if types == "f64" else "f32"
    return Case(chip, types, shapes[types, k], factors, c, want, "mfma", d)


BIG = (4096.0, 4096.0)  # 2^24, from which on f32 has even numbers only
MINUS_BIG = (-4096.0, 4096.0)
UNIT = (1.0, 1.0)

TREES = {
    # (2^24 + 1) + (1 - 2^24): the first sum ties to 2^24, the second is exact: 1, where the exact sum is 2.
    "sums of two": mfma("cdna1", F16, 16, {0: BIG, 1: UNIT, 2: UNIT, 3: MINUS_BIG}, 0, 1.0),
    # (2^24 - 2^24) + (1 + 1).
    "another order": mfma("cdna1", F16, 16, {0: BIG, 1: MINUS_BIG, 2: UNIT, 3: UNIT}, 0, 2.0),
    # C comes last: 2^24 + (1 + 1).
    "C after the tree": mfma("cdna1", F16, 16, {0: UNIT, 1: UNIT}, p(24), p(24) + 2),
    "a tie with C": mfma("cdna1", F16, 16, {0: UNIT}, p(24), p(24)),
    # Groups of four one after the other: 2^24 + 1 ties to 2^24, twice.
    "groups of four": mfma("cdna1", F16, 16, {0: UNIT, 4: UNIT}, p(24), p(24)),
    # bf16 of CDNA1 has groups of two, where two ones of different groups are lost; of CDNA2's newer ones four.
    "groups of two": mfma("cdna1", BF16, 8, {0: UNIT, 2: UNIT}, p(24), p(24)),
    "the same in one group": mfma("cdna1", BF16, 8, {0: UNIT, 1: UNIT}, p(24), p(24) + 2),
    "CDNA2 of the newer kind": mfma("cdna2", BF16, 16, {0: UNIT, 2: UNIT}, p(24), p(24) + 2),
    "CDNA2 of the older kind": mfma("cdna2", BF16, 8, {0: UNIT, 2: UNIT}, p(24), p(24)),
    # Rounded to nearest even: 2^24 + 3 is a tie, which goes up to 2^24 + 4.
    "ties to even": mfma("cdna1", F16, 16, {0: (3.0, 1.0)}, p(24), p(24) + 4),
    "CDNA1 keeps subnormals": mfma("cdna1", F16, 16, {0: (p(-24), 1.0)}, 0, p(-24)),
    # CDNA2: a subnormal f16 is +0, and +0 * -1 + ... = +0.
    "CDNA2 flushes operands": mfma("cdna2", F16, 16, {0: (p(-24), -1.0)}, 0, 0.0),
    # 2^-126 - 1.5 * 2^-127: CDNA2's product is flushed to -0; CDNA1's sum is 2^-128.
    "CDNA2 flushes products": mfma("cdna2", BF16, 16, {0: (p(-63), -1.5 * p(-64))}, p(-126), p(-126)),
    "CDNA1 does not": mfma("cdna1", BF16, 8, {0: (p(-63), -1.5 * p(-64))}, p(-126), p(-128)),
    # 2^-126 - 1.5 * 2^-126 = -2^-127 becomes -0.
    "CDNA2 flushes results": mfma("cdna2", BF16, 16, {12: (p(-63), -1.5 * p(-63))}, p(-126), MINUS_ZERO),
    # In an earlier group that sum becomes +0 when the next takes it; with -0 that is +0.
    "CDNA2 flushes sums": mfma("cdna2", BF16, 16, {0: (p(-63), -1.5 * p(-63)), **dict.fromkeys(range(4, 16), (-1.0, 0.0))},
                               p(-126), 0.0),
    # fma: (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, whose last part f32 has not, less 1 + 2^-11.
    "f32 is fused": mfma("cdna1", "f32", 4, {0: (1 + p(-12), 1 + p(-12))}, -1 - p(-11), p(-24)),
    # One after the other: 2^24 + 1 ties to 2^24, again and again.
    "f32 is a chain": mfma("cdna3", "f32", 4, dict.fromkeys(range(4), UNIT), p(24), p(24)),
    "f64 is a chain": mfma("cdna2", "f64", 4, dict.fromkeys(range(4), UNIT), p(53), p(53)),
}  # fmt: skip


FNUZ = "f8E4M3FNUZ"
LARGE = (128.0, 128.0)  # 2^14
SMALL = (p(-5), -p(-6))  # -2^-11, half a unit of 2^(14 - 24)

LATE = {
    # Products alone, F = 24: -2^-25 is half a unit, cut toward zero.
    "products toward zero": mfma("cdna3", F16, 16, {0: UNIT, 1: (-p(-12), p(-13))}, 0, 1.0),
    "a unit of products": mfma("cdna3", F16, 16, {0: UNIT, 1: (-p(-12), p(-12))}, 0, 1 - p(-24)),
    # C = -2^-25 is half a unit of 2^-24 below the sum 1: downward it is one, and 1 - 2^-24 is an f32.
    "C downward": mfma("cdna3", F16, 16, {0: UNIT}, -p(-25), 1 - p(-24)),
    "positive C downward": mfma("cdna3", F16, 16, {0: UNIT}, p(-25), 1.0),
    # However small C is.
    "tiny C downward": mfma("cdna3", F16, 16, {0: UNIT}, -p(-100), 1 - p(-24)),
    # The sum keeps 31 bits below C = 1: 2^-24 is a tie, which goes to even; with 2^-31 it is above.
    "a tie": mfma("cdna3", F16, 16, {0: (p(-12), p(-12))}, 1.0, 1.0),
    "above a tie": mfma("cdna3", F16, 16, {0: (p(-12), p(-12)), 1: (p(-15), p(-16))}, 1.0, 1 + p(-23)),
    # 2^-24 + 2^-33: downward to 2^-24, so that it is the tie.
    "sum downward to a tie": mfma("cdna3", F16, 16, {0: (p(-12), p(-12)), 1: (p(-16), p(-17))}, 1.0, 1.0),
    # E = 1, and the sum's unit is 2^-30: -2^-24 - 2^-33 is -64 1/8 of them, downward -65. 64 below 2 is the tie of 2 and
    # 2 - 2^-23, so that 65 gives the latter.
    "negative sum downward": mfma("cdna3", F16, 16, {0: (-p(-12), p(-12)), 1: (-p(-16), p(-17))}, 2.0, 2 - p(-23)),
    # Groups of 8: 2^20 - 2^20 in the first, 2^-6 in the second.
    "groups of eight": mfma("cdna3", F16, 16, {0: (1024.0, 1024.0), 1: (-1024.0, 1024.0), 8: (p(-3), p(-3))}, 0, p(-6)),
    # In one group E = 20, a unit is 2^-4: cut.
    "one group": mfma("cdna3", F16, 16, {0: (1024.0, 1024.0), 1: (-1024.0, 1024.0), 7: (p(-3), p(-3))}, 0, 0.0),
    "groups of tf32": mfma("cdna3", "tf32", 8, {0: (p(20), 1.0), 1: (-p(20), 1.0), 4: (p(-6), 1.0)}, 0, p(-6)),
    # Even and odd k apart: 2^14 and -2^-11 both even: the latter is cut toward zero.
    "both even": mfma("cdna3", FNUZ, 32, {0: LARGE, 2: SMALL}, 0, p(14)),
    # -2^-11 odd: exact in its own sum; downward beside 2^14 it is a unit of 2^-10.
    "even and odd": mfma("cdna3", FNUZ, 32, {0: LARGE, 1: SMALL}, 0, p(14) - p(-10)),
    # C = -2^-11, 25 binades below 2^14: downward a unit. At 26 it vanishes.
    "C of 25 binades less": mfma("cdna3", FNUZ, 32, {0: LARGE}, -p(-11), p(14) - p(-10)),
    "C of 26 binades less": mfma("cdna3", FNUZ, 32, {0: LARGE}, -p(-12), p(14)),
    # Groups of 16.
    "groups of sixteen": mfma("cdna3", FNUZ, 32, {0: LARGE, 2: (-128.0, 128.0), 16: (p(-5), p(-6))}, 0, p(-11)),
    "an infinite product": mfma("cdna3", BF16, 16, {0: (p(64), p(64))}, 0, INF),
    "a product below it": mfma("cdna3", BF16, 16, {0: (p(64), p(63))}, 0, p(127)),
    "infinite products of both signs": mfma("cdna3", BF16, 16, {0: (p(64), p(64)), 3: (-p(65), p(64))}, 0, 0x7FC00000),
    # In the first group the sum overflows; the second takes infinity on.
    "an infinite sum": mfma("cdna3", BF16, 16, {0: (p(64), 1.5 * p(63)), 1: (p(64), p(63)), 9: UNIT}, 0, INF),
}  # fmt: skip


FAMILIES = {"NVIDIA": NVIDIA, "block scales": BLOCK_SCALES, "CDNA 1 and 2": TREES, "CDNA 3": LATE}


@each_row(*((family, name, case) for family, cases in FAMILIES.items() for name, case in cases.items()))
def test_elements(family: str, name: str, case: Case) -> None:
    assert len(FAMILIES[family]) >= 12
    check(case)


# What explanations are made of.


def test_steps_of_a_fused_sum() -> None:
    """1 + 2^-12 * 1.5 * 2^-12 - 2^-30: F = 25, so that 1.5 * 2^-24 is 3 units of 2^-25, and 2^-30 none."""
    case = Case("hopper", F16, K16, {0: (p(-12), 1.5 * p(-12)), 5: (-p(-14), p(-16))}, 1.0, 1.0)
    code, trace, _ = run(case)
    alignment, result = trace
    assert isinstance(alignment, Alignment)
    assert alignment.members == (*(Members((k,)) for k in range(16)), Members((), True))
    assert (alignment.largest, alignment.unit, set(alignment.cuts)) == (0, -25, {"toward_zero"})
    assert (alignment.kept[0], alignment.kept[5], alignment.kept[16]) == (3, 0, 1 << 25)
    assert alignment.total == (1 << 25) + 3
    assert (alignment.lost[0], alignment.lost[5], alignment.lost[16]) == (0, -p(-30), 0)
    assert alignment.exponents[0] == -24
    assert Fraction(alignment.significands[0], 1 << alignment.fraction_bits[0]) == 1.5
    assert result == RoundedResult(Members(tuple(range(16)), True), "f32", code, last=True)
    assert code == code_of("f32", 1.0)  # 3 units are less than 2^-23


def test_steps_of_two_groups() -> None:
    code, trace, _ = run(NVIDIA["Ampere splits K"])
    assert [type(step) for step in trace] == [Alignment, RoundedResult, Alignment, RoundedResult]
    assert [step.code for step in trace if isinstance(step, RoundedResult)] == [0, code]


def test_steps_of_a_late_sum() -> None:
    code, trace, _ = run(LATE["even and odd"])
    first, second, both, with_c, rounded = trace[:5]
    assert isinstance(first, Alignment)
    assert isinstance(second, Alignment)
    assert isinstance(both, Alignment)
    assert isinstance(with_c, Alignment)
    assert [each.products for each in first.members] == [(k,) for k in range(0, 16, 2)]
    assert (first.largest, first.total) == (14, 1 << 24)
    assert (second.largest, second.total) == (-11, -(1 << 24))
    assert both.cuts == ("downward", "downward")
    assert (both.kept, both.lost) == ((1 << 24, -1), (0, p(-10) - p(-11)))
    assert with_c.members == (Members(tuple(range(16))), Members((), True))
    assert with_c.total * p(with_c.unit) == p(14) - p(-10)
    assert rounded == RoundedResult(Members(tuple(range(16)), True), "f32", code, last=True)


def test_steps_of_a_tree() -> None:
    _, trace, _ = run(TREES["sums of two"])
    numbers = [
        (step.members, scalar.value(FORMATS["f32"], step.code)) for step in trace[:8] if isinstance(step, RoundedResult)
    ]
    assert numbers == [
        (((0,), False), p(24)), (((1,), False), 1), (((2,), False), 1), (((3,), False), -p(24)),
        (((0, 1), False), p(24)), (((2, 3), False), 1 - p(24)), (((0, 1, 2, 3), False), 1), (((0, 1, 2, 3), True), 1),
    ]  # fmt: skip


def test_steps_of_exact_and_ieee() -> None:
    op = TileOp("by hand", "f16", "f16", "f16", "f16", (1, 1, 2))
    row, column = (np.array([code_of("f16", x) for x in side], np.uint16) for side in ((3.0, p(-12)), (5.0, p(-12))))
    code, (total,) = models.explain("exact", op, row, column, code_of("f16", 0.25))
    assert total == ExactSum((Fraction(15), p(-24), Fraction(1, 4)), Fraction(61, 4) + p(-24))
    assert code == code_of("f16", 15.25)
    code, steps = models.explain("ieee", op, row, column, code_of("f16", 0.25))
    assert steps == [RoundedResult(Members((k,), True), "f16", code_of("f16", 15.25)) for k in (0, 1)]
