"""Numbers and strings as MLIR text spells them. Floats are raw bit patterns here, never Python floats.

MLIR spells a float (AsmPrinter's `printFloatValue` over `APFloat::toString`) with six significant digits in exponent
form if they read back equal in the format itself. Otherwise it uses as many digits as the precision needs, if that
spelling has a point. Otherwise, and for infinities and NaNs, it prints the bit pattern in hexadecimal.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.numbers import double_bits, exact_number, round_to_format
from halfulp.fp_formats.scalar import convert, from_fraction, value

# log2(10) and its inverse as LLVM approximates them.
_LOG2_10 = (196, 59)


@lru_cache(maxsize=4096)
def spell_float(format: FloatFormat, code: int) -> str:
    """Spell a bit pattern without its type."""
    exact = value(format, code)
    if exact is None:
        return spell_bits(code)
    negative = bool(format.sign_mask and code & format.sign_mask)
    sign = "-" if negative else ""
    if exact == 0:
        return f"{sign}0.000000e+00"
    short = _exponent_form(*_digits(abs(exact), 6))
    if _is_exact(format, sign + short, code):
        return sign + short
    precision = 2 + format.precision * _LOG2_10[1] // _LOG2_10[0]
    text = _default_form(*_digits(abs(exact), precision), precision)
    if "." not in text or read_decimal(format, sign + text) != code:
        return spell_bits(code)
    return sign + text


def _is_exact(format: FloatFormat, text: str, code: int) -> bool:
    """Tell whether a spelling reads back equal, both in the format itself, as MLIR's printer tries it, and as its
    parser reads it.
    """
    return from_fraction(format, Fraction(text)).code == code == read_decimal(format, text)


def spell_bits(code: int) -> str:
    """Spell a bit pattern in hexadecimal: upper-case digits without leading zeros (``0x0`` for zero)."""
    return f"0x{code:X}"


def spell_double(number: float) -> str:
    """Spell a Python float as an f64."""
    return spell_float(FORMATS["f64"], double_bits(number))


def spell_rounded(number: float, format: FloatFormat) -> str:
    """Spell a Python float as a number of ``format``, to which it is rounded."""
    return spell_float(format, convert(FORMATS["f64"], format, double_bits(number)).code)


@lru_cache(maxsize=4096)
def read_decimal(format: FloatFormat, text: str) -> int:
    """Read a decimal literal: round it to the nearest f64, and that to nearest even into ``format``.

    The step through f64 is part of the language (MLIR 22 and newer), not an approximation.
    """
    return round_to_format(format, exact_number(text, literal=True)).code


def _digits(exact: Fraction, precision: int) -> tuple[str, int]:
    """Return the decimal digits and the power of ten of the last one, rounded half up to ``precision`` as LLVM does.

    LLVM first divides by a power of ten that leaves just enough bits, truncating; when that leaves no more than
    ``precision`` digits, nothing is rounded. ``exact`` is a positive dyadic rational.
    """
    denominator_bits = exact.denominator.bit_length() - 1
    trailing = (exact.numerator & -exact.numerator).bit_length() - 1
    if denominator_bits:
        # m / 2^e = m * 5^e / 10^e
        significand, exponent = exact.numerator * 5**denominator_bits, -denominator_bits
    else:
        significand, exponent = (exact.numerator >> trailing) << trailing, 0
    numerator, denominator = _LOG2_10
    surplus = significand.bit_length() - (precision * numerator + denominator - 1) // denominator
    if surplus > 0:
        tens = surplus * denominator // numerator
        significand //= 10**tens
        exponent += tens
    text = str(significand)
    stripped = text.rstrip("0")
    exponent += len(text) - len(stripped)
    if len(stripped) > precision:
        dropped = len(stripped) - precision
        rounded = int(stripped[:precision]) + (stripped[precision] >= "5")
        kept = str(rounded).rstrip("0")
        exponent += dropped + len(str(rounded)) - len(kept)
        stripped = kept
    return stripped, exponent


def _exponent_form(digits: str, exponent: int) -> str:
    power = exponent + len(digits) - 1
    fraction = digits[1:].ljust(6, "0")
    return f"{digits[0]}.{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _default_form(digits: str, exponent: int, precision: int) -> str:
    """Spell digits as `APFloat::toString` does: at most three padding zeros, and no point in short integers."""
    top = exponent + len(digits) - 1
    too_long = exponent > 3 or len(digits) + exponent > precision
    if too_long if exponent >= 0 else top < -3:
        return f"{digits[0]}.{digits[1:] or '0'}E{'-' if top < 0 else '+'}{abs(top)}"
    if exponent >= 0:
        return digits + "0" * exponent
    whole = exponent + len(digits)
    if whole > 0:
        return f"{digits[:whole]}.{digits[whole:]}"
    return f"0.{'0' * -whole}{digits}"


_UNPRINTABLE = re.compile(rb'[^\x20-\x7e]|["\\]')


def quoted(text: str) -> str:
    """Return a string literal: in quotes, with a backslash and two hexadecimal digits for all but printable ASCII."""
    return f'"{escaped(text)}"'


def escaped(text: str) -> str:
    """Return the text between the quotes of `quoted`; a backslash is doubled."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    data = text.encode("utf-8", "surrogateescape")
    spelled = _UNPRINTABLE.sub(lambda m: b"\\\\" if m[0] == b"\\" else b"\\%02X" % m[0][0], data)
    return spelled.decode("ascii")


_ESCAPE = re.compile(rb'\\(?:([0-9a-fA-F]{2})|(["\\nt]))')
_SIMPLE = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}


def unescaped(body: str) -> str:
    """Return the string of a literal's body. Bytes that are not UTF-8 become surrogates (``surrogateescape``)."""
    if "\\" not in body:
        return body
    data = _ESCAPE.sub(
        lambda m: bytes.fromhex(m[1].decode()) if m[1] else _SIMPLE[m[2]], body.encode("utf-8", "surrogateescape")
    )
    return data.decode("utf-8", "surrogateescape")


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def is_bare_identifier(text: str) -> bool:
    """Tell whether ``text`` can stand as an attribute's name without quotes."""
    return _BARE.fullmatch(text) is not None


def spell_symbol(name: str) -> str:
    """Spell ``@name``, quoted where the name is not an identifier."""
    return f"@{name}" if _SYMBOL.fullmatch(name) else f"@{quoted(name)}"


_STRAIGHT_BITS = 14_000  # what Python itself converts: its limit is 4,300 digits


def decimal_text(number: int) -> str:
    """Return an integer in decimal digits. Python's own conversion stops at 4,300 of them."""
    if number.bit_length() < _STRAIGHT_BITS:
        return str(number)
    if number < 0:
        return f"-{decimal_text(-number)}"
    digits = number.bit_length() * 3 // 20  # about half of them
    high, low = divmod(number, 10**digits)
    return decimal_text(high) + decimal_text(low).zfill(digits)


def decimal_number(text: str) -> int:
    """Read an integer of any number of decimal digits."""
    if len(text) < _STRAIGHT_BITS // 4:
        return int(text)
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    half = len(digits) // 2
    power: int = 10**half
    return sign * (decimal_number(digits[:-half]) * power + decimal_number(digits[-half:]))
