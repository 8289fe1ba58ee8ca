"""The named structured ops: a row each, with the loops, the place of each operand in them, and the body.

A row names the loops in order. For each operand it names the loop that indexes each axis. ``oh.kh`` is the index
``oh * stride + kh * dilation`` of a sliding window; the windows of a row take the strides and the dilations of the op
one after the other. ``oh+kh`` is a window without them. A loop that does not index the last operand is a reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halfulp.interp.dialects.linalg import bodies
from halfulp.interp.dialects.linalg.bodies import Body


class Named(NamedTuple):
    """A named op. ``operands``: the axes of each, the init last. ``cast``: it has the property of that name."""

    name: str
    loops: str
    operands: Sequence[str]
    body: Body
    cast: bool = False

    @property
    def contracts(self) -> bool:
        """True if MLIR knows the op as a contraction."""
        return self.body in (bodies.multiply_and_add, bodies.signed_multiply_and_add) and not self.convolves

    @property
    def convolves(self) -> bool:
        """True if an input is read in sliding windows."""
        return "." in self.operands[0] or "+" in self.operands[0]

    @property
    def windows(self) -> list[str]:
        """The sliding windows, in the order in which the op writes their strides."""
        return [axis for axis in self.operands[0].split() if "." in axis]


_PRODUCT, _QUANTIZED = bodies.multiply_and_add, bodies.quantized_multiply_and_add

_CONTRACTIONS = (
    ("matvec", "m n", ("m n", "n", "m")),
    ("vecmat", "n m", ("m", "m n", "n")),
    ("batch_matvec", "b m k", ("b m k", "b k", "b m")),
    ("batch_vecmat", "b n k", ("b k", "b k n", "b n")),
    ("dot", "m", ("m", "m", "")),
    ("mmt4d", "m n k m0 n0 k0", ("m k m0 k0", "n k n0 k0", "m n m0 n0")),
    ("batch_mmt4d", "b m n k m0 n0 k0", ("b m k m0 k0", "b n k n0 k0", "b m n m0 n0")),
)

MATMULS: Sequence[Named] = (
    Named("matmul", "m n k", ("m k", "k n", "m n"), _PRODUCT, cast=True),
    Named("batch_matmul", "b m n k", ("b m k", "b k n", "b m n"), _PRODUCT, cast=True),
    Named("batch_reduce_matmul", "b m n k", ("b m k", "b k n", "m n"), bodies.signed_multiply_and_add, cast=True),
)
"""The named ops whose loops are fixed, but whose text may write other maps."""

_CONVOLUTIONS = (
    ("conv_1d", "ow kw", "ow+kw", "kw", "ow"),
    ("conv_2d", "oh ow kh kw", "oh+kh ow+kw", "kh kw", "oh ow"),
    ("conv_3d", "od oh ow kd kh kw", "od+kd oh+kh ow+kw", "kd kh kw", "od oh ow"),
    ("conv_1d_nwc_wcf", "n ow f kw c", "n ow.kw c", "kw c f", "n ow f"),
    ("conv_1d_ncw_fcw", "n f ow c kw", "n c ow.kw", "f c kw", "n f ow"),
    ("conv_2d_nhwc_hwcf", "n oh ow f kh kw c", "n oh.kh ow.kw c", "kh kw c f", "n oh ow f"),
    ("conv_2d_nhwc_fhwc", "n oh ow f kh kw c", "n oh.kh ow.kw c", "f kh kw c", "n oh ow f"),
    ("conv_2d_nchw_fchw", "n f oh ow c kh kw", "n c oh.kh ow.kw", "f c kh kw", "n f oh ow"),
    ("conv_2d_ngchw_fgchw", "n g f oh ow c kh kw", "n g c oh.kh ow.kw", "f g c kh kw", "n g f oh ow"),
    ("conv_2d_ngchw_gfchw", "n g f oh ow c kh kw", "n g c oh.kh ow.kw", "g f c kh kw", "n g f oh ow"),
    ("conv_2d_nhwgc_gfhwc", "n oh ow g f kh kw c", "n oh.kh ow.kw g c", "g f kh kw c", "n oh ow g f"),
    ("conv_3d_ndhwc_dhwcf", "n od oh ow f kd kh kw c", "n od.kd oh.kh ow.kw c", "kd kh kw c f", "n od oh ow f"),
    ("conv_3d_ncdhw_fcdhw", "n f od oh ow c kd kh kw", "n c od.kd oh.kh ow.kw", "f c kd kh kw", "n f od oh ow"),
    ("depthwise_conv_1d_nwc_wc", "n ow c kw", "n ow.kw c", "kw c", "n ow c"),
    ("depthwise_conv_1d_ncw_cw", "n ow c kw", "n c ow.kw", "c kw", "n c ow"),
    ("depthwise_conv_1d_nwc_wcm", "n ow c m kw", "n ow.kw c", "kw c m", "n ow c m"),
    ("depthwise_conv_2d_nhwc_hwc", "n oh ow c kh kw", "n oh.kh ow.kw c", "kh kw c", "n oh ow c"),
    ("depthwise_conv_2d_nchw_chw", "n oh ow c kh kw", "n c oh.kh ow.kw", "c kh kw", "n c oh ow"),
    ("depthwise_conv_2d_nhwc_hwcm", "n oh ow c m kh kw", "n oh.kh ow.kw c", "kh kw c m", "n oh ow c m"),
    ("depthwise_conv_3d_ndhwc_dhwc", "n od oh ow kd kh kw c", "n od.kd oh.kh ow.kw c", "kd kh kw c", "n od oh ow c"),
    ("depthwise_conv_3d_ncdhw_cdhw", "n od oh ow kd kh kw c", "n c od.kd oh.kh ow.kw", "c kd kh kw", "n c od oh ow"),
    (
        *("depthwise_conv_3d_ndhwc_dhwcm", "n od oh ow cm kd kh kw c"),
        *("n od.kd oh.kh ow.kw c", "kd kh kw c cm", "n od oh ow c cm"),
    ),
)
_QUANTIZED_CONVOLUTIONS = (
    *("conv_2d_nhwc_hwcf", "conv_2d_nhwc_fhwc", "conv_2d_nchw_fchw", "conv_2d_ngchw_gfchw", "conv_2d_nhwgc_gfhwc"),
    *("conv_3d_ndhwc_dhwcf", "depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nhwc_hwcm"),
)

_POOLED = {
    "nhwc": ("n oh ow c kh kw", "n oh.kh ow.kw c", "kh kw", "n oh ow c"),
    "nchw": ("n c oh ow kh kw", "n c oh.kh ow.kw", "kh kw", "n c oh ow"),
    "nwc": ("n ow c kw", "n ow.kw c", "kw", "n ow c"),
    "ncw": ("n c ow kw", "n c ow.kw", "kw", "n c ow"),
    "ndhwc": ("n od oh ow c kd kh kw", "n od.kd oh.kh ow.kw c", "kd kh kw", "n od oh ow c"),
}
_ALL_POOLED = ("sum", "max", "max_unsigned", "min", "min_unsigned")
_POOLINGS = {
    "nhwc": _ALL_POOLED,
    "nwc": _ALL_POOLED,
    "nchw": ("sum", "max"),
    "ncw": ("sum", "max"),
    "ndhwc": ("sum", "max", "min"),
}
_COMBINES = {"sum": "add", "max": "max_signed", "min": "min_signed"}


def _rows() -> list[Named]:
    rows = [Named(name, loops, operands, _PRODUCT) for name, loops, operands in _CONTRACTIONS]
    rows += [
        Named("fill_rng_2d", "m n", ("", "", "", "m n"), bodies.random_number),
        Named("quantized_matmul", "m n k", ("m k", "k n", "", "", "m n"), _QUANTIZED),
        Named("quantized_batch_matmul", "b m n k", ("b m k", "b k n", "", "", "b m n"), _QUANTIZED),
    ]
    for name, loops, image, kernel, out in _CONVOLUTIONS:
        rows.append(Named(name, loops, (image, kernel, out), _PRODUCT))
        if name in _QUANTIZED_CONVOLUTIONS:
            rows.append(Named(f"{name}_q", loops, (image, kernel, "", "", out), _QUANTIZED))
    for layout, functions in _POOLINGS.items():
        loops, *operands = _POOLED[layout]
        rows += [
            Named(f"pooling_{layout}_{each}", loops, operands, bodies.pooling(_COMBINES.get(each, each)))
            for each in functions
        ]
    return rows


CONTRACTIONS: Sequence[Named] = tuple(_rows())
"""The named ops with fixed loops."""

ELEMENTWISE: Sequence[tuple[str, int, Body]] = (
    ("copy", 1, bodies.copy),
    *((name, 1, bodies.unary(name)) for name in bodies.UNARY),
    ("square", 1, bodies.square),
    ("reciprocal", 1, bodies.reciprocal),
    *((name, 2, bodies.binary(name)) for name in ("add", "sub", "mul", "div", "div_unsigned", "powf")),
    *((name, 2, bodies.binary(f"{name}_signed")) for name in ("max", "min")),
    ("select", 3, bodies.select),
)
"""The named ops on elements of one shape: their name, the number of inputs, and the body."""
