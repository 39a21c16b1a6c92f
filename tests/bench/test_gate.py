"""A gate names every tamper that it wants killed and that lives."""

from typing import Any

import pytest

from evaluand.bench.gate import survivors
from evaluand.errors import InputError


def condition(*, tamper: bool, equivalent: bool = False) -> dict[str, Any]:
    return {"tamper": tamper, "equivalent": equivalent}


SUMMARY: dict[str, Any] = {
    "evaluators": [{"name": "standard"}, {"name": "identity"}],
    "conditions": {
        "clean": condition(tamper=False),
        "repeat": condition(tamper=False),
        "model": condition(tamper=True),
        "prompt": condition(tamper=True),
        "dependencies": condition(tamper=True, equivalent=True),
    },
    "mutation": {
        "standard": {"killed_names": ["prompt"]},
        "identity": {"killed_names": ["model", "prompt", "dependencies"]},
    },
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
    told = [f"{gate.partition('=')[0]} did not kill {name}" for name in lives]
    assert survivors(SUMMARY, gate) == told


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("vibes", r"expected an evaluator of this run \(standard, identity\), got 'v"),
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
        survivors(SUMMARY, gate)
