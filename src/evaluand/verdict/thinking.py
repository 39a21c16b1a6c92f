"""Hidden reasoning inside a reply: taken out before anything is read."""

import re

_TAG = re.compile(r"<(/?)\s*(?:think|thinking|reasoning)\s*>", re.IGNORECASE)


def without_thinking(text: str) -> str | None:
    """Return a reply without its reasoning blocks; None when a block never closes.

    A closing tag without its opening one ends reasoning that began in the prompt, so all
    before it goes too.

    >>> without_thinking("<think>maybe [[A]]</think> [[B]]")
    ' [[B]]'
    >>> without_thinking("<think>maybe [[A]]") is None
    True
    """
    kept: list[str] = []
    depth = position = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[position : tag.start()])
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()
        position = tag.end()
    if depth:
        return None
    return "".join([*kept, text[position:]])
