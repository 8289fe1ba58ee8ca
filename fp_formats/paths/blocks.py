"""Run what a `Recorder` has noted on blocks of elements that stay in a cache, so that only the results are whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, storage_dtype
from halfulp.fp_formats.paths.fast import nans_of
from halfulp.fp_formats.paths.recorder import (
    IN_PLACE,
    SLOW_ON_SPLATS,
    Array,
    Function,
    Node,
    Recorder,
    copy,
    take,
)

CACHED = 5 << 18
"""The bytes that the arrays of a block take: about a second-level cache."""
_LEAST, _MOST = 1 << 12, 1 << 16
"""The elements that a block has at least and at most."""
_KERNEL, _LOOK_UP = 64, 32
"""The bytes that a call of a kernel, and a look-up in a table, take about as long as."""
_FOUND = 0
"""The slot of the list of refused elements."""

Index = npt.NDArray[np.intp]


class _Step(NamedTuple):
    """A call on a block. ``out``: the node that it writes, or the number of an output; None for a check."""

    function: Function
    operands: tuple[Node, ...]
    out: Node | int | None
    reports: bool


class Program:
    """The calls that give some outputs, words of a recorder.

    ``block``: the elements of a block. ``cost``: the bytes of an element that the calls take;
    kernels and look-ups count for more.
    """

    def __init__(self, recorder: Recorder, outputs: Sequence[Node]) -> None:
        needed = set(_live([*outputs, *recorder.refused]))
        settled = [node for node in recorder.settled if node.storage in needed]
        self._live = _live([*needed, *settled])
        # A number that is a NaN only if another one is, which is searched for NaNs, is not searched.
        implying = {other for node in settled for other in recorder.settled[node] if other is not node}
        checks: dict[Node, Function] = {node: _report_nans for node in settled if node not in implying}
        checks.update(dict.fromkeys(recorder.refused, _report))
        self._splat_checks = [(node, check) for node, check in checks.items() if node.splat]

        steps: list[_Step] = []
        for node in self._live:
            if node.splat:
                continue
            if node.function is not None:
                steps.append(_Step(node.function, node.operands, node, node.reports))
            if node in checks:
                steps.append(_Step(checks[node], (node,), None, True))
        self._homes: dict[Node, tuple[str, int]] = {}
        for number, node in enumerate(outputs):
            owner = node.storage
            if owner.splat or owner.function is None or owner in self._homes:
                steps.append(_Step(copy, (node,), number, False))
            else:
                self._homes[owner] = "output", number
        self._outputs = [storage_dtype(node.width) for node in outputs]
        self._registers: list[int] = []
        self._slots: dict[tuple[str, Any, np.dtype[Any]], int] = {}
        self._steps = self._placed(steps)
        self.cost = sum(_cost(step) for step in steps)
        sizes = [
            *self._registers,
            *(dtype.itemsize for kind, _, dtype in self._slots if kind not in ("register", "splat")),
        ]
        self.block = max(_LEAST, min(_MOST, CACHED // max(1, sum(sizes)) // _LEAST * _LEAST))

    # --- planning ---

    def _placed(self, steps: Sequence[_Step]) -> list[tuple[Function, Any]]:
        """Give each value a place. A register is free again after the last use of its value."""
        last = {operand.storage: index for index, step in enumerate(steps) for operand in step.operands}
        free: dict[int, list[int]] = {}
        placed = []
        for index, step in enumerate(steps):
            whole = step.function in SLOW_ON_SPLATS
            places = [_FOUND] * step.reports + [self._slot(operand, whole) for operand in step.operands]
            done = {operand.storage for operand in step.operands if last[operand.storage] == index}
            released = [
                (node.dtype.itemsize, self._homes[node][1])
                for node in done
                if self._homes.get(node, "o")[0] == "register"
            ]
            if step.function in IN_PLACE:
                _release(free, released)
            if isinstance(step.out, Node):
                if step.out not in self._homes:
                    size = step.out.dtype.itemsize
                    if not free.get(size):
                        _release(free, [(size, len(self._registers))])
                        self._registers.append(size)
                    self._homes[step.out] = "register", free[size].pop()
                places.append(self._slot(step.out))
            elif step.out is not None:
                places.append(self._place("output", step.out, self._outputs[step.out]))
            if step.function not in IN_PLACE:
                _release(free, released)
            placed.append((step.function, itemgetter(*places)))
        return placed

    def _place(self, kind: str, number: Any, dtype: np.dtype[Any]) -> int:
        return self._slots.setdefault((kind, number, dtype), len(self._slots) + 1)

    def _slot(self, node: Node, whole: bool = False) -> int:
        """Return the slot of a node. ``whole``: a splat, too, has one element for each of the block."""
        if node.splat:
            return self._place("whole" if whole else "splat", node, node.dtype)
        owner = node.storage
        return self._place(*(("input", owner.input) if owner.function is None else self._homes[owner]), node.dtype)

    # --- running ---

    def run(self, inputs: Sequence[Codes], made: Sequence[Codes], count: int) -> Index:
        """Fill the outputs, arrays of ``count`` elements. Of an input that is a splat one element is read. Returns the
        indices of the refused elements: what they got is wrong.
        """
        found: list[Index] = []
        refused: list[Index] = []
        with np.errstate(all="ignore"):
            splats = self._of_splats(inputs, found)
            if found:
                return np.arange(count)
            block = min(self.block, count)
            registers = [np.empty(size * block, np.uint8) for size in self._registers]
            slots: list[Any] = [found] * (len(self._slots) + 1)
            parted = []
            for (kind, key, dtype), slot in self._slots.items():
                if kind == "splat":
                    slots[slot] = splats[key].reshape(())
                elif kind == "whole":
                    slots[slot] = np.full(block, splats[key])
                elif kind == "register":
                    slots[slot] = registers[key].view(dtype)
                else:
                    parted.append((slot, (inputs if kind == "input" else made)[key].view(dtype)))
            for start in range(0, count, block):
                size = min(block, count - start)
                if size < block:
                    slots = [each[:size] if isinstance(each, np.ndarray) and each.ndim else each for each in slots]
                for slot, array in parted:
                    slots[slot] = array[start : start + size]
                for function, operands in self._steps:
                    function(*operands(slots))
                if found:
                    refused.append(np.unique(np.concatenate(found)) + start)
                    found.clear()
        return np.concatenate(refused) if refused else np.empty(0, np.intp)

    def _of_splats(self, inputs: Sequence[Codes], found: list[Index]) -> dict[Node, Array]:
        """Compute the values of which one element stands for all."""
        values: dict[Node, Array] = {}
        for node in self._live:
            if not node.splat:
                continue
            if node.base is not None:
                values[node] = values[node.base].view(node.dtype)
            elif node.code is not None:
                values[node] = np.full(1, node.code, node.dtype)
            elif node.function is None:
                values[node] = inputs[node.input].reshape(-1)[:1].view(node.dtype)
            else:
                values[node] = np.empty(1, node.dtype)
                reports = (found,) if node.reports else ()
                node.function(*reports, *(values[operand] for operand in node.operands), values[node])
        for node, check in self._splat_checks:
            check(found, values[node])
        return values


def _cost(step: _Step) -> int:
    if step.reports and step.out is not None:
        return _KERNEL
    look_up = isinstance(step.function, partial) and step.function.func is take
    return _LOOK_UP if look_up else max(operand.dtype.itemsize for operand in step.operands)


def _release(free: dict[int, list[int]], registers: Sequence[tuple[int, int]]) -> None:
    for size, number in registers:
        free.setdefault(size, []).append(number)


def _live(roots: Sequence[Node]) -> list[Node]:
    """Return the nodes that some nodes need, in the order in which they were noted."""
    found, waiting = set(roots), list(roots)
    while waiting:
        node = waiting.pop()
        new = {*node.operands, node.storage} - found
        found |= new
        waiting += new
    return sorted(found, key=lambda node: node.number)


def _report(found: list[Index], condition: Array) -> None:
    if condition.any():
        found.append(np.flatnonzero(condition))


def _report_nans(found: list[Index], numbers: Array) -> None:
    index = nans_of(numbers)
    if index is not None:
        found.append(index)
