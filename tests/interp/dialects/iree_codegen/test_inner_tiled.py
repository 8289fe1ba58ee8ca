"""The results of `iree_codegen.inner_tiled`, against NumPy's products of small integers and exact fractions."""

from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from tables import each_row
from tile_programs import (
    MFMA,
    ONE_LANE,
    SEED,
    UNDISTRIBUTED,
    attribute_of,
    computed,
    described,
    program,
    small,
    spec_of,
    whole,
)

from halfulp.command.main import main
from halfulp.evaluating import eval as evaluate
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, ParseError, UndefinedBehavior, Unsupported
from halfulp.interp.values.value import Value
from halfulp.running import run
from halfulp.semantics.kernel import Open, Origin, Origins
from halfulp.semantics.matrix_units.chips import MODELS
from halfulp.semantics.matrix_units.kinds import KINDS, distribute, operation_of
from halfulp.semantics.matrix_units.models import multiply_accumulate

# --- the document's examples ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["exact", "ieee", "chip:cdna1", "chip:cdna2", "chip:cdna3"])
def test_the_example_on_tensors(model: str) -> None:
    rng = np.random.default_rng(SEED)
    a, b = small(rng, (2, 3, 32, 8), np.float16), small(rng, (4, 3, 32, 8), np.float16)
    c = small(rng, (2, 4, 32, 32), np.float32)
    (result,) = run(UNDISTRIBUTED, a, b, c, mma=model)
    expected = c + np.einsum("mkia,nkja->mnij", a.astype(np.float32), b.astype(np.float32))
    assert np.array_equal(result.numpy(), expected)


def test_the_example_of_lanes_needs_all_of_them() -> None:
    """One lane alone has no result."""
    rng = np.random.default_rng(SEED)
    shares = [small(rng, shape, np.float16) for shape in ((2, 3, 4), (4, 3, 4))]
    with pytest.raises(Unsupported, match=f"one lane's share of {MFMA} has no result without .* other 63 lanes"):
        run(ONE_LANE, *shares, np.zeros((2, 4, 16), np.float32))


# --- loops and maps ---------------------------------------------------------------------------------------------------

OUTER = {"b": 2, "k": 3, "l": 2, "m": 4, "n": 5}


@pytest.mark.parametrize("container", ["tensor", "vector"])
@pytest.mark.parametrize(
    "spec",
    thinned([
        "mk,kn->mn", "km,nk->nm", "bmk,bkn->bmn", "kbm,nbk->nmb", "mkl,lnk->mn", "mlk,nk->mn", "m,n->mn", "mk,k->m",
        "k,kn->n", "k,k->", ",->", "mk,->m", "m,->m",
    ], 4),
)  # fmt: skip
def test_maps(spec: str, container: str) -> None:
    rng = np.random.default_rng(SEED)
    tiles = ((16, 8), (8, 16), (16, 16))
    outer = [tuple(OUTER[loop] for loop in map_) for map_ in spec.replace("->", ",").split(",")]
    shapes = [(*sizes, *tile) for sizes, tile in zip(outer, tiles, strict=True)]
    operands = tuple(zip(("bf16", "bf16", "f32"), shapes, strict=True))
    a, b, c = (small(rng, shape, np.float32) for shape in shapes)
    text = program(spec, "mma_layout<MFMA_F32_16x16x8_BF16>", operands, container=container)
    (result,) = run(text, *(Value.from_bits((x.view(np.uint32) >> 16), "bf16").numpy() for x in (a, b)), c)
    inputs, output = spec.split("->")
    left, right = inputs.split(",")
    expected = c + np.einsum(f"{left}XZ,{right}ZY->{output}XY", a, b)
    assert np.array_equal(result.numpy(), expected)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_no_points(m: int, n: int, k: int) -> None:
    text = program(
        "mk,kn->mn",
        f"mma_layout<{MFMA}>",
        (("f16", (None, None, 32, 8)), ("f16", (None, None, 8, 32)), ("f32", (None, None, 32, 32))),
    )
    c = small(np.random.default_rng(SEED), (m, n, 32, 32), np.float32)
    (result,) = run(text, np.ones((m, k, 32, 8), np.float16), np.ones((k, n, 8, 32), np.float16), c)
    assert np.array_equal(result.numpy(), c)


def test_no_points_in_any_lane() -> None:
    shapes = ((64, 2, 0, 4), (64, 3, 0, 4), (64, 2, 3, 16))
    operands = tuple(zip(("f16", "f16", "f32"), ((None, None, None, shape[-1]) for shape in shapes), strict=True))
    text = program("imk,ink->imn", f"mma_layout<{MFMA}>", operands, distributed=True)
    c = small(np.random.default_rng(SEED), shapes[2], np.float32)
    (result,) = run(text, *(np.ones(shape, np.float16) for shape in shapes[:2]), c)
    assert np.array_equal(result.numpy(), c)


@pytest.mark.parametrize("model", ["exact", "ieee"])
def test_reductions_follow_each_other_in_row_major_order(model: str) -> None:
    """Of the loops k and l each point rounds once (exact) or per product (ieee); the order shows in the bits."""
    rng = np.random.default_rng(SEED)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((3, 2, 16, 16), (2, 3, 16, 16)))
    c = rng.standard_normal((16, 16)).astype(np.float32)
    text = program(
        "kl,lk->", "mma_layout<MFMA_F32_16x16x16_F16>", (("f16", a.shape), ("f16", b.shape), ("f32", c.shape))
    )
    (result,) = run(text, a, b, c, mma=model)
    fmt = FORMATS["f32"]

    def chained(points: list[tuple[int, int]], i: int, j: int) -> int:
        code = int(c.view(np.uint32)[i, j])
        for k, m in points:
            pairs = zip(a[k, m, i], b[m, k, :, j], strict=True)
            products = [Fraction(float(x)) * Fraction(float(y)) for x, y in pairs]
            for group in [products] if model == "exact" else [[p] for p in products]:
                before = scalar.value(fmt, code)
                assert before is not None
                code = scalar.from_fraction(fmt, sum(group, before)).code
        return code

    points = [(k, m) for k in range(3) for m in range(2)]
    places = [(i, j) for i in range(0, 16, 3) for j in range(0, 16, 3)]
    got = [int(result.bits[place]) for place in places]
    assert got == [chained(points, *place) for place in places]
    assert got != [chained(sorted(points, key=lambda point: point[::-1]), *place) for place in places]


# --- tiles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", thinned([name for name, kind in KINDS.items() if kind.layouts is not None and computed(kind)], 5)
)
def test_lanes_together_compute_the_whole_tile(name: str) -> None:
    """Bit for bit, with random data, under `exact`; with col_major, too, and with permuted tiles."""
    kind = KINDS[name]
    rng = np.random.default_rng(kind.code)
    lead = (2,)
    values = whole(kind, rng, lead)
    (expected,) = run(program(spec_of(kind, "m"), attribute_of(kind), described(values)), *values)
    assert not expected.poisoned.any()

    orders = [tuple(reversed(range(len(shape)))) for shape in kind.operand_shapes]
    turned = [
        Value.from_bits(np.ascontiguousarray(v.bits.transpose(0, *(1 + axis for axis in order))), str(v.element_type))
        for v, order in zip(values, orders, strict=True)
    ]
    permuted = program(spec_of(kind, "m"), attribute_of(kind), described(turned), permutations=tuple(orders))
    (result,) = run(permuted, *turned)
    assert np.array_equal(result.bits.transpose(0, *(1 + axis for axis in orders[-1])), expected.bits)

    assert kind.layouts is not None
    for col_major in (False, True):
        *inputs, acc = kind.layouts
        if col_major and acc.shape[-1] != acc.shape[-2]:
            continue
        layouts = [*inputs, acc.transposed if col_major else acc]
        held = [distribute(v.bits, layout, kind.lanes) for v, layout in zip(values, layouts, strict=True)]
        registers = [
            (prod(layout.outer), prod(layout.element)) if name.startswith("NV_MMA") else (layout.registers,)
            for layout in layouts
        ]
        shares = [
            Value.from_bits(x.reshape(*x.shape[:2], *share), str(v.element_type))
            for x, share, v in zip(held, registers, values, strict=True)
        ]
        # Loop i, over the lanes, is the first one, though it is the second axis of every operand.
        text = program(spec_of(kind, "mi"), attribute_of(kind, col_major), described(shares), distributed=True)
        (result,) = run(text, *shares)
        got = result.bits.reshape(2, kind.lanes, -1)
        assert np.array_equal(got, distribute(expected.bits, layouts[-1], kind.lanes))


def test_the_loop_over_the_lanes_stands_anywhere() -> None:
    """The document's example for all 64 lanes, with a loop over them in different places of the operands."""
    rng = np.random.default_rng(SEED)
    kind = KINDS[MFMA]
    assert kind.layouts is not None
    a, b = small(rng, (2, 3, 32, 8), np.float16), small(rng, (4, 3, 8, 32), np.float16)
    c = small(rng, (2, 4, 32, 32), np.float32)
    shares = [distribute(x, layout, 64) for x, layout in zip((a, b, c), kind.layouts, strict=True)]
    moved = [shares[0].transpose(2, 0, 1, 3), shares[1], shares[2].transpose(0, 2, 1, 3)]
    text = program(
        "imk,nki->min",
        f"mma_layout<{MFMA}>",
        (("f16", (None, None, None, 4)), ("f16", (None, None, None, 4)), ("f32", (None, None, None, 16))),
        distributed=True,
    )
    (result,) = run(text, *map(np.ascontiguousarray, moved))
    expected = c + np.einsum("mkia,nkaj->mnij", a.astype(np.float32), b.astype(np.float32))
    assert np.array_equal(result.numpy().transpose(0, 2, 1, 3), distribute(expected, kind.layouts[2], 64))


@each_row(
    (((1, 32, 8), (8, 1, 32), (32, 32, 1)), None, False),
    (((1, 32, 8), (8, 1, 32), (32, 32, 1)), ((1, 0, 2), (0, 2, 1), (0, 2, 1)), False),
    (((256,), (4, 4, 16), (1024,)), None, True),
    (((256,), (4, 4, 16), (1024,)), ((0,), (2, 1, 0), (0,)), True),
    (((64, 4), (2, 128), (32, 32)), ((0, 1), (1, 0), (1, 0)), True),
)
def test_other_shapes_of_a_tile(
    shapes: tuple[tuple[int, ...], ...], permutations: tuple[tuple[int, ...], ...] | None, opaque: bool
) -> None:
    """They hold the same elements in row-major order, of the permuted tile where the rank is the kind's."""
    rng = np.random.default_rng(SEED)
    a, b = small(rng, (32, 8), np.float16), small(rng, (8, 32), np.float16)
    c = small(rng, (32, 32), np.float32)
    expected = c + a.astype(np.float32) @ b.astype(np.float32)
    turned = [permutations is not None and order == (1, 0) for order in permutations or ((), (), ())]
    given = [(x.T if t else x).reshape(shape) for x, t, shape in zip((a, b, c), turned, shapes, strict=True)]
    operands = tuple(zip(("f16", "f16", "f32"), shapes, strict=True))
    text = program(",->", f"mma_layout<{MFMA}>", operands, opaque=opaque, permutations=permutations)
    (result,) = run(text, *map(np.ascontiguousarray, given))
    assert np.array_equal(result.numpy(), (expected.T if turned[2] else expected).reshape(shapes[2]))


def test_integers_wrap() -> None:
    rng = np.random.default_rng(SEED)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 16, 32), (2, 32, 16)))
    c = rng.integers(2**31 - 1000, 2**31, (16, 16)).astype(np.int32)
    operands = (("i8", a.shape), ("i8", b.shape), ("i32", c.shape))
    text = program("k,k->", "mma_layout<MFMA_I32_16x16x32_I8>", operands)
    expected = c.astype(np.int64) + np.einsum("kia,kaj->ij", a.astype(np.int64), b.astype(np.int64))
    assert (expected >= 2**31).any()
    for model in ("exact", "ieee"):
        (result,) = run(text, a, b, c, mma=model)
        assert np.array_equal(result.numpy(), expected.astype(np.int32))


def test_scales() -> None:
    """Small integers times powers of two: NumPy's products and sums of f64 are exact."""
    rng = np.random.default_rng(SEED)
    kind = KINDS["MFMA_SCALE_F32_16x16x128_B32"]
    a, b = (rng.integers(0, 16, shape).astype(np.uint8) for shape in ((3, 16, 4, 32), (3, 4, 32, 16)))
    scales = [rng.integers(124, 130, shape).astype(np.uint8) for shape in ((3, 16, 4), (3, 4, 16))]
    c = small(rng, (16, 16), np.float32)
    elements = ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", "f8E8M0FNU")
    values = [Value.from_bits(x, e) for x, e in zip((a, b, *scales), elements, strict=True)]
    types = "lhs_elem_type = f4E2M1FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32"
    text = program(
        "k,k,k,k->", f"scaled_mma_layout<intrinsic = {kind.name}, {types}>", (*described(values), ("f32", c.shape))
    )
    x, y, s, t = (value.numpy().astype(np.float64) for value in values)
    left, right = (x * s[..., None]).reshape(3, 16, 128), (y * t[:, :, None, :]).reshape(3, 128, 16)
    expected = c + np.einsum("kia,kaj->ij", left, right)
    for model in ("exact", "ieee"):
        (result,) = run(text, *values, c, mma=model)
        assert np.array_equal(result.numpy(), expected.astype(np.float32))
        assert np.array_equal(expected.astype(np.float32), expected)
    with pytest.raises(Unsupported, match=f"chip:cdna3: how hardware computes {kind.name} is not published"):
        run(text, *values, c, mma="chip:cdna3")


MFMA_16 = "MFMA_F32_16x16x16_F16"


def test_a_kind_that_is_misspelled_is_told_its_name() -> None:
    a, c = np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32)
    for kind, said, hint in (
        (
            MFMA_16,
            f"kind of 'iree_codegen.inner_tiled' is '{MFMA_16}': expected attribute value",
            "write the attribute as",
        ),
        (
            f"#iree_gpu.mma_layout<{MFMA_16[:-1]}>",
            "to be one of: MFMA_F32_16x16x4_F32, MFMA",
            f"did you mean `{MFMA_16}`",
        ),
    ):
        with pytest.raises(ParseError, match=said) as caught:
            evaluate("iree_codegen.inner_tiled", a, a, c, kind=kind)
        assert caught.value.hint is not None
        assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("element", ["f64", "f80", "f128"])
def test_elements_wider_than_the_accumulator_are_refused(element: str) -> None:
    """The attribute takes any; but all models add in C's type, which has not all of their numbers."""
    kind = KINDS["MFMA_SCALE_F32_16x16x128_B32"]
    types = f"lhs_elem_type = f8E5M2, rhs_elem_type = {element}, acc_elem_type = f32"
    elements = ("f8E5M2", element, "f8E8M0FNU", "f8E8M0FNU", "f32")
    operands = tuple(zip(elements, kind.operand_shapes, strict=True))
    text = program(",,,->", f"scaled_mma_layout<intrinsic = {kind.name}, {types}>", operands)
    zeros = [Value.from_bits(code_zeros(shape, name), name) for name, shape in operands]
    for model in ("exact", "ieee"):
        with pytest.raises(
            Unsupported,
            match=f"takes floats whose values f32 has, and an accumulator of f32, but has f8E5M2, {element}",
        ):
            run(text, *zeros, mma=model)


def code_zeros(shape: tuple[int, ...], element: str) -> Any:
    fmt = FORMATS[element]
    return np.zeros((*shape, fmt.limbs) if fmt.bits > 64 else shape, fmt.storage_dtype)


# --- models -----------------------------------------------------------------------------------------------------------

NVIDIA, AMD = "NV_MMA_SYNC_F32_16x8x16_F16", "MFMA_F32_16x16x16_F16"
OLDER = ("chip:volta", "chip:turing")  # than NVIDIA's instruction


@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_what_is_asked_for(model: str) -> None:
    kind = KINDS[AMD if "cdna" in model else NVIDIA]
    rng = np.random.default_rng(SEED)
    a, b, c = values = whole(kind, rng)
    text = program(",->", attribute_of(kind), described(values))
    if model in OLDER:
        with pytest.raises(Unsupported, match=f"{model}: how hardware computes {kind.name} is not published"):
            run(text, *values, mma=model)
        return
    results = {name: run(text, *values, mma=name)[0].bits for name in ("exact", model)}
    assert np.array_equal(results[model], multiply_accumulate(model, operation_of(kind), a.bits, b.bits, c.bits))
    if model != "exact":
        assert not np.array_equal(results[model], results["exact"])


def test_specials_that_nobody_published_are_refused_where_they_come() -> None:
    operands = (("f16", (16, 16)), ("f16", (16, 16)), ("f32", (16, 16)))
    text = program(",->", "mma_layout<MFMA_F32_16x16x16_F16>", operands)
    a, c = np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32)
    infinite = a.copy()
    infinite[0, 0] = np.inf
    (result,) = run(text, infinite, a, c)
    assert np.isinf(result.numpy()[0]).all()
    assert np.isfinite(result.numpy()[1:]).all()
    with pytest.raises(Unsupported, match=r"MFMA_F32_16x16x16_F16 with infinite or NaN operands") as caught:
        run(text, infinite, a, c, mma="chip:cdna1")
    assert caught.value.op == "iree_codegen.inner_tiled"
    # Poison is no value: what its bits are does not matter.
    origins = Origins()
    poisoned = np.zeros((16, 16), np.uint16)
    poisoned[0, 0] = origins.id_of(Origin("ub.poison", "here", "it is", (0, 0)))
    tile = ty.TensorType((16, 16), ty.F("f16"))
    (result,) = run(text, Value(tile, infinite.view(np.uint16), poisoned, None, origins), a, c, mma="chip:cdna1")
    assert result.poisoned[0].all()
    assert not result.poisoned[1:].any()


# --- poison -----------------------------------------------------------------------------------------------------------

POISONED = """func.func @main(%a: tensor<2x2x16x4xf32>, %b: tensor<2x3x4x16xf32>, %c: tensor<2x3x16x16xf32>,
    %i: index, %x: index, %y: index) -> tensor<2x3x16x16xf32> {{
  %p = ub.poison : f32
  %q = tensor.insert %p into %{name}[%i, %i, %x, %y] : {type}
  %r = iree_codegen.inner_tiled ins({left}, {right}) outs({acc}) {{
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>
  }} : tensor<2x2x16x4xf32>, tensor<2x3x4x16xf32> into tensor<2x3x16x16xf32>
  return %r : tensor<2x3x16x16xf32>
}}"""


@each_row(("a", np.s_[1, :, 2]), ("b", np.s_[:, 1, :, 3]), ("c", np.s_[1, 1, 2, 3]))
def test_poison_reaches_what_is_made_of_it(name: str, reached: Any) -> None:
    """Element [2, 3] of tile [1, 1]: of A the row of all tiles of that row, of B the column, of C itself."""
    types = {"a": "tensor<2x2x16x4xf32>", "b": "tensor<2x3x4x16xf32>", "c": "tensor<2x3x16x16xf32>"}
    names = {key: "%q" if key == name else f"%{key}" for key in types}
    text = POISONED.format(name=name, type=types[name], left=names["a"], right=names["b"], acc=names["c"])
    rng = np.random.default_rng(SEED)
    a, b, c = (small(rng, s, np.float32) for s in ((2, 2, 16, 4), (2, 3, 4, 16), (2, 3, 16, 16)))
    (result,) = run(text, a, b, c, 1, 2, 3)
    mask = np.zeros((2, 3, 16, 16), np.bool_)
    mask[reached] = True
    assert np.array_equal(result.poisoned, mask)
    origin = result.origin(1, 1, 2, 3)
    assert origin is not None
    assert "ub.poison" in str(origin)
    expected = c + np.einsum("mkia,knaj->mnij", a, b)
    assert np.array_equal(result.numpy(poison=0)[~mask], expected[~mask])


def test_poison_of_one_lane_reaches_others() -> None:
    """Lane 37 holds elements 4 to 7 along K of row 5: all lanes with a part of that row of C have poison."""
    origins = Origins()
    poisoned = np.zeros((64, 4), np.uint16)
    poisoned[37, 2] = origins.id_of(Origin("ub.poison", "here", "it is", (37, 2)))
    a = Value(ty.TensorType((64, 4), ty.F("f16")), np.full((64, 4), 0x3C00, np.uint16), poisoned, None, origins)
    shapes = (("f16", (64, 4)), ("f16", (64, 4)), ("f32", (64, 16)))
    text = program("i,i->i", f"mma_layout<{MFMA}>", shapes, distributed=True)
    (result,) = run(text, a, np.ones((64, 4), np.float16), np.zeros((64, 16), np.float32))
    row = np.zeros((32, 32), np.bool_)
    row[5] = True
    assert np.array_equal(result.poisoned, distribute(row, (KINDS[MFMA].layouts or ())[2], 64))
    assert (result.numpy(poison=0)[~result.poisoned] == 8).all()


def test_what_the_language_leaves_open_stays_open() -> None:
    rng = np.random.default_rng(SEED)
    operands = (("f32", (16, 4)), ("f32", (4, 16)), ("f32", (16, 16)))
    a, b, c = (small(rng, shape, np.float32) for _, shape in operands)
    text = program(",->", "mma_layout<MFMA_F32_16x16x4_F32>", operands)
    open_ = np.zeros((16, 4), np.uint8)
    open_[5, 1] = 1
    (result,) = run(
        text, Value(ty.TensorType((16, 4), ty.F("f32")), a.view(np.uint32), None, open_), b, c, track_open=True
    )
    assert result.open is not None
    assert (result.open[5] == Open.VALUE.value).all()
    assert result.open.astype(np.bool_).sum() == 16


# --- errors -----------------------------------------------------------------------------------------------------------


def refused(text: str, *arguments: Any, **keywords: Any) -> HalfulpError:
    with pytest.raises(HalfulpError) as caught:
        run(text, *arguments, **keywords)
    assert caught.value.op == "iree_codegen.inner_tiled"
    assert caught.value.location is not None
    return caught.value


def test_kinds_that_are_not_computed() -> None:
    name = "VDMFMA_F32_8x16x64x2_F16"
    values = whole(KINDS[name], np.random.default_rng(SEED))
    error = refused(program(",->", f"virtual_mma_layout<{name}>", described(values)), *values)
    assert isinstance(error, Unsupported)
    assert error.message == f"exact: how hardware computes {name} is not published"

    name = "NV_WMMA_F32_16x16x16_F16"
    values = whole(KINDS[name], np.random.default_rng(SEED))
    run(program(",->", f"mma_layout<{name}>", described(values)), *values)


def test_tiles_of_other_makers() -> None:
    """A data-tiled kind's tile depends on how operands interleave, which is the encoding's affair."""
    operands = (("f16", (1, 4, 16, 4)), ("f16", (1, 4, 16, 4)), ("f32", (1, 4, 16, 4)))
    kind = "data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16>"
    text = program(",->", kind, operands)
    error = refused(text, *(np.zeros(shape, e.replace("f", "float")) for e, shape in operands))
    assert isinstance(error, Unsupported)
    assert "data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16>" in error.message


def lane_program(lanes: int | None, kind: str = "WMMAR3_F32_16x16x16_F16", flag: str = "") -> str:
    _, _, acc = KINDS[kind].layouts or ()
    left, right = (layout.registers for layout in (KINDS[kind].layouts or ())[:2])
    operands = (("f16", (lanes, left)), ("f16", (lanes, right)), ("f32", (lanes, acc.registers)))
    return program("i,i->i", f"mma_layout<{kind}{flag}>", operands, distributed=True)


def test_lanes_of_another_number() -> None:
    text = lane_program(None)
    error = refused(text, *(np.zeros((64, n), t) for n, t in ((16, np.float16), (16, np.float16), (8, np.float32))))
    assert "distributed over 32 lanes, but loop d0" in error.message


def test_lanes_that_disagree() -> None:
    """RDNA3 holds A and B twice, in lanes l and l + 16."""
    text = lane_program(32)
    a, b = np.ones((32, 16), np.float16), np.ones((32, 16), np.float16)
    c = np.zeros((32, 8), np.float32)
    (result,) = run(text, a, b, c)
    assert (result.numpy() == 16).all()
    b[3, 0] = 2
    error = refused(text, a, b, c)
    assert error.message == "lanes of WMMAR3_F32_16x16x16_F16 have different values for the same element of operand #1"


def test_col_major_of_a_tile_that_is_not_square() -> None:
    name = "NV_MMA_SYNC_F32_16x8x16_F16"
    operands = (("f16", (32, 4, 2)), ("f16", (32, 2, 2)), ("f32", (32, 2, 2)))
    text = program("i,i->i", f"mma_layout<{name}, col_major = true>", operands, distributed=True)
    error = refused(text, *(np.zeros(shape, e.replace("f", "float")) for e, shape in operands))
    assert error.message == f"{name} has no layout with col_major: its C is not square"


def test_outer_shapes_that_disagree_at_run_time() -> None:
    text = program(
        "mk,kn->mn",
        f"mma_layout<{MFMA}>",
        (("f16", (None, None, 32, 8)), ("f16", (None, None, 8, 32)), ("f32", (None, None, 32, 32))),
    )
    shapes = ((2, 3, 32, 8), (4, 5, 8, 32), (2, 5, 32, 32))
    error = refused(text, *(np.zeros(s, t) for s, t in zip(shapes, (np.float16, np.float16, np.float32), strict=True)))
    assert isinstance(error, UndefinedBehavior)
    assert "loop d0 runs over 3 tiles of one operand, 4 of another" in error.message


def test_parallel_points_that_write_to_one_tile() -> None:
    operands = (("f16", (2, 32, 8)), ("f16", (2, 8, 32)), ("f32", (32, 32)))
    text = program("k,k->", f"mma_layout<{MFMA}>", operands, parallel="k")
    error = refused(text, *(np.zeros(shape, e.replace("f", "float")) for e, shape in operands))
    assert error.message == "the points of the parallel loop d0 write to the same tile, in an order that is not defined"


def test_a_permutation_of_another_rank() -> None:
    operands = (("f16", (1, 32, 8)), ("f16", (8, 32)), ("f32", (32, 32)))
    text = program(",->", f"mma_layout<{MFMA}>", operands, permutations=((0, 2, 1), (0, 1), (0, 1)))
    error = refused(text, *(np.zeros(shape, e.replace("f", "float")) for e, shape in operands))
    assert error.message == "the permutation has 3 axes, but the tile 32x8 has 2"


# --- choosing a model -------------------------------------------------------------------------------------------------


def test_unknown_models() -> None:
    with pytest.raises(ValueError, match=r"mma: unknown model 'chip:z80'; choose one of exact, ieee, chip:"):
        run("func.func @main() { return }", mma="chip:z80")


def test_the_command_line_chooses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2^25 + 1 - 2^25: exact is 1; a chain of fused multiply-adds loses it after the first product."""
    text = program(",->", "mma_layout<MFMA_F32_16x16x4_F32>", (("f32", (16, 4)), ("f32", (4, 16)), ("f32", (16, 16))))
    file = tmp_path / "tile.mlir"
    file.write_text(text)
    a = np.tile(np.array([2.0**25, 1.0, -(2.0**25), 0.0], np.float32), (16, 1))
    np.save(tmp_path / "a.npy", a)
    inputs = [f"--input=@{tmp_path / 'a.npy'}", "--input=4x16xf32=1", "--input=16x16xf32=0"]

    def code(*options: str) -> int:
        return main(["run", str(file), *inputs, *options])

    one, zero = ("--expected_output=16x16xf32=" + number for number in "10")
    assert code(one) == code("--mma=exact", one) == code("--mma=ieee", zero) == 0
    assert code("--mma=ieee", one) == 1
    assert code("--mma=chip:z80") == 2
    assert "unknown model 'chip:z80'; choose one of exact, ieee, chip:" in capsys.readouterr().err
    assert code("--mma=chip:hoper") == 2
    assert "hint: did you mean `chip:hopper`?" in capsys.readouterr().err
