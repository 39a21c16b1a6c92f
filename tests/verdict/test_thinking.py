"""Hidden reasoning is taken out whole, or the reply holds no verdict."""

import pytest

from evaluand.verdict.thinking import split_thinking


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
