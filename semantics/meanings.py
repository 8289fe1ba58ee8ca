"""What ops mean on real numbers: data, which `halfulp.semantics.judging` reads.

A kernel computes with codes. Beside it stands its meaning: the function of real numbers that it rounds, or the question
about real numbers that it answers. An op whose kernel has no meaning gives numbers of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding


@dataclass(frozen=True, slots=True)
class Integer:
    """The integers of a type, as operands or as a result."""

    width: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Quantized:
    """Stored integers that stand for real numbers: (stored - zero point) * scale.

    ``parameters``: from the shape of an array of codes, the scales and the zero points as f64 arrays that broadcast to
    it.
    """

    stored: Integer
    parameters: Callable[[tuple[int, ...]], tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


Numbers = FloatFormat | Integer | Quantized
"""The way in which codes are numbers."""


@dataclass(frozen=True, slots=True)
class Computes:
    """A function of real numbers, rounded. ``rule``: a key of `halfulp.semantics.shadows.RULES`."""

    rule: str
    operands: tuple[Numbers, ...]
    result: FloatFormat | Quantized


IDENTITIES: Mapping[str, float] = {"maximum number": -inf, "minimum number": inf}
"""The rules of functions that pass over a NaN, and the number that does not change their results. It stands for the
NaNs that programs spell, as the first operand of a reduction for example.
"""


@dataclass(frozen=True, slots=True)
class Compares:
    """A comparison of two numbers. ``predicate``: that of arith.cmpf, as MLIR numbers them."""

    predicate: int
    operand: FloatFormat


@dataclass(frozen=True, slots=True)
class ToInteger:
    """A conversion of a number to an integer, rounded in a direction."""

    operand: FloatFormat
    result: Integer
    rounding: Rounding


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored integer of a quantised number: the exact run has the nearest one to its own number."""

    operand: Quantized


@dataclass(frozen=True, slots=True)
class Reinterprets:
    """A bit cast: the same bits, read as a value of another type."""


@dataclass(frozen=True)
class Integral:
    """A function of integers whose result is cut to the bits of its type. ``signed``: how it reads its operands; None
    where it makes no difference.

    ``strict``: makes the kernel of the same op with the flag ``nsw`` or ``nuw``: it has a fault where the type does not
    hold the exact result of signed, or of unsigned operands. None for an op whose exact results the type always holds.
    """

    signed: bool | None = None
    strict: Callable[..., Any] | None = None

    @cached_property
    def strict_kernels(self) -> tuple[Any, ...]:
        """The strict kernels, of signed numbers and of unsigned ones; none where the type holds all results."""
        return () if self.strict is None else (self.strict(nsw=True), self.strict(nuw=True))


Meaning = Computes | Compares | ToInteger | Stored | Reinterprets | Integral


def same_kind(rule: str, fmt: FloatFormat, operands: int) -> Computes:
    """Return the meaning of a function whose operands and result have one format."""
    return Computes(rule, (fmt,) * operands, fmt)
