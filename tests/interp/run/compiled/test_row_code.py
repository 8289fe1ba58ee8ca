"""Rows of lanes as machine code beside the executor: loops with another number of trips in each lane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.paths import compiled
from halfulp.interp.run.compiled.row_code import ROW, RowCode

pytest.importorskip("llvmlite", reason="the extra `fast` is not installed")

# Some steps of Euclid's algorithm, whose quotient is added up: OP is a division.
EUCLID = """func.func @main(%a: T, %b: T) -> (T, T) {
  %zero = arith.constant 0 : T
  %r:3 = scf.while (%x = %a, %y = %b, %s = %zero) : (T, T, T) -> (T, T, T) {
    %c = arith.cmpi ne, %y, %zero : T
    scf.condition(%c) %x, %y, %s : T, T, T
  } do {
  ^body(%x: T, %y: T, %s: T):
    %q = arith.divS %x, %y : T
    %m = arith.remS %x, %y : T
    %t = arith.addi %s, %q : T
    scf.yield %y, %m, %t : T, T, T
  }
  %out = arith.addi %r#0, %r#2 : T
  return %r#0, %out : T, T
}
"""
# As many trips as the argument says. TRIP may have a fault.
COUNTED = """func.func @main(%n: i32, %f: f32) -> (i32, f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:3 = scf.while (%i = %n, %s = %zero, %g = %f) : (i32, i32, f32) -> (i32, i32, f32) {
    %c = arith.cmpi ne, %i, %zero : i32
    scf.condition(%c) %i, %s, %g : i32, i32, f32
  } do {
  ^body(%i: i32, %s: i32, %g: f32):
    %j = arith.subi %i, %one : i32
    TRIP
    %h = arith.mulf %g, %f : f32
    scf.yield %j, %t, %h : i32, i32, f32
  }
  return %r#1, %r#2 : i32, f32
}
"""


@pytest.fixture(autouse=True)
def _by_machine() -> Iterator[None]:
    before = compiled.backend()
    compiled.use("numba")
    yield
    compiled.use(before)


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of lanes that stopped in each run of rows."""
    found: list[int] = []
    run = RowCode.run

    def watched(code: RowCode, arguments: Any, lanes: int) -> Any:
        results, mask = run(code, arguments, lanes)
        found.append(int(mask.sum()))
        return results, mask

    monkeypatch.setattr(RowCode, "run", watched)
    return found


def agree(text: str, *arguments: Any, **options: Any) -> Any:
    """Run by code and by the executor, which must agree, and return the results or the message of the error."""
    outcomes: list[Any] = []
    for backend in ("numba", "numpy"):
        compiled.use(backend)
        try:
            outcomes.append(hu.run(text, *arguments, batch=True, **options))
        except hu.HalfulpError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def euclid(sign: str, type_: str) -> str:
    return EUCLID.replace("divS", f"div{sign}i").replace("remS", f"rem{sign}i").replace("T", type_)


@pytest.mark.parametrize("sign", ["u", "s"])
def test_all_pairs_of_i8(sign: str, stopped: list[int]) -> None:
    every = np.arange(256, dtype=np.uint8).view(np.int8)
    x, y = np.repeat(every, 256), np.tile(every, 256)
    if sign == "s":  # the quotient that overflows is undefined: it stops the whole batch
        first = ~((x == -128) & (y == -1))
        x, y = x[first], y[first]
    results = agree(euclid(sign, "i8"), x, y, on_ub="poison") if sign == "s" else agree(euclid(sign, "i8"), x, y)
    if sign == "u":
        np.testing.assert_array_equal(results[0].bits, np.gcd(x.view(np.uint8), y.view(np.uint8)))
        assert stopped == [0]


@pytest.mark.parametrize("sign", ["u", "s"])
def test_pairs_of_i32(sign: str, stopped: list[int]) -> None:
    """The quotients are near integers, and as large as they can be."""
    rng = np.random.default_rng(1)
    y = rng.integers(1, 1 << rng.integers(1, 33, 5_000), dtype=np.uint64)
    product = y * rng.integers(0, (1 << 32) // y, dtype=np.uint64)
    x = np.concatenate([product, product - 1, product + 1, np.full(5_000, (1 << 32) - 1, np.uint64)])
    x, y = x.astype(np.uint32), np.tile(y, 4).astype(np.uint32)
    if sign == "s":
        x, y = x & np.uint32((1 << 31) - 1), np.maximum(y & np.uint32((1 << 31) - 1), np.uint32(1))
        x[::3] = -x[::3].view(np.int32).view(np.uint32)
    results = agree(euclid(sign, "i32"), x.view(np.int32), y.view(np.int32))
    if sign == "u":
        np.testing.assert_array_equal(results[0].bits, np.gcd(x, y))
    assert stopped == [0]


@pytest.mark.parametrize("type_", ["i1", "i7", "i64", "index"])
def test_other_widths(type_: str, stopped: list[int]) -> None:
    rng = np.random.default_rng(2)
    width = {"i1": 1, "i7": 7}.get(type_, 64)
    dtype = np.uint8 if width < 8 else np.uint64
    x, y = (rng.integers(0, 1 << width, 500, np.uint64).astype(dtype) for _ in range(2))
    given = [hu.Value.from_bits(each, f"tensor<500x{type_}>") for each in (x, y)]
    results = agree(euclid("u", type_), *(each.bits for each in given))
    np.testing.assert_array_equal(results[0].bits, np.gcd(x, y))
    assert stopped == [0]


TRIP = "%t = arith.addi %s, %i : i32"


@pytest.mark.parametrize("lanes", [1, ROW - 1, ROW, ROW + 1, 3 * ROW + 5])
def test_every_number_of_lanes(lanes: int, stopped: list[int]) -> None:
    n = np.random.default_rng(lanes).integers(0, 20, lanes, np.int32)
    total, power = agree(COUNTED.replace("TRIP", TRIP), n, np.float32(2))
    assert total.numpy().tolist() == [k * (k + 1) // 2 for k in n.tolist()]
    assert power.numpy().tolist() == [2.0 ** (k + 1) for k in n.tolist()]
    assert stopped == [0]


def test_no_lanes(stopped: list[int]) -> None:
    """Code for rows does its first lane before it looks how many there are."""
    total, _ = agree(COUNTED.replace("TRIP", TRIP), np.zeros(0, np.int32), np.float32(1))
    assert total.shape == (0,)
    assert stopped == []


def test_few_lanes_with_many_trips_go_on_alone(stopped: list[int]) -> None:
    n = np.ones(3 * ROW, np.int32)
    n[[70, 80]] = 5_000
    total, _ = agree(COUNTED.replace("TRIP", TRIP), n, np.float32(1))
    assert total.numpy().tolist() == [k * (k + 1) // 2 for k in n.tolist()]
    assert stopped == [2]


def test_undefined_behaviour_in_a_trip(stopped: list[int]) -> None:
    """Lanes from 4 trips on divide by zero."""
    trip = "%three = arith.constant 3 : i32\n %d = arith.subi %i, %three : i32\n %t = arith.divsi %s, %d : i32"
    n = np.arange(2 * ROW, dtype=np.int32) % 5
    assert "division by zero" in agree(COUNTED.replace("TRIP", trip), n, np.float32(1))
    assert stopped == [int((n >= 3).sum())]


def test_undefined_behaviour_in_a_condition(stopped: list[int]) -> None:
    """What the code has in place of the quotient would never end the loop."""
    text = COUNTED.replace(
        "%c = arith.cmpi ne, %i, %zero", "%d = arith.divui %n, %i : i32\n %c = arith.cmpi ne, %d, %zero"
    )
    text = text.replace("TRIP", TRIP).replace("scf.yield %j,", "scf.yield %i,")
    n = np.zeros(2 * ROW, np.int32)
    assert "division by zero" in agree(text, n, np.float32(1))
    assert stopped == [2 * ROW]
    text = text.replace("divui %n, %i", "divui %zero, %i")
    n[5:] = 1
    assert "division by zero" in agree(text, n, np.float32(1))
    assert stopped == [2 * ROW, 5]


def test_poison_and_nans_in_a_trip(stopped: list[int]) -> None:
    trip = "%k = arith.muli %s, %s overflow<nsw> : i32\n %u = arith.addi %k, %i : i32\n %t = arith.addi %u, %i : i32"
    n = np.arange(2 * ROW, dtype=np.int32) % 9
    f = np.where(np.arange(2 * ROW) % 7 == 3, np.nan, 1e30).astype(np.float32)
    total, power = agree(COUNTED.replace("TRIP", trip), n, f)
    assert total.poisoned.any()
    assert not total.poisoned.all()
    assert np.isnan(power.masked().compressed()).any()
    assert 0 < stopped[0] < 2 * ROW


@pytest.mark.parametrize("most", [1, 40, 200, 1_000])
def test_limits(most: int) -> None:
    """The limit holds for each lane: in the executor for all of them together, which takes as many steps here."""
    n = np.full(2 * ROW, 30, np.int32)
    agree(COUNTED.replace("TRIP", TRIP), n, np.float32(1), max_steps=most)


def test_functions_without_one_loop(stopped: list[int]) -> None:
    twice = COUNTED.replace("TRIP", TRIP).replace(
        "return",
        "%z = scf.while (%i = %n) : (i32) -> i32 {\n %c = arith.cmpi sgt, %i, %one : i32\n"
        " scf.condition(%c) %i : i32\n} do {\n^body(%i: i32):\n %j = arith.shrui %i, %one : i32\n scf.yield %j : i32\n}\n return",
    )
    n = np.arange(100, dtype=np.int32)
    agree(twice, n, np.float32(1))
    long = "\n".join(f"%a{k} = arith.addi %i, %one : i32" for k in range(500))
    agree(COUNTED.replace("TRIP", f"{long}\n{TRIP}"), n, np.float32(1))
    assert stopped == []
