"""One component of a deployment as it was found: its leaves, digest and grade."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evaluand.digest import Leaf, leaves_digest, sha256_hex, value_digest

KINDS = (
    "model",
    "tokenizer",
    "chat_template",
    "system_prompt",
    "tools",
    "retrieval",
    "dependencies",
    "postprocessor",
    "sampling",
)
# `dib` is the six layers of paper A, whose model layer holds the tokenizer.
COVERAGE: Mapping[str, tuple[str, ...]] = {
    "dib": (
        "model",
        "tokenizer",
        "system_prompt",
        "tools",
        "retrieval",
        "dependencies",
        "postprocessor",
    ),
    "full": KINDS,
}
# From least to most trusted; the last two arrive with signatures.
GRADES = ("declared", "measured", "provenance", "attested")
# The rule of `evaluand.digest.tree_digest`, by name.
TREE_ALG = "evaluand-tree-v1"
NORMALIZATION = "none"

# leaf to form to digest
Forms = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What one component is.

    Args:
        kind: One of `KINDS`.
        digest: SHA-256 over its leaves by the rule `tree_alg`.
        tree_alg: How leaves make one digest.
        normalization: What was done to bytes before hashing: ``none``.
        source: What was hashed, in words, without a path of this machine.
        observed_via: ``files``, ``gguf``, ``settings`` or ``name``.
        grade: One of `GRADES`.
        records: Its leaves sorted by name; none when only the digest is known.
        leaf_count: How many leaves it has, known even where the leaves are not.
        forms: Per leaf of text, digests of its other forms (``lf``, ``nfc``, ``lfNfc``)
            where they differ from its own. Evidence only, no part of the digest.
    """

    kind: str
    digest: str
    tree_alg: str = TREE_ALG
    normalization: str = NORMALIZATION
    source: str
    observed_via: str
    grade: str
    records: tuple[Leaf, ...] = ()
    leaf_count: int
    forms: Forms = field(default_factory=dict)

    @property
    def leaves(self) -> dict[str, str]:
        """The digest of each leaf by name."""
        return {leaf.name: leaf.digest for leaf in self.records}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The components of a deployment.

    Args:
        components: By kind, in the order of `KINDS`; what was not declared is not here.
        not_applicable: The kinds that the deployment states it doesn't have.
    """

    components: Mapping[str, Component]
    not_applicable: frozenset[str] = frozenset()

    @cached_property
    def identity_digest(self) -> str:
        """One digest of all components; times, grades and evidence have no part in it."""
        ordered = (self.components.get(kind) for kind in KINDS)
        return value_digest(
            [
                {
                    "kind": each.kind,
                    "digest": each.digest,
                    "treeAlg": each.tree_alg,
                    "normalization": each.normalization,
                }
                for each in ordered
                if each is not None
            ]
        )


def digests(manifest: Manifest) -> dict[str, Any]:
    """Return what of a manifest decides a comparison, as a JSON value.

    `from_digests` reads it back.
    """
    return {
        "components": {
            kind: {
                "digest": each.digest,
                "treeAlg": each.tree_alg,
                "normalization": each.normalization,
            }
            for kind, each in manifest.components.items()
        },
        "notApplicable": sorted(manifest.not_applicable),
    }


def from_digests(value: Mapping[str, Any]) -> Manifest:
    """Return a manifest without leaves, which compares as the one it was made from."""
    return Manifest(
        components={
            kind: Component(
                kind=kind,
                digest=each["digest"],
                tree_alg=each["treeAlg"],
                normalization=each["normalization"],
                source="",
                observed_via="digest",
                grade="declared",
                leaf_count=0,
            )
            for kind, each in value["components"].items()
        },
        not_applicable=frozenset(value["notApplicable"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The leaves of a component and where they came from, before they make a digest."""

    records: tuple[Leaf, ...]
    source: str
    observed_via: str
    grade: str = "measured"
    forms: Forms = field(default_factory=dict)


def component(kind: str, found: Found) -> Component:
    """Return a component whose digest binds its leaves' names and digests.

    Raises:
        InputError: For leaf names that are refused.
    """
    return Component(
        kind=kind,
        digest=leaves_digest(found.records),
        source=found.source,
        observed_via=found.observed_via,
        grade=found.grade,
        records=tuple(sorted(found.records, key=lambda leaf: leaf.name)),
        leaf_count=len(found.records),
        forms=found.forms,
    )


def text_forms(content: bytes) -> dict[str, str]:
    r"""Return digests of a text's other forms where these differ from its bytes.

    They are never identity: they only let a mismatch say that nothing but line ends or
    the Unicode form differs.

    >>> sorted(text_forms(b"a\r\n")), text_forms(b"a\n")
    (['lf', 'lfNfc'], {})
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return {}
    lf = text.replace("\r\n", "\n").replace("\r", "\n")
    forms = {
        "lf": lf,
        "nfc": unicodedata.normalize("NFC", text),
        "lfNfc": unicodedata.normalize("NFC", lf),
    }
    return {
        name: sha256_hex(form.encode()) for name, form in forms.items() if form != text
    }
