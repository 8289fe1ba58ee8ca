"""Sets of vectors made by recipes and written: to a stream, or as whole files with their metadata in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Chunk, Role, VectorSet
from halfulp.conformance.vectors.computation import OpSubject, ProgramSubject
from halfulp.conformance.vectors.formats import format_named
from halfulp.conformance.vectors.formats.format import Carried, Options, Unmarked, Written
from halfulp.conformance.vectors.formats.mlir import function_of_program, function_of_task
from halfulp.conformance.vectors.packing import CONTAINERS
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.interp.ir.errors import InputError

Progress = Callable[[int, int], object]
"""Told how many rows are done, and of how many."""


@dataclass(frozen=True)
class Order:
    """A set that is wanted: its recipe and the formats of its files.

    All files hold the same columns, so that they have one digest: those that every format has a place for. ``options``:
    of the formats; what ``mlir`` needs is added. ``unmarked``: what becomes of poison and open bits without a column.
    ``any_nan``: a checker is to accept any NaN where a result is one.
    """

    recipe: Recipe
    formats: tuple[str, ...]
    options: Options = field(default_factory=Options)
    unmarked: Unmarked = "refuse"
    any_nan: bool = False

    @property
    def carried(self) -> frozenset[Role]:
        """The roles that every format has a place for."""
        return carried_by(self.formats)

    def suffix(self, format: str) -> str:
        """How the file of a format ends."""
        return format_named(format).suffix


def carried_by(formats: Sequence[str]) -> frozenset[Role]:
    """The roles that all of some formats have a place for. Raises InputError for an unknown format."""
    return frozenset(Role).intersection(*(format_named(name).carries for name in formats))


@dataclass
class Made:
    """A set that was written: its columns, rows and digest, rows with undefined behaviour left out, anchors."""

    written: Written
    undefined: int
    anchors: list[metadata.Document]


def write_stream(order: Order, format: str, file: BinaryIO, progress: Progress | None = None) -> Made:
    """Compute the set, and write it in one of its formats, in constant memory.

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
    return Made(carried.written, undefined, anchors.rows())


def _told(chunks: Iterator[Chunk], count: int, progress: Progress | None) -> Iterator[Chunk]:
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk[0])
        if progress is not None:
            progress(min(done, count), count)


def _function(recipe: Recipe) -> str:
    subject = recipe.subject
    if isinstance(subject, OpSubject):
        return function_of_task(subject.task)
    assert isinstance(subject, ProgramSubject)
    if not subject.scalars:
        raise InputError(f"the format 'mlir' checks functions of scalars, and '@{subject.function}' is none")
    return function_of_program(subject.text, subject.function)


def document(order: Order, made: Made, names: Sequence[str | None]) -> metadata.Document:
    """The metadata of a set whose files, one per format, have these names (None: a pipe)."""
    recipe, subject, blocks = order.recipe, order.recipe.subject, order.options.blocks
    files = [
        metadata.File(format, name, order.options.packing if format == "bin" else CONTAINERS)
        for format, name in zip(order.formats, names, strict=True)
    ]
    return metadata.document(
        made.written,
        files,
        subject.source(),
        subject.profile,
        recipe.inputs(),
        unmarked=order.unmarked,
        anchors=made.anchors,
        any_nan=order.any_nan,
        blocks=blocks,
        undefined=made.undefined,
        diverging=metadata.divergences_of_task(subject.task) if isinstance(subject, OpSubject) else (),
    )


def write_folder(order: Order, folder: Path, progress: Progress | None = None) -> Made:
    """Write the set into a folder, which is made if need be: a file per format, and the metadata, NAME.json.

    All have names of their own until they are whole. Then the metadata of an earlier set goes, the data files get their
    names, the metadata last: so metadata never lies beside data that it is not about. Raises InputError where a file
    cannot be written, and what `write_stream` raises; nothing half-written is left, but by a kill.
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
    """Files in a folder that get their names together, in this order, once all are written; the last one, which says
    that the others are there, is removed before. Raises InputError naming the file that cannot be written.
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
            with suppress(OSError):  # it holds what was written, unless that failed
                folder.rmdir()


@contextmanager
def _cannot_write(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write into '{folder}': {error.strerror or error}") from None
