"""llvm.intr.assume: what it states must be true, or the program is undefined.

Source: LLVM's language reference, "llvm.assume Intrinsic" and "Assume Operand Bundles".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.bundles import bundles_of
from halfulp.interp.dialects.llvm.memory import Pointer
from halfulp.interp.dialects.llvm.promises import POINTERS, poison_in
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import decided, number

Check = Callable[[Run, Sequence[Any]], None]
"""Raises UndefinedBehavior unless the values of a bundle keep what it states."""


def assume(op: Operation, settings: Settings) -> Function:
    """Return the function of assume."""
    checks, place = [], 1
    for tag, values in bundles_of(op, op.operands[1:]):
        slots = slice(place, place + len(values))
        place += len(values)
        checks.append((slots, _check(op, tag, values, settings)))

    def check(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        if not decided(slots[0], op):
            raise undefined(op, "the condition is false")
        for part, one in checks:
            one(run, slots[part])
        return ()

    return check


def _check(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    """Return the check of one bundle. Raises Unsupported for what halfulp does not check."""
    types = [value.type for value in values]
    forms, make = _CHECKS.get(tag, ((), _nothing))
    if not any(len(form) == len(types) and all(map(isinstance, types, form)) for form in forms) and tag != "ignore":
        raise Unsupported(
            f'{op.name}: the bundle "{tag}" of {", ".join(map(repr, map(str, types))) or "no values"} does not run',
            location=op.location,
            op=op.name,
        )
    return make(op, tag, values, settings)


def _nothing(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    return lambda run, slots: None


def _of_pointer(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    """Return the check of a promise of a pointer, with a number for it, and for ``align`` with an offset as well."""
    types = [value.type for value in values]

    def check(run: Run, slots: Sequence[Any]) -> None:
        pointer, *given = slots
        if pointer.__class__ is not Pointer:
            raise undefined(op, f'the pointer of "{tag}" is poison: {poison_in(pointer)}')
        size, offset = [
            *(
                number(slot, type_, op, f'number of "{tag}"', settings, signed=False)
                for slot, type_ in zip(given, types[1:], strict=True)
            ),
            *(0, 0),
        ][:2]
        reason = POINTERS[tag](run, Pointer(pointer.memory, pointer.offset - offset), size)
        if reason is not None:
            raise undefined(op, f'"{tag}" does not hold: {reason}')

    return check


def _not_poison(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    def check(run: Run, slots: Sequence[Any]) -> None:
        found = poison_in(slots[0])
        if found is not None:
            raise undefined(op, f'"{tag}" does not hold: the value is poison: {found}')

    return check


def _separate(op: Operation, tag: str, values: Sequence[SSAValue], settings: Settings) -> Check:
    def check(run: Run, slots: Sequence[Any]) -> None:
        if any(slot.__class__ is not Pointer for slot in slots):
            raise undefined(op, f'a pointer of "{tag}" is poison')
        one, other = (slot.memory for slot in slots)
        if one is other:
            raise undefined(op, f'"{tag}" does not hold: both pointers are into {one.source}')

    return check


_ONE, _NUMBER = (llvm.PointerType,), (llvm.PointerType, ty.IntegerType)
_CHECKS: Mapping[str, tuple[Sequence[tuple[type[ty.Type], ...]], Callable[..., Check]]] = {
    "align": ((_NUMBER, (*_NUMBER, ty.IntegerType)), _of_pointer),
    "nonnull": ((_ONE,), _of_pointer),
    "dereferenceable": ((_NUMBER,), _of_pointer),
    "dereferenceable_or_null": ((_NUMBER,), _of_pointer),
    "noundef": (((ty.Type,),), _not_poison),
    "separate_storage": (((llvm.PointerType, llvm.PointerType),), _separate),
    "cold": (((),), _nothing),
    "ignore": ((), _nothing),
}
"""The bundles that run, each with the types that its values may have; those of ``ignore`` may have any."""
