"""The conformance run at level sample over real tools: nothing unexplained, no tool failing, every divergence still
there.
"""

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from amounts import amounts, thinned

import halfulp as hu
from halfulp.conformance.ops import jobs as jobs_module
from halfulp.conformance.ops import memory
from halfulp.conformance.ops.jobs import FAMILIES, jobs, run_jobs
from halfulp.conformance.ops.report import markdown, mismatch_text
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT
from halfulp.interp.ir.errors import LimitExceeded, UndefinedBehavior
from halfulp.interp.run.settings import Listener

ASKED = [(row.name, name) for row in FAMILIES if row.sample for name in row.oracles]

REFUSED = {("mlir-native", "float arithmetic, up to 8 bits")}
"""No machine has these types: everything is refused, and the report says so."""


@pytest.mark.mlir
@pytest.mark.parametrize(("family", "name"), ASKED, ids=[f"{name}-{family}" for family, name in ASKED])
@pytest.mark.parametrize("step", amounts(18, 1, long=6))
def test_nothing_is_unexplained(family: str, name: str, step: int) -> None:
    plan = list(jobs("sample", oracles=[name], family=family))
    plan = plan[:: step if len(plan) > 60 else 1]
    report = run_jobs(plan, "sample")
    if report.missing:
        pytest.skip(f"{name}: {report.missing[name]}")
    total = report.total()
    assert total.failures == []
    assert [mismatch_text(case, mismatch) for case, mismatch in total.mismatches] == []
    assert total.unexplained == 0
    assert (total.compared == 0) == ((name, family) in REFUSED)
    assert len(report.tallies) == len(plan)


def test_every_oracle_has_a_family() -> None:
    assert {name for _, name in ASKED} == set(ORACLES) - TAKES_ARGUMENT


@pytest.mark.long
def test_a_missing_tool_is_reported_and_never_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALFULP_MLIR_OPT", "/nowhere/mlir-opt")
    jobs_module._oracle.cache_clear()
    try:
        plan = list(jobs("sample", oracles=["mlir-fold"], family="scaling")) + [
            job for job in jobs("sample", oracles=["mlir-fold", "exact"]) if job.case.op == "arith.addi"
        ]
        report = run_jobs(plan, "sample")
    finally:
        jobs_module._oracle.cache_clear()
    assert list(report.missing) == ["mlir-fold"]
    assert report.total("mlir-fold").compared == 0
    assert report.total("exact").compared > 0
    assert "Not available on this machine: `mlir-fold`" in markdown(report)


@pytest.mark.long
def test_processes_share_the_work() -> None:
    plan = [job for job in jobs("sample", oracles=["exact"]) if job.case.op == "arith.remf"]
    alone, shared = (run_jobs(plan, "sample", workers=workers) for workers in (1, 2))
    assert alone.tallies == shared.tallies
    assert alone.coverage == shared.coverage
    assert shared.total().equal > 500


@pytest.mark.long
def test_a_sample_asks_a_part_of_the_full_cases() -> None:
    full, sample = ({(job.oracle, job.case) for job in jobs(level)} for level in ("full", "sample"))
    assert sample < full
    assert {oracle for oracle, _ in sample} == {oracle for oracle, _ in full}
    assert len(sample) > 6000


# --- limits -----------------------------------------------------------------------------------------------------------
#
# Programs that would not end, or not soon, stop at a limit with one clear error.

RAN = r"ran more than \d+ ops"
ENDLESS = {
    "a branch to itself": ("func.func @main() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}", RAN),
    "a while without end": (
        "func.func @main() {\n  %c = arith.constant true\n  scf.while : () -> () {\n    scf.condition(%c)\n  } do {\n"
        "    scf.yield\n  }\n  return\n}",
        RAN,
    ),
    "two blocks": ("func.func @main() {\n  cf.br ^a\n^a:\n  cf.br ^b\n^b:\n  cf.br ^a\n}", RAN),
    "a loop of 2^64 - 2 trips": (
        "func.func @main() {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n"
        "  %n = arith.constant -1 : index\n  scf.for unsigned %i = %0 to %n step %1 {\n  }\n  return\n}",
        RAN,
    ),
    "a loop of 10^12 trips with a body": (
        "func.func @main() {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n"
        "  %n = arith.constant 1000000000000 : index\n  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %0) -> index {\n"
        "    %t = arith.addi %s, %i : index\n    scf.yield %t : index\n  }\n  return\n}",
        RAN,
    ),
    "a loop of 10^12 trips": (
        "func.func @main() {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n"
        "  %n = arith.constant 1000000000000 : index\n  scf.for %i = %0 to %n step %1 {\n  }\n  return\n}",
        RAN,
    ),
    "calls 100,000 deep": (
        "func.func @main() {\n  %n = arith.constant 100000 : i32\n  call @down(%n) : (i32) -> ()\n  return\n}\n"
        "func.func @down(%n: i32) {\n  %0 = arith.constant 0 : i32\n  %1 = arith.constant 1 : i32\n"
        "  %more = arith.cmpi sgt, %n, %0 : i32\n  cf.cond_br %more, ^again, ^end\n^again:\n"
        "  %m = arith.subi %n, %1 : i32\n  call @down(%m) : (i32) -> ()\n  return\n^end:\n  return\n}",
        r"nested more than \d+ deep",
    ),
}


@pytest.mark.parametrize("name", thinned(ENDLESS, 2))
def test_a_limit_ends_it(name: str) -> None:
    source, message = ENDLESS[name]
    with pytest.raises(LimitExceeded, match=message) as caught:
        hu.run(source, function="main", max_steps=200_000)
    assert caught.value.location is not None
    assert caught.value.hint is not None


COUNTED = (
    "func.func @main(%a: i32) -> i32 {\n  %z = arith.constant 42 : i32\n  %b = arith.constant 1 : i32\n"
    "  %n = arith.constant 7 : i32\n"
)
LOOPS: dict[str, tuple[str, Callable[[int], int]]] = {
    "branches": (
        "  cf.br ^head(%a, %z : i32, i32)\n^head(%i: i32, %s: i32):\n  %c = arith.cmpi slt, %i, %n : i32\n"
        "  cf.cond_br %c, ^body, ^done\n^body:\n  %t = arith.divui %n, %i : i32\n  %j = arith.addi %i, %b : i32\n"
        "  cf.br ^head(%j, %t : i32, i32)\n^done:\n  return %s : i32\n",
        # Three constants, the first branch; five ops a trip; the last test and branch, the return.
        lambda trips: 3 + 1 + 5 * trips + 2 + 1,
    ),
    "for": (
        "  %r = scf.for %i = %a to %n step %b iter_args(%s = %z) -> i32 : i32 {\n"
        "    %t = arith.divui %n, %i : i32\n    scf.yield %t : i32\n  }\n  return %r : i32\n",
        lambda trips: 3 + 1 + 2 * trips + 1,
    ),
    "for around an if": (
        "  %c = arith.constant true\n  %r = scf.for %i = %a to %n step %b iter_args(%s = %z) -> i32 : i32 {\n"
        "    %t = scf.if %c -> i32 {\n      %u = arith.divui %n, %i : i32\n      scf.yield %u : i32\n    } else {\n"
        "      scf.yield %s : i32\n    }\n    scf.yield %t : i32\n  }\n  return %r : i32\n",
        lambda trips: 4 + 1 + 4 * trips + 1,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize(("first", "trips"), [(1, 6), (6, 1), (7, 0), (9, 0)])
def test_every_op_counts_and_no_more(name: str, first: int, trips: int) -> None:
    body, ops_of = LOOPS[name]
    source = COUNTED + body + "}"
    # Somebody who listens has every op run on its own.
    for listeners in ((), (Listener(),)):
        (result,) = hu.run(source, first, max_steps=ops_of(trips), listeners=listeners)
        assert int(result.bits) == (7 // 6 if trips else 42)
        with pytest.raises(LimitExceeded):
            hu.run(source, first, max_steps=ops_of(trips) - 1, listeners=listeners)


@pytest.mark.parametrize("name", LOOPS)
def test_what_happens_before_the_limit_happens(name: str) -> None:
    body, ops_of = LOOPS[name]
    source = COUNTED + body + "}"
    with pytest.raises(UndefinedBehavior, match="divui"):
        hu.run(source, -3, max_steps=ops_of(4))
    with pytest.raises(LimitExceeded):
        hu.run(source, -3, max_steps=ops_of(2))


# --- memory -----------------------------------------------------------------------------------------------------------
#
# Memory that arrays use again, in an environment in which malloc gives it back at once.

COUNTING = """\
import resource, sys, threading
import numpy as np
from halfulp.conformance.ops.memory import memory_kept

def faults():
    arrays = lambda: [np.ones(1 << 16) for _ in range(4)]
    for _ in range(4):
        arrays()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        arrays()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def count():
    found.append(faults())
    with memory_kept():
        found.append(faults())
    found.append(faults())

found = []
if sys.argv[1] == "thread":
    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
else:
    count()
print(*found)
"""


@pytest.mark.long
@pytest.mark.parametrize("where", ["main", "thread"])
def test_pages_are_not_made_again_inside_the_block(where: str) -> None:
    """200 arrays of 512 KiB are 25,600 pages of 4 KiB, or fewer larger ones."""
    if not memory._has_glibc():
        pytest.skip("the C library is not glibc")
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", COUNTING, where]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    before, inside, after = map(int, output.split())
    assert inside < before / 20
    assert inside < after / 20


class _Libc:
    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[int, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.calls.append((name, given))


@pytest.fixture
def libc(monkeypatch: pytest.MonkeyPatch) -> _Libc:
    found = _Libc()
    monkeypatch.setattr(memory, "_has_glibc", lambda: True)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: found)
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    return found


def test_threads_share_the_block_and_the_last_one_ends_it(libc: _Libc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "4096")
    both = threading.Barrier(2)

    def block() -> None:
        with memory.memory_kept():
            both.wait()

    threads = [threading.Thread(target=block) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert libc.calls == [
        ("mallopt", (-1, 64 << 20)),
        ("mallopt", (-3, 32 << 20)),
        ("mallopt", (-1, 4096)),
        ("mallopt", (-3, 128 << 10)),
        ("malloc_trim", (0,)),
    ]


def test_without_such_an_environment_nothing_changes(libc: _Libc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    with memory.memory_kept():
        pass
    assert libc.calls == []
