"""Functions for ops with regions: parts of custom forms, the rule of edges, and the actions of loops and
terminators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Block, Operation, Region, Rule, SSAValue, undefined
from halfulp.interp.run import frames
from halfulp.interp.run.evaluators import Compiler, OnFrames, Words, moves, passing
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step, decided
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

# --- boxes ------------------------------------------------------------------------------------------------------------
#
# The action of a parallel loop: over the points of a box, in lexicographic order, and with a log of its writes.

Bounds = Callable[[Slots], Sequence[range]]
"""Gives the values of the induction variables."""


def checked_ranges(op: Operation, lower: Sequence[int], upper: Sequence[int], steps: Sequence[int]) -> Sequence[range]:
    """Return the values of the induction variables of a loop as ranges, one for each dimension. Raises
    UndefinedBehavior for a step that is not positive.
    """
    for number, step in enumerate(steps):
        if step <= 0:
            raise undefined(op, f"step {number} is {step}, but must be positive")
    return [range(*each) for each in zip(lower, upper, steps, strict=True)]


_MANY = 1 << 16
"""The values of an induction variable that are not kept in a list."""


def points_of(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """Yield the points of a box, in row-major order. The indices of a dimension are not put into a list, which could be
    long.
    """
    if not all(ranges):
        return
    large = next((k for k, each in enumerate(ranges) if each[_MANY:]), None)
    if large is None:
        yield from product(*ranges)
        return
    for front in product(*ranges[:large]):
        for position in ranges[large]:
            for back in points_of(ranges[large + 1 :]):
                yield (*front, position, *back)


class _Box:
    """The iterations of a running loop: its points, and the logs of what it writes."""

    __slots__ = ("_logs", "_number", "_points", "_watched")

    def __init__(self, run: Run, op: Operation, ranges: Sequence[range], slots: Slots, memory: Sequence[int]) -> None:
        self._points = points_of(ranges)
        self._watched = frames.watched(run, op, ranges, [slots[slot] for slot in memory])
        self._logs = [writes for _, writes in self._watched]
        self._number = -1

    def following(self) -> tuple[int, ...] | None:
        """Return the next point; None after the last one, after which writes are no longer logged."""
        point = next(self._points, None)
        if point is None:
            frames.end_logs(self._watched)
            return None
        self._number += 1
        for log in self._logs:
            log.iteration = self._number
        return point


def over_box(
    op: Operation,
    compiler: Compiler,
    bounds: Bounds,
    begin: Sequence[Step],
    after: Callable[[Sequence[int]], Sequence[Step]] = lambda sources: (),
) -> Action:
    """Return the action that runs a loop with one region, whose first arguments are the induction variables.

    ``begin``: steps before the first point. ``after``: a function that makes the steps after each point, from the slots
    of the values that the terminator returns. These steps must put the results of the op into the slots of the results.
    """
    body = compiler.block(op.regions[0].blocks[0])
    finish = compiler.resume(op)(compiler.slots(op.results))
    state = compiler.hidden_slot()
    memory = compiler.slots(frames.memory_used(op))
    mask = (1 << compiler.settings.index_width) - 1
    carry: tuple[Step, ...] = ()
    at_end: Action | None = None

    def yielding(sources: Sequence[int]) -> Action:
        nonlocal carry, at_end
        carry = tuple(after(sources))

        def again(frame: Frame) -> Segment | None:
            for step in carry:
                step(frame.slots)
            return following(frame)

        at_end = again
        return again

    def following(frame: Frame) -> Segment | None:
        slots = frame.slots
        point = slots[state].following()
        if point is None:
            return finish(frame)
        for variable, position in zip(body.arguments, point, strict=False):
            slots[variable] = position & mask
        return body

    def box(slots: Slots) -> _Box:
        made = _Box(slots[0], op, bounds(slots), slots, memory)
        for step in begin:
            step(slots)
        return made

    compiler.region(op.regions[0], yielding)

    def start(frame: Frame) -> Segment | None:
        frame.slots[state] = box(frame.slots)
        return following(frame)

    if body.control is not at_end:
        return start
    steps, cost, last = (*body.steps, *carry), body.cost, body.op

    def loop(frame: Frame) -> Segment | None:
        """Run all points at once. This is possible for bodies without control flow, and without listeners."""
        slots = frame.slots
        run: Run = slots[0]
        every = box(slots)
        while (point := every.following()) is not None:
            run.steps -= cost
            if run.steps < 0:
                raise run.out_of_steps(last)
            for variable, position in zip(body.arguments, point, strict=False):
                slots[variable] = position & mask
            for step in steps:
                step(slots)
        return finish(frame)

    return loop


# --- forms ------------------------------------------------------------------------------------------------------------
#
# Parts of custom forms that ops with regions share.


def build_op(
    p: OpParser,
    at: int,
    definition: d.OpDefinition,
    operands: list[SSAValue],
    results: Sequence[Type],
    regions: Sequence[Region],
    properties: dict[str, Attribute] | None = None,
    keyword: bool = False,
) -> Operation:
    """Read the trailing dictionary and make the op. ``keyword``: the word ``attributes`` stands before the
    dictionary.
    """
    properties = {} if properties is None else properties
    attributes: dict[str, Attribute] = {}
    if p.tokens[p.pos] == ("attributes" if keyword else "{"):
        p.pos += keyword
        p.dictionary(attributes)
        move_inherent(definition, properties, attributes)
    return p.placed(Operation(definition.name, definition, operands, results, properties, attributes, regions), at)


def arrow_types(p: OpParser) -> tuple[Type, ...]:
    """Read ``-> types``, if it is there."""
    return p.function_results() if p.take("->") else ()


def assignments(p: OpParser) -> tuple[list[int], list[int]]:
    """Read ``(%argument = %operand, …)``. Return the indices of the tokens of the arguments and of the operands. The
    caller reads the locations of the arguments.
    """
    arguments: list[int] = []
    operands: list[int] = []
    p.expect("(")
    while p.tokens[p.pos] != ")":
        arguments.append(p.argument_token())
        p.expect("=")
        operands.append(p.operand_token())
        if not p.take(","):
            break
    p.expect(")")
    return arguments, operands


def print_assignments(printer: OpPrinter, keyword: str, block: Block, first: int, values: Sequence[SSAValue]) -> str:
    """Print `` keyword(%argument = %operand, …)``; nothing without operands."""
    if not values:
        return ""
    pairs = zip(block.arguments[first:], values, strict=True)
    return f" {keyword}({', '.join(f'{printer.name(a)} = {printer.name(value)}' for a, value in pairs)})"


def types_text(printer: OpPrinter, types: Sequence[Type], bare: bool) -> str:
    """Return the text of types in parentheses. If ``bare``, a single type that is not a function type has no
    parentheses.
    """
    texts = [printer.type(type) for type in types]
    if bare and len(types) == 1 and not isinstance(types[0], ty.FunctionType):
        return texts[0]
    return f"({', '.join(texts)})"


def trailing_dictionary(printer: OpPrinter, operation: Operation, keyword: str = "") -> str:
    """Return the text of the attributes of an op, with a keyword in front; the empty text if it has none."""
    return f"{keyword} {printer.dictionary(operation.attributes)}" if operation.attributes else ""


def parenthesised(p: OpParser) -> list[int]:
    """Read ``(%a, %b, …)`` and return the indices of the tokens of the names."""
    p.expect("(")
    names = p.operand_tokens()
    p.expect(")")
    return names


def argument_list(p: OpParser) -> list[int]:
    """Read ``(%a, %b, …)``, the names of arguments of a region, and return the indices of their tokens."""
    names = parenthesised(p)
    for name in names:
        p.unnumbered(name)
    return names


def read_choice(p: OpParser, at: int, definition: d.OpDefinition, terminator: str) -> list[Region]:
    """Read ``{…} else {…}`` and return both regions. If the second part is absent, its region has no block."""
    regions = [p.terminated(p.region(definition.name), terminator, at), Region()]
    if p.take("else"):
        regions[1] = p.terminated(p.region(definition.name), terminator, at)
    return regions


def print_choice(printer: OpPrinter, operation: Operation, bare: bool) -> str:
    """Print the types of the results, ``{…} else {…}`` and the attributes. ``bare``: as for `types_text`."""
    types = [result.type for result in operation.results]
    arrow = f" -> {types_text(printer, types, bare)}" if types else ""
    shown = [
        printer.region(region, operation, entry_arguments=False, terminators=bool(types))
        for region in operation.regions
        if region.blocks
    ]
    return f"{arrow} {' else '.join(shown)}{trailing_dictionary(printer, operation)}"


def carried(p: OpParser) -> tuple[list[int], list[int], Sequence[Type]]:
    """Read ``iter_args(%argument = %operand, …) -> (types)``, if it is there. Return the indices of the tokens of the
    arguments and of the operands, and the types.
    """
    if not p.take("iter_args"):
        return [], [], ()
    names, initial = assignments(p)
    p.expect("->")
    return names, initial, p.function_results()


def print_carried(printer: OpPrinter, block: Block, initial: Sequence[SSAValue]) -> str:
    """Print the text that `carried` reads."""
    if not initial:
        return ""
    types = types_text(printer, [value.type for value in initial], bare=False)
    return f"{print_assignments(printer, 'iter_args', block, 1, initial)} -> {types}"


# --- rules ------------------------------------------------------------------------------------------------------------
#
# The rule that an op is in another one, and the rule that the values fit which flow along an edge, from an op or a
# terminator into a region or to the parent.


def loop_type(p: OpParser, definition: d.OpDefinition, count: int, at: int) -> ty.FunctionType:
    """Read the types of the ``count`` operands and of the results of a loop. ``at``: the token that errors name."""
    type_ = p.type()
    if not isinstance(type_, ty.FunctionType):
        p.wrong(definition.name, f"invalid kind of type specified: expected builtin.function, but found '{type_}'", at)
    if len(type_.inputs) != count:
        p.wrong(
            definition.name, f"expected as many input types as operands (expected {count} got {len(type_.inputs)})", at
        )
    return type_


def loop_regions(
    p: OpParser, definition: d.OpDefinition, names: Sequence[int], given: Sequence[int], type_: ty.FunctionType
) -> tuple[list[SSAValue], list[Region]]:
    """Read the regions ``{…} do {…}`` of a loop. Return its operands too. ``names``, ``given``: the tokens of the
    arguments of the first region, and of the operands.
    """
    operands = [p.use(token, each) for token, each in zip(given, type_.inputs, strict=True)]
    arguments = [Argument(token, each, None) for token, each in zip(names, type_.inputs, strict=True)]
    condition = p.region(definition.name, arguments)
    p.keyword(definition, "do")
    return operands, [condition, p.region(definition.name)]


def print_while(printer: OpPrinter, op: Operation) -> str:
    """Print a loop of two regions, which take its operands."""
    condition, body = op.regions
    inputs, results = ([value.type for value in values] for values in (op.operands, op.results))
    text = print_assignments(printer, "", condition.blocks[0], 0, op.operands)
    text += f" : {types_text(printer, inputs, bare=False)} -> {types_text(printer, results, bare=True)}"
    text += f" {printer.region(condition, op, entry_arguments=False)} do {printer.region(body, op)}"
    return text + trailing_dictionary(printer, op, " attributes")


def inside(*parents: str) -> Rule:
    """Return the rule that an op must be directly inside one of these ops."""

    def verify(op: Operation) -> str | None:
        parent = op.parent_op
        if parent is not None and parent.name in parents:
            return None
        one = "" if len(parents) == 1 else "to be one of "
        return f"expects parent op {one}'{', '.join(parents)}'"

    return verify


Edge = tuple[str, Sequence[ty.Type], str, Sequence[ty.Type]]


def flow(edges: Iterable[Edge]) -> str | None:
    """Return the text of an error for the first control-flow edge whose types do not fit; None if all fit. An edge is
    (source, types that are passed, target, types that the target takes).
    """
    for source, passed, target, taken in edges:
        where = f"along control flow edge from {source} to {target}"
        if len(passed) != len(taken):
            return (
                f"{where}: region branch point has {len(passed)} operands, but region successor needs {len(taken)} "
                "inputs"
            )
        for number, (one, other) in enumerate(zip(passed, taken, strict=True)):
            if one != other:
                return (
                    f"{where}: successor operand type #{number} '{one}' should match successor input type "
                    f"#{number} '{other}'"
                )
    return None


# --- regions ----------------------------------------------------------------------------------------------------------


def counted_loop(op: Operation, compiler: Compiler, initial: Sequence[int], trips: Callable[[Slots], range]) -> Action:
    """Return the action that runs a loop with one region, whose first argument is the induction variable.

    ``initial``: the slots of the values that the other arguments have in the first trip. ``trips``: a function from the
    values in slots to the values of the induction variable.
    """
    body = compiler.block(op.regions[0].blocks[0])
    induction, *carried = body.arguments
    mask = (1 << compiler.settings.width(op.regions[0].blocks[0].arguments[0].type)) - 1
    state = compiler.hidden_slot()
    # After each trip, and before the first, the carried slots hold what the loop would return.
    begin_carrying, finish = moves(initial, carried), compiler.resume(op)(carried)
    carry: tuple[Step, ...] = ()
    at_end: Action | None = None

    def yielding(sources: Sequence[int]) -> Action:
        nonlocal carry, at_end
        carry = moves(sources, carried)

        def again(frame: Frame) -> Segment | None:
            slots = frame.slots
            for step in carry:
                step(slots)
            return following(frame)

        at_end = again
        return again

    def following(frame: Frame) -> Segment | None:
        position = next(frame.slots[state], None)
        if position is None:
            return finish(frame)
        frame.slots[induction] = position & mask
        return body

    def begun(slots: Slots) -> range:
        positions = trips(slots)
        for move in begin_carrying:
            move(slots)
        return positions

    compiler.region(op.regions[0], yielding)
    if body.control is not at_end:

        def begin(frame: Frame) -> Segment | None:
            frame.slots[state] = iter(begun(frame.slots))
            return following(frame)

        return begin
    whole_body, cost, last = (*body.steps, *carry), body.cost, body.op

    def loop(frame: Frame) -> Segment | None:
        """Run all trips at once. This is possible for bodies without control flow, and without listeners."""
        slots = frame.slots
        run: Run = slots[0]
        every = begun(slots)
        # Without len(), which is limited to 2^63.
        count = max(0, -((every.start - every.stop) // every.step))
        affordable = run.steps // cost
        if whole_body:
            for position in every[:affordable]:
                slots[induction] = position & mask
                for step in whole_body:
                    step(slots)
        if count > affordable:
            raise run.out_of_steps(last)
        run.steps -= cost * count
        return finish(frame)

    return loop


def while_loop(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs a loop of two regions, which both take the operands of this round: the first decides
    whether there is one more round, and the second gives the operands of the next one.
    """
    resume = compiler.resume(op)
    condition, body = (compiler.block(region.blocks[0]) for region in op.regions)
    terminator = op.regions[0].blocks[0].operations[-1]
    # The values of this round: the condition may change neither them nor what the body gets.
    state = compiler.slots(op.results)
    finish, enter = resume(state), moves(state, body.arguments)

    def deciding(sources: Sequence[int]) -> Action:
        (decision,) = sources

        def decide(frame: Frame) -> Segment | None:
            slots = frame.slots
            if not decided(slots[decision], terminator):
                return finish(frame)
            for step in enter:
                step(slots)
            return body

        return decide

    def again(sources: Sequence[int]) -> Action:
        return passing((*moves(sources, state), *moves(state, condition.arguments)), condition)

    compiler.region(op.regions[0], deciding)
    compiler.region(op.regions[1], again)
    return again(compiler.slots(op.operands))


def yielded(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs a terminator. The op around its region defines what its operands mean."""
    assert compiler.on_yield is not None
    return compiler.on_yield(compiler.slots(op.operands))


def declare_yield(
    dialect: d.Dialect,
    mnemonic: str = "yield",
    slot: str = "operands",
    verify: Rule | None = None,
    words: Words | None = None,
) -> None:
    """Declare a terminator with any operands, whose meaning the op around its region defines. ``slot``: the name of the
    operands.
    """
    dialect.op(
        mnemonic,
        f"attr-dict (${slot}^ `:` type(${slot}))?",
        operands=(d.variadic(slot, d.ANY),),
        traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
        verify=verify,
        evaluate=OnFrames(yielded, words=words),
    )
