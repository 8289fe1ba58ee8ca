"""Every example of the arith dialect's document runs, and computes what an independent calculation says.

tests/data/arith_examples.txt holds the examples as printed in the document. `CORRECTIONS` is the one table of what is
wrong in them: real MLIR rejects those statements too, and the tests marked ``mlir`` prove it.
"""

import bisect
import math
import operator
import random
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from op_implementations import Outcome, check, outcomes_of, value
from present import present
from tree import ROOT

import halfulp as hu
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.types import element_type, element_width, shape_of
from halfulp.interp.values.coerce import as_type

EXAMPLES = ROOT / "tests" / "data" / "arith_examples.txt"

CORRECTIONS: Mapping[str, tuple[str, str]] = {
    # The document's statement: what is wrong, and the statement that was meant.
    "%3 = arith.shrsi %1, %2 : (i8, i8) -> i8": (
        "the custom form takes the one type of operands and result, not a function type",
        "%3 = arith.shrsi %1, %2 : i8",
    ),
    "%5 = arith.shrsi %4, %2 : (i8, i8) -> i8": (
        "the custom form takes the one type of operands and result, not a function type",
        "%5 = arith.shrsi %4, %2 : i8",
    ),
    "%3 = arith.shrui %1, %2 : (i8, i8) -> i8": (
        "the custom form takes the one type of operands and result, not a function type",
        "%3 = arith.shrui %1, %2 : i8",
    ),
    '%r3 = "arith.cmpf"(%0, %1) {predicate: 0} : (f8, f8) -> i1': (
        "an attribute is written with an equals sign, and there is no type f8",
        '%r3 = "arith.cmpf"(%0, %1) {predicate = 0 : i64} : (f8E4M3FN, f8E4M3FN) -> i1',
    ),
    "%x = arith.negf %y : tensor<4x?xf8>": (
        "there is no type f8",
        "%x = arith.negf %y : tensor<4x?xf8E4M3FN>",
    ),
}


@dataclass(frozen=True)
class Statement:
    """One statement of an example, after those that define its operands."""

    op: str
    text: str
    before: tuple[str, ...]
    comment: str
    number: int

    def __str__(self) -> str:
        return f"{self.op}-{self.number}"


def names_in(text: str) -> list[str]:
    return re.findall(r"%\w+", text)


def read_examples() -> list[Statement]:
    statements: list[Statement] = []
    for section in EXAMPLES.read_text(encoding="utf-8").split("// ==== ")[1:]:
        op, _, body = section.partition("\n")
        earlier: dict[str, str] = {}
        for number, (text, comment) in enumerate(logical_lines(body)):
            before = [earlier[name] for name in names_in(text.partition("=")[2]) if name in earlier]
            statements.append(Statement(op, text, tuple(dict.fromkeys(before)), comment, number))
            results = names_in(text.partition("=")[0])
            if all(name[1:].isdigit() for name in results) and "arith.constant" in text:
                earlier[results[0]] = text
    return statements


def logical_lines(body: str) -> list[tuple[str, str]]:
    """Statements, continuation lines joined, each with the comment behind it."""
    lines: list[tuple[str, str]] = []
    for line in body.splitlines():
        code, _, comment = line.partition("//")
        if code.strip().startswith("%"):
            lines.append((code.strip(), comment.strip()))
        elif code.strip():
            text, old = lines.pop()
            lines.append((f"{text} {code.strip()}", old))
    return lines


STATEMENTS = read_examples()


IN_WORDS = "bitcast divf extf fptosi fptoui index_cast index_castui maxsi maxui minsi minui remf sitofp truncf uitofp"
"""Ops of the document without an example: casts that are described by others', and those whose text says it all."""
NOT_IN_DOCUMENT = {
    *("scaling_extf", "scaling_truncf"),
    *("subui_extended", "convertf", "flush_denormals", "maximumnumf", "minimumnumf"),  # of newer MLIR
}


@pytest.mark.added
def test_no_example_is_missing() -> None:
    text = EXAMPLES.read_text(encoding="utf-8")
    assert text.count("// ==== arith.") == 34
    assert len(STATEMENTS) == 100
    assert set(CORRECTIONS) <= {statement.text for statement in STATEMENTS}
    shown = {statement.op.removeprefix("arith.") for statement in STATEMENTS}
    ops = {name.removeprefix("arith.") for name in default_registry().dialects["arith"].ops}
    assert ops - shown == {*IN_WORDS.split(), *NOT_IN_DOCUMENT}, (
        "add the example of the document to tests/data/arith_examples.txt; "
        "an op that the document does not have belongs to NOT_IN_DOCUMENT here"
    )


# --- independent results ----------------------------------------------------------------------------------------------


def signed(a: int, width: int) -> int:
    return a - (1 << width) if a >> (width - 1) else a


def bf16_value(code: int) -> Fraction:
    number: float = struct.unpack("<f", struct.pack("<I", code << 16))[0]
    return Fraction(number)


BF16 = [bf16_value(code) for code in range(0x7F80)]


def nearest_bf16(exact: Fraction) -> int:
    """Return the code of the nearest bf16 value, found among all of them; ties to the even code. Not for overflow."""
    magnitude = abs(exact)
    high = bisect.bisect_left(BF16, magnitude)
    low = max(high - 1, 0)
    below, above = magnitude - BF16[low], BF16[high] - magnitude
    code = low if below < above or (below == above and low % 2 == 0) else high
    return code | (0x8000 if exact < 0 else 0)


def float_code(number: float, element: str) -> int:
    """Return the code of a double that is the exact sum or product of two numbers of the element type, or itself in it."""
    if element == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", number))[0])
    # A double has more than twice the bits of f32, plus two: rounding sums and products twice is harmless.
    return int(np.float32(number).view(np.uint32))


def float_value(code: int, element: str) -> float:
    if element == "f64":
        return float(struct.unpack("<d", struct.pack("<Q", code))[0])
    return float(np.uint32(code).view(np.float32))


def in_order(number: float) -> tuple[float, float]:
    """Return a sorting key with -0 below +0."""
    return number, math.copysign(1.0, number)


FLOAT_OPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "maximumf": lambda a, b: max(a, b, key=in_order),
    "maxnumf": lambda a, b: max(a, b, key=in_order),
    "minimumf": lambda a, b: min(a, b, key=in_order),
    "minnumf": lambda a, b: min(a, b, key=in_order),
}


def float_result(op: str, element: str, a: int, b: int) -> int:
    function = FLOAT_OPS[op]
    if element == "bf16":
        exact = function(bf16_value(a), bf16_value(b))
        if exact:
            return nearest_bf16(exact)
        return float_result(op, "f32", a << 16, b << 16) >> 16  # zeros have signs, fractions do not
    return float_code(function(float_value(a, element), float_value(b, element)), element)


INTEGER_OPS: Mapping[str, Callable[[int, int, int], Any]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "divsi": lambda a, b, w: int(Fraction(signed(a, w), signed(b, w))),
    "divui": lambda a, b, w: a // b,
    "ceildivsi": lambda a, b, w: math.ceil(Fraction(signed(a, w), signed(b, w))),
    "ceildivui": lambda a, b, w: math.ceil(Fraction(a, b)),
    "floordivsi": lambda a, b, w: math.floor(Fraction(signed(a, w), signed(b, w))),
    "remsi": lambda a, b, w: abs(signed(a, w)) % abs(signed(b, w)) * (-1 if signed(a, w) < 0 else 1),
    "remui": lambda a, b, w: a % b,
}


def integer_result(op: str, flags: str, width: int, a: int, b: int) -> Any:
    exact = INTEGER_OPS[op](a, b, width)
    if flags:  # nsw, nuw
        unsigned_fits = 0 <= exact < 1 << width
        other = INTEGER_OPS[op](signed(a, width), signed(b, width), width)
        if not unsigned_fits or not -(1 << width >> 1) <= other < 1 << width >> 1:
            return "poison"
    return exact % (1 << width)


def extended(op: str, width: int, a: int, b: int) -> tuple[int, int]:
    if op == "addui_extended":
        return (a + b) % (1 << width), (a + b) >> width
    product = signed(a, width) * signed(b, width) if op == "mulsi_extended" else a * b
    return product % (1 << width), (product >> width) % (1 << width)


# --- running a statement ----------------------------------------------------------------------------------------------


def types_of(text: str) -> tuple[list[str], list[str]]:
    """Operand and result types of a statement, read off its text."""
    types = text.rpartition(" : ")[2]
    op = present(re.search(r"arith\.(\w+)", text))
    if "->" in types:
        inputs, _, output = types.partition("->")
        return re.findall(r"[\w<>?]+", inputs), [output.strip()]
    if " to " in types:
        source, target = types.split(" to ")
        return [source], [target]
    several = types.split(", ")
    name = op[1]
    if name == "select":
        condition, chosen = several if len(several) == 2 else ("i1", several[0])
        return [condition, chosen, chosen], [chosen]
    if name == "constant":
        return [], [types]
    if name in ("cmpf", "cmpi"):
        return [types] * 2, [re.sub(r"(f64|f32|i64|i32)(>?)$", r"i1\2", types)]
    if name == "addui_extended":
        return [several[0]] * 2, several
    if name.endswith("_extended"):
        return [types] * 2, [types] * 2
    return [types] * (1 if name == "negf" else 2), [types]


def program(statement: Statement, text: str) -> tuple[str, list[str]]:
    """Return a function that computes the statement from its operands, and the operands' types."""
    inputs, outputs = types_of(text)
    defined = {names_in(line)[0] for line in statement.before}
    left, _, right = text.partition("=")
    names = names_in(right)
    assert len(names) == len(inputs)
    free = {name: type_ for name, type_ in zip(names, inputs, strict=True) if name not in defined}
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in free.items())
    results = names_in(left)
    if re.match(r"%\w+:2", left):
        results = [f"{results[0]}#0", f"{results[0]}#1"]
    lines = [*statement.before, text, f"return {', '.join(results)} : {', '.join(outputs)}"]
    body = "\n  ".join(lines)
    return f"func.func @f({arguments}) -> ({', '.join(outputs)}) {{\n  {body}\n}}\n", list(free.values())


def shape_at_run_time(type_: str) -> tuple[int, ...]:
    return tuple(3 if size is None else size for size in shape_of(as_type(type_)) or ())


def operand_codes(type_: str, count: int, rng: random.Random, op: str, position: int) -> list[int]:
    """Random codes, with the corners first: finite floats, and divisors that define the result."""
    element = str(element_type(as_type(type_)))
    if element in ("f64", "f32", "bf16"):
        numbers = [1.5, -1.5, 0.0, -0.0, 1e10, -3.0] + [rng.uniform(-100, 100) for _ in range(count)]
        rng.shuffle(numbers)
        if element == "bf16":
            return [int(np.float32(n).view(np.uint32)) >> 16 for n in numbers[:count]]
        return [float_code(n, element) for n in numbers[:count]]
    width = present(element_width(as_type(element)))
    codes = [(1 << width) - 1, 1, 1 << width >> 1, (1 << width >> 1) - 1, 7 % (1 << width)]
    codes += [rng.getrandbits(width) for _ in range(count)]
    rng.shuffle(codes)
    if position and ("div" in op or "rem" in op):
        codes = [code for code in codes if code not in (0, (1 << width) - 1)] * 2
    return codes[:count]


BATCHES = 60


@pytest.mark.parametrize("statement", thinned(STATEMENTS, 4), ids=str)
def test_example_runs(statement: Statement) -> None:
    text = CORRECTIONS[statement.text][1] if statement.text in CORRECTIONS else statement.text
    source, inputs = program(statement, text)
    module = hu.load(source)
    op = present(re.search(r"arith\.(\w+)", text))
    rng = random.Random(str(statement))
    for _ in range(BATCHES if inputs else 1):
        shapes = [shape_at_run_time(type_) for type_ in inputs]
        columns = [
            operand_codes(type_, math.prod(shape), rng, op[1], position)
            for position, (type_, shape) in enumerate(zip(inputs, shapes, strict=True))
        ]
        arguments = [value(c, t, s) for c, t, s in zip(columns, inputs, shapes, strict=True)]
        results = hu.run(module, *arguments, on_ub="poison")
        expected = expectation(statement, text, op[1], inputs, columns)
        assert [outcomes_of(result) for result in results] == expected


def expectation(
    statement: Statement, text: str, op: str, inputs: Sequence[str], columns: Sequence[list[int]]
) -> list[list[Any]]:
    """Return the codes of every result."""
    said = re.fullmatch(r"%\d is 0b([01]+)", statement.comment)
    if said:  # the document itself says what comes out
        return [[int(said[1], 2)]]
    if op == "constant":
        literal = present(re.search(r"-?\d+ :", text.partition("constant")[2]))
        return [[int(literal[0][:-2])]]
    if statement.before:  # shli with flags: 5 << 3 overflows neither reading
        return [[5 << 3]]
    element = str(element_type(as_type(inputs[0])))
    width = present(element_width(as_type(element)))
    count = max(len(column) for column in columns)
    rows = list(zip(*(column * count if len(column) == 1 else column for column in columns), strict=True))
    if op == "select":
        return [[yes if condition else no for condition, yes, no in rows]]
    if op == "negf":
        return [[a ^ 1 << (width - 1) for (a,) in rows]]
    if op == "cmpi":
        order = re.search(r"slt|eq", text)
        signed_less = (order is not None and order[0] == "slt") or "predicate = 2" in text
        return [[int(signed(a, width) < signed(b, width) if signed_less else a == b) for a, b in rows]]
    if op == "cmpf":
        if "predicate" in text:  # 0: always false
            return [[0 for _ in rows]]
        holds = operator.eq if "oeq" in text else operator.lt
        return [[int(holds(float_value(a, element), float_value(b, element))) for a, b in rows]]
    if op in ("extsi", "extui", "trunci"):
        wide = 16 if op == "trunci" else 64
        return [[(signed(a, width) if op == "extsi" else a) % (1 << wide) for (a,) in rows]]
    if op.endswith("_extended"):
        pairs = [extended(op, width, a, b) for a, b in rows]
        return [[low for low, _ in pairs], [high for _, high in pairs]]
    if op in FLOAT_OPS:
        return [[float_result(op, element, a, b) for a, b in rows]]
    return [[integer_result(op, "overflow" if "overflow<" in text else "", width, a, b) for a, b in rows]]


# --- what the document's prose says -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "width", "a", "b", "quotient"),
    [
        ("ceildivsi", 16, 7, -2, -3),
        ("ceildivui", 16, 6, -2, 1),
        ("divsi", 16, 6, -2, -3),
        ("divui", 16, 6, -2, 0),
        ("floordivsi", 16, 5, -2, -3),
        ("remsi", 16, 6, -2, 0),
        ("remui", 16, 6, -2, 6),
    ],
)
def test_numbers_in_the_prose(op: str, width: int, a: int, b: int, quotient: int) -> None:
    assert hu.eval(f"arith.{op}", a, b, type=f"i{width}").item() == quotient


# --- corrections ------------------------------------------------------------------------------------------------------


def corrected() -> list[Statement]:
    return [statement for statement in STATEMENTS if statement.text in CORRECTIONS]


@pytest.mark.parametrize("statement", corrected(), ids=str)
def test_wrong_example_is_rejected(statement: Statement) -> None:
    source, _ = printed_program(statement)
    with pytest.raises((hu.errors.ParseError, hu.errors.VerifyError)) as caught:
        hu.load(source)
    assert caught.value.location is not None


@pytest.mark.mlir
@pytest.mark.parametrize("statement", corrected(), ids=str)
def test_real_mlir_rejects_the_example_and_accepts_its_correction(statement: Statement, mlir_opt: Any) -> None:
    source, _ = printed_program(statement)
    with pytest.raises(RuntimeError, match="error:"):
        mlir_opt(source)
    mlir_opt(program(statement, CORRECTIONS[statement.text][1])[0])


@pytest.mark.mlir
def test_real_mlir_accepts_all_other_examples(mlir_opt: Any) -> None:
    sources = [program(s, s.text)[0] for s in STATEMENTS if s.text not in CORRECTIONS]
    assert len(sources) == len(STATEMENTS) - len(CORRECTIONS)
    mlir_opt("\n// -----\n".join(sources), "--split-input-file")


def printed_program(statement: Statement) -> tuple[str, str]:
    """Return the statement as printed, in a function whose other types are right, so that only the statement is wrong."""
    fixed = CORRECTIONS[statement.text][1]
    source, _ = program(statement, fixed)
    return source.replace(fixed, statement.text), fixed


# --- math document ----------------------------------------------------------------------------------------------------
#
# The ops of math on answers worked out by hand, through every implementation of halfulp.
#
# Sources: the math dialect's document, IEEE 754-2019 (5.3.1, 5.5.1, 5.7.2, 5.9, 9.2.1) and C23 (Annex F).

# f16: one, infinity, a quiet NaN with a payload, a signalling NaN, and the signalling NaN made quiet.
ONE, INF, QUIET, SIGNALLING, QUIETED = 0x3C00, 0x7C00, 0x7E01, 0x7C01, 0x7E01
MINUS = 0x8000
NAN = 0x7E00

UNARY: dict[str, list[tuple[int, Outcome]]] = {
    # log is -inf at both zeros and NaN below; a NaN operand keeps its payload and becomes quiet.
    "log": [(0, MINUS | INF), (MINUS, MINUS | INF), (MINUS | ONE, NAN), (ONE, 0), (INF, INF), (SIGNALLING, QUIETED)],
    "exp": [(0, ONE), (MINUS, ONE), (MINUS | INF, 0), (INF, INF), (MINUS | QUIET, MINUS | QUIET)],
    "rsqrt": [(0, INF), (MINUS, MINUS | INF), (INF, 0), (0x4400, 0x3800), (MINUS | ONE, NAN)],
    "sqrt": [(MINUS, MINUS), (0x4400, 0x4000), (MINUS | ONE, NAN)],
    "sin": [(MINUS, MINUS), (INF, NAN)],
    "cos": [(MINUS, ONE), (INF, NAN)],
    "tanh": [(INF, ONE), (MINUS | INF, MINUS | ONE), (MINUS, MINUS)],
    "erf": [(INF, ONE), (MINUS | INF, MINUS | ONE), (MINUS, MINUS)],
    "cbrt": [(MINUS | 0x4800, MINUS | 0x4000), (MINUS, MINUS), (MINUS | INF, MINUS | INF)],
    "acosh": [(ONE, 0), (0, NAN)],
    "atanh": [(ONE, INF), (MINUS | ONE, MINUS | INF), (0x4000, NAN)],
    # 0.5, 1.5, 2.5 and -0.5 are halves; a zero keeps its sign.
    "roundeven": [(0x3800, 0), (0x3E00, 0x4000), (0x4100, 0x4000), (MINUS | 0x3800, MINUS), (SIGNALLING, QUIETED)],
    "round": [(0x3800, ONE), (0x3E00, 0x4000), (0x4100, 0x4200), (MINUS | 0x3800, MINUS | ONE), (MINUS, MINUS)],
    "floor": [(0x3800, 0), (MINUS | 0x3800, MINUS | ONE), (1, 0), (MINUS | 1, MINUS | ONE), (INF, INF)],
    "ceil": [(0x3800, ONE), (MINUS | 0x3800, MINUS), (1, ONE), (MINUS | 1, MINUS)],
    "trunc": [(0x3E00, ONE), (MINUS | 0x3E00, MINUS | ONE), (MINUS | 1, MINUS)],
    # Operations on bits leave a signalling NaN as it is.
    "absf": [(MINUS | ONE, ONE), (MINUS | SIGNALLING, SIGNALLING), (MINUS, 0)],
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(name: str) -> None:
    rows = UNARY[name]
    check(f"math.{name} %a : {{0}}", ["f16"], ["f16"], [[a for a, _ in rows]], [found for _, found in rows])


CLASSES = {
    "isnan": (0, 0, 0, 0, 1, 1),
    "isinf": (0, 0, 0, 1, 0, 0),
    "isfinite": (1, 1, 1, 0, 0, 0),
    "isnormal": (0, 0, 1, 0, 0, 0),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    codes = [MINUS, 1, MINUS | ONE, MINUS | INF, QUIET, SIGNALLING]
    check(f"math.{name} %a : {{0}}", ["f16"], ["i1"], [codes], CLASSES[name])


BINARY: dict[str, list[tuple[int, int, Outcome]]] = {
    "powf": [(QUIET, 0, ONE), (ONE, QUIET, ONE), (ONE, SIGNALLING, QUIETED), (MINUS | ONE, INF, ONE), (0, MINUS | ONE, INF),
             (MINUS, MINUS | ONE, MINUS | INF), (MINUS | 0x4000, 0x4200, MINUS | 0x4800), (MINUS | 0x4000, 0x3800, NAN)],
    "atan2": [(0, ONE, 0), (MINUS, ONE, MINUS), (0, MINUS | ONE, 0x4248), (INF, INF, 0x3A48), (ONE, MINUS | INF, 0x4248)],
    "copysign": [(ONE, MINUS, MINUS | ONE), (MINUS | ONE, QUIET, ONE), (SIGNALLING, MINUS | INF, MINUS | SIGNALLING)],
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(name: str) -> None:
    first, second, expected = zip(*BINARY[name], strict=True)
    check(f"math.{name} %a, %b : {{0}}", ["f16", "f16"], ["f16"], [first, second], expected)


def test_fma_rounds_once() -> None:
    # (1 + 2**-10) * (1 - 2**-10) = 1 - 2**-20, so that adding -1 leaves -2**-20; the rounded product is 1.
    rows = [(0x3C01, 0x3BFE, MINUS | ONE, MINUS | 0x0010), (INF, 0, QUIET, QUIET), (0, INF, ONE, NAN)]
    columns = list(zip(*rows, strict=True))
    check("math.fma %a, %b, %c : {0}", ["f16"] * 3, ["f16"], columns[:3], columns[3])


def test_clampf_limits_and_propagates_nan() -> None:
    # A bound of NaN makes the result NaN: both steps are arith's minimumf and maximumf.
    rows = [(0x4400, 0, ONE, ONE), (MINUS | ONE, 0, ONE, 0), (0x3800, 0, ONE, 0x3800), (ONE, SIGNALLING, ONE, QUIETED)]
    columns = list(zip(*rows, strict=True))
    check("math.clampf %a to [%b, %c] : {0}", ["f16"] * 3, ["f16"], columns[:3], columns[3])


def test_fpowi_reads_the_exponent_as_signed() -> None:
    rows = [(0x4000, 10, 0x6400), (0x4000, 0xFF, 0x3800), (MINUS, 0xFF, MINUS | INF), (QUIET, 0, ONE), (0, 0, ONE)]
    columns = list(zip(*rows, strict=True))
    check("math.fpowi %a, %b : {0}, {1}", ["f16", "i8"], ["f16"], columns[:2], columns[2])


def test_ipowi_of_zero_to_a_negative_power_is_undefined() -> None:
    rows: list[tuple[int, int, Outcome]] = [
        (0, 0xFF, "undefined"), (2, 0xFF, 0), (0xFF, 0xFD, 0xFF), (3, 5, 0xF3), (0, 0, 1),
    ]  # fmt: skip
    first, second, expected = zip(*rows, strict=True)
    check("math.ipowi %a, %b : {0}", ["i8", "i8"], ["i8"], [first, second], expected)


def test_zeros_have_the_width() -> None:
    check("math.ctlz %a : {0}", ["i8"], ["i8"], [[0, 1, 0x80]], [8, 7, 0])
    check("math.cttz %a : {0}", ["i8"], ["i8"], [[0, 1, 0x80]], [8, 0, 7])
    check("math.ctpop %a : {0}", ["i8"], ["i8"], [[0, 0xFF]], [0, 8])
    check("math.absi %a : {0}", ["i8"], ["i8"], [[0x80, 0xFF]], [0x80, 1])
    assert hu.eval("ctlz", 0, type="index", index_width=32).item() == 32


def test_sincos_gives_both() -> None:
    sine, cosine = hu.eval("math.sincos", hu.convert([0.5, 100.0, np.inf], "bf16"))
    assert sine.bits.tolist() == hu.eval("math.sin", hu.convert([0.5, 100.0, np.inf], "bf16")).bits.tolist()
    assert cosine.bits.tolist() == hu.eval("math.cos", hu.convert([0.5, 100.0, np.inf], "bf16")).bits.tolist()
    for each in hu.eval("math.sincos", hu.convert([0.5, np.inf], "bf16"), fastmath="nnan"):
        assert each.poisoned.tolist() == [False, True]


def test_flags_make_poison() -> None:
    check("math.exp %a fastmath<ninf> : {0}", ["f16"], ["f16"], [[ONE, 0x6400, INF]], [0x4170, "poison", "poison"])
    check("math.sqrt %a fastmath<nnan> : {0}", ["f16"], ["f16"], [[MINUS | ONE, QUIET, ONE]], ["poison", "poison", ONE])
    check("math.absf %a fastmath<nnan> : {0}", ["f16"], ["f16"], [[MINUS | ONE, SIGNALLING]], [ONE, "poison"])
    isinf = "math.isinf %a {{fastmath = #arith.fastmath<ninf>}} : {0}"
    check(isinf, ["f16"], ["i1"], [[INF, ONE]], ["poison", 0])


def test_a_format_without_nan_gives_poison_or_its_largest_value() -> None:
    # f4E2M1FN: -1 is 0xA, 1 is 0x2, 6 (the largest) is 0x7.
    check("math.log %a : {0}", ["f4E2M1FN"], ["f4E2M1FN"], [[0xA, 0x2, 0x0]], ["poison", 0x0, 0xF])
    check("math.exp %a : {0}", ["f4E2M1FN"], ["f4E2M1FN"], [[0x7, 0xF, 0x2]], [0x7, 0x0, 0x5])


@pytest.mark.parametrize(
    ("flags", "marked"), [("afn", [True, True]), ("nsz", [True, False]), ("contract", [True, True])]
)
def test_flags_leave_results_unspecified(flags: str, marked: list[bool]) -> None:
    found = hu.eval("math.sin", hu.convert([-0.0, 1.0], "f32"), fastmath=flags, track_open=True)
    assert (found.open != 0).tolist() == marked


def test_profiles() -> None:
    x = hu.convert([-np.nan, 1.0, 2.0**-130], "bf16")
    assert hu.eval("math.exp", x, profile="ml_dtypes").bits.tolist() == [0xFFC0, 0x402E, 0x3F80]
    # A subnormal operand is a zero, and a subnormal result becomes one.
    assert hu.eval("math.sqrt", x, profile="spec,denormals=flush_both").bits.tolist()[2] == 0
    assert hu.eval("math.exp", hu.convert(-88.0, "bf16"), profile="spec,denormals=flush_both").bits == 0
    # Emulated: exp(0.1) is rounded to f32, then to bf16; subnormal results of f16 are lost.
    assert hu.eval("math.exp", hu.convert(-10.0, "f16"), profile="iree-3.13").item() == 0
    assert hu.eval("math.floor", hu.convert([-1.5, 2.5], "f16"), profile="iree-3.13").tolist() == [-2, 2]
