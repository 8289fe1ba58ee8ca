"""``halfulp run``: examples, functions, parts of files, settings, poison and undefined behaviour."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from command_calls import IDENTITY, PARTS, Command
from tree import ROOT

EXAMPLES = ROOT / "examples"
ADD = str(EXAMPLES / "f8_add.mlir")


# --- examples ---------------------------------------------------------------------------------------------------------


def test_the_demo(command: Command) -> None:
    # 1 + 1/16 is a tie below the even 1; twice the code of 0.3, 5/16; 480 is beyond 464 and so NaN.
    got = command(
        *("run", ADD, "--function=main"),
        *("--input=4xf8E4M3FN=1 0.3 -2.5 448", "--input=4xf8E4M3FN=0.0625 0.3 2.5 32"),
    )
    assert got == (0, "result[0]: 4xf8E4M3FN=1 0.625 0 nan\n", "")


def test_the_quantization_example(command: Command) -> None:
    got = command("run", str(EXAMPLES / "quantize.mlir"), "--input=2x3xf32=[0.1 0.25 -1][100 -0.375 7]")
    # 0.1 / 0.25 = 0.4; 0.25 / 0.125 + 10; -1 / 0.05 - 3; 400 and 137 saturate; -0.375 / 0.125 + 10.
    assert got[:2] == (
        0,
        "result[0]: 2x3xi8=[0 12 -23][127 7 127]\nresult[1]: 2x3xf32=[0 0.25 -1][31.75 -0.375 6.5]\n",
    )


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.name)
def test_examples_say_how_to_run_them(path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    monkeypatch.chdir(ROOT)
    lines = [line.removeprefix("//").strip() for line in path.read_text().splitlines()]
    commands = [line for line in lines if line.startswith("halfulp ")]
    assert commands
    for line in commands:
        code, out, err = command(*shlex.split(line)[1:])
        assert (code, err) == (0, "")
        assert out


# --- functions, parts, settings ---------------------------------------------------------------------------------------


def test_a_lowered_function_takes_what_it_took_before(command: Command, write: Any) -> None:
    program = """llvm.func @main(%p: !llvm.ptr) {
  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
  %x = llvm.mlir.constant(2.5 : f32) : f32
  llvm.store %x, %q : f32, !llvm.ptr
  llvm.return
}"""
    call = ("run", write("m.mlir", program), "--input=1 1 1")
    assert command(*call, "--signature=(memref<3xf32>) -> ()") == (0, "argument[0]: 3xf32=1 2.5 1\n", "")
    code, out, err = command(*call, "--signature=(memref<3xf32>) -> f32")
    assert (code, out) == (3, "")
    assert "follows no convention for '(memref<3xf32>) -> f32'" in err


def test_which_function(command: Command, write: Any) -> None:
    path = write(
        "m.mlir",
        "func.func @a() -> i8 {\n  %0 = arith.constant 1 : i8\n  return %0 : i8\n}\n"
        "func.func private @b() -> i8 {\n  %0 = arith.constant 2 : i8\n  return %0 : i8\n}\n"
        "module @m {\n  func.func @c() -> i8 {\n    %0 = arith.constant 3 : i8\n    return %0 : i8\n  }\n}\n",
    )
    assert command("run", path)[1] == "result[0]: i8=1\n"
    assert command("run", path, "--function=b")[1] == "result[0]: i8=2\n"
    assert command("run", path, "--function=@m::@c")[1] == "result[0]: i8=3\n"
    code, _, err = command("run", path, "--function=d")
    assert (code, err) == (2, "error: there is no function 'd'; the functions are @a, @b, @m::@c\n")
    code, _, err = command("run", path, "--input=1")
    assert code == 2
    assert err.startswith("m.mlir:1:1: error: @a takes 0 arguments, but 1 is given\nfunc.func @a()")


def test_two_public_functions_are_ambiguous(command: Command, write: Any) -> None:
    code, _, err = command("run", write("identity.mlir", IDENTITY))
    assert code == 2
    assert "the functions are @f32x4, @i8x2x2" in err
    assert "--function" in err


def test_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    give("func.func @f(%x: f32) -> f32 { return %x : f32 }")
    assert command("run", "-", "--input=1") == (0, "result[0]: f32=1\n", "")
    give("func.func @f(%x: f32) -> f32 { return %y : f32 }")
    code, _, err = command("run", "-", "--input=1")
    assert code == 2
    assert err.startswith("<stdin>:1:")
    give("module {}")
    assert command("translate", "-") == (0, "module {\n}\n\n", "")


def test_each_part_is_run(command: Command, write: Any) -> None:
    path = write("parts.mlir", PARTS)
    code, out, err = command("run", path, "--input=2", "--split-input-file")
    assert (code, out) == (3, "result[0]: f32=2\n")
    assert "parts.mlir:6:10: error: " in err
    assert "parts.mlir:10:8: error: cannot execute 'other.op'" in err
    code, _, err = command("run", path, "--input=2", "--split-input-file", "--output=@y.npy")
    assert code == 2
    assert not Path("y.npy").exists()
    assert command("run", path, "--input=2")[0] == 2


def test_settings_reach_the_run(command: Command, write: Any) -> None:
    path = write(
        "convert.mlir",
        "func.func @f(%x: f32) -> f8E4M3FN {\n  %0 = arith.truncf %x : f32 to f8E4M3FN\n  return %0 : f8E4M3FN\n}\n",
    )
    run = ("run", path, "--input=1000")
    assert command(*run)[1] == "result[0]: f8E4M3FN=nan\n"
    assert command(*run, "--profile=ocp-saturate")[1] == "result[0]: f8E4M3FN=448\n"
    assert command(*run, "--profile=spec,conversion_overflow=saturate")[1] == "result[0]: f8E4M3FN=448\n"
    for wrong in ("nonsense", "spec,nonsense", "spec,nonsense=1", "spec,denormals=nonsense"):
        code, out, err = command(*run, f"--profile={wrong}")
        assert (code, out) == (2, "")
        assert err.startswith("error: --profile: ")
        assert "nonsense" in err


def test_index_width(command: Command, write: Any) -> None:
    path = write(
        "index.mlir",
        "func.func @f(%x: index) -> index {\n  %0 = arith.addi %x, %x : index\n  return %0 : index\n}\n",
    )
    assert command("run", path, "--input=4294967295")[1] == "result[0]: index=8589934590\n"
    assert command("run", path, "--input=4294967295", "--index-width=32")[1] == "result[0]: index=4294967294\n"
    code, _, err = command("run", path, "--input=4294967296", "--index-width=32")
    assert code == 2
    assert "4294967296 does not fit the 32 bits" in err


def test_limits(command: Command, write: Any) -> None:
    loop = write("loop.mlir", "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}\n")
    code, _, err = command("run", loop, "--max-steps=1000")
    assert code == 3
    assert "more than 1000 ops" in err
    recursion = write("r.mlir", "func.func @f() {\n  call @f() : () -> ()\n  return\n}\n")
    code, _, err = command("run", recursion, "--max-depth=10")
    assert code == 3
    assert err.startswith("r.mlir:2:3: error: calls are nested more than 10 deep")
    big = write("big.mlir", "func.func @f(%x: tensor<100xf32>) -> tensor<100xf32> { return %x : tensor<100xf32> }")
    assert command("run", big, "--input=1", "--max-bytes=400")[0] == 0
    assert command("run", big, "--input=1", "--max-bytes=399")[0] == 3
    for wrong in ("0", "-1", "x", "1e9", "²"):
        assert command("run", big, "--input=1", f"--max-bytes={wrong}")[0] == 2


def test_a_location_in_another_file_shows_no_line_of_this_one(command: Command, write: Any) -> None:
    path = write(
        "other.mlir",
        'func.func @f(%x: i8) -> i8 {\n  %0 = arith.divsi %x, %x : i8 loc("elsewhere.py":1:2)\n  return %0 : i8\n}\n',
    )
    code, _, err = command("run", path, "--input=0")
    assert code == 4
    assert err.startswith("elsewhere.py:1:2: error: ")
    assert "func.func" not in err


# --- poison and undefined behaviour -----------------------------------------------------------------------------------


DIVIDE = """\
func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
  %0 = arith.divsi %a, %b : tensor<3xi32>
  %1 = arith.addi %0, %0 overflow<nsw> : tensor<3xi32>
  return %1 : tensor<3xi32>
}
"""


def test_undefined_behaviour(command: Command, write: Any) -> None:
    path = write("divide.mlir", DIVIDE)
    code, out, err = command("run", path, "--input=1 2 3", "--input=1 0 0")
    assert (code, out) == (4, "")
    assert err == (
        "divide.mlir:2:8: error: arith.divsi: undefined behaviour: division by zero at element [1]: "
        "lhs = 2, rhs = 0 (2 of 3 elements)\n"
        "  %0 = arith.divsi %a, %b : tensor<3xi32>\n"
        "       ^\n"
    )


def test_poison_is_named_with_its_birthplace(command: Command, write: Any) -> None:
    path = write("divide.mlir", DIVIDE)
    run = ("run", path, "--input=1 2147483647 3", "--input=1 1 0", "--on-ub=poison")
    code, out, err = command(*run)
    assert (code, out) == (0, "result[0]: 3xi32=2 poison poison\n")
    assert sorted(err.splitlines()) == [
        "note: result[0]: 1 poison element, the first at [1]: signed overflow with nsw "
        "(arith.addi at divide.mlir:3:8, element [1])",
        "note: result[0]: 1 poison element, the first at [2]: undefined behaviour: division by zero "
        "(arith.divsi at divide.mlir:2:8, element [2])",
    ]
    code, out, err = command(*run, "--forbid-poison")
    assert (code, out) == (4, "result[0]: 3xi32=2 poison poison\n")
    assert err.startswith("error: result[0]: 1 poison element, ")
    assert command("run", path, "--input=1", "--input=1", "--forbid-poison") == (0, "result[0]: 3xi32=2 2 2\n", "")


# --- exception flags --------------------------------------------------------------------------------------------------


def test_flags_of_a_run(command: Command) -> None:
    """1.3 / 0.1 is inexact, as both are rounded to f32 before; a shadow is another run."""
    quotient = str(EXAMPLES / "quotient.mlir")
    code, out, err = command("run", quotient, "--input=1.3", "--flags")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["result[0]: f32=12.999999", "flags: inexact"]
    assert "arith.divf %x, %tenth" in out
    assert command("run", quotient, "--input=0", "--flags")[1].splitlines() == ["result[0]: f32=0", "flags: none"]
    code, _, err = command("run", quotient, "--input=1.3", "--flags", "--shadow")
    assert code == 2
    assert "--flags and --shadow cannot be combined" in err
