"""What an execution tells whoever listens: tracing, coverage, comparison and statistics are listeners.

With no listener nothing is called and nothing is computed for one.

In a batch, operands and results have one more leading axis than their types, with an entry for each of the lanes that
run the op together, or not, where all of these have the same; `Listener.lanes` says which lanes these are. An op runs
again for lanes that come to it later. A branch at which lanes part is told for each of its ways, with the lanes that
take it. A call is told when the last of its lanes has returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from halfulp.interp.ir.errors import UndefinedBehavior
    from halfulp.interp.ir.operations import Block, Operation
    from halfulp.semantics.poison import Origin


class Listener:
    """Base of all listeners: override what is of interest. Operands and results are `Value`s (or buffers)."""

    def run_will_start(self, function: Operation, arguments: Sequence[Any]) -> None:
        """``function`` is about to be called from outside, with these arguments."""

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """``op`` is about to run on ``operands``."""

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """``op`` has run. A call, and an op with regions, is reported when it ends, without operands."""

    def poison_born(self, op: Operation, origin: Origin, count: int) -> None:
        """``count`` elements that were not poison before became poison in ``op``."""

    def undefined_behavior(self, op: Operation, report: UndefinedBehavior) -> None:
        """``op`` is undefined on its operands; the run is about to stop, or, with ``on_ub="poison"``, to go on."""

    def lanes(self, numbers: npt.NDArray[np.intp]) -> None:
        """In a batch: what is told next, until this is called again, happens in the lanes of these numbers."""

    def branch(self, op: Operation, target: Block) -> None:
        """The terminator ``op`` passes control to ``target``."""
