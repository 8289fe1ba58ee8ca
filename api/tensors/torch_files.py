"""Files of torch.save, which are read without torch.

Source: `torch.serialization` and `torch._utils` of torch 2. A file is an archive with a pickle, whose tensors name
members with their data. The pickle is not executed: the few opcodes that torch writes are followed here, and the few
names that stand for tensors.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats.aliases import known_as
from halfulp.interp.arrays.archives import first_line, member_of, open_archive
from halfulp.interp.arrays.layouts import Entry, Stored, check_shape, container, value_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value

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


def read_torch(data: memoryview) -> dict[str, Entry[Value]]:
    """Return the tensors of a file of torch.save. In dictionaries and lists a name has the keys and positions on the
    way to the tensor, with points between. Raises InputError and Unsupported.
    """
    archive = open_archive(data)
    rows = {row.filename.partition("/")[2]: row for row in archive.infolist()}
    if "data.pkl" not in rows:
        raise InputError("it has no data.pkl, which torch.save writes")
    if "byteorder" in rows and bytes(member_of(archive, data, rows["byteorder"])) != b"little":
        raise Unsupported("its numbers have their highest bytes first")
    found = _Pickle(bytes(member_of(archive, data, rows["data.pkl"]))).result()
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
) -> Entry[Value]:
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
        return _strided(member_of(archive, data, row), tensor, shape, stored, name)

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
            raise InputError(f"its data.pkl is damaged: {first_line(error)}") from None
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
        raise InputError("its data.pkl calls an object that is not a name")
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
