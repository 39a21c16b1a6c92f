"""CPU time of one chat call: request, HTTP, parsing, store, verdict, beside the peers.

The server sleeps 5 ms and answers the same; it runs in a process and on a core of its
own. Every client asks the same 5,000 questions, also in a process of its own. The peers
ask and parse; ours also keeps the exchange, judges the reply and keeps the score.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chat_peers
import chat_server
import measure
from chat_server import CALLS, MAX_TOKENS, WARM_UP, per_call, pin, prompt
from measure import Measured

IN_FLIGHT = (32, 128)
PEERS = ("raw_aiohttp", "openai", "inspect_ai", "lm_eval")
# the cheap clients are measured in turns, and the run of the middle CPU time counts
REPEATED = ("evaluand", "raw_aiohttp", "lm_eval")
REPEATS = 3


def evaluand(url: str, system: str, in_flight: int) -> Measured:
    """Ask through `Asker` with a store on disk, judge by rule, keep the score."""
    from evaluand.bench.rules import RULES
    from evaluand.bench.run import _row
    from evaluand.bench.task import Task
    from evaluand.chat.message import Message, Request, Sampling
    from evaluand.chat.resolve import Pace, resolve
    from evaluand.engine import local
    from evaluand.engine.ask import Asker
    from evaluand.store import Store

    model = resolve(f"{url}#stub", scripts={}, pace=Pace(concurrency=in_flight))
    sampling, rule = Sampling(max_tokens=MAX_TOKENS), RULES["strict"]

    async def run(store: Store) -> Measured:
        asker = Asker(store)

        async def ask(number: int) -> None:
            task = Task(
                id=f"policy-{number}",
                family="policy",
                prompt=prompt(number),
                expected="DENY",
            )
            head = Message(role="system", content=system)
            user = Message(role="user", content=f"Request:\n{task.prompt}")
            request = Request(messages=(head, user), sampling=sampling)
            answer = await asker.ask(model, request)
            key = {"sample": answer.key, "evaluator": rule.digest}
            store.put("score", key, _row(rule.assess(task, answer.text)))

        warm = range(CALLS, CALLS + WARM_UP)
        try:
            await local.run(warm, ask, concurrency=in_flight)
            with measure.clock() as cost:
                await local.run(range(CALLS), ask, concurrency=in_flight)
        finally:
            await model.close()
        assert asker.counts["asked"] == CALLS + WARM_UP
        return cost

    pin(0)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s") as store:
        return per_call(asyncio.run(run(store)))


@contextmanager
def server() -> Iterator[str]:
    """Yield the base URL of a server in its own process."""
    command = [sys.executable, __file__, measure.CHILD, "serve", "{}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def reference_system() -> str:
    """Return the reference stack's system message: system prompt and tool list."""
    from evaluand.bench.agent import agent
    from evaluand.bench.starter import reference_folder
    from evaluand.identity.stack import load_stack

    return agent(load_stack(reference_folder(), model="scripted")).system


def middle(runs: list[Measured]) -> Measured:
    """Return the run of the middle CPU time, or the first that has none."""
    broken = [each for each in runs if "reason" in each]
    ordered = sorted(runs, key=lambda each: each.get("cpu_ms_per_call", 0))
    return broken[0] if broken else ordered[len(ordered) // 2]


def run(peers: str | None) -> None:
    """Measure every client against one server."""
    system = reference_system()
    rows: dict[str, Measured] = {}
    with server() as url:
        for count in IN_FLIGHT:
            given = {"url": url, "system": system, "in_flight": count}
            runs: dict[str, list[Measured]] = {}
            for turn in range(REPEATS):
                for name in ("evaluand", *PEERS):
                    own = name in ("evaluand", "raw_aiohttp")
                    python = sys.executable if own else peers
                    if turn == 0 or name in REPEATED:
                        found = measure.child(python, name, **given)
                        runs.setdefault(name, []).append(found)
            rows |= {f"{name} {count}": middle(each) for name, each in runs.items()}
    measure.report(
        "chat_overhead",
        rows,
        {str(n): rows[f"evaluand {n}"] for n in IN_FLIGHT},
        {f"{p} {n}": measure.known(rows[f"{p} {n}"]) for n in IN_FLIGHT for p in PEERS},
        {
            f"cpu vs {p} {n}": measure.over(
                rows[f"evaluand {n}"], rows[f"{p} {n}"], "cpu_ms_per_call"
            )
            for n in IN_FLIGHT
            for p in PEERS
        },
    )


if __name__ == "__main__":
    measure.main(
        run,
        evaluand=evaluand,
        serve=chat_server.serve,
        raw_aiohttp=chat_peers.raw_aiohttp,
        openai=chat_peers.openai,
        inspect_ai=chat_peers.inspect_ai,
        lm_eval=chat_peers.lm_eval,
    )
