"""Processes that share work: their number, and how they begin and end together with the parent."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from types import FrameType
from typing import Any

from halfulp.fp_formats.paths import compiled

_PR_SET_PDEATHSIG = 1


class _Pool(ProcessPoolExecutor):
    """A pool that holds back interrupts until a process has run `_begin`; an earlier one would end it with
    a traceback.
    """

    def submit(self, *asked: Any, **options: Any) -> Future[Any]:
        with _interrupts_held():  # this starts processes, which inherit the blocked signals
            return super().submit(*asked, **options)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay interrupts until the block ends: they would break a process that is half started."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *given: held.append(given))
    # Started processes inherit the mask. Other threads of this process may still take the signal: so it is not enough.
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
    """Return a pool of processes that start fresh: C++ tools do not survive a fork in every state.

    On exit the pool waits for running work; an interrupt ends the processes.
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
    """Leave interrupts to the parent, and end together with it. Other cores are for the other processes."""
    compiled.use_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
