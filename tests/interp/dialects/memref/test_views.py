"""Views of memrefs: dim, cast and subview, and the layouts of their types."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memref_functions import module_of, run, undefined
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import find_tool
from halfulp.interp.ir.operations import Module


def test_dim_is_what_it_is_when_it_runs() -> None:
    body = """\
  %a = memref.dim %m, %c1 : memref<?x?xi8>
  %u = memref.cast %m : memref<?x?xi8> to memref<*xi8>
  %b = memref.dim %u, %c0 : memref<*xi8>
  return %a, %b : index, index"""
    results = run("(%m: memref<?x?xi8>) -> (index, index)", body, np.zeros((2, 5), np.int8))
    assert [result.item() for result in results] == [5, 2]
    body = "  %a = memref.dim %m, %c2 : memref<?x?xi8>\n  return"
    assert "there is no dimension 2 in a memref of rank 2" in undefined(
        "(%m: memref<?x?xi8>)", body, np.zeros((2, 5), np.int8)
    )


LAYOUTS = [
    # A map, strides, and whether mlir-opt 22 casts memrefs of one to the other.
    ("(d0, d1) -> (d0 * 4 + d1 + 3)", "strided<[4, 1], offset: 3>", True),
    ("(d0, d1) -> (d0 * 4 + d1 + 3)", "strided<[4, 1], offset: 2>", False),
    ("(d0, d1) -> ((d1 * 4 + d0) * 2)", "strided<[2, 8]>", True),
    ("(d0, d1) -> (d0 * 2)", "strided<[2, 0]>", True),
    ("(d0, d1) -> (5)", "strided<[0, 0], offset: 5>", True),
    ("(d0, d1) -> (d0 mod 2)", "strided<[1, 0]>", False),
    ("(d0, d1) -> (d1, d0)", "strided<[1, 4]>", False),
    ("(d0, d1)[s0] -> (d0 * s0 + d1 * 3)", "strided<[7, 3]>", True),
    ("(d0, d1)[s0] -> (d0 * s0 + d1 * 3)", "strided<[7, 1]>", False),
    ("(d0, d1)[s0] -> (d0 * (s0 mod 2) + d1)", "strided<[4, 1]>", True),
    ("(d0, d1)[s0] -> (d0 * 4 + d1 + s0 floordiv 2)", "strided<[4, 1], offset: 2>", False),
]


def of_layouts(map: str, strides: str) -> str:
    source, target = f"memref<4x4xi8, affine_map<{map}>>", f"memref<?x4xi8, {strides}>"
    return f"func.func @f(%m: {source}) {{\n  %r = memref.cast %m : {source} to {target}\n  return\n}}"


@pytest.mark.parametrize(("map", "strides", "fits"), LAYOUTS)
def test_maps_that_add_up_dimensions_are_strides(map: str, strides: str, fits: bool) -> None:
    if fits:
        hu.load(of_layouts(map, strides))
    else:
        with pytest.raises(hu.errors.VerifyError, match="are cast incompatible"):
            hu.load(of_layouts(map, strides))


@pytest.mark.mlir
@pytest.mark.parametrize(("map", "strides", "fits"), LAYOUTS)
def test_maps_are_strides_where_mlir_says_so(map: str, strides: str, fits: bool) -> None:
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    if fits:
        optimizer.run([], of_layouts(map, strides))
    else:
        with pytest.raises(OracleError, match="are cast incompatible"):
            optimizer.run([], of_layouts(map, strides))


PARTS = [
    # Of a memref<?x?xi8> with these strides the numbers of a subview, and the strides that its result has to have.
    ("strided<[?, ?], offset: 3>", "[0, 0] [2, 2] [1, 1]", "strided<[?, ?], offset: 3>"),
    ("strided<[?, 0], offset: 3>", "[0, %i] [2, 2] [%i, %i]", "strided<[?, 0], offset: 3>"),
    ("strided<[?, 1], offset: 3>", "[1, 0] [2, 2] [0, 1]", "strided<[0, 1], offset: ?>"),
]


def of_parts(layout: str, numbers: str, result: str) -> str:
    types = f"memref<?x?xi8, {layout}> to memref<2x2xi8, {result}>"
    return (
        f"func.func @f(%m: memref<?x?xi8, {layout}>, %i: index) {{ %v = memref.subview %m{numbers} : {types} return }}"
    )


@pytest.mark.parametrize(("layout", "numbers", "result"), PARTS)
def test_nothing_times_what_is_not_known_is_nothing(layout: str, numbers: str, result: str) -> None:
    hu.load(of_parts(layout, numbers, result))
    with pytest.raises(hu.errors.VerifyError, match=re.escape(f"'memref<2x2xi8, {result}>' or a rank-reduced version")):
        hu.load(of_parts(layout, numbers, "strided<[?, ?], offset: ?>"))


@pytest.mark.mlir
@pytest.mark.parametrize(("layout", "numbers", "result"), PARTS)
def test_parts_have_the_strides_that_mlir_gives_them(layout: str, numbers: str, result: str) -> None:
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    optimizer.run([], of_parts(layout, numbers, result))
    with pytest.raises(OracleError, match=re.escape(f"'memref<2x2xi8, {result}>' or a rank-reduced version")):
        optimizer.run([], of_parts(layout, numbers, "strided<[?, ?], offset: ?>"))


@each_row(
    (1, 3, -1, "slice along dimension 0 runs out-of-bounds: -1 < 0"),
    (2, 3, -1, None),
    (2, 3, 1, "slice along dimension 0 runs out-of-bounds: 4 >= 4"),
    (1, 3, 1, None),
    (4, 1, 1, "offset 0 is out-of-bounds: 4 >= 4"),
    (4, 0, 1, None),
)
def test_parts_end_inside(start: int, count: int, step: int, problem: str | None) -> None:
    signature = "(%m: memref<3x4xi8>, %at: index, %n: index, %step: index)"
    body = """\
  %row = memref.subview %m[1, 0] [1, 4] [1, 1] : memref<3x4xi8> to memref<4xi8, strided<[1], offset: 4>>
  %v = memref.subview %row[%at] [%n] [%step]
    : memref<4xi8, strided<[1], offset: 4>> to memref<?xi8, strided<[?], offset: ?>>
  return"""
    given = np.zeros((3, 4), np.int8), start, count, step
    if problem is None:
        run(signature, body, *given)
    else:
        assert problem in undefined(signature, body, *given)


def test_a_store_of_what_is_not_open_closes_an_element() -> None:
    program = """\
func.func @main(%m: memref<2xf32>, %i: index, %a: f32, %b: f32) -> memref<2xf32> {
  %s = arith.addf %a, %a fastmath<reassoc> : f32
  memref.store %s, %m[%i] : memref<2xf32>
  memref.store %b, %m[%i] : memref<2xf32>
  return %m : memref<2xf32>
}"""
    memory = hu.Buffer.from_numpy(np.zeros(2, np.float32))
    memory.allocation.open = np.array([1, 1], np.uint8)
    (held,) = hu.run(program, memory, 1, 1.0, 2.0, track_open=True)
    assert held.open is not None
    assert held.open.tolist() == [1, 0]


def test_symbols_of_a_layout_come_from_the_op() -> None:
    layout = "memref<2x2xi8, affine_map<(d0, d1)[s0] -> (d0 * s0 + d1 + s0)>>"
    body = f"""\
  %m = memref.alloc()[%c5] : {layout}
  %b, %offset, %sizes:2, %strides:2 = iree_codegen.extract_strided_metadata %m
    : {layout} -> memref<i8>, index, index, index, index, index
  return %offset, %strides#0, %strides#1 : index, index, index"""
    assert [found.item() for found in run("() -> (index, index, index)", body)] == [5, 5, 1]
    divided = layout.replace("d0 * s0", "d0 * (s0 mod 8)")
    with pytest.raises(hu.Unsupported, match="divides symbols"):
        run("()", f"  %m = memref.alloc()[%c5] : {divided}\n  return")


CAST = "  %r = memref.cast %m : {0} to {1}\n  return %r : {1}"


@each_row(
    ("memref<?x3xi8>", "memref<2x?xi8>", "memref<2x3xi8>", None),
    ("memref<?x3xi8>", "memref<4x3xi8>", "memref<2x3xi8>", "dimension 0 has size 2, but 'memref<4x3xi8>' has 4"),
    (
        "memref<2x3xi8, strided<[?, 1], offset: ?>>",
        "memref<2x3xi8, strided<[4, 1], offset: ?>>",
        "memref<2x3xi8, strided<[8, 1]>>",
        "dimension 0 has stride 8, but 'memref<2x3xi8, strided<[4, 1], offset: ?>>' has 4",
    ),
    (
        "memref<2x3xi8, strided<[?, 1], offset: ?>>",
        "memref<2x3xi8, strided<[?, 1], offset: 2>>",
        "memref<2x3xi8, strided<[8, 1]>>",
        "the offset is 0, but 'memref<2x3xi8, strided<[?, 1], offset: 2>>' has 2",
    ),
    ("memref<*xi8>", "memref<2x3xi8>", "memref<2x3xi8>", None),
    ("memref<*xi8>", "memref<6xi8>", "memref<2x3xi8>", "a buffer of rank 2 is not of type 'memref<6xi8>'"),
    ("memref<*xi8>", "memref<2x3xi8>", "memref<2x3xi8, strided<[8, 1]>>", "dimension 0 has stride 8, but .* has 3"),
    ("memref<2x3xi8, strided<[?, ?], offset: ?>>", "memref<?x?xi8>", "memref<2x3xi8, strided<[8, 1]>>", "stride 8"),
)
def test_a_cast_checks_sizes_strides_and_offset(source: str, target: str, given: str, message: str | None) -> None:
    array = np.arange(6, dtype=np.int8).reshape(2, 3)
    signature, body = f"(%m: {source}) -> {target}", CAST.format(source, target)
    if message is None:
        (value,) = run(signature, body, hu.Buffer.from_numpy(array, given))
        assert np.array_equal(value.numpy(), array)
    else:
        found = undefined(signature, body, hu.Buffer.from_numpy(array, given))
        assert re.search(message.replace("?", r"\?").replace("[", r"\["), found)


def test_views_alias_what_they_view() -> None:
    body = """\
  %v = memref.subview %m[1, 0] [1, 2] [1, 2] : memref<2x4xi8> to memref<2xi8, strided<[2], offset: 4>>
  memref.store %x, %v[%c1] : memref<2xi8, strided<[2], offset: 4>>
  %r = memref.load %m[%c1, %c2] : memref<2x4xi8>
  memref.store %x, %m[%c1, %c0] : memref<2x4xi8>
  %s = memref.load %v[%c0] : memref<2xi8, strided<[2], offset: 4>>
  return %r, %s : i8, i8"""
    memory = hu.Buffer.from_numpy(np.zeros((2, 4), np.int8))
    results = run("(%m: memref<2x4xi8>, %x: i8) -> (i8, i8)", body, memory, 9)
    assert [result.item() for result in results] == [9, 9]
    assert memory.numpy().tolist() == [[0, 0, 0, 0], [9, 0, 9, 0]]


SUBVIEW = """\
  %v = memref.subview %m[%a, %b] [%n, %k] [%s, %t] : TYPE to memref<?x?xi32, strided<[?, ?], offset: ?>>
  return %v : memref<?x?xi32, strided<[?, ?], offset: ?>>"""


@pytest.fixture(scope="module")
def subviews() -> dict[str, Module]:
    numbers = ", ".join(f"%{name}: index" for name in "abnkst")
    return {
        type_: module_of(
            f"(%m: {type_}, {numbers}) -> memref<?x?xi32, strided<[?, ?], offset: ?>>", SUBVIEW.replace("TYPE", type_)
        )
        for type_ in ("memref<?x?xi32>", "memref<?x?xi32, strided<[?, ?], offset: ?>>")
    }


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    shape=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    starts=st.tuples(st.integers(-1, 5), st.integers(-1, 5)),
    sizes=st.tuples(st.integers(-1, 4), st.integers(-1, 4)),
    steps=st.tuples(st.integers(-2, 3), st.integers(-2, 3)),
    strided=st.booleans(),
)
def test_parts_against_numpy(
    subviews: dict[str, Module],
    shape: tuple[int, int],
    starts: tuple[int, int],
    sizes: tuple[int, int],
    steps: tuple[int, int],
    strided: bool,
) -> None:
    array = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
    type_ = "memref<?x?xi32, strided<[?, ?], offset: ?>>" if strided else "memref<?x?xi32>"
    layout = f"memref<{shape[0]}x{shape[1]}xi32, strided<[-7, 11], offset: ?>>" if strided else "i32"
    memory = hu.Buffer.from_numpy(array, layout)
    rows = [[start + k * step for k in range(size)] for start, size, step in zip(starts, sizes, steps, strict=True)]
    inside = all(0 <= number < size for numbers, size in zip(rows, shape, strict=True) for number in numbers)
    if min(*starts, *sizes) < 0 or not inside:
        with pytest.raises(hu.UndefinedBehavior, match="memref.subview"):
            hu.run(subviews[type_], memory, *starts, *sizes, *steps)
        return
    (value,) = hu.run(subviews[type_], memory, *starts, *sizes, *steps)
    assert np.array_equal(value.numpy(), array[np.ix_(np.array(rows[0], int), np.array(rows[1], int))])


def test_a_part_without_elements_may_begin_anywhere() -> None:
    program = """\
func.func @main(%m: memref<4x6xi32>, %at: index, %n: index, %t: tensor<?x2xi32>) -> tensor<?x2xi32> {
  %v = memref.subview %m[%at, 4] [%n, 2] [0, 0] : memref<4x6xi32> to memref<?x2xi32, strided<[0, 0], offset: ?>>
  iree_codegen.store_to_buffer %t, %v : tensor<?x2xi32> into memref<?x2xi32, strided<[0, 0], offset: ?>>
  %r = iree_codegen.load_from_buffer %v : memref<?x2xi32, strided<[0, 0], offset: ?>> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}"""
    given = np.zeros((4, 6), np.int32), 1 << 62, 0, np.zeros((0, 2), np.int32)
    assert hu.run(program, *given)[0].shape == (0, 2)
    assert hu.trace(program, *given).error is None


def test_dimensions_that_a_part_drops_are_those_that_are_1_in_the_text() -> None:
    body = """\
  %v = memref.subview %m[0, 1] [%n, 1] [1, 1] : memref<?x3xi8> to memref<?xi8, strided<[3], offset: 1>>
  return %v : memref<?xi8, strided<[3], offset: 1>>"""
    signature = "(%m: memref<?x3xi8>, %n: index) -> memref<?xi8, strided<[3], offset: 1>>"
    for count in (1, 2):
        (value,) = run(signature, body, np.arange(6, dtype=np.int8).reshape(2, 3), count)
        assert value.numpy().tolist() == [1, 4][:count]


# --- vector accesses --------------------------------------------------------------------------------------------------
#
# Loads and stores of vectors in memrefs.


def test_vectors_of_any_rank() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    body = """\
  %a = vector.load %m[%c1, %c1, %c2] : memref<2x3x4xi16>, vector<2xi16>
  %b = vector.load %m[%c0, %c1, %c1] : memref<2x3x4xi16>, vector<2x3xi16>
  %c = vector.load %m[%c1, %c2, %c3] : memref<2x3x4xi16>, vector<i16>
  %d = vector.load %m[%c0, %c0, %c0] : memref<2x3x4xi16>, vector<2x1x4xi16>
  vector.store %b, %m[%c1, %c0, %c1] : memref<2x3x4xi16>, vector<2x3xi16>
  return %a, %b, %c, %d : vector<2xi16>, vector<2x3xi16>, vector<i16>, vector<2x1x4xi16>"""
    memory = hu.Buffer.from_numpy(array)
    types = "vector<2xi16>, vector<2x3xi16>, vector<i16>, vector<2x1x4xi16>"
    a, b, c, d = run(f"(%m: memref<2x3x4xi16>) -> ({types})", body, memory)
    assert a.numpy().tolist() == array[1, 1, 2:].tolist()
    assert b.numpy().tolist() == array[0, 1:3, 1:4].tolist()
    assert c.numpy() == array[1, 2, 3]
    assert d.numpy().tolist() == array[:, :1].tolist()
    array[1, 0:2, 1:4] = b.numpy()
    assert memory.numpy().tolist() == array.tolist()


def test_scalable_vectors_need_the_multiple() -> None:
    signature = "(%m: memref<8xi8>) -> vector<[2]xi8>"
    body = "  %v = vector.load %m[%c2] : memref<8xi8>, vector<[2]xi8>\n  return %v : vector<[2]xi8>"
    (value,) = run(signature, body, np.arange(8, dtype=np.int8), vscale=3)
    assert value.numpy().tolist() == [2, 3, 4, 5, 6, 7]
    with pytest.raises(hu.Unsupported, match="give vscale=N"):
        run(signature, body, np.arange(8, dtype=np.int8))
    assert "outside the shape 8" in undefined(signature, body, np.arange(8, dtype=np.int8), vscale=4)


def test_vectors_keep_poison_and_strides() -> None:
    body = """\
  %m = memref.alloc() : memref<2x4xi8>
  %v = memref.subview %m[0, 1] [2, 2] [1, 1] : memref<2x4xi8> to memref<2x2xi8, strided<[4, 1], offset: 1>>
  vector.store %x, %v[%c1, %c0] : memref<2x2xi8, strided<[4, 1], offset: 1>>, vector<2xi8>
  %r = vector.load %m[%c1, %c0] : memref<2x4xi8>, vector<4xi8>
  return %r : vector<4xi8>"""
    (value,) = run("(%x: vector<2xi8>) -> vector<4xi8>", body, np.array([5, 6], np.int8))
    assert value.poisoned.tolist() == [True, False, False, True]
    assert value.numpy(poison=0)[1:3].tolist() == [5, 6]


@each_row(
    ("%v = vector.load %m[%c0, %c0] : memref<8xf32>, vector<4xf32>", "requires 1 indices"),
    ("%v = vector.load %m[%c0] : memref<8xf32>, vector<4xf64>", "base and result element types should match"),
    ("%v = vector.load %m[%c0] : memref<8xf32>, vector<2x4xf32>", "destination memref has lower rank than the result"),
    ("%v = vector.load %s[%c0] : memref<8xf32, strided<[2]>>, vector<4xf32>", "most minor memref dim must have unit"),
    ("vector.store %x, %m[] : memref<8xf32>, vector<4xf32>", "requires 1 indices"),
    ("vector.store %x, %i[%c0] : memref<8xi32>, vector<4xf32>", "base and valueToStore element type should match"),
    ("vector.store %y, %m[%c0] : memref<8xf32>, vector<2x4xf32>", "source memref has lower rank than the vector to"),
    ("vector.store %x, %s[%c0] : memref<8xf32, strided<[2]>>, vector<4xf32>", "most minor memref dim must have unit"),
    ("vector.store %x, %m[%c0] {alignment = 3 : i64} : memref<8xf32>, vector<4xf32>", "whose value is a power of two"),
    ("vector.store %x, %v[%c0] : memref<2xvector<8xf32>>, vector<4xf32>", "base memref and valueToStore vector types"),
)
def test_vector_accesses_that_mlir_refuses(access: str, message: str) -> None:
    signature = (
        "(%m: memref<8xf32>, %i: memref<8xi32>, %s: memref<8xf32, strided<[2]>>, %x: vector<4xf32>, "
        "%y: vector<2x4xf32>, %v: memref<2xvector<8xf32>>)"
    ).replace("%v:", "%v:" if "%v = " not in access else "%w:")
    with pytest.raises(hu.errors.VerifyError, match=message):
        module_of(signature, f"  {access}\n  return")


NEWER = """\
func.func @f(%m: memref<8xf32>, %i: index, %v: vector<4xf32>) {
  %0 = vector.load %m[%i] nontemporal = true alignment = 16 : memref<8xf32>, vector<4xf32>
  %1 = vector.load %m[%i] alignment = 8 {foo} : memref<8xf32>, vector<4xf32>
  vector.store %v, %m[%i] nontemporal = false : memref<8xf32>, vector<4xf32>
  return
}
"""


def test_the_newer_form_of_vector_accesses_is_read() -> None:
    # iree-opt 3.13 has alignment and nontemporal in front of the dictionary.
    printed = hu.print_module(hu.load(NEWER))
    assert "vector.load %arg0[%arg1] {alignment = 16 : i64, nontemporal = true} :" in printed
    assert "vector.load %arg0[%arg1] {alignment = 8 : i64, foo} :" in printed
    assert "vector.store %arg2, %arg0[%arg1] :" in printed
    with pytest.raises(hu.errors.ParseError, match="`alignment` clause can appear at most once"):
        hu.load(NEWER.replace("nontemporal = true", "alignment = 4"))
    with pytest.raises(hu.errors.VerifyError, match="whose value is a power of two > 0"):
        hu.load(NEWER.replace("alignment = 8", "alignment = 12"))


ACCESSES = """\
func.func @f(%m: memref<8x8xf32>, %i: index, %v: vector<4xf32>, %w: vector<2x4xf32>, %r: memref<f32>) {
  %0 = vector.load %m[%i, %i] : memref<8x8xf32>, vector<4xf32>
  %1 = vector.load %m[%i, %i] {nontemporal = true, alignment = 16} : memref<8x8xf32>, vector<2x4xf32>
  %2 = vector.load %m[%i, %i] {nontemporal = false} : memref<8x8xf32>, vector<[4]xf32>
  %3 = vector.load %r[] : memref<f32>, vector<f32>
  vector.store %v, %m[%i, %i] : memref<8x8xf32>, vector<4xf32>
  vector.store %w, %m[%i, %i] {nontemporal = true, foo} : memref<8x8xf32>, vector<2x4xf32>
  return
}
"""


@pytest.mark.mlir
def test_vector_accesses_print_as_mlir_prints_them() -> None:
    module = hu.load(ACCESSES)
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    for generic in (False, True):
        theirs = optimizer.run(["--mlir-print-op-generic"] if generic else [], ACCESSES)
        assert hu.print_module(module, generic=generic).strip() == theirs.strip()
        assert hu.print_module(hu.load(theirs), generic=generic).strip() == theirs.strip()
