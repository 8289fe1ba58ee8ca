"""`exact` and `ieee` against sums of fractions, tiles in the hands of lanes, and what no model computes."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from float_samples import codes

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.semantics.matrix_units import models
from halfulp.semantics.matrix_units.chips import CHIPS, MODELS
from halfulp.semantics.matrix_units.kinds import KINDS, TileKind, TileOp, distribute, gather, operation_of
from halfulp.semantics.matrix_units.sliced_products import enclosed_sums, holds_in_f64

RUNNABLE = [kind for kind in KINDS.values() if not kind.name.startswith("VDMFMA")]
NARROW = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ")
SCALED_TYPES = [(a, NARROW[(i + 2) % len(NARROW)], scale) for i, a in enumerate(NARROW) for scale in ("f8E8M0FNU", "f8E4M3FN")]  # fmt: skip
SCALED = [kind for kind in RUNNABLE if kind.block]
PLAIN = [kind for kind in RUNNABLE if not kind.block]


def operations() -> list[TileOp]:
    """Return every kind, the scaled ones with several types."""
    scaled = [operation_of(kind, *types) for kind, types in itertools.product(SCALED, SCALED_TYPES)]
    return [operation_of(kind) for kind in PLAIN] + scaled


def ints(name: str, array: Any) -> Any:
    """Integers of a type such as i8."""
    width = int(name[1:])
    return [code - (code >> (width - 1) << width) for code in array.reshape(-1).tolist()]


def finite_codes(fmt: FloatFormat, shape: tuple[int, ...], rng: random.Random) -> Any:
    """Adversarial finite codes, or codes within a few binades of one another."""
    count = int(np.prod(shape))
    if rng.random() < 0.5:
        pool = codes(fmt, 2 * count + 40, rng.randrange(1 << 30))
    else:
        middle = rng.randrange(1 << fmt.exponent_bits)
        pool = [
            max(0, min((1 << fmt.exponent_bits) - 1, middle + rng.randint(-6, 6))) << fmt.mantissa_bits
            | rng.getrandbits(fmt.mantissa_bits or 1) & fmt.fraction_mask
            | (rng.getrandbits(1) << (fmt.bits - 1) if fmt.signed else 0)
            for _ in range(2 * count + 40)
        ]
    kept = [code for code in pool if scalar.value(fmt, code) is not None] or [0]
    return np.array([kept[i % len(kept)] for i in range(count)], fmt.storage_dtype).reshape(shape)


def operands_of(op: TileOp, k: int, tiles: int, rng: random.Random) -> list[Any]:
    """Return a [tiles, 2, k], B [tiles, k, 2], C [tiles, 2, 2] and scales; in half of the elements C nearly cancels the
    sum.
    """
    if op.d not in FORMATS:
        source = np.random.default_rng(rng.randrange(1 << 30))
        a, b = (source.integers(0, 256, shape, dtype=np.uint8) for shape in ((tiles, 2, k), (tiles, k, 2)))
        return [a, b, source.integers(0, 1 << 32, (tiles, 2, 2), dtype=np.uint32)]
    fmt = FORMATS[op.d]
    found = [finite_codes(FORMATS[op.a], (tiles, 2, k), rng), finite_codes(FORMATS[op.b], (tiles, k, 2), rng)]
    found.append(finite_codes(fmt, (tiles, 2, 2), rng))
    if op.scale:
        groups = k // op.block
        found += [finite_codes(FORMATS[op.scale], shape, rng) for shape in ((tiles, 2, groups), (tiles, groups, 2))]
    for place in np.ndindex(tiles, 2, 2):
        if rng.random() < 0.5:
            total = sum(products_at(op, found, place), Fraction(0))
            near = scalar.from_fraction(fmt, -total, scalar.RZ).code
            found[2][place] = near ^ rng.choice((0, 0, 1)) if scalar.value(fmt, near ^ 1) is not None else near
    return found


def values(name: str, array: Any) -> list[Fraction]:
    numbers = [scalar.value(FORMATS[name], int(code)) for code in array]
    assert None not in numbers
    return [number for number in numbers if number is not None]


def products_at(op: TileOp, arrays: list[Any], place: tuple[int, ...]) -> list[Fraction]:
    tile, row, column = place
    products = [
        x * y for x, y in zip(values(op.a, arrays[0][tile, row]), values(op.b, arrays[1][tile, :, column]), strict=True)
    ]
    if op.scale:
        pairs = zip(values(op.scale, arrays[3][tile, row]), values(op.scale, arrays[4][tile, :, column]), strict=True)
        scales = [x * y for x, y in pairs for _ in range(op.block)]
        products = [product * factor for product, factor in zip(products, scales, strict=True)]
    return products


def sign_of(name: str, code: int) -> int:
    return scalar.unpack(FORMATS[name], code).sign


def exact_at(op: TileOp, arrays: list[Any], place: tuple[int, ...]) -> int:
    """Return the sum, rounded by `scalar.from_fraction`; of exact zeros only that of negative ones is negative."""
    tile, row, column = place
    c = int(arrays[2][place])
    total = sum(products_at(op, arrays, place), values(op.d, [c])[0])
    if total == 0:
        left, right = arrays[0][tile, row].tolist(), arrays[1][tile, :, column].tolist()
        minus = [sign_of(op.a, x) != sign_of(op.b, y) for x, y in zip(left, right, strict=True)]
        return scalar.with_sign(FORMATS[op.d], int(all(minus) and sign_of(op.d, c)), 0)
    return scalar.from_fraction(FORMATS[op.d], total).code


def ieee_at(op: TileOp, arrays: list[Any], place: tuple[int, ...]) -> int:
    """Return one rounded sum after the other, by fractions where everything is finite."""
    tile, row, column = place
    fmt, code = FORMATS[op.d], int(arrays[2][place])
    sides = []
    for name, elements, number, index in (
        (op.a, arrays[0][tile, row], 3, (tile, row)),
        (op.b, arrays[1][tile, :, column], 4, (tile, slice(None), column)),
    ):
        side = [scalar.convert(FORMATS[name], fmt, int(x)).code for x in elements]
        if op.scale:
            factors = [scalar.convert(FORMATS[op.scale], fmt, int(x)).code for x in arrays[number][index]]
            side = [scalar.multiply(fmt, x, factors[i // op.block]).code for i, x in enumerate(side)]
        sides.append(side)
    for x, y in zip(*sides, strict=True):
        p, q, r = (scalar.value(fmt, each) for each in (x, y, code))
        if p is None or q is None or r is None or p * q + r == 0:
            code = scalar.fma(fmt, x, y, code).code
        else:
            code = scalar.from_fraction(fmt, p * q + r).code
    return code


def check(op: TileOp, tiles: int, seed: int) -> int:
    """Compare both models; how many dot products that was."""
    rng = random.Random(f"{op.name} {op.a} {op.b} {op.scale} {seed}")
    k = KINDS[op.name].shape[2]
    arrays = operands_of(op, k, tiles, rng)
    count = 0
    results = {model: models.multiply_accumulate(model, op, *arrays) for model in ("exact", "ieee")}
    for place in np.ndindex(tiles, 2, 2):
        tile, row, column = place
        if op.d in FORMATS:
            want = {"exact": exact_at(op, arrays, place), "ieee": ieee_at(op, arrays, place)}
        else:
            left, right = ints(op.a, arrays[0][tile, row]), ints(op.b, arrays[1][tile, :, column])
            total = sum(x * y for x, y in zip(left, right, strict=True)) + int(arrays[2][place])
            want = dict.fromkeys(results, total % (1 << 32))
        for model, code in want.items():
            assert int(results[model][place]) == code, (op, model, place, hex(code))
            count += 1
    return count


@pytest.mark.parametrize("op", thinned(operations(), 4), ids=lambda op: f"{op.name} {op.a} {op.b} {op.scale}")
@pytest.mark.parametrize(
    ("seeds", "tiles"), [(range(1), 1), pytest.param(range(1, 12), 10, marks=pytest.mark.exhaustive)]
)
def test_exact_and_ieee_against_fractions(op: TileOp, seeds: range, tiles: int) -> None:
    """10^5 dot products over all kinds in the exhaustive run."""
    assert sum(check(op, tiles, seed) for seed in seeds) == 8 * tiles * len(seeds)


SUMMED = (
    ("f16", "f16", "f32", ""), ("f16", "f16", "f16", ""), ("bf16", "bf16", "bf16", ""), ("f32", "f32", "f32", ""),
    ("f32", "bf16", "f32", ""), ("f64", "f64", "f64", ""), ("f8E5M2", "f4E2M1FN", "f32", "f8E8M0FNU"),
    ("f4E2M1FN", "f4E2M1FN", "f32", "f8E4M3FN"), ("f8E4M3FN", "f8E4M3FN", "f16", ""),
)  # fmt: skip


@pytest.mark.parametrize("types", SUMMED, ids=str)
def test_exact_sums_of_many_products_against_fractions(types: tuple[str, str, str, str]) -> None:
    """From many products with near exponents the sums are made by products of matrices, and by their bounds."""
    a, b, d, scale = types
    rng = random.Random(f"{types}")
    op = TileOp("dot", a, b, d, d, (2, 2, 64), 1, "mma", scale, {"": 0, "f8E4M3FN": 16}.get(scale, 32))
    for number in range(2):
        arrays = operands_of(op, 64, 3, rng)
        for tile, side in itertools.product(range(3), arrays[:2]):
            if tile == number:  # codes that differ in their last bits only, but for signs and zeros
                fmt = FORMATS[a if side is arrays[0] else b]
                kept = fmt.code_mask ^ fmt.magnitude_mask | fmt.fraction_mask
                side[tile] = (
                    side[tile] & kept | (fmt.bias & (fmt.magnitude_mask >> fmt.mantissa_bits)) << fmt.mantissa_bits
                )
                side[tile][rng.randrange(2)] = 0
        results = models.multiply_accumulate("exact", op, *arrays)
        for place in np.ndindex(3, 2, 2):
            assert int(results[place]) == exact_at(op, arrays, place), (types, place)


def test_sums_by_bounds_are_nearly_always_certain() -> None:
    draw = np.random.default_rng(7)
    op = TileOp("dot", "f16", "f16", "f32", "f32", (40, 40, 64), 1, "mma")
    a, b = (draw.standard_normal((2, 40, 64)).astype(np.float16) for _ in range(2))
    c = draw.standard_normal((2, 40, 40)).astype(np.float32).view(np.uint32)
    a[0, 3], c[0, 3] = 0, 0
    # Small integers cancel often, and their sums are exact.
    a[1], b[1] = (draw.integers(-2, 3, (40, 64)) for _ in range(2))
    c[1] = 0
    right = b.transpose(0, 2, 1)
    found = enclosed_sums(op, a.view(np.uint16), right.copy().view(np.uint16), c, ())
    assert found is not None
    assert not found.unsure.any()
    assert not found.codes[0, 3].any()
    assert (found.codes[1] == (a[1].astype(np.float32) @ right[1].astype(np.float32)).view(np.uint32)).all()
    # -0 is the sum if all terms are -0, which bounds do not tell.
    c[0, 3, 5] = 1 << 31
    found = enclosed_sums(op, a.view(np.uint16), right.copy().view(np.uint16), c, ())
    assert found is not None
    assert np.argwhere(found.unsure).tolist() == [[0, 3, 5]]
    a[0, 0, 0] = np.inf
    assert enclosed_sums(op, a.view(np.uint16), right.copy().view(np.uint16), c, ()) is None
    wide = TileOp("dot", "f64", "f64", "f64", "f64", (1, 1, 1), 1, "mma")
    assert not holds_in_f64(wide)


def test_inputs_convert_exactly() -> None:
    """The model `ieee` relies on this: the type of C has every number of the element types."""
    pairs = {(name, kind.types[2]) for kind in PLAIN for name in kind.types[:2] if name in FORMATS}
    pairs |= {(name, "f32") for name in NARROW}
    for name, wide in pairs:
        narrow, fmt = FORMATS[name], FORMATS[wide]
        assert narrow.precision <= fmt.precision
        assert narrow.emin - narrow.mantissa_bits >= fmt.emin - fmt.mantissa_bits
        assert narrow.emax <= fmt.emax


F16_OP = TileOp("test", "f16", "f16", "f32", "f32", (1, 1, 4))
ONE, INF, NAN, ZERO = 0x3C00, 0x7C00, 0x7E01, 0x0000
SPECIALS = (
    # a row, a column, C, and the results of exact and ieee
    ((INF, 0, 0, 0), (ONE, 0, 0, 0), 0, 0x7F800000, 0x7F800000),
    ((INF, 0, 0, 0), (0xBC00, 0, 0, 0), 0, 0xFF800000, 0xFF800000),
    ((INF, 0, 0, 0), (ZERO, 0, 0, 0), 0, 0x7FC00000, 0x7FC00000),
    ((INF, INF, 0, 0), (ONE, 0xBC00, 0, 0), 0, 0x7FC00000, 0x7FC00000),
    ((INF, 0, 0, 0), (ONE, 0, 0, 0), 0xFF800000, 0x7FC00000, 0x7FC00000),
    ((ONE, 0, 0, 0), (ONE, 0, 0, 0), 0xFF800000, 0xFF800000, 0xFF800000),
    ((ONE, NAN, 0, 0), (ONE, 0, 0, 0), 0, 0x7FC00000, 0x7FC02000),  # ieee keeps the payload
    ((ONE, 0, 0, 0), (ONE, 0, 0, 0), 0x7FC00005, 0x7FC00000, 0x7FC00005),
    ((0x7BFF, 0, 0, 0), (0x7BFF, 0, 0, 0), 0x7F7FFFFF, 0x7F7FFFFF, 0x7F7FFFFF),  # far below half a unit
)


@pytest.mark.parametrize("row", SPECIALS)
def test_special_values(row: tuple[tuple[int, ...], tuple[int, ...], int, int, int]) -> None:
    a, b, c, want_exact, want_ieee = row
    left, right = np.array(a, np.uint16), np.array(b, np.uint16)
    assert models.explain("exact", F16_OP, left, right, c)[0] == want_exact
    assert models.explain("ieee", F16_OP, left, right, c)[0] == want_ieee


def test_signs_of_zero() -> None:
    zero, minus = np.zeros(4, np.uint16), np.full(4, 0x8000, np.uint16)
    for a, b, c, want in (
        (zero, zero, 0, 0), (zero, minus, 0x80000000, 0x80000000), (minus, minus, 0x80000000, 0), (zero, minus, 0, 0),
    ):  # fmt: skip
        for model in ("exact", "ieee"):
            assert models.explain(model, F16_OP, a, b, c)[0] == want


SIGNED_SCALES = TileOp("test", "f8E5M2", "f8E5M2", "f32", "f32", (1, 1, 2), scale="f8E4M3FN", block=2)
BY_SIGNED_SCALES = (
    # the factors and scales of two products that are alike, C, and the result
    ((0x7C, 0x3C, 0xB8, 0x38), 0, 0xFF800000),  # infinity times 1, times -1
    ((0x7C, 0x3C, 0xB8, 0xB8), 0, 0x7F800000),
    ((0x3C, 0xFC, 0x38, 0xB8), 0x3F800000, 0x7F800000),
    ((0x7C, 0x3C, 0xB8, 0x38), 0x7F800000, 0x7FC00000),
    ((0x7C, 0x3C, 0x38, 0x00), 0, 0x7FC00000),  # infinity times a scale of zero
    ((0x80, 0x00, 0x38, 0x38), 0x80000000, 0x80000000),  # -0 times 0, to -0
    ((0x00, 0x00, 0xB8, 0x38), 0x80000000, 0x80000000),
    ((0x80, 0x00, 0xB8, 0x38), 0x80000000, 0),
)


@pytest.mark.parametrize("row", BY_SIGNED_SCALES)
def test_scales_are_factors_of_infinities_and_zeros(row: tuple[tuple[int, ...], int, int]) -> None:
    factors, c, want = row
    a, b, scale_a, scale_b = (np.full(size, code, np.uint8) for size, code in zip((2, 2, 1, 1), factors, strict=True))
    for model in ("exact", "ieee"):
        assert models.explain(model, SIGNED_SCALES, a, b, c, scale_a, scale_b)[0] == want, model


# Lanes.


def random_tiles(kind: TileKind, seed: int) -> tuple[TileOp, list[Any]]:
    """Return a tile of each canonical operand, in canonical shape but for the dimension of blocks of K."""
    op = operation_of(kind)
    rng = np.random.default_rng(seed)
    found = []
    for name, shape in zip((op.a, op.b, op.d), kind.operand_shapes, strict=True):
        if name not in FORMATS:
            found.append(rng.integers(0, 1 << int(name[1:]), shape, dtype=np.uint64).astype(f"u{int(name[1:]) // 8}"))
            continue
        fmt = FORMATS[name]
        bits = rng.integers(0, 1 << min(fmt.bits, 63), shape, dtype=np.uint64).astype(fmt.storage_dtype)
        found.append(
            np.where(comparisons.is_nan(fmt, bits) | comparisons.is_infinite(fmt, bits), 1, bits).astype(bits.dtype)
        )
    return op, found


@pytest.mark.parametrize("kind", thinned([kind for kind in PLAIN if kind.layouts], 4), ids=lambda kind: kind.name)
def test_distributed_equals_undistributed(kind: TileKind) -> None:
    """Lanes' shares are gathered, computed and distributed again; with transposed operands, and C by columns."""
    assert kind.layouts is not None
    op, (a, b, c) = random_tiles(kind, kind.code)
    whole = models.multiply_accumulate("exact", op, a, b, c)
    held = [distribute(x, layout, kind.lanes) for x, layout in zip((a, b, c), kind.layouts, strict=True)]
    for x, layout in zip(held, kind.layouts, strict=True):
        assert x.shape == (kind.lanes, layout.registers)
    back = [gather(x, layout) for x, layout in zip(held, kind.layouts, strict=True)]
    of_lanes = distribute(multiply_accumulate("exact", op, back), kind.layouts[2], kind.lanes)
    np.testing.assert_array_equal(of_lanes, distribute(whole, kind.layouts[2], kind.lanes))
    np.testing.assert_array_equal(gather(of_lanes, kind.layouts[2]), whole)
    # Operands that are stored in another order of dimensions: S[i] = C[p[i]].
    for permutation in itertools.permutations(range(a.ndim)):
        inverse = np.argsort(permutation)
        stored = [np.ascontiguousarray(x.transpose(permutation)) for x in (a, b, c)]
        restored = [x.transpose(inverse) for x in stored]
        result = multiply_accumulate("exact", op, restored).transpose(permutation)
        np.testing.assert_array_equal(result.transpose(inverse), whole)
        lanes = distribute(np.ascontiguousarray(restored[0]), kind.layouts[0], kind.lanes)
        np.testing.assert_array_equal(lanes, held[0])

    # By columns, C^T += B^T A^T: lanes hold of C^T by the transposed layout what they hold of C, in its order.
    def turned(x: Any) -> Any:
        return np.ascontiguousarray(np.swapaxes(x, -1, -2))

    by_columns = models.multiply_accumulate("exact", op_of_transposed(op), turned(b), turned(a), turned(c))
    np.testing.assert_array_equal(turned(by_columns), whole)
    of_columns = distribute(by_columns, kind.layouts[2].transposed, kind.lanes)
    np.testing.assert_array_equal(np.sort(of_columns), np.sort(of_lanes))


def multiply_accumulate(model: str, op: TileOp, tiles: list[Codes]) -> Codes:
    """Compute A * B + C of three tiles without scales."""
    a, b, c = tiles
    return models.multiply_accumulate(model, op, a, b, c)


def op_of_transposed(op: TileOp) -> TileOp:
    m, n, k = op.shape
    return TileOp(op.name, op.b, op.a, op.c, op.d, (n, m, k), op.blocks, op.unit)


def test_leading_dimensions_and_strides() -> None:
    op, (a, b, c) = random_tiles(KINDS["NV_MMA_SYNC_F32_16x8x16_F16"], 5)
    many = [np.stack([x, x[::-1, ::-1]] * 3).reshape(2, 3, *x.shape) for x in (a, b, c)]
    for model in ("exact", "ieee", "chip:ampere"):
        each = models.multiply_accumulate(model, op, a, b, c)
        other = multiply_accumulate(model, op, [x[::-1, ::-1] for x in (a, b, c)])
        together = multiply_accumulate(model, op, many)
        assert together.shape == (2, 3, 16, 8)
        np.testing.assert_array_equal(together[0, 0], each)
        np.testing.assert_array_equal(together[1, 2], other)
        assert multiply_accumulate(model, op, [x[:0] for x in many]).shape == (0, 3, 16, 8)


def test_virtual_kinds_are_their_instructions() -> None:
    """On a chip each slice of the lanes' elements is an instruction of its own; `exact` knows no order."""
    kind = KINDS["VMFMA_F32_16x16x32_F16"]
    op, (a, b, c) = random_tiles(kind, 6)
    small = operation_of(KINDS["MFMA_F32_16x16x16_F16"])
    first = [8 * lane + k for lane in range(4) for k in range(4)]
    second = [k + 4 for k in first]
    c = np.full_like(c, 0x3F800000)
    for chip in ("cdna1", "cdna2", "cdna3"):
        model = f"chip:{chip}"
        want = c
        for part in (first, second):
            want = models.multiply_accumulate(model, small, a[:, part], b[part], want)
        np.testing.assert_array_equal(models.multiply_accumulate(model, op, a, b, c), want)
        in_order = c
        for part in (list(range(16)), list(range(16, 32))):
            in_order = models.multiply_accumulate(model, small, a[:, part], b[part], in_order)
        assert (want != in_order).any()
        twice = models.multiply_accumulate(model, op, np.tile(a, 2), np.tile(b, (2, 1)), c)
        np.testing.assert_array_equal(twice, models.multiply_accumulate(model, op, a, b, want))
    with pytest.raises(ValueError, match="do not fit together"):
        models.multiply_accumulate("chip:cdna3", op, a[:, :16], b[:16], c)


# What no model computes.

RUNS_ON = {
    "ampere": {"NV_MMA_SYNC_F32_16x8x16_F16", "NV_MMA_SYNC_F16_16x8x16_F16", "NV_MMA_SYNC_F32_16x8x16_BF16"},
    "hopper": {"NV_MMA_SYNC_F32_16x8x16_F16", "NV_MMA_SYNC_F16_16x8x16_F16", "NV_MMA_SYNC_F32_16x8x16_BF16"},
    "blackwell": {name for name in KINDS if name.startswith("NV_MMA_SYNC")},
    "ada": {name for name in KINDS if name.startswith("NV_MMA_SYNC")},
    "rtx-blackwell": {name for name in KINDS if name.startswith("NV_MMA_SYNC")},
    "volta": set(),
    "turing": set(),
    "cdna1": {
        "MFMA_F32_16x16x4_F32", "MFMA_F32_4x4x1x16B_F32", "MFMA_F32_16x16x1x4B_F32", "MFMA_F32_32x32x1x2B_F32",
        "MFMA_F32_16x16x16_F16", "MFMA_F32_32x32x8_F16", "MFMA_F32_4x4x4x16B_F16", "MFMA_F32_16x16x4x4B_F16",
        "MFMA_F32_32x32x4x2B_F16", "MFMA_F32_16x16x8_BF16", "MFMA_F32_32x32x4_BF16", "MFMA_I32_16x16x16_I8",
        "MFMA_I32_32x32x8_I8", "MFMA_I32_4x4x4x16B_I8", "MFMA_I32_16x16x4x4B_I8", "MFMA_I32_32x32x4x2B_I8",
        "VMFMA_F32_16x16x32_F16", "VMFMA_F32_32x32x16_F16",
    },
}  # fmt: skip
RUNS_ON["cdna2"] = RUNS_ON["cdna1"] | {
    "MFMA_F64_16x16x4_F64", "MFMA_F64_4x4x4x4B_F64", "MFMA_F32_16x16x16_BF16", "MFMA_F32_32x32x8_BF16",
    "MFMA_F32_4x4x4x16B_BF16", "MFMA_F32_16x16x4x4B_BF16", "MFMA_F32_32x32x4x2B_BF16",
}  # fmt: skip
RUNS_ON["cdna3"] = (
    RUNS_ON["cdna2"]
    - {"MFMA_F32_16x16x8_BF16", "MFMA_F32_32x32x4_BF16", "MFMA_I32_16x16x16_I8", "MFMA_I32_32x32x8_I8"}
) | {"MFMA_I32_16x16x32_I8", "MFMA_I32_32x32x16_I8"} | {name for name in KINDS if "FNUZ" in name and "VDMFMA" not in name}  # fmt: skip


@pytest.mark.parametrize("chip", CHIPS)
def test_which_kinds_run_on_a_chip(chip: str) -> None:
    """The rest is `Unpublished`, naming both: CDNA4, WMMA, sparse instructions, Hopper's mma of f8 in f32."""
    runs = {
        kind.name for kind in KINDS.values() if models.supports(f"chip:{chip}", operation_of(kind, "f8E5M2", "f8E5M2"))
    }
    assert runs == RUNS_ON[chip]


def test_what_is_not_published() -> None:
    op, arrays = random_tiles(KINDS["MFMA_F32_16x16x32_F16"], 1)
    with pytest.raises(models.Unpublished, match=r"^chip:cdna3: .* MFMA_F32_16x16x32_F16 is not published$") as caught:
        models.multiply_accumulate("chip:cdna3", op, *arrays)
    assert (caught.value.model, caught.value.operation) == ("chip:cdna3", "MFMA_F32_16x16x32_F16")
    assert caught.value.hint == (
        "the nearest one of chip:cdna3 is mfma 16x16x16 f16 * f16 + f32 to f32, which differs in shape; "
        "the models exact and ieee (--mma, mma=) compute it"
    )
    op, arrays = random_tiles(KINDS["VDMFMA_F32_8x16x64x2_F16"], 1)
    for model in MODELS:
        with pytest.raises(models.Unpublished, match="VDMFMA_F32_8x16x64x2_F16"):
            models.multiply_accumulate(model, op, *arrays)
        assert not models.supports(model, op)
    op, (a, b, c) = random_tiles(KINDS["MFMA_F32_16x16x16_F16"], 1)
    a[3, 3] = NAN
    for chip in ("cdna1", "cdna2", "cdna3"):
        with pytest.raises(models.Unpublished, match="infinite or NaN operands") as caught:
            models.multiply_accumulate(f"chip:{chip}", op, a, b, c)
        assert f"for finite operands; chip:{chip} has no instruction for these types" in str(caught.value.hint)


@pytest.mark.parametrize("chip", ["cdna2", "cdna3"])
def test_what_one_instruction_leaves_is_an_operand_of_the_next(chip: str) -> None:
    """bf16 0x7F00 is 2^127: its square overflows in the first of two instructions, or in the last one."""
    op = operation_of(KINDS["MFMA_F32_16x16x16_BF16"])
    a, b, c = np.zeros((16, 32), np.uint16), np.zeros((32, 16), np.uint16), np.zeros((16, 16), np.uint32)
    a[3, 31] = b[31, 5] = 0x7F00
    assert models.multiply_accumulate(f"chip:{chip}", op, a, b, c)[3, 5] == 0x7F800000
    a[3, 2] = b[2, 5] = 0x7F00
    with pytest.raises(models.Unpublished, match="infinite or NaN operands"):
        models.multiply_accumulate(f"chip:{chip}", op, a, b, c)


F8_BY_F16 = TileOp("f8", "f8E4M3FN", "f8E4M3FN", "f16", "f16", (16, 8, 32), 1, "mma")


@pytest.mark.parametrize(
    ("ones", "c", "want"),
    [
        # Beside 64 * 32 = 2048 at k = 0, whose ulp is 2 in f16: k = 1 is added with it, and 2049 is a tie; k = 2 is a
        # step later, and a tie again; two of one step are no tie; nor is what comes with k = 1.
        ((1,), 0, 2048), ((2,), 0, 2048), ((1, 2), 0, 2048), ((2, 3), 0, 2050), ((1, 4), 0, 2050), ((3, 30), 0, 2050),
        ((1, 30), 0, 2048), ((1, 28, 29), 0, 2052), ((29,), 1, 2048), ((29, 28), 1, 2052), ((), 1, 2048), ((), 3, 2052),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chip", ["chip:hopper", "chip:blackwell"])
def test_f8_by_two_steps_of_f16(chip: str, ones: tuple[int, ...], c: int, want: int) -> None:
    """First the k with (k / 2) % 2 == 0, then the others, then C; each sum is rounded to nearest even."""
    a, b = np.zeros(32, np.uint8), np.full(32, 0x38, np.uint8)
    a[0], b[0] = 0x68, 0x60  # 64, 32
    a[list(ones)] = 0x38
    code, _ = models.explain(chip, F8_BY_F16, a, b, scalar.from_fraction(FORMATS["f16"], Fraction(c)).code)
    assert scalar.value(FORMATS["f16"], code) == want


@pytest.mark.parametrize(
    ("code", "c", "what"),
    [(0x7E, 0, "sums that are"), (0x01, 0, "sums that are"), (0, 0x0001, "sums that are"), (0x7F, 0, "operands")],
)
def test_sums_of_f8_that_were_not_recorded(code: int, c: int, what: str) -> None:
    """448 * 448 overflows, 8 * 2^-9 * 2^-9 is subnormal in f16."""
    codes = np.array([code] * 8 + [0] * 24, np.uint8)
    with pytest.raises(models.Unpublished, match=what) as caught:
        models.explain("chip:h100", F8_BY_F16, codes, codes, c)
    assert str(caught.value.hint).startswith(
        "it is published for finite operands whose sums are zero or normal; the nearest one of chip:hopper is wgmma "
        "64xNx32 f8E4M3FN * f8E4M3FN + f16 to f16, N a multiple of 8 from 8 to 256, which differs in unit and shape; "
    )
    with pytest.raises(models.Unpublished) as caught:
        models.rule_of("chip:b200", replace(F8_BY_F16, unit="tcgen05", shape=(128, 8, 32)))
    assert "is tcgen05 128xNx32 f8E4M3FN * f8E4M3FN + f16 to f16, N a multiple of 16 from 16" in str(caught.value.hint)
    with pytest.raises(models.Unpublished) as caught:
        models.rule_of("chip:h100", replace(F8_BY_F16, c="f32", d="f32"))
    assert "differs in types of C and D; chip:ada, chip:blackwell, chip:rtx-blackwell have this one" in str(
        caught.value.hint
    )


@pytest.mark.parametrize("c", [0x7F800000, 0xFF800000])
def test_infinite_c_beside_dots_of_sixteen(c: int) -> None:
    """The results of mxf4 and nvf4 instructions for infinite C are not published; those for NaN and infinite sums are."""
    op = TileOp("nvf4", "f4E2M1FN", "f4E2M1FN", "f32", "f32", (16, 8, 64), 1, "mma", "f8E4M3FN", 16)
    ones, scales = np.full(64, 2, np.uint8), np.full(4, 0x38, np.uint8)
    with pytest.raises(models.Unpublished, match="computes nvf4 with infinite operands is not published") as caught:
        models.explain("chip:rtx-blackwell", op, ones, ones, c, scales, scales)
    assert (caught.value.operation, caught.value.what) == ("nvf4", " with infinite operands")
    assert models.explain("exact", op, ones, ones, c, scales, scales)[0] == c
    assert models.explain("chip:rtx-blackwell", op, ones, ones, 0x7F800001, scales, scales)[0] == 0x7FFFFFFF
    assert models.explain("chip:rtx-blackwell", op, ones, ones, 0x3F800000, scales, scales)[0] == 0x42820000  # 65


def test_errors() -> None:
    op, (a, b, c) = random_tiles(KINDS["MFMA_F32_16x16x16_F16"], 1)
    with pytest.raises(ValueError, match="unknown model 'chip:pascal'; choose one of exact, ieee, chip:volta"):
        models.multiply_accumulate("chip:pascal", op, a, b, c)
    for wrong in ((a[:, :8], b, c), (a, b[:8], c), (a, b, c[:8]), (a[:, :8], b[:8], c), (a[None], b, c)):
        with pytest.raises(ValueError, match="do not fit together"):
            models.multiply_accumulate("exact", op, *wrong)
    with pytest.raises(ValueError, match="do not fit together"):
        models.multiply_accumulate("exact", op, a, b, c, a, b)
