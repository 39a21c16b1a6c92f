"""Whether a chat template prints the date, told by rendering it under two clocks.

Such a template gives one conversation another prompt tomorrow, or on another server:
some hand over today's date, others leave the template its fixed default. A prompt that
changes is no tamper, so what compares deployments has to know.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from evaluand.chat.message import Message
from evaluand.chat.template import render

DateSource = Literal["clock", "server"]

# no two of their fields are equal, from the year to the second and the weekday
_CLOCKS = (
    datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC),
    datetime(2034, 11, 27, 18, 49, 58, tzinfo=UTC),
)
# the variables that templates default when a server leaves them out
_VARIABLES = ("date_string", "current_date", "today", "date")


def date_source(
    template: str,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
) -> DateSource | None:
    """Return where the date that a template prints comes from, None if it prints none.

    Args:
        template: Jinja source.
        messages: The conversation to render; a date that only others show isn't found.
        tools: Function specifications in the OpenAI format.

    Returns:
        ``clock`` if the template asks for the time; ``server`` if it prints a variable
        that a server may set to today's date, whether or not it has a default for it.
        A date that nothing can change, such as a knowledge cutoff, is no finding.

    Raises:
        InputError: If the template can't render the conversation.

    >>> user = [Message(role="user", content="hi")]
    >>> date_source("{{ strftime_now('%Y') }}", user)
    'clock'
    >>> date_source("{{ date_string | default('26 Jul 2024') }}", user)
    'server'
    >>> date_source("Cutting Knowledge Date: December 2023", user)
    """

    def differ(handed: Callable[[datetime], Mapping[str, str]]) -> bool:
        first, second = (
            render(template, messages, tools=tools, now=now, extra=handed(now))
            for now in _CLOCKS
        )
        return first != second

    if differ(lambda _: {}):
        return "clock"
    if differ(lambda now: dict.fromkeys(_VARIABLES, now.strftime("%d %b %Y"))):
        return "server"
    return None


def time_dependent(
    template: str,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
) -> bool:
    """Tell whether one conversation may become another prompt on another day.

    Raises:
        InputError: If the template can't render the conversation.
    """
    return date_source(template, messages, tools=tools) is not None
