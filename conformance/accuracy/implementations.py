"""The implementations whose accuracy is measured, each behind one interface: arrays, libraries, oracles.

A function of a shared library, ``./lib.so:expf``, runs in its own process.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

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
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.coerce import natural_dtypes
from halfulp.interp.values.value import Value

# --- arrays -----------------------------------------------------------------------------------------------------------
#
# Functions on arrays: those of NumPy, ml_dtypes, JAX and PyTorch, and a function of the user.

Function = Callable[..., Any]

_NUMPY: Mapping[str, str] = {
    **{name: name for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan")},
    **{name: name for name in ("sinh", "cosh", "tanh", "sqrt", "cbrt", "hypot", "reciprocal")},
    **{name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")},
    "powf": "power",
}
_OPS: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
    "arith.remf": "fmod",
    "arith.negf": "negative",
}
_SAME = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")
_TORCH: Mapping[str, str] = {
    **{name: name for name in (*_SAME, "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "hypot", "rsqrt")},
    **{name: name for name in ("erf", "erfc", "lgamma", "reciprocal", "sigmoid", "logit")},
    **{name: f"nn.functional.{name}" for name in ("silu", "softplus", "mish", "gelu")},
    "gelu_tanh": "nn.functional.gelu",
    "powf": "pow",
}
_TORCH_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_JAX: Mapping[str, str] = {
    **{name: f"numpy.{name}" for name in (*_SAME, "cbrt", "hypot", "reciprocal")},
    **{name: f"numpy.arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")},
    **{name: f"nn.{name}" for name in ("sigmoid", "silu", "softplus", "mish")},
    **{name: f"scipy.special.{name}" for name in ("erf", "erfc", "logit")},
    "lgamma": "scipy.special.gammaln",
    "powf": "numpy.power",
    "rsqrt": "lax.rsqrt",
    "gelu": "nn.gelu",
    "gelu_tanh": "nn.gelu",
}


def _packaged(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise Unavailable(f"the package {package} is not installed: pip install {package}") from None


def _attribute(root: Any, path: str) -> Function:
    for name in path.split("."):
        root = getattr(root, name)
    found: Function = root
    return found


class _Arrays:
    """Functions of a package on arrays of one dtype."""

    name: str
    version: str
    functions: Mapping[str, str]
    floats: tuple[str, ...] | None = None

    def refuses(self, asked: Question) -> str | None:
        """Return a reason for functions that the package lacks, types without a dtype, casts and rounding modes; else
        None.
        """
        if asked.rounding is not Rounding.TO_NEAREST_EVEN:
            return f"{self.name} rounds to nearest even only"
        key = asked.function or asked.case.op
        if self.functions.get(key) is None:
            return f"{self.name} has no function for {asked.name}"
        types = {*asked.operand_types, ty.FloatType(asked.result)}
        names = self.floats
        if len(types) > 1:
            return f"{self.name} computes in one type, but the question is {asked}"
        if names is not None and asked.result.name not in names:
            return f"{self.name} has no {asked.result.name}; it has {', '.join(names)}"
        return None if ty.FloatType(asked.result) in natural_dtypes() else f"{self.name} has no {asked.result.name}"

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Call the function once, with all operands. Raises OracleError if the package refuses the types."""
        path = self.functions.get(asked.function or asked.case.op)
        assert path is not None
        try:
            return Answer(self._call(path, asked, operands))
        except (TypeError, RuntimeError, NotImplementedError) as error:
            raise OracleError("refusal", f"{self.name}: {path}: {error}") from None

    def _call(self, path: str, asked: Question, operands: Sequence[Codes]) -> Codes:
        raise NotImplementedError


class NumPy(_Arrays):
    """NumPy's functions on f16, f32 and f64, as this processor runs them."""

    name = "numpy"
    functions = MappingProxyType({**_NUMPY, **_OPS})
    floats: tuple[str, ...] | None = ("f16", "f32", "f64")

    def __init__(self) -> None:
        self.version = np.__version__

    def _call(self, path: str, asked: Question, operands: Sequence[Codes]) -> Codes:
        dtype = natural_dtypes()[ty.FloatType(asked.result)]
        with np.errstate(all="ignore"):
            found = getattr(np, path)(*(codes.view(dtype) for codes in operands))
        return codes_of(found, asked, f"numpy.{path}")


class MlDtypes(NumPy):
    """NumPy's functions on the small types of the package ml_dtypes."""

    name = "ml_dtypes"
    floats = None

    def __init__(self) -> None:
        self.version = _packaged("ml_dtypes")


class Torch(_Arrays):
    """PyTorch's functions on the CPU."""

    name = "torch"
    functions = _TORCH
    floats = tuple(_TORCH_DTYPES)

    def __init__(self) -> None:
        self.version = _packaged("torch")

    def _call(self, path: str, asked: Question, operands: Sequence[Codes]) -> Codes:
        torch: Any = import_module("torch")
        signed = f"int{asked.result.bits}"
        tensors = [
            torch.from_numpy(codes.view(signed).copy()).view(getattr(torch, _TORCH_DTYPES[asked.result.name]))
            for codes in operands
        ]
        keywords = {"approximate": "tanh"} if asked.function == "gelu_tanh" else {}
        found = _attribute(torch, path)(*tensors, **keywords)
        return np.asarray(found.view(getattr(torch, signed)).numpy().view(asked.result.storage_dtype))


class Jax(_Arrays):
    """JAX's functions, compiled by XLA for the device that JAX uses."""

    name = "jax"
    functions = _JAX
    floats = ("f16", "bf16", "f32", "f64")

    def __init__(self) -> None:
        self.version = _packaged("jax")

    def _call(self, path: str, asked: Question, operands: Sequence[Codes]) -> Codes:
        jax: Any = import_module("jax")
        import_module(f"jax.{path.rpartition('.')[0]}")
        home = jax if hasattr(jax, "enable_x64") else import_module("jax.experimental")
        keywords = {"approximate": asked.function == "gelu_tanh"} if path == "nn.gelu" else {}
        dtype = natural_dtypes()[ty.FloatType(asked.result)]
        function = _attribute(jax, path)
        with warnings.catch_warnings(), home.enable_x64(True):
            warnings.simplefilter("ignore")
            compiled = jax.jit(lambda *arrays: function(*arrays, **keywords))
            found = np.asarray(compiled(*(codes.view(dtype) for codes in operands)))
        return codes_of(found, asked, f"jax.{path}")


class PythonFunction:
    """A function of the user on arrays: it takes one array for each operand, and returns one for the results."""

    version = "unknown"

    def __init__(self, function: Function, name: str) -> None:
        self._function, self.name = function, name

    def refuses(self, asked: Question) -> str | None:
        """Return None: only a call of the function shows what it can compute."""
        return None

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Call the function once with arrays of the natural dtype, or with Values of a type that has none."""
        # Copies: the function may work in place.
        given = [array_of(codes.copy(), type_) for codes, type_ in zip(operands, asked.operand_types, strict=True)]
        try:
            with np.errstate(all="ignore"):
                found = self._function(*given)
        except HalfulpError:
            raise
        except Exception as error:
            raise InputError(f"{self.name} raised {type(error).__name__}: {error}") from error
        if len(np.shape(found) if not isinstance(found, Value) else found.shape) != 1 or len(found) != len(operands[0]):
            shape = found.shape if isinstance(found, Value) else np.shape(found)
            raise InputError(f"{self.name} returned shape {shape}, but its arguments have {(len(operands[0]),)}")
        return Answer(codes_of(found, asked, self.name))


def named_function(spelling: str) -> PythonFunction:
    """Return the function that ``module:function`` names. Raises InputError."""
    module, _, name = spelling.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise InputError(f"{spelling!r} does not name a Python function", hint="write module:function")
    try:
        found = _attribute(import_module(module), name)
    except ImportError as error:
        hint = "Python looks for the module in the folders of PYTHONPATH: for the current folder, set PYTHONPATH=."
        raise InputError(f"{spelling}: {error}", hint=hint) from None
    except AttributeError as error:
        raise InputError(f"{spelling}: {error}") from None
    if not callable(found):
        raise InputError(f"{spelling} is not a function")
    return PythonFunction(found, spelling)


def array_of(codes: Codes, type_: ty.Type) -> Any:
    """Return codes as an array of the dtype that NumPy or ml_dtypes has for the type; as a Value if they have none."""
    dtype = natural_dtypes().get(type_)
    return Value(ty.TensorType((len(codes),), type_), codes) if dtype is None else codes.view(dtype)


def codes_of(found: Any, asked: Question, name: str) -> Codes:
    """Return the codes of results, given as an array or a Value. Raises InputError if their type is not that of the
    question. ``name``: the name of the function, for the error.
    """
    wanted = ty.FloatType(asked.result)
    dtype = natural_dtypes().get(wanted)
    if isinstance(found, Value):
        if found.element_type != wanted:
            raise InputError(f"{name} returned '{found.element_type}', but must return '{wanted}'")
        if found.poison is not None and found.poison.any():
            raise InputError(f"{name} returned poison: {found.origin(*np.argwhere(found.poisoned)[0].tolist())}")
        return np.asarray(found.bits)
    array = np.asarray(found)
    if dtype is None:
        raise InputError(
            f"{name} returned {array.dtype}, but NumPy has no dtype for '{wanted}': return a Value of type '{wanted}'"
        )
    if array.dtype != dtype:
        hint = f"return x.astype({dtype.name!r}) if that rounding is part of the function"
        raise InputError(f"{name} returned {array.dtype}, but must return {dtype} ('{wanted}')", hint=hint)
    return np.ascontiguousarray(array).view(asked.result.storage_dtype)


# --- library child ----------------------------------------------------------------------------------------------------
#
# Call a symbol of a shared library on codes: run as a program of its own, so that a crash ends nothing else.
#
# It imports nothing of halfulp. The arguments are a JSON object; the operands are files of codes, and so are the
# results.


class _F16(ctypes.c_float):
    """The C type of f16 in a call: the low half of a vector register. The code of the float is the low half of the f32
    code.
    """


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
    """Call a symbol of a library for each element; this runs in a child process. Return 3 if there is no such library
    or symbol.
    """
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
        """Return a reason for functions that MLIR does not have and for cases that the oracle refuses; else None."""
        if "." not in asked.case.op:
            return f"MLIR has no op for {asked.case.op}"
        if asked.function is not None and asked.rounding is not Rounding.TO_NEAREST_EVEN:
            return f"{asked.case.op} has no rounding modes in MLIR"
        return self._oracle.refuses(asked.case)

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Ask the oracle for all elements at once, and return its results."""
        return self._oracle.evaluate(asked.case, operands)[0]


# --- interface --------------------------------------------------------------------------------------------------------
#
# The interface of an implementation whose accuracy is measured.


class Implementation(Protocol):
    """An implementation of functions, whose errors are measured. ``name``: its name in reports. ``version``: the
    version that it reports.

    The constructor raises `halfulp.conformance.oracles.oracle.Unavailable` if the implementation is missing; the error
    says what to install.
    """

    name: str
    version: str

    def refuses(self, asked: Question) -> str | None:
        """Return why the implementation cannot answer a question at all; None if it can. This takes little time,
        because nothing runs.
        """

    def results(self, asked: Question, operands: Sequence[Codes]) -> Answer:
        """Return the results of the implementation in one dimension, as the operands are. Raises OracleError, and
        InputError if code of the user fails.
        """


@runtime_checkable
class HoldingImplementation(Implementation, Protocol):
    """An implementation with results for certain arguments only, which it lists."""

    def arguments(self, asked: Question) -> Chosen:
        """Return the arguments for which the implementation has results, in chunks."""


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
        """Return a reason for types that C functions do not take in registers, unless the form passes their codes; else
        None.
        """
        types = (*asked.operand_types, ty.FloatType(asked.result))
        if self._form == "float":
            strange = next((type_ for type_ in types if str(type_) not in _BYTES), None)
            if strange is not None:
                return f"C has no type {strange}: write {self.name}:codes for a function on codes (unsigned integers)"
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
    path, _, rest = spelling.partition(":")
    symbol, colon, form = rest.partition(":")
    form = form if colon else "float"
    if not symbol or form not in FORMS:
        raise ValueError(f"{spelling}: write {path}:SYMBOL, {path}:SYMBOL:codes or {path}:SYMBOL:array")
    return Library(path, symbol, form, seconds)


def _after(error: OracleError) -> str:
    return str(error).partition(f"{Path(sys.executable).name} ")[2] or str(error)


def _size(type_: ty.Type) -> int:
    width = width_of(type_)
    return storage_dtype(width).itemsize * limb_count(width)


def _passed(codes: Codes, name: str, form: str) -> Codes:
    """Return codes as the child process gets them: 16-bit floats in 32 bits."""
    return codes.astype(np.uint32) if form == "float" and _BYTES[name] == 4 else codes


def _returned(data: bytes, name: str, width: int) -> Codes:
    if name == "f80":  # the upper six bytes mean nothing
        return np.asarray(np.frombuffer(data, np.uint64).reshape(-1, 2) & _mask(80))
    stored = np.frombuffer(data, np.dtype(f"uint{8 * _BYTES[name]}"))
    return np.asarray(stored & stored.dtype.type((1 << width) - 1), storage_dtype(width))


def _mask(width: int) -> Codes:
    """Return a mask with the lowest ``width`` bits set, in limbs of 64 bits if it is wider."""
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
        """Return a reason for functions that the library does not have and for rounding modes; else None."""
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
    "numpy": NumPy,
    "ml_dtypes": MlDtypes,
    "torch": Torch,
    "jax": Jax,
    "llvm-libc": ByLlvmLibc,
}
_NOT_FLOATS = frozenset({"exact", "mlir-quant", "npz"})
NAMES: tuple[str, ...] = (*_ARRAYS, *(name for name in ORACLES if name not in {*_ARRAYS, *_NOT_FLOATS, "command"}))
"""The names of implementations. Code and files of the user are given by a path or by the function itself."""
LIBRARIES = (".so", ".dylib", ".dll")


def names_library(against: str) -> bool:
    """Tell whether a text names a shared library, with or without a function of it."""
    path = against.partition(":")[0]
    return bool(os.path.basename(path).partition(".so")[1]) or path.endswith(LIBRARIES)


def implementation(against: str | Callable[..., Any], seconds: float = SECONDS) -> Implementation:
    """Return the implementation that ``against`` names.

    One of `NAMES`; ``command=PROGRAM`` as for ``halfulp verify``; ``PATH:SYMBOL`` of a shared library;
    ``module:function`` of Python; or a Python function itself. ``seconds``: the time limit of a library. Raises
    Unavailable, which says what to install, and InputError for any other text or object.
    """
    if not isinstance(against, str):
        return PythonFunction(against, getattr(against, "__name__", "the function"))
    head, equals, _ = against.partition("=")
    if against in _ARRAYS:
        return _ARRAYS[against]()
    if against in NAMES or (equals and head in TAKES_ARGUMENT):
        return ByOracle(against)
    if names_library(against):
        try:
            return library_named(against, seconds)
        except ValueError as error:
            raise InputError(str(error)) from None
    if ":" in against:
        return named_function(against)
    others = "a library's symbol ./lib.so:expf, a Python function module:function, or a file, but it does not exist"
    hint = did_you_mean(against, NAMES)
    raise InputError(f"unknown implementation {against!r}; there are {', '.join(NAMES)}, {others}", hint=hint)
