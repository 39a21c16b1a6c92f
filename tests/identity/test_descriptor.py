"""`evaluand.identity.descriptor`: written, read back, and refused when it isn't itself."""

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.canonical import canonical
from evaluand.digest import Leaf, sha256_hex
from evaluand.errors import InputError, IntegrityError
from evaluand.identity import descriptor as module
from evaluand.identity import statement
from evaluand.identity.component import Found, component
from evaluand.identity.descriptor import (
    INLINE_LEAVES,
    Descriptor,
    dump,
    parse,
    read,
    sidecar_folder,
    sidecars,
    write,
)
from evaluand.identity.manifest import KINDS, Manifest, compare, observe
from evaluand.identity.stack import load_stack

Make = Callable[..., Path]
NOW = "2026-01-31T12:00:00Z"
HEX = st.binary(max_size=3).map(sha256_hex)
LEAVES = st.lists(
    st.builds(
        lambda name, digest, size, runs: Leaf(
            name=unicodedata.normalize("NFC", name), digest=digest, size=size, exec=runs
        ),
        st.text("ab\u00e9\u540d", min_size=1, max_size=4),
        HEX,
        st.integers(0, 2**53 - 1),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda leaf: leaf.name,
)


def built(
    leaves: dict[str, list[Leaf]], none: set[str], required: list[str]
) -> Descriptor:
    components = {
        kind: component(
            kind,
            Found(
                records=tuple(leaves[kind]),
                source="\u540d",
                observed_via="files",
                grade="declared" if kind == "model" else "measured",
                forms={leaves[kind][0].name: {"lf": "0" * 64}}
                if kind == "tools"
                else {},
            ),
        )
        for kind in KINDS
        if kind in leaves
    }
    return Descriptor(
        manifest=Manifest(
            components=components, not_applicable=frozenset(none - leaves.keys())
        ),
        required=tuple(required or KINDS[:1]),
        captured_at=NOW,
        capturer_version="0.1.0",
        evaluation={"k": [1, None]},
    )


DESCRIPTORS = st.builds(
    built,
    st.dictionaries(st.sampled_from(KINDS), LEAVES),
    st.sets(st.sampled_from(KINDS)),
    st.lists(st.sampled_from(KINDS), unique=True),
)


@given(DESCRIPTORS, st.integers(0, 6))
def test_what_was_dumped_is_parsed(descriptor: Descriptor, inline: int) -> None:
    """parse(dump(d)) == d, whether its leaves stand inside or beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "INLINE_LEAVES", inline)
        content = dump(descriptor)
        beside = sidecars(descriptor)
        assert parse(content, leaves=beside.get) == descriptor
        assert compare(parse(content).manifest, descriptor.manifest).wrong == ()
    assert content == canonical(json.loads(content))
    assert b"\n" not in content
    assert all(sha256_hex(each) == digest for digest, each in beside.items())


def example() -> Descriptor:
    leaf = Leaf(name="a.md", digest="0" * 64, size=1)
    parts = {"model": [leaf], "tools": [leaf], "retrieval": [leaf]}
    return built(parts, {"sampling"}, ["model", "tools", "sampling", "tokenizer"])


def test_statement_is_in_toto() -> None:
    """Subjects, predicate, coverage and grade stand as the format says."""
    descriptor = example()
    value = json.loads(dump(descriptor))
    assert value["_type"] == statement.STATEMENT_TYPE
    assert value["predicateType"] == statement.PREDICATE_TYPE
    assert [each["name"] for each in value["subject"]] == [
        "deployment",
        "model",
        "tools",
        "retrieval",
    ]
    identity = value["subject"][0]["digest"]["sha256"]
    assert identity == descriptor.manifest.identity_digest
    predicate = value["predicate"]
    assert predicate["coverage"] == {
        "required": ["model", "tools", "sampling", "tokenizer"],
        "identified": ["model", "tools", "retrieval"],
        "unidentified": [],
        "notApplicable": ["sampling"],
        "undeclared": ["tokenizer"],
    }
    assert predicate["grade"]["overall"] == "declared"
    assert predicate["capturer"] == {"name": "evaluand", "version": "0.1.0"}
    assert set(predicate["components"][0]) == {
        "kind",
        "digest",
        "treeAlg",
        "normalization",
        "source",
        "observedVia",
        "grade",
        "evidence",
        "leaves",
    }


def changed(path: str, new: Any) -> bytes:
    """Return the example with one value replaced, or a key added."""
    value = json.loads(dump(example()))
    inner = value
    *way, last = path.split("/")
    for key in way:
        inner = inner[int(key) if key.isdigit() else key]
    inner[int(last) if last.isdigit() else last] = new
    return json.dumps(value).encode()


RECORD = "predicate/components/0/leaves/records/0"


@pytest.mark.parametrize(
    ("path", "new", "fault"),
    [
        ("extra", 1, "unknown key extra"),
        ("predicate/extra", 1, "unknown key predicate.extra"),
        (
            f"{RECORD}/extra",
            1,
            "unknown key predicate.components.0.leaves.records.0.extra",
        ),
        ("predicateType", "https://example.com/v2", "predicateType: expected"),
        ("_type", "https://in-toto.io/Statement/v0.1", "_type: expected"),
        ("predicate/schemaVersion", 2, "schemaVersion: expected 1, got 2"),
        ("predicate/capturedAt", "yesterday", "capturedAt"),
        ("predicate/capturedAt", f"{NOW}\n", "capturedAt"),
        ("predicate/components/0/digest", "A" * 64, "components.0.digest"),
        (
            "predicate/components/0/kind",
            "weights",
            "components.0.kind: expected 'model'",
        ),
        ("predicate/components/0/kind", "tools", "component tools stands there twice"),
        ("predicate/components/0/grade", "verified", "components.0.grade"),
        ("predicate/components/0/treeAlg", "md5", "treeAlg"),
        (f"{RECORD}/size", 1.5, "size"),
        (f"{RECORD}/size", -1, "size"),
        (f"{RECORD}/exec", 1, "exec"),
        (f"{RECORD}/name", "../secret", "climbs out"),
        (f"{RECORD}/name", "/etc/hosts", "is absolute"),
        (f"{RECORD}/name", "C:\\x", "holds a backslash"),
        (f"{RECORD}/name", "a\0b", "holds a control character"),
        (
            "predicate/components/0/evidence",
            {"textForms": {"a": {"utf7": "0" * 64}}},
            "textForms",
        ),
        ("subject/0", {"name": "deployment"}, "key subject.0.digest is missing"),
    ],
)
def test_malformed_descriptors_are_refused(path: str, new: Any, fault: str) -> None:
    """Unknown keys, wrong values and refused names are input errors that say where."""
    with pytest.raises(InputError, match=fault):
        parse(changed(path, new), source="D.json")


@pytest.mark.parametrize(
    ("path", "new", "fault"),
    [
        (
            "subject/0/digest/sha256",
            "0" * 64,
            "subject is not what its components make",
        ),
        ("subject/1/name", "tools", "subject is not"),
        (
            "predicate/components/0/digest",
            "0" * 64,
            "its leaves are not those of the digest",
        ),
        (f"{RECORD}/digest", "1" * 64, "its leaves are not those"),
        (f"{RECORD}/name", "b.md", "its leaves are not those"),
        ("predicate/components/0/leaves/count", 2, "its leaves are not those"),
        (
            "predicate/components/0/evidence",
            {"textForms": {}},
            "predicate.components is not",
        ),
        ("predicate/coverage/undeclared", [], "predicate.coverage is not"),
        ("predicate/coverage/identified", ["model"], "predicate.coverage is not"),
        ("predicate/grade/overall", "measured", "predicate is not"),
        ("predicate/grade/perComponent", {"model": "attested"}, "predicate is not"),
    ],
)
def test_descriptors_that_contradict_themselves_are_refused(
    path: str, new: Any, fault: str
) -> None:
    """Digests, coverage and grades that the components don't make are integrity errors."""
    with pytest.raises(IntegrityError, match=fault):
        parse(changed(path, new), source="D.json")


def test_lenient_json_is_refused() -> None:
    """A key that stands twice can't show one value and mean another."""
    content = dump(example()).replace(b'{"_type"', b'{"_type":"x","_type"', 1)
    with pytest.raises(InputError, match="duplicate key '_type'"):
        parse(content)
    with pytest.raises(InputError, match="the document"):
        parse(b"[]")


def many(count: int) -> Descriptor:
    leaves = [Leaf(name=f"{i:04}", digest="0" * 64, size=0) for i in range(count)]
    return built({"retrieval": leaves}, set(), ["retrieval"])


def test_many_leaves_lie_beside(tmp_path: Path) -> None:
    """Over the limit leaves move to a sidecar named by digest; without it verify still works."""
    path = tmp_path / "new" / "D.json"
    write(many(INLINE_LEAVES), path)
    assert not sidecar_folder(path).exists()
    big = many(INLINE_LEAVES + 1)
    write(big, path)
    digest = big.manifest.components["retrieval"].digest
    sidecar = sidecar_folder(path) / f"{digest}.json"
    assert sorted(path.parent.rglob("*.json*")) == [path, sidecar.parent, sidecar]
    assert path.stat().st_size < 2000
    assert read(path) == big
    sidecar.write_bytes(sidecar.read_bytes().replace(b"0200", b"0201"))
    with pytest.raises(IntegrityError, match="record of leaves beside the descriptor"):
        read(path)
    sidecar.unlink()
    assert compare(read(path).manifest, big.manifest, required=["retrieval"]).matches


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"{}", "no record of leaves"), (b'[{"name":"../x"}]', "no record of leaves")],
)
def test_malformed_sidecars_are_refused(content: bytes, fault: str) -> None:
    """A sidecar of the right digest and the wrong shape is an input error."""
    value = json.loads(dump(many(1)))
    digest = sha256_hex(content)
    value["predicate"]["components"][0]["digest"] = digest
    del value["predicate"]["components"][0]["leaves"]["records"]
    with pytest.raises(InputError, match=fault):
        parse(json.dumps(value).encode(), leaves=lambda _: content)


def test_climbing_names_in_sidecars_are_refused() -> None:
    """Names beside the descriptor are checked as those inside are (G2)."""
    record = Leaf(name="../x", digest="0" * 64, size=0).document()
    content = canonical([record])
    value = json.loads(dump(many(1)))
    value["predicate"]["components"][0]["digest"] = sha256_hex(content)
    del value["predicate"]["components"][0]["leaves"]["records"]
    with pytest.raises(InputError, match="climbs out"):
        parse(json.dumps(value).encode(), leaves=lambda _: content)


def test_unwritable_places_are_said(tmp_path: Path) -> None:
    """A folder that can't be made is bad input naming the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"D.json: can't be written: .*-o"):
        write(example(), tmp_path / "file" / "D.json")


def test_no_text_or_secret_is_in_it(
    make_stack: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a prompt's words, nor an environment value, nor the place of the stack is in it."""
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    root = make_stack(changes={"prompts/system.md": b"hunter3"})
    manifest = observe(load_stack(root))
    content = dump(replace(example(), manifest=manifest))
    for word in (b"hunter2", b"hunter3", str(root).encode()):
        assert word not in content


def test_grade_of_nothing_is_none() -> None:
    """Without a required component there is no grade, rather than a best one."""
    assert built({}, set(), ["model"]).overall_grade is None
