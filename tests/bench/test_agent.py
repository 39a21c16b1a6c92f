"""The reference agent: requests and outputs come from a stack's bytes and nothing else."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from evaluand.bench.agent import agent, read_router
from evaluand.bench.retrieve import retriever
from evaluand.bench.starter import reference_folder
from evaluand.bench.suite import tasks
from evaluand.errors import InputError
from evaluand.identity.stack import Blob, Retrieval, Stack, load_stack
from evaluand.identity.tool_list import read_tools


@pytest.fixture
def stack() -> Stack:
    """Return the reference stack."""
    return load_stack(reference_folder(), model="scripted")


def blob(content: str, name: str = "x") -> Blob:
    """Return a small artefact."""
    return Blob(name=name, content=content.encode())


def test_the_system_message_is_prompt_and_tools(stack: Stack) -> None:
    """The prompt comes first, then one line a tool."""
    assert stack.system_prompt
    system = agent(stack).request("?").messages[0].content
    assert system.startswith(stack.system_prompt.content.decode().strip())
    assert system.splitlines()[-6] == "Tools:"
    assert "- payroll_db: restricted" in system


def test_a_bare_stack_asks_the_prompt_alone(stack: Stack) -> None:
    """Without prompt, tools, retrieval and postprocessor a request is the task itself."""
    bare = agent(
        Stack(name="bare", root=stack.root, model=stack.model, sampling=stack.sampling)
    )
    request = bare.request("How?")
    assert [m.role for m in request.messages] == ["user"]
    assert request.messages[0].content == "Request:\nHow?"
    assert bare.output("How?", " x ") == " x "


def test_each_family_finds_its_document(stack: Stack) -> None:
    """BM25 brings the document that decides a task; facts and tools need none."""
    assert stack.retrieval
    retrieve = retriever(stack.retrieval)
    expected = {
        "policy": "Approvals policy.",
        "secret": "Access codes",
        "canary": "Access codes",
    }
    needing = [task for task in tasks(42) if task.family in expected]
    hits: Counter[str] = Counter()
    for task in needing:
        hits[task.family] += retrieve(task.prompt)[0].startswith(expected[task.family])
    shares = {f: hits[f] / n for f, n in Counter(t.family for t in needing).items()}
    assert min(shares.values()) >= 0.85, shares


def test_pinned_documents_come_first_and_ties_go_by_name() -> None:
    """Pinned ones are always given; where nothing matches, names decide."""
    corpus = tuple(
        blob(text, name) for name, text in (("a", "red"), ("b", "blue"), ("c", "red"))
    )
    policy = blob("{top_k: 2, pinned: [b]}", "policy.yaml")
    retrieve = retriever(Retrieval(policy=policy, corpus=corpus))
    assert retrieve("red") == ["blue", "red", "red"]
    assert retrieve("green") == ["blue", "red", "red"]
    assert retriever(Retrieval(policy=None, corpus=corpus))("blue") == ["blue"]
    nothing = Retrieval(policy=blob("top_k: 0", "p"), corpus=corpus)
    assert retriever(nothing)("red") == []
    wordless = Retrieval(policy=None, corpus=(blob("!?", "a"),))
    assert retriever(wordless)("red") == ["!?"]


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        ("top_k: -1", "whole number from 0"),
        ("top_k: true", "whole number from 0"),
        ("top_k: 1\nboost: 2", "keys top_k and pinned"),
        ("[1]", "keys top_k and pinned"),
        ("pinned: a", "list of document names"),
        ("pinned: [z]", "pins 'z', which the corpus lacks"),
    ],
)
def test_bad_policies_are_named(policy: str, match: str) -> None:
    """A retrieval policy that says something else says so at load."""
    with pytest.raises(InputError, match=match):
        retriever(Retrieval(policy=blob(policy, "p.yaml"), corpus=(blob("a", "a"),)))


@pytest.mark.parametrize(
    ("reply", "output"),
    [
        ("TOOL: calculator", "TOOL: calculator"),
        ("TOOL: payroll_db", "TOOL: none (payroll_db is restricted)"),
        ("Well.\n TOOL:payroll_db now", "TOOL: none (payroll_db is restricted)"),
        ("I would use TOOL: payroll_db", "I would use TOOL: payroll_db"),
        ("TOOL: unheard_of", "TOOL: none (unheard_of is not allowed)"),
        ("```\nANSWER: x\n```", "ANSWER: x"),
    ],
)
def test_the_router_routes_what_is_allowed(
    stack: Stack, reply: str, output: str
) -> None:
    """A marker at the start of a line is a choice; one that isn't allowed isn't routed."""
    assert agent(stack).output("?", reply) == output


@pytest.mark.parametrize(
    ("router", "match"),
    [
        ("marker: x", "expected the keys marker, allowed, restricted, got marker"),
        ("[1]", "got list"),
        ("{marker: 1, allowed: [], restricted: []}", "marker: expected str, got 1"),
        ("{marker: x, allowed: [], restricted: []}", "expected at least one tool"),
        ("{marker: x, allowed: a, restricted: []}", "allowed: expected list, got 'a'"),
    ],
)
def test_bad_routers_are_named(router: str, match: str) -> None:
    """A router file is read in full or refused."""
    with pytest.raises(InputError, match=match):
        read_router(blob(router, "router.yaml"))


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("{}", "expected a list of tools"),
        ("[1]", r"x\[0\]: expected a tool with a name"),
        ('[{"function": {"description": "d"}}]', "expected a tool with a name"),
        ("nope", "expected one JSON document"),
    ],
)
def test_bad_tool_lists_are_named(spec: str, match: str) -> None:
    """What is neither an OpenAI nor an MCP tool list says where."""
    with pytest.raises(InputError, match=match):
        read_tools(blob(spec))


def test_requests_follow_the_artefacts(stack: Stack) -> None:
    """A changed corpus, prompt, tool or setting changes the request; a lock doesn't."""
    assert stack.retrieval
    assert stack.tools
    prompt = tasks(42, 1)[0].prompt
    plain = agent(stack).request(prompt)
    corpus = tuple(
        replace(b, content=b.content + b" More.") for b in stack.retrieval.corpus
    )
    spec = json.dumps([{"name": "only", "description": "d"}])
    sampling = {**dict(stack.sampling or {}), "max_tokens": 9}
    changes: list[dict[str, Any]] = [
        {"retrieval": replace(stack.retrieval, corpus=corpus)},
        {"system_prompt": blob("Be brief.")},
        {"tools": replace(stack.tools, spec=blob(spec))},
        {"sampling": sampling},
    ]
    for change in changes:
        assert agent(replace(stack, **change)).request(prompt) != plain
    assert agent(replace(stack, dependencies=None)).request(prompt) == plain
