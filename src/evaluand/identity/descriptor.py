"""A manifest written down: who captured what, when, with which coverage and grade.

The file is the RFC 8785 form of an in-toto Statement, without a final newline: the very
bytes that a signature will be over. It holds names, digests and sizes, never a value of
an environment variable, a key, or what a prompt says.

Law: ``parse(dump(d), leaves=sidecars(d).get) == d``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluand.canonical import canonical, parse_json
from evaluand.digest import Leaf, leaves_digest, sha256_hex
from evaluand.document import read_bytes
from evaluand.errors import InputError, IntegrityError
from evaluand.identity.component import GRADES, KINDS, Component, Manifest
from evaluand.whole import write_whole

if TYPE_CHECKING:
    from evaluand.identity.statement import ComponentDocument, LeafDocument, Statement

# More leaves than this lie in a file beside the descriptor.
INLINE_LEAVES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """What was deployed, as stated at one moment.

    Args:
        manifest: The components.
        required: The kinds that the coverage asks for.
        captured_at: UTC, to the second: ``2026-01-31T12:00:00Z``.
        capturer: Name of what captured it.
        capturer_version: Its version.
        endpoint_facts: What the endpoint says of itself, as JSON.
        evaluation: What evaluation it stands beside, as JSON.
    """

    manifest: Manifest
    required: tuple[str, ...]
    captured_at: str
    capturer: str = "evaluand"
    capturer_version: str
    endpoint_facts: Mapping[str, Any] = field(default_factory=dict)
    evaluation: Mapping[str, Any] = field(default_factory=dict)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The required kinds of which the manifest says nothing."""
        return undeclared(self.manifest, self.required)

    @property
    def overall_grade(self) -> str | None:
        """The lowest grade of a required component, None if none of them is there."""
        components = self.manifest.components
        grades = [
            components[kind].grade for kind in self.required if kind in components
        ]
        return min(grades, key=GRADES.index, default=None)


def undeclared(manifest: Manifest, required: tuple[str, ...]) -> tuple[str, ...]:
    """Return the required kinds that are neither there nor stated as none."""
    known = manifest.components.keys() | manifest.not_applicable
    return tuple(kind for kind in required if kind not in known)


def dump(descriptor: Descriptor) -> bytes:
    """Return the descriptor's file."""
    return canonical(statement(descriptor))


def sidecars(descriptor: Descriptor) -> dict[str, bytes]:
    """Return the leaves that are too many for the descriptor, by component digest.

    The digest of a component is the SHA-256 of exactly these bytes.
    """
    return {
        each.digest: canonical([leaf.document() for leaf in each.records])
        for each in descriptor.manifest.components.values()
        if len(each.records) > INLINE_LEAVES
    }


def statement(descriptor: Descriptor) -> dict[str, Any]:
    """Return the unsigned in-toto Statement v1."""
    from evaluand.identity.statement import (  # noqa: PLC0415 - pydantic is slow
        PREDICATE_TYPE,
        STATEMENT_TYPE,
    )

    manifest = descriptor.manifest
    components = [
        manifest.components[kind] for kind in KINDS if kind in manifest.components
    ]
    subjects = {"deployment": manifest.identity_digest}
    subjects |= {each.kind: each.digest for each in components}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": name, "digest": {"sha256": digest}}
            for name, digest in subjects.items()
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "schemaVersion": 1,
            "capturedAt": descriptor.captured_at,
            "capturer": {
                "name": descriptor.capturer,
                "version": descriptor.capturer_version,
            },
            "components": [_component_value(each) for each in components],
            "coverage": {
                "required": list(descriptor.required),
                "identified": [each.kind for each in components],
                "unidentified": [],
                "notApplicable": sorted(manifest.not_applicable, key=KINDS.index),
                "undeclared": list(descriptor.undeclared),
            },
            "grade": {
                "overall": descriptor.overall_grade,
                "perComponent": {each.kind: each.grade for each in components},
            },
            "endpointFacts": dict(descriptor.endpoint_facts),
            "evaluation": dict(descriptor.evaluation),
        },
    }


def _component_value(component: Component) -> dict[str, Any]:
    records = component.records
    leaves: dict[str, Any] = {"count": component.leaf_count}
    if 0 < len(records) <= INLINE_LEAVES:
        leaves["records"] = [leaf.document() for leaf in records]
    forms = {name: dict(each) for name, each in component.forms.items()}
    return {
        "kind": component.kind,
        "digest": component.digest,
        "treeAlg": component.tree_alg,
        "normalization": component.normalization,
        "source": component.source,
        "observedVia": component.observed_via,
        "grade": component.grade,
        "evidence": {"textForms": forms} if forms else {},
        "leaves": leaves,
    }


def parse(
    content: bytes,
    *,
    source: str = "descriptor",
    leaves: Callable[[str], bytes | None] = lambda _: None,
) -> Descriptor:
    """Return the descriptor in a file.

    Args:
        content: The file.
        source: Its name, for error messages.
        leaves: From a component's digest to its sidecar, None where there is none: the
            descriptor can still be verified then, but not name the leaf that differs.

    Raises:
        InputError: If it is malformed (`check_statement`).
        IntegrityError: If its digests, coverage or grades are not what its own
            components make.
    """
    from evaluand.identity.statement import check_statement  # noqa: PLC0415 - pydantic

    value = parse_json(content, source=source)
    document = check_statement(value, source=source)
    descriptor = _descriptor(document, source, leaves)
    _refuse_inconsistent(value, statement(descriptor), source)
    return descriptor


def _descriptor(
    document: "Statement", source: str, leaves: Callable[[str], bytes | None]
) -> Descriptor:
    predicate = document.predicate
    return Descriptor(
        manifest=Manifest(
            components={
                each.kind: _component(each, f"{source}: {each.kind}", leaves)
                for each in predicate.components
            },
            not_applicable=frozenset(predicate.coverage.not_applicable),
        ),
        required=tuple(predicate.coverage.required),
        captured_at=predicate.captured_at,
        capturer=predicate.capturer.name,
        capturer_version=predicate.capturer.version,
        endpoint_facts=predicate.endpoint_facts,
        evaluation=predicate.evaluation,
    )


def _component(
    document: "ComponentDocument", source: str, leaves: Callable[[str], bytes | None]
) -> Component:
    records = _leaves(document.leaves.records or [])
    beside = None if records else leaves(document.digest)
    if beside is not None:
        records = _sidecar(beside, document.digest, source)
    right = (leaves_digest(records), len(records)) if records else None
    if right and right != (document.digest, document.leaves.count):
        msg = f"{source}: its leaves are not those of the digest and the count stated, {document.digest} and {document.leaves.count}"
        raise IntegrityError(msg)
    return Component(
        kind=document.kind,
        digest=document.digest,
        tree_alg=document.tree_alg,
        normalization=document.normalization,
        source=document.source,
        observed_via=document.observed_via,
        grade=document.grade,
        records=records,
        leaf_count=document.leaves.count,
        forms={name: {**forms} for name, forms in document.evidence.text_forms.items()},
    )


def _sidecar(content: bytes, digest: str, source: str) -> tuple[Leaf, ...]:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - slow

    from evaluand.identity.statement import (  # noqa: PLC0415 - pydantic
        LeafDocument,
        check_leaf_names,
    )

    if sha256_hex(content) != digest:
        msg = f"{source}: the record of leaves beside the descriptor is not the one it was written with; put it back, or remove it to verify without naming leaves"
        raise IntegrityError(msg)
    value = parse_json(content, source=source)
    try:
        records = TypeAdapter(list[LeafDocument]).validate_python(value)
    except ValidationError as error:
        msg = f"{source}: the file beside the descriptor is no record of leaves"
        raise InputError(msg) from error
    check_leaf_names(records, source=source)
    return _leaves(records)


def _leaves(records: "list[LeafDocument]") -> tuple[Leaf, ...]:
    found = (Leaf(**each.model_dump()) for each in records)
    return tuple(sorted(found, key=lambda leaf: leaf.name))


def _refuse_inconsistent(stated: Any, made: Any, source: str) -> None:
    """Refuse a statement that isn't what its own components make."""
    if canonical(stated) == canonical(made):
        return
    ways = (("subject",), ("predicate", "components"), ("predicate", "coverage"))
    wrong = (
        way for way in ways if canonical(_at(stated, way)) != canonical(_at(made, way))
    )
    way = next(wrong, ("predicate",))
    right = json.dumps(_at(made, way))[:400]
    msg = f"{source}: {'.'.join(way)} is not what its components make, expected {right}"
    raise IntegrityError(msg)


def _at(value: Any, way: tuple[str, ...]) -> Any:
    return reduce(getitem, way, value)


def write(descriptor: Descriptor, path: Path) -> None:
    """Write a descriptor and its sidecars, the descriptor last and in one step.

    Raises:
        InputError: If it can't be written there.
        StoreError: If the disk is full or fails.
    """
    folder = sidecar_folder(path)
    beside = sidecars(descriptor)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if beside:
            folder.mkdir(exist_ok=True)
    except OSError as error:
        msg = f"{path}: can't be written: {error.strerror or error}; choose another place with -o"
        raise InputError(msg) from error
    for digest, content in beside.items():
        write_whole(folder / f"{digest}.json", content)
    write_whole(path, dump(descriptor))


def read(path: Path) -> Descriptor:
    """Return the descriptor in a file, with the leaves in the sidecars beside it.

    Raises:
        InputError: As `parse`, and if the file can't be read.
        IntegrityError: As `parse`.
    """

    def beside(digest: str) -> bytes | None:
        sidecar = sidecar_folder(path) / f"{digest}.json"
        return read_bytes(sidecar) if sidecar.exists() else None

    return parse(read_bytes(path), source=str(path), leaves=beside)


def sidecar_folder(path: Path) -> Path:
    """Return where the leaves of a descriptor lie that are too many for it."""
    return path.with_name(f"{path.name}.leaves")
