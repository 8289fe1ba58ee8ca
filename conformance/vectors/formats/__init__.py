"""The file formats of vectors by name: a module each, loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, SetInFormat, Written, with_file
from halfulp.conformance.vectors.packing import FORMAT_NAMES, ONLY_DIGESTS, Unmarked
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.ir.errors import InputError


def format_named(name: str) -> Format:
    """Return the format of a name. Raises InputError with the choices."""
    if name not in (*FORMAT_NAMES, ONLY_DIGESTS):
        raise InputError(
            f"unknown format '{name}'; the formats are {', '.join(FORMAT_NAMES)}", hint=did_you_mean(name, FORMAT_NAMES)
        )
    found: Format = import_module(f"{__name__}.{name}").FORMAT
    return found


def format_of_file(path: str) -> Format | None:
    """Return the format that a file name's ending stands for; None for other endings."""
    endings = {".tv": "testfloat", ".mem": "readmemh", ".svh": "sv"}
    for ending, name in endings.items():
        if path.endswith(ending):
            return format_named(name)
    return next((found for found in map(format_named, FORMAT_NAMES) if path.endswith(found.suffix)), None)


def write_vectors(
    vectors: VectorSet,
    file: BinaryIO,
    format: str,
    unmarked: Unmarked = "refuse",
    options: Options | None = None,
    leaves: bool = False,
) -> Written:
    """Write a set to a file in a format, in constant memory, and return what was written.

    ``leaves``: each chunk of the set is a leaf of its digest (`halfulp.conformance.vectors.columns.TreeDigest`).
    ``unmarked``: the treatment of rows with poison or unspecified bits, in a format without a place for these: refuse
    the whole set, drop the rows, or write the canonical result (0 for poison). Raises InputError for a refused row,
    naming it, and for a set that the format cannot hold.
    """
    chosen = format_named(format)
    carried = SetInFormat(vectors, chosen, unmarked, leaves)
    chosen.write(carried.set(), file, options or Options())
    return carried.written


def read_vectors(
    file: BinaryIO, format: str, columns: tuple[Column, ...] | None = None, options: Options | None = None
) -> VectorSet:
    """Read the set of vectors in a file, as a stream that can be read once.

    ``columns``: the columns of the set; required if files of this format do not describe their columns. Raises
    InputError if the file is malformed: the error occurs when the malformed chunk is read, and names the line if the
    format has lines.
    """
    return format_named(format).read(file, columns, with_file(options or Options(), file))
