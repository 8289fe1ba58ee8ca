"""The fuzzer over the corpus: damaged text is read, or rejected by an error of ours, in bounded time and memory."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from corpora import fuzz_bytecode, fuzz_text
from corpora.bytecode_files import recorded_files
from corpora.corpus import entries
from tree import ROOT

from halfulp.interp.bytecode.encoding import Section
from halfulp.interp.ir.errors import BytecodeError

TESTS = ROOT / "tests"
FUZZERS = pytest.mark.parametrize(
    ("fuzzer", "reader", "broken"), [(fuzz_text, "parse_module", "module {}"), (fuzz_bytecode, "read_bytecode", b"ML")]
)


@pytest.mark.parametrize(
    ("fuzzer", "count", "seed"),
    [
        pytest.param("text", 200_000, 1, marks=pytest.mark.exhaustive),
        pytest.param("bytecode", 300_000, 1, marks=pytest.mark.exhaustive),
        pytest.param("bytecode", 600, 21, marks=pytest.mark.long),
        pytest.param("text --stablehlo", 200_000, 1, marks=pytest.mark.exhaustive),
        pytest.param("bytecode --stablehlo", 200_000, 1, marks=pytest.mark.exhaustive),
        pytest.param("text --stablehlo", 300, 43, marks=pytest.mark.long),
        pytest.param("bytecode --stablehlo", 300, 43, marks=pytest.mark.long),
    ],
)
def test_many_damaged_inputs_in_a_process_whose_memory_stays_bounded(fuzzer: str, count: int, seed: int) -> None:
    command = [sys.executable, "-m", *f"corpora.fuzz_{fuzzer}".split(), "-n", str(count), "--seed", str(seed)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize(
    ("fuzzer", "undamaged"),
    [(fuzz_text, {entry.text for entry in entries()}), (fuzz_bytecode, {file.data for file in recorded_files()})],
)
def test_an_input_is_the_same_whenever_it_is_made(fuzzer: Any, undamaged: set[str] | set[bytes]) -> None:
    first = [fuzzer.mutant(3, number) for number in range(50)]
    assert first == [fuzzer.mutant(3, number) for number in reversed(range(50))][::-1]
    assert len(set(first)) > 45
    assert sum(each in undamaged for each in first) < (5 if fuzzer is fuzz_text else 8)


@FUZZERS
def test_what_does_not_pass_is_reported(
    fuzzer: Any, reader: str, broken: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def explode(data: object, name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(fuzzer, reader, explode)
    assert fuzzer.check(broken)[0] == "raised"
    assert fuzzer.main(["-n", "2", "--seed", "5", "--first", "7"]) == 1
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("input 7 of seed 5", "KeyError", "failures: 2")), printed


@FUZZERS
def test_what_takes_too_long_is_stopped(fuzzer: Any, reader: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(data: object, name: str) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzzer, reader, endless)
    monkeypatch.setattr(fuzz_text, "MAX_SECONDS", 0.01)
    assert fuzzer.check(broken)[0] == "stopped"


@pytest.mark.long
def test_damaged_modules_never_raise_anything_else() -> None:
    failures, outcomes = fuzz_text.run(800, seed=20)
    assert not failures, [(failure.number, failure.why) for failure in failures]
    # What is accepted and what breaks a rule is common enough to mean something.
    assert outcomes["accepted"] > 30
    assert outcomes["VerifyError"] > 0


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


def test_printing_that_is_no_fixed_point_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(("module {}", "module @a {}"))
    monkeypatch.setattr(fuzz_text, "print_module", lambda module, **arguments: next(texts))
    outcome, problem = fuzz_text.check("module {}")
    assert outcome == "accepted"
    assert problem is not None
    assert "@a" in problem


# --- fuzz bytecode ----------------------------------------------------------------------------------------------------
#
# The fuzzer over recorded bytecode: damaged files are read, or rejected at a byte, in bounded time and memory.

RECORDED = [file.data for file in recorded_files()]


@pytest.mark.long
def test_damaged_files_never_raise_anything_else() -> None:
    failures, outcomes = fuzz_bytecode.run(1_500, seed=20)
    # The memory of a process that runs other tests too says nothing.
    assert [(failure.number, failure.why) for failure in failures if failure.text] == []
    # What is accepted and what breaks a rule is common enough to mean something.
    assert outcomes["accepted"] > 150
    assert outcomes["VerifyError"] > 6
    assert outcomes["BytecodeError"] > 900


def test_files_are_put_together_as_they_were() -> None:
    for file in recorded_files():
        parts = fuzz_bytecode.Parts.of(file.data)
        assert parts is not None
        assert parts.join() == file.data


def test_attributes_and_types_are_put_together_as_they_were() -> None:
    for file in recorded_files():
        parts = fuzz_bytecode.Parts.of(file.data)
        assert parts is not None
        contents = {number: content for number, _, content in parts.sections}
        offsets, data = contents[Section.ATTR_TYPE_OFFSET], contents[Section.ATTR_TYPE]
        assert fuzz_bytecode.sections_of(fuzz_bytecode.tables_of(offsets, data)) == (offsets, data)


@pytest.mark.long
def test_what_is_made_anew_is_read_often_enough() -> None:
    outcomes: Counter[str] = Counter()
    for number in range(200):
        parts = fuzz_bytecode.Parts.of(RECORDED[number % len(RECORDED)])
        assert parts is not None
        fuzz_bytecode.make(random.Random(number), parts)
        outcome, problem = fuzz_bytecode.check(parts.join())
        outcomes[outcome] += 1
        assert problem is None, number
    assert outcomes["accepted"] > 20


@pytest.mark.parametrize("offset", [None, -1, 4])
def test_an_error_without_a_byte_of_the_file_is_noticed(monkeypatch: pytest.MonkeyPatch, offset: int | None) -> None:
    def fail(data: bytes, name: str) -> None:
        raise BytecodeError("no", offset=offset, filename=name)

    monkeypatch.setattr(fuzz_bytecode, "read_bytecode", fail)
    outcome, problem = fuzz_bytecode.check(b"ML")
    assert outcome == "BytecodeError"
    assert problem is not None
    assert "no place" in problem


def test_what_is_written_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(("module {}", "module {}", "module @a {}"))
    monkeypatch.setattr(fuzz_bytecode, "print_module", lambda module, **arguments: next(texts))
    outcome, problem = fuzz_bytecode.check(recorded_files()[0].data)
    assert outcome == "accepted"
    assert problem is not None
    assert "@a" in problem


def test_an_input_can_be_written_down(tmp_path: Path) -> None:
    assert fuzz_bytecode.main(["--seed", "3", "--first", "4", "-o", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x").read_bytes() == fuzz_bytecode.mutant(3, 4)
