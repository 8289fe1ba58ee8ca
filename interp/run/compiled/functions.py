"""Lower a function of a program: its values, blocks and regions. What single ops do stands beside their dialects.

`FunctionLowering` does not know what it makes: `halfulp.interp.run.compiled.lowering` makes assembly of it,
`halfulp.interp.run.compiled.python_lowering` Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Protocol

from halfulp.fp_formats.paths.emitter import General
from halfulp.fp_formats.paths.words import Face, Machine, Word
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.run.compiled.context import Context, HostFunction, masks_of, words_of
from halfulp.interp.run.compiled.covering import NotCompiled, is_silent
from halfulp.interp.run.compiled.elements import Elements, count_of, made_of
from halfulp.interp.run.compiler import CodeStore, FunctionCompiler, means_one_thing
from halfulp.interp.run.evaluators import Constant, Control, Elementwise, Pure, evaluator_of
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.run.steps import specified_scalar
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel

_DEEPEST = 50
"""The regions that may lie in each other: they are lowered by recursion."""


@dataclass(frozen=True, slots=True)
class Memref:
    """A memref inside of code: its memory, the poison of that, and in elements the offset, sizes and strides."""

    emit: Any
    type: ty.MemRefType
    base: Any
    poison: Any
    offset: Any
    sizes: tuple[Word, ...]
    strides: tuple[Any, ...]

    def parts(self) -> list[Any]:
        """Return what a memref is passed as."""
        raise NotImplementedError

    def index(self, indices: Sequence[Word]) -> Any:
        """Return the place of an element in memory. The run stops where an index is outside."""
        raise NotImplementedError

    def start(self, indices: Sequence[Word]) -> Any:
        """Return the place of what indices name, which may be outside."""
        raise NotImplementedError

    def moved(self, place: Any, steps: Sequence[tuple[int, int]]) -> Any:
        """Return a place that lies so many elements further on. ``steps``: for some dimensions, their numbers."""
        raise NotImplementedError

    def load(self, place: Any, width: int) -> Word:
        """Return the element at a place in memory. The run stops where it is poison."""
        raise NotImplementedError

    def store(self, place: Any, value: Word) -> None:
        """Write the element at a place in memory. The run stops where that is constant."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that is poison: only ops that the executor runs can take it. ``slot``: makes it, as a slot holds it."""

    slot: Callable[[Run], Any]


Item = Word | Elements | Memref | Kept
"""A value inside of code."""
OnYield = Callable[[Sequence[Item]], None]


def width_of_scalar(type_: ty.Type, settings: Settings) -> int:
    """Return the bits of a scalar. Raises NotCompiled for any other type, and for 0 or more than 64 bits."""
    if isinstance(type_, ty.IntegerType | ty.FloatType | ty.IndexType):
        width = settings.width(type_)
        if 0 < width <= 64:
            return width
    raise NotCompiled(f"values of type '{type_}'")


def widths_of(type_: ty.Type, settings: Settings) -> list[int]:
    """Return the bits of the words of a scalar or vector. Raises NotCompiled."""
    count = count_of(type_)
    if count is None:
        raise NotCompiled(f"values of type '{type_}'")
    return [width_of_scalar(ty.element_type(type_), settings)] * count


class Maker(Machine, Protocol):
    """A machine that also makes variables and jumps."""

    def word(self, held: Any) -> Word:
        """Return a value of the machine as a `Word`."""

    def number(self, code: int, width: int = 64) -> Word:
        """Return a constant."""

    def elementwise(self, face: Face, lanes: Sequence[Sequence[Word]], general: General) -> list[tuple[Word, ...]]:
        """Make the code of a description, for the operands of each lane, and return the results. ``general`` makes that
        for all lanes where it refuses one.
        """

    def float_type(self, width: int) -> Any:
        """Return the type of the variables of floats of 32 or 64 bits."""

    def variable(self, type_: Any) -> Any:
        """Make a variable of this function."""

    def get(self, variable: Any, type_: Any) -> Any:
        """Read a variable as a value of a type."""

    def set(self, variable: Any, value: Any) -> None:
        """Write a variable."""

    def label(self) -> Any:
        """Make a place to jump to."""

    def begin(self, label: Any) -> None:
        """Go on making code at a label."""

    def jump(self, label: Any) -> None:
        """Go on running at a label."""

    def branch(self, condition: Any, yes: Any, no: Any) -> None:
        """Go on running at one of two labels."""

    def stop_if(self, condition: Any) -> None:
        """Stop the run where a condition of one bit holds."""


class Program(Protocol):
    """What the functions of one piece of code share. ``writes``: it may write to memory."""

    store: CodeStore
    writes: bool

    def number(self, function: Any, make: Callable[[], HostFunction]) -> int:
        """Return the number of what is called; ``make`` makes it for a new ``function``."""


class FunctionLowering:
    """Lowers the ops of one function. Ops find their operands with `word` and `place`, and give results with `put`.

    ``emit``: the machine, which also has labels and variables.
    """

    def __init__(self, program: Program, op: Operation, emit: Maker) -> None:
        self.program = program
        self.op = op
        self.compiler = FunctionCompiler(program.store, op)
        self.settings = self.compiler.settings
        self.emit = emit
        self._values: dict[SSAValue, Item] = {}
        self._blocks: dict[Block, tuple[Any, list[Any]]] = {}
        self._on_yield: OnYield | None = None
        self._depth = 0

    # --- what code is made of ---

    def types_of(self, type_: ty.Type) -> list[Any]:
        """Return the types of the parts of a value. Raises NotCompiled."""
        raise NotImplementedError

    def memref(self, type_: ty.MemRefType, parts: Sequence[Any]) -> Memref:
        """Make a memref of its parts."""
        raise NotImplementedError

    def pay(self, cost: int) -> None:
        """Count steps. The run stops where it has none left."""
        raise NotImplementedError

    def grown(self) -> None:
        """Note that an op is lowered. Raises NotCompiled where code is too large."""

    def called(self, number: int, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Lower a call of a function of Python, by its number. The run stops where it returns no words."""
        raise NotImplementedError

    def call(self, op: Operation, target: Operation, values: Sequence[SSAValue]) -> None:
        """Lower a call of a function of the program, with a body."""
        raise NotImplementedError

    def leave(self, values: Sequence[SSAValue]) -> None:
        """Lower the return of the function."""
        raise NotImplementedError

    # --- values ---

    def arguments(self, held: list[Any]) -> None:
        """Begin the function with the parts of its arguments."""
        region = self.op.regions[0]
        self.go(region.blocks[0], self.regrouped(held, [argument.type for argument in region.blocks[0].arguments]))
        self.region(region, None)

    def regrouped(self, held: list[Any], types: Sequence[ty.Type]) -> list[Item]:
        """Make values of their parts."""
        items: list[Item] = []
        for type_ in types:
            count = len(self.types_of(type_))
            parts, held = held[:count], held[count:]
            if isinstance(type_, ty.MemRefType):
                items.append(self.memref(type_, parts))
            else:
                items.append(made_of(type_, [self.emit.word(part) for part in parts]))
        return items

    def word(self, value: SSAValue) -> Word:
        """Return a scalar."""
        found = self._values[value]
        if not isinstance(found, Word):
            raise NotCompiled(f"a value of type '{value.type}' where a scalar is expected")
        return found

    def elements(self, value: SSAValue) -> tuple[Word, ...]:
        """Return the elements of a vector, or a scalar as the only one."""
        found = self._values[value]
        return found.words if isinstance(found, Elements) else (self.word(value),)

    def items(self, values: Sequence[SSAValue]) -> list[Item]:
        """Return several values."""
        return [self._values[value] for value in values]

    def words(self, values: Sequence[SSAValue]) -> list[Word]:
        """Return several scalars."""
        return [self.word(value) for value in values]

    def place(self, value: SSAValue) -> Memref:
        """Return a memref."""
        found = self._values[value]
        if not isinstance(found, Memref):
            raise NotCompiled(f"a value of type '{value.type}' where memory is expected")
        return found

    def width(self, type_: ty.Type) -> int:
        """Return the bits of a scalar. Raises NotCompiled for a value that code cannot hold."""
        return width_of_scalar(type_, self.settings)

    def check(self, type_: ty.Type) -> None:
        """Raise NotCompiled for a value that code cannot hold."""
        self.types_of(type_)

    def put(self, op: Operation, *items: Item) -> None:
        """Give the results of an op."""
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
        """Lower the blocks of a region. ``on_yield`` is called for each of its terminators, with the values that it
        passes.
        """
        outer, self._on_yield = self._on_yield, on_yield
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotCompiled("regions nested so deep")
        for block in in_order(region.blocks[0]) if region.blocks else ():
            self._block(block)
        self._depth -= 1
        self._on_yield = outer

    def ways(self, condition: Word, *ways: Callable[[], None]) -> None:
        """Go one of two ways, each of which ends in a jump: the first where a condition of one bit holds."""
        labels = [self.emit.label() for _ in ways]
        self.emit.branch(condition.held, *labels)
        for label, way in zip(labels, ways, strict=True):
            self.emit.begin(label)
            way()

    def joint(self, op: Operation) -> tuple[OnYield, Callable[[], None]]:
        """Return what ends an op with regions: the first, called with its results, goes on behind it; the second,
        called once at the end, makes what follows.
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
        """Lower a loop with one region, whose first argument counts from ``first`` by ``step`` to below ``end``. The
        run stops at a step that is not positive. The other arguments are carried from trip to trip; those of the last
        are the results.
        """
        emit, block = self.emit, op.regions[0].blocks[0]
        emit.stop_if(step.at_most(0, signed).held)
        # The number of trips fits the width, also where the next value of the induction variable would not.
        trips = (end - first - 1).divide(step, signed=False) + 1
        trips = first.less(end, signed).choose(trips, trips.of(0))
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
        """Lower a terminator whose meaning the op around its region defines."""
        assert self._on_yield is not None
        self._on_yield(self.items(values))

    def go(self, block: Block, items: Sequence[Item]) -> None:
        """Go on running at a block."""
        label, variables = self.target(block)
        self.assign(variables, items)
        self.emit.jump(label)

    def assign(self, variables: Sequence[Any], items: Sequence[Item]) -> None:
        """Write the parts of values to variables."""
        held = [part for item in items for part in parts_of(item)]
        for variable, part in zip(variables, held, strict=True):
            self.emit.set(variable, part)

    def target(self, block: Block) -> tuple[Any, list[Any]]:
        """Return the label of a block, and the variables for its arguments."""
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
            if isinstance(evaluator_of(op), Control):
                # As many steps as the executor counts: those up to a control op are paid at once.
                self.pay(index + 1 - begin)
                for each in block.operations[begin : index + 1]:
                    self._op(each)
                    self.grown()
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
        elif isinstance(evaluator, Pure) and is_silent(op):
            self.by_executor(op)
        else:
            raise NotCompiled(f"'{op.name}'")

    def by_executor(self, op: Operation) -> None:
        """Lower an op as a call of its function in the executor, which takes microseconds."""
        evaluator: Pure = evaluator_of(op)
        values = evaluator.reads(op)
        inputs, outputs = [value.type for value in values], [value.type for value in op.results]
        items = self.items(values)
        kept = [item if isinstance(item, Kept) else None for item in items]
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
        held = [part for item in items if not isinstance(item, Kept) for part in parts_of(item)]
        types = [part for type_ in outputs for part in self.types_of(type_)]
        self.put(op, *self.regrouped(self.host(call, held, types), outputs))

    def quickly(self, op: Operation, condition: Word, quick: Callable[[], None]) -> None:
        """Lower an op by ``quick`` where a condition of one bit holds, else as `by_executor`."""
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
            raise NotCompiled(f"'{op.name}' of elements with meanings of their own")
        if kernel.notice is not None:
            raise NotCompiled(f"'{op.name}', which tells users of operands")
        scalar = specified_scalar(kernel, op) if self.settings.track_open else kernel.scalar
        if scalar is None:
            raise NotCompiled(f"'{op.name}', whose result may be open")
        lanes = self.lanes(op)
        if kernel.words is None or (self.settings.track_open and kernel.opens):
            types = [self.types_of(ty.element_type(result.type))[0] for result in op.results]
            general = self._general(scalar)
            found = [tuple(map(self.emit.word, general(lane, types))) for lane in lanes]
        else:
            found = self.emit.elementwise(kernel.words, lanes, self._general(scalar))
        self.put_lanes(op, found)

    def poison(self, op: Operation) -> None:
        """Lower an op whose result is poison, made by the executor where it is needed."""
        self.check(op.results[0].type)
        function = evaluator_of(op).build(op, self.settings)
        self.put(op, Kept(lambda run: lower(function(run, ())[0])))

    def lanes(self, op: Operation) -> list[tuple[Word, ...]]:
        """Return the operands of an elementwise op, for each element of its results. A scalar is the same for all."""
        count = len(self.types_of(op.results[0].type))
        columns = [self.elements(value) for value in op.operands]
        return [tuple([column[k if len(column) > 1 else 0] for column in columns]) for k in range(count)]

    def put_lanes(self, op: Operation, lanes: Sequence[tuple[Word, ...]]) -> None:
        """Give the results of an op, which are given for each element."""
        columns = zip(*lanes, strict=True) if lanes else ((),) * len(op.results)
        self.put(op, *[made_of(result.type, column) for result, column in zip(op.results, columns, strict=True)])

    def combined(self, kernel: Kernel, operands: Sequence[Word]) -> tuple[Word, ...]:
        """Lower a kernel that has a description, on scalars; what it refuses goes the general way."""
        assert kernel.words is not None
        return self.emit.elementwise(kernel.words, [operands], self._general(kernel.scalar))[0]

    def _general(self, scalar: Callable[..., Any]) -> General:
        """Return the maker of a call of a scalar face; where that gives no code, the run stops."""
        number = self.program.number(scalar, lambda: lambda context, *codes: scalar(*codes))
        return lambda operands, types: self.called(number, [operand.held for operand in operands], types)

    def host(self, function: HostFunction, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Lower a call of a function of Python; return its results, values of these types of the assembly."""
        return self.called(self.program.number(function, lambda: function), operands, types)

    def made(self, function: HostFunction, operands: Sequence[Word], type_: ty.MemRefType) -> Memref:
        """Lower a call of a function of Python that returns the parts of a memref."""
        parts = self.host(function, [operand.held for operand in operands], self.types_of(type_))
        return self.memref(type_, parts)


def in_order(entry: Block) -> list[Block]:
    """Return the blocks that can be reached, each after those that dominate it (reverse postorder)."""
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
    if isinstance(item, Kept):
        raise NotCompiled("poison")
    return item.parts()
