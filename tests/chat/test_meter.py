"""Claims about what a chat template may take."""

import itertools
import resource
import time

import pytest

from evaluand.chat import meter
from evaluand.chat.message import Message
from evaluand.chat.meter import Meter
from evaluand.chat.template import render
from evaluand.errors import InputError

USER = Message(role="user", content="hi")

SLOW = {
    "a loop that yields nothing": "{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}",
    "a test that holds never": "{% for i in r %}{% for j in r if j < 0 %}{% endfor %}{% endfor %}",
    "a recursive loop": "{% for i in r recursive %}{% if loop.depth < 4 %}{{ loop(r) }}{% endif %}{% endfor %}",
    "macros that call two": "{% macro m(n) %}{% if n %}{% set a = m(n - 1) %}{% set b = m(n - 1) %}{% endif %}{% endmacro %}{{ m(99) }}",
    "a block that is set": "{% set x %}{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}{% endset %}",
    "slices on demand": "{{ [1] | slice(10 ** 9) | map('length') | sum }}",
    "a sum of lists": "{{ ([[1]] * 90000) | sum(start=[]) | length }}",
    "a list that grows": "{% set n = namespace(x=[]) %}{% for i in r %}{% set n.x = n.x + [i] %}{% endfor %}",
    "comparisons": "{% set x = r | list %}" + "{% if 'x' in x %}{% endif %}" * 2000,
}


@pytest.mark.parametrize("template", SLOW.values(), ids=SLOW)
def test_a_template_without_end_is_given_up(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever takes its time without putting anything out ends soon after the limit."""
    monkeypatch.setattr(meter, "LIMIT_S", 0.3)
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"takes more than 0\.3 s"):
        render("{% set r = range(99999) %}" + template, [USER])
    assert time.monotonic() - begun < 3, "a shared machine may be slow"


LARGE = [
    "'a' * 10 ** 9",
    "10 ** 9 * 'a'",
    "[1] * 10 ** 9",
    "'a' | center(10 ** 9)",
    "'a' | center(1000000000)",
    "'a'.center(10 ** 9)",
    "'a'['center'](10 ** 9)",
    "'a'.ljust(10 ** 9)",
    "'a'.zfill(10 ** 9)",
    r"'\t'.expandtabs(10 ** 9)",
    r"'a\nb' | indent(10 ** 9)",
    r"('a\n' * 1000) | indent('x' * 10000)",
    "('a' * 10 ** 6) | replace('a', 'b' * 10 ** 6)",
    "('a' * 10 ** 6).replace('a', 'b' * 10 ** 6)",
    "'%1000000000d' | format(1)",
    "'%*d' | format(10 ** 9, 1)",
    "('%.1000000f' * 5) | format(1, 2, 3, 4, 5)",
    "('%(a)s' * 10 ** 5) % {'a': 'b' * 10 ** 6}",
    "'{:>1000000000}'.format(1)",
    "'{:{}}'.format(1, 10 ** 9)",
    "('{0}' * 10).format('a' * 10 ** 6)",
    "'{a:>1000000000}'.format_map({'a': 1})",
    "('{:>1000000000}' | safe).format('<')",
    "range(99999) | join('x' * 10 ** 6)",
    "range(99999) | map('string') | map('center', 10 ** 6) | join",
    "([{'a': 'x' * 10 ** 6}] * 3 + [{'a': 'x' * 10 ** 6}]) | join(attribute='a')",
    "('x' * 10 ** 6).join(range(99999) | map('string'))",
    "('a' * 3999999) ~ ('a' * 3999999)",
    "('a' * 3999999) + ('a' * 3999999)",
    "[1] | batch(10 ** 9, 'x') | list",
    "('\"' * 3999999) | e",
    "range(99999) | list | tojson(indent=90)",
]


@pytest.mark.parametrize("expression", LARGE)
def test_what_would_be_too_long_is_never_made(expression: str) -> None:
    """One operation that would fill the memory is refused before it is carried out."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="yields more than 4000000 characters"):
        render("{{ " + expression + " }}", [USER])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 200_000, "KiB"


GROWING = {
    "by joining": ("{% set n.x = n.x ~ n.x %}", "more than 4000000 characters"),
    "by sharing": ("{% set n.x = [n.x, n.x] %}", "more than 4000000 characters"),
    "by views": (
        "{% set n.x = {1: n.x}.items() %}{% set n.x = [n.x, n.x] %}",
        "more than 4000000 characters",
    ),
    "by depth": ("{% set n.x = (n.x,) %}", "more than 100 deep"),
    "by squares": ("{% set n.i = n.i * n.i %}", "more than 16384 bits"),
    "by many": (
        "{% set n.x = namespace(x=n.x, t=i ~ 'a' * 3 * 10 ** 6) %}",
        "more than 256 MiB",
    ),
}


@pytest.mark.parametrize(("step", "match"), GROWING.values(), ids=GROWING)
def test_what_grows_step_by_step_is_given_up(step: str, match: str) -> None:
    """A value whose text would double with each of 150 small steps is refused."""
    with pytest.raises(InputError, match=match):
        render(
            "{% set n = namespace(x='ab', i=9) %}{% for i in range(150) %}"
            + step
            + "{% endfor %}{{ n.x }}",
            [USER],
        )


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ("10 ** 1000000000", "16384 bits"),
        ("('f' * 10 ** 6) | int(base=16)", "16384 bits"),
        ("5 | round(10 ** 9, 'ceil')", "rounds to more than 1000"),
        ("('a' * 10 ** 6) | wordwrap(1)", "filter that is slow"),
        ("(('<!-- -->' * 10 ** 5) | safe).striptags()", "filter that is slow"),
        ("('a' * 10 ** 6).strip('b' * 10 ** 6)", "searches a text"),
        ("('a' * 10 ** 6) | trim('b' * 10 ** 6)", "searches a text"),
        ("('a' * 10 ** 6).rfind('b' ~ 'a' * 10 ** 5)", "searches a text"),
        ("('é' * 10 ** 6).encode('punycode')", "encode.*unsafe"),
        ("(1).to_bytes(10 ** 9, 'big')", "to_bytes.*unsafe"),
        ("[{}.keys() - [1]]", "makes a set"),
        ("['a', 'b'] | sum(start='')", "can't sum strings"),
        ("[1] | tojson(indent=10 ** 9)", "by more than 100"),
        ("strftime_now('%Y' * 10 ** 5)", "time format has more than 1000"),
        ("('{0}' * 10 ** 4).format('a' * 10 ** 6)", "more than 256 MiB"),
    ],
)
def test_what_would_be_slow_is_refused(expression: str, match: str) -> None:
    """Operations that take far longer than their text is long are refused."""
    with pytest.raises(InputError, match=match):
        render("{{ " + expression + " }}", [USER])


@pytest.mark.parametrize(
    ("template", "match"),
    [
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ("{% block a %}{{ self.a() }}{% endblock %}", "recursion"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "recursion"),
        ("{% for i in [1] %}" * 25 + "{% endfor %}" * 25, "statically nested"),
        ("{% autoescape true %}{% endautoescape %}", "autoescape is for pages"),
        ("x" * 100_001, "at most 100000"),
    ],
)
def test_nesting_and_length_are_bounded(template: str, match: str) -> None:
    """A template too deep for Python, or too long to be compiled in time, is refused."""
    with pytest.raises(InputError, match=match):
        render(template, [USER])


def test_an_error_that_quotes_a_lot_is_cut() -> None:
    """A message stays readable whatever the template says in it."""
    with pytest.raises(InputError, match="xxx") as caught:
        render("{{ raise_exception('x' * 10 ** 6) }}", [USER])
    assert len(str(caught.value)) < 600


def test_the_time_is_the_clocks() -> None:
    """A meter knows no time but what its clock tells."""
    clock = itertools.count().__next__
    metered = Meter(clock=lambda: float(clock()))
    for _ in range(5):
        metered.tick()
    with pytest.raises(InputError, match="takes more than 5 s"):
        metered.tick()
