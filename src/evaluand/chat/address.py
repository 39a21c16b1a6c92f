"""Where a model is asked: the URL, what opens it, and the format it speaks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluand.chat import anthropic, openai
from evaluand.chat.lint import OPENAI, Dialect, check_sendable, unsendable
from evaluand.chat.message import Reply, Request


class Wire(Protocol):
    """A chat format: a module of this package."""

    PATH: str

    def body(
        self,
        request: Request,
        *,
        model: str,
        fields: Mapping[str, Any] | None = None,
        limit_field: str = "max_tokens",
    ) -> bytes:
        """Return a request's bytes."""

    def parse_reply(self, content: bytes, *, where: str, latency_s: float) -> Reply:
        """Return what a 200 response says."""


WIRES: Mapping[str, Wire] = {"openai": openai, "anthropic": anthropic}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One place that answers, or several that answer alike.

    Args:
        base_urls: Up to and including ``/v1``, without userinfo; shown in messages.
        model: The endpoint's id of the model.
        headers: What opens it; never shown.
        secrets: The texts in them, which must not come back out of a response.
        key_hint: What to do about a missing or wrong key.
        fields: Fields sent when a request leaves them out.
        limit_field: The endpoint's name for the token limit.
        wire: The format, a key of `WIRES`.
        dialect: What the provider accepts.
    """

    base_urls: tuple[str, ...]
    model: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key_hint: str = "it takes no key that is known here"
    fields: Mapping[str, Any] = field(default_factory=dict)
    limit_field: str = "max_tokens"
    wire: str = "openai"
    dialect: Dialect = OPENAI

    def url(self, base_url: str) -> str:
        """Return where requests to one of the places go."""
        return f"{base_url}{WIRES[self.wire].PATH}"

    def body(self, request: Request) -> bytes:
        """Return a request's bytes.

        Raises:
            ModelError: If it can't be sent, or the provider would refuse it.
        """
        check_sendable(request, self.dialect)
        try:
            return WIRES[self.wire].body(
                request,
                model=self.model,
                fields=self.fields,
                limit_field=self.limit_field,
            )
        except UnicodeEncodeError as error:
            fault = "the tools or the stop texts hold a lone surrogate"
            raise unsendable(self.dialect, fault) from error

    def parse_reply(self, content: bytes, *, where: str, latency_s: float) -> Reply:
        """Return what a 200 response says.

        Raises:
            ModelError: If it holds no reply.
        """
        return WIRES[self.wire].parse_reply(content, where=where, latency_s=latency_s)
