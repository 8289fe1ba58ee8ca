"""memref.get_global: the memory of memref.global. Each run begins with the initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import check_allocation
from halfulp.interp.values.buffers import Buffer, laid_out
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin

Slots = Sequence[Any]


def get(op: Operation, compiler: Compiler) -> Function:
    """Return the function of memref.get_global. Raises Unsupported for memory that the module only declares."""
    name = op.properties["name"]
    assert isinstance(name, at.SymbolRefAttr)
    found = compiler.module.lookup(name, op)
    assert found is not None
    type_, initial = op.results[0].type, found.properties.get("initial_value")
    assert isinstance(type_, ty.MemRefType)
    if initial is None:
        raise Unsupported(f"'{name}' is declared, but its memory is defined nowhere", location=op.location, op=op.name)
    shape = tuple(size or 0 for size in type_.shape or ())
    check_allocation(type_, (laid_out(type_, shape)[2],), compiler.settings)
    tensor = ty.TensorType(shape, type_.element)
    value = None if isinstance(initial, at.UnitAttr) else attribute_value(initial, tensor, found, compiler)
    source = f"memref.global {name}"
    constant = "constant" in found.properties

    def get_global(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = run.kept.get(found)
        if buffer is None:
            buffer = run.kept[found] = _initialized(found, type_, shape, value, source, run)
            if constant:
                buffer.allocation.freeze()
        return (buffer,)

    return get_global


def _initialized(
    found: Operation, type_: ty.MemRefType, shape: tuple[int, ...], value: Value | None, source: str, run: Run
) -> Buffer:
    buffer = Buffer.allocate(type_, shape, source)
    reason = f"an element of {source} was never written"
    if value is None or not buffer.is_contiguous:
        buffer.allocation.spoil(Origin(found.name, spell_place(found.location), reason, (0,) * len(shape)), run.origins)
    if value is not None:
        buffer.store(value, run.origins)
    return buffer
