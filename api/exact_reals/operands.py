"""The arguments of `round` and `round_rows`: floats as codes, integers and other numbers exactly, with their poison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.codes import Codes, codes_to_ints
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import FloatPolicy, Rounding, as_rounding
from halfulp.fp_formats.reals.expressions import number_of
from halfulp.fp_formats.reals.extended import Number, infinity, of_fraction, zero
from halfulp.fp_formats.spelling import value_text
from halfulp.inputs import ExactNumbers, numbers_of, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin, Origins, PoisonIds

TypeName = str | FloatFormat | ty.Type
_OF_PYTHON = (bool, int, float)


@dataclass(frozen=True, eq=False)
class Operand:
    """An argument in one row. ``fmt``: the format of ``codes``, or None for the exact numbers ``exact``.

    ``typed``: whether the element type is that of an array or a value, not of a Python number.
    """

    shape: tuple[int, ...]
    fmt: FloatFormat | None
    codes: Codes | None
    exact: Sequence[numbers.Exact]
    poison: PoisonIds | None
    origins: Origins | None
    typed: bool

    @cached_property
    def distinct(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The place of the first element of each number, and of each element the number of its number."""
        if self.codes is not None and self.codes.ndim == 1:
            _, first, inverse = np.unique(self.codes, return_index=True, return_inverse=True)
            return first, inverse.reshape(-1)
        keys = codes_to_ints(self.codes, 128) if self.codes is not None else [_key(each) for each in self.exact]
        known: dict[Any, int] = {}
        firsts: list[int] = []
        places = []
        for place, key in enumerate(keys):
            index = known.setdefault(key, len(known))
            if index == len(firsts):
                firsts.append(place)
            places.append(index)
        return np.array(firsts, np.intp), np.array(places, np.intp)

    def at(self, place: int, policy: FloatPolicy) -> Number | scalar.Unpacked:
        """Return the number at a place of the row; a NaN as it is in its format."""
        if self.fmt is None:
            exact = self.exact[place]
            nan = isinstance(exact, float) and exact != exact
            return scalar.Unpacked(scalar.QUIET_NAN, 0, 0, 0) if nan else number_of(exact)
        x = scalar.operand(self.fmt, self.code(place), policy)
        if x.kind >= scalar.QUIET_NAN:
            return x
        if x.kind == scalar.INFINITE:
            return infinity(x.sign)
        return of_fraction(scalar.number(x)) if x.significand else zero(x.sign)

    def code(self, place: int) -> int:
        """Return the code at a place."""
        assert self.codes is not None
        assert self.fmt is not None
        return codes_to_ints(self.codes[place : place + 1], self.fmt.bits)[0]

    def text(self, place: int) -> str:
        """Return the number at a place in words, with its code."""
        if self.fmt is None:
            exact = self.exact[place]
            return f"{exact.numerator}/{exact.denominator}" if isinstance(exact, numbers.Ratio) else str(exact)
        code = self.code(place)
        return f"{value_text(self.fmt, code)} (code 0x{code:0{-(-self.fmt.bits // 4)}X} of {self.fmt.name})"


def _key(exact: numbers.Exact) -> Any:
    return (type(exact), exact, isinstance(exact, float) and np.signbit(exact))


def operand(x: Any, what: str) -> Operand:
    """Return an input as an operand. Raises TypeMismatch for one that is neither floats nor other numbers."""
    taken = taken_as(x, what)
    typed = not isinstance(x, (*_OF_PYTHON, list, tuple)) or isinstance(x, np.generic)
    if isinstance(taken, ExactNumbers):
        return Operand(taken.shape, None, None, taken.numbers, None, None, False)
    element = taken.element_type
    if isinstance(element, ty.FloatType):
        width = element.format.bits
        codes = np.asarray(taken.bits).reshape((-1, taken.bits.shape[-1]) if width > 64 else -1)
        return Operand(taken.shape, element.format, codes, (), _flat(taken.poison), taken.origins, typed)
    if not isinstance(element, ty.IntegerType | ty.IndexType):
        raise TypeMismatch(f"{what}: '{element}' has no exact numbers", hint="give floats, integers or fractions")
    clean = Value(taken.type, taken.bits, None, None, None, taken.unsigned)
    return Operand(taken.shape, None, None, numbers_of(clean).numbers, _flat(taken.poison), taken.origins, False)


def _flat(poison: PoisonIds | None) -> PoisonIds | None:
    return None if poison is None else poison.reshape(-1)


def result_format(to: TypeName | None, operands: Sequence[Operand], name: str) -> FloatFormat:
    """Return the format to round to: by default that of the operands. Raises TypeMismatch for none or several."""
    if to is not None:
        wanted = as_type(to)
        if not isinstance(wanted, ty.FloatType):
            hint = "round to a float type, and then to an integer by hu.convert"
            raise TypeMismatch(f"{name}: '{wanted}' is not a float type", hint=hint)
        return wanted.format
    typed = [each for each in operands if each.typed] or operands
    found = {each.fmt.name: each.fmt for each in typed if each.fmt is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    given = " and ".join(f"'{each}'" for each in found) if found else "exact numbers"
    raise TypeMismatch(f"{name}: the operands are {given}; the result needs a type", hint='give one: to="bf16"')


def mode_of(rounding: str | Rounding) -> Rounding:
    """Return a rounding mode. Raises InputError for the stochastic one."""
    mode = as_rounding(rounding)
    if mode is Rounding.STOCHASTIC:
        hint = "round to a wide type first, and that by hu.convert(…, rounding='stochastic')"
        raise InputError("functions of exact reals are not rounded stochastically", hint=hint)
    return mode


def merged_poison(
    columns: Sequence[tuple[PoisonIds | None, Origins | None]], lost: npt.NDArray[np.bool_], op: str, dst: FloatFormat
) -> tuple[PoisonIds | None, Origins | None]:
    """Return the poison of results: that of the operands, and results that the format does not have."""
    table = Origins()
    total = np.zeros(lost.shape, np.uint16)
    for poison, origins in columns:
        if poison is not None and origins is not None:
            total = np.maximum(total, table.adopt(poison, origins))
    fresh = lost & (total == 0)
    if fresh.any():
        first = tuple(int(k) for k in np.argwhere(fresh)[0])
        total = np.where(fresh, np.uint16(table.id_of(Origin(op, "", f"a NaN, which {dst.name} lacks", first))), total)
    return (total, table) if total.any() else (None, None)
