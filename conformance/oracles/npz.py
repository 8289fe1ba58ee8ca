"""Results that were recorded in a file of the vector format: ``npz=FILE``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable, unanswered
from halfulp.conformance.oracles.vector_format import (
    Record,
    Recording,
    header_of,
    key_of,
    load_recording,
    look_up,
    without_shape,
)
from halfulp.fp_formats.codes import Codes

PIECE = 1 << 19
"""Number of elements of a record that are compared at once."""


class Npz:
    """The results in a file. What it does not hold is unanswered; a malformed file fails every case."""

    name = "npz"
    profile = "spec"

    def __init__(self, path: str) -> None:
        self._failure: OracleError | None = None
        self._recording: Recording | None = None
        self._latest: tuple[OpCase, Record | None] | None = None
        self.version = "unknown"
        try:
            self._recording = load_recording(path)
            self.version = f"{self._recording.tool} {self._recording.version}"
        except OSError as error:
            raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
        except OracleError as error:
            self._failure = error

    def refuses(self, case: OpCase) -> str | None:
        """Refuse cases without results in the file, and cases that the format cannot hold."""
        if self._recording is None:
            return None
        if key_of(header_of(case)) not in self._recording.cases:
            return f"the file has no results of {case}"
        return without_shape(case)

    def cases(self) -> Sequence[OpCase]:
        """Return the cases of the file, each once."""
        return self._opened().distinct_cases()

    def inputs(self, case: OpCase) -> Iterator[tuple[Codes, ...]] | None:
        """Yield the operands of all records of a case, in the order of the file."""
        try:
            record = None if self.refuses(case) is not None else self._record(case)
        except OracleError:
            return None
        return None if record is None else _pieces(record)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Return the recorded results of these operands."""
        record = self._record(case)
        return unanswered(case, inputs, "not recorded") if record is None else look_up(record, inputs)

    def _opened(self) -> Recording:
        if self._recording is None:
            assert self._failure is not None
            raise OracleError("garbage", str(self._failure).partition(": ")[2])
        return self._recording

    def _record(self, case: OpCase) -> Record | None:
        if self._latest is None or self._latest[0] != case:
            self._latest = case, self._opened().record(case)
        return self._latest[1]


def _pieces(record: Record) -> Iterator[tuple[Codes, ...]]:
    for start in range(0, max(1, len(record.operands[0])), PIECE):
        yield tuple(codes[start : start + PIECE] for codes in record.operands)
