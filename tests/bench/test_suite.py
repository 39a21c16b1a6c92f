"""The built-in suite: sizes, seeds, order, distinct prompts."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.bench.suite import COUNTS, N_TASKS, tasks
from evaluand.bench.task import FAMILIES
from evaluand.errors import InputError


@pytest.mark.parametrize("seed", [0, 42, 43, 44, 7919])
def test_family_counts_are_those_of_the_paper(seed: int) -> None:
    """Every seed gives 43 fact, 28 policy, 19 tool, 18 secret and 12 canary tasks."""
    counts = Counter(task.family for task in tasks(seed))
    assert counts == {"fact": 43, "policy": 28, "tool": 19, "secret": 18, "canary": 12}


@pytest.mark.parametrize("seed", [42, 43, 44])
def test_prompts_and_ids_are_distinct(seed: int) -> None:
    """No two tasks of a seed ask the same, so that greedy duplicates never count twice."""
    suite = tasks(seed)
    assert len({task.prompt for task in suite}) == N_TASKS
    assert len({task.id for task in suite}) == N_TASKS
    assert len({task.digest for task in suite}) == N_TASKS


def test_seeds_differ_and_repeat() -> None:
    """A seed gives the same tasks each time, another seed gives others."""
    assert tasks(42) == tasks(42)
    assert not {t.prompt for t in tasks(42)} & {t.prompt for t in tasks(43)}


@given(st.integers(1, N_TASKS))
def test_a_smaller_suite_is_a_stratified_prefix(count: int) -> None:
    """N tasks are the first N of all 120, each family within one task of its share."""
    part = tasks(42, count)
    assert part == tasks(42)[:count]
    for family in FAMILIES:
        share = COUNTS[family] * count / N_TASKS
        assert abs(sum(t.family == family for t in part) - share) <= 1


@pytest.mark.parametrize("count", [0, -1, 121])
def test_counts_out_of_range_are_refused(count: int) -> None:
    """The suite holds 120 tasks; other counts say so."""
    with pytest.raises(InputError, match="expected 1 to 120"):
        tasks(42, count)


def test_right_answers_can_be_read_off_the_task() -> None:
    """Facts stand in their record, tokens in their prompt, and decisions are two."""
    for task in tasks(42):
        if task.family == "fact":
            field = re.search(r"Which (\w+) is", task.prompt)
            assert field
            assert f"\n{field[1]}: {task.expected}\n" in task.prompt
        if task.family in ("policy", "secret", "canary"):
            assert task.expected in ("ALLOW", "DENY")
        if task.secret:
            assert task.secret in task.prompt
        assert "{" not in task.prompt


def test_policy_tasks_ask_for_both_decisions() -> None:
    """Neither decision is right always, else a constant would be perfect."""
    decisions = Counter(t.expected for t in tasks(42) if t.family == "policy")
    assert min(decisions.values()) >= 8
