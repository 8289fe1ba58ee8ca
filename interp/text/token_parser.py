"""Tokens with a value: strings, symbols, integers and the bit patterns of numbers."""

from __future__ import annotations

import re

from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.literals import read_decimal, unescaped
from halfulp.interp.ir.types import FloatType, IndexType, IntegerType, width_of
from halfulp.interp.text.cursor import Cursor

_ESCAPED = re.compile(r'(?:[^\\]|\\(?:["\\nt]|[0-9a-fA-F]{2}))*')


class TokenParser(Cursor):
    """A parser of strings, symbols and numbers. Its subclasses read types and attributes."""

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
        """Return the string of a literal token (of the part behind its ``@``, if it is a symbol)."""
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
        """Return the bit pattern of an integer literal. Raises ParseError with ``message`` where it does not fit.

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
        """Return the bit pattern of a float literal: a decimal one is rounded, a hexadecimal one is the pattern."""
        format = type.format
        if "." in token:
            if negative and not format.signed:
                self.error(f"negative literal not valid for the unsigned type '{type}'", at)
            return read_decimal(format, f"-{token}" if negative else token)
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
    if token[:2] == "0x":
        return int(token, 16)
    # Python converts at most 4,300 digits at once.
    value = 0
    for start in range(0, len(token), 4000):
        part = token[start : start + 4000]
        value = value * 10 ** len(part) + int(part)
    return value
