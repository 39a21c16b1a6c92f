"""The one way to ask a model, and the HTTP endpoint behind it."""

from collections.abc import Mapping
from typing import Any, Protocol

from evaluand.chat.message import Reply, Request


class Model(Protocol):
    """A thing that answers.

    A model may be asked from several event loops, one after the other: what it holds is
    opened by the first `ask` and let go by `close`, after which it may be asked again.
    """

    @property
    def name(self) -> str:
        """The name as the user gave it, without secrets."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """A JSON value of all that can change a reply and is known."""

    @property
    def concurrency(self) -> int:
        """How many requests are worth having in flight."""

    async def ask(self, request: Request) -> Reply:
        """Return the reply to one request.

        Raises:
            ModelError: If no usable reply came, after the retries where they help.
            RequestRefusedError: If no such request can succeed.
        """

    async def close(self) -> None:
        """Let go of connections and child processes."""
