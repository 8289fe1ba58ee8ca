"""Measure a function in a shared library, in a process of its own: ``./lib.so:expf``."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

import numpy as np

from halfulp.conformance.accuracy.implementations import by_arrays
from halfulp.conformance.accuracy.questions import Chosen, Question
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT, oracle
from halfulp.conformance.oracles.libraries import LlvmLibc
from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable
from halfulp.conformance.oracles.tool import run_bounded
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import Codes, code_shape, codes_to_ints, limb_count, storage_dtype
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.types import width_of

# --- library child ----------------------------------------------------------------------------------------------------
#
# Call a symbol of a shared library on codes: run as a program of its own, so that a crash ends nothing else.
#
# It imports nothing of halfulp. The arguments are a JSON object; the operands are files of codes, and so are the
# results.


class _F16(ctypes.c_float):
    """A 16-bit float in the low half of a vector register: its code is that of the low half of an f32."""


class _F32(ctypes.c_float):
    pass


class _F64(ctypes.c_double):
    pass


class _F80(ctypes.c_longdouble):
    pass


# Subclasses are passed and returned as they are: ctypes would convert the plain types to Python's floats.
_FLOATS: dict[str, Any] = {"f16": _F16, "bf16": _F16, "f32": _F32, "f64": _F64, "f80": _F80}
_CODES: dict[int, Any] = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


def main() -> int:
    """Call the symbol for each element. Return 3 if there is no such library or symbol."""
    asked = json.loads(sys.argv[1])
    try:
        function = ctypes.CDLL(asked["library"])[asked["symbol"]]
    except (OSError, AttributeError) as error:
        sys.stderr.write(str(error))
        return 3
    count = asked["count"]
    operands = [bytearray(Path(path).read_bytes()) for path in asked["operands"]]
    with open(asked["place"], "r+b") as file:
        place = (ctypes.c_int64 * 1).from_buffer(mmap.mmap(file.fileno(), 8))
    if asked["form"] == "array":
        result = bytearray(asked["bytes"] * count)
        buffers = [(ctypes.c_char * len(data)).from_buffer(data) for data in (*operands, result)]
        function.restype = None
        function(*buffers, ctypes.c_size_t(count))
    else:
        kinds = [_FLOATS[kind] if asked["form"] == "float" else _CODES[kind] for kind in asked["kinds"]]
        *types, returned = kinds
        function.argtypes, function.restype = types, returned
        arrays = [(kind * count).from_buffer(data) for kind, data in zip(types, operands, strict=True)]
        results = (returned * count)()
        for k, arguments in enumerate(zip(*arrays, strict=True)):
            place[0] = k
            results[k] = function(*arguments)
        result = bytearray(results)
    Path(asked["result"]).write_bytes(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())


# --- by oracles -------------------------------------------------------------------------------------------------------
#
# Measure an oracle: mlir-native, mlir-math-expand, iree, ml_dtypes and the others of `halfulp.conformance.oracles`.


class ByOracle:
    """An oracle: it answers ops of MLIR."""

    def __init__(self, spelling: str) -> None:
        self._oracle = oracle(spelling)
        self.name, self.version = spelling, self._oracle.version

    def refuses(self, asked: Question) -> str | None:
        """Refuse functions that MLIR does not have, and what the oracle refuses."""
        if "." not in asked.case.op:
            return f"MLIR has no op for {asked.case.op}"
        if asked.function is not None and asked.rounding is not Rounding.TO_NEAREST_EVEN:
            return f"{asked.case.op} has no rounding modes in MLIR"
        return self._oracle.refuses(asked.case)

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Ask for all elements at once."""
        return self._oracle.evaluate(asked.case, operands)[0]


# --- interface --------------------------------------------------------------------------------------------------------
#
# The interface of an implementation whose accuracy is measured.


class Implementation(Protocol):
    """``name``: as reports call it. ``version``: what it says of itself.

    The constructor raises `halfulp.conformance.oracles.oracle.Unavailable`, with what to install, where it is missing.
    """

    name: str
    version: str

    def refuses(self, asked: Question) -> str | None:
        """Say why it cannot answer a question at all, or None. Cheap: it runs nothing."""

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Return its results, in one row as the operands. Raises OracleError; InputError for code of the user."""


@runtime_checkable
class HoldingImplementation(Implementation, Protocol):
    """An implementation with results for certain arguments only, which it lists."""

    def arguments(self, asked: Question) -> Chosen:
        """Return the arguments that it has results for, in chunks."""


# --- by libraries -----------------------------------------------------------------------------------------------------

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
        command = [sys.executable, "-I", __file__, json.dumps(told)]
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


# --- by libc ----------------------------------------------------------------------------------------------------------
#
# Measure LLVM's C library.


class ByLlvmLibc:
    """The functions of ``libllvmlibc.a`` on f16, bf16, f32, f64 and wider types."""

    name = "llvm-libc"

    def __init__(self) -> None:
        self._library = LlvmLibc()
        self.version = self._library.version

    def refuses(self, asked: Question) -> str | None:
        """Refuse functions that the library does not have, and rounding modes."""
        if asked.rounding is not Rounding.TO_NEAREST_EVEN:
            return "llvm-libc is asked to round to nearest even only"
        one_type = {str(type_) for type_ in asked.operand_types} == {asked.result.name}
        if not one_type or self._library.symbol(asked.function or asked.case.op, asked.result.name) is None:
            return f"llvm-libc has no {asked}"
        return None

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Call the function in a loop, in a child process."""
        path, symbol = self._library.shared(asked.function or asked.case.op, asked.result.name)
        return Library(str(path), symbol, "array").results(asked, operands)


# --- table ------------------------------------------------------------------------------------------------------------
#
# Find the implementation that a text or a Python function names.

_ARRAYS: Mapping[str, Callable[[], Implementation]] = {
    "numpy": by_arrays.NumPy,
    "ml_dtypes": by_arrays.MlDtypes,
    "torch": by_arrays.Torch,
    "jax": by_arrays.Jax,
    "llvm-libc": ByLlvmLibc,
}
_NOT_FLOATS = frozenset({"exact", "mlir-quant", "npz"})
NAMES: tuple[str, ...] = (*_ARRAYS, *(name for name in ORACLES if name not in {*_ARRAYS, *_NOT_FLOATS, "command"}))
"""The implementations with a name; beside them, anybody's code and files are measured."""
LIBRARIES = (".so", ".dylib", ".dll")


def implementation(against: str | Callable[..., Any], seconds: float = SECONDS) -> Implementation:
    """Return the implementation that ``against`` names.

    One of `NAMES`; ``command=PROGRAM`` as for ``halfulp verify``; ``PATH:SYMBOL`` of a shared library;
    ``module:function`` of Python; or a Python function itself. ``seconds``: the time limit of a library. Raises
    Unavailable with what to install, and InputError for anything else.
    """
    if not isinstance(against, str):
        return by_arrays.PythonFunction(against, getattr(against, "__name__", "the function"))
    head, equals, _ = against.partition("=")
    if against in _ARRAYS:
        return _ARRAYS[against]()
    if against in NAMES or (equals and head in TAKES_ARGUMENT):
        return ByOracle(against)
    path, colon, _ = against.partition(":")
    if colon and (os.path.basename(path).partition(".so")[1] or path.endswith(LIBRARIES)):
        try:
            return library_named(against, seconds)
        except ValueError as error:
            raise InputError(str(error)) from None
    if colon:
        return by_arrays.named_function(against)
    others = "a library's symbol ./lib.so:expf, a Python function module:function, or a file, but it does not exist"
    hint = did_you_mean(against, NAMES)
    raise InputError(f"unknown implementation {against!r}; there are {', '.join(NAMES)}, {others}", hint=hint)
