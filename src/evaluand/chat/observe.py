"""What an endpoint shows of a chat: how many tokens, which text, which tokens."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluand.chat.client import Endpoint
from evaluand.chat.message import Message, Request, Sampling, message_value

# the one POST that knows proxies, redirects and the names of what breaks
from evaluand.chat.transport import post, proxy_of
from evaluand.errors import ModelError

if TYPE_CHECKING:
    from aiohttp import ClientSession

_ONE_TOKEN = Sampling(temperature=0.0, max_tokens=1)


@dataclass(slots=True, kw_only=True)
class Observer:
    """The looks that one URL allows.

    Args:
        endpoint: With a single URL.
        http: For the routes beside the chat.
        fault: Why the endpoint's counts say nothing; raised by each `count`.
    """

    endpoint: Endpoint
    http: "ClientSession"
    fault: ModelError | None = None
    _answered: tuple[str | None, str | None] | None = field(default=None, init=False)

    async def count(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Return the tokens that the endpoint counts in a chat's prompt.

        Raises:
            ModelError: If it tells none (``no_usage``), another model or provider
                answered than before (``served_differs``), or no reply came.
        """
        if self.fault is not None:
            raise self.fault
        reply = await self.endpoint.ask(
            Request(messages=tuple(messages), sampling=_ONE_TOKEN, tools=tuple(tools))
        )
        if reply.prompt_tokens is None:
            msg = f"{self.endpoint.name}: the reply tells no prompt_tokens"
            raise ModelError(msg, retryable=False, reason="no_usage")
        answered = (reply.served_model, reply.provider)
        self._answered = self._answered or answered
        if answered != self._answered:
            msg = f"{self.endpoint.name}: answered by {answered} after {self._answered}; their counts can't be compared, pin one"
            raise ModelError(msg, retryable=False, reason="served_differs")
        return reply.prompt_tokens

    async def rendered(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> str | None:
        """Return the prompt that llama.cpp's template makes; None without such a route."""
        value: dict[str, Any] = {"messages": [message_value(m) for m in messages]}
        if tools:
            value["tools"] = [dict(tool) for tool in tools]
        prompt = (await self._beside("/apply-template", value)).get("prompt")
        return prompt if isinstance(prompt, str) and prompt else None

    async def tokens(
        self, text: str, *, add_special: bool, parse_special: bool
    ) -> list[int] | None:
        """Return a text's token ids by llama.cpp's route; None without it.

        Args:
            text: Not empty.
            add_special: Whether BOS and EOS are added as the model's file says.
            parse_special: Whether control tokens in the text become such.
        """
        value = {
            "content": text,
            "add_special": add_special,
            "parse_special": parse_special,
        }
        return _ids(await self._beside("/tokenize", value))

    async def vllm_tokens(self, value: Mapping[str, Any]) -> list[int] | None:
        """Return the token ids of a ``prompt`` or of ``messages`` by vLLM's route."""
        answer = await self._beside("/tokenize", value)
        return _ids(answer) if isinstance(answer.get("count"), int) else None

    async def _beside(self, path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a route at the server's root answers; empty without one."""
        address = self.endpoint.address
        where = address.base_urls[0].removesuffix("/v1") + path
        content = json.dumps({"model": address.model, **value}).encode()
        status, _, received = await post(
            self.http, address, where, content, proxy_of(where)
        )
        try:
            answer = json.loads(received) if status == 200 else None
        except (ValueError, RecursionError):
            return {}  # a page for people
        return answer if isinstance(answer, dict) else {}


def _ids(answer: Mapping[str, Any]) -> list[int] | None:
    found = answer.get("tokens")
    if isinstance(found, list) and found and all(isinstance(i, int) for i in found):
        return found
    return None
