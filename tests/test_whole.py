"""A file is written whole, or is as it was."""

import json
from pathlib import Path

import pytest

from evaluand.errors import InputError, StoreError
from evaluand.whole import write_whole


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    """Line ends and separators stay; nothing else is left in the folder."""
    text = json.dumps("a") + "\r\n\u2028\n"
    write_whole(tmp_path / "f", text)
    assert (tmp_path / "f").read_bytes() == text.encode()
    write_whole(tmp_path / "f", b"\xff\x00")
    assert (tmp_path / "f").read_bytes() == b"\xff\x00"
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


def test_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    """A folder that isn't there is bad input, with what to do."""
    with pytest.raises(InputError, match=r"none/f: can't be written: No such.* -o"):
        write_whole(tmp_path / "none" / "f", "x")


def test_a_full_disk_is_a_storage_failure(tmp_path: Path) -> None:
    """/dev/full says what a full disk says; the old file is kept."""
    (tmp_path / "f").write_text("old")
    (tmp_path / ".f.part").symlink_to("/dev/full")
    with pytest.raises(StoreError, match=r"No space left on device; make room"):
        write_whole(tmp_path / "f", "new")
    assert (tmp_path / "f").read_text() == "old"
