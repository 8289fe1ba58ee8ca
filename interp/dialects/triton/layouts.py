"""Layouts of TTGIR as linear maps: which element each register of each lane of each warp holds.

A layout is linear over the bits of the numbers of register, lane, warp and block: the coordinates of an element are the
exclusive or of the *bases* of the bits that are set. A basis of zeros means copies. Every layout of a tensor can be
written in this way (`LinearLayoutConversions.cpp`, `LinearLayout.h` of triton 3.9).

Layouts of shared memory do not belong here: they say where an element lies, and change no number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.dialect_attributes import DialectAttr

Basis = tuple[int, ...]
Bases = tuple[Basis, ...]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class LinearLayout:
    """A layout of a tensor. Each field but the shape has a basis for each bit of a number."""

    shape: tuple[int, ...]
    register: Bases = ()
    lane: Bases = ()
    warp: Bases = ()
    block: Bases = ()

    def same_threads(self, other: LinearLayout) -> bool:
        """Tell whether each lane of each warp holds the same elements in both layouts, in any order of registers."""
        return (self.lane, self.warp, self.block) == (other.lane, other.warp, other.block) and set(self.register) - {
            self._zero
        } == set(other.register) - {self._zero}

    def elements(self, copies: bool) -> Places:
        """Return the number of the element, in row-major order, that each register holds: [registers, warps, lanes].
        ``copies``: whether those are counted that hold the same elements as others.
        """
        parts = []
        for bases in (self.register, self.warp, self.lane):
            numbers = np.zeros((1, len(self.shape)), np.intp)
            for basis in bases:
                if copies or any(basis):
                    numbers = np.concatenate([numbers, numbers ^ np.array(basis)])
            parts.append(numbers)
        registers, warps, lanes = parts
        places = registers[:, None, None] ^ warps[None, :, None] ^ lanes[None, None, :]
        return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(places, -1, 0)), self.shape))

    def waves(self) -> Places:
        """Return, for each element in row-major order, a number that it shares with those that the lanes of one wave
        hold in one register. Copies do not count.
        """
        where = self.elements(copies=False)
        found = np.empty(where.size, np.intp)
        found[where.reshape(-1, where.shape[-1])] = np.arange(where.size // where.shape[-1])[:, None]
        return found

    @property
    def _zero(self) -> Basis:
        return (0,) * len(self.shape)

    def along(self, axis: int) -> Along:
        """Return how the elements along an axis are held. Copies do not count.

        Raises ValueError for an axis that blocks of a cluster divide, and if a basis changes several coordinates.
        """
        steps = []
        for bases in (self.register, self.lane, self.warp, self.block):
            for basis in bases:
                if basis[axis] and sum(map(bool, basis)) > 1:
                    raise ValueError(f"the basis {list(basis)} changes several coordinates")
            steps.append(tuple([basis[axis] for basis in bases if basis[axis]]))
        if steps[3]:
            raise ValueError(f"several blocks hold the elements along axis {axis}")
        first = bool(self.register) and self.register[0][axis] != 0
        return Along(steps[0], steps[1], steps[2], first, len(self.lane))


class Along(NamedTuple):
    """How the elements along an axis are held: the distances of the bits of register, lane and warp.

    ``first``: whether the first bit of registers goes along the axis. ``lanes``: the number of bits of lanes, also of
    those that do not go along the axis.
    """

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    first: bool
    all_lanes: int

    def places(self) -> Places:
        """Return the coordinates that are held: [registers, lanes, warps]."""
        numbers = [_numbers(steps) for steps in (self.registers, self.lanes, self.warps)]
        return numbers[0][:, None, None] ^ numbers[1][None, :, None] ^ numbers[2][None, None, :]


def _numbers(steps: Sequence[int]) -> Places:
    found = np.zeros(1, np.intp)
    for step in steps:
        found = np.concatenate([found, found ^ step])
    return found


# --- making -----------------------------------------------------------------------------------------------------------


class Maker:
    """A layout that is made by products: each new part lies behind what there is along its dimension."""

    def __init__(self, rank: int, order: Sequence[int]) -> None:
        self._rank = rank
        self._order = tuple(order)
        self.sizes = [1] * rank
        self.bases: defaultdict[str, list[Basis]] = defaultdict(list)

    def _at(self, dimension: int, step: int) -> Basis:
        return tuple([step if axis == dimension else 0 for axis in range(self._rank)])

    def add(self, where: str, dimension: int, count: int) -> None:
        """Add ``count`` neighbours along a dimension."""
        while count > 1:
            self.bases[where].append(self._at(dimension, self.sizes[dimension]))
            self.sizes[dimension] *= 2
            count //= 2

    def extend(self, where: str, bases: Iterable[Sequence[int]]) -> None:
        """Add bases as they are."""
        for basis in bases:
            self.bases[where].append(tuple(basis))
            self.sizes = [max(size, 2 * step) for size, step in zip(self.sizes, basis, strict=True)]

    def add_all(self, where: str, counts: Sequence[int], order: Sequence[int]) -> None:
        """Add a tile, the first dimension of an order first."""
        for dimension in order:
            self.add(where, dimension, counts[dimension])

    def copies(self, where: str, count: int) -> None:
        """Add copies."""
        while count > 1:
            self.bases[where].append((0,) * self._rank)
            count //= 2

    def fitted(self, shape: Sequence[int], blocks: Bases = ()) -> LinearLayout:
        """Return the layout of a tensor: what is missing are more registers, and what is outside are copies."""
        divided = [max([1, *(2 * basis[axis] for basis in blocks)]) for axis in range(self._rank)]
        own = [max(size // count, 1) for size, count in zip(shape, divided, strict=True)]
        for dimension in self._order:
            self.add("register", dimension, own[dimension] // self.sizes[dimension])

        def inside(bases: Iterable[Basis], sizes: Sequence[int]) -> Bases:
            return tuple(
                [
                    tuple([step if step < size else 0 for step, size in zip(basis, sizes, strict=True)])
                    for basis in bases
                ]
            )

        register, lane, warp = (inside(self.bases[where], own) for where in ("register", "lane", "warp"))
        outer = [tuple([step * size for step, size in zip(basis, own, strict=True)]) for basis in blocks]
        return LinearLayout(tuple(shape), register, lane, warp, inside([*self.bases["block"], *outer], shape))


def _row_major(rank: int, rows: bool = True) -> tuple[int, ...]:
    """Return the dimensions, the one that changes fastest first: the last, or the one before it."""
    order = list(range(rank))[::-1]
    if not rows and rank > 1:
        order[:2] = order[1], order[0]
    return tuple(order)


def _blocks(encoding: DialectAttr) -> Bases:
    given = encoding["CGALayout"]
    return () if given is None else tuple(map(tuple, given))


def _blocked(encoding: DialectAttr, shape: tuple[int, ...]) -> LinearLayout:
    order = encoding["order"]
    made = Maker(len(shape), order)
    for where, name in (("register", "sizePerThread"), ("lane", "threadsPerWarp"), ("warp", "warpsPerCTA")):
        made.add_all(where, encoding[name], order)
    return made.fitted(shape, _blocks(encoding))


def _slice(encoding: DialectAttr, shape: tuple[int, ...]) -> LinearLayout:
    dim, parent = encoding["dim"], encoding["parent"]
    whole = layout_of(parent, (*shape[:dim], 1, *shape[dim:]))

    def cut(bases: Bases) -> Bases:
        return tuple([basis[:dim] + basis[dim + 1 :] for basis in bases])

    register = tuple([basis for basis in cut(whole.register) if any(basis)])
    return LinearLayout(shape, register, cut(whole.lane), cut(whole.warp), cut(whole.block))


def _linear(encoding: DialectAttr, shape: tuple[int, ...]) -> LinearLayout:
    made = Maker(len(shape), _row_major(len(shape)))
    for where in ("register", "lane", "warp", "block"):
        made.extend(where, encoding[where])
    return made.fitted(shape)


def _nvidia(encoding: DialectAttr, shape: tuple[int, ...]) -> LinearLayout:
    rank = len(shape)
    rows, columns = rank - 2, rank - 1
    made = Maker(rank, _row_major(rank))
    made.add("register", columns, 2)
    made.add("lane", columns, 4)
    made.add("lane", rows, 8)
    made.add("register", rows, 2)
    made.add("register", columns, encoding["instrShape"][-1 if encoding["versionMajor"] == _MMA else 1] // 8)
    made.add_all("warp", encoding["warpsPerCTA"], _row_major(rank, encoding["versionMajor"] == _MMA))
    return made.fitted(shape, _blocks(encoding))


_MMA, _WGMMA = 2, 3
"""The versions of NVIDIA's matrix units that have layouts of registers."""


def _mfma(encoding: DialectAttr, shape: tuple[int, ...]) -> LinearLayout:
    rank = len(shape)
    size = encoding["instrShape"][0]
    if encoding["instrShape"][1] != size or encoding["elementBitWidth"] != 32 or size not in (16, 32):
        raise ValueError("it is not one of the layouts that are known")
    rows, columns = rank - 2, rank - 1
    if encoding["isTransposed"]:
        rows, columns = columns, rows
    made = Maker(rank, _row_major(rank))
    # A lane has 4 rows of a column; in a tile of 32 rows it has four such parts.
    made.add("register", rows, 4)
    made.add("lane", columns, size)
    made.add("lane", rows, 64 // size)
    made.add("register", rows, size * size // 256)
    tiles = encoding["tilesPerWarp"]
    if tiles is not None:
        made.add_all("register", tiles, _row_major(rank))
    made.add_all("warp", encoding["warpsPerCTA"], _row_major(rank))
    return made.fitted(shape, _blocks(encoding))


def _operand(encoding: DialectAttr, shape: tuple[int, ...]) -> LinearLayout:
    """Return the layout of A or B of a dot, which the matrix unit of its parent asks for."""
    parent, width, of_b = encoding["parent"], encoding["kWidth"], encoding["opIdx"] == 1
    rank = len(shape)
    deep, other = (rank - 2, rank - 1) if of_b else (rank - 1, rank - 2)
    made = Maker(rank, (deep, other, *range(rank - 3, -1, -1)))
    name = parent.definition.name
    if name == "ttg.nvidia_mma":
        made.add("register", deep, width)
        made.add("lane", deep, 4)
        made.add("lane", other, 8)
        if not of_b:
            made.add("register", other, 2)
        made.add("register", deep, 2)
    elif name == "ttg.amd_mfma":
        size = parent["instrShape"][0]
        made.add("register", deep, width)
        made.add("lane", other, size)
        made.add("lane", deep, 64 // size)
        tiles = parent["tilesPerWarp"]
        if tiles is not None and tiles[other] > 1:
            raise ValueError("it is not one of the layouts that are known")
    else:
        raise ValueError("it is not one of the layouts that are known")
    warps = parent["warpsPerCTA"]
    for dimension in _row_major(rank, name != "ttg.nvidia_mma" or parent["versionMajor"] == _MMA):
        if dimension == deep:
            made.copies("warp", warps[dimension])
        else:
            made.add("warp", dimension, warps[dimension])
    return made.fitted(shape)


_MAKERS = {
    "ttg.blocked": _blocked,
    "ttg.slice": _slice,
    "ttg.linear": _linear,
    "ttg.generic_linear": _linear,
    "ttg.nvidia_mma": _nvidia,
    "ttg.amd_mfma": _mfma,
    "ttg.dot_op": _operand,
}


@lru_cache(maxsize=1024)
def layout_of(encoding: at.Attribute, shape: tuple[int, ...]) -> LinearLayout:
    """Return the layout of a tensor of this shape. Raises ValueError for an encoding whose layout is not known."""
    make = _MAKERS.get(encoding.definition.name) if isinstance(encoding, DialectAttr) else None
    if make is None:
        raise ValueError(f"the layout of the encoding {encoding} is not known")
    assert isinstance(encoding, DialectAttr)
    try:
        return make(encoding, shape)
    except ValueError as error:
        raise ValueError(f"the layout of the encoding {encoding} is not known: {error}") from None
