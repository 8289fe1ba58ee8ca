"""Write modules whose work runs in child processes of mlir-runner, and read what these print.

All work runs in a child of the runner's process (``fork``): a trap or an endless loop ends only that child. A child
prints its results as decimal numbers, one limb per line; the status of the child follows in brackets.
"""

from __future__ import annotations

from typing import NamedTuple

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import (
    OracleError,
)
from halfulp.fp_formats.formats import LIMB_BITS, Codes, code_shape, limb_count, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Module
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.text.printer import print_module

CHILD_SECONDS = 10

_SCAFFOLD = f"""
  func.func private @fork() -> i32
  func.func private @waitpid(i32, !llvm.ptr, i32) -> i32
  func.func private @fflush(!llvm.ptr) -> i32
  func.func private @_exit(i32)
  func.func private @alarm(i32) -> i32
  func.func private @signal(i32, !llvm.ptr) -> !llvm.ptr
  func.func private @printU64(i64)
  func.func private @printOpen()
  func.func private @printClose()
  func.func private @printNewline()
  func.func private @line(%number: i64) {{
    func.call @printU64(%number) : (i64) -> ()
    func.call @printNewline() : () -> ()
    return
  }}
  func.func private @default(%number: i32) {{
    %none = llvm.mlir.zero : !llvm.ptr
    %before = func.call @signal(%number, %none) : (i32, !llvm.ptr) -> !llvm.ptr
    return
  }}
  func.func private @guarded(%work: (i64) -> (), %which: i64) {{
    %none = llvm.mlir.zero : !llvm.ptr
    %one = llvm.mlir.constant(1 : i64) : i64
    %status = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
    %zero = arith.constant 0 : i32
    %flushed = func.call @fflush(%none) : (!llvm.ptr) -> i32
    %pid = func.call @fork() : () -> i32
    %child = arith.cmpi eq, %pid, %zero : i32
    scf.if %child {{
      %ill = arith.constant 4 : i32
      %abort = arith.constant 6 : i32
      %bus = arith.constant 7 : i32
      %fpe = arith.constant 8 : i32
      %segment = arith.constant 11 : i32
      func.call @default(%ill) : (i32) -> ()
      func.call @default(%abort) : (i32) -> ()
      func.call @default(%bus) : (i32) -> ()
      func.call @default(%fpe) : (i32) -> ()
      func.call @default(%segment) : (i32) -> ()
      %seconds = arith.constant {CHILD_SECONDS} : i32
      %left = func.call @alarm(%seconds) : (i32) -> i32
      func.call_indirect %work(%which) : (i64) -> ()
      %end = func.call @fflush(%none) : (!llvm.ptr) -> i32
      func.call @_exit(%zero) : (i32) -> ()
    }}
    %ended = func.call @waitpid(%pid, %status, %zero) : (i32, !llvm.ptr, i32) -> i32
    %word = llvm.load %status : !llvm.ptr -> i32
    %number = arith.extui %word : i32 to i64
    func.call @printOpen() : () -> ()
    func.call @printU64(%number) : (i64) -> ()
    func.call @printClose() : () -> ()
    func.call @printNewline() : () -> ()
    return
  }}
"""

SIGALRM = 14


class Child(NamedTuple):
    """The numbers that one child printed, and the signal that ended it (0: none)."""

    numbers: list[int]
    signal: int


def signal_of(status: int) -> int:
    """Return the signal in a status of waitpid. A child that called exit with an error counts as aborted."""
    return status & 0x7F or (6 if status >> 8 & 0xFF else 0)


def spliced(module: Module, text: str) -> str:
    """Insert the scaffold and further text into a module."""
    printed = print_module(module)
    head, opening, body = printed.partition("module {\n")
    if not opening:
        head, opening, body = printed.partition("module")
        raise OracleError("garbage", f"cannot enter the module {body[:40]!r}")
    return f"{head}{opening}{_SCAFFOLD}{text}{body}"


def codes_of_limbs(limbs: Codes, width: int, shape: tuple[int, ...]) -> Codes:
    """Convert rows of limbs to the codes of an array."""
    return limbs.reshape(code_shape(shape, width)).astype(storage_dtype(width))


def _integer(width: int) -> str:
    """Return the integer type that holds a code in whole limbs, or in one smaller number."""
    return f"i{storage_dtype(width).itemsize * 8 * limb_count(width)}"


def _bits_type(type_: ty.Type) -> str:
    """Return the integer type of an element type's codes."""
    return f"i{element_width(type_)}"


def case_text(case: OpCase, columns: list[Codes], batch: int, group: int) -> str:
    """Write the operands in memory, a function that applies the op to one element and prints the result, and the entry.

    The first ``batch`` elements run in groups, the others alone.
    """
    count = len(columns[0])
    lines = []
    body = []
    operands = []
    for k, (type_, column) in enumerate(zip(case.operand_types, columns, strict=True)):
        memory = f"memref<{count}x{column.shape[1]}xi{column.dtype.itemsize * 8}>"
        data = column.astype(column.dtype.newbyteorder("<")).tobytes().hex().upper()
        lines.append(f'  memref.global "private" constant @operand{k} : {memory} = dense<"0x{data}">')
        body.append(f"%memory{k} = memref.get_global @operand{k} : {memory}")
        operands.append(_load(body, f"{k}", memory, column.shape[1], type_))
    signature = f"({', '.join(case.operands)}) -> ({', '.join(case.results)})"
    body.append(f"%r:{len(case.results)} = func.call @eval({', '.join(operands)}) : {signature}")
    for k, type_ in enumerate(case.result_types):
        print_value(body, f"%r#{k}", f"out{k}_", type_)
    lines += ["  func.func private @element(%which: i64) {", "    %i = arith.index_cast %which : i64 to index"]
    lines += [f"    {line}" for line in body]
    lines += [
        "    return",
        "  }",
        "  func.func private @group(%first: i64) {",
        "    %begin = arith.index_cast %first : i64 to index",
        f"    %most = arith.constant {group} : index",
        f"    %all = arith.constant {batch} : index",
        "    %next = arith.addi %begin, %most : index",
        "    %end = arith.minsi %next, %all : index",
        *_loop("%begin", "%end", 1, "func.call @element(%n) : (i64) -> ()"),
        "    return",
        "  }",
        "  func.func @entry() {",
        "    %group = func.constant @group : (i64) -> ()",
        "    %element = func.constant @element : (i64) -> ()",
        "    %zero = arith.constant 0 : index",
        f"    %batch = arith.constant {batch} : index",
        f"    %count = arith.constant {count} : index",
        *_loop("%zero", "%batch", group, "func.call @guarded(%group, %n) : ((i64) -> (), i64) -> ()"),
        *_loop("%batch", "%count", 1, "func.call @guarded(%element, %n) : ((i64) -> (), i64) -> ()"),
    ]
    return "\n".join([*lines, "    return", "  }", ""])


def _loop(start: str, stop: str, step: int, statement: str) -> list[str]:
    """Write a loop over indices; the statement reads the index from ``%n``."""
    name = f"%step{start[1:]}"
    return [
        f"    {name} = arith.constant {step} : index",
        f"    scf.for %k = {start} to {stop} step {name} {{",
        "      %n = arith.index_cast %k : index to i64",
        f"      {statement}",
        "    }",
    ]


def _load(body: list[str], name: str, memory: str, limbs: int, type_: ty.Type) -> str:
    """Write code that reads element ``%i`` as a value of the type; return the name of the value."""
    width = width_of(type_)
    whole, bits = _integer(width), _bits_type(type_)
    for limb in range(limbs):
        body.append(f"%at{name}_{limb} = arith.constant {limb} : index")
        body.append(f"%limb{name}_{limb} = memref.load %memory{name}[%i, %at{name}_{limb}] : {memory}")
    value = f"%limb{name}_0"
    for limb in range(1, limbs):
        shifted = f"{name}_{limb}"
        if limb == 1:
            body.append(f"%low{name} = arith.extui {value} : i64 to {whole}")
            value = f"%low{name}"
        body.append(f"%wide{shifted} = arith.extui %limb{shifted} : i64 to {whole}")
        body.append(f"%by{shifted} = arith.constant {limb * LIMB_BITS} : {whole}")
        body.append(f"%high{shifted} = arith.shli %wide{shifted}, %by{shifted} : {whole}")
        body.append(f"%sum{shifted} = arith.ori {value}, %high{shifted} : {whole}")
        value = f"%sum{shifted}"
    if whole != bits:
        body.append(f"%bits{name} = arith.trunci {value} : {whole} to {bits}")
        value = f"%bits{name}"
    if isinstance(type_, ty.FloatType | ty.IndexType):
        cast = "bitcast" if isinstance(type_, ty.FloatType) else "index_cast"
        body.append(f"%value{name} = arith.{cast} {value} : {bits} to {type_}")
        value = f"%value{name}"
    return value


def print_value(body: list[str], value: str, name: str, type_: ty.Type) -> None:
    """Write code that prints a scalar's code, one limb per line."""
    width = width_of(type_)
    bits = _bits_type(type_)
    if isinstance(type_, ty.FloatType | ty.IndexType):
        cast = "bitcast" if isinstance(type_, ty.FloatType) else "index_cast"
        body.append(f"%{name}bits = arith.{cast} {value} : {type_} to {bits}")
        value = f"%{name}bits"
    limbs = limb_count(width)
    whole = f"i{limbs * LIMB_BITS}"
    if whole != bits:
        body.append(f"%{name}whole = arith.extui {value} : {bits} to {whole}")
        value = f"%{name}whole"
    for limb in range(limbs):
        number = value
        if limb:
            body.append(f"%{name}by{limb} = arith.constant {limb * LIMB_BITS} : {whole}")
            body.append(f"%{name}shifted{limb} = arith.shrui {value}, %{name}by{limb} : {whole}")
            number = f"%{name}shifted{limb}"
        if limbs > 1:
            body.append(f"%{name}limb{limb} = arith.trunci {number} : {whole} to i64")
            number = f"%{name}limb{limb}"
        body.append(f"func.call @line({number}) : (i64) -> ()")
