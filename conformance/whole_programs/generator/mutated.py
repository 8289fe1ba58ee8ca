"""Change programs that exist, with edits that keep most of them valid, and go on from those that show something new.

`Mutants` is a pool of programs, which the edits of `edits` change. A program after whose change a pass does what it has
not done to another one (which ops it removed, and which it made) stays in the pool, and is changed again.
"""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from pathlib import Path

from halfulp.conformance.files import read_whole
from halfulp.conformance.oracles.closed_programs import MARKER, text_of
from halfulp.conformance.whole_programs.generator.draft import Draft, values_of
from halfulp.conformance.whole_programs.generator.edits import EDITS
from halfulp.conformance.whole_programs.generator.grower import (
    NAME,
    RandomFunction,
    Unfit,
)
from halfulp.conformance.whole_programs.op_search import results_of, without_unneeded_functions
from halfulp.conformance.whole_programs.printed import is_uninterpreted, silent
from halfulp.conformance.whole_programs.rewrite import drop
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    InputError,
    LimitExceeded,
    UndefinedBehavior,
    internal_error,
)
from halfulp.interp.ir.operations import (
    Module,
    Operation,
    SSAValue,
    argument_types,
    captured,
    result_types,
)
from halfulp.interp.loading import parse_module
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.verifier import KnownRules, verify

MOST_OPS = 80
"""Most ops of a program from a file."""

LONG_OPS = 25
"""A changed program has at most this number of ops, or as many as the program before."""

MOST_ELEMENTS = 1 << 14
"""Most elements of a value of a program from a file."""

SEED_STEPS = 3_000
"""Most steps of the first run of a program from a file."""

# --- programs from files ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seed:
    """A program to begin with. ``commands``: the lines of its file that say which passes it tests; may be empty."""

    module: Module
    commands: str = ""


def programs_of(paths: Iterable[Path]) -> Iterator[Seed]:
    """Yield the functions of MLIR files that halfulp runs, each in a module with those that it calls, as public ``@f``.

    ``paths``: files, and folders of files whose names end with .mlir. What halfulp cannot read or run is left out, such
    as tests of error messages. Raises InputError for a file that cannot be opened.
    """
    for path in paths:
        for file in sorted(path.rglob("*.mlir")) if path.is_dir() else [path]:
            try:
                text = read_whole(file).decode("utf-8", "replace")
            except OSError as error:
                raise InputError(f"cannot read '{file}': {error.strerror}") from None
            commands = "\n".join(line for line in text.splitlines() if "RUN:" in line)  # of LLVM's lit
            for part in text.split(MARKER):
                try:
                    module = parse_module(part, str(file))
                except HalfulpError:
                    continue
                for made in _functions_of(module):
                    yield Seed(made, commands)


def _functions_of(module: Module) -> Iterator[Module]:
    for op in module.body:
        if op.name != "func.func" or op.symbol_name is None or not op.regions[0].blocks:
            continue
        made = without_unneeded_functions(module, op.symbol_name)
        if any(captured(each) for each in made.body):  # by an op that no dialect has
            continue
        if (main := made.lookup(op.symbol_name)) is None or (main.symbol_name != NAME and made.lookup(NAME)):
            continue
        main.properties["sym_name"] = at.StringAttr(NAME)
        main.properties.pop("sym_visibility", None)
        try:  # what MLIR 22 does not have cannot be printed
            printed = parse_module(text_of(made), "<a program>")
        except HalfulpError:
            continue
        if runs(printed):
            yield printed


def runs(module: Module) -> bool:
    """Tell whether ``@f`` is a program to test passes with: halfulp knows what each op does, and a run ends."""
    main = module.lookup(NAME)
    if main is None or sum(1 for _ in main.walk()) > MOST_OPS or not (result_types(main) or _memories(main)):
        return False
    if is_uninterpreted(module, main) or any(_elements(type_) > MOST_ELEMENTS for type_ in _types(main)):
        return False
    try:
        row = Inputs(1, ordinary=True, max_steps=SEED_STEPS).of(main, samples=True).row(0)
        with warnings.catch_warnings(action="ignore"):
            results_of(program_for(module, Settings(max_steps=SEED_STEPS, write=silent)), main, row)
    except (UndefinedBehavior, AssertionFailed, LimitExceeded):
        return True
    except HalfulpError:
        return False
    return True


def _types(function: Operation) -> set[ty.Type]:
    """Return the types of the arguments and values of a function."""
    return {value.type for op in function.walk() for value in (*op.operands, *op.results)} | {*argument_types(function)}


def _elements(type_: ty.Type) -> int:
    """Return how many elements a value of a type has; 1 for each size that is not known."""
    return prod(size or 1 for size in ty.shape_of(type_) or ())


def _memories(function: Operation) -> list[ty.Type]:
    return [type_ for type_ in argument_types(function) if isinstance(type_, ty.MemRefType)]


# --- changes ---------------------------------------------------------------------------------------------------------

_EDITS, _WEIGHTS = tuple(EDITS), tuple(accumulate(EDITS.values()))

TRIES = 12
"""The most edits that are tried for one program."""


def mutant(module: Module, rng: random.Random, known: KnownRules | None = None) -> Module | None:
    """Return a program after one to four edits; None if it is too long, or not valid.

    Most ops whose results nothing uses any more are left out. ``known``: as for `verify`.
    """
    wanted = rng.choice((1, 1, 2, 2, 3, 4))
    most = max(LONG_OPS, sum(1 for _ in module.walk()))
    draft = Draft(module, rng)
    for edit in rng.choices(_EDITS, cum_weights=_WEIGHTS, k=TRIES):
        try:
            edit(draft)
        except (Unfit, ValueError):
            continue
        wanted -= 1
        if not wanted:
            break
    if rng.random() < 0.9:
        _without_unused(draft)
    if sum(1 for _ in draft.module.walk()) > most:
        return None
    try:
        verify(draft.module, known)
    except HalfulpError:
        return None
    return draft.module


def _without_unused(draft: Draft) -> None:
    """Drop ops that have results which nothing uses, and no memory."""
    used = Counter(value for op in draft.main.walk() for value in op.used_values)
    for op in reversed(draft.ops(lambda op: op.results)):
        values = [value for inner in op.walk() for value in (*inner.used_values, *inner.results)]
        if not any(used[result] for result in op.results) and not any(map(_is_memory, values)):
            used.subtract(value for inner in op.walk() for value in inner.used_values)
            drop(op)


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, ty.MemRefType)


# --- the pool ---------------------------------------------------------------------------------------------------------


KEPT_RULES = 2_000
"""The number of programs after which the verifier forgets what it has seen, and its memory."""

SELDOM = 0.8
"""How often a program that only runs as a whole is left for another one: ten others run in the same time."""


def runs_whole(module: Module) -> bool:
    """Tell whether the ops of a function cannot run alone: it has memory, calls or branches."""
    ops = list(module.walk())
    branches = any(op.successors for op in ops)
    return branches or len(module.body) > 1 or any(_is_memory(value) for op in ops for value in values_of(op))


@dataclass
class Mutants:
    """Programs that change, and what a pass did to them.

    ``seeds``: the programs to begin with. Each is given to the pass as it is, too, in every second place until all were
    given; those whose files name the pass first. ``name``: of the pass, with its options or without; may be empty.
    ``kept``: programs after whose change the pass did something new, the newest last. ``errors``: internal errors while
    a program was changed or verified; the program is left out.
    """

    seeds: Sequence[Seed]
    name: str = ""
    kept: list[Module] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    _costly: set[Module] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._costly.update(filter(runs_whole, self._modules))

    @cached_property
    def _modules(self) -> list[Module]:
        return [seed.module for seed in self.seeds]

    def _ordered(self, rng: random.Random) -> list[Module]:
        """Return the programs to begin with: those whose files name the pass, then the others, each in random order."""
        mixed = rng.sample(self.seeds, len(self.seeds))
        named = re.compile(rf"(?:^|[^\w-])-{{0,2}}{re.escape(self.name.partition('{')[0])}(?![\w-])")
        mixed.sort(key=lambda each: not (self.name and named.search(each.commands)))
        return [each.module for each in mixed]

    def functions(self, seed: int, count: int, first: int) -> Iterator[RandomFunction]:
        """Yield ``count`` programs. They depend on what the pass did to the ones before, so ``first`` is only the
        number of the first one.
        """
        rng, known = random.Random(f"mutated {seed} {first}"), KnownRules()
        order = self._ordered(random.Random(f"order {seed}"))
        for index in range(first, first + count):
            if not index % 2 and index // 2 < len(order):
                yield RandomFunction(seed, index, order[index // 2])
                continue
            if not index % KEPT_RULES:
                known = KnownRules()
            made = None
            while made is None:
                try:
                    made = mutant(self._chosen(rng), rng, known)
                except Exception as error:
                    self.errors[internal_error(error)] += 1
            yield RandomFunction(seed, index, made)

    def _chosen(self, rng: random.Random) -> Module:
        if not self.kept or rng.random() < 0.3:
            chosen = self._modules
        else:
            chosen = self.kept[-20:] if rng.random() < 0.5 else self.kept
        found = rng.choice(chosen)
        if found in self._costly and rng.random() < SELDOM:
            found = rng.choice([each for each in chosen if each not in self._costly] or chosen)
        return found

    def learn(self, program: RandomFunction) -> None:
        """Keep a program to which the pass did something new."""
        self.kept.append(program.module)
        if runs_whole(program.module):
            self._costly.add(program.module)
