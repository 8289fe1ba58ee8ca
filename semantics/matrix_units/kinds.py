"""The kinds of tile operations of `#iree_gpu`, their element types and shapes, and the elements that each lane holds.

The table `kinds.json` has one line for each kind of three attributes: ``mma_layout`` (98 kinds), ``virtual_mma_layout``
(18) and ``scaled_mma_layout`` (2). ``types`` are the types of A, B and C; for scaled kinds the attribute gives those of
A and B. ``layouts`` are those of the operands, each as outer, thread, strides, element; two kinds have none.

Canonical tiles are A [M, K], B [K, N] and C [M, N]; kinds of several blocks have a leading dimension for them, and
scaled kinds, whose scales are A's [M, K / block] and B's [K / block, N], split K in A and B: [K / block, block].
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class LaneLayout:
    """The elements of a tile that each lane holds. Every field has one entry for each dimension of the tile.

    A lane holds ``outer`` blocks of ``element`` consecutive elements along a dimension. Along this dimension there are
    ``thread`` lanes, whose blocks lie side by side; ``strides`` are the distances between the numbers of neighbouring
    lanes. A stride of 0 means that there is one lane along the dimension.
    """

    outer: tuple[int, ...]
    thread: tuple[int, ...]
    strides: tuple[int, ...]
    element: tuple[int, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile."""
        return tuple(map(math.prod, zip(self.outer, self.thread, self.element, strict=True)))

    @cached_property
    def lane_shape(self) -> tuple[int, ...]:
        """The shape of a lane's elements in the order of its registers: outer and element of each dimension,
        row-major.
        """
        return tuple(size for pair in zip(self.outer, self.element, strict=True) for size in pair)

    @cached_property
    def registers(self) -> int:
        """The number of elements that a lane holds."""
        return math.prod(self.lane_shape)

    @property
    def transposed(self) -> LaneLayout:
        """The layout with its last two dimensions swapped, as ``col_major`` means for C."""
        return LaneLayout(
            *((*field[:-2], field[-1], field[-2]) for field in (self.outer, self.thread, self.strides, self.element))
        )

    def positions(self, lanes: int) -> Index:
        """Return the row-major positions in the tile of the elements in each lane's registers: [lanes, registers]."""
        return _positions(self, lanes)


@lru_cache(maxsize=256)
def _positions(layout: LaneLayout, lanes: int) -> Index:
    axes = np.ix_(np.arange(lanes), *map(np.arange, layout.lane_shape))
    lane, position = axes[0], np.zeros((), np.intp)
    for dimension, size in enumerate(layout.shape):
        outer, element = axes[1 + 2 * dimension], axes[2 + 2 * dimension]
        stride, threads = layout.strides[dimension], layout.thread[dimension]
        thread = lane // stride % threads if stride else 0
        position = position * size + (outer * threads + thread) * layout.element[dimension] + element
    whole = np.broadcast_to(position, (lanes, *layout.lane_shape)).reshape(lanes, -1)
    whole.flags.writeable = False
    return whole


def distribute(tile: Codes, layout: LaneLayout, lanes: int) -> Codes:
    """Distribute tiles [..., *layout.shape] to lanes: [..., lanes, registers]."""
    rank = len(layout.shape)
    if tile.shape[tile.ndim - rank :] != layout.shape:
        raise ValueError(f"the layout is that of a tile of shape {layout.shape}, not {tile.shape}")
    flat = tile.reshape(*tile.shape[: tile.ndim - rank], math.prod(layout.shape))
    return flat[..., layout.positions(lanes)]


def gather(held: Codes, layout: LaneLayout) -> Codes:
    """Gather the tiles [..., *layout.shape] that lanes hold in these registers: the inverse of `distribute`.

    If several lanes hold an element, the first lane gives its value.
    """
    lanes, registers = held.shape[-2:]
    if registers != layout.registers:
        raise ValueError(f"a lane holds {layout.registers} elements of the tile, not {registers}")
    lead = held.shape[:-2]
    tile = np.empty((*lead, math.prod(layout.shape)), held.dtype)
    # If an element is assigned several times, NumPy keeps the last value.
    tile[..., layout.positions(lanes)[::-1].reshape(-1)] = held[..., ::-1, :].reshape(*lead, lanes * registers)
    return tile.reshape(*lead, *layout.shape)


@dataclass(frozen=True)
class TileKind:
    """A row of the table. ``code`` is the enumerator's number in bytecode and generic syntax."""

    name: str
    attribute: str
    code: int
    types: tuple[str, str, str]
    shape: tuple[int, int, int]
    blocks: int
    lanes: int
    layouts: tuple[LaneLayout, ...] | None
    slices_of: str | None = None

    @property
    def block(self) -> int | None:
        """The number of elements along K that share a scale; None for a kind without scales."""
        return 32 if self.attribute == "scaled_mma_layout" else None

    @cached_property
    def operand_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The canonical shapes of A, B, their scales if there are any, and C."""
        m, n, k = self.shape
        if self.block is not None:
            groups = k // self.block
            return (m, groups, self.block), (groups, self.block, n), (m, groups), (groups, n), (m, n)
        lead = (self.blocks,) if self.blocks > 1 else ()
        return (*lead, m, k), (*lead, k, n), (*lead, m, n)

    @cached_property
    def lane_shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """The shape of a lane's part of each operand, in the order of `operand_shapes`; None without layouts.

        In the sparse virtual kinds two lanes share the elements that the layout of A gives to both: each lane has half
        of them.
        """
        if self.layouts is None:
            return None
        if self.name.startswith("NV_MMA_SYNC"):
            return tuple((math.prod(layout.outer), math.prod(layout.element)) for layout in self.layouts)
        counts = [layout.registers for layout in self.layouts]
        if self.name.startswith("VDMFMA"):
            counts[0] //= 2
        return tuple((count,) for count in counts)

    @cached_property
    def registers(self) -> tuple[int, ...]:
        """The number of elements of each operand that a lane is given; empty for a kind without layouts."""
        return tuple(map(math.prod, self.lane_shapes or ()))

    @cached_property
    def k_order(self) -> Index:
        """The elements along K in the order in which the hardware sees them; for most kinds that is their own order.

        A lane of a virtual kind passes a slice of its elements to each of its instructions in turn, and an instruction
        takes the slices of the first lanes first.
        """
        k = self.shape[2]
        if self.slices_of is None or self.layouts is None:
            return np.arange(k)
        layout = self.layouts[0]
        lanes, each = layout.thread[1], KINDS[self.slices_of].shape[2] // layout.thread[1]
        first_row = layout.positions(self.lanes)[np.arange(lanes) * layout.strides[1]]  # whose positions are those in K
        return np.ascontiguousarray(first_row.reshape(lanes, -1, each).swapaxes(0, 1).reshape(-1))


_SLICES = {
    "VMFMA_F32_16x16x32_F16": "MFMA_F32_16x16x16_F16",
    "VMFMA_F32_32x32x16_F16": "MFMA_F32_32x32x8_F16",
    "VMFMA_F32_16x16x32_F8E4M3FNUZ": "MFMA_F32_16x16x32_F8E4M3FNUZ",
    "VMFMA_F32_32x32x16_F8E4M3FNUZ": "MFMA_F32_32x32x16_F8E4M3FNUZ",
}
"""Virtual kinds, each with the instruction that it consists of, once or twice."""


class _Kinds(Mapping[str, TileKind]):
    """The kinds by name. They are read at their first use."""

    @cached_property
    def _rows(self) -> Mapping[str, TileKind]:
        text = resources.files(__package__).joinpath("kinds.json").read_text(encoding="utf-8")
        rows: dict[str, TileKind] = {}
        for attribute, kinds in json.loads(text).items():
            for row in kinds:
                layouts = row["layouts"] and tuple(LaneLayout(*map(tuple, fields)) for fields in row["layouts"])
                rows[row["name"]] = TileKind(
                    row["name"], f"{attribute}_layout" if attribute == "mma" else f"{attribute}_mma_layout",
                    row["code"], tuple(row["types"]), tuple(row["shape"]), row["blocks"], row["lanes"], layouts,
                    _SLICES.get(row["name"]),
                )  # fmt: skip
        return MappingProxyType(rows)

    def __getitem__(self, name: str) -> TileKind:
        return self._rows[name]

    def __iter__(self) -> Any:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


KINDS: Mapping[str, TileKind] = _Kinds()
"""All kinds, by name."""


@dataclass(frozen=True)
class TileOp:
    """A tile operation. ``a`` to ``d`` are element types; ``scale`` is the type of scales, one for ``block`` elements
    of K.

    ``unit`` is the name of the instruction, ``shape`` its M, N and K; they select the rule of a chip. M and N of the
    arrays may differ from these, and K may be a multiple: then there are several instructions. ``order``: the elements
    along K as the hardware sees them, if that is not their own order.
    """

    name: str
    a: str
    b: str
    c: str
    d: str
    shape: tuple[int, int, int]
    blocks: int = 1
    unit: str = "mma"
    scale: str = ""
    block: int = 0
    order: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return self.name


def holds(wide: str, narrow: str) -> bool:
    """Tell whether a float type can represent all numbers of another type. The type in which models add must represent
    those of A and B.
    """
    x, y = FORMATS[wide], FORMATS[narrow]
    quantum = y.emin - y.mantissa_bits >= x.emin - x.mantissa_bits
    return y.precision <= x.precision and y.emax <= x.emax and quantum


UNITS = {"NV_MMA_SYNC": "mma", "MFMA": "mfma", "VMFMA": "mfma"}
"""Instructions by the first part of a kind's name. Other kinds have an instruction of their own, which no chip has."""


def operation_of(kind: TileKind, a: str = "", b: str = "", scale: str = "f8E8M0FNU") -> TileOp:
    """Return the operation of a kind; ``a`` and ``b`` are the element types, which a scaled kind does not fix."""
    family = kind.name.partition("_F")[0].partition("_I")[0].partition("_BF")[0]
    types = (kind.types[0] or a, kind.types[1] or b, kind.types[2])
    order = tuple(kind.k_order.tolist()) if kind.slices_of else None
    shape = KINDS[kind.slices_of].shape if kind.slices_of else kind.shape
    scales = (scale, kind.block) if kind.block else ("", 0)
    return TileOp(
        kind.name, *types, kind.types[2], shape, kind.blocks, UNITS.get(family, family.lower()), *scales, order
    )
