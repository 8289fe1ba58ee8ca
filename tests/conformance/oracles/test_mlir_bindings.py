"""Passes by Python bindings of MLIR, in child processes: those of the wheel torch-mlir, and a package that goes wrong."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import halfulp as hu
from halfulp.command import main as cli
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.oracles.jit import MlirNative
from halfulp.conformance.oracles.mlir_opt import Bindings, find_mlir_opt
from halfulp.conformance.oracles.oracle import OracleError, Status, Unavailable
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline

WHEEL = pytest.mark.torch_mlir

CANONICALIZE = "builtin.module(canonicalize)"
GOOD = """\
func.func @f(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %x, %c0 : i32
  return %0 : i32
}
"""
GOOD_AFTER = """\
module {
  func.func @f(%arg0: i32) -> i32 {
    return %arg0 : i32
  }
}
"""
REJECTED = GOOD.replace("addi", "foo")

RAN = """\
llvm.func @printU64(i64)
llvm.func @printNewline()
llvm.func @entry() {
  %number = llvm.mlir.constant(-2 : i64) : i64
  WORK
  llvm.call @printU64(%number) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.return
}
"""
OUTSIDE = "%none = llvm.mlir.zero : !llvm.ptr\n  llvm.store %number, %none : i64, !llvm.ptr"

# --- the wheel --------------------------------------------------------------------------------------------------------


def pipeline(passes: str = CANONICALIZE) -> PassPipeline:
    return PassPipeline(find_mlir_opt("24"), passes)


@WHEEL
def test_one_module_and_many() -> None:
    assert pipeline().version.startswith("torch-mlir 2")
    assert pipeline().apply(GOOD) == GOOD_AFTER
    first, second, third = pipeline().apply_all([GOOD, REJECTED, GOOD])
    assert first == third == GOOD_AFTER
    assert isinstance(second, PassFailure)
    assert (second.location.line, second.location.column) == (3, 8)  # type: ignore[union-attr]
    assert "custom op 'arith.foo' is unknown" in second.message


@WHEEL
def test_ops_keep_their_places_in_the_generic_form() -> None:
    module = hu.parse(pipeline("").generic(GOOD, "a.mlir", placed=True))
    assert [str(op.location) for op in module.walk() if op.name == "arith.addi"] == ['"a.mlir":3:8']


@WHEEL
def test_the_text_after_each_pass() -> None:
    said, failure = pipeline("builtin.module(canonicalize,func.func(cse))").dumped(GOOD)
    assert failure is None
    assert said.count("IR Dump After ") == 2


@WHEEL
def test_a_pipeline_that_does_not_exist() -> None:
    with pytest.raises(PassFailure, match="'no-such-pass' does not refer to a registered pass"):
        pipeline("builtin.module(no-such-pass)").apply(GOOD)


@WHEEL
def test_a_crash_of_machine_code_ends_one_request() -> None:
    tool = find_mlir_opt("24")
    for work, code in (("", None), (OUTSIDE, "crash"), ("llvm.call @missing() : () -> ()", "refusal"), ("", None)):
        text = RAN.replace("WORK", work) + ("llvm.func @missing()\n" if "missing" in work else "")
        if code is None:
            assert tool.run(["--entry=entry"], text) == f"{2**64 - 2}\n"
            continue
        with pytest.raises(OracleError) as caught:
            tool.run(["--entry=entry"], text)
        assert caught.value.kind == code


@WHEEL
def test_machine_code_of_the_wheel() -> None:
    """The sums of integers and of halves are exact; a division by zero traps, in its own process."""
    native = MlirNative("24")
    assert native.version.startswith("24")
    ints = np.array([0, 1, 127, 128, 255], np.uint8)
    (sums,) = native.evaluate(op_case("arith.addi", "i8"), [ints, ints[::-1].copy()])
    assert sums.bits.tolist() == [255, 129, 254, 129, 255]
    halves = np.array([0.5, -3.0, 2.0**120], np.float32).view(np.uint32)
    (sums,) = native.evaluate(op_case("arith.addf", "f32"), [halves, halves])
    assert sums.bits.view(np.float32).tolist() == [1.0, -6.0, 2.0**121]
    (ratios,) = native.evaluate(
        op_case("arith.divui", "i32"), [np.array([7, 7], np.uint32), np.array([2, 0], np.uint32)]
    )
    assert ratios.bits[0] == 3
    assert ratios.status is not None
    assert ratios.status.tolist() == [Status.VALUE, Status.TRAP]


@WHEEL
def test_programs_are_compared_with_machine_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    assert cli.main(["diff", str(path), "--against=mlir-native", "--mlir=24", "-n", "5"]) == 0
    assert re.match(r"mlir-native 24\S+: 5 inputs; elements: 5 equal\n", capsys.readouterr().out)


@WHEEL
def test_the_command_compares_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(GOOD, encoding="utf-8")
    assert cli.main(["diff", str(path), f"--pass-pipeline={CANONICALIZE}", "--mlir=24"]) == 0
    assert cli.main(["bisect", str(path), f"--pass-pipeline={CANONICALIZE}", "--mlir=24"]) == 0
    assert "canonicalize" in capsys.readouterr().out


# --- a package that goes wrong ----------------------------------------------------------------------------------------

IR = """
import os, time
class MLIRError(Exception): pass
class Context:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def enable_multithreading(self, _): pass
class Operation:
    def __init__(self, text): self.text = text
    def write_bytecode(self, file): file.write(b"ML\\xefR\\x0dMLIR99.1.0git\\0")
    def get_asm(self, **_): return self.text
class Module:
    def __init__(self, text): self.operation = Operation(text)
    parse = classmethod(lambda cls, text: cls(text))
"""

PASSES = """
import os, stat, time
class PassManager:
    parse = classmethod(lambda cls, text: cls())
    def run(self, operation):
        os.write(1, b"a pass prints this\\n")
        what = operation.text.split()[0]
        if what == "ends": os._exit(3)
        if what == "killed": os.kill(os.getpid(), 9)
        if what == "halved":
            pipes = [fd for fd in range(3, 20) if os.path.exists(f"/dev/fd/{fd}") and stat.S_ISFIFO(os.fstat(fd).st_mode)]
            os.write(pipes[-1], b'{"code": 0, "printed": "the rest is miss')
            os.kill(os.getpid(), 9)
        if what == "aborts": os.write(2, b"Assertion `x' failed\\n"); os.abort()
        if what == "hangs": time.sleep(60)
        if what == "eats": bytearray(5 << 30)
"""


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PassPipeline:
    """Make bindings whose passes do what the first word of a module says."""
    package = tmp_path / "wrong_mlir"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "ir.py").write_text(IR, encoding="utf-8")
    (package / "passmanager.py").write_text(PASSES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return PassPipeline(find_mlir_opt("python:wrong_mlir"), CANONICALIZE, seconds=1.5)


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("ends", "crash", "crashed"),
        ("killed", "crash", r"crashed \(signal 9\)"),
        ("halved", "crash", r"crashed \(signal 9\)"),
        ("aborts", "crash", r"crashed \(signal 6\): Assertion"),
        ("hangs", "hang", "did not end in 1.5 s"),
        ("eats", "crash", "crashed: MemoryError"),
    ],
)
def test_what_one_module_does_is_one_line_and_the_rest_goes_on(
    word: str, kind: str, message: str, wrong: PassPipeline
) -> None:
    assert wrong.version == "wrong-mlir 99.1.0git"
    if word == "eats" and sys.platform != "linux":
        pytest.skip("no limit on memory")
    before, failure, after = wrong.apply_all(["fine 1", word, "fine 2"])
    assert (before, after) == ("fine 1\n", "fine 2\n")
    assert isinstance(failure, PassFailure)
    assert failure.kind == kind
    assert re.search(message, failure.message)
    assert "\n" not in failure.message


def test_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="the Python package no_such_mlir is not installed"):
        find_mlir_opt("python:no_such_mlir")
    with pytest.raises(Unavailable, match="the Python package no_such.mlir is not installed"):
        find_mlir_opt("python:no_such.mlir")
    for nothing in ("", "python:"):
        with pytest.raises(Unavailable, match="no MLIR is named|python: names no Python package"):
            find_mlir_opt(nothing)
    with pytest.raises(Unavailable, match=r"json has no bindings of MLIR that load: ModuleNotFoundError: .*'json\.ir'"):
        find_mlir_opt("python:json")
    monkeypatch.setenv("HALFULP_MLIR_OPT", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match="HALFULP_MLIR_OPT"):
        find_mlir_opt()


@WHEEL
def test_the_wheel_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALFULP_MLIR_OPT", raising=False)
    assert isinstance(find_mlir_opt(), Bindings)
