"""LLVM's own APFloat, called in process through the C++ symbols of libLLVM 22 (x86-64 System V calling convention).

`APFloat` is the binding, `APFloatOracle` the oracle that uses it for cases.

Codes are Python integers. Rounding modes are `halfulp.fp_formats.policy.Rounding`; status is halfulp's flags (`Flags`).
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, Status, Unavailable
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.interp.dialects.func.apfloat import SEMANTICS
from halfulp.interp.ir import types as ty

LIBRARY = "libLLVM.so.22.1"
VARIABLE = "HALFULP_LIBLLVM"  # names another libLLVM, as other variables name the programs
VERSION = "22."
WRAPPERS = "libmlir_apfloat_wrappers.so.22.1"
LLVM_FOLDER = "/usr/lib/llvm-22/lib"  # Debian's folder of the libraries that the loader does not know by name

# llvm::RoundingMode, by our mode.
ROUNDING_MODES = {
    Rounding.TO_NEAREST_EVEN: 1,
    Rounding.DOWNWARD: 3,
    Rounding.UPWARD: 2,
    Rounding.TOWARD_ZERO: 0,
    Rounding.TO_NEAREST_AWAY: 4,
}

# llvm::APFloatBase::opStatus bits, as our flags.
STATUS_BITS = (
    (1, Flags.INVALID),
    (2, Flags.DIVIDE_BY_ZERO),
    (4, Flags.OVERFLOW),
    (8, Flags.UNDERFLOW),
    (16, Flags.INEXACT),
)

# llvm::APFloatBase::cmpResult as the relation bits of `halfulp.fp_formats.scalar`: less, equal, greater, unordered.
RELATIONS = (4, 1, 2, 8)


class _APInt(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint64), ("bit_width", ctypes.c_uint32)]


class _IEEEFloat(ctypes.Structure):
    _fields_ = [
        ("semantics", ctypes.c_void_p),
        ("significand", ctypes.c_uint64),
        ("exponent", ctypes.c_int32),
        ("category_and_sign", ctypes.c_uint8),
        ("padding", ctypes.c_uint8 * 11),
    ]


def load() -> APFloat:
    """Return the binding to the library that HALFULP_LIBLLVM names, or to `LIBRARY`. Raises Unavailable."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise Unavailable(f"this oracle runs only on x86-64, but this machine is {platform.machine()}")
    return _bind(os.environ.get(VARIABLE) or LIBRARY)


@cache
def _bind(path: str) -> APFloat:
    """Return the binding to a library of the right version. Raises Unavailable."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Unavailable(f"{path} does not load; install it, or set {VARIABLE} ({error})") from None
    try:
        version = _version(library)
    except AttributeError:
        raise Unavailable(f"{path} does not tell a version of LLVM: it has no LLVMGetVersion") from None
    if not version.startswith(VERSION):
        raise Unavailable(f"{path} is LLVM version {version}, but this oracle needs version {VERSION}")
    return APFloat(library, version)


def _version(library: ctypes.CDLL) -> str:
    """Return the version that libLLVM reports, such as 22.1."""
    numbers = [ctypes.c_uint() for _ in range(3)]
    library.LLVMGetVersion(*map(ctypes.byref, numbers))
    major, minor, _ = (number.value for number in numbers)
    return f"{major}.{minor}"


def wrapper(operation: str) -> Callable[[FloatFormat, int, int], int]:
    """Return a binary function of MLIR's run-time library, such as ``maxnum``, on formats of up to 64 bits. It rounds
    to nearest even, and gives no flags.
    """
    try:
        library = ctypes.CDLL(WRAPPERS)
    except OSError:
        library = ctypes.CDLL(f"{LLVM_FOLDER}/{WRAPPERS}")
    function = getattr(library, f"_mlir_apfloat_{operation}")
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64]
    return lambda fmt, a, b: int(function(SEMANTICS[fmt.name], a, b))


def flags_of(status: int) -> int:
    """Return an opStatus of LLVM as halfulp's flags."""
    return sum(int(flag) for bit, flag in STATUS_BITS if status & bit)


class APFloat:
    """``llvm::detail::IEEEFloat`` with integers as codes; each method returns (code, flags)."""

    def __init__(self, library: ctypes.CDLL, version: str) -> None:
        self.version = version
        self._free = ctypes.CDLL(None).free
        self._free.argtypes, self._free.restype = [ctypes.c_void_p], None
        this, apint, mode = ctypes.POINTER(_IEEEFloat), ctypes.POINTER(_APInt), ctypes.c_int8

        def bind(symbol: str, restype: Any, *argtypes: Any) -> Any:
            function = getattr(library, symbol)
            function.restype, function.argtypes = restype, argtypes
            return function

        prefix, const_prefix = "_ZN4llvm6detail9IEEEFloat", "_ZNK4llvm6detail9IEEEFloat"
        self._construct = bind(prefix + "C1ERKNS_12fltSemanticsERKNS_5APIntE", None, this, ctypes.c_void_p, apint)
        self._construct_zero = bind(prefix + "C1ERKNS_12fltSemanticsE", None, this, ctypes.c_void_p)
        self._destroy = bind(prefix + "D1Ev", None, this)
        # An APInt is returned through a hidden first argument.
        self._bits = bind(const_prefix + "14bitcastToAPIntEv", None, apint, this)
        self._binary = {
            "add": bind(prefix + "3addERKS1_NS_12RoundingModeE", ctypes.c_int, this, this, mode),
            "subtract": bind(prefix + "8subtractERKS1_NS_12RoundingModeE", ctypes.c_int, this, this, mode),
            "multiply": bind(prefix + "8multiplyERKS1_NS_12RoundingModeE", ctypes.c_int, this, this, mode),
            "divide": bind(prefix + "6divideERKS1_NS_12RoundingModeE", ctypes.c_int, this, this, mode),
        }
        fused = prefix + "16fusedMultiplyAddERKS1_S3_NS_12RoundingModeE"
        self._fma = bind(fused, ctypes.c_int, this, this, this, mode)
        self._mod = bind(prefix + "3modERKS1_", ctypes.c_int, this, this)
        self._change_sign = bind(prefix + "10changeSignEv", None, this)
        self._compare = bind(const_prefix + "7compareERKS1_", ctypes.c_int, this, this)
        self._convert = bind(
            prefix + "7convertERKNS_12fltSemanticsENS_12RoundingModeEPb",
            ctypes.c_int,
            this,
            ctypes.c_void_p,
            mode,
            ctypes.POINTER(ctypes.c_bool),
        )
        self._to_integer = bind(
            const_prefix + "16convertToIntegerENS_15MutableArrayRefImEEjbNS_12RoundingModeEPb",
            ctypes.c_int,
            this,
            ctypes.POINTER(ctypes.c_uint64),
            ctypes.c_size_t,
            ctypes.c_uint,
            ctypes.c_bool,
            mode,
            ctypes.POINTER(ctypes.c_bool),
        )
        self._from_integer = bind(
            prefix + "16convertFromAPIntERKNS_5APIntEbNS_12RoundingModeE",
            ctypes.c_int,
            this,
            apint,
            ctypes.c_bool,
            mode,
        )
        to_semantics = bind("_ZN4llvm11APFloatBase15EnumToSemanticsENS0_9SemanticsE", ctypes.c_void_p, ctypes.c_int)
        self._semantics = {name: to_semantics(number) for name, number in SEMANTICS.items()}

    def _apint(self, value: int, width: int) -> tuple[_APInt, Any]:
        """Return an APInt, and the buffer that must outlive it."""
        if width <= 64:
            return _APInt(value, width), None
        words = -(-width // 64)
        buffer = (ctypes.c_uint64 * words)(*((value >> (64 * i)) & (2**64 - 1) for i in range(words)))
        return _APInt(ctypes.addressof(buffer), width), buffer

    def _load(self, fmt: FloatFormat, code: int) -> _IEEEFloat:
        result = _IEEEFloat()
        number, buffer = self._apint(code, fmt.bits)
        self._construct(ctypes.byref(result), self._semantics[fmt.name], ctypes.byref(number))
        del buffer
        return result

    def _store(self, x: _IEEEFloat) -> int:
        number = _APInt()
        self._bits(ctypes.byref(number), ctypes.byref(x))
        self._destroy(ctypes.byref(x))
        if number.bit_width <= 64:
            return int(number.value)
        words = -(-number.bit_width // 64)
        limbs = (ctypes.c_uint64 * words).from_address(number.value)
        code = sum(int(limb) << (64 * i) for i, limb in enumerate(limbs))
        self._free(number.value)
        return code

    def _applied(self, function: Any, fmt: FloatFormat, codes: Sequence[int], *others: Any) -> tuple[int, int]:
        """Call a function on floats, of which the first becomes the result."""
        x, *more = (self._load(fmt, code) for code in codes)
        status = function(*map(ctypes.byref, (x, *more)), *others)
        for each in more:
            self._destroy(ctypes.byref(each))
        return self._store(x), flags_of(status or 0)

    def binary(self, op: str, fmt: FloatFormat, a: int, b: int, rounding: Rounding) -> tuple[int, int]:
        """Return the result of ``op``: add, subtract, multiply, divide, or remainder (fmod)."""
        if op == "remainder":
            return self._applied(self._mod, fmt, (a, b))
        return self._applied(self._binary[op], fmt, (a, b), ROUNDING_MODES[rounding])

    def fma(self, fmt: FloatFormat, a: int, b: int, c: int, rounding: Rounding) -> tuple[int, int]:
        """Return the result of ``fusedMultiplyAdd``."""
        return self._applied(self._fma, fmt, (a, b, c), ROUNDING_MODES[rounding])

    def negate(self, fmt: FloatFormat, a: int) -> tuple[int, int]:
        """Return the result of ``changeSign``."""
        return self._applied(self._change_sign, fmt, (a,))

    def compare(self, fmt: FloatFormat, a: int, b: int) -> int:
        """Return the relation of a to b, as a bit of `RELATIONS`."""
        x, y = self._load(fmt, a), self._load(fmt, b)
        relation = RELATIONS[self._compare(ctypes.byref(x), ctypes.byref(y))]
        self._destroy(ctypes.byref(x))
        self._destroy(ctypes.byref(y))
        return relation

    def convert(self, src: FloatFormat, dst: FloatFormat, a: int, rounding: Rounding) -> tuple[int, int]:
        """Convert a code of ``src`` to a code of ``dst``."""
        loses = ctypes.byref(ctypes.c_bool())
        return self._applied(self._convert, src, (a,), self._semantics[dst.name], ROUNDING_MODES[rounding], loses)

    def to_integer(self, src: FloatFormat, a: int, width: int, signed: bool, rounding: Rounding) -> tuple[int, int]:
        """Convert a code to a two's complement integer. Out of range, the flags hold INVALID and the code saturates."""
        x, exact = self._load(src, a), ctypes.c_bool()
        words = max(1, -(-width // 64))
        parts = (ctypes.c_uint64 * words)()
        mode = ROUNDING_MODES[rounding]
        status = self._to_integer(ctypes.byref(x), parts, words, width, signed, mode, ctypes.byref(exact))
        self._destroy(ctypes.byref(x))
        code = sum(int(part) << (64 * i) for i, part in enumerate(parts)) & ((1 << width) - 1)
        return code, flags_of(status)

    def from_integer(
        self, dst: FloatFormat, code: int, width: int, signed: bool, rounding: Rounding
    ) -> tuple[int, int]:
        """Convert an integer of ``width`` bits (two's complement if ``signed``) to a code of ``dst``."""
        x = _IEEEFloat()
        self._construct_zero(ctypes.byref(x), self._semantics[dst.name])
        number, buffer = self._apint(code, width)
        status = self._from_integer(ctypes.byref(x), ctypes.byref(number), signed, ROUNDING_MODES[rounding])
        del buffer
        return self._store(x), flags_of(status)


# --- the oracle -------------------------------------------------------------------------------------------------------

_ARITHMETIC: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
    "arith.remf": "remainder",
}
_CONVERSIONS = ("arith.extf", "arith.truncf", "arith.convertf")
_FROM_INTEGERS: Mapping[str, bool] = {"arith.sitofp": True, "arith.uitofp": False}  # op: signed
_TO_INTEGERS: Mapping[str, bool] = {"arith.fptosi": True, "arith.fptoui": False}
_OTHERS = ("arith.negf", "arith.cmpf")
_OPS = (*_ARITHMETIC, *_CONVERSIONS, *_FROM_INTEGERS, *_TO_INTEGERS, *_OTHERS)


class APFloatOracle:
    """Float ops of the arith dialect in every format and rounding mode, one element at a time."""

    name = "apfloat"
    profile = "mlir22-fold"

    def __init__(self) -> None:
        self._llvm = load()
        self.version = self._llvm.version

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for ops without an APFloat function, unknown formats, and fast-math flags; else None."""
        if case.op not in _OPS:
            return f"APFloat has no function for {case.op}"
        formats = [t.format.name for t in (*case.operand_types, *case.result_types) if isinstance(t, ty.FloatType)]
        unknown = next((name for name in formats if name not in SEMANTICS), None)
        if unknown is not None:
            return f"APFloat has no {unknown}"
        return "APFloat has no fast-math flags" if dict(case.properties).get("fastmath", "none") != "none" else None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Compute the results, one element after the other.

        If a float is a NaN or outside the range of the integer type, the status of its conversion is POISON.
        """
        shape = case.shape(inputs)
        columns = [codes_to_ints(codes, width) for codes, width in zip(inputs, case.operand_widths, strict=True)]
        function = self._function(case)
        found = [function(*operands) for operands in zip(*columns, strict=True)]
        result = case.result_types[0]
        width = result.format.bits if isinstance(result, ty.FloatType) else getattr(result, "width", 64)
        codes = ints_to_codes([code for code, _ in found], width, shape)
        if case.op not in _TO_INTEGERS:
            return (Answer(codes),)
        invalid = np.array([flags & Flags.INVALID for _, flags in found], np.bool_).reshape(shape)
        return (Answer(codes, np.where(invalid, np.uint8(Status.POISON), np.uint8(Status.VALUE))),)

    def _function(self, case: OpCase) -> Callable[..., tuple[int, int]]:
        """Return a function from the codes of one element to the code and flags of its result."""
        llvm, op = self._llvm, case.op
        source, target = case.operand_types[0], case.result_types[0]
        rounding = case.rounding
        if op in _FROM_INTEGERS and isinstance(target, ty.FloatType):
            width, signed, into = getattr(source, "width", 64), _FROM_INTEGERS[op], target.format
            return lambda a: llvm.from_integer(into, a, width, signed, rounding)
        fmt = ty.float_format(source)
        if op in _TO_INTEGERS:
            width, signed = getattr(target, "width", 64), _TO_INTEGERS[op]
            return lambda a: llvm.to_integer(fmt, a, width, signed, Rounding.TOWARD_ZERO)
        if op == "arith.negf":
            return lambda a: llvm.negate(fmt, a)
        if op == "arith.cmpf":
            relations = scalar.PREDICATES[CMPF_PREDICATE.cases[dict(case.properties)["predicate"]]]
            return lambda a, b: (int(bool(relations & llvm.compare(fmt, a, b))), 0)
        if op in _CONVERSIONS:
            assert isinstance(target, ty.FloatType)
            into = target.format
            return lambda a: llvm.convert(fmt, into, a, rounding)
        return lambda a, b: llvm.binary(_ARITHMETIC[op], fmt, a, b, rounding)
