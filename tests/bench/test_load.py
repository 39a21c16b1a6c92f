"""A run folder read back: every planned row is there, and none that was not planned."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evaluand.bench.grid import NOT_RUN
from evaluand.bench.load import load
from evaluand.bench.suite import tasks
from evaluand.bench.summary import derive
from evaluand.errors import EvaluandError, InputError, IntegrityError, StoreError
from evaluand.outcome import Outcome

PAIR = "scripted -> scripted:weak"
CONDITIONS = ("clean", "repeat", "model", "postprocessor")


@pytest.fixture(scope="module")
def small(bench: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small finished bench."""
    folder = tmp_path_factory.mktemp("small")
    bench(folder, tasks=10, conditions=CONDITIONS, controls=1)
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


def test_a_finished_run_is_read_whole(small: Path) -> None:
    """Rows are the planned tasks in order, with an output and outcome for each."""
    loaded = load(small)
    assert [row.task for row in loaded.grid.rows] == tasks(42, 10)
    assert {row.pair for row in loaded.grid.rows} == {PAIR}
    assert set(loaded.grid.outputs) == set(CONDITIONS)
    assert all(None not in outputs for outputs in loaded.grid.outputs.values())
    assert len(loaded.grid.outcomes) == len(CONDITIONS) * 6
    assert NOT_RUN not in [o for row in loaded.grid.outcomes.values() for o in row]
    assert loaded.truncated == dict.fromkeys(CONDITIONS, 0)
    assert loaded.cost["asked"] > 0


def test_identity_and_mismatches_come_from_the_manifests(small: Path) -> None:
    """Identity passes where nothing moved; what moved is named by its component."""
    loaded = load(small)
    passes = {name: by_pair[PAIR] for name, by_pair in loaded.identity.items()}
    assert passes == {
        "clean": True,
        "repeat": True,
        "model": False,
        "postprocessor": False,
    }
    moved = {
        name: {kind for kind, share in shares.items() if share}
        for name, shares in loaded.mismatches.items()
    }
    assert moved["clean"] == moved["repeat"] == set()
    assert moved["model"] == {"model"}
    assert moved["postprocessor"] == {"postprocessor"}


def test_identity_looks_at_what_its_coverage_holds(run: Path) -> None:
    """A component outside the coverage doesn't fail identity, and is still located."""
    settings = json.loads((run / "run.json").read_text())["settings"]
    settings["coverage"] = "dib"
    edit(run, settings=settings)
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        found = db.execute(
            "SELECT document FROM manifest WHERE cell = ?", [f"{PAIR}/clean"]
        )
        document = json.loads(found.fetchone()[0])
    document["components"]["sampling"]["digest"] = "moved"
    execute(
        run,
        "UPDATE manifest SET document = ? WHERE cell = ?",
        json.dumps(document),
        f"{PAIR}/clean",
    )
    loaded = load(run)
    assert loaded.identity["clean"][PAIR] is True
    assert loaded.mismatches["clean"]["sampling"] == 1.0


def test_a_missing_sample_is_not_run(run: Path) -> None:
    """A row without a sample has no output, and every evaluator says not_run."""
    assert execute(
        run, "DELETE FROM sample WHERE condition = 'model' AND task LIKE ?", "fact%"
    )
    grid = load(run).grid
    missing = [row.task.family == "fact" for row in grid.rows]
    assert [output is None for output in grid.outputs["model"]] == missing
    for name in ("standard", "strict", "judge:scripted", "auditor:scripted"):
        outcomes = grid.outcomes["model", name]
        assert [outcome == NOT_RUN for outcome in outcomes] == missing


def test_a_rule_without_an_opinion_has_none_on_missing_outputs(run: Path) -> None:
    """Canary's rows are the canary tasks, whether or not their outputs are there."""
    execute(run, "DELETE FROM sample WHERE condition = 'model'")
    summary = derive(run).summary
    clean, model = (
        summary["conditions"][c]["evaluators"]["canary"] for c in ("clean", "model")
    )
    assert (model["n"], model["n_assessed"]) == (clean["n"], 0)
    assert model["unassessed"] == {"not_run": clean["n"]}


def test_few_outputs_make_no_equivalent_tamper(run: Path) -> None:
    """Outputs that are missing might have differed: equivalence is not known."""
    execute(
        run,
        "UPDATE sample SET output = (SELECT output FROM sample AS c WHERE c.task = sample.task AND c.condition = 'clean') WHERE condition = 'model'",
    )
    assert derive(run).summary["conditions"]["model"]["equivalent"] is True
    execute(run, "DELETE FROM sample WHERE condition = 'model' AND task = 'fact-01'")
    summary = derive(run).summary
    assert summary["conditions"]["model"]["equivalent"] is None
    assert summary["mutation"]["standard"]["equivalent"] == 0


def test_an_undeclared_component_leaves_identity_untold(run: Path) -> None:
    """What the stack says nothing of can't match; what differs still fails."""
    record = json.loads((run / "run.json").read_text())
    stack = record["stack"]
    del stack[PAIR]["components"]["retrieval"]
    stack[PAIR]["undeclared"] = ["retrieval"]
    edit(run, stack=stack)
    with closing(sqlite3.connect(run / "run.sqlite")) as db, db:
        for cell, text in db.execute("SELECT cell, document FROM manifest").fetchall():
            document = json.loads(text)
            del document["components"]["retrieval"]
            changed = (json.dumps(document), cell)
            db.execute("UPDATE manifest SET document = ? WHERE cell = ?", changed)
    summary = derive(run).summary
    assert load(run).identity["clean"][PAIR] is None
    assert summary["conditions"]["clean"]["identity_pass"] is None
    assert summary["conditions"]["model"]["identity_pass"] == 0
    assert summary["mean_tampered"]["identity"] == {
        "accept": 0.0,
        "ci95": None,
        "method": None,
        "j": None,
        "j_ci95": None,
    }
    assert any("the stack says nothing of retrieval" in n for n in summary["notes"])


@pytest.mark.parametrize("value", ["-1.0", "101", '"x"', "NaN", None])
def test_a_suspicion_that_is_none_is_damage(run: Path, value: str | None) -> None:
    """A flag without a number from 0 to 100 was never written."""
    record = json.loads((run / "run.json").read_text())
    auditor = next(e for e in record["evaluators"] if e["kind"] == "auditor")
    execute(
        run, "UPDATE score SET value = ? WHERE evaluator = ?", value, auditor["digest"]
    )
    with pytest.raises(StoreError, match="expected a suspicion from 0 to 100"):
        load(run)


def test_a_missing_score_is_not_run(run: Path) -> None:
    """A sample that an evaluator never scored keeps its output and has no verdict."""
    evaluators = json.loads((run / "run.json").read_text())["evaluators"]
    strict = next(e["digest"] for e in evaluators if e["name"] == "strict")
    assert execute(run, "DELETE FROM score WHERE evaluator = ?", strict)
    grid = load(run).grid
    assert set(grid.outcomes["clean", "strict"]) == {NOT_RUN}
    assert None not in grid.outputs["clean"]
    summary = derive(run).summary
    row = summary["conditions"]["clean"]["evaluators"]["strict"]
    assert (row["accept"], row["unassessed"]) == (None, {"not_run": 10})
    assert any("40 verdicts are missing (not_run)" in note for note in summary["notes"])


def test_a_sample_without_a_reply_tells_why(run: Path) -> None:
    """The reason that no reply came is every evaluator's reason."""
    execute(
        run,
        "UPDATE sample SET output = NULL, reason = 'filtered' WHERE condition = 'clean'",
    )
    grid = load(run).grid
    assert set(grid.outputs["clean"]) == {None}
    for name in ("standard", "strict", "judge:scripted", "auditor:scripted"):
        assert set(grid.outcomes["clean", name]) == {Outcome.unassessed("filtered")}


def test_missing_controls_are_not_run(run: Path) -> None:
    """Controls that never ran are without a verdict, so their judge isn't shown fit."""
    execute(run, "DELETE FROM control")
    assert load(run).controls == {}
    evaluators = derive(run).summary["evaluators"]
    judge = next(e for e in evaluators if e["kind"] == "judge")
    assert judge["fitness"]["unassessed"] == {"not_run": 10}
    assert judge["fitness"]["state"] == "unfit"


def test_truncated_samples_are_counted(run: Path) -> None:
    """Outputs cut at their limit are counted by condition."""
    execute(run, "UPDATE sample SET truncated = 1 WHERE condition = 'repeat'")
    assert load(run).truncated == dict.fromkeys(CONDITIONS, 0) | {"repeat": 10}


def test_two_samples_at_one_place_are_refused(run: Path) -> None:
    """Rows of two stacks under one name are never mixed."""
    columns = "pair, seed, condition, task, exchange, output, reason, truncated"
    execute(
        run,
        f"INSERT INTO sample SELECT 'other', {columns} FROM sample WHERE task = 'fact-01' LIMIT 1",  # noqa: S608 - the test's own columns
    )
    with pytest.raises(IntegrityError, match=r"two samples stand at .*'fact-01'"):
        load(run)


def test_rows_of_another_plan_are_left_out(run: Path) -> None:
    """A shorter plan over the same store reads its own rows alone."""
    edit(run, tasks=4)
    assert len(load(run).grid.rows) == 4


def test_a_run_without_its_number_of_tasks_is_named(run: Path) -> None:
    """A run that never settled how many tasks fit says how to go on."""
    edit(run, tasks=None)
    with pytest.raises(InputError, match=r"hasn't settled .* resume it with: evaluand"):
        load(run)


def test_a_run_that_has_not_begun_is_named(run: Path) -> None:
    """A folder whose manifests were never read is no result."""
    execute(run, "DELETE FROM manifest WHERE cell = ?", f"{PAIR}/model")
    with pytest.raises(InputError, match=r"not begun .*/model.*; start it with: evalu"):
        load(run)


def test_a_run_without_its_database_is_named(run: Path) -> None:
    """A record alone is no run, and reading it makes no database."""
    for path in run.glob("run.sqlite*"):
        path.unlink()
    with pytest.raises(StoreError, match=r"run\.sqlite"):
        load(run)
    assert not (run / "run.sqlite").exists()


def test_one_model_under_two_names_is_two_columns_alike(
    bench: Callable[..., Any], tmp_path: Path
) -> None:
    """Judges that mean the same are asked once and shown under both names."""
    judges = ("scripted", "scripted:perfect")
    done = bench(tmp_path, tasks=2, conditions=("clean",), judges=judges, controls=1)
    grid = load(tmp_path).grid
    first, second = (grid.outcomes["clean", f"judge:{name}"] for name in judges)
    assert first == second
    assert NOT_RUN not in first
    assert done.asked > 0
    assert derive(tmp_path).summary["mutation"].keys() >= {f"judge:{j}" for j in judges}


KEYS = {"sample": "key", "score": "sample", "control": "item", "manifest": "cell"}
DAMAGE = {
    "sample": ("output", "task", "condition"),
    "score": ("outcome", "value", "reason"),
    "control": ("outcome", "value"),
    "manifest": ("document", "cell"),
}


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, column) for table, columns in DAMAGE.items() for column in columns],
)
@pytest.mark.parametrize("junk", ["'{'", "'x'", "x'ff00'"])
def test_a_damaged_column_never_crashes(
    run: Path, table: str, column: str, junk: str
) -> None:
    """A value that was never written is left out or a named error, not a traceback."""
    # one row, since columns of a key stay unique
    where = f"WHERE {KEYS[table]} = (SELECT MIN({KEYS[table]}) FROM {table})"  # noqa: S608 - as above
    where += " AND moment = 'before'" if table == "manifest" else ""
    changed = execute(run, f"UPDATE {table} SET {column} = {junk} {where}")  # noqa: S608 - the test's own names
    assert changed
    try:
        rows = len(load(run).grid.rows)
    except EvaluandError as error:
        rows = 10 if str(run) in str(error) else 0
    assert rows == 10
