"""Planted miscompiles: one op of a stage is changed, and the passes go on. Bisection names that stage."""

import random
from dataclasses import dataclass

import pytest
from named_programs import WAYS, passes, pipeline
from planted import planted
from present import present
from tree import ROOT

from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs.bisection.bisect import Bisection, bisect, bisection_lines, permission_judge
from halfulp.conformance.whole_programs.bisection.runs import Compilation, Stage, StageRunner, made_inputs, of_pipeline
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings

pytestmark = pytest.mark.mlir

MODELS = sorted((ROOT / "tests" / "data" / "programs").glob("*.linalg.mlir"))
TRIES = 12
"""Changes of one stage that are tried until one changes bits."""


@dataclass(frozen=True)
class Trial:
    """A compilation with a wrong stage, what is wrong there, and its number."""

    compilation: Compilation
    runner: StageRunner
    what: str
    number: int


def trial(seed: int) -> Trial | None:
    """Return the compilation of a model in which one op is changed after a pass; None if no change changes bits."""
    rng = random.Random(seed)
    path, way = MODELS[seed % len(MODELS)], rng.choice(list(WAYS))
    names = passes(way)
    cut = rng.randrange(1, len(names) - 1)
    tool = find_mlir_opt()
    text = path.read_text(encoding="utf-8")
    module = parse_module(text, path.name)
    before = of_pipeline(Stage(path.name, "", text, module), PassPipeline(tool, pipeline(names[:cut])))
    if before.end:
        return None
    function = present(module.lookup("main"))
    runner = StageRunner(function, made_inputs(function, Inputs(1, seed)), Settings(max_steps=100_000_000))
    right = before.stages[-1]
    assert isinstance(right.module, Module)
    good = runner.run(right.module)
    for _ in range(TRIES):
        change = planted(right.module, rng)
        if change is None:
            return None
        wrong = text_of(change.module)
        try:
            made = parse_module(wrong)
            differs = bool(runner.compare(good, runner.run(made)).examples)
            after = of_pipeline(Stage("planted", "", wrong, made), PassPipeline(tool, pipeline(names[cut:])))
        except (HalfulpError, PassFailure):
            continue
        if differs:
            compilation = Compilation((*before.stages, *after.stages), after.end)
            return Trial(
                compilation, runner, f"{path.name}, {way}, after {names[cut - 1]}: {change.what}", len(before.stages)
            )
    return None


def check(found: Trial) -> None:
    result: Bisection = bisect(found.compilation, found.runner, [permission_judge])
    shown = "\n".join([found.what, *bisection_lines(result)])
    assert result.guilty == found.number, shown
    assert [one.stage.name for one in result.suspects(found.number)] == ["planted"], shown


@pytest.mark.parametrize("seed", [1, 7])
def test_planted_miscompiles_are_found(seed: int) -> None:
    found = present(trial(seed))
    check(found)


@pytest.mark.exhaustive
def test_sixty_planted_miscompiles_are_found() -> None:
    count = seed = 0
    while count < 60:
        found = trial(seed)
        seed += 1
        if found is not None:
            check(found)
            count += 1
    assert seed < 240
