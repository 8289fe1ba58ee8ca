"""Kernels: the meaning of an op on codes, without any IR.

A kernel exists for concrete element types, attributes and profile. It has implementations that must agree:

- ``scalar`` is the specification, or a quicker function that is tested to be equal. It takes Python integers and
  returns one Python integer (a tuple of them for several results), or a `Fault` if the result is poison or the op is
  undefined for these operands.
- ``array`` does the same for arrays of codes (see below) and reports faults as masks.
- ``words``, which not every kernel has, describes it for a compiler (`halfulp.fp_formats.paths.words`); it refuses the
  elements that have a fault.
- ``real``, which not every kernel has, says what the op means on real numbers (`halfulp.semantics.meanings`).

Codes are raw bit patterns, always unsigned, in the smallest of uint8/16/32/64 that holds the width; wider elements have
one more trailing axis of uint64 limbs, least significant first. Masks are bool arrays of the element shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, Mask, ints_to_codes
from halfulp.fp_formats.paths.words import Implementation
from halfulp.semantics.meanings import Meaning
from halfulp.semantics.poison import PoisonIds, merged_ids


class FaultKind(Enum):
    """The effect of a fault: it spoils the result (poison), or the whole execution (undefined behaviour)."""

    POISON = "poison"
    UNDEFINED = "undefined behaviour"


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why an element has no value: ``reason`` completes "poison because ...", and is the same for every
    element.
    """

    kind: FaultKind
    reason: str


def poison(reason: str) -> Fault:
    """Return a fault that makes the element poison."""
    return Fault(FaultKind.POISON, reason)


def undefined(reason: str) -> Fault:
    """Return a fault that makes executing the op undefined behaviour."""
    return Fault(FaultKind.UNDEFINED, reason)


Scalar = int | tuple[int, ...] | Fault


@dataclass(slots=True)
class Outcome:
    """The results of an array kernel. ``faults`` pairs each fault with the mask of its elements, which is never all
    False.

    Where masks overlap, the first fault is the element's. Elements with a fault hold any valid code.
    """

    results: tuple[Codes, ...]
    faults: tuple[tuple[Fault, Mask], ...] = ()


class Open(Enum):
    """The ways in which the language leaves a result unspecified: the bits of the `open` mask of a value."""

    NAN = 1  # any NaN is right
    SIGN = 2  # either zero, or either infinity, is right
    VALUE = 4  # any value may be right: differences are reported separately, with their distance


ArrayImplementation = Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One op for concrete element types.

    ``worst``: one code per operand, which stands for a poison operand of an op that can be undefined. Poison may be any
    value, so the op is undefined on it exactly if it is undefined for the worst value: 0 for a divisor, INT_MIN for a
    signed dividend.
    ``open``: from operand codes and result codes, a uint8 mask of `Open` bits: results that the language leaves
    unspecified. None where every result is specified.
    ``opens``: all bits that such a mask may have.
    ``faults``: every fault that an element may have, in order of precedence; empty for an op that is total.
    ``words``: see above; None where codes have more than 64 bits or no description is known.
    ``flags``: from operand codes, the exception flags of `halfulp.fp_formats.policy.Flags` as uint8; None for an op
    that raises none, or whose flags are not known.
    ``flagged``: the `scalar` implementation with these flags beside its result, from the specification; quicker than an
    array of one. None where there is no such function.
    ``notice``: from operand codes, what the op does to them that users may not expect, or None. The op then runs on
    values alone, never as machine code.
    ``real``: see above; one for each result if these are several. None where that is not known.
    """

    scalar: Callable[..., Scalar]
    array: ArrayImplementation
    worst: tuple[int, ...] | None = None
    open: Callable[[tuple[Codes, ...], tuple[Codes, ...]], npt.NDArray[np.uint8] | None] | None = None
    opens: int = 0
    faults: tuple[Fault, ...] = ()
    flags: Callable[..., npt.NDArray[np.uint8]] | None = None
    flagged: Callable[..., tuple[Scalar, int]] | None = None
    words: Implementation | None = None
    notice: Callable[..., str | None] | None = None
    real: Meaning | tuple[Meaning, ...] | None = None

    def raised(self, *codes: Codes) -> npt.NDArray[np.uint8]:
        """Return the exception flags of operand codes, of a kernel that has them."""
        assert self.flags is not None
        if self.flagged is not None and not any(code.ndim for code in codes):
            return np.array(self.flagged(*map(int, codes))[1], np.uint8)  # quicker than an array of one
        return self.flags(*codes)

    def given(self, *last: Any) -> Kernel:
        """Return the kernel of an op whose last operands are these, where ``worst`` and ``open`` are not about them."""

        def with_last(implementation: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *codes: implementation(*codes, *last)

        return replace(
            self,
            scalar=with_last(self.scalar),
            array=with_last(self.array),
            flags=None if self.flags is None else with_last(self.flags),
            flagged=None if self.flagged is None else with_last(self.flagged),
        )

    def meaning(self, result: int = 0) -> Meaning | None:
        """Return what a result means on real numbers, None where that is not known."""
        return self.real[result] if isinstance(self.real, tuple) else self.real


def faults_of(pairs: Iterable[tuple[Fault, Mask | None]]) -> tuple[tuple[Fault, Mask], ...]:
    """Drop the masks that are absent or all False."""
    return tuple((fault, mask) for fault, mask in pairs if mask is not None and mask.any())


class Applied(NamedTuple):
    """The results of a kernel for operands with poison."""

    #: The codes that the kernel got.
    operands: tuple[Codes, ...]
    #: The codes of each result, of no meaning where an element is poison or has a fault.
    results: tuple[Codes, ...]
    #: The poison of the operands, merged; None where there is none.
    poison: PoisonIds | None
    #: The faults of the kernel, also those of poisoned elements.
    faults: tuple[tuple[Fault, Mask], ...]


def apply(
    kernel: Kernel,
    codes: tuple[Codes, ...],
    poison: Sequence[PoisonIds | None],
    shape: tuple[int, ...],
    array: ArrayImplementation | None = None,
) -> Applied:
    """Apply a kernel to operands of which some elements may be poison, whose axes are aligned to ``shape``.

    Poison may be any value: a kernel that can be undefined gets its worst value in place of poison. ``array``: what to
    call in place of the kernel's own array code.
    """
    ids = merged_ids(poison, shape) if any(each is not None for each in poison) else None
    if ids is not None and kernel.worst is not None:
        codes = tuple(
            [
                bits if own is None else _with_worst(bits, own, worst, shape)
                for bits, own, worst in zip(codes, poison, kernel.worst, strict=True)
            ]
        )
    outcome = (array or kernel.array)(*codes)
    return Applied(codes, outcome.results, ids, outcome.faults)


def _with_worst(bits: Codes, ids: PoisonIds, worst: int, shape: tuple[int, ...]) -> Codes:
    """Return the codes of an operand with the worst value in place of poison."""
    limbs = bits.shape[len(shape) :]
    code = ints_to_codes([worst], 64 * limbs[0] if limbs else 8 * bits.dtype.itemsize, ())
    spoiled = ids != 0
    return np.where(spoiled.reshape((1,) * (len(shape) - ids.ndim) + ids.shape + (1,) * len(limbs)), code, bits)
