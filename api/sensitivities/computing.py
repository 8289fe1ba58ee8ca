"""Ops that round their results: which they are, and why the format of others cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.interp.dialects.linalg.structure import REDUCTION, STRUCTURES, iterators_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module, Operation, SSAValue
from halfulp.interp.run.evaluators import Elementwise
from halfulp.sensitivities.flow import MOVES, SOURCES, format_of, has_hidden_body, is_in_hidden_body, is_memory, is_tied

CONVERSIONS = frozenset({"arith.extf", "arith.truncf", "arith.convertf"})
"""Ops that convert a float to another format."""
_OTHER_FORMS = frozenset({"arith.bitcast", "arith.scaling_extf", "arith.scaling_truncf", "arith.flush_denormals"})
"""Elementwise ops with a meaning that belongs to the formats that they have."""
_COMPUTING = frozenset(
    {
        *(f"vector.{name}" for name in ("fma", "reduction", "multi_reduction", "scan", "contract", "outerproduct")),
        "linalg.softmax",
    }
)
"""Ops on whole vectors and tensors that compute floats, besides structured ones."""
_REDUCING = frozenset(f"vector.{name}" for name in ("reduction", "multi_reduction", "scan", "contract"))
_EXTREMA = ("max", "min")
_EXACT = frozenset(
    {
        *("arith.constant", "arith.bitcast", "vector.constant_mask", "ub.poison", "memref.get_global", "memref.alloc"),
        *("vector.bitcast", "tensor.bitcast", "memref.view", "memref.alloca_scope", "vector.mask", "vector.type_cast"),
    }
)
"""Ops that give floats that nobody computed there."""
_REASONS: Mapping[str, str] = {
    "arith.scaling_extf": "block scaling is a step of its own between two formats",
    "arith.scaling_truncf": "block scaling is a step of its own between two formats",
    "arith.flush_denormals": "it is about the subnormals of its own format",
    "iree_codegen.inner_tiled": "its kind names the formats of a tile operation; give models to change how it adds",
}


def rounds(op: Operation) -> bool:
    """Tell whether an op computes floats and rounds them, so that it can also run in another format."""
    if op.name in MOVES or is_in_hidden_body(op):
        return False
    if op.name in _COMPUTING or has_hidden_body(op):
        return bool(written(op)) and not _takes_extreme(op)
    return is_scalar_op(op) and any(format_of(result) for result in op.results)


def is_scalar_op(op: Operation) -> bool:
    """Tell whether an op does the same to each element of its floats, in any format."""
    definition = op.definition
    if definition is None or op.name in _OTHER_FORMS or op.name.partition(".")[0] not in ("arith", "math"):
        return False
    floats = any(format_of(value) for value in (*op.operands, *op.results))
    return floats and isinstance(definition.evaluate, Elementwise)


def decides(op: Operation) -> bool:
    """Tell whether an op makes integers of floats: with other numbers, a run may go another way."""
    return is_scalar_op(op) and not any(format_of(result) for result in op.results)


def adds_up(op: Operation) -> bool:
    """Tell whether an op has an accumulator of its own."""
    return op.name in _REDUCING or (has_hidden_body(op) and REDUCTION in iterators_of(op))


def written(op: Operation) -> list[SSAValue]:
    """Return the floats that an op computes: its results, or the memory that a structured op writes."""
    results: list[SSAValue] = [result for result in op.results if format_of(result)]
    if results or op.name not in STRUCTURES:
        return results
    return [value for value in op.operands[-1:] if is_memory(value)]


def own_format(op: Operation) -> ty.FloatType:
    """Return the format of what an op computes, or else of what it takes."""
    found = [format_of(value) for value in (*written(op), *op.operands)]
    return next(each for each in found if each is not None)


def why_not(op: Operation, module: Module) -> str | None:
    """Say why the format of an op that computes numbers cannot be changed; None if there is nothing to change."""
    if is_in_hidden_body(op) or rounds(op) or is_tied(op) or op.name in SOURCES or op.name in _EXACT:
        return None
    if op.name == "func.call":
        callee = op.properties.get("callee")
        target = module.lookup(callee) if callee is not None else None  # type: ignore[arg-type]
        known = target is not None and target.regions and target.regions[0].blocks
        given = any(format_of(result) for result in op.results)
        return None if known or not given else "the function has no body"
    if any(isinstance(ty.element_type(result.type), ty.ComplexType) for result in op.results):
        return "complex numbers keep their format"
    if not any(format_of(result) for result in op.results):
        return _REASONS.get(op.name)
    return _REASONS.get(op.name, "it has no form in another format that is known here")


def _takes_extreme(op: Operation) -> bool:
    """Tell whether a reduction of a vector only chooses among its operands."""
    kind = op.properties.get("kind")
    return kind is not None and str(kind).partition("<")[2].startswith(_EXTREMA)
