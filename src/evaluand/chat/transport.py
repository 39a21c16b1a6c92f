"""One HTTP attempt: what came back, or what broke, by name."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from evaluand.chat.address import Address
from evaluand.chat.failure import failure, quote
from evaluand.chat.message import Reply
from evaluand.errors import ModelError, RequestRefusedError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

# no chat reply is that long; an endpoint that doesn't end must not fill the memory
_LONGEST_REPLY = 32 * 2**20
_CONNECT_S = 30.0
# characters from which a text is taken for a secret, in a reply and in an error
_SECRET = 12
_SHORT_SECRET = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An attempt without a reply.

    Args:
        error: What broke.
        retry_after_s: Seconds that the endpoint asked to be left alone.
        unreachable: Whether nothing answered at all.
    """

    error: ModelError
    retry_after_s: float = 0.0
    unreachable: bool = False


def open_session(timeout_s: float, *, keep_alive: bool) -> "ClientSession":
    """Return an HTTP client without cookies, netrc or a limit of its own.

    Args:
        timeout_s: Seconds that one attempt may take in all.
        keep_alive: Whether connections are used again.
    """
    import aiohttp  # noqa: PLC0415 - heavy, and a scripted run needs none of it

    return aiohttp.ClientSession(
        # the endpoint's slots are the limit
        connector=aiohttp.TCPConnector(limit=0, force_close=not keep_alive),
        timeout=aiohttp.ClientTimeout(
            total=timeout_s, sock_connect=min(timeout_s, _CONNECT_S)
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def attempt(
    http: "ClientSession",
    address: Address,
    base_url: str,
    content: bytes,
    *,
    proxy: str | None,
) -> Reply | Failed:
    """Send one request; what can't be a reply comes back as a failure."""
    where = address.url(base_url)
    started = time.perf_counter()
    try:
        status, headers, received = await post(http, address, where, content, proxy)
    except _UnreachableError as error:
        return Failed(error=error, unreachable=True)
    except ModelError as error:
        return Failed(error=error)
    latency_s = time.perf_counter() - started
    received = _scrubbed(received, address.secrets, failed=status != 200)
    try:
        if status != 200:
            raise failure(
                status,
                received,
                where=where,
                model=address.model,
                key_hint=address.key_hint,
            )
        return address.parse_reply(received, where=where, latency_s=latency_s)
    except ModelError as error:
        return Failed(
            error=error, retry_after_s=retry_seconds(headers.get("Retry-After"))
        )


def _scrubbed(content: bytes, secrets: tuple[str, ...], *, failed: bool) -> bytes:
    """Return a response without the keys that an endpoint may echo into it.

    A short key such as ``EMPTY`` is no secret, and may stand in a reply for other reasons;
    in an error nothing is lost with it.
    """
    least = _SHORT_SECRET if failed else _SECRET
    for secret in secrets:
        if len(secret) >= least:
            quoted = json.dumps(secret)[1:-1]
            for form in {secret, quoted, quoted.replace("/", "\\/")}:
                content = content.replace(form.encode(), b"[key]")
    return content


class _UnreachableError(ModelError):
    """Nothing answers there."""


async def post(
    http: "ClientSession",
    address: Address,
    where: str,
    content: bytes,
    proxy: str | None,
) -> tuple[int, Mapping[str, str], bytes]:
    """Return status, headers and bytes, naming what broke when there are none.

    Raises:
        ModelError: If no whole response came.
        RequestRefusedError: If there is no trusted connection.
    """
    import aiohttp  # noqa: PLC0415 - heavy, see above

    headers = {"Content-Type": "application/json", **address.headers}
    try:
        # a redirect would turn the POST into a GET, or take the key elsewhere
        async with http.post(
            where,
            data=content,
            headers=headers,
            proxy=proxy,
            allow_redirects=False,
        ) as response:
            return response.status, response.headers, await _whole(response, where)
    except aiohttp.ClientSSLError as error:
        msg = f"{where}: no trusted TLS connection: {quote(str(error))}"
        raise RequestRefusedError(msg) from error
    except aiohttp.ClientConnectorError as error:
        msg = f"nothing answers at {error.host}:{error.port}: {error.strerror}; is the endpoint running?"
        raise _UnreachableError(msg, retryable=True) from error
    except aiohttp.ConnectionTimeoutError as error:
        msg = (
            f"{where}: no connection within {_CONNECT_S:g} s; is the endpoint running?"
        )
        raise _UnreachableError(msg, retryable=True, reason="timeout") from error
    except TimeoutError as error:
        msg = f"{where}: no whole reply within {http.timeout.total:g} s"
        raise ModelError(msg, retryable=True, reason="timeout") from error
    except aiohttp.ClientError as error:
        kind = type(error).__name__
        msg = f"{where}: the connection broke ({kind}: {quote(str(error))})"
        raise ModelError(msg, retryable=True) from error


async def _whole(response: "ClientResponse", where: str) -> bytes:
    length = response.content_length
    # what is compressed may be any length once it is not
    plain = "Content-Encoding" not in response.headers
    if plain and length is not None and length <= _LONGEST_REPLY:
        return await response.read()
    received = bytearray()
    async for piece in response.content.iter_any():
        received += piece
        if len(received) > _LONGEST_REPLY:
            msg = f"{where}: the reply is longer than {_LONGEST_REPLY >> 20} MiB"
            raise ModelError(msg, retryable=False, reason="malformed_reply")
    return bytes(received)


def proxy_of(url: str) -> str | None:
    """Return the environment's proxy for a URL; netrc and its keys are not read.

    It walks the whole environment, so it is asked once a session, not once a request.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    if not proxies or proxy_bypass(parts.hostname or ""):
        return None
    return proxies.get(parts.scheme)


def retry_seconds(retry_after: str | None) -> float:
    """Return the seconds that a ``Retry-After`` asks for: a number, or an HTTP date.

    >>> retry_seconds("7"), retry_seconds(None), retry_seconds("soon")
    (7.0, 0.0, 0.0)
    """
    if not retry_after:
        return 0.0
    try:
        seconds = float(retry_after)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    try:
        when = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
