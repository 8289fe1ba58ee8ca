"""Name the pass of a compilation that changed the results: `bisect`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit import installed_runner
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import PassPipeline, find_mlir_opt
from halfulp.conformance.whole_programs.arguments import taken_from
from halfulp.conformance.whole_programs.bisection.bisect import Bisection, Judge, known_judge, permission_judge
from halfulp.conformance.whole_programs.bisection.bisect import bisect as bisected
from halfulp.conformance.whole_programs.bisection.runs import Compilation, Stage, StageRunner, made_inputs, of_pipeline
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.inputs import names_arguments
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported, wrong_count
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import refuse_stochastic
from halfulp.loading import Source, load
from halfulp.running import find_entry
from halfulp.semantics.profile import Profile, as_profile

MAX_STEPS = 100_000_000
"""Most ops of one run, unless the caller says otherwise: late stages have many more than early ones."""


@names_arguments
def bisect(
    module: Module | Source,
    *arguments: Any,
    pipeline: str | None = None,
    stages: Sequence[Module | Source] | None = None,
    function: str | None = None,
    n: int = 8,
    seed: int = 0,
    profile: Profile | str | None = None,
    max_steps: int = MAX_STEPS,
    mlir_opt: str | os.PathLike[str] | None = None,
) -> Bisection:
    """Run every stage of a compilation on the same inputs, and find the first whose results the stage before it does
    not allow.

    ``module``: the program before all passes, as for `halfulp.run`. ``pipeline``: the passes that mlir-opt runs,
    ``"builtin.module(canonicalize,cse)"``; or ``stages``: the programs after each pass. ``arguments``: one input, as
    for `halfulp.run`; without them ``n`` inputs are made with ``seed``. ``function``: its name; the only public one
    by default. ``max_steps``: the most ops of one run. ``mlir_opt``: the program; by default mlir-opt-22.

    A stage that halfulp cannot run runs by mlir-runner where that is installed and can; then its ``ground`` says so.

    The result has ``results``, one for each stage (``stage``, ``judgement``, ``ground``, ``ulps``, ``seconds``),
    ``guilty``, the number of the first stage that differs, or None, and ``end``, why the passes stopped early, or "".
    As a text it is what ``halfulp bisect`` prints.

        >>> f = "func.func @f(%x: i8) -> i8 {\\n %0 = arith.OP %x, %x : i8\\n return %0 : i8\\n}"
        >>> found = hu.bisect(f.replace("OP", "addi"), 3, stages=[f.replace("OP", "addi"), f.replace("OP", "muli")])
        >>> found.guilty, found.results[2].judgement.value
        (2, 'DIFFERENT')

    Raises InputError for wrong arguments, PassFailure if mlir-opt cannot read the program or the passes, Unsupported if
    it is not installed, and the errors of `halfulp.load`.
    """
    if (pipeline is None) == (stages is None):
        raise InputError("bisect takes either pipeline=, the passes, or stages=, the programs after them")
    first = module if isinstance(module, Module) else load(module)
    entry = find_entry(first, function)
    settings = Settings(refuse_stochastic(as_profile(profile), "bisect"), max_steps=max_steps)
    types = argument_types(entry)
    if arguments and len(arguments) != len(types):
        raise TypeMismatch(wrong_count(f"@{entry.symbol_name}", "argument", types, len(arguments)))
    one = taken_from(arguments, types) if arguments else None
    inputs = made_inputs(entry, Inputs(n, seed, given=one))
    compilation, judges = _compilation(first, pipeline, stages, settings, mlir_opt)
    return bisected(compilation, StageRunner(entry, inputs, settings), judges, fallback=installed_runner)


def _compilation(
    first: Module,
    pipeline: str | None,
    stages: Sequence[Module | Source] | None,
    settings: Settings,
    mlir_opt: str | os.PathLike[str] | None,
) -> tuple[Compilation, list[Judge]]:
    start = Stage(first.filename, "", first.text or text_of(first), first)
    if pipeline is None:
        later = [one if isinstance(one, Module) else load(one) for one in stages or ()]
        named = [Stage(f"stage {k}", "", one.text or text_of(one), one) for k, one in enumerate(later, 1)]
        return Compilation((start, *named)), [permission_judge]
    try:
        passes = PassPipeline(find_mlir_opt(None if mlir_opt is None else os.fspath(mlir_opt)), pipeline)
    except Unavailable as reason:
        raise Unsupported(str(reason)) from None
    compilation = of_pipeline(start, passes)
    judge = known_judge(passes, compilation.stages, divergences(), cancellations(), settings)
    return compilation, [judge, permission_judge]
