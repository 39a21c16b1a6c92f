"""Responses that are no reply, told apart and quoted shortly."""

from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat.failure import quote


@given(st.text())
def test_a_quotation_is_short_and_printable(text: str) -> None:
    """Of foreign text at most 300 printable characters on one line are shown."""
    quoted = quote(text * 50)
    assert len(quoted) <= 300
    assert quoted.isprintable()
