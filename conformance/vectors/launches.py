"""The launch of a kernel whose vectors are made: a row is a launch of the whole grid.

The columns of the operands are the elements of the memory that the kernel reads, and those of the results the elements
of the memory in which it stores, after the launch. Memory in which it only stores is zero before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from halfulp.fp_formats.formats import code_shape, storage_dtype
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import file_position
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Operation, argument_types
from halfulp.interp.run.evaluators import Launched, evaluator_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.parsing import parse_type_head, parse_value
from halfulp.interp.values.value import Value

LAID_OUT = ("tt.reduce", "tt.scan", "tt.dot", "ttng.warp_group_dot")
"""The ops whose order follows from the layout of their first operand or of their result."""


class Place(NamedTuple):
    """An argument of a kernel. ``type``: of a scalar, or the shape and elements of memory. ``value``: what it always
    is, or what memory always holds before the launch; None if each row has its own.
    """

    type: ty.Type
    value: Value | None
    read: bool
    stored: bool

    @property
    def is_drawn(self) -> bool:
        """Tell whether it has columns of operands."""
        return self.value is None and self.read


class Places(NamedTuple):
    """The arguments of a kernel."""

    all: tuple[Place, ...]

    @property
    def drawn(self) -> list[int]:
        """The numbers of the arguments that are operands of a row."""
        return [number for number, place in enumerate(self.all) if place.is_drawn]

    @property
    def stored(self) -> list[int]:
        """The numbers of the arguments whose memory is a result of a row."""
        return [number for number, place in enumerate(self.all) if place.stored]

    @property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """The types of the operands."""
        return tuple(self.all[number].type for number in self.drawn)

    @property
    def result_types(self) -> tuple[ty.Type, ...]:
        """The types of the results."""
        return tuple(self.all[number].type for number in self.stored)

    def given(self, operands: Sequence[Value]) -> list[Any]:
        """Return the arguments of one launch, with its own copy of all memory."""
        left, found = iter(operands), list[Any]()
        for place in self.all:
            value = next(left) if place.is_drawn else place.value
            if isinstance(place.type, ty.TensorType):
                value = _zero(place.type) if value is None else value
                found.append(Buffer.from_numpy(Value(value.type, value.bits.copy(), value.poison)))
            else:
                found.append(value)
        return found


def _zero(type_: ty.TensorType) -> Value:
    width = ty.width_of(type_.element)
    return Value(type_, np.zeros(code_shape(tuple(cast(Any, type_.shape)), width), storage_dtype(width)))


@dataclass(frozen=True)
class Launch:
    """A launch. ``arguments``: for each argument of the kernel ``8x128xf32`` for memory, ``i32`` for a scalar, both
    drawn for each row, or with ``=`` and the elements what it is in all rows.
    """

    grid: tuple[int, ...]
    arguments: tuple[str, ...]
    fp_fusion: Literal["on", "off"] = "on"

    def settings(self, settings: Settings) -> Settings:
        """Return the settings of the launch."""
        return replace(settings, grid=self.grid, fp_fusion=self.fp_fusion)

    def places(self, kernel: Operation) -> Places:
        """Return what the arguments of a kernel are. Raises InputError if they do not fit."""
        types, evaluator = argument_types(kernel), evaluator_of(kernel)
        assert isinstance(evaluator, Launched)
        names = [_named(kernel, number) for number in range(len(types))]
        if len(types) != len(self.arguments):
            described = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
            raise InputError(
                f"'@{kernel.symbol_name}' has {len(types)} arguments, but {len(self.arguments)} are described",
                location=kernel.location,
                hint=f"describe each of {described}",
            )
        found = []
        for text, type_, use, name in zip(self.arguments, types, evaluator.uses(kernel), names, strict=True):
            try:
                given, value = _scalar(text, type_) if use.element is None else _memory(text, use.element)
            except HalfulpError as error:
                error.message, error.location = f"{name}: {error.message}", None
                raise
            found.append(Place(given, value, use.read, use.stored))
        return Places(tuple(found))

    def to_json(self, kernel: Operation) -> dict[str, Any]:
        """Return the launch for the metadata, with what it follows from: the target, and the layouts of sums."""
        module = kernel.parent_op
        held = {} if module is None else {name: value for name, value in module.attributes.items() if "ttg." in name}
        return {
            "grid": list(self.grid),
            "arguments": list(self.arguments),
            "fp_fusion": self.fp_fusion,
            "target": {name: _plain(value) for name, value in sorted(held.items())},
            "memory": [
                {
                    "argument": number,
                    "name": _named(kernel, number),
                    "type": str(place.type),
                    "read": place.read,
                    "stored": place.stored,
                    "before": "columns" if place.is_drawn else "zeros" if place.value is None else "arguments",
                }
                for number, place in enumerate(self.places(kernel).all)
                if isinstance(place.type, ty.TensorType)
            ],
            "layouts": [_layout(op) for op in kernel.walk() if op.name in LAID_OUT],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Launch:
        """Return the launch of the metadata. Raises ValueError for what is not one."""
        grid, texts, fusion = data["grid"], data["arguments"], data.get("fp_fusion", "on")
        whole = isinstance(grid, list) and 1 <= len(grid) <= 3 and all(type(size) is int and size > 0 for size in grid)
        if not whole or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError("'launch' needs 'grid', one to three positive integers, and 'arguments', a list of texts")
        if fusion not in ("on", "off"):
            raise ValueError(f"'fp_fusion' is {fusion!r}, but must be on or off")
        return Launch(tuple(grid), tuple(texts), fusion)


def _named(kernel: Operation, number: int) -> str:
    label = kernel.regions[0].blocks[0].arguments[number].label
    return f"argument {number} ({label})" if label else f"argument {number}"


def _scalar(text: str, type_: ty.Type) -> tuple[ty.Type, Value | None]:
    """Return the type of a scalar, and what it always is."""
    head, mark, rest = text.partition("=")
    if head.strip() == str(type_):
        return type_, parse_value(type_, rest) if mark else None
    if mark:
        raise InputError(f"it is of type '{type_}', not '{head.strip()}'", hint=f"write {type_}={rest}")
    return type_, parse_value(type_, text)


def _memory(text: str, element: ty.Type) -> tuple[ty.Type, Value | None]:
    """Return the shape and elements of memory, and what it always holds."""
    head, mark, rest = text.partition("=")
    try:
        given = parse_type_head(head)
    except HalfulpError:
        given = element
    if not isinstance(given, ty.TensorType) or given.element != element or not prod(cast(Any, given.shape)):
        raise InputError(
            f"'{head.strip()}' is not the shape of memory of '{element}'",
            hint=f"write its shape, as in 1024x{element}, and =0 behind it if it always holds zeros",
        )
    return given, parse_value(given, rest) if mark else None


def _plain(value: at.Attribute) -> Any:
    return value.value if isinstance(value, at.StringAttr | at.IntegerAttr) else str(value)


def _layout(op: Operation) -> dict[str, Any]:
    type_ = op.operands[0].type if op.name in ("tt.reduce", "tt.scan") else op.results[0].type
    place = file_position(op.location)
    encoding = getattr(type_, "encoding", None)
    line = {} if place is None else {"line": place.line}
    return {"op": op.name, **line, "layout": "none: the order is open" if encoding is None else str(encoding)}
