"""Claims about rendering chat templates."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat.message import Message, ToolCall
from evaluand.chat.template import render
from evaluand.errors import InputError

ECHO = "{% for m in messages %}{{ m.content }}{% endfor %}"
USER = Message(role="user", content="hi")


@given(st.text())
def test_content_is_never_a_template(text: str) -> None:
    """Bytes in are bytes out, whatever metacharacters a message holds."""
    assert render(ECHO, [Message(role="user", content=text)]) == text


def test_arguments_are_objects_and_json_is_plain() -> None:
    """Templates see call arguments as objects; tojson escapes no Unicode and no HTML."""
    call = ToolCall(id="c", name="look", arguments='{"k": "é<&"}')
    message = Message(role="assistant", content="", tool_calls=(call,))
    template = "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
    assert render(template, [message]) == '{"k": "é<&"}'


def test_arguments_that_are_no_json_are_refused() -> None:
    """A call whose arguments can't be read is an error, not text."""
    call = ToolCall(id="c", name="look", arguments="{")
    with pytest.raises(InputError, match="arguments of look are no JSON"):
        render(ECHO, [Message(role="assistant", content="", tool_calls=(call,))])


def test_the_usual_variables_are_there() -> None:
    """Tools, begin and end of sequence, the generation prompt, the clock and loop controls."""
    template = (
        "{{ bos_token }}{{ tools[0].name }}{{ eos_token }}{{ add_generation_prompt }}"
        "{{ strftime_now('%Y') }}{% for i in [1, 2] %}{{ i }}{% break %}{% endfor %}"
    )
    text = render(
        template,
        [USER],
        tools=[{"name": "look"}],
        bos="<s>",
        eos="</s>",
        now=datetime(2031, 5, 1, tzinfo=UTC),
    )
    assert text == "<s>look</s>True20311"
    assert render("{{ tools is none }}", [USER]) == "True"
    assert len(render("{{ strftime_now('%Y-%m-%d') }}", [USER])) == 10


@pytest.mark.parametrize(
    ("template", "match"),
    [
        ("{% if %}", "malformed, line 1"),
        ("{{ raise_exception('no system role') }}", "no system role"),
        ("{{ ().__class__.__bases__[0].__subclasses__() }}", "unsafe"),
        ("{{ messages.append(1) }}", "append.*unsafe"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ messages[0].content + 1 }}", "can't render"),
        ("{{ nothing.there }}", "nothing"),
        ("{% for i in range(10 ** 9) %}{{ i }}{% endfor %}", "can't render"),
        ("{% for i in range(99999) %}{{ 'x' * 99 }}{% endfor %}", "yields more"),
    ],
)
def test_a_template_that_misbehaves_is_an_input_error(
    template: str, match: str
) -> None:
    """Malformed, refusing, prying, failing and endless templates each end in a message."""
    with pytest.raises(InputError, match=match):
        render(template, [USER])
