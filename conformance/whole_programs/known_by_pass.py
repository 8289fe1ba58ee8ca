"""Explain the differences that a pass pipeline makes by the known divergences of its passes.

To find out whether certain ops are all that differs, the passes run on a program in which they can change only these
ops, each of them alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import zip_longest
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from halfulp.conformance.comparing.check import ErrorBound, bounds_of_passes
from halfulp.conformance.comparing.divergences import Cancellation, Divergence, of_passes
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.comparing.refinement import answer_of, judge, judged
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Reply, Unanswered
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.arguments import Arguments, Part
from halfulp.conformance.whole_programs.op_search import Finding, NoMeaning, Search, results_of, rows_about, run_here
from halfulp.conformance.whole_programs.printed import elements, prints, silent
from halfulp.conformance.whole_programs.rewrite import case_of
from halfulp.conformance.whole_programs.two_runs import Outcome, Piece, Ran, TwoRuns, carrier, one_lane
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import StringAttr, SymbolRefAttr
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, LimitExceeded, UndefinedBehavior
from halfulp.interp.ir.operations import (
    Module,
    Operation,
    OpResult,
    SSAValue,
    argument_types,
    captured,
    result_types,
)
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Listener, Settings
from halfulp.interp.values.lanes import over_lanes, repeated
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import OTHER, Origins

# --- transformed ------------------------------------------------------------------------------------------------------
#
# A pass pipeline as an implementation of programs: halfulp runs each program after the passes.

NAME = "passes"
"""The name of this implementation for the table of known divergences: `divergences.of_passes` returns the rows of the
passes under this name.
"""


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
        texts = self._pipeline.apply_all(list(map(self._pipeline.given, new)))
        for module, text in zip(new, texts, strict=True):
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
    """A copy of a module in which each chosen op is replaced by a call of a function. ``ops``: the op that each call
    replaces. ``functions``: the function that each call calls. Its body is the op after the passes.
    """

    module: Module
    ops: Mapping[Operation, Operation]
    functions: Mapping[Operation, Operation]


def replaced_ops(
    module: Module,
    cases: Collection[OpCase],
    after: Transformed,
    fixed: Mapping[SSAValue, Operation] = MappingProxyType({}),
) -> ReplacedOps | None:
    """Return the module with calls in place of all ops of some cases; None if there is no such op, or if the passes
    make no such function for one. ``fixed``: the constants that stand for operands in these functions.
    """
    copy = rewrite.module_with(module.body, module)
    chosen = [(op, twin) for op, twin in zip(module.walk(), copy.walk(), strict=True) if rewrite.case_of(op) in cases]
    prefix = "after_passes_"
    while any((op.symbol_name or "").startswith(prefix) for op in module.body):
        prefix += "_"
    modules = [rewrite.isolated(module, op, constants=True, fixed=fixed) for op, _ in chosen]
    texts = list(map(text_of, modules))
    alike = dict(zip(texts, modules, strict=True))  # ops that are alike share a function
    names = {text: f"{prefix}{number}" for number, text in enumerate(alike)}
    for text, made in zip(alike, after.after(list(alike.values())), strict=True):
        if not isinstance(made, Module) or not _add(copy, names[text], alike[text].body[-1], made):
            return None
    ops, functions = {}, {}
    for (op, call), text in zip(chosen, texts, strict=True):
        call.operands, call.attributes = captured(call), {}
        call.name, call.definition = "func.call", rewrite.definition_of("func.call")
        call.properties = {"callee": SymbolRefAttr(names[text])}
        target = copy.lookup(names[text])
        assert target is not None
        ops[call], functions[call] = op, target
    return ReplacedOps(copy, ops, functions) if ops else None


def _add(copy: Module, name: str, before: Operation, made: Module) -> bool:
    """Add a function as it is after the passes, under a name, and the functions that it calls. Tell whether this was
    possible.
    """
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


# --- explanations -----------------------------------------------------------------------------------------------------

MOST_STUDIES, MOST_FAILED, SECONDS = 5000, 50, 10.0
"""The most searches of one function for the ops that differ, the most inputs that they do not explain, and the time
after which no search starts. Then nothing is known of the inputs that are left.
"""

MORE_STEPS = 10
"""The steps of a program whose ops are calls, for each step of the program."""

Names = tuple[str, ...]


class KnownByPass:
    """The known divergences of a pipeline's passes. They explain an input if each op of the program, after the passes,
    gives the result that the language allows for its operands, or the one that a row predicts. ``rows``: with any, the
    error bounds of the passes apply too.
    """

    def __init__(
        self, pipeline: PassPipeline, rows: Sequence[Divergence], pairs: Sequence[Cancellation], settings: Settings
    ) -> None:
        bounds = bounds_of_passes(pipeline.passes, NAME) if rows else ()
        self._rows: tuple[Divergence | ErrorBound, ...] = (*of_passes(rows, pipeline.passes, NAME), *bounds)
        self._pairs = of_passes(pairs, pipeline.passes, NAME)
        self._pipeline = pipeline
        self._settings = settings
        self._work: _Work | None = None

    def explained(self, module: Module, function: str, part: Part) -> list[Names | None]:
        """Return for each input the names of the rows that explain its difference; no names if rows do not explain it,
        None if the answer would take too long.

        ``part``: inputs for which the function differs after the passes.
        """
        found: list[Names | None] = [()] * part.count
        work = self._work_on(module)
        if not part.count or not (work.cases or work.has_casts):
            return found
        search = work.searches.setdefault(function, _Search())
        waiting = [(0, part.count)] if part.has_lanes else [(k, k + 1) for k in reversed(range(part.count))]
        began = time.monotonic()
        while waiting and not search.ended(time.monotonic() - began):
            start, stop = waiting.pop()
            names = self._names(work, function, part.chosen(range(start, stop)))
            search.studies += 1
            if names is None and stop - start > 1:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
                continue
            search.failed += names is None
            found[start:stop] = [names or ()] * (stop - start)
        for start, stop in waiting:
            found[start:stop] = [None] * (stop - start)
        search.seconds += time.monotonic() - began
        return found

    def _cases(self, module: Module) -> Collection[OpCase]:
        """Return the ops of the module that rows are about. Most programs have none, and need no search.

        No row is about a choice between two values, which takes a condition for all elements, too.
        """
        version = self._pipeline.tool.version
        found = set()
        for op in module.walk():
            case = case_of(op)
            if case is None or case.op == "arith.select" or case in found:
                continue
            if rows_about(self._rows, NAME, version, case, op):
                found.add(case)
        return found

    def _has_casts(self, module: Module) -> bool:
        """Tell whether the module has two casts that the passes may wrongly remove as inverses of each other."""
        names = {op.name for op in module.walk()}
        version = self._pipeline.tool.version
        return any(
            pair.applies(NAME, version, outer, inner) for pair in self._pairs for outer in names for inner in names
        )

    def _work_on(self, module: Module) -> _Work:
        """Return what was made for a module. Only that of the last module is kept."""
        if self._work is None or self._work.module is not module:
            after = Transformed(self._pipeline, self._settings)
            search = Search(after, self._rows, self._settings.profile, self._pairs)
            self._work = _Work(module, self._cases(module), self._has_casts(module), after, search)
        return self._work

    def _names(self, work: _Work, function: str, part: Part) -> Names | None:
        """Return the names of the rows that explain these inputs; None if they do not explain all of them."""
        find = self._by_search if _straight(work.module, function) else self._by_replacement
        try:
            findings = find(work, function, part)
        except (HalfulpError, OracleError):
            return None
        if not findings or not all(finding.known for finding in findings):
            return None
        return tuple(dict.fromkeys(name for finding in findings for name in finding.known))

    def _by_search(self, work: _Work, function: str, part: Part) -> Sequence[Finding]:
        """Return the ops that differ, for a function whose values can all be returned; none if they do not explain its
        results.
        """
        program = ClosedProgram(work.module, function, part.row(0) if part.count == 1 else part.lanes())
        here = run_here(program, self._settings.profile)
        (reply,) = work.after.run([program])
        if isinstance(here, NoMeaning) or not isinstance(reply, tuple):
            return ()
        differing = {one.index for one in judge(here, reply) if one.wrong.any()}
        (study,) = work.search.studies([program], [reply])
        return study.findings if differing and study.failure is None and study.explains(differing) else ()

    def _by_replacement(self, work: _Work, function: str, part: Part) -> Sequence[Finding]:
        """Return the ops that differ among those of the rows, or none if they do not explain all differences.

        To decide this, a copy of the program runs in which only these ops are as after the passes. If the copy has the
        same bits in every differing element as the program after the passes, nothing else makes elements differ: in
        regions, in memory, in printed values.
        """
        return self._with_replaced(work, work.replaced, function, part) or self._with_replaced(
            work, self._with_fixed_operands(work, function, part), function, part
        )

    def _with_fixed_operands(self, work: _Work, function: str, part: Part) -> ReplacedOps | None:
        """Return what `replaced_ops` does, with constants for the operands that have one value in all runs, which a
        pass may have found out; None if there are no others than the constants of the module.
        """
        main, ops = work.module.lookup(function), {op for op in work.module.walk() if case_of(op) in work.cases}
        assert main is not None
        operands = Operands(ops)
        program = program_for(work.module, replace(self._settings, listeners=(operands,), write=silent))
        if part.count == 1:
            program.run(main, part.fresh(0))
        else:
            run_batch(program, main, part.lanes(), part.count)
        known: dict[SSAValue, list[Value]] = defaultdict(list)
        for op, columns in operands.columns():
            for value, ran in zip(op.operands, columns, strict=True):
                known[value].append(ran)
        fixed = {value: made for value, ran in known.items() if (made := _fixed(value, ran)) is not None}
        return replaced_ops(work.module, work.cases, work.after, fixed) if fixed else None

    def _with_replaced(self, work: _Work, replaced: ReplacedOps | None, function: str, part: Part) -> Sequence[Finding]:
        (after,) = work.after.after([work.module])
        if replaced is None or not isinstance(after, Module):
            return ()
        one, two, three = (each.lookup(function) for each in (work.module, after, replaced.module))
        if one is None or two is None or three is None or not two.regions or not two.regions[0].blocks:
            return ()
        whole, alone = (
            TwoRuns((work.module, one), second, Arguments((part,)), carrier(one, second[1]), self._settings)
            for second in ((after, two), (replaced.module, three))
        )
        covered = 0
        for pieces in zip_longest(whole.pieces(), alone.pieces()):
            if not _same_change(*pieces):
                return ()
            covered += len(pieces[0].rows)
        if covered < part.count:
            return ()
        operands = Operands(replaced.ops)
        steps = MORE_STEPS * self._settings.max_steps  # the runs above have shown that it ends
        settings = replace(self._settings, listeners=(operands,), write=silent, max_steps=steps)
        watched = program_for(replaced.module, settings)
        if part.count == 1:
            watched.run(three, part.fresh(0))
        else:
            run_batch(watched, three, part.lanes(), part.count)
        plain = program_for(replaced.module, self._settings)
        found = []
        for call, columns in operands.columns():
            answers = list(map(answer_of, results_of(plain, replaced.functions[call], columns)))
            op = replaced.ops[call]
            case = case_of(op)
            assert case is not None
            finding = work.search.judged_case(case, op, columns, answers)
            found += [] if finding is None else [finding]
        return found


def _fixed(value: SSAValue, ran: Sequence[Value]) -> Operation | None:
    """Return a constant for a value that had the same bits over all lanes of all runs; None for one that had not, or
    that is a constant of the module.
    """
    first = ran[0].bits[0]
    constant = isinstance(value, OpResult) and value.owner.name == "arith.constant"
    if (
        constant
        or ty.element_count(value.type) is None
        or any(each.poisoned.any() or not (each.bits == first).all() for each in ran)
    ):
        return None
    return rewrite.constant(value.type, first)


@dataclass
class _Search:
    """The counts and the time of all searches for one function so far."""

    studies: int = 0
    failed: int = 0
    seconds: float = 0.0

    def ended(self, now: float) -> bool:
        """Tell whether no further search may start. ``now``: the seconds that are not yet counted."""
        return self.studies >= MOST_STUDIES or self.failed >= MOST_FAILED or self.seconds + now >= SECONDS


@dataclass
class _Work:
    """What is made for one module. ``cases``: its ops with a row. ``has_casts``: whether the passes may remove two
    casts as inverses of each other. ``searches``: the searches by function.
    """

    module: Module
    cases: Collection[OpCase]
    has_casts: bool
    after: Transformed
    search: Search
    searches: dict[str, _Search] = field(default_factory=dict)

    @cached_property
    def replaced(self) -> ReplacedOps | None:
        """The module with these ops as they are after the passes."""
        return replaced_ops(self.module, self.cases, self.after)


def _same_change(whole: Piece | None, alone: Piece | None) -> bool:
    """Tell whether two second versions have the same bits and poison in every element for which ``whole``, one of them,
    does what the first version does not allow, for each input.
    """
    if whole is None or alone is None or not np.array_equal(whole.rows, alone.rows):
        return False
    first, *both = (_outputs(each) for each in (whole.before, whole.after, alone.after))
    if first is None or None in both:
        return False
    differs = np.zeros(len(whole.rows), np.bool_)
    for one, two, three in zip_longest(first, *(each for each in both if each is not None)):
        shapes = {None if each is None else (each.element_type, each.shape) for each in (one, two, three)}
        if len(shapes) > 1:
            return False
        mask = judged(one, two).wrong
        bits = (two.bits == three.bits).all(tuple(range(mask.ndim, two.bits.ndim)))
        same = np.where(two.poisoned, three.poisoned, bits & ~three.poisoned)
        if (mask & ~same).any():
            return False
        differs |= mask.any(tuple(range(1, mask.ndim)))
    return bool(differs.all())


def _outputs(outcome: Outcome | None) -> list[Value] | None:
    """Return the results, the memory, and the elements that are printed, over lanes; None for a run that stopped."""
    return [*outcome.values, *one_lane(elements(outcome.printed))] if isinstance(outcome, Ran) else None


def _straight(module: Module, name: str) -> bool:
    """Tell whether a function has one block, no regions, no calls and no memory, and prints nothing."""
    function = module.lookup(name)
    blocks = [] if function is None else function.regions[0].blocks
    if function is None or len(blocks) != 1 or prints(module, function):
        return False
    values = [*blocks[0].arguments, *(value for op in blocks[0].operations for value in op.results)]
    inner = any(op.regions or op.name == "func.call" for op in blocks[0].operations)
    return not inner and not any(isinstance(value.type, ty.MemRefType) for value in values)
