"""Chat templates, rendered as the servers do, in a sandbox: they are foreign code."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from evaluand.chat.message import Message, message_value
from evaluand.errors import InputError

if TYPE_CHECKING:
    from evaluand.chat.sandbox import MeteredSandbox

_LIMIT_TEMPLATE = 100_000  # characters; compiling more could outlast the time limit
_LIMIT_TIME_FORMAT = 1_000
_QUOTED = 500  # characters of an error


def render(  # noqa: PLR0913 - the variables that every chat template may use
    template: str,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    add_generation_prompt: bool = True,
    bos: str = "",
    eos: str = "",
    now: datetime | None = None,
    extra: Mapping[str, Any] = MappingProxyType({}),
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
        extra: Variables of one server's or one template's own, such as a date.

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

    if len(template) > _LIMIT_TEMPLATE:
        msg = f"the chat template has {len(template)} characters; at most {_LIMIT_TEMPLATE} are rendered"
        raise InputError(msg)
    variables = {
        **extra,
        "messages": [_variables(message) for message in messages],
        "tools": [dict(tool) for tool in tools] or None,
        "add_generation_prompt": add_generation_prompt,
        "bos_token": bos,
        "eos_token": eos,
    }
    try:
        environment = _environment(now)
        compiled = environment.from_string(template)
        return environment.concat(compiled.generate(variables))
    except jinja2.TemplateSyntaxError as error:
        msg = f"the chat template is malformed, line {error.lineno}: {error.message}"
        raise InputError(msg) from error
    except (
        jinja2.TemplateError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        SyntaxError,  # Python's own, of more than twenty nested loops
        TypeError,
        ValueError,
    ) as error:
        said = str(error)[:_QUOTED] or type(error).__name__
        msg = f"the chat template can't render these messages: {said}"
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


def _environment(now: datetime | None) -> "MeteredSandbox":
    """Return an environment for one rendering, with what servers add to jinja2's own."""
    from evaluand.chat.meter import Meter  # noqa: PLC0415 - heavy
    from evaluand.chat.sandbox import MeteredSandbox  # noqa: PLC0415 - heavy

    environment = MeteredSandbox(Meter())

    def strftime_now(form: str) -> str:
        if len(form) > _LIMIT_TIME_FORMAT:
            msg = f"the chat template's time format has more than {_LIMIT_TIME_FORMAT} characters"
            raise InputError(msg)
        return (now or datetime.now(UTC).astimezone()).strftime(form)

    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = strftime_now
    return environment


def _refuse(message: str) -> NoReturn:
    from jinja2 import TemplateError  # noqa: PLC0415 - heavy

    raise TemplateError(message)
