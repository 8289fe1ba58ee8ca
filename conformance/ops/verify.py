"""One task checked against oracles, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from halfulp.conformance.comparing.check import SHOWN, Tally, ask, compare, explaining_profiles
from halfulp.conformance.comparing.compare import Mismatch, worst
from halfulp.conformance.comparing.coverage import Coverage, covered
from halfulp.conformance.comparing.divergences import Divergence
from halfulp.conformance.comparing.inputs import CHUNK, EXHAUSTIVE_BITS, inputs_for, is_exhaustive
from halfulp.conformance.comparing.op_case import Task, container_shape, reference
from halfulp.conformance.ops.report import mismatch_text
from halfulp.conformance.oracles.oracle import HoldingOracle, Oracle, OracleError
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.semantics.kernel import Codes
from halfulp.semantics.profile import PROFILES, SPEC, Profile

MAX_BYTES = 1 << 29
"""Operands of one task, all inputs together (of an enumeration: of one chunk)."""


@dataclass
class Verification:
    """What an oracle says of a task. ``profiles``: those that explain all differences, where there are any. ``held``:
    it was asked for the operands that it holds results of.
    """

    task: Task
    oracle: str
    version: str
    exhaustive: bool
    tally: Tally
    profiles: list[str] = field(default_factory=list)
    held: bool = False
    coverage: Coverage = field(init=False)

    def __post_init__(self) -> None:
        self.coverage = Coverage.empty(self.task)

    @property
    def differs(self) -> bool:
        """Whether something is wrong that no row explains."""
        return bool(self.tally.unexplained)


def verify(
    task: Task,
    oracle: Oracle,
    count: int,
    seed: int = 0,
    rows: Sequence[Divergence] = (),
    profile: Profile = SPEC,
    bits: int = EXHAUSTIVE_BITS,
) -> Verification:
    """Ask an oracle for every input, where they are at most ``2**bits``, else for ``count`` of them; one that has
    results for certain operands only, for those.

    Raises LimitExceeded where the operands would take too much memory.
    """
    held = isinstance(oracle, HoldingOracle) and oracle.inputs(task) is not None
    exhaustive = is_exhaustive(task, bits) and not held
    _check_size(task, CHUNK if exhaustive or held else count)
    verification = Verification(task, oracle.name, oracle.version, exhaustive, Tally(), held=held)
    applicable = [row for row in rows if row.applies(oracle.name, oracle.version, task)]
    explaining, chunks = set(PROFILES), 0
    tally = verification.tally
    for inputs in _inputs(oracle, task, count, seed, bits):
        chunks += 1
        try:
            answers = ask(oracle, task, inputs)
        except OracleError as error:
            tally.failures.append(str(error))
            break
        found = compare(task, inputs, reference(task, inputs, profile), answers, applicable)
        tally.add(found)
        verification.coverage |= covered(task, inputs, exhaustive, found.answered)
        if found.unexplained or found.known:
            explaining &= explaining_profiles(task, inputs, answers, explaining)
    if tally.failures or not (tally.unexplained or tally.known):
        explaining = set()
    elif chunks > 1:  # a chunk without differences may still be none of what a profile gives
        for inputs in _inputs(oracle, task, count, seed, bits) if explaining else ():
            explaining &= explaining_profiles(task, inputs, ask(oracle, task, inputs), explaining)
    verification.profiles = sorted(explaining)
    tally.mismatches = _first_and_worst(tally.mismatches)
    return verification


def _inputs(oracle: Oracle, task: Task, count: int, seed: int, bits: int) -> Iterator[tuple[Codes, ...]]:
    """What to ask: the operands that the oracle holds results for, else those of the plan."""
    held = oracle.inputs(task) if isinstance(oracle, HoldingOracle) else None
    return inputs_for(task, count, seed, bits) if held is None else held


def _check_size(task: Task, count: int) -> None:
    shape = container_shape((*task.operand_types, *task.result_types), count)
    size = prod(shape) * sum(-(-width // 8) for width in task.operand_widths)
    if size > MAX_BYTES:
        raise LimitExceeded(
            f"the operands of {task} would take {size:,} bytes", op=task.op, hint="ask for fewer inputs with -n"
        )


def _first_and_worst(found: list[tuple[Task, Mismatch]]) -> list[tuple[Task, Mismatch]]:
    extreme = worst([mismatch for _, mismatch in found])
    first = found[:SHOWN]
    shown = extreme is None or any(mismatch is extreme for _, mismatch in first)
    return first if shown else [*first[:-1], *(row for row in found if row[1] is extreme)]


def text(verification: Verification) -> list[str]:
    """The verification in lines for a terminal."""
    tally, task = verification.tally, verification.task
    how = "every input" if verification.exhaustive else "corners and random inputs"
    how = "the operands it holds" if verification.held else how
    lines = [f"{task} against {verification.oracle} {verification.version}, {how}:"]
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
    lines += [f"  {mismatch_text(task, mismatch).removeprefix(f'{task}: ')}" for _, mismatch in tally.mismatches]
    if verification.profiles:
        lines.append(f"  all of it is what these profiles give: {', '.join(verification.profiles)}")
    return lines


def as_json(verification: Verification) -> dict[str, Any]:
    """The verification as JSON-ready data; codes are hexadecimal strings."""
    tally, task = verification.tally, verification.task
    return {
        "op": task.op,
        "operands": list(task.operands),
        "results": list(task.results),
        "properties": dict(task.properties),
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
                "ulps": mismatch.ulps,
            }
            for _, mismatch in tally.mismatches
        ],
    }  # fmt: skip
