"""Functions of C's mathematical library that programs call. The expected bits are correctly rounded values."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import halfulp as hu

UNARY = [
    "absf",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "round",
    "roundeven",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def _program(name: str, type_: str, operands: int = 1, dialect: str = "func") -> str:
    types = ", ".join([type_] * operands)
    passed = ", ".join(["%x"] * operands)
    return (
        f"{dialect}.func @{name}({types}) -> {type_}\n".replace("func.func", "func.func private")
        + f"func.func @main(%x: {type_}) -> {type_} {{\n"
        f"  %r = {dialect}.call @{name}({passed}) : ({types}) -> {type_}\n  return %r : {type_}\n}}"
    )


@pytest.mark.parametrize("dialect", ["func", "llvm"])
@pytest.mark.parametrize(
    ("name", "type_", "operands", "x", "expected"),
    [
        ("expf", "f32", 1, 1.0, "402df854"),  # e = 2.7182818284590452...
        ("exp", "f64", 1, 1.0, "4005bf0a8b145769"),
        ("log2f", "f32", 1, 8.0, "40400000"),
        ("fabsf", "f32", 1, -2.5, "40200000"),
        ("powf", "f32", 2, 3.0, "41d80000"),
        ("fma", "f64", 3, 3.0, "4028000000000000"),
        ("roundf", "f32", 1, 2.5, "40400000"),
        ("roundevenf", "f32", 1, 2.5, "40000000"),
    ],
)
def test_known_answers(dialect: str, name: str, type_: str, operands: int, x: float, expected: str) -> None:
    (result,) = hu.run(_program(name, type_, operands, dialect), x)
    assert f"{int(result.bits):0{len(expected)}x}" == expected


@pytest.mark.parametrize(("type_", "suffix"), [("f32", "f"), ("f64", "")])
def test_names_are_those_that_mlir_opt_writes(type_: str, suffix: str, mlir_opt: Any) -> None:
    """The text after the pass runs, and gives the bits of the ops that it had before."""
    ops = [(name, "%x") for name in UNARY] + [("atan2", "%x, %x"), ("powf", "%x, %x"), ("fma", "%x, %x, %x")]
    lines = [f"  %{k} = math.{name} {operands} : {type_}" for k, (name, operands) in enumerate(ops)]
    names = ", ".join(f"%{k}" for k in range(len(ops)))
    types = ", ".join([type_] * len(ops))
    body = "\n".join(lines)
    text = f"func.func @main(%x: {type_}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"
    lowered = mlir_opt(text, "--convert-math-to-libm")
    assert "math." not in lowered
    assert lowered.count(" private @") == len(ops)
    assert hu.run(lowered, 0.75, function="main") == hu.run(text, 0.75)


def test_a_batch_and_poison() -> None:
    (result,) = hu.run(_program("sqrtf", "f32"), np.array([1, 4, 9], np.float32), batch=True)
    assert result.tolist() == [1, 2, 3]
    program = _program("sqrtf", "f32").replace("  %r", "  %p = ub.poison : f32\n  %r").replace("(%x) :", "(%p) :")
    assert hu.run(program, 1.0)[0].poisoned


def test_the_user_s_function_comes_first() -> None:
    bound = {"sqrtf": lambda value: np.float32(5)}
    (result,) = hu.run(_program("sqrtf", "f32"), 4.0, externals=bound)
    assert struct.pack("<I", int(result.bits)) == struct.pack("<f", 5.0)


@pytest.mark.parametrize(("name", "type_"), [("exp", "f32"), ("expf", "f64"), ("expf", "f16"), ("frobf", "f32")])
def test_other_types_and_names_are_unknown(name: str, type_: str) -> None:
    with pytest.raises(hu.Unsupported, match="declaration without a body"):
        hu.run(_program(name, type_), 1.0)
