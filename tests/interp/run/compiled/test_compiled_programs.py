"""When functions become machine code, and where that is kept."""

import contextlib
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from code_of_programs import SUM, both, of

import halfulp as hu
from halfulp.fp_formats.paths import disk, llvm
from halfulp.interp.run import tiering
from halfulp.interp.run.compiled import program
from halfulp.interp.run.settings import Listener

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
pytestmark = pytest.mark.backend("auto")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    original = llvm.compile_assembly

    def counting(text: str, entry: str) -> llvm.Code:
        made.append(text)
        return original(text, entry)

    monkeypatch.setattr(llvm, "compile_assembly", counting)
    return made


def test_long_runs_are_compiled_and_short_ones_are_not(counted: list[str]) -> None:
    module = hu.parse(SUM)
    assert hu.run(module, 1000) == (of(499_500, "i64"),)
    assert not counted
    assert hu.run(module, 200_000) == (of(19_999_900_000, "i64"),)
    assert hu.run(module, 300_000) == (of(44_999_850_000, "i64"),)
    assert len(counted) == 1


def test_short_runs_add_up(counted: list[str]) -> None:
    module = hu.parse(SUM)
    for _ in range(40):
        assert hu.run(module, 1000) == (of(499_500, "i64"),)
    assert len(counted) == 1


def test_the_limit_on_steps_holds_in_compiled_code() -> None:
    module = hu.parse(SUM)
    with pytest.raises(hu.errors.LimitExceeded, match="ran more than 600000 ops"):
        hu.run(module, 250_000, max_steps=600_000)


def test_numpy_is_never_compiled(counted: list[str]) -> None:
    llvm.use("numpy")
    assert hu.run(hu.parse(SUM), 150_000) == (of(11_249_925_000, "i64"),)
    assert not counted


def test_functions_that_a_module_cannot_ask_for_change_nothing(counted: list[str]) -> None:
    """Users register Python functions for all modules."""
    module = hu.parse(SUM)
    for _ in range(2):
        assert hu.run(module, 150_000, externals={"other": abs}) == (of(11_249_925_000, "i64"),)
    assert len(counted) == 1
    asking = hu.parse(SUM + "\nfunc.func private @other(i64) -> i64")
    hu.run(asking, 150_000, externals={"other": abs})
    assert len(counted) == 1


def test_listeners_see_each_op(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(Listener):
        seen = 0

        def op_did_run(self, *_: Any) -> None:
            self.seen += 1

    monkeypatch.setattr(tiering, "PAYS", 1)
    counting = Counting()
    hu.run(hu.parse(SUM), 4_000, listeners=(counting,))
    assert counting.seen > 12_000
    assert not counted


def test_machine_code_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HALFULP_CACHE", str(tmp_path))
    pair = both(SUM)
    (kept,) = disk.files(tmp_path)
    monkeypatch.setattr(llvm, "_object_of", lambda *_: pytest.fail("compiled again"))
    assert both(SUM).check(lambda: [of(10, "index")])[0] == (of(45, "i64"),)
    kept.path.write_bytes(kept.path.read_bytes()[:-1] + b"?")
    monkeypatch.undo()
    monkeypatch.setenv("HALFULP_CACHE", str(tmp_path))
    assert both(SUM).check(lambda: [of(10, "index")]) == pair.check(lambda: [of(10, "index")])


_PRINTING = """func.func private @product(%x: memref<20x20xi32>, %y: memref<20x20xi32>, %z: memref<20x20xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      scf.for %k = %c0 to %n step %c1 {
        %a = memref.load %x[%i, %k] : memref<20x20xi32>
        %b = memref.load %y[%k, %j] : memref<20x20xi32>
        %c = memref.load %z[%i, %j] : memref<20x20xi32>
        %p = arith.muli %a, %b : i32
        %s = arith.addi %c, %p overflow<nsw> : i32
        memref.store %s, %z[%i, %j] : memref<20x20xi32>
      }
    }
  }
  return
}
func.func @main(%x: memref<20x20xi32>, %y: memref<20x20xi32>, %z: memref<20x20xi32>, %n: i32) {
  vector.print %n : i32
  func.call @product(%x, %y, %z) : (memref<20x20xi32>, memref<20x20xi32>, memref<20x20xi32>) -> ()
  vector.print %n : i32
  return
}"""


@pytest.mark.long
@pytest.mark.parametrize("largest", thinned([100, 1 << 30], 2))
@pytest.mark.parametrize("limits", amounts((66_000,), long=(64_000, 66_000, 67_000, 70_000)), ids=len)
def test_a_function_that_another_one_calls(
    largest: int,
    limits: tuple[int, ...],
    counted: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory and steps are those of the executor, also where the called function stops."""
    monkeypatch.setattr("halfulp.interp.run.tiering.PAYS", 10_000)
    numbers = np.random.default_rng(1).integers(0, largest, (2, 20, 20)).astype(np.int32)
    found: list[Any] = []
    for backend in ("numpy", "auto"):
        llvm.use(backend)
        total = hu.Buffer.from_numpy(np.zeros((20, 20), np.int32), "memref<20x20xi32>")
        hu.run(hu.parse(_PRINTING), *numbers, total, 5)
        found.append([total.load(), total.load().poisoned.tolist(), capsys.readouterr().out])
        for steps in limits:
            with contextlib.suppress(hu.errors.LimitExceeded):
                hu.run(hu.parse(_PRINTING), *numbers, total, 5, max_steps=steps)
            found[-1] += [total.load(), capsys.readouterr().out]
    assert found[0] == found[1]
    assert counted


def test_a_called_function_is_compiled_once_that_pays(counted: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    numbers = np.ones((3, 20, 20), np.int32)
    module = hu.parse(_PRINTING)
    llvm.use("auto")
    hu.run(module, *numbers, 5)
    assert not counted
    total = hu.Buffer.from_numpy(numbers[2], "memref<20x20xi32>")
    hu.run(module, *numbers[:2], total, 5)
    assert len(counted) == 1
    # Nothing remains of the run that the executor gave up.
    assert (total.numpy() == 21).all()
    assert capsys.readouterr().out == "5\n" * 4


def test_large_memory_is_not_copied_for_short_runs(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @f(%m: memref<?xi32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %x = memref.load %m[%i] : memref<?xi32>
        %y = arith.addi %x, %x : i32
        memref.store %y, %m[%i] : memref<?xi32>
      }
      return
    }"""
    module = hu.parse(text)
    memory = hu.Buffer.from_numpy(np.ones(1 << 21, np.int32), "memref<?xi32>")
    with monkeypatch.context() as patched:
        patched.setattr(tiering, "Copy", lambda memory: pytest.fail("copied"))
        hu.run(module, memory, 10)
        hu.run(module, memory, 5_000)
    assert not counted
    hu.run(module, memory, 5_000)
    assert len(counted) == 1
    assert memory.numpy()[[9, 4_999, 5_000]].tolist() == [8, 4, 1]


# --- lanes ------------------------------------------------------------------------------------------------------------

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

GCD = """func.func @gcd(%a: i32, %b: i32) -> (i32, f32) {
  %zero = arith.constant 0 : i32
  %r:2 = scf.while (%x = %a, %y = %b) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi ne, %y, %zero : i32
    scf.condition(%c) %x, %y : i32, i32
  } do {
  ^bb0(%x: i32, %y: i32):
    %m = arith.remui %x, %y : i32
    scf.yield %y, %m : i32, i32
  }
  %f = arith.sitofp %r#0 : i32 to f32
  return %r#0, %f : i32, f32
}"""
DIVISION = """func.func @f(%a: i32, %b: i32) -> i32 {
  %s = arith.addi %a, %b overflow<nsw> : i32
  %q = arith.divsi %a, %b : i32
  %x = arith.xori %s, %q : i32
  return %x : i32
}"""


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The count of lanes that stopped in each batch by machine code."""
    counts: list[int] = []
    original = program.LaneCode.run

    def counting(code: program.LaneCode, arguments: Any, lanes: int) -> Any:
        found = original(code, arguments, lanes)
        counts.append(int(np.count_nonzero(found[1])))
        return found

    monkeypatch.setattr(program.LaneCode, "run", counting)
    return counts


def outcomes(text: str, *arguments: Any, **options: Any) -> list[Any]:
    """Return what NumPy and machine code give: results with their poison, or an error with its lanes."""
    found: list[Any] = []
    for backend in ("numpy", "llvm"):
        llvm.use(backend)
        try:
            values = hu.run(hu.parse(text), *arguments, batch=True, **options)
            found.append(
                (values, [[str(value.origin(k)) for k in np.flatnonzero(value.poisoned).tolist()] for value in values])
            )
        except hu.HalfulpError as error:
            found.append((type(error), str(error), np.asarray(error.lanes).tolist()))
    return found


def test_lanes_that_part(stopped: list[int]) -> None:
    a, b = np.random.default_rng(1).integers(0, 2**31 - 1, (2, 500)).astype(np.int32)
    first, second = outcomes(GCD, a, b)
    assert first == second
    assert first[0][0].numpy().tolist() == np.gcd(a, b).tolist()
    assert stopped == [0]


def test_an_argument_for_all_lanes(stopped: list[int]) -> None:
    first, second = outcomes(GCD, np.arange(100, dtype=np.int32), 36)
    assert first == second
    assert stopped == [0]


def test_lanes_with_poison(stopped: list[int]) -> None:
    a = np.array([1, 2**31 - 1, 5, 2**31 - 1, 7], np.int32)
    first, second = outcomes(DIVISION, a, np.array([1, 1, 2, 3, 4], np.int32))
    assert first == second
    assert first[0][0].poisoned.tolist() == [False, True, False, True, False]
    assert stopped == [2]


def test_lanes_with_errors(stopped: list[int]) -> None:
    first, second = outcomes(DIVISION, np.arange(6, dtype=np.int32), np.array([1, 0, 2, 0, 3, 0], np.int32))
    assert first == second
    assert first[0] is hu.UndefinedBehavior
    assert first[2] == [1, 3, 5]


def test_endless_lanes(stopped: list[int]) -> None:
    text = """func.func @f(%a: i1) -> i1 {
      cf.br ^loop
    ^loop:
      cf.cond_br %a, ^loop, ^end
    ^end:
      return %a : i1
    }"""
    first, second = outcomes(text, np.array([False, True, False, True]), max_steps=1000)
    assert first == second
    assert issubclass(first[0], hu.errors.LimitExceeded)


def test_small_batches_wait(stopped: list[int]) -> None:
    llvm.use("auto")
    module = hu.parse(GCD)
    lanes = np.arange(1 << 14, dtype=np.int32)
    for _ in range(3):
        hu.run(module, lanes, lanes, batch=True)
    assert not stopped
    hu.run(module, lanes, lanes, batch=True)
    assert stopped == [0]
