"""The programs that are measured, in MLIR, and the same programs in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

UFUNCS: Mapping[str, Callable[..., Any]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}
CHAIN = ("mulf", "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "addf", "mulf", "subf")
INTEGER_CHAIN = ("muli", "addi", "subi", "muli", "xori", "maxsi", "minsi", "addi", "muli", "subi")


def chain_body(type_: str, ops: tuple[str, ...] = CHAIN) -> list[str]:
    """Return lines of ops on %x and %y. Each op takes the last result and %y; the last result is %r."""
    lines = []
    last = "%x"
    for number, op in enumerate(ops, 1):
        name = "%r" if number == len(ops) else f"%c{number}"
        lines.append(f"{name} = arith.{op} {last}, %y : {type_}")
        last = name
    return lines


def chain(type_: str, ops: tuple[str, ...] = CHAIN) -> str:
    """Return a function of two arguments, scalars or tensors, that applies ops in a row."""
    body = "\n  ".join(chain_body(type_, ops))
    return f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{\n  {body}\n  return %r : {type_}\n}}\n"


def numpy_chain(x: Any, y: Any) -> Any:
    for op in CHAIN:
        x = UFUNCS[op](x, y)
    return x


def binary(op: str, type_: str) -> str:
    """Return a function of one op."""
    return chain(type_, (op,))


INTEGER_LINE = ("addi", "muli", "xori", "subi")
# With arguments between 1/2 and 2 the results stay there or near: every op rounds, none overflows or underflows.
FLOAT_LINE = ("mulf", "addf", "subf", "mulf")


def straight_line(ops: int, type_: str = "i32", names: tuple[str, ...] = INTEGER_LINE) -> str:
    """Return a function with scalar ops in one block. On integers, each op takes the last two results; on floats, the
    last result and an argument.
    """
    lines = [f"func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{"]
    one, two = "%a", "%b"
    for number in range(ops):
        if type_ != "i32":
            one, two = two, ("%a", "%b")[number % 2]
        lines.append(f"  %{number} = arith.{names[number % len(names)]} {one}, {two} : {type_}")
        one, two = two, f"%{number}"
    return "\n".join([*lines, f"  return {two} : {type_}", "}"])


def loop(type_: str) -> str:
    """Return a function with a loop that is made of branches. A turn has eight ops, four of which compute, on i32 or on
    floats.
    """
    if type_ == "i32":
        constants = "%one = arith.constant 1 : i32"
        body = """%a = arith.muli %sum, %x : i32
  %b = arith.addi %a, %i : i32
  %c = arith.xori %b, %sum : i32
  %d = arith.subi %c, %one : i32"""
    else:
        # A logistic map: its values neither settle nor leave the range from 0 to 1.
        constants = f"""%one = arith.constant 1 : i32
  %unit = arith.constant 1.0 : {type_}
  %growth = arith.constant 3.6 : {type_}"""
        body = f"""%a = arith.subf %unit, %sum : {type_}
  %b = arith.mulf %a, %sum : {type_}
  %c = arith.mulf %b, %growth : {type_}
  %d = arith.addf %c, %x : {type_}"""
    return f"""func.func @main(%n: i32, %start: {type_}, %x: {type_}) -> {type_} {{
  {constants}
  %zero = arith.constant 0 : i32
  cf.br ^head(%zero, %start : i32, {type_})
^head(%i: i32, %sum: {type_}):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^done
^body:
  {body}
  %next = arith.addi %i, %one : i32
  cf.br ^head(%next, %d : i32, {type_})
^done:
  return %sum : {type_}
}}
"""


OPS_OF_A_TURN = 8


GCD = """func.func @main(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %r:2 = scf.while (%x = %a, %y = %b) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi ne, %y, %zero : i32
    scf.condition(%c) %x, %y : i32, i32
  } do {
  ^body(%x: i32, %y: i32):
    %m = arith.remui %x, %y : i32
    scf.yield %y, %m : i32, i32
  }
  return %r#0 : i32
}
"""


REVERSE = """func.func @main(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = arith.subi %n, %c1 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.subi %last, %i : index
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%j] : memref<?xf32>
  }
  return
}
"""


def matmul(type_: str, size: int) -> str:
    """Return a product of square matrices as loops on memrefs, added to an f32 matrix in the order of the loops."""
    matrix, total = f"memref<{size}x{size}x{type_}>", f"memref<{size}x{size}xf32>"
    widen = [f"%{name}w = arith.extf %{name} : {type_} to f32" for name in "ab"] if type_ != "f32" else []
    a, b = ("%aw", "%bw") if widen else ("%a", "%b")
    body = "\n        ".join(widen)
    return f"""func.func @main(%x: {matrix}, %y: {matrix}, %z: {total}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {size} : index
  scf.for %i = %c0 to %n step %c1 {{
    scf.for %j = %c0 to %n step %c1 {{
      scf.for %k = %c0 to %n step %c1 {{
        %a = memref.load %x[%i, %k] : {matrix}
        %b = memref.load %y[%k, %j] : {matrix}
        {body}
        %c = memref.load %z[%i, %j] : {total}
        %p = arith.mulf {a}, {b} : f32
        %s = arith.addf %c, %p : f32
        memref.store %s, %z[%i, %j] : {total}
      }}
    }}
  }}
  return
}}
"""
