"""A recipe as a JSON file: the metadata of a set, the layout of a sweep, or a file written by hand, which may leave
much out.

``source``
    of an op ``op`` and ``operands`` (a list, or one type for all), ``results`` where they do not follow from these,
    ``properties`` and ``random_bits`` where there are any; of a program ``program``, a file of MLIR text beside this
    one, and ``function``; of a tile operation ``tile``, an object as the metadata has it; of the last two ``mma``
    (else exact)
``profile``
    as on the command line, ``"ocp-saturate,tininess=before"``, or with its ``name`` and ``fields``; else ``spec``
``inputs``
    ``level`` (else 1, or none with models; weighted of tiles), ``models``, or ``operands`` of one's own, as a text;
    ``seed`` (else 0), and ``options``: ``count``, ``keep_ub``, ``flags``, ``block``; else level 1
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.inputs import LevelName
from halfulp.conformance.vectors.metadata import SCHEMA_VERSION, Document
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.text.parser import parse_type
from halfulp.semantics.profile import PROFILE_FIELDS, as_profile

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _whole(low: int, below: int) -> Check:
    return lambda value: type(value) is int and low <= value < below


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


_LEVELS = (*get_args(LevelName), "models", "operands")

_PARTS: Mapping[str, Mapping[str, tuple[Check, str]]] = {
    "": {
        "source": (_object, "an object"),
        "profile": (lambda value: _text(value) or _object(value), "a text or an object"),
        "inputs": (_object, "an object"),
    },
    "source of an op": {
        "op": (_text, "a text"),
        "operands": (lambda value: _text(value) or (_texts(value) and value != []), "a type, or a list of types"),
        "results": (lambda value: _text(value) or (_texts(value) and value != []), "a type, or a list of types"),
        "properties": (_object, "an object"),
        "random_bits": (_whole(1, 65), "an integer from 1 to 64"),
    },
    "source of a program": {
        "program": (_text, "a text"),
        "program_text": (_text, "a text"),
        "program_sha256": (_text, "a text"),
        "function": (_text, "a text"),
        "mma": (_text, "a text"),
        "random": (_text, "a text"),
    },
    "source of a tile operation": {
        "tile": (_object, "an object"),
        "mma": (_text, "a text"),
    },
    "inputs": {
        "level": (lambda value: value in _LEVELS, f"one of {', '.join(_LEVELS)}"),
        "models": (_texts, "a list of names"),
        "seed": (_whole(0, 1 << 64), "an integer from 0 to 2**64 - 1"),
        "counter": (lambda value: isinstance(value, list), "a list"),
        "operands": (lambda value: _text(value) or _object(value), "a text, as --operands takes it, or an object"),
        "options": (_object, "an object"),
    },
    "options": {
        "count": (_whole(1, 1 << 63), "a positive integer"),
        "keep_ub": (_truth, "true or false"),
        "flags": (_truth, "true or false"),
        "block": (_whole(1, 1 << 31), "a positive integer"),
    },
}
"""The keys of each part of such a file: a check of the value, and its description."""


def recipe_of_spec(text: str | bytes, file: str) -> Recipe:
    """Return the recipe in a file's text. Without ``options.flags`` there is no column of flags.

    Raises InputError naming the file for a malformed file, and the errors of the op or program.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{file} is not a JSON object with 'source', 'profile' and 'inputs'")
    if data.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        raise InputError(
            f"{file} has version {data['schema_version']!r} of the metadata, but must have {SCHEMA_VERSION}"
        )
    written = "schema_version" in data or "layout_version" in data
    parts = {key: data[key] for key in _PARTS[""] if key in data} if written else data
    try:
        return recipe_of(_completed(parts, Path(file).parent), file)
    except _Wrong as error:
        raise InputError(f"{file}: {error}", hint=error.hint) from None
    except HalfulpError as error:
        error.message, error.location = f"{file}: {error.message.removeprefix(f'{file}: ')}", None
        raise
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None


class _Wrong(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def _checked(part: str, data: Mapping[str, Any]) -> None:
    known = _PARTS[part]
    for key, value in data.items():
        if key not in known:
            raise _Wrong(f"unknown '{key}'" + (f" in the {part}" if part else ""), did_you_mean(key, known))
        check, what = known[key]
        if not check(value):
            raise _Wrong(f"'{key}' must be {what}")


def _completed(data: Mapping[str, Any], folder: Path) -> Document:
    """Return the document with defaults for what it leaves out. Raises _Wrong, ValueError and the errors of the op."""
    _checked("", data)
    inputs = data.get("inputs", {})
    _checked("inputs", inputs)
    options = inputs.get("options", {})
    _checked("options", options)
    source = _source(data.get("source"), folder)
    usual = (
        "operands"
        if "operands" in inputs
        else "weighted"
        if "tile" in source
        else "models"
        if inputs.get("models")
        else "1"
    )
    level = inputs.get("level", usual)
    profile = data.get("profile", "spec")
    if isinstance(profile, str):
        named = as_profile(profile)
        profile = {"name": named.name, "fields": {name: getattr(named, name) for name in PROFILE_FIELDS}}
    return {
        "source": source,
        "profile": profile,
        "inputs": {"seed": 0, **inputs, "level": level, "options": {"flags": False, **options}},
    }


def _source(data: Any, folder: Path) -> Document:
    if not isinstance(data, dict) or not ("op" in data or "program" in data or "tile" in data):
        raise _Wrong("'source' must name an 'op', a 'program' or a 'tile'")
    if "tile" in data:
        _checked("source of a tile operation", data)
        return {"mma": "exact", **data}
    if "op" in data:
        _checked("source of an op", data)
        if "operands" not in data:
            raise _Wrong(f"'operands' must give the types of the operands of {data['op']}")
        operands = data["operands"]
        for spelling in [operands] if isinstance(operands, str) else operands:
            _type(spelling)
        properties = data.get("properties", {})
        results = data.get("results")
        first = results[0] if isinstance(results, list) else results
        asked = op_case(data["op"], operands, first, **properties)
        found = {"operands": list(asked.operands), "results": list(asked.results), "properties": dict(properties)}
        return {**data, **found, **({"results": results} if isinstance(results, list) else {})}
    _checked("source of a program", data)
    if "function" not in data:
        raise _Wrong("'function' must name the function of the program")
    return {**data, "program_text": data["program_text"] if "program_text" in data else _read(folder / data["program"])}


def _type(spelling: str) -> None:
    try:
        parse_type(spelling)
    except HalfulpError as error:
        raise _Wrong(f"'{spelling}' is not a type: {error.message}", error.hint) from None


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not MLIR text", hint="halfulp translate turns bytecode into text") from None
