"""From the name that a user types to a model that answers."""

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from evaluand.chat import anthropic
from evaluand.chat.address import Address
from evaluand.chat.client import Endpoint, Model
from evaluand.chat.lint import ANTHROPIC, Dialect, dialect_of
from evaluand.chat.local import LocalModel, open_local
from evaluand.chat.message import Request
from evaluand.chat.public import public
from evaluand.chat.scripted import Scripted
from evaluand.errors import InputError

GRAMMAR = "local:NAME, scripted[:PROFILE], openai/ID, anthropic/ID, openrouter/ID[@PROVIDER] or http(s)://HOST/v1[,...]#ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    """A company's endpoint.

    Args:
        base_url: Up to and including ``/v1``.
        variable: The environment variable of the key.
        limit_field: The name of the token limit.
        wire: The format.
    """

    base_url: str
    variable: str
    limit_field: str = "max_tokens"
    wire: str = "openai"


_PROVIDERS: Mapping[str, _Provider] = {
    "openai": _Provider(
        base_url="https://api.openai.com/v1",
        variable="OPENAI_API_KEY",
        # the newer models refuse max_tokens, and all take this
        limit_field="max_completion_tokens",
    ),
    "anthropic": _Provider(
        base_url="https://api.anthropic.com/v1",
        variable="ANTHROPIC_API_KEY",
        wire="anthropic",
    ),
    "openrouter": _Provider(
        base_url="https://openrouter.ai/api/v1", variable="OPENROUTER_API_KEY"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How an endpoint is asked; nothing here can change a reply.

    Args:
        concurrency: Requests in flight at most, for each of its URLs.
        timeout_s: Seconds that one attempt may take.
    """

    concurrency: int = 8
    timeout_s: float = 600.0


def resolve(
    model: str,
    *,
    scripts: Mapping[str, Callable[[Request], str]],
    template: str | None = None,
    weights: Path | None = None,
    weights_sha256: str | None = None,
    pace: Pace | None = None,
) -> Model:
    """Return the model that a name stands for; nothing is started or asked yet.

    Args:
        model: ``local:NAME``, ``scripted[:PROFILE]``, ``openai/ID``, ``anthropic/ID``,
            ``openrouter/ID``, which ``@PROVIDER`` pins to one of its providers, or
            ``http(s)://HOST/v1#ID``, where a comma parts URLs that answer alike.
        scripts: The rules that ``scripted:PROFILE`` may name. A rule's attribute
            ``version``, 1 if it has none, is part of the model's identity.
        template: The chat template that a local model is started with instead of the
            one inside its weights; other models render by themselves.
        weights: A local model's GGUF file.
        weights_sha256: The digest of that file when it was just taken.
        pace: How endpoints are asked; None is the default.

    Raises:
        InputError: For a name that nothing answers to, or weights that aren't here.
    """
    kind, _, rest = model.partition(":")
    if kind == "scripted":
        return _scripted(model, rest or "perfect", scripts)
    if kind == "local":
        return _local(model, rest, template, weights, weights_sha256)
    pace = pace or Pace()
    if kind in ("http", "https"):
        return _url(model, pace)
    provider, _, identifier = model.partition("/")
    if provider in _PROVIDERS and identifier:
        return _provider(model, provider, identifier, pace)
    msg = f"no model is called {public(model)!r}; expected {GRAMMAR}"
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


def _provider(model: str, provider: str, identifier: str, pace: Pace) -> Endpoint:
    known = _PROVIDERS[provider]
    key = _key(known.variable)
    if key is None:
        msg = f"{model}: {known.variable} is not set; set it to a key for {identifier}"
        raise InputError(msg)
    served, pinned = identifier, ""
    if provider == "openrouter":
        served, _, pinned = identifier.partition("@")
    pin = {"provider": {"order": [pinned], "allow_fallbacks": False}} if pinned else {}
    address = Address(
        base_urls=(known.base_url,),
        model=served,
        headers=_key_headers(known.wire, key),
        secrets=(key,),
        key_hint=f"{known.variable} holds a wrong key; set it to a key for {served}",
        fields=pin,
        limit_field=known.limit_field,
        wire=known.wire,
        dialect=_dialect(known.wire, served),
    )
    return _endpoint(model, address, pace, router=provider == "openrouter")


def _key(variable: str) -> str | None:
    """Return the key in an environment variable, without white space around it."""
    key = os.environ.get(variable, "").strip()
    if not all("!" <= character <= "~" for character in key):
        msg = (
            f"{variable}: expected a key of printable ASCII characters; it holds others"
        )
        raise InputError(msg)
    return key or None


def _key_headers(wire: str, key: str) -> dict[str, str]:
    """Return the headers that a key makes, and those that a format always asks for."""
    if wire == "anthropic":
        return {"x-api-key": key, "anthropic-version": anthropic.VERSION}
    return {"Authorization": f"Bearer {key}"}


def _dialect(wire: str, model: str) -> Dialect:
    return ANTHROPIC if wire == "anthropic" else dialect_of(model)


def _url(model: str, pace: Pace) -> Endpoint:
    """Return the model behind addresses whose userinfo is used and never shown."""
    places, _, identifier = model.partition("#")
    parts = [_address(f"{place}#{identifier}", model) for place in places.split(",")]
    urls = tuple(
        f"{each.scheme}://{each.netloc.rpartition('@')[2]}{each.path.rstrip('/')}"
        for each in parts
    )
    if len(set(urls)) != len(urls):
        msg = f"{public(model)!r}: one URL stands twice"
        raise InputError(msg)
    headers, secrets = _opening(parts, model)
    address = Address(
        base_urls=urls,
        model=unquote(identifier),
        headers=headers,
        secrets=secrets,
        key_hint="set EVALUAND_API_KEY to its key",
        dialect=dialect_of(unquote(identifier)),
    )
    return _endpoint(f"{','.join(urls)}#{identifier}", address, pace)


def _address(place: str, model: str) -> SplitResult:
    try:
        parts = urlsplit(place)
        whole = parts.hostname and parts.fragment and parts.port != 0
        (parts.hostname or "").encode("idna")
        if whole and not parts.query and parts.scheme in ("http", "https"):
            return parts
    except ValueError:  # a port that is no number, a bracket left open, an empty label
        pass
    msg = f"{public(model)!r}: expected http(s)://HOST/v1#ID with the model's id after # and no query"
    raise InputError(msg)


def _opening(
    parts: Sequence[SplitResult], model: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers that open an endpoint, and the secrets in them."""
    key = _key("EVALUAND_API_KEY")
    if key:
        return {"Authorization": f"Bearer {key}"}, (key,)
    pairs = {(p.username, p.password) for p in parts}
    if len(pairs) > 1:
        msg = f"{public(model)!r}: URLs that answer alike are opened alike; give all the same user and password"
        raise InputError(msg)
    ((user, password),) = pairs
    if user is None:
        return {}, ()
    secret = unquote(password or user)
    pair = f"{unquote(user)}:{unquote(password or '')}"
    encoded = base64.b64encode(pair.encode()).decode()
    return {"Authorization": f"Basic {encoded}"}, (encoded, secret)


def _endpoint(
    name: str, address: Address, pace: Pace, *, router: bool = False
) -> Endpoint:
    """Return an endpoint; its identity is what an operator can tell of it beforehand."""
    several = {"replicas": sorted(address.base_urls)}
    identity = {
        "kind": "endpoint",
        "base_url": min(address.base_urls),
        "model": address.model,
        **(several if len(address.base_urls) > 1 else {}),
        **({"wire": address.wire} if address.wire != "openai" else {}),
        **({"router": address.fields.get("provider", "unpinned")} if router else {}),
    }
    return Endpoint(
        name=name,
        address=address,
        identity=identity,
        concurrency=pace.concurrency * len(address.base_urls),
        timeout_s=pace.timeout_s,
    )
