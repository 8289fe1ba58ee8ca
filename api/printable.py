"""Text that a terminal shows, and never takes as a command."""

from __future__ import annotations

from collections.abc import Mapping

_SURROGATES = range(0xD800, 0xE000)
UNPRINTABLE: Mapping[int, str] = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *_SURROGATES), "\N{REPLACEMENT CHARACTER}"
)
"""A replacement for each character that a terminal may take as a command, for `str.translate`.

A file that is not text may be quoted in an error. Each character is replaced by one, so that carets stay in place.
"""
