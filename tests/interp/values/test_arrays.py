"""Indexing, iteration and shapes of values: NumPy's rules, on every layout of codes, with poison that follows."""

import copy
import io
import operator
import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import halfulp as hu
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import as_type

np: Any = numpy
"""NumPy without its types, which do not know that values are arrays."""

TYPES = ["f8E4M3FN", "bf16", "f64", "f80", "f128", "i8", "i1", "i128", "index", "tf32", "!quant.uniform<i8:f32, 2.0>"]


def places(shape: tuple[int, ...], type_: str) -> Any:
    """Return a value whose codes are the places of its elements, every third of them poison."""
    count = int(np.prod(shape, dtype=int))
    value = hu.Value.from_bits(np.array([at % 2 if type_ == "i1" else at for at in range(count)], object), type_)
    ids = np.array([1 if at % 3 == 2 else 0 for at in range(count)], np.uint16)
    return hu.Value(value.type, value.bits, ids if ids.any() else None, np.arange(count, dtype=np.uint8)).reshape(shape)


def check(found: Any, expected: Any, type_: str) -> None:
    """Compare the places in a value with those in an array."""
    assert found.shape == expected.shape
    codes = codes_to_ints(found.bits, ty.width_of(found.element_type))
    assert codes == [at % 2 if type_ == "i1" else at for at in expected.ravel().tolist()]
    assert found.poisoned.tolist() == (expected % 3 == 2).tolist()
    assert (found.poison is None) == (not (expected % 3 == 2).any())
    assert found.open.tolist() == expected.tolist()
    assert found.element_type == places((1,), type_).element_type
    assert ty.shape_of(found.type) == expected.shape


@pytest.mark.long
@pytest.mark.parametrize("type_", TYPES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_indices_are_those_of_numpy(type_: str, data: st.DataObject) -> None:
    shape = data.draw(npst.array_shapes(min_dims=1, max_dims=3, max_side=4))
    array = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(
        npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)
        | npst.integer_array_indices(shape)
        | npst.arrays(bool, shape)
    )
    value = places(shape, type_)
    check(value[index], np.asarray(array[index]), type_)


@pytest.mark.parametrize("type_", TYPES)
def test_values_are_indices(type_: str) -> None:
    value, array = places((4, 3), type_), np.arange(12).reshape(4, 3)
    check(value[hu.Value.from_numpy(np.array([2, 0], np.int8))], array[[2, 0]], type_)
    check(value[hu.Value.from_numpy(np.array([255 - 253], np.uint8))], array[[2]], type_)
    check(value[hu.Value.from_bits(array % 2, "i1")], array[array % 2 == 1], type_)
    check(value[hu.Value.from_numpy(1, "index")], array[1], type_)
    check(value[1, hu.Value.from_bits([1, 0, 1], "i1")], array[1, [0, 2]], type_)


@pytest.mark.parametrize("type_", TYPES)
def test_views_share_memory(type_: str) -> None:
    value = places((4, 6), type_)
    views = (
        value[1], value[1, 2], value[::2, ::-1], value.T, value.reshape(6, 4), value.ravel(), value[None], value[...],
    )  # fmt: skip
    for view in (*views, *value, np.squeeze(value[None]), np.expand_dims(value, 0), np.broadcast_to(value, (2, 4, 6))):
        assert np.shares_memory(view.bits, value.bits)
        assert not view.bits.flags.writeable
    for other in (value[[0, 1]], value.flatten(), value.copy(), copy.deepcopy(value), value[value.poisoned]):
        assert not np.shares_memory(other.bits, value.bits)


@pytest.mark.parametrize("type_", TYPES)
def test_methods_of_shape(type_: str) -> None:
    value, array = places((2, 3, 1), type_), np.arange(6).reshape(2, 3, 1)
    calls = (
        lambda a: a.T,
        lambda a: a.transpose(1, 0, 2),
        lambda a: a.transpose((2, 0, 1)),
        lambda a: a.reshape(3, 2),
        lambda a: a.reshape((3, -1)),
        lambda a: a.ravel(),
        lambda a: a.flatten(),
        lambda a: a.squeeze(),
        lambda a: a.squeeze(2),
        lambda a: a.copy(),
    )
    for call in calls:
        check(call(value), call(array), type_)
    assert (value.ndim, value.size, len(value)) == (3, 6, 2)
    for one, row in zip(value, array, strict=True):
        check(one, row, type_)


def test_scales_that_belong_to_places_do_not_move() -> None:
    value = hu.eval("quant.qcast", np.ones((2, 2), np.float32), to="!quant.uniform<i8:f32:0, {1.0,2.0}>")
    for move in (lambda: value[0], lambda: value.T, lambda: np.flip(value), lambda: np.concatenate([value, value])):
        with pytest.raises(TypeError, match=r"(?s)belong to places.*hu\.dequantize"):
            move()
    assert value.copy() == copy.deepcopy(value) == value
    assert value.numpy().tolist() == [[1, 1], [0, 0]]


def test_results_keep_the_container_while_the_shape_stays() -> None:
    value = hu.Value.from_bits([1, 2], "vector<2xi8>")
    assert str((value + value).type) == str(value[:].type) == "vector<2xi8>"
    assert str(np.equal(value, value).type) == "vector<2xi1>"
    assert str(value[:1].type) == "tensor<1xi8>"
    assert str(value[0].type) == "i8"
    assert str((value + hu.Value.from_bits([[1], [2]], "i8")).type) == "tensor<2x2xi8>"
    scalar = hu.Value.from_bits(1, "tensor<i8>")
    assert str((scalar + 1).type) == "tensor<i8>"


@pytest.mark.parametrize("value", [places((2, 3), type_) for type_ in TYPES], ids=TYPES)
def test_copies_and_pickles(value: Any) -> None:
    for again in (copy.copy(value), copy.deepcopy(value), value.copy(), pickle.loads(pickle.dumps(value))):
        assert again == value
        assert again.open.tolist() == value.open.tolist()
        assert not again.bits.flags.writeable


def test_pickles_without_a_reading_still_load() -> None:
    value = hu.Value.from_numpy(np.array([200], np.uint8))
    make, state = value.__reduce__()
    assert make(*state).numpy().tolist() == [200]
    assert make(*state[:5]).numpy().tolist() == [-56]


def test_one_element_is_a_number() -> None:
    half, third = hu.convert(0.5, "bf16"), hu.eval("arith.divf", hu.convert(1.0, "f128"), hu.convert(3.0, "f128"))
    assert (float(half), int(half), complex(half), bool(half)) == (0.5, 0, 0.5, True)
    assert int(hu.convert(-2.75, "f80")) == -2
    assert float(third) == 1 / 3
    assert f"{half:.3f} {half:>6} {half:e}" == "0.500    0.5 5.000000e-01"
    assert f"{half}" == "Value(bf16=0.5)"
    assert f"{third:.40f}" == f"0.{round(third.item() * 10**40)}"
    tiny = hu.Value.from_bits(1, "f128")
    assert f"{tiny:.3e}" == "6.475e-4966"
    seven = hu.Value.from_numpy(7, "i8")
    assert operator.index(seven) == int(seven) == 7
    assert [10, 20][hu.Value.from_bits(1, "i1")] == 20
    assert f"{seven:#x} {seven:03d}" == "0x7 007"
    assert float(hu.convert(float("-inf"), "f80")) == -np.inf
    with pytest.raises(OverflowError):
        float(hu.Value.from_bits(0x7FFE << 112, "f128"))
    with pytest.raises(ValueError, match="poison"):
        int(hu.convert(float("nan"), "i8"))


def test_iteration_and_builtins() -> None:
    value = hu.convert([1.5, 2.5, -1.0], "bf16")
    assert [float(element) for element in value] == [1.5, 2.5, -1]
    total: Any = sum(value)
    assert total.item() == 3
    assert max(value).item() == 2.5
    assert sorted(value, key=float)[0].item() == -1
    assert [element.item() for element in reversed(value)] == [-1, 2.5, 1.5]
    first, *_ = value
    assert isinstance(first, hu.Value)
    assert value.tolist() == [1.5, 2.5, -1]
    assert hu.convert(0.5, "bf16").tolist() == 0.5
    assert hu.convert(np.zeros((0, 2)), "bf16").tolist() == []


def test_conversion_by_a_method() -> None:
    value = hu.convert([0.1, 300.0, np.nan], "f32")
    assert value.astype("f8E4M3FN") == hu.convert(value, "f8E4M3FN")
    assert value.astype("f8E4M3FN", "upward") == hu.convert(value, "f8E4M3FN", rounding="upward")
    assert value.astype("f32") is value
    assert value.astype("i8").poisoned.tolist() == [False, True, True]
    assert value.astype("bfloat16", profile="ml_dtypes") == hu.convert(value, "bf16", profile="ml_dtypes")
    bits = np.array([0, 1, 2], np.uint32)
    assert value.astype("f8E4M3FN", "stochastic", random=bits) == hu.convert(
        value, "f8E4M3FN", rounding="stochastic", random=bits
    )
    with pytest.raises(ValueError, match="rounding"):
        value.astype("bf16", rounding="sideways")


def test_tables_for_notebooks_show_every_value() -> None:
    for type_ in TYPES:
        assert places((3, 40), type_)._repr_html_()
        assert repr(places((3,), type_)).startswith("Value(3x")


def test_a_view_has_the_memory_of_its_value() -> None:
    big = hu.convert(np.ones(4_000, np.float32), "f32")
    for view in (big[::2], big[::-1], big.reshape(40, 100), big.reshape(40, 100).T, big[None, 5:], big.ravel()):
        assert np.shares_memory(view.bits, big.bits)


# --- DLPack and files -------------------------------------------------------------------------------------------------

PASSED = {
    "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu", "f16": "float16", "f32": "float32",
    "f64": "float64", "i8": "int8", "ui16": "uint16", "i64": "int64",
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(("type_", "dtype"), PASSED.items())
def test_torch_reads_values_by_dlpack(type_: str, dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    width = ty.width_of(as_type(type_))
    codes = np.arange(24, dtype=np.uint64).reshape(2, 3, 4) * np.uint64((1 << width) // 24)
    value = hu.Value.from_bits(codes.astype(f"u{width // 8}"), type_).transpose(2, 0, 1)
    for read in (torch.from_dlpack, torch.as_tensor):
        tensor = read(value)
        assert tensor.dtype == getattr(torch, dtype)
        assert tuple(tensor.shape) == (4, 2, 3)
        assert (tensor.view(getattr(torch, f"uint{width}")).numpy() == value.bits).all()
        # What is written to the tensor never changes the value.
        tensor.view(torch.uint8).zero_()
        assert value.bits.any()


@pytest.mark.jax
@pytest.mark.parametrize("type_", ["bf16", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f32"])
def test_jax_reads_values_by_dlpack(type_: str) -> None:
    jax: Any = pytest.importorskip("jax")
    value = hu.convert([1.0, -2.0, 0.375], type_)
    array = np.asarray(jax.dlpack.from_dlpack(value))
    assert array.dtype == value.dtype
    assert (array.view(value.bits.dtype) == value.bits).all()


def test_numpy_reads_values_by_dlpack() -> None:
    value = hu.convert([1.5, 2.0], "f32")
    assert value.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(value).tolist() == [1.5, 2.0]
    assert np.from_dlpack(hu.convert(1.5, "f64")).shape == ()
    assert np.from_dlpack(hu.Value.from_bits([1, 0], "i1")).dtype == np.bool_
    assert np.from_dlpack(hu.Value.from_bits(np.zeros((0, 3), np.uint32), "f32")).shape == (0, 3)


def test_values_that_dlpack_does_not_pass() -> None:
    value = hu.convert([1.0], "f32")
    for refused, why in (
        (lambda: hu.convert([1.0], "f4E2M1FN").__dlpack__(), "DLPack does not pass elements of type 'f4E2M1FN'"),
        (lambda: hu.convert([1], "i4").__dlpack__(), "DLPack does not pass elements of type 'i4'"),
        (lambda: value.__dlpack__(copy=False), "a Value never changes"),
        (lambda: value.__dlpack__(dl_device=(2, 0)), r"not on the device \(2, 0\)"),
    ):
        with pytest.raises(BufferError, match=why):
            refused()
    with pytest.raises(TypeMismatch, match="NumPy has no dtype for 'f80'"):
        hu.convert([1.0], "f80").__dlpack__()
    poison = hu.eval("arith.divsi", hu.convert([1], "i32"), hu.convert([0], "i32"), on_ub="poison")
    for read in (lambda: poison.__dlpack__(), lambda: np.save(io.BytesIO(), poison)):
        with pytest.raises(TypeMismatch, match="1 of 1 elements are poison"):
            read()


@pytest.mark.parametrize("type_", ["f32", "bf16", "f8E4M3FN", "i4", "ui16", "i1", "f64"])
def test_numpy_saves_values_as_it_saves_their_arrays(type_: str) -> None:
    value = hu.Value.from_bits([[1, 0], [0, 1]], type_)
    for save in (np.save, np.savez, np.savez_compressed):
        ours, theirs = io.BytesIO(), io.BytesIO()
        save(ours, value)
        save(theirs, value.numpy())
        assert ours.getvalue() == theirs.getvalue()
    named = io.BytesIO()
    np.savez(named, a=value)
    named.seek(0)
    assert np.load(named)["a"].tobytes() == value.numpy().tobytes()
    with pytest.raises(TypeMismatch, match="does not hold integers as wide as 'i65'"):
        np.save(io.BytesIO(), hu.Value.from_bits([1], "i65"))
