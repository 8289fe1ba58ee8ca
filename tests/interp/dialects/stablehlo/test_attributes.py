"""Each attribute of each op is read when the op is evaluated, or stands here with the reason why it has no effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation

EVERY_OP = (Path(__file__).parents[3] / "data" / "stablehlo" / "every_op.mlir").read_text()

_ACCURACY = "results are rounded once, which every accuracy allows"
_PRECISION = "a permission to compute less exactly; StableHLO's interpreter and XLA on a CPU ignore it too"
_OPTIONAL = "what the composite stands for; its decomposition is what it computes"
_LAYOUT = "how values lie in the memory of a device"
_HOST = "of send and recv alone, the type of the channel says the same, which the verifier checks"
NO_EFFECT = {
    **{
        (f"stablehlo.{name}", "result_accuracy"): _ACCURACY
        for name in (
            "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt",
            "sine", "sqrt", "tan", "tanh",
        )
    },
    **{
        (name, "precision_config"): _PRECISION
        for name in (
            "chlo.ragged_dot", "stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general",
            "stablehlo.dynamic_conv",
        )
    },
    **{("stablehlo.composite", name): _OPTIONAL for name in ("composite_attributes", "name", "version")},
    ("stablehlo.custom_call", "api_version"): "how a compiled function is called",
    ("stablehlo.custom_call", "backend_config"): "of LAPACK's functions; a user's function gets the operands alone",
    ("stablehlo.custom_call", "called_computations"): "computations for the function, which gets the operands alone",
    ("stablehlo.custom_call", "has_side_effect"): "whether a compiler may drop the call; nothing is dropped here",
    ("stablehlo.custom_call", "output_operand_aliases"): _LAYOUT,
    **{("stablehlo.custom_call", name): _LAYOUT for name in ("operand_layouts", "result_layouts", "result_tilings")},
    ("stablehlo.infeed", "infeed_config"): "the specification gives it no meaning",
    ("stablehlo.infeed", "layout"): _LAYOUT,
    ("stablehlo.outfeed", "outfeed_config"): "the specification gives it no meaning",
    ("stablehlo.map", "dimensions"): "all dimensions in order, which the verifier checks",
    ("stablehlo.recv", "is_host_transfer"): _HOST,
    ("stablehlo.send", "is_host_transfer"): _HOST,
    ("stablehlo.rng", "rng_distribution"): "the op is refused",
    ("stablehlo.sort", "is_stable"): "the order is stable, which is one of those that an unstable sort may give",
    ("chlo.top_k", "is_stable"): "the order is stable, which is one of those that an unstable one may give",
    ("chlo.scan", "resultSegmentSizes"): "how many results are outputs; the body says the same",
    ("chlo.scan", "is_associative"): "a permission to compute in another order; it is computed in order",
}  # fmt: skip
"""By op and attribute: why an attribute that evaluation does not read has no effect."""

_REDUCER = (
    "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32> "
    "stablehlo.return %s : tensor<f32> })"
)
_T, _ALL, _PAIRS = "tensor<2x4xf32>", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "dense<[[0, 1], [1, 0]]>"
_LINES = (
    (f'"stablehlo.all_reduce"(%a) <{{{_ALL}}}> {_REDUCER}', f"({_T}) -> {_T}"),
    (f'"stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {_ALL}}}>', f"({_T}) -> tensor<4x4xf32>"),
    (
        f'"stablehlo.all_to_all"(%a) <{{concat_dimension = 0 : i64, {_ALL}, split_count = 2 : i64, '
        "split_dimension = 1 : i64}>",
        f"({_T}) -> tensor<4x2xf32>",
    ),
    (
        f'"stablehlo.reduce_scatter"(%a) <{{{_ALL}, scatter_dimension = 1 : i64}}> {_REDUCER}',
        f"({_T}) -> tensor<2x2xf32>",
    ),
    (f'"stablehlo.collective_permute"(%a) <{{source_target_pairs = {_PAIRS} : tensor<2x2xi64>}}>', f"({_T}) -> {_T}"),
    (f'"stablehlo.collective_broadcast"(%a) <{{{_ALL}}}>', f"({_T}) -> {_T}"),
    (f'"stablehlo.collective_reduce"(%a) <{{{_ALL}}}> {_REDUCER}', f"({_T}) -> {_T}"),
    (f'"stablehlo.cross-replica-sum"(%a) <{{{_ALL}}}>', f"({_T}) -> {_T}"),
)
_CHANNEL = (
    f"<{{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = {_PAIRS} : "
    "tensor<2x2xi64>}>"
)
PROCESSES = f"""module {{
  func.func private @p(%a: {_T}, %t: !stablehlo.token) -> {_T} {{
    {"".join(f"%{k} = {op} : {types}" + chr(10) for k, (op, types) in enumerate(_LINES))}
    %u = "stablehlo.send"(%a, %t) {_CHANNEL} : ({_T}, !stablehlo.token) -> !stablehlo.token
    %r:2 = "stablehlo.recv"(%u) {_CHANNEL} : (!stablehlo.token) -> ({_T}, !stablehlo.token)
    return %r#0 : {_T}
  }}
  func.func @main(%a: {_T}) -> ({_T}, {_T}) {{
    %t = stablehlo.create_token : !stablehlo.token
    %b = stablehlo.negate %a : {_T}
    %r:2 = "interpreter.run_parallel"(%a, %t, %b, %t) {{programs = [[@p], [@p]]}} :
      ({_T}, !stablehlo.token, {_T}, !stablehlo.token) -> ({_T}, {_T})
    return %r#0, %r#1 : {_T}, {_T}
  }}
}}"""
OTHERS = f"""func.func @main(%a: {_T}, %state: tensor<2xui64>, %i: tensor<2xi64>) {{
  %0:2 = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %1:2 = chlo.top_k(%a, k = 2) : {_T} -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %2 = "chlo.constant_like"(%a) <{{value = 2.0 : f32}}> : ({_T}) -> {_T}
  %c = stablehlo.constant dense<0.0> : tensor<2xf32>
  %4:2 = chlo.scan(%a) inits (%c) dimension=1 {{
    ^bb0(%e: tensor<2xf32>, %k: tensor<2xf32>):
      %s = stablehlo.add %k, %e : tensor<2xf32>
      stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>
  }} : ({_T}, tensor<2xf32>) -> ({_T}, tensor<2xf32>)
  %w = stablehlo.constant dense<1.0> : tensor<2x4x3xf32>
  %5 = "chlo.ragged_dot"(%a, %w, %i) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1],
    rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}}> :
    ({_T}, tensor<2x4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}}"""

Read = set[tuple[str, str]]


class Recorded(dict[str, Any]):
    """The attributes of an op, which remember which of them were asked for."""

    def __init__(self, op: Operation, read: Read) -> None:
        super().__init__(op.properties)
        self._name, self._read = op.name, read

    def __getitem__(self, name: str) -> Any:
        self._read.add((self._name, name))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._read.add((self._name, name))
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self._read.add((self._name, str(name)))
        return super().__contains__(name)


def walk(op: Operation) -> Iterator[Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walk(inner)


def argument(type_: ty.Type) -> Any:
    shape = tuple(1 if size is None else size for size in ty.shape_of(type_) or ())
    element = ty.element_type(type_)
    count = int(np.prod(shape))
    if isinstance(element, ty.ComplexType):
        return np.ones(shape, np.complex64)
    width = 8 if "quant" in str(element) else max(8, ty.width_of(element))
    return hu.Value.from_bits((np.arange(count) % 2).astype(f"u{width // 8}").reshape(shape), type_)


def asked(text: str, read: Read, declared: Read) -> list[str]:
    """Run each function of a module; return the ops of which all attributes count as asked for."""
    module = hu.load(text)
    functions = []
    for op in list(walk(module.operation)):
        if op.definition is not None and op.name.startswith(("stablehlo.", "chlo.")):
            declared |= {(op.name, each.name) for each in op.definition.properties}
            op.read_properties = Recorded(op, read)
        if op.name == "func.func" and op.regions[0].blocks:
            functions.append(op)
    stopped = []
    for function in functions:
        name = function.symbol_name
        try:
            hu.run(module, *(argument(each.type) for each in function.regions[0].blocks[0].arguments), function=name)
        except (HalfulpError, TypeError) as error:
            stopped.append(f"{name}: {str(error).splitlines()[0]}")
    return stopped


def test_attributes_have_an_effect_or_a_reason_why_they_have_none() -> None:
    read: Read = set()
    declared: Read = set()
    asked(EVERY_OP, read, declared)
    assert not [each for each in asked(PROCESSES, read, declared) if not each.startswith("p:")]
    assert not asked(OTHERS, read, declared)
    unread = declared - read
    assert sorted(unread - NO_EFFECT.keys()) == []
    assert sorted(NO_EFFECT.keys() - unread) == []


def test_the_programs_have_every_op_with_attributes() -> None:
    registry = default_registry()
    text = EVERY_OP + PROCESSES + OTHERS
    missing = [
        op.name
        for dialect in ("stablehlo", "chlo")
        for op in (registry.lookup(name) for name in registry.dialects[dialect].ops)
        if op is not None and op.properties and f"{op.name}" not in text
    ]
    # Of one declaration each, with the attributes of the ops that they are made of.
    assert not [name for name in missing if not name.startswith("chlo.broadcast_")], missing


@pytest.mark.parametrize(
    ("attribute", "indices", "message"),
    [
        ("unique_indices = true", [0, 1, 1], r"several updates go to the element \[1\]"),
        ("indices_are_sorted = true", [2, 1, 3], r"the start \[1\] comes after \[2\]"),
    ],
)
def test_a_wrong_promise_about_indices_is_undefined(attribute: str, indices: list[int], message: str) -> None:
    text = f"""func.func @main(%x: tensor<4xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<4xf32> {{
      %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, {attribute}}}> {_REDUCER} :
        (tensor<4xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }}"""
    x, u = np.zeros(4, np.float32), np.ones(3, np.float32)
    given = np.array(indices, np.int32)[:, np.newaxis]
    with pytest.raises(hu.UndefinedBehavior, match=message):
        hu.run(text, x, given, u)
    expected = np.zeros(4, np.float32)
    np.add.at(expected, indices, 1)
    for profile in ("stablehlo-interpreter", "xla-cpu"):
        assert np.array_equal(hu.run(text, x, given, u, profile=profile)[0].numpy(), expected)
    for true in ([0, 1, 3], [1, 2, 3], [1, 7, 7]):  # what lies outside goes nowhere
        hu.run(text, x, np.array(true, np.int32)[:, np.newaxis], u)


def test_gather_with_a_wrong_promise_is_undefined() -> None:
    text = """func.func @main(%x: tensor<2x4xf32>, %i: tensor<2x3x1xi32>) -> tensor<2x3xf32> {
      %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
        operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
        slice_sizes = array<i64: 1, 1>, indices_are_sorted = true}> : (tensor<2x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3xf32>
      return %r : tensor<2x3xf32>
    }"""
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    sorted_ = np.array([[1, 2, 2], [0, 3, 9]], np.int32)  # in each batch; 9 is moved to 3
    assert hu.run(text, x, sorted_[..., np.newaxis])[0].numpy().tolist() == [[1, 2, 2], [4, 7, 7]]
    with pytest.raises(hu.UndefinedBehavior, match="indices_are_sorted"):
        hu.run(text, x, sorted_[:, ::-1, np.newaxis].copy())


@pytest.mark.parametrize(("hint", "size"), [("known_expanding_dimensions", 3), ("known_nonexpanding_dimensions", 1)])
def test_a_wrong_hint_about_a_broadcast_is_undefined(hint: str, size: int) -> None:
    text = f"""func.func @main(%x: tensor<?xf32>, %s: tensor<1xi32>) -> tensor<?xf32> {{
      %r = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{{broadcast_dimensions = array<i64: 0>, {hint} = array<i64: 0>}}> :
        (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }}"""
    wrong, right = (np.ones(count, np.float32) for count in (size, 4 - size))
    sizes = np.array([3], np.int32)
    with pytest.raises(hu.UndefinedBehavior, match=hint):
        hu.run(text, wrong, sizes)
    for given, profile in ((wrong, "xla-cpu"), (right, "stablehlo")):
        assert hu.run(text, given, sizes, profile=profile)[0].numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("pairs", [[[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0], [2, 1]], [[0, 1], [1, 0], [2, 2]]])
def test_pairs_say_who_receives_what_was_sent(pairs: list[list[int]]) -> None:
    line, token = "tensor<i64>", "!stablehlo.token"
    handle = (
        f"<{{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<{pairs}> : "
        "tensor<3x2xi64>}>"
    )
    text = f"""module {{
      func.func private @p(%a: {line}, %t: {token}) -> {line} {{
        %u = "stablehlo.send"(%a, %t) {handle} : ({line}, {token}) -> {token}
        %r:2 = "stablehlo.recv"(%u) {handle} : ({token}) -> ({line}, {token})
        return %r#0 : {line}
      }}
      func.func @main() -> ({line}, {line}, {line}) {{
        %t = stablehlo.create_token : {token}
        %a = stablehlo.constant dense<10> : {line}
        %b = stablehlo.constant dense<11> : {line}
        %c = stablehlo.constant dense<12> : {line}
        %r:3 = "interpreter.run_parallel"(%a, %t, %b, %t, %c, %t) {{programs = [[@p], [@p], [@p]]}} :
          ({line}, {token}, {line}, {token}, {line}, {token}) -> ({line}, {line}, {line})
        return %r#0, %r#1, %r#2 : {line}, {line}, {line}
      }}
    }}"""
    found = [int(value.numpy()) for value in hu.run(text, function="main")]
    assert found == [10 + source for source, _ in sorted(pairs, key=lambda pair: pair[1])]
