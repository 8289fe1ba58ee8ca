"""The RUN lines of LLVM's tests: which commands of mlir-opt a test runs, and with which flags."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SPLIT = ("split-input-file",)
DROPPED = ("verify-diagnostics", "o", "mlir-disable-threading", *SPLIT)
"""Flags that say where to read, where to write, or what is expected: none of them changes what a pass does."""

PIPELINE = ("pass-pipeline", "p")
"""Flags with a whole pipeline."""

NO_PASSES = ("allow-unregistered-dialect", "emit-bytecode", "mlir-print-op-generic", "mlir-print-local-scope")
"""Flags that are not passes."""

_RUN = re.compile(r"^\s*//\s*RUN:(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Stage:
    """One command of mlir-opt: its flags, without the file and without those of `DROPPED`.

    ``split``: the file is split at ``// -----``. ``fails``: the test expects an error exit.
    """

    flags: tuple[str, ...]
    split: bool = False
    fails: bool = False

    @property
    def text(self) -> str:
        """The flags as one text."""
        return shlex.join(self.flags)

    def pipelines(self) -> tuple[str, ...]:
        """Return the passes as a pipeline; several, of which mlir-opt accepts one, if it is not known what they run on.

        Flags that are not passes are left out.
        """
        passes = []
        for flag in self.flags:
            name, _, options = flag.lstrip("-").partition("=")
            if name in PIPELINE:
                return (options,)
            if name not in NO_PASSES:
                passes.append(f"{name}{{{options}}}" if options else name)
        listed = ",".join(passes)
        return f"builtin.module({listed})", f"builtin.module(func.func({listed}))"


@dataclass(frozen=True)
class RunLine:
    """One RUN line: the commands of mlir-opt in it, each of which reads what the one before it prints."""

    stages: tuple[Stage, ...]


def run_lines(text: str) -> list[RunLine]:
    """Return the RUN lines of a test that begin with mlir-opt, in order."""
    found = []
    for command in _commands(text):
        stages = tuple(_stages(command))
        if stages:
            found.append(RunLine(stages))
    return found


def _commands(text: str) -> Iterator[str]:
    """Yield the RUN lines, each joined with those that it continues on."""
    joined = ""
    for match in _RUN.finditer(text):
        line = match[1].strip()
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield joined + line
        joined = ""


def _stages(command: str) -> Iterator[Stage]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word != "|":
            words.append(word)
            continue
        fails = words[:1] == ["not"]
        if fails:
            words = words[1:]
        if words[:1] != ["mlir-opt"]:
            return  # FileCheck, or another tool
        yield _stage(words[1:], fails)
        words = []


def _stage(words: Sequence[str], fails: bool) -> Stage:
    flags: list[str] = []
    split = False
    following = iter(words)
    for word in following:
        if word in (">", "2>", ">>", "<", ">&", "&>", "2>&1"):
            next(following, None)
            continue
        if not word.startswith("-"):
            continue  # the file
        name = word.lstrip("-").partition("=")[0]
        split = split or name in SPLIT
        if name == "o":
            next(following, None)
        elif name not in DROPPED:
            flags.append(word)
    return Stage(tuple(flags), split, fails)
