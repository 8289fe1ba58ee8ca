"""The types of the dialect: float types that MLIR has no spelling for.

``!halfulp.float<"binary8p3se">`` names a format that every halfulp knows. ``!halfulp.float<"e3m2x", exponent = 3,
mantissa = 2, bias = 3>`` defines one; the words unsigned, finite, no_zero, integer_bit and even_code, and ``nan =
all_ones``, ``negative_zero`` or ``none``, stand for the other fields of a `FloatFormat`.
"""

from __future__ import annotations

from typing import Any

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.named_formats import format_named
from halfulp.interp.ir.types import FLOAT_FLAGS, FLOAT_NUMBERS, NAN_WORDS, FloatType
from halfulp.interp.text.type_parser import TypeParser


def _float(parser: TypeParser) -> FloatType:
    """Read ``<"name">``, or ``<"name", key = value, …, flag, …>``."""
    parser.expect("<")
    start = parser.pos
    name = parser.string('expected the name of a float format, as in !halfulp.float<"binary8p3se">')
    if parser.take(">"):
        return FloatType(_named(parser, name, start))
    fields: dict[str, Any] = {}
    while parser.take(","):
        _field(parser, fields)
    parser.expect(">", "expected ',' or '>' in float type")
    missing = [word for word, field in FLOAT_NUMBERS.items() if field not in fields]
    if missing:
        parser.error(f"float format {name!r} needs {', '.join(missing)}, as in exponent = 3", start)
    try:
        made = FloatFormat(name, **fields)
        known = format_named(name)
    except ValueError as error:
        parser.error(str(error), start)
    if known is not None and known != made:
        parser.error(f"{name!r} names another format; give yours another name", start)
    return FloatType(made)


def _named(parser: TypeParser, name: str, start: int) -> FloatFormat:
    try:
        known = format_named(name)
    except ValueError as error:
        parser.error(str(error), start)
    if known is None:
        parser.error(
            f"no float format is named {name!r}; write its fields, as in "
            f'!halfulp.float<"{name}", exponent = 3, mantissa = 2, bias = 3>, or register it: hu.register_format',
            start,
        )
    return known


def _field(parser: TypeParser, fields: dict[str, Any]) -> None:
    at = parser.pos
    word = parser.tokens[at]
    parser.pos += 1
    value: Any
    if word in FLOAT_FLAGS:
        name, value = FLOAT_FLAGS[word]
    elif word in FLOAT_NUMBERS or word == "nan":
        parser.expect("=")
        if word == "nan":
            name, value = "nan", _nan(parser)
        else:
            name, value = FLOAT_NUMBERS[word], parser.integer()
    else:
        parser.pos = at
        parser.wrong_token(f"expected one of {', '.join((*FLOAT_NUMBERS, 'nan', *FLOAT_FLAGS))}")
    if name in fields:
        parser.error(f"{word} is given twice", at)
    fields[name] = value


def _nan(parser: TypeParser) -> Any:
    at = parser.pos
    word = parser.tokens[at]
    if word not in NAN_WORDS:
        parser.wrong_token(f"expected one of {', '.join(NAN_WORDS)}")
    parser.pos += 1
    return NAN_WORDS[word]


PARSERS = {"float": _float}
"""The readers of the types, by name."""
