"""Programs that would not end, or not soon, stop at a limit with one clear error."""

from __future__ import annotations

import pytest

import halfulp as hu
from halfulp.interp.errors import LimitExceeded

ENDLESS = {
    "a branch to itself": ("func.func @main() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}", r"ran more than \d+ ops"),
    "a while without end": (
        "func.func @main() {\n  %c = arith.constant true\n  scf.while : () -> () {\n    scf.condition(%c)\n  } do {\n"
        "    scf.yield\n  }\n  return\n}",
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
        hu.run(source, entry="main", max_steps=200_000)
    assert caught.value.location is not None
    assert caught.value.hint is not None
