"""`evaluand.identity.code`: what is called is what was hashed."""

import pytest

from evaluand.errors import InputError
from evaluand.identity.stack import Blob, Code, load_function


def code(source: str, function: str = "clean") -> Code:
    return Code(source=Blob(name="p.py", content=source.encode()), function=function)


def test_function_comes_from_the_bytes() -> None:
    """The function is compiled from the blob; two blobs of one name don't mix."""
    one = load_function(code("def clean(text): return text + 'one'"))
    two = load_function(code("def clean(text): return text + 'two'"))
    assert (one("x"), two("x")) == ("xone", "xtwo")


def test_dataclasses_with_postponed_annotations_work() -> None:
    """User code may hold what looks its own module up."""
    source = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\ndef clean(text): return A(text).x"
    assert load_function(code(source))(3) == 3


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def clean(:", "p.py: doesn't compile"),
        ("1 / 0", "p.py: raised ZeroDivisionError while it was loaded"),
        ("raise SystemExit(0)", "p.py: raised SystemExit while it was loaded"),
        ("x = '\0'", "p.py: doesn't compile"),
        (
            "import no_such_module",
            "No module named 'no_such_module'; only installed packages",
        ),
        ("clean = 3", "expected a function 'clean', it defines none"),
        (
            "def other(): ...\ndef _own(): ...",
            "expected a function 'clean', it defines other",
        ),
    ],
)
def test_unusable_code_is_refused(source: str, fault: str) -> None:
    """Code that can't give the function says what it does give."""
    with pytest.raises(InputError, match=fault):
        load_function(code(source))
