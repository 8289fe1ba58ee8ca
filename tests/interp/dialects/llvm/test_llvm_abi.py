"""How lowered functions take memrefs and give them back."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.dialects.llvm import abi
from halfulp.interp.ir import types as ty
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.element_layout import code_layout

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


@pytest.mark.parametrize(
    "element", ["i1", "i4", "i8", "bf16", "f8E4M3FN", "f32", "i64", "f80", "complex<f32>", "index"]
)
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


@pytest.mark.parametrize(
    ("text", "signature", "options", "error", "message"),
    [
        (TRANSPOSED, "tensor<2xf32>", {}, hu.TypeMismatch, "'tensor<2xf32>' is not a type of functions"),
        (TRANSPOSED, "(tensor<2xf32>) -> f32", {}, hu.Unsupported, "follows no convention"),
        (TRANSPOSED, "(tensor<2x3xf32>", {}, hu.ParseError, "expected"),
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
            "a batch calls functions by their own types",
        ),
    ],
)
def test_signatures_that_do_not_fit(
    text: str, signature: str, options: dict[str, bool], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        hu.run(text, np.zeros((2, 3), np.float32), signature=signature, **options)  # type: ignore[arg-type]


def test_the_number_of_arguments_is_that_of_the_signature() -> None:
    with pytest.raises(hu.TypeMismatch, match="@main takes 1 argument"):
        hu.run(TRANSPOSED, 1, 2, signature="(tensor<2x3xf32>) -> tensor<3x2xf32>")
