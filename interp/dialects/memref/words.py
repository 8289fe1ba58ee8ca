"""The memref ops that compiled code covers, on machine words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.dialects.memref import memory
from halfulp.interp.dialects.memref.evaluate import moves_elements
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiled.limits import NotCompiled
from halfulp.interp.values.memref_layout import strides_and_offset

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.context import Context
    from halfulp.interp.run.compiled.lowering import FunctionLowering


def access(op: Operation, low: FunctionLowering, indices: list[Word]) -> None:
    """Lower a load, or a store if the op has no result, of the element at these indices."""
    which = 0 if op.results else 1
    if moves_elements(op, which, low.settings):
        raise NotCompiled(f"'{op.name}' of memory whose elements are moved")
    place = low.place(op.operands[which])
    at = place.index(indices)
    if which:
        low.program.writes = True
        place.store(at, low.word(op.operands[0]))
    else:
        low.put(op, place.load(at, low.width(op.results[0].type)))


def load(op: Operation, low: FunctionLowering) -> None:
    """Lower memref.load."""
    access(op, low, low.words(op.operands[1:]))


def store(op: Operation, low: FunctionLowering) -> None:
    """Lower memref.store."""
    access(op, low, low.words(op.operands[2:]))


def allocate(op: Operation, low: FunctionLowering) -> None:
    """Lower memref.alloc and memref.alloca without symbols: the executor makes the memory."""
    type_, settings = memory.allocated_type(op), low.settings
    known = strides_and_offset(type_)
    sizes = low.words(op.operands)
    if known is None or type_.layout is not None or len(sizes) != (type_.shape or ()).count(None):
        raise NotCompiled(f"'{op.name}' of type '{type_}'")
    low.check(type_)
    plan_of = memory.plans_of(op, settings)

    def make(context: Context, *given: int) -> tuple[int, ...]:
        numbers = [(code ^ (1 << 63)) - (1 << 63) for code in given]
        plan = plan_of(*numbers)
        buffer = memory.fresh(op, type_, plan, context.run, settings)
        return (*context.made(buffer.allocation), plan.offset, *plan.shape, *plan.strides)

    low.put(op, low.made(make, sizes, type_))


def refused(op: Operation, low: FunctionLowering) -> None:
    """Refuse an op that frees memory which others may use."""
    raise NotCompiled(f"'{op.name}'")


def free(op: Operation, low: FunctionLowering) -> None:
    """Lower memref.dealloc of the memref of memref.alloc. Its memory becomes poison, so that a later access is
    noticed.
    """
    owner = getattr(op.operands[0], "owner", None)
    if owner is None or owner.name != "memref.alloc":
        raise NotCompiled(f"'{op.name}' of memory that may come from elsewhere")
    by = memory.freeing(op)
    low.host(lambda context, base: context.free(by, base), [low.place(op.operands[0]).base], [])


def dimension(op: Operation, low: FunctionLowering) -> None:
    """Lower memref.dim with a constant index."""
    owner: Any = getattr(op.operands[1], "owner", None)
    source = op.operands[0]
    if not isinstance(source.type, ty.MemRefType) or owner is None or owner.name != "arith.constant":
        raise NotCompiled(f"'{op.name}' of a dimension that is not known")
    number, sizes = owner.properties["value"].value, low.place(source).sizes
    if not 0 <= number < len(sizes):
        raise NotCompiled(f"'{op.name}' outside of the rank")
    low.put(op, sizes[number])
