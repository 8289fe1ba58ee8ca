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

    ``split``: the file is split at ``// -----``.
    """

    flags: tuple[str, ...]
    split: bool = False

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


def run_lines(text: str) -> list[tuple[Stage, ...]]:
    """Return the RUN lines of a test that begin with mlir-opt, in order: of each its commands of mlir-opt, every one of
    which reads what the one before it prints.
    """
    return [stages for stages in map(_stages, _commands(text)) if stages]


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


def _stages(command: str) -> tuple[Stage, ...]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[Stage] = []
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word != "|":
            words.append(word)
            continue
        words = words[1:] if words[:1] == ["not"] else words
        if words[:1] != ["mlir-opt"]:
            break  # FileCheck, or another tool
        found.append(_stage(words[1:]))
        words = []
    return tuple(found)


def _stage(words: Sequence[str]) -> Stage:
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
    return Stage(tuple(flags), split)
