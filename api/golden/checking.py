"""Compare the results of a device with the expected ones: `halfulp.check`."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, BinaryIO

from halfulp.conformance.vectors import metadata as documents
from halfulp.conformance.vectors.changes import check_unaltered
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.compressed import plain_name
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.formats import format_named, read_vectors
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.metadata import (
    MERGED,
    METADATA,
    CheckedAgainst,
    Document,
    format_of_vectors,
    opened,
    vectors_of,
)
from halfulp.conformance.vectors.packing import BoundsName
from halfulp.conformance.vectors.recipe import computation_of, profile_of, recipe_of, rows_of
from halfulp.conformance.vectors.row_check import EVERY_FLAG, Check, VectorChecker, Within, flags_named
from halfulp.fp_formats.formats import Mask
from halfulp.golden.recipes import CheckOptions, codes_of
from halfulp.golden.report import Report
from halfulp.golden.vectors import Vectors
from halfulp.inputs import names_arguments, read_file
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported

Path = str | os.PathLike[str]


@names_arguments
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
    bounds: BoundsName | None = None,
    ignore_flags: bool = False,
    only_flags: Sequence[str] = (),
    partial: bool = False,
    n: int = 1,
) -> Report:
    """Compare the results of a device with the expected results. Return a report of the differences and their likely
    cause.

    For values in memory, call ``check(vectors, results, flags)``. For a file with operands and results, in any format
    of vectors, call ``check(vectors, "device.tv")``. For a file with metadata, call ``check("device.tv")``; this file
    may have only results.

    ``given``: the result of `vectors`, or the path of a file with metadata.
    ``results``: an array or `Value` for the rows of the vectors, in their order, or a tuple of them if there are
    several results. An array has the dtype of the result type, or codes as unsigned integers. A list of integers has
    codes.
    ``flags``: an array of the exception flags; None: the flags are not compared.
    ``operands``: the operands for which the device computed the results, if they are not those of the vectors: an array
    for each input column.
    ``metadata``: the path of the metadata, if it is not in the folder of the file.
    ``format``, ``columns``: the format and the names of the columns of a file that does not describe itself.
    ``any_nan``: accept every NaN if a NaN is expected. By default the metadata decides.
    ``bounds``: "tosa" accepts results within the bounds that the specification of TOSA allows for an operator: an op
    of the dialect tosa, or a function with one beside constants. The page on TOSA has the rules.
    ``ignore_flags``: do not compare the flags in a file.
    ``only_flags``: the flags to compare, such as ``("invalid", "overflow")``; the others are ignored; the names are
    invalid, divide_by_zero, overflow, underflow and inexact. It cannot be given together with ``ignore_flags``.
    ``partial``: allow fewer rows than in the metadata.
    ``n``: the number of differing rows that the report shows in full.

    Rows whose expected result is poison, and bits that may have either value, are not compared. Raises InputError and
    TypeMismatch for results that do not match the vectors; a problem inside a file is part of the report.
    """
    if ignore_flags and only_flags:
        raise InputError("only_flags names the flags that are compared, but ignore_flags compares none: give one")
    if isinstance(given, Vectors) and not isinstance(results, str | os.PathLike):
        if results is None:
            raise InputError("the results are missing: check(vectors, results), or check(vectors, 'FILE')")
        only = flags_named(only_flags) if only_flags else EVERY_FLAG
        return _values_checked(given, results, flags, operands, bool(any_nan), n, only, bounds)
    if not isinstance(given, Vectors | str | os.PathLike):
        raise TypeMismatch(
            f"hu.check takes the vectors of hu.vectors, or the path of a file, not {type(given).__name__}",
            hint="hu.error(x, reference=y) measures how far two arrays are apart",
        )
    if (not isinstance(given, Vectors) and results is not None) or flags is not None or operands is not None:
        raise InputError("results, flags and operands need vectors: call check(vectors, results, flags)")
    path = os.fspath(given if not isinstance(given, Vectors) else results)
    options = CheckOptions(
        file=path,
        format=format,
        metadata=None if metadata is None else os.fspath(metadata),
        columns=",".join(columns) or None,
        nan=None if any_nan is None else "any" if any_nan else "exact",
        bounds=bounds,
        ignore_flags=ignore_flags,
        partial=partial,
        max=n,
    )
    asked = CheckedAgainst(given.computation) if isinstance(given, Vectors) else described(options)
    return check_file(options, asked, only_flags=only_flags)


def _values_checked(
    vectors: Vectors,
    results: Any,
    flags: Any,
    operands: Sequence[Any] | None,
    any_nan: bool,
    most: int,
    only: int,
    bounds: BoundsName | None,
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
    checker = VectorChecker(
        computation,
        (*computation.inputs, *wanted),
        any_nan=any_nan,
        flags=only,
        most=most,
        within=_within(bounds, computation),
    )
    return Report(checker.read([(*inputs, *outputs)] if rows != {0} else []), computation, "results")


def _within(bounds: BoundsName | None, computation: Computation) -> Within | None:
    """Return the judge of rows that differ; None without bounds. Raises Unsupported."""
    if bounds is None:
        return None
    # The dialect tosa is loaded only if it is needed.
    rows: Any = import_module("halfulp.conformance.vectors.tosa_rows")
    within: Within = rows.TosaRows(computation).within
    return within


def _chunk(columns: Sequence[Column], arrays: Sequence[Any]) -> Chunk:
    names = ", ".join(column.name for column in columns)
    if len(arrays) != len(columns):
        raise InputError(f"{len(arrays)} arrays are given for the columns {names}")
    return tuple(codes_of(column, array) for column, array in zip(columns, arrays, strict=True))


# --- files ------------------------------------------------------------------------------------------------------------


def check_file(
    options: CheckOptions,
    asked: CheckedAgainst,
    progress: Callable[[int, int], object] | None = None,
    flags: bool | None = None,
    only_flags: Sequence[str] = (),
    failing: int = 0,
    watch: Callable[[Chunk, Chunk, Mask | None], object] | None = None,
) -> Report:
    """Compare a file with a computation. Problems of the file are part of the report.

    ``flags``: False for a file without exception flags.
    ``only_flags``: the flags that are compared; if empty, all are.
    ``failing``: the most rows with a difference that are kept for a file.
    ``watch``: as for `VectorChecker`. Raises HalfulpError.
    """
    notes, document = Notes(), asked.document
    foreseen, lacking = _foreseen(asked, options.file)
    with opened(options.file) as (file, head):
        format_ = format_of_vectors(options.file, head) if options.format is None else format_named(options.format)
        vectors = vectors_of(options.file, file, head, format_, asked, notes, columns=options.columns, flags=flags)
        if lacking and not set(asked.computation.inputs) & set(vectors.columns):
            raise InputError(f"{options.file}: the file has no operands, and {lacking}")
        checker = VectorChecker(
            asked.computation,
            vectors.columns,
            any_nan=_any_nan(options, document),
            ignored=frozenset({Role.FLAGS} if options.ignore_flags else ()),
            flags=flags_named(only_flags) if only_flags else EVERY_FLAG,
            notes=notes,
            foreseen=foreseen,
            most=options.max,
            failing=failing,
            leaves=() if document is None else documents.leaves_of(document),
            watch=watch,
            within=_within(options.bounds, asked.computation),
        )
        if checker.period > 1 and document is not None and document.get("dropped"):
            raise Unsupported(
                "the set cannot be checked: some of its rows were left out, so that it is not known which "
                "parameters belong to "
                "a row"
            )
        total = None if document is None else document["count"]

        def told(rows: int) -> None:
            if progress is not None:
                progress(rows, _total(file, rows, total))

        found = checker.read(vectors, told)
    _judge_count(found, checker.period, asked, options)
    if found.problem is not None and " words for " in found.problem.message:
        names = ", ".join(column.name for column in vectors.columns)
        found.problem.hint = f"the columns are {names}; --no-flags or --columns says that some are not there"
    golden = document is not None and found.digest == document["sha256"] and not found.problem
    note = _note(found, asked)
    if notes.skipped:
        skipped = f"not compared, because what is computed has no such column: {', '.join(notes.skipped)}"
        note = f"{note}; {skipped}" if note else skipped
    if lacking and not golden and not note and found.problem is None:
        note = f"{lacking}, so each result is checked for the operands in the file; these were not compared"
    return Report(found, asked.computation, options.file, golden, note, format_.name)


def _note(found: Check, asked: CheckedAgainst) -> str:
    if found.strayed is not None and found.reordered:
        return f"from row {found.strayed} on, the rows are in another order than in {asked.metadata}"
    if found.problem is not None:
        return ""
    if found.strayed is not None:
        return _strayed(found, asked)
    if asked.document is not None and found.rows < asked.document["count"]:
        return f"only the first {found.rows:,} of the {asked.document['count']:,} rows of {asked.metadata}"
    return ""


def described(options: CheckOptions) -> CheckedAgainst:
    """Return the computation that the metadata of the file describes."""
    path = metadata_of(options)
    if path is None:
        raise InputError(
            f"{options.file}: nothing says what is computed",
            hint="give --metadata FILE.json, or the op: --op arith.addf --type f16",
        )
    data = documents.of_file(documents.from_text(read_file(path), path), plain_name(pathlib.Path(options.file).name))
    try:
        kept = data.get("inputs", {}).get("options", {})
        computation = computation_of(data["source"], profile_of(data["profile"]), kept)
    except HalfulpError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: the metadata does not say what is computed: {error!r}") from None
    return CheckedAgainst(computation, data, path)


def metadata_of(options: CheckOptions) -> str | None:
    """Return the path of the metadata: the one that the options give, else that of a file beside the vectors. None if
    there is none.
    """
    return options.metadata or _beside(options.file)


def _beside(path: str) -> str | None:
    """Find the metadata of a file: the name of the file with .json in place of its ending, or appended to it; for a
    shard, the metadata of its sweep.
    """
    if path == "-":
        return None
    whole, path = path, plain_name(path)
    places = [str(pathlib.Path(path).with_suffix(".json")) if pathlib.Path(path).name else path, f"{path}.json"]
    places.append(f"{whole}.json")
    of_sweep = str(pathlib.Path(path).parent / METADATA)
    # sweep.json beside sweep.runs describes the sweep, not its results.
    places.insert(0 if pathlib.Path(path).name == MERGED else len(places), of_sweep)
    return next((place for place in places if place != path and os.path.isfile(place)), None)


def _any_nan(options: CheckOptions, document: Document | None) -> bool:
    if options.nan is not None or document is None:
        return bool(options.nan == "any")
    nan = document.get("nan")
    return isinstance(nan, dict) and nan.get("accept") == "any"


def _foreseen(asked: CheckedAgainst, file: str) -> tuple[Iterable[Chunk] | None, str]:
    """Return the expected rows of the set, made from its metadata, or with the operands of its data file; None if that
    is not possible, or if rows were left out. The text says why the user's own operands cannot be made again, or is
    empty.
    """
    document = asked.document
    if document is None or document.get("dropped"):
        return None, ""
    try:
        recipe = recipe_of(document, asked.metadata)
        start, stop = rows_of(document, recipe)
        # Making the first rows shows whether a handwritten document is valid.
        recipe.given(start, min(stop, start + recipe.step))
        return recipe.chunks(start, stop), ""
    except (HalfulpError, LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        inputs = document.get("inputs")
        if not isinstance(inputs, dict) or inputs.get("level") != "operands":
            return None, ""
        kept = _kept(asked, document, file)
        told = error.message if isinstance(error, HalfulpError) else str(error)
        return kept, "" if kept is not None else f"the operands of {asked.metadata} cannot be made again ({told})"


def _kept(asked: CheckedAgainst, document: Document, checked: str) -> Iterable[Chunk] | None:
    """Return the rows of a set with the operands in its data file, which is next to the metadata, and with results that
    are computed now; None if there is no such file, or it has no operands. ``checked``: the file that is checked, which
    is another one. Raises InputError if the data file is not that of the metadata.
    """
    found = documents.data_file(pathlib.Path(asked.metadata), document)
    if found is None or os.path.realpath(found[0]) == os.path.realpath(checked):
        return None
    path, format = found
    columns, options = documents.columns_of(document), documents.options_of(document, path.name)
    places = {column.name: place for place, column in enumerate(columns)}
    if not all(column.name in places for column in asked.computation.inputs):
        return None
    with opened(str(path)) as (file, _):
        check_unaltered(document, read_vectors(file, format, columns, options), str(path))

    def rows() -> Iterator[Chunk]:
        with opened(str(path)) as (file, _):
            for chunk in read_vectors(file, format, columns, options):
                inputs = tuple(chunk[places[column.name]] for column in asked.computation.inputs)
                yield inputs + asked.computation.compute(inputs).outputs

    return rows()


def _judge_count(found: Check, period: int, asked: CheckedAgainst, options: CheckOptions) -> None:
    """Record a wrong number of rows as the problem of the file."""
    count = None if asked.document is None else asked.document["count"]
    problem, hint = None, None
    if found.problem is not None:
        return
    if not found.compared:
        why = (
            "the file says so of every row"
            if found.ignored == found.rows
            else "every row has undefined behaviour"
            if found.undefined == found.rows
            else "no row has a value: all are poison"
        )
        problem = f"nothing was compared: {why}" if found.rows else "the file has no rows"
    elif count is not None and (found.rows > count or (found.rows < count and not options.partial)):
        problem = f"the file has {found.rows:,} rows, but {asked.metadata} tells of {count:,}"
        if found.strayed is not None:
            problem += f"; {_strayed(found, asked)}"
        hint = "--partial accepts fewer rows" if found.rows < count else None
    elif found.rows % period and not options.partial:
        problem = (
            f"{found.rows:,} rows, but parameters repeat after {period}: the last {found.rows % period} lack others"
        )
        hint = "--partial accepts them"
    elif found.strayed is not None and not found.reordered and not options.partial:
        problem, hint = _strayed(found, asked), "--partial accepts other operands too"
    if problem is not None:
        found.problem = InputError(f"{options.file}: {problem}", hint=hint)


def _strayed(found: Check, asked: CheckedAgainst) -> str:
    told = f"from row {found.strayed} on, the operands are not those of {asked.metadata}"
    count = abs(found.slipped)
    rows = "a row" if count == 1 else f"{count} rows"
    return f"{told}: {rows} {'missing' if found.slipped > 0 else 'too many'} there" if count else told


def _total(file: BinaryIO, rows: int, count: int | None) -> int:
    """Return the number of rows for the progress bar: from the metadata, else estimated from the size of the file."""
    if count is not None:
        return count
    if not file.seekable() or file.closed:
        return rows
    size = os.fstat(file.fileno()).st_size
    return max(rows, rows * size // max(file.tell(), 1))
