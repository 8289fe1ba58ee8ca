"""The functions of mlir-runner's libraries: they print what mlir-runner 22 prints, with a constant for each address."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.interp.dialects.func.runner import ADDRESS
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import External, Listener, Settings
from halfulp.interp.values.buffers import Buffer

DATA = Path(__file__).parents[3] / "data"
PROGRAM = (DATA / "print_memref.mlir").read_text(encoding="utf-8")
# As bytes: printMemrefI8 prints each byte as it is.
RECORDED = (DATA / "print_memref.txt").read_bytes()
PIPELINE = (
    "builtin.module(func.func(convert-vector-to-scf),convert-scf-to-cf,convert-vector-to-llvm,expand-strided-metadata,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-to-llvm,reconcile-unrealized-casts)"
)
LIBRARIES = ("libmlir_c_runner_utils.so", "libmlir_runner_utils.so")


class Printed(Listener):
    """The events of printing."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, tuple[Any, ...]]] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        self.events.append((op.name, text, tuple(values)))


def output_of(text: str, *arguments: Any, listeners: tuple[Listener, ...] = (), entry: str = "main") -> str:
    """Run a function, and return what it prints."""
    module = hu.load(text)
    parts: list[str] = []
    function = module.lookup(entry)
    assert function is not None
    program_for(module, Settings(write=parts.append, listeners=listeners)).run(function, arguments)
    return "".join(parts)


def by_mlir_runner(text: str) -> bytes:
    """Return what mlir-runner prints, with our constant in place of addresses."""
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    lowered = optimizer.run([f"--pass-pipeline={PIPELINE}"], text)
    libraries = ",".join(library(runner, name) for name in LIBRARIES)
    command = [runner.path, "-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"]
    done = subprocess.run(command, input=lowered.encode(), capture_output=True, check=True, timeout=60)
    return re.sub(rb"base@ = 0x[0-9a-f]+", f"base@ = {ADDRESS}".encode(), done.stdout)


def test_everything_prints_as_recorded() -> None:
    assert output_of(PROGRAM).encode("utf-8", "surrogateescape") == RECORDED
    assert RECORDED.count(b"Memref base@ = 0x1000 rank = ") == 17


def test_time_stands_still() -> None:
    program = (
        "func.func private @rtclock() -> f64\nfunc.func private @nanoTime() -> i64\n"
        "func.func @main() -> (f64, i64) {\n  %a = call @rtclock() : () -> f64\n  %b = call @nanoTime() : () -> i64\n"
        "  return %a, %b : f64, i64\n}"
    )
    assert [value.numpy() for value in hu.run(program)] == [0.0, 0]


@pytest.mark.mlir
def test_mlir_runner_prints_what_is_recorded() -> None:
    assert by_mlir_runner(PROGRAM) == RECORDED


@pytest.mark.mlir
def test_the_lowered_program_prints_the_same() -> None:
    lowered = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22").run([f"--pass-pipeline={PIPELINE}"], PROGRAM)
    assert "llvm.call @_mlir_ciface_printMemref0dF32(" in lowered
    assert output_of(lowered).encode("utf-8", "surrogateescape") == RECORDED


def test_a_tensor_is_printed_as_the_memref_that_it_becomes() -> None:
    program = (
        "func.func private @printMemrefF32(tensor<*xf32>)\n"
        "func.func @main(%t: tensor<2x2xf32>) {\n  %u = tensor.cast %t : tensor<2x2xf32> to tensor<*xf32>\n"
        "  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()\n  return\n}"
    )
    printed = output_of(program, hu.Value.from_numpy(np.array([[1, 2.5], [-3, 1e10]], np.float32)))
    head = "Unranked Memref base@ = 0x1000 rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1] data = \n"
    assert printed == f"{head}[[1,   2.5], \n [-3,   1e+10]]\n"


MEMREF = """\
func.func private @printMemrefI32(memref<*xi32>) attributes {{llvm.emit_c_interface}}
func.func @main(%m: memref<{type}>) {{
  %u = memref.cast %m : memref<{type}> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}}
"""
NEW = """\
func.func private @printMemrefI32(memref<*xi32>) attributes {{llvm.emit_c_interface}}
func.func @main() {{
  %a = memref.alloc() : memref<2xi32>
  %c0 = arith.constant 0 : index
  %x = arith.constant 7 : i32
  memref.store %x, %a[%c0] : memref<2xi32>
  %u = memref.cast %a : memref<2xi32> to memref<*xi32>
  {}
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}}
"""


def test_listeners_get_the_contents() -> None:
    listener = Printed()
    text = output_of(MEMREF.format(type="2xi32"), Buffer.from_numpy(np.array([7, -1], np.int32)), listeners=(listener,))
    ((op, told, (value,)),) = listener.events
    assert (op, told) == ("func.call", text)
    assert value == hu.Value.from_numpy(np.array([7, -1], np.int32))
    listener = Printed()
    output_of(
        "func.func private @printNewline()\nfunc.func @main() {\n  call @printNewline() : () -> ()\n  return\n}",
        listeners=(listener,),
    )
    assert listener.events == [("func.call", "\n", ())]


def test_poison_is_named() -> None:
    assert output_of(NEW.format("")).endswith(" data = \n[7,  poison]\n")


def test_a_memref_without_elements_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="reads the first element of a memref without elements") as raised:
        output_of(MEMREF.format(type="0xi32"), Buffer.from_numpy(np.zeros(0, np.int32)))
    assert raised.value.location is not None


def test_freed_memory_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="freed"):
        output_of(NEW.format("memref.dealloc %a : memref<2xi32>"))


@pytest.mark.parametrize(
    "signature", ["memref<*xi32>", "memref<2xf32>", "f32", "", "memref<*xf32>, memref<*xf32>", "tensor<2xf32>"]
)
def test_a_declaration_of_other_types_is_refused(signature: str) -> None:
    types = signature.split(", ") if signature else []
    arguments = ", ".join(f"%x{k}: {type_}" for k, type_ in enumerate(types))
    names = ", ".join(f"%x{k}" for k in range(len(types)))
    program = (
        f"func.func private @printMemrefF32({signature})\nfunc.func @main({arguments}) {{\n"
        f"  call @printMemrefF32({names}) : ({signature}) -> ()\n  return\n}}"
    )
    module = hu.load(program)
    function = module.lookup("main")
    assert function is not None
    with pytest.raises(hu.Unsupported, match="'@printMemrefF32' of mlir-runner's library does not take"):
        program_for(module, Settings()).function(function)


def test_a_function_of_the_user_comes_first() -> None:
    program = (
        "func.func private @printI64(i64)\nfunc.func @main(%x: i64) {\n  call @printI64(%x) : (i64) -> ()\n  return\n}"
    )
    given: list[int] = []
    own: dict[str, External] = {"printI64": lambda value: given.append(int(value.item()))}
    hu.run(program, 5, externals=own)
    assert given == [5]


def test_an_unknown_function_is_refused_as_before() -> None:
    program = (
        "func.func private @printI65(i64)\nfunc.func @main(%x: i64) {\n  call @printI65(%x) : (i64) -> ()\n  return\n}"
    )
    with pytest.raises(hu.Unsupported, match="'@printI65' is a declaration without a body"):
        hu.run(program, 5)


def test_lanes_print_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        "func.func private @printI64(i64)\nfunc.func private @printNewline()\nfunc.func @main(%x: i64) {\n"
        "  call @printI64(%x) : (i64) -> ()\n  return\n}"
    )
    hu.run(program, np.arange(3), batch=True)
    assert capsys.readouterr().out == "012"


VERIFY = """\
func.func private @verifyMemRef{suffix}(memref<*x{type}>, memref<*x{type}>) -> i64 attributes {{llvm.emit_c_interface}}
func.func @main(%a: memref<?x{type}>, %b: memref<?x{type}>) -> i64 {{
  %c = memref.cast %a : memref<?x{type}> to memref<*x{type}>
  %d = memref.cast %b : memref<?x{type}> to memref<*x{type}>
  %0 = call @verifyMemRef{suffix}(%c, %d) : (memref<*x{type}>, memref<*x{type}>) -> i64
  return %0 : i64
}}
"""


@pytest.mark.parametrize(
    ("suffix", "type_", "actual", "expected", "errors"),
    [
        ("I32", "i32", [1, 2, 3], [1, 2, 3], 0),
        ("I32", "i32", [1, 2, 3], [1, 0, 4], 2),
        ("I32", "i32", [1, 2], [1, 2, 3], -1),
        ("F32", "f32", [1, 1 + 9e-7, 1 + 1.2e-6], [1, 1, 1], 1),
        ("F32", "f32", [np.nan, np.inf, -0.0], [np.nan, np.inf, 0.0], 2),
        # Of f16 the bits count: a NaN equals itself, and zeros of two signs differ.
        ("F16", "f16", [np.nan, np.inf, -0.0, 1], [np.nan, np.inf, 0.0, 1], 1),
        ("F64", "f64", [1, 1 + 9e-13, 1 + 1.2e-12], [1, 1, 1], 1),
    ],
)
def test_verifying_counts_differences(
    suffix: str, type_: str, actual: list[float], expected: list[float], errors: int
) -> None:
    """The tolerances are those of 156 pairs that mlir-runner 22 was asked about: 1e-6 for f32, relative."""
    dtype = np.dtype(type_.replace("i", "int").replace("f", "float"))
    (found,) = hu.run(VERIFY.format(suffix=suffix, type=type_), np.array(actual, dtype), np.array(expected, dtype))
    assert found.item() == errors


COMPLEX = """\
func.func private @printMemrefC{width}(tensor<*xcomplex<f{width}>>)
func.func private @verifyMemRefC{width}(tensor<*xcomplex<f{width}>>, tensor<*xcomplex<f{width}>>) -> i64
func.func @main() -> i64 {{
  %a = arith.constant dense<[(1.0, 2.0), (-2.5, 1.0e10), (0.0, {nan})]> : tensor<3xcomplex<f{width}>>
  %b = arith.constant dense<[(1.0, 2.0), (-2.5, 1.1e10), (-0.0, {nan})]> : tensor<3xcomplex<f{width}>>
  %c = tensor.cast %a : tensor<3xcomplex<f{width}>> to tensor<*xcomplex<f{width}>>
  %d = tensor.cast %b : tensor<3xcomplex<f{width}>> to tensor<*xcomplex<f{width}>>
  call @printMemrefC{width}(%c) : (tensor<*xcomplex<f{width}>>) -> ()
  %0 = call @verifyMemRefC{width}(%c, %d) : (tensor<*xcomplex<f{width}>>, tensor<*xcomplex<f{width}>>) -> i64
  return %0 : i64
}}
"""


@pytest.mark.parametrize(("width", "nan"), [(32, "0xFFC00000"), (64, "0xFFF8000000000000")])
def test_complex_numbers(width: int, nan: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Complex numbers are compared without a tolerance; a NaN differs from itself."""
    (found,) = hu.run(COMPLEX.format(width=width, nan=nan))
    assert found.item() == 2
    assert capsys.readouterr().out.endswith(" data = \n[(1,2),  (-2.5,1e+10),  (0,-nan)]\n")
