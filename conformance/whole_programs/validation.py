"""Compare two versions of a function on the same inputs: the second may only do what the first allows.

`compare` decides how a pair of functions is compared, and always returns a report: its `Basis` says how much the
comparison shows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from math import prod

import numpy as np

from halfulp.conformance.comparing.refinement import (
    Judged,
    Mismatch,
    Reasons,
    Truth,
    Verdict,
    judged,
    loosened,
    places_of,
    reason_of,
    truth_of_run,
)
from halfulp.conformance.whole_programs.arguments import (
    CHOICES,
    EXHAUSTIVE_BITS,
    Arguments,
    Assumption,
    Part,
    assumed_domains,
    assumptions_of,
    generated,
    ordinary,
    scaled_sizes,
    sizes_within,
    trip_counts,
)
from halfulp.conformance.whole_programs.bisection.explaining import NO_RULE, permission
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.printed import Printed, UnknownFunctions, elements, is_uninterpreted
from halfulp.conformance.whole_programs.two_runs import MAX_STEPS, Outcome, Piece, Ran, TwoRuns, carrier, one_lane
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, Unsupported
from halfulp.interp.ir.operations import (
    BlockArgument,
    Module,
    Operation,
    OpResult,
    SSAValue,
    argument_types,
    result_types,
)
from halfulp.interp.ir.types import element_width, spell_shape
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.lanes import lanes_of
from halfulp.interp.values.spelling import printed as text_of
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

# --- trip bounds ------------------------------------------------------------------------------------------------------
#
# The arguments of a function that decide how often its loops run, or how much memory it takes.

_BOUNDS: Mapping[str, int | None] = {
    "scf.for": 3,
    "scf.parallel": None,
    "scf.forall": None,
    "affine.for": None,
    "affine.parallel": None,
    "memref.alloc": None,
    "memref.alloca": None,
    "tensor.empty": None,
    "tensor.generate": None,
    "tensor.splat": None,
    "bufferization.alloc_tensor": None,
}
"""For ops with bounds or sizes: the number of operands, from the first on, that are bounds or sizes; None if all
operands of type index are.
"""


def bounding_arguments(function: Operation) -> frozenset[int]:
    """Return the numbers of the arguments that reach a bound, a step or a size, directly or through arithmetic."""
    entry = function.regions[0].blocks[0]
    waiting = [value for op in function.walk() for value in _bounds(op)]
    met: set[int] = set()
    found = set()
    while waiting:
        value = waiting.pop()
        if id(value) in met:
            continue
        met.add(id(value))
        if isinstance(value, BlockArgument) and value.block is entry:
            found.add(value.index)
        elif isinstance(value, OpResult) and not value.owner.regions:
            waiting += [each for each in value.owner.operands if isinstance(each.type, ty.IntegerType | ty.IndexType)]
    return frozenset(found)


def _bounds(op: Operation) -> list[SSAValue]:
    if op.name not in _BOUNDS:
        return []
    count = _BOUNDS[op.name]
    indices = [value for value in op.operands if isinstance(value.type, ty.IndexType)]
    return indices if count is None else op.operands[:count]


# --- validation -------------------------------------------------------------------------------------------------------

SHOWN = 3
"""Number of inputs of one function whose difference is kept."""


class Basis(Enum):
    """The basis of the verdict on a function: a difference, every input, a solver, or samples."""

    DIFFERENT = "differs"
    KNOWN = "known differences"
    PERMITTED = "permitted differences"
    EVERY_INPUT = "proven (every input)"
    SOLVER = "proven (solver)"
    SAMPLES = "tested"
    NOTHING = "not compared"


@dataclass
class ValidationReport:
    """The result for one function.

    ``inputs``: the number of inputs; ``exhaustive``: these are all. ``undefined_by``: those for which the first version
    is undefined, by the reason. ``poison_by``: elements that are poison in the first version. ``skipped``: inputs that
    were not compared, by the reason. ``differing``: those with a difference that is not known. ``known``: those with a
    known difference, by the rows that explain it. ``unsearched``: the differing inputs for which no rows were searched,
    because that would have taken too long. ``verdicts`` counts elements: of results, of memory after the run, and of
    printed values. ``notes``: what the user should know of the inputs. ``problem``: why the functions were not compared
    at all. ``solver``: a solver's decision: "proven", "different", "unknown" or "not provable"; "" if it was not asked.
    ``unproven``: why the solver has not proven anything. ``loosened``: the number of elements whose bits agree here,
    but the language leaves them unspecified in the second version alone. ``permitted``: inputs with differences that
    flags permit, by the explanation; ``apart``: the number of those that were not examined one by one; ``reason``: what
    is known of the first difference that no flag permits.
    """

    function: str
    inputs: int = 0
    exhaustive: bool = False
    undefined_by: Reasons = field(default_factory=Reasons)
    poison_by: Reasons = field(default_factory=Reasons)
    differing: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    known: Counter[tuple[str, ...]] = field(default_factory=Counter)
    permitted: Counter[str] = field(default_factory=Counter)
    apart: int = 0
    reason: str = ""
    unsearched: int = 0
    counterexamples: list[Counterexample] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    problem: HalfulpError | None = None
    solver: str = ""
    unproven: str = ""
    loosened: int = 0

    @property
    def undefined(self) -> int:
        """The number of inputs for which the first version is undefined."""
        return self.undefined_by.counts.total()

    @property
    def tested(self) -> int:
        """The number of inputs that were not skipped."""
        return self.inputs - self.skipped.total()

    @property
    def compared(self) -> int:
        """The numbers of elements that were compared, and of inputs with a difference."""
        return self.verdicts.total() + self.differing

    @property
    def basis(self) -> Basis:
        """Return the basis of the verdict."""
        if self.differing or self.known:
            return Basis.DIFFERENT if self.differing else Basis.KNOWN
        if self.permitted or self.apart:
            return Basis.PERMITTED
        if self.solver == "proven":
            return Basis.SOLVER
        if self.problem is not None or not self.compared:
            return Basis.NOTHING
        unsure = self.skipped or self.verdicts[Verdict.APART] or self.loosened
        every = self.exhaustive and not unsure
        return Basis.EVERY_INPUT if every else Basis.SAMPLES


Explain = Callable[[Part], Sequence[tuple[str, ...] | None]]
"""A function that returns, for each input, the names of the rows that explain its difference: no names if they do not
explain it, None if it did not search.
"""


@dataclass(frozen=True)
class Inputs:
    """The inputs with which functions are compared.

    ``given``: the inputs themselves; None to generate ``count`` of them, or all if there are few. ``vscale``: the
    factor of the size of scalable vectors. ``assumptions``: ranges of arguments, with those in the function's
    attribute. ``unknown``: makes the unknown functions that stand for ops that no dialect has and for declarations.
    ``samples``: True to use samples even if all inputs could run. ``fp_contract``: a key of `FP_CONTRACT`, which says
    where fused multiply-adds are permitted. ``ordinary``: only numbers as programs usually have them.
    """

    count: int = 1000
    seed: int = 0
    vscale: int | None = None
    assumptions: tuple[Assumption, ...] = ()
    given: Arguments | None = None
    max_steps: int = MAX_STEPS
    max_bytes: int = Settings.max_bytes
    unknown: UnknownFunctions | None = None
    samples: bool = False
    ordinary: bool = False
    fp_contract: str = "on"

    def of(self, function: Operation, samples: bool = False) -> Arguments:
        """Return the inputs of a function. Raises HalfulpError if there are none.

        ``samples``: return samples, even if the function has so few inputs that all of them could run.
        """
        if self.given is not None:
            return self.given
        types = argument_types(function)
        bounds = bounding_arguments(function)
        domains = {k: trip_counts(ty.element_type(types[k])) for k in bounds if not isinstance(types[k], ty.ShapedType)}
        assumptions = (*assumptions_of(function), *self.assumptions)
        domains |= assumed_domains(function, types, assumptions)
        if self.ordinary:
            elements = {k: ty.element_type(type_) for k, type_ in enumerate(types)}
            domains = {k: ordinary(each) for k, each in elements.items() if element_width(each) is not None} | domains
        bits = None if samples or self.samples else EXHAUSTIVE_BITS
        choices = (*CHOICES, *sizes_within(function))
        scaled = scaled_sizes(function)
        made = generated(
            types, self.count, self.seed, self.vscale, bits, domains=domains, scaled=scaled, choices=choices
        )
        assumed = (f"assumed: {', '.join(map(str, assumptions))}",) if assumptions else ()
        limits = _limits(function, self.vscale)
        return Arguments(made.parts, made.exhaustive and not limits, (*assumed, *limits, *made.notes))


def _limits(function: Operation, vscale: int | None) -> tuple[str, ...]:
    """Return what generated inputs never contain, even if there is one for each combination of codes."""
    found = []
    types = [value.type for op in function.walk() for value in (*op.operands, *op.results)] + [
        *argument_types(function)
    ]
    if any(isinstance(type_, ty.VectorType) and type_.scalable for type_ in types):
        found.append(f"vscale: {vscale}")
    if sum(isinstance(type_, ty.MemRefType) for type_ in argument_types(function)) > 1:
        found.append("memrefs do not overlap")
    return tuple(found)


Pair = tuple[Operation, Operation | None]


def common_functions(before: Module, after: Module, name: str | None = None) -> list[Pair]:
    """Return the public functions with a body in the first version, or the named one, each with that of the second
    version, or None if it has none.

    Raises InputError if there are none in the first version.
    """
    pairs: list[Pair] = []
    for op in before.body:
        chosen = op.symbol_name == name.removeprefix("@") if name is not None else _is_public(op)
        if op.name == "func.func" and chosen and op.regions[0].blocks:
            other = after.lookup(op.symbol_name) if op.symbol_name else None
            whole = other is not None and other.name in ("func.func", "llvm.func") and bool(other.regions[0].blocks)
            pairs.append((op, other if whole else None))
    if not pairs:
        what = "public function with a body" if name is None else f"function @{name.removeprefix('@')} with a body"
        raise InputError(f"there is no {what} in the first version")
    return pairs


def left_out(module: Module) -> list[ValidationReport]:
    """Return a report for each public function with a body that `common_functions` leaves out: those of nested modules,
    and those of dialects other than func, such as llvm.func.
    """
    found = []
    top = set(module.body)
    waiting = [(op, "") for op in reversed(module.body)]
    while waiting:
        op, outer = waiting.pop()
        if not _is_public(op) or not op.regions or not op.regions[0].blocks:
            continue
        path = f"{outer}::@{op.symbol_name or ''}" if outer else op.symbol_name or ""
        if op.name == "builtin.module":
            waiting += [(inner, path) for inner in reversed(op.regions[0].blocks[0].operations)]
        elif op.name.endswith(".func") and op.name != "func.func":
            found.append(_not_compared(path, f"only functions of 'func' are compared, and this is '{op.name}'", op))
        elif op.name == "func.func" and op not in top:
            found.append(_not_compared(path, "functions of nested modules are not compared", op))
    return found


def _not_compared(path: str, reason: str, op: Operation) -> ValidationReport:
    return ValidationReport(path, problem=Unsupported(reason, op=op.name, location=op.location))


def _is_public(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility")
    return not isinstance(visibility, at.StringAttr) or visibility.value == "public"


def compare(
    before: Module, after: Module, pair: Pair, inputs: Inputs, profile: Profile = SPEC, explain: Explain | None = None
) -> ValidationReport:
    """Decide how two versions of a function are compared, and compare them. ``explain``: finds the known differences.

    The report of a pair that cannot be compared has its `ValidationReport.problem`.
    """
    first, second = pair
    name = first.symbol_name or ""
    try:
        if second is None:
            raise InputError(f"@{name} has no body in the second version", location=first.location)
        settings = Settings(profile, vscale=inputs.vscale, max_steps=inputs.max_steps, max_bytes=inputs.max_bytes)
        versions = (before, first), (after, second)
        unknown = inputs.unknown if any(is_uninterpreted(*version) for version in versions) else None
        made = inputs.of(first, samples=unknown is not None)
        return validate(*versions, made, settings, explain, unknown, inputs.fp_contract)
    except HalfulpError as error:
        return ValidationReport(name, problem=error)


def validate(
    before: tuple[Module, Operation],
    after: tuple[Module, Operation],
    arguments: Arguments,
    settings: Settings,
    explain: Explain | None = None,
    unknown: UnknownFunctions | None = None,
    fp_contract: str | None = None,
) -> ValidationReport:
    """Run both versions of a function on all arguments, and report the differences.

    ``fp_contract``: where differences by fused multiply-adds are permitted, a key of `FP_CONTRACT`; None: nowhere.
    Raises Unsupported if `carrier` has no conversion between the types of both versions.
    """
    way = carrier(before[1], after[1])
    made_up = () if unknown is None else ("unknown functions stand for ops that no dialect has and for declarations",)
    notes = (*arguments.notes, *way.notes, *made_up)
    report = ValidationReport(before[1].symbol_name or "", arguments.count, arguments.exhaustive, notes=notes)
    runs = TwoRuns(before, after, arguments, way, settings, unknown)
    names = outputs_of(before[1])
    permitted = None if fp_contract is None else _Permitted(runs, fp_contract, Counterexample(outputs=names))
    for piece in runs.pieces():
        if not isinstance(piece.before, Ran):
            report.undefined_by.add_error(piece.before, len(piece.rows))
            continue
        differing = differences(report, piece.before, piece.after, len(piece.rows), names)
        if explain is not None:
            _leave_out_known(report, piece, differing, explain)
        if permitted is not None:
            permitted.judge(report, piece, differing)
        report.differing += len(differing)
        for lane, found in sorted(differing.items())[: SHOWN - len(report.counterexamples)]:
            row = piece.part.row(int(piece.rows[lane]))
            expected = tuple(lanes_of(value, lane) for value in piece.before.values)
            trap = found.trap or ("" if isinstance(piece.after, Ran) else _trap(runs, piece, lane))
            truth = _truth(runs, piece, lane, found)
            report.counterexamples.append(replace(found, arguments=row, expected=expected, trap=trap, truth=truth))
    report.skipped.update(runs.skipped)
    return report


def _truth(runs: TwoRuns, piece: Piece, lane: int, found: Counterexample) -> Truth | None:
    """Return in which version the differing element is nearer to exact real arithmetic, if that is known."""
    if found.mismatch is None or found.texts is not None:
        return None
    try:
        return truth_of_run(*runs.recorded(piece.part, int(piece.rows[lane])), found.mismatch)
    except HalfulpError:
        return None


def _leave_out_known(
    report: ValidationReport, piece: Piece, differing: dict[int, Counterexample], explain: Explain
) -> None:
    """Count the differences of results, memory and printed values that are known, and remove them."""
    lanes = [lane for lane, found in sorted(differing.items()) if found.mismatch is not None]
    if not lanes:
        return
    rows = explain(piece.part.chosen([int(piece.rows[lane]) for lane in lanes]))
    for lane, names in zip(lanes, rows, strict=True):
        report.unsearched += names is None
        if names:
            report.known[names] += 1
            del differing[lane]


PERMISSION_SECONDS = 10.0
"""The time after which differences of one function are no longer explained: they stay differences."""


APART_INPUTS = 100
"""The most inputs of a function that are explained, of those that differ only in elements that flags leave open."""


class _Permitted:
    """Removes the differences that flags permit, and adds differences in elements that flags leave open, if nothing
    explains them, because an op with flags may be wrong too. The first difference that is not permitted ends the
    search.
    """

    def __init__(self, runs: TwoRuns, fp_contract: str, blank: Counterexample) -> None:
        self._runs, self._fp_contract, self._blank = runs, fp_contract, blank
        self._left = PERMISSION_SECONDS
        self._inputs = APART_INPUTS
        self._ended = False

    def judge(self, report: ValidationReport, piece: Piece, differing: dict[int, Counterexample]) -> None:
        """Count the differences of one piece that are permitted, and leave in ``differing`` those that are not."""
        if not isinstance(piece.before, Ran) or not isinstance(piece.after, Ran):
            return
        if any(each.trap or each.texts for each in differing.values()):
            return
        for lane in sorted(differing):
            if self._goes_on and self._permits(report, piece, lane, flags_alone=True):
                del differing[lane]
        for lane in _lanes_apart(piece.before, piece.after, differing):
            if not self._inputs or not self._goes_on:
                report.apart += 1
                continue
            self._inputs -= 1
            if not self._permits(report, piece, lane, flags_alone=False):
                one = next(each for each in _of_lane(piece.before, piece.after, lane) if each.doubtful.any())
                mismatch = one.mismatch_in_lane(places_of(one.doubtful)[0])
                differing[lane] = replace(self._blank, mismatch=mismatch, type=one.value.element_type)

    @property
    def _goes_on(self) -> bool:
        return not self._ended and self._left >= 0

    def _permits(self, report: ValidationReport, piece: Piece, lane: int, flags_alone: bool) -> bool:
        """Tell whether all elements of a lane that differ are permitted, and note why, or why not."""
        assert isinstance(piece.before, Ran)
        assert isinstance(piece.after, Ran)
        start = time.monotonic()
        runs = self._runs.recorded, self._runs.recorded_after
        recorded = [partial(_over_one_lane, run, piece.part, int(piece.rows[lane])) for run in runs]
        masks = [one.doubtful for one in _of_lane(piece.before, piece.after, lane)]
        allowed, ground = permission([(recorded[0], recorded[1])], [masks], self._fp_contract, flags_alone=flags_alone)
        self._left -= time.monotonic() - start
        if allowed:
            report.permitted[ground or ""] += 1
        else:
            self._ended, report.reason = True, ground or ("" if flags_alone else NO_RULE)
        return allowed


def _of_lane(before: Ran, after: Ran, lane: int) -> list[Judged]:
    """Judge the outputs of one lane."""
    one, two = ([lanes_of(value, np.array([lane])) for value in ran.values] for ran in (before, after))
    return [judged(*pair, index) for index, pair in enumerate(zip(one, two, strict=True))]


def _lanes_apart(before: Ran, after: Ran, others: Collection[int]) -> list[int]:
    """Return the lanes in which elements differ that flags leave open, except the lanes in ``others``."""
    found: set[int] = set()
    for one, two in zip(before.values, after.values, strict=True):
        if one.open is not None and one.shape == two.shape and not np.array_equal(one.bits, two.bits):
            found.update(place[0] for place in places_of(np.asarray(judged(one, two).verdicts == Verdict.APART)))
    return sorted(found.difference(others))


def _over_one_lane(
    run: Callable[[Part, int], tuple[Lineage, tuple[Value, ...]]], part: Part, row: int
) -> tuple[Lineage, tuple[Value, ...]]:
    lineage, values = run(part, row)
    return lineage, one_lane(values)


def outputs_of(function: Operation) -> tuple[str, ...]:
    """Return the names of the values that are compared: the results, then the contents of memory after the run."""
    memory = [number for number, type_ in enumerate(argument_types(function)) if ty.is_memory(type_)]
    results = (f"result {number}" for number in range(len(result_types(function))))
    return (*results, *(f"argument {number} after the run" for number in memory))


def differences(
    report: ValidationReport, before: Ran, after: Outcome | None, lanes: int, names: tuple[str, ...]
) -> dict[int, Counterexample]:
    """Count the verdicts on the outputs of two versions over lanes. Return, for each lane with a difference, its first
    difference.
    """
    blank = Counterexample(outputs=names)
    if not isinstance(after, Ran):
        return dict.fromkeys(range(lanes), blank)
    found: dict[int, Counterexample] = {}
    for index, (one, two) in enumerate(zip(before.values, after.values, strict=True)):
        if one.shape != two.shape:
            shapes = [spell_shape(value.shape[1:]) for value in (one, two)]
            other = replace(blank, trap=f"{names[index]} has the shape {shapes[1]}, not {shapes[0]}")
            return dict.fromkeys(range(lanes), other)
        for lane, mismatch in _mismatches(report, one, two, index):
            found.setdefault(lane, replace(blank, mismatch=mismatch, type=one.element_type))
    printed = _printed(report, before.printed, after.printed)
    if printed is not None:  # runs that print are alone; a known difference of a result does not explain a text
        found[0] = replace(printed, outputs=names)
    return found


def _mismatches(report: ValidationReport, one: Value, two: Value, index: int) -> Iterator[tuple[int, Mismatch]]:
    """Count the verdicts on one output over lanes. Yield the lanes with a mismatch, each with all its elements."""
    report.loosened += loosened(one, two)
    if one.poison is None and two.poison is None and np.array_equal(one.bits, two.bits):
        report.verdicts[Verdict.EQUAL] += prod(one.shape)
        return
    found = judged(one, two, index)
    found.count(report.verdicts)
    report.poison_by.add_poison(one)
    for place in places_of(found.wrong):
        yield place[0], found.mismatch_in_lane(place)


def _printed(
    report: ValidationReport, before: tuple[Printed, ...], after: tuple[Printed, ...]
) -> Counterexample | None:
    """Count the verdicts on what was printed: the text around the values, and each value. Return the first that
    differs.
    """
    if not before and not after:
        return None
    texts = tuple("".join(item.text for item in items) for items in (before, after))
    differs = Counterexample(texts=(texts[0], texts[1]))
    ones, twos = elements(before), elements(after)
    frames = ["".join(item.frame for item in items) for items in (before, after)]
    if frames[0] != frames[1] or len(ones) != len(twos):
        report.verdicts[Verdict.MISMATCH] += 1
        return differs
    if not ones:
        report.verdicts[Verdict.EQUAL] += 1
    found = None
    for index, (one, two) in enumerate(zip(ones, twos, strict=True)):
        report.loosened += loosened(one, two)
        pair = judged(one, two, index) if one.type == two.type else None
        report.poison_by.add_poison(one)
        if pair is not None:
            verdict = Verdict(int(pair.verdicts))
        else:  # a pass may print a wider integer: users see the same
            same = one.poison is not None or text_of(one) == text_of(two)
            verdict = Verdict.EQUAL if same else Verdict.MISMATCH
        report.verdicts[verdict] += 1
        if verdict is Verdict.MISMATCH and found is None:
            found = replace(differs, mismatch=None if pair is None else pair.mismatch(()), type=one.type)
    return found


def _trap(runs: TwoRuns, piece: Piece, lane: int) -> str:
    """Return why the second version stops at an input, in the words of a run of this input alone."""
    error = narrowed(runs.error_of(piece.part, int(piece.rows[lane])) or piece.after, HalfulpError)
    return f"does not end: {error.message}" if isinstance(error, LimitExceeded) else reason_of(error)
