"""The public API: load, run, eval, convert and registration."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu

ADD = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


# --- load -------------------------------------------------------------------------------------------------------------


def test_load_takes_a_path_text_or_bytes(tmp_path: Path) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(ADD)
    printed = hu.print_module(hu.load(ADD))
    for source in (file, str(file), ADD.encode()):
        assert hu.print_module(hu.load(source)) == printed
    assert hu.load(str(file)).filename == str(file)


def test_load_says_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(hu.InputError, match="cannot read 'missing.mlir': No such file"):
        hu.load("missing.mlir")
    with pytest.raises(hu.InputError, match="Is a directory"):
        hu.load(tmp_path)
    with pytest.raises(hu.InputError, match="null"):
        hu.load("a\0b")
    with pytest.raises(hu.BytecodeError, match=r"<bytes>: error: .* \(at byte \d+\)"):
        hu.load(b"ML\xefR\x0d")
    with pytest.raises(hu.ParseError):
        hu.load(b"\xff\xfe\x00")


# --- run --------------------------------------------------------------------------------------------------------------


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
    assert [hu.run(text, entry=name)[0].item() for name in ("a", "@b", "@m::@f", "m::f")] == [1, 2, 3, 3]
    with pytest.raises(hu.InputError, match=r"which function is to run\? the functions are @a, @b, @c, @m::@f"):
        hu.run(text)
    with pytest.raises(hu.InputError, match="no function 'z'"):
        hu.run(text, entry="z")
    with pytest.raises(hu.InputError, match="the module has no functions"):
        hu.run("module {}")
    only = "func.func private @p() { return }\nfunc.func @q() { return }\nfunc.func private @d()"
    assert hu.run(only) == ()


def test_arguments_that_do_not_fit_name_argument_expected_and_given() -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(hu.TypeMismatch, match=r"@main takes 2 arguments \(tensor<2xf32>, tensor<2xf32>\), but 1 are"):
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


# --- eval -------------------------------------------------------------------------------------------------------------


def test_eval_of_one_op() -> None:
    assert int(hu.eval("arith.addf", 1.375, 2.25, type="f8E4M3FN").bits) == 0x46
    x = np.array([1.0, np.nan], np.float32)
    result = hu.eval("arith.addf", x, x, fastmath="nnan")
    assert result.poisoned.tolist() == [False, True]
    low, high = hu.eval("arith.mului_extended", 200, 200, type="i8")
    assert [int(low.bits), int(high.bits)] == [200 * 200 & 255, 200 * 200 >> 8]


@pytest.mark.parametrize(
    ("op", "operands", "options", "expected"),
    [
        ("arith.cmpi", (np.array([1, 2]), np.array([2, 1])), {"predicate": "slt"}, [True, False]),
        (
            "arith.truncf",
            (np.array([465.0, 1.0], np.float32),),
            {"to": "f8E4M3FN", "rounding": "toward_zero"},
            [448, 1],
        ),
        ("arith.select", (np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0])), {}, [1.0, 4.0]),
        ("arith.extf", (np.array([1.5], ml_dtypes.bfloat16),), {"to": "f64"}, [1.5]),
        ("arith.addi", (1, 2), {"type": "index"}, 3),
        ("arith.select", (True, 1, 2), {"type": "i8"}, 1),
        ("arith.divui", (6, 3), {"type": "i8", "exact": True}, 2),
        ("arith.addi", (5, 3), {"type": "i8", "overflow": "nsw,nuw"}, 8),
        ("quant.qcast", (np.array([1.0, 3.0], np.float32),), {"to": "!quant.uniform<i8:f32, 0.5:1>"}, [3, 7]),
        ("arith.flush_denormals", (1e-45,), {"type": "f32"}, 0.0),
    ],
)
def test_eval_infers_types_and_takes_properties(op: str, operands: Any, options: Any, expected: Any) -> None:
    assert hu.eval(op, *operands, **options).numpy().tolist() == expected


def test_eval_says_what_is_wrong() -> None:
    with pytest.raises(hu.Unsupported, match="no op named 'arith.nonsense'"):
        hu.eval("arith.nonsense", 1)
    with pytest.raises(hu.Unsupported, match=r"'func.return' cannot be evaluated"):
        hu.eval("func.return", 1, type="i8")
    with pytest.raises(hu.VerifyError, match="floating-point-like"):
        hu.eval("arith.addf", 1, 2, type="i32")
    with pytest.raises(hu.VerifyError, match=r"has no property 'fastmath'; it has overflowFlags"):
        hu.eval("arith.addi", 1, 2, type="i32", fastmath="nnan")
    with pytest.raises(hu.VerifyError, match=r"predicate of 'arith.cmpi' is 'lt', but must be one of eq, ne, slt"):
        hu.eval("arith.cmpi", 1, 2, type="i32", predicate="lt")
    with pytest.raises(hu.TypeMismatch, match=r"does not follow from its operands"):
        hu.eval("arith.truncf", 1.0, type="f32")
    with pytest.raises(hu.VerifyError, match="cast incompatible"):
        hu.eval("arith.truncf", 1.0, type="f32", to="f64")
    with pytest.raises(hu.TypeMismatch, match="2 types are given for 1"):
        hu.eval("arith.negf", 1.0, type=["f32", "f32"])
    with pytest.raises(hu.VerifyError, match="predicate"):
        hu.eval("arith.cmpi", 1, 2, type="i32")
    with pytest.raises(hu.HalfulpError):
        hu.eval("arith.addf", 1.0, type="f32")
    with pytest.raises(hu.UndefinedBehavior, match="division by zero"):
        hu.eval("arith.divsi", 1, 0, type="i8")


# --- convert ----------------------------------------------------------------------------------------------------------


def test_convert_between_floats_and_integers() -> None:
    x = np.array([464.0, 465.0, -465.0])
    assert hu.convert(x, "f8E4M3FN").bits.tolist() == [0x7E, 0x7F, 0xFF]
    assert hu.convert(x, to="f8E4M3FN", rounding="toward_zero").bits.tolist() == [0x7E, 0x7E, 0xFE]
    assert hu.convert(x, "f8E4M3FN", profile="ocp-saturate").bits.tolist() == [0x7E, 0x7E, 0xFE]
    assert hu.convert(16777217, "f32").numpy().item() == 16777216.0
    assert hu.convert(np.array([3.7, -3.7]), "i8").numpy().tolist() == [3, -3]
    assert hu.convert(np.array([3.7, -3.7]), "i8", rounding="to_nearest_even").numpy().tolist() == [4, -4]
    assert hu.convert(np.array([300.0, 1.0]), "i8").poisoned.tolist() == [True, False]
    assert hu.convert(np.array([255], np.uint8), "f32", type="ui8").numpy().tolist() == [255.0]
    value = hu.convert([1.0, 2.0], "bf16")
    assert str(hu.convert(value, "f32").type) == "tensor<2xf32>"
    assert hu.convert(np.array([np.nan], np.float32), "f4E2M1FN").origin(0) is not None


def test_convert_from_raw_bits_of_wide_types() -> None:
    one = hu.Value.from_bits(0x3FFF8000000000000000, "f80")
    assert hu.convert(one, "f128").bits.tolist() == [0, 0x3FFF << 48]
    limbs = np.array([[1 << 63, 0x3FFF], [0, 0]], np.uint64)
    assert hu.convert(limbs, "f32", type="f80").numpy().tolist() == [1.0, 0.0]


def test_convert_says_what_is_wrong() -> None:
    with pytest.raises(hu.TypeMismatch, match="cannot convert 'i8' to 'i16'"):
        hu.convert(np.int8(1), "i16")
    with pytest.raises(ValueError, match="rounding is 'nearest', but must be one of to_nearest_even"):
        hu.convert(1.0, "f16", rounding="nearest")
    with pytest.raises(hu.InputError, match="stochastic rounding needs random"):
        hu.convert(1.0, "f16", rounding="stochastic")
    with pytest.raises(hu.TypeMismatch, match="unsigned integers of shape"):
        hu.convert([1.0, 2.0], "f16", rounding="stochastic", random=np.zeros(3, np.uint8))
    with pytest.raises(hu.ParseError):
        hu.convert(1.0, "f7")


def test_stochastic_rounding_compares_the_bits_given_with_the_fraction() -> None:
    # 1 + 1/32 lies a quarter of the way from 1 to 1.125 in f8E4M3FN.
    random = np.arange(256, dtype=np.uint8)
    result = hu.convert(np.full(256, 1 + 1 / 32, np.float32), "f8E4M3FN", rounding="stochastic", random=random)
    assert (result.bits == 0x39).tolist() == [r < 64 for r in range(256)]
    x = np.full(256, 1.0, np.float32)
    y = np.full(256, 2.0**-25, np.float32)
    total = hu.eval("arith.addf", x, y, rounding="stochastic", random=random)
    assert np.count_nonzero(total.numpy() > 1) == 64


# --- registration -----------------------------------------------------------------------------------------------------


def test_a_users_own_op() -> None:
    hu.register_op(
        "test_own.scale",
        lambda x, factor: x.numpy() * factor.value,
        operands=["x"],
        assembly="$x attr-dict `:` type($result)",
        traits=[hu.Trait.SAME_OPERANDS_AND_RESULT_TYPE],
    )
    text = """func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = test_own.scale %x {factor = 3 : i32} : tensor<2xi32>
      return %0 : tensor<2xi32>
    }"""
    module = hu.parse(text)
    assert hu.run(module, np.array([1, 2], np.int32))[0].numpy().tolist() == [3, 6]
    assert "test_own.scale %arg0 {factor = 3 : i32} : tensor<2xi32>" in hu.print_module(module)
    with pytest.raises(ValueError, match=r"test_own\.scale is already registered"):
        hu.register_op("test_own.scale", lambda x: x, operands=["x"])
    with pytest.raises(ValueError, match=r"is not dialect\.mnemonic"):
        hu.register_op("scale", lambda x: x)


def test_a_users_op_that_returns_the_wrong_thing() -> None:
    hu.register_op("test_own.wrong", lambda x: np.zeros(3), operands=["x"])
    text = 'func.func @main(%x: i8) -> i8 { %0 = "test_own.wrong"(%x) : (i8) -> i8\n return %0 : i8 }'
    with pytest.raises(hu.TypeMismatch, match=r"result 0 of the function behind 'test_own.wrong': expected 'i8'"):
        hu.run(text, 1)


def test_a_users_conversion() -> None:
    hu.register_cast("!test.pair", "i16", lambda pair: pair)
    hu.register_cast(["i8", "i8"], "i16", lambda low, high: np.int16(low.item() + 256 * high.item()))
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
    hu.register_external("test_host_square", lambda n: n.item() ** 2)
    assert hu.run("func.func private @test_host_square(i32) -> i32", 5, entry="test_host_square")[0].item() == 25


def test_unregistered_ops_are_kept_and_unsupported_to_run() -> None:
    text = 'func.func @main(%x: i8) -> i8 {\n  %0 = "foo.bar"(%x) {a = 1 : i8} : (i8) -> i8\n  return %0 : i8\n}'
    module = hu.load(text)
    assert '"foo.bar"(%arg0) {a = 1 : i8} : (i8) -> i8' in hu.print_module(module)
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'foo.bar': no dialect") as caught:
        hu.run(module, 1)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith("<string>:2:8: error")


# --- nothing changes silently -----------------------------------------------------------------------------------------


def test_unsigned_arrays_convert_as_unsigned_numbers() -> None:
    assert hu.convert(np.array([255], np.uint8), "f32").numpy().tolist() == [255.0]
    assert hu.convert(np.array([True, False]), "f32").numpy().tolist() == [1.0, 0.0]
    assert hu.convert(np.array([-1], np.int8), "f32").numpy().tolist() == [-1.0]


def test_convert_heeds_the_container_it_is_asked_for() -> None:
    assert str(hu.convert([1.0, 2.0], "vector<2xf16>").type) == "vector<2xf16>"
    with pytest.raises(hu.TypeMismatch, match="shape 2 is not of type 'tensor<3xf16>'"):
        hu.convert([1.0, 2.0], "tensor<3xf16>")


def test_a_float_format_of_ones_own() -> None:
    fmt = hu.FloatFormat(
        "f8E5M3", exponent_bits=5, mantissa_bits=3, bias=15, signed=False, infinities=False, nan=hu.NanEncoding.ALL_ONES
    )
    x = hu.convert([1.3, 1e9, 0.0, -1.0], to=fmt)
    assert repr(x) == "Value(4xf8E5M3=1.25 nan 0 nan)"
    assert repr(hu.eval("arith.addf", x, x)) == "Value(4xf8E5M3=2.5 nan 0 nan)"


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
