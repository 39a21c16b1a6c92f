"""`evaluand.identity.diff`: the component and the leaf that differ, and how."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evaluand.digest import Leaf, sha256_hex
from evaluand.identity.component import Component, Found, component
from evaluand.identity.manifest import KINDS, Manifest, State, compare, observe
from evaluand.identity.stack import load_stack

Make = Callable[..., Path]


def manifest(make_stack: Make, name: str, **changes: bytes) -> Manifest:
    files = {
        key.replace("__", "/").replace("_dot_", "."): v for key, v in changes.items()
    }
    return observe(load_stack(make_stack(name, changes=files)))


def test_equal_manifests_match(make_stack: Make) -> None:
    """A manifest matches itself in all nine components."""
    one = manifest(make_stack, "a")
    found = compare(one, one)
    assert found.matches
    assert {each.state for each in found.differences.values()} == {State.MATCH}
    assert (found.wrong, found.unknown, found.required) == ((), (), KINDS)


def test_lists_of_leaves(make_stack: Make) -> None:
    """One extra, one missing and one changed file stand in three lists (G9)."""
    before = manifest(make_stack, "a")
    root = make_stack("b", changes={"corpus/a.md": b"other", "corpus/c.md": b"new"})
    (root / "corpus/sub/b.md").unlink()
    after = observe(load_stack(root))
    found = compare(before, after).differences["retrieval"]
    assert found.state is State.MISMATCH
    assert found.removed == ("corpus/sub/b.md",)
    assert found.added == ("corpus/c.md",)
    assert found.changed == ("corpus/a.md",)


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (b"a\nb\n", b"a\r\nb\r\n", "differs only in line endings"),
        (b"a\r\n", b"a\n", "differs only in line endings"),
        (b"a\rb", b"a\nb", "differs only in line endings"),
        ("caf\u00e9".encode(), "cafe\u0301".encode(), "differs only in Unicode form"),
        (
            "caf\u00e9\n".encode(),
            "cafe\u0301\r\n".encode(),
            "differs only in line endings and Unicode form",
        ),
        (b"a\n", b"a \r\n", ""),
        (b"a\xff\n", b"a\xff\r\n", ""),
    ],
)
def test_text_mismatch_says_what_kind(
    make_stack: Make, old: bytes, new: bytes, note: str
) -> None:
    """A checkout with other line ends is a mismatch, and is named as just that (G3)."""
    before = manifest(make_stack, "a", prompts__system_dot_md=old)
    after = manifest(make_stack, "b", prompts__system_dot_md=new)
    found = compare(before, after).differences["system_prompt"]
    assert (found.state, found.note) == (State.MISMATCH, note)
    assert found.changed == ("prompts/system.md",)


def single(*leaves: Leaf) -> Manifest:
    found = component(
        "retrieval", Found(records=leaves, source="x", observed_via="files")
    )
    return Manifest(components={"retrieval": found})


def test_other_unicode_form_of_a_name_is_said(make_stack: Make) -> None:
    """A composed name that became a decomposed one is named so, never matched (G4)."""
    before = single(Leaf(name="caf\u00e9", digest=sha256_hex(b""), size=0))
    after = single(Leaf(name="cafe\u0301", digest=sha256_hex(b""), size=0))
    found = compare(before, after).differences["retrieval"]
    assert found.state is State.MISMATCH
    assert found.note == "a name differs only in Unicode form"
    other = single(Leaf(name="cafe\u0301", digest=sha256_hex(b"x"), size=1))
    assert compare(before, other).differences["retrieval"].note == ""
    assert (
        compare(before, single()).differences["retrieval"].note.startswith("which leaf")
    )
    assert manifest(make_stack, "a") != before


def test_exec_bit_is_said() -> None:
    """A file that may now be executed is a mismatch named so."""
    leaf = Leaf(name="x", digest=sha256_hex(b""), size=0)
    found = compare(single(leaf), single(replace(leaf, exec=True))).differences[
        "retrieval"
    ]
    assert (found.changed, found.note) == (
        ("x",),
        "differs only in what may be executed",
    )
    ends = Leaf(name="y", digest=sha256_hex(b"a\r\n"), size=3)
    both = compare(
        single(leaf, ends), single(replace(leaf, exec=True), replace(ends, size=4))
    )
    assert both.differences["retrieval"].changed == ("x", "y")
    other = replace(ends, digest=sha256_hex(b"a\n"))
    mixed = compare(single(leaf, ends), single(replace(leaf, exec=True), other))
    assert mixed.differences["retrieval"].note == ""
    added = compare(single(leaf), single(replace(leaf, exec=True), ends))
    assert added.differences["retrieval"].note == ""


def without_leaves(each: Component) -> Component:
    return replace(each, records=())


def test_without_leaves_the_component_is_still_named(make_stack: Make) -> None:
    """Where the record of leaves is gone, the mismatch names the component and says why."""
    before = manifest(make_stack, "a")
    bare = Manifest(
        components={k: without_leaves(v) for k, v in before.components.items()}
    )
    assert compare(bare, before).matches
    after = manifest(make_stack, "b", router_dot_yaml=b"x")
    found = compare(bare, after).differences["tools"]
    assert (found.state, found.changed) == (State.MISMATCH, ())
    assert "record of leaves is not here" in found.note


def test_absent_components(make_stack: Make) -> None:
    """What one side lacks is missing, added, undeclared or not applicable, never a match."""
    whole = manifest(make_stack, "a")
    left = {k: v for k, v in whole.components.items() if k != "tools"}
    silent = Manifest(components=left)
    none = Manifest(components=left, not_applicable=frozenset({"tools"}))

    def state(expected: Manifest, observed: Manifest) -> tuple[State, str]:
        found = compare(expected, observed).differences["tools"]
        return found.state, found.note

    assert state(whole, silent) == (State.MISSING, "not declared now")
    assert state(whole, none) == (State.MISSING, "stated as none now")
    assert state(silent, whole) == (State.MISMATCH, "was not declared")
    assert state(none, whole) == (State.MISMATCH, "was stated as none")
    assert state(silent, silent) == (State.UNDECLARED, "")
    assert state(none, silent) == state(silent, none) == (State.UNDECLARED, "")
    assert state(none, none) == (State.NOT_APPLICABLE, "")
    assert compare(none, none).matches
    assert compare(silent, silent).unknown == ("tools",)
    assert not compare(silent, silent).matches


def test_only_required_components_decide(make_stack: Make) -> None:
    """A difference in what isn't required is shown and doesn't decide."""
    before = manifest(make_stack, "a")
    after = manifest(make_stack, "b", router_dot_yaml=b"x")
    found = compare(before, after, required=("sampling", "model"))
    assert found.matches
    assert found.required == ("model", "sampling")
    assert found.differences["tools"].state is State.MISMATCH
    assert compare(before, after, required=("tools",)).wrong == ("tools",)
