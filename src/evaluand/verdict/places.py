"""Where in a reply the verdict stands: after its marker, after a cue, in brackets."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# list and bold marks, a number of a list, a heading; a quoted line (>) is somebody else's
_LEAD = r"(?:[-*+•#_`\s]|\d{1,3}[.)](?=\s))*"
_TAIL = r"[*_`\"'\s]*"
_BRACKETS = re.compile(r"(?<![A-Za-z0-9_)\]])\[\[([^\[\]]{1,60})\]\]")
_LONGEST = 200
"""Characters of a place that are looked at: no verdict is longer."""


class Place(NamedTuple):
    """A stretch of text that claims to hold the verdict.

    Args:
        text: What stands there, without leading and trailing space.
        alone: Whether the verdict has to be all of it: a line below its marker is prose
            unless it holds nothing else.
    """

    text: str
    alone: bool = False


def verdict_places(lines: Sequence[str], marker: str) -> list[Place]:
    """Return the places after a marker, or after cues where no marker stands."""
    return list(_after_marker(lines, marker)) or list(_after_cue(lines, marker))


def bracketed(lines: Sequence[str]) -> Iterator[str]:
    """Yield what stands in double brackets, outside quoted lines and indexing code.

    >>> list(bracketed(["Rating: [[7]]", "> [[1]]", "x[[2]] and [[A>>B]]"]))
    ['7', 'A>>B']
    """
    for line in unquoted(lines):
        for match in _BRACKETS.finditer(line):
            yield match[1].strip()


def unquoted(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that aren't quotations."""
    return (line for line in lines if not line.lstrip().startswith(">"))


def _after_marker(lines: Sequence[str], marker: str) -> Iterator[Place]:
    """Yield what follows the marker on each line that it starts.

    ``final`` may stand before it; bold and list marks may stand around. Where nothing
    follows on the line, the next line that isn't blank is what follows.
    """
    pattern = re.compile(
        rf"{_LEAD}(?:final\s+)?{re.escape(marker)}{_TAIL}[:=\uff1a]{_TAIL}",
        re.IGNORECASE,
    )
    waiting = False
    for line in lines:
        match = pattern.match(line)
        if waiting and (match or line.strip()):
            yield Place("" if match else _short(line), alone=True)
            waiting = False
        if match and (rest := _short(line[match.end() :])):
            yield Place(rest)
        elif match:
            waiting = True
    if waiting:
        yield Place("", alone=True)


def _after_cue(lines: Sequence[str], marker: str) -> Iterator[Place]:
    """Yield what follows a sentence's opening such as ``The final grade is``.

    Inside quotation marks the sentence is somebody else's.
    """
    pattern = re.compile(
        r"(?:\A[-*+#\s]{0,8}|(?<=[.!?])\s)\s{0,4}"
        r"(?:(?:so|thus|hence|therefore|in conclusion)\b,?\s)?"
        rf"[*_]{{0,3}}(?:(?:the|my)\s)?(?:final|overall)\s{re.escape(marker)}\s"
        rf"is\b[:*_`\s]{{0,6}}",
        re.IGNORECASE,
    )
    for line in unquoted(lines):
        quotes = seen = 0
        for match in pattern.finditer(line):
            quotes += sum(line.count(mark, seen, match.start()) for mark in '"“”')
            seen = match.start()
            if quotes % 2 == 0:
                yield Place(_short(line[match.end() : match.end() + _LONGEST]))


def _short(text: str) -> str:
    return text.strip()[:_LONGEST]
