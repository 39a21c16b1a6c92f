"""What a bench will run: pairs split, settings checked, cells made and named."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evaluand.bench import plan
from evaluand.bench.open import opener
from evaluand.bench.plan import Settings
from evaluand.bench.starter import reference_folder, write_reference
from evaluand.errors import InputError
from evaluand.identity.stack import load_stack

SETTINGS = Settings(
    preset="full",
    pairs=(("scripted", "scripted:weak"),),
    seeds=(42,),
    tasks=5,
    minutes=None,
    conditions=("clean", "repeat", "model"),
    coverage="full",
    rules=("standard",),
    judges=(),
    auditors=(),
    controls=1,
)
MODELS = (
    "local:qwen2.5-coder-1.5b",
    "scripted",
    "scripted:weak",
    "openai/gpt-4o",
    "openrouter/meta/llama:free",
    "anthropic/claude",
    "http://127.0.0.1:8000/v1#tiny",
    "https://host.example/v1#org/model",
    "http://[::1]:80/v1#org/model:latest",
)


@pytest.mark.parametrize(("declared", "substitute"), list(product(MODELS, MODELS)))
def test_every_two_models_split_where_they_were_joined(
    declared: str, substitute: str
) -> None:
    """Colons of ports, profiles and tags don't move the place of the one between them."""
    assert plan.split_pair(f"{declared}:{substitute}") == (declared, substitute)


@pytest.mark.parametrize(
    "text",
    ["", "scripted", "scripted:", ":scripted", "a:b", "local:a", "http://h/v1:local:b"],
)
def test_what_is_no_pair_is_named(text: str) -> None:
    """Fewer than two models, and names of no model, are refused with an example."""
    with pytest.raises(InputError, match="--pair: expected two models as DECLARED:SUB"):
        plan.split_pair(text)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"conditions": ("clean", "weather")}, "--conditions: .* got 'weather'"),
        ({"conditions": ("model",)}, "--conditions: clean must be among them"),
        ({"conditions": ()}, "--conditions: clean must be among them"),
        ({"conditions": ("clean", "clean")}, "--conditions: expected distinct"),
        ({"rules": ("vibes",)}, "--evaluators: .* got 'vibes'"),
        ({"rules": ("strict", "strict")}, "--evaluators: expected distinct values"),
        ({"coverage": "some"}, "--coverage: expected .* got 'some'"),
        ({"seeds": ()}, r"--seeds: expected distinct values, got \(\)"),
        ({"seeds": (1, 1)}, "--seeds: expected distinct values"),
        ({"judges": ("scripted", "scripted")}, "--judge: expected distinct values"),
        ({"pairs": ()}, r"--pair: expected distinct values, got \(\)"),
        ({"pairs": (("a", "b"), ("a", "b"))}, "--pair: expected distinct values"),
    ],
)
def test_settings_that_can_not_be_run_are_named(
    change: dict[str, Any], told: str
) -> None:
    """Each option says what was expected and what came."""
    with pytest.raises(InputError, match=told):
        plan.check(replace(SETTINGS, **change))


@pytest.mark.parametrize("preset", list(plan.PRESETS))
def test_every_preset_can_be_run(preset: str) -> None:
    """The presets pass their own check; each leaves either tasks or minutes to decide."""
    settings = replace(SETTINGS, preset=preset, **plan.PRESETS[preset])
    plan.check(settings)
    assert (settings.tasks is None) != (settings.minutes is None)


def test_a_bench_without_judges_can_be_run() -> None:
    """Rules alone are enough."""
    plan.check(replace(SETTINGS, judges=(), auditors=()))
    with pytest.raises(InputError, match="nothing would evaluate: name a rule"):
        plan.check(replace(SETTINGS, judges=(), auditors=(), rules=()))


def test_a_model_is_not_tampered_into_itself() -> None:
    """The substitute has to be another model, unless no model tamper is run."""
    same = replace(SETTINGS, pairs=(("local:a", "local:a"),))
    with pytest.raises(InputError, match="--substitute: expected another model than"):
        plan.check(same)
    plan.check(replace(same, conditions=("clean", "prompt")))


def test_settings_are_a_json_value_without_logins() -> None:
    """What is recorded holds lists, and no name and password of an endpoint."""
    url = "http://me:key@host/v1#id"
    settings = replace(SETTINGS, pairs=((None, url),), judges=(url,), auditors=(url,))
    document = settings.document()
    assert document["pairs"] == [[None, "http://host/v1#id"]]
    assert document["judges"] == document["auditors"] == ["http://host/v1#id"]
    assert document["seeds"] == [42]
    assert "key" not in str(document)


def made(**changes: Any) -> list[plan.Cell]:
    sources = opener(None)
    settings = replace(SETTINGS, **changes)
    return plan.cells(settings, sources.load, sources.open_stack)


def test_cells_are_every_pair_under_every_condition() -> None:
    """Pairs come in order, each with its conditions in order, under their own names."""
    pairs = (("scripted", "scripted:weak"), ("scripted:weak", "scripted"))
    assert [cell.name for cell in made(pairs=pairs)] == [
        f"{a} -> {b}/{condition}" for a, b in pairs for condition in SETTINGS.conditions
    ]


def test_cells_of_one_model_share_it() -> None:
    """One engine serves all conditions, and pairs, that ask the same model."""
    pairs = (("scripted", "scripted:weak"), ("scripted:weak", "scripted"))
    cells = made(pairs=pairs)
    by_name = {cell.model.name: cell.model for cell in cells if cell.model}
    assert len(by_name) == 2
    assert all(cell.model is by_name[cell.stack.model.endpoint] for cell in cells)


def test_a_cell_expects_the_declared_stack_and_observes_its_own() -> None:
    """Clean and repeat observe what is expected; the substituted model doesn't."""
    clean, repeat, model = made()
    assert clean.observed == repeat.observed == clean.expected == model.expected
    moved = {
        kind
        for kind, component in model.observed.components.items()
        if component.digest != model.expected.components[kind].digest
    }
    assert moved == {"model"}


def test_the_same_stacks_are_observed_again() -> None:
    """Reading the same files anew gives the same manifests."""
    cells = made()
    assert plan.observed_again(cells) == [cell.observed for cell in cells]


def edited(folder: Path, *changes: tuple[str, str], more: str = "") -> Path:
    """Return the reference stack with lines changed."""
    stack = write_reference(folder)
    text = stack.read_text()
    for there, instead in changes:
        text = text.replace(there, instead)
    stack.write_text(text + more)
    return stack


def load_from(stack: Path) -> Callable[[str | None], Any]:
    return lambda model: load_stack(stack, model=model)


def test_a_stack_without_a_prompt_is_refused(tmp_path: Path) -> None:
    """The suite's rules stand in the system prompt, so one has to be declared."""
    stack = edited(tmp_path / "s", ("system_prompt: prompts/system.md\n", ""))
    with pytest.raises(InputError, match="northgate-desk has no system_prompt"):
        plan.cells(SETTINGS, load_from(stack), opener(None).open_stack)


def test_a_stack_with_its_own_agent_asks_no_model(tmp_path: Path) -> None:
    """A stack with respond has no model to open, and needs no prompt of ours."""
    (tmp_path / "s").mkdir()
    stack = edited(
        tmp_path / "s",
        ("system_prompt: prompts/system.md\n", ""),
        more="respond: agent.py:respond\n",
    )
    (stack.parent / "agent.py").write_text("def respond(task, stack): return task.id")
    cells = plan.cells(SETTINGS, load_from(stack), opener(None).open_stack)
    assert [cell.model for cell in cells] == [None] * 3
    assert all(cell.respond is not None for cell in cells)


def test_a_stack_without_an_agent_has_none_to_call() -> None:
    """The reference stack is run by the reference agent."""
    assert {cell.respond for cell in made()} == {None}


@pytest.mark.parametrize(
    ("declared", "substitute"),
    [
        ("scripted", "scripted:weak"),
        ("scripted:weak", "scripted"),
        (plan.SUBSTITUTE, plan.THIRD),
        ("local:x", plan.SUBSTITUTE),
    ],
)
def test_a_scripted_bench_needs_no_weights(declared: str, substitute: str) -> None:
    """The substitute of a script is a script, of all else the small local model."""
    assert plan.default_substitute(declared) == substitute


def test_other_models_are_tampered_with_and_judged_by_those_that_are_named() -> None:
    """No weights are pulled in that nobody asked for."""
    with pytest.raises(InputError, match="instead of openai/x: --substitute MODEL"):
        plan.default_substitute("openai/x")
    assert plan.default_models("openai/x") == ((), ())


def test_default_judges_are_weakest_first() -> None:
    """Scripts are judged by a script, models by the two local ones."""
    assert plan.default_models("scripted") == (("scripted",), ("scripted",))
    judges, auditors = plan.default_models(plan.DECLARED)
    assert judges == (plan.SUBSTITUTE, plan.DECLARED)
    assert auditors == (plan.DECLARED,)


def test_with_tasks_settles_the_number_alone() -> None:
    """Nothing else of the settings moves."""
    settled = plan.with_tasks(replace(SETTINGS, tasks=None), 30)
    assert settled == replace(SETTINGS, tasks=30)


def test_the_reference_stack_is_where_the_package_is() -> None:
    """A bench without a stack file runs the shipped one."""
    assert opener(None).load("scripted").root == reference_folder()
