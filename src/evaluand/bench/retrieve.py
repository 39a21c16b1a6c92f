"""BM25 retrieval over the corpus of a stack, by its retrieval policy."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from evaluand.document import decode, parse_yaml
from evaluand.errors import InputError
from evaluand.identity.stack import Retrieval

Retriever = Callable[[str], Sequence[str]]

_WORD = re.compile(r"[^\W_]+")


def retriever(retrieval: Retrieval) -> Retriever:
    """Return a function from a prompt to documents: the pinned ones, then the found.

    The policy is a YAML file with ``top_k`` (at least 0) and, optionally, ``pinned`` (names of
    documents that are always given). Ties go to the document first in name order.

    Raises:
        InputError: If the policy is malformed or pins a document that isn't there.
    """
    texts = {
        blob.name: decode(blob.content, source=blob.name) for blob in retrieval.corpus
    }
    top_k, pinned = read_policy(retrieval)
    missing = [name for name in pinned if name not in texts]
    if missing:
        msg = f"retrieval policy pins {missing[0]!r}, which the corpus lacks; it has {', '.join(texts)}"
        raise InputError(msg)
    names = sorted(set(texts) - set(pinned))
    search = _bm25([texts[name] for name in names])

    def retrieve(prompt: str) -> Sequence[str]:
        found = [names[index] for index in search(prompt)[:top_k]]
        return [texts[name] for name in (*pinned, *found)]

    return retrieve


def read_policy(retrieval: Retrieval) -> tuple[int, tuple[str, ...]]:
    """Return ``top_k`` and the pinned names; without a policy, one document is found.

    Raises:
        InputError: If a key is unknown or of the wrong kind.
    """
    if retrieval.policy is None:
        return 1, ()
    source = retrieval.policy.name
    value = parse_yaml(decode(retrieval.policy.content, source=source), source=source)
    if not isinstance(value, dict) or not set(value) <= {"top_k", "pinned"}:
        msg = f"{source}: expected the keys top_k and pinned, got {value!r:.60}"
        raise InputError(msg)
    top_k, pinned = value.get("top_k", 1), value.get("pinned") or []
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        msg = f"{source}: top_k: expected a whole number from 0, got {top_k!r}"
        raise InputError(msg)
    if not isinstance(pinned, list) or not all(isinstance(p, str) for p in pinned):
        msg = f"{source}: pinned: expected a list of document names, got {pinned!r:.60}"
        raise InputError(msg)
    return top_k, tuple(pinned)


def _bm25(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """Return a function from a query to document indices, best first, stable."""
    import bm25s  # noqa: PLC0415 - costs 0.2 s, and only a run needs it
    import numpy as np  # noqa: PLC0415

    words = [_words(text) for text in texts]
    vocabulary = {word for document in words for word in document}
    if not vocabulary:
        return lambda query: list(range(len(texts)))  # noqa: ARG005 - nothing to rank by
    index: Any = bm25s.BM25()
    index.index(words, show_progress=False)

    def search(query: str) -> list[int]:
        known = [word for word in _words(query) if word in vocabulary]
        scores = index.get_scores(known) if known else np.zeros(len(texts))
        order: list[int] = np.argsort(-scores, kind="stable").tolist()
        return order

    return search


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
