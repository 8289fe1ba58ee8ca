"""Make sets of vectors by recipes and write them: to a stream, or as whole files with their metadata in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Chunk, Role, VectorSet
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.formats import format_named
from halfulp.conformance.vectors.formats.format import Carried, Options, Written
from halfulp.conformance.vectors.formats.mlir import function_of_case, function_of_program
from halfulp.conformance.vectors.names import Unmarked
from halfulp.conformance.vectors.packing import CONTAINERS
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.interp.ir.errors import InputError

Progress = Callable[[int, int], object]
"""A function that is told the number of finished rows, and of all rows."""


@dataclass(frozen=True)
class Order:
    """A set to make: its recipe and the formats of its files.

    All files hold the same columns, those that every format has a place for, so that they have one digest. ``options``:
    of the formats; the options of ``mlir`` are added. ``unmarked``: the treatment of poison and unspecified bits
    without a column. ``any_nan``: a checker accepts any NaN where a result is one.
    """

    recipe: Recipe
    formats: tuple[str, ...]
    options: Options = field(default_factory=Options)
    unmarked: Unmarked = "refuse"
    any_nan: bool = False

    @property
    def carried(self) -> frozenset[Role]:
        """Return the roles that every format has a place for."""
        return carried_by(self.formats)

    def suffix(self, format: str) -> str:
        """Return the ending of the file of a format."""
        return format_named(format).suffix


def carried_by(formats: Sequence[str]) -> frozenset[Role]:
    """Return the roles that all of some formats have a place for. Raises InputError for an unknown format."""
    return frozenset(Role).intersection(*(format_named(name).carries for name in formats))


@dataclass
class ProducedSet:
    """A set that was written: its columns, rows and digest, the number of rows left out for undefined behaviour, its
    anchors.
    """

    written: Written
    undefined: int
    anchors: list[metadata.Document]


def write_stream(order: Order, format: str, file: BinaryIO, progress: Progress | None = None) -> ProducedSet:
    """Compute the set and write it in one of its formats, in constant memory.

    Raises InputError for rows and columns that the format has no place for, and the errors of the operands.
    """
    recipe, chosen = order.recipe, format_named(format)
    undefined = 0

    def left_out(rows: int) -> None:
        nonlocal undefined
        undefined += rows

    anchors = metadata.Anchors(recipe.columns)
    chunks = anchors.watch(_told(recipe.chunks(left_out=left_out), recipe.rows.count, progress))
    carried = Carried(VectorSet(recipe.columns, chunks), replace(chosen, carries=order.carried), order.unmarked)
    options = order.options
    if format == "mlir":
        options = replace(options, function=_function(recipe))
    chosen.write(carried.set(), file, options)
    return ProducedSet(carried.written, undefined, anchors.rows())


def _told(chunks: Iterator[Chunk], count: int, progress: Progress | None) -> Iterator[Chunk]:
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk[0])
        if progress is not None:
            progress(min(done, count), count)


def _function(recipe: Recipe) -> str:
    computation = recipe.computation
    if isinstance(computation, OpComputation):
        unwritten = computation.case.unwritten()
        if unwritten is not None:
            raise InputError(f"the format 'mlir' calls the op, but {unwritten}")
        return function_of_case(computation.case)
    if isinstance(computation, TileComputation):
        raise InputError("the format 'mlir' calls an op or a function, and a tile operation is neither")
    assert isinstance(computation, ProgramComputation)
    if not computation.scalars:
        raise InputError(f"the format 'mlir' checks functions of scalars, and '@{computation.function}' is not one")
    return function_of_program(computation.text, computation.function)


def document(order: Order, made: ProducedSet, names: Sequence[str | None]) -> metadata.Document:
    """Return the metadata of a set whose files, one per format, have these names (None: a pipe)."""
    recipe, computation, blocks = order.recipe, order.recipe.computation, order.options.blocks
    files = [
        metadata.VectorFile(format, name, order.options.packing if format == "bin" else CONTAINERS)
        for format, name in zip(order.formats, names, strict=True)
    ]
    return metadata.document(
        made.written,
        files,
        computation.source(),
        computation.profile,
        recipe.inputs(),
        unmarked=order.unmarked,
        anchors=made.anchors,
        any_nan=order.any_nan,
        blocks=blocks,
        undefined=made.undefined,
        diverging=metadata.divergences_of_case(computation.case) if isinstance(computation, OpComputation) else (),
    )


def write_folder(order: Order, folder: Path, progress: Progress | None = None) -> ProducedSet:
    """Write the set into a folder, which is made if needed: a file per format, and the metadata, NAME.json.

    Files have temporary names until they are complete. Then the metadata of an earlier set is removed, the data files
    get their names, and the metadata last: so metadata never describes other data. Raises InputError where a file
    cannot be written, and what `write_stream` raises. Nothing half-written is left, except after a kill.
    """
    name = order.options.name
    names = [name + order.suffix(format) for format in order.formats]
    with whole_files(folder, [*names, f"{name}.json"]) as files:
        sets = [
            write_stream(order, format, file, progress) for format, file in zip(order.formats, files[:-1], strict=True)
        ]
        if len({made.written.digest for made in sets}) > 1:
            raise RuntimeError("two files of one set have different digests")
        files[-1].write(metadata.to_text(document(order, sets[0], names)).encode())
    return sets[0]


@contextmanager
def whole_files(folder: Path, names: Sequence[str]) -> Iterator[list[BinaryIO]]:
    """Write files of a folder that get their names together, in this order, once all are written. The last one marks
    the set as complete, so its old version is removed before. Raises InputError naming the file that cannot be written.
    """
    partial = [folder / f".{name}.{os.getpid()}.tmp" for name in names]
    open_files: list[BinaryIO] = []
    was_there = folder.exists()
    with _cannot_write(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, path in zip(names, partial, strict=True):
            if (folder / name).is_dir():
                raise InputError(f"cannot write '{folder / name}': it is a folder")
            with _cannot_write(folder):
                open_files.append(path.open("wb"))
        with _cannot_write(folder):
            yield open_files
            for file in open_files:
                file.close()
            (folder / names[-1]).unlink(missing_ok=True)
            for name, path in zip(names, partial, strict=True):
                path.replace(folder / name)
    finally:
        for file in open_files:
            with suppress(OSError):
                file.close()
        for path in partial:
            with suppress(OSError):
                path.unlink()
        if not was_there:
            with suppress(OSError):  # it holds the written data, unless writing failed
                folder.rmdir()


@contextmanager
def _cannot_write(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write into '{folder}': {error.strerror or error}") from None
