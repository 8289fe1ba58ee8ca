"""Layouts of shared and of tensor memory as linear maps: which element lies at each offset, or in each row and column.

As for tensors (`layouts`), the coordinates of an element are the exclusive or of the bases of the bits that are set,
here of the bits of ``offset``, or of ``row`` and ``col``, and of ``block`` (`LinearLayoutConversions.cpp` of triton
3.9). No value depends on them, but the verifiers of views of memory do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from halfulp.interp.dialects.triton import encodings
from halfulp.interp.dialects.triton.encodings import Bases
from halfulp.interp.dialects.triton.layouts import Maker
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import DialectAttr

MemoryLayout = Mapping[str, Bases]

_CORE_ROWS = 8
"""The rows of the tile whose columns a layout of NVIDIA's matrix units swizzles."""


def _per_block(encoding: DialectAttr, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the part of one block of the cluster."""
    blocks = encodings.blocks_of(encoding)
    return tuple([max(size // encodings.split(blocks, axis), 1) for axis, size in enumerate(shape)])


def _swizzled(encoding: DialectAttr, own: tuple[int, ...]) -> Maker:
    order = encoding["order"]
    made = Maker(len(own), order)
    made.add("offset", order[0], own[order[0]])
    if len(own) > 1:
        column, row = order[:2]
        vec, per, most = (encoding[name] for name in ("vec", "perPhase", "maxPhase"))
        step = 1
        while step < own[row]:
            basis = [0] * len(own)
            basis[row], basis[column] = step, vec * (step // max(per, 1) % max(most, 1)) % own[column]
            made.extend("offset", [basis])
            step *= 2
    for axis in order[2:]:
        made.add("offset", axis, own[axis])
    return made


def _nvmma(encoding: DialectAttr, own: tuple[int, ...]) -> Maker | None:
    """Return the layout of a matrix; None for one that has other dimensions, or padding between its elements."""
    if len(own) != 2 or encoding["fp4Padded"]:
        return None
    column, row = (0, 1) if encoding["transposed"] else (1, 0)
    width, swizzle = encoding["elementBitWidth"], encoding["swizzlingByteWidth"]
    columns = 8 * max(16, swizzle) // width
    if own[column] < columns or own[row] < _CORE_ROWS:
        return None
    vec, per, most = (128 // width, 128 // swizzle, swizzle // 16) if swizzle else (1, 1, 1)
    made = Maker(2, (row, column))
    made.add("offset", column, columns)
    step = 1
    while step < _CORE_ROWS:
        basis = [0, 0]
        basis[row], basis[column] = step, vec * (step // per % most)
        made.extend("offset", [basis])
        step *= 2
    within = [min(size, 256) for size in own]
    if swizzle:
        within[column] = columns
    made.add("offset", row, within[row] // _CORE_ROWS)
    made.add("offset", column, within[column] // columns)
    for axis in (0, 1):
        made.add("offset", axis, own[axis] // within[axis])
    return made


def _tensor_memory(encoding: DialectAttr, own: tuple[int, ...]) -> Maker:
    rows, two = encoding["blockM"], encoding["twoCTAs"]
    columns = min(encoding["blockN"], own[1])
    made = Maker(2, (0, 1))
    made.copies("col", encoding["colStride"] * (2 if encoding["fp4Padded"] else 1))
    if rows == 64 and not two:
        made.add("row", 0, 16)
        made.add("col", 1, columns)
        other = (64, 0) if own[0] > rows else (0, columns) if own[1] > columns else (0, 0)
        made.extend("row", [other, (16, 0), (32, 0)])
    else:
        made.add("row", 0, rows)
        made.add("col", 1, columns)
        if rows == 64:
            made.bases["row"].append(made.bases["col"].pop())
    made.add("col", 0, own[0] // made.sizes[0])
    made.add("col", 1, own[1] // made.sizes[1])
    return made


def _scales(encoding: DialectAttr, own: tuple[int, ...]) -> Maker:
    made = Maker(2, (0, 1))
    made.add("row", 0, 32)
    made.copies("row", 4)
    made.add("col", 1, 4)
    made.add("col", 0, 2)
    rows, columns = -(-own[0] // made.sizes[0]), -(-own[1] // made.sizes[1])
    if rows > 1:
        made.add("col", 0, 2)
        rows //= 2
    repeated = ((0, rows), (1, columns))
    for axis, count in repeated if encoding["blockRepOrder"] == "mnThenK" else repeated[::-1]:
        made.add("col", axis, count)
    return made


@lru_cache(maxsize=1024)
def layout_of_memory(encoding: Attribute, shape: tuple[int, ...]) -> MemoryLayout | None:
    """Return the layout of a block of memory of this shape; None for one that is not known."""
    if not isinstance(encoding, DialectAttr):
        return None
    own = _per_block(encoding, shape)
    made: Maker | None
    match encoding.definition.name:
        case "ttg.padded_shared" | "ttg.shared_linear":
            return encodings.inputs_of(encoding)
        case "ttg.swizzled_shared":
            made = _swizzled(encoding, own)
        case "ttg.nvmma_shared":
            made = _nvmma(encoding, own)
        case encodings.TENSOR_MEMORY:
            made = _tensor_memory(encoding, own)
        case encodings.SCALES:
            made = _scales(encoding, own)
        case _:
            return None
    if made is None:
        return None
    blocks = [
        tuple([step * size for step, size in zip(basis, own, strict=True)]) for basis in encodings.blocks_of(encoding)
    ]
    found = {name: _inside(bases, own) for name, bases in made.bases.items() if bases}
    return {**found, "block": _inside(blocks, shape)}


def _inside(bases: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Bases:
    """Return bases with zeros for those that leave a shape."""
    zero = (0,) * len(shape)
    return tuple([basis if all(x < y for x, y in zip(basis, shape, strict=True)) else zero for basis in bases])


# --- inverses ---------------------------------------------------------------------------------------------------------

_BITS = 32
"""The bits of a coordinate in the word that stands for all coordinates."""


def _word(basis: Sequence[int]) -> int:
    return sum(value << _BITS * axis for axis, value in enumerate(basis))


class Inverse:
    """The inverse of a layout: from coordinates to the bits of its inputs, numbered from those of the first one."""

    def __init__(self, layout: MemoryLayout) -> None:
        self._rows: list[tuple[int, int]] = []
        self._starts: dict[str, tuple[int, int]] = {}
        bit = 0
        for name, bases in layout.items():
            self._starts[name] = (bit, len(bases))
            for basis in bases:
                row, mask = self._reduced(_word(basis), 1 << bit)
                if row:
                    self._rows.append((row, mask))
                    self._rows.sort(reverse=True)  # so the highest bit is cleared first
                bit += 1

    def _reduced(self, word: int, mask: int) -> tuple[int, int]:
        for row, of_row in self._rows:
            if word ^ row < word:
                word, mask = word ^ row, mask ^ of_row
        return word, mask

    def reaches(self, coordinates: Sequence[int]) -> bool:
        """Tell whether an element lies at these coordinates."""
        return not self._reduced(_word(coordinates), 0)[0]

    def place(self, coordinates: Sequence[int], name: str) -> int:
        """Return the number of an input where the element at these coordinates lies; 0 if it lies nowhere."""
        word, mask = self._reduced(_word(coordinates), 0)
        start, count = self._starts.get(name, (0, 0))
        return 0 if word else mask >> start & ((1 << count) - 1)


def used(layout: MemoryLayout, name: str) -> int:
    """Return the bits of an input that change a coordinate."""
    return sum(any(basis) << bit for bit, basis in enumerate(layout.get(name, ())))


def contiguous(steps: Sequence[int]) -> int:
    """Return how many of the numbers from 0 on are sums of some of these steps; a power of two."""
    rows: list[int] = []

    def reduced(value: int) -> int:
        for row in rows:
            value = min(value, value ^ row)
        return value

    for step in steps:
        if left := reduced(step):
            rows.append(left)
            rows.sort(reverse=True)
    count = 1
    while not reduced(count) and count < 1 << _BITS:
        count *= 2
    return count
