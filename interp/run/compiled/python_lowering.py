"""Lower functions to Python: their parts, memory, calls, limits.

Every function takes the context of the run, its cells (see `CELLS`), the steps and the calls that are left, and its
arguments, taken apart to words and objects. It returns the steps left and its results, or raises `Stop`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths.words import F32, F64, Word
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.compiled.context import HostFunction
from halfulp.interp.run.compiled.covering import NotCompiled
from halfulp.interp.run.compiled.functions import FunctionLowering, Item, Memref, parts_of, widths_of
from halfulp.interp.run.compiled.places import rank_of
from halfulp.interp.run.compiled.python_emitter import (
    HELPERS,
    OBJECT,
    Globals,
    Held,
    Part,
    PythonEmitter,
)
from halfulp.interp.run.compiler import CodeStore
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types

CELLS = ("codes32", "floats32", "codes64", "floats64")
"""The names of the views of the two cells of a run: one holds a code or number of f32, the other one of f64."""
_LARGEST = 20_000
"""The lines that a program may have: compilation takes about 0.3 s for so many."""
_NUMBERS = {"f32": F32, "f64": F64}


class Stop(Exception):
    """The end of a run that meets something that code does not cover."""


class MeetsNan(Stop):
    """The end of a run that meets a NaN, by code that keeps numbers."""


def _only(found: Any) -> Any:
    """Return the one word of a tuple. Raises Stop for anything else."""
    if found.__class__ is not tuple or len(found) != 1:
        raise Stop
    return found[0]


@dataclass(frozen=True, slots=True)
class PythonPlace(Memref):
    """A memref in Python. ``base``: its memory. ``codes``, ``numbers``: views of that as codes, and as numbers where it
    has such of f32 or f64. ``poison``: a view of its poison, or None.
    """

    emit: PythonEmitter
    codes: Any = None
    numbers: Any = None

    def parts(self) -> list[Any]:
        """See `Memref`."""
        return [
            self.base,
            self.codes,
            self.numbers,
            self.poison,
            self.offset,
            *(size.held for size in self.sizes),
            *self.strides,
        ]

    def index(self, indices: Sequence[Word]) -> str:
        """See `Memref`."""
        emit = self.emit
        texts = [emit.text(index.held) for index in indices]

        def compute() -> str:
            sizes = [emit.text(size.held) for size in self.sizes]
            # A negative index is a large code.
            outside = [f"{index} >= {size}" for index, size in zip(texts, sizes, strict=True)]
            if outside:
                emit.line(f"if {' or '.join(outside)}: raise STOP")
            return self.start(indices)

        return str(emit.once((*map(emit.text, self.parts()), *texts), compute))

    def start(self, indices: Sequence[Word]) -> str:
        """See `Memref`."""
        texts = [self.emit.text(index.held) for index in indices]
        steps = [f"{index} * {self.emit.text(step)}" for index, step in zip(texts, self.strides, strict=True)]
        return self.emit.kept(" + ".join([self.emit.text(self.offset), *steps]))

    def moved(self, place: str, steps: Sequence[tuple[int, int]]) -> str:
        """See `Memref`."""
        ahead = [f"{count} * {self.emit.text(self.strides[dimension])}" for dimension, count in steps if count]
        return " + ".join([place, *ahead])

    def load(self, place: str, width: int) -> Word:
        """See `Memref`."""
        emit = self.emit
        poison = emit.text(self.poison)
        emit.line(f"if {poison} is not None and {poison}[{place}]: raise STOP")
        fmt = self._numbers()
        if fmt is None:
            return emit.word(Held(width, emit.kept(f"{emit.text(self.codes)}[{place}]")))
        number = emit.read_number(f"{emit.text(self.numbers)}[{place}]", fmt)
        return emit.word(emit.code(emit.settled(number), fmt))

    def store(self, place: str, value: Word) -> None:
        """See `Memref`."""
        emit = self.emit
        poison, fmt = emit.text(self.poison), self._numbers()
        number = None if fmt is None else emit.kept_number(value.held, fmt)
        view, text = (self.codes, emit.text(value.held)) if number is None else (self.numbers, number.text)
        emit.line(f"if {poison} is not None: {poison}[{place}] = 0")
        emit.line(f"{emit.text(view)}[{place}] = {text}")

    def _numbers(self) -> FloatFormat | None:
        """Return the format of the elements if they are kept as numbers."""
        return _NUMBERS.get(str(self.type.element)) if self.emit.keeps_numbers else None


class PythonProgram:
    """The Python of an entry and of all functions that it calls. ``keeps_numbers``: see
    `halfulp.interp.run.compiled.python_emitter`.
    """

    def __init__(self, store: CodeStore, keeps_numbers: bool) -> None:
        self.store = store
        self.writes = False
        self.keeps_numbers = keeps_numbers
        self.names = Globals({**HELPERS, "STOP": Stop(), "NANS": MeetsNan(), "only": _only})
        self._functions: list[HostFunction] = []
        self._numbers: dict[int, int] = {}
        self._names: dict[Operation, str] = {}
        self._waiting: list[Operation] = []
        self._size = 0

    def number(self, function: Any, make: Callable[[], HostFunction]) -> int:
        """Return the number of what is called; ``make`` makes it for a new ``function``."""
        name = self.names.name("host", function, make())
        return int(name.removeprefix("host"))

    def function(self, op: Operation) -> str:
        """Return the name of a function of the program, which is lowered later."""
        name = self._names.get(op)
        if name is None:
            if not op.regions or not op.regions[0].blocks:
                raise NotCompiled(f"@{op.symbol_name} has no body")
            name = self._names[op] = f"f{len(self._names)}"
            self._waiting.append(op)
        return name

    def grown(self, lines: int, complete: bool = False) -> None:
        """Take note of the lines of a function. Raises NotCompiled where there are too many."""
        if self._size + lines > _LARGEST:
            raise NotCompiled("so many ops that compilation takes long")
        self._size += lines if complete else 0

    def lower(self, op: Operation) -> Callable[..., Any]:
        """Return a function of the program, in Python. Raises NotCompiled."""
        name = self.function(op)
        lines: list[str] = []
        while self._waiting:
            each = self._waiting.pop()
            lines += PythonLowering(self, each, self._names[each]).lower()
        values = self.names.values
        exec(compile("\n".join(lines), f"<{op.symbol_name!a} in Python>", "exec"), values)
        return values[name]  # type: ignore[no-any-return]


def types_of(type_: ty.Type, settings: Settings) -> list[Part]:
    """Return the types of the parts of a value. Raises NotCompiled."""
    if isinstance(type_, ty.MemRefType):
        rank = rank_of(type_)
        return [*[OBJECT] * 5, *[Part("word", 64)] * rank, *[OBJECT] * rank]
    return [Part("word", width) for width in widths_of(type_, settings)]


class PythonLowering(FunctionLowering):
    """Lowers the ops of one function to Python."""

    program: PythonProgram
    emit: PythonEmitter

    def __init__(self, program: PythonProgram, op: Operation, name: str) -> None:
        super().__init__(program, op, PythonEmitter(program.names, program.keeps_numbers))
        self._name = name

    def lower(self) -> list[str]:
        """Return the lines of the function. Raises NotCompiled."""
        emit = self.emit
        types = [part for type_ in argument_types(self.op) for part in self.types_of(type_)]
        parameters = [Held(part.width, emit.fresh()) for part in types]
        self.arguments([*parameters])
        body = emit.lines()
        self.program.grown(len(body), complete=True)
        names = ", ".join(["context", "cells", "steps", "depth", *(str(each.text) for each in parameters)])
        return [f"def {self._name}({names}):", f" {', '.join(CELLS)} = cells", *(" " + line for line in body)]

    # --- what code is made of ---

    def types_of(self, type_: ty.Type) -> list[Part]:
        """See `FunctionLowering`."""
        return types_of(type_, self.settings)

    def memref(self, type_: ty.MemRefType, parts: Sequence[Any]) -> Memref:
        """See `FunctionLowering`."""
        memory, codes, numbers, poison, offset, *rest = parts
        rank = len(rest) // 2
        assert type_.shape is not None
        sizes = tuple(
            self.emit.word(held) if size is None else self.emit.number(size)
            for held, size in zip(rest[:rank], type_.shape, strict=True)
        )
        strides = tuple(rest[rank:])
        return PythonPlace(self.emit, type_, memory, poison, offset, sizes, strides, codes=codes, numbers=numbers)

    def grown(self) -> None:
        """See `FunctionLowering`."""
        self.program.grown(self.emit.size)

    def pay(self, cost: int) -> None:
        """See `FunctionLowering`."""
        self.emit.line(f"steps -= {cost}")
        self.emit.line("if steps < 0: raise STOP")

    def counted(
        self, op: Operation, first: Word, end: Word, step: Word, initial: Sequence[Item], signed: bool = True
    ) -> None:
        """See `FunctionLowering`."""
        emit, block = self.emit, op.regions[0].blocks[0]
        emit.stop_if(step.at_most(0, signed).held)
        arrive, follow = self.joint(op)
        body, variables = self.target(block)
        types = [part for argument in block.arguments for part in self.types_of(argument.type)][1:]
        trips, least, plain = emit.fresh(), first.held.constant, variables[0].name
        # Numbers that begin above zero stay there, and are codes.
        negative = signed and (least is None or least >> (first.width - 1))
        position = emit.fresh() if negative else plain
        bounds = ", ".join([self._numbered(word, signed) for word in (first, end, step)])
        emit.line(f"{trips} = iter(range({bounds}))")
        head, after = emit.label(), emit.label()
        self.assign(variables[1:], initial)
        emit.jump(head)
        emit.begin(head)
        begin = emit.label() if negative else body
        emit.iterate(trips, position, begin, after)
        if negative:
            emit.begin(begin)
            emit.set(variables[0], Held(first.width, f"{position} & {(1 << first.width) - 1}"))
            emit.jump(body)

        def again(items: Sequence[Item]) -> None:
            self.assign(variables[1:], items)
            emit.jump(head)

        self.region(op.regions[0], again)
        emit.begin(after)
        held = [emit.get(variable, part) for variable, part in zip(variables[1:], types, strict=True)]
        arrive(self.regrouped(held, [argument.type for argument in block.arguments[1:]]))
        follow()

    def _numbered(self, word: Word, signed: bool) -> str:
        return self.emit.signed(word.held) if signed else self.emit.text(word.held)

    def called(self, number: int, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """See `FunctionLowering`."""
        emit = self.emit
        # A word of one bit may be a bool, which no function of the executor knows.
        passed = [f"+{emit.text(each)}" if each.width == 1 else emit.text(each) for each in operands]
        found = emit.fresh()
        emit.line(f"{found} = host{number}({', '.join(['context', *passed])})")
        if len(types) == 1:
            emit.line(f"if {found}.__class__ is not int: {found} = only({found})")
            return [Held(types[0].width, found)]
        names = [emit.fresh() for _ in types]
        emit.line(f"if {found}.__class__ is not tuple: raise STOP")
        if names:
            emit.line(f"{', '.join(names)}, = {found}")
        return [Held(part.width, name) for name, part in zip(names, types, strict=True)]

    def call(self, op: Operation, target: Operation, values: Sequence[SSAValue]) -> None:
        """See `FunctionLowering`."""
        emit = self.emit
        types = [part for result in op.results for part in self.types_of(result.type)]
        found = [Held(part.width, emit.fresh()) for part in types]
        passed = [emit.text(part) for item in self.items(values) for part in parts_of(item)]
        emit.line("if depth < 1: raise STOP")
        taken = ", ".join(["steps", *(str(each.text) for each in found)])
        given = ", ".join(["context", "cells", "steps", "depth - 1", *passed])
        emit.line(f"{taken}, = {self.program.function(target)}({given})")
        self.put(op, *self.regrouped([*found], [result.type for result in op.results]))

    def leave(self, values: Sequence[SSAValue]) -> None:
        """See `FunctionLowering`."""
        held = [self.emit.text(part) for item in self.items(values) for part in parts_of(item)]
        self.emit.returns(", ".join(["steps", *held]) + ",")
