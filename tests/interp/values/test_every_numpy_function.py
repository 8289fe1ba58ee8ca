"""Every ufunc and every function of NumPy on values: computed by halfulp, or refused with a message.

NumPy lists what a type can override. A result must be one of those that this file predicts from Python integers, exact
fractions and `hu.eval`. Anything else must be a TypeError: a plain number or array would come from bits.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy
import numpy.typing as npt
import pytest
from amounts import thinned
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs
from tables import each_row

import halfulp as hu

np: Any = numpy
"""NumPy without its types, which do not know that values are arrays."""

UFUNCS = sorted(get_overridable_numpy_ufuncs(), key=lambda ufunc: str(ufunc.__name__))
FUNCTIONS = sorted(
    get_overridable_numpy_array_functions(), key=lambda function: (function.__name__, function.__module__)
)
OWN = hu.FloatFormat("own6", 3, 2, 3)
FLOATS = ("f8E4M3FN", "bf16", "f32", "f128", OWN)
INTEGERS = ("i8", "i1")


def value_of(type_: Any) -> Any:
    """Return six elements of a type, poisoned ones among them for "poison"."""
    if type_ == "poison":
        return hu.convert([[1.0, np.nan, 2.0], [0.5, 3.0, np.nan]], "f4E2M1FN")
    if type_ in INTEGERS:
        return hu.Value.from_bits(np.array([[1, 0, 1], [0, 1, 0]], np.uint8), type_)
    return hu.convert(np.array([[1.0, 0.1, 2.0], [0.5, 3.0, -0.25]]), type_)


ALL = [pytest.param(value_of(type_), id=str(type_)) for type_ in (*FLOATS, *INTEGERS, "poison")]


def reference(op: str, *operands: Any, **attributes: Any) -> Any:
    return hu.eval(op, *operands, **attributes)


def op(name: str, **attributes: Any) -> Callable[..., Any]:
    return lambda *operands: reference(name, *operands, **attributes)


def ones(value: Any) -> Any:
    return hu.Value.from_bits(
        np.full(value.shape, (1 << int(str(value.element_type)[1:])) - 1, np.uint8), value.element_type
    )


def by_element(compute: Callable[[float], bool]) -> Callable[[Any], Any]:
    """Return i1 from a function of the exact number of each element; poison stays."""

    def of(value: Any) -> Any:
        clean = value.poisoned
        flags = [
            [not bad and compute(one.item()) for one, bad in zip(row, bads, strict=True)]
            for row, bads in zip(value, clean, strict=True)
        ]
        made = hu.Value.from_bits(np.array(flags, np.uint8), "i1")
        return hu.Value(made.type, made.bits, value.poison, None, value.origins)

    return of


SAME_NAME = (
    "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)  # fmt: skip
FLOAT_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": op("arith.addf"),
    "subtract": op("arith.subf"),
    "multiply": op("arith.mulf"),
    "divide": op("arith.divf"),
    "fmod": op("arith.remf"),
    "maximum": op("arith.maximumf"),
    "minimum": op("arith.minimumf"),
    "fmax": op("arith.maxnumf"),
    "fmin": op("arith.minnumf"),
    "negative": op("arith.negf"),
    "positive": lambda a: a,
    "absolute": lambda a: reference("arith.maximumf", a, reference("arith.negf", a)),
    "fabs": lambda a: reference("arith.maximumf", a, reference("arith.negf", a)),
    "equal": op("arith.cmpf", predicate="oeq"),
    "not_equal": op("arith.cmpf", predicate="une"),
    "less": op("arith.cmpf", predicate="olt"),
    "less_equal": op("arith.cmpf", predicate="ole"),
    "greater": op("arith.cmpf", predicate="ogt"),
    "greater_equal": op("arith.cmpf", predicate="oge"),
    "isnan": by_element(lambda number: number != number),
    "isinf": by_element(lambda number: number in (float("inf"), -float("inf"))),
    "isfinite": by_element(lambda number: number == number),
    "signbit": by_element(lambda number: number < 0),
    "square": lambda a: reference("arith.mulf", a, a),
    "power": op("math.powf"),
    "float_power": op("math.powf"),
    "arctan2": op("math.atan2"),
    "hypot": op("hypot"),
    "copysign": op("math.copysign"),
    "rint": op("math.roundeven"),
    "reciprocal": op("reciprocal"),
    **{name: op(f"math.{name}") for name in SAME_NAME},
    **{f"arc{name}": op(f"math.a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
INTEGER_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": op("arith.addi"),
    "subtract": op("arith.subi"),
    "multiply": op("arith.muli"),
    "bitwise_and": op("arith.andi"),
    "bitwise_or": op("arith.ori"),
    "bitwise_xor": op("arith.xori"),
    "left_shift": op("arith.shli"),
    "invert": lambda a: reference("arith.xori", a, ones(a)),
    "negative": lambda a: reference("arith.subi", reference("arith.xori", a, a), a),
    "positive": lambda a: a,
    "equal": op("arith.cmpi", predicate="eq"),
    "not_equal": op("arith.cmpi", predicate="ne"),
}
MASK_UFUNCS: dict[str, Callable[..., Any]] = {
    "logical_and": op("arith.andi"),
    "logical_or": op("arith.ori"),
    "logical_xor": op("arith.xori"),
    "logical_not": lambda a: reference("arith.xori", a, ones(a)),
}


def computed_ufuncs(value: Any) -> dict[str, Callable[..., Any]]:
    element = str(value.element_type)
    if element == "i1":
        return INTEGER_UFUNCS | MASK_UFUNCS
    return INTEGER_UFUNCS if element == "i8" else FLOAT_UFUNCS


@pytest.mark.parametrize("value", thinned(thinned(ALL, 3), 3))
@each_row(*UFUNCS)
def test_every_ufunc(ufunc: Any, value: Any) -> None:
    expected = computed_ufuncs(value).get(ufunc.__name__)
    operands = (value,) + (value[::-1],) * (ufunc.nin - 1)
    if ufunc is np.matmul and str(value.element_type) != "i1":
        square = value.reshape(3, 2)
        assert ufunc(value, square) == value @ square
        return
    if expected is not None:
        found = ufunc(*operands)
        assert found == expected(*operands)
        assert isinstance(found, hu.Value)
        number = found if ufunc.nin == 1 else ufunc(value, 1)
        assert isinstance(number, hu.Value)
        return
    for arguments in (
        operands,
        (value,) + (np.ones((2, 3), np.int64),) * (ufunc.nin - 1),
        (value,) + (1,) * (ufunc.nin - 1),
    ):
        with pytest.raises(TypeError, match=".{20}"):
            ufunc(*arguments)


@pytest.mark.parametrize("value", thinned(ALL, 3))
@each_row(*UFUNCS)
def test_every_method_of_every_ufunc(ufunc: Any, value: Any) -> None:
    """Methods give values, too, or are refused; ``out`` and ``where`` are refused."""
    binary = ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("out", lambda: ufunc(*(value,) * ufunc.nin, out=tuple(np.zeros((2, 3)) for _ in range(ufunc.nout)))),
        ("where", lambda: ufunc(*(value,) * ufunc.nin, where=np.array([True, False, True]))),
    ]
    if binary:
        calls += [
            ("reduce", lambda: ufunc.reduce(value)),
            ("accumulate", lambda: ufunc.accumulate(value)),
            ("reduceat", lambda: ufunc.reduceat(value, [0, 1])),
            ("outer", lambda: ufunc.outer(value, value)),
        ]
    if ufunc.signature is None and ufunc.nin <= 2 and ufunc.nout == 1:
        calls.append(
            (
                "at",
                lambda: (
                    ufunc.at(np.zeros(3), [0], *(value[0, 0],) * (ufunc.nin - 1)) if binary else ufunc.at(value, [0])
                ),
            )
        )
    for name, call in calls:
        found = attempt(call)
        if isinstance(found, str):
            assert len(found) > 20
            continue
        assert name in ("reduce", "outer")
        assert isinstance(found, hu.Value)
        if name == "outer":
            assert found == ufunc(value[:, :, None, None], value)
        else:
            assert found.shape == (3,)
            assert found == REDUCED[ufunc.__name__](value)


def attempt(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or the message of its TypeError."""
    try:
        return call()
    except TypeError as error:
        return str(error)


def columns(value: Any, ufunc: Any) -> Any:
    first, second = value
    return ufunc(first, second)


REDUCED: dict[str, Callable[[Any], Any]] = {
    "add": lambda value: columns(value, np.add),
    "maximum": lambda value: columns(value, np.maximum),
    "minimum": lambda value: columns(value, np.minimum),
    "logical_and": lambda value: columns(value, np.bitwise_and),
    "logical_or": lambda value: columns(value, np.bitwise_or),
}

# Functions of arrays. Those of shape are compared with NumPy's on an array of places.

MOVING: dict[Any, tuple[Any, ...]] = {
    np.reshape: ((3, 2),), np.ravel: (), np.transpose: (), np.matrix_transpose: (), np.squeeze: (),
    np.expand_dims: (1,), np.broadcast_to: ((4, 2, 3),), np.swapaxes: (0, 1), np.moveaxis: (0, 1), np.rollaxis: (1,),
    np.flip: (), np.fliplr: (), np.flipud: (), np.rot90: (), np.roll: (1,), np.repeat: (2,), np.tile: (2,),
    np.resize: ((2, 2),), np.take: ([0, 2, 5],), np.delete: (1, 0), np.diagonal: (), np.copy: (),
}  # fmt: skip
DIVIDING = {np.split: (2,), np.array_split: (2,), np.hsplit: (3,), np.vsplit: (2,)}
JOINING = (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack)
PLAIN = {np.shape: (2, 3), np.ndim: 2, np.size: 6}


def at_places(value: Any, places: npt.NDArray[Any]) -> Any:
    """Return the elements of a value at these places of its flat form."""
    flat = value.bits.reshape(6, *value.bits.shape[2:])
    made = hu.Value.from_bits(flat[places], value.element_type)
    poison = None if value.poison is None else value.poison.reshape(6)[places]
    return hu.Value(made.type, made.bits, poison, None, value.origins)


@pytest.mark.parametrize("value", ALL)
def test_functions_of_shape(value: Any) -> None:
    places = np.arange(6).reshape(2, 3)
    for function, arguments in MOVING.items():
        assert function(value, *arguments) == at_places(value, function(places, *arguments)), function
    for function, arguments in DIVIDING.items():
        pairs = zip(function(value, *arguments), function(places, *arguments), strict=True)
        assert all(found == at_places(value, part) for found, part in pairs), function
    for function in JOINING:
        assert function([value, value]) == at_places(value, function([places, places])), function
        assert function(value) == at_places(value, function(places)), function
    for function, plain in PLAIN.items():
        assert function(value) == plain
    assert np.concatenate([value, value], axis=1) == at_places(value, np.concatenate([places, places], axis=1))
    assert np.stack([value, value], 2) == at_places(value, np.stack([places, places], 2))
    assert np.shares_memory(value, value.T)
    assert not np.shares_memory(value, value.copy())


@pytest.mark.parametrize("value", ALL)
def test_functions_that_compute(value: Any) -> None:
    floats = str(value.element_type)[0] != "i"
    mask = hu.Value.from_bits(np.array([[1, 0, 1], [0, 0, 1]], np.uint8), "i1")
    one = np.full_like(value, 1)
    assert one.bits.reshape(-1, *value.bits.shape[2:])[0].tolist() == value[0, 0].bits.tolist()
    assert one.shape == value.shape
    assert np.ones_like(value) == one
    assert not np.zeros_like(value).bits.any()
    assert np.where(mask, value, one) == hu.eval("arith.select", mask, value, one)
    assert np.where(mask.numpy(), value, 1) == np.where(mask, value, one)
    with pytest.raises(TypeError, match="cannot be combined with"):
        np.where(mask, value, np.ones((2, 3), np.complex128))
    if floats:
        top = hu.eval("arith.minimumf", hu.eval("arith.maximumf", value, np.zeros_like(value)), one)
        assert np.clip(value, 0, 1) == top
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
            assert np.clip(value, min=0, max=1) == top
        for function, name in [(np.max, "arith.maximumf"), (np.min, "arith.minimumf")]:
            rows = hu.eval(name, value[0], value[1])
            assert function(value, axis=0) == rows
            assert function(value, 0, keepdims=True) == rows.reshape(1, 3)
            assert function(value) == hu.eval(name, hu.eval(name, rows[0], rows[1]), rows[2])
        assert np.round(value) == np.around(value) == hu.eval("math.roundeven", value)
        assert np.fix(value) == hu.eval("math.trunc", value)
        assert value.max() == np.amax(value)
        assert value.min() == np.amin(value)
    if str(value.element_type) == "i1":
        assert np.all(value, axis=0).tolist() == [False, False, False]
        assert np.any(value, axis=0).tolist() == [True, True, True]
        assert value.any().item() is True
        assert np.count_nonzero(value) == 3
        assert [part.tolist() for part in np.nonzero(value)] == [[0, 0, 1], [0, 2, 1]]
        assert np.flatnonzero(value).tolist() == [0, 2, 4]
        assert np.argwhere(value).tolist() == [[0, 0], [0, 2], [1, 1]]
        return
    assert np.sum(value, axis=0) == columns(value, np.add)
    assert np.sum(value) == value.sum()
    assert np.dot(value, value.T) == value @ value.T
    if value.poison is None:
        assert np.array_equal(value, value) is True
        assert np.array_equal(value, value[::-1]) is False
        assert np.array_equal(value, value[0]) is False
    else:
        with pytest.raises(TypeError, match="poison"):
            np.array_equal(value, value)


def test_poison_makes_a_mask_poison() -> None:
    mask = hu.convert([1, np.nan, 3], "f4E2M1FN") > 2
    assert mask.any().poison is not None
    assert mask.all().poison is not None
    assert mask[:1].any().poison is None
    with pytest.raises(ValueError, match="poison"):
        bool(mask.any())
    with pytest.raises(TypeError, match="poison"):
        np.count_nonzero(mask)
    with pytest.raises(TypeError, match="poison"):
        _ = hu.convert([1, 2, 3], "bf16")[mask]


COMPUTED = {
    *MOVING, *DIVIDING, *JOINING, *PLAIN, np.dsplit, np.shares_memory, np.may_share_memory,
    np.where, np.clip, np.array_equal, np.all, np.any, np.max, np.amax, np.min, np.amin, np.full_like, np.zeros_like,
    np.ones_like, np.round, np.around, np.fix, np.sum, np.dot, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero,
    np.save, np.savez, np.savez_compressed,
}  # fmt: skip
"""The functions whose results the tests above check, and those of files, which `test_arrays` checks."""


MAKING = frozenset(
    [
        "arange", "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "frombuffer",
        "fromfile", "fromfunction", "fromiter", "fromstring", "full", "genfromtxt", "identity", "loadtxt", "ones",
        "require", "tri", "zeros",
    ]
)  # fmt: skip
"""The functions that make an array, which ask only ``like``."""
EXTRAS = ((), ("VALUE",), (1,), ("VALUE", "VALUE"), (1, 1), ("VALUE", "VALUE", "VALUE"))


@pytest.mark.parametrize("value", thinned(ALL, 3))
@each_row(*(function for function in FUNCTIONS if function not in COMPUTED))
def test_every_other_function_is_refused(function: Any, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"np\.{function.__name__} does not compute with values(?s:.*)hint: .{{10}}"):
        value.__array_function__(function, (hu.Value,), (value,), {})
    if function.__name__ in MAKING:
        calls = [
            lambda: function(2, like=value),
            lambda: function(2, 3, like=value),
            lambda: function("file", like=value),
        ]
    else:
        calls = [partial(function, value, *(value if each == "VALUE" else each for each in extra)) for extra in EXTRAS]
    for call in calls:
        with suppress(Exception):  # wrong arguments, found before a value is looked at
            found = call()
            pytest.fail(f"{function.__name__} gave {found!r}")


def test_other_places_of_a_value_are_asked_too() -> None:
    value = value_of("bf16")
    array = np.zeros((2, 3))
    calls: list[Callable[[], Any]] = [
        lambda: np.einsum("ij,ij", value, value),
        lambda: np.copyto(array, value),
        lambda: np.place(array, array == 0, value),
        lambda: np.putmask(array, array == 0, value),
        lambda: np.put(array, [0], value),
        lambda: np.searchsorted(array[0], value),
        lambda: np.interp(value, [0, 1], [0, 1]),
        lambda: np.apply_along_axis(len, 0, value),
        lambda: np.apply_over_axes(np.sum, value, 0),
        lambda: np.select([array == 0], [value]),
        lambda: np.insert(array, 0, value),
        lambda: np.append(array, value),
        lambda: np.mean(array, out=value),
        lambda: np.take(array, value),
        lambda: np.linalg.solve(array, value),
    ]
    for call in calls:
        assert "halfulp" in attempt(call) or "Value" in attempt(call)
    assert not array.any()
