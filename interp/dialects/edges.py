"""The rule that the values fit which flow along an edge, from an op or a terminator into a region or to the parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halfulp.interp.ir import types as ty

Edge = tuple[str, Sequence[ty.Type], str, Sequence[ty.Type]]


def flow(edges: Iterable[Edge]) -> str | None:
    """Return the first edge that does not fit: (source, types passed, target, types taken)."""
    for source, passed, target, taken in edges:
        where = f"along control flow edge from {source} to {target}"
        if len(passed) != len(taken):
            return (
                f"{where}: region branch point has {len(passed)} operands, but region successor needs {len(taken)} "
                "inputs"
            )
        for number, (one, other) in enumerate(zip(passed, taken, strict=True)):
            if one != other:
                return (
                    f"{where}: successor operand type #{number} '{one}' should match successor input type "
                    f"#{number} '{other}'"
                )
    return None
