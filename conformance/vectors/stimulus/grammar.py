"""The text by which users name operands of their own: sources, for all operands together or for each one, and their
shares.

::

    normal:scale=2                      a distribution, for each operand
    a=weights.npz:array=w,sample;b=1    a source for each operand
    normal@70,corners@20,B1@10          a mixture: shares in percent
    a=normal;b=weighted@70,corners@30   the same; a share is of whole rows
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.models.model import EACH
from halfulp.conformance.vectors.models.table import MODELS
from halfulp.conformance.vectors.stimulus import arrays, elements
from halfulp.conformance.vectors.stimulus.elements import Fitting
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.interp.ir.errors import InputError

# --- distributions ----------------------------------------------------------------------------------------------------
#
# Operands from a distribution: drawn in f64, by position, and rounded once.
#
# NumPy keeps the streams of `numpy.random.RandomState` as they are, apart from the C library's logarithms and powers,
# and the words of Philox. So the numbers at a position depend on the seed alone, not on how a set is cut into parts,
# and hardly on a version.

AT_ONCE = 1 << 12
"""The numbers that one generator draws: a method takes as many words as it needs, so positions are counted in these."""


@dataclass(frozen=True)
class Law:
    """A distribution: its parameters with their default values, and the method of NumPy that draws from it. ``moved``:
    the result of the method is multiplied by ``scale``, and ``loc`` is added.
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
                raise ValueError("low and high must be integers from -1000 to 1000, low not above high")
            return np.ldexp(1.0, source.randint(int(low), int(high) + 1, count))
        if self.name == "binomial" and given["n"] % 1:
            raise ValueError("n must be an integer")
        if self.name == "geometric" and given["p"] < 1e-9:
            raise ValueError("p must be at least 1e-9: for a smaller p, the numbers do not fit NumPy's integers")
        loc, scale = (given.pop("loc"), given.pop("scale")) if law.moved else (0.0, 1.0)
        if scale < 0:
            raise ValueError("scale must not be negative")
        numbers = np.asarray(getattr(source, law.method)(**given, size=count), np.float64)
        return numbers * scale + loc if law.moved else numbers


# --- grammar ----------------------------------------------------------------------------------------------------------

LEVELS = ("corners", "1", "2", "random", "weighted", "hard", "exhaustive")
"""Levels as sources; ``corners`` is level 1."""

ENDINGS = (*arrays.ENDINGS, *elements.ENDINGS)
"""The endings of files with operands."""

MOST_EACH = 1000
"""The most rows that are constructed for a bucket of a model."""

MOST_SPREAD = 1000
"""The largest exponent of the factor of a block."""

ARRAY = "array"
"""The name of arrays that were given in memory."""


@dataclass(frozen=True)
class Level:
    """Operands of a level (see `op_inputs`)."""

    name: str


@dataclass(frozen=True)
class Models:
    """Rows of coverage models, by name; empty: of all that apply. ``each``: the rows for every bucket."""

    names: tuple[str, ...]
    each: int = EACH


@dataclass(frozen=True)
class Distributed:
    """Numbers of a distribution. ``hold``: the number of consecutive rows that share a number. ``block``: the number of
    consecutive rows that share a factor 2^k, with k from -``spread`` to ``spread``; None: not given.
    """

    distribution: Distribution
    fitting: Fitting
    hold: int = 1
    block: int | None = None
    spread: int | None = None


@dataclass(frozen=True)
class File:
    """Rows of a file, or of one array in it. ``sample``: rows, or elements, at random places instead of in order."""

    path: str
    fitting: Fitting
    array: str | None = None
    sample: bool = False
    hold: int = 1


@dataclass(frozen=True)
class ArrayInMemory:
    """An array that was given in memory: codes with this digest."""

    sha256: str


Source = Level | Models | Distributed | File | ArrayInMemory


@dataclass(frozen=True)
class Part:
    """A part of a mixture. ``sources``: by the name of the operand; the name "" is for all operands together."""

    text: str
    share: Fraction
    sources: Mapping[str, Source] = field(hash=False)


_SHARE = re.compile(r"@\s*(\d{1,9}(?:\.\d{1,6})?)\s*(?:,|$)", re.ASCII)
_SHARE_OF_ONE = re.compile(r"@\s*\d[\d.]*\s*;", re.ASCII)
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=", re.ASCII)
_MODELS = re.compile(r"[BFM]\d+(?:\+[BFM]\d+)*", re.ASCII)


def parts_of(spelling: str) -> tuple[Part, ...]:
    """Return the parts of a mixture. Raises InputError for a text that does not name operands."""
    try:
        spelling.encode()
    except UnicodeEncodeError:  # a name of a file that is not UTF-8; the metadata could not hold it
        raise InputError(f"{spelling!a} is not Unicode text", hint="rename the file") from None
    if found := _SHARE_OF_ONE.search(spelling):
        raise InputError(
            f"the share '{found[0][:-1].strip()}' belongs to one operand, but a share counts whole rows",
            hint="write it once, after the sources of all operands: a=normal;b=weighted@70,corners@30",
        )
    parts, begin = [], 0
    for found in _SHARE.finditer(spelling):
        parts.append((spelling[begin : found.start()].strip(), Fraction(found[1])))
        begin = found.end()
    rest = spelling[begin:].strip()
    if rest or not parts:
        if parts:
            raise InputError(f"'{rest}' has no share", hint="a share is a percentage: normal@70,corners@30")
        parts = [(rest, Fraction(100))]
    for told, share in parts:
        if not share:
            raise InputError(f"'{told}' has a share of 0 percent, and so no rows", hint="leave it out")
    named = tuple(Part(told, share, _sources(told)) for told, share in parts)  # a wrong name before wrong shares
    total = sum(share for _, share in parts)
    if total != 100:
        shares = " + ".join(f"{float(share):g}" for _, share in parts)
        raise InputError(f"the shares are {shares} = {float(total):g} percent, but must be 100")
    return named


def _sources(spelling: str) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    for one in spelling.split(";"):
        found = _NAMED.match(one)
        name = found[1] if found else ""
        if name in sources or (sources and "" in (name, *sources)):
            raise InputError(f"'{spelling}': " + (f"two sources for '{name}'" if name else "a source has no operand"),
                             hint="a=SOURCE;b=SOURCE names the operands")  # fmt: skip
        sources[name] = _source(one[found.end() :].strip() if found else one.strip())
    return sources


def _source(spelling: str) -> Source:
    head, _, rest = spelling.partition(":")
    given = _options(spelling, rest)
    if head in LEVELS:
        source: Source = Level("1" if head == "corners" else head)
    elif head == "models" or _MODELS.fullmatch(head):
        names = () if head == "models" else tuple(head.split("+"))
        unknown = [name for name in names if name not in MODELS]
        if unknown:
            raise InputError(f"unknown model '{unknown[0]}'; choose one of {', '.join(MODELS)}")
        source = Models(names, _whole("each", given.pop("each"), MOST_EACH) if "each" in given else EACH)
    elif head in LAWS:
        source = _drawn(head, given)
    elif head == ARRAY and "sha256" in given:
        source = ArrayInMemory(given.pop("sha256"))
    elif os.path.splitext(head)[1].lower() in ENDINGS:
        source = _file(head, given)
    else:
        raise _unknown(head)
    if given:
        takes_each = ("each",) if isinstance(source, Models) else ()
        known = (*LAWS[head].parameters, *_OF_DRAWN) if head in LAWS else takes_each
        known = _OF_FILE if isinstance(source, File) else known
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise InputError(
            f"'{head}' has no parameter '{next(iter(given))}': {takes}", hint=did_you_mean(next(iter(given)), known)
        )
    return source


_OF_DRAWN = ("round", "saturate", "hold", "block", "spread")
_OF_FILE = ("array", "sample", "round", "saturate", "hold")


def _unknown(head: str) -> InputError:
    if not head:
        return InputError("a source is missing", hint="a file, a distribution such as normal:scale=2, a level, a model")
    if "@" in head:
        return InputError(f"'{head}': a share is a percentage, as in normal@70,corners@30")
    if "," in head:
        return InputError(f"'{head}' is not one source", hint="a mixture has shares: normal@70,corners@30")
    if "." in head or "/" in head:
        return InputError(f"'{head}' does not end in {', '.join(ENDINGS)}, so it is not a file of operands")
    return InputError(
        f"'{head}' is neither a file, nor a distribution ({', '.join(LAWS)}), a level ({', '.join(LEVELS)}) or a model",
        hint=did_you_mean(head, (*LAWS, *LEVELS, *MODELS, "models")),
    )


def _options(spelling: str, rest: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in rest.split(",") if rest.strip() else ():
        name, _, value = (part.strip() for part in word.partition("="))
        if name in given:
            raise InputError(f"'{spelling}': '{name}' is given twice")
        given[name] = value
    return given


def _drawn(name: str, given: dict[str, str]) -> Distributed:
    law = LAWS[name]
    parameters = {key: _number(name, key, given.pop(key)) if key in given else float(usual)
                  for key, usual in law.parameters.items()}  # fmt: skip
    fitting = _fitting(given)
    block = _whole("block", given.pop("block")) if "block" in given else None
    spread = _whole("spread", given.pop("spread"), MOST_SPREAD) if "spread" in given else None
    if block is not None and spread is None:
        raise InputError(f"'{name}': a block of rows needs spread=K: it shares a factor 2^k, with k from -K to K")
    hold = _whole("hold", given.pop("hold")) if "hold" in given else 1
    rounding = fitting.rounding or Rounding.TO_NEAREST_EVEN
    return Distributed(
        Distribution(name, tuple(parameters.items())), Fitting(rounding, fitting.saturate), hold, block, spread
    )


def _file(path: str, given: dict[str, str]) -> File:
    fitting, array = _fitting(given), given.pop("array", None)
    sample = _flag("sample", given)
    return File(path, fitting, array, sample, _whole("hold", given.pop("hold")) if "hold" in given else 1)


def _fitting(given: dict[str, str]) -> Fitting:
    rounding = None
    if "round" in given:
        try:
            rounding = as_rounding(given.pop("round") or Rounding.TO_NEAREST_EVEN)
        except ValueError as error:
            raise InputError(f"round: {error}") from None
        if rounding is Rounding.STOCHASTIC:
            raise InputError("round: operands cannot be rounded stochastically; choose another mode")
    return Fitting(rounding, _flag("saturate", given))


def _flag(name: str, given: dict[str, str]) -> bool:
    value = given.pop(name, None)
    if value:
        raise InputError(f"'{name}' takes no value, but '{value}' is given")
    return value is not None


def _number(name: str, key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise InputError(f"'{name}': {key}={value} is not a finite number")
    return number


def _whole(name: str, value: str, most: int = 1 << 31) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) < 11 and 1 <= int(value) <= most):
        raise InputError(f"{name}={value}: a positive integer of at most {most:,} is needed")
    return int(value)


def each_file(parts: tuple[Part, ...], act: Callable[[str], str]) -> dict[str, str]:
    """Return, for each file that the parts name, in their order, the result of ``act`` for its path."""
    files = (source.path for part in parts for source in part.sources.values() if isinstance(source, File))
    return {path: act(path) for path in dict.fromkeys(files)}
