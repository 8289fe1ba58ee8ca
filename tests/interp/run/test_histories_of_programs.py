"""The history of a number in balls: it encloses the exact number in all formats, f80 and f128 as well."""

from __future__ import annotations

import numpy as np
import pytest
from shadow_programs import BITS, FORMATS, WIDE_FORMATS, number_of, random_program

import halfulp as hu
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.ir import types as ty
from halfulp.interp.run.attribution import Attribution
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.running import find_entry

PLACES = 2
"""The elements of a result that are looked at: each one's history is a run of its own."""


def outside(seed: int, formats: dict[str, int]) -> tuple[list[str], int]:
    """Run a program; return which histories do not enclose the exact number, and how many know it."""
    program, lineage = random_program(seed, 12, seed % 2 == 0, formats), Lineage()
    module = hu.parse(program.text)
    run = program_for(module, Settings(recorder=lineage))
    results = run.run(find_entry(module, None), program.arguments)
    wrong, known = [], 0
    for step, value, exact in zip(program.steps, results, program.exact(results), strict=True):
        codes, ids = codes_to_ints(value.bits, ty.width_of(value.element_type)), value.open
        assert ids is not None
        for number, place in enumerate(list(np.ndindex(program.shape))[:PLACES]):
            if value.poisoned[place]:
                continue
            end = Attribution(lineage, int(ids[place]), value.element_type, codes[number]).end
            if end is None or not end.exact.is_finite():
                continue
            known += 1
            with bits_of_precision(BITS):
                if not exact[place].is_finite() or not end.exact.overlaps(exact[place]):
                    wrong.append(
                        f"{step} {place}: {number_of(value)[place]} {end.exact.str(20)} {exact[place].str(20)}"
                    )
    return wrong, known


@pytest.mark.long
@pytest.mark.parametrize("formats", [WIDE_FORMATS, FORMATS], ids=["wide", "all"])
def test_histories(formats: dict[str, int]) -> None:
    known = 0
    for seed in range(60):
        wrong, count = outside(seed, formats)
        assert not wrong, (seed, wrong[:3])
        known += count
    assert known > 300


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1_000, 11_000, 1_000))
def test_many_histories(first: int) -> None:
    for seed in range(first, first + 1_000):
        wrong, _ = outside(seed, WIDE_FORMATS if seed % 3 else FORMATS)
        assert not wrong, (seed, wrong[:3])
