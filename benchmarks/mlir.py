"""mlir-opt and mlir-runner as peers: one body in a loop over memory, timed inside the program, its start-up left out.

Both are asked for the CPU without AVX-512, whose bf16 instructions take subnormals for zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.rows import Absent, Disagreement
from halfulp.conformance.oracles.jit import TO_LLVM, UTILITIES, library
from halfulp.conformance.oracles.mlir_native import MlirNative
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.interp.values import as_type, element_width
from halfulp.semantics.codes import limb_count, storage_dtype

NATIVE = "mlir-runner"
APFLOAT = "mlir-runner, APFloat"
_PASSES = {NATIVE: (), APFLOAT: ("--convert-arith-to-apfloat",)}
_RUNTIME = {NATIVE: (UTILITIES,), APFLOAT: (UTILITIES, "libmlir_apfloat_wrappers.so")}
TILE = 4096
"""Elements of an operand that stand in the program; the others repeat them."""
SECONDS = 120.0


def tools() -> tuple[Tool, Tool]:
    """mlir-opt and mlir-runner. Raises Absent."""
    try:
        return find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22"), find_tool(
            "mlir-runner-22", "HALFULP_MLIR_RUNNER", "22"
        )
    except Unavailable as reason:
        raise Absent(str(reason)) from None


def run(peer: str, text: str) -> list[str]:
    """What ``@entry`` prints. Raises Absent, and Disagreement where there is no result."""
    opt, runner = tools()
    try:
        libraries = ",".join(library(runner, name) for name in _RUNTIME[peer])
        options = ["-e", "entry", "--entry-point-result=void", f"--shared-libs={libraries}", "-O3"]
        lowered = opt.run([*_PASSES[peer], *TO_LLVM], text, SECONDS)
        return runner.run([*options, f"--mattr={MlirNative.machine}"], lowered, SECONDS).split()
    except Unavailable as reason:
        raise Absent(str(reason)) from None
    except OracleError as error:
        raise Disagreement(f"{peer} gives none: {error}") from None


# Its bits are printed, since printF64 prints six digits.
_CLOCK = """
  func.func private @rtclock() -> f64
  func.func private @printU64(i64)
  func.func private @printNewline()
  func.func private @now() {
    %t = func.call @rtclock() : () -> f64
    %bits = arith.bitcast %t : f64 to i64
    func.call @printU64(%bits) : (i64) -> ()
    func.call @printNewline() : () -> ()
    return
  }
"""


def elementwise(
    peer: str,
    body: Sequence[str],
    type_: str,
    operands: Sequence[Any],
    ours: Any,
    rounds: int,
    result: str = "",
    functions: str = "",
) -> float:
    """Nanoseconds an element of a body on %x, %y that makes %r, over arrays of ``operands`` repeated to ours' length.

    ``operands``: codes of ``type_``, few. ``ours``: the codes of our results, of which the sum, each times its place,
    has to be the program's. ``result``: the type of %r, where it is another. ``functions``: what the body calls. Raises
    Absent, and Disagreement.
    """
    result = result or type_
    types = [type_] * len(operands)
    count = len(ours)
    memories = [f"memref<{count}xi{_storage(type_)}>" for type_ in (*types, result)]
    lines = [_CLOCK, functions]
    entry, loads = [], []
    for name, type_, memory, codes in zip("xy", types, memories, operands, strict=False):
        tile = memory.replace(str(count), str(len(codes)), 1)
        lines.append(f'  memref.global "private" constant @{name} : {tile} = dense<"0x{_raw(codes)}">')
        entry += [
            f"%{name}_tile = memref.get_global @{name} : {tile}",
            f"%{name} = memref.alloc() : {memory}",
            f"%{name}_size = arith.constant {len(codes)} : index",
            "scf.for %i = %zero to %count step %one {",
            f"  %k = arith.remui %i, %{name}_size : index",
            f"  %v = memref.load %{name}_tile[%k] : {tile}",
            f"  memref.store %v, %{name}[%i] : {memory}",
            "}",
        ]
        loads += _load(name, type_, memory)
    whole = f"i{_storage(result)}"
    stores = [f"%bits = arith.bitcast %r : {result} to i{_width(result)}"]
    stored = "%bits"
    if _width(result) != _storage(result):
        stores.append(f"%whole = arith.extui {stored} : i{_width(result)} to {whole}")
        stored = "%whole"
    names = "xy"[: len(types)]
    signature = ", ".join(memories)
    parameters = ", ".join(f"%m{name}: {memory}" for name, memory in zip([*names, "r"], memories, strict=True))
    lines += [
        f"  func.func private @kernel({parameters}) {{",
        *(f"    {line}" for line in _bounds(count)),
        "    scf.for %i = %zero to %count step %one {",
        *(f"      {line}" for line in (*loads, *body, *stores)),
        f"      memref.store {stored}, %mr[%i] : {memories[-1]}",
        "    }",
        "    return",
        "  }",
        "  func.func @entry() {",
        *(f"    {line}" for line in (*_bounds(count), *entry)),
        f"    %out = memref.alloc() : {memories[-1]}",
        f"    %rounds = arith.constant {rounds} : index",
        "    scf.for %round = %zero to %rounds step %one {",
        "      func.call @now() : () -> ()",
        f"      func.call @kernel({', '.join([*(f'%{name}' for name in names), '%out'])}) : ({signature}) -> ()",
        "      func.call @now() : () -> ()",
        "    }",
        "    %none = arith.constant 0 : i64",
        "    %sum = scf.for %i = %zero to %count step %one iter_args(%so_far = %none) -> i64 {",
        f"      %v = memref.load %out[%i] : {memories[-1]}",
        *(f"      {line}" for line in _folded(_storage(result))),
        "      %n = arith.addi %i, %one : index",
        "      %place = arith.index_cast %n : index to i64",
        "      %product = arith.muli %folded, %place : i64",
        "      %next = arith.addi %so_far, %product : i64",
        "      scf.yield %next : i64",
        "    }",
        "    func.call @printU64(%sum) : (i64) -> ()",
        "    return",
        "  }",
    ]
    printed = run(peer, "\n".join(lines))
    if int(printed[-1]) != _checksum(ours):
        raise Disagreement(f"the results of {peer} differ")
    times = np.array([int(word) for word in printed[:-1]], np.uint64).view(np.float64)
    return float((times[1::2] - times[::2]).min()) / count * 1e9


def _bounds(count: int) -> list[str]:
    return [
        "%zero = arith.constant 0 : index",
        "%one = arith.constant 1 : index",
        f"%count = arith.constant {count} : index",
    ]


def _width(type_: str) -> int:
    """Bits of a scalar type."""
    return element_width(as_type(type_)) or 0


def _storage(type_: str) -> int:
    """Bits of the integer that holds its code in memory."""
    width = _width(type_)
    return storage_dtype(width).itemsize * 8 * limb_count(width)


def _raw(codes: Any) -> str:
    little: bytes = codes.astype(codes.dtype.newbyteorder("<")).tobytes()
    return little.hex().upper()


def _load(name: str, type_: str, memory: str) -> list[str]:
    """Read element %i of an operand: its value is %x or %y."""
    bits, whole = f"i{_width(type_)}", f"i{_storage(type_)}"
    lines = [f"%{name}_whole = memref.load %m{name}[%i] : {memory}"]
    last = f"%{name}_whole"
    if bits != whole:
        lines.append(f"%{name}_bits = arith.trunci {last} : {whole} to {bits}")
        last = f"%{name}_bits"
    return [*lines, f"%{name} = arith.bitcast {last} : {bits} to {type_}"]


def _folded(storage: int) -> list[str]:
    """The code %v in 64 bits: what is above them is added with exclusive or."""
    if storage < 64:
        return [f"%folded = arith.extui %v : i{storage} to i64"]
    if storage == 64:
        return ["%no_bits = arith.constant 0 : i64", "%folded = arith.ori %v, %no_bits : i64"]
    return [
        "%low = arith.trunci %v : i128 to i64",
        "%by = arith.constant 64 : i128",
        "%shifted = arith.shrui %v, %by : i128",
        "%high = arith.trunci %shifted : i128 to i64",
        "%folded = arith.xori %low, %high : i64",
    ]


def _checksum(codes: Any) -> int:
    words = codes.astype(np.uint64)
    if words.ndim > 1:
        words = words[:, 0] ^ words[:, 1]
    return int((words * np.arange(1, len(words) + 1, dtype=np.uint64)).sum(dtype=np.uint64))
