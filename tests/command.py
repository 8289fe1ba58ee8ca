"""Running the installed command line in a process of its own, and what that cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600
"""The seconds after which a process that a test waits for hangs. A slow machine with other work must not reach them."""


@dataclass(frozen=True)
class Finished:
    """How a process ended: exit code, output, processor seconds and the largest resident memory in bytes."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int


def heeds_interrupts() -> None:
    """For a process that is started: SIGINT interrupts it, even where the tests run in the background, without."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def halfulp(
    *arguments: str | bytes,
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    interpreter: Sequence[str] = (sys.executable, "-I", "-m", "halfulp.cli"),
) -> Finished:
    """Run ``halfulp`` with these arguments. A process that hangs is killed in the end, which fails the test."""
    process = subprocess.Popen(
        [*interpreter, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    outputs: dict[str, bytes] = {}

    def collect(name: str, stream: object) -> None:
        outputs[name] = stream.read()  # type: ignore[attr-defined]

    readers = [
        threading.Thread(target=collect, args=item) for item in (("out", process.stdout), ("err", process.stderr))
    ]
    watchdog = threading.Timer(PATIENCE, process.kill)
    for thread in (*readers, watchdog):
        thread.start()
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass
    # Not Popen.wait: the usage of this one child is wanted, not of all children so far.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watchdog.cancel()
    for thread in readers:
        thread.join()
    process.stdout.close()
    process.stderr.close()
    return Finished(
        process.returncode,
        outputs["out"].decode("utf-8"),
        outputs["err"].decode("utf-8"),
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )
