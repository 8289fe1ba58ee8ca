"""The types of an explained op, from ``type=`` and ``to=`` as `halfulp.eval` takes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.parsing import parse_type_head
from halfulp.interp.values.value import Value
from halfulp.number_reader import typed_text

E8M0 = ty.FloatType(FORMATS["f8E8M0FNU"])
F64, I64 = ty.FloatType(FORMATS["f64"]), ty.IntegerType(64)


class OpTypes(NamedTuple):
    """The types of the operands; ``result``: that of the result, None where it follows from the operands."""

    operands: tuple[ty.Type, ...]
    result: ty.Type | None


class Signature(NamedTuple):
    """How the types of an op follow. ``types``: from the name of the op, ``type`` and ``to``; it raises InputError
    where one is missing. ``casts``: the op has ``to``.
    """

    types: Callable[[str, ty.Type | None, ty.Type | None], OpTypes]
    casts: bool = True


def _missing(op: str, what: str, example: str) -> InputError:
    return InputError(f"{op} needs {what}", hint=f"give {example}")


def same(count: int) -> Signature:
    """Return the signature of an op whose operands have one type, from which that of the result follows."""

    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        if to is not None:
            raise InputError(f"{op} is not a cast: it has no to=…", hint=f'write type="{to}", the type of its operands')
        if type_ is None:
            raise _missing(op, "the type of its operands", 'type=…, as in type="f32"')
        return OpTypes((type_,) * count, None)

    return Signature(types, casts=False)


def cast(*default: ty.Type) -> Signature:
    """Return the signature of a cast. ``default``: the type of each operand; ``type`` replaces that of the first."""

    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        if to is None:
            raise _missing(op, "the type of its result", 'to=…, as in to="f8E4M3FN"; type=… is the type of its operand')
        return OpTypes((type_ or default[0], *default[1:]), to)

    return Signature(types)


def mixed(count: int) -> Signature:
    """Return the signature of an operation of a float unit: each operand may have a type of its own; one without takes
    ``type``, else ``to``. Without ``to`` the result has the type of the last operand.
    """

    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        common = type_ or to
        if common is None:
            raise _missing(
                op, "the type of its result", 'to=…, as in to="f32"; an operand f8E4M3FN=1.5 has its own type'
            )
        return OpTypes((common,) * count, to)

    return Signature(types)


def _expressed(type_: ty.Type) -> ty.Type:
    if not isinstance(type_, ty.UniformQuantizedType):
        raise Unsupported(f"the type of a quant cast is a !quant.uniform type, not '{type_}'")
    return type_.expressed


def _quantising(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
    """Return the types of quant.qcast: from the expressed type to the quantised one."""
    if to is None:
        raise _missing(op, "the quantised type", 'to="!quant.uniform<…>"')
    return OpTypes((type_ or _expressed(to),), to)


def _dequantising(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
    """Return the types of quant.dcast: from the quantised type to the expressed one."""
    if type_ is None:
        raise _missing(op, "the quantised type", 'type="!quant.uniform<…>"')
    return OpTypes((type_,), to or _expressed(type_))


QUANTISING, DEQUANTISING = Signature(_quantising), Signature(_dequantising, casts=False)
"""The signatures of the two quant casts."""


def type_of_operand(given: Any) -> ty.Type | None:
    """Return the type that an operand has itself: a `Value`, or text with its type; None for any other."""
    if isinstance(given, Value):
        return given.element_type
    typed = typed_text(given) if isinstance(given, str) else None
    return None if typed is None else ty.element_type(parse_type_head(typed[1]))


def keywords_of(signature: Signature, first: Any, source: Any) -> dict[str, Any]:
    """Return ``type`` and ``to`` from the one type that the command line names, that of the result for casts.

    ``source``: the type that is cast, or None.
    """
    if not signature.casts:
        if source is not None:
            raise InputError("the op is not a cast: it has no source type", hint="leave it out")
        return {"type": first, "to": None}
    return {"type": source, "to": first}


_WORD = re.compile(r"\s*(?!s?nan|inf|true|false|poison)[A-Za-z_!][^=:]*", re.ASCII | re.IGNORECASE)


def refuse_type(op: str, operand: Any) -> None:
    """Raise an error for a type in the place of the first operand, or for a word that is meant as one."""
    if isinstance(operand, ty.Type | FloatFormat) or (isinstance(operand, str) and _WORD.fullmatch(operand)):
        type_ = as_type(operand)  # raises for a word that names no type
        raise InputError(f"'{type_}' is a type, not an operand of {op}", hint=f'give type="{type_}" after the operands')
