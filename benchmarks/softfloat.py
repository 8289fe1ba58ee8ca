"""Berkeley SoftFloat as a peer: a shared library that the user has built, called from loops of machine code.

The environment variable HALFULP_SOFTFLOAT names the library, for example ``/opt/softfloat/libsoftfloat.so``. Its
functions get one row at a time, and its flags are read and cleared after each.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.rows import Absent

VARIABLE = "HALFULP_SOFTFLOAT"
Loop = Callable[[Sequence[Any], Any, Any], None]
"""Takes the columns of codes, and fills an array of results and one of flags."""


@cache
def library() -> ctypes.CDLL:
    """Return the library, with rounding to nearest even and tininess after rounding. Raises Absent."""
    path = os.environ.get(VARIABLE)
    if not path:
        raise Absent(f"{VARIABLE} does not name a shared library of SoftFloat")
    try:
        found = ctypes.CDLL(path)
        ctypes.c_uint8.in_dll(found, "softfloat_roundingMode").value = 0
        ctypes.c_uint8.in_dll(found, "softfloat_detectTininess").value = 1
    except (OSError, ValueError) as error:
        raise Absent(f"{VARIABLE}: {error}") from None
    return found


@cache
def loop(name: str, width: int, operands: int) -> Loop:
    """Return a loop over a function such as ``f16_mulAdd``, whose operands and result have ``width`` bits."""
    from halfulp.fp_formats.paths import llvm

    address = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
    flags = ctypes.addressof(ctypes.c_uint8.in_dll(library(), "softfloat_exceptionFlags"))
    ir = llvm.ir()
    code, byte, word, pointer = ir.IntType(width), ir.IntType(8), ir.IntType(64), ir.PointerType()
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word, *[pointer] * (operands + 2)]), "rows")
    count, *arrays = function.args
    start, body, end = (function.append_basic_block() for _ in range(3))
    builder = ir.IRBuilder(start)
    builder.cbranch(builder.icmp_unsigned("==", count, word(0)), end, body)
    builder.position_at_end(body)
    row = builder.phi(word)
    row.add_incoming(word(0), start)
    given = [
        builder.load(builder.gep(each, [row], source_etype=code), typ=code, align=width // 8)
        for each in arrays[:operands]
    ]
    type_ = ir.FunctionType(code, [code] * operands)
    made = builder.call(builder.inttoptr(word(address), type_.as_pointer()), given)
    place = builder.inttoptr(word(flags), pointer)
    builder.store(made, builder.gep(arrays[operands], [row], source_etype=code), align=width // 8)
    builder.store(builder.load(place, typ=byte, align=1), builder.gep(arrays[operands + 1], [row], source_etype=byte))
    builder.store(byte(0), place)
    following = builder.add(row, word(1))
    row.add_incoming(following, body)
    builder.cbranch(builder.icmp_unsigned("<", following, count), body, end)
    ir.IRBuilder(end).ret_void()
    compiled = llvm.compile_assembly(str(module), "rows", vectors=False)
    entry = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (operands + 2))(compiled.address)

    def run(columns: Sequence[Any], results: Any, raised: Any) -> None:
        entry(len(results), *(each.ctypes.data for each in (*columns, results, raised)))

    run.code = compiled  # type: ignore[attr-defined]  # it lives as long as the loop
    return run


def empty(width: int, count: int) -> tuple[Any, Any]:
    """Return arrays for the results and the flags of ``count`` rows."""
    return np.empty(count, f"u{width // 8}"), np.empty(count, np.uint8)
