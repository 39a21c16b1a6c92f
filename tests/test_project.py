"""The project about itself: its README names every module, its pins name no index."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path
    for path in (ROOT / "src" / "evaluand").rglob("*.py")
    if not path.name.startswith("__") and "reference/" not in path.as_posix()
)


def test_the_readme_names_every_module() -> None:
    """The tree of files has a line for each module, and none for one that is gone."""
    tree = (ROOT / "README.md").read_text().split("src/evaluand/\n")[1].split("```")[0]
    named = re.findall(r"^ +(\S+\.py) ", tree, re.M)
    assert sorted(Path(name).name for name in named) == sorted(p.name for p in MODULES)


@pytest.mark.parametrize("name", ["local.txt", "dev.txt"])
def test_pins_carry_hashes_and_no_address(name: str) -> None:
    """Each requirement is pinned with hashes, and no line names where it came from."""
    text = (ROOT / "requirements" / name).read_text()
    pins = re.findall(
        r"^\S+==\S+.*$(?:\n    --hash=sha256:[0-9a-f]{64}.*)+", text, re.M
    )
    assert len(pins) == len(re.findall(r"^[a-z]\S*==", text, re.M)) > 20
    assert "://" not in text
