"""The rows that `store.py` writes: those of a bench on the reference stack."""

import json
from hashlib import sha256
from typing import Any

ROWS = 20_000
Row = tuple[dict[str, str], dict[str, Any]]


def key(*parts: object) -> str:
    """Return a key as evenly spread as a run's."""
    return sha256(repr(parts).encode()).hexdigest()


def exchanges() -> list[Row]:
    """Return exchanges with requests of about 1.4 kB."""
    from evaluand.bench.agent import agent
    from evaluand.bench.starter import reference_folder
    from evaluand.bench.suite import tasks
    from evaluand.chat.message import request_value
    from evaluand.identity.stack import load_stack
    from evaluand.store import json_text

    made = agent(load_stack(reference_folder(), model="scripted"))
    suite = tasks(42)
    texts = [json_text(request_value(made.request(task.prompt))) for task in suite]
    return [
        (
            {"key": key("exchange", n)},
            {
                "model": "http://127.0.0.1:8000/v1#qwen2.5-coder-1.5b",
                "request": texts[n % 120],
                "reply": json_text(suite[n % 120].answer),
                "reasoning": None,
                "tool_calls": None,
                "finish_reason": "stop",
                "provider": None,
                "served_model": "qwen2.5-coder-1.5b",
                "fingerprint": "fp_44709d6fcb",
                "prompt_tokens": 310,
                "completion_tokens": 5,
                "latency_s": 0.1234 + n / 1e7,
            },
        )
        for n in range(ROWS)
    ]


def samples() -> list[Row]:
    """Return samples, outputs of a few words."""
    fixed = {"pair": "qwen2.5-coder-1.5b -> qwen2.5-coder-0.5b", "seed": 42}
    return [
        (
            {"key": key("sample", n)},
            {
                **fixed,
                "condition": "postprocessor",
                "task": f"policy-{n % 28:02d}",
                "exchange": key("exchange", n),
                "output": json.dumps("DECISION: DENY"),
                "reason": "",
                "truncated": 0,
            },
        )
        for n in range(ROWS)
    ]


def scores() -> list[Row]:
    """Return scores, four a sample."""
    rules = [key("rule", n) for n in range(4)]
    return [
        (
            {"sample": key("sample", n // 4), "evaluator": rules[n % 4]},
            {"outcome": "pass", "reason": "", "value": None},
        )
        for n in range(ROWS)
    ]


TEXTS = {
    "exchange": (exchanges, ("request", "reply")),
    "sample": (samples, ("output",)),
    "score": (scores, ()),
}
