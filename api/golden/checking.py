"""Compare the results of a device with the expected ones: `halfulp.check`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from halfulp.command.check_vectors import check_file, described
from halfulp.command.options.check_vectors import CheckVectorsArguments
from halfulp.command.vector_files import CheckedAgainst
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.row_check import VectorChecker
from halfulp.golden.given import codes_of
from halfulp.golden.report import Report
from halfulp.golden.vectors import Vectors
from halfulp.interp.ir.errors import InputError

Path = str | os.PathLike[str]


def check(
    given: Vectors | Path,
    results: Any = None,
    flags: Any = None,
    *,
    operands: Sequence[Any] | None = None,
    metadata: Path | None = None,
    format: str | None = None,
    columns: Sequence[str] = (),
    any_nan: bool | None = None,
    ignore_flags: bool = False,
    partial: bool = False,
    most: int = 1,
) -> Report:
    """Compare the results of a device with the expected ones. Return what differs, and the likely cause.

    Values in memory: ``check(vectors, results, flags)``. A file with operands and results, in any format of vectors:
    ``check(vectors, "device.tv")``. A file with metadata, which may have results alone: ``check("device.tv")``.

    ``given``: the vectors of `vectors`, or the path of a file with metadata.
    ``results``: an array or `Value` for the rows of the vectors, in their order, or a tuple of them if there are
    several results. An array has the dtype of its type, or codes as unsigned integers; a list of integers has codes.
    ``flags``: the exception flags, an array; None: they are not compared.
    ``operands``: the operands of the results, if they are not those of the vectors: an array for each input column.
    ``metadata``: the metadata of the file, if it is not beside it.
    ``format``, ``columns``: the format and the names of the columns of a file that does not describe itself.
    ``any_nan``: accept every NaN if a NaN is expected. By default the metadata decides.
    ``ignore_flags``: do not compare the flags in a file.
    ``partial``: allow fewer rows than in the metadata.
    ``most``: the number of different rows that the report shows in full.

    Results that are poison, and bits that may have either value, do not count. Raises InputError and TypeMismatch for
    results that do not fit; a problem within a file is part of the report.
    """
    if isinstance(given, Vectors) and not isinstance(results, str | os.PathLike):
        if results is None:
            raise InputError("the results are missing: check(vectors, results), or check(vectors, 'FILE')")
        return _values_checked(given, results, flags, operands, bool(any_nan), most)
    if (not isinstance(given, Vectors) and results is not None) or flags is not None or operands is not None:
        raise InputError("results, flags and operands go with vectors: check(vectors, results, flags)")
    path = os.fspath(given if not isinstance(given, Vectors) else results)
    arguments = CheckVectorsArguments(
        file=path,
        format=format,
        metadata=None if metadata is None else os.fspath(metadata),
        columns=",".join(columns) or None,
        nan=None if any_nan is None else "any" if any_nan else "exact",
        ignore_flags=ignore_flags,
        partial=partial,
        max=most,
    )
    asked = CheckedAgainst(given.computation) if isinstance(given, Vectors) else described(arguments)
    checked = check_file(arguments, asked)
    return Report(checked.found, asked.computation, path, checked.golden, checked.note, checked.format)


def _values_checked(
    vectors: Vectors, results: Any, flags: Any, operands: Sequence[Any] | None, any_nan: bool, most: int
) -> Report:
    computation = vectors.computation
    if operands is None:
        inputs: Chunk = tuple(vectors.columns_as_codes[column.name] for column in computation.inputs)
    else:
        inputs = _chunk(computation.inputs, tuple(operands))
    wanted = [column for column in computation.outputs if column.role is Role.RESULT]
    several = results if isinstance(results, tuple) else (results,)
    if flags is not None:
        wanted += [column for column in computation.outputs if column.role is Role.FLAGS]
        if wanted[-1].role is not Role.FLAGS:
            raise InputError("flags are given, but the vectors have none")
        several = (*several, flags)
    outputs = _chunk(wanted, several)
    rows = {len(codes) for codes in (*inputs, *outputs)}
    if len(rows) > 1:
        told = f"{len(outputs[0]):,} results are given for {len(inputs[0]):,} rows"
        raise InputError(told if len({len(codes) for codes in outputs}) == 1 else "the arrays have different lengths")
    checker = VectorChecker(computation, (*computation.inputs, *wanted), any_nan=any_nan, most=most)
    return Report(checker.read([(*inputs, *outputs)] if rows != {0} else []), computation, "results")


def _chunk(columns: Sequence[Column], arrays: Sequence[Any]) -> Chunk:
    names = ", ".join(column.name for column in columns)
    if len(arrays) != len(columns):
        raise InputError(f"{len(arrays)} arrays are given for the columns {names}")
    return tuple(codes_of(column, array) for column, array in zip(columns, arrays, strict=True))
