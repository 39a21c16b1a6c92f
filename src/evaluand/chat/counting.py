"""Prompts of a known length: what a word counts as, and whether a long one is kept."""

from evaluand.chat.fact import Fact
from evaluand.chat.message import Message
from evaluand.chat.observe import Observer
from evaluand.errors import ModelError

NONCE = "zq7harbour31x"
"""Stands in no template and passes through JSON and HTML as it is."""

SHORT, LONG = 64, 128
# a count within this of the expected one is the expected one: a boundary costs a token
SLACK = 0.1


def filler(words: int) -> str:
    """Return a text that each more word makes as much longer, in tokens too."""
    return "Sentinel" + " harbour" * words


def user(text: str) -> Message:
    """Return a user's turn."""
    return Message(role="user", content=text)


async def calibrate(observer: Observer) -> float:
    """Return the tokens that one word of `filler` takes, and test that counts count.

    Counts that differ between two like requests, such as those that leave cached tokens
    out, or that don't grow with the prompt, say nothing: they become the observer's
    fault. So a server that always tells the same count isn't taken for one that drops.

    Raises:
        ModelError: If there are no counts, or none that say something.
    """
    try:
        short, again, long = [
            await observer.count([user(filler(words))])
            for words in (SHORT, SHORT, LONG)
        ]
    except ModelError as error:
        observer.fault = error
        raise
    observer.fault = _count_fault(short, again, long)
    if observer.fault is not None:
        raise observer.fault
    return (long - short) / (LONG - SHORT)


def _count_fault(short: int, again: int, long: int) -> ModelError | None:
    if short != again:
        msg = f"the same chat was counted as {short} and {again} tokens"
        return ModelError(msg, retryable=False, reason="count_unstable")
    if 2 * (long - short) < LONG - SHORT:
        msg = f"{SHORT} and {LONG} words were counted as {short} and {long} tokens"
        return ModelError(msg, retryable=False, reason="count_insensitive")
    return None


async def front_kept(observer: Observer, rate: float, words: int) -> Fact:
    """Return whether long prompts are taken in full, or refused aloud.

    A rendered text shows a cut that comes before it, and none that comes after: it can
    tell that the front is lost, and only counts can tell that it is kept.

    Args:
        observer: The endpoint.
        rate: Tokens of one word, from `calibrate`.
        words: Of the shorter of two prompts; the other has twice as many.
    """
    text = await observer.rendered([user(f"{NONCE} {filler(2 * words)}")])
    if text is not None and NONCE not in text:
        detail = f"the first of {2 * words} words is not in the rendered prompt"
        return Fact.of(False, "apply_template", detail)
    base = await observer.count([user(filler(SHORT))])
    counts: list[str] = []
    for length in (words, 2 * words):
        expected = base + rate * (length - SHORT)
        try:
            counted = await observer.count([user(filler(length))])
        except ModelError as error:
            if error.reason != "input_too_long":
                raise
            counts.append(f"{length} words were refused as too long")
            break
        counts.append(f"{length} words: {counted} of about {expected:.0f} tokens")
        if counted < expected * (1 - SLACK):
            return Fact.of(False, "token_delta", "; ".join(counts))
    return Fact.of(True, "token_delta", "; ".join(counts))
