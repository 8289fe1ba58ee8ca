"""Ask any program that reads operands in the vector format and prints results: ``command=PROGRAM ARGUMENTS``."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.oracles.vector_format import read_answers, request, without_shape
from halfulp.fp_formats.codes import Codes

SECONDS = 60.0


class Command:
    """A program, started once for each case. It prints ``-`` where it has no answer."""

    name = "command"
    profile = "spec"
    version = "unknown"

    def __init__(self, spelling: str, seconds: float = SECONDS) -> None:
        try:
            words = shlex.split(spelling)
        except ValueError as error:
            raise Unavailable(f"{spelling!r} is not a command: {error}") from None
        if not words:
            raise Unavailable("command needs a program: command=PROGRAM ARGUMENTS")
        path = shutil.which(words[0])
        if path is None:
            raise Unavailable(f"{words[0]} is not on PATH")
        self._tool = Tool(os.path.abspath(path), self.version)
        self._arguments = words[1:]
        self._seconds = seconds

    def refuses(self, case: OpCase) -> str | None:
        """Refuse quantised types with parameters along an axis."""
        return without_shape(case)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Run the program once for all elements."""
        try:
            printed = self._tool.run(self._arguments, request(case, inputs), self._seconds)
        except OracleError as error:
            if error.kind == "refusal":  # a program of this format declines by printing -
                raise OracleError("crash", str(error).partition(": ")[2]) from None
            raise
        return read_answers(case, inputs, printed)
