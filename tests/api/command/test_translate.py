"""``halfulp translate``: MLIR in, MLIR out."""

from pathlib import Path
from typing import Any

import pytest
from command import PARTS, Command
from conftest import MlirOpt
from tree import ROOT

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


ADDITION = """\
// A comment.
func.func @main(%x : f32, %y : f32) -> f32 {
    %sum = arith.addf %x,%y fastmath<nnan> : f32
    return %sum : f32
}
"""


def test_translate(command: Command, write: Any) -> None:
    path = write("add.mlir", ADDITION)
    custom = (
        "module {\n  func.func @main(%arg0: f32, %arg1: f32) -> f32 {\n"
        "    %0 = arith.addf %arg0, %arg1 fastmath<nnan> : f32\n    return %0 : f32\n  }\n}\n\n"
    )
    assert command("translate", path) == (0, custom, "")
    assert command("translate", path, "-o", "out.mlir") == (0, "", "")
    assert Path("out.mlir").read_text() == custom
    generic = command("translate", path, "--generic")
    assert generic == command("translate", path, "--mlir-print-op-generic")
    assert '"arith.addf"(%arg0, %arg1) <{fastmath = #arith.fastmath<nnan>}> : (f32, f32) -> f32' in generic[1]
    debug = command("translate", path, "--debug-info")
    assert debug == command("translate", path, "--mlir-print-debuginfo")
    assert 'loc("add.mlir":3:12)' in debug[1]


@pytest.mark.parametrize("options", [(), ("--mlir-print-op-generic",), ("--mlir-print-debuginfo",)])
def test_translate_prints_what_mlir_opt_prints(
    options: tuple[str, ...], command: Command, write: Any, mlir_opt: MlirOpt
) -> None:
    text = Path(ADD).read_text() + "// -----\n" + ADDITION + "// -----\n" + Path(EXAMPLES / "quantize.mlir").read_text()
    if options == ("--mlir-print-debuginfo",):
        text = ADDITION  # mlir-opt gives the later parts' modules locations in the middle of a line
    expected = mlir_opt(text, "--split-input-file", *options)
    path = write("in.mlir", text)
    code, out, err = command("translate", path, "--split-input-file", *options)
    assert (code, err) == (0, "")
    assert out.replace('"in.mlir"', '"<stdin>"') == expected.replace('"-"', '"<stdin>"')


def test_translate_rejects_unregistered_ops(command: Command, write: Any) -> None:
    path = write("u.mlir", 'func.func @f() {\n  "other.op"() : () -> ()\n  return\n}\n')
    code, out, err = command("translate", path)
    assert (code, out) == (2, "")
    # As mlir-opt-22 22.1.8 says it, and where.
    assert err == (
        "u.mlir:2:13: error: operation being parsed with an unregistered dialect. If this is intended, please use "
        "-allow-unregistered-dialect with the MLIR tool used\n"
        '  "other.op"() : () -> ()\n'
        "            ^\n"
    )
    code, out, err = command("translate", path, "--allow-unregistered-dialect")
    assert (code, err) == (0, "")
    assert '    "other.op"() : () -> ()\n' in out
    assert command("run", path)[0] == 3


def test_translate_of_parts_goes_on_after_an_error(command: Command, write: Any) -> None:
    path = write("parts.mlir", PARTS)
    code, out, err = command("translate", path, "--split-input-file")
    assert code == 2
    assert out.count("// -----\n") == 3
    assert out.count("module {") == 2
    assert err.count("error: ") == 2
    assert command("translate", path, "--split-input-file", "-o", "out.mlir")[0] == 2
    assert not Path("out.mlir").exists()


def test_a_program_against_a_document_is_translated_with_a_warning(command: Command, write: Any) -> None:
    text = "func.func private @f(!quant.uniform<i8:f32, 1.000000e+00:200>)"
    path = write("zero.mlir", text)
    warning = "zero.mlir:1:58: warning: zero point 200 is outside the storage type's range -128:127\n"
    assert command("translate", path) == (0, f"module {{\n  {text}\n}}\n\n", warning)
    # Each time, unlike Python's own warnings.
    assert command("translate", path) == (0, f"module {{\n  {text}\n}}\n\n", warning)
