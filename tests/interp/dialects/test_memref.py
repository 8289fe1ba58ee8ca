"""The memref dialect: memory, views of it, and what goes in and out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import find_tool
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.value import as_type, element_width

INDICES = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in range(6))


def module_of(signature: str, body: str) -> Module:
    """A module with one function @main, whose body may use %c0 to %c5."""
    return hu.load(f"func.func @main{signature} {{\n{INDICES}{body}\n}}")


def run(signature: str, body: str, *arguments: Any, **options: Any) -> tuple[hu.Value, ...]:
    return hu.run(module_of(signature, body), *arguments, **options)


def undefined(signature: str, body: str, *arguments: Any, **options: Any) -> str:
    """What a function says that is undefined."""
    with pytest.raises(hu.UndefinedBehavior) as caught:
        run(signature, body, *arguments, **options)
    assert caught.value.location is not None
    assert caught.value.op is not None
    return caught.value.message


# --- memory -----------------------------------------------------------------------------------------------------------


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
    assert value.numpy()[1, 2] == 7
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
    with pytest.raises(hu.LimitExceeded, match="takes 4000000000 bytes; the limit is 268435456"):
        run("(%n: index)", "  %m = memref.alloc(%n) : memref<?xi32>\n  return", 10**9)
    with pytest.raises(hu.Unsupported, match=r"affine_map<\(d0, d1\) -> \(d1, d0\)>' is no sum of strides"):
        run("()", "  %m = memref.alloc() : memref<2x2xi8, affine_map<(i, j) -> (j, i)>>\n  return")
    with pytest.raises(hu.Unsupported, match="elements of type 'vector<4xf32>' is not run"):
        run("()", "  %m = memref.alloc() : memref<2xvector<4xf32>>\n  return")


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


# --- elements ---------------------------------------------------------------------------------------------------------


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


# --- vectors ----------------------------------------------------------------------------------------------------------


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
    assert value.numpy()[1:3].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("%v = vector.load %m[%c0, %c0] : memref<8xf32>, vector<4xf32>", "requires 1 indices"),
        ("%v = vector.load %m[%c0] : memref<8xf32>, vector<4xf64>", "base and result element types should match"),
        (
            "%v = vector.load %m[%c0] : memref<8xf32>, vector<2x4xf32>",
            "destination memref has lower rank than the result",
        ),
        (
            "%v = vector.load %s[%c0] : memref<8xf32, strided<[2]>>, vector<4xf32>",
            "most minor memref dim must have unit",
        ),
        ("vector.store %x, %m[] : memref<8xf32>, vector<4xf32>", "requires 1 indices"),
        ("vector.store %x, %i[%c0] : memref<8xi32>, vector<4xf32>", "base and valueToStore element type should match"),
        (
            "vector.store %y, %m[%c0] : memref<8xf32>, vector<2x4xf32>",
            "source memref has lower rank than the vector to",
        ),
        (
            "vector.store %x, %s[%c0] : memref<8xf32, strided<[2]>>, vector<4xf32>",
            "most minor memref dim must have unit",
        ),
        (
            "vector.store %x, %m[%c0] {alignment = 3 : i64} : memref<8xf32>, vector<4xf32>",
            "whose value is a power of two",
        ),
        (
            "vector.store %x, %v[%c0] : memref<2xvector<8xf32>>, vector<4xf32>",
            "base memref and valueToStore vector types",
        ),
    ],
)
def test_vector_accesses_that_mlir_refuses(access: str, message: str) -> None:
    signature = (
        "(%m: memref<8xf32>, %i: memref<8xi32>, %s: memref<8xf32, strided<[2]>>, %x: vector<4xf32>, "
        "%y: vector<2x4xf32>, %v: memref<2xvector<8xf32>>)"
    ).replace("%v:", "%v:" if "%v = " not in access else "%w:")
    with pytest.raises(hu.VerifyError, match=message):
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
    with pytest.raises(hu.ParseError, match="`alignment` clause can appear at most once"):
        hu.load(NEWER.replace("nontemporal = true", "alignment = 4"))
    with pytest.raises(hu.VerifyError, match="whose value is a power of two > 0"):
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


# --- views ------------------------------------------------------------------------------------------------------------


def test_dim_is_what_it_is_when_it_runs() -> None:
    body = """\
  %a = memref.dim %m, %c1 : memref<?x?xi8>
  %u = memref.cast %m : memref<?x?xi8> to memref<*xi8>
  %b = memref.dim %u, %c0 : memref<*xi8>
  return %a, %b : index, index"""
    results = run("(%m: memref<?x?xi8>) -> (index, index)", body, np.zeros((2, 5), np.int8))
    assert [result.item() for result in results] == [5, 2]
    body = "  %a = memref.dim %m, %c2 : memref<?x?xi8>\n  return"
    assert "dimension 2 of a memref of rank 2" in undefined("(%m: memref<?x?xi8>)", body, np.zeros((2, 5), np.int8))


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
        with pytest.raises(hu.VerifyError, match="are cast incompatible"):
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
    with pytest.raises(hu.VerifyError, match=re.escape(f"'memref<2x2xi8, {result}>' or a rank-reduced version")):
        hu.load(of_parts(layout, numbers, "strided<[?, ?], offset: ?>"))


@pytest.mark.mlir
@pytest.mark.parametrize(("layout", "numbers", "result"), PARTS)
def test_parts_have_the_strides_that_mlir_gives_them(layout: str, numbers: str, result: str) -> None:
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    optimizer.run([], of_parts(layout, numbers, result))
    with pytest.raises(OracleError, match=re.escape(f"'memref<2x2xi8, {result}>' or a rank-reduced version")):
        optimizer.run([], of_parts(layout, numbers, "strided<[?, ?], offset: ?>"))


@pytest.mark.parametrize(
    ("start", "count", "step", "problem"),
    [
        (1, 3, -1, "slice along dimension 0 runs out-of-bounds: -1 < 0"),
        (2, 3, -1, None),
        (2, 3, 1, "slice along dimension 0 runs out-of-bounds: 4 >= 4"),
        (1, 3, 1, None),
        (4, 1, 1, "offset 0 is out-of-bounds: 4 >= 4"),
        (4, 0, 1, None),
    ],
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


@pytest.mark.parametrize(
    ("source", "target", "given", "message"),
    [
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
    ],
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


# --- control, calls, and what is not run ------------------------------------------------------------------------------


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
    (value,) = hu.run(module, one, two, 3, True, entry="main")
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
    (direct,) = hu.run(module, given, entry="fill", externals={"fill": fill})
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


def test_arith_on_memrefs_is_not_run() -> None:
    body = "  %r = arith.bitcast %m : memref<2xf32> to memref<2xi32>\n  return"
    with pytest.raises(hu.Unsupported, match="halfulp does not execute it on memrefs"):
        run("(%m: memref<2xf32>)", body, np.zeros(2, np.float32))


def test_batches_have_no_memory() -> None:
    body = "  %m = memref.alloc() : memref<1xi8>\n  memref.store %x, %m[%c0] : memref<1xi8>\n  return %x : i8"
    with pytest.raises(hu.Unsupported, match="batch"):
        run("(%x: i8) -> i8", body, np.arange(4, dtype=np.int8), batch=True)
    with pytest.raises(hu.Unsupported, match="batch"):
        run(
            "(%m: memref<4xi8>, %x: i8)",
            "  return",
            np.arange(4, dtype=np.int8),
            np.arange(4, dtype=np.int8),
            batch=True,
        )


def test_memory_in_a_loop_is_let_go() -> None:
    body = """\
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc() : memref<1000000xi64>
    %x = arith.constant 1 : i64
    memref.store %x, %m[%c0] : memref<1000000xi64>
  }
  return"""
    run("(%n: index)", body, 100)


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
