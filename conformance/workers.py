"""Processes that share work: how many, how they begin, and how they end with the one that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context

_PR_SET_PDEATHSIG = 1


def default_workers() -> int:
    """As many processes as there are cores for this one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that start afresh: tools of C++ do not survive a fork in all states.

    Leaving it waits for what they are at, but for an interrupt, which ends them.
    """
    others = set(active_children())
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin) as pool:
        try:
            yield pool
        except KeyboardInterrupt:
            for process in set(active_children()) - others:
                process.terminate()
            raise


def _begin() -> None:
    """Leave interrupts to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
