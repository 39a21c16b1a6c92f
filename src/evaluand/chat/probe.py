"""Probes on a live endpoint: what of a chat it renders, cuts or takes for control."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace

from evaluand.chat.client import Endpoint, Model
from evaluand.chat.control import control_tokens, double_bos
from evaluand.chat.counting import NONCE, calibrate, front_kept, user
from evaluand.chat.fact import Fact
from evaluand.chat.local import LocalModel
from evaluand.chat.message import Request, Sampling
from evaluand.chat.observe import Observer
from evaluand.chat.rendering import (
    Chat,
    has_true_rendering,
    part_chats,
    part_in_count,
    part_in_text,
    settled,
    system_folded,
)
from evaluand.chat.transport import open_session
from evaluand.errors import InputError, ModelError, RequestRefusedError

LONG_WORDS = 4096
"""More than the smallest windows that servers cut to in silence, twice that too."""

_HELLO = Request(messages=(user("Hello"),), sampling=Sampling(max_tokens=1))


async def probe(model: Model, *, long_words: int = LONG_WORDS) -> dict[str, Fact]:
    """Return what an endpoint does with chats, by the names of the probes.

    Some 20 to 40 requests of one token each; the two longest have `long_words` and twice
    as many words. Where several URLs answer, each is probed.

    Args:
        model: Is asked, and not closed.
        long_words: At least 256.

    Returns:
        ``system``, ``tool_schema``, ``tool_call``, ``tool_result``: whether the part
        reaches the prompt. ``system_folded``: whether the system's text stands in the
        user's turn. ``front_kept``: whether long prompts are taken in full or
        refused. ``double_bos``: whether a chat begins with two. ``control_tokens``:
        whether those in a user's text become real.

    Raises:
        InputError: If the model has no endpoint, or can't be started.
        ModelError: If the endpoint doesn't answer at all.
    """
    if long_words < 256:
        msg = f"expected at least 256 words for the long prompt, got {long_words}"
        raise InputError(msg)
    endpoint = await _endpoint(model)
    found = [
        await _probe_one(endpoint, url, long_words)
        for url in endpoint.address.base_urls
    ]
    return {name: _agreed([facts[name] for facts in found]) for name in found[0]}


async def _endpoint(model: Model) -> Endpoint:
    if isinstance(model, LocalModel):
        return await model._ready()  # noqa: SLF001 - the child's address is its alone
    if isinstance(model, Endpoint):
        return model
    msg = f"{model.name} has no endpoint to probe; name one that answers over HTTP, or local:NAME"
    raise InputError(msg)


async def _probe_one(endpoint: Endpoint, url: str, long_words: int) -> dict[str, Fact]:
    """Probe one URL on connections of its own."""
    one = replace(
        endpoint,
        address=replace(endpoint.address, base_urls=(url,)),
        # a template that refuses a chat may answer 500, the same again and again
        attempts=2,
        keep_alive=False,
    )
    try:
        await _greet(one)
        async with open_session(one.timeout_s, keep_alive=False) as http:
            return await _facts(Observer(endpoint=one, http=http), long_words)
    finally:
        await one.close()


async def _greet(endpoint: Endpoint) -> None:
    """Raise if nothing answers, or the key, the model or the path is refused."""
    try:
        await endpoint.ask(_HELLO)
    except ModelError as error:
        if error.retryable or isinstance(error, RequestRefusedError):
            raise


async def _facts(observer: Observer, long_words: int) -> dict[str, Fact]:
    parts = part_chats(observer.endpoint.address.dialect)
    rate = await _rate(observer)
    all_parts = Chat(
        (*parts["system"](NONCE).messages[:1], *parts["tool_call"](NONCE).messages),
        parts["tool_schema"](NONCE).tools,
    )
    in_text = await _told(has_true_rendering(observer, all_parts))
    found = {
        name: await settled(
            part_in_text(observer, build)
            if in_text
            else part_in_count(observer, build, rate)
        )
        for name, build in parts.items()
    }
    return {
        **found,
        "system_folded": await settled(system_folded(observer)),
        "front_kept": await settled(front_kept(observer, rate, long_words)),
        "double_bos": await settled(double_bos(observer)),
        "control_tokens": await settled(control_tokens(observer)),
    }


async def _rate(observer: Observer) -> float:
    """Return the tokens of a word; without one, each count raises the reason."""
    try:
        return await calibrate(observer)
    except ModelError:
        return 1.0


async def _told(claim: Awaitable[bool]) -> bool:
    """Return a claim about routes beside the chat; a broken connection is none."""
    try:
        return await claim
    except ModelError:
        return False


def _agreed(facts: Sequence[Fact]) -> Fact:
    """Return what several URLs that ought to answer alike have in common."""
    if len({fact.answer for fact in facts}) == 1:
        return facts[0]
    told = "; ".join(f"{fact.answer} ({fact.detail})" for fact in facts)
    return Fact.unknown("replicas_differ", told)
