"""Kernels of block scaling: blocks of elements that share a scale, from codes of a float format and back.

Sources: OCP Microscaling Formats (MX) 1.0, sections 5.3, 6.1 and 6.3, for the recipe ``floor`` and the types; torchao
(prototype/mx_formats, ScaleCalculationMode) for ``ceil``, ``even`` and ``rceil``, and its NVFP4 quantiser for
``nvfp4``; _compute_exp of FBGEMM (fbgemm_gpu/triton/quantize.py) for ``stochastic``; NVIDIA TransformerEngine's
reference quantiser for ``nvfp4-te``, and its kernel quantize_4over6_nvfp4.cuh for ``nvfp4-4over6``; its
BlockwiseQuantizerReference for ``fp8-te``; act_quant of DeepSeek-V3, per_block_cast_to_fp8 of DeepGEMM,
per_token_group_quant_fp8 of vLLM, per_token_group_quant_8bit of flashinfer and torch_blockwise_scale_act_quant_lhs of
torchao for the other ``fp8``.

An MX recipe is exact: the scale is a power of two that the largest magnitude of the block decides, and an element is
the quotient, rounded once. An NVFP4 recipe is a chain of f32 operations, each rounded to nearest even, and only the
last step, to the element, has the mode of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import asking, did_you_mean, with_hint
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.profile import PROFILES, SPEC

E8M0, F32, F64 = FORMATS["f8E8M0FNU"], FORMATS["f32"], FORMATS["f64"]
F4, F8 = FORMATS["f4E2M1FN"], FORMATS["f8E4M3FN"]
RNE = Rounding.TO_NEAREST_EVEN

_SATURATING = replace(PROFILES["ocp-saturate"].conversions, float_to_int="saturate")
_E8M0_NAN = 0xFF
_LARGEST_EXPONENT = 127
_DIRECTED = (Rounding.DOWNWARD, Rounding.UPWARD, Rounding.TO_ODD)


@dataclass(frozen=True)
class FixedPoint:
    """The element type of MXINT8: two's complement with an implied scale of ``2**-mantissa_bits``.

    The code -128 stays unused, as OCP MX 1.0 (5.3.4) permits, so that the range is symmetric.
    """

    name: str
    bits: int
    mantissa_bits: int
    emax: int = 0

    @property
    def largest(self) -> int:
        """The largest stored integer."""
        return (1 << (self.bits - 1)) - 1


INT8 = FixedPoint("i8", 8, 6)
Element = FloatFormat | FixedPoint

MX_ELEMENTS: Mapping[str, Element] = MappingProxyType(
    {name: FORMATS[name] for name in ("f8E5M2", "f8E4M3FN", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN")} | {"i8": INT8}
)
"""The element types of OCP MX 1.0."""

FP8_ELEMENTS: Mapping[str, Element] = MappingProxyType({name: FORMATS[name] for name in ("f8E4M3FN", "f8E5M2")})
"""The element types of FP8 with scales of f32."""


class Blocks(NamedTuple):
    """The codes of quantised blocks: ``elements`` [..., n, block], ``scales`` [..., n], ``tensor_scale`` of f32: (), or
    of the shape of ``scales`` with 1 along an axis.
    """

    elements: Codes
    scales: Codes
    tensor_scale: Codes | None = None


@dataclass(frozen=True)
class Recipe:
    """The rules of one way to quantise blocks; the texts are what the documentation prints.

    ``block``: the number of elements that share a scale, unless another is given. ``scale``: the format of the scales.
    ``raises``: for an MX recipe, a function of the element type. It gives the significand of the largest magnitude (in
    [1, 2]) from which on the exponent of the scale is one higher, and whether it is already higher at that significand.
    ``levels``: for an NVFP4 recipe, the chain of operations. ``rival``: other scales for each block, which replace
    those of ``levels`` where they give a smaller error; such a recipe takes no calibrated scale. ``single``: for a
    recipe of FP8 with scales of f32, the steps. ``noise``: random bits are added to the largest magnitude of a block.
    """

    name: str
    block: int
    scale: FloatFormat
    choice: str
    not_finite: str
    zeros: str
    raises: Callable[[Element], tuple[Fraction, bool]] | None = None
    levels: Callable[[Codes, Codes, Codes | None], _Levels] | None = None
    rival: _Rival | None = None
    single: _Single | None = None
    noise: bool = False

    def elements(self) -> Mapping[str, Element]:
        """The documented element types by name. An MX recipe also accepts other signed float formats."""
        if self.single is not None:
            return FP8_ELEMENTS
        return MX_ELEMENTS if self.raises is not None and not self.noise else {F4.name: F4}

    @property
    def default(self) -> str:
        """The name of the element type if none is given."""
        return F4.name if F4.name in self.elements() else next(iter(self.elements()))


def largest_significand(element: Element) -> Fraction:
    """Return the largest finite value of an element type, divided by its power of two: in [1, 2)."""
    if isinstance(element, FixedPoint):
        return Fraction(element.largest, 1 << element.mantissa_bits)
    value = scalar.value(element, element.max_code)
    assert value is not None
    return value / Fraction(2) ** element.emax


def working_format(source: FloatFormat, element: Element) -> FloatFormat:
    """Return the format in which quotients are computed: f32 if it suffices, else f64. It suffices if it can represent
    every value of the source, and if its precision is enough to round each quotient correctly to the element type.
    Raises ValueError if neither suffices.
    """
    lowest = -element.mantissa_bits if isinstance(element, FixedPoint) else element.emin - element.mantissa_bits
    for fmt in (F32, F64):
        holds = (
            source.precision <= fmt.precision
            and source.emax <= fmt.emax
            and source.emin - source.mantissa_bits >= fmt.emin - fmt.mantissa_bits
        )
        fits = isinstance(element, FixedPoint) or element.emax <= fmt.emax
        if holds and fits and lowest - 2 > fmt.emin:
            return fmt
    raise ValueError(f"blocks of {source.name} cannot be computed exactly in f64; convert them to f64 first")


def check_source(source: FloatFormat, element: Element, recipe: Recipe) -> None:
    """Raise ValueError if a recipe cannot quantise numbers of the format ``source`` to this element type."""
    if working_format(source, element) != F32 and (recipe.raises is None or recipe.noise):
        message = f"the recipe {recipe.name} computes in f32, which does not hold every {source.name}"
        raise ValueError(f"{message}; convert the input to f32 first")


def quantize(
    codes: Codes,
    source: FloatFormat,
    element: Element,
    recipe: Recipe,
    rounding: Rounding = RNE,
    tensor_scale: Codes | None = None,
    two_levels: bool = True,
    rows: int | None = None,
    columns: int | None = None,
    noise: Codes | None = None,
) -> Blocks:
    """Quantise blocks: the last axis of ``codes`` is one block.

    ``tensor_scale``: for an NVFP4 recipe, a given f32 code; by default it comes from the largest magnitude of all
    blocks. ``two_levels``: False for scales without a tensor scale. ``rows``: each row has a tensor scale, which all
    blocks along this axis share. ``columns``: the number of elements in a row of a block of two dimensions. ``noise``:
    for a recipe that has it, an unsigned integer for each block.
    """
    if recipe.raises is not None:
        return _quantize_mx(codes, source, element, recipe, rounding, noise)
    if recipe.single is not None:
        return _quantize_fp8(codes, source, element, recipe, rounding)
    return _quantize_nvfp4(codes, source, recipe, rounding, tensor_scale, two_levels, rows, columns)


def dequantize(
    blocks: Blocks, element: Element, scale: FloatFormat, target: FloatFormat, rounding: Rounding = RNE
) -> Codes:
    """Return element * scale * tensor scale in ``target``: the exact product, rounded once.

    The product is exact in f64: the significands have at most 24 + 4 + 11 bits.
    """
    if isinstance(element, FixedPoint):
        whole = fast.from_integer(F64, blocks.elements, element.bits, True, RNE, SPEC.conversions).codes
        values = _times(F64, whole, _power(F64, np.asarray(-element.mantissa_bits)))
    else:
        values = _widened(element, F64, blocks.elements)
    product = _times(F64, values, _widened(scale, F64, blocks.scales)[..., None])
    if blocks.tensor_scale is not None:
        product = _times(F64, product, _widened(F32, F64, blocks.tensor_scale)[..., None])
    return np.asarray(fast.convert(F64, target, product, rounding, SPEC.conversions).codes)


# --- MX: a power of two for each block --------------------------------------------------------------------------------


def scale_exponents(largest: npt.NDArray[np.floating[Any]], element: Element, recipe: Recipe) -> npt.NDArray[np.int64]:
    """Return the exponents of the scales of blocks; none is below -127. ``largest``: the largest magnitude of each
    block, a finite number.

    The exponent is floor(log2(largest)) - emax, or one more, as the recipe says. A block of zeros has -127.
    """
    assert recipe.raises is not None
    halves, exponents = np.frexp(largest)
    threshold, inclusive = recipe.raises(element)
    bound = largest.dtype.type(threshold / 2)
    raised = (halves >= bound) if inclusive else (halves > bound)
    found = exponents.astype(np.int64) - 1 - element.emax + raised
    return np.where(largest == 0, -_LARGEST_EXPONENT, np.maximum(found, -_LARGEST_EXPONENT))


def _quantize_mx(
    codes: Codes, source: FloatFormat, element: Element, recipe: Recipe, rounding: Rounding, noise: Codes | None
) -> Blocks:
    check_source(source, element, recipe)
    fmt = working_format(source, element)
    x = _widened(source, fmt, codes)
    block = _magnitudes(fmt, x).max(axis=-1, initial=0)
    if recipe.noise:
        assert noise is not None
        block = _with_noise(block, noise, element)
    largest = block.view(f"f{fmt.bits // 8}")
    lost = ~np.isfinite(largest)
    exponents = scale_exponents(np.where(lost, 0, largest), element, recipe)
    lost |= exponents > _LARGEST_EXPONENT
    scales = np.where(lost, _E8M0_NAN, exponents + _LARGEST_EXPONENT).astype(np.uint8)
    return Blocks(scaled_elements(x, fmt, element, np.where(lost, 0, exponents), lost, rounding), scales)


def _with_noise(block: Codes, noise: Codes, element: Element) -> Codes:
    """Add random bits to codes of f32, below the bits that the element type keeps; a finite number stays finite."""
    mask = np.uint32((1 << F32.mantissa_bits - element.mantissa_bits) - 1)
    # A block of zeros stays one: it has the smallest scale with every noise.
    raised = np.minimum(block + (noise.astype(np.uint32) & mask), np.uint32(F32.max_code))
    return np.where((block == 0) | (block > F32.max_code), block, raised)


def scaled_elements(
    x: Codes,
    fmt: FloatFormat,
    element: Element,
    exponents: npt.NDArray[np.int64],
    lost: Mask,
    rounding: Rounding = RNE,
) -> Codes:
    """Return codes of the element type: x / 2**exponent, rounded once, saturating.

    ``x``: codes of ``fmt``. ``lost``: a mask of the blocks whose scale is NaN; their elements are NaN, or 0 if the
    element type has no NaN.
    """
    scaled = _times(fmt, x, _power(fmt, -exponents)[..., None])
    if rounding in _DIRECTED:
        # A quotient below all values of the working format still rounds away from zero.
        scaled = np.where((_magnitudes(fmt, scaled) == 0) & (_magnitudes(fmt, x) != 0), scaled | 1, scaled)
    if lost.any():
        scaled = np.where(lost[..., None], scaled.dtype.type(0), scaled)
    elements = _encoded(fmt, element, scaled, rounding)
    nan = None if isinstance(element, FixedPoint) else element.nan_code
    if lost.any() and nan is not None:
        elements[lost] = nan
    return elements


def _encoded(fmt: FloatFormat, element: Element, scaled: Codes, rounding: Rounding) -> Codes:
    if not isinstance(element, FixedPoint):
        return np.array(fast.convert(fmt, element, scaled, rounding, _SATURATING).codes)
    shifted = _times(fmt, scaled, _power(fmt, np.asarray(element.mantissa_bits)))
    stored = fast.to_integer(fmt, shifted, element.bits, True, rounding, _SATURATING).codes
    return np.maximum(stored.view(np.int8), np.int8(-element.largest)).view(np.uint8)


def _power(fmt: FloatFormat, exponents: npt.NDArray[np.int64]) -> Codes:
    """Return the codes of powers of two in f32 or f64, subnormal ones included."""
    return np.asarray(np.ldexp(np.ones((), f"f{fmt.bits // 8}"), exponents)).view(fmt.storage_dtype)


def _magnitudes(fmt: FloatFormat, codes: Codes) -> Codes:
    return np.asarray(codes & codes.dtype.type(fmt.magnitude_mask))


def _widened(source: FloatFormat, target: FloatFormat, codes: Codes) -> Codes:
    return np.asarray(codes if source == target else fast.convert(source, target, codes, RNE, SPEC.conversions).codes)


def _times(fmt: FloatFormat, a: Codes, b: Codes) -> Codes:
    return np.asarray(fast.multiply(fmt, a, b, RNE, SPEC.arithmetic).codes)


def _over(fmt: FloatFormat, a: Codes, b: Codes) -> Codes:
    return np.asarray(fast.divide(fmt, a, b, RNE, SPEC.arithmetic).codes)


# --- NVFP4: a scale for each block, and one for the tensor ------------------------------------------------------------


class _Levels(NamedTuple):
    """The results of an NVFP4 recipe: ``scales``, codes of f8E4M3FN; ``factors``, the f32 numbers by which elements are
    multiplied; ``tensor_scale``, a code of f32, or None.
    """

    scales: Codes
    factors: Codes
    tensor_scale: Codes | None


def _f32(number: float | np.floating[Any]) -> Codes:
    return np.asarray(np.float32(number)).view(np.uint32)


_ONE, _SIX, _LEVELS = _f32(1), _f32(6), _f32(448 * 6)
_LARGEST = _f32(np.finfo(np.float32).max)
_INFINITY = F32.max_code + 1


def _between(codes: Codes, low: float, high: float) -> Codes:
    """Clamp codes of f32 without a sign; NaN stays NaN. Positive floats are in the order of their codes."""
    return np.where(codes > _INFINITY, codes, np.clip(codes, _f32(low), _f32(high)))


def _finite(codes: Codes) -> Codes:
    return np.where(codes == _INFINITY, _LARGEST, codes)


def scale_codes(codes: Codes) -> Codes:
    """Convert scales from codes of f32 to codes of f8E4M3FN, to nearest even."""
    return np.asarray(fast.convert(F32, F8, codes, RNE, SPEC.conversions).codes)


def _torchao(block: Codes, tensor: Codes, given: Codes | None) -> _Levels:
    """Return the scales by torchao's order of operations. ``tensor``: the largest magnitude of all elements; empty for
    one level.
    """
    sixth = _over(F32, block, _SIX)
    if given is None and not tensor.size:
        scales = scale_codes(_between(sixth, 2.0**-6, 448))
        return _Levels(scales, _over(F32, _ONE, _widened(F8, F32, scales)), None)
    # Without this, a tensor of zeros would be divided by zero.
    of_all = given if given is not None else np.where(tensor == 0, _ONE, _over(F32, tensor, _LEVELS))
    scales = scale_codes(_between(_over(F32, sixth, of_all), 2.0**-6, 448))
    factors = _over(F32, _over(F32, _ONE, of_all), _widened(F8, F32, scales))
    return _Levels(scales, factors, of_all)


def _transformer_engine(block: Codes, tensor: Codes, given: Codes | None) -> _Levels:
    """Return the scales by TransformerEngine's order of operations, which always has two levels."""
    encode = _finite(_over(F32, _LEVELS, tensor)) if given is None else _finite(_over(F32, _ONE, given))
    encode = np.where(encode == 0, _ONE, encode)
    of_all = _over(F32, _ONE, encode) if given is None else given
    raised = _finite(_times(F32, block, _times(F32, encode, _over(F32, _ONE, _SIX))))
    scales = scale_codes(_between(raised, 0, 448))
    factors = _finite(_over(F32, _ONE, _times(F32, _widened(F8, F32, scales), of_all)))
    return _Levels(scales, factors, of_all)


# --- NVFP4 "4 over 6" -------------------------------------------------------------------------------------------------
#
# The largest element of a block becomes 6 or 4, whichever gives the smaller error.

_Floats = npt.NDArray[np.float32]


class _Rival(NamedTuple):
    """The second of two ways to scale a block. ``levels``: its scales. ``error``: a function from the elements of
    blocks [..., rows, columns], their quantised numbers, scales, and the largest magnitude of the tensor to the errors
    of the blocks.
    """

    levels: Callable[[Codes, Codes, Codes | None], _Levels]
    error: Callable[[_Floats, _Floats, _Floats, Codes], _Floats]


def _encoding(largest: Codes, tensor: Codes) -> Codes:
    """Return the factor of the tensor. ``largest``: the largest scale times the largest element."""
    encode = _finite(_over(F32, largest, tensor))
    return np.where(encode == 0, _ONE, encode)


def _mapped(largest: Codes, widened: bool, block: Codes, tensor: Codes, given: Codes | None) -> _Levels:
    """Return the scales by which the largest element becomes 6, or 4 if ``widened``."""
    assert given is None
    encode = _encoding(largest, tensor)
    of_all = _over(F32, _ONE, encode)
    base = _times(F32, _over(F32, block, _SIX), encode)
    scales = scale_codes(_between(_times(F32, base, _f32(1.5)) if widened else base, 0, 448))
    factors = _finite(_over(F32, _ONE, _times(F32, _widened(F8, F32, scales), of_all)))
    return _Levels(scales, factors, of_all)


def _distance(
    largest: Codes, squares: bool, halves: bool, x: _Floats, numbers: _Floats, scales: _Floats, tensor: Codes
) -> _Floats:
    """Return the sums of the errors of blocks [..., rows, columns], each operation in f32. A row is added from the
    first element on. Of the rows, the second half is added to the first one, until one is left: a reduction in a warp.

    ``squares``: of their squares instead of magnitudes. ``halves``: in the scale of the blocks, where the products are
    exact in f16; else in that of ``x``.
    """
    encode, amax = _encoding(largest, tensor).view(np.float32)[..., None], tensor.view(np.float32)[..., None]
    total: _Floats = np.zeros(x.shape[:-1], np.float32)
    with np.errstate(all="ignore"):
        for at in range(x.shape[-1]):
            product, given = numbers[..., at] * scales[..., None], x[..., at]
            off = product - given * encode if halves else product * amax / largest.view(np.float32) - given
            total = total + (off * off if squares else np.abs(off))
        while total.shape[-1] > 1:
            half = 1 << (total.shape[-1] - 1).bit_length() - 1
            total = np.pad(total, [(0, 0)] * (total.ndim - 1) + [(0, 2 * half - total.shape[-1])])
            total = total[..., :half] + total[..., half:]
    return total[..., 0]


def _chosen(
    x: Codes, elements: Codes, found: _Levels, rounding: Rounding, rival: _Rival, tensor: Codes, columns: int
) -> Blocks:
    """Return blocks, each from the scales with the smaller error; at a tie, and beside NaN, from those of 6."""
    rows = (*x.shape[:-1], x.shape[-1] // columns, columns)
    block = _magnitudes(F32, x).max(axis=-1, initial=0)
    other = rival.levels(block, tensor, None)
    candidates = (found.scales, elements), (other.scales, _nvfp4_elements(x, other.factors, rounding))
    errors = [
        rival.error(
            x.view(np.float32).reshape(rows),
            _widened(F4, F32, codes).view(np.float32).reshape(rows),
            _widened(F8, F32, scales).view(np.float32),
            tensor,
        )
        for scales, codes in candidates
    ]
    better = errors[1] < errors[0]
    return Blocks(
        np.where(better[..., None], candidates[1][1], elements),
        np.where(better, other.scales, found.scales),
        found.tensor_scale,
    )


def _nvfp4_elements(x: Codes, factors: Codes, rounding: Rounding) -> Codes:
    """Return the elements of blocks that are multiplied by their factors."""
    scaled = _times(F32, x, factors[..., None])
    spoilt = _magnitudes(F32, scaled) > _INFINITY
    if spoilt.any():
        # A zero stays zero beside an infinite factor. Other NaNs are of blocks whose scale is NaN.
        scaled = np.where(spoilt, np.where(_magnitudes(F32, x) == 0, x, np.uint32(0)), scaled)
    return np.asarray(fast.convert(F32, F4, scaled, rounding, _SATURATING).codes)


def _quantize_nvfp4(
    codes: Codes,
    source: FloatFormat,
    recipe: Recipe,
    rounding: Rounding,
    tensor_scale: Codes | None,
    two_levels: bool,
    rows: int | None,
    columns: int | None,
) -> Blocks:
    assert recipe.levels is not None
    check_source(source, F4, recipe)
    x = _widened(source, F32, codes)
    block = _magnitudes(F32, x).max(axis=-1, initial=0)
    largest = np.asarray(block.max(axis=rows, initial=0, keepdims=rows is not None))
    tensor = largest if two_levels else np.zeros(0, np.uint32)
    found = recipe.levels(block, tensor, tensor_scale)
    elements = _nvfp4_elements(x, found.factors, rounding)
    if recipe.rival is not None:
        return _chosen(x, elements, found, rounding, recipe.rival, tensor, columns or x.shape[-1])
    return Blocks(elements, found.scales, found.tensor_scale)


# --- FP8: a scale of f32 for each block -------------------------------------------------------------------------------


class _Single(NamedTuple):
    """The steps of a recipe with one scale of f32 for each block, each an operation of f32.

    ``least``: smaller magnitudes of a block count as this. ``steps``: "quotients" divides elements by the scale, amax /
    max; "reciprocals" multiplies them by 1 / scale; "products" multiplies them by (1 / amax) * max; "inverses"
    multiplies them by max / amax, and the scale is the inverse of that. ``power``: the scale is the next power of two
    above, or the factor that below. ``wide``: the factor is (1 / amax) * max in f64, rounded to f32.
    """

    least: float
    steps: Literal["quotients", "reciprocals", "products", "inverses"]
    power: bool = False
    wide: bool = False


def _power_of_two(codes: Codes, up: bool) -> Codes:
    """Return the next power of two above or below codes of f32 without a sign that are normal, infinite or NaN."""
    fraction = np.uint32((1 << F32.mantissa_bits) - 1)
    found = (codes + (fraction if up else np.uint32(0))) & ~fraction
    return np.where(codes >= _INFINITY, codes, found)


def _fp8_levels(block: Codes, largest: Codes, source: FloatFormat, single: _Single) -> tuple[Codes, Codes]:
    """Return the scales of blocks, and the numbers by which elements are multiplied, or divided if ``steps`` is
    "quotients". ``block``: their largest magnitudes. ``largest``: the largest value of the element type.
    """
    amax = np.where(block < _f32(single.least), _f32(single.least), block)
    if single.steps == "inverses":
        factors = _in_f64(block, largest, single.least) if single.wide else _over(F32, largest, amax)
        factors = np.where(
            factors == _INFINITY, _widened(source, F32, np.asarray(source.max_code, source.storage_dtype)), factors
        )
        if single.power:
            factors = np.where(factors == 0, factors, _power_of_two(factors, up=False))
        factors = np.where(amax == 0, _ONE, factors)
        return _over(F32, _ONE, factors), factors
    scales = _over(F32, amax, largest)
    scales = _power_of_two(scales, up=True) if single.power else scales
    by_steps: Mapping[str, Callable[[], Codes]] = {
        "quotients": lambda: scales,
        "reciprocals": lambda: _over(F32, _ONE, scales),
        "products": lambda: _times(F32, _over(F32, _ONE, amax), largest),
    }
    return scales, by_steps[single.steps]()


def _in_f64(block: Codes, largest: Codes, least: float) -> Codes:
    """Return (1 / amax) * max in f64, rounded to f32."""
    amax = np.maximum(_widened(F32, F64, block), np.asarray(np.float64(least)).view(np.uint64))
    one = np.asarray(np.float64(1)).view(np.uint64)
    factor = _times(F64, _over(F64, one, amax), _widened(F32, F64, largest))
    return np.asarray(fast.convert(F64, F32, factor, RNE, SPEC.conversions).codes)


def _quantize_fp8(codes: Codes, source: FloatFormat, element: Element, recipe: Recipe, rounding: Rounding) -> Blocks:
    assert recipe.single is not None
    assert isinstance(element, FloatFormat)
    check_source(source, element, recipe)
    x = _widened(source, F32, codes)
    largest = _widened(element, F32, np.asarray(element.max_code, element.storage_dtype))
    block = _magnitudes(F32, x).max(axis=-1, initial=0)
    scales, factors = _fp8_levels(block, largest, source, recipe.single)
    scaled = (_over if recipe.single.steps == "quotients" else _times)(F32, x, factors[..., None])
    return Blocks(np.asarray(fast.convert(F32, element, scaled, rounding, _SATURATING).codes), scales)


# --- the recipes ------------------------------------------------------------------------------------------------------

_NAN_SCALE = (
    "the scale is NaN (0xFF), so every element of the block is NaN; the codes are NaN, or 0 in types without NaN"
)
_SMALLEST_SCALE = "the scale is 2^-127, its smallest value; zeros keep their sign"


def _mx(name: str, choice: str, raises: Callable[[Element], tuple[Fraction, bool]], noise: bool = False) -> Recipe:
    return Recipe(name, 32, E8M0, choice, _NAN_SCALE, _SMALLEST_SCALE, raises=raises, noise=noise)


def _four_over_six(error: str, limit: int, halves: bool) -> Recipe:
    """Return a recipe "4 over 6". ``limit``: the largest scale for which the scale of the tensor makes room."""
    largest, squares = _f32(limit * 6), error == "mse"
    name = f"nvfp4-4over6-{error}{'' if limit == 448 else f'-{limit}'}{'-f16' if halves else ''}"
    unit = "of e * x against products in f16" if halves else "of x"
    return Recipe(
        name,
        16,
        F8,
        f"e = min({limit * 6} / amax of the tensor, max of f32); tensor scale: 1 / e; scale: (amax / 6) * e, or 1.5 "
        f"times that where the sum of the {'squared ' if squares else ''}errors {unit} is smaller, at most 448; "
        "element: x * min(1 / (scale * tensor scale), max of f32)",
        "as in nvfp4-te",
        "the scale is 0",
        levels=partial(_mapped, largest, False),
        rival=_Rival(partial(_mapped, largest, True), partial(_distance, largest, squares, halves)),
    )


def _fp8(name: str, choice: str, single: _Single, zeros: str) -> Recipe:
    not_finite = "NaN: the scale and every element of the block are NaN; infinity: it is NaN, and the others are zeros"
    return Recipe(name, 128, F32, choice, not_finite, zeros, single=single)


NVFP4 = "nvfp4"
"""The recipe that also has a form with one level."""

_TABLE = (
    _mx("floor", "2^(floor(log2(amax)) - emax), the rule of OCP MX 1.0", lambda element: (Fraction(2), True)),
    _mx("ceil", "2^(ceil(log2(amax)) - emax)", lambda element: (Fraction(1), False)),
    _mx(
        "even",
        "2^(floor(log2(amax rounded to the significand of the element type)) - emax)",
        lambda element: (2 - Fraction(1, 2 << element.mantissa_bits), True),
    ),
    _mx(
        "rceil",
        "the smallest power of two that is not below amax / max, so that nothing saturates",
        lambda element: (largest_significand(element), False),
    ),
    _mx(
        "stochastic",
        "as floor, but of amax plus a random number below half of its power of two, in steps of the mantissa of f32",
        lambda element: (Fraction(2), True),
        noise=True,
    ),
    Recipe(
        NVFP4,
        16,
        F8,
        "tensor scale: amax of the tensor / 2688; scale: (amax / 6) / tensor scale, clamped to [2^-6, 448]; element: "
        "x * ((1 / tensor scale) / scale)",
        "NaN: the tensor scale is NaN, and so is every scale; infinity: the tensor scale is infinite, and every "
        "element is NaN; with one level, only the block of a NaN is NaN, and an infinity saturates",
        "the scale is 2^-6; if the whole tensor is zeros, the tensor scale is 1",
        levels=_torchao,
    ),
    Recipe(
        "nvfp4-te",
        16,
        F8,
        "e = min(2688 / amax of the tensor, max of f32); tensor scale: 1 / e; scale: amax * (e * (1 / 6)), at most "
        "448; element: x * min(1 / (scale * tensor scale), max of f32)",
        "NaN: as in nvfp4; infinity: e is 1, and the infinity saturates",
        "the scale is 0",
        levels=_transformer_engine,
    ),
    *(
        _four_over_six(error, limit, halves)
        for halves in (False, True)
        for limit in (448, 256)
        for error in ("mae", "mse")
    ),
    _fp8(
        "fp8-deepseek",
        "a = max(amax, 0.0001); scale: a / max; element: x / scale",
        _Single(1e-4, "quotients"),
        "a is 0.0001",
    ),
    _fp8(
        "fp8-deepseek-ue8m0",
        "as fp8-deepseek, but the scale is the next power of two that is not smaller",
        _Single(1e-4, "quotients", power=True),
        "a is 0.0001",
    ),
    _fp8(
        "fp8-deepgemm",
        "a = max(amax, 0.0001); scale: a / max; element: x * ((1 / a) * max), as PyTorch computes max / a",
        _Single(1e-4, "products"),
        "a is 0.0001",
    ),
    _fp8("fp8-vllm", "as fp8-deepseek with 1e-10", _Single(1e-10, "quotients"), "a is 1e-10"),
    _fp8(
        "fp8-vllm-ue8m0",
        "as fp8-deepseek-ue8m0 with 1e-10",
        _Single(1e-10, "quotients", power=True),
        "a is 1e-10",
    ),
    _fp8(
        "fp8-flashinfer",
        "as fp8-vllm, but the element is x * (1 / scale)",
        _Single(1e-10, "reciprocals"),
        "a is 1e-10",
    ),
    _fp8(
        "fp8-te",
        "e = max / amax, or the largest value of the type of x if that is infinite; scale: 1 / e; element: x * e",
        _Single(0, "inverses"),
        "the scale is 1",
    ),
    _fp8(
        "fp8-te-pow2",
        "as fp8-te, but e is the next power of two that is not larger",
        _Single(0, "inverses", power=True),
        "the scale is 1",
    ),
    _fp8(
        "fp8-torchao",
        "e = (1 / max(amax, 1e-12)) * max in f64, rounded to f32; scale: 1 / e; element: x * e",
        _Single(1e-12, "inverses", wide=True),
        "e is max / 1e-12",
    ),
)

RECIPES: Mapping[str, Recipe] = MappingProxyType({recipe.name: recipe for recipe in _TABLE})
"""The recipes by name."""

ALIASES: Mapping[str, str] = MappingProxyType({"mx": "floor"})
"""Other names of recipes."""


def recipe_named(name: str) -> Recipe:
    """Return the recipe with this name. Raises a ValueError that lists the recipes."""
    found = RECIPES.get(ALIASES.get(name, name))
    if found is None:
        known = [*ALIASES, *RECIPES]
        meant = asking([each for each in known if name and name.lower() in each][:3]) or did_you_mean(name, known)
        raise ValueError(with_hint(f"recipe is {name!r}, but must be one of {', '.join(known)}", meant))
    return found
