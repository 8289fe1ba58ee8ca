"""Sums and products of values: shapes beside NumPy's, types, poison and what is unspecified."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfulp.converting import convert
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.reductions import dot_product, matrix_product, sum_along
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins
from halfulp.semantics.matrix_units.kinds import KINDS, operation_of
from halfulp.semantics.matrix_units.models import multiply_accumulate
from halfulp.semantics.matrix_units.products import MatrixUnit
from halfulp.semantics.profile import SPEC

MFMA = operation_of(KINDS["MFMA_F32_16x16x16_F16"])


def summed(value: Value, *arguments: Any, **options: Any) -> Value:
    return sum_along(value, *arguments, profile=SPEC, **options)


def matmul(a: Value, b: Value, **options: Any) -> Value:
    product: Value = matrix_product(a, b, profile=SPEC, **options)
    return product


def dot(a: Value, b: Value, **options: Any) -> Value:
    return dot_product(a, b, profile=SPEC, **options)


def integers(*shape: int, dtype: Any = np.int32, seed: int = 0) -> Any:
    """Return small numbers, whose sums are exact in every order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def poisoned(array: Any, *places: tuple[int, ...]) -> Value:
    """Return a value with poison at these places, each of its own origin."""
    value = Value.from_numpy(array)
    origins, ids = Origins(), np.zeros(value.shape, np.uint16)
    for place in places:
        ids[place] = origins.id_of(Origin(f"test.op{place[-1]}", "", "a test", place))
    return Value(value.type, value.bits, ids, None, origins)


# Shapes.


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("order", ["sequential", "pairwise", "exact", "open"])
def test_sums_along_axes_have_numpy_shapes(dtype: Any, order: str) -> None:
    array = integers(2, 3, 4, dtype=dtype)
    value = Value.from_numpy(array)
    for axis in (None, 0, 1, 2, -1, (0, 2), (2, 0), (0, 1, 2), ()):
        for keepdims in (False, True):
            result = summed(value, axis, keepdims, order=order)
            expected = array.astype(np.int64).sum(axis=axis, keepdims=keepdims)
            assert result.shape == expected.shape
            assert np.array_equal(np.asarray(result.numpy()).astype(np.int64), expected)
            assert result.element_type == value.element_type


def test_a_sum_of_everything_is_a_scalar() -> None:
    assert summed(Value.from_numpy(np.array([1, 2], np.float32))) == Value.from_numpy(np.float32(3))
    assert summed(Value.from_numpy(np.float32(-0.0))).bits == 0


def test_sums_of_no_elements() -> None:
    assert summed(Value.from_numpy(np.ones((0, 3), np.float16)), 0).numpy().tolist() == [0, 0, 0]
    assert summed(Value.from_numpy(np.ones((0, 3), np.float16)), 1).shape == (0,)


def test_several_axes_are_added_in_row_major_order() -> None:
    array = np.array([[[1e8, 1], [-1e8, 1]], [[3, 1e8], [5, -1e8]]], np.float32)
    total = np.float32(0)
    for i in range(2):
        for j in range(2):
            total += array[i, 1, j]
    assert summed(Value.from_numpy(array), (2, 0)).numpy()[1] == total


def test_wrong_axes() -> None:
    value = Value.from_numpy(integers(2, 3))
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        summed(value, 2)
    with pytest.raises(ValueError, match="repeated axis"):
        summed(value, (0, 0))


MATMUL_SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((2, 0), (0, 4)),
    ((0, 3), (3, 4)), ((1, 2, 3), (5, 3, 4)), ((0, 2, 3), (3, 4)),
]  # fmt: skip
DOT_SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((2, 0), (0, 4)),
]  # fmt: skip


@pytest.mark.parametrize("order", ["sequential", "pairwise", "exact"])
@pytest.mark.parametrize("shapes", MATMUL_SHAPES)
def test_matmul_has_the_shapes_of_numpy(shapes: tuple[tuple[int, ...], ...], order: str) -> None:
    a, b = (integers(*shape, dtype=np.float16, seed=seed) for seed, shape in enumerate(shapes))
    result, expected = matmul(Value.from_numpy(a), Value.from_numpy(b), order=order), np.matmul(a, b)
    assert result.shape == expected.shape
    assert np.array_equal(result.numpy(), expected)


@pytest.mark.parametrize("shapes", DOT_SHAPES)
def test_dot_has_the_shapes_of_numpy(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (integers(*shape, dtype=np.float32, seed=seed) for seed, shape in enumerate(shapes))
    result, expected = dot(Value.from_numpy(a), Value.from_numpy(b)), np.dot(a, b)
    assert result.shape == expected.shape
    assert np.array_equal(result.numpy(), expected)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.sampled_from(["f32", "f80", "i96"]))
def test_matmul_is_a_triple_loop(m: int, k: int, n: int, element: str) -> None:
    a, b = integers(m, k, seed=1), integers(k, n, seed=2)
    type_ = as_type(element)
    if isinstance(type_, ty.FloatType):
        x, y = (convert(array, element) for array in (a, b))
    else:
        x, y = (Value.from_bits((array.astype(object) & ((1 << 96) - 1)).astype(object), element) for array in (a, b))
        if not a.size or not b.size:
            return
    result = matmul(x, y, acc=type_)
    expected = [[sum(int(a[i, j]) * int(b[j, o]) for j in range(k)) for o in range(n)] for i in range(m)]
    assert result.shape == (m, n)
    if isinstance(type_, ty.FloatType):
        assert result == convert(np.array(expected, np.int32).reshape(m, n), element)
    else:
        assert result.numpy().tolist() == expected


def test_wrong_shapes() -> None:
    a = Value.from_numpy(integers(2, 3, dtype=np.float32))
    with pytest.raises(TypeMismatch, match=r"matmul: shapes \(2, 3\) and \(2, 3\) do not fit together") as found:
        matmul(a, a)
    assert "the last axis of the first" in str(found.value.hint)
    with pytest.raises(TypeMismatch, match=r"dot: shapes \(2, 3\) and \(2, 3\) do not fit together"):
        dot(a, a)
    with pytest.raises(TypeMismatch, match=r"shapes \(2, 1, 3\) and \(3, 3, 1\) do not fit"):
        matmul(Value.from_numpy(np.ones((2, 1, 3))), Value.from_numpy(np.ones((3, 3, 1))))
    with pytest.raises(TypeMismatch, match="a scalar is not a matrix"):
        matmul(a, Value.from_numpy(np.float32(2)))
    with pytest.raises(TypeMismatch, match="give arrays with at least one axis"):
        dot(Value.from_numpy(np.float32(2)), a)


# Types.


def test_integers_are_extended_by_their_sign() -> None:
    small = np.array([200, 100], np.uint8)
    assert summed(Value.from_numpy(small)).numpy() == 300 - 256
    assert summed(Value.from_numpy(small), acc=as_type("i32")).numpy() == 300
    assert summed(Value(ty.TensorType((2,), as_type("ui8")), small), acc=as_type("i32")).numpy() == 300
    assert summed(Value.from_numpy(np.array([-3, -4], np.int8)), acc=as_type("f32")) == Value.from_numpy(np.float32(-7))
    assert summed(Value.from_numpy(np.array([True, True, False])), acc=as_type("i32")).numpy() == 2
    assert summed(Value(as_type("tensor<2xindex>"), np.array([1, 2], np.uint64))).element_type == ty.IndexType()


def test_wrong_types() -> None:
    f32, f8 = Value.from_numpy(np.array([1], np.float32)), Value.from_numpy(np.ones(1, ml_dtypes.float8_e4m3fn))
    with pytest.raises(TypeMismatch, match="matmul: the elements have different types, 'f32' and 'f8E4M3FN'") as found:
        matmul(f32, f8)
    assert "acc=" in str(found.value.hint)
    assert matmul(f32, f8, acc=as_type("f32")).numpy() == 1
    with pytest.raises(TypeMismatch, match="sum: a sum of i1 has one bit"):
        summed(Value.from_numpy(np.array([True])))
    with pytest.raises(TypeMismatch, match="sum: elements of 'f32' cannot be added in 'i32'"):
        summed(f32, acc=as_type("i32"))
    with pytest.raises(TypeMismatch, match="f8E8M0FNU has no zero"):
        summed(f32, acc=FORMATS["f8E8M0FNU"])
    with pytest.raises(TypeMismatch, match="acc is 'tensor<2xf32>'"):
        summed(f32, acc=as_type("tensor<2xf32>"))
    with pytest.raises(TypeMismatch, match=r"elements of 'complex<f32>' cannot be added"):
        summed(Value(as_type("tensor<1xcomplex<f32>>"), np.zeros((1, 2), np.uint32)))
    with pytest.raises(ValueError, match="order is 'any'"):
        summed(f32, order="any")
    with pytest.raises(ValueError, match="order is 'any'"):
        matmul(f32, f32, order="any")


# Poison and what is unspecified.


@pytest.mark.parametrize("order", ["sequential", "pairwise", "exact", "open"])
def test_poison_spoils_the_sums_that_it_enters(order: str) -> None:
    value = poisoned(np.ones((2, 3), np.float32), (1, 2), (0, 0))
    result = summed(value, 0, order=order)
    assert result.poisoned.tolist() == [True, False, True]
    assert result.bits.tolist() == [0, int(np.float32(2).view(np.uint32)), 0]
    origin = result.origin(2)
    assert origin is not None
    assert (origin.op, origin.element) == ("test.op2", (1, 2))
    assert summed(value, order=order).poisoned.all()
    assert summed(value, (), order=order).poisoned.tolist() == value.poisoned.tolist()
    assert not summed(poisoned(np.ones((0, 2), np.float32)), 0, order=order).poisoned.any()


@pytest.mark.parametrize("order", ["sequential", "pairwise", "exact", "open"])
def test_poison_spoils_the_products_that_it_enters(order: str) -> None:
    a, b = poisoned(np.zeros((2, 3), np.float32), (1, 2)), poisoned(np.zeros((3, 4), np.float32), (0, 1))
    result = matmul(a, b, order=order)
    assert result.poisoned.tolist() == [[False, True, False, False], [True] * 4]
    assert {str(result.origin(1, 0)), str(result.origin(0, 1))} == {str(a.origin(1, 2)), str(b.origin(0, 1))}
    batch = matmul(poisoned(np.ones((5, 2, 3), np.float32), (4, 1, 0)), Value.from_numpy(np.ones((3, 4), np.float32)))
    assert np.argwhere(batch.poisoned).tolist() == [[4, 1, k] for k in range(4)]
    assert dot(a, b).poisoned.tolist() == result.poisoned.tolist()


def test_faults_on_the_way_are_poison_with_their_op() -> None:
    array = np.array([[1, 2], [np.nan, 3]], np.float32)
    result = summed(Value.from_numpy(array), 1, acc=FORMATS["f4E2M1FN"])
    assert result.poisoned.tolist() == [False, True]
    assert str(result.origin(1)) == "NaN is not representable in f4E2M1FN (arith.truncf, element [1])"
    product = matmul(Value.from_numpy(array), Value.from_numpy(np.eye(2, dtype=np.float32)), acc=FORMATS["f4E2M1FN"])
    assert product.poisoned.tolist() == [[False, False], [True, True]]


def test_open_marks_results_and_unspecified_elements_spread() -> None:
    ones = Value.from_numpy(np.ones((2, 3), np.float32))
    assert summed(ones, 1, order="sequential").open is None
    assert np.asarray(summed(ones, 1, order="open").open).tolist() == [4, 4]
    assert summed(ones, 0, order="open").open is None
    marks = np.zeros((2, 3), np.uint8)
    marks[0, 1] = 1
    marked = Value(ones.type, ones.bits, None, marks)
    assert np.asarray(summed(marked, 0).open).tolist() == [0, 4, 0]
    assert np.asarray(matmul(marked, Value.from_numpy(np.ones((3, 2), np.float32))).open).tolist() == [[4, 4], [0, 0]]


# Matrix units.


def halves(*shape: int, seed: int = 0) -> Value:
    return Value.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float16))


@pytest.mark.parametrize("model", ["exact", "ieee", "chip:cdna3", "chip:cdna1"])
def test_a_unit_adds_chunk_by_chunk(model: str) -> None:
    a, b = halves(5, 40, seed=1), halves(40, 7, seed=2)
    padded_a, padded_b = np.zeros((5, 48), np.uint16), np.zeros((48, 7), np.uint16)
    padded_a[:, :40], padded_b[:40] = a.bits, b.bits
    total = np.zeros((5, 7), np.uint32)
    for start in (0, 16, 32):
        total = multiply_accumulate(
            model, MFMA, padded_a[None, :, start : start + 16], padded_b[None, start : start + 16], total[None]
        )[0]
    assert np.array_equal(matmul(a, b, mma=MatrixUnit(MFMA, model)).bits, total)
    assert np.array_equal(dot(a, b, mma=MatrixUnit(MFMA, model)).bits, total)


def test_units_see_infinities_poison_and_batches() -> None:
    unit = MatrixUnit(MFMA)
    a = np.ones((3, 2, 17), np.float16)
    a[1, 1, 3] = np.inf
    result = matmul(poisoned(a, (2, 0, 5)), Value.from_numpy(np.ones((17, 4), np.float16)), mma=unit)
    assert np.argwhere(result.poisoned).tolist() == [[2, 0, k] for k in range(4)]
    numbers = result.numpy(poison=0)
    assert numbers[1, 1].tolist() == [np.inf] * 4
    assert numbers[0].tolist() == [[17] * 4] * 2
    with pytest.raises(Unsupported, match="not published"):
        matmul(Value.from_numpy(a), Value.from_numpy(np.ones((17, 4), np.float16)), mma=MatrixUnit(MFMA, "chip:cdna3"))


def test_units_of_integers_and_of_virtual_kinds() -> None:
    x, y = integers(3, 70, dtype=np.int8, seed=1), integers(70, 2, dtype=np.int8, seed=2)
    unit = MatrixUnit(operation_of(KINDS["MFMA_I32_16x16x32_I8"]), "chip:cdna3")
    result = matmul(Value.from_numpy(x), Value.from_numpy(y), mma=unit)
    assert np.array_equal(result.numpy(), x.astype(np.int32) @ y.astype(np.int32))
    virtual = operation_of(KINDS["VMFMA_F32_16x16x32_F16"])
    a, b = halves(2, 64, seed=3), halves(64, 2, seed=4)
    total = np.zeros((1, 2, 2), np.uint32)
    for start in (0, 32):
        total = multiply_accumulate(
            "chip:cdna3", virtual, a.bits[None, :, start : start + 32], b.bits[None, start : start + 32], total
        )
    assert np.array_equal(matmul(a, b, mma=MatrixUnit(virtual, "chip:cdna3")).bits, total[0])


def test_wrong_units() -> None:
    unit = MatrixUnit(MFMA)
    f32, f16 = Value.from_numpy(np.ones((2, 2), np.float32)), halves(2, 2)
    with pytest.raises(
        TypeMismatch, match="MFMA_F32_16x16x16_F16 multiplies f16 by f16, but the elements are f32 and f32"
    ) as e:
        matmul(f32, f32, mma=unit)
    assert "MFMA_F32_16x16x4_F32" in str(e.value.hint)
    with pytest.raises(TypeMismatch, match="acc is 'f16', but"):
        matmul(f16, f16, mma=unit, acc=FORMATS["f16"])
    assert matmul(f16, f16, mma=unit, acc=FORMATS["f32"]).element_type == as_type("f32")
    with pytest.raises(TypeMismatch, match="the order is that of MFMA_F32_16x16x16_F16"):
        matmul(f16, f16, mma=unit, order="pairwise")
    scaled = MatrixUnit(operation_of(KINDS["MFMA_SCALE_F32_16x16x128_B32"], "f8E4M3FN", "f8E4M3FN"))
    f8 = Value.from_numpy(np.ones((2, 2), ml_dtypes.float8_e4m3fn))
    with pytest.raises(TypeMismatch, match="takes scales"):
        matmul(f8, f8, mma=scaled)
