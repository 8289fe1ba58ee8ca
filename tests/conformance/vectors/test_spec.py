"""Recipes as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sweeps import PINNED, RECIPES, op

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.recipe import Recipe, recipe_of_spec
from halfulp.conformance.vectors.shards.directory import SweepPlan
from halfulp.interp.ir.errors import HalfulpError, InputError


def spec(data: Any, file: str = "spec.json") -> Recipe:
    recipe = recipe_of_spec(json.dumps(data), file)
    _ = recipe.rows
    return recipe


ADD = {"op": "arith.addf", "operands": "f8E4M3FN"}


def test_what_a_file_may_leave_out() -> None:
    assert spec({"source": ADD}) == Recipe(op("addf", "f8E4M3FN"), "1")
    cast = {"op": "arith.truncf", "operands": ["f32"], "results": "f8E5M2", "properties": {"rounding": "upward"}}
    recipe = spec({"source": cast, "profile": "ocp-saturate", "inputs": {"models": ["B3"], "options": {"flags": True}}})
    assert isinstance(recipe.computation, OpComputation)
    assert recipe.computation.case == op_case("arith.truncf", "f32", "f8E5M2", rounding="upward")
    assert (recipe.computation.flags, recipe.computation.profile.name) == (True, "ocp-saturate")
    assert (recipe.level, recipe.models, recipe.seed) == (None, ("B3",), 0)
    recipe = spec({"source": ADD, "inputs": {"level": "random", "seed": 9, "options": {"count": 10}}})
    assert (recipe.level, recipe.seed, recipe.count) == ("random", 9, 10)


@pytest.mark.parametrize("name", PINNED)
def test_a_layout_makes_the_same_recipe(name: str) -> None:
    assert spec(SweepPlan(RECIPES[name], shard_rows=1024).to_json()) == RECIPES[name]


def test_a_program_beside_the_file(tmp_path: Path) -> None:
    text = "func.func @f(%a: f16) -> f16 {\n  %r = arith.negf %a : f16\n  return %r : f16\n}\n"
    (tmp_path / "f.mlir").write_text(text)
    data = {"source": {"program": "f.mlir", "function": "f"}, "inputs": {"level": "exhaustive"}}
    assert spec(data, str(tmp_path / "spec.json")).computation == ProgramComputation(text, "f", "f.mlir")
    with pytest.raises(InputError, match=r"cannot read '.*g.mlir'"):
        spec({"source": {"program": "g.mlir", "function": "f"}}, str(tmp_path / "spec.json"))
    (tmp_path / "f.mlir").write_bytes(b"ML\xefR")
    with pytest.raises(InputError, match="not MLIR text"):
        spec(data, str(tmp_path / "spec.json"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "spec.json is not a JSON object"),
        ({}, "'source' must name an 'op', a 'program' or a 'tile'"),
        ({"source": "arith.addf"}, "'source' must be an object"),
        ({"source": ADD, "input": {}}, "unknown 'input'\nhint: did you mean `inputs`"),
        ({"source": {**ADD, "operand": "f16"}}, "unknown 'operand' in the source of an op"),
        ({"source": {"op": "arith.addf"}}, "'operands' must give the types"),
        ({"source": {"op": "arith.addf", "operands": []}}, "'operands' must be a type, or a list"),
        ({"source": {"op": "arith.adf", "operands": "f16"}}, "arith.adf"),
        ({"source": {"op": "arith.addf", "operands": "f17"}}, "spec.json: 'f17' is not a type"),
        ({"source": {**ADD, "results": ["f32"]}}, "spec.json: 'arith.addf' op requires the same type"),
        ({"source": {**ADD, "random_bits": 65}}, "'random_bits' must be an integer from 1 to 64"),
        ({"source": {"program": "f.mlir"}}, "'function' must name"),
        ({"source": ADD, "profile": "amr"}, "spec.json: .*amr"),
        ({"source": ADD, "profile": {"name": "spec", "fields": {"tinyness": "after"}}}, "tinyness"),
        ({"source": ADD, "inputs": {"level": 1}}, "'level' must be one of 1, 2, exhaustive"),
        ({"source": ADD, "inputs": {"level": "models"}}, "."),
        ({"source": ADD, "inputs": {"seed": -1}}, "'seed' must be an integer"),
        ({"source": ADD, "inputs": {"seed": True}}, "'seed' must be an integer"),
        ({"source": ADD, "inputs": {"options": {"count": 0}}}, "'count' must be a positive integer"),
        ({"source": ADD, "inputs": {"options": {"flags": 1}}}, "'flags' must be true or false"),
        ({"source": ADD, "inputs": {"options": {"n": 1}}}, "unknown 'n' in the options"),
        ({"source": ADD, "schema_version": 99}, "version 99 of the metadata"),
    ],
)
def test_files_that_are_no_recipe(data: Any, message: str) -> None:
    with pytest.raises((HalfulpError, ValueError), match=message) as caught:
        spec(data)
    assert not isinstance(caught.value, KeyError)


def test_text_that_is_no_recipe() -> None:
    for text in ("", "{", b"\xff", "[" * 100_000):
        with pytest.raises(InputError, match="spec.json is not JSON"):
            recipe_of_spec(text, "spec.json")
