"""Claims about templates that print the date (case C2)."""

from datetime import UTC, datetime

import pytest

from evaluand.chat.clock import date_source, time_dependent
from evaluand.chat.message import Message
from evaluand.chat.template import render
from evaluand.errors import InputError

USER = Message(role="user", content="hi")
CHAT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"

# the beginnings of Llama 3.1's and 3.2's templates
LLAMA_31 = (
    """\
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
"""
    + CHAT
)
LLAMA_32 = LLAMA_31.replace(
    '{%- set date_string = "26 Jul 2024" %}',
    """{%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}""",
)


@pytest.mark.parametrize(
    ("template", "source"),
    [
        (LLAMA_31, "server"),
        (LLAMA_32, "clock"),
        (CHAT, None),
        ("Cutting Knowledge Date: December 2023. " + CHAT, None),
        ("{% set today = strftime_now('%Y') %}" + CHAT, None),
        ("{{ strftime_now('%A') }}" + CHAT, "clock"),
        ("{{ strftime_now('%M') }}" + CHAT, "clock"),
        ("{{ current_date | default('2024-07-26') }}" + CHAT, "server"),
    ],
)
def test_a_printed_date_is_found(template: str, source: str | None) -> None:
    """The time asked for, and a default that a server may replace, are told from text."""
    assert date_source(template, [USER]) == source
    assert time_dependent(template, [USER]) == (source is not None)


def test_two_clocks_give_two_prompts_or_one() -> None:
    """A fixed default stands whatever the clock says; the time asked for moves with it."""
    clocks = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
    fixed = [render(LLAMA_31, [USER], now=now) for now in clocks]
    assert fixed[0] == fixed[1]
    assert "Today Date: 26 Jul 2024" in fixed[0]
    moving = [render(LLAMA_32, [USER], now=now) for now in clocks]
    assert "Today Date: 01 Jan 2026" in moving[0]
    assert "Today Date: 02 Jan 2026" in moving[1]


def test_only_what_the_conversation_shows_is_found() -> None:
    """A date that is printed with tools alone is found with tools alone."""
    template = "{% if tools %}{{ strftime_now('%d') }}{% endif %}" + CHAT
    assert not time_dependent(template, [USER])
    assert time_dependent(template, [USER], tools=[{"name": "look"}])


def test_a_conversation_that_is_refused_is_no_answer() -> None:
    """A template that can't render the conversation raises instead of saying no."""
    with pytest.raises(InputError, match="no user"):
        time_dependent("{{ raise_exception('no user') }}", [USER])
