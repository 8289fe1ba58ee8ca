"""The garbage collector has its thresholds again after a time in which it runs seldom."""

from __future__ import annotations

import gc

import pytest

from halfulp.interp.gc_pause import SELDOM, SeldomCollector


def _fail(before: tuple[int, int, int]) -> None:
    with SeldomCollector():
        assert gc.get_threshold() == (max(before[0], SELDOM), *before[1:])
        raise ValueError("inside")


def test_the_thresholds_come_back_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"):
        _fail(before)
    assert gc.get_threshold() == before


@pytest.mark.parametrize("first", [0, SELDOM + 1])
def test_a_collector_that_runs_more_seldom_stays_so(first: int) -> None:
    """0 turns it off."""
    before = gc.get_threshold()
    try:
        gc.set_threshold(first, 7, 8)
        with SeldomCollector():
            assert gc.get_threshold() == (first, 7, 8)
        assert gc.get_threshold() == (first, 7, 8)
    finally:
        gc.set_threshold(*before)
