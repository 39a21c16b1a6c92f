"""``evaluand doctor``: what an endpoint does with chats before a model sees them."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evaluand.chat.fact import Fact

_WIDTH = 80
_CLAIMS = {
    "system": "system prompt rendered",
    "system_folded": "  put into user's turn",
    "tool_schema": "tool schema rendered",
    "tool_call": "tool call rendered",
    "tool_result": "tool result rendered",
    "front_kept": "long prompt kept",
    "double_bos": "BOS doubled",
    "control_tokens": "control tokens live",
}


@click.command()
@click.argument("model")
@click.option(
    "--words",
    type=click.IntRange(min=256),
    default=4096,
    show_default=True,
    help="Words of a long prompt; another has twice as many.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for one attempt of a request.  [default: 600]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(model: str, words: int, timeout: float | None, *, as_json: bool) -> int:
    """Probe what the endpoint of MODEL renders, cuts and takes for control tokens.

    Sends some 20 to 40 requests of one token each. Exit codes: 0 nothing of a chat is
    changed in silence, as far as could be told; 1 something is; 2 bad input; 3 the
    endpoint gave no reply, or nothing could be told.
    """
    from evaluand.chat.fact import Answer, applicability, findings

    shown, facts = _probed(model, words, timeout)
    found = findings(facts)
    told = any(fact.answer is not Answer.UNKNOWN for fact in facts.values())
    code = 1 if found else 0 if told else 3
    tool_layouts = applicability(facts)
    if as_json:
        value = _document(shown, facts, found, tool_layouts, code)
        click.echo(json.dumps(value, indent=1))
        return code
    click.echo("\n".join(_lines(facts)))
    click.echo(f"\nTool layouts: {tool_layouts.replace('_', ' ')}")
    click.echo(f"Findings: {', '.join(dict.fromkeys(found.values())) or 'none'}")
    return code


def _probed(
    model: str, words: int, timeout_s: float | None
) -> tuple[str, dict[str, "Fact"]]:
    """Return the model's name without secrets, and what was found."""
    import asyncio

    from evaluand.bench.open import open_judge
    from evaluand.chat.probe import probe
    from evaluand.chat.resolve import Pace

    pace = Pace() if timeout_s is None else Pace(timeout_s=timeout_s)
    opened = open_judge(model, pace)

    async def run() -> dict[str, "Fact"]:
        try:
            return await probe(opened, long_words=words)
        finally:
            await opened.close()

    return opened.name, asyncio.run(run())


def _document(
    model: str,
    facts: Mapping[str, "Fact"],
    found: Mapping[str, str],
    tool_layouts: str,
    code: int,
) -> dict[str, Any]:
    return {
        "model": model,
        "facts": {
            name: {
                "answer": fact.answer.value,
                "reason": fact.reason,
                "how": fact.how,
                "detail": fact.detail,
            }
            for name, fact in facts.items()
        },
        "findings": dict(found),
        "tool_layouts": tool_layouts,
        "exit_code": code,
    }


def _lines(facts: Mapping[str, "Fact"]) -> Iterator[str]:
    yield f"{'probe':<24}{'answer':<9}observed by"
    for name, claim in _CLAIMS.items():
        fact = facts[name]
        answer, seen = fact.answer.value, fact.how or fact.reason
        yield f"{claim:<24}{answer:<9}{seen}"
        # what an endpoint said may hold what a terminal would act on
        detail = "".join(c if c.isprintable() else "?" for c in fact.detail)
        yield from textwrap.wrap(
            detail, _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
