"""Memory that memrefs and pointers share: what one of them stores, the other reads."""

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.interp.dialects.llvm import abi
from halfulp.interp.dialects.llvm.descriptor_memory import conversion
from halfulp.interp.dialects.llvm.lowering import descriptor_type
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import CastTypes, Settings, SlotConversion
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_type

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
    return executed(text, arguments, element, **options)


def executed(text: str, arguments: tuple[Any, ...], *elements: str, **options: Any) -> Any:
    """Run @f, with casts between descriptors and memrefs of four of these elements."""
    module = hu.parse(text)
    casts: dict[CastTypes, SlotConversion] = {}
    function = module.lookup("f")
    assert function is not None
    for element in elements:
        memref = ty.MemRefType((4,), as_type(element))
        there, back = conversion(descriptor_type(1), memref), conversion(memref, descriptor_type(1))
        assert there is not None
        assert back is not None
        casts |= {((STRUCT,), (str(memref),)): there, ((str(memref),), (STRUCT,)): back}
    return program_for(module, Settings(casts=casts, **options)).run(function, arguments)[0]


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


@each_row((0, 0, True), (0, 3, True), (0, 4, True), (2, -2, True), (0, 5, False), (0, -1, False))
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


def seen(body: str, *arguments: Any, result: str = "f32", offset: int = 0, **options: Any) -> Any:
    """Run a body with 32 bytes from malloc at %p, and memref %m of four elements that begins ``offset`` bytes later."""
    text = f"""llvm.mlir.global constant @fixed(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) : !llvm.array<4 x f32>
    llvm.func @malloc(i64) -> !llvm.ptr
    llvm.func @free(!llvm.ptr)
    func.func @f(%x: f32) -> {result} {{
      %bytes = llvm.mlir.constant(32 : i64) : i64
      %from = llvm.mlir.constant({offset} : i64) : i64
      %k0 = llvm.mlir.constant(0 : i64) : i64
      %k1 = llvm.mlir.constant(1 : i64) : i64
      %k4 = llvm.mlir.constant(4 : i64) : i64
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %p = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
      %q = llvm.getelementptr %p[%from] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %d0 = llvm.mlir.poison : {STRUCT}
      %d1 = llvm.insertvalue %p, %d0[0] : {STRUCT}
      %d2 = llvm.insertvalue %q, %d1[1] : {STRUCT}
      %d3 = llvm.insertvalue %k0, %d2[2] : {STRUCT}
      %d4 = llvm.insertvalue %k4, %d3[3, 0] : {STRUCT}
      %d = llvm.insertvalue %k1, %d4[4, 0] : {STRUCT}
      {body}
      return %r : {result}
    }}"""
    return executed(text, arguments or (hu.Value.from_numpy(np.float32(8.5)),), "f32", "i1", **options)


def cast(element: str = "f32", source: str = "%d", name: str = "%m") -> str:
    return f"{name} = builtin.unrealized_conversion_cast {source} : {STRUCT} to memref<4x{element}>\n"


STORE = "%s = llvm.getelementptr %q[4] : (!llvm.ptr) -> !llvm.ptr, i8\nllvm.store %x, %s : f32, !llvm.ptr\n"
LOAD = "%r = memref.load %m[%c1] : memref<4xf32>"


@pytest.mark.parametrize("offset", [0, 4, 16])
@pytest.mark.parametrize("body", [STORE + cast() + LOAD, cast() + STORE + LOAD], ids=["before", "after"])
def test_a_memref_of_a_descriptor_sees_what_pointers_stored(body: str, offset: int) -> None:
    assert seen(body, offset=offset).item() == 8.5
    assert seen(body, offset=offset, track_open=True).item() == 8.5


@pytest.mark.parametrize("offset", [0, 4, 16])
def test_pointers_see_what_a_memref_of_a_descriptor_stored(offset: int) -> None:
    body = cast() + "memref.store %x, %m[%c1] : memref<4xf32>\n"
    load = (
        f"%s = llvm.getelementptr %p[{offset + 4}] : (!llvm.ptr) -> !llvm.ptr, i8\n%r = llvm.load %s : !llvm.ptr -> f32"
    )
    assert seen(body + load, offset=offset).item() == 8.5
    before = load.replace(str(offset + 4), str(offset))
    assert seen(body + before, offset=offset).poisoned.all()  # never written


def test_a_memref_goes_to_a_descriptor_and_back() -> None:
    back = f"%e = builtin.unrealized_conversion_cast %m : memref<4xf32> to {STRUCT}\n"
    for part, pointer in ((0, "%p"), (1, "%q")):
        same = f'%t = llvm.extractvalue %e[{part}] : {STRUCT}\n%r = llvm.icmp "eq" %t, {pointer} : !llvm.ptr'
        assert seen(cast() + back + same, offset=16, result="i1").item() == 1
    again = cast(source="%e", name="%n") + "memref.store %x, %n[%c1] : memref<4xf32>\n"
    assert seen(cast() + back + again + LOAD, offset=16).item() == 8.5


def test_poison_of_a_descriptors_memory_goes_both_ways() -> None:
    assert seen(cast() + LOAD).poisoned.all()  # malloc writes nothing
    spoil = STORE.replace("%s =", "%y = llvm.mlir.poison : f32\n%s =").replace("store %x", "store %y")
    for body in (STORE + spoil.replace("%s", "%t") + cast(), STORE + cast() + spoil.replace("%s", "%t")):
        assert seen(body + LOAD).poisoned.all()
    cured = spoil.replace("%s", "%t") + cast() + "memref.store %x, %m[%c1] : memref<4xf32>\n"
    read = "%u = llvm.getelementptr %q[4] : (!llvm.ptr) -> !llvm.ptr, i8\n%r = llvm.load %u : !llvm.ptr -> f32"
    assert seen(cured + read).item() == 8.5


def test_what_is_unspecified_in_memory_of_bytes_stays_unspecified() -> None:
    """minnum of zeros of both signs gives either."""
    zeros = """%z = arith.constant 0.0 : f32
      %n = arith.constant -0.0 : f32
      %y = arith.minnumf %z, %n : f32
      """
    for body in (zeros + STORE.replace("%x", "%y") + cast(), zeros + cast() + STORE.replace("%x", "%y")):
        found = seen(body + LOAD, track_open=True)
        assert found.open is not None
        assert found.open.all()


@each_row(
    (cast() + "llvm.call @free(%p) : (!llvm.ptr) -> ()\n" + LOAD, 0, "freed by"),
    ("llvm.call @free(%p) : (!llvm.ptr) -> ()\n" + cast() + LOAD, 0, "cannot be read as elements"),
    (cast() + LOAD, 20, "a memref leaves the 32 bytes of"),
    (cast() + LOAD, -4, "a memref leaves the 32 bytes of"),
    (cast() + LOAD, 2, "does not begin at an element of"),
    (cast(source="%d4") + LOAD, 0, "a part of the descriptor of a memref is poison"),
    (cast(source="%d0") + LOAD, 0, "a part of the descriptor of a memref is poison"),
    (
        f"%e = llvm.insertvalue %k4, %d[4, 0] : {STRUCT}\n" + cast(source="%e") + LOAD,
        0,
        "a memref leaves the 32 bytes of",
    ),
    (f"%e = llvm.insertvalue %k1, %d[3, 0] : {STRUCT}\n" + cast(source="%e") + LOAD, 0, "dimension 0 has size 1"),
    (
        f"%a = llvm.mlir.addressof @fixed : !llvm.ptr\n%e = llvm.insertvalue %a, %d[1] : {STRUCT}\n"
        + cast(source="%e")
        + "memref.store %x, %m[%c1] : memref<4xf32>\n"
        + LOAD,
        0,
        "constant",
    ),
    (
        "%b = llvm.mlir.constant(1 : i8) : i8\nllvm.store %b, %q : i8, !llvm.ptr\n" + cast() + LOAD,
        0,
        "a part of an element of",
    ),
)
def test_a_descriptor_that_is_no_memref_stops_the_run(body: str, offset: int, message: str) -> None:
    with pytest.raises(hu.HalfulpError, match=message) as caught:
        seen(body, offset=offset)
    assert caught.value.location is not None


def test_a_constant_is_read_through_a_memref() -> None:
    body = f"%a = llvm.mlir.addressof @fixed : !llvm.ptr\n%e = llvm.insertvalue %a, %d[1] : {STRUCT}\n"
    assert seen(body + cast(source="%e") + LOAD).item() == 2


def test_memory_of_bytes_has_elements_of_one_width() -> None:
    other = "%i = builtin.unrealized_conversion_cast %d : " + STRUCT + " to memref<4xi1>\n"
    truth = STORE.replace("f32", "i1").replace("%x", "%true").replace("q[4]", "q[1]")
    load = "%r = memref.load %i[%c1] : memref<4xi1>"
    assert seen("%true = llvm.mlir.constant(true) : i1\n" + truth + other + load, result="i1").item() == 1
    with pytest.raises(hu.Unsupported, match="has other elements than 'i1'"):
        seen(cast() + other + load, result="i1")


def test_a_part_of_a_complex_number_does_not_become_poison() -> None:
    text = f"""func.func @f(%m: memref<4xcomplex<f32>>) -> complex<f32> {{
      %d = builtin.unrealized_conversion_cast %m : memref<4xcomplex<f32>> to {STRUCT}
      %p = llvm.extractvalue %d[1] : {STRUCT}
      %c3 = arith.constant 3 : index
      %q = llvm.getelementptr %p[7] : (!llvm.ptr) -> !llvm.ptr, f32
      %x = llvm.mlir.poison : f32
      llvm.store %x, %q : f32, !llvm.ptr
      %r = memref.load %m[%c3] : memref<4xcomplex<f32>>
      return %r : complex<f32>
    }}"""
    given = Buffer.allocate(ty.MemRefType((4,), ty.ComplexType(as_type("f32"))), (4,))
    assert executed(text.replace("poison", "constant(2.5 : f32)"), (given,), "complex<f32>").item() == 2.5j
    with pytest.raises(hu.Unsupported, match="writes a part of an element of a memref that is poison"):
        executed(text, (given,), "complex<f32>")


TRUTH = "%s = llvm.getelementptr %q[1] : (!llvm.ptr) -> !llvm.ptr, i8\nllvm.store %b, %s : i8, !llvm.ptr\n"
BOOLEANS = f"%i = builtin.unrealized_conversion_cast %d : {STRUCT} to memref<4xi1>\n"
BOOLEAN = "%r = memref.load %i[%c1] : memref<4xi1>"


def test_bits_beyond_the_width_of_an_element_make_it_poison() -> None:
    for number, poison in ((255, True), (1, False)):
        byte = f"%b = llvm.mlir.constant({number} : i8) : i8\n"
        assert seen(byte + TRUTH + BOOLEANS + BOOLEAN, result="i1").poisoned.all() == poison
    assert seen("%b = llvm.mlir.constant(1 : i8) : i8\n" + BOOLEANS + TRUTH + BOOLEAN, result="i1").item() == 1
    with pytest.raises(hu.Unsupported, match="bits beyond the width"):
        seen("%b = llvm.mlir.constant(255 : i8) : i8\n" + BOOLEANS + TRUTH + BOOLEAN, result="i1")


def test_what_is_unspecified_in_a_part_of_an_element_stays_unspecified() -> None:
    zeros = """%z = arith.constant 0.0 : f32
      %n = arith.constant -0.0 : f32
      %y = arith.minnumf %z, %n : f32
      memref.store %y, %m[%c1] : memref<4xf32>
      %b = llvm.mlir.constant(1 : i8) : i8
      %s = llvm.getelementptr %q[4] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %b, %s : i8, !llvm.ptr
      """
    found = seen(cast() + zeros + LOAD, track_open=True)
    assert found.open is not None
    assert found.open.all()


@pytest.mark.parametrize("body", [STORE + cast() + LOAD, cast() + STORE + LOAD], ids=["before", "after"])
def test_shadows_stay_with_numbers_in_memory_of_bytes(body: str) -> None:
    for computed in ("%y = arith.addf %x, %k : f32\n", "%y = arith.divf %x, %k : f32\n"):
        text = "%k = arith.constant 0.3 : f32\n" + computed + body.replace("llvm.store %x", "llvm.store %y")
        given = hu.Value.from_numpy(np.float32(0.1))
        found = seen(text, given, recorder=Shadows())
        alone = "%k = arith.constant 0.3 : f32\n" + computed.replace("%y", "%r")
        expected = seen(alone, given, recorder=Shadows())
        assert shadow_of(found) == shadow_of(expected)


@pytest.mark.long
def test_memory_that_was_freed_is_given_back() -> None:
    text = f"""llvm.func @malloc(i64) -> !llvm.ptr
    llvm.func @free(!llvm.ptr)
    func.func @f() -> f32 {{
      %bytes = llvm.mlir.constant({1 << 20} : i64) : i64
      %k0 = llvm.mlir.constant(0 : i64) : i64
      %k1 = llvm.mlir.constant(1 : i64) : i64
      %k4 = llvm.mlir.constant(4 : i64) : i64
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 30 : index
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {{
        %p = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
        %d0 = llvm.mlir.poison : {STRUCT}
        %d1 = llvm.insertvalue %p, %d0[0] : {STRUCT}
        %d2 = llvm.insertvalue %p, %d1[1] : {STRUCT}
        %d3 = llvm.insertvalue %k0, %d2[2] : {STRUCT}
        %d4 = llvm.insertvalue %k4, %d3[3, 0] : {STRUCT}
        %d = llvm.insertvalue %k1, %d4[4, 0] : {STRUCT}
        %m = builtin.unrealized_conversion_cast %d : {STRUCT} to memref<4xf32>
        memref.store %one, %m[%c1] : memref<4xf32>
        %v = memref.load %m[%c1] : memref<4xf32>
        llvm.call @free(%p) : (!llvm.ptr) -> ()
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }}
      return %r : f32
    }}"""
    tracemalloc.start()
    try:
        assert executed(text, (), "f32").item() == 30
        assert tracemalloc.get_traced_memory()[1] < 15 << 20
    finally:
        tracemalloc.stop()


def test_a_descriptor_without_elements_may_be_null() -> None:
    for element in ("f32", "i1"):
        text = f"""func.func @f() -> index {{
          %null = llvm.mlir.zero : !llvm.ptr
          %k0 = llvm.mlir.constant(0 : i64) : i64
          %d0 = llvm.mlir.poison : {STRUCT}
          %d1 = llvm.insertvalue %null, %d0[0] : {STRUCT}
          %d2 = llvm.insertvalue %null, %d1[1] : {STRUCT}
          %d3 = llvm.insertvalue %k0, %d2[2] : {STRUCT}
          %d4 = llvm.insertvalue %k0, %d3[3, 0] : {STRUCT}
          %d = llvm.insertvalue %k0, %d4[4, 0] : {STRUCT}
          %m = builtin.unrealized_conversion_cast %d : {STRUCT} to memref<?x{element}, strided<[?]>>
          %c0 = arith.constant 0 : index
          %r = memref.dim %m, %c0 : memref<?x{element}, strided<[?]>>
          return %r : index
        }}"""
        module = hu.parse(text)
        function = module.lookup("f")
        assert function is not None
        memref = as_type(f"memref<?x{element}, strided<[?]>>")
        how = conversion(descriptor_type(1), memref)
        assert how is not None
        program = program_for(module, Settings(casts={((STRUCT,), (str(memref),)): how}))
        assert program.run(function, ())[0].item() == 0


def test_memory_of_malloc_is_not_freed_by_memref_dealloc() -> None:
    body = STORE + cast() + LOAD + "\nmemref.dealloc %m : memref<4xf32>"
    with pytest.raises(hu.Unsupported, match="memref.dealloc does not free memory from malloc"):
        seen(body)


# --- llvm abi ---------------------------------------------------------------------------------------------------------
#
# How lowered functions take memrefs and give them back.

MEMREF = "!llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>"
PIECES = "%a: !llvm.ptr, %b: !llvm.ptr, %o: i64, %n: i64, %m: i64, %s: i64, %t: i64"
BUILT = f"""
  %0 = llvm.mlir.undef : {MEMREF}
  %1 = llvm.insertvalue %a, %0[0] : {MEMREF}
  %2 = llvm.insertvalue %b, %1[1] : {MEMREF}
  %3 = llvm.insertvalue %o, %2[2] : {MEMREF}
  %4 = llvm.insertvalue %m, %3[3, 0] : {MEMREF}
  %5 = llvm.insertvalue %n, %4[3, 1] : {MEMREF}
  %6 = llvm.insertvalue %t, %5[4, 0] : {MEMREF}
  %7 = llvm.insertvalue %s, %6[4, 1] : {MEMREF}
"""
TRANSPOSED = f"llvm.func @main({PIECES}) -> {MEMREF} {{{BUILT}  llvm.return %7 : {MEMREF}\n}}"


def _source(inputs: tuple[str, ...], results: tuple[str, ...]) -> ty.FunctionType:
    return ty.FunctionType(tuple(map(as_type, inputs)), tuple(map(as_type, results)))


def _call(
    text: str, source: ty.FunctionType, *given: hu.Value | hu.Buffer, entry: str = "main"
) -> tuple[hu.Value, ...]:
    module = hu.parse(text)
    function = module.lookup(entry)
    assert function is not None
    entered = abi.convention_of(source, function).enter(given)
    return entered.leave(program_for(module, Settings()).run(function, entered.arguments))


@each_row("i1", "i4", "i8", "bf16", "f8E4M3FN", "f32", "i64", "f80", "complex<f32>", "index")
def test_a_transposed_view_comes_back(element: str) -> None:
    type_ = as_type(f"tensor<2x3x{element}>")
    dtype, trailing = code_layout(ty.element_type(type_))
    bits = np.zeros((2, 3, *trailing), dtype)
    bits.reshape(6, -1)[:, 0] = np.arange(6) % (2 if element == "i1" else 8)
    value = hu.Value(type_, bits)
    (found,) = _call(TRANSPOSED, _source((str(type_),), (f"tensor<3x2x{element}>",)), value)
    assert found.type == as_type(f"tensor<3x2x{element}>")
    assert np.array_equal(found.bits, bits.swapaxes(0, 1))


def test_poison_of_elements_stays() -> None:
    bits = np.arange(6, dtype=np.uint32).reshape(2, 3)
    value = hu.Value(as_type("tensor<2x3xi32>"), bits, (bits == 4).astype(np.uint16))
    (found,) = _call(TRANSPOSED, _source(("tensor<2x3xi32>",), ("tensor<3x2xi32>",)), value)
    assert found.poisoned.tolist() == [[False, False], [False, True], [False, False]]


STORES = """  %v = llvm.mlir.constant(7 : i32) : i32
  %e = llvm.getelementptr %p[3] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.store %v, %e : i32, !llvm.ptr
  llvm.return
}"""


def test_bare_pointers_and_what_was_stored() -> None:
    buffer = hu.Buffer.from_numpy(np.arange(4, dtype=np.int32))
    source = _source(("memref<4xi32>",), ())
    assert _call(f"llvm.func @main(%p: !llvm.ptr) {{\n{STORES}", source, buffer) == ()
    assert buffer.numpy().tolist() == [0, 1, 2, 7]


def test_results_in_the_last_arguments() -> None:
    pieces = "%a: !llvm.ptr, %p: !llvm.ptr, %o: i64, %n: i64, %s: i64"
    (found,) = _call(f"llvm.func @main({pieces}) {{\n{STORES}", _source((), ("memref<4xi32>",)))
    assert found.numpy().tolist() == [0, 0, 0, 7]


def test_the_interface_for_c() -> None:
    one = "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>"
    text = f"""llvm.func @_mlir_ciface_main(%r: !llvm.ptr, %d: !llvm.ptr) {{
      %m = llvm.load %d : !llvm.ptr -> {one}
      llvm.store %m, %r : {one}, !llvm.ptr
      llvm.return
    }}"""
    value = hu.convert(np.arange(3.0), "f32")
    (found,) = _call(text, _source(("tensor<3xf32>",), ("tensor<?xf32>",)), value, entry="_mlir_ciface_main")
    assert found == value


def test_another_signature_is_refused() -> None:
    with pytest.raises(hu.Unsupported, match="follows no convention"):
        _call(TRANSPOSED, _source(("tensor<2xf32>",), ()), hu.convert([1, 2], "f32"))


def test_a_result_in_freed_memory_is_undefined() -> None:
    text = f"""llvm.func @malloc(i64) -> !llvm.ptr
    llvm.func @free(!llvm.ptr)
    llvm.func @main({PIECES}) -> {MEMREF} {{
      %k = llvm.mlir.constant(64 : i64) : i64
      %p = llvm.call @malloc(%k) : (i64) -> !llvm.ptr
      llvm.call @free(%p) : (!llvm.ptr) -> ()
      {BUILT.replace("%b", "%p")}
      llvm.return %7 : {MEMREF}
    }}"""
    with pytest.raises(hu.UndefinedBehavior, match=r"result 0: malloc .* was freed by free"):
        _call(text, _source(("tensor<2x2xi8>",), ("tensor<2x2xi8>",)), hu.convert(np.zeros((2, 2)), "i8"))


# --- hu.run with a signature ------------------------------------------------------------------------------------------

SUM = f"""llvm.func @main({PIECES}, %x: i64) -> !llvm.struct<({MEMREF.removeprefix("!llvm.")}, i64)> {{{BUILT}
  %u = llvm.mlir.undef : !llvm.struct<({MEMREF.removeprefix("!llvm.")}, i64)>
  %v = llvm.insertvalue %7, %u[0] : !llvm.struct<({MEMREF.removeprefix("!llvm.")}, i64)>
  %w = llvm.insertvalue %x, %v[1] : !llvm.struct<({MEMREF.removeprefix("!llvm.")}, i64)>
  llvm.return %w : !llvm.struct<({MEMREF.removeprefix("!llvm.")}, i64)>
}}"""


def test_a_lowered_function_is_called_by_the_type_that_it_had() -> None:
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    one, two = hu.run(SUM, given, 7, signature="(tensor<2x3xf32>, index) -> (tensor<3x2xf32>, index)")
    assert (one.type, two.type) == (as_type("tensor<3x2xf32>"), as_type("index"))
    assert one.tolist() == given.T.tolist()
    assert two.item() == 7


def test_a_buffer_holds_what_a_lowered_function_stored() -> None:
    buffer = hu.Buffer.from_numpy(np.arange(4, dtype=np.int32))
    text = f"llvm.func @main(%p: !llvm.ptr) {{\n{STORES}"
    assert hu.run(text, buffer, signature="(memref<4xi32>) -> ()") == ()
    assert buffer.numpy().tolist() == [0, 1, 2, 7]


@each_row(
    (TRANSPOSED, "tensor<2xf32>", {}, hu.TypeMismatch, "'tensor<2xf32>' is not a type of functions"),
    (TRANSPOSED, "(tensor<2xf32>) -> f32", {}, hu.Unsupported, "follows no convention"),
    (TRANSPOSED, "(tensor<2x3xf32>", {}, hu.errors.ParseError, "expected"),
    (
        "func.func @f(%x: f32) -> f32 { return %x : f32 }",
        "(f32) -> f32",
        {},
        hu.Unsupported,
        "@f is not a function of the llvm dialect",
    ),
    (
        TRANSPOSED,
        "(tensor<2x3xf32>) -> tensor<3x2xf32>",
        {"batch": True},
        hu.Unsupported,
        "signature=… cannot be used in a batch",
    ),
)
def test_signatures_that_do_not_fit(
    text: str, signature: str, options: dict[str, bool], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        hu.run(text, np.zeros((2, 3), np.float32), signature=signature, **options)  # type: ignore[arg-type]


def test_the_number_of_arguments_is_that_of_the_signature() -> None:
    with pytest.raises(hu.TypeMismatch, match="@main takes 1 argument"):
        hu.run(TRANSPOSED, 1, 2, signature="(tensor<2x3xf32>) -> tensor<3x2xf32>")
