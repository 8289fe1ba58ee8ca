"""The errors of a run as records: those of results, of ops, and the steps of the way back of an error."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

Element = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpError:
    """What one op of a program did to the exactness of its numbers, over all of its runs.

    ``own_ulp``: the largest distance of its results from the exact function of its operands, ``total_ulp``: that of its
    results from the exact run, in ulp of the result, the latter also relative to it (``relative``: infinite for 0).
    ``effect_ulp``: what its own errors bring to the result that `ErrorReport.worst` is about, in ulp of that, with its
    sign; ``share``: the same as a share of the error of that result. Errors are NaN where nothing is known of any.

    ``cancelled``: the most leading bits that a sum lost, of its terms as they were computed. Numbers of elements:
    ``absorbed``: a sum equals one of its terms, though the other is not 0; ``overflowed``: of finite operands an
    infinity, or what the format has instead; ``flushed``: 0, though the exact function of the operands is not;
    ``unknown``: nothing is known of the exact number; ``otherwise``: the exact run decides otherwise; ``undecided``: it
    may; ``wrapped``: integers whose type does not hold the exact result.
    """

    op: str
    line: int | None
    place: str
    source: str
    function: str
    elements: int
    own_ulp: float
    own_element: Element | None
    total_ulp: float
    total_element: Element | None
    relative: float
    effect_ulp: float
    share: float
    cancelled: int
    absorbed: int
    overflowed: int
    flushed: int
    unknown: int
    otherwise: int
    undecided: int
    wrapped: int


@dataclass(frozen=True, slots=True)
class ResultError:
    """How far a result of a run is from the exact one: its worst element, unless another was asked for.

    ``name``: ``result[0]``, or ``argument[0]`` for memory. ``element``: None of a result without elements. ``ulp``: the
    error in ulp, the computed number less the exact one; NaN if nothing is known, or the computed one is not finite.
    ``radius``: up to which the exact number is known. ``unknown``: the number of elements of which nothing is known, of
    ``elements``.
    """

    name: str
    type: str
    element: Element | None
    value: float
    exact: float
    ulp: float
    radius: float
    relative: float
    elements: int
    unknown: int


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step from a result back to where its error came from. All errors are in ulp of the result.

    ``value``: the number that the op gave, ``exact``: the exact one; ``brings``: what its error brings to the result,
    ``own``: its own part; ``operands``: the name of each operand, and what comes through it. Of an infinity or a NaN
    these are NaN, and ``operands`` are those that are infinite or NaN themselves.
    """

    op: str
    line: int | None
    place: str
    source: str
    value: float
    exact: float
    brings: float
    own: float
    operands: tuple[tuple[str, float], ...]


def json_record(record: OpError | ResultError | StoryStep) -> dict[str, Any]:
    """Return the fields of a record for JSON, which has no infinities and no NaN: None stands for them."""

    def finite(value: Any) -> Any:
        if isinstance(value, tuple):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and not isfinite(value) else value

    return {name: finite(value) for name, value in asdict(record).items()}
