"""The process that runs the cases of `same.py` in one tree: ``python -P same_process.py fresh|loaded``.

The environment variable ``PYTHONPATH`` says which tree is `halfulp`. The process reads chains of cases from stdin, a line of
JSON each, and prints the outcomes of a chain as a line of JSON. It forks for each case, so that no case can change another:
``fresh`` has loaded the libraries but no part of halfulp, so that a case loads what it needs; ``loaded`` has loaded the command line.
"""

import ast
import contextlib
import gc
import hashlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

PATIENCE = 240
"""The seconds after which a case is stopped."""

LIBRARIES = ("numpy", "numba", "llvmlite.binding")
LONGEST = 20_000
"""Longer texts are kept as their digest."""

PROGRAM = "func.func @f(%x: f32) -> f32 { %0 = arith.addf %x, %x : f32 return %0 : f32 }"


def shortened(text: str) -> str:
    """Return a text, or the size and the digest of a long one."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:2000]}\n… {len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def content(path: Path) -> str:
    """Return the text of a file, or the size and the digest of one that is not text."""
    data = path.read_bytes()
    with contextlib.suppress(UnicodeDecodeError):
        if b"\0" not in data:
            return normal(data.decode("utf-8"), path.parent)
    return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"


# --- what does not count --------------------------------------------------------------------------------------------------

# What depends on the time, the machine or the place of the tree: a pattern, and what stands for it.
NORMAL: tuple[tuple[str, str], ...] = (
    (r"/tmp/tmp\w+", "<temporary>"),
    (r" at 0x[0-9a-f]+", " at 0x…"),
    (r"(?s)Traceback \(most recent call last\):\n(?:[ ^].*?\n)+", "Traceback …\n"),
    (r"\bhalfulp (v?)\d+\.\d+\.\d+\S*", r"halfulp \1<version>"),
    (r"\b\d+(\.\d+)? ?(s|ms|µs|seconds?|minutes?|hours?)\b(?! *[:=])", "<time>"),
    (r'"(version|machine|numpy|python|system)": "[^"]*"', r'"\1": "…"'),
    (r'\b(seconds"?[:=] ?)[\d.e-]+', r"\1…"),
    (r"(?m)^[WI]\d{4} [\d:.]+ .*\n", ""),  # warnings of PyTorch, with the time
    (r"Python \d\.\d+\.\d+", "Python <version>"),
    (r"\bprocess \d+\b", "process <number>"),
)

SHARD = '{"index": '
"""The start of a line about a shard of a sweep."""


def normal(text: str, folder: Path) -> str:
    """Replace what depends on the time, the machine or the place of the tree."""
    tree, site = os.environ["SAME_TREE"], os.environ["PYTHONPATH"].partition(os.pathsep)[0]
    for place, name in ((str(folder), "<folder>"), (site, "<tree>"), (tree, "<tree>")):
        text = text.replace(place, name)
    for pattern, replacement in NORMAL:
        text = re.sub(pattern, replacement, text)
    if text.startswith(SHARD):  # of processes that take turns as they like
        text = "".join(sorted(text.splitlines(keepends=True)))
    return text


# --- kinds of cases -------------------------------------------------------------------------------------------------------


def run_command(words: list[str]) -> None:
    """Run the command line."""
    sys.argv[1:] = words
    runpy.run_module("halfulp", run_name="__main__", alter_sys=True)


def shown(value: Any) -> str:
    """Return a result as a user sees it, and its type: for records that have a text, it and not all their fields."""
    kind = type(value)
    parameters = getattr(kind, "__dataclass_params__", None)
    texts = parameters is not None and parameters.repr and any("__str__" in vars(base) for base in kind.__mro__[:-1])
    return f"{kind.__name__} {value if texts else repr(value)}"


def evaluated(code: str, names: dict[str, Any]) -> Any:
    """Run statements, and return the value of the last one if it is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<case>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<case>", "eval"), names) if isinstance(last, ast.Expr) else None


def run_calls(calls: list[list[str]], answers: Path) -> None:
    """Evaluate each expression in names of its own; write the result or the error of each as a line."""
    prelude: dict[str, Any] = {}
    exec("from fractions import Fraction\nfrom pathlib import Path\nimport numpy as np\nimport halfulp as hu", prelude)
    with answers.open("w", encoding="utf-8") as file:
        for name, code in calls:
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    text = shown(evaluated(code, dict(prelude)))
                text += "".join(f"\n{warning.category.__name__}: {warning.message}" for warning in caught)
            except Exception as error:
                notes = [str(getattr(error, part)) for part in ("notes", "hint") if getattr(error, part, None)]
                text = "\n".join([f"{type(error).__name__}: {error}", *notes])
            print(json.dumps([name, shortened(normal(text, Path.cwd()))]), file=file, flush=True)


def lines_of_shell(text: str) -> Iterator[list[str]]:
    """Return the commands ``halfulp …`` of a cell of the shell, without pipes."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "halfulp" in words:
            words = words[words.index("halfulp") + 1 :]
            ends = [k for k, word in enumerate(words) if word in ("|", ">", "2>&1", "<")]
            yield words[: min(ends, default=len(words))]


def run_cells(cells: list[str]) -> None:
    """Run the cells of a notebook one after the other in the same names, and print what they print and show."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        print(f"--- cell {number}")
        head, _, rest = cell.partition("\n")
        if head.startswith("%%writefile"):
            Path(head.split()[1]).write_text(rest, encoding="utf-8")
            continue
        if head.startswith("%%bash"):
            for words in lines_of_shell(rest):
                sys.stdout.flush()
                command = [sys.executable, "-P", "-m", "halfulp", *words]
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
                print(done.returncode, done.stdout, done.stderr, sep="\n")
            continue
        try:
            value = evaluated(cell, names)
            if value is not None:
                print(re.sub(r"(?s)<style.*?</style>|<[^>]*>", " ", shown(value)))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")


def run_python(code: str) -> None:
    """Run a program."""
    exec(compile(code, "<case>", "exec"), {"__name__": "__main__"})


# --- running --------------------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], None], folder: Path, streams: tuple[str, str]) -> str:
    """Do work in a process of its own in a folder, its output into two files; return how it ended."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads: those of NumPy's libraries have nothing to do
        child = os.fork()
    if not child:
        code = 70
        try:
            os.setsid()
            os.chdir(folder)
            for number, name in zip((0, 1, 2), (os.devnull, *streams), strict=True):
                file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, number)
            sys.stdin, sys.stdout, sys.stderr = (
                io.TextIOWrapper(io.FileIO(number, "r" if number == 0 else "w"), encoding="utf-8", write_through=True)
                for number in (0, 1, 2)
            )
            try:
                work()
                code = 0
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            except BaseException:
                traceback.print_exc()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
        finally:
            os._exit(code)
    deadline = time.monotonic() + PATIENCE
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # what the case has started and left
            return f"exit code {code}" if code >= 0 else f"stopped by signal {-code}"
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "did not end in time"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Return time and size of each file of a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            state = path.stat()
            found[path.relative_to(folder).as_posix()] = (state.st_mtime_ns, state.st_size)
    return found


def outcomes(chain: dict[str, Any]) -> dict[str, str]:
    """Run the cases of a chain in one folder; return what each did by its name."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder, out, err, answers = (Path(scratch).resolve() / name for name in ("in", "out", "err", "answers"))
        folder.mkdir()
        if chain["examples"]:
            shutil.copytree(chain["examples"], folder / "examples")
        for name, text in chain["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        for name, kind, content_of in chain["steps"]:
            before = stamps(folder)
            work: dict[str, Callable[[], None]] = {
                "command": partial(run_command, content_of),
                "python": partial(run_python, content_of),
                "cells": partial(run_cells, content_of),
                "calls": partial(run_calls, content_of, answers),
            }
            answers.unlink(missing_ok=True)
            end = in_child(work[kind], folder, (str(out), str(err)))
            printed = [path.read_text(encoding="utf-8", errors="backslashreplace") for path in (out, err)]
            texts = [shortened(normal(text, folder)) for text in printed]
            if kind == "calls":
                lines = answers.read_text(encoding="utf-8").splitlines() if answers.exists() else []
                answered = dict(json.loads(line) for line in lines)
                trouble = f"no answer: {end}\n{texts[1]}"
                found |= {call: answered.get(call, trouble) for call, _ in content_of}
                continue
            after = stamps(folder)
            files = [
                f"--- file {path}\n{shortened(content(folder / path))}"
                for path in after
                if after[path] != before.get(path)
            ]
            found[name] = "\n".join(
                [end, "--- stdout", texts[0], *(["--- stderr", texts[1]] if texts[1] else []), *files]
            )
    return found


def main() -> None:
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            import_module(library)
    if sys.argv[1] == "loaded":
        hu = import_module("halfulp")
        import_module("halfulp.command.main")
        hu.run(PROGRAM, 1.0)
    gc.freeze()
    for line in sys.stdin:
        chain = json.loads(line)
        start = time.monotonic()
        print(json.dumps([chain["name"], outcomes(chain), time.monotonic() - start]), flush=True)


if __name__ == "__main__":
    main()
