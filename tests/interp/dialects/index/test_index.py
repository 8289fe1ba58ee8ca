"""The index dialect: integers of the machine's width, checked by Python's integers and by mlir-runner."""

from collections.abc import Callable
from itertools import product

import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool

VALUES = [0, 1, 2, 3, 7, 31, 63, 64, -1, -2, -3, (1 << 62), (1 << 63) - 1, -(1 << 63), -(1 << 63) + 1]


def unsigned(number: int) -> int:
    return number % (1 << 64)


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "divs": toward_zero,
    "divu": lambda a, b: unsigned(a) // unsigned(b),
    "ceildivs": lambda a, b: -(-a // b),
    "ceildivu": lambda a, b: -(-unsigned(a) // unsigned(b)),
    "floordivs": lambda a, b: a // b,
    "rems": lambda a, b: a - b * toward_zero(a, b),
    "remu": lambda a, b: unsigned(a) % unsigned(b),
    "maxs": max,
    "maxu": lambda a, b: max(unsigned(a), unsigned(b)),
    "mins": min,
    "minu": lambda a, b: min(unsigned(a), unsigned(b)),
    "shl": lambda a, b: a << b,
    "shrs": lambda a, b: a >> b,
    "shru": lambda a, b: unsigned(a) >> b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: unsigned(a) < unsigned(b),
    "ule": lambda a, b: unsigned(a) <= unsigned(b),
    "ugt": lambda a, b: unsigned(a) > unsigned(b),
    "uge": lambda a, b: unsigned(a) >= unsigned(b),
}
FUNCTIONS = "\n".join(
    [
        f"func.func @{name}(%a: index, %b: index) -> index {{\n  %0 = index.{name} %a, %b\n  return %0 : index\n}}"
        for name in OPS
    ]
    + [
        f"func.func @{name}(%a: index, %b: index) -> i1 {{\n  %0 = index.cmp {name}(%a, %b)\n  return %0 : i1\n}}"
        for name in COMPARISONS
    ]
)
MODULE = hu.parse(FUNCTIONS)


def defined(name: str, a: int, b: int) -> bool:
    """Tell whether an op has a result: neither poison nor undefined behaviour."""
    if name in ("shl", "shrs", "shru"):
        return 0 <= b < 64
    if "div" in name or "rem" in name:
        overflows = name in ("divs", "ceildivs", "floordivs") and (a, b) == (-(1 << 63), -1)
        return b != 0 and not overflows
    return True


@pytest.mark.parametrize("name", [*OPS, *COMPARISONS])
def test_each_op_on_hard_values(name: str) -> None:
    pairs = [pair for pair in product(VALUES, VALUES) if defined(name, *pair)]
    columns = [[unsigned(pair[k]) for pair in pairs] for k in (0, 1)]
    found = hu.run(MODULE, *(hu.Value.from_bits(column, "index") for column in columns), function=name, batch=True)[0]
    wanted = [unsigned({**OPS, **COMPARISONS}[name](a, b)) for a, b in pairs]
    assert found.bits.tolist() == wanted


@pytest.mark.parametrize("name", ["divs", "divu", "ceildivs", "ceildivu", "floordivs", "rems", "remu"])
def test_division_by_zero_is_undefined(name: str) -> None:
    with pytest.raises(hu.UndefinedBehavior, match="division by zero|remainder by zero"):
        hu.run(MODULE, 1, 0, function=name)


@pytest.mark.parametrize("name", ["shl", "shrs", "shru"])
def test_a_shift_by_the_width_is_poison(name: str) -> None:
    assert bool(hu.run(MODULE, 1, 64, function=name)[0].poisoned)


def test_casts_and_constants() -> None:
    module = """func.func @f(%a: i8, %i: index) -> (index, index, i8, i128, i128, index, index, i1) {
  %0 = index.casts %a : i8 to index
  %1 = index.castu %a : i8 to index
  %2 = index.casts %i : index to i8
  %3 = index.casts %i : index to i128
  %4 = index.castu %i : index to i128
  %5 = index.constant -3
  %6 = index.sizeof
  %7 = index.bool.constant true
  return %0, %1, %2, %3, %4, %5, %6, %7 : index, index, i8, i128, i128, index, index, i1
}"""
    found = [value.item() for value in hu.run(module, -1, -300)]
    assert found == [-1, 255, -44, -300, (1 << 64) - 300, -3, 64, True]
    assert [value.item() & 0xFFFFFFFF for value in hu.run(module, -1, 0, index_width=32)[5:7]] == [(1 << 32) - 3, 32]


# index.ceildivs of the smallest number by a positive one: the code of -convert-index-to-llvm negates it.
WRONG_THERE = {("ceildivs", -(1 << 63), b) for b in VALUES if b > 1}
PASSES = (
    "-convert-vector-to-llvm -convert-index-to-llvm -convert-func-to-llvm -convert-arith-to-llvm "
    "-reconcile-unrealized-casts"
)


@pytest.mark.mlir
def test_mlir_runner_computes_the_same() -> None:
    """All pairs but those on which the lowered code traps."""
    rows = [
        (name, a, b)
        for name in OPS
        for a, b in product(VALUES, VALUES)
        if defined(name, a, b) and not (b == -1 and name in ("ceildivs", "floordivs", "rems"))
    ]
    lines = []
    for k, (name, a, b) in enumerate(rows):
        lines += [f"  %a{k} = index.constant {a}", f"  %b{k} = index.constant {b}"]
        lines += [f"  %r{k} = func.call @{name}(%a{k}, %b{k}) : (index, index) -> index"]
        lines += [f"  %i{k} = index.casts %r{k} : index to i64", f"  vector.print %i{k} : i64"]
    text = FUNCTIONS + "\nfunc.func @main() {\n" + "\n".join(lines) + "\n  return\n}"
    opt, runner = (find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22") for name in ("opt", "runner"))
    lowered = opt.run(PASSES.split(), text)
    options = ["-e", "main", "-entry-point-result=void", "-O0", f"-shared-libs={library(runner, UTILITIES)}"]
    printed = runner.run(options, lowered, 60)
    differ = {
        row
        for row, line in zip(rows, printed.split(), strict=True)
        if unsigned(int(line)) != unsigned(OPS[row[0]](*row[1:]))
    }
    assert differ == WRONG_THERE
