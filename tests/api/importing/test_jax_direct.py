"""JAX beside halfulp on functions that run as StableHLO: each difference is judged.

A result of XLA is equal to that of the specification; or to that of the profile xla-cpu; or it is nowhere nearer to the
exact number than ours; or the program rounds several times, and both results lie within the errors of its roundings.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from jax_functions import cases
from jax_functions_generated import KINDS, TYPES, sample

import halfulp as hu
from halfulp.importing.comparison import Comparison, OutputDistance
from halfulp.interp.ir import types as ty

pytestmark = pytest.mark.jax

EQUAL, PROFILE, FARTHER, ROUNDINGS = "equal", "equal by xla-cpu", "XLA is farther", "other roundings"
UNITS = 64
"""The most units in the last place of the largest number of an output that roundings may make."""
ONCE = frozenset(
    (
        "add",
        "subtract",
        "multiply",
        "divide",
        "sqrt",
        "rsqrt",
        "exponential",
        "log",
        "power",
        "convert",
        "logistic",
        "tanh",
        "sine",
        "cosine",
    )
)
OFTEN = frozenset(("dot_general", "convolution", "reduce", "reduce_window", "scatter", "select_and_scatter"))
"""The ops that round, once or for each term of a sum."""


def judged(function: Any, arguments: tuple[Any, ...]) -> tuple[str, Comparison | None]:
    """Return how the results of a function agree; the word is `unexplained` if they do not."""
    found = hu.compare(function, *arguments)
    if not found.different:
        return EQUAL, None
    try:
        if not hu.compare(function, *arguments, profile="xla-cpu").different:
            return PROFILE, None
    except hu.errors.HalfulpError:
        pass  # what the profile does not allow is judged by the specification alone
    words = [_judged_output(found, output) for output in found.outputs if output.different]
    worst = next((word for word in ("unexplained", ROUNDINGS) if word in words), FARTHER)
    return worst, found if worst == "unexplained" else None


def _judged_output(found: Comparison, output: OutputDistance) -> str:
    if output._numbers is None or not isinstance(output.ours.element_type, ty.FloatType):
        return "unexplained"
    ours, theirs = output._numbers
    exact, differs = output._exact(), output._differs
    known = exact is not None and bool(np.isfinite(exact.high[differs]).all())
    if exact is not None and known and np.all(exact.errors(theirs)[differs] >= exact.errors(ours)[differs]):
        return FARTHER
    names = [op.name.partition(".")[2] for op in found.module.walk()]
    several = any(name in OFTEN for name in names) or sum(name in ONCE for name in names) > 1
    finite = np.isfinite(ours) & np.isfinite(theirs)
    if not several or not finite[differs].all():
        return "unexplained"
    bits = output.ours.element_type.format.precision
    unit = max(1e-30, float(np.abs(ours[finite]).max(initial=0))) * 2.0 ** (1 - bits)
    return ROUNDINGS if np.all(np.abs(ours - theirs)[differs] <= UNITS * unit) else "unexplained"


def verdicts(names: list[str]) -> tuple[Counter[str], list[str]]:
    """Return how many functions have each verdict, and those without an explanation."""
    every, counts, failures = cases(), Counter[str](), []
    for name in names:
        try:
            word, found = judged(*every[name])
        except hu.Unsupported:
            word, found = "not run", None
        except hu.errors.UndefinedBehavior:  # a division of integers by zero, which XLA defines
            function, arguments = every[name]
            same = not hu.compare(function, *arguments, profile="xla-cpu").different
            word, found = (PROFILE if same else "unexplained"), None
        counts[word] += 1
        if word == "unexplained":
            failures.append(f"{name}: {found}")
    return counts, failures


def test_some_functions() -> None:
    counts, failures = verdicts(
        ["jnp.exp", "jnp.argmax", "jnp.sum", "jnp.sort", "nn.sigmoid", "gcd", "complex product"]
    )
    assert not failures
    assert counts["not run"] == 0


@pytest.mark.long
def test_all_functions() -> None:
    counts, failures = verdicts(list(cases()))
    assert not failures
    assert counts.total() >= 244
    assert counts.total() - counts["not run"] >= 300


# --- generated functions ------------------------------------------------------------------------------------------------


def generated(seed: int, kind: str, name: str) -> str | None:
    """Return the text of a generated function whose results are not explained; else None."""
    jax: Any = import_module("jax")
    made = sample(kind, name, seed)
    with jax.enable_x64(made.wide):
        word, found = judged(made.function, made.arguments)
    return f"{made.text}: {found}" if word == "unexplained" else None


@pytest.mark.parametrize("kind", KINDS)
def test_some_generated_functions(kind: str) -> None:
    assert [found for name in TYPES[::7] if (found := generated(2, kind, name))] == []


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, 4])
def test_200_generated_functions(seed: int) -> None:
    assert len(TYPES) * len(KINDS) == 100
    assert [found for name in TYPES for kind in KINDS if (found := generated(seed, kind, name))] == []
