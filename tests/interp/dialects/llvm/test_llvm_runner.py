"""mlir-runner's functions as lowered programs call them: with pointers to descriptors and to strings."""

from __future__ import annotations

import pytest

import halfulp as hu
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings

UNRANKED = """
llvm.func @{name}({types}){result}
llvm.func @f() -> i64 {{
  %size = llvm.mlir.constant(8 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %x = llvm.mlir.constant(dense<[1.5, -2.5]> : vector<2xf32>) : vector<2xf32>
  %data = llvm.alloca %size x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
  llvm.store %x, %data : vector<2xf32>, !llvm.ptr
  {extra}
  %u = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %a = llvm.insertvalue %data, %u[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %b = llvm.insertvalue %data, %a[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %c = llvm.insertvalue %zero, %b[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %d = llvm.insertvalue %two, %c[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %e = llvm.insertvalue %one, %d[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %memref = llvm.alloca %one x !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> : (i64) -> !llvm.ptr
  llvm.store %e, %memref : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, !llvm.ptr
  %v = llvm.mlir.poison : !llvm.struct<(i64, ptr)>
  %w = llvm.insertvalue %one, %v[0] : !llvm.struct<(i64, ptr)>
  %y = llvm.insertvalue %memref, %w[1] : !llvm.struct<(i64, ptr)>
  %unranked = llvm.alloca %one x !llvm.struct<(i64, ptr)> : (i64) -> !llvm.ptr
  llvm.store %y, %unranked : !llvm.struct<(i64, ptr)>, !llvm.ptr
  {call}
  llvm.return %r : i64
}}
"""
LAYOUT = "base@ = 0x1000 rank = 1 offset = 0 sizes = [2] strides = [1]"
CALL = "llvm.call @{}({}) : ({}) -> () %r = llvm.add %zero, %zero : i64"


def printed(text: str) -> tuple[str, list[int]]:
    """Return what @f prints, and its results."""
    module, parts = hu.parse(text), list[str]()
    function = module.lookup("f")
    assert function is not None
    results = program_for(module, Settings(write=parts.append)).run(function, ())
    return "".join(parts), [int(value.bits) for value in results]


@pytest.mark.parametrize(
    ("name", "operands", "text"),
    [
        ("_mlir_ciface_printMemrefF32", "%unranked", f"Unranked Memref {LAYOUT} data = \n[1.5,  -2.5]\n"),
        ("_mlir_ciface_printMemref1dF32", "%memref", f"Memref {LAYOUT} data = \n[1.5,  -2.5]\n"),
        ("_mlir_ciface_printMemrefShapeF32", "%unranked", f"Unranked Memref {LAYOUT}\n"),
        ("printMemrefF32", "%one, %memref", f"Unranked Memref {LAYOUT} data = \n[1.5,  -2.5]\n"),
    ],
)
def test_memrefs(name: str, operands: str, text: str) -> None:
    types = "i64, !llvm.ptr" if "," in operands else "!llvm.ptr"
    call = CALL.format(name, operands, types)
    assert printed(UNRANKED.format(name=name, types=types, result="", extra="", call=call)) == (text, [0])


@pytest.mark.parametrize(("other", "count"), [("%x", 0), ("%n", 2)])
def test_verifying_counts_the_elements_that_differ(other: str, count: int) -> None:
    """The data is compared with itself after one element became a NaN, which equals nothing."""
    nan = "%n = llvm.fdiv %zeros, %zeros : vector<2xf32>"
    extra = f"%zeros = llvm.mlir.constant(dense<0.0> : vector<2xf32>) : vector<2xf32>\n  {nan}\n"
    extra += f"  llvm.store {other}, %data : vector<2xf32>, !llvm.ptr"
    name = "_mlir_ciface_verifyMemRefF32"
    call = f"%r = llvm.call @{name}(%unranked, %unranked) : (!llvm.ptr, !llvm.ptr) -> i64"
    text = UNRANKED.format(name=name, types="!llvm.ptr, !llvm.ptr", result=" -> i64", extra=extra, call=call)
    assert printed(text) == ("", [count])


def test_memory_that_was_freed_is_not_printed() -> None:
    name = "_mlir_ciface_printMemref1dF32"
    call = CALL.format(name, "%memref", "!llvm.ptr")
    text = UNRANKED.format(name=name, types="!llvm.ptr", result="", extra="", call=call)
    text = text.replace("llvm.alloca %size x i8 {alignment = 8 : i64} : (i64)", "llvm.call @malloc(%size) : (i64)")
    text = text.replace("llvm.call @_mlir", "llvm.call @free(%data) : (!llvm.ptr) -> () llvm.call @_mlir")
    text = "llvm.func @malloc(i64) -> !llvm.ptr\nllvm.func @free(!llvm.ptr)\n" + text
    with pytest.raises(hu.UndefinedBehavior, match=r"<string>:27:46: error: llvm.call: .* was freed"):
        printed(text)


def test_many_elements_at_one_place_are_refused() -> None:
    name = "_mlir_ciface_printMemref1dF32"
    call = CALL.format(name, "%memref", "!llvm.ptr")
    text = UNRANKED.format(name=name, types="!llvm.ptr", result="", extra="", call=call)
    text = text.replace("%two = llvm.mlir.constant(2 :", f"%two = llvm.mlir.constant({1 << 62} :")
    text = text.replace("insertvalue %one, %d[4, 0]", "insertvalue %zero, %d[4, 0]")
    with pytest.raises(hu.errors.LimitExceeded, match="llvm.call: 18446744073709551616 bytes of memory are asked for"):
        printed(text)


STRING = """
llvm.func @printString(!llvm.ptr)
llvm.mlir.global private constant @s({value}) : !llvm.array<{size} x i8>
llvm.func @f() {{
  %0 = llvm.mlir.addressof @s : !llvm.ptr
  llvm.call @printString(%0) : (!llvm.ptr) -> ()
  llvm.return
}}
"""


def test_strings_end_at_the_first_zero() -> None:
    assert printed(STRING.format(value='"caf\\C3\\A9\\00 and more"', size=15)) == ("caf\u00e9", [])


def test_a_string_without_an_end_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="byte 3 of the 3 bytes"):
        printed(STRING.format(value='"abc"', size=3))
