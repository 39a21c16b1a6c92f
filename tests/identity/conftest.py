"""A small stack on disk, and a writer of GGUF files."""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

STACK = """\
name: desk
model: {endpoint: "local:tiny", id: org/tiny, revision: abc123, weights: w/tiny.gguf}
chat_template: template.jinja
system_prompt: prompts/system.md
tools: {spec: tools.json, router: router.yaml}
retrieval: {policy: retrieval.yaml, corpus: corpus/}
dependencies: {lock: requirements.lock}
postprocessor: post.py:clean
sampling: {temperature: 0, top_p: 1, max_tokens: 64, seed: 1}
respond: agent.py:respond
"""
FILES: Mapping[str, bytes] = {
    "template.jinja": b"{{ messages }}",
    "prompts/system.md": "Be caf\u00e9.\n".encode(),
    "tools.json": b'[{"type":"function","function":{"name":"add"}},{"name":"sub"}]',
    "router.yaml": b"allowed: [add]\n",
    "retrieval.yaml": b"top_k: 1\n",
    "corpus/a.md": b"alpha\n",
    "corpus/sub/b.md": b"beta\n",
    "requirements.lock": b"numpy==2.1.0\nrich==14.0.0\n",
    "post.py": b"def clean(text):\n    return text.strip()\n",
    "agent.py": b"def respond(task, stack):\n    return task\n",
}
TEXT, ARRAY, U32 = 8, 9, 4


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def encoded(value: Any) -> tuple[int, bytes]:
    """Return GGUF's type number and bytes of a text, an integer or a list of these."""
    if isinstance(value, str):
        return TEXT, text(value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    inner = [encoded(each) for each in value] or [(U32, b"")]
    body = b"".join(raw for _, raw in inner)
    return ARRAY, struct.pack("<IQ", inner[0][0], len(value)) + body


def gguf(
    metadata: Mapping[str, Any], *, version: int = 3, tensors: bytes = b"\0" * 64
) -> bytes:
    """Return a GGUF file with this metadata; what follows it is opaque here."""
    parts = [struct.pack("<4sIQQ", b"GGUF", version, 0, len(metadata))]
    for key, value in metadata.items():
        kind, raw = encoded(value)
        parts += [text(key), struct.pack("<I", kind), raw]
    return b"".join([*parts, tensors])


@pytest.fixture(name="gguf", scope="session")
def _gguf() -> Callable[..., bytes]:
    """Return `gguf`, since test modules can't import each other."""
    return gguf


TINY = {
    "general.name": "tiny",
    "tokenizer.ggml.tokens": ["a", "b", "caf\u00e9"],
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.chat_template": "{{ embedded }}",
}


@pytest.fixture
def make_stack(tmp_path: Path) -> Callable[..., Path]:
    """Return a writer of the stack above, with changes; None leaves a file out."""

    def make(
        name: str = "stack",
        *,
        yaml: str = STACK,
        changes: Mapping[str, bytes | None] | None = None,
        metadata: Mapping[str, Any] = TINY,
        tensors: bytes = b"\0" * 64,
    ) -> Path:
        root = tmp_path / name
        files: dict[str, bytes | None] = {
            **FILES,
            "stack.yaml": yaml.encode(),
            "w/tiny.gguf": gguf(metadata, tensors=tensors),
            **(changes or {}),
        }
        for each, content in files.items():
            if content is not None:
                (root / each).parent.mkdir(parents=True, exist_ok=True)
                (root / each).write_bytes(content)
        return root

    return make
