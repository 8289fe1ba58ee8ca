"""Shardy's attributes and ops in what JAX writes: read, printed, written as bytecode, and run on one device."""

from __future__ import annotations

import numpy as np
import pytest
from stablehlo_reference import Reference

import halfulp as hu

SHARDED = """module {
  sdy.mesh @m = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  sdy.mesh @none = <[]> {stablehlo.mesh = {axes = []}}
  func.func @f(%arg0: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}p1, {}, {?}], replicated={"y":(1)2}>}) -> (tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}, {}], unreduced={"x"}>}) {
    %0 = sdy.sharding_constraint %arg0 <@m, [{"y":(1)2}, {}, {?}p3]> : tensor<8x8x8xf32>
    %1 = sdy.reshard %0 <@m, [{}, {"y"}, {}], unreduced={"x"}> : tensor<8x8x8xf32>
    %2 = sdy.sharding_constraint %1 <mesh<["x"=2]>, [{}, {"x"}, {}]> : tensor<8x8x8xf32>
    %3 = stablehlo.abs %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk, l])->([i, jk, l]) {i=8, j=2, k=4, l=8} permutation={k}>} : tensor<8x8x8xf32>
    return %3 : tensor<8x8x8xf32>
  }
}
"""
"""As Shardy prints it; its verifier accepts it."""


def test_shardings_are_kept() -> None:
    module = hu.parse(SHARDED)
    assert hu.print_module(module) == SHARDED
    assert hu.print_module(hu.read_bytecode(hu.write_bytecode(module))) == SHARDED
    array = np.arange(-256, 256, dtype=np.float32).reshape(8, 8, 8)
    assert np.array_equal(hu.run(module, array)[0].numpy(), abs(array))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('@m, [{"x"}, {}, {}], over={"y"}', "expected replicated or unreduced"),
        ('@m, [{"x" "y"}, {}, {}]', "expected"),
        ("3, [{}, {}, {}]", "expected|constraint"),
    ],
)
def test_wrong_shardings(text: str, message: str) -> None:
    written = SHARDED.replace('@m, [{"y":(1)2}, {}, {?}p3]', text)
    with pytest.raises(hu.errors.HalfulpError, match=message):
        hu.parse(written)


# --- manual computations ----------------------------------------------------------------------------------------------

PRODUCT = """module {
  sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[3, 1, 0, 2, 6, 7, 5, 4]>
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<8xui32>) {
    %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"y", "x"}]>] manual_axes={"x", "y"} (%arg2: tensor<2x2xf32>, %arg3: tensor<2x3xf32>) {
      %1 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[3, 1, 0, 2], [6, 7, 5, 4]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %5 = stablehlo.add %arg4, %arg5 : tensor<f32>
        %6 = sdy.sharding_constraint %5 <@mesh, []> : tensor<f32>
        stablehlo.return %6 : tensor<f32>
      }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %3 = stablehlo.partition_id : tensor<ui32>
      %4 = stablehlo.reshape %3 : (tensor<ui32>) -> tensor<1xui32>
      sdy.return %2, %4 : tensor<2x3xf32>, tensor<1xui32>
    } : (tensor<4x8xf32>, tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<8xui32>)
    return %0#0, %0#1 : tensor<4x3xf32>, tensor<8xui32>
  }
}
"""
"""As JAX writes `jax.shard_map` of a sum of products over one axis, and the numbers of the devices."""
DOUBLED = """module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a":(2)2}]>] out_shardings=[<@mesh, [{"a":(2)2}]>] manual_axes={"a"} (%arg1: tensor<4xf32>) {
      %1 = stablehlo.add %arg1, %arg1 : tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


def test_a_manual_computation_runs_on_all_devices() -> None:
    a, b = np.arange(32, dtype=np.float32).reshape(4, 8), np.arange(24, dtype=np.float32).reshape(8, 3)
    module = hu.parse(PRODUCT)
    product, devices = hu.run(module, a, b)
    assert np.array_equal(product.numpy(), a @ b)
    # The part of the device at [x, y] of the mesh is the one with the number 2 * y + x.
    assert devices.tolist() == [3, 6, 1, 7, 0, 5, 2, 4]
    thirds = a / 3
    error = hu.trace(PRODUCT, thirds, b / 7, shadow=True).errors
    assert error is not None
    assert 0 < error.worst(1)[0].effect_ulp < 8
    array = np.arange(8, dtype=np.float32)
    assert np.array_equal(hu.run(DOUBLED, array)[0].numpy(), 2 * array)
    for text in (PRODUCT, DOUBLED):
        module = hu.parse(text)
        assert hu.print_module(module) == text
        assert hu.print_module(hu.read_bytecode(hu.write_bytecode(module))) == text
        assert hu.print_module(hu.parse(hu.print_module(module, generic=True))) == text


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


WRONG = (
    (replaced(DOUBLED, ("<@mesh", "<@other")), "op operand - unknown mesh: @other"),
    (replaced(DOUBLED, ('manual_axes={"a"}', 'manual_axes={"a", "c"}')), 'op unknown manual axis: "c"'),
    (replaced(DOUBLED, ('in_shardings=[<@mesh, [{"a":(2)2}]>]', "in_shardings=[]")),
     "op operand shardings don't match number of values: 0 shardings vs 1 values"),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a":(2)2}, {}')), "op operand - sharding doesn't match tensor rank: 2 != 1"),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"b", "a"}')),
     "op operand sharding at index 0 must have all manual axes come before free axes in its dimension sharding at index 0. "
     'Saw manual axis "a" after free axis "b"'),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a":(2)3}')),
     "op operand - sub-axis next pre-size 6 doesn't divide the size of the full axis 4: \"a\":(2)3"),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a":(1)4}')), 'op operand - sub-axis size is equal to the full axis size: "a":(1)4'),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a":(0)2}')), 'op operand - sub-axis pre-size must be at least 1: "a":(0)2'),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a":(2)1}')), 'op operand - sub-axis sizes must be greater than 1: "a":(2)1'),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a", "a"}')), 'op operand - duplicate axis ref: "a"'),
    (replaced(DOUBLED, ("8xf32", "7xf32")), "op operand dimension size 7 is not divisible by the manual axes size 2"),
    (replaced(DOUBLED, ('{"a":(2)2}', '{"a"}')),
     "op operand shape, corresponding sharding, and region operand shape at index 0 must match. Expected local shape "
     "'tensor<2xf32>', actual local shape 'tensor<4xf32>'"),
    (replaced(DOUBLED, ("(%arg1: tensor<4xf32>)", "(%arg1: tensor<4xf32>, %arg2: tensor<4xf32>)")),
     "op number of op operands and region operands must match. Op has 1 op operands and 2 region operands"),
)  # fmt: skip


def test_wrong_manual_computations() -> None:
    for text, message in WRONG:
        with pytest.raises(hu.errors.VerifyError) as caught:
            hu.parse(text)
        assert caught.value.message == f"'sdy.manual_computation' {message}"


MESHES = (
    ('["a"=2, "b"=0]', "axis size must be at least 1, got: 0"),
    ('["a"=2, "b"=2, "a"=4]', 'duplicate axis name: "a"'),
    ("[], device_ids=[-1]", "device id must be non-negative, got: -1"),
    ("[], device_ids=[1, 0]", "axes is empty and device_ids has more than one element"),
    ('["a"=2], device_ids=[0]', "total product of axis sizes must match total number of device ids, got: 2 != 1"),
    ('["a"=2], device_ids=[2, 1]', "sorted device ids must be iota(product(axes)), got: 1, 2"),
)


def test_wrong_meshes() -> None:
    for mesh, message in MESHES:
        with pytest.raises(hu.errors.ParseError) as caught:
            hu.parse(f"sdy.mesh @m = <{mesh}>")
        assert caught.value.message == message
    assert 'sdy.mesh @m = <["a"=2]>' in hu.print_module(hu.parse('sdy.mesh @m = <["a"=2], device_ids=[0, 1]>'))


def test_manual_computations_that_do_not_run() -> None:
    array = np.arange(8, dtype=np.float32)
    body = DOUBLED[DOUBLED.index("    %0 =") : DOUBLED.index("    return")]
    inner = replaced(body, ("%0", "%2"), ("%1", "%3"), ("(%arg0", "(%arg1"), ("(%arg1:", "(%arg2:"), ("%arg1, %arg1", "%arg2, %arg2"),
                     ('{"a":(2)2}', "{}"), ('{"a"}', '{"b"}'), ("8xf32", "4xf32"))  # fmt: skip
    nested = replaced(DOUBLED, ("      sdy.return", f"{inner}      sdy.return"))
    with pytest.raises(hu.errors.Unsupported, match="stands inside of another one"):
        hu.run(nested, array)
    bound = replaced(nested, ('{"b"}', '{"a"}'))
    with pytest.raises(hu.errors.VerifyError, match='axis "a" which is already bound'):
        hu.parse(bound)
    unreduced = replaced(
        DOUBLED, ('out_shardings=[<@mesh, [{"a":(2)2}]>', 'out_shardings=[<@mesh, [{"a":(2)2}], unreduced={"b"}>')
    )
    with pytest.raises(hu.errors.Unsupported, match="not reduced"):
        hu.run(unreduced, array)
    many = replaced(DOUBLED, ('"b"=2]', '"b"=100000]'))
    with pytest.raises(hu.errors.Unsupported, match="runs on 400000 devices"):
        hu.run(many, array)
    # The sharding of the result says that all devices along x have the same values.
    differing = replaced(PRODUCT, ('<@mesh, [{"y", "x"}]>', '<@mesh, [{"y"}]>'), ("tensor<8xui32>", "tensor<4xui32>"))
    with pytest.raises(hu.errors.UndefinedBehavior, match="they computed different values"):
        hu.run(differing, np.ones((4, 8), np.float32), np.ones((8, 3), np.float32))


@pytest.mark.jax
def test_it_is_the_text_of_shardy() -> None:
    reference = Reference()
    try:
        for text in (SHARDED, PRODUCT, DOUBLED):
            assert reference.printed(text) == text
        for text, message in WRONG:
            assert reference.error(text) == f"'sdy.manual_computation' {message}"
        for mesh, message in MESHES:
            assert message in (reference.error(f"sdy.mesh @m = <{mesh}>") or "")
    finally:
        reference.close()
