"""Whole products against the same instructions, one after the other, and IEEE additions, written out here."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables import each_row

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import llvm
from halfulp.semantics.matrix_units import products
from halfulp.semantics.matrix_units.kinds import KINDS, TileOp, operation_of
from halfulp.semantics.matrix_units.models import multiply_accumulate
from halfulp.semantics.matrix_units.products import BadSchedule, MatrixUnit, Schedule, StreamK, multiply_by_unit

F32 = FORMATS["f32"]
WGMMA = TileOp("wgmma", "f8E4M3FN", "f8E4M3FN", "f32", "f32", (64, 8, 32), 1, "wgmma")
UNIT = MatrixUnit(WGMMA, "chip:h100")
NAN = 0x7FFFFFFF  # of NVIDIA's units


def numbers(shape: tuple[int, ...], seed: int, low: int = 0x20, high: int = 0x48) -> Any:
    """Codes of f8E4M3FN of both signs."""
    dice = np.random.default_rng(seed)
    return (dice.integers(low, high, shape) | dice.integers(0, 2, shape) << 7).astype(np.uint8)


def f32(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).view(np.uint32)


def code(number: float) -> int:
    return scalar.from_fraction(F32, Fraction(number)).code


def instruction(a: Any, b: Any, c: Any) -> Any:
    """One instruction on the K that is given, filled up with zeros."""
    missing = -a.shape[1] % 32
    a, b = np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))
    return multiply_accumulate("chip:hopper", WGMMA, a[None], b[None], c[None])[0]


def chain(a: Any, b: Any, c: Any) -> Any:
    for start in range(0, a.shape[1], 32):
        c = instruction(a[:, start : start + 32], b[start : start + 32], c)
    return c


def each(function: Any, *operands: Any) -> Any:
    """Apply a function of `scalar` to codes of f32, element by element."""
    made = [function(F32, *map(int, codes)).code for codes in zip(*(x.reshape(-1) for x in operands), strict=True)]
    return np.array(made, np.uint32).reshape(operands[-1].shape)


def add(x: Any, y: Any) -> Any:
    return each(scalar.add, x, y)


def run(a: Any, b: Any, c: Any = None, **fields: Any) -> Any:
    return multiply_by_unit(UNIT, a[None], b[None], None if c is None else c[None], Schedule(**fields))[0]


A, B, C = numbers((3, 200), 1), numbers((200, 5), 2), f32((3, 5), 3)
ZEROS = np.zeros((3, 5), np.uint32)


def parts(*cuts: int, c: Any = ZEROS) -> list[Any]:
    """The chains of the parts of K; the first one starts at C."""
    return [
        chain(A[:, start:stop], B[start:stop], ZEROS if start else c)
        for start, stop in zip((0, *cuts), (*cuts, 200), strict=True)
    ]


def in_order(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


def test_instructions_in_order() -> None:
    """K 200 is six instructions and a seventh of 8 elements and zeros."""
    assert np.array_equal(run(A, B), chain(A, B, ZEROS))
    assert np.array_equal(run(A, B, C), chain(A, B, C))
    order = (0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31)  # fmt: skip
    longer = tuple(32 * (k % 2) + k // 2 for k in range(64))
    for permuted in (order, longer):
        a, b = np.pad(A, ((0, 0), (0, -200 % len(permuted)))), np.pad(B, ((0, -200 % len(permuted)), (0, 0)))
        places = [start + k for start in range(0, a.shape[1], len(permuted)) for k in permuted]
        assert np.array_equal(run(A, B, C, k_order=permuted), chain(a[:, places], b[places], C))


def test_split_k_adds_partial_sums_in_the_order_that_is_given() -> None:
    assert np.array_equal(run(A, B, split_k=4), in_order(parts(64, 128, 192)))
    assert np.array_equal(run(A, B, C, split_k=(32, 96, 72)), in_order(parts(32, 128, c=C)))
    op = TileOp("wgmma", "f16", "f16", "f32", "f32", (64, 8, 16), 1, "wgmma")
    dice = np.random.default_rng(4)
    a, b = (dice.standard_normal(shape).astype(np.float16).view(np.uint16) for shape in ((1, 4, 48), (1, 48, 9)))
    c = f32((1, 4, 9), 5)
    first, second, third = (
        multiply_accumulate("chip:hopper", op, a[..., ks], b[:, ks], np.zeros_like(c) if ks.start else c)
        for ks in (slice(0, 16), slice(16, 32), slice(32, 48))
    )
    unit, forward = MatrixUnit(op, "chip:h100"), Schedule(split_k=3)
    assert np.array_equal(multiply_by_unit(unit, a, b, c, forward), in_order([first, second, third]))
    other = multiply_by_unit(unit, a, b, c, Schedule(split_k=3, partial_order=(2, 1, 0)))
    assert np.array_equal(other, in_order([third, second, first]))
    assert not np.array_equal(other, in_order([first, second, third]))


def test_promotion_adds_sums_of_windows() -> None:
    windows = parts(64, 128, 192)
    assert np.array_equal(run(A, B, promote=64), in_order([ZEROS, *windows]))
    assert np.array_equal(run(A, B, C, promote=64), in_order([C, *windows]))
    # Windows are counted from the start of each part.
    first, second = parts(96)[0], [chain(A[:, 96:160], B[96:160], ZEROS), chain(A[:, 160:], B[160:], ZEROS)]
    whole = [chain(A[:, :64], B[:64], ZEROS), chain(A[:, 64:96], B[64:96], ZEROS)]
    assert np.array_equal(
        run(A, B, split_k=(96, 104), promote=64), add(in_order([ZEROS, *whole]), in_order([ZEROS, *second]))
    )
    assert not np.array_equal(first, in_order(whole))


def test_alpha_and_beta_are_a_product_and_a_fused_multiply_add() -> None:
    alpha, beta = code(0.3), code(-1.7)
    total, factor = chain(A, B, ZEROS), np.full_like(C, alpha)
    scaled = each(scalar.multiply, np.full_like(C, beta), C)
    assert np.array_equal(run(A, B, C, alpha=alpha, beta=beta), each(scalar.fma, factor, total, scaled))
    assert np.array_equal(run(A, B, alpha=alpha), each(scalar.multiply, factor, total))
    spoiled = np.full_like(C, 0x7FC00001)
    for zero in (code(0.0), 0x80000000):
        assert np.array_equal(run(A, B, spoiled, alpha=alpha, beta=zero), each(scalar.multiply, factor, total))
    assert (run(A, B, spoiled, alpha=alpha, beta=beta) == NAN).all()
    joined = run(A, B, C, alpha=alpha, beta=beta, split_k=2, promote=32)
    windows = [in_order([ZEROS, *(chain(A[:, k : k + 32], B[k : k + 32], ZEROS) for k in ks)]) for ks in (range(0, 128, 32), range(128, 200, 32))]  # fmt: skip
    assert np.array_equal(joined, each(scalar.fma, factor, add(*windows), scaled))


def test_stream_k_cuts_each_tile_where_the_shares_of_workers_end() -> None:
    """Three by two tiles of 2x3 and two iterations of 128 each: 12 iterations, five workers with three each."""
    a, b, c = numbers((5, 256), 4), numbers((256, 6), 5), f32((5, 6), 6)
    owner = [worker for worker in range(5) for _ in range(3)]
    want = np.zeros((5, 6), np.uint32)
    split = 0
    for tile in range(6):
        rows, columns = slice(tile // 2 * 2, tile // 2 * 2 + 2), slice(tile % 2 * 3, tile % 2 * 3 + 3)
        sums: list[Any] = []
        total, before = c[rows, columns], owner[2 * tile]
        for iteration in range(2):
            ks, worker = slice(128 * iteration, 128 * iteration + 128), owner[2 * tile + iteration]
            if worker != before:
                sums.append(total)
                total, before = np.zeros_like(total), worker
                split += 1
            total = chain(a[rows, ks], b[ks, columns], total)
        want[rows, columns] = in_order([*sums, total])
    assert split == 2
    assert np.array_equal(run(a, b, c, stream_k=StreamK(5, (2, 3, 128))), want)
    one = run(a, b, c, stream_k=StreamK(6, (2, 3, 128)))
    assert np.array_equal(one, chain(a, b, c))  # each worker has a tile


def test_nans_infinities_and_overflow_are_those_of_the_unit() -> None:
    a, b = A.copy(), B.copy()
    a[1, 70] = 0x7F
    spoiled = run(a, b, C, split_k=4, promote=32)
    assert (spoiled[1] == NAN).all()
    assert np.array_equal(spoiled[[0, 2]], run(A, B, C, split_k=4, promote=32)[[0, 2]])
    huge = np.full_like(C, 0x7F7FE000)
    assert (run(np.full_like(A, 0x7E), np.full_like(B, 0x7E), huge, promote=64) == huge).all()


def test_batches_blocks_and_other_units(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = numbers((2, 3, 64), 7), numbers((1, 64, 20), 8)
    c = f32((2, 3, 20), 9)
    want = np.stack([chain(a[n], b[0], c[n]) for n in range(2)])
    schedule = Schedule(split_k=2)
    split = [add(chain(a[n, :, :32], b[0, :32], c[n]), chain(a[n, :, 32:], b[0, 32:], np.zeros_like(c[n]))) for n in range(2)]  # fmt: skip
    for room, alone in ((products.AT_ONCE, 1 << 12), (32 * 7, 1)):
        monkeypatch.setattr(products, "AT_ONCE", room)
        monkeypatch.setattr(products, "_ALONE", alone)
        assert np.array_equal(multiply_by_unit(UNIT, a, b, c), want)
        assert np.array_equal(multiply_by_unit(UNIT, a, b, c, schedule), split)
    integers = MatrixUnit(operation_of(KINDS["MFMA_I32_16x16x32_I8"]), "chip:cdna3")
    x, y = (np.random.default_rng(n).integers(0, 256, (1, 64, 64), np.uint8) for n in (1, 2))
    exact = x.view(np.int8).astype(np.int32) @ y.view(np.int8).astype(np.int32)
    start = np.random.default_rng(3).integers(0, 1 << 32, (1, 64, 64), np.uint32)
    got = multiply_by_unit(integers, x, y, start, Schedule(split_k=2, partial_order=(1, 0)))
    assert np.array_equal(got, exact.view(np.uint32) + start)
    empty = multiply_by_unit(UNIT, a[:, :, :0], b[:, :0], c)
    assert np.array_equal(empty, c)


@pytest.mark.long
@pytest.mark.backend("llvm")
def test_machine_code_gives_the_same_products() -> None:
    dice = random.Random(1)
    a, b, c = numbers((40, 512), 10, 0, 0x80), numbers((512, 33), 11, 0, 0x80), f32((40, 33), 12)
    models_of = {"split_k": 3, "promote": 128, "stream_k": StreamK(3, (32, 16, 64))}
    for names in (["split_k", "promote"], ["stream_k"]):
        fields = {name: models_of[name] for name in names}
        rows = dice.sample(range(40), 3)
        llvm.use("llvm")
        got = run(a, b, c, **fields)
        llvm.use("numpy")
        if "stream_k" not in names:
            assert np.array_equal(got[rows], run(a[rows], b, c[rows], **fields))
        else:
            assert np.array_equal(got, run(a, b, c, **fields))


@each_row(
    ({"k_order": (0, 1)}, "a multiple of 32"),
    ({"k_order": (0,) * 32}, "a permutation of 0"),
    ({"split_k": 8}, "K has 7 instructions of 32 elements"),
    ({"split_k": 5}, "with 2 instructions each there are 4 parts; give the lengths"),
    ({"split_k": (100, 100)}, "must be multiples of 32"),
    ({"split_k": (32, 32)}, r"the sum of the lengths is 64, but K is 200, or 224 with .*; write split_k=\[32, 192\]"),
    ({"split_k": (192, 4)}, "the sum of the lengths is 196, but K is 200"),
    ({"promote": 48}, "promote is 48, but must be a multiple of 32"),
    ({"split_k": 2, "partial_order": (0, 2)}, "each number of the 2 parts once"),
    ({"stream_k": StreamK(0, (1, 1, 32))}, "a number of workers"),
    ({"stream_k": StreamK(4, (8, 8, 48))}, "multiple of 32"),
    ({"stream_k": StreamK(4, (8, 8, 32)), "split_k": 2}, "give one of them"),
)
def test_schedules_that_do_not_fit(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSchedule, match=message):
        run(A, B, **fields)
