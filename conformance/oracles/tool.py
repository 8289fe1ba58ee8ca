"""External programs: find them on PATH or by an environment variable, ask their version, run them in bounded time."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from halfulp.conformance.oracles.oracle import OracleError, Unavailable

SECONDS = 120.0
"""Most seconds of one run of a tool, unless its oracle says otherwise."""


OUTPUT_BYTES = 1 << 28
"""Most bytes that one run of a tool may print."""


def run_bounded(
    command: Sequence[str], data: bytes, seconds: float, limit: int = OUTPUT_BYTES
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with ``data`` on standard input, and stop everything that it started when it ends.

    Raises OracleError: "crash" if it does not start, "hang" after ``seconds``, with what it said until then, "garbage"
    if it prints more than ``limit`` bytes.
    """
    name = os.path.basename(command[0])
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise OracleError("crash", f"{name} does not start: {error}") from None
    streams: dict[Any, list[bytes]] = {process.stdout: [], process.stderr: []}
    try:
        _read_streams(process, streams, time.monotonic() + seconds, limit)
    except TimeoutError:
        so_far = b"".join(streams[process.stderr]).decode("utf-8", "replace")
        raise OracleError("hang", f"{name} did not end in {seconds:g} s", said=so_far) from None
    except OverflowError:
        raise OracleError("garbage", f"{name} printed more than {limit} bytes") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    printed, said = (b"".join(chunks) for chunks in streams.values())
    return subprocess.CompletedProcess(command, process.returncode, printed, said)


def _read_streams(
    process: subprocess.Popen[bytes], streams: dict[Any, list[bytes]], deadline: float, limit: int
) -> None:
    """Read all of standard output and error until the process has ended. Raises TimeoutError and OverflowError."""
    total = 0
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ended = process.poll() is not None
            events = selector.select(0 if ended else min(left, 0.2))
            if ended and not events:  # processes that it left running may hold the streams open
                break
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                total += len(chunk)
                if total > limit:
                    raise OverflowError
                streams[key.fileobj].append(chunk)
    try:
        process.wait(max(deadline - time.monotonic(), 0.01))
    except subprocess.TimeoutExpired:  # it closed its streams but still runs
        raise TimeoutError from None


@dataclass(frozen=True)
class Tool:
    """A program that was found: its path, and the version it reports."""

    path: str
    version: str

    def run(self, arguments: Sequence[str], text: str = "", seconds: float = SECONDS) -> str:
        """Run the program with ``text`` on standard input and return its standard output.

        Raises OracleError as `finished` does, and "refusal" if the program exits with an error of its own (the message
        is its error text).
        """
        done = self.finished(arguments, text, seconds)
        if done.code:
            name = os.path.basename(self.path)
            raise OracleError("refusal", _first_line(done.said) or f"{name} ended with {done.code}", said=done.said)
        return done.printed

    def finished(self, arguments: Sequence[str], text: str = "", seconds: float = SECONDS) -> Finished:
        """Run the program with ``text`` on standard input until it ends by itself, and return what it printed.

        Raises OracleError: "hang" after ``seconds``, "crash" if a signal ended it, "garbage" if its output is not UTF-8
        or too long.
        """
        name = os.path.basename(self.path)
        done = run_bounded([self.path, *arguments], text.encode("utf-8", "surrogateescape"), seconds)
        said = done.stderr.decode("utf-8", "replace").strip()
        # LLVM's own handlers print a stack dump and exit.
        if done.returncode < 0 or done.returncode > 128 or "Stack dump:" in said:
            message = f"{name} ended with {done.returncode}: {_first_line(said)}"
            raise OracleError("crash", message, _signal(done.returncode), said)
        try:
            return Finished(done.returncode, done.stdout.decode("utf-8"), said)
        except UnicodeDecodeError:
            raise OracleError("garbage", f"{name} printed bytes that are not UTF-8") from None


@dataclass(frozen=True)
class Finished:
    """The end of a program: its exit code, and its standard output and error."""

    code: int
    printed: str
    said: str


def _signal(code: int) -> int:
    """Return the signal that an exit code tells of, or 0. A shell says 128 + signal. A Python program that passes on
    the negative code of another one, as IREE's do, says 256 - signal.
    """
    if code < 0:
        return -code
    return max(0, code - 128 if code <= 192 else 256 - code)


def _first_line(said: str) -> str:
    return next((line for line in said.splitlines() if "error" in line.lower()), said.partition("\n")[0])[:300]


def find_tool(program: str, variable: str | None, version: str, pattern: str = r"version (\d+(?:\.\d+)*)") -> Tool:
    """Find the program that ``variable`` names in the environment, or ``program`` on PATH, and check its version.

    ``version``: the required prefix of its version. ``pattern``: finds the version in the output of ``--version``.
    Raises Unavailable with the reason.
    """
    named = os.environ.get(variable) if variable else None
    wanted = named or program
    path = shutil.which(wanted)
    if path is None:
        where = f"{variable}: " if named else ""
        what = "is not a program that can be run" if os.path.dirname(wanted) else "is not on PATH"
        hint = f"; install it, or set {variable}" if variable and not named else ""
        raise Unavailable(f"{where}{wanted} {what}{hint}")
    try:
        said = Tool(path, "").run(["--version"], seconds=20)
    except OracleError as error:
        raise Unavailable(f"{path} --version: {error}") from None
    found = re.search(pattern, said)
    if found is None:
        raise Unavailable(f"{path} --version does not tell a version: {_first_line(said)!r}")
    if not found[1].startswith(version):
        raise Unavailable(f"{path} is version {found[1]}, but this oracle stands for version {version}")
    return Tool(path, found[1])
