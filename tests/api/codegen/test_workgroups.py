"""dispatch_config and workgroup_count_hint as numbers: the document's examples, what runs, and what is refused."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.command.main import main

# Of the dialect's document.
MATMUL = """
iree_codegen.dispatch_config @matmul
    workgroup_size = [64, 16, 1] subgroup_size = 64 {
  ^bb0(%w0: index, %w1: index, %w2: index, %w3: index):
    %0 = affine.apply affine_map<()[s0] -> (s0 ceildiv 256)>()[%w2]
    %c1 = arith.constant 1 : index
    iree_codegen.yield %0, %c1, %c1 : index, index, index
}
"""
TWO_HINTS = """
func.func @entry_point(%a: index, %b: index, %c: index, %x: index, %y: index, %z: index) {
  iree_codegen.workgroup_count_hint sizes(%a, %b, %c)
  iree_codegen.workgroup_count_hint sizes(%x, %y, %z)
  return
}
"""
LINEAR = """
func.func @linear(%total_iterations: index, %tile_size: index) {
  %num_workgroups = arith.ceildivui %total_iterations, %tile_size : index
  iree_codegen.workgroup_count_hint sizes(%num_workgroups)
  return
}
"""


# --- dispatch_config --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 1), (256, 1), (257, 2), (1000, 4), (-1, 0), (-257, -1)])
@pytest.mark.parametrize("entry", [None, "matmul", "@matmul"])
def test_the_document_s_dispatch(size: int, count: int, entry: str | None) -> None:
    found = hu.iree.workgroups(MATMUL, 7, 8, size, 9, function=entry)
    assert found == hu.iree.Workgroups((count, 1, 1), (64, 16, 1), 64)
    assert repr(found) == f"Workgroups(count=({count}, 1, 1), workgroup_size=(64, 16, 1), subgroup_size=64)"
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(AttributeError):
        found.count = (1, 1, 1)  # type: ignore[misc]


def test_what_a_dispatch_does_not_say() -> None:
    bare = MATMUL.replace("workgroup_size = [64, 16, 1] subgroup_size = 64", "")
    found = hu.iree.workgroups(bare, 7, 8, 1000, 9)
    assert found == hu.iree.Workgroups((4, 1, 1))
    assert repr(found) == "Workgroups(count=(4, 1, 1))"
    memory = MATMUL.replace("[64, 16, 1] subgroup_size = 64", "[32] workgroup_local_memory = 4096")
    assert hu.iree.workgroups(memory, 7, 8, 1000, 9) == hu.iree.Workgroups((4, 1, 1), (32,), None, 4096)


def test_a_dispatch_decides_where_the_function_has_hints_too() -> None:
    function = """
    func.func @matmul(%m: index) {
      iree_codegen.workgroup_count_hint(%m, 100)
      return
    }
    """
    assert hu.iree.workgroups(MATMUL + function, 7, 8, 1000, 9).count == (4, 1, 1)
    assert hu.iree.workgroups(function, 7).count == (7, 100, 1)
    # Running the function is another matter.
    assert hu.run(MATMUL + function, 7) == ()


def test_dispatches_compute_with_what_else_runs() -> None:
    text = """
    func.func private @tiles(%n: index) -> index {
      %c = arith.constant 16 : index
      %0 = arith.ceildivui %n, %c : index
      return %0 : index
    }
    iree_codegen.dispatch_config @conv {
    ^bb0(%n: index, %batches: i32, %wide: i1):
      %x = func.call @tiles(%n) : (index) -> index
      %y = arith.index_cast %batches : i32 to index
      %c1 = arith.constant 1 : index
      %z = scf.if %wide -> index {
        %c4 = arith.constant 4 : index
        scf.yield %c4 : index
      } else {
        scf.yield %c1 : index
      }
      iree_codegen.yield %x, %y, %z : index, index, index
    }
    """
    module = hu.load(text)
    assert hu.iree.workgroups(module, 100, np.int32(3), True).count == (7, 3, 4)
    assert hu.iree.workgroups(module, 100, np.int32(-3), False).count == (7, -3, 1)
    with pytest.raises(hu.TypeMismatch, match="workload value 1 of the dispatch_config of @conv: expected 'i32'"):
        hu.iree.workgroups(module, 100, np.int64(3), True)
    with pytest.raises(hu.errors.LimitExceeded, match="more than 3 ops"):
        hu.iree.workgroups(module, 100, np.int32(3), True, max_steps=3)


def test_functions_of_the_user_are_called() -> None:
    text = """
    func.func private @ask() -> index
    iree_codegen.dispatch_config @f {
    ^bb0:
      %0 = func.call @ask() : () -> index
      %1 = iree_codegen.query_tile_sizes tensor<?xf32> -> index
      iree_codegen.yield %0, %1, %1 : index, index, index
    }
    """
    externals: dict[str, Any] = {"ask": lambda: 5, "iree_codegen.query_tile_sizes": lambda type_: 9}
    assert hu.iree.workgroups(text, externals=externals).count == (5, 9, 9)
    with pytest.raises(hu.Unsupported, match="'@ask' is a declaration without a body"):
        hu.iree.workgroups(text)


def test_which_dispatch() -> None:
    two = MATMUL + MATMUL.replace("@matmul", "@other").replace("256", "100")
    assert hu.iree.workgroups(two, 1, 1, 1000, 1, function="other").count == (10, 1, 1)
    with pytest.raises(hu.errors.InputError, match="several iree_codegen.dispatch_config.*@matmul, @other"):
        hu.iree.workgroups(two, 1, 1, 1000, 1)
    with pytest.raises(hu.errors.InputError, match="'@matmul' has 2 of them") as raised:
        hu.iree.workgroups(MATMUL + MATMUL, 1, 1, 1000, 1)
    assert str(raised.value.location).endswith("10:1")
    nested = (
        f"module @inner {{ {MATMUL} }}\nfunc.func @matmul() {{\n  iree_codegen.workgroup_count_hint(5)\n  return\n}}"
    )
    assert hu.iree.workgroups(nested, 1, 1, 1000, 1, function="@inner::@matmul").count == (4, 1, 1)
    assert hu.iree.workgroups(nested, function="matmul").count == (5, 1, 1)
    with pytest.raises(hu.errors.InputError, match="there is no function 'conv'"):
        hu.iree.workgroups(MATMUL, 1, 1, 1000, 1, function="conv")


def test_wrong_workloads() -> None:
    with pytest.raises(hu.TypeMismatch, match=r"of @matmul takes 4 workload values \(index, .*\), but 3 are given"):
        hu.iree.workgroups(MATMUL, 1, 2, 3)
    with pytest.raises(hu.TypeMismatch, match="workload value 2 of the dispatch_config of @matmul: expected 'index'"):
        hu.iree.workgroups(MATMUL, 1, 2, 3.5, 4)


def test_counts_that_are_not_defined() -> None:
    poison = MATMUL.replace("%c1 = arith.constant 1 : index", "%c1 = ub.poison : index")
    with pytest.raises(hu.UndefinedBehavior, match="the workgroup count y is poison: .*ub.poison") as raised:
        hu.iree.workgroups(poison, 1, 2, 1000, 4)
    assert str(raised.value.location).endswith("7:5")
    divided = MATMUL.replace("ceildiv 256", "ceildiv s1").replace("()[s0]", "()[s0, s1]").replace("[%w2]", "[%w2, %w3]")
    assert hu.iree.workgroups(divided, 1, 2, 1000, 10).count == (100, 1, 1)
    for on_ub in ("raise", "poison"):
        with pytest.raises(hu.UndefinedBehavior, match="division by a number that is not positive"):
            hu.iree.workgroups(divided, 1, 2, 1000, 0, on_ub=on_ub)


def test_dispatches_that_are_refused_when_they_are_read() -> None:
    with pytest.raises(hu.errors.VerifyError, match="yield exactly 3 operands .*, got 2"):
        hu.load(MATMUL.replace("%0, %c1, %c1 : index, index, index", "%0, %c1 : index, index"))
    with pytest.raises(hu.errors.VerifyError, match="workgroup_size must have 1 to 3 entries, got 4"):
        hu.load(MATMUL.replace("[64, 16, 1]", "[64, 16, 1, 1]"))


# --- workgroup_count_hint ---------------------------------------------------------------------------------------------


def test_the_greatest_of_the_document_s_two_hints() -> None:
    assert hu.iree.workgroups(TWO_HINTS, 1, 20, 3, 10, 2, 3).count == (10, 20, 3)
    # arith.maxsi: signed.
    assert hu.iree.workgroups(TWO_HINTS, -1, 0, -(1 << 63), -2, 1, (1 << 63) - 1).count == (-1, 1, (1 << 63) - 1)
    narrow = hu.iree.workgroups(TWO_HINTS, -1, 1, 1, 3, 1 << 31, 2, index_width=32)
    assert narrow.count == (3, 1, 2)


def test_the_document_s_linearized_count() -> None:
    assert hu.iree.workgroups(LINEAR, 1000, 64).count == (16, 1, 1)
    with pytest.raises(hu.UndefinedBehavior, match="division by zero"):
        hu.iree.workgroups(LINEAR, 1000, 0)


def test_constant_and_missing_sizes() -> None:
    def count(sizes: str) -> tuple[int, int, int]:
        text = f"func.func @f(%x: index) {{\n  iree_codegen.workgroup_count_hint({sizes})\n  return\n}}"
        return hu.iree.workgroups(text, 6).count

    assert count("%x, 4, %x") == (6, 4, 6)
    assert count("3") == (3, 1, 1)
    assert count("2, %x") == (2, 6, 1)
    assert count("") == (1, 1, 1)
    with pytest.raises(hu.errors.InputError, match="4 sizes, but a workgroup count has 3") as raised:
        count("%x, 1, 2, 3")
    assert str(raised.value.location).endswith("2:3")


CALLS = """
func.func private @deep(%x: index, %y: index) {
  iree_codegen.workgroup_count_hint(%x, %y)
  return
}
func.func @f(%n: index, %twice: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.subi %n, %i : index
    func.call @deep(%i, %k) : (index, index) -> ()
  }
  scf.if %twice {
    iree_codegen.workgroup_count_hint(1, 2, 30)
  }
  return
}
func.func @other(%n: index) {
  func.call @deep(%n, %n) : (index, index) -> ()
  return
}
"""


def test_hints_in_loops_branches_and_calls() -> None:
    module = hu.load(CALLS)
    assert hu.iree.workgroups(module, 5, False, function="f").count == (4, 5, 1)
    assert hu.iree.workgroups(module, 5, True, function="f").count == (4, 5, 30)
    assert hu.iree.workgroups(module, 0, True, function="f").count == (1, 2, 30)
    assert hu.iree.workgroups(module, 9, function="other").count == (9, 9, 1)
    with pytest.raises(
        hu.errors.InputError, match="no iree_codegen.workgroup_count_hint ran in '@f', and there is no"
    ) as raised:
        hu.iree.workgroups(module, 0, False, function="f")
    assert str(raised.value.location).endswith("6:1")
    with pytest.raises(hu.errors.InputError, match="missing the name of the function"):
        hu.iree.workgroups(module, 0, False)


def test_hints_that_are_poison() -> None:
    text = """
    func.func @f(%x: index) {
      %0 = arith.addi %x, %x overflow<nsw> : index
      iree_codegen.workgroup_count_hint(1, %0)
      return
    }
    """
    assert hu.iree.workgroups(text, 3).count == (1, 6, 1)
    with pytest.raises(hu.UndefinedBehavior, match="the workgroup count y is poison: .*signed overflow with nsw"):
        hu.iree.workgroups(text, (1 << 63) - 1)


def test_a_function_on_tensors_has_hints_too() -> None:
    text = """
    func.func @f(%t: tensor<?xf32>) -> tensor<?xf32> {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %t, %c0 : tensor<?xf32>
      %x = affine.apply affine_map<(d0) -> (d0 ceildiv 8)>(%n)
      iree_codegen.workgroup_count_hint(%x)
      return %t : tensor<?xf32>
    }
    """
    assert hu.iree.workgroups(text, np.zeros(100, np.float32)).count == (13, 1, 1)
    with pytest.raises(hu.TypeMismatch, match="argument 0 of @f"):
        hu.iree.workgroups(text, np.zeros(100))
    with pytest.raises(hu.TypeMismatch, match="@f takes 1 argument "):
        hu.iree.workgroups(text)


# --- the command ------------------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["iree", "workgroups", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "matmul.mlir"
    file.write_text(MATMUL)
    inputs = [f"--input={size}" for size in (1, 2, 1000, 4)]
    assert run(capsys, str(file), *inputs) == (0, "count: 4 1 1\nworkgroup_size: 64 16 1\nsubgroup_size: 64\n", "")
    code, out, _ = run(capsys, str(file), "--function=matmul", "--json", *inputs)
    assert code == 0
    assert json.loads(out) == {"count": [4, 1, 1], "workgroup_size": [64, 16, 1], "subgroup_size": 64}
    code, out, err = run(capsys, str(file), *inputs[1:])
    assert (code, out) == (2, "")
    assert "matmul.mlir:2:1: error: the dispatch_config of @matmul takes 4 values (index, index, index, index)" in err
    assert run(capsys, str(file), "--function=f", *inputs)[0] == 2
    assert run(capsys, str(file), "--input=1.5", *inputs[1:])[0] == 2
    assert run(capsys, str(tmp_path / "none.mlir"))[0] == 2


def test_the_command_runs_hints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "calls.mlir"
    file.write_text(CALLS)
    assert run(capsys, str(file), "--function=f", "--input=5", "--input=true") == (0, "count: 4 5 30\n", "")
    code, out, err = run(capsys, str(file), "--function=f", "--input=0", "--input=false")
    assert (code, out) == (2, "")
    assert "calls.mlir:6:1: error: no iree_codegen.workgroup_count_hint ran in '@f'" in err
    file.write_text(LINEAR)
    assert run(capsys, str(file), "--input=1000", "--input=0")[0] == 4
    code, _, err = run(capsys, str(file), "--input=1000", "--input=0", "--diagnostics=json")
    assert code == 4
    assert "division by zero" in json.loads(err)["message"]
    code, _, err = run(capsys, str(file), "--input=5000000000", "--input=64", "--index-width=32")
    assert code == 2
    assert "does not fit the 32 bits selected for index" in err
    assert run(capsys, str(file), "--input=1000", "--input=64", "--max-steps=1")[0] == 3
