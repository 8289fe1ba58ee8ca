"""scalar.py against LLVM's own APFloat in all five modes: equal, except for the rows of two tables.

A row says which cases it covers and predicts what APFloat returns there; nothing is skipped. A difference that no row
predicts fails, and so does a row that covers another number of cases than the one pinned beside it.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import pytest
from float_samples import codes, interesting, pairs

from halfulp.conformance.oracles import apfloat
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.policy import Flags, FloatPolicy, Rounding

pytestmark = pytest.mark.mlir

ARITHMETIC = ("add", "subtract", "multiply", "divide", "remainder")
MODES = tuple(Rounding)[:5]
RNE, RD, RU, RZ, RNA = MODES
E8M0, F80 = FORMATS["f8E8M0FNU"], FORMATS["f80"]
NANLESS = tuple(fmt for fmt in FORMATS.values() if fmt.nan is NanEncoding.NONE)


class Case(NamedTuple):
    """One call: ``src`` is None for integers, ``dst`` is None for integer results; ``a`` may be an integer's value."""

    op: str
    src: FloatFormat | None
    dst: FloatFormat | None
    operands: tuple[int, ...]
    rounding: Rounding


# What APFloat computes where it differs on purpose.


def seen_as_nan(code: int) -> int | None:
    """Return an f80 code that APFloat takes for a NaN, as the NaN it becomes: the integer bit stays as it is."""
    field, significand = code >> 64 & 0x7FFF, code & (1 << 64) - 1
    invalid = field and not significand >> 63
    nan = invalid or (field == 0x7FFF and significand != 1 << 63)
    return (code >> 79) << 79 | 0x7FFF << 64 | significand | 1 << 62 if nan else None


def converted_f80_nan(case: Case) -> int:
    """Return an invalid f80 code as APFloat converts it: quieted, its fraction bits and its sign kept."""
    assert case.dst is not None
    dst, code = case.dst, case.operands[0]
    sign = code >> 79 << (dst.bits - 1) if dst.signed else 0
    if dst.nan is not NanEncoding.IEEE:
        return (dst.nan_code or 0) | sign
    fraction = (code & (1 << 63) - 1) << dst.mantissa_bits >> 63
    return sign | (dst.nan_code or 0) | fraction


def negated_f80(case: Case) -> int:
    """Return an f80 code that is not canonical, after a round trip through APFloat, with the other sign."""
    code = case.operands[0]
    field = 0x7FFF if code >> 64 & 0x7FFF else 1
    return (code >> 79 ^ 1) << 79 | field << 64 | code & (1 << 64) - 1


def first_nan(case: Case) -> int | None:
    return next((nan for nan in map(seen_as_nan, case.operands) if nan is not None), None)


def nan_operand_sign(case: Case) -> int:
    """Return the sign of the NaN that a conversion starts from; those of FNUZ formats have none."""
    assert case.src is not None
    return scalar.unpack(case.src, case.operands[0]).sign


def e8m0_magnitude(number: Fraction, rounding: Rounding) -> int:
    """Return a non-zero number in f8E8M0FNU by APFloat: the code of its magnitude with the sign bit ORed into it.

    What rounds to zero has no sign.
    """
    magnitude, negative = abs(number), number < 0
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    low = Fraction(2) ** exponent
    away = rounding == (RD if negative else RU)
    if exponent < -127:
        nearest_up = magnitude > Fraction(2) ** -128 or (rounding == RNA and magnitude == Fraction(2) ** -128)
        return negative << 7 if (nearest_up if rounding in (RNE, RNA) else away) else 0
    up = magnitude != low and (2 * magnitude >= 3 * low if rounding in (RNE, RNA) else away)
    code = exponent + up + 127
    if code > 254:
        code = 255 if rounding in (RNE, RNA) or away else 254
    return code | negative << 7


def source_number(case: Case) -> Fraction | None:
    if case.op == "subtract":
        a, b = (scalar.value(E8M0, code) for code in case.operands)
        return None if a is None or b is None else a - b
    if case.op == "from_integer":
        return Fraction(case.operands[0])
    return scalar.value(case.src, case.operands[0]) if case.src else None


def negative_e8m0(case: Case) -> bool:
    if case.dst is not E8M0 or case.op not in ("subtract", "convert", "from_integer"):
        return False
    number = source_number(case)
    return number is not None and number < 0


def converts(case: Case, *, nan: bool = False, infinite: bool = False) -> bool:
    if case.op != "convert" or case.src is None:
        return False
    kind = scalar.unpack(case.src, case.operands[0]).kind
    return (nan and kind >= scalar.QUIET_NAN) or (infinite and kind == scalar.INFINITE)


@dataclass(frozen=True)
class Deviation:
    """Cases in which APFloat returns another code, what it returns, why, and how many the two runs have."""

    name: str
    applies: Callable[[Case], bool]
    predict: Callable[[Case], int]
    why: str
    sampled: int
    exhaustive: int


def division_sign(case: Case) -> int:
    assert case.dst is not None
    return (case.operands[0] ^ case.operands[1]) & (case.dst.sign_mask or 0)


DEVIATIONS = (
    Deviation(
        "invalid f80 operands in conversions",
        lambda c: c.op == "convert" and c.src is F80 and F80.is_invalid(c.operands[0]),
        converted_f80_nan,
        "APFloat takes unnormals, pseudo-infinities and pseudo-NaNs for NaNs whose sign and payload are kept; ours are "
        "signalling NaNs that give the default NaN.",
        970, 12585,
    ),
    Deviation(
        "negf of f80 codes that are not canonical",
        lambda c: c.op == "negate" and c.src is F80
        and (F80.is_invalid(c.operands[0]) or (not c.operands[0] >> 64 & 0x7FFF and bool(c.operands[0] >> 63 & 1))),
        negated_f80,
        "A round trip through APFloat rewrites the exponent field; ours flips the sign bit alone.",
        11, 516,
    ),
    Deviation(
        "x / 0 in f4 and f6",
        lambda c: c.op == "divide" and c.dst in NANLESS and scalar.unpack(c.dst, c.operands[1]).significand == 0
        and scalar.unpack(c.dst, c.operands[0]).significand != 0,
        division_sign,
        "APFloat makes an infinity, which has no code, and stores its zero significand; ours is the largest value.",
        215, 1380,
    ),
    Deviation(
        "0 / 0 and x rem 0 in f4 and f6",
        lambda c: c.op in ("divide", "remainder") and c.dst in NANLESS
        and scalar.unpack(c.dst, c.operands[1]).significand == 0,
        lambda c: 0,
        "APFloat makes a NaN, which has no code, and stores zero; ours is poison.",
        265, 1500,
    ),
    Deviation(
        "NaN or infinity to f4 and f6",
        lambda c: c.dst in NANLESS and converts(c, nan=True, infinite=True),
        lambda c: nan_operand_sign(c) * (c.dst.sign_mask or 0) if c.dst else 0,
        "As above: zero, with the sign of the operand; ours are poison and the largest value (llvm issue 185351).",
        3150, 41175,
    ),
    Deviation(
        "negative into f8E8M0FNU",
        negative_e8m0,
        lambda c: e8m0_magnitude(source_number(c) or Fraction(0), c.rounding),
        "APFloat ORs the sign bit into the code of the magnitude; ours is NaN (llvm issue 215445).",
        2027, 190974,
    ),
    Deviation(
        "negf of f8E8M0FNU",
        lambda c: c.op == "negate" and c.src is E8M0,
        lambda c: c.operands[0] | 0x80,
        "As above.",
        86, 4219,
    ),
    Deviation(
        "NaN of f8E8M0FNU to formats with infinities",
        lambda c: c.src is E8M0 and c.dst is not None and c.dst.infinities and converts(c, nan=True),
        lambda c: (c.dst.infinity_code or 0) if c.dst else 0,
        "The NaN has an empty significand, which those formats read as infinity; ours stays NaN (llvm issue 214919).",
        50, 100,
    ),
    Deviation(
        "NaN of FNUZ formats to f8E4M3FN",
        lambda c: c.dst is FORMATS["f8E4M3FN"] and c.src is not None and c.src.nan is NanEncoding.NEGATIVE_ZERO
        and converts(c, nan=True),
        lambda c: 0xFF,
        "APFloat keeps the set sign bit of the code 0x80; to us that NaN has no sign.",
        15, 30,
    ),
    Deviation(
        "invalid f80 operands in arithmetic",
        lambda c: c.op in ARITHMETIC and c.dst is F80 and any(map(F80.is_invalid, c.operands)),
        lambda c: first_nan(c) or 0,
        "As in conversions, and the integer bit of the result stays clear.",
        1475, 559050,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class FlagDeviation:
    """Cases of equal codes with other status flags: ours, APFloat's, and why."""

    name: str
    applies: Callable[[Case, scalar.Result], bool]
    predict: Callable[[int], int]
    why: str
    sampled: int
    exhaustive: int


def magnitude(fmt: FloatFormat | None, code: int) -> int:
    assert fmt is not None
    return code & (fmt.code_mask >> fmt.signed)


OVERFLOW, UNDERFLOW, INEXACT, INVALID = (
    int(flag) for flag in (Flags.OVERFLOW, Flags.UNDERFLOW, Flags.INEXACT, Flags.INVALID)
)
FLAG_DEVIATIONS: tuple[FlagDeviation, ...] = (
    FlagDeviation(
        "overflow that gives the largest value",
        lambda c, ours: bool(ours.flags & OVERFLOW) and c.dst is not None
        and magnitude(c.dst, ours.code) == c.dst.max_code,
        lambda flags: flags & ~OVERFLOW,
        "APFloat reports overflow with infinities only; IEEE 754 (7.4) signals it whatever the result.",
        12044, 821494,
    ),
    FlagDeviation(
        "tiny, rounded to the smallest normal value",
        lambda c, ours: bool(ours.flags & UNDERFLOW) and c.dst is not None
        and magnitude(c.dst, ours.code) == c.dst.min_normal_code,
        lambda flags: flags & ~UNDERFLOW,
        "APFloat looks at the rounded code; ours rounds as if the exponent were unbounded (IEEE 754, 7.5).",
        247, 25849,
    ),
    FlagDeviation(
        "zero into f8E8M0FNU",
        lambda c, ours: c.dst is E8M0 and ours.code == 0 and ours.flags == INEXACT,
        lambda flags: 0,
        "The result is 2**-127, not zero: ours says so.",
        935, 169515,
    ),
    FlagDeviation(
        "-infinity to f8E8M0FNU",
        lambda c, ours: c.dst is E8M0 and converts(c, infinite=True) and ours.flags == INVALID,
        lambda flags: INEXACT,
        "To us it is a negative value in an unsigned format.",
        60, 745,
    ),
    FlagDeviation(
        "infinity replaced by NaN",
        lambda c, ours: converts(c, infinite=True) and ours.flags == OVERFLOW | INEXACT,
        lambda flags: INEXACT,
        "APFloat calls it inexact only; ours is an overflow too.",
        515, 6630,
    ),
    FlagDeviation(
        "-0 to FNUZ formats",
        lambda c, ours: c.op == "convert" and c.dst is not None and c.dst.nan is NanEncoding.NEGATIVE_ZERO
        and ours == scalar.Result(0),
        lambda flags: INEXACT,
        "APFloat calls the loss of the sign inexact; the value is exact.",
        255, 2235,
    ),
)  # fmt: skip


def our_result(case: Case, width: int = 0, signed: bool = False) -> scalar.Result:
    if case.op == "convert":
        assert case.src is not None
        assert case.dst is not None
        return scalar.convert(case.src, case.dst, case.operands[0], case.rounding)
    if case.op == "from_integer":
        assert case.dst is not None
        return scalar.from_integer(case.dst, case.operands[0], case.rounding)
    if case.op == "to_integer":
        assert case.src is not None
        return scalar.to_integer(case.src, case.operands[0], width, signed, case.rounding)
    if case.op == "negate":
        return scalar.negate(case.src, case.operands[0])  # type: ignore[arg-type]
    result: scalar.Result = getattr(scalar, case.op)(case.dst, *case.operands, case.rounding)
    return result


class Tally:
    """Compares case by case and counts what each row covers."""

    def __init__(self) -> None:
        self.llvm = apfloat.load()
        self.cases = 0
        self.covered: Counter[str] = Counter()
        self.unexplained: list[str] = []

    def check(self, case: Case, ours: scalar.Result, theirs: tuple[int, int]) -> None:
        self.cases += 1
        row = next((row for row in DEVIATIONS if row.applies(case)), None)
        if row is not None:
            if row.predict(case) != theirs[0]:
                self.report(case, ours, theirs, f"{row.name}: predicted {row.predict(case):#x}")
            self.covered[row.name] += ours.poison or ours.code != theirs[0]
            return
        if ours.poison or ours.code != theirs[0]:
            self.report(case, ours, theirs, "code")
        elif ours.flags != theirs[1]:
            flag_row = next((row for row in FLAG_DEVIATIONS if row.applies(case, ours)), None)
            if flag_row is None or flag_row.predict(ours.flags) != theirs[1]:
                self.report(case, ours, theirs, f"flags {flag_row.name if flag_row else ''}")
            else:
                self.covered[flag_row.name] += 1

    def report(self, case: Case, ours: scalar.Result, theirs: tuple[int, int], what: str) -> None:
        operands = ", ".join(map(hex, case.operands))
        self.unexplained.append(
            f"{what}: {case.op} {case.src} -> {case.dst} ({operands}) {case.rounding.name}: "
            f"ours {'poison' if ours.poison else hex(ours.code)} {Flags(ours.flags)!r}, "
            f"APFloat {theirs[0]:#x} {Flags(theirs[1])!r}"
        )

    def arithmetic(self, fmt: FloatFormat, cases: Iterator[tuple[int, int]]) -> None:
        for a, b in cases:
            for op in ARITHMETIC:
                for rounding in MODES:
                    case = Case(op, fmt, fmt, (a, b), rounding)
                    self.check(case, our_result(case), self.llvm.binary(op, fmt, a, b, rounding))

    def conversions(self, src: FloatFormat, dst: FloatFormat, sample: list[int]) -> None:
        for a in sample:
            for rounding in MODES:
                case = Case("convert", src, dst, (a,), rounding)
                self.check(case, our_result(case), self.llvm.convert(src, dst, a, rounding))


def sample_pairs(fmt: FloatFormat, count: int) -> Iterator[tuple[int, int]]:
    if fmt.bits > 8:
        return zip(*pairs(fmt, count, 41), strict=True)
    rng = random.Random(fmt.name)
    return ((rng.getrandbits(fmt.bits), rng.getrandbits(fmt.bits)) for _ in range(count))


def run_all(exhaustive: bool) -> Tally:
    tally = Tally()
    for fmt in FORMATS.values():
        if exhaustive and fmt.bits <= 8:
            every = 1 << fmt.bits
            tally.arithmetic(fmt, ((a, b) for a in range(every) for b in range(every)))
        else:
            tally.arithmetic(fmt, sample_pairs(fmt, 100_000 if exhaustive else 250))
    for src in FORMATS.values():
        if src.bits <= 8:
            sample = (
                list(range(1 << src.bits)) if exhaustive else random.Random(src.name).sample(range(1 << src.bits), 8)
            )
        else:
            sample = codes(src, 2000 if exhaustive else 30, 42)
        for dst in FORMATS.values():
            if src is not dst:
                tally.conversions(src, dst, sample + interesting(src))
    for fmt in FORMATS.values():
        sample = interesting(fmt) + codes(fmt, 5000 if exhaustive else 100, 43)
        for a in sample:
            case = Case("negate", fmt, fmt, (a,), RNE)
            tally.check(case, our_result(case), tally.llvm.negate(fmt, a))
            for rounding in MODES:
                for width, signed in ((1, 1), (1, 0), (8, 1), (8, 0), (32, 1), (64, 0), (128, 1)):
                    case = Case("to_integer", fmt, None, (a,), rounding)
                    ours = our_result(case, width, bool(signed))
                    theirs = tally.llvm.to_integer(fmt, a, width, bool(signed), rounding)
                    if ours.poison:  # APFloat saturates there
                        theirs = (theirs[0] if not theirs[1] & INVALID else 0, theirs[1])
                        ours = ours._replace(poison=False)
                    tally.check(case, ours, theirs)
        rng = random.Random(fmt.name)
        for width in (1, 8, 32, 64, 80, 128, 1024):
            for _ in range(500 if exhaustive else 15):
                code = rng.getrandbits(rng.randint(1, width))
                for signed in (False, True):
                    number = code - (1 << width) if signed and code >> (width - 1) else code
                    for rounding in MODES:
                        case = Case("from_integer", None, fmt, (number,), rounding)
                        theirs = tally.llvm.from_integer(fmt, code, width, signed, rounding)
                        tally.check(case, our_result(case), theirs)
    return tally


def assert_explained(tally: Tally, attribute: str) -> None:
    assert not tally.unexplained, f"{len(tally.unexplained)} unexplained, such as\n" + "\n".join(tally.unexplained[:20])
    rows: tuple[Deviation | FlagDeviation, ...] = (*DEVIATIONS, *FLAG_DEVIATIONS)
    assert {row.name: tally.covered[row.name] for row in rows} == {row.name: getattr(row, attribute) for row in rows}


@pytest.mark.parametrize(
    ("sample", "cases"), [("sampled", 298_123), pytest.param("exhaustive", 36_141_313, marks=pytest.mark.exhaustive)]
)
def test_every_difference_is_explained(sample: str, cases: int) -> None:
    """Exhaustive: every pair of every format of up to 8 bits, and 100,000 adversarial pairs of each larger one."""
    tally = run_all(exhaustive=sample == "exhaustive")
    assert_explained(tally, sample)
    assert tally.cases == cases


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_compare(fmt: FloatFormat) -> None:
    llvm = apfloat.load()
    for a, b in sample_pairs(fmt, 500):
        if fmt.is_invalid(a) or fmt.is_invalid(b):
            continue
        theirs = llvm.compare(fmt, a, b)
        for predicate, holds in enumerate(scalar.PREDICATES):
            assert scalar.compare(fmt, predicate, a, b) == bool(holds & theirs), (hex(a), hex(b), predicate)


FOLD = FloatPolicy(
    nan_to_nanless="zero", infinity_to_nanless="zero", divide_by_zero_nanless="zero", negative_to_unsigned="sign_bit",
    zeroless_nan_widened="infinity", number_of_signalling="quieted",
)  # fmt: skip


@pytest.mark.parametrize("dst", [*NANLESS, E8M0], ids=str)
def test_policy_of_mlir_fold(dst: FloatFormat) -> None:
    """The policy that models MLIR's folder, which computes with APFloat, removes the rows of f4, f6 and f8E8M0FNU."""
    llvm = apfloat.load()
    for a, b in sample_pairs(dst, 400):
        for op in ARITHMETIC:
            for rounding in MODES:
                theirs, _ = llvm.binary(op, dst, a, b, rounding)
                ours = getattr(scalar, op)(dst, a, b, rounding, FOLD)
                assert (ours.code, ours.poison) == (theirs, False), (op, hex(a), hex(b), rounding)
        assert scalar.negate(dst, a, FOLD).code == llvm.negate(dst, a)[0]
    for src in FORMATS.values():
        for a in interesting(src) + codes(src, 60, 44):
            if src.is_invalid(a):
                continue
            for rounding in MODES:
                theirs, _ = llvm.convert(src, dst, a, rounding)
                ours = scalar.convert(src, dst, a, rounding, FOLD)
                assert (ours.code, ours.poison) == (theirs, False), (src.name, hex(a), rounding)


@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS.values() if fmt.bits <= 64], ids=str)
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("minimum", "minimum"), ("maximum", "maximum"), ("minnum", "minimum_number"), ("maxnum", "maximum_number")],
)
def test_extrema(fmt: FloatFormat, theirs: str, ours: str) -> None:
    """MLIR's run-time library, and the folder's policy; in ours a number wins over a signalling NaN."""
    function = apfloat.wrapper(theirs)
    for a, b in sample_pairs(fmt, 800):
        result = function(fmt, a, b)
        assert getattr(scalar, ours)(fmt, a, b, FOLD).code == result, (hex(a), hex(b))
        if not (fmt.is_signalling(a) or fmt.is_signalling(b)):
            assert getattr(scalar, ours)(fmt, a, b).code == result, (hex(a), hex(b))
