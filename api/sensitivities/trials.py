"""The parts of a program that are changed one at a time: one op, all ops of a kind, or one value; and the changes of
each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from halfulp.conformance.whole_programs.rewrite import callees
from halfulp.fp_formats.aliases import did_you_mean, float_format, with_hint
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import MLIR_ROUNDINGS, as_rounding
from halfulp.interp.dialects.arith.ops import ROUNDING
from halfulp.interp.dialects.elementwise import enum_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, plural, spell_place
from halfulp.interp.ir.operations import Module, Operation, SSAValue
from halfulp.interp.run.stochastic import rounds_stochastically
from halfulp.running import RunOptions
from halfulp.semantics.matrix_units.chips import as_model, model_hint
from halfulp.semantics.profile import PROFILE_FIELDS, Profile, as_profile
from halfulp.sensitivities import flow as flows
from halfulp.sensitivities.holding import MODE, Change, changed, has_all_numbers
from halfulp.traces.error_text import Site, name_of


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of a program that a change applies to. ``ops``: the ops that run in another way; or ``value``: the value
    that is rounded to another format as soon as it is computed.

    ``short``: its name in advice. ``site``: the op, if the subject is an op or the result of an op.
    """

    short: str
    what: str
    ops: tuple[Operation, ...] = ()
    value: SSAValue | None = None
    site: Site | None = None

    @property
    def was(self) -> str:
        """The format of the subject, or its formats if it has several."""
        found = [flows.own_format(op) for op in self.ops] if self.value is None else [flows.format_of(self.value)]
        return ", ".join(dict.fromkeys(map(str, found)))


def ops_that_run(module: Module, function: Operation, flow: flows.Flow) -> list[Operation]:
    """Return the ops of a function, and of those that it may call."""
    tops = [function, *callees(module, function)]
    inside = {id(op) for top in tops for op in top.walk()}
    return [op for op in flow.ops if id(op) in inside]


@dataclass(frozen=True)
class Program:
    """A program that is analysed: its flow, the ops that run, and their names."""

    flow: flows.Flow
    ops: Sequence[Operation]
    site: Callable[[Operation], Site]

    def by_op(self) -> Iterator[Subject]:
        """Yield each op that rounds. Ops whose values depend on each other from one iteration of a loop to the next are
        one subject.
        """
        cycles = [set(cycle) for cycle in self.flow.cycles()]
        computing = [op for op in self.ops if flows.rounds(op)]
        for op in computing:
            site = self.site(op)
            carried = flows.adds_up(op) or any(not cycle.isdisjoint(flows.written(op)) for cycle in cycles)
            verb = "accumulate" if carried else "compute"
            yield Subject(f"{verb} {_named(op, site)}", site.source, (op,), site=site)
        for cycle in cycles:
            several = tuple(op for op in computing if not cycle.isdisjoint(flows.written(op)))
            if len(several) > 1:
                named = " and ".join(_named(op, self.site(op)) for op in several)
                short = f"carry {plural(len(several), 'op')} of a loop: {named}"
                yield Subject(short, f"carried from trip to trip: {named}", several, site=self.site(several[0]))

    def by_kind(self) -> Iterator[Subject]:
        """Yield all ops of each name."""
        kinds: dict[str, list[Operation]] = {}
        for op in self.ops:
            if flows.rounds(op):
                kinds.setdefault(op.name, []).append(op)
        for name, ops in kinds.items():
            site = self.site(ops[0]) if len(ops) == 1 else None
            what = f"all {name} ({plural(len(ops), 'op')})"
            yield Subject(f"compute {what}", what, tuple(ops), site=site)

    def by_tensor(self) -> Iterator[Subject]:
        """Yield each value of the program: arguments, constants, and the results of ops."""
        for op in self.ops:
            if op.name == "func.func":
                for argument in op.regions[0].blocks[0].arguments if op.regions[0].blocks else ():
                    if flows.format_of(argument) and not flows.is_memory(argument):
                        what = f"argument {name_of(argument)} of @{op.symbol_name}: {argument.type}"
                        yield Subject(f"keep {name_of(argument)}", what, (), argument)
            elif op.name in flows.CONSTANTS or flows.rounds(op):
                site = self.site(op)
                for result in op.results:
                    if flows.format_of(result):
                        name = site.results[result.index] if result.index < len(site.results) else name_of(result)
                        kept = f"keep {name}" if site.line is None else f"keep {name} (line {site.line})"
                        yield Subject(kept, site.source, (op,) if flows.rounds(op) else (), result, site)


BY: Mapping[str, Callable[[Program], Iterator[Subject]]] = {
    "op": Program.by_op,
    "kind": Program.by_kind,
    "tensor": Program.by_tensor,
}
"""The parts into which a program is divided, by the words of ``by``."""


def _named(op: Operation, site: Site) -> str:
    return op.name if site.line is None else f"{op.name} (line {site.line})"


MODES = tuple(ROUNDING.cases)
ORDERS = PROFILE_FIELDS["reduction_order"].values


@dataclass(frozen=True, slots=True)
class Trial:
    """One change. ``make``: a function that returns the changed program, or raises an error if there is none.
    ``options``: the settings that differ. ``settings``: the same settings as options of `halfulp.run`.
    """

    sort: str
    subject: Subject
    was: str
    to: str
    make: Callable[[], Module]
    options: Mapping[str, Any]
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The change as an imperative sentence."""
        return _TEXTS[self.sort].format(self.subject.short, self.to)


_TEXTS = {
    "format": "{} in {}",
    "rounding": "{} with the rounding {}",
    "profile": "{}={}",
    "whole profile": "{} {}",
    "order": "{} in the order {}",
    "model": "{} with the model {}",
}
"""The sentences of changes, by their sort."""


@dataclass(frozen=True)
class Choices:
    """The changes to try, after a check: formats, rounding modes, profiles, orders of reductions, models.

    Raises InputError for names that do not exist.
    """

    formats: Sequence[ty.FloatType]
    modes: Sequence[str]
    profiles: Sequence[Profile]
    orders: Sequence[str]
    models: Sequence[str]


def choices_of(
    formats: Sequence[str], modes: Sequence[str], profiles: Sequence[Any], orders: Sequence[str], models: Sequence[str]
) -> Choices:
    """Return the changes to try, after a check of their names. Raises InputError."""
    return Choices(
        [_format(name) for name in formats],
        [_mode(name) for name in modes],
        [_profile(each) for each in profiles],
        [_chosen("order of reductions", name, ORDERS) for name in orders],
        [_model(name) for name in models],
    )


def _format(name: str) -> ty.FloatType:
    try:
        found = float_format(name)
    except ValueError as error:
        raise InputError(str(error)) from None
    if found.name not in FORMATS:
        raise InputError(f"{found.name} is not a type of MLIR", hint=f"the types are {', '.join(FORMATS)}")
    return ty.FloatType(found)


def _profile(given: Any) -> Profile:
    try:
        return as_profile(given)
    except ValueError as error:
        raise InputError(str(error)) from None


def _mode(name: str) -> str:
    try:
        mode = as_rounding(name)
    except ValueError as error:
        raise InputError(str(error)) from None
    if mode not in MLIR_ROUNDINGS:
        raise InputError(f"ops cannot round in the mode {mode.spelling}", hint=f"the modes are {', '.join(MODES)}")
    return mode.spelling


def _chosen(what: str, name: str, choices: Sequence[str]) -> str:
    if name not in choices:
        message = f"{name!r} is not a known {what}: choose one of {', '.join(choices)}"
        raise InputError(with_hint(message, did_you_mean(name, choices)))
    return name


def _model(name: str) -> str:
    try:
        return as_model(name)
    except ValueError as error:
        raise InputError(f"models of tile operations: {error}", hint=model_hint(name)) from None


# --- formats ----------------------------------------------------------------------------------------------------------


def format_trials(
    program: Program, module: Module, subjects: Sequence[Subject], wanted: Choices, note: Callable[[str], None]
) -> Iterator[Trial]:
    """Yield the changes of formats. ``note`` is called with the ops and values that cannot be changed."""
    for format in wanted.formats:
        exact = 0
        for subject in subjects:
            change = _format_change(subject, format)
            if change is not None:
                make = _maker(module, program, change)
                yield Trial("format", subject, _was(subject, format), str(format), make, {})
            elif subject.value is not None and not subject.ops and flows.format_of(subject.value) != format:
                exact += 1
        if exact:
            note(f"{format} changes nothing for {exact} arguments and constants: they are exact already")


def unchangeable(program: Program, module: Module) -> Iterator[str]:
    """Yield texts about ops whose formats cannot be changed, with the reason."""
    for op in program.ops:
        reason = flows.why_not(op, module)
        if reason is not None:
            yield f"{_at(op)}: {op.name}: {reason}"


def rounding_often(program: Program) -> Iterator[str]:
    """Yield texts about ops that take their operands in their own format even if another op computed them in a wider
    format.
    """
    found = [f"{op.name} ({_at(op)})" for op in program.ops if flows.takes_own_format(op)]
    if found:
        verb, whose = ("takes its", "it rounds") if len(found) == 1 else ("take their", "they round")
        yield (
            f"{', '.join(found)} {verb} operands in their own format, because {whose} several times: what another "
            "op keeps in a wider one is rounded there"
        )


def deciding(program: Program) -> Iterator[str]:
    """Yield a text about ops that decide the control flow by floats, if there are any."""
    found = [f"{op.name} ({_at(op)})" for op in program.ops if flows.decides(op)]
    if found:
        verb = "decides" if len(found) == 1 else "decide"
        yield (
            f"{', '.join(found)} {verb} by floats: a change may take other branches, and its errors count from the "
            "exact run on the branches of the program as it is"
        )


def _at(op: Operation) -> str:
    return spell_place(op.location)


def _format_change(subject: Subject, format: ty.FloatType) -> Change | None:
    """Return the change of a subject to a format; None if it has that format, or nothing would change."""
    if subject.value is None:
        ops = frozenset(op for op in subject.ops if flows.own_format(op) != format)
        return Change(format, ops) if ops else None
    own = flows.format_of(subject.value)
    assert own is not None
    if own == format:
        return None
    if not has_all_numbers(format.format, own.format):
        return Change(format, stored=frozenset([subject.value]))
    return Change(format, frozenset(subject.ops)) if subject.ops else None


def _was(subject: Subject, format: ty.FloatType) -> str:
    return ", ".join(name for name in subject.was.split(", ") if name != str(format))


def _maker(module: Module, program: Program, change: Change) -> Callable[[], Module]:
    return lambda: changed(module, program.flow, change)


# --- rounding modes ---------------------------------------------------------------------------------------------------


def mode_trials(
    program: Program,
    module: Module,
    subjects: Sequence[Subject],
    wanted: Choices,
    profile: Profile,
    note: Callable[[str], None],
) -> Iterator[Trial]:
    """Yield the changes of rounding modes. ``profile``: the profile of the run; ``note`` takes the ops without a
    mode.
    """
    if not wanted.modes:
        return
    without = [op.name for op in program.ops if flows.rounds(op) and not _has_mode(op)]
    if without:
        counted = ", ".join(f"{name} ({without.count(name)})" for name in dict.fromkeys(without))
        note(f"no rounding mode can be given to {counted}")
    for subject in subjects:
        ops = [op for op in subject.ops if _has_mode(op)]
        for mode in wanted.modes:
            given = {op: ROUNDING.cases[mode] for op in ops if _mode_of(op, profile) != mode}
            if given:
                was = ", ".join(dict.fromkeys(_mode_of(op, profile) for op in given))
                yield Trial("rounding", subject, was, mode, _maker(module, program, Change(modes=given)), {})


def _has_mode(op: Operation) -> bool:
    return op.definition is not None and op.definition.property_named(MODE) is not None


def _mode_of(op: Operation, profile: Profile) -> str:
    return "stochastic" if rounds_stochastically(op, profile) else MODES[enum_of(op, MODE) or 0]


# --- settings ---------------------------------------------------------------------------------------------------------


def setting_trials(module: Module, options: RunOptions, wanted: Choices) -> Iterator[Trial]:
    """Yield the changes of the whole program: fields of profiles, orders of reductions, models of tile operations."""
    current = options.profile

    def of(sort: str, short: str, what: str, was: str, to: str, profile: Profile) -> Trial:
        given = (("profile", profile.name),)
        # Without stochastic rounding a run takes no random bits.
        random = {} if profile.program_rounding != "to_nearest_even" else {"random": None}
        return Trial(sort, Subject(short, what), was, to, lambda: module, {"profile": profile, **random}, given)

    for profile in wanted.profiles:
        differing = [name for name in PROFILE_FIELDS if getattr(profile, name) != getattr(current, name)]
        if len(differing) > 1:
            what = "the whole profile"
            yield of("whole profile", "run with the profile", what, current.name, profile.name, profile)
        for name in differing:
            one = replace(current, name="", **{name: getattr(profile, name)})
            yield of("profile", f"run with {name}", name, getattr(current, name), getattr(profile, name), one)
    for order in wanted.orders:
        if order != current.reduction_order:
            one = replace(current, name="", reduction_order=order)
            was, what = current.reduction_order, "all reductions"
            yield of("order", "add in all reductions", what, was, order, one)
    for model in wanted.models:
        if model != options.model:
            subject = Subject("run all tile operations", "all tile operations")
            yield Trial("model", subject, options.model, model, lambda: module, {"mma": model}, (("mma", model),))
