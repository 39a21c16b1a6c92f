"""Two manifests side by side: which component differs, and in which leaf."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from evaluand.digest import Leaf
from evaluand.identity.component import KINDS, Component, Manifest

_FORMS = {
    "lf": "differs only in line endings",
    "nfc": "differs only in Unicode form",
    "lfNfc": "differs only in line endings and Unicode form",
}


class State(StrEnum):
    """How one component compares."""

    MATCH = "match"
    MISMATCH = "mismatch"
    MISSING = "missing"
    UNDECLARED = "undeclared"
    UNIDENTIFIED = "unidentified"
    UNDISCLOSED = "undisclosed"
    MIXED = "mixed"
    NOT_APPLICABLE = "not_applicable"


DIFFERENT = (State.MISMATCH, State.MISSING)
"""The states of a component that isn't what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one component compares.

    Args:
        kind: One of `KINDS`.
        state: The verdict.
        changed: Leaves on both sides that differ.
        added: Leaves only observed.
        removed: Leaves only expected.
        note: What else is known, such as "differs only in line endings"; empty if
            nothing is.
    """

    kind: str
    state: State
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How two manifests compare.

    Args:
        differences: By kind, all of `KINDS` in order.
        required: The kinds that decide.
    """

    differences: Mapping[str, Difference]
    required: tuple[str, ...]

    @property
    def wrong(self) -> tuple[str, ...]:
        """The required kinds that differ from what was expected."""
        return self._in(*DIFFERENT)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The required kinds of which too little is known to say that they match."""
        known = (*self.wrong, *self._in(State.MATCH, State.NOT_APPLICABLE))
        return tuple(kind for kind in self.required if kind not in known)

    @property
    def matches(self) -> bool:
        """Whether every required component matches, or is stated on both sides as none.

        Where nothing is required, nothing has been shown to match.
        """
        return bool(self.required) and not self.wrong and not self.unknown

    def _in(self, *states: State) -> tuple[str, ...]:
        return tuple(
            kind for kind in self.required if self.differences[kind].state in states
        )


def compare(
    expected: Manifest, observed: Manifest, *, required: Iterable[str] = KINDS
) -> Comparison:
    """Return how an observed deployment differs from an expected one.

    Args:
        expected: As stated, in a descriptor or by the clean stack.
        observed: As found.
        required: The kinds that decide whether it matches; all are compared.
    """
    return Comparison(
        differences={kind: _difference(kind, expected, observed) for kind in KINDS},
        required=tuple(kind for kind in KINDS if kind in set(required)),
    )


def _difference(kind: str, expected: Manifest, observed: Manifest) -> Difference:
    before, after = expected.components.get(kind), observed.components.get(kind)
    if before is not None and after is not None:
        return _compared(before, after)
    if before is not None:
        none = kind in observed.not_applicable
        note = "stated as none now" if none else "not declared now"
        return Difference(
            kind=kind, state=State.MISSING, removed=tuple(before.leaves), note=note
        )
    if after is not None:
        none = kind in expected.not_applicable
        note = "was stated as none" if none else "was not declared"
        return Difference(
            kind=kind, state=State.MISMATCH, added=tuple(after.leaves), note=note
        )
    if kind in expected.not_applicable and kind in observed.not_applicable:
        return Difference(kind=kind, state=State.NOT_APPLICABLE)
    return Difference(kind=kind, state=State.UNDECLARED)


def _compared(before: Component, after: Component) -> Difference:
    rule = (before.digest, before.tree_alg, before.normalization)
    if rule == (after.digest, after.tree_alg, after.normalization):
        return Difference(kind=after.kind, state=State.MATCH)
    if not before.records or not after.records:
        note = "which leaf differs is not known: the record of leaves is not here"
        return Difference(kind=after.kind, state=State.MISMATCH, note=note)
    old = {leaf.name: leaf for leaf in before.records}
    new = {leaf.name: leaf for leaf in after.records}
    changed = tuple(name for name in old if name in new and old[name] != new[name])
    removed = tuple(name for name in old if name not in new)
    added = tuple(name for name in new if name not in old)
    return Difference(
        kind=after.kind,
        state=State.MISMATCH,
        changed=changed,
        added=added,
        removed=removed,
        note=_note(before, after, changed, added, removed),
    )


def _note(
    before: Component,
    after: Component,
    changed: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
) -> str:
    if not changed:
        return _name_note(before, after, added, removed)
    if added or removed:
        return ""
    old = {leaf.name: leaf for leaf in before.records}
    new = {leaf.name: leaf for leaf in after.records}
    pairs = [(old[name], new[name]) for name in changed]
    if all(one.digest == two.digest for one, two in pairs):
        return "differs only in what may be executed"
    if any(one.exec != two.exec for one, two in pairs):
        return ""
    for form, words in _FORMS.items():
        if all(
            _form(before, one, form) == _form(after, two, form) for one, two in pairs
        ):
            return words
    return ""


def _form(component: Component, leaf: Leaf, form: str) -> str:
    """Return the digest of a leaf's form, its own where the form changes nothing."""
    return component.forms.get(leaf.name, {}).get(form, leaf.digest)


def _name_note(
    before: Component,
    after: Component,
    added: tuple[str, ...],
    removed: tuple[str, ...],
) -> str:
    def folded(component: Component, names: Iterable[str]) -> dict[str, str]:
        leaves = component.leaves
        return {unicodedata.normalize("NFC", name): leaves[name] for name in names}

    if added and folded(before, removed) == folded(after, added):
        return "a name differs only in Unicode form"
    return ""
