"""External programs: found on PATH or by an environment variable, asked for their version, run in bounded time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from halfulp.conformance.oracles.oracle import OracleError, Unavailable

SECONDS = 120.0
"""What one run of a tool may take, unless its oracle says otherwise."""


@dataclass(frozen=True)
class Tool:
    """A program that was found: its path, and the version it reports."""

    path: str
    version: str

    def run(self, arguments: Sequence[str], text: str = "", seconds: float = SECONDS) -> str:
        """Standard output for ``text`` on standard input.

        Raises OracleError: "hang" after ``seconds``, "crash" when a signal ended it, "refusal" when it exits with an
        error of its own (the message is what it said), "garbage" when its output is not UTF-8.
        """
        name = os.path.basename(self.path)
        try:
            done = subprocess.run(
                [self.path, *arguments],
                input=text.encode("utf-8", "surrogateescape"),
                capture_output=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            raise OracleError("hang", f"{name} did not end in {seconds:g} s") from None
        except OSError as error:
            raise OracleError("crash", f"{name} does not start: {error}") from None
        said = done.stderr.decode("utf-8", "replace").strip()
        # A shell says 128 + signal; LLVM's own handlers print a stack dump and exit.
        if done.returncode < 0 or done.returncode > 128 or "Stack dump:" in said:
            raise OracleError("crash", f"{name} ended with {done.returncode}: {_first_line(said)}")
        if done.returncode:
            raise OracleError("refusal", _first_line(said) or f"{name} ended with {done.returncode}")
        try:
            return done.stdout.decode("utf-8")
        except UnicodeDecodeError:
            raise OracleError("garbage", f"{name} printed what is not UTF-8") from None


def _first_line(said: str) -> str:
    return next((line for line in said.splitlines() if "error" in line.lower()), said.partition("\n")[0])[:300]


def find_tool(program: str, variable: str, version: str, pattern: str = r"version (\d+(?:\.\d+)*)") -> Tool:
    """The program that ``variable`` names in the environment, or ``program`` on PATH, if it is of the right version.

    ``version``: how its version has to begin. ``pattern``: what finds the version in the output of ``--version``.
    Raises Unavailable with the reason.
    """
    wanted = os.environ.get(variable) or program
    path = shutil.which(wanted)
    if path is None:
        raise Unavailable(f"{wanted} is not on PATH; install it, or set {variable}")
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
