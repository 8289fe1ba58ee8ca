"""Affine maps and integer sets from text, with mlir-opt's messages and positions."""

from __future__ import annotations

import re
from typing import NoReturn

from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir.base import Attribute, Type, decimal_number, read_decimal, unescaped
from halfulp.interp.ir.types import FloatType, IndexType, IntegerType, width_of
from halfulp.interp.text.lexer import Cursor

# --- token parser -----------------------------------------------------------------------------------------------------
#
# Tokens with a value: strings, symbols, integers and the bit patterns of numbers.

_ESCAPED = re.compile(r'(?:[^\\]|\\(?:["\\nt]|[0-9a-fA-F]{2}))*')


class TokenParser(Cursor):
    """A parser of strings, symbols and numbers. Its subclasses read types and attributes.

    ``exact_decimals``: as for `halfulp.interp.loading.parse_module`.
    """

    exact_decimals = False

    def type(self) -> Type:
        """Read a type."""
        raise NotImplementedError

    def attribute(self, type: Type | None = None) -> Attribute:
        """Read an attribute. ``type``, if given, is the type of a literal that is written without one."""
        raise NotImplementedError

    def string(self, message: str = "expected string") -> str:
        """Read a string literal."""
        token = self.tokens[self.pos]
        if token[:1] != '"' or len(token) < 2:
            self.wrong_token(message)
        text = self.string_of(token, self.pos)
        self.pos += 1
        return text

    def string_of(self, token: str, index: int) -> str:
        """Return the string of a literal token, or the name in a symbol token. ``index``: the index of the token, for
        errors.
        """
        if "\\" not in token:
            return token[1:-1]
        start = 1 if token[0] == '"' else 2
        good = _ESCAPED.match(token, start, len(token) - 1)
        if good is not None and good.end() < len(token) - 1:
            self.error_at_offset("unknown escape in string literal", self.offset(index) + good.end())
        return unescaped(token[start:-1])

    def symbol(self, message: str = "expected valid '@'-identifier for symbol name") -> str:
        """Read ``@name`` and return the name without its ``@``."""
        token = self.tokens[self.pos]
        if token[:1] != "@" or len(token) < 2:
            self.wrong_token(message)
        name = self.string_of(token[1:], self.pos) if token[1] == '"' else token[1:]
        self.pos += 1
        return name

    def integer(self, message: str = "expected integer value", wide: bool = False) -> int:
        """Read a plain integer, possibly negative, of 64 bits unless ``wide``."""
        at = self.pos
        negative = self.take("-")
        token = self.tokens[self.pos]
        if not is_integer(token):
            if negative:
                self.wrong_token(message)
            self.error(message)
        self.pos += 1
        value = integer_value(token)
        if negative:
            value = -value
        if not wide and not -(1 << 63) <= value < 1 << 63:
            self.error("integer value too large", at)
        return value

    def resource_key(self, message: str) -> str:
        """Read the name of a resource: an identifier or a string."""
        token = self.tokens[self.pos]
        if token[:1] == '"' and len(token) > 1:
            return self.string()
        if not (token[:1].isalpha() or token[:1] == "_"):
            self.wrong_token(message)
        self.pos += 1
        return token

    def integer_code(self, token: str, at: int, negative: bool, type: Type, message: str) -> int:
        """Return the bit pattern of an integer literal of a type. ``at``: the index of the token. Raises ParseError
        with ``message`` if the type does not hold it.

        A positive literal of a signless type may use all its bits (255 : i8); a signed type and index may not.
        """
        value = integer_value(token)
        width = width_of(type)
        signed = isinstance(type, IndexType) or (isinstance(type, IntegerType) and type.signedness == "signed")
        if value >> width:
            self.error(message, at)
        if negative:
            code = -value & ((1 << width) - 1)
            if width == 0 or not code >> (width - 1):
                self.error(message, at)
            return code
        if signed and width and value >> (width - 1):
            self.error(message, at)
        return value

    def float_code(self, token: str, at: int, negative: bool, type: FloatType) -> int:
        """Return the bit pattern of a float literal of a type. A decimal literal is rounded; a hexadecimal literal is
        the bit pattern itself. ``at``: the index of the token.
        """
        format = type.format
        if "." in token:
            if negative and not format.signed:
                self.error(f"negative literal not valid for the unsigned type '{type}'", at)
            return read_decimal(format, f"-{token}" if negative else token, self.exact_decimals)
        if token[1:2] != "x":
            self.error(
                "unexpected decimal integer literal for a floating point value",
                at,
                notes=[(self.source.at_token(at), "add a trailing dot to make the literal a float")],
            )
        if negative:
            self.error("hexadecimal float literal should not have a leading minus", at)
        code = int(token, 16)
        if code >> format.bits:
            self.error("hexadecimal float constant out of range for type", at)
        return code


def is_integer(token: str) -> bool:
    """Tell whether a token is an integer literal, decimal or hexadecimal."""
    return token.isdigit() or token[:2] == "0x"


def integer_value(token: str) -> int:
    """Return the value of an integer literal, decimal or hexadecimal."""
    return int(token, 16) if token[:2] == "0x" else decimal_number(token)


# --- affine parser ----------------------------------------------------------------------------------------------------

# The most operators that may be nested in one expression.
MAX_DEPTH = 200

_LOW = ("+", "-")
_HIGH = ("*", "floordiv", "ceildiv", "mod")
_NON_AFFINE = "non-affine expression: "

Constraint = tuple[affine.AffineExpr, bool]


class AffineParser:
    """A parser of one map or set. ``results``: the expressions of a map. ``constraints``: those of a set, each with
    True if it equals zero, and False if it is at least zero.
    """

    def __init__(self, parser: TokenParser) -> None:
        self.parser = parser
        self.names: dict[str, affine.AffineExpr] = {}
        self.dimensions = self.symbols = 0
        self.results: list[affine.AffineExpr] = []
        self.constraints: list[Constraint] = []
        self.is_set = False

    def read(self) -> None:
        """Read ``(dims)[symbols] -> (expressions)`` or ``(dims)[symbols] : (constraints)``."""
        parser = self.parser
        parser.expect("(", "expected '(' in dimensional identifier list")
        self.dimensions = self._identifiers(")", affine.Dimension, "dimensional identifier list")
        if parser.take("["):
            self.symbols = self._identifiers("]", affine.Symbol, "symbol list")
        self.is_set = parser.tokens[parser.pos] == ":"
        if not self.is_set and parser.tokens[parser.pos] != "->":
            parser.wrong_token("expected '->' or ':'")
        parser.pos += 1
        where = "integer set constraint list" if self.is_set else "affine map range"
        parser.expect("(", f"expected '(' in {where}")
        parser.until(")", self._item, f"expected ')' in {where}")
        if self.is_set and not self.constraints:
            self.constraints.append((affine.AffineConstant(0), True))

    def _identifiers(self, end: str, kind: type[affine.Dimension] | type[affine.Symbol], where: str) -> int:
        parser = self.parser
        count = 0
        if parser.take(end):
            return 0
        while True:
            token = parser.tokens[parser.pos]
            if not _is_identifier(token):
                parser.wrong_token("expected bare identifier")
            if token in self.names:
                parser.error(f"redefinition of identifier '{token}'")
            self.names[token] = kind(count)
            count += 1
            parser.pos += 1
            if not parser.take(","):
                parser.expect(end, f"expected '{end}' in {where}")
                return count

    def _item(self) -> None:
        if self.is_set:
            self._constraint()
        else:
            self.results.append(self.expression())

    def _constraint(self) -> None:
        parser = self.parser
        left = self.expression()
        relation = parser.tokens[parser.pos]
        if relation in (">", "<", "="):
            parser.pos += 1
        if relation not in (">", "<", "=") or not parser.take("="):
            parser.error("expected '== affine-expr' or '>= affine-expr' at end of affine constraint")
        right = self.expression()
        difference = affine.subtract(right, left) if relation == "<" else affine.subtract(left, right)
        self.constraints.append((difference, relation == "="))

    def expression(self) -> affine.AffineExpr:
        """Read sums and differences of products, from left to right."""
        parser = self.parser
        total = self._product(None)
        while (operator := parser.tokens[parser.pos]) in _LOW:
            at = parser.pos
            parser.pos += 1
            total = self._joined(operator, total, self._product(total), at)
        return total

    def _product(self, left: affine.AffineExpr | None) -> affine.AffineExpr:
        parser = self.parser
        total = self._operand(left)
        operator, at = parser.tokens[parser.pos], parser.pos
        while operator in _HIGH:
            parser.pos += 1
            factor = self._operand(total)
            following = parser.tokens[parser.pos]
            # mlir-opt reports the error at the operator after the wrong one, if there is one.
            blamed = parser.pos if following in _HIGH else at
            total = self._joined(operator, total, factor, blamed)
            operator, at = following, parser.pos
        return total

    def _joined(self, operator: str, left: affine.AffineExpr, right: affine.AffineExpr, at: int) -> affine.AffineExpr:
        if operator == "*" and not (left.symbolic or right.symbolic):
            self.parser.error(
                f"{_NON_AFFINE}at least one of the multiply operands has to be either a constant or symbolic", at
            )
        if operator in _HIGH[1:] and not right.symbolic:
            self.parser.error(f"{_NON_AFFINE}right operand of {operator} has to be either a constant or symbolic", at)
        joined = affine.OPERATORS[operator](left, right)
        if joined.depth > MAX_DEPTH:
            self.parser.error(f"the affine expression is nested deeper than {MAX_DEPTH} levels", at)
        return joined

    def _operand(self, left: affine.AffineExpr | None) -> affine.AffineExpr:
        parser = self.parser
        token = parser.tokens[parser.pos]
        if token == "(":
            parser.pos += 1
            parser.enter()
            if parser.tokens[parser.pos] == ")":
                parser.error("no expression inside parentheses")
            inner = self.expression()
            parser.expect(")")
            parser.leave()
            return inner
        if token == "-":
            parser.pos += 1
            parser.enter()
            operand = affine.negate(self._operand(left))
            parser.leave()
            return operand
        if token.isdigit() or token[:2] == "0x":
            digits = token.lstrip("0")
            value = int(token, 16) if token[:2] == "0x" else int(digits or "0") if len(digits) < 20 else 1 << 63
            if value >> 63:
                parser.error("constant too large for index")
            parser.pos += 1
            return affine.AffineConstant(value)
        if token not in self.names:
            self._wrong_operand(token, left)
        parser.pos += 1
        return self.names[token]

    def _wrong_operand(self, token: str, left: affine.AffineExpr | None) -> NoReturn:
        parser = self.parser
        if token == "symbol" and parser.tokens[parser.pos + 1] == "(":
            parser.error("unexpected ssa identifier", parser.pos + 2)
        if _is_identifier(token):
            parser.error("use of undeclared identifier", hint=parser.similar(token, self.names))
        if token in ("+", "*"):
            parser.error(f"missing {'left' if left is None else 'right'} operand of binary operator")
        parser.error("expected affine expression" if left is None else "missing right operand of binary operator")


def _is_identifier(token: str) -> bool:
    return (token[:1].isalpha() or token[:1] == "_") and token[-1:] != ">" and token.isascii()
