"""Lower functions to assembly: their parts, calls, limits.

The words that all code of a run shares (`STEPS` and so on, then the addresses of tables) are its state. A function
takes the address of the state and its arguments, taken apart to words. It returns `DONE` with results, or `STOPPED`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from halfulp.fp_formats.paths.emitter import DONE, Emitter, Tables
from halfulp.fp_formats.paths.llvm import ir
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.compiled.context import HostFunction
from halfulp.interp.run.compiled.covering import NotCompiled
from halfulp.interp.run.compiled.functions import FunctionLowering, Memref, parts_of, widths_of
from halfulp.interp.run.compiled.places import Place, rank_of
from halfulp.interp.run.compiler import CodeStore
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types, result_types

STEPS, GENERAL, DEPTH, FIRST_TABLE = range(4)
"""The words of the state: the steps left, the address of the way back into Python, the calls left."""

_MOST = 256
"""The operands that the general way of an op may have."""
DEEPEST = 2_000
"""The nested calls of compiled code: each takes some of the C stack."""
_STACK = 1 << 20
"""The bytes of the C stack that recursion may take."""
_FRAME = 512
"""The bytes of the C stack that a call takes beside its values."""
_LARGEST = 20_000
"""The instructions that a program may have: compilation takes about 2 s for so many."""


class ProgramLowering:
    """The assembly of an entry and of all functions that it calls.

    ``tables``, ``functions``: what code reads and calls, by number. ``writes``: it may write to memory.
    """

    def __init__(self, store: CodeStore) -> None:
        self.store = store
        self.module = ir().Module()
        self.tables = Tables()
        self.functions: list[HostFunction] = []
        self.writes = False
        self._functions: dict[Operation, Any] = {}
        self._waiting: list[Operation] = []
        self.calls: dict[Operation, set[Operation]] = {}
        self._size = 0
        self._numbers: dict[int, int] = {}
        self._ways: dict[tuple[Any, ...], Any] = {}
        self._kept: list[Any] = []  # so that no number is given twice

    def number(self, function: Any, make: Callable[[], HostFunction]) -> int:
        """Return the number of what is called; ``make`` makes it for a new ``function``."""
        number = self._numbers.get(id(function))
        if number is None:
            number = self._numbers[id(function)] = len(self.functions)
            self.functions.append(make())
            self._kept.append(function)
        return number

    def function(self, op: Operation) -> Any:
        """Return the function of the assembly for one of the program, which is lowered later."""
        found = self._functions.get(op)
        if found is None:
            if not op.regions or not op.regions[0].blocks:
                raise NotCompiled(f"@{op.symbol_name} has no body")
            settings = self.store.settings
            inputs = [type_ for each in argument_types(op) for type_ in types_of(each, settings)]
            outputs = [type_ for each in result_types(op) for type_ in types_of(each, settings)]
            type_ = ir().FunctionType(
                ir().LiteralStructType([ir().IntType(32), *outputs]), [ir().PointerType(), *inputs]
            )
            found = self._functions[op] = ir().Function(self.module, type_, f"f{len(self._functions)}")
            found.linkage = "internal"
            found.args[0].add_attribute("noalias")
            self._waiting.append(op)
        return found

    def way_back(self, number: int, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Return the function of the assembly that calls a function of Python: there are many calls, and few run."""
        key = (number, *map(str, inputs), None, *map(str, outputs))
        found = self._ways.get(key)
        if found is not None:
            return found
        if max(len(inputs) + 1, len(outputs)) > _MOST:
            raise NotCompiled("so many operands")
        make = ir()
        type_ = make.FunctionType(make.LiteralStructType([make.IntType(32), *outputs]), [make.PointerType(), *inputs])
        function = self._ways[key] = make.Function(self.module, type_, f"back{len(self._ways)}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("cold")
        emit = Emitter(function, self.tables, FIRST_TABLE)
        words = emit.array(_MOST)
        for place, word in enumerate((emit.constant(len(inputs), 64), *function.args[1:])):
            emit.store(words, emit.constant(place, 64), as_word(emit, word))
        general = make.FunctionType(emit.word_type, [emit.word_type, emit.pointer])
        status = emit.call_address(emit.shared(GENERAL), general, [emit.constant(number, 64), words])
        emit.stop_if(emit.relation("!=", status, emit.constant(0, 64)))
        found = [emit.load(words, emit.constant(place, 64), 64) for place in range(len(outputs))]
        held = [as_held(emit, word, type_) for word, type_ in zip(found, outputs, strict=True)]
        emit.builder.ret(returned(emit, function, held))
        emit.finish()
        return function

    def all_of(self, op: Operation) -> Any:
        """Return the function of the assembly for one of the program, and lower it with all that it calls. Raises
        NotCompiled.
        """
        target = self.function(op)
        while self._waiting:
            each = self._waiting.pop()
            AssemblyLowering(self, each, self._functions[each]).lower()
        return target

    def grown(self, blocks: Sequence[Any]) -> None:
        """Count blocks of the assembly that are complete. Raises NotCompiled where there are too many instructions."""
        self._size += sum(len(block.instructions) for block in blocks)
        if self._size > _LARGEST:
            raise NotCompiled("so many ops that compilation takes long")

    @property
    def deepest(self) -> int:
        """The nested calls for which the stack is large enough, with any stack that threads usually have."""
        try:
            TopologicalSorter(self.calls).prepare()
        except CycleError:
            # At worst LLVM puts all functions into one, and keeps every value on the stack.
            values = sum(len(block.instructions) for function in self.module.functions for block in function.blocks)
            return min(DEEPEST, _STACK // (_FRAME + 8 * values))
        return DEEPEST

    def lower(self, op: Operation, clean: bool) -> str:
        """Return the assembly with an entry ``i32 entry(state, arguments, results)`` for a function; arguments and
        results are arrays of words of 64 bits. ``clean``: no memory that is passed holds poison. Raises NotCompiled.
        """
        target = self.all_of(op)
        make, pointer = ir(), ir().PointerType()
        entry = make.Function(self.module, make.FunctionType(make.IntType(32), [pointer] * 3), "entry")
        emit = Emitter(entry, self.tables, FIRST_TABLE)
        passed = [entry.args[0]]
        masks = poison_parts(op, self.store.settings)
        for number, type_ in enumerate(target.function_type.args[1:]):
            word = emit.load(entry.args[1], emit.constant(number, 64), 64)
            passed.append(make.Constant(pointer, None) if clean and number in masks else as_held(emit, word, type_))
        result = emit.builder.call(target, passed)
        for number in range(1, len(target.function_type.return_type.elements)):
            held = emit.builder.extract_value(result, number)
            emit.store(entry.args[2], emit.constant(number - 1, 64), as_word(emit, held))
        emit.builder.ret(emit.builder.extract_value(result, 0))
        emit.finish()
        return str(self.module)


def returned(emit: Emitter, function: Any, held: Sequence[Any]) -> Any:
    """Return what a function that has come to its end returns: `DONE` and its results."""
    result = emit.ir.Constant(function.function_type.return_type, emit.ir.Undefined)
    for number, part in enumerate((emit.constant(DONE, 32), *held)):
        result = emit.builder.insert_value(result, part, number)
    return result


def poison_parts(op: Operation, settings: Settings) -> set[int]:
    """Return the numbers of the parts of a function's arguments that are addresses of poison."""
    found, number = set(), 0
    for type_ in argument_types(op):
        if isinstance(type_, ty.MemRefType):
            found.add(number + 1)
        number += len(types_of(type_, settings))
    return found


def as_held(emit: Emitter, word: Any, type_: Any) -> Any:
    """Return a word of 64 bits as a value of a type of the assembly."""
    if type_ == emit.pointer:
        return emit.builder.inttoptr(word, type_)
    return word if type_.width == 64 else emit.builder.trunc(word, type_)


def as_word(emit: Emitter, held: Any) -> Any:
    """Return a value of the assembly as a word of 64 bits."""
    if held.type == emit.pointer:
        return emit.builder.ptrtoint(held, emit.word_type)
    return held if held.type.width == 64 else emit.builder.zext(held, emit.word_type)


def types_of(type_: ty.Type, settings: Settings) -> list[Any]:
    """Return the types of the assembly for the parts of a value. Raises NotCompiled."""
    make = ir()
    if isinstance(type_, ty.MemRefType):
        rank = rank_of(type_)
        return [*[make.PointerType()] * 2, make.IntType(1), *[make.IntType(64)] * (1 + 2 * rank)]
    return [make.IntType(width) for width in widths_of(type_, settings)]


class AssemblyLowering(FunctionLowering):
    """Lowers the ops of one function to assembly."""

    program: ProgramLowering
    emit: Emitter

    def __init__(self, program: ProgramLowering, op: Operation, function: Any) -> None:
        super().__init__(program, op, Emitter(function, program.tables, FIRST_TABLE))
        self.function = function
        self._counted = 0

    def lower(self) -> None:
        """Lower the function. Raises NotCompiled."""
        self.arguments(list(self.function.args[1:]))
        self.emit.finish()
        self.program.grown(self.function.blocks[self._counted :])

    def types_of(self, type_: ty.Type) -> list[Any]:
        """See `FunctionLowering`."""
        return types_of(type_, self.settings)

    def memref(self, type_: ty.MemRefType, parts: Sequence[Any]) -> Memref:
        """See `FunctionLowering`."""
        return Place.of(self.emit, type_, parts)

    def grown(self) -> None:
        """Count the instructions so far, but for those of the last block."""
        blocks = self.function.blocks
        self.program.grown(blocks[self._counted : -1])
        self._counted = len(blocks) - 1

    def pay(self, cost: int) -> None:
        """See `FunctionLowering`."""
        emit = self.emit
        left = emit.builder.sub(emit.shared(STEPS), emit.constant(cost, 64))
        emit.share(STEPS, left)
        emit.stop_if(emit.relation("s<", left, emit.constant(0, 64)))

    def called(self, number: int, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """See `FunctionLowering`."""
        emit = self.emit
        way = self.program.way_back(number, [operand.type for operand in operands], types)
        result = emit.builder.call(way, [emit.state, *operands])
        emit.stop_if(emit.relation("!=", emit.builder.extract_value(result, 0), emit.constant(DONE, 32)))
        return [emit.builder.extract_value(result, place) for place in range(1, len(types) + 1)]

    def call(self, op: Operation, target: Operation, values: Sequence[SSAValue]) -> None:
        """See `FunctionLowering`."""
        emit = self.emit
        called = self.program.function(target)
        self.program.calls.setdefault(self.op, set()).add(target)
        left = emit.builder.sub(emit.shared(DEPTH), emit.constant(1, 64))
        emit.stop_if(emit.relation("s<", left, emit.constant(0, 64)))
        emit.share(DEPTH, left)
        held = [part for item in self.items(values) for part in parts_of(item)]
        result = emit.builder.call(called, [emit.state, *held])
        emit.stop_if(emit.relation("!=", emit.builder.extract_value(result, 0), emit.constant(DONE, 32)))
        emit.share(DEPTH, emit.builder.add(left, emit.constant(1, 64)))
        count = len(called.function_type.return_type.elements)
        parts = [emit.builder.extract_value(result, number) for number in range(1, count)]
        self.put(op, *self.regrouped(parts, [value.type for value in op.results]))

    def leave(self, values: Sequence[SSAValue]) -> None:
        """See `FunctionLowering`."""
        held = [part for item in self.items(values) for part in parts_of(item)]
        self.emit.builder.ret(returned(self.emit, self.function, held))
