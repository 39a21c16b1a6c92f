"""Claims about the sandbox: it changes nothing that a template prints."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

from evaluand.chat.message import Message
from evaluand.chat.template import render
from evaluand.errors import InputError

ITEMS = [1, 2, 3, 4, 5]
TREE = [{"n": "a", "c": [{"n": "b", "c": []}, {"n": "c", "c": []}]}]
VARIABLES = {"items": ITEMS, "tree": TREE, "text": "a <b>\n ü ☃ {{ x }}\n"}

TEMPLATES = [
    "{% for i in items %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{{ loop.revindex0 }},{% endfor %}",
    "{% for i in items %}{{ loop.previtem }}{{ i }}{{ loop.nextitem }}{{ loop.changed(i // 2) }}{% endfor %}",
    "{% for i in items if i is odd %}{{ loop.length }}{{ i }}{{ loop.last }}{% else %}none{% endfor %}",
    "{% for i in items if i > 9 %}x{% else %}none{% endfor %}",
    "{% for i in items | map('string') | reverse %}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for i in tree recursive %}{{ loop.depth }}{{ i.n }}[{{ loop(i.c) }}]{{ loop.last }}{% else %}-{% endfor %}",
    "{% for i in items %}{% if i == 2 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for a, b in {'x': 1, 'y': [2, (3,), {}]}.items() %}{{ a }}={{ b }} {% endfor %}",
    "{% for i in items %}{% for j in items if j < i %}{{ loop.length }}{{ i * j }} {% endfor %}{% endfor %}",
    "{{ items[1:] }}{{ items[::-1] }}{{ text[:3] }}{{ items[-1] }}{{ text[0] }}{{ (1, 2)[:1] }}",
    "{{ 'a' ~ 1 ~ none ~ ['b'] }}{{ 'a' + 'b' }}{{ 2 ** 10 }}{{ 2 ** -1 }}{{ 7 // 2 }}{{ 7 / 2 }}{{ '%s-%05.1f' % ('x', 2) }}",
    "{{ text | e }}{{ text | e ~ '<' }}{{ (text | safe) + '<' }}{{ (text | e).replace('a', '<') }}",
    "{{ text | tojson }}{{ tree | tojson(indent=2) }}{{ tree | tojson(separators=(',', ':'), sort_keys=true) }}",
    "{{ text | trim }}{{ text | indent(2, first=true) }}{{ text | upper }}{{ text | title }}{{ 'a' | center(9) }}|",
    "{{ items | join(', ') }}{{ tree | join('-', attribute='n') }}{{ items | sum }}{{ tree | sum(attribute='c', start=[]) }}",
    "{{ items | batch(2, 0) | list }}{{ items | slice(2) | list }}{{ items | select('odd') | list }}{{ tree | map(attribute='n') | first }}",
    "{{ tree | selectattr('n', 'equalto', 'a') | list | length }}{{ items | sort(reverse=true) }}{{ items | groupby('real') }}",
    "{{ '{:>4}{!r}{a[0]}'.format(1, 'x', a=items) }}{{ '{a}'.format_map({'a': 1}) }}{{ ('{}' | safe).format('<') }}",
    "{{ 'a,b'.split(',') }}{{ text.strip() }}{{ ','.join(['a', 'b']) }}{{ text.startswith(('a', 'b')) }}{{ 'a\t'.expandtabs(4) }}{{ 'x'.zfill(3) }}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{{ caller() if caller }}{% endmacro %}{{ m(1, 2, 3, z=4) }}{% call m(5) %}in{% endcall %}",
    "{% macro fact(n) %}{{ n * (fact(n - 1) | int) if n > 1 else 1 }}{% endmacro %}{{ fact(9) }}",
    "{% set n = namespace(x=1, encode=2) %}{% for i in items %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}{{ n.encode }}",
    "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% set y | upper %}b{% endset %}{{ y }}{% filter upper %}c{{ 1 }}{% endfilter %}",
    "{% with a = 1, b = [2] %}{{ a }}{{ b }}{% endwith %}{% block c %}{{ self.d() }}{% endblock %}{% block d %}d{% endblock %}",
    "{{ missing }}{{ missing is defined }}{{ none }}{{ true }}{{ 1.0 }}{{ 1 < 2 < 3 }}{{ 1 in items }}{{ 'a' if missing }}{{ not 1 }}{{ -1 }}",
    "{{ dict(a=1) }}{{ cycler('a', 'b').next() }}{% set j = joiner('-') %}{{ j() }}{{ j() }}{{ range(3) }}{{ range(3) | list }}",
    "  {% if true %}\n  a\n  {% endif %}\n{#- c #}\n{%- set a = 1 -%}\n b {{- a -}} \n\n",
    "{{ items | length }}{{ text | replace('a', 'bb', 1) }}{{ 3.7 | round | int }}{{ '%s!' | format('x') }}{{ text | wordcount }}{{ items | last }}",
]


def plain(template: str, variables: dict[str, Any]) -> str:
    """Render with nothing but what Hugging Face sets."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def tojson(value: Any, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=False, **options)

    environment.filters["tojson"] = tojson
    return environment.from_string(template).render(variables)


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_meter_changes_no_byte(template: str) -> None:
    """What is printed is what jinja2 prints without the limits."""
    message = Message(role="user", content="x")
    expected = plain(template, VARIABLES)
    assert render(template, [message], extra=VARIABLES) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_is_printed_as_jinja2_prints_it(value: Any) -> None:
    """Values pass through the meter unchanged."""
    template = "{{ v }}{{ [v, v] }}{{ v | tojson(indent=1) }}{{ v ~ v }}{{ v == v }}"
    message = Message(role="user", content="x")
    expected = plain(template, {"v": value})
    assert render(template, [message], extra={"v": value}) == expected


def test_a_namespace_that_holds_itself_has_a_short_text() -> None:
    """What a namespace holds isn't printed: it may be itself, twice at each level."""
    template = "{% set n = namespace() %}{% set n.n = n %}{{ n }}{{ [n, n] }}"
    message = Message(role="user", content="x")
    assert render(template, [message]) == "<Namespace>[<Namespace>, <Namespace>]"


def test_nothing_is_drawn_at_random() -> None:
    """One conversation has one prompt: the random filter and lorem ipsum aren't there."""
    message = Message(role="user", content="x")
    for expression in ("[1, 2] | random", "lipsum()"):
        with pytest.raises(InputError, match=r"random|lipsum"):
            render("{{ " + expression + " }}", [message])
