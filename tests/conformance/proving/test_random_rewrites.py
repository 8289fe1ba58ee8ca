"""Random programs and random changes of them: the solver decides as a run of every input does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from amounts import amounts
from term_values import proof_and_run

from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.proving.proof import OPEN_RESULT, Decision, Proof
from halfulp.conformance.whole_programs.validation import ValidationReport

pytestmark = pytest.mark.z3

FLAGS = ("", "overflow<nsw>", "overflow<nuw>", "overflow<nsw, nuw>")
OPS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("addi", "subi", "muli", "shli"), FLAGS),
    **dict.fromkeys(("divsi", "divui", "shrsi", "shrui"), ("", "exact")),
    **dict.fromkeys(("remsi", "remui", "ceildivsi", "ceildivui", "floordivsi", "andi", "ori", "xori"), ("",)),
    **dict.fromkeys(("maxsi", "maxui", "minsi", "minui"), ("",)),
}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
WIDTH = 4


class Program:
    """A random function of three i4: lines with choices in them, each of which a change may replace."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[list[str]] = []
        self.values = ["%a", "%b", "%c"]
        for _ in range(rng.randrange(2, 7)):
            rng.choice((self._binary, self._binary, self._select, self._if, self._branch, self._constant))()

    def _name(self) -> str:
        return f"%v{len(self.lines)}"

    def _value(self) -> str:
        return self.rng.choice(self.values[-4:])

    def _op(self) -> str:
        name = self.rng.choice(list(OPS))
        return f"arith.{name} {self._value()}, {self._value()} {self.rng.choice(OPS[name])} : i4"

    def _keep(self, *parts: str) -> None:
        name = self._name()
        self.lines.append([part.replace("@", name) for part in parts])
        self.values.append(name)

    def _binary(self) -> None:
        self._keep("@ = ", self._op())

    def _constant(self) -> None:
        self._keep("@ = arith.constant ", str(self.rng.randrange(-8, 8)), " : i4")

    def _condition(self) -> str:
        return f"arith.cmpi {self.rng.choice(PREDICATES)}, {self._value()}, {self._value()} : i4"

    def _select(self) -> None:
        condition, select = self._condition(), f"\n@ = arith.select @p, {self._value()}, "
        self._keep("@p = ", condition, select, self.rng.choice(self.values), " : i4")

    def _if(self) -> None:
        self._keep(
            *("@p = ", self._condition(), "\n@ = scf.if @p -> (i4) {\n@x = ", self._op()),
            *("\nscf.yield @x : i4\n} else {\n@y = ", self._op(), "\nscf.yield @y : i4\n}"),
        )

    def _branch(self) -> None:
        label = f"^l{len(self.lines)}"
        condition = self._condition()
        branch = f"\ncf.cond_br @p, {label}x, {label}e({self._value()} : i4)\n{label}x:\n@x = "
        self._keep("@p = ", condition, branch, self._op(), f"\ncf.br {label}e(@x : i4)\n{label}e(@: i4):")

    def text(self) -> str:
        body = "\n".join("".join(parts) for parts in self.lines)
        result = self.values[-1]
        return f"func.func @f(%a: i4, %b: i4, %c: i4) -> i4 {{\n{body}\nreturn {result} : i4\n}}"

    def change(self) -> None:
        """Replace one op, condition, constant or operand by another that may be there."""
        line = self.rng.choice(self.lines)
        own = line[0].partition(" ")[0].rstrip("p").partition("\n")[0]
        known = self.values
        self.values = self.values[: self.values.index(own)] or known
        for k, part in enumerate(line):
            if part.startswith("arith.cmpi"):
                line[k] = self._condition() if self.rng.random() < 0.5 else part
            elif part.startswith("arith.") and part.endswith("i4"):
                line[k] = self._op() if self.rng.random() < 0.5 else _without_flags(part)
            elif part.lstrip("-").isdecimal():
                line[k] = str(self.rng.randrange(-8, 8))
        self.values = known


def _without_flags(op: str) -> str:
    for flags in ("overflow<nsw, nuw>", "overflow<nsw>", "overflow<nuw>", "exact"):
        op = op.replace(flags, "")
    return op


def integers(rng: random.Random) -> tuple[str, str]:
    program = Program(rng)
    before = program.text()
    program.change()
    return before, program.text()


def decides(proof: Proof, run: ValidationReport) -> bool:
    """Tell whether a decision on integers is that of a run of every input."""
    if run.undefined == run.inputs:
        return proof.decision is Decision.NOT_PROVABLE
    return proof.decision is (Decision.DIFFERENT if run.differing else Decision.PROVEN)


# --- random float rewrites --------------------------------------------------------------------------------------------
#
# Random programs on floats of 8 bits: what the solver proves has no difference in a run of every input, and the other
# way round.

BINARY = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
FASTMATH = ("", "", "fastmath<nnan>", "fastmath<ninf>")
RANDOM_FLOAT_REWRITES_PREDICATES = ("oeq", "ogt", "oge", "olt", "one", "ord", "ueq", "ugt", "ult", "une", "uno")
ROUNDINGS = ("", "downward", "toward_zero")


FORMS = (
    *("%v@ = arith.{op} {one}, {two} {flags} : $",) * 4,
    "%v@ = arith.negf {one} {flags} : $",
    "%p@ = arith.cmpf {predicate}, {one}, {two} {flags} : $\n%v@ = arith.select %p@, {two}, {one} : $",
    "%w@ = arith.extf {one} : $ to f16\n%v@ = arith.truncf %w@ {rounding} : f16 to $",
    "%i@ = arith.bitcast {one} : $ to i8\n%v@ = arith.bitcast %i@ : i8 to $",
)
CHOICES = {"op": BINARY, "flags": FASTMATH, "predicate": RANDOM_FLOAT_REWRITES_PREDICATES, "rounding": ROUNDINGS}


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


def floats(rng: random.Random) -> tuple[str, str]:
    type_ = rng.choice(("f8E4M3", "f8E3M4"))
    lines = lines_of(rng)
    before, place = text(lines, type_), rng.randrange(len(lines))
    lines[place] = lines[place].changed(rng)
    return before, text(lines, type_)


# --- the tests --------------------------------------------------------------------------------------------------------


def check(
    rewrite: Callable[[random.Random], tuple[str, str]],
    fits: Callable[[Proof, ValidationReport], bool],
    seeds: range,
    count: int,
) -> Iterator[Counter[Decision]]:
    """Compare the solver with runs of every input, for ``count`` rewrites of each seed; yield how often each decision
    was made.
    """
    for seed in seeds:
        found: Counter[Decision] = Counter()
        for number in range(count):
            before, after = rewrite(random.Random(f"{seed} {number}"))
            proof, run = proof_and_run(before, after)
            assert fits(proof, run), f"{before}\n{after}\n{proof}\n{run}"
            found[proof.decision] += 1
        yield found


@pytest.mark.parametrize("sample", amounts((range(1), 60), (range(2, 25), 500), long=(range(1, 2), 60)))
def test_the_solver_decides_as_a_run_of_every_input(sample: tuple[range, int]) -> None:
    """``sample``: the seeds, and the number of programs of each."""
    for found in check(integers, decides, *sample):
        assert found[Decision.PROVEN] > sample[1] // 10
        assert found[Decision.DIFFERENT] > 5


@pytest.mark.parametrize("sample", amounts((range(1), 15), (range(2, 14), 150), long=(range(1, 2), 15)))
def test_the_solver_agrees_with_a_run_of_every_input(sample: tuple[range, int]) -> None:
    for found in check(floats, agrees, *sample):
        assert found[Decision.PROVEN] > sample[1] // 15
        assert found[Decision.DIFFERENT] > 1
