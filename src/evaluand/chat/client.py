"""The one way to ask a model, and the HTTP endpoint behind it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from evaluand.chat import openai
from evaluand.chat.message import Reply, Request
from evaluand.errors import ModelError, RequestRefusedError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where an endpoint is and what opens it.

    Args:
        base_url: Up to and including ``/v1``, without userinfo; shown in messages.
        model: The endpoint's id of the model.
        authorization: The header's value; never shown.
        key_hint: What to do about a missing or wrong key.
        unset: Fields sent when a request leaves them out.
        limit_field: The endpoint's name for the token limit.
    """

    base_url: str
    model: str
    authorization: str | None = field(default=None, repr=False)
    key_hint: str = "it takes no key that is known here"
    unset: Mapping[str, Any] = field(default_factory=dict)
    limit_field: str = "max_tokens"

    @property
    def where(self) -> str:
        """The URL that requests go to."""
        return f"{self.base_url}/chat/completions"


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """A model behind an OpenAI-compatible URL.

    Args:
        name: As the user gave it, without secrets.
        address: Where it is.
        identity: What is known of what answers there.
        concurrency: Requests in flight at most; a pause before a retry holds no place.
        attempts: How often one request is sent at most.
        pause_s: Seconds before the second attempt, doubled before each later one; an
            endpoint's ``Retry-After`` prolongs it.
        timeout_s: Seconds that one attempt may take from its connection to its last byte.
        keep_alive: Whether connections are used again; where they cost nothing, none
            should outlive an event loop whose end nobody announced.
    """

    name: str
    address: Address
    identity: Mapping[str, Any]
    concurrency: int = 8
    attempts: int = 4
    pause_s: float = 1.0
    timeout_s: float = 600.0
    keep_alive: bool = True
    _session: "_Session | None" = field(default=None, init=False, repr=False)

    async def ask(self, request: Request) -> Reply:
        """Return the reply, sending the request again where that may help.

        Raises:
            ModelError: If no usable reply came.
            RequestRefusedError: If the endpoint refuses every such request.
        """
        address = self.address
        content = openai.body(
            request,
            model=address.model,
            unset=address.unset,
            limit_field=address.limit_field,
        )
        session = await self._open()
        attempt = 1
        while True:
            async with session.slots:
                outcome = await _attempt(session.http, address, content)
            if isinstance(outcome, Reply):
                return outcome
            await self._pause(outcome, attempt)
            attempt += 1

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
            slots = asyncio.Semaphore(self.concurrency)
            http = _client_session(self.timeout_s, keep_alive=self.keep_alive)
            self._session = _Session(loop=loop, http=http, slots=slots)
        return self._session

    async def _pause(self, failed: "_Failed", attempt: int) -> None:
        """Wait before the next attempt, or raise when there is none."""
        error = failed.error
        if not error.retryable:
            raise error
        wait = max(self.pause_s * 2 ** (attempt - 1), failed.retry_after_s)
        if attempt < self.attempts and wait <= _LONGEST_PAUSE_S:
            await asyncio.sleep(wait)
            return
        asked = f", asked to wait {wait:.0f} s" if wait > _LONGEST_PAUSE_S else ""
        msg = f"{error} (attempt {attempt} of {self.attempts}{asked})"
        raise ModelError(msg, retryable=True, reason=error.reason) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """What belongs to one event loop."""

    loop: asyncio.AbstractEventLoop
    http: "ClientSession"
    slots: asyncio.Semaphore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed:
    """An attempt without a reply."""

    error: ModelError
    retry_after_s: float = 0.0


def _client_session(timeout_s: float, *, keep_alive: bool) -> "ClientSession":
    import aiohttp  # noqa: PLC0415 - heavy, and a scripted run needs none of it

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=not keep_alive),
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def _attempt(
    http: "ClientSession", address: Address, content: bytes
) -> Reply | _Failed:
    """Send one request; what can't be a reply comes back as a failure."""
    started = time.perf_counter()
    try:
        status, headers, received = await _post(http, address, content)
    except ModelError as error:
        return _Failed(error=error)
    latency_s = time.perf_counter() - started
    if address.authorization:
        # an endpoint that echoes the key must not bring it into an error or a store
        received = received.replace(
            address.authorization.split()[-1].encode(), b"[key]"
        )
    try:
        if status != 200:
            raise openai.failure(
                status,
                received,
                where=address.where,
                model=address.model,
                key_hint=address.key_hint,
            )
        return openai.parse_reply(received, where=address.where, latency_s=latency_s)
    except ModelError as error:
        return _Failed(error=error, retry_after_s=_seconds(headers.get("Retry-After")))


async def _post(
    http: "ClientSession", address: Address, content: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    """Return status, headers and bytes, naming what broke when there are none."""
    import aiohttp  # noqa: PLC0415 - heavy, see above

    headers = {"Content-Type": "application/json"}
    if address.authorization:
        headers["Authorization"] = address.authorization
    try:
        # a redirect would turn the POST into a GET, or take the key elsewhere
        async with http.post(
            address.where,
            data=content,
            headers=headers,
            proxy=_proxy(address.where),
            allow_redirects=False,
        ) as response:
            return response.status, response.headers, await response.read()
    except TimeoutError as error:
        msg = f"{address.where}: no whole reply within {http.timeout.total:g} s"
        raise ModelError(msg, retryable=True, reason="timeout") from error
    except aiohttp.ClientSSLError as error:
        msg = f"{address.where}: no trusted TLS connection: {openai.quote(str(error))}"
        raise RequestRefusedError(msg) from error
    except aiohttp.ClientConnectorError as error:
        msg = f"nothing answers at {error.host}:{error.port}: {error.strerror}; is the endpoint running?"
        raise ModelError(msg, retryable=True) from error
    except aiohttp.ClientError as error:
        kind = type(error).__name__
        msg = f"{address.where}: the connection broke ({kind}: {openai.quote(str(error))})"
        raise ModelError(msg, retryable=True) from error


def _proxy(url: str) -> str | None:
    """Return the environment's proxy for a URL; netrc and its keys are not read."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _seconds(retry_after: str | None) -> float:
    """Return the seconds that a ``Retry-After`` asks for: a number, or an HTTP date."""
    if not retry_after:
        return 0.0
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
