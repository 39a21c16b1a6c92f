"""`evaluand.identity.manifest`: every change moves its own component, nothing else does."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat.public import public
from evaluand.digest import file_digest, leaves_digest, sha256_hex, value_digest
from evaluand.errors import InputError
from evaluand.identity import measure
from evaluand.identity.manifest import COVERAGE, KINDS, FileDigests, Manifest, observe
from evaluand.identity.stack import (
    Blob,
    Code,
    Dependencies,
    ModelRef,
    Retrieval,
    Stack,
    Tokenizer,
    Tools,
    load_stack,
)

Make = Callable[..., Path]
TINY = {
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.chat_template": "{{ embedded }}",
}
NO_TEMPLATE = "name: d\nmodel: {endpoint: 'local:t', weights: w/tiny.gguf}\n"


def moved(before: Manifest, after: Manifest) -> set[str]:
    kinds = before.components.keys() | after.components.keys()
    return {
        kind
        for kind in kinds
        if getattr(before.components.get(kind), "digest", None)
        != getattr(after.components.get(kind), "digest", None)
    }


@pytest.mark.parametrize(
    ("name", "content", "kinds"),
    [
        ("template.jinja", b"{{ message }}", {"chat_template"}),
        ("prompts/system.md", b"Be rude.\n", {"system_prompt"}),
        ("prompts/system.md", "Be cafe\u0301.\n".encode(), {"system_prompt"}),
        ("tools.json", b'[{"name":"add"}]', {"tools"}),
        (
            "tools.json",
            b'[{"name":"sub"},{"type":"function","function":{"name":"add"}}]',
            {"tools"},
        ),
        ("router.yaml", b"", {"tools"}),
        ("retrieval.yaml", b"top_k: 2\n", {"retrieval"}),
        ("corpus/a.md", b"alpha", {"retrieval"}),
        ("corpus/new.md", b"", {"retrieval"}),
        ("requirements.lock", b"numpy==2.1.1\nrich==14.0.0\n", {"dependencies"}),
        ("agent.py", b"respond = print", {"dependencies"}),
        ("post.py", b"clean = str", {"postprocessor"}),
        ("unrelated.txt", b"x", set()),
    ],
)
def test_a_changed_file_moves_its_component(
    make_stack: Make, name: str, content: bytes, kinds: set[str]
) -> None:
    """A changed, reordered or added file moves exactly the component it belongs to."""
    before = observe(load_stack(make_stack("a")))
    after = observe(load_stack(make_stack("b", changes={name: content})))
    assert moved(before, after) == kinds
    assert (before.identity_digest != after.identity_digest) == bool(kinds)


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("org/tiny", "org/tinier", {"model"}),
        ("abc123", "abc124", {"model"}),
        ("temperature: 0", "temperature: 0.1", {"sampling"}),
        ("seed: 1", "seed: 2", {"sampling"}),
        ("post.py:clean", "post.py:other", {"postprocessor"}),
        ("agent.py:respond", "agent.py:other", {"dependencies"}),
        ("{spec: tools.json, router: router.yaml}", "{spec: tools.json}", {"tools"}),
        ("name: desk", "name: other", set()),
        ("local:tiny", "local:other", set()),  # the weights say what it is
        ("temperature: 0,", "temperature: 0.0,", set()),
        (
            "{spec: tools.json, router: router.yaml}",
            "{router: ./router.yaml, spec: tools.json}",
            set(),
        ),
    ],
)
def test_a_changed_key_moves_its_component(
    make_stack: Make, old: str, new: str, kinds: set[str]
) -> None:
    """A changed value moves its component; key order, spelling and names of the stack don't."""
    before = make_stack("a")
    text = (before / "stack.yaml").read_text()
    assert old in text
    after = make_stack("b", yaml=text.replace(old, new))
    assert moved(observe(load_stack(before)), observe(load_stack(after))) == kinds


def test_place_and_time_are_no_part(make_stack: Make) -> None:
    """The same stack elsewhere, touched years ago, its keys reversed, has one identity."""
    one, two = make_stack("a"), make_stack("b/c")
    for path in two.rglob("*"):
        os.utime(path, (10, 10))
    lines = (two / "stack.yaml").read_text().splitlines()
    (two / "stack.yaml").write_text("\n".join(reversed(lines)))
    first, second = observe(load_stack(one)), observe(load_stack(two))
    assert first == second
    assert first.identity_digest == second.identity_digest
    assert str(two) not in repr(second)


def test_parts_of_a_gguf_move_what_they_are(make_stack: Make) -> None:
    """A tensor moves the model alone; a token or a template also its own component."""
    before = observe(load_stack(make_stack("a", yaml=NO_TEMPLATE, metadata=TINY)))

    def after(name: str, **changes: Any) -> set[str]:
        root = make_stack(name, yaml=NO_TEMPLATE, **{"metadata": TINY, **changes})
        return moved(before, observe(load_stack(root)))

    assert after("b", tensors=b"\1" * 64) == {"model"}
    tokens = {**TINY, "tokenizer.ggml.tokens": ["b", "a"]}
    assert after("c", metadata=tokens) == {"model", "tokenizer"}
    template = {**TINY, "tokenizer.chat_template": "{{ x }}"}
    assert after("d", metadata=template) == {"model", "chat_template"}
    assert set(before.components["tokenizer"].leaves) == {"tokenizer.ggml.tokens"}


def folder_stack(root: Path) -> Stack:
    (root / "stack.yaml").write_text(
        "name: x\nmodel: {endpoint: 'local:t', weights: hf}\n"
    )
    return load_stack(root)


def test_each_file_of_a_weights_folder_has_one_owner(tmp_path: Path) -> None:
    """Weights, tokenizer and template of one folder move one component each."""
    files = {
        "model-1.safetensors": "model",
        "config.json": "model",
        "tokenizer.json": "tokenizer",
        "chat_template.jinja": "chat_template",
    }
    (tmp_path / "hf").mkdir()
    for name in files:
        (tmp_path / "hf" / name).write_text("1")
    before = observe(folder_stack(tmp_path))
    for name, kind in files.items():
        (tmp_path / "hf" / name).write_text("2")
        assert moved(before, observe(folder_stack(tmp_path))) == {kind}
        (tmp_path / "hf" / name).write_text("1")
    (tmp_path / "hf" / "model-1.safetensors").rename(tmp_path / "hf" / "m.safetensors")
    assert moved(before, observe(folder_stack(tmp_path))) == {"model"}
    for name in ("m.safetensors", "config.json"):
        (tmp_path / "hf" / name).unlink()
    with pytest.raises(InputError, match="holds a tokenizer and no weights"):
        observe(folder_stack(tmp_path))


CONTENT = st.binary(max_size=6)
NAMES = st.text("ab", min_size=1, max_size=3)
BLOBS = st.builds(
    lambda name, content: Blob(name=name, content=content), NAMES, CONTENT
)
SPECS = st.lists(NAMES, unique=True, max_size=3).map(
    lambda names: value_blob([{"name": name} for name in names])
)


def value_blob(value: Any) -> Blob:
    return Blob(name="tools.json", content=str(value).replace("'", '"').encode())


PARTS: dict[str, st.SearchStrategy[Any]] = {
    "model": st.builds(lambda endpoint: ModelRef(endpoint=endpoint), NAMES),
    "chat_template": BLOBS,
    "system_prompt": BLOBS,
    "tools": st.builds(
        lambda spec, router: Tools(spec=spec, router=router), SPECS, st.none() | BLOBS
    ),
    "retrieval": st.builds(
        lambda policy, corpus: Retrieval(policy=policy, corpus=tuple(corpus)),
        BLOBS,
        st.lists(BLOBS, unique_by=lambda blob: blob.name, max_size=3),
    ),
    "dependencies": st.builds(lambda lock: Dependencies(lock=lock), BLOBS),
    "postprocessor": st.builds(
        lambda source, function: Code(source=source, function=function), BLOBS, NAMES
    ),
    "sampling": st.dictionaries(NAMES, st.integers(0, 3), min_size=1),
}
STACKS = st.fixed_dictionaries(PARTS).map(
    lambda parts: Stack(name="x", root=Path("/nowhere"), **parts)
)


@given(stack=STACKS, data=st.data())
def test_exactly_the_changed_component_moves(stack: Stack, data: st.DataObject) -> None:
    """Whatever part is exchanged, its digest moves, and the identity, and no other's."""
    kind = data.draw(st.sampled_from(sorted(PARTS)))
    part = data.draw(PARTS[kind])
    same = part == getattr(stack, kind) or (
        kind == "retrieval"
        and part.policy == stack.retrieval.policy  # type: ignore[union-attr] # always drawn
        and set(part.corpus) == set(stack.retrieval.corpus)  # type: ignore[union-attr] # same
    )
    before, after = observe(stack), observe(replace(stack, **{kind: part}))
    assert moved(before, after) == (set() if same else {kind})
    assert (before.identity_digest == after.identity_digest) == same


def test_digests_are_the_stated_rules(make_stack: Make) -> None:
    """Component and identity digests can be recomputed by hand from what is stated."""
    manifest = observe(load_stack(make_stack()))
    assert tuple(manifest.components) == KINDS
    for component in manifest.components.values():
        assert component.digest == leaves_digest(component.records)
        assert component.leaf_count == len(component.leaves)
        assert component.grade == "measured"
    rule = {"treeAlg": "evaluand-tree-v1", "normalization": "none"}
    components = [
        {"kind": kind, "digest": each.digest, **rule}
        for kind, each in manifest.components.items()
    ]
    assert manifest.identity_digest == value_digest(components)
    prompt = manifest.components["system_prompt"]
    assert prompt.leaves == {
        "prompts/system.md": sha256_hex("Be caf\u00e9.\n".encode())
    }


def test_leaves_name_files_tools_pins_and_settings(make_stack: Make) -> None:
    """Each file, tool, document, pin and setting is a leaf under its role."""
    found = observe(load_stack(make_stack())).components
    names = {kind: set(each.leaves) for kind, each in found.items()}
    assert names["model"] == {"weights/tiny.gguf", "id", "revision"}
    assert names["tools"] == {
        "spec/tools.json",
        "router/router.yaml",
        "tool/add",
        "tool/sub",
    }
    assert names["retrieval"] == {
        "policy/retrieval.yaml",
        "corpus/a.md",
        "corpus/sub/b.md",
    }
    assert names["dependencies"] == {
        "lock/requirements.lock",
        "pin/numpy",
        "pin/rich",
        "respond/agent.py",
        "respond-function",
    }
    assert names["postprocessor"] == {"post.py", "function"}
    assert {"temperature", "seed", "stop"} < names["sampling"]


def test_names_alone_are_declared(tmp_path: Path) -> None:
    """An endpoint, and an image by digest, are declared; its address holds no secret."""
    (tmp_path / "stack.yaml").write_text(
        "name: x\nmodel: {endpoint: 'https://me:hunter2@h.example/v1?key=hunter2#m', id: m}\n"
        f"dependencies: {{image: 'sha256:{'a' * 64}'}}\n"
    )
    found = observe(load_stack(tmp_path)).components
    assert found["model"].grade == "declared"
    assert found["model"].leaves == {
        "endpoint": value_digest("https://h.example/v1#m"),
        "id": value_digest("m"),
    }
    assert found["dependencies"].grade == "declared"
    assert "hunter2" not in repr(found)
    assert public("local:x") == "local:x"


def test_environment_is_a_tree(make_stack: Make) -> None:
    """Every installed file of an environment is a leaf."""
    yaml = "name: x\nmodel: {endpoint: scripted}\ndependencies: {environment: corpus}\n"
    found = observe(load_stack(make_stack(yaml=yaml))).components["dependencies"]
    assert set(found.leaves) == {"environment/a.md", "environment/sub/b.md"}


def test_declared_tokenizers_are_hashed(make_stack: Make) -> None:
    """A tokenizer may be a folder, a file, or a GGUF that has one."""
    stack = load_stack(make_stack())

    def leaves(path: Path) -> set[str]:
        told = observe(replace(stack, tokenizer=Tokenizer(path=path)))
        return set(told.components["tokenizer"].leaves)

    assert leaves(stack.root / "corpus") == {"a.md", "sub/b.md"}
    assert leaves(stack.root / "post.py") == {"post.py"}
    assert "tokenizer.ggml.tokens" in leaves(stack.root / "w/tiny.gguf")
    bare = make_stack("bare", metadata={"general.name": "t"}) / "w/tiny.gguf"
    with pytest.raises(InputError, match=r"tokenizer: expected tokenizer.\* metadata"):
        leaves(bare)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (b"{}", "expected a list of tools"),
        (b"3", "expected a list of tools"),
        (b"[3]", r"tools.json\[0\]: expected a tool with a name, got 3"),
        (b'[{"function": {}}]', "expected a tool with a name"),
        (b'[{"name": "../x"}]', "climbs out"),
        (b'[{"name": "a"}, {"name": "a"}]', "tool 1: the name 'a' stands there twice"),
        (b'[{"name": "a", "name": "b"}]', "duplicate key 'name'"),
    ],
)
def test_malformed_tools_are_refused(make_stack: Make, spec: bytes, fault: str) -> None:
    """A tool list without names, or with one twice, is an input error naming the tool."""
    stack = load_stack(make_stack(changes={"tools.json": spec}))
    with pytest.raises(InputError, match=fault):
        observe(stack)


def test_mcp_listing_is_read(make_stack: Make) -> None:
    """An MCP tools/list result gives one leaf per tool."""
    spec = b'{"tools": [{"name": "search", "inputSchema": {}}]}'
    found = observe(load_stack(make_stack(changes={"tools.json": spec})))
    assert "tool/search" in found.components["tools"].leaves


def test_all_faults_are_told_at_once(make_stack: Make) -> None:
    """What can't be hashed in two components is told in one message."""
    stack = load_stack(make_stack(changes={"tools.json": b"3"}))
    (stack.root / "w/tiny.gguf").unlink()
    with pytest.raises(InputError, match=r"(?s)model: .*tiny.gguf.*tools: tools.json"):
        observe(stack)


def test_one_pass_reads_each_big_file_once(
    make_stack: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared digests read settled weights once, whatever their path, until they change."""
    stack = load_stack(make_stack())
    weights = stack.root / "w/tiny.gguf"
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return file_digest(path)

    monkeypatch.setattr(measure, "file_digest", counted)
    digests = FileDigests()
    os.utime(weights, (1000, 1000))
    tampered = replace(stack, system_prompt=None)
    first = observe(stack, digests)
    assert observe(tampered, digests).components["model"] == first.components["model"]
    assert len(read) == 1
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert moved(first, observe(stack, digests)) == {"model"}
    assert len(read) == 2
    observe(stack, digests)  # so young that its clock can't be trusted yet
    assert len(read) == 3


def test_coverage_presets() -> None:
    """The preset dib is paper A's layers with the tokenizer; full is all nine."""
    assert COVERAGE["full"] == KINDS
    assert set(KINDS) - set(COVERAGE["dib"]) == {"chat_template", "sampling"}
