"""Real judges' replies read as the reference systems recorded them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evaluand.verdict.numbers import misread_golds
from evaluand.verdict.pairs import THREE, read_pair
from evaluand.verdict.ratings import read_bracket_rating
from evaluand.verdict.reading import Reading

GAMES: dict[str, dict[str | None, str]] = {
    "g1": {"A": "model_1", "B": "model_2", "C": "tie", None: "error"},
    "g2": {"A": "model_2", "B": "model_1", "C": "tie", None: "error"},
}


def rows(name: str) -> list[dict[str, Any]]:
    """Read a staged file; records end at a line feed only, never at U+2028 inside one."""
    root = os.environ.get("EVALUAND_DATA")
    if not root:
        pytest.skip("EVALUAND_DATA names no folder with staged data")
    with (Path(root) / name).open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


def test_every_recorded_rating_is_reproduced() -> None:
    """Under fastchat what is stated equals the record on every row; -1 is None."""
    for row in rows("judgments/mtbench_single.jsonl"):
        found = read_bracket_rating(row["judgment"], low=1, high=10, policy="fastchat")
        recorded = row["recorded_score"]
        assert found.stated == (None if recorded == -1 else recorded)
        assert (found.reason == "out_of_range") == (
            not -1 <= recorded <= 10 or not recorded
        )


def test_every_recorded_arena_label_is_reproduced() -> None:
    """Under arena_hard what is stated equals the record on every row."""
    for row in rows("judgments/arena_hard_pairwise.jsonl"):
        found = read_pair(row["judgment"], policy="arena_hard")
        assert found.stated == row["recorded_score"]


def test_every_recorded_game_is_reproduced() -> None:
    """Under fastchat each game's winner equals the record; game 2 swaps the answers."""
    for row in rows("judgments/mtbench_pair.jsonl"):
        for game, winner in GAMES.items():
            text = row[f"{game}_judgment"]
            found = read_pair(text, scale=THREE, policy="fastchat")
            verdict = None if found.value is None else str(found.value)
            assert winner[verdict] == row[f"{game}_winner"]


def test_ours_differs_from_the_references_where_known() -> None:
    """By default one rating more is read ([[8/10]]), and no verdict turns into another."""
    extra: list[float | str | None] = []
    for row in rows("judgments/mtbench_single.jsonl"):
        text = row["judgment"]
        theirs = read_bracket_rating(text, low=1, high=10, policy="fastchat")
        ours = read_bracket_rating(text, low=1, high=10)
        if ours != theirs:
            assert theirs.value is None
            assert "[[8/10]]" in text
            extra.append(ours.value)
    assert extra == [8.0]


def test_ours_reads_no_arena_verdict_that_the_reference_does_not() -> None:
    """Where the reference finds none, ours gives a reason; elsewhere they agree."""
    for row in rows("judgments/arena_hard_pairwise.jsonl"):
        ours = read_pair(row["judgment"])
        assert ours.value == row["recorded_score"]


def test_every_gsm8k_gold_reads_as_itself() -> None:
    """All 1,319 gold texts give their stored answer, the negative ones too (B4)."""
    texts = {str(at): row["answer"] for at, row in enumerate(rows("gsm8k/test.jsonl"))}
    golds = {at: text.rpartition("#### ")[2] for at, text in texts.items()}
    assert len(texts) == 1319
    assert misread_golds(texts, golds, rule="first_marker") == ()


@pytest.mark.parametrize(
    ("text", "stated", "reason"),
    [
        ("[[7]] then [[8]]", 7, ""),
        ("list [3], so [[7.]]", 7, ""),
        ("list [3], so 7", 3, ""),
        ("<think>[[2]]", 2, ""),
        ("[[85]]", 85, "out_of_range"),
        ("[[0.5]]", 0.5, "out_of_range"),
        ("[[08]]", None, "malformed"),
        ("[[\u0667]]", None, "malformed"),
        (f"[[{'9' * 400}]]", None, "malformed"),
        ("[[8/10]]", None, "no_verdict"),
        ("", None, "empty"),
    ],
)
def test_fastchat_reads_as_the_reference(
    text: str, stated: float | None, reason: str
) -> None:
    """First match, fallback brackets and all; off the scale is no verdict."""
    found = read_bracket_rating(text, low=1, high=10, policy="fastchat")
    assert (found.stated, found.reason) == (stated, reason)


def test_a_cut_reply_holds_no_reference_rating() -> None:
    """A cut reply is unassessed under every policy."""
    found = read_bracket_rating(
        "[[7]]", low=1, high=10, policy="fastchat", finish_reason="length"
    )
    assert found == Reading(reason="truncated")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["1", "[1", "[[1", "[", "1.", "[[1.1"])
def test_hostile_length_is_read_in_linear_time(unit: str) -> None:
    """A long digit run, quadratic in the reference's own pattern, doesn't stall this one."""
    text = f"[[{unit * (200_000 // len(unit))}"
    found = read_bracket_rating(text, low=1, high=10, policy="fastchat")
    assert (found.value is None) == bool(found.reason)
