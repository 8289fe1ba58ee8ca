"""Files of vectors that are compressed: gzip (``.gz``) and Zstandard (``.zst``), read and written as streams.

Python has gzip. Zstandard is in Python from 3.14 on, or in the package ``zstandard``. What is read has a bound, as a
small file may expand to more than any disk holds.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, BinaryIO, cast

from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported

MARKS = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
"""The endings of compressed files, and the bytes that such a file begins with."""

MOST_EXPANDED = 1 << 34
"""The most bytes that are read from a compressed file: 16 GiB."""


def plain_name(name: str) -> str:
    """Return the name of a file without the ending of a compressed one."""
    return next((name.removesuffix(ending) for ending in MARKS if name.endswith(ending)), name)


def is_compressed(head: bytes) -> bool:
    """Tell from the first bytes of a file whether it is compressed."""
    return any(head.startswith(mark) for mark in MARKS.values())


def expanded(file: BinaryIO, head: bytes, name: str) -> BinaryIO:
    """Return the content of a compressed file as a stream that cannot seek. ``head``: the first bytes, which were
    already read from ``file``.

    Reading the stream raises InputError for a broken file, and beyond `MOST_EXPANDED` bytes. The call raises
    Unsupported for Zstandard without a package for it.
    """
    source: Any = gzip.GzipFile(fileobj=file) if head.startswith(MARKS[".gz"]) else _from_zstandard(file, name)
    return cast("BinaryIO", io.BufferedReader(_Bounded(source, name), 1 << 20))


@contextmanager
def compressing(file: BinaryIO, ending: str, name: str) -> Iterator[BinaryIO]:
    """A context manager that gives a stream; what is written to it is compressed and written to ``file``. ``ending``:
    ``.gz``, ``.zst``, or empty for no compression.

    The same bytes give the same file. Raises Unsupported for Zstandard without a package for it.
    """
    if not ending:
        yield file
        return
    sink: Any = (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) if ending == ".gz" else _to_zstandard(file, name)
    )
    with sink:
        yield cast("BinaryIO", _Sink(sink))


def _to_zstandard(file: BinaryIO, name: str) -> Any:
    module = _package(name)
    return module.ZstdFile(file, "wb") if hasattr(module, "ZstdFile") else module.open(file, "wb", closefd=False)


def _from_zstandard(file: BinaryIO, name: str) -> Any:
    module = _package(name)
    return module.ZstdFile(file, "rb") if hasattr(module, "ZstdFile") else _Frames(file, module.ZstdDecompressor())


def _package(name: str) -> Any:
    for module in ("compression.zstd", "zstandard"):
        try:
            return import_module(module)
        except ImportError:
            continue
    raise Unsupported(
        f"{name}: a file compressed by Zstandard needs the package zstandard, or Python 3.14",
        hint="pip install zstandard, or compress by gzip",
    )


PIECE = 1 << 10
"""The compressed bytes that are expanded at once: few, because they may be a million times as many afterwards."""


class _Frames:
    """The content of a file compressed by Zstandard, read by the package zstandard. Its own reader takes the end of the
    file as the end of the content, also within a frame.
    """

    def __init__(self, file: BinaryIO, package: Any) -> None:
        self._file, self._package = file, package
        self._frame: Any = None
        self._given, self._made = b"", b""

    def read(self, size: int) -> bytes:
        """Return up to so many bytes; none at the end. Raises EOFError for a file that ends within a frame."""
        while not self._made:
            self._given = self._given or self._file.read(PIECE)
            if not self._given:
                if self._frame is not None:
                    raise EOFError("it ends before its content does")
                return b""
            self._frame = self._frame or self._package.decompressobj()
            self._made = self._frame.decompress(self._given)
            self._given = self._frame.unused_data if self._frame.eof else b""
            self._frame = None if self._frame.eof else self._frame
        made, self._made = self._made[:size], self._made[size:]
        return made


class _Sink(io.RawIOBase):
    """A stream that is only written forward: gzip would say that it can seek."""

    def __init__(self, sink: IO[bytes]) -> None:
        super().__init__()
        self._sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._sink.write(data)


class _Bounded(io.RawIOBase):
    """A stream of expanded bytes, with a bound."""

    def __init__(self, source: IO[bytes], name: str) -> None:
        super().__init__()
        self._source, self._name, self._read = source, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._source.read(len(buffer))
        except HalfulpError:
            raise
        except Exception as error:  # gzip, zlib and packages for Zstandard each have their own
            raise InputError(f"{self._name}: the compressed file is broken: {error}") from None
        self._read += len(data)
        if self._read > MOST_EXPANDED:
            raise InputError(
                f"{self._name}: the compressed file expands to more than {MOST_EXPANDED >> 30} GiB",
                hint="expand it yourself, and give it to the standard input",
            )
        buffer[: len(data)] = data
        return len(data)
