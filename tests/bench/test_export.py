"""Exported rows: what the store holds, exactly, in every format."""

import csv
import io
import json
import os
import shutil
import sqlite3
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.bench.export import export
from evaluand.bench.load import load
from evaluand.bench.table import (
    COLUMNS,
    EMPTY,
    ESCAPE,
    WRITERS,
    Row,
    _groups,
    escape,
    unescape,
    write_csv,
    write_jsonl,
    write_parquet,
)
from evaluand.errors import EvaluandError, InputError, IntegrityError, StoreError
from evaluand.outcome import Outcome, Status
from evaluand.store import json_text

CONDITIONS = ("clean", "model", "postprocessor")
AWKWARD = [
    "",
    "\0",
    "a\x85b\u2028c\u2029d\x0b\x0c\x1c\x1d\x1e",
    "\r",
    "a\rb\r\nc\n\rd\n",
    "\ud800",
    "\udfff\0\ud83d",
    "\ufeff",
    "\ufffe\uffff\U0010ffff",
    "\N{SYMBOL FOR ESCAPE}",
    "\N{SYMBOL FOR ESCAPE}0000",
    "\N{SYMBOL FOR ESCAPE}e",
    "\N{SYMBOL FOR ESCAPE}\0\N{SYMBOL FOR ESCAPE}\ud800e",
    "\\u0000 \\N \\\\",
    '"',
    '","\r\n"',
    " a , b ",
    "=1+1",
    "+A1",
    "-2",
    "@SUM(A1)",
    "null",
    "NaN",
    "0001",
]
_PYARROW = "pyarrow isn't installed; run: pip install 'evaluand[parquet]'"

any_text = st.sampled_from(AWKWARD) | st.text(
    st.characters(exclude_categories=())
    | st.sampled_from(["\0", "\r", "\n", "\x85", "\u2028", "\ud800", ESCAPE, "e", '"'])
)
# A high surrogate before a low one is a character to JSON, in the store too.
json_kept = any_text.map(lambda text: json.loads(json.dumps(text)))
number = st.integers(0, 2**53 - 1)


def table(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    """Return lists of rows whose texts are drawn from a strategy."""
    kinds: dict[type, st.SearchStrategy[Any]] = {
        str: st.none() | text,
        int: st.none() | number,
        bool: st.none() | st.booleans(),
        object: st.none() | text | number | st.floats(allow_nan=False, width=32),
    }
    kinds[object] = kinds[object].filter(lambda value: value not in (1e999, -1e999))
    columns = {name: kinds[kind] for name, kind in COLUMNS.items()}
    columns |= {"sample_reason": text, "reason": text}
    # Hypothesis varies the order of keys, which is no part of the contract
    row = st.fixed_dictionaries(columns).map(
        lambda found: {n: found[n] for n in COLUMNS}
    )
    return st.lists(row, max_size=4)


def read_jsonl(content: bytes) -> list[Row]:
    r"""Return the rows of JSON lines, split at \n alone."""
    lines = content.decode("ascii").split("\n")
    assert lines.pop() == ""
    return [json.loads(line) for line in lines]


def read_csv(content: bytes) -> list[Row]:
    """Return the rows of a CSV file as its docstring says to read it."""
    text = io.StringIO(content.decode("utf-8"), newline="")
    names, *lines = csv.reader(text, strict=True)
    assert names == list(COLUMNS)
    return [
        {name: read_cell(name, cell) for name, cell in zip(names, line, strict=True)}
        for line in lines
    ]


def read_cell(name: str, cell: str) -> Any:
    """Return what a CSV cell stands for."""
    if cell == "" and name not in ("reason", "sample_reason"):
        return None
    return unescape(cell) if COLUMNS[name] is str else json.loads(cell)


def read_parquet(content: bytes) -> list[Row]:
    """Return the rows of a Parquet file as its docstring says to read it."""
    parquet = pytest.importorskip("pyarrow.parquet", reason=_PYARROW)
    rows: list[Row] = parquet.read_table(io.BytesIO(content)).to_pylist()
    for row in rows:
        for name, value in row.items():
            if value is not None and COLUMNS[name] is str:
                row[name] = unescape(value)
        row["value"] = row["value"] and json.loads(row["value"])
    return rows


READERS = {"jsonl": read_jsonl, "csv": read_csv, "parquet": read_parquet}


def needs(to: str) -> None:
    """Skip what this machine has no package for."""
    if to == "parquet":
        pytest.importorskip("pyarrow", reason=_PYARROW)


def written(write: Callable[[Any, list[Row]], int], rows: list[Row]) -> bytes:
    """Return a file's bytes."""
    file = io.BytesIO()
    assert write(file, rows) == len(rows)
    return file.getvalue()


class TestTexts:
    """No text is altered on its way out and back."""

    @given(any_text)
    def test_an_escape_is_undone(self, text: str) -> None:
        """Every text has an escape in UTF-8 that reads back as it was."""
        cell = escape(text)
        assert unescape(cell) == text
        assert "\0" not in cell
        cell.encode("utf-8")
        kept = escape(text, nul=False)
        assert unescape(kept) == text
        kept.encode("utf-8")

    @given(any_text, any_text)
    def test_escapes_never_collide(self, one: str, other: str) -> None:
        """Two texts share an escape only where they are one; none is `EMPTY`."""
        assert (escape(one) == escape(other)) == (one == other)
        assert escape(one) != EMPTY
        assert unescape(EMPTY) == ""

    @given(st.text(st.characters(exclude_characters=f"{ESCAPE}\0", codec="utf-8")))
    def test_ordinary_texts_stay_as_they_are(self, text: str) -> None:
        """Backslashes, line ends and formulas are not touched."""
        assert escape(text) == text

    @given(table(json_kept))
    def test_json_lines_read_back(self, rows: list[Row]) -> None:
        """Rows are ASCII lines, one each however they are split, in column order."""
        content = written(write_jsonl, rows)
        assert read_jsonl(content) == rows
        assert len(content.decode("utf-8").splitlines()) == len(rows)
        assert all(list(row) == list(COLUMNS) for row in read_jsonl(content))

    @given(table(any_text))
    def test_csv_reads_back(self, rows: list[Row]) -> None:
        """Null and the empty text differ, and CR, NUL and surrogates are kept."""
        # value is JSON, where a surrogate pair is a character
        for row in rows:
            row["value"] = json.loads(json.dumps(row["value"]))
        content = written(write_csv, rows)
        assert read_csv(content) == rows
        assert b"\0" not in content
        assert content.endswith(b"\r\n")

    @given(table(any_text))
    def test_parquet_reads_back(self, rows: list[Row]) -> None:
        """Null, NUL and numbers are the format's own; surrogates are escaped."""
        needs("parquet")
        for row in rows:
            row["value"] = json.loads(json.dumps(row["value"]))
        assert read_parquet(written(write_parquet, rows)) == rows

    def test_nothing_is_a_header_or_an_empty_file(self) -> None:
        """Without rows, CSV holds its names and JSON lines hold nothing."""
        assert written(write_jsonl, []) == b""
        assert written(write_csv, []) == ",".join(COLUMNS).encode() + b"\r\n"

    def test_parquet_without_rows_has_its_columns(self) -> None:
        """A file without rows still says what its columns hold."""
        parquet = pytest.importorskip("pyarrow.parquet", reason=_PYARROW)
        found = parquet.read_table(io.BytesIO(written(write_parquet, [])))
        assert found.num_rows == 0
        kinds = {str: "string", int: "int64", bool: "bool", object: "string"}
        assert {field.name: str(field.type) for field in found.schema} == {
            name: kinds[kind] for name, kind in COLUMNS.items()
        }


@pytest.fixture(scope="module")
def small(bench: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small finished bench."""
    folder = tmp_path_factory.mktemp("small")
    bench(folder, tasks=5, seeds=(42, 43), conditions=CONDITIONS, controls=1)
    return folder


@pytest.fixture
def run(small: Path, tmp_path: Path) -> Path:
    """Return a copy of the small bench, to be changed."""
    return shutil.copytree(small, tmp_path / "run")


def execute(run: Path, statement: str, *values: Any) -> int:
    """Change a run's database behind its back; return how many rows that moved."""
    with closing(sqlite3.connect(run / "run.sqlite")) as db, db:
        return db.execute(statement, values).rowcount


def edit(run: Path, **changes: Any) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | changes))


def exported(run: Path, to: str = "jsonl") -> list[Row]:
    """Return what an export writes, read back."""
    needs(to)
    with TemporaryDirectory() as folder:
        done = export(run, to, Path(folder, "rows"))
        found = READERS[to](done.path.read_bytes())
        assert [path.name for path in Path(folder).iterdir()] == ["rows"]
    assert len(found) == done.rows
    return found


class Place(NamedTuple):
    """Where a row stands."""

    pair: str
    seed: int
    condition: str
    task: str
    evaluator: str


def outcomes(rows: list[Row]) -> dict[Place, tuple[Any, ...]]:
    """Return output and outcome by place, each place once."""
    found = {
        Place(*(row[name] for name in Place._fields)): (
            row["output"],
            row["outcome"],
            row["reason"],
            row["value"],
        )
        for row in rows
    }
    assert len(found) == len(rows)
    return found


def asks(row: Row) -> bool:
    """Whether a row is a judge's, who has a say on every task."""
    return str(row["evaluator"]).startswith("judge:")


def reported(run: Path) -> dict[Place, tuple[Any, ...]]:
    """Return the same of what the report is drawn from."""
    grid = load(run).grid
    return {
        Place(row.pair, row.seed, condition, row.task.id, name): (
            output,
            outcome.status.value,
            outcome.reason,
            outcome.value,
        )
        for (condition, name), column in grid.outcomes.items()
        for row, output, outcome in zip(
            grid.rows, grid.outputs[condition], column, strict=True
        )
    }


class TestRows:
    """The rows are those that the report is drawn from."""

    @pytest.mark.parametrize("to", WRITERS)
    def test_a_finished_run_is_exported_whole(self, small: Path, to: str) -> None:
        """Each planned sample and evaluator is there once, as the report has it."""
        rows = exported(small, to)
        assert len(rows) == 2 * len(CONDITIONS) * 5 * 6
        assert outcomes(rows) == reported(small)
        tasks = {(r.seed, r.task.id): r.task for r in load(small).grid.rows}
        for row in rows:
            task = tasks[row["seed"], row["task"]]
            assert (row["family"], row["prompt"]) == (task.family, task.prompt)
            assert (row["sample_reason"], row["truncated"]) == ("", False)
            assert len(row["exchange"]) == 64
            assert row["finish_reason"] == "stop"

    def test_rows_stand_in_the_plans_order(self, run: Path) -> None:
        """Two exports are the same bytes, evaluators of a sample side by side."""
        first, second = (export(run, "csv").path.read_bytes() for _ in range(2))
        assert first == second
        rows = read_csv(first)
        names = [
            e["name"] for e in json.loads((run / "run.json").read_text())["evaluators"]
        ]
        assert [row["evaluator"] for row in rows[:6]] == names[:6]
        assert names[6:] == ["identity"]
        assert [row["condition"] for row in rows[::30]] == [*CONDITIONS, *CONDITIONS]

    def test_what_an_endpoint_said_is_there(self, run: Path) -> None:
        """What was served, by whom and how many tokens, is that of the exchange."""
        said = ("m\0", "p\u2028", "f\r", "length", 7, 11)
        execute(
            run,
            "UPDATE exchange SET served_model = ?, provider = ?, fingerprint = ?, finish_reason = ?, prompt_tokens = ?, completion_tokens = ?",
            *said,
        )
        execute(run, "UPDATE sample SET truncated = 1")
        for to in ("jsonl", "csv"):
            for row in exported(run, to):
                assert tuple(row.values())[-6:] == said
                assert row["truncated"] is True

    @pytest.mark.parametrize("to", WRITERS)
    def test_stored_outputs_come_out_as_they_are(self, run: Path, to: str) -> None:
        """Whatever a model wrote is read back from the file as from the store."""
        kept = [json.loads(json.dumps(text)) for text in AWKWARD]
        with closing(sqlite3.connect(run / "run.sqlite")) as db, db:
            keys = [key for (key,) in db.execute("SELECT key FROM sample ORDER BY key")]
            for index, key in enumerate(keys):
                text = json_text(kept[index % len(kept)])
                db.execute("UPDATE sample SET output = ? WHERE key = ?", (text, key))
        rows = exported(run, to)
        assert outcomes(rows) == reported(run)
        assert {row["output"] for row in rows} == set(kept)

    def test_what_was_not_run_is_there(self, run: Path) -> None:
        """A sample without a row has nulls and not_run, or the failure's reason."""
        assert execute(run, "DELETE FROM sample WHERE condition = 'model'")
        first = load(run).grid.rows[0]
        unit = f"{first.pair}/model/{first.seed}/{first.task.id}"
        execute(
            run, "INSERT INTO failure VALUES (?, '', 'endpoint_error', 'down')", unit
        )
        rows = exported(run)
        assert outcomes(rows) == reported(run)
        lost = [row for row in rows if row["condition"] == "model"]
        reasons = [row["sample_reason"] for row in lost]
        assert reasons == ["endpoint_error"] * 6 + ["not_run"] * 54
        for row in lost:
            assert row["outcome"] == "unassessed"
            assert row["reason"] in (row["sample_reason"], "not_applicable")
            assert not asks(row) or row["reason"] == row["sample_reason"]
            assert (row["output"], row["truncated"], row["exchange"]) == (None,) * 3
        assert read_csv(export(run, "csv").path.read_bytes()) == rows

    def test_a_sample_without_a_reply_tells_why(self, run: Path) -> None:
        """The reason of all that has a say on the task is the sample's."""
        execute(run, "UPDATE sample SET output = NULL, reason = 'filtered'")
        rows = exported(run)
        assert outcomes(rows) == reported(run)
        assert {row["sample_reason"] for row in rows} == {"filtered"}
        assert {row["reason"] for row in rows if asks(row)} == {"filtered"}

    def test_a_verdict_that_never_came_tells_why(self, run: Path) -> None:
        """A score that is missing is the failure's reason, or not_run."""
        evaluators = json.loads((run / "run.json").read_text())["evaluators"]
        digest = {e["name"]: e["digest"] for e in evaluators}
        for name in ("strict", "judge:scripted"):
            execute(run, "DELETE FROM score WHERE evaluator = ?", digest[name])
        execute(
            run,
            "INSERT INTO failure SELECT key, ?, 'timeout', '' FROM sample",
            digest["judge:scripted"],
        )
        rows = exported(run)
        assert outcomes(rows) == reported(run)
        for name, reason in (("strict", "not_run"), ("judge:scripted", "timeout")):
            told = {row["reason"] for row in rows if row["evaluator"] == name}
            assert told == {reason}

    def test_an_agent_of_its_own_has_no_exchange(self, run: Path) -> None:
        """Outputs that no endpoint gave have nulls where it would have spoken."""
        execute(run, "UPDATE sample SET exchange = NULL")
        for row in exported(run, "csv"):
            assert tuple(row.values())[-7:] == (None,) * 7

    def test_values_keep_their_kind(self, run: Path) -> None:
        """A verdict that reads as a number and the number are not the same."""
        execute(run, "UPDATE score SET value = ?", json_text("3"))
        rows = exported(run, "csv")
        assert {row["value"] for row in rows if asks(row)} == {"3"}
        execute(run, "UPDATE score SET value = ?", json_text(3.0))
        rows = exported(run, "csv")
        assert {row["value"] for row in rows if asks(row)} == {3.0}

    def test_the_verdicts_are_those_of_outcomes(self, small: Path) -> None:
        """Outcome and reason are a pair that `Outcome` allows."""
        for row in exported(small):
            Outcome(Status(row["outcome"]), row["reason"], row["value"])


class TestMemory:
    """A run that is larger than memory can be exported."""

    @pytest.mark.parametrize("to", ["jsonl", "csv"])
    def test_memory_is_flat(self, run: Path, to: str) -> None:
        """Exporting 30 MB of outputs holds a few of them at a time."""
        size = 2**20
        execute(run, "UPDATE sample SET output = ?", json_text("a" * size))
        tracemalloc.start()
        try:
            done = export(run, to)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert done.path.stat().st_size > 180 * size
        assert peak < 12 * size

    def test_row_groups_are_bounded(self) -> None:
        """A group ends by its rows or by its characters, and no row is lost."""
        short = [{"output": "a", "seed": index} for index in range(9000)]
        groups = list(_groups(short))
        assert [len(group) for group in groups] == [4096, 4096, 808]
        assert [row for group in groups for row in group] == short
        long = [{"output": "a" * 2**22}] * 5
        assert [len(group) for group in _groups(long)] == [2, 2, 1]

    def test_parquet_of_several_groups_is_whole(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rows keep their order over row groups."""
        parquet = pytest.importorskip("pyarrow.parquet", reason=_PYARROW)
        monkeypatch.setattr("evaluand.bench.table._GROUP_ROWS", 3)
        rows = [dict.fromkeys(COLUMNS) | {"seed": index} for index in range(8)]
        content = written(write_parquet, rows)
        assert parquet.ParquetFile(io.BytesIO(content)).num_row_groups == 3
        assert [row["seed"] for row in read_parquet(content)] == list(range(8))


class TestRefusals:
    """What can't be exported is named, and what stood there stays."""

    def test_a_folder_without_a_run_is_named(self, tmp_path: Path) -> None:
        """A folder that isn't there is no run, and isn't made."""
        with pytest.raises(InputError, match="not a run folder"):
            export(tmp_path / "none", "csv")
        assert not list(tmp_path.iterdir())

    def test_a_run_that_has_no_report_has_no_export(self, run: Path) -> None:
        """Tasks that aren't settled and manifests that weren't read are named."""
        edit(run, tasks=None)
        with pytest.raises(InputError, match=r"hasn't settled .* resume it with: eval"):
            export(run, "csv")
        edit(run, tasks=5)
        execute(run, "DELETE FROM manifest WHERE cell LIKE '%/model'")
        with pytest.raises(
            InputError, match=r"not begun .*/model\); start it with: ev"
        ):
            export(run, "csv")
        assert not (run / "export.csv").exists()

    def test_two_samples_at_one_place_are_refused(self, run: Path) -> None:
        """Rows of two stacks under one name are never mixed."""
        columns = "pair, seed, condition, task, exchange, output, reason, truncated"
        execute(
            run,
            f"INSERT INTO sample SELECT 'other', {columns} FROM sample LIMIT 1",  # noqa: S608 - the test's own columns
        )
        with pytest.raises(IntegrityError, match="two samples stand at"):
            export(run, "jsonl")

    def test_a_lost_exchange_is_damage(self, run: Path) -> None:
        """A sample whose reply isn't in the store is named."""
        execute(run, "DELETE FROM exchange")
        with pytest.raises(StoreError, match="it lacks the exchange '"):
            export(run, "jsonl")

    @pytest.mark.parametrize("name", ["run.json", "run.sqlite", "run.sqlite-wal"])
    def test_a_run_is_not_written_over(self, run: Path, name: str) -> None:
        """An export never takes the place of the run's own files."""
        before = {path: path.read_bytes() for path in run.iterdir()}
        with pytest.raises(InputError, match="belongs to the run; choose another"):
            export(run, "csv", run / ".." / "run" / name)
        assert {path: path.read_bytes() for path in run.iterdir()} == before

    def test_what_is_no_file_is_left_alone(self, small: Path, tmp_path: Path) -> None:
        """Folders and pipes are refused, not replaced."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for path in (tmp_path, pipe, Path(os.devnull)):
            with pytest.raises(InputError, match="expected a path for a file"):
                export(small, "csv", path)

    def test_a_place_that_cannot_be_written_is_named(
        self, small: Path, tmp_path: Path
    ) -> None:
        """A folder that isn't there is an error of the file, with its name."""
        with pytest.raises(InputError, match=r"none/a\.csv: can't be written: No such"):
            export(small, "csv", tmp_path / "none" / "a.csv")

    def test_a_failed_export_leaves_the_one_before(self, run: Path) -> None:
        """Damage half-way leaves the old file whole and no other beside it."""
        export(run, "jsonl")
        before = (run / "export.jsonl").read_bytes()
        execute(
            run,
            "UPDATE sample SET output = '{' WHERE key = (SELECT MAX(key) FROM sample)",
        )
        with pytest.raises(StoreError, match=r"damaged: expected JSON, got '\{'"):
            export(run, "jsonl")
        assert (run / "export.jsonl").read_bytes() == before
        assert not list(run.glob(".*.part"))

    def test_a_link_stays_one(self, small: Path, tmp_path: Path) -> None:
        """What a link points to is replaced, not the link."""
        target, link = tmp_path / "rows.csv", tmp_path / "link.csv"
        target.write_text("old")
        link.symlink_to(target)
        assert export(small, "csv", link).path == link
        assert link.is_symlink()
        assert read_csv(target.read_bytes())

    def test_parquet_without_its_package_says_how_to_get_it(
        self, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without pyarrow nothing is written, and the extra is named."""
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        told = r"--to parquet needs pyarrow .* pip install 'evaluand\[parquet\]'"
        with pytest.raises(InputError, match=told):
            export(small, "parquet", tmp_path / "rows.parquet")
        with pytest.raises(InputError, match=told):
            write_parquet(io.BytesIO(), [])
        assert not list(tmp_path.iterdir())


DAMAGE = [
    *[("sample", "key", name) for name in ("output", "task", "reason", "truncated")],
    *[("sample", "key", name) for name in ("exchange", "seed")],
    *[("score", "sample", name) for name in ("outcome", "reason", "value")],
    *[("exchange", "key", name) for name in ("served_model", "prompt_tokens")],
    ("manifest", "cell", "cell"),
]


@pytest.mark.parametrize(("table_name", "key", "column"), DAMAGE)
@pytest.mark.parametrize("junk", ["'{'", "'x'", "x'ff00'", "'[1]'", "'NaN'", "7"])
def test_a_damaged_column_never_crashes(
    run: Path, table_name: str, key: str, column: str, junk: str
) -> None:
    """A value that was never written is exported as such or a named error."""
    where = f"WHERE {key} = (SELECT MIN({key}) FROM {table_name})"  # noqa: S608 - the test's own names
    where += " AND moment = 'before'" if table_name == "manifest" else ""
    assert execute(run, f"UPDATE {table_name} SET {column} = {junk} {where}")  # noqa: S608 - as above
    for to in ("jsonl", "csv"):
        try:
            rows = len(exported(run, to))
        except EvaluandError as error:
            rows = 180 if str(run) in str(error) else 0
        assert rows == 180
