"""The table of the coverage models, and the report of what they cover: FPgen's B1 to B29, F1 to F6 for elementary
functions, and M1 for multiply-adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.conformance.vectors.intermediate import (
    ModelCase,
)
from halfulp.conformance.vectors.models.conversions import B22, B23, B24, B25, B26, B27, B28
from halfulp.conformance.vectors.models.division import B20, B21
from halfulp.conformance.vectors.models.functions import F1, F2, F3, F4, F5, F6
from halfulp.conformance.vectors.models.model import CoverageModel, Filled, applies
from halfulp.conformance.vectors.models.multiply_adds import B14, B15, B16, B17, B18, M1
from halfulp.conformance.vectors.models.near_bounds import B2, B4, B5, B6
from halfulp.conformance.vectors.models.operands import B1, B9, B19
from halfulp.conformance.vectors.models.rounding import B3, B7, B8, B29
from halfulp.conformance.vectors.models.sums import B10, B11, B12, B13


def coverage_table(filled: Mapping[str, Filled]) -> str:
    """Return a line for each model: its hit buckets, its rows and its target; then the empty buckets."""
    lines = []
    for name, made in filled.items():
        asked, empty = len(made.hits), made.empty
        lines.append(f"{name:<4} {asked - len(empty):>6} of {asked:<6} {len(made.rows):>6} rows  {MODELS[name].target}")
        lines += [f"            {' '.join(map(str, bucket))}: {made.reason}" for bucket in empty]
    return "\n".join(lines)


MODELS: Mapping[str, CoverageModel] = {
    model.name: model
    for model in (
        B1,
        B2,
        B3,
        B4,
        B5,
        B6,
        B7,
        B8,
        B9,
        B10,
        B11,
        B12,
        B13,
        B14,
        B15,
        B16,
        B17,
        B18,
        B19,
        B20,
        B21,
        B22,
        B23,
        B24,
        B25,
        B26,
        B27,
        B28,
        B29,
        F1,
        F2,
        F3,
        F4,
        F5,
        F6,
        M1,
    )
}
"""The models by name."""


def models_for(case: ModelCase, names: Sequence[str] | None = None) -> list[CoverageModel]:
    """Return the models that apply to a case, or the named ones of them. Raises ValueError for an unknown name."""
    unknown = [name for name in names or () if name not in MODELS]
    if unknown:
        raise ValueError(f"unknown model {unknown[0]!r}; choose one of {', '.join(MODELS)}")
    return [model for name, model in MODELS.items() if (names is None or name in names) and applies(model, case)]
