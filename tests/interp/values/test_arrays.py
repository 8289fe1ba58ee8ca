"""Indexing, iteration and shapes of values: NumPy's rules, on every layout of codes, with poison that follows."""

from __future__ import annotations

import copy
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
        value[1],
        value[1, 2],
        value[::2, ::-1],
        value.T,
        value.reshape(6, 4),
        value.ravel(),
        value[None],
        value[...],
    )
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
