"""A program in which some ops are what a pass pipeline makes of each of them alone.

These ops do what they do after the passes, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.comparing.refinement import answer_of
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Reply, Unanswered
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.op_search import results_of
from halfulp.conformance.whole_programs.printed import silent
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import StringAttr, SymbolRefAttr
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, LimitExceeded, UndefinedBehavior
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Listener, Settings
from halfulp.interp.values.lanes import over_lanes, repeated
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import OTHER, Origins

# --- transformed ------------------------------------------------------------------------------------------------------
#
# A pass pipeline as an implementation of programs: halfulp runs each program after the passes.

NAME = "passes"
"""The name of this implementation. `divergences.of_passes` gives the rows of its passes for this name."""


class Transformed:
    """Programs after a pass pipeline. All inputs of a module share one run of the passes."""

    name = NAME

    def __init__(self, pipeline: PassPipeline, settings: Settings) -> None:
        self.version = pipeline.tool.version
        self._pipeline = pipeline
        self._settings = replace(settings, write=silent)
        self._after: dict[Module, Module | Unanswered | OracleError] = {}

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results of each program. Its arguments may be values over lanes."""
        modules = self.after([program.module for program in programs])
        return [self._reply(program, module) for program, module in zip(programs, modules, strict=True)]

    def after(self, modules: Sequence[Module]) -> list[Module | Unanswered | OracleError]:
        """Return each module after the passes, or why there is none."""
        new = list(dict.fromkeys(module for module in modules if module not in self._after))
        for module, text in zip(new, self._pipeline.apply_all([text_of(module) for module in new]), strict=True):
            self._after[module] = self._read(text)
        return [self._after[module] for module in modules]

    def _read(self, text: str | PassFailure) -> Module | Unanswered | OracleError:
        if isinstance(text, PassFailure):
            refused = text.kind == "refusal"
            return Unanswered(str(text)) if refused else OracleError(text.kind, text.message)
        try:
            return self._pipeline.read(text, "<after>")
        except HalfulpError as error:
            return Unanswered(str(error))

    def _reply(self, program: ClosedProgram, after: Module | Unanswered | OracleError) -> Reply:
        if not isinstance(after, Module):
            return after
        function = after.lookup(program.function)
        if function is None or not function.regions or not function.regions[0].blocks:
            return Unanswered(f"@{program.function} has no body after the passes")
        try:
            return tuple(map(answer_of, results_of(program_for(after, self._settings), function, program.arguments)))
        except (UndefinedBehavior, AssertionFailed, LimitExceeded) as error:
            return OracleError("trap", error.message)
        except HalfulpError as error:
            return Unanswered(str(error))


# --- replaced ops -----------------------------------------------------------------------------------------------------

MOST_ELEMENTS = 1 << 22
"""The most elements of distinct operands with which the replaced ops of one program may run."""

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ReplacedOps:
    """A copy of a module with a call in place of each chosen op. ``ops``: the op that each call stands for.
    ``functions``: the function that it calls, which has this op after the passes.
    """

    module: Module
    ops: Mapping[Operation, Operation]
    functions: Mapping[Operation, Operation]


def replaced_ops(module: Module, cases: Collection[OpCase], after: Transformed) -> ReplacedOps | None:
    """Return the module with calls in place of all ops of some cases; None if the passes make no such function of one,
    or if there is none.
    """
    copy = rewrite.module_with(module.body, module)
    chosen = [(op, twin) for op, twin in zip(module.walk(), copy.walk(), strict=True) if rewrite.case_of(op) in cases]
    prefix = "after_passes_"
    while any((op.symbol_name or "").startswith(prefix) for op in module.body):
        prefix += "_"
    modules = [rewrite.isolated(module, op) for op, _ in chosen]
    texts = list(map(text_of, modules))
    alike = dict(zip(texts, modules, strict=True))  # ops that are alike share a function
    names = {text: f"{prefix}{number}" for number, text in enumerate(alike)}
    for text, made in zip(alike, after.after(list(alike.values())), strict=True):
        if not isinstance(made, Module) or not _add(copy, names[text], alike[text].body[-1], made):
            return None
    ops, functions = {}, {}
    for (op, call), text in zip(chosen, texts, strict=True):
        call.operands, call.attributes = rewrite.captured(call), {}
        call.name, call.definition = "func.call", rewrite.definition_of("func.call")
        call.properties = {"callee": SymbolRefAttr(names[text])}
        target = copy.lookup(names[text])
        assert target is not None
        ops[call], functions[call] = op, target
    return ReplacedOps(copy, ops, functions) if ops else None


def _add(copy: Module, name: str, before: Operation, made: Module) -> bool:
    """Add a function as it is after the passes, under a name, and those that it calls. Tell whether it was possible."""
    target = made.lookup(before.symbol_name or "")
    if target is None or target.name != "func.func" or _types(before) != _types(target):
        return False
    top = copy.operation.regions[0].blocks[0]
    renamed = rewrite.copied(target, {})
    renamed.properties["sym_name"] = StringAttr(name)
    top.append(renamed)
    for op in rewrite.callees(made, target):
        there = copy.lookup(op.symbol_name or "")
        if there is None:
            top.append(rewrite.copied(op, {}))
        elif there.name != op.name or there.properties != op.properties or op.regions[0].blocks:
            return False
    return True


def _types(function: Operation) -> tuple[Sequence[ty.Type], Sequence[ty.Type]]:
    return argument_types(function), result_types(function)


class Operands(Listener):
    """Listener that records the distinct operands of calls. Raises LimitExceeded for too many."""

    def __init__(self, calls: Collection[Operation]) -> None:
        self._calls = calls
        self._left = MOST_ELEMENTS
        self._seen: set[tuple[Operation, Shapes, bytes]] = set()
        self._ran: dict[tuple[Operation, Shapes], list[tuple[Value, ...]]] = {}

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """Keep the operands of a call."""
        if op not in self._calls:
            return
        lanes = next((value.shape[0] for value in operands if over_lanes(value)), 1)
        full = tuple(value if over_lanes(value) else repeated(value, lanes) for value in operands)
        digest = blake2b(digest_size=16)
        for value in full:
            digest.update(value.bits.tobytes())
            digest.update(value.poisoned.tobytes())
        shapes = tuple(value.shape[1:] for value in full)
        key = op, shapes, lanes.to_bytes(8, "little") + digest.digest()
        if key in self._seen:
            return
        self._seen.add(key)
        self._left -= sum(prod(value.shape) for value in full) or 1
        if self._left < 0:
            raise LimitExceeded(f"replaced ops ran with more than {MOST_ELEMENTS:,} elements")
        self._ran.setdefault((op, shapes), []).append(full)

    def columns(self) -> Iterator[tuple[Operation, tuple[Value, ...]]]:
        """Yield each call with all of its operands of one shape, over lanes."""
        for (op, _), rows in self._ran.items():
            yield op, tuple(map(_joined, zip(*rows, strict=True)))


def _joined(values: Sequence[Value]) -> Value:
    """Return values over lanes as one, with all of their lanes."""
    bits = np.concatenate([value.bits for value in values])
    poisoned = np.concatenate([value.poisoned for value in values])
    if not poisoned.any():
        return Value(values[0].type, bits)
    return Value(values[0].type, bits, np.where(poisoned, np.uint16(OTHER), np.uint16(0)), None, Origins())
