"""Draw the errors of quantised arrays as histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.drawing.figures import Style, chosen_style, drawing, figure_of, new_axes, set_title
from halfulp.drawing.formats import ELLIPSIS
from halfulp.evaluating import eval
from halfulp.interp.dialects.quant.ops import quantization
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import as_profile
from halfulp.semantics.quant import qcast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_ROWS = 16
"""The most channels of one picture."""


def draw_quantisation_error(
    array: Any,
    type: str | ty.Type,
    *,
    channels: Sequence[int] | None = None,
    bins: int = 40,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the errors of quantising an array, as one histogram for each layer or channel.

    ``array``: any operand of `halfulp.eval`, of the expressed type of ``type``.
    ``type``: a ``!quant.uniform`` type, per layer, per channel, or with blocks (all blocks are in one histogram).
    ``channels``: the channels to show; by default the first `MOST_ROWS`.
    ``bins``: the bins of each histogram.

    The error is dcast(qcast(x)) - x. Elements that were clamped to the ends of the storage type, which have errors of
    any size, and NaNs are not in the histogram; their counts are next to it. Each row is scaled to its highest bin.

    Raises TypeMismatch for an array of a wrong type or a wrong ``type``, InputError for channels that do not exist.
    """
    style = chosen_style(dark)
    rows = quantisation_errors(array, type)
    chosen = list(range(min(len(rows), MOST_ROWS))) if channels is None else list(channels)
    for channel in chosen:
        if not 0 <= channel < len(rows):
            raise InputError(f"there is no channel {channel}: the type has {len(rows)}, counted from 0")
    if not 1 <= len(chosen) <= MOST_ROWS:
        raise InputError(f"{len(chosen)} channels are chosen; 1 to {MOST_ROWS} can be shown")
    if bins < 1:
        raise InputError(f"bins is {bins}, but must be positive")
    with drawing():
        axes = new_axes(ax, style, 0.8 + 0.5 * len(chosen))
        _draw_errors(axes, style, [rows[k] for k in chosen], bins)
        more = "" if len(chosen) == len(rows) else f", {len(chosen)} of {len(rows)} channels"
        spelling = str(type) if len(str(type)) <= 240 else f"{str(type)[:240]}{ELLIPSIS}"
        set_title(axes, style, f"Quantisation error{more}\n{spelling}", ax is None)
        return figure_of(axes)


@dataclass(frozen=True)
class ChannelErrors:
    """The errors of quantising one layer or one channel.

    ``errors``: the errors of the elements that were neither clamped nor NaN, as f64.
    ``clamped``: the number of clamped elements.
    ``nan``: the number of elements without a result.
    ``elements``: the number of all elements.
    ``step``: the scale.
    """

    name: str
    errors: npt.NDArray[np.float64]
    clamped: int
    nan: int
    elements: int
    step: float


def quantisation_errors(array: Any, type: str | ty.Type) -> list[ChannelErrors]:
    """Compute the errors that `draw_quantisation_error` draws, for each layer or channel.

    Raises TypeMismatch for an array of a wrong type or a wrong ``type``.
    """
    element = ty.element_type(as_type(type))
    if not isinstance(element, ty.UniformQuantizedType):
        raise TypeMismatch(f"quantisation needs a !quant.uniform type, not '{element}'")
    given = array if isinstance(array, Value) else Value.from_numpy(array)
    stored = eval("quant.qcast", given, to=element)
    before, after = (convert(x, to="f64") for x in (given, eval("quant.dcast", stored, to=element.expressed)))
    # The same steps for a storage type so wide that it clamps nothing: its integers are those before clamping.
    wide = replace(
        quantization(Operation("quant.qcast"), stored.type),
        storage_width=64,
        storage_signed=True,
        storage_min=-(1 << 63),
        storage_max=(1 << 63) - 1,
    )
    integers = qcast(wide, as_profile("spec")).array(given.bits).results[0].view(np.int64)
    clamped = (integers < element.storage_min) | (integers > element.storage_max)
    nan = np.broadcast_to(stored.poisoned, stored.shape)
    # Infinities are clamped, so their errors are not in the histogram.
    with np.errstate(invalid="ignore"):
        errors = after.bits.view(np.float64) - before.bits.view(np.float64)
    if element.axis is None:
        name = "all elements" if element.block_sizes is None else f"{len(element.scales)} blocks"
        groups: list[tuple[str, float, Any]] = [(name, max(element.scales), slice(None))]
        errors, clamped, nan = errors.reshape(-1), clamped.reshape(-1), nan.reshape(-1)
    else:
        groups = [(f"channel {k}", scale, k) for k, scale in enumerate(element.scales)]
        errors = np.moveaxis(errors, element.axis, 0)
        clamped, nan = np.moveaxis(clamped, element.axis, 0), np.moveaxis(nan, element.axis, 0)
    found = []
    for name, step, index in groups:
        lost, kept = clamped[index] & ~nan[index], ~(clamped[index] | nan[index])
        found.append(ChannelErrors(name, errors[index][kept], int(lost.sum()), int(nan[index].sum()), kept.size, step))
    return found


def _draw_errors(ax: Axes, style: Style, rows: Sequence[ChannelErrors], bins: int) -> None:
    labels = []
    for k, row in enumerate(rows):
        # Half a step on either side, and the roundings of qcast and dcast.
        reach = max(row.step / 2, float(np.abs(row.errors).max(initial=0)))
        counts, edges = np.histogram(row.errors, bins, (-reach, reach))
        base = len(rows) - 1 - k
        ax.stairs(
            base + 0.8 * counts / max(1, counts.max()),
            edges,
            baseline=base,
            fill=True,
            color=style.series[0],
            linewidth=0,
        )
        ax.axhline(base, color=style.faint, linewidth=0.6)
        lost = f"{row.clamped:,} of {row.elements:,} clamped" + (f", {row.nan:,} NaN" if row.nan else "")
        labels.append(f"{row.name}, step {row.step:.6g}\n{lost}")
    ax.set_ylim(-0.1, len(rows))
    ax.set_yticks([len(rows) - 1 - k + 0.3 for k in range(len(rows))], labels)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.axvline(0, color=style.faint, linewidth=0.6)
    ax.locator_params(axis="x", nbins=6)
    ax.set_xlabel("error: dcast(qcast(x)) \N{MINUS SIGN} x", fontsize=9, color=style.text)
