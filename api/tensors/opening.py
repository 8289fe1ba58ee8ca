"""Open files of tensors by name, and write them: `open_tensors` and `write_tensors`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean, how_to_install
from halfulp.inputs import as_value, write_file
from halfulp.interp.arrays.archives import read_npz, write_npz
from halfulp.interp.arrays.layouts import Entry, read_safetensors, write_safetensors
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.blobs import map_file
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported, prefixed
from halfulp.interp.values.value import Value
from halfulp.quantizing.packed import PackedBlocks
from halfulp.tensors.gguf import read_gguf
from halfulp.tensors.torch_files import read_torch

Found = Value | PackedBlocks | npt.NDArray[Any]


class Tensors(Mapping[str, Found]):
    """The tensors of a file by name. `open_tensors` makes it, and nothing is read before a name is asked for.

    A tensor is a `Value`, or `PackedBlocks` for a type of gguf with blocks. Where the file has the codes as halfulp
    keeps them, the value is a view of the mapped file, which must not change while the value is used. An array of a
    .npz file whose dtype no MLIR type has is an array of NumPy.

    ``path``: the file.
    """

    def __init__(self, path: str, entries: Mapping[str, Entry[Found]]) -> None:
        self.path = path
        self._entries = entries

    def __getitem__(self, name: str) -> Found:
        """Read a tensor. Raises InputError for a name that the file does not have, for a part that is damaged, and
        Unsupported for a type that halfulp does not have. It is no KeyError, so that a typing error has a hint.
        """
        found = self._entry(name)
        with prefixed(repr(self.path)):
            read = found.read()
        return Value.from_numpy(read, copy=False) if isinstance(read, np.ndarray) and found.type is not None else read

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def types(self) -> Mapping[str, ty.Type | None]:
        """The MLIR type of each tensor; for blocks, of the f32 numbers that they stand for; None for no such type."""
        return {name: entry.type for name, entry in self._entries.items()}

    @property
    def formats(self) -> Mapping[str, str]:
        """The type of each tensor as the file names it, such as "BF16" or "Q4_K"."""
        return {name: entry.format for name, entry in self._entries.items()}

    def given(self, name: str) -> Value | npt.NDArray[Any]:
        """Return a tensor as an input of a program: the numbers that blocks stand for; of ``NAME/scales``, the part of
        that name; the array itself of a .npz file. An empty name means the only tensor. Raises as `__getitem__` does.
        """
        if not name:
            if len(self) != 1:
                raise InputError(f"{self.path!r} has {len(self)} tensors: {self._some()}", hint=self._how(""))
            name = next(iter(self))
        whole, _, part = name.rpartition("/")
        if name not in self and whole in self and isinstance(blocks := self[whole], PackedBlocks):
            if part not in blocks.parts:
                raise InputError(f"{whole!r} has no {part!r}, but {', '.join(blocks.parts)}")
            return blocks.parts[part]
        with prefixed(repr(self.path)):
            found = self._entry(name).read()
        return found.dequantize() if isinstance(found, PackedBlocks) else found

    def _entry(self, name: str) -> Entry[Found]:
        found = self._entries.get(name)
        if found is None:
            message = f"{self.path!r} has no tensor {name!r}"
            raise InputError(message, hint=did_you_mean(name, self._entries) or f"it has {self._some()}")
        return found

    def _some(self) -> str:
        names = list(self._entries)
        return f"{', '.join(names[:5])}{', ...' * (len(names) > 5)}" or "none"

    def _how(self, name: str) -> str | None:
        return f"write @{self.path}:{next(iter(self), 'NAME')}"

    def __repr__(self) -> str:
        rows = [(name, entry.format, str(entry.type or "")) for name, entry in self._entries.items()]
        widths = [max((len(row[k]) for row in rows[:_MOST_SHOWN]), default=0) for k in range(2)]
        lines = [f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows[:_MOST_SHOWN]]
        more = [f"  and {len(rows) - _MOST_SHOWN:,} more"] if len(rows) > _MOST_SHOWN else []
        return "\n".join([f"{self.path}: {len(rows):,} tensors", *lines, *more])


_MOST_SHOWN = 40


def open_tensors(path: str | os.PathLike[str]) -> Tensors:
    """Open a file of tensors, and return a `Tensors`, a mapping from their names to values.

    ``path``: a file of safetensors, or the ``.safetensors.index.json`` of several; a .gguf file of ggml; a .npz file of
    NumPy; a file of torch.save (.pt, .pth), which is read without torch and whose code is never executed; an .arrow,
    .feather or .parquet file, whose columns are the tensors, if pyarrow is installed.

        weights = hu.open_tensors("model.safetensors")
        weights.types, hu.quantize_blocks(weights["layers.0.up.weight"], recipe="nvfp4")

    The file is mapped into memory, and only headers are read before a tensor is asked for. A name without a known
    ending is recognised by the first bytes. Raises InputError for a file that cannot be read, or is damaged;
    Unsupported for a kind of file that halfulp does not read.
    """
    name = os.fspath(path)
    if name.endswith(_INDEX):
        return _shards(name)
    if name.lower().endswith(_TABLES):
        with prefixed(repr(name)):
            return Tensors(name, _columns(name))
    data = map_file(path)
    with prefixed(repr(name)):
        return Tensors(name, _reader(name, data)(data))


_INDEX = ".safetensors.index.json"
_TABLES = (".arrow", ".feather", ".parquet")
_READERS: Mapping[str, Callable[[memoryview], Mapping[str, Entry[Found]]]] = {
    ".safetensors": read_safetensors,
    ".gguf": read_gguf,
    ".npz": read_npz,
    ".pt": read_torch,
    ".pth": read_torch,
}
ENDINGS = (*_READERS, _INDEX, *_TABLES)
"""The ends of names of files that `open_tensors` reads."""
_NAMED = re.compile(
    rf"(.*?(?:{'|'.join(map(re.escape, sorted(ENDINGS, key=len, reverse=True)))}))(?::(.*))?", re.I | re.S
)


def split_name(text: str) -> tuple[str, str] | None:
    """Split ``FILE:NAME``, where ``:NAME`` may be absent, if the file is one that `open_tensors` reads; else None."""
    found = _NAMED.fullmatch(text)
    return None if found is None else (found[1], found[2] or "")


def _reader(name: str, data: memoryview) -> Callable[[memoryview], Mapping[str, Entry[Found]]]:
    """Return the reader of a file by the end of its name, or else by its first bytes."""
    ending = Path(name).suffix.lower()
    if ending in _READERS:
        return _READERS[ending]
    start = bytes(data[:16])
    if start[:4] == b"GGUF":
        return read_gguf
    if start[:4] == b"PK\3\4":
        return read_torch if b"/data.pkl" in bytes(data[:4096]) else read_npz
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= len(data):
        return read_safetensors
    if start[:6] == b"\x93NUMPY":
        raise Unsupported("it is one array without a name", hint=f"np.load({name!r})")
    raise Unsupported(f"it is of an unknown kind; hu.open_tensors reads {', '.join(ENDINGS)}")


def _shards(path: str) -> Tensors:
    """Open the files that an index of safetensors names, which lie beside it."""
    with prefixed(repr(path)):
        try:
            found = json.loads(bytes(map_file(path)).decode("utf-8"))
            places = {str(name): str(file) for name, file in found["weight_map"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"it is not an index of safetensors: {error}") from None
        files = {file: Path(file) for file in places.values()}
        if outside := next((file for file in files.values() if file.name != str(file)), None):
            raise InputError(f"it names {str(outside)!r}, which is not beside it")
    opened = {file: open_tensors(Path(path).parent / file) for file in files}
    entries = {}
    for name, file in places.items():
        if name not in opened[file]:
            raise InputError(f"{path!r}: the tensor {name!r} is not in {file!r}")
        entries[name] = opened[file]._entries[name]
    return Tensors(path, entries)


# --- columns ----------------------------------------------------------------------------------------------------------


def _columns(path: str) -> Mapping[str, Entry[Found]]:
    """Return the columns of numbers of an arrow, feather or parquet file. pyarrow reads them, which is optional."""
    try:
        pyarrow: Any = import_module("pyarrow")
        ipc: Any = import_module("pyarrow.ipc")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise Unsupported("pyarrow reads this kind of file", hint=how_to_install("arrow")) from None
    failures = (pyarrow.ArrowException, OSError, ValueError)
    try:
        if path.lower().endswith(".parquet"):
            file = parquet.ParquetFile(path, memory_map=True)
            schema: Any = file.schema_arrow
            read: Callable[[str], Any] = lambda name: file.read(columns=[name]).column(0)  # noqa: E731
        else:
            table = ipc.open_file(pyarrow.memory_map(path)).read_all()
            schema, read = table.schema, table.column
        fields = [(field.name, field.type) for field in schema]
    except failures as error:
        raise InputError(f"pyarrow cannot read it: {str(error).splitlines()[0]}") from None
    if len({name for name, _ in fields}) != len(fields):
        raise InputError("two columns have one name")

    def array(name: str) -> npt.NDArray[Any]:
        try:
            column = read(name)
            if column.null_count:
                raise InputError(f"the column {name!r} has {column.null_count} empty rows")
            whole = column.combine_chunks()
            if pyarrow.types.is_fixed_size_list(whole.type):
                flat = whole.flatten()
                return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(whole), whole.type.list_size)
            return np.asarray(whole.to_numpy(zero_copy_only=False))
        except failures as error:
            if isinstance(error, HalfulpError):
                raise
            raise InputError(f"the column {name!r} cannot be read: {str(error).splitlines()[0]}") from None

    return {name: Entry(str(type_), _type_of_column(type_), partial(array, name)) for name, type_ in fields}


_COLUMNS = {"halffloat": "f16", "float": "f32", "double": "f64", "bool": "i1"}
_INTEGERS = re.compile(r"u?int(8|16|32|64)")


def _type_of_column(type_: Any) -> ty.Type | None:
    """Return the type of a column: its numbers of rows are read later; None for texts and the like."""
    inner = getattr(type_, "value_type", type_)
    integer = _INTEGERS.fullmatch(str(inner))
    spelled = f"i{integer[1]}" if integer else _COLUMNS.get(str(inner))
    if spelled is None:
        return None
    element = ty.IntegerType(int(spelled[1:])) if spelled[0] == "i" else ty.F(spelled)
    return ty.TensorType((None, type_.list_size) if hasattr(type_, "list_size") else (None,), element)


# --- writing ----------------------------------------------------------------------------------------------------------

_WRITERS: Mapping[str, Callable[[Mapping[str, Value]], bytes]] = {
    ".safetensors": write_safetensors,
    ".npz": write_npz,
}


def is_written(path: str) -> bool:
    """Tell whether `write_tensors` writes files of this name."""
    return path.lower().endswith(tuple(_WRITERS))


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Any]) -> None:
    """Write tensors by name to a .safetensors or .npz file, completely or not at all.

    ``tensors``: names, and values or arrays of any kind. safetensors takes floats of 4 to 64 bits, integers of 8, 16,
    32 and 64, i1 and complex<f32>. .npz takes every type; what NumPy lacks is written as raw bits.

        hu.write_tensors("golden.safetensors", {"y": hu.convert(x, "f8E4M3FN")})

    Raises InputError for another ending, a type that the format lacks, and a file that cannot be written; TypeMismatch
    for poison, which neither format can hold, and for what `Value.from_numpy` does not take.
    """
    if not isinstance(tensors, Mapping):
        hint = 'hu.write_tensors("y.safetensors", {"y": v}): the file comes first'
        raise TypeMismatch(f"tensors is of type {type(tensors).__name__}, but must be a dict of names", hint=hint)
    values = {}
    for name, given in tensors.items():
        if isinstance(given, PackedBlocks):
            hint = "write its parts, or the f32 numbers of x.dequantize()"
            raise TypeMismatch(f"{name}: blocks of {given.format} cannot be written", hint=hint)
        value = as_value(given, what=name)
        if value.poison is not None:
            hint = "fill it: v.numpy(poison=…)"
            raise TypeMismatch(f"{name} has poison, which no file of tensors can hold", hint=hint)
        values[name] = value
    write_archive(os.fspath(path), values)


def write_archive(path: str, values: Mapping[str, Value]) -> None:
    """Write values to a file, with their bits where they are poison. Raises as `write_tensors` does."""
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(f"{path!r} must end in {' or '.join(_WRITERS)}")
    write_file(path, _WRITERS[ending](values))
