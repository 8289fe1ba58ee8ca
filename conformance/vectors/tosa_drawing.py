"""Whole operators of TOSA with drawn types, shapes and attributes, as programs whose vectors are made.

The laws are those of `tosa_verif_build_tests`, the generator of TOSA's conformance suite (tosa-tools): the tables below
name its types, sizes, strides, paddings, zero points and scales. One operator in eight has one of its larger values
(`--oversize`). A program has the drawn numbers of zero points, shifts, multipliers, tables and indices as constants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import frexp, prod
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.ir.errors import InputError

MOST = 2048
"""Most elements of the operand that is drawn first: each is a column of the vectors. Others have at most four times as
many.
"""
MOST_DIMENSION, MOST_BATCH, MOST_RANK = 63, 3, 6
OVERSIZE = 8
"""One operator in this number has larger strides, paddings and dilations."""
BLOCK = 32


class DrawnOperator(NamedTuple):
    """A program with one operator. ``name``, ``function``: names of the program and of its function. ``operands``: the
    source of each argument, as `Mixture` reads it.
    """

    text: str
    name: str
    function: str
    operands: str


class _Value(NamedTuple):
    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


class _Shape(NamedTuple):
    name: str
    type: str


_INTEGERS = ("i8", "i16", "i32")
_FLOATS = ("f16", "bf16", "f32")
_F8 = ("f8E4M3FN", "f8E5M2")
_MX = (*_F8, "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")


def _width(element: str) -> int:
    return int(element[1:])


def _is_float(element: str) -> bool:
    return element[0] in "fb"


class _Drawing:
    """A program that is being drawn."""

    def __init__(self, op: str, element: str, random: Random) -> None:
        self.op, self.element, self.random = op, element, random
        self.large = random.randrange(OVERSIZE) == 0
        self._arguments: list[_Value] = []
        self._sources: list[str] = []
        self._lines: list[str] = []
        self.result = ""

    # --- numbers ---

    def pick(self, *choices: str) -> str:
        """Return one of some words."""
        return self.random.choice(choices)

    def flip(self) -> bool:
        """Return a truth value."""
        return self.random.random() < 0.5

    def number(self, low: int, high: int, large: int | None = None) -> int:
        """Return an integer; ``large``: the one of oversize operators."""
        return self.random.choice((low, large)) if self.large and large is not None else self.random.randint(low, high)

    def numbers(self, count: int, low: int, high: int, large: int | None = None) -> list[int]:
        """Return integers."""
        return [self.number(low, high, large) for _ in range(count)]

    def sizes(self, rank: int, least: int = 1, fixed: int = 1) -> list[int]:
        """Return the sizes of a tensor. ``fixed``: the number of elements of each of its elements."""
        found = [self.random.randint(least, MOST_DIMENSION) for _ in range(rank)]
        while prod(found) * fixed > MOST:
            axis = self.random.choice([axis for axis, size in enumerate(found) if size > least])
            found[axis] = max(least, found[axis] // 2)
        return found

    def images(self, rank: int, fixed: int = 1) -> list[int]:
        """Return the sizes of images: batches, sides and channels."""
        found = self.sizes(rank, fixed=fixed)
        found[0] = min(found[0], MOST_BATCH)
        return found

    def zero_point(self, element: str, unsigned: bool = False) -> int:
        """Return a zero point: only bytes have one, and unsigned 16-bit integers of `rescale`."""
        if element == "i8":
            return self.random.randint(0, 255) - (0 if unsigned else 128)
        return self.random.choice((0, 32768)) if unsigned and element == "i16" else 0

    # --- lines ---

    def argument(self, shape: Sequence[int], element: str, source: str = "") -> _Value:
        """Return an argument. ``source``: of its elements; by default normal numbers, or all bits of integers."""
        value = _Value(f"%arg{len(self._arguments)}", tuple(shape), element)
        self._arguments.append(value)
        scale = "power_of_two:low=-8,high=8"
        usual = scale if element == "f8E8M0FNU" else "normal" if _is_float(element) else "random"
        self._sources.append(f"{value.name[1:]}={source or usual}")
        return value

    def tensor(self, element: str = "", source: str = "", least_rank: int = 1) -> _Value:
        """Return an argument of any shape, by default of the drawn type."""
        return self.argument(self.sizes(self.random.randint(least_rank, MOST_RANK)), element or self.element, source)

    def constant(self, shape: Sequence[int], element: str, numbers: Sequence[int]) -> _Value:
        """Return a constant."""
        value = _Value(f"%c{len(self._lines)}", tuple(shape), element)
        width = 0 if _is_float(element) else _width(element)
        wrapped = [n - (1 << width) if width and n >> width - 1 == 1 else n for n in numbers]
        array = np.reshape(np.array(wrapped, np.int64 if width else np.float64), value.shape)
        dense = json.dumps(array.tolist() if array.size > 1 else array.reshape(-1)[0].item())
        self._lines.append(
            f'{value.name} = "tosa.const"() <{{values = dense<{dense}> : {value.type}}}> : () -> {value.type}'
        )
        return value

    def scalar(self, element: str, number: int = 0) -> _Value:
        """Return a constant of one element, such as a zero point."""
        return self.constant((1,), element, (number,))

    def zero(self, element: str) -> _Value:
        """Return a drawn zero point."""
        return self.scalar(element, self.zero_point(element))

    def shape(self, sizes: Sequence[int]) -> _Shape:
        """Return a constant shape."""
        shape = _Shape(f"%c{len(self._lines)}", f"!tosa.shape<{len(sizes)}>")
        words = f"[{', '.join(map(str, sizes))}]" if sizes else ""
        type_ = f"tensor<{len(sizes)}xindex>"
        self._lines.append(
            f"{shape.name} = tosa.const_shape {{values = dense<{words}> : {type_}}} : () -> {shape.type}"
        )
        return shape

    def ends(
        self, operands: Sequence[_Value | _Shape], shape: Sequence[int], element: str = "", also: Sequence[_Value] = (),
        **attributes: object,
    ) -> None:  # fmt: skip
        """End with the operator. ``shape``, ``element``: of its result; by default the drawn type. ``also``: results
        behind it, of which only the types count. ``attributes``: as MLIR spells them; without those that are None.
        """
        results = [_Value("", tuple(shape), element or self.element), *also]
        words = ", ".join(f"{name} = {_spelled(value)}" for name, value in attributes.items() if value is not None)
        made = ", ".join(result.type for result in results)
        made = f"({made})" if len(results) > 1 else made
        names = ", ".join(operand.name for operand in operands)
        types = ", ".join(operand.type for operand in operands)
        found = ", ".join(f"%r#{place}" for place in range(len(results))) if len(results) > 1 else "%r"
        count = f":{len(results)}" if len(results) > 1 else ""
        attached = f" {{{words}}}" if words else ""
        self._lines.append(f"%r{count} = tosa.{self.op} {names}{attached} : ({types}) -> {made}")
        self._lines.append(f"return {found} : {made.strip('()')}")
        self.result = made

    def drawn(self, name: str, function: str) -> DrawnOperator:
        """Return the program."""
        arguments = ", ".join(f"{value.name}: {value.type}" for value in self._arguments)
        body = "\n".join(f"  {line}" for line in self._lines)
        text = f"func.func @{function}({arguments}) -> {self.result} {{\n{body}\n}}\n"
        return DrawnOperator(text, name, function, ";".join(self._sources))


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value} : i32"
    if isinstance(value, list | tuple):
        return f"array<i64: {', '.join(map(str, value))}>"
    return str(value)


def _modes(d: _Drawing) -> str | None:
    """Return a mode of NaN for floats."""
    return d.pick("PROPAGATE", "IGNORE") if _is_float(d.element) else None


# --- products ---------------------------------------------------------------------------------------------------------

_KERNELS = ((1, 1), (2, 2), (3, 3), (5, 5), (3, 1), (1, 3))
_KERNELS_3D = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2))
_SUMMED: Mapping[str, tuple[tuple[str, str, str], ...]] = MappingProxyType(
    {
        "i8": (("i8", "i32", "i32"), ("i4", "i32", "i32")),
        "i16": (("i8", "i48", "i48"),),
        "f16": (("f16", "f16", "f16"), ("f16", "f32", "f16")),
        "bf16": (("bf16", "f32", "bf16"),),
        "f32": (("f32", "f32", "f32"),),
        "f8E4M3FN": (("f8E4M3FN", "f16", "f16"),),
        "f8E5M2": (("f8E5M2", "f16", "f16"),),
    }
)
"""For the element type of the input of a convolution: weights, accumulator, result."""
_AVERAGED: Mapping[str, str] = MappingProxyType({"i8": "i32", "i16": "i32", "bf16": "f32", "f32": "f32"})
"""The accumulators of averages; of floats of 8 bits f16."""
_PRODUCTS: Mapping[str, str] = MappingProxyType({"i8": "i32", "i16": "i48", "bf16": "f32", "f32": "f32"})
"""The results of products of matrices; of floats of 8 bits f16."""


def _window(
    d: _Drawing, given: Sequence[int], kernel: Sequence[int], dilations: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return paddings for which the strides fit, and the sizes of the result."""
    pads, made = [], []
    for size, window, dilation, stride in zip(given, kernel, dilations, strides, strict=True):
        low, high = d.numbers(2, 0, 1, 9)
        reach = size - 1 + low + high - (window - 1) * dilation
        high += max(0, -reach)
        reach = max(0, reach)
        high += -reach % stride
        pads += [low, high]
        made.append(-(-reach // stride) + 1)
    return pads, made


def _bias(d: _Drawing, channels: int, element: str) -> _Value:
    return d.argument((d.random.choice((1, channels)),), element)


def _convolution(kernels: Sequence[tuple[int, ...]], depthwise: bool = False) -> Callable[[_Drawing], None]:
    def draw(d: _Drawing) -> None:
        weight, acc, made = d.random.choice(_SUMMED[d.element])
        kernel = d.random.choice(kernels)
        count = len(kernel)
        given = d.images(count + 2)
        features = _features(d, kernel, given[-1])
        strides, dilations = d.numbers(count, 1, 2, 8), d.numbers(count, 1, 2, 7)
        pads, sides = _window(d, given[1:-1], kernel, dilations, strides)
        channels = given[-1] * features if depthwise else features
        sizes = (*kernel, given[-1], features) if depthwise else (features, *kernel, given[-1])
        bias_element = "i32" if made == "i32" else made
        operands = [d.argument(given, d.element), d.argument(sizes, weight), _bias(d, channels, bias_element)]
        zeros = [d.zero(d.element), d.zero(weight)]
        local = d.flip() if _is_float(d.element) else None
        d.ends(
            (*operands, *zeros), (given[0], *sides, channels), made,
            acc_type=acc, pad=pads, stride=strides, dilation=dilations, local_bound=local,
        )  # fmt: skip

    return draw


def _features(d: _Drawing, kernel: Sequence[int], channels: int) -> int:
    """Return a number of features for which there are not many more weights than elements of the image."""
    return min(d.random.randint(1, 8), 4 * MOST // (prod(kernel) * channels))


def _transposed(d: _Drawing) -> None:
    weight, acc, made = d.random.choice(_SUMMED[d.element])
    kernel = d.random.choice(_KERNELS)
    given = d.images(4)
    features = _features(d, kernel, given[3])
    strides = d.numbers(2, 1, 2, 8)
    pads = d.numbers(4, 1 - min(kernel), 1, 9)
    sides = []
    for axis in range(2):
        size = (given[1 + axis] - 1) * strides[axis] + sum(pads[2 * axis : 2 * axis + 2]) + kernel[axis]
        pads[2 * axis + 1] += max(0, 1 - size)
        sides.append(max(1, size))
    operands = [
        d.argument(given, d.element),
        d.argument((features, *kernel, given[3]), weight),
        _bias(d, features, made),
    ]
    local = d.flip() if _is_float(d.element) else None
    d.ends(
        (*operands, d.zero(d.element), d.zero(weight)), (given[0], *sides, features), made,
        acc_type=acc, out_pad=pads, stride=strides, local_bound=local,
    )  # fmt: skip


def _matmul(d: _Drawing) -> None:
    batch, height, inner = d.sizes(3)
    width = d.random.randint(1, max(1, min(MOST_DIMENSION, MOST // (batch * inner), MOST // (batch * height))))
    made = d.pick("f16", "f32") if d.element == "f16" else _PRODUCTS.get(d.element, "f16")
    second = (batch, width, inner) if d.op == "matmul_t" else (batch, inner, width)
    operands = [d.argument((batch, height, inner), d.element), d.argument(second, d.element)]
    d.ends((*operands, d.zero(d.element), d.zero(d.element)), (batch, height, width), made)


def _blocks(d: _Drawing, outer: Sequence[int], blocks: int) -> list[_Value]:
    """Return two arguments: the elements of blocks, and their scales."""
    return [d.argument((*outer, blocks * BLOCK), d.element), d.argument((*outer, blocks), "f8E8M0FNU")]


def _scaled_matmul(d: _Drawing) -> None:
    batch, height = d.sizes(2, fixed=3 * BLOCK)
    blocks, width = d.random.randint(1, 3), d.random.randint(1, 8)
    operands = [*_blocks(d, (batch, height), blocks), *_blocks(d, (batch, width), blocks)]
    d.ends(operands, (batch, height, width), "f32", block_size="BLOCK_SIZE_32")


def _scaled_convolution(d: _Drawing) -> None:
    given, kernel = d.images(3, fixed=2 * BLOCK), d.random.choice(_KERNELS)
    blocks, features = d.random.randint(1, 2), d.random.randint(1, 4)
    strides, dilations = d.numbers(2, 1, 2, 8), d.numbers(2, 1, 2, 7)
    pads, sides = _window(d, given[1:], kernel, dilations, strides)
    operands = [*_blocks(d, given, blocks), *_blocks(d, (features, *kernel), blocks), _bias(d, features, "f32")]
    shapes = [d.shape(numbers) for numbers in (pads, strides, dilations)]
    d.ends((*operands, *shapes), (given[0], *sides, features), "f32", block_size="BLOCK_SIZE_32")


def _pool(average: bool) -> Callable[[_Drawing], None]:
    def draw(d: _Drawing) -> None:
        given = d.images(4)
        strides, kernel, pads, sides = d.numbers(2, 1, 2, 7), [], [], []
        for axis, size in enumerate(given[1:3]):
            window, (low, high) = d.number(2, 3, 9), d.numbers(2, 0, 1)
            missing = -(size + low + high - window) % strides[axis] if size + low + high >= window else window
            if high + missing >= window:  # A padding must be smaller than the window.
                window, low, high, missing, strides[axis] = min(window, size), 0, 0, 0, 1
            kernel.append(window)
            pads += [low, high + missing]
            sides.append((size + low + high + missing - window) // strides[axis] + 1)
        value, made = d.argument(given, d.element), (given[0], *sides, given[3])
        words: dict[str, Any] = {"kernel": kernel, "stride": strides, "pad": pads}
        shapes = [d.shape(numbers) for numbers in words.values() if d.op.endswith("adaptive")]
        words = {} if shapes else words
        if not average:
            d.ends([value, *shapes], made, nan_mode=_modes(d), **words)
            return
        acc = d.pick("f16", "f32") if d.element == "f16" else _AVERAGED.get(d.element, "f16")
        d.ends([value, d.zero(d.element), d.zero(d.element), *shapes], made, acc_type=acc, **words)

    return draw


def _transform(real: bool) -> Callable[[_Drawing], None]:
    def draw(d: _Drawing) -> None:
        batch, height, width = d.random.randint(1, 2), *(1 << d.random.randint(0, 4) for _ in range(2))
        values = [d.argument((batch, height, width), d.element) for _ in range(1 if real else 2)]
        made = _Value("", (batch, height, width // 2 + 1 if real else width), d.element)
        d.ends(values, made.shape, also=[made], inverse=None if real else d.flip(), local_bound=d.flip())

    return draw


# --- elements ---------------------------------------------------------------------------------------------------------


def _broadcast(d: _Drawing, count: int) -> list[list[int]]:
    """Return shapes of which one has the size 1 along one axis; in one of ten, none has."""
    rank = d.random.randint(0, MOST_RANK)
    whole = d.sizes(rank)
    shapes = [list(whole) for _ in range(count)]
    if rank and d.random.randrange(10):
        axis = d.random.randrange(rank)
        for shape in shapes:
            shape[axis] = max(2, whole[axis])
        shapes[d.random.randrange(count)][axis] = 1
    return shapes


def _result_of(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(max(sizes) for sizes in zip(*shapes, strict=True))


def _source(op: str, element: str, place: int) -> str:
    """Return the source of operands that satisfy what an operator requires, or "" for the usual one."""
    if op == "pow":
        return ("uniform:low=0,high=8", "normal:scale=2")[place]
    if op in ("log", "rsqrt"):
        return "uniform:low=0,high=64"
    if _is_float(element):
        return ""
    if op.endswith("shift") and place:
        return f"uniform:low=0,high={_width(element) - 1}"
    if op in ("add", "sub", "abs", "negate") and element == "i32":
        return f"uniform:low={-(1 << 30)},high={(1 << 30) - 1}"
    return ""


def _elementwise(count: int, to: str | None = None) -> Callable[[_Drawing], None]:
    def draw(d: _Drawing) -> None:
        shapes = _broadcast(d, count)
        values = [d.argument(shape, d.element, _source(d.op, d.element, place)) for place, shape in enumerate(shapes)]
        attributes: dict[str, Any] = {}
        if d.op == "arithmetic_right_shift":
            attributes["round"] = d.flip()
        if d.op in ("maximum", "minimum"):
            attributes["nan_mode"] = _modes(d)
        d.ends(values, _result_of(shapes), to or d.element, **attributes)

    return draw


def _select(d: _Drawing) -> None:
    shapes = _broadcast(d, 3)
    values = [d.argument(shape, element) for shape, element in zip(shapes, ("i1", d.element, d.element), strict=True)]
    d.ends(values, _result_of(shapes), d.element)


def _mul(d: _Drawing) -> None:
    shapes = _broadcast(d, 2)
    shift = d.random.randint(0, 31) if d.element == "i32" else 0
    reach = 1 << (31 + shift) // 2
    source = f"uniform:low={1 - reach},high={reach - 1}" if shift else ""
    values = [d.argument(shape, d.element, source) for shape in shapes]
    made = d.element if _is_float(d.element) else "i32"
    d.ends((*values, d.scalar("i8", shift)), _result_of(shapes), made)


def _negate(d: _Drawing) -> None:
    value = d.tensor(source=_source(d.op, d.element, 0))
    d.ends((value, d.zero(d.element), d.zero(d.element)), value.shape)


def _clamp(d: _Drawing) -> None:
    value = d.tensor()
    if _is_float(d.element):
        low, high = sorted(d.random.randint(-32, 32) / 16 for _ in range(2))
        bounds = [f"{bound} : {d.element}" for bound in (low, high)]
    else:
        half = 1 << _width(d.element) - 1
        bounds = [f"{bound} : {d.element}" for bound in sorted(d.random.randint(-half, half - 1) for _ in range(2))]
    d.ends([value], value.shape, min_val=bounds[0], max_val=bounds[1], nan_mode=_modes(d))


def _table(d: _Drawing) -> None:
    value = d.tensor()
    if d.element == "i8":
        table = d.constant((256,), "i8", d.numbers(256, -128, 127))
    else:  # Neighbours may differ by the largest 16-bit integer.
        entries = [d.random.randint(-32768, 32767)]
        while len(entries) < 513:
            low, high = max(-32768, entries[-1] - 32768), min(32767, entries[-1] + 32767)
            entries.append(d.random.randint(low, high))
        table = d.constant((513,), "i16", entries)
    d.ends((value, table), value.shape, "i8" if d.element == "i8" else "i32")


_CAST_TO: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "i1": ("i8", "i16", "i32"),
        "i8": ("i1", "i16", "i32", *_FLOATS),
        "i16": ("i1", "i8", "i32", *_FLOATS),
        "i32": ("i1", "i8", "i16", *_FLOATS),
        "f16": (*_INTEGERS, *_F8, "f32"),
        "bf16": (*_INTEGERS, *_F8, "f32"),
        "f32": (*_INTEGERS, *_F8, "f16", "bf16"),
        "f8E4M3FN": _FLOATS,
        "f8E5M2": _FLOATS,
    }
)


def _cast(d: _Drawing) -> None:
    to = d.random.choice(_CAST_TO[d.element])
    source = "normal:scale=64" if _is_float(d.element) else ""
    value = d.tensor(source=source, least_rank=0)
    d.ends([value], value.shape, to)


def _scale(d: _Drawing, wide: bool, gained: int) -> tuple[int, int]:
    """Return a multiplier and a shift: of a number below 1, by the ratio 2^``gained`` of the ranges of both types."""
    bits = 31 if wide else 15
    scale = min(max(d.random.random() * 2.0**gained, 2.0**-31), 2.0**bits - 1)
    fraction, exponent = frexp(scale)
    multiplier, shift = round(fraction * (1 << bits)), bits - exponent
    if multiplier == 1 << bits:
        multiplier, shift = multiplier // 2, shift - 1
    if shift < 2:
        return multiplier >> 2 - shift, 2
    return (multiplier << shift - 62, 62) if shift > 62 else (multiplier, shift)


def _rescale(d: _Drawing) -> None:
    to = d.pick(*_INTEGERS)
    unsigned = d.random.choice(
        [
            (one, other)
            for one in (False, True)
            for other in (False, True)
            if not (one and (other or d.element in ("i32", "i48") or to == "i32"))
            and not (other and (to == "i32" or d.element in ("i32", "i48")))
        ]
    )
    wide = d.element != "i48" and d.flip()
    rounding = d.pick("SINGLE_ROUND", "DOUBLE_ROUND") if wide else "SINGLE_ROUND"
    value = d.tensor()
    channels = d.flip()
    count = value.shape[-1] if channels else 1
    scales = [_scale(d, wide, _width(to) - _width(d.element)) for _ in range(count)]
    operands = (
        value,
        d.constant((count,), "i32" if wide else "i16", [multiplier for multiplier, _ in scales]),
        d.constant((count,), "i8", [shift for _, shift in scales]),
        d.scalar(d.element, d.zero_point(d.element, unsigned[0])),
        d.scalar(to, d.zero_point(to, unsigned[1])),
    )
    d.ends(
        operands, value.shape, to, rounding_mode=rounding, scale32=wide, per_channel=channels,
        input_unsigned=unsigned[0], output_unsigned=unsigned[1],
    )  # fmt: skip


def _from_blocks(d: _Drawing) -> None:
    *outer, blocks = d.sizes(d.random.randint(1, MOST_RANK), fixed=BLOCK)
    values = _blocks(d, outer, blocks)
    d.ends(values, values[0].shape, d.pick("f32", "bf16"), block_size="BLOCK_SIZE_32")


def _to_blocks(d: _Drawing) -> None:
    *outer, blocks = d.sizes(d.random.randint(1, MOST_RANK), fixed=BLOCK)
    value = d.argument((*outer, blocks * BLOCK), d.pick("f32", "bf16"), "normal:scale=16,block=32,spread=20")
    scales = _Value("", (*outer, blocks), "f8E8M0FNU")
    d.ends([value], value.shape, also=[scales], block_size="BLOCK_SIZE_32")


# --- axes and places --------------------------------------------------------------------------------------------------


def _reduce(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(1, MOST_RANK))
    axis = d.random.randrange(len(shape))
    reach = ((1 << 31) - 1) // shape[axis]
    source = f"uniform:low={-reach},high={reach}" if d.op == "reduce_sum" and d.element == "i32" else ""
    source = "normal:loc=1,scale=0.1" if d.op == "reduce_product" else source
    value = d.argument(shape, d.element, source)
    made = [*shape[:axis], 1, *shape[axis + 1 :]]
    modes = _modes(d) if d.op in ("reduce_max", "reduce_min") else None
    d.ends([value], tuple(made), d.element, axis=axis, nan_mode=modes)


def _argmax(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(1, MOST_RANK))
    axis = d.random.randrange(len(shape))
    made = (*shape[:axis], *shape[axis + 1 :])
    d.ends([d.argument(shape, d.element)], made, "i32", axis=axis, nan_mode=_modes(d))


def _concat(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(1, MOST_RANK))
    axis = d.random.randrange(len(shape))
    values = []
    for _ in range(d.random.randint(1, 4)):
        size = d.random.randint(1, max(1, shape[axis]))
        values.append(d.argument((*shape[:axis], size, *shape[axis + 1 :]), d.element))
    made = (*shape[:axis], sum(value.shape[axis] for value in values), *shape[axis + 1 :])
    d.ends(values, made, d.element, axis=axis)


def _pad(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(1, MOST_RANK))
    pads = d.numbers(2 * len(shape), 0, 1, 6)
    made = tuple(size + low + high for size, low, high in zip(shape, pads[::2], pads[1::2], strict=True))
    if prod(made) > 16 * MOST:
        pads, made = [0] * len(pads), tuple(shape)
    value = d.argument(shape, d.element)
    number = d.number(0, 1) if d.element == "i1" else d.number(-8, 7)
    d.ends((value, d.shape(pads), d.scalar(d.element, number)), made, d.element)


def _reshape(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(0, MOST_RANK))
    left, made = prod(shape), []
    for _ in range(d.random.randint(1, MOST_RANK) - 1):
        made.append(d.random.choice([factor for factor in range(1, left + 1) if left % factor == 0]))
        left //= made[-1]
    made.append(left)
    d.ends((d.argument(shape, d.element), d.shape(made)), tuple(made), d.element)


def _reverse(d: _Drawing) -> None:
    value = d.tensor()
    d.ends([value], value.shape, axis=d.random.randrange(len(value.shape)))


def _slice(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(1, MOST_RANK))
    starts = [d.random.randrange(size) for size in shape]
    sizes = [d.random.randint(1, size - start) for size, start in zip(shape, starts, strict=True)]
    value = d.argument(shape, d.element)
    d.ends((value, d.shape(starts), d.shape(sizes)), tuple(sizes), d.element)


def _tile(d: _Drawing) -> None:
    shape = d.sizes(d.random.randint(1, MOST_RANK), fixed=8)
    times = [d.random.randint(1, 3) for _ in shape]
    value = d.argument(shape, d.element)
    made = tuple(size * count for size, count in zip(shape, times, strict=True))
    d.ends((value, d.shape(times)), made, d.element)


def _transpose(d: _Drawing) -> None:
    value = d.tensor()
    order = d.random.sample(range(len(value.shape)), len(value.shape))
    made = [value.shape[axis] for axis in order]
    d.ends([value], made, perms=f"array<i32: {', '.join(map(str, order))}>")


def _places(d: _Drawing) -> None:
    """Draw a gather or a scatter: of the indices of a scatter, no two are the same."""
    batch, rows, channels = d.images(3)
    scatter = d.op == "scatter"
    count = d.random.randint(1, rows if scatter else MOST_DIMENSION)
    drawn = [
        place
        for _ in range(batch)
        for place in (d.random.sample(range(rows), count) if scatter else d.numbers(count, 0, rows - 1))
    ]
    values = d.argument((batch, rows, channels), d.element)
    indices = d.constant((batch, count), "i32", drawn)
    if scatter:
        d.ends((values, indices, d.argument((batch, count, channels), d.element)), values.shape)
    else:
        d.ends((values, indices), (batch, count, channels), d.element)


def _resize(d: _Drawing) -> None:
    nearest = d.flip()
    made = d.element if nearest else {"i8": "i32", "i16": "i48"}.get(d.element, d.element)
    while True:
        given = d.images(4)
        given[3] = min(given[3], 3)
        scales, offsets, borders, sides = [], [], [], []
        for axis in range(2):
            scale, offset, border = d.random.choice(_RESIZES)(d, given[1 + axis])
            above, below = scale
            reach = (given[1 + axis] - 1) * above - offset + border
            while below > 1 and reach % below:
                below -= 1
            scales += [above, below]
            offsets.append(offset)
            borders.append(border)
            sides.append(reach // below + 1 if reach >= 0 and above <= 256 * below else 0)
        if min(sides) > 0 and given[0] * given[3] * prod(sides) <= 4 * MOST:
            break
    value = d.argument(given, d.element)
    operands = (value, d.shape(scales), d.shape(offsets), d.shape(borders))
    d.ends(operands, (given[0], *sides, given[3]), made, mode="NEAREST_NEIGHBOR" if nearest else "BILINEAR")


_Resize = tuple[tuple[int, int], int, int]


def _by_ratio(d: _Drawing, size: int) -> _Resize:
    above = d.random.choice((2, 3, 4, 9, 16))
    return (above, 1), 0, d.random.randrange(above)


def _by_power(d: _Drawing, size: int) -> _Resize:
    shift, corner = d.random.randint(1, 3), d.flip()
    if d.flip():
        below = d.random.choice([each for each in range(1, 5) if size % each == 1] or [1])
        return (1, below), d.random.randrange(16), 0
    return ((1 << shift, 1), 0, 0) if corner else ((2 << shift, 1), 1 - (1 << shift), (1 << shift) - 1)


def _at_random(d: _Drawing, size: int) -> _Resize:
    above = d.random.randint(1, 2047)
    below = max(d.random.randint(1, 16 * above - 1), -(-above // 256))
    return (above, below), d.random.randrange(-above, 16 * above), d.random.randrange(-16 * above, above)


_RESIZES = (_by_ratio, _by_power, _at_random)

# --- the table --------------------------------------------------------------------------------------------------------

_NUMBERS = (*_INTEGERS, *_FLOATS)
_ANY = ("i1", *_NUMBERS, *_F8)
_NARROW = ("i8", "i16", *_FLOATS)
_Draw = Callable[[_Drawing], None]

OPERATORS: Mapping[str, tuple[tuple[str, ...], _Draw]] = MappingProxyType(
    {
        "conv2d": (tuple(_SUMMED), _convolution(_KERNELS)),
        "conv3d": (tuple(_SUMMED), _convolution(_KERNELS_3D)),
        "depthwise_conv2d": (tuple(_SUMMED), _convolution(_KERNELS, depthwise=True)),
        "transpose_conv2d": (tuple(_SUMMED), _transposed),
        "matmul": (tuple(_SUMMED), _matmul),
        "matmul_t": (("i8", "i16", "f16", "bf16", "f32"), _matmul),
        "matmul_t_block_scaled": (_MX, _scaled_matmul),
        "conv2d_block_scaled": (_MX, _scaled_convolution),
        **{f"avg_pool2d{kind}": ((*_NARROW, *_F8), _pool(True)) for kind in ("", "_adaptive")},
        **{f"max_pool2d{kind}": ((*_NARROW, *_F8), _pool(False)) for kind in ("", "_adaptive")},
        "fft2d": (("f32",), _transform(False)),
        "rfft2d": (("f32",), _transform(True)),
        **{
            op: (_FLOATS, _elementwise(1))
            for op in ("ceil", "cos", "erf", "exp", "floor", "log", "reciprocal", "rsqrt", "sigmoid", "sin", "tanh")
        },
        "abs": (("i32", *_FLOATS), _elementwise(1)),
        "bitwise_not": (_INTEGERS, _elementwise(1)),
        "clz": (("i32",), _elementwise(1)),
        "logical_not": (("i1",), _elementwise(1)),
        **{op: (("i32", *_FLOATS), _elementwise(2)) for op in ("add", "sub", "maximum", "minimum")},
        **{op: (("i32", *_FLOATS), _elementwise(2, "i1")) for op in ("equal", "greater", "greater_equal")},
        **{op: (_INTEGERS, _elementwise(2)) for op in ("bitwise_and", "bitwise_or", "bitwise_xor")},
        **{
            op: (_INTEGERS, _elementwise(2))
            for op in ("arithmetic_right_shift", "logical_left_shift", "logical_right_shift")
        },
        **{op: (("i1",), _elementwise(2)) for op in ("logical_and", "logical_or", "logical_xor")},
        "intdiv": (("i32",), _elementwise(2)),
        "pow": (_FLOATS, _elementwise(2)),
        "mul": (_NUMBERS, _mul),
        "negate": (_NUMBERS, _negate),
        "select": (("i1", *_NUMBERS), _select),
        "clamp": (_NARROW, _clamp),
        "table": (("i8", "i16"), _table),
        "cast": (tuple(_CAST_TO), _cast),
        "rescale": ((*_INTEGERS, "i48"), _rescale),
        "cast_from_block_scaled": (_MX, _from_blocks),
        "cast_to_block_scaled": (_MX, _to_blocks),
        "argmax": (("i8", "i16", *_FLOATS, *_F8), _argmax),
        **dict.fromkeys(("reduce_all", "reduce_any"), (("i1",), _reduce)),
        **dict.fromkeys(("reduce_max", "reduce_min"), (_NUMBERS, _reduce)),
        "reduce_product": (_FLOATS, _reduce),
        "reduce_sum": (("i32", *_FLOATS), _reduce),
        "concat": (_ANY, _concat),
        "pad": (_ANY, _pad),
        "reshape": (_ANY, _reshape),
        "reverse": (_ANY, _reverse),
        "slice": (_ANY, _slice),
        "tile": (_ANY, _tile),
        "transpose": (_ANY, _transpose),
        "gather": ((*_NUMBERS, *_F8), _places),
        "scatter": ((*_NUMBERS, *_F8), _places),
        "resize": ((*_NARROW, *_F8), _resize),
    }
)  # fmt: skip
"""For each operator, without ``tosa.``: the types of its first operand, and the function that draws the rest. For
cast_to_block_scaled the type is that of its first result.
"""


def drawn_operator(op: str, element: str | None, seed: int, draw: int) -> DrawnOperator:
    """Return a program with one operator.

    ``op``: its name. ``element``: the element type of its first operand (see `OPERATORS`); None: it is drawn, too.
    ``seed``, ``draw``: the same numbers give the same program.

    Raises InputError for another operator, and for a type that it does not have.
    """
    name = op.removeprefix("tosa.")
    found = OPERATORS.get(name)
    if found is None:
        raise InputError(f"'{op}' has no shapes and attributes to draw", hint=did_you_mean(name, tuple(OPERATORS)))
    types, law = found
    if element is not None and element not in types:
        raise InputError(f"'{op}' is drawn for the types {', '.join(types)}, not for {element}")
    random = Random(f"{name} {element} {seed} {draw}")
    drawing = _Drawing(name, element or random.choice(types), random)
    law(drawing)
    words = [name, drawing.element, *[f"seed{seed}"] * (seed != 0)]
    return drawing.drawn("_".join(words), f"draw{draw}")
