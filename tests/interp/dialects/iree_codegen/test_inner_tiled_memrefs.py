"""`iree_codegen.inner_tiled` on memrefs, which its document allows: read where they lie, updated in place."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from tile_programs import SEED, described, program, small, whole

from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported, VerifyError
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.running import run
from halfulp.semantics.matrix_units.kinds import KINDS, distribute

KIND = "MFMA_F32_16x16x16_F16"
ATTRIBUTES = f"""kind = #iree_gpu.mma_layout<{KIND}>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>"""
SINGLE = "indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []"
LOOPS = """indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>,
      #linalg.iterator_type<reduction>]"""


def text(a: str, b: str, c: str, loops: str = SINGLE) -> str:
    """Return a function on these types with a memref as its output."""
    return f"""func.func @main(%a: {a}, %b: {b}, %c: {c}) {{
  iree_codegen.inner_tiled ins(%a, %b) outs(%c) <{loops}, {ATTRIBUTES}> : {a}, {b} into {c}
  return
}}"""


def test_memrefs_which_iree_opt_refuses_are_read_and_printed() -> None:
    given = text("memref<16x16xf16>", "tensor<16x16xf16>", "memref<16x16xf32>")
    module = parse_module(given)
    (op,) = [op for op in module.walk() if op.name == "iree_codegen.inner_tiled"]
    assert not op.results
    for generic in (False, True):
        assert print_module(parse_module(print_module(module, generic=generic))) == print_module(module)


def test_iree_opt_refuses_them(iree_opt: str) -> None:
    given = text("memref<16x16xf16>", "tensor<16x16xf16>", "memref<16x16xf32>")
    done = subprocess.run([iree_opt], input=given, capture_output=True, text=True, check=False)
    assert "operand #0 must be variadic of ranked tensor or vector of any non-token type values" in done.stderr


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ("memref<?x?x16x16xf16>",) * 2 + ("memref<?x?x16x16xf32>",),
        (
            "memref<2x3x16x16xf16, strided<[1, 700, 40, 2], offset: 5>>",
            "tensor<3x4x16x16xf16>",
            "memref<2x4x16x16xf32>",
        ),
        ("tensor<2x?x16x16xf16>", "memref<?x4x16x16xf16>", "memref<2x4x16x16xf32, strided<[256, 512, 1, 16]>>"),
        ("tensor<?x3x16x16xf16>", "vector<3x4x16x16xf16>", "memref<?x4x16x16xf32, strided<[?, ?, ?, ?], offset: ?>>"),
    ],
)
def test_a_memref_is_updated_in_place_whatever_its_layout(a: str, b: str, c: str) -> None:
    rng = np.random.default_rng(SEED)
    x, y = small(rng, (2, 3, 16, 16), np.float16), small(rng, (3, 4, 16, 16), np.float16)
    z = small(rng, (2, 4, 16, 16), np.float32)
    output = Buffer.from_numpy(
        z, c.replace("strided<[?, ?, ?, ?], offset: ?>", "strided<[1500, 300, 17, 1], offset: 9>")
    )
    results = run(text(a, b, c, LOOPS), x, y, output)
    assert results == ()
    expected = z + np.einsum("mkia,knaj->mnij", x.astype(np.float32), y.astype(np.float32))
    assert np.array_equal(output.numpy(), expected)


def test_memory_between_the_elements_of_the_output_stays_as_it_is() -> None:
    a, b = np.ones((16, 16), np.float16), np.ones((16, 16), np.float16)
    whole_memory = Buffer.from_numpy(np.full((16, 20), 7, np.float32))
    given = """func.func @main(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %m: memref<16x20xf32>) {
      %c = memref.subview %m[0, 2] [16, 16] [1, 1] : memref<16x20xf32> to memref<16x16xf32, strided<[20, 1], offset: 2>>
      iree_codegen.inner_tiled ins(%a, %b) outs(%c) <SINGLE, ATTRIBUTES>
        : tensor<16x16xf16>, tensor<16x16xf16> into memref<16x16xf32, strided<[20, 1], offset: 2>>
      return
    }"""
    run(given.replace("SINGLE", SINGLE).replace("ATTRIBUTES", ATTRIBUTES), a, b, whole_memory)
    expected = np.full((16, 20), 7, np.float32)
    expected[:, 2:18] += 16
    assert np.array_equal(whole_memory.numpy(), expected)


def test_a_memref_as_an_input_leaves_the_result_to_a_tensor() -> None:
    rng = np.random.default_rng(SEED)
    a, b = small(rng, (16, 16), np.float16), small(rng, (16, 16), np.float16)
    c = small(rng, (16, 16), np.float32)
    given = program(",->", f"mma_layout<{KIND}>", (("f16", (16, 16)), ("f16", (16, 16)), ("f32", (16, 16))))
    left = Buffer.from_numpy(a, "memref<16x16xf16, strided<[1, 16]>>")
    (result,) = run(given.replace("tensor<16x16xf16>", "memref<16x16xf16, strided<[1, 16]>>"), left, b.copy(), c)
    assert np.array_equal(result.numpy(), c + a.astype(np.float32) @ b.astype(np.float32))
    assert np.array_equal(left.numpy(), a)


def test_shares_of_lanes_lie_in_memory_too() -> None:
    kind = KINDS[KIND]
    assert kind.layouts is not None
    values = whole(kind, np.random.default_rng(SEED))
    (expected,) = run(program(",->", f"mma_layout<{KIND}>", described(values)), *values)
    shares = [
        Value.from_bits(distribute(value.bits, layout, 64), str(value.element_type))
        for value, layout in zip(values, kind.layouts, strict=True)
    ]
    given = program("i,i->i", f"mma_layout<{KIND}>", described(shares), distributed=True)
    given = given.replace("tensor<64x4xf32>", "memref<64x4xf32>").replace(" -> memref<64x4xf32>", "")
    given = given.replace("%r = ", "").replace("return %r : memref<64x4xf32>", "return")
    output = Buffer.from_numpy(shares[2])
    assert run(given, *shares[:2], output) == ()
    assert np.array_equal(output.load().bits, distribute(expected.bits, kind.layouts[2], 64))


def test_poison_goes_into_memory_and_out_of_it() -> None:
    given = """func.func @main(%a: memref<16x16xf16>, %b: tensor<16x16xf16>, %c: memref<16x16xf32>, %i: index, %j: index) {
      %p = ub.poison : f16
      memref.store %p, %a[%i, %j] : memref<16x16xf16>
      iree_codegen.inner_tiled ins(%a, %b) outs(%c) <SINGLE, ATTRIBUTES>
        : memref<16x16xf16>, tensor<16x16xf16> into memref<16x16xf32>
      return
    }"""
    ones, output = np.ones((16, 16), np.float16), Buffer.from_numpy(np.zeros((16, 16), np.float32))
    run(given.replace("SINGLE", SINGLE).replace("ATTRIBUTES", ATTRIBUTES), ones, ones, output, 5, 2)
    value = output.load()
    row = np.zeros((16, 16), np.bool_)
    row[5] = True
    assert np.array_equal(value.poisoned, row)
    assert (value.numpy(poison=0)[~row] == 16).all()
    origin = value.origin(5, 0)
    assert origin is not None
    assert origin.op == "ub.poison"


# --- what is refused --------------------------------------------------------------------------------------------------

SHARED = """func.func @main(%m: memref<4x16x16xf32>) {{
  %a = memref.subview %m[{0}, 0, 0] [2, 16, 4] [1, 1, 1]
    : memref<4x16x16xf32> to memref<2x16x4xf32, strided<[256, 16, 1], offset: {1}>>
  %b = memref.subview %m[3, 0, 0] [1, 4, 16] [1, 1, 1]
    : memref<4x16x16xf32> to memref<4x16xf32, strided<[16, 1], offset: 768>>
  %c = memref.subview %m[0, 0, 0] [2, 16, 16] [1, 1, 1]
    : memref<4x16x16xf32> to memref<2x16x16xf32, strided<[256, 16, 1]>>
  iree_codegen.inner_tiled ins(%a, %b) outs(%c) <
    indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> ()>, affine_map<(m) -> (m)>],
    iterator_types = [#linalg.iterator_type<parallel>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>>
    : memref<2x16x4xf32, strided<[256, 16, 1], offset: {1}>>, memref<4x16xf32, strided<[16, 1], offset: 768>>
    into memref<2x16x16xf32, strided<[256, 16, 1]>>
  return
}}"""


def test_an_input_in_the_memory_of_the_output_is_refused_where_points_follow_each_other() -> None:
    rng = np.random.default_rng(SEED)
    memory = small(rng, (4, 16, 16), np.float32)
    with pytest.raises(Unsupported, match="input #0 and the output share memory") as caught:
        run(SHARED.format(1, 256), Buffer.from_numpy(memory))
    assert caught.value.op == "iree_codegen.inner_tiled"
    apart = Buffer.from_numpy(memory)
    run(SHARED.format(2, 512), apart)
    expected = memory.copy()
    expected[:2] += memory[2:, :, :4] @ memory[3, :4]
    assert np.array_equal(apart.numpy(), expected)


def test_one_tile_reads_all_before_it_writes() -> None:
    """C = C * B + C."""
    rng = np.random.default_rng(SEED)
    c, b = small(rng, (16, 16), np.float16), small(rng, (16, 16), np.float16)
    given = f"""func.func @main(%b: tensor<16x16xf16>, %c: memref<16x16xf16>) {{
      iree_codegen.inner_tiled ins(%c, %b) outs(%c) <{SINGLE},
        kind = #iree_gpu.mma_layout<WMMAR3_F16_16x16x16_F16>,
        semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>>
        : memref<16x16xf16>, tensor<16x16xf16> into memref<16x16xf16>
      return
    }}"""
    output = Buffer.from_numpy(c)
    run(given, b, output)
    assert np.array_equal(output.numpy(), (c.astype(np.float64) @ b.astype(np.float64) + c).astype(np.float16))


def test_an_output_with_elements_at_one_place_is_refused() -> None:
    layout = "memref<2x16x16xf32, strided<[0, 16, 1]>>"
    loops = SINGLE.replace("() -> ()", "(m) -> (m)").replace("[]", "[#linalg.iterator_type<parallel>]")
    given = text("memref<2x16x16xf16>", "memref<2x16x16xf16>", layout, loops)
    ones = np.ones((2, 16, 16), np.float16)
    with pytest.raises(Unsupported, match="elements of the output lie at the same place in memory"):
        run(given, ones, ones, Buffer.from_numpy(np.zeros((2, 16, 16), np.float32), layout))


def test_so_is_one_tile_with_elements_at_one_place() -> None:
    layout = "memref<16x16xf32, strided<[0, 1]>>"
    ones = np.ones((16, 16), np.float16)
    with pytest.raises(Unsupported, match="elements of the output lie at the same place in memory"):
        run(text("memref<16x16xf16>", "memref<16x16xf16>", layout), ones, ones, np.zeros((16, 16), np.float32))


def test_freed_memory_is_undefined_behaviour() -> None:
    given = """func.func @main(%a: tensor<16x16xf16>, %c: memref<16x16xf32>) {
      %b = memref.alloc() : memref<16x16xf16>
      memref.dealloc %b : memref<16x16xf16>
      iree_codegen.inner_tiled ins(%a, %b) outs(%c) <SINGLE, ATTRIBUTES>
        : tensor<16x16xf16>, memref<16x16xf16> into memref<16x16xf32>
      return
    }"""
    given = given.replace("SINGLE", SINGLE).replace("ATTRIBUTES", ATTRIBUTES)
    with pytest.raises(UndefinedBehavior, match="the memory of operand 1 was freed"):
        run(given, np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32))


@pytest.mark.parametrize(
    ("a", "message"),
    [
        ("memref<16x16xf16, affine_map<(i, j) -> (i floordiv 2, j)>>", "operand #0 must be variadic of ranked tensor"),
        ("memref<*xf16>", "operand #0 must be variadic of ranked tensor"),
        ("memref<16x8xf16>", "operand #0 inner tile 'tensor<16x8xf16>' is incompatible"),
    ],
)
def test_memrefs_that_do_not_fit_are_no_operands(a: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        parse_module(text(a, "memref<16x16xf16>", "memref<16x16xf32>"))
    assert message in caught.value.message
