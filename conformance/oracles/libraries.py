"""Ask NumPy with the dtypes of the package ml_dtypes, which most Python programs use for small floats.

f32 and f64 use NumPy's own arithmetic, as halfulp's fast path does: there the two agree by construction, and only the
other oracles prove something.
"""

from __future__ import annotations

import operator
import os
import shutil
import subprocess
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from glob import glob
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, OracleError, Status, Unavailable
from halfulp.conformance.oracles.tool import Tool
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.values.coerce import natural_dtypes
from halfulp.semantics import SEMANTICS_VERSION
from halfulp.semantics.kernel import Fault, FaultKind

# --- exact ------------------------------------------------------------------------------------------------------------
#
# Ask the specification itself, one element at a time on Python integers: the scalar implementation of each op's
# kernel.

_STATUS = {FaultKind.POISON: Status.POISON, FaultKind.UNDEFINED: Status.TRAP}


class ExactOracle:
    """The scalar functions of the specification, against which the array kernels are checked."""

    name = "exact"
    profile = "spec"

    def __init__(self) -> None:
        self.version = str(SEMANTICS_VERSION)

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for ops that are not elementwise, and for types quantised along an axis, which have no scalar
        implementation; else None.
        """
        if not isinstance(case.evaluator, Elementwise):
            return f"{case.op} has no kernel for one element"
        return "a quantised type with parameters along an axis has no scalar form" if case.is_along_an_axis else None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute element by element."""
        shape = case.shape(inputs)
        scalar = case.kernel(shape).scalar
        columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, case.operand_widths, strict=True)]
        rows: list[tuple[int, ...]] = []
        status = []
        for operands in zip(*columns, strict=True):
            result = scalar(*operands)
            if isinstance(result, Fault):
                status.append(_STATUS[result.kind])
                rows.append((0,) * len(case.results))
            else:
                status.append(Status.VALUE)
                rows.append(result if isinstance(result, tuple) else (result,))
        widths = [width_of(type_) for type_ in case.result_types]
        statuses = np.array(status, np.uint8).reshape(shape)
        return tuple(
            Answer(ints_to_codes([row[k] for row in rows], width, shape), statuses) for k, width in enumerate(widths)
        )


# --- llvm libc --------------------------------------------------------------------------------------------------------
#
# LLVM's C library, whose functions of f16 and f32 claim correct rounding: its static library, made a shared one.
#
# A small C file has a loop over each function. The compiler of the machine links it with ``libllvmlibc.a``.

PACKAGE = "libllvmlibc-22-dev"
_PLACES = ("/usr/lib/llvm-22/lib/libllvmlibc.a", "/usr/lib/llvm-*/lib/libllvmlibc.a")
_TYPES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "f16": ("_Float16", "f16"),
        "bf16": ("unsigned short", "bf16"),  # a class with one integer: its functions take that in its register
        "f32": ("float", "f"),
        "f64": ("double", ""),
        "f80": ("long double", "l"),
        "f128": ("__float128", "f128"),
    }
)
"""The C type and the suffix of the names of functions, by float type."""
_NAMES = {"powf": "pow", "arith.remf": "fmod"}
_OTHERS = frozenset({"logbf16"})
"""Names that are read as another function and type: ``logbf16`` is logb of f16, not log of bf16."""
_TWO = frozenset({"atan2", "hypot", "pow", "fmod"})


class LlvmLibc:
    """The LLVM C library: the path of its shared library, and its functions. Raises Unavailable if the library or a C
    compiler is missing.
    """

    def __init__(self) -> None:
        archive = _archive()
        compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
        if compiler is None:
            raise Unavailable("no C compiler is on PATH: install gcc or clang")
        self.version = archive.parent.parent.name
        self._folder = Path(mkdtemp(prefix="halfulp-libc-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._compiler, self._archive = Tool(compiler, ""), archive
        self.functions = _functions(archive)

    def symbol(self, function: str, type_: str) -> str | None:
        """Return the C name of a function on a type; None if the library does not have it.

        ``function``: as in `halfulp.fp_formats.reals`, or an op of arith.
        """
        if type_ not in _TYPES:
            return None
        name = _NAMES.get(function, function) + _TYPES[type_][1]
        return name if name in self.functions - _OTHERS else None

    def shared(self, function: str, type_: str) -> tuple[Path, str]:
        """Return a shared library, and the symbol in it that applies a function to arrays:
        ``void f(const T *x, …, T *result, size_t count)``. Raises OracleError if it cannot be linked.
        """
        symbol = self.symbol(function, type_)
        assert symbol is not None
        path = self._folder / f"{symbol}.so"
        if not path.exists():
            source = self._folder / f"{symbol}.c"
            source.write_text(_loop(symbol, _TYPES[type_][0], _NAMES.get(function, function) in _TWO), encoding="utf-8")
            options = ["-shared", "-fPIC", "-O1", "-fno-builtin", str(source), "-o", str(path), str(self._archive)]
            try:
                # No other library may give the function.
                self._compiler.run([*options, "-nostdlib", "-Wl,-Bsymbolic", "-lgcc"])
            except OracleError as error:
                raise OracleError("refusal", f"{symbol} of {self._archive} does not link: {error}") from None
        return path, f"all_{symbol}"


def _archive() -> Path:
    named = os.environ.get("HALFULP_LLVM_LIBC")
    found = [named] if named else [path for pattern in _PLACES for path in sorted(glob(pattern))]
    if not found or not Path(found[0]).is_file():
        where = f"{named} does not exist" if named else "libllvmlibc.a is not in /usr/lib/llvm-*/lib"
        raise Unavailable(f"{where}: install {PACKAGE} (apt.llvm.org), or set HALFULP_LLVM_LIBC to the file")
    return Path(found[0])


@cache
def _functions(archive: Path) -> frozenset[str]:
    """Return the names that an archive defines."""
    reader = shutil.which("nm")
    if reader is None:
        raise Unavailable("nm is not on PATH: install binutils")
    done = subprocess.run([reader, "-g", "--defined-only", str(archive)], capture_output=True, text=True, check=False)
    return frozenset(line.split()[-1] for line in done.stdout.splitlines() if len(line.split()) == 3)


def _loop(symbol: str, c_type: str, two: bool) -> str:
    arguments = f"const {c_type} *x, const {c_type} *y" if two else f"const {c_type} *x"
    call, types = ("(x[k], y[k])", f"{c_type}, {c_type}") if two else ("(x[k])", c_type)
    return (
        f"{c_type} {symbol}({types});\n"
        f"void all_{symbol}({arguments}, {c_type} *result, unsigned long count) {{\n"
        f"  for (unsigned long k = 0; k < count; k++) result[k] = {symbol}{call};\n"
        "}\n"
    )


# --- ml dtypes --------------------------------------------------------------------------------------------------------

VERSION = "0."
"""Prefix of the supported versions. The rows of divergences.toml say which of them they describe."""

_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
}
_CASTS = ("arith.extf", "arith.truncf", "arith.convertf")
_SIGNED: Mapping[str, bool] = {"arith.sitofp": True, "arith.uitofp": False, "arith.fptosi": True, "arith.fptoui": False}
_COMPARISONS = ((operator.eq, scalar.EQUAL), (operator.gt, scalar.GREATER), (operator.lt, scalar.LESS))
_NEUTRAL = {"fastmath": "none", "rounding": Rounding.TO_NEAREST_EVEN.spelling}


class MlDtypes:
    """Float arithmetic, comparison and casts, in every type with a dtype of whole bytes."""

    name = "ml_dtypes"
    profile = "ml_dtypes"

    def __init__(self) -> None:
        try:
            self.version = version("ml_dtypes")
        except PackageNotFoundError:
            raise Unavailable("the package ml_dtypes is not installed") from None
        if not self.version.startswith(VERSION):
            raise Unavailable(f"ml_dtypes is version {self.version}, but this oracle needs version {VERSION}*")

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for types without a dtype, casts that the package lacks, rounding modes other than the
        default, and fast-math flags; else None.
        """
        known = case.op in _ARITHMETIC or case.op in _CASTS or case.op in _SIGNED or case.op == "arith.cmpf"
        if not known:
            return f"NumPy has no function for {case.op}"
        for name, value in case.properties:
            if name != "predicate" and value != _NEUTRAL.get("rounding" if name == "roundingmode" else name):
                return f"NumPy has no {name} {value}"
        dtypes = self._dtypes(case)
        # By identity: a dtype compared with None is compared with float64.
        absent = next(
            (name for name, d in zip((*case.operands, *case.results), dtypes, strict=True) if d is None), None
        )
        if absent is not None:
            return f"NumPy has no dtype for {absent}"
        if case.op in ("arith.fptosi", "arith.fptoui") and case.results == ("i1",):
            return "NumPy's bool of a float is whether it is not zero"
        try:
            self._compute(case, [np.zeros(0, dtype) for dtype in dtypes[: len(case.operands)]])
        except TypeError:
            return f"the package has no {case}"
        return None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute all elements by one call. Floats outside an integer's range give the result of the CPU."""
        arrays = [codes.view(dtype) for codes, dtype in zip(inputs, self._dtypes(case), strict=False) if dtype]
        found = self._compute(case, arrays)
        return (Answer(found.view(np.dtype(f"u{found.dtype.itemsize}"))),)

    def _dtypes(self, case: OpCase) -> list[np.dtype[Any] | None]:
        """Return the dtypes of operands and results."""
        return [_dtype(type_, _SIGNED.get(case.op)) for type_ in (*case.operand_types, *case.result_types)]

    def _compute(self, case: OpCase, arrays: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):
            if case.op in _ARITHMETIC:
                found = _ARITHMETIC[case.op](*arrays)
                if found.dtype != arrays[0].dtype:
                    raise TypeError(f"{case} gives {found.dtype}")
                return found
            if case.op == "arith.cmpf":
                return _compared(dict(case.properties)["predicate"], *arrays)
            return arrays[0].astype(self._dtypes(case)[-1])


def _dtype(type_: ty.Type, signed: bool | None) -> np.dtype[Any] | None:
    """Return the dtype whose bits are the codes of an element type.

    ``signed``: a conversion reads integers as signed.
    """
    if isinstance(type_, ty.IntegerType) and type_.width == 1:
        return np.dtype(np.bool_) if not signed else None  # NumPy's True is 1, never -1
    if isinstance(type_, ty.IndexType) or (isinstance(type_, ty.IntegerType) and type_.width in (8, 16, 32, 64)):
        width = 64 if isinstance(type_, ty.IndexType) else type_.width
        return np.dtype(f"int{width}" if signed else f"uint{width}")
    return natural_dtypes().get(type_) if isinstance(type_, ty.FloatType) else None


def _compared(predicate: str, x: Any, y: Any) -> Any:
    relations = scalar.PREDICATES[CMPF_PREDICATE.cases[predicate]]
    holds = (np.isnan(x) | np.isnan(y)) & bool(relations & scalar.UNORDERED)
    for compare, relation in _COMPARISONS:
        if relations & relation:
            holds |= compare(x, y)
    return holds
