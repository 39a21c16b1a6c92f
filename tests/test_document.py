"""`evaluand.document`: YAML and text read without guessing."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.document import decode, parse_yaml, read_bytes, read_text
from evaluand.errors import InputError


def test_plain_documents_are_read() -> None:
    """Nested keys, lists, numbers, booleans and null come out as JSON has them."""
    text = """
name: agent
sampling: {temperature: 0, top_p: 0.95, seed: -3, big: 1.5e3}
list: [one, true, null, ~]
words: {no: no, yes: yes, version: 1.2.3, date: '2020-01-01', octal: "012"}
"""
    assert parse_yaml(text, source="s.yaml") == {
        "name": "agent",
        "sampling": {"temperature": 0, "top_p": 0.95, "seed": -3, "big": 1500.0},
        "list": ["one", True, None, None],
        "words": {
            "no": "no",
            "yes": "yes",
            "version": "1.2.3",
            "date": "2020-01-01",
            "octal": "012",
        },
    }
    assert parse_yaml("", source="s.yaml") is None


@pytest.mark.parametrize(
    "number",
    [
        "012",
        "00",
        "0o14",
        "0x0c",
        "0XFF",
        "0b11",
        "1_000",
        "1_000.5",
        "0_1",
        "01.5",
        ".5",
        "5.",
        "+1",
        "1:30",
        "12:30:45",
    ],
)
def test_numbers_that_readers_disagree_on_are_refused(number: str) -> None:
    """A plain scalar that some reader takes for another number names itself and its line."""
    with pytest.raises(InputError, match=r"s\.yaml, line 2: .* reads differently"):
        parse_yaml(f"a: 1\nb: {number}", source="s.yaml")
    assert parse_yaml(f"b: '{number}'", source="s.yaml") == {"b": number}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\na: 2", 'found duplicate key "a"'),
        ("a: {b: 1, b: 1}", 'found duplicate key "b"'),
        ("a: &x 1\nb: *x", "line 2: aliases are refused"),
        ("<<: {a: 1}", "line 1: merge keys are refused"),
        ("%YAML 1.1\n---\na: no", "directives are refused"),
        ("%TAG ! tag:x,2020:\n---\na: 1", "directives are refused"),
        ("a: !!python/name:os.system x", "tags such as .* are refused"),
        ("a: !!set {x: null}", "tags such as .* are refused"),
        ("a: !!str 12", "tags such as .* are refused"),
        ("a: 2020-01-01", "a: .* was read as a date; quote it"),
        ("a: [.nan]", r"a: \[0\]: nan is not a number that JSON can hold"),
        ("a: -.inf", "a: -inf is not a number"),
        ("a: 1e999", "a: inf is not a number"),
        ("a: 9007199254740992", r"a: 9007199254740992 is beyond 2\*\*53 - 1"),
        (r'a: "\ud800"', "a: .* holds a lone surrogate"),
        (r'"\ud800": 1', "key: .* holds a lone surrogate"),
        ("1: a", "key 1 is not text; quote it"),
        ("a: {~: 1}", "a: key None is not text"),
        ("? [1, 2]\n: 3", "is not text"),
        ("a: 1\n---\nb: 2", "another document"),
        ("a: [1", r"not a valid YAML document: .*\(line"),
        ("a: \x07", "not a valid YAML document"),
        ("[" * 1000 + "]" * 1000, "nested deeper than 100 brackets"),
        ("- " * 2000 + "a", "nested too deeply"),
        ("a: " + "9" * 5000, "not a valid YAML document"),
        ("a: 2001-99-99", "not a valid YAML document"),
        (r'a: "\UFFFFFFFF"', "not a valid YAML document"),
        ("a" * 1_000_001, "longer than 1000000 characters"),
    ],
)
def test_guesses_are_refused(text: str, fault: str) -> None:
    """What YAML would guess at, hide or run is an error that names the file."""
    with pytest.raises(InputError, match=fault) as caught:
        parse_yaml(text, source="s.yaml")
    assert str(caught.value).startswith("s.yaml")


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fail in another way than an input error."""
    try:
        parse_yaml(text, source="s.yaml")
    except InputError as error:
        assert str(error).startswith("s.yaml")  # noqa: PT017 - either end is right


def test_text_keeps_its_line_ends(tmp_path: Path) -> None:
    """A file's text is its bytes, carriage returns and separators included."""
    content = "a\r\nb\u2028c\n".encode()
    (tmp_path / "t").write_bytes(content)
    assert read_text(tmp_path / "t").encode() == content
    assert read_bytes(tmp_path / "t") == content


def test_unreadable_text_says_where(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that aren't UTF-8 are named with the reason."""
    with pytest.raises(InputError, match="none: can't be read: No such file"):
        read_text(tmp_path / "none")
    with pytest.raises(InputError, match="can't be read: Is a directory"):
        read_bytes(tmp_path)
    with pytest.raises(InputError, match=r"t: expected UTF-8 .* 0xff at offset 1"):
        decode(b"a\xff", source="t")


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe without a writer, a device and a folder are refused at once."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero", "."):
        with pytest.raises(InputError, match="can't be read"):
            read_bytes(tmp_path / name)
    with pytest.raises(InputError, match="File name too long"):
        read_bytes(tmp_path / ("a" * 5000))
    with pytest.raises(InputError, match="can't be read"):
        read_bytes(Path("a\0b"))
