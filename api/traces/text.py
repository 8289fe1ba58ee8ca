"""A trace as lines of text: the steps in the order in which they ran, each below its line of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from halfulp.interp.ir.counts import plural
from halfulp.printable import UNPRINTABLE
from halfulp.semantics.poison import Origin
from halfulp.traces.error_text import step_text
from halfulp.traces.record import Birth, Step, TraceRecord
from halfulp.traces.values import TracedValue, summary

_DEEPEST = 20
"""The deepest call that is indented further than the one before."""
_WIDTH = 110
"""The most characters of values that stand together on one line."""


def text_lines(trace: TraceRecord) -> Iterator[str]:
    """Yield the whole trace, without characters that a terminal takes as commands."""
    yield from step_lines(trace)
    yield from (
        f"result[{index}]: {summary(value)}".translate(UNPRINTABLE) for index, value in enumerate(trace.results)
    )


def step_lines(trace: TraceRecord) -> Iterator[str]:
    """Yield the trace without the results."""
    return (line.translate(UNPRINTABLE) for line in _lines(trace))


def _lines(trace: TraceRecord) -> Iterator[str]:
    yield f"{trace.function} ({trace.file}), {trace.numerics}"
    yield from (f"in {function}: profile {profile}, by its attributes" for function, profile in trace.profiles.items())
    yield from (f"  {value.name} {value}" for value in trace.arguments)
    births = trace.births()
    digits = len(str(trace.rows))
    places = max((len(str(site.line)) for site in trace.sites if site.line is not None), default=0)
    for missing, step in trace.gaps():
        if missing:
            yield f"{'...':>{digits}} {plural(missing, 'more step')}"
        if step is not None:
            place = f"{step.line}:" if step.line is not None else ""
            head = f"{step.number:>{digits}} {place:>{places + 1}} {'  ' * min(step.depth, _DEEPEST)}"
            yield head + (f"end of {step.op}" if step.ends else step.source)
            yield from (" " * (len(head) + 2) + line for line in _details(step, births))
    yield ending(trace)


def ending(trace: TraceRecord) -> str:
    """Return the last line: the number of ops that ran, and why no more did."""
    ran = f"{plural(trace.executed, 'op')} ran"
    return ran if trace.error is None else f"{ran}, then: {trace.error.message}"


def _details(step: Step, births: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    given, made = (_values(values) for values in (step.operands, step.results))
    one_line = " ".join([", ".join(given), *(("->", ", ".join(made)) if made else ())]).strip()
    if len(one_line) <= _WIDTH:
        yield from [one_line] if one_line else []
    else:
        yield from given
        yield from (f"-> {text}" for text in made)
    notes = [f"=> {step.where}"] if step.where else []
    notes += [step.lanes_text] if step.lanes_text else []
    if notes:
        yield "; ".join(notes)
    for birth in step.births:
        yield f"poison born: {birth_text(birth)}"
    for origin in poison_sources(step):
        number = births.get((origin.op, origin.location, origin.reason))
        yield f"poison from {'' if number is None else f'step {number:,}: '}{origin_text(origin)}"
    if step.errors is not None and (done := step_text(step.errors)):
        yield done
    if step.undefined:
        yield f"! {step.undefined}"


def poison_sources(step: Step) -> list[Origin]:
    """Return the origins of the poison in a step's results that was born before the step."""
    here = {(birth.origin.location, birth.origin.reason) for birth in step.births}
    origins = dict.fromkeys(origin for value in step.results for origin in value.origins)
    return [origin for origin in origins if (origin.location, origin.reason) not in here]


def _values(values: Sequence[TracedValue]) -> list[str]:
    return list(dict.fromkeys(f"{value.name} {value}" for value in values))


def birth_text(birth: Birth) -> str:
    """Say why poison was born, and in how many elements."""
    element = list(birth.origin.element)
    elements = f" ({plural(birth.count, 'element')}, the first {element})" if element else ""
    return f"{birth.origin.reason}{elements}"


def origin_text(origin: Origin) -> str:
    """Say why and where poison was born."""
    place = f" at {origin.location}" if origin.location else ""
    return f"{origin.reason} ({origin.op}{place})"
