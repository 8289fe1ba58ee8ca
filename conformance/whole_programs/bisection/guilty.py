"""The guilty pass alone: its pipeline, the smallest program that shows what it does, and a report of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.bisection.results import Bisection
from halfulp.conformance.whole_programs.bisection.stages import Stage
from halfulp.conformance.whole_programs.pass_difference import PassDifference
from halfulp.conformance.whole_programs.pass_reduction import reduced
from halfulp.conformance.whole_programs.pass_report import PassReport, find_runner, pass_report
from halfulp.conformance.whole_programs.signatures import signature
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.values.value import Value

_NESTING, _OPTIONS = "()", "{}"


def single_passes(pipeline: str) -> Iterator[tuple[str, str]]:
    """Yield the passes of a pipeline in order: the name of each, and the pipeline with it alone.

    ``builtin.module(cse,func.func(a{x=1}))`` has ``builtin.module(cse)`` and ``builtin.module(func.func(a{x=1}))``.
    """
    around: list[str] = []
    word, braces = "", 0
    for character in f"{pipeline},":
        braces += (character == "{") - (character == "}")
        if braces or character == "}" or character not in ",()":
            word += character
            continue
        word = word.strip()
        if character == "(":
            around.append(word)
        elif word:
            alone = word
            for anchor in reversed(around):
                alone = f"{anchor}({alone})"
            yield word.partition("{")[0].strip(), alone
        if character == ")" and around:
            around.pop()
        word = ""


def pass_alone(stages: Sequence[Stage], number: int, pipeline: str) -> str:
    """Return the pipeline with the pass of a stage alone, with the options that it has there."""
    stage = stages[number]
    same = [alone for name, alone in single_passes(pipeline) if name == stage.argument]
    if not same:  # a pass of a pipeline with a name of its own
        inside = stage.argument if stage.op in ("", "builtin.module") else f"{stage.op}({stage.argument})"
        return f"builtin.module({inside})"
    before = sum(one.argument == stage.argument for one in stages[1:number])
    return same[min(before, len(same) - 1)]


def report_of_guilty(found: Bisection, pipeline: PassPipeline, first: Operation) -> PassReport:
    """Shrink the program while the guilty pass stays guilty, and return a report of it.

    Raises Unsupported if the pass alone does not make the difference.
    """
    assert found.guilty is not None
    one = found.results[found.guilty]
    assert one.against is not None
    assert one.comparison is not None
    before = found.results[one.against].stage
    alone = replace(
        pipeline, pipeline=pass_alone([each.stage for each in found.results], found.guilty, pipeline.pipeline)
    )
    arguments = _arguments_at(before, first, one.comparison.examples[0][1].arguments)
    small = reduced(alone, before.text, found.function, arguments)
    if not isinstance(small, PassDifference):
        raise Unsupported(f"{alone.command} alone does not change the result of the stage before")
    function = small.program.module.lookup(small.program.function)
    assert function is not None
    return pass_report(alone, small.program.module, function, small.example, find_runner(pipeline.tool))


def _arguments_at(stage: Stage, first: Operation, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the arguments of the first stage as those of another one, memory as its contents."""
    assert isinstance(stage.module, Module)
    function = stage.module.lookup(first.symbol_name or "")
    assert function is not None
    mapped = signature(first, function)
    if mapped.out:
        raise Unsupported("a program with results in arguments is not shrunk")
    return tuple(each.to_target(value) for each, value in zip(mapped.arguments, arguments, strict=True))
