"""Traces as the files of other viewers: node data of Model Explorer, and trace events for Perfetto.

Sources: model_explorer/node_data_builder.py and translate_helpers.cc of Model Explorer (the fields, and the numbers of
nodes); the document "Trace Event Format" of Chrome, whose JSON Perfetto reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, isnan
from sys import float_info
from typing import Any

from halfulp.interp.ir.errors import plural
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.traces.steps import Step, birth_text, listed_births

# --- Model Explorer ---------------------------------------------------------------------------------------------------

_COLOURS = ((0.5, "#d9f0d3"), (1.0, "#fee08b"), (10.0, "#fdae61"), (float_info.max, "#f46d43"))
"""The colours of errors of up to so many ulp: a result that is rounded once, at most 1, at most 10, and more."""


def node_data(ran: Iterable[tuple[Operation, ShadowFigures]]) -> dict[str, Any]:
    """Return the node data of Model Explorer for the module that ran: by function and node, the largest error of the
    results of an op, in ulp of the exact result. ``ran``: ops with their figures.

    The error of an overflow is the largest number of f64, as JSON has no infinity; an op of which nothing is known is
    absent.
    """
    functions: dict[Operation, dict[Operation, str]] = {}
    found: dict[str, dict[str, float]] = {}
    for op, figures in ran:
        total = inf if figures.overflowed else figures.known(figures.total)
        if isnan(total):
            continue
        function = _function_of(op)
        if function not in functions:
            functions[function] = dict(_nodes(function))
        node = next((functions[function][each] for each in _and_around(op) if each in functions[function]), None)
        if node is not None:
            results = found.setdefault(function.symbol_name or "", {})
            results[node] = max(results.get(node, 0.0), min(total, float_info.max))
    thresholds = [{"value": value, "bgColor": colour} for value, colour in _COLOURS]
    return {
        function: {
            "results": {node: {"value": value} for node, value in results.items()},
            "name": "error (ulp)",
            "thresholds": thresholds,
        }
        for function, results in found.items()
    }


def _and_around(op: Operation) -> Iterator[Operation]:
    around: Operation | None = op
    while around is not None:
        yield around
        around = around.parent_op


def _function_of(op: Operation) -> Operation:
    chain = list(_and_around(op))
    return next((each for each in chain if each.name == "func.func"), chain[-1])


def _nodes(function: Operation) -> Iterator[tuple[Operation, str]]:
    """Yield the ops of a function that are nodes, with their ids: numbers in the order of the text. The ops in the
    regions of the ops in its body are nodes; those further inside are not.
    """
    number = 0
    for op in function.regions[0].blocks[0].operations:
        yield op, str(number)
        number += 1
        for inner in (each for region in op.regions for block in region.blocks for each in block.operations):
            yield inner, str(number)
            number += 1


# --- Perfetto ---------------------------------------------------------------------------------------------------------


def events(steps: Sequence[Step], count: int, title: str, name: str) -> dict[str, Any]:
    """Return the kept steps of a trace, of ``count`` steps in all, as trace events: a slice for each op, around the
    steps of its regions and of the function that it calls; instant events where poison first appears and where steps
    were not kept; and counters of the errors.

    Time counts steps, a microsecond for each: the trace of a program is the same in every run.
    """
    listed = [_named("process_name", title), _named("thread_name", name)]
    slices: list[dict[str, Any]] = []
    around: list[tuple[tuple[int, int], dict[str, Any]]] = []
    last = 0
    for step in steps:
        slices += _left_out(last, step.number)
        level = (step.depth, step.site.nesting)
        # Where steps are left out, all slices end: what follows may be in other runs of the same ops.
        gap = step.number > last + 1
        while around and (gap or around[-1][0] > level or (around[-1][0] == level and not step.ends)):
            _end(around.pop()[1], last + 1)
        last = step.number
        if step.ends and around and around[-1][0] == level:
            around[-1][1]["args"].update(_facts(step))
        else:
            begun = {**_event("X", step.op, step.number), "cat": step.op.partition(".")[0], "args": _facts(step)}
            slices.append(begun)
            around.append((level, begun))
        slices += _moments(step)
    slices += _left_out(last, count + 1)
    for _, begun in around:
        _end(begun, last + 1)
    return {"traceEvents": [*listed, *slices], "displayTimeUnit": "ns", "otherData": {"time": "steps of the trace"}}


def _left_out(last: int, following: int) -> Iterator[dict[str, Any]]:
    if following - last > 1:
        missing = plural(following - last - 1, "step")
        yield {**_event("i", f"{missing} left out", last + 1), "s": "t"}


def _end(begun: dict[str, Any], number: int) -> None:
    begun["dur"] = max(number - begun["ts"], 1)


def _event(phase: str, name: str, at: int) -> dict[str, Any]:
    return {"name": name, "ph": phase, "ts": at, "pid": 1, "tid": 1}


def _named(what: str, name: str) -> dict[str, Any]:
    return {**_event("M", what, 0), "args": {"name": name}}


def _facts(step: Step) -> dict[str, Any]:
    """Return what the viewer shows of a slice: the place, the values, the errors and the branch."""
    facts: dict[str, Any] = {"place": step.location, "source": step.source} if not step.ends else {}
    facts |= {f"operand {value.name}": str(value) for value in step.operands}
    facts |= {f"result {value.name}": str(value) for value in step.results}
    facts |= {f"{name} error in ulp": _number(size) for name, size in _sizes(step).items()}
    more = {"goes to": step.where, "lanes": step.lanes_text, "undefined behaviour": step.undefined}
    return facts | {name: text for name, text in more.items() if text}


def _sizes(step: Step) -> Mapping[str, float]:
    errors = step.errors
    return {} if errors is None else {"own": errors.known(errors.own), "total": errors.known(errors.total)}


def _number(size: float) -> float | str:
    """Return a number for JSON; text for one that is not finite."""
    return size if isfinite(size) else str(size)


def _moments(step: Step) -> Iterator[dict[str, Any]]:
    """Yield the instant events and the counters of a step."""
    for birth in listed_births(step):
        yield {**_event("i", f"poison: {birth_text(birth)}", step.number), "s": "t"}
    sizes = {name: size for name, size in _sizes(step).items() if isfinite(size)}
    if sizes:
        yield {**_event("C", "error in ulp", step.number), "args": sizes}


def as_text(found: Mapping[str, Any]) -> str:
    """Return a file of JSON: one object, with the end of a line."""
    return json.dumps(found, ensure_ascii=True, allow_nan=False, indent=1) + "\n"
