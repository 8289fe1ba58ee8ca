"""Machine words: a description of an operation on codes that a compiler can turn into instructions.

A description is a Python function of `Word`s. It is called once, when code is made: each operator that it uses asks a
`Machine` for an instruction. So it must not look at values, and it has no branches but `Word.choose`. What it does not
cover, such as NaN, it refuses (`Machine.refuse`); the machine then takes the general way for these elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, FloatFormat

F32, F64 = FORMATS["f32"], FORMATS["f64"]

Held = Any
"""A value inside of a machine."""


class Machine(Protocol):
    """A maker of instructions. Operands and results are what the machine calls its values (`Held`)."""

    def constant(self, code: int, width: int) -> Held:
        """Return a word of ``width`` bits, 1 to 64."""

    def integer(self, name: str, a: Held, b: Held) -> Held:
        """Return an operation on words of one width, modulo 2**width: add, sub, mul, and, or, xor; shl, lshr, ashr by
        less than the width; udiv, sdiv, urem, srem by a divisor that is not 0, without overflow.
        """

    def relation(self, name: str, a: Held, b: Held) -> Held:
        """Return a word of one bit for ==, !=, or the unsigned or signed u<, u<=, s<, s<=."""

    def choose(self, condition: Held, a: Held, b: Held) -> Held:
        """Return ``a`` where the condition, of one bit, is 1, else ``b``: two words of one width, or two reals."""

    def resize(self, a: Held, width: int, signed: bool) -> Held:
        """Return a word cut or extended to another width, by its sign or by zeros."""

    def real(self, code: Held, fmt: FloatFormat) -> Held:
        """Return a code of f32 or f64 as a number."""

    def code(self, number: Held, fmt: FloatFormat) -> Held:
        """Return a number as its code; a NaN has any code that is a NaN."""

    def arithmetic(self, name: str, x: Held, y: Held) -> Held:
        """Return a sum, difference, product or quotient (add, subtract, multiply, divide), to nearest even."""

    def ordered(self, name: str, x: Held, y: Held) -> Held:
        """Return a word of one bit for <, <= or == of numbers; 0 if one is a NaN."""

    def extremum(self, largest: bool, x: Held, y: Held) -> Held:
        """Return the larger or the smaller of two numbers, where -0 < +0. Elements with a NaN are refused."""

    def convert(self, x: Held, fmt: FloatFormat) -> Held:
        """Return a number in f32 or f64, to nearest even."""

    def from_integer(self, a: Held, signed: bool, fmt: FloatFormat) -> Held:
        """Return a word as a number of f32 or f64, to nearest even."""

    def to_integer(self, x: Held, width: int, signed: bool) -> Held:
        """Return a number cut to an integer; any word where the integer has no code of this width."""

    def look_up(self, table: npt.NDArray[Any], index: Held) -> Held:
        """Return the entry of a table of unsigned integers at an index that is inside."""

    def refuse(self, condition: Held) -> None:
        """Leave the elements where the condition holds to the general way; their results may be anything."""

    def refuse_nan(self, x: Held, implying: Sequence[Held]) -> None:
        """Leave the elements where a number is a NaN to the general way, if anything depends on it. ``implying``: other
        numbers that are NaNs only if this one is.
        """


@dataclass(frozen=True, slots=True)
class Word:
    """A code of ``width`` bits, 1 to 64, inside of a machine. Other operands may be Python integers.

    ``known``: the number in f32 of a code of a shorter format, and that format, if the code was made of it.
    """

    machine: Machine
    held: Held
    width: int
    known: tuple[FloatFormat, Real] | None = None

    def of(self, code: int) -> Word:
        """Return a constant of the same width, modulo 2**width."""
        return Word(self.machine, self.machine.constant(code & ((1 << self.width) - 1), self.width), self.width)

    def _with(self, name: str, other: Word | int) -> Word:
        other = self.of(other) if isinstance(other, int) else other
        return Word(self.machine, self.machine.integer(name, self.held, other.held), self.width)

    def __add__(self, other: Word | int) -> Word:
        return self._with("add", other)

    def __sub__(self, other: Word | int) -> Word:
        return self._with("sub", other)

    def __mul__(self, other: Word | int) -> Word:
        return self._with("mul", other)

    def __and__(self, other: Word | int) -> Word:
        return self._with("and", other)

    def __or__(self, other: Word | int) -> Word:
        return self._with("or", other)

    def __xor__(self, other: Word | int) -> Word:
        return self._with("xor", other)

    def __lshift__(self, other: Word | int) -> Word:
        return self._with("shl", other)

    def __invert__(self) -> Word:
        return self ^ -1

    def shift_right(self, other: Word | int, signed: bool = False) -> Word:
        """Move the bits down; copies of the sign bit, or zeros, move in."""
        return self._with("ashr" if signed else "lshr", other)

    def divide(self, other: Word | int, signed: bool) -> Word:
        """Return the quotient, rounded toward zero."""
        return self._with("sdiv" if signed else "udiv", other)

    def remainder(self, other: Word | int, signed: bool) -> Word:
        """Return the remainder of `divide`."""
        return self._with("srem" if signed else "urem", other)

    def _related(self, name: str, other: Word | int) -> Word:
        other = self.of(other) if isinstance(other, int) else other
        return Word(self.machine, self.machine.relation(name, self.held, other.held), 1)

    def equals(self, other: Word | int) -> Word:
        """Tell, as a word of one bit, whether both are the same."""
        return self._related("==", other)

    def differs(self, other: Word | int) -> Word:
        """Tell whether both are not the same."""
        return self._related("!=", other)

    def less(self, other: Word | int, signed: bool) -> Word:
        """Tell whether this one is less."""
        return self._related("s<" if signed else "u<", other)

    def at_most(self, other: Word | int, signed: bool) -> Word:
        """Tell whether this one is less or the same."""
        return self._related("s<=" if signed else "u<=", other)

    def choose(self, yes: Chosen, no: Chosen) -> Chosen:
        """Return ``yes`` where this word, of one bit, is 1, else ``no``."""
        return yes.like(self.machine.choose(self.held, yes.held, no.held))

    def like(self, held: Held) -> Word:
        """Return what the machine holds as a word of this width."""
        return Word(self.machine, held, self.width)

    def resized(self, width: int, signed: bool = False) -> Word:
        """Cut to a width, or extend to it by the sign or by zeros."""
        if width == self.width:
            return self
        return Word(self.machine, self.machine.resize(self.held, width, signed), width)

    def real(self, fmt: FloatFormat) -> Real:
        """Return the number of a code of f32 or f64."""
        return Real(self.machine, self.machine.real(self.held, fmt), fmt)

    def number(self, signed: bool, fmt: FloatFormat) -> Real:
        """Return the integer as a number of f32 or f64, to nearest even."""
        return Real(self.machine, self.machine.from_integer(self.held, signed, fmt), fmt)

    def entry(self, table: npt.NDArray[Any]) -> Word:
        """Return the entry of a table of unsigned integers at this index, which is inside."""
        return Word(self.machine, self.machine.look_up(table, self.held), 8 * table.dtype.itemsize)

    def refuse(self) -> None:
        """Leave the elements where this word, of one bit, is 1 to the general way."""
        self.machine.refuse(self.held)


@dataclass(frozen=True, slots=True)
class Real:
    """A number of f32 or f64 inside of a machine. Results are rounded to nearest even."""

    machine: Machine
    held: Held
    fmt: FloatFormat

    def of(self, number: float) -> Real:
        """Return a constant of the same format, which must have the number."""
        array = np.array(number, np.float32 if self.fmt == F32 else np.float64)
        assert array == number
        code = int(array.view(f"u{array.itemsize}"))
        held = self.machine.real(self.machine.constant(code, self.fmt.bits), self.fmt)
        return Real(self.machine, held, self.fmt)

    def like(self, held: Held) -> Real:
        """Return what the machine holds as a number of this format."""
        return Real(self.machine, held, self.fmt)

    def computed(self, name: str, other: Real | float) -> Real:
        """Return add, subtract, multiply or divide of both."""
        other = other if isinstance(other, Real) else self.of(other)
        return self.like(self.machine.arithmetic(name, self.held, other.held))

    def __add__(self, other: Real | float) -> Real:
        return self.computed("add", other)

    def __sub__(self, other: Real | float) -> Real:
        return self.computed("subtract", other)

    def __mul__(self, other: Real | float) -> Real:
        return self.computed("multiply", other)

    def _ordered(self, name: str, other: Real | float) -> Word:
        other = other if isinstance(other, Real) else self.of(other)
        return Word(self.machine, self.machine.ordered(name, self.held, other.held), 1)

    def less(self, other: Real | float) -> Word:
        """Tell whether this one is less; 0 with a NaN."""
        return self._ordered("<", other)

    def at_most(self, other: Real | float) -> Word:
        """Tell whether this one is less or equal; 0 with a NaN."""
        return self._ordered("<=", other)

    def equals(self, other: Real | float) -> Word:
        """Tell whether both are equal, as zeros of both signs are; 0 with a NaN."""
        return self._ordered("==", other)

    def extremum(self, other: Real, largest: bool) -> Real:
        """Return the larger or the smaller number, where -0 < +0; refuse NaNs."""
        return self.like(self.machine.extremum(largest, self.held, other.held))

    def settled(self, *implying: Real) -> Real:
        """Return this number; refuse a NaN. ``implying``: other numbers that are NaNs only if this one is."""
        self.machine.refuse_nan(self.held, [each.held for each in implying])
        return self

    def code(self) -> Word:
        """Return the code; that of a NaN is not known."""
        return Word(self.machine, self.machine.code(self.held, self.fmt), self.fmt.bits)

    def converted(self, fmt: FloatFormat) -> Real:
        """Return the number in f32 or f64."""
        return self if fmt == self.fmt else Real(self.machine, self.machine.convert(self.held, fmt), fmt)

    def integer(self, width: int, signed: bool) -> Word:
        """Return the number cut to an integer; any word where that has no code of this width."""
        return Word(self.machine, self.machine.to_integer(self.held, width, signed), width)


Chosen = TypeVar("Chosen", Word, Real)
Implementation = Callable[..., Any]
"""A description: from the words of the operands to the word of the result, or a tuple of several."""
