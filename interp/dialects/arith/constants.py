"""The run-time value of `arith.constant`, for every attribute it may hold."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import Codes, ints_to_codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.blobs import elements_of_blob
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import element_width, runtime_shape
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.settings import Settings, check_allocation, narrowed_index
from halfulp.interp.values.value import Value


def constant_value(op: Operation, compiler: Compiler) -> Value:
    """Return the value of a constant. Raises the errors of `attribute_value`."""
    return attribute_value(op.properties["value"], op.results[0].type, op, compiler)


def attribute_value(attribute: at.Attribute, type_: ty.Type, op: Operation, compiler: Compiler) -> Value:
    """Return the value of type ``type_`` that an attribute of an op encodes. If the run has a recorder, the value gets
    its marks.

    Raises TypeMismatch for an index that does not fit into 32 bits if the settings ask for 32, LimitExceeded for a
    splat too large to hold, and InputError for a resource that is missing or of the wrong size.
    """
    recorder, value = compiler.settings.recorder, _value(attribute, type_, op, compiler)
    return value if recorder is None else recorder.constant(value)


def _value(attribute: at.Attribute, type_: ty.Type, op: Operation, compiler: Compiler) -> Value:
    settings = compiler.settings
    match attribute:
        case at.IntegerAttr() | at.FloatAttr():
            width = element_width(attribute.type)
            assert width is not None
            return Value(type_, _narrowed(type_, ints_to_codes([attribute.code], width, ()), settings))
        case at.DenseElementsAttr():
            return Value(type_, _dense(type_, attribute.codes, attribute.splat, settings))
        case at.DenseResourceAttr():
            check_allocation(type_, ty.static_shape(attribute.type), settings)
            return Value(type_, _dense(type_, _resource(op, attribute, compiler), False, settings))
        case at.DenseStringAttr():
            texts = np.array(attribute.values, object)
            texts.flags.writeable = False
            shape = tuple(size for size in attribute.type.shape or () if size is not None)
            return Value(type_, np.broadcast_to(texts[0], shape).copy() if attribute.splat else texts.reshape(shape))
    raise Unsupported(f"constants such as {attribute} are not executed", location=op.location, op=op.name)


def _dense(type_: ty.Type, codes: Any, splat: bool, settings: Settings) -> Any:
    shape = runtime_shape(type_, settings.vscale)
    assert shape is not None
    sizes = tuple(size for size in shape if size is not None)
    check_allocation(type_, sizes, settings)
    codes = _narrowed(type_, codes, settings)
    return np.broadcast_to(codes, sizes + codes.shape) if splat else codes.view()


def _narrowed(type_: ty.Type, codes: Any, settings: Settings) -> Any:
    """Return index codes as 32-bit ones, if the settings ask for 32 bits."""
    narrow = settings.index_width == 32 and isinstance(ty.element_type(type_), ty.IndexType)
    return at.constant_codes(narrowed_index(codes, "an index constant")) if narrow else codes


def _resource(op: Operation, attribute: at.DenseResourceAttr, compiler: Compiler) -> Codes:
    """Return the codes of a resource. If its bytes are laid out like an array, this is a view of the file, which may be
    mapped.
    """
    blob = compiler.module.resources.blob(attribute.key)
    if blob is not None and (codes := _codes_in_place(blob, attribute.type)) is not None:
        return codes
    elements = None if blob is None else elements_of_blob(blob, attribute.type)
    if blob is None or elements is None:
        problem = (
            "the file has no blob of that key" if blob is None else f"{len(blob)} bytes do not fit '{attribute.type}'"
        )
        raise InputError(f"dense_resource<{attribute.key}>: {problem}", location=op.location, op=op.name)
    return elements.array()


def _codes_in_place(blob: bytes | memoryview, type_: at.ElementsType) -> Codes | None:
    """Return a read-only view of a blob as codes; None if they must be copied, because of their width, order or
    alignment.
    """
    width, count = element_width(type_.element), ty.element_count(type_)
    if width not in (8, 16, 32, 64) or sys.byteorder != "little" or not memoryview(blob).readonly:
        return None
    if count is None or len(blob) != count * width // 8:
        return None
    codes: Codes = np.frombuffer(blob, f"u{width // 8}")
    return codes.reshape([size or 0 for size in type_.shape or ()]) if codes.flags.aligned else None
