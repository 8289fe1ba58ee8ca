"""The roles of values in affine expressions: symbols, which do not change in loops, and dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from halfulp.interp.declare.declarations import Trait
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.indices import constant
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue
from halfulp.interp.ir.types import INDEX, MemRefType

_LOOPS = ("affine.for", "affine.parallel")
_SCOPES = ("func.func", "builtin.module")
"""The ops whose values at the top of their regions are symbols everywhere inside."""
_DIMS = ("memref.dim", "tensor.dim")
_SIZED = {"memref.alloc": "dynamicSizes", "memref.subview": "sizes", "memref.view": "sizes"}
"""The ops that make memrefs whose dynamic sizes may be symbols, with the name of the operands that give the sizes."""
_COMBINING = ("affine.apply", "affine.delinearize_index", "affine.linearize_index")
"""The ops that make dimensions from dimensions."""
_PURE = ("affine.min", "affine.max", "builtin.unrealized_conversion_cast", "vector.vscale", *_COMBINING)
_PURE_DIALECTS = ("arith.", "math.", "index.")
_UNSAFE_DIVISORS = {
    "arith.divui": (0,),
    "arith.ceildivui": (0,),
    "arith.divsi": (0, -1),
    "arith.ceildivsi": (0, -1),
}
"""Divisions that MLIR may compute ahead of time by a constant only, and by none of these."""


class _Standing(Enum):
    """The role of a value in an affine expression: a symbol may be used anywhere, a dimension (a loop's index) only as
    one.
    """

    SYMBOL = 0
    DIMENSION = 1
    OTHER = 2


def _around(value: SSAValue) -> str | None:
    """Return the name of the op in whose region a value is defined."""
    block = value.owner.parent if isinstance(value, OpResult) else getattr(value, "block", None)
    op = None if block is None or block.parent is None else block.parent.parent
    return None if op is None else op.name


def _pure(op: Operation) -> bool:
    """Tell whether MLIR may compute an op at any place: it has no effects and cannot fail."""
    if op.name in _UNSAFE_DIVISORS:
        divisor = constant(op.operands[1])
        return divisor is not None and divisor not in _UNSAFE_DIVISORS[op.name]
    if op.name.startswith("index."):
        return not any(word in op.name for word in ("div", "rem"))
    return op.name in _PURE or op.name.startswith(_PURE_DIALECTS)


def _size_of(op: Operation) -> _Standing | SSAValue:
    """Return the role of a dimension that an op reads from a memref or tensor, or the value that has the same role."""
    source, index = op.operands[0], constant(op.operands[1])
    if _around(source) in _SCOPES:
        return _Standing.SYMBOL
    while isinstance(source, OpResult) and source.owner.name == "memref.cast":
        source = source.owner.operands[0]
    type_ = source.type
    if index is None or not isinstance(source, OpResult) or source.owner.name not in _SIZED:
        return _Standing.OTHER
    if not isinstance(type_, MemRefType) or type_.shape is None or not 0 <= index < len(type_.shape):
        return _Standing.OTHER
    if type_.shape[index] is not None:
        return _Standing.SYMBOL
    maker = source.owner
    assert maker.definition is not None
    names = [slot.name for slot in maker.definition.operands]
    sizes = operand_sizes(maker, maker.definition) or [0] * len(names)
    first = sum(sizes[: names.index(_SIZED[maker.name])])
    return maker.operands[first + type_.shape[:index].count(None)]


def _known(value: SSAValue) -> _Standing | Sequence[SSAValue]:
    """Return the role of a value, or the values that it has its role from."""
    if value.type != INDEX:
        return _Standing.OTHER
    around = _around(value)
    if around in _SCOPES:
        return _Standing.SYMBOL
    if not isinstance(value, OpResult):
        return _Standing.DIMENSION if around in _LOOPS else _Standing.OTHER
    op = value.owner
    if op.definition is not None and Trait.CONSTANT_LIKE in op.definition.traits:
        return _Standing.SYMBOL
    if op.name in _DIMS:
        size = _size_of(op)
        return size if isinstance(size, _Standing) else [size]
    return op.operands if _pure(op) else _Standing.OTHER


def _standing(value: SSAValue) -> _Standing:
    found: dict[SSAValue, _Standing] = {}
    stack = [(value, False)]
    while stack:
        current, sources_done = stack.pop()
        known = _known(current)
        if isinstance(known, _Standing):
            found[current] = known
        elif sources_done:
            assert isinstance(current, OpResult)
            roles = {found[source] for source in known}
            if roles <= {_Standing.SYMBOL}:
                found[current] = _Standing.SYMBOL
            elif current.owner.name in _COMBINING and _Standing.OTHER not in roles:
                found[current] = _Standing.DIMENSION
        elif current not in found:
            # The role until its sources are known, and the final one where it is among them.
            found[current] = _Standing.OTHER
            stack.append((current, True))
            stack += [(source, False) for source in known]
    return found[value]


def dimension_as_symbol(value: SSAValue) -> bool:
    """Tell whether a value may be used as a dimension, but not as a symbol."""
    return _standing(value) is _Standing.DIMENSION


def misused(operands: Sequence[SSAValue], dimensions: int) -> str | None:
    """Return what is wrong with the operands of a map, of which the first ``dimensions`` are dimensions."""
    for number, value in enumerate(operands):
        standing = _standing(value)
        if standing is _Standing.OTHER and number < dimensions:
            return "operand cannot be used as a dimension id"
        if standing is not _Standing.SYMBOL and number >= dimensions:
            return "operand cannot be used as a symbol"
    return None


def usable(value: SSAValue) -> bool:
    """Tell whether a value may be used as a dimension or as a symbol."""
    return _standing(value) is not _Standing.OTHER
