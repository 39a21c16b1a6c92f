"""``run.json`` as a document: the keys that reading a run back rests on."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from evaluand.bench.rules import RULES
from evaluand.bench.tamper import CONDITIONS


class _Document(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class SettingsDocument(_Document):
    """What was asked for."""

    seeds: Annotated[list[StrictInt], Field(min_length=1)]
    conditions: Annotated[list[Literal[*CONDITIONS]], Field(min_length=1)]  # type: ignore[valid-type] # the names are a table's
    coverage: Literal["dib", "full"]
    controls: StrictInt


class EvaluatorDocument(_Document):
    """One rung of the ladder."""

    name: str
    kind: Literal["judge", "auditor", "identity"]
    digest: str
    model: str | None


class RuleDocument(EvaluatorDocument):
    """A rule, which has to be known to be applied."""

    name: Literal[*RULES]  # type: ignore[valid-type] # as above
    kind: Literal["rule"]  # type: ignore[assignment] # a rule is no asking evaluator


class ComponentDocument(_Document):
    """What of a component decides a comparison."""

    digest: str
    treeAlg: str  # noqa: N815 - the descriptor's own key
    normalization: str


class StackDocument(_Document):
    """The declared stack of a pair."""

    name: str
    components: dict[str, ComponentDocument]
    notApplicable: list[str]  # noqa: N815 - as above
    undeclared: list[str]


class ProvenanceDocument(_Document):
    """What was run."""

    models: dict[str, dict[str, Any]]


class RecordDocument(_Document):
    """The record of a bench."""

    kind: Literal["bench"]
    schema_: Annotated[StrictInt, Field(alias="schema")]
    tasks: Annotated[StrictInt, Field(ge=1, le=120)] | None
    scripted: bool
    scripted_parts: list[str]
    shares_replies: bool
    settings: SettingsDocument
    evaluators: Annotated[list[RuleDocument | EvaluatorDocument], Field(min_length=1)]
    stack: Annotated[dict[str, StackDocument], Field(min_length=1)]
    provenance: ProvenanceDocument
    versions: dict[str, Any]
    started: str
    command: str
