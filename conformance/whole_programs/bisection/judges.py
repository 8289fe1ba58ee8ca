"""Judges of differences between two stages: what is known, and what is permitted, with the ground of each."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence
from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.bisection.bisect import Judge
from halfulp.conformance.whole_programs.bisection.explaining import MOST_WORK, Explainer, Ground, TooLong
from halfulp.conformance.whole_programs.bisection.guilty import pass_alone
from halfulp.conformance.whole_programs.bisection.histories import History, number_at
from halfulp.conformance.whole_programs.bisection.results import Judgement
from halfulp.conformance.whole_programs.bisection.runs import Comparison, StageRunner
from halfulp.conformance.whole_programs.bisection.stages import Stage
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.fp_formats.codes import Mask
from halfulp.interp.ir.counts import plural
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types

EXPLAINED = 400
"""The most elements of a stage that are explained, of all that differ."""


def default_judges() -> list[Judge]:
    """Return the judges that every bisection has."""
    return [permitted]


def known_judge(
    pipeline: PassPipeline,
    stages: Sequence[Stage],
    rows: Sequence[Divergence],
    pairs: Sequence[Cancellation],
    settings: Settings,
) -> Judge:
    """Return the judge of differences that are rows of the table of known divergences. ``stages``: those of the
    pipeline, all of them.
    """
    numbers = {id(stage): number for number, stage in enumerate(stages)}

    def judge(before: Stage, after: Stage, found: Comparison, runner: StageRunner) -> tuple[Judgement, str] | None:
        if not after.argument or not isinstance(before.module, Module) or not found.examples:
            return None
        function = before.module.lookup(runner.function.symbol_name or "")
        if function is None or argument_types(function) != argument_types(runner.function):
            return None  # the inputs of the search are those of the first stage
        alone = pass_alone(stages, numbers[id(after)], pipeline.pipeline)
        known = KnownByPass(replace(pipeline, pipeline=alone), rows, pairs, settings)
        names = [
            known.explained(before.module, function.symbol_name or "", part)[0]
            for part in (runner.input(number) for number, _ in found.examples)
        ]
        if not all(names):
            return None
        return Judgement.KNOWN, "; ".join(dict.fromkeys(name for each in names for name in each or ()))

    return judge


def permitted(before: Stage, after: Stage, found: Comparison, runner: StageRunner) -> tuple[Judgement, str] | None:
    """Judge differences by the histories of both versions: each element must have an explanation that something allows.

    It is the judge of elements whose bits flags for fast math leave unspecified, too: a wrong op has no explanation.
    """
    explained = {doubt.number for doubt in found.doubts}
    if not isinstance(before.module, Module) or not isinstance(after.module, Module):
        return None
    if any(number not in explained for number, _ in found.examples):
        return None
    total = sum(int(np.count_nonzero(mask)) for doubt in found.doubts for mask in doubt.masks)
    share = -(-EXPLAINED // len(found.doubts))
    grounds: set[Ground] = set()
    seen = 0
    for doubt in found.doubts:
        try:
            one, two = (runner.recorded(each, doubt.number) for each in (before.module, after.module))
        except HalfulpError as error:
            return Judgement.DIFFERENT, f"its lineage cannot be recorded: {error.message}"
        explainer = Explainer(History(one[0]), History(two[0]), MOST_WORK // len(found.doubts))
        explained_here = 0
        for index, place in _chosen(doubt.masks, share):
            try:
                reasons = explainer.explain(*(number_at(values[index], place) for values in (one[1], two[1])))
            except TooLong:
                if not explained_here:
                    return Judgement.DIFFERENT, "its history is too long to be explained"
                break
            if not reasons:
                return Judgement.DIFFERENT, _unexplained(found)
            grounds |= reasons
            explained_here += 1
        seen += explained_here
    text = "; ".join(_spelled(grounds))
    if seen < total:
        text += f"; {seen} of {total} elements explained"
    return (Judgement.PERMITTED if all(each.allowed for each in grounds) else Judgement.DIFFERENT), text


def _chosen(masks: Sequence[Mask], most: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return elements that differ: the number of the output and the place of each, at most ``most``, from everywhere in
    an order without a rule.
    """
    places = [(index, tuple(map(int, place))) for index, mask in enumerate(masks) for place in np.argwhere(mask)]
    return random.Random(0).sample(places, min(most, len(places)))


def _unexplained(found: Comparison) -> str:
    """Return what to say of an element that no rule explains."""
    if found.examples:
        return ""
    return "fast-math flags leave these bits unspecified, but no rule that they permit gives them"


def _spelled(grounds: set[Ground]) -> Iterator[str]:
    """Yield the grounds, one text for each kind: the worst of several distances, and what allows all of them."""
    for text in dict.fromkeys(each.text for each in sorted(grounds)):
        alike = [each for each in grounds if each.text == text]
        ulps = max(each.ulps for each in alike)
        away = f", {plural(ulps, 'ulp')} away" if ulps else ""
        allowed = sorted({each.allowed for each in alike})
        yield f"{text}{away} ({', '.join(allowed) if all(allowed) else 'nothing allows it'})"
