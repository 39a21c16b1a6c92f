"""How many tasks fit a time, from the first ten."""

from evaluand.bench.size import CALIBRATION_TASKS, RESERVE_S, fitting, paid_s


def test_the_rest_of_the_time_is_filled() -> None:
    """Ten tasks in 50 s leave 5 s a task: 100 s more are 20 tasks more."""
    assert fitting(50.0, left_s=100.0 + RESERVE_S) == CALIBRATION_TASKS + 20
    assert fitting(50.0, left_s=104.9 + RESERVE_S) == CALIBRATION_TASKS + 20


def test_the_first_tasks_are_kept_and_120_are_all() -> None:
    """A time that is over keeps the ten tasks that are done; the suite ends at 120."""
    assert fitting(500.0, left_s=-3.0) == CALIBRATION_TASKS
    assert fitting(0.1, left_s=1e6) == 120


def test_replies_in_flight_together_are_counted_once() -> None:
    """Eight replies of 2 s, eight at a time, took 2 s; a lone local one its own time."""
    rows = [{"model": "many", "latency_s": 2.0}] * 8
    rows += [{"model": "one", "latency_s": 3.0}]
    assert paid_s(rows, {"many": 8, "one": 1}) == 5.0
