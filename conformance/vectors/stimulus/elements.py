"""Conversion of elements of an array, and of exact numbers, to codes of an operand's type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, code_shape, codes_to_ints, storage_dtype
from halfulp.fp_formats.numbers import Exact, code_of_text, exact_number, fraction_of, round_to_format, round_to_integer
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import InputError, LimitExceeded, TypeMismatch
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.coerce import type_of_dtype
from halfulp.interp.values.value import Value
from halfulp.semantics import fixed_point

Places = int | npt.NDArray[np.int64]

_SATURATING = replace(SPEC, conversion_overflow="saturate", float_to_int="saturate")


@dataclass(frozen=True)
class Fitting:
    """The treatment of numbers that a type cannot represent. ``rounding``: the mode; None refuses such numbers.
    ``saturate``: numbers that are too large become the largest value, or the nearest integer of the range.
    """

    rounding: Rounding | None = None
    saturate: bool = False

    @property
    def policy(self) -> FloatPolicy:
        """Return the policy of the conversion."""
        return _SATURATING if self.saturate else SPEC


def signed(type_: ty.Type) -> bool:
    """Tell whether numbers of an integer type may be negative: they may, except for unsigned types."""
    return not (isinstance(type_, ty.IntegerType) and type_.signedness == "unsigned")


def width_in_bits(type_: ty.Type) -> int:
    """Return the width of an operand's type: a float, an integer or a number in fixed point."""
    width = element_width(type_)
    assert width is not None
    return width


def codes_of_elements(
    array: npt.NDArray[Any], source: FloatFormat | None, type_: ty.Type, fitting: Fitting, first: Places = 0
) -> Codes:
    """Return the codes of some elements of an array.

    ``array``: numbers of a NumPy or ml_dtypes dtype, or unsigned raw codes; with ``source``, codes of that format. For
    a type of more than 64 bits, raw codes have a last axis of limbs. ``first``: the number of the first element, or
    that of each, for errors. Raises TypeMismatch for elements of another type, unless they are to be rounded, and
    InputError for numbers out of range and codes of too many bits.
    """
    width = width_in_bits(type_)
    target = type_.format if isinstance(type_, ty.FloatType) else None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    own = type_of_dtype(array.dtype) if source is None else None
    if isinstance(own, ty.FloatType):
        source, array = own.format, np.asarray(Value.from_numpy(np.ascontiguousarray(array)).bits)
    elif own is not None and array.dtype.kind == "V":  # integers of ml_dtypes
        array = array.astype(np.int8)
    elif array.dtype.kind == "b" or (array.dtype.kind == "V" and array.dtype.fields is None):
        # np.save turns dtypes of ml_dtypes into bytes without a type.
        if array.dtype.itemsize not in (1, 2, 4, 8):
            raise TypeMismatch(
                f"elements of {array.dtype.itemsize} bytes without a type are neither numbers nor raw bits",
                hint="raw bits have 1, 2, 4 or 8 bytes",
            )
        array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    elif source is None and array.dtype.kind not in "ui":
        raise TypeMismatch(f"elements of dtype {array.dtype} are neither numbers nor raw bits")
    if source is not None:
        if source == target:
            return array.astype(storage_dtype(width), copy=False)
        if fitting.rounding is None:
            raise TypeMismatch(
                f"the elements are {source.name}, but the operand is {type_}",
                hint="round rounds each one once, as in FILE:round or FILE:round=toward_zero; raw bits are unsigned "
                "integers",
            )
        return _converted(array, source, type_, fitting, first)
    if array.dtype.kind == "i":
        return _of_integers(array, type_, fitting, first)
    return _raw(array, width, first)


def _number(first: Places, k: int) -> int:
    return first + k if isinstance(first, int) else int(first[k])


def _raw(array: npt.NDArray[Any], width: int, first: Places) -> Codes:
    dtype, limbs = storage_dtype(width), code_shape((), width)
    if array.shape[1:] != limbs:
        raise TypeMismatch(f"raw bits of {width} bits take the shape {['rows', *limbs]}, not {list(array.shape)}")
    top = array[..., -1] if limbs else array
    spare = width % LIMB_BITS if limbs else width
    if spare and spare < 8 * array.dtype.itemsize:
        wrong = np.flatnonzero(top >> array.dtype.type(spare))
        if len(wrong):
            k = int(wrong[0])
            code = codes_to_ints(array[k : k + 1], width)[0]
            raise InputError(f"element {_number(first, k)} is {code:#x}, which has more than {width} bits")
    return array.astype(dtype, copy=False)


def _of_integers(array: npt.NDArray[Any], type_: ty.Type, fitting: Fitting, first: Places) -> Codes:
    if isinstance(type_, ty.FixedType):
        raise TypeMismatch(
            f"the elements are {array.dtype}, but the operand is {type_}",
            hint="give numbers as floats with the option round, as in FILE:round, or raw bits as unsigned integers",
        )
    if isinstance(type_, ty.FloatType):
        if fitting.rounding is None:
            raise TypeMismatch(
                f"the elements are {array.dtype}, but the operand is {type_}",
                hint="give raw bits as unsigned integers, or add the option round, as in FILE:round",
            )
        bits = 8 * array.dtype.itemsize
        codes = array.view(f"u{array.dtype.itemsize}")
        return fast.from_integer(type_.format, codes, bits, True, fitting.rounding, fitting.policy).codes
    width = width_in_bits(type_)
    low, high = (-(1 << width >> 1), (1 << width - 1) - 1) if signed(type_) and width else (0, (1 << width) - 1)
    # Compared as numbers: the ends of the range may lie beyond those of the dtype.
    wrong = np.flatnonzero((array < max(low, -(1 << 63))) | (array > min(high, (1 << 63) - 1)))
    if len(wrong) and not fitting.saturate:
        k = int(wrong[0])
        raise InputError(f"element {_number(first, k)} is {int(array[k])}, but {type_} has {low} to {high}")
    clipped = np.clip(array.astype(np.int64), max(low, -(1 << 63)), min(high, (1 << 63) - 1))
    if width > LIMB_BITS:
        wide = np.empty((len(array), *code_shape((), width)), np.uint64)
        wide[:, 0], wide[:, 1:] = clipped.view(np.uint64), (clipped >> np.int64(63)).view(np.uint64)[:, np.newaxis]
        if width % LIMB_BITS:
            wide[:, -1] &= np.uint64((1 << width % LIMB_BITS) - 1)
        return wide
    found: Codes = (clipped.view(np.uint64) & np.uint64((1 << width) - 1)).astype(storage_dtype(width))
    return found


def _converted(codes: Codes, source: FloatFormat, type_: ty.Type, fitting: Fitting, first: Places) -> Codes:
    assert fitting.rounding is not None
    if isinstance(type_, ty.FloatType):
        return fast.convert(source, type_.format, codes, fitting.rounding, fitting.policy).codes
    if isinstance(type_, ty.FixedType):
        # The modes of the type round numbers, and bring them into its range.
        try:
            return fixed_point.codes_of(type_.format, fixed_point.of_floats(source, codes, type_.format))
        except ValueError as error:
            raise InputError(str(error)) from None
    width = width_in_bits(type_)
    made = fast.to_integer(source, codes, width, signed(type_), fitting.rounding, fitting.policy)
    wrong = np.flatnonzero(made.poison) if made.poison is not None else np.zeros(0, np.intp)
    if len(wrong):
        raise InputError(
            f"element {_number(first, int(wrong[0]))} is not within the range of {type_}",
            hint="to use the nearest integer of the type, add the option saturate, as in FILE:saturate",
        )
    return made.codes


def rounded_numbers(numbers: npt.NDArray[np.float64], type_: ty.Type, fitting: Fitting) -> Codes:
    """Return numbers of f64, each rounded once to a type. Raises InputError for numbers beyond an integer type."""
    return _converted(numbers.view(np.uint64), FORMATS["f64"], type_, fitting, 0)


def code_of_number(number: Exact, type_: ty.Type, fitting: Fitting) -> int:
    """Return the code of an exact number. Raises InputError for a number that the type does not have, unless it is to
    be rounded.
    """
    mode = fitting.rounding or Rounding.TO_NEAREST_EVEN
    if isinstance(type_, ty.FloatType):
        found = round_to_format(type_.format, number, mode, fitting.policy)
        kind, nanless = "the format", isinstance(number, float) and number != number and type_.format.nan_code is None
        exact = not found.flags & ~scalar.INVALID and not nanless
        exact = exact and not (isinstance(number, float) and abs(number) == float("inf")
                               and not type_.format.is_infinite(found.code))  # fmt: skip
    elif isinstance(type_, ty.FixedType):
        return _in_fixed_point(number, type_, fitting)
    else:
        width, kind = width_in_bits(type_), "the type"
        if isinstance(number, int):
            low, high = (-(1 << width >> 1), (1 << width - 1) - 1) if signed(type_) else (0, (1 << width) - 1)
            taken = min(max(number, low), high) if fitting.saturate else number
            if not low <= taken <= high:
                raise InputError(f"{type_} has {low} to {high}")
            return taken & (1 << width) - 1
        found = round_to_integer(number, width, signed(type_), mode, fitting.policy)
        exact = not found.flags
    if found.poison or (not exact and fitting.rounding is None):
        raise InputError(
            f"{kind} {type_} does not have this number",
            hint="to use the nearest number of the type, add the option round, as in FILE:round",
        )
    return found.code


def _in_fixed_point(number: Exact, type_: ty.FixedType, fitting: Fitting) -> int:
    fmt = type_.format
    exact = fraction_of(number)
    if exact is None:
        raise InputError("fixed point has no infinities and no NaN")
    units = fixed_point.of_fraction(exact, fmt)
    if fitting.rounding is None and units * fmt.unit != exact:
        raise InputError(
            f"the type {type_} does not have this number",
            hint="to round it as the type says, add the option round, as in FILE:round",
        )
    return units & (1 << fmt.width) - 1


# --- text -------------------------------------------------------------------------------------------------------------
#
# Operands in a text file: a row on each line.

ENDINGS = (".txt", ".text")

MOST_ROWS = 1 << 20
"""The most rows of a text file: they are held in memory."""

MOST_LINE = 1 << 20
"""The most bytes of a line."""

MOST_TOLD = 60
"""The most characters of a word that an error repeats."""

_WORD = re.compile(r"[^\s,]+")


def rows_of_text(path: str, names: Sequence[str], types: Sequence[ty.Type], fitting: Fitting) -> list[list[int]]:
    """Return the rows of codes in a text file: for each row a word for each operand, separated by spaces or commas.

    A word is a code in hexadecimal, ``0x3C00``, or a number as `exact_number` reads it. Empty lines, and what follows a
    ``#``, do not count. Raises InputError with the place of what is wrong, LimitExceeded for too many rows.
    """
    rows: list[list[int]] = []
    try:
        with open(path, encoding="utf-8") as file:
            number = 0
            while line := file.readline(MOST_LINE):
                number += 1
                if len(line) == MOST_LINE:
                    raise LimitExceeded(f"a line of more than {MOST_LINE:,} characters is too long",
                                        location=FileLineCol(path, number, 1))  # fmt: skip
                words = list(_WORD.finditer(line.partition("#")[0]))
                if not words:
                    continue
                if len(words) != len(types):
                    extra = words[min(len(words), len(types) + 1) - 1]
                    raise InputError(
                        f"the line has {len(words)} words, but a row has {len(types)}: {', '.join(names)}",
                        location=FileLineCol(path, number, extra.start() + 1),
                    )
                rows.append([_code(path, number, word, type_, fitting)
                             for word, type_ in zip(words, types, strict=True)])  # fmt: skip
                if len(rows) > MOST_ROWS:
                    raise LimitExceeded(
                        f"'{path}' has more than {MOST_ROWS:,} rows",
                        hint="larger files are read from .npy and .npz, which are not held in memory",
                    )
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    if not rows:
        raise InputError(f"'{path}' has no rows")
    return rows


def _code(path: str, line: int, word: re.Match[str], type_: ty.Type, fitting: Fitting) -> int:
    text = word[0]
    told = text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}..."
    place = FileLineCol(path, line, word.start() + 1)
    try:
        if (code := code_of_text(text)) is not None:
            if code >> (width := width_in_bits(type_)):
                raise InputError(f"{told} has more than the {width} bits of {type_}")
            return code
        return code_of_number(exact_number(text), type_, fitting)
    except InputError as error:
        raise InputError(f"{told}: {error.message}" if told not in error.message else error.message,
                         location=place, hint=error.hint) from None  # fmt: skip
    except ValueError as error:
        raise InputError(f"'{told}' is neither a code, such as 0x3C, nor a number: {error}",
                         location=place) from None  # fmt: skip
