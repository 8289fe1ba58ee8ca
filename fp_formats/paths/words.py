"""Machine words: one description of an operation, from which scalar, array and machine code of it are made or tested.

**The problem.** halfulp runs an operation such as "f32 to f8E4M3FN, to nearest even" in very different places: on one
number that a user typed, on an array of a hundred million elements, as the third op of a chain on tensors, and inside
of a loop of a program that runs a billion times. Each place wants other code. Four implementations would be four
places for one wrong bit. So there is one *specification* and one *description*.

**The specification** is `halfulp.fp_formats.scalar`: Python integers, one number at a time, with flags and poison. It
is slow and it is right. `halfulp.fp_formats.exact` says the same for arrays. Nothing else decides what a result is.

**The description** is a Python function of `Word`s, called an *implementation*. It returns the word of the result. For
the sum of two numbers of bf16, it is in essence:

    def add(a: Word, b: Word) -> Word:
        x = (a.resized(32) << 16).real(F32)
        y = (b.resized(32) << 16).real(F32)
        return rounded_to_bf16(x + y)

An implementation is not run on data. It is run once, when code is made. A `Word` holds no number: it stands for a
register. Each operator asks a `Machine` for an instruction, and gets the register of its result. So when the function
returns, the machine has seen all instructions in their order. From this follow the rules of implementations:

1. An implementation must not look at values: `if a == 0` has no meaning when code is made. It chooses by instructions
   instead: `a.equals(0).choose(yes, no)` computes both sides. This is also what vector units of processors want.
2. An implementation may look at everything that is known when code is made: formats, rounding mode, policy. So one
   Python function describes hundreds of operations, and each becomes code with the constants filled in.
3. An implementation need not do everything. What is rare and long, such as the payload of a NaN in a sum, it
   *refuses*: `condition.refuse()`. Whoever runs the code then computes the refused elements in the general way, by the
   specification. So each implementation is right wherever it does not refuse, and that is what the tests enumerate.
   What an implementation refuses costs time, and never a bit.

**Where implementations come from.** `halfulp.fp_formats.paths.word_floats` makes those of floats,
`halfulp.fp_formats.paths.word_flags` those of floats with exception flags, `halfulp.fp_formats.paths.word_functions`
those of elementary functions of f32, `halfulp.fp_formats.paths.word_doubles` those of f64,
`halfulp.fp_formats.paths.quad` those of f128, `halfulp.semantics.integer_kernels` those of integers,
`halfulp.semantics.matrix_units.word_sums` those of matrix units, and so on. A function there first asks
`halfulp.fp_formats.paths.domains` whether the operation is inside a declared domain; if not, it returns None, and there
is no implementation. An example: rounding to short formats adds a power of two, which is so large that the last bit of
the sum is the last bit of the result. The addition of the processor then rounds exactly as the result must round. That
holds to nearest even, while no subnormal of f32 or f64 is flushed, and for destinations that are short enough;
`sums_of` says for which, and gives the constants. Numbers above the largest one, infinities and NaNs are chosen at the
end.

**From an implementation to machine code.** There is one machine, `halfulp.fp_formats.paths.emitter.Emitter`: it writes
instructions of LLVM. What differs is what stands around them:

- *One op on arrays, and chains of ops* (`halfulp.fp_formats.paths.array_loop`). The loop loads a code of each input,
  calls the implementations one after the other, and stores the results. What lies between two ops of a chain stays in
  registers; an op alone is a chain of one. The loop works in blocks of some thousand elements. Refusals are gathered
  by "or" in one bit for each block, since a branch for each element would forbid vector instructions. If a block has
  refused elements, a second loop, which also writes the refusals, finds them, and the general way computes these
  alone.
- *Functions of programs* (`halfulp.interp.run.compiled`). Here scalars live in registers, and a refusal is a branch,
  to a call of the executor.
- *Figures of a block.* A loop can also give the sum or the largest one of some words of each block. By this, runs
  beside exact reals find their largest errors in the pass that computes these.

LLVM turns the assembly into an object file. It is kept on disk, under the digest of the assembly and the name of the
processor; so the next process only loads it (`halfulp.fp_formats.paths.llvm`). The same assembly gives the same bits
on every processor: it has no fused multiply-adds but those written, and no reordered sums.

**From an implementation to scalar code.** A single number is quicker by Python's own integers and floats than by a
call of machine code. `halfulp.fp_formats.paths.native_scalar` has such code for the few operations that loops of the
executor need most; everything else is the specification. Both are compared with the specification, over the same
samples as implementations.

**From an implementation to array code.** Short arrays, and interpreters without llvmlite, use NumPy
(`halfulp.fp_formats.paths.fast` and its neighbours). That code is written by hand, since a call of NumPy costs as much
as a thousand elements: the best code there has few calls, such as one look-up in a table of 256 results, and not few
instructions. But it asks the same `domains`, uses the same constants, and leaves the same NaNs to `exact`. An array
becomes machine code once all calls of its kind have had so many elements that compiling would have paid; until then
NumPy computes.

**When results could differ.** A thread may have a mode in which subnormals are flushed; some libraries turn it on.
Then additions no longer round as described. `halfulp.fp_formats.paths.llvm` looks for that mode at each run, forgets
the implementations once it is found, and no domain that depends on subnormals is declared any longer.

**To add an operation**: write its specification, then let the kernel's `words` return an implementation where the
operation is inside your domain. Refuse everything that you are not sure of. The kernel's tests run the implementation
on all codes, or on those at the edges, and compare; then widen the domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, FloatFormat

F32, F64 = FORMATS["f32"], FORMATS["f64"]

MachineValue = Any
"""A value inside of a machine."""


class Machine(Protocol):
    """A maker of instructions. Operands and results are values of the machine (`MachineValue`)."""

    def constant(self, code: int, width: int) -> MachineValue:
        """Return a constant word of ``width`` bits, 1 to 128."""

    def integer(self, name: str, a: MachineValue, b: MachineValue) -> MachineValue:
        """Return the result of an operation on words of one width, modulo 2**width. The operations are add, sub, mul,
        and, or, xor; shl, lshr, ashr by less than the width; udiv, sdiv, urem, srem by a divisor that is not 0, without
        overflow.
        """

    def relation(self, name: str, a: MachineValue, b: MachineValue) -> MachineValue:
        """Return a word of one bit: 1 if a relation holds: == or !=, unsigned u< or u<=, signed s< or s<=."""

    def choose(self, condition: MachineValue, a: MachineValue, b: MachineValue) -> MachineValue:
        """Return ``a`` if the condition, of one bit, is 1, else ``b``: two words of one width, or two reals."""

    def resize(self, a: MachineValue, width: int, signed: bool) -> MachineValue:
        """Return a word in another width. A narrower one loses its upper bits; a wider one gets copies of the sign bit
        if ``signed``, else zeros.
        """

    def real(self, code: MachineValue, fmt: FloatFormat) -> MachineValue:
        """Return a word, which is a code of f32 or f64, as a number of that format."""

    def code(self, number: MachineValue, fmt: FloatFormat) -> MachineValue:
        """Return a number as its code; a NaN has any code that is a NaN."""

    def arithmetic(self, name: str, x: MachineValue, y: MachineValue) -> MachineValue:
        """Return a sum, difference, product or quotient (add, subtract, multiply, divide), to nearest even."""

    def square_root(self, x: MachineValue) -> MachineValue:
        """Return a square root, to nearest even; a NaN for numbers below 0."""

    def fused(self, x: MachineValue, y: MachineValue, z: MachineValue) -> MachineValue:
        """Return x * y + z, rounded once to nearest even. Only where `llvm.fuses`: elsewhere it is slow or wrong."""

    def ordered(self, name: str, x: MachineValue, y: MachineValue) -> MachineValue:
        """Return a word of one bit: 1 if a relation of two numbers holds. ``name``: <, <= or ==. If one number is a
        NaN, none holds.
        """

    def extremum(self, largest: bool, x: MachineValue, y: MachineValue) -> MachineValue:
        """Return the larger or the smaller of two numbers, where -0 < +0. Elements with a NaN are refused."""

    def convert(self, x: MachineValue, fmt: FloatFormat) -> MachineValue:
        """Return a number in f32 or f64, to nearest even."""

    def from_integer(self, a: MachineValue, signed: bool, fmt: FloatFormat) -> MachineValue:
        """Return a word as a number of f32 or f64, to nearest even."""

    def to_integer(self, x: MachineValue, width: int, signed: bool) -> MachineValue:
        """Return the integer part of a number as a word. If the width cannot hold it, the word can have any bits."""

    def look_up(self, table: npt.NDArray[Any], index: MachineValue) -> MachineValue:
        """Return the entry of a table of unsigned integers at an index, which must be inside the table."""

    def leading_zeros(self, a: MachineValue) -> MachineValue:
        """Return the number of zeros above the leading one, in a word of the same width; the width for 0."""

    def refuse(self, condition: MachineValue) -> None:
        """Mark the elements for which the condition is true: the general code computes them, and results here do not
        count.
        """


@dataclass(frozen=True, slots=True)
class Word:
    """A code of ``width`` bits, 1 to 128, inside of a machine. Operators also accept Python integers.

    ``known``: the number in f32 and its format, if the code was made from a number of a shorter format.
    """

    machine: Machine
    held: MachineValue
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
        """Return this word shifted right by ``other`` bits. The upper bits become copies of the sign bit if ``signed``,
        else zeros.
        """
        return self._with("ashr" if signed else "lshr", other)

    def divide(self, other: Word | int, signed: bool) -> Word:
        """Return this word divided by ``other``, rounded toward zero."""
        return self._with("sdiv" if signed else "udiv", other)

    def remainder(self, other: Word | int, signed: bool) -> Word:
        """Return the remainder that belongs to the quotient of `divide`."""
        return self._with("srem" if signed else "urem", other)

    def _related(self, name: str, other: Word | int) -> Word:
        other = self.of(other) if isinstance(other, int) else other
        return Word(self.machine, self.machine.relation(name, self.held, other.held), 1)

    def equals(self, other: Word | int) -> Word:
        """Return a word of one bit: 1 if both words are the same."""
        return self._related("==", other)

    def differs(self, other: Word | int) -> Word:
        """Return a word of one bit: 1 if the words differ."""
        return self._related("!=", other)

    def less(self, other: Word | int, signed: bool) -> Word:
        """Return a word of one bit: 1 if this number is less than ``other``."""
        return self._related("s<" if signed else "u<", other)

    def at_most(self, other: Word | int, signed: bool) -> Word:
        """Return a word of one bit: 1 if this number is at most ``other``."""
        return self._related("s<=" if signed else "u<=", other)

    def choose(self, yes: Chosen, no: Chosen) -> Chosen:
        """Return ``yes`` if this word, of one bit, is 1, else ``no``."""
        return yes.like(self.machine.choose(self.held, yes.held, no.held))

    def like(self, held: MachineValue) -> Word:
        """Wrap a value of the machine as a word of this width."""
        return Word(self.machine, held, self.width)

    def resized(self, width: int, signed: bool = False) -> Word:
        """Return this word in another width. A narrower one loses its upper bits; a wider one gets copies of the sign
        bit if ``signed``, else zeros.
        """
        if width == self.width:
            return self
        return Word(self.machine, self.machine.resize(self.held, width, signed), width)

    def real(self, fmt: FloatFormat) -> Real:
        """Return this word, a code of f32 or f64, as a number."""
        return Real(self.machine, self.machine.real(self.held, fmt), fmt)

    def number(self, signed: bool, fmt: FloatFormat) -> Real:
        """Return the integer that this word is as a number of f32 or f64, rounded to nearest even."""
        return Real(self.machine, self.machine.from_integer(self.held, signed, fmt), fmt)

    def entry(self, table: npt.NDArray[Any]) -> Word:
        """Return the entry of a table of unsigned integers. This word is the index, which must be inside the table."""
        return Word(self.machine, self.machine.look_up(table, self.held), 8 * table.dtype.itemsize)

    def leading_zeros(self) -> Word:
        """Return the number of zeros above the leading one; the width if there is none."""
        return self.like(self.machine.leading_zeros(self.held))

    def refuse(self) -> None:
        """Mark the elements for which this word, of one bit, is 1, so that the general code computes them."""
        self.machine.refuse(self.held)


@dataclass(frozen=True, slots=True)
class Real:
    """A number of f32 or f64 inside of a machine. Results are rounded to nearest even."""

    machine: Machine
    held: MachineValue
    fmt: FloatFormat

    def of(self, number: float) -> Real:
        """Return a constant of the same format, which must hold the number exactly."""
        array = np.array(number, np.float32 if self.fmt == F32 else np.float64)
        assert array == number
        code = int(array.view(f"u{array.itemsize}"))
        held = self.machine.real(self.machine.constant(code, self.fmt.bits), self.fmt)
        return Real(self.machine, held, self.fmt)

    def like(self, held: MachineValue) -> Real:
        """Wrap a value of the machine as a number of this format."""
        return Real(self.machine, held, self.fmt)

    def computed(self, name: str, other: Real | float) -> Real:
        """Return the result of an operation on this number and ``other``. ``name``: add, subtract, multiply
        or divide.
        """
        other = other if isinstance(other, Real) else self.of(other)
        return self.like(self.machine.arithmetic(name, self.held, other.held))

    def __add__(self, other: Real | float) -> Real:
        return self.computed("add", other)

    def __sub__(self, other: Real | float) -> Real:
        return self.computed("subtract", other)

    def __mul__(self, other: Real | float) -> Real:
        return self.computed("multiply", other)

    def square_root(self) -> Real:
        """Return the square root; a NaN for numbers below 0."""
        return self.like(self.machine.square_root(self.held))

    def fused(self, factor: Real, addend: Real) -> Real:
        """Return this number times ``factor`` plus ``addend``, rounded once. Only where `llvm.fuses`."""
        return self.like(self.machine.fused(self.held, factor.held, addend.held))

    def _ordered(self, name: str, other: Real | float) -> Word:
        other = other if isinstance(other, Real) else self.of(other)
        return Word(self.machine, self.machine.ordered(name, self.held, other.held), 1)

    def less(self, other: Real | float) -> Word:
        """Return a word of one bit: 1 if this number is less than ``other``; 0 if one is a NaN."""
        return self._ordered("<", other)

    def at_most(self, other: Real | float) -> Word:
        """Return a word of one bit: 1 if this number is at most ``other``; 0 if one is a NaN."""
        return self._ordered("<=", other)

    def equals(self, other: Real | float) -> Word:
        """Return a word of one bit: 1 if both numbers are equal, as +0 and -0 are; 0 if one is a NaN."""
        return self._ordered("==", other)

    def extremum(self, other: Real, largest: bool) -> Real:
        """Return the larger or the smaller number, where -0 < +0; refuse NaNs."""
        return self.like(self.machine.extremum(largest, self.held, other.held))

    def settled(self) -> Real:
        """Return this number. Elements in which it is a NaN are refused."""
        (~self.equals(self)).refuse()
        return self

    def code(self) -> Word:
        """Return the code of this number; the code of a NaN can be that of any NaN."""
        return Word(self.machine, self.machine.code(self.held, self.fmt), self.fmt.bits)

    def converted(self, fmt: FloatFormat) -> Real:
        """Return the number in f32 or f64."""
        return self if fmt == self.fmt else Real(self.machine, self.machine.convert(self.held, fmt), fmt)

    def integer(self, width: int, signed: bool) -> Word:
        """Return the integer part of this number as a word. If the width cannot hold it, the word can have any bits."""
        return Word(self.machine, self.machine.to_integer(self.held, width, signed), width)


Chosen = TypeVar("Chosen", Word, Real)
Implementation = Callable[..., Any]
"""A description: from the words of the operands to the word of the result, or a tuple of several."""
