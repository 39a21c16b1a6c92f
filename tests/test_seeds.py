"""`evaluand.seeds`: generators by name, independent of each other."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.seeds import generator

NAMES = st.lists(st.text("abc", max_size=3), min_size=1, max_size=3)


def draw(seed: int, *purpose: str | int) -> list[int]:
    return list(map(int, generator(seed, *purpose).integers(2**32, size=4)))


def test_same_name_same_numbers_in_another_process() -> None:
    """A name and a seed give the same numbers, whatever the process's hash seed."""
    code = "from evaluand.seeds import generator; print(generator(7, 'suite', 3).integers(2**32, size=4).tolist())"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == str(draw(7, "suite", 3))


@given(st.integers(0, 99), NAMES, NAMES)
def test_other_names_draw_other_numbers(
    seed: int, one: list[str], two: list[str]
) -> None:
    """Two purposes draw alike only if they are equal, however their parts are split."""
    assert (draw(seed, *one) == draw(seed, *two)) == (one == two)


def test_other_seeds_draw_other_numbers() -> None:
    """The root seed moves every purpose."""
    assert len({tuple(draw(seed, "x")) for seed in range(50)}) == 50


def test_negative_seeds_are_refused() -> None:
    """A seed below 0 has no generator."""
    with pytest.raises(ValueError, match="non-negative"):
        generator(-1, "x")
