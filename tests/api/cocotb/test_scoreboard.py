"""The reference and the scoreboard without a simulator: batches, don't-care bits, X, faults that are named, coverage."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from planted_devices import simulated
from tables import each_row
from tree import ROOT

import halfulp as hu
from halfulp.cocotb import Reference, Scoreboard

PRODUCT = Reference("arith.mulf", "bf16")


class Bits:
    """The value of a signal: bits of 0, 1, X and Z, as cocotb has them."""

    def __init__(self, bits: str) -> None:
        self.bits = bits

    def __int__(self) -> int:
        if set(self.bits) - set("01"):
            raise ValueError("not 0 and 1 alone")
        return int(self.bits, 2)

    def __str__(self) -> str:
        return self.bits


def played(
    reference: Reference,
    change: Callable[[dict[str, int], dict[str, int]], dict[str, int]] = lambda given, made: made,
    rows: int = 400,
    **options: Any,
) -> Scoreboard:
    """Return the board after a run of a device whose results are changed ones."""
    board = Scoreboard(reference, **options)
    for given in reference.stimulus("weighted", n=rows, seed=2):
        made = reference.predict(**given)
        board.sent(**given)
        board.received(**change(given, {name: made[name] for name in ("result", "flags") if name in made}))
    return board


# --- the reference ----------------------------------------------------------------------------------------------------


def test_predictions() -> None:
    """1.5 * 1.5 = 2.25 in bf16; 1.0 + 2^-8 is a tie, and goes to 1.0."""
    assert PRODUCT.inputs == ("a", "b")
    assert PRODUCT.outputs == ("result", "flags")
    assert PRODUCT.predict(0x3FC0, 0x3FC0) == {"result": 0x4010, "flags": 0}
    assert PRODUCT.predict(0x3FC0, b=0x3FC0) == PRODUCT.predict(b=0x3FC0, a=0x3FC0)
    sums = Reference("arith.addf", "bf16")
    assert sums.predict(0x3F80, 0x3B80) == {"result": 0x3F80, "flags": 1}
    assert Reference("arith.addf", "bf16", rounding="upward").predict(0x3F80, 0x3B80)["result"] == 0x3F81
    assert sums.predict_rows([(0x3F80, 0x3B80), (0, 0)]) == [{"result": 0x3F80, "flags": 1}, {"result": 0, "flags": 0}]
    assert sums.predict_rows([]) == []


def test_programs_are_references_too() -> None:
    reference = Reference("func.func @f(%x: i8, %y: i8) -> i8 { %0 = arith.addi %x, %y : i8 return %0 : i8 }")
    assert reference.predict(0xFF, 3) == {"result": 2, "poison": 0}
    assert played(reference).check().equal


@each_row(
    ((1,), {}, "'b' is missing: the inputs are a, b"),
    ((1,), {"c": 2}, "'b' is missing"),
    ((1, 2), {"a": 3}, "'a' is not one, or is given twice"),
    ((1, 2, 3), {}, "too many are given"),
    ((1, 0x10000), {}, "'b' has 16 bits, but the code 0x10000 is given"),
    ((-1, 0), {}, "'a' has 16 bits"),
)
def test_wrong_operands(codes: tuple[int, ...], named: dict[str, int], message: str) -> None:
    with pytest.raises(hu.errors.InputError, match=message):
        PRODUCT.predict(*codes, **named)


def test_undefined_behaviour_has_no_prediction() -> None:
    division = Reference("arith.divsi", "i8")
    with pytest.raises(hu.errors.InputError, match="a=0x7, b=0x0: the behaviour is undefined"):
        division.predict(7, 0)
    with pytest.raises(hu.errors.InputError, match="a=0x80, b=0xff: the behaviour is undefined"):
        division.predict_rows([(7, 1), (0x80, 0xFF)])
    assert Reference("arith.divsi", "i8", keep_ub=True).predict(7, 0)["poison"] == 1


def test_stimulus_is_that_of_the_vectors() -> None:
    vectors = hu.vectors("arith.mulf", "bf16", models=["B3"], level="random", n=9, seed=4)
    codes = vectors.columns_as_codes
    found = list(PRODUCT.stimulus("random", ["B3"], n=9, seed=4))
    assert [row["b"] for row in found] == codes["b"].tolist()
    stochastic = Reference("arith.truncf", "f32", to="f8E4M3FN", rounding="stochastic", random_bits=8)
    assert {"a", "random"} == set(next(stochastic.stimulus("random", n=1)))
    own = list(PRODUCT.stimulus(operands="normal@50,B3@50", n=20))
    assert len(own) == 20
    assert own == list(PRODUCT.stimulus(operands="normal@50,B3@50", n=20))


# --- the scoreboard ---------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"batch": 1}, {"batch": 7}, {"immediate": True}])
def test_a_right_device_passes(options: dict[str, Any]) -> None:
    for reference in (
        PRODUCT,
        Reference("arith.fptosi", "f16", to="i8"),
        Reference("arith.truncf", "f32", to="f8E4M3FN", rounding="stochastic"),
    ):
        report = played(reference, **options).check()
        assert (report.equal, report.rows) == (True, 400)


def test_a_planted_fault_is_named() -> None:
    cut = Reference("arith.mulf", "bf16", rounding="toward_zero")
    with pytest.raises(AssertionError, match="are what rounding=toward_zero gives") as told:
        played(PRODUCT, lambda given, made: {"result": cut.predict(**given)["result"]}, name="unit").check()
    assert "unit: row " in str(told.value)
    assert "expected " in str(told.value)
    report = played(PRODUCT, lambda given, made: {**made, "flags": made["flags"] & 0x1D}).report()
    assert report.cause == "the flag underflow never raised"


def test_late_results_are_named() -> None:
    board = Scoreboard(PRODUCT)
    before = {"result": 0, "flags": 0}
    for given in PRODUCT.stimulus("weighted", n=500):
        board.sent(**given)
        board.received(**before)
        before = PRODUCT.predict(**given)
    assert board.report().cause == "results 1 row late"


def test_immediate_comparison_stops_at_the_transaction() -> None:
    count = 0

    def change(given: dict[str, int], made: dict[str, int]) -> dict[str, int]:
        nonlocal count
        count += 1
        return {**made, "result": made["result"] ^ (count == 100)}

    with pytest.raises(AssertionError, match="device: row 99: arith.mulf bf16"):
        played(PRODUCT, change, immediate=True)
    assert count == 100


def test_what_does_not_count() -> None:
    """Poison may be any value, or X; so may the open sign of a zero, but no other bit of it."""
    integers = Reference("arith.fptosi", "f16", to="i8")

    def junk(given: dict[str, int], made: dict[str, int]) -> dict[str, object]:
        return {"result": Bits("X" * 8)} if integers.predict(**given)["poison"] else {"result": made["result"]}

    for immediate in (False, True):
        assert played(integers, junk, immediate=immediate).check().equal  # type: ignore[arg-type]
    zeros = Reference("arith.addf", "f8E4M3FN", fastmath="nsz")
    for bits, right in (("X0000000", True), ("10000000", True), ("0X000000", False), ("00000001", False)):
        board = Scoreboard(zeros)
        board.sent(0x38, 0xB8)  # 1 - 1
        board.received(result=Bits(bits))
        assert board.report().equal == right, bits


def test_an_x_that_counts_is_a_difference() -> None:
    board = Scoreboard(PRODUCT)
    board.sent(0x3FC0, 0x3FC0)
    board.received(result=Bits("01000000000X0000"), flags=0)
    report = board.report()
    assert (report.differing, report.found.unknown) == (1, 1)
    assert "0b01000000000X0000" in str(report)
    immediate = Scoreboard(PRODUCT, immediate=True)
    immediate.sent(0x3FC0, 0x3FC0)
    with pytest.raises(AssertionError, match="unknown digits"):
        immediate.received(result=Bits("Z" * 16))
    with pytest.raises(hu.errors.InputError, match="transaction 1: the operand 'b' is 0bX"):
        immediate.sent(0, Bits("X" * 16))


def test_missing_and_unexpected_results() -> None:
    board = Scoreboard(PRODUCT)
    with pytest.raises(AssertionError, match="there was no transaction"):
        board.check()
    board.sent(0, 0)
    with pytest.raises(AssertionError, match="1 transactions have no results"):
        board.check()
    board.received(0, 0)
    assert board.check().equal
    with pytest.raises(AssertionError, match="results came without a transaction, after 1 transactions"):
        board.received(0, 0)
    with pytest.raises(AssertionError, match="results came without a transaction"):
        board.check()


def test_a_reset_drops_what_waits() -> None:
    board = Scoreboard(PRODUCT)
    board.sent(1, 2)
    board.drop_waiting()
    board.sent(0x3FC0, 0x3FC0)
    board.received(flags=0, result=0x4010)
    board.sent(0x3FC0, 0x3FC0)
    board.received(0x4010, 0)
    assert board.check().rows == 2


@each_row(
    ({"sum": 1}, None, "there is no output 'sum': name one or more of result, flags"),
    ({}, None, "no outputs are given"),
    ({"result": 1}, {"result": 1, "flags": 0}, "give the same outputs each time"),
    ({"result": -1}, None, "-1 is negative"),
    ({"result": "what"}, None, "'what' is not the value of a signal"),
    ({"result": None}, None, "give signal.value"),
)
def test_wrong_results(first: dict[str, object], second: dict[str, object] | None, message: str) -> None:
    board = Scoreboard(PRODUCT)
    board.sent(0, 0)
    board.sent(0, 0)
    if second is not None:
        board.received(**first)
    with pytest.raises(hu.errors.InputError, match=message):
        board.received(**(second or first))


def test_results_of_too_many_bits() -> None:
    board = Scoreboard(PRODUCT, batch=1)
    board.sent(0, 0)
    with pytest.raises(hu.errors.InputError, match="the result 0x20 does not fit in the 5 bits of 'flags'"):
        board.received(result=0, flags=0x20)


def test_coverage_of_a_run() -> None:
    board = Scoreboard(PRODUCT, models="B3,B7")
    for given in list(PRODUCT.stimulus(models=["B3"]))[:4]:
        board.sent(**given)
        board.received(**PRODUCT.predict(**given))
    (rounding, _) = board.coverage.models
    assert 0 < len(rounding.hit) < 16
    for given in PRODUCT.stimulus(models=["B3", "B7"]):
        board.sent(**given)
        board.received(**PRODUCT.predict(**given))
    assert board.coverage.complete
    assert board.check().equal
    with pytest.raises(hu.errors.InputError, match="the scoreboard has no models"):
        _ = Scoreboard(PRODUCT).coverage
    with pytest.raises(hu.errors.InputError, match="F1 does not apply"):
        Scoreboard(PRODUCT, models=["F1"])


def test_quantised_types_come_in_whole_groups() -> None:
    reference = Reference("quant.qcast", "f32", to="!quant.uniform<i8:f32:0, {0.5, 2.0, 4.0}>")
    for batch in (1, 4, 6):
        board = Scoreboard(reference, batch=batch)
        rows = list(reference.stimulus("random", n=12))
        for given, made in zip(rows, reference.predict_rows([tuple(row.values()) for row in rows]), strict=True):
            board.sent(**given)
            board.received(result=made["result"])
        assert board.check().rows == 12


@pytest.mark.long
def test_the_package_does_not_load_cocotb() -> None:
    script = "import sys, halfulp.cocotb; print('cocotb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# --- in a simulator ---------------------------------------------------------------------------------------------------

pytestmark = pytest.mark.cocotb

HERE = Path(__file__).parent


def test_the_scoreboard_at_signals(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "rtl" / "f8_add.sv", tmp_path)
    shutil.copy(HERE / "delayed.sv", tmp_path)
    shutil.copy(HERE / "bench_of_delayed.py", tmp_path / "test_delayed.py")
    log, code = simulated(tmp_path, "delayed")
    expected = len(re.findall(r"@cocotb\.test", (HERE / "bench_of_delayed.py").read_text()))
    assert f"TESTS={expected} PASS={expected} FAIL=0" in log, log
    assert code == 0
