"""The compiler of kernels: ops of arith and math in TTGIR are computed by the instructions of the target."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.triton import casts
from halfulp.interp.dialects.triton.contraction import Contraction, Fused, Product, fused_evaluator
from halfulp.interp.dialects.triton.targets import Target, target_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run import evaluators
from halfulp.interp.run.compiler import FunctionCompiler
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel, Open

_OPEN = np.uint8(Open.VALUE.value)


def opened(value: Value, settings: Settings) -> Value:
    """Return a value whose elements are marked as not determined, in a run that keeps these marks."""
    if not settings.track_open:
        return value
    return Value(value.type, value.bits, value.poison, np.full(value.shape, _OPEN), value.origins)


class KernelCompiler(FunctionCompiler):
    """Compiles a function of a kernel for the target that its module names; without one it computes the ops alone."""

    by_machine = False
    together = False
    """Whether programs run together, as lanes of a batch."""

    @cached_property
    def target(self) -> Target | None:
        """The target of the module. Raises Unsupported for one that is not known."""
        return target_of(self.function)

    @cached_property
    def contraction(self) -> Contraction | None:
        """What LLVM fuses in the function; None if it fuses nothing."""
        if self.target is None or self.settings.fp_fusion == "off":
            return None
        return Contraction(self.function, self.target)

    @cached_property
    def _evaluators(self) -> dict[Operation, Any]:
        return {}

    @cached_property
    def _opened(self) -> dict[Any, Any]:
        return {}

    def evaluator(self, op: Operation) -> Any:
        """Return the evaluator of an op for the target."""
        if op not in self._evaluators:
            self._evaluators[op] = self._chosen(op)
        return self._evaluators[op]

    def _chosen(self, op: Operation) -> Any:
        plain = evaluators.evaluator_of(op)
        target = self.target
        if target is None or not isinstance(plain, evaluators.Elementwise):
            return plain
        if op.name in ("arith.addf", "arith.subf") and self.contraction is not None:
            found = self.contraction.fused(op)
            if found is not None:
                return fused_evaluator(found, self._mark(found))
            if self.contraction.may_take_another(op):
                return self._approximate(op, plain)
        if op.name == "arith.truncf":
            return casts.FP_TO_FP
        if op.name in target.approximate and isinstance(ty.element_type(op.operands[0].type), ty.FloatType):
            return self._approximate(op, plain)
        return plain

    def _mark(self, found: Fused) -> Any:
        return (lambda value: value) if found.sure else lambda value: opened(value, self.settings)

    def _approximate(self, op: Operation, plain: evaluators.Elementwise) -> Any:
        """Return the evaluator of an op whose bits are not known: the value rounded correctly, marked as open."""
        if op.name == "math.exp" and ty.element_type(op.results[0].type) == ty.F("f32"):
            return evaluators.OnValues(_power_of_two, in_lanes=_power_of_two)
        if plain not in self._opened:

            def build(op: Operation, settings: Settings) -> Kernel:
                kernel = plain.build(op, settings)
                return kernel.opened() if settings.track_open else kernel

            self._opened[plain] = evaluators.Elementwise(build, plain.may_be_scalar, surroundings=plain.surroundings)
        return self._opened[plain]

    # --- reductions ---

    def product_of(self, op: Operation) -> Product | None:
        """Return the product that a sum of one operand takes into its first additions; None if it takes none."""
        if self.contraction is None or len(op.operands) != 1 or inner_op(op) != "addf":
            return None
        return self.contraction.product(op.operands[0], op)

    def hides(self, product: Product) -> bool:
        """Tell whether it is not known which products the first additions of a sum take, or whether they are hidden."""
        assert self.contraction is not None
        assert self.target is not None
        first, second = product.factors
        # For AMD this depends on whether LLVM made a vector of them, which it does with squares.
        known = not product.negative and (self.target.is_cuda or first is second)
        return not known or self.contraction.hidden(product)

    def _read(self, op: Operation, evaluator: Any) -> Sequence[SSAValue]:
        values = super()._read(op, evaluator)
        product = self.product_of(op) if op.name == "tt.reduce" else None
        return values if product is None else [*values, *product.factors]


def inner_op(op: Operation) -> str:
    """Return the mnemonic of the op of arith that combines an accumulator with an element; "" for any other region."""
    block = op.regions[0].blocks[0]
    if len(block.operations) != 2:
        return ""
    inner, last = block.operations
    same = list(inner.operands) == list(block.arguments) and list(last.operands) == list(inner.results)
    return inner.name.removeprefix("arith.") if same and inner.name.startswith("arith.") else ""


_LOG2_E = 0x3FB8AA3B
"""log2(e) in f32."""


def _power_of_two(op: Operation, settings: Settings) -> Any:
    """Return the function of exp: 2 to the power of the product with log2(e), which is rounded."""
    type_ = op.results[0].type
    product, power = (
        elementwise_step(op, name, types, type_, settings)
        for name, types in (("arith.mulf", (type_, type_)), ("math.exp2", (type_,)))
    )

    def exp(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
        (value,) = operands
        factor = Value(type_, np.full(value.shape, _LOG2_E, value.bits.dtype))
        (scaled,) = product.run(run, (value, factor))
        (found,) = power.run(run, (scaled,))
        return (opened(found, settings),)

    return exp
