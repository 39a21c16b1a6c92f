"""A deployment in memory: the object that is run is the object that is hashed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A small artefact, read once.

    Args:
        name: Relative path with ``/``: to the stack's folder, or to the corpus.
        content: Its bytes.
    """

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """Which model answers.

    Args:
        endpoint: ``local:NAME``, ``scripted[:PROFILE]``, ``PROVIDER/ID`` or a URL.
        id: The model's public name.
        revision: The commit of its repository.
        weights: A file or a folder, too big to hold.
    """

    endpoint: str
    id: str | None = None
    revision: str | None = None
    weights: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenizer:
    """Where the tokenizer is.

    Args:
        path: A file or a folder.
        inside: Whether `path` holds the weights too: of a GGUF only the
            ``tokenizer.*`` metadata is meant, of a folder only the tokenizer's files.
    """

    path: Path
    inside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the agent may call, and what reads its choice."""

    spec: Blob
    router: Blob | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """How documents are found, and the documents."""

    policy: Blob | None = None
    corpus: tuple[Blob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One function of one Python file that needs no other file beside it."""

    source: Blob
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What the agent's code runs on.

    Args:
        lock: A lock file.
        image: A container image by digest, ``sha256:...``.
        environment: A folder of installed files.
    """

    lock: Blob | None = None
    image: str | None = None
    environment: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A deployment: nine components, None where nothing was declared.

    Args:
        name: What its users call it.
        root: The folder that its paths are relative to; no part of its identity.
        sampling: All sampling settings that are sent, defaults included.
        respond: The user's own agent, called as ``respond(task, stack)``; a part of
            `dependencies`, as the orchestrator is in the runtime component of paper A.
        not_applicable: Components that the stack states it doesn't have.
    """

    name: str
    root: Path
    model: ModelRef
    tokenizer: Tokenizer | None = None
    chat_template: Blob | None = None
    system_prompt: Blob | None = None
    tools: Tools | None = None
    retrieval: Retrieval | None = None
    dependencies: Dependencies | None = None
    postprocessor: Code | None = None
    sampling: Mapping[str, Any] | None = None
    respond: Code | None = None
    not_applicable: frozenset[str] = frozenset()
