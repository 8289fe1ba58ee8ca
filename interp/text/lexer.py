"""Tokens of MLIR text: one regular expression, one pass, no positions.

Positions are computed by a second pass when one is needed (for an error or a location), so that reading a large correct
file is fast. Every character that is neither space nor comment is part of some token. A character that cannot start one
becomes a token of its own, which no rule of the parser accepts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_SKIP = r"[ \t\n\r]*(?://[^\n\r]*[ \t\n\r]*)*"
_STRING = r'"[^"\\\n\v\f]*(?:\\[^\n\v\f][^"\\\n\v\f]*)*"'
_SUFFIX = r"(?:\d+|[A-Za-z$._-][A-Za-z0-9_$.-]*)"
_ALTERNATIVES = (
    rf"%{_SUFFIX}(?:#\d+)?",
    # These begin no longer token. They are as many as the names, so that they come early.
    r"[=,()\[\]<>}]|:(?!:)",
    # A shaped type without nested parts is one token: the parser finds most of them by their spelling.
    r"(?:tensor|vector|memref)<(?:[\[\]0-9?*x]+x)?[a-z][A-Za-z0-9]*>",
    r"[A-Za-z_][A-Za-z0-9_$.]*",
    r"0x[0-9a-fA-F]+",
    r"\d+(?:\.\d*(?:[eE][-+]?\d+)?)?",
    r"->",
    r"\{-#|#-\}",
    rf"[!#^]{_SUFFIX}",
    rf"@(?:[A-Za-z_][A-Za-z0-9_$.]*|{_STRING})",
    _STRING,
    r"::",
    r"\.\.\.",
    r".",
)


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"{_SKIP}({'|'.join(_ALTERNATIVES)}|\Z)", re.ASCII | re.DOTALL)


def tokenize(text: str) -> list[str]:
    """Return the tokens of ``text``, then two empty ones, so that the parser can look one ahead at the end."""
    tokens: list[str] = _token().findall(text)
    tokens.append("")
    return tokens


def token_offsets(text: str) -> Sequence[int]:
    """Return the offset of each token of `tokenize`."""
    return [match.start(1) for match in _token().finditer(text)]


def lexical_error(token: str, following: str) -> tuple[str, int] | None:
    """Return what is wrong with an invalid token: the message, and its distance from the start of ``following``, the
    text that begins with the token; None for a valid one.
    """
    if token == '"':
        end = re.search(r"[\n\v\f]|\Z", following)
        assert end is not None
        return "expected '\"' in string literal", end.start()
    if token == "@":
        return "@ identifier expected to start with letter or '_'", 1
    if token in _KINDS:
        return f"invalid {_KINDS[token]}", 0
    if token == ".":
        return "expected three consecutive dots for an ellipsis", 1
    if len(token) == 1 and token not in "()[]{}<>:,=+-*/?|_" and not (token.isascii() and token.isalnum()):
        return "unexpected character", 0
    return None


_KINDS = {"!": "type identifier", "#": "attribute name", "^": "block name", "%": "SSA name"}
