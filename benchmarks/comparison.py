"""Compare two commits row by row: ``make bench BASE=<commit>``.

Each side is a process that measures one row when asked (`benchmarks.side`). The processes take turns, and the figure of
a row is the best of its turns, so that a busy machine slows both sides equally.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.table import aligned, figure

ROOT = Path(__file__).parent.parent
TURNS = 3
HEAD = ("measurement", "base", "now", "× base", "remark")
NUMBERS = ("base", "now", "× base")


class Key(NamedTuple):
    """The key of a row, the same on both sides."""

    group: str
    name: str
    peer: str
    unit: str

    @property
    def row(self) -> str:
        """The name and the peer."""
        return f"{self.name}, {self.peer}" if self.peer else self.name

    def __str__(self) -> str:
        return f"{self.group}: {self.row}"


class Reply(NamedTuple):
    """The figure of a row on one side, or the reason for having none."""

    figure: float | None = None
    trouble: str = ""


class Compared(NamedTuple):
    """A row and its best figures."""

    key: Key
    base: Reply
    now: Reply

    @property
    def speed(self) -> float | None:
        """The speed as a multiple of the base's."""
        return self.base.figure / self.now.figure if self.base.figure and self.now.figure else None

    def cells(self) -> tuple[str, ...]:
        unit = "" if self.key.unit == "ns" else f" {self.key.unit}"
        shown = ["" if side.figure is None else figure(side.figure) + unit for side in (self.base, self.now)]
        troubles = [
            f"{name}: {side.trouble}" for name, side in (("base", self.base), ("now", self.now)) if side.trouble
        ]
        speed = "" if self.speed is None else f"{self.speed:.2f}×"
        return (self.key.row, *shown, speed, "; ".join(troubles))


def shared(base: Sequence[Key], now: Sequence[Key], wanted: str) -> list[Key]:
    """Return the rows that both sides have and whose name contains ``wanted``, in the order of ``now``."""
    known = set(base)
    return [key for key in now if key in known and wanted in str(key).lower()]


def alone(keys: Sequence[Key], others: Sequence[Key], wanted: str) -> list[Key]:
    """Return the rows that the other side does not have and whose name contains ``wanted``."""
    known = set(others)
    return [key for key in keys if key not in known and wanted in str(key).lower()]


def better(one: Reply, other: Reply) -> Reply:
    """Return the reply with the smaller figure. If only one has a figure, return that one; if neither has, return one
    of them.
    """
    if one.figure is None or other.figure is None:
        return other if one.figure is None else one
    return min(one, other, key=lambda reply: reply.figure or 0.0)


def compare(key: Key, base: Callable[[Key], Reply], now: Callable[[Key], Reply], turns: int = TURNS) -> Compared:
    """Measure a row on both sides, which take turns."""
    best = Compared(key, Reply(), Reply())
    for _ in range(turns):
        best = Compared(key, better(best.base, base(key)), better(best.now, now(key)))
        if best.base.figure is None and best.now.figure is None:
            break
    return best


def widths_of(keys: Sequence[Key]) -> list[int]:
    name = max(len(HEAD[0]), *(len(key.row) for key in keys))
    figures = max(len("123,456 ") + len(key.unit) for key in keys)
    return [name, figures, figures, len("123.45×"), len(HEAD[-1])]


def text_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return aligned(cells, widths, [name in NUMBERS for name in HEAD])


# --- the sides --------------------------------------------------------------------------------------------------------


class Side:
    """A process that measures the rows of one tree."""

    def __init__(self, name: str, tree: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(ROOT / "benchmarks" / "side.py")],
            cwd=tree,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        # Older commits measure some rows twice: the second time, in a group of its own, by machine code.
        keys = [Key(group.removesuffix(", compiled"), *rest) for group, *rest in self._reply()]
        self.numbers = {key: number for number, key in enumerate(keys)}
        self.keys = list(self.numbers)

    def measure(self, key: Key) -> Reply:
        assert self.process.stdin is not None
        print(self.numbers[key], file=self.process.stdin, flush=True)
        return Reply(**self._reply())

    def _reply(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"error: the process of {self.name} stopped; its error is above")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"error: git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def checked_out(commit: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """Check a commit out into a temporary tree, and yield it with an environment in which `halfulp` is its package."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            declared = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
            site = tree / "site"
            site.mkdir()
            # The package of the root is first: the others are folders in it.
            for package, source in sorted(declared["tool"]["setuptools"]["package-dir"].items()):
                shutil.move(tree / source, site.joinpath(*package.split(".")))
            yield tree, {**os.environ, "PYTHONPATH": str(site)}
        finally:
            git("worktree", "remove", "--force", str(tree))


def main(commit: str, wanted: str) -> int:
    """Print the table that compares a commit with the current tree, and return the exit code. ``wanted``: a part of the
    names of rows.
    """
    commit = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    print(f"base: {git('log', '-1', '--format=%h %s', commit)}\nnow: {git('describe', '--always', '--dirty')}")
    changed = git("diff", "--name-only", commit, "--", "benchmarks").splitlines()
    if changed:
        print(f"Each side runs its own benchmarks. These files of them differ: {', '.join(changed)}")
    with checked_out(commit) as (tree, environment):
        base, now = Side("the base", tree, environment), Side("this tree", ROOT, os.environ)
        keys = shared(base.keys, now.keys, wanted)
        if keys:
            _print_table(keys, base, now)
        for side, other in ((base, now), (now, base)):
            for key in alone(side.keys, other.keys, wanted):
                print(f"only {side.name} has {key}")
            side.close()
    if not keys:
        raise SystemExit(f"error: no row of both sides has {wanted!r} in its name")
    return 0


def _print_table(keys: Sequence[Key], base: Side, now: Side) -> None:
    widths = widths_of(keys)
    print(f"\n{text_line(HEAD, widths)}")
    group = ""
    for key in keys:
        if key.group != group:
            group = key.group
            print(f"\n{group}")
        print(text_line(compare(key, base.measure, now.measure).cells(), widths), flush=True)
    print()
