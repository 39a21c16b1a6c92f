"""The ladder for a terminal: plain columns that fit its width."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evaluand.report import answer, ladder
from evaluand.report.number import DASH, percent, points, tau_label
from evaluand.report.visible import visible

_LABEL = 14  # mutation score
_HEAD = 8  # the longest head of a column
_CELL = 6  # the longest cell: +100.0


def ladder_text(summary: Mapping[str, Any], *, width: int = 80) -> str:
    """Return the ladder as plain text.

    Args:
        summary: The run's ``summary.json``.
        width: Columns of the terminal, at least 40; evaluators that don't fit side by
            side continue in a second table.

    Returns:
        Lines of at most ``width`` characters, without colour; a dash stands for what
        is undefined, an exclamation mark for an evaluator not shown to be fit.
    """
    names = ladder.evaluators(summary)
    short = _shortened(names, ladder.states(summary))
    lines = _head(summary, width)
    tables = [
        line
        for some in _side_by_side(names, short, width)
        for line in ("", *_table(summary, some, short))
    ]
    lines += tables
    lines += ["", *_legend(summary, short, width, "\n".join(tables))]
    return "\n".join(lines) + "\n"


def _head(summary: Mapping[str, Any], width: int) -> list[str]:
    label = _wrapped(visible(answer.script_words(summary)), width)
    samples = summary["conditions"]["clean"]["n"]
    count = f"{samples} samples per condition; intervals stand in the report."
    unfinished = _wrapped(answer.unfinished_words(summary), width)
    sentence = visible(answer.sentence(summary))
    return label + unfinished + _wrapped(sentence, width) + _wrapped(count, width)


def _side_by_side(
    names: Sequence[str], short: Mapping[str, str], width: int
) -> Iterator[list[str]]:
    """Yield the evaluators of each table, as many as fit the width."""
    some: list[str] = []
    used = _LABEL
    for name in names:
        column = 1 + max(_CELL, len(short[name]))
        if some and used + column > width:
            yield some
            some, used = [], _LABEL
        some.append(name)
        used += column
    if some:
        yield some


def _table(
    summary: Mapping[str, Any], names: Sequence[str], short: Mapping[str, str]
) -> list[str]:
    def row(label: str, cells: Iterable[str]) -> str:
        start = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
        widths = (1 + max(_CELL, len(short[name])) for name in names)
        body = (f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
        return f"{start:<{_LABEL}}" + "".join(body)

    heads = row("accepted, %", (short[name] for name in names))
    rule = "-" * len(heads)
    means = [ladder.mean_cell(summary, name) for name in names]
    return [
        heads,
        rule,
        *(
            row(visible(each), _accepted(summary, each, names))
            for each in ladder.conditions(summary)
        ),
        rule,
        row("mean tampered", (_bare(mean["accept"]) for mean in means)),
        row("J, points", (points(mean["j"]) for mean in means)),
        *(
            row(f"blind@{tau_label(tau)}", _blind(summary, tau, names))
            for tau in [ladder.headline_tau(summary)]
            if tau is not None
        ),
        row("mutation score", (_score(summary, name) for name in names)),
    ]


def _accepted(
    summary: Mapping[str, Any], condition: str, names: Sequence[str]
) -> list[str]:
    cells = (ladder.cell(summary, condition, name) for name in names)
    return [_bare(cell["accept"]) for cell in cells]


def _blind(summary: Mapping[str, Any], tau: str, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        found = summary["blind_at"][tau].get(name)
        if found is None or found["count"] is None:
            yield DASH
            continue
        cross = "x" if found["clean_falls_short"] else ""
        yield f"{found['count']}/{found['of']}{cross}"


def _score(summary: Mapping[str, Any], name: str) -> str:
    found = summary["mutation"].get(name)
    return DASH if found is None else _bare(found["score"])


def _bare(value: float | None) -> str:
    return percent(value).removesuffix("%")


def _shortened(names: Sequence[str], states: Mapping[str, str]) -> dict[str, str]:
    """Return a column head for each name: itself where it fits, else its kind.

    Several of one kind are numbered.

    >>> named = {"strict": "fit", "judge:local:a": "fit", "judge:local:b": "unfit"}
    >>> list(_shortened(list(named), named).values())
    ['strict', 'judge1', 'judge2!']
    """
    marks = {name: "" if states[name] == "fit" else "!" for name in names}
    shown = {name: visible(name) for name in names}
    long = [name for name in names if len(shown[name] + marks[name]) > _HEAD]
    kinds = {name: re.split("[-:/_. ]", shown[name], maxsplit=1)[0] for name in long}
    heads = {}
    for name in names:
        head = shown[name]
        if name in kinds:
            alike = [each for each in long if kinds[each] == kinds[name]]
            number = f"{alike.index(name) + 1}" if len(alike) > 1 else ""
            head = kinds[name][: _HEAD - len(marks[name] + number)] + number
        heads[name] = head + marks[name]
    return heads


def _legend(
    summary: Mapping[str, Any], short: Mapping[str, str], width: int, tables: str
) -> list[str]:
    """Return what the short names and the marks that occur in the tables mean."""
    states = ladder.states(summary)
    lines = []
    for name, head in short.items():
        state = "" if states[name] == "fit" else f", {states[name]}"
        if head != name:
            lines += _wrapped(f"{head} = {visible(name)}{state}", width)
    if answer.left_out(summary):
        lines += _wrapped("! not shown to be fit: left out of claims", width)
    if re.search(r"\dx\b", tables):
        lines += _wrapped("x clean itself falls short of the threshold", width)
    if re.search(rf" {DASH}( |$)", tables, re.MULTILINE):
        lines += _wrapped(
            f"{DASH} undefined: nothing assessed, or nothing to kill", width
        )
    return lines + _wrapped(visible(answer.equivalent_words(summary)), width)


def _wrapped(text: str, width: int) -> list[str]:
    """Break at spaces, and inside a word that is longer than a line.

    >>> _wrapped("ab cd efghij", 5)
    ['ab cd', 'efghi', 'j']
    """
    lines: list[str] = []
    for word in text.split():
        rest = word
        if lines and len(lines[-1]) + 1 + len(rest) <= width:
            lines[-1] += f" {rest}"
            continue
        while len(rest) > width:
            lines.append(rest[:width])
            rest = rest[width:]
        lines.append(rest)
    return lines
