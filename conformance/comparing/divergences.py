"""The known differences between real tools and the language: the rows of divergences.toml, each with the tool's bits.

A row never excuses inputs. It predicts bits, by a profile or by a formula of `comparing.tool_quirks`, and an answer is
a known divergence only if it equals the prediction.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, Reference, op_case, reference
from halfulp.conformance.comparing.tool_quirks import QUIRKS
from halfulp.conformance.oracles.oracle import Runner
from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir.errors import TypeMismatch, VerifyError
from halfulp.semantics.profile import as_profile

FILE = Path(__file__).parent / "divergences.toml"


@dataclass(frozen=True)
class Example:
    """One example of a row, evaluated by the tests: an op case, operand codes, the right code and the tool's code, None
    for poison.
    """

    op: str
    types: tuple[str, ...]
    operands: tuple[int, ...]
    expected: int
    actual: int | None = None
    to: str | None = None
    properties: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Divergence:
    """One row. ``tools``: names of oracles. ``versions``: prefixes of the versions that behave like this.

    ``ops``, ``operands``, ``results``: shell patterns; one must match the op, and one the type of any operand and any
    result. ``passes``: patterns of the passes of mlir-opt after which programs have these results. ``profile`` or
    ``formula``: predicts the tool's bits. ``counts``, ``sampled``: elements in the full and in the sampled run, by
    tool; `pin` writes them. ``sporadic``: whether the tool does this depends on more than the operands.
    """

    name: str
    tools: tuple[str, ...]
    versions: tuple[str, ...]
    ops: tuple[str, ...]
    why: str
    example: Example
    operands: tuple[str, ...] = ("*",)
    results: tuple[str, ...] = ("*",)
    profile: str | None = None
    formula: str | None = None
    link: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    sampled: Mapping[str, int] = field(default_factory=dict)
    sporadic: bool = False
    passes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.profile is None) == (self.formula is None):
            raise ValueError(f"divergence {self.name}: give exactly one of profile and formula")
        if self.formula is not None and self.formula not in QUIRKS:
            raise ValueError(f"divergence {self.name}: there is no formula {self.formula!r}")

    def applies(self, tool: str, version: str, case: OpCase) -> bool:
        """Tell whether the row applies to this tool and case."""
        return (
            tool in self.tools
            and version.startswith(self.versions)
            and _matches(self.ops, (case.op,))
            and _matches(self.operands, case.operands)
            and _matches(self.results, case.results)
        )

    def predict(self, case: OpCase, inputs: Sequence[Codes], expected: Reference) -> Reference:
        """Return the tool's results as this row predicts them."""
        if self.profile is not None:
            return reference(case, inputs, as_profile(self.profile))
        assert self.formula is not None
        return QUIRKS[self.formula](case, inputs, expected)


@dataclass(frozen=True)
class Cancellation:
    """A wrong rewrite of two casts at once: a tool replaces ``outer(inner(x))`` by x, or by one cast of x.

    ``passes``: the passes of mlir-opt that do this. ``example``: a function ``@main`` whose result shows it for
    ``argument``. ``expected``, ``actual``: the right code and the tool's.
    """

    name: str
    tools: tuple[str, ...]
    versions: tuple[str, ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    why: str
    example: str
    argument: int
    expected: int
    actual: int
    link: str | None = None
    passes: tuple[str, ...] = ()

    def applies(self, tool: str, version: str, outer: str, inner: str) -> bool:
        """Tell whether the row applies to this tool and these ops; ``outer`` takes the result of ``inner``."""
        ours = tool in self.tools and version.startswith(self.versions)
        return ours and _matches(self.outer, (outer,)) and _matches(self.inner, (inner,))

    def predict(self, inner: CastCase, outer: CastCase, codes: Codes) -> Codes | None:
        """Return the tool's result for x, given as codes of the first source type; None where it does both casts."""
        if inner.source == outer.target:
            return codes
        for op in (inner.op, outer.op):
            try:
                return reference(op_case(op, inner.source, outer.target), [codes]).bits[0]
            except (VerifyError, TypeMismatch):
                continue
        return None


class CastCase(NamedTuple):
    """An op with one operand and one result, and their element types."""

    op: str
    source: str
    target: str


def cancelled(
    pairs: Sequence[Cancellation], oracle: Runner, inner: CastCase, outer: CastCase, given: Codes, answer: Codes
) -> str | None:
    """Return the name of the cancellation that predicts the answer, or None.

    ``given``: the operand of ``inner``; ``outer`` takes its result. ``answer``: the result of ``outer``.
    """
    for pair in pairs:
        if pair.applies(oracle.name, oracle.version, outer.op, inner.op):
            predicted = pair.predict(inner, outer, given)
            if predicted is not None and np.array_equal(predicted, answer):
                return pair.name
    return None


def _matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@cache
def divergences() -> tuple[Divergence, ...]:
    """Return all rows. Raises ValueError, TypeError or tomllib.TOMLDecodeError for a malformed file."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("divergence", [])
    return tuple(Divergence(**_frozen(row) | {"example": Example(**_frozen(row["example"]))}) for row in rows)


@cache
def cancellations() -> tuple[Cancellation, ...]:
    """Return all rows that rewrite two casts. Raises as `divergences` does."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("cancellation", [])
    return tuple(Cancellation(**_frozen(row)) for row in rows)


Row = TypeVar("Row", Divergence, Cancellation)


def of_passes(rows: Sequence[Row], passes: Collection[str], tool: str) -> tuple[Row, ...]:
    """Return the rows of some passes, for an oracle named ``tool`` that runs programs after these passes."""
    return tuple(replace(row, tools=(tool,)) for row in rows if _matches(row.passes, tuple(passes)))


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    if "properties" in frozen:
        frozen["properties"] = tuple(sorted(row["properties"].items()))
    return frozen


def pin(field: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Write the counts of a run into the file: the ``field`` (counts or sampled) of each row, by tool and row name.

    Tools that are not named keep their counts.
    """
    text = FILE.read_text(encoding="utf-8")
    for row in divergences():
        pinned = {
            **getattr(row, field),
            **{tool: counts[tool].get(row.name, 0) for tool in row.tools if tool in counts},
        }
        start = text.index(f"name = {_quoted(row.name)}\n")
        end = text.index("\nexample = ", start)
        lines = [line for line in text[start:end].split("\n") if not line.startswith(f"{field} = ")]
        lines.append(f"{field} = {{ {', '.join(f'{_quoted(tool)} = {count}' for tool, count in pinned.items())} }}")
        text = text[:start] + "\n".join(lines) + text[end:]
    FILE.write_text(text, encoding="utf-8")
    divergences.cache_clear()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
