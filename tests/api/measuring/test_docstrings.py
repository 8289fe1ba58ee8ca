"""The examples in the docstrings of the questions give what they show."""

from __future__ import annotations

import doctest
from types import ModuleType

import numpy as np
import pytest

import halfulp as hu
from halfulp.measuring import comparing, errors, scales, spacing


@pytest.mark.parametrize("module", [comparing, errors, scales, spacing], ids=lambda module: module.__name__)
def test_examples(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module, extraglobs={"hu": hu, "np": np})
    assert (failed, tried > 0) == (0, True)
