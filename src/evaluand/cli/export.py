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

    JSON lines are ASCII, escaped by JSON's own rules. In CSV, U+241B is an escape
    character: it is doubled, and followed by 0000 it is NUL, by d800 to dfff a lone
    surrogate, by e an empty text that isn't null. In Parquet it is the same for
    surrogates alone, and needs the extra: pip install 'evaluand[parquet]'.

    Nothing else is altered. To a spreadsheet, a text that begins with =, +, - or @ is
    a formula, so import such columns as text.
    """
    from evaluand.bench.export import export as write

    done = write(run, to, output)
    click.echo(f"Wrote {done.path}: {done.rows} rows")
