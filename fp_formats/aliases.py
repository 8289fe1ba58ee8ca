"""Find the MLIR type or float format that a user names: ``bfloat16`` or a dtype of NumPy, for example, gives ``bf16``.

MLIR text does not accept these names. They are for arguments of Python functions and for options of the command line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import ALL_FORMATS, FloatFormat, format_named

# --- suggestions ------------------------------------------------------------------------------------------------------
#
# Hints of error messages: the known names that are nearest to an unknown one, and how to install what is missing.

# Names that are compared with a wrong one, and how long they may be: an error must not cost more than the file.
_MOST_CANDIDATES = 2000
_LONGEST = 60
# How many edits may lie between two names, by the length of the longer one.
_EDITS = ((2, 0), (5, 1), (10, 2), (_LONGEST, 3))
_MOST_NAMED = 3


def did_you_mean(name: str, known: Iterable[str], family: Callable[[str], object] = lambda name: None) -> str | None:
    """Return ``did you mean `…`?`` with the known names nearest to ``name``; None if none is near."""
    return asking(nearest(name, known, family))


def asking(names: Iterable[str]) -> str | None:
    """Return the question ``did you mean `a` or `b`?`` that suggests these names; None if there are no names."""
    texts = [f"`{name}`" for name in names]
    return f"did you mean {' or '.join(texts)}?" if texts else None


def with_hint(message: str, hint: str | None) -> str:
    """Return the message with the hint in parentheses, for a class of errors that has no field for a hint."""
    return message if hint is None else f"{message} ({hint})"


def how_to_install(extra: str) -> str:
    """Return the command of a shell that installs the packages of an extra, such as ``plot``. The command names no
    package index, since halfulp is not on PyPI.
    """
    return f"pip install '.[{extra}]' in the folder with the sources of halfulp"


def nearest(name: str, known: Iterable[str], family: Callable[[str], object] = lambda name: None) -> tuple[str, ...]:
    """Return the known names with the fewest edits between them and ``name``, at most three; () if none is near.

    An edit inserts, removes or replaces a character, or swaps two that are adjacent. ``family``: a function from a name
    to its family, such as the float types; None for a name without one. If both names have a family, they are near only
    if the families are equal.
    """
    if len(name) > _LONGEST:
        return ()
    own = family(name)
    best: dict[str, None] = {}
    fewest = _LONGEST
    for other in islice(known, _MOST_CANDIDATES):
        kin = family(other)
        if other == name or (own is not None and kin is not None and own != kin):
            continue
        edits = _distance(name, other, min(fewest, _edits_allowed(max(len(name), len(other)))))
        if edits is not None and edits < fewest:
            fewest, best = edits, {}
        if edits is not None:
            best[other] = None
    return tuple(best)[:_MOST_NAMED]


def _edits_allowed(length: int) -> int:
    return next((edits for most, edits in _EDITS if length <= most), 0)


def _distance(one: str, other: str, most: int) -> int | None:
    """Return the number of edits between two names; None for more than ``most``."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        earlier, before = before, row
        row = [i] + [most + 1] * len(other)
        # No path of at most that many edits leaves this band.
        for j in range(max(1, i - most), min(len(other), i + most) + 1):
            right = other[j - 1]
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if earlier and j > 1 and left == other[j - 2] and one[i - 2] == right:
                edits = min(edits, earlier[j - 2] + 1)
            row[j] = edits
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None


# --- aliases ----------------------------------------------------------------------------------------------------------

TYPE_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "f4E2M1FN": ("float4_e2m1fn", "float4_e2m1fn_x2", "e2m1fn", "e2m1", "float4_e2m1", "fp4_e2m1", "fp4", "float4"),
        "f6E2M3FN": ("float6_e2m3fn", "e2m3fn", "e2m3", "float6_e2m3", "fp6_e2m3"),
        "f6E3M2FN": ("float6_e3m2fn", "e3m2fn", "e3m2", "float6_e3m2", "fp6_e3m2"),
        "f8E3M4": ("float8_e3m4", "e3m4", "fp8_e3m4"),
        "f8E4M3": ("float8_e4m3",),
        "f8E4M3FN": ("float8_e4m3fn", "e4m3fn", "fp8_e4m3fn", "fp8e4nv", "float8e4nv"),
        "f8E4M3FNUZ": ("float8_e4m3fnuz", "e4m3fnuz", "fp8_e4m3fnuz", "fp8e4b8", "float8e4b8"),
        "f8E4M3B11FNUZ": ("float8_e4m3b11fnuz", "e4m3b11fnuz", "fp8_e4m3b11fnuz"),
        "f8E5M2": ("float8_e5m2", "e5m2", "fp8_e5m2", "fp8e5", "float8e5"),
        "f8E5M2FNUZ": ("float8_e5m2fnuz", "e5m2fnuz", "fp8_e5m2fnuz", "fp8e5b16", "float8e5b16"),
        "f8E5M3FNU": ("float8_e5m3fnu", "e5m3fnu", "e5m3", "fp8_e5m3fnu", "ue5m3", "nv8e5m3fnu", "floatnv8e5m3fnu"),
        "f4E1M2": ("float4_e1m2", "float4_e1m2fn_x2", "e1m2", "fp4_e1m2"),
        "f8E8M0FNU": ("float8_e8m0fnu", "e8m0fnu", "e8m0", "float8_e8m0", "fp8_e8m0fnu", "fp8_e8m0", "ue8m0"),
        "bf16": ("bfloat16", "bfloat", "brain_float"),
        "f16": ("float16", "fp16", "half", "binary16"),
        "tf32": ("tensorfloat32", "tensorfloat", "fp_tf32"),
        "f32": ("float32", "fp32", "single", "binary32"),
        "f64": ("float64", "fp64", "double", "binary64"),
        "f80": ("float80", "fp80", "x87", "x86_fp80"),
        "f128": ("fp128", "quad", "binary128", "quadruple"),
        "i1": ("bool", "boolean"),
    }
)
"""The other names of each type. Upper and lower case, ``_``, ``-`` and spaces make no difference."""

DTYPE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        name: TYPE_ALIASES[name][0]
        for name in (
            "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ",
            "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "bf16", "f16", "f32", "f64",
        )
    }
)  # fmt: skip
"""The formats that have a dtype in NumPy or ml_dtypes, with its name: the first of their aliases."""

FILE_DTYPES: Mapping[str, str] = MappingProxyType(
    {
        "F4": "f4E2M1FN", "F6_E2M3": "f6E2M3FN", "F6_E3M2": "f6E3M2FN", "F8_E5M2": "f8E5M2", "F8_E4M3": "f8E4M3FN",
        "F8_E8M0": "f8E8M0FNU", "F8_E4M3FNUZ": "f8E4M3FNUZ", "F8_E5M2FNUZ": "f8E5M2FNUZ", "F16": "f16", "BF16": "bf16",
        "F32": "f32", "F64": "f64",
    }
)  # fmt: skip
"""The float dtypes of safetensors, which are spelled exactly so: its F8_E4M3 is f8E4M3FN, and not MLIR's f8E4M3."""

_E4M3 = {
    "f8E4M3FN": "OCP, torch, NVIDIA: up to 448, NaN, no infinity",
    "f8E4M3": "IEEE style, ml_dtypes.float8_e4m3: up to 240, NaN and infinity",
    "f8E4M3FNUZ": "AMD MI300: up to 240, one NaN, no -0, no infinity",
}
_FP8 = _E4M3 | {"f8E5M2": "OCP, torch, NVIDIA: up to 57344, NaN and infinity"}
_FP6 = {"f6E2M3FN": "OCP: up to 7.5", "f6E3M2FN": "OCP: up to 28"}
_QUAD = {
    "f128": "IEEE 754 quadruple precision: 113 bits of significand",
    "f80": "x87, which np.longdouble is on x86: 64 bits of significand",
}
_FLOAT = {"f32": "C, torch", "f64": "Python, NumPy"}
_INT = {"i32": "C, torch", "i64": "Python, NumPy"}
_LONG = {"i64": "torch, C on Linux", "i32": "C on Windows"}
_MX8 = {"f8E4M3FN": "MXFP8 E4M3", "f8E5M2": "MXFP8 E5M2"}
_FP4 = {"f4E2M1FN": "the type of the elements alone"}

AMBIGUOUS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("e4m3", "fp8_e4m3"), _E4M3),
        **dict.fromkeys(("fp8", "float8"), _FP8),
        **dict.fromkeys(("fp6", "float6", "mxfp6"), _FP6),
        "mxfp8": _MX8,
        **dict.fromkeys(("mxfp4", "nvfp4"), _FP4),
        **dict.fromkeys(("float128", "longdouble", "long double"), _QUAD),
        "float": _FLOAT,
        "int": _INT,
        "long": _LONG,
    }
)
"""Names that do not say which type is meant, with the types that they may mean. They are refused."""

_PREFIX = re.compile(r"(?:torch|np|numpy|jnp|jax\.numpy|ml_dtypes|tl)\.")
_INTEGER = re.compile(r"(u?)int(\d{1,4})|(u)(\d{1,4})")
_NO_FLOAT = re.compile(r"[su]?i\d+|index|none")
_PYTHON = {float: "f64", int: "i64", bool: "i1"}


def _key(name: str) -> str:
    """Return the part of a name that is compared: small letters and digits, without separators."""
    return re.sub(r"[\s_-]+", "", name.casefold())


_BY_KEY = {_key(name): name for name in ALL_FORMATS} | {
    _key(alias): name for name, aliases in TYPE_ALIASES.items() for alias in aliases
}
_AMBIGUOUS_KEYS = {_key(name): types for name, types in AMBIGUOUS.items()}


def known_as(name: str) -> str | None:
    """Return the MLIR spelling of the type with this name: the name of a format (see `format_named`), or an integer
    such as ``i8``; None if the name is not known.

    Raises ValueError for a name that may mean several types, and lists them.
    """
    if name in ALL_FORMATS:
        return name
    if name in FILE_DTYPES:
        return FILE_DTYPES[name]
    if len(name) > _LONGEST:
        return None
    key = _key(_PREFIX.sub("", name.strip(), count=1))
    if key in _AMBIGUOUS_KEYS:
        choices = "; ".join(f'"{type_}" ({meaning})' for type_, meaning in _AMBIGUOUS_KEYS[key].items())
        raise ValueError(f"{name!r} may mean several types; write {choices}")
    if integer := _INTEGER.fullmatch(key):
        return f"{'ui' if integer[1] or integer[3] else 'i'}{int(integer[2] or integer[4])}"
    if key in _BY_KEY:
        return _BY_KEY[key]
    known = None if _NO_FLOAT.fullmatch(key) else format_named(name.strip())
    return None if known is None else known.name


def name_of(given: object) -> str | None:
    """Return the name of the type that an object stands for; None if it stands for none.

    The object may be a name, a dtype of NumPy, ml_dtypes, JAX or torch, a class of their scalars, or Python's float,
    int or bool. NumPy's longdouble stands for the format that it has on this machine.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, type) and given in _PYTHON:
        return _PYTHON[given]
    if type(given).__module__ == "torch" and type(given).__name__ == "dtype":
        return str(given)
    dtype = _numpy_dtype(given)
    if dtype is None or dtype.fields is not None or dtype.subdtype is not None or dtype.kind in "OSUMmc":
        return None
    return _LONGDOUBLE if dtype.type is np.longdouble and dtype.itemsize > 8 else dtype.name


def _numpy_dtype(given: object) -> np.dtype[Any] | None:
    if isinstance(given, np.dtype):
        return given
    if isinstance(given, type) and issubclass(given, np.generic):
        # An abstract class, such as np.floating, is an error, or before NumPy 2.3 a warning and another class.
        with suppress(TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = np.dtype(given)
            return found if found.type is given else None
        return None
    dtype = getattr(given, "dtype", None)  # jnp.float32 is an object with a dtype
    return dtype if isinstance(given, type) and isinstance(dtype, np.dtype) else None


def _longdouble() -> str | None:
    """Return the format of NumPy's longdouble on this machine; None if it has none of ours."""
    return {63: "f80", 112: "f128", 52: "f64"}.get(int(np.finfo(np.longdouble).nmant))


_LONGDOUBLE = _longdouble()


_FIELDS = re.compile(r"f?\d*e(\d+)m(\d+)", re.IGNORECASE)
"""A name that says the bits of the exponent and of the fraction, as in ``E6M9``."""


def _own(fields: re.Match[str]) -> str:
    """Return the ``!halfulp.float`` type of MLIR for a name like ``e4m3``, with the bias that IEEE 754 would choose."""
    exponent = min(int(fields[1]), _LONGEST)
    bias = max((1 << max(exponent - 1, 0)) - 1, 0)
    return f'!halfulp.float<"{fields[0]}", exponent = {exponent}, mantissa = {fields[2]}, bias = {bias}>'


def unknown_type(given: object, what: str = "type", integers: bool = True) -> str:
    """Return the text of an error about something that is not the name of a type. It lists the float formats and the
    nearest names.

    ``what``: the word for the wrong thing in the text. ``integers``: the text also says that integer types are allowed.
    """
    shown = repr(given) if len(repr(given)) <= _LONGEST else f"{repr(given)[:_LONGEST]}..."
    fields = _FIELDS.fullmatch(given[:_LONGEST]) if isinstance(given, str) else None
    own = f"; a format of your own is {_own(fields)}" if fields else ""
    message = f"unknown {what} {shown}{own}; the float types are {', '.join(ALL_FORMATS)}"
    if integers:
        message += '; integers are spelled "i8", "ui8", "si8", "index"'
    if not isinstance(given, str):
        return message
    known = [*ALL_FORMATS, *(alias for aliases in TYPE_ALIASES.values() for alias in aliases), *AMBIGUOUS]
    near = did_you_mean(given, known) or did_you_mean(given.casefold(), known)
    return with_hint(message, near)


def float_format(name: Any) -> FloatFormat:
    """Return the float format with this name.

    ``name``: MLIR's name, ``"f8E4M3FN"``; another common name, ``"bfloat16"``, ``"fp16"``, ``"e5m2"`` (see the table in
    docs/formats.md); a float dtype of NumPy, ml_dtypes, JAX or torch, or the class of its scalars; Python's ``float``,
    which is f64; a name of P3109, ``"binary8p3se"``; the name of a registered format or of one of a plugin; or a
    format, which is returned.

        >>> hu.float_format("bfloat16").name, hu.float_format(np.float16).precision
        ('bf16', 11)

    Raises ValueError for any other name, with the list of the formats, and for a name that may mean several formats.
    """
    if isinstance(name, FloatFormat):
        return name
    spelled = name_of(name)
    found = None if spelled is None else known_as(spelled)
    fmt = None if found is None else format_named(found)
    if fmt is None:
        message = unknown_type(name, "float format", integers=False)
        raise ValueError(message if found is None else f"{spelled!r} is an integer type, not a float format")
    return fmt
