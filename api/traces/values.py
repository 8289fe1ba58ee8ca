"""The record of a value in a trace, made while the value exists: a small value is kept whole, a large one
as a summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import Codes, codes_to_ints
from halfulp.fp_formats.spelling import shortened
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import code_layout, element_width, numeric, width_of
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import LaneBuffer
from halfulp.interp.values.spelling import spell_element, spell_type, spell_value
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

MOST_SHOWN = 16
"""If a value has at most this number of elements, all of them are shown and kept."""
FIRST = 8
"""The number of elements of a larger value that are shown."""
MOST_ORIGINS = 4
_LONGEST = 2000
_LONGEST_TYPE = 120
_WIDEST = 2048
"""The most bits of an element whose decimal digits are shown: for more bits, they take longer than the op."""
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of a large value: the numbers of its elements, of poison elements, and of NaNs and infinities
    among the others.

    ``minimum`` and ``maximum``: the codes of the least and the greatest finite number; None if there is none, or if the
    elements have no order. ``least`` and ``greatest``: the same as text.
    """

    elements: int
    poisoned: int
    nans: int
    infinities: int
    minimum: int | None
    maximum: int | None
    least: str | None
    greatest: str | None

    def __str__(self) -> str:
        parts = [] if self.least is None else [f"min {self.least}", f"max {self.greatest}"]
        counts = ((self.nans, "NaN"), (self.infinities, "infinite"), (self.poisoned, "poison"))
        return ", ".join([*parts, *(f"{count} {what}" for count, what in counts if count)])


@dataclass(eq=False, repr=False, slots=True, weakref_slot=True)
class TracedValue:
    """A value of a step, at the time of this step.

    ``name``: as the source spells it. ``poisoned``: the number of poison elements. ``statistics``: those of a value of
    more than 16 elements; None for smaller ones and for buffers. ``value``: the `Value` itself, if it is small or if
    the trace keeps large values; else None.
    """

    name: str
    _type: ty.Type | None
    shape: tuple[int, ...]
    poisoned: int = 0
    statistics: Statistics | None = None
    value: Value | None = None
    _text: str | None = None
    _origins: tuple[Origin, ...] | None = None

    @property
    def type(self) -> str:
        """Return the type in MLIR's spelling; in a batch, the type in each lane."""
        return shortened("" if self._type is None else str(self._type), _LONGEST)

    @property
    def text(self) -> str:
        """Return ``type=elements`` as `halfulp run` prints it; for a large value its first elements."""
        if self._text is None:
            assert self.value is not None
            self._text = _spelled(self.value)
        return self._text

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Return the first few origins of its poison."""
        if self._origins is None:
            self._origins = () if self.value is None else _origins(self.value)
        return self._origins

    def __str__(self) -> str:
        summary = "" if self.statistics is None else str(self.statistics)
        return f"{self.text} ({summary})" if summary else self.text

    def __repr__(self) -> str:
        return f"TracedValue({self.name}: {self})"


def look_at(name: str, slot: Any, keep: bool) -> TracedValue:
    """Return the record of a value, or of any other operand. ``keep``: whether large values are kept whole."""
    if isinstance(slot, Buffer):
        if slot.allocation.freed is not None:
            return TracedValue(name, slot.type, slot.shape, _text=f"(freed by {slot.allocation.freed})", _origins=())
        if prod(slot.shape) > MOST_SHOWN and not keep:
            return _glanced_at(name, slot)
        slot = slot.load(slot.type)
    if isinstance(slot, LaneBuffer):
        slot = slot.load()
    if not isinstance(slot, Value):
        operation = getattr(slot, "op", None)
        symbol = getattr(operation, "symbol_name", None)
        return TracedValue(name, None, (), _text=f"@{symbol}" if symbol else "(not a value)", _origins=())
    if not slot.bits.ndim:
        return TracedValue(name, slot.type, (), 0 if slot.poison is None else int(slot.poison != 0), value=slot)
    shape = slot.shape
    poisoned = 0 if slot.poison is None else int(np.count_nonzero(slot.poison))
    if prod(shape) <= MOST_SHOWN:
        # A copy: the caller owns the bits of an argument, and may write to them before the trace is read.
        copied = Value(slot.type, slot.bits.copy(), slot.poison, None, slot.origins)
        return TracedValue(name, slot.type, shape, poisoned, value=copied)
    kept = slot if keep else None
    return TracedValue(name, slot.type, shape, poisoned, statistics(slot), kept, _spelled(slot), _origins(slot))


def _glanced_at(name: str, buffer: Buffer) -> TracedValue:
    """Record a large buffer. Each step that uses the buffer records it, so this has to be fast."""
    first = buffer.first(FIRST)
    elements = _spelled(first).partition("=")[2]
    head = shortened(spell_type(ty.TensorType(buffer.shape, buffer.type.element), buffer.shape), _LONGEST_TYPE)
    poisoned = buffer.poisoned()
    return TracedValue(
        name, buffer.type, buffer.shape, poisoned, _text=f"{head}={elements} ...", _origins=_origins(first)
    )


def summary(value: Value) -> str:
    """Return the text of a value, summarised if it is large."""
    return str(look_at("", value, False))


def _spelled(value: Value) -> str:
    head = spell_type(value.type, value.shape)
    width = element_width(numeric(value.element_type))
    if width is not None and width > _WIDEST:
        return f"{shortened(head, _LONGEST_TYPE)}=..."
    limit = FIRST if prod(value.shape) > MOST_SHOWN else None
    elements = spell_value(value, limit)[len(head) + 1 :]
    return f"{shortened(head, _LONGEST_TYPE)}={shortened(elements, _LONGEST)}"


def _origins(value: Value) -> tuple[Origin, ...]:
    if value.poison is None or value.origins is None:
        return ()
    ids = np.unique(value.poison)
    return tuple(value.origins[int(poison_id)] for poison_id in ids[ids != 0][:MOST_ORIGINS])


def statistics(value: Value) -> Statistics:
    """Compute the statistics of a value part by part, so that little additional memory is needed."""
    element = numeric(value.element_type)
    count = prod(value.shape)
    codes = value.bits.reshape((count, *code_layout(element)[1]))
    poison = None if value.poison is None else value.poison.reshape(-1)
    ordered = isinstance(element, ty.FloatType | ty.IntegerType | ty.IndexType) and element_width(element) != 0
    poisoned = nans = infinities = 0
    extremes: list[Codes] = []
    for start in range(0, count, _CHUNK):
        part = codes[start : start + _CHUNK]
        usable = np.ones(len(part), np.bool_)
        if poison is not None:
            usable = poison[start : start + _CHUNK] == 0
            poisoned += len(part) - int(np.count_nonzero(usable))
        if isinstance(element, ty.FloatType):
            nan = comparisons.is_nan(element.format, part) & usable
            infinite = comparisons.is_infinite(element.format, part) & usable
            nans += int(np.count_nonzero(nan))
            infinities += int(np.count_nonzero(infinite))
            usable &= ~(nan | infinite)
        if ordered:
            finite = part if usable.all() else part[usable]
            if len(finite):
                extremes.append(finite[_extremes(element, finite)])
    least = greatest = None
    spelled: list[str | None] = [None, None]
    if extremes:
        found = np.concatenate(extremes)
        width = width_of(element)
        least, greatest = codes_to_ints(found[_extremes(element, found)], width)
        if width <= _WIDEST:
            spelled = [spell_element(element, code) for code in (least, greatest)]
    return Statistics(count, poisoned, nans, infinities, least, greatest, *spelled)


def _extremes(element: ty.Type, codes: Codes) -> list[int]:
    """Return the positions of the least and the greatest of some numbers, at least one. They are codes, with a limb
    axis if they have one.
    """
    limbs = codes.reshape(len(codes), -1)[:, ::-1]
    width = element_width(element)
    assert width is not None
    top = limbs.dtype.type(1 << ((width - 1) % (8 * limbs.dtype.itemsize)))
    if isinstance(element, ty.FloatType):
        # Turn sign and magnitude into unsigned numbers of the same order.
        if element.format.signed:
            negative = (limbs[:, :1] & top) != 0
            limbs = np.where(negative, ~limbs, limbs)
            limbs[:, 0] ^= np.where(negative[:, 0], 0, top)
            limbs[:, 0] &= limbs.dtype.type((int(top) << 1) - 1)
    elif element != ty.I1 and not (isinstance(element, ty.IntegerType) and element.signedness == "unsigned"):
        limbs = limbs.copy()
        limbs[:, 0] ^= top
    if limbs.shape[1] == 1:
        return [int(limbs[:, 0].argmin()), int(limbs[:, 0].argmax())]
    return [_extreme(limbs, np.min), _extreme(limbs, np.max)]


def _extreme(limbs: Codes, choose: Any) -> int:
    """Return the first row that is least, or greatest, in the order of its columns."""
    rows = np.arange(len(limbs))
    for column in limbs.T:
        held = column[rows]
        rows = rows[held == choose(held)]
    return int(rows[0])
