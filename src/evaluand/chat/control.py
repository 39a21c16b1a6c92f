"""What an endpoint makes of control tokens: a doubled BOS, and those in a user's text."""

import re
from collections.abc import Sequence

from evaluand.chat.counting import user
from evaluand.chat.fact import Fact
from evaluand.chat.message import message_value
from evaluand.chat.observe import Observer

# how the families end a turn
_KNOWN = (
    "<|im_end|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|endoftext|>",
    "<|return|>",
    "<｜end▁of▁sentence｜>",  # noqa: RUF001 - DeepSeek writes it so
)
# what a template writes that may be a control token
_MARKUP = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{1,40}\]")
_WORD = "harbour"
_TIMES = 8


async def double_bos(observer: Observer) -> Fact:
    """Return whether a chat begins with two BOS tokens: the template's and another."""
    text = await observer.rendered([user(_WORD)])
    if text is not None:
        ids = await observer.tokens(text, add_special=True, parse_special=True)
        marked = await observer.tokens(_WORD, add_special=True, parse_special=True)
        bare = await observer.tokens(_WORD, add_special=False, parse_special=True)
    else:
        value = {"messages": [message_value(user(_WORD))]}
        ids = await observer.vllm_tokens({**value, "add_generation_prompt": True})
        marked, bare = [
            await observer.vllm_tokens({"prompt": _WORD, "add_special_tokens": added})
            for added in (True, False)
        ]
    if ids is None or marked is None or bare is None:
        return Fact.unknown("no_tokenizer", "no route tells a chat's token ids")
    return _doubled(ids, marked, bare)


def _doubled(ids: Sequence[int], marked: Sequence[int], bare: Sequence[int]) -> Fact:
    """Judge a chat's tokens by those of a word with and without its special tokens."""
    added = len(marked) > len(bare) and list(marked[1:][: len(bare)]) == list(bare)
    bos = marked[0] if added else None
    detail = f"the chat begins {' '.join(map(str, ids[:3]))}; the tokenizer's BOS is {'none' if bos is None else bos}"
    if len(ids) < 2 or ids[0] != ids[1]:
        return Fact.of(False, "tokenize", detail)
    if ids[0] == bos:
        return Fact.of(True, "tokenize", detail)
    return Fact.unknown("unexpected_tokens", detail)


async def control_tokens(observer: Observer) -> Fact:
    """Return whether a control token typed in a user's text becomes a real one.

    A rendered prompt is one text: if the user's token stands in it as typed, nothing
    tells it from the template's own. Where no text is told, a run of n tokens that the
    endpoint counts as exactly n was read as control tokens; plain text takes more.
    """
    text = await observer.rendered([user(_WORD)])
    if text is not None:
        found = await _control_token(observer, text)
        if found is not None:
            return await _typed(observer, *found)
    return await _counted(observer)


async def _control_token(observer: Observer, text: str) -> tuple[str, int] | None:
    """Return a control token of the model and its length read literally."""
    for candidate in dict.fromkeys([*_MARKUP.findall(text), *_KNOWN]):
        parsed, literal = [
            await observer.tokens(candidate, add_special=False, parse_special=parse)
            for parse in (True, False)
        ]
        if parsed is None or literal is None:
            continue
        if len(parsed) == 1 < len(literal):
            return candidate, len(literal)
    return None


async def _typed(observer: Observer, token: str, literal: int) -> Fact:
    typed = f"{_WORD}{token}{_WORD}"
    text = await observer.rendered([user(typed)])
    if text is None:
        return Fact.unknown("not_rendered", f"/apply-template refused {token!r}")
    if typed not in text:
        detail = f"{token!r} in a user's text is not in the rendered prompt as typed"
        return Fact.of(False, "apply_template", detail)
    detail = f"{token!r} is 1 token, {literal} when control tokens are read literally, and stands in the rendered prompt as typed"
    return Fact.of(True, "tokenize", detail)


async def _counted(observer: Observer) -> Fact:
    base = await observer.count([user(_WORD + _WORD)])
    for token in _KNOWN:
        once = await observer.count([user(_WORD + token * _TIMES + _WORD)])
        # the parted words may take another token; a literal reading takes far more
        if not _TIMES <= once - base <= _TIMES + 2:
            continue
        twice = await observer.count([user(_WORD + token * 2 * _TIMES + _WORD)])
        if twice - once == _TIMES:
            detail = f"{_TIMES} times {token!r} added {_TIMES} tokens"
            return Fact.of(True, "token_delta", detail)
    detail = f"none of {len(_KNOWN)} common control tokens was counted as one token; the model's own isn't known"
    return Fact.unknown("no_known_control_token", detail)
