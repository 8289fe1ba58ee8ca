"""Combine elements one after the other by an op of arith, on behalf of an op of vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from halfulp.interp.declare.operands import add_defaults
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

# The op of arith on integers, and that on floats, of each combining kind.
_OPS: Mapping[str, tuple[str | None, str | None]] = {
    "add": ("addi", "addf"),
    "mul": ("muli", "mulf"),
    **{kind: (kind, None) for kind in ("minui", "minsi", "maxui", "maxsi")},
    **{kind: (None, kind) for kind in ("minnumf", "maxnumf", "minimumf", "maximumf")},
    **{kind: (f"{kind}i", None) for kind in ("and", "or", "xor")},
}


def is_supported(kind: str, element: ty.Type) -> bool:
    """Tell whether elements of a type can be combined by a kind."""
    return _name(kind, element) is not None


def _name(kind: str, element: ty.Type) -> str | None:
    integers, floats = _OPS[kind]
    if isinstance(element, ty.FloatType):
        return floats
    return integers if isinstance(element, ty.IntegerType | ty.IndexType) else None


def combining(
    op: Operation, kind: str, type_: ty.Type, settings: Settings, properties: Mapping[str, Attribute] | None = None
) -> ElementwiseStep:
    """Return the step of a kind on two values of a type. ``properties``: those of the op of arith."""
    name = _name(kind, ty.element_type(type_))
    if name is None:
        raise Unsupported(
            f"{op.name}: elements of type '{ty.element_type(type_)}' have no '{kind}'",
            location=op.location,
            op=op.name,
        )
    return arith_step(op, f"arith.{name}", (type_, type_), type_, settings, properties)


def arith_step(
    op: Operation,
    name: str,
    operands: Sequence[ty.Type],
    result: ty.Type,
    settings: Settings,
    properties: Mapping[str, Attribute] | None = None,
) -> ElementwiseStep:
    """Return the step of an op of arith, which reports faults and poison in the name of ``op``."""
    definition = default_registry().find(name)
    assert definition is not None
    assert isinstance(definition.evaluate, Elementwise)
    inner = Operation(name, definition, [SSAValue(type_) for type_ in operands], [result], dict(properties or {}))
    add_defaults(definition, inner.properties)
    inner.location = op.location
    kernel = definition.evaluate.build(inner, settings)
    inner.name, inner.definition = op.name, None
    return ElementwiseStep(inner, definition.evaluate, kernel, settings)


def folded(run: Run, step: ElementwiseStep, first: Value | None, parts: Iterable[Value]) -> Value:
    """Combine values one after the other, beginning with ``first`` if there is one, each time the result so far on the
    left. There is at least one value.
    """
    result = first
    for part in parts:
        result = part if result is None else step.run(run, (result, part))[0]
    assert result is not None
    return result
