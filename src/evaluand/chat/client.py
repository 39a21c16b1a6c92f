"""The one way to ask a model, and the HTTP endpoint behind it."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from evaluand.chat.address import Address
from evaluand.chat.message import Reply, Request
from evaluand.chat.replica import Balance
from evaluand.chat.transport import Failed, attempt, open_session, proxy_of
from evaluand.errors import ModelError

if TYPE_CHECKING:
    from aiohttp import ClientSession

# an endpoint that asks for a longer pause than this is given up on
_LONGEST_PAUSE_S = 300.0


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


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """A model behind one or several URLs that answer alike.

    Args:
        name: As the user gave it, without secrets.
        address: Where it is.
        identity: What is known of what answers there.
        concurrency: Requests in flight at most; a pause before a retry holds no place.
        attempts: How often one request is sent at most.
        patience: The same while the endpoint says that there are too many (429): it is
            alive, and worth waiting for.
        pause_s: Seconds before the second attempt, doubled before each later one and
            spread by up to a quarter; an endpoint's ``Retry-After`` prolongs it.
        timeout_s: Seconds that one attempt may take from its connection to its last byte.
        keep_alive: Whether connections are used again; where they cost nothing, none
            should outlive an event loop whose end nobody announced.
    """

    name: str
    address: Address
    identity: Mapping[str, Any]
    concurrency: int = 8
    attempts: int = 4
    patience: int = 8
    pause_s: float = 1.0
    timeout_s: float = 600.0
    keep_alive: bool = True
    _session: "_Session | None" = field(default=None, init=False, repr=False)

    async def ask(self, request: Request) -> Reply:
        """Return the reply, sending the request again where that may help.

        Raises:
            ModelError: If it can't be sent, or no usable reply came.
            RequestRefusedError: If the endpoint refuses every such request.
        """
        content = self.address.body(request)
        session = await self._open()
        tried = 1
        while True:
            async with session.slots:
                outcome = await self._attempt(session, content)
            if isinstance(outcome, Reply):
                return outcome
            await self._pause(outcome, tried)
            tried += 1

    async def close(self) -> None:
        """Close the connections; asking again opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.http.close()

    async def _open(self) -> "_Session":
        """Return this event loop's session, dropping one of a loop that has ended."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.loop is not loop:
            await self.close()
            self._session = _Session(
                loop=loop,
                http=open_session(self.timeout_s, keep_alive=self.keep_alive),
                slots=asyncio.Semaphore(self.concurrency),
                balance=Balance.over(self.address.base_urls),
                proxies={url: proxy_of(url) for url in self.address.base_urls},
            )
        return self._session

    async def _attempt(self, session: "_Session", content: bytes) -> Reply | Failed:
        replica = session.balance.choose()
        replica.outstanding += 1
        try:
            outcome = await attempt(
                session.http,
                self.address,
                replica.base_url,
                content,
                proxy=session.proxies[replica.base_url],
            )
        finally:
            replica.outstanding -= 1
        unreachable = isinstance(outcome, Failed) and outcome.unreachable
        session.balance.told(replica, unreachable=unreachable)
        return outcome

    async def _pause(self, failed: Failed, tried: int) -> None:
        """Wait before the next attempt, or raise when there is none."""
        error = failed.error
        if not error.retryable:
            raise error
        limited = error.reason == "rate_limited"
        attempts = self.patience if limited else self.attempts
        spread = 1 + random.random() / 4  # noqa: S311 - spreads retries, decides nothing
        wait = max(self.pause_s * 2 ** (tried - 1) * spread, failed.retry_after_s)
        if tried < attempts and wait <= _LONGEST_PAUSE_S:
            await asyncio.sleep(wait)
            return
        asked = f", asked to wait {wait:.0f} s" if wait > _LONGEST_PAUSE_S else ""
        msg = f"{error} (attempt {tried} of {attempts}{asked})"
        raise ModelError(msg, retryable=True, reason=error.reason) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """What belongs to one event loop."""

    loop: asyncio.AbstractEventLoop
    http: "ClientSession"
    slots: asyncio.Semaphore
    balance: Balance
    proxies: Mapping[str, str | None]
