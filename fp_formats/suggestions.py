"""Hints of error messages: the known names that are nearest to an unknown one, and how to install what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

# Names that are compared with a wrong one, and how long they may be: an error must not cost more than the file.
_MOST_CANDIDATES = 2000
_LONGEST = 60
# How many edits may lie between two names, by the length of the longer one.
_EDITS = ((2, 0), (5, 1), (10, 2), (_LONGEST, 3))
_MOST_NAMED = 3


def did_you_mean(name: str, known: Iterable[str], family: Callable[[str], object] = lambda name: None) -> str | None:
    """Return ``did you mean `…`?`` with the known names nearest to ``name``; None where none is near."""
    return asking(nearest(name, known, family))


def asking(names: Iterable[str]) -> str | None:
    """Return ``did you mean `a` or `b`?`` of some names; None of none."""
    texts = [f"`{name}`" for name in names]
    return f"did you mean {' or '.join(texts)}?" if texts else None


def with_hint(message: str, hint: str | None) -> str:
    """Append a hint to the message of an error that has no other place for it."""
    return message if hint is None else f"{message} ({hint})"


def how_to_install(extra: str) -> str:
    """Return the command that installs the packages of an extra. It names no index: halfulp is on none."""
    return f"pip install '.[{extra}]' in the folder with the sources of halfulp"


def nearest(name: str, known: Iterable[str], family: Callable[[str], object] = lambda name: None) -> tuple[str, ...]:
    """Return the known names with the fewest edits between them and ``name``, at most three; () where none is near.

    An edit inserts, removes or replaces a character, or swaps two that are adjacent. ``family``: of a name, what those
    that are like it in meaning share; a name of another family is not near, unless one of the two has none (None).
    """
    if len(name) > _LONGEST:
        return ()
    own = family(name)
    best: dict[str, None] = {}
    fewest = _LONGEST
    for other in islice(known, _MOST_CANDIDATES):
        kin = family(other)
        if other == name or (own is not None and kin is not None and own != kin):
            continue
        edits = _distance(name, other, min(fewest, _edits_allowed(max(len(name), len(other)))))
        if edits is not None and edits < fewest:
            fewest, best = edits, {}
        if edits is not None:
            best[other] = None
    return tuple(best)[:_MOST_NAMED]


def _edits_allowed(length: int) -> int:
    return next((edits for most, edits in _EDITS if length <= most), 0)


def _distance(one: str, other: str, most: int) -> int | None:
    """Return the number of edits between two names; None for more than ``most``."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        earlier, before = before, row
        row = [i] + [most + 1] * len(other)
        # No path of at most that many edits leaves this band.
        for j in range(max(1, i - most), min(len(other), i + most) + 1):
            right = other[j - 1]
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if earlier and j > 1 and left == other[j - 2] and one[i - 2] == right:
                edits = min(edits, earlier[j - 2] + 1)
            row[j] = edits
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
