"""The ranges of operands that the specification of TOSA limits, such as the multiplier and the shift of `rescale`.

An operand with uniform bits would almost always violate a condition, so that the op has no defined result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Elementwise


@dataclass(frozen=True)
class OperandRange:
    """Codes of an operand: from ``least`` to ``most``, both included, in steps of ``step``.

    ``ends``: more codes, which are corners only. ``shared``: one element serves for a whole tensor.
    """

    least: int
    most: int
    step: int = 1
    ends: tuple[int, ...] = ()
    shared: bool = False

    @property
    def count(self) -> int:
        """Return the number of codes of the range."""
        return (self.most - self.least) // self.step + 1

    def corners(self, most: int = 64) -> list[int]:
        """Return the ends of the range with their neighbours, the middle, and the other ends; all of a range of at most
        ``most`` codes.
        """
        if self.count <= most:
            return [*range(self.least, self.most + 1, self.step), *self.ends]
        inner = [0, 1, self.count // 2, self.count - 2, self.count - 1]
        return [*(self.least + place * self.step for place in inner), *self.ends]


_Range = Callable[[OpCase, int], OperandRange | None]


def _multiplier(case: OpCase, place: int) -> OperandRange:
    """A normalised multiplier, as a scale becomes one; and small ones."""
    top = 1 << case.operand_widths[place] - 2
    return OperandRange(top, 2 * top - 1, ends=(0, 1, top - 1))


def _shift(case: OpCase, place: int) -> OperandRange:
    return OperandRange(2, 62)


def _amount(case: OpCase, place: int) -> OperandRange:
    return OperandRange(0, case.operand_widths[0] - 1)


def _product_shift(case: OpCase, place: int) -> OperandRange:
    return OperandRange(0, 63 if case.operands[0] == "i32" else 0, shared=True)


def _zero_point(unsigned: str) -> _Range:
    """Only integers of 8 bits have zero points other than 0, and unsigned integers of 16 bits have 32768.

    ``unsigned``: the name of the property which says that the number is unsigned.
    """

    def found(case: OpCase, place: int) -> OperandRange:
        type_ = case.operand_types[place]
        if isinstance(type_, ty.IntegerType) and type_.width == 8:
            return OperandRange(0, 255, shared=True)
        if width_of(type_) == 16 and dict(case.properties).get(unsigned):
            return OperandRange(0, 1 << 15, 1 << 15, shared=True)
        return OperandRange(0, 0, shared=True)

    return found


_RANGES: Mapping[str, Mapping[int, _Range]] = MappingProxyType(
    {
        "tosa.apply_scale": {1: _multiplier, 2: _shift},
        "tosa.arithmetic_right_shift": {1: _amount},
        "tosa.logical_left_shift": {1: _amount},
        "tosa.logical_right_shift": {1: _amount},
        "tosa.mul": {2: _product_shift},
        "tosa.negate": {1: _zero_point(""), 2: _zero_point("")},
        "tosa.rescale": {
            1: _multiplier, 2: _shift, 3: _zero_point("input_unsigned"), 4: _zero_point("output_unsigned"),
        },
    }
)  # fmt: skip


def operand_range(case: OpCase, place: int) -> OperandRange | None:
    """Return the range of an operand, by its place; None if the op does not limit its operand."""
    found = _RANGES.get(case.op, {}).get(place)
    return None if found is None else found(case, place)


SCALE = ("tosa.apply_scale", "tosa.rescale")
"""The ops that multiply by a scale and round."""


def near_halves(case: OpCase, columns: Sequence[Codes], bits: npt.NDArray[np.uint64]) -> tuple[Codes, ...]:
    """Return operands of an op of `SCALE`. In a quarter of the rows, the value is at the middle between two results or
    next to it, because other values are almost never there.

    ``bits``: a random word for each row. Only a multiplier with few bits has results exactly in the middle, so half of
    these rows have a power of two.
    """
    found = tuple(np.array(codes) for codes in columns)
    widths, properties = case.operand_widths, dict(case.properties)
    unsigned, unsigned_result = (bool(properties.get(f"{which}_unsigned")) for which in ("input", "output"))
    width = width_of(case.result_types[0]) or 0
    least, most = _ends(widths[0], unsigned)
    for row in np.flatnonzero(bits % 4 == 0):
        word = int(bits[row]) >> 2
        if word & 1:
            found[1][row] = 1 << widths[1] - 2
        multiplier, shift = int(found[1][row]), int(found[2][row])
        zeros = [
            _number(int(codes[row]), widths[k], unsigned if k == 3 else unsigned_result)
            for k, codes in enumerate(found[3:], 3)
        ] or [0, 0]
        ends = (end - zeros[1] for end in _ends(width, unsigned_result))
        reach = ((end - zeros[0]) * multiplier >> shift for end in (least, most))
        (low, lowest), (high, highest) = zip(ends, reach, strict=True)
        low, high = max(low, lowest), min(high, highest)
        if multiplier and low <= high:
            result = low + (word >> 3) % (high - low + 1)
            value = ((2 * result + 1) << shift - 1) // multiplier + (0, 1, -1, 0)[word >> 1 & 3] + zeros[0]
            if least <= value <= most:
                found[0][row] = value & (1 << widths[0]) - 1
    return found


def _ends(width: int, unsigned: bool) -> tuple[int, int]:
    return (0, (1 << width) - 1) if unsigned else (-1 << width - 1, (1 << width - 1) - 1)


def _number(code: int, width: int, unsigned: bool) -> int:
    return code if unsigned or not code >> width - 1 else code - (1 << width)


ATTEMPTS = 8
"""The times that operands with undefined behaviour are drawn again."""


def mostly_defined(
    case: OpCase, columns: Sequence[Codes], again: Mask, others: Callable[[int], Sequence[Codes]]
) -> tuple[Codes, ...]:
    """Return operands of an op of TOSA in which a row that violates a condition of the specification is drawn again.

    ``again``: the rows that may be replaced. ``others``: by the number of the attempt, from 1 to `ATTEMPTS`, other
    columns, whose rows replace those of the same place; the first half replaces the first operand alone. Operands of
    ops of other dialects stay as they are.
    """
    if not case.op.startswith("tosa.") or not isinstance(case.evaluator, Elementwise):
        return tuple(columns)
    found = tuple(np.array(codes) for codes in columns)
    for attempt in range(1, ATTEMPTS + 1):
        undefined = reference(case, found, opened=False).undefined
        if undefined is None or not (wrong := undefined & again).any():
            break
        # First the value alone, so that small shifts, which few values fit, do not become rare.
        for codes, drawn in list(zip(found, others(attempt), strict=True))[: 1 if attempt <= ATTEMPTS // 2 else None]:
            codes[wrong] = drawn[wrong]
    return found
