"""From a stack in memory to the leaves of each of its components."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from evaluand.canonical import canonical
from evaluand.chat.public import public
from evaluand.digest import Leaf, file_digest, sha256_hex, tree_digest
from evaluand.errors import InputError
from evaluand.identity.component import Found, text_forms
from evaluand.identity.observe.gguf import is_gguf, read_metadata, tokenizer_leaves
from evaluand.identity.observe.lock import pin_leaves
from evaluand.identity.observe.weights import (
    TEMPLATE_BLOB,
    TEMPLATE_FILE,
    TOKENIZER_FILES,
)
from evaluand.identity.part import Blob, Code, Stack, Tokenizer, Tools
from evaluand.identity.tool_list import read_tools

T = TypeVar("T")

# A file this young may change again within one tick of its file system's clock.
SETTLED_S = 3.0


class FileDigests:
    """What big files were found to hold, kept for one pass over several stacks.

    A digest is used again only while the file's device, inode, size and modification
    time stand still and are old enough to mean something. It isn't meant to outlive a
    pass: a later check starts with a new one, and reads every byte again.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...]], Any] = {}

    def file(self, path: Path) -> str:
        """Return `evaluand.digest.file_digest`.

        Raises:
            InputError: As it does.
        """
        return self._once("file", path, file_digest)

    def tokenizer(self, path: Path) -> tuple[Leaf, ...]:
        """Return the leaves of a GGUF file's tokenizer.

        Raises:
            InputError: If the file is no sound GGUF or holds no tokenizer.
        """
        return self._once("tokenizer", path, _gguf_tokenizer)

    def tree(self, path: Path) -> tuple[Leaf, ...]:
        """Return the leaves of a folder.

        Raises:
            InputError: As `evaluand.digest.tree_digest`.
        """
        return tree_digest(path, hash_file=self.file)[1]

    def _once(self, what: str, path: Path, read: Callable[[Path], T]) -> T:
        status = path.stat() if path.is_file() else None
        if status is None or time.time() - status.st_mtime < SETTLED_S:
            return read(path)
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if (what, stamp) not in self._known:
            self._known[what, stamp] = read(path)
        value: T = self._known[what, stamp]
        return value


def find(stack: Stack, digests: FileDigests) -> dict[str, Found]:
    """Return what was found of each component that the stack has, in the order of KINDS.

    Raises:
        InputError: If a file can't be hashed, or a leaf's name is refused.
    """
    readers: Mapping[str, Callable[[], Found | None]] = {
        "model": lambda: _model(stack, digests),
        "tokenizer": lambda: _tokenizer(stack.tokenizer, digests),
        "chat_template": lambda: _texts({"": stack.chat_template}),
        "system_prompt": lambda: _texts({"": stack.system_prompt}),
        "tools": lambda: _tools(stack.tools),
        "retrieval": lambda: _retrieval(stack),
        "dependencies": lambda: _dependencies(stack, digests),
        "postprocessor": lambda: _code("", stack.postprocessor),
        "sampling": lambda: _sampling(stack.sampling),
    }
    found: dict[str, Found] = {}
    faults: list[str] = []
    for kind, read in readers.items():
        try:
            each = read()
        except InputError as error:
            faults.append(f"{kind}: {error}")
            continue
        if each is not None:
            found[kind] = each
    if faults:
        raise InputError("\n  ".join(faults))
    return found


def _value(name: str, value: Any) -> Leaf:
    content = canonical(value)
    return Leaf(name=name, type="value", digest=sha256_hex(content), size=len(content))


def _blob(role: str, blob: Blob) -> Leaf:
    return Leaf(
        name=_named(role, blob),
        digest=sha256_hex(blob.content),
        size=len(blob.content),
    )


def _named(role: str, blob: Blob) -> str:
    """Return a leaf's name, under its role where a component holds several."""
    return f"{role}/{blob.name}" if role else blob.name


def _under(role: str, leaves: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
    return tuple(replace(leaf, name=f"{role}/{leaf.name}") for leaf in leaves)


def _big(path: Path, digests: FileDigests) -> tuple[Leaf, ...]:
    """Return a folder's leaves, or the one of a file under its own name."""
    if path.is_dir():
        return digests.tree(path)
    digest = digests.file(path)
    return (Leaf(name=path.name, digest=digest, size=path.stat().st_size),)


def _model(stack: Stack, digests: FileDigests) -> Found:
    model = stack.model
    names = {"id": model.id, "revision": model.revision}
    if model.weights is None:
        names = {"endpoint": public(model.endpoint), **names}
    stated = tuple(_value(k, v) for k, v in names.items() if v is not None)
    if model.weights is None:
        source = public(model.endpoint)
        return Found(
            records=stated, source=source, observed_via="name", grade="declared"
        )
    elsewhere = _bound_elsewhere(stack)
    leaves = tuple(
        leaf for leaf in _big(model.weights, digests) if leaf.name not in elsewhere
    )
    if not leaves:
        msg = f"model.weights: {model.weights} holds a tokenizer and no weights"
        raise InputError(msg)
    return Found(
        records=(*_under("weights", leaves), *stated),
        source=model.weights.name,
        observed_via="files",
    )


def _bound_elsewhere(stack: Stack) -> frozenset[str]:
    """Return the files of a weights folder that other components answer for."""
    names: frozenset[str] = frozenset()
    tokenizer = stack.tokenizer
    if tokenizer and tokenizer.inside and tokenizer.path == stack.model.weights:
        names = TOKENIZER_FILES
    if stack.chat_template and stack.chat_template.name == TEMPLATE_BLOB:
        names |= {TEMPLATE_FILE}
    return names


def _tokenizer(tokenizer: Tokenizer | None, digests: FileDigests) -> Found | None:
    if tokenizer is None:
        return None
    path = tokenizer.path
    if path.is_file() and is_gguf(path):
        leaves = digests.tokenizer(path)
        source = f"tokenizer.* metadata of {path.name}"
        return Found(records=leaves, source=source, observed_via="gguf")
    if not tokenizer.inside:
        leaves = _big(path, digests)
        return Found(records=leaves, source=path.name, observed_via="files")
    files = [path / name for name in sorted(TOKENIZER_FILES)]
    leaves = tuple(
        leaf for each in files if each.exists() for leaf in _big(each, digests)
    )
    source = f"tokenizer files in {path.name}"
    return Found(records=leaves, source=source, observed_via="files")


def _gguf_tokenizer(path: Path) -> tuple[Leaf, ...]:
    leaves = tokenizer_leaves(read_metadata(path))
    if not leaves:
        msg = f"tokenizer: expected tokenizer.* metadata in {path}, it has none"
        raise InputError(msg)
    return leaves


def _texts(blobs: Mapping[str, Blob | None]) -> Found | None:
    """Return one leaf per file, under its role so that two can't trade places."""
    present = {role: blob for role, blob in blobs.items() if blob is not None}
    if not present:
        return None
    return Found(
        records=tuple(_blob(role, blob) for role, blob in present.items()),
        source=", ".join(blob.name for blob in present.values()),
        observed_via="files",
        forms=_forms(present.items()),
    )


def _forms(blobs: Any) -> dict[str, Mapping[str, str]]:
    forms = {_named(role, blob): text_forms(blob.content) for role, blob in blobs}
    return {name: each for name, each in forms.items() if each}


def _tools(tools: Tools | None) -> Found | None:
    if tools is None:
        return None
    found = _texts({"spec": tools.spec, "router": tools.router})
    return found and replace(found, records=(*found.records, *_each_tool(tools.spec)))


def _each_tool(spec: Blob) -> tuple[Leaf, ...]:
    return tuple(_value(f"tool/{tool.name}", tool.entry) for tool in read_tools(spec))


def _retrieval(stack: Stack) -> Found | None:
    retrieval = stack.retrieval
    if retrieval is None:
        return None
    blobs = [("corpus", each) for each in retrieval.corpus]
    if retrieval.policy is not None:
        blobs.append(("policy", retrieval.policy))
    documents = len(retrieval.corpus)
    policy = f"{retrieval.policy.name}, " if retrieval.policy else ""
    return Found(
        records=tuple(_blob(role, blob) for role, blob in blobs),
        source=f"{policy}{documents} document{'s' * (documents != 1)}",
        observed_via="files",
        forms=_forms(blobs),
    )


def _dependencies(stack: Stack, digests: FileDigests) -> Found | None:
    """Return lock, image, environment and the agent's own code, whichever there are."""
    stated = stack.dependencies
    leaves: list[Leaf] = []
    sources: list[str] = []
    forms: dict[str, Mapping[str, str]] = {}
    if stated and stated.lock:
        leaves += [_blob("lock", stated.lock), *pin_leaves(stated.lock)]
        sources.append(stated.lock.name)
        forms |= _forms([("lock", stated.lock)])
    if stated and stated.image:
        leaves.append(_value("image", stated.image))
        sources.append(f"image {stated.image}")
    if stated and stated.environment:
        leaves += _under("environment", digests.tree(stated.environment))
        sources.append(f"{stated.environment.name}/")
    own = _code("respond", stack.respond)
    if own:
        leaves += own.records
        sources.append(own.source)
        forms |= own.forms
    if not leaves:
        return None
    named = stated and stated.image
    return Found(
        records=tuple(leaves),
        source=", ".join(sources),
        observed_via="name" if named else "files",
        grade="declared" if named else "measured",
        forms=forms,
    )


def _code(role: str, code: Code | None) -> Found | None:
    if code is None:
        return None
    found = _texts({role: code.source})
    function = _value(f"{role}-function" if role else "function", code.function)
    return found and replace(
        found,
        records=(*found.records, function),
        source=f"{code.source.name}:{code.function}",
    )


def _sampling(sampling: Mapping[str, Any] | None) -> Found | None:
    if sampling is None:
        return None
    return Found(
        records=tuple(_value(name, value) for name, value in sampling.items()),
        source="every setting",
        observed_via="settings",
    )
