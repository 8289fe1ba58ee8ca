"""The command line as a whole: usage, help, imports, broken pipes, errors of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import PATIENCE, halfulp
from command_calls import Command
from tree import ROOT

from halfulp.command.main import COMMANDS, NOW

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["run"], ["run", "--nonsense", "x"], ["--nonsense"]])
def test_usage_errors(arguments: list[str], command: Command) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: halfulp")


def test_former_names_are_answered_with_the_new_ones(command: Command) -> None:
    assert command("check-vectors", "a.tv") == (2, "", "error: halfulp check-vectors is now: halfulp vectors check\n")
    assert command("vectors", "arith.addf") == (2, "", "error: halfulp vectors is now: halfulp vectors make\n")
    for name, new in NOW.items():
        assert command(name, "x")[0] == 2
        assert any(new.startswith(known) for known in COMMANDS)


def test_commands_of_a_group(command: Command) -> None:
    for group, names in (("vectors", "make,check,sweep"), ("iree", "constraints,workgroups")):
        code, out, _ = command(group, "--help")
        assert code == 0
        assert re.findall(r"^    (\w+)\b", out, re.MULTILINE) == names.split(",")
        assert command(group)[0] == 2


def test_help_and_version(command: Command) -> None:
    for arguments in (["--help"], *([name, "--help"] for name in ("run", "eval", "formats", "translate", "explain"))):
        code, out, err = command(*arguments)
        assert (code, err) == (0, "")
        assert out.startswith("usage: halfulp")
        assert "exit codes: 0 fine" in out
    code, out, _ = command("--version")
    assert code == 0
    assert out.startswith("halfulp 0.")


def test_help_imports_nothing_slow() -> None:
    script = (
        "import sys\nfrom halfulp.command.main import main\n"
        "assert [main(words) for words in (['--help'], [], ['nonsense'])] == [0, 2, 2]\n"
        "print(*[m for m in sys.modules if m.partition('.')[0] in ('numpy', 'ml_dtypes') or m.startswith('halfulp.')])"
    )
    done = halfulp(interpreter=(sys.executable, "-I", "-c", script))
    assert done.code == 0, done.err
    loaded = set(done.out.splitlines()[-1].split())
    assert loaded == {f"halfulp.command{name}" for name in ("", ".console", ".main", ".option")}


def test_the_installed_command() -> None:
    executable = shutil.which("halfulp", path=str(Path(sys.executable).parent))
    assert executable is not None
    done = halfulp("eval", "arith.addf", "--input=f32=1", "--input=2", interpreter=(executable,))
    assert (done.code, done.out, done.err) == (0, "result[0]: f32=3\n", "")


def test_running_imports_nothing_slow() -> None:
    script = (
        "import sys\nfrom halfulp.command.main import main\nassert main(sys.argv[1:]) == 0\n"
        "print(*{m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names))\n"
        "print(*[m for m in sys.modules if m.startswith(('halfulp.conformance', 'halfulp.trac', 'halfulp.expl'))])"
    )
    done = halfulp("run", ADD, "--input=1", "--input=1", interpreter=(sys.executable, "-I", "-c", script))
    result, packages, ours = done.out.splitlines()
    assert (done.code, result, ours) == (0, "result[0]: 4xf8E4M3FN=2 2 2 2", "")
    assert {"numpy", "halfulp"} <= set(packages.split())
    assert set(packages.split()) & {"ml_dtypes", "rich", "llvmlite", "matplotlib", "dask", "iree"} == set()


def test_a_reader_that_goes_away() -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-m", "halfulp", "eval", "arith.addi", "--input=100000xi32=1", "--input=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "halfulp", "formats"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"error: No space left on device\n"


def test_a_closed_stdout() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -I -m halfulp formats >&-', sys.executable],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, b"error: the standard output is closed\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 2, "error: this machine does not have enough memory for that\n"),
        (ValueError("odd\nthing"), 70, "halfulp: internal error: ValueError: odd thing; please report it"),
    ],
)
def test_what_was_not_expected(
    error: BaseException, code: int, message: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.delenv("HALFULP_DEBUG", raising=False)
    monkeypatch.setattr("halfulp.loading.read_file", fail)
    got, out, err = command("run", ADD)
    assert (got, out) == (code, "")
    assert err.startswith(message)
    assert bool(message) == bool(err)
    if code == 70:
        monkeypatch.setenv("HALFULP_DEBUG", "1")
        with pytest.raises(ValueError, match="odd"):
            command("run", ADD)


def test_the_caret_stands_under_the_place(command: Command, write: Any) -> None:
    path = write("wide.mlir", 'func.func @f() { "é.é"() : () -> ()\tretun }\n')
    _, _, err = command("translate", path, "--allow-unregistered-dialect")
    message, line, caret, hint = err.splitlines()
    assert message.startswith("wide.mlir:1:39: error: ")  # in bytes, as mlir-opt counts
    assert len(caret) - 1 == line.index("retun")
    assert caret.count("\t") == 1
    assert hint == "hint: did you mean `return`?"


def test_any_locale(write: Any) -> None:
    path = write("u.mlir", 'func.func @f() {\n  "öther.op"() : () -> ()\n  return\n}\n')
    for options in ((), ("--allow-unregistered-dialect",)):
        done = halfulp(
            *("translate", path, *options),
            environment={"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
            interpreter=(sys.executable, "-m", "halfulp"),
        )
        assert done.code == (0 if options else 2)
        assert "Traceback" not in done.err


def test_output_is_the_same_every_time(command: Command) -> None:
    runs = {command("explain", "1/3", "bf16") for _ in range(3)} | {command("explain", "1/3", "bf16")}
    assert len(runs) == 1
