"""The coverage of a run that goes on: which buckets of the models its operands have hit so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.intermediate import model_case_of
from halfulp.conformance.vectors.models.model import Bucket, CoverageModel, Operands
from halfulp.conformance.vectors.models.table import models_for
from halfulp.conformance.vectors.op_inputs import chosen_models

LOOKED_AT = 1 << 14
"""The most rows of a set whose buckets are counted: a row takes up to 50 microseconds for each model."""

SHOWN = 8
"""The most buckets of a model that a table names."""


@dataclass(frozen=True)
class ModelCoverage:
    """The buckets of a model: those ``hit``, in the order of their first hit, and those ``missing``."""

    model: CoverageModel
    hit: tuple[Bucket, ...]
    missing: tuple[Bucket, ...]

    def __str__(self) -> str:
        total = len(self.hit) + len(self.missing)
        line = f"{self.model.name:<4} {len(self.hit):>6} of {total:<6} {self.model.target}"
        named = [" ".join(map(str, bucket)) for bucket in self.missing[:SHOWN]]
        more = len(self.missing) - len(named)
        missing = "; ".join([*named, *([f"{more} more"] if more > 0 else [])])
        return f"{line}\n            not hit: {missing}" if named else line


class RunningCoverage:
    """The coverage of the operands of an op, counted by exact arithmetic as they come.

    ``models``: names, or "all" that apply. Each operand is looked at until all buckets of a model are hit. Raises
    InputError for a model that does not apply.
    """

    def __init__(self, case: OpCase, models: Sequence[str]) -> None:
        names = chosen_models(case, models)
        found = model_case_of(case)
        assert found is not None
        self._case = found
        self._models = models_for(found, names)
        self._missing: dict[str, dict[Bucket, None]] = {
            model.name: dict.fromkeys(model.buckets(found)) for model in self._models
        }
        self._hit: dict[str, dict[Bucket, None]] = {model.name: {} for model in self._models}

    def take(self, rows: Iterable[Operands]) -> None:
        """Count the buckets that rows of operands fall in."""
        pending = [model for model in self._models if self._missing[model.name]]
        seen = dict.fromkeys(rows) if pending else {}
        for model in pending:
            missing, hit = self._missing[model.name], self._hit[model.name]
            for row in seen:
                for bucket in model.fits(self._case, row):
                    if bucket in missing:
                        del missing[bucket]
                        hit[bucket] = None
                if not missing:
                    break

    @property
    def models(self) -> list[ModelCoverage]:
        """Return what each model has hit so far."""
        return [
            ModelCoverage(model, tuple(self._hit[model.name]), tuple(self._missing[model.name]))
            for model in self._models
        ]

    @property
    def complete(self) -> bool:
        """Tell whether all buckets are hit."""
        return not any(self._missing.values())

    def __str__(self) -> str:
        """Return a line for each model, and the buckets that it misses."""
        return "\n".join(map(str, self.models))
