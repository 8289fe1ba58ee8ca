"""Each command under bad conditions: the right exit code, no traceback, no file that is half-written or left over."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amounts import thinned
from command import PATIENCE
from every_command import EVERY, prepare
from tree import ROOT

from halfulp.command.main import COMMANDS, main

FEW = ("run --trace", "vectors make")
"""The commands of the plain run, which write files in different ways."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("conditions") / "here")


@cache
def outcomes(
    folder: Path, condition: str, *names: str, environment: tuple[tuple[str, str], ...] = ()
) -> Mapping[str, dict[str, Any]]:
    """Run the calls of these commands under a condition, with more variables of the environment."""
    process = (sys.executable, str(ROOT / "tests" / "conditions_process.py"))
    words, variables = [*process, str(folder), condition, *names], {**os.environ, **dict(environment)}
    done = subprocess.run(words, env=variables, capture_output=True, timeout=PATIENCE, check=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def same(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """The condition does not matter. Other tests write to the same cache, so that its size may differ."""
    if name == "cache":
        usual, got = ({**each, "out": re.sub(r"(?m)^(files|size) .*", r"\1", each["out"])} for each in (usual, got))
    assert got == usual


def cannot_write(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """A command that writes files fails, and writes none; the others do not care. A tool is given a temporary file."""
    if "to a temporary file: File too large" in got["err"]:
        assert any("my-opt" in word for word in EVERY[name].words)
        assert (got["code"], got["files"]) == (2, {})
        return
    if not usual["files"]:
        same(name, usual, got)
        return
    assert got["code"] == 2
    assert "error: " in got["err"]
    assert not got["files"]


def full_stdout(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """A command that prints fails; its files are whole."""
    del name
    assert got["code"] == (2 if usual["out"] else usual["code"])
    assert "No space left on device" in got["err"] or not usual["out"]


def closed_pipe(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """A command that prints ends without a word, by the code of SIGPIPE."""
    del name
    assert got["code"] == (141 if usual["out"] else usual["code"])
    assert "error" not in got["err"]


def no_home(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """Nothing but the place of the cache changes."""
    same(name, usual, {**got, "out": usual["out"]} if name == "cache" else got)


def without_colours(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """Only the bits in an explanation and the kinds of messages get colours."""
    plain = {part: re.sub(r"\x1b\[[\d;]*m", "", got[part]) for part in ("out", "err")}
    assert (plain["out"] != got["out"]) == (name == "explain"), name
    assert (plain["err"] != got["err"]) == bool(re.search(r"(?m)^(.+:\d+:\d+: )?(error|hint|note):", plain["err"])), (
        got["err"]
    )
    no_home(name, usual, {**got, **plain})


def fewer_characters(encoding: str) -> Callable[[str, Mapping[str, Any], Mapping[str, Any]], None]:
    """Return the rule of an encoding: the characters that it lacks are written with backslashes. Tables have other lines."""

    def rule(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        if name == "translate --summary":
            usual, got = ({**each, "out": " ".join(re.findall(r"\w[\w.-]*", each["out"]))} for each in (usual, got))
        parts = {part: usual[part].encode(encoding, "backslashreplace") for part in ("out", "err")}
        texts = {part: text.decode("utf-8", "replace") for part, text in parts.items()}
        no_home(name, {**usual, **texts}, got)

    return rule


def interrupted(code: int) -> Callable[[str, Mapping[str, Any], Mapping[str, Any]], None]:
    """Return the rule of a signal: the command ends with its code, unless it was quicker."""

    def rule(name: str, usual: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        del name
        assert got["code"] in (code, usual["code"])
        assert "error" not in got["err"]

    return rule


RULES: Mapping[str, Callable[[str, Mapping[str, Any], Mapping[str, Any]], None]] = {
    "full disk": cannot_write,
    "read-only folder": cannot_write,
    "full stdout": full_stdout,
    "closed pipe": closed_pipe,
    "little memory": same,
    "no threads": same,
    "no home": no_home,
    **{f"SIGINT {after}": interrupted(130) for after in (0.02, 0.1, 0.2, 0.5)},
    **{f"SIGTERM {after}": interrupted(143) for after in (0.02, 0.1, 0.2, 0.5)},
}


ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed 4294967295": {"PYTHONHASHSEED": "4294967295"},
    "locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "locale of Turkey": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "LANGUAGE": "tr"},
    "Latin-1": {"PYTHONIOENCODING": "latin-1", "LC_ALL": "de_DE.ISO-8859-1"},
    "time zone": {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "0"},
    "one thread": {"HALFULP_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "eight threads": {"HALFULP_THREADS": "8", "OMP_NUM_THREADS": "8"},
    "machine code": {"HALFULP_BACKEND": "llvm"},
    "optimised Python": {"PYTHONOPTIMIZE": "2"},
    "no cache": {"HALFULP_CACHE": "off"},
    "narrow terminal": {"COLUMNS": "40", "LINES": "10", "TERM": "dumb", "NO_COLOR": "1"},
    "colours": {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"},
}
"""Environments in which the same call gives the same, but for `SPELLED`: exit code, stdout, stderr and files."""


SPELLED: Mapping[str, Callable[[str, Mapping[str, Any], Mapping[str, Any]], None]] = {
    "locale C": fewer_characters("ascii"),
    "Latin-1": fewer_characters("latin-1"),
    "colours": without_colours,
}
"""The rules of environments in which a text is spelled differently."""


def test_every_command_is_here() -> None:
    assert EVERY.keys() == COMMANDS.keys()


def check(folder: Path, condition: str, names: tuple[str, ...]) -> None:
    usual, environment = outcomes(folder, "nothing", *names), ENVIRONMENTS.get(condition)
    if environment is None:
        got, rule = outcomes(folder, condition, *names), RULES[condition]
    else:
        got = outcomes(folder, "nothing", *names, environment=tuple(environment.items()))
        rule = SPELLED.get(condition, no_home)
    for name in names:
        assert usual[name]["code"] == EVERY[name].code, usual[name]
        assert set(EVERY[name].writes) <= {
            str(part) for path in usual[name]["files"] for part in (Path(path), *Path(path).parents)
        }
        assert "Traceback" not in got[name]["err"], (name, got[name])
        assert "internal error" not in got[name]["err"], (name, got[name])
        for path, digest in got[name]["files"].items():
            whole = usual[name]["files"].get(path) == digest
            # A report says what failed, and the table of a search that was stopped what ran until then.
            assert whole or (path in ("out/junit.xml", "out/passes.md") and got[name]["code"]), (name, path)
        rule(name, usual[name], got[name])


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="conditions of Linux")
@pytest.mark.parametrize("condition", thinned(["full disk", "hash seed 1"], 2))
def test_some_commands(condition: str, prepared: Path) -> None:
    check(prepared, condition, FEW)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="conditions of Linux")
@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(each, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root drops rights"))
        if each == "read-only folder"
        else each
        for each in (*RULES, *ENVIRONMENTS)
    ],
)
def test_each_command(condition: str, prepared: Path) -> None:
    check(prepared, condition, tuple(EVERY))


def raising_another(number: signal.Signals) -> None:
    """Raise RuntimeError or SyntaxError for a signal, as Python does in some places of an import."""
    try:
        os.kill(os.getpid(), number)
    except BaseException:
        raise RuntimeError("Error calling __set_name__") from None


def ignoring(number: signal.Signals) -> None:
    """Get a signal in the callback of a weak reference, whose exceptions Python ignores; then work on."""
    target = type("Target", (), {})()
    kept = weakref.ref(target, lambda _: os.kill(os.getpid(), number))
    del target
    for _ in range(PATIENCE * 100):
        time.sleep(0.01)
    del kept


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("interrupted", [raising_another, ignoring])
def test_a_signal_whose_exception_is_lost(
    number: signal.Signals,
    interrupted: Callable[[signal.Signals], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hook = sys.unraisablehook
    monkeypatch.setattr("halfulp.command.main.command_named", lambda name: interrupted(number))
    assert main(["cache"]) == 128 + number
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert sys.unraisablehook is hook
    assert capsys.readouterr().err == ""
