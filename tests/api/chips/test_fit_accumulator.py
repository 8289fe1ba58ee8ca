"""The accumulator of an unknown unit, from what it computed: planted rules are found, and what is open is said."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.chips import fitting, searching
from halfulp.chips.candidates import changed, differences, reduced, values_of
from halfulp.chips.fitting import AccumulatorFit, fit
from halfulp.chips.recorded_chips import main
from halfulp.chips.rows import Rows, hard_rows
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.semantics.matrix_units.accumulator import Accumulator

TYPES = (
    ("f16", "f32", 8), ("f8E4M3FN", "f32", 16), ("bf16", "f32", 8), ("f8E5M2", "f16", 8), ("f16", "f16", 16),
    ("tf32", "f32", 4), ("bf16", "bf16", 4),
)  # fmt: skip


VOLTA = Accumulator(
    bits=23, zero_exponent=-126, rounding="toward_zero", overflow="infinity", zero="positive", nan="ones"
)


def planted(rule: Accumulator, type: str, acc: str, k: int, count: int, seed: int = 1, special: bool = True) -> Rows:
    """Return rows, most of them hard ones, with the results of a rule."""
    rows = hard_rows((type, type, acc, acc), k, count, seed, special)
    return with_results(rows, rule)


def with_results(rows: Rows, rule: Accumulator) -> Rows:
    return Rows(rows.a, rows.b, rows.c, rows.by(rule, rows.operation()).codes, rows.types)


def check(found: AccumulatorFit, rule: Accumulator, rows: Rows) -> None:
    """The rule that was planted is found, or each field in which it differs is said to be open; rivals are excluded by
    the rows that are named, and candidates differ as is said on the next inputs.
    """
    op = rows.operation()
    assert found.accumulator is not None, (rule, found)
    own, wanted = (reduced(replace(each, specials="all"), op) for each in (found.accumulator, rule))
    closed = {name: value for name, value in differences(own, wanted).items() if value not in found.open.get(name, ())}
    if not set(closed) <= {*found.idle}:
        # Not named: then it must not differ from what was found on a million hard rows.
        for seed in range(100):
            asked = hard_rows(rows.types, rows.length, 10_000, seed)
            differ = asked.by(own, op).codes != asked.by(wanted, op).codes
            assert not differ.any(), (rule.text, own.text, closed, found.open)
    assert (rows.by(own, op).codes == rows.d).all()
    for rival in found.rivals[:20]:
        other = changed(own, **rival.changes)
        assert other is not None
        some = rows.at(list(rival.rows))
        assert (some.by(other, op).codes != some.d).all()
    for each in found.next:
        asked = Rows(
            np.array([each.a], rows.a.dtype), np.array([each.b], rows.b.dtype), np.array([each.c], rows.c.dtype),
            np.array([each.d], rows.d.dtype), rows.types,
        )  # fmt: skip
        assert asked.by(own, op).codes[0] == each.d
        for code, candidates in each.others.items():
            assert code != each.d
            for changes in candidates:
                assert asked.by(replace(own, **changes), op).codes[0] == code


def search_less(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    """Try fewer candidates than by default: enough for few products and few fields."""
    monkeypatch.setattr(searching, "FORMS", searching.FORMS[: searching.FLAT])
    monkeypatch.setattr(searching, "BUDGET", budget)
    monkeypatch.setattr(searching, "SAMPLE", 64)
    monkeypatch.setattr(fitting, "EXPLORED", budget // 4)
    monkeypatch.setattr(fitting, "MOST_OTHERS", 20)
    monkeypatch.setattr(fitting, "ASKED", 200)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "type", "acc", "k"),
    [
        ("custom:bits=6,cut=to_nearest_even,rounding=toward_zero,nan=ones", "f8E5M2", "f16", 2),
        ("custom:group=1,c=last,bits=9,guard=2,zero=sum", "f8E4M3", "f16", 2),
        ("custom:bits=5,rounding=upward,flush=true", "f8E5M2", "f16", 3),
    ],
)
def test_planted(text: str, type: str, acc: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    search_less(monkeypatch, 20_000)
    rule = Accumulator.from_text(text)
    rows = planted(rule, type, acc, k, 200)
    found = fit(rows)
    check(found, rule, rows)
    assert str(found).startswith(f"{found.accumulator}\nexplains all 200 rows")


def random_rule(dice: random.Random, rows: Rows) -> Accumulator:
    """Return any rule of the space."""
    values = values_of(rows.operation())
    while True:
        given = {name: dice.choice(choices) for name, choices in values.items() if dice.random() < 0.4}
        try:
            rule = Accumulator(**given)
            rule.check((rows.types[0], rows.types[1]), rows.types[3])
        except ValueError:
            continue
        return rule


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(50))
def test_random_units(seed: int) -> None:
    type, acc, k = TYPES[seed % len(TYPES)]
    empty = hard_rows((type, type, acc, acc), k, 5000, seed)
    rule = random_rule(random.Random(seed), empty)
    rows = with_results(empty, rule)
    check(fit(rows), rule, rows)


@pytest.mark.long
@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_reduced_rules_are_the_same(count: int) -> None:
    """Fields that `reduced` resets change no result."""
    dice, resets = random.Random(count), 0
    for seed in range(count):
        type, acc, k = dice.choice((*TYPES, ("f8E4M3FN", "bf16", 3), ("f8E5M2", "f16", 5)))
        rows = hard_rows((type, type, acc, acc), k, 100, seed)
        rule = random_rule(dice, rows)
        short = reduced(rule, rows.operation())
        resets += short != rule
        one, other = (rows.by(each, rows.operation()).codes for each in (rule, short))
        assert (one == other).all(), (rule.text, short.text, type, acc, k)
    assert resets > count // 4


def test_short_rounded_products_are_kept() -> None:
    """A product of two f16 has 21 fraction bits: it is exact in f32, but not in 11 bits."""
    op = hard_rows(("f16", "f16", "f32", "f32"), 4, 1, 1).operation()
    for fraction, products in ((None, "exact"), (21, "exact"), (20, "rounded"), (11, "rounded")):
        rule = Accumulator(products="rounded", partial="to_nearest_even", fraction=fraction)
        assert reduced(rule, op).products == products, fraction


def test_ranks() -> None:
    """The planted rule comes first, also among rules that differ in NaNs alone. An exact sum that has too many bits to
    be compared quickly does not count as right.
    """
    rows = planted(replace(VOLTA, nan="default"), "bf16", "f32", 4, 300)
    bench = searching.Search(rows, values_of(rows.operation())).whole
    rules = [replace(VOLTA, nan=nan) for nan in ("ones", "default")]
    (wrong, _), (right, _) = bench.rank(rules)
    assert (0 < wrong < 1, right) == (True, 0)
    exact = Accumulator(rounding="toward_zero", overflow="infinity")
    near = replace(VOLTA, nan="default", bits=22)
    assert bench.score(exact) > bench.score(near) > 1


@pytest.mark.long
def test_a_chip_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Volta cuts 1 + 2^-24 off to 1, and keeps 23 bits; the rows leave open how many others explain them."""
    search_less(monkeypatch, 2000)
    rows = planted(VOLTA, "f16", "f32", 4, 150)
    found = fit(rows)
    assert found.accumulator == VOLTA
    assert found.chips == ("chip:volta mma",)
    assert "it is the rule of chip:volta mma" in str(found)


@pytest.mark.long
def test_no_accumulator_explains_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of two is right in four rows of five, and one more in the last place in the others."""
    search_less(monkeypatch, 800)
    rows = planted(Accumulator(), "f8E5M2", "f16", 2, 50, special=False)
    d = rows.d.copy()
    d[4::5] ^= 1
    found = fit(Rows(rows.a, rows.b, rows.c, d, rows.types))
    assert found.accumulator is None
    assert found.explained >= 40
    assert found.first_wrong is not None
    computed = rows.by(found.nearest, rows.operation()).codes
    assert found.explained == int((computed == d).sum())
    assert found.first_wrong == int(np.argmax(computed != d))
    assert str(found).startswith("no accumulator was found that explains all 50 rows")
    assert f"it explains {found.explained} rows; the first that it does not explain: {found.first_wrong}" in str(found)
    assert found.wrong == tuple(np.flatnonzero(computed != d)[:6].tolist())


def test_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only NaNs: no rule explains more than a few rows, which is said after few candidates. A bound of the work ends a
    search for which simple rules explain most rows.
    """
    rows = planted(VOLTA, "f16", "f32", 4, 150, special=False)
    search_less(monkeypatch, 400)
    found = fit(replace(rows, d=np.full(150, 0x7FC00000, np.uint32)))
    assert found.accumulator is None
    assert found.ended.startswith("of the first candidates, none explains more than")
    assert found.tried < 4000
    assert found.wrong[:2] == (0, 1)
    assert "so the search ended early" in str(found)
    monkeypatch.setattr(searching, "MOST_WORK", 0)
    monkeypatch.setattr(searching, "FULL", 0)
    found = fit(replace(rows, d=np.where(np.arange(150) % 5, rows.d, rows.d ^ 1)))
    assert (found.accumulator, found.ended) == (None, "the bound of its work was reached")
    assert found.explained > 100


@pytest.mark.long
def test_one_row_leaves_most_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 + 2^-24 cut to 1: by 23 bits, or rounded from an exact sum. No operand is special."""
    search_less(monkeypatch, 800)
    found = hu.fit_accumulator([1.0, 2.0**-12], [1.0, 2.0**-12], [0.0], [1.0], type="f16", acc="f32")
    assert found.accumulator is not None
    assert found.accumulator.specials == "none"
    assert {"bits", "tree", "rounding", "nan", "specials"} <= {*found.open}
    shown = str(found)
    assert "the rows leave these fields open:" in shown
    assert "inputs worth measuring next:" in shown


F16 = np.array([[0x3C00, 0x3C00]], np.uint16)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        (([1.0, 2.0], [1.0], None, [1.0]), {}, InputError, r"a and b must have the shape \[rows, K\]"),
        (([[1.0], [2.0]], [[1.0], [2.0]], None, [1.0]), {}, InputError, r"a and b must have the shape \[rows, K\]"),
        (([[1]], [[1]], None, [1]), {"type": "i8", "acc": "i32"}, InputError, "must be floats"),
        (([[1.0]], [[1.0]], None, [1.0]), {"type": "f17"}, HalfulpError, "f17"),
        (([[1.0]], [[1.0]], None, [0.1]), {}, InputError, r"d, element \[0\]: 0.1\.\.\. is not a value of f32"),
        (([[1.0]], [[1.0]], None, 2**24 + 1), {}, InputError, "16777217 is not a value of f32; the nearest one is 16777216"),
        (([[1.0]], [[1.0]], None, ["1e39"]), {}, InputError, r"1e\+39 is not a value of f32; the nearest one is inf"),
        (([[1.0]], [[1.0]], None, [1.0]), {"acc": "f8E4M3FN"}, Unsupported, "sums in f8E4M3FN are not defined"),
        (([[1.0]], [[1.0]], None, [1.0]), {"type": "f64", "acc": "f64"}, Unsupported, r"f64 \* f64 in f64: they do not fit in 64-bit integers"),
        (([[1.0] * 4], [[1.0] * 4], None, [4.0]), {"type": ("f64", "f8E5M2")}, Unsupported, r"f64 \* f8E5M2 in f32: they"),
        (([[1.0] * 16], [[1.0] * 16], None, [16.0]), {"acc": "f64"}, Unsupported, r"sums of 16 products of f16 \* f16 in f64"),
        (([[1.0] * 65], [[1.0] * 65], None, [65.0]), {}, InputError, "each row has 65 products, but"),
        (
            (np.repeat(F16, 3, 0), np.repeat(F16, 3, 0), None, [2.0, 2.0, 3.0]), {"type": "f16"}, InputError,
            "rows 0 and 2 have the same a, b and c, but d is 0x40000000 and 0x40400000",
        ),
        (
            ([[1.0]], [[1.0]], hu.convert([1.0], "f16"), hu.convert([2.0], "f32")), {"acc": None}, Unsupported,
            "C is f16 and D is f32",
        ),
        (([1.0], [1.0], None, [1.0]), {"acc": ("f16", "f32")}, Unsupported, "C is f16 and D is f32"),
    ],
)  # fmt: skip
def test_wrong_input(arguments: Any, keywords: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hu.fit_accumulator(*arguments, **{"type": "f16", "acc": "f32", **keywords})


def test_recordings_are_fitted(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows by the rule of a Volta, and with one bit more in every result."""
    search_less(monkeypatch, 3000)
    rows = planted(VOLTA, "f16", "f32", 4, 120)
    name, path = "V100/mma.m8n8k4.f32.f16.f16.f32", str(tmp_path / "a.npz")
    arrays: dict[str, Any] = {f"{name}/{key}": getattr(rows, key) for key in "abcd"}
    np.savez(path, **arrays)
    assert main([path, "--fit"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{name}, 120 rows: custom:")
    assert "bits=23" in shown.splitlines()[0]
    d = np.where((rows.d & 0x7F800000) == 0x7F800000, rows.d, rows.d | 1)
    arrays[f"{name}/d"] = d
    np.savez(path, **arrays)
    search_less(monkeypatch, 400)
    assert main([path, "--fit", "--rows", "100"]) == 1
    assert "none was found that explains all" in capsys.readouterr().out
