"""The specification itself, one element at a time on Python integers: the scalar face of each op's kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.conformance.comparing.op_case import Task
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.interp.run.executor import Elementwise
from halfulp.interp.values.value import element_width
from halfulp.semantics.kernel import Codes, Fault, FaultKind
from halfulp.semantics.profile import SEMANTICS_VERSION

_STATUS = {FaultKind.POISON: Status.POISON, FaultKind.UNDEFINED: Status.TRAP}


class Exact:
    """``scalar.py`` and its like: what the array kernels are checked against."""

    name = "exact"
    profile = "spec"

    def __init__(self) -> None:
        self.version = str(SEMANTICS_VERSION)

    def refuses(self, task: Task) -> str | None:
        """Quantised types along an axis have no scalar face, nor has what is no elementwise op."""
        if not isinstance(task.definition.evaluate, Elementwise):
            return f"{task.op} has no kernel for one element"
        along = any(type_.startswith("!quant") and "{" in type_ for type_ in (*task.operands, *task.results))
        return "a quantised type with parameters along an axis has no scalar form" if along else None

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Element by element."""
        shape = task.shape(inputs)
        scalar = task.kernel(shape).scalar
        columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, task.operand_widths, strict=True)]
        rows: list[tuple[int, ...]] = []
        status = []
        for operands in zip(*columns, strict=True):
            result = scalar(*operands)
            if isinstance(result, Fault):
                status.append(_STATUS[result.kind])
                rows.append((0,) * len(task.results))
            else:
                status.append(Status.VALUE)
                rows.append(result if isinstance(result, tuple) else (result,))
        widths = [element_width(type_) or 0 for type_ in task.result_types]
        statuses = np.array(status, np.uint8).reshape(shape)
        return tuple(
            Answer(ints_to_codes([row[k] for row in rows], width, shape), statuses) for k, width in enumerate(widths)
        )
