"""The descriptor as a document: an in-toto Statement v1, checked key by key.

Source: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
)

from evaluand.digest import name_fault
from evaluand.errors import InputError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://evaluand.dev/deployment-identity/v1"

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _real_moment(text: str) -> str:
    datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    return text


Moment = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"),
    AfterValidator(_real_moment),
]
Size = Annotated[int, Field(ge=0, lt=2**53)]
Kind = Literal[
    "model",
    "tokenizer",
    "chat_template",
    "system_prompt",
    "tools",
    "retrieval",
    "dependencies",
    "postprocessor",
    "sampling",
]
Grade = Literal["declared", "measured", "provenance", "attested"]
Form = Annotated[str, Field(pattern=r"^(lf|nfc|lfNfc)$")]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class DigestSet(_Document):
    """A subject's digests."""

    sha256: Digest


class Subject(_Document):
    """One subject."""

    name: str
    digest: DigestSet


class LeafDocument(_Document):
    """One leaf."""

    name: str
    type: str
    digest: Digest
    size: Size
    exec: bool


class Leaves(_Document):
    """A component's leaves: here, or in the sidecar named after its digest."""

    count: Size
    records: list[LeafDocument] | None = None


class Evidence(_Document):
    """What helps to read a mismatch and is no part of the identity."""

    text_forms: Annotated[
        dict[str, dict[Form, Digest]], Field(alias="textForms", default_factory=dict)
    ]


class ComponentDocument(_Document):
    """One component."""

    kind: Kind
    digest: Digest
    tree_alg: Annotated[Literal["evaluand-tree-v1"], Field(alias="treeAlg")]
    normalization: Literal["none"]
    source: str
    observed_via: Annotated[str, Field(alias="observedVia")]
    grade: Grade
    evidence: Evidence
    leaves: Leaves


class Coverage(_Document):
    """Which kinds are answered for."""

    required: Annotated[list[Kind], Field(min_length=1)]
    identified: list[Kind]
    unidentified: list[Kind]
    not_applicable: Annotated[list[Kind], Field(alias="notApplicable")]
    undeclared: list[Kind]


class Grades(_Document):
    """How far each component can be trusted."""

    overall: Grade | None
    per_component: Annotated[dict[Kind, Grade], Field(alias="perComponent")]


class Capturer(_Document):
    """What wrote the descriptor."""

    name: str
    version: str


class Predicate(_Document):
    """What is said of the deployment."""

    schema_version: Annotated[Literal[1], Field(alias="schemaVersion")]
    captured_at: Annotated[Moment, Field(alias="capturedAt")]
    capturer: Capturer
    components: list[ComponentDocument]
    coverage: Coverage
    grade: Grades
    endpoint_facts: Annotated[dict[str, Any], Field(alias="endpointFacts")]
    evaluation: dict[str, Any]


class Statement(_Document):
    """The whole document."""

    type: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")]
    subject: list[Subject]
    predicate_type: Annotated[
        Literal["https://evaluand.dev/deployment-identity/v1"],
        Field(alias="predicateType"),
    ]
    predicate: Predicate


def check_statement(value: Any, *, source: str) -> Statement:
    """Return a JSON value as a statement, once its keys, kinds and names are sound.

    Raises:
        InputError: For unknown, missing or malformed keys, kinds that stand twice, and
            leaf names that are absolute or climb; nothing was opened then.
    """
    try:
        statement = Statement.model_validate(value)
    except ValidationError as error:
        faults = "; ".join(dict.fromkeys(_fault(each) for each in error.errors()))
        msg = f"{source}: not a deployment descriptor of version 1: {faults}"
        raise InputError(msg) from error
    kinds = [each.kind for each in statement.predicate.components]
    twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
    if twice:
        msg = f"{source}: component {twice[0]} stands there twice"
        raise InputError(msg)
    for each in statement.predicate.components:
        check_leaf_names(each.leaves.records or [], source=f"{source}: {each.kind}")
    return statement


def check_leaf_names(records: list[LeafDocument], *, source: str) -> None:
    """Refuse leaves whose name is no plain relative path.

    Raises:
        InputError: Naming the leaf and what is wrong with it.
    """
    for record in records:
        fault = name_fault(record.name)
        if fault:
            msg = f"{source}: leaf {record.name!r} {fault}; expected a relative path"
            raise InputError(msg)


def _fault(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "the document"
    if error["type"] == "extra_forbidden":
        return f"unknown key {where}"
    if error["type"] == "missing":
        return f"key {where} is missing"
    return f"{where}: {error['msg'].replace('Input should be', 'expected')}, got {error['input']!r:.80}"
