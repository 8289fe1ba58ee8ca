"""Results that somebody recorded in a file of the vector format: ``npz=FILE``."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable, unanswered
from halfulp.conformance.task import Task
from halfulp.conformance.vectorfile import Recording, header_of, key_of, load_recording, look_up
from halfulp.semantics.kernel import Codes


class Npz:
    """The results in a file; what it does not hold is unanswered. A file that is malformed fails every task."""

    name = "npz"
    profile = "spec"

    def __init__(self, path: str) -> None:
        self._failure: OracleError | None = None
        self._recording: Recording | None = None
        self.version = "unknown"
        try:
            self._recording = load_recording(path)
            self.version = f"{self._recording.tool} {self._recording.version}"
        except OSError as error:
            raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
        except OracleError as error:
            self._failure = error

    def refuses(self, task: Task) -> str | None:
        """Tasks of which the file has no results."""
        if self._recording is None or key_of(header_of(task)) in self._recording.tasks:
            return None
        return f"the file has no results of {task}"

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """The recorded results of these operands."""
        if self._recording is None:
            assert self._failure is not None
            raise OracleError("garbage", str(self._failure).partition(": ")[2])
        record = self._recording.record(task)
        return unanswered(task, inputs, "not recorded") if record is None else look_up(record, inputs)
