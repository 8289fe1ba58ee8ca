"""One op for concrete element types and properties. The reference computes such a case, and oracles are
asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import Codes, Mask, element_shape
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.build import property_of, single_op_module
from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Elementwise, PerOp, evaluator_of
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import FaultKind, Kernel
from halfulp.semantics.profile import SPEC, Profile

Properties = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class OpCase:
    """One op for concrete element types. `op_case` makes it, and checks that the op accepts the types.

    ``operands``, ``results``: element types as MLIR spells them. ``properties``: keywords with their values, as in
    ``(("predicate", "slt"),)``. The operands of a case are arrays of codes of one element shape; a quantised type along
    an axis needs its number of channels there.
    """

    op: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    properties: Properties = ()

    @cached_property
    def definition(self) -> OpDefinition:
        """The declaration of the op."""
        return default_registry().require(self.op)

    @cached_property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """The element types of the operands."""
        return tuple(as_type(spelling) for spelling in self.operands)

    @cached_property
    def result_types(self) -> tuple[ty.Type, ...]:
        """The element types of the results."""
        return tuple(as_type(spelling) for spelling in self.results)

    @property
    def operand_widths(self) -> tuple[int, ...]:
        """The widths of the operands' codes in bits."""
        return tuple(width_of(type_) for type_ in self.operand_types)

    @property
    def is_along_an_axis(self) -> bool:
        """Whether a type is quantised with parameters along an axis."""
        return any(type_.startswith("!quant") and "{" in type_ for type_ in (*self.operands, *self.results))

    @property
    def rounding(self) -> Rounding:
        """The rounding mode; to nearest even for an op without one."""
        properties = dict(self.properties)
        spelled = properties.get("rounding", properties.get("roundingmode"))
        return next((mode for mode in Rounding if mode.spelling == spelled), Rounding.TO_NEAREST_EVEN)

    def unwritten(self) -> str | None:
        """Return why no MLIR text can express this op with these properties: it is a function without an op, or the op
        has no attribute for its rounding mode. None if a text can.
        """
        if "." not in self.definition.name:
            return f"MLIR has no op for {self.op}"
        chosen = [name for name, _ in self.properties if property_of(self.definition, name) in self.definition.choices]
        usual = Rounding.TO_NEAREST_EVEN.spelling
        if any(value != usual for name, value in self.properties if name in chosen):
            return f"{self.op} has no {chosen[0]} in MLIR"
        return None

    def module(self, shape: Sequence[int] | None) -> Module:
        """Return a module whose function ``@eval`` applies the op to tensors of that shape, or to scalars (None)."""
        return single_op_module(
            self.definition,
            [type_ if shape is None else ty.TensorType(tuple(shape), type_) for type_ in self.operand_types],
            dict(self.properties),
            self.result_types[0],
        )

    def operation(self, shape: Sequence[int] | None) -> Operation:
        """Return the op itself, in such a module."""
        return self.module(shape).body[0].regions[0].blocks[0].operations[0]

    @cached_property
    def evaluator(self) -> Any:
        """The way in which the op runs on tensors of equal shapes."""
        if not isinstance(self.definition.evaluate, PerOp):
            return self.definition.evaluate
        return evaluator_of(self.operation(container_shape((*self.operand_types, *self.result_types), 1)))

    def kernel(self, shape: Sequence[int], profile: Profile = SPEC) -> Kernel:
        """Return the op's kernel under a profile. Raises Unsupported for an op that is not elementwise."""
        return _kernel(self, tuple(shape), profile)

    def shape(self, inputs: Sequence[Codes]) -> tuple[int, ...]:
        """Return the element shape of these operands, given as codes."""
        return element_shape(inputs[0], self.operand_widths[0])

    def values(self, inputs: Sequence[Codes]) -> tuple[Value, ...]:
        """Return the operands as tensors."""
        shape = self.shape(inputs)
        return tuple(
            Value(ty.TensorType(shape, type_), codes) for type_, codes in zip(self.operand_types, inputs, strict=True)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Without cached properties: a declaration holds functions that cannot be pickled.
        return OpCase, (self.op, self.operands, self.results, self.properties)

    def __str__(self) -> str:
        """Return the text of the case: ``arith.truncf bf16 -> f8E4M3FN rounding=upward``. Operands of one type are
        named once.
        """
        operands = self.operands[:1] if len(set(self.operands)) == 1 else self.operands
        results = () if self.results[:1] == operands else self.results
        words = [self.op, ", ".join(operands), *(["->", ", ".join(results)] if results else [])]
        return " ".join([*words, *(f"{name}={value}" for name, value in self.properties)])


def op_case(op: str, types: Sequence[str] | str, to: str | None = None, **properties: Any) -> OpCase:
    """Return the case of an op, or of a function by its bare name, on operands of these element types (one for all, or
    one for each).

    ``to``: the element type of the first result, if the operands do not determine it. Raises Unsupported for an unknown
    op, VerifyError and TypeMismatch if the op does not accept the types or properties.
    """
    definition = default_registry().require(op)
    spelled = [types] * len(definition.operands) if isinstance(types, str) else list(types)
    operands = [as_type(spelling) for spelling in spelled]
    result = None if to is None else as_type(to)
    shape = container_shape([*operands, *([] if result is None else [result])], 1)
    tensors = [ty.TensorType(shape, type_) for type_ in operands]
    try:
        module = single_op_module(definition, tensors, properties, result)
    except HalfulpError as error:  # it names the containers, which the caller did not write
        for tensor, type_ in zip(tensors, operands, strict=True):
            error.message = error.message.replace(f"'{tensor}'", f"'{type_}'")
        raise
    applied = module.body[0].regions[0].blocks[0].operations[0]
    return OpCase(
        definition.name,
        tuple(map(str, operands)),
        tuple(str(ty.element_type(value.type)) for value in applied.results),
        tuple(sorted(properties.items())),
    )


def container_shape(types: Sequence[ty.Type], count: int) -> tuple[int, ...]:
    """Return a shape of about ``count`` elements that tensors of all these element types can have.

    The shape has one axis, except for quantised types: channels fill their axis, and parameters per block fix the whole
    shape.
    """
    for type_ in types:
        if isinstance(type_, ty.UniformQuantizedType):
            if type_.block_sizes is not None:
                sizes = dict(type_.block_sizes)
                return tuple(blocks * sizes.get(axis, 1) for axis, blocks in enumerate(type_.parameter_shape))
            if type_.axis is not None:
                rows, channels = max(1, count // len(type_.scales)), len(type_.scales)
                return (*(1,) * (type_.axis - 1), rows, channels) if type_.axis else (channels, rows)
    return (count,)


@lru_cache(maxsize=1024)
def _kernel(case: OpCase, shape: tuple[int, ...], profile: Profile) -> Kernel:
    if not isinstance(case.evaluator, Elementwise):
        raise Unsupported(f"'{case.op}' is not elementwise")
    # Kernels depend on the shape only by parameters along axes. An op of TOSA takes zero points of one element only.
    one = shape if case.is_along_an_axis else (1,) * len(shape)
    return case.evaluator.build(case.operation(one), Settings(profile))


@dataclass(frozen=True)
class Reference:
    """The expected results: codes per result, and masks over the elements (None if no element is set).

    ``poison``: the result is poison. ``undefined``: executing the op is undefined behaviour. ``open``: the unspecified
    elements, a uint8 of `halfulp.semantics.kernel.Open` bits. Only in predictions of a tool: ``trap``: the op stops it;
    ``undetermined``: it gives any bits, which differ from call to call. ``flags``: the exception flags, if they were
    asked for.
    """

    bits: tuple[Codes, ...]
    poison: Mask | None = None
    undefined: Mask | None = None
    open: Any = None
    trap: Mask | None = None
    flags: Codes | None = None
    undetermined: Mask | None = None


def reference(
    case: OpCase, inputs: Sequence[Codes], profile: Profile = SPEC, opened: bool = True, flags: bool = False
) -> Reference:
    """Compute a case's results under a profile, on the array path of the interpreter.

    ``opened``: also return the unspecified elements, which takes longer than many ops. ``flags``: also return the
    exception flags of an op whose kernel has them.
    """
    shape = case.shape(inputs)
    if not isinstance(case.evaluator, Elementwise):
        return _run(case, inputs, profile)
    kernel = case.kernel(shape, profile)
    outcome, raised = kernel.with_flags(*inputs) if flags else (kernel.array(*inputs), None)
    masks: Mapping[FaultKind, list[Mask]] = {kind: [] for kind in FaultKind}
    seen = np.zeros(shape, np.bool_)
    for fault, mask in outcome.faults:
        masks[fault.kind].append(mask & ~seen)
        seen |= mask
    bits = kernel.open(tuple(inputs), outcome.results) if opened and kernel.open is not None else None
    poison, undefined = _together(masks[FaultKind.POISON]), _together(masks[FaultKind.UNDEFINED])
    return Reference(outcome.results, poison, undefined, bits, flags=raised)


def _run(case: OpCase, inputs: Sequence[Codes], profile: Profile) -> Reference:
    """Compute the results of a case with the executor, for an op without a kernel. Such an op has no undefined
    behaviour.
    """
    module = case.module(case.shape(inputs))
    settings = Settings(profile.of_one_op, track_open=True)
    results = program_for(module, settings).run(module.body[0], case.values(inputs))
    poison = [value.poisoned for value in results if value.poison is not None]
    return Reference(tuple(value.bits for value in results), _together(poison), None, results[0].open)


def _together(masks: Sequence[Mask]) -> Mask | None:
    return np.logical_or.reduce(masks) if masks else None
