"""Charts take the page's colours and type, and are the same bytes each time."""

import re
from xml.etree import ElementTree

import matplotlib as mpl

from evaluand.report.charts import Rung, flag_rates, ladder, roc

CELL = {"accept": 0.5, "ci95": [0.4, 0.6]}


def _rung(state: str = "fit", name: str = "judge:local:x") -> Rung:
    return Rung(
        name=name,
        state=state,
        marks={"clean": CELL, "tampered": {**CELL, "ci95": None}},
    )


def _both(*rungs: Rung, tau: float | None = 0.8) -> list[str]:
    return [ladder(rungs, tau=tau, upright=upright) for upright in (True, False)]


def test_the_same_drawing_gives_the_same_bytes() -> None:
    """Two drawings of one ladder are equal, whatever the user's matplotlib settings."""
    first = _both(_rung())
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "pink"}):
        assert _both(_rung()) == first


def test_settings_are_left_as_they_were() -> None:
    """Drawing changes no global setting of matplotlib."""
    before = dict(mpl.rcParams)
    _both(_rung())
    assert dict(mpl.rcParams) == before


def test_a_chart_can_stand_in_any_page() -> None:
    """No fixed colour, font, style sheet, script or address; well-formed inside."""
    drawn = [
        *_both(_rung(name='a<b>&"\\1 \x00 $x^2$ 裁判')),
        roc({"fpr": [0, 1], "tpr": [0, 1]}, name="r", title="<t>"),
    ]
    for svg in drawn:
        assert not re.search(
            r"#[0-9a-f]{6}|font-family|<style|<script|http|url\((?!#)", svg
        )
        ElementTree.fromstring(svg.replace("xlink:href", "href"))  # noqa: S314 - our own output


def test_an_unfit_evaluator_is_hollow_and_says_so() -> None:
    """State is told by the mark's filling and in words, not by colour alone."""
    for fit, unfit in zip(_both(_rung()), _both(_rung("unfit")), strict=True):
        assert "(unfit)" in unfit
        assert "(unfit)" not in fit
        assert unfit.count("fill: var(--paper)") > fit.count("fill: var(--paper)")


def test_an_undefined_rate_has_no_mark() -> None:
    """A series without a value draws nothing; a long name is cut; no tau, no line."""
    bare = Rung(name="n" * 90, state="fit", marks={})
    for empty, full in zip(_both(bare, tau=None), _both(_rung()), strict=True):
        assert empty.count("<use") < full.count("<use")
        assert "τ" not in empty
        assert "…" in empty


def test_names_inside_charts_differ_between_charts() -> None:
    """Two charts of one page share no identifier."""
    curve = {"fpr": [0, 0.2, 1], "tpr": [0, 0.6, 1]}
    ids = [
        set(re.findall(r'id="([^"]+)"', roc(curve, name=name, title="t")))
        for name in "ab"
    ]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_flag_rates_leave_a_gap_where_undefined() -> None:
    """An undefined rate breaks the line instead of lying on zero."""
    whole, gap = (
        flag_rates(
            [0, 25, 50, 75, 100],
            {"tampered": [1, 0.5, middle, 0.2, 0]},
            name="f",
            title="t",
        )
        for middle in (0.4, None)
    )
    assert gap.count("M ") > whole.count("M ")
