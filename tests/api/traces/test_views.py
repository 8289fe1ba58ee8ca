"""Traces as files of other viewers: their fields by the documents, and their contents by hand."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command import halfulp

import halfulp as hu

PROGRAM = """\
func.func private @sum(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {
  %s = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %k, %w = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %p = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %m = stablehlo.subtract %i, %one : tensor<i32>
      %t = stablehlo.multiply %v, %v : tensor<4xf32>
      stablehlo.return %m, %t : tensor<i32>, tensor<4xf32>
    }
  %s = func.call @sum(%w, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
"""
"""The adapter of Model Explorer (0.2.1) numbers the nodes of @main: 0, 1; while 2, inside of it 3 to 8; call 9; return 10.
Those of @sum: reduce 0, its add 1 and return 2; return 3.
"""

NUMBER = {"type": "number"}
NODE_DATA = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "results": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {"value": NUMBER, "bgColor": {"type": "string"}, "textColor": {"type": "string"}},
                    "required": ["value"],
                    "additionalProperties": False,
                },
            },
            "name": {"type": "string"},
            "thresholds": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"value": NUMBER, "bgColor": {"type": "string"}, "textColor": {"type": "string"}},
                    "required": ["value", "bgColor"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["results"],
        "additionalProperties": False,
    },
}
"""ModelNodeData of model_explorer/node_data_builder.py, without the fields that hide columns."""

COMMON = {"name": {"type": "string"}, "ts": NUMBER, "pid": {"type": "integer"}, "tid": {"type": "integer"}}


def phase(of: str, required: tuple[str, ...], **more: Any) -> dict[str, Any]:
    properties = {**COMMON, "ph": {"const": of}, **more}
    return {"properties": properties, "required": [*COMMON, "ph", *required], "additionalProperties": False}


TRACE_EVENTS = {
    "type": "object",
    "properties": {
        "traceEvents": {
            "type": "array",
            "items": {
                "oneOf": [
                    phase("X", ("dur",), dur=NUMBER, cat={"type": "string"}, args={"type": "object"}),
                    phase("i", ("s",), s={"enum": ["g", "p", "t"]}),
                    phase("C", ("args",), args={"type": "object", "additionalProperties": NUMBER}),
                    phase("M", ("args",), args={"type": "object", "required": ["name"]}),
                ]
            },
        },
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
    },
    "required": ["traceEvents"],
    "additionalProperties": False,
}
"""The document Trace Event Format: the object of JSON, and the events of complete slices, moments, counters and names."""


def checked(text: str, schema: dict[str, Any]) -> Any:
    found = json.loads(text)
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


def test_node_data_of_a_program() -> None:
    # 4097^2 = 2^24 + 2^13 + 1 loses 1, where an ulp is 2; 3 and 1 are exact. The sum adds 10, which is a tie with what
    # was lost: 2^24 + 2^13 + 9 + 1 + 1 is 1 from its result.
    x = np.array([4097, 3, 1, 0], np.float32)
    traced = hu.trace(PROGRAM, x, np.int32(1), function="main", shadow=True)
    found = checked(traced.node_data(), NODE_DATA)
    values = {name: {node: each["value"] for node, each in data["results"].items()} for name, data in found.items()}
    assert values["main"] == {"7": 0.5}
    assert set(values["sum"]) == {"0", "1"}
    assert values["sum"]["0"] == values["sum"]["1"] == traced.errors.ops[-1].total_ulp  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="shadow=True"):
        hu.trace(PROGRAM, x, np.int32(1), function="main").node_data()


def test_an_overflow_has_a_number() -> None:
    program = "func.func @f(%x: f32) -> f32 {\n  %0 = arith.mulf %x, %x : f32\n  return %0 : f32\n}"
    data = checked(hu.trace(program, 2.0**100, shadow=True).node_data(), NODE_DATA)
    assert data["f"]["results"] == {"0": {"value": sys.float_info.max}}
    checked(hu.trace(program, 2.0**100, shadow=True).perfetto(), TRACE_EVENTS)


def test_events_of_a_program() -> None:
    found = checked(
        hu.trace(PROGRAM, np.array([1, 2, 3, 4], np.float32), np.int32(2), function="main").perfetto(), TRACE_EVENTS
    )
    slices = [each for each in found["traceEvents"] if each["ph"] == "X"]
    assert [each["name"] for each in found["traceEvents"] if each["ph"] == "M"] == ["process_name", "thread_name"]
    spans = {each["name"]: (each["ts"], each["ts"] + each["dur"]) for each in slices}
    inside = {
        name: [each["name"] for each in slices if begin < each["ts"] < end] for name, (begin, end) in spans.items()
    }
    assert inside["func.call"] == ["stablehlo.reduce", "func.return"]
    assert inside["stablehlo.while"].count("stablehlo.multiply") == 2
    assert inside["stablehlo.multiply"] == []
    # Slices of one thread lie inside or beside each other.
    places = [(each["ts"], each["ts"] + each["dur"]) for each in slices]
    assert not [1 for a, b in places for c, d in places if a < c < b < d]
    call = next(each for each in slices if each["name"] == "func.call")
    assert call["args"]["result %s"] == "f32=354"
    assert call["args"]["goes to"] == "@sum"


def test_steps_that_were_not_kept_are_named() -> None:
    program = """
    func.func private @g(%x: f32) -> f32 {
      %y = arith.addf %x, %x : f32
      return %y : f32
    }
    func.func @main(%x: f32, %n: index) -> f32 {
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c1 to %n step %c1 iter_args(%a = %x) -> f32 {
        %z = func.call @g(%a) : (f32) -> f32
        scf.yield %z : f32
      }
      return %r : f32
    }"""
    for count in range(4, 60, 5):
        traced = hu.trace(program, 1.0, 21, function="main", n=count)
        found = checked(traced.perfetto(), TRACE_EVENTS)["traceEvents"]
        (moment,) = [each for each in found if each["ph"] == "i"]
        assert moment["name"] == f"{traced.rows - len(traced.steps)} steps left out"
        # The results of a call are those of its own operand.
        for each in found:
            if each["name"] == "func.call" and {"operand %a", "result %z"} <= {*each["args"]}:
                values = [float(each["args"][name].partition("=")[2]) for name in ("operand %a", "result %z")]
                assert values[1] == 2 * values[0]


def test_poison_and_undefined_behaviour_are_events() -> None:
    poison = "func.func @f(%x: i8) -> i8 {\n  %0 = arith.addi %x, %x overflow<nsw> : i8\n  return %0 : i8\n}"
    found = checked(hu.trace(poison, 100).perfetto(), TRACE_EVENTS)
    assert [each["name"] for each in found["traceEvents"] if each["ph"] == "i"] == ["poison: signed overflow with nsw"]
    divide = "func.func @f(%x: i8, %y: i8) -> i8 {\n  %0 = arith.divsi %x, %y : i8\n  return %0 : i8\n}"
    stopped = checked(hu.trace(divide, 1, 0).perfetto(), TRACE_EVENTS)
    assert "division by zero" in stopped["traceEvents"][-1]["args"]["undefined behaviour"]


def test_files_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(PROGRAM)
    run = ("run", "--trace", "f.mlir", "--function=main", "--input=1 2 3 4", "--input=1")
    done = halfulp(*run, "--shadow", "--node-data=n.json", "--perfetto=t.json")
    assert (done.code, done.out) == (0, "result[0]: f32=30\n")
    checked(Path("n.json").read_text(), NODE_DATA)
    checked(Path("t.json").read_text(), TRACE_EVENTS)
    wrong = halfulp(*run, "--node-data=m.json")
    assert (wrong.code, wrong.err) == (2, "error: --node-data has the errors of ops\nhint: give --shadow, too\n")
    assert not Path("m.json").exists()
