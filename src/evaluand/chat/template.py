"""Chat templates, rendered as the servers do, in a sandbox: they are foreign code."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from evaluand.chat.message import Message, message_value
from evaluand.errors import InputError

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_LIMIT_S = 5.0
_LIMIT_CHARACTERS = 4_000_000


def render(  # noqa: PLR0913 - the variables that every chat template may use
    template: str,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    add_generation_prompt: bool = True,
    bos: str = "",
    eos: str = "",
    now: datetime | None = None,
) -> str:
    """Return the prompt that a chat template makes of messages.

    Args:
        template: Jinja source.
        messages: The chat; the arguments of tool calls are handed over as objects.
        tools: Function specifications in the OpenAI format.
        add_generation_prompt: Whether the prompt ends where the assistant begins.
        bos: The tokenizer's text for the beginning of a sequence.
        eos: The tokenizer's text for its end.
        now: The time that ``strftime_now`` tells; None is the current one.

    Raises:
        InputError: If the template is malformed, refuses these messages, reaches for
            what the sandbox forbids, or takes or yields too much.

    >>> hello = Message(role="user", content="{{ 7 * 7 }}")
    >>> render(
    ...     "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", [hello]
    ... )
    '<user>{{ 7 * 7 }}'
    """
    import jinja2  # noqa: PLC0415 - heavy

    variables = {
        "messages": [_variables(message) for message in messages],
        "tools": [dict(tool) for tool in tools] or None,
        "add_generation_prompt": add_generation_prompt,
        "bos_token": bos,
        "eos_token": eos,
    }
    try:
        compiled = _environment(now).from_string(template)
        return _join(compiled.generate(variables))
    except jinja2.TemplateSyntaxError as error:
        msg = f"the chat template is malformed, line {error.lineno}: {error.message}"
        raise InputError(msg) from error
    except (
        jinja2.TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        msg = f"the chat template can't render these messages: {error}"
        raise InputError(msg) from error


def _variables(message: Message) -> dict[str, Any]:
    value = message_value(message)
    for call in value.get("tool_calls", ()):
        function = call["function"]
        try:
            function["arguments"] = json.loads(function["arguments"])
        except ValueError as error:
            msg = f"the arguments of {function['name']} are no JSON: {function['arguments']!r}"
            raise InputError(msg) from error
    return value


def _join(pieces: Iterable[str]) -> str:
    """Return the text, giving up on a template that doesn't come to an end.

    Between two pieces only: a loop that puts nothing out is bounded by the sandbox's
    limit on ranges alone.
    """
    deadline = time.monotonic() + _LIMIT_S
    text = []
    length = 0
    for piece in pieces:
        text.append(piece)
        length += len(piece)
        if length > _LIMIT_CHARACTERS or time.monotonic() > deadline:
            msg = f"the chat template yields more than {_LIMIT_CHARACTERS} characters or takes more than {_LIMIT_S:.0f} s"
            raise InputError(msg)
    return "".join(text)


def _environment(now: datetime | None) -> "ImmutableSandboxedEnvironment":
    """Return the environment that Hugging Face's and llama.cpp's templates are made for."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - heavy

    # text for a model, not for a page: escaping would change what is asked
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def strftime_now(form: str) -> str:
        return (now or datetime.now(UTC).astimezone()).strftime(form)

    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = strftime_now
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _refuse(message: str) -> NoReturn:
    from jinja2 import TemplateError  # noqa: PLC0415 - heavy

    raise TemplateError(message)
