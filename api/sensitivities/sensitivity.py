"""`sensitivity`: run a program with one thing changed at a time, and rank the effect on the errors of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Unpack

from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module
from halfulp.loading import Source, load
from halfulp.run_options import RunOptions, TraceKeywords, run_options, takes
from halfulp.running import find_entry
from halfulp.semantics.profile import Profile
from halfulp.sensitivities.computing import rounds
from halfulp.sensitivities.flow import Flow
from halfulp.sensitivities.ranking import Sensitivity, SensitivityRow, advice_on, rank_of
from halfulp.sensitivities.reference import Distances, Reference
from halfulp.sensitivities.subjects import BY, Program, ops_that_run
from halfulp.sensitivities.trials import (
    MODES,
    Trial,
    asked,
    deciding,
    format_trials,
    mode_trials,
    setting_trials,
    unchangeable,
)
from halfulp.traces.site import SiteNames

By = Literal["op", "kind", "tensor"]
FORMATS = ("f32", "f64")
"""The formats that are tried by default."""
_REDRAWN = "the program rounds stochastically: a change that adds or removes ops gives the others new random bits"


@takes(TraceKeywords)
def sensitivity(
    program: Module | Source,
    *arguments: Any,
    formats: Iterable[str] = FORMATS,
    by: By = "op",
    modes: Iterable[str] | bool = (),
    profiles: Iterable[Profile | str] = (),
    orders: Iterable[str] = (),
    models: Iterable[str] = (),
    result: int | str | None = None,
    **options: Unpack[TraceKeywords],
) -> Sensitivity:
    """Run a program with one thing changed at a time, and rank the effect on the errors of its results.

    ``program``, ``arguments``: as for `run`. ``formats``: float types. ``by``: what runs in another format at a time:
    each op that rounds ("op"), all ops of a name ("kind"), or each value, also arguments and constants ("tensor").

    A format that has all numbers of an op's own is held: the op runs in it, and what it computed stays in it, also in
    loops, structured ops and local memory, until another op rounds. So an accumulator changes as a whole. In any other
    format the op runs on rounded operands, and its result is converted back at once. With ``by="tensor"`` a narrower
    format rounds the value alone. Types of functions, and of memory that they are given, stay.

    ``modes``: rounding modes, each given to one op (or kind) at a time; True for all. ``profiles``: profiles, each as a
    whole and field by field. ``orders``: orders of reductions; ``models``: models of tile operations, as ``mma`` names
    them. These three change the whole program.

    ``result``: the result that counts, its number or its name, ``argument[1]`` for memory; by default all do.

    {options}

    Errors are in ulp of the exact numbers, which the run beside exact reals finds (`Trace.errors`): that takes the
    branches that the program as it is takes. The result is a `Sensitivity`: iterate over its rows, print it, or call
    ``plot()``.

    Raises InputError for a name that does not exist and for a function without float results, Unsupported for a batch,
    and the errors of `run`.
    """
    given = run_options("sensitivity", TraceKeywords, options)
    all_modes = (MODES if modes else ()) if isinstance(modes, bool) else modes
    changes = [formats, all_modes, profiles, orders, models]
    return ranked(program, arguments, given, changes, by, result)


def ranked(
    program: Module | Source,
    arguments: Sequence[Any],
    options: RunOptions,
    changes: Sequence[Iterable[Any]],
    by: str = "op",
    result: int | str | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Sensitivity:
    """Rank as `sensitivity` does. ``changes``: formats, modes, profiles, orders and models; ``progress``: is called
    with the numbers of the changes that were tried, and of all.
    """
    wanted = asked(*(_listed(each) for each in changes))
    if by not in BY:
        raise InputError(f"by is {by!r}, but must be one of {', '.join(BY)}")
    module = program if isinstance(program, Module) else load(program)
    function = find_entry(module, options.entry)
    only = f"result[{result}]" if isinstance(result, int) else result
    reference = Reference(module, arguments, options, only)
    flow, site = Flow(module, rounds), SiteNames(module, options.profile).site
    looked_at = Program(flow, ops_that_run(module, function, flow), site)
    subjects = list(BY[by](looked_at))
    of_ops = subjects if by != "tensor" else list(looked_at.by_op())
    notes = [f"{name} is not measured: no f64 holds all numbers of its type" for name in reference.unmeasured]
    notes += [*unchangeable(looked_at, module), *deciding(looked_at)]
    if options.profile.program_rounding != "to_nearest_even":
        notes.append(_REDRAWN)
    trials = [
        *format_trials(looked_at, module, subjects, wanted, notes.append),
        *mode_trials(looked_at, module, of_ops, wanted, options.profile, notes.append),
        *setting_trials(module, options, wanted),
    ]
    rows = []
    for number, trial in enumerate(trials):
        progress(number, len(trials))
        row = _tried(trial, reference)
        if isinstance(row, str):
            notes.append(row)
        else:
            rows.append(row)
    progress(len(trials), len(trials))
    return Sensitivity(
        tuple(sorted(rows, key=rank_of)),
        tuple(dict.fromkeys(notes)),
        reference.distances,
        f"@{function.symbol_name}",
        reference.unknown,
        reference.elements,
    )


def _listed(given: Iterable[Any]) -> list[Any]:
    return [given] if isinstance(given, str | Profile) else list(given)


def _tried(trial: Trial, reference: Reference) -> SensitivityRow | str:
    """Return the row of a change, or why it has none."""
    subject, site = trial.subject, trial.subject.site
    try:
        module = trial.make()
        found = reference.distances_of(module, **trial.options)
    except HalfulpError as error:
        return f"{trial.text}: not possible: {error.message}"
    name = _most_changed(reference.distances, found)
    before, after = reference.distances[name].ulp, found[name].ulp
    moved = max(each.moved for each in found.values())
    return SensitivityRow(
        trial.sort,
        "" if site is None else site.op,
        None if site is None else site.line,
        "" if site is None else site.place,
        "" if site is None else subject.what,
        subject.what,
        len(subject.ops),
        trial.was,
        trial.to,
        name,
        before,
        after,
        moved,
        advice_on(trial.text, before, after, moved),
        trial.settings,
        module,
    )


def _most_changed(before: Distances, after: Distances) -> str:
    """Return the result whose error changes most; of those that change alike, that with the largest error."""

    def change(name: str) -> tuple[float, float]:
        one, two = before[name].ulp, after[name].ulp
        size = abs(one - two) if one != two and one == one and two == two else 0.0
        return size, one if one == one else -1.0

    return max(before, key=change)
