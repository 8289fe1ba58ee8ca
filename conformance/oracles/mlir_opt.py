"""The mlir-opt that runs passes: a program, or MLIR's Python bindings in child processes.

The wheel torch-mlir has the bindings of the newest MLIR with all dialects and passes, for every platform; torch itself
is not needed. A request costs no start of a process there. If a pass crashes, never ends or eats memory, only its child
ends, and the next request starts another one.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.conformance.oracles.tool import MLIR_VERSION, SECONDS, Finished, Tool, find_tool
from halfulp.fp_formats.aliases import how_to_install

WHEEL = "torch_mlir"
"""The package of bindings that PyPI has."""
TRITON = "triton"
"""The package of Triton, whose library has the dialects of Triton."""

MEMORY = 4 << 30
"""Most bytes of a child."""

_BINDINGS = "python:"
_OLDER = "mlir-opt-22"
_VARIABLE = "HALFULP_MLIR_OPT"
_START = 60.0
"""Most seconds until a child has loaded the bindings."""


class _Child:
    """A process, which answers one request at a time. Raises OracleError if it does not start.

    ``version``: of its MLIR.
    """

    def __init__(self, package: str) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        script = Path(__file__).with_name("triton_child.py" if package == TRITON else "mlir_child.py")
        command = [sys.executable, "-P", str(script), package, f"--serve={MEMORY}"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._said, start_new_session=True)
        self._replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        # A thread reads, since Windows cannot wait for a pipe with a limit.
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self.version: str = self.receive(package, _START)[0]["version"]

    def _read(self, stream: Any) -> None:
        for line in stream:
            self._replies.put(line)
        self._replies.put(b"")

    def send(self, request: object) -> None:
        assert self._process.stdin is not None
        self._said.seek(0)
        self._said.truncate()
        with suppress(OSError):  # the process has ended: `receive` tells how
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self, name: str, seconds: float) -> tuple[dict[str, Any], str]:
        """Return the next reply, and what was printed to standard error. Raises OracleError: "hang" or "crash"; the
        process has ended then.
        """
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            said = self._printed()
            self.end()
            raise OracleError("hang", f"{name} did not end in {seconds:g} s", said=said) from None
        if not line.endswith(b"\n"):  # it has ended, perhaps in the middle of a reply
            self._process.wait()
            said = self._printed()
            code = self.end()
            raise OracleError("crash", f"{name} ended with {code}: {said.partition(chr(10))[0]}", max(-code, 0), said)
        reply: dict[str, Any] = json.loads(line)
        return reply, self._printed()

    def _printed(self) -> str:
        self._said.seek(0)
        return self._said.read().decode("utf-8", "replace").strip()

    def end(self) -> int:
        """End the process. Returns its exit code."""
        self._process.kill()
        code = self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with suppress(OSError):  # what was not written cannot be written any more
                    stream.close()
        return code


_children: dict[tuple[int, str], _Child] = {}
"""The children by process, since a forked one must not share them, and by package."""

_lock = threading.Lock()


@atexit.register
def _end_all() -> None:
    for (owner, _), child in _children.items():
        if owner == os.getpid():
            child.end()


def _child_of(package: str) -> _Child:
    """Return the child of a package, which starts if there is none. Raises OracleError."""
    owner = os.getpid(), package
    if owner not in _children:
        _children[owner] = _Child(package)
    return _children[owner]


@dataclass(frozen=True)
class Bindings(Tool):
    """The passes of a package of bindings, with the options of mlir-opt that `PassPipeline` uses.

    ``path``: the name in messages.
    """

    package: str = WHEEL

    @property
    def prints_input(self) -> bool:
        """It has the option."""
        return True

    @property
    def prints_generic(self) -> bool:
        """It has the option, but Triton's library does not."""
        return self.package != TRITON

    def finished(self, arguments: Sequence[str], text: str = "", seconds: float = SECONDS) -> Finished:
        """Return what mlir-opt prints. Raises OracleError: "hang" after ``seconds``, "crash" if its child ended."""
        with _lock:
            child = _child_of(self.package)
            child.send({"options": list(arguments), "text": text})
            try:
                reply, said = child.receive(self.path, seconds)
            except BaseException:
                child.end()
                del _children[os.getpid(), self.package]
                raise
        return Finished(reply["code"], reply["printed"], "\n".join(filter(None, (reply["said"], said))))


def find_bindings(package: str = WHEEL) -> Bindings:
    """Find a package of bindings, and ask it for its version. Raises Unavailable with the reason."""
    if not package:
        raise Unavailable(f"{_BINDINGS} names no Python package, such as {_BINDINGS}mlir")
    if not _is_installed(package):
        extra = {WHEEL: "mlir", TRITON: "triton"}.get(package)
        hint = f"; {how_to_install(extra)}" if extra else ""
        raise Unavailable(f"the Python package {package} is not installed{hint}")
    try:
        with _lock:
            child = _child_of(package)
    except OracleError as error:
        # A child that cannot import the bindings prints a traceback, whose last line is the reason.
        reason = error.said.rpartition("\n")[2] or str(error)
        raise Unavailable(f"the Python package {package} has no bindings of MLIR that load: {reason}") from None
    return Bindings(package.replace("_", "-"), child.version, package)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # a package around it is missing, or the name is none
        return False


NEWEST = "24"
"""The newest MLIR that `find_mlir_opt` knows by a number."""


def find_mlir_opt(named: str | None = None, older: bool = False) -> Tool:
    """Find what runs passes. ``named``: "22" for mlir-opt-22 on PATH, "24" for the wheel torch-mlir, "python:PACKAGE"
    for other bindings, "triton" for Triton's library, which runs no passes, or the path of an mlir-opt of any version.
    Without a name: the program that HALFULP_MLIR_OPT
    names, else the wheel if it is installed, else mlir-opt-22. ``older``: the wheel only if there is no mlir-opt-22.

    Raises Unavailable with the reason.
    """
    installed = find_spec(WHEEL) is not None
    if named is None and (older or not installed or os.environ.get(_VARIABLE)):
        try:
            return find_tool(_OLDER, _VARIABLE, "", MLIR_VERSION)
        except Unavailable as reason:
            if os.environ.get(_VARIABLE):
                raise
            if not installed:
                raise Unavailable(f"{reason}; or {how_to_install('mlir')}") from None
    if named == "":
        raise Unavailable("no MLIR is named")
    if named in (None, "24"):
        return find_bindings()
    if named == TRITON:
        return find_bindings(TRITON)
    if named.startswith(_BINDINGS):
        return find_bindings(named.removeprefix(_BINDINGS))
    return find_tool(_OLDER if named == "22" else named, None, "", MLIR_VERSION)
