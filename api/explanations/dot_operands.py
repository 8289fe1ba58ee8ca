"""The operands of one element of a tile product, read from lists, arrays and values, and their exact products."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from halfulp.explanations.dot_records import plus, ranges, scalar_number, text_of
from halfulp.explanations.roundable import given_number
from halfulp.explanations.rounding import explained
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import natural_dtypes
from halfulp.interp.values.parsing import parse_element
from halfulp.interp.values.value import Value, to_value
from halfulp.number_reader import read_number
from halfulp.semantics.matrix_units import models as tiled
from halfulp.semantics.matrix_units.aligned_sums import SumTrace
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.profile import SPEC

MOST_ELEMENTS = 1 << 14


@dataclass
class DotOperands:
    """The operands of one element, as codes, with their exact products and sum."""

    op: TileOp
    a: list[int]
    b: list[int]
    c: int
    scales: tuple[list[int], list[int]] | None
    result: int = 0

    @cached_property
    def products(self) -> tuple[Fraction | None, ...]:
        """Return the exact scaled products."""
        return tuple(self._product(k) for k in range(len(self.a)))

    def _product(self, k: int) -> Fraction | None:
        op = self.op
        factors = [scalar_number(op.a, self.a[k]), scalar_number(op.b, self.b[k])]
        factors += [scalar_number(op.scale, each[k // op.block]) for each in self.scales or ()]
        product = Fraction(1)
        for factor in factors:
            if factor is None:
                return None
            product *= factor
        return product

    @cached_property
    def exact(self) -> Fraction | None:
        """Return the sum of all products and C; None where it is not a number."""
        total = scalar_number(self.op.c, self.c)
        for product in self.products:
            total = plus(total, product)
        return total

    def factors(self, k: int, flushes: bool) -> tuple[Fraction | None, Fraction | None]:
        """Return the factors as rounding models use them: scaled in D's format, subnormals flushed where the rule says
        so.
        """
        op, found = self.op, []
        for side, (name, codes) in enumerate(((op.a, self.a), (op.b, self.b))):
            code, fmt = codes[k], FORMATS[name]
            if flushes and fmt.is_subnormal(code):
                code = 0
            number = scalar.value(fmt, code)
            if self.scales is not None:
                d = FORMATS[op.d]
                factor = scalar.convert(FORMATS[op.scale], d, self.scales[side][k // op.block]).code
                number = scalar.value(d, scalar.multiply(d, scalar.convert(fmt, d, code).code, factor).code)
            found.append(number)
        return found[0], found[1]

    @cached_property
    def rounded_scaled(self) -> list[int]:
        """List the elements that are inexact after scaling in D's format."""
        pairs = [self.factors(k, False) for k in range(len(self.a))] if self.scales else []
        return [k for k, (x, y) in enumerate(pairs) if x is None or y is None or x * y != self.products[k]]

    @cached_property
    def negatively_scaled(self) -> list[int]:
        """List the elements whose scales have a negative product."""
        if self.scales is None:
            return []
        fmt = FORMATS[self.op.scale]
        signs = [fmt.signed and bool((x ^ y) & (fmt.sign_mask or 0)) for x, y in zip(*self.scales, strict=True)]
        return [k for k in range(len(self.a)) if signs[k // self.op.block] and self.products[k]]

    def run(self, model: str) -> tuple[int, SumTrace]:
        """Compute the result of a model. Raise `halfulp.semantics.matrix_units.models.Unpublished`."""
        op = self.op

        def array(name: str, codes: Sequence[int]) -> Any:
            return np.array(codes, FORMATS[name].storage_dtype if name in FORMATS else np.uint64)

        scales = [] if self.scales is None else [array(op.scale, each) for each in self.scales]
        with np.errstate(all="ignore"):
            return tiled.explain(model, op, array(op.a, self.a), array(op.b, self.b), self.c, *scales)


def row_and_column(element: Any) -> tuple[int, int]:
    """Return the row and the column of D that ``element`` names. Raise InputError for anything else."""
    try:
        i, j = map(operator.index, element)
    except (TypeError, ValueError):
        raise InputError(f"element is {element!r}, but must be the row and the column of D, as (3, 5)") from None
    return i, j


def operand_codes(
    given: Any, type_: str, name: str, axis: int, index: int, pick: bool, notes: list[str], then: int | None = None
) -> list[int]:
    """Return the codes of a row (axis 0) or a column (axis 1), or of the values given for one; ``then``: of one element
    of it.

    ``pick``: a whole tile is given. Raises InputError, TypeMismatch.
    """
    element: ty.Type = ty.FloatType(FORMATS[type_]) if type_ in FORMATS else ty.IntegerType(int(type_[1:]))
    if isinstance(given, Value):
        if ty.element_type(given.type) != element:
            raise InputError(f"{name} is of type '{given.type}', but its elements must be '{element}'")
        if given.poison is not None:
            raise InputError(f"{name} is poison: {given.origin(*np.argwhere(given.poisoned)[0])}")
        return _codes(_picked(given.bits, name, axis, index, pick, then), element)
    if isinstance(given, np.ndarray):
        natural = natural_dtypes().get(element)
        if natural is not None and given.dtype == np.dtype((np.void, natural.itemsize)):
            given = given.view(natural)  # what np.save makes of an ml_dtypes array
        picked = np.atleast_1d(_picked(given, name, axis, index, pick, then))
        whole = ty.TensorType(picked.shape, element)
        if natural is not None and natural.isbuiltin != 1 and picked.dtype == np.dtype(f"u{natural.itemsize}"):
            return _codes(Value.from_bits(picked, whole).bits, element)  # codes, as in files
        return _codes(to_value(np.ascontiguousarray(picked), whole, name).bits, element)
    rows = _picked_from_lists(given, name, axis, index, then) if pick else given
    numbers = list(rows) if isinstance(rows, list | tuple) else [rows]
    found, said = [], dict[str, list[int]]()
    for k, each in enumerate(numbers):
        code, note = _number(each, element, f"{name}[{k}]" if len(numbers) > 1 else name)
        found.append(code)
        if note:
            said.setdefault(note, []).append(k)
    notes += [
        f"{name}[{ranges(places)}]: {note}" if len(numbers) > 1 else f"{name}: {note}" for note, places in said.items()
    ]
    return found


def _codes(bits: Any, element: ty.Type) -> list[int]:
    return codes_to_ints(np.ravel(bits), width_of(element))


def _picked(array: Any, name: str, axis: int, index: int, pick: bool, then: int | None) -> Any:
    if pick:
        if array.ndim != 2:
            raise InputError(f"{name} has {array.ndim} dimensions, but with element=(i, j) it is a tile of two")
        _check_index(name, index, array.shape[axis])
        array = array[index] if axis == 0 else array[:, index]
        if then is not None:
            _check_index(name, then, len(array))
            array = array[then]
    elif array.ndim > 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one row, or name the element=(i, j) of a tile")
    return array


def _picked_from_lists(given: Any, name: str, axis: int, index: int, then: int | None) -> Any:
    if then is not None and not isinstance(given, list | tuple):
        return given  # one number for all of C
    if not isinstance(given, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in given):
        raise InputError(f"{name} must be a tile, a list of rows, since element=(i, j) is given")
    if axis == 0:
        _check_index(name, index, len(given))
        row = list(given[index])
        if then is not None:
            _check_index(name, then, len(row))
            return row[then]
        return row
    for row in given:
        _check_index(name, index, len(row))
    return [row[index] for row in given]


def _check_index(name: str, index: int, size: int) -> None:
    if not 0 <= index < size:
        raise InputError(f"element: {name} has no {index}, only 0 to {size - 1}")


def _number(given: Any, element: ty.Type, name: str) -> tuple[int, str]:
    """Return the code of one number, and a note where it had to be rounded."""
    try:
        if not isinstance(element, ty.FloatType):
            whole = parse_element(element, str(given).strip())
            if whole is None:
                raise InputError("a poison element has no explanation")
            return whole, ""
        fmt = element.format
        explanation = explained(given_number(read_number(given, fmt)), fmt, "to_nearest_even", SPEC, (), others=False)
    except HalfulpError as error:
        raise InputError(f"{name}: {error.message}", hint=error.hint) from None
    code = explanation.result.code
    if code is None:
        raise InputError(f"{name}: {explanation.given} is poison in {fmt.name}: {explanation.rule}")
    if explanation.result.error:
        return code, f"{explanation.given} is not a value of {fmt.name}: {text_of(fmt.name, code)}"
    return code, ""
