"""The verifier of the casts of arith: which containers go together. The mlir test asks mlir-opt for the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfulp as hu

CASTS = {
    "arith.extf": ("f16", "f32"),
    "arith.truncf": ("f32", "f16"),
    "arith.extsi": ("i8", "i32"),
    "arith.extui": ("i8", "i32"),
    "arith.trunci": ("i32", "i8"),
    "arith.sitofp": ("i32", "f32"),
    "arith.uitofp": ("i32", "f32"),
    "arith.fptosi": ("f32", "i32"),
    "arith.fptoui": ("f32", "i32"),
    "arith.bitcast": ("i32", "f32"),
    "arith.index_cast": ("index", "i32"),
    "arith.index_castui": ("index", "i32"),
}
SHAPE = "requires the same shape for all operands and results"
DIMENSIONS = "failed to verify that input and output have the same tensor dimensions"
INCOMPATIBLE = "are cast incompatible"
ALIKE = "all non-scalar operands/results must have the same shape and base type"
CONTAINERS = (
    # What holds the operand and the result, and what is wrong with them: MLIR's words.
    ("vector<2x{}>", "vector<2x{}>", None),
    ("vector<2x{}>", "vector<3x{}>", SHAPE),
    ("vector<2x{}>", "vector<[2]x{}>", SHAPE),
    ("vector<2x{}>", "vector<2x1x{}>", SHAPE),
    ("vector<2x{}>", "{}", SHAPE),
    ("{}", "vector<2x{}>", SHAPE),
    ("tensor<2x{}>", "tensor<3x{}>", DIMENSIONS),
    ("tensor<2x{}>", "tensor<?x{}>", DIMENSIONS),
    ("tensor<2x{}>", "{}", DIMENSIONS),
    ("{}", "tensor<2x{}>", DIMENSIONS),
    ("{}", "tensor<{}>", SHAPE),
    ("vector<2x{}>", "tensor<2x{}>", DIMENSIONS),
    ("vector<{}>", "tensor<{}>", ALIKE),
    ("tensor<2x{}, 1 : i32>", "tensor<2x{}, 1 : i32>", None),
    ("tensor<2x{}, 1 : i32>", "tensor<2x{}>", INCOMPATIBLE),
)
KIND_OF_MEMREF = "memref of signless-integer"
SCALAR = "if a result is non-scalar, then at least one operand must be non-scalar"
MEMREFS = (
    # The same, for the casts that take a memref.
    ("memref<2x{}>", "memref<2x{}, 1>", None),
    ("memref<2x{}>", "memref<2x{}, strided<[1], offset: ?>>", None),
    ("memref<?x{}>", "memref<2x{}>", None),
    ("memref<2x{}>", "memref<3x{}>", SHAPE),
    ("memref<2x{}>", "memref<2x2x{}>", SHAPE),
    ("memref<2x{}>", "{}", SHAPE),
    ("memref<2x{}>", "memref<*x{}>", KIND_OF_MEMREF),
    ("memref<*x{}>", "memref<*x{}>", KIND_OF_MEMREF),
    ("memref<2x{}>", "vector<2x{}>", SCALAR),
    ("memref<{}>", "tensor<{}>", SCALAR),
)
ON_MEMREFS = ("arith.bitcast", "arith.index_cast", "arith.index_castui")
ROWS = [(op, *row) for op in CASTS for row in CONTAINERS] + [(op, *row) for op in ON_MEMREFS for row in MEMREFS]


def program(op: str, source: str, target: str) -> str:
    given, made = (c.format(e) for c, e in zip((source, target), CASTS[op], strict=True))
    return f"func.func @f(%x: {given}) {{\n  %y = {op} %x : {given} to {made}\n  return\n}}\n"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(map(str, row[:3])))
def test_containers_of_casts(row: tuple[str, str, str, str | None]) -> None:
    op, source, target, wrong = row
    if wrong is None:
        hu.load(program(op, source, target))
        return
    with pytest.raises(hu.VerifyError, match=wrong):
        hu.load(program(op, source, target))


@pytest.mark.exhaustive
@pytest.mark.mlir
def test_real_mlir_agrees_on_containers(mlir_opt: Any) -> None:
    for op, source, target, wrong in ROWS:
        if wrong is None:
            mlir_opt(program(op, source, target))
            continue
        with pytest.raises(RuntimeError, match=wrong):
            mlir_opt(program(op, source, target))


SCALES = (
    # What holds the operand, the scale and the result of arith.scaling_extf, and what is wrong.
    ("{}", "{}", "vector<2x{}>", INCOMPATIBLE),
    ("vector<2x{}>", "vector<2x{}>", "vector<3x{}>", INCOMPATIBLE),
    ("vector<2x{}>", "{}", "{}", INCOMPATIBLE),
    ("tensor<2x{}, 1 : i32>", "{}", "tensor<2x{}>", INCOMPATIBLE),
    ("vector<2x{}>", "vector<[2]x{}>", "vector<2x{}>", ALIKE),
)


def scaling(*containers: str) -> str:
    given, scale, made = (c.format(e) for c, e in zip(containers, ("f4E2M1FN", "f8E8M0FNU", "f16"), strict=True))
    op = f"arith.scaling_extf %x, %s : {given}, {scale} to {made}"
    return f"func.func @f(%x: {given}, %s: {scale}) {{\n  %y = {op}\n  return\n}}\n"


@pytest.mark.parametrize(("source", "scale", "target", "wrong"), SCALES)
def test_containers_of_scaling(source: str, scale: str, target: str, wrong: str) -> None:
    with pytest.raises(hu.VerifyError, match=wrong):
        hu.load(scaling(source, scale, target))


@pytest.mark.exhaustive
@pytest.mark.mlir
def test_real_mlir_agrees_on_containers_of_scaling(mlir_opt: Any) -> None:
    for source, scale, target, wrong in SCALES:
        with pytest.raises(RuntimeError, match=wrong):
            mlir_opt(scaling(source, scale, target))


@pytest.mark.parametrize("target", ["memref<2xf32, 1>", "memref<2xf32, strided<[1], offset: ?>>"])
def test_memory_is_recast_into_another_space_or_layout(target: str) -> None:
    text = f"""func.func @f(%x: memref<?xi32>) -> f32 {{
  %one = arith.constant 1 : index
  %view = arith.bitcast %x : memref<?xi32> to {target}
  %y = memref.load %view[%one] : {target}
  return %y : f32
}}"""
    (found,) = hu.run(text, np.array([0, 0x3FC0_0000], np.int32))
    assert found.item() == 1.5
    with pytest.raises(hu.UndefinedBehavior, match="size 3"):
        hu.run(text, np.zeros(3, np.int32))
