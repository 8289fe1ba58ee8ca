"""Made-up arguments: all, or samples; their sizes, layouts and number."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import halfulp as hu
from halfulp.conformance.whole_programs.arguments import CHOICES, MOST_ELEMENTS, generated, one_input
from halfulp.conformance.whole_programs.domains import between, parse_assumption
from halfulp.conformance.whole_programs.validation import bounding_arguments
from halfulp.interp.ir import types as ty
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_type


def test_few_inputs_are_all_inputs() -> None:
    made = generated([as_type("i3"), as_type("vector<2xi2>")], 10)
    rows = {tuple(value.bits.tobytes() for value in made.row(index)) for index in range(made.count)}
    assert (made.count, made.exhaustive, len(rows)) == (128, True, 128)
    assert generated([], 10).count == 1
    more = generated([as_type("i17")], 10)
    assert (more.count, more.exhaustive) == (10, False)
    range_ = {0: between(as_type("i32"), parse_assumption("%0 in [5, 7]"))}
    assumed = generated([as_type("i32")], 10, domains=range_)
    assert ([int(assumed.row(k)[0].bits) for k in range(assumed.count)], assumed.exhaustive) == ([5, 6, 7], True)


def test_all_inputs_come_in_the_order_of_their_codes() -> None:
    """The codes of the last element change fastest, whatever the shapes and the widths."""
    types = ["i1", "vector<2xi2>", "tensor<f4E2M1FN>", "tensor<0xi8>", "i128"]
    wide = {4: between(as_type("i128"), parse_assumption("%4 in [-1, 1]"))}
    made = generated([as_type(name) for name in types], 10, domains=wide)
    assert [column.shape for column in made.parts[0].columns] == [(1536,), (1536, 2), (1536,), (1536, 0), (1536, 2)]
    expected = product(range(2), range(4), range(4), range(16), ((1 << 128) - 1, 0, 1))
    for row, (flag, first, second, small, large) in enumerate(expected):
        one, pair, number, nothing, last = (value.bits for value in made.row(row))
        assert (int(one), pair.tolist(), int(number), nothing.size) == (flag, [first, second], small, 0)
        assert last.tolist() == [large & (1 << 64) - 1, large >> 64]
    assert (made.count, made.exhaustive) == (1536, True)


def test_inputs_are_those_of_the_seed() -> None:
    def codes(seed: int) -> list[int]:
        made = generated([as_type("f32")], 50, seed)
        return [int(made.row(index)[0].bits) for index in range(made.count)]

    assert codes(1) == codes(1) != codes(2)


def test_the_number_of_inputs_is_kept_over_all_sizes() -> None:
    for count in (1, 3, 20, 1000):
        made = generated([as_type("tensor<?xf32>")], count)
        assert made.count == count
        assert len([made.row(index) for index in range(count)]) == count
    sizes = {made.row(index)[0].shape for index in range(made.count)}
    assert sizes == {(3,), (2,), (16,), (4,), (1,), (0,)}
    assert made.notes == (f"dynamic sizes: {'; '.join(sizes.name for sizes in CHOICES)}",)
    with pytest.raises(IndexError):
        made.row(made.count)


def test_equal_dimensions_have_equal_sizes() -> None:
    made = generated([as_type("tensor<?x?xi32>"), as_type("memref<?x?xi32>"), as_type("tensor<*xi32>")], 50)
    for index in range(made.count):
        first, second, _ = made.row(index)
        assert first.shape == second.shape
    assert {len(made.row(index)[2].shape) for index in range(made.count)} == {0, 1, 2}


def test_scales_decide_sizes() -> None:
    made = generated([as_type("tensor<?x4x!quant.uniform<i8:f32:0, {1.0,2.0}>>")], 5)
    assert {made.row(index)[0].shape for index in range(made.count)} == {(2, 4)}
    blocks = "tensor<?x?x!quant.uniform<i8:f32:{1:3}, {{1.0,2.0}}>>"
    assert {row.shape for (row,) in map(generated([as_type(blocks)], 5).row, range(5))} == {(1, 6)}


@pytest.mark.parametrize(
    "type_",
    [
        "memref<2x3xi8>",
        "memref<f32>",
        "memref<?x?xi8, strided<[?, ?], offset: ?>>",
        "memref<?x?xi8, strided<[?, 1], offset: ?>>",
        "memref<2x3xi8, strided<[8, 2], offset: 4>>",
        "memref<3xi8, affine_map<(d0) -> (d0 * 2 + 1)>>",
        "memref<*xi8>",
        "memref<4xi128>",
        "memref<0xi8>",
        "memref<4xi8, 1>",
    ],
)
def test_memory_has_the_made_up_contents_in_any_layout(type_: str) -> None:
    made = generated([as_type(type_), as_type("f64")], 40)
    loose = set()
    for part in made.parts:
        for index in range(part.count):
            value, scalar = part.row(index)
            (buffer, number), (again, _) = part.fresh(index), part.fresh(index)
            assert isinstance(buffer, Buffer)
            assert isinstance(again, Buffer)
            assert (buffer.load(), number) == (value, scalar)
            assert buffer.type == as_type(type_)
            assert buffer.allocation is not again.allocation
            loose.add(len(buffer.allocation) > max(value.bits.size, 1))
    assert True in loose or "strided" not in type_


def test_elements_at_one_place_are_not_made_up() -> None:
    with pytest.raises(hu.Unsupported, match="several elements have one place"):
        generated([as_type("memref<3xi8, strided<[0]>>")], 5)


@pytest.mark.parametrize("type_", ["none", "tensor<2xcomplex<f32>>", "memref<2xvector<2xi8>>", "!my.type"])
def test_types_without_values(type_: str) -> None:
    with pytest.raises(hu.Unsupported, match="no values of type"):
        generated([as_type(type_)], 1)


def test_too_many_elements_are_refused_before_they_are_made() -> None:
    for domain in ({}, {0: between(as_type("i8"), parse_assumption("%0 in [3, 3]"))}):
        with pytest.raises(hu.errors.LimitExceeded, match="10000000000 elements are too many to generate"):
            generated([as_type("tensor<100000x100000xi8>")], 1, domains=domain)


def test_large_arguments_have_fewer_inputs() -> None:
    made = generated([as_type("tensor<256x1024xi8>")], 1000)
    assert made.count == MOST_ELEMENTS // (256 * 1024)
    assert made.notes == ("2 of 1,000 inputs: each has 262,144 elements",)


def test_given_memory_keeps_its_type() -> None:
    declared = as_type("memref<?xi8, strided<[?], offset: ?>>")
    assert isinstance(declared, ty.MemRefType)
    buffer = Buffer.from_numpy(
        hu.Value.from_numpy(np.array([1, 2], np.int8)), as_type("memref<2xi8, strided<[3], offset: 2>>")
    )
    made = one_input([buffer], [declared])
    (again,) = made.parts[0].fresh(0)
    assert isinstance(again, Buffer)
    assert (again.type, again.strides, again.offset) == (declared, (3,), 2)
    assert again.load() == buffer.load()


def test_arguments_that_bound_loops_and_sizes() -> None:
    text = """\
func.func @f(%a: index, %b: i32, %c: index, %d: index, %e: index, %n: index) -> index {
  %z = arith.constant 0 : index
  %bi = arith.index_cast %b : i32 to index
  %b1 = arith.addi %bi, %z : index
  %s = scf.for %i = %a to %b1 step %c iter_args(%x = %d) -> index {
    %y = arith.addi %x, %e : index
    scf.yield %y : index
  }
  %m = memref.alloc(%n) : memref<?xi8>
  return %s : index
}
"""
    assert bounding_arguments(hu.parse(text).body[0]) == {0, 1, 2, 5}
