"""Memory of memrefs: allocation, layouts, deallocation, and what is never written."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from memref_functions import module_of, run, undefined

import halfulp as hu
from halfulp.fp_formats.paths import llvm


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


@pytest.mark.parametrize(
    ("type_", "numbers", "shape"),
    [
        ("memref<f32>", "()", ()),
        ("memref<0x4xf32>", "()", (0, 4)),
        ("memref<?x?xf32>", "(%c0, %c3)", (0, 3)),
        ("memref<2x2xf32, strided<[3, -1], offset: 1>>", "()", (2, 2)),
        ("memref<?x2xf32, strided<[?, 1], offset: ?>>", "(%c2)[%c4, %c5]", (2, 2)),
    ],
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
    with pytest.raises(hu.Unsupported, match=r"elements of type 'vector<\[4\]xf32>' is not run"):
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
