"""The declared deployment, read from ``stack.yaml`` into memory.

Small artefacts are read once, here; what was read is what is hashed and what runs. Only
``weights``, ``tokenizer`` and ``dependencies.environment`` may lie outside the stack's
folder: they are big, and stay where they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluand.document import decode, parse_yaml, read_bytes
from evaluand.errors import InputError
from evaluand.identity.artefact import Reading
from evaluand.identity.code import load_function
from evaluand.identity.part import (
    Blob,
    Code,
    Dependencies,
    ModelRef,
    Retrieval,
    Stack,
    Tokenizer,
    Tools,
)

if TYPE_CHECKING:
    from evaluand.identity.schema import (
        DependenciesDocument,
        ModelDocument,
        RetrievalDocument,
        StackDocument,
        ToolsDocument,
    )

__all__ = [
    "Blob",
    "Code",
    "Dependencies",
    "ModelRef",
    "Retrieval",
    "Stack",
    "Tokenizer",
    "Tools",
    "load_function",
    "load_stack",
]

FILENAME = "stack.yaml"


def load_stack(
    path: Path,
    *,
    weights_of: Callable[[str], Path] | None = None,
    model: str | None = None,
) -> Stack:
    """Return the deployment that a file declares.

    Args:
        path: ``stack.yaml``, or its folder.
        weights_of: Where the weights of ``local:NAME`` are when the file names none;
            without it such a model is known by its name alone.
        model: Another endpoint to deploy: the file's id, revision, weights and
            tokenizer are then left out, since they describe its own model.

    Raises:
        InputError: For a malformed document, unknown keys, refused paths, and files
            that are missing or unreadable.
    """
    from evaluand.identity.schema import read_document  # noqa: PLC0415 - pydantic is slow

    source = path / FILENAME if path.is_dir() else path
    value = parse_yaml(
        decode(read_bytes(source), source=str(source)), source=str(source)
    )
    document, none = read_document(value, source=str(source))
    if model is not None:
        document = _deploying(document, model)
    try:
        return _with_defaults(_stack(document, none, source.parent, weights_of))
    except InputError as error:
        msg = f"{source}: {error}"
        raise InputError(msg) from error


def _deploying(document: "StackDocument", model: str) -> "StackDocument":
    deployed = type(document.model)(endpoint=model)
    return document.model_copy(update={"model": deployed, "tokenizer": None})


def _stack(
    document: "StackDocument",
    none: frozenset[str],
    root: Path,
    weights_of: Callable[[str], Path] | None,
) -> Stack:
    read = Reading(root)
    tokenizer = read.elsewhere("tokenizer", document.tokenizer)
    sampling = document.sampling
    stack = Stack(
        name=document.name,
        root=root,
        model=_model(document.model, read),
        tokenizer=None if tokenizer is None else Tokenizer(path=tokenizer),
        chat_template=read.blob("chat_template", document.chat_template),
        system_prompt=read.blob("system_prompt", document.system_prompt),
        tools=_tools(document.tools, read),
        retrieval=_retrieval(document.retrieval, read),
        dependencies=_dependencies(document.dependencies, read),
        postprocessor=read.code("postprocessor", document.postprocessor),
        sampling=None if sampling is None else _settings(sampling.model_dump()),
        respond=read.code("respond", document.respond),
        not_applicable=none,
    )
    read.finish()
    return _weighted(stack, weights_of)


def _weighted(stack: Stack, weights_of: Callable[[str], Path] | None) -> Stack:
    """Return the stack with the weights that a ``local:`` name stands for."""
    kind, _, name = stack.model.endpoint.partition(":")
    if kind != "local" or stack.model.weights is not None or weights_of is None:
        return stack
    return replace(stack, model=replace(stack.model, weights=weights_of(name)))


def _model(document: "ModelDocument", read: Reading) -> ModelRef:
    return ModelRef(
        endpoint=document.endpoint,
        id=document.id,
        revision=document.revision,
        weights=read.elsewhere("model.weights", document.weights),
    )


def _tools(document: "ToolsDocument | None", read: Reading) -> Tools | None:
    if document is None:
        return None
    spec = read.blob("tools.spec", document.spec)
    router = read.blob("tools.router", document.router)
    return None if spec is None else Tools(spec=spec, router=router)


def _retrieval(document: "RetrievalDocument | None", read: Reading) -> Retrieval | None:
    if document is None:
        return None
    if document.policy is None and document.corpus is None:
        msg = "retrieval: expected a policy, a corpus or both; write `retrieval: none` if the stack has none"
        raise InputError(msg)
    return Retrieval(
        policy=read.blob("retrieval.policy", document.policy),
        corpus=read.folder("retrieval.corpus", document.corpus),
    )


def _dependencies(
    document: "DependenciesDocument | None", read: Reading
) -> Dependencies | None:
    if document is None:
        return None
    folder = document.environment
    if folder is None and document.lock is None and document.image is None:
        msg = "dependencies: expected environment, lock or image; write `dependencies: none` if the stack has none"
        raise InputError(msg)
    return Dependencies(
        lock=read.blob("dependencies.lock", document.lock),
        image=document.image,
        environment=read.elsewhere("dependencies.environment", folder),
    )


def _settings(stated: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return all sampling settings: a default that is sent is as binding as a choice."""
    from evaluand.chat.message import Sampling  # noqa: PLC0415 - only with sampling

    given = {key: value for key, value in stated.items() if value is not None}
    if "stop" in given:
        given["stop"] = tuple(given["stop"])
    return asdict(Sampling(**given))


def _with_defaults(stack: Stack) -> Stack:
    """Fill in the tokenizer and the template that come with the weights."""
    from evaluand.identity.observe.weights import inside  # noqa: PLC0415

    none = stack.not_applicable
    if stack.model.endpoint.partition(":")[0] == "scripted":
        # a rule has neither, whatever the file leaves out
        silent = {
            kind
            for kind in ("tokenizer", "chat_template")
            if getattr(stack, kind) is None
        }
        return replace(stack, not_applicable=none | silent)
    if stack.model.weights is None:
        return stack
    tokenizer, template = inside(stack.model.weights)
    return replace(
        stack,
        tokenizer=None if "tokenizer" in none else stack.tokenizer or tokenizer,
        chat_template=None
        if "chat_template" in none
        else stack.chat_template or template,
    )
