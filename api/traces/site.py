"""The ops of a program, as a trace names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from halfulp.interp.ir.errors import HalfulpError, spell_place
from halfulp.interp.ir.operations import Blob, BlockArgument, Module, Operation, OpResult, SSAValue
from halfulp.interp.loading import parse_module
from halfulp.interp.run.function_attributes import profile_of
from halfulp.interp.text.printer import print_module
from halfulp.semantics.profile import Profile

_LONGEST_LINE = 400
_MOST_PRINTED = 1 << 24
"""The most bytes of constants in a program without text that is printed to be shown."""


@dataclass(slots=True, eq=False)
class Site:
    """An op of the program, apart from its runs.

    ``line``: its line in the text that the trace shows; None where there is none. ``source``: that line. ``place``:
    ``file:line:column`` of the op's location. ``nesting``: the number of ops with regions around it in its function.
    ``runs``: how often it ran; ``births``: the number of elements that became poison in it. ``operands``, ``results``:
    names.
    """

    op: str
    line: int | None
    source: str
    place: str
    function: str
    nesting: int
    operands: tuple[str, ...]
    results: tuple[str, ...]
    runs: int = 0
    births: int = 0


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a report says of one op: first of all where it stands."""

    #: the name of the op
    op: str
    #: its line in the text that is shown; None where there is none
    line: int | None
    #: ``file:line:column``
    place: str
    #: the text of the line
    source: str


@dataclass(frozen=True, slots=True)
class OpRecord(StepRecord):
    """What a report says of one op over all of its runs."""

    #: the function that the op is in
    function: str


class SiteNames:
    """Names the ops of a module.

    ``lines``: the text that is shown, from line number ``first_line`` on: that of the module, or, of a program without
    text such as bytecode, what it prints. ``profiles``: of functions with another profile than that of the run.
    """

    def __init__(self, module: Module, profile: Profile) -> None:
        self.lines: list[str] = []
        self.first_line = 1
        self.profiles: dict[str, str] = {}
        self._profile = profile
        self._sites: dict[Operation, Site] = {}
        self._shown_op = self._shown_module(module)

    @property
    def all(self) -> Iterable[Site]:
        """The ops that were named, in this order."""
        return self._sites.values()

    def shown(self, op: Operation) -> Operation | None:
        """Return the op in the text that is shown; None where there is none."""
        return self._shown_op(op)

    def site(self, op: Operation) -> Site:
        """Return the op as a trace names it."""
        site = self._sites.get(op)
        if site is None:
            site = self._sites[op] = self._new_site(op)
        return site

    def _new_site(self, op: Operation) -> Site:
        shown = self.shown(op)
        position = None if shown is None else shown.position
        line = None if position is None else position.line
        nesting, around = -1, op
        while around.name != "func.func" and around.parent_op is not None:
            nesting, around = nesting + 1, around.parent_op
        named = op if shown is None else shown
        name = f"@{around.symbol_name}"
        profile = profile_of(around, self._profile)
        if profile is not self._profile:
            self.profiles[name] = profile.name
        return Site(
            op.name,
            line,
            op.name if line is None else self._line(line, op),
            spell_place(op.location),
            name,
            nesting,
            tuple(name_of(value) for value in named.operands),
            tuple(name_of(value) for value in named.results),
        )

    def _line(self, number: int, op: Operation) -> str:
        lines, first = self.lines, self.first_line
        text = lines[number - first].strip() if first <= number < first + len(lines) else ""
        # A terminator that is not in the text has the place of the op around it.
        if op.name.rpartition(".")[2] not in text:
            return op.name
        return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 3]}..."

    def _shown_module(self, module: Module) -> Callable[[Operation], Operation | None]:
        """Return the function from an op to its op in the text that is shown."""
        if module.source is not None and module.text is not None:
            self.lines = module.text.split("\n")
            self.first_line = module.source.start[0]
            return lambda op: op
        if _constant_bytes(module) > _MOST_PRINTED:
            return lambda op: None
        try:
            text = print_module(module)
            printed = parse_module(text, module.filename)
        except HalfulpError:
            return lambda op: None
        pairs = dict(zip(module.walk(), printed.walk(), strict=False))
        self.lines = text.split("\n")
        return pairs.get


def shown_site(site: Callable[[Operation], Site], op: Operation, around: Operation) -> Site:
    """Return the op as it is shown: one that is not in the text with the op on whose behalf it ran."""
    found = site(op)
    if found.line is not None or op is around:
        return found
    shown = site(around)
    return replace(found, line=shown.line, place=shown.place, source=f"{op.name} of {shown.source}")


def fields_of(site: Site) -> tuple[str, int | None, str, str]:
    """Return the fields of a `StepRecord`."""
    return site.op, site.line, site.place, site.source


def name_of(value: SSAValue) -> str:
    """Return the name of a value in the text; of a result without one, such as those of ops that another op made to
    compute with, the name of its op.
    """
    if isinstance(value, OpResult):
        name, siblings = f"%{value.name}" if value.name else value.owner.name, value.owner.results
        several = len(siblings) > 1 and siblings[0].name == siblings[1].name
        return f"{name}#{value.index}" if several else name
    if isinstance(value, BlockArgument) and value.name is None:
        return f"%arg{value.index}"
    return f"%{value.name}"


def _constant_bytes(module: Module) -> int:
    """Return the bytes of a program's constants, about half the size of its text."""
    attributes = (value for op in module.walk() for value in (*op.properties.values(), *op.attributes.values()))
    resources = (entry for entries in module.resources.dialect.values() for entry in entries.values())
    return sum(getattr(getattr(attribute, "codes", None), "nbytes", 0) for attribute in attributes) + sum(
        len(entry.data) for entry in resources if isinstance(entry, Blob)
    )
