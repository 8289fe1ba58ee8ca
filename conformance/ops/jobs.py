"""The jobs of a conformance run, one case for one oracle each, and the report of their results."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from multiprocessing import active_children, get_context
from types import FrameType
from typing import Any

from halfulp.conformance.comparing.check import Tally, check, error_bounds, known_differences
from halfulp.conformance.comparing.coverage import Coverage, covered
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.comparing.inputs import inputs_for, is_exhaustive
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.ops.families import FAMILIES, Family
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.oracle import Oracle, Unavailable
from halfulp.fp_formats.paths import llvm

# --- workers ----------------------------------------------------------------------------------------------------------
#
# Processes that share work: their number, and how they begin and end together with the parent.

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
    llvm.use_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


# --- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One case for one oracle. ``bits``: spaces up to so many bits are enumerated."""

    family: str
    oracle: str
    case: OpCase
    count: int
    bits: int
    seed: int


@dataclass
class ConformanceReport:
    """The result of a conformance run: tallies per oracle, family and case, the missing oracles, and the coverage."""

    level: str
    seed: int
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    tallies: dict[tuple[str, str, OpCase], Tally] = field(default_factory=dict)
    coverage: dict[OpCase, Coverage] = field(default_factory=dict)

    def total(self, name: str | None = None) -> Tally:
        """Return the sum of all tallies, or of those of one oracle."""
        total = Tally()
        for (oracle_name, _, _), tally in self.tallies.items():
            if name is None or oracle_name == name:
                total.add(tally)
        return total

    def known(self) -> dict[str, Counter[str]]:
        """Count per oracle the elements that each divergence explains."""
        counts: dict[str, Counter[str]] = {}
        for (name, _, _), tally in self.tallies.items():
            counts.setdefault(name, Counter()).update(tally.known)
        return counts

    def changed(self) -> list[str]:
        """Return the known differences that are not what their rows say."""
        return [*self.stale(), *self.unpinned(), *self.exceeded()]

    def unpinned(self) -> list[str]:
        """Return the divergences whose count differs from the count that is recorded for this level."""
        if self.seed:
            return []
        found, field_ = self.known(), {"full": "counts", "sample": "sampled"}[self.level]
        return [
            f"{row.name} ({name}): {found[name][row.name]:,} elements, pinned are {getattr(row, field_).get(name, 0):,}"
            for row in divergences()
            for name in row.tools
            if name in found and not row.sporadic and found[name][row.name] != getattr(row, field_).get(name, 0)
        ]

    def exceeded(self) -> list[str]:
        """Return the error bounds with more wrong special values than they know."""
        found = self.known()
        return [
            f"{row.special_name} ({row.tool}): {found[row.tool][row.special_name]:,} are wrong, at most"
            f" {row.special_values:,} are known"
            for row in error_bounds()
            if row.tool in found and found[row.tool][row.special_name] > row.special_values
        ]

    def stale(self) -> list[str]:
        """Return the divergences that predict wrong bits for elements that are right."""
        reformed: Counter[tuple[str, str]] = Counter()
        for (name, _, _), tally in self.tallies.items():
            reformed.update({(row, name): count for row, count in tally.reformed.items()})
        sporadic = {row.name for row in divergences() if row.sporadic}
        return [
            f"{row} ({name}): {count:,} elements that it predicts to be wrong are right"
            for (row, name), count in reformed.items()
            if row not in sporadic
        ]


def jobs(level: str, seed: int = 0, oracles: Iterable[str] | None = None, family: str | None = None) -> Iterator[Job]:
    """Yield the jobs of a level ("full" or "sample"), for the given oracles (all) and family (all)."""
    wanted = None if oracles is None else set(oracles)
    for row in FAMILIES:
        count, bits = (row.full, row.bits) if level == "full" else (row.sample, 0)
        names = [name for name in row.oracles if wanted is None or name in wanted]
        if family in (None, row.name) and names and (count or bits):
            for asked, name in product(_cases(row), names):
                yield Job(row.name, name, asked, count, bits, seed)


@cache
def _cases(family: Family) -> tuple[OpCase, ...]:
    """Return the cases of a family, made once: each is checked as a module of its own."""
    return tuple(family.cases())


def run_jobs(
    plan: Sequence[Job],
    level: str,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> ConformanceReport:
    """Do all jobs in ``workers`` processes. Missing oracles are in the report, and never count as agreeing."""
    report = ConformanceReport(level, seed)
    started = time.monotonic()
    for name in dict.fromkeys(job.oracle for job in plan):
        try:
            report.versions[name] = _oracle(name).version
        except Unavailable as reason:
            report.missing[name] = str(reason)
    todo = [job for job in plan if job.oracle not in report.missing]
    for done, (job, tally, coverage) in enumerate(_done(todo, workers), start=1):
        report.tallies.setdefault((job.oracle, job.family, job.case), Tally()).add(tally)
        if coverage is not None:
            report.coverage[job.case] = coverage | report.coverage.get(job.case, Coverage.empty(job.case))
        progress(done, len(todo))
    report.seconds = time.monotonic() - started
    return report


def _done(todo: Sequence[Job], workers: int) -> Iterator[tuple[Job, Tally, Coverage | None]]:
    if workers == 1:
        yield from map(do, todo)
        return
    with process_pool(workers) as pool:
        yield from pool.map(do, todo, chunksize=4)


def do(job: Job) -> tuple[Job, Tally, Coverage | None]:
    """Do one job. Return its coverage where the answers were compared."""
    try:
        return _done_job(job)
    except Exception as error:  # one case must not lose an hour's work
        what = f"{type(error).__name__}: {error}"
        return job, Tally(failures=[f"{job.oracle}: {job.case}: an error of halfulp's own: {what}"]), None


def _done_job(job: Job) -> tuple[Job, Tally, Coverage | None]:
    tally, coverage = Tally(), None
    for inputs in inputs_for(job.case, job.count, job.seed, job.bits):
        found = check(_oracle(job.oracle), job.case, inputs, known_differences())
        tally.add(found)
        if found.compared:
            seen = covered(job.case, inputs, is_exhaustive(job.case, job.bits), found.answered)
            coverage = seen if coverage is None else seen | coverage
    return job, tally, coverage


@cache
def _oracle(name: str) -> Oracle:
    return oracle(name)
