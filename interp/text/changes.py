"""What changed between versions of MLIR inside of ops that both have: the types and cases that one version refuses.

What is new as a whole, an op or a property, says so in its declaration (``since``). A clause of a form that replaces an
entry of the dictionary is written ``newer(…)`` there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import DenseArrayAttr, DenseElementsAttr
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, OpResult
from halfulp.interp.ir.types import IndexType, IntegerType, MemRefType, Type, VectorType, element_type, shape_of


@dataclass(frozen=True)
class Change:
    """A row: ops of one form, of which one version refuses some.

    ``refused_by``: the version. ``ops``: the names, or ``dialect.*`` for all of a dialect. ``but``: names that the row
    is not about. ``what``: says what the version refuses in an op; None if there is nothing.
    """

    refused_by: Schema
    ops: tuple[str, ...]
    what: Callable[[Operation], str | None]
    but: tuple[str, ...] = ()


def _types(op: Operation) -> list[Type]:
    return [value.type for value in (*op.operands, *op.results)]


def _no_bits(op: Operation) -> str | None:
    found = (type_ for type_ in _types(op) if str(element_type(type_)) == "i0")
    return next((f"the type '{type_}'" for type_ in found), None)


def _counted_in_integers(op: Operation) -> str | None:
    type_ = op.results[0].type
    return None if isinstance(element_type(type_), IndexType) else f"the type '{type_}'"


_NEWER_KINDS = frozenset(
    (
        *("maximumnumf", "minimumnumf"),
        *("sin", "cos", "tan", "acos", "acosh", "asin", "asinh", "atan", "atanh", "log10", "log1p", "log2"),
    )
)


def _newer_kind(op: Operation) -> str | None:
    kind = op.properties.get("kind")
    return f"the kind '{kind.keywords}'" if isinstance(kind, EnumAttr) and kind.keywords in _NEWER_KINDS else None


def _scalable_mask(op: Operation) -> str | None:
    masks = (t for t in _types(op) if isinstance(t, VectorType) and t.element == IntegerType(1) and any(t.scalable))
    return next((f"the mask '{type_}'" for type_ in masks), None)


def _empty_slice(op: Operation) -> str | None:
    source = op.operands[2].owner if isinstance(op.operands[2], OpResult) else None
    sizes = None if source is None else source.properties.get("values")
    if source is None or source.name != "tosa.const_shape" or not isinstance(sizes, DenseElementsAttr):
        return None
    return "a size of 0" if (sizes.codes == 0).any() else None


def _empty_shape(op: Operation) -> str | None:
    return next((f"the shape '{value.type}'" for value in op.operands if str(value.type) == "!tosa.shape<0>"), None)


def _other_output_shape(op: Operation) -> str | None:
    """The sizes that are given must be those of the result: MLIR 22 checks only that they are as many."""
    given = op.properties.get("static_output_shape")
    sizes = shape_of(op.results[0].type) or ()
    if not isinstance(given, DenseArrayAttr):
        return None
    pairs = enumerate(zip(given.values, sizes, strict=True))
    return next(
        (f"output_shape at pos {axis}" for axis, (one, size) in pairs if size is not None and one != size), None
    )


def _cast_to_itself(op: Operation) -> str | None:
    one, other = (value.type for value in (*op.operands, *op.results))
    is_unranked = isinstance(one, MemRefType) and one.shape is None
    return f"the cast to '{other}', which is not ranked either," if is_unranked and one == other else None


CHANGES: tuple[Change, ...] = (
    Change(Schema.LLVM24, ("arith.*",), _no_bits, but=("arith.constant", "arith.select")),
    Change(
        Schema.LLVM24,
        tuple(
            f"vector.{name}" for name in ("bitcast", "contract", "multi_reduction", "outerproduct", "reduction", "scan")
        ),
        _no_bits,
    ),
    Change(Schema.LLVM24, ("tensor.expand_shape",), _other_output_shape),
    Change(Schema.MLIR22, ("memref.cast",), _cast_to_itself),
    Change(Schema.LLVM24, ("tosa.slice",), _empty_slice),
    Change(Schema.LLVM24, ("tosa.concat_shape",), _empty_shape),
    Change(Schema.MLIR22, ("vector.step",), _counted_in_integers),
    Change(
        Schema.MLIR22,
        (
            "linalg.elementwise",
            *(f"vector.{name}" for name in ("contract", "multi_reduction", "outerproduct", "reduction", "scan")),
        ),
        _newer_kind,
    ),
    Change(Schema.MLIR22, ("vector.expandload", "vector.compressstore"), _scalable_mask),
)


def _by_name(schema: Schema) -> Mapping[str, tuple[Change, ...]]:
    rows: dict[str, tuple[Change, ...]] = {}
    for change in CHANGES:
        for name in change.ops if change.refused_by is schema else ():
            rows[name] = (*rows.get(name, ()), change)
    return rows


_ROWS: Mapping[Schema, Mapping[str, tuple[Change, ...]]] = {schema: _by_name(schema) for schema in Schema}


def refused(op: Operation, schema: Schema) -> str | None:
    """Say what a version of MLIR refuses in an op that it has; None if there is nothing."""
    rows = _ROWS[schema]
    found = (*rows.get(op.name, ()), *rows.get(f"{op.name.partition('.')[0]}.*", ()))
    reasons = (change.what(op) for change in found if op.name not in change.but)
    return next((reason for reason in reasons if reason is not None), None)


def changed_ops(schema: Schema) -> frozenset[str]:
    """Return the names of the ops of which a version refuses some, and ``dialect.*`` for all of a dialect."""
    return frozenset(_ROWS[schema])
