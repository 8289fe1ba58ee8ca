"""Sweeps in shards, for the tests of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards.directory import SweepPlan

PER_CHANNEL = "!quant.uniform<i8:f32:1, {0.5:3, 0.25, 2.0:-100}>"


def op(name: str, types: str | list[str], to: str | None = None, flags: bool = False, **more: Any) -> OpComputation:
    return OpComputation(op_case(f"arith.{name}" if "." not in name else name, types, to), flags=flags, **more)


def add_f8(**changed: Any) -> SweepPlan:
    """Return all pairs of f8E4M3FN in 16 shards."""
    options = {"format": "npz", "shard_rows": 1 << 12, "leaf_rows": 1 << 12, **changed}
    return SweepPlan(Recipe(op("addf", "f8E4M3FN"), "exhaustive"), **options)


def files_of(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


RECIPES = {
    "random": Recipe(op("mulf", "f16"), "random", seed=7, count=1 << 20),
    "random integers": Recipe(op("addi", "i32"), "random", seed=7, count=1 << 20),
    "weighted": Recipe(op("divf", "f32", flags=True), "weighted", seed=1, count=1 << 20),
    "level 1": Recipe(op("addf", "bf16", flags=True), "1"),
    "quantised per channel": Recipe(op("quant.qcast", "f32", PER_CHANNEL), "random", seed=3, count=300_000),
    "stochastic": Recipe(op("truncf", "f32", "f8E4M3FN", flags=True, random_bits=12), "random", seed=5, count=1 << 18),
}


# The digest of one shard of 10,000 rows (per channel: the whole periods in these), computed once.
PINNED = {
    "random": (5, "82e07283b1be2c721d1b91940af265ae1b3a20f1d916d9c7f04c83adf29b96cf"),
    "random integers": (5, "903d070a13384cb8dad2ff3dd37e9c950846a269161a05c5db4ed36b41d1bc28"),
    "weighted": (5, "0e35739dd28848e92322e8da0935dd03c141c24bc9a5730ba920fac3fd011d39"),
    "level 1": (4, "526a9ad43159f906687d897aef302e7490282b375096f65ef20288dfb1d81e00"),
    "quantised per channel": (5, "8ce471635b655881c313b3405f80c48cf5e64bd4a5806fceeafb85a80808a644"),
    "stochastic": (5, "54de3b7e0a0709f47dc4aa827e1a6b1565bcf322f756e3e33c7954d959200bbb"),
}
