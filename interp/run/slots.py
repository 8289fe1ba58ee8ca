"""Slots: the forms that values take in a frame, and how control ops read them.

A slot holds a Python integer for a clean scalar (its code), a `Value` for everything else, or a `Cast` for the result
of an unresolved conversion. In a batch a slot may hold a value over lanes (`halfulp.interp.values.lanes`); an integer,
or a value without that axis, is the same in all lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.run.frames import Lanes
from halfulp.interp.run.reports import in_lanes
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value


@dataclass(frozen=True, slots=True)
class Cast:
    """An unresolved result of builtin.unrealized_conversion_cast: only another cast can use it.

    ``source`` and ``source_types``: the values that the chain of casts began with. ``types``: the result types of the
    last cast; this is result number ``index``.
    """

    source: tuple[Any, ...]
    source_types: tuple[ty.Type, ...]
    types: tuple[ty.Type, ...]
    index: int


def lift(slot: Any, type_: ty.Type) -> Any:
    """Return what a slot holds as a `Value` (or buffer). Raises Unsupported for an unresolved cast."""
    if slot.__class__ is int:
        return _scalar_value(slot, type_)
    if isinstance(slot, Cast):
        raise Unsupported(unresolved(slot))
    return slot


def unresolved(cast: Cast) -> str:
    """Say that an unresolved cast is used, and between which types."""
    source = ", ".join(f"'{t}'" for t in cast.source_types) or "no values"
    return (
        f"the result of builtin.unrealized_conversion_cast from {source} to '{cast.types[cast.index]}' is used, "
        "and no function is registered for this pair of types"
    )


def _scalar_value(code: int, type_: ty.Type) -> Value:
    return Value(type_, ints_to_codes([code], width_of(type_), ()))


def lower(value: Any) -> Any:
    """Return the form that a slot holds: a clean scalar of a computable type as an integer, anything else unchanged."""
    if (
        isinstance(value, Value)
        and value.poison is None
        and value.open is None
        and not isinstance(value.type, ty.ShapedType)
        and value.shape == ()
    ):
        width = element_width(value.type)
        if width is not None:
            return int(value.bits) if value.bits.ndim == 0 else codes_to_ints(value.bits, width)[0]
    return value


def is_cast(value: SSAValue) -> bool:
    """Tell whether a value is the result of a conversion cast, for which a slot may hold a `Cast`."""
    owner = getattr(value, "owner", None)
    return owner is not None and owner.name == "builtin.unrealized_conversion_cast"


def seen(slot: Any, type_: ty.Type) -> Any:
    """Return what listeners see of a slot: a `Value` for an integer, anything else unchanged."""
    return _scalar_value(slot, type_) if slot.__class__ is int else slot


def decided(value: Any, op: Operation) -> bool:
    """Return the condition of a control op, an i1 that is the same in all lanes.

    Raises UndefinedBehavior for poison, whatever ``on_ub`` says.
    """
    if value.__class__ is int:
        return bool(value)
    if value.poison is None:
        return bool(value.bits.flat[0])
    raise undecided(value, op, "condition")


def number(value: Any, type_: ty.Type, op: Operation, name: str, settings: Settings, signed: bool = True) -> int:
    """Return an integer or index operand of a control op as a number. Raises UndefinedBehavior for poison."""
    if value.__class__ is not int:
        if value.poison is not None:
            raise undecided(value, op, name)
        value = codes_to_ints(value.bits, settings.width(type_))[0]
    width = settings.width(type_)
    return int(value) - (1 << width) if signed and width and value >> (width - 1) else int(value)


def undecided(value: Value, op: Operation, name: str, lanes: Lanes | None = None) -> UndefinedBehavior:
    """Make the error of a control op whose operand ``name`` is poison, in a batch with the lanes where it is."""
    where = np.argwhere(value.poisoned)[0] if value.shape else ()
    report = UndefinedBehavior(
        f"{op.name}: undefined behaviour: the {name} is poison: {value.origin(*where)}",
        location=op.location,
        op=op.name,
        values=(value,),
    )
    return in_lanes(report, lanes, value.poisoned)
