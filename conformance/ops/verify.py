"""One case checked against oracles, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from halfulp.conformance.comparing.check import SHOWN, Tally, ask, compare, explaining_profiles
from halfulp.conformance.comparing.coverage import Coverage, covered
from halfulp.conformance.comparing.error_bounds import KnownRow
from halfulp.conformance.comparing.exact_reference import record_of, truth_of_op
from halfulp.conformance.comparing.inputs import CHUNK, EXHAUSTIVE_BITS, inputs_for, is_exhaustive
from halfulp.conformance.comparing.op_case import OpCase, container_shape, reference
from halfulp.conformance.comparing.refinement import Mismatch, ulps_away, worst
from halfulp.conformance.ops.report import mismatch_text
from halfulp.conformance.oracles.oracle import HoldingOracle, Oracle, OracleError
from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.semantics.profile import PROFILES, SPEC, Profile

MAX_BYTES = 1 << 29
"""Most bytes of the operands of one case, all inputs together (when all inputs are asked: of one chunk)."""


@dataclass
class Verification:
    """The answers of an oracle for a case. ``profiles``: those that explain all differences, if there are any.
    ``held``: the oracle has its own operands, and was asked for those.
    """

    case: OpCase
    oracle: str
    version: str
    exhaustive: bool
    tally: Tally
    profiles: list[str] = field(default_factory=list)
    held: bool = False
    coverage: Coverage = field(init=False)

    def __post_init__(self) -> None:
        self.coverage = Coverage.empty(self.case)

    @property
    def differs(self) -> bool:
        """Tell whether something is wrong that no row explains."""
        return bool(self.tally.unexplained)


def verify(
    case: OpCase,
    oracle: Oracle,
    count: int,
    seed: int = 0,
    rows: Sequence[KnownRow] = (),
    profile: Profile = SPEC,
    bits: int = EXHAUSTIVE_BITS,
) -> Verification:
    """Ask an oracle for every input if there are at most ``2**bits``, else for ``count`` of them. An oracle that has
    results for certain operands only is asked for those.

    Raises LimitExceeded where the operands would take too much memory.
    """
    held = isinstance(oracle, HoldingOracle) and oracle.inputs(case) is not None
    exhaustive = is_exhaustive(case, bits) and not held
    _check_size(case, CHUNK if exhaustive or held else count)
    verification = Verification(case, oracle.name, oracle.version, exhaustive, Tally(), held=held)
    applicable = [row for row in rows if row.applies(oracle.name, oracle.version, case)]
    explaining, chunks = set(PROFILES), 0
    tally = verification.tally
    for inputs in _inputs(oracle, case, count, seed, bits):
        chunks += 1
        try:
            answers = ask(oracle, case, inputs)
        except OracleError as error:
            tally.failures.append(str(error))
            break
        found = compare(case, inputs, reference(case, inputs, profile), answers, applicable)
        tally.add(found)
        verification.coverage |= covered(case, inputs, exhaustive, found.answered)
        if found.unexplained or found.known:
            explaining &= explaining_profiles(case, inputs, answers, explaining)
    if tally.failures or not (tally.unexplained or tally.known):
        explaining = set()
    elif chunks > 1:  # a chunk without differences may still disagree with a profile
        for inputs in _inputs(oracle, case, count, seed, bits) if explaining else ():
            explaining &= explaining_profiles(case, inputs, ask(oracle, case, inputs), explaining)
    verification.profiles = sorted(explaining)
    tally.mismatches = _first_and_worst(tally.mismatches)
    return verification


def _inputs(oracle: Oracle, case: OpCase, count: int, seed: int, bits: int) -> Iterator[tuple[Codes, ...]]:
    """Return the operands to ask: those that the oracle has results for, else those of the plan."""
    held = oracle.inputs(case) if isinstance(oracle, HoldingOracle) else None
    return inputs_for(case, count, seed, bits) if held is None else held


def _check_size(case: OpCase, count: int) -> None:
    shape = container_shape((*case.operand_types, *case.result_types), count)
    size = prod(shape) * sum(-(-width // 8) for width in case.operand_widths)
    if size > MAX_BYTES:
        raise LimitExceeded(
            f"the operands of {case} would take {size:,} bytes", op=case.op, hint="ask for fewer inputs with -n"
        )


def _first_and_worst(found: list[tuple[OpCase, Mismatch]]) -> list[tuple[OpCase, Mismatch]]:
    extreme = worst([mismatch for _, mismatch in found])
    first = found[:SHOWN]
    shown = extreme is None or any(mismatch is extreme for _, mismatch in first)
    return first if shown else [*first[:-1], *(row for row in found if row[1] is extreme)]


def text(verification: Verification) -> list[str]:
    """Return the verification as lines for a terminal."""
    tally, case = verification.tally, verification.case
    how = "every input" if verification.exhaustive else "corners and random inputs"
    how = "the operands it holds" if verification.held else how
    lines = [f"{case} against {verification.oracle} {verification.version}, {how}:"]
    lines += [f"  the oracle failed: {failure}" for failure in tally.failures]
    counts = [("compared", tally.compared), ("equal", tally.equal), ("open by the language", tally.open),
              ("open by fast-math flags, different", tally.apart), ("known divergences", tally.known.total()),
              ("UNEXPLAINED", tally.unexplained), ("unanswered", tally.unanswered),
              ("values for undefined behaviour", tally.undefined)]  # fmt: skip
    always = ("compared", "equal", "UNEXPLAINED")
    lines += [f"  {number:>12,} {name}" for name, number in counts if number or name in always]
    lines += [f"  known: {name}: {number:,}" for name, number in tally.known.most_common()]
    lines += [f"  no longer so: {name}: {number:,} that the row predicts wrong are right"
              for name, number in tally.reformed.most_common() if name not in tally.known]  # fmt: skip
    lines += [f"  unanswered: {why}: {number:,}" for why, number in tally.refusals.most_common(5)]
    lines += [f"  {mismatch_text(case, mismatch).removeprefix(f'{case}: ')}" for _, mismatch in tally.mismatches]
    if verification.profiles:
        lines.append(f"  all of it is what these profiles give: {', '.join(verification.profiles)}")
    return lines


def as_json(verification: Verification) -> dict[str, Any]:
    """Return the verification as JSON-ready data; codes are hexadecimal strings."""
    tally, case = verification.tally, verification.case
    return {
        "op": case.op,
        "operands": list(case.operands),
        "results": list(case.results),
        "properties": dict(case.properties),
        "oracle": verification.oracle,
        "version": verification.version,
        "exhaustive": verification.exhaustive,
        "compared": tally.compared,
        "equal": tally.equal,
        "open": tally.open,
        "apart": tally.apart,
        "unanswered": dict(tally.refusals),
        "known": dict(tally.known),
        "unexplained": tally.unexplained,
        "undefined_with_value": tally.undefined,
        "failures": tally.failures,
        "profiles": verification.profiles,
        "coverage": {
            "combinations": len(verification.coverage.combinations),
            "possible": verification.coverage.possible,
            "outcomes": {name: count for name, count in verification.coverage.outcomes.items() if count},
        },
        "mismatches": [
            {
                "operands": [hex(code) for code in mismatch.operands],
                "result": mismatch.result,
                "expected": hex(mismatch.expected),
                "actual": None if mismatch.actual is None else hex(mismatch.actual),
                "status": mismatch.status.name.lower(),
                "ulps": ulps_away(case.result_types[mismatch.result], mismatch),
                "truth": record_of(truth_of_op(case, mismatch)),
            }
            for _, mismatch in tally.mismatches
        ],
    }  # fmt: skip
