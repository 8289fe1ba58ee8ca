"""Ask the specification itself, one element at a time on Python integers: the scalar implementation of each op's
kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.codes import Codes, codes_to_ints, ints_to_codes
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.semantics.kernel import Fault, FaultKind
from halfulp.semantics.profile import SEMANTICS_VERSION

_STATUS = {FaultKind.POISON: Status.POISON, FaultKind.UNDEFINED: Status.TRAP}


class ExactOracle:
    """The scalar functions of the specification, against which the array kernels are checked."""

    name = "exact"
    profile = "spec"

    def __init__(self) -> None:
        self.version = str(SEMANTICS_VERSION)

    def refuses(self, case: OpCase) -> str | None:
        """Refuse ops that are not elementwise, and types quantised along an axis: no scalar implementation has them."""
        if not isinstance(case.definition.evaluate, Elementwise):
            return f"{case.op} has no kernel for one element"
        along = any(type_.startswith("!quant") and "{" in type_ for type_ in (*case.operands, *case.results))
        return "a quantised type with parameters along an axis has no scalar form" if along else None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute element by element."""
        shape = case.shape(inputs)
        scalar = case.kernel(shape).scalar
        columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, case.operand_widths, strict=True)]
        rows: list[tuple[int, ...]] = []
        status = []
        for operands in zip(*columns, strict=True):
            result = scalar(*operands)
            if isinstance(result, Fault):
                status.append(_STATUS[result.kind])
                rows.append((0,) * len(case.results))
            else:
                status.append(Status.VALUE)
                rows.append(result if isinstance(result, tuple) else (result,))
        widths = [width_of(type_) for type_ in case.result_types]
        statuses = np.array(status, np.uint8).reshape(shape)
        return tuple(
            Answer(ints_to_codes([row[k] for row in rows], width, shape), statuses) for k, width in enumerate(widths)
        )
