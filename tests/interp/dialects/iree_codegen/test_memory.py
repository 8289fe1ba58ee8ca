"""iree_codegen on buffers: copies, the numbers of a memref, and swizzled memory as the document draws it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.interp.values.memref_layout import RotateRows, XorShuffle

INDICES = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in range(6))


def run(signature: str, body: str, *arguments: Any, **options: Any) -> tuple[hu.Value, ...]:
    """Return the results of one function @main, whose body may use %c0 to %c5."""
    return hu.run(f"func.func @main{signature} {{\n{INDICES}{body}\n}}", *arguments, **options)


# --- copies -----------------------------------------------------------------------------------------------------------

LOAD = "(%m: memref<?x?xi16, strided<[?, ?], offset: ?>>) -> tensor<?x?xi16>"
LOAD_BODY = """\
  %t = iree_codegen.load_from_buffer %m : memref<?x?xi16, strided<[?, ?], offset: ?>> -> tensor<?x?xi16>
  return %t : tensor<?x?xi16>"""
STORE = "(%t: tensor<?x?xi16>, %m: memref<?x?xi16, strided<[?, ?], offset: ?>>)"
STORE_BODY = """\
  iree_codegen.store_to_buffer %t, %m : tensor<?x?xi16> into memref<?x?xi16, strided<[?, ?], offset: ?>>
  return"""


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.sampled_from([(5, 1), (1, 5), (-4, 1), (9, -2), (20, 4), (-1, -4)]),
    st.integers(0, 1 << 30),
)
def test_copies_through_any_strides(shape: tuple[int, int], strides: tuple[int, int], seed: int) -> None:
    array = np.random.default_rng(seed).integers(-100, 100, shape).astype(np.int16)
    memory = hu.Buffer.from_numpy(
        array, f"memref<{shape[0]}x{shape[1]}xi16, strided<[{strides[0]}, {strides[1]}], offset: ?>>"
    )
    (value,) = run(LOAD, LOAD_BODY, memory)
    assert np.array_equal(value.numpy(), array)
    run(STORE, STORE_BODY, (array + 1).astype(np.int16), memory)
    assert np.array_equal(memory.numpy(), array + 1)
    assert np.array_equal(value.numpy(), array)


@pytest.mark.parametrize("element", ["f80", "i128", "i1", "f6E2M3FN", "index"])
def test_copies_keep_every_bit(element: str) -> None:
    width = {"f80": 80, "i128": 128, "i1": 1, "f6E2M3FN": 6, "index": 64}[element]
    value = hu.Value.from_bits([[1, (1 << width) - 1]], f"tensor<1x2x{element}>")
    body = f"""\
  %m = memref.alloc() : memref<1x2x{element}>
  iree_codegen.store_to_buffer %t, %m : tensor<1x2x{element}> into memref<1x2x{element}>
  %r = iree_codegen.load_from_buffer %m : memref<1x2x{element}> -> tensor<?x2x{element}>
  return %r : tensor<?x2x{element}>"""
    (result,) = run(f"(%t: tensor<1x2x{element}>) -> tensor<?x2x{element}>", body, value)
    assert result == value


def test_copies_of_rank_0_and_of_nothing() -> None:
    for shape in ("", "0x3x"):
        body = f"""\
  %m = memref.alloc() : memref<{shape}f32>
  iree_codegen.store_to_buffer %t, %m : tensor<{shape}f32> into memref<{shape}f32>
  %r = iree_codegen.load_from_buffer %m : memref<{shape}f32> -> tensor<{shape}f32>
  return %r : tensor<{shape}f32>"""
        array = np.zeros((0, 3) if shape else (), np.float32)
        (result,) = run(f"(%t: tensor<{shape}f32>) -> tensor<{shape}f32>", body, array)
        assert result.numpy().shape == array.shape
        assert result.poison is None


def test_copies_keep_poison_and_its_origin() -> None:
    body = """\
  %m = memref.alloc() : memref<3xi8>
  %s = arith.addi %t, %t overflow<nsw> : tensor<3xi8>
  iree_codegen.store_to_buffer %s, %m : tensor<3xi8> into memref<3xi8>
  %r = iree_codegen.load_from_buffer %m : memref<3xi8> -> tensor<3xi8>
  return %r : tensor<3xi8>"""
    (result,) = run("(%t: tensor<3xi8>) -> tensor<3xi8>", body, np.array([1, 100, 2], np.int8))
    assert result.poisoned.tolist() == [False, True, False]
    origin = result.origin(1)
    assert origin is not None
    assert origin.op == "arith.addi"


def test_a_store_of_what_was_loaded_from_an_overlapping_view() -> None:
    part = "memref<3xi8, strided<[1], offset: {}>>"
    body = f"""\
  %a = memref.subview %m[0] [3] [1] : memref<4xi8> to {part.format(0)}
  %b = memref.subview %m[1] [3] [1] : memref<4xi8> to {part.format(1)}
  %t = iree_codegen.load_from_buffer %a : {part.format(0)} -> tensor<3xi8>
  iree_codegen.store_to_buffer %t, %b : tensor<3xi8> into {part.format(1)}
  return"""
    memory = hu.Buffer.from_numpy(np.array([1, 2, 3, 4], np.int8))
    run("(%m: memref<4xi8>)", body, memory)
    assert memory.numpy().tolist() == [1, 1, 2, 3]


def test_a_load_happens_where_it_stands() -> None:
    body = """\
  %t = iree_codegen.load_from_buffer %m : memref<2xi8> -> tensor<2xi8>
  memref.store %x, %m[%c0] : memref<2xi8>
  %u = iree_codegen.load_from_buffer %m : memref<2xi8> -> tensor<2xi8>
  return %t, %u : tensor<2xi8>, tensor<2xi8>"""
    before, after = run(
        "(%m: memref<2xi8>, %x: i8) -> (tensor<2xi8>, tensor<2xi8>)", body, np.array([1, 2], np.int8), 9
    )
    assert (before.numpy().tolist(), after.numpy().tolist()) == ([1, 2], [9, 2])


@pytest.mark.parametrize("on_ub", ["raise", "poison"])
def test_shapes_that_differ_when_it_runs(on_ub: Any) -> None:
    body = "  %t = iree_codegen.load_from_buffer %m : memref<?xi8> -> tensor<3xi8>\n  return"
    with pytest.raises(hu.UndefinedBehavior, match="a value of shape 2 is not of type 'tensor<3xi8>'"):
        run("(%m: memref<?xi8>)", body, np.zeros(2, np.int8), on_ub=on_ub)
    body = "  iree_codegen.store_to_buffer %t, %m : tensor<?xi8> into memref<3xi8>\n  return"
    with pytest.raises(hu.UndefinedBehavior, match="a tensor of shape 2 into a memref of shape 3") as caught:
        run("(%t: tensor<?xi8>, %m: memref<3xi8>)", body, np.zeros(2, np.int8), np.zeros(3, np.int8), on_ub=on_ub)
    assert str(caught.value).startswith("<string>:8:3: error: iree_codegen.store_to_buffer: undefined behaviour")


@each_row(
    "%t = iree_codegen.load_from_buffer %m : memref<4xf32> -> tensor<5xf32>",
    "iree_codegen.store_to_buffer %t, %m : tensor<4xf16> into memref<4xf32>",
    "%b, %o = iree_codegen.extract_strided_metadata %m : memref<4xf32> -> memref<f32>, index",
    "%h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<16, 3>] : memref<4xf32>",
)
def test_what_does_not_verify(op: str) -> None:
    tensor = "" if op.startswith("%t") else ", %t: tensor<4xf16>"
    with pytest.raises(hu.HalfulpError, match="compatible|inferred type|divide row width"):
        hu.load(f"func.func @f(%m: memref<4xf32>{tensor}) {{\n  {op}\n  return\n}}")


# --- metadata ---------------------------------------------------------------------------------------------------------

METADATA = """\
  %b, %o, %n:2, %s:2 = iree_codegen.extract_strided_metadata %m : TYPE
    -> memref<i16>, index, index, index, index, index
  %x = memref.load %b[] : memref<i16>
  return %x, %o, %n#0, %n#1, %s#0, %s#1 : i16, index, index, index, index, index"""
NUMBERS = "i16, index, index, index, index, index"


def test_the_numbers_of_a_memref_are_those_it_has_when_it_runs() -> None:
    type_ = "memref<?x3xi16, strided<[?, ?], offset: ?>>"
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    for layout, expected in (
        ("memref<2x3xi16>", [0, 0, 2, 3, 3, 1]),
        ("memref<2x3xi16, strided<[1, 2]>>", [0, 0, 2, 3, 1, 2]),
        # From the last element to the first: the base is where memory begins.
        ("memref<2x3xi16, strided<[-3, -1], offset: 5>>", [5, 5, 2, 3, -3, -1]),
    ):
        memory = hu.Buffer.from_numpy(array, layout)
        results = run(f"(%m: {type_}) -> ({NUMBERS})", METADATA.replace("TYPE", type_), memory)
        assert [result.item() for result in results] == expected


def test_negative_strides_are_codes_of_the_width_of_an_index() -> None:
    type_ = "memref<?x3xi16, strided<[?, ?], offset: ?>>"
    memory = hu.Buffer.from_numpy(np.zeros((2, 3), np.int16), "memref<2x3xi16, strided<[-3, 1], offset: 3>>")
    results = run(f"(%m: {type_}) -> ({NUMBERS})", METADATA.replace("TYPE", type_), memory, index_width=32)
    assert int(results[4].bits) == (1 << 32) - 3


def test_the_base_is_the_first_element_of_the_memory_and_shares_it() -> None:
    body = """\
  %v = memref.subview %m[2] [2] [1] : memref<4xi16> to memref<2xi16, strided<[1], offset: 2>>
  %b, %o, %n, %s = iree_codegen.extract_strided_metadata %v : memref<2xi16, strided<[1], offset: 2>>
    -> memref<i16>, index, index, index
  memref.store %x, %b[] : memref<i16>
  return %o : index"""
    memory = hu.Buffer.from_numpy(np.zeros(4, np.int16))
    (offset,) = run("(%m: memref<4xi16>, %x: i16) -> index", body, memory, 7)
    assert offset.item() == 2
    assert memory.numpy().tolist() == [7, 0, 0, 0]


def test_the_base_of_what_alloc_returned_may_be_freed() -> None:
    body = """\
  %m = memref.alloc() : memref<4xi16>
  %v = memref.subview %m[2] [2] [1] : memref<4xi16> to memref<2xi16, strided<[1], offset: 2>>
  %b, %o, %n, %s = iree_codegen.extract_strided_metadata %v : memref<2xi16, strided<[1], offset: 2>>
    -> memref<i16>, index, index, index
  memref.dealloc %b : memref<i16>
  %x = memref.load %m[%c0] : memref<4xi16>
  return"""
    with pytest.raises(hu.UndefinedBehavior, match=r"memref\.load: .* was freed by memref\.dealloc"):
        run("()", body)


# --- swizzles ---------------------------------------------------------------------------------------------------------

LOGICAL = "0000 1111 2222 3333 / 4444 5555 6666 7777 / 8888 9999 AAAA BBBB / CCCC DDDD EEEE FFFF"
# The drawings of RotateRowsAttr and XORShuffleAttr: rows of 16 elements in groups of 4.
DRAWINGS = {
    "rotate_rows<16, 4>": "0000 1111 2222 3333 / 7777 4444 5555 6666 / AAAA BBBB 8888 9999 / DDDD EEEE FFFF CCCC",
    "xor_shuffle<16, 4>": "0000 1111 2222 3333 / 5555 4444 7777 6666 / AAAA BBBB 8888 9999 / FFFF EEEE DDDD CCCC",
    "xor_shuffle<16, 4, 16, 1>": (
        "0000 1111 2222 3333 / 5555 4444 7777 6666 / AAAA BBBB 8888 9999 / FFFF EEEE DDDD CCCC"
    ),
    "xor_shuffle<16, 4, 16, 2>": (
        "0000 1111 2222 3333 / 4444 5555 6666 7777 / 9999 8888 BBBB AAAA / DDDD CCCC FFFF EEEE"
    ),
}


def drawn(text: str) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return the elements of a drawing, each the number of its group."""
    return np.array([int(digit, 16) for digit in text.replace(" ", "").replace("/", "")], np.int8)


def written_through(spelling: str, width: int, **options: Any) -> hu.Buffer:
    """Memory after the logical drawing was stored through a hint, ``width`` elements at a time; 0: one by one."""
    step = max(width, 1)
    store = (
        f"""\
    %v = vector.load %x[%i] : memref<64xi8>, vector<{width}xi8>
    vector.store %v, %h[%i] : memref<64xi8>, vector<{width}xi8>"""
        if width
        else """\
    %v = memref.load %x[%i] : memref<64xi8>
    memref.store %v, %h[%i] : memref<64xi8>"""
    )
    body = f"""\
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.{spelling}] : memref<64xi8>
  %end = arith.constant 64 : index
  %step = arith.constant {step} : index
  scf.for %i = %c0 to %end step %step {{
{store}
  }}
  return"""
    memory = hu.Buffer.from_numpy(np.full(64, -1, np.int8))
    run("(%x: memref<64xi8>, %m: memref<64xi8>)", body, drawn(LOGICAL), memory, **options)
    return memory


@pytest.mark.parametrize("width", [0, 1, 2, 4, 8, 16])
@pytest.mark.parametrize("swizzle", DRAWINGS)
def test_memory_that_is_written_through_a_hint_is_as_drawn(swizzle: str, width: int) -> None:
    assert written_through(swizzle, width, swizzle="physical").numpy().tolist() == drawn(DRAWINGS[swizzle]).tolist()
    assert written_through(swizzle, width).numpy().tolist() == drawn(LOGICAL).tolist()


# The document's example: one allocation with two layouts, one after the other.
TWO_LAYOUTS = """\
  %0 = memref.alloc() : memref<64xi8>
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.rotate_rows<16, 4>] : memref<64xi8>
  %2 = iree_codegen.swizzle_hint %0[#iree_codegen.xor_shuffle<16, 4>] : memref<64xi8>
  %at = arith.constant 20 : index
  vector.store %x, %1[%at] : memref<64xi8>, vector<4xi8>
  %a = vector.load %1[%at] : memref<64xi8>, vector<4xi8>
  %first = vector.load %0[%c0] : memref<64xi8>, vector<64xi8>
  vector.store %y, %2[%at] : memref<64xi8>, vector<4xi8>
  %b = vector.load %2[%at] : memref<64xi8>, vector<4xi8>
  %second = vector.load %0[%c0] : memref<64xi8>, vector<64xi8>
  return %a, %b, %first, %second : vector<4xi8>, vector<4xi8>, vector<64xi8>, vector<64xi8>"""
TWO_TYPES = "(%x: vector<4xi8>, %y: vector<4xi8>) -> (vector<4xi8>, vector<4xi8>, vector<64xi8>, vector<64xi8>)"


@pytest.mark.parametrize(("swizzle", "places"), [("hint", (20, 20)), ("physical", (24, 16))])
def test_two_layouts_of_one_allocation(swizzle: Any, places: tuple[int, int]) -> None:
    one, two = np.arange(1, 5, dtype=np.int8), np.arange(5, 9, dtype=np.int8)
    a, b, first, second = run(TWO_TYPES, TWO_LAYOUTS, one, two, swizzle=swizzle)
    assert (a.numpy().tolist(), b.numpy().tolist()) == (one.tolist(), two.tolist())
    for memory, place, stored in ((first, places[0], one), (second, places[1], two)):
        assert memory.numpy(poison=0)[place : place + 4].tolist() == stored.tolist()
    assert np.flatnonzero(~first.poisoned).tolist() == list(range(places[0], places[0] + 4))


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([("rotate_rows<8, 2>", RotateRows(8, 2)), ("xor_shuffle<8, 2, 16>", XorShuffle(8, 2, 16))]),
    st.integers(0, 55),
    st.booleans(),
)
def test_loads_through_a_hint_follow_the_formula(hint: tuple[str, Any], index: int, reads: bool) -> None:
    spelling, swizzle = hint
    body = f"""\
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.{spelling}] : memref<64xi8>
  %x = memref.load %h[%i] : memref<64xi8>
  %v = vector.load %h[%i] : memref<64xi8>, vector<2xi8>
  return %x, %v : i8, vector<2xi8>"""
    x, v = run(
        "(%m: memref<64xi8>, %i: index) -> (i8, vector<2xi8>)",
        body,
        np.arange(64, dtype=np.int8),
        index,
        swizzle="physical" if reads else "hint",
    )
    place = swizzle.physical(index) if reads else index
    assert x.item() == place
    assert v.numpy().tolist() == [place, place + 1]


UNSWIZZLED = {
    "another rank": ("memref<4x4xi8>", "memref.load %h[%c1, %c0] : memref<4x4xi8>", "i8", 4),
    "a subview": (
        "memref<16xi8>",
        "iree_codegen.load_from_buffer %v : memref<2xi8, strided<[1], offset: 4>> -> tensor<2xi8>",
        "tensor<2xi8>",
        [4, 5],
    ),
    "a cast": ("memref<16xi8>", "memref.load %w[%c4] : memref<?xi8>", "i8", 4),
    "a copy": (
        "memref<16xi8>",
        "iree_codegen.load_from_buffer %h : memref<16xi8> -> tensor<16xi8>",
        "tensor<16xi8>",
        list(range(16)),
    ),
    "other users": ("memref<16xi8>", "memref.load %m[%c4] : memref<16xi8>", "i8", 4),
}


@pytest.mark.parametrize("what", UNSWIZZLED)
def test_what_a_hint_does_not_reach(what: str) -> None:
    type_, access, result, expected = UNSWIZZLED[what]
    views = """\
  %v = memref.subview %h[4] [2] [1] : memref<16xi8> to memref<2xi8, strided<[1], offset: 4>>
  %w = memref.cast %h : memref<16xi8> to memref<?xi8>"""
    body = f"""\
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 1>] : {type_}
{views if type_ == "memref<16xi8>" else ""}
  %r = {access}
  return %r : {result}"""
    shape = (4, 4) if what == "another rank" else (16,)
    array = np.arange(16, dtype=np.int8).reshape(shape)
    (value,) = run(f"(%m: {type_}) -> {result}", body, array, swizzle="physical")
    assert value.numpy().tolist() == expected


def test_only_what_uses_the_result_of_a_hint_directly_is_swizzled() -> None:
    module = hu.load("""\
func.func private @at(%m: memref<8xi8>, %i: index) -> i8 {
  %x = memref.load %m[%i] : memref<8xi8>
  return %x : i8
}
func.func @main(%m: memref<8xi8>, %i: index, %c: i1) -> (i8, i8, i8, vector<1xi8>, i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 1>] : memref<8xi8>
  %direct = memref.load %h[%i] : memref<8xi8>
  %called = call @at(%h, %i) : (memref<8xi8>, index) -> i8
  %looped = scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %h) -> (memref<8xi8>) {
    scf.yield %p : memref<8xi8>
  }
  %a = memref.load %looped[%i] : memref<8xi8>
  %v = vector.load %looped[%i] : memref<8xi8>, vector<1xi8>
  %s = arith.select %c, %h, %m : memref<8xi8>
  %b = memref.load %s[%i] : memref<8xi8>
  return %direct, %called, %a, %v, %b : i8, i8, i8, vector<1xi8>, i8
}""")
    results = hu.run(module, np.arange(8, dtype=np.int8), 4, True, function="main", swizzle="physical")
    assert [int(result.numpy().ravel()[0]) for result in results] == [5, 4, 4, 4, 4]


def test_a_hint_on_elements_that_do_not_lie_side_by_side_does_nothing() -> None:
    type_ = "memref<?xi8, strided<[?], offset: ?>>"
    body = f"""\
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 1>] : {type_}
  %r = memref.load %h[%c4] : {type_}
  return %r : i8"""
    array = np.arange(8, dtype=np.int8)
    for stride, expected in ((2, 4), (1, 5)):
        memory = hu.Buffer.from_numpy(array, f"memref<8xi8, strided<[{stride}], offset: 3>>")
        (value,) = run(f"(%m: {type_}) -> i8", body, memory, swizzle="physical")
        assert value.item() == expected


def test_a_hint_on_a_tensor_does_nothing() -> None:
    body = """\
  %h = iree_codegen.swizzle_hint %t[#iree_codegen.rotate_rows<4, 1>] : tensor<8xi8>
  return %h : tensor<8xi8>"""
    (value,) = run("(%t: tensor<8xi8>) -> tensor<8xi8>", body, np.arange(8, dtype=np.int8), swizzle="physical")
    assert value.numpy().tolist() == list(range(8))


def test_of_a_hint_on_a_hint_the_outer_one_counts() -> None:
    body = """\
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 1>] : memref<8xi8>
  %g = iree_codegen.swizzle_hint %h[#iree_codegen.xor_shuffle<4, 2>] : memref<8xi8>
  %r = memref.load %g[%c4] : memref<8xi8>
  return %r : i8"""
    (value,) = run("(%m: memref<8xi8>) -> i8", body, np.arange(8, dtype=np.int8), swizzle="physical")
    assert value.item() == XorShuffle(4, 2, 4).physical(4)


def test_swizzled_accesses_outside_are_undefined() -> None:
    # Row 1 of 4 elements has only 2: its first group goes to the second place of the row, outside.
    body = """\
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.rotate_rows<4, 2>] : memref<6xi8>
  %r = ACCESS
  return"""
    for access in ("memref.load %h[%c5] : memref<6xi8>", "vector.load %h[%c4] : memref<6xi8>, vector<2xi8>"):
        with pytest.raises(hu.UndefinedBehavior, match="is swizzled to .*, outside the shape 6"):
            run("(%m: memref<6xi8>)", body.replace("ACCESS", access), np.zeros(6, np.int8), swizzle="physical")
    with pytest.raises(hu.UndefinedBehavior, match=r"index \[-1\] is outside the shape 6"):
        run(
            "(%m: memref<6xi8>, %i: index)",
            body.replace("ACCESS", "memref.load %h[%i] : memref<6xi8>"),
            np.zeros(6, np.int8),
            -1,
            swizzle="physical",
        )


@pytest.mark.parametrize("swizzle", ["rotate_rows<0, 4>", "rotate_rows<16, -4>", "xor_shuffle<16, 4, 16, 0>"])
def test_widths_without_a_meaning(swizzle: str) -> None:
    body = f"  %h = iree_codegen.swizzle_hint %m[#iree_codegen.{swizzle}] : memref<8xi8>\n  return"
    run("(%m: memref<8xi8>)", body, np.zeros(8, np.int8))
    with pytest.raises(hu.Unsupported, match=f"elements cannot be moved by '#iree_codegen.{swizzle}'"):
        run("(%m: memref<8xi8>)", body, np.zeros(8, np.int8), swizzle="physical")


def test_the_choice_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="swizzle is 'never', but must be 'hint' or 'physical'"):
        run("()", "  return", swizzle="never")
