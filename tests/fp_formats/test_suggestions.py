"""Hints name what is near, and nothing else."""

from __future__ import annotations

import time

import pytest

from halfulp.fp_formats.aliases import asking, did_you_mean, nearest

WORDS = ("addf", "addi", "row", "column", "return", "value", "dialect_resources", "maxui", "MFMA_F32_16x16x16_F16")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("colum", "column"),  # one is missing
        ("columnn", "column"),  # one too many
        ("rwo", "row"),  # two are swapped
        ("colunm", "column"),
        ("retun", "return"),
        ("valeu", "value"),
        ("dialect_ressource", "dialect_resources"),
        ("MFMA_F32_16x16x16_F1", "MFMA_F32_16x16x16_F16"),
        ("maxf", None),  # two edits of four letters
        ("sqrt", None),
        ("h100", None),
        ("", None),
        ("row", None),  # known: it is not what is wrong
        ("x" * 1000, None),
    ],
)
def test_the_nearest_name(name: str, near: str | None) -> None:
    assert nearest(name, WORDS) == (() if near is None else (near,))
    assert did_you_mean(name, WORDS) == (None if near is None else f"did you mean `{near}`?")


def test_names_that_are_as_near_are_all_named() -> None:
    assert nearest("add", WORDS) == ("addf", "addi")
    assert did_you_mean("add", WORDS) == "did you mean `addf` or `addi`?"
    assert len(nearest("aaa", [f"aa{letter}" for letter in "bcdefg"])) == 3
    assert asking(()) is None


def test_another_family_is_not_near() -> None:
    assert nearest("addif", ("addi", "addf"), lambda name: name[-1]) == ("addf",)
    assert nearest("adi", ("addf",), lambda name: name[-1]) == ()


def test_an_error_does_not_cost_more_than_the_file() -> None:
    known = [f"{'ab' * 28}{number:04}" for number in range(100_000)]
    start = time.process_time()
    nearest("ab" * 30, known)
    assert time.process_time() - start < 5
