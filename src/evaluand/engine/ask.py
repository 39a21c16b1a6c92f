"""Ask a model once for each distinct request, and keep what it said in the store."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from evaluand.chat.client import Model
from evaluand.chat.message import Reply, Request, request_value
from evaluand.digest import value_digest
from evaluand.errors import ModelError, RequestRefusedError
from evaluand.store import Store, json_text, json_value

FAILURES_IN_A_ROW = 3
"""Requests without a reply after which an endpoint counts as down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply as the store holds it, or why there is none.

    Args:
        key: Of the stored exchange; empty where nothing was stored.
        text: The reply's visible text.
        finish_reason: As the endpoint put it.
        reason: Why there is no text.
        error: For a failure that may pass, what happened.
    """

    key: str
    text: str
    finish_reason: str
    reason: str = ""
    error: str = ""

    @property
    def may_come(self) -> bool:
        """Whether there is no reply now, and asking again may bring one."""
        return bool(self.error)


class Asker:
    """Asks through the store: a reply that is there is never asked for again.

    An endpoint counts as down after `FAILURES_IN_A_ROW` requests without a reply.

    Args:
        store: The run's database.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self._in_a_row: Counter[str] = Counter()
        self._flying: dict[str, asyncio.Future[Answer]] = {}

    async def ask(self, model: Model, request: Request, *, draw: str = "") -> Answer:
        """Return the answer to a request, from the store if it is there.

        A reply that can never come (a filter, a prompt too long) is an answer with a
        reason. One that may come later is counted in `failures` and left to whoever asks
        to note in the store; it is asked for again when the run is resumed.

        Args:
            model: Whom to ask.
            request: What to ask.
            draw: Tells fresh draws of one request apart.

        Raises:
            RequestRefusedError: If the endpoint refuses all such requests.
            ModelError: If it gave no reply several times in a row.
        """
        value = request_value(request)
        identity = dict(model.identity)
        key = value_digest({"model": identity, "request": value, "draw": draw})
        stored = self.store.get("exchange", {"key": key})
        if stored is not None:
            self.counts["reused"] += 1
            reply = json_value(stored["reply"], path=self.store.path)
            return _answer(key, reply, stored["finish_reason"])
        if key in self._flying:
            self.counts["reused"] += 1
            return await asyncio.shield(self._flying[key])
        return await self._fresh(model, request, key, value)

    async def _fresh(
        self, model: Model, request: Request, key: str, value: dict[str, Any]
    ) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._flying[key] = future
        try:
            answer = await self._asked(model, request, key, value)
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # those that wait get it; with none waiting, it is seen here
            raise
        finally:
            del self._flying[key]
        future.set_result(answer)
        return answer

    async def _asked(
        self, model: Model, request: Request, key: str, value: dict[str, Any]
    ) -> Answer:
        self.counts["asked"] += 1
        try:
            reply = await model.ask(request)
        except RequestRefusedError:
            raise
        except ModelError as error:
            return self._without_reply(error, key, model, value)
        self._in_a_row[model.name] = 0
        self._keep(key, model, value, reply)
        return _answer(key, reply.text, reply.finish_reason)

    def _without_reply(
        self, error: ModelError, key: str, model: Model, value: dict[str, Any]
    ) -> Answer:
        if not error.retryable:
            self._in_a_row[model.name] = 0  # the endpoint answered
            self._keep(key, model, value, error)
            return _answer(key, None, error.reason)
        self.failures.append(str(error))
        self._in_a_row[model.name] += 1
        if self._in_a_row[model.name] >= FAILURES_IN_A_ROW:
            msg = f"{error} ({FAILURES_IN_A_ROW} requests in a row; what is done is kept, the same command resumes)"
            raise ModelError(msg, retryable=True, reason=error.reason) from error
        return Answer(
            key="", text="", finish_reason="", reason=error.reason, error=str(error)
        )

    def _keep(
        self, key: str, model: Model, value: dict[str, Any], got: Reply | ModelError
    ) -> None:
        row: dict[str, Any] = {"model": model.name, "request": json_text(value)}
        if isinstance(got, Reply):
            row |= {
                "reply": json_text(got.text),
                "reasoning": got.reasoning and json_text(got.reasoning),
                "tool_calls": json_text(_calls(got)) if got.tool_calls else None,
                "finish_reason": got.finish_reason,
                "provider": got.provider,
                "served_model": got.served_model,
                "fingerprint": got.fingerprint,
                "prompt_tokens": got.prompt_tokens,
                "completion_tokens": got.completion_tokens,
                "latency_s": got.latency_s,
            }
        else:
            row |= {"reply": "null", "finish_reason": got.reason, "latency_s": 0.0}
        self.store.put("exchange", {"key": key}, row)


def _calls(reply: Reply) -> list[dict[str, str]]:
    return [
        {"id": call.id, "name": call.name, "arguments": call.arguments}
        for call in reply.tool_calls
    ]


def _answer(key: str, text: str | None, finish_reason: str) -> Answer:
    """Return a stored reply; one without text says why in its finish reason."""
    if text is None:
        return Answer(
            key=key, text="", finish_reason=finish_reason, reason=finish_reason
        )
    return Answer(key=key, text=text, finish_reason=finish_reason)
