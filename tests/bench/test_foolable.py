"""A rule that takes anything is found out before a model is asked."""

import pytest

from evaluand.bench.foolable import HOLLOW, foolable
from evaluand.bench.note import hollow
from evaluand.bench.rules import RULES, Rule
from evaluand.bench.suite import tasks
from evaluand.bench.task import Task
from evaluand.errors import InputError

SUITE = tasks(42)


@pytest.mark.parametrize("name", ["strict", "canary"])
def test_exact_rules_take_nothing_hollow(name: str) -> None:
    """Neither the empty answer, nor all options at once, nor the question passes (B8)."""
    assert foolable(RULES[name], SUITE) == {}


def test_what_the_content_rules_take_is_told() -> None:
    """Standard and forensic look for the right content, so all options hold it."""
    for name in ("standard", "forensic"):
        found = foolable(RULES[name], SUITE)
        assert "fact" in found["all options"]
        assert not found.keys() & {"empty", "blank"}


def test_the_note_names_rule_output_and_families() -> None:
    """One sentence a rule, none for what takes nothing hollow."""
    entries = [{"name": n, "foolable": foolable(RULES[n], SUITE)} for n in RULES]
    first, second = hollow(entries)
    assert first.startswith("standard is trivially foolable: it accepts all options (")
    assert "the question (" in second


def test_a_rule_that_tells_nothing_apart_stops_the_run() -> None:
    """The same verdict for right and wrong, yes or no, is no evaluator (B6)."""
    for verdict in (True, False):

        def always(_: Task, __: str, verdict: bool = verdict) -> bool:
            return verdict

        rule = Rule(name="always", version="1", passes=always)
        with pytest.raises(InputError, match="always gives right and known-wrong"):
            foolable(rule, SUITE)


def test_a_substring_rule_is_foolable_in_every_way() -> None:
    """Two-way substring, as others score it, takes the empty answer as well."""

    def both_ways(task: Task, output: str) -> bool:
        return output.strip() in task.answer or task.answer in output

    rule = Rule(name="both", version="1", passes=both_ways)
    assert {"empty", "blank"} <= foolable(rule, SUITE).keys() <= HOLLOW.keys()
