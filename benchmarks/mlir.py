"""Run mlir-opt and mlir-runner as peers: one body in a loop over memory. The program measures the time itself, so that
its start does not count.

Both are asked for the CPU without AVX-512, whose bf16 instructions take subnormals for zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.rows import Absent, Disagreement
from halfulp.conformance.oracles import jit
from halfulp.conformance.oracles.jit import TO_LLVM, UTILITIES, library
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.conformance.whole_programs.pass_claims import pipeline
from halfulp.fp_formats.formats import limb_count, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value

NATIVE = "mlir-runner"
APFLOAT = "mlir-runner, APFloat"
_PASSES = {NATIVE: (), APFLOAT: ("--convert-arith-to-apfloat",)}
_RUNTIME = {NATIVE: (UTILITIES,), APFLOAT: (UTILITIES, "libmlir_apfloat_wrappers.so")}
TILE = 4096
"""The number of elements of an operand that the program contains as constants; the other elements repeat them."""
SECONDS = 120.0


def tools() -> tuple[Tool, Tool]:
    """Return mlir-opt and mlir-runner. Raises Absent."""
    try:
        opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
        return opt, find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    except Unavailable as reason:
        raise Absent(str(reason)) from None


def run(peer: str, text: str, passes: Sequence[str] = ()) -> list[str]:
    """Run ``@entry`` after some passes, and return what it prints. Raises Absent, and Disagreement if there is no
    result.
    """
    return _run(peer, text, [*passes, *_PASSES[peer], *TO_LLVM])


def _run(peer: str, text: str, passes: Sequence[str]) -> list[str]:
    opt, runner = tools()
    try:
        libraries = ",".join(library(runner, name) for name in _RUNTIME[peer])
        options = ["-e", "entry", "--entry-point-result=void", f"--shared-libs={libraries}", "-O3"]
        return runner.run([*options, jit.PLAIN_X86], opt.run(passes, text, SECONDS), SECONDS).split()
    except Unavailable as reason:
        raise Absent(str(reason)) from None
    except OracleError as error:
        raise Disagreement(f"{peer} gives none: {error}") from None


# The clock's bits are printed, since printF64 prints six digits.
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
# The sum at the end takes each code times its place.
_PROGRAM = """
  memref.global "private" constant @x : {tile} = dense<"0x{x}">
  memref.global "private" constant @y : {tile} = dense<"0x{y}">
  {functions}
  func.func private @repeated(%from: {tile}) -> {memory} {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %size = arith.constant {few} : index
    %count = arith.constant {count} : index
    %to = memref.alloc() : {memory}
    scf.for %i = %zero to %count step %one {{
      %k = arith.remui %i, %size : index
      %v = memref.load %from[%k] : {tile}
      memref.store %v, %to[%i] : {memory}
    }}
    return %to : {memory}
  }}
  func.func private @kernel(%xs: {memory}, %ys: {memory}, %rs: {memory}) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %count = arith.constant {count} : index
    scf.for %i = %zero to %count step %one {{
      %x_code = memref.load %xs[%i] : {memory}
      %y_code = memref.load %ys[%i] : {memory}
      {decode}
      {body}
      {encode}
      memref.store %r_code, %rs[%i] : {memory}
    }}
    return
  }}
  func.func @entry() {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %count = arith.constant {count} : index
    %rounds = arith.constant {rounds} : index
    %x_tile = memref.get_global @x : {tile}
    %y_tile = memref.get_global @y : {tile}
    %x = func.call @repeated(%x_tile) : ({tile}) -> {memory}
    %y = func.call @repeated(%y_tile) : ({tile}) -> {memory}
    %r = memref.alloc() : {memory}
    scf.for %round = %zero to %rounds step %one {{
      func.call @now() : () -> ()
      func.call @kernel(%x, %y, %r) : ({memory}, {memory}, {memory}) -> ()
      func.call @now() : () -> ()
    }}
    %none = arith.constant 0 : i64
    %sum = scf.for %i = %zero to %count step %one iter_args(%so_far = %none) -> i64 {{
      %v = memref.load %r[%i] : {memory}
      {fold}
      %n = arith.addi %i, %one : index
      %place = arith.index_cast %n : index to i64
      %product = arith.muli %word, %place : i64
      %next = arith.addi %so_far, %product : i64
      scf.yield %next : i64
    }}
    func.call @printU64(%sum) : (i64) -> ()
    return
  }}
"""


def elementwise(
    peer: str,
    body: Sequence[str],
    type_: str,
    operands: Sequence[Any],
    ours: Any,
    rounds: int,
    functions: str = "",
) -> float:
    """Return the time per element, in nanoseconds, of a body over arrays as long as ``ours``, halfulp's results. The
    body makes %r from %x and %y, all of one type.

    ``operands``: a few codes for %x and %y, which are repeated. ``ours``: the codes of halfulp's results, whose sum
    must be equal to the sum that the program prints. ``functions``: what the body calls. Raises Absent, and
    Disagreement.
    """
    x, y = operands
    width = width_of(as_type(type_))
    storage = storage_dtype(width).itemsize * 8 * limb_count(width)
    text = _PROGRAM.format(
        tile=f"memref<{len(x)}xi{storage}>",
        memory=f"memref<{len(ours)}xi{storage}>",
        few=len(x),
        count=len(ours),
        rounds=rounds,
        x=_raw(x),
        y=_raw(y),
        functions=functions,
        body="\n      ".join(body),
        decode="\n      ".join(line for name in "xy" for line in _decode(name, type_, width, storage)),
        encode="\n      ".join(_encode(type_, width, storage)),
        fold="\n      ".join(_fold(storage)),
    )
    return _seconds(peer, run(peer, _CLOCK + text), ours) / len(ours) * 1e9


def _seconds(peer: str, printed: Sequence[str], ours: Any) -> float:
    """Return the shortest time between two prints of the clock. Raises Disagreement unless the last number is the sum
    of ``ours``, the codes of halfulp's results.
    """
    *clock, total = map(int, printed)
    if total != _checksum(ours):
        raise Disagreement(f"the results of {peer} differ")
    times = np.array(clock, np.uint64).view(np.float64)
    return float((times[1::2] - times[::2]).min())


_STRUCTURED = """
  {globals}
  func.func private @kernel({parameters}) {{
    {body}
    return
  }}
  func.func @entry() {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %rounds = arith.constant {rounds} : index
    {operands}
    %r = memref.alloc() : {result}
    scf.for %round = %zero to %rounds step %one {{
      func.call @now() : () -> ()
      func.call @kernel({arguments}) : ({types}) -> ()
      func.call @now() : () -> ()
    }}
    %none = arith.constant 0 : i64
    %flat = memref.collapse_shape %r [[{axes}]] : {result} into memref<{count}xf32>
    %count = arith.constant {count} : index
    %sum = scf.for %i = %zero to %count step %one iter_args(%so_far = %none) -> i64 {{
      %x = memref.load %flat[%i] : memref<{count}xf32>
      %v = arith.bitcast %x : f32 to i32
      %word = arith.extui %v : i32 to i64
      %n = arith.addi %i, %one : index
      %place = arith.index_cast %n : index to i64
      %product = arith.muli %word, %place : i64
      %next = arith.addi %so_far, %product : i64
      scf.yield %next : i64
    }}
    func.call @printU64(%sum) : (i64) -> ()
    return
  }}
"""
_LOOPS = ("--convert-linalg-to-loops", "--expand-strided-metadata", "--lower-affine")


def structured(body: str, operands: Sequence[Any], ours: Any, rounds: int) -> float:
    """Return the time, in seconds, of structured ops on memrefs of f32, lowered to loops. They write %r from %a and %b.

    ``operands``: arrays of f32. ``ours``: halfulp's results; the sum of their codes must be equal to the sum that the
    program prints. Raises Absent, and Disagreement.
    """
    types = [f"memref<{'x'.join(map(str, each.shape))}xf32>" for each in (*operands, ours)]
    names = ["%a", "%b"][: len(operands)]
    codes = [np.ascontiguousarray(each).view(np.uint32) for each in operands]
    text = _STRUCTURED.format(
        globals="\n  ".join(
            f'memref.global "private" constant @{name[1:]} : {type_} = dense<"0x{_raw(each)}">'
            for name, type_, each in zip(names, types, codes, strict=False)
        ),
        parameters=", ".join(f"{name}: {type_}" for name, type_ in zip([*names, "%r"], types, strict=True)),
        body=body,
        rounds=rounds,
        operands="\n    ".join(
            f"{name} = memref.get_global @{name[1:]} : {type_}" for name, type_ in zip(names, types, strict=False)
        ),
        result=types[-1],
        arguments=", ".join([*names, "%r"]),
        types=", ".join(types),
        axes=", ".join(map(str, range(ours.ndim))),
        count=ours.size,
    )
    return _seconds(NATIVE, run(NATIVE, _CLOCK + text, _LOOPS), np.ascontiguousarray(ours).view(np.uint32).ravel())


CALLS = 20
"""The number of calls of a whole program between two readings of the clock, which counts microseconds."""
_WHOLE = """
  func.func @entry() {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %rounds = arith.constant {rounds} : index
    %times = arith.constant {times} : index
    {operands}
    scf.for %round = %zero to %rounds step %one {{
      func.call @now() : () -> ()
      scf.for %time = %one to %times step %one {{
        {call}
      }}
      {call}
      func.call @now() : () -> ()
      {uses}
    }}
    {call}
    {printing}
    return
  }}
"""


def lowered(text: str, stage: str) -> str:
    """Return a program on tensors after the passes of a stage. Raises Absent."""
    return tools()[0].run([f"--pass-pipeline={pipeline(stage)}"], text, SECONDS)


def whole(
    program: str, arguments: Sequence[Value], results: Sequence[ty.Type], stage: str, rounds: int
) -> tuple[float, list[Any]]:
    """Return the time, in seconds, of the function ``@main`` of tensors, lowered through a stage, and the codes of its
    results.

    ``program``: the text of a module. Raises Absent, and Disagreement if there is no result.
    """
    names = [f"argument{number}" for number in range(len(arguments))]
    types = [value.type for value in arguments]
    given = ", ".join(f"%{name}" for name in names)
    entry = _WHOLE.format(
        rounds=rounds,
        times=CALLS,
        operands="\n    ".join(
            f"%{name} = func.call @{name}() : () -> {type_}" for name, type_ in zip(names, types, strict=True)
        ),
        call=f"%r:{len(results)} = func.call @main({given}) : ({_listed(types)}) -> ({_listed(results)})",
        # LLVM leaves out what nothing uses.
        uses="\n      ".join(
            line
            for number, type_ in enumerate(results)
            for line in jit.printing_element(number, type_, ["%zero"] * len(ty.shape_of(type_) or ()))
        ),
        printing="\n    ".join(line for number, type_ in enumerate(results) for line in jit.printing(number, type_)),
    )
    functions = ["\n".join(jit.argument(name, value.type, value)) for name, value in zip(names, arguments, strict=True)]
    head, opening, body = program.partition(" {\n")
    text = "\n".join([head + opening, _CLOCK, *functions, entry, body])
    passes = f"--pass-pipeline={pipeline(stage, jit.BEFORE, jit.AFTER)}"
    printed = list(map(int, _run(NATIVE, text, [passes])))
    each = 2 + len(results)
    clock = np.array(printed[: rounds * each], np.uint64).view(np.float64).reshape(rounds, each)
    seconds = float((clock[:, 1] - clock[:, 0]).min())
    return seconds / CALLS, [answer.bits for answer in jit.answers(results, printed[rounds * each :])]


def _listed(types: Sequence[ty.Type]) -> str:
    return ", ".join(map(str, types))


def _decode(name: str, type_: str, width: int, storage: int) -> list[str]:
    """Return the lines of MLIR that convert the code of an operand, stored in ``storage`` bits, to a value."""
    if width == storage:
        return [f"%{name} = arith.bitcast %{name}_code : i{width} to {type_}"]
    return [
        f"%{name}_bits = arith.trunci %{name}_code : i{storage} to i{width}",
        f"%{name} = arith.bitcast %{name}_bits : i{width} to {type_}",
    ]


def _encode(type_: str, width: int, storage: int) -> list[str]:
    """Return the lines of MLIR that convert the value %r to its code."""
    if width == storage:
        return [f"%r_code = arith.bitcast %r : {type_} to i{width}"]
    return [
        f"%r_bits = arith.bitcast %r : {type_} to i{width}",
        f"%r_code = arith.extui %r_bits : i{width} to i{storage}",
    ]


def _raw(codes: Any) -> str:
    little: bytes = codes.astype(codes.dtype.newbyteorder("<")).tobytes()
    return little.hex().upper()


def _fold(storage: int) -> list[str]:
    """Return the lines of MLIR that reduce the code %v to 64 bits: the higher bits are combined with exclusive or."""
    if storage < 64:
        return [f"%word = arith.extui %v : i{storage} to i64"]
    if storage == 64:
        return ["%word = arith.bitcast %v : i64 to i64"]
    return [
        "%low = arith.trunci %v : i128 to i64",
        "%by = arith.constant 64 : i128",
        "%shifted = arith.shrui %v, %by : i128",
        "%high = arith.trunci %shifted : i128 to i64",
        "%word = arith.xori %low, %high : i64",
    ]


def _checksum(codes: Any) -> int:
    words = codes.astype(np.uint64)
    if words.ndim > 1:
        words = words[:, 0] ^ words[:, 1]
    return int((words * np.arange(1, len(words) + 1, dtype=np.uint64)).sum(dtype=np.uint64))
