"""The syntax of MLIR's textual pass pipelines, ``builtin.module(cse,a{b=1})``, with passes of any name."""

from __future__ import annotations

import re

_NAME_END = re.compile(r"[,({)]")
_NO_SPACE = re.compile(r"\S")
_BRACE = re.compile("[{}]")


def problem_of_pipeline(text: str) -> str | None:
    """Return what is wrong with a pipeline, in MLIR's words, or None. Names of passes are not checked."""
    passes: list[str] = []
    place = depth = 0
    while text:
        found = _NAME_END.search(text, place)
        end = len(text) if found is None else found.start()
        name, mark = text[place:end].strip(), text[end : end + 1]
        place = end + 1
        if mark == "(":
            # The op that the inner pipeline is for, of any name.
            depth += 1
            continue
        passes.append(name)
        if mark == "{":
            closing = _closing_brace(text, place)
            if closing is None:
                return "missing closing '}' while processing pass options"
            mark, place = _mark(text, closing + 1)
            if mark not in ("", ",", ")"):
                return "expected ',' after parsing pipeline"
        if mark == ")":
            while mark == ")":
                depth -= 1
                mark = text[place : place + 1]
                place += mark == ")"
            if depth < 0:
                return "encountered extra closing ')' creating unbalanced parentheses while parsing pipeline"
            mark, place = _mark(text, place)
            if mark not in ("", ","):
                return "expected ',' after parsing pipeline"
        if not mark:
            break
    if depth:
        return "encountered unbalanced parentheses while parsing pipeline"
    nameless = next((name for name in passes if not name or "}" in name), None)
    return None if nameless is None else f"'{nameless}' does not refer to a registered pass or pass pipeline"


def _mark(text: str, place: int) -> tuple[str, int]:
    """Return the next character that is not a space, "" at the end, and the place after it."""
    found = _NO_SPACE.search(text, place)
    return ("", len(text)) if found is None else (found.group(), found.end())


def _closing_brace(text: str, place: int) -> int | None:
    """Return the place where the braces close that were opened before ``place``."""
    depth = 1
    for found in _BRACE.finditer(text, place):
        depth += 1 if found.group() == "{" else -1
        if not depth:
            return found.start()
    return None
