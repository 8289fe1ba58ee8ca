"""Find integers that are not those of exact arithmetic, because an op left the range of its type and wrapped.

The type of an integer does not say how its bits are read. So both readings go along: whether the number is the exact
one if all integers are signed, and if all are unsigned. An op that reads in one way needs that one. For sums, products
and bitwise ops both readings are the same, and each of the result follows from that of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.codes import Codes
from halfulp.semantics.kernel import Fault, Kernel
from halfulp.semantics.meanings import Integral, Meaning


class Apart(NamedTuple):
    """Where integers are not the exact ones, read as signed and as unsigned numbers: masks, or truth values of one."""

    signed: Any
    unsigned: Any

    def misread(self, signed: bool | None) -> Any:
        """Tell where an op does not read the exact integer. ``signed``: see `Integral`."""
        return self.signed & self.unsigned if signed is None else self.signed if signed else self.unsigned


def joined(parts: Sequence[Apart]) -> Apart:
    """Return where any of several operands, or the op itself, is apart."""
    return Apart(*(np.logical_or.reduce(np.broadcast_arrays(*masks)) for masks in zip(*parts, strict=True)))


def _strict(meaning: Meaning | None) -> tuple[Kernel, ...]:
    return meaning.strict_kernels if isinstance(meaning, Integral) else ()


def wrapped(meaning: Meaning | None, codes: Sequence[Codes]) -> Apart | None:
    """Return where an op on codes wraps; None if it nowhere does."""
    faults = [[mask for _, mask in kernel.array(*codes).faults] for kernel in _strict(meaning)]
    if not any(faults):
        return None
    nowhere = np.zeros((), np.bool_)
    return Apart(*(np.logical_or.reduce(masks) if masks else nowhere for masks in faults))


def wraps(meaning: Meaning | None, codes: Sequence[int]) -> tuple[bool, bool]:
    """Tell whether an op on one code for each operand wraps, of signed and of unsigned numbers."""
    found = [isinstance(kernel.scalar(*codes), Fault) for kernel in _strict(meaning)]
    return (found[0], found[1]) if found else (False, False)


def reading_of(meaning: Meaning | None) -> bool | None:
    """Tell how an op reads integers; see `Integral`."""
    return meaning.signed if isinstance(meaning, Integral) else None
