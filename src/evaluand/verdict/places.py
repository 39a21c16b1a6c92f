"""Where in a reply the verdict stands: after its marker, at the start of a line."""

import re
from collections.abc import Iterator, Sequence

# list and bold marks, a number of a list, a heading; a quoted line (>) is somebody else's
_LEAD = r"(?:[-*+•#_`\s]|\d{1,3}[.)](?=\s))*"
_TAIL = r"[*_`\"'\s]*"


def after_marker(lines: Sequence[str], marker: str) -> Iterator[str]:
    """Yield what follows the marker on each line that it starts.

    ``final`` may stand before it; bold and list marks may stand around. Where nothing
    follows on the line, the next line that isn't blank is what follows.

    >>> list(after_marker(["**Final GRADE:** C", "> GRADE: I", "a GRADE: I"], "GRADE"))
    ['C']
    """
    pattern = re.compile(
        rf"{_LEAD}(?:final\s+)?{re.escape(marker)}{_TAIL}[:=]{_TAIL}(.*)\Z",
        re.IGNORECASE | re.DOTALL,
    )
    for index, line in enumerate(lines):
        match = pattern.match(line)
        if match is None:
            continue
        rest = match[1].strip()
        yield rest or next((x.strip() for x in lines[index + 1 :] if x.strip()), "")


def after_cue(lines: Sequence[str], marker: str) -> Iterator[str]:
    """Yield what follows a phrase such as ``the final grade is``, anywhere in the text."""
    pattern = re.compile(
        rf"\b(?:final|overall)\s{{1,4}}{re.escape(marker)}\s{{1,4}}is[:\s]{{1,4}}[*_`\"'\s]{{0,4}}([^\n]*)",
        re.IGNORECASE,
    )
    for line in lines:
        for match in pattern.finditer(line):
            yield match[1].strip()
