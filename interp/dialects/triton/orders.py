"""The order in which a reduction or a scan combines elements, from the layout of its operand.

Sources: `ReduceOpToLLVM.cpp`, `ScanOpToLLVM.cpp` and `Utility.cpp` of triton 3.9, and AMD's `TargetInfo.cpp`. A
reduction combines the registers of a thread as a tree, then the lanes of a warp by shuffles, then the warps through
shared memory. A scan combines the neighbours of a thread, the last ones of each lane at distances 1, 2, 4 and so on,
and then the warps, one after the other.

The order is followed on *rows*: what it combines are the rows of a state, whatever these are. So the same code runs a
reduction on numbers, and proves by symbols which elements were combined in which order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from halfulp.interp.dialects.triton.layouts import Along, Places
from halfulp.interp.dialects.triton.targets import Target

State = TypeVar("State")


class Rows(Protocol[State]):
    """What an order needs of a state: to take rows of it, to join rows, and to combine accumulators with elements."""

    def take(self, state: State, rows: Places) -> State:
        """Return some rows, in this order."""

    def join(self, states: Sequence[State]) -> State:
        """Return the rows of several states, one state after the other."""

    def combine(self, accumulators: State, elements: State) -> State:
        """Return the combinations of rows."""


# --- reductions -------------------------------------------------------------------------------------------------------


class Tree(NamedTuple):
    """The order within a thread. ``arity``: how many values are combined at a time. ``packed``: whether pairs of
    neighbours are combined as vectors, whose two halves are combined last.
    """

    arity: int
    packed: bool


def tree_of(along: Along, target: Target, inner: str, element: str, operands: int) -> Tree:
    """Return the order within a thread. ``inner``: the op of arith that the region consists of, "" for any other
    region. ``element``: the type of the elements. ``operands``: the number of operands of the reduction.
    """
    several = len(along.registers) >= _PACKED_BITS and along.first and operands == 1
    packed = several and element in target.packed and inner in _IN_VECTORS
    return Tree(3 if inner in target.ternary else 2, packed)


_PACKED_BITS = 2
"""A thread needs four elements along the axis for pairs of them."""
_IN_VECTORS = frozenset(("addf", "mulf", "maxnumf", "minnumf", "maximumf", "minimumf"))


class Reduced(NamedTuple, Generic[State]):
    """The result of a reduction, one row.

    ``copies``: what the lanes of each warp hold before one of them is chosen: rows for [warps, lanes]; None if there is
    no choice. Where the copies differ, the result is not determined. ``ends``: what the lanes hold that combined the
    warps; the first row is the result. Where they differ, threads go on with different results.
    """

    state: State
    copies: tuple[State, int] | None
    ends: State


def reduced(rows: Rows[State], state: State, along: Along, tree: Tree, shifts: Sequence[int]) -> Reduced[State]:
    """Reduce the rows of a state, one for each element along an axis, to one row.

    ``shifts``: the distances by which all lanes of a wave are reduced by shifts; empty for exclusive or.
    """
    places = along.places()
    registers, lanes, warps = places.shape
    state = rows.take(state, places.reshape(-1))
    threads = lanes * warps
    if tree.packed:
        halves = [_rows_of(range(half, registers, 2), threads) for half in (0, 1)]
        parts = [_as_tree(rows, rows.take(state, part), registers // 2, threads, tree.arity) for part in halves]
        state = rows.combine(*parts)
    else:
        state = _as_tree(rows, state, registers, threads, tree.arity)
    grid = np.arange(threads).reshape(lanes, warps)
    chosen, copies = 0, None
    if shifts and lanes > 1:
        for shift in shifts:
            state = rows.combine(state, rows.take(state, np.roll(grid, shift, axis=0).reshape(-1)))
        chosen = lanes - 1
    else:
        state = _butterfly(rows, state, grid)
        copies = rows.take(state, grid.T.reshape(-1)), lanes
    ends = across_warps(rows, rows.take(state, grid[chosen]), warps)
    return Reduced(rows.take(ends, np.zeros(1, np.intp)), copies, ends)


def across_warps(rows: Rows[State], state: State, warps: int) -> State:
    """Return what the rows of all warps give, in each of as many lanes."""
    return _butterfly(rows, state, np.arange(warps)[:, None])


def _rows_of(numbers: Sequence[int] | Places, width: int) -> Places:
    """Return the rows of some groups of ``width`` rows each."""
    return (np.asarray(numbers, np.intp)[:, None] * width + np.arange(width)).reshape(-1)


def _as_tree(rows: Rows[State], state: State, count: int, width: int, arity: int) -> State:
    """Combine groups of ``width`` rows as a tree of neighbours."""
    while count > 1:
        firsts = np.arange(0, count, arity)
        found = rows.take(state, _rows_of(firsts, width))
        for step in range(1, arity):
            having = int(np.count_nonzero(firsts + step < count))
            others = rows.take(state, _rows_of(firsts[:having] + step, width))
            if having == len(firsts):
                found = rows.combine(found, others)
            elif having:
                whole = np.arange(len(firsts) * width)
                made = rows.combine(rows.take(found, whole[: having * width]), others)
                found = rows.join([made, rows.take(found, whole[having * width :])])
        state, count = found, len(firsts)
    return state


def _butterfly(rows: Rows[State], state: State, grid: Places) -> State:
    """Combine the rows of a grid along its first axis: each with that at the highest distance first."""
    distance = len(grid) // 2
    while distance:
        state = rows.combine(state, rows.take(state, grid[np.arange(len(grid)) ^ distance].reshape(-1)))
        distance //= 2
    return state


# --- scans ------------------------------------------------------------------------------------------------------------


def scanned(rows: Rows[State], state: State, along: Along, reverse: bool) -> State:
    """Return the rows of a state, each combined with those before it, or with those behind it.

    Raises ValueError if lanes or warps do not hold neighbouring parts of the axis.
    """
    group, chunks = parts_of(along)
    lanes, warps = 1 << len(along.lanes), 1 << len(along.warps)
    order = np.arange(group * chunks * lanes * warps)
    order = order[::-1] if reverse else order
    state = rows.take(state, order)
    threads = chunks * warps * lanes
    grid = np.arange(threads * group).reshape(threads, group)
    members = [rows.take(state, grid[:, 0])]
    for place in range(1, group):
        members.append(rows.combine(members[-1], rows.take(state, grid[:, place])))
    parts = np.arange(threads).reshape(-1, lanes)
    last = _with_carries(rows, members, _within_warps(rows, members[-1], parts), parts)
    # From [member, thread] back to the order of the axis, and of the operand.
    found = rows.take(rows.join(last), np.arange(threads * group).reshape(group, threads).T.reshape(-1))
    return rows.take(found, order)


def parts_of(along: Along) -> tuple[int, int]:
    """Return how many neighbours a thread holds, and how many such parts each warp holds.

    Raises ValueError if lanes or warps do not hold neighbouring parts of the axis.
    """
    bits = list(along.registers)
    group = 1
    while group in bits:
        bits.remove(group)
        group *= 2
    size = group << len(along.lanes) + len(along.warps)
    inner = [group << bit for bit in range(len(along.lanes) + len(along.warps))]
    if [*along.lanes, *along.warps] != inner or sorted(bits) != [size << bit for bit in range(len(bits))]:
        raise ValueError("lanes and warps do not hold neighbouring parts of the axis")
    return group, 1 << len(bits)


def _within_warps(rows: Rows[State], state: State, grid: Places) -> State:
    """Scan the lanes of each warp: rows for [warps, lanes]."""
    lanes = grid.shape[1]
    distance = 1
    while distance < lanes:
        below, own = grid[:, :-distance].reshape(-1), grid[:, distance:].reshape(-1)
        made = rows.combine(rows.take(state, below), rows.take(state, own))
        kept = rows.take(state, grid[:, :distance].reshape(-1))
        where = np.empty(grid.size, np.intp)
        where[np.concatenate([grid[:, :distance].reshape(-1), own])] = np.arange(grid.size)
        state = rows.take(rows.join([kept, made]), where)
        distance *= 2
    return state


def _with_carries(rows: Rows[State], members: list[State], totals: State, grid: Places) -> list[State]:
    """Return the scans of the members of each thread.

    ``members``: the scans within a thread. ``totals``: those of the last members within a warp. ``grid``: the numbers
    of the threads, [parts, lanes], where the parts are those of the warps in the order of the axis.
    """
    parts, lanes = grid.shape
    ends = grid[:, -1]
    carries = [rows.take(totals, ends[:1])]
    for part in range(1, parts - 1):
        carries.append(rows.combine(carries[-1], rows.take(totals, ends[part : part + 1])))
    terminal, carry = totals, None
    if parts > 1:
        carry = rows.join(carries)
        spread = rows.take(carry, np.repeat(np.arange(parts - 1), lanes))
        later = rows.combine(spread, rows.take(totals, grid[1:].reshape(-1)))
        terminal = rows.join([rows.take(totals, grid[0]), later])
    if len(members) == 1 or grid.size == 1:
        return [*members[:-1], terminal]
    # The rows of the last members, and behind them the carries.
    before = grid - 1
    before[1:, 0] = grid.size + np.arange(parts - 1)
    known = terminal if carry is None else rows.join([terminal, carry])
    prefix = rows.take(known, before.reshape(-1)[1:])
    first, others = np.zeros(1, np.intp), np.arange(1, grid.size)
    found = []
    for member in members[:-1]:
        found.append(rows.join([rows.take(member, first), rows.combine(prefix, rows.take(member, others))]))
    return [*found, terminal]
