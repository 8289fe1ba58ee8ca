"""Run the installed command line in a process of its own, and measure its time and memory."""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import pytest

from halfulp.command.main import main

PATIENCE = 600
"""The seconds after which a process that a test waits for hangs. A slow machine with other work must not reach them."""


@dataclass(frozen=True)
class Finished:
    """The end of a process: exit code, output, processor seconds, and its peak memory in bytes."""

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

_PROCESS = [sys.executable, "-I", str(Path(__file__).with_name("command_process.py"))]


def _popen(
    command: Sequence[str | bytes],
    pipe: int,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process with pipes for its streams, which may also use the file descriptor ``pipe``."""
    streams = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=cwd, env=environment, pass_fds=(pipe,), stdin=streams, stdout=streams, stderr=streams
    )


def wait_for_end(pid: int) -> None:
    """Wait until a process, perhaps none of our own, is dead, be it buried or not."""
    deadline = time.monotonic() + PATIENCE
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
            assert time.monotonic() < deadline
            time.sleep(0.01)


@dataclass(frozen=True)
class _Started:
    """A process that runs: its streams, its number, and what waits for its end: wait status, seconds, kilobytes."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    pid: int
    end: Callable[[], tuple[int, float, int]]


def _start(command: Sequence[str | bytes], pipe: int, cwd: Path | None, environment: Mapping[str, str]) -> _Started:
    """Start a process of its own, which may write into ``pipe``."""
    process = _popen(command, pipe, cwd, {**os.environ, **environment})
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None

    def end() -> tuple[int, float, int]:
        # Not Popen.wait: the usage of this one child is wanted, not of all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss

    return _Started(process.stdin, process.stdout, process.stderr, process.pid, end)


@cache
def _server() -> socket.socket:
    """Return the socket of a process that forks for each command; it ends with this one."""
    ours, theirs = socket.socketpair()
    # Pipes, as commands have: Python looks at what its streams are once, when it starts.
    process = _popen([*_PROCESS, "serve", str(theirs.fileno())], theirs.fileno())
    theirs.close()

    def stop() -> None:
        ours.close()
        process.kill()
        process.communicate()

    atexit.register(stop)
    return ours


def _fork(module: str, arguments: Sequence[str | bytes], pipe: int, cwd: Path | None) -> _Started:
    """Have the program forked from a process that has started already."""
    server = _server()
    (stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr) = (os.pipe() for _ in range(3))
    asked = {
        "module": module,
        "arguments": [os.fsdecode(argument) for argument in arguments],
        "directory": str(cwd or Path.cwd()),
        "environment": dict(os.environ),
    }
    data = json.dumps(asked).encode()
    socket.send_fds(server, [len(data).to_bytes(8, "big")], [stdin, stdout, stderr, pipe])
    server.sendall(data)
    for file in (stdin, stdout, stderr):
        os.close(file)

    def end() -> tuple[int, float, int]:
        size = int.from_bytes(server.recv(8, socket.MSG_WAITALL), "big")
        status, seconds, memory = json.loads(server.recv(size, socket.MSG_WAITALL))
        return status, seconds, memory

    pid = int.from_bytes(server.recv(8, socket.MSG_WAITALL), "big")
    return _Started(open(to_stdin, "wb"), open(from_stdout, "rb"), open(from_stderr, "rb"), pid, end)


def halfulp(
    *arguments: str | bytes,
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    interpreter: Sequence[str] | None = None,
    module: str = "halfulp",
) -> Finished:
    """Run ``halfulp`` with these arguments. A process that hangs is killed in the end, which fails the test.

    It is forked, unless ``environment`` (beside the variables that are set) or ``interpreter`` say how it is to start.
    ``module``: what is run instead of the command line, as by ``python -m``.
    """
    told, pipe = os.pipe()
    if environment is None and interpreter is None:
        process = _fork(module, arguments, pipe, cwd)
    else:
        starter = interpreter or (*_PROCESS, "run", str(pipe), module)
        process = _start([*starter, *arguments], pipe, cwd, environment or {})
    os.close(pipe)
    outputs: dict[str, bytes] = {}

    def collect(name: str, stream: IO[bytes]) -> None:
        with stream:
            outputs[name] = stream.read()

    readers = [
        threading.Thread(target=collect, args=item) for item in (("out", process.stdout), ("err", process.stderr))
    ]
    watchdog = threading.Timer(PATIENCE, os.kill, (process.pid, signal.SIGKILL))
    for thread in (*readers, watchdog):
        thread.start()
    with suppress(BrokenPipeError), process.stdin:
        process.stdin.write(stdin)
    status, seconds, memory = process.end()
    watchdog.cancel()
    for thread in readers:
        thread.join()
    os.set_blocking(told, False)
    with open(told, "rb") as file:
        peak = file.read()
    return Finished(
        os.waitstatus_to_exitcode(status),
        outputs["out"].decode("utf-8"),
        outputs["err"].decode("utf-8"),
        seconds,
        (int(peak) if peak else memory) * 1024,
    )


# --- command calls ----------------------------------------------------------------------------------------------------
#
# Calling the command line in the process of the test.

IDENTITY = """\
func.func @f32x4(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @i8x2x2(%x: tensor<2x2xi8>) -> tensor<2x2xi8> { return %x : tensor<2x2xi8> }
func.func @v(%x: vector<2x2xi8>) -> vector<2x2xi8> { return %x : vector<2x2xi8> }
func.func @f32(%x: f32) -> f32 { return %x : f32 }
func.func @bf16x4(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
func.func @f80x2(%x: tensor<2xf80>) -> tensor<2xf80> { return %x : tensor<2xf80> }
func.func @i4x3(%x: tensor<3xi4>) -> tensor<3xi4> { return %x : tensor<3xi4> }
func.func @i1x2(%x: tensor<2xi1>) -> tensor<2xi1> { return %x : tensor<2xi1> }
func.func @i100(%x: i100) -> i100 { return %x : i100 }
func.func @index(%x: index) -> index { return %x : index }
func.func @dynamic(%x: tensor<?x2xi8>) -> tensor<?x2xi8> { return %x : tensor<?x2xi8> }
func.func @unranked(%x: tensor<*xi8>) -> tensor<*xi8> { return %x : tensor<*xi8> }
func.func @scalable(%x: vector<[2]xi8>) -> vector<[2]xi8> { return %x : vector<[2]xi8> }
func.func @empty(%x: tensor<0xf32>) -> tensor<0xf32> { return %x : tensor<0xf32> }
func.func @quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<2x!quant.uniform<i8:f32, 0.5>>
}
"""
"""A function for each kind of argument, which returns it."""

PARTS = """\
func.func @f(%x: f32) -> f32 {
  return %x : f32
}
// -----
func.func @f(%x: f32) -> f32 {
  return %y : f32
}
// -----
func.func @f(%x: f32) -> f32 {
  %0 = "other.op"(%x) : (f32) -> f32
  return %0 : f32
}
// -----
"""
"""A file of parts."""


class Command:
    """Runs `main` in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code, stdout and stderr."""
        code = main(list(arguments))
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err
