"""Rounding never turns a miss into a hit."""

import re

from hypothesis import given
from hypothesis import strategies as st

from evaluand.report import number


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_only_all_is_printed_as_all_and_only_none_as_none(value: float) -> None:
    """A rate strictly between 0 and 1 is never printed as 0.0% or 100.0%."""
    assert number.percent(value) not in {"0.0%", "100.0%"}


def test_the_ends_are_printed_as_they_are() -> None:
    """None and all print without a sign of inequality."""
    assert [number.percent(v) for v in (0.0, 1.0)] == ["0.0%", "100.0%"]


@given(st.floats(-1, 1))
def test_points_carry_a_true_sign(value: float) -> None:
    """A difference has a sign unless it rounds to zero."""
    assert re.fullmatch(r"[+\u2212]\d+\.\d|0\.0", number.points(value))


def test_undefined_is_a_dash_everywhere() -> None:
    """No formatter makes a number of None."""
    every = (
        number.percent,
        number.percent_range,
        number.points,
        number.points_range,
        number.decimal,
        number.decimal_range,
    )
    assert {each(None) for each in every} == {number.DASH}
