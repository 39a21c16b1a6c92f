"""What an endpoint discloses of itself is never more than it said."""

from typing import Any

import pytest

from evaluand.chat.served import served


def replies(*models: str | None, providers: Any = (None,)) -> list[dict[str, Any]]:
    return [
        {"served_model": m, "provider": p, "fingerprint": None}
        for m in models
        for p in providers
    ]


@pytest.mark.parametrize(
    ("requested", "models", "state"),
    [
        ("x", ["x"], "undisclosed"),
        ("x", [None], "undisclosed"),
        ("x", [], "undisclosed"),
        ("x", ["y"], "mismatch"),
        ("x", ["x", "y"], "mixed"),
        ("gpt-4o", ["gpt-4o-2024-08-06"], "match"),
        ("gpt-4o-2024-08-06", ["gpt-4o-2024-08-06"], "match"),
        ("gpt-4o-2024-08-06", ["gpt-4o-2024-05-13"], "mismatch"),
        ("gpt-4o-2024-08-06", ["gpt-4o"], "mismatch"),
        ("gpt-4o", ["gpt-4o-mini"], "mismatch"),
        ("gpt-4o", ["gpt-4o-mini-2024-07-18"], "mismatch"),
        ("claude-sonnet-4", ["claude-sonnet-4-20250514"], "match"),
        ("Org/Model", ["model"], "undisclosed"),
        ("x", ["gpt-4o-2024-08-06", "gpt-4o-2024-05-13"], "mixed"),
    ],
)
def test_states(requested: str, models: list[str | None], state: str) -> None:
    """An echo is no disclosure (C6), a snapshot is a claim, another name a mismatch."""
    assert served(requested, replies(*models)).state == state


def test_two_providers_are_mixed() -> None:
    """One id from two providers is two stacks, with counts (C5)."""
    found = served("x", replies("x", "x", providers=("a", "b")), unpinned=True)
    assert (found.state, found.providers) == ("mixed", {"a": 2, "b": 2})


def test_an_unpinned_router_never_matches() -> None:
    """Where a router may choose, no name is a match."""
    models = replies("gpt-4o-2024-08-06", providers=("a",))
    assert served("gpt-4o", models, unpinned=True).state == "undisclosed"
    assert served("gpt-4o", models).state == "match"


def test_our_own_server_is_known() -> None:
    """A child that serves hashed weights under an alias is what was asked for."""
    assert served("alias", replies("alias"), own=True).state == "match"
    assert served("alias", replies("other"), own=True).state == "mismatch"
