"""`vector.print` prints what mlir-runner 22 prints, and tells the listeners the values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Listener, Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value

RECORD = json.loads((Path(__file__).parents[3] / "data" / "printed.json").read_text(encoding="utf-8"))
ROWS: list[tuple[str, list[int], str, str]] = [tuple(row) for row in RECORD["rows"]]
# mlir-runner prints the NaN of f8E8M0FNU as inf (LLVM issue 214919).
NOT_INFINITE = 0xFF


class Printed(Listener):
    """The events of printing."""

    def __init__(self) -> None:
        self.events: list[tuple[str, tuple[Any, ...]]] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        self.events.append((text, tuple(values)))


def output_of(text: str, *arguments: Value, listener: Listener | None = None) -> str:
    """Run @f, and return what it prints."""
    module = hu.load(text)
    parts: list[str] = []
    settings = Settings(write=parts.append, listeners=() if listener is None else (listener,))
    function = module.lookup("f")
    assert function is not None
    program_for(module, settings).run(function, arguments)
    return "".join(parts)


def value(type_: str, codes: Sequence[int]) -> Value:
    parsed = as_type(type_)
    shape = tuple(size or 0 for size in ty.shape_of(parsed) or ())
    return Value(parsed, ints_to_codes(codes, width_of(ty.element_type(parsed)), shape))


def test_the_record_is_broad() -> None:
    elements = {type_.rpartition("x")[2].strip("<>").removeprefix("vector<") for type_, *_ in ROWS}
    assert len(ROWS) > 900
    assert len(elements) == 43
    assert sum(len(codes) for _, codes, *_ in ROWS) > 7000
    assert {mark for _, _, mark, _ in ROWS} == {"", "no_punctuation", "newline", "comma", "open", "close"}


@pytest.mark.parametrize("element", sorted({ty.element_type(as_type(type_)) for type_, *_ in ROWS}, key=str), ids=str)
def test_values_print_as_mlir_runner_prints_them(element: ty.Type) -> None:
    rows = [row for row in ROWS if ty.element_type(as_type(row[0])) == element]
    for type_, codes, mark, theirs in rows:
        punctuation = f" punctuation <{mark}>" if mark else ""
        program = f"func.func @f(%v: {type_}) {{\n  vector.print %v : {type_}{punctuation}\n  return\n}}"
        expected = theirs
        if str(element) == "f8E8M0FNU" and NOT_INFINITE in codes:
            assert "inf" in theirs
            expected = theirs.replace("inf", "nan")
        assert output_of(program, value(type_, codes)) == expected


# Types that mlir-runner cannot print are spelled alike.
@pytest.mark.parametrize(
    ("type_", "code", "text"),
    [
        ("i65", (1 << 65) - 1, "-1"),
        ("ui128", (1 << 128) - 1, "340282366920938463463374607431768211455"),
        ("tf32", 0x1FC00, "1"),
        ("f80", 0x3FFF8000000000000000, "1"),
        ("f80", 0x7FFEFFFFFFFFFFFFFFFF, "1.18973e+4932"),
        ("f80", 1, "3.6452e-4951"),
        ("f128", 0xBFFF << 112, "-1"),
        ("f128", 1, "6.47518e-4966"),
        ("f128", 0x7FFF8 << 108, "nan"),
    ],
)
def test_wider_types(type_: str, code: int, text: str) -> None:
    program = f"func.func @f(%v: {type_}) {{\n  vector.print %v : {type_}\n  return\n}}"
    assert output_of(program, value(type_, [code])) == f"{text}\n"


PIECES = """\
func.func @{}() {{
  vector.print str "a\\00b"
  vector.print str "x\\0A"
  vector.print punctuation <open>
  vector.print punctuation <comma>
  vector.print punctuation <close>
  vector.print punctuation <no_punctuation>
  vector.print
  vector.print punctuation <newline>
  %c = arith.constant -1 : index
  vector.print %c : index punctuation <no_punctuation>
  return
}}
"""
PRINTED = "ax\n( ,  )\n\n18446744073709551615"


def test_strings_and_punctuation() -> None:
    assert output_of(PIECES.format("f")) == PRINTED


@pytest.mark.mlir
def test_mlir_runner_prints_the_same() -> None:
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    lowered = optimizer.run([f"--pass-pipeline={RECORD['pipeline']}"], PIECES.format("main"))
    options = ["-e", "main", "--entry-point-result=void", f"--shared-libs={library(runner, UTILITIES)}"]
    assert runner.run(options, lowered) == PRINTED


def test_listeners_get_the_values() -> None:
    listener = Printed()
    program = (
        "func.func @f(%v: vector<2xi8>, %x: i1) {\n  vector.print %v : vector<2xi8> punctuation <comma>\n"
        '  vector.print %x : i1\n  vector.print str "end"\n  return\n}'
    )
    vector, flag = value("vector<2xi8>", [1, 255]), value("i1", [1])
    assert output_of(program, vector, flag, listener=listener) == "( 1, -1 ), 1\nend"
    assert listener.events == [("( 1, -1 ), ", (vector,)), ("1\n", (flag,)), ("end", ())]


def test_poison_is_named() -> None:
    program = (
        "func.func @f(%v: vector<2xi8>) {\n  %c = arith.constant dense<[8, 1]> : vector<2xi8>\n"
        "  %s = arith.shli %v, %c : vector<2xi8>\n  vector.print %s : vector<2xi8>\n  return\n}"
    )
    assert output_of(program, value("vector<2xi8>", [1, 1])) == "( poison, 2 )\n"


def test_every_lane_prints(capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        'func.func @f(%v: i8, %x: i8) {\n  vector.print str "<"\n  vector.print %v : i8 punctuation <comma>\n'
        "  vector.print %x : i8\n  return\n}"
    )
    hu.run(program, np.array([1, 2], np.int8), np.int8(5), batch=True)
    assert capsys.readouterr().out == "<<1, 2, 5\n5\n"
