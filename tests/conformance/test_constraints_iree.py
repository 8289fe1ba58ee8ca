"""Verdicts on constraints under the model ``iree`` against IREE 3.13: its diagnostics, text and place."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from halfulp.conformance.constraints_iree import Diagnostic, ask, program, recorded
from halfulp.constraints import constraints
from halfulp.interp.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.locations import Location, file_position
from halfulp.interp.text.parser import parse_module

VIOLATED = "pipeline constraints violated"
UNHANDLED = "unsupported op in constraint evaluator"
MISSING = (
    "failed to extract SMT knob values from the selected lowering configuration; constraints template does not match "
    "the materialized configuration"
)
SAID = {Unsupported: UNHANDLED, InputError: MISSING}


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """What our verdicts are in the words of IREE, which stops at the first op that has a violation."""

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


def test_diagnostics_are_those_that_are_recorded() -> None:
    for text, said in recorded():
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
    """-2^63 / -1 is no int64, and processors trap: iree-opt is killed."""
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


@pytest.mark.exhaustive
def test_many_more_modules(iree_opt: str) -> None:
    random = Random(10)
    for _ in range(10_000):
        text = program(random)
        said = ask(iree_opt, text)
        if said is not None:
            assert diagnostics(text) == said, text
