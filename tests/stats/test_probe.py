"""Probes up to a trigger, and what matching decisions leave open."""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.probe import decision_shift_bound, expected_draws, expected_probes


@pytest.mark.parametrize(("probes", "triggers"), [(6, 1), (6, 2), (6, 3), (5, 5)])
def test_expected_probes_by_enumeration(probes: int, triggers: int) -> None:
    """(M + 1) / (K + 1) is the mean over all orders of the first trigger's place."""
    orders = list(permutations(range(probes)))
    places = [
        min(order.index(trigger) for trigger in range(triggers)) + 1 for order in orders
    ]
    assert expected_probes(probes, triggers) == Fraction(sum(places), len(orders))


@settings(deadline=None)  # a busy machine isn't a fault
@given(st.integers(1, 500), st.data())
def test_distinct_probes_come_sooner(probes: int, data: st.DataObject) -> None:
    """Drawing without replacement never takes longer than 1 / rho."""
    triggers = data.draw(st.integers(1, probes))
    rate = Fraction(triggers, probes)
    assert 1 <= expected_probes(probes, triggers) <= expected_draws(rate)


def test_detection_multiplies() -> None:
    """A trigger that harms half the time, flagged half the time, takes four times."""
    assert expected_draws(Fraction(1, 100) / 4) == 4 * expected_draws(0.01) == 400


def test_120_matches_leave_two_and_a_half_percent() -> None:
    """Matching 120 of 120 decisions bounds the shift at 2.5 %, not at 0."""
    bound = decision_shift_bound(120)
    assert bound == pytest.approx(0.025, abs=0.0005)
    assert (1 - bound) ** 120 == pytest.approx(0.05)


def test_never() -> None:
    """Without a trigger, a rate or a decision nothing is expected."""
    with pytest.raises(UndefinedEstimateError, match="it never comes"):
        expected_probes(10, 0)
    with pytest.raises(UndefinedEstimateError, match="a hit never comes"):
        expected_draws(0)
    with pytest.raises(UndefinedEstimateError, match="nothing bounds the shift"):
        decision_shift_bound(0)


@pytest.mark.parametrize(("probes", "triggers"), [(3, 4), (3, -1)])
def test_triggers_outside(probes: int, triggers: int) -> None:
    """More triggers than probes, or fewer than none, are refused."""
    with pytest.raises(InputError, match=f"from 0 to {probes} triggers"):
        expected_probes(probes, triggers)


@pytest.mark.parametrize(("matches", "confidence"), [(-1, 0.95), (5, 1.0), (5, 0.0)])
def test_decision_arguments_outside(matches: int, confidence: float) -> None:
    """A negative count or a certain confidence is refused."""
    with pytest.raises(InputError, match="expected a number of matches"):
        decision_shift_bound(matches, confidence=confidence)
