"""What a stack was found to be, one component at a time."""

from evaluand.identity.component import (
    COVERAGE,
    KINDS,
    Component,
    Manifest,
    component,
    digests,
    from_digests,
)
from evaluand.identity.diff import (
    DIFFERENT,
    Comparison,
    Difference,
    State,
    compare,
)
from evaluand.identity.measure import FileDigests, find
from evaluand.identity.part import Stack

__all__ = [
    "COVERAGE",
    "DIFFERENT",
    "KINDS",
    "Comparison",
    "Component",
    "Difference",
    "FileDigests",
    "Manifest",
    "State",
    "compare",
    "digests",
    "from_digests",
    "observe",
]


def observe(stack: Stack, files: FileDigests | None = None) -> Manifest:
    """Return what the very object that runs is made of.

    Args:
        stack: The stack, in memory as it will run.
        files: Shared by one pass over several stacks, so that each big file is read
            once; None reads every byte.

    Raises:
        InputError: If a file can't be hashed.
    """
    found = find(stack, FileDigests() if files is None else files)
    return Manifest(
        components={kind: component(kind, each) for kind, each in found.items()},
        not_applicable=stack.not_applicable - found.keys(),
    )
