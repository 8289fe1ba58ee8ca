"""The explore page in a notebook, in a file or in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tempfile
import webbrowser
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from halfulp.explanations.rules import GivenNumber, given_number
from halfulp.explorer.decisions import OPERATIONS, tables
from halfulp.fp_formats.aliases import float_format
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.fp_formats.spelling import decimal_text, hex_text
from halfulp.inputs import write_file
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported
from halfulp.interp.values.value import Value
from halfulp.number_reader import format_of, read_number, read_with_type, typed_text
from halfulp.release import VERSION
from halfulp.semantics import SEMANTICS_VERSION

# --- page -------------------------------------------------------------------------------------------------------------
#
# The text of the page: template, style, scripts and tables put together.

START: Mapping[str, str] = MappingProxyType(
    {
        "format": "f8E4M3FN",
        "number": "0.3",
        "mode": "to_nearest_even",
        "operation": "",
        "other": "0.2",
        "beside": "",
        "random": "128",
        "width": "8",
    }
)
"""The first contents of the controls. The names are also those in the address of the page."""
_SCRIPTS = ("lookup.js", "functions.js", "arithmetic.js", "view.js", "panels.js", "controls.js")


def _source(name: str) -> str:
    return resources.files("halfulp.explorer").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the name of a script or style in a content security policy that allows nothing else."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    # A script element has no entities, and only "<" could end it.
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _parts() -> Mapping[str, str]:
    style = f"\n{_source('page.css')}"
    script = "\n" + "\n".join(map(_source, _SCRIPTS))
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    return {
        "policy": f"{policy}; form-action 'none'",
        "style": style,
        "version": f"halfulp {VERSION}, semantics {SEMANTICS_VERSION}",
        "tables": _json({**tables(), "functions": json.loads(_source("functions.json"))}),
        "script": script,
    }


def page(start: Mapping[str, str] = START) -> str:
    """Return the whole page, the same text every time. It needs no other file, and its security policy forbids it to
    load one.

    ``start``: the first contents of the controls, if they differ from `START`.
    """
    parts = {**_parts(), "start": _json({**START, **start})}
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], _source("page.html"))


# --- notebook ---------------------------------------------------------------------------------------------------------

_OPERATORS: Mapping[str, str] = {
    "+": "addf",
    "-": "subf",
    "*": "mulf",
    "/": "divf",
    "%": "remf",
    "fmod": "remf",
}
_STYLE = "width: 100%; height: 46rem; border: 1px solid #8a8f98; border-radius: 4px; resize: vertical"


_MOST_DIGITS = 60
"""The most digits of a decimal in a control: a double between 0.1 and 1 has at most 55."""
_SMALLEST, _LARGEST = Fraction(2) ** -1022, Fraction(2) ** 1023


class ExplorePage:
    """An explore page with the first contents of its controls: show it in a notebook, save it, or open it in a
    browser.
    """

    def __init__(self, start: Mapping[str, str]) -> None:
        self.start: Mapping[str, str] = MappingProxyType(dict(start))

    @property
    def html(self) -> str:
        """The text of the whole page, one HTML document that needs no other file."""
        return page(self.start)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file. Raise InputError if that fails."""
        write_file(os.fspath(path), self.html.encode())

    def open(self) -> Path:
        """Write the page to a temporary file, open that in the system's browser, and return its path."""
        path = Path(tempfile.mkdtemp(prefix="halfulp-explore-")) / "explore.html"
        self.save(path)
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        # The page in a frame of its own: its style and its script touch nothing of the notebook, which it asks for one
        # thing, the colour of its text, to be light or dark as the notebook is.
        source = self.html.replace("&", "&amp;").replace("'", "&#39;")
        attributes = f"title='halfulp: see the rounding' data-theme='follow' style='{_STYLE}'"
        return f"<iframe {attributes} srcdoc='{source}'></iframe>"

    def __repr__(self) -> str:
        return f"ExplorePage({', '.join(f'{name}={text!r}' for name, text in self.start.items())})"


def explore(
    number: Any = None,
    type: str | FloatFormat | ty.Type | None = None,
    rounding: Rounding | str = "to_nearest_even",
    *,
    op: str | None = None,
    other: Any = None,
    beside: str | FloatFormat | ty.Type | None = None,
    random: Any = None,
) -> ExplorePage:
    """Return the explore page, an interactive page that shows any rounding to any float type. It starts with these
    arguments in its controls.

    A notebook shows it in a frame; ``.save(path)`` writes it to a file, ``.open()`` shows it in a browser. It needs
    neither a server nor a network.

        >>> hu.explore("0.3", "f8E4M3FN", beside="f8E5M2")
        ExplorePage(format='f8E4M3FN', number='0.3', mode='to_nearest_even', beside='f8E5M2')

    ``number``: one number, as `explain` takes it: a Python or NumPy number, a `fractions.Fraction` or
    `decimal.Decimal`, a scalar `Value`, or text, such as ``"1/3"``, ``"0x1.8p-3"`` or the bits ``"0x7E"``.
    ``type``: a float type; by default that of a `Value`, else f8E4M3FN.
    ``rounding``: a mode, stochastic included.
    ``op``, ``other``: an operation, and its second operand; the first one is ``number``. The operation is ``"+"``,
    ``"-"``, ``"*"``, ``"/"``, ``"%"`` (fmod), or a name such as ``"add"`` or ``"arith.addf"``.
    ``beside``: a second type; its results are shown next to those of ``type``.
    ``random``: the random bits of stochastic rounding, an unsigned NumPy integer such as ``np.uint8(100)``.

    Raises InputError for an argument that is not one number, for ``op`` without ``other``, and for ``other`` without
    ``op``; Unsupported for a type that the page does not have; ValueError for an unknown mode or operation;
    TypeMismatch for random bits of another type.
    """
    fmt = _format(_type_of(number) if type is None else type)
    mode = as_rounding(rounding)
    if mode is Rounding.TO_ODD:
        raise Unsupported("the explore page does not round to odd")
    start = {"format": fmt.name, "number": START["number"] if number is None else _text(number, fmt)}
    start["mode"] = mode.spelling
    if (op is None) != (other is None):
        raise InputError("op and other go together: the operation and its second operand, such as op='+', other=0.2")
    if op is not None:
        start |= {"operation": _operation(op), "other": _text(other, fmt)}
    if beside is not None:
        start["beside"] = _format(beside).name
    if random is not None:
        if mode is not Rounding.STOCHASTIC:
            raise InputError(f"random can be used only with rounding='stochastic', but rounding is '{mode.spelling}'")
        start |= _random(random)
    return ExplorePage(start)


def _type_of(number: Any) -> Any:
    """Return the type that a number has by itself, else the first type of the page."""
    if isinstance(number, Value) and isinstance(number.element_type, ty.FloatType):
        return number.element_type
    return START["format"]


def _format(type_: str | FloatFormat | ty.Type) -> FloatFormat:
    fmt = float_format(type_) if isinstance(type_, str) else format_of(type_)
    if FORMATS.get(fmt.name) != fmt:
        raise Unsupported(f"the explore page has no format '{fmt}'; it has {', '.join(FORMATS)}")
    return fmt


def _operation(op: str) -> str:
    names = {alias: name for name, row in OPERATIONS.items() for alias in (name, f"arith.{name}", row.name)}
    names |= _OPERATORS
    if op not in names:
        raise ValueError(f"op is {op!r}, but must be one of {', '.join(names)}")
    return names[op]


def _random(bits: Any) -> dict[str, str]:
    if not isinstance(bits, np.unsignedinteger):
        raise TypeMismatch(
            f"random: expected an unsigned NumPy integer, got {bits!r}", hint="its width counts: np.uint8(100)"
        )
    return {"random": str(int(bits)), "width": str(8 * bits.dtype.itemsize)}


def _text(value: Any, fmt: FloatFormat) -> str:
    """Return text that the page reads as the same number."""
    shape = value.shape if isinstance(value, Value) else () if isinstance(value, str) else np.shape(value)
    if shape:
        raise InputError(f"explore takes one number, not an array of shape {tuple(shape)}")
    read = read_number(value, fmt)
    if isinstance(value, Value) and value.element_type == ty.FloatType(fmt):
        read, _ = read_with_type(value)
    if isinstance(value, str) and typed_text(value.strip()) is None:
        return value.strip()
    return _exact_text(given_number(read), fmt)


def _exact_text(given: GivenNumber, fmt: FloatFormat) -> str:
    sign = "-" if given.negative else ""
    if given.code is not None:
        return hex_text(fmt, given.code)
    if given.exact is None:
        return f"{sign}{'inf' if given.infinite else 'nan'}"
    if not given.exact:
        return f"{sign}0"
    # A decimal, as `explain` shows it, if it is not too long; else a hexadecimal float or a fraction: all of them are
    # read exactly. The short text of a float would be another number: the double 0.3 is below 3/10.
    number, numerator, denominator = given.exact, given.exact.numerator, given.exact.denominator
    if denominator & (denominator - 1):
        return f"{numerator}/{denominator}"
    if _SMALLEST < abs(number) < _LARGEST:
        digits = decimal_text(number, _MOST_DIGITS)
        if "..." not in digits:
            return digits
        if Fraction(float(number)) == number:
            return re.sub(r"\.?0+p", "p", float(number).hex())
    power = (numerator & -numerator).bit_length() - denominator.bit_length()
    return f"{sign}0x{int(abs(number) / Fraction(2) ** power):x}p{power}"
