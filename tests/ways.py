"""Count how many functions and files the data pass through in a call: ``python tests/ways.py [WAY …]``.

For a call or a command, the table has the number of calls of functions of halfulp, the functions and files that they are in, and the
changes of file: how often a call enters a function of another file than the one that runs. Calls are counted warm, which means that
they ran twice before; commands as a new process runs them. For commands there is also the number of modules of halfulp that are
loaded, their lines, and the time from start to end. ``LIMITS`` has the upper bounds that `test_ways.py` checks.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tree import LAYERS, ROOT

EXAMPLE = str(ROOT / "examples" / "f8_add.mlir")
PROGRAM = """\
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = arith.addf %x, %y : tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
"""
INPUTS = ("--input=4xf8E4M3FN=1 0.3 -2.5 448", "--input=4xf8E4M3FN=0.0625 0.3 2.5 32")

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "formats": ("formats",),
    "translate": ("translate", EXAMPLE),
    "explain": ("explain", "0.3", "f8E4M3FN"),
    "run": ("run", EXAMPLE, "--function=main", *INPUTS),
    "eval": ("eval", "arith.addf", "--input=f32=1", "--input=f32=2"),
    "diff": ("diff", EXAMPLE, EXAMPLE, "-n", "10"),
    "vectors": ("vectors", "make", "arith.addf", "--type", "f8E4M3FN", "-n", "3"),
}


class Way(NamedTuple):
    """The figures of a call or a command; those of modules are of commands only."""

    calls: int
    functions: int
    files: int
    changes: int
    modules: int | None = None
    lines: int | None = None


LIMITS: Mapping[str, Mapping[str, int]] = {
    "hu.convert": {"calls": 400, "files": 15, "changes": 170},
    "v + v": {"calls": 85, "files": 15, "changes": 35},
    "hu.eval": {"calls": 340, "files": 25, "changes": 175},
    "hu.run(module)": {"calls": 280, "files": 29, "changes": 120},
    "hu.run(text)": {"calls": 870, "files": 56, "changes": 370},
    "halfulp formats": {"modules": 90},
    "halfulp translate": {"modules": 137},
    "halfulp explain": {"modules": 152},
    "halfulp run": {"files": 90, "modules": 124},
    "halfulp eval": {"modules": 124},
    "halfulp diff": {"modules": 235},
    "halfulp vectors": {"modules": 240},
}
"""Upper bounds of the figures. Lower them if a change makes a way shorter."""


class _Counter:
    """Counts calls of functions of halfulp, as `sys.setprofile` tells them."""

    def __init__(self) -> None:
        self.calls = self.changes = 0
        self.functions, self.files = set[Any](), set[str]()
        self.stack = [""]
        self.roots = tuple(f"{ROOT / folder}{os.sep}" for folder in LAYERS)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(self.roots) or code.co_name == "<module>":
            return
        if event == "call":
            self.calls += 1
            self.changes += self.stack[-1] != code.co_filename
            self.stack.append(code.co_filename)
            self.functions.add(code)
            self.files.add(code.co_filename)
        elif event == "return" and len(self.stack) > 1:
            self.stack.pop()

    def way(self) -> Way:
        """Return the figures so far."""
        return Way(self.calls, len(self.functions), len(self.files), self.changes)


def counted(work: Callable[[], Any]) -> Way:
    """Return the figures of a call."""
    counter = _Counter()
    sys.setprofile(counter)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counter.way()


def library_calls() -> dict[str, Callable[[], Any]]:
    """Return the calls that are counted."""
    import numpy as np

    import halfulp as hu

    numbers = np.linspace(-2, 2, 16, dtype=np.float32)
    value, small = hu.convert(numbers, "f32"), hu.convert(numbers[:4], "f8E4M3FN")
    module = hu.parse(PROGRAM)
    return {
        "hu.convert": lambda: hu.convert(numbers, "f8E4M3FN"),
        "v + v": lambda: value + value,
        "hu.eval": lambda: hu.eval("arith.addf", 1.0, 2.0, type="f8E4M3FN"),
        "hu.run(module)": lambda: hu.run(module, small, small),
        "hu.run(text)": lambda: hu.run(PROGRAM, small, small),
    }


def _new_process(*arguments: str) -> str:
    """Return what a process prints that runs this file, with none of the settings that tests make."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("HALFULP_")}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=settings, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def of_calls() -> dict[str, Way]:
    """Return the figures of the calls, from a process of its own: here other work has filled caches."""
    return {name: Way(*figures) for name, figures in json.loads(_new_process("--calls")).items()}


def warm(work: Callable[[], Any]) -> Way:
    """Return the figures of a call that ran twice before."""
    work()
    work()
    return counted(work)


def count_here(words: Sequence[str]) -> Way:
    """Return the figures of a command in this process, which must be a new one."""
    from contextlib import redirect_stdout

    def work() -> None:
        from halfulp.command.main import main

        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            main(words)

    way = counted(work)
    files = {
        file
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "halfulp" and (file := getattr(module, "__file__", None))
    }
    lines = sum(len(Path(file).read_text(encoding="utf-8").splitlines()) for file in files)
    return way._replace(modules=len(files), lines=lines)


def of_command(name: str) -> Way:
    """Return the figures of a command, from a process of its own."""
    return Way(**json.loads(_new_process("--here", *COMMANDS[name])))


def milliseconds(name: str, rounds: int = 5) -> float:
    """Return the shortest time that a command takes."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        command = [sys.executable, "-m", "halfulp", *COMMANDS[name]]
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def excess(name: str, way: Way) -> list[str]:
    """Return the figures of a way that are above their limit."""
    return [
        f"{name}: {getattr(way, figure)} {figure}, at most {limit}"
        for figure, limit in LIMITS[name].items()
        if getattr(way, figure) > limit
    ]


def main() -> None:
    """Print the table of all ways, or of those that are named."""
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(count_here(sys.argv[2:])._asdict()))
        return
    if sys.argv[1:2] == ["--calls"]:
        print(json.dumps({name: warm(work) for name, work in library_calls().items()}))
        return
    wanted = sys.argv[1:]
    print(
        f"{'way':18}{'calls':>8}{'functions':>10}{'files':>7}{'changes of file':>16}{'modules':>9}{'lines':>8}{'ms':>6}"
    )
    for name, way in of_calls().items():
        if not wanted or name in wanted:
            print(f"{name:18}{way.calls:8,}{way.functions:10,}{way.files:7}{way.changes:16,}", flush=True)
    for name in COMMANDS:
        if not wanted or name in wanted:
            way = of_command(name)
            print(
                f"{'halfulp ' + name:18}{way.calls:8,}{way.functions:10,}{way.files:7}{way.changes:16,}"
                f"{way.modules:9}{way.lines:8,}{milliseconds(name):6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
