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


def leading_thinking(text: str) -> tuple[str | None, str]:
    """Return the reasoning block that a reply begins with, and the text after it.

    Only a block at the very beginning is taken out, as servers with a reasoning parser
    do; tags further on may be quotations, and are left to who reads the text.

    >>> leading_thinking("<think>Hm.</think>Yes.")
    ('Hm.', 'Yes.')
    >>> leading_thinking("Write <think>Hm.</think>")
    (None, 'Write <think>Hm.</think>')
    """
    start = len(text) - len(text.lstrip())
    opening = _TAG.match(text, start)
    if opening is None or opening[1] or opening[2]:
        return None, text
    closing = _TAG.search(text, opening.end())
    if closing is None:
        return text[opening.end() :], ""
    if not (closing[1] or closing[2]):
        return None, text  # blocks within blocks: no server parts these
    return text[opening.end() : closing.start()], text[closing.end() :]
