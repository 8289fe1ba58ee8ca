"""The `Machine` that makes LLVM instructions, and also labels, variables and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy.typing as npt

from halfulp.fp_formats.formats import FloatFormat, storage_dtype
from halfulp.fp_formats.paths.llvm import ir
from halfulp.fp_formats.paths.words import F32, Implementation, MachineValue, Word

_INTEGER = {"and": "and_", "or": "or_"}
_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_UNSIGNED = {"==": "==", "!=": "!=", "u<": "<", "u<=": "<="}
_SIGNED = {"s<": "<", "s<=": "<="}

DONE, STOPPED = 0, 1
"""The first word that a function returns: it ran to its end, or it stopped at something that it does not cover."""

General = Callable[[Sequence[Word], Sequence[Any]], list[Any]]
"""Makes the code of an op for some operands in the general way; also takes the types of the results."""


class Tables:
    """The tables that code reads, by number. Code finds their addresses in its state."""

    def __init__(self) -> None:
        self.arrays: list[npt.NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def number(self, table: npt.NDArray[Any]) -> int:
        """Return the number under which code finds a table, and keep the table alive from now on."""
        found = self._numbers.get(id(table))
        if found is None:
            found = self._numbers[id(table)] = len(self.arrays)
            self.arrays.append(table)
        return found


class Emitter:
    """Makes the instructions of one function. ``state``: the words that all code of a run shares, see `state`."""

    def __init__(self, function: Any, tables: Tables, first_table: int) -> None:
        self.ir = ir()
        self.function = function
        self.tables = tables
        self._first_table = first_table
        self.entry = function.append_basic_block("entry")
        self._body = function.append_basic_block("body")
        self.variables = self.ir.IRBuilder(self.entry)  # what is computed once, before everything else
        self.builder = self.ir.IRBuilder(self._body)
        self.state = function.args[0]
        self._addresses: dict[int, Any] = {}
        self._refused: Any = None
        self._stop: Any = None

    # --- the machine ---

    def constant(self, code: int, width: int) -> MachineValue:
        """Make a constant word, as `Machine.constant` defines."""
        return self.ir.Constant(self.ir.IntType(width), code)

    def integer(self, name: str, a: MachineValue, b: MachineValue) -> MachineValue:
        """Make an operation on integers, as `Machine.integer` defines."""
        return getattr(self.builder, _INTEGER.get(name, name))(a, b)

    def relation(self, name: str, a: MachineValue, b: MachineValue) -> MachineValue:
        """Make a comparison of integers, as `Machine.relation` defines."""
        if name in _SIGNED:
            return self.builder.icmp_signed(_SIGNED[name], a, b)
        return self.builder.icmp_unsigned(_UNSIGNED[name], a, b)

    def choose(self, condition: MachineValue, a: MachineValue, b: MachineValue) -> MachineValue:
        """Make a choice between two values, as `Machine.choose` defines."""
        return self.builder.select(condition, a, b)

    def resize(self, a: MachineValue, width: int, signed: bool) -> MachineValue:
        """Make a change of width, as `Machine.resize` defines."""
        type_ = self.ir.IntType(width)
        if width < a.type.width:
            return self.builder.trunc(a, type_)
        return self.builder.sext(a, type_) if signed else self.builder.zext(a, type_)

    def _real(self, fmt: FloatFormat) -> Any:
        return self.ir.FloatType() if fmt == F32 else self.ir.DoubleType()

    def real(self, code: MachineValue, fmt: FloatFormat) -> MachineValue:
        """Make a number from its code, as `Machine.real` defines."""
        return self._cast(code, self._real(fmt))

    def code(self, number: MachineValue, fmt: FloatFormat) -> MachineValue:
        """Make the code of a number, as `Machine.code` defines."""
        return self.builder.bitcast(number, self.ir.IntType(fmt.bits))

    def arithmetic(self, name: str, x: MachineValue, y: MachineValue) -> MachineValue:
        """Make an operation on floats, as `Machine.arithmetic` defines."""
        return getattr(self.builder, _ARITHMETIC[name])(x, y)

    def square_root(self, x: MachineValue) -> MachineValue:
        """Make a square root, as `Machine.square_root` defines."""
        return self.builder.call(self.function.module.declare_intrinsic("llvm.sqrt", [x.type]), [x])

    def fused(self, x: MachineValue, y: MachineValue, z: MachineValue) -> MachineValue:
        """Make a fused multiply-add, as `Machine.fused` defines."""
        kinds = self.ir.FunctionType(x.type, [x.type] * 3)
        return self.builder.call(self.function.module.declare_intrinsic("llvm.fma", [x.type], kinds), [x, y, z])

    def ordered(self, name: str, x: MachineValue, y: MachineValue) -> MachineValue:
        """Make a comparison of floats, as `Machine.ordered` defines."""
        return self.builder.fcmp_ordered(name, x, y)

    def extremum(self, largest: bool, x: MachineValue, y: MachineValue) -> MachineValue:
        """Make a minimum or maximum, as `Machine.extremum` defines."""
        self.refuse(self.builder.fcmp_unordered("uno", x, y))
        word = self.ir.IntType(32 if x.type == self.ir.FloatType() else 64)
        a, b = self._cast(x, word), self._cast(y, word)
        zero = self._cast(self.integer("and" if largest else "or", a, b), x.type)
        chosen = self.choose(self.ordered("<", *((y, x) if largest else (x, y))), x, y)
        return self.choose(self.ordered("==", x, y), zero, chosen)

    def convert(self, x: MachineValue, fmt: FloatFormat) -> MachineValue:
        """Make a conversion between floats, as `Machine.convert` defines."""
        return (self.builder.fptrunc if fmt == F32 else self.builder.fpext)(x, self._real(fmt))

    def from_integer(self, a: MachineValue, signed: bool, fmt: FloatFormat) -> MachineValue:
        """Make a conversion to a float, as `Machine.from_integer` defines."""
        return (self.builder.sitofp if signed else self.builder.uitofp)(a, self._real(fmt))

    def to_integer(self, x: MachineValue, width: int, signed: bool) -> MachineValue:
        """Make a conversion to an integer, as `Machine.to_integer` defines."""
        return (self.builder.fptosi if signed else self.builder.fptoui)(x, self.ir.IntType(width))

    def look_up(self, table: npt.NDArray[Any], index: MachineValue) -> MachineValue:
        """Make a look-up in a table, as `Machine.look_up` defines."""
        number = self.tables.number(table)
        base = self._addresses.get(number)
        if base is None:
            address = self.shared(self._first_table + number, self.variables)
            base = self._addresses[number] = self.variables.inttoptr(address, self.pointer)
        width = index.type.width
        index = self.builder.zext(index, self.word_type) if width < 64 else index
        return self.load(base, index, 8 * table.dtype.itemsize)

    def leading_zeros(self, a: MachineValue) -> MachineValue:
        """Make a count of leading zeros, as `Machine.leading_zeros` defines."""
        return self.builder.ctlz(a, self.constant(0, 1))

    def refuse(self, condition: MachineValue) -> None:
        """Refuse elements, as `Machine.refuse` defines. They are collected until `elementwise` ends."""
        self._refused = condition if self._refused is None else self.builder.or_(self._refused, condition)

    def take_refused(self) -> MachineValue | None:
        """Return a word of one bit: 1 if an element was refused since the last call. None if no element can have been
        refused.
        """
        refused, self._refused = self._refused, None
        return refused

    # --- types and values ---

    @property
    def pointer(self) -> Any:
        """The type of addresses."""
        return self.ir.PointerType()

    @property
    def word_type(self) -> Any:
        """The type of words of 64 bits."""
        return self.ir.IntType(64)

    def word(self, held: MachineValue) -> Word:
        """Return a value of the builder as a `Word`."""
        return Word(self, held, held.type.width)

    def number(self, code: int, width: int = 64) -> Word:
        """Return a constant word of ``width`` bits."""
        return Word(self, self.constant(code & ((1 << width) - 1), width), width)

    # --- memory ---

    def load(self, base: Any, index: Any, width: int) -> Any:
        """Make a load from memory, and return what it loads: entry ``index`` of the array at ``base``, of words of
        ``width`` bits (8, 16, 32 or 64).
        """
        type_ = self.ir.IntType(width)
        place = self.builder.gep(base, [index], source_etype=type_)
        return self.builder.load(place, typ=type_, align=width // 8)

    def store(self, base: Any, index: Any, value: Any) -> None:
        """Make a store to memory: ``value`` becomes entry ``index`` of the array at ``base``. The words of the array
        have the width of the value: 8, 16, 32 or 64 bits.
        """
        place = self.builder.gep(base, [index], source_etype=value.type)
        self.builder.store(value, place, align=value.type.width // 8)

    def shared(self, number: int, builder: Any = None) -> Any:
        """Make a load of a word of the state, and return it. ``number``: the index of the word. ``builder``: where the
        instruction is put; None for the current place.
        """
        builder = builder or self.builder
        place = builder.gep(self.state, [self.constant(number, 64)], source_etype=self.word_type)
        return builder.load(place, typ=self.word_type, align=8)

    def share(self, number: int, value: Any) -> None:
        """Make a store to a word of the state. ``number``: the index of the word."""
        self.store(self.state, self.constant(number, 64), value)

    def addresses(self, array: Any, count: int) -> list[Any]:
        """Make loads of ``count`` addresses from an array of words, and return them. The loads are put at the start of
        the function, so each address is read once.
        """
        places = [self.variables.gep(array, [self.constant(n, 64)], source_etype=self.word_type) for n in range(count)]
        words = [self.variables.load(place, typ=self.word_type) for place in places]
        return [self.variables.inttoptr(word, self.pointer) for word in words]

    def variable(self, type_: Any) -> Any:
        """Make a variable of this function, which LLVM turns into registers. A variable of a float type also accepts
        words.
        """
        return self.variables.alloca(type_)

    def array(self, count: int) -> Any:
        """Make an array of ``count`` words of 64 bits on the stack, and return its address."""
        return self.variables.alloca(self.word_type, size=self.constant(max(count, 1), 64))

    def get(self, variable: Any, type_: Any) -> Any:
        """Make a read of a variable, and return its value as one of type ``type_``."""
        return self._cast(self.builder.load(variable, typ=variable.allocated_type), type_)

    def set(self, variable: Any, value: Any) -> None:
        """Make a write of ``value`` to a variable."""
        self.builder.store(self._cast(value, variable.allocated_type), variable)

    def _cast(self, value: Any, type_: Any) -> Any:
        return value if value.type == type_ else self.builder.bitcast(value, type_)

    def float_type(self, width: int) -> Any:
        """Return the type of floats of 32 or 64 bits. Values that stay in it move less between registers."""
        return self.ir.FloatType() if width == 32 else self.ir.DoubleType()

    def _register_type(self, value: Any) -> Any:
        """Return the type in which a value was computed."""
        source = value.operands[0] if getattr(value, "opname", "") == "bitcast" else value
        return source.type

    # --- control ---

    def label(self) -> Any:
        """Return a new label, a place in the function to which jumps can go."""
        return self.function.append_basic_block()

    def begin(self, label: Any) -> None:
        """Put the next instructions at a label."""
        self.builder.position_at_end(label)

    def jump(self, label: Any) -> None:
        """Make a jump to a label."""
        self.builder.branch(label)

    def branch(self, condition: Any, yes: Any, no: Any) -> None:
        """Make a branch: to ``yes`` if the condition, of one bit, is 1, else to ``no``."""
        self.builder.cbranch(condition, yes, no)

    def stop_if(self, condition: Any) -> None:
        """Make a branch that leaves the function, and all functions that called it, if the condition, of
        one bit, is 1.
        """
        on = self.label()
        self.builder.cbranch(condition, self.stopping(), on)
        self.begin(on)

    def stopping(self) -> Any:
        """Return the label of the code that leaves the function and all functions that called it."""
        if self._stop is None:
            self._stop = self.label()
            builder = self.ir.IRBuilder(self._stop)
            result = self.ir.Constant(self.function.function_type.return_type, self.ir.Undefined)
            builder.ret(builder.insert_value(result, self.constant(STOPPED, 32), 0))
        return self._stop

    def finish(self) -> None:
        """End the function: connect its start, where instructions that run once are put, with the rest."""
        self.variables.branch(self._body)

    def call_address(self, address: Any, type_: Any, operands: Sequence[Any]) -> Any:
        """Make a call of the function of type ``type_`` at an address, and return its result."""
        function = self.builder.inttoptr(address, type_.as_pointer())
        return self.builder.call(function, operands)

    # --- elements ---

    def elementwise(
        self, implementation: Implementation, lanes: Sequence[Sequence[Word]], general: General
    ) -> list[tuple[Word, ...]]:
        """Make the code of a description for the operands of each lane. Return the result words, one tuple for each
        lane. ``general`` makes the code that runs instead for all lanes if the description refuses one of them.
        """
        found = [implementation(*operands) for operands in lanes]
        results = [each if isinstance(each, tuple) else (each,) for each in found]
        refused = self.take_refused()
        if refused is None:
            return results
        held = [[word.held for word in words] for words in results]
        variables = [[self.variable(self._register_type(each)) for each in some] for some in held]
        for variable, each in zip(chain(*variables), chain(*held), strict=True):
            self.set(variable, each)
        cold, on = self.label(), self.label()
        self.builder.cbranch(refused, cold, on)
        self.begin(cold)
        for operands, some, into in zip(lanes, held, variables, strict=True):
            for variable, each in zip(into, general(operands, [each.type for each in some]), strict=True):
                self.set(variable, each)
        self.jump(on)
        self.begin(on)
        return [
            tuple([self.word(self.get(v, each.type)) for v, each in zip(into, some, strict=True)])
            for into, some in zip(variables, held, strict=True)
        ]


def natural(width: int) -> int:
    """Return the number of bits that a code of ``width`` bits takes in memory."""
    return 8 * storage_dtype(width).itemsize
