"""From the name that a user types to a model that answers."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from evaluand.chat.client import Address, Endpoint, Model
from evaluand.chat.local import LocalModel, open_local
from evaluand.chat.message import Request
from evaluand.chat.scripted import Scripted
from evaluand.errors import InputError

GRAMMAR = (
    "local:NAME, scripted[:PROFILE], openai/ID, openrouter/ID or http(s)://HOST/v1#ID"
)

# base URL, environment variable of the key, name of the token limit
_PROVIDERS: Mapping[str, tuple[str, str, str]] = {
    "openai": (
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        # the newer models refuse max_tokens, and all take this
        "max_completion_tokens",
    ),
    "openrouter": (
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "max_tokens",
    ),
}


def resolve(
    model: str,
    *,
    scripts: Mapping[str, Callable[[Request], str]],
    template: str | None = None,
    weights: Path | None = None,
    weights_sha256: str | None = None,
) -> Model:
    """Return the model that a name stands for; nothing is started or asked yet.

    Args:
        model: ``local:NAME``, ``scripted[:PROFILE]``, ``openai/ID``, ``openrouter/ID`` or
            ``http(s)://HOST/v1#ID``.
        scripts: The rules that ``scripted:PROFILE`` may name. A rule's attribute
            ``version``, 1 if it has none, is part of the model's identity.
        template: The chat template that a local model is started with instead of the
            one inside its weights; other models render by themselves.
        weights: A local model's GGUF file.
        weights_sha256: The digest of that file when it was just taken.

    Raises:
        InputError: For a name that nothing answers to, or weights that aren't here.
    """
    kind, _, rest = model.partition(":")
    if kind == "scripted":
        return _scripted(model, rest or "perfect", scripts)
    if kind == "local":
        return _local(model, rest, template, weights, weights_sha256)
    if kind in ("http", "https"):
        return _url(model)
    provider, _, identifier = model.partition("/")
    if provider in _PROVIDERS and identifier:
        return _provider(model, provider, identifier)
    if provider == "anthropic":
        msg = f"{model}: anthropic/ID arrives with a later release; until then reach it as openrouter/anthropic/ID"
        raise InputError(msg)
    msg = f"no model is called {_shown(model)}; expected {GRAMMAR}"
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


def _local(
    model: str,
    name: str,
    template: str | None,
    weights: Path | None,
    weights_sha256: str | None,
) -> LocalModel:
    if not name:
        msg = f"{model}: expected local:NAME, got no name"
        raise InputError(msg)
    if weights is None:
        msg = f"{model}: expected the path of its weights; fetch them with: evaluand models pull {name}"
        raise InputError(msg)
    return open_local(
        model,
        weights=weights,
        template=template,
        alias=name,
        weights_sha256=weights_sha256,
    )


def _provider(model: str, provider: str, identifier: str) -> Endpoint:
    base_url, variable, limit_field = _PROVIDERS[provider]
    key = os.environ.get(variable)
    state = "holds a wrong key" if key else "is not set"
    address = Address(
        base_url=base_url,
        model=identifier,
        authorization=f"Bearer {key}" if key else None,
        key_hint=f"{variable} {state}; set it to a key for {identifier}",
        limit_field=limit_field,
    )
    return _endpoint(model, address)


def _url(model: str) -> Endpoint:
    """Return the model behind an address whose userinfo is used and never shown."""
    parts = _address(model)
    host = parts.netloc.rpartition("@")[2]
    base_url = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    address = Address(
        base_url=base_url,
        model=unquote(parts.fragment),
        authorization=_authorization(parts),
        key_hint="set EVALUAND_API_KEY to its key",
    )
    return _endpoint(f"{base_url}#{parts.fragment}", address)


def _address(model: str) -> SplitResult:
    try:
        parts = urlsplit(model)
        if parts.hostname and parts.fragment and parts.port != 0 and not parts.query:
            return parts
    except ValueError:  # a port that is no number, a bracket left open
        pass
    msg = f"{_shown(model)}: expected http(s)://HOST/v1#ID with the model's id after # and no query"
    raise InputError(msg)


def _authorization(parts: SplitResult) -> str | None:
    key = os.environ.get("EVALUAND_API_KEY")
    if key:
        return f"Bearer {key}"
    if parts.username is None:
        return None
    import base64  # noqa: PLC0415 - rarely needed

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _shown(model: str) -> str:
    """Return a name without what stands before an @, which may be a secret."""
    scheme, mark, rest = model.partition("://")
    if not mark:
        return repr(model)
    return repr(scheme + mark + rest.rpartition("@")[2].partition("?")[0])


def _endpoint(name: str, address: Address) -> Endpoint:
    identity = {
        "kind": "endpoint",
        "base_url": address.base_url,
        "model": address.model,
    }
    return Endpoint(name=name, address=address, identity=identity)
