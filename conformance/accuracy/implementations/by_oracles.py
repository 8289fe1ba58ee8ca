"""Measure an oracle: mlir-native, mlir-math-expand, iree, ml_dtypes and the others of `halfulp.conformance.oracles`."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.oracle import Answer
from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.policy import Rounding


class ByOracle:
    """An oracle: it answers ops of MLIR."""

    def __init__(self, spelling: str) -> None:
        self._oracle = oracle(spelling)
        self.name, self.version = spelling, self._oracle.version

    def refuses(self, asked: Question) -> str | None:
        """Refuse functions that MLIR does not have, and what the oracle refuses."""
        if "." not in asked.case.op:
            return f"MLIR has no op for {asked.case.op}"
        if asked.function is not None and asked.rounding is not Rounding.TO_NEAREST_EVEN:
            return f"{asked.case.op} has no rounding modes in MLIR"
        return self._oracle.refuses(asked.case)

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Ask for all elements at once."""
        return self._oracle.evaluate(asked.case, operands)[0]
