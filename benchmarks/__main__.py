"""Measures halfulp beside its peers, in one process, and prints a table: ``make bench``, or ``python benchmarks``.

Every row gives the best of several runs of both sides, alternating, and their ratio; ratios carry over to other
machines, times do not. Targets are upper bounds on the ratio, or on the time where there is no peer. "copies" is how
often the operand could have been copied in the time.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS

SIZE = 1_000_000
LARGE = 4_000_000  # elements, of what takes least
ROUNDS = 7


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float
    peer: str = ""
    peer_seconds: float | None = None
    per: int = 1
    target: str = ""
    copy_seconds: float | None = None
    # Instead of a time.
    measure: str = ""

    def cells(self) -> list[str]:
        ratio = "" if self.peer_seconds is None else f"{self.seconds / self.peer_seconds:.2f}"
        theirs = "" if self.peer_seconds is None else spell(self.peer_seconds)
        each = f"{self.seconds / self.per * 1e9:.2f}" if self.per > 1 else ""
        copies = "" if self.copy_seconds is None else f"{self.seconds / self.copy_seconds:.1f}"
        return [self.name, self.measure or spell(self.seconds), each, self.peer, theirs, ratio, copies, self.target]


def spell(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def best(*sides: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """The best time of each side over several rounds, the sides taking turns."""
    times = [float("inf")] * len(sides)
    for _ in range(rounds):
        for index, side in enumerate(sides):
            start = time.perf_counter()
            side()
            times[index] = min(times[index], time.perf_counter() - start)
    return times


# --- programs ---------------------------------------------------------------------------------------------------------

CHAIN = ["mulf", "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "addf", "mulf", "subf"]


def chain(element: str) -> str:
    """Ten ops on two tensors, each on the last result and one of the arguments."""
    tensor = f"tensor<{SIZE}x{element}>"
    lines = [f"func.func @main(%x: {tensor}, %y: {tensor}) -> {tensor} {{"]
    last = "%x"
    for number, op in enumerate(CHAIN):
        lines.append(f"  %{number} = arith.{op} {last}, %y : {tensor}")
        last = f"%{number}"
    return "\n".join([*lines, f"  return {last} : {tensor}", "}"])


def numpy_chain(x: Any, y: Any) -> Any:
    for op in CHAIN:
        match op:
            case "mulf":
                x = x * y
            case "addf":
                x = x + y
            case "subf":
                x = x - y
            case "divf":
                x = x / y
            case "maximumf":
                x = np.maximum(x, y)
            case "minimumf":
                x = np.minimum(x, y)
    return x


def straight_line(ops: int) -> str:
    """Scalar integer and f32 ops in one block."""
    names = ("addi", "muli", "xori", "subi")
    lines = ["func.func @main(%a: i32, %b: i32) -> i32 {"]
    one, two = "%a", "%b"
    for number in range(ops):
        lines.append(f"  %{number} = arith.{names[number % 4]} {one}, {two} : i32")
        one, two = two, f"%{number}"
    return "\n".join([*lines, f"  return {two} : i32", "}"])


LOOP = """
func.func @main(%n: i32, %x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  cf.br ^head(%zero, %x : i32, i32)
^head(%i: i32, %sum: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^done
^body:
  %a = arith.muli %sum, %x : i32
  %b = arith.addi %a, %i : i32
  %c = arith.xori %b, %sum : i32
  %d = arith.subi %c, %one : i32
  %next = arith.addi %i, %one : i32
  cf.br ^head(%next, %d : i32, i32)
^done:
  return %sum : i32
}
"""


# --- rows -------------------------------------------------------------------------------------------------------------


def chains() -> list[Row]:
    random = np.random.Generator(np.random.Philox(1))
    rows = []
    for element, dtype, target in (
        ("f32", np.float32, "<= 3"),
        ("f64", np.float64, ""),
        ("bf16", ml_dtypes.bfloat16, ""),
    ):
        x = random.uniform(0.5, 2, SIZE).astype(dtype)
        y = random.uniform(0.5, 2, SIZE).astype(dtype)
        module = hu.load(chain(element))
        (ours,) = hu.run(module, x, y)
        assert np.array_equal(ours.bits, numpy_chain(x, y).view(ours.bits.dtype)), element
        mine, theirs = best(lambda m=module, a=x, b=y: hu.run(m, a, b), lambda a=x, b=y: numpy_chain(a, b))
        peer = "NumPy" if element != "bf16" else "ml_dtypes"
        rows.append(Row(f"ten-op {element} chain, {SIZE:,} elements", mine, peer, theirs, 10 * SIZE, target))
    return rows


def scalars() -> list[Row]:
    text = straight_line(100_000)
    module = hu.parse(text)
    first = time.perf_counter()
    hu.run(module, 3, 5)
    first = time.perf_counter() - first
    loop = hu.load(LOOP)
    again, looping = best(lambda: hu.run(module, 3, 5), lambda: hu.run(loop, 12_500, 3))
    return [
        Row("100,000 scalar ops in a loop", looping, per=100_000, target="< 500 ms"),
        Row("100,000 scalar ops in a line, compiled", again, per=100_000, target="< 500 ms"),
        Row("the same, first run, compiling included", first, per=100_000),
    ]


def texts() -> list[Row]:
    """Reading and printing 100,000 ops, beside mlir-opt 22 and xDSL where they are installed."""
    count = 100_000
    text = straight_line(count)
    module = hu.parse(text)
    generic = hu.print_module(module, generic=True)
    parsing, reading, printing, spelling = best(
        lambda: hu.parse(text),
        lambda: hu.parse(generic),
        lambda: hu.print_module(module),
        lambda: hu.print_module(module, generic=True),
    )
    rows = [
        Row("parsing, verifying 100,000 ops", parsing, per=count, target="< 833 ms"),
        Row("the same in generic form", reading, per=count),
        Row("printing 100,000 ops", printing, per=count, target="< 833 ms"),
        Row("the same in generic form", spelling, per=count),
        Row("peak memory of parsing, per op", 0, target="< 3,000", measure=f"{peak_bytes(text) / count:,.0f} bytes"),
    ]
    longer = straight_line(4 * count)
    start = time.perf_counter()
    hu.parse(longer)
    rows.append(Row("parsing 400,000 ops", time.perf_counter() - start, "100,000 ops", parsing, 4 * count, "about 4"))
    for name, peer in (("mlir-opt-22", mlir_opt), ("xDSL", xdsl)):
        seconds = peer(text)
        if seconds is None:
            print(f"{name} is not installed: no row for it")
        else:
            rows.append(Row("reading and printing 100,000 ops", parsing + printing, name, seconds, count))
    return rows


def peak_bytes(text: str) -> float:
    """The most memory that reading a text takes at once, the text itself left out."""
    tracemalloc.start()
    module = hu.parse(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert module.body
    return float(peak)


def mlir_opt(text: str) -> float | None:
    """Seconds to read, verify and print in a process of its own."""
    tool = shutil.which("mlir-opt-22")
    if tool is None:
        return None
    return best(lambda: subprocess.run([tool, "-"], input=text.encode(), check=True, capture_output=True))[0]


def xdsl(text: str) -> float | None:
    """Seconds to read, verify and print once: it takes long."""
    if importlib.util.find_spec("xdsl") is None:
        return None
    from io import StringIO

    from xdsl.context import Context
    from xdsl.dialects import arith, builtin, func
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    context = Context()
    for dialect in (arith.Arith, builtin.Builtin, func.Func):
        context.load_dialect(dialect)
    start = time.perf_counter()
    module = Parser(context, text).parse_module()
    module.verify()
    Printer(StringIO()).print_op(module)
    return time.perf_counter() - start


SMALL = tuple(name for name, fmt in FORMATS.items() if fmt.bits <= 8)
# By source and destination: the highest ratio, and the most copies, that will do.
CONVERSIONS = {
    **{("f32", name): "<= 0.17, 7 copies" if name != "f8E8M0FNU" else "<= 0.2, 7 copies" for name in SMALL},
    **{(name, "f32"): "<= 0.17" for name in SMALL},
    ("f8E4M3FN", "f8E5M2"): "<= 0.11",
    ("f8E5M2", "f8E4M3FNUZ"): "<= 0.11",
    ("f16", "f8E4M3FN"): "<= 0.11",
    ("bf16", "f8E5M2"): "<= 0.11",
    ("f64", "f8E4M3FN"): "<= 0.17",
    ("f64", "f8E5M2"): "<= 0.17",
    ("f32", "f16"): "<= 1.25",
    ("f16", "f32"): "",
    ("f32", "bf16"): "<= 1.54",
    ("bf16", "f32"): "<= 2.86",
}
OPS = {
    **{(name, op): "<= 0.1" for name in ("f8E4M3FN", "f8E5M2") for op in ("addf", "mulf", "divf")},
    ("bf16", "addf"): "<= 0.83",
    ("bf16", "divf"): "<= 0.83",
    **{("f16", op): "<= 1" for op in ("addf", "mulf", "divf")},
}
UFUNCS = {"addf": np.add, "mulf": np.multiply, "divf": np.divide}


def peer_of(*names: str) -> str:
    return "NumPy" if set(names) <= {"f16", "f32", "f64"} else "ml_dtypes"


def sample(name: str) -> Any:
    """A normal distribution, or, of few bits, all codes."""
    random = np.random.Generator(np.random.Philox(2))
    dtype = hu.convert(np.float32([1]), name).numpy().dtype
    if FORMATS[name].bits <= 8:
        return random.integers(0, 1 << FORMATS[name].bits, LARGE, np.uint8).view(dtype)
    return random.standard_normal(LARGE).astype(dtype)


def conversions() -> list[Row]:
    rows = []
    for (source, destination), target in CONVERSIONS.items():
        x = sample(source)
        dtype, copy = sample(destination).dtype, np.empty_like(x)
        with np.errstate(all="ignore"):
            mine, theirs, copying = best(
                lambda a=x, to=destination: hu.convert(a, to),
                lambda a=x, to=dtype: a.astype(to),
                lambda a=x, to=copy: np.copyto(to, a),
                rounds=3 * ROUNDS,  # they are short, so that others on the machine disturb them more
            )
        name = f"{source} to {destination}, {LARGE:,} elements"
        rows.append(Row(name, mine, peer_of(source, destination), theirs, LARGE, target, copying))
    return rows


def narrow_ops() -> list[Row]:
    rows = []
    for (element, op), target in OPS.items():
        tensor = f"tensor<{LARGE}x{element}>"
        module = hu.load(f"""func.func @main(%x: {tensor}, %y: {tensor}) -> {tensor} {{
            %0 = arith.{op} %x, %y : {tensor}
            return %0 : {tensor}
        }}""")
        x = sample(element)
        y, copy = x[::-1].copy(), np.empty_like(x)
        with np.errstate(all="ignore"):
            mine, theirs, copying = best(
                lambda m=module, a=x, b=y: hu.run(m, a, b),
                lambda f=UFUNCS[op], a=x, b=y: f(a, b),
                lambda a=x, to=copy: np.copyto(to, a),
                rounds=3 * ROUNDS,  # they are short, so that others on the machine disturb them more
            )
        name = f"arith.{op} of {element}, {LARGE:,} elements"
        rows.append(Row(name, mine, peer_of(element), theirs, LARGE, target, copying))
    return rows


def starting() -> list[Row]:
    def run(*arguments: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    bare, helping, importing = best(run("-c", "pass"), run("-m", "halfulp.cli", "--help"), run("-c", "import halfulp"))
    return [
        Row("halfulp --help", helping, "python -c pass", bare, target="< 300 ms"),
        Row("import halfulp", importing, "python -c pass", bare),
    ]


def main() -> None:
    head = ["what", "time", "ns each", "peer", "its time", "ratio", "copies", "target"]
    rows = [
        head,
        *(row.cells() for group in (chains, scalars, texts, conversions, narrow_ops, starting) for row in group()),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
    print(f"{platform.machine()}, {versions}")
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print(row[0].ljust(widths[0]), *cells[1:], sep="  ")


if __name__ == "__main__":
    main()
