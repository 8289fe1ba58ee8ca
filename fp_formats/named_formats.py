"""The formats that have names beside MLIR's: those of P3109, those that users register, and those of plugins.

Sources: IEEE P3109 working group, interim report on binary floating-point formats for machine learning, clauses 3.1
(parameters), 3.2 (names) and 4.7.6 (codes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from halfulp.fp_formats.formats import ALL_FORMATS, FloatFormat, NanEncoding

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "halfulp.formats"
"""The group of entry points of plugins. Each one is a `FloatFormat`, a function that returns one, or a mapping or an
iterable of them.
"""

_P3109 = re.compile(r"binary(\d{1,2})p(\d{1,2})([su]?)([ef]?)", re.IGNORECASE | re.ASCII)
_WIDTHS = range(3, 17)
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,59}", re.ASCII)

_registered: dict[str, FloatFormat] = {}


@lru_cache(maxsize=1024)
def p3109_format(name: str) -> FloatFormat | None:
    """Return the format of P3109 that a name names, None for a name of another form.

    ``name``: ``binary8p3se``: 8 bits, 3 of them precision, s for signed or u for unsigned, e for extended (with
    infinities) or f for finite; without letters signed and extended. Upper and lower case make no difference.

    Raises ValueError for parameters that P3109 excludes, and for what halfulp does not have: more than 16 bits, and an
    exponent of 16 bits.
    """
    match = _P3109.fullmatch(name)
    if match is None:
        return None
    width, precision = int(match[1]), int(match[2])
    signed, extended = match[3].lower() != "u", match[4].lower() != "f"
    most = width - signed
    if width not in _WIDTHS:
        raise ValueError(f"{name!r}: a format of P3109 has {_WIDTHS[0]} to {_WIDTHS[-1]} bits here, not {width}")
    if not 1 <= precision <= most:
        kind = "a signed" if signed else "an unsigned"
        raise ValueError(f"{name!r}: {kind} format of {width} bits has a precision of 1 to {most}, not {precision}")
    return FloatFormat(
        f"binary{width}p{precision}{'s' if signed else 'u'}{'e' if extended else 'f'}",
        width - precision + (not signed),
        precision - 1,
        1 << width - precision - signed,
        signed,
        extended,
        NanEncoding.NEGATIVE_ZERO if signed else NanEncoding.ALL_ONES,
        even_code=precision == 1,
    )


def p3109_formats(width: int) -> Iterator[FloatFormat]:
    """Yield the formats of P3109 of a width that halfulp has, by precision, signedness and domain."""
    for precision in range(1, width + 1):
        for kind in ("se", "sf", "ue", "uf"):
            try:
                found = p3109_format(f"binary{width}p{precision}{kind}")
            except ValueError:
                continue
            assert found is not None
            yield found


def register_format(fmt: FloatFormat) -> FloatFormat:
    """Make a format known by its name, in Python, on the command line and in MLIR text, and return it.

        hu.register_format(hu.FloatFormat("e3m2x", 3, 2, 3))
        hu.convert(0.3, "e3m2x")

    MLIR text names it ``!halfulp.float<"e3m2x">``. Registering an equal format again changes nothing.

    Raises ValueError for a name that is not a word of up to 60 letters, digits, ``_``, ``-`` and ``.``, and for one
    that has another meaning.
    """
    if not _NAME.fullmatch(fmt.name):
        raise ValueError(f"{fmt.name!r} cannot be registered: a name is a word of letters, digits, '_', '-' and '.'")
    known = format_named(fmt.name)
    if known is not None and known != fmt:
        raise ValueError(f"{fmt.name!r} already names another format; choose another name")
    if known is None:
        _registered[fmt.name] = fmt
    return fmt


def format_named(name: str) -> FloatFormat | None:
    """Return the format of exactly this name: of MLIR, of hardware, of P3109, registered, or of a plugin; else None.

    Raises ValueError for a name of P3109 with wrong parameters, and for a plugin that is broken.
    """
    known = ALL_FORMATS.get(name) or _registered.get(name) or p3109_format(name)
    return known or (plugin_formats().get(name) if _NAME.fullmatch(name) else None)


@lru_cache(maxsize=1)
def plugin_formats() -> Mapping[str, FloatFormat]:
    """Return the formats of the installed plugins, by name.

    Raises ValueError for a plugin that gives no formats, and for a name that has another meaning.
    """
    from importlib.metadata import entry_points

    found: dict[str, FloatFormat] = {}
    for point in entry_points(group=ENTRY_POINTS):
        for fmt in _formats_of(point):
            known = ALL_FORMATS.get(fmt.name) or p3109_format(fmt.name) or found.get(fmt.name)
            if known is not None and known != fmt:
                raise ValueError(f"plugin {point.value}: {fmt.name!r} already names another format")
            found[fmt.name] = fmt
    return found


def _formats_of(point: EntryPoint) -> Iterator[FloatFormat]:
    try:
        given = point.load()
        if callable(given):
            given = given()
    except Exception as error:
        raise ValueError(f"plugin {point.value} of {ENTRY_POINTS} cannot be loaded: {error}") from error
    several = given.values() if isinstance(given, Mapping) else given if isinstance(given, Iterable) else [given]
    for fmt in several:
        if not isinstance(fmt, FloatFormat):
            raise ValueError(f"plugin {point.value} of {ENTRY_POINTS} gives {fmt!r}, which is not a FloatFormat")
        yield fmt
