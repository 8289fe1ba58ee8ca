"""Memory that memrefs and pointers share: what one of them stores, the other reads."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.dialects.llvm.library import descriptor_type
from halfulp.interp.dialects.llvm.shared import conversion
from halfulp.interp.ir import types as ty
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer

STRUCT = "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>"


def ran(body: str, *arguments: Any, result: str = "f32", given: str = "%m: memref<4xf32>", **options: Any) -> Any:
    """Run a function whose memref %m is the descriptor %d and the pointer %p too."""
    element = given.partition("x")[2].partition(">")[0]
    text = f"""func.func @f({given}) -> {result} {{
      %d = builtin.unrealized_conversion_cast %m : memref<4x{element}> to {STRUCT}
      %p = llvm.extractvalue %d[1] : {STRUCT}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {body}
      return %r : {result}
    }}"""
    module = hu.parse(text)
    function = module.lookup("f")
    assert function is not None
    source = ty.MemRefType((4,), ty.element_type(function.regions[0].blocks[0].arguments[0].type))
    how = conversion(source, descriptor_type(1))
    assert how is not None
    settings = Settings(casts={((str(source),), (STRUCT,)): how}, **options)
    return program_for(module, settings).run(function, arguments)[0]


def buffer(*values: float) -> Buffer:
    return Buffer.from_numpy(np.array(values, np.float32))


def test_a_load_from_the_memref_sees_what_a_pointer_stored() -> None:
    given = buffer(1, 2, 3, 4)
    body = """%q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
      %x = llvm.mlir.constant(8.5 : f32) : f32
      llvm.store %x, %q : f32, !llvm.ptr
      %r = memref.load %m[%c1] : memref<4xf32>"""
    assert ran(body, given) == hu.Value.from_numpy(np.float32(8.5))
    assert given.numpy().tolist() == [1, 8.5, 3, 4]


def test_a_pointer_sees_what_the_memref_stored() -> None:
    body = """%x = arith.constant 8.5 : f32
      memref.store %x, %m[%c1] : memref<4xf32>
      %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
      %r = llvm.extractelement %v[%i : i64] : vector<4xf32>""".replace(
        "%v =", "%i = llvm.mlir.constant(1 : i64) : i64\n      %v =", 1
    )
    assert ran(body, buffer(1, 2, 3, 4)) == hu.Value.from_numpy(np.float32(8.5))


@pytest.mark.parametrize(
    ("start", "step", "good"), [(0, 0, True), (0, 3, True), (0, 4, True), (2, -2, True), (0, 5, False), (0, -1, False)]
)
def test_pointers_move_within_the_memory(start: int, step: int, good: bool) -> None:
    """To the end, too. Beyond it, inbounds gives poison."""
    body = f"""%s = llvm.mlir.constant({start} : i64) : i64
      %k = llvm.mlir.constant({step} : i64) : i64
      %o = llvm.getelementptr inbounds %p[%s] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %q = llvm.getelementptr inbounds %o[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %r = llvm.icmp "eq" %p, %q : !llvm.ptr"""
    found = ran(body, buffer(1, 2, 3, 4), result="i1")
    assert (found.poison is None) == good
    assert not good or found.item() == (start + step == 0)


def test_memory_of_memrefs_begins_at_a_page() -> None:
    """So memref.assume_alignment, which the llvm dialect spells as an assumption, holds up to that."""

    def assumed(alignment: int) -> str:
        return f"""%true = llvm.mlir.constant(true) : i1
          %k = llvm.mlir.constant({alignment} : i64) : i64
          llvm.intr.assume %true ["align"(%p, %k : !llvm.ptr, i64)] : i1
          %r = llvm.load %p : !llvm.ptr -> f32"""

    for alignment in (16, 64, 4096):
        assert ran(assumed(alignment), buffer(7, 2, 3, 4)).item() == 7
    with pytest.raises(hu.UndefinedBehavior, match="whose alignment is 4096"):
        ran(assumed(8192), buffer(7, 2, 3, 4))


def test_poison_goes_both_ways() -> None:
    load = """%q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
      %r = llvm.load %q : !llvm.ptr -> f32"""
    spoil = """%x = ub.poison : f32
      memref.store %x, %m[%c1] : memref<4xf32>
      """
    assert ran(spoil + load, buffer(1, 2, 3, 4)).poisoned.all()
    given = buffer(1, 2, 3, 4)
    body = """%q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
      %x = llvm.mlir.poison : f32
      llvm.store %x, %q : f32, !llvm.ptr
      %r = memref.load %m[%c1] : memref<4xf32>"""
    assert ran(body, given).poisoned.all()
    assert given.load().poisoned.tolist() == [False, True, False, False]
    cured = spoil + body.replace("llvm.mlir.poison : f32", "llvm.mlir.constant(2.5 : f32) : f32").replace("%x", "%y")
    assert ran(cured, buffer(1, 2, 3, 4)) == hu.Value.from_numpy(np.float32(2.5))


def test_what_is_unspecified_goes_both_ways() -> None:
    """maxnum of zeros of both signs gives either."""
    zeros = """%z = arith.constant 0.0 : f32
      %n = arith.constant -0.0 : f32
      %x = arith.maxnumf %n, %z : f32
      """
    body = """%q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
      {} %x, {} : {}
      %v = llvm.load %p {{alignment = 4 : i64}} : !llvm.ptr -> vector<2xf32>
      %w = llvm.load %q : !llvm.ptr -> f32
      %k = llvm.mlir.constant(1 : i64) : i64
      %y = llvm.extractelement %v[%k : i64] : vector<2xf32>
      %r = {}"""
    stores = (("memref.store", "%m[%c1]", "memref<4xf32>"), ("llvm.store", "%q", "f32, !llvm.ptr"))
    for store, result in product(
        stores, ("llvm.fneg %y : f32", "llvm.fneg %w : f32", "memref.load %m[%c1] : memref<4xf32>")
    ):
        found = ran(zeros + body.format(*store, result), buffer(1, 2, 3, 4), track_open=True)
        assert found.open is not None
        assert found.open.all()


def test_a_part_of_a_poisoned_element_is_not_written() -> None:
    body = """%x = ub.poison : f32
      memref.store %x, %m[%c1] : memref<4xf32>
      %q = llvm.getelementptr %p[5] : (!llvm.ptr) -> !llvm.ptr, i8
      %b = llvm.mlir.constant(1 : i8) : i8
      llvm.store %b, %q : i8, !llvm.ptr
      %r = memref.load %m[%c1] : memref<4xf32>"""
    with pytest.raises(hu.Unsupported, match="writes a part of an element of a memref that is poison"):
        ran(body, buffer(1, 2, 3, 4))
    clean = body.replace(
        """%x = ub.poison : f32
      memref.store %x, %m[%c1] : memref<4xf32>""",
        "",
    )
    assert int(ran(clean, buffer(1, 2, 3, 4)).bits) == 0x40000100


def test_freed_memory_is_freed_for_pointers() -> None:
    body = f"""%n = memref.alloc() : memref<4xf32>
      %e = builtin.unrealized_conversion_cast %n : memref<4xf32> to {STRUCT}
      %q = llvm.extractvalue %e[0] : {STRUCT}
      memref.dealloc %n : memref<4xf32>
      %r = llvm.load %q : !llvm.ptr -> f32"""
    with pytest.raises(hu.UndefinedBehavior, match="freed by memref.dealloc"):
        ran(body, buffer(1, 2, 3, 4))


def test_small_elements_take_a_byte() -> None:
    body = """%q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i8
      %x = llvm.load %q : !llvm.ptr -> i8
      %r = arith.addi %x, %x : i8"""
    given = Buffer.from_numpy(np.array([0, 1, 0, 1], bool), "memref<4xi1>")
    assert int(ran(body, given, given="%m: memref<4xi1>", result="i8").bits) == 2
