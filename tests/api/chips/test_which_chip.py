"""Which chip gave these results, and what tells two chips apart."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.chips.rows import Rows, named_instructions
from halfulp.chips.which import filled
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.semantics.matrix_units.chips import CHIPS
from halfulp.semantics.matrix_units.kinds import TileOp


def random_rows(count: int, k: int, type: str, acc: str = "f32", seed: int = 1) -> tuple[Any, Any, Any]:
    """Return codes of numbers of some ten binades, many of which cancel."""
    dice = np.random.default_rng(seed)

    def made(shape: tuple[int, ...], name: str) -> Any:
        numbers = dice.normal(size=shape) * 2.0 ** dice.integers(-5, 5, shape)
        return hu.convert(numbers, name).bits

    return made((count, k), type), made((count, k), type), made((count,), acc)


def results(model: str, k: int, a: Any, b: Any, c: Any, type: str, acc: str = "f32") -> Any:
    rows = Rows(a, b, c, np.zeros_like(c), (type, type, acc, acc))
    return rows.by(model, rows.operation(k)).codes


@pytest.mark.parametrize(
    ("chip", "type", "acc", "k", "name"),
    [
        ("hopper", "f16", "f32", 16, "chip:hopper wgmma K=16"),
        ("ampere", "bf16", "f32", 16, "chip:ampere mma K=16"),
        ("cdna3", "f16", "f32", 16, "chip:cdna3 mfma K=16"),
        ("volta", "f16", "f16", 4, "chip:volta mma K=4"),
    ],
)
def test_the_chip_is_first(chip: str, type: str, acc: str, k: int, name: str) -> None:
    a, b, c = random_rows(300, k, type, acc)
    rule = next(row.rule for row in CHIPS[chip] if f"{type},{type}" in row.types and f"{acc},{acc}" in row.results)
    ranking = hu.which_chip(a, b, c, results(rule.text, k, a, b, c, type, acc), type=type, acc=acc)
    assert any(name in each.names for each in ranking.chips)
    assert ranking.matches[0].equal == 300
    assert name in str(ranking)


def test_the_order_of_instructions() -> None:
    """2^22 + 1/8 by K = 4 twice: a Turing drops 1/8 beside 2^22 where they meet, and keeps 1/8 + 1/8 + … added before."""
    a, b = np.full((1, 8), 0.125, np.float16), np.ones((1, 8), np.float16)
    a[0, 0] = b[0, 0] = 2048
    found = {}
    for d in (4194304.0, 4194304.5):
        matches = hu.which_chip(a, b, None, np.array([d], np.float32)).chips
        found[d] = {match.order for match in matches if "chip:volta mma K=4" in match.names}
    assert found == {4194304.0: {"ascending"}, 4194304.5: {"descending"}}


def test_one_row_and_c() -> None:
    """1 - 2^-25 is cut to 1 - 2^-24 where 25 bits are kept, and to 1 where there are 24, or where it is rounded."""
    ranking = hu.which_chip([1.0, 2.0**-13], [1.0, -(2.0**-12)], [0.0], [1 - 2.0**-24], type="f16", acc="f32")
    chips = {name.split()[0] for match in ranking.chips for name in match.names}
    assert chips == {"chip:hopper", "chip:blackwell", "chip:rtx-blackwell"}
    with pytest.raises(InputError, match=r"a and b must have the shape \[rows, K\]"):
        hu.which_chip([1.0, 2.0], [1.0], None, [1.0], type="f16", acc="f32")
    with pytest.raises(InputError, match="must be floats"):
        hu.which_chip([1], [1], None, [1], type="i8", acc="i32")
    with pytest.raises(InputError, match=r"a, element \[0\]: 0x12c does not fit in the 8 bits of f8E4M3FN"):
        hu.which_chip(np.array([300], np.uint16), [1], None, [1], type="f8E4M3FN", acc="f32")
    with pytest.raises(InputError, match=r"c, element \[0\]: 0x10000000000 does not fit in the 32 bits of f32"):
        hu.which_chip([[1.0]], [[1.0]], np.array([1 << 40], np.uint64), [1.0], type="f16", acc="f32")
    # C has the type that is given for it, also if it is not given itself.
    given, none = (hu.which_chip([1.0], [1.0], c, [1.0], type="f16", acc=("f16", "f32")) for c in ([0.0], None))
    assert given == none
    assert {name.split()[0] for match in none.chips for name in match.names} == {
        "chip:volta", "chip:turing", "exact", "ieee",
    }  # fmt: skip


PAIRS = [
    ("f16", "f32", "volta", "turing", 1), ("f16", "f32", "ampere", "hopper", 1), ("f16", "f32", "cdna2", "cdna3", 0),
    ("f8E4M3FN", "f32", "hopper", "blackwell", 0), ("f8E4M3FN", "f32", "ada", "hopper", 2), ("bf16", "f32", "cdna1", "cdna2", 0),
    ("f16", "f16", "ampere", "hopper", 1), ("f8E4M3FN", "f16", "ada", "hopper", 1), ("f16", "f32", "hopper", "blackwell", None), ("f64", "f64", "ampere", "cdna2", None),
    ("f16", "f32", "turing", "ampere", None), ("f8E5M2", "f16", "hopper", "blackwell", None),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("type", "acc", "one", "other", "products"), PAIRS)
def test_tell_apart(type: str, acc: str, one: str, other: str, products: int | None) -> None:
    """Each input gives the two results that are told, by `explain_dot`."""
    told = hu.tell_apart(f"chip:{one}", f"chip:{other}", type=type, acc=acc, count=3)
    assert told.products == products
    if products is None:
        assert told.reason.startswith("they cannot differ: both add so many products by the rule custom:")
        return
    for given in told.inputs:
        for name, instruction, result in zip((one, other), told.instructions, given.results, strict=True):
            more = ["0x0"] * (int(instruction.split(".")[1].rpartition("k")[2]) - len(given.a))
            row, column = ([*map(hex, codes), *more] for codes in (given.a, given.b))
            assert hu.explain_dot(instruction, row, column, hex(given.c), f"chip:{name}").result == result
        assert given.results[0] != given.results[1]
    assert f"chip:{one} ({told.instructions[0]})" in str(told)


def test_accumulators_and_other_instructions_are_told_apart() -> None:
    told = hu.tell_apart("chip:b200 tcgen05", hu.Accumulator(bits=24), type="f8E4M3FN")
    assert told.instructions == ("tcgen05.m64n8k32.f32.f8E4M3FN.f8E4M3FN.f32", "the accumulator")
    assert told.inputs
    same = hu.tell_apart("custom:bits=20", "custom:bits=20", type="f16")
    assert same.inputs == ()
    # Only the specification computes so many bits: few inputs are tried, and the answer says so.
    told = hu.tell_apart("custom:bits=60 K=4", "custom:bits=60,zero=positive K=4", type="f16", count=1)
    assert told.products == 0
    told = hu.tell_apart("custom:bits=60 K=1", "custom:bits=59 K=1", type="f16")
    assert told.products is None
    assert told.reason.endswith("; few were tried, because sums of so many bits are computed slowly")


@pytest.mark.parametrize(
    ("one", "type", "error", "message"),
    [
        ("chip:h100", "f8E4M3FNUZ", Unsupported, "its rule for multiplying f8E4M3FNUZ into f32 is not published"),
        ("chip:h101", "f16", InputError, "no model is called 'chip:h101'"),
        ("exact", "f16", InputError, "'exact' is not a chip"),
        ("chip:h100", "i8", Unsupported, "its rule for multiplying i8 into f32 is not published"),
        ("chip:b200 mfma", "f16", Unsupported, "hint: its published rules are for: mma K=16, mma K=8, tcgen05 K=16"),
        ("chip:h100", ("f16", "f16", "f16"), InputError, "type takes one type or two, but 3 are given"),
        ("custom:width=24", ("i8", "i8"), InputError, "must be float types if the rules differ"),
    ],
)
def test_what_cannot_be_told(one: str, type: Any, error: type[HalfulpError], message: str) -> None:
    other, acc = ("custom:", "i32") if type == ("i8", "i8") else ("chip:b200", "f32")
    with pytest.raises(error, match=message):
        hu.tell_apart(one, other, type=type, acc=acc)
    counts: list[Any] = [0, 2.5, "x", True, 1001]
    for count in counts:
        with pytest.raises(InputError, match=f"count is {count!r}, but must be"):
            hu.tell_apart("chip:a100", "chip:b200", type="f16", count=count)


def test_types_in_pairs_instructions_and_integers() -> None:
    """1 + 2^-11 + 2^-14 is nearer to 1 + 2^-10 than to 1 in f16; with 13 bits below 1 it is a tie."""
    told = hu.tell_apart("chip:ada mma K=16", "chip:rtx5090 mma K=16", type=("f8E4M3FN", "f8E5M2"), acc=("f16", "f16"))
    assert (told.types, told.products) == (("f8E4M3FN", "f8E5M2", "f16", "f16"), 1)
    told = hu.tell_apart("chip:mi100", "chip:mi300x", type="i8", acc="i32")
    assert "they cannot differ: both add integers exactly" in str(told)
    told = hu.tell_apart("chip:h100 mma K=8", "chip:h100 mma K=16", type="f64", acc="f64", count=1)
    assert "-0 * 0 at 0 to 7  -0  -0" in str(told)
    assert told.products == 0


# --- all pairs --------------------------------------------------------------------------------------------------------


def instructions_of(types: tuple[str, str, str, str]) -> list[tuple[str, TileOp, str]]:
    """Return an instruction for each rule and K."""
    return list({(rule, op.shape[2]): (name, op, rule) for name, op, rule in named_instructions(*types)}.values())


ALL_TYPES = sorted(
    {(*types.split(","), *results.split(",")) for rows in CHIPS.values() for row in rows if "" in row.scales for types in row.types for results in row.results}
)  # fmt: skip


def rows_with(types: tuple[str, str, str, str], k: int, products: int, dice: np.random.Generator) -> Rows:
    """Return random rows with at most so many products that are not zero: all numbers of short formats, and C of all
    sizes, half of them near a product.
    """
    of_a, of_b, of_c, of_d = (FORMATS[name] for name in types)
    count = 1 << 16
    if of_c.bits == 16 and not products:
        c = np.arange(count, dtype=of_c.storage_dtype)
    else:
        c = dice.integers(0, 1 << of_c.bits, count, np.uint64).astype(of_c.storage_dtype)
    a, b = (np.zeros((count, k), fmt.storage_dtype) for fmt in (of_a, of_b))
    for n in range(products):
        x, y = (dice.integers(0, 1 << fmt.bits, count, np.uint64) for fmt in (of_a, of_b))
        if of_a.bits + of_b.bits == 16 and not n:
            x, y = np.divmod(np.arange(count, dtype=np.uint64), 256)
        at = np.arange(count), dice.integers(0, k, count)
        a[at], b[at] = x.astype(a.dtype), y.astype(b.dtype)
        with np.errstate(all="ignore"):
            near = np.prod(
                [
                    fast.convert(fmt, FORMATS["f64"], codes[at]).codes.view(np.float64)
                    for fmt, codes in ((of_a, a), (of_b, b))
                ],
                axis=0,
            )
            near = near * dice.normal(size=count) * 2.0 ** dice.integers(-30, 31, count)
        codes = fast.convert(FORMATS["f64"], of_c, near.view(np.uint64)).codes
        c = np.where(dice.random(count) < 0.5, codes, c).astype(c.dtype)
    return Rows(a, b, c, np.zeros(count, of_d.storage_dtype), types)


def differing(rows: Rows, *models: tuple[TileOp, str]) -> int:
    one, other = (filled(rows, op.shape[2]).by(rule, op) for op, rule in models)
    return int(((one.codes != other.codes) & ~one.unknown & ~other.unknown).sum())


@pytest.mark.long
@pytest.mark.parametrize("types", ALL_TYPES, ids="-".join)
def test_every_pair_of_instructions(types: tuple[str, str, str, str]) -> None:
    """Each pair is told apart in 10 s, by inputs for which `explain_dot` gives these results. For 65,536 random inputs
    with fewer products the models are equal; those that cannot differ are equal for inputs with up to four products.
    """
    dice = np.random.default_rng(1)
    for (one, first, rule), (other, second, other_rule) in itertools.combinations(instructions_of(types), 2):
        before = time.process_time()
        told = hu.tell_apart(one, other, type=types[:2], acc=types[2:], count=1)
        assert time.process_time() - before < 10
        k = min(first.shape[2], second.shape[2])
        if told.products is None:
            assert told.reason.startswith("they cannot differ: ")
        else:
            (given,) = told.inputs
            for name, op, result in zip((one, other), (first, second), given.results, strict=True):
                a, b = ([*map(hex, codes), *["0x0"] * (op.shape[2] - len(codes))] for codes in (given.a, given.b))
                assert hu.explain_dot(op.name, a, b, hex(given.c), name.split()[0]).result == result
            assert given.results[0] != given.results[1]
        if types[0] in FORMATS:
            for products in range(5 if told.products is None else told.products):
                rows = rows_with(types, k, products, dice)
                assert not differing(rows, (first, rule), (second, other_rule)), (one, other, products)
