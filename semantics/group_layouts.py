"""The layouts of AWQ and GPTQ: how files pack integers of 2, 3, 4 or 8 bits and the zero points of their groups.

A weight is scale * (element - zero point), where a group of elements along the inputs shares a scale and a zero point.
Sources: AutoAWQ, awq/utils/packing_utils.py and awq/modules/linear/gemv.py; AutoGPTQ,
auto_gptq/nn_modules/qlinear/qlinear_cuda.py; GPTQModel, whose format gptq_v2 stores zero points as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.profile import SPEC

Words = npt.NDArray[np.uint32]

F32, _RNE = FORMATS["f32"], Rounding.TO_NEAREST_EVEN


@dataclass(frozen=True)
class Layout:
    """One way to pack the integers of a layer.

    ``inputs``: the dimension of the inputs in the array of elements: 0 or 1. ``packed``: the dimension along which
    words hold elements; those of zero points do so along dimension 1. ``order``: of an element in a word, the place of
    its field. ``offset``: is added to stored zero points. ``widths``: the numbers of bits.
    """

    name: str
    inputs: int
    packed: int
    order: tuple[int, ...] | None = None
    offset: int = 0
    widths: tuple[int, ...] = (4,)


_TABLE = (
    Layout("awq", inputs=0, packed=1, order=(0, 4, 1, 5, 2, 6, 3, 7)),
    Layout("awq-gemv", inputs=1, packed=1),
    Layout("gptq", inputs=0, packed=0, offset=1, widths=(2, 3, 4, 8)),
    Layout("gptq-v2", inputs=0, packed=0, widths=(2, 3, 4, 8)),
)

LAYOUTS: Mapping[str, Layout] = MappingProxyType({layout.name: layout for layout in _TABLE})
"""The layouts by name."""


def layout_named(name: str) -> Layout:
    """Return the layout with this name. Raises a ValueError that lists the layouts."""
    found = LAYOUTS.get(name)
    if found is None:
        raise ValueError(
            with_hint(f"layout is {name!r}, but must be one of {', '.join(LAYOUTS)}", did_you_mean(name, LAYOUTS))
        )
    return found


def unpack(words: Words, width: int, axis: int, order: tuple[int, ...] | None = None) -> npt.NDArray[np.uint8]:
    """Return the integers of ``width`` bits that words hold along an axis, the lowest bits first.

    An integer of 3 bits may lie in two words, so that three words hold 32 integers. ``order``: of each integer of a
    word, the place of its field.
    """
    rows = np.ascontiguousarray(np.moveaxis(words, axis, -1)).astype("<u4", copy=False).view(np.uint8)
    bits = np.unpackbits(rows, axis=-1, bitorder="little")
    count = bits.shape[-1] // width
    fields = np.packbits(bits.reshape(*rows.shape[:-1], count, width), axis=-1, bitorder="little")[..., 0]
    if order is not None:
        fields = fields.reshape(*rows.shape[:-1], count // len(order), len(order))[..., order].reshape(fields.shape)
    return np.moveaxis(fields, -1, axis)


def dequantize(
    elements: npt.NDArray[np.uint8],
    zero_points: npt.NDArray[np.uint16],
    scales: Codes,
    groups: npt.NDArray[np.intp],
    fmt: FloatFormat,
    inputs: int,
) -> Codes:
    """Return scale * (element - zero point) in the format of the scales, rounded once to nearest even.

    ``elements``: of any layout. ``zero_points``, ``scales``: one for each group and output. ``groups``: of each input.
    A product of f16 or bf16 is exact in f32, and one that overflows there overflows in them as well.
    """
    wide = scales if fmt == F32 else fast.convert(fmt, F32, scales, _RNE, SPEC.conversions).codes
    steps = elements.astype(np.int16) - zero_points.astype(np.int16).take(groups, inputs)
    factors = steps.astype(np.float32).view(np.uint32)
    product = fast.multiply(F32, np.asarray(wide).take(groups, inputs), factors, _RNE, SPEC.arithmetic).codes
    return np.asarray(product if fmt == F32 else fast.convert(F32, fmt, product, _RNE, SPEC.conversions).codes)
