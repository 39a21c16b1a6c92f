"""Read which of two answers a reply prefers, such as ``[[A>>B]]`` or ``[[C]]``."""

from collections.abc import Sequence

from evaluand.errors import InputError
from evaluand.verdict.places import bracketed
from evaluand.verdict.reading import Reading, Reason, settle, visible_lines
from evaluand.verdict.reference import FIVE, arena_hard_pair, fastchat_pair

__all__ = ["FIVE", "PAIR_POLICY", "THREE", "read_pair"]

PAIR_POLICY = "pair-1"
"""Bumped when any reply would be read differently."""

THREE = ("A", "B", "C")
"""MT-Bench's verdicts: A is better, B is better, a tie."""

_SCALES = (FIVE, THREE)
_MIRRORED = {"B<<A": "A>>B", "B<A": "A>B", "B=A": "A=B", "A<B": "B>A", "A<<B": "B>>A"}
_REFERENCE = {"arena_hard": (arena_hard_pair, FIVE), "fastchat": (fastchat_pair, THREE)}


def read_pair(
    text: str,
    *,
    scale: Sequence[str] = FIVE,
    policy: str = "unique",
    finish_reason: str = "stop",
) -> Reading:
    """Return the preference that a reply gives in double brackets.

    Args:
        text: The whole reply.
        scale: `FIVE` or `THREE`.
        policy: ``unique``, ``first``, ``last``; ``arena_hard`` (five labels) and
            ``fastchat`` (three) read as those projects do.
        finish_reason: As the endpoint gave it.

    Returns:
        A label of the scale, or the reason why none was read.

    Raises:
        InputError: No such scale or policy, or the policy has another scale.

    >>> read_pair("My final verdict is: [[A>>B]]").value
    'A>>B'
    >>> read_pair("[[A]] or [[B]]", scale=THREE).reason.value
    'ambiguous'
    """
    reference, own_scale = _REFERENCE.get(policy, (None, tuple(scale)))
    if tuple(scale) not in _SCALES or tuple(scale) != own_scale:
        msg = f"expected the scale of {policy!r} ({' '.join(own_scale)}) among {_SCALES}, got {scale!r}; pass FIVE or THREE"
        raise InputError(msg)
    if reference is not None:
        return reference(text, finish_reason=finish_reason)
    lines = visible_lines(text, finish_reason)
    if isinstance(lines, Reading):
        return lines
    return settle([_preference(inside, scale) for inside in bracketed(lines)], policy)


def _preference(inside: str, scale: Sequence[str]) -> Reading:
    written = "".join(inside.upper().split())
    label = _MIRRORED.get(written, written)
    return Reading(value=label) if label in scale else Reading(reason=Reason.MALFORMED)
