"""The tables of the elementary functions, from the rows of `halfulp.fp_formats.reals`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.reals import elementary
from halfulp.fp_formats.reals.functions import FUNCTIONS, Function
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO, FunctionOfTwo
from halfulp.fp_formats.spelling import value_text

F32 = FORMATS["f32"]
Table = tuple[Sequence[str], Iterable[Sequence[str]]]
"""A head and rows."""
_WORDS = {
    "nan": "NaN (invalid)",
    "pole": "inf (divide by zero)",
    "-pole": "-inf (divide by zero)",
}


def _limit(function: Function, word: str, argument: arb) -> str:
    if word == "real":
        return f"{float(function.ball(argument).mid()):.7f}"[:-2] + "..."  # cut off, not rounded
    return _WORDS.get(word, word)


def _domain(function: Function) -> str:
    low, high = function.limits.domain
    if low is None and high is None:
        return "all numbers"
    return f"{'-inf' if low is None else low} to {'inf' if high is None else high}"


def formula_text(function: Function | FunctionOfTwo) -> str:
    """Return what a function is, as code if it is a formula."""
    formula = function.formula
    return f"`{formula}`" if re.search(r"[*/+-]|\w\(", formula) else formula


def of_one_argument() -> Table:
    """Return what each function of one argument is, where it is defined, and its results at the ends and at zero."""
    rows = []
    for name, function in FUNCTIONS.items():
        limits = function.limits
        ends = (
            (limits.minus_infinity, arb.neg_inf()),
            (limits.minus_zero, arb(0)),
            (limits.plus_zero, arb(0)),
            (limits.plus_infinity, arb.pos_inf()),
        )
        found = [_limit(function, word, argument) for word, argument in ends]
        rows.append(
            [
                f"`{name}`",
                f"`{function.formula}`" if "x" in function.formula else function.formula,
                _domain(function),
                *found,
            ]
        )
    return ["function", "what it is", "domain", "of -inf", "of -0", "of +0", "of inf"], rows


def exact_results() -> Table:
    """Return the arguments with a rational result, and why there are no others."""
    rows = [
        [f"`{name}`", row.rational, row.proof.removeprefix("by ") or "not proved"]
        for name, row in (FUNCTIONS | FUNCTIONS_OF_TWO).items()
    ]
    return ["function", "results are rational", "irrational elsewhere by"], rows


# --- functions of two arguments ---------------------------------------------------------------------------------------

_OPERANDS = ("-inf", "-3", "-2", "-0.5", "-0", "0", "0.5", "2", "3", "inf", "nan")
_DEGREES = (-3, -2, 0, 2, 3)


def _code(text: str) -> int:
    if text in ("inf", "-inf"):
        return scalar.encode_infinity(F32, int(text[0] == "-"), 0, "max").code
    if text == "nan":
        assert F32.nan_code is not None
        return F32.nan_code
    if text == "-0":
        assert F32.sign_mask is not None
        return F32.sign_mask
    return scalar.from_fraction(F32, Fraction(text)).code


def _result(found: scalar.Result) -> str:
    raised = Flags(found.flags) & (Flags.INVALID | Flags.DIVIDE_BY_ZERO)
    mark = " (invalid)" if raised & Flags.INVALID else " (divide by zero)" if raised else ""
    return f"{value_text(F32, found.code, 12)}{mark}"


def results_of_two(function: FunctionOfTwo) -> Table:
    """Return the results of a function of two arguments on special operands, in f32."""
    first, second = function.operands
    if second == "n":
        columns = [str(n) for n in _DEGREES]
        results = [[elementary.of_integer(function.name, F32, _code(x), n) for n in _DEGREES] for x in _OPERANDS]
    else:
        columns = list(_OPERANDS)
        results = [[elementary.binary(function.name, F32, _code(x), _code(y)) for y in _OPERANDS] for x in _OPERANDS]
    rows = [[f"**{x}**", *map(_result, row)] for x, row in zip(_OPERANDS, results, strict=True)]
    return [f"{first} \\ {second}", *columns], rows


def special_cases(function: FunctionOfTwo) -> list[str]:
    """Return the special cases of a function in words, in their order."""
    return [case.words for case in function.specials]
