"""affine.apply: its arithmetic against exact numbers and mlir-opt's folder, its errors, and what may be a symbol."""

import random
import re
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.dialects.affine.formulas import DIVISION, REMAINDER, Formula, apply_kernel
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.text.parser import parse_attribute
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.buffers import buffer_of
from halfulp.semantics.kernel import Fault, Kernel

Number = int | str


def module(expression: str, dimensions: int = 1, symbols: int = 1) -> str:
    """Return a function that applies one map to its arguments."""
    names = [f"%x{k}" for k in range(dimensions + symbols)]
    arguments = ", ".join(f"{name}: index" for name in names)
    formal = ", ".join(f"d{k}" for k in range(dimensions)), ", ".join(f"s{k}" for k in range(symbols))
    actual = ", ".join(names[:dimensions]), ", ".join(names[dimensions:])
    return (
        f"func.func @f({arguments}) -> index {{\n"
        f"  %0 = affine.apply affine_map<({formal[0]})[{formal[1]}] -> ({expression})>({actual[0]})[{actual[1]}]\n"
        "  return %0 : index\n}\n"
    )


def value(expression: str, *arguments: int, symbols: int = 1, **options: object) -> int:
    (result,) = hu.run(module(expression, len(arguments) - symbols, symbols), *arguments, **options)  # type: ignore[arg-type]
    return int(result.item())


class Expression:
    """A random expression: its text, and its exact value by rounding as the language document says."""

    value: Callable[[Mapping[str, int]], int]

    def __init__(self, rng: random.Random, depth: int) -> None:
        self.symbolic = False
        if depth == 0 or rng.random() < 0.15:
            kind = rng.choice("dsc")
            number = rng.choice([0, 1, 2, 3, 4, 7, 8, 16, 100, 256]) if kind == "c" else rng.randrange(2)
            self.text = str(number) if kind == "c" else f"{kind}{number}"
            self.value = lambda values: number if kind == "c" else values[f"{kind}{number}"]
            self.symbolic = kind != "d"
            return
        operator = rng.choice(["+", "-", "*", "floordiv", "ceildiv", "mod"])
        left, right = Expression(rng, depth - 1), Expression(rng, depth - 1)
        while operator not in "+-" and not right.symbolic:
            right = Expression(rng, depth - 1)
        self.symbolic = left.symbolic and right.symbolic
        self.text = f"({left.text} {operator} {right.text})"
        self.value = lambda values: _exact(operator, left.value(values), right.value(values))


def _exact(operator: str, a: int, b: int) -> int:
    if operator in ("floordiv", "ceildiv", "mod") and b <= 0:
        raise ZeroDivisionError
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "floordiv":
            return (a - a % b) // b
        case "ceildiv":
            return (a + (-a) % b) // b
    return a - b * ((a - a % b) // b)


@pytest.mark.long
def test_random_expressions_have_their_exact_values() -> None:
    rng = random.Random(1)
    defined = 0
    for _ in range(400):
        expression = Expression(rng, 3)
        arguments = [rng.randint(-60, 60) for _ in range(4)]
        try:
            expected = expression.value(dict(zip(["d0", "d1", "s0", "s1"], arguments, strict=True)))
        except ZeroDivisionError:
            # What is divided by a number that is not positive may also have been simplified away.
            continue
        defined += 1
        assert value(expression.text, *arguments, symbols=2) == expected, (expression.text, arguments)
    assert defined > 150


def kernel(expression: str, width: int) -> Kernel:
    map = parse_attribute(f"affine_map<(d0, d1)[s0] -> ({expression})>")
    assert isinstance(map, AffineMapAttr)
    return apply_kernel(Formula.of(map.results[0], 2, 1), width)


CORNERS = [0, 1, 2, 3, 7, 64, (1 << 31) - 1, -1, -2, -7, -(1 << 31), (1 << 63) - 1, -(1 << 63), -(1 << 63) + 1]


@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize(
    "expression",
    [
        "d0 + d1 * s0",
        "(d0 + d1 + s0) floordiv 3 + d0 + d1",
        "d0 floordiv s0 - d1 ceildiv 7",
        "(d0 * s0) mod 16 + d1 mod s0",
        "(d0 + d1) ceildiv (s0 + 1) + (d0 mod s0) floordiv 3",
        "s0",
        "5",
    ],
)
def test_arrays_get_what_each_element_gets_alone(expression: str, width: int) -> None:
    found = kernel(expression, width)
    mask = (1 << width) - 1
    rows = [(a & mask, b & mask, s & mask) for a in CORNERS for b in CORNERS for s in CORNERS]
    columns = [np.array(column, np.uint64) for column in zip(*rows, strict=True)]
    outcome = found.array(*columns)
    expected = [found.scalar(*row) for row in rows]
    first: list[Fault | None] = [None] * len(rows)
    for fault, where in reversed(outcome.faults):
        for index in np.flatnonzero(where):
            first[index] = fault
    assert first == [result if isinstance(result, Fault) else None for result in expected]
    for code, result in zip(outcome.results[0], expected, strict=True):
        assert isinstance(result, Fault) or code == result
    # One number for all, of rank 0, and all numbers of rank 0.
    mixed = found.array(columns[0], np.uint64(3).reshape(1), np.uint64(5).reshape(1))
    for a, code in zip(columns[0], mixed.results[0].tolist(), strict=True):
        wanted = found.scalar(int(a), 3, 5)
        assert isinstance(wanted, Fault) or code == wanted
    alone = found.array(*(np.array(k, np.uint64) for k in (9, 3, 5)))
    assert alone.results[0].shape == ()
    assert int(alone.results[0]) == found.scalar(9, 3, 5)


def test_division_rounds_by_its_name() -> None:
    least = -(1 << 63)
    assert [value("d0 floordiv s0", a, 4) for a in (-5, -4, -1, 0, 3, 4)] == [-2, -1, -1, 0, 0, 1]
    assert [value("d0 ceildiv s0", a, 4) for a in (-5, -4, -1, 0, 3, 4)] == [-1, -1, 0, 0, 1, 1]
    assert [value("d0 mod s0", a, 4) for a in (-5, -4, -1, 0, 3, 4)] == [3, 0, 3, 0, 3, 0]
    assert value("d0 ceildiv s0", least, 2) == -(1 << 62)


MOST, LEAST = (1 << 63) - 1, -(1 << 63)
# Expressions of d0 and s0, the numbers, and the result; None for poison.
OVERFLOWING = [
    ("d0 + s0", MOST, 0, MOST),
    ("d0 + s0", MOST, 1, None),
    ("d0 - s0", LEAST + 5, 5, LEAST),
    ("d0 - s0", LEAST + 5, 6, None),
    # Negating the least number overflows.
    ("d0 - s0", -1, LEAST, None),
    ("d0 * 4 + s0", MOST // 4, 0, MOST - 3),
    ("d0 * 4 + s0", MOST // 4 + 1, 0, None),
    # The sum of the two would fit, but a product does not.
    ("d0 * 4 + s0", MOST // 4 + 1, -100, None),
    # Of a sum only the total counts.
    ("d0 + s0 + -1", MOST, 1, MOST),
    ("d0 + s0 + s0", LEAST, -1, None),
    ("(d0 + s0) * 2", MOST, 1, None),
    ("(d0 + s0) mod 2 + 1", MOST, 1, None),
    ("d0 * s0", 1 << 62, 2, None),
    ("d0 * s0", 1 << 62, -2, LEAST),
    ("d0 * s0", -1, LEAST, None),
    ("d0 * s0", LEAST, -1, None),
    ("d0 * s0", 0, LEAST, 0),
    ("(d0 * 4) mod 8 + s0", 1 << 62, 0, None),
    ("(d0 * 4) floordiv 3 + s0", 1 << 62, 0, None),
    ("d0 mod 8 + s0", LEAST, 0, 0),
    ("d0 ceildiv 2 + s0", LEAST, 0, -(1 << 62)),
]


@pytest.mark.parametrize(("expression", "d0", "s0", "wanted"), OVERFLOWING)
def test_overflow_is_poison(expression: str, d0: int, s0: int, wanted: int | None) -> None:
    (alone,) = hu.run(module(expression), d0, s0)
    (lanes,) = hu.run(module(expression), np.array([d0, 1]), np.array([s0, 1]), batch=True)
    assert lanes.poisoned.tolist() == [wanted is None, False]
    assert alone.poisoned.all() == (wanted is None)
    if wanted is None:
        origin = alone.origin()
        assert origin is not None
        assert (origin.op, origin.reason) == ("affine.apply", "overflow of affine arithmetic on index")
    else:
        assert alone.item() == lanes.numpy()[0] == wanted


def test_overflow_at_32_bits() -> None:
    for expression, d0, s0 in (("d0 * s0", 1 << 20, 1 << 12), ("d0 + s0", (1 << 31) - 1, 1)):
        (wide,) = hu.run(module(expression), d0, s0)
        (narrow,) = hu.run(module(expression), d0, s0, index_width=32)
        assert narrow.poisoned.all()
        assert not wide.poisoned.any()
        lanes: Any = hu.run(module(f"{expression} - 5"), np.array([d0]), np.array([s0]), batch=True, index_width=32)[0]
        assert lanes.poisoned.all() == ("*" in expression)
    assert value("d0 * s0", 1 << 20, (1 << 11) - 1, index_width=32) == (1 << 31) - (1 << 20)


def test_a_divisor_that_overflows_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="division by a number that is not positive"):
        hu.run(module("d0 floordiv (s0 * 4)"), 1, 1 << 62)
    # Undefined behaviour comes before poison.
    with pytest.raises(hu.UndefinedBehavior, match="division by a number that is not positive"):
        hu.run(module("d0 * 4 + 5 floordiv s0"), 1 << 62, 0)


def test_a_map_without_operands() -> None:
    text = module("3 * 4", 0, 0)
    assert hu.run(text)[0].item() == 12
    assert hu.run(text, track_open=True)[0].item() == 12
    with pytest.raises(hu.UndefinedBehavior, match="division by a number that is not positive"):
        hu.run(module("5 floordiv 0", 0, 0))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [("d0 floordiv s0", DIVISION), ("d0 ceildiv s0", DIVISION), ("d0 mod s0", REMAINDER)],
)
@pytest.mark.parametrize("divisor", [0, -1, -4, -(1 << 63)])
def test_a_divisor_that_is_not_positive_is_undefined(expression: str, reason: Fault, divisor: int) -> None:
    text = module(expression)
    with pytest.raises(hu.UndefinedBehavior) as raised:
        hu.run(text, 12, divisor)
    assert f"{reason.reason}: mapOperands[0] = 12, mapOperands[1] = {divisor}" in raised.value.message
    assert raised.value.op == "affine.apply"
    assert str(raised.value.location).endswith("2:8")
    (result,) = hu.run(text, 12, divisor, on_ub="poison")
    assert result.poisoned.all()


def test_lanes() -> None:
    text = module("d0 ceildiv s0 + 1")
    numbers = np.arange(-50, 50)
    (result,) = hu.run(text, numbers, 7, batch=True)
    assert result.numpy().tolist() == [-(-n // 7) + 1 for n in range(-50, 50)]
    divisors = np.array([1, 2, 0, 3, -1])
    with pytest.raises(hu.UndefinedBehavior, match=r"lane 2; 2 of 5 lanes") as raised:
        hu.run(text, 9, divisors, batch=True)
    assert raised.value.lanes is not None
    assert raised.value.lanes.tolist() == [2, 4]
    (result,) = hu.run(text, 9, divisors, batch=True, on_ub="poison")
    assert result.poisoned.tolist() == [False, False, True, False, True]


POISON = """
func.func @f(%x: index) -> index {{
  %p = ub.poison : index
  %0 = affine.apply affine_map<(d0)[s0] -> ({expression})>({operands}]
  return %0 : index
}}
"""


def test_poison() -> None:
    for expression, operands in (("d0 + s0", "%p)[%x"), ("d0 + s0", "%x)[%p"), ("d0 floordiv s0", "%p)[%x")):
        (result,) = hu.run(POISON.format(expression=expression, operands=operands), 3)
        assert result.poisoned.all()
        origin = result.origin()
        assert origin is not None
        assert origin.op == "ub.poison"
    for expression in ("d0 floordiv s0", "d0 mod s0", "d0 ceildiv (s0 + 1)"):
        with pytest.raises(hu.UndefinedBehavior, match=r"mapOperands\[1\] = poison"):
            hu.run(POISON.format(expression=expression, operands="%x)[%p"), 3)


def test_constants_that_do_not_fit_32_bits() -> None:
    text = module("d0 + s0 + 5000000000")
    assert hu.run(text, 1, 2)[0].item() == 5000000003
    with pytest.raises(hu.TypeMismatch, match="a constant of the affine map: 5000000000 does not fit the 32 bits"):
        hu.run(text, 1, 2, index_width=32)


# --- mlir-opt ---------------------------------------------------------------------------------------------------------


@pytest.mark.mlir
def test_the_folder_of_mlir_agrees() -> None:
    """600 expressions on constants, small ones and those at the ends; what the folder says is poison is undefined."""
    rng = random.Random(7)
    texts, arguments = [], []
    ends = [(1 << 63) - 1, -(1 << 63), 1 << 62, -(1 << 62) - 1]
    for _ in range(600):
        expression = Expression(rng, 3)
        texts.append(expression.text)
        # Dividing the least number by -1 stops mlir-opt 22.1.8 with a signal.
        wide = ends if not re.search("div|mod", expression.text) else [rng.randint(1, 5)]
        arguments.append([rng.choice([rng.randint(-50, 50), rng.randint(1, 20), rng.choice(wide)]) for _ in range(4)])
    program = ""
    for index, (text, row) in enumerate(zip(texts, arguments, strict=True)):
        constants = "".join(f"  %c{k} = arith.constant {number} : index\n" for k, number in enumerate(row))
        program += (
            f"func.func @f{index}() -> index {{\n{constants}"
            f"  %0 = affine.apply affine_map<(d0, d1)[s0, s1] -> ({text})>(%c0, %c1)[%c2, %c3]\n"
            "  return %0 : index\n}\n"
        )
    ran = subprocess.run(
        ["mlir-opt-22", "--canonicalize"], input=program, capture_output=True, encoding="utf-8", check=True
    )
    folded = re.findall(
        r"@f(\d+)\(\) -> index \{\n +%\S+ = (arith\.constant|ub\.poison) ?(-?\d*) ?: index\n +return", ran.stdout
    )
    compared = poisons = overflows = 0
    loaded = hu.load(program)
    for index, op, number in folded:
        try:
            (result,) = hu.run(loaded, function=f"f{index}")
        except hu.UndefinedBehavior:
            poisons += op == "ub.poison"
            continue
        # The folder wraps where affine arithmetic overflows.
        if result.poisoned.any():
            overflows += 1
            continue
        assert op == "arith.constant", texts[int(index)]
        assert result.item() == int(number), (texts[int(index)], arguments[int(index)])
        compared += 1
    assert compared > 300
    assert poisons > 50
    assert overflows > 4


@pytest.mark.mlir
def test_what_mlir_lowers_to_computes_the_same() -> None:
    """But for the ceildiv of the least number, of which MLIR 22 takes the negative: it is rounded from a positive one."""
    lowered = subprocess.run(
        ["mlir-opt-22", "--lower-affine"],
        input="".join(module(expression).replace("@f", f"@f{index}") for index, expression in enumerate(LOWERED)),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    there = hu.load(lowered.stdout)
    rng = random.Random(3)
    least = -(1 << 63)
    numbers = [
        *range(-40, 41),
        1 << 62,
        (1 << 63) - 1,
        least + 1,
        *(rng.randrange(least + 1, 1 << 63) for _ in range(99)),
    ]
    divisors = [*range(1, 10), 16, 255, 256, 1 << 62, (1 << 63) - 1]
    pairs = np.array([(a, b) for a in numbers for b in divisors], np.int64)
    for index, expression in enumerate(LOWERED):
        (here,) = hu.run(module(expression), pairs[:, 0], pairs[:, 1], batch=True)
        (lower,) = hu.run(there, pairs[:, 0], pairs[:, 1], batch=True, function=f"f{index}")
        # Products are marked as ones that do not wrap, sums are not.
        assert lower.poisoned.any() == ("*" in expression), expression
        assert (here.poisoned | ((here.bits == lower.bits) & ~lower.poisoned)).all(), expression
        assert here.poisoned.mean() < 0.5, expression
    assert value("d0 ceildiv s0", least, 3) == -3074457345618258602
    (wrong,) = hu.run(there, least, 3, function=f"f{LOWERED.index('d0 ceildiv s0')}")
    assert wrong.item() == 3074457345618258602


LOWERED = [
    "d0 floordiv s0",
    "d0 ceildiv s0",
    "d0 mod s0",
    "d0 floordiv 7 + (d0 mod 5) * s0 - d0 ceildiv 3",
    "(d0 + s0 * 4) mod 12 + s0 floordiv 2",
    "d0 * 4 + s0",
    "d0 * -3 - s0 * 5 + 7",
]
LOOP = """
func.func @f(%x: index, %t: tensor<?xf32>) {{
  "affine.for"() <{{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 0, 0>,
                   step = 1 : index, upperBoundMap = affine_map<() -> (10)>}}> ({{
  ^bb0(%i: index):
    {body}
    "affine.yield"() : () -> ()
  }}) : () -> ()
  return
}}
"""
SYMBOL = "%r = affine.apply affine_map<()[s0] -> (s0)>()[{}]"
REFUSED = [
    SYMBOL.format("%i"),
    "%c = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)\n" + SYMBOL.format("%c"),
    "%m = arith.muli %x, %x : index\n%c = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%i, %m)\n"
    + SYMBOL.format("%c"),
    "%d = tensor.dim %t, %x : tensor<?xf32>\n%c = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%i, %d)\n"
    + SYMBOL.format("%c"),
]
ACCEPTED = [
    SYMBOL.format("%x"),
    "%c = affine.apply affine_map<(d0) -> (d0 + 1)>(%x)\n" + SYMBOL.format("%c"),
    "%m = arith.muli %i, %x : index\n" + SYMBOL.format("%m"),
    "%m = arith.muli %i, %x : index\n%c = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%i, %m)\n"
    + SYMBOL.format("%c"),
    "%m = arith.divsi %x, %x : index\n%c = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%i, %m)\n"
    + SYMBOL.format("%c"),
    "%k = arith.constant 1 : index\nscf.for %j = %x to %x step %k {\n" + SYMBOL.format("%j") + "\n}",
]
MESSAGE = "dimensional operand cannot be used as a symbol"


@pytest.mark.parametrize("body", REFUSED)
def test_what_affine_loops_count_is_no_symbol(body: str) -> None:
    with pytest.raises(hu.errors.VerifyError, match=f"^<string>:[0-9]+:[0-9]+: error: {MESSAGE}$"):
        hu.load(LOOP.format(body=body))


@pytest.mark.parametrize("body", ACCEPTED)
def test_symbols(body: str) -> None:
    """A value that no loop counts is a symbol: the last affine.apply keeps it as one, also printed and read again."""
    module = hu.load(LOOP.format(body=body))
    again = hu.load(print_module(module))
    for read in (module, again):
        *_, apply = (op for op in read.walk() if op.name == "affine.apply")
        assert apply.properties["map"] == parse_attribute("affine_map<()[s0] -> (s0)>")
        (operand,) = apply.operands
        assert str(operand.type) == "index"
    assert print_module(again) == print_module(module)


@pytest.mark.mlir
def test_mlir_refuses_the_same_symbols() -> None:
    program = "\n// -----\n".join(LOOP.format(body=body) for body in (*REFUSED, *ACCEPTED))
    ran = subprocess.run(
        ["mlir-opt-22", "--split-input-file", "--verify-each"],
        input=program,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    lines = [int(line) for line in re.findall(rf"<stdin>:(\d+):\d+: error: {MESSAGE}$", ran.stderr, re.MULTILINE)]
    assert ran.stderr.count("error:") == len(lines) == len(REFUSED)
    accepted_from = len("\n// -----\n".join(LOOP.format(body=body) for body in REFUSED).split("\n"))
    assert all(line <= accepted_from for line in lines)


def test_wrong_maps_are_refused() -> None:
    with pytest.raises(hu.errors.ParseError, match="dimension or symbol index mismatch"):
        hu.load("func.func @f(%x: index) { %0 = affine.apply affine_map<(d0, d1) -> (d0)>(%x) return }")
    generic = '"affine.apply"(%x) <{{map = affine_map<{}>}}> : (index) -> index'
    for map, message in (("(d0, d1) -> (d0)", "operand count"), ("(d0) -> (d0, d0)", "mapping must produce one value")):
        with pytest.raises(hu.errors.VerifyError, match=message):
            hu.load(f"func.func @f(%x: index) {{ %0 = {generic.format(map)} return }}")


# --- elements ---------------------------------------------------------------------------------------------------------

ACCESS = """
func.func @f(%m: memref<8xi32>, %v: memref<8xvector<2xi32>>, %i: index, %x: i64, %y: f32, %z: vector<2xi32>) {{
  {op}
  return
}}"""
MAP = "<{map = affine_map<(d0) -> (d0)>}>"
LOADED = "'affine.load' op result type must match element type of memref"
STORED = "'affine.store' op value to store must have the same type as memref element type"
OTHER_ELEMENTS = {
    f'"affine.load"(%m, %i) {MAP} : (memref<8xi32>, index) -> i64': LOADED,
    f'"affine.load"(%m, %i) {MAP} : (memref<8xi32>, index) -> f32': LOADED,
    f'"affine.load"(%m, %i) {MAP} : (memref<8xi32>, index) -> index': LOADED,
    f'"affine.load"(%m, %i) {MAP} : (memref<8xi32>, index) -> vector<8xi32>': LOADED,
    f'"affine.load"(%v, %i) {MAP} : (memref<8xvector<2xi32>>, index) -> i32': LOADED,
    f'"affine.store"(%x, %m, %i) {MAP} : (i64, memref<8xi32>, index) -> ()': STORED,
    f'"affine.store"(%y, %m, %i) {MAP} : (f32, memref<8xi32>, index) -> ()': STORED,
    f'"affine.store"(%z, %m, %i) {MAP} : (vector<2xi32>, memref<8xi32>, index) -> ()': STORED,
    "affine.vector_load %m[%i] : memref<8xi32>, vector<2xi64>": "requires memref and vector types of the same elemental",
    "affine.vector_store %z, %m[%i + symbol(%i)] : memref<8xi32>, vector<2xi32>": "",
    f'"affine.load"(%v, %i) {MAP} : (memref<8xvector<2xi32>>, index) -> vector<2xi32>': "",
    '"memref.load"(%m, %i) : (memref<8xi32>, index) -> i64': "result type matches element type of 'memref'",
    '"memref.store"(%x, %m, %i) : (i64, memref<8xi32>, index) -> ()': "type of 'value' matches element type of 'memref'",
}


@pytest.mark.parametrize(("op", "message"), OTHER_ELEMENTS.items())
def test_memory_gives_and_takes_its_elements(op: str, message: str) -> None:
    text = ACCESS.format(op=op)
    if not message:
        hu.load(text)
        return
    with pytest.raises(hu.errors.VerifyError, match=re.escape(message)):
        hu.load(text)


@pytest.mark.mlir
def test_mlir_refuses_the_same_elements() -> None:
    for op, message in OTHER_ELEMENTS.items():
        done = subprocess.run(["mlir-opt-22"], input=ACCESS.format(op=op), capture_output=True, text=True, check=False)
        assert message in done.stderr
        assert done.returncode == (1 if message else 0)


# --- parallel ---------------------------------------------------------------------------------------------------------
#
# affine.parallel, affine.vector_load and vector_store, and the digits of indices.

SUMS = """
func.func @f(%m: memref<4x6xf32>, %n: index) -> (f32, f32, f32) {
  %0:3 = affine.parallel (%a, %b) = (0, max(1, %n - 5)) to (min(%n, 4), symbol(%n)) step (1, 2) reduce ("addf", "maximumf", "mulf") -> (f32, f32, f32) {
    %x = affine.load %m[%a, %b] : memref<4x6xf32>
    affine.yield %x, %x, %x : f32, f32, f32
  }
  return %0#0, %0#1, %0#2 : f32, f32, f32
}"""


def test_reductions_begin_with_the_element_that_changes_no_other() -> None:
    memory = np.arange(24, dtype=np.float32).reshape(4, 6)
    got = [value.item() for value in hu.run(SUMS, memory, 6)]
    some = memory[:4, 1:6:2]
    assert got == [some.sum(), some.max(), np.multiply.reduce(some.reshape(-1))]
    assert [value.item() for value in hu.run(SUMS, memory, 0)] == [0, -np.inf, 1]


def test_a_vector_of_more_dimensions_than_the_memory_has_no_meaning() -> None:
    text = "func.func @f(%m: memref<4xi8>) -> vector<2x2xi8> {\n%c = arith.constant 0 : index\n"
    text += "%v = affine.vector_load %m[%c] : memref<4xi8>, vector<2x2xi8>\nreturn %v : vector<2x2xi8>\n}"
    with pytest.raises(hu.Unsupported, match="no meaning for a vector of shape 2x2 in memory of shape 4"):
        hu.run(text, np.zeros(4, np.int8))


def test_reductions_keep_the_order_of_the_points() -> None:
    text = """
    func.func @f(%m: memref<4xf32>) -> f32 {
      %0 = affine.parallel (%a) = (0) to (4) reduce ("addf") -> (f32) {
        %x = affine.load %m[%a] : memref<4xf32>
        affine.yield %x : f32
      }
      return %0 : f32
    }"""
    (got,) = hu.run(text, np.array([1e8, 1, -1e8, 1], np.float32))
    assert got.item() == 1


def test_a_race_of_iterations_is_reported() -> None:
    text = """
    func.func @f(%m: memref<4xindex>) {
      affine.parallel (%a) = (0) to (4) {
        affine.store %a, %m[%a floordiv 2] : memref<4xindex>
      }
      return
    }"""
    with pytest.raises(hu.UndefinedBehavior, match="affine.parallel"):
        hu.run(text, np.zeros(4, np.int64))


def test_vectors_lie_at_the_indices_of_a_map() -> None:
    text = """
    func.func @f(%m: memref<4x6xf32>, %i: index) -> vector<2x3xf32> {
      %v = affine.vector_load %m[%i + 1, %i * 2] : memref<4x6xf32>, vector<2x3xf32>
      affine.vector_store %v, %m[0, symbol(%i) mod 3] : memref<4x6xf32>, vector<2x3xf32>
      affine.prefetch %m[%i, %i * 100], read, locality<3>, data : memref<4x6xf32>
      return %v : vector<2x3xf32>
    }"""
    memory = np.arange(24, dtype=np.float32).reshape(4, 6)
    buffer = hu.Buffer.from_numpy(memory)
    (got,) = hu.run(text, buffer, 1)
    np.testing.assert_array_equal(got.numpy(), memory[2:4, 2:5])
    memory[0:2, 1:4] = memory[2:4, 2:5]
    np.testing.assert_array_equal(buffer.numpy(), memory)
    with pytest.raises(hu.UndefinedBehavior, match="outside the shape 4x6"):
        hu.run(text, buffer, 2)


def test_a_wrong_hint_is_refused_as_mlir_does() -> None:
    # The messages of mlir-opt 22.
    for hint, message in (
        ("reead, locality<3>, data : memref<4xf32>", "2:1: .* rw specifier has to be 'read' or 'write'"),
        ("read, locality<3>, daata : memref<4xf32>", "2:1: .* cache type has to be 'data' or 'instr'"),
        ("read, loc<3>, data : memref<4xf32>", "2:31: .* expected 'locality'"),
        (
            "read, locality<3>, data : f32",
            "affine.prefetch' invalid kind of type specified: expected builtin.memref, but found 'f32'",
        ),
    ):
        with pytest.raises(hu.ParseError, match=message):
            hu.parse(f"func.func @f(%m: memref<4xf32>, %i: index) {{\naffine.prefetch %m[%i], {hint}\nreturn\n}}")


DIGITS = """
func.func @f(%x: index, %b: index) -> (index, index, index, index) {
  %0:3 = affine.delinearize_index %x into (%b, 4) : index, index, index
  %1 = affine.linearize_index disjoint [%0#0, %0#1, %0#2] by (%b, 4) : index
  return %0#0, %0#1, %0#2, %1 : index, index, index, index
}"""


@pytest.mark.parametrize("number", [0, 1, 59, 60, 1000, -1, -7, -61])
def test_digits_are_of_the_floor(number: int) -> None:
    got = [value.numpy().astype(np.int64).item() for value in hu.run(DIGITS, number, 5)]
    assert got == [number // 20, number // 4 % 5, number % 4, number]


BOUNDED = """
func.func @f(%x: index, %b: index, %c: index) -> (index, index, index) {
  %0:2 = affine.delinearize_index %x into (%b, %c) : index, index
  %1 = affine.linearize_index [%x, %x] by (%b, %c) : index
  return %0#0, %0#1, %1 : index, index, index
}"""
LARGE = 1 << 62


def test_a_bound_of_the_first_digit_is_a_promise() -> None:
    for number, wanted in ((0, (0, 0, 0)), (4, (1, 1, 16)), (5, (1, 2, 20)), (6, (2, 0, 24)), (15, (None, None, 60))):
        got = hu.run(BOUNDED, number, 5, 3)
        assert tuple(None if value.poisoned else value.item() for value in got) == wanted
    assert [bool(value.poisoned) for value in hu.run(BOUNDED, -1, 5, 3)] == [True, True, False]
    assert hu.run(BOUNDED, 5, LARGE - 1, 2)[0].item() == 2
    for first, second, why in ((0, 3, "not positive"), (5, 0, "not positive"), (LARGE, 2, "product of the base")):
        with pytest.raises(hu.UndefinedBehavior, match=why):
            hu.run(BOUNDED, 4, first, second)
        poison = BOUNDED.replace("{\n", "{\n  %y = ub.poison : index\n", 1).replace(
            "delinearize_index %x", "delinearize_index %y"
        )
        with pytest.raises(hu.UndefinedBehavior, match=why):
            hu.run(poison, 4, first, second)


def test_digits_that_cannot_be() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="not positive"):
        hu.run(DIGITS, 3, 0)
    text = """
    func.func @f(%x: index) -> (index, index) {
      %0 = affine.linearize_index FLAG [%x, %x] by (5) : index
      %p = ub.poison : index
      %1 = affine.linearize_index [%x, %p] by (5) : index
      return %0, %1 : index, index
    }"""
    plain, lost = hu.run(text.replace("FLAG", ""), 7)
    assert (plain.item(), bool(lost.poisoned)) == (42, True)
    assert all(bool(value.poisoned) for value in hu.run(text.replace("FLAG", "disjoint"), 7))
    (huge, _) = hu.run(text.replace("FLAG", ""), 1 << 62)
    assert huge.poisoned
    # As the document says, the sum of the digits times products of the base: a product may overflow.
    (huge, _) = hu.run(text.replace("FLAG [%x, %x] by (5)", "[%x, %x, %x] by (4294967296, 2147483648)"), 0)
    assert huge.poisoned
    lanes: Any = hu.run(text.replace("FLAG", "disjoint"), np.array([3, 7]), batch=True)[0]
    assert lanes.poisoned.tolist() == [False, True]


def test_transfers_by_dma_are_read_but_not_run() -> None:
    text = """
    func.func @f(%m: memref<8xf32>, %n: memref<8xf32, 1>, %t: memref<1xi32>, %i: index) {
      affine.dma_start %m[%i + 1], %n[0], %t[0], %i : memref<8xf32>, memref<8xf32, 1>, memref<1xi32>
      return
    }"""
    with pytest.raises(hu.Unsupported, match=r"affine\.dma_start"):
        hu.run(text, np.zeros(8, np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32), 1)


# --- lanes ------------------------------------------------------------------------------------------------------------

LANES = 9
COUNTS = np.array([0, 1, 5, 3, 0, 8, 2, 7, 4], np.int64)

COUNTED = """func.func @f(%n: index, %a: memref<8xi32>, %s: i32) -> (i32, index) {
  %z = arith.constant 0 : index
  %r, %last = affine.for %i = 0 to min affine_map<(d0) -> (d0, 8)>(%n) step 2 iter_args(%t = %s, %l = %z) -> (i32, index) {
    %x = affine.load %a[%i] : memref<8xi32>
    %u = arith.addi %t, %x : i32
    affine.store %u, %a[%i] : memref<8xi32>
    affine.yield %u, %i : i32, index
  }
  return %r, %last : i32, index
}"""

NESTED = """func.func @f(%n: index, %a: memref<8xi32>, %s: i32) -> i32 {
  affine.for %i = 0 to 8 {
    affine.for %j = max affine_map<(d0)[s0] -> (d0, s0 - 2)>(%i)[%n] to min affine_map<(d0)[s0] -> (d0 + 3, s0)>(%i)[%n] {
      affine.if affine_set<(d0, d1)[s0] : (d0 - d1 >= 0, s0 mod 2 == 0)>(%j, %i)[%n] {
        %x = affine.load %a[(%i + %j) mod 8] : memref<8xi32>
        %u = arith.addi %x, %s : i32
        affine.store %u, %a[%j] : memref<8xi32>
      } else {
        affine.store %s, %a[7 - %i] : memref<8xi32>
      }
    }
  }
  %r = affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%n) -> i32 {
    %x = affine.load %a[symbol(%n) - 4] : memref<8xi32>
    affine.yield %x : i32
  } else {
    affine.yield %s : i32
  }
  affine.if affine_set<(d0) : (d0 - 3 == 0)>(%n) {
    affine.store %r, %a[0] : memref<8xi32>
  }
  return %r : i32
}"""

CALLED = """func.func private @g(%n: index, %a: memref<8xi32>) -> i32 {
  %x = affine.load %a[%n mod 8] : memref<8xi32>
  %c = arith.cmpi sgt, %x, %x : i32
  return %x : i32
}
func.func @f(%n: index, %a: memref<8xi32>, %s: i32) -> i32 {
  %r = affine.for %i = 0 to %n iter_args(%t = %s) -> i32 {
    %x = func.call @g(%i, %a) : (index, memref<8xi32>) -> i32
    %u = arith.xori %t, %x : i32
    affine.yield %u : i32
  }
  return %r : i32
}"""


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(5)
    return COUNTS, random.integers(-50, 50, (LANES, 8), np.int32), random.integers(-50, 50, LANES, np.int32)


@pytest.mark.parametrize("text", [COUNTED, NESTED, CALLED])
def test_a_lane_has_the_results_and_the_memory_of_a_run_alone(text: str) -> None:
    module = hu.parse(text)
    counts, memory, starts = inputs()
    contents = buffer_of(memory, ty.MemRefType((LANES, 8), ty.I32), "a")
    results = hu.run(module, counts, contents, starts, batch=True)
    for lane in range(LANES):
        alone = buffer_of(memory[lane], ty.MemRefType((8,), ty.I32), "a")
        expected = hu.run(module, int(counts[lane]), alone, int(starts[lane]))
        assert [value.numpy()[lane] for value in results] == [value.numpy() for value in expected]
        assert contents.load().numpy()[lane].tolist() == alone.load().numpy().tolist()


def test_an_access_outside_names_its_lanes() -> None:
    text = """func.func @f(%n: index, %a: memref<8xi32>) -> i32 {
      %x = affine.load %a[%n + 2] : memref<8xi32>
      return %x : i32
    }"""
    memory = np.zeros((3, 8), np.int32)
    with pytest.raises(hu.UndefinedBehavior, match=r"index \[9\] is outside the shape 8 \(lane 1; 2 of 3 lanes\)"):
        hu.run(text, np.array([5, 7, 8]), memory, batch=True)


def test_a_bound_that_overflows_names_its_lanes() -> None:
    text = """func.func @f(%n: index) -> index {
      %r = affine.for %i = 0 to affine_map<(d0) -> (d0 * 4)>(%n) iter_args(%t = %n) -> index {
        affine.yield %i : index
      }
      return %r : index
    }"""
    (result,) = hu.run(text, np.array([1, 0, 3]), batch=True)
    assert result.numpy().tolist() == [3, 0, 11]
    with pytest.raises(hu.UndefinedBehavior, match=r"upper bound is poison.*lane 2; 1 of 3 lanes"):
        hu.run(text, np.array([1, 0, 1 << 62]), batch=True)
