"""Claims about probes, on a real llama.cpp child and on servers that misbehave."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from evaluand.assets.fetch import path_of
from evaluand.chat.client import Model
from evaluand.chat.counting import calibrate, filler
from evaluand.chat.fact import (
    TOOL_PARTS,
    Answer,
    Fact,
    applicability,
    findings,
    needs,
)
from evaluand.chat.lint import DIALECTS, lint
from evaluand.chat.local import open_local
from evaluand.chat.message import Message, Request, Sampling, ToolCall
from evaluand.chat.observe import Observer
from evaluand.chat.probe import probe
from evaluand.chat.rendering import part_chats, part_in_count
from evaluand.chat.resolve import resolve
from evaluand.chat.transport import open_session
from evaluand.errors import InputError, ModelError, RequestRefusedError

BOS, TURN = 1, 2
_TOKEN = re.compile(r"<s>|<\|im_end\|>|\w+|[^\w\s]")


@dataclass
class Fake:
    """A server with a tokenizer of words, which does to a chat what it is told.

    Args:
        drops: ``tools``, ``calls``, ``results`` or ``system``.
        window: Tokens kept from the end of a prompt; None keeps all.
        limit: Tokens above which it answers 400.
        usage: ``real``, ``none``, ``constant``, or ``fresh``: without cached tokens.
        routes: ``llama``, ``vllm``, ``pages`` for people, ``hangup``, or none.
        bos: What the template begins with.
        hides_drops: Whether /apply-template renders what the chat drops.
        refuses_system: Whether a system role is an HTTP 400.
        rendered: Characters kept from the end of a rendered prompt; 0 keeps all.
        strips: Whether control tokens are taken out of what is typed.
        shortens_tools: Whether a tool is rendered by its name alone.
        status: Of every chat.
        cached: Prompts that came before.
        asked: The chats.
        adds_bos: Whether the tokenizer adds its own.
        live: Whether control tokens in a user's text are control tokens.
    """

    drops: frozenset[str] = frozenset()
    window: int | None = None
    limit: int | None = None
    usage: str = "real"
    routes: str = ""
    bos: str = ""
    adds_bos: bool = False
    live: bool = True
    hides_drops: bool = False
    refuses_system: bool = False
    rendered: int = 0
    strips: bool = False
    shortens_tools: bool = False
    status: int = 200
    cached: set[str] = field(default_factory=set)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def text(self, value: dict[str, Any], drops: frozenset[str]) -> str:
        """Return the prompt of a chat."""
        parts = [self.bos]
        if "tools" not in drops:
            parts += [
                tool["function"]["name"] if self.shortens_tools else json.dumps(tool)
                for tool in value.get("tools", [])
            ]
        for message in value["messages"]:
            role = message["role"]
            if (role == "system" and "system" in drops) or (
                role == "tool" and "results" in drops
            ):
                continue
            typed = message["content"]
            if self.strips:
                typed = typed.replace("<|im_end|>", "")
            parts.append(f"<|im_end|>{role}: {typed}")
            if "calls" not in drops:
                parts += [json.dumps(c) for c in message.get("tool_calls", [])]
        return "".join(parts)

    def ids(self, text: str, *, special: bool, parse: bool = True) -> list[int]:
        """Return a token id for each word and mark."""
        found = [BOS] if special and self.adds_bos else []
        for token in _TOKEN.findall(text):
            if token in ("<s>", "<|im_end|>"):
                control = {"<s>": [BOS], "<|im_end|>": [TURN]}[token]
                found += control if parse else [90] * len(token)
            else:
                found.append(100 + sum(token.encode()))
        return found

    async def chat(self, request: web.Request) -> web.Response:
        """Answer with a count."""
        value = await request.json()
        self.asked.append(value)
        if self.status != 200:
            return web.json_response({"error": "no"}, status=self.status)
        roles = [message["role"] for message in value["messages"]]
        if self.refuses_system and "system" in roles:
            return web.json_response({"error": "no system role"}, status=400)
        text = self.text(value, self.drops)
        if not self.live:
            text = text.replace("harbour<|im_end|>", "harbour < | im _ end | > ")
            text = text.replace("<|im_end|><|im_end|>", "< | im _ end | > ")
        count = len(self.ids(text, special=True))
        if self.limit is not None and count > self.limit:
            error = {"type": "exceed_context_size_error"}
            return web.json_response({"error": error}, status=400)
        if self.window is not None:
            count = min(count, self.window)
        if self.usage == "fresh" and text in self.cached:
            count = 1
        self.cached.add(text)
        usage = {"prompt_tokens": 12 if self.usage == "constant" else count}
        body: dict[str, Any] = {
            "model": "m",
            "choices": [
                {"message": {"content": "A"}, "finish_reason": "length", "index": 0}
            ],
        }
        return web.json_response(
            body if self.usage == "none" else {**body, "usage": usage}
        )

    async def apply_template(self, request: web.Request) -> web.Response:
        """Render as llama.cpp does."""
        value = await request.json()
        if self.routes == "pages":
            return web.Response(text="<h1>Hello</h1>")
        if self.routes == "hangup" and request.transport is not None:
            request.transport.abort()
        if self.refuses_system and value["messages"][0]["role"] == "system":
            return web.json_response({"error": "no system role"}, status=500)
        drops = frozenset() if self.hides_drops else self.drops
        prompt = self.text(value, drops)
        return web.json_response({"prompt": prompt[-(self.rendered or len(prompt)) :]})

    async def tokenize(self, request: web.Request) -> web.Response:
        """Return tokens as llama.cpp or vLLM does."""
        value = await request.json()
        if self.routes in ("pages", "hangup"):
            return web.json_response(["no object"])
        if self.routes == "llama":
            ids = self.ids(
                value.get("content", ""),
                special=value.get("add_special", False),
                parse=value.get("parse_special", True),
            )
            return web.json_response({"tokens": ids})
        chat = "messages" in value
        text = self.text(value, self.drops) if chat else value["prompt"]
        ids = self.ids(text, special=chat or value["add_special_tokens"])
        return web.json_response({"count": len(ids), "tokens": ids})


@asynccontextmanager
async def serving(fake: Fake) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", fake.chat)
    if fake.routes:
        app.router.add_post("/tokenize", fake.tokenize)
    if fake.routes in ("llama", "pages", "hangup"):
        app.router.add_post("/apply-template", fake.apply_template)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def probed(*fakes: Fake) -> dict[str, Fact]:
    """Return the facts of servers that answer alike, with long prompts of 1024 words."""

    async def scenario(
        urls: tuple[str, ...], rest: tuple[Fake, ...]
    ) -> dict[str, Fact]:
        if rest:
            async with serving(rest[0]) as url:
                return await scenario((*urls, url), rest[1:])
        model = resolve(f"{','.join(urls)}#m", scripts={})
        try:
            return await probe(model, long_words=1024)
        finally:
            await model.close()

    return asyncio.run(scenario((), fakes))


def answers(facts: dict[str, Fact], *names: str) -> list[str]:
    return [facts[name].answer.value for name in names]


PARTS = ("system", *TOOL_PARTS)


def test_an_honest_server_shows_every_part_by_its_counts() -> None:
    """All four parts and the front are seen by token deltas, with one token asked for at temperature 0."""
    fake = Fake()
    facts = probed(fake)
    assert answers(facts, *PARTS, "front_kept") == ["yes"] * 5
    assert {facts[name].how for name in PARTS} == {"token_delta"}
    assert not findings(facts)
    assert applicability(facts) == "applicable"
    assert {(each["max_tokens"], each["temperature"]) for each in fake.asked} == {
        (1, 0)
    }


@pytest.mark.parametrize(
    ("dropped", "part"),
    [
        ("system", "system"),
        ("tools", "tool_schema"),
        ("calls", "tool_call"),
        ("results", "tool_result"),
    ],
)
@pytest.mark.parametrize("routes", ["", "llama"])
def test_a_dropped_part_is_found_and_no_other(
    dropped: str, part: str, routes: str
) -> None:
    """One part that is dropped with HTTP 200 is a no; the others stay yes."""
    facts = probed(Fake(drops=frozenset({dropped}), routes=routes))
    assert [name for name in PARTS if facts[name].answer is Answer.NO] == [part]
    assert facts[part].how == ("apply_template" if routes else "token_delta")
    reason = "system_not_rendered" if part == "system" else "tools_not_rendered"
    assert findings(facts) == {part: reason}
    expected = "applicable" if part == "system" else "not_applicable"
    assert applicability(facts) == expected


def test_a_proxy_that_passes_the_rendering_on_is_not_believed() -> None:
    """Tools dropped from the chat alone are found though /apply-template renders them."""
    fake = Fake(drops=frozenset({"tools"}), hides_drops=True, routes="llama")
    fact = probed(fake)["tool_schema"]
    assert (fact.answer, fact.how) == (Answer.NO, "token_delta")


@pytest.mark.parametrize("window", [900, 1500])
def test_a_prompt_cut_at_the_front_is_found(window: int) -> None:
    """A count that stops growing is input_truncated, whether the first long prompt is cut or the second."""
    facts = probed(Fake(window=window))
    assert facts["front_kept"].answer is Answer.NO
    assert findings(facts) == {"front_kept": "input_truncated"}


def test_a_front_that_is_lost_in_the_rendering_is_found() -> None:
    """A sentinel at the front that isn't rendered needs no counts to be missed."""
    fact = probed(Fake(routes="llama", usage="none", rendered=5000))["front_kept"]
    assert (fact.answer, fact.how) == (Answer.NO, "apply_template")


@pytest.mark.parametrize("limit", [900, 1500])
def test_a_refused_long_prompt_is_not_cut(limit: int) -> None:
    """An HTTP 400 that says too long is no finding."""
    fact = probed(Fake(limit=limit))["front_kept"]
    assert (fact.answer, fact.how) == (Answer.YES, "token_delta")
    assert "refused as too long" in fact.detail


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        ("none", "no_usage"),
        ("constant", "count_insensitive"),
        ("fresh", "count_unstable"),
    ],
)
def test_counts_that_say_nothing_are_no_finding(usage: str, reason: str) -> None:
    """Without usage, or with a constant or cache-dependent one, all is unknown for that reason."""
    facts = probed(Fake(usage=usage, drops=frozenset({"tools", "system"})))
    names = (*PARTS, "front_kept", "control_tokens")
    assert {facts[name].reason for name in names} == {reason}
    assert facts["double_bos"].reason == "no_tokenizer"
    assert not findings(facts)
    assert applicability(facts) == "unknown"


def test_a_rendering_needs_no_counts_but_cannot_show_a_kept_front() -> None:
    """Without usage parts are still seen in the rendered text; a cut after it is not."""
    facts = probed(Fake(usage="none", routes="llama"))
    assert answers(facts, *PARTS) == ["yes"] * 4
    assert facts["front_kept"].reason == "no_usage"


def test_a_refused_system_role_is_unknown() -> None:
    """A server that refuses a part aloud didn't drop it."""
    facts = probed(Fake(refuses_system=True))
    assert facts["system"].reason == "request_rejected"
    assert answers(facts, *TOOL_PARTS) == ["yes"] * 3


@pytest.mark.parametrize("routes", ["llama", "vllm"])
@pytest.mark.parametrize(
    ("bos", "adds", "answer"),
    [
        ("<s>", True, "yes"),
        ("<s>", False, "no"),
        ("", True, "no"),
        ("<s><s>", False, "unknown"),
    ],
)
def test_a_doubled_bos_is_found(routes: str, bos: str, adds: bool, answer: str) -> None:
    """A BOS from the template and another from the tokenizer are two; one alone is not."""
    facts = probed(Fake(routes=routes, bos=bos, adds_bos=adds))
    fact = facts["double_bos"]
    assert fact.answer == answer
    assert fact.reason == ("unexpected_tokens" if answer == "unknown" else "")
    assert ("double_bos" in findings(facts)) == (answer == "yes")


def test_typed_control_tokens_are_found_by_either_way() -> None:
    """The tokenizer's route tells it, and so does a run that counts one token each."""
    by_tokenizer = probed(Fake(routes="llama"))["control_tokens"]
    by_count = probed(Fake())["control_tokens"]
    assert (by_tokenizer.answer, by_tokenizer.how) == (Answer.YES, "tokenize")
    assert (by_count.answer, by_count.how) == (Answer.YES, "token_delta")


def test_control_tokens_read_literally_are_unknown_without_a_tokenizer() -> None:
    """If none counts as one token, the model's own may be another."""
    fact = probed(Fake(live=False))["control_tokens"]
    assert fact.reason == "no_known_control_token"


def test_control_tokens_that_are_taken_out_are_not_live() -> None:
    """A rendered prompt without what the user typed is a no."""
    fact = probed(Fake(routes="llama", strips=True))["control_tokens"]
    assert (fact.answer, fact.how) == (Answer.NO, "apply_template")


def test_a_part_that_arrives_by_half_is_unknown() -> None:
    """Tools rendered by name alone add tokens, but not those of their descriptions."""
    fact = probed(Fake(shortens_tools=True))["tool_schema"]
    assert fact.reason == "unexpected_delta"
    assert "without the part" in fact.detail


def test_a_template_that_refuses_a_chat_leaves_its_part_to_the_counts() -> None:
    """Where no rendering comes the fact is unknown, and the other parts are not."""
    facts = probed(Fake(routes="llama", refuses_system=True))
    assert facts["system"].answer is Answer.UNKNOWN
    assert facts["system_folded"].reason == "no_rendering"
    assert answers(facts, *TOOL_PARTS) == ["yes"] * 3


@pytest.mark.parametrize("routes", ["pages", "hangup"])
def test_other_routes_that_break_leave_the_counts(routes: str) -> None:
    """A page for people or a broken connection there is no fact about the chat."""
    facts = probed(Fake(routes=routes))
    assert answers(facts, *PARTS) == ["yes"] * 4
    assert {facts[name].how for name in PARTS} == {"token_delta"}
    assert facts["double_bos"].answer is Answer.UNKNOWN


def test_replicas_that_differ_have_no_common_answer() -> None:
    """Each URL is probed; two answers make an unknown, and name both."""
    facts = probed(Fake(), Fake(drops=frozenset({"tools"})))
    assert facts["tool_schema"].reason == "replicas_differ"
    assert "yes" in facts["tool_schema"].detail
    assert answers(facts, "system", "tool_call") == ["yes", "yes"]


def test_an_endpoint_that_refuses_everything_is_an_error() -> None:
    """A wrong key is no fact about tools."""
    with pytest.raises(RequestRefusedError, match="refused the key"):
        probed(Fake(status=401))


def test_a_model_without_an_endpoint_is_refused() -> None:
    """A script renders nothing; and too short a long prompt proves nothing."""
    script = resolve("scripted:x", scripts={"x": lambda _: "A"})
    with pytest.raises(InputError, match="no endpoint to probe"):
        asyncio.run(probe(script))
    with pytest.raises(InputError, match="at least 256 words"):
        asyncio.run(probe(script, long_words=9))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
def test_probing_chats_can_be_sent_to_every_provider(dialect: Any) -> None:
    """No provider's rules are broken by a chat that probes."""
    for build in part_chats(dialect).values():
        assert not lint(build(filler(3)).messages, dialect)


def test_a_layouts_parts_are_read_off_its_request() -> None:
    """What a request needs is what it holds, and one missing part is enough."""
    call = ToolCall(id="call_1", name="look", arguments="{}")
    messages = (
        Message(role="user", content="Go."),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content="4", tool_call_id="call_1"),
    )
    request = Request(messages=messages, sampling=Sampling())
    assert needs(request) == ("tool_call", "tool_result")
    yes = Fact.of(True, "token_delta", "")
    facts = {"tool_call": Fact.of(False, "token_delta", ""), "tool_result": yes}
    assert applicability(facts, needs(request)) == "not_applicable"
    assert applicability(facts, ["tool_result"]) == "applicable"
    assert applicability(facts, ["tool_result", "system"]) == "unknown"
    assert applicability({}, ()) == "applicable"


def test_a_fact_is_neither_a_truth_value_nor_half_told() -> None:
    """Unknown has a reason, yes and no say how they were seen, and none is a bool."""
    with pytest.raises(TypeError, match="three answers"):
        bool(Fact.of(True, "tokenize", ""))
    with pytest.raises(ValueError, match="unknown has a reason"):
        Fact(answer=Answer.UNKNOWN)
    with pytest.raises(ValueError, match="unknown has a reason"):
        Fact(answer=Answer.YES, reason="no_usage", how="tokenize")


@pytest.fixture(scope="session")
def weights() -> Path:
    try:
        return path_of("smollm2-135m")
    except InputError as error:
        pytest.skip(f"needs real weights: {error}")


def local(weights: Path, template: str | None = None) -> Model:
    return open_local(
        "local:smollm2-135m", weights=weights, template=template, alias="smollm2-135m"
    )


async def closing(model: Model, **options: int) -> dict[str, Fact]:
    try:
        return await probe(model, **options)
    finally:
        await model.close()


@pytest.mark.slow
def test_smollm2_drops_schemas_and_calls_and_keeps_results(weights: Path) -> None:
    """The real template's silent losses are found, so a tool layout doesn't apply."""
    facts = asyncio.run(closing(local(weights), long_words=512))
    assert answers(facts, *PARTS) == ["yes", "no", "no", "yes"]
    assert {facts[name].how for name in PARTS} == {"apply_template"}
    assert applicability(facts) == "not_applicable"
    assert facts["system_folded"].answer is Answer.NO
    assert answers(facts, "front_kept", "double_bos", "control_tokens") == [
        "yes",
        "no",
        "yes",
    ]
    assert "of about" in facts["front_kept"].detail, "both lengths fit 4096 tokens"


@pytest.mark.slow
def test_real_counts_tell_the_same_as_the_real_rendering(weights: Path) -> None:
    """On smollm2 token deltas give the four answers that /apply-template gives."""

    async def scenario() -> list[str]:
        model = open_local("local:x", weights=weights, template=None, alias="x")
        try:
            endpoint = await model._ready()
            async with open_session(60, keep_alive=False) as http:
                observer = Observer(endpoint=endpoint, http=http)
                rate = await calibrate(observer)
                chats = part_chats(endpoint.address.dialect)
                found = [await part_in_count(observer, c, rate) for c in chats.values()]
                await endpoint.close()
                return [fact.answer.value for fact in found]
        finally:
            await model.close()

    assert asyncio.run(scenario()) == ["yes", "no", "no", "yes"]


@pytest.mark.slow
def test_a_real_server_refuses_what_does_not_fit(weights: Path) -> None:
    """llama.cpp's 400 counts as refused, not as cut."""
    fact = asyncio.run(closing(local(weights)))["front_kept"]
    assert fact.answer is Answer.YES
    assert "4096 words were refused as too long" in fact.detail


@pytest.mark.slow
def test_a_real_template_with_tools_shows_them(weights: Path) -> None:
    """With a template that writes schemas, calls and results a tool layout applies."""
    template = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    facts = asyncio.run(closing(local(weights, template), long_words=256))
    assert answers(facts, *PARTS, "system_folded") == ["yes"] * 4 + ["no"]
    assert applicability(facts) == "applicable"
    assert not findings(facts)


@pytest.mark.slow
def test_a_real_template_that_refuses_a_system_role_is_folded(weights: Path) -> None:
    """llama.cpp moves the system's text into the user's turn in silence: that is found."""
    template = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    facts = asyncio.run(closing(local(weights, template), long_words=256))
    assert answers(facts, "system", "system_folded") == ["yes", "yes"]
    assert findings(facts)["system_folded"] == "system_folded"


def test_a_change_of_who_answers_is_noticed() -> None:
    """Counts of two served models are not compared."""

    async def scenario() -> None:
        names = iter(["a", "b"])

        async def answer(_: web.Request) -> web.Response:
            choice = {"message": {"content": "A"}, "finish_reason": "length"}
            usage = {"prompt_tokens": 9}
            body = {"model": next(names), "choices": [choice], "usage": usage}
            return web.json_response(body)

        fake = Fake()
        fake.chat = answer  # type: ignore[assignment,method-assign]
        async with serving(fake) as url, open_session(9, keep_alive=False) as http:
            endpoint: Any = resolve(f"{url}#m", scripts={})
            observer = Observer(endpoint=endpoint, http=http)
            hello = [Message(role="user", content="Hi")]
            assert await observer.count(hello) == 9
            with pytest.raises(ModelError, match="can't be compared") as caught:
                await observer.count(hello)
            assert caught.value.reason == "served_differs"
            await endpoint.close()

    asyncio.run(scenario())
