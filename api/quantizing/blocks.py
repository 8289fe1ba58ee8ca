"""Quantise blocks of elements that share a scale: the MX formats, NVFP4 and FP8; transform blocks before that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.paths import fast, llvm
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.inputs import as_value, drawn_bits, names_arguments
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.block_quantizing import Levels, element_kind, joined, quantized, split
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.reductions import matrix_product
from halfulp.interp.values.value import Value
from halfulp.semantics import block_scaling
from halfulp.semantics.block_scaling import Element, Recipe
from halfulp.semantics.gguf_blocks import BLOCK_TYPES
from halfulp.semantics.profile import SPEC

# --- inputs -----------------------------------------------------------------------------------------------------------
#
# Take arrays of floats.


def float_value(x: Any, type: Any = None, literals: Any = "f64", what: str = "x") -> Value:
    """Return ``x`` as a `Value` of floats.

    ``type``: the element type of ``x``, if its dtype does not determine it.
    ``literals``: the type of lists and numbers, which have no type themselves: they are rounded to it once.
    ``what``: the name of the argument, for messages.

    Raises TypeMismatch for integers, and what `as_value` raises.
    """
    has_type = isinstance(x, Value | Buffer) or hasattr(x, "dtype")
    value = as_value(x, literals if type is None and not has_type else type, what=what)
    if not isinstance(value.element_type, ty.FloatType):
        raise TypeMismatch(
            f"{what} has elements of '{value.element_type}', but must have floats",
            hint=f'convert them: hu.convert({what}, "f32")',
        )
    return value


# --- blocks -----------------------------------------------------------------------------------------------------------

_F32 = ty.F("f32")
_RAGGED = ("refuse", "short")
BLOCK_FORMATS: Mapping[str, tuple[str, str]] = {
    "mxfp8": ("f8E4M3FN", "floor"),
    "mxfp8_e5m2": ("f8E5M2", "floor"),
    "mxfp6_e2m3": ("f6E2M3FN", "floor"),
    "mxfp6_e3m2": ("f6E3M2FN", "floor"),
    "mxfp4": ("f4E2M1FN", "floor"),
    "mxint8": ("i8", "floor"),
    "nvfp4": ("f4E2M1FN", "nvfp4"),
}
"""Names of formats with blocks, as libraries use them, with the element type and the recipe of each."""


@dataclass(frozen=True, eq=True)
class BlockQuantized:
    """Blocks of elements with their scales: the value of an element is element * scale (* tensor scale).

    ``elements``: the elements, in the shape of the input.
    ``scales``: the same shape, but with the number of blocks in each dimension of the blocks.
    ``tensor_scale``: for NVFP4 with a tensor scale, one f32 number, or one for each row; else None.
    ``block``: the number of elements that share a scale; of blocks with two dimensions, their rows and columns.
    ``axis``: the dimension of the blocks, or of their columns; their rows lie along the dimension before it.
    ``recipe``: the name of the recipe.
    """

    elements: Value
    scales: Value
    tensor_scale: Value | None
    block: int | tuple[int, int]
    axis: int
    recipe: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the elements."""
        return self.elements.shape

    def dequantize(self, to: Any = "f32") -> Value:
        """Return element * scale * tensor scale in the float type ``to``: the exact product, rounded once to nearest
        even. A NaN scale gives NaN.
        """
        target = as_type(to)
        if not isinstance(target, ty.FloatType):
            raise TypeMismatch(f"dequantize: '{target}' is not a float type")
        element, scale = _element(self.elements.element_type), self.scales.element_type
        blocks = block_scaling.Blocks(
            split(self.elements.bits, *self._tiles),
            self.scales.bits,
            None if self.tensor_scale is None else self.tensor_scale.bits,
        )
        # The product is exact in f64. Codes wider than that have another axis, which blocks do not know.
        wide = target.format.limbs > 1
        product = block_scaling.dequantize(
            blocks, element, ty.float_format(scale), block_scaling.F64 if wide else target.format
        )
        bits = joined(product, *self._tiles, self.shape)
        if wide:
            bits = np.asarray(fast.convert(block_scaling.F64, target.format, bits).codes)
        result = ty.with_element(self.elements.type, target)
        return Value(result, bits, self.elements.poison, None, self.elements.origins)

    def __repr__(self) -> str:
        lines = [self._heading(), f"  elements: {self.elements!r}", f"  scales: {self.scales!r}"]
        if self.tensor_scale is not None:
            lines.append(f"  tensor scale: {self.tensor_scale!r}")
        return "\n".join(lines)

    @property
    def _tiles(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The dimensions of the blocks, and the elements of a block in each."""
        if isinstance(self.block, int):
            return (self.axis,), (self.block,)
        return (self.axis - 1, self.axis), self.block

    def _heading(self) -> str:
        many = not isinstance(self.block, int)
        where = f"axes {self.axis - 1} and {self.axis}" if many else f"axis {self.axis}"
        block = "x".join(map(str, self._tiles[1]))
        return (
            f"BlockQuantized: {self.elements.element_type} in blocks of {block} along {where}, "
            f"scales of {self.scales.element_type}, recipe {self.recipe}"
        )

    def _repr_html_(self) -> str:
        parts = [("elements", self.elements), ("scales", self.scales), ("tensor scale", self.tensor_scale)]
        shown = [f"<p>{name}</p>{value._repr_html_()}" for name, value in parts if value is not None]
        return f"<p>{self._heading()}</p>{''.join(shown)}"


@names_arguments
def quantize_blocks(
    x: Any,
    to: Any = None,
    recipe: str = "mx",
    *,
    block: int | tuple[int, int] | None = None,
    axis: int = -1,
    ragged: str = "refuse",
    rounding: str = "to_nearest_even",
    tensor_scale: Any = "amax",
    seed: int | None = None,
    random: npt.NDArray[Any] | None = None,
    rng: np.random.Generator | None = None,
    type: Any = None,
) -> BlockQuantized:
    """Quantise blocks of ``x``, each with its own scale, and return a `BlockQuantized`.

    ``x``: an array or `Value` of floats, of any shape with at least one dimension.
    ``to``: f8E5M2, f8E4M3FN, f6E3M2FN, f6E2M3FN, f4E2M1FN, or i8 for MXINT8; an MX recipe also accepts other signed
    float formats of up to 16 bits, including a `FloatFormat`. The default is f4E2M1FN, or f8E4M3FN for the recipes of
    FP8.
    ``recipe``: "mx" or "floor" (OCP MX 1.0), "ceil", "even", "rceil", with scales of f8E8M0FNU and blocks of 32;
    "stochastic" (FBGEMM's), which is like "floor" with a random number added to the largest magnitude of each block;
    "nvfp4" (torchao's order of operations), "nvfp4-te" (TransformerEngine's), and "nvfp4-4over6-mae" or
    "nvfp4-4over6-mse" (its choice between 4 and 6; "-256" and "-f16" may follow), with scales of f8E4M3FN, blocks of 16
    and a scale for the tensor; "fp8-deepseek", "fp8-deepgemm", "fp8-vllm", "fp8-flashinfer", "fp8-te" and "fp8-torchao"
    with scales of f32 and blocks of 128. The page on quantising has the table of their rules.
    ``block``: the number of elements of a block, if it is not that of the recipe; (rows, columns), such as (16, 16),
    for blocks along the last two dimensions.
    ``axis``: the dimension along which the blocks lie.
    ``ragged``: "refuse": a size that is not a multiple of the block raises ValueError; "short": the last block then has
    fewer elements.
    ``rounding``: the rounding of the elements: to_nearest_even, downward, upward, toward_zero or to_nearest_away.
    Elements saturate.
    ``tensor_scale``: for NVFP4: "amax" computes the scale of the tensor from the largest magnitude of ``x``; "rows"
    that of each row from the row, which is all that lies along ``axis``; a number is a calibrated scale, which is
    rounded to f32 once; None means that there is no scale for the tensor (not possible with "nvfp4-te").
    ``seed``, ``random``, ``rng``: the random bits of the recipe "stochastic", which needs exactly one of the three, as
    `hu.convert` has them: but ``random`` has one unsigned integer of at least 32 bits for each block, in the shape of
    the scales. Its lowest 22 bits are added to the code of the largest magnitude in f32.
    ``type``: the element type of ``x``, if its dtype does not determine it.

        q = hu.quantize_blocks(x, "f8E4M3FN", "rceil")
        q.elements, q.scales, q.dequantize()

    A poisoned element makes its block poison. If the tensor scale is computed from ``x``, it makes all blocks poison.

    Raises ValueError for an unknown recipe, for an element type that the recipe does not have, for a size that is not a
    multiple of the block, and for a type of ``x`` that the recipe cannot compute with; TypeMismatch if ``x`` is not an
    array of floats.
    """
    llvm.check()
    rules = _rules(str(recipe))
    kind = _element_of(rules.default if to is None else to, rules)
    value = float_value(x, type)
    mode = as_rounding(rounding)
    if mode is Rounding.STOCHASTIC:
        raise ValueError("quantize_blocks does not round stochastically; the modes are those of hu.convert without it")
    axis = whole("axis", axis)
    if not value.shape:
        raise ValueError("x is one number; blocks need at least one dimension: give an array")
    if not -len(value.shape) <= axis < len(value.shape):
        raise ValueError(f"axis is {axis}, but x has {len(value.shape)} dimensions")
    axis %= len(value.shape)
    axes, size = _tiles(rules.block if block is None else block, axis, len(value.shape), rules)
    for along, elements in zip(axes, size, strict=True):
        _check_ragged(ragged, value.shape[along], elements, along)
    given, levels = _tensor_scale(tensor_scale, rules)
    if levels == "rows" and len(axes) > 1:
        raise ValueError('tensor_scale="rows" needs blocks of one dimension: a block of several rows has one scale')
    source = value.element_type
    if ty.float_format(source).limbs > 1:
        raise ValueError(f'blocks of {source} are wider than f64: round them first, hu.convert(x, "f64")')
    shape = tuple(-(-extent // size[axes.index(k)]) if k in axes else extent for k, extent in enumerate(value.shape))
    noise = _noise(random, rng, seed, shape, rules)
    found = quantized(value, axes, size, kind, rules, mode, given, levels, noise)
    stored = ty.IntegerType(8) if isinstance(kind, block_scaling.FixedPoint) else ty.FloatType(kind)
    scales = ty.TensorType(found.scales.shape, ty.FloatType(rules.scale))
    return BlockQuantized(
        Value(ty.with_element(value.type, stored), found.elements, found.element_poison, None, value.origins),
        Value(scales, found.scales, found.scale_poison, None, value.origins),
        None if found.tensor_scale is None else _f32_value(found.tensor_scale),
        size[0] if len(size) == 1 else (size[0], size[1]),
        axis,
        rules.name,
    )


def _rules(name: str) -> Recipe:
    """Return a recipe. Raises a ValueError that says what to write for names of formats and of gguf's types."""
    if name in block_scaling.RECIPES or name in block_scaling.ALIASES:
        return block_scaling.recipe_named(name)
    if name.lower() in BLOCK_FORMATS:
        to, recipe = BLOCK_FORMATS[name.lower()]
        raise ValueError(f'{name!r} is a format, not a recipe: quantize_blocks(x, "{to}", "{recipe}") makes its blocks')
    if name.upper() in BLOCK_TYPES:
        raise ValueError(
            f'{name!r} is a type of gguf, not a recipe: hu.quant.pack(x, "{name.upper()}") makes its blocks'
        )
    return block_scaling.recipe_named(name)


def _f32_value(codes: Codes) -> Value:
    return Value(ty.TensorType(codes.shape, _F32) if codes.shape else _F32, codes)


def _tiles(block: Any, axis: int, rank: int, rules: Recipe) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dimensions of the blocks, and the elements of a block in each. Raises ValueError."""
    size = tuple(whole("block", each) for each in (block if isinstance(block, tuple | list) else [block]))
    if any(each < 1 for each in size):
        raise ValueError(f"block is {block}, but must be positive")
    if len(size) == 1:
        return (axis,), size
    if len(size) != 2:
        raise ValueError(f"block is {block}, but must be one number, or (rows, columns)")
    if axis != rank - 1 or rank < 2:
        raise ValueError(f"blocks of {size[0]}x{size[1]} lie along the last two dimensions: leave axis=… out")
    if rules.rival is not None and size != (rules.block, rules.block):
        raise ValueError(f"the recipe {rules.name} has no blocks of {size[0]}x{size[1]}, but of 16 or 16x16")
    return (axis - 1, axis), size


def whole(name: str, given: Any) -> int:
    """Return an integer. Raises a TypeError that names the argument."""
    try:
        return index(given)
    except TypeError:
        raise TypeError(f"{name} is {given!r}, but must be an integer") from None


def _element_of(element: Any, rules: Recipe) -> Element:
    """Return the element type of a name, a type or a format. Raises ValueError if the recipe does not take it."""
    found = as_type(element)
    kind = element_kind(found, rules)
    if kind is None:
        takes = ", ".join(rules.elements())
        raise ValueError(f"the recipe {rules.name} does not take elements of '{found}'; it takes {takes}")
    return kind


def _element(found: ty.Type) -> Element:
    return found.format if isinstance(found, ty.FloatType) else block_scaling.INT8


def _check_ragged(ragged: str, size: int, block: int, axis: int) -> None:
    if ragged not in _RAGGED:
        raise ValueError(f"ragged is {ragged!r}, but must be one of {', '.join(_RAGGED)}")
    if ragged == "refuse" and size % block:
        raise ValueError(
            f"dimension {axis} has {size} elements, which is not a multiple of the block of {block}; "
            f'give ragged="short" for a shorter last block, or another block=…'
        )


def _noise(random: Any, rng: Any, seed: Any, shape: tuple[int, ...], rules: Recipe) -> Codes | None:
    """Return an unsigned integer for each block if the recipe takes random bits, else None."""
    given = [name for name, each in (("random", random), ("rng", rng), ("seed", seed)) if each is not None]
    if given and not rules.noise:
        raise ValueError(f"{given[0]} is given, but the recipe {rules.name} takes no random bits: leave it out")
    if not rules.noise:
        return None
    if not given:
        raise ValueError(f"the recipe {rules.name} needs seed=…, rng=…, or random=…: one unsigned integer per block")
    drawn = drawn_bits(random, rng, seed, shape, True)
    assert drawn is not None
    bits, width = drawn
    if width < 32:
        raise ValueError(f"random has integers of {width} bits; the recipe {rules.name} takes those of 32 or 64 bits")
    return bits


def _tensor_scale(given: Any, rules: Recipe) -> tuple[Codes | None, Levels]:
    """Return a calibrated scale as an f32 code, or None, and what has a scale besides the blocks."""
    if isinstance(given, str):
        if given == "rows" and rules.levels is not None:
            return None, "rows"
        if given not in ("amax", "rows"):
            raise ValueError(f'tensor_scale is {given!r}, but must be "amax", "rows", a number or None')
        if given == "amax":
            return None, "blocks" if rules.levels is None else "tensor"
    if rules.levels is None:
        raise ValueError(f"the recipe {rules.name} has no tensor scale: leave tensor_scale=… out")
    if given is None:
        if rules.name != block_scaling.NVFP4:
            raise ValueError(f"tensor_scale=None can be used only with the recipe nvfp4, not with {rules.name}")
        return None, "blocks"
    if rules.rival is not None:
        raise ValueError(f"the recipe {rules.name} measures errors by the amax of x: leave tensor_scale=… out")
    number = convert(given, _F32)
    if number.shape:
        raise ValueError("tensor_scale has several elements, but must be one number")
    if not 0 < number.item() < math.inf:
        raise ValueError(f"tensor_scale is {given}, but must be a positive number of f32")
    return number.bits, "tensor"


# --- the Hadamard transform -------------------------------------------------------------------------------------------
#
# A block times an orthogonal matrix, which spreads an outlier over its block.

_TE_SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)


def hadamard(
    x: Any,
    signs: Any = "te",
    *,
    axis: int = -1,
    inverse: bool = False,
    order: str = "sequential",
    type: Any = None,
) -> Value:
    """Return blocks of ``x`` after the random Hadamard transform, which NVFP4 uses for gradients, in the type of ``x``.

    Each block is a row vector. It is multiplied by diag(signs) @ H / sqrt(n), where H is the matrix of Sylvester: its
    entry i, j is -1 to the power of the number of ones in i & j. The products are rounded to f32 (or to the type of
    ``x`` if this is wider), which changes only subnormal numbers of these types, added in it, and then rounded to the
    type of ``x`` once.

    ``x``: an array or `Value` of floats; the dimension ``axis`` is a multiple of n.
    ``signs``: n numbers, 1 or -1, where n is a power of four; "te": the 16 that are fixed in TransformerEngine; None:
    16 times 1. Their order is that of the elements of a block.
    ``inverse``: multiply by H @ diag(signs) / sqrt(n) instead, which undoes the transform except for the rounding.
    ``order``: the order of the sums, as for `hu.sum`. "sequential", from the first element on, gives the bits of
    TransformerEngine's reference in PyTorch on a CPU, for f32 and bf16. Its kernels add on tensor cores: for a model of
    one, multiply by the matrix with `hu.matmul` and ``mma="chip:…"``. The matrix is the transform of
    np.eye(16, dtype=np.float32).
    ``type``: the element type of ``x``, if its dtype does not determine it.

        hu.quantize_blocks(hu.quant.hadamard(x), recipe="nvfp4-te")

    Raises ValueError for other signs and for a size that is not a multiple of n; TypeMismatch if ``x`` is not an array
    of floats.
    """
    value = float_value(x, type)
    source = value.element_type
    matrix = _hadamard_matrix(_signs(signs))
    size, axis = len(matrix), whole("axis", axis)
    if not value.shape or not -len(value.shape) <= axis < len(value.shape):
        raise ValueError(f"axis is {axis}, but x has {len(value.shape)} dimensions")
    axis %= len(value.shape)
    if value.shape[axis] % size:
        raise ValueError(f"dimension {axis} has {value.shape[axis]} elements, which is not a multiple of {size}")
    places = [*(each for each in range(len(value.shape)) if each != axis), axis]
    last = value.transpose(*places)
    factor = Value.from_numpy(np.ascontiguousarray(matrix.T) if inverse else matrix)
    wide = _F32 if ty.float_format(source).bits <= 32 else source
    product = matrix_product(last.reshape(-1, size), factor, acc=wide, order=order, profile=SPEC)
    return convert(product, source).reshape(last.shape).transpose(*np.argsort(places).tolist())


def _signs(given: Any) -> tuple[int, ...]:
    """Return the signs of a Hadamard transform. Raises ValueError."""
    if given is None:
        return (1,) * 16
    if isinstance(given, str):
        if given != "te":
            raise ValueError(f'signs is {given!r}, but must be "te", None, or numbers 1 and -1')
        return _TE_SIGNS
    found = tuple(np.asarray(given).ravel().tolist())
    if any(each not in (1, -1) for each in found):
        raise ValueError("signs has other numbers than 1 and -1")
    if not found or len(found).bit_count() != 1 or len(found).bit_length() % 2 == 0:
        raise ValueError(f"signs has {len(found)} numbers, but must have 4, 16, 64 or another power of four")
    return found


def _hadamard_matrix(signs: tuple[int, ...]) -> npt.NDArray[np.float32]:
    places = np.arange(len(signs))
    negative = np.bitwise_count(places[:, None] & places) & 1
    scaled = np.where(negative, -1, 1) * np.array(signs)[:, None] / math.sqrt(len(signs))
    return np.asarray(scaled, np.float32)
