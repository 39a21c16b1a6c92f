"""`evaluand.digest`: every byte and name counts, and what can't be hashed is named."""

import hashlib
import os
import shutil
import tempfile
import threading
import tracemalloc
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.canonical import canonical
from evaluand.digest import (
    Leaf,
    file_digest,
    files_of,
    leaves_digest,
    name_fault,
    sha256_hex,
    tree_digest,
    value_digest,
)
from evaluand.errors import InputError

NOBODY = 65534
PARTS = st.text("abcé", min_size=1, max_size=3).map(
    lambda part: unicodedata.normalize("NFC", part)
)
TREES = st.dictionaries(
    st.lists(PARTS.map(lambda p: f"f{p}"), min_size=1, max_size=1)
    .flatmap(lambda last: st.lists(PARTS, max_size=2).map(lambda up: (*up, *last)))
    .map("/".join),
    st.binary(max_size=9),
    min_size=1,
    max_size=5,
)


def build(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder in which this process has no more rights than its files give it."""
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if os.getuid() == 0:
        os.seteuid(0)
    shutil.rmtree(folder)


def test_value_digest_is_over_rfc_8785() -> None:
    """A value's digest is SHA-256 of its canonical JSON bytes."""
    expected = hashlib.sha256(b'{"a":[1,"\xc3\xa9"]}').hexdigest()
    assert value_digest({"a": [1.0, "é"]}) == expected


def test_file_digest_equals_hashlib(tmp_path: Path) -> None:
    """A file's digest is that of its bytes, an empty file's too."""
    for content in (b"", b"x" * 3_000_001):
        (tmp_path / "f").write_bytes(content)
        assert file_digest(tmp_path / "f") == sha256_hex(content)


def test_file_digest_needs_flat_memory(tmp_path: Path) -> None:
    """Hashing a sparse file of 256 MB takes less than 2 MB (G10)."""
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(256 * 2**20)
    tracemalloc.start()
    file_digest(tmp_path / "sparse")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**20


def test_file_that_changes_while_hashed_is_refused(tmp_path: Path) -> None:
    """A file that is written to during its hashing has no digest."""
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.truncate(64 * 2**20)
    stop = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(InputError, match="changed while it was being hashed"):
            file_digest(path)
    finally:
        stop.set()
        writer.join()


def test_missing_files_and_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    """A missing file is named; a pipe isn't opened, which would never end."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="none: can't be read: No such file"):
        file_digest(tmp_path / "none")
    with pytest.raises(InputError, match="pipe: expected a regular file"):
        file_digest(tmp_path / "pipe")


def test_tree_digest_is_the_stated_rule(tmp_path: Path) -> None:
    """The digest is SHA-256 over RFC 8785 of the sorted leaves, recomputed by hand."""
    build(tmp_path, {"b/x": b"1", "a": b""})
    (tmp_path / "a").chmod(0o755)
    leaves = [
        {
            "name": "a",
            "type": "file",
            "digest": sha256_hex(b""),
            "size": 0,
            "exec": True,
        },
        {
            "name": "b/x",
            "type": "file",
            "digest": sha256_hex(b"1"),
            "size": 1,
            "exec": False,
        },
    ]
    digest, found = tree_digest(tmp_path)
    assert digest == sha256_hex(canonical(leaves))
    assert [leaf.document() for leaf in found] == leaves
    assert leaves_digest(reversed(found)) == digest


@given(TREES, st.data())
def test_any_change_of_a_tree_changes_its_digest(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    """A changed byte, a renamed, an added and a removed file each show; the root doesn't."""
    name = data.draw(st.sampled_from(sorted(files)))
    others = {key: each for key, each in files.items() if key != name}
    changed = [
        {**files, name: files[name] + b"x"},
        {**files, "added": b""},
        {**others, "renamed": files[name]},
        others,
    ]
    with tempfile.TemporaryDirectory() as folder:
        before = tree_digest(build(Path(folder, "one"), files))[0]
        assert tree_digest(build(Path(folder, "two"), files))[0] == before
        for index, each in enumerate(changed):
            root = Path(folder, str(index))
            if each:
                assert tree_digest(build(root, each))[0] != before


def test_exec_bit_and_empty_folder_count(tmp_path: Path) -> None:
    """Nothing is ignored: what may run, and a folder that holds nothing, change the digest."""
    before = tree_digest(build(tmp_path, {"run.sh": b"x"}))[0]
    (tmp_path / "run.sh").chmod(0o755)
    runs = tree_digest(tmp_path)[0]
    (tmp_path / "empty").mkdir()
    digest, leaves = tree_digest(tmp_path)
    assert len({before, runs, digest}) == 3
    assert [(leaf.name, leaf.type) for leaf in leaves] == [
        ("empty", "directory"),
        ("run.sh", "file"),
    ]


def snapshot(cache: Path) -> Path:
    """Write a model as the cache of the hub does: links to blobs beside the snapshot."""
    build(cache / "blobs", {"1234": b"{}", "5678": b"weights"})
    root = cache / "snapshots" / "abc"
    (root / "sub").mkdir(parents=True)
    (root / "config.json").symlink_to("../../blobs/1234")
    (root / "sub" / "model.bin").symlink_to("../../../blobs/5678")
    return root


def test_snapshot_equals_its_dereferenced_copy(tmp_path: Path) -> None:
    """A hub snapshot, its copy with real files, and a link to it have one digest (G1)."""
    root = snapshot(tmp_path / "models--x")
    copy = shutil.copytree(root, tmp_path / "copy", symlinks=False)
    (tmp_path / "link").symlink_to(root)
    assert len({tree_digest(each)[0] for each in (root, copy, tmp_path / "link")}) == 1


def test_links_inside_are_followed(tmp_path: Path) -> None:
    """A link to a file or folder of the tree counts as what it points to."""
    build(tmp_path, {"a/x": b"1"})
    (tmp_path / "b").symlink_to("a")
    assert [leaf.name for leaf in tree_digest(tmp_path)[1]] == ["a/x", "b/x"]
    assert [name for name, _ in files_of(tmp_path)] == ["a/x", "b/x"]


def test_every_offending_path_is_listed(tmp_path: Path) -> None:
    """Escapes, loops, broken links, pipes and bad names are named at once, each with why."""
    root = build(tmp_path / "root", {"ok": b"", "a\\b": b"", "sub/deep": b""})
    (tmp_path / "secret").write_text("s")
    (root / "out").symlink_to("../secret")
    (root / "abs").symlink_to("/etc/hosts")
    (root / "sub" / "up").symlink_to("..")
    (root / "gone").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    with pytest.raises(InputError) as caught:
        tree_digest(root)
    text = str(caught.value)
    secret = os.path.realpath(tmp_path / "secret")
    assert f"out: a link out of the folder, to {secret}" in text
    assert "abs: a link out of the folder" in text
    assert "up: a link that loops" in text
    assert "gone: can't be read: No such file or directory (a link to nowhere)" in text
    assert "pipe: neither a file nor a folder" in text
    assert "'a\\\\b' holds a backslash" in text
    assert "6 found" in text


def test_all_unreadable_paths_are_listed(unprivileged: Path) -> None:
    """Two files and a folder without read permission: all three are named (G8)."""
    build(unprivileged, {"a": b"1", "b": b"2", "ok": b"3", "d/x": b"4"})
    for name in ("a", "b", "d"):
        (unprivileged / name).chmod(0)
    with pytest.raises(InputError) as caught:
        tree_digest(unprivileged)
    text = str(caught.value)
    assert "3 found" in text
    assert all(f"{unprivileged / name}: can't be" in text for name in ("a", "b", "d"))
    with pytest.raises(InputError, match="Permission denied"):
        file_digest(unprivileged / "a")
    (unprivileged / "d").chmod(0o700)


def test_file_that_fails_while_hashing_is_listed(tmp_path: Path) -> None:
    """What goes wrong after the walk is collected too, file by file."""
    build(tmp_path, {"a": b"", "b": b"", "c": b""})

    def failing(path: Path) -> str:
        if path.name == "b":
            return "0" * 64
        msg = f"{path.name} went away"
        raise InputError(msg)

    with pytest.raises(InputError, match=r"(?s)2 found.*a went away.*c went away"):
        tree_digest(tmp_path, hash_file=failing)


def test_folder_without_files_is_refused(tmp_path: Path) -> None:
    """An empty tree, one with only empty folders, and a missing one have no digest."""
    (tmp_path / "sub").mkdir()
    with pytest.raises(InputError, match="expected a folder with files, it holds none"):
        tree_digest(tmp_path)
    with pytest.raises(InputError, match="none: can't be listed: No such file"):
        tree_digest(tmp_path / "none")


def test_names_equal_after_nfc_are_refused(tmp_path: Path) -> None:
    """Two spellings of one name can't stand in one tree; both are named (G4)."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    leaves = [
        Leaf(name=each, digest="0" * 64, size=0) for each in (composed, decomposed)
    ]
    with pytest.raises(InputError, match=r"cafe\\u0301.*caf\\xe9"):
        leaves_digest(leaves)
    build(tmp_path, {composed: b"", decomposed: b""})
    if len(list(tmp_path.iterdir())) == 2:  # some file systems fold them
        with pytest.raises(InputError, match="2 found"):
            tree_digest(tmp_path)


def test_too_many_links_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small tree whose links multiply it is refused at the limit, not walked for ever."""
    monkeypatch.setattr("evaluand.digest.MAX_LEAVES", 50)
    build(tmp_path, {"0/x": b""})
    for level in range(1, 12):
        folder = tmp_path / str(level)
        folder.mkdir()
        (folder / "l").symlink_to(f"../{level - 1}")
        (folder / "r").symlink_to(f"../{level - 1}")
    with pytest.raises(InputError, match="more than 50 files"):
        tree_digest(tmp_path)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "is empty"),
        ("a\0b", "holds a control character"),
        ("a\nb", "holds a control character"),
        ("\udcff", "is not valid Unicode"),
        ("a\\b", "holds a backslash"),
        ("C:\\x", "holds a backslash"),
        ("C:x", "is absolute"),
        ("/etc/hosts", "is absolute"),
        ("../secret", "climbs out with .."),
        ("a/../../b", "climbs out with .."),
        ("a//b", "has an empty or dot part"),
        ("./a", "has an empty or dot part"),
        ("a/", "has an empty or dot part"),
    ],
)
def test_refused_names(name: str, fault: str) -> None:
    """A name that leaves its root, or means something else elsewhere, says why (G2)."""
    assert name_fault(name) == fault


def test_plain_names_are_kept() -> None:
    """Names with spaces, dots, colons after a word, and any script are fine."""
    for name in ("a b", "..a", "a..b", "tokenizer.ggml.tokens", "名/前", "ab:c"):
        assert name_fault(name) == ""
