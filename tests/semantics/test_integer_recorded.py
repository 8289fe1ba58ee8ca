"""The integer kernels against what mlir-opt-22 folded the same ops to (tests/data/record_arith_int.py says how).

Where the reference has a value, the tool must have given the same bits or no answer. Where it has none (poison,
undefined behaviour) the tool may do anything; what it does is predicted all the same, so that nothing goes by unseen.
"""

import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from present import present
from tree import ROOT

from halfulp.semantics import integer
from halfulp.semantics.kernel import Kernel

DATA = ROOT / "tests" / "data"


def load_recorder() -> ModuleType:
    spec = present(importlib.util.spec_from_file_location("record_arith_int", DATA / "record_arith_int.py"))
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up
    spec.loader.exec_module(module)
    return module


recorder = load_recorder()


@dataclass
class Recorded:
    """One entry of the recorded file beside the reference's outcome for the same operands."""

    op: str
    flags: tuple[str, ...]
    widths: tuple[int, ...]
    operands: list[np.ndarray]
    answers: list[np.ndarray]
    answered: np.ndarray

    def kernel(self, flags: tuple[str, ...]) -> Kernel:
        if self.op == "cmpi":
            return integer.cmpi(self.widths[0], int(self.flags[0]))
        kernel: Kernel = getattr(integer, self.op)(*self.widths, **dict.fromkeys(flags, True))
        return kernel


def arrays_of(entry: Any, index: dict[str, Any], arrays: Any) -> tuple[list[np.ndarray], np.ndarray]:
    answers = [arrays[name] for name in index[entry.name]["results"]]
    answered = np.ones(entry.size, np.bool_)
    for name in index[entry.name].get("unanswered", ()):
        answered = np.unpackbits(arrays[name])[: entry.size] == 0
    return answers, answered


@pytest.fixture(scope="module")
def recorded() -> list[Recorded]:
    metadata = json.loads((DATA / "arith_int.json").read_text())
    assert metadata["tool"].startswith("LLVM version 22.")
    assert metadata["command"] == " ".join(recorder.COMMAND)
    found = []
    with np.load(DATA / "arith_int.npz") as arrays:
        wanted = recorder.entries()
        assert [entry.name for entry in wanted] == list(metadata["entries"])
        for entry in wanted:
            name, *types = entry.name.split(".")
            op, *flags = name.split("-")
            widths = tuple(recorder.INDEX if kind == "index" else int(kind[1:]) for kind in types)
            operands = [codes for _, codes in entry.sources]
            found.append(Recorded(op, tuple(flags), widths, operands, *arrays_of(entry, metadata["entries"], arrays)))
    return found


def missing(item: Recorded) -> Iterator[tuple[str, np.ndarray]]:
    """For each reason, the elements to which the reference gives no value for that reason."""
    seen = np.zeros(item.answered.size, np.bool_)
    for fault, mask in item.kernel(item.flags).array(*item.operands).faults:
        yield fault.reason, mask & ~seen
        seen |= mask


COMPARED = 2_247_113
# ceildivsi with the minimum value on either side, except x / 1 and 0 / x: 2 * 2**width - 5 pairs at widths 2, 3, 4, 8.
UNANSWERED = {"ceildivsi": 3 + 11 + 27 + 507}


def test_equal_bits_wherever_the_reference_has_a_value(recorded: list[Recorded]) -> None:
    compared, unanswered = 0, Counter[str]()
    for item in recorded:
        outcome = item.kernel(item.flags).array(*item.operands)
        valued = ~np.logical_or.reduce([np.zeros_like(item.answered), *(mask for _, mask in outcome.faults)])
        both = valued & item.answered
        for result, answer in zip(outcome.results, item.answers, strict=True):
            assert result.dtype == answer.dtype
            wrong = np.flatnonzero(both & (result != answer))
            assert not wrong.size, (item.op, item.flags, item.widths, [codes[wrong[:5]] for codes in item.operands])
        compared += int(both.sum())
        unanswered[item.op] += int((valued & ~item.answered).sum())
    assert compared == COMPARED
    assert {op: count for op, count in unanswered.items() if count} == UNANSWERED


def without_flags(item: Recorded) -> list[np.ndarray]:
    return list(item.kernel(()).array(*item.operands).results)


def dividend(item: Recorded) -> list[np.ndarray]:
    return item.operands[:1]


NSW, NUW = integer.SIGNED_OVERFLOW.reason, integer.UNSIGNED_OVERFLOW.reason
TOO_FAR, SHIFTED_OUT = integer.SHIFT_TOO_FAR.reason, integer.INEXACT_SHIFT.reason
BY_ZERO, REMAINDER = integer.DIVISION_BY_ZERO.reason, integer.INEXACT_DIVISION.reason
OVERFLOW = integer.DIVISION_OVERFLOW.reason
# What the tool gives where the reference gives poison or undefined behaviour: by op and reason, the elements the
# reference leaves without a value, how many of them the tool answers, and with what.
WITHOUT_VALUE: dict[tuple[str, str], tuple[int, int, Callable[[Recorded], list[np.ndarray]] | None]] = {
    ("addi", NSW): (32_938, 32_938, without_flags),
    ("addi", NUW): (57_284, 57_284, without_flags),
    ("subi", NSW): (32_938, 32_938, without_flags),
    ("subi", NUW): (57_284, 57_284, without_flags),
    ("muli", NSW): (125_294, 125_294, without_flags),
    ("muli", NUW): (65_504, 65_504, without_flags),
    ("shli", NSW): (3_168, 3_168, without_flags),
    ("shli", NUW): (1_722, 1_722, without_flags),
    ("shli", TOO_FAR): (254_920, 0, None),
    ("shrsi", TOO_FAR): (127_460, 0, None),
    ("shrui", TOO_FAR): (127_460, 0, None),
    ("shrsi", SHIFTED_OUT): (1_584, 1_584, without_flags),
    ("shrui", SHIFTED_OUT): (1_584, 1_584, without_flags),
    ("divsi", REMAINDER): (62_642, 62_642, without_flags),
    ("divui", REMAINDER): (63_785, 63_785, without_flags),
    ("divsi", BY_ZERO): (572, 0, None),
    ("divui", BY_ZERO): (572, 0, None),
    ("ceildivsi", BY_ZERO): (286, 0, None),
    ("ceildivui", BY_ZERO): (286, 0, None),
    ("remsi", BY_ZERO): (286, 0, None),
    ("remui", BY_ZERO): (286, 0, None),
    ("floordivsi", BY_ZERO): (286, 284, dividend),  # x / 0 -> x, except at width 1
    ("floordivsi", OVERFLOW): (5, 5, dividend),
    ("divsi", OVERFLOW): (10, 2, dividend),  # at width 1 only: true / true -> true
    ("ceildivsi", OVERFLOW): (5, 1, dividend),  # at width 1 only: true / true -> true
    ("trunci", NSW): (2_080, 2_080, without_flags),
    ("trunci", NUW): (1_066, 1_066, without_flags),
}


def test_what_the_tool_gives_where_the_reference_has_no_value_is_predicted(recorded: list[Recorded]) -> None:
    elements, answered = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for item in recorded:
        for reason, mask in missing(item):
            row = item.op, reason
            both = mask & item.answered
            elements[row] += int(mask.sum())
            answered[row] += int(both.sum())
            _, _, predict = WITHOUT_VALUE[row]
            if predict is not None:
                for expected, answer in zip(predict(item), item.answers, strict=True):
                    assert (expected[both] == answer[both]).all(), row
    assert {row: (elements[row], answered[row]) for row in elements} == {
        row: (left, given) for row, (left, given, _) in WITHOUT_VALUE.items()
    }


@pytest.mark.mlir
def test_recording_again_gives_the_recorded_file(recorded: list[Recorded]) -> None:
    sample = [(entry, item) for entry, item in zip(recorder.entries(), recorded, strict=True) if entry.size <= 256]
    recorder.record([entry for entry, _ in sample])
    assert len(sample) > 100
    for entry, item in sample:
        assert (entry.answered == item.answered).all(), entry.name
        for fresh, stored in zip(entry.answers, item.answers, strict=True):
            assert (fresh == stored).all(), entry.name
