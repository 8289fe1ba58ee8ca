"""Add a proof to a comparison by runs."""

from __future__ import annotations

from dataclasses import replace

from halfulp.conformance.proving.proof import Decision, Ranges, prove
from halfulp.conformance.whole_programs.arguments import given
from halfulp.conformance.whole_programs.domains import assumed_domains, assumptions_of
from halfulp.conformance.whole_programs.validation import (
    Basis,
    Explain,
    Inputs,
    Pair,
    ValidationReport,
    validate,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import SPEC, Profile

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
    decided = found.problem is not None or found.basis in (Basis.DIFFERENT, Basis.KNOWN)
    every = found.exhaustive and not found.skipped
    if second is None or decided or every or inputs.given is not None or seconds <= 0:
        return found
    # Without vscale, scalable vectors have no terms: a proof for one vscale would not be one for the function.
    terms = Settings(profile, max_steps=inputs.max_steps)
    settings = replace(terms, vscale=inputs.vscale)
    ranges = _ranges(first, inputs)
    if ranges is None:
        return replace(
            found, solver=Decision.NOT_PROVABLE.value, unproven="there are no terms for assumptions about floats"
        )

    def run(values: tuple[Value, ...]) -> ValidationReport:
        return validate((before, first), (after, second), given(values, argument_types(first)), settings, explain)

    proof = prove((before, first), (after, second), terms, seconds, run, ranges)
    found = replace(found, solver=proof.decision.value, unproven=proof.reason)
    if proof.report is None:
        return found
    return replace(
        found,
        inputs=found.inputs + proof.report.inputs,
        differing=proof.report.differing,
        known=proof.report.known,
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
