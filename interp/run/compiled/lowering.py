"""Lower a function of a program, with all functions that it calls, to assembly: values, blocks and regions, the entry
and limits. The lowering of single ops is defined with their dialects.

The words that all code of a run shares (`STEPS` and so on, then the addresses of tables) are its state. A function
takes the address of the state and its arguments, split into words. It returns `DONE` with results, or `STOPPED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from operator import is_
from typing import Any

from halfulp.fp_formats.paths.emitter import DONE, Emitter, General, Tables, natural
from halfulp.fp_formats.paths.llvm import ir
from halfulp.fp_formats.paths.words import Word
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue, argument_types, result_types
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.compiled.context import Context, HostFunction, masks_of, words_of
from halfulp.interp.run.compiler import CodeStore, FunctionCompiler, means_one_thing
from halfulp.interp.run.evaluators import Constant, Elementwise, OnFrames, OnValues, evaluator_of
from halfulp.interp.run.frames import Run, lift, lower
from halfulp.interp.run.limits import Elements, NotCompiled, count_of, is_silent, made_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.steps import specified_scalar
from halfulp.interp.values.memref_layout import is_mapped
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel

# --- memref addresses -------------------------------------------------------------------------------------------------
#
# Memrefs inside of compiled code: addresses, sizes and strides.


def rank_of(type_: ty.MemRefType) -> int:
    """Return the rank of a memref that code can address. Raises NotCompiled for any other memref."""
    width = element_width(type_.element) if not isinstance(type_.element, ty.ShapedType) else None
    scalar = isinstance(type_.element, ty.IntegerType | ty.FloatType | ty.IndexType)
    if type_.shape is None or not scalar or width is None or not 0 < width <= 64 or is_mapped(type_):
        raise NotCompiled(f"memory of type '{type_}'")
    return len(type_.shape)


@dataclass(frozen=True, slots=True)
class Memref:
    """A memref in machine code. Its offset, sizes and strides count elements."""

    emit: Emitter
    type: ty.MemRefType
    #: The address of its memory.
    base: Any
    #: The address of the poison of its memory; 0 for memory that has no poison.
    poison: Any
    offset: Word
    sizes: tuple[Word, ...]
    strides: tuple[Word, ...]
    #: A word of one bit, 1 if the memory must not be written.
    constant: Any

    @staticmethod
    def of(emit: Emitter, type_: ty.MemRefType, parts: Sequence[Any]) -> Memref:
        """Make a memref from its `parts`. Sizes that the type states are constants."""
        base, poison, constant, offset, *rest = parts
        rank = len(rest) // 2
        assert type_.shape is not None
        sizes = tuple(
            emit.word(held) if size is None else emit.number(size)
            for held, size in zip(rest[:rank], type_.shape, strict=True)
        )
        return Memref(emit, type_, base, poison, emit.word(offset), sizes, tuple(map(emit.word, rest[rank:])), constant)

    def parts(self) -> list[Any]:
        """Return the parts in which a memref is passed, as `of` takes them."""
        numbers = (self.offset, *self.sizes, *self.strides)
        return [self.base, self.poison, self.constant, *(number.held for number in numbers)]

    def index(self, indices: Sequence[Word]) -> Word:
        """Make the code that computes the place of an element in memory, and return the place. The code stops the run
        if an index is outside of the memref.
        """
        for index, size in zip(indices, self.sizes, strict=True):
            # A negative index is a large code.
            self.emit.stop_if((~index.less(size, signed=False)).held)
        return self.start(indices)

    def start(self, indices: Sequence[Word]) -> Word:
        """Make the code that computes the place of an element in memory without a check, and return the place. It may
        be outside of the memory.
        """
        place = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            place = place + index * stride
        return place

    def moved(self, place: Word, steps: Sequence[tuple[int, int]]) -> Word:
        """Make the code that moves a place by some elements along dimensions, and return the new place. ``steps``:
        pairs of a dimension and a number of elements.
        """
        for dimension, count in steps:
            place = place + self.strides[dimension] * count
        return place

    def load(self, place: Word, width: int) -> Word:
        """Make the code that loads the element at a place in memory, and return it. The code stops the run if the
        element is poison.
        """
        emit = self.emit
        with self._where_poison_may_be():
            emit.stop_if(emit.relation("!=", emit.load(self.poison, place.held, 16), emit.constant(0, 16)))
        return emit.word(emit.load(self.base, place.held, natural(width))).resized(width)

    def store(self, place: Word, value: Word) -> None:
        """Make the code that stores the element at a place in memory. The code stops the run if that memory is
        constant.
        """
        emit = self.emit
        emit.stop_if(self.constant)
        with self._where_poison_may_be():
            emit.store(self.poison, place.held, emit.constant(0, 16))
        emit.store(self.base, place.held, value.resized(natural(value.width)).held)

    @contextmanager
    def _where_poison_may_be(self) -> Iterator[None]:
        """Make instructions that run only if the memory has a mask of poison."""
        emit = self.emit
        masked, on = emit.label(), emit.label()
        known = emit.builder.icmp_unsigned("!=", self.poison, emit.ir.Constant(emit.pointer, None))
        emit.branch(known, masked, on)
        emit.begin(masked)
        yield
        emit.jump(on)
        emit.begin(on)


# --- lowering ---------------------------------------------------------------------------------------------------------

STEPS, GENERAL, DEPTH, REST, FIRST_TABLE = range(5)
"""The words of the state: the steps left of a slice, the address of the way back into Python, the calls left, the steps
after the slice. Between slices Python runs, which notices an interrupt.
"""
SLICE = 1 << 20
"""The steps of a slice: some milliseconds."""
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
_NESTED = 50
"""The regions that may lie in each other: they are lowered by recursion."""


def _next_slice(_: Context, left: int, rest: int) -> tuple[int, int] | None:
    """Return the steps left of the next slice, and those after it. Return None if too few are left. ``left``: how many
    are missing, as a negative number in 64 bits.
    """
    count = min(rest, SLICE)
    steps = left + count - (1 << 64)
    return (steps, rest - count) if steps >= 0 else None


@dataclass(frozen=True, slots=True)
class PoisonItem:
    """A value that is poison. Only ops that the executor runs can use it. ``slot``: a function that makes it in the
    form of slots.
    """

    slot: Callable[[Run], Any]


Item = Word | Elements | Memref | PoisonItem
"""A value inside of code."""
OnYield = Callable[[Sequence[Item]], None]


def width_of_scalar(type_: ty.Type, settings: Settings) -> int:
    """Return the number of bits of a scalar. Raises NotCompiled for any other type, and for 0 or more than 64 bits."""
    if isinstance(type_, ty.IntegerType | ty.FloatType | ty.IndexType):
        width = settings.width(type_)
        if 0 < width <= 64:
            return width
    raise NotCompiled(f"values of type '{type_}'")


def widths_of(type_: ty.Type, settings: Settings) -> list[int]:
    """Return the numbers of bits of the words of a scalar or vector. Raises NotCompiled."""
    count = count_of(type_)
    if count is None:
        raise NotCompiled(f"values of type '{type_}'")
    return [width_of_scalar(ty.element_type(type_), settings)] * count


def types_of(type_: ty.Type, settings: Settings) -> list[Any]:
    """Return the types of the assembly for the parts of a value. Raises NotCompiled."""
    make = ir()
    if isinstance(type_, ty.MemRefType):
        rank = rank_of(type_)
        return [*[make.PointerType()] * 2, make.IntType(1), *[make.IntType(64)] * (1 + 2 * rank)]
    return [make.IntType(width) for width in widths_of(type_, settings)]


def returned(emit: Emitter, function: Any, held: Sequence[Any]) -> Any:
    """Return the value that a function returns at its normal end: `DONE`, and the results ``held``."""
    result = emit.ir.Constant(function.function_type.return_type, emit.ir.Undefined)
    for number, part in enumerate((emit.constant(DONE, 32), *held)):
        result = emit.builder.insert_value(result, part, number)
    return result


class ProgramLowering:
    """The assembly of an entry and of all functions that it calls.

    ``tables``, ``functions``: the tables that code reads and the functions that it calls, by number. ``writes``: it may
    write to memory.
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
        self._ways: dict[Any, Any] = {}
        self._kept: list[Any] = []  # so that no number is given twice

    def number(self, function: Any, make: Callable[[], HostFunction]) -> int:
        """Return the number of a function that code calls; ``make`` makes the entry for a new ``function``."""
        number = self._numbers.get(id(function))
        if number is None:
            number = self._numbers[id(function)] = len(self.functions)
            self.functions.append(make())
            self._kept.append(function)
        return number

    def function(self, op: Operation) -> Any:
        """Return the function of the assembly that stands for ``op``, a function of the program. It is
        lowered later.
        """
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
        """Return a function of the assembly that calls Python function number ``number``. The call is in a function of
        its own, because there are many such calls, of which few run.
        """
        key = (number, *map(str, inputs), None, *map(str, outputs))
        found = self._ways.get(key)
        if found is not None:
            return found
        if max(len(inputs) + 2, len(outputs)) > _MOST:
            raise NotCompiled("too many operands")
        make = ir()
        type_ = make.FunctionType(make.LiteralStructType([make.IntType(32), *outputs]), [make.PointerType(), *inputs])
        function = self._ways[key] = make.Function(self.module, type_, f"back{len(self._ways)}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("cold")
        emit = Emitter(function, self.tables, FIRST_TABLE)
        words = emit.array(_MOST)
        heads = emit.constant(number, 64), emit.constant(len(inputs), 64)
        for place, word in enumerate((*heads, *function.args[1:])):
            emit.store(words, emit.constant(place, 64), as_word(emit, word))
        general = make.FunctionType(emit.word_type, [emit.pointer])
        status = emit.call_address(emit.shared(GENERAL), general, [words])
        emit.stop_if(emit.relation("!=", status, emit.constant(0, 64)))
        found = [emit.load(words, emit.constant(place, 64), 64) for place in range(len(outputs))]
        held = [as_held(emit, word, type_) for word, type_ in zip(found, outputs, strict=True)]
        emit.builder.ret(returned(emit, function, held))
        emit.finish()
        return function

    def next_slice(self) -> Any:
        """Return a function of the assembly that starts the next slice of steps."""
        found = self._ways.get(_next_slice)
        if found is not None:
            return found
        make = ir()
        words = [make.IntType(64)] * 2
        way = self.way_back(self.number(_next_slice, lambda: _next_slice), words, words)
        type_ = make.FunctionType(make.LiteralStructType([make.IntType(32)]), [make.PointerType()])
        function = self._ways[_next_slice] = make.Function(self.module, type_, "next_slice")
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("cold")
        emit = Emitter(function, self.tables, FIRST_TABLE)
        result = emit.builder.call(way, [emit.state, emit.shared(STEPS), emit.shared(REST)])
        emit.stop_if(emit.relation("!=", emit.builder.extract_value(result, 0), emit.constant(DONE, 32)))
        for place, word in enumerate((STEPS, REST), 1):
            emit.share(word, emit.builder.extract_value(result, place))
        emit.builder.ret(returned(emit, function, []))
        emit.finish()
        return function

    def all_of(self, op: Operation) -> Any:
        """Return the function of the assembly that stands for ``op``, a function of the program, after it was lowered
        with all that it calls. Raises NotCompiled.
        """
        target = self.function(op)
        while self._waiting:
            each = self._waiting.pop()
            FunctionLowering(self, each, self._functions[each]).lower()
        return target

    def grown(self, blocks: Sequence[Any]) -> None:
        """Count the complete blocks of a function of the assembly. Raises NotCompiled if there are too many
        instructions.
        """
        self._size += sum(len(block.instructions) for block in blocks)
        if self._size > _LARGEST:
            raise NotCompiled("too many ops")

    @property
    def deepest(self) -> int:
        """The number of nested calls for which the stack of a usual thread is always large enough."""
        try:
            TopologicalSorter(self.calls).prepare()
        except CycleError:
            # At worst LLVM puts all functions into one, and keeps every value on the stack.
            values = sum(len(block.instructions) for function in self.module.functions for block in function.blocks)
            return min(DEEPEST, _STACK // (_FRAME + 8 * values))
        return DEEPEST

    def lower(self, op: Operation, clean: bool) -> str:
        """Return the assembly with an entry ``i32 entry(state, arguments, results)`` for a function; arguments and
        results are arrays of words of 64 bits. ``clean``: no memory that is passed has poison. Raises NotCompiled.
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


def poison_parts(op: Operation, settings: Settings) -> set[int]:
    """Return the numbers of the parts of a function's arguments that are addresses of poison."""
    found, number = set(), 0
    for type_ in argument_types(op):
        if isinstance(type_, ty.MemRefType):
            found.add(number + 1)
        number += len(types_of(type_, settings))
    return found


def as_held(emit: Emitter, word: Any, type_: Any) -> Any:
    """Make the code that converts a word of 64 bits to a value of ``type_``, and return the value."""
    if type_ == emit.pointer:
        return emit.builder.inttoptr(word, type_)
    return word if type_.width == 64 else emit.builder.trunc(word, type_)


def as_word(emit: Emitter, held: Any) -> Any:
    """Make the code that converts a value to a word of 64 bits, and return the word."""
    if held.type == emit.pointer:
        return emit.builder.ptrtoint(held, emit.word_type)
    return held if held.type.width == 64 else emit.builder.zext(held, emit.word_type)


class FunctionLowering:
    """Lowers the ops of one function. Ops find their operands with `word` and `place`, and give results with `put`.

    ``emit``: makes its instructions.
    """

    def __init__(self, program: ProgramLowering, op: Operation, function: Any) -> None:
        self.program = program
        self.op = op
        self.function = function
        self._counted = 0
        self.compiler = FunctionCompiler(program.store, op)
        self.settings = self.compiler.settings
        self.emit = Emitter(function, program.tables, FIRST_TABLE)
        self._values: dict[SSAValue, Item] = {}
        self._blocks: dict[Block, tuple[Any, list[Any]]] = {}
        self._on_yield: OnYield | None = None
        self._depth = 0

    # --- what code is made of ---

    def lower(self) -> None:
        """Make the machine code of the function. Raises NotCompiled."""
        self._begin(list(self.function.args[1:]))
        self.emit.finish()
        self.program.grown(self.function.blocks[self._counted :])

    def types_of(self, type_: ty.Type) -> list[Any]:
        """Return the types of the parts of a value. Raises NotCompiled."""
        return types_of(type_, self.settings)

    def _grown(self) -> None:
        """Count the instructions so far, except those of the last block. Raises NotCompiled if there are too many."""
        blocks = self.function.blocks
        self.program.grown(blocks[self._counted : -1])
        self._counted = len(blocks) - 1

    def pay(self, cost: int) -> None:
        """Make the code that subtracts ``cost`` steps from those that are left of the slice, and starts the next slice
        if none are left. It stops the run at the end of the last one.
        """
        emit = self.emit
        left = emit.builder.sub(emit.shared(STEPS), emit.constant(cost, 64))
        emit.share(STEPS, left)
        ended, stop, on = emit.label(), emit.stopping(), emit.label()
        emit.branch(emit.relation("s<", left, emit.constant(0, 64)), ended, on)
        emit.begin(ended)
        result = emit.builder.call(self.program.next_slice(), [emit.state])
        emit.branch(emit.relation("!=", emit.builder.extract_value(result, 0), emit.constant(DONE, 32)), stop, on)
        emit.begin(on)

    def called(self, number: int, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Make the code that calls Python function number ``number``, and return its results. It stops the run if the
        function returns no words.
        """
        emit = self.emit
        way = self.program.way_back(number, [operand.type for operand in operands], types)
        result = emit.builder.call(way, [emit.state, *operands])
        emit.stop_if(emit.relation("!=", emit.builder.extract_value(result, 0), emit.constant(DONE, 32)))
        return [emit.builder.extract_value(result, place) for place in range(1, len(types) + 1)]

    def call(self, op: Operation, target: Operation, values: Sequence[SSAValue]) -> None:
        """Make the machine code of a call of a function of the program that has a body."""
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
        """Make the machine code of the return of the function."""
        held = [part for item in self.items(values) for part in parts_of(item)]
        self.emit.builder.ret(returned(self.emit, self.function, held))

    # --- values ---

    def _begin(self, held: list[Any]) -> None:
        """Begin the function with the parts of its arguments."""
        region = self.op.regions[0]
        self.go(region.blocks[0], self.regrouped(held, [argument.type for argument in region.blocks[0].arguments]))
        self.region(region, None)

    def regrouped(self, held: list[Any], types: Sequence[ty.Type]) -> list[Item]:
        """Return the values of these types that consist of the parts ``held``, in order."""
        items: list[Item] = []
        for type_ in types:
            count = len(self.types_of(type_))
            parts, held = held[:count], held[count:]
            if isinstance(type_, ty.MemRefType):
                items.append(Memref.of(self.emit, type_, parts))
            else:
                items.append(made_of(type_, [self.emit.word(part) for part in parts]))
        return items

    def word(self, value: SSAValue) -> Word:
        """Return the word of a scalar. Raises NotCompiled if the value is not a scalar."""
        found = self._values[value]
        if not isinstance(found, Word):
            raise NotCompiled(f"a value of type '{value.type}' where a scalar is expected")
        return found

    def elements(self, value: SSAValue) -> tuple[Word, ...]:
        """Return the words of the elements of a vector; for a scalar, its only word."""
        found = self._values[value]
        return found.words if isinstance(found, Elements) else (self.word(value),)

    def items(self, values: Sequence[SSAValue]) -> list[Item]:
        """Return what represents some values in the machine code: words, vectors, memrefs or poison."""
        return [self._values[value] for value in values]

    def words(self, values: Sequence[SSAValue]) -> list[Word]:
        """Return the words of some scalars."""
        return [self.word(value) for value in values]

    def place(self, value: SSAValue) -> Memref:
        """Return the memref that a value is. Raises NotCompiled if the value is not a memref."""
        found = self._values[value]
        if not isinstance(found, Memref):
            raise NotCompiled(f"a value of type '{value.type}' where memory is expected")
        return found

    def width(self, type_: ty.Type) -> int:
        """Return the number of bits of a scalar. Raises NotCompiled for a value that code cannot hold."""
        return width_of_scalar(type_, self.settings)

    def check(self, type_: ty.Type) -> None:
        """Raise NotCompiled for a value that code cannot hold."""
        self.types_of(type_)

    def put(self, op: Operation, *items: Item) -> None:
        """Set the results of an op."""
        for result, item in zip(op.results, items, strict=True):
            self._values[result] = item

    # --- blocks ---

    def _variables(self, types: Sequence[ty.Type]) -> list[Any]:
        """Make the variables for the parts of values."""
        found = []
        for type_ in types:
            floats = not isinstance(type_, ty.MemRefType) and isinstance(ty.element_type(type_), ty.FloatType)
            for part in self.types_of(type_):
                is_float = floats and part.width in (32, 64)
                found.append(self.emit.variable(self.emit.float_type(part.width) if is_float else part))
        return found

    def region(self, region: Region, on_yield: OnYield | None) -> None:
        """Make the machine code of the blocks of a region. ``on_yield`` is called for each of its terminators, with the
        values that it passes.
        """
        outer, self._on_yield = self._on_yield, on_yield
        self._depth += 1
        if self._depth > _NESTED:
            raise NotCompiled("regions that are nested too deeply")
        for block in in_order(region.blocks[0]) if region.blocks else ():
            self._block(block)
        self._depth -= 1
        self._on_yield = outer

    def ways(self, condition: Word, *ways: Callable[[], None]) -> None:
        """Make the machine code of a branch to one of two parts. The first runs if the condition, of one bit, is 1,
        else the second. ``ways``: functions that make the parts, each of which ends in a jump.
        """
        labels = [self.emit.label() for _ in ways]
        self.emit.branch(condition.held, *labels)
        for label, way in zip(labels, ways, strict=True):
            self.emit.begin(label)
            way()

    def joint(self, op: Operation) -> tuple[OnYield, Callable[[], None]]:
        """Return the two functions that end an op with regions. The first is called with the results of the op, and
        continues after it. The second is called once at the end, and makes the code that follows.
        """
        label, types = self.emit.label(), [value.type for value in op.results]
        parts = [part for type_ in types for part in self.types_of(type_)]
        variables = self._variables(types)

        def arrive(items: Sequence[Item]) -> None:
            self.assign(variables, items)
            self.emit.jump(label)

        def follow() -> None:
            self.emit.begin(label)
            held = [self.emit.get(variable, part) for variable, part in zip(variables, parts, strict=True)]
            self.put(op, *self.regrouped(held, types))

        return arrive, follow

    def counted(
        self, op: Operation, first: Word, end: Word, step: Word, initial: Sequence[Item], signed: bool = True
    ) -> None:
        """Make the machine code of a loop with one region, whose first argument counts from ``first`` by ``step`` to
        below ``end``. The run stops at a step that is not positive, and if the type does not have the value after the
        last one. The other arguments are carried from trip to trip; their values after the last trip are the results.
        """
        emit, block = self.emit, op.regions[0].blocks[0]
        emit.stop_if(step.at_most(0, signed).held)
        # The number of trips fits the width, also where the next value of the induction variable would not.
        trips = (end - first - 1).divide(step, signed=False) + 1
        trips = first.less(end, signed).choose(trips, trips.of(0))
        room = first.of((1 << (first.width - signed)) - 1) - first
        emit.stop_if(room.divide(step, signed=False).less(trips, signed=False).held)
        arrive, follow = self.joint(op)
        left = emit.variable(trips.held.type)
        emit.set(left, trips.held)
        self.ways(trips.equals(0), lambda: arrive(initial), lambda: self.go(block, [first, *initial]))

        def again(items: Sequence[Item]) -> None:
            rest = emit.word(emit.get(left, trips.held.type)) - 1
            emit.set(left, rest.held)
            following = self.word(block.arguments[0]) + step
            self.ways(rest.equals(0), lambda: arrive(items), lambda: self.go(block, [following, *items]))

        self.region(op.regions[0], again)
        follow()

    def yielded(self, values: Sequence[SSAValue]) -> None:
        """Make the machine code of a terminator whose meaning the op around its region defines."""
        assert self._on_yield is not None
        self._on_yield(self.items(values))

    def go(self, block: Block, items: Sequence[Item]) -> None:
        """Make a jump to a block, with the values of its arguments."""
        label, variables = self.target(block)
        self.assign(variables, items)
        self.emit.jump(label)

    def assign(self, variables: Sequence[Any], items: Sequence[Item]) -> None:
        """Write the parts of values to variables."""
        held = [part for item in items for part in parts_of(item)]
        for variable, part in zip(variables, held, strict=True):
            self.emit.set(variable, part)

    def target(self, block: Block) -> tuple[Any, list[Any]]:
        """Return the label of a block, and the variables that hold its arguments."""
        found = self._blocks.get(block)
        if found is None:
            variables = self._variables([argument.type for argument in block.arguments])
            found = self._blocks[block] = self.emit.label(), variables
        return found

    def _block(self, block: Block) -> None:
        emit = self.emit
        label, variables = self.target(block)
        emit.begin(label)
        types = [part for a in block.arguments for part in self.types_of(a.type)]
        held = [emit.get(variable, type_) for variable, type_ in zip(variables, types, strict=True)]
        for argument, item in zip(
            block.arguments, self.regrouped(held, [a.type for a in block.arguments]), strict=True
        ):
            self._values[argument] = item
        begin = 0
        for index, op in enumerate(block.operations):
            if isinstance(evaluator_of(op), OnFrames):
                # As many steps as the executor counts: those up to a control op are paid at once.
                self.pay(index + 1 - begin)
                for each in block.operations[begin : index + 1]:
                    self._op(each)
                    self._grown()
                begin = index + 1

    # --- ops ---

    def _op(self, op: Operation) -> None:
        evaluator = evaluator_of(op)
        described = getattr(evaluator, "words", None)
        if described is not None:
            described(op, self)
        elif isinstance(evaluator, Constant):
            self.put(op, self._constant(op, evaluator))
        elif isinstance(evaluator, Elementwise):
            self._elementwise(op, evaluator)
        elif isinstance(evaluator, OnValues) and is_silent(op):
            self.by_executor(op)
        else:
            raise NotCompiled(f"'{op.name}'")

    def by_executor(self, op: Operation) -> None:
        """Make the machine code of an op as a call of its function in the executor, which takes microseconds."""
        evaluator: OnValues = evaluator_of(op)
        values = evaluator.reads(op)
        inputs, outputs = [value.type for value in values], [value.type for value in op.results]
        items = self.items(values)
        kept = [item if isinstance(item, PoisonItem) else None for item in items]
        counts = [0 if poison else len(self.types_of(type_)) for type_, poison in zip(inputs, kept, strict=True)]
        function = evaluator.build(op, self.compiler if evaluator.of_module else self.settings)

        def call(context: Context, *words: int) -> Any:
            rest, slots = list(words), []
            for type_, poison, count in zip(inputs, kept, counts, strict=True):
                slots.append(context.slot(type_, rest[:count]) if poison is None else poison.slot(context.run))
                del rest[:count]
            before = masks_of(slots)
            if not evaluator.raw:
                slots = [lift(slot, type_) for slot, type_ in zip(slots, inputs, strict=True)]
            found = [lower(value) for value in function(context.run, tuple(slots))]
            # Code knows where the masks of memory were; the op may have made other ones.
            same = all(map(is_, masks_of(slots), before))
            return context.words(found) if same else None

        self.program.writes |= any(isinstance(type_, ty.MemRefType) for type_ in inputs)
        held = [part for item in items if not isinstance(item, PoisonItem) for part in parts_of(item)]
        types = [part for type_ in outputs for part in self.types_of(type_)]
        self.put(op, *self.regrouped(self.host(call, held, types), outputs))

    def quickly(self, op: Operation, condition: Word, quick: Callable[[], None]) -> None:
        """Make the machine code of an op with two versions: ``quick`` runs if a condition of one bit is true at run
        time, else the version of `by_executor`.
        """
        arrive, follow = self.joint(op)

        def go(way: Callable[[], None]) -> None:
            way()
            arrive(self.items(op.results))

        self.ways(condition, lambda: go(quick), lambda: go(lambda: self.by_executor(op)))
        follow()

    def _constant(self, op: Operation, evaluator: Constant) -> Item:
        type_ = op.results[0].type
        parts, slot = self.types_of(type_), lower(evaluator.build(op, self.compiler))
        if isinstance(slot, int):
            codes = [slot]
        elif isinstance(slot, Value) and slot.poison is None:
            codes = words_of(slot, self.settings)
        else:
            raise NotCompiled(f"'{op.name}' of poison")
        return made_of(type_, [self.emit.number(code, part.width) for code, part in zip(codes, parts, strict=True)])

    def _elementwise(self, op: Operation, evaluator: Elementwise) -> None:
        kernel = self.compiler.kernel(op, evaluator)
        if not means_one_thing(op):
            raise NotCompiled(f"'{op.name}' of a type whose elements are not all read alike")
        if kernel.notice is not None:
            raise NotCompiled(f"'{op.name}', which writes notes about its operands")
        scalar = specified_scalar(kernel, op) if self.settings.track_open else kernel.scalar
        if scalar is None:
            raise NotCompiled(f"'{op.name}', whose result may be unspecified")
        lanes = self.lanes(op)
        if kernel.words is None or (self.settings.track_open and kernel.opens):
            types = [self.types_of(ty.element_type(result.type))[0] for result in op.results]
            general = self._general(scalar)
            found = [tuple(map(self.emit.word, general(lane, types))) for lane in lanes]
        else:
            found = self.emit.elementwise(kernel.words, lanes, self._general(scalar))
        self.put_lanes(op, found)

    def poison(self, op: Operation) -> None:
        """Make the machine code of an op whose result is poison. The executor makes the result if it is needed."""
        self.check(op.results[0].type)
        function = evaluator_of(op).build(op, self.settings)
        self.put(op, PoisonItem(lambda run: lower(function(run, ())[0])))

    def lanes(self, op: Operation) -> list[tuple[Word, ...]]:
        """Return the operands of an elementwise op as words: one tuple for each element of its results. A scalar
        operand is repeated.
        """
        count = len(self.types_of(op.results[0].type))
        columns = [self.elements(value) for value in op.operands]
        return [tuple([column[k if len(column) > 1 else 0] for column in columns]) for k in range(count)]

    def put_lanes(self, op: Operation, lanes: Sequence[tuple[Word, ...]]) -> None:
        """Set the results of an op. ``lanes``: for each element, the words of the results."""
        columns = zip(*lanes, strict=True) if lanes else ((),) * len(op.results)
        self.put(op, *[made_of(result.type, column) for result, column in zip(op.results, columns, strict=True)])

    def combined(self, kernel: Kernel, operands: Sequence[Word]) -> tuple[Word, ...]:
        """Make the machine code of a kernel that has a description, on scalars. The general code computes elements that
        the description does not cover.
        """
        assert kernel.words is not None
        return self.emit.elementwise(kernel.words, [operands], self._general(kernel.scalar))[0]

    def _general(self, scalar: Callable[..., Any]) -> General:
        """Return a function that makes a call of a scalar implementation. The run stops if that gives no code."""
        number = self.program.number(scalar, lambda: lambda context, *codes: scalar(*codes))
        return lambda operands, types: self.called(number, [operand.held for operand in operands], types)

    def host(self, function: HostFunction, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Make the code that calls a Python function, and return its results, which have these types of the
        assembly.
        """
        return self.called(self.program.number(function, lambda: function), operands, types)

    def made(self, function: HostFunction, operands: Sequence[Word], type_: ty.MemRefType) -> Memref:
        """Make the machine code of a call of a function of Python that returns the parts of a memref."""
        parts = self.host(function, [operand.held for operand in operands], self.types_of(type_))
        return Memref.of(self.emit, type_, parts)


def in_order(entry: Block) -> list[Block]:
    """Return the blocks that can be reached from the entry. Each comes after the blocks that dominate it (reverse
    postorder).
    """
    done: list[Block] = []
    seen, stack = {entry}, [(entry, iter(_after(entry)))]
    while stack:
        block, following = stack[-1]
        new = next((each for each in following if each not in seen), None)
        if new is None:
            done.append(block)
            stack.pop()
        else:
            seen.add(new)
            stack.append((new, iter(_after(new))))
    return done[::-1]


def _after(block: Block) -> list[Block]:
    return [target for target, _ in block.operations[-1].successors] if block.operations else []


def parts_of(item: Item) -> list[Any]:
    """Return the parts of a value, as `types_of` lists their types. Raises NotCompiled for poison."""
    if isinstance(item, Word):
        return [item.held]
    if isinstance(item, Elements):
        return [word.held for word in item.words]
    if isinstance(item, PoisonItem):
        raise NotCompiled("poison")
    return item.parts()
