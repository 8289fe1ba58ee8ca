"""Sort the dumps of IREE's compiler into compilations: one for each program, and one for each dispatch by itself.

The first part converts programs of IREE to MLIR's own dialects: functions, globals and buffer views are replaced. IREE
prints functions as ``util.func``. Functions that were imported from ONNX take and return ``!hal.buffer_view`` and
``!hal.fence``; and there is a second function of the same name that waits for the first one. These types and functions
only pass tensors on, so they are removed. Dispatches are called with memory, and hoisted values are computed in place.

The second part reads the dumps: iree-opt converts the texts, all in one process, to MLIR's generic form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.bisection.runs import MODULE, Compilation, Dump, Dumps, Stage, place_of
from halfulp.conformance.whole_programs.iree_dumps.dispatches import (
    Counts,
    allocated,
    blocks_of,
    build_op,
    function_of,
    hinted_counts,
    inherent,
    load_whole,
    loaded,
    plain_dispatch,
    put,
    replace_values,
    segments,
    stated_counts,
    store_whole,
    stored,
)
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.conformance.whole_programs.two_runs import signature
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, narrowed
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.operations import BlockArgument, Module, Operation, SSAValue, argument_types, result_types
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

# --- wrappers ---------------------------------------------------------------------------------------------------------

_ASYNC = "$async"
"""The ending of the name of a function that has a stub. The stub has the name without it, and calls the function."""


def unwrap(module: Module) -> None:
    """Remove the wrappers from a module that was read and not verified, in place.

    An op of IREE that is not a wrapper is not removed; an error names it when the program reaches it.
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
    _Rewriting(_RULES, constants=constants).rewrite(op)
    for entry in op.regions[0].blocks[:1]:
        entry.arguments[:] = [argument for argument in entry.arguments if not _is_hal(argument.type, "fence")]
        for index, argument in enumerate(entry.arguments):
            argument.index = index
    given = inherent(op)
    name = op.symbol_name or ""
    properties: dict[str, Attribute] = {"sym_name": at.StringAttr(name.removesuffix(_ASYNC))}
    if "sym_visibility" in given:
        properties["sym_visibility"] = given["sym_visibility"]
    properties["function_type"] = at.TypeAttr(_signature(op, given))
    return build_op("func.func", op, properties=properties, regions=op.regions)


def _signature(op: Operation, given: Mapping[str, Attribute]) -> ty.FunctionType:
    declared = narrowed(given["function_type"], at.TypeAttr)
    assert isinstance(declared.type, ty.FunctionType)
    blocks = op.regions[0].blocks
    if not blocks:
        return declared.type
    returns = [each for block in blocks for each in block.operations if each.name == "func.return"]
    results = tuple(value.type for value in returns[0].operands) if returns else declared.type.results
    return ty.FunctionType(tuple(argument.type for argument in blocks[0].arguments), results)


class _Rewriting:
    """The rewriting of one function. ``rules``: the methods that replace ops, by name. ``dispatches``: the plain
    functions by the names of the entries. ``constants``: the globals that never change. ``instead``: for a value whose
    op was removed, the value that replaces it.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        dispatches: Mapping[str, Sequence[Operation]] = MappingProxyType({}),
        constants: Mapping[str | None, Operation] = MappingProxyType({}),
    ) -> None:
        self._rules = rules
        self._dispatches = dispatches
        self._constants = constants
        self._instead: dict[SSAValue, SSAValue] = {}

    def rewrite(self, function: Operation) -> None:
        """Rewrite the body of a function."""
        self._rewrite_inside(function)
        replace_values(function, self._instead)

    def _rewrite_inside(self, op: Operation) -> None:
        for block in op.blocks:
            put(block, [new for each in block.operations for new in self._rewritten(each)])

    def _rewritten(self, op: Operation) -> list[Operation]:
        rule = self._rules.get(op.name)
        if rule is not None:
            return rule(self, op)
        self._rewrite_inside(op)
        return [op]

    def _replaced(
        self, name: str, op: Operation, operands: list[SSAValue], properties: dict[str, Attribute] | None = None
    ) -> Operation:
        new = build_op(name, op, operands, [each.type for each in op.results], properties, op.regions)
        self._instead.update(zip(op.results, new.results, strict=True))
        return new

    def pass_on(self, op: Operation) -> list[Operation]:
        """Replace the results of an op by its operands, and return no ops."""
        self._instead.update(zip(op.results, op.operands, strict=False))
        return []

    # --- wrappers ---

    def imported(self, op: Operation) -> list[Operation]:
        """Replace a buffer view that is an argument of the function by the tensor that is imported from it."""
        view, tensor = op.operands[0], op.results[0]
        if not isinstance(view, BlockArgument) or not _is_hal(view.type, "buffer_view"):
            return [op]
        view.type = tensor.type
        return self.pass_on(op)

    def dimension(self, op: Operation) -> list[Operation]:
        """Replace the size of a buffer view by the size of its tensor."""
        index = build_op("arith.constant", op, results=(ty.IndexType(),), properties={"value": inherent(op)["index"]})
        return [index, self._replaced("tensor.dim", op, [op.operands[0], index.results[0]])]

    def constant(self, op: Operation) -> list[Operation]:
        """Replace the load of a global that never changes by a constant."""
        found = self._constants.get(_global(op))
        if found is None:
            return [op]
        return [self._replaced("arith.constant", op, [], {"value": inherent(found)["initial_value"]})]

    def called(self, op: Operation) -> list[Operation]:
        """Replace a call of a util.func by a func.call."""
        return [self._replaced("func.call", op, op.operands, {"callee": inherent(op)["callee"]})]

    def returned(self, op: Operation) -> list[Operation]:
        """Replace util.return by func.return."""
        return [self._replaced("func.return", op, op.operands)]

    # --- dispatches ---

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
        """Replace a flow.dispatch.workgroups by the ops of its region, and put its tensors into memory."""
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
        """Replace the load of an element by tensor.extract."""
        source, dims, places = segments(op)
        if dims:
            return [op]
        new = build_op("tensor.extract", op, [*source, *places], [op.results[0].type])
        self._instead[op.results[0]] = new.results[0]
        return [new]


Rule = Callable[[_Rewriting, Operation], list[Operation]]

_RULES: Mapping[str, Rule] = {
    "hal.buffer_view.dim": _Rewriting.dimension,
    "hal.tensor.barrier": _Rewriting.pass_on,
    "hal.tensor.export": _Rewriting.pass_on,
    "hal.tensor.import": _Rewriting.imported,
    "util.call": _Rewriting.called,
    "util.global.load": _Rewriting.constant,
    "util.optimization_barrier": _Rewriting.pass_on,
    "util.return": _Rewriting.returned,
}
"""The ops of IREE that only pass values on, and the method that replaces each."""


def _is_constant(op: Operation) -> bool:
    """Tell whether an op is a global with a value that never changes."""
    given = inherent(op) if op.name == "util.global" else {}
    return "initial_value" in given and "is_mutable" not in given


def _is_hal(type_: ty.Type, mnemonic: str) -> bool:
    return isinstance(type_, ty.OpaqueType) and (type_.dialect, type_.body) == ("hal", f".{mnemonic}")


# --- hosts ------------------------------------------------------------------------------------------------------------

EXECUTABLES = ("flow.executable", "stream.executable", "hal.executable")
_HOST_FUNCTIONS = ("util.func", "func.func")
_ENDS = ("flow.return", "func.return")


def plain_program(module: Module) -> None:
    """Convert a module to a plain program, in place: its dispatches become functions, and IREE's wrappers are removed.

    If an op is unknown, it stays, and an error names it when the program reaches it. Raises Unsupported for a dispatch
    that cannot be a function.
    """
    block = module.operation.regions[0].blocks[0]
    dispatches = _dispatches(module)
    hoisted = _hoisted(module)
    for op in module.body:
        if op.name in _HOST_FUNCTIONS:
            _Rewriting(_HOST_RULES, dispatches).rewrite(op)
    initial = [_initial(op, target, dispatches) for target, op in hoisted.items()]
    gone = (*EXECUTABLES, "util.initializer")
    rest = [op for op in module.body if op.name not in gone and not _is_device(op) and op.symbol_name not in hoisted]
    put(block, [*rest, *(each for ops in dispatches.values() for each in ops), *initial])
    for op in module.body:
        if op.name in _HOST_FUNCTIONS:
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


_HOST_RULES: Mapping[str, Rule] = {
    "flow.dispatch": _Rewriting.call,
    "flow.dispatch.region": _Rewriting.inline,
    "flow.dispatch.workgroups": _Rewriting.run,
    "flow.tensor.load": _Rewriting.load_element,
    "iree_tensor_ext.compute_barrier.end": _Rewriting.pass_on,
    "iree_tensor_ext.compute_barrier.start": _Rewriting.pass_on,
    "iree_tensor_ext.dispatch.tensor.load": _Rewriting.load,
    "iree_tensor_ext.dispatch.tensor.store": _Rewriting.store,
}
"""The ops of IREE that run dispatches or pass values on, and the method that replaces each."""


# --- globals ----------------------------------------------------------------------------------------------------------


def _hoisted(module: Module) -> dict[str | None, Operation]:
    """Return, for each global, the initializer that computes it. No other op may store into that global."""
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
    _Rewriting(_HOST_RULES, dispatches).rewrite(found)
    return found


def _load_hoisted(function: Operation, hoisted: Mapping[str | None, Operation]) -> None:
    """Replace the load of a hoisted global by a call of the function that computes it."""
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


# --- dumps ------------------------------------------------------------------------------------------------------------

# --- reading ----------------------------------------------------------------------------------------------------------

_MARKER = "// ===== the next dump ====="
"""The line between two texts. No dump has it, not even a dump that is cut in the middle of a header."""
# A function that is printed alone names symbols that are not there, which iree-opt must not check.
_OPTIONS = (
    "--allow-unregistered-dialect",
    "--mlir-print-op-generic",
    "--mlir-print-local-scope",
    "--mlir-very-unsafe-disable-verifier-on-parsing",
    f"--split-input-file={_MARKER}",
    f"--output-split-marker={_MARKER}",
)


def read_all(texts: Iterable[str]) -> Mapping[str, Module | HalfulpError]:
    """Read each text, without checking the rules of its ops: the dump of a function alone may break rules on symbols.

    Raises Unavailable if iree-opt is not installed.
    """
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, _read_together(converter(), distinct), strict=True))


def _read_together(tool: Tool, texts: Sequence[str]) -> list[Module | HalfulpError]:
    """Read texts in one process. If it fails as a whole, read each half by itself: one text may be the reason."""
    if not texts:
        return []
    try:
        printed = tool.finished(_OPTIONS, f"\n{_MARKER}\n".join(texts)).printed.split(_MARKER)
        problem = f"it printed {len(printed)} of {len(texts)} dumps"
    except OracleError as error:
        printed, problem = [], str(error)
    if len(printed) == len(texts):
        return [_read_generic(generic) for generic in printed]
    if len(texts) == 1:
        return [Unsupported(f"iree-opt: {problem}")]
    middle = len(texts) // 2
    return _read_together(tool, texts[:middle]) + _read_together(tool, texts[middle:])


_NO_FLAGS = re.compile(r'("vector\.contract"\(.*?)fastmath = #arith\.fastmath<none>, ')
"""A property that vector.contract has in the LLVM of IREE, with the value that changes nothing."""


def _read_generic(generic: str) -> Module | HalfulpError:
    if not generic.strip():
        return Unsupported("iree-opt cannot read it")
    try:
        return parse_module(_NO_FLAGS.sub(r"\1", generic), "<iree-opt>", verify=False)
    except HalfulpError as error:
        return error


# --- chains -----------------------------------------------------------------------------------------------------------

_IREE = ("util.func", "flow.executable", "stream.executable", "hal.executable", "hal.interface.", "iree_tensor_ext.")
_FUNCTIONS = ("func.func", "util.func", "llvm.func")
_SYMBOL = re.compile(r"@([\w$.]+)")
_EXPORTS = ("flow.executable.export", "stream.executable.export", "hal.executable.export")


def is_of_iree(dumps: Dumps) -> bool:
    """Tell whether the dumps are those of IREE's compiler."""
    return any(name in dump.text for dump in dumps.passes for name in _IREE)


@dataclass
class Chain:
    """The dumps of one function. ``name``: the function. ``dispatch``: whether it is a function of a dispatch."""

    name: str
    dispatch: bool
    stages: list[Stage] = field(default_factory=list)


def chains(dumps: Dumps, modules: Mapping[str, Module | HalfulpError]) -> tuple[tuple[str, Compilation], ...]:
    """Return the compilation of each function in the order of the dumps. ``modules``: the module that was read from
    each text.
    """
    sorted_ = _Sorted(_exports(modules.values()))
    for dump in dumps.passes:
        if not dump.failed:
            sorted_.add(dump, modules[dump.text])
    return tuple(
        (chain.name, Compilation(tuple(stages), dumps.failure))
        for chain in sorted_.chains.values()
        for stages in _parts(chain)
    )


def _parts(chain: Chain) -> list[list[Stage]]:
    """Split the stages of a dispatch where its bindings change, so that the same inputs cannot be given any longer."""
    parts: list[list[Stage]] = [[]]
    first = None
    for stage in chain.stages:
        found = stage.module.lookup(chain.name) if isinstance(stage.module, Module) and chain.dispatch else None
        if found is not None and first is not None and not _carries(first, found):
            parts.append([])
            first = None
        first = first or found
        parts[-1].append(stage)
    return parts


def _carries(first: Operation, later: Operation) -> bool:
    try:
        signature(first, later)
    except Unsupported:
        return False
    return True


def _exports(modules: Iterable[Module | HalfulpError]) -> frozenset[str]:
    """Return the names of the functions that are entries of dispatches."""
    return frozenset(
        op.symbol_name or ""
        for module in modules
        if isinstance(module, Module)
        for op in module.walk()
        if op.name in _EXPORTS
    )


class _Sorted:
    def __init__(self, exports: frozenset[str]) -> None:
        self.chains: dict[str, Chain] = {}
        self._exports = exports
        self._programs: dict[str, dict[tuple[str, str], Operation]] = {}
        self._program = ""
        self._last = "", False
        self._counts: dict[str, Counts] = {}
        self._names: dict[Module, str] = {}
        self._made: dict[object, tuple[str, Module | HalfulpError]] = {}

    def add(self, dump: Dump, module: Module | HalfulpError) -> None:
        """Add a dump to the chain that it belongs to."""
        if isinstance(module, HalfulpError) or not module.body:
            error = module if isinstance(module, HalfulpError) else InputError("the dump is empty")
            self._stage(*self._named_in(dump.text), dump, (dump.text, error))
            return
        if module not in self._names:
            self._names[module] = self._dispatch(module.body)
        name = self._names[module]
        if name:
            self._note_executable(module)
            self._stage(name, True, dump, self._of_dispatch(name, module))
        else:
            self._stage(*self._of_program(dump, module))

    def _named_in(self, text: str) -> tuple[str, bool]:
        """Return the chain of a dump that cannot be read: that of the only dispatch that it names, else the last
        chain.
        """
        names = self._exports.intersection(_SYMBOL.findall(text))
        if len(names) == 1 and "util.func" not in text:
            return min(names), True
        return self._last if not names else (self._program, False)

    def _stage(self, name: str, dispatch: bool, dump: Dump, program: tuple[str, Module | HalfulpError]) -> None:
        self._last = name, dispatch
        chain = self.chains.setdefault(name, Chain(name, dispatch))
        chain.stages.append(Stage(dump.name, dump.argument, *program, dump.op))

    # --- dispatches ---------------------------------------------------------------------------------------------------

    def _dispatch(self, body: Sequence[Operation]) -> str:
        """Return the name of the only dispatch that a dump has; "" for the dump of a program."""
        if any(op.name == "util.func" for op in body):
            return ""
        found = [op for top in body for op in top.walk() if op.name in _FUNCTIONS and op.symbol_name in self._exports]
        return (found[0].symbol_name or "") if len(found) == 1 else ""

    def _of_dispatch(self, name: str, module: Module) -> tuple[str, Module | HalfulpError]:
        function = next(op for op in module.walk() if op.symbol_name == name and op.name in _FUNCTIONS)
        counts = _counts(function, module) or self._counts.get(name)
        if counts is not None:
            self._counts[name] = counts
        if (module, counts) not in self._made:
            self._made[module, counts] = _made_dispatch(function, module, counts)
        return self._made[module, counts]

    def _note_executable(self, module: Module) -> None:
        """Put an executable that is printed alone into its program."""
        known = self._programs.get(self._program, {})
        for op in module.body:
            if op.name in EXECUTABLES and place_of(op) in known:
                known[place_of(op)] = op

    # --- programs -----------------------------------------------------------------------------------------------------

    def _of_program(self, dump: Dump, module: Module) -> tuple[str, bool, Dump, tuple[str, Module | HalfulpError]]:
        name = self._known(module, MODULE.search(dump.text) is not None)
        known = self._programs[name]
        key = tuple(known.values())
        if key not in self._made:
            self._made[key] = _made_program(key, module)
        return name, False, dump, self._made[key]

    def _known(self, module: Module, whole: bool) -> str:
        """Record the ops of a dump, and return the name of its program. ``whole``: the dump has the whole program."""
        places = {place_of(op): op for op in module.body}
        public = [op for op in module.body if op.name in _FUNCTIONS and _is_public(op)]
        if whole and public:
            self._program = public[0].symbol_name or ""
            self._programs[self._program] = places
            return self._program
        names = [name for name, known in self._programs.items() if all(place in known for place in places)]
        self._program = names[-1] if self._program not in names and names else self._program
        known = self._programs.setdefault(self._program or next(iter(places))[1], {})
        known.update(places)
        return self._program


def _is_public(op: Operation) -> bool:
    given = op.properties or {}
    raw = op.raw_properties.mapping if isinstance(op.raw_properties, at.DictionaryAttr) else {}
    visibility = {**op.attributes, **given, **raw}.get("sym_visibility")
    return not (isinstance(visibility, at.StringAttr) and visibility.value == "private")


def _counts(function: Operation, module: Module) -> Counts | None:
    """Return the numbers of workgroups that a dump has as constants; None if it has none."""
    found = hinted_counts(function)
    others = [op for op in module.walk() if op.name in (*_EXPORTS, "iree_codegen.dispatch_config")]
    return next((counts for counts in (found, *map(stated_counts, others)) if counts is not None), None)


def _made_dispatch(function: Operation, module: Module, counts: Counts | None) -> tuple[str, Module | HalfulpError]:
    text = print_module(module_with([function], module))
    if function.name == "llvm.func":
        return text, Unsupported("its bindings are in structures of IREE's runtime", location=function.location)
    try:
        copy = module_with([function], module)
        return _read(plain_dispatch(copy.body[0], counts), copy)
    except HalfulpError as error:
        return text, error


def _made_program(ops: Sequence[Operation], module: Module) -> tuple[str, Module | HalfulpError]:
    copy = module_with(ops, module)
    try:
        plain_program(copy)
        _refuse_handles(copy)
        return _read(copy.body, copy)
    except HalfulpError as error:
        return print_module(module_with(ops, module)), error


def _refuse_handles(program: Module) -> None:
    """Raise Unsupported, naming the unknown ops, if a public function takes or returns a type that only IREE has."""
    for op in program.body:
        types = (*argument_types(op), *result_types(op)) if op.name == "func.func" and _is_public(op) else ()
        if any(isinstance(type_, ty.OpaqueType) for type_ in types):
            left = sorted({each.name for each in op.walk() if each.definition is None})
            raise Unsupported(f"ops of IREE's runtime: {', '.join(left) or op.name}", location=op.location)


def _read(ops: Sequence[Operation], like: Module) -> tuple[str, Module | HalfulpError]:
    """Return the text of a plain program, and the program, read and verified."""
    text = print_module(module_with(ops, like))
    try:
        return text, parse_module(text)
    except HalfulpError as error:
        return text, error
