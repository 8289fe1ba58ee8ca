"""What the tests of StableHLO share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stablehlo_reference import Reference


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    """Yield the process of jaxlib, which reads and runs StableHLO. It ends with the module."""
    made = Reference()
    yield made
    made.close()
