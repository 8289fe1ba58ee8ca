"""The stages of a compilation: the whole module after each pass, or why it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.bisection.dumps import Dump, Dumps, read_dumps
from halfulp.conformance.whole_programs.rewrite import module_with
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.text.printer import print_module

MODULE = re.compile(r'^(?:builtin\.)?module\b|^"builtin\.module"', re.MULTILINE)
"""Finds the beginning of a whole module."""

Read = Callable[[str, str], Module]
"""Parses the module of a text; the second argument is its name in messages. Raises HalfulpError."""


@dataclass(frozen=True)
class Stage:
    """The program after a pass.

    ``name``: the pass, or the file. ``argument``: the name of the pass on the command line, "" if it has none.
    ``text``: the whole program, or what could not be read. ``module``: the same, or the error of reading it. ``op``:
    the kind of op that the pass ran on, "" if it is not known.
    """

    name: str
    argument: str
    text: str
    module: Module | HalfulpError
    op: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.argument})" if self.argument and self.argument != self.name else self.name


@dataclass(frozen=True)
class Compilation:
    """The stages of a compilation in order, the program as it was first. ``end``: why they stop early, or ""."""

    stages: tuple[Stage, ...]
    end: str = ""


def of_pipeline(first: Stage, pipeline: PassPipeline) -> Compilation:
    """Run the passes on a program, in one process, and return it and the program after each.

    If a pass fails, the stages end before it. Raises PassFailure if mlir-opt cannot read the program or the pipeline.
    """
    printed, end = pipeline.dumped(first.text, first.name)
    dumps = read_dumps(printed)
    # A pass may say "error" and go on; how mlir-opt ended is known here.
    return of_dumps(dumps if end else replace(dumps, said=""), pipeline.read, first, end)


def of_dumps(dumps: Dumps, read: Read, first: Stage | None = None, end: str = "") -> Compilation:
    """Return the stages that dumps show. ``first``: the program as it was; None if only the dumps are known."""
    stages = [] if first is None else [first]
    known = _Known(None if first is None or not isinstance(first.module, Module) else first.module)
    for number, dump in enumerate(dumps.passes):
        if dump.failed:
            end = end or f"{_named(dump)} failed"
            break
        stages.append(_stage(dump, f"<after {dump.argument or dump.name}, dump {number}>", read, known))
    return Compilation(tuple(stages), end or dumps.failure)


def _named(dump: Dump) -> str:
    return f"{dump.name} ({dump.argument})" if dump.argument else dump.name


def _stage(dump: Dump, name: str, read: Read, known: _Known) -> Stage:
    text, module = dump.text, _read(read, dump.text, name)
    if isinstance(module, Module) and not module.body:
        module = InputError("the dump is empty")
    if isinstance(module, Module):
        text, module = known.whole(text, module)
    return Stage(dump.name, dump.argument, text, module, dump.op)


def _read(read: Read, text: str, name: str) -> Module | HalfulpError:
    try:
        return read(text, name)
    except HalfulpError as error:
        return error


class _Known:
    """The last whole module of the dumps: a pass on functions prints these alone."""

    def __init__(self, module: Module | None) -> None:
        self._module = module

    def whole(self, text: str, printed: Module) -> tuple[str, Module]:
        """Return the whole module after a pass that printed this, as a text and read."""
        if self._module is not None and not MODULE.search(text):
            new = {_place(op): op for op in printed.body}
            old = [new.pop(_place(op), op) for op in self._module.body]
            printed = module_with([*old, *new.values()], printed)
            text = print_module(printed)
        self._module = printed
        return text, printed


def _place(op: Operation) -> tuple[str, str]:
    """Return what stays the same when a pass makes a function of another dialect."""
    return op.name.rpartition(".")[2], op.symbol_name or ""
