"""Decide by a solver whether a second version of a function does what the first allows, on every input.

Both versions are terms over the same variables, one for each element of the arguments. The solver looks for an input
for which the first version is defined and the second one is not a refinement. The rules are those of
`halfulp.conformance.comparing.refinement`, as terms. Arguments are values: as in a run, none is poison. The caller runs
the input that the solver finds; only what a run confirms is a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.proving import solving
from halfulp.conformance.proving.arithmetic_terms import float_of
from halfulp.conformance.proving.solving import Condition, Deadline, Elements, Loose, NotProvable, Scalar, number, z3
from halfulp.conformance.proving.walk import Behaviour, behaviour, shape
from halfulp.conformance.whole_programs.arguments import assumed_domains, assumptions_of, one_input
from halfulp.conformance.whole_programs.two_runs import CarriedType, signature
from halfulp.conformance.whole_programs.validation import Basis, Explain, Inputs, Pair, ValidationReport, validate
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

# --- carried terms ----------------------------------------------------------------------------------------------------
#
# Values of one type carried by values of another, as terms: what `signatures` does with values.


def _widths(carried: CarriedType) -> tuple[int, int]:
    """Return the bits of an element of both types: equal, or the second half of the first.

    Raises NotProvable for types with another relation.
    """
    source, target = (width_of(ty.element_type(type_)) for type_ in (carried.source, carried.target))
    if source not in (target, 2 * target):
        raise NotProvable(f"the proof does not cover {carried}")
    return source, target


def to_target(carried: CarriedType, elements: Elements) -> Elements:
    """Return elements of the first version in the types of the second version: unchanged, or each as two halves, the
    low half first. ``carried``: how the types correspond.
    """
    source, target = _widths(carried)
    if source == target:
        return elements
    return tuple(
        Scalar(bits, element.poison, Loose(value=element.loose.any))
        for element in elements
        for bits in (z3.Extract(target - 1, 0, element.bits), z3.Extract(source - 1, target, element.bits))
    )


def to_source(carried: CarriedType, elements: Elements) -> Elements:
    """Return elements of the second version in the types of the first version. An element is poison if one of its
    halves is. ``carried``: how the types correspond.
    """
    source, target = _widths(carried)
    if source == target:
        return elements
    return tuple(
        Scalar(
            z3.Concat(high.bits, low.bits),
            solving.some(low.poison, high.poison),
            Loose(value=solving.some(low.loose.any, high.loose.any)),
        )
        for low, high in zip(elements[::2], elements[1::2], strict=True)
    )


# --- proof ------------------------------------------------------------------------------------------------------------

Version = tuple[Module, Operation]
"""A module and a function of it."""

Run = Callable[[tuple[Value, ...]], ValidationReport]
"""Runs both versions on one input, and compares them."""

Ranges = Mapping[int, tuple[int, int]]
"""For the number of an argument, its range of codes: the first code, and the number of codes that follow from there,
modulo 2^width.
"""

OPEN_RESULT = "the result depends on what the language leaves unspecified"
"""A reason why a function is not provable."""


class Decision(Enum):
    """The decision whether the second version of a function has only results that the first version allows."""

    #: Every input has only allowed results.
    PROVEN = "proven"
    #: One input has a result that is not allowed, which a run confirmed.
    DIFFERENT = "different"
    #: The solver found no answer in its time and memory.
    UNKNOWN = "unknown"
    #: The proof does not cover the function, or there is nothing to prove.
    NOT_PROVABLE = "not provable"


@dataclass(frozen=True)
class Proof:
    """The decision of a proof, and the reason if it is UNKNOWN or NOT_PROVABLE.

    ``report``: the run of an input that the solver found, and for which the versions differ.
    """

    decision: Decision
    reason: str = ""
    report: ValidationReport | None = None


class SolverDisagrees(Exception):
    """The error for a difference that the solver found but a run does not show: it is a bug of halfulp or of z3."""


def prove(
    before: Version, after: Version, settings: Settings, seconds: float, run: Run, ranges: Ranges | None = None
) -> Proof:
    """Decide within some seconds whether the second version has only results that the first allows, for every input.

    ``run``: runs both versions, to confirm a difference. ``ranges``: only these inputs count. Raises SolverDisagrees
    if a run does not confirm what the solver found, InputError if z3 is not installed, Unsupported if the types of the
    versions differ too much.
    """
    deadline = Deadline(seconds)
    try:
        if before[1].name != after[1].name:
            raise NotProvable(f"the proof does not cover '{after[1].name}'")
        variables = [
            tuple(_variable(number, element, type_, settings) for element in range(prod(shape(type_, settings))))
            for number, type_ in enumerate(argument_types(before[1]))
        ]
        mapped = signature(before[1], after[1])
        if mapped.out:
            raise NotProvable("the proof does not cover memory")
        first = behaviour(*before, variables, settings, deadline)
        carried = [to_target(*pair) for pair in zip(mapped.arguments, variables, strict=True)]
        second = behaviour(*after, carried, settings, deadline)
        results = tuple(to_source(*pair) for pair in zip(mapped.results, second.results, strict=True))
        second = replace(second, results=results)
        inside = _inside(variables, ranges or {})
        return _decided(_Question(before[1], variables, inside, first, second, settings, deadline, run))
    except NotProvable as error:
        return Proof(Decision.NOT_PROVABLE, str(error))
    except _NoAnswer as error:
        return Proof(Decision.UNKNOWN, str(error))
    except z3.Z3Exception as error:
        return Proof(Decision.UNKNOWN, f"the solver failed: {error}")


def _variable(argument: int, element: int, type_: ty.Type, settings: Settings) -> Scalar:
    bits = solving.width(type_, settings)
    return Scalar(z3.BitVec(f"argument{argument}[{element}]", bits) if bits else number(0, 1))


def _inside(variables: Sequence[Elements], ranges: Ranges) -> Condition:
    """Return the condition that the arguments are in their ranges."""
    conditions: list[Condition] = []
    for argument, (first, count) in ranges.items():
        for element in variables[argument]:
            if count < 1 << element.width:
                offset = element.bits - number(first, element.width)
                conditions.append(z3.ULT(offset, number(count, element.width)))
    return solving.all_of(*conditions)


@dataclass(frozen=True)
class _Question:
    """A function, what both versions of it do on the same variables, and the condition of the inputs that count."""

    function: Operation
    variables: Sequence[Elements]
    inside: Condition
    first: Behaviour
    second: Behaviour
    settings: Settings
    deadline: Deadline
    run: Run

    @property
    def defined(self) -> Condition:
        """The condition that an input counts, and that the first version is defined for it."""
        return solving.all_of(self.inside, solving.negation(self.first.undefined))

    def pairs(self) -> list[tuple[Scalar, Scalar, ty.Type]]:
        """Return pairs of elements, one from each version, for all results, with their types."""
        types = result_types(self.function)
        return [
            (one, two, ty.element_type(type_))
            for type_, ones, twos in zip(types, self.first.results, self.second.results, strict=True)
            for one, two in zip(ones, twos, strict=True)
        ]

    def wrong(self) -> list[Condition]:
        """Return conditions under which the second version does something that the first does not allow."""
        elements = (_wrong(one, two, type_, self.settings) for one, two, type_ in self.pairs())
        return [solving.all_of(self.defined, condition) for condition in (self.second.undefined, *elements)]

    def doubtful(self) -> list[Condition]:
        """Return conditions under which the second version may do something that the first does not allow, because the
        language leaves a choice to the second version.
        """
        apart = (_doubtful(one, two) for one, two, _ in self.pairs())
        return [solving.all_of(self.defined, condition) for condition in (self.second.unsettled, *apart)]

    def arguments(self, values: Mapping[str, int]) -> tuple[Value, ...]:
        """Return the arguments with the values of the variables; those that are absent are zero."""
        found = []
        for type_, elements in zip(argument_types(self.function), self.variables, strict=True):
            codes = [values.get(str(element.bits), 0) for element in elements]
            stored = ty.width_of(ty.element_type(type_))
            found.append(Value(type_, ints_to_codes(codes, stored, shape(type_, self.settings))))
        return tuple(found)


def _allowed(one: Scalar, two: Scalar, type_: ty.Type, settings: Settings) -> Condition:
    """Return the condition that the bits of an element are right: the same bits, or a choice that the first version
    leaves open.
    """
    conditions = [one.bits == two.bits]
    if one.loose.nan is not False or one.loose.sign is not False:
        fmt = float_of(type_, settings.profile)
        conditions.append(solving.all_of(one.loose.nan, fmt.is_nan(two.bits)))
        conditions.append(solving.all_of(one.loose.sign, fmt.is_zero(two.bits)))
    return solving.some(*conditions)


def _wrong(one: Scalar, two: Scalar, type_: ty.Type, settings: Settings) -> Condition:
    """Return the condition that an element of the second version is certainly wrong."""
    different = solving.all_of(solving.negation(one.loose.value), solving.negation(_allowed(one, two, type_, settings)))
    return solving.all_of(solving.negation(one.poison), solving.some(two.poison, different))


def _doubtful(one: Scalar, two: Scalar) -> Condition:
    """Return the condition that the language allows other values of an element, and that the two versions may choose
    differently.
    """
    free = solving.some(
        solving.all_of(one.loose.value, one.bits != two.bits),
        two.loose.value,
        solving.all_of(two.loose.nan, solving.negation(one.loose.nan)),
        solving.all_of(two.loose.sign, solving.negation(one.loose.sign)),
    )
    return solving.all_of(solving.negation(one.poison), free)


def _decided(question: _Question) -> Proof:
    if not question.pairs():
        return Proof(Decision.NOT_PROVABLE, "there is nothing to compare")
    found = _search(question.wrong(), question.deadline)
    if found is not None:
        return _confirmed(question, found)
    if _search(question.doubtful(), question.deadline) is not None:
        return Proof(Decision.NOT_PROVABLE, OPEN_RESULT)
    if _search([question.defined], question.deadline) is None:
        return Proof(Decision.NOT_PROVABLE, "the first version is undefined for every input")
    return Proof(Decision.PROVEN)


class _NoAnswer(Exception):
    """The solver did not decide a question."""


def _search(conditions: Sequence[Condition], deadline: Deadline) -> Mapping[str, int] | None:
    """Look for values of the variables for which one of the conditions is true.

    Return the values, None if there are none for any of the conditions. Raises _NoAnswer if the solver cannot decide
    it.
    """
    unknown = False
    for condition in conditions:
        answer, values = solving.satisfiable(condition, deadline)
        if answer is solving.Answer.YES:
            return values
        unknown |= answer is solving.Answer.UNKNOWN
    if unknown:
        raise _NoAnswer(f"the solver gave no answer within {deadline.seconds:g} s")
    return None


def _confirmed(question: _Question, found: Mapping[str, int]) -> Proof:
    """Run the arguments that the solver found. Raises SolverDisagrees."""
    values = question.arguments(found)
    report = question.run(values)
    if report.differing:
        return Proof(Decision.DIFFERENT, report=report)
    if report.known or report.permitted:
        kind = "known" if report.known else "permitted"
        return Proof(Decision.NOT_PROVABLE, f"there are {kind} differences", report)
    if report.verdicts[Verdict.APART]:
        return Proof(Decision.NOT_PROVABLE, OPEN_RESULT)
    raise SolverDisagrees(
        f"the solver found that @{question.function.symbol_name} differs for these arguments, and the run does not: "
        + ", ".join(map(str, values))
    )


# --- comparison -------------------------------------------------------------------------------------------------------
#
# Add a proof to a comparison by runs.

SECONDS = 5.0
"""The time for one function, unless the user gives another."""


def with_proof(
    found: ValidationReport,
    before: Module,
    after: Module,
    pair: Pair,
    inputs: Inputs,
    profile: Profile = SPEC,
    seconds: float = SECONDS,
    explain: Explain | None = None,
) -> ValidationReport:
    """Return the report of a comparison with the decision of the solver, if samples showed no difference.

    Every input that the solver finds is run. Raises InputError if z3 is not installed, SolverDisagrees if the run of
    such an input shows no difference.
    """
    first, second = pair
    decided = found.problem is not None or found.basis in (Basis.DIFFERENT, Basis.KNOWN, Basis.PERMITTED)
    every = found.exhaustive and not found.skipped
    if second is None or decided or every or inputs.given is not None or seconds <= 0:
        return found
    # Without vscale, scalable vectors have no terms: a proof for one vscale would not be one for the function.
    terms = Settings(profile, max_steps=inputs.max_steps)
    settings = replace(terms, vscale=inputs.vscale)
    ranges = _ranges(first, inputs)
    if ranges is None:
        return replace(
            found, solver=Decision.NOT_PROVABLE.value, unproven="the proof does not cover assumptions about floats"
        )

    def run(values: tuple[Value, ...]) -> ValidationReport:
        given = one_input(values, argument_types(first))
        return validate((before, first), (after, second), given, settings, explain, fp_contract=inputs.fp_contract)

    proof = prove((before, first), (after, second), terms, seconds, run, ranges)
    found = replace(found, solver=proof.decision.value, unproven=proof.reason)
    if proof.report is None:
        return found
    return replace(
        found,
        inputs=found.inputs + proof.report.inputs,
        differing=proof.report.differing,
        known=proof.report.known,
        permitted=proof.report.permitted,
        verdicts=found.verdicts + proof.report.verdicts,
        counterexamples=proof.report.counterexamples,
    )


def _ranges(function: Operation, inputs: Inputs) -> Ranges | None:
    """Return the ranges of the arguments about which something is assumed; None if one of them is a float."""
    types = argument_types(function)
    domains = assumed_domains(function, types, (*assumptions_of(function), *inputs.assumptions))
    if any(domain.size is None or isinstance(ty.element_type(types[k]), ty.FloatType) for k, domain in domains.items()):
        return None
    return {k: (domain.code(0), domain.size or 0) for k, domain in domains.items()}
