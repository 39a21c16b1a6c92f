"""A model that replies by rule: for tests and documentation, never a finding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evaluand.chat.message import Reply, Request


@dataclass(frozen=True, slots=True)
class Scripted:
    """A model that calls a function.

    Args:
        name: The name shown, ``scripted`` or ``scripted:PROFILE``.
        respond: From a request to the reply's text; may raise `ModelError`.
        identity: What tells this rule and its version from every other.
    """

    name: str
    respond: Callable[[Request], str]
    identity: Mapping[str, Any]
    concurrency: int = 1

    async def ask(self, request: Request) -> Reply:
        """Return what the rule says, in no time."""
        return Reply(
            text=self.respond(request),
            finish_reason="stop",
            served_model=None,
            fingerprint=None,
            prompt_tokens=None,
            completion_tokens=None,
            latency_s=0.0,
        )

    async def close(self) -> None:
        """Do nothing: a rule holds nothing."""
