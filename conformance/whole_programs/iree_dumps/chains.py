"""Sort the dumps of IREE's compiler into compilations: one for each program, and one for each dispatch by itself.

iree-opt converts the texts, all in one process, to MLIR's generic form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool
from halfulp.conformance.whole_programs.bisection.stages import MODULE, Compilation, Dump, Dumps, Stage
from halfulp.conformance.whole_programs.iree_dumps.dispatches import (
    Counts,
    hinted_counts,
    plain_dispatch,
    stated_counts,
)
from halfulp.conformance.whole_programs.iree_dumps.hosts import EXECUTABLES, plain_program
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.conformance.whole_programs.signatures import signature
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

# --- reading ----------------------------------------------------------------------------------------------------------

_MARKER = "// ===== the next dump ====="
"""A line that no dump has: a cut one may well end with the beginning of a header, which is MLIR's own marker."""
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
    """Read each text, without the rules of its ops: a dump of a function alone may break those on symbols.

    Raises Unavailable if iree-opt is not installed.
    """
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, _read_together(converter(), distinct), strict=True))


def _read_together(tool: Tool, texts: Sequence[str]) -> list[Module | HalfulpError]:
    """Read texts in one process. If it fails as a whole, read each half by itself: one text may have stopped it."""
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
    """Tell whether IREE's compiler printed the dumps."""
    return any(name in dump.text for dump in dumps.passes for name in _IREE)


@dataclass
class Chain:
    """The dumps of one function. ``name``: the function. ``dispatch``: whether it is one of a dispatch."""

    name: str
    dispatch: bool
    stages: list[Stage] = field(default_factory=list)


def chains(dumps: Dumps, modules: Mapping[str, Module | HalfulpError]) -> tuple[tuple[str, Compilation], ...]:
    """Return the compilation of each function in the order of the dumps. ``modules``: what each text is, read."""
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
    """Part the stages of a dispatch where its bindings become others, so that the same inputs cannot be given."""
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
        """Return the chain of a dump that cannot be read: of the only dispatch that it names, else the last one."""
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
        """Return the name of the only dispatch that a dump has; "" for one of a program."""
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
            if op.name in EXECUTABLES and _place(op) in known:
                known[_place(op)] = op

    # --- programs -----------------------------------------------------------------------------------------------------

    def _of_program(self, dump: Dump, module: Module) -> tuple[str, bool, Dump, tuple[str, Module | HalfulpError]]:
        name = self._known(module, MODULE.search(dump.text) is not None)
        known = self._programs[name]
        key = tuple(known.values())
        if key not in self._made:
            self._made[key] = _made_program(key, module)
        return name, False, dump, self._made[key]

    def _known(self, module: Module, whole: bool) -> str:
        """Note the ops of a dump, and return the name of its program. ``whole``: it is all of the program."""
        places = {_place(op): op for op in module.body}
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


def _place(op: Operation) -> tuple[str, str]:
    """Return what stays the same when a pass makes a function of another dialect."""
    return op.name.rpartition(".")[2], op.symbol_name or ""


def _counts(function: Operation, module: Module) -> Counts | None:
    """Return the number of workgroups that a dump states."""
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
    """Raise Unsupported, with the ops that are not known, if a public function takes or returns what only IREE has."""
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
