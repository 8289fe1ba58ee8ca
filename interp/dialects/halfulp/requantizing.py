"""halfulp.requantize: integers to narrower integers, by the rules of libraries."""

from __future__ import annotations

import numpy as np

from halfulp.fp_formats.codes import Codes, storage_dtype
from halfulp.fp_formats.suggestions import did_you_mean, with_hint
from halfulp.interp.dialects.elementwise import element_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import Kernel, Outcome, Scalar, faults_of, undefined
from halfulp.semantics.requantization import RULES, Integers, Target, faults, requantized
from halfulp.semantics.requantization_words import requantization_words

_MOST_BITS = 48
_ZERO_POINTS = 1 << 31


def verify(op: Operation) -> str | None:
    """Return what is wrong with an op, or None."""
    rule = _rule(op)
    if rule not in RULES:
        return with_hint(f"rule is '{rule}', but must be one of {', '.join(RULES)}", did_you_mean(rule, RULES))
    for value, name in zip(op.operands, ("input", "multiplier", "shift"), strict=True):
        if not 1 <= ty.width_of(element_of(value)) <= _MOST_BITS:
            return f"takes integers of 1 to {_MOST_BITS} bits, but the {name} has '{element_of(value)}'"
    if not 1 <= ty.width_of(element_of(op.results[0])) <= 32:
        return f"makes integers of 1 to 32 bits, not '{element_of(op.results[0])}'"
    for name in ("input_zero_point", "output_zero_point"):
        if not -_ZERO_POINTS <= _integer(op, name) < _ZERO_POINTS:
            return f"{name} is {_integer(op, name)}, but must be a number of i32"
    return None


def _rule(op: Operation) -> str:
    rule = op.properties["rule"]
    assert isinstance(rule, at.StringAttr)
    return rule.value


def _integer(op: Operation, name: str) -> int:
    attribute = op.properties.get(name)
    return attribute.value if isinstance(attribute, at.IntegerAttr) else 0


def _build(op: Operation, settings: Settings) -> Kernel:
    rule = RULES[_rule(op)]
    kinds = tuple([undefined(reason) for reason in faults(rule)])
    widths = [ty.width_of(element_of(value)) for value in op.operands]
    width = ty.width_of(element_of(op.results[0]))
    target = Target(
        width, "unsigned" not in op.properties, _integer(op, "input_zero_point"), _integer(op, "output_zero_point")
    )

    def array(*codes: Codes) -> Outcome:
        x, multiplier, shift = np.broadcast_arrays(
            *[_signed(each, bits) for each, bits in zip(codes, widths, strict=True)]
        )
        found, wrong = requantized(rule, x, multiplier, shift, target)
        result = (found & (1 << width) - 1).astype(storage_dtype(width))
        return Outcome((result,), faults_of(zip(kinds, wrong, strict=True)))

    def scalar(*codes: int) -> Scalar:
        outcome = array(*[np.array([code], np.uint64) for code in codes])
        return outcome.faults[0][0] if outcome.faults else int(outcome.results[0][0])

    return Kernel(scalar, array, faults=kinds, words=requantization_words(_rule(op), target))


def _signed(codes: Codes, width: int) -> Integers:
    """Return codes as signed numbers."""
    half = 1 << width - 1
    return (codes.astype(np.int64) ^ half) - half


REQUANTIZE = Elementwise(_build, may_be_scalar=frozenset({1, 2}))
"""The evaluator of the op."""
