"""What of a program is changed at a time: one op, all ops of a kind, or one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from halfulp.conformance.whole_programs.rewrite import callees
from halfulp.interp.ir.counts import plural
from halfulp.interp.ir.operations import Module, Operation, OpResult, SSAValue
from halfulp.sensitivities.computing import adds_up, own_format, rounds, written
from halfulp.sensitivities.flow import Flow, format_of, is_memory
from halfulp.traces.site import Site, name_of


@dataclass(frozen=True, slots=True)
class Subject:
    """What is changed. ``ops``: run in another way; or ``value``: kept in another format where it is made.

    ``short``: how advice names it. ``site``: the op, for a subject that is or belongs to one.
    """

    short: str
    what: str
    ops: tuple[Operation, ...] = ()
    value: SSAValue | None = None
    site: Site | None = None

    @property
    def was(self) -> str:
        """The format, or the formats, that it has."""
        found = [own_format(op) for op in self.ops] if self.value is None else [format_of(self.value)]
        return ", ".join(dict.fromkeys(map(str, found)))


def ops_that_run(module: Module, function: Operation, flow: Flow) -> list[Operation]:
    """Return the ops of a function, and of those that it may call."""
    tops = [function, *callees(module, function)]
    inside = {id(op) for top in tops for op in top.walk()}
    return [op for op in flow.ops if id(op) in inside]


@dataclass(frozen=True)
class Program:
    """A program as it is looked at: its flow, the ops that run, and how they are named."""

    flow: Flow
    ops: Sequence[Operation]
    site: Callable[[Operation], Site]

    def by_op(self) -> Iterator[Subject]:
        """Yield each op that rounds, and each cycle of several such ops, from one trip of a loop to the next."""
        cycles = [set(cycle) for cycle in self.flow.cycles()]
        computing = [op for op in self.ops if rounds(op)]
        for op in computing:
            site = self.site(op)
            carried = adds_up(op) or any(not cycle.isdisjoint(written(op)) for cycle in cycles)
            verb = "accumulate" if carried else "compute"
            yield Subject(f"{verb} {_named(op, site)}", site.source, (op,), site=site)
        for cycle in cycles:
            several = tuple(op for op in computing if not cycle.isdisjoint(written(op)))
            if len(several) > 1:
                named = " and ".join(_named(op, self.site(op)) for op in several)
                short = f"carry {plural(len(several), 'op')} of a loop: {named}"
                yield Subject(short, f"carried from trip to trip: {named}", several, site=self.site(several[0]))

    def by_kind(self) -> Iterator[Subject]:
        """Yield all ops of each name."""
        kinds: dict[str, list[Operation]] = {}
        for op in self.ops:
            if rounds(op):
                kinds.setdefault(op.name, []).append(op)
        for name, ops in kinds.items():
            site = self.site(ops[0]) if len(ops) == 1 else None
            what = f"all {name} ({plural(len(ops), 'op')})"
            yield Subject(f"compute {what}", what, tuple(ops), site=site)

    def by_tensor(self) -> Iterator[Subject]:
        """Yield each value that is given, spelled or computed: arguments, constants, and the results of ops."""
        for op in self.ops:
            if op.name == "func.func":
                for argument in op.regions[0].blocks[0].arguments if op.regions[0].blocks else ():
                    if format_of(argument) and not is_memory(argument):
                        what = f"argument {name_of(argument)} of @{op.symbol_name}: {argument.type}"
                        yield Subject(f"keep {name_of(argument)}", what, (), argument)
            elif op.name == "arith.constant" or rounds(op):
                site = self.site(op)
                for result in op.results:
                    if format_of(result):
                        name = _name_in(site, result)
                        kept = f"keep {name}" if site.line is None else f"keep {name} (line {site.line})"
                        yield Subject(kept, site.source, (op,) if rounds(op) else (), result, site)


BY: Mapping[str, Callable[[Program], Iterator[Subject]]] = {
    "op": Program.by_op,
    "kind": Program.by_kind,
    "tensor": Program.by_tensor,
}
"""The ways to divide a program."""


def _named(op: Operation, site: Site) -> str:
    return op.name if site.line is None else f"{op.name} (line {site.line})"


def _name_in(site: Site, result: OpResult) -> str:
    return site.results[result.index] if result.index < len(site.results) else name_of(result)
