"""The metadata of a set of vectors: its schema, its text, its anchors, and its page of the documentation."""

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tree import ROOT
from vector_files import (
    ADDF,
    FPTOSI,
    MARKED_ROWS,
    PINNED,
    RECIPES,
    SUMS,
    WIDE,
    chunk_of,
    op,
    random_chunk,
    split,
    text_of,
)

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Column, Digest, Role, VectorSet
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.formats import format_named, write_vectors
from halfulp.conformance.vectors.packing import CONTAINERS, FORMAT_NAMES, Blocks, Packing
from halfulp.conformance.vectors.recipe import Recipe, recipe_of_spec
from halfulp.conformance.vectors.shards.directory import SweepPlan
from halfulp.golden.vectors import Vectors
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.semantics.profile import Profile


def documented(name: str = "testfloat", **more: Any) -> metadata.Document:
    anchors = metadata.Anchors(ADDF)
    chunk = chunk_of(ADDF, [(0, 0x80, 0, 0), *SUMS, (0x3B, 0x41, 0x46, 1), (0xFF, 0, 0xFF, 0)])
    told = write_vectors(VectorSet(ADDF, anchors.watch(split(chunk, [2]))), io.BytesIO(), name)
    addf = op_case("arith.addf", "f8E4M3FN")
    arguments: dict[str, Any] = {
        "anchors": anchors.rows(), **more,
    }  # fmt: skip
    return metadata.document(
        told,
        [metadata.VectorFile(name, "addf.tv")],
        OpComputation(addf),
        {"level": "1"},
        **arguments,
    )


def test_documents_are_valid_and_the_schema_is() -> None:
    jsonschema.Draft202012Validator.check_schema(metadata.schema())
    check = jsonschema.Draft202012Validator(metadata.schema()).validate
    check(documented())
    packed = metadata.VectorFile("bin", None, Packing(True))
    full = documented(
        any_nan=True,
        blocks=Blocks("a", "b"),
        unmarked="drop",
    )
    full |= {"created": "2025-01-01", "shard": {"index": 3, "of": 256, "rows": [3 << 24, 4 << 24]}}
    full["files"].append(packed.to_json())
    full["inputs"] = {
        "level": "models",
        "models": ["B1", "B29"],
        "seed": 7,
        "counter": [0, 512],
        "options": {"depth": 2},
    }
    check(full)
    for name, columns in (("readmemh", FPTOSI), ("npz", WIDE)):
        told = write_vectors(VectorSet(columns, [random_chunk(columns, 3)]), io.BytesIO(), name)
        document = metadata.document(
            told, [metadata.VectorFile(name)],
            OpComputation(op_case("arith.fptosi", "f16", "i12"), Profile(base="ml_dtypes")),
            {"level": "random", "seed": 1},
        )  # fmt: skip
        check(document)
        assert document["poison"]["encoding"] == {"readmemh": "columns and X digits", "npz": "columns"}[name]


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema_version": 2}, {"count": -1}, {"sha256": "0"}, {"columns": []}, {"more": 1}, {"files": []},
        {"source": {"op": "arith.addf"}}, {"poison": {"encoding": "?"}}, {"inputs": {"level": "3"}},
        {"anchors": [{"row": 0, "codes": {"a": "38"}, "values": {}}]}, {"nan": {"result": "payload", "accept": "some"}},
        {"shard": {"index": 0, "of": 1, "rows": [0]}}, {"flags": {"invalid": 1}},
    ],
)  # fmt: skip
def test_the_schema_refuses_what_is_wrong(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(metadata.schema()).validate({**documented(), **wrong})


def test_the_text_of_a_document_is_deterministic() -> None:
    text = metadata.to_text(documented())
    assert text == metadata.to_text(documented())
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert "created" not in json.loads(text)


def test_two_formats_of_a_set_have_one_digest() -> None:
    assert documented("testfloat")["sha256"] == documented("npz")["sha256"] == documented("c")["sha256"]


def test_anchors_are_rows_that_a_person_can_check() -> None:
    assert documented()["anchors"] == [
        {
            "row": 0,
            "codes": {"a": "0x00", "b": "0x80", "result": "0x00", "flags": "0x00"},
            "values": {"a": "0.0", "b": "-0.0", "result": "0.0"},
        },
        {
            "row": 3,
            "codes": {"a": "0x3B", "b": "0x41", "result": "0x46", "flags": "0x01"},
            "values": {"a": "1.375", "b": "2.25", "result": "3.5"},
        },
        {
            "row": 4,
            "codes": {"a": "0xFF", "b": "0x00", "result": "0xFF", "flags": "0x00"},
            "values": {"a": "nan", "b": "0.0", "result": "nan"},
        },
    ]
    assert metadata.Anchors(ADDF).rows() == []


@pytest.mark.parametrize(
    ("type_", "width", "code", "expected"),
    [
        ("i8", 8, 0x85, "-123 (133 unsigned)"), ("i8", 8, 5, "5"), ("f32", 32, 0xFF800000, "-inf"), ("f32", 32, 1, "1 * 2^-149"),
        ("f32", 32, 0x7F7FFFFF, "16777215 * 2^104"), ("f16", 16, 1, "1 * 2^-24"), ("f64", 64, 0x3FB999999999999A, "3602879701896397 * 2^-55"),
        ("f8E8M0FNU", 8, 0xFF, "nan"), ("!quant.uniform<i8:f32, 0.5>", 8, 0xFF, "-1 (255 unsigned)"), ("f32", 32, 0x4B800000, "16777216.0"),
    ],
)  # fmt: skip
def test_values_are_exact(type_: str, width: int, code: int, expected: str) -> None:
    assert metadata.value_text(Column("a", width, type_, Role.OPERAND), code) == expected


def test_documents_are_read_back_and_others_refused() -> None:
    document = documented()
    read_back = metadata.from_text(metadata.to_text(document))
    assert read_back == document
    assert metadata.columns_of(read_back) == ADDF
    assert metadata.packing_of(read_back) == CONTAINERS
    read_back["files"] = [metadata.VectorFile("bin", "x.bin", Packing(True, "high")).to_json()]
    assert metadata.packing_of(read_back, "x.bin") == Packing(True, "high")
    read_back["files"][0]["packing"] = {"dense": True, "first": "middle"}
    with pytest.raises(InputError, match="does not describe a packing"):
        metadata.packing_of(read_back)
    wrong = [json.dumps({**document, **change}) for change in ({"count": True}, {"columns": 1})]
    for text in ("", "[]", "{}", '{"schema_version": 2}', *wrong):
        with pytest.raises(InputError, match="golden.json"):
            metadata.from_text(text, "golden.json")
    with pytest.raises(InputError, match="does not describe a column"):
        metadata.columns_of({**document, "columns": [{}]})


@pytest.mark.added
def test_the_user_documentation_names_every_format_and_its_examples_hold() -> None:
    text = (ROOT / "docs" / "vector-files.md").read_text(encoding="utf-8")
    for name in FORMAT_NAMES:
        assert f"`{name}`" in text, f"describe the format {name} in docs/vector-files.md"
        assert f"`{format_named(name).suffix}`" in text, f"name the ending of {name} files in docs/vector-files.md"
    said = " ".join((Vectors.write.__doc__ or "").split())
    assert ", ".join(FORMAT_NAMES) in said, (
        "write all names, in order, into the docstring of `write` in api/golden/vectors.py"
    )
    examples = dict(re.findall(r"<!-- (\w+) -->\n\n```\w*\n(.*?)```", text, re.DOTALL))
    rows = [(0x3B, 0x41, 0x46, 1), (0x7E, 0x7E, 0x7F, 5)]
    assert examples["testfloat"] == text_of(ADDF, rows, "testfloat")
    assert examples["csv"] == text_of(ADDF, rows, "csv")
    assert examples["jsonl"] == text_of(ADDF, rows, "jsonl")
    assert examples["readmemh"] == text_of(FPTOSI, MARKED_ROWS, "readmemh")
    digest = Digest(ADDF)
    digest.update(chunk_of(ADDF, rows))
    assert digest.hexdigest() in text


# --- spec -------------------------------------------------------------------------------------------------------------
#
# Recipes as files.


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
    hint = "\nhint: mend the recipe there, or write it again"
    for text, told in (
        ("", "spec.json:1:1: error: the file is not JSON: it ends before it is complete"),
        ('{"a": 1,\n nan}', "spec.json:2:2: error: the file is not JSON: 'nan}' cannot stand here"),
        (b"\xff", "error: spec.json is not JSON: it is not text in UTF-8"),
        ("[" * 100_000, "error: spec.json is not JSON: it is nested too deep"),
    ):
        with pytest.raises(InputError) as caught:
            recipe_of_spec(text, "spec.json")
        assert str(caught.value) == told + hint, text
