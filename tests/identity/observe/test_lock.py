"""`evaluand.identity.observe.lock`: pins localise a lock file, and never decide."""

import pytest

from evaluand.identity.observe.lock import pin_leaves, pins
from evaluand.identity.part import Blob


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "requirements.txt",
            "# c\nNumPy==2.1.0 \\\n    --hash=sha256:aa\n-r other.txt\n\nx[extra]==1 ; python_version<'4'\nflask>=1\n",
            {
                "numpy": ["NumPy==2.1.0 --hash=sha256:aa"],
                "x": ["x[extra]==1 ; python_version<'4'"],
            },
        ),
        ("r.lock", "a_b==1; x\na.b==2; y\n", {"a-b": ["a_b==1; x", "a.b==2; y"]}),
        (
            "uv.lock",
            '[[package]]\nname = "Rich"\nversion = "14"\n[[package]]\nname = "x"\n[[package]]\nversion = "1"\n',
            {"rich": ["14"], "x": [""]},
        ),
        ("pylock.toml", '[[packages]]\nname = "a"\nversion = "1"\n', {"a": ["1"]}),
        ("odd.toml", "package = 3\n", {}),
        ("odd2.toml", "package = [3]\n", {}),
        ("binary", "\x00\x01", {}),
    ],
)
def test_pins(name: str, text: str, expected: dict[str, list[str]]) -> None:
    """Requirement lines and package tables are read; what isn't understood gives nothing."""
    assert pins(Blob(name=name, content=text.encode())) == expected


def test_a_moved_pin_moves_its_leaf_alone() -> None:
    """The leaf of the distribution whose version moved is the one that differs."""
    before = pin_leaves(Blob(name="r", content=b"a==1\nb==1\n"))
    after = pin_leaves(Blob(name="r", content=b"a==1\nb==2\n"))
    assert [leaf.name for leaf in before] == ["pin/a", "pin/b"]
    assert before[0] == after[0]
    assert before[1] != after[1]
