"""Verdicts on constraints under the model ``iree`` against IREE 3.13: its diagnostics, text and place."""

import re
import subprocess
from collections import Counter
from random import Random

import pytest
from amounts import amounts
from corpora.constraints_iree import Diagnostic, ask, program, recorded

from halfulp.codegen.constraints import constraints
from halfulp.interp.dialects.iree_codegen.verdicts import EVALUATORS
from halfulp.interp.ir.attributes import StringAttr
from halfulp.interp.ir.base import Location, file_position
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.operations import SSAValue
from halfulp.interp.loading import parse_module
from halfulp.semantics.smt import MODELS, Term, Unknown

VIOLATED = "pipeline constraints violated"
UNHANDLED = "unsupported op in constraint evaluator"
MISSING = (
    "failed to extract SMT knob values from the selected lowering configuration; constraints template does not match "
    "the materialized configuration"
)
SAID = {Unsupported: UNHANDLED, InputError: MISSING}


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """Return our verdicts as IREE's diagnostics; IREE stops at the first op with a violation."""

    def at(location: Location | None, message: str) -> Diagnostic:
        assert location is not None
        place = file_position(location)
        assert place is not None
        return place.line, place.column, message

    try:
        (found,) = constraints(parse_module(text, "<stdin>"), model="iree")
    except HalfulpError as error:
        return (at(error.location, SAID[type(error)]),)
    failing = [at(verdict.location, verdict.text) for verdict in found.verdicts if verdict.verdict == "FAILS"]
    return (at(found.location, VIOLATED), *failing) if failing else ()


@pytest.mark.long
@pytest.mark.parametrize("step", amounts(5, long=1))
def test_diagnostics_are_those_that_are_recorded(step: int) -> None:
    for text, said in list(recorded())[::step]:
        assert diagnostics(text) == said, text


def test_the_record_has_all_kinds_of_outcomes() -> None:
    kinds = Counter(said[0][2] if said else "none" for _, said in recorded())
    assert kinds.keys() == {"none", VIOLATED, UNHANDLED, MISSING}
    assert all(count >= 8 for count in kinds.values())
    assert kinds[VIOLATED] > 100
    notes = [note[2] for _, said in recorded() for note in said[1:]]
    assert sum(note.endswith("=?") for note in notes) > 50
    assert sum(note.startswith("%t") for note in notes) > 1000


def test_iree_opt_still_says_so(iree_opt: str) -> None:
    for text, said in recorded()[::10]:
        assert ask(iree_opt, text) == said


def test_what_stops_iree_opt_has_no_value(iree_opt: str) -> None:
    """-2^63 / -1 does not fit an int64, and processors trap: iree-opt is killed."""
    form = program(Random(0)).partition("iree_codegen.smt.constraints")[0].replace("VectorDistribute", "TileAndFuse")
    for op in ("div", "mod"):
        text = (
            f"{form}iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<TileAndFuse>, "
            "knobs = {} dims() {\n^bb0:\n%a = smt.int.constant -9223372036854775808\n%b = smt.int.constant -1\n"
            f"%c = smt.int.{op} %a, %b\n%d = smt.eq %c, %a : !smt.int\n"
            'iree_codegen.smt.assert %d, "" : !smt.bool\n}\nreturn\n}\n'
        )
        assert ask(iree_opt, text) is None
        assert ask(iree_opt, text.replace("%b = smt.int.constant -1", "%b = smt.int.constant -2")) is not None
        ((verdict,),) = (found.verdicts for found in constraints(parse_module(text), model="iree"))
        assert verdict.because == (f"-9223372036854775808 {op} -1 overflows",)


CONVERT = "builtin.module(func.func(iree_codegen.smt.constraints(iree-codegen-convert-constraints-to-smt)))"


def converted(tool: str, text: str, dims: list[int], knobs: dict[str, int]) -> list[Term]:
    """Return the values of the asserts that IREE makes for a solver, for these numbers, which it declares as functions
    by name.
    """
    command = [tool, f"--pass-pipeline={CONVERT}", "--mlir-print-op-generic"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    (solver,) = (op for op in parse_module(done.stdout).walk() if op.name == "smt.solver")
    given = {f"problem_dim_{index}": dim for index, dim in enumerate(dims)} | knobs
    terms: dict[SSAValue, Term] = {}
    asserted = []
    for op in solver.regions[0].blocks[0].operations:
        operands = [terms[value] for value in op.operands]
        if op.name == "smt.assert":
            asserted += operands
        elif op.results:
            name = op.properties.get("namePrefix")
            declared = given.get(name.value) if isinstance(name, StringAttr) else None
            found = EVALUATORS[op.name](op, operands, {}, MODELS["smt"]) if declared is None else declared
            terms[op.results[0]] = found
    return asserted


def test_the_model_of_solvers_is_what_iree_gives_to_solvers(iree_opt: str) -> None:
    random, truths = Random(4), set()
    words = {True: "holds", False: "FAILS"}
    for number, (text, _) in enumerate(recorded()):
        if "smt.lookup" not in text or "arith.constant 1 : i32" in text:
            continue
        dims = [random.choice((0, 2, 3, -7, 64)) for _ in re.findall(r"%d\d: !smt.int", text)]
        knobs = {name: random.choice((0, 1)) for name in sorted(set(re.findall(r'smt.knob "(\w+)"', text)))}
        (found,), (other,) = (
            constraints(parse_module(text), model=model, dims=dims, knobs=knobs) for model in ("solver", "smt")
        )
        pairs = {(a.verdict, b.verdict) for a, b in zip(found.verdicts, other.verdicts, strict=True)}
        if number % 10 and pairs <= {(word, word) for word in ("holds", "FAILS", "unknown")}:
            continue
        truths |= pairs
        assert [verdict.verdict for verdict in found.verdicts] == [
            "unknown" if isinstance(term, Unknown) else words[bool(term)]
            for term in converted(iree_opt, text, dims, knobs)
        ], text
    # What a lookup without the key leaves unknown, the last value decides.
    assert {("holds", "unknown"), ("FAILS", "unknown")} < truths


@pytest.mark.exhaustive
def test_many_more_modules(iree_opt: str) -> None:
    random = Random(10)
    for _ in range(10_000):
        text = program(random)
        said = ask(iree_opt, text)
        if said is not None:
            assert diagnostics(text) == said, text
