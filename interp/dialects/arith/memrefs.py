"""The casts of arith on memrefs: the same memory with elements of another type.

MLIR's document does not say what they do. Its lowering to the llvm dialect passes the memref on as it is where both
elements have one width, and fails for `arith.index_cast` between others.
"""

from __future__ import annotations

from typing import Any

from halfulp.interp.dialects.indices import undefined
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings


def _recast(op: Operation, settings: Settings) -> Function:
    """Return the function that views a memref with elements of another type of the same width."""
    from halfulp.interp.dialects.memref.evaluate import buffer_in

    type_ = op.results[0].type
    assert isinstance(type_, ty.MemRefType)
    widths = [settings.width(ty.element_type(value.type)) for value in (*op.operands, *op.results)]

    def view(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        if widths[0] != widths[1]:
            raise Unsupported(
                f"no document says what memory of elements of {widths[1]} bits '{op.name}' gives for {widths[0]} bits"
            )
        conflict = buffer.conflict(type_)
        if conflict:
            raise undefined(op, conflict)
        return (buffer.as_type(type_),)

    return view


RECAST = OnValues(_recast, raw=True)
