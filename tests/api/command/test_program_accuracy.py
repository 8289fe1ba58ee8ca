"""halfulp verify --ulp of programs: what it prints, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_calls import Command
from tree import ROOT


def test_the_command(command: Command) -> None:
    program = str(ROOT / "examples" / "attention.mlir")
    code, out, err = command("verify", "--ulp", program, "--samples=3")
    assert (code, err) == (0, "")
    assert out.startswith("@attention: 3 inputs\n")
    code, out, _ = command("verify", "--ulp", program, "--samples=3", "--json")
    (run,) = json.loads(out)["runs"]
    assert (run["name"], run["elements"]) == ("halfulp", 96)
    assert sum(each["count"] for each in run["histogram"]) == 96
    assert command("verify", "--ulp", program, "--samples=3", "--max-ulp=1e6")[0] == 0
    assert command("verify", "--ulp", program, "--samples=3", "--max-ulp=0.1")[0] == 1


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("{}", "--type=f32"), 2, "--type does not go with a program"),
        (("{}", "--against=nobody"), 2, "unknown oracle 'nobody'"),
        (("{}", "--input=1", "--input=2"), 2, "@softmax"),
        (("exp", "--type=f16"), 2, "missing --type and --against"),
        (("exp", "--type=f16", "--against=numpy", "--input=1"), 2, "--input goes with a program"),
        (("missing.mlir",), 2, "cannot read 'missing.mlir'"),
    ],
)
def test_wrong_use(given: tuple[str, ...], code: int, message: str, command: Command) -> None:
    softmax = str(ROOT / "examples" / "softmax.mlir")
    found, _, err = command("verify", "--ulp", *(each.format(softmax) for each in given))
    assert found == code
    assert message in err


def test_memory_is_refused(command: Command, tmp_path: Any) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @f(%m: memref<2xf32>) { return }")
    code, _, err = command("verify", "--ulp", str(path))
    assert code == 3
    assert "takes memory" in err
