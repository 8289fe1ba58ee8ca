"""Names of products lead to the chips that are known."""

from __future__ import annotations

import pytest

from halfulp.semantics.matrix_units.chips import CHIPS, PRODUCTS, model_hint


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("chip:h100", "chip:hopper"),
        ("chip:H200", "chip:hopper"),
        ("NVIDIA A100", "chip:ampere"),
        ("chip:MI300X", "chip:cdna3"),
        ("hopper", "chip:hopper"),
        ("chip:hoper", "chip:hopper"),
        ("exat", "exact"),
        ("chip:sm_90a", "chip:hopper"),
        ("chip:pascal", None),
        ("nonsense", None),
    ],
)
def test_the_hint(name: str, model: str | None) -> None:
    assert model_hint(name) == (None if model is None else f"did you mean `{model}`?")


def test_every_product_has_a_known_chip() -> None:
    assert set(PRODUCTS.values()) == set(CHIPS)
