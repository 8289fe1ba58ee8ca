"""Groups of aligned terms by machine code against the same by NumPy, which tests compare with the specification."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from float_samples import codes

from halfulp.fp_formats.exact.comparisons import is_infinite, is_nan
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import llvm
from halfulp.semantics.matrix_units import aligned_sums, machine_sums, models
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.chips import CHAIN, CHIPS, Row
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import accumulate
from halfulp.semantics.matrix_units.word_sums import STEP, Decoded, zeros_of

pytestmark = pytest.mark.skipif(not llvm.installed(), reason="machine code needs llvmlite")


@pytest.fixture
def restored() -> Iterator[None]:
    backend = llvm.backend()
    yield
    llvm.use(backend)


def operations(row: Row, every: bool) -> list[TileOp]:
    """Return the instructions of a row whose results are floats, or one of them."""
    found = []
    of_floats = [results for results in row.results if results.rpartition(",")[2] in FORMATS]
    for shape, types, results, scales in product(row.shapes, row.types, of_floats, row.scales):
        m, n, k = map(int, shape.partition("B")[0].replace("*", "16").split("x")[:3])
        blocks = int(shape.removesuffix("B").split("x")[3]) if "B" in shape else 1
        (a, b), (c, d) = types.split(","), results.split(",")
        scale, _, block = scales.partition(",")
        found.append(TileOp("an instruction", a, b, c, d, (m, n, k), blocks, row.unit, scale, int(block or 0)))
    return found if every else sorted(found, key=lambda op: op.shape[2])[:1]


def chosen(fmt: FloatFormat, shape: tuple[int, ...], seed: int, kind: str) -> Any:
    """Codes of all sizes, with or without NaNs and infinities; or numbers of a few binades about one."""
    dice = np.random.default_rng(seed)
    one = fmt.bias << fmt.mantissa_bits
    near = one + dice.integers(-(3 << fmt.mantissa_bits), 3 << fmt.mantissa_bits, shape)
    made = near.astype(np.uint64) | dice.integers(0, 2, shape).astype(np.uint64) * np.uint64(fmt.sign_mask or 0)
    if kind != "near":
        pool = np.array(codes(fmt, 400, seed), np.uint64)
        places = dice.random(shape) < dice.choice((0.05, 0.5, 1))
        made = np.where(places, pool[dice.integers(0, len(pool), shape)], made.astype(np.uint64))
    made = (made.astype(np.uint64) & np.uint64(fmt.code_mask)).astype(fmt.storage_dtype)
    if kind == "finite":
        made = np.where(is_nan(fmt, made) | is_infinite(fmt, made), 0, made).astype(fmt.storage_dtype)
    return made


def operands_of(rule: Accumulator, op: TileOp, sizes: tuple[int, int, int], seed: int) -> list[Any]:
    """Return A, B, C and scales; in half of the elements C is minus the exact sum, or next to it."""
    tiles, m, n = sizes
    kind = {"all": "any", "normal": "near"}.get(rule.specials, "finite")
    k = op.shape[2] * (1 if kind == "finite" else 2)  # a sum out of range is no operand where infinities are unknown
    shapes = [(op.a, (tiles, m, k)), (op.b, (tiles, k, n)), (op.c, (tiles, m, n))]
    if op.scale:
        shapes += [(op.scale, (tiles, m, k // op.block)), (op.scale, (tiles, k // op.block, n))]
    made = [chosen(FORMATS[name], shape, 5 * seed + number, kind) for number, (name, shape) in enumerate(shapes)]
    a, b, c, *scales = made
    fmt = FORMATS[op.d]
    if kind != "near" and op.c == op.d:
        sums = models.multiply_accumulate("exact", op, a, b, np.zeros_like(c), *scales)
        near = np.random.default_rng(seed).integers(0, 4, c.shape)
        keep = is_nan(fmt, sums) | (sums & fmt.magnitude_mask >= fmt.max_code) | (near > 1)
        c = np.where(keep, c, sums ^ c.dtype.type(fmt.sign_mask) ^ near.astype(c.dtype)).astype(c.dtype)
    return [a, b, c, *scales]


def assert_equal(model: str, op: TileOp, operands: list[Any]) -> None:
    results = []
    for backend in ("numpy", "llvm"):
        llvm.use(backend)
        results.append(models.multiply_accumulate(model, op, *operands))
    different = np.argwhere(results[0] != results[1])
    assert not len(different), (model, op, different[0], [hex(each[tuple(different[0])]) for each in results])


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[machine_sums.Place]:
    """The runs of loops."""
    found: list[machine_sums.Place] = []
    run = machine_sums.Loop.run

    def counted(loop: machine_sums.Loop, addresses: Any, place: machine_sums.Place) -> None:
        found.append(place)
        run(loop, addresses, place)

    monkeypatch.setattr(machine_sums.Loop, "run", counted)
    return found


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_each_row_of_chips(restored: None, ran: list[machine_sums.Place], every: bool) -> None:
    """NaNs, infinities, zeros, subnormals, cancellation and exponents far apart, in a product and in many tiles."""
    seen, count = set(), 0
    for number, (chip, row) in enumerate((chip, row) for chip, rows in CHIPS.items() for row in rows):
        rule = row.rule
        if not every and (rule.tree in seen or rule.dot > 1):
            continue
        seen.add(rule.tree)
        for op in operations(row, every):
            sizes = [(1, 9, 41), (70, 3, 2)]
            for seed, size in enumerate(sizes if every else sizes[number % 2 :][:1]):
                ran.clear()
                assert_equal(f"chip:{chip}", op, operands_of(rule, op, size, 100 * number + seed))
                assert ran, (chip, op)
            count += 1
    assert not every or count == PAIRS


PAIRS = 213
"""The pairs of an instruction and types whose results are floats."""


@pytest.mark.backend("llvm")
def test_which_rows_have_machine_code() -> None:
    for rows in CHIPS.values():
        for row in rows:
            for op in operations(row, every=True):
                assert machine_sums.takes(row.rule, op, 1), op
    assert not machine_sums.takes(None, op, 1 << 40)


RULES = {
    "exact sums": ("bits=none", "f16", "f32", 8, ""),
    "partial sums that are rounded": ("bits=20,tree=sequential,partial=to_nearest_even", "f16", "f32", 8, ""),
    "a register without an end": ("lsb=-40", "f16", "f32", 8, ""),
    "a register of more than 62 bits": ("lsb=-40,msb=22", "f16", "f32", 8, ""),
    "sums beyond a register that saturates": ("lsb=-40,msb=0,register_overflow=saturate", "bf16", "f32", 8, ""),
    "sums that need more than 64 bits": ("bits=57", "f16", "f64", 8, ""),
    "significands of more than 32 bits": ("bits=20", "f64", "f64", 4, ""),
    "a long tree of aligned sums": ("bits=20,tree=neighbours", "f16", "f32", 65, ""),
    "a long tree of IEEE operations": (
        "tree=halves,c=last,products=rounded,partial=to_nearest_even", "f16", "f32", 65, "",
    ),
    "a sum of products with infinite scales": ("bits=20,dot=2", "f4E2M1FN", "f32", 8, "f8E5M2"),
    "sums of products that do not divide a group": ("bits=20,dot=3,group=4", "f4E2M1FN", "f32", 8, "f8E4M3FN"),
}  # fmt: skip
"""What has no machine code: fields of the rule, the types of A and B and of C and D, K and the type of scales."""


@pytest.mark.parametrize("why", RULES)
def test_what_has_no_machine_code(restored: None, ran: list[machine_sums.Place], why: str) -> None:
    fields_, type_, d, k, scale = RULES[why]
    rule, op = Accumulator.from_text(f"custom:{fields_}"), TileOp(why, type_, type_, d, d, (4, 4, k))
    op = replace(op, scale=scale, block=4 if scale else 0)
    llvm.use("llvm")
    a, b, c, *scales = operands_of(rule, op, (1, 2, 3), 1)
    found = models.multiply_accumulate(rule, op, a, b, c, *scales)
    assert not ran
    assert not machine_sums.takes(rule, op, 1 << 40)
    row, column = a[0, 1].tolist(), b[0, :, 2].tolist()
    factors = (scales[0][0, 1].tolist(), scales[1][0, :, 2].tolist()) if scales else None
    assert found[0, 1, 2] == accumulate(rule, op, row, column, int(c[0, 1, 2]), factors)


@pytest.mark.backend("auto")
def test_machine_code_begins_where_it_saves_time(
    ran: list[machine_sums.Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    op = TileOp("an instruction", "f8E5M2", "f8E5M2", "f32", "f32", (4, 4, 16))
    rule = Accumulator.from_text("custom:bits=19,zero=sum")
    operands = operands_of(rule, op, (1, 16, 32), 3)
    monkeypatch.setattr(machine_sums, "PAYS", 3 * operands[0].shape[2] * 16 * 32)
    for runs in (0, 0, 1):
        models.multiply_accumulate(rule, op, *operands)
        assert len(ran) == runs


@pytest.mark.long
def test_processors_without_fused_instructions(restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain is then computed by the words of `fma`, which give NaNs too."""
    monkeypatch.setattr(llvm, "fuses", lambda: False)
    op = TileOp("an instruction", "f32", "f32", "f32", "f32", (4, 4, 3))
    assert_equal(CHAIN.text, op, operands_of(CHAIN, op, (1, 3, 41), 8))


def test_fused_multiply_adds_of_the_processor(restored: None) -> None:
    """Subnormals, cancellation, and sums that a product of f64 rounded before would change."""
    if not llvm.fuses():
        pytest.skip("the processor has no instruction for fused multiply-adds")
    for name in ("f32", "f64"):
        op = TileOp("an instruction", name, name, name, name, (4, 4, 1))
        assert_equal(CHAIN.text, op, operands_of(CHAIN, op, (400, 3, 2), 9))


@pytest.mark.long
@pytest.mark.parametrize("text", ["bits=20,zero=sum", "bits=24,c=last,guard=3,cut=to_odd,zero=sum,shifter=9"])
def test_products_of_few_columns_and_long_groups(
    restored: None, ran: list[machine_sums.Place], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lanes are rows. A group of 150 products is added in passes."""
    op = TileOp("an instruction", "f16", "f16", "f32", "f32", (4, 4, 150))
    rule = Accumulator.from_text(f"custom:{text}")
    monkeypatch.setattr(machine_sums, "_UNINTERRUPTED", 41 * 3 * STEP * 2)
    for m, n in ((41, 3), (2, 33)):
        ran.clear()
        assert_equal(rule.text, op, operands_of(rule, op, (1, m, n), m))
        assert {place.counts[3] for place in ran} == {max(m, n)}


def test_an_infinity_between_two_instructions(restored: None) -> None:
    """How CDNA 3 goes on with it is not published, with and without machine code; as the last result it is one."""
    op = TileOp("an instruction", "bf16", "bf16", "f32", "f32", (16, 16, 16), 1, "mfma")
    large = np.full((1, 4, 32), 0x7F00, np.uint16)
    a, b, c = large.copy(), large.reshape(1, 32, 4), np.zeros((1, 4, 4), np.uint32)
    a[:, :, :16] = 0
    for backend in ("numpy", "llvm"):
        llvm.use(backend)
        assert (models.multiply_accumulate("chip:cdna3", op, a, b, c) == 0x7F800000).all()
        with pytest.raises(models.Unpublished, match="infinite"):
            models.multiply_accumulate("chip:cdna3", op, a[..., ::-1], b, c)


def test_threads_take_blocks(restored: None, ran: list[machine_sums.Place], monkeypatch: pytest.MonkeyPatch) -> None:
    """A product is cut into blocks of rows and lanes, many tiles into blocks of planes, rows and lanes."""
    op = TileOp("an instruction", "f8E4M3FN", "f8E4M3FN", "f32", "f32", (4, 4, 4))
    rule = Accumulator.from_text("custom:bits=20,zero=sum")
    for size in ((1, 9, 41), (70, 3, 5)):
        operands = operands_of(rule, op, size, 7)
        assert_equal(rule.text, op, operands)
        ran.clear()
        with monkeypatch.context() as patch:
            patch.setattr(machine_sums, "_ELEMENTS", 32)
            patch.setattr(machine_sums, "_LANES", 16)
            patch.setattr(machine_sums, "_UNINTERRUPTED", 1)
            assert_equal(rule.text, op, operands)
        assert len(ran) > 10
        assert {place.counts[0] for place in ran} == {1}


@pytest.mark.long
def test_an_interrupt_ends_a_product_soon(restored: None) -> None:
    op = TileOp("an instruction", "f16", "f16", "f32", "f32", (16, 8, 16))
    a, b = np.full((1, 256, 1 << 16), 0x3C00, np.uint16), np.full((1, 1 << 16, 256), 0x3C00, np.uint16)
    llvm.use("llvm")
    models.multiply_accumulate("chip:ampere", op, a[..., :16], b[:, :16], np.zeros((1, 256, 256), np.uint32))
    sent = list[float]()

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        models.multiply_accumulate("chip:ampere", op, a, b, np.zeros((1, 256, 256), np.uint32))
    assert time.monotonic() - sent[0] < 5


def test_the_numbers_that_loops_take_apart(restored: None) -> None:
    """All codes of short formats, and of their products with scales, as NumPy takes them apart."""
    llvm.use("llvm")
    cases = [
        ("f16", "", ""), ("bf16", "flush=true", ""), ("f8E4M3FNUZ", "zero_exponent=-20", ""), ("f6E3M2FN", "", ""),
        ("f8E5M2", "", "f8E8M0FNU"), ("f8E4M3", "zero_exponent=-126", "f8E4M3FN"),
    ]  # fmt: skip
    for name, text, scale in cases:
        rule = Accumulator.from_text(f"custom:bits=9,zero=sum{text and ','}{text}")
        formats = [FORMATS[each] for each in (name, scale) if each]
        grid = np.meshgrid(*(np.arange(1 << fmt.bits, dtype=fmt.storage_dtype) for fmt in formats))
        every = [np.ascontiguousarray(each).reshape(-1) for each in grid]
        found = machine_sums._loops_over(Decoded(tuple(formats), zeros_of(rule)), *every)
        assert found is not None
        (significand, exponent, kind), special = found
        numbers = [aligned_sums.decoded(rule, fmt, each) for fmt, each in zip(formats, every, strict=True)]
        wrong = np.zeros(len(every[0]), bool)
        for each in numbers:
            wrong |= False if each.nan is None else each.nan
            wrong |= False if each.infinite is None else each.infinite
        sums = sum(each.exponent for each in numbers)
        product_ = np.prod([each.significand for each in numbers], axis=0)
        assert special == wrong.any()
        assert (significand[~wrong] == product_[~wrong]).all(), name
        assert (exponent == np.where(wrong, 0, np.maximum(sums, aligned_sums.NO_EXPONENT))).all(), name
        values = (kind.astype(np.uint32) << 16).view(np.float32)
        assert (values[~wrong] == np.sign(product_[~wrong])).all(), name
        assert not np.isfinite(values[wrong]).any(), name


MODES = ("to_nearest_even", "toward_zero", "upward", "downward", "to_nearest_away", "to_odd")


def any_register(dice: random.Random) -> Accumulator:
    """Return a register of up to 62 bits, with any other fields."""
    lsb = dice.choice((-40, -20, -9, 0, 3))
    return Accumulator(
        lsb=lsb, msb=lsb + dice.choice((3, 20, 40, 60)), register_overflow=dice.choice(("wrap", "saturate")),
        group=dice.choice((0, 1, 3, 4)), cut=dice.choice(MODES), rounding=dice.choice(MODES), c=dice.choice(("with", "end")),
        flush=dice.random() < 0.2, zero=dice.choice(("ieee", "sum", "positive")), nan=dice.choice(("default", "ones")),
    )  # fmt: skip


@pytest.mark.parametrize("count", [1, pytest.param(40, marks=pytest.mark.long)])
def test_registers(restored: None, ran: list[machine_sums.Place], count: int) -> None:
    """Groups of any length, which are held once, also where C is far beyond the register."""
    dice = random.Random(count)
    for seed in range(count):
        rule = any_register(dice)
        a, b, d = dice.choice((("f8E4M3FN", "f8E5M2", "f32"), ("f16", "f16", "f32"), ("bf16", "bf16", "bf16")))
        op = TileOp("an instruction", a, b, d, d, (4, 4, dice.choice((4, 7, 70))))
        ran.clear()
        assert_equal(rule.text, op, operands_of(rule, op, dice.choice(((1, 5, 19), (23, 2, 3))), seed))
        assert ran or rule.register_overflow == "saturate", (rule, op)


def any_rule(dice: random.Random, fraction: int) -> Accumulator:
    """Return a rule that has a description, with any other fields."""
    while True:
        given: dict[str, Any] = {"bits": dice.choice((0, 3, 12, 24, 30))}
        for each in fields(Accumulator):
            if each.name in ("bits", "width", "specials", "dot", "partial", "products") or dice.random() < 0.4:
                continue
            numbers = {
                "group": (0, 1, 3, 5), "order": (0, 1, 3), "guard": (0, 1, 7), "shifter": (None, 0, 5, 11),
                "c_shifter": (None, 3, 9), "zero_exponent": (None, -126, -14, 0), "fraction": (None, 1, fraction - 1),
            }.get(each.name, (False, True))  # fmt: skip
            given[each.name] = dice.choice(each.metadata["choices"] or numbers)
        try:
            return Accumulator(**given)
        except ValueError:
            continue


def test_a_group_of_one_product_is_cut_as_a_sum(restored: None) -> None:
    """The fourth product is a group alone; no addition cuts it before C comes."""
    op = TileOp("a sum", "f16", "f16", "f32", "f32", (4, 4, 4))
    text = "custom:group=3,tree=neighbours,c=last,bits=3,cut=upward,cut_sums=downward,zero=positive,specials=none"
    assert_equal(text, op, operands_of(Accumulator.from_text(text), op, (1, 9, 41), 5))


@pytest.mark.parametrize("count", [1, pytest.param(150, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("a", "b", "d", "k"),
    [("f16", "f16", "f32", 6), ("f8E4M3FN", "f8E5M2", "f16", 5), ("bf16", "bf16", "bf16", 4), ("f16", "f16", "f64", 3)],
)
def test_rules_of_users(restored: None, a: str, b: str, d: str, k: int, count: int) -> None:
    dice = random.Random(f"{a} {b} {d} {count}")
    for seed in range(count):
        rule, op = any_rule(dice, FORMATS[d].mantissa_bits), TileOp("a sum", a, b, d, d, (4, 4, k))
        try:
            rule.check((a, b), d)
        except ValueError:
            continue
        size = dice.choice(((1, 5, 19), (23, 2, 3)))
        assert_equal(rule.text, op, operands_of(rule, op, size, seed))
