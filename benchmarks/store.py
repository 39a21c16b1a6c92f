"""What the run's database costs: bytes a row beyond the text it holds, writes a second.

Rows are those of a bench: the reference agent's requests with their retrieved text,
replies of its families, one score a rule. Beside it: one pickle file a reply, as
inspect-ai's cache does it, and a bare INSERT of the same exchanges.
"""

import pickle
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import measure
from measure import Measured
from store_rows import ROWS, TEXTS, Row, exchanges

COMMIT_S = 0.4


def ours(table: str) -> Measured:
    """Write one table's rows through `Store`, and read its file's size once closed."""
    from evaluand.store import Store

    make, columns = TEXTS[table]
    rows = make()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.sqlite"
        Store(path).close()
        empty = path.stat().st_size
        with measure.clock() as cost, Store(path) as store:
            for row in rows:
                store.put(table, *row)
        size = path.stat().st_size - empty
    return _figures(rows, columns, cost, size)


def pickles() -> Measured:
    """Write one pickle file a reply."""
    rows = exchanges()
    with tempfile.TemporaryDirectory() as folder:
        with measure.clock() as cost:
            for name, row in rows:
                with (Path(folder) / name["key"]).open("wb") as file:
                    pickle.dump((None, row), file)
        # a file takes whole blocks
        size = sum(path.stat().st_blocks * 512 for path in Path(folder).iterdir())
    return _figures(rows, ("request", "reply"), cost, size)


def plain_insert() -> Measured:
    """Insert the same exchanges one by one, committing as often as `Store`."""
    rows = exchanges()
    values = [(*name.values(), *row.values()) for name, row in rows]
    marks = ", ".join("?" * len(values[0]))
    columns = ", ".join([*rows[0][0], *rows[0][1]])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.sqlite"
        with measure.clock() as cost:
            db = sqlite3.connect(path)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(f"CREATE TABLE exchange ({columns})")
            statement = f"INSERT INTO exchange VALUES ({marks})"  # noqa: S608 - question marks
            _insert(db, statement, values)
            db.close()
        size = path.stat().st_size
    return _figures(rows, ("request", "reply"), cost, size)


def _insert(
    db: sqlite3.Connection, statement: str, values: Iterable[tuple[Any, ...]]
) -> None:
    last = time.monotonic()
    for value in values:
        db.execute(statement, value)
        if time.monotonic() - last > COMMIT_S:
            db.commit()
            last = time.monotonic()
    db.commit()


def _figures(
    rows: list[Row], columns: Iterable[str], cost: Mapping[str, float], size: int
) -> Measured:
    text = sum(len(row[name].encode()) for _, row in rows for name in columns)
    return {
        "text_bytes": text / ROWS,
        "beyond_text_bytes": (size - text) / ROWS,
        "writes_per_s": ROWS / cost["wall_s"],
        "writes_per_cpu_s": ROWS / cost["cpu_s"],
    }


def run(_: str | None) -> None:
    """Measure each table and each peer in a process of its own."""
    python = sys.executable
    own = {table: measure.child(python, "ours", table=table) for table in TEXTS}
    peers = {
        "one pickle a reply": measure.child(python, "pickles"),
        "plain INSERT": measure.child(python, "plain_insert"),
    }
    measure.report(
        "store",
        own | peers,
        own,
        {name: measure.known(row) for name, row in peers.items()},
        {
            f"{what} vs {name}": measure.over(own["exchange"], row, what)
            for name, row in peers.items()
            for what in ("beyond_text_bytes", "writes_per_cpu_s")
        },
    )


if __name__ == "__main__":
    measure.main(run, ours=ours, pickles=pickles, plain_insert=plain_insert)
