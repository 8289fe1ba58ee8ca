"""`run`: results, entries, arguments, options, and what host functions return."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import halfulp as hu

ADD = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def test_run_from_text_returns_a_tuple_of_values() -> None:
    results = hu.run(ADD, np.array([1, 2], np.float32), np.array([3, 4], np.float32))
    assert isinstance(results, tuple)
    assert results[0].numpy().tolist() == [4, 6]
    assert str(results[0].type) == "tensor<2xf32>"


def test_results_have_the_shapes_they_have() -> None:
    text = "func.func @main(%x: tensor<?x?xi8>) -> tensor<?x?xi8> { return %x : tensor<?x?xi8> }"
    (result,) = hu.run(text, np.zeros((2, 3), np.int8))
    assert str(result.type) == "tensor<2x3xi8>"
    assert result == hu.Value.from_numpy(np.zeros((2, 3), np.int8))


CONSTANTS = {
    "elements": "dense<[1, 2]> : tensor<2xi32>",
    "a splat": "dense<1> : tensor<2xi32>",
    "a blob": 'dense<"0x0100000002000000"> : tensor<2xi32>',
    "a resource": "dense_resource<blob> : tensor<2xi32>",
    "limbs": "dense<[1, 2]> : tensor<2xi100>",
    "complex": "dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>",
    "index": "dense<[1, 2]> : tensor<2xindex>",
    "nothing": "dense<> : tensor<0xi32>",
}


@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("index_width", [64, 32])
def test_a_result_cannot_be_made_a_way_into_the_constants(name: str, index_width: Any) -> None:
    constant = CONSTANTS[name]
    type_ = constant.split(" : ")[1]
    module = hu.parse(
        f"func.func @main() -> {type_} {{\n  %0 = arith.constant {constant}\n  return %0 : {type_}\n}}\n"
        '{-# dialect_resources: {builtin: {blob: "0x040000000100000002000000"}} #-}'
    )
    (value,) = hu.run(module, index_width=index_width)
    expected = value.bits.copy()
    array: Any = value.bits
    while isinstance(array, np.ndarray):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        array = array.base
    if name != "complex":
        # Where the natural array needs other bits, it is the caller's own.
        with suppress(ValueError):
            natural = value.numpy()
            natural.setflags(write=True)
            natural[...] = 7
    (again,) = hu.run(module, index_width=index_width)
    assert np.array_equal(again.bits, expected)


def test_entry() -> None:
    text = """
    func.func @a() -> i8 { %0 = arith.constant 1 : i8
      return %0 : i8 }
    func.func @b() -> i8 { %0 = arith.constant 2 : i8
      return %0 : i8 }
    func.func private @c()
    module @m { func.func @f() -> i8 { %0 = arith.constant 3 : i8
      return %0 : i8 } }
    """
    assert [hu.run(text, function=name)[0].item() for name in ("a", "@b", "@m::@f", "m::f")] == [1, 2, 3, 3]
    with pytest.raises(
        hu.errors.InputError, match=r"missing the name of the function: the functions are @a, @b, @c, @m::@f"
    ):
        hu.run(text)
    with pytest.raises(hu.errors.InputError, match="no function 'z'"):
        hu.run(text, function="z")
    with pytest.raises(hu.errors.InputError, match="the module has no functions"):
        hu.run("module {}")
    only = "func.func private @p() { return }\nfunc.func @q() { return }\nfunc.func private @d()"
    assert hu.run(only) == ()


def test_arguments_that_do_not_fit_name_argument_expected_and_given() -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(hu.TypeMismatch, match=r"@main takes 2 arguments \(tensor<2xf32>, tensor<2xf32>\), but 1 is"):
        hu.run(ADD, x)
    with pytest.raises(
        hu.TypeMismatch, match=r"argument 1 of @main: expected 'tensor<2xf32>', got an array of dtype int64"
    ):
        hu.run(ADD, x, np.array([1, 2]))


def test_options_are_checked() -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(ValueError, match="unknown profile 'nonsense'"):
        hu.run(ADD, x, x, profile="nonsense")
    with pytest.raises(ValueError, match="on_ub"):
        hu.run(ADD, x, x, on_ub="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="index_width"):
        hu.run(ADD, x, x, index_width=16)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="denormals is 'flush', but must be one of ieee"):
        hu.run(ADD, x, x, profile="spec,denormals=flush")


def test_profiles_by_name_spelling_and_object() -> None:
    text = "func.func @main(%x: f32) -> f8E4M3FN { %0 = arith.truncf %x : f32 to f8E4M3FN\n return %0 : f8E4M3FN }"
    for profile in ("ocp-saturate", "spec,conversion_overflow=saturate", hu.Profile(conversion_overflow="saturate")):
        assert int(hu.run(text, 1000.0, profile=profile)[0].bits) == 0x7E
    assert int(hu.run(text, 1000.0)[0].bits) == 0x7F


def test_what_a_host_function_returns_is_copied_and_narrowed() -> None:
    kept = np.zeros(2, np.int8)

    def count() -> Any:
        kept[:] += 1
        return kept

    text = """
    func.func private @count() -> tensor<2xi8>
    func.func private @position() -> index
    func.func @main() -> (tensor<2xi8>, tensor<2xi8>, index) {
      %0 = call @count() : () -> tensor<2xi8>
      %1 = call @count() : () -> tensor<2xi8>
      %2 = call @position() : () -> index
      return %0, %1, %2 : tensor<2xi8>, tensor<2xi8>, index
    }"""
    one, two, index = hu.run(text, externals={"count": count, "position": lambda: -1}, index_width=32)
    assert one.numpy().tolist() == [1, 1]
    assert two.numpy().tolist() == [2, 2]
    assert int(index.bits) == 2**32 - 1
    with pytest.raises(
        hu.TypeMismatch, match="result 0 of the function bound to @position: 1099511627776 does not fit"
    ):
        hu.run(text, externals={"count": count, "position": lambda: 2**40}, index_width=32)


def test_an_unknown_location_is_left_out_of_an_error() -> None:
    """JAX's functions have none."""
    module = hu.load("func.func @f(%a: i32) {\n  return\n} loc(unknown)")
    with pytest.raises(hu.TypeMismatch) as caught:
        hu.run(module)
    assert str(caught.value) == "error: @f takes 1 argument (i32), but 0 are given"
