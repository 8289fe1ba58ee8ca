"""The known differences of other quantisers of blocks, as data that predicts their bits.

A row changes the answer of our recipe into that of the other side, for the blocks that it is about. What no row
predicts is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from corpora.block_inputs import Case, Floats

from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import block_scaling as bs
from halfulp.semantics.floats import is_nan


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


def _scaled(x: Floats, answer: Answer) -> Floats:
    with np.errstate(all="ignore"):
        scaled = np.ldexp(x, 127 - answer.scales.astype(np.int64)[:, None])
    return np.where((answer.scales == 0xFF)[:, None], np.float32(np.nan), scaled)


def _zero_sign(x: Floats, case: Case, answer: Answer) -> Answer:
    lost = (_scaled(x, answer) == 0) & ~np.isnan(answer.values.view(np.float32))
    return replace(answer, values=np.where(lost, np.uint32(0), answer.values))


def _integer_zero_sign(x: Floats, case: Case, answer: Answer) -> Answer:
    if not isinstance(case.type, bs.FixedPoint):
        return answer
    kept = (_scaled(x, answer) < 0) & (answer.values == 0)
    return replace(answer, values=np.where(kept, np.uint32(1 << 31), answer.values))


def _below_half(x: Floats, case: Case, answer: Answer) -> Answer:
    """|x| + 0.5 rounds up to 1 for the largest |x| below a half of the smallest element."""
    if case.rounding == "toward_zero":
        return answer
    element = case.type
    lowest = -element.mantissa_bits if isinstance(element, bs.FixedPoint) else element.emin - element.mantissa_bits
    units = np.abs(_scaled(x, answer)) * np.float32(2.0**-lowest)
    where = units == np.nextafter(np.float32(0.5), np.float32(0))
    one = np.ldexp(np.float32(1), answer.scales.astype(np.int64)[:, None] - 127 + lowest)
    value = np.copysign(one, x).astype(np.float32).view(np.uint32)
    return replace(answer, values=np.where(where, value, answer.values))


def _coarse_truncation(x: Floats, case: Case, answer: Answer) -> Answer:
    """A quotient just below a power of two is cut to the precision above that power: its f32 log2 is an integer."""
    if case.rounding != "toward_zero" or isinstance(case.type, bs.FixedPoint):
        return answer
    quotients = np.abs(_scaled(x, answer))
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
