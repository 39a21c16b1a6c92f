"""A unit's key is moved by what can change its result, and by nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evaluand.bench import unit as module
from evaluand.bench.open import opener
from evaluand.bench.plan import Cell, Settings, cells
from evaluand.bench.starter import write_reference
from evaluand.bench.suite import tasks
from evaluand.bench.unit import Missing, Unit, sample_row
from evaluand.chat.resolve import Pace
from evaluand.engine.ask import Asker
from evaluand.store import Store


def planned(folder: Path, *, pace: Pace | None = None, **changes: Any) -> list[Cell]:
    """Return the cells of a bench on an edited copy of the reference stack."""
    settings: dict[str, Any] = {
        "preset": "full",
        "pairs": (("scripted", "scripted:weak"),),
        "seeds": (42,),
        "tasks": 3,
        "minutes": None,
        "conditions": ("clean", "repeat", "prompt"),
        "coverage": "full",
        "rules": ("strict",),
        "judges": (),
        "auditors": (),
        "controls": 1,
    } | changes
    sources = opener(folder, pace)
    return cells(Settings(**settings), sources.load, sources.open_stack)


def edited(folder: Path, **files: tuple[str, str]) -> Path:
    """Return the reference stack with texts replaced in some of its files."""
    stack = write_reference(folder).parent
    for name, (old, new) in files.items():
        path = stack / name.replace("__", "/").replace("_dot_", ".")
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    return stack


def key(folder: Path, condition: int = 0, seed: int = 42, **changes: Any) -> str:
    cell = planned(folder, **changes)[condition]
    return Unit(cell=cell, seed=seed, task=tasks(seed, 3)[0]).key


NEUTRAL: dict[str, dict[str, Any]] = {
    "workers": {"pace": Pace(concurrency=3)},
    "timeout": {"pace": Pace(timeout_s=1.0)},
    "tasks": {"tasks": 7},
    "minutes": {"minutes": 3.0},
    "evaluators": {"rules": ("standard", "canary")},
    "judges": {"judges": ("scripted",)},
    "auditors": {"auditors": ("scripted",)},
    "controls": {"controls": 4},
    "coverage": {"coverage": "dib"},
    "preset": {"preset": "quick"},
    "more seeds": {"seeds": (42, 43)},
    "fewer conditions": {"conditions": ("clean",)},
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_what_cannot_change_a_sample_keeps_its_key(tmp_path: Path, name: str) -> None:
    """Pace, the number of tasks, who evaluates and what identity covers are neutral."""
    stack = edited(tmp_path / "stack")
    assert key(stack, **NEUTRAL[name]) == key(stack)


CHANGING: dict[str, dict[str, Any]] = {
    "temperature": {"stack_dot_yaml": ("temperature: 0", "temperature: 0.5")},
    "top_p": {"stack_dot_yaml": ("top_p: 1", "top_p: 0.9")},
    "max_tokens": {"stack_dot_yaml": ("max_tokens: 64", "max_tokens: 63")},
    "sampling seed": {"stack_dot_yaml": ("seed: 1", "seed: 2")},
    "prompt": {"prompts__system_dot_md": ("\n", "\n\n")},
    "template": {"template_dot_jinja": ("message.role", " message.role")},
    "tools": {"tools_dot_json": ("calculator", "abacus")},
    "router": {"router_dot_yaml": ("# Reads", "# reads")},
    "retrieval": {"retrieval_dot_yaml": ("#", "# ")},
    "lock": {"requirements_dot_lock": ("==", "== ")},
    "postprocessor": {"postprocess_dot_py": ("\n", "\n# x\n")},
}


@pytest.mark.parametrize("name", CHANGING)
def test_every_part_of_the_stack_is_in_the_key(tmp_path: Path, name: str) -> None:
    """One changed byte or setting of any component is another sample."""
    changed = edited(tmp_path / "changed", **CHANGING[name])
    assert key(changed) != key(edited(tmp_path / "stack"))


@pytest.mark.parametrize(
    "changes",
    [
        {"condition": 1},
        {"condition": 2},
        {"seed": 43},
        {"pairs": (("scripted:weak", "scripted"),)},
    ],
)
def test_condition_suite_seed_and_model_are_in_the_key(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """The repeat isn't clean, seed 43 isn't seed 42, another model is another sample."""
    stack = edited(tmp_path / "stack")
    assert key(stack, **changes) != key(stack)


def test_the_task_is_in_the_key(tmp_path: Path) -> None:
    """Every task of a suite has a key of its own."""
    cell = planned(edited(tmp_path / "stack"))[0]
    keys = {Unit(cell=cell, seed=42, task=task).key for task in tasks(42)}
    assert len(keys) == 120


def test_a_version_that_its_author_bumps_moves_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the agent means is in the key, the release isn't."""
    stack = edited(tmp_path / "stack")
    before = key(stack)
    monkeypatch.setattr("evaluand.bench.agent.VERSION", "next")
    assert key(stack) != before


def test_above_temperature_0_each_condition_sends_its_own_seed(tmp_path: Path) -> None:
    """The repeat of a sampled reply is drawn afresh; at temperature 0 nothing is drawn."""
    warm = edited(
        tmp_path / "warm", stack_dot_yaml=("temperature: 0", "temperature: 0.7")
    )
    task = tasks(42, 3)[0]
    drawn = [Unit(cell=c, seed=42, task=task) for c in planned(warm)]
    seeds = [unit.request().sampling.seed for unit in drawn]
    assert len(set(seeds)) == 3
    assert seeds == [unit.request().sampling.seed for unit in drawn]
    assert all(seed is not None and 0 <= seed < 2**31 for seed in seeds)
    cold = [
        Unit(cell=c, seed=42, task=task).request()
        for c in planned(edited(tmp_path / "cold"))
    ]
    assert {request.sampling.seed for request in cold} == {1}


def failing(folder: Path, body: str) -> Unit:
    stack = edited(folder)
    (stack / "postprocess.py").write_text(f"def clean(text, prompt):\n    {body}\n")
    return Unit(cell=planned(stack)[0], seed=42, task=tasks(42, 1)[0])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise KeyError('k')", "postprocessor, on .*: raised KeyError: 'k'"),
        ("raise SystemExit(0)", "raised SystemExit: 0"),
        ("return None", "must return text, got NoneType"),
    ],
)
def test_code_that_fails_leaves_the_sample_missing(
    tmp_path: Path, body: str, told: str
) -> None:
    """The user's own code that fails is a reason, never an output and never an exit."""
    unit = failing(tmp_path / "stack", body)
    with Store(tmp_path / "s") as store:
        got = asyncio.run(sample_row(unit, Asker(store)))
    assert isinstance(got, Missing)
    assert (got.reason, got.by_code) == ("postprocessor_error", True)
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(got.message)


def test_code_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop without an end costs its limit, and the run goes on."""
    monkeypatch.setattr(module, "_LONGEST_S", 0.2)
    unit = failing(tmp_path / "stack", "while True: pass")
    with Store(tmp_path / "s") as store:
        got = asyncio.run(sample_row(unit, Asker(store)))
    assert isinstance(got, Missing)
    assert "TimeoutError: it took more than" in got.message
