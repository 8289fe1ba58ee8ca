"""The functions of whole rows that have names, as functions of lists of reals: the formulas of NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from halfulp.fp_formats.reals.expressions import Real

Row = Sequence[Real]


class NamedRow(NamedTuple):
    """A function of a row: of the row and the parameter ``eps`` if it takes one. ``formula``: what it computes."""

    function: Callable[[Row, Real], list[Real] | Real]
    formula: str
    takes_eps: bool = False


def _total(row: Row) -> Real:
    """Add pairs of neighbours, then pairs of sums: the sum is exact in any order, and this one is not deep."""
    while len(row) > 1:
        row = [sum(row[k + 1 : k + 2], row[k]) for k in range(0, len(row), 2)]
    return row[0]


def _largest(row: Row) -> Real:
    found = row[0]
    for x in row[1:]:
        found = found.maximum(x)
    return found


def _mean(row: Row) -> Real:
    return _total(row) / len(row)


def _mean_square(row: Row) -> Real:
    return _total([x * x for x in row]) / len(row)


def _centred(row: Row) -> list[Real]:
    mean = _mean(row)
    return [x - mean for x in row]


# Differences to the largest element leave the results as they are, and exp of them needs no more bits than the result.


def _exponentials(row: Row) -> tuple[Real, list[Real]]:
    largest = _largest(row)
    return largest, [(x - largest).exp() for x in row]


def _softmax(row: Row, eps: Real) -> list[Real]:
    _, exponentials = _exponentials(row)
    total = _total(exponentials)
    return [each / total for each in exponentials]


def _log_softmax(row: Row, eps: Real) -> list[Real]:
    largest, exponentials = _exponentials(row)
    logarithm = _total(exponentials).log()
    return [x - largest - logarithm for x in row]


def _logsumexp(row: Row, eps: Real) -> Real:
    largest, exponentials = _exponentials(row)
    return largest + _total(exponentials).log()


def _layer_norm(row: Row, eps: Real) -> list[Real]:
    centred = _centred(row)
    deviation = (_mean_square(centred) + eps).sqrt()
    return [x / deviation for x in centred]


def _rms_norm(row: Row, eps: Real) -> list[Real]:
    size = (_mean_square(row) + eps).sqrt()
    return [x / size for x in row]


NAMED_ROWS: Mapping[str, NamedRow] = MappingProxyType(
    {
        "softmax": NamedRow(_softmax, "exp(x) / sum(exp(x))"),
        "log_softmax": NamedRow(_log_softmax, "x - log(sum(exp(x)))"),
        "logsumexp": NamedRow(_logsumexp, "log(sum(exp(x)))"),
        "layer_norm": NamedRow(_layer_norm, "(x - mean(x)) / sqrt(var(x) + eps)", True),
        "rms_norm": NamedRow(_rms_norm, "x / sqrt(mean(x**2) + eps)", True),
        "mean": NamedRow(lambda row, eps: _mean(row), "sum(x) / n"),
        "var": NamedRow(lambda row, eps: _mean_square(_centred(row)), "mean((x - mean(x))**2)"),
        "std": NamedRow(lambda row, eps: _mean_square(_centred(row)).sqrt(), "sqrt(var(x))"),
        "l2_norm": NamedRow(lambda row, eps: _total([x * x for x in row]).sqrt(), "sqrt(sum(x**2))"),
    }
)
"""The named functions of rows. var and std divide by the count of elements."""
