"""Round any function of exact reals once: `round`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.exact_reals.calling import Called, called, elementwise, unsettled
from halfulp.exact_reals.operands import Operand, TypeName, merged_poison, mode_of, operand, result_format
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, code_shape, ints_to_codes, storage_dtype
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.fp_formats.reals.enclosing import Unsettled
from halfulp.fp_formats.reals.extended import Number
from halfulp.fp_formats.reals.rounding_once import rounded, settled
from halfulp.fp_formats.scalar import Result
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, TypeMismatch
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import Profile, as_profile

Places = npt.NDArray[np.intp]


def round(
    f: Any,
    x: Any,
    *more: Any,
    to: TypeName | None = None,
    rounding: str | Rounding = "to_nearest_even",
    profile: Profile | str | None = None,
) -> Value:
    """Return a function of exact real numbers, rounded once, as a `Value`.

    ``f``: a Python function of `Real`s, ``lambda x: x / (1 + (-x).exp())``; a text, ``"x / (1 + exp(-x))"``, of the
    arguments x, y and z; or the name of a function, ``"gelu"``. Operators, constants and functions compute exactly.
    Floats in a Python function are exactly their binary values; numbers in a text are decimal, so 0.1 is 1/10.
    ``x``, ``more``: one input for each argument: numbers, arrays, `Value`s of any types, which broadcast; exactly as
    they are. ``to``: the float type of the result; by default that of the inputs. ``rounding``: any mode except
    stochastic. ``profile``: its float policy holds for the operands and the result, as in an op of `arith`.

    NaN arguments give their NaN: ``f`` is not called. Infinities and zeros go through the operations as in IEEE 754:
    infinity - infinity is NaN, x / 0 a pole, x - x is +0 (-0 to round downward), exp(-infinity) is +0, and functions
    outside of their domain are NaN. There is neither overflow nor underflow before the result. Poison stays poison.

    ``f`` is called once, without numbers; if it compares reals, once for each distinct element. Comparisons are exact.
    It is evaluated by rational numbers while it is rational, and else by balls of rising precision, up to 65,536 bits.

        >>> x = hu.convert([-1.0, 0.5, 100.0], "bf16")
        >>> hu.round(lambda x: x / (1 + (-x).exp()), x)
        Value(3xbf16=-0.27 0.31 100)
        >>> hu.round("x / (1 + exp(-x))", x, to="f8E4M3FN", rounding="downward")
        Value(3xf8E4M3FN=-0.28125 0.28125 96)

    Raises ParseError for a wrong text; TypeMismatch for inputs without a type, for a wrong number of arguments, and for
    a function that returns anything but a real, an integer or a Fraction; InputError for what the function raises, and
    for one that does something else when it is called again; LimitExceeded, with element and ball, if a result or a
    comparison is not settled by 65,536 bits: it may be exact without being rational, as sin(x)**2 + cos(x)**2.
    """
    called_by_element = elementwise(f, 1 + len(more))
    chosen, mode = as_profile(profile).arithmetic, mode_of(rounding)
    inputs = [operand(each, f"argument {k}") for k, each in enumerate((x, *more))]
    dst = result_format(to, inputs, "hu.round")
    try:
        shape = np.broadcast_shapes(*(each.shape for each in inputs))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in inputs)
        raise TypeMismatch(f"hu.round: the shapes {shapes} do not broadcast") from None
    function = called(called_by_element, len(inputs))
    elements = _Elements(inputs, shape)
    results = _Results(function, elements, dst, mode, chosen)
    return results.value()


class _Elements:
    """The elements of operands that broadcast, and the distinct ones among those that are not poison.

    ``firsts``: for each operand the places of the distinct elements in its row; ``where``: their places in the result;
    ``index``: of each clean element, the number of the distinct one; ``clean``: the mask, or None for all.
    """

    def __init__(self, operands: Sequence[Operand], shape: tuple[int, ...]) -> None:
        self.operands, self.shape = operands, shape
        self.poison = [
            (None if each.poison is None else _spread(each.poison, each.shape, shape), each.origins)
            for each in operands
        ]
        masks = [mask != 0 for mask, _ in self.poison if mask is not None]
        self.clean = None if not masks else ~np.logical_or.reduce(masks).reshape(-1)
        self.keys = np.zeros(int(np.prod(shape)), np.intp)
        for each in operands:
            first, inverse = each.distinct
            self.keys = self.keys * max(1, len(first)) + _spread(inverse, each.shape, shape).reshape(-1)
            if len(operands) > 1:  # so that keys stay small
                self.keys = np.unique(self.keys, return_inverse=True)[1].reshape(-1)
        picked = self.keys if self.clean is None else self.keys[self.clean]
        _, where, self.index = np.unique(picked, return_index=True, return_inverse=True)
        self.where: Places = where if self.clean is None else np.flatnonzero(self.clean)[where]
        self.firsts = [
            _spread(np.arange(int(np.prod(each.shape))), each.shape, shape).reshape(-1)[self.where] for each in operands
        ]

    def describe(self, k: int) -> str:
        """Return a distinct element in words, with its place."""
        place = [int(each) for each in np.unravel_index(int(self.where[k]), self.shape)] if self.shape else []
        names = (
            ("x", "y", "z") if len(self.operands) <= 3 else tuple(f"argument {n}" for n in range(len(self.operands)))
        )
        texts = [
            f"{name} = {each.text(int(first[k]))}"
            for name, each, first in zip(names, self.operands, self.firsts, strict=False)
        ]
        return (f"element {place}, " if place else "") + ", ".join(texts)


def _spread(flat: npt.NDArray[Any], shape: tuple[int, ...], to: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.broadcast_to(flat.reshape(shape), to)


class _Results:
    """The distinct results of a function."""

    def __init__(
        self, function: Called, elements: _Elements, dst: FloatFormat, mode: Rounding, policy: FloatPolicy
    ) -> None:
        self.function, self.elements, self.dst = function, elements, dst
        self.mode, self.policy = mode, policy

    def value(self) -> Value:
        """Return the results of all elements."""
        elements, dst = self.elements, self.dst
        codes, lost = self._distinct()
        count = len(elements.keys)
        whole = np.zeros(code_shape((count,), dst.bits), storage_dtype(dst.bits))
        missing = np.zeros(count, np.bool_)
        clean = slice(None) if elements.clean is None else elements.clean
        whole[clean] = codes[elements.index.reshape(-1)]
        missing[clean] = lost[elements.index.reshape(-1)]
        poison, origins = merged_poison(elements.poison, missing.reshape(elements.shape), "round", dst)
        element = ty.FloatType(dst)
        container = ty.TensorType(elements.shape, element) if elements.shape else element
        return Value(container, whole.reshape(code_shape(elements.shape, dst.bits)), poison, None, origins)

    def _distinct(self) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """Return the codes of the distinct elements, and which of them the format does not have."""
        count = len(self.elements.where)
        codes = np.zeros(code_shape((count,), self.dst.bits), storage_dtype(self.dst.bits))
        lost = np.zeros(count, np.bool_)
        rest = np.ones(count, np.bool_)
        columns = [(each.fmt, each.codes) for each in self.elements.operands]
        program = self.function.program
        if program is not None and count and all(fmt is not None for fmt, _ in columns):
            taken = [
                (fmt, column[first])
                for (fmt, column), first in zip(columns, self.elements.firsts, strict=True)
                if fmt is not None and column is not None
            ]
            found = settled(program, taken, self.mode, self.dst, self.policy)
            if found is not None:
                codes, rest = found.result.codes.copy(), ~found.mask
                if found.result.poison is not None:
                    lost = found.result.poison & found.mask
        places = np.flatnonzero(rest)
        if len(places):
            results = [self._one(int(k), first=k == places[0]) for k in places]
            codes[places] = ints_to_codes([each.code for each in results], self.dst.bits, (len(results),))
            lost[places] = [each.poison for each in results]
        return codes, lost

    def _one(self, k: int, first: bool) -> Result:
        """Return the result of a distinct element, by the exact evaluation."""
        arguments: list[Number] = []
        for each, firsts in zip(self.elements.operands, self.elements.firsts, strict=True):
            found = each.at(int(firsts[k]), self.policy)
            if isinstance(found, scalar.Unpacked):
                flags = scalar.invalid_if_signalling(found)
                return scalar.encode_nan(self.dst, found, self.policy, flags, each.fmt or FORMATS["f64"])
            arguments.append(found)
        try:
            if first:
                self.function.require_repeatable(arguments)
            (number,) = self.function.numbers(arguments, self.mode is Rounding.DOWNWARD)
            return rounded(number, self.dst, self.mode, self.policy)
        except Unsettled as error:
            raise unsettled(error, self.elements.describe(k), self.dst.name) from None
        except HalfulpError as error:
            error.notes = (*error.notes, (None, self.elements.describe(k)))
            raise
