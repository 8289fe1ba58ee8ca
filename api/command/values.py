"""Read the values of options: inputs and outputs, profiles, models and properties."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from os.path import exists, isfile, splitext
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.command.execution import Sources
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.spelling import hexadecimal, shortened
from halfulp.inputs import read_file, write_file
from halfulp.interp.declare.build import property_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, prefixed
from halfulp.interp.ir.types import code_layout, element_width, runtime_shape
from halfulp.interp.text.parser import parse_attribute
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.parsing import parse_type_head, parse_value, value_of_attribute
from halfulp.interp.values.spelling import spell_element, spell_type
from halfulp.interp.values.value import Value, to_value
from halfulp.semantics.kernel import Origin
from halfulp.semantics.profile import Profile, as_profile
from halfulp.semantics.random_sources import source_of

NPY_MAGIC = b"\x93NUMPY"
MOST_DIFFERENCES = 100
"""The most differences of one result that are listed one by one."""


# --- reading ----------------------------------------------------------------------------------------------------------


# A type ends at the first equals sign outside of angle brackets; the > of an arrow does not close a bracket.
_STRUCTURE = re.compile(r"->|[<>=:]|\"")


def _split(text: str) -> tuple[str, str, str]:
    """Split a text at the first ``=`` or ``:`` outside of angle brackets and strings: the text before, the mark, the
    rest.
    """
    depth = 0
    quoted = False
    for match in _STRUCTURE.finditer(text):
        mark = match[0]
        if mark == '"':
            quoted = not quoted
        elif quoted or mark == "->":
            continue
        elif mark == "<":
            depth += 1
        elif mark == ">":
            depth -= 1
        elif not depth:
            return text[: match.start()].strip(), mark, text[match.end() :].strip()
    return text.strip(), "", ""


@contextmanager
def naming(what: str, text: str, sources: dict[str, str]) -> Iterator[None]:
    """A context manager that adds the name of an option to errors that are raised in its block. The place in such an
    error is a place in the option's text, which is stored in ``sources``.
    """
    try:
        yield
    except HalfulpError as error:
        place = error.location
        if isinstance(place, FileLineCol) and place.file in ("<type>", "<attribute>"):
            error.location = FileLineCol(what, place.line, place.column)
            sources[what] = text
        elif place is None:
            error.message = f"{what}: {error.message}"
        raise


def read_value(
    text: str, type_: ty.Type | None, what: str, sources: dict[str, str], vscale: int | None = None
) -> Value:
    """Read a value from the text of an option.

    ``type_``: the expected type, if it is known; elements without their own type take it. ``what`` names the option in
    errors. ``sources``: takes the text when an error points into it.

    Raises InputError, ParseError, TypeMismatch.
    """
    if text.lstrip().startswith("@"):
        return _from_file(text.strip()[1:], type_, what, vscale)
    head, mark, rest = _split(text)
    if mark == ":":
        with naming(what, text, sources):
            value = value_of_attribute(parse_attribute(text))
            _check_text(value.type)
            return value
    if mark == "=":
        with naming(what, head, sources):
            given = parse_type_head(head)
        if not rest.startswith("@"):
            with naming(what, text, sources):
                return _elements(given, rest, vscale)
        return _from_file(rest[1:], given, what, vscale)
    if type_ is None:
        raise InputError(
            f"{what}: '{shortened(text, 60)}' has no type", hint='write type=elements, as in "4xf32=1 2 3 4"'
        )
    if _FILE.fullmatch(text.strip()):
        raise InputError(
            f"{what}: {shortened(text, 60)!r} is not a value", hint=f"@ names a file: @{shortened(text.strip(), 60)}"
        )
    with naming(what, text, sources):
        return _elements(type_, text, vscale)


def read_memory(text: str, element: ty.Type, what: str, max_bytes: int, sources: Sources) -> Buffer:
    """Read the memory that an argument of a kernel points to: as many elements as are written, or an array of any shape
    from a file. Raise HalfulpError.
    """
    shape = None if text.startswith("@") else (len(re.sub(r"[\[\],]", " ", text).split()),)
    value = read_value(text, ty.TensorType(shape, element), what, sources)
    check_size(value, what, max_bytes)
    return Buffer.from_numpy(value, max_bytes=max_bytes)


_FILE = re.compile(r".*\.(npy|npz|safetensors|gguf|bin|pt|pth|raw|parquet|arrow)(:.*)?", re.IGNORECASE)
"""Matches the name of a file, and not a list of values."""


def _elements(type_: ty.Type, text: str, vscale: int | None) -> Value:
    """Read the elements of a type; ``vscale`` gives the number of elements of a scalable vector."""
    if isinstance(type_, ty.VectorType) and any(type_.scalable):
        shape = runtime_shape(type_, vscale)
        value = parse_value(ty.TensorType(shape, type_.element), text)
        return Value(type_, value.bits, value.poison, None, value.origins)
    return parse_value(type_, text)


def _check_text(type_: ty.Type) -> None:
    if element_width(ty.element_type(type_)) is None:
        raise InputError(f"values of type '{type_}' cannot be given as text: only numbers can")


def check_size(value: Value, what: str, limit: int) -> None:
    """Raise LimitExceeded if an input takes more than ``limit`` bytes. ``what``: its name in the error."""
    dtype, trailing = code_layout(value.element_type)
    size = prod(value.shape) * prod(trailing) * dtype.itemsize
    if size > limit:
        raise LimitExceeded(
            f"{what}: a value of type '{value.type}' takes {size} bytes; the limit is {limit}",
            hint="raise the limit with --max-bytes",
        )


def _from_file(path: str, type_: ty.Type | None, what: str, vscale: int | None) -> Value:
    """Read a value from a .npy file, a tensor of a file of tensors, or, if the type is given, raw little-endian
    elements.
    """
    if not path:
        raise InputError(f"{what}: @ needs the name of a file")
    with prefixed(what):
        found = array_of_file(path)
        if isinstance(found, Value):
            return found if type_ is None else to_value(found, type_, what, vscale)
    if isinstance(found, np.ndarray):
        return Value.from_numpy(found) if type_ is None else _from_array(found, type_, f"{what}: {path}", vscale)
    if type_ is None or path.endswith(".npy"):
        raise InputError(
            f"{what}: {path!r} is not a .npy file", hint="raw little-endian elements need a type: 4xf32=@file.bin"
        )
    return _from_raw(found, type_, f"{what}: {path}", vscale)


def array_of_file(path: str) -> Value | npt.NDArray[Any] | bytes:
    """Return what ``@FILE`` or ``@FILE:NAME`` means: a tensor of a file that `open_tensors` reads, the array of a .npy
    file, or the bytes of any other file. Raises HalfulpError.
    """
    from halfulp.interp.arrays.archives import read_npy
    from halfulp.tensors.opening import open_tensors, split_name

    if (named := split_name(path)) is not None:
        return open_tensors(named[0]).given(named[1])
    data = read_file(path)
    return read_npy(data, path) if data.startswith(NPY_MAGIC) else data


def _from_array(array: npt.NDArray[Any], type_: ty.Type, what: str, vscale: int | None) -> Value:
    """Make a value from an array of the natural dtype, or of raw codes where .npy files cannot hold that dtype (see
    `stored_array`).
    """
    from halfulp.interp.arrays.archives import holds_naturally

    element = ty.element_type(type_)
    dtype, trailing = code_layout(element)
    if dtype != np.dtype(object) and not holds_naturally(element):
        if array.dtype == np.dtype((np.void, dtype.itemsize)):  # what np.save makes of an ml_dtypes array
            array = array.view(dtype)
        if array.dtype == dtype:
            shape = array.shape[: array.ndim - len(trailing)]
            container = ty.TensorType(shape, element) if shape else element
            with prefixed(what):
                return to_value(Value.from_bits(array, container), type_, what, vscale)
    return to_value(array, type_, what, vscale)


def _from_raw(data: bytes, type_: ty.Type, what: str, vscale: int | None) -> Value:
    """Read elements from bytes: row-major, little-endian, each in whole bytes."""
    element = ty.element_type(type_)
    shape = runtime_shape(type_, vscale)
    width = element_width(element)
    if width is None or shape is None or None in shape:
        raise InputError(f"{what}: raw elements of type '{type_}' cannot be read")
    sizes = tuple(size for size in shape if size is not None)
    stride = -(-width // 8)
    needed = prod(sizes) * stride
    if len(data) != needed:
        raise InputError(f"{what}: {needed} bytes are needed for '{type_}', but the file has {len(data)}")
    dtype, trailing = code_layout(element)
    stored = prod(trailing) * dtype.itemsize
    codes = np.zeros((prod(sizes), stored), np.uint8)
    codes[:, :stride] = np.frombuffer(data, np.uint8).reshape(prod(sizes), stride) if stride else 0
    bits = codes.view(dtype.newbyteorder("<")).astype(dtype).reshape(sizes + trailing)
    container = ty.TensorType(sizes, element) if sizes else element
    with prefixed(what):
        return to_value(Value.from_bits(bits, container), type_, what, vscale)


# --- writing ----------------------------------------------------------------------------------------------------------


_WHOLE = (".npy", ".bin", "")
"""The endings of files of one value: .npy, raw elements, and .npy under a name without an ending."""


def check_place(place: str, before: Container[str] = ()) -> None:
    """Raise InputError unless ``--output=@place`` names a kind of file that is written, and, for a file of one value,
    another one than ``before``.
    """
    from halfulp.tensors.opening import is_written, split_name

    found = split_name(place)
    if found is None and place in before and not (exists(place) and not isfile(place)):
        raise InputError(f"--output=@{place} is given twice, but the file takes one result")
    if is_written(found[0]) if found is not None else splitext(place)[1].lower() in _WHOLE:
        return
    kinds = ".npy or .bin (raw little-endian elements); .npz and .safetensors files take several: @y.npz:NAME"
    raise InputError(f"--output=@{place}: results are not written to such a file", hint=f"write {kinds}")


class Outputs:
    """The files that ``--output`` names. A file of several tensors is written when all are known."""

    def __init__(self) -> None:
        self._archives: dict[str, dict[str, Value]] = {}

    def put(self, place: str, value: Value, name: str) -> None:
        """Write a value as a file of its kind, completely or not at all; or keep it for ``FILE.npz:NAME`` or
        ``FILE.safetensors:NAME``. ``name``: the name of a tensor without one. Raises InputError.
        """
        from halfulp.interp.arrays.archives import npy_bytes, raw_bytes
        from halfulp.tensors.opening import split_name

        check_place(place)
        found = split_name(place)
        if found is None:
            write_file(place, raw_bytes(value) if place.lower().endswith(".bin") else npy_bytes(value))
            return
        held = self._archives.setdefault(found[0], {})
        if (found[1] or name) in held:
            raise InputError(f"--output=@{place}: two results have the name {found[1] or name!r}")
        held[found[1] or name] = value

    def finish(self) -> None:
        """Write the files of several tensors. Raises InputError."""
        if self._archives:
            from halfulp.tensors.opening import write_archive

            for path, values in self._archives.items():
                write_archive(path, values)


# --- comparing --------------------------------------------------------------------------------------------------------


def differences(expected: Value, actual: Value) -> list[str]:
    """List the differences of two values, one on a line; nothing if type, poison and bits agree."""
    element = actual.element_type
    if expected.element_type != element or expected.shape != actual.shape:
        return [f"expected {spell_type(expected.type, expected.shape)}, got {spell_type(actual.type, actual.shape)}"]
    width = element_width(element)
    if width is None:
        return [] if expected == actual else ["the values differ"]
    trailing = tuple(range(len(actual.shape), actual.bits.ndim))
    unequal = np.any(expected.bits != actual.bits, axis=trailing) if trailing else expected.bits != actual.bits
    wrong = (expected.poisoned != actual.poisoned) | (unequal & ~actual.poisoned)
    places = np.argwhere(wrong)
    if not len(places):
        return []
    lines = [f"{len(places)} of {prod(actual.shape)} elements differ"] if actual.shape else []
    for place in places[:MOST_DIFFERENCES]:
        index = tuple(int(k) for k in place)
        where = f"{list(index)}: " if index else ""
        lines.append(f"{where}expected {_element(expected, index, width)}, got {_element(actual, index, width)}")
    if len(places) > MOST_DIFFERENCES:
        lines.append(f"... and {len(places) - MOST_DIFFERENCES} more")
    return lines


def _element(value: Value, index: tuple[int, ...], width: int) -> str:
    if value.poisoned[index]:
        return "poison"
    code = codes_to_ints(value.bits[index][np.newaxis], width)[0]
    text, raw = spell_element(value.element_type, code), hexadecimal(code, width)
    return raw if text == raw else f"{text} ({raw})"


def poison_origins(value: Value) -> list[tuple[Origin, int, tuple[int, ...]]]:
    """List the origins of a value's poison: each origin, the number of its elements, and the first of them."""
    if value.poison is None or value.origins is None:
        return []
    found = []
    for poison_id in np.unique(value.poison[value.poison != 0]):
        mask = value.poison == poison_id
        first = tuple(int(k) for k in np.argwhere(mask)[0])
        found.append((value.origins[int(poison_id)], int(np.count_nonzero(mask)), first))
    return found


# --- semantics --------------------------------------------------------------------------------------------------------
#
# The profile and the properties that options name.


def profile_named(spelling: str) -> Profile:
    """Return the profile that an option names. Raise InputError for an unknown one."""
    try:
        return as_profile(spelling)
    except ValueError as error:
        raise InputError(f"--profile: {error}") from None


def grid_of(text: str) -> tuple[int, ...]:
    """Read ``4,1``. Raise InputError."""
    sizes = text.split(",")
    if len(sizes) > 3 or not all(size.isdecimal() and int(size) for size in sizes):
        raise InputError(f"--grid={text}: write one to three positive integers, as in --grid=4,1")
    return tuple(map(int, sizes))


def model_of(spelling: str) -> str:
    """Return the model of tile operations that ``--mma`` names. Raise InputError for an unknown one."""
    if spelling == "exact":
        return spelling
    from halfulp.semantics.matrix_units.chips import as_model, model_hint

    try:
        return as_model(spelling)
    except ValueError as error:
        raise InputError(f"--mma: {error}", hint=model_hint(spelling)) from None


def source_of_bits(spelling: str) -> str:
    """Return the full text of the source of random bits of ``--random``. Raise InputError for an unknown one."""
    try:
        return source_of(spelling).text
    except ValueError as error:
        raise InputError(f"--random={spelling}: {error}") from None


def types_in(text: str) -> list[str]:
    """Split types at the commas that stand outside of brackets."""
    types, depth = [""], 0
    for character in text:
        depth += (character in "<{[(") - (character in ">}])")
        if character == "," and not depth:
            types.append("")
        else:
            types[-1] += character
    return [spelling.strip() for spelling in types]


def properties_of(op: str, given: Sequence[str], sources: Sources) -> dict[str, Any]:
    """Return the properties that ``--attr`` gives, by name. A name alone is true; a value that is not a keyword of an
    enum is an MLIR attribute.
    """
    definition = default_registry().lookup(op)
    keywords: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not name:
            raise InputError(f"--attr={text}: write --attr NAME or --attr NAME=VALUE")
        if name in keywords:
            raise InputError(f"--attr {name} is given twice")
        declared = None if definition is None else property_of(definition, name)
        if not equals or value == "true":
            keywords[name] = True
        elif value == "false":
            keywords[name] = False
        elif declared is None or isinstance(declared.kind, EnumDefinition):
            keywords[name] = value
        else:
            with naming(f"<attr {name}>", value, sources):
                keywords[name] = parse_attribute(value)
    return keywords
