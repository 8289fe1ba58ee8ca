"""Measure reading and printing MLIR text, and reading and writing bytecode, compared with mlir-opt and xDSL."""

from __future__ import annotations

import subprocess
import tempfile
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import halfulp as hu
from benchmarks import mlir, xdsl_peer
from benchmarks.programs import straight_line
from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, best, nanoseconds
from halfulp.interp.bytecode.index import Container

SPEED = Target(most=8333)  # 120,000 ops a second
MEMORY = Target(most=3000)
READ = Target(most=4545)  # 220,000
BYTECODE_WRITTEN = Target(most=10000)  # 100,000


def rows() -> Iterator[Row]:
    for form, generic, target in (("", False, READ), (", generic form", True, SPEED)):
        yield Row("text", f"reading and verifying{form}", partial(reading, generic), target=target, unit="ns/op")
        yield Row("text", f"printing{form}", partial(printing, generic), target=SPEED, unit="ns/op")
    yield Row("text", "reading four times as many ops", longer, "reading", unit="ns/op")
    yield Row("text", "memory for reading (largest)", memory, target=MEMORY, unit="bytes/op")
    yield Row("text", "reading and printing", beside_mlir_opt, "mlir-opt", unit="ns/op")
    yield Row("text", "reading and printing", beside_xdsl, xdsl_peer.NAME, unit="ns/op")
    yield Row("text", "reading and verifying bytecode", reading_bytecode, target=READ, unit="ns/op")
    yield Row("text", "writing bytecode", writing_bytecode, target=BYTECODE_WRITTEN, unit="ns/op")
    yield Row("text", "reading and writing bytecode", bytecode_beside_mlir_opt, "mlir-opt", unit="ns/op")


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
    """Measure how the time grows with the text."""
    text, four = _text(sizes), straight_line(4 * sizes.ops)
    short, long = best(lambda: hu.load(text), lambda: hu.load(four), rounds=2)
    return Measured(long / sizes.ops / 4 * 1e9, short / sizes.ops * 1e9)


def memory(sizes: Sizes) -> Measured:
    """Measure the largest memory that reading takes at one time, without the text itself."""
    text = _text(sizes)
    tracemalloc.start()
    module = hu.load(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert module.body
    return Measured(peak / sizes.ops)


def beside_mlir_opt(sizes: Sizes) -> Measured:
    """Compare with mlir-opt in its own process; its time includes the start."""
    opt, _ = mlir.tools()
    text = _text(sizes)
    mine, theirs = best(lambda: hu.print_module(hu.load(text)), lambda: opt.run(["-"], text), rounds=2)
    return nanoseconds((mine, theirs), sizes.ops)


def beside_xdsl(sizes: Sizes) -> Measured:
    """Compare with xDSL on a tenth of the ops, because xDSL takes long."""
    ops = max(1, sizes.ops // 10)
    text = straight_line(ops)
    mine, theirs = best(lambda: hu.print_module(hu.load(text)), lambda: xdsl_peer.read_and_print(text), rounds=2)
    return nanoseconds((mine, theirs), ops)


def reading_bytecode(sizes: Sizes) -> Measured:
    data = hu.write_bytecode(hu.load(_text(sizes)))
    return nanoseconds(best(lambda: hu.load(data), rounds=2), sizes.ops)


def writing_bytecode(sizes: Sizes) -> Measured:
    module = hu.load(_text(sizes))
    return nanoseconds(best(lambda: hu.write_bytecode(module), rounds=2), sizes.ops)


def bytecode_beside_mlir_opt(sizes: Sizes) -> Measured:
    """Compare with mlir-opt in its own process, from file to file. Both write the same bytes."""
    opt, _ = mlir.tools()
    with tempfile.TemporaryDirectory() as folder:
        text, given, written = (Path(folder) / name for name in ("in.mlir", "in.mlirbc", "out.mlirbc"))
        text.write_text(_text(sizes), encoding="utf-8")
        subprocess.run([opt.path, text, "--emit-bytecode", "-o", given], check=True)
        data = given.read_bytes()
        producer = Container(data).producer
        if hu.write_bytecode(hu.load(given), producer=producer) != data:
            raise Disagreement("what is written is not what mlir-opt writes")
        command = [opt.path, given, "--emit-bytecode", "-o", written]
        mine, theirs = best(
            lambda: hu.write_bytecode(hu.load(given), producer=producer),
            lambda: subprocess.run(command, check=True),
            rounds=2,
        )
    return nanoseconds((mine, theirs), sizes.ops)
