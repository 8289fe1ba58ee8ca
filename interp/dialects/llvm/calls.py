"""llvm.call: of functions of the module, of the libraries that lowered programs use, and of pointers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfulp.interp.dialects.func.ops import caller
from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.llvm import library, runner
from halfulp.interp.dialects.llvm.function_forms import callee_operands, function_type
from halfulp.interp.dialects.llvm.memory import Pointer
from halfulp.interp.dialects.llvm.promises import Guard, guard_of, promises
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Choice, Entry, OnFrames
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step
from halfulp.interp.run.slots import lift

_LIBRARIES: Mapping[str, library.LibraryFunction] = {**library.FUNCTIONS, **runner.FUNCTIONS}


def _call(op: Operation, compiler: Compiler) -> Action:
    """Return the action of a call of a function by its name, or of a pointer."""
    if "var_callee_type" in op.properties:
        raise Unsupported(
            f"{op.name}: functions with a variable number of arguments do not run", location=op.location, op=op.name
        )
    symbol = op.properties.get("callee")
    slots = compiler.slots(callee_operands(op))
    if not isinstance(symbol, at.SymbolRefAttr):
        return _indirect(op, slots, compiler)
    target = compiler.module.lookup(symbol, op)
    if target is None or target.name != "llvm.func":
        raise Unsupported(f"{op.name}: '{symbol}' cannot be called", location=op.location, op=op.name)
    return _direct(op, target, slots, compiler, compiler.after())


_COPIED = ("llvm.byval", "llvm.inalloca", "llvm.preallocated")
"""Attributes of arguments whose memory the callee gets a copy of."""


def _refuse_copies(op: Operation, target: Operation) -> None:
    given = target.properties.get("arg_attrs")
    for attributes in given.elements if isinstance(given, at.ArrayAttr) else ():
        for name, _ in attributes.entries if isinstance(attributes, at.DictionaryAttr) else ():
            if name in _COPIED:
                raise Unsupported(f"{op.name}: arguments with '{name}' do not run", location=op.location, op=op.name)


def _direct(op: Operation, target: Operation, operands: tuple[int, ...], compiler: Compiler, after: Segment) -> Action:
    """Return the action that calls a function, and holds the arguments and the result to what the call promises. What
    the function itself promises is its own matter, unless it is only declared.
    """
    pairs = _argument_guards(op, target)
    if not pairs:
        return _unguarded(op, target, operands, compiler, after)
    passed = list(operands)
    moved = []
    for place, guard in pairs:
        hidden = compiler.hidden_slot()
        moved.append((operands[place], hidden, guard))
        passed[place] = hidden
    call = _unguarded(op, target, tuple(passed), compiler, after)

    def check(frame: Frame) -> Segment | None:
        slots = frame.slots
        for source, hidden, guard in moved:
            slots[hidden] = guard(slots[0], slots[source])
        return call(frame)

    return check


def _argument_guards(op: Operation, target: Operation) -> list[tuple[int, Guard]]:
    given = _stated(op, target, "arg_attrs")
    if not given:
        return []
    arguments = callee_operands(op)
    types = [value.type for value in (arguments if "callee" in op.properties else arguments[1:])]
    guards = [
        guard_of(op, [(each, place) for each in given], type_, f"argument #{place}")
        for place, type_ in enumerate(types)
    ]
    return [(place, guard) for place, guard in enumerate(guards) if guard is not None]


def _stated(op: Operation, target: Operation, name: str) -> list[at.Attribute]:
    """Return the attributes of the arguments, or of the result, that a call must check."""
    holders = [op] if target.regions[0].blocks else [op, target]
    return [each.properties[name] for each in holders if name in each.properties]


def _checking_result(
    op: Operation, target: Operation, results: tuple[int, ...], compiler: Compiler, after: Segment
) -> Segment:
    """Return the segment at which a call goes on: one that checks the result, if something is promised of it."""
    given = [(each, 0) for each in _stated(op, target, "res_attrs")]
    guard = guard_of(op, given, op.results[0].type, "the result") if given and op.results else None
    if guard is None:
        return after
    (result,) = results
    checking = Segment()
    checking.op, checking.cost, checking.control = op, 0, lambda frame: after

    def check(slots: Slots) -> None:
        slots[result] = guard(slots[0], slots[result])

    checking.steps = (check,)
    return checking


def _begin(op: Operation, compiler: Compiler) -> Step:
    """Return the step that holds the arguments of a function to what it promises of them."""
    (block, *_), given = op.regions[0].blocks, op.properties.get("arg_attrs")
    guards = []
    for place, argument in enumerate(block.arguments):
        guard = guard_of(op, [(given, place)], argument.type, f"argument #{place} of @{op.symbol_name}")
        if guard is not None:
            guards.append((compiler.slot(argument), guard))

    def check(slots: Slots) -> None:
        for slot, guard in guards:
            slots[slot] = guard(slots[0], slots[slot])

    return check


FUNCTION = Choice(lambda op: Entry(_begin) if promises(op) else None)


def _unguarded(
    op: Operation, target: Operation, operands: tuple[int, ...], compiler: Compiler, after: Segment
) -> Action:
    _refuse_copies(op, target)
    results = compiler.slots(op.results)
    after = _checking_result(op, target, results, compiler, after)
    name = target.symbol_name or ""
    found = _LIBRARIES.get(name)
    if target.regions[0].blocks or found is None or name in compiler.settings.externals:
        return caller(op, target, operands, results, compiler, after)
    if found.type != function_type(target):
        raise Unsupported(
            f"'@{name}' of the libraries is not of type '{function_type(target)}'", location=op.location, op=op.name
        )
    function, listeners = found.call, compiler.settings.listeners
    types = [result.type for result in op.results]

    def run_library(frame: Frame) -> Segment:
        slots = frame.slots
        run: Run = slots[0]
        produced = function(op, run, [slots[operand] for operand in operands])
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = value
        for listener in listeners if results else ():
            listener.op_did_run(op, (), [lift(slots[slot], type_) for slot, type_ in zip(results, types, strict=True)])
        return after

    return run_library


def _indirect(op: Operation, operands: tuple[int, ...], compiler: Compiler) -> Action:
    callee, *arguments = operands
    types = tuple(value.type for value in callee_operands(op)[1:]), tuple(result.type for result in op.results)
    made: dict[Operation, Action] = {}
    after = compiler.after()

    def call_pointer(frame: Frame) -> Segment | None:
        slot: Any = frame.slots[callee]
        if slot.__class__ is not Pointer:
            raise undefined(op, f"the callee is poison: {slot.origin()}")
        target = slot.memory.function
        if target is None or slot.offset:
            raise undefined(op, f"the callee is no function, but byte {slot.offset} of {slot.memory.source}")
        type_ = function_type(target)
        if type_ is None or (type_.inputs, type_.results) != types:
            raise undefined(op, f"the callee @{target.symbol_name} is of type '{type_}'")
        action = made.get(target)
        if action is None:
            action = made[target] = _direct(op, target, tuple(arguments), compiler, after)
        return action(frame)

    return call_pointer


_IN_LANES, _ALONE = OnFrames(_call), OnFrames(_call, alone=True)


def _way(op: Operation) -> OnFrames:
    """Return how a call runs: those that concern memory, or may, know of no lanes."""
    symbol = op.properties.get("callee")
    known = isinstance(symbol, at.SymbolRefAttr) and symbol.root not in _LIBRARIES
    return _IN_LANES if known and not promises(op) else _ALONE


CALL = Choice(_way)
