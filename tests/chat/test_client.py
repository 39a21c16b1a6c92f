"""Claims about asking an endpoint, against a real loopback server."""

import asyncio
import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web

from evaluand.chat.address import Address
from evaluand.chat.client import Endpoint
from evaluand.chat.message import Message, Reply, Request, Sampling
from evaluand.chat.transport import proxy_of, retry_seconds
from evaluand.errors import ModelError, RequestRefusedError

KEY = "sk-secret-1234"
HELLO = Request(
    messages=(Message(role="user", content="hello"),), sampling=Sampling(max_tokens=5)
)
FINE = {
    "model": "m-2026",
    "system_fingerprint": "fp",
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1},
}


def endpoint(url: str, **options: Any) -> Endpoint:
    address = Address(
        base_urls=(url,),
        model="m",
        headers={"Authorization": f"Bearer {KEY}"},
        secrets=(KEY,),
        key_hint="set SOME_KEY",
    )
    options = {"pause_s": 0.001, "patience": 4} | options
    return Endpoint(name="m", address=address, identity={}, **options)


async def ask(url: str, **options: Any) -> Reply:
    model = endpoint(url, **options)
    try:
        return await model.ask(HELLO)
    finally:
        await model.close()


def failing(serving: Any, *answers: Any, **options: Any) -> tuple[ModelError, int]:
    """Return the error that these answers lead to, and how often it was asked."""

    async def scenario() -> tuple[ModelError, int]:
        async with serving(*answers) as server:
            with pytest.raises(ModelError, match=r"\S") as caught:
                await ask(server.url, **options)
            return caught.value, len(server.bodies)

    return asyncio.run(scenario())


def test_a_reply_brings_what_the_endpoint_says_of_itself(
    serving: Any, says: Any
) -> None:
    """Text, finish reason, served model, fingerprint and usage come back; the body is what was asked."""

    async def scenario() -> None:
        async with serving(says(FINE)) as server:
            reply = await ask(server.url)
            assert (reply.text, reply.finish_reason) == ("hi", "stop")
            assert (reply.served_model, reply.fingerprint) == ("m-2026", "fp")
            assert (reply.prompt_tokens, reply.completion_tokens) == (7, 1)
            assert 0 < reply.latency_s < 5
            assert json.loads(server.bodies[0]) == {
                "model": "m",
                "messages": [{"role": "user", "content": "hello"}],
                "temperature": 0.0,
                "top_p": 1.0,
                "max_tokens": 5,
                "seed": 1,
            }
            assert server.headers[0]["Authorization"] == f"Bearer {KEY}"

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_a_passing_fault_is_retried(serving: Any, says: Any, status: int) -> None:
    """One failure of each retryable kind is followed by the reply of the second attempt."""

    async def scenario() -> None:
        async with serving(
            says({"error": "busy"}, status=status), says(FINE)
        ) as server:
            assert (await ask(server.url)).text == "hi"
            assert len(server.bodies) == 2
            assert server.bodies[0] == server.bodies[1]

    asyncio.run(scenario())


def test_retries_end(serving: Any, says: Any) -> None:
    """After the last of the attempts the error says what the endpoint said, and how often it was asked."""
    error, asked = failing(
        serving, says({"error": {"message": "overloaded"}}, status=503)
    )
    assert asked == 4
    assert "HTTP 503" in str(error)
    assert "overloaded" in str(error)
    assert "attempt 4 of 4" in str(error)
    assert error.retryable
    assert error.reason == "endpoint_error"


def test_rate_limits_have_their_own_reason(serving: Any, says: Any) -> None:
    """A 429 that stays leaves the row unassessed as rate_limited."""
    error, asked = failing(serving, says({}, status=429), patience=2)
    assert (error.reason, asked) == ("rate_limited", 2)


def test_retry_after_in_seconds_is_waited_for(serving: Any, says: Any) -> None:
    """The pause is at least as long as Retry-After asks, whatever the backoff is."""

    async def scenario() -> float:
        slow = says({}, status=429, headers={"Retry-After": "0.3"})
        async with serving(slow, says(FINE)) as server:
            started = asyncio.get_running_loop().time()
            await ask(server.url)
            return asyncio.get_running_loop().time() - started

    assert asyncio.run(scenario()) >= 0.3


def test_retry_after_as_a_date_is_waited_for(serving: Any, says: Any) -> None:
    """An HTTP date in the future is waited for."""
    when = datetime.now(UTC) + timedelta(seconds=2)

    async def scenario() -> datetime:
        headers = {"Retry-After": format_datetime(when, usegmt=True)}
        async with serving(says({}, status=429, headers=headers), says(FINE)) as server:
            await ask(server.url)
            return datetime.now(UTC)

    assert asyncio.run(scenario()) >= when.replace(microsecond=0)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("7", 7),
        ("-3", 0),
        ("soon", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0),
        ("nan", 0),
    ],
)
def test_retry_after_forms(header: str | None, seconds: float) -> None:
    """A number is taken, the past and nonsense ask for no wait."""
    assert retry_seconds(header) == seconds


def test_a_pause_that_is_too_long_is_not_waited_for(serving: Any, says: Any) -> None:
    """An hour of Retry-After ends the attempts at once and says so."""
    slow = says({}, status=429, headers={"Retry-After": "3600"})
    error, asked = failing(serving, slow)
    assert asked == 1
    assert "asked to wait 3600 s" in str(error)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_variable_and_not_the_key(
    serving: Any, says: Any, status: int
) -> None:
    """401 and 403 are final, name what to set and show nothing of the key or the body."""
    error, asked = failing(serving, says({"error": f"bad key {KEY}"}, status=status))
    assert isinstance(error, RequestRefusedError)
    assert asked == 1
    assert "set SOME_KEY" in str(error)
    assert "sk-" not in str(error)


def test_an_unknown_model_names_url_and_id(serving: Any, says: Any) -> None:
    """404 is final and names both things that may be wrong."""
    error, asked = failing(serving, says({"error": "no such model"}, status=404))
    assert isinstance(error, RequestRefusedError)
    assert asked == 1
    assert "/v1/chat/completions" in str(error)
    assert "'m'" in str(error)


@pytest.mark.parametrize(
    ("status", "body"), [(402, {}), (429, {"error": {"code": "insufficient_quota"}})]
)
def test_spent_credit_is_final(serving: Any, says: Any, status: int, body: Any) -> None:
    """No retry brings credit back."""
    error, asked = failing(serving, says(body, status=status))
    assert isinstance(error, RequestRefusedError)
    assert asked == 1
    assert "no credit left" in str(error)


def test_a_redirect_is_not_followed(serving: Any, says: Any) -> None:
    """A redirect is refused, so that the key goes nowhere else."""
    answer = says({}, status=302, headers={"Location": "http://127.0.0.1:1/"})
    error, asked = failing(serving, answer)
    assert isinstance(error, RequestRefusedError)
    assert (asked, "HTTP 302" in str(error)) == (1, True)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, {"error": {"type": "exceed_context_size_error"}}, "input_too_long"),
        (400, {"error": {"code": "context_length_exceeded"}}, "input_too_long"),
        (400, {"message": "maximum context length is 4096"}, "input_too_long"),
        (413, {}, "input_too_long"),
        (400, {"error": {"code": "content_filter"}}, "filtered"),
        (422, {"detail": "tool without a call"}, "request_rejected"),
    ],
)
def test_a_rejected_request_is_not_retried(
    serving: Any, says: Any, status: int, body: Any, reason: str
) -> None:
    """Too long, filtered and otherwise unacceptable requests each have their reason."""
    error, asked = failing(serving, says(body, status=status))
    assert (error.reason, asked, error.retryable) == (reason, 1, False)


@pytest.mark.parametrize(
    ("message", "finish", "reason"),
    [
        ({"content": None}, "stop", "empty"),
        ({"content": None}, "content_filter", "filtered"),
        ({"content": "half"}, "content_filter", "filtered"),
        ({"content": None, "refusal": "I won't"}, "stop", "refused"),
    ],
)
def test_a_reply_without_text_is_an_error_with_a_reason(
    serving: Any, says: Any, message: Any, finish: str, reason: str
) -> None:
    """What was withheld or is missing never becomes an empty text, and isn't asked again."""
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    error, asked = failing(serving, says(body))
    assert (error.reason, asked, error.retryable) == (reason, 1, False)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>gateway</html>",
        b'{"choices": [{"message": {"content": "\xff"}}]}',
        b"[]",
        b'{"choices": []}',
        b'{"choices": [7]}',
        b'{"choices": [{"message": "hi"}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": {"content": "\\udc00"}}]}',
        b'{"error": {"code": 502, "message": "upstream"}}',
    ],
)
def test_what_is_no_completion_is_malformed(
    serving: Any, says: Any, body: bytes
) -> None:
    """A 200 that isn't a chat completion in UTF-8 is retried, then named malformed."""
    error, asked = failing(serving, says(body), attempts=2)
    assert (error.reason, asked, error.retryable) == ("malformed_reply", 2, True)
    assert "expected a chat completion" in str(error)


def test_an_endpoint_that_echoes_the_key_is_not_quoted(serving: Any, says: Any) -> None:
    """The key is cut out of whatever an error quotes."""
    error, _ = failing(serving, says({"got": f"Bearer {KEY}"}, status=422))
    assert "[key]" in str(error)
    assert KEY not in str(error)


def test_an_error_body_is_quoted_shortly(serving: Any, says: Any) -> None:
    """Of a long error body at most 300 characters are shown."""
    error, _ = failing(serving, says(b"x" * 10_000, status=422))
    assert 250 < str(error).count("x") <= 300


def test_a_connection_that_breaks_is_retried(serving: Any, says: Any) -> None:
    """A reset in the middle of a body is followed by another attempt, then by an error."""

    async def reset(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = 100
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.abort()
        return response

    async def scenario() -> None:
        async with serving(reset, says(FINE)) as server:
            assert (await ask(server.url)).text == "hi"
        async with serving(reset) as server:
            with pytest.raises(ModelError, match="the connection broke"):
                await ask(server.url, attempts=2)

    asyncio.run(scenario())


def test_a_wrong_content_encoding_is_an_error(serving: Any, says: Any) -> None:
    """A body that isn't compressed as its header says is named, never passed on."""
    answer = says(b"plain", headers={"Content-Encoding": "gzip"})
    error, asked = failing(serving, answer, attempts=2)
    assert (error.retryable, asked) == (True, 2)
    assert "the connection broke" in str(error)


def test_a_drip_is_timed_out(serving: Any) -> None:
    """A reply that never ends is cut off at the time limit, with its own reason."""

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            try:
                await response.write(b" ")
            except ConnectionError:
                break
            await asyncio.sleep(0.02)
        return response

    error, asked = failing(serving, drip, attempts=2, timeout_s=0.2)
    assert (error.reason, asked) == ("timeout", 2)
    assert "within 0.2 s" in str(error)


def test_a_refused_connection_names_host_and_port() -> None:
    """Where nothing listens, the error names the place after the retries."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=rf"127\.0\.0\.1:{port}.*attempt 2 of 2"):
        asyncio.run(ask(f"http://127.0.0.1:{port}/v1", attempts=2))


def test_an_untrusted_certificate_is_final(serving: Any, says: Any) -> None:
    """TLS that can't be trusted is not retried."""

    async def scenario() -> None:
        async with serving(says(FINE)) as server:
            with pytest.raises(RequestRefusedError, match="no trusted TLS"):
                await ask(server.url.replace("http:", "https:"))

    asyncio.run(scenario())


@pytest.mark.parametrize("keep_alive", [True, False])
def test_one_model_serves_several_event_loops(
    serving: Any, says: Any, keep_alive: bool
) -> None:
    """The same object can be asked in one asyncio.run after the other."""
    model = endpoint("", keep_alive=keep_alive)

    async def scenario() -> str:
        async with serving(says(FINE)) as server:
            object.__setattr__(model.address, "base_urls", (server.url,))
            try:
                return (await model.ask(HELLO)).text
            finally:
                if keep_alive:
                    await model.close()

    assert [asyncio.run(scenario()) for _ in range(3)] == ["hi"] * 3
    asyncio.run(model.close())


def test_a_pause_holds_no_place(serving: Any, says: Any) -> None:
    """While one request waits for its retry, another gets through the only slot."""
    order = []

    async def scenario() -> None:
        slow = says({}, status=429, headers={"Retry-After": "0.3"})
        async with serving(slow, says(FINE)) as server:
            model = endpoint(server.url, concurrency=1)

            async def numbered(number: int) -> None:
                await model.ask(HELLO)
                order.append(number)

            await asyncio.gather(numbered(1), numbered(2))
            await model.close()

    asyncio.run(scenario())
    assert order == [2, 1]


def test_a_lone_surrogate_is_unsendable() -> None:
    """Text without a UTF-8 form is refused before anything is sent."""
    request = Request(
        messages=(Message(role="user", content="\udc00"),), sampling=Sampling()
    )
    with pytest.raises(
        ModelError, match="message 0: no UTF-8 form: lone surrogate U\\+DC00 at 0"
    ) as caught:
        asyncio.run(endpoint("http://127.0.0.1:9/v1").ask(request))
    assert caught.value.reason == "unsendable"


def test_the_environments_proxy_is_used_but_not_on_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy is taken from the environment, and no_proxy is heeded."""
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1,inside")
    assert proxy_of("https://api.example/v1") == "http://proxy:3128"
    assert proxy_of("https://inside/v1") is None
    assert proxy_of("https://127.0.0.1:1/v1") is None


def test_no_key_in_any_repr() -> None:
    """The key appears in the repr of neither the model nor its address."""
    assert KEY not in repr(endpoint("http://127.0.0.1:9/v1"))
