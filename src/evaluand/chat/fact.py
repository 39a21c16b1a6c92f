"""What a probe found out of an endpoint: yes, no, or why it can't be told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, Self

from evaluand.chat.message import Request

TOOL_PARTS = ("tool_schema", "tool_call", "tool_result")

_LOST = {
    "system": "system_not_rendered",
    **dict.fromkeys(TOOL_PARTS, "tools_not_rendered"),
    "front_kept": "input_truncated",
}
_CHANGED = ("system_folded", "double_bos")


class Answer(StrEnum):
    """The three answers of a probe."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One probe's answer and what it rests on.

    Args:
        answer: Yes, no or unknown.
        reason: Why it is unknown; empty for the other two.
        how: ``token_delta``, ``apply_template`` or ``tokenize``; empty where unknown.
        detail: The numbers or the error behind it.
    """

    answer: Answer
    reason: str = ""
    how: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        unknown = self.answer is Answer.UNKNOWN
        if unknown != bool(self.reason) or unknown == bool(self.how):
            msg = f"unknown has a reason, yes and no an observation; got {self.answer}, reason {self.reason!r}, how {self.how!r}"
            raise ValueError(msg)

    def __bool__(self) -> NoReturn:
        """Refuse: two truth values can't hold three answers."""
        msg = "a fact has three answers; compare its answer"
        raise TypeError(msg)

    @classmethod
    def of(cls, claim: bool, how: str, detail: str) -> Self:
        """Return yes or no, as it was observed."""
        return cls(answer=Answer.YES if claim else Answer.NO, how=how, detail=detail)

    @classmethod
    def unknown(cls, reason: str, detail: str) -> Self:
        """Return that it can't be told, and why."""
        return cls(answer=Answer.UNKNOWN, reason=reason, detail=detail)


def findings(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return the probes that found a silent change of what is asked, and its name.

    >>> findings({"tool_call": Fact.of(False, "token_delta", "0 tokens")})
    {'tool_call': 'tools_not_rendered'}
    """
    found = {
        name: reason
        for name, reason in _LOST.items()
        if name in facts and facts[name].answer is Answer.NO
    }
    changed = [n for n in _CHANGED if n in facts and facts[n].answer is Answer.YES]
    return found | {name: name for name in changed}


def needs(request: Request) -> tuple[str, ...]:
    """Return the facts on which it depends whether a model sees all of a request."""
    has = {
        "system": any(message.role == "system" for message in request.messages),
        "tool_schema": bool(request.tools),
        "tool_call": any(message.tool_calls for message in request.messages),
        "tool_result": any(message.role == "tool" for message in request.messages),
    }
    return tuple(name for name, present in has.items() if present)


def applicability(facts: Mapping[str, Fact], parts: Iterable[str] = TOOL_PARTS) -> str:
    """Return whether a layout made of these parts can be tried on an endpoint.

    A layout whose parts the model never sees is ``not_applicable``: an attack that
    doesn't arrive didn't fail.

    Args:
        facts: The answers of the probes by name.
        parts: What the layout needs, as `needs` tells of a request.

    Returns:
        ``applicable``, ``not_applicable``, or ``unknown`` where a probe couldn't tell.

    >>> seen = Fact.of(True, "token_delta", "64 tokens")
    >>> applicability({"tool_result": seen}, ["tool_result"])
    'applicable'
    """
    answers = [
        facts[name].answer if name in facts else Answer.UNKNOWN for name in parts
    ]
    if Answer.NO in answers:
        return "not_applicable"
    return "unknown" if Answer.UNKNOWN in answers else "applicable"
