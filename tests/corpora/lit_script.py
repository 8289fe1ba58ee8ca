"""The script of a test of LLVM: its RUN lines with lit's substitutions, and each line taken apart into commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"^.*?\b(RUN|DEFINE|REDEFINE):(.*)$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"\s*(%\{[\w:-]+\})\s*=(.*)", re.DOTALL)
_ROUNDS = 10
"""The most substitutions inside of each other."""


def script(text: str, substitutions: Mapping[str, str]) -> list[str]:
    """Return the RUN lines of a test as commands of a shell.

    ``substitutions``: the words that lit replaces, ``%s`` and others. The test defines more of them with ``DEFINE:``
    and ``REDEFINE:``.
    """
    known = dict(substitutions)
    found = []
    for keyword, line in _joined(text):
        if keyword == "RUN":
            found.append(_substituted(line, known).strip())
        elif assignment := _ASSIGNMENT.fullmatch(line):
            known[assignment[1]] = assignment[2].strip()
    return found


def _joined(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keyword and the text of each line, joined with the lines that it continues on."""
    keyword, joined = "", ""
    for match in _LINE.finditer(text):
        keyword = keyword or match[1]
        line = match[2].strip()
        if line.endswith("\\"):
            joined += line[:-1].rstrip() + " "
            continue
        yield keyword, joined + line
        keyword, joined = "", ""


def _substituted(line: str, known: Mapping[str, str]) -> str:
    # The longest first: %s is the beginning of %something.
    pattern = re.compile("|".join(re.escape(name) for name in sorted(known, key=len, reverse=True)))
    for _ in range(_ROUNDS):
        replaced = pattern.sub(lambda match: known[match[0]], line)
        if replaced == line:
            break
        line = replaced
    return line


@dataclass(frozen=True)
class Command:
    """One command of a pipeline. ``both``: standard error goes where standard output goes."""

    words: tuple[str, ...]
    both: bool = False


def pipelines(line: str) -> list[tuple[Command, ...]]:
    """Return the pipelines of a line in which ``&&`` and ``;`` stand between pipelines, in order."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[tuple[Command, ...]] = []
    commands: list[Command] = []
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in ("|", "&&", ";"):
            words.append(word)
            continue
        if words:
            commands.append(_command(words))
            words = []
        if word != "|":
            found.append(tuple(commands))
            commands = []
    return [pipeline for pipeline in found if pipeline]


def _command(words: Sequence[str]) -> Command:
    """Return a command without what sends its streams elsewhere. A file that it writes is its option ``-o``."""
    kept: list[str] = []
    both = False
    following = iter(words)
    for word in following:
        if word == ">&" and kept[-1:] == ["2"] and next(following, "") == "1":
            kept.pop()
            both = True
        elif word == ">":
            kept += ["-o", next(following, "")]
        else:
            kept.append(word)
    return Command(tuple(kept), both)
