"""``halfulp vectors``: golden vectors of an op or a program, as the tools of a test bench read them."""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfulp.command.common import (
    DIFFERENT,
    EXIT_CODES,
    SUCCESS,
    Sources,
    fail,
    positive,
    progress_bar,
    report,
    say,
    write,
)
from halfulp.command.recipe import add_recipe_options, recipe_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfulp.conformance.vectors.compare import Change
    from halfulp.conformance.vectors.formats.format import Options
    from halfulp.conformance.vectors.produce import Made, Order
    from halfulp.conformance.vectors.recipe import Recipe

FORMATS = ("testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl", "runs", "mlir")
"""`halfulp.conformance.vectors.formats.NAMES`, known here without importing anything."""

BINARY = ("npz", "npy", "bin")
PACKINGS = ("containers", "dense", "dense-high")
UNMARKED = ("refuse", "drop", "canonical")
PLACES = ("separate", "first", "last")

BLOCK = 32
"""Elements of a block, as OCP's MX formats have it."""

LONGEST_NAME = 80

_ABOUT = f"""\
Write golden vectors: operands, and the exact bits of the results of an op or a function.

  halfulp vectors arith.addf --type f8E4M3FN
  halfulp vectors arith.truncf --from f32 --type f8E4M3FN --models B3,B4 --format readmemh --out vectors
  halfulp vectors kernel.mlir --function f --level random -n 1000000 --format npz,testfloat --out vectors
  halfulp vectors --changed vectors/addf_f8E4M3FN.json

Formats: {", ".join(FORMATS)}.
Without --out, the vectors go to stdout. With several formats, all files have the same columns, and so the same digest.
These are the columns that every format can hold. If a format cannot hold flags, no file has them (with --flags this is
an error). If a format has no columns for poison and open (unspecified) bits, --poison chooses the treatment of rows
with such bits.
"""

_MAKING = (
    "type", "source", "attr", "rounding", "random_bits", "function", "level", "models", "n", "flags", "out",
    "metadata", "name", "poison", "pack", "mx", "block", "any_nan", "coverage", "keep_ub",
)  # fmt: skip
_SPELLED = {"source": "--from", "n": "-n"}


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to the parser of the command line."""
    vectors = commands.add_parser(
        "vectors",
        help="make golden vectors of an op or a program, or compare old ones with this version",
        description=_ABOUT,
        epilog=EXIT_CODES.replace("1 values differ,", "1 with --changed: vectors change,"),
        **style,
    )
    add = vectors.add_argument
    add("subject", nargs="?", metavar="OP|PROGRAM", help="an op such as arith.addf, or an MLIR file, or - for stdin")
    add_recipe_options(vectors)
    add("--format", metavar="FORMAT[,FORMAT...]", help="the formats of the files (default: testfloat)")
    add(
        "--out",
        metavar="DIR",
        help="write NAME.* and the metadata NAME.json to this folder; after an error, nothing is written",
    )
    add("--metadata", metavar="FILE", help="the file for the metadata, if the vectors go to stdout")
    add(
        "--name",
        metavar="NAME",
        help="the name of the files, and in C and SystemVerilog (default: by op, types and properties)",
    )
    add(
        "--poison",
        choices=UNMARKED,
        help="the treatment of rows with poison or open bits, if a format has no columns for them",
    )
    add("--pack", choices=PACKINGS, help="the packing in bin of elements of other than 8, 16, 32 or 64 bits")
    add("--mx", choices=PLACES, help="write the operands of scaling ops in blocks, in bin; the place of the scales")
    add("--block", type=positive, metavar="N", help=f"with --mx: the number of elements in a block (default: {BLOCK})")
    add(
        "--any-nan", action="store_true", help="ask checkers, in the metadata, to accept any NaN if the result is a NaN"
    )
    add("--coverage", action="store_true", help="show the cases that the models cover, on stderr")
    add("--changed", metavar="FILE", help="show the vectors of the set with this metadata that change in this version")
    vectors.set_defaults(command=_vectors)


def _vectors(arguments: argparse.Namespace) -> int:
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    try:
        if arguments.changed is not None:
            return _changed(arguments, sources)
        if arguments.subject is None:
            return fail("name an op or a program, or give --changed")
        if arguments.models == "list":
            return _list_models(arguments, sources)
        return _make(arguments, sources)
    except HalfulpError as error:
        return report(error, sources)


# --- making vectors ---------------------------------------------------------------------------------------------------


def _make(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.vectors.produce import write_folder

    order = _order(arguments, sources)
    if arguments.coverage:
        _say_coverage(order.recipe)
    if arguments.out is None:
        made = _stream(order, arguments.metadata)
    else:
        with _ends_by_exception(), progress_bar("vectors") as progress:
            made = write_folder(order, Path(arguments.out), progress)
    if made.undefined:
        say(f"{made.undefined} rows with undefined behaviour are left out; --keep-ub keeps them, as poison")
    if made.written.dropped:
        say(f"{made.written.dropped} rows with poison or open bits are left out")
    return SUCCESS


def _order(arguments: argparse.Namespace, sources: Sources) -> Order:
    """What is asked for, checked. Raises HalfulpError."""
    from halfulp.conformance.vectors.columns import Role
    from halfulp.conformance.vectors.formats.format import Options
    from halfulp.conformance.vectors.packing import CONTAINERS, Blocks, Packing
    from halfulp.conformance.vectors.produce import Order, carried_by
    from halfulp.interp.ir.errors import InputError

    formats = tuple((arguments.format or "testfloat").split(","))
    carried = carried_by(formats)
    if len(set(formats)) < len(formats):
        raise InputError(f"--format={arguments.format}: a format is named twice")
    if arguments.out is None:
        if len(formats) > 1:
            raise InputError("several formats need a folder to be written into", hint="--out names it")
        if formats[0] in BINARY and sys.stdout.isatty():
            raise InputError(f"the format '{formats[0]}' is not for a terminal", hint="--out=DIR, or redirect stdout")
        if arguments.metadata is not None:
            _check_place(Path(arguments.metadata))
    elif arguments.metadata is not None:
        raise InputError("--metadata goes with vectors on stdout; --out has its own, NAME.json")
    for option in ("pack", "mx"):
        if getattr(arguments, option) is not None and "bin" not in formats:
            raise InputError(f"--{option} goes with the format 'bin', which says nothing of how elements lie")
    if arguments.block is not None and arguments.mx is None:
        raise InputError("--block goes with --mx")
    if Role.FLAGS not in carried:
        if arguments.flags:
            lacking = next(name for name in formats if Role.FLAGS not in carried_by([name]))
            raise InputError(f"--flags: the format '{lacking}' has no place for flags")
        arguments.flags = False
    arguments.block = (arguments.block or BLOCK) if arguments.mx is not None else None
    recipe = recipe_of(arguments.subject, arguments, sources)
    packings = {"containers": CONTAINERS, "dense": Packing(True), "dense-high": Packing(True, "high")}
    blocks = None
    if arguments.mx is not None:
        if arguments.poison == "drop":
            raise InputError("--poison=drop would leave gaps in the blocks of --mx")
        blocks = Blocks(recipe.columns[0].name, recipe.columns[1].name, arguments.block, arguments.mx)
        try:
            blocks.layout({column.name: column.width for column in recipe.columns}, CONTAINERS)
        except ValueError as error:
            raise InputError(f"--mx: {error}") from None
    packing = packings[arguments.pack or ("containers" if blocks is None else "dense")]
    name = default_name(recipe) if arguments.name is None else arguments.name
    try:
        options: Options = Options(name, packing, blocks=blocks)
    except ValueError as error:
        raise InputError(f"--name: {error}") from None
    return Order(recipe, formats, options, arguments.poison or "refuse", arguments.any_nan)


def _check_place(path: Path) -> None:
    """Raise InputError where a file cannot come to lie, before its vectors are made."""
    from halfulp.interp.ir.errors import InputError

    if path.is_dir() or not path.parent.is_dir():
        why = "it is a folder" if path.is_dir() else f"there is no folder '{path.parent}'"
        raise InputError(f"--metadata={path}: {why}")


def default_name(recipe: Recipe) -> str:
    """What the vectors of a recipe are called: ``addf_f8E4M3FN``, ``truncf_f32_to_bf16_upward``, ``file_function``."""
    from halfulp.conformance.vectors.computation import OpSubject, ProgramSubject

    subject = recipe.subject
    if isinstance(subject, OpSubject):
        asked = subject.task
        operands = list(dict.fromkeys(asked.operands))
        results = [] if set(asked.results) <= set(asked.operands) else ["to", *dict.fromkeys(asked.results)]
        properties = [name if value is True else str(value) for name, value in asked.properties]
        random = [] if subject.random_bits is None else ["stochastic"]
        words = [asked.op.partition(".")[2] or asked.op, *operands, *results, *properties, *random]
    else:
        assert isinstance(subject, ProgramSubject)
        words = [Path(subject.name).stem, subject.function]
    name = re.sub(r"[\W_]+", "_", "_".join(words), flags=re.ASCII).strip("_")[:LONGEST_NAME]
    return name if name.isidentifier() else f"vectors_{name}"


def _stream(order: Order, metadata: str | None) -> Made:
    from halfulp.conformance.vectors.metadata import to_text
    from halfulp.conformance.vectors.produce import document, write_stream
    from halfulp.files import write_file

    sys.stdout.flush()
    made = write_stream(order, order.formats[0], sys.stdout.buffer)
    sys.stdout.buffer.flush()
    if metadata is not None:
        write_file(metadata, to_text(document(order, made, [None])).encode())
    return made


@contextmanager
def _ends_by_exception() -> Iterator[None]:
    """Let SIGTERM end what is being written as an exception, so that nothing half-written is left."""

    def stop(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- models -----------------------------------------------------------------------------------------------------------


def _say_coverage(recipe: Recipe) -> None:
    from halfulp.conformance.vectors.computation import OpSubject
    from halfulp.conformance.vectors.inputs import filled_models
    from halfulp.conformance.vectors.models import coverage_table
    from halfulp.interp.ir.errors import InputError

    if not recipe.models or not isinstance(recipe.subject, OpSubject):
        raise InputError("--coverage is about the models, so that --models must name some")
    _, filled = filled_models(recipe.subject.task, recipe.models, recipe.seed)
    say(coverage_table(filled))


def _list_models(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.command.recipe import subject_of
    from halfulp.conformance.vectors.computation import OpSubject
    from halfulp.conformance.vectors.inputs import filled_models
    from halfulp.conformance.vectors.models import coverage_table
    from halfulp.interp.ir.errors import InputError

    arguments.models = None
    subject = subject_of(arguments.subject, arguments, sources)
    if not isinstance(subject, OpSubject):
        raise InputError("the models are about the rounding of one op, not about programs")
    _, filled = filled_models(subject.task, None, arguments.seed)
    write(coverage_table(filled) + "\n")
    return SUCCESS


# --- an old set -------------------------------------------------------------------------------------------------------


def _changed(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.vectors import metadata
    from halfulp.conformance.vectors.compare import changes, check_unaltered, digest_now
    from halfulp.conformance.vectors.formats import read_vectors
    from halfulp.conformance.vectors.recipe import recipe_of as recipe_of_document
    from halfulp.interp.ir.errors import InputError

    misplaced = [name for name in _MAKING if getattr(arguments, name) not in (None, False)]
    if misplaced:
        option = _SPELLED.get(misplaced[0], "--" + misplaced[0].replace("_", "-"))
        raise InputError(f"{option} says how vectors are made, which --changed takes from the metadata")
    if arguments.format not in (None, "jsonl"):
        raise InputError(f"--format={arguments.format}: with --changed, rows are told as text, or as jsonl")
    path = Path(arguments.changed)
    data = metadata.from_text(_read_bytes(path), str(path))
    recipe = recipe_of_document(data, str(path))
    given = arguments.subject
    parts = metadata.parts_of(data) if given is None else [metadata.of_file(data, Path(given).name)]
    if "shards" in parts[0]:
        raise InputError(f"{path}: '{given}' is none of the sweep's shards", hint="without a file, all are compared")
    compared, changed, missing, equal = 0, 0, 0, True
    for part in parts:
        beside = _data_file(path, part, given)
        if beside is None:
            missing += 1
            equal &= digest_now(part, recipe) == part["sha256"]
            continue
        file, format = beside
        columns, options = metadata.columns_of(part), metadata.options_of(part, file.name)
        with _opened(file) as first, _opened(file) as again:
            check_unaltered(part, read_vectors(first, format, columns, options), str(file))
            try:
                for change in changes(part, recipe, read_vectors(again, format, columns, options)):
                    write(_change_text(change, file.name if len(parts) > 1 else None, arguments.format) + "\n")
                    changed += 1
            except InputError as error:
                error.message = f"{file}: {error.message}"
                raise
        compared += part["count"]
    if missing:
        files = "no data file lies" if missing == len(parts) else f"{missing} of {len(parts)} shards do not lie"
        say(f"{files} beside it, so only digests can be compared: {'equal' if equal else 'they differ'}")
    if missing < len(parts):
        say(f"{changed} of {compared} vectors change")
    return SUCCESS if equal and not changed else DIFFERENT


def _change_text(change: Change, file: str | None, format: str | None) -> str:
    """A change as a line; ``file``: where its row is, if it is not clear."""
    if format == "jsonl":
        return json.dumps(({} if file is None else {"file": file}) | change.to_json())
    return str(change) if file is None else f"{file}: {change}"


def _read_bytes(path: Path) -> bytes:
    from halfulp.interp.ir.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None


def _opened(path: Path) -> Any:
    from halfulp.interp.ir.errors import InputError

    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None


def _data_file(path: Path, data: dict[str, Any], given: str | None) -> tuple[Path, str] | None:
    """The data file of a set and its format; None where none of them is there. Raises InputError."""
    from halfulp.conformance.vectors.formats import format_of_file
    from halfulp.interp.ir.errors import InputError

    files = [(file.get("name"), file["format"]) for file in data["files"]]
    if given is not None:
        named = [format for name, format in files if name == Path(given).name]
        guessed = format_of_file(given)
        formats = named or ([guessed.name] if guessed else [format for _, format in files])
        if not formats:
            raise InputError(f"{path}: nothing says of which format '{given}' is")
        return Path(given), formats[0]
    if any(Path(name).name != name for name, _ in files if name is not None):
        raise InputError(f"{path}: the metadata names files outside of its folder")
    there = [(path.with_name(name), format) for name, format in files if name is not None]
    return next(((file, format) for file, format in there if file.is_file()), None)
