"""The `Machine` that makes Python, with labels, variables and memory beside its words.

Words are Python integers; those of one bit may be bools. Numbers of f32 and f64 are Python floats, which are f64. A
cell of memory rounds them to f32; `halfulp.fp_formats.paths.native_scalar` says why that rounds once.

A float as Python holds it does not keep the bits of a NaN. So a number that code keeps is never a NaN: the run stops
with `NANS` where one appears, and is done again by code that keeps all values as words (``keeps_numbers`` is False).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from struct import pack, unpack
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths.emitter import General
from halfulp.fp_formats.paths.words import F32, F64, Face, Word
from halfulp.interp.run.compiled.python_blocks import Block, Iteration, Line, written

_WORD, _NUMBER, _OBJECT = "word", "number", "object"

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_WRAPS = ("add", "sub", "mul", "shl")
_NEUTRAL = {"and": -1, "mul": 1, "udiv": 1, "sdiv": 1}
_NEUTRAL |= dict.fromkeys(("add", "sub", "or", "xor", "shl", "lshr", "ashr"), 0)
"""The second operands with which an operation returns the first one."""
_DIVISIONS = {"udiv": "//", "urem": "%"}
_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*"}
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", "<=": ">"}
_LONG = 80
"""The characters from which the text of a condition is computed once and kept."""

_CELLS = {F32: ("codes32", "floats32"), F64: ("codes64", "floats64")}
"""The names of two views of one cell of memory, which turns codes into numbers and back."""


@dataclass(frozen=True, slots=True)
class Part:
    """The type of a part of a value: a word or a number of so many bits, or an object."""

    kind: str
    width: int = 0


OBJECT = Part(_OBJECT)


@dataclass(eq=False, slots=True)
class Number:
    """A number of f32 or f64. ``text``: a name or a literal. ``kept``: it is not a NaN. ``block``: where it is made."""

    text: str
    fmt: FloatFormat
    kept: bool = False
    block: Block | None = None


@dataclass(eq=False, slots=True)
class Held:
    """A word, or an object, which has no width.

    ``text``: a name, a literal, or a condition; None for a word that is computed where it is first needed, by
    ``compute``. ``opposite``: the text of the opposite of a condition. ``constant``: the code where it is known.
    ``number``: the number of the code; ``read``: computes it otherwise than from the code. ``nan``: the number that is
    a NaN where this holds.
    """

    width: int
    text: str | None
    constant: int | None = None
    number: Number | None = None
    compute: Callable[[], str] | None = None
    read: Callable[[FloatFormat], Number] | None = None
    opposite: str | None = None
    nan: Number | None = None


@dataclass(eq=False, slots=True)
class Variable:
    """A name that is assigned in several places."""

    name: str
    part: Part


@dataclass(slots=True)
class Globals:
    """What the code of a program reads by global names."""

    values: dict[str, Any] = field(default_factory=dict)
    _names: dict[tuple[str, int], str] = field(default_factory=dict)

    def name(self, prefix: str, thing: Any, made: Any = None) -> str:
        """Return the name of a thing, under which code finds ``made``, or else the thing."""
        name = self._names.get((prefix, id(thing)))
        if name is None:
            name = self._names[prefix, id(thing)] = f"{prefix}{len(self._names)}"
            self.values[name] = thing if made is None else made
            self.values[f"{name}_of"] = thing  # so that no other thing gets its id
        return name


class PythonEmitter:
    """Makes the Python of one function."""

    def __init__(self, names: Globals, keeps_numbers: bool) -> None:
        self.names = names
        self.keeps_numbers = keeps_numbers
        self.entry = Block()
        self.block = self.entry
        self.blocks = [self.entry]
        self.size = 0  # the lines so far
        self._count = 0
        self._indent = ""
        self._refused: list[Held] = []
        self._pending: list[tuple[Variable, str]] = []

    # --- text ---

    def line(self, text: str, gives: str | None = None) -> None:
        """Add a line of code. ``gives``: the name that it computes, if it does nothing else."""
        self.block.lines.append(Line(self._indent + text, gives))
        self.size += 1

    def fresh(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"v{self._count}"

    def kept(self, text: str) -> str:
        """Compute something, and return its name."""
        name = self.fresh()
        self.line(f"{name} = {text}", name)
        return name

    def through(self, into: str, out: str, text: str) -> str:
        """Write something to one view of a cell, and read it from another one, or the same. Return its name."""
        name = self.fresh()
        self.line(f"{into}[0] = {text}; {name} = {out}[0]", name)
        return name

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what ``make`` returns, made once in each block. The lines that it adds run before all later ones."""
        found = self.block.made.get(key)
        if found is None:
            found = self.block.made[key] = make()
        return found

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Make lines that run only if a condition holds, the last line."""
        outer, self._indent = self._indent, self._indent + " "
        made, self.block.made = self.block.made, self.block.made.copy()
        yield
        self._indent, self.block.made = outer, made

    def text(self, held: Held) -> str:
        """Return a name or a literal of a word or an object."""
        if held.opposite is not None:
            return str(self.once(held, lambda: self.kept(held.text or "")))
        if held.text is not None:
            return held.text
        if held.compute is not None:
            return str(self.once(held, held.compute))
        assert held.number is not None
        return self._code_of(held.number)

    def condition(self, held: Held) -> str:
        """Return the text of a word of one bit, for where only its truth counts."""
        return held.text if held.opposite is not None and held.text is not None else self.text(held)

    def _code_of(self, number: Number) -> str:
        def convert() -> str:
            codes, floats = _CELLS[number.fmt]
            return self.through(floats, codes, number.text)

        return str(self.once(number, convert))

    def _new(self, width: int, text: str) -> Held:
        return Held(width, self.kept(text))

    def _condition(self, text: str, opposite: str) -> Held:
        return self._new(1, text) if len(text) > _LONG else Held(1, text, opposite=opposite)

    # --- the machine: integers ---

    def constant(self, code: int, width: int) -> Held:
        """See `Machine`."""
        return Held(width, str(code), constant=code)

    def integer(self, name: str, a: Held, b: Held) -> Held:
        """See `Machine`."""
        width, mask = a.width, (1 << a.width) - 1
        if width == 1 and name in ("and", "or", "xor"):
            return self._of_bits(name, a, b)
        if name in _NEUTRAL and b.constant == _NEUTRAL[name] & mask:
            return a
        x, y = self.text(a), self.text(b)
        if name in _OPERATORS:
            text = f"{x} {_OPERATORS[name]} {y}"
            text = f"({text}) & {mask}" if name in _WRAPS else text
        elif name in _DIVISIONS:
            text = f"{x} {_DIVISIONS[name]} {y}"
        elif name == "ashr":
            text = f"({self.signed(a)} >> {y}) & {mask}"
        else:
            text = f"{name}({self.signed(a)}, {self.signed(b)}) & {mask}"
        if a.constant is not None and b.constant is not None:
            return self.constant(int(eval(text, dict(HELPERS))), width)
        return self._new(width, text)

    def _of_bits(self, name: str, a: Held, b: Held) -> Held:
        """Return an operation on words of one bit."""
        if name == "xor" and b.constant is not None:
            if not b.constant:
                return a
            if a.opposite is not None and a.text is not None:
                return Held(1, a.opposite, opposite=a.text)
            x = self.text(a)
            return self._condition(f"not {x}", x)
        if name == "xor":
            return self._new(1, f"{self.text(a)} ^ {self.text(b)}")
        other = {"and": "or", "or": "and"}[name]
        x, y = self.condition(a), self.condition(b)
        not_x, not_y = (each.opposite or f"not {self.text(each)}" for each in (a, b))
        return self._condition(f"(({x}) {name} ({y}))", f"(({not_x}) {other} ({not_y}))")

    def signed(self, a: Held) -> str:
        """Return the text of the number of a word."""
        sign = 1 << (a.width - 1)
        if a.constant is not None:
            return f"({(a.constant ^ sign) - sign})"
        return f"(({self.text(a)} ^ {sign}) - {sign})"

    def relation(self, name: str, a: Held, b: Held) -> Held:
        """See `Machine`."""
        sign = 1 << (a.width - 1)
        operands = []
        for each in (a, b):
            if name not in ("s<", "s<="):
                operands.append(self.text(each))
            elif each.constant is not None:
                operands.append(str(each.constant ^ sign))
            else:
                operands.append(f"({self.text(each)} ^ {sign})")
        x, y = operands
        relation = name.lstrip("us")
        if a.constant is not None and b.constant is not None:
            return self.constant(int(eval(f"{x} {relation} {y}")), 1)
        return self._condition(f"{x} {relation} {y}", f"{x} {_OPPOSITES[relation]} {y}")

    def choose(self, condition: Held, a: Any, b: Any) -> Any:
        """See `Machine`."""
        if isinstance(a, Number):
            return self._chosen(condition, a, b)
        if condition.constant is not None:
            return a if condition.constant else b
        if self.keeps_numbers and a.number is not None and b.number is not None:
            return self.code(self._chosen(condition, a.number, b.number), a.number.fmt)
        x, y = self.text(a), self.text(b)
        return self._new(a.width, f"{x} if {self.condition(condition)} else {y}")

    def _chosen(self, condition: Held, x: Number, y: Number) -> Number:
        if condition.constant is not None:
            return x if condition.constant else y
        name = self.kept(f"{x.text} if {self.condition(condition)} else {y.text}")
        return Number(name, x.fmt, x.kept and y.kept)

    def resize(self, a: Held, width: int, signed: bool) -> Held:
        """See `Machine`."""
        mask = (1 << width) - 1
        if a.constant is not None:
            sign = 1 << (a.width - 1)
            return self.constant(((a.constant ^ sign) - sign if signed else a.constant) & mask, width)
        if width < a.width:
            return self._new(width, f"{self.text(a)} & {mask}")
        if signed:
            return self._new(width, f"{self.signed(a)} & {mask}")
        # A word of one bit may be a bool.
        return self._new(width, f"+{self.text(a)}") if a.width == 1 else Held(width, self.text(a))

    # --- the machine: numbers ---

    def real(self, code: Held, fmt: FloatFormat) -> Number:
        """See `Machine`."""
        if code.number is not None and code.number.fmt == fmt:
            return code.number
        if code.constant is not None:
            (number,) = unpack("<f" if fmt == F32 else "<d", pack("<I" if fmt == F32 else "<Q", code.constant))
            return Number(_literal(number), fmt, number == number)
        read = code.read
        if read is not None:
            return self.once((code, fmt), lambda: read(fmt))  # type: ignore[no-any-return]

        def convert() -> Number:
            codes, floats = _CELLS[fmt]
            return Number(self.through(codes, floats, self.text(code)), fmt, block=self.block)

        return self.once((code, fmt), convert)  # type: ignore[no-any-return]

    def code(self, number: Number, fmt: FloatFormat) -> Held:
        """See `Machine`."""
        return Held(fmt.bits, None, number=number)

    def arithmetic(self, name: str, x: Number, y: Number) -> Number:
        """See `Machine`."""
        if name == "divide":
            # Python raises an error for division by zero.
            text = f"{x.text} / {y.text} if {y.text} else by_zero({x.text}, {y.text})"
        else:
            text = f"{x.text} {_ARITHMETIC[name]} {y.text}"
        return self._rounded(text, x.fmt)

    def read_number(self, text: str, fmt: FloatFormat) -> Number:
        """Compute a number."""
        return Number(self.kept(text), fmt, block=self.block)

    def _rounded(self, text: str, fmt: FloatFormat) -> Number:
        if fmt == F64:
            return self.read_number(text, fmt)
        return Number(self.through("floats32", "floats32", text), fmt, block=self.block)

    def ordered(self, name: str, x: Number, y: Number) -> Held:
        """See `Machine`."""
        if name == "==":
            return self._condition(f"{x.text} == {y.text}", f"{x.text} != {y.text}")
        text = f"{x.text} {name} {y.text}"
        return self._condition(text, f"not {text}")

    def extremum(self, largest: bool, x: Number, y: Number) -> Number:
        """See `Machine`. The sum of zeros is +0 unless both are -0, and so it is the larger one."""
        self.refuse_nan(x, ())
        self.refuse_nan(y, ())
        relation, zero = (">", f"{x.text} + {y.text}") if largest else ("<", f"-(-{x.text} - {y.text})")
        text = f"{x.text} if {x.text} {relation} {y.text} else {y.text} if {x.text} else {zero}"
        return Number(self.kept(text), x.fmt, x.kept and y.kept, self.block)

    def convert(self, x: Number, fmt: FloatFormat) -> Number:
        """See `Machine`."""
        return Number(x.text, fmt, x.kept) if fmt == F64 else self._rounded(x.text, fmt)

    def from_integer(self, a: Held, signed: bool, fmt: FloatFormat) -> Number:
        """See `Machine`."""
        number = self.signed(a) if signed else self.text(a)
        if fmt == F64 or a.width <= F64.precision:
            made = self._rounded(f"float({number})", fmt)
        else:
            # By way of f64 these would be rounded twice.
            made = Number(self.kept(f"float32({number})"), fmt)
        made.kept = True
        return made

    def to_integer(self, x: Number, width: int, signed: bool) -> Held:
        """See `Machine`."""
        return self._new(width, f"int({x.text}) & {(1 << width) - 1}")

    def look_up(self, table: npt.NDArray[Any], index: Held) -> Held:
        """See `Machine`."""
        place = self.text(index)
        name = self.names.name("table", table, np.ascontiguousarray(table).data)

        def as_number(fmt: FloatFormat) -> Number:
            floats = np.ascontiguousarray(table).view(f"f{table.itemsize}")
            return self.read_number(f"{self.names.name('floats', table, floats.data)}[{place}]", fmt)

        return Held(8 * table.itemsize, None, compute=lambda: self.kept(f"{name}[{place}]"), read=as_number)

    def refuse(self, condition: Held) -> None:
        """See `Machine`: what is refused is collected until `elementwise` ends."""
        if condition.constant != 0:
            self._refused.append(condition)

    def refuse_nan(self, x: Number, implying: Sequence[Number]) -> None:
        """See `Machine`."""
        self.refuse(Held(1, f"{x.text} != {x.text}", opposite=f"{x.text} == {x.text}", nan=x))

    # --- values ---

    def word(self, held: Held) -> Word:
        """Return a value as a `Word`."""
        return Word(self, held, held.width)

    def number(self, code: int, width: int = 64) -> Word:
        """Return a constant."""
        return Word(self, self.constant(code & ((1 << width) - 1), width), width)

    def settled(self, number: Number) -> Number:
        """Return a number that is kept: the run stops where it is a NaN."""
        if not number.kept and ("kept", number) not in self.block.made:
            self.line(f"if {number.text} != {number.text}: raise NANS")
            self._keep(number)
        return number

    def _keep(self, number: Number) -> None:
        """Note that a number is not a NaN from here on."""
        self.block.made["kept", number] = True
        number.kept = number.block is self.block and not self._indent

    def kept_number(self, held: Held, fmt: FloatFormat) -> Number | None:
        """Return the number of a word if numbers are kept, and this one is at hand."""
        if not self.keeps_numbers or (held.number is None and held.read is None and held.constant is None):
            return None
        return self.settled(self.real(held, fmt))

    # --- variables ---

    def float_type(self, width: int) -> Part:
        """Return the type of the variables of floats."""
        return Part(_NUMBER if self.keeps_numbers else _WORD, width)

    def variable(self, part: Part) -> Variable:
        """Make a variable of this function."""
        return Variable(self.fresh(), part)

    def get(self, variable: Variable, part: Part) -> Held:
        """Read a variable."""
        if variable.part.kind == _NUMBER:
            fmt = F32 if variable.part.width == F32.bits else F64
            return self.code(Number(variable.name, fmt, kept=True), fmt)
        return Held(part.width, variable.name)

    def set(self, variable: Variable, held: Held) -> None:
        """Write a variable, together with others that are written before the next jump."""
        if variable.part.kind == _NUMBER:
            text = self.settled(self.real(held, F32 if variable.part.width == F32.bits else F64)).text
        else:
            text = self.text(held)
        self._pending.append((variable, text))

    # --- control ---

    def label(self) -> Block:
        """Make a place to jump to."""
        block = Block()
        self.blocks.append(block)
        return block

    def begin(self, label: Block) -> None:
        """Go on making code at a label."""
        self.block = label

    def jump(self, label: Block) -> None:
        """Go on running at a label."""
        pairs = [(variable.name, text) for variable, text in self._pending if variable.name != text]
        self._pending = []
        if pairs:
            self.line(f"{', '.join(name for name, _ in pairs)} = {', '.join(text for _, text in pairs)}")
        self.block.ends((label,))

    def branch(self, condition: Held, yes: Block, no: Block) -> None:
        """Go on running at one of two labels."""
        self.block.ends((yes, no), condition=self.condition(condition))

    def iterate(self, iterator: str, name: str, body: Block, after: Block) -> None:
        """Go on running in a body with the next number of an iterator, or after it where there is none."""
        self.block.ends((body, after), iteration=Iteration(iterator, name))

    def stop_if(self, condition: Held) -> None:
        """Stop the run where a condition holds."""
        if condition.constant != 0:
            self.line(f"if {self.condition(condition)}: raise STOP")

    def returns(self, text: str) -> None:
        """Leave the function."""
        self.line(f"return {text}")
        self.block.ends(())

    def lines(self) -> list[str]:
        """Return the lines of the function."""
        return written(self.blocks)

    # --- elements ---

    def elementwise(self, face: Face, lanes: Sequence[Sequence[Word]], general: General) -> list[tuple[Word, ...]]:
        """See `Maker`."""
        return [self._lane(face, operands, general) for operands in lanes]

    def _lane(self, face: Face, operands: Sequence[Word], general: General) -> tuple[Word, ...]:
        found = face(*operands)
        results: tuple[Word, ...] = found if isinstance(found, tuple) else (found,)
        refused, self._refused = self._refused, []
        if not refused:
            return results
        holds = " or ".join([f"({self.condition(each)})" for each in refused])
        if self.keeps_numbers and any(each.held.number or each.known for each in results):
            self.line(f"if {holds}: raise NANS")
            for each in refused:
                if each.nan is not None:
                    self._keep(each.nan)
            return results
        names = [self.kept(self.text(each.held)) for each in results]
        self.line(f"if {holds}:")
        with self.indented():
            for name, held in zip(names, general(operands, [Part(_WORD, each.width) for each in results]), strict=True):
                self.line(f"{name} = {self.text(held)}")
        return tuple([self.word(Held(each.width, name)) for each, name in zip(results, names, strict=True)])


def _literal(number: float) -> str:
    if number != number or number in (math.inf, -math.inf):
        return {"nan": "nan", "inf": "inf", "-inf": "minus_inf"}[str(number)]
    return f"({number!r})"


def _sdiv(a: int, b: int) -> int:
    """Return a quotient, rounded toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _by_zero(x: float, y: float) -> float:
    """Return a quotient by a zero, as IEEE 754 defines it."""
    return math.nan if x != x or x == 0 else math.copysign(math.inf, x) * math.copysign(1.0, y)


def _float32(number: int) -> float:
    """Return an integer of 64 bits, rounded once to f32."""
    return float(np.array(number, np.int64 if number < 0 else np.uint64).astype(np.float32))


HELPERS: dict[str, Any] = {
    "sdiv": _sdiv,
    "srem": lambda a, b: a - b * _sdiv(a, b),
    "by_zero": _by_zero,
    "float32": _float32,
    "inf": math.inf,
    "minus_inf": -math.inf,
    "nan": math.nan,
}
"""The functions and numbers that code uses by name."""
