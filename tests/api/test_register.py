"""Registration: ops, conversions and functions of users."""

import numpy as np
import pytest

import halfulp as hu


def test_a_users_own_op() -> None:
    hu.register.op(
        "test_own.scale",
        lambda x, factor: x.numpy() * factor.value,
        operands=["x"],
        assembly="$x attr-dict `:` type($result)",
        traits=[hu.register.Trait.SAME_OPERANDS_AND_RESULT_TYPE],
    )
    text = """func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = test_own.scale %x {factor = 3 : i32} : tensor<2xi32>
      return %0 : tensor<2xi32>
    }"""
    module = hu.parse(text)
    assert hu.run(module, np.array([1, 2], np.int32))[0].numpy().tolist() == [3, 6]
    assert "test_own.scale %arg0 {factor = 3 : i32} : tensor<2xi32>" in hu.print_module(module)
    with pytest.raises(ValueError, match=r"test_own\.scale is already registered"):
        hu.register.op("test_own.scale", lambda x: x, operands=["x"])
    with pytest.raises(ValueError, match=r"does not have the form dialect\.mnemonic"):
        hu.register.op("scale", lambda x: x)


def test_a_users_op_that_returns_the_wrong_thing() -> None:
    hu.register.op("test_own.wrong", lambda x: np.zeros(3), operands=["x"])
    text = 'func.func @main(%x: i8) -> i8 { %0 = "test_own.wrong"(%x) : (i8) -> i8\n return %0 : i8 }'
    with pytest.raises(hu.TypeMismatch, match=r"result 0 of the function behind 'test_own.wrong': expected 'i8'"):
        hu.run(text, 1)


def test_a_users_conversion() -> None:
    hu.register.cast("!test.pair", "i16", lambda pair: pair)
    hu.register.cast(["i8", "i8"], "i16", lambda low, high: np.int16(low.item() + 256 * high.item()))
    text = """func.func @main(%a: i8, %b: i8) -> i16 {
      %0 = builtin.unrealized_conversion_cast %a, %b : i8, i8 to i16
      return %0 : i16
    }"""
    assert hu.run(text, 1, 2)[0].item() == 513


def test_a_declaration_bound_to_a_python_function() -> None:
    text = """
    func.func private @host(i32, tensor<2xf32>) -> (i32, tensor<2xf32>)
    func.func @main(%n: i32, %x: tensor<2xf32>) -> (i32, tensor<2xf32>) {
      %0:2 = call @host(%n, %x) : (i32, tensor<2xf32>) -> (i32, tensor<2xf32>)
      return %0#0, %0#1 : i32, tensor<2xf32>
    }"""
    x = np.array([1, 2], np.float32)
    with pytest.raises(hu.Unsupported, match="'@host' is a declaration without a body"):
        hu.run(text, 1, x)
    bound = {"host": lambda n, t: (n.item() + 1, t.numpy() * np.float32(2))}
    n, y = hu.run(text, 1, x, externals=bound)
    assert (n.item(), y.numpy().tolist()) == (2, [2, 4])
    with pytest.raises(hu.TypeMismatch, match=r"bound to @host returned 1 values; 2 are declared"):
        hu.run(text, 1, x, externals={"host": lambda n, t: n})
    hu.register.external("test_host_square", lambda n: n.item() ** 2)
    assert hu.run("func.func private @test_host_square(i32) -> i32", 5, function="test_host_square")[0].item() == 25


def test_unregistered_ops_are_kept_and_unsupported_to_run() -> None:
    text = 'func.func @main(%x: i8) -> i8 {\n  %0 = "foo.bar"(%x) {a = 1 : i8} : (i8) -> i8\n  return %0 : i8\n}'
    module = hu.load(text)
    assert '"foo.bar"(%arg0) {a = 1 : i8} : (i8) -> i8' in hu.print_module(module)
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'foo.bar': no dialect") as caught:
        hu.run(module, 1)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith("<string>:2:8: error")
