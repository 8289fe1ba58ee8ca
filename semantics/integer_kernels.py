"""What the kernels of integer ops are made of: readings of codes as numbers, and implementations for widths of any
size.

A code ``a`` is read as a number in one of two ways: unsigned, ``a`` itself, or two's complement, ``(a ^ sign) - sign``
with the sign bit's weight ``sign``. With ``sign = 0`` the second formula gives the first, so that signed and unsigned
ops share one definition (`Reading`).

Above 64 bits, the array implementation maps the scalar implementation over the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import (
    LIMB_BITS,
    Codes,
    Mask,
    code_shape,
    codes_to_ints,
    element_shape,
    ints_to_codes,
)
from halfulp.fp_formats.paths.words import Implementation
from halfulp.semantics.kernel import Fault, Kernel, Outcome, Scalar, faults_of
from halfulp.semantics.meanings import Meaning

Values = npt.NDArray[Any]
"""The numbers of codes: the codes themselves, or a signed array of the same item size."""

Faults = Iterable[tuple[Fault, Mask]]
ArrayImplementation = Callable[..., tuple[tuple[Codes, ...], Faults]]
"""An op on code arrays of rank 1 or more: its results, and its faults in order of precedence. A mask may be all False,
and smaller than the results if it broadcasts to them.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of codes of ``width`` bits as numbers: two's complement if ``signed``, else the codes themselves."""

    width: int
    signed: bool

    @property
    def sign(self) -> int:
        """The sign bit, 0 if there is none: ``(code ^ sign) - sign`` is the number."""
        return (1 << self.width) >> 1 if self.signed else 0

    @property
    def low(self) -> int:
        """The least number."""
        return -self.sign

    @property
    def high(self) -> int:
        """The greatest number."""
        return mask_of(self.width) >> self.signed

    def values(self, codes: Codes) -> Values:
        """Return the numbers of an array of codes; it may be that array itself."""
        if not self.signed:
            return codes
        spare = 8 * codes.itemsize - self.width
        values = codes.view(f"i{codes.itemsize}")
        return (values << spare) >> spare if spare else values


def mask_of(width: int) -> int:
    """Return the largest code of a width, in which all bits are set."""
    return (1 << width) - 1


def wrap(width: int, values: Values) -> Codes:
    """Return the codes of numbers modulo a power of two. Overwrites ``values``, which must be a temporary."""
    codes: Codes = values.view(f"u{values.itemsize}")
    if width != 8 * codes.itemsize:
        codes &= mask_of(width)
    return codes


def integer_kernel(
    operands: tuple[int, ...],
    results: tuple[int, ...],
    scalar: Callable[..., Scalar],
    array: ArrayImplementation,
    faults: tuple[Fault, ...] = (),
    worst: tuple[int, ...] | None = None,
    words: Implementation | None = None,
    real: Meaning | tuple[Meaning, ...] | None = None,
) -> Kernel:
    """Return the kernel of an op with these operand and result widths."""
    wide = max(operands + results) > LIMB_BITS
    described = words if min(operands + results) and not wide else None
    implementation = _mapped(operands, results, scalar) if wide else _ranked(array)
    return Kernel(scalar, implementation, worst, faults=faults, words=described, real=real)


def mapped_kernel(
    operands: tuple[int, ...],
    results: tuple[int, ...],
    scalar: Callable[..., Scalar],
    faults: tuple[Fault, ...] = (),
    worst: tuple[int, ...] | None = None,
) -> Kernel:
    """Return the kernel of an op that is rare on arrays: its specification, mapped over the elements."""
    return Kernel(scalar, _mapped(operands, results, scalar), worst, faults=faults)


def _ranked(array: ArrayImplementation) -> Callable[..., Outcome]:
    """Extend an array implementation to rank 0, where NumPy would compute on scalars and warn that they wrap around."""

    def implementation(*operands: Codes) -> Outcome:
        results, faults = array(*(codes if codes.ndim else codes.reshape(1) for codes in operands))
        whole = results[0].shape
        shape = whole if any(codes.ndim for codes in operands) else ()
        masks = ((fault, np.broadcast_to(mask, whole).reshape(shape)) for fault, mask in faults)
        return Outcome(tuple(codes.reshape(shape) for codes in results), faults_of(masks))

    return implementation


def _mapped(
    operand_widths: tuple[int, ...], result_widths: tuple[int, ...], scalar: Callable[..., Scalar]
) -> Callable[..., Outcome]:
    """Return an array implementation that calls the scalar implementation for each element."""

    def implementation(*operands: Codes) -> Outcome:
        pairs = tuple(zip(operands, operand_widths, strict=True))
        shape = np.broadcast_shapes(*(element_shape(codes, width) for codes, width in pairs))
        columns = (codes_to_ints(np.broadcast_to(codes, code_shape(shape, width)), width) for codes, width in pairs)
        rows: list[tuple[int, ...]] = []
        faults: dict[Fault, Mask] = {}
        for at, element in enumerate(map(scalar, *columns)):
            if isinstance(element, Fault):
                faults.setdefault(element, np.zeros(shape, dtype=np.bool_)).flat[at] = True
                rows.append((0,) * len(result_widths))
            else:
                rows.append(element if isinstance(element, tuple) else (element,))
        results = (ints_to_codes([row[at] for row in rows], width, shape) for at, width in enumerate(result_widths))
        return Outcome(tuple(results), tuple(faults.items()))

    return implementation
