"""Lines of a module with every op, each with one word replaced: accepted and rejected as by StableHLO, in its words."""

import json

import pytest
from corpora.fuzz_text import stablehlo_texts
from stablehlo_reference import Reference
from tree import ROOT

import halfulp as hu
from halfulp.interp.ir.errors import HalfulpError

# The function, the line, the column, the word, what replaces it, and the answer of jaxlib 0.10.2 (None: accepted).
ROWS = json.loads((ROOT / "tests" / "data" / "stablehlo" / "damaged.json").read_text(encoding="utf-8"))
# MLIR names all properties of the op where an array has elements of another type; and it checks the version of the
# interface of a call while it reads the op.
OTHER_WORDS = ("invalid properties {", "custom op 'stablehlo.custom_call' 'stablehlo.custom_call' op ")


def damaged(number: int, line: int, column: int, word: str, other: str) -> str:
    lines = stablehlo_texts()[1:][number].split("\n")
    assert lines[line][column : column + len(word)] == word
    lines[line] = lines[line][:column] + other + lines[line][column + len(word) :]
    return "\n".join(lines)


def answer(text: str) -> str | None:
    """Return the first line of halfulp's error; None if there is none."""
    try:
        hu.parse(text)
    except HalfulpError as error:
        return error.message.split("\n")[0]
    return None


@pytest.mark.long
def test_each_is_accepted_or_rejected_in_the_same_words() -> None:
    found = [(row, answer(damaged(*row[:5]))) for row in ROWS]
    other = [(row, said) for row, said in found if said != row[5]]
    assert len(ROWS) > 400
    assert all(said and (row[5] or "").startswith(OTHER_WORDS) for row, said in other), other
    assert len(other) == 4


@pytest.mark.jax
def test_stablehlo_answers_so() -> None:
    reference = Reference()
    wrong = [row for row in ROWS[::7] if reference.error(damaged(*row[:5])) != row[5]]
    reference.close()
    assert not wrong
