"""The events of a run: tracing, coverage, comparison and statistics listen to them.

Without a listener nothing is called, and nothing is computed for one.

In a batch, operands and results have one more leading axis than their types, with an entry for each of the lanes that
run the op together; where all of these have the same value, that axis may be missing. `Listener.lanes` gives the lanes.
An op runs again for lanes that come to it later. A branch at which lanes part is reported once for each way, with the
lanes that take it. A call is reported when the last of its lanes has returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Block, Operation
from halfulp.semantics.poison import Origin


class Listener:
    """The base of all listeners: override the events of interest. Operands and results are `Value`s (or buffers)."""

    def run_will_start(self, function: Operation, arguments: Sequence[Any]) -> None:
        """Handle the call of ``function`` from outside, before it runs."""

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """Handle the start of ``op``, before it runs on ``operands``."""

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Handle the end of ``op``. A call, and an op with regions, is reported when it ends, without operands."""

    def poison_born(self, op: Operation, origin: Origin, count: int) -> None:
        """Handle new poison: ``count`` elements that were not poison before became poison in ``op``."""

    def undefined_behavior(self, op: Operation, report: UndefinedBehavior) -> None:
        """Handle undefined behaviour of ``op``. The run then stops, or, with ``on_ub="poison"``, goes on."""

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        """Handle text that the program prints, and the `Value`s in it, of which a memref is a tensor. It is printed by
        `vector.print`, or by a call of a function of mlir-runner's library.
        """

    def lanes(self, numbers: npt.NDArray[np.intp]) -> None:
        """Note the lanes of a batch in which all following events happen, until this is called again."""

    def branch(self, op: Operation, target: Block) -> None:
        """Handle a branch: the terminator ``op`` passes control to ``target``."""
