"""``evaluand export`` as a user meets it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluand.bench.table import COLUMNS, WRITERS
from evaluand.cli.export import FORMATS
from evaluand.cli.main import main


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small bench without a model."""
    run = tmp_path_factory.mktemp("finished") / "run"
    arguments = ["--model", "scripted", "--tasks", "3", "--judge", "none"]
    arguments += ["--auditor", "none", "--conditions", "clean,tools"]
    assert main(["bench", "-o", str(run), *arguments]) == 0
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the small bench, to be written into."""
    return shutil.copytree(finished, tmp_path / "run")


def test_the_formats_are_those_that_can_be_written() -> None:
    """The command offers each writer, without importing one for its help."""
    assert list(FORMATS) == list(WRITERS)


@pytest.mark.parametrize("to", ["jsonl", "csv"])
def test_an_export_says_where_it_is(
    run: Path, capsys: pytest.CaptureFixture[str], to: str
) -> None:
    """The file stands in the run's folder, a row a sample and evaluator."""
    assert main(["export", str(run), "--to", to]) == 0
    path = run / f"export.{to}"
    assert capsys.readouterr().out == f"Wrote {path}: {3 * 2 * 4} rows\n"
    lines = path.read_bytes().splitlines()
    assert len(lines) >= 24


def test_an_export_goes_where_it_is_told(run: Path, tmp_path: Path) -> None:
    """With -o the file stands there, and none in the run's folder."""
    path = tmp_path / "rows.jsonl"
    before = sorted(run.iterdir())
    assert main(["export", str(run), "--to", "jsonl", "-o", str(path)]) == 0
    rows = [json.loads(line) for line in path.read_text("ascii").splitlines()]
    assert [list(row) for row in rows] == [list(COLUMNS)] * 24
    assert sorted(run.iterdir()) == before


def test_parquet_is_a_table(run: Path) -> None:
    """Parquet holds the same columns and rows."""
    parquet = pytest.importorskip(
        "pyarrow.parquet",
        reason="pyarrow isn't installed; run: pip install 'evaluand[parquet]'",
    )
    assert main(["export", str(run), "--to", "parquet"]) == 0
    table = parquet.read_table(run / "export.parquet")
    assert (table.column_names, table.num_rows) == (list(COLUMNS), 24)


def test_parquet_without_its_package_is_bad_input(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pyarrow the exit code is 2 and the message says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", str(run), "--to", "parquet"]) == 2
    assert "pip install 'evaluand[parquet]'" in capsys.readouterr().err
    assert not list(run.glob("*export*"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "xlsx"], "'xlsx' is not one of 'jsonl', 'csv', 'parquet'"),
        ([], "Missing option '--to'"),
        (["--to", "csv", "-o", "."], "expected a path for a file"),
    ],
)
def test_bad_options_are_named(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    """A wrong value says what was expected, with exit 2."""
    assert main(["export", str(run), *arguments]) == 2
    assert told in capsys.readouterr().err


def test_export_needs_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without a run says how to make one."""
    assert main(["export", str(tmp_path), "--to", "csv"]) == 2
    assert "evaluand bench -o" in capsys.readouterr().err


def test_a_damaged_store_is_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database that is none gives exit 5."""
    for name in ("run.sqlite-wal", "run.sqlite-shm"):
        (run / name).unlink(missing_ok=True)
    (run / "run.sqlite").write_bytes(b"not a database" * 400)
    assert main(["export", str(run), "--to", "csv"]) == 5
    assert "run.sqlite" in capsys.readouterr().err


def test_the_help_imports_nothing_that_it_does_not_need() -> None:
    """The command's help needs neither numpy nor pyarrow."""
    code = "import sys; from evaluand.cli.main import main; main(['export', '-h']); sys.exit(bool({'numpy', 'pyarrow', 'evaluand.bench.export'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert b"spreadsheet" in done.stdout
