"""Hidden reasoning is taken out whole, or the reply holds no verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat.thinking import leading_thinking, split_thinking


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a<THINK>b</Think>c", "ac"),
        ("<thinking>a<think>b</think>c</thinking>d", "d"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("reasoning without a start</think>b", "b"),
        ("<think>a", None),
        ("b<think>", None),
        ("<think/>b", "<think/>b"),
        ("[THINK]a[/THINK]b", "b"),
        ("<think>a</think>b</think>c", None),
    ],
)
def test_blocks_are_taken_out(text: str, left: str | None) -> None:
    """Nested and repeated blocks go; a block that never closes leaves nothing to read."""
    assert split_thinking(text)[1] == left


def test_what_is_taken_out_is_kept() -> None:
    """The reasoning is returned beside the answer, whichever way it was marked."""
    assert split_thinking("<think>a</think>b<think>c</think>d") == ("ac", "bd")
    assert split_thinking("a</think>b") == ("a", "b")
    assert split_thinking("b<think>a") == ("a", None)


@given(st.lists(st.sampled_from(["<think>", "</think>", "[THINK]", "a"])).map("".join))
def test_no_tag_is_left_in_an_answer(text: str) -> None:
    """Any order of tags gives an answer without one, or none."""
    hidden, answer = split_thinking(text)
    if answer is not None:
        assert "think" not in answer.lower()
        assert hidden.count("a") + answer.count("a") == text.count("a")


@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("<think>a</think>b", "a", "b"),
        (" \n<think>a</think>\n\nb", "a", "\n\nb"),
        ("[THINK]a[/THINK]b", "a", "b"),
        ("<think>a", "a", ""),
        ("a<think>b</think>", None, "a<think>b</think>"),
        ("a</think>b", None, "a</think>b"),
        ("<think><think>a</think>b", None, "<think><think>a</think>b"),
        ("<think></think>b", "", "b"),
        ("", None, ""),
    ],
)
def test_only_a_leading_block_is_parted_on_arrival(
    text: str, reasoning: str | None, rest: str
) -> None:
    """A block at the beginning is reasoning; tags further on stay in the text."""
    assert leading_thinking(text) == (reasoning, rest)
