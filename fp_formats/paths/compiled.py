"""Loops that numba compiles, where it is installed (the extra ``fast``). Each does in one pass what `tables` and
`fast_conversions` do in several.

The loops know no formats: their callers pass tables and constants. They are plain functions. A loop is compiled, for
one kind of arrays, after calls for `PAYS` elements; until then numba is not even imported. Compiled loops stay in
numba's cache on disk, if that can be written.

The environment variable HALFULP_BACKEND, or `use`, chooses the backend: ``auto`` (numba where it is installed and
saves time), ``numpy`` (never) or ``llvm`` (from the first element and op on; its former name is ``numba``).
HALFULP_THREADS, or `use_threads`, sets the number of threads that machine code uses; without it OMP_NUM_THREADS does.
Results are the same.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import Signature, signature
from threading import Lock
from typing import Any

import numpy as np

from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.suggestions import how_to_install

BACKENDS = ("auto", "numpy", "numba")
VARIABLE = "HALFULP_BACKEND"
THREADS, _ALL_THREADS = "HALFULP_THREADS", "OMP_NUM_THREADS"
_USUAL, _MOST = 4, 1024
"""The most threads where nobody sets their number, and at all."""
# NumPy takes about 12 ms for this many elements, compiled code 3 ms. Importing numba takes 0.2 s and 150 MB, and
# compiling a loop for the first time 0.1 to 0.4 s; users who install numba have more to compute than this.
PAYS = 1 << 24
BLOCK = 1 << 11  # elements: their indices stay in the first-level cache

Function = Callable[..., Any]


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


def _checked(backend: str, what: str) -> str:
    if backend not in (*BACKENDS, "llvm"):
        raise ValueError(f"{what} is {backend!r}, but must be one of {', '.join(BACKENDS)}")
    if backend == "numba" and not _installed():
        raise ValueError(f"{what} is 'numba', but numba is not installed: {how_to_install('fast')}")
    return backend


_backend = _checked(os.environ.get(VARIABLE) or "auto", VARIABLE)
_LOCK = Lock()


def backend() -> str:
    """Return the chosen backend, one of `BACKENDS`."""
    return _backend


def use(backend: str) -> None:
    """Choose the backend from now on, for all threads.

    Raises ValueError for a backend that is not among `BACKENDS` or not installed.
    """
    global _backend
    _backend = _checked(backend, "the backend")


def _number_of_threads() -> int:
    asked = os.environ.get(THREADS)
    if asked:
        if not _is_number(asked):
            raise ValueError(f"{THREADS} is {asked!r}, but must be a number of threads, from 1 to {_MOST}")
        return int(asked)
    first = os.environ.get(_ALL_THREADS, "").partition(",")[0].strip()
    return int(first) if _is_number(first) else min(cpu.cores(), _USUAL)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 5 and 0 < int(text) <= _MOST


_threads = _number_of_threads()


def threads() -> int:
    """Return the number of threads that machine code uses, with the one that calls it."""
    return _threads


def use_threads(count: int) -> None:
    """Set the number of threads from now on: for example 1, where other processes share the work already.

    Raises ValueError for a number that is not from 1 to 1024.
    """
    global _threads
    if not 0 < count <= _MOST:
        raise ValueError(f"there cannot be {count} threads, only 1 to {_MOST}")
    _threads = count


_parts: list[Function] = []
_instructions: list[tuple[Function, Function]] = []


def part(function: Function) -> Function:
    """Let loops call a function. It becomes a part of the loop: so this may turn into vector instructions. Dividing by
    zero is no error.
    """
    _parts.append(function)
    return function


def instruction(write: Function) -> Callable[[Function], Function]:
    """Let loops call a function of words of 64 bits with such a result. ``write(builder, *words)`` writes what it does
    as instructions of LLVM.
    """

    def mark(function: Function) -> Function:
        _instructions.append((function, write))
        return function

    return mark


def _register(numba: Any) -> None:
    """Tell numba about parts and instructions."""
    extending: Any = import_module("numba.extending")
    while _instructions:
        function, write = _instructions.pop()
        wanted = signature(function)
        extending.type_callable(function)(partial(_type_of_word, numba.uint64, wanted))
        lower = extending.lower_builtin(function, *[numba.uint64] * len(wanted.parameters))
        lower(partial(_write, write))
    while _parts:
        extending.register_jitable(error_model="numpy", forceinline=True)(_parts.pop())


def _type_of_word(word: Any, wanted: Signature, context: Any) -> Function:
    def type_of(*words: Any) -> Any:
        return word

    type_of.__signature__ = wanted  # type: ignore[attr-defined]
    return type_of


def _write(write: Function, context: Any, builder: Any, signature: Any, words: Any) -> Any:
    return write(builder, *words)


class Loop:
    """A function for arguments of these kinds, compiled when that saves time.

    ``kinds``: for each argument its dtype, in a tuple if it is an array of one dimension. The last is written to; the
    others may be read-only and unaligned. Integers are cut to their dtype.
    """

    __slots__ = ("asked", "compiled", "function", "kinds")

    def __init__(self, function: Function, kinds: tuple[Any, ...]) -> None:
        self.function = function
        self.kinds = kinds
        self.asked = 0
        self.compiled: Function | None = None

    def get(self, elements: int) -> Function | None:
        """Return the compiled function, or None if NumPy is to work on these elements."""
        if _backend == "numpy":
            return None
        if self.compiled is None:
            self.asked += elements
            if _backend != "auto" or self.asked >= PAYS:
                self._compile()
        return self.compiled

    def _compile(self) -> None:
        with _LOCK:
            if self.compiled is not None:
                return
            try:
                self.compiled = _compile(self.function, self.kinds)
            except Exception as error:
                if _backend != "auto":
                    raise
                use("numpy")  # NumPy gives the same results, whatever is wrong with numba
                if not (isinstance(error, ModuleNotFoundError) and error.name == "numba"):
                    warnings.warn(f"halfulp goes on without numba: {error!r}", RuntimeWarning, stacklevel=2)


@cache
def loop(function: Function, *kinds: Any) -> Loop:
    """Return the one `Loop` of this function and these kinds."""
    return Loop(function, kinds)


def _compile(function: Function, kinds: tuple[Any, ...]) -> Function:
    numba: Any = import_module("numba")  # takes a while
    if numba.config.DISABLE_JIT:
        raise RuntimeError("NUMBA_DISABLE_JIT is set")

    def type_of(kind: Any, written: bool) -> Any:
        if isinstance(kind, tuple):
            return numba.types.Array(numba.from_dtype(np.dtype(kind[0])), 1, "C", readonly=not written, aligned=written)
        return numba.from_dtype(np.dtype(kind))

    _register(numba)
    arguments = tuple(type_of(kind, number == len(kinds) - 1) for number, kind in enumerate(kinds))
    try:
        compiled: Function = numba.njit(arguments, nogil=True, cache=True, error_model="numpy")(function)
    except (OSError, RuntimeError):  # there is no folder for the cache, or it cannot be used
        compiled = numba.njit(arguments, nogil=True, error_model="numpy")(function)
    return compiled


# The loops. Compiled code does not check indices, so an index is cut to the length of the table, a power of two.
# Look-ups go four at a time, apart from the loops that the compiler turns into vector instructions.


def look_up(codes: Any, table: Any, out: Any) -> None:
    """Fill ``out`` with the entries at these codes."""
    last = np.uint64(len(table) - 1)
    fours = len(out) // 4 * 4
    for i in range(0, fours, 4):
        p, q = table[np.uint64(codes[i]) & last], table[np.uint64(codes[i + 1]) & last]
        r, s = table[np.uint64(codes[i + 2]) & last], table[np.uint64(codes[i + 3]) & last]
        out[i], out[i + 1], out[i + 2], out[i + 3] = p, q, r, s
    for i in range(fours, len(out)):
        out[i] = table[np.uint64(codes[i]) & last]


def look_up_index(codes: Any, second: Any, shift: Any, table: Any, out: Any) -> None:
    """Fill ``out`` with the entries at codes * 2**shift + second. If ``second`` is empty: with the entries at the codes
    without their lower bits, rounded to odd as in `tables.round_to_odd`.
    """
    code = codes.dtype.type
    below = code((code(1) << shift) - code(1))
    last = np.uint32(len(table) - 1)
    index = np.empty(BLOCK, np.uint32)
    for start in range(0, len(out), BLOCK):
        x, y = codes[start : start + BLOCK], out[start : start + BLOCK]
        if len(second):
            z = second[start : start + BLOCK]
            for i in range(len(y)):
                index[i] = (np.uint32(np.uint32(x[i]) << np.uint32(shift)) | np.uint32(z[i])) & last
        else:
            for i in range(len(y)):
                index[i] = np.uint32(code(x[i] | code((x[i] & below) + below)) >> shift) & last
        fours = len(y) // 4 * 4
        for i in range(0, fours, 4):
            p, q, r, s = table[index[i]], table[index[i + 1]], table[index[i + 2]], table[index[i + 3]]
            y[i], y[i + 1], y[i + 2], y[i + 3] = p, q, r, s
        for i in range(fours, len(y)):
            y[i] = table[index[i]]


def widen(codes: Any, shift: Any, magnitudes: Any, limit: Any, infinity: Any, kept: Any, nan: Any, out: Any) -> int:
    """Shift codes up into ``out``, as far as the block with the first magnitude above the limit. Returns the length
    filled.

    Magnitudes above ``infinity`` are NaNs: they keep the bits ``kept`` of the shifted code, and get those of
    ``nan``.
    """
    wide = out.dtype.type
    done = 0
    while done < len(out):
        x, y = codes[done : done + BLOCK], out[done : done + BLOCK]
        special = False
        for i in range(len(y)):
            magnitude = x[i] & magnitudes
            special |= magnitude > limit
            shifted = wide(wide(x[i]) << shift)
            y[i] = wide(wide(shifted & kept) | nan) if magnitude > infinity else shifted
        if special:
            return done
        done += len(y)
    return done


def shorten(
    codes: Any,
    shift: Any,
    below: Any,
    magnitudes: Any,
    limit: Any,
    infinity: Any,
    kept: Any,
    nan: Any,
    out: Any,
) -> int:
    """Shift codes down into ``out``, rounded to nearest even, as far as the block with the first magnitude above the
    limit. Returns the length filled.

    ``below``: all dropped bits but the highest. Magnitudes above ``infinity`` are NaNs: they keep the bits ``kept`` of
    the shifted code, and get those of ``nan``.
    """
    code, short = codes.dtype.type, out.dtype.type
    done = 0
    while done < len(out):
        x, y = codes[done : done + BLOCK], out[done : done + BLOCK]
        special = False
        for i in range(len(y)):
            magnitude = x[i] & magnitudes
            special |= magnitude > limit
            shifted = code(x[i] >> shift)
            rounded = code(code(x[i] + below) + code(shifted & code(1))) >> shift
            y[i] = short(shifted & kept | nan) if magnitude > infinity else short(rounded)
        if special:
            return done
        done += len(y)
    return done


def widen_exponents(codes: Any, shift: Any, last: Any, first_result: Any, last_result: Any, out: Any) -> int:
    """Fill ``out`` with the codes shifted up, and return its length. The first and the last code get more bits:
    ``first_result`` and ``last_result``.
    """
    wide, none = out.dtype.type, out.dtype.type(0)
    for i in range(len(out)):
        at_ends = (first_result if codes[i] == 0 else none) | (last_result if codes[i] == last else none)
        out[i] = wide(codes[i]) << shift | at_ends
    return len(out)


def _by_sums(unsigned: Any, real: Any) -> Function:
    def round_by_sums(
        codes: Any,
        floats: Any,
        magnitudes: Any,
        limit: Any,
        apart: Any,
        smallest: Any,
        largest: Any,
        exponents: Any,
        least: Any,
        up: Any,
        lowest: Any,
        surplus: Any,
        sign_shift: Any,
        negative: Any,
        hole: Any,
        infinity: Any,
        fraction_shift: Any,
        payload: Any,
        nan_sign: Any,
        nan: Any,
        out: Any,
    ) -> int:
        """Round into ``out``. Stop at the block with the first code that equals ``apart`` or has a magnitude above the
        limit. Returns the length filled.

        This is `fast_conversions.narrow` with sums of this real type. Codes of negative values get the bits
        ``negative``; the code ``hole`` becomes 0. Magnitudes above ``infinity`` are NaNs: see `fast_conversions.Nans`.
        """
        done = 0
        while done < len(out):
            c, x, y = codes[done : done + BLOCK], floats[done : done + BLOCK], out[done : done + BLOCK]
            special = False
            for i in range(len(y)):
                magnitude = c[i] & magnitudes
                special |= (magnitude > limit) | (c[i] == apart)
                value = real(max(min(real(abs(x[i])), largest), smallest))
                power = unsigned(max(unsigned(value.view(unsigned) & exponents), least) + up)
                total = unsigned(real(value + power.view(real)).view(unsigned) - power)
                total = unsigned(total + unsigned((power - lowest) >> surplus))
                below_zero = np.uint32(np.uint32(0) - np.uint32(c[i] >> sign_shift))
                result = np.uint32(np.uint32(total) | np.uint32(below_zero & negative))
                if result == hole:
                    result = np.uint32(0)
                kept = np.uint32(np.uint32(c[i] >> fraction_shift) & payload)
                of_nan = np.uint32(np.uint32(kept | np.uint32(below_zero & nan_sign)) | nan)
                y[i] = of_nan if magnitude > infinity else result
            if special:
                return done
            done += len(y)
        return done

    return round_by_sums


round_by_f32_sums = _by_sums(np.uint32, np.float32)
round_by_f64_sums = _by_sums(np.uint64, np.float64)


@cache
def quantizer(char: str, round_: Function, repeating: bool) -> Function:
    """Return a loop over rows of numbers of a dtype, f or d: divide, add, round to an integer, and clamp.

    ``repeating``: each row has one scale and one point; otherwise all rows have the same, one for each column.
    """
    real, integer = (np.float32, np.int32) if char == "f" else (np.float64, np.int64)

    def quantize(
        numbers: Any,
        rows: Any,
        scales: Any,
        points: Any,
        low: Any,
        high: Any,
        least: Any,
        largest: Any,
        mask: Any,
        out: Any,
    ) -> bool:
        """Fill ``out``, and return whether a number, before the clamp, was a NaN or not from low to high."""
        special = False
        length = len(out) // rows
        for row in range(rows):
            x, y = numbers[row * length : (row + 1) * length], out[row * length : (row + 1) * length]
            scale, point = (scales[row], points[row]) if repeating else (scales[0], points[0])
            for i in range(length):
                s, p = (scale, point) if repeating else (scales[i], points[i])
                whole = real(round_(real(real(x[i] / s) + p)))
                special |= not (low <= whole and whole <= high)
                y[i] = integer(max(min(whole, largest), least)) & mask
        return special

    return quantize


@cache
def dequantizer(char: str, repeating: bool) -> Function:
    """Return a loop over rows of integers: convert to a dtype, f or d, subtract and multiply.

    ``repeating``: as in `quantizer`.
    """
    real = np.float32 if char == "f" else np.float64

    def dequantize(integers: Any, rows: Any, scales: Any, points: Any, out: Any) -> None:
        """Fill ``out`` with numbers."""
        length = len(out) // rows
        for row in range(rows):
            x, y = integers[row * length : (row + 1) * length], out[row * length : (row + 1) * length]
            scale, point = (scales[row], points[row]) if repeating else (scales[0], points[0])
            for i in range(length):
                s, p = (scale, point) if repeating else (scales[i], points[i])
                y[i] = real(real(real(x[i]) - p) * s)

    return dequantize
