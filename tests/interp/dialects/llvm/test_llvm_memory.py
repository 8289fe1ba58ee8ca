"""Pointers and memory of the llvm dialect: what an access gives, and which accesses are undefined."""

import re
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.interp.dialects.llvm.memory import Memory

HEAD = """
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @calloc(i64, i64) -> !llvm.ptr
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.mlir.global internal constant @table(dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>) : !llvm.array<2 x array<2 x i32>>
llvm.mlir.global internal @counter(40 : i32) : i32
llvm.mlir.global internal constant @text("hello")
llvm.mlir.global external @elsewhere() : i32
llvm.mlir.global internal @pair() : !llvm.struct<(ptr, i64)> {
  %u = llvm.mlir.undef : !llvm.struct<(ptr, i64)>
  %a = llvm.mlir.addressof @counter : !llvm.ptr
  %p = llvm.insertvalue %a, %u[0] : !llvm.struct<(ptr, i64)>
  llvm.return %p : !llvm.struct<(ptr, i64)>
}
"""


def run(body: str, *arguments: Any, result: str = "i32", head: str = "") -> Any:
    """Run a body with %n and %m, of i64, and return its result %r."""
    given = [np.int64(each) for each in (*arguments, 0, 0)[:2]]
    program = f"{HEAD}{head}llvm.func @main(%n: i64, %m: i64) -> {result} {{\n{body}\n  llvm.return %r : {result}\n}}"
    return hu.run(program, *given, function="main")[0]


SIXTEEN = """  %bytes = llvm.mlir.constant(16 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %p = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
"""
STORED = f"""{SIXTEEN}  %value = llvm.mlir.constant(-559038737 : i32) : i32
  %q = llvm.getelementptr inbounds %p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  llvm.store %value, %q : i32, !llvm.ptr
"""


@pytest.mark.parametrize("place", range(4))
def test_what_was_stored_is_loaded(place: int) -> None:
    assert run(f"{STORED}  %r = llvm.load %q : !llvm.ptr -> i32", place).item() == -559038737


def test_bytes_are_little_endian() -> None:
    body = f"{STORED}  %b = llvm.getelementptr %q[%m] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n"
    for byte, expected in enumerate((0xEF, 0xBE, 0xAD, 0xDE)):
        assert int(run(f"{body}  %r = llvm.load %b : !llvm.ptr -> i8", 1, byte, result="i8").bits) == expected


def test_memory_that_was_not_written_is_poison() -> None:
    found = run(f"{STORED}  %r = llvm.load %p : !llvm.ptr -> i64", 1, result="i64")
    assert "never written: malloc" in str(found.origin())
    assert not run(f"{STORED}  %r = llvm.load %p : !llvm.ptr -> i32", 0).poisoned.any()


def test_bytes_keep_poison_bit_by_bit() -> None:
    body = f"""{SIXTEEN}  %c = llvm.mlir.constant(dense<[1, 0, 1, 1, 0, 0, 0, 1]> : vector<8xi1>) : vector<8xi1>
  %x = llvm.mlir.poison : i1
  %k = llvm.mlir.constant(2 : i64) : i64
  %v = llvm.insertelement %x, %c[%k : i64] : vector<8xi1>
  llvm.store %v, %p : vector<8xi1>, !llvm.ptr
  %r = llvm.load %p : !llvm.ptr -> vector<8xi1>"""
    found = run(body, result="vector<8xi1>")
    assert found.poisoned.tolist() == [False, False, True, False, False, False, False, False]
    assert found.bits.tolist() == [1, 0, 0, 1, 0, 0, 0, 1]


@each_row(
    ("i1", "true", 1),
    ("i20", "-3 : i20", (1 << 20) - 3),
    ("i64", "-3 : i64", (1 << 64) - 3),
    ("i128", "-3 : i128", (1 << 128) - 3),
    ("bf16", "1.5 : bf16", 0x3FC0),
    ("f80", "1.5 : f80", 0x3FFFC000000000000000),
)
def test_numbers_of_all_widths(type_: str, constant: str, code: int) -> None:
    body = f"""  %one = llvm.mlir.constant(1 : i64) : i64
  %p = llvm.alloca %one x {type_} : (i64) -> !llvm.ptr
  %c = llvm.mlir.constant({constant}) : {type_}
  llvm.store %c, %p : {type_}, !llvm.ptr
  %r = llvm.load %p : !llvm.ptr -> {type_}"""
    value = run(body, result=type_)
    assert sum(int(limb) << 64 * at for at, limb in enumerate(np.atleast_1d(value.bits))) == code


def test_an_integer_from_other_bytes_is_poison() -> None:
    body = f"{STORED}  %r = llvm.load %q : !llvm.ptr -> i20"
    assert run(body, 0, result="i20").poisoned.all()


@pytest.mark.parametrize(("byte", "poison"), [(0b10101, False), (0b110101, True)])
def test_a_vector_from_other_bytes_is_poison(byte: int, poison: bool) -> None:
    """LLVM: a load of a type whose bits fill no bytes is undefined, if no store of that type wrote them. mlir-runner
    makes an i1 of 3 here.
    """
    body = f"""{SIXTEEN}  %c = llvm.mlir.constant({byte} : i8) : i8
  llvm.store %c, %p : i8, !llvm.ptr
  %r = llvm.load %p : !llvm.ptr -> vector<5xi1>"""
    found = run(body, result="vector<5xi1>")
    assert found.poisoned.tolist() == [poison] * 5
    assert poison or found.bits.tolist() == [1, 0, 1, 0, 1]


def test_a_poison_number_spoils_all_of_its_bytes() -> None:
    body = f"""{SIXTEEN}  %x = llvm.mlir.poison : i3
  llvm.store %x, %p : i3, !llvm.ptr
  %r = llvm.load %p : !llvm.ptr -> vector<8xi1>"""
    assert run(body, result="vector<8xi1>").poisoned.all()


@each_row(
    ("struct<(i8, i32)>", [1, 2, 3]),
    ("struct<packed (i8, i32)>", []),
    ("struct<(i32, i8)>", [5, 6, 7]),
    ("struct<(struct<(i16, i8)>, i32)>", [3]),
    ("array<2 x i24>", [3, 7]),
)
def test_a_stored_aggregate_has_undefined_padding(type_: str, lost: list[int]) -> None:
    """LLVM, store: if the value is an aggregate, "padding is filled with undef"."""
    body = f"""{SIXTEEN}  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.store %zero, %p : i64, !llvm.ptr
  %s = llvm.mlir.zero : !llvm.{type_}
  llvm.store %s, %p : !llvm.{type_}, !llvm.ptr
  %r = llvm.load %p : !llvm.ptr -> vector<8xi8>"""
    found = run(body, result="vector<8xi8>")
    assert np.flatnonzero(found.poisoned).tolist() == lost
    assert not lost or "padding of an aggregate" in str(found.origin(lost[0]))


PAIR = "!llvm.struct<(i8, ptr, array<2 x i16>)>"


def test_aggregates_and_pointers_go_through_memory() -> None:
    body = f"""{STORED}  %s = llvm.alloca %one x {PAIR} : (i64) -> !llvm.ptr
  %u = llvm.mlir.undef : {PAIR}
  %i = llvm.insertvalue %q, %u[1] : {PAIR}
  llvm.store %i, %s : {PAIR}, !llvm.ptr
  %f = llvm.getelementptr %s[0, 1] : (!llvm.ptr) -> !llvm.ptr, {PAIR}
  %l = llvm.load %f : !llvm.ptr -> !llvm.ptr
  %whole = llvm.load %s : !llvm.ptr -> {PAIR}
  %k = llvm.extractvalue %whole[1] : {PAIR}
  %a = llvm.load %l : !llvm.ptr -> i32
  %b = llvm.load %k : !llvm.ptr -> i32
  %r = llvm.xor %a, %b : i32"""
    assert run(body, 2).item() == 0


def test_globals() -> None:
    body = """  %t = llvm.mlir.addressof @table : !llvm.ptr
  %e = llvm.getelementptr inbounds %t[0, %n, %m] : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<2 x array<2 x i32>>
  %r = llvm.load %e : !llvm.ptr -> i32"""
    assert [run(body, n, m).item() for n in (0, 1) for m in (0, 1)] == [1, 2, 3, 4]
    body = """  %t = llvm.mlir.addressof @text : !llvm.ptr
  %e = llvm.getelementptr inbounds %t[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %r = llvm.load %e : !llvm.ptr -> i8"""
    assert bytes(int(run(body, n, result="i8").bits) for n in range(5)) == b"hello"


def test_each_run_begins_with_the_initial_values() -> None:
    body = """  %p = llvm.mlir.addressof @pair : !llvm.ptr
  %c = llvm.load %p : !llvm.ptr -> !llvm.ptr
  %x = llvm.load %c : !llvm.ptr -> i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %y = llvm.add %x, %one : i32
  llvm.store %y, %c : i32, !llvm.ptr
  %d = llvm.mlir.addressof @counter : !llvm.ptr
  %r = llvm.load %d : !llvm.ptr -> i32"""
    assert [run(body).item() for _ in range(2)] == [41, 41]


def test_memory_that_is_defined_elsewhere_does_not_run() -> None:
    with pytest.raises(hu.Unsupported, match="@elsewhere' is declared"):
        run("  %p = llvm.mlir.addressof @elsewhere : !llvm.ptr\n  %r = llvm.load %p : !llvm.ptr -> i32")


def test_bytes_are_copied_with_their_poison() -> None:
    copied = f"""{STORED}  %into = llvm.call @calloc(%bytes, %one) : (i64, i64) -> !llvm.ptr
  "llvm.intr.memcpy"(%into, %p, %bytes) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %e = llvm.getelementptr %into[%m] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %r = llvm.load %e : !llvm.ptr -> i32"""
    assert run(copied, 2, 2).item() == -559038737
    assert run(copied, 2, 1).poisoned.all()


def test_memset_and_overlapping_copies() -> None:
    body = f"""{STORED}  %v = llvm.mlir.constant(7 : i8) : i8
  "llvm.intr.memset"(%p, %v, %bytes) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()
  llvm.store %value, %p : i32, !llvm.ptr
  %half = llvm.mlir.constant(8 : i64) : i64
  %next = llvm.getelementptr %p[4] : (!llvm.ptr) -> !llvm.ptr, i8
  "llvm.intr.NAME"(%next, %p, %half) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %e = llvm.getelementptr %p[%m] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %r = llvm.load %e : !llvm.ptr -> i32"""
    moved = body.replace("NAME", "memmove")
    assert [int(run(moved, 0, k).bits) for k in range(4)] == [0xDEADBEEF, 0xDEADBEEF, 0x07070707, 0x07070707]
    with pytest.raises(hu.UndefinedBehavior, match="overlap"):
        run(body.replace("NAME", "memcpy"), 0, 0)


def test_addresses_are_aligned_as_promised_and_come_back() -> None:
    body = f"""{STORED}  %a = llvm.ptrtoint %p : !llvm.ptr to i64
  %s = llvm.mlir.constant(15 : i64) : i64
  %up = llvm.add %a, %s : i64
  %rest = llvm.urem %up, %bytes : i64
  %down = llvm.sub %up, %rest : i64
  %back = llvm.inttoptr %down : i64 to !llvm.ptr
  %r = llvm.load %back : !llvm.ptr -> i32"""
    assert run(body, 0).item() == -559038737


def test_the_size_of_a_type_is_an_address_from_null() -> None:
    body = f"""  %z = llvm.mlir.zero : !llvm.ptr
  %e = llvm.getelementptr %z[1] : (!llvm.ptr) -> !llvm.ptr, {PAIR}
  %r = llvm.ptrtoint %e : !llvm.ptr to i64"""
    assert run(body, result="i64").item() == 24


@each_row(("eq", 0), ("ne", 1), ("ult", 1), ("ule", 1), ("ugt", 0), ("slt", 1), ("sge", 0))
def test_pointers_compare_by_address(predicate: str, expected: int) -> None:
    body = f"""{SIXTEEN}  %q = llvm.getelementptr %p[4] : (!llvm.ptr) -> !llvm.ptr, i8
  %r = llvm.icmp "{predicate}" %p, %q : !llvm.ptr"""
    assert int(run(body, result="i1").bits) == expected
    null = f"""{SIXTEEN}  %z = llvm.mlir.zero : !llvm.ptr
  %r = llvm.icmp "eq" %p, %z : !llvm.ptr"""
    assert int(run(null, result="i1").bits) == 0


MOVED = "  %r = llvm.load %q {} : !llvm.ptr -> i32"


@each_row(
    (f"{STORED}{MOVED.format('')}".replace("inbounds ", ""), "4 bytes at byte 16 of the 16 bytes of malloc at .*leav"),
    (f"{STORED}{MOVED.format('')}", "4 bytes at byte 16 of the 16 bytes"),
    (f"{SIXTEEN}  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i8\n{MOVED.format('')}", "aligned to 4"),
    (f"{SIXTEEN}  %q = llvm.mlir.zero : !llvm.ptr\n{MOVED.format('')}", "at null belongs to no allocation"),
    (f"{SIXTEEN}  %q = llvm.inttoptr %bytes : i64 to !llvm.ptr\n{MOVED.format('')}", "the address 0x10 belongs"),
    (f"{SIXTEEN}  %q = llvm.mlir.poison : !llvm.ptr\n{MOVED.format('')}", "the pointer is poison"),
    (f"{SIXTEEN}  llvm.call @free(%p) : (!llvm.ptr) -> ()\n  %r = llvm.load %p : !llvm.ptr -> i32", "freed by free"),
    (
        f"{SIXTEEN}  llvm.call @free(%p) : (!llvm.ptr) -> ()\n  llvm.call @free(%p) : (!llvm.ptr) -> ()\n"
        "  %r = llvm.mlir.zero : i32",
        "which was freed by free"
    ),
    (
        f"{SIXTEEN}  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i8\n"
        "  llvm.call @free(%q) : (!llvm.ptr) -> ()\n  %r = llvm.mlir.zero : i32",
        "1 bytes after the start"
    ),
    (
        "  %t = llvm.mlir.addressof @table : !llvm.ptr\n  %r = llvm.mlir.zero : i32\n"
        "  llvm.store %r, %t : i32, !llvm.ptr",
        "is constant, but is written"
    ),
    (
        "  %t = llvm.mlir.addressof @table : !llvm.ptr\n  llvm.call @free(%t) : (!llvm.ptr) -> ()\n"
        "  %r = llvm.mlir.zero : i32",
        "is from llvm.mlir.global @table, not from malloc"
    ),
    (f"{SIXTEEN}  %r = llvm.load %p {{alignment = 32 : i64}} : !llvm.ptr -> i32", "whose alignment is 16"),
)  # fmt: skip
def test_undefined_accesses(body: str, message: str) -> None:
    with pytest.raises(hu.UndefinedBehavior, match=message):
        run(body, 4)


@each_row(
    ("", 5, False), ("inbounds ", 4, False), ("inbounds ", 5, True), ("inbounds ", -1, True), ("nuw ", -1, True),
    ("nuw ", 5, False), ("nusw ", -1, False), ("nusw ", 1 << 62, True), ("inbounds|nuw ", 3, False),
)  # fmt: skip
def test_flags_of_addresses(flags: str, index: int, poison: bool) -> None:
    body = f"""{SIXTEEN}  %q = llvm.getelementptr {flags}%p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %r = llvm.ptrtoint %q : !llvm.ptr to i64"""
    found = run(body, index, result="i64")
    assert bool(found.poisoned.any()) == poison


@each_row(
    ("inbounds ", "2, -1", False), ("inbounds ", "3, -1", True), ("inbounds ", "3, -3", True), ("", "3, -1", False),
    ("nusw ", "3, -1", False), ("nuw ", "3, -1", True), ("inbounds ", "0, 3", False), ("inbounds ", "%n, -1", True),
    ("inbounds ", "%n, %m", True),
)  # fmt: skip
def test_every_step_stays_inside(flags: str, indices: str, poison: bool) -> None:
    """inbounds holds for each addition of an index: an address that comes back is poison as well."""
    types = ", i64" * indices.count("%")
    body = f"""{SIXTEEN}  %q = llvm.getelementptr {flags}%p[{indices}] : (!llvm.ptr{types}) -> !llvm.ptr, !llvm.array<2 x i32>
  %r = llvm.ptrtoint %q : !llvm.ptr to i64"""
    assert bool(run(body, 3, -1, result="i64").poisoned.any()) == poison


def test_memory_of_a_frame_ends_with_it() -> None:
    head = """llvm.func @leaks() -> !llvm.ptr {
      %one = llvm.mlir.constant(1 : i64) : i64
      %p = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
      llvm.return %p : !llvm.ptr
    }
    """
    with pytest.raises(hu.UndefinedBehavior, match="freed by llvm.return"):
        run("  %p = llvm.call @leaks() : () -> !llvm.ptr\n  %r = llvm.load %p : !llvm.ptr -> i32", head=head)


def test_a_call_of_another_dialect_does_not_free_memory_of_later_calls() -> None:
    """func.return knows no llvm.alloca. What such a call left is freed when its caller goes on, and nothing else."""
    text = """func.func private @first() -> i64 {
      %one = llvm.mlir.constant(1 : i64) : i64
      %p = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
      %r = llvm.ptrtoint %p : !llvm.ptr to i64
      return %r : i64
    }
    llvm.func @second() {
      %one = llvm.mlir.constant(1 : i64) : i64
      %p = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
      llvm.return
    }
    func.func @main() -> i32 {
      %left = func.call @first() : () -> i64
      %one = llvm.mlir.constant(1 : i32) : i32
      %p = llvm.alloca %one x i32 : (i32) -> !llvm.ptr
      llvm.store %one, %p : i32, !llvm.ptr
      llvm.call @second() : () -> ()
      %q = llvm.inttoptr %left : i64 to !llvm.ptr
      %r = llvm.load %WHICH : !llvm.ptr -> i32
      return %r : i32
    }"""
    assert hu.run(text.replace("WHICH", "p"), function="main")[0].item() == 1
    with pytest.raises(hu.UndefinedBehavior, match="freed by the return of its function"):
        hu.run(text.replace("WHICH", "q"), function="main")


def test_freed_memory_takes_no_place() -> None:
    memory = Memory("malloc", 1 << 20, 16, None)
    memory.release("free")
    assert not memory.data
    assert not memory.lost
    assert memory.size == 1 << 20


def test_a_copy_of_an_argument_is_refused() -> None:
    head = """llvm.func @changes(%p: !llvm.ptr {llvm.byval = i32}) {
      %v = llvm.mlir.constant(9 : i32) : i32
      llvm.store %v, %p : i32, !llvm.ptr
      llvm.return
    }
    """
    with pytest.raises(hu.Unsupported, match=r"llvm\.byval"):
        run(f"{STORED}  llvm.call @changes(%p) : (!llvm.ptr) -> ()\n  %r = llvm.load %p : !llvm.ptr -> i32", head=head)


@pytest.mark.parametrize("type_", ["!llvm.ptr", "!llvm.struct<(i32, i32)>"])
def test_results_that_are_no_values_are_refused(type_: str) -> None:
    with pytest.raises(hu.Unsupported, match=f"@main returns '{re.escape(type_)}'"):
        run(f"  %r = llvm.mlir.zero : {type_}", result=type_)


def test_a_stack_is_restored() -> None:
    body = """  %one = llvm.mlir.constant(1 : i64) : i64
  %value = llvm.mlir.constant(5 : i32) : i32
  %p = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
  llvm.store %value, %p : i32, !llvm.ptr
  %s = llvm.intr.stacksave : !llvm.ptr
  %q = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
  llvm.store %value, %q : i32, !llvm.ptr
  llvm.intr.stackrestore %s : !llvm.ptr
  %r = llvm.load WHICH : !llvm.ptr -> i32"""
    assert run(body.replace("WHICH", "%p")).item() == 5
    with pytest.raises(hu.UndefinedBehavior, match="freed by llvm.intr.stackrestore"):
        run(body.replace("WHICH", "%q"))


def test_functions_are_called_by_their_address() -> None:
    head = """llvm.func @twice(%a: i32) -> i32 {
      %r = llvm.add %a, %a : i32
      llvm.return %r : i32
    }
    llvm.func @other(%a: i64) -> i32 {
      %r = llvm.trunc %a : i64 to i32
      llvm.return %r : i32
    }
    """
    body = """  %f = llvm.mlir.addressof @{} : !llvm.ptr
  %v = llvm.mlir.constant(21 : i32) : i32
  %r = llvm.call %f(%v) : !llvm.ptr, (i32) -> i32"""
    assert run(body.format("twice"), head=head).item() == 42
    with pytest.raises(hu.UndefinedBehavior, match="the callee @other is of type"):
        run(body.format("other"), head=head)
    with pytest.raises(hu.UndefinedBehavior, match="the callee is not a function"):
        run(body.format("counter"), head=head)


def test_the_limit_on_memory() -> None:
    body = "  %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr\n  %r = llvm.mlir.zero : i32"
    with pytest.raises(hu.errors.LimitExceeded, match="max_bytes"):
        run(body, 1 << 40)


def test_masked_access_has_a_byte_for_each_small_element() -> None:
    """mlir-runner 22.1.8 gives 0x01010001, with -O0 and -O2."""
    text = """llvm.func @f() -> i32 {
      %n = llvm.mlir.constant(16 : i64) : i64
      %p = llvm.alloca %n x i8 : (i64) -> !llvm.ptr
      %z = llvm.mlir.constant(7 : i8) : i8
      "llvm.intr.memset"(%p, %z, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
      %v = llvm.mlir.constant(dense<[1,0,1,1,0,0,1,0]> : vector<8xi1>) : vector<8xi1>
      %mask = llvm.mlir.constant(dense<[1,1,1,1,1,1,0,0]> : vector<8xi1>) : vector<8xi1>
      llvm.intr.masked.store %v, %p, %mask {alignment = 1 : i32} : vector<8xi1>, vector<8xi1> into !llvm.ptr
      %b = llvm.load %p {alignment = 1 : i64} : !llvm.ptr -> i32
      llvm.return %b : i32
    }"""
    (found,) = hu.run(text)
    assert int(found.bits) == 0x01010001


# --- llvm atomics -----------------------------------------------------------------------------------------------------
#
# Atomic ops of the llvm dialect. Expectations: LLVM's language reference, release 22.

LLVM_ATOMICS_HEAD = """
llvm.mlir.global internal constant @fixed(5 : i32) : i32
llvm.func @main(%a: {type}, %b: {type}) -> !llvm.struct<({type}, {type})> {{
  %n = llvm.mlir.constant(2 : i64) : i64
  %x = llvm.mlir.poison : {type}
  %p = llvm.alloca %n x {type} : (i64) -> !llvm.ptr
  llvm.store %a, %p : {type}, !llvm.ptr
  %u = llvm.mlir.undef : !llvm.struct<({type}, {type})>
"""
TAIL = """
  %after = llvm.load %p : !llvm.ptr -> {type}
  %s = llvm.insertvalue %before, %u[0] : !llvm.struct<({type}, {type})>
  %r = llvm.insertvalue %after, %s[1] : !llvm.struct<({type}, {type})>
  llvm.return %r : !llvm.struct<({type}, {type})>
}}
"""


def _halves(line: str, a: Any, b: Any, type_: str = "i8") -> tuple[hu.Value, hu.Value]:
    """Return what an op gave as %before, and what it left in memory."""
    whole = LLVM_ATOMICS_HEAD.format(type=type_) + line + TAIL.format(type=type_)
    found = []
    for part in (0, 1):
        program = whole.replace(
            f"llvm.return %r : !llvm.struct<({type_}, {type_})>",
            f"%h = llvm.extractvalue %r[{part}] : !llvm.struct<({type_}, {type_})>\n  llvm.return %h : {type_}",
        ).replace(f"-> !llvm.struct<({type_}, {type_})> {{", f"-> {type_} {{")
        found.append(hu.run(program, a, b, function="main")[0])
    return found[0], found[1]


@each_row(
    ("xchg", 1, 2, 2), ("add", 127, 1, -128), ("sub", -128, 1, 127), ("_and", 12, 10, 8), ("nand", 12, 10, -9),
    ("_or", 12, 10, 14), ("_xor", 12, 10, 6), ("max", -1, 1, 1), ("min", -1, 1, -1), ("umax", -1, 1, -1),
    ("umin", -1, 1, 1), ("uinc_wrap", 3, 4, 4), ("uinc_wrap", 4, 4, 0), ("uinc_wrap", -1, 4, 0), ("udec_wrap", 0, 4, 4),
    ("udec_wrap", 5, 4, 4), ("udec_wrap", 4, 4, 3), ("usub_cond", 5, 3, 2), ("usub_cond", 3, 5, 3),
    ("usub_sat", 5, 3, 2), ("usub_sat", 3, 5, 0),
)  # fmt: skip
def test_integers(kind: str, a: int, b: int, expected: int) -> None:
    before, after = _halves(f"  %before = llvm.atomicrmw {kind} %p, %b seq_cst : !llvm.ptr, i8", np.int8(a), np.int8(b))
    assert (before.item(), after.item()) == (a, expected)


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"),
    [
        ("fadd", 1.5, 2.25, 3.75),
        ("fsub", 1.5, 2.25, -0.75),
        ("fmax", np.nan, 2.0, 2.0),
        ("fmin", 2.0, np.nan, 2.0),
        ("fmaximum", np.nan, 2.0, np.nan),
        ("fminimum", -0.0, 0.0, -0.0),
        ("fmaximum", -0.0, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "vector<2xf32>"])
def test_floats(kind: str, a: float, b: float, expected: float, type_: str) -> None:
    line = f"  %before = llvm.atomicrmw {kind} %p, %b monotonic : !llvm.ptr, {type_}"
    shape, element = ((2,), "f32") if type_[0] == "v" else ((), type_)
    first, second = (hu.convert(np.full(shape, number, np.float32), element) for number in (a, b))
    before, after = _halves(line, first, second, type_)
    for found, number in ((before, a), (after, expected)):
        shown = hu.convert(found, "f32").numpy()
        np.testing.assert_array_equal(shown, np.full(shape, number, np.float32))
        assert (np.signbit(shown) == np.signbit(np.float32(number))).all() or np.isnan(number)


@pytest.mark.parametrize(("type_", "size"), [("vector<3xf16>", 6), ("f80", 10)])
def test_other_sizes_than_powers_of_two_are_refused(type_: str, size: int) -> None:
    """LLVM has no atomic access of them; mlir-opt accepts it."""
    line = f"  %before = llvm.atomicrmw fadd %p, %b monotonic {{alignment = 16 : i64}} : !llvm.ptr, {type_}"
    program = LLVM_ATOMICS_HEAD.format(type=type_) + line + TAIL.format(type=type_)
    value = hu.Value.from_bits(np.zeros(3, np.uint16), type_) if type_[0] == "v" else hu.Value.from_bits(0, type_)
    with pytest.raises(hu.Unsupported, match=f"halfulp does not run atomic access of {size} bytes"):
        hu.run(program, value, value, function="main")


def test_poison_is_stored() -> None:
    before, after = _halves("  %before = llvm.atomicrmw add %p, %x monotonic : !llvm.ptr, i8", np.int8(3), np.int8(0))
    assert before.item() == 3
    assert after.poison is not None
    before, after = _halves("  %before = llvm.atomicrmw xchg %p, %x monotonic : !llvm.ptr, i8", np.int8(3), np.int8(0))
    assert after.poison is not None


_EXCHANGE = """  %new = llvm.mlir.constant(7 : i8) : i8
  %pair = llvm.cmpxchg {}%p, %b, %new acq_rel monotonic : !llvm.ptr, i8
  %before = llvm.extractvalue %pair[0] : !llvm.struct<(i8, i1)>"""
_EQUAL = """
  %is = llvm.extractvalue %pair[1] : !llvm.struct<(i8, i1)>
  %before = llvm.zext %is : i1 to i8"""


@pytest.mark.parametrize("words", ["", "weak ", "weak volatile "])
@pytest.mark.parametrize(("a", "b"), thinned([(3, 3), (3, 4), (-1, -1), (0, -1)], 3, rows=True))
def test_a_value_is_exchanged_if_it_is_the_expected_one(words: str, a: int, b: int) -> None:
    before, after = _halves(_EXCHANGE.format(words), np.int8(a), np.int8(b))
    assert (before.item(), after.item()) == (a, 7 if a == b else a)
    line = _EXCHANGE.format(words).rpartition("\n")[0] + _EQUAL
    assert _halves(line, np.int8(a), np.int8(b))[0].item() == (a == b)


def test_whether_poison_is_equal_is_poison() -> None:
    line = _EXCHANGE.format("").replace("%p, %b", "%p, %x")
    before, after = _halves(line, np.int8(3), np.int8(3))
    assert before.item() == 3
    assert "an operand of the comparison is poison" in str(after.origin())
    assert _halves(line.rpartition("\n")[0] + _EQUAL, np.int8(3), np.int8(3))[0].poison is not None


@each_row(
    "%before = llvm.atomicrmw add %q, %b monotonic {alignment = 1 : i64} : !llvm.ptr, i32",
    "%before = llvm.atomicrmw add %q, %b monotonic {alignment = 2 : i64} : !llvm.ptr, i32",
    "%before = llvm.atomicrmw add %q, %b monotonic : !llvm.ptr, i32",
    "%pair = llvm.cmpxchg %q, %b, %b monotonic monotonic : !llvm.ptr, i32\n"
    "  %before = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>",
)
def test_without_an_alignment_the_size_is_meant(line: str) -> None:
    """LLVM's reference: if the alignment is left out, it is the size of the value."""
    body = f"  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i8\n  {line}"
    if "= 1 : i64" in line:
        before, _ = _halves(body, np.int32(0x04030201), np.int32(0), "i32")
        assert before.poison is not None  # the last byte was never written
        return
    with pytest.raises(hu.UndefinedBehavior, match="aligned to [24] bytes is at byte 1 of the 8 bytes of llvm.alloca"):
        _halves(body, np.int32(1), np.int32(0), "i32")


@each_row(
    "%before = llvm.atomicrmw add %q, %b monotonic : !llvm.ptr, i32",
    "%pair = llvm.cmpxchg %q, %b, %b monotonic monotonic : !llvm.ptr, i32\n"
    "  %before = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>",
)
def test_constant_memory_is_not_written(line: str) -> None:
    """Not even by an exchange that finds another value: LLVM counts it as a write."""
    with pytest.raises(hu.UndefinedBehavior, match="is constant, but is written"):
        _halves(f"  %q = llvm.mlir.addressof @fixed : !llvm.ptr\n  {line}", np.int32(1), np.int32(6), "i32")


def test_a_poison_pointer_is_undefined() -> None:
    line = "  %q = llvm.mlir.poison : !llvm.ptr\n  %before = llvm.atomicrmw add %q, %b monotonic : !llvm.ptr, i8"
    with pytest.raises(hu.UndefinedBehavior, match="the pointer is poison"):
        _halves(line, np.int8(1), np.int8(2))


def test_a_fence_changes_nothing() -> None:
    line = '  llvm.fence syncscope("agent") seq_cst\n  %before = llvm.load %p : !llvm.ptr -> i8'
    before, after = _halves(line, np.int8(4), np.int8(0))
    assert (before.item(), after.item()) == (4, 4)
