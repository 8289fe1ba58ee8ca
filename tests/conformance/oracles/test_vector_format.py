"""The vector format: programs that compute results, files of results, and malformed ones of both."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from present import present
from tree import ROOT

from halfulp.conformance.comparing.check import check
from halfulp.conformance.comparing.inputs import every_input, sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, op_case, reference
from halfulp.conformance.ops.report import text, verify
from halfulp.conformance.oracles import oracle, vector_format
from halfulp.conformance.oracles import vector_format as vectorfile
from halfulp.conformance.oracles.oracle import HoldingOracle, OracleError, Status, Unavailable
from halfulp.conformance.oracles.vector_format import (
    Record,
    load_recording,
    look_up,
    read_answers,
    request,
    save_records,
)
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir.types import width_of

DOCUMENT = (ROOT / "docs" / "vector-format.md").read_text(encoding="utf-8")
PROGRAM, WRITER = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
ASKED, ANSWERED = re.findall(r"```text\n(.*?)```", DOCUMENT, re.DOTALL)

TASKS = [
    op_case("arith.addi", "i8"),
    op_case("arith.divui", "i7"),
    op_case("arith.addui_extended", "i5"),
    op_case("arith.mulf", "f80"),
    op_case("arith.truncf", "f64", "f8E4M3FN", rounding="upward"),
    op_case("arith.select", ["i1", "f16", "f16"]),
    op_case("arith.addi", "i200"),
]


def recorded(asked: OpCase, count: int = 500) -> Record:
    """Return the results of the specification itself."""
    inputs = sampled_inputs(asked, count)
    expected = reference(asked, inputs)
    status = np.zeros(count, np.uint8)
    if expected.poison is not None:
        status[expected.poison] = Status.POISON
    if expected.undefined is not None:
        status[expected.undefined] = Status.TRAP
    return Record(asked, inputs, expected.bits, status if status.any() else None)


# --- programs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def documented(tmp_path: Path) -> str:
    path = tmp_path / "adder.py"
    path.write_text(PROGRAM)
    return f"command={sys.executable} {path}"


def test_the_document_shows_what_is_sent() -> None:
    asked = op_case("arith.addi", "i8")
    inputs = (np.array([1, 255, 128], np.uint8), np.array([2, 1, 128], np.uint8))
    assert request(asked, inputs) == ASKED
    (answer,) = read_answers(asked, inputs, ANSWERED)
    np.testing.assert_array_equal(answer.bits, reference(asked, inputs).bits[0])


@pytest.mark.parametrize("op", thinned(["addi", "subi", "muli", "divui"], 4))
@pytest.mark.parametrize("width", [1, 6, 64, 100])
def test_the_documented_program(documented: str, op: str, width: int) -> None:
    assert len(PROGRAM.splitlines()) <= 20
    asked = op_case(f"arith.{op}", f"i{width}")
    total = check(oracle(documented), asked, every_input(asked) if width <= 6 else sampled_inputs(asked, 200))
    assert total.clean
    assert total.equal > 0
    assert total.unanswered == 0


def test_the_documented_program_declines(documented: str) -> None:
    asked = op_case("arith.addf", "f32")
    total = check(oracle(documented), asked, sampled_inputs(asked, 20))
    assert (total.compared, total.unanswered, total.failures) == (0, 20, [])


def test_wide_codes_and_several_results_travel() -> None:
    for asked in TASKS:
        record = recorded(asked, 50)
        words = {Status.POISON: "poison", Status.TRAP: "trap"}
        lines = request(asked, record.operands).splitlines()
        assert json.loads(lines[0])["count"] == len(lines) - 1 == 50
        status = np.zeros(50, np.uint8) if record.status is None else record.status
        printed = [words.get(Status(int(s)), "") for s in status]
        columns = [
            codes_to_ints(codes, width_of(type_))
            for codes, type_ in zip(record.results, asked.result_types, strict=True)
        ]
        rows = [" ".join(f"0x{code:X}" for code in row) for row in zip(*columns, strict=True)]
        text = "\n".join(word or row for word, row in zip(printed, rows, strict=True))
        answers = read_answers(asked, record.operands, text)
        for answer, codes in zip(answers, record.results, strict=True):
            clean = status == Status.VALUE
            np.testing.assert_array_equal(answer.bits[clean], codes[clean])


BAD_OUTPUTS = {
    "nothing": "",
    "a line too few": "00\n01\n",
    "a line too many": "00\n01\n02\n03\n",
    "words": "00\nhello\n02\n",
    "too wide": "00\n100\n02\n",
    "negative": "00\n-1\n02\n",
    "two codes": "00\n01 02\n02\n",
    "an empty line": "00\n\n02\n",
    "underscores": "00\n0_1\n02\n",
}


@pytest.mark.parametrize("text", BAD_OUTPUTS.values(), ids=BAD_OUTPUTS)
def test_what_is_no_answer(text: str) -> None:
    asked = op_case("arith.addi", "i8")
    inputs = (np.arange(3, dtype=np.uint8), np.arange(3, dtype=np.uint8))
    with pytest.raises(OracleError) as caught:
        read_answers(asked, inputs, text)
    assert caught.value.kind == "garbage"


@pytest.mark.parametrize("spelling", ["command= ", "command=no-such-program-anywhere", "command='"])
def test_commands_that_are_none(spelling: str) -> None:
    with pytest.raises(Unavailable):
        oracle(spelling)


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_documented_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(WRITER, {})
    found = oracle("npz=results.npz")
    assert found.version == "mine 1.0"
    asked = op_case("arith.addi", "i8")
    a = np.arange(256, dtype=np.uint8)[::-1].copy()
    total = check(found, asked, (a, np.where(a % 2, np.uint8(3), np.uint8(4))))
    assert (total.equal, total.unanswered, total.unexplained) == (128, 128, 0)
    assert found.refuses(op_case("arith.subi", "i8")) is not None


def test_records_are_found_by_their_operands(tmp_path: Path) -> None:
    path = tmp_path / "results.npz"
    records = [recorded(asked) for asked in TASKS]
    save_records(path, records, "halfulp", "1")
    found = oracle(f"npz={path}")
    rng = np.random.default_rng(1)
    for record in records:
        order = rng.permutation(500)[:300]
        total = check(found, record.case, [codes[order] for codes in record.operands])
        assert total.clean
        assert total.unanswered == 0
        assert total.compared == 300 * len(record.results)
        strange = sampled_inputs(record.case, 300, seed=77)
        assert check(found, record.case, strange).clean
    loaded = present(load_recording(str(path)).record(TASKS[0]))
    (answer,) = look_up(loaded, [codes.reshape(5, 100) for codes in records[0].operands])
    np.testing.assert_array_equal(answer.bits, records[0].results[0].reshape(5, 100))


def test_a_wrong_result_in_a_file_is_found(tmp_path: Path) -> None:
    record = recorded(op_case("arith.muli", "i16"))
    spoiled = record.results[0].copy()
    spoiled[7] ^= 1
    path = tmp_path / "results.npz"
    save_records(path, [Record(record.case, record.operands, (spoiled,))], "mine", "2")
    total = check(oracle(f"npz={path}"), record.case, [codes[7:8] for codes in record.operands])
    assert total.unexplained == 1


def test_every_record_of_a_file_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_format, "PIECE", 64)
    record = recorded(op_case("arith.muli", "i64"), 300)
    odd = tuple(np.arange(7, 107, dtype=np.uint64) * np.uint64(k) for k in (982451653, 57885161))
    wrong = odd[0] * odd[1]
    wrong[[3, 99]] ^= np.uint64(1)
    path = tmp_path / "results.npz"
    save_records(path, [record, recorded(TASKS[0]), Record(record.case, odd, (wrong,))], "mine", "2")
    found = oracle(f"npz={path}")
    assert isinstance(found, HoldingOracle)
    assert list(found.cases()) == [record.case, TASKS[0]]
    asked = verify(record.case, found, 1000)
    assert (asked.tally.compared, asked.tally.unexplained, asked.tally.unanswered) == (400, 2, 0)
    assert [mismatch.operands for _, mismatch in asked.tally.mismatches] == [(odd[0][k], odd[1][k]) for k in (3, 99)]
    assert "the operands it holds" in text(asked)[0]
    pieces = [np.concatenate(columns) for columns in zip(*(found.inputs(record.case) or ()), strict=True)]
    for codes, first, last in zip(pieces, record.operands, odd, strict=True):
        np.testing.assert_array_equal(codes, np.concatenate([first, last]))


def test_records_that_contradict_each_other(tmp_path: Path) -> None:
    asked = op_case("arith.addi", "i8")
    a, b = np.array([1, 2, 3, 2], np.uint8), np.array([1, 2, 3, 2], np.uint8)
    right = a + b
    path = tmp_path / "results.npz"

    def total(*records: Record) -> Any:
        save_records(path, records, "mine", "1")
        return verify(asked, oracle(f"npz={path}"), 10).tally

    assert total(Record(asked, (a, b), (right,))).equal == 4
    found = total(Record(asked, (a, b), (right ^ np.array([0, 0, 0, 1], np.uint8),)))
    assert "element 1 of task 0 and element 3 of task 0 have the same operands" in found.failures[0]
    found = total(Record(asked, (a, b), (right,)), Record(asked, (a[2:3], b[2:3]), (right[:1],)))
    assert "garbage" in found.failures[0]
    assert "element 2 of task 0 and element 0 of task 1" in found.failures[0]
    poison = np.array([0, 0, 0, Status.POISON], np.uint8)
    assert total(Record(asked, (a, b), (right,), poison)).failures
    missing = np.array([0, Status.UNANSWERED, 0, 0], np.uint8)
    assert total(Record(asked, (a, b), (right ^ missing,), missing)).equal == 4


def test_tasks_that_are_none_are_garbage(tmp_path: Path) -> None:
    good = arrays_of(recorded(op_case("arith.addi", "i7")))
    header = good["header"].tobytes().decode()
    for spoilt in (
        ("arith.addi", "arith.nope"),
        ('"i7"', '"f32"'),
        ('"i7"', '"i"'),
        ('"properties": {}', '"properties": 3'),
    ):
        assert spoilt[0] in header
        path = tmp_path / "results.npz"
        np.savez_compressed(path, **good | {"header": np.frombuffer(header.replace(*spoilt).encode(), np.uint8)})
        found = oracle(f"npz={path}")
        assert isinstance(found, HoldingOracle)
        with pytest.raises(OracleError, match="garbage"):
            found.cases()


def test_a_file_cannot_hold_what_has_a_shape(tmp_path: Path) -> None:
    asked = op_case("quant.dcast", "!quant.uniform<i8:f32:0, {0.5, 0.25}>", "f32")
    path = tmp_path / "results.npz"
    save_records(path, [Record(asked, (np.zeros(2, np.uint8),), (np.zeros(2, np.uint32),))], "mine", "1")
    assert "no shapes" in (oracle(f"npz={path}").refuses(asked) or "")


class Bomb:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("a pickle was executed",)


def arrays_of(record: Record) -> dict[str, Any]:
    buffer = io.BytesIO()
    save_records(buffer, [record], "mine", "1")  # type: ignore[arg-type]
    buffer.seek(0)
    with np.load(buffer) as file:
        return dict(file)


def lone_array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    return buffer.getvalue()


def spoilt_files() -> dict[str, Any]:
    good = arrays_of(recorded(op_case("arith.addi", "i7")))
    text = good["header"].tobytes().decode()

    def with_header(header: str) -> dict[str, Any]:
        return good | {"header": np.frombuffer(header.encode(), np.uint8)}

    return {
        "empty": b"",
        "garbage": b"PK\x03\x04 and nothing more",
        "text": b"hello\n" * 100,
        "a lone array": lone_array(),
        "a pickle in place of an array": good | {"0/result0": np.array([Bomb()], object)},
        "a pickle in place of the header": good | {"header": np.array([Bomb()], object)},
        "no header": {name: array for name, array in good.items() if name != "header"},
        "no JSON": with_header("{"),
        "another version": with_header(text.replace('"version": 1', '"version": 2')),
        "no tasks": with_header('{"version": 1, "tool": "x", "tool_version": "y"}'),
        "tasks that are none": with_header('{"version": 1, "tool": "x", "tool_version": "y", "tasks": [3]}'),
        "deep nesting": with_header("[" * 100_000),
        "an array is missing": {name: array for name, array in good.items() if name != "0/result0"},
        "another dtype": good | {"0/result0": good["0/result0"].astype(np.uint16)},
        "another length": good | {"0/result0": good["0/result0"][:-1]},
        "another rank": good | {"0/result0": good["0/result0"].reshape(2, -1)},
        "codes too wide": good | {"0/result0": good["0/result0"] | np.uint8(0x80)},
        "a status that is none": good | {"0/status": np.full(500, 7, np.uint8)},
    }


SPOILT = spoilt_files()


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_files_are_failures(name: str, tmp_path: Path) -> None:
    path, content = tmp_path / "results.npz", SPOILT[name]
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez_compressed(path, **content)
    asked = op_case("arith.addi", "i7")
    total = check(oracle(f"npz={path}"), asked, every_input(asked))
    assert len(total.failures) == 1
    assert "garbage" in total.failures[0]
    assert (total.compared, total.unanswered) == (0, 1 << 14)


def test_truncated_files_are_failures(tmp_path: Path) -> None:
    record = recorded(op_case("arith.addi", "i7"))
    path = tmp_path / "results.npz"
    save_records(path, [record], "mine", "1")
    whole = path.read_bytes()
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        total = check(oracle(f"npz={path}"), record.case, record.operands)
        assert len(total.failures) == 1, size


def test_damaged_files_never_agree_by_accident(tmp_path: Path) -> None:
    record = recorded(op_case("arith.addi", "i7"))
    path = tmp_path / "results.npz"
    save_records(path, [record], "mine", "1")
    whole = path.read_bytes()
    for position in range(0, len(whole), 61):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        total = check(oracle(f"npz={path}"), record.case, record.operands)
        assert not total.unexplained  # a checksum tells, or the damage is where nothing is
        assert total.failures or total.equal == 500 or total.unanswered == 500, position


def test_a_file_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.npz"
    asked = op_case("arith.addi", "i7")
    save_records(path, [Record(asked, (np.zeros(100_000, np.uint8),) * 2, (np.zeros(100_000, np.uint8),))], "mine", "1")
    monkeypatch.setattr(vectorfile, "NPZ_BYTES", 40_000)
    assert path.stat().st_size < 40_000
    total = check(oracle(f"npz={path}"), asked, every_input(asked))
    assert "more than 40000" in total.failures[0]


@pytest.mark.parametrize("spelling", ["npz=no/such/file.npz", "npz=."])
def test_files_that_are_none(spelling: str) -> None:
    with pytest.raises(Unavailable):
        oracle(spelling)
