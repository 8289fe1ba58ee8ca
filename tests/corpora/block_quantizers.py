"""Compare the recipes of block scaling with quantisers that were not written here, and count the differences.

    PYTHONPATH=tests python -m corpora.block_quantizers CHECKOUT… [--blocks N] [--record FOLDER]

A checkout is a folder of microsoft/microxcaling, of pytorch/ao (or one where torchao is installed), or of
NVIDIA/TransformerEngine: the program recognises it by a file in it, and needs torch. It quantises N difficult blocks
with each recipe and element type, on both sides. A known difference is a row in
`corpora.block_quirks` that predicts the other side's bits. The program prints how many blocks each
row changes, and how many differ without a row, and exits with 1 if there are any of these. ``--record`` writes some of
the blocks, with the answers, for the tests. Give one torchao at a time: two of them do not fit into one process.
"""

import argparse
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import block_scaling as bs
from halfulp.semantics.block_scaling import MX_ELEMENTS, Element, FixedPoint, Recipe, recipe_named
from halfulp.semantics.floats import is_nan

# --- block inputs -----------------------------------------------------------------------------------------------------
#
# Make blocks of f32 numbers that are difficult for recipes of block scaling, the same for the same case.

Floats = npt.NDArray[np.float32]

_CHUNK = 1 << 13
_TENSOR = 256
"""Blocks of one call: of an MX recipe, where blocks do not depend on each other, and of one tensor of NVFP4."""


@dataclass(frozen=True)
class Case:
    """One comparison. ``special``: some blocks have infinities and NaN. ``two_levels``: of NVFP4."""

    recipe: str
    element: str
    rounding: str = "to_nearest_even"
    two_levels: bool = True
    special: bool = False

    def __str__(self) -> str:
        parts = (
            self.recipe,
            self.element,
            "" if self.rounding == "to_nearest_even" else self.rounding,
            "" if self.two_levels else "one level",
            "infinities and NaN" if self.special else "",
        )
        return " ".join(part for part in parts if part)

    @property
    def rules(self) -> Recipe:
        """The recipe itself."""
        return recipe_named(self.recipe)

    @property
    def type(self) -> Element:
        """The element type itself."""
        return self.rules.elements()[self.element]


def blocks_of(case: Case, count: int) -> Iterator[Floats]:
    """Yield at least ``count`` blocks in arrays [n, block]. Each array is quantised by one call."""
    is_mx = case.rules.raises is not None
    chunk = _CHUNK if is_mx or not case.two_levels else _TENSOR
    rng = np.random.default_rng(zlib.crc32(repr(astuple(case)).encode()))
    for _ in range(0, count, chunk):
        x = _mixed(rng, case, chunk) if is_mx or not case.two_levels else _tensor(rng, case, chunk)
        yield _spoilt(rng, x) if case.special else x


def _grid(element: Element) -> Floats:
    """Return the positive values of an element type, the middles between them, and both f32 neighbours of each."""
    if isinstance(element, FixedPoint):
        values = np.arange(1, element.largest + 1) / 2.0**element.mantissa_bits
    else:
        exact = (scalar.value(element, code) for code in range(1 << element.bits))
        values = np.array(sorted({float(value) for value in exact if value is not None and value > 0}))
    last = values[-1] * (1 + 2.0 ** -(element.mantissa_bits + 1))
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2, [values[0] / 2, last]]).astype(np.float32)
    return _with_neighbours(points)


def _with_neighbours(points: Floats) -> Floats:
    return np.concatenate([points, np.nextafter(points, np.float32(0)), np.nextafter(points, np.float32(np.inf))])


def _tops(element: Element) -> Floats:
    """Return significands at which some recipe raises the scale, and their neighbours."""
    step = 2.0**-element.mantissa_bits
    return _with_neighbours(np.array([1, 1.5, 1.75, 1.875, 1.984375, 2 - step / 4, 2 - step / 2, 2], np.float32))


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.where(rng.random(shape) < 0.5, np.float32(-1), np.float32(1))


def _scaled(x: npt.NDArray[np.floating], exponents: npt.NDArray[np.int64]) -> Floats:
    return np.ldexp(x.astype(np.float32), exponents)


def _any_scale(rng: np.random.Generator, case: Case, n: int) -> Floats:
    x = np.clip(rng.standard_normal((n, case.rules.block)), -1.9, 1.9)
    return _scaled(x, rng.integers(-149, 128, (n, 1)))


def _any_bits(rng: np.random.Generator, case: Case, n: int) -> Floats:
    bits = rng.integers(0, 1 << 32, (n, case.rules.block), dtype=np.uint32)
    infinite = (bits >> 23) & 0xFF == 0xFF
    return np.where(infinite, bits & ~np.uint32(1 << 23), bits).view(np.float32)


def _boundaries(rng: np.random.Generator, case: Case, n: int, low: int, high: int) -> Floats:
    """Return elements at the ties of the element type, below a largest magnitude where a recipe changes the scale."""
    element, shape = case.type, (n, case.rules.block)
    x = rng.choice(_grid(element), shape) * _signs(rng, shape)
    top = rng.choice(_tops(element), (n, 1)) * np.float32(2.0**element.emax)
    x = np.clip(x, -top, top)
    x[:, :1] = top * _signs(rng, (n, 1))
    x[rng.random(shape) < 0.05] = 0
    x[rng.random(shape) < 0.05] = -0.0
    return _scaled(x, rng.integers(low, high, (n, 1)))


def _subnormal(rng: np.random.Generator, case: Case, n: int) -> Floats:
    shape = (n, case.rules.block)
    bits = rng.integers(0, 1 << 23, shape, dtype=np.uint32) >> rng.integers(0, 23, (n, 1)).astype(np.uint32)
    bits[: n // 8] = 0
    return (bits | rng.integers(0, 2, shape, dtype=np.uint32) << np.uint32(31)).view(np.float32)


def _outlier(rng: np.random.Generator, case: Case, n: int) -> Floats:
    shape = (n, case.rules.block)
    x = _scaled(rng.standard_normal(shape), rng.integers(-140, 60, shape))
    x[:, 3] = _scaled(rng.uniform(1, 2, n), rng.integers(-100, 128, n))
    return x


def _mixed(rng: np.random.Generator, case: Case, n: int) -> Floats:
    top = 128 - case.type.emax - 1
    ranges = [(-20, 20), (-149, -100), (90, top), (-3, 4)]
    kinds: list[Callable[[int], Floats]] = [
        lambda m: _any_scale(rng, case, m),
        lambda m: _any_bits(rng, case, m),
        lambda m: _subnormal(rng, case, m),
        lambda m: _outlier(rng, case, m),
        *(lambda m, low=low, high=high: _boundaries(rng, case, m, low, high) for low, high in ranges),
    ]
    return np.concatenate([kind(n // len(kinds)) for kind in kinds])


def _tensor(rng: np.random.Generator, case: Case, n: int) -> Floats:
    """Return one tensor: mostly blocks whose scales fit the range of f8E4M3FN, one in eight of any kind."""
    if rng.random() < 0.125:
        return _mixed(rng, case, n) if rng.random() < 0.9 else np.zeros((n, case.rules.block), np.float32)
    centre = int(rng.integers(-115, 115)) if rng.random() < 0.5 else int(rng.integers(-10, 10))
    shape = (n, case.rules.block)
    x = rng.choice(_grid(case.type), shape) * _signs(rng, shape)
    block = _scaled(rng.uniform(1, 2, (n, 1)), rng.integers(-18, 1, (n, 1)))
    block[::3] = _scaled(rng.choice(_tops(case.type), (len(block[::3]), 1)), rng.integers(-18, 1, (len(block[::3]), 1)))
    x *= block
    x[rng.random(shape) < 0.05] = 0
    x[rng.random(shape) < 0.05] = -0.0
    x[: n // 16] = 0
    return _scaled(x, np.asarray(centre))


def _spoilt(rng: np.random.Generator, x: Floats) -> Floats:
    """Put an infinity or NaN into about every other block: into none of some tensors."""
    specials = np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32)
    rows = np.flatnonzero(rng.random(len(x)) < rng.choice([0, 0.01, 0.5]))
    x[rows, rng.integers(0, x.shape[1], len(rows))] = rng.choice(specials, len(rows))
    return x


# --- block quirks -----------------------------------------------------------------------------------------------------
#
# The known differences of other quantisers of blocks, as data that predicts their bits.
#
# A row changes the answer of our recipe into that of the other side, for the blocks that it is about. What no row
# predicts is a failure.


@dataclass(frozen=True)
class Reply:
    """The codes that the other side gives, None for what it does not: ``scales`` [n] and ``elements`` [n, block], or
    ``values`` [n, block], the f32 codes of the dequantised elements.
    """

    scales: Codes | None = None
    elements: Codes | None = None
    tensor_scale: Codes | None = None
    values: Codes | None = None


@dataclass(frozen=True)
class Answer:
    """All codes of our side, or of what the other side should give: as in `Reply`."""

    scales: Codes
    elements: Codes
    values: Codes
    tensor_scale: Codes | None = None


@dataclass(frozen=True)
class Quirk:
    """A known difference: ``name`` says what the other side does; ``change`` returns its answer from ours."""

    name: str
    change: Callable[[Floats, Case, Answer], Answer]


def ours(x: Floats, case: Case) -> Answer:
    """Return what the recipe gives."""
    found = bs.quantize(
        x.view(np.uint32),
        bs.F32,
        case.type,
        case.rules,
        Rounding[case.rounding.upper()],
        two_levels=case.two_levels,
    )
    return _answer(case, found)


def _answer(case: Case, blocks: bs.Blocks) -> Answer:
    values = bs.dequantize(blocks, case.type, case.rules.scale, bs.F32)
    return Answer(blocks.scales, blocks.elements, values, blocks.tensor_scale)


def differing(theirs: Reply | Answer, answer: Answer, case: Case) -> Mask:
    """Return which blocks differ in what the other side gives.

    If a scale is NaN, all elements are NaN whatever their codes are, and the codes are not compared.
    """
    rows = theirs.elements if theirs.elements is not None else theirs.values
    assert rows is not None
    found = np.zeros(len(rows), np.bool_)
    if theirs.scales is not None and theirs.elements is not None:
        nan = is_nan(case.rules.scale, theirs.scales)
        found |= (theirs.scales != answer.scales) & ~(nan & is_nan(case.rules.scale, answer.scales))
        found |= np.any(theirs.elements != answer.elements, axis=-1) & ~nan
    for mine, other in ((answer.values, theirs.values), (answer.tensor_scale, theirs.tensor_scale)):
        if other is not None:
            assert mine is not None
            unlike = (other != mine) & ~(is_nan(bs.F32, other) & is_nan(bs.F32, mine))
            found |= unlike.any(axis=-1) if unlike.ndim else unlike
    return found


def predicted(x: Floats, case: Case, answer: Answer, quirks: Sequence[Quirk]) -> tuple[Answer, dict[str, Mask]]:
    """Return the answer that the other side should give, and the blocks that each row changes."""
    changed: dict[str, Mask] = {}
    for quirk in quirks:
        found = quirk.change(x, case, answer)
        mask = differing(found, answer, case)
        if mask.any():
            changed[quirk.name] = mask
        answer = found
    return answer, changed


# --- MX recipes -------------------------------------------------------------------------------------------------------


def _largest(x: Floats) -> Floats:
    return np.asarray(np.abs(x).max(axis=-1))


def _with_exponents(
    x: Floats, case: Case, answer: Answer, where: Mask, exponents: npt.NDArray[np.int64], divisor: int = 0
) -> Answer:
    """Replace the scales of some blocks by 2**exponent, and their elements by x / 2**(exponent + divisor)."""
    if not where.any():
        return answer
    lost = np.zeros(int(where.sum()), np.bool_)
    mode = Rounding[case.rounding.upper()]
    scales, elements = answer.scales.copy(), answer.elements.copy()
    scales[where] = exponents[where] + 127
    divisors = exponents[where] + divisor
    elements[where] = bs.scaled_elements(x[where].view(np.uint32), bs.F32, case.type, divisors, lost, mode)
    return _answer(case, bs.Blocks(elements, scales))


def _mx(change: Callable[[Floats, Case, Answer], Answer], *recipes: str) -> Callable[[Floats, Case, Answer], Answer]:
    """Apply a change to some recipes only; to all MX recipes if none is named."""
    names = recipes or ("floor", "ceil", "even", "rceil")
    return lambda x, case, answer: change(x, case, answer) if case.recipe in names else answer


def _even_overflows(x: Floats, case: Case, answer: Answer) -> Answer:
    """The rounded largest magnitude is infinite, which becomes a scale of NaN."""
    largest, bound = (
        _largest(x),
        np.float32(2.0**127 * float(case.rules.raises(case.type)[0])) if case.rules.raises else 0,
    )
    where = np.isfinite(largest) & (largest >= bound)
    return replace(answer, scales=np.where(where, np.uint8(0xFF), answer.scales))


def _quotient(x: Floats, case: Case) -> Floats:
    return np.asarray(_largest(x) / np.float32(float(bs.largest_significand(case.type)) * 2.0**case.type.emax))


def _subnormal_quotient(x: Floats, case: Case, answer: Answer) -> Answer:
    """amax / max rounds down to 2^-127 exactly, since f32 is subnormal there."""
    with np.errstate(all="ignore"):
        where = (answer.scales == 1) & (_quotient(x, case) == np.float32(2.0**-127))
    return _with_exponents(x, case, answer, where, np.full(len(x), -127, np.int64))


def _rounded_log2(x: Floats, case: Case, answer: Answer) -> Answer:
    """The f32 logarithm of amax / max, just above a power of two, is an integer."""
    with np.errstate(all="ignore"):
        found = np.ceil(np.log2(_quotient(x, case).astype(np.float64)).astype(np.float32))
    exponents = np.clip(np.nan_to_num(found, nan=0, neginf=-127, posinf=127), -127, 127).astype(np.int64)
    where = np.isfinite(_largest(x)) & (exponents != answer.scales.astype(np.int64) - 127)
    return _with_exponents(x, case, answer, where, exponents)


def _divides_by_smallest_normal(x: Floats, case: Case, answer: Answer) -> Answer:
    """Where the scale is 2^-127, the elements are divided by 2^-126; by 1 in the recipe ``rceil``."""
    divisor = 127 if case.recipe == "rceil" else 1
    return _with_exponents(x, case, answer, answer.scales == 0, np.full(len(x), -127, np.int64), divisor)


def _keeps_infinity(x: Floats, case: Case, answer: Answer) -> Answer:
    """An infinity counts as 2^128 in the scale, as the largest scale in ``rceil``, and saturates."""
    where = np.isinf(_largest(x))
    exponent = 127 if case.recipe == "rceil" else 128 - case.type.emax
    return _with_exponents(x, case, answer, where, np.full(len(x), exponent, np.int64))


# --- NVFP4 ------------------------------------------------------------------------------------------------------------


def _zero_tensor(x: Floats, case: Case, answer: Answer) -> Answer:
    if case.recipe != "nvfp4" or not case.two_levels or x.any():
        return answer
    return replace(answer, scales=np.full_like(answer.scales, 0x7F), tensor_scale=np.asarray(np.uint32(0)))


def _zero_beside_infinity(x: Floats, case: Case, answer: Answer) -> Answer:
    """0 * inf is NaN, of which the conversion to f4E2M1FN makes -1.5: on x86, where this NaN has a sign."""
    if case.recipe != "nvfp4" or answer.tensor_scale is None:
        return answer
    with np.errstate(all="ignore"):
        factors = np.float32(1) / answer.tensor_scale.view(np.float32) / _f8_values(answer.scales)
    lost = (x == 0) & np.isinf(factors)[:, None]
    return replace(answer, elements=np.where(lost, np.uint8(0xB), answer.elements))


def _f8_values(scales: Codes) -> Floats:
    one = np.full((len(scales), 1), 2, np.uint8)
    return bs.dequantize(bs.Blocks(one, scales), bs.F4, bs.F8, bs.F32).view(np.float32)[:, 0]


def _loses_zero_sign(x: Floats, case: Case, answer: Answer) -> Answer:
    """The comparisons that choose the code take -0 for +0; so is a product that underflows to -0."""
    if case.recipe != "nvfp4-te" or answer.tensor_scale is None:
        return answer
    with np.errstate(all="ignore"):
        scales = _f8_values(answer.scales)[:, None]
        factors = np.minimum(np.float32(1) / (scales * answer.tensor_scale.view(np.float32)), np.finfo(np.float32).max)
        lost = (x * factors == 0) & (answer.elements == 8)
    return replace(answer, elements=np.where(lost, np.uint8(0), answer.elements))


# --- microxcaling -----------------------------------------------------------------------------------------------------


def _rounded_log2_of_largest(x: Floats, case: Case, answer: Answer) -> Answer:
    """The f32 logarithm of a largest magnitude just below a power of two is an integer."""
    largest = _largest(x)
    with np.errstate(all="ignore"):
        logs = np.floor(np.log2(largest.astype(np.float64)).astype(np.float32))
    exponents = np.maximum(np.nan_to_num(logs, nan=0, neginf=-127, posinf=0) - case.type.emax, -127).astype(np.int64)
    where = np.isfinite(largest) & (exponents != answer.scales.astype(np.int64) - 127)
    return _with_exponents(x, case, answer, where, exponents)


def _block_quirks_scaled(x: Floats, answer: Answer) -> Floats:
    with np.errstate(all="ignore"):
        scaled = np.ldexp(x, 127 - answer.scales.astype(np.int64)[:, None])
    return np.where((answer.scales == 0xFF)[:, None], np.float32(np.nan), scaled)


def _zero_sign(x: Floats, case: Case, answer: Answer) -> Answer:
    lost = (_block_quirks_scaled(x, answer) == 0) & ~np.isnan(answer.values.view(np.float32))
    return replace(answer, values=np.where(lost, np.uint32(0), answer.values))


def _integer_zero_sign(x: Floats, case: Case, answer: Answer) -> Answer:
    if not isinstance(case.type, bs.FixedPoint):
        return answer
    kept = (_block_quirks_scaled(x, answer) < 0) & (answer.values == 0)
    return replace(answer, values=np.where(kept, np.uint32(1 << 31), answer.values))


def _below_half(x: Floats, case: Case, answer: Answer) -> Answer:
    """|x| + 0.5 rounds up to 1 for the largest |x| below a half of the smallest element."""
    if case.rounding == "toward_zero":
        return answer
    element = case.type
    lowest = -element.mantissa_bits if isinstance(element, bs.FixedPoint) else element.emin - element.mantissa_bits
    units = np.abs(_block_quirks_scaled(x, answer)) * np.float32(2.0**-lowest)
    where = units == np.nextafter(np.float32(0.5), np.float32(0))
    one = np.ldexp(np.float32(1), answer.scales.astype(np.int64)[:, None] - 127 + lowest)
    value = np.copysign(one, x).astype(np.float32).view(np.uint32)
    return replace(answer, values=np.where(where, value, answer.values))


def _coarse_truncation(x: Floats, case: Case, answer: Answer) -> Answer:
    """A quotient just below a power of two is cut to the precision above that power: its f32 log2 is an integer."""
    if case.rounding != "toward_zero" or isinstance(case.type, bs.FixedPoint):
        return answer
    quotients = np.abs(_block_quirks_scaled(x, answer))
    with np.errstate(all="ignore"):
        logs = np.floor(np.log2(quotients.astype(np.float64)).astype(np.float32))
    fits = np.isfinite(logs) & (logs > case.type.emin) & (logs <= case.type.emax + 1)
    tops = np.ldexp(np.float32(1), np.where(fits, logs, 0).astype(np.int64))
    where = fits & (quotients < tops)
    cut = tops * np.float32(1 - 2.0**-case.type.mantissa_bits)
    values = np.copysign(np.ldexp(cut, answer.scales.astype(np.int64)[:, None] - 127), x).astype(np.float32)
    return replace(answer, values=np.where(where, values.view(np.uint32), answer.values))


_TORCHAO_NVFP4 = (
    Quirk("torchao: a tensor of zeros has the tensor scale 0, and its scales are 0 / 0", _zero_tensor),
    Quirk("torchao: 0 becomes -1.5 where 1 / tensor scale overflows", _zero_beside_infinity),
)

QUIRKS: Mapping[str, Sequence[Quirk]] = {
    "torchao": (
        Quirk("torchao: `even` gives NaN for finite blocks whose amax rounds to 2^128", _mx(_even_overflows, "even")),
        Quirk("torchao: `rceil` rounds amax / max to a subnormal f32", _mx(_subnormal_quotient, "rceil")),
        *_TORCHAO_NVFP4,
    ),
    "torchao-0.18": (
        Quirk("torchao 0.18: `rceil` takes the ceiling of a rounded log2", _mx(_rounded_log2, "rceil")),
        Quirk("torchao 0.18: an infinity has a finite scale", _mx(_keeps_infinity)),
        Quirk("torchao 0.18: elements beside the scale 2^-127 have another divisor", _mx(_divides_by_smallest_normal)),
        *_TORCHAO_NVFP4,
    ),
    "microxcaling": (
        Quirk("microxcaling: the exponent of amax is the floor of a rounded log2", _rounded_log2_of_largest),
        Quirk("microxcaling: -0 becomes +0", _zero_sign),
        Quirk("microxcaling: MXINT8 keeps the sign of a value that rounds to 0", _integer_zero_sign),
        Quirk("microxcaling: 0.49999997 of the smallest element rounds up", _below_half),
        Quirk("microxcaling: truncation takes the exponent of a quotient from a rounded log2", _coarse_truncation),
    ),
    "TransformerEngine": (Quirk("TransformerEngine: -0 becomes +0", _loses_zero_sign),),
}
"""The rows of each emulator; later rows see what earlier ones changed."""


# --- block quantizers -------------------------------------------------------------------------------------------------

Quantizer = Callable[[npt.NDArray[np.float32], Case], Reply]


@dataclass(frozen=True)
class Emulator:
    """A quantiser to compare with: its checkouts have the file ``marker``, with ``text`` in it."""

    name: str
    marker: str
    text: str
    cases: tuple[Case, ...]
    load: Callable[[Path], Quantizer]


@dataclass
class Count:
    """What one case gives: ``explained`` by the name of the row, in blocks, as ``blocks`` and ``unexplained``."""

    blocks: int
    equal: int
    explained: dict[str, int]
    unexplained: int


def compare(quantizer: Quantizer, quirks: Sequence[Quirk], case: Case, count: int) -> Count:
    """Quantise ``count`` blocks on both sides and count the differences."""
    total = Count(0, 0, {}, 0)
    for x in blocks_of(case, count):
        theirs = quantizer(x, case)
        answer = ours(x, case)
        predictions, changed = predicted(x, case, answer, quirks)
        total.blocks += len(x)
        total.equal += len(x) - int(differing(theirs, answer, case).sum())
        total.unexplained += int(differing(theirs, predictions, case).sum())
        for name, blocks in changed.items():
            total.explained[name] = total.explained.get(name, 0) + int(blocks.sum())
    return total


# --- the emulators ----------------------------------------------------------------------------------------------------


def _imported(name: str) -> Any:
    """Import what only this program needs: PyTorch, and modules of a checkout."""
    return import_module(name)


def _torchao(root: Path) -> Quantizer:
    sys.path.insert(0, str(root))
    torch = _imported("torch")
    mx, nvfp4, kernels, config = (
        _imported(f"torchao.prototype.mx_formats.{name}") for name in ("mx_tensor", "nvfp4_tensor", "kernels", "config")
    )
    dtypes = {
        "f8E5M2": torch.float8_e5m2,
        "f8E4M3FN": torch.float8_e4m3fn,
        "f6E3M2FN": "fp6_e3m2",
        "f6E2M3FN": "fp6_e2m3",
        "f4E2M1FN": torch.float4_e2m1fn_x2,
    }

    def codes(tensor: Any, shape: tuple[int, ...], packed: bool) -> npt.NDArray[np.uint8]:
        found = kernels.unpack_uint4(tensor) if packed else tensor
        return np.asarray(found.view(torch.uint8).numpy()).reshape(shape)

    def quantize(x: npt.NDArray[np.float32], case: Case) -> Reply:
        packed, given = case.element == "f4E2M1FN", torch.from_numpy(x.copy())
        if case.recipe == "nvfp4":
            tensor = nvfp4.per_tensor_amax_to_scale(given.abs().max()) if case.two_levels else None
            scales, elements = nvfp4.nvfp4_quantize(given, case.rules.block, tensor)
            of_all = None if tensor is None else tensor.numpy().view(np.uint32)
            return Reply(codes(scales, (len(x),), False), codes(elements, x.shape, packed), of_all)
        mode = config.ScaleCalculationMode[case.recipe.upper()]
        scales, elements = mx.to_mx(given, dtypes[case.element], case.rules.block, mode)
        return Reply(codes(scales, (len(x),), False), codes(elements, x.shape, packed))

    return quantize


def _microxcaling(root: Path) -> Quantizer:
    sys.path.insert(0, str(root))
    torch, ops = _imported("torch"), _imported("mx.mx_ops")
    names = {
        "f8E5M2": "fp8_e5m2",
        "f8E4M3FN": "fp8_e4m3",
        "f6E3M2FN": "fp6_e3m2",
        "f6E2M3FN": "fp6_e2m3",
        "f4E2M1FN": "fp4_e2m1",
        "i8": "int8",
    }
    rounds = {"to_nearest_even": "even", "to_nearest_away": "nearest", "toward_zero": "floor"}

    def quantize(x: npt.NDArray[np.float32], case: Case) -> Reply:
        found = ops._quantize_mx(
            torch.from_numpy(x.copy()),
            8,
            names[case.element],
            axes=[-1],
            block_size=case.rules.block,
            round=rounds[case.rounding],
        )
        return Reply(values=found.numpy().view(np.uint32))

    return quantize


def _transformer_engine(root: Path) -> Quantizer:
    """Load the reference alone: the package around it needs CUDA, so empty modules stand for what it imports."""
    home = "transformer_engine.pytorch.custom_recipes"
    tensors = ModuleType("transformer_engine.pytorch.quantized_tensor")
    tensors.__dict__.update(QuantizedTensorStorage=object, Quantizer=object)
    formats = ModuleType(f"{home}.reference_utils")
    formats.__dict__["Fp4Formats"] = type("Fp4Formats", (), {"E2M1": None})
    package = ModuleType(home)
    package.__path__ = [str(root / "transformer_engine/pytorch/custom_recipes")]
    gemm = ModuleType(f"{home}.gemm")
    gemm.__dict__["GEMMType"] = type("GEMMType", (), {"FPROP": None})
    gemm.__dict__["MMParams"] = object
    package.__dict__.update(gemm=gemm, reference_utils=formats)
    for name, module in {
        "transformer_engine": ModuleType("transformer_engine"),
        "transformer_engine.pytorch": ModuleType("transformer_engine.pytorch"),
        tensors.__name__: tensors,
        home: package,
        gemm.__name__: gemm,
        formats.__name__: formats,
    }.items():
        sys.modules[name] = module
    torch, reference = _imported("torch"), _imported(f"{home}.reference_nvfp4")

    def quantize(x: npt.NDArray[np.float32], case: Case) -> Reply:
        given = torch.from_numpy(x.copy())
        packed, scales = reference.NVFP4QuantizerRef._quantize_blockwise_reference(
            given, given.abs().max(), case.rules.block, 1, pow_2_scales=False, eps=0.0
        )
        pairs = packed.numpy()
        elements = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(x.shape)
        return Reply(scales.view(torch.uint8).numpy().ravel(), elements)

    return quantize


_FLOATS = tuple(name for name in MX_ELEMENTS if name != "i8")
_MODES = ("to_nearest_even", "to_nearest_away", "toward_zero")
_TORCHAO = (
    *(Case(recipe, element) for recipe in ("floor", "ceil", "even", "rceil") for element in _FLOATS),
    Case("nvfp4", "f4E2M1FN"),
    Case("nvfp4", "f4E2M1FN", two_levels=False),
)


def _with_specials(cases: Sequence[Case]) -> tuple[Case, ...]:
    return (*cases, *(replace(case, special=True) for case in cases if case.rounding == "to_nearest_even"))


EMULATORS = (
    Emulator(
        "torchao-0.18", "torchao/prototype/mx_formats/mx_tensor.py", "satfinite", _with_specials(_TORCHAO), _torchao
    ),
    Emulator("torchao", "torchao/prototype/mx_formats/mx_tensor.py", "", _with_specials(_TORCHAO), _torchao),
    Emulator(
        "microxcaling",
        "mx/mx_ops.py",
        "",
        _with_specials([Case("floor", element, mode) for element in MX_ELEMENTS for mode in _MODES]),
        _microxcaling,
    ),
    Emulator(
        "TransformerEngine",
        "transformer_engine/pytorch/custom_recipes/reference_nvfp4.py",
        "",
        _with_specials([Case("nvfp4-te", "f4E2M1FN")]),
        _transformer_engine,
    ),
)


def emulator_of(checkout: Path) -> Emulator:
    """Return the emulator that a folder holds. Raises ValueError if it holds none."""
    for emulator in EMULATORS:
        marker = checkout / emulator.marker
        if marker.is_file() and emulator.text in marker.read_text(encoding="utf-8"):
            return emulator
    markers = sorted({emulator.marker for emulator in EMULATORS})
    raise ValueError(f"{checkout} is not a known checkout: it has none of {', '.join(markers)}")


# --- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the counts as JSON lines, and return 1 if a difference has no row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--blocks", type=int, default=100_000, help="blocks for each recipe and element type")
    parser.add_argument("--record", type=Path, help="write blocks and answers to EMULATOR.npz in this folder")
    options = parser.parse_args(arguments)
    failed = False
    for checkout in options.checkouts:
        emulator, recorded = emulator_of(checkout), dict[str, npt.NDArray[Any]]()
        quantizer, quirks = emulator.load(checkout.resolve()), QUIRKS[emulator.name]
        for case in emulator.cases:
            count = compare(quantizer, quirks, case, options.blocks)
            failed |= count.unexplained > 0
            print(json.dumps({"emulator": emulator.name, "case": str(case), **vars(count)}), flush=True)
            if options.record is not None:
                recorded |= _sample(emulator.name, quantizer, quirks, case)
        if options.record is not None:
            np.savez_compressed(options.record / emulator.name, **recorded)  # type: ignore[arg-type]
    return int(failed)


_SAMPLE = 24
"""Blocks of a case that are recorded, at most."""

_SEARCHED = 100_000
"""Blocks among which tensors to record are searched."""


def _sample(name: str, quantizer: Quantizer, quirks: Sequence[Quirk], case: Case) -> dict[str, npt.NDArray[Any]]:
    """Return a few blocks of a case with the answers: some that each row changes, and some that none does.

    Blocks with a tensor scale are recorded with their whole tensor: the first, and one that each row changes.
    """
    whole = case.rules.raises is None and case.two_levels
    found, seen = dict[str, npt.NDArray[Any]](), set[str]()
    for index, x in enumerate(blocks_of(case, _SEARCHED if whole else 1)):
        theirs = quantizer(x, case)
        _, changed = predicted(x, case, ours(x, case), quirks)
        if index and changed.keys() <= seen:
            continue
        seen |= changed.keys()
        rows = [np.flatnonzero(mask)[:6] for mask in changed.values()] + [np.arange(0, len(x), len(x) // 16)]
        chosen = np.arange(len(x)) if whole else np.unique(np.concatenate(rows))[:_SAMPLE]
        parts = {"x": x.view(np.uint32), **{key: value for key, value in vars(theirs).items() if value is not None}}
        key = json.dumps([name, *astuple(case), index])
        found |= {f"{key}/{part}": codes[chosen] if codes.ndim else codes for part, codes in parts.items()}
    return found


if __name__ == "__main__":
    sys.exit(main())
