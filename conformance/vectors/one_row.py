"""Compute one row at a time, as a test bench asks for it: on Python integers, not on arrays of one element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from halfulp.conformance.vectors import quantised
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.interp.run.evaluators import Elementwise
from halfulp.semantics.kernel import Fault, FaultKind


class OneRow(NamedTuple):
    """The codes of the output columns of one row. ``undefined``: the row has undefined behaviour."""

    outputs: tuple[int, ...]
    undefined: bool = False


OneRowFunction = Callable[[Sequence[int]], OneRow]
"""A function of the codes of the input columns of one row."""


def one_row_function(computation: Computation) -> OneRowFunction:
    """Return the function that computes a row alone, with the results of `Computation.compute`. A result that is poison
    may have any code.
    """
    quick = _scalar_function(computation) if isinstance(computation, OpComputation) else None
    return quick or (lambda codes: _of_arrays(computation, codes))


def _of_arrays(computation: Computation, codes: Sequence[int]) -> OneRow:
    inputs = tuple(
        ints_to_codes([code], column.width, (1,)) for code, column in zip(codes, computation.inputs, strict=True)
    )
    made = computation.compute(inputs)
    outputs = tuple(
        codes_to_ints(array, column.width)[0] for array, column in zip(made.outputs, computation.outputs, strict=True)
    )
    return OneRow(outputs, made.undefined is not None and bool(made.undefined[0]))


def _scalar_function(computation: OpComputation) -> OneRowFunction | None:
    """Return the function by the scalar implementation of the op's kernel; None where an output needs arrays."""
    case, columns = computation.case, computation.outputs
    if computation.random_bits is not None or quantised.period(case) > 1 or quantised.has_blocks(case):
        return None
    if not isinstance(case.definition.evaluate, Elementwise) or any(column.role is Role.OPEN for column in columns):
        return None
    kernel = case.kernel((1,), computation.profile)
    has_flags = any(column.role is Role.FLAGS for column in columns)
    if has_flags and kernel.flagged is None:
        return None
    implementation = kernel.flagged if has_flags else None
    results = sum(column.role is Role.RESULT for column in columns)
    others = [column.role for column in columns[results:]]
    scalar = kernel.scalar

    def function(codes: Sequence[int]) -> OneRow:
        made, raised = (scalar(*codes), 0) if implementation is None else implementation(*codes)
        undefined = isinstance(made, Fault) and made.kind is FaultKind.UNDEFINED
        poison = isinstance(made, Fault) and (not undefined or computation.keep_ub)
        found = (0,) * results if isinstance(made, Fault) else made if isinstance(made, tuple) else (made,)
        if not others:
            return OneRow(found, undefined)
        marks = (raised if role is Role.FLAGS else int(poison) for role in others)
        return OneRow((*found, *marks), undefined)

    return function
