"""The rules of StableHLO for regions and dimensions, in the words of its own verifier (jaxlib 0.10.2)."""

from __future__ import annotations

import numpy as np
import pytest
from stablehlo_reference import Reference

import halfulp as hu
from halfulp.interp.ir.errors import HalfulpError

VALUES = (
    "%a: tensor<2x3xi32>, %v: tensor<3xi32>, %f: tensor<3xf32>, %b: tensor<f32>, %i: tensor<i32>, %p: tensor<i1>, "
    "%l: tensor<2x3x2xi32>, %k: tensor<2x2x4xi32>"
)
ADD = "%w = stablehlo.add %x, %y : tensor<i32> stablehlo.return %w : tensor<i32>"
LESS = "%w = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %w : tensor<i1>"
PAIR = "%x: tensor<i32>, %y: tensor<i32>"


def reduce(body: str = ADD, arguments: str = PAIR, init: str = "%i", result: str = "tensor<2xi32>") -> str:
    type_ = {"%i": "tensor<i32>", "%b": "tensor<f32>", "%v": "tensor<3xi32>"}[init]
    return (
        f'"stablehlo.reduce"(%a, {init}) <{{dimensions = array<i64: 1>}}> ({{ ^bb0({arguments}): {body} }}) : '
        f"(tensor<2x3xi32>, {type_}) -> {result}"
    )


def window(properties: str) -> str:
    return (
        f'"stablehlo.reduce_window"(%v, %i) <{{{properties}}}> ({{ ^bb0({PAIR}): {ADD} }}) : '
        "(tensor<3xi32>, tensor<i32>) -> tensor<2xi32>"
    )


def sort(body: str = LESS, arguments: str = PAIR, result: str = "tensor<3xi32>") -> str:
    return f'"stablehlo.sort"(%v) <{{dimension = 0 : i64}}> ({{ ^bb0({arguments}): {body} }}) : (tensor<3xi32>) -> {result}'


def map_(body: str, arguments: str = "%x: tensor<i32>", result: str = "tensor<3xi32>") -> str:
    return (
        f'"stablehlo.map"(%v) <{{dimensions = array<i64: 0>}}> ({{ ^bb0({arguments}): {body} }}) : '
        f"(tensor<3xi32>) -> {result}"
    )


def scatter(numbers: str, body: str = ADD) -> str:
    return (
        f'"stablehlo.scatter"(%v, %v, %v) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{ '
        f"^bb0({PAIR}): {body} }}) : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>"
    )


def gather(numbers: str, size: int = 1, result: str = "tensor<3xi32>") -> str:
    return (
        f'"stablehlo.gather"(%v, %v) <{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {size}>}}> '
        f": (tensor<3xi32>, tensor<3xi32>) -> {result}"
    )


def pool(select: str, properties: str = "window_dimensions = array<i64: 1>") -> str:
    return (
        f'"stablehlo.select_and_scatter"(%v, %v, %i) <{{{properties}}}> ({{ ^bb0({PAIR}): {select} }}, {{ '
        f"^bb0({PAIR}): {ADD} }}) : (tensor<3xi32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>"
    )


def loop(condition: str, body: str = "stablehlo.return %x : tensor<i32>", arguments: str = "%x: tensor<i32>") -> str:
    return (
        f'"stablehlo.while"(%i) ({{ ^bb0({arguments}): {condition} }}, {{ ^bb0(%x: tensor<i32>): {body} }}) : '
        "(tensor<i32>) -> tensor<i32>"
    )


def branches(one: str, result: str = "tensor<3xi32>") -> str:
    return f'"stablehlo.if"(%p) ({{ {one} }}, {{ stablehlo.return %v : tensor<3xi32> }}) : (tensor<i1>) -> {result}'


def convolution(window_: str, groups: int = 1) -> str:
    return (
        f"stablehlo.convolution(%l, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window_}}} "
        f"{{batch_group_count = {groups} : i64, feature_group_count = 1 : i64}} : (tensor<2x3x2xi32>, tensor<2x2x4xi32>) "
        "-> tensor<2x2x4xi32>"
    )


NOTHING, NUMBER, FLOAT = "stablehlo.return", "stablehlo.return %i : tensor<i32>", "stablehlo.return %b : tensor<f32>"
TRUTH = "stablehlo.return %p : tensor<i1>"
ONE = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
LIST = "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
UNLIKE = "are incompatible with return type(s) of operation"

ROWS = (
    (reduce(result="tensor<3xi32>"), f"'stablehlo.reduce' op inferred type(s) 'tensor<2xi32>' {UNLIKE} 'tensor<3xi32>'"),
    (reduce(init="%b"), "The element-type of reduction-region's result type at index 0 is expected to be promotable from "
     "the op's corresponding init-value element-type: 'tensor<i32>' vs 'tensor<f32>'"),
    (reduce(init="%v"), "The shape of reduction-region's result type at index 0 differs from the op's corresponding "
     "init-value type: 'tensor<i32>' vs 'tensor<3xi32>'"),
    (reduce(NUMBER, "%x: tensor<i32>"), "Reduction-region must take 2 parameters, but takes 1 parameter(s)"),
    (reduce(NOTHING), "The reduction-region expected to return some value(s)"),
    (reduce(FLOAT), "The type of reduction-region's parameter at index 0 is different than the corresponding result type: "
     "'tensor<i32>' vs 'tensor<f32>'"),
    (window("window_dimensions = array<i64: 0>"),
     "expects window to have positive value for 0-th window dimension, but got 0."),
    (window("window_dimensions = array<i64: 2>, padding = dense<0> : tensor<2x2xi64>"),
     "expects padding-entries to have same dimension-size as size of window dimensions (1), but got: 2."),
    (window("window_dimensions = array<i64: 2>, padding = dense<0> : tensor<1x2xi32>"), "'stablehlo.reduce_window' op "
     "attribute 'padding' failed to satisfy constraint: 64-bit signless integer elements attribute"),
    (sort(NUMBER), "comparator must return tensor<i1> but got 'tensor<i32>'"),
    (sort(NOTHING), "comparator must return single output but got 0"),
    (sort(TRUTH, "%x: tensor<f32>, %y: tensor<f32>"),
     "comparator block argument #0 should be of type 'tensor<i32>' but got 'tensor<f32>'"),
    (sort(result="tensor<2xi32>"), "'stablehlo.sort' op requires the same shape for all operands and results"),
    ('"stablehlo.sort"() ({ stablehlo.return %p : tensor<i1> }) : () -> tensor<3xi32>',
     "'stablehlo.sort' op expected 1 or more operands, but found 0"),
    (map_(NOTHING), "computation must return single output, but got: 0"),
    (map_(FLOAT), f"'stablehlo.map' op inferred type(s) 'tensor<3xf32>' {UNLIKE} 'tensor<3xi32>'"),
    (map_(NUMBER, PAIR), "expects number of operands to match the arity of map computation, but got: 1 and 2"),
    (scatter(ONE, NOTHING), "The reduction-region expected to return some value(s)"),
    (scatter("index_vector_dim = 1"), "Expects rank-of operand to match size-of('update_window_dims') + "
     "size-of('inserted_window_dims') + size-of('input_batching_dims') i.e. 0 but got 1."),
    (scatter(ONE.replace("dims = [0], i", "dims = [5], i")),
     "Expects each element of scatter_dims_to_operand_dims to be in range [0, rank-of('operand')) i.e. [0, 1). got: 5."),
    (scatter(ONE.replace("[0], i", "[0, 0], i")), "Scatter op has 2 elements in scatter_dims_to_operand_dims and the bound "
     "of dimension index_vector_dim=1 of scatter_indices is 1. These two numbers must be equal."),
    (gather(LIST, 2), "Expects that for each dim in collapsed_slice_dims, slice_sizes[dim] should be <= 1, but got 2"),
    (gather(LIST.replace("map = [0]", "map = [3]")),
     "Expects each element of start_index_map to be in range [0, rank-of('operand')) i.e. [0, 1). got: 3."),
    (gather("offset_dims = [5], start_index_map = [0], index_vector_dim = 1", result="tensor<3x1xi32>"),
     "Expects each element of offset_dims to be in range [0, implied-result-rank) i.e. [0, 2). got: 5."),
    (pool(NUMBER), "expects the return-type of select-region to be tensor<i1>, but got: 'tensor<i32>'"),
    (pool(LESS, "window_dimensions = array<i64: 2>"), "expects source-type to be 'tensor<2xi32>', but got'tensor<3xi32>'"),
    (loop(NUMBER), "expect condition block return a zero-ranked tensor of i1 but got 'tensor<i32>'"),
    (loop(NOTHING), "expect condition body returns a single value but got 0"),
    (loop(TRUTH, FLOAT), "expect operands to be compatible with body block return types but got 'tensor<i32>' vs "
     "'tensor<f32>'"),
    (loop(TRUTH, arguments="%x: tensor<f32>"),
     "expect operands to be compatible with condition block arguments but got 'tensor<i32>' vs 'tensor<f32>'"),
    (branches(FLOAT), "branch 0 and branch 1 have mismatched return types: 'tensor<f32>' vs 'tensor<3xi32>'"),
    (branches("stablehlo.return %v : tensor<3xi32>", "tensor<3xf32>"),
     f"'stablehlo.if' op inferred type(s) 'tensor<3xi32>' {UNLIKE} 'tensor<3xf32>'"),
    (branches("^bb0(%q: tensor<i32>): stablehlo.return %v : tensor<3xi32>"),
     "branch 0 must have 0 arguments, but found 1"),
    ('"stablehlo.case"(%v) ({ stablehlo.return %v : tensor<3xi32> }) : (tensor<3xi32>) -> tensor<3xi32>',
     "operand should be rank 0 tensor but got rank 1"),
    (convolution("stride = [0]"), "expects window to have positive stride for 0-th window dimension, but got 0."),
    (convolution("reverse = [true, false]"),
     "expects window-reversal to have same dimension-size as size of window dimensions (1), but got: 2."),
    (convolution("", 2), "inferred shape '[1, 2, 4]' is incompatible with return type of operation 'tensor<2x2x4xi32>'"),
    ("stablehlo.reduce(%a init: %i) applies stablehlo.subtract across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> "
     "tensor<2xi32>", "custom op 'stablehlo.reduce' expected the inner-op to be a commutative binary-op from the "
     "stablehlo dialect, with zero region, producing single result"),
    ("stablehlo.get_dimension_size %f, dim = 1 : (tensor<3xf32>) -> tensor<i32>",
     "requires dimension attribute in range [0, 1); found (1)"),
    ("stablehlo.reshape %v : (tensor<3xi32>) -> tensor<3xf32>",
     "'stablehlo.reshape' op requires compatible element types for all operands and results"),
    ("stablehlo.reverse %v, dims = [0] : (tensor<3xi32>) -> tensor<3xf32>",
     "'stablehlo.reverse' op requires the same element type for all operands and results"),
    ("stablehlo.dynamic_slice %v, %v, sizes = [1] : (tensor<3xi32>, tensor<3xi32>) -> tensor<1xi32>", "'stablehlo."
     "dynamic_slice' op operand #1 must be variadic of 0D tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<3xi32>'"),
    ('"stablehlo.slice"(%v) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1, 1>}> : '
     "(tensor<3xi32>) -> tensor<2xi32>",
     "'stablehlo.slice' op failed to verify that all of {start_indices, limit_indices, strides} have same size"),
    ("stablehlo.dot_general %v, %v, contracting_dims = [0] x [0], precision = [HIGH, HIGH, HIGH] : (tensor<3xi32>, "
     "tensor<3xi32>) -> tensor<i32>", "expects precision config to be empty or have <= 2 elements, got 3"),
)  # fmt: skip


def module(op: str) -> str:
    return f"func.func @f({VALUES}) {{\n  %0 = {op}\n  return\n}}"


def test_regions_and_dimensions_that_break_a_rule() -> None:
    wrong = []
    for op, message in ROWS:
        try:
            hu.load(module(op))
        except HalfulpError as error:
            if message not in str(error):
                wrong.append((op, message, str(error)))
        else:
            wrong.append((op, message, "accepted"))
    assert not wrong, wrong


@pytest.mark.jax
def test_stablehlo_itself_says_so() -> None:
    reference = Reference()
    wrong = [(op, said) for op, message in ROWS if (said := reference.error(module(op))) != message]
    reference.close()
    assert not wrong


def test_large_numbers_are_no_reason_to_fail() -> None:
    """A window larger than any array has no place, and padding beyond memory is refused."""
    text = f"""func.func @f(%v: tensor<3xi32>, %i: tensor<i32>) -> tensor<0xi32> {{
      %0 = "stablehlo.reduce_window"(%v, %i) <{{window_dimensions = array<i64: 9223372036854775807>}}> ({{
        ^bb0({PAIR}): {ADD} }}) : (tensor<3xi32>, tensor<i32>) -> tensor<0xi32>
      return %0 : tensor<0xi32> }}"""
    numbers = hu.run(
        "func.func @f() -> tensor<3xi32> { %0 = stablehlo.iota dim = 0 : tensor<3xi32> return %0 : tensor<3xi32> }"
    )
    (zero,) = hu.run(
        "func.func @f() -> tensor<i32> { %0 = stablehlo.constant dense<0> : tensor<i32> return %0 : tensor<i32> }"
    )
    (found,) = hu.run(text, *numbers, zero)
    assert found.shape == (0,)
    wide = text.replace("9223372036854775807>", "2>, padding = dense<[[100000000000, -99999999999]]> : tensor<1x2xi64>")
    assert hu.run(wide.replace("tensor<0xi32>", "tensor<3xi32>"), *numbers, zero)[0].numpy().tolist() == [0, 0, 0]
    wide = wide.replace("-99999999999", "0").replace("tensor<0xi32>", "tensor<100000000002xi32>")
    with pytest.raises(hu.errors.LimitExceeded):
        hu.run(wide, *numbers, zero)
    text = "func.func @f(%v: tensor<f32>) -> tensor<f32> { %0 = stablehlo.reduce_precision %v, format = e2147483647m2147483647 : tensor<f32> return %0 : tensor<f32> }"
    assert float(hu.run(text, np.float32(1.5))[0].numpy()) == 1.5
