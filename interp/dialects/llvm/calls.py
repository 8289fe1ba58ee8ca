"""llvm.call: of functions of the module, of the libraries that lowered programs use, and of pointers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

from halfulp.interp.dialects.func.ops import caller
from halfulp.interp.dialects.func.runner import INTERFACE, ON_MEMREFS, Memref, OnMemrefs
from halfulp.interp.dialects.llvm import lowering, memory_encoding
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.abi import loaded
from halfulp.interp.dialects.llvm.attribute_contracts import Guard, guard_of, promises
from halfulp.interp.dialects.llvm.function_forms import callee_operands, function_type
from halfulp.interp.dialects.llvm.intrinsics import check_size
from halfulp.interp.dialects.llvm.memory import Pointer
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.run.evaluators import Compiler, Entry, OnFrames, PerOp
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Step, lift
from halfulp.interp.run.printing import show
from halfulp.interp.values.value import Value

# --- runner -----------------------------------------------------------------------------------------------------------
#
# The functions of mlir-runner's libraries that take pointers: printString, and those on memrefs in lowered form.
#
# A lowered program calls ``_mlir_ciface_printMemrefF32`` with a pointer to the descriptor. Some functions for unranked
# memrefs are in the libraries under their own name, too: they take the rank and a pointer.

_BY_RANK = ("I32", "I64", "F32", "F64", "Ind", "C32", "C64")
"""Elements of memrefs that a function prints which takes the rank and a pointer."""

Take = Callable[[Operation, Run, lowering.Slots], lowering.Descriptor]


def _memref(op: Operation, run: Run, descriptor: lowering.Descriptor, element: ty.Type, what: str) -> Memref:
    offset, sizes, strides = descriptor[2:]

    def load() -> Value:
        # Elements may stand at one place: a few bytes may be a memref of any size.
        check_size(
            op,
            prod(max(size, 1) for size in sizes) * memory_encoding.size_of(lowering.lowered_type(element)),
            run.settings,
        )
        try:
            return loaded(descriptor, ty.MemRefType(sizes, element), what)
        except UndefinedBehavior as error:
            raise undefined(op, error.message) from None

    return Memref(offset, sizes, strides, load)


def _call_with_memrefs(
    function: OnMemrefs, take: Take, op: Operation, run: Run, slots: lowering.Slots
) -> tuple[Any, ...]:
    step = len(slots) // function.arity
    parts = [slots[start : start + step] for start in range(0, len(slots), step)]
    memrefs = [
        _memref(op, run, take(op, run, part), function.element, f"argument #{k}") for k, part in enumerate(parts)
    ]
    result = function.call(op, run.settings, *memrefs)
    return () if result is None else (result & ((1 << 64) - 1),)


def _unranked(op: Operation, run: Run, slots: lowering.Slots) -> lowering.Descriptor:
    return lowering.unranked_at(op, run, slots[0])


def _by_rank(op: Operation, run: Run, slots: lowering.Slots) -> lowering.Descriptor:
    return lowering.descriptor_at(op, run, slots[1], lowering.count_of(op, run, slots[0]))


def _ranked(rank: int, op: Operation, run: Run, slots: lowering.Slots) -> lowering.Descriptor:
    return lowering.descriptor_at(op, run, slots[0], rank)


def _print_string(op: Operation, run: Run, slots: lowering.Slots) -> tuple[Any, ...]:
    """Print the bytes at a pointer up to the first zero."""
    (start,) = slots
    text = bytearray()
    while not text or text[-1]:
        at = start._replace(offset=start.offset + len(text)) if start.__class__ is Pointer else start
        byte = lowering.read_value(op, run, at, ty.IntegerType(8), 1)
        if byte.__class__ is not int:
            raise undefined(op, f"byte {len(text)} of the string is poison")
        text.append(byte)
    show(op, run.settings, text[:-1].decode("utf-8", "surrogateescape"))
    return ()


def _functions() -> Iterator[tuple[str, lowering.LibraryFunction]]:
    yield (
        "printString",
        lowering.LibraryFunction(llvm.FunctionType(result=llvm.VOID, inputs=(llvm.POINTER,)), _print_string),
    )
    for name, function in ON_MEMREFS.items():
        result = llvm.VOID if name.startswith("print") else ty.I64
        take: Take = _unranked if function.rank is None else partial(_ranked, function.rank)
        type_ = llvm.FunctionType(result=result, inputs=(llvm.POINTER,) * function.arity)
        yield INTERFACE + name, lowering.LibraryFunction(type_, partial(_call_with_memrefs, function, take))
    for element in _BY_RANK:
        function = ON_MEMREFS[f"printMemref{element}"]
        type_ = llvm.FunctionType(result=llvm.VOID, inputs=(ty.I64, llvm.POINTER))
        yield f"printMemref{element}", lowering.LibraryFunction(type_, partial(_call_with_memrefs, function, _by_rank))


FUNCTIONS: Mapping[str, lowering.LibraryFunction] = dict(_functions())


# --- calls ------------------------------------------------------------------------------------------------------------

_LIBRARIES: Mapping[str, lowering.LibraryFunction] = {**lowering.FUNCTIONS, **FUNCTIONS}


def _call(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs a call of a function by its name, or of a pointer."""
    if "var_callee_type" in op.properties:
        raise unsupported(op, "halfulp does not run functions with a variable number of arguments")
    symbol = op.properties.get("callee")
    slots = compiler.slots(callee_operands(op))
    if not isinstance(symbol, at.SymbolRefAttr):
        return _indirect(op, slots, compiler)
    target = compiler.module.lookup(symbol, op)
    if target is None or target.name != "llvm.func":
        raise unsupported(op, f"'{symbol}' cannot be called")
    return _direct(op, target, slots, compiler, compiler.after())


_COPIED = ("llvm.byval", "llvm.inalloca", "llvm.preallocated")
"""Attributes of arguments whose memory the callee gets a copy of."""


def _refuse_copies(op: Operation, target: Operation) -> None:
    given = target.properties.get("arg_attrs")
    for attributes in given.elements if isinstance(given, at.ArrayAttr) else ():
        for name, _ in attributes.entries if isinstance(attributes, at.DictionaryAttr) else ():
            if name in _COPIED:
                raise unsupported(op, f"halfulp does not run arguments with '{name}'")


def _direct(op: Operation, target: Operation, operands: tuple[int, ...], compiler: Compiler, after: Segment) -> Action:
    """Return the action that calls a function, and checks what the call promises about the arguments and the result.
    Promises of the function itself are checked here only if it is just declared; otherwise the function checks them.
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
    """Return the segment at which execution continues after a call: one that checks the result, if something is
    promised about it.
    """
    given = [(each, 0) for each in _stated(op, target, "res_attrs")]
    guard = guard_of(op, given, op.results[0].type, "the result") if given and op.results else None
    if guard is None:
        return after
    (result,) = results
    checking = Segment()
    checking.op, checking.cost, checking.control = op, 0, lambda frame: after

    def check(slots: list[Any]) -> None:
        slots[result] = guard(slots[0], slots[result])

    checking.steps = (check,)
    return checking


def _begin(op: Operation, compiler: Compiler) -> Step:
    """Return the step that checks what a function promises about its arguments."""
    (block, *_), given = op.regions[0].blocks, op.properties.get("arg_attrs")
    guards = []
    for place, argument in enumerate(block.arguments):
        guard = guard_of(op, [(given, place)], argument.type, f"argument #{place} of @{op.symbol_name}")
        if guard is not None:
            guards.append((compiler.slot(argument), guard))

    def check(slots: list[Any]) -> None:
        for slot, guard in guards:
            slots[slot] = guard(slots[0], slots[slot])

    return check


FUNCTION = PerOp(lambda op: Entry(_begin) if promises(op) else None)


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
            raise undefined(op, f"the callee is not a function, but byte {slot.offset} of {slot.memory.source}")
        type_ = function_type(target)
        if type_ is None or (type_.inputs, type_.results) != types:
            raise undefined(op, f"the callee @{target.symbol_name} is of type '{type_}'")
        action = made.get(target)
        if action is None:
            action = made[target] = _direct(op, target, tuple(arguments), compiler, after)
        return action(frame)

    return call_pointer


_IN_LANES, _ALONE = OnFrames(_call), OnFrames(_call, no_lanes=True)


def _way(op: Operation) -> OnFrames:
    """Return how a call runs. Calls that use memory, or may use it, cannot run in lanes."""
    symbol = op.properties.get("callee")
    known = isinstance(symbol, at.SymbolRefAttr) and symbol.root not in _LIBRARIES
    return _IN_LANES if known and not promises(op) else _ALONE


CALL = PerOp(_way)
