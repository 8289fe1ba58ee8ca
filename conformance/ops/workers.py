"""Processes that share work: how many, how they begin, and how they end with the one that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from types import FrameType
from typing import Any

_PR_SET_PDEATHSIG = 1


def default_workers() -> int:
    """As many processes as there are cores for this one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Pool(ProcessPoolExecutor):
    """A pool to whose processes no interrupt comes before they `_begin`: they would die of it, with a traceback."""

    def submit(self, *asked: Any, **options: Any) -> Future[Any]:
        with _interrupts_held():  # processes are started here, and begin with the signals held that this one holds
            return super().submit(*asked, **options)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let an interrupt wait for the end of this: a process that is half started would stumble as well."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *given: held.append(given))
    # Other threads of this process may take it, so that this alone would not do; what is started inherits it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if held and callable(handler):
            handler(*held[0])


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that start afresh: tools of C++ do not survive a fork in all states.

    Leaving it waits for what they are at, but for an interrupt, which ends them.
    """
    others = set(active_children())
    with _Pool(workers, get_context("spawn"), initializer=_begin) as pool:
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
