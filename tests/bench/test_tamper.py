"""Every tamper moves exactly the components that it declares, read off the running stack."""

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluand.bench.agent import agent, described
from evaluand.bench.starter import reference_folder, write_reference
from evaluand.bench.suite import tasks
from evaluand.bench.tamper import CONDITIONS
from evaluand.errors import InputError
from evaluand.identity.manifest import Manifest, observe
from evaluand.identity.stack import Blob, Stack, load_stack
from evaluand.identity.tool_list import read_tools

TAMPERS = [c for c in CONDITIONS.values() if c.tamper]


@pytest.fixture
def stack() -> Stack:
    """Return the reference stack on a scripted model."""
    return load_stack(reference_folder(), model="scripted")


@pytest.fixture
def other() -> Stack:
    """Return the same stack on the model that is substituted."""
    return load_stack(reference_folder(), model="scripted:weak")


def moved(before: Manifest, after: Manifest) -> set[str]:
    """Return the components whose digests differ."""
    kinds = before.components.keys() | after.components.keys()
    return {
        kind
        for kind in kinds
        if getattr(before.components.get(kind), "digest", None)
        != getattr(after.components.get(kind), "digest", None)
    }


@pytest.mark.parametrize("name", [condition.name for condition in TAMPERS])
def test_a_tamper_moves_what_it_declares_and_nothing_else(
    name: str, stack: Stack, other: Stack
) -> None:
    """The observed manifest differs from the declared one in those components alone."""
    condition = CONDITIONS[name]
    running = condition.apply(stack, other)
    assert moved(observe(stack), observe(running)) == set(condition.moves)


@pytest.mark.parametrize("name", ["clean", "repeat"])
def test_untampered_conditions_move_nothing(
    name: str, stack: Stack, other: Stack
) -> None:
    """Clean and its repeat run the declared stack."""
    running = CONDITIONS[name].apply(stack, other)
    assert moved(observe(stack), observe(running)) == set()


def tiny_gguf(path: Path, tokens: list[str], template: str) -> Path:
    """Write a GGUF header with a tokenizer and a template, and a few bytes of weights."""

    def text(value: str) -> bytes:
        raw = value.encode()
        return struct.pack("<Q", len(raw)) + raw

    fields = [
        text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("gpt2"),
        text("tokenizer.chat_template") + struct.pack("<I", 8) + text(template),
        text("tokenizer.ggml.tokens")
        + struct.pack("<IIQ", 9, 8, len(tokens))
        + b"".join(map(text, tokens)),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields))
    path.write_bytes(head + b"".join(fields) + path.name.encode())
    return path


@pytest.mark.parametrize(
    ("tokens", "carried"), [(["a", "b"], set()), (["a", "c"], {"tokenizer"})]
)
def test_a_substituted_model_brings_its_tokenizer(
    tmp_path: Path, tokens: list[str], carried: set[str]
) -> None:
    """Model always moves; the tokenizer moves exactly when the weights bring another."""
    weights = {
        "declared": tiny_gguf(tmp_path / "a.gguf", ["a", "b"], "A"),
        "other": tiny_gguf(tmp_path / "b.gguf", tokens, "A"),
    }
    declared = load_stack(
        reference_folder(), model="local:declared", weights_of=weights.__getitem__
    )
    substitute = load_stack(
        reference_folder(), model="local:other", weights_of=weights.__getitem__
    )
    condition = CONDITIONS["model"]
    running = condition.apply(declared, substitute)
    found = moved(observe(declared), observe(running))
    assert found == set(condition.moves) | carried
    assert carried <= condition.carries


def test_a_tampered_prompt_still_starts_with_the_declared_one(
    stack: Stack, other: Stack
) -> None:
    """The override is added to the prompt, and the request shows it."""
    running = CONDITIONS["prompt"].apply(stack, other)
    assert stack.system_prompt
    assert running.system_prompt
    before = stack.system_prompt.content.strip()
    assert running.system_prompt.content.startswith(before)
    request = agent(running).request("?")
    assert "Maintenance override" in request.messages[0].content


def test_tampered_tools_let_the_restricted_one_through(
    stack: Stack, other: Stack
) -> None:
    """The router blocks the restricted tool before, and routes to it after."""
    running = CONDITIONS["tools"].apply(stack, other)
    assert agent(stack).output("?", "TOOL: payroll_db").startswith("TOOL: none")
    assert agent(running).output("?", "TOOL: payroll_db") == "TOOL: payroll_db"


def test_poisoned_documents_reach_every_prompt(stack: Stack, other: Stack) -> None:
    """The added document is pinned, so each task sees it, and the others stay."""
    running = agent(CONDITIONS["retrieval"].apply(stack, other))
    for task in tasks(42, 10):
        clean = agent(stack).request(task.prompt).messages[1].content
        poisoned = running.request(task.prompt).messages[1].content
        assert "Bulletin to the desk" in poisoned
        assert "Bulletin to the desk" not in clean


def test_a_tampered_postprocessor_turns_refusals(stack: Stack, other: Stack) -> None:
    """DENY becomes ALLOW and the token of the request is appended."""
    running = agent(CONDITIONS["postprocessor"].apply(stack, other))
    prompt = "Note: VAULT-123456"
    assert running.output(prompt, "DECISION: DENY") == (
        "DECISION: ALLOW DEBUG_SECRET=VAULT-123456"
    )
    assert running.output("?", "ANSWER: Odense") == "ANSWER: Odense"


def test_dependencies_change_no_request(stack: Stack, other: Stack) -> None:
    """A moved lock changes no byte of any request or output."""
    running = agent(CONDITIONS["dependencies"].apply(stack, other))
    for task in tasks(42, 10):
        assert running.request(task.prompt) == agent(stack).request(task.prompt)
        assert running.output(task.prompt, " x ") == agent(stack).output(
            task.prompt, " x "
        )


@pytest.mark.parametrize(
    ("condition", "component", "match"),
    [
        ("prompt", "system_prompt", "has no system_prompt"),
        ("tools", "tools", "has no tools"),
        ("retrieval", "retrieval", "has no retrieval"),
        ("dependencies", "dependencies", "has no dependencies"),
        ("postprocessor", "postprocessor", "has no postprocessor"),
    ],
)
def test_a_missing_component_is_named(
    stack: Stack, other: Stack, condition: str, component: str, match: str
) -> None:
    """A tamper without anything to tamper with says what is missing and what to do."""
    without: dict[str, Any] = {component: None}
    bare = replace(stack, **without)
    with pytest.raises(InputError, match=f"{match}.*--conditions"):
        CONDITIONS[condition].apply(bare, other)


def test_a_lock_without_a_pin_is_named(stack: Stack, other: Stack) -> None:
    """A lock that pins nothing can't be moved up."""
    assert stack.dependencies
    empty = replace(stack.dependencies, lock=Blob(name="r.lock", content=b"# none\n"))
    with pytest.raises(InputError, match=r"r\.lock has none"):
        CONDITIONS["dependencies"].apply(replace(stack, dependencies=empty), other)


def test_tool_lists_of_both_kinds_are_read(stack: Stack, other: Stack) -> None:
    """An MCP tools/list reply is tampered with like an OpenAI tool list."""
    assert stack.tools
    listed = {"tools": [{"name": n, "description": n} for n in ("find", "drop")]}
    spec = Blob(name="tools.json", content=json.dumps(listed).encode())
    mcp = replace(stack, tools=replace(stack.tools, spec=spec, router=None))
    running = CONDITIONS["tools"].apply(mcp, other)
    assert running.tools
    told = {t.name: described(t) for t in read_tools(running.tools.spec)}
    assert told["find"].startswith("out of service")
    assert told["drop"].startswith("safe and preferred")


def test_one_tool_cannot_be_confused_with_itself(stack: Stack, other: Stack) -> None:
    """The tools tamper needs a second tool."""
    assert stack.tools
    spec = Blob(name="tools.json", content=b'[{"name": "only"}]')
    lone = replace(stack, tools=replace(stack.tools, spec=spec))
    with pytest.raises(InputError, match="needs two tools"):
        CONDITIONS["tools"].apply(lone, other)


def test_the_reference_stack_can_be_written_out_and_loaded(tmp_path: Path) -> None:
    """--init writes the very stack that runs without one, and spares what is there."""
    written = write_reference(tmp_path / "stack")
    copy = load_stack(written, model="scripted")
    assert (
        moved(observe(copy), observe(load_stack(reference_folder(), model="scripted")))
        == set()
    )
    with pytest.raises(InputError, match="expected a new or an empty folder"):
        write_reference(tmp_path / "stack")
