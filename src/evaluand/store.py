"""The run's database: every reply, sample and score, written once and kept.

SQLite in WAL mode is the truth of a run. A row is keyed by all that can change it; the
same row twice is dropped and counted, a different row under the same key is an error.
A write commits what is older than half a second; whoever waits between writes calls
`commit` as often, and a kill loses only what was in flight.
"""

import fcntl
import json
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.whole import STORAGE

SCHEMA_VERSION = 3
COMMIT_INTERVAL_S = 0.4

# exchanges are long: a table without rowid would give each an overflow page of its own
_SCHEMA = """
CREATE TABLE exchange (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, request TEXT NOT NULL,
    reply TEXT NOT NULL, reasoning TEXT, tool_calls TEXT,
    finish_reason TEXT NOT NULL, served_model TEXT, provider TEXT, fingerprint TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, latency_s REAL NOT NULL
);
CREATE TABLE sample (
    key TEXT PRIMARY KEY, pair TEXT NOT NULL, seed INTEGER NOT NULL,
    condition TEXT NOT NULL, task TEXT NOT NULL, exchange TEXT,
    output TEXT, reason TEXT NOT NULL, truncated INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE score (
    sample TEXT NOT NULL, evaluator TEXT NOT NULL, outcome TEXT NOT NULL,
    reason TEXT NOT NULL, value TEXT, PRIMARY KEY (sample, evaluator)
) WITHOUT ROWID;
CREATE TABLE control (
    evaluator TEXT NOT NULL, item TEXT NOT NULL, kind TEXT NOT NULL,
    outcome TEXT NOT NULL, reason TEXT NOT NULL, value TEXT,
    PRIMARY KEY (evaluator, item)
) WITHOUT ROWID;
CREATE TABLE manifest (
    cell TEXT NOT NULL, moment TEXT NOT NULL, document TEXT NOT NULL,
    PRIMARY KEY (cell, moment)
) WITHOUT ROWID;
CREATE TABLE failure (
    unit TEXT NOT NULL, evaluator TEXT NOT NULL, reason TEXT NOT NULL,
    message TEXT NOT NULL, PRIMARY KEY (unit, evaluator)
) WITHOUT ROWID;
"""
_KEYS = {
    "exchange": "key",
    "sample": "key",
    "score": "sample, evaluator",
    "control": "evaluator, item",
    "manifest": "cell, moment",
    "failure": "unit, evaluator",
}
# what of a row may differ between two equal results: how long the asking took
_INCIDENTAL = {"exchange": {"latency_s"}}


class Store:
    """The database of one run, open for writing or for reading.

    Args:
        path: The database file.
        readonly: Whether only to read; several readers may stand beside one writer.

    Raises:
        StoreError: If the file is damaged, of another schema, or can't be written.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self.duplicates: dict[str, int] = {}
        self._last_commit = time.monotonic()
        if path.exists() and not path.is_file():
            msg = f"{path}: expected the run's database, got no regular file"
            raise StoreError(msg)
        with self._named_errors():
            mode = "ro" if readonly else "rwc"
            uri = f"{path.absolute().as_uri()}?mode={mode}"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            try:
                self._open(readonly=readonly)
            except BaseException:
                self._db.close()
                raise

    def _open(self, *, readonly: bool) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and not readonly:
            self._db.execute("PRAGMA page_size=8192")
            self._db.execute("PRAGMA journal_mode=WAL")
            script = f"BEGIN;{_SCHEMA}PRAGMA user_version={SCHEMA_VERSION};COMMIT;"
            self._db.executescript(script)
        elif version != SCHEMA_VERSION:
            msg = f"{self.path}: expected a run of schema {SCHEMA_VERSION}, got {version}; use a new folder"
            raise StoreError(msg)
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._failing = bool(
            self._db.execute("SELECT EXISTS (SELECT 1 FROM failure)").fetchone()[0]
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit what is pending and let go of the file."""
        with self._named_errors():
            if self._db.in_transaction:
                self._db.execute("COMMIT")
            self._db.close()

    def put(self, table: str, key: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        """Write a row once.

        Raises:
            IntegrityError: If another row stands under this key.
            StoreError: If it can't be written.
        """
        whole = {**key, **row}
        with self._named_errors():
            self._begin()
            done = self._db.execute(_insert(table, tuple(whole)), whole)
            if done.rowcount == 0:
                self._check_duplicate(table, key, row)
            if time.monotonic() - self._last_commit > COMMIT_INTERVAL_S:
                self.commit()

    def fail(self, unit: str, evaluator: str, *, reason: str, message: str) -> None:
        """Note why a unit has no result so far; a later note takes its place.

        Args:
            unit: The unit's key.
            evaluator: Whose verdict is missing; empty where the sample itself is.
            reason: Under which its rows are unassessed.
            message: What happened.

        Raises:
            StoreError: If it can't be written.
        """
        with self._named_errors():
            self._begin()
            self._db.execute(
                "INSERT OR REPLACE INTO failure VALUES (?, ?, ?, ?)",
                (unit, evaluator, reason, message),
            )
        self._failing = True

    def mend(self, unit: str, evaluator: str) -> None:
        """Forget a failure, now that there is a result.

        Raises:
            StoreError: If it can't be written.
        """
        if not self._failing:
            return
        with self._named_errors():
            self._begin()
            self._db.execute(
                "DELETE FROM failure WHERE unit = ? AND evaluator = ?",
                (unit, evaluator),
            )

    def commit(self) -> None:
        """Make everything written so far survive a kill."""
        with self._named_errors():
            if self._db.in_transaction:
                self._db.execute("COMMIT")
        self._last_commit = time.monotonic()

    def get(self, table: str, key: Mapping[str, Any]) -> sqlite3.Row | None:
        """Return the row under a key, or None."""
        where = " AND ".join(f"{name} = :{name}" for name in key)
        with self._named_errors():
            found: sqlite3.Row | None = self._db.execute(
                f"SELECT * FROM {table} WHERE {where}",  # noqa: S608 - as in put
                dict(key),
            ).fetchone()
        return found

    def keys(self, table: str) -> Generator[tuple[Any, ...]]:
        """Yield the keys of a table: all of them are read quicker than a few by `get`."""
        with self._named_errors():
            cursor = self._db.cursor()
            cursor.row_factory = None
            cursor.execute(f"SELECT {_KEYS[table]} FROM {table}")  # noqa: S608 - as in put
            yield from cursor

    def rows(self, table: str) -> Generator[sqlite3.Row]:
        """Yield every row of a table in key order."""
        with self._named_errors():
            found = self._db.execute(
                f"SELECT * FROM {table} ORDER BY {_KEYS[table]}"  # noqa: S608 - as in put
            )
            for row in found:  # noqa: UP028 - `yield from` closes a half-read cursor, which fails once the database is closed
                yield row

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _check_duplicate(
        self, table: str, key: Mapping[str, Any], row: Mapping[str, Any]
    ) -> None:
        there = self.get(table, key)
        incidental = _INCIDENTAL.get(table, set())
        differing = [
            name
            for name, value in row.items()
            if name not in incidental and (there is None or there[name] != value)
        ]
        if differing:
            keys = ", ".join(f"{name}={value}" for name, value in key.items())
            msg = f"{self.path}: {table} {keys} is there already with another {', '.join(differing)}"
            raise IntegrityError(msg)
        self.duplicates[table] = self.duplicates.get(table, 0) + 1

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            # where SQLite quotes damaged bytes in its message, Python can't decode that
            msg = f"{self.path}: the run's database failed: {error}; finished rows stay readable, and the run resumes once this is mended"
            raise StoreError(msg) from error


@cache
def _insert(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608 - names from this module's callers, values bound


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a run folder, so that two runs never write into one.

    Raises:
        InputError: If another process holds it, or it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("a")
    except OSError as error:
        msg = f"{folder}: can't be used as a run folder: {error.strerror or error}"
        raise (StoreError if error.errno in STORAGE else InputError)(msg) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = f"{folder}: another run is writing here; wait for it or choose another folder with -o"
            raise InputError(msg) from error
        yield


def json_text(value: object) -> str:
    """Return a JSON value as a column's text: exact for NUL and lone surrogates too."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def json_value(text: str, *, path: Path) -> Any:
    """Return the value of a column that `json_text` wrote.

    Args:
        text: The column.
        path: The database, for the error message.

    Raises:
        StoreError: If that isn't what was written.
    """
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        msg = f"{path}: the run's database is damaged: expected JSON, got {text!r:.40}"
        raise StoreError(msg) from error
