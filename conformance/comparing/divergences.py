"""Where real tools are known to differ from the language, and what they return there: the rows of divergences.toml.

A row never excuses inputs: it predicts bits, by a profile or by a formula of `comparing.tool_quirks`, and an
answer is a known divergence only where it is what the row predicts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import Reference, Task, reference, task
from halfulp.conformance.comparing.tool_quirks import FORMULAS
from halfulp.interp.ir.errors import TypeMismatch, VerifyError
from halfulp.semantics.kernel import Codes
from halfulp.semantics.profile import as_profile

FILE = Path(__file__).parent / "divergences.toml"


@dataclass(frozen=True)
class Example:
    """One case of a row, which the tests evaluate: a task, operand codes, the code that is right and the tool's."""

    op: str
    types: tuple[str, ...]
    operands: tuple[int, ...]
    expected: int
    actual: int
    to: str | None = None
    properties: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Divergence:
    """One row. ``tools``: names of oracles. ``versions``: beginnings of the versions that behave so.

    ``ops``, ``operands``, ``results``: shell patterns, of which one has to match the op and any operand's or result's
    type. ``profile`` or ``formula``: what predicts the tool's bits. ``counts``,
    ``sampled``: elements in the full and in the sampled run, by tool; `pin` writes them. ``sporadic``: whether it shows
    depends on more than the operands.
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

    def __post_init__(self) -> None:
        if (self.profile is None) == (self.formula is None):
            raise ValueError(f"divergence {self.name}: exactly one of profile and formula predicts it")
        if self.formula is not None and self.formula not in FORMULAS:
            raise ValueError(f"divergence {self.name}: there is no formula {self.formula!r}")

    def applies(self, tool: str, version: str, task: Task) -> bool:
        """Whether the row speaks of this tool and task."""
        return (
            tool in self.tools
            and version.startswith(self.versions)
            and _matches(self.ops, (task.op,))
            and _matches(self.operands, task.operands)
            and _matches(self.results, task.results)
        )

    def predict(self, task: Task, inputs: Sequence[Codes], expected: Reference) -> Reference:
        """What the tool returns by this row."""
        if self.profile is not None:
            return reference(task, inputs, as_profile(self.profile))
        assert self.formula is not None
        return FORMULAS[self.formula](task, inputs, expected)


@dataclass(frozen=True)
class Cancellation:
    """A rewrite of two casts at once: ``outer`` of ``inner`` of x is taken for x, or for one cast of x, wrongly.

    ``example``: a function ``@main`` whose result shows it for ``argument``, with the code that is right and the one
    of the tool.
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

    def applies(self, tool: str, version: str, outer: str, inner: str) -> bool:
        """Whether the row speaks of this tool and these ops, of which the first has the second's result."""
        ours = tool in self.tools and version.startswith(self.versions)
        return ours and _matches(self.outer, (outer,)) and _matches(self.inner, (inner,))

    def predict(self, inner: Cast, outer: Cast, codes: Codes) -> Codes | None:
        """What the tool makes of x, given as codes of the first source, in the last target; None where it does both."""
        if inner.source == outer.target:
            return codes
        for op in (inner.op, outer.op):
            try:
                return reference(task(op, inner.source, outer.target), [codes]).bits[0]
            except (VerifyError, TypeMismatch):
                continue
        return None


class Cast(NamedTuple):
    """An op with one operand and one result, and their element types."""

    op: str
    source: str
    target: str


def cancelled(
    pairs: Sequence[Cancellation], tool: str, version: str, inner: Cast, outer: Cast, given: Codes, answer: Codes
) -> str | None:
    """The name of the pair of casts that was taken for one or none, if the answer is what its row predicts.

    ``given``: the operand of ``inner``, whose result is the operand of ``outer``; ``answer``: the result of that.
    """
    for pair in pairs:
        if pair.applies(tool, version, outer.op, inner.op):
            predicted = pair.predict(inner, outer, given)
            if predicted is not None and np.array_equal(predicted, answer):
                return pair.name
    return None


def _matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@cache
def divergences() -> tuple[Divergence, ...]:
    """All rows. Raises ValueError, TypeError or tomllib.TOMLDecodeError where the file is wrong."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("divergence", [])
    return tuple(Divergence(**_frozen(row) | {"example": Example(**_frozen(row["example"]))}) for row in rows)


@cache
def cancellations() -> tuple[Cancellation, ...]:
    """All rows of pairs of ops. Raises as `divergences` does."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("cancellation", [])
    return tuple(Cancellation(**_frozen(row)) for row in rows)


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    if "properties" in frozen:
        frozen["properties"] = tuple(sorted(row["properties"].items()))
    return frozen


def pin(field: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Write the counts of a run into the file: ``field`` (counts or sampled) of each row, by tool and row name.

    Tools that are not named keep what they have.
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
