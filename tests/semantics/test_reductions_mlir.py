"""Sums in order, beside linalg ops that MLIR lowers to loops and executes."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.tool import find_tool

pytestmark = pytest.mark.mlir

LOWERING = (
    *("--convert-linalg-to-loops", "--convert-scf-to-cf", "--expand-strided-metadata", "--finalize-memref-to-llvm"),
    *("--convert-arith-to-llvm", "--convert-cf-to-llvm", "--convert-func-to-llvm", "--reconcile-unrealized-casts"),
)
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def constant(name: str, array: Any, element: str) -> str:
    type_ = f"memref<{'x'.join(map(str, array.shape))}x{element}>"
    return f'memref.global "private" constant @{name} : {type_} = dense<"0x{array.tobytes().hex().upper()}">'


def executed(mlir_opt: Any, constants: str, body: str, shape: tuple[int, int], element: str) -> npt.NDArray[np.uint64]:
    """Return the codes of ``%c``, a memref of this shape that starts as zeros, after a body in loops."""
    width = int(element[1:])
    memref = f"memref<{shape[0]}x{shape[1]}x{element}>"
    wide, extended = ("%i", "") if width == 64 else ("%w", f"%w = arith.extui %i : i{width} to i64")
    lowered = mlir_opt(
        f"""
        func.func private @printU64(i64)
        func.func private @printNewline()
        {constants}
        func.func @main() {{
          %z = arith.constant 0.0 : {element}
          %c = memref.alloc() : {memref}
          linalg.fill ins(%z : {element}) outs(%c : {memref})
          {body}
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %rows = arith.constant {shape[0]} : index
          %columns = arith.constant {shape[1]} : index
          scf.for %p = %c0 to %rows step %c1 {{
            scf.for %q = %c0 to %columns step %c1 {{
              %v = memref.load %c[%p, %q] : {memref}
              %i = arith.bitcast %v : {element} to i{width}
              {extended}
              func.call @printU64({wide}) : (i64) -> ()
              func.call @printNewline() : () -> ()
            }}
          }}
          return
        }}""",
        *LOWERING,
    )
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    options = ["-e", "main", "-entry-point-result=void", "-O0"]
    printed = runner.run([*options, f"-shared-libs={library(runner, 'libmlir_c_runner_utils.so')}"], lowered, 60)
    return np.array([int(line) for line in printed.split()], np.uint64).reshape(shape)


@pytest.mark.parametrize(
    ("element", "acc"), [("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("f16", "f32"), ("f32", "f64")]
)
def test_matmul_is_linalg_matmul(mlir_opt: Any, element: str, acc: str) -> None:
    numbers = np.random.default_rng(3)
    a = (numbers.standard_normal((4, 37)) * 10).astype(DTYPES[element])
    b = numbers.standard_normal((37, 3)).astype(DTYPES[element])
    a[1, 5], a[2, 7], a[2, 9] = np.inf, np.inf, -np.inf
    body = f"""
      %a = memref.get_global @a : memref<4x37x{element}>
      %b = memref.get_global @b : memref<37x3x{element}>
      linalg.matmul ins(%a, %b : memref<4x37x{element}>, memref<37x3x{element}>) outs(%c : memref<4x3x{acc}>)
    """
    theirs = executed(mlir_opt, f"{constant('a', a, element)}\n{constant('b', b, element)}", body, (4, 3), acc)
    ours = hu.matmul(a, b, acc=acc)
    nan = np.isnan(ours.numpy())  # whose bits MLIR leaves open
    assert np.array_equal(nan, np.isnan(theirs.astype(ours.bits.dtype).view(DTYPES[acc])))
    assert ours.bits[~nan].tolist() == theirs[~nan].tolist()
    assert ours.bits.tolist() != hu.matmul(a, b, acc=acc, order="pairwise").bits.tolist()


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_sum_over_two_axes_is_linalg_reduce(mlir_opt: Any, element: str) -> None:
    x = (np.random.default_rng(4).standard_normal((11, 3, 13, 2)) * 100).astype(DTYPES[element])
    body = f"""
      %x = memref.get_global @x : memref<11x3x13x2x{element}>
      linalg.reduce ins(%x : memref<11x3x13x2x{element}>) outs(%c : memref<3x2x{element}>) dimensions = [0, 2]
        (%in : {element}, %total : {element}) {{
          %sum = arith.addf %total, %in : {element}
          linalg.yield %sum : {element}
        }}
    """
    theirs = executed(mlir_opt, constant("x", x, element), body, (3, 2), element)
    assert hu.sum(x, (0, 2)).bits.tolist() == theirs.tolist()
    assert hu.sum(x, (2, 0)).bits.tolist() == theirs.tolist()
    assert hu.sum(x, (0, 2), order="pairwise").bits.tolist() != theirs.tolist()
