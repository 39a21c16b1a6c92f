"""The run's database: written once, kept through kills, and never a crash."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.store import Store, exclusive, json_text, json_value

EXCHANGE: dict[str, Any] = {
    "model": "m",
    "request": "{}",
    "reply": '"yes"',
    "finish_reason": "stop",
    "latency_s": 0.5,
}
PROGRAM = [sys.executable, "-u", "-c"]


def put(store: Store, key: str, **changes: Any) -> None:
    store.put("exchange", {"key": key}, EXCHANGE | changes)


def filled(path: Path, rows: int = 40) -> bytes:
    """Write a store of some pages and return its bytes."""
    with Store(path) as store:
        for number in range(rows):
            put(store, f"{number:04d}", reply=json_text("x" * 400))
    return path.read_bytes()


def test_a_row_written_twice_is_dropped_and_counted(tmp_path: Path) -> None:
    """The same row again changes nothing and is counted, another latency included."""
    with Store(tmp_path / "s") as store:
        put(store, "a")
        put(store, "a")
        put(store, "a", latency_s=9.0)
        assert store.duplicates == {"exchange": 2}
        assert [row["latency_s"] for row in store.rows("exchange")] == [0.5]


@pytest.mark.parametrize("column", ["reply", "finish_reason", "fingerprint"])
def test_another_row_under_one_key_is_refused(tmp_path: Path, column: str) -> None:
    """A conflicting duplicate names table, key and column; the first row stays."""
    with Store(tmp_path / "s") as store:
        put(store, "a", fingerprint="f")
        there = tuple(store.rows("exchange"))
        with pytest.raises(IntegrityError, match=rf"exchange key=a is .* {column}$"):
            put(store, "a", **({"fingerprint": "f"} | {column: "other"}))
        assert tuple(store.rows("exchange")) == there


def test_latency_is_incidental_in_exchanges_alone(tmp_path: Path) -> None:
    """In every other table each column has to be equal, and the whole key is named."""
    key = {"sample": "s", "evaluator": "e"}
    row = {"outcome": "pass", "reason": "", "value": None}
    with Store(tmp_path / "s") as store:
        store.put("score", key, row)
        with pytest.raises(IntegrityError, match=r"sample=s, evaluator=e .* outcome$"):
            store.put("score", key, row | {"outcome": "fail"})


@given(
    text=st.text(st.characters(codec=None))
    | st.sampled_from(
        ["a\x00b", "\x85\u2028\u2029\r\n", "\ud800", "a\udfffb", "\U0001f600"]
    )
)
def test_any_text_survives_the_store(text: str, tmp_path_factory: Any) -> None:
    """NUL, U+2028, lone surrogates and all else come back as they were written."""
    path = tmp_path_factory.mktemp("text") / "s"
    column = json_text(text)
    assert column.isascii()
    with Store(path) as store:
        put(store, "a", reply=column)
    with Store(path, readonly=True) as store:
        row = store.get("exchange", {"key": "a"})
    assert row is not None
    assert json_value(row["reply"], path=path) == text


@pytest.mark.parametrize("column", ["", "{", "\ufffd", b"\xff\x00", 7])
def test_a_column_that_was_never_written_is_named(column: Any) -> None:
    """What is no JSON any more is damage: a StoreError with the database's path."""
    with pytest.raises(StoreError, match=r"run\.sqlite: .* is damaged: expected JSON"):
        json_value(column, path=Path("run.sqlite"))


def test_a_missing_row_is_none(tmp_path: Path) -> None:
    """What was never written is None, not an error."""
    with Store(tmp_path / "s") as store:
        assert store.get("exchange", {"key": "a"}) is None


def test_half_read_rows_outlive_the_store(tmp_path: Path) -> None:
    """Who stops in the middle of a table, as an error makes one do, leaves no error behind."""
    filled(tmp_path / "s", 3)
    with Store(tmp_path / "s", readonly=True) as store:
        rows = store.rows("exchange")
        assert next(rows)["key"] == "0000"
    rows.close()


def test_a_row_is_seen_by_others_once_committed(tmp_path: Path) -> None:
    """A reader beside the writer sees committed rows, and those alone."""
    path = tmp_path / "s"
    with Store(path) as writer, Store(path, readonly=True) as reader:
        put(writer, "a")
        assert not list(reader.rows("exchange"))
        writer.commit()
        writer.commit()
        assert [row["key"] for row in reader.rows("exchange")] == ["a"]


def test_rows_are_committed_as_time_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody needs to ask for a commit: one comes with the first row after its time."""
    monkeypatch.setattr("evaluand.store.COMMIT_INTERVAL_S", 0.0)
    with Store(tmp_path / "s") as writer:
        put(writer, "a")
        with Store(tmp_path / "s", readonly=True) as reader:
            assert len(list(reader.rows("exchange"))) == 1


WRITER = """
import sys
from pathlib import Path
from evaluand.store import Store
row = dict(model="m", request="{}", reply="null", finish_reason="stop", latency_s=0)
store = Store(Path(sys.argv[1]))
for number in range(100):
    store.put("exchange", {"key": f"{number:03d}"}, row)
store.commit()
store.put("exchange", {"key": "in flight"}, row)
print("ready")
sys.stdin.read()
"""


def test_a_killed_writer_leaves_what_it_committed(tmp_path: Path) -> None:
    """Kill -9 loses the open transaction alone; readers and the next writer go on."""
    path = tmp_path / "s"
    pipe = subprocess.PIPE
    with subprocess.Popen([*PROGRAM, WRITER, path], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        os.kill(child.pid, signal.SIGKILL)
    with Store(path, readonly=True) as reader:
        keys = [row["key"] for row in reader.rows("exchange")]
    assert keys == [f"{number:03d}" for number in range(100)]
    with Store(path) as writer:
        put(writer, "in flight")
    with Store(path, readonly=True) as reader:
        assert len(list(reader.rows("exchange"))) == 101


def read_all(path: Path, *, readonly: bool = True) -> int:
    with Store(path, readonly=readonly) as store:
        tables = ("exchange", "sample", "score", "control", "manifest")
        return sum(len(list(store.rows(table))) for table in tables)


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9])
def test_a_cut_database_is_named(tmp_path: Path, share: float, readonly: bool) -> None:
    """A file cut short is a StoreError with its path, whoever opens it."""
    path = tmp_path / "run.sqlite"
    whole = filled(path)
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StoreError, match=r"run\.sqlite: .*database"):
        read_all(path, readonly=readonly)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a good store."""
    path = tmp_path_factory.mktemp("good") / "s"
    filled(path)
    return path


@settings(max_examples=200)
@given(offset=st.integers(0, 50_000), junk=st.binary(min_size=1, max_size=64))
def test_damage_never_crashes(
    offset: int, junk: bytes, good: Path, tmp_path_factory: Any
) -> None:
    """Bytes overwritten anywhere are read, or are a StoreError; nothing else is raised."""
    whole = good.read_bytes()
    where = offset % len(whole)
    path = tmp_path_factory.mktemp("damaged") / "s"
    path.write_bytes(whole[:where] + junk + whole[where + len(junk) :])
    error = None
    try:
        rows = read_all(path)
    except StoreError as caught:
        rows, error = 0, str(caught)
    assert rows >= 0
    assert error is None or error.startswith(f"{path}: ")


def test_damage_that_sqlite_quotes_is_named(tmp_path: Path, good: Path) -> None:
    """A schema whose own text is no UTF-8 any more is a StoreError like other damage."""
    path = tmp_path / "s"
    damage = (
        (b"scorescore", b"\xf5\xd9\xf5\xd9\xf5score"),
        (b"TABLE score", b"T\xf5BLE score"),
    )
    whole = good.read_bytes()
    for there, instead in damage:
        whole = whole.replace(there, instead)
    path.write_bytes(whole)
    with pytest.raises(StoreError, match="the run's database failed"):
        Store(path, readonly=True)


@pytest.mark.parametrize("readonly", [True, False])
def test_what_is_no_database_is_named(tmp_path: Path, readonly: bool) -> None:
    """Any other file is refused and left as it is."""
    path = tmp_path / "s"
    path.write_bytes(b"not a database" * 400)
    with pytest.raises(StoreError, match="not a database"):
        Store(path, readonly=readonly)
    assert path.read_bytes() == b"not a database" * 400


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    """A folder in the database's place is a StoreError."""
    with pytest.raises(StoreError, match="got no regular file"):
        Store(tmp_path)


FULL = """
import resource, signal, sys
from pathlib import Path
from evaluand.errors import StoreError
from evaluand.store import Store, json_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
row = dict(model="m", request="{}", finish_reason="stop", latency_s=0)
store = Store(Path(sys.argv[1]))
for number in range(20):
    store.put("exchange", {"key": f"{number:03d}"}, row | {"reply": "null"})
store.commit()
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with store:
        for number in range(20, 400):
            reply = json_text("x" * 20_000)
            store.put("exchange", {"key": f"{number:03d}"}, row | {"reply": reply})
            store.commit()
except StoreError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    """When no more fits it is a StoreError; what was committed before is readable."""
    path = tmp_path / "run.sqlite"
    done = subprocess.run(
        [*PROGRAM, FULL, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 5, done.stderr
    assert "run.sqlite: the run's database failed" in done.stdout
    assert "finished rows stay readable" in done.stdout
    with Store(path, readonly=True) as store:
        keys = [row["key"] for row in store.rows("exchange")]
    assert keys[:20] == [f"{number:03d}" for number in range(20)]
    assert len(keys) < 400
    with Store(path) as store:
        put(store, "with room again")


@pytest.mark.parametrize("readonly", [True, False])
def test_another_schema_is_refused(tmp_path: Path, readonly: bool) -> None:
    """A run of another schema is never guessed at."""
    path = tmp_path / "s"
    filled(path, 1)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=7")
    db.close()
    with pytest.raises(StoreError, match="expected a run of schema 3, got 7"):
        Store(path, readonly=readonly)


def test_reading_creates_no_file(tmp_path: Path) -> None:
    """Opening for reading what isn't there is an error and leaves nothing behind."""
    with pytest.raises(StoreError, match="unable to open"):
        Store(tmp_path / "s", readonly=True)
    assert not list(tmp_path.iterdir())


def test_an_empty_file_is_no_run_to_a_reader(tmp_path: Path) -> None:
    """A reader makes no tables: a file without a schema is refused, not filled."""
    (tmp_path / "s").touch()
    with pytest.raises(StoreError, match="got 0"):
        Store(tmp_path / "s", readonly=True)
    assert (tmp_path / "s").read_bytes() == b""


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    """A store opened for reading refuses a row."""
    filled(tmp_path / "s", 1)
    with (
        Store(tmp_path / "s", readonly=True) as store,
        pytest.raises(StoreError, match="readonly"),
    ):
        put(store, "new")


def test_a_refused_store_is_let_go_of(tmp_path: Path) -> None:
    """A store that can't be used holds no file open."""
    path = tmp_path / "s"
    path.write_bytes(b"not a database" * 400)
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    kept = []
    for _ in range(3):
        with pytest.raises(StoreError, match="not a database") as caught:
            Store(path)
        kept.append(caught)
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


HOLDER = """
import sys
from pathlib import Path
from evaluand.store import exclusive
with exclusive(Path(sys.argv[1])):
    print("held")
    sys.stdin.read()
"""


def test_two_holders_of_a_folder_refuse_each_other(tmp_path: Path) -> None:
    """While a process holds a folder no other can; its death, however sudden, frees it."""
    pipe = subprocess.PIPE
    folder = tmp_path / "deep" / "run"
    with subprocess.Popen([*PROGRAM, HOLDER, folder], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with (
            pytest.raises(InputError, match="another run is writing here"),
            exclusive(folder),
        ):
            pass
        child.kill()
    with (
        exclusive(folder),
        pytest.raises(InputError, match="another run"),
        exclusive(folder),
    ):
        pass
    with exclusive(folder):
        assert folder.is_dir()


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    """A file where the folder should be is bad input, with its path."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match="file/run: can't be used as a run folder"),
        exclusive(tmp_path / "file" / "run"),
    ):
        pass
