"""Parts of a module whose form is not known are skipped, and the rest runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import MlirOpt

import halfulp as hu
from halfulp.command import main as cli
from halfulp.interp.ir.operations import SKIPPED
from halfulp.interp.loading import parse_module

PROGRAM = """\
#map = affine_map<(d0) -> (d0)>
module attributes {transform.with_named_sequence} {
  func.func private @other(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> attributes {llvm.emit_c_interface} {
    %c = arith.constant 1 : index
    cf.br ^bb1(%forward : index)
  ^bb1(%j: index):
    %forward = arith.addi %c, %j : index
    %0 = sparse_tensor.convert %x {a = [1, 2], b = "}"} : tensor<4xf32> to tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @text("}{")
  func.func @main(%c: f32, %first: i1) -> f32 {
    cf.cond_br %first, ^bb1, ^bb2
  ^bb1:
    return %c : f32
  ^bb2:
    %0 = call @callee(%c) : (f32) -> f32
    return %0 : f32
  }
  func.func private @callee(%x: f32) -> f32 {
    %0 = scf.execute_region -> f32 {
      emitc.verbatim "{ {"
      scf.yield %x : f32
    }
    return %0 : f32
  }
  gpu.module @kernels
  attributes {a} {
    gpu.func @k(%a: memref<4xf32>) kernel { gpu.return }
  } loc("x":1:2)
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  module @inner {
    func.func @last() { return }
    transform.sequence failures(propagate) { ^bb0(%a: !transform.any_op): transform.yield }
  }
}
"""


def test_the_rest_runs() -> None:
    module = hu.load(PROGRAM)
    assert hu.run(module, 1.5, True) == (hu.Value.from_numpy(np.float32(1.5)),)
    assert hu.run(module, function="@inner::@last") == ()
    (lanes,) = hu.run(module, np.array([1, 2], np.float32), np.array([True, True]), batch=True)
    assert lanes.tolist() == [1, 2]
    assert hu.trace(module, 1.5, True).results == hu.run(module, 1.5, True)


def test_what_is_skipped_keeps_its_text() -> None:
    module = hu.load(PROGRAM)
    skipped = {op.name: str(op.attributes[SKIPPED].value) for op in module.walk() if SKIPPED in op.attributes}  # type: ignore[attr-defined]
    assert list(skipped) == ["sparse_tensor.convert", "emitc.verbatim", "gpu.module", "transform.named_sequence", "transform.sequence"]  # fmt: skip
    assert all(text in PROGRAM for text in skipped.values())
    assert skipped["gpu.module"].endswith('loc("x":1:2)')
    assert skipped["transform.named_sequence"].count("\n") == 3
    printed = hu.print_module(module)
    assert hu.print_module(hu.parse(printed)) == printed
    assert hu.print_module(hu.read_bytecode(hu.write_bytecode(module))) == printed


@pytest.mark.parametrize("entry", ["callee", "main"])
def test_a_skipped_function_that_is_reached_names_the_op(entry: str) -> None:
    module = hu.load(PROGRAM)
    arguments = [1.5] if entry == "callee" else [1.5, False]
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'emitc\.verbatim'") as caught:
        hu.run(module, *arguments, function=entry)
    assert str(caught.value).startswith("<string>:23:7: error")


def test_a_module_without_any_other_function_is_an_error_as_before() -> None:
    only = "func.func @main() {\n  sparse_tensor.print %x : f32\n  return\n}"
    with pytest.raises(hu.ParseError, match="sparse_tensor"):
        hu.load(only)
    with pytest.raises(hu.ParseError, match="transform"):
        hu.load("transform.named_sequence @a() { transform.yield }")


def test_a_wrong_spelling_is_not_skipped() -> None:
    with pytest.raises(hu.ParseError, match=r"arith\.adf"):
        hu.load(PROGRAM.replace("%forward = arith.addi", "%forward = arith.adf"))


@pytest.mark.parametrize("rest", ["", "}", "((((", "} } }", '"', "\n^bb0:"])
def test_damaged_texts_are_errors_of_halfulp(rest: str) -> None:
    for cut in range(0, len(PROGRAM), 53):
        try:
            hu.load(PROGRAM[:cut] + rest)
        except hu.HalfulpError:
            continue


def test_an_error_of_the_rest_is_a_note() -> None:
    text = """
    func.func @main(%x: tensor<4xi32>) -> tensor<5xi32> {
      %0 = tensor.extract_slice %x[0] [4] [1] : tensor<4xi32> to tensor<5xi32>
      return %0 : tensor<5xi32>
    }
    emitc.verbatim "x"
    """
    with pytest.raises(hu.ParseError, match="emitc") as caught:
        hu.load(text)
    ((location, note),) = caught.value.notes
    assert str(location) == '"<string>":3:12'
    assert "size mismatch" in note


def test_parse_skips_nothing() -> None:
    with pytest.raises(hu.ParseError, match="sparse_tensor"):
        hu.parse(PROGRAM)


def test_the_command_runs_the_rest(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/program.mlir"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"func.func @main() {{ return }}\n// -----\n{PROGRAM}")
    assert cli.main(["run", path, "--split-input-file", "--function=main"]) == 2  # the second part needs inputs
    capsys.readouterr()
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    assert cli.main(["run", path, "--input=f32=1.5", "--input=i1=true"]) == 0
    assert capsys.readouterr() == ("result[0]: f32=1.5\n", "")
    assert cli.main(["run", path, "--input=f32=1.5", "--input=i1=false"]) == 3
    assert f"{path}:23:7: error: cannot execute 'emitc.verbatim'" in capsys.readouterr().err
    assert cli.main(["translate", path]) == 3


def test_bytecode_of_mlir_with_ops_that_are_not_known(mlir_opt: MlirOpt, tmp_path: Path) -> None:
    text = """
    module attributes {transform.with_named_sequence} {
      func.func @main(%x: f32) -> f32 { return %x : f32 }
      llvm.func @other(%a: i32) -> i32 { %0 = llvm.add %a, %a : i32  llvm.return %0 : i32 }
      func.func private @waits(%x: f32) -> f32 { gpu.wait  return %x : f32 }
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) { transform.yield }
    }"""
    path = tmp_path / "program.mlirbc"
    mlir_opt(text, "--emit-bytecode", "-o", str(path))
    with pytest.raises(hu.BytecodeError, match=r"transform\.named_sequence"):
        hu.read_bytecode(path)
    module = hu.load(path)
    assert hu.run(module, 1.5)[0].item() == 1.5
    with pytest.raises(hu.Unsupported, match=r"gpu\.wait"):
        hu.run(module, 1.5, function="waits")
    assert cli.main(["run", str(path), "--input=f32=1.5"]) == 0


def test_a_name_that_is_used_before_the_unknown_op() -> None:
    text = 'func.func @f() {\n  "t.a"(%x) : (i32) -> ()\n  foo.bar %x\n  return\n}\nfunc.func @g() { return }\n'
    module = parse_module(text, skip_unknown=True)
    assert [op.name for op in module.walk()].count("func.func") == 2
