"""``halfulp vectors make`` and ``halfulp vectors check``: golden vectors, and the results of devices."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from halfulp.command.console import DIFFERENT, EXIT_CODES, SUCCESS, fail, progress_bar, put, say, write
from halfulp.command.execution import Sources, report
from halfulp.command.option import Command
from halfulp.command.recipe import computation_of, recipe_of
from halfulp.conformance.vectors import c_model as output
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors import packing as layout
from halfulp.conformance.vectors.changes import Change, changes, check_unaltered, digest_now
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.compressed import plain_name
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.coverage import CoverageReport, KeptRows, RunningCoverage, coverage_of, report_of_text
from halfulp.conformance.vectors.formats import format_of_file, read_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.metadata import CheckedAgainst, see, to_text
from halfulp.conformance.vectors.models.table import coverage_records, coverage_table
from halfulp.conformance.vectors.op_inputs import filled_models
from halfulp.conformance.vectors.recipe import OF_ONE_OP, Recipe, rows_of
from halfulp.conformance.vectors.recipe import recipe_of as recipe_of_document
from halfulp.described import amount, argument, choice, first_given, flag, option
from halfulp.golden import regression
from halfulp.golden.checking import check_file, described, metadata_of
from halfulp.golden.recipes import OF_A_KERNEL, CheckOptions, ComputationOptions, RecipeOptions
from halfulp.inputs import check_apart, check_place, read_file, write_file
from halfulp.interp.ir.errors import HalfulpError, InputError, plural

MOST_TOLD = 1000
"""The most changes that the object of ``--json`` lists; ``--format=jsonl`` prints all of them, one on each line."""

BLOCK = 32
"""The number of elements of a block, as in OCP's MX formats."""

_MAKE = f"""\
Write golden vectors: operands, and the exact bits of the results of an op or a function.

  halfulp vectors make arith.addf --type f8E4M3FN
  halfulp vectors make arith.truncf --from f32 --type f8E4M3FN --models B3,B4 --format readmemh --out vectors
  halfulp vectors make kernel.mlir --function f --level random -n 1000000 --format npz,testfloat --out vectors
  halfulp vectors make sums.ttgir --grid 8 --input 8x128xf32 --input 8xf32 -n 10 --format npz --out vectors
  halfulp vectors make --changed vectors/addf_f8E4M3FN.json

Formats: {", ".join(layout.FORMAT_NAMES)}.
--format dpi writes no vectors, but a model of the op or tile operation in plain C99, NAME.c, which has some of them as
its self-test, and NAME_dpi.sv, which imports it into SystemVerilog. No other
format can be given with it.
Without --out, the vectors go to stdout. With several formats, all files have the same columns, and so the same digest.
These are the columns that every format can hold. If a format cannot hold flags, no file has them (with --flags this is
an error). If a format has no columns for poison and open (unspecified) bits, --poison chooses the treatment of rows
with such bits.
"""


@dataclass(frozen=True, kw_only=True)
class VectorsArguments(RecipeOptions):
    """The options of ``halfulp vectors make``."""

    subject: str | None = argument("OP|PROGRAM", "an op such as arith.addf, or an MLIR file, or - for stdin", nargs="?")
    format: str | None = option("FORMAT[,FORMAT...]", "the formats of the files (default: testfloat)")
    out: str | None = option(
        "DIR", "write NAME.* and the metadata NAME.json to this folder; after an error, nothing is written"
    )
    metadata: str | None = option("FILE", "the file for the metadata, if the vectors go to stdout")
    name: str | None = option(
        "NAME", "the name of the files, and in C and SystemVerilog (default: by op, types and properties)"
    )
    poison: layout.Unmarked | None = choice(
        layout.UNMARKED, "the treatment of rows with poison or open bits, if a format has no columns for them"
    )
    pack: str | None = choice(layout.PACKINGS, "the packing in bin of elements of other than 8, 16, 32 or 64 bits")
    compress: str | None = choice(("gz", "zst"), "with --out: compress the files, as NAME.tv.gz")
    mx: layout.ScalePlace | None = choice(
        layout.SCALE_PLACES, "write the operands of scaling ops in blocks, in bin; the place of the scales"
    )
    block: int | None = amount(f"with --mx: the number of elements in a block (default: {BLOCK})")
    any_nan: bool = flag("write into the metadata that a checker accepts any NaN if the result is a NaN")
    coverage: bool = flag("show the cases that the models cover, on stderr")
    coverage_file: str | None = option(
        "FILE", "also write the cases that the rows cover, as JSON, which 'vectors coverage report' merges"
    )
    changed: str | None = option("FILE", "show the vectors of the set with this metadata that change in this version")
    json: bool = flag("print one JSON object: with --out the files, rows and digest; with --changed the first changes")


BINARY = ("npz", "npy", "bin")
_OF_FILES = ("metadata", "poison", "pack", "mx", "block", "compress")
_MAKING = (
    "type", "source", "attr", "rounding", "random_bits", "random", "function", *OF_A_KERNEL, "mma", "level", "models",
    "operands", "n", "flags", "out", "metadata", "name", "poison", "pack", "mx", "block", "compress", "any_nan",
    "coverage", "coverage_file", "keep_ub",
)  # fmt: skip


def make_vectors(arguments: VectorsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.changed is not None:
        return _changed(arguments.changed, arguments)
    if arguments.subject is None:
        return fail("name an op or a program, or give --changed")
    if arguments.json and arguments.out is None and arguments.models != "list":
        return fail("with --json, the vectors need another place than stdout: name a folder with --out")
    if arguments.models == "list":
        return _list_models(arguments.subject, arguments, sources)
    return _make(arguments.subject, arguments, sources)


MAKE = Command(
    VectorsArguments, make_vectors, _MAKE, EXIT_CODES.replace("1 values differ,", "1 with --changed: vectors change,")
)


def _make(named: str, arguments: VectorsArguments, sources: Sources) -> int:
    if arguments.format == "dpi":
        return _make_model(named, arguments, sources)
    order = _order(named, arguments, sources)
    own = [] if arguments.out is None else [("the vectors", os.path.join(arguments.out, name)) for name in order.names]
    check_apart([("the program", named), ("--metadata", arguments.metadata), *own], arguments, "coverage_file")
    covered = _coverage(order.recipe, arguments)
    if arguments.out is None:
        made = _stream(order, arguments.metadata)
    else:
        with progress_bar("vectors") as progress:
            made = output.write_folder(order, Path(arguments.out), progress)
    _write_coverage(covered, arguments.coverage_file)
    if arguments.json:
        put({**_files(order.names, arguments), **_made_record(made)})
    for count, what, how in (
        (made.undefined, "undefined behaviour", "; --keep-ub keeps them, as poison"),
        (made.written.dropped, "poison or open bits", ""),
    ):
        if count:
            say(f"{plural(count, 'row')} with {what} {'is' if count == 1 else 'are'} left out{how}")
    return SUCCESS


def _files(names: Iterable[str], arguments: VectorsArguments) -> dict[str, Any]:
    """Return the names of files of ``--out`` for JSON."""
    return {"files": [os.path.join(arguments.out or "", name) for name in names]}


def _made_record(made: output.ProducedSet) -> dict[str, Any]:
    """Return what a set holds for JSON."""
    return {
        "rows": made.written.count,
        "undefined": made.undefined,
        "dropped": made.written.dropped,
        "columns": [column.to_json() for column in made.written.columns],
        "sha256": made.written.digest,
    }


def _make_model(named: str, arguments: VectorsArguments, sources: Sources) -> int:
    option = first_given(arguments, _OF_FILES)
    if option is not None or arguments.any_nan:
        raise InputError(f"{option or '--any-nan'} is for files of vectors, but --format=dpi writes a model")
    recipe = recipe_of(named, arguments, sources)
    model = output.c_model(recipe, recipe.default_name() if arguments.name is None else arguments.name)
    covered = _coverage(recipe, arguments)
    if arguments.out is None:
        write(model.source)
    else:
        output.write_model(model, Path(arguments.out))
    if arguments.json:
        put(_files((f"{model.name}.c", f"{model.name}_dpi.sv"), arguments))
    _write_coverage(covered, arguments.coverage_file)
    return SUCCESS


def _order(named: str, arguments: VectorsArguments, sources: Sources) -> output.Order:
    """Return the checked description of the vectors to make, from the options. Raise HalfulpError."""
    formats = tuple((arguments.format or "testfloat").split(","))
    if "dpi" in formats:
        raise InputError("--format=dpi writes a model, not vectors", hint="give it alone")
    carried = output.carried_by(formats)
    if len(set(formats)) < len(formats):
        raise InputError(f"--format={arguments.format}: a format is named twice")
    if arguments.out is None:
        if len(formats) > 1:
            raise InputError("several formats need a folder to be written into", hint="--out names it")
        if formats[0] in BINARY and sys.stdout.isatty():
            raise InputError(f"the format '{formats[0]}' is not for a terminal", hint="--out=DIR, or redirect stdout")
        if arguments.metadata is not None:
            check_place("--metadata", arguments.metadata)
    elif arguments.metadata is not None:
        raise InputError("--metadata can be used only with vectors on stdout; --out has its own, NAME.json")
    for name in ("pack", "mx"):
        if getattr(arguments, name) is not None and "bin" not in formats:
            raise InputError(
                f"--{name} can be used only with the format 'bin', whose files do not describe the layout of elements"
            )
    if arguments.compress is not None and arguments.out is None:
        raise InputError(
            "--compress can be used only with --out; a program such as gzip compresses what goes to stdout"
        )
    if arguments.block is not None and arguments.mx is None:
        raise InputError("--block can be used only with --mx")
    if Role.FLAGS not in carried:
        if arguments.flags:
            lacking = next(name for name in formats if Role.FLAGS not in output.carried_by([name]))
            raise InputError(f"--flags: the format '{lacking}' has no place for flags")
        arguments = replace(arguments, flags=False)
    block = (arguments.block or BLOCK) if arguments.mx is not None else None
    recipe = recipe_of(named, arguments, sources, block)
    blocks = None
    if arguments.mx is not None and block is not None:
        if arguments.poison == "drop":
            raise InputError(
                "--poison=drop cannot be used with --mx: without the dropped rows, blocks would be incomplete",
                hint="use --poison=refuse or --poison=canonical",
            )
        blocks = layout.Blocks(recipe.columns[0].name, recipe.columns[1].name, block, arguments.mx)
        try:
            blocks.layout({column.name: column.width for column in recipe.columns}, layout.CONTAINERS)
        except ValueError as error:
            raise InputError(f"--mx: {error}") from None
    packing = layout.packing_named(arguments.pack or ("containers" if blocks is None else "dense"))
    name = recipe.default_name() if arguments.name is None else arguments.name
    try:
        options: Options = Options(name, packing, blocks=blocks)
    except ValueError as error:
        raise InputError(f"--name: {error}") from None
    ending = "" if arguments.compress is None else f".{arguments.compress}"
    return output.Order(recipe, formats, options, arguments.poison or "refuse", arguments.any_nan, ending)


def _stream(order: output.Order, metadata: str | None) -> output.ProducedSet:
    sys.stdout.flush()
    made = output.write_stream(order, order.formats[0], sys.stdout.buffer)
    sys.stdout.buffer.flush()
    if metadata is not None:
        write_file(metadata, to_text(output.document(order, made, [None])).encode())
    return made


def _coverage(recipe: Recipe, arguments: VectorsArguments) -> RunningCoverage | None:
    """Show the coverage of a set if the user wants it, and return the coverage for a file. Raise InputError."""
    told = None
    if arguments.coverage and recipe.models and isinstance(recipe.computation, OpComputation):
        _, filled = filled_models(recipe.computation.case, recipe.models, recipe.seed)
        told = coverage_table(filled)
    if arguments.coverage_file is None and (told is not None or not arguments.coverage):
        covered = None
    else:
        covered = coverage_of(recipe)
    if told is None and arguments.coverage and covered is not None:
        looked = max(found.rows for found in covered.models)
        of = f"{looked:,} of the {covered.rows:,} rows, spread over the set, hit"
        every = "the only row hits" if covered.rows == 1 else f"the {covered.rows:,} rows hit"
        told = f"{of if looked < covered.rows else every}\n{covered}"
    if told is not None:
        say(told)
    return covered


def _write_coverage(covered: RunningCoverage | None, file: str | None) -> None:
    if covered is not None and file is not None:
        write_file(file, covered.report.to_text().encode())


def _list_models(named: str, arguments: VectorsArguments, sources: Sources) -> int:
    computation = computation_of(named, replace(arguments, models=None), sources)
    if not isinstance(computation, OpComputation):
        raise InputError(OF_ONE_OP)
    _, filled = filled_models(computation.case, None, arguments.seed)
    if arguments.json:
        put({"models": coverage_records(filled)})
    else:
        write(coverage_table(filled) + "\n")
    return SUCCESS


def _changed(metadata_file: str, arguments: VectorsArguments) -> int:
    option = first_given(replace(arguments, flags=arguments.flags or None), _MAKING)
    if option is not None:
        raise InputError(f"{option} cannot be used with --changed, which makes the vectors as the metadata says")
    if arguments.format not in (None, "jsonl"):
        raise InputError(f"--format={arguments.format}: with --changed, rows are printed as text, or as jsonl")
    path = Path(metadata_file)
    data = metadata.from_text(read_file(path), str(path))
    recipe = recipe_of_document(data, str(path))
    given = arguments.subject
    parts = metadata.parts_of(data) if given is None else [metadata.of_file(data, Path(given).name)]
    if "shards" in parts[0]:
        raise InputError(f"{path}: '{given}' is not one of the sweep's shards", hint="without a file, all are compared")
    compared, changed, missing, equal, told = 0, 0, 0, True, list[dict[str, Any]]()
    for part in parts:
        rows_of(part, recipe)
        beside = _data_file(path, part, given)
        if beside is None:
            missing += 1
            equal &= digest_now(part, recipe) == part["sha256"]
            continue
        file, format = beside
        columns, options = metadata.columns_of(part), metadata.options_of(part, file.name)
        with metadata.opened(str(file)) as (first, _), metadata.opened(str(file)) as (again, _):
            check_unaltered(part, read_vectors(first, format, columns, options), str(file))
            try:
                for change in changes(part, recipe, read_vectors(again, format, columns, options)):
                    changed += 1
                    name = file.name if len(parts) > 1 else None
                    if not arguments.json:
                        write(_change_text(change, name, arguments.format) + "\n")
                    elif changed <= MOST_TOLD:
                        told.append(_change_record(change, name))
            except InputError as error:
                error.message = f"{file}: {error.message}"
                raise
        compared += part["count"]
    if arguments.json:
        counts = {"vectors": compared, "changed": changed, "missing_files": missing}
        put({**counts, "equal": equal and not changed, "changes": told})
    if missing:
        files = "no data file lies" if missing == len(parts) else f"{missing} of {len(parts)} shards do not lie"
        say(f"{files} beside it, so only digests can be compared: {'equal' if equal else 'they differ'}")
    if missing < len(parts):
        say(f"{changed} of {compared} vectors change")
    return SUCCESS if equal and not changed else DIFFERENT


def _change_text(change: Change, file: str | None, format: str | None) -> str:
    """Return the text of a change as a line. ``file``: the file of its row, where that is not clear."""
    if format == "jsonl":
        return json.dumps(_change_record(change, file))
    return str(change) if file is None else f"{file}: {change}"


def _change_record(change: Change, file: str | None) -> dict[str, Any]:
    return ({} if file is None else {"file": file}) | change.to_json()


def _data_file(path: Path, data: dict[str, Any], given: str | None) -> tuple[Path, str] | None:
    """Find the data file of a set and its format; return None if none of them exists. Raise InputError."""
    files = [(file.get("name"), file["format"]) for file in data["files"]]
    if given is not None:
        named = [format for name, format in files if name == Path(given).name]
        guessed = format_of_file(plain_name(given))
        formats = named or ([guessed.name] if guessed else [format for _, format in files])
        if not formats:
            raise InputError(
                f"{path}: the ending of '{given}' is not that of a format of vectors", hint="rename the file"
            )
        return Path(given), formats[0]
    return metadata.data_file(path, data)


# --- check vectors ----------------------------------------------------------------------------------------------------


_CHECK = """\
Read a file of vectors in any of the formats, compute every row again, and show the first row that differs:

  halfulp vectors check addf.tv                                    with addf.json beside it
  ./testbench | halfulp vectors check - --metadata addf.json --format testfloat
  testfloat_gen f16_add | halfulp vectors check - --format testfloat --op arith.addf --type f16
  halfulp vectors check out.hex --op program.mlir --function f --columns arg0,arg1,result

The metadata names the computation, or --op with the options below. The columns are those that the file describes, else
those of the metadata, else the operands, results and flags of the op (--no-flags: without flags).
"""


@dataclass(frozen=True, kw_only=True)
class CheckVectorsArguments(CheckOptions, ComputationOptions):
    """The options of ``halfulp vectors check``."""

    json: bool = flag("print one JSON object")
    junit: str | None = option("FILE", "also write the result as JUnit XML, which CI systems read")
    failing: str | None = option(
        "FILE",
        "also write the operands of the rows that differ and the expected results (the first 65,536), in the format of "
        "the file's ending: a set of vectors that can be run again",
    )
    github: bool = flag("also print the result as an annotation of GitHub Actions")
    coverage_file: str | None = option(
        "FILE",
        "also write the cases that the rows of the file cover, as JSON, which 'vectors coverage report' merges",
    )
    flags: Any = option(
        "FLAG[,FLAG...]",
        "the exception flags that are compared, the others are ignored: invalid, divide_by_zero, overflow, underflow, "
        "inexact",
    )
    no_flags: bool = flag("the file has no column of exception flags")


_FOR_OP = [each.name for each in fields(ComputationOptions) if each.name != "flags"]


def check_vectors(arguments: CheckVectorsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    read = [("the vectors", arguments.file), ("the metadata", metadata_of(arguments)), ("the program", arguments.op)]
    outputs = ("junit", "failing", "coverage_file")
    check_apart(read, arguments, *outputs)
    for name in outputs:
        if getattr(arguments, name) is not None:
            check_place(f"--{name.replace('_', '-')}", getattr(arguments, name))
    if arguments.failing is not None:
        regression.format_of_failing(arguments.failing)
    try:
        return _check(arguments, sources)
    except HalfulpError as error:
        if arguments.junit is not None:
            write_file(arguments.junit, regression.junit(arguments.file, None, str(error)).encode())
        if arguments.github:
            say(regression.annotation(arguments.file, None, str(error)))
        if arguments.json:
            write(json.dumps({"file": arguments.file, "equal": False, "problem": str(error)}) + "\n")
        raise


CHECK = Command(CheckVectorsArguments, check_vectors, _CHECK, titles={ComputationOptions: "the computation"})


def _check(arguments: CheckVectorsArguments, sources: Sources) -> int:
    for name in ("ignore_flags", "no_flags"):
        if arguments.flags is not None and getattr(arguments, name):
            raise InputError(
                f"--flags names the flags that are compared, but --{name.replace('_', '-')} compares none: give one"
            )
    see(arguments.file)
    asked = _asked(arguments, sources)
    with progress_bar("rows") as progress:
        only = () if arguments.flags is None else arguments.flags.split(",")
        kept = 0 if arguments.failing is None else regression.MOST_FAILING
        rows = None if arguments.coverage_file is None else KeptRows(asked.computation)
        watch = None if rows is None else rows.take
        found = check_file(arguments, asked, progress, False if arguments.no_flags else None, only, kept, watch)
    _write_coverage(None if rows is None else rows.coverage(), arguments.coverage_file)
    if arguments.junit is not None:
        write_file(arguments.junit, regression.junit(arguments.file, found).encode())
    if arguments.failing is not None:
        write_file(arguments.failing, regression.failing_rows(found, arguments.failing))
    write(json.dumps(found.to_json()) + "\n" if arguments.json else "".join(f"{line}\n" for line in found.lines()))
    if arguments.github:
        say(regression.annotation(arguments.file, found))
    sys.stdout.flush()
    if found.note:
        say(f"note: {arguments.file}: {found.note}")
    if found.problem is not None:
        code = report(found.problem, sources)
        return DIFFERENT if found.differing else code
    return DIFFERENT if found.differing else SUCCESS


def _asked(arguments: CheckVectorsArguments, sources: Sources) -> CheckedAgainst:
    """Return the computation with which the results are compared, from the options or the metadata. Raise InputError if
    neither has it.
    """
    if arguments.op is not None:
        if arguments.metadata is not None:
            raise InputError("--op and --metadata both say what is computed: give one of them")
        if arguments.op == arguments.file == "-":
            raise InputError("the program and the vectors cannot both come from the standard input")
        asked = replace(arguments, flags=False) if arguments.no_flags else arguments
        return CheckedAgainst(computation_of(arguments.op, asked, sources))
    option = first_given(arguments, _FOR_OP)
    if option is not None:
        raise InputError(f"{option} can be used only with --op; without it, the metadata says what is computed")
    return described(arguments)


# --- report coverage --------------------------------------------------------------------------------------------------

_REPORT = """\
Merge files of coverage, and show which cases their rows cover:

  halfulp vectors check results.tv --metadata addf.json --coverage-file monday.json
  halfulp vectors sweep spec.json --out sweep --shard 3/8 --coverage-file shard3.json
  halfulp vectors coverage report monday.json tuesday.json shard*.json -o all.json

All files must be about one computation, one profile and one version of halfulp.
"""


@dataclass(frozen=True, kw_only=True)
class CoverageArguments:
    """The options of ``halfulp vectors coverage report``."""

    files: tuple[str, ...] = argument("FILE", "files of coverage, or - for the standard input", nargs="+")
    json: bool = flag("print the merged coverage as JSON, instead of the table")
    output: str | None = option("FILE", "also write the merged coverage to this file", name="-o --output")


def report_coverage(arguments: CoverageArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    first, *others = arguments.files
    merged: CoverageReport = report_of_text(read_file(first), first)
    for file in others:
        merged = merged.merged(report_of_text(read_file(file), file), file, first)
    if arguments.output is not None:
        write_file(arguments.output, merged.to_text().encode())
    write(merged.to_text() if arguments.json else f"{merged}\n")
    return SUCCESS


COVERAGE = Command(CoverageArguments, report_coverage, _REPORT)
