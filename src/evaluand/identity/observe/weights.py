"""What comes with the weights: a tokenizer and a chat template, inside or beside them."""

from pathlib import Path

from evaluand.canonical import parse_json
from evaluand.document import read_bytes
from evaluand.errors import InputError
from evaluand.identity.observe import gguf
from evaluand.identity.part import Blob, Tokenizer

TEMPLATE_FILE = "chat_template.jinja"
# Tells the file beside the weights from one of the stack's own.
TEMPLATE_BLOB = f"weights#{TEMPLATE_FILE}"
CONFIG_FILE = "tokenizer_config.json"
# The files that transformers reads a tokenizer from.
TOKENIZER_FILES = frozenset(
    {
        "added_tokens.json",
        "merges.txt",
        "sentencepiece.bpe.model",
        "special_tokens_map.json",
        "spiece.model",
        "tekken.json",
        "tokenizer.json",
        "tokenizer.model",
        CONFIG_FILE,
        "vocab.json",
        "vocab.txt",
    }
)


def inside(weights: Path) -> tuple[Tokenizer | None, Blob | None]:
    """Return the tokenizer and the chat template that come with the weights.

    Args:
        weights: A GGUF file, which holds both; a folder or another file, beside which
            they may lie.

    Raises:
        InputError: If the weights or a file beside them can't be read.
    """
    if weights.is_file() and gguf.is_gguf(weights):
        return _inside_gguf(weights)
    folder = weights if weights.is_dir() else weights.parent
    found = any((folder / name).is_file() for name in TOKENIZER_FILES)
    tokenizer = Tokenizer(path=folder, inside=True) if found else None
    return tokenizer, _template_beside(folder)


def _inside_gguf(weights: Path) -> tuple[Tokenizer | None, Blob | None]:
    metadata = gguf.read_metadata(weights)
    content = gguf.chat_template(metadata)
    template = None
    if content is not None:
        template = Blob(name=gguf.TEMPLATE_KEY, content=content)
    known = bool(gguf.tokenizer_leaves(metadata))
    return Tokenizer(path=weights, inside=True) if known else None, template


def _template_beside(folder: Path) -> Blob | None:
    if (folder / TEMPLATE_FILE).is_file():
        content = read_bytes(folder / TEMPLATE_FILE)
        return Blob(name=TEMPLATE_BLOB, content=content)
    config = folder / CONFIG_FILE
    if not config.is_file():
        return None
    value = parse_json(read_bytes(config), source=str(config))
    template = value.get("chat_template") if isinstance(value, dict) else None
    if template is None:
        return None
    if not isinstance(template, str):
        msg = f"{config}: expected one chat_template, got a list; name the one in use in stack.yaml"
        raise InputError(msg)
    return Blob(name=f"{CONFIG_FILE}#chat_template", content=template.encode())
