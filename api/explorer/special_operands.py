"""The results of arithmetic that do not follow from the exact result alone: of NaN, infinities and zeros, as a table.

A class of operands is a letter: ``z`` zero, ``i`` infinity, ``f`` any other finite number; a capital letter is
negative. The page looks up a pair of letters. Two finite numbers have an entry for an exact result of zero. Any pair
without an entry is computed exactly and rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from halfulp.explanations.applications import FIRST, nan_operand_words, rounded_operation, special_rule
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.rules import Found, bare_nan, default_nan, nan_rule, rounding_rule
from halfulp.explorer.ways import WAYS, Way
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty


class Operation(NamedTuple):
    """An operation of the page: what computes it, its name there, and its sign."""

    compute: Callable[..., scalar.Result]
    name: str
    sign: str


OPERATIONS: Mapping[str, Operation] = {
    "addf": Operation(scalar.add, "add", "+"),
    "subf": Operation(scalar.subtract, "subtract", "−"),
    "mulf": Operation(scalar.multiply, "multiply", "×"),
    "divf": Operation(scalar.divide, "divide", "÷"),
    "remf": Operation(scalar.remainder, "remainder", "rem"),
}
"""The operations of the page, by the names of arith."""
Row = Callable[[scalar.Result, str], int]
"""Numbers the row of a result and its rule."""


def _classes(fmt: FloatFormat) -> dict[str, GivenOperand]:
    """Return one operand of each class."""
    one = min(max(fmt.bias << fmt.mantissa_bits, fmt.min_normal_magnitude), fmt.max_magnitude)
    codes = {"f": fmt.from_magnitude(one)}
    if fmt.zero:
        codes["z"] = 0
    if fmt.infinity_code is not None:
        codes["i"] = fmt.infinity_code
    if fmt.sign_mask is not None:
        negative = {letter.upper(): code | fmt.sign_mask for letter, code in codes.items()}
        codes |= {letter: code for letter, code in negative.items() if letter != "Z" or fmt.has_negative_zero}
    type_ = ty.FloatType(fmt)
    return {letter: GivenOperand("", type_, code, scalar.value(fmt, code)) for letter, code in codes.items()}


def _not_computed(*_: Any) -> Found:
    raise AssertionError("only the rule is asked for")


def _outcome(fmt: FloatFormat, operation: Operation, x: GivenOperand, y: GivenOperand, way: Way) -> tuple[Any, str]:
    """Return the result of an operation, and its rule."""
    result = operation.compute(fmt, x.known, y.known, way.mode, random=way.random(None))
    given, rule = rounded_operation(operation.name, x, y, _not_computed, way.word)
    if rule is None:
        assert given.exact is not None
        rule = rounding_rule(fmt, given.exact, given.negative, way.word, result.code, None)
    return result, rule


def _follows_from_classes(operation: Operation, x: GivenOperand, y: GivenOperand) -> bool:
    """Tell whether every two operands of these classes have one result; of finite ones, whether those have that are
    given.
    """
    special = special_rule(operation.name, x, y)
    if special is not None:
        return special[1] != FIRST or x.zero
    given, _ = rounded_operation(operation.name, x, y, _not_computed, WAYS[0].mode)
    return not given.exact


def operation_rows(fmt: FloatFormat, row: Row) -> dict[str, dict[str, int | list[int]]]:
    """Return the results of each operation by classes of its operands: a row for each way, or one row for all."""
    classes = _classes(fmt)
    found: dict[str, dict[str, int | list[int]]] = {}
    for op, operation in OPERATIONS.items():
        found[op] = {}
        for a, x in classes.items():
            for b, y in classes.items():
                if _follows_from_classes(operation, x, y):
                    rows = [row(*_outcome(fmt, operation, x, y, way)) for way in WAYS]
                    found[op][a + b] = rows if len(set(rows)) > 1 else rows[0]
    return found


def nan_words(fmt: FloatFormat) -> dict[str, str]:
    """Return the rules for NaNs. Their codes have the payloads of operands, so the page puts them together."""
    type_ = ty.FloatType(fmt)
    words = {"converted": nan_rule(fmt), "default": default_nan(fmt)}
    if fmt.nan_code is not None:
        words["operand"] = f"a NaN operand: {nan_operand_words(GivenOperand('', type_, fmt.nan_code, None))}"
        words["bare"] = bare_nan(fmt, fmt.nan_code)
    if fmt.explicit_integer_bit:
        invalid = 1 << fmt.precision  # an exponent, and no integer bit
        words["invalidOperand"] = f"a NaN operand: {nan_operand_words(GivenOperand('', type_, invalid, None))}"
        words["bareInvalid"] = bare_nan(fmt, invalid)
    return words
