"""IREE's wrappers come off: programs as iree-compile 3.13 prints them in generic form, without IREE."""

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.whole_programs.iree_dumps.chains import unwrap
from halfulp.interp.loading import parse_module
from halfulp.interp.verifier import verify

# What `iree-compile --compile-to=input` makes of an ONNX model with a dynamic axis, with one op in place of its own.
FROM_ONNX = """
"builtin.module"() ({
  "util.func"() <{function_type = (!hal.buffer_view, !hal.fence, !hal.fence) -> (!hal.buffer_view, !hal.buffer_view), inlining_policy = #util.inline.never, sym_name = "graph$async"}> ({
  ^bb0(%arg1: !hal.buffer_view, %arg2: !hal.fence, %arg3: !hal.fence):
    %11 = "hal.buffer_view.dim"(%arg1) <{index = 0 : index}> : (!hal.buffer_view) -> index
    %12 = "hal.tensor.import"(%arg1, %11, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, target_encoding = tensor<?x2xf32>}> : (!hal.buffer_view, index, !hal.fence) -> tensor<?x2xf32>
    %13 = "arith.negf"(%12) <{fastmath = #arith.fastmath<none>}> : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %14 = "tensor.from_elements"(%11) : (index) -> tensor<1xindex>
    %23:2 = "hal.tensor.barrier"(%13, %14, %arg3) : (tensor<?x2xf32>, tensor<1xindex>, !hal.fence) -> (tensor<?x2xf32>, tensor<1xindex>)
    %26 = "hal.tensor.export"(%23#0, %11) <{source_encoding = tensor<?x2xf32>}> : (tensor<?x2xf32>, index) -> !hal.buffer_view
    %28 = "hal.tensor.export"(%23#1) <{source_encoding = tensor<1xindex>}> : (tensor<1xindex>) -> !hal.buffer_view
    "util.return"(%26, %28) : (!hal.buffer_view, !hal.buffer_view) -> ()
  }) {iree.abi.model = "coarse-fences", iree.abi.stub} : () -> ()
  "util.func"() <{function_type = (!hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view), sym_name = "graph"}> ({
  ^bb0(%arg0: !hal.buffer_view):
    %0 = "util.null"() : () -> !hal.fence
    %1 = "arith.constant"() <{value = -1 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : index}> : () -> index
    %3 = "hal.devices.get"(%2) : (index) -> !hal.device
    %4 = "hal.fence.create"(%3) <{flags = 0 : i64}> : (!hal.device) -> !hal.fence
    %5:2 = "util.call"(%arg0, %0, %4) <{callee = @graph$async}> : (!hal.buffer_view, !hal.fence, !hal.fence) -> (!hal.buffer_view, !hal.buffer_view)
    %6 = "hal.fence.await"(%1, %4) <{flags = 0 : i64}> : (i32, !hal.fence) -> i32
    "util.return"(%5#0, %5#1) : (!hal.buffer_view, !hal.buffer_view) -> ()
  }) {iree.abi.stub} : () -> ()
}) : () -> ()
"""

FROM_STABLEHLO = """
"builtin.module"() ({
  "util.global"() <{initial_value = dense<[1.0, 2.0]> : tensor<2xf32>, sym_name = "weights", sym_visibility = "private", type = tensor<2xf32>}> : () -> ()
  "util.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2xf32>):
    %0 = "util.global.load"() <{global = @weights}> : () -> tensor<2xf32>
    %1 = "util.optimization_barrier"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "util.call"(%1, %0) <{callee = @helper}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "util.return"(%2) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "util.func"() <{function_type = (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>, sym_name = "helper", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>):
    %0 = "arith.addf"(%arg0, %arg1) <{fastmath = #arith.fastmath<none>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "util.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def unwrapped(text: str) -> hu.Module:
    module = parse_module(text, verify=False)
    unwrap(module)
    verify(module)
    return module


def test_buffer_views_become_tensors_and_fences_go() -> None:
    module = unwrapped(FROM_ONNX)
    assert [(op.name, op.symbol_name) for op in module.body] == [("func.func", "graph")]
    negative, size = hu.run(module, np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    assert str(negative.type) == "tensor<3x2xf32>"
    assert negative.tolist() == [[-1, -2], [-3, -4], [-5, -6]]
    assert size.tolist() == [3]


def test_calls_and_constants_become_those_of_mlir() -> None:
    module = unwrapped(FROM_STABLEHLO)
    assert [op.symbol_name for op in module.body] == ["main", "helper"]
    assert hu.run(module, np.array([10, 20], np.float32))[0].tolist() == [11, 22]


def test_what_is_printed_reads_back() -> None:
    for text in (FROM_ONNX, FROM_STABLEHLO):
        printed = hu.print_module(unwrapped(text))
        assert "util." not in printed
        assert "hal." not in printed
        assert hu.print_module(hu.parse(printed)) == printed


def test_a_global_that_changes_is_not_a_constant() -> None:
    module = unwrapped(FROM_STABLEHLO.replace("<{initial_value", "<{is_mutable, initial_value"))
    with pytest.raises(hu.Unsupported, match=r"util\.global\.load"):
        hu.run(module, np.array([10, 20], np.float32))


def test_an_op_of_iree_that_computes_is_named_when_it_runs() -> None:
    text = FROM_STABLEHLO.replace('"util.optimization_barrier"', '"flow.tensor.clone"')
    with pytest.raises(hu.Unsupported, match=r"flow\.tensor\.clone"):
        hu.run(unwrapped(text), np.array([10, 20], np.float32))
