"""`evaluand.identity.stack`: stack.yaml is read strictly, and read once."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluand.errors import InputError
from evaluand.identity.stack import Dependencies, Stack, Tokenizer, load_stack

Make = Callable[..., Path]
MINIMAL = "name: x\nmodel: {endpoint: scripted}\n"


def load(root: Path, yaml: str) -> Stack:
    root.mkdir(exist_ok=True)
    (root / "stack.yaml").write_text(yaml)
    return load_stack(root)


def test_every_key_is_read(make_stack: Make) -> None:
    """The file of all keys becomes one object that holds the bytes of each artefact."""
    root = make_stack()
    stack = load_stack(root / "stack.yaml")
    assert stack == load_stack(root)
    assert (stack.name, stack.root, stack.not_applicable) == ("desk", root, frozenset())
    model = stack.model
    assert (model.endpoint, model.id, model.revision) == (
        "local:tiny",
        "org/tiny",
        "abc123",
    )
    assert model.weights == root / "w/tiny.gguf"
    assert stack.tokenizer == Tokenizer(path=root / "w/tiny.gguf", inside=True)
    assert stack.chat_template
    assert stack.chat_template.content == b"{{ messages }}"
    assert stack.tools
    assert stack.tools.router
    assert stack.tools.router.name == "router.yaml"
    assert stack.retrieval
    assert [each.name for each in stack.retrieval.corpus] == ["a.md", "sub/b.md"]
    assert stack.postprocessor
    assert stack.postprocessor.function == "clean"
    assert stack.respond
    assert stack.respond.source.name == "agent.py"


def test_settings_left_out_are_the_ones_sent(tmp_path: Path) -> None:
    """Sampling holds every setting, defaults included, so that all that is sent is bound."""
    stack = load(tmp_path, MINIMAL + 'sampling: {top_p: 0.5, stop: ["\\n"]}\n')
    assert stack.sampling == {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 160,
        "seed": 1,
        "top_k": None,
        "min_p": None,
        "stop": ("\n",),
    }


def test_template_comes_from_the_weights(make_stack: Make) -> None:
    """Without a declared template the one inside the GGUF is taken."""
    yaml = "name: x\nmodel: {endpoint: 'local:t', weights: w/tiny.gguf}\n"
    stack = load_stack(make_stack(yaml=yaml))
    assert stack.chat_template
    assert stack.chat_template.content == b"{{ embedded }}"
    none = load_stack(make_stack(yaml=yaml + "chat_template: none\ntokenizer: none\n"))
    assert (none.chat_template, none.tokenizer) == (None, None)
    bare = load_stack(make_stack("bare", yaml=yaml, metadata={"general.name": "t"}))
    assert (bare.chat_template, bare.tokenizer) == (None, None)


def test_local_names_are_looked_up(make_stack: Make) -> None:
    """local:NAME without weights is found through weights_of, or known by name alone."""
    root = make_stack(yaml="name: x\nmodel: {endpoint: 'local:tiny'}\n")
    stack = load_stack(root, weights_of=lambda name: root / "w" / f"{name}.gguf")
    assert stack.model.weights == root / "w/tiny.gguf"
    assert stack.tokenizer
    assert load_stack(root).model.weights is None


def test_another_model_leaves_out_what_describes_the_first(make_stack: Make) -> None:
    """Deploying another endpoint drops id, revision, weights and tokenizer, nothing else."""
    root = make_stack()
    stack = load_stack(root, model="scripted:weak")
    assert (stack.model.endpoint, stack.model.id, stack.model.weights) == (
        "scripted:weak",
        None,
        None,
    )
    assert stack.chat_template == load_stack(root).chat_template
    assert stack.not_applicable == {"tokenizer"}


def test_folder_of_weights_brings_tokenizer_and_template(tmp_path: Path) -> None:
    """In a folder as transformers writes it, tokenizer files and the template are found."""
    weights = tmp_path / "elsewhere" / "hf"
    weights.mkdir(parents=True)
    (weights / "model.safetensors").write_bytes(b"w")
    (weights / "tokenizer.json").write_text("{}")
    yaml = f"name: x\nmodel: {{endpoint: 'http://h/v1#m', weights: {weights}}}\n"
    stack = load(tmp_path / "s", yaml)
    assert stack.tokenizer == Tokenizer(path=weights, inside=True)
    assert stack.chat_template is None
    config = weights / "tokenizer_config.json"
    config.write_text('{"chat_template": "{{ c }}"}')
    template = load(tmp_path / "s", yaml).chat_template
    assert template
    assert template.content == b"{{ c }}"
    config.write_text('{"chat_template": [{"name": "a"}]}')
    with pytest.raises(InputError, match="expected one chat_template, got a list"):
        load(tmp_path / "s", yaml)
    config.write_text("{}")
    assert load(tmp_path / "s", yaml).chat_template is None
    (weights / "chat_template.jinja").write_text("{{ j }}")
    template = load(tmp_path / "s", yaml).chat_template
    assert template
    assert template.content == b"{{ j }}"


def test_retrieval_may_have_no_corpus(make_stack: Make) -> None:
    """A policy alone, as where documents come from a service, is enough."""
    stack = load_stack(
        make_stack(yaml=MINIMAL + "retrieval: {policy: retrieval.yaml}\n")
    )
    assert stack.retrieval
    assert stack.retrieval.policy
    assert stack.retrieval.corpus == ()


def test_what_does_not_apply_is_stated(tmp_path: Path) -> None:
    """none, null and an empty value each state that the stack has no such component."""
    yaml = MINIMAL + "tools: none\nretrieval: null\npostprocessor:\n"
    stack = load(tmp_path, yaml)
    assert stack.not_applicable == {
        "tools",
        "retrieval",
        "postprocessor",
        "tokenizer",  # a script has neither of these two
        "chat_template",
    }


def test_big_artefacts_may_lie_elsewhere(tmp_path: Path) -> None:
    """Weights, tokenizer and environment may be absolute or climb; they stay paths."""
    for name in ("w.bin", "t.json", "venv/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    yaml = f"name: x\nmodel: {{endpoint: 'local:t', weights: ../w.bin}}\ntokenizer: {tmp_path}/t.json\ndependencies: {{environment: ../venv}}\n"
    stack = load(tmp_path / "s", yaml)
    assert stack.model.weights == tmp_path / "s" / "../w.bin"
    assert stack.tokenizer == Tokenizer(path=tmp_path / "t.json")
    assert stack.dependencies == Dependencies(environment=tmp_path / "s" / "../venv")


@pytest.mark.parametrize(
    "path", ["../canary", "/CANARY", "C:\\x", "a\\b", "sub/../../canary", '"a\\0b"']
)
@pytest.mark.parametrize(
    "key",
    [
        "system_prompt: {}",
        "tools: {{spec: {}}}",
        "retrieval: {{corpus: {}}}",
        "dependencies: {{lock: {}}}",
    ],
)
def test_paths_out_of_the_folder_are_refused_unopened(
    path: str, key: str, tmp_path: Path
) -> None:
    """An absolute or climbing path is refused before it is opened: the canary would wait (G2)."""
    os.mkfifo(tmp_path / "canary")  # reading it would hang this test
    named = path.replace("/CANARY", str(tmp_path / "canary"))
    with pytest.raises(
        InputError, match="expected a path relative to the stack's folder"
    ):
        load(tmp_path / "s", MINIMAL + key.format(named))


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    """A prompt that is a link out of the folder is refused, naming link and target (G1)."""
    (tmp_path / "secret").write_text("s")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "p.md").symlink_to("../secret")
    with pytest.raises(InputError, match=r"system_prompt: p.md is a link out .*secret"):
        load(tmp_path / "s", MINIMAL + "system_prompt: p.md\n")


@pytest.mark.parametrize(
    ("yaml", "fault"),
    [
        ("- a", "expected keys and values"),
        ("model: {endpoint: scripted}", "key 'name' is missing"),
        ("name: x", "key 'model' is missing"),
        (
            MINIMAL + "sytem_prompt: a.md",
            "unknown key 'sytem_prompt'; did you mean system_prompt",
        ),
        (MINIMAL + "zzz: none", "unknown key 'zzz'; known: name, model, tokenizer"),
        (
            MINIMAL + "tools: {spek: a.json}",
            "key 'tools.spec' is missing; unknown key 'tools.spek'; did you mean spec",
        ),
        (MINIMAL + "name: y", 'found duplicate key "name"'),
        ("name: x\nmodel: none", "model can't be none"),
        (MINIMAL + "respond: none", "respond can't be none"),
        (
            "name: 1\nmodel: {endpoint: scripted}",
            "name: expected a valid string, got 1",
        ),
        (
            "name: ''\nmodel: {endpoint: scripted}",
            "name: expected a text that isn't empty",
        ),
        (MINIMAL + "tools: [a]", r"tools: expected keys and values, got \['a'\]"),
        (
            MINIMAL + "postprocessor: post.py",
            "postprocessor: expected a text of the form .*got 'post.py'",
        ),
        (
            MINIMAL + "dependencies: {image: 'sha256:abc'}",
            "dependencies.image: expected a text of the form",
        ),
        (MINIMAL + "dependencies: {}", "expected environment, lock or image"),
        (MINIMAL + "retrieval: {}", "expected a policy, a corpus or both"),
        (
            MINIMAL + "sampling: {temperature: -1}",
            "sampling.temperature: expected greater than or equal to 0",
        ),
        (
            MINIMAL + "sampling: {temperature: '0'}",
            "sampling.temperature: expected a valid number, got '0'",
        ),
        (MINIMAL + "sampling: {seed: 1.5}", "sampling.seed: expected a valid integer"),
        (MINIMAL + "sampling: {max_tokens: 0}", "sampling.max_tokens"),
        (MINIMAL + f"tools: [{'a' * 200}]", r"got \['aaa.*\.\.\."),
    ],
)
def test_wrong_documents_are_refused(yaml: str, fault: str, tmp_path: Path) -> None:
    """A wrong key or value names the key, the file, what was expected and what came."""
    with pytest.raises(InputError, match=fault) as caught:
        load(tmp_path, yaml)
    assert str(caught.value).startswith(str(tmp_path / "stack.yaml"))


def test_all_missing_files_are_named(tmp_path: Path) -> None:
    """One run names every file that can't be read, with a close name where there is one."""
    (tmp_path / "prompt.md").write_text("x")
    yaml = "name: x\nmodel: {endpoint: 'local:t', weights: w.gguf}\nsystem_prompt: promt.md\nchat_template: t.jinja\ntools: {spec: .}\nretrieval: {corpus: docs}\ndependencies: {environment: venv}\n"
    with pytest.raises(InputError) as caught:
        load(tmp_path, yaml)
    text = str(caught.value)
    assert (
        "promt.md: can't be read: No such file or directory; did you mean prompt.md?"
        in text
    )
    assert "chat_template: " in text
    assert "tools.spec: expected a path" in text
    assert "retrieval.corpus: expected a folder" in text
    assert "model.weights: expected a file or a folder, there is none at" in text
    assert "dependencies.environment: expected a file or a folder" in text


def test_folders_and_files_are_told_apart(tmp_path: Path) -> None:
    """A folder or a pipe named where a file is meant says so, without waiting."""
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"expected a regular file, .*pipe is none"):
        load(tmp_path, "name: x\nmodel: {endpoint: x, weights: pipe}\n")
    with pytest.raises(
        InputError, match="system_prompt: expected a file, d/ is a folder"
    ):
        load(tmp_path, MINIMAL + "system_prompt: d/\n")


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder in which this process has no more rights than its files give it."""
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if os.getuid() == 0:
        os.seteuid(0)
    shutil.rmtree(folder)


def test_all_unreadable_files_are_named(unprivileged: Path) -> None:
    """Unreadable artefacts of several components are all listed, weights included (G8)."""
    (unprivileged / "corpus").mkdir()
    names = ("p.md", "corpus/a.md", "corpus/b.md", "w.bin")
    for name in names:
        (unprivileged / name).write_text("x")
        (unprivileged / name).chmod(0)
    yaml = "name: x\nmodel: {endpoint: 'local:t', weights: w.bin}\nsystem_prompt: p.md\nretrieval: {corpus: corpus}\n"
    with pytest.raises(InputError) as caught:
        load(unprivileged, yaml)
    assert all(str(unprivileged / name) in str(caught.value) for name in names)


@pytest.mark.parametrize(
    "line", ["import helper", "from helper import x", "from . import x"]
)
def test_code_that_imports_a_file_beside_it_is_refused(
    make_stack: Make, line: str
) -> None:
    """What isn't hashed must not run: capture says so, before anything is run."""
    source = f"{line}\ndef clean(text, prompt): return text\n".encode()
    folder = make_stack(changes={"post.py": source, "helper.py": b"x = 1\n"})
    with pytest.raises(InputError, match=r"post\.py imports .*, a file beside it"):
        load_stack(folder)
