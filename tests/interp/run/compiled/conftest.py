"""The ways in which the tests of programs turned into code run them."""

from importlib.util import find_spec

import pytest
from code_of_programs import MACHINE, PYTHON

_needs_llvm = pytest.mark.skipif(find_spec("llvmlite") is None, reason="the extra `fast` is not installed")


@pytest.fixture(params=[PYTHON, pytest.param(MACHINE, marks=_needs_llvm)])
def way(request: pytest.FixtureRequest) -> str:
    """Return the kind of code that a test makes."""
    found: str = request.param
    return found
