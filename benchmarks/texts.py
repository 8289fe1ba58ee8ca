"""Reading and printing MLIR text, beside mlir-opt and xDSL."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial

import halfulp as hu
from benchmarks import mlir, xdsl_peer
from benchmarks.programs import straight_line
from benchmarks.rows import Measured, Row, Sizes, Target, best, nanoseconds

SPEED = Target(most=8333)  # 120,000 ops a second
MEMORY = Target(most=3000)


def rows() -> Iterator[Row]:
    for form, generic in (("", False), (", generic form", True)):
        yield Row("text", f"reading and verifying{form}", partial(reading, generic), target=SPEED, unit="ns/op")
        yield Row("text", f"printing{form}", partial(printing, generic), target=SPEED, unit="ns/op")
    yield Row("text", "reading four times as much", longer, "reading", unit="ns/op")
    yield Row("text", "memory of reading, at most", memory, target=MEMORY, unit="bytes/op")
    yield Row("text", "reading and printing", beside_mlir_opt, "mlir-opt", unit="ns/op")
    yield Row("text", "reading and printing", beside_xdsl, xdsl_peer.NAME, unit="ns/op")


def _text(sizes: Sizes, generic: bool = False) -> str:
    text = straight_line(sizes.ops)
    return hu.print_module(hu.load(text), generic=True) if generic else text


def reading(generic: bool, sizes: Sizes) -> Measured:
    text = _text(sizes, generic)
    return nanoseconds(best(lambda: hu.load(text), rounds=2), sizes.ops)


def printing(generic: bool, sizes: Sizes) -> Measured:
    module = hu.load(_text(sizes))
    return nanoseconds(best(lambda: hu.print_module(module, generic=generic), rounds=2), sizes.ops)


def longer(sizes: Sizes) -> Measured:
    """That the time grows as the text does."""
    text, four = _text(sizes), straight_line(4 * sizes.ops)
    short, long = best(lambda: hu.load(text), lambda: hu.load(four), rounds=2)
    return Measured(long / sizes.ops / 4 * 1e9, short / sizes.ops * 1e9)


def memory(sizes: Sizes) -> Measured:
    """The most memory that reading takes at once, the text itself left out."""
    text = _text(sizes)
    tracemalloc.start()
    module = hu.load(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert module.body
    return Measured(peak / sizes.ops)


def beside_mlir_opt(sizes: Sizes) -> Measured:
    """mlir-opt in a process of its own, the start of which is in its time."""
    opt, _ = mlir.tools()
    text = _text(sizes)
    mine, theirs = best(lambda: hu.print_module(hu.load(text)), lambda: opt.run(["-"], text), rounds=2)
    return nanoseconds((mine, theirs), sizes.ops)


def beside_xdsl(sizes: Sizes) -> Measured:
    """A tenth of the ops, since it takes long."""
    ops = max(1, sizes.ops // 10)
    text = straight_line(ops)
    mine, theirs = best(lambda: hu.print_module(hu.load(text)), lambda: xdsl_peer.read_and_print(text), rounds=2)
    return nanoseconds((mine, theirs), ops)
