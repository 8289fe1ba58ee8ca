"""The fuzzer over the corpus: damaged text is read, or rejected by an error of ours, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from corpora import fuzz_text
from corpora.corpus import entries
from tree import ROOT

TESTS = ROOT / "tests"


@pytest.mark.long
def test_damaged_modules_never_raise_anything_else() -> None:
    failures, outcomes = fuzz_text.run(800, seed=20)
    assert not failures, [(failure.number, failure.why) for failure in failures]
    # What is accepted and what breaks a rule is common enough to mean something.
    assert outcomes["accepted"] > 30
    assert outcomes["VerifyError"] > 2


@pytest.mark.exhaustive
def test_two_hundred_thousand_damaged_modules() -> None:
    command = [sys.executable, "-m", "corpora.fuzz_text", "-n", "200000", "--seed", "1"]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.long
@pytest.mark.parametrize(("most", "failures"), [(16, 1), (64, 0)])
def test_what_takes_too_much_memory_is_noticed(most: int, failures: int) -> None:
    script = (
        "from corpora.fuzz_text import read_all\n"
        "take = lambda size: ('accepted', None) if bytearray(size) else ('', None)\n"
        f"print(len(read_all(lambda number: 32 << 20, take, str, range(3), {most} << 20)[0]))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=TESTS, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == f"{failures}\n"


def test_an_input_is_the_same_whenever_it_is_made() -> None:
    first = [fuzz_text.mutant(3, number) for number in range(50)]
    assert first == [fuzz_text.mutant(3, number) for number in reversed(range(50))][::-1]
    assert len(set(first)) > 45
    assert sum(text in {entry.text for entry in entries()} for text in first) < 5


def test_what_does_not_pass_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def explode(text: str, name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(fuzz_text, "parse_module", explode)
    assert fuzz_text.check("module {}")[0] == "raised"
    assert fuzz_text.main(["-n", "2", "--seed", "5", "--first", "7"]) == 1
    printed = capsys.readouterr().out
    assert "input 7 of seed 5" in printed
    assert "KeyError" in printed
    assert "failures: 2" in printed


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(text: str, name: str) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz_text, "parse_module", endless)
    monkeypatch.setattr(fuzz_text, "MAX_SECONDS", 0.01)
    assert fuzz_text.check("module {}")[0] == "stopped"


def test_printing_that_is_no_fixed_point_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(("module {}", "module @a {}"))
    monkeypatch.setattr(fuzz_text, "print_module", lambda module, **arguments: next(texts))
    outcome, problem = fuzz_text.check("module {}")
    assert outcome == "accepted"
    assert problem is not None
    assert "@a" in problem
