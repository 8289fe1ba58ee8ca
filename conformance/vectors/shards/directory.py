"""The directory of a sweep: its layout, and the manifests of the processes that work on it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import IO, BinaryIO

from halfulp.conformance.files import json_of, open_new, open_to_append, open_to_read, read_whole, temporary_name
from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.computation import PickledByFields
from halfulp.conformance.vectors.formats import format_named
from halfulp.conformance.vectors.formats.format import SetInFormat
from halfulp.conformance.vectors.formats.runs import check_unary
from halfulp.conformance.vectors.metadata import Document, described_profile, to_text
from halfulp.conformance.vectors.packing import CONTAINERS, NO_SHARDS, Packing, Unmarked
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats.spelling import shortened
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.semantics import SEMANTICS_VERSION

# --- plan -------------------------------------------------------------------------------------------------------------
#
# The plan of a sweep: its vectors, and how they are cut into shards.

MOST_ROWS = 1 << 24
"""Most rows of a shard whose size nobody chose: its file stays small enough to be copied and checked."""

LAYOUT_VERSION = 2
"""Version of the layout of a directory; a sweep cannot continue in a directory of another version."""


@dataclass(frozen=True)
class SweepPlan(PickledByFields):
    """The vectors of a sweep, their format, and how they are cut into shards.

    ``unmarked``, ``packing``: as in `formats.write_vectors`. ``shard_rows``: the least number of rows in a shard, which
    has 1, 2, 4, 8 ... whole leaves of the hash tree over the set; None until it is decided (`sized`). ``leaf_rows``:
    the rows of a leaf, those of the recipe unless given; another number gives another digest. A plan can be pickled.
    Raises InputError for a format without shards, and what the recipe's rows raise.
    """

    recipe: Recipe
    format: str = "npz"
    unmarked: Unmarked = "refuse"
    packing: Packing = CONTAINERS
    shard_rows: int | None = None
    leaf_rows: int | None = None

    def __post_init__(self) -> None:
        if self.format in NO_SHARDS:
            raise InputError(f"a sweep cannot be written in the format '{self.format}'")
        # Refuse columns that the format has no place for before computing anything.
        if self.format == "runs":
            check_unary(self.columns)
        _ = self.columns, self.recipe.rows

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns that the files hold."""
        return self.carried(VectorSet(self.recipe.columns, ())).written.columns

    def carried(self, vectors: VectorSet) -> SetInFormat:
        """Return the vectors as the format of the plan carries them."""
        return SetInFormat(vectors, format_named(self.format), self.unmarked)

    @property
    def leaf(self) -> int:
        """Return the number of rows of a leaf of the hash tree, in whole periods."""
        step = self.recipe.step
        return self.recipe.leaf_rows if self.leaf_rows is None else max(self.leaf_rows // step, 1) * step

    @property
    def size(self) -> int:
        """Return the number of rows of a shard; the last one may have fewer. Raises ValueError if it is not decided."""
        if self.shard_rows is None:
            raise ValueError("it is not decided how many rows a shard of this plan has")
        size, most = self.leaf, max(self.recipe.rows.count, 1)
        while size < min(self.shard_rows, most):
            size *= 2
        return size

    def sized(self, shard_rows: int) -> SweepPlan:
        """Return the plan with shards of at least this many rows."""
        return replace(self, shard_rows=shard_rows)

    @cached_property
    def shards(self) -> int:
        """Return the number of shards."""
        return -(-self.recipe.rows.count // self.size)

    def rows(self, index: int) -> tuple[int, int]:
        """Return the rows of a shard: the first, and the one after the last."""
        return index * self.size, min((index + 1) * self.size, self.recipe.rows.count)

    def rows_of_part(self, place: int, of: int) -> int:
        """Return the number of rows in a part of the shards: shard ``place``, and every ``of``-th shard after it."""
        indices = range(place, self.shards, of)
        missing = self.shards * self.size - self.recipe.rows.count
        return len(indices) * self.size - (missing if self.shards - 1 in indices else 0)

    def file_name(self, index: int, sha256: str) -> str:
        """Return the name of the file of a shard whose bytes have this digest."""
        return f"{index:0{len(str(self.shards - 1))}d}-{sha256[:32]}{format_named(self.format).suffix}"

    def to_json(self) -> Document:
        """Return everything that must be the same for a sweep to continue in a directory."""
        return {
            "layout_version": LAYOUT_VERSION,
            "generator": dict(zip(("version", "semantics_version"), generator(), strict=True)),
            "source": self.recipe.computation.source(),
            "profile": described_profile(self.recipe.computation.profile),
            "inputs": self.recipe.inputs(),
            "format": self.format,
            "poison": self.unmarked,
            "packing": self.packing.to_json(),
            "rows": self.recipe.rows.count,
            "leaf_rows": self.leaf,
            "shard_rows": self.size,
            "shards": self.shards,
        }


def generator() -> tuple[str, int]:
    """Return the version of halfulp and that of its semantics."""
    return version("halfulp"), SEMANTICS_VERSION


# --- files ------------------------------------------------------------------------------------------------------------
#
# Files that are written completely or not at all, and locks that one process holds at a time.

if sys.platform != "win32":
    import fcntl


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """A context manager that turns errors of the operating system into an InputError that names the directory."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write in '{directory}': {error.strerror or error}") from error


@contextmanager
def temporary_path(directory: Path, owner: str, name: str) -> Iterator[Path]:
    """A context manager that gives a path which only this process uses. At its end the file is removed, unless it was
    renamed.
    """
    path = temporary_name(directory / name, f"{owner}.")
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def flush_and_close(file: IO[bytes]) -> None:
    """Close a file after the operating system has written all of it."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def put_file(directory: Path, owner: str, name: str, write: Callable[[BinaryIO], object]) -> None:
    """Write a file in a directory, completely or not at all. ``write``: writes its content."""
    with writing(directory), temporary_path(directory, owner, name) as path:
        with open_new(path) as file:
            write(file)
            flush_and_close(file)
        path.replace(directory / name)


_NO_LOCKS = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL})
"""What file systems without locks say: Lustre without the option ``flock``, and NFS without a server for locks."""


def lock(file: IO[bytes], shared: bool = False) -> bool | None:
    """Lock a file until it is closed; return False if another process has the lock, and None if the file system has no
    locks. The kernel releases the locks of a killed process.

    ``shared``: only ask whether another process has it. This is for files that are open for reading, which NFS cannot
    lock otherwise.
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


# --- directory --------------------------------------------------------------------------------------------------------

LAYOUT = "sweep.json"
"""The file that describes the sweep of a directory."""

_CHECK_DIGITS = 16

_MANIFEST = re.compile(r"manifest-([0-9]+)-of-([0-9]+)\.jsonl")

_TEMPORARY = re.compile(r"\.(?P<owner>[0-9]+-of-[0-9]+)\.(?P<name>[^/]+)\.[0-9a-f]+\.tmp")


@dataclass(frozen=True)
class ShardEntry:
    """A line of the manifest: a shard that was made. ``rows``: the first row, and the one after the last; ``count``:
    the number of rows in the file, which lacks the ``dropped`` rows that the format cannot hold, and those with
    undefined behaviour. ``sha256``: the root of the hash tree over the leaves of the shard; ``file_sha256``: the digest
    of the file's ``size`` bytes. ``leaves``: the rows of each leaf, if rows were left out.
    """

    index: int
    rows: tuple[int, int]
    count: int
    dropped: int
    sha256: str
    file: str
    size: int
    file_sha256: str
    leaves: tuple[int, ...] = ()

    def to_json(self) -> Document:
        """Return the entry as the metadata holds it."""
        data = {**asdict(self), "rows": list(self.rows), "leaves": list(self.leaves)}
        return data if self.leaves else {key: value for key, value in data.items() if key != "leaves"}

    def to_line(self) -> bytes:
        """Return the entry as a line of a manifest, with a checksum: nothing else would show a wrong ``sha256``."""
        return json.dumps({**self.to_json(), "check": self._check}).encode() + b"\n"

    @property
    def _check(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()[:_CHECK_DIGITS]

    @classmethod
    def of_line(cls, line: bytes, plan: SweepPlan) -> ShardEntry:
        """Return the entry of a line. Raises ValueError for a malformed line, and for an entry of another plan."""
        data = json.loads(line)
        numbers = ("index", "count", "dropped", "size")
        if not isinstance(data, dict) or any(type(data.get(key)) is not int for key in numbers):
            raise ValueError("not an entry of a shard")
        check = data.pop("check", None)
        try:
            entry = cls(**{**data, "rows": tuple(data["rows"]), "leaves": tuple(data.get("leaves", ()))})
        except (KeyError, TypeError):
            raise ValueError("not an entry of a shard") from None
        if not 0 <= entry.index < plan.shards or entry.rows != plan.rows(entry.index):
            raise ValueError(f"the sweep has no shard {entry.index} of these rows")
        if entry.leaves and sum(entry.leaves) != entry.count:
            raise ValueError(f"its leaves do not have {entry.count} rows")
        for digest in (entry.sha256, entry.file_sha256):
            if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
                raise ValueError(f"{digest!r} is not a digest")
        if entry.file != plan.file_name(entry.index, entry.file_sha256):
            raise ValueError(f"{entry.file!r} is not the name of this file")
        if check != entry._check:
            raise ValueError("its checksum does not match")
        return entry


_PATIENCE = 20
"""Tenths of a second to wait for a manifest: `tidy` of another process may hold it that long."""


def manifest_name(owner: str) -> str:
    """Return the file name of the manifest for part ``I-of-N``."""
    return f"manifest-{owner}.jsonl"


class Manifest:
    """The manifest that one process appends to, locked against all others. An incomplete last line is removed.

    Raises InputError if another process holds it.
    """

    def __init__(self, directory: Path, owner: str, plan: SweepPlan) -> None:
        self._directory = directory
        with writing(directory):
            self._file = open_to_append(directory / manifest_name(owner))
        try:
            self._wait()
            _, self._size = _entries(directory / manifest_name(owner), plan)
            with writing(directory):
                self._file.truncate(self._size)
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        for _ in range(_PATIENCE):
            if lock(self._file) is not False:
                return
            time.sleep(0.1)
        raise InputError(f"another process works on this part of the sweep in '{self._directory}'")

    def append(self, entry: ShardEntry) -> None:
        """Append a shard durably. If the disk is full, nothing of the line stays."""
        line = entry.to_line()
        with writing(self._directory):
            try:
                self._file.write(line)
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError:
                os.truncate(self._file.fileno(), self._size)
                raise
        self._size += len(line)

    def close(self) -> None:
        """Release the manifest. What could not be written was removed, and is not written again."""
        with suppress(OSError):
            self._file.close()


def _entries(path: Path, plan: SweepPlan) -> tuple[list[ShardEntry], int]:
    """Return the entries of a manifest, and the bytes that they take; anything after the last line feed is
    incomplete.
    """
    data = read_whole(path)
    whole = data[: data.rfind(b"\n") + 1]
    entries = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            entries.append(ShardEntry.of_line(line, plan))
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}:{number}: the manifest is corrupt: {error}",
                hint="remove this line, and the shard is made again",
            ) from None
    return entries, len(whole)


def recorded(directory: Path, plan: SweepPlan) -> dict[int, ShardEntry]:
    """Return the shards that the manifests of a directory record, by their index.

    Raises InputError for a corrupt manifest, and if two manifests contradict each other.
    """
    known: dict[int, ShardEntry] = {}
    for path in sorted(directory.iterdir()):
        if not _MANIFEST.fullmatch(path.name):
            continue
        for entry in _entries(path, plan)[0]:
            if known.setdefault(entry.index, entry).sha256 != entry.sha256:
                raise InputError(
                    f"{path}: the digest of shard {entry.index} differs from another manifest in '{directory}'"
                )
            known[entry.index] = entry
    return known


def tidy(directory: Path, own: str | None = None) -> None:
    """Remove the temporary files of processes that have ended.

    Such a process left a manifest that no process has locked; or no manifest, if it ended before its first shard, when
    it had only written the layout. ``own``: the part whose manifest this process has locked; nothing else runs for it
    now. On a file system without locks, nobody knows whether another process has ended, and its files stay.
    """
    with writing(directory):
        left = [(found, path) for path in directory.iterdir() if (found := _TEMPORARY.fullmatch(path.name))]
        begun = (directory / LAYOUT).exists()
        for owner in {found["owner"] for found, _ in left}:
            mine = [(found["name"], path) for found, path in left if found["owner"] == owner]
            if owner == own:
                _remove(path for _, path in mine)
                continue
            try:
                with open_to_read(directory / manifest_name(owner)) as file:
                    if lock(file, shared=True):
                        _remove(path for _, path in mine)
            except FileNotFoundError:
                _remove(path for name, path in mine if name != LAYOUT or begun)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def sized_as_in(directory: Path, plan: SweepPlan) -> SweepPlan | None:
    """Return a plan with the shards of the sweep in a directory; None if there is no sweep.

    Raises InputError if the directory holds another sweep.
    """
    path = directory / LAYOUT
    try:
        data = json_of(read_whole(path), str(path), "give another directory with --out")
    except FileNotFoundError:
        if directory.exists() and any(_MANIFEST.fullmatch(other.name) for other in directory.iterdir()):
            raise InputError(f"'{directory}' has manifests, but no {LAYOUT} that describes them") from None
        return None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not the layout of a sweep")
    if plan.shard_rows is None:
        rows = data.get("shard_rows")
        plan = plan.sized(rows if isinstance(rows, int) else 0)
    wanted = plan.to_json()
    # The written layout went through JSON.
    for key, value in json.loads(json.dumps(wanted)).items():
        other = data.get(key)
        if other == value:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            inner = next(k for k in (*value, *other) if value.get(k) != other.get(k))
            key, value, other = f"{key}.{inner}", value.get(inner), other.get(inner)
        found, asked = (shortened(json.dumps(each), 60) for each in (other, value))
        raise InputError(
            f"'{directory}' holds another sweep: its '{key}' is {found}, not {asked}",
            hint="give another directory with --out",
        )
    return plan


def begin_layout(directory: Path, owner: str, plan: SweepPlan, shard_rows: Callable[[], int]) -> SweepPlan:
    """Write the layout of a sweep, unless this or another process has written it. Return the plan with its shards.

    ``shard_rows``: gives the size of shards if the plan does not, and the directory has no sweep. The layout exists
    before any manifest: a directory never has a manifest of unknown meaning. Raises InputError if it is that of another
    sweep.
    """
    found = sized_as_in(directory, plan)
    if found is not None:
        return found
    mine = plan if plan.shard_rows is not None else plan.sized(shard_rows())
    with writing(directory), temporary_path(directory, owner, LAYOUT) as path:
        _write_layout(path, mine)
        try:
            os.link(path, directory / LAYOUT)
        except OSError:
            if not (directory / LAYOUT).exists():
                # A file system without links: of several processes the last one wins, so all of them write the same.
                _write_layout(path, plan if plan.shard_rows is not None else plan.sized(MOST_ROWS))
                path.replace(directory / LAYOUT)
    found = sized_as_in(directory, plan)
    assert found is not None
    return found


def _write_layout(path: Path, plan: SweepPlan) -> None:
    with path.open("wb") as file:
        file.write(to_text(plan.to_json()).encode())
        flush_and_close(file)


def free_directory(directory: Path, owner: str, plan: SweepPlan, fresh: bool) -> None:
    """Make a directory that has no shards available for another sweep: remove its layout. ``fresh``: the directory was
    made for this sweep, and is removed too.
    """
    with suppress(OSError, HalfulpError):
        others = [path for path in directory.iterdir() if _MANIFEST.fullmatch(path.name)]
        if others == [directory / manifest_name(owner)] and not recorded(directory, plan):
            (directory / LAYOUT).unlink()
            others[0].unlink()
            if fresh:
                directory.rmdir()
