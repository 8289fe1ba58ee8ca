"""Results that somebody recorded in a file of the vector format: ``npz=FILE``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halfulp.conformance.comparing.op_case import Task
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
from halfulp.semantics.kernel import Codes

PIECE = 1 << 19
"""Elements of a record that are compared at once."""


class Npz:
    """The results in a file; what it does not hold is unanswered. A file that is malformed fails every task."""

    name = "npz"
    profile = "spec"

    def __init__(self, path: str) -> None:
        self._failure: OracleError | None = None
        self._recording: Recording | None = None
        self._latest: tuple[Task, Record | None] | None = None
        self.version = "unknown"
        try:
            self._recording = load_recording(path)
            self.version = f"{self._recording.tool} {self._recording.version}"
        except OSError as error:
            raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
        except OracleError as error:
            self._failure = error

    def refuses(self, task: Task) -> str | None:
        """Tasks of which the file has no results, and those that it cannot hold."""
        if self._recording is None:
            return None
        if key_of(header_of(task)) not in self._recording.tasks:
            return f"the file has no results of {task}"
        return without_shape(task)

    def tasks(self) -> Sequence[Task]:
        """The tasks of the file, each once."""
        return self._opened().distinct_tasks()

    def inputs(self, task: Task) -> Iterator[tuple[Codes, ...]] | None:
        """The operands of all records of a task, in the order of the file."""
        try:
            record = None if self.refuses(task) is not None else self._record(task)
        except OracleError:
            return None
        return None if record is None else _pieces(record)

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """The recorded results of these operands."""
        record = self._record(task)
        return unanswered(task, inputs, "not recorded") if record is None else look_up(record, inputs)

    def _opened(self) -> Recording:
        if self._recording is None:
            assert self._failure is not None
            raise OracleError("garbage", str(self._failure).partition(": ")[2])
        return self._recording

    def _record(self, task: Task) -> Record | None:
        if self._latest is None or self._latest[0] != task:
            self._latest = task, self._opened().record(task)
        return self._latest[1]


def _pieces(record: Record) -> Iterator[tuple[Codes, ...]]:
    for start in range(0, max(1, len(record.operands[0])), PIECE):
        yield tuple(codes[start : start + PIECE] for codes in record.operands)
