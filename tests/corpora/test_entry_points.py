"""The tools of the corpora run from a checkout."""

from __future__ import annotations

import pytest
from command import halfulp

TOOLS = {
    "corpus": [],
    "corpus_iree": ["--help"],
    "recorder": ["--help"],
    "recordings": ["--help"],
    "bytecode_files": ["--help"],
    "constraints_iree": ["--help"],
    "fuzz_text": ["-n", "2"],
    "fuzz_bytecode": ["-n", "2"],
}
"""The arguments that a tool is run with: those that would write recorded data only explain themselves."""


@pytest.mark.long
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_runs(tool: str) -> None:
    done = halfulp(*TOOLS[tool], module=f"corpora.{tool}")
    assert (done.code, done.err) == (0, "")
    assert TOOLS[tool] != ["--help"] or f"usage: python -m corpora.{tool} " in done.out
