"""Groups of aligned terms by machine code against the same by NumPy, which tests compare with the specification."""

import random
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest
from float_samples import codes

from halfulp.fp_formats.exact.comparisons import is_infinite, is_nan
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import llvm
from halfulp.semantics.matrix_units import machine_sums, models
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.chips import CHIPS, Row
from halfulp.semantics.matrix_units.kinds import TileOp

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
    return found if every else found[-1:]


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
        form = (rule.tree, rule.c, rule.bits == 25, rule.plain, rule.flush, rule.dot, row.scales == ("",))
        if not every and form in seen:
            continue
        seen.add(form)
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


@pytest.mark.parametrize("count", [2, pytest.param(150, marks=pytest.mark.long)])
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
