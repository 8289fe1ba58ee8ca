"""Buffers: strided views of shared memory, and the arguments of a program for a memref."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, TypeMismatch, UndefinedBehavior, Unsupported
from halfulp.interp.values.buffers import Allocation, Buffer, store_at, to_argument
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.memref_layout import is_injective, spanned
from halfulp.interp.values.parsing import parse_value
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Open, Origin, Origins

I8 = ty.IntegerType(8)


def poisoned(mask: list[bool], bits: list[int], reason: str = "spoiled") -> Value:
    """Return an i8 tensor of which some elements are poison, with a table of origins of its own."""
    origins = Origins()
    poison_id = origins.id_of(Origin("test", "here", reason))
    ids = np.where(mask, poison_id, 0).astype(np.uint16)
    return Value(ty.TensorType((len(bits),), I8), np.array(bits, np.uint8), ids, None, origins)


def view_of(buffer: Buffer, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Buffer:
    """Another view of a buffer's memory."""
    return buffer.part(ty.MemRefType(shape, buffer.type.element), offset, shape, strides)


# --- views ------------------------------------------------------------------------------------------------------------


def test_views_of_one_memory_see_each_others_stores() -> None:
    whole = Buffer.allocate(ty.MemRefType((2, 3), I8), (2, 3))
    whole.store(Value.from_numpy(np.arange(6, dtype=np.int8).reshape(2, 3)))
    column = view_of(whole, 1, (2,), (3,))
    assert column.load().numpy().tolist() == [1, 4]
    column.store(Value.from_numpy(np.array([70, 80], np.int8)))
    assert whole.numpy().tolist() == [[0, 70, 2], [3, 80, 5]]
    column.store(poisoned([True, False], [1, 2]))
    assert whole.load().poisoned.tolist() == [[False, True, False], [False, False, False]]
    assert str(whole.load().origin(0, 1)) == "spoiled (test at here)"
    whole.store(Value.from_numpy(np.zeros((2, 3), np.int8)))
    assert column.load().poison is None


def test_a_store_of_what_an_overlapping_view_holds_is_that_of_a_copy() -> None:
    memory = Buffer.from_numpy(np.arange(8, dtype=np.int8))
    backwards = view_of(memory, 7, (8,), (-1,))
    memory.store(backwards.load())
    assert memory.numpy().tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    view_of(memory, 1, (7,), (1,)).store(view_of(memory, 0, (7,), (1,)).load())
    assert memory.numpy().tolist() == [7, 7, 6, 5, 4, 3, 2, 1]


def test_a_loaded_value_does_not_change_with_the_memory() -> None:
    memory = Buffer.from_numpy(np.arange(4, dtype=np.int8))
    before = memory.load()
    memory.store(poisoned([True] * 4, [9] * 4))
    assert before.numpy().tolist() == [0, 1, 2, 3]
    assert before.poison is None


@pytest.mark.parametrize("element", ["f80", "i128", "i1", "f4E2M1FN", "i0", "index", "i65"])
def test_elements_of_any_width(element: str) -> None:
    width = {"f80": 80, "i128": 128, "i1": 1, "f4E2M1FN": 4, "i0": 0, "index": 64, "i65": 65}[element]
    codes = [0, (1 << width) - 1, (1 << width) // 3]
    value = Value.from_bits([code & ((1 << width) - 1) for code in codes], f"tensor<3x{element}>")
    memory = Buffer.from_numpy(value, f"memref<3x{element}, strided<[-2], offset: 5>>")
    assert memory.load() == value
    assert view_of(memory, 1, (2,), (4,)).load() == Value(
        as_type(f"tensor<2x{element}>"), value.bits[[2, 0]], None, None
    )


def test_strides_of_what_has_one_element_may_be_any_number() -> None:
    memory = Buffer.from_numpy(np.array([[1, 2]], np.int64), f"memref<1x2xi64, strided<[{(1 << 63) - 1}, 1]>>")
    memory.store(memory.load())
    assert memory.numpy().tolist() == [[1, 2]]
    assert memory.places().tolist() == [[0, 1]]
    assert memory.first(5).numpy().tolist() == [1, 2]


def test_complex_elements() -> None:
    bits = np.array([[1, 2], [3, 4]], np.uint32)
    value = Value(as_type("tensor<2xcomplex<f32>>"), bits)
    memory = Buffer.allocate(ty.MemRefType((2,), ty.ComplexType(ty.F("f32"))), (2,))
    memory.store(value)
    assert memory.load() == value
    assert view_of(memory, 1, (2,), (-1,)).load().bits.tolist() == [[3, 4], [1, 2]]


def test_rank_0_and_no_elements() -> None:
    scalar = Buffer.from_numpy(1.5, "memref<f32>")
    assert scalar.shape == ()
    assert scalar.numpy() == np.float32(1.5)
    scalar.store(Value.from_numpy(np.float32(2.5)))
    assert scalar.load() == Value(as_type("tensor<f32>"), np.array(0x40200000, np.uint32))
    empty = Buffer.from_numpy(np.zeros((2, 0, 3), np.int8))
    assert empty.numpy().shape == (2, 0, 3)
    empty.store(Value.from_numpy(np.zeros((2, 0, 3), np.int8)))
    assert empty.load().poison is None


def test_of_elements_at_one_place_the_last_stays() -> None:
    row = Buffer(ty.MemRefType((3, 2), I8), Allocation(I8, 2), 0, (3, 2), (0, 1))
    row.store(Value.from_numpy(np.arange(6, dtype=np.int8).reshape(3, 2)))
    assert row.numpy().tolist() == [[4, 5]] * 3
    memory = Buffer(ty.MemRefType((4,), I8), Allocation(I8, 4), 0, (4,), (1,))
    store_at(memory.allocation, np.array([[0, 1], [1, 0]]), Value.from_bits([[1, 2], [3, 4]], "tensor<2x2xi8>"))
    assert memory.numpy().tolist() == [4, 3, 0, 0]


def test_the_language_leaves_open_what_was_stored_so() -> None:
    memory = Buffer.from_numpy(np.zeros(3, np.int8))
    mask = np.array([0, Open.VALUE.value, 0], np.uint8)
    memory.store(Value(as_type("tensor<3xi8>"), np.zeros(3, np.uint8), None, mask))
    assert view_of(memory, 2, (3,), (-1,)).load().open is not None
    assert view_of(memory, 1, (1,), (1,)).load().open.tolist() == [Open.VALUE.value]  # type: ignore[union-attr]
    assert view_of(memory, 2, (1,), (1,)).load().open is None


def test_poison_of_several_tables() -> None:
    memory = Buffer.from_numpy(np.zeros(4, np.int8))
    view_of(memory, 0, (2,), (1,)).store(poisoned([True, False], [0, 0], "one"))
    view_of(memory, 2, (2,), (1,)).store(poisoned([False, True], [0, 0], "two"))
    run = Origins()
    run.id_of(Origin("first", "", "of the run"))
    value = memory.load(origins=run)
    assert value.origins is run
    assert [str(value.origin(k)) for k in range(4)] == ["one (test at here)", "None", "None", "two (test at here)"]


def test_nothing_outside_the_memory_is_reached() -> None:
    memory = Allocation(I8, 4)
    for offset, strides in ((1, (1,)), (-1, (1,)), (2, (-1,)), (0, (2,)), (4, (0,))):
        with pytest.raises(ValueError, match="elements"):
            Buffer(ty.MemRefType((4,), I8), memory, offset, (4,), strides)
    assert Buffer(ty.MemRefType((0,), I8), memory, 100, (0,), (7,)).load().shape == (0,)


def test_stores_of_another_shape_or_type_are_refused() -> None:
    memory = Buffer.allocate(ty.MemRefType((2,), I8), (2,))
    with pytest.raises(TypeMismatch, match="a value of shape 3 does not fit a buffer of shape 2"):
        memory.store(Value.from_bits([1, 2, 3], "i8"))
    with pytest.raises(TypeMismatch, match="elements of type 'i4' do not fit a buffer of 'i8'"):
        memory.store(Value.from_bits([1, 2], "i4"))


def test_arrays_are_stored_too() -> None:
    memory = Buffer.allocate(ty.MemRefType((2,), I8), (2,))
    memory.store(np.array([1, 2], np.int8))
    assert memory.numpy().tolist() == [1, 2]
    with pytest.raises(TypeMismatch, match="what is stored: expected 'memref<2xi8>', got an array of dtype float64"):
        memory.store(np.zeros(2))
    with pytest.raises(TypeMismatch, match="what is stored: a value of shape 3 is not of type 'memref<2xi8>'"):
        memory.store(np.zeros(3, np.int8))


def test_a_buffer_is_an_array_to_numpy_and_a_value_to_halfulp() -> None:
    memory = Buffer.from_numpy(np.array([1, 2], np.float32))
    assert np.asarray(memory).dtype == np.float32
    assert np.asarray(memory, np.float64).tolist() == [1, 2]
    spoiled = poisoned([False, True], [0, 0])
    memory.store(Value(memory.load().type, np.array([0x3F800000, 0], np.uint32), spoiled.poison, None, spoiled.origins))
    with pytest.raises(TypeError, match=r"1 of 2 elements are poison, the first at \[1\]: spoiled"):
        np.asarray(memory)
    assert memory.numpy(poison=7).tolist() == [1, 7]
    with pytest.raises(ValueError, match="copied"):
        np.array(memory, copy=False)
    other = Buffer.from_numpy(memory, "memref<2xf32, strided<[3]>>")
    again = Buffer.from_numpy(np.zeros(2, np.float32))
    again.store(other)
    for held in (other.load(), again.load(), Buffer.from_numpy(memory).load()):
        assert held == memory.load()
        assert str(held.origin(1)) == "spoiled (test at here)"
    assert hu.convert(memory, "f16").poisoned.tolist() == [False, True]
    assert hu.eval("arith.negf", memory).poisoned.tolist() == [False, True]


def test_one_number_is_a_buffer_of_rank_0() -> None:
    memory = Buffer.from_numpy(1.5, "f32")
    assert str(memory.type) == "memref<f32>"
    memory.store(2.5)
    assert memory.load().item() == 2.5
    with pytest.raises(TypeMismatch, match="unknown type 5; the float types are"):
        Buffer.from_numpy(1.5, 5)  # type: ignore[arg-type]


def test_a_part_without_elements_may_lie_anywhere() -> None:
    memory = Buffer.from_numpy(np.zeros((0, 2), np.int8))
    part = memory.part(memory.type, 1 << 80, (0, 2), (1 << 70, 0))
    assert part.places().shape == part.load().shape == (0, 2)
    assert part.first(1).shape == (0,)
    part.store(np.zeros((0, 2), np.int8))


def test_freed_memory_is_not_read() -> None:
    memory = Buffer.from_numpy(np.zeros(2, np.int8))
    memory.allocation.freed = "memref.dealloc at f.mlir:1:2"
    with pytest.raises(UndefinedBehavior, match=r"the memory was freed by memref\.dealloc at f\.mlir:1:2"):
        memory.load()
    with pytest.raises(UndefinedBehavior, match="freed"):
        memory.store(Value.from_bits([1, 2], "i8"))
    assert repr(memory) == "Buffer(memref<2xi8>, freed)"


def test_a_buffer_can_be_pickled_and_shown() -> None:
    memory = Buffer.from_numpy(np.arange(3, dtype=np.int8), "memref<3xi8, strided<[2]>>")
    copy = pickle.loads(pickle.dumps(memory))
    copy.store(Value.from_bits([7, 8, 9], "i8"))
    assert memory.numpy().tolist() == [0, 1, 2]
    assert repr(copy) == "Buffer(memref<3xi8, strided<[2]>>, 3xi8=7 8 9)"


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return a shape, strides and an offset whose elements lie from place 0 on."""
    rank = draw(st.integers(0, 3))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=rank, max_size=rank)))
    strides = tuple(draw(st.lists(st.integers(-9, 9), min_size=rank, max_size=rank)))
    low, _ = spanned(shape, strides, 0)
    return shape, strides, draw(st.integers(0, 3)) - low


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(layouts(), layouts(), st.sampled_from(["i8", "i128"]), st.randoms(use_true_random=False))
def test_views_against_numpy_indices(
    one: tuple[tuple[int, ...], tuple[int, ...], int],
    other: tuple[tuple[int, ...], tuple[int, ...], int],
    element: str,
    random: object,
) -> None:
    type_ = as_type(element)
    size = max(spanned(one[0], one[1], one[2])[1], spanned(other[0], other[1], other[2])[1], 1)
    memory, model = Allocation(type_, size), [0] * size
    rng = np.random.default_rng(random.randrange(1 << 32))  # type: ignore[attr-defined]
    for shape, strides, offset in (one, other, one):
        view = Buffer(ty.MemRefType(shape, type_), memory, offset, shape, strides)
        places = {index: offset + sum(np.multiply(index, strides)) for index in np.ndindex(shape)}
        assert [int(place) for place in view.places().ravel()] == [int(place) for place in places.values()]
        if len(set(places.values())) < len(places):
            assert not is_injective(shape, strides)
        elif is_injective(shape, strides):
            assert len(set(places.values())) == len(places)
        codes = rng.integers(0, 120, shape)
        for index, place in places.items():
            model[place] = int(codes[index])
        view.store(Value.from_bits(codes.astype(object), ty.TensorType(shape, type_)))
        got = view.load()
        assert (
            got.numpy().tolist()
            == np.array([model[place] for place in places.values()], object).reshape(shape).tolist()
        )
    assert Buffer(ty.MemRefType((size,), type_), memory, 0, (size,), (1,)).numpy().tolist() == model


# --- from arrays ------------------------------------------------------------------------------------------------------


@each_row(
    ("memref<2x3xi8>", (3, 1), 0, 6),
    ("memref<?x?xi8>", (3, 1), 0, 6),
    ("memref<2x3xi8, strided<[8, 1]>>", (8, 1), 0, 11),
    ("memref<2x3xi8, strided<[?, 2], offset: ?>>", (6, 2), 0, 11),
    ("memref<2x3xi8, strided<[-3, 1], offset: ?>>", (-3, 1), 3, 6),
    ("memref<?x3xi8, strided<[?, -1], offset: 4>>", (3, -1), 4, 8),
    ("memref<2x3xi8, affine_map<(d0, d1) -> (d1 * 2 + d0 + 3)>>", (1, 2), 3, 9),
    ("memref<*xi8>", (3, 1), 0, 6),
    ("i8", (3, 1), 0, 6),
)
def test_layouts_of_new_memory(type_: str, strides: tuple[int, ...], offset: int, size: int) -> None:
    array = np.arange(6, dtype=np.int8).reshape(2, 3)
    memory = Buffer.from_numpy(array, type_)
    assert (memory.strides, memory.offset, len(memory.allocation)) == (strides, offset, size)
    assert np.array_equal(memory.numpy(), array)
    gaps = np.setdiff1d(np.arange(size), memory.places())
    assert (memory.allocation.poison is None) == (not len(gaps))
    array[0, 0] = 100
    assert memory.numpy()[0, 0] == 0


@each_row(
    ("memref<2x2xi8>", TypeMismatch, "a value of shape 2x3 is not of type 'memref<2x2xi8>'"),
    ("memref<2x3xi16>", TypeMismatch, "expected 'memref<2x3xi16>', got an array of dtype int8"),
    ("memref<6xi8>", TypeMismatch, "expected 'memref<6xi8>', got an array of shape 2x3"),
    ("memref<2x3xi8, strided<[-3, 1]>>", TypeMismatch, "would begin 3 elements before their memory"),
    (
        "memref<2x3xi8, strided<[0, 1]>>",
        TypeMismatch,
        "'memref<.*>' puts several elements at one place, but the elements given for it differ",
    ),
    ("memref<2x3xi8, strided<[99999999999, 1]>>", LimitExceeded, "spans 100000000002 bytes; the limit is 268435456"),
    (
        "memref<2x3xi8, affine_map<(a, b)[s] -> (b, a + s)>>",
        Unsupported,
        "the buffer: the symbols of the layout 'affine_map<.*>' are not known",
    ),
    ("tensor<2x3xi8>", TypeMismatch, "'tensor<2x3xi8>' is neither a memref nor an element type"),
    ("memref<2xvector<[3]xi8>>", Unsupported, "halfulp does not run memory with elements of type 'vector<.3.xi8>'"),
)
def test_what_does_not_fit_a_layout(type_: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Buffer.from_numpy(np.arange(6, dtype=np.int8).reshape(2, 3), type_)


def test_equal_elements_may_share_a_place() -> None:
    memory = Buffer.from_numpy(np.array([[1, 2], [1, 2]], np.int8), "memref<2x2xi8, strided<[0, 1]>>")
    assert len(memory.allocation) == 2


def test_arguments_share_a_buffer_and_copy_anything_else() -> None:
    memory = Buffer.from_numpy(np.arange(4, dtype=np.float32))
    same = to_argument(memory, as_type("memref<?xf32>"), "argument 0")
    assert isinstance(same, Buffer)
    assert same.allocation is memory.allocation
    value = Value.from_numpy(np.arange(4, dtype=np.float32))
    copied = to_argument(value, as_type("memref<4xf32, strided<[3]>>"), "argument 0")
    assert isinstance(copied, Buffer)
    assert copied.load() == value
    assert FORMATS["f32"] == copied.type.element.format  # type: ignore[attr-defined]


@each_row(
    ("tensor<4xf32>", "expected 'tensor<4xf32>', got a buffer of type 'memref<4xf32>'"),
    ("memref<4xf64>", "expected 'memref<4xf64>', got a buffer of type 'memref<4xf32>'"),
    ("memref<4xf32, 3>", None),
    ("memref<5xf32>", "dimension 0 has size 4, but 'memref<5xf32>' has 5"),
    ("memref<2x2xf32>", "a buffer of rank 1 is not of type 'memref<2x2xf32>'"),
    ("memref<4xf32, strided<[2]>>", r"dimension 0 has stride 1, but 'memref<4xf32, strided<\[2\]>>' has 2"),
    ("memref<4xf32, strided<[1], offset: 2>>", "the offset is 0, but .* has 2"),
    ("memref<?xf32, strided<[?], offset: ?>>", None),
    ("memref<*xf32>", None),
)
def test_a_buffer_must_fit_the_type_of_the_argument(type_: str, message: str | None) -> None:
    memory = Buffer.from_numpy(np.zeros(4, np.float32))
    if message is None:
        assert to_argument(memory, as_type(type_), "argument 0").type == as_type(type_)
        return
    with pytest.raises(TypeMismatch, match=f"argument 0: {message}"):
        to_argument(memory, as_type(type_), "argument 0")


def test_numpy_computes_on_a_buffer_as_on_its_value() -> None:
    numpy: Any = np  # its types do not know that buffers are arrays
    memory = Buffer.from_numpy(hu.convert(np.full(100, 0.1), "f8E4M3FN"))
    value = memory.load()
    assert numpy.add(memory, memory) == value + value
    assert numpy.add(value, memory) == numpy.add(memory, value) == value + value
    assert numpy.sum(memory) == value.sum()
    assert numpy.concatenate([memory, value]) == numpy.concatenate([value, memory]) == numpy.concatenate([value, value])
    assert numpy.shape(memory) == (100,)
    assert numpy.sqrt(memory) == numpy.sqrt(value)
    for refused in (numpy.mean, numpy.sign, numpy.cumsum):
        with pytest.raises(TypeError, match="does not compute with values"):
            refused(memory)


def test_memory_for_one_repeated_element_is_limited() -> None:
    text = "func.func @f(%m: memref<1024x1024x1024xf32>) { return }"
    type_ = as_type("tensor<1024x1024x1024xf32>")
    with pytest.raises(hu.errors.LimitExceeded, match="spans 4294967296 bytes"):
        hu.run(text, parse_value(type_, "1"))
