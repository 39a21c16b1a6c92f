"""The peers of `chat_overhead.py`, in a python that has them and not evaluand."""

import asyncio
import json
import os

import measure
from chat_server import CALLS, MAX_TOKENS, WARM_UP, messages, per_call, pin, timed
from measure import Measured


def raw_aiohttp(url: str, system: str, in_flight: int) -> Measured:
    """Post and parse, nothing else: the floor."""
    import aiohttp

    async def run() -> Measured:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(number: int) -> None:
                body = {
                    "model": "stub",
                    "messages": messages(system, number),
                    "temperature": 0,
                    "max_tokens": MAX_TOKENS,
                    "seed": 1,
                }
                where = f"{url}/chat/completions"
                async with session.post(where, json=body) as response:
                    value = await response.json()
                    assert value["choices"][0]["message"]["content"]

            return await timed(ask, in_flight)

    pin(0)
    return per_call(asyncio.run(run()))


def openai(url: str, system: str, in_flight: int) -> Measured:
    """Ask through the OpenAI SDK."""
    from openai import AsyncOpenAI  # type: ignore[import-not-found, unused-ignore]

    async def run() -> Measured:
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def ask(number: int) -> None:
                found = await client.chat.completions.create(
                    model="stub",
                    messages=messages(system, number),
                    temperature=0,
                    max_tokens=MAX_TOKENS,
                    seed=1,
                )
                assert found.choices[0].message.content

            return await timed(ask, in_flight)

    pin(0)
    return per_call(asyncio.run(run()))


def inspect_ai(url: str, system: str, in_flight: int) -> Measured:
    """Ask through Inspect's `get_model().generate()`, outside of a task."""
    from inspect_ai.model import (  # type: ignore[import-not-found, unused-ignore]
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        get_model,
    )

    os.environ["STUB_API_KEY"] = "none"
    config = GenerateConfig(
        max_connections=in_flight, temperature=0, max_tokens=MAX_TOKENS, seed=1
    )

    async def run() -> Measured:
        model = get_model("openai-api/stub/stub", base_url=url, config=config)

        async def ask(number: int) -> None:
            head, user = messages(system, number)
            found = await model.generate(
                [
                    ChatMessageSystem(content=head["content"]),
                    ChatMessageUser(content=user["content"]),
                ]
            )
            assert found.completion

        return await timed(ask, in_flight)

    pin(0)
    return per_call(asyncio.run(run()))


def lm_eval(url: str, system: str, in_flight: int) -> Measured:
    """Ask through lm-eval's `local-chat-completions`, which runs a batch by itself."""
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found, unused-ignore]
    from lm_eval.models.api_models import JsonChatStr  # type: ignore[import-not-found, unused-ignore]
    from lm_eval.models.openai_completions import LocalChatCompletion  # type: ignore[import-not-found, unused-ignore]

    pin(0)
    model = LocalChatCompletion(
        base_url=f"{url}/chat/completions",
        model="stub",
        num_concurrent=in_flight,
        tokenizer_backend=None,
        eos_string="</s>",
    )

    def ask(numbers: range) -> None:
        settings = {"until": [], "max_gen_toks": MAX_TOKENS, "temperature": 0}
        asked = [
            Instance(
                request_type="generate_until",
                doc={},
                arguments=(JsonChatStr(json.dumps(messages(system, n))), settings),
                idx=n,
            )
            for n in numbers
        ]
        assert all(model.generate_until(asked, disable_tqdm=True))

    ask(range(CALLS, CALLS + WARM_UP))
    with measure.clock() as cost:
        ask(range(CALLS))
    return per_call(cost)
