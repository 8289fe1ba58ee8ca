"""The ops of StableHLO that factor, solve, transform and normalise whole arrays, make random numbers, and quantise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, ints_to_codes, storage_dtype
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.stablehlo.attributes import (
    COUNT,
    F32_ATTR,
    FFT_TYPE,
    RNG_ALGORITHM,
    RNG_DISTRIBUTION,
    TRANSPOSE,
)
from halfulp.interp.dialects.stablehlo.dynamic import constant_numbers
from halfulp.interp.dialects.stablehlo.elementwise import kernel_of
from halfulp.interp.dialects.stablehlo.forms import FUNCTION_TYPE, UNARY
from halfulp.interp.dialects.stablehlo.quantized import between_casts, dequantizing, expressed, quantizing
from halfulp.interp.dialects.stablehlo.types import (
    SHAPE,
    bounds_of,
    compatible_elements,
    elementwise_shape,
    elementwise_tensor_of,
    not_inferred,
    operand_types,
    shapes_fit,
    shown_sizes,
    sizes_fit,
    spelled_sizes,
    stablehlo,
    tensor,
    tensor_of,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise, OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.linear_algebra import Arithmetic, cholesky, fourier, solve_triangular
from halfulp.semantics.random_bits import generate

# --- arrays -----------------------------------------------------------------------------------------------------------

_OPERATIONS = ("add", "subtract", "multiply", "divide", "sqrt", "negate")
Compute = Callable[..., Sequence[Codes]]


def arithmetic_of(op: Operation, element: ty.Type, settings: Settings) -> Arithmetic:
    """Return the arithmetic of StableHLO's elementwise ops on elements of a type."""
    kernels = {name: kernel_of(name, op, element, settings.profile) for name in _OPERATIONS}
    return Arithmetic(kernels, ty.float_format(ty.number_type(element)), isinstance(element, ty.ComplexType))


def on_arrays(build: Callable[[Operation, Settings], Compute]) -> OnValues:
    """Return the evaluator of an op whose results depend on all elements: if one element is poison, all results are.

    ``build``: makes the function from the codes of the operands to those of the results.
    """

    def make(op: Operation, settings: Settings) -> Function:
        compute = build(op, settings)

        def run_op(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
            try:
                found = compute(*(value.bits for value in operands))
            except ArithmeticError as error:
                raise Unsupported(f"'{op.name}': {error}") from None
            spoiled = max(
                (int(value.poison.max(initial=0)) for value in operands if value.poison is not None), default=0
            )
            made = []
            for result, codes in zip(op.results, found, strict=True):
                shape = codes.shape[: len(ty.shape_of(result.type) or ())]
                ids = np.full(shape, spoiled, np.uint16) if spoiled else None
                made.append(
                    Value(result.type, np.asarray(codes, order="C"), ids, None, run.origins if spoiled else None)
                )
            return tuple(made)

        return run_op

    return OnValues(make)


def _shape(type_: ty.Type) -> tuple[int | None, ...]:
    return ty.shape_of(type_) or ()


def _shown(type_: ty.Type) -> str:
    return ", ".join(map(str, shown_sizes(type_)))


# --- matrices ---------------------------------------------------------------------------------------------------------


def _verify_cholesky(op: Operation) -> str | None:
    found, type_ = compatible_elements(op), op.operands[0].type
    if found is not None:
        return found
    shape = _shape(type_)
    if len(shape) < 2:
        return Unprefixed(f"argument 'a' must have rank >= 2, got shape {_shown(type_)}.")
    if not sizes_fit(shape[-2], shape[-1]):
        return Unprefixed(f"minor dimensions of 'a' must have equal size, got shape {_shown(type_)}.")
    return not_inferred(op, type_)


def _true(op: Operation, name: str) -> bool:
    return op.properties.get(name) == at.BoolAttr(True)


def _cholesky(op: Operation, settings: Settings) -> Compute:
    arithmetic = arithmetic_of(op, ty.element_type(op.operands[0].type), settings)
    nan = arithmetic.fmt.nan_code

    def factor(a: Codes) -> Sequence[Codes]:
        found, failed = cholesky(a, arithmetic, _true(op, "lower"))
        # Of other matrices every element is NaN, as in XLA.
        if failed.any():
            if nan is None:
                raise ArithmeticError(f"a result is NaN, which {arithmetic.fmt} does not have")
            found[failed != 0] = nan
        return (found,)

    return factor


stablehlo.op(
    "cholesky",
    "$a (`,` `lower` `=` $lower^)? attr-dict `:` custom<SameOperandsAndResultType>($a, $result)",
    operands={"a": tensor_of("FCQ")},
    results={"result": tensor_of("FCQ")},
    properties=(d.Property("lower", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(False)),),
    verify=_verify_cholesky,
    evaluate=between_casts(on_arrays(_cholesky)),
)


def _verify_triangular_solve(op: Operation) -> str | None:
    found = compatible_elements(op)
    if found is not None:
        return found
    one, other = operand_types(op)
    a, b = _shape(one), _shape(other)
    if len(a) < 2:
        return Unprefixed(f"operand 'a' must have rank >= 2, but got '{one}'")
    if not sizes_fit(a[-2], a[-1]):
        return Unprefixed(f"two minor dimensions of operand 'a' must be compatible, but got '{one}'")
    if len(a) != len(b):
        return Unprefixed(f"operands must have equal rank, but got '{one}' and '{other}'")
    left = op.properties["left_side"] == at.BoolAttr(True)
    if not sizes_fit(a[-1], b[-2 if left else -1]):
        return Unprefixed(f"shared dimension of operands 'a' and 'b' must be compatible, but got '{one}' and '{other}'")
    if not all(map(sizes_fit, a[:-2], b[:-2])):
        return Unprefixed(f"batch dimensions of the operands must be compatible, but got '{one}' and '{other}'")
    if op.properties["transpose_a"] == TRANSPOSE.attribute(0):
        return Unprefixed("Invalid transpose option value for triangular solve")
    return not_inferred(op, other)


def _triangular_solve(op: Operation, settings: Settings) -> Compute:
    arithmetic = arithmetic_of(op, ty.element_type(op.operands[0].type), settings)
    left, lower, unit = (_true(op, name) for name in ("left_side", "lower", "unit_diagonal"))
    transpose = op.prop("transpose_a", EnumAttr).keywords

    def solve(a: Codes, b: Codes) -> Sequence[Codes]:
        return (solve_triangular(a, b, arithmetic, left=left, lower=lower, transpose=transpose, unit=unit),)

    return solve


stablehlo.op(
    "triangular_solve",
    operands={"a": tensor_of("FC"), "b": tensor_of("FC")},
    results={"result": tensor_of("FC")},
    properties=(
        d.Property("left_side", d.BOOL_ATTR),
        d.Property("lower", d.BOOL_ATTR),
        d.Property("transpose_a", TRANSPOSE),
        d.Property("unit_diagonal", d.BOOL_ATTR),
    ),
    verify=_verify_triangular_solve,
    evaluate=between_casts(on_arrays(_triangular_solve)),
)


# --- fft --------------------------------------------------------------------------------------------------------------


def _verify_fft(op: Operation) -> str | None:
    kind, length = op.prop("fft_type", EnumAttr).keywords, op.numbers("fft_length")
    type_, rank = op.operands[0].type, len(length)
    element, shape, bounds = ty.element_type(type_), _shape(type_), list(bounds_of(type_))
    if not 1 <= rank <= 3:
        return Unprefixed(f"rank must be between 1 and 3, but got {rank}.")
    if kind == "RFFT" and element not in (ty.F("f32"), ty.F("f64")):
        return Unprefixed(f"RFFT requires f32 or f64 input type, but is given '{element}'.")
    if kind != "RFFT" and not isinstance(element, ty.ComplexType):
        return Unprefixed(f"FFT/IFFT/IRFFT take a complex tensor as input, but is given '{type_}'.")
    made = ty.ComplexType(element) if kind == "RFFT" else ty.number_type(element) if kind == "IRFFT" else element
    if len(shape) < rank:
        return Unprefixed(f"operand rank must not be less than fft rank of {rank} for operand of type '{type_}'.")
    sizes, wanted, last = list(shape), ", ".join(map(str, length)), length[-1]
    if kind == "RFFT":
        if not all(map(sizes_fit, shape[-rank:], length)):
            return Unprefixed(
                f"RFFT requires innermost dimensions to be compatible with fft_length. Got: {_shown(type_)} but wanted "
                f"{wanted}."
            )
        if last:
            sizes[-1] = last // 2 + 1
    if kind == "IRFFT":
        for size, number in zip(shape[-rank:-1], length, strict=False):
            if not sizes_fit(size, number):
                return Unprefixed(
                    f"IRFFT requires non-final dimensions to be compatible with fft_length. Got: {_shown(type_)} but "
                    f"wanted {wanted}, and {size} != {number}."
                )
        if not (sizes_fit(shape[-1], 0) and last == 0) and not sizes_fit(shape[-1], last // 2 + 1):
            return Unprefixed(
                f"IRFFT requires innermost dimension to be compatible with fft_length[-1]/2+1. Got: {shape[-1]} but "
                f"fft_length is {wanted}."
            )
        sizes[-1] = last
    if bounds and kind in ("RFFT", "IRFFT"):
        bounds[-1] = None
    return not_inferred(op, tensor(sizes, made, bounds))


def _fft(op: Operation, settings: Settings) -> Compute:
    element = ty.element_type(op.operands[0].type)
    number = ty.number_type(element)
    whole, part = (arithmetic_of(op, each, settings) for each in (ty.ComplexType(number), number))
    kind, lengths = op.prop("fft_type", EnumAttr).keywords, op.numbers("fft_length")
    return lambda x: (fourier(x, kind, tuple(lengths), whole, part),)


stablehlo.op(
    "fft",
    f"$operand `,` `type` `=` custom<Keyword>($fft_type) `,` `length` `=` $fft_length {FUNCTION_TYPE}",
    operands={"operand": tensor_of("FC")},
    results={"result": tensor_of("FC")},
    properties=(d.Property("fft_length", d.INTEGER_64_ARRAY_ATTR), d.Property("fft_type", FFT_TYPE)),
    verify=_verify_fft,
    evaluate=on_arrays(_fft),
)

# --- normalisation ----------------------------------------------------------------------------------------------------

_BATCH, _ROW = tensor_of("FQ"), tensor_of("FQ", "1D")


def _verify_normalization(op: Operation) -> str | None:
    """Check one of the three ops. The arrays with all dimensions are the first operand, and the last one of grad."""
    found = compatible_elements(op)
    if found is not None:
        return found
    types = operand_types(op)
    whole = [types[0], types[-1]] if op.name.endswith("grad") else [types[0]]
    rows = types[1:-1] if op.name.endswith("grad") else types[1:]
    for several, words in ((whole, "multi"), (rows, "single")):
        if not all(shapes_fit(one, other) for one in several for other in several):
            return Unprefixed(f"expects {words}-dimensional operands to have compatible shapes.")
    axis, shape = op.number("feature_index"), _shape(types[0])
    if axis >= len(shape):
        return Unprefixed(
            f"expects featureIndex to be smaller than the rank of multi-dimensional operands; got featureIndex {axis}, "
            f"and rank {len(shape)}."
        )
    (size,) = _shape(rows[0])
    if not sizes_fit(size, shape[axis]):
        return Unprefixed(
            f"expects the size of single-dimensional operands to be compatible with feature count, but the size of "
            f"single-dimensional operands is {spelled_sizes([size])} and the feature count is "
            f"{spelled_sizes([shape[axis]])}."
        )
    if op.name.endswith("inference"):
        return not_inferred(op, types[0])
    bounds = bounds_of(types[0])
    row = tensor([shape[axis]], ty.element_type(types[0]), [bounds[axis]] if bounds else ())
    return not_inferred(op, types[0], row, row)


_NORMALIZED = (d.Property("epsilon", F32_ATTR), d.Property("feature_index", COUNT))


class _Features:
    """The formulas of the specification for normalisation: sums in row-major order, the axis of features kept."""

    def __init__(self, op: Operation, settings: Settings) -> None:
        self.axis = op.number("feature_index")
        self.element = ty.element_type(op.operands[0].type)
        self.do = arithmetic_of(op, self.element, settings)
        epsilon = op.prop("epsilon", at.FloatAttr)
        converted = scalar.convert(FORMATS["f32"], self.do.fmt, epsilon.code).code
        self.epsilon = ints_to_codes([converted], self.do.fmt.bits, ())

    def spread(self, row: Codes, shape: tuple[int, ...]) -> Codes:
        """Return one number for each feature at all places of a shape."""
        return np.broadcast_to(row.reshape([-1 if k == self.axis else 1 for k in range(len(shape))]), shape)

    def total(self, x: Codes) -> Codes:
        """Return the sum of each feature, from 0 on."""
        rows = np.moveaxis(x, self.axis, -1).reshape(-1, x.shape[self.axis])
        total = np.zeros(x.shape[self.axis], x.dtype)
        for row in rows:
            total = self.do("add", total, row)
        return total

    def count(self, x: Codes) -> Codes:
        """Return the number of elements of a feature."""
        return self.do.number(x.size // max(x.shape[self.axis], 1))

    def mean(self, x: Codes) -> Codes:
        """Return the mean of each feature."""
        return self.do("divide", self.total(x), self.count(x))

    def deviation(self, variance: Codes) -> Codes:
        """Return the root of a variance and epsilon."""
        return self.do("sqrt", self.do("add", variance, self.epsilon))

    def normalized(self, x: Codes, scale: Codes, offset: Codes, mean: Codes, variance: Codes) -> Codes:
        """Return the result of batch_norm_inference."""
        scale, offset, mean, variance = (self.spread(row, x.shape) for row in (scale, offset, mean, variance))
        quotient = self.do("divide", self.do("subtract", x, mean), self.deviation(variance))
        return self.do("add", self.do("multiply", scale, quotient), offset)

    def trained(self, x: Codes, scale: Codes, offset: Codes) -> Sequence[Codes]:
        """Return the results of batch_norm_training."""
        mean = self.mean(x)
        centered = self.do("subtract", x, self.spread(mean, x.shape))
        variance = self.mean(self.do("multiply", centered, centered))
        return self.normalized(x, scale, offset, mean, variance), mean, variance

    def gradient(self, x: Codes, scale: Codes, mean: Codes, variance: Codes, grad: Codes) -> Sequence[Codes]:
        """Return the results of batch_norm_grad."""
        do, shape, count = self.do, x.shape, self.count(x)
        centered = do("subtract", x, self.spread(mean, shape))
        spread = self.spread(variance, shape)
        deviation = self.deviation(spread)
        offset = self.total(grad)
        i3 = self.spread(self.total(do("multiply", grad, centered)), shape)
        i5 = do("divide", do("multiply", i3, centered), do("add", spread, self.epsilon))
        i6 = do("subtract", do("subtract", do("multiply", grad, count), self.spread(offset, shape)), i5)
        factor = do("divide", do("divide", self.spread(scale, shape), deviation), count)
        of_scale = self.total(do("multiply", grad, do("divide", centered, deviation)))
        return do("multiply", factor, i6), of_scale, offset


def _inference(op: Operation, settings: Settings) -> Compute:
    features = _Features(op, settings)
    return lambda *operands: (features.normalized(*operands),)


stablehlo.op(
    "batch_norm_grad",
    operands={"operand": _BATCH, "scale": _ROW, "mean": _ROW, "variance": _ROW, "grad_output": _BATCH},
    results={"grad_operand": _BATCH, "grad_scale": _ROW, "grad_offset": _ROW},
    properties=_NORMALIZED,
    named_results=("grad_operand", "grad_scale", "grad_offset"),
    verify=_verify_normalization,
    evaluate=between_casts(on_arrays(lambda op, settings: _Features(op, settings).gradient)),
)
stablehlo.op(
    "batch_norm_inference",
    operands={"operand": _BATCH, "scale": _ROW, "offset": _ROW, "mean": _ROW, "variance": _ROW},
    results={"result": _BATCH},
    properties=_NORMALIZED,
    verify=_verify_normalization,
    evaluate=between_casts(on_arrays(lambda op, settings: _inference(op, settings))),
)
stablehlo.op(
    "batch_norm_training",
    operands={"operand": _BATCH, "scale": _ROW, "offset": _ROW},
    results={"output": _BATCH, "batch_mean": _ROW, "batch_var": _ROW},
    properties=_NORMALIZED,
    named_results=("output", "batch_mean", "batch_var"),
    verify=_verify_normalization,
    evaluate=between_casts(on_arrays(lambda op, settings: _Features(op, settings).trained)),
)

# --- random numbers ---------------------------------------------------------------------------------------------------


def _verify_rng(op: Operation) -> str | None:
    one, other, shape = operand_types(op)
    if len({ty.element_type(type_) for type_ in (one, other, op.results[0].type)}) > 1:
        return "failed to verify that all of {a, b, result} have same element type"
    normal = op.prop("rng_distribution", EnumAttr).keywords == "NORMAL"
    if normal and not all(isinstance(ty.element_type(type_), ty.FloatType) for type_ in (one, other)):
        return Unprefixed("mu and sigma must be floats")
    known = constant_numbers(op.operands[2])
    sizes = (None,) * (_shape(shape)[0] or 0) if known is None else tuple(known)
    return not_inferred(op, ty.TensorType(sizes, ty.element_type(other)))


def _rng(op: Operation, settings: Settings) -> Function:
    raise Unsupported(
        "'stablehlo.rng' is not determinate: each run of it gives other numbers; use 'stablehlo.rng_bit_generator', or "
        "make the numbers an argument"
    )


_BOUND = tensor_of("BIF", "0D")

stablehlo.op(
    "rng",
    f"$a `,` $b `,` $shape `,` `distribution` `=` custom<Keyword>($rng_distribution) {FUNCTION_TYPE}",
    operands={"a": _BOUND, "b": _BOUND, "shape": SHAPE},
    results={"result": tensor_of("BIF")},
    properties=(d.Property("rng_distribution", RNG_DISTRIBUTION),),
    verify=_verify_rng,
    evaluate=OnValues(_rng),
)


def _verify_generator(op: Operation) -> str | None:
    given, state, _ = op.types
    if shapes_fit(given, state):
        return None
    return Unprefixed(f"output state shape must be compatible with initial state shape. Got: '{given}' and '{state}'")


def _generated(op: Operation, settings: Settings) -> Compute:
    state, output = (ty.element_type(result.type) for result in op.results)
    algorithm = op.prop("rng_algorithm", EnumAttr).keywords
    shape, width = ty.shape_of(op.results[1].type), ty.width_of(output)
    words = 64 if state == ty.IntegerType(64, "unsigned") or state == ty.I64 else 32
    if width not in (8, 16, 32, 64) or words * (_shape(op.operands[0].type)[0] or 0) not in _STATES[algorithm]:
        raise Unsupported(
            f"halfulp does not evaluate 'stablehlo.rng_bit_generator' with a state of type '{op.operands[0].type}' and "
            f"results of type '{output}'"
        )

    def generate_(given: Codes) -> Sequence[Codes]:
        whole = np.ascontiguousarray(given).view(np.uint64) if words == 32 else given
        grown, bits = generate(algorithm, whole, tuple(size or 0 for size in shape or ()), width)
        return grown.view(given.dtype), bits.astype(storage_dtype(width))

    return generate_


_STATES = {"THREE_FRY": (128,), "PHILOX": (128, 192), "DEFAULT": (128, 192)}
"""The bits of the states that XLA takes, by algorithm."""

stablehlo.op(
    "rng_bit_generator",
    f"$initial_state `,` `algorithm` `=` custom<Keyword>($rng_algorithm) {FUNCTION_TYPE}",
    operands={"initial_state": tensor_of("IF")},
    results={"output_state": tensor_of("IF"), "output": tensor_of("IF", "statically shaped")},
    properties=(d.Property("rng_algorithm", RNG_ALGORITHM),),
    named_results=("output_state", "output"),
    verify=_verify_generator,
    evaluate=on_arrays(_generated),
)

# --- quantisation -----------------------------------------------------------------------------------------------------


def _verify_quantize(op: Operation) -> str | None:
    found = elementwise_shape(op)
    if found is not None:
        return found
    given, made = (ty.element_type(expressed(value.type)) for value in (op.operands[0], op.results[0]))
    return None if given == made else Unprefixed(f"Expressed type of result expected to be '{given}', but got '{made}'")


def _verify_dequantize(op: Operation) -> str | None:
    type_ = op.operands[0].type
    return elementwise_shape(op) or not_inferred(op, expressed(ty.TensorType(_shape(type_), ty.element_type(type_))))


stablehlo.op(
    "uniform_quantize",
    UNARY,
    operands={"operand": elementwise_tensor_of("FQX")},
    results={"result": elementwise_tensor_of("QX")},
    traits=(d.Trait.ELEMENTWISE,),
    verify=_verify_quantize,
    evaluate=Elementwise(quantizing),
)
stablehlo.op(
    "uniform_dequantize",
    UNARY,
    operands={"operand": elementwise_tensor_of("QX")},
    results={"result": tensor_of("F")},
    traits=(d.Trait.ELEMENTWISE,),
    verify=_verify_dequantize,
    evaluate=Elementwise(dequantizing),
)
