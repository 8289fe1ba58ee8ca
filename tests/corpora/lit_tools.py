"""The real tools that RUN lines name, with a folder for their answers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from corpora.answers import Answers

from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool, find_tool, run_bounded

SECONDS = 120.0
"""Most seconds of one run of a tool, or of one RUN line."""

LIBRARIES = {
    "%mlir_runner_utils": "libmlir_runner_utils.so",
    "%mlir_c_runner_utils": "libmlir_c_runner_utils.so",
    "%mlir_async_runtime": "libmlir_async_runtime.so",
    "%mlir_float16_utils": "libmlir_float16_utils.so",
}
"""The libraries of mlir-runner, by the word that lit replaces."""

_DUMP = re.compile(r"^// -----// IR Dump After .*?\(([\w-]+)\)(?: \('.*\))? //----- //$", re.MULTILINE)
_LLVM = re.compile(r'^\s*(?:%\S+ = )?"?llvm\.', re.MULTILINE)
_DUMPS = ("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", "--mlir-disable-threading")


@dataclass(frozen=True)
class LitTools:
    """mlir-opt, mlir-runner and FileCheck, and what they have answered."""

    opt: Tool
    runner: Tool
    check: Tool
    answers: Answers

    def substitutions(self, test: Path) -> dict[str, str]:
        """Return the words that lit replaces in the RUN lines of a test."""
        libraries = {word: library(self.runner, name) for word, name in LIBRARIES.items()}
        return {**libraries, "%s": str(test), "%S": str(test.parent), "%t": str(self.answers.folder / "output.tmp")}

    def passes(self, line: str, test: Path) -> bool:
        """Tell whether the real tools pass a RUN line."""
        check = f'{shlex.quote(self.check.path)} "$@"'
        return bool(self.answers.kept(["line", line, test.read_text()], lambda: self._shell(line, check)[0] == 0))

    def printed(self, line: str) -> str:
        """Return what a RUN line gives to FileCheck."""
        return self._shell(line, "cat")[1]

    def stages(self, text: str, commands: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
        """Return the module after each pass, with the name of the pass, up to the first op of the dialect llvm.

        ``commands``: the flags of each mlir-opt; the first reads the text, and the others what the one before prints.
        A pass that runs on one function after the other gives one stage.
        """
        found: list[tuple[str, str]] = []
        for flags in commands:
            dumps = self.answers.kept(["dumps", list(flags), text], partial(self._dumps, flags, text))
            for name, group in groupby(dumps, lambda pair: pair[0]):
                *_, (_, dump) = group
                if _LLVM.search(dump):
                    return found
                if dump != (found[-1][1] if found else text):
                    found.append((name, dump))
            text = dumps[-1][1] if dumps else text
        return found

    def disagreement(self, flags: Sequence[str], printed: str) -> str:
        """Return what FileCheck says about a text that a program printed; "" if it agrees with the CHECK lines."""
        given = [flag for flag in flags if "dump-input" not in flag]
        command = [self.check.path, *given, "--dump-input=never"]
        done = run_bounded(command, printed.encode("utf-8", "surrogateescape"), SECONDS)
        said = done.stderr.decode("utf-8", "replace").strip()
        return (said or "FileCheck failed") if done.returncode else ""

    def _shell(self, line: str, check: str) -> tuple[int, str]:
        """Run a line with another command in the place of FileCheck. Return the exit code, and what it prints."""
        commands = {
            "mlir-opt": f'{shlex.quote(self.opt.path)} "$@"',
            "mlir-runner": f'{shlex.quote(self.runner.path)} "$@"',
            "FileCheck": check,
            "not": '! "$@"',
        }
        functions = "".join(f"{name}() {{ {command}; }}\n" for name, command in commands.items())
        try:
            done = run_bounded(["bash", "-o", "pipefail", "-c", functions + line], b"", SECONDS)
        except OracleError as error:
            return 1, str(error)
        return done.returncode, done.stdout.decode("utf-8", "surrogateescape")

    def _dumps(self, flags: Sequence[str], text: str) -> list[tuple[str, str]]:
        try:
            said = self.opt.finished([*flags, *_DUMPS], text, SECONDS).said
        except OracleError as error:
            said = error.said
        _, *parts = _DUMP.split(said)
        return list(zip(parts[::2], parts[1::2], strict=True))


def find_lit_tools(cache: Path) -> LitTools:
    """Find the tools. ``cache``: the folder for their answers. Raises Unavailable with the reason."""
    opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    return LitTools(opt, runner, find_tool("FileCheck", "HALFULP_FILECHECK", ""), Answers(cache, opt.version))
