"""Programs that would not end, or not soon, stop at a limit with one clear error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import halfulp as hu
from halfulp.interp.ir.errors import LimitExceeded, UndefinedBehavior
from halfulp.interp.run.settings import Listener

ENDLESS = {
    "a branch to itself": ("func.func @main() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}", r"ran more than \d+ ops"),
    "a while without end": (
        "func.func @main() {\n  %c = arith.constant true\n  scf.while : () -> () {\n    scf.condition(%c)\n  } do {\n"
        "    scf.yield\n  }\n  return\n}",
        r"ran more than \d+ ops",
    ),
    "two blocks": ("func.func @main() {\n  cf.br ^a\n^a:\n  cf.br ^b\n^b:\n  cf.br ^a\n}", r"ran more than \d+ ops"),
    "a loop of 2^64 - 2 trips": (
        "func.func @main() {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n"
        "  %n = arith.constant -1 : index\n  scf.for unsigned %i = %0 to %n step %1 {\n  }\n  return\n}",
        r"ran more than \d+ ops",
    ),
    "a loop of 10^12 trips with a body": (
        "func.func @main() {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n"
        "  %n = arith.constant 1000000000000 : index\n  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %0) -> index {\n"
        "    %t = arith.addi %s, %i : index\n    scf.yield %t : index\n  }\n  return\n}",
        r"ran more than \d+ ops",
    ),
    "a loop of 10^12 trips": (
        "func.func @main() {\n  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n"
        "  %n = arith.constant 1000000000000 : index\n  scf.for %i = %0 to %n step %1 {\n  }\n  return\n}",
        r"ran more than \d+ ops",
    ),
    "calls 100,000 deep": (
        "func.func @main() {\n  %n = arith.constant 100000 : i32\n  call @down(%n) : (i32) -> ()\n  return\n}\n"
        "func.func @down(%n: i32) {\n  %0 = arith.constant 0 : i32\n  %1 = arith.constant 1 : i32\n"
        "  %more = arith.cmpi sgt, %n, %0 : i32\n  cf.cond_br %more, ^again, ^end\n^again:\n"
        "  %m = arith.subi %n, %1 : i32\n  call @down(%m) : (i32) -> ()\n  return\n^end:\n  return\n}",
        r"nested more than \d+ deep",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_limit_ends_it(name: str) -> None:
    source, message = ENDLESS[name]
    with pytest.raises(LimitExceeded, match=message) as caught:
        hu.run(source, function="main", max_steps=200_000)
    assert caught.value.location is not None
    assert caught.value.hint is not None


LOOPS: dict[str, tuple[str, Callable[[int], int]]] = {
    "branches": (
        "  cf.br ^head(%a, %z : i32, i32)\n^head(%i: i32, %s: i32):\n  %c = arith.cmpi slt, %i, %n : i32\n"
        "  cf.cond_br %c, ^body, ^done\n^body:\n  %t = arith.divui %n, %i : i32\n  %j = arith.addi %i, %b : i32\n"
        "  cf.br ^head(%j, %t : i32, i32)\n^done:\n  return %s : i32\n",
        # Three constants, the first branch; five ops a trip; the last test and branch, the return.
        lambda trips: 3 + 1 + 5 * trips + 2 + 1,
    ),
    "for": (
        "  %r = scf.for %i = %a to %n step %b iter_args(%s = %z) -> i32 : i32 {\n"
        "    %t = arith.divui %n, %i : i32\n    scf.yield %t : i32\n  }\n  return %r : i32\n",
        lambda trips: 3 + 1 + 2 * trips + 1,
    ),
    "for around an if": (
        "  %c = arith.constant true\n  %r = scf.for %i = %a to %n step %b iter_args(%s = %z) -> i32 : i32 {\n"
        "    %t = scf.if %c -> i32 {\n      %u = arith.divui %n, %i : i32\n      scf.yield %u : i32\n    } else {\n"
        "      scf.yield %s : i32\n    }\n    scf.yield %t : i32\n  }\n  return %r : i32\n",
        lambda trips: 4 + 1 + 4 * trips + 1,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize(("first", "trips"), [(1, 6), (6, 1), (7, 0), (9, 0)])
def test_every_op_counts_and_no_more(name: str, first: int, trips: int) -> None:
    body, ops_of = LOOPS[name]
    source = (
        "func.func @main(%a: i32) -> i32 {\n  %z = arith.constant 42 : i32\n  %b = arith.constant 1 : i32\n"
        f"  %n = arith.constant 7 : i32\n{body}}}"
    )
    # Somebody who listens has every op run on its own.
    for listeners in ((), (Listener(),)):
        (result,) = hu.run(source, first, max_steps=ops_of(trips), listeners=listeners)
        assert int(result.bits) == (7 // 6 if trips else 42)
        with pytest.raises(LimitExceeded):
            hu.run(source, first, max_steps=ops_of(trips) - 1, listeners=listeners)


@pytest.mark.parametrize("name", LOOPS)
def test_what_happens_before_the_limit_happens(name: str) -> None:
    body, ops_of = LOOPS[name]
    source = (
        "func.func @main(%a: i32) -> i32 {\n  %z = arith.constant 42 : i32\n  %b = arith.constant 1 : i32\n"
        f"  %n = arith.constant 7 : i32\n{body}}}"
    )
    with pytest.raises(UndefinedBehavior, match="divui"):
        hu.run(source, -3, max_steps=ops_of(4))
    with pytest.raises(LimitExceeded):
        hu.run(source, -3, max_steps=ops_of(2))
