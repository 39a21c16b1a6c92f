"""How long a run has left, by a clock that the test holds."""

from dataclasses import dataclass

import pytest

from evaluand.bench.forecast import Forecast


@dataclass
class Clock:
    """Seconds that pass when they are told to."""

    now: float = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock that stands still."""
    return Clock()


def after(forecast: Forecast, clock: Clock, *seconds: float) -> float | None:
    """Let one unit take each of these seconds; return what is left after the last."""
    left = None
    for each in seconds:
        clock.now += each
        left = forecast.advance()
    return left


def test_nothing_is_foretold_before_a_unit_is_done(clock: Clock) -> None:
    """Without a unit there is no rate, so no number."""
    forecast = Forecast(clock=clock)
    forecast.begin("a", 10)
    clock.now += 5
    assert forecast.left_s() is None
    assert forecast.elapsed_s == 5


def test_a_phase_goes_on_at_its_own_rate(clock: Clock) -> None:
    """Two of five units in 6 seconds leave three of 3 seconds."""
    forecast = Forecast(clock=clock)
    forecast.begin("a", 5)
    assert after(forecast, clock, 2, 4) == pytest.approx(9)


def test_a_phase_to_come_goes_at_the_mean_until_it_has_a_rate(clock: Clock) -> None:
    """Planned units count at the mean of all so far, then at their own pace."""
    forecast = Forecast(clock=clock)
    forecast.plan("b", 4)
    forecast.begin("a", 2)
    assert after(forecast, clock, 3) == pytest.approx(3 + 4 * 3)
    assert after(forecast, clock, 1) == pytest.approx(4 * 2)
    forecast.begin("b", 4)
    assert after(forecast, clock, 10) == pytest.approx(30)


def test_time_between_phases_is_charged_to_neither(clock: Clock) -> None:
    """What passes before a phase begins doesn't slow its units down."""
    forecast = Forecast(clock=clock)
    forecast.begin("a", 1)
    after(forecast, clock, 1)
    clock.now += 50
    forecast.begin("b", 3)
    assert after(forecast, clock, 2) == pytest.approx(4)


def test_a_skipped_phase_takes_no_time(clock: Clock) -> None:
    """A phase that has nothing to do is no longer counted; skipping it twice is the same."""
    forecast = Forecast(clock=clock)
    forecast.plan("b", 100)
    forecast.begin("a", 2)
    forecast.skip("b")
    forecast.skip("b")
    assert after(forecast, clock, 1) == pytest.approx(1)


def test_what_is_known_at_its_start_replaces_what_was_planned(clock: Clock) -> None:
    """A phase that begins with fewer units than planned leaves fewer."""
    forecast = Forecast(clock=clock)
    forecast.plan("a", 100)
    forecast.begin("a", 3)
    assert after(forecast, clock, 1) == pytest.approx(2)


def test_more_units_than_foreseen_leave_nothing_not_less(clock: Clock) -> None:
    """Seconds left are never negative."""
    forecast = Forecast(clock=clock)
    forecast.begin("a", 1)
    assert after(forecast, clock, 1, 1) == 0


def test_a_deadline_is_what_is_left(clock: Clock) -> None:
    """With a deadline the seconds to it count, before any unit and down to 0."""
    forecast = Forecast(deadline_s=60, clock=clock)
    assert forecast.left_s() == 60
    forecast.begin("a", 5)
    assert after(forecast, clock, 45) == 15
    assert after(forecast, clock, 45) == 0
