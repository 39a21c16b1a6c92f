"""The record of a run folder: whole or absent, and true to what was asked for."""

from pathlib import Path
from typing import Any

import pytest

from evaluand.bench import record
from evaluand.errors import InputError, IntegrityError, StoreError

SETTINGS: dict[str, Any] = {
    "seeds": [42],
    "judges": ["local:a"],
    "stack": "s",
    "conditions": ["clean"],
    "coverage": "full",
    "controls": 1,
}
COMPONENT = {"digest": "a", "treeAlg": "t", "normalization": "none"}
STACK = {
    "name": "s",
    "components": {"model": COMPONENT, "tools": COMPONENT},
    "notApplicable": [],
    "undeclared": [],
}
ASKED: dict[str, Any] = {
    "kind": "bench",
    "schema": 2,
    "settings": SETTINGS,
    "tasks": None,
    "scripted": False,
    "scripted_parts": [],
    "shares_replies": True,
    "evaluators": [{"name": "strict", "kind": "rule", "digest": "d", "model": None}],
    "stack": {"p": STACK},
    "provenance": {"models": {}},
    "started": "now",
    "command": "evaluand bench",
    "versions": {"python": "3.11"},
}


def test_a_new_record_is_written_and_read_back(tmp_path: Path) -> None:
    """What was begun is what is read, and nothing else stands in the folder."""
    assert record.begin(tmp_path, ASKED) == ASKED
    assert record.read_record(tmp_path) == ASKED
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("key", ["started", "command", "versions", "tasks"])
def test_a_resume_may_come_later_and_from_another_version(
    tmp_path: Path, key: str
) -> None:
    """When, how and with what library a run was begun may differ; the first stays."""
    record.begin(tmp_path, ASKED)
    assert record.begin(tmp_path, ASKED | {key: {}}) == ASKED
    assert record.read_record(tmp_path) == ASKED


def test_tuples_resume_as_the_lists_they_became(tmp_path: Path) -> None:
    """A value that JSON writes otherwise than Python holds it is no difference."""
    asked = ASKED | {"extra": (1, 2)}
    record.begin(tmp_path, asked)
    assert record.begin(tmp_path, asked)["extra"] == [1, 2]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"settings": SETTINGS | {"seeds": [43]}},
            r"differs in settings \(seeds: \[42\] there, \[43\] asked for\);",
        ),
        (
            {"settings": SETTINGS | {"seeds": [1], "judges": []}},
            r"settings \(judges: .* there, \[\] asked for, seeds: ",
        ),
        ({"settings": None}, "settings: {.* there, None asked for"),
        ({"extra": 1}, "extra: None there, 1 asked for"),
        (
            {"settings": SETTINGS | {"x": 1}},
            r"settings \(x: None there, 1 asked for\)",
        ),
    ],
)
def test_other_settings_are_named(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    """A folder with another run says in what it differs, and keeps its record."""
    record.begin(tmp_path, ASKED)
    with pytest.raises(InputError, match=told):
        record.begin(tmp_path, ASKED | change)
    assert record.read_record(tmp_path) == ASKED


def test_a_database_without_a_record_is_left_alone(tmp_path: Path) -> None:
    """Rows of a run that nobody describes are not mixed with others."""
    (tmp_path / "run.sqlite").touch()
    with pytest.raises(InputError, match=r"holds a database but no run\.json"):
        record.begin(tmp_path, ASKED)
    assert not (tmp_path / "run.json").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "expected a bench record of schema 2"),
        ('{"schema": 9}', "another version of evaluand"),
        ('{"schema"', r"run\.json"),
        ("", r"run\.json"),
    ],
)
def test_what_is_no_record_is_named(tmp_path: Path, text: str, told: str) -> None:
    """A record cut short or of another schema is refused, for reports and resumes."""
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=told):
        record.read_record(tmp_path)
    with pytest.raises(InputError, match=told):
        record.begin(tmp_path, ASKED)


def test_a_folder_without_a_record_says_how_to_make_one(tmp_path: Path) -> None:
    """An empty folder is no run."""
    with pytest.raises(InputError, match=r"not a run folder .* evaluand bench -o"):
        record.read_record(tmp_path)


def test_a_record_that_can_not_be_written_keeps_the_old_one(tmp_path: Path) -> None:
    """When writing fails the file before is whole, and the path is named."""
    record.begin(tmp_path, ASKED)
    blocker = tmp_path / ".run.json.part"
    blocker.symlink_to(tmp_path / "none" / "x")
    with pytest.raises(InputError, match=r"run\.json: can't be written: No such file"):
        record.write_record(tmp_path, ASKED | {"tasks": 10})
    assert record.read_record(tmp_path) == ASKED


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A record can't be written where there is no folder."""
    with pytest.raises(InputError, match="can't be written: No such file"):
        record.begin(tmp_path / "none", ASKED)


def test_a_changed_stack_is_an_integrity_finding(tmp_path: Path) -> None:
    """Another digest of a component is named, and is no matter of another folder."""
    record.begin(tmp_path, ASKED)
    changed = {**STACK, "components": {"model": COMPONENT, "tools": {"digest": "b"}}}
    with pytest.raises(IntegrityError, match=": tools changed since this run began"):
        record.begin(tmp_path, ASKED | {"stack": {"p": changed}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tasks", "x"),
        ("tasks", 0),
        ("settings", []),
        ("settings", SETTINGS | {"seeds": []}),
        ("settings", SETTINGS | {"seeds": [1.5]}),
        ("settings", SETTINGS | {"conditions": ["weather"]}),
        ("settings", SETTINGS | {"coverage": "zz"}),
        ("stack", {}),
        ("stack", []),
        ("evaluators", [{}]),
        ("evaluators", None),
        ("provenance", 5),
        ("command", ...),
        ("versions", ...),
        ("shares_replies", ...),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, key: str, value: Any) -> None:
    """What reading back rests on is checked: a StoreError with the path and the key."""
    damaged = {k: v for k, v in ASKED.items() if k != key or value is not ...}
    if value is not ...:
        damaged[key] = value
    record.write_record(tmp_path, damaged)
    with pytest.raises(StoreError, match=rf"run\.json: .* is damaged: {key}"):
        record.read_record(tmp_path)


@pytest.mark.parametrize("schema", [1, True, None, "2"])
def test_another_schema_is_refused(tmp_path: Path, schema: Any) -> None:
    """A record of another version is never guessed at."""
    record.write_record(tmp_path, ASKED | {"schema": schema})
    with pytest.raises(InputError, match="expected a bench record of schema 2"):
        record.read_record(tmp_path)
