"""Rows of vectors that are within the bounds of TOSA, although they differ from the expected results."""

from __future__ import annotations

from math import prod

import numpy as np

from halfulp.conformance.comparing.tosa_bounds import check_operator, judged, operands_of, operator_of
from halfulp.conformance.vectors.columns import Chunk, Role
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.fp_formats.formats import Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import result_types
from halfulp.interp.values.value import Value


class TosaRows:
    """The rows of a computation, judged by the rule of its operator.

    Raises Unsupported for a computation that is neither one op of TOSA nor a function with one.
    """

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        if isinstance(computation, OpComputation):
            self._op = computation.case.operation((1,))
            check_operator(self._op)
        elif isinstance(computation, ProgramComputation):
            self._op = operator_of(computation.target)
        else:
            raise Unsupported("TOSA has no bounds for tile operations", hint="leave out bounds=… (--bounds)")

    def within(self, inputs: Chunk, outputs: Chunk, rows: Mask) -> Mask:
        """Tell which of the given rows have results within their bounds; other rows do not."""
        places, found = np.flatnonzero(rows), np.zeros(len(rows), np.bool_)
        inputs, outputs = (tuple(codes[places] for codes in chunk) for chunk in (inputs, outputs))
        computation = self._computation
        if isinstance(computation, OpComputation):
            operands, results = (
                [Value(ty.TensorType((len(places),), type_), codes) for type_, codes in zip(types, chunk, strict=False)]
                for types, chunk in (
                    (computation.operand_types, inputs),
                    (computation.case.result_types, outputs),
                )
            )
            verdicts = judged(self._op, operands, results)
            found[places] = ~np.logical_or.reduce([verdict.wrong for verdict in verdicts])
            return found
        assert isinstance(computation, ProgramComputation)
        for row, place in enumerate(places):
            arguments = computation.arguments(inputs, row)
            operands = operands_of(self._op, computation.target, arguments)
            found[place] = all(each.ok for each in judged(self._op, operands, self._results(outputs, row)))
        return found

    def _results(self, outputs: Chunk, row: int) -> list[Value]:
        computation = narrowed(self._computation, ProgramComputation)
        columns = [
            codes[row] for codes, column in zip(outputs, computation.outputs, strict=True) if column.role is Role.RESULT
        ]
        values, start = [], 0
        for type_ in result_types(computation.target):
            shape = ty.static_shape(type_)
            codes = np.array(columns[start : start + prod(shape)])
            values.append(Value(type_, codes.reshape(shape + codes.shape[1:])))
            start += prod(shape)
        return values
