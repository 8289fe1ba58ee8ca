"""Every elementwise op of StableHLO, on every type of up to 8 bits: all codes, and all pairs of codes, give what the
specification on Python's integers and exact reals says. Which ops and types there are, the table of ops decides.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, storage_dtype
from halfulp.fp_formats.reals import elementary
from halfulp.interp.declare.declarations import Trait
from halfulp.interp.dialects.stablehlo import ops
from halfulp.interp.dialects.stablehlo.types import ANY_TENSOR, stablehlo
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.profile import Profile

assert ops  # declares them
PROFILE = Profile("stablehlo", "stablehlo")
ARITHMETIC, CONVERSIONS = PROFILE.arithmetic, PROFILE.conversions
ELEMENTWISE = {
    name.removeprefix("stablehlo."): definition
    for name, definition in stablehlo.ops.items()
    if Trait.ELEMENTWISE in definition.traits
}
INTEGERS = tuple(f"{sign}i{width}" for sign in ("", "u") for width in (2, 4, 8, 16, 32, 64))
IEEE = ("f8E5M2", "f8E4M3", "f8E3M4")
"""The types of up to 8 bits with infinities and IEEE's NaNs, which reduce_precision needs."""
MOST_PAIRS = 1 << 16


def width_of(type_: str) -> int:
    return FORMATS[type_].bits if type_ in FORMATS else int(type_.lstrip("ui"))


FLOATS = tuple(name for name in FORMATS if ANY_TENSOR.accepts(as_type(f"tensor<1x{name}>")))
SMALL = tuple(each for each in ("i1", *INTEGERS, *FLOATS) if width_of(each) <= 8)
Codes = Sequence[int]
Answer = int | None
"""A code; None where the result is poison."""


class Of(NamedTuple):
    """The type of the operands, and that of the result."""

    type: str
    made: str

    @property
    def fmt(self) -> FloatFormat:
        return FORMATS[self.type]

    def number(self, code: int) -> int:
        """Return the integer of a code."""
        width = width_of(self.type)
        return code - (1 << width) if self.type[0] == "i" and width > 1 and code >> width - 1 else code

    def code(self, number: int) -> int:
        return number & (1 << width_of(self.type)) - 1


Exact = Callable[..., Answer]


def answer(result: scalar.Result) -> Answer:
    return None if result.poison else result.code


def arithmetic(name: str) -> Exact:
    function = getattr(scalar, name)
    return lambda of, *codes: answer(function(of.fmt, *codes, policy=ARITHMETIC))


def function_of_reals(name: str, count: int = 1) -> Exact:
    function: Callable[..., scalar.Result] = (elementary.unary, elementary.binary)[count - 1]
    return lambda of, *codes: answer(function(name, of.fmt, *codes, policy=ARITHMETIC))


def integral(rounding: int) -> Exact:
    return lambda of, code: answer(scalar.to_integral(of.fmt, code, rounding, ARITHMETIC))


def of_integers(compute: Callable[..., int]) -> Exact:
    """Return the exact function of numbers, whose result is cut to the width."""
    return lambda of, *codes: of.code(compute(*map(of.number, codes)))


def of_codes(compute: Callable[..., int]) -> Exact:
    """Return the exact function of a width and codes, whose result is cut to the width."""
    return lambda of, *codes: of.code(compute(width_of(of.type), *codes))


def by_kind(truths: Exact | None, integers: Exact | None, floats: Exact | None) -> Exact:
    def exact(of: Of, *codes: int) -> Answer:
        chosen = floats if of.type in FORMATS else truths if of.type == "i1" else integers
        assert chosen is not None, of
        return chosen(of, *codes)

    return exact


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a: int, b: int) -> int:
    return a**b if b >= 0 else a ** (b & 1) if abs(a) == 1 else 0


def sign(of: Of, code: int) -> int:
    """Return -1 or 1; a zero and a NaN stay as they are."""
    number = scalar.value(of.fmt, code)
    if of.fmt.is_nan(code) or number == 0:
        return code
    negative = code >> of.fmt.bits - 1 if number is None else number < 0
    return scalar.from_integer(of.fmt, -1 if negative else 1).code


def magnitude(of: Of, code: int) -> int:
    """Return a code without its sign. A code that has no magnitude, as a NaN that would be -0, stays as it is."""
    mask = of.fmt.sign_mask or 0
    return code if of.fmt.is_nan(code & ~mask) != of.fmt.is_nan(code) else code & ~mask


def converted(of: Of, code: int) -> Answer:
    """Return the result of ``convert``."""
    width, signed = width_of(of.made), of.made[0] == "i"
    if of.made == of.type:
        return code
    if of.type in FORMATS:
        number = scalar.value(of.fmt, code)
        if of.made in FORMATS:
            return answer(scalar.convert(of.fmt, FORMATS[of.made], code, policy=CONVERSIONS))
        if of.made == "i1":
            return int(number != 0)
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        if number is None:
            whole = 0 if of.fmt.is_nan(code) else low if code >> of.fmt.bits - 1 else high
        else:
            whole = min(max(math.trunc(number), low), high)
        return whole & (1 << width) - 1
    if of.made in FORMATS:
        return answer(scalar.from_integer(FORMATS[of.made], of.number(code), policy=CONVERSIONS))
    return int(code != 0) if of.made == "i1" else of.number(code) & (1 << width) - 1


def larger_and_smaller(largest: bool) -> Exact:
    return by_kind(
        of_codes(lambda _, *codes: (max if largest else min)(codes)),
        of_integers(max if largest else min),
        arithmetic("maximum" if largest else "minimum"),
    )


MAXIMUM, MINIMUM = larger_and_smaller(True), larger_and_smaller(False)


def clamped(of: Of, low: int, code: int, high: int) -> Answer:
    """Return minimum(maximum(number, lower bound), upper bound): of several NaNs, the first one counts."""
    raised = MAXIMUM(of, code, low)
    return None if raised is None else MINIMUM(of, raised, high)


EXACT: Mapping[str, Exact] = {
    "abs": by_kind(None, of_integers(abs), magnitude),
    "add": by_kind(of_codes(lambda _, a, b: a | b), of_integers(operator.add), arithmetic("add")),
    "and": of_codes(lambda _, a, b: a & b),
    "atan2": function_of_reals("atan2", 2),
    "cbrt": function_of_reals("cbrt"),
    "ceil": integral(scalar.RU),
    "clamp": clamped,
    "convert": converted,
    "cosine": function_of_reals("cos"),
    "count_leading_zeros": of_codes(lambda width, a: width - a.bit_length()),
    "divide": by_kind(None, of_integers(quotient), arithmetic("divide")),
    "exponential": function_of_reals("exp"),
    "exponential_minus_one": function_of_reals("expm1"),
    "floor": integral(scalar.RD),
    "imag": lambda of, code: 0,
    "is_finite": lambda of, code: int(scalar.value(of.fmt, code) is not None),
    "log": function_of_reals("log"),
    "log_plus_one": function_of_reals("log1p"),
    "logistic": function_of_reals("sigmoid"),
    "maximum": MAXIMUM,
    "minimum": MINIMUM,
    "multiply": by_kind(of_codes(lambda _, a, b: a & b), of_integers(operator.mul), arithmetic("multiply")),
    "negate": by_kind(None, of_integers(operator.neg), arithmetic("negate")),
    "not": of_codes(lambda _, a: ~a),
    "or": of_codes(lambda _, a, b: a | b),
    "popcnt": of_codes(lambda _, a: a.bit_count()),
    "power": by_kind(None, of_integers(power), function_of_reals("powf", 2)),
    "real": lambda of, code: code,
    "remainder": by_kind(None, of_integers(lambda a, b: a - b * quotient(a, b)), arithmetic("remainder")),
    "round_nearest_afz": integral(scalar.RNA),
    "round_nearest_even": integral(scalar.RNE),
    "rsqrt": function_of_reals("rsqrt"),
    "select": lambda of, condition, yes, no: yes if condition else no,
    "shift_left": of_codes(lambda width, a, b: a << min(b, width)),
    "shift_right_arithmetic": lambda of, a, b: Of(f"i{width_of(of.type)}", "").code(
        Of(f"i{width_of(of.type)}", "").number(a) >> min(b, width_of(of.type))
    ),
    "shift_right_logical": of_codes(lambda width, a, b: a >> min(b, width)),
    "sign": by_kind(None, of_integers(lambda a: (a > 0) - (a < 0)), sign),
    "sine": function_of_reals("sin"),
    "sqrt": function_of_reals("sqrt"),
    "subtract": by_kind(None, of_integers(operator.sub), arithmetic("subtract")),
    "tan": function_of_reals("tan"),
    "tanh": function_of_reals("tanh"),
    "xor": of_codes(lambda _, a, b: a ^ b),
}
"""What each op gives for codes of its operands."""
PREDICATES = {"EQ": 1, "NE": 13, "GE": 3, "GT": 2, "LE": 5, "LT": 4}
RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {name: getattr(operator, name.lower()) for name in PREDICATES}


def compared(direction: str, totally: bool) -> Exact:
    def exact(of: Of, a: int, b: int) -> int:
        if of.type not in FORMATS:
            return int(RELATIONS[direction](of.number(a), of.number(b)))
        if totally:
            mask = of.fmt.sign_mask or 0
            one, other = (-1 - (code & ~mask) if code & mask else code for code in (a, b))
            return int(RELATIONS[direction](one, other))
        return int(scalar.compare(of.fmt, PREDICATES[direction], a, b, ARITHMETIC))

    return exact


def reduced(exponent: int, mantissa: int) -> Exact:
    """Return the exact function of reduce_precision: the nearest number with these fields, of two the one with the even
    code; what is below its normal numbers is a zero, and what is above them an infinity.
    """

    def exact(of: Of, code: int) -> Answer:
        fmt, number = of.fmt, scalar.value(of.fmt, code)
        if number is None or number == 0:
            return code
        sign_, kept = code & (fmt.sign_mask or 0), min(mantissa, fmt.mantissa_bits)
        step = Fraction(2) ** (max(math.floor(math.log2(abs(number))), fmt.emin) - kept)
        low = abs(number) // step * step
        odd = scalar.from_fraction(fmt, low).code >> fmt.mantissa_bits - kept & 1
        rest = (abs(number) - low) / step
        whole = low + step if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and odd) else low
        reach = (1 << exponent - 1) - 1
        if exponent < fmt.exponent_bits and whole < Fraction(2) ** (1 - reach):
            return sign_
        if whole > (scalar.value(fmt, fmt.max_code) or 0) or (
            exponent < fmt.exponent_bits and whole >= 2 ** (reach + 1)
        ):
            return sign_ | (fmt.infinity_code or 0)
        return sign_ | scalar.from_fraction(fmt, whole).code

    return exact


def forms(name: str) -> Iterator[tuple[str, Exact]]:
    """Return the attributes with which an op is run, each with the exact function."""
    if name == "compare":
        for direction, totally in product(PREDICATES, (False, True)):
            kind = ", compare_type = #stablehlo<comparison_type TOTALORDER>" if totally else ""
            yield (
                f"<{{comparison_direction = #stablehlo<comparison_direction {direction}>{kind}}}>",
                compared(direction, totally),
            )
    elif name == "reduce_precision":
        for exponent, mantissa in ((2, 1), (3, 2), (4, 3), (5, 0), (8, 23)):
            yield (
                f"<{{exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32}}>",
                reduced(exponent, mantissa),
            )
    else:
        yield "", EXACT[name]


def types_of(name: str, of: Of) -> tuple[list[str], str] | None:
    """Return the element types of the operands and of the result; None if the op does not take the type."""
    definition = ELEMENTWISE[name]
    operands = [of.type] * len(definition.operands)
    if name == "select":
        operands[0] = "i1"
    made = "i1" if name in ("compare", "is_finite") else of.made
    slots = [*zip(definition.operands, operands, strict=True), (definition.results[0], made)]
    fits = all(slot.constraint.accepts(as_type(f"tensor<1x{each}>")) for slot, each in slots)
    return (operands, made) if fits else None


def rows_of(operands: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Return all codes of operands, or a sample if these are more than those of two types of 8 bits."""
    widths = list(map(width_of, operands))
    if sum(widths) <= 16:
        yield from product(*(range(1 << width) for width in widths))
    else:
        dice = random.Random(str(operands))
        yield from (tuple(dice.randrange(1 << width) for width in widths) for _ in range(MOST_PAIRS))


def checked(name: str, of: Of, rows: Sequence[tuple[int, ...]] = ()) -> tuple[int, list[str]]:
    """Run an op in all its forms on a type. Return the count of results, and those that are wrong. ``rows``: codes of
    the operands other than `rows_of`.
    """
    found = types_of(name, of)
    if found is None or (name == "reduce_precision" and of.type in SMALL and of.type not in IEEE):
        return 0, []
    operands, made = found
    divides = name in ("divide", "remainder") and of.type not in FORMATS
    rows = [row for row in rows or rows_of(operands) if row[-1] or not divides]
    columns = [
        np.array(column, storage_dtype(width_of(each)))
        for column, each in zip(zip(*rows, strict=True), operands, strict=True)
    ]
    values = [
        hu.Value.from_bits(column, f"tensor<{len(rows)}x{each}>")
        for column, each in zip(columns, operands, strict=True)
    ]
    types = [f"tensor<{len(rows)}x{each}>" for each in operands]
    arguments = ", ".join(f"%{k}: {type_}" for k, type_ in zip("abc", types, strict=False))
    names, result = ", ".join(f"%{k}" for k in "abc"[: len(types)]), f"tensor<{len(rows)}x{made}>"
    count, wrong = 0, []
    for attributes, exact in forms(name):
        text = f"""func.func @main({arguments}) -> {result} {{
  %r = "stablehlo.{name}"({names}) {attributes} : ({", ".join(types)}) -> {result}
  return %r : {result}
}}"""
        (value,) = hu.run(text, *values)
        ids = [0] * len(rows) if value.poison is None else value.poison.tolist()
        got = [-1 if id_ else code for id_, code in zip(ids, value.bits.tolist(), strict=True)]
        expected = [exact(of, *row) for row in rows]
        count += len(rows)
        wrong += [
            f"{name} {attributes} of {of.type} {[hex(code) for code in row]} to {made}: {code}, expected {right}"
            for row, code, right in zip(rows, got, expected, strict=True)
            if code != (-1 if right is None else right)
        ]
    return count, wrong


def made_from(name: str, type_: str, targets: Sequence[str]) -> list[str]:
    return list(targets) if name == "convert" else [type_]


def test_every_op_has_an_exact_function() -> None:
    taken = {name for name in ELEMENTWISE if any(types_of(name, Of(each, each)) for each in SMALL)}
    assert taken == {*EXACT, "compare", "reduce_precision"}
    assert len(FLOATS) == 15


def test_reduce_precision_needs_infinities() -> None:
    text = "func.func @f(%a: tensor<1xT>) -> tensor<1xT> { %r = stablehlo.reduce_precision %a, format = e2m1 : tensor<1xT> return %r : tensor<1xT> }"
    for type_ in ("f8E4M3FN", "f4E2M1FN", "f8E8M0FNU"):
        with pytest.raises(hu.errors.Unsupported, match=f"'{type_}' has no infinity"):
            hu.run(text.replace("T>", f"{type_}>"), hu.Value.from_bits(np.zeros(1, np.uint8), f"tensor<1x{type_}>"))


@pytest.mark.long
@each_row(*ELEMENTWISE)
def test_types_of_up_to_four_bits(name: str) -> None:
    """Ops of one operand also on three types of 8 bits, of which one has no zero."""
    few = [each for each in SMALL if width_of(each) <= 4]
    if len(ELEMENTWISE[name].operands) == 1:
        few += ["i8", "f8E5M2", "f8E8M0FNU"]
    wrong = [
        line for type_ in few for made in made_from(name, type_, few) for line in checked(name, Of(type_, made))[1]
    ]
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_types_of_up_to_eight_bits(name: str) -> None:
    wrong = [
        line for type_ in SMALL for made in made_from(name, type_, SMALL) for line in checked(name, Of(type_, made))[1]
    ]
    assert not wrong, f"{len(wrong)} are wrong:\n" + "\n".join(wrong[:10])


@cache
def near_ties(source: str) -> list[tuple[int, ...]]:
    """Return codes of a type near numbers of smaller types and near the middle between two of them, and random ones."""
    fmt, dice = FORMATS[source], random.Random(source)
    narrow = [FORMATS[name] for name in FLOATS if width_of(name) <= 16]
    numbers = set[Fraction]()
    for each in narrow:
        codes = [dice.randrange(1 << each.bits) for _ in range(1000)] if each.bits > 8 else range(1 << each.bits)
        for code in codes:
            pair = [scalar.value(each, k & each.code_mask) for k in (code, code + 1)]
            known = [number for number in pair if number is not None]
            numbers.update((*known, sum(known, Fraction(0)) / 2))
    codes_ = {
        scalar.from_fraction(fmt, number).code + step & fmt.code_mask for number in numbers for step in (-1, 0, 1)
    }
    codes_.update(dice.randrange(1 << fmt.bits) for _ in range(10_000))
    return [(code,) for code in sorted(codes_)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", FLOATS)
def test_conversions_between_all_floats(source: str) -> None:
    """All codes of types of up to 16 bits; of others those near ties, and random ones."""
    rows = near_ties(source) if width_of(source) > 16 else ()
    wrong = [line for made in FLOATS for line in checked("convert", Of(source, made), rows)[1]]
    assert not wrong, f"{len(wrong)} are wrong:\n" + "\n".join(wrong[:10])
