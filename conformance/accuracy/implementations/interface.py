"""The interface of an implementation whose accuracy is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from halfulp.conformance.accuracy.arguments import Chosen
from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.oracles.oracle import Answer
from halfulp.fp_formats.codes import Codes


class Implementation(Protocol):
    """``name``: as reports call it. ``version``: what it says of itself.

    The constructor raises `halfulp.conformance.oracles.oracle.Unavailable`, with what to install, where it is missing.
    """

    name: str
    version: str

    def refuses(self, asked: Question) -> str | None:
        """Say why it cannot answer a question at all, or None. Cheap: it runs nothing."""

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Return its results, in one row as the operands. Raises OracleError; InputError for code of the user."""


@runtime_checkable
class HoldingImplementation(Implementation, Protocol):
    """An implementation with results for certain arguments only, which it lists."""

    def arguments(self, asked: Question) -> Chosen:
        """Return the arguments that it has results for, in chunks."""
