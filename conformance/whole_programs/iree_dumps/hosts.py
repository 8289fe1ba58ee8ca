"""Make programs of MLIR of IREE's: its functions, globals and buffer views become those of MLIR itself.

IREE prints functions as ``util.func``. Those that came from ONNX take and return ``!hal.buffer_view`` and
``!hal.fence``; a second function of the same name, a stub, waits for the first one. These ops only pass tensors on.
Dispatches are called with memory, and hoisted values are computed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from halfulp.conformance.whole_programs.iree_dumps.dispatches import plain_dispatch
from halfulp.conformance.whole_programs.iree_dumps.tensors import (
    allocated,
    blocks_of,
    build_op,
    function_of,
    inherent,
    load_whole,
    loaded,
    put,
    replace_values,
    segments,
    store_whole,
    stored,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import BlockArgument, Module, Operation, SSAValue

# --- wrappers ---------------------------------------------------------------------------------------------------------

_ASYNC = "$async"
"""The end of the name of a function that a stub of the name before it calls."""


def unwrap(module: Module) -> None:
    """Take the wrappers off a module that was read and not verified, in place.

    An op of IREE that is not a wrapper stays. It is named when the program reaches it.
    """
    functions = {op.symbol_name: op for op in module.body if op.name == "util.func"}
    stubs = {op for name, op in functions.items() if f"{name}{_ASYNC}" in functions}
    constants = {op.symbol_name: op for op in module.body if _is_constant(op)}
    block = module.operation.regions[0].blocks[0]
    block.operations[:] = [
        _function(op, constants) if op.name == "util.func" else op
        for op in module.body
        if op not in stubs and op not in constants.values()
    ]
    for op in block.operations:
        op.parent = block


def _function(op: Operation, constants: Mapping[str | None, Operation]) -> Operation:
    """Return the func.func of a util.func; its region moves there."""
    _Body(constants).rewrite(op)
    given = inherent(op)
    name = op.symbol_name or ""
    properties: dict[str, Attribute] = {"sym_name": at.StringAttr(name.removesuffix(_ASYNC))}
    if "sym_visibility" in given:
        properties["sym_visibility"] = given["sym_visibility"]
    properties["function_type"] = at.TypeAttr(_signature(op, given))
    return build_op("func.func", op, properties=properties, regions=op.regions)


def _signature(op: Operation, given: Mapping[str, Attribute]) -> ty.FunctionType:
    declared = given["function_type"]
    assert isinstance(declared, at.TypeAttr)
    assert isinstance(declared.type, ty.FunctionType)
    blocks = op.regions[0].blocks
    if not blocks:
        return declared.type
    returns = [each for block in blocks for each in block.operations if each.name == "func.return"]
    results = tuple(value.type for value in returns[0].operands) if returns else declared.type.results
    return ty.FunctionType(tuple(argument.type for argument in blocks[0].arguments), results)


@dataclass
class _Body:
    """The rewriting of one function. ``constants``: the globals that never change. ``instead``: the value that stands
    in place of one whose op is gone.
    """

    constants: Mapping[str | None, Operation]
    instead: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def rewrite(self, function: Operation) -> None:
        """Rewrite the body of a function."""
        for block in blocks_of(function):
            block.operations[:] = [new for op in block.operations for new in self._rewritten(op)]
            for op in block.operations:
                op.parent = block
        for op in function.walk():
            op.operands[:] = [self._now(value) for value in op.operands]
            op.successors = [(target, [self._now(value) for value in values]) for target, values in op.successors]
        for entry in function.regions[0].blocks[:1]:
            entry.arguments[:] = [argument for argument in entry.arguments if not _is_hal(argument.type, "fence")]
            for index, argument in enumerate(entry.arguments):
                argument.index = index

    def _now(self, value: SSAValue) -> SSAValue:
        while value in self.instead:
            value = self.instead[value]
        return value

    def _rewritten(self, op: Operation) -> tuple[Operation, ...]:
        rule = _RULES.get(op.name)
        return (op,) if rule is None else rule(self, op)

    def passed_on(self, op: Operation) -> tuple[Operation, ...]:
        """Let the operands of an op stand for its results."""
        self.instead.update(zip(op.results, op.operands, strict=False))
        return ()

    def imported(self, op: Operation) -> tuple[Operation, ...]:
        """Let a buffer view that the function takes be the tensor that is imported from it."""
        view, tensor = op.operands[0], op.results[0]
        if not isinstance(view, BlockArgument) or not _is_hal(view.type, "buffer_view"):
            return (op,)
        view.type = tensor.type
        return self.passed_on(op)

    def dimension(self, op: Operation) -> tuple[Operation, ...]:
        """Ask the tensor for the size that was asked of the buffer view."""
        index = build_op("arith.constant", op, results=(ty.IndexType(),), properties={"value": inherent(op)["index"]})
        return index, self._replaced("tensor.dim", op, [op.operands[0], index.results[0]])

    def loaded(self, op: Operation) -> tuple[Operation, ...]:
        """Put a constant in place of the load of a global that never changes."""
        symbol = inherent(op).get("global")
        found = self.constants.get(symbol.root) if isinstance(symbol, at.SymbolRefAttr) else None
        if found is None:
            return (op,)
        return (self._replaced("arith.constant", op, [], {"value": inherent(found)["initial_value"]}),)

    def called(self, op: Operation) -> tuple[Operation, ...]:
        """Call a function of MLIR."""
        return (self._replaced("func.call", op, op.operands, {"callee": inherent(op)["callee"]}),)

    def returned(self, op: Operation) -> tuple[Operation, ...]:
        """Return from a function of MLIR."""
        return (self._replaced("func.return", op, op.operands),)

    def _replaced(
        self, name: str, op: Operation, operands: list[SSAValue], properties: dict[str, Attribute] | None = None
    ) -> Operation:
        new = build_op(name, op, operands, [each.type for each in op.results], properties, op.regions)
        self.instead.update(zip(op.results, new.results, strict=True))
        return new


_RULES: Mapping[str, Callable[[_Body, Operation], tuple[Operation, ...]]] = {
    "hal.buffer_view.dim": _Body.dimension,
    "hal.tensor.barrier": _Body.passed_on,
    "hal.tensor.export": _Body.passed_on,
    "hal.tensor.import": _Body.imported,
    "util.call": _Body.called,
    "util.global.load": _Body.loaded,
    "util.optimization_barrier": _Body.passed_on,
    "util.return": _Body.returned,
}
"""The ops of IREE that hand values over, and the method that replaces each."""


def _is_constant(op: Operation) -> bool:
    """Tell whether an op is a global with a value that never changes."""
    given = inherent(op) if op.name == "util.global" else {}
    return "initial_value" in given and "is_mutable" not in given


def _is_hal(type_: ty.Type, mnemonic: str) -> bool:
    return isinstance(type_, ty.OpaqueType) and (type_.dialect, type_.body) == ("hal", f".{mnemonic}")


# --- hosts ------------------------------------------------------------------------------------------------------------

EXECUTABLES = ("flow.executable", "stream.executable", "hal.executable")
_FUNCTIONS = ("util.func", "func.func")
_ENDS = ("flow.return", "func.return")


def plain_program(module: Module) -> None:
    """Make a plain program of a module, in place: its dispatches become functions, and IREE's wrappers come off.

    What is not known stays, and is named when the program reaches it. Raises Unsupported for a dispatch that cannot be
    a function.
    """
    block = module.operation.regions[0].blocks[0]
    dispatches = _dispatches(module)
    hoisted = _hoisted(module)
    for op in module.body:
        if op.name in _FUNCTIONS:
            _Program(dispatches).rewrite(op)
    initial = [_initial(op, target, dispatches) for target, op in hoisted.items()]
    gone = (*EXECUTABLES, "util.initializer")
    rest = [op for op in module.body if op.name not in gone and not _is_device(op) and op.symbol_name not in hoisted]
    put(block, [*rest, *(each for ops in dispatches.values() for each in ops), *initial])
    for op in module.body:
        if op.name in _FUNCTIONS:
            _load_hoisted(op, hoisted)
    unwrap(module)


def _is_device(op: Operation) -> bool:
    return op.name == "util.global" and str(inherent(op).get("type")) == "!hal.device"


# --- dispatches -------------------------------------------------------------------------------------------------------


def _dispatches(module: Module) -> dict[str, list[Operation]]:
    """Return the functions of the dispatches by the names of their entries, as ``@executable::@entry``."""
    found = {}
    for executable in module.body:
        if executable.name not in EXECUTABLES:
            continue
        for op in executable.walk():
            if op.name == "func.func":
                plain = plain_dispatch(op, None)
                for each in plain:
                    each.properties["sym_visibility"] = at.StringAttr("private")
                found[f"@{executable.symbol_name}::@{op.symbol_name}"] = plain
    return found


class _Program:
    """The rewriting of one function. ``dispatches``: the plain functions by the names of the entries."""

    def __init__(self, dispatches: Mapping[str, Sequence[Operation]]) -> None:
        self._dispatches = dispatches
        self._instead: dict[SSAValue, SSAValue] = {}

    def rewrite(self, function: Operation) -> None:
        """Rewrite the body of a function."""
        self._rewrite_inside(function)
        replace_values(function, self._instead)

    def _rewrite_inside(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                put(block, [new for each in block.operations for new in self._rewritten(each)])

    def _rewritten(self, op: Operation) -> list[Operation]:
        rule = _HOST_RULES.get(op.name)
        if rule is not None:
            return rule(self, op)
        self._rewrite_inside(op)
        return [op]

    def pass_on(self, op: Operation) -> list[Operation]:
        """Let the operands of an op stand for its results."""
        self._instead.update(zip(op.results, op.operands, strict=True))
        return []

    def inline(self, op: Operation) -> list[Operation]:
        """Put the ops of a region in place of flow.dispatch.region. Its second region counts workgroups."""
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or blocks[0].arguments or blocks[0].operations[-1].name not in _ENDS:
            return [op]
        *inner, end = blocks[0].operations
        self._instead.update(zip(op.results, end.operands, strict=True))
        return [new for each in inner for new in self._rewritten(each)]

    def call(self, op: Operation) -> list[Operation]:
        """Call the function of a dispatch with memory for each tensor."""
        entries = inherent(op).get("entry_points")
        name = str(entries.elements[0]) if isinstance(entries, at.ArrayAttr) and len(entries.elements) == 1 else ""
        found = self._dispatches.get(name)
        if found is None:
            return [op]
        callee = at.SymbolRefAttr(found[0].symbol_name or "")

        def body(given: Sequence[SSAValue]) -> list[Operation]:
            # A plain dispatch takes its memory first.
            ordered = sorted(given, key=lambda value: not isinstance(value.type, ty.MemRefType))
            return [build_op("func.call", op, ordered, properties={"callee": callee})]

        return self._with_memory(op, body)

    def run(self, op: Operation) -> list[Operation]:
        """Put the ops of a region in place of flow.dispatch.workgroups, with memory for each tensor."""
        blocks = op.regions[0].blocks
        if len(blocks) != 1:
            return [op]

        def body(given: Sequence[SSAValue]) -> list[Operation]:
            instead: dict[SSAValue, SSAValue] = dict(zip(blocks[0].arguments, given, strict=True))
            replace_values(op, instead)
            return [new for each in blocks[0].operations[:-1] for new in self._rewritten(each)]

        return self._with_memory(op, body)

    def _with_memory(self, op: Operation, body: Callable[[Sequence[SSAValue]], list[Operation]]) -> list[Operation]:
        """Return ops that put the arguments of a dispatch into memory, run it, and load its results."""
        _, arguments, sizes, result_sizes = segments(op)
        if sizes or result_sizes:
            return [op]
        before: list[Operation] = []
        given: list[SSAValue] = []
        for value in arguments:
            memory = allocated(value.type, op)
            if memory is None:
                if isinstance(value.type, ty.TensorType):
                    return [op]
                given.append(value)
                continue
            before += [memory, store_whole(value, memory.results[0], op)]
            given.append(memory.results[0])
        tied = inherent(op).get("tied_operands")
        if isinstance(tied, at.ArrayAttr) and any(getattr(each, "value", 0) >= 0 for each in tied.elements):
            return [op]  # a result that takes the place of an argument
        outputs: list[SSAValue] = []
        for result in op.results:
            memory = allocated(result.type, op)
            if memory is None:
                return [op]
            before.append(memory)
            outputs.append(memory.results[0])
        given += outputs
        inside = body(given)
        after = [load_whole(memory, op) for memory in outputs]
        self._instead.update((old, new.results[0]) for old, new in zip(op.results, after, strict=True))
        return [*before, *inside, *after]

    def load(self, op: Operation) -> list[Operation]:
        """Load from the memory of a dispatch."""
        new = loaded(op)
        if new[-1] is not op:
            self._instead[op.results[0]] = new[-1].results[0]
        return new

    def store(self, op: Operation) -> list[Operation]:
        """Store into the memory of a dispatch."""
        return stored(op)

    def load_element(self, op: Operation) -> list[Operation]:
        """Take an element of a tensor."""
        source, dims, places = segments(op)
        if dims:
            return [op]
        new = build_op("tensor.extract", op, [*source, *places], [op.results[0].type])
        self._instead[op.results[0]] = new.results[0]
        return [new]


_HOST_RULES: Mapping[str, Callable[[_Program, Operation], list[Operation]]] = {
    "flow.dispatch": _Program.call,
    "flow.dispatch.region": _Program.inline,
    "flow.dispatch.workgroups": _Program.run,
    "flow.tensor.load": _Program.load_element,
    "iree_tensor_ext.compute_barrier.end": _Program.pass_on,
    "iree_tensor_ext.compute_barrier.start": _Program.pass_on,
    "iree_tensor_ext.dispatch.tensor.load": _Program.load,
    "iree_tensor_ext.dispatch.tensor.store": _Program.store,
}
"""The ops of IREE that run dispatches or hand values on, and the method that replaces each."""


# --- globals ----------------------------------------------------------------------------------------------------------


def _hoisted(module: Module) -> dict[str | None, Operation]:
    """Return the initializers by the global that each computes. Nothing else may store into it."""
    stores = [op for op in module.walk() if op.name == "util.global.store"]
    stored_ = [_global(op) for op in stores]
    found = {}
    for op in module.body:
        if op.name != "util.initializer" or len(op.regions[0].blocks) != 1:
            continue
        own = [each for each in op.regions[0].blocks[0].operations if each.name == "util.global.store"]
        if len(own) == 1 and stored_.count(_global(own[0])) == 1:
            found[_global(own[0])] = op
    return found


def _global(op: Operation) -> str | None:
    symbol = inherent(op).get("global")
    return symbol.root if isinstance(symbol, at.SymbolRefAttr) else None


def _initial(op: Operation, target: str | None, dispatches: Mapping[str, Sequence[Operation]]) -> Operation:
    """Return the function that computes what an initializer stores into a global."""
    block = op.regions[0].blocks[0]
    (store,) = (each for each in block.operations if each.name == "util.global.store")
    kept = [each for each in block.operations if each is not store and each is not block.operations[-1]]
    put(block, [*kept, build_op("func.return", op, store.operands)])
    found = function_of(f"{target}$initial", op.regions[0], op, [value.type for value in store.operands], private=True)
    _Program(dispatches).rewrite(found)
    return found


def _load_hoisted(function: Operation, hoisted: Mapping[str | None, Operation]) -> None:
    """Compute a hoisted value where it is loaded."""
    instead: dict[SSAValue, SSAValue] = {}
    for block in blocks_of(function):
        new = []
        for op in block.operations:
            if op.name == "util.global.load" and _global(op) in hoisted:
                callee = at.SymbolRefAttr(f"{_global(op)}$initial")
                call = build_op("func.call", op, [], [op.results[0].type], {"callee": callee})
                instead[op.results[0]] = call.results[0]
                op = call
            new.append(op)
        put(block, new)
    replace_values(function, instead)
