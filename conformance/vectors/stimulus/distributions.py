"""Operands from a distribution: drawn in f64, by position, and rounded once.

NumPy keeps the streams of `numpy.random.RandomState` as they are, apart from the C library's logarithms and powers, and
the words of Philox. So the numbers at a position depend on the seed alone, not on how a set is cut into parts, and
hardly on a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir.errors import InputError

AT_ONCE = 1 << 12
"""The numbers that one generator draws: a method takes as many words as it needs, so positions are counted in these."""


@dataclass(frozen=True)
class Law:
    """A distribution: its parameters with their usual values, and NumPy's method; ``moved``: what the method gives is
    multiplied by ``scale``, and ``loc`` is added.
    """

    parameters: Mapping[str, float]
    method: str
    moved: bool = False


def _law(method: str, **parameters: float) -> Law:
    return Law(parameters, method)


LAWS: Mapping[str, Law] = {
    "normal": _law("normal", loc=0, scale=1),
    "lognormal": _law("lognormal", mean=0, sigma=1),
    "uniform": _law("uniform", low=0, high=1),
    "student_t": Law({"df": 3, "loc": 0, "scale": 1}, "standard_t", moved=True),
    "cauchy": Law({"loc": 0, "scale": 1}, "standard_cauchy", moved=True),
    "laplace": _law("laplace", loc=0, scale=1),
    "logistic": _law("logistic", loc=0, scale=1),
    "gumbel": _law("gumbel", loc=0, scale=1),
    "exponential": _law("exponential", scale=1),
    "rayleigh": _law("rayleigh", scale=1),
    "gamma": _law("gamma", shape=1, scale=1),
    "beta": _law("beta", a=1, b=1),
    "chisquare": _law("chisquare", df=1),
    "weibull": _law("weibull", a=1),
    "pareto": _law("pareto", a=1),
    "triangular": _law("triangular", left=-1, mode=0, right=1),
    "poisson": _law("poisson", lam=1),
    "binomial": _law("binomial", n=1, p=0.5),
    "geometric": _law("geometric", p=0.5),
    "power_of_two": _law("randint", low=-8, high=8),
}
"""The distributions by name. ``power_of_two`` is ours: 2^k, with an integer k from low to high, both included."""

POWER = "power_of_two"


@dataclass(frozen=True)
class Distribution:
    """A distribution with all its parameters. Raises InputError for parameters that it does not take."""

    name: str
    parameters: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        try:
            self._drawn(np.random.RandomState(np.random.Philox(0)), 1)
        except (ValueError, OverflowError) as error:
            told = ", ".join(f"{name}={value:g}" for name, value in self.parameters)
            raise InputError(f"{self.name} does not take {told}: {error}") from None

    def draw(self, seed: int, stream: int, start: int, count: int) -> npt.NDArray[np.float64]:
        """Return the numbers at positions ``start`` to ``start + count`` of a stream."""
        parts = []
        for place in range(start // AT_ONCE, -(-(start + count) // AT_ONCE)):
            source = np.random.Philox(key=seed | stream << 64, counter=place << 64)
            parts.append(self._drawn(np.random.RandomState(source), AT_ONCE))
        numbers = np.concatenate(parts) if parts else np.zeros(0)
        return np.asarray(numbers[start % AT_ONCE :][:count], np.float64)

    def _drawn(self, source: np.random.RandomState, count: int) -> npt.NDArray[np.float64]:
        law, given = LAWS[self.name], dict(self.parameters)
        if self.name == POWER:
            low, high = given["low"], given["high"]
            if not (low % 1 == high % 1 == 0 and -1000 <= low <= high <= 1000):
                raise ValueError("low and high are integers from -1000 to 1000, the low one first")
            return np.ldexp(1.0, source.randint(int(low), int(high) + 1, count))
        if self.name == "binomial" and given["n"] % 1:
            raise ValueError("n is an integer")
        if self.name == "geometric" and given["p"] < 1e-9:
            raise ValueError("p is at least 1e-9: NumPy's integers are too small for the numbers of a smaller one")
        loc, scale = (given.pop("loc"), given.pop("scale")) if law.moved else (0.0, 1.0)
        if scale < 0:
            raise ValueError("scale < 0")
        numbers = np.asarray(getattr(source, law.method)(**given, size=count), np.float64)
        return numbers * scale + loc if law.moved else numbers
