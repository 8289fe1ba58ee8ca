"""The rounding modes, the exception flags, and the policy: all that determines a float result except the exact
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum, IntFlag
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import FloatFormat, NanEncoding


class Rounding(IntEnum):
    """The rounding modes. The first five have MLIR's numbers and keywords (see `spelling`). STOCHASTIC needs random
    bits from the caller. TO_ODD gives, of the two values next to an inexact result, the one with the odd code.
    """

    TO_NEAREST_EVEN = 0
    DOWNWARD = 1
    UPWARD = 2
    TOWARD_ZERO = 3
    TO_NEAREST_AWAY = 4
    STOCHASTIC = 5
    TO_ODD = 6

    @property
    def spelling(self) -> str:
        """MLIR's keyword for the mode, as in ``to_nearest_even``."""
        return self.name.lower()


MLIR_ROUNDINGS: tuple[Rounding, ...] = tuple(Rounding)[:5]
"""The modes that MLIR's ops have keywords for."""

_NAMES = {
    Rounding.TO_NEAREST_EVEN: "nearest even nearest_even half_even ties_to_even round_half_even round_ties_to_even "
    "RNE RN RTE",
    Rounding.DOWNWARD: "down floor round_floor toward_negative -inf RD RDN",
    Rounding.UPWARD: "up ceil ceiling round_ceiling toward_positive +inf RU RUP RTP",
    Rounding.TOWARD_ZERO: "zero truncate trunc round_toward_zero RZ RTZ",
    Rounding.TO_NEAREST_AWAY: "nearest_away half_away half_away_from_zero ties_to_away round_ties_to_away RNA RMM",
    Rounding.STOCHASTIC: "SR",
    Rounding.TO_ODD: "odd round_to_odd near_odd RO ROD",
}
ROUNDING_ALIASES: Mapping[Rounding, tuple[str, ...]] = MappingProxyType(
    {mode: tuple(names.split()) for mode, names in _NAMES.items()}
)
"""The other names of each mode. Upper and lower case, ``_``, ``-`` and spaces make no difference."""

MISLEADING_ROUNDINGS: Mapping[str, str] = MappingProxyType(
    {
        "half_up": "ties away from zero in Java and in Python's decimal, ties upward elsewhere",
        "round_half_up": "ties away from zero in Java and in Python's decimal, ties upward elsewhere",
        "half_down": "halfulp has no mode that sends ties down",
        "round_half_down": "halfulp has no mode that sends ties down",
        "round_up": "away from zero in decimal, toward +infinity elsewhere",
        "round_down": "toward zero in decimal, toward -infinity elsewhere",
        "away": "ties away from zero, or every number away from zero",
        "away_from_zero": "ties away from zero, or every number away from zero",
        "round_05up": "halfulp has no such mode",
        "RTN": "to nearest in texts on quantisation, toward -infinity in OpenCL",
    }
)
"""Names that mean different things in different libraries, and modes that there are not; they are refused."""


def _rounding_key(name: str) -> str:
    """Return the part of a name that is compared: small letters and signs, without separators."""
    key = name.strip().casefold()
    return key if key in ("+inf", "-inf") else key.replace("_", "").replace("-", "").replace(" ", "")


_ROUNDINGS = {
    _rounding_key(name): mode for mode in Rounding for name in (mode.spelling, *ROUNDING_ALIASES.get(mode, ()))
}
_MISLEADING = {_rounding_key(name): why for name, why in MISLEADING_ROUNDINGS.items()}


def as_rounding(rounding: Rounding | str) -> Rounding:
    """Return the rounding mode for a mode, for MLIR's keyword, or for another common name (`ROUNDING_ALIASES`).

        as_rounding("RNE")   # Rounding.TO_NEAREST_EVEN

    Raises ValueError for any other name, and for one that libraries understand differently, such as "half_up".
    """
    if isinstance(rounding, Rounding):
        return rounding
    key = _rounding_key(rounding) if isinstance(rounding, str) and len(rounding) < _LONGEST else ""
    if key in _ROUNDINGS:
        return _ROUNDINGS[key]
    choices = ", ".join(mode.spelling for mode in Rounding)
    shown = repr(rounding) if len(repr(rounding)) <= _LONGEST else f"{repr(rounding)[:_LONGEST]}..."
    message = f"rounding is {shown}, but must be one of {choices}"
    if key in _MISLEADING:
        raise ValueError(with_hint(message, f"{rounding!r} is not clear: {_MISLEADING[key]}"))
    known = [mode.spelling for mode in Rounding] + [name for names in ROUNDING_ALIASES.values() for name in names]
    raise ValueError(with_hint(message, did_you_mean(key and str(rounding).strip(), known)))


_LONGEST = 60


class Flags(IntFlag):
    """The exception flags of IEEE 754, with the bits of TestFloat and of RISC-V's fflags."""

    INEXACT = 0x01
    UNDERFLOW = 0x02
    OVERFLOW = 0x04
    DIVIDE_BY_ZERO = 0x08
    INVALID = 0x10


class Flushing(NamedTuple):
    """Whether subnormal operands and results of a format become zero, and whether that zero is always positive.

    ``delivered``: a result is flushed if its code is subnormal, not if the policy's ``tininess`` says that it is tiny.
    """

    operands: bool
    results: bool
    positive: bool
    delivered: bool = False

    @property
    def any(self) -> bool:
        """True if operands or results are flushed."""
        return self.operands or self.results


# The table of the fields. `FloatPolicy` and `Profile` inherit it; the documentation prints it.


class Choice(NamedTuple):
    """A field with a fixed set of values: what it decides, and the meaning of each value. The first value is the
    default.
    """

    subject: str
    meanings: Mapping[str, str]

    @property
    def values(self) -> tuple[str, ...]:
        """The values, the default first."""
        return tuple(self.meanings)


def one_of(subject: str, **meanings: str) -> Any:
    """Declare a field of a dataclass as a `Choice`. ``subject`` says what the field decides. Each keyword is one of its
    values, with the meaning of this value as text.
    """
    choice = Choice(subject, MappingProxyType(meanings))
    return field(default=choice.values[0], metadata={"choice": choice})


def choices_of(cls: type) -> Mapping[str, Choice]:
    """Return the fields of a dataclass that are choices, by name."""
    declared = {each.name: each.metadata.get("choice") for each in fields(cls)}
    return MappingProxyType({name: found for name, found in declared.items() if found is not None})


def check_choice(what: str, name: str, value: object, choice: Choice) -> None:
    """Raise ValueError if a field may not have this value. ``what``, ``name``: what has the field, and its name, for
    the message, which also lists the choices.
    """
    if value not in choice.meanings:
        message = f"{what}: {name} is {value!r}, but must be one of {', '.join(choice.meanings)}"
        raise ValueError(with_hint(message, did_you_mean(str(value), choice.meanings)))


class StochasticRule(NamedTuple):
    """The rule by which k random bits decide the direction of a stochastic rounding. The discarded fraction times 2**k
    is rounded to an integer, in the mode ``fraction``. The result is rounded away from zero if and only if the sum of
    this integer and the random bits is at least 2**k.

    ``complement``: 2**k - 1 minus the random bits is used in place of the random bits.
    """

    fraction: Rounding
    complement: bool

    def taken(self, bits: Any, width: int) -> Any:
        """Return random bits as the rule uses them: unchanged, or their complement of ``width`` bits. ``bits`` is an
        integer or an array of uint64.
        """
        return bits ^ ((1 << width) - 1) if self.complement else bits


class Saturation(NamedTuple):
    """Whether numbers beyond the largest finite value become that value, and whether infinities do."""

    numbers: bool
    infinities: bool


_OVERFLOW = {
    "format": "infinity; in a format without infinities NaN; in a format with neither, the largest finite value",
    "saturate": "the largest finite value of the same sign",
    "saturate_numbers": "the largest finite value for numbers that are too large; infinities as `format`",
    "saturate_fn": "like `saturate` in signed formats that have NaN and no infinities, with a NaN of all ones "
    "(f8E4M3FN); like `format` in others (PyTorch)",
}
_FRACTIONS = {
    "less": Rounding.UPWARD,  # r < f * 2**k if and only if ceil(f * 2**k) plus the complement of r is at least 2**k
    "p3109_a": Rounding.TOWARD_ZERO,
    "p3109_b": Rounding.TO_NEAREST_AWAY,
    "p3109_c": Rounding.TO_NEAREST_EVEN,
}
_FLUSHING = {
    "ieee": "subnormals are kept",
    "flush_operands": "subnormal operands become zero",
    "flush_results": "subnormal results become zero; `tininess` says which results are subnormal",
    "flush_both": "subnormal operands and results become zero",
    "flush_delivered": "results whose rounded code is subnormal become zero, whatever `tininess` says",
    "flush_both_delivered": "subnormal operands become zero, and so do results as in `flush_delivered`",
}
_ZEROS = {"signed": "zero with the sign of the subnormal", "positive": "+0"}


@dataclass(frozen=True)
class FloatChoices:
    """The choices that documents leave open, or that real tools make differently; the defaults are halfulp's own."""

    nan_result: str = one_of(
        "the NaN result of an arithmetic operation, minimum, maximum or conversion",
        payload="the first NaN operand, quieted; the positive default NaN if no operand is NaN",
        canonical="always the positive default NaN (RISC-V)",
        canonical_signed="the default NaN with the sign of the first NaN operand, negative if no operand is NaN; the "
        "NaN of a FNUZ format counts as negative, since its code has the sign bit set (ml_dtypes on x86)",
        negative="like `payload`, but the negative default NaN if no operand is NaN (x86)",
        canonical_bf16="like `payload`, but a conversion to bf16 gives the positive default NaN (MLIR's arith-expand)",
        all_ones="always the positive NaN with all fraction bits set (NVIDIA)",
        signalling_first="like `payload`, but the first signalling NaN operand comes before quiet ones, and the addend "
        "of a fused multiply-add before its factors (Arm)",
        largest="of two NaN operands the quiet one, of two quiet or two signalling ones that with the larger "
        "significand, of equal ones the positive one, quieted; the negative default NaN if no operand is NaN, or one "
        "is not a valid code (x87)",
    )
    nan_converted: str = one_of(
        "the NaN result of a conversion between floats",
        as_others="as `nan_result` says",
        sign_of_8="the payload, quieted; if a format has up to 8 bits, and in bf16, the default NaN with the sign of "
        "the operand (XLA)",
        all_ones_of_8="the payload, quieted; in formats of up to 8 bits all fraction bits are set, with the sign of "
        "the operand, and in bf16 the result is the positive default NaN (PyTorch)",
        payload_of_f64_to_8="as `nan_result` says; from f64, and others with more than 8 exponent bits, to formats of "
        "up to 8 bits the payload, quieted (CUDA, which has no instruction for these conversions)",
    )
    conversion_overflow: str = one_of(
        "overflow, and infinities, in conversions between floats and from integers", **_OVERFLOW
    )
    arithmetic_overflow: str = one_of(
        "overflow, and the infinities of infinite operands and of x/0, in arithmetic and functions", **_OVERFLOW
    )
    fma_undefined: str = one_of(
        "infinity times zero plus a quiet NaN, in a fused multiply-add",
        invalid="the NaN, with the flag invalid (RISC-V)",
        default_nan="the default NaN, with the flag invalid (Arm)",
        always_default_nan="the default NaN, with the flag invalid; so plus a signalling NaN (SoftFloat's SSE)",
        quiet="the NaN, without a flag (x86)",
    )
    negated_nan: str = one_of(
        "the sign of a NaN operand that fmsub, fnmsub or fnmadd returns",
        kept="its own (x86)",
        negated="that of the operand that the operation negates: of the first factor in fnmsub, of the addend in "
        "fmsub, of both in fnmadd (Arm)",
    )
    nan_to_nanless: str = one_of(
        "a NaN in a format without NaN",
        poison="poison",
        zero="zero with the sign of the NaN",
        zero_inverted="zero with the opposite sign",
        negative_zero="-0",
        max="the largest positive value",
    )
    infinity_to_nanless: str = one_of(
        "an infinity converted to a format with neither infinities nor NaN",
        max="the largest value of the same sign",
        zero="zero of the same sign",
    )
    divide_by_zero_nanless: str = one_of(
        "x/0, with x not 0, in a format with neither infinities nor NaN",
        max="the largest value with the sign of the quotient",
        zero="zero with the sign of the quotient",
    )
    negative_to_unsigned: str = one_of(
        "a negative value, or -infinity, in an unsigned format",
        nan="NaN",
        sign_bit="the code of its absolute value with the top bit set",
        absolute="its absolute value",
    )
    zero_to_zeroless: str = one_of(
        "zero in a format without zero",
        smallest="the smallest value",
        nan="NaN",
    )
    zeroless_nan_widened: str = one_of(
        "the NaN of a format without zero, converted to a format with infinities",
        nan="NaN",
        infinity="+infinity",
    )
    zeroless_smallest_widened: str = one_of(
        "the smallest value of a format without zero, converted to a format with zero",
        value="the same value",
        zero="+0",
    )
    float_to_zeroless: str = one_of(
        "a float converted to a format without zero",
        rounded="rounded in the rounding mode of the operation",
        cut="rounded toward zero, without its sign; a source wider than f32 is rounded to f32 first, to nearest even "
        "(MLIR's arith-expand)",
        smallest_up="as `rounded`, but to nearest, what lies between the two smallest values becomes the larger one "
        "(PyTorch, ml_dtypes, XLA)",
    )
    float_to_nanless: str = one_of(
        "a float converted to a format with neither infinities nor NaN",
        rounded="rounded in the rounding mode of the operation",
        ties_away="rounded to nearest, ties away from zero; a number below the smallest value loses its sign, and half "
        "of the smallest value gives zero (MLIR's arith-expand)",
    )
    number_of_signalling: str = one_of(
        "maximum_number and minimum_number with a signalling NaN",
        number="like any NaN: the other operand is the result, if it is a number",
        quieted="the first signalling NaN, quieted, is the result (MLIR's folder)",
    )
    wide_source: str = one_of(
        "conversions to formats narrower than f32, from integers and from floats wider than f32",
        once="rounded once",
        through_f32="rounded to f32 first, to nearest even, and then to the format",
        bf16_through_f32="like `through_f32` to bf16, like `once` to other formats",
    )
    extrema: str = one_of(
        "minimum, maximum, minimum_number and maximum_number",
        value="the smaller or larger value, with -0 < +0; a NaN is quieted",
        selected="the operand that a comparison selects, unchanged; the second one of equal operands (MLIR's "
        "arith-expand)",
        number_selected="like `value`, but maximum_number and minimum_number return the second operand unchanged if "
        "the first is NaN, and the first of equal operands, zeros included (x86)",
        second="the first operand if it is smaller or larger, else the second one, unchanged: so for NaN, which is "
        "invalid, and for equal operands (x86 MINPS and MAXPS)",
    )
    remainder: str = one_of(
        "the rounding of the quotient to an integer, in a remainder",
        fmod="toward zero, as in C's fmod",
        ieee="to nearest even, as in IEEE 754's remainder",
    )
    denormals: str = one_of("subnormal operands and results", **_FLUSHING)
    denormal_zero: str = one_of("the zero that `denormals` puts in place of a subnormal", **_ZEROS)
    flushed_formats: str = one_of(
        "the formats for which `denormals` holds",
        all="all",
        wide="those with exponents as small as f32's, such as bf16, f32 and f64; others keep subnormals (XLA on a CPU "
        "computes them in f32, where these are normal)",
    )
    denormals_f32: str = one_of(
        "`denormals` for f32 alone, like LLVM's attribute `denormal-fp-math-f32`",
        as_others="as `denormals` says",
        **_FLUSHING,
    )
    denormal_zero_f32: str = one_of("`denormal_zero` for f32 alone", as_others="as `denormal_zero` says", **_ZEROS)
    float_to_int: str = one_of(
        "a NaN, and a value out of range, converted to an integer",
        poison="poison",
        saturate="the nearest integer of the type; NaN gives 0 (Arm)",
        saturate_nan_max="the nearest integer of the type; NaN gives the largest one (RISC-V fcvt)",
        saturate_nan_top="the nearest integer of the type; NaN gives 0, and if the float or the integer has more than "
        "32 bits, the code in which only the top bit is set (NVIDIA)",
        modular="the integer modulo 2**width; NaN and infinities give 0 (RISC-V fcvtmod)",
        indefinite="the smallest integer of a signed type, the largest of an unsigned one (x87, AVX-512)",
        indefinite_wrapped="like `indefinite` in i32, i64 and unsigned 64 bits; other widths are the low bits of a "
        "signed conversion to 32 bits, or to 64 bits from unsigned 32 bits on (x86 SSE)",
    )
    tininess: str = one_of(
        "the test whether a result is tiny, for the underflow flag and for the flushing of results",
        after="after rounding",
        before="before rounding",
    )
    stochastic: str = one_of(
        "stochastic rounding by k random bits, an integer r, where f is the discarded fraction of the last place: when "
        "the result goes away from zero",
        less="if r < f * 2^k, exactly",
        p3109_a="if floor(f * 2^k) + r >= 2^k (StochasticA of IEEE P3109). Hardware that adds k random bits below the "
        "last place and truncates does the same",
        p3109_b="if floor(f * 2^(k+1)) + 2r + 1 >= 2^(k+1) (StochasticB)",
        p3109_c="if f * 2^k, rounded to an integer, ties to even, plus r is at least 2^k (StochasticC)",
    )
    stochastic_bits: str = one_of(
        "the random bits of stochastic rounding",
        given="as they are given",
        complement="2^k - 1 - r takes the place of r",
    )


@dataclass(frozen=True)
class FloatPolicy(FloatChoices):
    """The rules of float operations: a value for each field of `FloatChoices`.

    Raises ValueError for an unknown value; the message names the field, the value and the choices.
    """

    def __post_init__(self) -> None:
        for name, choice in POLICY_FIELDS.items():
            check_choice("float policy", name, getattr(self, name), choice)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, name) for name in POLICY_FIELDS))

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatPolicy, tuple(getattr(self, name) for name in POLICY_FIELDS)

    def flushing(self, fmt: FloatFormat) -> Flushing:
        """Return the rule by which operands and results of a format are flushed."""
        if fmt.name == "f32":
            return self._flushing_f32
        return _KEEPS if self.flushed_formats == "wide" and fmt.emin > _EMIN_F32 else self._flushing

    @cached_property
    def _flushing(self) -> Flushing:
        return _flushing(self.denormals, self.denormal_zero)

    @cached_property
    def _flushing_f32(self) -> Flushing:
        denormals = self.denormals if self.denormals_f32 == "as_others" else self.denormals_f32
        zero = self.denormal_zero if self.denormal_zero_f32 == "as_others" else self.denormal_zero_f32
        return _flushing(denormals, zero)

    def conversion_saturation(self, fmt: FloatFormat) -> Saturation:
        """Return the rule that says which results become the largest finite value of a format in conversions."""
        return _saturation(self.conversion_overflow, fmt)

    def arithmetic_saturation(self, fmt: FloatFormat) -> Saturation:
        """Return the rule that says which results become the largest finite value of a format in arithmetic."""
        return _saturation(self.arithmetic_overflow, fmt)

    @cached_property
    def stochastic_rule(self) -> StochasticRule:
        """The rule by which random bits choose between the two neighbours of a number."""
        complement = (self.stochastic_bits == "complement") != (self.stochastic == "less")
        return StochasticRule(_FRACTIONS[self.stochastic], complement)

    @property
    def first_nan_counts(self) -> bool:
        """True if the first NaN operand determines the NaN result. Then a running sum that is a NaN keeps this NaN."""
        return self.nan_result not in ("signalling_first", "largest")

    @cached_property
    def without_flushing(self) -> FloatPolicy:
        """The policy that flushes no subnormals."""
        return replace(self, denormals="ieee", denormals_f32="as_others")

    @cached_property
    def without_f32(self) -> FloatPolicy:
        """Return the same policy without the fields that are only about f32, which is then treated like the other
        formats.
        """
        if self.denormals_f32 == self.denormal_zero_f32 == "as_others":
            return self
        return replace(self, denormals_f32="as_others", denormal_zero_f32="as_others")


def _flushing(denormals: str, zero: str) -> Flushing:
    operands = denormals in ("flush_operands", "flush_both", "flush_both_delivered")
    delivered = denormals.endswith("_delivered")
    return Flushing(operands, delivered or denormals in ("flush_results", "flush_both"), zero == "positive", delivered)


_KEEPS = _flushing("ieee", "signed")
_EMIN_F32 = -126
"""The smallest exponent of a normal number of f32."""


def _saturation(choice: str, fmt: FloatFormat) -> Saturation:
    if choice == "saturate_fn":
        both = fmt.nan is NanEncoding.ALL_ONES and fmt.signed and not fmt.infinities
        return Saturation(both, both)
    return Saturation(choice != "format", choice == "saturate")


POLICY_FIELDS = choices_of(FloatPolicy)
"""The fields of `FloatPolicy`."""

SPEC = FloatPolicy()
"""halfulp's own semantics: the exact real result, rounded once."""
