"""Any program that reads operands in the vector format and prints results: ``command=PROGRAM ARGUMENTS``."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence

from halfulp.conformance.comparing.op_case import Task
from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.oracles.vector_format import read_answers, request, without_shape
from halfulp.semantics.kernel import Codes

SECONDS = 60.0


class Command:
    """A program, started once for each task. It says itself what it has no answer to: ``-``."""

    name = "command"
    profile = "spec"
    version = "unknown"

    def __init__(self, spelling: str, seconds: float = SECONDS) -> None:
        try:
            words = shlex.split(spelling)
        except ValueError as error:
            raise Unavailable(f"{spelling!r} is no command: {error}") from None
        if not words:
            raise Unavailable("command needs a program: command=PROGRAM ARGUMENTS")
        path = shutil.which(words[0])
        if path is None:
            raise Unavailable(f"{words[0]} is not on PATH")
        self._tool = Tool(os.path.abspath(path), self.version)
        self._arguments = words[1:]
        self._seconds = seconds

    def refuses(self, task: Task) -> str | None:
        """Quantised types with parameters along an axis."""
        return without_shape(task)

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """One run of the program for all elements."""
        try:
            printed = self._tool.run(self._arguments, request(task, inputs), self._seconds)
        except OracleError as error:
            if error.kind == "refusal":  # not how a program of this format declines
                raise OracleError("crash", str(error).partition(": ")[2]) from None
            raise
        return read_answers(task, inputs, printed)
