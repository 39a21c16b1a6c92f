"""``evaluand bench tasks`` and ``score``: a stack that runs elsewhere, scored here."""

import json
from pathlib import Path
from typing import Any

import click

RULES = "standard,strict,forensic,canary"


def names(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


@click.command("tasks")
@click.argument("suite", default="dib")
def tasks(suite: str) -> int:
    """Print the tasks of SUITE (dib or dib:SEED), one JSON object a line.

    Answer each prompt with the stack that you have, and give what came of it to
    evaluand bench score.
    """
    from evaluand.bench.score import suite_tasks

    for task in suite_tasks(suite):
        row = {"task": task.id, "family": task.family, "prompt": task.prompt}
        click.echo(json.dumps(row))
    return 0


@click.command()
@click.argument("suite")
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option("--evaluators", "rules", callback=names, default=RULES, show_default=True)
@click.option("--judge", "judges", multiple=True, help="A judge; may be repeated.")
@click.option(
    "--auditor", "auditors", multiple=True, help="An auditor; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line an outcome.")
def score(suite: str, outputs: Path, *, as_json: bool, **options: Any) -> int:
    """Score outputs that you have already, without running a stack.

    SUITE is dib or dib:SEED (42 if none is given). OUTPUTS.jsonl holds one JSON
    object a line: {"task": "fact-01", "output": "ANSWER: ..."}.
    """
    from evaluand.bench.score import read_outputs, score_outputs, tallies

    pairs = read_outputs(suite, outputs)
    scored = score_outputs(
        pairs, options["rules"], options["judges"], options["auditors"]
    )
    rows = scored.rows
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, sort_keys=True))
    else:
        click.echo("\n".join(tallies(rows)))
    if scored.failures:
        click.echo(
            f"evaluand: {len(scored.failures)} verdicts have no reply, the last: {scored.failures[-1]}",
            err=True,
        )
        return 3
    return 0
