"""Compare a batch with runs of its lanes one by one: both must give every lane the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from halfulp.interp.ir.errors import (
    HalfulpError,
)
from halfulp.interp.loading import parse_module
from halfulp.interp.values.value import Value
from halfulp.running import run


def alone(text: Any, columns: Sequence[Sequence[Any]], **options: Any) -> list[tuple[Value, ...] | HalfulpError]:
    """Run each lane alone, and return its results or its error."""
    outcomes: list[tuple[Value, ...] | HalfulpError] = []
    for row in zip(*columns, strict=True):
        try:
            outcomes.append(run(text, *row, **options))
        except HalfulpError as error:
            outcomes.append(error)
    return outcomes


def agree(text: Any, *columns: Any, **options: Any) -> None:
    """Assert that a batch gives every lane what the lane gives alone.

    Compared are type, bits, poison with its reason, the open mask, and the lanes that have undefined behaviour.
    """
    module = parse_module(text) if isinstance(text, str) else text
    expected = alone(module, [list(column) for column in columns], **options)
    failing = {lane for lane, outcome in enumerate(expected) if isinstance(outcome, HalfulpError)}
    # All lanes together may run as many ops as each may run alone.
    if "max_steps" in options:
        options["max_steps"] *= max(1, len(expected))
    # A batch reports the lanes that fail at one place; without these the next run reports those of another.
    running, reported = np.arange(len(expected)), set[int]()
    while len(reported) < len(failing):
        with pytest.raises(HalfulpError) as caught:
            run(module, *(column[running] for column in columns), batch=True, **options)
        lanes = caught.value.lanes
        assert lanes is not None
        assert f"(lane {lanes[0]}; {len(lanes)} of {len(running)} lanes)" in caught.value.message
        for lane in running[lanes].tolist():
            one = expected[lane]
            assert isinstance(one, HalfulpError)
            assert (type(caught.value), caught.value.op, caught.value.location) == (type(one), one.op, one.location)
            reported.add(lane)
        running = np.delete(running, lanes)
    assert reported == failing
    columns = tuple(column[running] for column in columns)
    expected = [expected[int(lane)] for lane in running]
    if not expected:
        return
    results = run(module, *columns, batch=True, **options)
    for number, result in enumerate(results):
        assert result.shape[:1] == (len(expected),)
        for lane, outcome in enumerate(expected):
            assert not isinstance(outcome, HalfulpError)
            one = outcome[number]
            sizes = "".join(f"{size}x" for size in (len(expected), *one.shape))
            assert str(result.type) == f"tensor<{sizes}{one.element_type}>"
            assert np.array_equal(result.poisoned[lane], one.poisoned)
            assert np.array_equal(result.bits[lane], one.bits), (lane, result.bits[lane], one.bits)
            none = np.zeros(one.shape, np.uint8)
            assert np.array_equal(
                none if result.open is None else result.open[lane], none if one.open is None else one.open
            )
            for place in np.ndindex(one.shape):
                mine, theirs = result.origin(lane, *place), one.origin(*place)
                assert (mine and (mine.op, mine.location, mine.reason)) == (
                    theirs and (theirs.op, theirs.location, theirs.reason)
                )
