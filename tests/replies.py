"""Replies of program oracles, for tests: the results of a program, their codes, or the reason for no answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from halfulp.conformance.oracles.oracle import Answer, Reply, Unanswered


def results(reply: Reply) -> tuple[Answer, ...]:
    """Return the results of a program that the oracle has answered."""
    assert isinstance(reply, tuple), reply
    return reply


def why(reply: Reply) -> str:
    """Return the reason why the oracle has not answered."""
    assert isinstance(reply, Unanswered), reply
    return reply.why


def codes_of(answers: Iterable[Answer]) -> list[Any]:
    """Return the codes of each result, as lists."""
    return [answer.bits.tolist() for answer in answers]
