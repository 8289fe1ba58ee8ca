"""Memory in and out of programs: `hu.Buffer`, memref arguments of `run` and `trace`, and the command line."""

from pathlib import Path

import numpy as np
import pytest

import halfulp as hu
from halfulp.command.main import main

COUNT = """\
func.func @main(%m: memref<?xi32>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %m, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] : memref<?xi32>
    %y = arith.addi %x, %x : i32
    memref.store %y, %m[%i] : memref<?xi32>
  }
  return %size : index
}
"""
STRIDED = "memref<2x2xf32, strided<[4, 1], offset: 1>>"
NEVER = f"""\
func.func @main(%m: {STRIDED}) -> {STRIDED} {{
  %a = memref.alloc() : memref<f32>
  %x = memref.load %a[] : memref<f32>
  %c1 = arith.constant 1 : index
  memref.store %x, %m[%c1, %c1] : {STRIDED}
  return %m : {STRIDED}
}}
"""


# --- Python -----------------------------------------------------------------------------------------------------------


def test_a_buffer_has_afterwards_what_was_stored() -> None:
    memory = hu.Buffer.from_numpy(np.arange(4, dtype=np.int32))
    (size,) = hu.run(COUNT, memory, 3)
    assert size.item() == 4
    assert memory.numpy().tolist() == [0, 2, 4, 3]
    hu.run(COUNT, memory, 2)
    assert memory.load() == hu.Value.from_numpy(np.array([0, 4, 4, 3], np.int32))


def test_arrays_and_values_are_copied() -> None:
    array = np.arange(4, dtype=np.int32)
    value = hu.Value.from_numpy(array)
    for given in (array, value):
        hu.run(COUNT, given, 4)
        assert np.asarray(given).tolist() == [0, 1, 2, 3]


def test_a_result_is_a_tensor_with_a_copy() -> None:
    memory = hu.Buffer.from_numpy(np.ones((2, 2), np.float32), STRIDED)
    (first,) = hu.run(NEVER, memory)
    assert str(first.type) == "tensor<2x2xf32>"
    assert first.poisoned.tolist() == [[False, False], [False, True]]
    memory.store(hu.Value.from_numpy(np.zeros((2, 2), np.float32)))
    assert first[0, 0].item() == 1


def test_poison_stays_in_a_buffer_from_run_to_run() -> None:
    memory = hu.Buffer.from_numpy(np.ones((2, 2), np.float32), STRIDED)
    hu.run(NEVER, memory)
    origin = memory.load().origin(1, 1)
    assert origin is not None
    assert origin.op == "memref.alloc"
    read = """\
func.func @f(%m: memref<?x?xf32, strided<[?, ?], offset: ?>>, %i: index, %a: i8) -> (f32, i8) {
  %s = arith.addi %a, %a overflow<nsw> : i8
  %x = memref.load %m[%i, %i] : memref<?x?xf32, strided<[?, ?], offset: ?>>
  return %x, %s : f32, i8
}"""
    value, overflow = hu.run(read, memory, 1, 100)
    assert str(value.origin()) == str(origin)
    assert "arith.addi" in str(overflow.origin())
    assert hu.run(read, memory, 0, 1)[0].item() == 1


def test_memory_that_does_not_fit() -> None:
    memory = hu.Buffer.from_numpy(np.zeros(4, np.int32), "memref<4xi32, strided<[2]>>")
    with pytest.raises(hu.TypeMismatch, match=r"argument 0 of @main: dimension 0 has stride 2, but 'memref.*' has 1"):
        hu.run(COUNT, memory, 3)
    with pytest.raises(hu.TypeMismatch, match=r"argument 0 of @main: expected 'memref<\?xi32>', got an array of"):
        hu.run(COUNT, np.zeros(4), 3)
    with pytest.raises(hu.TypeMismatch, match="argument 1 of @main: expected 'index', got a buffer of type"):
        hu.run(COUNT, np.zeros(4, np.int32), memory)
    tensor = "func.func @f(%t: tensor<4xi32>) { return }"
    with pytest.raises(hu.TypeMismatch, match=r"expected 'tensor<4xi32>', got a buffer"):
        hu.run(tensor, memory)


def test_a_trace_shows_memory_as_each_step_found_it() -> None:
    memory = hu.Buffer.from_numpy(np.arange(1, 3, dtype=np.int32))
    traced = hu.trace(COUNT, memory, 2)
    stores = [step for step in traced.steps if step.op == "memref.store"]
    assert [step.operands[1].text for step in stores] == ["2xi32=1 2", "2xi32=2 2"]
    assert memory.numpy().tolist() == [2, 4]
    assert "memref" in stores[0].operands[1].type


def test_a_trace_of_large_memory_shows_its_beginning() -> None:
    memory = hu.Buffer.from_numpy(np.arange(100, dtype=np.int32), "memref<100xi32>")
    memory.store(hu.Value.from_numpy(np.arange(100, dtype=np.int32)))
    traced = hu.trace(COUNT, memory, 1)
    (load,) = (step for step in traced.steps if step.op == "memref.load")
    assert load.operands[0].text == "100xi32=0 1 2 3 4 5 6 7 ..."
    assert load.operands[0].statistics is None
    kept = hu.trace(COUNT, memory, 1, keep=True)
    (load,) = (step for step in kept.steps if step.op == "memref.load")
    assert load.operands[0].statistics is not None
    assert load.operands[0].value is not None


def test_a_trace_shows_poison_and_freed_memory() -> None:
    program = """\
func.func @main() -> i8 {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<20xi8>
  memref.dealloc %m : memref<20xi8>
  %x = memref.load %m[%c0] : memref<20xi8>
  return %x : i8
}"""
    traced = hu.trace(program)
    alloc, free, load = traced.steps[1:]
    assert alloc.results[0].poisoned == 20
    assert alloc.results[0].origins[0].op == "memref.alloc"
    assert alloc.births[0].count == 20
    assert free.operands[0].text == f"20xi8={' '.join(['poison'] * 8)} ..."
    assert load.operands[0].text == "(freed by memref.dealloc at <string>:4:3)"
    assert isinstance(traced.error, hu.UndefinedBehavior)
    assert "html" in traced.html()


def test_a_trace_takes_the_choice_of_swizzles(tmp_path: Path) -> None:
    program = """\
func.func @main(%m: memref<8xi8>) -> i8 {
  %c4 = arith.constant 4 : index
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 1>] : memref<8xi8>
  %x = memref.load %h[%c4] : memref<8xi8>
  return %x : i8
}"""
    array = np.arange(8, dtype=np.int8)
    assert hu.trace(program, array, swizzle="physical", npz=tmp_path).results[0].item() == 5
    assert hu.trace(program, array).results[0].item() == 4


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "count.mlir"
    path.write_text(COUNT)
    return str(path)


def test_what_stands_in_memory_is_printed_after_the_results(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    for given in ("4xi32=0 1 2 3", "dense<[0, 1, 2, 3]> : tensor<4xi32>", "memref<4xi32>=0 1 2 3"):
        assert main(["run", program, f"--input={given}", "--input=3"]) == 0
        assert capsys.readouterr().out == "result[0]: index=4\nargument[0]: 4xi32=0 2 4 3\n"
    assert main(["run", "--trace", program, "--input=4xi32=0 1 2 3", "--input=3"]) == 0
    assert capsys.readouterr().out.endswith("result[0]: index=4\nargument[0]: 4xi32=0 2 4 3\n")


def test_outputs_and_expectations_are_about_results_and_then_memory(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["run", program, "--input=2xi32=5 6", "--input=1"]
    out = tmp_path / "size.npy"
    assert main([*options, f"--output=@{out}", "--expected_output=2"]) == 0
    assert capsys.readouterr().out == "argument[0]: 2xi32=10 6\n"
    assert np.load(out) == 2
    assert main([*options, "--output=@a", "--output=@b", "--output=@c"]) == 2
    assert "@main has 1 results and 1 memrefs, but 3 are named by --output" in capsys.readouterr().err
    assert main([*options, "--expected_output=3"]) == 1
    capsys.readouterr()
    memory = tmp_path / "memory.npy"
    expected = ["--expected_output=2", "--expected_output=2xi32=10 6"]
    assert main([*options, f"--output=@{out}", f"--output=@{memory}", *expected]) == 0
    assert capsys.readouterr().out == ""
    assert np.load(memory).tolist() == [10, 6]
    assert main([*options, "--expected_output=2", "--expected_output=2xi32=10 7"]) == 1
    assert "error: argument[0]: [1]: expected 7" in capsys.readouterr().err
    assert main(["run", "--trace", *options[1:], "--expected_output=2", f"--expected_output=@{memory}"]) == 0
    np.save(tmp_path / "x.npy", np.array([7, 8], np.int32))
    assert main(["run", program, f"--input=@{tmp_path / 'x.npy'}", "--input=2"]) == 0
    assert "argument[0]: 2xi32=14 16" in capsys.readouterr().out
    assert np.load(tmp_path / "x.npy").tolist() == [7, 8]


def test_poison_in_memory_is_told_of_and_can_be_forbidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "never.mlir"
    path.write_text(NEVER.replace(f"-> {STRIDED} ", "").replace(f"return %m : {STRIDED}", "return"))
    options = ["run", str(path), "--input=2x2xf32=1"]
    assert main(options) == 0
    printed = capsys.readouterr()
    assert printed.out == "argument[0]: 2x2xf32=[1 1][1 poison]\n"
    assert "note: argument[0]: 1 poison element, the first at [1, 1]: an element of memref.alloc" in printed.err
    assert main([*options, "--forbid-poison"]) == 4


def test_wrong_memory_on_the_command_line(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "--input=2xf32=0", "--input=1"]) == 2
    assert "expected 'memref<?xi32>', got 'tensor<2xf32>'" in capsys.readouterr().err
    assert main(["run", program, "--input=2xi32=0", "--input=3"]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert "memref.load: undefined behaviour: index [2] is outside the shape 2" in said.err
    assert main(["run", program, "--input=4xi32=0", "--input=1", "--batch"]) == 2
    assert "no argument of @main has lanes" in capsys.readouterr().err
    assert main(["run", program, "--swizzle=never"]) == 2
    assert "invalid choice: 'never' (choose from" in capsys.readouterr().err


def test_swizzles_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "swizzled.mlir"
    path.write_text("""\
func.func @main(%m: memref<8xi8>, %x: vector<2xi8>) {
  %c4 = arith.constant 4 : index
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<4, 2>] : memref<8xi8>
  vector.store %x, %h[%c4] : memref<8xi8>, vector<2xi8>
  return
}""")
    options = [str(path), "--input=8xi8=0", "--input=2xi8=1 2"]
    for command in (["run"], ["run", "--trace"]):
        assert main([*command, *options]) == 0
        assert capsys.readouterr().out.endswith("argument[0]: 8xi8=0 0 0 0 1 2 0 0\n")
        assert main([*command, *options, "--swizzle=physical"]) == 0
        assert capsys.readouterr().out.endswith("argument[0]: 8xi8=0 0 0 0 0 0 1 2\n")
