"""Tests over tables: one test for all rows, which lists every row that fails."""

import inspect
import re
import traceback
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

from halfulp.interp.ir.errors import VerifyError

SHOWN = 20
"""The most failures that are shown in full."""


def each_row(*rows: Any, every: int = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a test of one row a test of all rows. pytest takes longer to list thousands of tests than to run them.

    The first parameters take a row: a tuple gives one each, anything else is the only one. The others are fixtures, which
    all rows share. With ``every``, each run has one row in so many, and the long one the others in a second test.
    """
    table = [row if isinstance(row, tuple) else (row,) for row in rows]
    assert table

    def of_all(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def looping(*, some: list[tuple[Any, ...]] = table, **fixtures: Any) -> None:
            failures = []
            for row in some:
                try:
                    test(*row, **fixtures)
                except (Exception, pytest.fail.Exception):
                    failures.append(f"{row!r:.200}\n{traceback.format_exc(limit=-2)}")
            assert not failures, f"{len(failures)} of {len(some)} rows fail:\n\n" + "\n".join(failures[:SHOWN])

        # What pytest asks for fixtures.
        others = list(inspect.signature(test).parameters.values())[len(table[0]) :]
        if every == 1:
            looping.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
            return looping
        some = inspect.Parameter("some", inspect.Parameter.KEYWORD_ONLY)
        looping.__signature__ = inspect.Signature([*others, some])  # type: ignore[attr-defined]
        rest = [row for number, row in enumerate(table) if number % every]
        shares = [pytest.param(table[::every], id="some"), pytest.param(rest, id="others", marks=pytest.mark.long)]
        shared: Callable[..., None] = pytest.mark.parametrize("some", shares)(looping)
        return shared

    return of_all


def wrongly_verified(verify: Callable[[str], object], programs: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the programs that a verifier treats in another way. Each has a pattern of its error, None where it is right."""
    failures = []
    for text, wrong in programs:
        message = None
        try:
            verify(text)
        except (VerifyError, RuntimeError) as error:  # of halfulp, of mlir-opt
            message = str(error)
        if (message is None) != (wrong is None) or re.search(wrong or "", message or "") is None:
            failures.append(f"{text}{message}")
    return failures
