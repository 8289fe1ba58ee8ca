"""A bound on the error of a program: how far its results can be from the exact ones, whatever the order of its additions.

A program on tensors is computed in float64, which stands for exact arithmetic. In parallel, intervals are computed that hold
the numbers that the program gives. From the intervals of its operands, an op makes an interval of its exact result, and widens
it by what rounding to its type can add: with p significant bits, 2^-p of the result, or half of the smallest subnormal number.
A sum of n terms adds n 2^-p / (1 - n 2^-p) of the sum of the magnitudes of the terms, which bounds every order of the additions.
float64's own rounding is added at the end.

Only reductions that combine the accumulator with a term by one op are known, and a conversion to a type of 8 bits counts as
a part of the function: it is applied to the exact number, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.build import function_of, module_of
from halfulp.interp.dialects.slices import static_numbers
from halfulp.interp.dialects.structured.structure import REDUCTION, Structure, is_structured, structure_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import evaluated
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.running import find_entry

Floats = npt.NDArray[np.float64]
SLACK = 2.0**-40
"""The relative error of float64 itself, for the few hundred ops of a program."""


class Bounded(NamedTuple):
    """The exact numbers of an array, and the ends of the intervals that hold the computed ones."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return np.shape(self.value)

    @property
    def error(self) -> Floats:
        """The bounds on the distance of a computed number from the exact one."""
        return np.maximum(self.high - self.value, self.value - self.low)

    def mapped(self, function: Callable[[Floats], Any]) -> Bounded:
        """Apply a function that moves elements to the numbers and the ends."""
        return Bounded(*(np.asarray(function(part)) for part in self))


def exact(value: Any) -> Bounded:
    """Return numbers that are computed exactly."""
    array = np.asarray(value, np.float64)
    return Bounded(array, array, array)


def bounds(module: hu.Module, arguments: Sequence[Any], any_order: bool = False) -> tuple[Bounded, ...]:
    """Return the exact results of a module on exact arguments, with intervals that hold the computed results.

    ``any_order``: for any order of the additions; otherwise in that of the loops.
    """
    (block,) = find_entry(module).regions[0].blocks
    given: Known = dict(zip(block.arguments, (exact(np.asarray(value)) for value in arguments), strict=True))
    results = _Program(any_order).run(block, given)
    return tuple(_wider(result, SLACK * np.abs(result.value)) for result in results)


def _wider(result: Bounded, by: Any) -> Bounded:
    return Bounded(result.value, result.low - by, result.high + by)


def _sorted(value: Floats, *ends: Floats) -> Bounded:
    """Return the interval that holds the value and all of the ends."""
    every = np.stack(np.broadcast_arrays(value, *ends))
    return Bounded(value, every.min(axis=0), every.max(axis=0))


# --- rounding -----------------------------------------------------------------------------------------------------------


def _format(type_: ty.Type) -> hu.FloatFormat | None:
    element = ty.element_type(type_)
    return element.format if isinstance(element, ty.FloatType) else None


def _unit(fmt: hu.FloatFormat) -> float:
    return 2.0 ** -(fmt.mantissa_bits + 1)


def _rounded(result: Bounded, type_: ty.Type) -> Bounded:
    """Widen an interval by what one rounding to a type can add. A number of the type is not rounded."""
    fmt = _format(type_)
    if fmt is None:
        return result
    unit, tiny = _unit(fmt), float(fmt.min_positive_value) / 2
    known = (result.low == result.high) & (result.low == result.value)
    known &= _quantized(np.where(known, result.value, 0), fmt) == result.value
    low, high = (end + sign * (unit * np.abs(end) + tiny) for end, sign in ((result.low, -1), (result.high, 1)))
    return Bounded(result.value, np.where(known, result.low, low), np.where(known, result.high, high))


def _quantized(value: Floats, fmt: hu.FloatFormat) -> Floats:
    return value if fmt.name == "f64" else np.asarray(hu.convert(value, fmt).numpy(), np.float64)


def _by_ends(function: Callable[[Floats], Floats], operand: Bounded) -> Bounded:
    """Apply a function that rises, or falls, everywhere."""
    return _sorted(*(function(part) for part in operand))


# --- ops on elements ----------------------------------------------------------------------------------------------------


def _add(a: Bounded, b: Bounded) -> Bounded:
    return Bounded(a.value + b.value, a.low + b.low, a.high + b.high)


def _subtract(a: Bounded, b: Bounded) -> Bounded:
    return Bounded(a.value - b.value, a.low - b.high, a.high - b.low)


def _by_corners(function: Callable[[Floats, Floats], Any]) -> Callable[[Bounded, Bounded], Bounded]:
    """Apply a function that rises, or falls, in each operand alone."""
    return lambda a, b: _sorted(
        function(a.value, b.value), *(function(x, y) for x in (a.low, a.high) for y in (b.low, b.high))
    )


def _divide(a: Bounded, b: Bounded) -> Bounded:
    assert np.all((b.low > 0) | (b.high < 0)), "a divisor may be 0"
    return _by_corners(np.divide)(a, b)


def _power(a: Bounded, b: Bounded) -> Bounded:
    assert np.all(a.low > 0)
    return _by_corners(np.power)(a, b)


def _extremum(function: Callable[..., Any]) -> Callable[[Bounded, Bounded], Bounded]:
    return lambda a, b: Bounded(*(function(x, y) for x, y in zip(a, b, strict=True)))


def _rising(function: Callable[[Floats], Floats]) -> Callable[[Bounded], Bounded]:
    return lambda operand: _by_ends(function, operand)


def _wave(function: Callable[[Floats], Floats]) -> Callable[[Bounded], Bounded]:
    """Apply sin or cos: the slope is at most 1, and so is each result."""

    def applied(operand: Bounded) -> Bounded:
        value, apart = function(operand.value), operand.error
        return Bounded(value, np.maximum(value - apart, -1), np.minimum(value + apart, 1))

    return applied


def _magnitude(operand: Bounded) -> Bounded:
    ends = np.abs(operand.low), np.abs(operand.high)
    least = np.where((operand.low <= 0) & (operand.high >= 0), 0, np.minimum(*ends))
    return Bounded(np.abs(operand.value), least, np.maximum(*ends))


def _reciprocal_root(x: Floats) -> Floats:
    assert np.all(x > 0)
    return np.asarray(1 / np.sqrt(x))


_erf = np.vectorize(math.erf, otypes=[np.float64])

ROUNDED: Mapping[str, Callable[..., Bounded]] = {
    "arith.addf": _add,
    "arith.subf": _subtract,
    "arith.mulf": _by_corners(np.multiply),
    "arith.divf": _divide,
    "arith.sitofp": lambda a: a,
    "arith.uitofp": lambda a: a,
    "math.exp": _rising(np.exp),
    "math.expm1": _rising(np.expm1),
    "math.log": _rising(np.log),
    "math.log1p": _rising(np.log1p),
    "math.sqrt": _rising(np.sqrt),
    "math.cbrt": _rising(np.cbrt),
    "math.rsqrt": _rising(_reciprocal_root),
    "math.tanh": _rising(np.tanh),
    "math.atan": _rising(np.arctan),
    "math.erf": _rising(_erf),
    "math.sin": _wave(np.sin),
    "math.cos": _wave(np.cos),
    "math.powf": _power,
}
"""Ops whose result is the exact one, rounded."""

MOVED: Mapping[str, Callable[..., Bounded]] = {
    "arith.negf": lambda a: Bounded(-a.value, -a.high, -a.low),
    "math.absf": _magnitude,
    "arith.maximumf": _extremum(np.maximum),
    "arith.minimumf": _extremum(np.minimum),
    "arith.extf": lambda a: a,
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _by_corners(np.multiply),
    "arith.maxsi": _extremum(np.maximum),
    "arith.minsi": _extremum(np.minimum),
    "arith.extsi": lambda a: a,
    "arith.index_cast": lambda a: a,
    "math.roundeven": _rising(np.rint),
    "math.floor": _rising(np.floor),
    "math.ceil": _rising(np.ceil),
    "arith.fptosi": _rising(np.trunc),
}
"""Ops whose result has no rounding of its own."""

_ORDERED: Mapping[str, Callable[[Floats, Floats], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_FLOAT_PREDICATES = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 6: "ne", 8: "eq", 9: "gt", 10: "ge", 11: "lt", 12: "le", 13: "ne"}  # fmt: skip
_INTEGER_PREDICATES = {0: "eq", 1: "ne", 2: "lt", 3: "le", 4: "gt", 5: "ge"}


def _compared(op: Operation, a: Bounded, b: Bounded) -> Bounded:
    """Return 1 or 0, and the interval of both where the operands' intervals do not decide."""
    predicate = op.properties["predicate"]
    assert isinstance(predicate, at.IntegerAttr)
    names = _FLOAT_PREDICATES if op.name == "arith.cmpf" else _INTEGER_PREDICATES
    found = np.asarray(_ORDERED[names[predicate.value]](a.value, b.value), np.float64)
    apart = (a.high < b.low) | (b.high < a.low) | ((a.low == a.high) & (b.low == b.high))
    return Bounded(found, np.where(apart, found, 0), np.where(apart, found, 1))


def _selected(_: Operation, condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    value = np.where(condition.value != 0, a.value, b.value)
    low = np.where(condition.low == 1, a.low, np.where(condition.high == 0, b.low, np.minimum(a.low, b.low)))
    high = np.where(condition.low == 1, a.high, np.where(condition.high == 0, b.high, np.maximum(a.high, b.high)))
    return Bounded(value, low, high)


def _narrowed(op: Operation, operand: Bounded) -> Bounded:
    fmt = _format(op.results[0].type)
    assert fmt is not None
    if fmt.bits > 8:
        return _rounded(operand, op.results[0].type)
    return _by_ends(lambda x: _quantized(x, fmt), operand)


def _constant(op: Operation) -> Bounded:
    """Return a constant. One that uses most bits of its type stands for a number that was rounded to it."""
    type_ = op.results[0].type
    block = Block()
    block.append(Operation(op.name, op.definition, [], [type_], op.properties))
    (value,) = hu.run(module_of([function_of("main", block, block.operations[0].results)]))
    found, fmt = exact(value.numpy()), _format(type_)
    if fmt is None:
        return found
    finite = np.where(np.isfinite(found.value), found.value, 0)
    short = np.ldexp(np.frexp(finite)[0], fmt.mantissa_bits // 2 + 1) % 1 == 0
    return _wider(found, np.where(short, 0, _unit(fmt) * np.abs(finite)))


# --- blocks -------------------------------------------------------------------------------------------------------------

Known = dict[SSAValue, Bounded]


@dataclass(frozen=True)
class _Program:
    """The evaluation of a program. ``any_order``: whether additions may have any order."""

    any_order: bool

    def run(self, block: Block, known: Known, space: Sequence[Any] = ()) -> list[Bounded]:
        """Return the operands of the terminator. ``space``: for a body, the index along each dimension, as arrays."""
        for op in block.operations[:-1]:
            results = self.results(op, known, space)
            known.update(zip(op.results, results, strict=True))
        return [known[value] for value in block.operations[-1].operands]

    def results(self, op: Operation, known: Known, space: Sequence[Any]) -> Iterable[Bounded]:
        operands = [known[value] for value in op.operands]
        if op.name == "linalg.index":
            dimension = op.properties["dim"]
            assert isinstance(dimension, at.IntegerAttr)
            return [exact(space[dimension.value])]
        if op.name == "tensor.extract" and space:
            return [_taken(operands[0], [index.value.astype(int) for index in operands[1:]])]
        if is_structured(op):
            return self.structured(op, structure_of(op), known)
        if op.name == "scf.for":
            return self.loop(op, known)
        if op.name == "tensor.pad":
            inner = op.regions[0].blocks[0]
            return [_padded(op, operands[0], *self.run(inner, dict(known)))]
        if op.name in ROUNDED:
            return [_rounded(ROUNDED[op.name](*operands), op.results[0].type)]
        if op.name in MOVED:
            return [MOVED[op.name](*operands)]
        return [OTHERS[op.name](op, *operands)]

    def loop(self, op: Operation, known: Known) -> list[Bounded]:
        low, high, step = (int(known[value].value) for value in op.operands[:3])
        carried = [known[value] for value in op.operands[3:]]
        (block,) = op.regions[0].blocks
        for index in range(low, high, step):
            known.update(zip(block.arguments, [exact(index), *carried], strict=True))
            carried = self.run(block, known)
        return carried

    def structured(self, op: Operation, structure: Structure, known: Known) -> list[Bounded]:
        sizes = _sizes(structure, known)
        rank = len(sizes)
        space = [
            np.arange(size).reshape([-1 if axis == k else 1 for axis in range(rank)]) for k, size in enumerate(sizes)
        ]
        inner = dict(known)
        for argument, operand, map_ in zip(structure.block.arguments, structure.operands, structure.maps, strict=True):
            places = [evaluated(each, space) for each in map_.results]
            inner[argument] = _taken(known[operand], places)
        reduced = tuple(axis for axis, iterator in enumerate(structure.iterators) if iterator == REDUCTION)
        folded = [self.folded(structure, inner, space, sizes, reduced)] if reduced else None
        results = folded or self.run(structure.block, inner, space)
        written = zip(results, structure.inits, structure.maps[len(structure.inputs) :], strict=True)
        return [_stored(result, known[init], map_, space, sizes, reduced) for result, init, map_ in written]

    def folded(
        self, structure: Structure, known: Known, space: Sequence[Any], sizes: Sequence[int], reduced: tuple[int, ...]
    ) -> Bounded:
        """Return the accumulator after a reduction, with size 1 along the reduced dimensions."""
        *_, combine, end = structure.block.operations
        accumulator = structure.block.arguments[len(structure.inputs)]
        assert end.operands[0] is combine.results[0], "a reduction ends with the op that combines"
        assert sum(value is accumulator for op in structure.block.operations for value in op.operands) == 1
        (term,) = (value for value in combine.operands if value is not accumulator)
        for op in structure.block.operations[:-2]:
            known.update(zip(op.results, self.results(op, known, space), strict=True))
        terms = known[term].mapped(lambda part: np.broadcast_to(part, sizes))
        start = known[accumulator].mapped(lambda part: np.broadcast_to(part, sizes).max(axis=reduced, keepdims=True))
        if combine.name in _EXTREMA:
            both, outermost = _EXTREMA[combine.name]
            return _extremum(both)(terms.mapped(lambda part: outermost(part, axis=reduced, keepdims=True)), start)
        assert combine.name in ("arith.addf", "arith.addi"), combine.name
        if not self.any_order:
            return _in_order(start, terms, combine.results[0].type, reduced)
        total = _add(terms.mapped(lambda part: part.sum(axis=reduced, keepdims=True)), start)
        fmt = _format(combine.results[0].type)
        if fmt is None:
            return total
        of_terms = np.maximum(np.abs(terms.low), np.abs(terms.high)).sum(axis=reduced, keepdims=True)
        magnitude = of_terms + np.maximum(np.abs(start.low), np.abs(start.high))
        count = math.prod(sizes[axis] for axis in reduced)
        share = count * _unit(fmt)
        # As many additions as the type has numbers to an ulp may lose everything.
        relative = share / (1 - share) if share < 1 else math.inf
        return _wider(total, relative * magnitude + count * float(fmt.min_positive_value))


def _in_order(start: Bounded, terms: Bounded, type_: ty.Type, reduced: tuple[int, ...]) -> Bounded:
    """Add terms one after the other, in the order of the loops, and round each sum."""
    kept = [axis for axis in range(len(terms.shape)) if axis not in reduced]
    order = (*kept, *reduced)
    shape = [terms.shape[axis] for axis in kept]
    rows = terms.mapped(lambda part: part.transpose(order).reshape(*shape, -1))
    total = start.mapped(lambda part: part.transpose(order).reshape(shape))
    for k in range(rows.shape[-1]):
        total = _rounded(_add(total, rows.mapped(lambda part, k=k: part[..., k])), type_)  # type: ignore[misc]
    return total.mapped(lambda part: np.expand_dims(part, reduced))


def _taken(whole: Bounded, indices: Any) -> Bounded:
    place = tuple(indices)
    return whole.mapped(lambda part: part[place])


def _sizes(structure: Structure, known: Known) -> list[int]:
    """Return the size of each dimension: that of an operand indexed by it alone."""
    found: dict[int, int] = {}
    for operand, map_ in zip(structure.operands, structure.maps, strict=True):
        for each, size in zip(map_.results, known[operand].shape, strict=True):
            position = getattr(each, "position", None)
            if position is not None:
                found[position] = size
    return [found[k] for k in range(len(structure.iterators))]


_EXTREMA: Mapping[str, tuple[Any, Any]] = {
    "arith.maximumf": (np.maximum, np.max),
    "arith.minimumf": (np.minimum, np.min),
    "arith.maxsi": (np.maximum, np.max),
    "arith.minsi": (np.minimum, np.min),
}


def _stored(
    result: Bounded, init: Bounded, map_: at.AffineMapAttr, space: Sequence[Any], sizes: Sequence[int], reduced: Any
) -> Bounded:
    shape = [1 if axis in reduced else size for axis, size in enumerate(sizes)]
    within = [np.zeros_like(each) if axis in reduced else each for axis, each in enumerate(space)]
    places = tuple(evaluated(each, within) for each in map_.results)
    stored = []
    for part, whole in zip(result, init, strict=True):
        full = np.array(whole)
        full[places] = np.broadcast_to(part, shape).reshape(np.shape(full[places]))
        stored.append(full)
    return Bounded(*stored)


# --- ops on tensors -----------------------------------------------------------------------------------------------------


def _empty(op: Operation, *sizes: Bounded) -> Bounded:
    given = iter(sizes)
    shape = [int(next(given).value) if size is None else size for size in ty.shape_of(op.results[0].type) or ()]
    return Bounded(np.full(shape, np.nan), np.full(shape, -np.inf), np.full(shape, np.inf))


def _reshaped(op: Operation, operand: Bounded, *_: Bounded) -> Bounded:
    shape = tuple(-1 if size is None else size for size in ty.shape_of(op.results[0].type) or ())
    return operand.mapped(lambda part: part.reshape(shape))


def _place(op: Operation, dynamic: Sequence[Bounded]) -> tuple[slice, ...]:
    given = iter(dynamic)
    lists = [
        [int(next(given).value) if number is None else number for number in static_numbers(op, name)]
        for name in ("offsets", "sizes", "strides")
    ]
    return tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(*lists, strict=True))


def _slice(op: Operation, whole: Bounded, *dynamic: Bounded) -> Bounded:
    place = _place(op, dynamic)
    return _reshaped(op, whole.mapped(lambda part: part[place]))


def _inserted(op: Operation, part: Bounded, whole: Bounded, *dynamic: Bounded) -> Bounded:
    place = _place(op, dynamic)
    parts = []
    for inner, outer in zip(part, whole, strict=True):
        full = np.array(outer)
        full[place] = inner.reshape(full[place].shape)
        parts.append(full)
    return Bounded(*parts)


def _padded(op: Operation, operand: Bounded, filling: Bounded) -> Bounded:
    lists = zip(static_numbers(op, "low"), static_numbers(op, "high"), strict=True)
    around = [(int(low or 0), int(high or 0)) for low, high in lists]
    return Bounded(*(np.pad(part, around, constant_values=fill) for part, fill in zip(operand, filling, strict=True)))


OTHERS: Mapping[str, Callable[..., Bounded]] = {
    "arith.cmpf": _compared,
    "arith.cmpi": _compared,
    "arith.constant": lambda op: _constant(op),
    "arith.select": _selected,
    "arith.truncf": _narrowed,
    "tensor.cast": lambda _, operand: operand,
    "tensor.collapse_shape": _reshaped,
    "tensor.empty": _empty,
    "tensor.expand_shape": _reshaped,
    "tensor.extract": lambda _, whole, *indices: _taken(whole, [index.value.astype(int) for index in indices]),
    "tensor.extract_slice": _slice,
    "tensor.insert_slice": _inserted,
}
"""Ops that are taken with their properties."""


# --- rounding by search -----------------------------------------------------------------------------------------------
#
# Rounding by a search among all numbers of a format of up to 16 bits, which shares no code with halfulp's rounding.
#
# An exact result is given as a float that lies between the same boundaries (values and midpoints of the format):
# itself, if it has at most 50 bits; otherwise any number between its neighbours of 50 bits.

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NAN = -1
"""Stands for each NaN, and for poison in a format without NaN."""


class Searched:
    """A format as the sorted list of its numbers that are not negative, with their codes."""

    def __init__(self, fmt: FloatFormat) -> None:
        self.fmt = fmt
        codes = range(1 << fmt.bits - fmt.signed)
        found = [(value, code) for code in codes if (value := scalar.value(fmt, code)) is not None]
        assert found == sorted(found)
        self.numbers: Reals = np.array([float(value) for value, _ in found])
        self.largest = found[-1][1]

    def operand(self, code: int) -> float:
        """Return the number of a code, as a float."""
        exact = scalar.value(self.fmt, code)
        if exact is not None:
            return float(exact) if exact or not code else -0.0
        if not self.fmt.is_infinite(code):
            return np.nan
        return -np.inf if code & (self.fmt.sign_mask or 0) else np.inf

    def infinity(self, negative: Any) -> Integers:
        """Return the codes that stand for infinities; ``negative``: which are below zero."""
        fmt = self.fmt
        if fmt.infinity_code is None and fmt.nan_code is not None:
            return np.full(np.shape(negative), NAN)
        code = self.largest if fmt.infinity_code is None else fmt.infinity_code
        return np.where(negative, NAN if not fmt.signed else code | 1 << fmt.bits - 1, code)

    def rounded(self, exact: Reals, mode: Rounding) -> Integers:
        """Return codes, `NAN` for NaN. Infinities are exact; what is merely large is finite."""
        fmt, negative, magnitude = self.fmt, np.signbit(exact), np.abs(exact)
        below = np.maximum(np.searchsorted(self.numbers, magnitude, "right") - 1, 0)
        beyond = 2 * self.numbers[-1] - self.numbers[-2] if fmt.mantissa_bits else 2 * self.numbers[-1]
        steps = np.append(self.numbers, beyond)
        low, high = steps[below], steps[below + 1]
        middle = (low + high) / 2
        # The only significand of a format without mantissa is odd.
        odd = (below % 2 == 1) | (fmt.mantissa_bits == 0)
        up = {
            Rounding.TO_NEAREST_EVEN: (magnitude > middle) | ((magnitude == middle) & odd),
            Rounding.TO_NEAREST_AWAY: magnitude >= middle,
            Rounding.TOWARD_ZERO: np.zeros_like(negative),
            Rounding.UPWARD: ~negative,
            Rounding.DOWNWARD: negative,
        }[mode]
        index = below + (up & (magnitude > low))
        overflow = index > self.largest
        sign = np.where(negative & fmt.signed, 1 << fmt.bits - 1, 0)
        codes = index | np.where((index == 0) & (not fmt.has_negative_zero), 0, sign)
        if not fmt.signed:
            codes = np.where(negative & (magnitude > 0), NAN, codes)
        codes = np.where(overflow, self.infinity(negative), codes)
        codes = np.where(np.isinf(exact), self.infinity(negative), codes)
        found: Integers = np.where(np.isnan(exact), NAN, codes)
        return found

    def plain(self, codes: npt.NDArray[Any], poison: npt.NDArray[np.bool_] | None) -> Integers:
        """Return results of halfulp with `NAN` in the place of NaNs and of poison."""
        kinds = np.array([self.fmt.is_nan(code) for code in range(1 << self.fmt.bits)])
        nan = kinds[codes] if poison is None else kinds[codes] | poison
        plain: Integers = np.where(nan, NAN, codes.astype(np.int64))
        return plain
