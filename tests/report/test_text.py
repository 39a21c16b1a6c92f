"""The ladder for a terminal."""

from typing import Any

import pytest

from evaluand.report.number import DASH
from evaluand.report.text import ladder_text

Summary = dict[str, Any]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(summary: Summary, width: int) -> None:
    """Each line fits the width, and every evaluator appears."""
    text = ladder_text(summary, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "canary" in text
    assert "judge-1.5b" in text


def test_eight_evaluators_fit_eighty_columns(summary: Summary) -> None:
    """The usual ladder is one table, unfit marked, the identity row last."""
    lines = ladder_text(summary).splitlines()
    heads = [line for line in lines if line.startswith("accepted, %")]
    assert len(heads) == 1
    assert heads[0].endswith(" judge1! judge2 auditor! identity")
    assert "judge1! = judge-0.5b, unfit" in lines
    assert lines[1].endswith("check caught 6 of 6 with no sample.")
    assert lines[2].startswith("120 samples per condition")


def test_marks_that_do_not_occur_are_not_explained(summary: Summary) -> None:
    """The legend holds what the tables hold."""
    for each in summary["blind_at"]["0.8"].values():
        each["clean_falls_short"] = False
    assert "x clean itself" not in ladder_text(summary)
    summary["blind_at"]["0.8"]["standard"]["clean_falls_short"] = True
    assert "x clean itself" in ladder_text(summary)


def test_undefined_is_a_dash(summary: Summary) -> None:
    """A cell, a score and a count without a value print a dash."""
    summary["blind_at"]["0.8"]["standard"]["count"] = None
    del summary["mutation"]["standard"]
    lines = ladder_text(summary).splitlines()
    for start in ("tools", "blind@.80", "mutation score"):
        assert DASH in next(line for line in lines if line.startswith(start))


def test_a_scripted_run_says_so_first(summary: Summary) -> None:
    """The label stands above every figure."""
    assert "scripted" not in ladder_text(summary)
    summary["scripted"] = True
    assert ladder_text(summary).splitlines()[0] == "scripted, no model"


def test_a_run_without_thresholds_has_no_blind_row(summary: Summary) -> None:
    """No threshold, no blindness; and no legend for evaluators left out when none is."""
    summary["blind_at"] = {}
    for each in summary["evaluators"]:
        each["fitness"] = None
    text = ladder_text(summary)
    assert "blind@" not in text
    assert "left out of claims" not in text


def test_a_name_cannot_drive_the_terminal(summary: Summary) -> None:
    """Escape sequences in a name are shown, not sent."""
    for each in summary["evaluators"]:
        if each["name"] == "standard":
            each["name"] = "st\x1b[31m"
    text = ladder_text(summary)
    assert "\x1b" not in text
    assert "U+001B" in text


def test_without_evaluators_there_is_no_table(summary: Summary) -> None:
    """An empty ladder prints its answer alone."""
    summary["evaluators"] = []
    assert "accepted, %" not in ladder_text(summary)


def test_a_long_condition_is_shortened(summary: Summary) -> None:
    """A label wider than its column ends in an ellipsis."""
    summary["conditions"]["a-very-long-condition"] = summary["conditions"]["model"]
    assert "a-very-long-c…" in ladder_text(summary)
