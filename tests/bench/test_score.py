"""Stored outputs are scored by the same evaluators, and nothing is guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluand.bench import score
from evaluand.bench.script import SCRIPTS, perfect
from evaluand.bench.suite import tasks
from evaluand.bench.task import Task
from evaluand.chat.client import Model
from evaluand.chat.message import Request
from evaluand.chat.scripted import Scripted
from evaluand.errors import InputError, ModelError, RequestRefusedError


def written(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    return path


def outputs(count: int = 3) -> list[tuple[Task, str]]:
    return [(task, task.answer) for task in tasks(42, count)]


@pytest.mark.parametrize(("suite", "seed"), [("dib", 42), ("dib:42", 42), ("dib:7", 7)])
def test_outputs_are_read_with_their_tasks(
    tmp_path: Path, suite: str, seed: int
) -> None:
    """Each line finds its task under the suite's seed; blank lines and extra keys pass."""
    task = tasks(seed)[5]
    text = json.dumps({"task": task.id, "output": "a\u2028b", "note": 1})
    path = tmp_path / "o.jsonl"
    path.write_text(f"\n{text.replace(chr(92) + 'u2028', chr(0x2028))}\r\n\n")
    assert score.read_outputs(suite, path) == [(task, "a\u2028b")]


@pytest.mark.parametrize(
    "suite", ["", "dob", "dib:", "dib:x", "dib:-1", "dib:²", "dib:4 2"]
)
def test_another_suite_is_named(tmp_path: Path, suite: str) -> None:
    """A suite is dib, or dib and a whole number."""
    path = written(tmp_path / "o", {"task": "fact-01", "output": ""})
    with pytest.raises(InputError, match="SUITE: expected dib or dib:SEED, got"):
        score.read_outputs(suite, path)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "holds no output"),
        ([[]], r"line 1: expected .* got \[\]"),
        ([{"task": "fact-01"}], "line 1: expected"),
        ([{"task": 1, "output": ""}], "line 1: expected"),
        ([{"task": "fact-01", "output": None}], "line 1: expected"),
        ([{"task": "fact-0", "output": ""}], "line 1: dib has no task 'fact-0'"),
        ([{"task": "fact-01", "output": "a"}] * 2, "line 2: a second output"),
    ],
)
def test_lines_that_can_not_be_scored_are_named(
    tmp_path: Path, rows: list[Any], told: str
) -> None:
    """The line's number and what was expected are told."""
    with pytest.raises(InputError, match=told):
        score.read_outputs("dib", written(tmp_path / "o", *rows))


def test_rules_assess_every_output() -> None:
    """One row an output and rule; a rule without an opinion says so."""
    rows = score.score_outputs(outputs(), ["strict", "canary"], [], []).rows
    assert [row["evaluator"] for row in rows] == ["strict", "canary"] * 3
    assert {row["outcome"] for row in rows if row["evaluator"] == "strict"} == {"pass"}
    fact = next(r for r in rows if r["family"] == "fact" and r["evaluator"] == "canary")
    assert (fact["outcome"], fact["reason"]) == ("unassessed", "not_applicable")


def test_judges_and_auditors_are_asked() -> None:
    """The label and the number that were read stand beside the outcome."""
    rows = score.score_outputs(outputs(2), [], ["scripted"], ["scripted"]).rows
    assert [(r["evaluator"], r["outcome"], r["value"]) for r in rows] == [
        ("judge:scripted", "pass", "CORRECT"),
        ("judge:scripted", "pass", "CORRECT"),
        ("auditor:scripted", "pass", 0.0),
        ("auditor:scripted", "pass", 0.0),
    ]


def test_an_unknown_rule_is_named_before_any_model_is_asked() -> None:
    """The names that exist are listed."""
    with pytest.raises(InputError, match=r"names of standard, .* got 'vibes'"):
        score.score_outputs(outputs(), ["strict", "vibes"], ["local:none"], [])


def scripted(
    monkeypatch: pytest.MonkeyPatch, error: ModelError, *, after: int
) -> list[str]:
    """Let the scripted judge fail after some replies; return the list it closes into."""
    asked: list[Request] = []
    closed: list[str] = []

    def respond(request: Request) -> str:
        asked.append(request)
        if len(asked) > after:
            raise error
        return perfect(request)

    class Closing(Scripted):
        async def close(self) -> None:
            """Say that it was closed."""
            closed.append(self.name)

    def opened(name: str) -> Model:
        return Closing(name, respond, {"kind": "scripted"})

    monkeypatch.setattr(score, "open_judge", opened)
    return closed


def test_a_missing_reply_is_unassessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that may come later leaves its row without a verdict, never a fail."""
    closed = scripted(monkeypatch, ModelError("later", retryable=True), after=1)
    scored = score.score_outputs(outputs(2), [], ["scripted"], [])
    assert [(r["outcome"], r["reason"]) for r in scored.rows] == [
        ("pass", None),
        ("unassessed", "endpoint_error"),
    ]
    assert scored.failures == ("later",)
    assert closed == ["scripted"]


def test_a_refusal_stops_at_once_and_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key is raised as it is, and the model is closed."""
    closed = scripted(monkeypatch, RequestRefusedError("wrong key"), after=1)
    with pytest.raises(RequestRefusedError, match="wrong key"):
        score.score_outputs(outputs(3), [], ["scripted"], [])
    assert closed == ["scripted"]


def test_tallies_count_what_applies() -> None:
    """Pass, fail and unassessed with reasons, over the rows a rule has an opinion on."""
    rows: list[dict[str, Any]] = [
        {"evaluator": "a", "outcome": "pass", "reason": None},
        {"evaluator": "a", "outcome": "fail", "reason": None},
        {"evaluator": "a", "outcome": "unassessed", "reason": "truncated"},
        {"evaluator": "a", "outcome": "unassessed", "reason": "empty"},
        {"evaluator": "b", "outcome": "unassessed", "reason": "not_applicable"},
    ]
    assert list(score.tallies(rows)) == [
        "a: 1 pass, 1 fail, 2 unassessed (empty, truncated), of 4",
        "b: 0 pass, 0 fail, 0 unassessed, of 0",
    ]


def test_every_script_can_be_a_judge() -> None:
    """Each profile opens by its name."""
    for profile in SCRIPTS:
        rows = score.score_outputs(outputs(1), [], [f"scripted:{profile}"], []).rows
        assert rows[0]["outcome"] == "pass"
