"""What a bench will run: its settings, and the cells of pair and condition they make."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaluand.bench.agent import Agent, agent
from evaluand.bench.judges import short_name
from evaluand.bench.rules import RULES
from evaluand.bench.tamper import CONDITIONS, Condition
from evaluand.chat.client import Model
from evaluand.chat.public import public
from evaluand.errors import InputError
from evaluand.identity.manifest import COVERAGE, FileDigests, Manifest, observe
from evaluand.identity.stack import Stack, load_function

DECLARED = "local:qwen2.5-coder-1.5b"
SUBSTITUTE = "local:qwen2.5-coder-0.5b"
THIRD = "local:smollm2-135m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that a bench was asked to do.

    Args:
        preset: ``quick``, ``full`` or ``paper``: where the other defaults came from.
        pairs: Declared and substituted models by name; a declared None is the stack's own.
        seeds: Suite seeds, at least one, distinct.
        tasks: Tasks per seed, 1 to 120; None lets `minutes` decide.
        minutes: Time asked for, where it decides the number of tasks.
        conditions: Names of `CONDITIONS`, in order.
        coverage: Which components identity covers, a key of `COVERAGE`.
        rules: Names of rule evaluators, weakest first.
        judges: Models that judge, weakest first.
        auditors: Models that audit.
        controls: Right and wrong controls per family that each judge is tried on.
    """

    preset: str
    pairs: tuple[tuple[str | None, str], ...]
    seeds: tuple[int, ...]
    tasks: int | None
    minutes: float | None
    conditions: tuple[str, ...]
    coverage: str
    rules: tuple[str, ...]
    judges: tuple[str, ...]
    auditors: tuple[str, ...]
    controls: int

    def document(self) -> dict[str, Any]:
        """Return the settings as a JSON value."""
        value = asdict(self)
        value["pairs"] = [[m and public(m) for m in pair] for pair in self.pairs]
        value["judges"] = [public(model) for model in self.judges]
        value["auditors"] = [public(model) for model in self.auditors]
        return {
            key: list(item) if isinstance(item, tuple) else item
            for key, item in value.items()
        }


PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "pairs": ((DECLARED, SUBSTITUTE),),
        "seeds": (42,),
        "tasks": None,
        "minutes": 9.0,
        "controls": 2,
    },
    "full": {
        "pairs": ((DECLARED, SUBSTITUTE),),
        "seeds": (42,),
        "tasks": 120,
        "minutes": None,
        "controls": 5,
    },
    "paper": {
        "pairs": ((DECLARED, SUBSTITUTE), (DECLARED, THIRD), (SUBSTITUTE, THIRD)),
        "seeds": (42, 43, 44),
        "tasks": 120,
        "minutes": None,
        "controls": 5,
    },
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One pair under one condition, made ready to run.

    Args:
        pair: The pair's name.
        condition: What is done to the declared stack.
        stack: The stack that runs.
        model: The model it asks; None where the stack brings its own agent.
        agent: How it asks and what it makes of replies.
        expected: The declared stack's manifest.
        observed: This running stack's manifest.
        respond: The user's own agent, if the stack has one.
    """

    pair: str
    condition: Condition
    stack: Stack
    model: Model | None
    agent: Agent
    expected: Manifest
    observed: Manifest
    respond: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """The cell's key in the store."""
        return f"{self.pair}/{self.condition.name}"


Load = Callable[[str | None], Stack]
Open = Callable[[Stack], Model]


def check(settings: Settings) -> None:
    """Refuse settings that can't be run.

    Raises:
        InputError: Naming the option, what was expected and what came.
    """
    fault = next((each for each in _faults(settings) if each), "")
    if fault:
        raise InputError(fault)


def _faults(settings: Settings) -> Iterator[str]:
    """Yield what is wrong with settings, empty where nothing is."""
    yield _unknown("--conditions", settings.conditions, CONDITIONS)
    yield _unknown("--evaluators", settings.rules, RULES)
    yield _unknown("--coverage", [settings.coverage], COVERAGE)
    if "clean" not in settings.conditions:
        yield "--conditions: clean must be among them, everything is compared with it"
    if not (settings.rules or settings.judges or settings.auditors):
        yield "nothing would evaluate: name a rule with --evaluators, or a --judge"
    for option, values in (
        ("--conditions", settings.conditions),
        ("--evaluators", settings.rules),
        ("--seeds", settings.seeds),
        ("--judge", settings.judges),
        ("--auditor", settings.auditors),
        ("--pair", settings.pairs),
    ):
        needed = option in ("--seeds", "--pair")
        if len(set(values)) != len(values) or (needed and not values):
            yield f"{option}: expected distinct values, got {values!r}"
    for declared, substitute in settings.pairs:
        if declared == substitute and "model" in settings.conditions:
            yield f"--substitute: expected another model than {substitute}, or the model tamper changes nothing; or leave it out with --conditions"


def _unknown(option: str, names: Sequence[str], known: Mapping[str, Any]) -> str:
    strange = [name for name in names if name not in known]
    if not strange:
        return ""
    return f"{option}: expected names of {', '.join(known)}, got {strange[0]!r}"


def evaluators(settings: Settings) -> list[str]:
    """Return the names of the ladder, weakest first, identity last."""
    return [
        *settings.rules,
        *(f"judge:{short_name(model)}" for model in settings.judges),
        *(f"auditor:{short_name(model)}" for model in settings.auditors),
        "identity",
    ]


def tampers(settings: Settings) -> list[str]:
    """Return the conditions of a run that tamper."""
    return [name for name in settings.conditions if CONDITIONS[name].tamper]


def cells(settings: Settings, load: Load, open_model: Open) -> list[Cell]:
    """Return every cell, its manifest observed from the stack that will run.

    Weights are read once for the whole pass, however many stacks they stand in.

    Raises:
        InputError: If a stack can't be loaded or lacks what a condition tampers with.
    """
    digests = FileDigests()
    made: list[Cell] = []
    for declared, substitute in settings.pairs:
        stack, other = load(declared), load(substitute)
        _check_stack(stack)
        expected = observe(stack, digests)
        for name in settings.conditions:
            condition = CONDITIONS[name]
            running = condition.apply(stack, other)
            made.append(
                Cell(
                    pair=pair_name(stack, other),
                    condition=condition,
                    stack=running,
                    model=None if running.respond else open_model(running),
                    agent=agent(running),
                    expected=expected,
                    observed=observe(running, digests),
                    respond=load_function(running.respond) if running.respond else None,
                )
            )
    return made


def observed_again(made: Sequence[Cell]) -> list[Manifest]:
    """Return the manifests of the same stacks, read anew."""
    digests = FileDigests()
    return [observe(cell.stack, digests) for cell in made]


def pair_name(declared: Stack, substitute: Stack) -> str:
    """Return a pair's name, declared to substituted."""
    return f"{public(declared.model.endpoint)} -> {public(substitute.model.endpoint)}"


def _check_stack(stack: Stack) -> None:
    if stack.respond is None and stack.system_prompt is None:
        msg = f"stack {stack.name} has no system_prompt, which the dib suite's tasks are answered by; declare it"
        raise InputError(msg)


def with_tasks(settings: Settings, tasks: int) -> Settings:
    """Return the settings with the number of tasks decided."""
    return replace(settings, tasks=tasks)


_MODEL = r"(?:local:[^:/]+|scripted(?::[^:/]+)?|(?:openai|openrouter|anthropic)/[^#]+|https?://[^#]+\#.+)"
_PAIR = re.compile(rf"({_MODEL}):({_MODEL})")


def split_pair(text: str) -> tuple[str, str]:
    """Return declared and substituted model of ``DECLARED:SUBSTITUTE``.

    Raises:
        InputError: If it doesn't split into two models.

    >>> split_pair("local:a:scripted"), split_pair("http://h:1/v1#x:local:b")
    (('local:a', 'scripted'), ('http://h:1/v1#x', 'local:b'))
    """
    match = _PAIR.fullmatch(text)
    if match is None:
        msg = f"--pair: expected two models as DECLARED:SUBSTITUTE, such as {DECLARED}:{SUBSTITUTE}, got {text!r}"
        raise InputError(msg)
    return match[1], match[2]


def default_substitute(declared: str) -> str:
    """Return what the model tamper deploys unless it is told.

    Raises:
        InputError: For a model to which no smaller one is known.
    """
    if declared.startswith("scripted"):
        return "scripted:weak" if declared != "scripted:weak" else "scripted"
    if declared.startswith("local:"):
        return SUBSTITUTE if declared != SUBSTITUTE else THIRD
    msg = f"name what the model tamper deploys instead of {public(declared)}: --substitute MODEL, or leave the tamper out with --conditions"
    raise InputError(msg)


def default_models(declared: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the judges, weakest first, and the auditors unless they are told.

    Only where the reference models run are they there to judge; a run on other models
    is judged by those that are named.
    """
    if declared.startswith("scripted"):
        return ("scripted",), ("scripted",)
    if declared in (DECLARED, SUBSTITUTE):
        return (SUBSTITUTE, DECLARED), (DECLARED,)
    return (), ()
