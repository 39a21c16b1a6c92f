"""How much each filter and each method of a text would yield, told before it does."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import pass_environment, pass_eval_context
from jinja2.filters import make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.sandbox import SandboxedEnvironment

from evaluand.chat.meter import Meter
from evaluand.errors import InputError

Limit = Callable[..., None]  # (meter, *what the filter or method is given)

_LIMIT_SLOW = 20_000  # characters for what takes quadratic time
_LIMIT_DIGITS = 1_000
_LIMIT_MARGIN = 100


def _width(meter: Meter, _: Any, width: int = 80, *_rest: Any) -> None:
    meter.expect(width)


def _tabs(meter: Meter, text: str, tabsize: int = 8) -> None:
    meter.expect(len(text) + text.count("\t") * tabsize)


def _replace(
    meter: Meter, text: Any, old: Any, new: Any, count: int | None = None
) -> None:
    text, old, new = str(text), str(old), str(new)
    found = text.count(old)
    places = found if count is None or count < 0 else min(count, found)
    meter.expect(len(text) + places * len(new))


def _indent(
    meter: Meter,
    text: Any,
    width: int | str = 4,
    first: bool = False,  # noqa: ARG001 - the filter's own
    blank: bool = False,  # noqa: ARG001 - the filter's own
) -> None:
    indention = len(width) if isinstance(width, str) else width
    meter.expect(len(text) + (len(text.splitlines()) + 1) * indention)


def _format(meter: Meter, form: Any, *args: Any, **kwargs: Any) -> None:
    meter.expect_percent(str(form), args)
    meter.expect_percent(str(form), tuple(kwargs.values()))


def _batch(meter: Meter, _: Any, linecount: int, fill_with: Any = None) -> None:
    if fill_with is not None:
        meter.expect(linecount)


def _round(_meter: Meter, _: Any, precision: int = 0, method: str = "common") -> None:
    del method
    if abs(precision) > _LIMIT_DIGITS:
        msg = f"the chat template rounds to more than {_LIMIT_DIGITS} digits"
        raise InputError(msg)


def _trim(meter: Meter, text: Any, chars: str | None = None) -> None:
    meter.expect_search(str(text), [chars])


def _slow(_meter: Meter, value: Any, *args: Any, **kwargs: Any) -> None:
    # args are widths or short texts; the first is what is worked through
    del args, kwargs
    if len(str(value)) > _LIMIT_SLOW:
        msg = f"the chat template gives more than {_LIMIT_SLOW} characters to a filter that is slow"
        raise InputError(msg)


def _joined(meter: Meter, separator: str, values: list[Any]) -> None:
    length = 0
    for value in values:
        length += len(separator) + len(str(value))
        meter.expect(length)


FILTERS: dict[str, Limit] = {
    "batch": _batch,
    "center": _width,
    "format": _format,
    "indent": _indent,
    "pprint": _slow,
    "replace": _replace,
    "round": _round,
    "striptags": _slow,
    "trim": _trim,
    "urlize": _slow,
    "wordwrap": _slow,
    "xmlattr": _slow,
}

METHODS: dict[str, Limit] = {
    "center": _width,
    "expandtabs": _tabs,
    "join": _joined,
    "ljust": _width,
    "replace": _replace,
    "rjust": _width,
    "striptags": _slow,
    "zfill": _width,
}


def limited_join(meter: Meter) -> Callable[..., Any]:
    """Return the filter ``join``, which looks at what it joins before it does."""

    @pass_eval_context
    def join(
        context: EvalContext,
        value: Iterable[Any],
        d: str = "",
        attribute: str | int | None = None,
    ) -> str:
        separator = str(d)
        if attribute is not None:
            value = map(make_attrgetter(context.environment, attribute), value)
        values = []
        length = 0
        for item in value:
            meter.tick()
            text = str(item)
            length += len(text) + len(separator)
            meter.expect(length)
            values.append(text)
        return separator.join(values)

    return join


def limited_sum(meter: Meter) -> Callable[..., Any]:
    """Return the filter ``sum``, each addition a step: a sum of lists is quadratic."""

    @pass_environment
    def sum_(
        environment: SandboxedEnvironment,
        iterable: Iterable[Any],
        attribute: str | int | None = None,
        start: Any = 0,
    ) -> Any:
        if isinstance(start, str):
            msg = "sum() can't sum strings [use ''.join(seq) instead]"
            raise TypeError(msg)
        if attribute is not None:
            iterable = map(make_attrgetter(environment, attribute), iterable)
        for item in iterable:
            meter.tick()
            start = meter.admit(start + item)
        return start

    return sum_


def limited_tojson(meter: Meter) -> Callable[..., str]:
    """Return the filter ``tojson`` as Hugging Face has it: plain, without escapes."""

    def tojson(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        margin = len(indent) if isinstance(indent, str) else indent or 0
        if margin + sum(map(len, separators or ())) > _LIMIT_MARGIN:
            msg = f"the chat template sets JSON apart by more than {_LIMIT_MARGIN} characters"
            raise InputError(msg)
        encoder = json.JSONEncoder(
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )
        # without an indentation C does it at once, some hundred times quicker
        if indent is None:
            return encoder.encode(value)
        return meter.concat(encoder.iterencode(value))

    return tojson
