"""What attributes of arguments and results promise of their values, and what a broken promise means.

Source: LLVM's language reference, "Parameter Attributes". A value that breaks ``align``, ``nonnull``, ``range`` or
``nofpclass`` becomes poison; of a vector, an array or a struct, each such element. Poison of a ``noundef`` value is
undefined behaviour, and so is a pointer without the memory that ``dereferenceable`` promises. The attributes hold for
the arguments of a function when it begins, for its result when it returns, and for both at each call that states them.
What other attributes promise (such as ``noalias`` and ``readonly``) is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.elementwise import is_power_of_two
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.access import inaccessible, unaligned
from halfulp.interp.dialects.llvm.attributes import CONSTANT_RANGE
from halfulp.interp.dialects.llvm.memory import ADDRESS_MASK, NOWHERE, Pointer, born, poison_of
from halfulp.interp.dialects.llvm.memory_encoding import own_ids
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.run.frames import Run, lift
from halfulp.interp.values.value import Value
from halfulp.semantics import float_unit
from halfulp.semantics.kernel import zeroed

Guard = Callable[[Run, Any], Any]
"""Returns what a slot holds after the promises: it, or poison. Raises UndefinedBehavior."""
PointerTest = Callable[[Run, Pointer, int], "str | None"]
"""Says what a pointer breaks of a promise with a number; None if it keeps it."""


# --- pointers ---------------------------------------------------------------------------------------------------------


def is_null(pointer: Pointer) -> bool:
    """Tell whether the address of a pointer is 0."""
    return pointer.memory is NOWHERE and not pointer.offset & ADDRESS_MASK


def _aligned(run: Run, pointer: Pointer, number: int) -> str | None:
    if is_power_of_two(number):
        return unaligned(run, pointer, number, "the pointer")
    return None if is_null(pointer) else f"{number} is not a power of two, and the pointer is not null"


def _accessible(run: Run, pointer: Pointer, number: int) -> str | None:
    return inaccessible(run, pointer, number) if number else None


def _accessible_or_null(run: Run, pointer: Pointer, number: int) -> str | None:
    return None if is_null(pointer) else _accessible(run, pointer, number)


POINTERS: Mapping[str, PointerTest] = {
    "nonnull": lambda run, pointer, number: "the pointer is null" if is_null(pointer) else None,
    "align": _aligned,
    "dereferenceable": _accessible,
    "dereferenceable_or_null": _accessible_or_null,
}
"""The promises of pointers."""
STRICT = ("dereferenceable", "dereferenceable_or_null")
"""Those that are undefined behaviour if they are broken, also by poison."""


def _pointer_guard(op: Operation, name: str, number: int, type_: ty.Type, what: str) -> Guard:
    test, strict = POINTERS[name], name in STRICT
    if name != "nonnull" and (number <= 0 or (name == "align" and not is_power_of_two(number))):
        raise unsupported(op, f"halfulp does not run '{name}' of {number} bytes")
    label = f"'{name}({number})'" if number else f"'{name}'"

    def guard(run: Run, slot: Any) -> Any:
        if slot.__class__ is not Pointer:
            if strict:
                raise undefined(op, f"{what} is {label}, but poison: {slot.origin()}")
            return slot
        reason = test(run, slot, number)
        if reason is None:
            return slot
        if strict:
            raise undefined(op, f"{what} is {label}, but {reason}")
        return poison_of(type_, born(op, run, f"{what} is {label}, but {reason}"), run)

    return guard


# --- numbers ----------------------------------------------------------------------------------------------------------


def _outside(op: Operation, attribute: at.Attribute, type_: ty.Type) -> Callable[[int], bool]:
    """Return the test for a code that is not in a range, which may wrap around."""
    width = ty.width_of(type_)
    if (
        not isinstance(attribute, DialectAttr)
        or attribute.definition is not CONSTANT_RANGE
        or ty.width_of(attribute["type"]) != width
        or attribute["lower"] == attribute["upper"]
    ):
        raise unsupported(op, f"{attribute} is not a range of '{type_}'")
    lower, mask = attribute["lower"], (1 << width) - 1
    size = attribute["upper"] - lower & mask
    return lambda code: code - lower & mask >= size


def _of_class(op: Operation, attribute: at.Attribute, type_: ty.Type) -> Callable[[int], bool]:
    """Return the test whether the code of a float belongs to one of the classes in a mask."""
    known = (1 << len(float_unit.CLASSES)) - 1
    if not isinstance(attribute, at.IntegerAttr) or attribute.value & ~known or not isinstance(type_, ty.FloatType):
        raise unsupported(op, f"{attribute} are not classes of '{type_}'")
    scalar = float_unit.in_classes(type_.format, attribute.value).scalar
    return lambda code: bool(scalar(code))


_NUMBERS = {"range": (ty.IntegerType, _outside), "nofpclass": (ty.FloatType, _of_class)}


def _number_guard(op: Operation, name: str, attribute: at.Attribute, type_: ty.Type, what: str) -> Guard | None:
    """Return the guard of numbers, or of floats in arrays and structs; None if the promise is not about the type."""
    class_, test = _NUMBERS[name]
    scalar = _float_of(type_) if class_ is ty.FloatType else type_
    if not isinstance(ty.element_type(scalar), class_):
        return None
    breaks = test(op, attribute, ty.element_type(scalar))
    reason = f"{what} breaks '{name}' = {attribute}"

    def guard(run: Run, slot: Any) -> Any:
        if slot.__class__ is int and not breaks(slot):
            return slot
        value: Value = lift(slot, scalar)
        codes = codes_to_ints(value.bits, ty.width_of(value.element_type))
        broken = np.array([breaks(code) for code in codes], np.bool_).reshape(value.shape) & ~value.poisoned
        if not broken.any():
            return slot
        ids = np.zeros(value.shape, np.uint16) if value.poison is None else own_ids(run, value)
        ids = np.where(broken, np.uint16(born(op, run, reason)), ids)
        return Value(scalar, zeroed(value.bits, ids), ids, value.open, run.origins)

    def inside(run: Run, slot: Any) -> Any:
        return tuple([inside(run, part) for part in slot]) if slot.__class__ is tuple else guard(run, slot)

    return guard if scalar is type_ else inside


def _float_of(type_: ty.Type) -> ty.Type:
    """Return the type of the floats of an array, or of a struct without a name whose elements have one type."""
    if isinstance(type_, llvm.StructType) and type_.name is None and len(set(type_.body or ())) == 1:
        assert type_.body is not None
        type_ = type_.body[0]
    while isinstance(type_, llvm.ArrayType):
        type_ = type_.element
    return type_


# --- all --------------------------------------------------------------------------------------------------------------


def poison_in(slot: Any) -> str | None:
    """Return the origin of one poison element in the content of a slot, as text; None if there is none."""
    if isinstance(slot, Value):
        return None if slot.poison is None else str(slot.origin(*np.argwhere(slot.poisoned)[0]))
    if slot.__class__ is tuple:
        return next((found for part in slot if (found := poison_in(part)) is not None), None)
    return None


def _defined(op: Operation, what: str) -> Guard:
    def guard(run: Run, slot: Any) -> Any:
        found = poison_in(slot)
        if found is not None:
            raise undefined(op, f"{what} is 'noundef', but poison: {found}")
        return slot

    return guard


def _guards(op: Operation, attributes: Mapping[str, at.Attribute], type_: ty.Type, what: str) -> list[Guard]:
    """Return the guards of one value; those that may make poison come first."""
    guards = []
    for name in _NUMBERS:
        attribute = attributes.get(f"llvm.{name}")
        guard = None if attribute is None else _number_guard(op, name, attribute, type_, what)
        if guard is not None:
            guards.append(guard)
    for name in POINTERS:
        attribute = attributes.get(f"llvm.{name}")
        if attribute is not None and isinstance(type_, llvm.PointerType):
            number = attribute.value if isinstance(attribute, at.IntegerAttr) else 0
            guards.append(_pointer_guard(op, name, number, type_, what))
    return [*guards, *([_defined(op, what)] if "llvm.noundef" in attributes else ())]


def guard_of(
    op: Operation, given: Sequence[tuple[at.Attribute | None, int]], type_: ty.Type, what: str
) -> Guard | None:
    """Return the function that checks one value against the promises of its attributes; None if nothing is promised.

    ``given``: pairs of a list of attributes (``arg_attrs``) and the index of the value in it. ``what``: the name of the
    value in errors.
    """
    guards: list[Guard] = []
    for attributes, place in given:
        each = attributes.elements[place : place + 1] if isinstance(attributes, at.ArrayAttr) else ()
        for entry in each:
            if isinstance(entry, at.DictionaryAttr):
                guards += _guards(op, entry.mapping, type_, what)
    if len(guards) < 2:
        return guards[0] if guards else None

    def guard(run: Run, slot: Any) -> Any:
        for one in guards:
            slot = one(run, slot)
        return slot

    return guard


_MEANT = frozenset(f"llvm.{name}" for name in ("noundef", *POINTERS, *_NUMBERS))


def promises(op: Operation) -> bool:
    """Tell whether a function or a call has attributes that affect its run."""
    return any(
        name in _MEANT
        for attributes in (op.properties.get("arg_attrs"), op.properties.get("res_attrs"))
        for entry in (attributes.elements if isinstance(attributes, at.ArrayAttr) else ())
        for name, _ in (entry.entries if isinstance(entry, at.DictionaryAttr) else ())
    )
