"""``evaluand export``: a run's rows for other tools."""

from pathlib import Path

import click

FORMATS = ("jsonl", "csv", "parquet")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--to", type=click.Choice(FORMATS), required=True, help="The file's format."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The file.  [default: export.FORMAT in RUN]",
)
def export(run: Path, to: str, output: Path | None) -> None:
    """Write one row for each planned sample and evaluator of the run in folder RUN.

    JSON lines are ASCII. CSV holds NUL as ␛0000, a lone surrogate as ␛d800, an empty
    text where it isn't null as ␛e, and ␛ itself doubled; Parquet likewise, where UTF-8
    has no form. Nothing else is altered: to a spreadsheet, a text that begins with =,
    +, - or @ is a formula, so import it as text.
    """
    from evaluand.bench.export import export as write

    done = write(run, to, output)
    click.echo(f"Wrote {done.path}: {done.rows} rows")
