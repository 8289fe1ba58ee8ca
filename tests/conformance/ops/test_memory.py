"""Memory that arrays use again, in an environment in which malloc gives it back at once."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from halfulp.conformance.ops import memory

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
