"""The ops of tosa that go over windows and sum products: convolutions, pools, matmul; and the Fourier transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.tosa.attributes import (
    ACC_TYPE,
    ARRAY_2,
    ARRAY_3,
    ARRAY_4,
    ARRAY_6,
    LOCAL_BOUND,
    NAN_PROPERTY,
    RESIZE_MODE,
    flag,
)
from halfulp.interp.dialects.tosa.blocks import block_size, conv2d, matmul_t
from halfulp.interp.dialects.tosa.compliance import is_known
from halfulp.interp.dialects.tosa.conversions import BLOCK_FORM, BLOCKS
from halfulp.interp.dialects.tosa.evaluating import with_zero_points
from halfulp.interp.dialects.tosa.forms import PLAIN, Form
from halfulp.interp.dialects.tosa.images import fft2d, resize, rfft2d
from halfulp.interp.dialects.tosa.products import AVERAGE_POOL, MATMUL, MATMUL_T, MAX_POOL, convolution
from halfulp.interp.dialects.tosa.rules import (
    alike,
    constant_shape,
    declare,
    divides,
    first_like_result,
    has_element_of,
    resized_sides,
    resolvable,
    same_elements,
    same_shapes,
    zero_point_is_allowed,
)
from halfulp.interp.dialects.tosa.types import (
    AT_LEAST_2D,
    MX_SCALES_3D,
    MX_SCALES_4D,
    MX_VALUES_3D,
    MX_VALUES_4D,
    SCALAR_INT_OR_FLOAT,
    SHAPE_2,
    SHAPE_4,
    TENSOR_1D,
    TENSOR_3D,
    TENSOR_4D,
    TENSOR_5D,
    is_float,
    shape,
    stored,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, Rule, SSAValue
from halfulp.interp.run.evaluators import OnValues

_ZERO_POINTS = {"input_zp": SCALAR_INT_OR_FLOAT, "weight_zp": SCALAR_INT_OR_FLOAT}
_AXES = {"depth": "d", "height": "y", "width": "x"}
_SIDES = {"depth": ("front", "back"), "height": ("top", "bottom"), "width": ("left", "right")}


def acc_type(op: Operation) -> ty.Type:
    """Return the type in which an op sums."""
    return op.prop("acc_type", at.TypeAttr).type


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _at_least(found: Sequence[int] | None, words: str, least: int) -> str | None:
    if found is None or min(found) >= least:
        return None
    return f"expect all {words} values to be >= {least}, got {_listed(found)}"


# --- convolutions -----------------------------------------------------------------------------------------------------

_FLOAT_8 = (ty.F("f8E5M2"), ty.F("f8E4M3FN"))


def _operands_of_conv(op: Operation) -> str | None:
    value, weight, bias, zero, zero_weight = op.operands
    elements = [stored(each.type) for each in (value, weight, bias, op.results[0])]
    if is_float(elements[2]) and is_float(elements[3]) and elements[2] != elements[3]:
        return f"expect both bias and result to have same element type, got '{elements[2]}' and '{elements[3]}'"
    allowed = zero_point_is_allowed(zero, "input") or zero_point_is_allowed(zero_weight, "weight")
    if is_known(op):
        return allowed
    pair = f"'{elements[0]}' and '{elements[1]}'"
    if (elements[0] in _FLOAT_8 or elements[1] in _FLOAT_8) and elements[0] != elements[1]:
        return f"expect both input and weight to have same element type, got {pair}"
    if is_float(elements[0]) != is_float(elements[1]):
        return f"expect both input and weight to be float or not together, got {pair}"
    same = "expect both {} and its zero point are the same element type"
    return (
        has_element_of(value, zero, same.format("input"))
        or has_element_of(weight, zero_weight, same.format("weight"))
        or allowed
    )


_ACCUMULATORS: dict[ty.Type, tuple[str, tuple[ty.Type, ...], str]] = {
    ty.IntegerType(8): ("i8", (ty.I32,), "i32"),
    ty.IntegerType(16): ("i16", (ty.IntegerType(48),), "i48"),
    ty.F("f8E5M2"): ("f8", (ty.F("f16"),), "f16"),
    # As MLIR has it: f8E4M3, not f8E4M3FN, which TOSA uses.
    ty.F("f8E4M3"): ("f8", (ty.F("f16"),), "f16"),
    ty.F("f16"): ("f16", (ty.F("f16"), ty.F("f32")), "f16/f32"),
    ty.F("bf16"): ("bf16", (ty.F("f32"),), "f32"),
    ty.F("f32"): ("f32", (ty.F("f32"),), "f32"),
}


def _accumulator(op: Operation) -> str | None:
    found = _ACCUMULATORS.get(stored(op.operands[0].type))
    if found is None or acc_type(op) in found[1] or is_known(op):
        return None
    return f"accumulator type for {found[0]} tensor is not {found[2]}"


def _sizes_of_conv(first: int, *names: str) -> Rule:
    """Return the rule for the sizes of a convolution. ``first``: the first axis of the window in the weights."""

    def check(op: Operation) -> str | None:
        return _steps_fit(
            op, op.operands[1], first, names, *(op.numbers(each) for each in ("pad", "stride", "dilation"))
        ) or _bias_fits(op, op.operands[2])

    return check


def _steps_fit(
    op: Operation, weight: SSAValue, first: int, names: Sequence[str], pads: Sequence[int] | None,
    strides: Sequence[int] | None, dilations: Sequence[int] | None,
) -> str | None:  # fmt: skip
    """Say what is wrong with the steps of a window, of which None are not known."""
    found = _at_least(pads, "padding", 0) or _at_least(strides, "stride", 1) or _at_least(dilations, "dilation", 1)
    given, window, made = shape(op.operands[0]), shape(weight), shape(op.results[0])
    if found is not None or not (given and window and made and pads and strides and dilations):
        return found
    for index, name in enumerate(names):
        found = _conv_size(
            name, given[index + 1], window[first + index], made[index + 1], pads[2 * index : 2 * index + 2],
            strides[index], dilations[index],
        )  # fmt: skip
        if found is not None:
            return found
    return None


def _conv_size(
    name: str, size: int | None, kernel: int | None, made: int | None, pads: Sequence[int], stride: int, dilation: int
) -> str | None:
    if size is None or kernel is None:
        return None
    low, high = pads
    axis, (before, after) = _AXES[name], _SIDES[name]
    steps = divides(size - 1 + low + high - (kernel - 1) * dilation, stride)
    if steps is None:
        return (
            f"expected input_{name} - 1 + pad_{before} + pad_{after} - (kernel_{name} - 1) * dilation_{axis} to be "
            f"wholly divisible by stride_{axis}, got ({size} - 1 + {low} + {high} - ({kernel} - 1) * {dilation}) / "
            f"{stride}"
        )
    if made is not None and steps + 1 != made:
        return f"calculated output {name} did not match expected: calculated={steps + 1}, expected={made}"
    return None


def _bias_fits(op: Operation, operand: SSAValue) -> str | None:
    bias, made = shape(operand), shape(op.results[0])
    if bias is None or made is None or bias[0] is None or made[-1] is None or bias[0] in (1, made[-1]):
        return None
    return f"bias channels expected to be equal to output channels ({made[-1]}) or 1, got {bias[0]}"


_ACC = d.Property("acc_type", ACC_TYPE)
for _name, _tensor, _pair, _pads, _first, _spatial in (
    ("conv2d", TENSOR_4D, ARRAY_2, ARRAY_4, 1, ("height", "width")),
    ("conv3d", TENSOR_5D, ARRAY_3, ARRAY_6, 1, ("depth", "height", "width")),
    ("depthwise_conv2d", TENSOR_4D, ARRAY_2, ARRAY_4, 0, ("height", "width")),
):
    declare(
        _name,
        PLAIN,
        resolvable,
        _operands_of_conv,
        _accumulator,
        _sizes_of_conv(_first, *_spatial),
        operands={"input": _tensor, "weight": _tensor, "bias": TENSOR_1D, **_ZERO_POINTS},
        results={"output": _tensor},
        properties=(
            _ACC, d.Property("dilation", _pair), LOCAL_BOUND, d.Property("pad", _pads), d.Property("stride", _pair)
        ),
        evaluate=with_zero_points(convolution(_first == 0, False), 3, 4),
    )  # fmt: skip


def _sizes_of_transpose_conv(op: Operation) -> str | None:
    strides, pads = op.numbers("stride"), op.numbers("out_pad")
    if min(strides) < 1:
        return f"expect all stride values to be >= 1, got [{_listed(strides)}]"
    given, window, made = shape(op.operands[0]), shape(op.operands[1]), shape(op.results[0])
    for index, (name, letter) in enumerate((("height", "H"), ("width", "W"))):
        kernel = None if window is None else window[1 + index]
        for side, pad in zip(_SIDES[name], pads[2 * index :], strict=False):
            if kernel is not None and pad <= -kernel:
                return f"expected out_pad_{side} > -K{letter}, but got: out_pad_{side}={pad} and K{letter}={kernel}"
    if made is None:
        return None
    for index, (name, letter) in enumerate((("height", "H"), ("width", "W"))):
        if given is None or window is None:
            break
        size, kernel, wanted = given[1 + index], window[1 + index], made[1 + index]
        low, high = pads[2 * index : 2 * index + 2]
        if size is None or wanted is None or kernel is None:
            continue
        if wanted != (size - 1) * strides[index] + low + high + kernel:
            axis, (before, after) = _AXES[name], _SIDES[name]
            return (
                f"dimension mismatch: expected O{letter} == (I{letter} - 1) * stride_{axis} + out_pad_{before} + "
                f"out_pad_{after} + K{letter}, but got {wanted} != ({size} - 1) * {strides[index]} + {low} + {high} + "
                f"{kernel}"
            )
    return _bias_fits(op, op.operands[2])


declare(
    "transpose_conv2d",
    PLAIN,
    resolvable,
    _operands_of_conv,
    _accumulator,
    _sizes_of_transpose_conv,
    operands={"input": TENSOR_4D, "weight": TENSOR_4D, "bias": TENSOR_1D, **_ZERO_POINTS},
    results={"output": TENSOR_4D},
    properties=(_ACC, LOCAL_BOUND, d.Property("out_pad", ARRAY_4), d.Property("stride", ARRAY_2)),
    evaluate=with_zero_points(convolution(False, True), 3, 4),
)


def _same_letters(
    values: Sequence[SSAValue], layouts: Sequence[str], names: Sequence[str], words: Mapping[str, str]
) -> tuple[dict[str, int | None], str | None]:
    """Return the sizes by the letters of layouts, and what is wrong if two sizes of one letter differ."""
    sizes: dict[str, int | None] = dict.fromkeys(words)
    for value, letters, name in zip(values, layouts, names, strict=False):
        for letter, size in zip(letters, shape(value) or (), strict=False):
            known = sizes[letter]
            if known is None:
                sizes[letter] = size
            elif size is not None and size != known:
                return sizes, f"expected {words[letter]} of {name} to match size {known}, got {size}"
    return sizes, None


_SCALED_SIZES: Mapping[str, str] = {
    "N": "batch size", "H": "input height", "W": "input width", "C": "input channels", "B": "input channel blocks",
    "O": "output channels", "K": "kernel height", "L": "kernel width",
}  # fmt: skip


def _scaled_convolution(op: Operation) -> str | None:
    names = ("input_data", "input_scale", "weight_data", "weight_scale")
    sizes, found = _same_letters(op.operands, ("NHWC", "NHWB", "OKLC", "OKLB"), names, _SCALED_SIZES)
    channels, scales, block = sizes["C"], sizes["B"], block_size(op)
    if found is not None:
        return found
    if channels is not None and channels % block:
        return f"expect IC to be a multiple of block size, got IC={channels}, block_size={block}"
    if channels is not None and scales is not None and scales != channels // block:
        return f"expect scale operands dimension 2 to equal IC/block_size ({channels}/{block}), got {scales}"
    steps = map(constant_shape, op.operands[5:])
    return _steps_fit(op, op.operands[2], 1, ("height", "width"), *steps) or _bias_fits(op, op.operands[4])


declare(
    "conv2d_block_scaled",
    BLOCK_FORM,
    resolvable,
    _scaled_convolution,
    operands={
        "input_data": MX_VALUES_4D, "input_scale": MX_SCALES_4D, "weight_data": MX_VALUES_4D,
        "weight_scale": MX_SCALES_4D, "bias": TENSOR_1D, "pad": SHAPE_4, "stride": SHAPE_2, "dilation": SHAPE_2,
    },
    results={"output": TENSOR_4D},
    properties=(BLOCKS,),
    since=d.Schema.LLVM24,
    evaluate=OnValues(conv2d),
)  # fmt: skip

# --- pools ------------------------------------------------------------------------------------------------------------


def _sizes_of_pool(op: Operation) -> str | None:
    found = (
        _at_least(op.numbers("kernel"), "kernel", 1)
        or _at_least(op.numbers("stride"), "stride", 1)
        or _at_least(op.numbers("pad"), "padding", 0)
    )
    if found is not None:
        return found
    kernel, strides, (top, bottom, left, right) = (op.numbers(each) for each in ("kernel", "stride", "pad"))
    if max(left, right) >= kernel[1]:
        return (
            "expected left/right padding to be less than the width of the kernel, got "
            f"pad_left={left}, pad_right={right}, kernel_x={kernel[1]}"
        )
    if max(top, bottom) >= kernel[0]:
        return (
            "expected top/bottom padding to be less than the height of the kernel, got "
            f"pad_top={top}, pad_bottom={bottom}, kernel_y={kernel[0]}"
        )
    given, made = shape(op.operands[0]), shape(op.results[0])
    if given is None or made is None:
        return None
    for index, (name, low, high) in enumerate((("height", top, bottom), ("width", left, right))):
        size, wanted, axis = given[1 + index], made[1 + index], _AXES[name]
        if size is None:
            continue
        before, after = _SIDES[name]
        steps = divides(size + low + high - kernel[index], strides[index])
        if steps is None:
            return (
                f"expected input_{name} + pad_{before} + pad_{after} - kernel_{axis} to be wholly divisible by "
                f"stride_{axis}, got ({size} + {low} + {high} - {kernel[index]}) / {strides[index]}"
            )
        if wanted is not None and steps + 1 != wanted:
            return f"calculated output {name} did not match expected: calculated={steps + 1}, expected={wanted}"
    return None


def _averaged(op: Operation) -> str | None:
    value, zero, zero_out = op.operands[:3]
    (result,) = op.results
    element, acc = stored(value.type), acc_type(op)
    if isinstance(element, ty.IntegerType) and acc != ty.I32:
        return "accumulator type for integer tensor is not i32"
    found = _ACCUMULATORS.get(element)
    if found is not None and element in (ty.F("f16"), ty.F("bf16"), ty.F("f32")) and acc not in found[1]:
        return f"accumulator type for {found[0]} tensor is not {found[2]}"
    return (
        has_element_of(value, zero, "expect both input and its zero point are the same element type")
        or has_element_of(result, zero_out, "expect both output and its zero point are the same element type")
        or zero_point_is_allowed(zero, "input")
        or zero_point_is_allowed(zero_out, "output")
    )


_WINDOW = (d.Property("kernel", ARRAY_2), d.Property("pad", ARRAY_4), d.Property("stride", ARRAY_2))
_POOLED = {"input": TENSOR_4D, "input_zp": SCALAR_INT_OR_FLOAT, "output_zp": SCALAR_INT_OR_FLOAT}
_WINDOW_SHAPES = {"kernel": SHAPE_2, "stride": SHAPE_2, "pad": SHAPE_4}
declare(
    "avg_pool2d",
    PLAIN,
    resolvable,
    _sizes_of_pool,
    _averaged,
    operands=_POOLED,
    results={"output": TENSOR_4D},
    properties=(_ACC, *_WINDOW),
    evaluate=with_zero_points(AVERAGE_POOL, 1, 2),
)
declare(
    "avg_pool2d_adaptive",
    PLAIN,
    resolvable,
    _averaged,
    operands={**_POOLED, **_WINDOW_SHAPES},
    results={"output": TENSOR_4D},
    properties=(_ACC,),
    since=d.Schema.LLVM24,
    evaluate=with_zero_points(AVERAGE_POOL, 1, 2),
)
declare(
    "max_pool2d",
    Form(bare="nan_mode"),
    resolvable,
    first_like_result,
    _sizes_of_pool,
    operands={"input": TENSOR_4D},
    results={"output": TENSOR_4D},
    properties=(*_WINDOW[:1], NAN_PROPERTY, *_WINDOW[1:]),
    evaluate=MAX_POOL,
)
declare(
    "max_pool2d_adaptive",
    Form(bare="nan_mode"),
    resolvable,
    first_like_result,
    operands={"input": TENSOR_4D, **_WINDOW_SHAPES},
    results={"output": TENSOR_4D},
    properties=(NAN_PROPERTY,),
    since=d.Schema.LLVM24,
    evaluate=MAX_POOL,
)

# --- matmul -----------------------------------------------------------------------------------------------------------


def _factors(op: Operation) -> str | None:
    one, other, zero_one, zero_other = op.operands
    types = [ty.element_type(value.type) for value in (one, other)]
    quantized = [each for each in types if isinstance(each, ty.UniformQuantizedType)]
    if len(quantized) == 1:
        return f"expect operands to be both quantized or both not quantized, got '{types[0]}' and '{types[1]}'"
    if quantized and quantized[0].storage_width != quantized[1].storage_width:
        widths = f"{quantized[0].storage_width} and {quantized[1].storage_width}"
        return f"expect quantized operands to have same widths, got {widths}"
    allowed = zero_point_is_allowed(zero_one, "a") or zero_point_is_allowed(zero_other, "b")
    if op.name == "tosa.matmul_t" and is_known(op):
        return allowed
    return (
        has_element_of(one, zero_one, "expect input a and a_zp have the same element type")
        or has_element_of(other, zero_other, "expect input b and b_zp have the same element type")
        or allowed
    )


_MATMUL_ZEROS = {"a_zp": SCALAR_INT_OR_FLOAT, "b_zp": SCALAR_INT_OR_FLOAT}
declare(
    "matmul",
    PLAIN,
    resolvable,
    _factors,
    operands={"a": TENSOR_3D, "b": TENSOR_3D, **_MATMUL_ZEROS},
    results={"output": TENSOR_3D},
    evaluate=with_zero_points(MATMUL, 2, 3),
)
declare(
    "matmul_t",
    PLAIN,
    resolvable,
    _factors,
    operands={"a": AT_LEAST_2D, "b": AT_LEAST_2D, **_MATMUL_ZEROS},
    results={"output": AT_LEAST_2D},
    evaluate=with_zero_points(MATMUL_T, 2, 3),
    since=d.Schema.LLVM24,
)


def _scaled_factors(op: Operation) -> str | None:
    found = alike(op.operands[0], op.operands[2], "A_data", "B_data")
    if found is not None:
        return found
    names = ("a_data", "a_scale", "b_data", "b_scale")
    words = {"N": "batch", "D": "batch", "H": "height", "W": "width", "C": "channels", "M": "C/block_size"}
    sizes, found = _same_letters(op.operands, ("NHC", "NHM", "DWC", "DWM"), names, words)
    if found is not None:
        return found
    batch, second, block = sizes["N"], sizes["D"], block_size(op)
    if batch is not None and second is not None and second not in (1, batch):
        return f"expect B matrix batch size to be broadcast compatible with A, got D={second} vs N={batch}"
    channels, scales = sizes["C"], sizes["M"]
    if channels is not None and channels % block:
        return f"expect C to be a multiple of block size, got C={channels}, block_size={block}"
    if channels is not None and scales is not None and scales != channels // block:
        return f"expect scale operands dimension 2 to equal C/block_size ({channels}/{block}), got {scales}"
    expected = (second if batch is None else batch, sizes["H"], sizes["W"])
    made = shape(op.results[0])
    if made is not None and not sizes_agree(made, expected):
        texts = [", ".join("?" if size is None else str(size) for size in each) for each in (made, expected)]
        return f"expected output shape {texts[0]} to be compatible with expected output shape {texts[1]}"
    return None


declare(
    "matmul_t_block_scaled",
    BLOCK_FORM,
    resolvable,
    _scaled_factors,
    operands={"a_data": MX_VALUES_3D, "a_scale": MX_SCALES_3D, "b_data": MX_VALUES_3D, "b_scale": MX_SCALES_3D},
    results={"output_data": TENSOR_3D},
    properties=(BLOCKS,),
    evaluate=OnValues(matmul_t),
)

# --- Fourier transforms -----------------------------------------------------------------------------------------------


def _floats(op: Operation) -> str | None:
    same = all(is_float(ty.element_type(result.type)) for result in op.results)
    return None if same else "requires a floating point type"


def _power_of_two(size: int | None, name: str) -> str | None:
    if size is None or (size > 0 and not size & (size - 1)):
        return None
    return f"expected {name} to be a power of two, got {size}"


def _fft(op: Operation) -> str | None:
    one, other = (shape(value) for value in op.operands)
    if one is None or other is None:
        return None
    sizes = [None if a is None else b for a, b in zip(one, other, strict=True)]
    return _power_of_two(sizes[1], "height") or _power_of_two(sizes[2], "width")


def _rfft(op: Operation) -> str | None:
    given, made = shape(op.operands[0]), shape(op.results[0])
    if not sizes_agree(made, shape(op.results[1])):
        types = ", ".join(f"'{result.type}'" for result in op.results)
        return f"expected output shapes to match, got {types}"
    if given is None:
        return None
    found = _power_of_two(given[1], "height") or _power_of_two(given[2], "width")
    if found is not None or made is None:
        return found
    if not sizes_agree(given[:-1], made[:-1]):
        return (
            "expected batch and height dimensions of input/output to match, got "
            f"input='{op.operands[0].type}' output='{op.results[0].type}'"
        )
    if given[2] is not None and made[2] is not None and made[2] != given[2] // 2 + 1:
        return f"expected output width to be equal to input_width / 2 + 1, got {made[2]}"
    return None


_SPECTRUM = {"output_real": TENSOR_3D, "output_imag": TENSOR_3D}
declare(
    "fft2d",
    PLAIN,
    same_elements,
    same_shapes,
    _floats,
    resolvable,
    _fft,
    operands={"input_real": TENSOR_3D, "input_imag": TENSOR_3D},
    results=_SPECTRUM,
    properties=(flag("inverse"), LOCAL_BOUND),
    named_results=("output_real", "output_imag"),
    evaluate=OnValues(fft2d),
)
declare(
    "rfft2d",
    PLAIN,
    same_elements,
    _floats,
    resolvable,
    _rfft,
    operands={"input_real": TENSOR_3D},
    results=_SPECTRUM,
    properties=(LOCAL_BOUND,),
    named_results=("output_real", "output_imag"),
    evaluate=OnValues(rfft2d),
)

# --- resize -----------------------------------------------------------------------------------------------------------


def _resized(op: Operation) -> str | None:
    scale = constant_shape(op.operands[1])
    if scale is None:
        return None
    if min(scale) <= 0:
        return f"expect all scale values to be > 0, got {_listed(scale)}"
    return resized_sides(op, broadcast=True)


declare(
    "resize",
    Form(bare="mode"),
    resolvable,
    _resized,
    operands={"input": TENSOR_4D, "scale": SHAPE_4, "offset": SHAPE_2, "border": SHAPE_2},
    results={"output": TENSOR_4D},
    properties=(d.Property("mode", RESIZE_MODE),),
    evaluate=OnValues(resize),
)
