"""Matplotlib figures as inline SVG: the page's own colours and type, equal bytes.

Colours are drawn as sentinels and then replaced by CSS variables of the page, so one
drawing serves light, dark and print.
"""

import io
import re
import warnings
from collections.abc import Callable, Mapping

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, MUTED, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
CLEAN, REPEAT, TAMPERED = "#050505", "#060606", "#070707"
_VARIABLES: Mapping[str, str] = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--line",
    PAPER: "--paper",
    CLEAN: "--clean",
    REPEAT: "--repeat",
    TAMPERED: "--tampered",
}
_SETTINGS = {
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "font.size": 11,
    "svg.image_inline": True,
}
_STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
_FONT = re.compile(r"font-family: [^;\"]*(?:; )?")
_COLOUR = re.compile("|".join(_VARIABLES))
_OUTER = re.compile(r"<svg [^>]*viewBox=\"([^\"]+)\"[^>]*>")
_GROUP_ID = re.compile(r"<g id=\"[^\"]*\"")


def draw(
    plot: Callable[[Axes], None], *, size: tuple[float, float], name: str, label: str
) -> str:
    """Return one chart as an ``<svg>`` element to stand in an HTML page.

    Args:
        plot: What draws on the axes it is given.
        size: Width and height in CSS pixels.
        name: Unique in the page; the chart's inner identifiers derive from it.
        label: What the chart shows, for who can't see it; plain text.

    Returns:
        The same bytes for the same drawing. No style sheet, no name space URL, no
        font: text takes the page's.
    """
    settings = _SETTINGS | {"svg.hashsalt": name}
    with mpl.style.context(["default", settings]), warnings.catch_warnings():
        # A glyph that matplotlib's measuring font lacks is drawn by the browser's.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(size[0] / 72, size[1] / 72), layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        axes = figure.subplots()
        axes.patch.set_visible(False)
        axes.tick_params(length=0)
        plot(axes)
        buffer = io.StringIO()
        empty = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=empty)
    return _for_page(buffer.getvalue(), label)


def _for_page(document: str, label: str) -> str:
    body = document[document.index("<svg ") :]
    body = _GROUP_ID.sub("<g", _FONT.sub("", _STYLE.sub("", body)))
    body = _COLOUR.sub(lambda found: f"var({_VARIABLES[found[0]]})", body)
    # Without a size of its own it fills its column and keeps its shape.
    head = rf'<svg viewBox="\1" role="img" aria-label="{_attribute(label)}">'
    return _OUTER.sub(lambda found: found.expand(head), body, count=1).strip()


def _attribute(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return escaped.replace("\\", "\\\\")
