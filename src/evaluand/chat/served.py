"""What an endpoint says answered, beside what was asked for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# a dated or numbered snapshot, such as gpt-4o-2024-08-06 or claude-sonnet-4-20250514
_SNAPSHOT = re.compile(r"[-@:](\d{4}-?\d{2}-?\d{2}|v?\d{3,4})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """All replies of one model.

    Args:
        requested: The id that was asked for.
        models: How many replies named each served model; None is no name.
        providers: The same for the provider that a router named.
        fingerprints: The same for the system fingerprint.
        unpinned: Whether a router was free to choose the provider.
        state: ``match``, ``mismatch``, ``mixed`` or ``undisclosed``.
    """

    requested: str
    models: Mapping[str | None, int]
    providers: Mapping[str | None, int]
    fingerprints: Mapping[str | None, int]
    unpinned: bool
    state: str


def served(
    requested: str,
    replies: Iterable[Mapping[str, Any]],
    *,
    own: bool = False,
    unpinned: bool = False,
) -> Served:
    """Return what an endpoint disclosed over a run.

    An echo of an alias discloses nothing: a gateway may write it over the name of
    whatever answered. A snapshot's name is what a provider asserts.

    Args:
        requested: The id that was asked for.
        replies: Rows with ``served_model``, ``provider`` and ``fingerprint``.
        own: Whether we started the server ourselves, from weights that were hashed.
        unpinned: Whether a router was free to choose the provider.
    """
    models: dict[str | None, int] = {}
    providers: dict[str | None, int] = {}
    fingerprints: dict[str | None, int] = {}
    for reply in replies:
        for counts, name in (
            (models, "served_model"),
            (providers, "provider"),
            (fingerprints, "fingerprint"),
        ):
            counts[reply[name]] = counts.get(reply[name], 0) + 1
    return Served(
        requested=requested,
        models=models,
        providers=providers,
        fingerprints=fingerprints,
        unpinned=unpinned,
        state=_state(requested, models, providers, own=own, unpinned=unpinned),
    )


def _state(
    requested: str,
    models: Mapping[str | None, int],
    providers: Mapping[str | None, int],
    *,
    own: bool,
    unpinned: bool,
) -> str:
    named = {_plain(name) for name in models if name is not None}
    # names of one model may be written in several ways; two providers are two stacks
    if len(named) > 1 or len(providers) > 1:
        return "mixed"
    if not named:
        return "undisclosed"
    (name,) = named
    asked = _plain(requested)
    if name == asked:
        known = own or (_SNAPSHOT.search(asked) and not unpinned)
        return "match" if known else "undisclosed"
    is_snapshot = name.startswith(asked) and _SNAPSHOT.fullmatch(name[len(asked) :])
    if not is_snapshot:
        return "mismatch"
    return "undisclosed" if unpinned else "match"


def _plain(name: str) -> str:
    """Return a model's id without the vendor before it, in small letters."""
    return name.lower().rpartition("/")[2]
