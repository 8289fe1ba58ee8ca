"""Measure what a set of operands exercises: the classes of operands that met, and the outcomes.

The classes of a float operand are zero, subnormal, normal, the largest value, infinity, quiet and signalling NaN, if
the format has them; those of an integer are 0, 1, -1, the ends of its signed range, and the rest. Outcomes are those of
the reference: exact, inexact, tie up, tie down, overflow, underflow, invalid, poison, undefined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase, Reference, reference
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult, classify, equal, lift, magnitude_of, nonzero
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, codes_to_ints
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of

# --- exact results ----------------------------------------------------------------------------------------------------
#
# Compute the exact real result of an op before rounding: mismatches and ties are measured against it.


def _remainder(a: Fraction, b: Fraction) -> Fraction:
    quotient = abs(a) // abs(b)
    return a - (b if (a < 0) == (b < 0) else -b) * quotient


_REAL: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.remf": _remainder,
}
_UNSIGNED = frozenset({"arith.uitofp", "arith.fptoui"})
CONVERSIONS = frozenset(
    {"arith.extf", "arith.truncf", "arith.convertf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"}
)


def number(case: OpCase, index: int, code: int) -> Fraction | None:
    """Return the number that an operand's code represents; None for NaN and infinities."""
    type_ = case.operand_types[index]
    if isinstance(type_, ty.FloatType):
        return scalar.value(type_.format, code)
    width = case.operand_widths[index]
    negative = case.op not in _UNSIGNED and width and code >> (width - 1)
    return Fraction(code - (1 << width) if negative else code)


def exact_value(case: OpCase, operands: tuple[int, ...]) -> Fraction | None:
    """Return the exact result of a rounded op; None where the result is not a number or the op does not round."""
    numbers = [number(case, index, code) for index, code in enumerate(operands)]
    if case.op in CONVERSIONS:
        return numbers[0]
    if case.op not in _REAL or None in numbers:
        return None
    a, b = numbers
    assert a is not None
    assert b is not None
    if not b and case.op in ("arith.divf", "arith.remf"):
        return None
    return _REAL[case.op](a, b)


def tie(fmt: FloatFormat, exact: Fraction, code: int) -> int:
    """Tell whether a number lies midway between two values of a format, given the code it was rounded to.

    Return 1 if it was rounded up in magnitude, -1 if down, 0 if it is not a tie.
    """
    rounded = scalar.value(fmt, code)
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if rounded is None or rounded == exact:
        return 0
    up = abs(rounded) > abs(exact)
    other = magnitude - 1 if up else magnitude + 1
    if not 0 <= other <= fmt.max_code:
        return 0
    beyond = scalar.value(fmt, other)
    if beyond is None or abs(rounded) + beyond != 2 * abs(exact):
        return 0
    return 1 if up else -1


# --- coverage ---------------------------------------------------------------------------------------------------------

FLOAT_CLASSES = ("zero", "subnormal", "normal", "max", "infinity", "quiet NaN", "signalling NaN")
INTEGER_CLASSES = ("0", "1", "-1", "signed min", "signed max", "positive", "negative")
OUTCOMES = ("exact", "inexact", "tie up", "tie down", "overflow", "underflow", "invalid", "poison", "undefined")
TIES_EXAMINED = 2_000
"""Number of inexact elements that are examined for ties; more would take long and add nothing."""

_ARITHMETIC: Mapping[str, Callable[..., ArrayResult]] = {
    "arith.addf": arithmetic.add,
    "arith.subf": arithmetic.subtract,
    "arith.mulf": arithmetic.multiply,
    "arith.divf": arithmetic.divide,
    "arith.remf": arithmetic.remainder,
}
_FLAG_OUTCOMES = {
    "inexact": Flags.INEXACT,
    "overflow": Flags.OVERFLOW,
    "underflow": Flags.UNDERFLOW,
    "invalid": Flags.INVALID,
}


@dataclass(frozen=True)
class Coverage:
    """The combinations of operand classes that were hit, the number that exist, and the count of each outcome."""

    combinations: frozenset[tuple[str, ...]]
    possible: int
    outcomes: Counter[str] = field(default_factory=Counter)
    exhaustive: bool = False

    @classmethod
    def empty(cls, case: OpCase) -> Coverage:
        """Return a coverage with nothing hit yet."""
        return cls(frozenset(), len(_possible(case)))

    def __or__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.combinations | other.combinations,
            self.possible,
            Counter({name: max(self.outcomes[name], other.outcomes[name]) for name in OUTCOMES}),
            self.exhaustive or other.exhaustive,
        )

    @property
    def percent(self) -> float:
        """Return the combinations that were hit as a percentage of those that exist."""
        return 100.0 * len(self.combinations) / self.possible if self.possible else 100.0


def covered(case: OpCase, inputs: Sequence[Codes], exhaustive: bool = False, answered: Mask | None = None) -> Coverage:
    """Return what these operands exercise. ``answered``: only these elements count, since the others were compared with
    nothing.

    ``answered`` has the element shape of the operands, as in `halfulp.conformance.comparing.check.Tally`.
    """
    expected = reference(case, inputs)
    chosen = np.ones(case.shape(inputs), np.bool_) if answered is None else answered
    labels = [
        operand_classes(type_, codes).reshape(-1)[chosen.reshape(-1)]
        for type_, codes in zip(case.operand_types, inputs, strict=True)
    ]
    names = [_names(type_) for type_ in case.operand_types]
    together = np.zeros(labels[0].shape if labels else (), np.int64)
    for label, own in zip(labels, names, strict=True):
        together = together * len(own) + label
    hit = set(np.unique(together).tolist())
    combinations = {row for number, row in enumerate(product(*names)) if number in hit}
    outcomes = _outcomes(case, inputs, expected, chosen)
    return Coverage(frozenset(combinations), len(_possible(case)), outcomes, exhaustive and bool(chosen.all()))


def _possible(case: OpCase) -> set[tuple[str, ...]]:
    return set(product(*(_present(type_) for type_ in case.operand_types)))


def _names(type_: ty.Type) -> tuple[str, ...]:
    return FLOAT_CLASSES if isinstance(type_, ty.FloatType) else INTEGER_CLASSES


def _present(type_: ty.Type) -> list[str]:
    """Return the classes that occur in a type."""
    if isinstance(type_, ty.FloatType):
        fmt = type_.format
        absent = {
            "zero": not fmt.zero,
            "subnormal": not fmt.zero or not fmt.mantissa_bits,
            "infinity": not fmt.infinities,
            "quiet NaN": fmt.nan_code is None,
            "signalling NaN": not (fmt.quiet_bit and (fmt.mantissa_bits > 1 or fmt.explicit_integer_bit)),
        }
        return [name for name in FLOAT_CLASSES if not absent.get(name, False)]
    width = width_of(type_)
    sample = np.arange(min(1 << width, 8), dtype=np.uint8)
    if width > 3:
        return list(INTEGER_CLASSES)
    return [INTEGER_CLASSES[k] for k in sorted(set(_integer_classes(width, sample).tolist()))]


def operand_classes(type_: ty.Type, codes: Codes) -> npt.NDArray[np.uint8]:
    """Return the class of each element, flat: an index into `FLOAT_CLASSES` or `INTEGER_CLASSES`."""
    if isinstance(type_, ty.FloatType):
        return _float_classes(type_.format, codes)
    width = width_of(type_)
    if width <= 64:
        return _integer_classes(width, codes.reshape(-1))
    ints = codes_to_ints(codes, width)
    special = {0: 0, 1: 1, (1 << width) - 1: 2, 1 << (width - 1): 3, (1 << (width - 1)) - 1: 4}
    return np.array([special.get(code, 5 + (code >> (width - 1))) for code in ints], np.uint8)


def _integer_classes(width: int, codes: Codes) -> npt.NDArray[np.uint8]:
    wide = codes.astype(np.uint64)
    top = 1 << max(width - 1, 0)
    classes = np.where(wide & np.uint64(top), np.uint8(6), np.uint8(5))
    # In an i1 some of these are equal: the earlier name wins.
    for code, label in ((top - 1, 4), (top, 3), ((1 << width) - 1, 2), (1, 1), (0, 0)):
        classes[wide == np.uint64(code)] = label
    return classes


def _float_classes(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.uint8]:
    flat = codes.reshape(-1, fmt.limbs) if fmt.limbs > 1 else codes.reshape(-1)
    lifted = lift(fmt, flat, fmt.limbs > 1)
    found = classify(fmt, lifted)
    magnitude = magnitude_of(fmt, lifted)
    classes = np.full(found.nan.shape, FLOAT_CLASSES.index("normal"), np.uint8)
    if fmt.zero and fmt.mantissa_bits:
        classes[(magnitude < fmt.min_normal_code) & nonzero(magnitude)] = FLOAT_CLASSES.index("subnormal")
    classes[equal(magnitude, fmt.max_code)] = FLOAT_CLASSES.index("max")
    classes[found.zero] = FLOAT_CLASSES.index("zero")
    classes[found.infinite] = FLOAT_CLASSES.index("infinity")
    classes[found.nan] = FLOAT_CLASSES.index("quiet NaN")
    classes[found.signalling] = FLOAT_CLASSES.index("signalling NaN")
    return classes


def _outcomes(case: OpCase, inputs: Sequence[Codes], expected: Reference, chosen: Mask) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, mask in (("poison", expected.poison), ("undefined", expected.undefined)):
        if mask is not None:
            counts[name] = int(np.count_nonzero(mask & chosen))
    flags = _flags(case, inputs)
    if flags is None:
        return counts
    for name, flag in _FLAG_OUTCOMES.items():
        counts[name] = int(np.count_nonzero((flags & flag != 0) & chosen))
    counts["exact"] = int(np.count_nonzero((flags == 0) & chosen))
    counts.update(_ties(case, inputs, expected, ((flags == Flags.INEXACT) & chosen).reshape(-1)))
    return +counts


def _flags(case: OpCase, inputs: Sequence[Codes]) -> npt.NDArray[np.uint8] | None:
    """Return the exception flags of each element; None where the op has none."""
    source, target = case.operand_types[0], case.result_types[0]
    mode = _rounding(case)
    found: Any = None
    if case.op in _ARITHMETIC and isinstance(target, ty.FloatType):
        found = _ARITHMETIC[case.op](target.format, *inputs, mode, want_flags=True)
    elif case.op in CONVERSIONS:
        unsigned = case.op in ("arith.uitofp", "arith.fptoui")
        match source, target:
            case ty.FloatType(), ty.FloatType():
                found = conversions.convert(source.format, target.format, inputs[0], mode, want_flags=True)
            case ty.FloatType(), _:
                width = width_of(target)
                found = conversions.to_integer(source.format, inputs[0], width, not unsigned, want_flags=True)
            case _, ty.FloatType():
                width = width_of(source)
                found = conversions.from_integer(target.format, inputs[0], width, not unsigned, mode, want_flags=True)
    flags: npt.NDArray[np.uint8] | None = None if found is None else found.flags
    return flags


def _rounding(case: OpCase) -> Rounding:
    properties = dict(case.properties)
    spelled = properties.get("rounding", properties.get("roundingmode"))
    return next((mode for mode in Rounding if mode.spelling == spelled), Rounding.TO_NEAREST_EVEN)


def _ties(case: OpCase, inputs: Sequence[Codes], expected: Reference, inexact: Mask) -> Counter[str]:
    """Count ties among the first inexact elements."""
    target = case.result_types[0]
    if not isinstance(target, ty.FloatType):
        return Counter()
    chosen = np.flatnonzero(inexact)[:TIES_EXAMINED]
    columns = [
        codes_to_ints(codes.reshape(-1, codes.shape[-1])[chosen] if width > 64 else codes.reshape(-1)[chosen], width)
        for codes, width in zip((*inputs, expected.bits[0]), (*case.operand_widths, target.format.bits), strict=True)
    ]
    counts: Counter[str] = Counter()
    for *operands, result in zip(*columns, strict=True):
        real = exact_value(case, tuple(operands))
        side = 0 if real is None else tie(target.format, real, result)
        if side:
            counts["tie up" if side > 0 else "tie down"] += 1
    return counts
