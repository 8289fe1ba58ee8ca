"""Random programs on floats of 8 bits: what the solver proves has no difference in a run of every input, and the other way
round.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from proofs import proof_and_run

from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.proving.proof import OPEN_RESULT, Decision, Proof
from halfulp.conformance.whole_programs.validation import ValidationReport

BINARY = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
FASTMATH = ("", "", "fastmath<nnan>", "fastmath<ninf>")
PREDICATES = ("oeq", "ogt", "oge", "olt", "one", "ord", "ueq", "ugt", "ult", "une", "uno")
ROUNDINGS = ("", "downward", "toward_zero")


FORMS = (
    *("%v@ = arith.{op} {one}, {two} {flags} : $",) * 4,
    "%v@ = arith.negf {one} {flags} : $",
    "%p@ = arith.cmpf {predicate}, {one}, {two} {flags} : $\n%v@ = arith.select %p@, {two}, {one} : $",
    "%w@ = arith.extf {one} : $ to f16\n%v@ = arith.truncf %w@ {rounding} : f16 to $",
    "%i@ = arith.bitcast {one} : $ to i8\n%v@ = arith.bitcast %i@ : i8 to $",
)
CHOICES = {"op": BINARY, "flags": FASTMATH, "predicate": PREDICATES, "rounding": ROUNDINGS}


@dataclass(frozen=True)
class Line:
    """An op, or two: its text with places for choices, and the choices."""

    form: str
    choices: dict[str, str]

    def changed(self, rng: random.Random) -> Line:
        """Exchange the operands, or make another choice."""
        if rng.random() < 0.5:
            return replace(self, choices=self.choices | {"one": self.choices["two"], "two": self.choices["one"]})
        name = rng.choice([name for name in CHOICES if f"{{{name}}}" in self.form] or ["op"])
        return replace(self, choices=self.choices | {name: rng.choice(CHOICES[name])})

    def text(self, number: int, type_: str) -> str:
        return self.form.format(**self.choices).replace("@", str(number)).replace("$", type_)


def lines_of(rng: random.Random) -> list[Line]:
    """Return random lines; the value of line k is %vk."""
    values = ["%a", "%b"]
    lines = []
    for number in range(rng.randrange(1, 5)):
        choices = {name: rng.choice(each) for name, each in CHOICES.items()}
        lines.append(
            Line(rng.choice(FORMS), choices | {"one": rng.choice(values[-3:]), "two": rng.choice(values[-3:])})
        )
        values.append(f"%v{number}")
    return lines


def text(lines: list[Line], type_: str) -> str:
    body = "\n".join(line.text(number, type_) for number, line in enumerate(lines))
    return f"func.func @f(%a: {type_}, %b: {type_}) -> {type_} {{\n{body}\nreturn %v{len(lines) - 1} : {type_}\n}}"


def agrees(proof: Proof, run: ValidationReport) -> bool:
    """Tell whether a decision fits a run of every input."""
    if proof.decision is Decision.PROVEN:
        # A run leaves a NaN of a NaN that is open undecided; for the solver it is any NaN in both versions.
        return not run.differing
    if proof.decision is Decision.NOT_PROVABLE:
        # The solver may have found an element that a run leaves undecided, where others differ.
        return proof.reason == OPEN_RESULT and (not run.differing or run.verdicts[Verdict.APART] > 0)
    return proof.decision is Decision.DIFFERENT and run.differing > 0


def decisions(seed: int, count: int) -> Counter[Decision]:
    found: Counter[Decision] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        type_ = rng.choice(("f8E4M3", "f8E3M4"))
        lines = lines_of(rng)
        before, place = text(lines, type_), rng.randrange(len(lines))
        lines[place] = lines[place].changed(rng)
        after = text(lines, type_)
        proof, run = proof_and_run(before, after)
        assert agrees(proof, run), f"{before}\n{after}\n{proof}\n{run}"
        found[proof.decision] += 1
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_solver_agrees_with_a_run_of_every_input(seed: int) -> None:
    found = decisions(seed, 15)
    assert found[Decision.PROVEN] > 1
    assert found[Decision.DIFFERENT] > 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4, 14))
def test_the_solver_agrees_with_a_run_of_every_input_of_many(seed: int) -> None:
    assert decisions(seed, 150)[Decision.PROVEN] > 10
