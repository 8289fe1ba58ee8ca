"""Measure what a set of operands exercises: the classes of operands that met, and the outcomes.

The classes of a float operand are zero, subnormal, normal, the largest value, infinity, quiet and signalling NaN, if
the format has them; those of an integer are 0, 1, -1, the ends of its signed range, and the rest. Outcomes are those of
the reference: exact, inexact, tie up, tie down, overflow, underflow, invalid, poison, undefined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.exact_results import CONVERSIONS, exact_value, tie
from halfulp.conformance.comparing.op_case import OpCase, Reference, reference
from halfulp.fp_formats.codes import Codes, Mask, codes_to_ints
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult, classify, lift, magnitude_of
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.limbs import equal, nonzero
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of

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
