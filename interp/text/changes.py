"""What changed between versions of MLIR inside of ops that both have: the types and cases that one version refuses.

What is new as a whole, an op or a property, says so in its declaration (``since``). A clause of a form that replaces an
entry of the dictionary is written ``newer(…)`` there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import DenseArrayAttr, DenseElementsAttr, integer_of_code
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, OpResult, Rule, SSAValue
from halfulp.interp.ir.types import IndexType, IntegerType, MemRefType, VectorType, element_type, shape_of


@dataclass(frozen=True)
class Change:
    """A row: ops of one form, of which one version refuses some.

    ``refused_by``: the version. ``ops``: the names, or ``dialect.*`` for all of a dialect. ``but``: names that the row
    is not about. ``what``: says what the version refuses in an op; None if there is nothing.
    """

    refused_by: Schema
    ops: tuple[str, ...]
    what: Rule
    but: tuple[str, ...] = ()


def _no_bits(op: Operation) -> str | None:
    found = (type_ for type_ in op.types if str(element_type(type_)) == "i0")
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
    masks = (t for t in op.types if isinstance(t, VectorType) and t.element == IntegerType(1) and any(t.scalable))
    return next((f"the mask '{type_}'" for type_ in masks), None)


def _sizes(value: SSAValue) -> Sequence[int] | None:
    """Return the sizes of a shape that `tosa.const_shape` makes, of which -1 is open; None for any other."""
    maker = value.owner if isinstance(value, OpResult) else None
    given = None if maker is None or maker.name != "tosa.const_shape" else maker.properties.get("values")
    if not isinstance(given, DenseElementsAttr):
        return None
    return [integer_of_code(int(code), element_type(given.type)) for code in given.array().reshape(-1)]


def _slice_outside(op: Operation) -> str | None:
    """A slice must be inside of the operand, and have the sizes of the result. MLIR 22 checks only the ranks."""
    whole, made = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    starts, sizes = (_sizes(value) for value in op.operands[1:])
    for word, given, least in (("start", starts, 0), ("size", sizes, 1)):
        wrong = next((each for each in given or () if each < least and each != -1), None)
        if wrong is not None:
            return f"a {word} of {wrong}"
    if sizes is None:
        return None
    # With an open size, MLIR 24 compares none.
    if (
        made is not None
        and -1 not in sizes
        and not (len(made) == len(sizes) and all(one in (None, size) for size, one in zip(sizes, made, strict=True)))
    ):
        return f"the sizes {list(sizes)} for the result '{op.results[0].type}'"
    for axis, (start, size, length) in enumerate(zip(starts or (), sizes, whole or (), strict=False)):
        if length is not None and -1 not in (start, size) and start + size > length:
            return f"the end {start + size} of axis {axis}, which has the size {length},"
    return None


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
    one, other = op.types
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
    Change(Schema.LLVM24, ("tosa.slice",), _slice_outside),
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
