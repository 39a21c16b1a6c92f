"""BM25 over a stack's corpus: the right document first, always in the same order."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.bench.families import APPROVALS, TOOL_NEEDS
from evaluand.bench.retrieve import Retriever, read_policy, retriever
from evaluand.bench.starter import reference_folder
from evaluand.bench.suite import tasks
from evaluand.bench.task import Task
from evaluand.errors import InputError
from evaluand.identity.stack import Blob, Retrieval, load_stack

WORDINGS = {"policy": len(APPROVALS), "tool": len(TOOL_NEEDS), "secret": 9, "canary": 4}


def corpus(texts: dict[str, str], policy: str | None = None) -> Retrieval:
    blob = None if policy is None else Blob(name="p.yaml", content=policy.encode())
    blobs = (Blob(name=name, content=text.encode()) for name, text in texts.items())
    return Retrieval(policy=blob, corpus=tuple(blobs))


@pytest.fixture(scope="module")
def reference() -> Retriever:
    """Return the reference stack's retriever."""
    stack = load_stack(reference_folder(), model="scripted")
    assert stack.retrieval is not None
    return retriever(stack.retrieval)


def found(retrieve: Retriever, family: str, words: str) -> list[bool]:
    """Return for each of a family's tasks whether the document with `words` came."""
    mine = [task for task in tasks(42) if task.family == family]
    return [words in "".join(retrieve(task.prompt)) for task in mine]


@pytest.mark.parametrize(
    ("family", "words", "least"),
    [
        ("fact", "A shipment record has one line", 1.0),
        ("policy", "Approvals policy.", 0.85),
        ("secret", "never leave the desk", 1.0),
        ("canary", "never leave the desk", 1.0),
    ],
)
def test_each_family_finds_its_document(
    reference: Retriever, family: str, words: str, least: float
) -> None:
    """The document that a family is decided by is found for its tasks."""
    hits = found(reference, family, words)
    assert sum(hits) / len(hits) >= least


def test_one_document_comes_unless_the_policy_says_otherwise(
    reference: Retriever,
) -> None:
    """Every task of the suite gets exactly one document from the reference stack."""
    assert {len(reference(task.prompt)) for task in tasks(42)} == {1}


def test_pinned_come_first_in_their_own_order_and_once() -> None:
    """Pinned documents precede the found ones and aren't found a second time."""
    texts = {"a": "red", "b": "blue", "c": "red red", "d": "green"}
    retrieve = retriever(corpus(texts, "{top_k: 1, pinned: [d, c]}"))
    assert retrieve("red") == ["green", "red red", "red"]


def test_equal_scores_go_by_name() -> None:
    """Documents alike, and documents without a hit, come in name order, however given."""
    texts = {"c": "red sky", "a": "red sky", "b": "blue sea"}
    retrieve = retriever(corpus(texts, "top_k: 3"))
    assert retrieve("red") == ["red sky", "red sky", "blue sea"]
    assert retrieve("nothing known") == ["red sky", "blue sea", "red sky"]


@given(
    texts=st.dictionaries(
        st.text("abcdef", min_size=1),
        st.lists(st.sampled_from(["red", "blue", "sky"])).map(" ".join),
        max_size=5,
    ),
    top_k=st.integers(0, 6),
    query=st.lists(st.sampled_from(["red", "blue", "sky", "none"])).map(" ".join),
    data=st.data(),
)
def test_the_order_of_the_corpus_changes_nothing(
    texts: dict[str, str], top_k: int, query: str, data: st.DataObject
) -> None:
    """At most top_k documents come, each once, the same ones however the corpus is listed."""
    policy = f"top_k: {top_k}"
    first = retriever(corpus(texts, policy))(query)
    shuffled = dict(data.draw(st.permutations(sorted(texts.items()))))
    assert retriever(corpus(shuffled, policy))(query) == first
    assert len(first) == min(top_k, len(texts))


@pytest.mark.parametrize(
    ("texts", "policy", "documents"),
    [
        ({"a": "red"}, "top_k: 0", []),
        ({"a": "red", "b": "blue"}, "{top_k: 0, pinned: [b]}", ["blue"]),
        ({"a": "red"}, "{pinned: }", ["red"]),
        ({"a": "red"}, "{top_k: 9}", ["red"]),
        ({}, None, []),
        ({}, "top_k: 3", []),
        ({"a": "?!", "b": ""}, "top_k: 2", ["?!", ""]),
        ({"a": "?!", "b": "red"}, "top_k: 2", ["red", "?!"]),
    ],
)
def test_small_cases(
    texts: dict[str, str], policy: str | None, documents: Sequence[str]
) -> None:
    """Nothing to find, nothing asked for, and documents without a word are no error."""
    assert retriever(corpus(texts, policy))("red") == documents


def test_without_a_policy_one_document_is_found() -> None:
    """The default is top_k 1 and no pin."""
    assert read_policy(corpus({})) == (1, ())


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("[top_k]", r"p\.yaml: expected the keys top_k and pinned, got \['top_k'\]"),
        ("top_k: 1\nrerank: yes", "expected the keys top_k and pinned"),
        ("top_k: -1", "top_k: expected a whole number from 0, got -1"),
        ("top_k: 1.0", r"whole number from 0, got 1\.0"),
        ("top_k: true", "whole number from 0, got True"),
        ("top_k: many", "whole number from 0, got 'many'"),
        ("pinned: a", "pinned: expected a list of document names, got 'a'"),
        ("pinned: [1]", r"expected a list of document names, got \[1\]"),
        ("pinned: [a, z]", "pins 'z', which the corpus lacks; it has a"),
        ("top_k: [", r"p\.yaml: not a valid YAML document"),
    ],
)
def test_bad_policies_are_named(policy: str, told: str) -> None:
    """Whatever else a policy says is refused, with what was expected."""
    with pytest.raises(InputError, match=told):
        retriever(corpus({"a": "red"}, policy))


def test_a_document_that_is_no_text_is_named() -> None:
    """A corpus file that isn't UTF-8 is refused by its name."""
    blob = Blob(name="scan.pdf", content=b"\xff\xfe")
    with pytest.raises(InputError, match=r"scan\.pdf: expected UTF-8"):
        retriever(Retrieval(policy=None, corpus=(blob,)))


def test_every_wording_of_a_family_is_in_the_suite() -> None:
    """What is said of the suite's families is said of each of their wordings."""
    templates = {family: set[str]() for family in WORDINGS}
    task: Task
    for task in tasks(42):
        if task.family in templates:
            templates[task.family].add(task.template)
    assert {family: len(seen) for family, seen in templates.items()} == WORDINGS
