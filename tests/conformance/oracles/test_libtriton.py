"""Triton's library, which reads and prints modules in a child process."""

from pathlib import Path

import pytest
from triton_texts import REJECTED, text_of

from halfulp.command.main import main
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt

PROGRAMS = Path(__file__).parents[2] / "data" / "triton"

pytestmark = pytest.mark.triton


def test_programs_are_printed_alike(capsys: pytest.CaptureFixture[str]) -> None:
    for path in sorted(PROGRAMS.glob("*.tt*ir"))[::4]:
        code = main(["translate", "--check", str(path), "--mlir=triton"])
        assert (code, capsys.readouterr().out) == (0, "triton 3.9.0: 1 module: 1 same text\n"), path


def test_an_error_has_its_place() -> None:
    done = find_mlir_opt("triton").finished([], "module {\n  tt.func @f() {\n    tt.return 1\n  }\n}\n")
    assert done.code == 1
    assert done.said.startswith("<stdin>:3:14: error: ")
    refused = find_mlir_opt("triton").finished(["--canonicalize"], "module {}")
    assert refused.said == "error: unknown options: --canonicalize"


def test_texts_are_rejected() -> None:
    triton = find_mlir_opt("triton")
    assert triton.finished([], text_of("", "")).code == 0
    for layouts, body, message, *module in REJECTED:
        done = triton.finished([], text_of(layouts, body, *module))
        assert done.code == 1
        assert message in done.said
