"""Linear algebra, transforms, normalisation and random bits of StableHLO, beside exact arithmetic and what XLA gave."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import halfulp as hu

RNG = np.random.default_rng(5)


def run(body: str, results: str, **operands: tuple[str, npt.NDArray[np.generic]]) -> list[npt.NDArray[Any]]:
    """Run ops on operands, each with its type in MLIR."""
    arguments = ", ".join(f"%{name}: {type_}" for name, (type_, _) in operands.items())
    kinds = results.split(" : ")[1]
    text = f"func.func @f({arguments}) -> ({kinds}) {{ {body} return {results} }}"
    return [value.numpy() for value in hu.run(text, *(array for _, array in operands.values()))]


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_in_its_order(lower: bool) -> None:
    base = RNG.normal(size=(2, 4, 4)).astype(np.float32)
    a = (base @ base.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)).astype(np.float32)
    type_ = "tensor<2x4x4xf32>"
    body = f"%r = stablehlo.cholesky %a, lower = {str(lower).lower()} : {type_}"
    (found,) = run(body, f"%r : {type_}", a=(type_, a))
    expected = np.zeros_like(a)
    for b in range(2):
        for j in range(4):
            pivot = a[b, j, j]
            for k in range(j):
                pivot = np.float32(pivot - np.float32(expected[b, j, k] * expected[b, j, k]))
            expected[b, j, j] = np.sqrt(pivot)
            for i in range(j + 1, 4):
                value = a[b, i, j] if lower else a[b, j, i]
                for k in range(j):
                    value = np.float32(value - np.float32(expected[b, i, k] * expected[b, j, k]))
                expected[b, i, j] = np.float32(value / expected[b, j, j])
    assert np.array_equal(found, expected if lower else expected.transpose(0, 2, 1))
    (spoiled,) = run(body, f"%r : {type_}", a=(type_, -a))
    assert np.isnan(spoiled).all()


def test_a_complex_cholesky_is_a_factor() -> None:
    base = (RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))).astype(np.complex128)
    a = base @ base.conj().T + 3 * np.eye(3)
    type_ = "tensor<3x3xcomplex<f64>>"
    (found,) = run(f"%r = stablehlo.cholesky %a, lower = true : {type_}", f"%r : {type_}", a=(type_, a))
    assert np.allclose(found @ found.conj().T, a, rtol=1e-13)
    assert (np.triu(found, 1) == 0).all()


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_batches_of_triangular_systems_are_solved(left: bool, transpose: str) -> None:
    shape = (2, 4, 3) if left else (2, 3, 4)
    a = np.tril(RNG.normal(size=(2, 4, 4)) + 1j * RNG.normal(size=(2, 4, 4))) + 3 * np.eye(4)
    b = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    types = "tensor<2x4x4xcomplex<f64>>", f"tensor<{'x'.join(map(str, shape))}xcomplex<f64>>"
    body = (
        f'%r = "stablehlo.triangular_solve"(%a, %b) <{{left_side = {str(left).lower()}, lower = true, '
        f"transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = false}}> : ({', '.join(types)}) -> {types[1]}"
    )
    garbage = a + np.triu(np.ones((4, 4)), 1)  # the other triangle is not read
    (x,) = run(body, f"%r : {types[1]}", a=(types[0], garbage), b=(types[1], b))
    turned = {"NO_TRANSPOSE": a, "TRANSPOSE": a.transpose(0, 2, 1), "ADJOINT": a.conj().transpose(0, 2, 1)}[transpose]
    assert np.allclose(turned @ x if left else x @ turned, b, rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "lengths"), [("FFT", (6,)), ("IFFT", (3, 4)), ("RFFT", (2, 5)), ("IRFFT", (3, 6)), ("IRFFT", (5,))]
)
def test_transforms_are_those_of_numpy(kind: str, lengths: tuple[int, ...]) -> None:
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    given, made = (lengths, half) if kind == "RFFT" else (half, lengths) if kind == "IRFFT" else (lengths, lengths)
    shapes = [f"tensor<2x{'x'.join(map(str, sizes))}x" for sizes in (given, made)]
    elements = ["f64" if kind == real else "complex<f64>" for real in ("RFFT", "IRFFT")]
    types = [f"{shape}{element}>" for shape, element in zip(shapes, elements, strict=True)]
    x: Any = RNG.normal(size=(2, *given))
    if kind == "IRFFT":
        x = np.fft.rfftn(RNG.normal(size=(2, *lengths)), axes=range(1, len(lengths) + 1))
    elif kind != "RFFT":
        x = x + 1j * RNG.normal(size=x.shape)
    body = (
        f"%r = stablehlo.fft %x, type = {kind}, length = [{', '.join(map(str, lengths))}] : ({types[0]}) -> {types[1]}"
    )
    (found,) = run(body, f"%r : {types[1]}", x=(types[0], x))
    transform: Any = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[kind]
    assert np.allclose(found, transform(x, lengths, range(1, len(lengths) + 1)), rtol=1e-13, atol=1e-13)


def test_a_transform_is_summed_in_order_with_exact_turns() -> None:
    x, total = RNG.normal(size=5).astype(np.float32), np.zeros(3, np.complex64)
    (found,) = run(
        "%r = stablehlo.fft %x, type = RFFT, length = [5] : (tensor<5xf32>) -> tensor<3xcomplex<f32>>",
        "%r : tensor<3xcomplex<f32>>",
        x=("tensor<5xf32>", x),
    )
    for k in range(3):
        real = imaginary = np.float32(0)
        for n in range(5):
            angle = 2 * mpmath.mpf(n * k) / 5
            cosine, sine = (np.float32(float(wave(angle))) for wave in (mpmath.cospi, lambda a: -mpmath.sinpi(a)))
            # the imaginary part of the number is 0: its products are zeros
            real = np.float32(real + np.float32(np.float32(x[n] * cosine) - np.float32(0) * sine))
            imaginary = np.float32(imaginary + np.float32(np.float32(x[n] * sine) + np.float32(0) * cosine))
        total[k] = complex(real, imaginary)
    assert np.array_equal(found, total)


def test_normalisation_follows_the_specification() -> None:
    x, row = RNG.integers(-8, 8, size=(2, 2, 2)).astype(np.float64), np.array([0.5, 2.0])
    grad = RNG.integers(-4, 4, size=(2, 2, 2)).astype(np.float64)
    whole, line = "tensor<2x2x2xf64>", "tensor<2xf64>"
    properties = "<{epsilon = 0.5 : f32, feature_index = 2 : i64}>"
    results = run(
        f'%y, %m, %v = "stablehlo.batch_norm_training"(%x, %s, %o) {properties} : ({whole}, {line}, {line}) -> '
        f'({whole}, {line}, {line}) %z = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {properties} : '
        f"({whole}, {line}, {line}, {line}, {line}) -> {whole} "
        f'%gx, %gs, %go = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {properties} : '
        f"({whole}, {line}, {line}, {line}, {whole}) -> ({whole}, {line}, {line})",
        f"%y, %m, %v, %z, %gx, %gs, %go : {whole}, {line}, {line}, {whole}, {whole}, {line}, {line}",
        x=(whole, x), s=(line, row), o=(line, row), g=(whole, grad),
    )  # fmt: skip
    y, mean, variance, z, of_x, of_scale, of_offset = results
    columns = x.reshape(4, 2)
    assert np.array_equal(mean, [float(sum(map(Fraction, column)) / 4) for column in columns.T])
    assert np.allclose(variance, columns.var(axis=0), rtol=1e-15)
    assert np.array_equal(y, (x - mean) / np.sqrt(variance + 0.5) * row + row)
    assert np.array_equal(y, z)
    assert np.array_equal(of_offset, grad.reshape(4, 2).sum(axis=0))
    assert np.allclose(of_scale, (grad * (x - mean) / np.sqrt(variance + 0.5)).reshape(4, 2).sum(axis=0), rtol=1e-14)
    inner = 4 * grad - of_offset - (x - mean) * (grad * (x - mean)).reshape(4, 2).sum(axis=0) / (variance + 0.5)
    assert np.allclose(of_x, row / np.sqrt(variance + 0.5) / 4 * inner, rtol=1e-13)


def test_random_bits_are_those_of_the_specification() -> None:
    """The example of the specification; its next state is [1, 6]."""
    state, bits = run(
        "%s, %b = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, "
        "tensor<2x2xui64>)",
        "%s, %b : tensor<2xui64>, tensor<2x2xui64>",
        k=("tensor<2xui64>", np.array([1, 2], np.uint64)),
    )
    assert state.tolist() == [1, 6]
    assert bits.tolist() == [
        [9236835810183407956, 16087790271692313299],
        [18212823393184779219, 2658481902456610144],
    ]


def test_numbers_that_differ_from_run_to_run_are_refused() -> None:
    text = (
        "func.func @f(%a: tensor<f32>, %n: tensor<1xi64>) -> tensor<?xf32> { %r = stablehlo.rng %a, %a, %n, distribution = "
        "UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32> return %r : tensor<?xf32> }"
    )
    with pytest.raises(hu.Unsupported, match="is not determinate"):
        hu.run(text, np.float32(0), np.array([3]))


def test_tuples_and_tokens_pass_through() -> None:
    text = """func.func @f(%a: tensor<i32>) -> tensor<i32> {
      %t = stablehlo.create_token : !stablehlo.token
      %u = "stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
      %p = stablehlo.tuple %a, %u : tuple<tensor<i32>, !stablehlo.token>
      %b = stablehlo.get_tuple_element %p[0] : (tuple<tensor<i32>, !stablehlo.token>) -> tensor<i32>
      %q:2 = stablehlo.optimization_barrier %b, %u : tensor<i32>, !stablehlo.token
      stablehlo.optimization_barrier()
      return %q#0 : tensor<i32> }"""
    (found,) = hu.run(text, np.int32(4))
    assert int(found.numpy()) == 4


def test_lapack_factors_in_the_stated_order() -> None:
    a = RNG.normal(size=(3, 3)).astype(np.float32)
    found, pivots, failed = run(
        "%r:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<3x3xf32>) -> "
        "(tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)",
        "%r#0, %r#1, %r#2 : tensor<3x3xf32>, tensor<3xi32>, tensor<i32>",
        a=("tensor<3x3xf32>", a),
    )
    expected, swapped = a.copy(), []
    for k in range(3):
        largest = k + int(np.argmax(np.abs(expected[k:, k])))
        swapped.append(largest + 1)
        expected[[k, largest]] = expected[[largest, k]]
        for i in range(k + 1, 3):
            expected[i, k] = expected[i, k] / expected[k, k]
            for j in range(k + 1, 3):
                expected[i, j] = expected[i, j] - expected[i, k] * expected[k, j]
    assert np.array_equal(found, expected)
    assert pivots.tolist() == swapped
    assert int(failed) == 0
    assert swapped != [1, 2, 3]


def test_lapack_keeps_the_other_triangle_and_names_the_first_failure() -> None:
    a = np.array([[4.0, 7.0], [2.0, 5.0]])
    body = (
        "%r:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : "
        "(tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>)"
    )
    results = "%r#0, %r#1 : tensor<2x2xf64>, tensor<i32>"
    found, failed = run(body, results, a=("tensor<2x2xf64>", a))
    assert found.tolist() == [[2.0, 7.0], [1.0, 2.0]]
    assert int(failed) == 0
    assert int(run(body, results, a=("tensor<2x2xf64>", np.array([[4.0, 0], [2.0, 1.0]])))[1]) == 2
    body = (
        "%r = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, "
        "trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>"
    )
    (x,) = run(body, "%r : tensor<2x1xf64>", a=("tensor<2x2xf64>", a), b=("tensor<2x1xf64>", np.array([[8.0], [10.0]])))
    assert x.tolist() == [[1.0], [2.0]]
