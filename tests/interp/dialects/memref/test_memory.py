"""Memory of memrefs: allocation, layouts, deallocation, and what is never written."""

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
from batches import agree
from memref_functions import module_of, run, undefined
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.coerce import as_type


@pytest.mark.parametrize("op", ["alloc", "alloca"])
def test_memory_nobody_has_written_to_is_poison(op: str) -> None:
    (value,) = run(
        "() -> memref<?x3xi8>",
        f"""\
  %m = memref.{op}(%c2) : memref<?x3xi8>
  %x = arith.constant 7 : i8
  memref.store %x, %m[%c1, %c2] : memref<?x3xi8>
  return %m : memref<?x3xi8>""",
    )
    assert str(value.type) == "tensor<2x3xi8>"
    assert value.poisoned.tolist() == [[True, True, True], [True, True, False]]
    assert value.numpy(poison=0)[1, 2] == 7
    assert str(value.origin(0, 1)) == (
        f"an element of memref.{op} was never written (memref.{op} at <string>:8:8, element [0, 0])"
    )


@each_row(
    ("memref<f32>", "()", ()),
    ("memref<0x4xf32>", "()", (0, 4)),
    ("memref<?x?xf32>", "(%c0, %c3)", (0, 3)),
    ("memref<2x2xf32, strided<[3, -1], offset: 1>>", "()", (2, 2)),
    ("memref<?x2xf32, strided<[?, 1], offset: ?>>", "(%c2)[%c4, %c5]", (2, 2)),
)
def test_memory_of_any_layout(type_: str, numbers: str, shape: tuple[int, ...]) -> None:
    (value,) = run(f"() -> {type_}", f"  %m = memref.alloc{numbers} : {type_}\n  return %m : {type_}")
    assert value.shape == shape
    assert value.poisoned.all()


def test_a_layout_takes_the_numbers_it_leaves_open_from_the_op() -> None:
    type_ = "memref<?x2xf32, strided<[?, 1], offset: ?>>"
    results = run(
        "() -> (index, index, index)",
        f"""\
  %m = memref.alloc(%c2)[%c4, %c5] : {type_}
  %b, %o, %n:2, %s:2 = iree_codegen.extract_strided_metadata %m : {type_} -> memref<f32>, index, index, index, index, index
  return %o, %s#0, %n#0 : index, index, index""",
    )
    assert [result.item() for result in results] == [4, 5, 2]


def test_memory_that_cannot_be_had() -> None:
    assert "the shape [-1] has a negative size" in undefined(
        "(%n: index)", "  %m = memref.alloc(%n) : memref<?xi8>\n  return", -1
    )
    assert "the shape [-1] has a negative size" in undefined(
        "(%n: index)", "  %m = memref.alloc(%n) : memref<?xi8>\n  return", -1, index_width=32
    )
    with pytest.raises(hu.errors.LimitExceeded, match="takes 4000000000 bytes; the limit is 268435456"):
        run("(%n: index)", "  %m = memref.alloc(%n) : memref<?xi32>\n  return", 10**9)
    with pytest.raises(hu.Unsupported, match=r"does not run memory with elements of type 'vector<\[4\]xf32>'"):
        run("()", "  %m = memref.alloc() : memref<2xvector<[4]xf32>>\n  return")


FREED = {
    "load": ("memref.load %m[%c0] : memref<4xi8>", "memref.load"),
    "store": ("memref.store %x, %m[%c0] : memref<4xi8>", "memref.store"),
    "vector.load": ("vector.load %m[%c0] : memref<4xi8>, vector<2xi8>", "vector.load"),
    "twice": ("memref.dealloc %m : memref<4xi8>", "memref.dealloc"),
    "a view": ("memref.load %v[%c0] : memref<2xi8, strided<[1], offset: 1>>", "memref.load"),
    "copy": ("iree_codegen.load_from_buffer %m : memref<4xi8> -> tensor<4xi8>", "iree_codegen.load_from_buffer"),
}


@pytest.mark.parametrize("what", FREED)
def test_memory_that_was_freed_is_not_used(what: str) -> None:
    use, name = FREED[what]
    message = undefined(
        "(%x: i8)",
        f"""\
  %m = memref.alloc() : memref<4xi8>
  %v = memref.subview %m[1] [2] [1] : memref<4xi8> to memref<2xi8, strided<[1], offset: 1>>
  memref.dealloc %m : memref<4xi8>
  {"%r = " * ("store" not in what and what != "twice")}{use}
  return""",
        1,
    )
    which = 1 if what == "store" else 0
    assert message == (
        f"{name}: undefined behaviour: the memory of operand {which} was freed by memref.dealloc at <string>:10:3"
    )


@pytest.mark.parametrize("swizzle", ["hint", "physical"])
def test_views_of_memory_that_was_freed_touch_none(swizzle: Any) -> None:
    (size,) = hu.run(
        """\
func.func @main() -> index {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<4xi8>
  memref.dealloc %m : memref<4xi8>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 1>] : memref<4xi8>
  %v = memref.subview %h[1] [2] [1] : memref<4xi8> to memref<2xi8, strided<[1], offset: 1>>
  %c = memref.cast %v : memref<2xi8, strided<[1], offset: 1>> to memref<?xi8, strided<[?], offset: ?>>
  %b, %offset, %size, %stride = iree_codegen.extract_strided_metadata %c
    : memref<?xi8, strided<[?], offset: ?>> -> memref<i8>, index, index, index
  %d = memref.dim %c, %c0 : memref<?xi8, strided<[?], offset: ?>>
  %sum = arith.addi %d, %size : index
  return %sum : index
}""",
        swizzle=swizzle,
    )
    assert size.item() == 4


def test_only_what_alloc_returned_is_freed() -> None:
    dealloc = "  memref.dealloc %m : memref<4xi8>\n  return"
    assert "the memory is from memref.alloca" in undefined("()", f"  %m = memref.alloca() : memref<4xi8>\n{dealloc}")
    assert "the memory is from the caller" in undefined("(%m: memref<4xi8>)", dealloc, np.zeros(4, np.int8))
    part = "%v = memref.subview %m[0] [4] [1] : memref<4xi8> to memref<4xi8, strided<[1]>>"
    assert "the memref is a part of what memref.alloc returned" in undefined(
        "()",
        f"""\
  %m = memref.alloc() : memref<4xi8>
  {part}
  memref.dealloc %v : memref<4xi8, strided<[1]>>
  return""",
    )
    run(
        "()",
        """\
  %m = memref.alloc() : memref<4xi8>
  %v = memref.cast %m : memref<4xi8> to memref<*xi8>
  memref.dealloc %v : memref<*xi8>
  return""",
    )


def test_a_result_whose_memory_was_freed_is_not_returned() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="the memory was freed"):
        run(
            "() -> memref<1xi8>",
            "  %m = memref.alloc() : memref<1xi8>\n  memref.dealloc %m : memref<1xi8>\n  return %m : memref<1xi8>",
        )


def test_memory_in_a_loop_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    # Machine code lets memory go at its end, and makes so little that the executor takes over before it is too much.
    monkeypatch.setattr(llvm, "_backend", "numpy")
    body = """\
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc() : memref<100000xi64>
    %x = arith.constant 1 : i64
    memref.store %x, %m[%c0] : memref<100000xi64>
  }
  return"""
    module = module_of("(%n: index)", body)

    def peak(rounds: int) -> int:
        """Return the most bytes that a run takes."""
        tracemalloc.start()
        hu.run(module, rounds)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)  # makes the tables that are kept
    once = peak(1)
    assert once > 100_000 * 8  # what a round allocates is counted
    assert peak(50) < 2.5 * once


# --- elements ---------------------------------------------------------------------------------------------------------
#
# Elements of memrefs: loads, stores and accesses out of bounds.

COPY = """\
  %n = memref.dim %x, %c0 : memref<?xTYPE>
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %x[%i] : memref<?xTYPE>
    memref.store %e, %y[%i] : memref<?xTYPE>
  }
  return"""


@pytest.mark.parametrize("element", ["i8", "f32", "f80", "i128", "i1", "f4E2M1FN", "index", "i0"])
def test_elements_of_any_type_go_in_and_out(element: str) -> None:
    width = element_width(as_type(element))
    assert width is not None
    codes = [int.from_bytes(np.random.default_rng(k).bytes(16), "little") & ((1 << width) - 1) for k in range(3)]
    value = hu.Value.from_bits(codes, f"tensor<3x{element}>")
    out = hu.Buffer.from_numpy(hu.Value.from_bits([0, 0, 0], value.type))
    run(f"(%x: memref<?x{element}>, %y: memref<?x{element}>)", COPY.replace("TYPE", element), value, out)
    assert out.load() == value


def test_complex_elements_go_in_and_out() -> None:
    type_ = as_type("tensor<3xcomplex<f32>>")
    value = hu.Value(type_, np.arange(6, dtype=np.uint32).reshape(3, 2))
    out = hu.Buffer.from_numpy(hu.Value(type_, np.zeros((3, 2), np.uint32)))
    run("(%x: memref<?xcomplex<f32>>, %y: memref<?xcomplex<f32>>)", COPY.replace("TYPE", "complex<f32>"), value, out)
    assert out.load() == value


@pytest.mark.parametrize("element", ["i8", "i128"])
def test_what_was_loaded_does_not_change_with_the_memory(element: str) -> None:
    body = f"""\
  %a = memref.load %m[%c1] : memref<2x{element}>
  memref.store %x, %m[%c1] : memref<2x{element}>
  return %a : {element}"""
    memory = hu.Buffer.from_numpy(hu.Value.from_bits([5, 6], f"tensor<2x{element}>"))
    (before,) = run(f"(%m: memref<2x{element}>, %x: {element}) -> {element}", body, memory, 9)
    assert before.item() == 6
    assert memory.numpy().tolist() == [5, 9]


def test_poison_is_stored_and_loaded_with_its_origin() -> None:
    body = """\
  %m = memref.alloc() : memref<2xi8>
  %sum = arith.addi %a, %b overflow<nsw> : i8
  memref.store %sum, %m[%c0] : memref<2xi8>
  %v = memref.load %m[%c0] : memref<2xi8>
  memref.store %a, %m[%c0] : memref<2xi8>
  %w = memref.load %m[%c0] : memref<2xi8>
  return %v, %w : i8, i8"""
    poisoned, clean = run("(%a: i8, %b: i8) -> (i8, i8)", body, 100, 100)
    assert "arith.addi at <string>:9:10" in str(poisoned.origin())
    assert clean.item() == 100
    assert clean.poison is None


def test_what_is_open_stays_open_in_memory() -> None:
    body = """\
  %z = arith.mulf %a, %b fastmath<nsz> : f32
  memref.store %z, %m[%c1] : memref<2xf32>
  %v = memref.load %m[%c1] : memref<2xf32>
  %w = memref.load %m[%c0] : memref<2xf32>
  return %v, %w : f32, f32"""
    memory = hu.Buffer.from_numpy(np.ones(2, np.float32))
    signature = "(%a: f32, %b: f32, %m: memref<2xf32>) -> (f32, f32)"
    zero, other = run(signature, body, 0.0, 1.0, memory, track_open=True)
    assert zero.open is not None
    assert zero.open.any()
    assert other.open is None
    assert memory.load().open is not None


@pytest.mark.parametrize("on_ub", ["raise", "poison"])
@pytest.mark.parametrize(
    ("access", "arguments", "message"),
    [
        ("%v = memref.load %m[%i, %j] : memref<2x3xi8>", (2, 0), "load: .*index [2, 0] is outside the shape 2x3"),
        ("%v = memref.load %m[%i, %j] : memref<2x3xi8>", (0, -1), "load: .*index [0, -1] is outside the shape 2x3"),
        ("memref.store %x, %m[%i, %j] : memref<2x3xi8>", (1, 3), "store: .*index [1, 3] is outside the shape 2x3"),
        (
            "%v = vector.load %m[%i, %j] : memref<2x3xi8>, vector<2xi8>",
            (1, 2),
            "load: .*the vector of shape 2 from index [1, 2] on is outside the shape 2x3",
        ),
        (
            "%v = vector.load %m[%i, %j] : memref<2x3xi8>, vector<2x2xi8>",
            (1, 0),
            "load: .*the vector of shape 2x2 from index [1, 0] on is outside the shape 2x3",
        ),
        (
            "%v = vector.load %m[%i, %j] : memref<2x3xi8>, vector<1xi8>",
            (-1, 0),
            "load: .*the vector of shape 1 from index [-1, 0] on is outside the shape 2x3",
        ),
    ],
)
def test_accesses_outside_are_undefined(access: str, arguments: tuple[int, int], message: str, on_ub: Any) -> None:
    signature = "(%m: memref<2x3xi8>, %x: i8, %i: index, %j: index)"
    pattern = re.escape(message).replace(r"\.\*", ".*")
    for width in (64, 32):
        found = undefined(
            signature, f"  {access}\n  return", np.zeros((2, 3), np.int8), 1, *arguments, on_ub=on_ub, index_width=width
        )
        assert re.search(pattern, found)
        assert "undefined behaviour" in found


@pytest.mark.parametrize("access", ["%v = memref.load %m[%p]", "memref.store %x, %m[%p]"])
def test_an_index_that_is_poison_is_undefined(access: str) -> None:
    body = (
        f"  %big = arith.constant 64 : index\n  %p = arith.shli %c1, %big : index\n  {access} : memref<2xi8>\n  return"
    )
    message = undefined("(%m: memref<2xi8>, %x: i8)", body, np.zeros(2, np.int8), 1)
    assert "an index is poison" in message
    assert "arith.shli" in message


def test_a_memref_that_is_poison_is_undefined() -> None:
    message = undefined("()", "  %m = ub.poison : memref<2xi8>\n  %v = memref.load %m[%c0] : memref<2xi8>\n  return")
    assert "the memref is poison" in message


def test_a_memref_that_is_poison_is_returned_as_a_tensor() -> None:
    (value,) = run("() -> memref<2xi8>", "  %m = ub.poison : memref<2xi8>\n  return %m : memref<2xi8>")
    assert str(value.type) == "tensor<2xi8>"
    assert value.poisoned.all()


def test_negative_numbers_with_32_bits_of_index() -> None:
    memory = hu.Buffer.from_numpy(np.array([-1, 5], np.int64), "index")
    (value,) = run(
        "(%m: memref<2xindex>) -> index",
        "  %v = memref.load %m[%c0] : memref<2xindex>\n  %w = arith.addi %v, %c2 : index\n  return %w : index",
        memory,
        index_width=32,
    )
    assert value.item() == 1
    with pytest.raises(hu.TypeMismatch, match="does not fit the 32 bits"):
        run("(%m: memref<1xindex>)", "  return", np.array([1 << 40], np.int64), index_width=32)


# --- functions --------------------------------------------------------------------------------------------------------
#
# Memrefs in functions: calls, control flow and batches; a whole program as `mlir-runner` runs it.


def test_memrefs_go_through_calls_loops_and_branches() -> None:
    module = hu.load("""\
func.func private @put(%m: memref<?xi8>, %i: index, %x: i8) {
  memref.store %x, %m[%i] : memref<?xi8>
  return
}
func.func @main(%a: memref<?xi8>, %b: memref<?xi8>, %n: index, %which: i1) -> memref<?xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 7 : i8
  %last, %other = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (memref<?xi8>, memref<?xi8>) {
    func.call @put(%p, %i, %x) : (memref<?xi8>, index, i8) -> ()
    scf.yield %q, %p : memref<?xi8>, memref<?xi8>
  }
  cf.cond_br %which, ^bb1(%last : memref<?xi8>), ^bb1(%other : memref<?xi8>)
^bb1(%r: memref<?xi8>):
  return %r : memref<?xi8>
}""")
    one, two = (hu.Buffer.from_numpy(np.zeros(4, np.int8)) for _ in range(2))
    (value,) = hu.run(module, one, two, 3, True, function="main")
    assert one.numpy().tolist() == [7, 0, 7, 0]
    assert two.numpy().tolist() == [0, 7, 0, 0]
    assert value.numpy().tolist() == two.numpy().tolist()


def test_functions_of_the_caller_get_buffers_and_return_them() -> None:
    module = hu.load("""\
func.func private @fill(memref<2xi8>) -> memref<?xi8>
func.func @main(%m: memref<2xi8>) -> (memref<?xi8>, i8) {
  %c1 = arith.constant 1 : index
  %r = call @fill(%m) : (memref<2xi8>) -> memref<?xi8>
  %x = memref.load %m[%c1] : memref<2xi8>
  return %r, %x : memref<?xi8>, i8
}""")

    def fill(memory: hu.Buffer) -> hu.Buffer:
        memory.store(hu.Value.from_bits([3, 4], "i8"))
        return memory

    given = np.zeros(2, np.int8)
    result, element = hu.run(module, given, externals={"fill": fill})
    assert result.numpy().tolist() == [3, 4]
    assert element.item() == 4
    assert given.tolist() == [0, 0]
    (direct,) = hu.run(module, given, function="fill", externals={"fill": fill})
    assert str(direct.type) == "tensor<2xi8>"


def test_a_memref_is_selected_like_any_value() -> None:
    signature = "(%c: i1, %a: memref<2xi8>, %b: memref<2xi8>)"
    body = """\
  %r = arith.select %c, %a, %b : memref<2xi8>
  %x = arith.constant 9 : i8
  memref.store %x, %r[%c0] : memref<2xi8>
  return"""
    one, two = (hu.Buffer.from_numpy(np.zeros(2, np.int8)) for _ in range(2))
    run(signature, body, False, one, two)
    assert one.numpy().tolist() == [0, 0]
    assert two.numpy().tolist() == [9, 0]
    poison = hu.run("func.func @f() -> i1 { %p = ub.poison : i1 return %p : i1 }")[0]
    assert "arith.select: undefined behaviour: the condition is poison" in undefined(signature, body, poison, one, two)


@pytest.mark.parametrize(("op", "one", "other"), [("bitcast", "f32", "i32"), ("index_cast", "i64", "index")])
def test_casts_of_memrefs_share_the_memory(op: str, one: str, other: str) -> None:
    body = f"""\
  %r = arith.{op} %m : memref<2x{one}> to memref<2x{other}>
  %a = memref.load %r[%c0] : memref<2x{other}>
  memref.store %a, %r[%c1] : memref<2x{other}>
  %b = memref.load %m[%c1] : memref<2x{one}>
  return %a, %b : {other}, {one}"""
    given = np.array([1.5, 2], np.float32) if one == "f32" else np.array([-3, 4])
    results = run(f"(%m: memref<2x{one}>) -> ({other}, {one})", body, given)
    assert [int(result.bits) for result in results] == [int(given[:1].view(f"u{given.itemsize}")[0])] * 2


def test_a_cast_of_a_memref_to_other_widths_has_no_meaning() -> None:
    body = "  %r = arith.index_cast %m : memref<2xi32> to memref<2xindex>\n  return"
    with pytest.raises(hu.Unsupported, match="from elements of 32 bits to elements of 64 bits is not defined"):
        run("(%m: memref<2xi32>)", body, np.zeros(2, np.int32))


# --- against MLIR -----------------------------------------------------------------------------------------------------

PROGRAM = """\
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %m = memref.alloc(%c4) : memref<?x5xi32>
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c5 step %c1 {
      %a = arith.muli %i, %c5 : index
      %b = arith.addi %a, %j : index
      %x = arith.index_cast %b : index to i32
      memref.store %x, %m[%i, %j] : memref<?x5xi32>
    }
  }
  %s = memref.subview %m[%c1, 0] [%c3, 3] [1, %c2] : memref<?x5xi32> to memref<?x3xi32, strided<[5, ?], offset: ?>>
  %t = memref.subview %s[0, %c1] [2, 1] [%c2, 1] : memref<?x3xi32, strided<[5, ?], offset: ?>>
    to memref<2xi32, strided<[?], offset: ?>>
  %k = arith.constant -7 : i32
  memref.store %k, %t[%c1] : memref<2xi32, strided<[?], offset: ?>>
  %u = memref.cast %s : memref<?x3xi32, strided<[5, ?], offset: ?>> to memref<3x3xi32, strided<[?, 2], offset: 5>>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %x = memref.load %u[%i, %j] : memref<3x3xi32, strided<[?, 2], offset: 5>>
      vector.print %x : i32
    }
  }
  %v = vector.load %m[%c1, %c1] : memref<?x5xi32>, vector<3xi32>
  vector.print %v : vector<3xi32>
  vector.store %v, %m[%c2, %c0] : memref<?x5xi32>, vector<3xi32>
  %w = vector.load %m[%c3, %c0] : memref<?x5xi32>, vector<5xi32>
  vector.print %w : vector<5xi32>
  %d = memref.dim %s, %c0 : memref<?x3xi32, strided<[5, ?], offset: ?>>
  vector.print %d : index
  memref.dealloc %m : memref<?x5xi32>
  return
}
"""
PASSES = (
    "--convert-scf-to-cf --convert-vector-to-scf --expand-strided-metadata --convert-vector-to-llvm --lower-affine "
    "--convert-scf-to-cf --convert-arith-to-llvm --finalize-memref-to-llvm --convert-index-to-llvm --convert-cf-to-llvm "
    "--convert-func-to-llvm --convert-ub-to-llvm --reconcile-unrealized-casts"
)


@pytest.mark.mlir
def test_a_program_prints_what_mlir_runner_prints(capsys: pytest.CaptureFixture[str]) -> None:
    optimizer, runner = (
        find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22") for name in ("opt", "runner")
    )
    lowered = optimizer.run(PASSES.split(), PROGRAM)
    libraries = f"--shared-libs={library(runner, UTILITIES)}"
    theirs = runner.run(["--entry-point-result=void", libraries], lowered)
    hu.run(PROGRAM)
    assert capsys.readouterr().out == theirs


# --- lanes ------------------------------------------------------------------------------------------------------------
#
# Memory in a batch: each lane has its own, and gets what it gets alone.

LANES = 12
RANDOM = np.random.default_rng(20)

LANES_PROGRAM = """
memref.global constant @constant : memref<4xi32> = dense<[1, 2, 3, 4]>
memref.global @variable : memref<4xi32> = dense<7>
memref.global @empty : memref<4xi32> = uninitialized
func.func private @add(%a: memref<?xi32, strided<[?], offset: ?>>, %i: index, %x: i32) -> i32 {
  %0 = memref.atomic_rmw addi %x, %a[%i] : (i32, memref<?xi32, strided<[?], offset: ?>>) -> i32
  return %0 : i32
}
func.func @main(%m: memref<4xi32>, %i: index, %x: i32, %n: index) -> (i32, i32, memref<4xi32>, i32, i32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = memref.get_global @constant : memref<4xi32>
  %v = memref.get_global @variable : memref<4xi32>
  %u = memref.get_global @empty : memref<4xi32>
  %a = memref.alloc() : memref<4xi32>
  memref.copy %m, %a : memref<4xi32> to memref<4xi32>
  %l = memref.load %a[%i] : memref<4xi32>
  memref.store %x, %v[%i] : memref<4xi32>
  memref.store %x, %u[%c1] : memref<4xi32>
  %p = memref.load %u[%i] : memref<4xi32>
  %k = memref.load %c[%i] : memref<4xi32>
  scf.for %j = %c0 to %n step %c1 {
    %e = memref.load %m[%j] : memref<4xi32>
    %s = arith.addi %e, %x : i32
    memref.store %s, %a[%j] : memref<4xi32>
    %t = memref.alloc() : memref<2xi32>
    memref.store %s, %t[%c0] : memref<2xi32>
    memref.dealloc %t : memref<2xi32>
  }
  %sv = memref.subview %a[%i] [1] [1] : memref<4xi32> to memref<1xi32, strided<[1], offset: ?>>
  %w = memref.load %sv[%c0] : memref<1xi32, strided<[1], offset: ?>>
  %cond = arith.cmpi slt, %x, %k : i32
  %r = scf.if %cond -> memref<4xi32> {
    scf.yield %a : memref<4xi32>
  } else {
    scf.yield %v : memref<4xi32>
  }
  %d = memref.cast %r : memref<4xi32> to memref<?xi32, strided<[?], offset: ?>>
  %at = func.call @add(%d, %c1, %x) : (memref<?xi32, strided<[?], offset: ?>>, index, i32) -> i32
  %z = memref.dim %d, %c0 : memref<?xi32, strided<[?], offset: ?>>
  return %l, %w, %r, %at, %p, %z : i32, i32, memref<4xi32>, i32, i32, index
}
"""


@pytest.mark.parametrize("most", [4, 6])
def test_each_lane_gets_what_it_gets_alone(most: int) -> None:
    """Indices up to 3 are inside; larger ones are undefined behaviour in their lanes only."""
    memory = RANDOM.integers(0, 9, (LANES, 4)).astype(np.int32)
    indices, ends = RANDOM.integers(0, most, LANES), RANDOM.integers(0, most + 1, LANES)
    agree(hu.load(LANES_PROGRAM), memory, indices, RANDOM.integers(0, 5, LANES).astype(np.int32), ends)


def test_a_buffer_holds_what_the_lanes_stored() -> None:
    module = hu.load("""func.func @main(%m: memref<3xf32>, %x: f32, %i: index) {
      memref.store %x, %m[%i] : memref<3xf32>
      return
    }""")
    buffer = hu.Buffer.from_numpy(np.zeros((4, 3), np.float32))
    hu.run(module, buffer, np.arange(1, 5, dtype=np.float32), np.array([0, 1, 2, 0]), batch=True)
    assert buffer.numpy().tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3], [4, 0, 0]]
    with pytest.raises(hu.TypeMismatch, match="each lane has memory of its own"):
        hu.run(module, hu.Buffer.from_numpy(np.zeros(3, np.float32)), np.zeros(2, np.float32), 0, batch=True)


def test_freed_memory_is_reported_with_its_lanes() -> None:
    text = """func.func @main(%c: i1) -> i32 {
      %c0 = arith.constant 0 : index
      %x = arith.constant 3 : i32
      %a = memref.alloc() : memref<1xi32>
      memref.store %x, %a[%c0] : memref<1xi32>
      scf.if %c {
        memref.dealloc %a : memref<1xi32>
      }
      %r = memref.load %a[%c0] : memref<1xi32>
      return %r : i32
    }"""
    with pytest.raises(hu.UndefinedBehavior, match=r"was freed by memref.dealloc at .*\(lane 1; 2 of 4 lanes\)"):
        hu.run(text, np.array([0, 1, 1, 0], np.bool_), batch=True)


@pytest.mark.long
def test_memory_that_nothing_needs_is_used_again() -> None:
    text = """func.func @main(%n: index) -> i32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> i32 {
        %a = memref.alloca() : memref<1000xi32>
        %x = arith.index_cast %i : index to i32
        memref.store %x, %a[%c0] : memref<1000xi32>
        %y = memref.load %a[%c0] : memref<1000xi32>
        %t = arith.addi %s, %y : i32
        scf.yield %t : i32
      }
      return %r : i32
    }"""
    # 2,000 pieces of 4 kB for each of 4 lanes would be more than the limit.
    (result,) = hu.run(text, np.array([2000, 3, 0, 10]), batch=True, max_bytes=1 << 20)
    assert result.numpy().tolist() == [1999000, 3, 0, 45]


def test_lanes_with_memrefs_of_different_shapes_are_refused() -> None:
    text = """func.func @main(%n: index) -> index {
      %c0 = arith.constant 0 : index
      %a = memref.alloc(%n) : memref<?xi32>
      %d = memref.dim %a, %c0 : memref<?xi32>
      return %d : index
    }"""
    assert hu.run(text, np.array([3, 3]), batch=True)[0].numpy().tolist() == [3, 3]
    with pytest.raises(hu.Unsupported, match="lanes cannot hold memrefs of type 'memref<[?]xi32>' of different shapes"):
        hu.run(text, np.array([3, 4]), batch=True)
