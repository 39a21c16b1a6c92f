"""``evaluand report``: the summary and the page of a run, drawn again from its store."""

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print summary.json.")
def report(run: Path, as_json: bool) -> None:
    """Write report.html and summary.json of the run in folder RUN."""
    summary = write_report(run)
    if as_json:
        click.echo(json.dumps(summary, indent=1, sort_keys=True))
        return
    print_ladder(summary, run)


def write_report(run: Path) -> dict[str, Any]:
    """Write both files beside the store and return the summary."""
    from evaluand.bench.summary import derive
    from evaluand.report.page import render_page
    from evaluand.whole import write_whole

    derived = derive(run)
    text = json.dumps(derived.summary, indent=1, sort_keys=True, allow_nan=False)
    write_whole(run / "summary.json", f"{text}\n")
    write_whole(run / "report.html", render_page(derived.summary, derived.samples))
    return derived.summary


def print_ladder(summary: dict[str, Any], run: Path) -> None:
    """Print the ladder for a terminal and say where the page is."""
    from evaluand.report.text import ladder_text

    click.echo(ladder_text(summary))
    click.echo(f"Report: {run / 'report.html'}")
