"""A set of vectors in shards, each computed from the recipe and its index alone: in any order, anywhere, again after a
kill at any moment.

A directory holds one sweep. ``sweep.json`` says which (`Plan.to_json`); each process that works on it appends to a
manifest of its own, ``manifest-I-of-N.jsonl``, a line per shard; a shard's file is written under a temporary name and
then renamed to one made of its index and its content's digest. When all shards are there, ``metadata.json`` describes
the whole, and of tables of runs ``sweep.runs`` is the whole.

The digest of a sweep is the SHA-256 of its shards' digests (`columns.Digest`, in hexadecimal), in the order of their
index, separated by line feeds: it depends neither on who computed them nor when.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import secrets
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, BinaryIO

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet
from halfulp.conformance.vectors.computation import OpSubject
from halfulp.conformance.vectors.formats import format_named, write_vectors
from halfulp.conformance.vectors.formats.format import Carried, Options, Unmarked, Written
from halfulp.conformance.vectors.formats.runs import Table, check_unary, merge
from halfulp.conformance.vectors.metadata import (
    LOOKED_AT,
    MERGED,
    METADATA,
    Anchors,
    Document,
    File,
    divergences_of_task,
    document,
    to_text,
    whole_digest,
)
from halfulp.conformance.vectors.packing import CONTAINERS, Packing
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.semantics.profile import SEMANTICS_VERSION, profile_choices

if sys.platform != "win32":
    import fcntl

SHARD_ROWS = 1 << 24

LAYOUT_VERSION = 1
"""Raised whenever a directory of another layout cannot be gone on with."""

LAYOUT = "sweep.json"
"""The file that says what a directory is a sweep of."""

NO_SHARDS = ("mlir",)
"""Formats that no sweep is written in: a program of millions of calls is of use to nobody."""

_CHECK_DIGITS = 16

_MANIFEST = re.compile(r"manifest-([0-9]+)-of-([0-9]+)\.jsonl")
_TEMPORARY = re.compile(r"\.(?P<owner>[0-9]+-of-[0-9]+)\.(?P<name>[^/]+)\.[0-9a-f]+\.tmp")

Progress = Callable[[int, int], object]
Tell = Callable[[str], object]


# --- what is to be made -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Which vectors, cut into shards of about ``shard_rows`` rows, in which format.

    ``unmarked``, ``packing``: as `formats.write_vectors` takes them. Can be pickled. Raises InputError for a format
    that has no shards, and what the recipe's rows raise.
    """

    recipe: Recipe
    format: str = "npz"
    unmarked: Unmarked = "refuse"
    packing: Packing = CONTAINERS
    shard_rows: int = SHARD_ROWS

    def __post_init__(self) -> None:
        if self.format in NO_SHARDS:
            raise InputError(f"a sweep is not written in the format '{self.format}'")
        # What the format has no place for is refused before anything is computed.
        if self.format == "runs":
            check_unary(self.columns)
        _ = self.columns, self.shards

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (self.recipe, self.format, self.unmarked, self.packing, self.shard_rows)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the files hold."""
        return self._carried(VectorSet(self.recipe.columns, ())).written.columns

    def _carried(self, vectors: VectorSet) -> Carried:
        return Carried(vectors, format_named(self.format), self.unmarked)

    @property
    def _size(self) -> int:
        """Rows of a shard: whole periods."""
        return max(self.shard_rows // self.recipe.step, 1) * self.recipe.step

    @cached_property
    def shards(self) -> int:
        """How many shards there are."""
        return -(-self.recipe.rows.count // self._size)

    def rows(self, index: int) -> tuple[int, int]:
        """The rows of a shard: the first, and the one behind the last."""
        return index * self._size, min((index + 1) * self._size, self.recipe.rows.count)

    def rows_of_part(self, place: int, of: int) -> int:
        """The rows of all shards of a part: of every ``of`` the one at ``place``."""
        indices = range(place, self.shards, of)
        missing = self.shards * self._size - self.recipe.rows.count
        return len(indices) * self._size - (missing if self.shards - 1 in indices else 0)

    def file_name(self, index: int, sha256: str) -> str:
        """What the file of a shard is called whose bytes have this digest."""
        return f"{index:0{len(str(self.shards - 1))}d}-{sha256[:32]}{format_named(self.format).suffix}"

    def to_json(self) -> Document:
        """All that a directory's sweep must have in common with another one to go on with it."""
        profile = self.recipe.subject.profile
        return {
            "layout_version": LAYOUT_VERSION,
            "generator": dict(zip(("version", "semantics_version"), generator(), strict=True)),
            "source": self.recipe.subject.source(),
            "profile": {"name": profile.name, "fields": {name: getattr(profile, name) for name in profile_choices()}},
            "inputs": self.recipe.inputs().to_json(),
            "format": self.format,
            "poison": self.unmarked,
            "packing": self.packing.to_json(),
            "rows": self.recipe.rows.count,
            "shard_rows": self._size,
            "shards": self.shards,
        }


def generator() -> tuple[str, int]:
    """The version of halfulp and that of its semantics."""
    return version("halfulp"), SEMANTICS_VERSION


@dataclass(frozen=True)
class Entry:
    """A line of the manifest: what is known of a shard that was made. ``rows``: the first, and the one behind the last;
    ``count``: how many the file has, without those ``dropped`` for what the format cannot say, and without those that
    have undefined behaviour. ``sha256``: the digest of its columns, ``file_sha256``: that of the file's ``size`` bytes.
    """

    index: int
    rows: tuple[int, int]
    count: int
    dropped: int
    sha256: str
    file: str
    size: int
    file_sha256: str

    def to_json(self) -> Document:
        """The entry as the metadata holds it."""
        return {**asdict(self), "rows": list(self.rows)}

    def to_line(self) -> bytes:
        """The entry as a manifest holds it: with a check of its own, since nothing else tells a wrong ``sha256``."""
        return json.dumps({**self.to_json(), "check": self._check}).encode() + b"\n"

    @property
    def _check(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()[:_CHECK_DIGITS]

    @classmethod
    def of_line(cls, line: bytes, plan: Plan) -> Entry:
        """The entry of a line. Raises ValueError for what is none, or none of this plan."""
        data = json.loads(line)
        numbers = ("index", "count", "dropped", "size")
        if not isinstance(data, dict) or any(type(data.get(key)) is not int for key in numbers):
            raise ValueError("no entry of a shard")
        check = data.pop("check", None)
        try:
            entry = cls(**{**data, "rows": tuple(data["rows"])})
        except (KeyError, TypeError):
            raise ValueError("no entry of a shard") from None
        if not 0 <= entry.index < plan.shards or entry.rows != plan.rows(entry.index):
            raise ValueError(f"no shard {entry.index} of these rows belongs to the sweep")
        for digest in (entry.sha256, entry.file_sha256):
            if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
                raise ValueError(f"{digest!r} is no digest")
        if entry.file != plan.file_name(entry.index, entry.file_sha256):
            raise ValueError(f"{entry.file!r} is not the name of such a file")
        if check != entry._check:
            raise ValueError("its check is that of another line")
        return entry


# --- files ------------------------------------------------------------------------------------------------------------


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Turn errors of the operating system into those of halfulp, which name the directory."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write in '{directory}': {error.strerror or error}") from error


@contextmanager
def _temporary(directory: Path, owner: str, name: str) -> Iterator[Path]:
    """A path that no other process has, and that is gone afterwards unless it was renamed."""
    path = directory / f".{owner}.{name}.{secrets.token_hex(6)}.tmp"
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _closed(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _put(directory: Path, owner: str, name: str, write: Callable[[BinaryIO], object]) -> None:
    """Write a file as a whole or not at all."""
    with _writing(directory), _temporary(directory, owner, name) as path:
        with path.open("wb") as file:
            write(file)
            _closed(file)
        path.replace(directory / name)


def _lock(file: IO[bytes]) -> bool:
    """Have a file for this process until it is closed; False where another one has it. The kernel gives back what a
    killed process had.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_PATIENCE = 20
"""Tenths of a second that a manifest is waited for: so long `tidy` of another process may have it."""


def manifest_name(owner: str) -> str:
    """The file of the process that makes the part ``I-of-N``."""
    return f"manifest-{owner}.jsonl"


class Manifest:
    """The manifest that one process appends to, and nobody else while it does. A torn last line is taken away.

    Raises InputError where another process has it.
    """

    def __init__(self, directory: Path, owner: str, plan: Plan) -> None:
        self._directory = directory
        with _writing(directory):
            self._file = (directory / manifest_name(owner)).open("ab")
        try:
            self._wait()
            _, self._size = _entries(directory / manifest_name(owner), plan)
            with _writing(directory):
                self._file.truncate(self._size)
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        for _ in range(_PATIENCE):
            if _lock(self._file):
                return
            time.sleep(0.1)
        raise InputError(f"another process is at work on this part of the sweep in '{self._directory}'")

    def append(self, entry: Entry) -> None:
        """Note a shard for good. Where the disk is full nothing of the line stays."""
        line = entry.to_line()
        with _writing(self._directory):
            try:
                self._file.write(line)
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError:
                os.truncate(self._file.fileno(), self._size)
                raise
        self._size += len(line)

    def close(self) -> None:
        """Let others have it. What could not be written was taken away, and is not tried again."""
        with suppress(OSError):
            self._file.close()


def _entries(path: Path, plan: Plan) -> tuple[list[Entry], int]:
    """The entries of a manifest, and the bytes that they take; what comes after the last line feed was not finished."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    entries = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            entries.append(Entry.of_line(line, plan))
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}:{number}: the manifest is corrupt: {error}",
                hint="without this line its shard is made again",
            ) from None
    return entries, len(whole)


def recorded(directory: Path, plan: Plan) -> dict[int, Entry]:
    """What all manifests of a directory know of its shards, by their index.

    Raises InputError for a corrupt manifest, and where two say different things of a shard.
    """
    known: dict[int, Entry] = {}
    for path in sorted(directory.iterdir()):
        if not _MANIFEST.fullmatch(path.name):
            continue
        for entry in _entries(path, plan)[0]:
            if known.setdefault(entry.index, entry).sha256 != entry.sha256:
                raise InputError(f"{path}: another digest of shard {entry.index} than elsewhere in '{directory}'")
            known[entry.index] = entry
    return known


def tidy(directory: Path) -> None:
    """Remove the temporary files of processes that are no more.

    Those have a manifest that nobody is at work on; or none, where an interrupt came before their first shard was made:
    only the layout is written before there is a manifest.
    """
    with _writing(directory):
        left = [(found, path) for path in directory.iterdir() if (found := _TEMPORARY.fullmatch(path.name))]
        for owner in {found["owner"] for found, _ in left}:
            mine = [(found["name"], path) for found, path in left if found["owner"] == owner]
            try:
                with (directory / manifest_name(owner)).open("rb") as file:
                    if _lock(file):
                        _remove(path for _, path in mine)
            except FileNotFoundError:
                _remove(path for name, path in mine if name != LAYOUT)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _take(directory: Path, plan: Plan) -> None:
    """Raise InputError where a directory holds another sweep."""
    path = directory / LAYOUT
    wanted = plan.to_json()
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        if any(_MANIFEST.fullmatch(other.name) for other in directory.iterdir()):
            raise InputError(f"'{directory}' has manifests, but no {LAYOUT} that says of what") from None
        return
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: not the layout of a sweep")
    # What was written has been through JSON.
    for key, value in json.loads(json.dumps(wanted)).items():
        other = data.get(key)
        if other == value:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            inner = next(k for k in (*value, *other) if value.get(k) != other.get(k))
            key, value, other = f"{key}.{inner}", value.get(inner), other.get(inner)
        raise InputError(
            f"'{directory}' holds another sweep: its '{key}' is {_brief(other)}, not {_brief(value)}",
            hint="give another directory with --out",
        )


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _begin(directory: Path, owner: str, plan: Plan) -> None:
    """Write the layout where there is none, unless another process is quicker; and see that it is this one.

    It is there before any manifest is: a directory never has one that nobody knows the meaning of.
    """
    _take(directory, plan)
    if not (directory / LAYOUT).exists():
        with _writing(directory), _temporary(directory, owner, LAYOUT) as path:
            with path.open("wb") as file:
                file.write(to_text(plan.to_json()).encode())
                _closed(file)
            try:
                os.link(path, directory / LAYOUT)
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                path.replace(directory / LAYOUT)
    _take(directory, plan)


# --- one shard --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """A shard that is there. ``kept``: it was before. ``fault``: what was wrong with the file that was recorded."""

    entry: Entry
    kept: bool = False
    fault: str | None = None


def _fault(directory: Path, entry: Entry) -> str | None:
    """What is wrong with the file of an entry; None where it is as recorded."""
    try:
        with (directory / entry.file).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.size:
                return f"has {size} bytes instead of {entry.size}"
            return None if hashlib.file_digest(file, "sha256").hexdigest() == entry.file_sha256 else "is corrupt"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def make_shard(
    plan: Plan,
    directory: Path,
    owner: str,
    index: int,
    known: Entry | None = None,
    tick: Callable[[int], object] = lambda rows: None,
) -> Made:
    """A shard, made unless its file is as recorded. ``tick`` is told how many of its rows are done, again and again.

    Raises InputError where the file cannot be written or the rows not be said, and where a recorded shard comes out
    otherwise than before.
    """
    fault = None
    if known is not None:
        fault = _fault(directory, known)
        if fault is None:
            return Made(known, kept=True)
    start, stop = plan.rows(index)
    vectors = VectorSet(plan.recipe.columns, _ticking(plan.recipe.chunks(start, stop), tick))
    options = Options(name=f"vectors_{index}", packing=plan.packing)
    try:
        with _writing(directory), _temporary(directory, owner, str(index)) as path:
            with path.open("w+b") as file:
                written = write_vectors(vectors, file, plan.format, plan.unmarked, options)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = os.fstat(file.fileno()).st_size
                _closed(file)
            entry = Entry(
                index=index,
                rows=(start, stop),
                count=written.count,
                dropped=written.dropped,
                sha256=written.digest,
                file=plan.file_name(index, digest),
                size=size,
                file_sha256=digest,
            )
            if known is not None and known.sha256 != entry.sha256:
                raise InputError(
                    f"the manifest has the digest {known.sha256}, but it comes out as {entry.sha256}",
                    hint="the manifest is corrupt, or this machine computes something else",
                )
            path.replace(directory / entry.file)
            if known is not None and known.file != entry.file:
                (directory / known.file).unlink(missing_ok=True)
    except HalfulpError as error:
        error.message = f"shard {index} (rows {start} to {stop - 1}): {error.message}"
        raise
    return Made(entry, fault=fault)


def _ticking(chunks: Iterable[Chunk], tick: Callable[[int], object]) -> Iterator[Chunk]:
    rows = 0
    for chunk in chunks:
        yield chunk
        rows += len(chunk[0])
        tick(rows)


@lru_cache(maxsize=4)
def _unpickled(plan: bytes) -> Plan:
    """A plan, made once per process: its tables of operands may take a while."""
    loaded: Plan = pickle.loads(plan)
    return loaded


def _make_elsewhere(
    made_by: tuple[str, int], plan: bytes, directory: str, owner: str, index: int, known: Entry | None
) -> Made:
    if made_by != generator():
        raise InputError(f"a worker has version {generator()} of halfulp and its semantics, not {made_by}")
    return make_shard(_unpickled(plan), Path(directory), owner, index, known)


# --- all shards -------------------------------------------------------------------------------------------------------


@dataclass
class Swept:
    """How far a sweep is. ``done``: shards that are there, ``of`` how many; ``kept``: those of this process's part that
    were there before. When all are: ``rows`` and the ``digest`` of the whole, and of tables of runs how many ``runs``.
    """

    of: int
    done: int = 0
    kept: int = 0
    rows: int = 0
    digest: str | None = None
    runs: int | None = None


def sweep_shards(
    plan: Plan,
    directory: str | os.PathLike[str],
    part: tuple[int, int] = (0, 1),
    executor: Executor | None = None,
    in_flight: int = 4,
    progress: Progress = lambda done, total: None,
    tell: Tell = lambda text: None,
) -> Swept:
    """Make the shards of a plan in a directory that are not there yet, and finish the whole if it can be.

    ``part``: (i, n), of every n shards the one at place i, so that n processes share a directory. ``executor``: who
    computes, else this thread; at most ``in_flight`` shards are asked of it at once. ``progress`` is told of rows,
    ``tell`` of what a person should know. Whoever computes must see the directory under the same path.

    Raises InputError for a directory that holds another sweep, is being worked on or cannot be written, a corrupt
    manifest, a worker that died, and what the vectors raise. Whatever is raised, shards that were made are kept.
    """
    place, of = part
    if not 0 <= place < of:
        raise InputError(f"there is no part {place} of {of}: parts are counted from 0")
    where, owner = Path(directory).absolute(), f"{place}-of-{of}"
    fresh = not where.exists()
    with _writing(where):
        where.mkdir(parents=True, exist_ok=True)
    _begin(where, owner, plan)
    tidy(where)
    manifest = Manifest(where, owner, plan)
    try:
        known = recorded(where, plan)
        found = Swept(plan.shards)
        todo = ((index, known.get(index)) for index in range(place, plan.shards, of))
        total, rows = plan.rows_of_part(place, of), 0

        def ticked(more: int) -> None:
            progress(rows + more, total)

        with closing(_made(plan, where, owner, todo, executor, in_flight, ticked)) as shards:
            for made in shards:
                if executor is not None:
                    _see(where, made.entry)
                if known.get(made.entry.index) != made.entry:
                    manifest.append(made.entry)
                if made.fault is not None:
                    tell(f"shard {made.entry.index}: its file {made.fault}; it was made again")
                found.kept += made.kept
                rows += made.entry.rows[1] - made.entry.rows[0]
                progress(rows, total)
        _finish(plan, where, owner, found)
        return found
    except BaseException:
        if of == 1:
            _withdraw(where, owner, plan, fresh)
        raise
    finally:
        manifest.close()


def _withdraw(directory: Path, owner: str, plan: Plan, fresh: bool) -> None:
    """Let a directory in which nothing was made be free for another sweep; ``fresh``: it was made for this one."""
    with suppress(OSError, HalfulpError):
        others = [path for path in directory.iterdir() if _MANIFEST.fullmatch(path.name)]
        if others == [directory / manifest_name(owner)] and not recorded(directory, plan):
            (directory / LAYOUT).unlink()
            others[0].unlink()
            if fresh:
                directory.rmdir()


def _see(directory: Path, entry: Entry) -> None:
    """Raise InputError where a worker wrote into a directory of another machine."""
    try:
        size = (directory / entry.file).stat().st_size
    except OSError:
        size = None
    if size != entry.size:
        raise InputError(
            f"a worker has written {entry.file}, but it is not in '{directory}' here",
            hint="all workers must see the directory under this path",
        )


def _made(
    plan: Plan,
    directory: Path,
    owner: str,
    todo: Iterator[tuple[int, Entry | None]],
    executor: Executor | None,
    in_flight: int,
    ticked: Callable[[int], object],
) -> Generator[Made, None, None]:
    """The shards, as they get done. After a failure those under way are waited for; the first shard's is raised."""
    if executor is None:
        for index, known in todo:
            yield make_shard(plan, directory, owner, index, known, ticked)
        return
    pickled = pickle.dumps(plan)
    # Shards are begun in order, so that the first one that fails is the same whoever is quicker.
    failures: dict[int, Exception | CancelledError] = {}
    running: dict[Future[Made], int] = {}
    try:
        while True:
            while not failures and len(running) < in_flight and (asked := next(todo, None)) is not None:
                future = executor.submit(_make_elsewhere, generator(), pickled, str(directory), owner, *asked)
                running[future] = asked[0]
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index = running.pop(future)
                try:
                    made = future.result()
                except (Exception, CancelledError) as error:
                    failures[index] = error
                else:
                    yield made
    except BrokenExecutor as error:  # of submit
        failures[-1] = error
    except GeneratorExit:
        # Not at an interrupt: a pool whose processes are ended then stumbles over futures that were cancelled.
        for future in running:
            future.cancel()
        raise
    if not failures:
        return
    failure = failures[min(failures)]
    if isinstance(failure, BrokenExecutor | CancelledError):
        raise InputError(
            "a worker was ended from outside, perhaps for want of memory",
            hint="what was finished is kept: the same command goes on with the rest",
        ) from failure
    raise failure


# --- the whole --------------------------------------------------------------------------------------------------------


def _finish(plan: Plan, directory: Path, owner: str, found: Swept) -> None:
    """Describe the whole where all shards are there. Whoever does it writes the same."""
    entries = recorded(directory, plan)
    found.done = len(entries)
    if found.done < plan.shards:
        return
    ordered = [entries[index] for index in range(plan.shards)]
    for entry in ordered:
        _see(directory, entry)
    found.rows = sum(entry.count for entry in ordered)
    found.digest = whole_digest(entry.sha256 for entry in ordered)
    if plan.format == "runs":
        _put(directory, owner, MERGED, lambda file: setattr(found, "runs", _merged(plan, directory, ordered, file)))
    text = to_text(_document(plan, ordered, found))
    _put(directory, owner, METADATA, lambda file: file.write(text.encode()))


def _merged(plan: Plan, directory: Path, ordered: Iterable[Entry], file: BinaryIO) -> int:
    def tables() -> Iterator[Table]:
        for entry in ordered:
            path = directory / entry.file
            with path.open("rb") as part:
                yield Table(part, plan.columns, Options(file=str(path)))

    return merge(tables(), plan.columns, file)


def _document(plan: Plan, ordered: list[Entry], found: Swept) -> Document:
    """The metadata of the whole, with its shards."""
    assert found.digest is not None
    subject = plan.recipe.subject
    dropped = sum(entry.dropped for entry in ordered)
    names = [MERGED] if plan.format == "runs" else [entry.file for entry in ordered]
    return document(
        Written(plan.columns, found.rows, dropped, found.digest),
        [File(plan.format, name, plan.packing) for name in names],
        subject.source(),
        subject.profile,
        plan.recipe.inputs(),
        unmarked=plan.unmarked,
        anchors=_anchors(plan, ordered),
        diverging=divergences_of_task(subject.task) if isinstance(subject, OpSubject) else (),
        undefined=plan.recipe.rows.count - found.rows - dropped,
    ) | {"shards": [entry.to_json() for entry in ordered]}


_QUARTERS = 4


def _anchors(plan: Plan, ordered: list[Entry]) -> list[Document]:
    """Rows that a person can check, from the beginning, shards on the way, and the end; computed again."""
    count, step = plan.recipe.rows.count, plan.recipe.step
    few = -(-LOOKED_AT // step) * step
    total = sum(entry.count for entry in ordered)
    begins = [plan.rows(len(ordered) * k // _QUARTERS) for k in range(_QUARTERS)] if ordered else []
    parts = [(start, min(start + few, stop)) for start, stop in dict.fromkeys(begins)]
    parts.append((max(count - few, parts[-1][1] if parts else 0), count))
    # Where each part begins among the rows that are looked at, and among all that were written.
    places: list[tuple[int, int]] = []
    looked = 0

    def chunks() -> Iterator[Chunk]:
        nonlocal looked
        for start, stop in parts:
            made = list(plan._carried(plan.recipe.vectors(start, stop)).set())
            rows = sum(len(chunk[0]) for chunk in made)
            before = sum(entry.count for entry in ordered if entry.rows[1] <= start)
            places.append((looked, total - rows if stop == count else before))
            yield from made
            looked += rows

    anchors = Anchors(plan.columns)
    for _ in anchors.watch(chunks()):
        pass
    told = []
    for row in anchors.rows():
        local, base = max(place for place in places if place[0] <= row["row"])
        told.append({**row, "row": row["row"] - local + base})
    return told
