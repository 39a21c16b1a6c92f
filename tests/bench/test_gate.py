"""A gate names what lives, and never passes where nothing was shown."""

from typing import Any

import pytest

from evaluand.bench.gate import Gate, answer, parse_gate
from evaluand.errors import InputError

TAMPERS = ("model", "prompt", "dependencies")
EVALUATORS = ("standard", "judge:x", "identity")


def condition(*, tamper: bool, equivalent: bool | None = False) -> dict[str, Any]:
    return {"tamper": tamper, "equivalent": equivalent}


def scored(*killed: str, undecided: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"killed_names": list(killed), "undecided_names": list(undecided)}


def summary(**changed: Any) -> dict[str, Any]:
    return {
        "evaluators": [
            {"name": "standard", "fitness": None},
            {"name": "judge:x", "fitness": {"state": "unfit"}},
            {"name": "identity", "fitness": None},
        ],
        "conditions": {
            "clean": condition(tamper=False),
            "repeat": condition(tamper=False),
            "model": condition(tamper=True),
            "prompt": condition(tamper=True),
            "dependencies": condition(tamper=True, equivalent=True),
        },
        "mutation": {
            "standard": scored("prompt"),
            "judge:x": scored("model", "prompt"),
            "identity": scored("model", "prompt", "dependencies"),
        },
        **changed,
    }


@pytest.mark.parametrize(
    ("gate", "lives"),
    [
        ("identity", []),
        ("standard", ["model"]),
        ("standard=prompt", []),
        ("standard=model,prompt", ["model"]),
        ("standard=dependencies,model", ["dependencies", "model"]),
        ("identity=dependencies", []),
    ],
)
def test_what_lives_is_named(gate: str, lives: list[str]) -> None:
    """All tampers but equivalent ones are wanted, or those that are listed, in order."""
    told = tuple(f"{gate.partition('=')[0]} did not kill {name}" for name in lives)
    found = answer(summary(), parse_gate(gate, EVALUATORS, TAMPERS))
    assert (found.survivors, found.untold) == (told, ())


def test_an_unfit_evaluator_answers_no_gate() -> None:
    """A judge that failed on its controls may have killed by chance."""
    found = answer(summary(), parse_gate("judge:x", EVALUATORS, TAMPERS))
    assert found.survivors == ()
    assert found.untold == ("judge:x is unfit on its controls",)


def test_a_run_without_a_tamper_to_kill_answers_no_gate() -> None:
    """Where every tamper is equivalent, or there is none, nothing was shown."""
    same = {
        "clean": condition(tamper=False),
        "d": condition(tamper=True, equivalent=True),
    }
    for conditions in (same, {"clean": condition(tamper=False)}):
        found = answer(
            summary(conditions=conditions), Gate(evaluator="standard", tampers=None)
        )
        assert found.untold == ("standard has no tamper to kill in this run",)


def test_too_little_known_is_no_kill() -> None:
    """A tamper without enough verdicts is neither dead nor alive, equivalent or not."""
    conditions = {
        "a": condition(tamper=True),
        "b": condition(tamper=True, equivalent=None),
    }
    mutation = {"standard": scored("a", undecided=("b",))}
    found = answer(
        summary(conditions=conditions, mutation=mutation),
        Gate(evaluator="standard", tampers=None),
    )
    assert found.untold == ("standard has too few verdicts on b",)
    assert found.survivors == ()


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("vibes", r"expected an evaluator of this run \(standard, .*\), got 'v"),
        ("", "expected an evaluator"),
        ("standard=weather", r"tampers of this run \(model, prompt, .*, got 'weather'"),
        ("standard=clean", "got 'clean'"),
        ("standard=", "got ''"),
        ("standard=model,,prompt", "got ''"),
    ],
)
def test_a_gate_that_names_nothing_here_is_refused(gate: str, told: str) -> None:
    """An unknown evaluator or tamper is bad input: it could never fail."""
    with pytest.raises(InputError, match=told):
        parse_gate(gate, EVALUATORS, TAMPERS)
