"""Preferences are read from double brackets, by our policies or a reference's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.errors import InputError
from evaluand.verdict.pairs import FIVE, THREE, read_pair
from evaluand.verdict.reading import Reading


@pytest.mark.parametrize("label", FIVE)
@pytest.mark.parametrize(
    "form", ["[[{}]]", "My final verdict is: [[ {} ]].", "**[[{}]]**"]
)
def test_each_of_five_reads_as_itself(label: str, form: str) -> None:
    """A label that contains another, as A>>B does A>B, is read whole, in any case."""
    assert read_pair(form.format(label)) == Reading(value=label)
    assert read_pair(form.format(label).lower()) == Reading(value=label)


@pytest.mark.parametrize("label", THREE)
def test_each_of_three_reads_as_itself(label: str) -> None:
    """A, B and C (a tie) are read on their own scale, and are malformed on the other."""
    text = f"As I see it, [[{label}]]"
    assert read_pair(text, scale=THREE) == Reading(value=label)
    assert read_pair(text).reason == "malformed"


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("B<<A", "A>>B"),
        ("B<A", "A>B"),
        ("B=A", "A=B"),
        ("A<B", "B>A"),
        ("A<<B", "B>>A"),
    ],
)
def test_mirrored_labels_mean_the_same(written: str, label: str) -> None:
    """B<A says what A>B says."""
    assert read_pair(f"[[{written}]]") == Reading(value=label)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[A>>>B]]", "malformed"),
        ("[[A>B]] no, [[B>A]]", "ambiguous"),
        ("[A>B]", "no_verdict"),
        ("A>B", "no_verdict"),
        ("> [[A>B]]", "no_verdict"),
        ("x[[A>B]]", "no_verdict"),
        ("<think>[[A>B]]", "unclosed_thinking"),
        ("<think>[[A>B]]</think>none", "no_verdict"),
        ("<think>[[A>B]]</think>", "empty"),
    ],
)
def test_no_verdict_is_never_a_preference(text: str, reason: str) -> None:
    """What is unclear, hidden, quoted, indexing or single-bracketed gives its reason."""
    assert read_pair(text) == Reading(reason=reason)


def test_thinking_is_left_out_and_policies_are_named() -> None:
    """The answer's verdict counts (A10); first and last only where asked for."""
    assert read_pair("<think>[[B]]</think>[[A]]", scale=THREE).value == "A"
    assert read_pair("[[A]] [[B]]", scale=THREE, policy="first").value == "A"
    assert read_pair("[[A]] [[B]]", scale=THREE, policy="last").value == "B"


@pytest.mark.parametrize(
    ("text", "stated", "reason"),
    [
        ("[[A>B]] then [[b>>a]]", "B>>A", ""),
        ("<think>[[A>B]]", "A>B", ""),
        ("[A=B]", "A=B", ""),
        ("[[B<A]]", "B<A", "out_of_range"),
        ("see x[a]", "A", "out_of_range"),
        ("none", None, "no_verdict"),
        (" ", None, "empty"),
    ],
)
def test_arena_hard_reads_as_the_reference(
    text: str, stated: str | None, reason: str
) -> None:
    """The last match, fallback brackets and all; what isn't one of five is off the scale."""
    found = read_pair(text, policy="arena_hard")
    assert (found.stated, found.reason) == (stated, reason)


def test_fastchat_looks_for_a_then_b_then_c() -> None:
    """Its order is that of the labels, not of the reply."""
    assert read_pair("[[C]] [[B]]", scale=THREE, policy="fastchat").value == "B"
    assert read_pair("[[B]] [[A]]", scale=THREE, policy="fastchat").value == "A"
    assert read_pair("A", scale=THREE, policy="fastchat").reason == "no_verdict"


@pytest.mark.parametrize(
    ("policy", "scale"), [("unique", FIVE), ("arena_hard", FIVE), ("fastchat", THREE)]
)
def test_a_cut_reply_holds_no_preference(policy: str, scale: tuple[str, ...]) -> None:
    """A cut reply is unassessed under every policy (A9)."""
    text = f"[[{scale[0]}]]"
    for finish, reason in [("length", "truncated"), ("content_filter", "filtered")]:
        found = read_pair(text, scale=scale, policy=policy, finish_reason=finish)
        assert found == Reading(reason=reason)


@pytest.mark.parametrize(
    ("policy", "scale"),
    [("fastchat", FIVE), ("arena_hard", THREE), ("unique", ("X", "Y"))],
)
def test_a_policy_has_its_scale(policy: str, scale: tuple[str, ...]) -> None:
    """A reference parser on another scale, or an unknown scale, is refused."""
    with pytest.raises(InputError, match="pass FIVE or THREE"):
        read_pair("[[A]]", scale=scale, policy=policy)


def test_unknown_policies_are_refused() -> None:
    """A policy that nobody defined reads nothing."""
    with pytest.raises(InputError, match="expected a policy of unique, first, last"):
        read_pair("[[A>B]]", policy="best")


@given(
    st.text(st.sampled_from("AB<>=[]abC \n")),
    st.sampled_from(["unique", "first", "last", "arena_hard"]),
)
def test_reading_is_total(text: str, policy: str) -> None:
    """Any text gives a label of the scale or a reason."""
    found = read_pair(text, policy=policy)
    assert (found.value in FIVE) != bool(found.reason)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["[", "[[A", "[[", "]]", "A", "[[A>B]]"])
def test_hostile_length_is_read_in_linear_time(unit: str) -> None:
    """200 kB of brackets don't stall any policy."""
    text = unit * (200_000 // len(unit))
    for policy in ("unique", "arena_hard"):
        found = read_pair(text, policy=policy)
        assert (found.value is None) == bool(found.reason)
