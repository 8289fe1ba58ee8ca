"""A finished sweep, made once."""

from pathlib import Path

import pytest
from vector_files import add_f8

from halfulp.conformance.vectors.shards.shard import sweep_shards


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the digest of `add_f8`, and a directory that has it."""
    directory = tmp_path_factory.mktemp("whole")
    found = sweep_shards(add_f8(), directory)
    assert (found.of, found.done, found.kept, found.rows) == (16, 16, 0, 1 << 16)
    assert found.digest is not None
    return found.digest, directory
