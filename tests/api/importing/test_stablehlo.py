"""StableHLO runs: `hu.from_stablehlo`, `halfulp run`, and the errors of what is missing, rejected or too slow."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

import halfulp as hu
from halfulp.command import main as cli
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.importing import lowering
from halfulp.interp.ir.base import file_position

TEXT = """// Twice.
func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
GENERIC = TEXT.replace("stablehlo.add %x, %x : tensor<3xf32>", '"stablehlo.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>')  # fmt: skip


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of IREE's compiler: a script that a test writes."""
    script = tmp_path / "iree-compile"
    script.touch(stat.S_IRWXU)
    monkeypatch.setattr(lowering, "_compiler", lambda: Tool(str(script), "3.13"))
    return script


def test_an_absent_compiler_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Tool:
        raise Unavailable("iree-compile is not on PATH")

    monkeypatch.setattr(lowering, "_compiler", absent)
    with pytest.raises(hu.Unsupported, match="iree-compile is not on PATH") as caught:
        hu.from_stablehlo(TEXT)
    assert caught.value.hint == "pip install 'iree-base-compiler==3.13.*'"


def test_a_rejected_program_is_an_error_at_its_line(tool: Path) -> None:
    tool.write_text("#!/bin/sh\necho '<stdin>:3:8: error: it is not pretty: loc(\"x\")' >&2\nexit 1\n")
    with pytest.raises(hu.errors.InputError, match="it is not pretty") as caught:
        hu.from_stablehlo(TEXT, name="m.mlir")
    assert str(caught.value).startswith("m.mlir:3:8: error: IREE's compiler cannot lower the program: it is not")


def test_an_op_without_a_lowering_is_unsupported(tool: Path) -> None:
    said = "<stdin>:3:8: error: failed to legalize operation 'stablehlo.foo' that was explicitly marked illegal: %0"
    tool.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    with pytest.raises(hu.Unsupported, match=r"failed to legalize operation 'stablehlo\.foo'$"):
        hu.from_stablehlo(TEXT)


def test_a_program_that_calls_python_is_unsupported_with_what_to_do(tool: Path) -> None:
    tool.write_text(
        "#!/bin/sh\ncat >&2 <<'END'\n<stdin>:3:3: error: Dialect `sdy' not found for custom op 'sdy.mesh'\nEND\nexit 1\n"
    )
    with pytest.raises(hu.Unsupported, match=r"sdy\.mesh") as caught:
        hu.from_stablehlo(TEXT)
    assert "jax.debug.print" in (caught.value.hint or "")
    assert "jax.random.PRNGKey" in (caught.value.hint or "")


def test_a_crash_is_unsupported(tool: Path) -> None:
    tool.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(hu.Unsupported, match=r"IREE's compiler cannot lower the program: .*ended with"):
        hu.from_stablehlo(TEXT)


def test_a_compiler_that_does_not_end_is_stopped(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "SECONDS", 0.2)
    tool.write_text("#!/bin/sh\nsleep 60\n")
    with pytest.raises(hu.errors.LimitExceeded, match=r"did not end in 0\.2 s"):
        hu.from_stablehlo(TEXT)


def test_load_says_what_lowers_it() -> None:
    with pytest.raises(hu.ParseError) as caught:
        hu.load(TEXT)
    assert "hu.from_stablehlo" in (caught.value.hint or "")


def test_a_program_that_is_not_stablehlo_needs_no_compiler(
    tool: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tool.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    path = tmp_path / "plain.mlir"
    path.write_text("func.func @main(%x: f32) -> f32 { return %x : f32 } // not stablehlo.add\n")
    assert cli.main(["run", str(path), "--input=f32=1"]) == 0
    assert capsys.readouterr() == ("result[0]: f32=1\n", "")


@pytest.mark.iree
@pytest.mark.parametrize("text", [TEXT, GENERIC], ids=["custom", "generic"])
def test_from_text_bytes_and_a_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.stablehlo.mlir"
    path.write_text(text)
    places = []
    x = np.array([1, 2, np.inf], np.float32)
    for source in (text, text.encode(), path):
        module = hu.from_stablehlo(source)
        assert hu.run(module, x)[0].tolist() == [2, 4, float("inf")]
        (add,) = (op for op in module.walk() if op.name == "arith.addf")
        places.append(file_position(add.location))
    assert [(place.file, place.line) for place in places if place] == [("<string>", 3), ("<bytes>", 3), (str(path), 3)]


@pytest.mark.iree
@pytest.mark.parametrize("text", [TEXT, GENERIC], ids=["custom", "generic"])
def test_the_commands_run_it_and_say_so(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.stablehlo.mlir"
    path.write_text(f"{text}// -----\n{text}")
    note = f"note: {path} is StableHLO: IREE's compiler lowers it to linalg, which may change its numerics\n"
    assert cli.main(["run", str(path), "--split-input-file", "--input=3xf32=1 2 3"]) == 0
    assert capsys.readouterr() == ("result[0]: 3xf32=2 4 6\n" * 2, note * 2)
    path.write_text(text)
    assert cli.main(["run", "--trace", str(path), "--input=3xf32=1 2 3"]) == 0
    assert capsys.readouterr().out.endswith("result[0]: 3xf32=2 4 6\n")


@pytest.mark.iree
def test_an_error_of_a_part_has_its_line_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.stablehlo.mlir"
    wrong = GENERIC.replace('"stablehlo.add"', '"stablehlo.custom_call"').replace("(%x, %x)", '(%x, %x) <{call_target_name = "f"}>')  # fmt: skip
    path.write_text(f"{TEXT}// -----\n{wrong}")
    assert cli.main(["run", str(path), "--split-input-file", "--input=3xf32=1 2 3"]) == 3
    printed = capsys.readouterr()
    assert printed.out == "result[0]: 3xf32=2 4 6\n"
    assert f"{path}:9:8: error: IREE's compiler cannot lower the program: failed to legalize" in printed.err


def test_bytecode_is_refused_with_a_way_on(tool: Path) -> None:
    data = hu.write_bytecode(hu.load("func.func @main() { return }"))
    with pytest.raises(hu.Unsupported, match="is MLIR bytecode") as caught:
        hu.from_stablehlo(data)
    assert "mlir_module()" in (caught.value.hint or "")


@pytest.mark.iree
def test_f64_stays_f64() -> None:
    module = hu.from_stablehlo(TEXT.replace("f32", "f64"))
    assert hu.run(module, np.array([0.1, 1e300, 1], np.float64))[0].tolist() == [0.2, 2e300, 2]
