"""What an execution tells whoever listens: tracing, coverage, comparison and statistics are listeners.

With no listener nothing is called and nothing is computed for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfulp.interp.errors import UndefinedBehavior
    from halfulp.interp.ir import Block, Operation
    from halfulp.semantics.poison import Origin


class Listener:
    """Base of all listeners: override what is of interest. Operands and results are `Value`s (or buffers)."""

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """``op`` is about to run on ``operands``."""

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """``op`` has run. A call, and an op with regions, is reported when it ends, without operands."""

    def poison_born(self, op: Operation, origin: Origin, count: int) -> None:
        """``count`` elements that were not poison before became poison in ``op``."""

    def undefined_behavior(self, op: Operation, report: UndefinedBehavior) -> None:
        """``op`` is undefined on its operands; the run is about to stop, or, with ``on_ub="poison"``, to go on."""

    def branch(self, op: Operation, target: Block) -> None:
        """The terminator ``op`` passes control to ``target``."""
