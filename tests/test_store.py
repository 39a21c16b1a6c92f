"""The store: written once, exact, readable after kills, and never two writers."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.store import Store, exclusive, json_text

KEY = {"sample": "s", "evaluator": "e"}
ROW = {"outcome": "pass", "reason": "", "value": None}


def test_a_row_written_twice_is_dropped_and_counted(tmp_path: Path) -> None:
    """An exact duplicate changes nothing and is known."""
    with Store(tmp_path / "s.sqlite") as store:
        store.put("score", KEY, ROW)
        store.put("score", KEY, ROW)
        assert len(list(store.rows("score"))) == 1
        assert store.duplicates == {"score": 1}


def test_a_conflicting_row_is_an_error_with_its_key(tmp_path: Path) -> None:
    """Another result under a key that is there is refused, and the first one stays."""
    with Store(tmp_path / "s.sqlite") as store:
        store.put("score", KEY, ROW)
        with pytest.raises(
            IntegrityError, match=r"sample=s, evaluator=e.*another outcome"
        ):
            store.put("score", KEY, {**ROW, "outcome": "fail"})
        found = store.get("score", KEY)
        assert found is not None
        assert found["outcome"] == "pass"


def test_how_long_the_asking_took_makes_no_conflict(tmp_path: Path) -> None:
    """The same reply in another time is the same reply."""
    row = {"model": "m", "request": "{}", "reply": '"a"', "finish_reason": "stop"}
    with Store(tmp_path / "s.sqlite") as store:
        store.put("exchange", {"key": "k"}, {**row, "latency_s": 1.0})
        store.put("exchange", {"key": "k"}, {**row, "latency_s": 2.0})
        assert store.duplicates == {"exchange": 1}


@given(st.text(st.characters(codec=None)) | st.just("\x00\x85\u2028\udc00"))
def test_any_text_comes_back_as_it_went_in(text: str) -> None:
    """NUL, separators and lone surrogates survive the column."""
    assert json.loads(json_text(text)) == text
    json_text(text).encode("ascii")


WRITER = """
import os, signal, sys
from pathlib import Path
from evaluand.store import Store
store = Store(Path(sys.argv[1]))
for number in range(50):
    store.put("score", {"sample": str(number), "evaluator": "e"}, {"outcome": "pass", "reason": "", "value": None})
store.commit()
store.put("score", {"sample": "in flight", "evaluator": "e"}, {"outcome": "pass", "reason": "", "value": None})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_what_it_committed(tmp_path: Path) -> None:
    """Kill -9 loses only the row in flight, and the next writer goes on."""
    path = tmp_path / "s.sqlite"
    done = subprocess.run([sys.executable, "-c", WRITER, path], check=False)
    assert done.returncode == -signal.SIGKILL
    with Store(path) as store:
        assert len(list(store.rows("score"))) == 50
        store.put("score", KEY, ROW)
    with Store(path, readonly=True) as store:
        assert len(list(store.rows("score"))) == 51


@pytest.mark.parametrize("length", [1, 100, 4096, 5000])
def test_a_cut_database_is_named(tmp_path: Path, length: int) -> None:
    """A damaged file is a StoreError that says which, never a crash or an empty run."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        for number in range(200):
            store.put("score", {**KEY, "sample": str(number)}, ROW)
    path.write_bytes(path.read_bytes()[:length])
    with (
        pytest.raises(StoreError, match=r"s\.sqlite"),
        Store(path, readonly=True) as store,
    ):
        list(store.rows("score"))


FILLER = """
import resource, signal, sys
from pathlib import Path
from evaluand.errors import StoreError
from evaluand.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
store = Store(Path(sys.argv[1]))
try:
    for number in range(10_000):
        store.put("score", {"sample": str(number), "evaluator": "e" * 500}, {"outcome": "pass", "reason": "", "value": None})
        if number % 20 == 0:
            store.commit()
except StoreError as error:
    sys.exit(error.exit_code)
"""


def test_a_full_disk_is_named_and_loses_nothing_before(tmp_path: Path) -> None:
    """When no more fits the writer says so with exit 5; what fitted can be read."""
    path = tmp_path / "s.sqlite"
    done = subprocess.run([sys.executable, "-c", FILLER, path], check=False)
    assert done.returncode == 5
    with Store(path) as store:
        assert len(list(store.rows("score"))) >= 20
        store.put("score", KEY, ROW)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    """A run of another version is left alone."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store._db.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="expected a run of schema 1, got 99"):
        Store(path)


def test_reading_makes_no_file(tmp_path: Path) -> None:
    """A database that isn't there is an error, not an empty one."""
    with pytest.raises(StoreError, match=r"s\.sqlite"):
        Store(tmp_path / "s.sqlite", readonly=True)
    assert not list(tmp_path.iterdir())


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    """A second holder is refused while the first one holds, and welcome after."""
    with (
        exclusive(tmp_path / "run"),
        pytest.raises(InputError, match="another run is writing here"),
        exclusive(tmp_path / "run"),
    ):
        pass
    with exclusive(tmp_path / "run"):
        pass


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    """A file in the folder's place is bad input."""
    (tmp_path / "run").write_text("")
    with (
        pytest.raises(InputError, match="can't be used as a run folder"),
        exclusive(tmp_path / "run"),
    ):
        pass
