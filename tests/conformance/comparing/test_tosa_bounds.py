"""Bounds of TOSA: verdicts computed by hand from the specification, and those of Arm's verifier beside ours."""

import ctypes
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.command.main import main
from halfulp.conformance.comparing import tosa_bounds
from halfulp.conformance.comparing.check import check
from halfulp.conformance.oracles.tosa_model import TosaModel
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.tosa_rows import TosaRows
from halfulp.interp.ir import types as ty

# --- by hand ----------------------------------------------------------------------------------------------------------


def _unary(op: str, source: str, target: str = "", size: int = 1) -> str:
    made = target or source
    return (
        f"func.func @f(%x: tensor<{size}x{source}>) -> tensor<{size}x{made}> {{\n"
        f"%0 = tosa.{op} %x : (tensor<{size}x{source}>) -> tensor<{size}x{made}>\nreturn %0 : tensor<{size}x{made}>\n}}"
    )


def _binary(op: str, element: str) -> str:
    type_ = f"tensor<1x{element}>"
    return (
        f"func.func @f(%x: {type_}, %y: {type_}) -> {type_} {{\n"
        f"%0 = tosa.{op} %x, %y : ({type_}, {type_}) -> {type_}\nreturn %0 : {type_}\n}}"
    )


@each_row(
    # 1 + 2**-11 is a tie: both neighbours are half an ulp away. The bound of bf16 is a whole ulp.
    (_binary("add", "f16"), (1.0, 2.0**-11), {1.0: True, 1 + 2.0**-10: True, 1 + 2.0**-9: False, 1 - 2.0**-11: False}),
    (_binary("add", "bf16"), (1.0, 2.0**-7), {1.0: True, 1 + 2.0**-6: True, 1 + 3 * 2.0**-7: False}),
    # Between 1 ulp toward zero and 0.5 ulp away from it.
    (_unary("cast", "f32", "f16"), (1 + 2.0**-11 + 2.0**-13,), {1.0: True, 1 + 2.0**-10: True, 1 + 2.0**-9: False}),
    (_unary("cast", "f32", "f16"), (-(1 + 2.0**-12),), {-1.0: True, -(1 + 2.0**-10): False, 1.0: False}),
    # 465 - 32 is below 448, and 465 + 16 above: the largest number and NaN are right.
    (_unary("cast", "f32", "f8E4M3FN"), (465.0,), {448.0: True, np.nan: True, 416.0: False}),
    # 1 ulp of 1/3 in f16 is 2**-12.
    (_unary("reciprocal", "f16"), (3.0,), {1365 / 4096: True, 1366 / 4096: True, 1367 / 4096: False}),
    # Zeros have exact results: the specification's table.
    (_unary("cos", "f16"), (0.0,), {1.0: True, 1 - 2.0**-11: False}),
    # (1 + |x|) 2**-5 around cos(1) = 0.5403.
    (_unary("cos", "f16"), (1.0,), {0.6: True, 0.48: True, 0.605: False, 0.475: False, 0.0: False}),
    # 4 (1 + 2 |x|) 2**-10 of at least 0.5 / (4 (1 + 2 |x|)): near 0, half a unit of 1.
    (_unary("tanh", "f16"), (2.0**-12,), {0.0: True, 7 * 2.0**-13: False, 5 * 2.0**-13: True}),
    # A subnormal operand may be flushed before the sum, so the sum has two references.
    (_binary("add", "f32"), (1.5 * 2.0**-126, 2.0**-127), {2.0**-125: True, 1.5 * 2.0**-126: True, 1.25 * 2.0**-126: False}),
    (_binary("maximum", "f16"), (-0.0, 0.0), {0.0: True, 2.0**-24: False}),
    (_binary("maximum", "f16"), (np.nan, 1.0), {np.nan: True, 1.0: False}),
)  # fmt: skip
def test_single_numbers(program: str, operands: Sequence[float], results: dict[float, bool]) -> None:
    module = hu.parse(program)
    function = module.body[0]
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    given = [hu.convert([x], str(ty.element_type(type_))) for x, type_ in zip(operands, types, strict=True)]
    (result,) = (op.operands[0].type for op in function.walk() if op.name == "func.return")
    for number, ok in results.items():
        found = hu.convert([number], str(ty.element_type(result)))
        (verdict,) = hu.tosa_verdict(module, *given, results=found)
        assert (number, verdict.ok) == (number, ok)


_MATMUL = """func.func @f(%a: tensor<1x1x4xf16>, %b: tensor<1x4x1xf16>) -> tensor<1x1x1xf16> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf16>}> : () -> tensor<1xf16>
  %0 = tosa.matmul %a, %b, %z, %z :
    (tensor<1x1x4xf16>, tensor<1x4x1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x1x1xf16>
  return %0 : tensor<1x1x1xf16>
}"""


def test_dot_products_are_measured_by_the_sum_of_absolute_products() -> None:
    # 1 + 1 + 1 - 3 = 0, of absolute values 6: a unit is 6 * 2**-11, and k is 4, so 8 units are the bound of each
    # element, and 6.4 is that of the mean of the squares.
    row, column = np.ones((1, 1, 4), np.float16), np.array([1, 1, 1, -3], np.float16).reshape(1, 4, 1)
    unit = 6 * 2.0**-11
    for errors, wrong, whole in ((2.5, 0, False), (2.6, 0, True), (8, 0, True), (8.01, 1, True)):
        found = np.full((1, 1, 1), errors * unit, np.float16)
        (verdict,) = hu.tosa_verdict(_MATMUL, row, column, results=found)
        assert (int(verdict.wrong.sum()), bool(verdict.whole)) == (wrong, whole)
        assert verdict.rule == "dot-product"
    np.testing.assert_equal((verdict.least.item(), verdict.most.item()), (-8 * unit, 8 * unit))


def test_without_local_bound_the_largest_element_counts_for_all() -> None:
    text = """func.func @f(%x: tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32> {{
  %w = "tosa.const"() <{{values = dense<1.0> : tensor<1x1x1x1xf32>}}> : () -> tensor<1x1x1x1xf32>
  %z = "tosa.const"() <{{values = dense<0.0> : tensor<1xf32>}}> : () -> tensor<1xf32>
  %0 = tosa.conv2d %x, %w, %z, %z, %z {{acc_type = f32, dilation = array<i64: 1, 1>, local_bound = {local},
    pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}} : (tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>,
    tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x1xf32>
  return %0 : tensor<1x1x2x1xf32>
}}"""
    x = np.array([1024, 1], np.float32).reshape(1, 1, 2, 1)
    near = x.copy()
    near[0, 0, 1, 0] = 1 + 2.0**-20  # 16 units of 1, a 64th of a unit of 1024
    for local in (True, False):
        (verdict,) = hu.tosa_verdict(text.format(local=str(local).lower()), x, results=near)
        assert verdict.ok is not local


def test_inexact_rescale_has_its_own_bound() -> None:
    text = """func.func @f(%x: tensor<1xi32>) -> tensor<1xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %o = "tosa.const"() <{values = dense<-5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.rescale %x, %m, %s, %z, %o {input_unsigned = false, output_unsigned = false, per_channel = false,
    rounding_mode = INEXACT_ROUND, scale32 = true} :
    (tensor<1xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}"""
    # 7 / 2 - 5 = -1.5
    for found, ok in ((-2, True), (-1, True), (-3, False), (0, False)):
        (verdict,) = hu.tosa_verdict(text, np.array([7], np.int32), results=np.array([found], np.int8))
        assert (found, verdict.ok, verdict.rule) == (found, ok, "inexact")


def test_functions_of_several_operators_have_no_bounds() -> None:
    text = _unary("exp", "f32").replace("return", "%1 = tosa.exp %0 : (tensor<1xf32>) -> tensor<1xf32>\nreturn")
    with pytest.raises(hu.Unsupported, match="single operators"):
        hu.tosa_verdict(text, np.ones(1, np.float32), results=np.ones(1, np.float32))


def test_rows_of_vectors_within_the_bounds_are_accepted() -> None:
    vectors = hu.vectors("tosa.cast", "f32", to="f16", operands="normal", n=60)
    made = hu.eval("arith.truncf", vectors["a"], to="f16", rounding="toward_zero")
    found = hu.check(vectors, made, bounds="tosa")
    nearest = vectors.columns_as_codes["result"]
    assert (found.equal, found.found.within) == (True, (made.bits != nearest).sum())
    inputs, every = (vectors.columns_as_codes["a"],), np.ones(60, np.bool_)
    toward = (made.bits - np.uint16(1),)  # more than 1 ulp toward zero, if the operand is not in f16
    inexact = (inputs[0] & 0x1FFF) != 0
    np.testing.assert_array_equal(TosaRows(vectors.computation).within(inputs, toward, every), ~inexact)
    with pytest.raises(hu.Unsupported, match="not an operator of TOSA"):
        hu.check(hu.vectors("arith.addf", "f16", n=5), np.zeros(5, np.uint16), bounds="tosa")


def test_rows_of_a_function_with_one_operator_are_judged() -> None:
    rows = hu.vectors(_MATMUL, n=3, operands="uniform:low=1,high=1.5")  # all sums are in [4, 9)
    right = rows.columns_as_codes["result_0_0_0"]
    assert hu.check(rows, right + np.uint16(1), bounds="tosa").equal
    inputs = tuple(rows.columns_as_codes[column.name] for column in rows.computation.inputs)
    outputs = (right + np.uint16(30), np.zeros(3, np.uint8))
    assert not TosaRows(rows.computation).within(inputs, outputs, np.ones(3, np.bool_)).any()


# --- Arm's tools ------------------------------------------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    """``tosa_tensor_t`` of the verifier library."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int32)),
        ("num_dims", ctypes.c_int32),
        ("data_type", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    )


_KINDS = {"f32": (3, "FP32"), "f16": (2, "FP16"), "bf16": (0, "BF16")}


class _Verifier:
    """The verifier of tosa-tools."""

    def __init__(self) -> None:
        found = find_spec("tosa_reference_model")
        assert found is not None
        assert found.origin is not None
        library = ctypes.CDLL(str(Path(found.origin).parent / "libtosa_reference_verify_lib.so"))
        self._verify = library.tvf_verify_data
        self._verify.argtypes = [ctypes.POINTER(_Tensor)] * 3 + [ctypes.c_char_p]
        self._verify.restype = ctypes.c_bool

    def accepts(self, kind: str, mode: str, info: dict[str, Any], reference: Any, bound: Any, found: Any) -> bool:
        """Tell whether the library accepts results."""
        kept: list[Any] = []

        def tensor(array: Any, number: int) -> Any:
            array = np.ascontiguousarray(array)
            shape = (ctypes.c_int32 * array.ndim)(*array.shape)
            kept.extend((array, shape))
            return _Tensor(b"o", ctypes.cast(shape, ctypes.POINTER(ctypes.c_int32)), array.ndim, number,
                           array.ctypes.data, array.nbytes)  # fmt: skip

        number, name = _KINDS[kind]
        tensors = {"o": {"mode": mode, "data_type": name, "shape": list(reference.shape), **info}}
        settings = json.dumps({"version": "0.1", "tensors": tensors}).encode()
        bounds = None if bound is None else ctypes.byref(tensor(np.asarray(bound, np.float64), 99))
        one = tensor(np.asarray(reference, np.float64), 99)
        return bool(self._verify(ctypes.byref(one), bounds, ctypes.byref(tensor(found, number)), settings))


_MODES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "exp": ("ABS_ERROR", {"abs_error_info": {"base_bound": (3, 1)}}, lambda x: 2 * np.abs(x)),
    "tanh": ("ABS_ERROR", {"abs_error_info": {"base_bound": (12, 4), "lower_bound": 0.5}}, lambda x: 8 * np.abs(x)),
    "sigmoid": ("ABS_ERROR", {}, lambda x: 2 * (1 + np.abs(x))),
    "log": ("ABS_ERROR", {"abs_error_info": {"lower_bound": 0.5}}, lambda x: np.full_like(x, 5)),
    "cos": (
        "ABS_ERROR",
        {"abs_error_info": {"bound_as_magnitude": True, "normal_divisor": 2, "base_bound": (1, 1)}},
        lambda x: 1 + np.abs(x),
    ),
    "erf": ("ULP", {"ulp_info": {"ulp": 5}}, None),
    "rsqrt": ("ULP", {"ulp_info": {"ulp": 2}}, None),
    "ceil": ("ULP", {"ulp_info": {"ulp": 0.5}}, None),
}


@pytest.mark.tosa
@each_row(*_MODES)
def test_the_verdicts_are_those_of_the_verifier(op: str) -> None:
    verifier, rng = _Verifier(), np.random.default_rng(len(op))
    for kind in _KINDS:
        size = 12
        x = hu.convert((rng.standard_normal(size) * 4).tolist(), kind)
        module = hu.parse(_unary(op, kind, size=size))
        operator = tosa_bounds.operator_of(module.body[0])
        reference = tosa_bounds._reference(operator, [x])
        mode, info, bound = _MODES[op]
        chosen = {
            name: {k: v[kind != "f32"] if isinstance(v, tuple) else v for k, v in each.items()}
            for name, each in info.items()
        }
        bounds = None if bound is None else bound(tosa_bounds._numbers(x))
        (right,) = hu.run(module, x)
        for reach in (2, 8, 60):
            steps = rng.integers(-reach, reach + 1, size)
            found = (right.bits.astype(np.int64) + steps).astype(right.bits.dtype)
            (verdict,) = tosa_bounds.judged(operator, [x], [hu.Value(right.type, found)])
            theirs = [
                verifier.accepts(kind, mode, chosen, reference[k : k + 1],
                                 None if bounds is None else bounds[k : k + 1], found[k : k + 1])
                for k in range(size)
            ]  # fmt: skip
            assert (~verdict.wrong).tolist() == theirs


@pytest.mark.tosa
@each_row(
    ("i32", "i32", "i8", "SINGLE_ROUND"), ("i8", "i32", "i16", "DOUBLE_ROUND"), ("i48", "i16", "i32", "SINGLE_ROUND")
)
def test_rescale_equals_the_reference_model(source: str, factor: str, target: str, mode: str) -> None:
    vectors = hu.vectors(
        "tosa.rescale", [source, factor, "i8", source, target], to=target, n=400, level="weighted",
        scale32=factor == "i32", rounding_mode=mode, per_channel=False, input_unsigned=False, output_unsigned=False,
    )  # fmt: skip
    columns = [vectors.columns_as_codes[column.name] for column in vectors.computation.inputs]
    for place, element in ((3, source), (4, target)):
        zeros = [0, 5, 0x80] if element == "i8" else [0]
        columns[place] = np.resize(np.array(zeros, columns[place].dtype), columns[place].shape)
    assert isinstance(vectors.computation, OpComputation)
    tally = check(TosaModel(), vectors.computation.case, columns)
    assert (tally.unexplained, tally.failures, tally.equal > 250) == (0, [], True)


@pytest.mark.tosa
def test_the_reference_model_answers_verify(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["verify", "tosa.sigmoid", "--type=bf16", "--against=tosa"]
    codes = [main([*arguments, *more]) for more in ([], ["--bounds=tosa"])]
    assert codes == [1, 0]
    assert "known: within the bounds of TOSA: " in capfd.readouterr().out


# --- blocks that share a scale ----------------------------------------------------------------------------------------


def _cast_to(element: str) -> str:
    return f"""
func.func @f(%x: tensor<1x32xf32>) -> (tensor<1x32x{element}>, tensor<1x1xf8E8M0FNU>) {{
  %d, %s = tosa.cast_to_block_scaled %x {{block_size = BLOCK_SIZE_32}} :
    (tensor<1x32xf32>) -> (tensor<1x32x{element}>, tensor<1x1xf8E8M0FNU>)
  return %d, %s : tensor<1x32x{element}>, tensor<1x1xf8E8M0FNU>
}}"""


@pytest.mark.parametrize(
    ("data", "scale", "ok"),
    [
        # 3, and zeros: f8E5M2 has 2 bits of mantissa, so with the scale 2^-14 the ulp of 3 * 2^14 is 2^13.
        (3 * 2.0**14, 2.0**-14, (True, True)),
        (3.5 * 2.0**14, 2.0**-14, (True, True)),
        (2 * 2.0**14, 2.0**-14, (False, True)),
        (3 * 2.0**13, 2.0**-13, (True, True)),  # the double of the scale is still an ulp from it
        (3 * 2.0**12, 2.0**-12, (False, False)),
    ],
)
def test_a_cast_to_blocks_is_judged_by_the_scale_that_was_found(
    data: float, scale: float, ok: tuple[bool, bool]
) -> None:
    x = np.zeros((1, 32), np.float32)
    x[0, 5] = 3.0
    found = np.zeros((1, 32))
    found[0, 5] = data
    elements, scales = hu.convert(found, "f8E5M2"), hu.convert([[scale]], "f8E8M0FNU")
    verdicts = hu.tosa_verdict(_cast_to("f8E5M2"), x, results=(elements, scales))
    assert tuple(verdict.ok for verdict in verdicts) == ok
    assert verdicts[0].rule == "to-blocks"


def test_products_of_blocks_are_sums_of_scaled_elements() -> None:
    """One product of 1.5 * 2 by 2 * 4, and 31 of zeros: 24. The unit is 2^-24 of 24, and of the smallest normal
    numbers; 32 products of floats of 8 bits have 2 * 32 * 2^10 units.
    """
    program = """
func.func @f(%a: tensor<1x1x32xf8E5M2>, %s: tensor<1x1x1xf8E8M0FNU>, %b: tensor<1x1x32xf8E5M2>,
             %t: tensor<1x1x1xf8E8M0FNU>) -> tensor<1x1x1xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %s, %b, %t {block_size = BLOCK_SIZE_32} : (tensor<1x1x32xf8E5M2>,
    tensor<1x1x1xf8E8M0FNU>, tensor<1x1x32xf8E5M2>, tensor<1x1x1xf8E8M0FNU>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}"""
    one, other = np.zeros((1, 1, 32)), np.zeros((1, 1, 32))
    one[0, 0, 3], other[0, 0, 3] = 1.5, 2.0
    given = [hu.convert(one, "f8E5M2"), hu.convert([[[2.0]]], "f8E8M0FNU")]
    given += [hu.convert(other, "f8E5M2"), hu.convert([[[4.0]]], "f8E8M0FNU")]
    least = (2.0**-14) ** 2 * 31 * 8
    reach = (24 + least) * 2.0**-24 * 2 * 32 * 1024
    for error, ok in ((0.99, True), (1.01, False)):
        (verdict,) = hu.tosa_verdict(program, *given, results=np.full((1, 1, 1), 24 + error * reach, np.float32))
        assert verdict.wrong.any() != ok
        assert verdict.rule == "scaled-product"
    assert hu.run(program, *given)[0].numpy().item() == 24
