"""Measure a function in a shared library, in a process of its own: ``./lib.so:expf``."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from halfulp.conformance.accuracy.implementations import library_child
from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable
from halfulp.conformance.oracles.tool import run_bounded
from halfulp.fp_formats.codes import Codes, code_shape, codes_to_ints, limb_count, storage_dtype
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of

FORMS = ("float", "codes", "array")
SECONDS = 60.0
_BYTES = {"f16": 4, "bf16": 4, "f32": 4, "f64": 8, "f80": 16}
_MISSING = 3


class Library:
    """A symbol of a shared library; the types of the question give its signature.

    ``form``: ``float``: the C types ``_Float16``, ``__bf16``, ``float``, ``double`` and ``long double``, one value for
    each operand; ``codes``: unsigned integers that hold the codes of any type of up to 64 bits, such as
    ``uint16_t f(uint16_t)``; ``array``: ``void f(const T *x, …, T *result, size_t count)``.
    """

    version = "unknown"

    def __init__(self, path: str, symbol: str, form: str = "float", seconds: float = SECONDS) -> None:
        if not Path(path).is_file():
            raise Unavailable(f"{path} does not exist")
        self.name = f"{path}:{symbol}" + (f":{form}" if form != "float" else "")
        self._path, self._symbol, self._form, self._seconds = str(Path(path).resolve()), symbol, form, seconds

    def refuses(self, asked: Question) -> str | None:
        """Refuse types that C functions take in no register, unless the form passes their codes."""
        types = (*asked.operand_types, ty.FloatType(asked.result))
        if self._form == "float":
            strange = next((type_ for type_ in types if str(type_) not in _BYTES), None)
            if strange is not None:
                return f"C has no {strange} to pass: write {self.name}:codes for a function on unsigned integers"
        if self._form == "codes" and max(map(width_of, types)) > 64:
            return f"a function on codes takes at most 64 bits: write {self._path}:{self._symbol}:array"
        return None

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Call the symbol for each element in a child process.

        Raises OracleError: "refusal" if there is no such symbol, "crash" and "hang" with the argument.
        """
        types = (*asked.operand_types, ty.FloatType(asked.result))
        count, width = len(operands[0]), asked.result.bits
        with TemporaryDirectory(prefix="halfulp-library-") as folder:
            home = Path(folder)
            for k, (codes, type_) in enumerate(zip(operands, types, strict=False)):
                _passed(codes, str(type_), self._form).tofile(home / f"operand{k}")
            (home / "place").write_bytes(bytes(8))
            kinds: list[Any] = [str(t) if self._form == "float" else _size(t) for t in types]
            told = {
                "library": self._path,
                "symbol": self._symbol,
                "form": self._form,
                "kinds": kinds,
                "count": count,
                "bytes": _size(types[-1]),
                "operands": [str(home / f"operand{k}") for k in range(len(operands))],
                "place": str(home / "place"),
                "result": str(home / "result"),
            }
            self._call(told, asked, operands)
            data = (home / "result").read_bytes()
        if self._form == "float":
            return Answer(_returned(data, asked.result.name, width))
        shape = code_shape((count,), width)
        return Answer(np.frombuffer(data, storage_dtype(width)).reshape(shape) & _mask(width))

    def _call(self, told: dict[str, Any], asked: Question, operands: Sequence[Codes]) -> None:
        command = [sys.executable, "-I", library_child.__file__, json.dumps(told)]
        try:
            done = run_bounded(command, b"", self._seconds)
        except OracleError as error:
            raise OracleError(error.kind, f"{self.name} {_after(error)}{self._where(told, asked, operands)}") from None
        said = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode == _MISSING:
            raise OracleError("refusal", said)
        if done.returncode:
            ended = f"ended with {done.returncode}: {said.splitlines()[-1] if said else ''}"
            if done.returncode < 0:
                ended = f"crashed ({signal.Signals(-done.returncode).name})"
            raise OracleError("crash", f"{self.name} {ended}{self._where(told, asked, operands)}", -done.returncode)
        if not Path(told["result"]).exists():
            raise OracleError("crash", f"{self.name} ended the process{self._where(told, asked, operands)}")

    def _where(self, told: dict[str, Any], asked: Question, operands: Sequence[Codes]) -> str:
        if self._form == "array":
            return ""
        place = int.from_bytes(Path(told["place"]).read_bytes(), "little")
        codes = [
            hexadecimal(codes_to_ints(column[place : place + 1], width)[0], width)
            for column, width in zip(operands, asked.widths, strict=True)
        ]
        return f" at the argument {', '.join(codes)}"


def library_named(spelling: str, seconds: float = SECONDS) -> Library:
    """Return the library of ``PATH:SYMBOL`` or ``PATH:SYMBOL:FORM``. Raises ValueError for another form."""
    path, symbol, *rest = spelling.split(":")
    form = rest[0] if rest else "float"
    if not symbol or form not in FORMS or len(rest) > 1:
        raise ValueError(f"{spelling}: write {path}:SYMBOL, {path}:SYMBOL:codes or {path}:SYMBOL:array")
    return Library(path, symbol, form, seconds)


def _after(error: OracleError) -> str:
    return str(error).partition(f"{Path(sys.executable).name} ")[2] or str(error)


def _size(type_: ty.Type) -> int:
    width = width_of(type_)
    return storage_dtype(width).itemsize * limb_count(width)


def _passed(codes: Codes, name: str, form: str) -> Codes:
    """Return codes as the child passes them: 16-bit floats in 32 bits."""
    return codes.astype(np.uint32) if form == "float" and _BYTES[name] == 4 else codes


def _returned(data: bytes, name: str, width: int) -> Codes:
    if name == "f80":  # the upper six bytes mean nothing
        return np.asarray(np.frombuffer(data, np.uint64).reshape(-1, 2) & _mask(80))
    stored = np.frombuffer(data, np.dtype(f"uint{8 * _BYTES[name]}"))
    return np.asarray(stored & stored.dtype.type((1 << width) - 1), storage_dtype(width))


def _mask(width: int) -> Codes:
    """Return the bits of a code, limb by limb."""
    if width <= 64:
        return np.array((1 << width) - 1, storage_dtype(width))
    return np.array([(1 << 64) - 1, (1 << (width - 64)) - 1], np.uint64)
