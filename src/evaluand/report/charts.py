"""The charts of a bench report: the ladder, an auditor's flag rates and its ROC."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from evaluand.report.number import tau_label
from evaluand.report.svg import (
    CLEAN,
    GRID,
    INK,
    MUTED,
    PAPER,
    REPEAT,
    TAMPERED,
    draw,
)
from evaluand.report.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One evaluator on the ladder.

    Args:
        name: The evaluator.
        state: ``fit``, ``unfit`` or ``inconclusive``.
        marks: The series that have a value: clean, repeat, tampered, each to a cell
            with ``accept`` (0..1) and ``ci95``.
    """

    name: str
    state: str
    marks: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Series:
    label: str
    colour: str
    shape: str
    shift: float


# Told apart by shape and place as well as by colour.
_SERIES: Mapping[str, _Series] = {
    "clean": _Series("clean", CLEAN, "o", -0.2),
    "repeat": _Series("clean, asked afresh (A/A)", REPEAT, "s", 0.0),
    "tampered": _Series("mean of the tampers", TAMPERED, "D", 0.2),
}


def ladder(rungs: Sequence[Rung], *, tau: float | None, upright: bool) -> str:
    """Return the ladder: acceptance by evaluator, weakest first.

    Args:
        rungs: The evaluators in ladder order.
        tau: The threshold drawn as a line, 0..1, or None for no line.
        upright: Whether evaluators stand along x (a wide page); else they are listed
            downwards (a phone).

    Returns:
        SVG. A mark is hollow for an evaluator not shown to be fit, which its label
        says as well; an undefined rate has no mark.
    """

    def plot(axes: Axes) -> None:
        _rate_axis(axes, upright=upright)
        if tau is not None:
            line = axes.axhline if upright else axes.axvline
            line(100 * tau, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            _tau_label(axes, tau, len(rungs), upright=upright)
        for place, rung in enumerate(rungs):
            for name, cell in rung.marks.items():
                _mark(axes, place, rung, _SERIES[name], cell, upright=upright)
        _names(axes, rungs, upright=upright)
        _legend(axes, upright=upright)

    size = (860, 380) if upright else (340, 120 + 62 * len(rungs))
    return draw(
        plot,
        size=size,
        name=f"ladder-{'wide' if upright else 'tall'}",
        label="Acceptance by evaluator, weakest first: clean, asked afresh, and the "
        "mean of the tampers, with 95% intervals. The table below holds the numbers.",
    )


def _rate_axis(axes: Axes, *, upright: bool) -> None:
    axis = axes.yaxis if upright else axes.xaxis
    (axes.set_ylim if upright else axes.set_xlim)(-3, 103)
    axis.set_ticks([0, 25, 50, 75, 100])
    axis.set_major_formatter(PercentFormatter())
    axis.grid(visible=True)
    axis.set_label_text("accepted")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _tau_label(axes: Axes, tau: float, count: int, *, upright: bool) -> None:
    text = f"τ {tau_label(str(tau))}"
    if upright:
        axes.text(count - 0.42, 100 * tau, text, color=MUTED, va="center")
    else:
        axes.text(100 * tau, -0.55, text, color=MUTED, ha="center", va="bottom")


def _mark(
    axes: Axes,
    place: int,
    rung: Rung,
    series: _Series,
    cell: Mapping[str, Any],
    *,
    upright: bool,
) -> None:
    at, value = place + series.shift, 100 * cell["accept"]
    if cell["ci95"] is not None:
        low, high = (100 * bound for bound in cell["ci95"])
        between = ([at, at], [low, high]) if upright else ([low, high], [at, at])
        axes.plot(*between, color=series.colour, linewidth=2, solid_capstyle="butt")
    hollow = rung.state != "fit"
    axes.plot(
        *((at, value) if upright else (value, at)),
        marker=series.shape,
        markersize=8 if series.shape != "D" else 7.2,
        color=PAPER if hollow else series.colour,
        markeredgecolor=series.colour,
        markeredgewidth=1.6,
        clip_on=False,
        zorder=4,
    )


def _names(axes: Axes, rungs: Sequence[Rung], *, upright: bool) -> None:
    places = range(len(rungs))
    texts = [_label(rung, width=13 if upright else 15) for rung in rungs]
    if upright:
        axes.set_xticks(places, texts, color=INK, fontsize=10.5)
        axes.set_xlim(-0.5, len(rungs) - 0.5)
    else:
        axes.set_yticks(places, texts, color=INK, fontsize=10.5)
        axes.set_ylim(len(rungs) - 0.5, -0.5)
        axes.hlines([p + 0.5 for p in places[:-1]], -3, 103, color=GRID, linewidth=0.7)


def _label(rung: Rung, *, width: int) -> str:
    lines = _wrapped(visible(rung.name), width)
    return "\n".join([*lines, *([f"({rung.state})"] if rung.state != "fit" else [])])


def _wrapped(name: str, width: int, most: int = 4) -> list[str]:
    """Break a name after its separators, and where it has none.

    >>> _wrapped("judge:local:qwen2.5-coder-1.5b", 13)
    ['judge:local:', 'qwen2.5-', 'coder-1.5b']
    """
    lines = [""]
    for part in re.findall(r"[^-:/_ ]*[-:/_ ]?", name):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
        while len(lines[-1]) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return lines if len(lines) <= most else [*lines[: most - 1], "…"]


def _legend(axes: Axes, *, upright: bool) -> None:
    handles = [
        axes.plot([], [], marker=s.shape, color=s.colour, linewidth=2, label=s.label)[0]
        for s in _SERIES.values()
    ]
    axes.figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=3 if upright else 1,
        frameon=False,
        handlelength=1.6,
        fontsize=11,
    )


def flag_rates(
    thresholds: Sequence[float],
    rates: Mapping[str, Sequence[float | None]],
    *,
    name: str,
    title: str,
) -> str:
    """Return the share of outputs flagged as the suspicion threshold rises.

    Args:
        thresholds: Suspicion scores, 0..100, rising.
        rates: Series (clean, repeat, tampered) to one rate per threshold, 0..1; an
            undefined one leaves a gap.
        name: Unique in the page.
        title: The tamper's name.
    """

    def plot(axes: Axes) -> None:
        for series, values in rates.items():
            style = _SERIES[series]
            heights = [float("nan") if v is None else 100 * v for v in values]
            dash = (0, (1, 1.2)) if series == "repeat" else "solid"
            axes.plot(
                thresholds, heights, color=style.colour, linewidth=2, linestyle=dash
            )
        _square(axes, title, "suspicion threshold", "flagged")

    label = f"Share flagged over the threshold: clean, A/A and {title}"
    return draw(plot, size=(230, 215), name=name, label=label)


def roc(curve: Mapping[str, Any], *, name: str, title: str) -> str:
    """Return one receiver operating characteristic, the diagonal beside it.

    Args:
        curve: ``fpr`` and ``tpr``, 0..1, of equal length; empty where undefined.
        name: Unique in the page.
        title: The tamper's name and its AUC.
    """

    def plot(axes: Axes) -> None:
        axes.plot([0, 100], [0, 100], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        across, up = ([100 * v for v in curve[key]] for key in ("fpr", "tpr"))
        axes.plot(across, up, color=TAMPERED, linewidth=2)
        _square(axes, title, "clean flagged", "tampered flagged")

    return draw(plot, size=(230, 215), name=name, label=f"ROC: {title}")


def _square(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set(xlim=(-2, 102), ylim=(-2, 102), xlabel=across, ylabel=up)
    axes.set_title(visible(title), loc="left", fontsize=11, fontweight="bold")
    axes.set_xticks([0, 50, 100])
    axes.set_yticks([0, 50, 100])
    axes.yaxis.set_major_formatter(PercentFormatter())
    axes.grid(visible=True)
