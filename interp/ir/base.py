"""The base classes of types and attributes, and how their instances are frozen, hashed and pickled."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar, dataclass_transform

from halfulp.fp_formats.formats import FORMATS, FloatFormat, double_bits
from halfulp.fp_formats.numbers import exact_number, round_to_format
from halfulp.fp_formats.scalar import from_double, from_fraction, value

Frozen = TypeVar("Frozen")
Kind = TypeVar("Kind")

NO_NAMES: Mapping[object, str] = {}


def narrowed(value: object, kind: type[Kind]) -> Kind:
    """Return a value unchanged, typed as an instance of ``kind`` for the type checker. Earlier checks ensure that it is
    one.
    """
    assert isinstance(value, kind)
    return value


@dataclass_transform(frozen_default=True)
def immutable(cls: type[Frozen]) -> type[Frozen]:
    """Make a class a frozen dataclass that computes its hash only once, since types and attributes are
    often looked up.
    """
    made = dataclass(frozen=True)(cls)
    compute = made.__hash__

    def cached_hash(self: object) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = compute(self)
        return known

    made.__hash__ = cached_hash  # type: ignore[method-assign]
    return made


def fields_only(self: object) -> dict[str, object]:
    """Return the state to pickle: only the fields. A cached hash is left out, since hashes of strings differ between
    processes.
    """
    return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


@immutable
class Type:
    """The base of all types."""

    def __getstate__(self) -> dict[str, object]:
        return fields_only(self)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the type; parts of it that have an alias in ``names`` are spelled by the alias."""
        raise NotImplementedError

    @cached_property
    def _spelling(self) -> str:
        return self.spell(NO_NAMES)

    def __str__(self) -> str:
        return self._spelling


@immutable
class Attribute:
    """The base of all attributes."""

    def __getstate__(self) -> dict[str, object]:
        return fields_only(self)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the attribute; parts of it that have an alias in ``names`` are spelled by the alias."""
        raise NotImplementedError

    def spell_nested(self, names: Mapping[object, str]) -> str:
        """Return the text of the attribute inside another: by its alias, if it has one."""
        return (names and names.get(self)) or self.spell(names)

    def spell_untyped(self, names: Mapping[object, str] = NO_NAMES) -> str:
        """Return the text of the attribute where the type of an i64 or f64 literal is implied: in arrays and as a
        memory space.
        """
        return self.spell_nested(names)

    def __str__(self) -> str:
        return self.spell(NO_NAMES)


MARK = "\0"
"""The mark in the text of an opaque attribute or type for an attribute or type in it that was written by an alias."""


def filled(text: str, inner: Sequence[Attribute | Type], names: Mapping[object, str]) -> str:
    """Return a text in which each mark is replaced by the text or the alias of the attribute or type that it stands
    for. ``inner``: these attributes and types, in order.
    """
    if not inner:
        return text
    first, *rest = text.split(MARK)
    return first + "".join(
        (names.get(thing) or thing.spell(names)) + part for thing, part in zip(inner, rest, strict=True)
    )


# --- literals ---------------------------------------------------------------------------------------------------------
#
# Numbers and strings as MLIR text spells them. Floats are raw bit patterns here, never Python floats.
#
# MLIR spells a float (AsmPrinter's `printFloatValue` over `APFloat::toString`) with six significant digits in exponent
# form if they read back equal in the format itself. Otherwise it uses as many digits as the precision needs, if that
# spelling has a point. Otherwise, and for infinities and NaNs, it prints the bit pattern in hexadecimal.

# log2(10) and its inverse as LLVM approximates them.
_LOG2_10 = (196, 59)


@lru_cache(maxsize=4096)
def spell_float(format: FloatFormat, code: int) -> str:
    """Return the text of a bit pattern without its type."""
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
    """Tell whether a spelling is read as the same code, both in the format itself, as MLIR's printer tries it, and as
    its parser reads it.
    """
    return from_fraction(format, Fraction(text)).code == code == read_decimal(format, text)


def spell_bits(code: int) -> str:
    """Return the text of a bit pattern in hexadecimal: upper-case digits without leading zeros (``0x0`` for zero)."""
    return f"0x{code:X}"


def spell_double(number: float) -> str:
    """Return the text of a Python float as an f64."""
    return spell_float(FORMATS["f64"], double_bits(number))


def spell_rounded(number: float, format: FloatFormat) -> str:
    """Return the text of a Python float as a number of ``format``, to which it is rounded."""
    return spell_float(format, from_double(format, number))


@lru_cache(maxsize=4096)
def read_decimal(format: FloatFormat, text: str, exact: bool = False) -> int:
    """Read a decimal literal: round it to the nearest f64, and that to nearest even into ``format``.

    The step through f64 is part of the language (MLIR 22 and newer), not an approximation. ``exact``: leave it out, as
    LLVM's parser does since pull request 220267. What MLIR prints has digits enough for this alone.
    """
    return round_to_format(format, exact_number(text, literal=not exact)).code


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
    """Return the text of digits as `APFloat::toString` does: at most three padding zeros, and no point in short
    integers.
    """
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


def is_bare_identifier(text: str) -> bool:
    """Tell whether ``text`` can stand as an attribute's name without quotes."""
    return _BARE.fullmatch(text) is not None


def spell_symbol(name: str) -> str:
    """Return the text ``@name``, quoted if the name is not an identifier."""
    return f"@{name}" if is_bare_identifier(name) else f"@{quoted(name)}"


def nest(texts: Sequence[str], shape: Sequence[int], brackets: tuple[str, str] = ("[", "]")) -> str:
    """Join texts in row-major order with nested brackets; for shape () return the single text."""
    before, after = brackets
    for size in reversed(shape):
        texts = [f"{before}{', '.join(texts[i : i + size])}{after}" for i in range(0, len(texts), size)]
    return "".join(texts)


_STRAIGHT_BITS = 14_000  # what Python itself converts: its limit is 4,300 digits


def decimal_text(number: int) -> str:
    """Return an integer as decimal digits. Python's ``str`` refuses more than 4,300 digits, and takes
    quadratic time.
    """
    if number.bit_length() < _STRAIGHT_BITS:
        return str(number)
    from flint import fmpz

    return str(fmpz(number))


def decimal_number(text: str) -> int:
    """Read an integer of any number of decimal digits."""
    if len(text) < _STRAIGHT_BITS // 4:
        return int(text)
    from flint import fmpz

    return int(fmpz(text.removeprefix("+")))


# --- locations --------------------------------------------------------------------------------------------------------
#
# Source locations. A location is an attribute in MLIR; ``str`` gives the text between the brackets of ``loc(…)``.


@immutable
class Location(Attribute):
    """The base of all locations."""

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the location as an attribute value, with ``loc(…)`` around it."""
        return f"loc({self.inner(names)})"

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text between the brackets of ``loc(…)``; a nested location that has an alias is written as its
        alias.
        """
        raise NotImplementedError

    def __str__(self) -> str:
        return self.inner({})


@immutable
class UnknownLoc(Location):
    """An unknown location: ``?``."""

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text ``unknown``."""
        return "unknown"


@immutable
class FileLineCol(Location):
    """A place in a file: ``"file":line:column``. Lines and columns count from 1; 0 means unknown."""

    file: str
    line: int
    column: int

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text of the file, the line and the column."""
        return f"{quoted(self.file)}:{self.line}:{self.column}"


Position = tuple[str, int, int]
"""The file, the line and the column of a `FileLineCol` that is not made yet."""

Place = Location | Position
"""A location, or the position of one. Most ops have a position, and few of them are asked for a location."""


def location_at(place: Place) -> Location:
    """Return the location of a place."""
    return FileLineCol(*place) if isinstance(place, tuple) else place


@immutable
class FileRange(Location):
    """``"file":line:column to line:column``: a range. An end line equal to the first is left out, and so is an end
    equal to the start; MLIR still distinguishes such a range from a single place.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text of the start and the end."""
        start = f"{quoted(self.file)}:{self.line}:{self.column}"
        if (self.end_line, self.end_column) == (self.line, self.column):
            return start
        end = "" if self.end_line == self.line else str(self.end_line)
        return f"{start} to {end}:{self.end_column}"


@immutable
class NameLoc(Location):
    """A named location: ``"name"(child)``. An unknown child is left out."""

    name: str
    child: Location = UnknownLoc()

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text of the name, and the child if it is known."""
        if self.child == UnknownLoc():
            return quoted(self.name)
        return f"{quoted(self.name)}({_nested(self.child, names)})"


@immutable
class CallSiteLoc(Location):
    """The location of an inlined call: ``callsite(callee at caller)``."""

    callee: Location
    caller: Location

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text of the callee, then the place that called it."""
        return f"callsite({_nested(self.callee, names)} at {_nested(self.caller, names)})"


@immutable
class FusedLoc(Location):
    """Several locations as one, with optional metadata: ``fused<metadata>[location, …]``."""

    locations: tuple[Location, ...]
    metadata: Attribute | None = None

    def inner(self, names: Mapping[object, str]) -> str:
        """Return the text of the metadata, if there is any, and the parts."""
        metadata = "" if self.metadata is None else f"<{names.get(self.metadata) or self.metadata.spell(names)}>"
        return f"fused{metadata}[{', '.join(_nested(part, names) for part in self.locations)}]"


def _nested(location: Location, names: Mapping[object, str]) -> str:
    return names.get(location) or location.inner(names)


def _parts(location: Location) -> Iterator[Location]:
    if isinstance(location, NameLoc):
        yield location.child
    elif isinstance(location, CallSiteLoc):
        yield location.callee
        yield location.caller
    elif isinstance(location, FusedLoc):
        yield from location.locations


def file_position(location: Location) -> FileLineCol | None:
    """Return the first file position inside ``location``, for diagnostics; None if it has none."""
    stack = [location]
    while stack:
        current = stack.pop()
        if isinstance(current, FileLineCol):
            return current
        if isinstance(current, FileRange):
            return FileLineCol(current.file, current.line, current.column)
        stack.extend(reversed(list(_parts(current))))
    return None


# --- source -----------------------------------------------------------------------------------------------------------
#
# A text that was read, and the places of its tokens.


class Source:
    """A text that was read: its name, and where each of its tokens is, as line and column.

    ``start``: the line and column at which the text begins, if it is a part of a file.
    """

    def __init__(
        self,
        text: str,
        filename: str,
        offsets_of: Callable[[str], list[int]],
        start: tuple[int, int] = (1, 1),
    ) -> None:
        self.text = text
        self.filename = filename
        self.start = start
        self._offsets_of = offsets_of
        self._splits: list[tuple[int, Sequence[int]]] = []
        # The offsets after some of the splits, and the number of these. It is replaced as a whole: threads may read it.
        self._known: tuple[int, list[int]] | None = None

    @property
    def token_offsets(self) -> Sequence[int]:
        """The offset of each token in the text, computed on first use."""
        count, offsets = self._known or (0, self._offsets_of(self.text))
        later = self._splits[count:]
        if later:
            offsets = offsets.copy()
        for token, parts in later:
            start = offsets[token]
            offsets[token : token + 1] = [start + part for part in parts]
        self._known = count + len(later), offsets
        return offsets

    def split(self, token: int, parts: Sequence[int]) -> None:
        """Record that the parser split a token into several tokens. ``parts``: their offsets from the start of the
        token. If it is empty, the token became part of the token before it.
        """
        self._splits.append((token, parts))

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        while (end := find("\n", starts[-1])) >= 0:
            starts.append(end + 1)
        return starts

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def _place(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        start = self._line_starts[line - 1]
        column = offset - start if self._ascii else len(self.text[start:offset].encode("utf-8", "replace"))
        first_line, first_column = self.start
        return self.filename, first_line + line - 1, column + (first_column if line == 1 else 1)

    def at_offset(self, offset: int) -> FileLineCol:
        """Return the line and column (in bytes, as mlir-opt counts) of a character of the text."""
        return FileLineCol(*self._place(offset))

    @property
    def whole(self) -> FileLineCol:
        """The place of the implicit module around the whole text: 0:0 in a file; for a later part of a file, the start
        of that part.
        """
        return FileLineCol(self.filename, *((0, 0) if self.start == (1, 1) else self.start))

    def at_token(self, token: int) -> FileLineCol:
        """Return the line and column of a token; the end of the text for a token past the last."""
        return FileLineCol(*self.place_of_token(token))

    def place_of_token(self, token: int) -> Position:
        """Return the file, line and column of a token, as `at_token` gives them."""
        offsets = self.token_offsets
        return self._place(offsets[token] if token < len(offsets) else len(self.text))
