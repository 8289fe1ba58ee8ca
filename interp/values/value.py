"""The class `Value`: an immutable array of codes with its type, its poison and its unspecified elements."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Never, Protocol

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from halfulp.fp_formats.aliases import with_hint
from halfulp.fp_formats.formats import FORMATS, FloatFormat, bits_of, codes_to_ints
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.fp_formats.spelling import code, fragment, hexadecimal, table, title, value_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.ir.types import code_layout, concrete, element_width, shape_conflict, spell_shape, width_of
from halfulp.interp.values import coerce, elements
from halfulp.interp.values.elements import item, numbers
from halfulp.interp.values.spelling import Spelled, spell_element, spell_value
from halfulp.semantics import fixed_point
from halfulp.semantics.integer import Overflow
from halfulp.semantics.kernel import Origin, Origins
from halfulp.semantics.profile import Profile, as_profile, current_profile

if TYPE_CHECKING:
    from bitstring import Bits

# --- guessing ---------------------------------------------------------------------------------------------------------
#
# What to write instead of the attributes that a `Value` lacks, but that users of NumPy and torch try first.

_ADVICE = {
    "to type_as cast": '.astype("f32") converts to another type',
    "float": '.astype("f32") converts, float(v) makes a number of one element',
    "half": '.astype("f16") converts',
    "double": '.astype("f64") converts',
    "bfloat16": '.astype("bf16") converts',
    "int long short": '.astype("i32") converts, int(v) makes a number of one element',
    "detach cpu cuda requires_grad device values to_numpy array": ".numpy() is an array of NumPy",
    "mean average": "hu.sum(v) / v.size is a mean: hu.sum adds in an order that you choose",
    "cumsum prod cumprod": "hu.sum(v) adds in an order that you choose; a loop over the elements makes other totals",
    "var std": '.numpy(), or .astype("f64").numpy(), is an array on which NumPy computes {name}',
    "argmax argmin sort argsort ptp": ".numpy() is an array on which NumPy sorts and compares",
    "norm": "hu.dot(v, v) is the square of the norm",
    "matmul mm bmm": "v @ w and hu.matmul(v, w) multiply matrices",
    "dot": "hu.dot(v, w) multiplies and adds",
    "add sub mul div add_ mul_": "v + w, v - w, v * w and v / w compute",
    "abs": "abs(v) works",
    "isnan": "np.isnan(v) works",
    "clip clamp": "np.clip(v, low, high) limits the elements",
    "round": 'np.rint(v) rounds to integers of the same type, hu.convert(v, "i32") to i32',
    "ceil floor trunc": "np.{name}(v) works",
    "sqrt exp exp2 log log2 log10 log1p expm1 sin cos tan sinh cosh tanh square reciprocal": "np.{name}(v) works",
    "rsqrt sigmoid erf erfc": 'hu.eval("{name}", v) works',
    "pow": "v ** w works",
    "nonzero": "np.nonzero(v) works on a comparison",
    "view": 'hu.eval("arith.bitcast", v, to="i16") reads the bits as another type; .bits has them as unsigned integers',
    "tobytes data nbytes hex save tofile": ".bits is an array of unsigned integers, which has tobytes() and nbytes",
    "unsqueeze": "np.expand_dims(v, axis) adds a dimension",
    "t permute swapaxes mT": ".transpose(...) changes the order of the dimensions",
    "numel": ".size is the number of elements",
    "dim": ".ndim is the number of dimensions",
    "clone": "a Value never changes, so that no copy is needed; .numpy().copy() is an array that may change",
    "fill put itemset copy_ zero_": "a Value never changes; .numpy().copy() is an array that may change",
    "isna dropna masked_array filled mask": ".masked() is a masked array of NumPy, .poisoned its mask: True for poison",
    "format": ".type is the type; hu.float_format(...) has the fields of a float type",
    "quantize dequantize": "hu.{name} works on a Value",
    "index count": ".tolist() is a list of Python numbers",
    "itemsize": ".bits.itemsize is the size of one element as it is kept",
}

INSTEAD: Mapping[str, str] = MappingProxyType(
    {name: advice.replace("{name}", name) for names, advice in _ADVICE.items() for name in names.split()}
)
"""What to write instead of each attribute."""


def unknown_attribute(name: str) -> AttributeError:
    """Return the error for an attribute that a Value does not have, with what to write instead, if that is known."""
    return AttributeError(with_hint(f"'Value' object has no attribute {name!r}", INSTEAD.get(name)))


# --- display ----------------------------------------------------------------------------------------------------------
#
# Values as HTML for notebooks: a table of elements with their codes and the origins of poison.

MOST_ELEMENTS, MOST_SHOWN = 64, 8
"""The most elements that are all shown; of a larger value so many first ones, and a summary."""
_LINE, _CHARACTER, _PADDING, _VALUE = 530, 7.3, 17, 15
"""Pixels of a line, of a character, and around each cell; characters of a value."""
MOST_ORIGINS = 5


class Shown(Spelled, Protocol):
    """The parts of a `Value` that its table shows."""

    origins: Origins | None

    @property
    def element_type(self) -> ty.Type:
        """The type of one element."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements."""

    @property
    def poisoned(self) -> npt.NDArray[np.bool_]:
        """The bool mask of poisoned elements."""

    def origin(self, *index: int) -> Origin | None:
        """Return the origin of the poison of one element."""


def value_html(value: Shown) -> str:
    """Return HTML that shows a value: its type, and its elements with their codes; poison is hatched. A large value is
    shown as a summary.
    """
    element = value.element_type
    width = element_width(element)
    if width is None or len(code_layout(element)[1]) > 1:
        return fragment(title(str(value.type)), f"<p>{escape(repr(value))}</p>")
    shape = value.shape
    size = int(np.prod(shape, dtype=np.int64))
    large = size > MOST_ELEMENTS
    parts = [title(str(value.type))]
    if size == 0:
        return fragment(*parts, "<p>no elements</p>")
    if large:
        parts.append(table(_summary(value, size), named=True))
    places = list(np.ndindex(shape) if not large else (np.unravel_index(k, shape) for k in range(MOST_SHOWN)))
    fitting = max(1, int(_LINE // (max(_VALUE, len(hexadecimal(0, width))) * _CHARACTER + _PADDING)))
    columns = min(shape[-1], fitting) if shape and not large else fitting
    rows = []
    for start in range(0, len(places), columns):
        # A row of the value that is longer than the table goes on in the next one.
        row = places[start : start + columns]
        rows.append(
            [code(str([int(k) for k in row[0]])) if shape else "", *(_cell(value, place, width) for place in row)]
        )
    parts.append(table(rows, named=True))
    if large:
        parts.append(f"<p>the first {MOST_SHOWN} of {size:,} elements</p>")
    parts.append(_origins(value))
    return fragment(*parts)


def _cell(value: Shown, place: tuple[Any, ...], width: int) -> str:
    origin = value.origin(*place)
    if origin is not None or (value.poison is not None and value.poison[place]):
        reason = escape(str(origin or "unknown origin"), quote=True)
        return f'<td class="poison" title="{reason}">poison</td>'
    bits = _code_at(value, place, width)
    return f'<td class="short">{escape(_element(value.element_type, bits))}<br>{code(hexadecimal(bits, width))}</td>'


def _code_at(value: Shown, place: tuple[Any, ...], width: int) -> int:
    return codes_to_ints(np.asarray(value.bits[place]).reshape((1, *value.bits.shape[len(place) :])), width)[0]


def _element(element: ty.Type, bits: int) -> str:
    return value_text(element.format, bits, 20) if isinstance(element, ty.FloatType) else spell_element(element, bits)


def _origins(value: Shown) -> str:
    """List the origins of the poison; the origin of an element is also shown when the pointer is on it."""
    if value.poison is None or value.origins is None:
        return ""
    counts = dict(zip(*np.unique(value.poison[value.poison != 0], return_counts=True), strict=True))
    rows = [(f"{count:,}", escape(str(value.origins[int(origin)]))) for origin, count in counts.items()]
    more = [(f"{len(rows) - MOST_ORIGINS:,} more", "")] if len(rows) > MOST_ORIGINS else []
    return table([*rows[:MOST_ORIGINS], *more], ("poisoned", "because"))


def _summary(value: Shown, size: int) -> list[tuple[str, str]]:
    rows = [("elements", f"{size:,}")]
    poisoned = value.poisoned.ravel()
    numbers = _as_doubles(value)
    if numbers is not None:
        finite = np.isfinite(numbers) & ~poisoned
        for name, best in (("smallest", np.argmin), ("largest", np.argmax)):
            if finite.any():
                at = int(np.flatnonzero(finite)[best(numbers[finite])])
                place = np.unravel_index(at, value.shape)
                width = width_of(value.element_type)
                bits = _code_at(value, place, width)
                where = [int(k) for k in place]
                text = f"{escape(_element(value.element_type, bits))} {code(hexadecimal(bits, width))} at {where}"
                rows.append((name, text))
        rows.append(("NaN", f"{int((np.isnan(numbers) & ~poisoned).sum()):,}"))
        rows.append(("infinite", f"{int((np.isinf(numbers) & ~poisoned).sum()):,}"))
    if poisoned.any():
        rows.append(("poison", f"{int(poisoned.sum()):,}"))
    return rows


def _as_doubles(value: Shown) -> npt.NDArray[np.float64] | None:
    """Return the elements as flat float64, to find the smallest and largest; None for integers wider than 64 bits."""
    element = value.element_type
    if isinstance(element, ty.FloatType):
        double = FORMATS["f64"]
        codes = value.bits if element.format == double else fast.convert(element.format, double, value.bits).codes
        return np.asarray(codes).reshape(-1).view(np.float64)
    if isinstance(element, ty.FixedType):
        unit, integers = element.format.unit, codes_to_ints(value.bits, element.format.width)
        return np.array([float(fixed_point.integer_of(element.format, code) * unit) for code in integers])
    array = coerce.natural_array(element, value.bits)
    return None if array.dtype == object else array.reshape(-1).astype(np.float64)


# --- value ------------------------------------------------------------------------------------------------------------


class Value(elements.Elements, NDArrayOperatorsMixin):
    """An immutable MLIR value, an array of exact elements: ``type``, ``bits``, ``poison`` and ``open``.

    ``bits``: a read-only array of codes (see `halfulp.interp.ir.types`).
    ``poison``: None if no element is poison; else a uint16 array of the element shape: 0 for a clean element, otherwise
    the key of its origin in ``origins``.
    ``open``: None, or a uint8 array of `halfulp.semantics.kernel.Open` bits, which mark the elements that the language
    leaves unspecified (only a run with ``track_open`` has it).
    ``unsigned``: True if signless integers came from an unsigned array; `numpy` then returns an unsigned array again.

    `halfulp.convert`, `Value.from_bits` and `Value.from_numpy` make values; a call of the class itself takes a type and
    codes. halfulp computes operators, NumPy's ufuncs and NumPy's functions of values, under the profile of the
    `profile` block, and raises TypeMismatch for a function that it does not have. In an operation with a value, a
    Python number gets the type of the value, as a literal of MLIR does; an array of NumPy, torch or JAX must have
    exactly the type of the value. Shapes broadcast as in NumPy.

    ``==`` and ``!=`` compare whole values and give one bool: two values are equal if they have the same type, the same
    poisoned elements, and the same bits in all other elements. `np.equal`, ``<`` and the other comparisons compare
    element by element and give i1. If a NumPy array is on the left, NumPy evaluates ``==`` as `np.equal`. Values can be
    pickled, and shared between threads.

        v = hu.convert([0.1, 0.2, 300.0], "f8E4M3FN")
        (v * 2)[1:], v > 0.15, v.max().item()
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Value, (self.type, np.asarray(self.bits), self.poison, self.open, self.origins, self.unsigned)

    # --- out of halfulp -----------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array that `numpy` returns; `element_type` is the MLIR type. Raises TypeMismatch if NumPy
        and ml_dtypes have no dtype for it.
        """
        return elements.exported_dtype(self)

    def numpy(self, *, poison: float | str = "raise", signed: bool | None = None) -> npt.NDArray[Any]:
        """Return the elements as an array of their dtype in NumPy or ml_dtypes, without a copy if it has the same bits.

        ``poison``: "raise", or the number that replaces each poisoned element: "nan", or a number of the type.
        ``signed``: whether signless integers and index are signed. By default they are, except for a value that was
        made from an unsigned array: a result of an op is signed.

        i1 is bool. Integers of a width without a dtype are sign-extended (unsigned ones zero-extended) to the next
        dtype. Integers wider than 64 bits are Python integers in an object array. tf32 is widened to float32, which is
        exact. A quantised element is its stored integer. The array is read-only.

        Raises TypeMismatch for poison, and for a type that NumPy and ml_dtypes lack (f80, f128, your own format).
        """
        array = elements.exported(self, poison, signed)
        array.flags.writeable = False
        return array

    def masked(self) -> np.ma.MaskedArray[Any, Any]:
        """Return the array that `numpy` returns as a masked array, in which poisoned elements are masked.

        Raises TypeMismatch for a type that NumPy and ml_dtypes lack.
        """
        clean = Value(self.type, self.bits, None, None, None, self.unsigned)
        return np.ma.MaskedArray(clean.numpy(), mask=self.poisoned)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the natural array, or one of ``dtype``: floats rounded once, to nearest even, by halfulp; integers
        that fit; ``object``: exact Python numbers.

        Raises TypeMismatch for poison, a type that NumPy lacks, and any other dtype.
        """
        array = self.numpy() if dtype is None else elements.array_of_dtype(self, np.dtype(dtype))
        if copy is False and not np.may_share_memory(array, self.bits) and array.size:
            raise ValueError(f"a copy is needed to turn {self.element_type} into {array.dtype}")
        return array.copy() if copy else array

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Return a copy of the natural array as a capsule of DLPack, which other libraries read; bf16 and floats of 8
        bits included.

        Raises TypeMismatch for poison and for a type that NumPy lacks, BufferError for one that DLPack lacks, for a
        device that is not the CPU and for ``copy=False``.
        """
        return elements.dlpack(self, dl_device or elements.CPU, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's name of the CPU."""
        return elements.CPU

    def item(self, *index: int) -> Any:
        """Return the one element, or the one at ``index``, as a Python number with exactly its value.

        A float, or a `fractions.Fraction` if no float has the value (f80, f128, your own format); a bool for i1; an int
        for other integers. Raises ValueError for several elements and for poison.
        """
        one = self[index] if index else self
        if one.size != 1:
            raise ValueError(f"item() takes one element, but the value has {one.size}: write v.item(i), or v.tolist()")
        if one.poisoned.any():
            raise ValueError(f"the value is poison: {one.origin(*(0,) * one.ndim)}")
        return numbers(one)[0]

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers, as `item` gives them.

        Raises TypeMismatch for poison.
        """
        flat = np.empty(self.size, object)
        flat[:] = numbers(self)
        return flat.reshape(self.shape).tolist()

    def bitstring(self, *index: int) -> Bits:
        """Return the bits of the element at ``index`` as `bitstring.Bits`; a scalar needs no index.

        Raises ValueError if the element is poison, and Unsupported for elements without a bit pattern.
        """
        width = ty.element_width(self.element_type)
        if width is None:
            raise Unsupported(f"'{self.element_type}' has no bit pattern")
        if len(index) != len(self.shape):
            raise IndexError(
                f"a value of shape {spell_shape(self.shape)} takes {len(self.shape)} indices, not {len(index)}"
            )
        if self.poisoned[index]:
            raise ValueError(f"the element is poison: {self.origin(*index)}")
        return bits_of(codes_to_ints(np.asarray(self.bits[index]), width)[0], width)

    @property
    def _data(self) -> Never:
        """The name that np.ma asks for to get the elements of an operand and compute on them itself."""
        raise TypeMismatch("np.ma computes by NumPy, not by halfulp", hint="give a masked array to hu.convert first")

    # --- elements and shape -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"a scalar Value of type '{self.type}' has no length: write v.item(), or v.tolist()")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Value:
        return item(self, key)

    def __setitem__(self, key: Any, value: Any) -> Never:
        raise TypeError("a Value never changes: write v.numpy().copy() for an array that may, or np.where(mask, x, v)")

    def __iter__(self) -> Iterator[Value]:
        if not self.shape:
            raise TypeError(f"a scalar Value of type '{self.type}' has no elements to go through: write v.item()")
        return (self[at] for at in range(self.shape[0]))

    @property
    def T(self) -> Value:
        """The value with its axes reversed."""
        return self.transpose()

    def reshape(self, *shape: int | tuple[int, ...]) -> Value:
        """Return the elements in another shape; one size may be -1. Raises ValueError as NumPy does."""
        return elements.moved(self, lambda array: array.reshape(*shape))  # type: ignore[arg-type]

    def transpose(self, *axes: int | tuple[int, ...]) -> Value:
        """Return the elements with their axes in another order, reversed by default."""
        return elements.moved(self, lambda array: array.transpose(*axes))

    def ravel(self) -> Value:
        """Return the elements in one axis, without a copy if they lie in order."""
        return elements.moved(self, np.ravel)

    def flatten(self) -> Value:
        """Return a copy of the elements in one axis."""
        return elements.moved(self, lambda array: array.flatten())

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Value:
        """Return the value without axes of one element. Raises ValueError for an axis with more."""
        return elements.moved(self, lambda array: np.squeeze(array, axis))

    def copy(self) -> Value:
        """Return a copy of the value, which shares no memory with it."""
        poison = None if self.poison is None else self.poison.copy()
        open_ = None if self.open is None else self.open.copy()
        return Value(self.type, self.bits.copy(), poison, open_, self.origins, self.unsigned)

    def astype(
        self,
        to: str | ty.Type | FloatFormat,
        rounding: str | None = None,
        *,
        profile: Profile | str | None = None,
        overflow: Overflow | None = None,
        random: npt.NDArray[Any] | None = None,
    ) -> Value:
        """Return the elements in another element type, rounded once, as `halfulp.convert` does.

        ``rounding``: None for the default.
        ``overflow``: what an integer becomes if the target is an integer type without that value: "wrap", "saturate" or
        "poison"; by default it raises an error. ``random``: the bits of stochastic rounding. For its own type a value
        returns itself.

        Raises TypeMismatch for types that cannot be converted, InputError for an option that has no meaning here,
        ValueError for an unknown rounding or profile.
        """
        target, own, chosen = ty.element_type(coerce.as_type(to)), self.element_type, as_profile(profile)
        mode = None if rounding is None else as_rounding(rounding)
        elements.check_overflow(overflow, isinstance(own, ty.IntegerType), target)
        if random is not None and mode is not Rounding.STOCHASTIC:
            raise elements.not_stochastic("random")
        source = self.as_read()
        if target == own and mode is None and (source is self or own == ty.I1):
            return self
        exact = mode is not Rounding.STOCHASTIC
        if exact and isinstance(source.element_type, ty.IntegerType) and isinstance(target, ty.IntegerType):
            kernel = elements.kernel_between_integers(source, source.element_type, target, overflow)
        else:
            kernel = elements.conversion_kernel(source.element_type, target, mode, chosen, random, self.shape)
        return elements.applied("convert", kernel, (source,), target)

    def as_read(self) -> Value:
        """Return the value with an unsigned integer type if `numpy` reads its signless integers (or i1) as unsigned;
        else return the value itself.
        """
        element = self.element_type
        unsigned = self.unsigned or element == ty.I1
        if not unsigned or not isinstance(element, ty.IntegerType) or element.signedness != "signless":
            return self
        type_ = ty.with_element(self.type, ty.IntegerType(element.width, "unsigned"))
        return retyped(self, type_)

    # --- computing ----------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, called: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        if any(not isinstance(each, _OPERANDS) and hasattr(each, "__array_ufunc__") for each in operands):
            return NotImplemented  # it decides, as a buffer does
        from halfulp.interp.values.functions import ufunc

        return ufunc(called, method, operands, keywords, current_profile())

    def __array_function__(
        self, called: Callable[..., Any], types: Any, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        if not all(issubclass(each, Value | np.ndarray) for each in types):
            return NotImplemented
        from halfulp.interp.values.functions import function

        return function(called, arguments, keywords, current_profile())

    def all(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Value:
        """Tell whether all elements of a mask of i1 are true, as i1. A poisoned element makes the result poison."""
        return self._reduced(np.all, axis, keepdims)

    def any(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Value:
        """Tell whether any element of a mask of i1 is true, as i1. A poisoned element makes the result poison."""
        return self._reduced(np.any, axis, keepdims)

    def sum(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Value:
        """Return the sum of the elements, added in order in their own type; `halfulp.sum` offers other orders and
        types.

        Raises TypeMismatch for i1 and for elements that are not numbers.
        """
        return self._reduced(np.sum, axis, keepdims)

    def max(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Value:
        """Return the largest element, by arith.maximumf. Raises TypeMismatch for integers."""
        return self._reduced(np.max, axis, keepdims)

    def min(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Value:
        """Return the smallest element, by arith.minimumf. Raises TypeMismatch for integers."""
        return self._reduced(np.min, axis, keepdims)

    def _reduced(self, called: Callable[..., Any], axis: int | tuple[int, ...] | None, keepdims: bool) -> Value:
        from halfulp.interp.values.functions import function

        reduced: Value = function(called, (self,), {"axis": axis, "keepdims": keepdims}, current_profile())
        return reduced

    # A value is immutable, so v += w makes a new one.
    __iadd__ = NDArrayOperatorsMixin.__add__
    __isub__ = NDArrayOperatorsMixin.__sub__
    __imul__ = NDArrayOperatorsMixin.__mul__
    __itruediv__ = NDArrayOperatorsMixin.__truediv__
    __imatmul__ = NDArrayOperatorsMixin.__matmul__
    __ifloordiv__ = NDArrayOperatorsMixin.__floordiv__
    __imod__ = NDArrayOperatorsMixin.__mod__
    __ipow__ = NDArrayOperatorsMixin.__pow__
    __ilshift__ = NDArrayOperatorsMixin.__lshift__
    __irshift__ = NDArrayOperatorsMixin.__rshift__
    __iand__ = NDArrayOperatorsMixin.__and__
    __ior__ = NDArrayOperatorsMixin.__or__
    __ixor__ = NDArrayOperatorsMixin.__xor__

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> Never:
            raise unknown_attribute(name)

    # --- one element --------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"a Value of {self.size} elements is neither true nor false: write v.any() or v.all() "
                "(np.any and np.all are the same)"
            )
        return bool(self.item())

    def _only(self, what: str) -> Any:
        """Return the only element, for a conversion that Python calls ``what``."""
        if self.size != 1:
            raise TypeError(f"{what}() takes one element, but the value has {self.size}: write v.tolist()")
        return self.item()

    def __float__(self) -> float:
        one = self._only("float")
        try:
            return float(one)
        except OverflowError:
            raise OverflowError("the number is beyond the largest float: write v.item(), which is exact") from None

    def __int__(self) -> int:
        return int(self._only("int"))

    def __round__(self, digits: int | None = None) -> Never:
        raise TypeMismatch(
            "round() of a Value does not say which type the result has", hint='write v.astype("i32", "to_nearest_even")'
        )

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __index__(self) -> int:
        if not isinstance(self.element_type, ty.IntegerType | ty.IndexType):
            raise TypeError(f"a Value of type '{self.type}' is not an index: write int(v)")
        return operator.index(self._only("index"))

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        one = self._only("format")
        return format(elements.exact_decimal(one) if isinstance(one, Fraction) else one, spec)

    def __contains__(self, number: object) -> bool:
        raise TypeMismatch(
            "'in' cannot be used with a Value: it may mean whole values or elements", hint="write np.equal(v, x).any()"
        )

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False
        if not isinstance(other, Value):
            raise TypeMismatch(
                f"a Value cannot be compared with {elements.kind_of(other)} by == or !=: it may mean whole "
                "values or elements",
                hint=f'np.equal(v, x) compares elements, v == hu.convert(x, "{self.element_type}") whole values',
            )
        if self.type != other.type or self.shape != other.shape:
            return False
        mine, theirs = self.poisoned, other.poisoned
        same = self.bits == other.bits
        trailing = tuple(range(len(self.shape), self.bits.ndim))
        return bool(np.array_equal(mine, theirs) and (np.all(same, axis=trailing) | mine).all())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.type, self.shape))

    def __repr__(self) -> str:
        return f"Value({spell_value(self, limit=60)})"

    def _repr_html_(self) -> str:
        return value_html(self)

    @classmethod
    def from_bits(cls, bits: npt.ArrayLike | Bits | Sequence[Any], type: ty.Type | FloatFormat | str) -> Value:
        """Make a value of the given type from raw bits.

        ``bits``: an array of unsigned integers (with a last axis of uint64 limbs above 64 bits); or Python integers,
        `bitstring.Bits`, or strings of all bits, such as ``"0b0 1111 110"`` or ``"0x7e"``, alone or in lists.
        ``type`` is an MLIR type or its spelling. Given an element type and an array, the value is a tensor of the
        array's shape. Raises TypeMismatch when a bit pattern does not fit the width or the shape is not the type's.
        """
        return cls(*coerce.codes_of_bits(bits, coerce.as_type(type)))

    @classmethod
    def from_numpy(cls, array: npt.ArrayLike, type: ty.Type | str | None = None, *, copy: bool = True) -> Value:
        """Make a value from a NumPy or ml_dtypes array or a Python number; without ``type``, of the dtype's type.

        ``type``: the element type, or the whole type. An array becomes a tensor. An array of rank 0, or a number,
        becomes a scalar. The array is copied. With ``copy=False`` it is not copied, and must not change while the value
        is used. Signless integers of an unsigned dtype are unsigned in `numpy` and `item`. Raises TypeMismatch if dtype
        or shape do not fit.
        """
        if isinstance(array, Value):
            return array if type is None else to_value(array, coerce.as_type(type))
        if type is None or not isinstance(array, bool | int | float):
            array = coerce.as_array(array, "the value")  # a tensor, a buffer and a large number may be unsigned, too
        whole = None if type is None else coerce.container_of(array, coerce.as_type(type))
        made = _of_dtype(array, copy) if whole is None else to_value(array, whole, copy=copy)
        if getattr(getattr(array, "dtype", None), "kind", "") != "u" or not _is_signless(made.element_type):
            return made
        return cls(made.type, made.bits, made.poison, made.open, made.origins, True)


_OPERANDS = (Value, np.ndarray, np.generic, int, float)


def _is_signless(element: ty.Type) -> bool:
    return isinstance(element, ty.IndexType) or ty.is_signless(element)


# --- what a user gives ------------------------------------------------------------------------------------------------


def to_value(
    data: Any, type_: ty.Type, what: str = "the value", vscale: int | None = None, copy: bool = False
) -> Value:
    """Return ``data`` as a value of exactly ``type_``; ``what`` names it in errors (``argument 0 of @main``).

    Accepts a Value of that type, a NumPy or ml_dtypes array of that dtype (the unsigned dtype of the same width for
    integers), raw bits of the natural unsigned dtype for types NumPy cannot hold, and Python numbers for scalars.
    Nothing is widened, wrapped or rounded, except a Python number for a float type, which is rounded once. An array is
    never written to, and copied only if ``copy``; else the value is a read-only view of it.

    Raises TypeMismatch, naming the expected and the given type.
    """
    if isinstance(data, Value):
        return _conforming(data, type_, what, vscale)
    return Value(type_, coerce.codes_of(data, type_, what, vscale, copy))


def to_elements(data: Any, type_: ty.Type | None, what: str = "the value") -> Value:
    """Return ``data`` as a value with elements of ``type_``: an array becomes a tensor, a number a scalar.

    ``type_``: an element type, or a whole type; None for the type that the dtype names, where the integers of an
    unsigned dtype and bool are unsigned. An array is not copied: it must not change as long as the value is used.
    Otherwise like `to_value`. Raises TypeMismatch.
    """
    if isinstance(data, Value):
        return data
    return _of_dtype(data, unsigned=True) if type_ is None else to_value(data, coerce.container_of(data, type_), what)


def retyped(value: Value, type_: ty.Type) -> Value:
    """Return a value with another type of the same shape, and the same codes, poison and unspecified elements."""
    return Value(type_, value.bits, value.poison, value.open, value.origins)


def _of_dtype(data: npt.ArrayLike, copy: bool = False, unsigned: bool = False) -> Value:
    array = coerce.as_array(data, "the value")
    element = coerce.type_of_dtype(array.dtype)
    if element is None:
        raise TypeMismatch(
            f"no MLIR type corresponds to dtype {array.dtype}", hint="give type=…, or use Value.from_bits"
        )
    codes = coerce.codes_of(array, coerce.container_of(array, element), "the value", copy=copy)
    return Value(coerce.container_of(array, coerce.type_of_dtype(array.dtype, unsigned) or element), codes)


def _conforming(value: Value, type_: ty.Type, what: str, vscale: int | None) -> Value:
    if value.type == type_:
        return value
    # A tensor of known shape may stand where the type leaves dimensions open, and a scalar or array of an element type
    # made by from_bits where the container is a vector.
    same_element = value.element_type == ty.element_type(type_)
    if same_element and shape_conflict(type_, value.shape, vscale) is None and not isinstance(type_, ty.MemRefType):
        return retyped(value, type_)
    raise TypeMismatch(f"{what}: expected '{type_}', got '{concrete(value.type, value.shape)}'")
