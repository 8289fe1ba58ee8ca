"""The implementations that are measured: files of results, and the tools, whose figures were measured once."""

from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from command import halfulp
from tree import ROOT

import halfulp as hu
from halfulp.conformance.accuracy import implementations
from halfulp.conformance.accuracy.programs import exact_results, measured_programs
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, Reply, Status, Unanswered, Unavailable
from halfulp.interp.ir.errors import InputError, Unsupported

F8 = np.dtype(ml_dtypes.float8_e5m2)


@pytest.fixture
def results() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return tanh of all codes of f8E5M2, one of them wrong."""
    x = np.arange(256, dtype=np.uint8).view(F8).astype(np.float64)
    found = np.tanh(x).astype(F8).view(np.uint8)
    found[0x3C] += 2
    return np.asarray(found, np.uint8)


# --- files ------------------------------------------------------------------------------------------------------------


def written(folder: Path, name: str, codes: np.ndarray[Any, np.dtype[np.uint8]]) -> str:
    path = folder / name
    if name.startswith("floats"):
        np.save(path, codes.view(F8).astype(F8))
    elif name.endswith(".npy"):
        np.save(path, codes)
    elif name.endswith(".bin"):
        codes.tofile(path)
    else:
        path.write_text("// results\n" + "".join(f"0x{code:02x}  # {k}\n" for k, code in enumerate(codes.tolist())))
    return str(path)


@pytest.mark.parametrize("name", ["codes.npy", "codes.bin", "codes.hex", "codes.txt"])
def test_results_of_all_codes_in_order(tmp_path: Path, name: str, results: Any) -> None:
    found = hu.accuracy("tanh", "f8E5M2", written(tmp_path, name, results))
    assert (found.wrong, found.wrong_special, found.compared, found.all) == (1, 0, 256, True)
    assert found.tally.worst is not None
    assert found.tally.worst.operands == (0x3C,)
    assert hu.accuracy("tanh", "f8E5M2", tmp_path / name).wrong == 1


def test_files_that_do_not_fit(tmp_path: Path, results: Any) -> None:
    short = written(tmp_path, "short.npy", results[:100])
    with pytest.raises(
        InputError,
        match="has 100 results and no operands: such a file must have one result for each of the 256 arguments of tanh f8E5M2",
    ):
        hu.accuracy("tanh", "f8E5M2", short)
    np.save(tmp_path / "f32.npy", np.zeros(256, np.float32))
    with pytest.raises(InputError, match="returned float32"):
        hu.accuracy("tanh", "f8E5M2", tmp_path / "f32.npy")
    for name, content, message in (
        ("words.dat", b"what is this?", "no format that could be recognised"),
        ("empty.hex", b"", "is empty"),
        ("no.npy", b"garbage", "is not a file of NumPy"),
        ("no.txt", b"\xff\xfe", "is not text"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            hu.accuracy("tanh", "f8E5M2", tmp_path / name)


def test_a_file_has_its_own_arguments(tmp_path: Path, results: Any) -> None:
    path = written(tmp_path, "codes.hex", results)
    own: list[dict[str, Any]] = [{"n": 10}, {"exhaustive": True}, {"range": (1, 2)}]
    for choices in own:
        with pytest.raises(InputError, match="has its own arguments"):
            hu.accuracy("tanh", "f8E5M2", path, **choices)


@pytest.mark.parametrize("spelling", ["./file.c:f", ".:f", ":f", "module:"])
def test_spellings_that_name_no_function(spelling: str) -> None:
    with pytest.raises(InputError, match="does not name a Python function"):
        hu.accuracy("tanh", "f8E5M2", spelling)


def test_vectors(tmp_path: Path) -> None:
    words = ("vectors", "make", "arith.mulf", "--type", "f8E4M3FN", "--level", "random", "-n", "100")
    assert halfulp(*words, "--out", str(tmp_path), "--format", "testfloat").code == 0
    (path,) = [path for path in tmp_path.iterdir() if path.suffix != ".json"]
    found = hu.accuracy("mulf", "f8E4M3FN", path)
    assert (found.compared, found.correct, found.all) == (100, True, False)
    with pytest.raises(
        InputError, match=r"vectors of arith\.mulf f8E4M3FN, as .*json says, but the question is about arith\.divf"
    ):
        hu.accuracy("divf", "f8E4M3FN", path)


# --- tools ------------------------------------------------------------------------------------------------------------


def missing(name: str) -> bool:
    """Tell whether an oracle is not on this machine."""
    try:
        oracle(name)
    except Unavailable:
        return True
    return False


def figures(op: str, type_: str, against: str, **choices: Any) -> tuple[int, int, int, float]:
    """Return the wrong numbers, of how many finite arguments, the wrong special values, and the largest error."""
    found = hu.accuracy(op, type_, against, **choices)
    assert not found.tally.unanswered
    return found.wrong, found.tally.finite, found.wrong_special, found.max_ulp


@pytest.mark.mlir
@pytest.mark.skipif(missing("iree"), reason="IREE 3.13 is not installed")
@pytest.mark.parametrize(
    ("op", "type_", "recorded"),
    [
        ("exp2", "f16", (7516, 63488, 0, 1018.47)),
        ("rsqrt", "f16", (8402, 63488, 0, 1.327)),
        ("sinh", "bf16", (28032, 65280, 3, 255.0)),
        ("asinh", "bf16", (28376, 65280, 23042, 256.0)),
    ],
)
def test_iree(op: str, type_: str, recorded: tuple[int, int, int, float]) -> None:
    *counts, worst = figures(op, type_, "iree")
    assert tuple(counts) == recorded[:-1]
    assert worst == pytest.approx(recorded[-1], rel=1e-3)


@pytest.mark.mlir
def test_lowerings_of_mlir() -> None:
    # sinh of bf16 as (exp(x) - exp(-x)) / 2 in bf16 cancels for small arguments.
    expanded = hu.accuracy("sinh", "bf16", "mlir-math-expand", range=(2**-10, 2**-4))
    assert (expanded.compared, expanded.wrong_special) == (769, 0)
    assert expanded.wrong > 600
    assert expanded.max_ulp > 100
    native = hu.accuracy("sinh", "bf16", "mlir-native", range=(2**-10, 2**-4))
    assert native.correct
    with pytest.raises(Unsupported, match="is a pass for math ops"):
        hu.accuracy("addf", "f16", "mlir-math-expand")
    with pytest.raises(Unsupported, match=r"math\.exp has no rounding modes in MLIR"):
        hu.accuracy("exp", "f16", "mlir-native", rounding="upward")


@pytest.mark.mlir
def test_passes_of_mlir() -> None:
    with pytest.raises(Unsupported, match=r"--math-expand-ops leaves math\.exp f16 as it is"):
        hu.accuracy("exp", "f16", "mlir-math-expand", range=(1, 2))
    polynomial = hu.accuracy("atan", "f32", "mlir-math-polynomial", range=("0.65395", "0.65396"))
    assert 30 < polynomial.max_ulp < 45
    powers = hu.accuracy("fpowi", ["f32", "i32"], "mlir-math-funcs", n=300)
    assert powers.compared == 300
    fused = hu.accuracy("fma", "f16", "mlir-math-apfloat", n=300)
    assert fused.correct


@pytest.mark.llvm_libc
def test_the_c_library_of_llvm_rounds_correctly() -> None:
    for op, type_ in (("exp", "f16"), ("sqrt", "bf16"), ("atan2", "f32")):
        found = hu.accuracy(op, type_, "llvm-libc", n=200)
        assert found.correct, found
        assert found.compared >= 200
    with pytest.raises(Unsupported, match="llvm-libc has no tgamma f32"):
        hu.accuracy("tgamma", "f32", "llvm-libc")


def test_the_library_of_llvm_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALFULP_LLVM_LIBC", "/nowhere.a")
    with pytest.raises(Unsupported, match=r"/nowhere\.a does not exist: install libllvmlibc-22-dev"):
        hu.accuracy("exp", "f16", "llvm-libc")


@pytest.mark.long
def test_numpy() -> None:
    # f32 by several paths of NumPy, by the processor: all are within 3 ulp.
    found = hu.accuracy("exp", "f32", "numpy", n=500)
    assert not found.wrong_special
    assert 0.5 < found.max_ulp < 3
    assert hu.accuracy("sqrt", "f16", "numpy").correct


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", ["exp", "exp2", "log", "sin", "cos", "tanh", "sinh", "log1p", "expm1", "atan", "cbrt"])
def test_numpy_is_nearly_right_in_f16(op: str) -> None:
    found = hu.accuracy(op, "f16", "numpy")
    assert found.wrong <= 8
    assert found.max_ulp < 0.501


@pytest.mark.torch
def test_torch() -> None:
    found = hu.accuracy("gelu", "bf16", "torch", n=500)
    assert found.compared > 500
    assert hu.accuracy("sqrt", "f32", "torch", n=200).max_ulp < 1
    with pytest.raises(Unsupported, match="torch has no function for cbrt"):
        hu.accuracy("cbrt", "f32", "torch")


@pytest.mark.exhaustive
def test_jax() -> None:
    pytest.importorskip("jax")
    found = hu.accuracy("tanh", "f32", "jax", n=500, profile="spec,denormals=flush_both")
    assert not found.wrong_special
    assert 2 < found.max_ulp < 5
    assert hu.accuracy("sqrt", "f64", "jax", n=100, profile="spec,denormals=flush_both").max_ulp <= 0.5


def test_a_package_that_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(implementations, "version", absent)
    with pytest.raises(Unsupported, match="the package jax is not installed: pip install jax"):
        hu.accuracy("exp", "f32", "jax")


# --- programs ---------------------------------------------------------------------------------------------------------
#
# The accuracy of whole programs: against fractions, and with an implementation whose errors are planted.

SUM = """func.func @f(%x: tensor<4xf16>, %n: i32) -> (i32, tensor<4xf16>) {
  %0 = arith.addf %x, %x : tensor<4xf16>
  %1 = arith.addf %0, %x : tensor<4xf16>
  %2 = arith.addf %1, %x : tensor<4xf16>
  %3 = arith.addf %2, %x : tensor<4xf16>
  return %n, %3 : i32, tensor<4xf16>
}"""


class Planted:
    """Gives the results of halfulp, with some added to the codes of the second one, and others left out."""

    name, version = "planted", "1"

    def __init__(self, steps: Sequence[int], missing: int = -1) -> None:
        self.steps, self.missing = np.array(steps, np.uint16), missing

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results; see the class."""
        found: list[Reply] = []
        for number, program in enumerate(programs):
            if number == self.missing:
                found.append(Unanswered("it is tired"))
                continue
            first, second = hu.run(program.module, *program.arguments)
            status = np.zeros(second.shape, np.uint8)
            status[3] = Status.POISON
            found.append((Answer(first.bits), Answer(second.bits + self.steps, status)))
        return found


def closed(*rows: Sequence[float]) -> list[ClosedProgram]:
    module = hu.parse(SUM)
    return [ClosedProgram(module, "f", (hu.convert(list(row), "f16"), hu.convert(3, "i32"))) for row in rows]


def errors_of(row: Sequence[float], steps: Sequence[int] = (0, 0, 0, 0)) -> list[float]:
    """Return the error of 5 x in ulp, of what f16 gives, so many steps of its format off, by fractions."""
    found = []
    for number, step in zip(row, steps, strict=True):
        x = np.float16(number)
        total = np.float16(0)
        for _ in range(5):
            total = np.float16(total + x)
        given = (np.array(total).view(np.uint16) + np.uint16(step)).view(np.float16)
        exact = 5 * Fraction(float(x))
        ulp = Fraction(2) ** (int(np.floor(np.log2(float(exact)))) - 10)
        found.append(float(abs(Fraction(float(given)) - exact) / ulp))
    return found


def test_errors_are_those_of_fractions() -> None:
    rows = [(0.1, 0.2, 0.3, 0.7), (1.1, 2.3, 3.3, 1.0)]
    steps = (0, 1, 3, 9)
    found = measured_programs(closed(*rows), [Planted(steps)])  # type: ignore[list-item]
    ours, planted = found.runs
    right = [size for row in rows for size in errors_of(row)]
    assert (ours.elements, ours.special, ours.unanswered) == (8, 0, 0)
    assert ours.nearest == sum(size <= 0.5 for size in right)
    assert ours.max_ulp == max(right)
    assert ours.mean_ulp == pytest.approx(sum(right) / 8)
    assert ours.histogram.sum() == 8
    wrong = [size for row in rows for size in errors_of(row, steps)[:3]]
    assert (planted.elements, planted.unanswered) == (6, 2)
    assert planted.max_ulp == max(wrong)
    assert planted.mean_ulp == pytest.approx(sum(wrong) / 6)
    assert planted.worst is not None
    at = wrong.index(max(wrong))
    assert planted.worst == (at // 3, 1, (at % 3,))


def test_what_has_no_answer_is_counted() -> None:
    found = measured_programs(closed((1, 2, 3, 4), (1, 2, 3, 4)), [Planted((0, 0, 0, 0), missing=1)])  # type: ignore[list-item]
    run = found.runs[1]
    assert (run.elements, run.unanswered, run.why) == (3, 5, "it is tired")
    assert "planted: 5 elements without an answer: it is tired" in repr(found)


def test_infinities_and_unknown_numbers_are_no_errors_of_0() -> None:
    found = measured_programs(closed((60000, np.inf, np.nan, 1)), [])
    (ours,) = found.runs
    assert (ours.elements, ours.special) == (1, 1)  # 300,000 is no f16
    assert found.unknown == 2
    assert "halfulp: 1 infinities and NaNs for finite numbers" in repr(found)
    assert not found.within(1.0)


def test_numbers_that_their_shadow_does_not_know_come_from_their_history() -> None:
    """x - x + x - x ... of 40 terms near 1e300 and one small one: far more bits than two f64 have."""
    text = """func.func @f(%a: f64, %b: f64) -> f64 {
      %0 = arith.mulf %a, %a : f64
      %1 = arith.mulf %b, %b : f64
      %2 = arith.mulf %0, %0 : f64
      %3 = arith.mulf %1, %1 : f64
      %4 = arith.mulf %2, %2 : f64
      %5 = arith.mulf %3, %3 : f64
      %6 = arith.subf %4, %5 : f64
      return %6 : f64
    }"""
    a, b = 1 + 2.0**-52, 1.0
    module = hu.parse(text)
    (exact,) = exact_results(ClosedProgram(module, "f", (hu.convert(a, "f64"), hu.convert(b, "f64")))) or []
    truth = Fraction(a) ** 8 - Fraction(b) ** 8
    assert abs(Fraction(float(exact.numbers.high)) + Fraction(float(exact.numbers.low)) - truth) <= abs(truth) / 2**100


@pytest.mark.mlir
def test_mlir_runner_has_other_errors_than_we_where_its_functions_are_not_correctly_rounded() -> None:
    found = hu.program_accuracy(str(ROOT / "examples" / "attention.mlir"), against=["mlir-runner"], n=4)
    ours, theirs = found.runs
    assert theirs.elements == ours.elements == 128
    assert theirs.max_ulp > 0
