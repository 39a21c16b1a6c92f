"""Hidden reasoning inside a reply: taken out before anything is read."""

import re

_TAG = re.compile(
    r"<(/?)\s{0,4}(?:think|thinking|reasoning)\s{0,4}>|\[(/?)THINK\]", re.IGNORECASE
)


def split_thinking(text: str) -> tuple[str, str | None]:
    """Return a reply's hidden reasoning and its answer, None where they can't be parted.

    Blocks may nest. A closing tag that is the first tag of all ends reasoning that began
    in the prompt, so all before it is reasoning. A later closing tag without its opening
    one may be a quotation or may not: it leaves no answer, as a block that never closes
    does.

    >>> split_thinking("<think>maybe [[A]]</think> [[B]]")
    ('maybe [[A]]', ' [[B]]')
    >>> split_thinking("<think>maybe [[A]]")
    ('maybe [[A]]', None)
    """
    hidden: list[str] = []
    shown: list[str] = []
    depth = position = 0
    for index, tag in enumerate(_TAG.finditer(text)):
        closing = bool(tag[1] or tag[2])
        if closing and not depth and index:
            return text, None
        ends_reasoning = depth or closing
        (hidden if ends_reasoning else shown).append(text[position : tag.start()])
        depth = max(depth - 1, 0) if closing else depth + 1
        position = tag.end()
    (hidden if depth else shown).append(text[position:])
    return "".join(hidden), None if depth else "".join(shown)
