"""Read the number that a reply answers with, exactly, as a decimal string.

There is no universal rule, so the rule has a name. Values are compared as decimals:
``$29.00`` is 29. A currency sign, a percent sign and a unit beside a number are left
out; a fraction, a time or a power isn't cut down to one of its digits.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from evaluand.errors import InputError
from evaluand.verdict.reading import Reading, Reason, visible_lines

NUMBER_POLICY = "number-1"
"""Bumped when any reply would be read differently."""

RULES = ("first_marker", "last_number")
"""The number after the first marker that one follows; the last number of the reply."""

RUN_ON = "run_on"
"""Note on a reply that goes on with a further marker or question after its answer."""

_SIGN = "[-+\u2212\u2013]"
_CURRENCY = r"(?:[$\u20ac\u00a3\u00a5]|\b(?:USD|EUR|GBP|Rs\.?))\s?"
# a number with all that may join it to further digits, so that none is cut in two: what
# isn't one plain number is then found out by `decimal`. Possessive, so linear in time.
_TOKEN = re.compile(
    r"\\[dt]?frac\s?\{[^{}]{0,40}\}\s?\{[^{}]{0,40}\}"
    rf"|(?<![A-Za-z0-9])(?<![0-9][.,/:^_])(?:(?<==\s)[-\u2212]\s)?{_SIGN}?"
    rf"(?:{_CURRENCY})?{_SIGN}?(?:(?<!\.)\.)?[0-9]"
    r"(?:(?:[.,:_\u00a0\u202f]|\s?/\s?|\^\{?|\s(?=[0-9]{3}(?![0-9])))?[0-9])*+"
    r"(?:[eE][-+]?[0-9]++|(?:st|nd|rd|th)\b)?",
)
_PLAIN = re.compile(
    rf"(?P<sign>{_SIGN}?)\s?(?:{_CURRENCY})?(?P<inner>{_SIGN}?)"
    r"(?P<whole>[0-9]{1,3}(?:[,\u00a0\u202f][0-9]{3})+"
    r"|[0-9]{1,3}(?:,[0-9]{2})+,[0-9]{3}|[0-9]+|(?=\.))(?:\.(?P<part>[0-9]+))?\s?%?"
)
_ORDINALS = ("st", "nd", "rd", "th")
_QUESTION = re.compile(
    r"\s*[*_#]*\s*(?:question|problem|q)\s*\d*\s*[:.]", re.IGNORECASE
)
_JOINT = re.compile(r"(?<=\d)\{,\}(?=\d)")


def read_number(
    text: str,
    *,
    rule: str,
    marker: str = "####",
    finish_reason: str = "stop",
) -> Reading:
    r"""Return the number that a reply answers with.

    Args:
        text: The whole reply.
        rule: One of `RULES`.
        marker: What the answer stands behind, such as ``####`` or ``The answer is``.
        finish_reason: As the endpoint gave it.

    Returns:
        The number in the form of `decimal`, noted ``run_on`` where the reply goes on with
        a further marker or question; or the reason why none was read.

    Raises:
        InputError: Nobody defined that rule.

    >>> read_number("The total is 72 clips, altogether.", rule="last_number").value
    '72'
    >>> found = read_number("#### 18\n\nQuestion: x\n#### 7", rule="first_marker")
    >>> found.value, found.note
    ('18', 'run_on')
    """
    if rule not in RULES:
        msg = f"expected a rule of {', '.join(RULES)}, got {rule!r}; name one of them"
        raise InputError(msg)
    lines = visible_lines(text, finish_reason)
    if isinstance(lines, Reading):
        return lines
    lines = [_JOINT.sub(",", _latin_digits(line)) for line in lines]
    answers = _marked(lines, marker)
    note = RUN_ON if _runs_on(lines, answers, marker) else ""
    if rule == "first_marker":
        tokens = [token for _, token in answers]
    else:
        found = (match[0] for line in lines for match in _TOKEN.finditer(line))
        tokens = [token for token in found if not token.endswith(_ORDINALS)][-1:]
    if not tokens:
        return Reading(reason=Reason.NO_VERDICT, note=note)
    value = decimal(tokens[0])
    if value is None:
        return Reading(reason=Reason.MALFORMED, note=note)
    return Reading(value=value, note=note)


def decimal(written: str) -> str | None:
    """Return a number's one decimal form, None for what isn't one plain number.

    Two writings have the same form exactly when they have the same value.

    >>> decimal("$1,450.50"), decimal("-0"), decimal(".50"), decimal("1/2")
    ('1450.5', '0', '0.5', None)
    """
    match = _PLAIN.fullmatch(_latin_digits(written).strip().rstrip(".,"))
    if match is None or (match["sign"] and match["inner"]):
        return None
    whole = re.sub("[^0-9]", "", match["whole"]).lstrip("0") or "0"
    part = (match["part"] or "").rstrip("0")
    size = f"{whole}.{part}" if part else whole
    negative = (match["sign"] or match["inner"]) not in ("", "+")
    return f"-{size}" if negative and size != "0" else size


def misread_golds(
    texts: Mapping[str, str],
    golds: Mapping[str, str],
    *,
    rule: str,
    marker: str = "####",
) -> tuple[str, ...]:
    """Return the ids of rows whose gold text doesn't read as their stored gold.

    A data set with any is refused at load: its scores would be of the reader.

    Args:
        texts: Gold text per row id.
        golds: Stored gold per row id.
        rule: One of `RULES`.
        marker: As in `read_number`.

    >>> misread_golds({"a": "#### -3"}, {"a": "3"}, rule="first_marker")
    ('a',)
    """
    return tuple(
        row
        for row, text in texts.items()
        if row not in golds
        or decimal(golds[row]) is None
        or read_number(text, rule=rule, marker=marker).value != decimal(golds[row])
    )


def _latin_digits(text: str) -> str:
    """Return a text with the decimal digits of every script as 0 to 9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text
    )


def _marked(lines: Sequence[str], marker: str) -> list[tuple[int, str]]:
    """Return line and token of each answer behind a marker.

    A heading such as ``#### 1. Add them`` is no answer.
    """
    pattern = re.compile(
        rf"(?<!#){re.escape(marker)}[\s:*_$\\(]{{0,8}}(?:\\?boxed\{{)?({_TOKEN.pattern})"
        r"(?![.)]\s{1,4}\w)",
        re.IGNORECASE,
    )
    return [(at, m[1]) for at, line in enumerate(lines) for m in pattern.finditer(line)]


def _runs_on(
    lines: Sequence[str], answers: Sequence[tuple[int, str]], marker: str
) -> bool:
    """Return whether a further answer or question follows the first answer."""
    if not answers:
        return False
    first = answers[0][0]
    after = lines[first + 1 :]
    return len(answers) > 1 or any(
        _QUESTION.match(line) or line.lstrip().startswith(marker) for line in after
    )
