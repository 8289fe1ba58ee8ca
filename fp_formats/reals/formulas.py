"""Read formulas as text: "x / (1 + exp(-x))". The text is never given to Python.

formula   = term of the operators + - * / **, with Python's precedence: -x**2 is -(x**2), and ** goes from the right
operand   = number | constant | argument | function "(" formula { "," formula } ")" | "(" formula ")" | "-" operand
number    = decimal, as in 0.1 (exactly 1/10) or 1e-5, or hexadecimal, as in 0x1.8p-3 or 0xFF
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.reals import expressions
from halfulp.fp_formats.reals.extended import of_fraction

LONGEST_TEXT = 10_000
"""Characters of the longest formula."""
DEEPEST = 100
"""Levels of the deepest nesting: brackets, signs and powers."""
LARGEST_EXPONENT = 10_000
"""The largest exponent of a number in a formula, as in 1e-10000."""
CONSTANTS = ("pi", "e")

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<hexadecimal>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)
    | (?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<sign>\*\*|[-+*/(),])""",
    re.VERBOSE,
)
_BINDING = {"+": (1, "add"), "-": (1, "subtract"), "*": (2, "multiply"), "/": (2, "divide"), "**": (4, "power")}
_SIGNED = 3  # a sign binds tighter than * and /, but not than **


class FormulaError(ValueError):
    """An error in the text of a formula. ``place``: the index of the character; ``hint``: what to write."""

    def __init__(self, message: str, place: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.hint = hint


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def parse(text: str, arguments: Sequence[str]) -> expressions.Real:
    """Return the expression of a formula of the named arguments. Raises `FormulaError`."""
    if not text.strip():
        raise FormulaError("the formula is empty", 0)
    if len(text) > LONGEST_TEXT:
        raise FormulaError(f"a formula of {len(text)} characters is too long: at most {LONGEST_TEXT}", LONGEST_TEXT)
    known = {name: expressions.node("argument", payload=index) for index, name in enumerate(arguments)}
    reader = _Reader(_tokens(text), known)
    found = reader.formula(0, 0)
    rest = reader.tokens[reader.at]
    if rest.kind != "end":
        raise FormulaError(f"expected an operator, got '{rest.text}'", rest.place, _after_operand(rest))
    return found


def _tokens(text: str) -> list[_Token]:
    found = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            hints = {"^": "write ** for a power", "[": "write round brackets", "{": "write round brackets"}
            hints |= dict.fromkeys("<>=!", "write a Python function for comparisons, or maximum(x, y) and abs(x)")
            raise FormulaError(f"'{text[place]}' is not part of a formula", place, hints.get(text[place]))
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_Token(kind, match[0], place))
        place = match.end()
    return [*found, _Token("end", "the end", len(text))]


def _after_operand(token: _Token) -> str | None:
    return "write * for a product" if token.kind != "sign" or token.text == "(" else None


class _Reader:
    def __init__(self, tokens: list[_Token], arguments: dict[str, expressions.Real]) -> None:
        self.tokens = tokens
        self.arguments = arguments
        self.at = 0

    def _next(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, sign: str, why: str) -> None:
        token = self._next()
        if token.text != sign or token.kind != "sign":
            raise FormulaError(f"expected '{sign}' {why}, got '{token.text}'", token.place, _after_operand(token))

    def formula(self, least: int, depth: int) -> expressions.Real:
        """Read a formula whose operators bind at least as tightly as ``least``."""
        left = self._operand(depth)
        while (binding := _BINDING.get(self.tokens[self.at].text)) is not None and binding[0] >= least:
            self._next()
            tight, operation = binding
            right = self.formula(_SIGNED if operation == "power" else tight + 1, depth + (operation == "power"))
            left = expressions.node(operation, left, right)
        return left

    def _operand(self, depth: int) -> expressions.Real:
        token = self._next()
        if depth >= DEEPEST:
            raise FormulaError(f"the formula is nested more than {DEEPEST} levels deep", token.place)
        if token.kind in ("decimal", "hexadecimal"):
            return expressions.constant(of_fraction(_number(token)))
        if token.kind == "name":
            return self._named(token, depth)
        if token.text == "(":
            found = self.formula(0, depth + 1)
            self._expect(")", "after the formula in brackets")
            return found
        if token.text in ("+", "-"):
            found = self.formula(_SIGNED, depth + 1)
            return expressions.node("negative", found) if token.text == "-" else found
        raise FormulaError(f"expected a number, a name or a bracket, got '{token.text}'", token.place)

    def _named(self, token: _Token, depth: int) -> expressions.Real:
        name = token.text
        if self.tokens[self.at].text != "(":
            if name in self.arguments:
                return self.arguments[name]
            if name in CONSTANTS:
                return expressions.node(name)
            raise FormulaError(f"unknown name '{name}'", token.place, self._hint(name))
        operation = expressions.operation_named(name)
        if operation is None or not expressions.ARITIES[operation]:
            hint = did_you_mean(name, expressions.names_of_functions())
            if name in self.arguments or name in CONSTANTS:
                hint = f"write {name} * (…) for a product"
            raise FormulaError(f"unknown function '{name}'", token.place, hint)
        self._next()
        given = [self.formula(0, depth + 1)]
        while self.tokens[self.at].text == ",":
            self._next()
            given.append(self.formula(0, depth + 1))
        self._expect(")", f"after the arguments of {name}")
        if len(given) != expressions.ARITIES[operation]:
            raise FormulaError(
                f"{name} takes {expressions.ARITIES[operation]} arguments, not {len(given)}", token.place
            )
        return expressions.node(operation, *given)

    def _hint(self, name: str) -> str | None:
        if expressions.operation_named(name) is not None:
            return f"write {name}(…)"
        near = did_you_mean(name, [*self.arguments, *CONSTANTS, *expressions.names_of_functions()])
        return near or f"the arguments are {', '.join(self.arguments)}; the constants pi and e"


def _number(token: _Token) -> Fraction:
    """Return the exact value of the text of a number."""
    if token.kind == "hexadecimal":
        digits, _, power = token.text[2:].lower().partition("p")
        whole, _, part = digits.partition(".")
        value, base, exponent = Fraction(int((whole + part) or "0", 16)), 2, _exponent(token, power) - 4 * len(part)
    else:
        digits, _, power = token.text.lower().partition("e")
        whole, _, part = digits.partition(".")
        value, base, exponent = Fraction(_integer(whole + part)), 10, _exponent(token, power) - len(part)
    return value * Fraction(base) ** exponent


def _integer(digits: str) -> int:
    """Return the integer of decimal digits in parts, since Python's int takes only about 4,000 at a time."""
    found = 0
    for start in range(0, len(digits), 4000):
        part = digits[start : start + 4000]
        found = found * 10 ** len(part) + int(part)
    return found


def _exponent(token: _Token, digits: str) -> int:
    if len(digits) > 8 or abs(int(digits or "0")) > LARGEST_EXPONENT:
        raise FormulaError(f"the exponent of a number must be at most {LARGEST_EXPONENT}", token.place)
    return int(digits or "0")
