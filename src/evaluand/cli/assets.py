"""``evaluand models``: list, fetch and find the weights of the catalogue."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evaluand.assets.source import Progress


@click.group()
def models() -> None:
    """The model weights that evaluand knows, pinned by digest."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_models(as_json: bool) -> None:
    """List the catalogue and what of it is on this machine.

    The state is read off each file's size; ``models path`` checks every byte.
    """
    rows = _rows()
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        line = (
            "{name:<20} {state:<8} {megabytes:>7.1f} MB  {licence}  sha256 {sha256:.12}"
        )
        click.echo(line.format_map(row))


def _rows() -> list[dict[str, Any]]:
    from evaluand.assets.catalog import CATALOG
    from evaluand.assets.fetch import state_of

    return [
        {
            "name": asset.name,
            "file": asset.filename,
            "megabytes": round(asset.size / 1e6, 1),
            "bytes": asset.size,
            "licence": asset.licence,
            "state": state_of(asset.name),
            "sha256": asset.sha256,
        }
        for asset in CATALOG.values()
    ]


@models.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def pull(names: tuple[str, ...], as_json: bool) -> None:
    """Fetch weights into the cache, unless a verified copy is there already."""
    from evaluand.assets.catalog import asset_of
    from evaluand.assets.fetch import pull as fetch

    assets = [asset_of(name) for name in names]
    paths = {}
    for asset in assets:
        with _progress(asset.name) as on_progress:
            paths[asset.name] = fetch(asset.name, on_progress=on_progress)
    _print_paths(paths, as_json=as_json)


@models.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def path(name: str, as_json: bool) -> None:
    """Print where the weights are, after checking every byte."""
    from evaluand.assets.fetch import path_of

    _print_paths({name: path_of(name)}, as_json=as_json)


def _print_paths(paths: dict[str, Path], *, as_json: bool) -> None:
    from evaluand.assets.catalog import CATALOG

    if not as_json:
        click.echo("\n".join(map(str, paths.values())))
        return
    rows = [
        {"name": name, "path": str(path), "sha256": CATALOG[name].sha256}
        for name, path in paths.items()
    ]
    click.echo(json.dumps(rows, indent=2))


@contextmanager
def _progress(name: str) -> Iterator["Progress"]:
    """Show a bar on stderr while it is a terminal, else nothing."""
    from evaluand.assets.source import silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)

        def show(doing: str, done: int, total: int) -> None:
            bar.update(
                task, description=f"{name}: {doing}", completed=done, total=total
            )

        yield show
