"""The settings of a run: each field says what it means, and refuses what is not one of its choices."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from halfulp.interp.run.settings import Settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on_ub": "ignore"}, "on_ub is 'ignore', but must be 'raise' or 'poison'"),
        ({"index_width": 16}, "index_width is 16, but must be 64 or 32"),
        ({"swizzle": "never"}, "swizzle is 'never', but must be 'hint' or 'physical'"),
        ({"mma": "chip:z80"}, "mma: 'chip:z80' is none of exact, ieee, chip:"),
    ],
)
def test_a_value_that_is_not_a_choice_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**given)


def test_every_field_has_a_meaning_and_defaults_to_one_of_its_choices() -> None:
    for field in fields(Settings):
        assert field.metadata["meaning"]
        choices = field.metadata["choices"]
        assert not choices or field.default in choices


def test_only_what_compiled_code_depends_on_is_in_the_key() -> None:
    plain = Settings()
    assert Settings(externals={"f": abs}).key() == plain.key()
    others: list[dict[str, Any]] = [{"max_steps": 1}, {"index_width": 32}, {"casts": {(("i8",), ("i16",)): abs}}]
    assert all(Settings(**other).key() != plain.key() for other in others)
