"""A machine of `halfulp.fp_formats.paths.words` whose words are NumPy arrays of Python integers: slow, and plain."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact import arithmetic
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.fp_formats.paths.words import F32, F64, Implementation, Word

Numbers = npt.NDArray[Any]

_DTYPES = {True: (np.float32, np.uint32), False: (np.float64, np.uint64)}


class CodeArray:
    """An array of codes below 2**width."""

    def __init__(self, codes: Any, width: int) -> None:
        self.codes = np.asarray(codes, dtype=object)
        self.width = width

    def numbers(self, signed: bool) -> Numbers:
        half = 1 << (self.width - 1)
        return np.where(self.codes >= half, self.codes - 2 * half, self.codes) if signed else self.codes


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_INTEGER: dict[str, tuple[bool, Callable[[int, int], int]]] = {
    "add": (False, operator.add),
    "sub": (False, operator.sub),
    "mul": (False, operator.mul),
    "and": (False, operator.and_),
    "or": (False, operator.or_),
    "xor": (False, operator.xor),
    "shl": (False, operator.lshift),
    "lshr": (False, operator.rshift),
    "ashr": (True, operator.rshift),
    "udiv": (False, operator.floordiv),
    "sdiv": (True, _truncated),
    "urem": (False, operator.mod),
    "srem": (True, lambda a, b: a - b * _truncated(a, b)),
}
_RELATIONS: dict[str, tuple[bool, Callable[[int, int], bool]]] = {
    "==": (False, operator.eq),
    "!=": (False, operator.ne),
    "u<": (False, operator.lt),
    "u<=": (False, operator.le),
    "s<": (True, operator.lt),
    "s<=": (True, operator.le),
}
_ARITHMETIC = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
_ORDERED = {"<": np.less, "<=": np.less_equal, "==": np.equal}


class ArrayMachine:
    """Computes at once. ``refused``: the elements that a description has refused so far."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.refused = np.zeros(count, np.bool_)

    def constant(self, code: int, width: int) -> CodeArray:
        return CodeArray([code] * self.count, width)

    def integer(self, name: str, a: CodeArray, b: CodeArray) -> CodeArray:
        assert a.width == b.width
        signed, compute = _INTEGER[name]
        # A shift amount is not a signed number.
        pairs = zip(a.numbers(signed), b.numbers(signed and name != "ashr"), strict=True)
        return CodeArray([compute(x, y) % (1 << a.width) for x, y in pairs], a.width)

    def relation(self, name: str, a: CodeArray, b: CodeArray) -> CodeArray:
        assert a.width == b.width
        signed, holds = _RELATIONS[name]
        pairs = zip(a.numbers(signed), b.numbers(signed), strict=True)
        return CodeArray([int(holds(x, y)) for x, y in pairs], 1)

    def choose(self, condition: CodeArray, a: Any, b: Any) -> Any:
        yes = condition.codes.astype(np.bool_)
        if isinstance(a, CodeArray):
            assert a.width == b.width
            return CodeArray(np.where(yes, a.codes, b.codes), a.width)
        assert a.dtype == b.dtype
        return np.where(yes, a, b)

    def resize(self, a: CodeArray, width: int, signed: bool) -> CodeArray:
        return CodeArray([int(x) % (1 << width) for x in a.numbers(signed)], width)

    def real(self, code: CodeArray, fmt: FloatFormat) -> Numbers:
        assert code.width == fmt.bits
        floats, codes = _DTYPES[fmt == F32]
        return code.codes.astype(codes).view(floats)

    def code(self, number: Numbers, fmt: FloatFormat) -> CodeArray:
        floats, codes = _DTYPES[fmt == F32]
        assert number.dtype == floats
        return CodeArray(number.view(codes).astype(object), fmt.bits)

    def arithmetic(self, name: str, x: Numbers, y: Numbers) -> Numbers:
        assert x.dtype == y.dtype
        with np.errstate(all="ignore"):
            return np.asarray(_ARITHMETIC[name](x, y))

    def square_root(self, x: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return np.asarray(np.sqrt(x))

    def fused(self, x: Numbers, y: Numbers, z: Numbers) -> Numbers:
        floats, codes = _DTYPES[x.dtype == np.float32]
        a, b, c = x.view(codes), y.view(codes), z.view(codes)
        return arithmetic.fma(F32 if x.dtype == np.float32 else F64, a, b, c).codes.view(floats)

    def ordered(self, name: str, x: Numbers, y: Numbers) -> CodeArray:
        assert x.dtype == y.dtype
        with np.errstate(all="ignore"):
            return CodeArray(_ORDERED[name](x, y).astype(int), 1)

    def extremum(self, largest: bool, x: Numbers, y: Numbers) -> Numbers:
        self.refused |= np.isnan(x) | np.isnan(y)
        with np.errstate(all="ignore"):
            first = (x > y) | ((x == y) & (np.signbit(x) < np.signbit(y)))
        return np.where(first == largest, x, y)

    def convert(self, x: Numbers, fmt: FloatFormat) -> Numbers:
        with np.errstate(all="ignore"):
            return x.astype(_DTYPES[fmt == F32][0])

    def from_integer(self, a: CodeArray, signed: bool, fmt: FloatFormat) -> Numbers:
        numbers = a.numbers(signed).astype(np.int64 if signed else np.uint64)
        return np.asarray(numbers.astype(_DTYPES[fmt == F32][0]))

    def to_integer(self, x: Numbers, width: int, signed: bool) -> CodeArray:
        finite = np.where(np.isfinite(x), x, 0)
        return CodeArray([int(number) % (1 << width) for number in finite.tolist()], width)

    def look_up(self, table: Numbers, index: CodeArray) -> CodeArray:
        return CodeArray(table[index.codes.astype(np.intp)].astype(object), 8 * table.dtype.itemsize)

    def refuse(self, condition: CodeArray) -> None:
        assert condition.width == 1
        self.refused |= condition.codes.astype(np.bool_)

    def leading_zeros(self, a: CodeArray) -> CodeArray:
        return CodeArray([a.width - int(code).bit_length() for code in a.codes.tolist()], a.width)


def described(
    implementation: Implementation, *operands: tuple[Numbers, int]
) -> tuple[list[list[int]], npt.NDArray[np.bool_]]:
    """Return the results of a description for operands (codes, width), and the mask of what it refuses."""
    machine = ArrayMachine(len(operands[0][0]))
    words = [Word(machine, CodeArray(codes_to_ints(codes, width), width), width) for codes, width in operands]
    found = implementation(*words)
    results = found if isinstance(found, tuple) else (found,)
    codes = [[int(code) for code in result.held.codes] for result in results]
    return codes, machine.refused
