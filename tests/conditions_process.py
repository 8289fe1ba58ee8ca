"""Runs calls of `every_command` under a bad condition, each in a process forked from this one.

    python conditions_process.py FOLDER CONDITION NAME ...

FOLDER has what `every_command.prepare` wrote. Each call runs in a copy of it; one line of JSON on stdout tells how each ended.
"""

import _thread
import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from every_command import EVERY, timeless, written

import halfulp
from halfulp.command.main import main

HANGS, MOST_PRINTED = 120, 1 << 20


def full_disk() -> None:
    """Let no file grow above a few bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


def stdout_is(path: str) -> Callable[[], None]:
    """Return what gives the process another stdout."""

    def set_up() -> None:
        os.dup2(os.open(path, os.O_WRONLY), 1)

    return set_up


def closed_pipe() -> None:
    """Let nobody read stdout."""
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)


def little_memory() -> None:
    """Let the process have a gigabyte of address space."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def no_threads() -> None:
    """Let no thread start."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("can't start new thread")

    threading._start_new_thread = _thread.start_new_thread = refuse  # type: ignore[attr-defined]
    threading._start_joinable_thread = _thread.start_joinable_thread = refuse  # type: ignore[attr-defined]


def no_home() -> None:
    """Let there be no home folder, and no variable that names a folder."""
    kept = {name: os.environ[name] for name in ("PATH", "HALFULP_BACKEND") if name in os.environ}
    os.environ.clear()
    os.environ.update(kept, HOME="/dev/null/home")


def read_only() -> None:
    """Let nothing be written in the current folder, even by root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    assert not libc.capget(header, sets)
    for part in range(3):  # effective, permitted, inheritable
        sets[part] &= ~0b111  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert not libc.capset(header, sets)
    for path in (Path("out"), Path()):
        path.chmod(0o555)


CONDITIONS: Mapping[str, Callable[[], None]] = {
    "nothing": lambda: None,
    "full disk": full_disk,
    "full stdout": stdout_is("/dev/full"),
    "closed pipe": closed_pipe,
    "little memory": little_memory,
    "no threads": no_threads,
    "no home": no_home,
    "read-only folder": read_only,
}


def call(words: tuple[str, ...], set_up: Callable[[], None]) -> None:
    """In the child: run a command in the current folder, and end the process."""
    code = 99
    try:
        set_up()
        code = main(list(words))
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            code = 120  # as Python itself
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, interrupt: int, after: float) -> int:
    """Wait for the end of a process, and return its exit code. Send a signal if ``interrupt`` is one."""
    if interrupt:
        time.sleep(after)
        os.kill(child, interrupt)
    limit = time.monotonic() + HANGS
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -99
        time.sleep(0.002)


def run(folder: Path, name: str, condition: str) -> dict[str, Any]:
    """Run a call in a copy of a folder. A condition such as ``SIGINT 0.1`` is a signal and the seconds before it."""
    place = folder.parent / "copy"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place / "here")
    kind, _, after = condition.partition(" ")
    sent = int(signal.Signals[kind]) if kind.startswith("SIG") else 0
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        for stream, (_, writing) in enumerate(pipes, start=1):
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, MOST_PRINTED)
            os.dup2(writing, stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(place / "here")
        call(EVERY[name].words, CONDITIONS.get(condition, CONDITIONS["nothing"]))
    code = ended(child, sent, float(after or 0) if sent else 0)
    (place / "here").chmod(0o755)
    streams = []
    for reading, writing in pipes:
        os.close(writing)
        with open(reading, "rb") as printed:
            streams.append(timeless(printed.read()).decode("utf-8", "replace"))
    return {"code": code, "out": streams[0], "err": streams[1], "files": written(folder, place / "here")}


if __name__ == "__main__":
    halfulp.run("func.func @f(%x: f32) -> f32 { %0 = arith.addf %x, %x : f32 return %0 : f32 }", 1.0)
    folder, condition, *names = sys.argv[1:]
    told = {name: run(Path(folder), name, condition) for name in names}
    sys.stdout.write(json.dumps(told) + "\n")
