"""Claims about ``evaluand models``."""

import hashlib
import json
import os
import select
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import click
import pytest
from click.testing import CliRunner

from evaluand.assets.catalog import CATALOG, Asset
from evaluand.cli.assets import models
from evaluand.errors import InputError

CONTENT = b"weights"


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put one tiny file of the catalogue into an otherwise empty cache."""
    asset = Asset(
        name="tiny",
        filename="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="CC0-1.0",
        hub=("someone/tiny", "tiny.gguf"),
        wheels=(),
    )
    monkeypatch.setitem(CATALOG, "tiny", asset)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("EVALUAND_MODELS", raising=False)
    path = tmp_path / "evaluand" / "models" / "tiny.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return path


def said(*arguments: str) -> str:
    result = CliRunner().invoke(models, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def said_json(*arguments: str) -> Any:
    return json.loads(said(*arguments, "--json"))


def test_list_shows_every_model_and_what_is_here() -> None:
    """Name, file, size, licence, state and digest of each, as text and as JSON."""
    rows = {row["name"]: row for row in said_json("list")}
    assert list(rows) == list(CATALOG)
    assert rows["tiny"] == {
        "name": "tiny",
        "file": "tiny.gguf",
        "megabytes": 0.0,
        "bytes": 7,
        "licence": "CC0-1.0",
        "state": "present",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
    }
    assert rows["qwen2.5-coder-1.5b"]["state"] == "absent"
    lines = said("list").splitlines()
    assert len(lines) == len(CATALOG)
    digest = CATALOG["qwen2.5-coder-1.5b"].sha256
    assert f"1117.3 MB  Apache-2.0  sha256 {digest[:12]}" in lines[2]
    assert max(map(len, lines)) <= 80


def test_path_prints_a_checked_path(cached: Path) -> None:
    """The path is printed after the check; a changed file is refused."""
    assert said("path", "tiny") == f"{cached}\n"
    digest = hashlib.sha256(CONTENT).hexdigest()
    expected = [{"name": "tiny", "path": str(cached), "sha256": digest}]
    assert said_json("path", "tiny") == expected
    cached.write_bytes(b"Weights")
    with pytest.raises(InputError, match="evaluand models pull tiny"):
        said("path", "tiny")


def test_pull_takes_several_names_and_tells_their_paths(cached: Path) -> None:
    """What is there already is checked and told, one path a line, with no progress off a terminal."""
    assert said("pull", "tiny", "tiny") == f"{cached}\n"
    assert said_json("pull", "tiny")[0]["path"] == str(cached)


def test_an_unknown_name_pulls_nothing(cached: Path) -> None:
    """A misspelt name is an error before the first byte is fetched."""
    cached.unlink()
    with pytest.raises(InputError, match="no weights are called 'tinny'"):
        said("pull", "tiny", "tinny")


class Files(SimpleHTTPRequestHandler):
    """Serves a folder."""

    def log_message(self, *_: Any) -> None:
        """Say nothing of requests."""


def test_progress_is_shown_on_a_terminal(
    cached: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a terminal as stderr a bar says what is fetched; stdout holds the path alone."""
    served = tmp_path / "someone/tiny/resolve/main/tiny.gguf"
    served.parent.mkdir(parents=True)
    cached.rename(served)
    ours, theirs = os.openpty()
    files = partial(Files, directory=str(tmp_path))
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), files) as hub,
        os.fdopen(theirs, "w") as terminal,
    ):
        thread = Thread(target=hub.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{hub.server_port}")
        monkeypatch.setattr(sys, "stderr", terminal)
        models.main(["pull", "tiny"], standalone_mode=False)
        terminal.flush()
        # a terminal hands its output on piece by piece
        pieces = []
        while select.select([ours], [], [], 0.5)[0]:
            pieces.append(os.read(ours, 100_000))
        shown = b"".join(pieces).decode()
        hub.shutdown()
        thread.join()
    os.close(ours)
    assert "tiny: hub" in shown
    assert capsys.readouterr().out == f"{cached}\n"
    assert cached.read_bytes() == CONTENT


@pytest.mark.parametrize("command", [models, *models.commands.values()])
def test_every_command_has_help(command: click.Command) -> None:
    """Each command says in one line what it does."""
    assert command.help
    assert CliRunner().invoke(command, ["--help"]).exit_code == 0
