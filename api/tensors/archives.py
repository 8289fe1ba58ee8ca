"""Tensors in zip archives: .npz files of NumPy, and files of torch.save, which are read without torch."""

from __future__ import annotations

import io
import pickletools
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import known_as
from halfulp.inputs import MAX_FILE_BYTES
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import code_layout
from halfulp.interp.values.coerce import as_type, natural_array, natural_dtypes, type_of_dtype
from halfulp.interp.values.value import Value
from halfulp.tensors.layouts import Entry, Stored, check_shape, container, value_of

# --- npy --------------------------------------------------------------------------------------------------------------


def holds_naturally(element: ty.Type) -> bool:
    """Tell whether a .npy file can hold an array of this element type: NumPy itself has its dtype, and not only
    ml_dtypes.
    """
    dtype = natural_dtypes().get(element)
    return dtype is not None and dtype.kind in "biuf" and dtype.isbuiltin == 1


def stored_array(value: Value) -> npt.NDArray[Any]:
    """Return the array that a .npy or .npz file gets: the elements in their dtype if such a file can store it, else the
    raw codes.
    """
    if code_layout(value.element_type)[0] == np.dtype(object):
        raise InputError(f"values of type '{value.type}' cannot be written to a file")
    return natural_array(value.element_type, value.bits) if holds_naturally(value.element_type) else value.bits


def npy_bytes(value: Value) -> bytes:
    """Return the bytes of a .npy file of a value. Raises InputError."""
    stream = io.BytesIO()
    np.save(stream, stored_array(value), allow_pickle=False)
    return stream.getvalue()


class _Header(NamedTuple):
    """The header of a .npy file. ``columns_first``: whether the first index is that of adjacent elements."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]
    length: int


def _npy_header(data: bytes | memoryview, path: str) -> _Header:
    """Read the header of a .npy file. Raise InputError for one that is malformed."""
    stream = io.BytesIO(data[:_LONGEST_HEADER])
    try:
        version = np.lib.format.read_magic(stream)
        read: Callable[..., Any] = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version, np.lib.format.read_array_header_2_0)
        shape, columns_first, dtype = read(stream)
        if any(size < 0 for size in shape):
            raise ValueError("negative dimensions are not allowed")
    except Exception as error:  # NumPy's parser of the header may raise many kinds of errors
        raise InputError(f"{path!r} is not a readable .npy file: {_first_line(error)}") from None
    return _Header(shape, columns_first, dtype, stream.tell())


# NumPy itself refuses a header of more than 10,000 bytes.
_LONGEST_HEADER = 1 << 16


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def read_npy(data: bytes | memoryview, path: str) -> npt.NDArray[Any]:
    """Read the array of a .npy file, as a view of the data where possible. Raise InputError for a file that is
    malformed, too short, or holds Python objects.
    """
    shape, columns_first, dtype, start = _npy_header(data, path)
    if dtype.hasobject:
        raise InputError(f"{path!r} holds Python objects (dtype {dtype}), which are never loaded")
    count = prod(shape)
    present, needed = len(data) - start, count * dtype.itemsize
    if present < needed:
        raise InputError(f"{path!r} is cut short: its header promises {needed} bytes of data, {present} are there")
    try:
        flat = np.frombuffer(data, dtype, count, start) if needed else np.zeros(count, dtype)
        array = np.require(flat.reshape(shape, order="F" if columns_first else "C"), requirements="A")
    except ValueError as error:
        raise InputError(f"{path!r} is not a readable .npy file: {_first_line(error)}") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


# --- zip --------------------------------------------------------------------------------------------------------------

_LOCAL = 30
"""The bytes of the header before each file, without its name and its extra field."""
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)


def _archive(data: memoryview) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(_View(data))
    except _ERRORS as error:
        raise InputError(f"it is not a readable zip archive: {_first_line(error)}") from None


class _View(io.RawIOBase):
    """A file in memory, of which nothing is copied before it is read."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        at = offset + (0, self._at, len(self._data))[whence]
        if at < 0:
            raise OSError("a place before the file")
        self._at = at
        return at

    def read(self, size: int | None = -1) -> bytes:
        # Not by readinto: the size may be what a damaged archive claims, and would be allocated first.
        end = len(self._data) if size is None or size < 0 else self._at + size
        part = bytes(self._data[self._at : end])
        self._at += len(part)
        return part


def _member(archive: zipfile.ZipFile, data: memoryview, row: zipfile.ZipInfo) -> memoryview:
    """Return the bytes of a member: a view of the archive if they are stored there as they are, without a check of
    their sum, else unpacked. Raise InputError for a damaged one, and for one of more than a gigabyte when unpacked.
    """
    if row.compress_type == zipfile.ZIP_STORED and not row.flag_bits & 1:
        header = bytes(data[row.header_offset : row.header_offset + _LOCAL])
        start = row.header_offset + _LOCAL + int.from_bytes(header[26:28], "little")
        start += int.from_bytes(header[28:30], "little")
        if header[:4] != b"PK\3\4" or start + row.file_size > len(data):
            raise InputError(f"its member {row.filename!r} is damaged")
        return data[start : start + row.file_size]
    if row.file_size > MAX_FILE_BYTES:
        raise InputError(f"its member {row.filename!r} is larger than {MAX_FILE_BYTES} bytes")
    parts, left = [], row.file_size
    try:
        with archive.open(row) as stream:
            # Part by part: what the header promises is not allocated before it is there.
            while part := stream.read(min(left, 1 << 20) + 1):
                parts.append(part)
                left -= len(part)
    except _ERRORS as error:
        raise InputError(f"its member {row.filename!r} cannot be read: {_first_line(error)}") from None
    if left:
        raise InputError(f"its member {row.filename!r} has {row.file_size - left} bytes, not {row.file_size}")
    return memoryview(b"".join(parts))


# --- npz --------------------------------------------------------------------------------------------------------------


def read_npz(data: memoryview) -> dict[str, Entry]:
    """Return the arrays of a .npz file. Raises InputError for a file that is not one."""
    archive = _archive(data)
    entries = {}
    for row in archive.infolist():
        if row.filename.endswith(".npy"):
            name = row.filename.removesuffix(".npy")
            if name in entries:
                raise InputError(f"two arrays have the name {name!r}")
            entries[name] = _array(archive, data, row, name)
    return entries


def _array(archive: zipfile.ZipFile, data: memoryview, row: zipfile.ZipInfo, name: str) -> Entry:
    try:
        with archive.open(row) as stream:
            shape, _, dtype, _ = _npy_header(stream.read(_LONGEST_HEADER), name)
    except _ERRORS as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"its member {row.filename!r} cannot be read: {_first_line(error)}") from None
    element = type_of_dtype(dtype.newbyteorder("="))
    type_ = None if element is None else container(shape, element)
    return Entry(dtype.name, type_, lambda: read_npy(_member(archive, data, row), name))


def write_npz(tensors: Mapping[str, Value]) -> bytes:
    """Return the bytes of a .npz file, always the same for the same values. Types that NumPy lacks are raw bits."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, value in tensors.items():
            # Without a time, a row of an archive has that of the start of 1980.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), npy_bytes(value))
    return stream.getvalue()


# --- torch ------------------------------------------------------------------------------------------------------------
#
# Source: `torch.serialization` and `torch._utils` of torch 2. A file is an archive with a pickle, whose tensors name
# members with their data. The pickle is not executed: the few opcodes that torch writes are followed here, and the few
# names that stand for tensors.

_TYPED = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
}  # fmt: skip
_PACKED_PAIRS = "float4_e2m1fn_x2"
_TENSORS = {"_rebuild_tensor_v2", "_rebuild_tensor_v3"}
_PARAMETERS = {"_rebuild_parameter", "_rebuild_parameter_with_state"}
_MOST_DEPTH = 64
_MOST_OBJECTS = 2_000_000
_MOST_PLACES = 100_000


@dataclass(frozen=True)
class _Name:
    """A name of Python in a pickle, which is never looked up."""

    module: str
    name: str


@dataclass(frozen=True)
class _Storage:
    """The data of a tensor: a member of the archive, and the type of its elements, None if the tensor says it."""

    key: str
    type: str | None


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    type: str


class _Opaque:
    """An object that is not a tensor, and has none."""


def read_torch(data: memoryview) -> dict[str, Entry]:
    """Return the tensors of a file of torch.save. In dictionaries and lists a name has the keys and positions on the
    way to the tensor, with points between. Raises InputError and Unsupported.
    """
    archive = _archive(data)
    rows = {row.filename.partition("/")[2]: row for row in archive.infolist()}
    if "data.pkl" not in rows:
        raise InputError("it has no data.pkl, which torch.save writes")
    if "byteorder" in rows and bytes(_member(archive, data, rows["byteorder"])) != b"little":
        raise Unsupported("its numbers have their highest bytes first")
    found = _Pickle(bytes(_member(archive, data, rows["data.pkl"]))).result()
    return {name: _torch_entry(name, tensor, archive, data, rows) for name, tensor in _named(found)}


def _named(found: Any) -> Iterator[tuple[str, _Tensor]]:
    """Return the tensors in dictionaries and lists, with their names, in order."""
    waiting: list[tuple[str, Any, int]] = [("", found, 0)]
    seen = 0
    while waiting:
        name, each, depth = waiting.pop()
        seen += 1
        # One object may be in many places, even in itself.
        if seen > _MOST_PLACES or depth > _MOST_DEPTH:
            raise InputError("its dictionaries and lists are nested too deep")
        if isinstance(each, _Tensor):
            yield name or "tensor", each
        elif isinstance(each, dict | list | tuple):
            pairs = list(each.items() if isinstance(each, dict) else enumerate(each))
            waiting += [
                (f"{name}.{key}" if name else str(key), part, depth + 1)
                for key, part in reversed(pairs)
                if isinstance(part, _Tensor | dict | list | tuple)
            ]


def _torch_entry(
    name: str, tensor: _Tensor, archive: zipfile.ZipFile, data: memoryview, rows: Mapping[str, zipfile.ZipInfo]
) -> Entry:
    row = rows.get(f"data/{tensor.storage.key}")
    if row is None:
        raise InputError(f"the data of the tensor {name!r} is not in the file")
    paired = tensor.type == _PACKED_PAIRS and tensor.shape
    try:
        spelling = known_as(tensor.type)
    except ValueError:
        spelling = None
    if spelling is None:
        return Entry(tensor.type, None, lambda: _refused(name, tensor.type))
    unsigned = spelling.startswith("ui")
    element = as_type(spelling.removeprefix("u"))
    stored = Stored(element, 4 if paired else -(-ty.width_of(element) // 8) * 8, unsigned)
    shape = (*tensor.shape[:-1], tensor.shape[-1] * 2) if paired else tensor.shape
    check_shape(shape, name)

    def read() -> Value:
        return _strided(_member(archive, data, row), tensor, shape, stored, name)

    return Entry(tensor.type, container(shape, element), read)


def _refused(name: str, type_: str) -> Value:
    raise Unsupported(f"the tensor {name!r} has elements of {type_[:40]}, for which halfulp has no type")


def _strided(data: memoryview, tensor: _Tensor, shape: tuple[int, ...], stored: Stored, name: str) -> Value:
    """Return the elements of a tensor, which may have any strides in its storage."""
    size = max(stored.bits, 8) // 8
    there, count = len(data) // size, prod(tensor.shape)
    last = tensor.offset + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.strides, strict=True))
    if count and (last >= there or count > there):
        why = "shares elements of its storage" if last < there else "ends after its storage"
        raise InputError(f"the tensor {name!r} {why}", hint="x.contiguous() before torch.save makes an ordinary one")
    words = np.frombuffer(data, f"<u{size}", there)[tensor.offset if count else 0 :]
    strides = tuple(stride * size for stride in tensor.strides)
    array = np.lib.stride_tricks.as_strided(words, tensor.shape, strides, writeable=False) if count else words[:0]
    return value_of(np.ascontiguousarray(array).reshape(-1).data.cast("B"), shape, stored)


class _Pickle:
    """What a pickle describes, followed without a call of anything that it names. Source: `pickletools`."""

    def __init__(self, data: bytes) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.data = data

    def result(self) -> Any:
        """Return the object at the end. Raise InputError for a pickle that is damaged, or of a kind that torch does not
        write.
        """
        try:
            for count, (opcode, argument, _) in enumerate(pickletools.genops(self.data)):
                if opcode.name == "STOP":
                    return self.stack[-1]
                if count > _MOST_OBJECTS:
                    raise InputError("its data.pkl has too many objects")
                self.step(opcode.name, argument)
        except InputError:
            raise
        except Exception as error:  # a damaged pickle may ask for anything
            raise InputError(f"its data.pkl is damaged: {_first_line(error)}") from None
        raise InputError("its data.pkl has no end")

    def step(self, name: str, argument: Any) -> None:
        """Follow one opcode."""
        stack = self.stack
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in _LITERALS:
            stack.append(argument)
        elif name in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name == "MARK":
            self.marks.append(len(stack))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack.append(tuple(self.popped(len(stack) - int(name[-1]))))
        elif name in _OF_MARKS:
            self.of_marks(name)
        elif name in ("APPEND", "SETITEM"):
            items = self.popped(len(stack) - (1 if name == "APPEND" else 2))
            self.put(items)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            module, attribute = argument.split(" ") if name == "GLOBAL" else self.popped(len(stack) - 2)
            stack.append(_Name(module, attribute))
        elif name == "BINPERSID":
            stack.append(_storage(stack.pop()))
        elif name in ("REDUCE", "NEWOBJ"):
            function, arguments = self.popped(len(stack) - 2)
            stack.append(_made(function, arguments))
        elif name == "BUILD":
            stack.pop()  # the attributes of an object, such as _metadata of a state_dict
        elif name not in ("PROTO", "FRAME"):
            raise InputError(f"its data.pkl has the opcode {name}, which weights do not need")

    def popped(self, start: int) -> list[Any]:
        """Remove the objects from ``start`` on from the stack, and return them."""
        if start < 0:
            raise IndexError("the stack is empty")
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def of_marks(self, name: str) -> None:
        """Follow an opcode that takes all objects since the last mark."""
        items = self.popped(self.marks.pop())
        if name == "TUPLE":
            self.stack.append(tuple(items))
        elif name in ("APPENDS", "SETITEMS"):
            self.put(items)

    def put(self, items: list[Any]) -> None:
        """Put items, or pairs of keys and items, into the object on top of the stack."""
        target = self.stack[-1]
        if isinstance(target, list):
            target += items
        elif isinstance(target, dict):
            target.update(zip(items[::2], items[1::2], strict=True))


_CONSTANTS: Mapping[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": _Opaque,
}
_LITERALS = {
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINSTRING", "SHORT_BINSTRING",
}  # fmt: skip
_OF_MARKS = {"TUPLE", "APPENDS", "SETITEMS", "ADDITEMS", "POP_MARK"}


def _storage(persistent: Any) -> _Storage:
    """Read ("storage", type, key, device, count)."""
    tag, kind, key, *_ = persistent
    if tag != "storage" or not isinstance(kind, _Name) or not isinstance(key, str):
        raise InputError("its data.pkl names data of an unknown kind")
    return _Storage(key, None if kind.name == "UntypedStorage" else _TYPED.get(kind.name, kind.name))


def _made(function: Any, arguments: Any) -> Any:
    """Return what a call in a pickle stands for: a tensor, a dictionary, or a small object beside tensors. Raise
    InputError for any other, as torch.load does with weights_only.
    """
    if not isinstance(function, _Name):
        raise InputError("its data.pkl calls what is no name")
    if function.module == "torch._utils" and function.name in _TENSORS:
        storage, offset, shape, strides, *more = arguments
        dtype = more[2] if function.name.endswith("3") else None
        type_ = dtype.name if isinstance(dtype, _Name) else storage.type
        if type_ is None or not all(isinstance(n, int) and n >= 0 for n in (offset, *shape, *strides)):
            raise InputError("a tensor in its data.pkl lacks its type, shape or strides")
        if len(shape) != len(strides):
            raise InputError("a tensor in its data.pkl has more sizes than strides, or fewer")
        return _Tensor(storage, offset, tuple(shape), tuple(strides), type_)
    if function.module == "torch._utils" and function.name in _PARAMETERS:
        return arguments[0]
    if function == _Name("collections", "OrderedDict"):
        return dict(arguments[0]) if arguments else {}
    if function in _PLAIN_OBJECTS:
        return _Opaque()
    raise InputError(
        f"its data.pkl makes an object of {function.module}.{function.name}, not only tensors",
        hint="torch.save(model.state_dict(), file) writes tensors alone",
    )


_PLAIN_OBJECTS = {
    _Name("torch", "Size"),
    _Name("torch", "device"),
    _Name("builtins", "set"),
    _Name("__builtin__", "set"),
}
