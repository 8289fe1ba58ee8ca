"""Running the installed command line in a process of its own, and what that cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600
"""The seconds after which a process that a test waits for hangs. A slow machine with other work must not reach them."""


@dataclass(frozen=True)
class Finished:
    """How a process ended: exit code, output, processor seconds and the most bytes that it had in memory."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int


def heeds_interrupts() -> None:
    """For a process that is started: SIGINT interrupts it, even where the tests run in the background, without."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


MEMORY = """\
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
"""
"""Sets ``peak``: the most kilobytes that the process had in memory as this program. What the kernel says of one that has
ended, it is at least what its parent had."""

_TELLING = """\
import atexit, os, runpy
def tell():
    {memory}
    os.write({pipe}, str(peak).encode())
if os.path.exists("/proc/self/status"):
    atexit.register(tell)
runpy.run_module("halfulp.command.main", run_name="__main__", alter_sys=True)
"""


def wait_for_end(pid: int) -> None:
    """Wait until a process, perhaps none of our own, is dead, be it buried or not."""
    deadline = time.monotonic() + PATIENCE
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
            assert time.monotonic() < deadline
            time.sleep(0.01)


def halfulp(
    *arguments: str | bytes,
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    interpreter: Sequence[str] | None = None,
) -> Finished:
    """Run ``halfulp`` with these arguments. A process that hangs is killed in the end, which fails the test."""
    told, pipe = os.pipe()
    telling = _TELLING.format(memory=MEMORY.replace("\n", "\n    "), pipe=pipe)
    process = subprocess.Popen(
        [*(interpreter or (sys.executable, "-I", "-c", telling)), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        pass_fds=(pipe,),
    )
    os.close(pipe)
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
    os.set_blocking(told, False)
    with open(told, "rb") as file:
        peak = file.read()
    return Finished(
        process.returncode,
        outputs["out"].decode("utf-8"),
        outputs["err"].decode("utf-8"),
        usage.ru_utime + usage.ru_stime,
        (int(peak) if peak else usage.ru_maxrss) * 1024,
    )
