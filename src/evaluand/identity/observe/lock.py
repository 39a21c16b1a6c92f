"""The pinned distributions of a lock file, to say which one moved."""

import re
import tomllib
from typing import Any

from evaluand.digest import Leaf, name_fault, value_digest
from evaluand.identity.part import Blob

_PIN = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^]]*\])?\s*===?"
)


def pins(lock: Blob) -> dict[str, list[str]]:
    r"""Return what the lock says of each distribution, as far as it can be read.

    Requirement lines and the ``[[package]]`` tables of uv, Poetry and PEP 751 are
    read. It only localises: the digest of the whole file decides.

    Args:
        lock: The lock file; what isn't understood gives nothing.

    >>> pins(Blob(name="r.lock", content=b"bm25s==0.3.16  # fast\nA_b == 1"))
    {'bm25s': ['bm25s==0.3.16'], 'a-b': ['A_b == 1']}
    """
    text = lock.content.decode("utf-8", errors="replace")
    if lock.name.endswith((".toml", ".lock")):
        try:
            return _packages(tomllib.loads(text))
        except tomllib.TOMLDecodeError:
            pass  # requirements are often called something.lock too
    return _requirements(text)


def pin_leaves(lock: Blob) -> list[Leaf]:
    """Return one leaf per pinned distribution."""
    return [
        Leaf(
            name=f"pin/{name}",
            type="pin",
            digest=value_digest(lines),
            size=sum(len(line.encode()) for line in lines),
        )
        for name, lines in pins(lock).items()
        if not name_fault(f"pin/{name}")
    ]


def _requirements(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        stated = re.sub(r"(^|\s)#.*", "", line).strip()
        match = _PIN.match(stated)
        if match:
            found.setdefault(_normal(match[1]), []).append(" ".join(stated.split()))
    return found


def _packages(document: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    packages = document.get("package", document.get("packages", []))
    for each in packages if isinstance(packages, list) else []:
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            stated = [str(each[key]) for key in ("version", "source") if key in each]
            found.setdefault(_normal(each["name"]), []).append(" ".join(stated))
    return found


def _normal(name: str) -> str:
    """Return a distribution's name in the normal form of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()
