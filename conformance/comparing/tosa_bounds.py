"""Whether the results of an operator of TOSA are within the bounds that its specification allows.

Source: the sections "Precision Requirements" of the TOSA specification 1.1 draft, and its functions
tosa_reference_check_fp, tosa_reference_check_fp_bnd and tosa_reference_check_dotproduct. Integers, truth values and
moves must be exact. For other results of floats there is a reference, which the specification computes in f64, and a
bound around it.

Here a reference has at most the error of one rounding to f64 for each op of its pseudo code, and sums of products are
exact before that rounding, also those of absolute values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, pi, prod, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask
from halfulp.interp.declare.build import function_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.tosa.products import known_sizes
from halfulp.interp.dialects.tosa.rules import maker, truth
from halfulp.interp.dialects.tosa.types import MXINT8, ShapeType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue
from halfulp.interp.loading import parse_module
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.judging import as_f64
from halfulp.semantics.profile import SPEC

Floats = npt.NDArray[np.float64]
_F64 = ty.F("f64")
_FLUSHED = frozenset(("f16", "bf16", "f32"))
"""The formats whose subnormal numbers may be flushed to zero."""
_SMALL = frozenset(("f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN"))
"""The formats whose dot products in f32 have the wider bound."""
_EXACT = replace(SPEC, reduction_order="exact")

# --- verdicts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TosaVerdict:
    """The verdict on one result of an operator of TOSA.

    ``op``: its name. ``rule``: the name of its rule, which the page on TOSA explains; "exact", "inexact" (RESCALE
    with INEXACT_ROUND) and "to-blocks" (CAST_TO_BLOCK_SCALED) are others. ``wrong``: the elements beyond their bounds.
    ``least``, ``most``: the bounds, as f64; if the result must be exact, both are the expected number, and NaN for
    integers of more than 52 bits.
    ``whole``: what is wrong with the errors of all elements together, in words; empty if nothing is.
    """

    op: str
    rule: str
    wrong: Mask
    least: Floats
    most: Floats
    whole: str = ""

    @property
    def ok(self) -> bool:
        """Whether the result is within the bounds."""
        return not self.whole and not self.wrong.any()


class Limits(NamedTuple):
    """The numbers between which results may be.

    ``reference``: the result in f64. ``below``, ``above``: the bounds of the error toward zero and away from it.
    ``free``: elements that have no bound. ``unit``, ``variance``: for dot products, the unit of errors, and the bound
    of the mean of their squares.
    """

    reference: Floats
    below: Floats
    above: Floats
    free: Mask | None = None
    unit: Floats | None = None
    variance: float = 0.0


# --- comparison -------------------------------------------------------------------------------------------------------


class _Range(NamedTuple):
    """The numbers of a format that the bounds use."""

    fraction: int
    least_normal: float
    most: float
    infinity: bool
    nan: bool
    flushed: bool


def _range_of(fmt: FloatFormat) -> _Range:
    return _Range(
        fmt.mantissa_bits,
        float(2.0**fmt.emin),
        float(as_f64(fmt, np.array([fmt.max_code], fmt.storage_dtype))[0]),
        fmt.infinity_code is not None,
        fmt.nan_code is not None,
        fmt.name in _FLUSHED,
    )


def _ulp(fmt: FloatFormat, reference: Floats) -> Floats:
    """Return the ulp of the specification: that of the smallest normal number for smaller ones, 0 for 0, infinities and
    NaN.
    """
    of = _range_of(fmt)
    usable = np.isfinite(reference) & (reference != 0)
    _, exponents = np.frexp(np.where(usable, reference, 1.0))
    power = np.maximum(np.ldexp(1.0, exponents - 1), of.least_normal)
    return np.where(usable, power * 2.0**-of.fraction, 0.0)


def within(fmt: FloatFormat, results: Floats, limits: Limits) -> tuple[Mask, Floats, Floats]:
    """Tell which results are within bounds (tosa_reference_check_fp_bnd), and return the bounds themselves."""
    of = _range_of(fmt)
    negative = limits.reference < 0
    reference, tested = np.abs(limits.reference), np.where(negative, -results, results)
    with np.errstate(invalid="ignore", over="ignore"):
        least, most = reference - limits.below, reference + limits.above
    beyond = np.inf if of.infinity or of.nan else of.most
    most = np.where(most > of.most, beyond, most)
    least = np.where(least > of.most, beyond, np.where(least < -of.most, -beyond, least))
    with np.errstate(invalid="ignore"):
        if limits.unit is not None:
            good = np.abs(tested - reference) <= limits.above
        else:
            good = (tested >= least) & (tested <= most)
    if limits.unit is None and of.flushed:
        good = np.where(tested == 0, least < of.least_normal, good)
    if limits.unit is None and not of.infinity:
        good = np.where(np.isnan(tested), most == np.inf, good)
    good = np.where(np.isnan(reference), np.isnan(tested) | (not of.nan), good)
    free = ~np.isfinite(limits.below) & ~np.isnan(reference)
    good |= free if limits.free is None else free | limits.free
    return good, np.where(negative, -most, least), np.where(negative, -least, most)


# --- references -------------------------------------------------------------------------------------------------------


def _widened(type_: ty.Type, of: ty.Type = _F64) -> ty.Type:
    element = ty.element_type(type_)
    return ty.with_element(type_, of) if isinstance(element, ty.FloatType) else type_


def run_operator(op: Operation, operands: Sequence[Value], wide: bool) -> tuple[Value, ...]:
    """Run an operator alone, on operands of any shapes that fit. ``wide``: its floats are computed in f64, and its sums
    are exact.
    """
    block = Block()
    arguments: list[SSAValue] = []
    given: list[Value] = []
    for value, operand in zip(operands, op.operands, strict=True):
        made = maker(operand)
        if isinstance(operand.type, ShapeType) and made is not None and made.name == "tosa.const_shape":
            same = Operation(made.name, made.definition, [], [operand.type], dict(made.properties))
            block.append(same)
            arguments.append(same.results[0])
            continue
        # Rows of vectors are tensors of other shapes than those of the operator.
        given_type = ty.TensorType(value.shape, ty.element_type(operand.type))
        type_ = _widened(given_type) if wide else given_type
        arguments.append(block.add_argument(type_))
        given.append(Value(type_, value.bits, value.poison, None, value.origins))
    properties = dict(op.properties)
    acc = properties.get("acc_type")
    if wide and isinstance(acc, at.TypeAttr) and isinstance(acc.type, ty.FloatType):
        properties["acc_type"] = at.TypeAttr(_F64)
    for name in ("min_val", "max_val"):
        bound = properties.get(name)
        if wide and isinstance(bound, at.FloatAttr):
            bits = as_f64(bound.type.format, np.array([bound.code], bound.type.format.storage_dtype)).view(np.uint64)
            properties[name] = at.FloatAttr(int(bits[0]), _F64)
    shapeless = [
        ty.TensorType((None,) * len(ty.shape_of(result.type) or ()), ty.element_type(result.type))
        if isinstance(result.type, ty.TensorType)
        else result.type
        for result in op.results
    ]
    types = [_widened(type_) if wide else type_ for type_ in shapeless]
    same = Operation(op.name, op.definition, arguments, types, properties, location=op.location)
    same.source, same.token = op.source, op.token
    block.append(same)
    function = function_of("one", block, same.results)
    top = Block()
    top.append(function)
    # MLIR's verifier does not know floats of 64 bits in these ops, so the module is not verified.
    module = Module(Operation("builtin.module", default_registry().find("builtin.module"), regions=[Region([top])]))
    return program_for(module, Settings(_EXACT if wide else SPEC)).run(function, given)


def _wide(value: Value, change: Callable[[Floats], Floats] = lambda numbers: numbers) -> Value:
    """Return a value whose floats are numbers of f64, each changed; other values as they are."""
    element = value.element_type
    if not isinstance(element, ty.FloatType):
        return value
    numbers = change(np.array(as_f64(element.format, value.bits), np.float64))
    return Value(_widened(value.type), numbers.view(np.uint64), value.poison, None, value.origins)


def _numbers(value: Value) -> Floats:
    return np.asarray(as_f64(ty.float_format(value.element_type), value.bits), np.float64)


def _reference(op: Operation, operands: Sequence[Value], result: int = 0) -> Floats:
    return _numbers(run_operator(op, [_wide(value) for value in operands], True)[result])


class Asked(NamedTuple):
    """The arguments of a rule: the operator, its operands, and the number and format of the result."""

    op: Operation
    operands: Sequence[Value]
    result: int
    format: FloatFormat

    @property
    def source(self) -> FloatFormat:
        """The format of the first operand."""
        return ty.float_format(self.operands[0].element_type)


# --- rules ------------------------------------------------------------------------------------------------------------


def _ulps(below: Callable[[str], float], above: Callable[[str], float] | None = None) -> Callable[[Asked], Limits]:
    def rule(asked: Asked) -> Limits:
        reference = _reference(asked.op, asked.operands)
        ulp = _ulp(asked.format, reference)
        name = asked.format.name
        return Limits(reference, ulp * below(name), ulp * (above or below)(name))

    return rule


def _absolute(magnitude: Floats, factor: Any, fmt: FloatFormat, lower: Any = 0.0, divisor: int = 1) -> Floats:
    """Return calcAbsErrorBound of the specification."""
    of = _range_of(fmt)
    least = np.maximum(np.abs(magnitude), of.least_normal)
    factor = np.broadcast_to(np.asarray(factor, np.float64), least.shape)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        least = np.where(np.asarray(lower) > 0, np.maximum(lower / factor, least), least)
        bound = 2.0 ** (-of.fraction / divisor) * least * factor
    return np.where(np.isfinite(factor) | (np.abs(magnitude) != 0), bound, 0.0)


def _function(bound: Callable[[Floats, Floats, FloatFormat], Floats]) -> Callable[[Asked], Limits]:
    """Return the rule of a function of one number. ``bound``: from the numbers and their exact results. Zeros,
    infinities and NaN have exact results.
    """

    def rule(asked: Asked) -> Limits:
        numbers, reference = _numbers(asked.operands[0]), _reference(asked.op, asked.operands)
        error = bound(numbers, reference, asked.format)
        error = np.where(np.isfinite(numbers) & (numbers != 0), error, 0.0)
        return Limits(reference, error, error)

    return rule


def _base(fmt: FloatFormat) -> int:
    return 3 if fmt.name == "f32" else 1


def _sine(numbers: Floats, reference: Floats, fmt: FloatFormat) -> Floats:
    return np.maximum(_absolute(numbers, 2.0, fmt, divisor=2), pi * _range_of(fmt).least_normal)


def _power(asked: Asked) -> Limits:
    x, y = np.broadcast_arrays(*(_numbers(value) for value in asked.operands))
    reference, fmt = _reference(asked.op, asked.operands), asked.format
    simple = (x == 0) | (y == 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        product = np.where(simple, 0.0, y * np.log(np.where(x > 0, x, 1.0)))
        of_product = _absolute(product, 5.5, fmt, np.abs(0.55 * y))
        of_exp = _absolute(reference, _base(fmt) + 2 * np.abs(product + of_product), fmt)
        error = np.where(simple, 0.0, reference * np.expm1(of_product) + of_exp)
    return Limits(reference, error, error)


def _product_of_all(asked: Asked) -> Limits:
    reference = _reference(asked.op, asked.operands)
    of = _range_of(asked.format)
    count = asked.operands[0].shape[asked.op.number("axis")]
    error = np.maximum(np.abs(reference), of.least_normal) * ((1 + 2.0 ** (-of.fraction - 1)) ** count - 1)
    return Limits(reference, error, error)


def _resized(asked: Asked) -> Limits:
    reference = _reference(asked.op, asked.operands)
    if asked.op.prop("mode", EnumAttr).keywords != "BILINEAR":
        return Limits(reference, np.zeros_like(reference), np.zeros_like(reference))
    largest = np.full(reference.shape, np.abs(_numbers(asked.operands[0])).max())
    error = np.maximum(_absolute(largest, 20.0, asked.format), largest * 0.006)
    return Limits(reference, error, error)


def _blocks(asked: Asked) -> Limits:
    """The rule of numbers whose blocks have scales: an ulp of the number without its scale."""
    reference = _reference(asked.op, asked.operands)
    scales = np.repeat(_numbers(asked.operands[1]), _block_size(asked.op), axis=-1)
    of = _range_of(asked.format)
    usable = np.isfinite(reference) & (reference != 0) & ~np.isnan(scales)
    safe = np.where(usable, scales, 1.0)
    error = np.maximum(_ulp(asked.format, np.where(usable, reference, 1.0) / safe) * safe, of.least_normal)
    error = np.where(usable, error, 0.0)
    return Limits(reference, error, error)


def _block_size(op: Operation) -> int:
    return int(op.prop("block_size", EnumAttr).keywords.rpartition("_")[2])


# --- dot products -----------------------------------------------------------------------------------------------------

_CONVOLUTIONS: Mapping[str, slice] = MappingProxyType(
    {
        "tosa.conv2d": slice(1, 4),
        "tosa.conv3d": slice(1, 5),
        "tosa.depthwise_conv2d": slice(0, 2),
        "tosa.transpose_conv2d": slice(1, 4),
    }
)
"""The axes of the weights whose product is the size of the kernel."""
_TRANSFORMS = frozenset(("tosa.fft2d", "tosa.rfft2d"))
_AVERAGES = frozenset(("tosa.avg_pool2d", "tosa.avg_pool2d_adaptive", "tosa.reduce_sum"))
"""Operators of one tensor; other operands are zero points."""
_WITH_LOCAL_BOUND = _TRANSFORMS | set(_CONVOLUTIONS)


def _kernel_size(op: Operation, operands: Sequence[Value]) -> int:
    """Return the number of products in each sum (KS of the specification)."""
    shape = operands[0].shape
    if op.name in _CONVOLUTIONS:
        return prod(operands[1].shape[_CONVOLUTIONS[op.name]])
    if op.name == "tosa.reduce_sum":
        return shape[op.number("axis")]
    if op.name in _AVERAGES:
        return prod(known_sizes(op, "kernel"))
    if op.name in _TRANSFORMS:
        return shape[1] * shape[2] * (2 if op.name == "tosa.fft2d" else 1)
    return shape[2]


def _transformed(op: Operation, parts: Sequence[Floats], result: int, absolute: bool) -> Floats:
    """Return a Fourier transform in f64, or the sums of the absolute values of its products."""
    real = op.name == "tosa.rfft2d"
    count, height, width = parts[0].shape
    columns = width // 2 + 1 if real else width
    y, x = np.arange(height), np.arange(width)
    turns = np.add.outer(np.outer(y, y) / height, np.outer(x, np.arange(columns)) / width) % 1.0
    angles = 2 * pi * turns.transpose(0, 2, 1, 3)  # y and x of the operand, then those of the result
    sign = -1.0 if not real and truth(op, "inverse") else 1.0
    cosines, sines = np.cos(angles), sign * np.sin(angles)
    factors = [cosines, sines] if not result else [-sines, cosines]
    total = np.zeros((count, height, columns))
    for part, factor in zip(parts, factors, strict=False):
        total += np.einsum("nyx,yxuv->nuv", part, np.abs(factor) if absolute else factor)
    return total


def _unread(op: Operation, operands: Sequence[Value]) -> Any:
    """Return the results of a convolution that may also have products of zeros of the padding with weights that are not
    finite.
    """
    strange = ~np.isfinite(_numbers(operands[1]))
    if not strange.any():
        return False
    ones = _wide(operands[0], np.ones_like), _wide(operands[1], lambda numbers: strange.astype(np.float64))
    rest = [_wide(value, np.zeros_like) for value in operands[2:]]
    inside = _numbers(run_operator(op, [*ones, *rest], True)[0])
    depthwise = op.name == "tosa.depthwise_conv2d"
    every = strange.sum(axis=(0, 1)).reshape(-1) if depthwise else strange.sum(axis=tuple(range(1, strange.ndim)))
    return inside != every


def _at_least(least: float, numbers: Floats) -> Floats:
    return np.maximum(np.abs(numbers), least)


def _magnitudes(op: Operation, operands: Sequence[Value]) -> list[Value]:
    """Return the operands whose dot products are the units of errors: absolute values, at least the smallest normal
    number. Without the attribute ``local_bound``, all elements of the first tensor are its largest one.
    """
    factors = 3 if op.name in _CONVOLUTIONS else 1 if op.name in _AVERAGES else 2
    made = []
    for place, value in enumerate(operands):
        element = value.element_type
        if place >= factors or not isinstance(element, ty.FloatType):
            made.append(_wide(value))
            continue
        made.append(_wide(value, partial(_at_least, _range_of(element.format).least_normal)))
    if op.name in _WITH_LOCAL_BOUND and not truth(op, "local_bound"):
        first = made if op.name in _TRANSFORMS else made[:1]
        largest = np.max([np.max(_numbers(value)) for value in first])
        made[: len(first)] = [_wide(value, lambda numbers: np.full_like(numbers, largest)) for value in first]
    return made


def _dot_product(asked: Asked) -> Limits:
    op, operands, fmt = asked.op, asked.operands, asked.format
    absolute = _magnitudes(op, operands)
    if op.name in _TRANSFORMS:
        parts = [_numbers(value) for value in operands]
        reference = _transformed(op, parts, asked.result, False)
        bound = _transformed(op, [_numbers(value) for value in absolute], asked.result, True)
    else:
        reference = _reference(op, operands)
        bound = _numbers(run_operator(op, absolute, True)[0])
    if op.name in _CONVOLUTIONS:
        bound = np.where(_unread(op, operands), np.nan, bound)
    acc = op.properties.get("acc_type")
    acc_format = acc.type.format if isinstance(acc, at.TypeAttr) and isinstance(acc.type, ty.FloatType) else fmt
    size = ceil(_kernel_size(op, operands) / 2 ** ((acc_format.mantissa_bits - fmt.mantissa_bits) / 2))
    size += op.name in _CONVOLUTIONS and bool(np.abs(_numbers(operands[2])).max() > 0)
    small = asked.source.name in _SMALL and acc_format.name == "f32"
    return _of_sums(fmt, reference, bound, size, small, 3.0 if asked.source.name == "f32" else 1.0)


def _of_sums(fmt: FloatFormat, reference: Floats, bound: Floats, size: int, small: bool, factor: float = 1.0) -> Limits:
    """Return the limits of dot products. ``bound``: the sums of the absolute values of ``size`` products each.
    ``small``: factors of up to 8 bits are summed in f32. ``factor``: of the largest error.
    """
    of = _range_of(fmt)
    most, variance = 2.0 * size * factor, 4 * 0.4 * size
    if small:
        most, variance = 2.0 * max(size, min(size, 64) << 10), 4 * 0.4 * max(size, min(size, 64) << 20)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = bound * (1 + most * 2.0 ** (-1 - of.fraction))
        unit = np.maximum(bound * 2.0 ** (-1 - of.fraction), of.least_normal)
    # A number that is converted to infinity: half an ulp above the largest one.
    limit = of.most + 2.0 ** (np.frexp(of.most)[1] - 2 - of.fraction)
    free = np.isnan(bound) | (of.infinity & (reach >= limit))
    error = np.where(free, np.inf, np.where(bound == 0, 0.0, unit * most))
    return Limits(reference, error, error, free & ~np.isnan(reference), unit, variance)


# --- blocks with scales -----------------------------------------------------------------------------------------------


def _elements(value: Value) -> tuple[Floats, float]:
    """Return the elements of blocks, and the smallest normal number of their type."""
    if value.element_type == MXINT8:
        return value.bits.view(np.int8) / 64, 1 / 64
    element = value.element_type
    assert isinstance(element, ty.FloatType)
    return _numbers(value), _range_of(element.format).least_normal


def _without_blocks(op: Operation) -> Operation:
    """Return the operator on floats without scales: matmul_t or conv2d."""
    rank = 3 if op.name == "tosa.matmul_t_block_scaled" else 4
    tensor, one, words = f"tensor<{'?x' * rank}f32>", "tensor<1xf32>", ""
    bias = ["%c"] * (rank == 4)
    if bias:
        numbers = {name: ", ".join(map(str, known_sizes(op, name))) for name in ("pad", "stride", "dilation")}
        arrays = [f"{name} = array<i64: {listed}>" for name, listed in numbers.items()]
        words = f" {{acc_type = f32, {', '.join(arrays)}}}"
    names, types = ["%a", "%b", *bias, "%y", "%z"], [tensor, tensor, *["tensor<?xf32>"] * len(bias), one, one]
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    name = "tosa.conv2d" if bias else "tosa.matmul_t"
    line = f"%0 = {name} {', '.join(names)}{words} : ({', '.join(types)}) -> {tensor}"
    text = f"func.func @f({arguments}) -> {tensor} {{\n{line}\nreturn %0 : {tensor}\n}}"
    return next(found for found in parse_module(text).body[0].walk() if found.name == name)


def _scaled_product(asked: Asked) -> Limits:
    """The rule of dot products of elements with scales, which are multiplied first."""
    operands, plain = asked.operands, _without_blocks(asked.op)
    block, signed, absolute = _block_size(asked.op), list[Value](), list[Value]()

    def add(numbers: Floats, least: float, scales: Floats) -> None:
        for values, given in ((signed, numbers), (absolute, np.maximum(np.abs(numbers), least))):
            found = np.asarray(given * scales, np.float64)
            values.append(Value(ty.TensorType(found.shape, _F64), found.view(np.uint64)))

    for place in (0, 2):
        add(*_elements(operands[place]), np.repeat(_numbers(operands[place + 1]), block, axis=-1))
    if len(operands) > 4:
        add(_numbers(operands[4]), _range_of(asked.format).least_normal, np.ones(1))
    for values in signed, absolute:
        values += [Value(ty.TensorType((1,), _F64), np.zeros(1, np.uint64))] * 2
    reference, bound = (_numbers(run_operator(plain, values, True)[0]) for values in (signed, absolute))
    size = prod(operands[2].shape[1 if len(operands) > 4 else 2 :])
    if len(operands) > 4:
        bound = np.where(_unread(plain, signed), np.nan, bound)
        size += bool(np.abs(_numbers(operands[4])).max() > 0)
    return _of_sums(asked.format, reference, bound, size, asked.format.name == "f32")


def _divided_into_blocks(op: Operation, operands: Sequence[Value], results: Sequence[Value]) -> tuple[TosaVerdict, ...]:
    """The rule of cast_to_block_scaled (tosa_reference_check_scale): a scale is within an ulp, and the elements within
    one of the number divided by the scale that was found, two for f8E4M3FN. The draft takes the ulp of the element
    that was found, which would be 0 for a small number that is rounded to zero; here it is that of the number.
    """
    expected = run_operator(op, operands, False)
    for place, (value, right) in enumerate(zip(results, expected, strict=True)):
        if value.shape != right.shape:
            raise InputError(f"result {place} of '{op.name}' has the shape {right.shape}, not {value.shape}")
    block, source, scales = _block_size(op), _numbers(operands[0]), _numbers(results[1])
    exact = _numbers(expected[1])
    scale_format = _format_of(results[1])
    good, least, most = within(scale_format, scales, Limits(exact, exact, exact, np.isnan(exact)))
    with np.errstate(invalid="ignore"):
        reference = source / np.repeat(scales, block, axis=-1)
    if results[0].element_type == MXINT8:
        fmt, numbers = ty.F("f32").format, (results[0].bits.view(np.int8) / 64).astype(np.float64)
        error = np.full(numbers.shape, 1 / 64)
    else:
        fmt, numbers = _format_of(results[0]), _numbers(results[0])
        error = _ulp(fmt, reference) * (2 if fmt.name == "f8E4M3FN" else 1)
    fits, low, high = within(fmt, numbers, Limits(reference, error, error))
    fits = (fits & np.repeat(good, block, axis=-1)) | np.repeat(np.isnan(exact), block, axis=-1)
    return TosaVerdict(op.name, "to-blocks", ~fits, low, high), TosaVerdict(op.name, "to-blocks", ~good, least, most)


def _format_of(value: Value) -> FloatFormat:
    element = value.element_type
    assert isinstance(element, ty.FloatType)
    return element.format


# --- the table --------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """A rule: its words, its operators (without ``tosa.``), and the function of its bounds."""

    words: str
    operators: tuple[str, ...]
    limits: Callable[[Asked], Limits]


def _half(name: str) -> float:
    return 1.0 if name == "bf16" else 0.5


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "sum": Rule("0.5 ulp; 1 ulp for bf16", ("add", "sub", "mul"), _ulps(_half)),
        "half-ulp": Rule("0.5 ulp", ("ceil", "floor"), _ulps(lambda name: 0.5)),
        "1-ulp": Rule("1 ulp", ("reciprocal",), _ulps(lambda name: 1.0)),
        "2-ulp": Rule("2 ulp", ("rsqrt",), _ulps(lambda name: 2.0)),
        "5-ulp": Rule("5 ulp", ("erf",), _ulps(lambda name: 5.0)),
        "cast": Rule(
            "to a float: from an integer 0.5 ulp; from a float between 1 ulp toward zero and 0.5 ulp away from it",
            ("cast",),
            lambda asked: _ulps(
                lambda name: 1.0 if isinstance(asked.operands[0].element_type, ty.FloatType) else 0.5,
                lambda name: 0.5,
            )(asked),
        ),
        "exp": Rule(
            "(3 + 2 |x|) ulp of f32, (1 + 2 |x|) of others",
            ("exp",),
            _function(lambda x, ref, fmt: _absolute(ref, _base(fmt) + 2 * np.abs(x), fmt)),
        ),
        "log": Rule(
            "5 units, at least half a unit of 1",
            ("log",),
            _function(lambda x, ref, fmt: _absolute(ref, 5.0, fmt, 0.5)),
        ),
        "sigmoid": Rule(
            "2 (1 + |x|) units",
            ("sigmoid",),
            _function(lambda x, ref, fmt: _absolute(ref, 2 * (1 + np.abs(x)), fmt)),
        ),
        "tanh": Rule(
            "4 (3 + 2 |x|) units of f32, 4 (1 + 2 |x|) of others, at least half a unit of 1",
            ("tanh",),
            _function(lambda x, ref, fmt: _absolute(ref, 4 * (_base(fmt) + 2 * np.abs(x)), fmt, 0.5)),
        ),
        "cos": Rule(
            "(1 + |x|) by the root of a unit",
            ("cos",),
            _function(lambda x, ref, fmt: _absolute(1 + np.abs(x), 1.0, fmt, divisor=2)),
        ),
        "sin": Rule(
            "2 |x| by the root of a unit, at least pi times the smallest normal number",
            ("sin",),
            _function(_sine),
        ),
        "pow": Rule("that of exp(y log(x)) with errors of log, product and exp", ("pow",), _power),
        "reduce-product": Rule("half a unit for each of the factors", ("reduce_product",), _product_of_all),
        "resize": Rule(
            "BILINEAR: 20 units and 0.6 % of the largest absolute value; else exact", ("resize",), _resized
        ),
        "from-blocks": Rule("an ulp of the number without its scale", ("cast_from_block_scaled",), _blocks),
        "scaled-product": Rule(
            "as types of 8 bits that are summed in f32 (below), after the elements are multiplied by their scales",
            ("matmul_t_block_scaled", "conv2d_block_scaled"),
            _scaled_product,
        ),
        "dot-product": Rule(
            "2 k half units of the sum of the absolute values of the products (6 k if these are of f32, more for "
            "types of 8 bits summed in f32), and the mean of the squares of these errors at most 1.6 k",
            (
                "conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d", "matmul", "matmul_t", "avg_pool2d",
                "avg_pool2d_adaptive", "reduce_sum", "fft2d", "rfft2d",
            ),
            _dot_product,
        ),
    }
)  # fmt: skip
"""The rules of operators with results of floats that are not exact, by name. A unit is 2**-m for m bits of mantissa,
times the magnitude that the rule names, else that of the result.
"""

_RULE_OF: Mapping[str, str] = MappingProxyType(
    {f"tosa.{operator}": name for name, rule in RULES.items() for operator in rule.operators}
)
_UNKNOWN = frozenset(("tosa.custom",))
_CONSTANTS = frozenset(("tosa.const", "tosa.const_shape", "arith.constant", "func.return"))


class TosaBounds:
    """The bounds of TOSA as a row of known differences, for each tool: results within them are counted apart."""

    name = "within the bounds of TOSA"

    def applies(self, tool: str, version: str, case: OpCase) -> bool:
        """Tell whether a case has bounds."""
        return case.op.startswith("tosa.") and case.op not in _UNKNOWN

    def accepts(self, case: OpCase, inputs: Sequence[Codes], index: int, answer: Answer, wrong: Mask) -> Mask:
        """Return the wrong elements of an answer that are within their bounds. Traps are never among them."""
        asked = wrong if answer.status is None else wrong & (answer.status == Status.VALUE)
        places, found = np.nonzero(asked), np.zeros(wrong.shape, np.bool_)
        if places[0].size:
            types, result = case.operand_types, case.result_types[index]
            operands = [
                Value(ty.TensorType(codes[places].shape[:1], type_), codes[places])
                for type_, codes in zip(types, inputs, strict=True)
            ]
            bits = answer.bits[places]
            results = [Value(ty.TensorType(bits.shape[:1], result), bits)]
            found[places] = ~judged(case.operation((1,)), operands, results)[0].wrong
        return found


# --- judging ----------------------------------------------------------------------------------------------------------


def operator_of(function: Operation) -> Operation:
    """Return the only operator of a function, beside constants. Raises Unsupported if there are several."""
    ops = [op for op in function.walk() if op is not function and op.name not in _CONSTANTS]
    (returned,) = [op for op in function.walk() if op.name == "func.return"]
    if len(ops) != 1 or not ops[0].name.startswith("tosa.") or ops[0].regions:
        raise Unsupported(
            f"TOSA has bounds for single operators, but '{function.properties['sym_name']}' has {len(ops)} ops",
            location=function.location,
            hint="give a function with one op of tosa beside constants",
        )
    if returned.operands != list(ops[0].results):
        raise Unsupported(
            f"the function must return the results of '{ops[0].name}', and nothing else", location=function.location
        )
    check_operator(ops[0])
    return ops[0]


def check_operator(op: Operation) -> None:
    """Raise Unsupported for an operator without bounds."""
    if not op.name.startswith("tosa."):
        raise Unsupported(f"'{op.name}' is not an operator of TOSA, so TOSA has no bounds for it", op=op.name)
    if op.name in _UNKNOWN or op.regions:
        raise Unsupported(f"halfulp has no bounds for '{op.name}'", location=op.location, op=op.name)


def operands_of(op: Operation, function: Operation, arguments: Sequence[Value]) -> list[Value]:
    """Return the operands of the operator of a function that is called with these arguments."""
    parameters = function.regions[0].blocks[0].arguments
    found: list[Value] = []
    for operand in op.operands:
        made = maker(operand)
        if made is None:
            found.append(arguments[next(k for k, parameter in enumerate(parameters) if parameter is operand)])
            continue
        block = Block()
        same = Operation(made.name, made.definition, [], [operand.type], dict(made.properties))
        block.append(same)
        top = Block()
        top.append(function_of("one", block, same.results))
        module = Module(Operation("builtin.module", default_registry().find("builtin.module"), regions=[Region([top])]))
        found.append(program_for(module, Settings(SPEC)).run(module.body[0], [])[0])
    return found


def judged(
    op: Operation, operands: Sequence[Value], results: Sequence[Value], test_set: int | None = None
) -> tuple[TosaVerdict, ...]:
    """Return the verdict on each result of an operator.

    ``test_set``: the number S of the specification's test data; for 3 to 5 the sum of the errors of a dot product is
    bounded too. Subnormal operands may be flushed, all or none. Raises the errors of the operator, and InputError for
    results of other shapes or types.
    """
    for place, (value, result) in enumerate(zip(results, op.results, strict=True)):
        if value.element_type != ty.element_type(result.type):
            raise InputError(
                f"result {place} of '{op.name}' has elements of type {ty.element_type(result.type)}, "
                f"not {value.element_type}"
            )
    found = _judged(op, operands, results, test_set)
    if all(verdict.ok for verdict in found):
        return found
    flushed = [_flushed(value) for value in operands]
    if all(one is other for one, other in zip(flushed, operands, strict=True)):
        return found
    other = _judged(op, flushed, results, test_set)
    return other if sum(int(v.wrong.sum()) for v in other) < sum(int(v.wrong.sum()) for v in found) else found


def _flushed(value: Value) -> Value:
    """Return a value whose subnormal numbers are zeros; the value itself if it has none."""
    element = value.element_type
    if not isinstance(element, ty.FloatType) or element.format.name not in _FLUSHED:
        return value
    numbers = np.abs(_numbers(value))
    small = (numbers != 0) & (numbers < _range_of(element.format).least_normal)
    if not small.any():
        return value
    sign = value.bits.dtype.type(element.format.sign_mask or 0)
    return Value(value.type, np.where(small, value.bits & sign, value.bits), value.poison, None, value.origins)


def _judged(
    op: Operation, operands: Sequence[Value], results: Sequence[Value], test_set: int | None
) -> tuple[TosaVerdict, ...]:
    if op.name == "tosa.cast_to_block_scaled":
        return _divided_into_blocks(op, operands, results)
    found = []
    exact: tuple[Value, ...] | None = None
    for place, value in enumerate(results):
        element = value.element_type
        name = _RULE_OF.get(op.name, "exact") if isinstance(element, ty.FloatType) else "exact"
        if name == "exact":
            exact = exact or run_operator(op, operands, False)
            if exact[place].shape != value.shape:
                raise InputError(f"result {place} of '{op.name}' has the shape {exact[place].shape}, not {value.shape}")
            found.append(exactly(op, operands, exact[place], value))
            continue
        assert isinstance(element, ty.FloatType)
        limits = RULES[name].limits(Asked(op, operands, place, element.format))
        if limits.reference.shape != value.shape:
            raise InputError(f"result {place} of '{op.name}' has the shape {limits.reference.shape}, not {value.shape}")
        good, least, most = within(element.format, _numbers(value), limits)
        whole = "" if limits.unit is None else _together(limits, _numbers(value), test_set)
        found.append(TosaVerdict(op.name, name, ~good, least, most, whole))
    return tuple(found)


def exactly(op: Operation, operands: Sequence[Value], expected: Value, value: Value) -> TosaVerdict:
    """Return the verdict on a result that must be exact, but for NaN and zeros."""
    element = value.element_type
    if isinstance(element, ty.FloatType):
        reference = _numbers(expected)
        zero = np.zeros_like(reference)
        good, least, most = within(element.format, _numbers(value), Limits(reference, zero, zero))
        return TosaVerdict(op.name, "exact", ~good, least, most)
    if op.name == "tosa.rescale" and op.prop("rounding_mode", EnumAttr).keywords == "INEXACT_ROUND":
        return _inexactly(op, operands, value)
    wrong = expected.bits != value.bits
    wrong = wrong.any(axis=tuple(range(len(value.shape), wrong.ndim))) if wrong.ndim > len(value.shape) else wrong
    shown = _integers(expected)
    return TosaVerdict(op.name, "exact", wrong, shown, shown)


def _integers(value: Value, unsigned: bool = False) -> Floats:
    """Return integers of up to 52 bits as f64; NaN for others."""
    width = ty.width_of(value.element_type)
    if width > 52:
        return np.full(value.shape, np.nan)
    codes = value.bits.astype(np.int64)
    signed = not unsigned and width > 1 and getattr(value.element_type, "signedness", "") != "unsigned"
    return ((codes ^ 1 << width - 1) - (1 << width - 1) if signed else codes).astype(np.float64)


def _inexactly(op: Operation, operands: Sequence[Value], value: Value) -> TosaVerdict:
    """The rule of RESCALE with INEXACT_ROUND: about one unit around the exact product."""
    unsigned, unsigned_out = truth(op, "input_unsigned"), truth(op, "output_unsigned")
    numbers, zero = (_integers(operands[place], unsigned) for place in (0, 3))
    multiplier, shift = (_integers(operands[place]) for place in (1, 2))
    out = _integers(operands[4], unsigned_out)
    product = (numbers - zero) * multiplier * np.exp2(-shift)
    error = 0.5 + (3 * np.abs(product) + np.abs(product + out)) * 2.0**-24
    width = ty.width_of(value.element_type)
    ends = (0.0, 2.0**width - 1) if unsigned_out else (-(2.0 ** (width - 1)), 2.0 ** (width - 1) - 1)
    least, most = np.clip(np.ceil(product - error + out), *ends), np.clip(np.floor(product + error + out), *ends)
    found = _integers(value, unsigned_out)
    return TosaVerdict(op.name, "inexact", (found < least) | (found > most), least, most)


def _together(limits: Limits, results: Floats, test_set: int | None) -> str:
    """Say what is wrong with the errors of a dot product as a whole."""
    assert limits.unit is not None
    counted = np.isfinite(limits.below) & (limits.below != 0) & np.isfinite(limits.reference) & np.isfinite(results)
    errors = np.where(counted, (results - limits.reference) / limits.unit, 0.0)
    total, squares, count = float(errors.sum()), float((errors * errors).sum()), errors.size
    if test_set is not None and 3 <= test_set <= 5 and abs(total) > sqrt(10 * limits.variance * count):
        return f"the sum of the errors, {total:.6g} units, is beyond {sqrt(10 * limits.variance * count):.6g}"
    if squares > limits.variance * count:
        return f"the mean of the squares of the errors, {squares / count:.6g}, is beyond {limits.variance:.6g}"
    return ""
