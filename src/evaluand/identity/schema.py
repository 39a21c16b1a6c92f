"""``stack.yaml`` as a document: its keys, and what is said about a wrong one."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluand.errors import InputError

Text = Annotated[str, Field(min_length=1)]
FunctionPath = Annotated[str, Field(pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$")]
ImageDigest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
# the integers that JSON carries exactly everywhere (RFC 8785)
SafeInteger = Annotated[int, Field(ge=0, lt=2**53)]

_SHAPES = {
    "string_pattern_mismatch": "a text of the form {pattern}",
    "model_type": "keys and values",
    "model_attributes_type": "keys and values",
    "string_too_short": "a text that isn't empty",
}


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class ModelDocument(_Document):
    """Key ``model``."""

    endpoint: Text
    id: Text | None = None
    weights: Text | None = None
    revision: Text | None = None


class ToolsDocument(_Document):
    """Key ``tools``."""

    spec: Text
    router: Text | None = None


class RetrievalDocument(_Document):
    """Key ``retrieval``."""

    policy: Text | None = None
    corpus: Text | None = None


class DependenciesDocument(_Document):
    """Key ``dependencies``."""

    environment: Text | None = None
    lock: Text | None = None
    image: ImageDigest | None = None


class SamplingDocument(_Document):
    """Key ``sampling``; the fields of `evaluand.chat.message.Sampling`."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[SafeInteger, Field(ge=1)] | None = None
    seed: SafeInteger | None = None
    top_k: SafeInteger | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    stop: list[Text] | None = None


class StackDocument(_Document):
    """The whole document, without the components that it states as none."""

    name: Text
    model: ModelDocument
    tokenizer: Text | None = None
    chat_template: Text | None = None
    system_prompt: Text | None = None
    tools: ToolsDocument | None = None
    retrieval: RetrievalDocument | None = None
    dependencies: DependenciesDocument | None = None
    postprocessor: FunctionPath | None = None
    sampling: SamplingDocument | None = None
    respond: FunctionPath | None = None


def read_document(value: Any, *, source: str) -> tuple[StackDocument, frozenset[str]]:
    """Return the document and the components that it states as none.

    Args:
        value: What YAML holds.
        source: Its file, for error messages.

    Raises:
        InputError: For unknown keys and wrong values, each named with its place.
    """
    if not isinstance(value, Mapping):
        msg = f"{source}: expected keys and values (name, model, ...), got {_shown(value)}"
        raise InputError(msg)
    none = frozenset(key for key in value if value[key] in (None, "none"))
    for key in none:
        if key not in StackDocument.model_fields:
            msg = f"{source}: {_unknown((key,))}"
            raise InputError(msg)
        if key in ("name", "model", "respond"):
            msg = f"{source}: {key} can't be none; give its value or leave the key out"
            raise InputError(msg)
    stated = {key: item for key, item in value.items() if key not in none}
    try:
        return StackDocument.model_validate(stated), none
    except ValidationError as error:
        faults = "; ".join(dict.fromkeys(_fault(each) for each in error.errors()))
        msg = f"{source}: {faults}"
        raise InputError(msg) from error


def _fault(error: Any) -> str:
    place = tuple(error["loc"])
    where = ".".join(map(str, place))
    if error["type"] == "extra_forbidden":
        return _unknown(place)
    if error["type"] == "missing":
        return f"key {where!r} is missing"
    said = error["msg"].removeprefix("Input should be ")
    shape = _SHAPES.get(error["type"], said).format_map(error.get("ctx", {}))
    return f"{where}: expected {shape}, got {_shown(error['input'])}"


def _unknown(place: tuple[Any, ...]) -> str:
    where = ".".join(map(str, place))
    document: type[BaseModel] = StackDocument
    for part in place[:-1]:
        document = _NESTED.get(str(part), document)
    known = list(document.model_fields)
    close = get_close_matches(str(place[-1]), known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
    )
    return f"unknown key {where!r}; {hint}"


_NESTED: Mapping[str, type[BaseModel]] = {
    "model": ModelDocument,
    "tools": ToolsDocument,
    "retrieval": RetrievalDocument,
    "dependencies": DependenciesDocument,
    "sampling": SamplingDocument,
}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
