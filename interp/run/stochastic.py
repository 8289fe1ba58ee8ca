"""Stochastic rounding: the ops that have it, their kernels, and the random bits that a run takes from its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Module, Operation
from halfulp.semantics import casts, emulated, floats
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile
from halfulp.semantics.random_sources import RandomSource, Words

ARITHMETIC: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
    "math.fma": "fma",
    "vector.fma": "fma",
}
"""The arithmetic that can round stochastically, by the functions of `halfulp.fp_formats.scalar`."""
CONVERSIONS = frozenset({"arith.truncf", "arith.convertf"})
"""The casts between floats that can round stochastically."""
FROM_INTEGERS: Mapping[str, bool] = {"arith.sitofp": True, "arith.uitofp": False}
"""The casts from integers that can round stochastically; True for signed integers."""

RandomBits = tuple[Any, int]
"""One unsigned integer for each element, or a Python integer for a scalar, and the bits of each."""

_PARTS = (*ARITHMETIC, *sorted(CONVERSIONS), *FROM_INTEGERS)
_PART = 1 << 24
"""What distinguishes, in the numbers of ops, the ops that an op is made of but the program does not spell."""
_RUNS = (1 << 32) - 1
"""The greatest number of a run."""
_AHEAD = 256
"""The draws of scalars that are made together."""


def stochastic_kernel(op: Operation, profile: Profile) -> Kernel:
    """Return the kernel of an op that rounds by random bits, its last operand; see
    `halfulp.semantics.floats.stochastic`.

    Raises Unsupported for an op without stochastic rounding, and for formats that the profile emulates in f32.
    """
    elements = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
    source, target = elements[0], elements[-1]
    fastmath = getattr(op.properties.get("fastmath"), "value", 0)
    if isinstance(target, ty.FloatType):
        formats = [each.format for each in elements if isinstance(each, ty.FloatType)]
        if emulated.emulates(profile, *formats):
            raise Unsupported(f"'{op.name}' is emulated in f32 (narrow_floats), which has no stochastic rounding")
        if op.name in ARITHMETIC:
            return floats.stochastic(ARITHMETIC[op.name], target.format, profile, fastmath)
        if op.name in CONVERSIONS and isinstance(source, ty.FloatType):
            return casts.convert_stochastically(source.format, target.format, profile, fastmath)
        if op.name in FROM_INTEGERS and isinstance(source, ty.IntegerType):
            signed, nneg = FROM_INTEGERS[op.name], "nonNeg" in op.properties and profile.keeps_integer_flags
            return casts.from_integer_stochastically(source.width, signed, target.format, profile, nneg)
    raise Unsupported(f"'{op.name}' has no stochastic rounding")


def rounds_stochastically(op: Operation, profile: Profile) -> bool:
    """Tell whether an op of a program rounds stochastically: it is of a kind that can, and it names no rounding
    mode.
    """
    if profile.program_rounding == "to_nearest_even" or op.properties.get("roundingmode") is not None:
        return False
    if op.name in CONVERSIONS:
        return profile.conversion_rounding == "given"
    floats_alone = op.name in ARITHMETIC and isinstance(ty.element_type(op.results[0].type), ty.FloatType)
    return profile.program_rounding == "stochastic" and (floats_alone or op.name in FROM_INTEGERS)


def refuse_stochastic(profile: Profile, what: str) -> Profile:
    """Return the profile if it does not round stochastically. Raises InputError if it does, because ``what`` takes no
    random bits.
    """
    if profile.program_rounding != "to_nearest_even":
        raise InputError(
            f"the profile {profile.name} rounds stochastically, but {what} takes no random bits",
            hint="leave out program_rounding; halfulp run, trace and vectors take --random",
        )
    return profile


class OpNumbers:
    """The numbers of the ops of a module, in the order of its text, from 0 for the module itself."""

    def __init__(self, module: Module) -> None:
        self._numbers = {op: number for number, op in enumerate(module.walk())}

    def of(self, op: Operation, behalf: Operation) -> int:
        """Return the number of an op. An op that is not in the text of the program has the number of the op for which
        it runs, and its kind in the high bits.
        """
        number = self._numbers.get(op)
        return self._numbers[behalf] + _PART * (1 + _PARTS.index(op.name)) if number is None else number


class Lanes(Protocol):
    """The lanes of a batch that are running: their numbers, and how many the batch has."""

    numbers: npt.NDArray[np.intp]
    total: int


class Draws:
    """The random bits that a run, or each lane of a batch, has taken from its source.

    ``run``: the number of the run, or of the run that each lane stands for; the run number of the source is added,
    modulo 2^32. The draws of a source are numbered one after the other, for each op by itself or for all ops together;
    those of an array are in row-major order of its elements.
    """

    __slots__ = ("_ahead", "_numbers", "_positions", "_run", "_source")

    def __init__(self, source: RandomSource, numbers: OpNumbers, run: int | Words) -> None:
        self._source = source
        self._numbers = numbers
        self._run = run + source.run & _RUNS if isinstance(run, int) else run + np.uint64(source.run) & np.uint64(_RUNS)
        self._positions: dict[int, Any] = {}
        self._ahead: dict[int, tuple[int, list[int]]] = {}

    def kernel(
        self, op: Operation, behalf: Operation, shape: tuple[int, ...], profile: Profile, lanes: Lanes | None = None
    ) -> Kernel:
        """Return the kernel of one execution of an op, for elements of this shape; its first axis is over ``lanes``."""
        number = self._numbers.of(op, behalf)
        if lanes is None:
            size = prod(shape)
            bits = self._drawn(self._take(number, size), size, number)
        else:
            size = prod(shape[1:])
            firsts = self._take_in_lanes(number, size, lanes)
            positions: Words = np.add.outer(firsts, np.arange(size, dtype=np.uint64)).reshape(-1)
            assert not isinstance(self._run, int)
            bits = self._source.drawn(positions, number, np.repeat(self._run[lanes.numbers], size))
        return stochastic_kernel(op, profile).given((bits.reshape(shape), self._source.bits))

    def one(self, op: Operation) -> RandomBits:
        """Return the random bits of one execution of an op on single numbers."""
        number = self._numbers.of(op, op)
        position, key = self._take(number, 1), self._key(number)
        first, words = self._ahead.get(key, (0, []))
        if not first <= position < first + len(words):
            first, words = self._ahead[key] = position, self._drawn(position, _AHEAD, number).tolist()
        return words[position - first], self._source.bits

    def give_back(self, op: Operation) -> None:
        """Undo the last draw of an op for one number."""
        self._take(self._numbers.of(op, op), -1)

    def kernel_at(
        self, op: Operation, behalf: Operation, points: Words, turn: tuple[int, int], profile: Profile
    ) -> Kernel:
        """Return the kernel of an op in the body of another one, for points of its loops.

        ``points``: their numbers, in the order of the loops. ``turn``: the number of this op among the ops of the body
        that take random bits, and how many of these there are. The draws are made for one point after the other.
        """
        number = self._numbers.of(op, behalf)
        ordinal, count = (0, 1) if self._source.by_op else turn
        first = self._positions.get(self._key(number), 0)
        positions = points.reshape(-1) * np.uint64(count) + np.uint64(first + ordinal)
        bits = self._source.drawn(positions, number, self._run).reshape(points.shape)
        return stochastic_kernel(op, profile).given((bits, self._source.bits))

    def pass_points(self, ops: Sequence[Operation], behalf: Operation, points: int) -> None:
        """Skip the draws of ops that run for another op: those of all points of its loops, or of elements that a mask
        leaves out.
        """
        for op in ops:
            self._take(self._numbers.of(op, behalf), points)

    def _key(self, number: int) -> int:
        return number if self._source.by_op else 0

    def _take(self, number: int, size: int) -> int:
        """Return the position of the next draw of an op, and skip so many draws."""
        key = self._key(number)
        first: int = self._positions.get(key, 0)
        self._positions[key] = first + size
        return first

    def _take_in_lanes(self, number: int, size: int, lanes: Lanes) -> Words:
        """Return the position of the next draw of an op in each lane that runs, and skip so many draws."""
        key = self._key(number)
        if key not in self._positions:
            self._positions[key] = np.zeros(lanes.total, np.uint64)
        firsts: Words = self._positions[key][lanes.numbers]
        self._positions[key][lanes.numbers] = firsts + np.uint64(size)
        return firsts

    def _drawn(self, first: int, size: int, number: int) -> Codes:
        if isinstance(self._run, int):
            return self._source.stretch(first, size, number, self._run)
        positions: Words = np.uint64(first) + np.arange(size, dtype=np.uint64)
        return self._source.drawn(positions, number, self._run)
