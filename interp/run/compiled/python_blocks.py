"""Blocks of Python that jump to each other, written with loops and conditions.

Python has no jumps. A block that only one other block jumps to is written in its place. Each other block is a case: a
loop around all cases runs the one whose number is in ``at``. A case that jumps back to itself is a loop of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_DEEPEST = 20
"""The conditions that may lie in each other."""


_NAMES = re.compile(r"\bv\d+\b")
"""The names that code gives to what it computes."""


class Line(NamedTuple):
    """A line of code. ``gives``: the name that it computes, if it does nothing else."""

    text: str
    gives: str | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """The next number of an iterator, which is assigned to a name."""

    iterator: str
    name: str


@dataclass(eq=False, slots=True)
class Block:
    """Some lines, and where to go on: nowhere after a return, at one other block, or at one of two.

    ``condition``, ``iteration``: what decides between two. ``made``: what its lines compute, by what it is.
    """

    lines: list[Line] = field(default_factory=list)
    made: dict[Any, Any] = field(default_factory=dict)
    targets: tuple[Block, ...] = ()
    condition: str = ""
    iteration: Iteration | None = None
    arrivals: int = 0

    def ends(self, targets: tuple[Block, ...], condition: str = "", iteration: Iteration | None = None) -> None:
        """Say where to go on."""
        self.targets, self.condition, self.iteration = targets, condition, iteration
        for target in targets:
            target.arrivals += 1


def written(blocks: Sequence[Block]) -> list[str]:
    """Return the lines of a function, whose first block is the first one."""
    return _needed(_Writer(blocks).lines)


def _needed(lines: Sequence[Line]) -> list[str]:
    """Return the lines without those that compute what no later line needs."""
    uses = Counter(name for line in lines for name in _NAMES.findall(line.text))
    kept = []
    for line in reversed(lines):
        if line.gives is not None and uses[line.gives] == 1:
            uses.subtract(_NAMES.findall(line.text))
        else:
            kept.append(line.text)
    return kept[::-1]


class _Writer:
    def __init__(self, blocks: Sequence[Block]) -> None:
        self.lines: list[Line] = []
        entry = blocks[0]
        self._numbers: dict[Block, int] = {}
        # Later blocks are those of inner loops, which run more often.
        for block in reversed(blocks):
            if block.arrivals > 1 or block.iteration is not None:
                self._numbers[block] = len(self._numbers)
        self._deepen(entry)
        if not self._numbers:
            self._write(entry, 0, None)
            return
        cases = [*self._numbers.items()]
        if entry not in self._numbers:
            cases.append((entry, len(cases)))
        self._add(0, f"at = {dict(cases)[entry]}", "while True:")
        word = "if"
        for block, number in cases:
            self._add(1, f"{word} at == {number}:")
            self._case(block)
            word = "elif"

    def _add(self, indent: int, *lines: str) -> None:
        self.lines += [Line(" " * indent + line) for line in lines]

    def _deepen(self, entry: Block) -> None:
        """Make cases of blocks that would lie in too many conditions."""
        depths = dict.fromkeys((entry, *self._numbers), 0)
        waiting = [*depths]
        while waiting:
            block = waiting.pop()
            for place, target in enumerate(block.targets):
                if target in depths:
                    continue
                inside = place == 0 and len(block.targets) == 2
                depths[target] = depths[block] + inside
                if depths[target] > _DEEPEST:
                    self._numbers[target] = len(self._numbers)
                    depths[target] = 0
                waiting.append(target)

    def _case(self, block: Block) -> None:
        if not self._returns_to(block):
            self._write(block, 2, None)
        elif block.iteration is not None:
            body, after = block.targets
            self._add(2, f"for {block.iteration.name} in {block.iteration.iterator}:")
            self._go(body, 3, block)
            self._add(2, "else:")
            self._go(after, 3, None)
        else:
            self._add(2, "while True:")
            self._write(block, 3, block)

    def _returns_to(self, case: Block) -> bool:
        """Tell whether a case jumps back to itself."""
        waiting = list(case.targets[:1] if case.iteration is not None else case.targets)
        while waiting:
            block = waiting.pop()
            if block is case:
                return True
            if block not in self._numbers:
                waiting += block.targets
        return False

    def _go(self, target: Block, indent: int, loop: Block | None) -> None:
        """Write a jump, inside of the loop of a case or outside of all."""
        number = self._numbers.get(target)
        if target is loop:
            self._add(indent, "continue")
        elif number is None:
            self._write(target, indent, loop)
        else:
            self._add(indent, f"at = {number}", "continue" if loop is None else "break")

    def _write(self, block: Block, indent: int, loop: Block | None) -> None:
        """Write a block and those in its place. Each way through them ends in a jump or a return."""
        space = " " * indent
        while True:
            self.lines += [Line(space + line.text, line.gives) for line in block.lines]
            if not block.targets:
                return
            if len(block.targets) == 2:
                if block.iteration is not None:
                    step = block.iteration
                    self._add(indent, f"{step.name} = next({step.iterator}, None)", f"if {step.name} is None:")
                    first, then = reversed(block.targets)
                else:
                    self._add(indent, f"if {block.condition}:")
                    first, then = block.targets
                self._go(first, indent + 1, loop)
            else:
                (then,) = block.targets
            if then is loop or then in self._numbers:
                self._go(then, indent, loop)
                return
            block = then
