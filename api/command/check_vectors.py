"""``halfulp check-vectors``: compare a file of vectors, or the output of a device, with the expected results."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from halfulp.command.check_report import report_lines, report_record
from halfulp.command.console import DIFFERENT, SUCCESS, say, write
from halfulp.command.option import first_given
from halfulp.command.options.check_vectors import CheckVectorsArguments
from halfulp.command.options.recipe import FIELDS
from halfulp.command.progress import progress_bar
from halfulp.command.recipe import computation_of
from halfulp.command.sources import Sources, read_bytes, report
from halfulp.command.vector_files import CheckedAgainst, format_of_vectors, opened, see, vectors_of
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Chunk, Role
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.metadata import MERGED, METADATA, Document
from halfulp.conformance.vectors.recipe import computation_of as computation_of_source
from halfulp.conformance.vectors.recipe import profile_of, recipe_of, rows_of
from halfulp.conformance.vectors.row_check import Check, VectorChecker
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported

_FOR_OP = (
    "type",
    "source",
    "attr",
    "rounding",
    "random_bits",
    "random",
    "function",
    "mma",
    "keep_ub",
    *FIELDS,
    "profile",
)


def execute(arguments: CheckVectorsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    try:
        return _check(arguments, sources)
    except HalfulpError as error:
        if arguments.json:
            write(json.dumps({"file": arguments.file, "equal": False, "problem": str(error)}) + "\n")
        raise


def _check(arguments: CheckVectorsArguments, sources: Sources) -> int:
    see(arguments.file)
    asked = _asked(arguments, sources)
    with progress_bar("rows") as progress:
        checked = check_file(arguments, asked, progress)
    found, golden = checked.found, checked.golden
    if arguments.json:
        write(json.dumps(report_record(found, asked.computation, checked.format, golden, arguments)) + "\n")
    else:
        write("".join(f"{line}\n" for line in report_lines(found, asked.computation, golden, arguments)))
    sys.stdout.flush()
    if checked.note:
        say(f"note: {arguments.file}: {checked.note}")
    if found.problem is not None:
        code = report(found.problem, sources)
        return DIFFERENT if found.differing else code
    return DIFFERENT if found.differing else SUCCESS


@dataclass(frozen=True)
class CheckedFile:
    """The result of the check of a file. ``format``: the name of its format. ``golden``: it is the golden set, row by
    row. ``note``: what else to say of its rows; empty: nothing.
    """

    found: Check
    format: str
    golden: bool
    note: str


def check_file(
    arguments: CheckVectorsArguments, asked: CheckedAgainst, progress: Callable[[int, int], object] | None = None
) -> CheckedFile:
    """Compare a file with a computation. Problems of the file are part of the result. Raise HalfulpError."""
    notes, document = Notes(), asked.document
    foreseen, lacking = _foreseen(asked)
    with opened(arguments.file) as (file, head):
        format_ = format_of_vectors(arguments, head)
        vectors = vectors_of(file, head, format_, asked, arguments, notes)
        if lacking and not set(asked.computation.inputs) & set(vectors.columns):
            raise InputError(f"{arguments.file}: the file has no operands, and {lacking}")
        checker = VectorChecker(
            asked.computation,
            vectors.columns,
            any_nan=_any_nan(arguments, document),
            ignored=frozenset({Role.FLAGS} if arguments.ignore_flags else ()),
            notes=notes,
            foreseen=foreseen,
            most=arguments.max,
            leaves=() if document is None else metadata.leaves_of(document),
        )
        if checker.period > 1 and document is not None and document.get("dropped"):
            raise Unsupported("rows were left out of the set, so the parameters of a row are not known")
        total = None if document is None else document["count"]

        def told(rows: int) -> None:
            if progress is not None:
                progress(rows, _total(file, rows, total))

        found = checker.read(vectors, told)
    _judge_count(found, checker.period, asked, arguments)
    if found.problem is not None and " words for " in found.problem.message:
        names = ", ".join(column.name for column in vectors.columns)
        found.problem.hint = f"the columns are {names}; --no-flags or --columns says that some are not there"
    golden = document is not None and found.digest == document["sha256"] and not found.problem
    note = _note(found, asked)
    if lacking and not golden and not note and found.problem is None:
        note = f"{lacking}, so each result is checked for the operands in the file; these were not compared"
    return CheckedFile(found, format_.name, golden, note)


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


def _asked(arguments: CheckVectorsArguments, sources: Sources) -> CheckedAgainst:
    """Return what is computed, by the options or the metadata. Raise InputError where neither says it."""
    if arguments.op is not None:
        if arguments.metadata is not None:
            raise InputError("--op and --metadata both say what is computed: give one of them")
        if arguments.op == arguments.file == "-":
            raise InputError("the program and the vectors cannot both come from the standard input")
        return CheckedAgainst(computation_of(arguments.op, arguments, sources))
    option = first_given(arguments, _FOR_OP)
    if option is not None:
        raise InputError(f"{option} goes with --op; without it, the metadata says what is computed")
    return described(arguments)


def described(arguments: CheckVectorsArguments) -> CheckedAgainst:
    """Return what is computed, by the metadata of the file. Raise InputError where that does not say it."""
    path = arguments.metadata or _beside(arguments.file)
    if path is None:
        raise InputError(
            f"{arguments.file}: nothing says what is computed",
            hint="give --metadata FILE.json, or the op: --op arith.addf --type f16",
        )
    data = metadata.of_file(metadata.from_text(read_bytes(path), path), Path(arguments.file).name)
    try:
        options = data.get("inputs", {}).get("options", {})
        computation = computation_of_source(data["source"], profile_of(data["profile"]), options)
    except HalfulpError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: the metadata does not say what is computed: {error!r}") from None
    return CheckedAgainst(computation, data, path)


def _beside(path: str) -> str | None:
    """Find the metadata of a file: its name with .json in place of its ending, or after it; for a shard, that of its
    sweep.
    """
    if path == "-":
        return None
    places = [str(Path(path).with_suffix(".json")) if Path(path).name else path, f"{path}.json"]
    of_sweep = str(Path(path).parent / METADATA)
    # sweep.json beside sweep.runs describes the sweep, not its results.
    places.insert(0 if Path(path).name == MERGED else len(places), of_sweep)
    return next((place for place in places if place != path and os.path.isfile(place)), None)


def _any_nan(arguments: CheckVectorsArguments, document: Document | None) -> bool:
    if arguments.nan is not None or document is None:
        return bool(arguments.nan == "any")
    nan = document.get("nan")
    return isinstance(nan, dict) and nan.get("accept") == "any"


def _foreseen(asked: CheckedAgainst) -> tuple[Iterable[Chunk] | None, str]:
    """Return the rows of the set as its metadata makes them; None where it does not say how, or rows were left out.
    With it: why operands of one's own cannot be made again, if so.
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
        own = isinstance(inputs, dict) and inputs.get("level") == "operands"
        told = error.message if isinstance(error, HalfulpError) else str(error)
        return None, f"the operands of {asked.metadata} cannot be made again ({told})" if own else ""


def _judge_count(found: Check, period: int, asked: CheckedAgainst, arguments: CheckVectorsArguments) -> None:
    """Note a wrong number of rows as the problem of the file."""
    count = None if asked.document is None else asked.document["count"]
    problem, hint = None, None
    if found.problem is not None:
        return
    if not found.compared:
        problem = "nothing was compared: every row has undefined behaviour" if found.rows else "the file has no rows"
    elif count is not None and (found.rows > count or (found.rows < count and not arguments.partial)):
        problem = f"the file has {found.rows:,} rows, but {asked.metadata} tells of {count:,}"
        if found.strayed is not None:
            problem += f"; {_strayed(found, asked)}"
        hint = "--partial accepts fewer rows" if found.rows < count else None
    elif found.rows % period and not arguments.partial:
        problem = (
            f"{found.rows:,} rows, but parameters repeat after {period}: the last {found.rows % period} lack others"
        )
        hint = "--partial accepts them"
    elif found.strayed is not None and not found.reordered and not arguments.partial:
        problem, hint = _strayed(found, asked), "--partial accepts other operands too"
    if problem is not None:
        found.problem = InputError(f"{arguments.file}: {problem}", hint=hint)


def _strayed(found: Check, asked: CheckedAgainst) -> str:
    told = f"from row {found.strayed} on, the operands are not those of {asked.metadata}"
    count = abs(found.slipped)
    rows = "a row" if count == 1 else f"{count} rows"
    return f"{told}: {rows} {'missing' if found.slipped > 0 else 'too many'} there" if count else told


def _total(file: BinaryIO, rows: int, count: int | None) -> int:
    """Return the rows that the progress bar counts to: from the metadata, else estimated from the file size."""
    if count is not None:
        return count
    if not file.seekable() or file.closed:
        return rows
    size = os.fstat(file.fileno()).st_size
    return max(rows, rows * size // max(file.tell(), 1))
