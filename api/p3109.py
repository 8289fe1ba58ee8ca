"""The operations of IEEE P3109 on arrays and on blocks, and the kappa of approximate operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Rounding, StochasticRule, as_rounding
from halfulp.fp_formats.reals.extended import Number
from halfulp.fp_formats.scalar import Random, drawn_bits
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.elements import random_bits
from halfulp.interp.values.value import Value, to_value
from halfulp.quantizing.blocks import float_value
from halfulp.semantics import p3109 as rules
from halfulp.semantics.p3109 import COMPARISONS, OPERATIONS, PREDICATES, REDUCTIONS, ROUNDINGS, SATURATIONS, STOCHASTIC

__all__ = ["eval", "kappa"]

_TO_BLOCK = ("ConvertToBlock", "ConvertToBlockMaxAbsFinite")
_OF_BLOCKS: dict[str, int] = {
    "ConvertFromBlock": 1,
    **dict.fromkeys(REDUCTIONS, 1),
    "BlockDotProduct": 2,
}
"""The operations on blocks whose result is not a block, with the number of blocks that they take."""
_MOST_PAIRS = 1 << 16
_RANDOM_WIDTH = 8
"""The number of random bits for each result; `kappa` measures all of their values."""


@dataclass(frozen=True)
class Projection:
    """A projection specification: the format, the rounding mode and the saturation mode of a result."""

    format: FloatFormat
    rounding: Rounding
    saturation: str
    stochastic: StochasticRule | None = None

    def __call__(self, number: Number, random: Random = None) -> int:
        """Return the code of a number. ``random``: for a stochastic mode, the random bits and their width."""
        bits = None if self.stochastic is None else drawn_bits(random, self.stochastic)
        return rules.project(self.format, number, self.rounding, self.saturation, bits)


def eval(
    operation: str,
    *operands: Any,
    to: Any = None,
    rounding: str = "NearestTiesToEven",
    saturation: str = "SatNone",
    random: Any = None,
    scale: Any = None,
    scale_type: Any = None,
    scale_rounding: str = "NearestTiesToEven",
    scale_saturation: str = "SatNone",
    scale_random: Any = None,
    type: Any = None,
) -> Any:
    """Compute an operation of IEEE P3109 exactly, rounded and saturated once, and return a `Value`.

    ``operation``: its name in the document: "Add", "FMA", "Exp", "Clamp", "CompareLess", "IsNormal"; operations on
    blocks are "BlockAdd", "ConvertToBlock", "ConvertToBlockMaxAbsFinite", "ConvertFromBlock", "BlockReduceAdd",
    "BlockDotProduct" and others.
    ``operands``: arrays or `Value`s whose type is a format of P3109, or f64, f32, f16 or bf16; all of one shape.
    Numbers are possible, too. A block is a pair (scale, elements): ``elements`` has the shape of ``scale`` and one more
    dimension.
    ``to``: the format of the result; by default that of the first operand, or of its elements.
    ``rounding``: NearestTiesToEven, NearestTiesToAway, TowardPositive, TowardNegative, TowardZero, ToOdd, StochasticA,
    StochasticB or StochasticC; halfulp's names of the first six are accepted, too.
    ``saturation``: SatNone (OvfInf in interim report 3.2), SatFinite or SatPropagate.
    ``random``: the random bits of a stochastic mode: an unsigned integer for each element of the result, whose dtype is
    the number of bits.
    ``scale``: for a block operation, the scale of the result. A block operation returns a pair (scale, elements).
    ``scale_type``, ``scale_rounding``, ``scale_saturation``, ``scale_random``: for ConvertToBlockMaxAbsFinite, how the
    scale is computed.
    ``type``: the type of operands that are plain numbers.

        hu.p3109.eval("Add", x, y, to="binary8p3se", rounding="ToOdd", saturation="SatFinite")

    Comparisons and predicates return values of i1. "Class" returns the document's names, "ClsPositiveNormal", in an
    array of strings.

    Raises ValueError for an unknown name, mode or format, for a wrong number of operands, for shapes that do not match,
    for random bits without a stochastic mode, and for a stochastic mode without random bits; TypeMismatch for operands
    that are not floats, and for random bits of a wrong shape or dtype.
    """
    how = _How(to, rounding, saturation, random)
    if operation in PREDICATES or operation in COMPARISONS:
        return _booleans(operation, [_operand(x, type) for x in operands])
    if operation == "Class":
        _count(operation, operands, 1)
        return _classes(_operand(operands[0], type))
    if operation in OPERATIONS:
        return _elementwise(operation, [_operand(x, type) for x in operands], how)
    if operation in _TO_BLOCK:
        _count(operation, operands, 1)
        (x,) = (_operand(each, type) for each in operands)
        of_scale = _How(scale_type, scale_rounding, scale_saturation, scale_random)
        return _to_block(operation, x, how, scale, of_scale)
    if operation in _OF_BLOCKS:
        _count(operation, operands, _OF_BLOCKS[operation])
        return _of_blocks(operation, [_block(each, type) for each in operands], how)
    name = operation.removeprefix("Block")
    if operation.startswith("Block") and name in OPERATIONS:
        _count(operation, operands, OPERATIONS[name].arity)
        return _between_blocks(name, [_block(each, type) for each in operands], how, scale)
    of_codes = [*OPERATIONS, *COMPARISONS, *PREDICATES, "Class"]
    known = [*of_codes, *_TO_BLOCK, *_OF_BLOCKS, *(f"Block{name}" for name in OPERATIONS)]
    raise ValueError(with_hint(f"halfulp has no operation {operation!r} of P3109", did_you_mean(operation, known)))


def _count(operation: str, operands: Sequence[Any], wanted: int) -> None:
    if len(operands) != wanted:
        raise ValueError(f"{operation} takes {wanted} operands, not {len(operands)}")


# --- what is given ----------------------------------------------------------------------------------------------------


def _operand(given: Any, type_: Any) -> Value:
    value = float_value(given, type_)
    _check_format(ty.float_format(value.type))
    return value


def _check_format(fmt: FloatFormat) -> FloatFormat:
    if not rules.takes(fmt):
        names = ", ".join(each.name for each in rules.EXTERNAL)
        raise ValueError(f"{fmt.name} is not a format of P3109, such as binary8p3se, and none of {names}")
    return fmt


def _block(given: Any, type_: Any) -> tuple[Value, Value]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError("a block is a pair (scale, elements)")
    scale, elements = _operand(given[0], type_), _operand(given[1], type_)
    if scale.shape != elements.shape[:-1] or not elements.shape or not elements.shape[-1]:
        raise ValueError(
            f"scales of shape {scale.shape} do not fit elements of shape {elements.shape}: elements have one more "
            "dimension, of at least one element"
        )
    return scale, elements


@dataclass(frozen=True)
class _How:
    """The arguments of `p3109` that describe the results."""

    to: Any
    rounding: str
    saturation: str
    random: Any = None

    def projection(self, default: FloatFormat) -> Projection:
        fmt = default
        if self.to is not None:
            found = as_type(self.to)
            if not isinstance(found, ty.FloatType):
                raise ValueError(f"to is '{found}', but must be a float format")
            fmt = found.format
        name = "SatNone" if self.saturation == "OvfInf" else self.saturation
        if name not in SATURATIONS:
            raise ValueError(f"saturation is {self.saturation!r}, but must be one of {', '.join(SATURATIONS)}, OvfInf")
        if self.rounding in STOCHASTIC:
            return Projection(_check_format(fmt), Rounding.STOCHASTIC, name, STOCHASTIC[self.rounding])
        mode = ROUNDINGS[self.rounding] if self.rounding in ROUNDINGS else as_rounding(self.rounding)
        if mode not in ROUNDINGS.values():
            choices = ", ".join((*ROUNDINGS, *STOCHASTIC))
            raise ValueError(f"rounding is {self.rounding!r}, but must be one of {choices}")
        return Projection(_check_format(fmt), mode, name)

    def bits(self, shape: tuple[int, ...]) -> list[Random]:
        """Return the random bits of each element of the result, in one row; None for each in other modes."""
        if self.rounding not in STOCHASTIC:
            if self.random is not None:
                raise InputError(
                    f"random bits are given, but the rounding is {self.rounding}",
                    hint=f"the modes by random bits are {', '.join(STOCHASTIC)}",
                )
            return [None] * prod(shape)
        values, width = random_bits(self.random, shape)
        return [(value, width) for value in values.reshape(-1).tolist()]


# --- computing --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 17)
def _number(fmt: FloatFormat, code: int) -> Number:
    return rules.decode(fmt, code)


def _codes(value: Value) -> list[int]:
    return codes_to_ints(value.bits.reshape(-1), ty.float_format(value.type).bits)


def _value(fmt: FloatFormat, codes: Sequence[int], shape: tuple[int, ...]) -> Value:
    element = ty.FloatType(fmt)
    return Value.from_bits(ints_to_codes(codes, fmt.bits, shape), ty.TensorType(shape, element) if shape else element)


def _aligned(operands: Sequence[Value]) -> tuple[tuple[int, ...], list[Codes]]:
    """Return the common shape, and the codes of each operand as one row; one number is used for all elements."""
    shapes = {value.shape for value in operands if value.shape}
    if len(shapes) > 1:
        raise ValueError(f"operands have different shapes: {', '.join(map(str, sorted(shapes)))}")
    shape = next(iter(shapes), ())
    return shape, [np.broadcast_to(value.bits, shape).reshape(-1) for value in operands]


def _mapped(rows: Sequence[Codes], compute: Callable[..., int], random: Sequence[Random] = ()) -> list[int]:
    """Compute each different combination of codes and random bits only once, and return the results in order."""
    known: dict[tuple[Any, ...], int] = {}
    found = []
    for key in zip(*(row.tolist() for row in rows), *([random] if random else []), strict=True):
        if key not in known:
            known[key] = compute(*key)
        found.append(known[key])
    return found


def _elementwise(operation: str, operands: Sequence[Value], how: _How) -> Value:
    arity, compute = OPERATIONS[operation]
    _count(operation, operands, arity)
    formats = [ty.float_format(value.type) for value in operands]
    projection = how.projection(formats[0])
    shape, rows = _aligned(operands)

    def result(*key: Any) -> int:
        *codes, random = key
        return projection(compute(*map(_number, formats, codes)), random)

    return _value(projection.format, _mapped(rows, result, how.bits(shape)), shape)


def _booleans(operation: str, operands: Sequence[Value]) -> Value:
    _count(operation, operands, 1 if operation in PREDICATES else 2)
    formats = [ty.float_format(value.type) for value in operands]
    shape, rows = _aligned(operands)

    def result(*codes: int) -> int:
        if operation in PREDICATES:
            return int(PREDICATES[operation](formats[0], *codes))
        return int(COMPARISONS[operation](*map(_number, formats, codes)))

    bits = np.array(_mapped(rows, result), np.uint8).reshape(shape)
    return Value.from_bits(bits, ty.TensorType(shape, ty.I1) if shape else ty.I1)


def _classes(operand: Value) -> npt.NDArray[np.str_]:
    fmt = ty.float_format(operand.type)
    names = {code: rules.class_of(fmt, code) for code in set(_codes(operand))}
    return np.array([names[code] for code in _codes(operand)], np.str_).reshape(operand.shape)


def _rows(block: tuple[Value, Value]) -> list[list[Number]]:
    """Return the decoded elements of each block (5.1.1)."""
    scale, elements = block
    size = elements.shape[-1]
    codes, found = _codes(elements), []
    for place, code in enumerate(_codes(scale)):
        factor = _number(ty.float_format(scale.type), code)
        part = codes[place * size : (place + 1) * size]
        found.append([rules.multiply(factor, _number(ty.float_format(elements.type), each)) for each in part])
    return found


def _blocks(
    numbers: Sequence[Sequence[Number]], scale: Value, shape: tuple[int, ...], how: _How, default: FloatFormat
) -> tuple[Value, Value]:
    """Project rows of numbers to blocks of given scales (5.1.2)."""
    quotients: list[Number] = []
    for row, code in zip(numbers, _codes(scale), strict=True):
        divisor = _number(ty.float_format(scale.type), code)
        quotients += [rules.block_quotient(x, divisor) for x in row]
    return scale, _projected(quotients, shape, how, default)


def _projected(numbers: Sequence[Number], shape: tuple[int, ...], how: _How, default: FloatFormat) -> Value:
    projection = how.projection(default)
    return _value(projection.format, list(map(projection, numbers, how.bits(shape))), shape)


def _scales(given: Any, shape: tuple[int, ...]) -> Value:
    if given is None:
        raise ValueError("give the scale of the result: scale=…, a Value of a format of P3109")
    scale = _operand(given, None)
    if scale.shape not in ((), shape):
        raise ValueError(f"scale has the shape {scale.shape}, but the blocks have {shape}")
    return _value(ty.float_format(scale.type), np.broadcast_to(scale.bits, shape).reshape(-1).tolist(), shape)


def _to_block(operation: str, x: Value, how: _How, scale: Any, of_scale: _How) -> tuple[Value, Value]:
    if not x.shape or not x.shape[-1]:
        raise ValueError("x needs at least one dimension, of at least one element: the last one is the block")
    fmt, size = ty.float_format(x.type), x.shape[-1]
    numbers = [_number(fmt, code) for code in _codes(x)]
    rows = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    if operation == "ConvertToBlock":
        scales = _scales(scale, x.shape[:-1])
    else:
        scales = _projected(list(map(rules.largest_finite, rows)), x.shape[:-1], of_scale, fmt)
    return _blocks(rows, scales, x.shape, how, fmt)


def _between_blocks(name: str, blocks: Sequence[tuple[Value, Value]], how: _How, scale: Any) -> tuple[Value, Value]:
    shape = blocks[0][1].shape
    if any(elements.shape != shape for _, elements in blocks):
        raise ValueError(f"blocks have different shapes: {', '.join(str(each[1].shape) for each in blocks)}")
    compute = OPERATIONS[name].compute
    rows = [list(map(compute, *each)) for each in zip(*map(_rows, blocks), strict=True)]
    return _blocks(rows, _scales(scale, shape[:-1]), shape, how, ty.float_format(blocks[0][1].type))


def _of_blocks(operation: str, blocks: Sequence[tuple[Value, Value]], how: _How) -> Value:
    shape = blocks[0][1].shape
    if any(elements.shape != shape for _, elements in blocks):
        raise ValueError(f"blocks have different shapes: {', '.join(str(each[1].shape) for each in blocks)}")
    default, rows = ty.float_format(blocks[0][1].type), [_rows(block) for block in blocks]
    if operation == "ConvertFromBlock":
        return _projected([x for row in rows[0] for x in row], shape, how, default)
    if operation == "BlockDotProduct":
        sums = [
            rules.reduced(rules.add, map(rules.multiply, x, y), rules.ZERO)
            for x, y in zip(rows[0], rows[1], strict=True)
        ]
    else:
        sums = [REDUCTIONS[operation](row) for row in rows[0]]
    return _projected(sums, shape[:-1], how, default)


# --- kappa, 4.4 -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KappaReport:
    """The distances of the results of an approximate operation from the defined results, over all operands.

    ``kappa``: the largest distance between a result and the defined result, counted in values of the result format. It
    is NaN if only one of the two is NaN, and infinity if one of the two is infinite and the other is not equal to it.
    ``worst``: operands with that distance, as codes; None if all results are equal.
    ``results``: the number of operand combinations; random bits count as the last operand.
    ``wrong``: the number of results that differ from the defined ones.
    """

    operation: str
    kappa: float
    worst: tuple[int, ...] | None
    results: int
    wrong: int

    def __str__(self) -> str:
        kappa = f"{self.kappa:g}"
        where = "" if self.worst is None else f", first at {', '.join(map(hex, self.worst))}"
        return f"{self.operation}: kappa {kappa}{where}; {self.wrong} of {self.results} results differ"


def kappa(
    approximate: Callable[..., Any],
    operation: str,
    *formats: Any,
    to: Any = None,
    rounding: str = "NearestTiesToEven",
    saturation: str = "SatNone",
    within: Callable[..., Any] | None = None,
) -> KappaReport:
    """Measure the kappa of an approximate operation (P3109, 4.4) over all operands of its formats.

    ``approximate``: a function that gets a `Value` for each operand, and returns the results in the format ``to``.
    ``operation``, ``to``, ``rounding``, ``saturation``: as in `p3109.eval`.
    ``formats``: the formats of the operands.
    ``within``: a function that also gets the operands and returns a mask of those to measure, for example an interval.

    For a stochastic ``rounding``, each combination of operands is measured with all 256 values of eight random bits.
    ``approximate`` and ``within`` get these bits as their last argument, an array of uint8; the defined operation uses
    the same bits.

        hu.p3109.kappa(lambda x: fast_exp(x), "Exp", "binary8p3se")

    Raises ValueError if there are more than 65,536 combinations of operands, TypeMismatch for results of another type,
    and the errors of `p3109.eval`.
    """
    arity = OPERATIONS[operation].arity if operation in OPERATIONS else None
    if arity is None:
        raise ValueError(f"{operation!r} is not a numeric operation of P3109; these are {', '.join(OPERATIONS)}")
    _count(operation, formats, arity)
    chosen = [_How(each, rounding, saturation).projection(rules.EXTERNAL[0]).format for each in formats]
    widths = [*(fmt.bits for fmt in chosen), *([_RANDOM_WIDTH] if rounding in STOCHASTIC else [])]
    if sum(widths) > _MOST_PAIRS.bit_length() - 1:
        raise ValueError(
            f"{operation} of {', '.join(map(str, chosen))} has more than {_MOST_PAIRS:,} combinations of operands"
        )
    columns = [np.array(column) for column in zip(*product(*(range(1 << width) for width in widths)), strict=True)]
    operands, random = _operands(chosen, columns)
    if within is not None:
        kept = np.flatnonzero(np.asarray(within(*operands, *random), np.bool_))
        columns = [column[kept] for column in columns]
        operands, random = _operands(chosen, columns)
    bits = random[0] if random else None
    defined = eval(operation, *operands, to=to, rounding=rounding, saturation=saturation, random=bits)
    fmt = ty.float_format(defined.type)
    found = to_value(approximate(*operands, *random), defined.type, "the approximation")
    pairs = zip(_codes(defined), _codes(found), strict=True)
    distances = [_steps(fmt, right, other) for right, other in pairs]
    order = [float("inf") if np.isnan(each) else each for each in distances]
    wrong = sum(each != 0 for each in distances)
    total = float("nan") if any(map(np.isnan, distances)) else max(distances, default=0.0)
    place = next((k for k, each in enumerate(distances) if np.isnan(each)), None)
    if place is None:
        place = order.index(max(order)) if order else 0
    return KappaReport(
        operation, total, tuple(int(column[place]) for column in columns) if wrong else None, len(distances), wrong
    )


def _operands(
    formats: Sequence[FloatFormat], columns: Sequence[npt.NDArray[Any]]
) -> tuple[list[Value], list[npt.NDArray[np.uint8]]]:
    """Return columns of codes as operands, and the column of random bits, if there is one."""
    values = [_value(fmt, column.tolist(), column.shape) for fmt, column in zip(formats, columns, strict=False)]
    return values, [column.astype(np.uint8) for column in columns[len(formats) :]]


def _steps(fmt: FloatFormat, right: int, given: int) -> float:
    """Return how many values lie between two results, the given one included."""
    if fmt.is_nan(right) != fmt.is_nan(given):
        return float("nan")
    if right == given or fmt.is_nan(right):
        return 0.0
    if fmt.is_infinite(right) or fmt.is_infinite(given):
        return float("inf")
    return float(abs(_place(fmt, right) - _place(fmt, given)))


def _place(fmt: FloatFormat, code: int) -> int:
    """Return the index of a finite code among the values; both zeros of an external format have the same index."""
    negative = fmt.signed and code >> (fmt.bits - 1)
    return -(code & (fmt.code_mask >> 1)) if negative else code
