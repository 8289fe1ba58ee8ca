"""The declared domains of the quick paths: which path an operation takes on which formats, modes and policies.

Two kinds of code take a path: NumPy's operations on arrays (`fast`, `fast_conversions`) and descriptions on machine
words (`word_floats`). Both ask here, and enumerating tests compare each with `exact` over its whole domain.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.policy import MLIR_ROUNDINGS, SPEC, FloatPolicy
from halfulp.fp_formats.scalar import OVERFLOW, RNE, STOCHASTIC

F32, F64 = FORMATS["f32"], FORMATS["f64"]
NATIVE: dict[FloatFormat, np.dtype[Any]] = {F32: np.dtype("f4"), F64: np.dtype("f8")}
NATIVE_INTEGERS = {8: "i1", 16: "i2", 32: "i4", 64: "i8"}
# Casts that NumPy (for bf16: ml_dtypes) rounds once, to nearest even. NumPy's casts to f16 are not among them: an
# element that overflows or underflows takes hundreds of nanoseconds.
CASTS = (("f32", "f64"), ("f64", "f32"), ("f32", "bf16"), ("bf16", "f32"))
THROUGH_F32 = (FORMATS["bf16"], FORMATS["f16"])
ARITHMETIC = ("add", "subtract", "multiply", "divide")
MAXIMA, MINIMA = ("maximum", "maximum_number"), ("minimum", "minimum_number")
SUMS = (("f32", "f16"), ("f64", "f16"), ("f64", "bf16"))
TABLE_BITS = 21  # the longest codes that index a table: f16 needs this many bits of f32
BESIDE_BITS = 18  # the longest codes that index a table which only takes the elements that a cast cannot convert


@cache
def dtype_of(fmt: FloatFormat) -> np.dtype[Any]:
    """Return the dtype of NumPy or ml_dtypes whose values are those of f16, bf16, f32 or f64."""
    if fmt == FORMATS["bf16"]:
        import ml_dtypes  # only here: importing it takes time

        bf16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bf16
    return np.dtype(np.float16) if fmt == FORMATS["f16"] else NATIVE[fmt]


class ConversionPath(NamedTuple):
    """The way in which a conversion is computed: its kind, and for a table the format of its indices and the number of
    bits that it drops.

    native: a cast of `CASTS`; `exact` computes NaNs and, if overflow saturates, numbers above the largest value of the
    format. sum: the same for the formats of `SUMS`, by adding a power of two, which rounds (see `narrow`). table: a
    table of the source's codes, rounded to odd to the format ``head``, which drops ``shift`` bits. through_f32: two
    conversions, because the policy requires rounding twice. flushed: flush the subnormals of f32 first, if a policy
    flushes those of f32 but not those of the destination. exact: no quicker path.
    """

    kind: str
    head: FloatFormat | None = None
    shift: int = 0


EXACT, FLUSHED = ConversionPath("exact"), ConversionPath("flushed")


@llvm.forgotten
@lru_cache(maxsize=4096)
def conversion_path(
    src: FloatFormat, dst: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC
) -> ConversionPath:
    """Return the path of conversions from ``src`` to ``dst``. Flags and stochastic rounding need the path `EXACT`."""
    if rounding == STOCHASTIC or src.limbs > 1 or dst.limbs > 1:
        return EXACT
    if src == F32 and dst != F32 and policy.without_f32 is not policy:
        return FLUSHED if policy.flushing(F32).operands or not policy.flushing(dst).operands else EXACT
    plain = rounding == RNE and not flushes(src, dst, policy) and llvm.keeps_subnormals()
    if src.bits > 32 and (scalar.through_f32(dst, policy) or scalar.cuts(dst, policy)):
        return ConversionPath("through_f32") if src == F64 else EXACT
    if plain and src in FORMATS.values() and dst in FORMATS.values():
        for kind, pairs in (("native", CASTS), ("sum", SUMS)):
            if (src.name, dst.name) in pairs:
                return ConversionPath(kind)
    return table_path(src, dst)


def flushes(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether a policy flushes operands or results of a conversion."""
    return policy.flushing(src).operands or policy.flushing(dst).results


@lru_cache(maxsize=4096)
def table_path(src: FloatFormat, dst: FloatFormat) -> ConversionPath:
    """Return the path by a table, for all modes and policies, or `EXACT`.

    Codes of up to 16 bits are indices themselves. Longer codes are first rounded to odd, to the sign, the exponent and
    the leading fraction bits. Two bits more than the precision of the destination are enough: the shorter codes round
    like the source in every mode, and keep the part of a NaN that the destination has.
    """
    if src.bits <= 16:
        return ConversionPath("table", src)
    kept = dst.mantissa_bits + 2 + max(0, src.emin - dst.emin)
    bits = src.signed + src.exponent_bits + kept
    splits = src.nan is NanEncoding.IEEE and src.zero and not src.explicit_integer_bit
    if splits and kept < src.mantissa_bits and bits <= TABLE_BITS:
        head = FloatFormat(f"head of {src.name}", src.exponent_bits, kept, src.bias, src.signed)
        return ConversionPath("table", head, src.mantissa_bits - kept)
    return ConversionPath("table", src) if src.bits <= TABLE_BITS else EXACT


@llvm.forgotten
@lru_cache(maxsize=256)
def only_moves(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Tell whether a conversion from a format whose codes are the eight bits of an exponent only shifts the codes to
    the left, and sets the highest fraction bit for the first and the last code.
    """
    exponents = src.nan is NanEncoding.ALL_ONES and not (src.zero or src.signed or src.mantissa_bits)
    same = (dst.exponent_bits, dst.bias, dst.nan, dst.zero) == (src.exponent_bits, src.bias, NanEncoding.IEEE, True)
    if not (exponents and same) or dst.limbs > 1 or rounding == STOCHASTIC or src.bits != 8 or dst.bits < 9:
        return False
    ends = (0, 1), (src.code_mask, 2 * src.code_mask + 1)
    return all(
        scalar.convert(src, dst, code, rounding, policy).code == wanted << dst.mantissa_bits - 1
        for code, wanted in ends
    )


class Nans(NamedTuple):
    """The constants that turn NaNs of one format into NaNs of another.

    The results have the bits ``nan``; negative ones get ``sign``; ``payload`` are the bits that come from the fraction,
    which is ``shift`` bits longer than the result's.
    """

    src: FloatFormat
    dst: FloatFormat
    nan: int
    sign: int
    payload: int
    shift: int

    def convert(self, codes: Codes) -> Codes:
        """Convert codes that are NaNs."""
        if self.shift == self.src.bits - self.dst.bits > 0:  # one shift also moves the sign
            kept = (codes >> self.shift) & (self.payload | self.sign)
            return np.asarray((kept | self.nan).astype(self.dst.storage_dtype))
        wider = codes if self.shift > 0 else codes.astype(self.dst.storage_dtype)
        unsigned = wider.dtype.type
        payload = wider >> unsigned(self.shift) if self.shift > 0 else wider << unsigned(-self.shift)
        negative = codes >> codes.dtype.type(self.src.bits - 1)
        # A sign is one bit, so that the product is the sign or nothing.
        result = (payload & unsigned(self.payload)) | (negative.astype(unsigned) * unsigned(self.sign))
        return np.asarray((result | unsigned(self.nan)).astype(self.dst.storage_dtype))


@lru_cache(maxsize=4096)
def nans_of(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> Nans | None:
    """Return the constants of the conversion of NaNs, if both formats fit in one word and have a sign and NaNs like
    those of IEEE 754.
    """
    code = src.nan_code
    if not all(fmt.signed and fmt.nan is NanEncoding.IEEE and fmt.limbs == 1 for fmt in (src, dst)) or code is None:
        return None
    nan, negative, full = (
        scalar.convert(src, dst, each, RNE, policy).code
        for each in (code, code | (src.sign_mask or 0), src.magnitude_mask)
    )
    return Nans(src, dst, nan, nan ^ negative, nan ^ full, src.mantissa_bits - dst.mantissa_bits)


def _format_of_sums(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> FloatFormat | None:
    """Return f32 or f64: the format whose sums round to nearest even to ``dst``, and in which all powers of two that
    are added are normal. None if there is none.
    """
    rules = (
        src in NATIVE and dst.bits <= 16 and not dst.explicit_integer_bit,
        src == F32 or not (scalar.through_f32(dst, policy) or scalar.cuts(dst, policy)),
        dst.nan is not NanEncoding.NONE or policy.float_to_nanless == "rounded",
        dst.signed or (dst.nan is NanEncoding.ALL_ONES and policy.negative_to_unsigned == "nan"),
        dst.zero or (policy.zero_to_zeroless == "smallest" and policy.float_to_zeroless == "rounded"),
    )
    if not all(rules):
        return None
    for sums in dict.fromkeys((src, F64)):
        surplus = sums.mantissa_bits - dst.mantissa_bits
        if surplus > 0 and sums.emin <= dst.emin and dst.emax + 1 + surplus <= sums.emax:
            return sums
    return None


class Sums(NamedTuple):
    """The constants of a conversion from f32 or f64 to a format of up to 16 bits that rounds by adding a number (see
    `word_floats`).
    """

    result: FloatFormat
    #: The format of the sums.
    fmt: FloatFormat
    #: Magnitudes are clamped to the range from ``smallest`` to ``largest``.
    smallest: float
    largest: float
    #: ``exponents``: the mask of the exponent bits. The power of two that is added has the exponent bits of the number,
    #: at least ``least``, plus ``up``. ``lowest`` and ``surplus`` turn it into the exponent of the result.
    exponents: int
    least: int
    up: int
    lowest: int
    surplus: int
    #: The bits that are set in the codes of negative results.
    negative: int
    #: The code of a result that is replaced by 0.
    hole: int
    #: The results that sums do not give, such as those of overflow: see `End`.
    ends: tuple[End, ...]
    #: The result for -0, if it differs from the results of other negative numbers.
    minus_zero: int | None
    #: The constants by which NaNs keep their bits; None if ``ends`` has the results of all NaNs.
    nans: Nans | None


class End(NamedTuple):
    """The result of all numbers whose magnitude is above ``above``, a code of the source.

    ``codes``: the result for positive numbers and the one for negative numbers; None if the description refuses these
    numbers. If several ends apply to a number, the last one counts.
    """

    above: int
    codes: tuple[int, int] | None


@llvm.forgotten
@lru_cache(maxsize=4096)
def sums_of(src: FloatFormat, dst: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC) -> Sums | None:
    """Return the constants of a conversion to nearest even that rounds by adding a number; None if this method cannot
    compute the conversion.
    """
    if rounding != RNE or dst.even_code or flushes(src, dst, policy) or not llvm.keeps_subnormals():
        return None
    sums = _format_of_sums(src, dst, policy)
    if sums is None:
        return None
    sign, one = dst.sign_mask or 0, 1 << sums.mantissa_bits
    surplus = sums.mantissa_bits - dst.mantissa_bits
    least, up = (dst.emin + sums.bias) * one, surplus * one
    ends, nans = _ends(src, dst, policy)
    return Sums(
        dst,
        sums,
        0.0 if dst.zero else 2.0**dst.emin,
        2.0 ** (dst.emax + 1),
        sums.magnitude_mask - sums.fraction_mask,
        least,
        up,
        least + up + one - dst.min_normal_magnitude * (one >> dst.mantissa_bits),
        surplus,
        # Without a sign every negative value but -0 is NaN, all ones.
        sign or dst.code_mask,
        sign if sign and not dst.has_negative_zero else 1 << 31,
        ends,
        None if sign else scalar.convert(src, dst, src.sign_mask or 0, RNE, policy).code,
        nans,
    )


def _ends(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> tuple[tuple[End, ...], Nans | None]:
    """Return the results that sums do not give, of numbers that overflow, infinities and NaNs; then how NaNs keep their
    bits, None if the first has all NaNs.
    """

    def outcome(magnitude: int) -> tuple[int, int] | None:
        both = [scalar.convert(src, dst, code, RNE, policy) for code in (magnitude, magnitude | (src.sign_mask or 0))]
        return None if any(each.poison for each in both) else (both[0].code, both[1].code)

    infinity = src.infinity_code or 0
    low, high = scalar.convert(dst, src, dst.max_code).code, infinity  # the first does not overflow, the last one does
    while high - low > 1:
        middle = (low + high) // 2
        if scalar.convert(src, dst, middle, RNE, policy).flags & OVERFLOW:
            high = middle
        else:
            low = middle
    found = []
    if dst.nan is not NanEncoding.IEEE or policy.conversion_saturation(dst).numbers or dst.infinity_code is None:
        if high < infinity:
            found.append(End(low, outcome(high)))
        found.append(End(infinity - 1, outcome(infinity)))
    nans = nans_of(src, dst, policy)
    if nans is None:
        results = {outcome(infinity + payload) for payload in (1, src.fraction_mask, (src.fraction_mask + 1) >> 1)}
        found.append(End(infinity, results.pop() if len(results) == 1 else None))
    merged = [end for n, end in enumerate(found) if not n or end.codes != found[n - 1].codes]
    return tuple(merged), nans


@llvm.forgotten
@lru_cache(maxsize=4096)
def path_of(operation: str, fmt: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC) -> str | None:
    """Return the quicker path of an operation of `exact` on a format, or None. For conversions see `conversion_path`.

    native: NumPy's arithmetic in the format, to nearest even, and its rounding to integers, in every mode. NaN results,
        and the sign of zero in minimum and maximum, are computed apart. error_free: the same in the other modes, moved
        to the neighbour if the sign of the error says so (`error_free`). through_f32: to nearest even, compute in f32
        and round again, which for bf16 and f16 equals rounding once. In the other modes, compute in f32 to odd and
        round in the mode, which is right for formats at least two bits shorter. through_f64: fma of f32 and narrower
        formats, whose products are exact in f64: add in f64 to odd, then round. table: a table of all operands, or all
        pairs, in any mode and policy. bits: integer operations on codes; bf16 and f16 are compared in f32.

    No path gives flags or rounds stochastically.
    """
    if operation == "negate" and fmt.signed and fmt.has_negative_zero and fmt.limbs == 1:
        return "bits"
    if operation in ("negate", "flush"):
        return "table" if fmt.bits <= 16 else None
    if operation == "to_integral":
        flushing = policy.flushing(fmt).any or not llvm.keeps_subnormals()
        native = fmt in NATIVE and rounding in MLIR_ROUNDINGS and not flushing
        return "table" if fmt.bits <= 16 else "native" if native else None
    if operation == "fma":
        quick = fmt in (*THROUGH_F32, F32) and rounding in MLIR_ROUNDINGS
        quick = quick and not policy.arithmetic_saturation(fmt).numbers
        return "through_f64" if quick and not policy.flushing(fmt).any and llvm.keeps_subnormals() else None
    if fmt.bits <= 8 and rounding != STOCHASTIC:
        return "table"
    if policy.flushing(fmt).any or not llvm.keeps_subnormals():
        return None
    if operation in ARITHMETIC and rounding in MLIR_ROUNDINGS and not policy.arithmetic_saturation(fmt).numbers:
        if fmt in NATIVE:
            return "native" if rounding == RNE else "error_free"
        return "through_f32" if fmt in THROUGH_F32 else None
    if operation in MAXIMA + MINIMA and policy.extrema != "value":
        return None
    if operation in MAXIMA + MINIMA or operation == "compare":
        return "native" if fmt in NATIVE else "bits" if fmt in THROUGH_F32 else None
    return None


def between_flushes(operation: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> FloatPolicy | None:
    """Return the policy without its flushing if two things hold: the policy flushes subnormals, and with the returned
    policy a quicker path computes the operation. Operands and results are then flushed in separate steps. Else return
    None.
    """
    rule = policy.flushing(fmt)
    if fmt not in NATIVE or not rule.any or (operation in MAXIMA + MINIMA and not rule.operands):
        return None
    kept = policy.without_flushing
    return kept if path_of(operation, fmt, rounding, kept) in ("native", "through_f64") else None
