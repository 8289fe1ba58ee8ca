"""Arrays that are given for the columns of vectors, as codes; and operands of one's own from arrays and texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.comparison import type_of
from halfulp.conformance.vectors.formats.format import too_wide
from halfulp.conformance.vectors.stimulus.grammar import GIVEN
from halfulp.conformance.vectors.stimulus.mixture import Mixture, Target
from halfulp.conformance.vectors.stimulus.tables import Group
from halfulp.fp_formats.codes import Codes, code_shape, ints_to_codes, storage_dtype
from halfulp.inputs import as_value
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.values.value import Value


def codes_of(column: Column, array: Any) -> Codes:
    """Return the codes of a column: of a `Value` or an array of its type, or of codes as unsigned integers.

    Raises TypeMismatch for other values, and InputError for codes of too many bits.
    """
    if isinstance(array, Value):
        if array.element_type != type_of(column):
            raise TypeMismatch(f"'{column.name}' has the type {column.type}, but '{array.element_type}' is given")
        codes = np.asarray(array.bits)
        return codes.reshape(code_shape((array.size,), column.width))
    if isinstance(array, list | tuple) and all(isinstance(code, int) for code in array):
        if any(not 0 <= int(code) >> column.width < 1 for code in array):
            raise InputError(f"'{column.name}' has {column.width} bits: a code is from 0 to 2**{column.width} - 1")
        return ints_to_codes([int(code) for code in array], column.width, (len(array),))
    found = np.asarray(array)
    if found.dtype.kind != "u":
        return codes_of(column, as_value(array, type_of(column), what=f"'{column.name}'"))
    shape = found.shape[1:] if column.width > 64 else ()
    if found.shape[1:] != shape or found.ndim < 1 or (shape and shape != code_shape((0,), column.width)[1:]):
        raise TypeMismatch(f"'{column.name}' takes one code for each row, but the array has the shape {found.shape}")
    dtype = storage_dtype(column.width)
    codes = found.astype(dtype)
    wide = too_wide(codes, column.width)
    if not np.array_equal(codes, found) or (wide is not None and wide.any()):
        raise InputError(f"'{column.name}' has {column.width} bits: a code is from 0 to 2**{column.width} - 1")
    return codes


def mixture_of(operands: Any, target: Target) -> Mixture:
    """Return operands of one's own: a text, or for each operand by name a text or an array, as `codes_of` takes it.

    For an argument of several elements, the first axis of an array is the rows. Raises InputError and TypeMismatch.
    """
    if isinstance(operands, str):
        return Mixture.named(operands)
    if not isinstance(operands, Mapping):
        raise InputError(
            "operands takes a text, as in 'normal:scale=2', or a source for each operand",
            hint="operands={'a': array, 'b': 'normal:scale=2'}",
        )
    groups = {group.name: group for group in target.groups}
    unknown = [name for name in operands if name not in groups]
    if unknown:
        raise InputError(f"there is no operand '{unknown[0]}': the operands are {', '.join(groups)}")
    texts, arrays = [], {}
    for name, given in operands.items():
        if isinstance(given, str):
            texts.append(f"{name}={given}")
            continue
        group = groups[name]
        columns = target.columns[group.first :][: len(group.types)]
        codes = _columns_of(columns, given, group)
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in codes)).hexdigest()
        texts.append(f"{name}={GIVEN}:sha256={digest}")
        arrays[digest] = codes
    return Mixture.named(";".join(texts), arrays)


def _columns_of(columns: tuple[Column, ...], given: Any, group: Group) -> tuple[Codes, ...]:
    if len(columns) == 1:
        codes = codes_of(columns[0], given)
        found: tuple[Codes, ...] = (codes,)
    else:
        array = given if isinstance(given, Value) else np.asarray(given)
        shape = tuple(array.shape)
        if not group.flat(shape):
            raise TypeMismatch(
                f"'{group.name}' has {len(columns)} elements in a row, but the array has the shape {shape}",
                hint=group.wanted,
            )
        flat = array.reshape(shape[0], len(columns))
        found = tuple(codes_of(column, flat[:, k]) for k, column in enumerate(columns))
    if not len(found[0]):
        raise InputError(f"'{group.name}': the array has no elements")
    return found
