"""Tests over long tables: one test for all rows, which lists every row that fails."""

import re
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from halfulp.interp.ir.errors import VerifyError

SHOWN = 20
"""The most failures that are shown in full."""


def each_row(rows: Iterable[tuple[Any, ...]]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a test of one row a test of all rows. pytest takes longer to list thousands of tests than to run them."""
    table = list(rows)

    def of_all(test: Callable[..., None]) -> Callable[[], None]:
        def looping() -> None:
            failures = []
            for row in table:
                try:
                    test(*row)
                except (Exception, pytest.fail.Exception):
                    failures.append(f"{row!r:.200}\n{traceback.format_exc(limit=-2)}")
            assert table
            assert not failures, f"{len(failures)} of {len(table)} rows fail:\n\n" + "\n".join(failures[:SHOWN])

        looping.__name__, looping.__doc__, looping.__module__ = test.__name__, test.__doc__, test.__module__
        return looping

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
