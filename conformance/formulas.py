"""What tools return where no profile says it: a function per oddity, named by the rows of divergences.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from halfulp.conformance.task import Reference, Task
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.codes import codes_to_ints, ints_to_codes
from halfulp.semantics.kernel import Codes

Formula = Callable[[Task, Sequence[Codes], Reference], Reference]
"""From a task, its operands and what is right to what the tool returns; equal to the latter where it is right."""


def negated_f80(task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
    """Negation that rewrites the exponent field of f80 codes that are not canonical."""
    f80 = FORMATS["f80"]

    def negated(code: int) -> int:
        field, significand = code >> 64 & 0x7FFF, code & (1 << 64) - 1
        if f80.is_invalid(code):
            field = 0x7FFF
        elif not field and significand >> 63:
            field = 1
        return (code >> 79 ^ 1) << 79 | field << 64 | significand

    codes = [negated(code) for code in codes_to_ints(inputs[0], f80.bits)]
    return Reference((ints_to_codes(codes, f80.bits, task.shape(inputs)),))


FORMULAS: Mapping[str, Formula] = {"negated_f80": negated_f80}
