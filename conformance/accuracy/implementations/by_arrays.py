"""Measure functions on arrays: those of NumPy, ml_dtypes, JAX and PyTorch, and a function of the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

import numpy as np

from halfulp.conformance.accuracy.questions import Question
from halfulp.conformance.oracles.oracle import Answer, OracleError, Unavailable
from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.values.coerce import natural_dtypes
from halfulp.interp.values.value import Value

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
        """Refuse functions that the package lacks, types without a dtype, casts and rounding modes."""
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
        """Call the function once. Raises OracleError if the package refuses the types."""
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
        """Refuse nothing: the function shows what it can do."""
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
        hint = "a module is found as Python finds it: in the current folder if PYTHONPATH holds it"
        raise InputError(f"{spelling}: {error}", hint=hint) from None
    except AttributeError as error:
        raise InputError(f"{spelling}: {error}") from None
    if not callable(found):
        raise InputError(f"{spelling} is not a function")
    return PythonFunction(found, spelling)


def array_of(codes: Codes, type_: ty.Type) -> Any:
    """Return codes as an array of the type's dtype; as a Value if it has none."""
    dtype = natural_dtypes().get(type_)
    return Value(ty.TensorType((len(codes),), type_), codes) if dtype is None else codes.view(dtype)


def codes_of(found: Any, asked: Question, name: str) -> Codes:
    """Return the codes of an array or a Value of results. Raises InputError for another type."""
    wanted = ty.FloatType(asked.result)
    dtype = natural_dtypes().get(wanted)
    if isinstance(found, Value):
        if found.element_type != wanted:
            raise InputError(f"{name} returned '{found.element_type}', but the results are '{wanted}'")
        if found.poison is not None and found.poison.any():
            raise InputError(f"{name} returned poison: {found.origin(*np.argwhere(found.poisoned)[0].tolist())}")
        return np.asarray(found.bits)
    array = np.asarray(found)
    if dtype is None:
        raise InputError(f"{name} returned {array.dtype}: '{wanted}' has no dtype; return a Value of that type")
    if array.dtype != dtype:
        hint = f"return x.astype({dtype.name!r}) if that rounding is part of the function"
        raise InputError(f"{name} returned {array.dtype}, but the results are {dtype} ('{wanted}')", hint=hint)
    return np.ascontiguousarray(array).view(asked.result.storage_dtype)
