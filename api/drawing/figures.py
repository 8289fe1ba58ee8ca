"""Figures of matplotlib: colours, axes, titles and legends, and files of pictures."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from halfulp.fp_formats.aliases import how_to_install
from halfulp.fp_formats.spelling import themed
from halfulp.inputs import write_file
from halfulp.interp.ir.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH = 6.0  # inches: 600 pixels at `DPI`, the size for which text and lines are chosen
DPI = 100
ENDINGS = ("svg", "png")
_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "axes.unicode_minus": True,
    # Letters as shapes, and names without random numbers: a file looks the same everywhere, and has the same bytes.
    "svg.fonttype": "path",
    "svg.hashsalt": "halfulp",
}


# --- colours ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """The colours of a picture. ``series``: the colours of Okabe and Ito that are clearly visible on the background."""

    background: str
    text: str
    faint: str
    band: str
    series: tuple[str, ...]
    follows: bool = False
    """True if a notebook shows the picture in the colours of its own theme."""


_BLUE, _VERMILION, _GREEN, _PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
_SKY, _ORANGE, _YELLOW = "#56B4E9", "#E69F00", "#F0E442"
LIGHT = Style("#ffffff", "#1a1a1a", "#767676", "#eeeeee", (_BLUE, _VERMILION, _GREEN, "#1a1a1a", _PURPLE, _ORANGE))
DARK = Style("#16191d", "#e8e8e8", "#9a9a9a", "#262b31", (_SKY, _ORANGE, _GREEN, "#e8e8e8", _PURPLE, _YELLOW))


def chosen_style(dark: bool | None) -> Style:
    """Return the colours of a picture: dark or light; for None, light colours that change with the theme of a
    notebook.
    """
    return replace(LIGHT, follows=True) if dark is None else DARK if dark else LIGHT


# Series also differ in dashes and width, so that both are visible where one lies on another.
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 3)), (0, (8, 3)))
WIDTHS = (4.4, 3.4, 2.6, 1.9, 1.2, 1.2)


# --- axes -------------------------------------------------------------------------------------------------------------


@cache
def _figure_class() -> type[Figure]:
    """Make a subclass of matplotlib's Figure that notebooks show even when pyplot was never imported."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        message = f"pictures need matplotlib: {how_to_install('plot')}"
        raise ModuleNotFoundError(message, name="matplotlib") from None

    class Picture(Figure):
        follows = False

        def _repr_png_(self) -> bytes:
            return _image(self, "png")

        def _repr_html_(self) -> str | None:
            return themed_picture(_image(self, "svg"), _image(self, "png")) if self.follows else None

    return Picture


def new_axes(ax: Axes | None, style: Style, height: float) -> Axes:
    """Return the axes to draw in: those given, or those of a new figure of ``height`` inches, in the colours of
    ``style``.
    """
    return new_panels(style, height, [1])[0] if ax is None else ax


def new_panels(style: Style, height: float, shares: Sequence[float], shared: bool = True) -> list[Axes]:
    """Return the axes of a new figure of ``height`` inches, one above the other, with a common x axis if ``shared``.

    ``shares``: the heights of the axes, relative to each other.
    """
    figure = _figure_class()(figsize=(WIDTH, height), dpi=DPI, facecolor=style.background, layout="constrained")
    figure.follows = style.follows  # type: ignore[attr-defined]
    panels = figure.subplots(len(shares), sharex=shared, squeeze=False, height_ratios=shares)[:, 0]
    return [_styled(panel, style) for panel in panels]


def _styled(own: Axes, style: Style) -> Axes:
    own.set_facecolor(style.background)
    own.tick_params(colors=style.text, labelsize=8)
    for axis in (own.xaxis, own.yaxis):
        axis.get_offset_text().set(color=style.text, fontsize=8)
    own.xaxis.label.set(color=style.text, fontsize=9)
    own.yaxis.label.set(color=style.text, fontsize=9)
    for side, spine in own.spines.items():
        spine.set_color(style.faint)
        spine.set_visible(side in ("left", "bottom"))
    return own


@contextmanager
def drawing() -> Iterator[None]:
    """A context manager that sets halfulp's settings of matplotlib for its block, whatever style is active."""
    _figure_class()
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes belong to."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def wrapped(text: str, width: int) -> str:
    """Break text into lines of at most ``width`` characters, and keep its own line ends."""
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in text.splitlines())


def set_title(ax: Axes, style: Style, text: str, own: bool) -> None:
    """Put a title above the whole figure if it is halfulp's ``own``, or above the axes that the user gave."""
    lines = wrapped(text, 73)
    if not own:
        ax.set_title(lines, loc="left", fontsize=9)
        return
    figure = figure_of(ax)
    figure.set_figheight(figure.get_figheight() + 0.15 * (lines.count("\n") + 1))
    figure.suptitle(lines, x=0.01, ha="left", fontsize=9, color=style.text)


def set_legend(ax: Axes, style: Style, columns: int, own: bool) -> None:
    """Put a legend below the figure if it is halfulp's ``own``, or inside the axes that the user gave."""
    if not own:
        ax.legend(fontsize=8, handlelength=4)
        return
    # Each long name has a line of its own.
    columns = columns if all(len(str(name)) <= 36 for name in ax.get_legend_handles_labels()[1]) else 1
    look: dict[str, Any] = {"fontsize": 8, "frameon": False, "labelcolor": style.text, "handlelength": 4}
    figure_of(ax).legend(loc="outside lower left", ncols=columns, **look)


# --- notebooks --------------------------------------------------------------------------------------------------------

_SPARE = re.compile(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*|(?<=>)\s+(?=<)|(?<=\d\d\.\d\d)\d+", re.DOTALL)
"""Parts of an SVG that a page does not need: the name of its program, comments, spaces between tags, and digits beyond
a hundredth of a point.
"""
_COLOUR = re.compile(r"(?<=: )#[0-9a-f]{6}(?=[;\"])")
_ID = re.compile(r'(?<=\bid=")|(?<=href="#)|(?<=url\(#)')


def _colours(style: Style) -> list[str]:
    return [style.background, style.text, style.faint, style.band, *style.series]


def themed_picture(svg: bytes, png: bytes) -> str:
    """Return HTML that shows a picture. On a dark page, its light colors are replaced by dark ones. If a page removes
    the SVG, the PNG is shown.

    The colours of the SVG become variables of CSS, which the theme of the page sets. Names within the SVG get a prefix
    of its own, so that pictures on one page do not share them.
    """
    names = {light.lower(): f"hfp{k}" for k, light in reversed(list(enumerate(_colours(LIGHT))))}
    light, dark = (
        {name: colours[int(name.removeprefix("hfp"))] for name in names.values()}
        for colours in (_colours(LIGHT), _colours(DARK))
    )
    drawing = svg.decode("utf-8").partition("<svg")
    body = _SPARE.sub("", drawing[2])
    body = _COLOUR.sub(lambda found: f"var(--{names[found[0]]},{found[0]})" if found[0] in names else found[0], body)
    prefix = f"p{hashlib.sha256(svg).hexdigest()[:12]}-"
    style = themed(".hfpicture", light, dark)
    fallback = f'<img alt="" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">'
    return (
        f'<div class="hfpicture"><style>{style}.hfpicture svg{{max-width:100%;height:auto}}'
        f".hfpicture img{{display:none}}</style><svg{_ID.sub(prefix, body)}{fallback}</div>"
    )


# --- files ------------------------------------------------------------------------------------------------------------


def _image(figure: Figure, ending: str) -> bytes:
    stream = io.BytesIO()
    # Without a date, the same picture has the same bytes.
    metadata = {"Date": None} if ending == "svg" else None
    with drawing():
        figure.savefig(stream, format=ending, facecolor=figure.get_facecolor(), metadata=metadata)
    return stream.getvalue()


def ending_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture, svg or png, from the extension of its file's name. Raise InputError for any other
    extension.
    """
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].removeprefix(".").lower()
    if ending not in ENDINGS:
        raise InputError(f"cannot tell the format of {name!r}: a picture's name ends in .svg or .png")
    return ending


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to ``path``, .svg or .png. The same figure gives the same bytes. If writing fails, no file is
    written.

    Raises InputError for another extension, and if the file cannot be written.
    """
    write_file(path, _image(figure, ending_of(path)))
