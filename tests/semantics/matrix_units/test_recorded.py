"""Every recorded tile of the published model of matrix units, 0 differences: see tests/data/mma_recorded.md."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from present import present
from tables import each_row
from tree import ROOT

from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units import models
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.chips import CHIPS, PRODUCTS, as_model, model_hint
from halfulp.semantics.matrix_units.kinds import KINDS, TileOp, operation_of

FILE = ROOT / "tests" / "data" / "mma_recorded.npz"
ARCHITECTURES = {"AdaLovelace": "ada", "RTXBlackwell": "rtx-blackwell"}
UNITS = {"mma_block_scale": "mma", "tcgen05mma": "tcgen05", "tcgen05mma_block_scale": "tcgen05"}


@cache
def recorded() -> tuple[Any, dict[str, Any]]:
    arrays = np.load(FILE)
    return arrays, json.loads(arrays["index"].tobytes())["configs"]


NAMES = tuple(recorded()[1])


def operation(name: str) -> tuple[str, TileOp]:
    """Return the model and the operation of a configuration."""
    entry, types = recorded()[1][name], recorded()[1][name]["types"]
    architecture, unit, _ = name.split(".", 2)
    m, n, k = entry["instruction_shape"]
    chip = ARCHITECTURES.get(architecture, architecture.lower())
    # Of AMD's 16x16 shapes those with less than 1 KiB (bf16 of CDNA1: half of it) of A are of four blocks.
    single = {"f64": 4, "f32": 4, "tf32": 8, "f16": 16, "bf16": 16}.get(types["A"], 32)
    if types["A"] == "bf16" and chip != "cdna3" and not name.endswith("1k"):
        single = 8
    blocks = 4 if unit == "mfma" and m == 16 and k < single else 1
    return f"chip:{chip}", TileOp(
        name, types["A"], types["B"], types["C"], types["D"], (m, n, k), blocks, UNITS.get(unit, unit),
        types.get("scale", ""), entry.get("scale_block") or 0,
    )  # fmt: skip


def operands(name: str) -> list[Any]:
    arrays, configs = recorded()
    scaled = "scale" in configs[name]["types"]
    found = [arrays[f"{name}/{key}"] for key in ("A", "B", "C", *(("scale_A", "scale_B") if scaled else ()))]
    if configs[name]["types"]["A"] == "tf32":
        found[:2] = [registers >> np.uint32(13) for registers in found[:2]]
    return found


def differences(name: str, results: Any) -> int:
    arrays, _ = recorded()
    _, op = operation(name)
    wanted = arrays[f"{name}/D"]
    assert results.dtype == wanted.dtype
    assert results.shape == wanted.shape
    wrong = results != wanted
    if op.d == "f64":
        wrong &= ~(comparisons.is_nan(FORMATS["f64"], results) & comparisons.is_nan(FORMATS["f64"], wanted))
    return int(wrong.sum())


def test_recording_is_whole() -> None:
    arrays, configs = recorded()
    assert len(configs) == 171
    assert sum(arrays[f"{name}/D"].size for name in configs) == 131_328
    assert {operation(name)[0].removeprefix("chip:") for name in configs} == set(CHIPS)
    for name, entry in configs.items():
        rule = models.rule_of(*operation(name))
        size = operation(name)[1].shape[2]
        assert rule is not None
        groups = [1] * size if rule.chain else [rule.group or size] * (size // min(rule.group or size, size))
        assert [min(group, size) for group in groups] == entry["k_groups"], name
        if "fraction_bits" in entry["model"]:
            assert rule.bits == entry["model"]["fraction_bits"], name


@each_row(*NAMES)
def test_recorded_tiles(name: str) -> None:
    model, op = operation(name)
    assert differences(name, models.multiply_accumulate(model, op, *operands(name))) == 0


@each_row(*NAMES)
def test_recorded_tiles_by_an_accumulator_of_ones_own(name: str) -> None:
    """The rule of each chip, written down as a custom accumulator, gives the chip's tiles."""
    model, op = operation(name)
    rule = present(models.rule_of(model, op))
    assert rule.text.startswith("custom:")
    assert Accumulator.from_text(rule.text) == rule
    assert differences(name, models.multiply_accumulate(rule.text, op, *operands(name))) == 0


MUTATIONS = (
    ("Volta.mma.m8n8k4.f32.f16.f16.f32", {"bits": 24}),
    ("Ampere.mma.m16n8k16.f32.f16.f16.f32", {"group": 16}),
    ("Hopper.mma.m16n8k16.f32.bf16.bf16.f32", {"bits": 24}),
    ("Hopper.wgmma.m64n8k32.f32.e4m3.e4m3", {"fraction": 23}),
    ("RTXBlackwell.mma_block_scale.m16n8k64.block16.f32.e2m1.e2m1.f32.ue8m0", {"bits": 34}),
    ("CDNA1.mfma.f32_16x16x16f16", {"group": 2}),
    ("CDNA2.mfma.f32_16x16x16bf16_1k", {"flush": False}),
    ("CDNA3.mfma.f32_16x16x16_f16", {"bits": 25}),
    ("CDNA3.mfma.f32_16x16x32_fp8_fp8", {"tree": "flat", "c_shifter": None}),
)


@pytest.mark.parametrize(("name", "changed"), MUTATIONS)
def test_another_rule_differs(name: str, changed: dict[str, Any]) -> None:
    """The recording tells rules apart: with one field changed, results differ."""
    model, op = operation(name)
    rule = present(models.rule_of(model, op))
    other = replace(rule, **changed)
    assert differences(name, models.multiply_accumulate(other.text, op, *operands(name))) > 0


# --- chips ------------------------------------------------------------------------------------------------------------
#
# Names of products lead to the chips that are known.


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("chip:H200", "chip:h200"),
        ("NVIDIA A100", "chip:a100"),
        ("chip:MI300X", "chip:mi300x"),
        ("chip:RTX PRO 6000", "chip:rtxpro6000"),
        ("hopper", "chip:hopper"),
        ("chip:hoper", "chip:hopper"),
        ("exat", "exact"),
        ("sm_90a", "chip:sm_90a"),
        ("chip:pascal", None),
        ("nonsense", None),
    ],
)
def test_the_hint(name: str, model: str | None) -> None:
    assert model_hint(name) == (None if model is None else f"did you mean `{model}`?")


def test_every_product_has_a_known_chip() -> None:
    assert {product.chip for product in PRODUCTS.values()} == set(CHIPS)
    assert not set(PRODUCTS) & set(CHIPS)
    assert all((product.basis == "recorded") == bool(product.recorded) for product in PRODUCTS.values())


@pytest.mark.parametrize(
    ("given", "model"), [("chip:h100", "chip:hopper"), ("chip:gfx90a", "chip:cdna2"), ("chip:t4", "chip:turing")]
)
def test_products_are_models(given: str, model: str) -> None:
    assert as_model(given) == model
    op = operation_of(KINDS["MFMA_F32_16x16x16_F16" if "gfx" in given else "NV_MMA_SYNC_F32_16x8x16_F16"])
    assert models.supports(given, op) == models.supports(model, op)
    if models.supports(model, op):
        assert models.rule_of(given, op) == models.rule_of(model, op)
