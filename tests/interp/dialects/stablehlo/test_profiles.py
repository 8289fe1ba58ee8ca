"""The profiles of StableHLO: what its specification, its interpreter and XLA on a CPU give for the same program.

Each row was run with both tools of jaxlib 0.10.2. A result is compared bit for bit; None means that the tool ends with
an error, and that halfulp reports undefined behavior.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise, product
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from amounts import amounts
from stablehlo_reference import Reference

import halfulp as hu
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import argument_types, result_types

COLUMNS = {"stablehlo": "spec", "stablehlo-interpreter": "interpreter", "xla-cpu": "xla"}


class Row(NamedTuple):
    """A program, its arguments, and the results by ``stablehlo``, ``stablehlo-interpreter`` and ``xla-cpu``."""

    program: str
    arguments: tuple[Any, ...]
    spec: Any
    interpreter: Any
    xla: Any


def binary(op: str, type_: str) -> str:
    return f"func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{ %r = stablehlo.{op} %a, %b : {type_}  return %r : {type_} }}"


def unary(op: str, source: str, target: str, rest: str = "") -> str:
    types = f"({source}) -> {target}" if source != target or op == "convert" else source
    return (
        f"func.func @main(%a: {source}) -> {target} {{ %r = stablehlo.{op} %a{rest} : {types}  return %r : {target} }}"
    )


def reduction(op: str, source: str, target: str, dimensions: str = "[0]") -> str:
    element = f"tensor<{source.rpartition('x')[2]}"
    return f"""func.func @main(%a: {source}, %i: {element}) -> {target} {{
      %r = stablehlo.reduce(%a init: %i) applies stablehlo.{op} across dimensions = {dimensions} : ({source}, {element}) -> {target}
      return %r : {target} }}"""


EQUAL = """func.func @main(%a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xi1> {
  %r = stablehlo.compare EQ, %a, %b : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
  return %r : tensor<2xi1> }"""
TOTAL = """func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xi1> {
  %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1> }"""
SLICE = """func.func @main(%a: tensor<300xi32>, %i: tensor<ui8>) -> tensor<1xi32> {
  %r = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<300xi32>, tensor<ui8>) -> tensor<1xi32>
  return %r : tensor<1xi32> }"""
SCATTER = """func.func @main(%a: tensor<4xi32>, %i: tensor<1xi32>, %u: tensor<2xi32>) -> tensor<4xi32> {
  %r = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %y : tensor<i32>
  }) : (tensor<4xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32> }"""
WINDOW = """func.func @main(%a: tensor<4xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %r = "stablehlo.reduce_window"(%a, %i) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32> }"""
SELECT = """func.func @main(%a: tensor<4xf32>, %s: tensor<3xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %r = "stablehlo.select_and_scatter"(%a, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32> }"""
DOT = """func.func @main(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> tensor<bf16> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<bf16>
  return %r : tensor<bf16> }"""


def division(divisor: str, more: str = "", element: str = "f32", operands: str = "%a, %d") -> str:
    """Return a program with a division of %a by %d. ``divisor``: the ops that make %d, where T is the type of eight
    elements and E of one. ``more``: further arguments.
    """
    divide = f"%r = stablehlo.divide {operands} : T"
    text = f"func.func @main(%a: T{more}) -> T {{ {divisor} {divide}  return %r : T }}"
    return text.replace("T", f"tensor<8x{element}>").replace("E", f"tensor<{element}>")


THREE = "%d = stablehlo.constant dense<3.0> : T "
CONSTANT = THREE.replace("%d", "%c")
SPREAD = "%d = stablehlo.broadcast_in_dim %b, dims = [] : (E) -> T "
OTHER_USE = "%c = stablehlo.add %b, %b : E %e = stablehlo.broadcast_in_dim %c, dims = [] : (E) -> T %f = stablehlo.minimum %a, %e : T "
CALLED = """func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r = func.call @by(%a, %n) : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32> }
func.func private @by(%a: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %c = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
  %d = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.divide %a, %d : tensor<8xf32>
  return %r : tensor<8xf32> }"""

scalars: Any = np
f32, i32, i8, u8 = scalars.float32, scalars.int32, scalars.int8, scalars.uint8
row_of: Any = Row
bf16, f4, e8m0 = ml_dtypes.bfloat16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu
E4M3FN, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
I3, TINY, TINY_F64 = "tensor<3xi32>", f32([1e-40, -1e-40]), np.array([1e-310, -1e-310])
THREES, ZEROS = i32([7, -7, -(2**31)]), i32([0, 0, 0])
ORDERED = (f32([-0.0, -np.nan, 1, np.nan, -1]), f32([0.0, -1, np.nan, 1, -0.0]))
BLOCKED = np.random.default_rng(3).normal(size=1000).astype(f32)


NUMBERS = np.random.default_rng(4).normal(size=8)
EIGHT = NUMBERS.astype(f32)


def divided(program: str, by: Any, inverted: bool, *more: Any, numbers: Any = EIGHT) -> Row:
    """Return the row of a division. ``inverted``: XLA multiplies with the inverse of the divisor ``by``."""
    one, divisor = numbers.dtype.type(1), np.asarray(by, numbers.dtype)
    quotient = numbers / divisor
    return Row(program, (numbers, *more), quotient, quotient, numbers * (one / divisor) if inverted else quotient)


def in_blocks(numbers: Any, initial: Any) -> Any:
    """Add as XLA does: blocks of 32, the first and the last one short, each from the initial value on."""
    kind = numbers.dtype.type
    count = -(-len(numbers) // 32)
    low = (32 * count - len(numbers)) // 2
    ends = [0, *(32 * k - low for k in range(1, count)), len(numbers)]
    if count == 1:
        return in_order(numbers, initial)
    return in_order(np.array([in_order(numbers[a:b], initial) for a, b in pairwise(ends)], kind), initial)


def in_order(numbers: Any, initial: Any) -> Any:
    kind = numbers.dtype.type
    total = kind(initial)
    for number in numbers:
        total = kind(total + number)
    return total


def codes(kind: Any, *bits: int) -> Any:
    return np.array(bits, np.dtype(f"u{np.dtype(kind).itemsize}")).view(kind)


ROWS: dict[str, Row] = {
    "integers by 0": row_of(binary("divide", I3), (THREES, ZEROS), None, None, i32([-1, -1, -1])),
    "unsigned by 0": row_of(binary("divide", "tensor<1xui8>"), (u8([7]), u8([0])), None, None, u8([255])),
    "remainder by 0": row_of(binary("remainder", I3), (THREES, ZEROS), None, None, THREES),
    "smallest by -1": row_of(binary("divide", I3), (THREES, i32([2, 2, -1])), *[i32([3, -3, -(2**31)])] * 3),
    "or of truth values": row_of(binary("add", "tensor<2xi1>"), (np.array([True, True]), np.array([True, False])), *[np.array([True, True])] * 3),
    "float to integer": row_of(unary("convert", "tensor<4xf32>", "tensor<4xi8>"), (f32([300, -300, np.nan, 3.9]),), *[i8([127, -128, 0, 3])] * 3),
    "float to truth value": row_of(unary("convert", "tensor<3xf32>", "tensor<3xi1>"), (f32([np.nan, 1e-45, 0]),), np.array([True, True, False]), np.array([True, True, False]), np.array([True, False, False])),
    "f64 to bf16": row_of(unary("convert", "tensor<1xf64>", "tensor<1xbf16>"), (np.array([1 + 2**-8 + 2**-40]),), *[codes(bf16, 0x3F81)] * 2, codes(bf16, 0x3F80)),
    "overflow to f8E4M3FN": row_of(unary("convert", "tensor<1xf32>", "tensor<1xf8E4M3FN>"), (f32([1e6]),), *[codes(E4M3FN, 0x7F)] * 3),
    "overflow to f8E5M2": row_of(unary("convert", "tensor<2xf32>", "tensor<2xf8E5M2>"), (f32([61440, 61439]),), *[codes(E5M2, 0x7C, 0x7B)] * 3),
    "infinity to f4E2M1FN": row_of(unary("convert", "tensor<2xf32>", "tensor<2xf4E2M1FN>"), (f32([np.inf, 100]),), codes(f4, 7, 7), codes(f4, 0, 7), codes(f4, 7, 7)),
    "negative to f8E8M0FNU": row_of(unary("convert", "tensor<2xf32>", "tensor<2xf8E8M0FNU>"), (f32([-1e6, 0]),), codes(e8m0, 0xFF, 0), codes(e8m0, 0x93, 0), codes(e8m0, 0xFF, 0xFF)),
    "zeros in a maximum": row_of(binary("maximum", "tensor<2xf32>"), (f32([-0.0, 0.0]), f32([0.0, -0.0])), *[f32([0.0, 0.0])] * 3),
    "an invalid sum": row_of(binary("add", "tensor<1xf32>"), (f32([np.inf]), f32([-np.inf])), *[codes(f32, 0x7FC00000)] * 2, codes(f32, 0xFFC00000)),
    "total order": row_of(TOTAL, ORDERED, np.array([True, True, True, False, True]), np.array([False, False, False, False, True]), np.array([True, True, True, False, True])),
    "shifts": row_of(binary("shift_right_arithmetic", I3), (i32([-8, -8, 8]), i32([1, 40, -1])), *[i32([-4, -1, 0])] * 3),
    "integer power": row_of(binary("power", I3), (i32([2, -1, 3]), i32([-1, -3, 2])), *[i32([0, -1, 9])] * 3),
    "logistic": row_of(unary("logistic", "tensor<1xf32>", "tensor<1xf32>"), (codes(f32, 0xC0FF3B4B),), codes(f32, 0x39B4176B), *[codes(f32, 0x39B4176C)] * 2),
    "NaN without mantissa": row_of(unary("reduce_precision", "tensor<1xf32>", "tensor<1xf32>", ", format = e5m0"), (f32([np.nan]),), codes(f32, 0x7FC00000), codes(f32, 0x7F800000), codes(f32, 0x7FC00000)),
    "small numbers reduced": row_of(unary("reduce_precision", "tensor<1xf32>", "tensor<1xf32>", ", format = e5m10"), (f32([2**-15]),), *[f32([0])] * 3),
    "index of ui8": row_of(SLICE, (np.arange(300, dtype=i32), u8(200)), i32([200]), i32([0]), i32([200])),
    "window outside": row_of(SCATTER, (i32([1, 2, 3, 4]), i32([3]), i32([8, 9])), i32([1, 2, 3, 8]), i32([1, 2, 3, 8]), i32([1, 2, 3, 4])),
    "sum in order": row_of(reduction("add", "tensor<20xf32>", "tensor<f32>"), (BLOCKED[:20], f32(0)), *[in_order(BLOCKED[:20], 0)] * 3),
    "sum in blocks": row_of(reduction("add", "tensor<1000xf32>", "tensor<f32>"), (BLOCKED, f32(0)), *[in_order(BLOCKED, 0)] * 2, in_blocks(BLOCKED, 0)),
    "sum from a number": row_of(reduction("add", "tensor<100xf32>", "tensor<f32>"), (BLOCKED[:100], f32(5)), *[in_order(BLOCKED[:100], 5)] * 2, in_blocks(BLOCKED[:100], 5)),
    "ones of bf16": row_of(reduction("add", "tensor<1024xbf16>", "tensor<bf16>"), (np.ones(1024, bf16), bf16(0)), *[np.array(256, bf16)] * 2, np.array(1024, bf16)),
    "padding of a window": row_of(WINDOW, (f32([1, 2, 3, 4]), f32(10)), f32([23, 16, 19, 27]), f32([23, 16, 19, 27]), f32([13, 16, 19, 17])),
    "initial value scattered": row_of(SELECT, (f32([1, 5, 2, 0]), f32([100, 1000, 10000]), f32(10)), f32([10, 1110, 10010, 10]), f32([10, 1130, 10020, 10]), f32([10, 1110, 10010, 10])),
    "sum of bf16 products": row_of(DOT, (np.array([256, 1, 1, 1], bf16), np.ones(4, bf16)), *[np.array(256, bf16)] * 2, np.array(260, bf16)),
    "by a constant": divided(division(THREE), 3, True),
    "f16 by a constant": divided(division(THREE, element="f16"), 3, True, numbers=NUMBERS.astype(scalars.float16)),
    "f64 by a constant": divided(division(THREE, element="f64"), 3, True, numbers=NUMBERS),
    "bf16 by a constant": divided(division(THREE, element="bf16"), 3, False, numbers=NUMBERS.astype(bf16)),
    "by folded constants": divided(division(CONSTANT + "%e = stablehlo.add %c, %c : T %d = stablehlo.reverse %e, dims = [0] : T"), 6, True),
    "by a constant of the caller": divided(CALLED, 3, True),
    "by a barrier": divided(division(CONSTANT + "%d = stablehlo.optimization_barrier %c : T"), 3, False),
    "by iota": divided(division(CONSTANT + "%i = stablehlo.iota dim = 0 : T %d = stablehlo.add %i, %c : T"), np.arange(3, 11), False),
    "a constant": row_of(division(THREE, operands="%d, %a"), (EIGHT,), *[f32(3) / EIGHT] * 3),
    "by a broadcast": divided(division(SPREAD, ", %b: E"), 3, True, f32(3)),
    "by a broadcast of what has another use": divided(division(SPREAD + OTHER_USE, ", %b: E", operands="%f, %d"), 3, False, f32(3)),
    "small floats": row_of(binary("add", "tensor<2xf32>"), (TINY, TINY), *[TINY + TINY] * 2, f32([0.0, -0.0])),
    "small floats of f64": row_of(binary("add", "tensor<2xf64>"), (TINY_F64, TINY_F64), *[TINY_F64 + TINY_F64] * 2, np.array([0.0, -0.0])),
    "small floats of bf16": row_of(binary("add", "tensor<2xbf16>"), (codes(bf16, 1, 0x8003), codes(bf16, 1, 0x8003)), *[codes(bf16, 2, 0x8006)] * 2, codes(bf16, 0, 0x8000)),
    "small floats of f16": row_of(binary("add", "tensor<2xf16>"), (codes(np.float16, 1, 0x8003), codes(np.float16, 1, 0x8003)), *[codes(np.float16, 2, 0x8006)] * 3),
    "small floats of f64 compared": row_of(EQUAL, (TINY_F64, TINY_F64 * 0), *[np.array([False, False])] * 2, np.array([True, True])),
    "signs of small floats": row_of(unary("sign", "tensor<2xf32>", "tensor<2xf32>"), (TINY,), *[f32([1, -1])] * 2, f32([0.0, -0.0])),
    "small floats of bf16 to f64": row_of(unary("convert", "tensor<2xbf16>", "tensor<2xf64>"), (codes(bf16, 1, 0x8003),), *[np.array([2.0**-133, -3 * 2.0**-133])] * 2, np.array([0.0, -0.0])),
    "small floats to bf16": row_of(unary("convert", "tensor<2xf32>", "tensor<2xbf16>"), (TINY,), *[TINY.astype(bf16)] * 3),
}  # fmt: skip


def same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())


def test_each_row() -> None:
    failures = []
    for name, row in ROWS.items():
        for profile, column in COLUMNS.items():
            expected = getattr(row, column)
            try:
                (found,) = hu.run(row.program, *row.arguments, profile=profile)
                held = expected is not None and same(found.numpy(), expected)
            except hu.errors.UndefinedBehavior:
                held = expected is None
            if not held:
                failures.append((name, profile))
    assert not failures


def test_the_specification_is_the_default() -> None:
    for name, row in ROWS.items():
        if row.spec is not None:
            assert same(hu.run(row.program, *row.arguments)[0].numpy(), row.spec), name


# --- the tools --------------------------------------------------------------------------------------------------------


@pytest.mark.jax
def test_xla_gives_its_column(reference: Reference) -> None:
    failures = []
    for name, row in ROWS.items():
        found = reference.compiled(row.program, [np.asarray(each) for each in row.arguments])
        if found is None or not same(found[0], row.xla):
            failures.append(name)
    assert not failures


def constant(name: str, argument: Any, type_: ty.Type) -> str:
    bits = hu.Value.from_numpy(np.asarray(argument), type_).bits
    if ty.element_type(type_) == ty.I1:
        return f"{name} = stablehlo.constant dense<{np.asarray(bits, np.bool_).tolist()}> : {type_} ".lower()
    return f'{name} = stablehlo.constant dense<"0x{bits.tobytes().hex()}"> : {type_} '


def closed(row: Row) -> str:
    """Return the program of a row without arguments, whose result is integers with the same bits."""
    function = hu.load(row.program).body[0]
    types, (result,) = argument_types(function), result_types(function)
    names = [f"%c{number}" for number in range(len(types))]
    lines = "".join(map(constant, names, row.arguments, types))
    lines += f"%r = func.call @row({', '.join(names)}) : ({', '.join(map(str, types))}) -> {result} "
    width = ty.element_width(ty.element_type(result)) or 0
    whole, wide = (ty.with_element(result, ty.IntegerType(bits, "unsigned")) for bits in (width, max(8, width)))
    if width == 1:
        lines += f"%x = stablehlo.convert %r : ({result}) -> {wide} "
    else:
        cast = f"stablehlo.bitcast_convert %r : ({result}) -> {whole}"
        lines += f"%w = {cast} %x = stablehlo.convert %w : ({whole}) -> {wide} " if width < 8 else f"%x = {cast} "
    body = row.program.replace("func.func @main", "func.func private @row", 1)
    return f"{body}\nfunc.func @main() -> {wide} {{ {lines} return %x : {wide} }}"


@pytest.mark.jax
def test_the_interpreter_gives_its_column(reference: Reference) -> None:
    failures = []
    for name, row in ROWS.items():
        found = reference.results(closed(row))
        expected: Any = None if row.interpreter is None else np.asarray(row.interpreter)
        if expected is not None:
            expected = hu.Value.from_numpy(expected).bits.reshape(-1).tolist()
        if (None if found is None else found[0]) != expected:
            failures.append((name, found, expected))
    assert not failures


ALGORITHM = (
    ", algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, "
    "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>"
)
IN_BF16 = DOT.replace("bf16", "f32").replace("contracting_dims = [0] x [0]", "contracting_dims = [0] x [0]" + ALGORITHM)
"""XLA 0.10.2 on a CPU refuses it, so it has no row."""


def test_the_interpreter_ignores_the_algorithm_of_a_dot() -> None:
    given = f32([1 + 2**-9] * 4), f32([1] * 4)
    for profile, wanted in (("stablehlo", 4), ("xla-cpu", 4), ("stablehlo-interpreter", 4 + 2**-7)):
        assert hu.run(IN_BF16, *given, profile=profile)[0].numpy() == f32(wanted), profile


@pytest.mark.jax
def test_the_interpreter_itself_ignores_the_algorithm_of_a_dot(reference: Reference) -> None:
    row = Row(IN_BF16, (f32([1 + 2**-9] * 4), f32([1] * 4)), None, f32(4 + 2**-7), None)
    assert reference.results(closed(row)) == [hu.Value.from_numpy(row.interpreter).bits.reshape(-1).tolist()]


# --- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.jax
@pytest.mark.parametrize("sizes", amounts(range(1, 1001, 83), range(1, 1001), long=range(1, 1001, 17)), ids=str)
def test_sums_of_up_to_1000_elements_are_those_of_xla(sizes: range) -> None:
    jax: Any = import_module("jax")
    total = jax.jit(jax.numpy.sum)
    draw = np.random.default_rng(11)
    failures = []
    for size in sizes:
        numbers = (draw.normal(size=size) * 2.0 ** draw.integers(-8, 8, size)).astype(np.float32)
        (found,) = hu.run(total.lower(numbers).as_text(), numbers, profile="xla-cpu")
        if not same(found.numpy(), total(numbers)):
            failures.append(size)
    assert not failures


@pytest.mark.jax
def test_sums_of_other_shapes_and_types_are_those_of_xla() -> None:
    jax: Any = import_module("jax")
    draw = np.random.default_rng(12)
    rows: list[tuple[tuple[int, ...], tuple[int, ...], Any, Any]] = [
        ((100,), (0,), bf16, "add"), ((100, 8), (0,), f32, "mul"), ((2, 33), (1,), np.float16, "add"),
        ((33, 2), (0, 1), E4M3FN, "add"), ((3, 40, 5), (1,), f32, "add"), ((3, 40, 5), (0, 2), bf16, "mul"),
        ((1024,), (0,), f32, "add"),
    ]  # fmt: skip
    failures = []
    for shape, dimensions, kind, name in rows:
        numbers, initial, combine = draw.normal(size=shape).astype(kind), kind(0.5), getattr(jax.lax, name)
        function = jax.jit(lambda a, i, c=combine, d=dimensions: jax.lax.reduce(a, i, c, d))
        given = numbers, np.asarray(initial)
        (found,) = hu.run(function.lower(*given).as_text(), *given, profile="xla-cpu")
        if not same(found.numpy(), np.asarray(function(*given))):
            failures.append((shape, dimensions, np.dtype(kind).name, name))
    assert not failures


@pytest.mark.jax
def test_averages_and_shares_are_those_of_xla() -> None:
    jax: Any = import_module("jax")
    jnp = jax.numpy

    def shares(x: Any) -> Any:
        low, high = jnp.min(x, 0), jnp.max(x, 0)
        return (x - low) / (high - low), x / jnp.sum(x, axis=-1, keepdims=True), x - jnp.mean(x, -1, keepdims=True)

    for kind in (f32, scalars.float16):
        given = (np.random.default_rng(14).random((6, 7)) + 0.1).astype(kind)
        module, expected = hu.from_jax(shares, given), jax.jit(shares)(given)
        for profile in ("xla-cpu", "stablehlo") if kind is f32 else ("xla-cpu",):
            for found, right in zip(hu.run(module, given, profile=profile), expected, strict=True):
                assert same(found.numpy(), np.asarray(right)) == (profile == "xla-cpu")


# The shapes of the operands of a division that broadcasts, and whether XLA inverts the divisor: a broadcast one.
BROADCAST_DIVISIONS: tuple[tuple[tuple[int, ...], tuple[int, ...], bool], ...] = (
    ((4, 6), (), True), ((4, 6), (6,), True), ((4, 6), (4, 1), True), ((4, 1), (6,), True), ((4, 6), (4, 6), False),
    ((6,), (4, 6), False), ((), (4, 6), False),
)  # fmt: skip


def broadcast_divisions() -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield programs with two operands, the quotients rounded once, and those that XLA computes."""
    draw = np.random.default_rng(16)
    for first, second, inverted in BROADCAST_DIVISIONS:
        one, other = (np.asarray(draw.random(shape) + 0.1, np.float32) for shape in (first, second))
        types = [f"tensor<{''.join(f'{size}x' for size in shape)}f32>" for shape in (first, second)]
        head = f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> tensor<4x6xf32>"
        divide = f"chlo.broadcast_divide %a, %b : ({types[0]}, {types[1]}) -> tensor<4x6xf32>"
        text = f"{head} {{ %r = {divide} return %r : tensor<4x6xf32> }}"
        yield text, one, other, one / other, one * (np.float32(1) / other) if inverted else one / other


def test_divisions_that_broadcast() -> None:
    for text, one, other, quotient, by_xla in broadcast_divisions():
        assert same(hu.run(text, one, other)[0].numpy(), quotient)
        assert same(hu.run(text, one, other, profile="xla-cpu")[0].numpy(), by_xla)


@pytest.mark.jax
def test_divisions_that_broadcast_are_those_of_xla(reference: Reference) -> None:
    for text, one, other, _, by_xla in broadcast_divisions():
        found = reference.compiled(text, [one, other])
        assert found is not None
        assert same(found[0], by_xla)


def in_two_sums(image: Any, kernel: Any) -> Any:
    """Convolve as Eigen does without AVX-512: one sum of the even and one of the odd products, each by fma."""
    rows, columns, inner, _ = kernel.shape
    height, width = image.shape[1] - rows + 1, image.shape[2] - columns + 1
    sums = [np.float32(0), np.float32(0)]
    for number, (h, w, i) in enumerate(product(range(rows), range(columns), range(inner))):
        part = image[:, h : h + height, w : w + width, i, np.newaxis].astype(np.float64)
        # The product is exact in f64. A double rounding of the sum is rare enough for 144 results.
        sums[number % 2] = (sums[number % 2] + part * kernel[h, w, i].astype(np.float64)).astype(np.float32)
    return sums[0] + sums[1]


@pytest.mark.jax
def test_a_convolution_is_that_of_xla() -> None:
    """Its order depends on the processor: with AVX-512 one sum by fma, in the order of the specification."""
    jax: Any = import_module("jax")
    draw = np.random.default_rng(13).normal
    image, kernel = draw(size=(1, 8, 8, 16)).astype(np.float32), draw(size=(3, 3, 16, 4)).astype(np.float32)

    def convolved(a: Any, k: Any) -> Any:
        return jax.lax.conv_general_dilated(a, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    fused, rounded = (hu.run(convolved, image, kernel, profile=each)[0].numpy() for each in ("xla-cpu", "stablehlo"))
    expected = np.asarray(jax.jit(convolved)(image, kernel))
    assert same(fused, expected) or same(in_two_sums(image, kernel), expected)
    assert not same(rounded, expected)
    sequence = np.float32(0)
    for h, w, i in product(range(3), range(3), range(16)):
        terms = image[:, h : h + 6, w : w + 6, i, np.newaxis].astype(np.float64) * kernel[h, w, i].astype(np.float64)
        sequence = (sequence + terms).astype(np.float32)
    assert same(fused, sequence)


@pytest.mark.jax
def test_loops_that_divide_by_zero_at_the_end_run_by_the_rules_of_xla() -> None:
    jnp: Any = import_module("jax.numpy")
    a, b = np.array([12, -18, 7, 0], np.int32), np.array([8, 27, 0, 0], np.int32)
    for function, numpy_function in ((jnp.gcd, np.gcd), (jnp.lcm, np.lcm)):
        assert hu.run(function, a, b, profile="xla-cpu")[0].tolist() == numpy_function(a, b).tolist()
        with pytest.raises(hu.errors.UndefinedBehavior):
            hu.run(function, a, b)


@pytest.mark.jax
def test_padding_is_left_out_for_any_body() -> None:
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    image = np.random.default_rng(3).normal(size=(7, 9)).astype(np.float32)

    def largest(a: Any) -> Any:
        def chosen(one: Any, other: Any) -> Any:
            keep = one[0] >= other[0]
            return jnp.where(keep, one[0], other[0]), jnp.where(keep, one[1], other[1])

        columns = jax.lax.broadcasted_iota(np.int32, a.shape, 1)
        first = np.float32(-0.5), np.int32(-1)
        return jax.lax.reduce_window((a, columns), first, chosen, (3, 3), (2, 2), ((1, 1), (1, 2)))

    for found, expected in zip(hu.run(largest, image, profile="xla-cpu"), jax.jit(largest)(image), strict=True):
        assert np.array_equal(found.numpy(), np.asarray(expected))


def test_each_new_field_alone() -> None:
    """A field does what its profile does with it, whatever the others are."""
    alone = {
        "total order": ("total_order=as_float", "interpreter"),
        "NaN without mantissa": ("reduced_nan=infinity", "interpreter"),
        "index of ui8": ("index_sign=signed", "interpreter"),
        "initial value scattered": ("scattered_initial=each_time", "interpreter"),
        "logistic": ("logistic=formula", "interpreter"),
        "unsigned by 0": ("integer_division=all_ones", "xla"),
        "window outside": ("scatter_windows=whole", "xla"),
        "sum in blocks": ("reduction_blocks=of_32", "xla"),
        "padding of a window": ("padding_of_windows=skipped", "xla"),
        "by a constant": ("divisors=inverted", "xla"),
        "sum of bf16 products": ("sum_type=at_least_f32", "xla"),
        "small floats": ("denormals_f32=flush_both", "xla"),
        "small floats of f16": ("denormals=flush_both,flushed_formats=wide", "xla"),
        "small floats of bf16": ("denormals=flush_both", "xla"),
    }
    for name, (setting, column) in alone.items():
        row = ROWS[name]
        (found,) = hu.run(row.program, *row.arguments, profile=f"spec,{setting}")
        assert same(found.numpy(), getattr(row, column)), name
