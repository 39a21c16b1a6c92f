"""`evaluand.identity.observe.gguf`: the header is read whole or refused."""

import os
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.assets.fetch import cache_folder
from evaluand.digest import sha256_hex
from evaluand.errors import InputError
from evaluand.identity.observe.gguf import (
    chat_template,
    is_gguf,
    read_metadata,
    tokenizer_leaves,
)

SMOLLM = "SmolLM2-135M-Instruct.Q4_1.gguf"
TINY = {
    "general.name": "tiny",
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.chat_template": "{{ embedded }}",
}
SCALARS = st.text(max_size=5) | st.integers(0, 2**32 - 1)
VALUES = (
    SCALARS
    | st.lists(st.text(max_size=3), max_size=4)
    | st.lists(st.integers(0, 9), max_size=4)
    | st.lists(
        st.lists(st.text(max_size=2), min_size=1, max_size=2), min_size=1, max_size=2
    )
)
METADATA = st.dictionaries(st.text("abc._", min_size=1, max_size=9), VALUES, max_size=4)


Write = Callable[..., bytes]


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def read(content: bytes) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.gguf")
        path.write_bytes(content)
        return {key: each.raw for key, each in read_metadata(path).items()}


@given(metadata=METADATA, version=st.sampled_from([2, 3]))
def test_what_was_written_is_read(
    gguf: Write, metadata: dict[str, object], version: int
) -> None:
    """Every key comes back in order with the bytes of its value, text without its length."""
    found = read(gguf(metadata, version=version))
    assert list(found) == list(metadata)
    for key, value in metadata.items():
        if isinstance(value, str):
            assert found[key] == value.encode()
        else:
            assert found[key] in gguf({key: value})


@given(metadata=METADATA.filter(bool), data=st.data())
def test_any_truncation_is_refused(
    gguf: Write, metadata: dict[str, object], data: st.DataObject
) -> None:
    """A header cut at any byte is an input error, never a shorter answer."""
    whole = gguf(metadata, tensors=b"")
    with pytest.raises(InputError, match="not a sound GGUF file"):
        read(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tail: bytes) -> None:
    """Noise after a right beginning fails in no other way than an input error."""
    try:
        found = read(b"GGUF\x03\0\0\0" + tail)
    except InputError as error:
        assert "not a sound GGUF file" in str(error)  # noqa: PT017 - either end is right
    else:
        assert sum(map(len, found.values())) <= len(tail)


def header(*parts: bytes, count: int = 1) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, count) + b"".join(parts)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "goes on to byte 4"),
        (b"PK\x03\x04" * 9, "begins with GGUF"),
        (struct.pack("<4sI", b"GGUF", 1) + b"\0" * 9, "version 2 or 3, got 1"),
        (struct.pack(">4sI", b"GGUF", 3) + b"\0" * 9, "little-endian GGUF"),
        (header(count=2**60), "metadata keys, at most"),
        (header(struct.pack("<Q", 2**62)), "goes on to byte"),
        (header(text("k"), struct.pack("<IQ", 8, 2**63)), "goes on to byte"),
        (header(text("k"), struct.pack("<IIQ", 9, 10, 2**61)), "goes on to byte"),
        (header(text("k"), struct.pack("<IIQ", 9, 8, 2**61)), "arrays of more than"),
        (header(text("k"), struct.pack("<I", 99)), "unknown type 99"),
        (
            header(text("k"), struct.pack("<I", 9), struct.pack("<IQ", 9, 1) * 9),
            "nested too deep",
        ),
        (header(text("k\u00e9"), struct.pack("<II", 4, 1)), "is not ASCII"),
        (
            header(*[text("k") + struct.pack("<II", 4, 1)] * 2, count=2),
            "stands there twice",
        ),
    ],
)
def test_hostile_headers_are_refused(content: bytes, fault: str) -> None:
    """Sizes and counts that the file doesn't hold are refused before anything is taken."""
    with pytest.raises(InputError, match=fault):
        read(content)


def test_tokenizer_is_its_metadata_without_the_template(
    gguf: Write, tmp_path: Path
) -> None:
    """The tokenizer's leaves are the tokenizer.* keys; the template is apart."""
    path = tmp_path / "x"
    path.write_bytes(gguf(TINY))
    metadata = read_metadata(path)
    assert is_gguf(path)
    assert chat_template(metadata) == b"{{ embedded }}"
    leaves = {leaf.name: leaf for leaf in tokenizer_leaves(metadata)}
    assert list(leaves) == ["tokenizer.ggml.tokens", "tokenizer.ggml.eos_token_id"]
    eos = leaves["tokenizer.ggml.eos_token_id"]
    assert (eos.type, eos.digest, eos.size) == ("gguf-4", sha256_hex(b"\2\0\0\0"), 4)


def test_absent_parts_are_none(gguf: Write, tmp_path: Path) -> None:
    """A file without a template has none; a missing file is an input error."""
    path = tmp_path / "x"
    path.write_bytes(gguf({"tokenizer.chat_template": 7}))
    assert chat_template(read_metadata(path)) is None
    assert tokenizer_leaves(read_metadata(path)) == ()
    for call in (is_gguf, read_metadata):
        with pytest.raises(InputError, match="none: can't be read"):
            call(tmp_path / "none")


def test_file_that_shrinks_is_refused(
    gguf: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that ends before the size it had when opened is refused."""
    path = tmp_path / "x"
    path.write_bytes(gguf(TINY)[:40])
    longer = os.stat_result((*path.stat()[:6], 9999, *path.stat()[7:]))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: longer)
    with pytest.raises(InputError, match="ends at byte 40, within its header"):
        read_metadata(path)


def test_real_model() -> None:
    """SmolLM2's file gives its 49152 tokens, its template and no weight, within a second."""
    folder = Path(os.environ.get("EVALUAND_MODELS") or cache_folder())
    if not (folder / SMOLLM).exists():
        pytest.skip("needs weights: evaluand models pull smollm2-135m")
    start = time.perf_counter()
    metadata = read_metadata(folder / SMOLLM)
    assert time.perf_counter() - start < 1
    template = chat_template(metadata)
    assert template is not None
    assert b"<|im_start|>" in template
    tokens = metadata["tokenizer.ggml.tokens"].raw
    assert struct.unpack_from("<IQ", tokens) == (8, 49152)
    assert len(tokenizer_leaves(metadata)) >= 5
