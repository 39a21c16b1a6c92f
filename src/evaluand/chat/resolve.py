"""From the name that a user types to a model that answers."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evaluand.chat.client import Model
from evaluand.chat.message import Request
from evaluand.chat.scripted import Scripted
from evaluand.errors import InputError

GRAMMAR = (
    "local:NAME, scripted[:PROFILE], openai/ID, openrouter/ID or http(s)://HOST/v1#ID"
)


def resolve(
    model: str,
    *,
    scripts: Mapping[str, Callable[[Request], str]],
    template: str | None = None,
    weights: Path | None = None,
) -> Model:
    """Return the model that a name stands for; nothing is started or asked yet.

    Args:
        model: ``local:NAME``, ``scripted[:PROFILE]``, ``openai/ID``, ``openrouter/ID`` or
            ``http(s)://HOST/v1#ID``.
        scripts: The rules that ``scripted:PROFILE`` may name.
        template: The chat template that a local model is started with instead of the
            one inside its weights.
        weights: A local model's GGUF file, instead of the catalogue's.

    Raises:
        InputError: For a name that nothing answers to.
    """
    kind, _, profile = model.partition(":")
    if kind == "scripted":
        return _scripted(model, profile or "perfect", scripts)
    msg = f"no model is called {model!r}; expected {GRAMMAR}"
    raise InputError(msg)


def _scripted(
    model: str, profile: str, scripts: Mapping[str, Callable[[Request], str]]
) -> Scripted:
    if profile not in scripts:
        known = ", ".join(scripts) or "none"
        msg = f"{model}: no script is called {profile!r}; there are: {known}"
        raise InputError(msg)
    respond = scripts[profile]
    version = getattr(respond, "version", 1)
    return Scripted(
        model,
        respond,
        {"kind": "scripted", "profile": profile, "version": version},
    )
