"""The page says what the summary says, and obeys nothing that a model wrote."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from evaluand.errors import InputError
from evaluand.report.page import render_page

Summary = dict[str, Any]
Samples = list[dict[str, Any]]
Read = Callable[[str], str]


class _Tags(HTMLParser):
    """Collects start tags, attributes, and what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.started.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "wbr", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.started.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def _tags(page: str) -> _Tags:
    parser = _Tags()
    parser.feed(page)
    parser.close()
    return parser


def test_equal_input_gives_equal_bytes(summary: Summary, samples: Samples) -> None:
    """A page made twice is the same bytes, also from a summary with sorted keys."""
    first = render_page(summary, samples).encode("utf-8")
    assert render_page(summary, samples).encode("utf-8") == first


def test_order_survives_sorted_json(summary: Summary, samples: Samples) -> None:
    """Conditions stand in the order of the settings, whatever order the keys have."""
    again = json.loads(json.dumps(summary, sort_keys=True))
    page = render_page(again, samples)
    places = [
        page.index(f'<th scope="row">{name}<')
        for name in again["settings"]["conditions"]
    ]
    assert places == sorted(places)


def test_the_page_is_well_formed(summary: Summary, samples: Samples) -> None:
    """Every element is closed in order, identifiers are unique, links lead somewhere."""
    tags = _tags(render_page(summary, samples))
    assert tags.faults == []
    assert tags.open == []
    ids = [attrs["id"] for _, attrs in tags.started if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {str(attrs["href"])[1:] for tag, attrs in tags.started if tag == "a"}
    assert links
    assert links <= set(ids)


def test_the_page_has_no_script_and_asks_for_nothing(
    summary: Summary, samples: Samples
) -> None:
    """No script, handler, frame or image; the only link is the empty icon; a CSP."""
    started = _tags(render_page(summary, samples)).started
    names = {tag for tag, _ in started}
    assert not names & {
        "script",
        "iframe",
        "object",
        "embed",
        "img",
        "image",
        "form",
        "base",
    }
    assert [attrs["href"] for tag, attrs in started if tag == "link"] == ["data:,"]
    assert not [
        a for _, attrs in started for a in attrs if a.startswith("on") or a == "src"
    ]
    policy = next(a for t, a in started if t == "meta" and "http-equiv" in a)
    assert str(policy["content"]).startswith(
        "default-src 'none'; style-src 'unsafe-inline'"
    )


def test_hostile_text_is_shown_not_obeyed(
    summary: Summary, samples: Samples, visible_text: Read
) -> None:
    """A closing tag, a script, a template expression and an override are text."""
    page = render_page(summary, samples)
    text = visible_text(page)
    assert "<script" not in page
    assert re.search(r"</ ?details\s*> ?<\s*script", text.replace(" ", ""))
    assert "{{ 7 * 7 }}" in text
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", page
    )
    assert {"U+0000", "U+202E", "U+200B", "U+D800"} <= set(
        re.findall(r"U\+\w{4}", text)
    )


def test_names_and_reasons_are_hostile_too(summary: Summary, samples: Samples) -> None:
    """Names, reasons, notes, commands and model identities are escaped like output."""
    bad = '"><script>alert(1)</script>\u202e'
    for each in summary["evaluators"]:
        each["model"] = bad
    summary["notes"] = [bad]
    summary["provenance"] |= {"command": bad, "models": {bad: {bad: [bad]}}}
    summary["conditions"][bad] = summary["conditions"]["model"]
    summary["families"][bad] = summary["families"]["model"] | {bad: {}}
    summary["conditions"]["model"]["evaluators"]["standard"]["unassessed"] = {bad: 1}
    samples[0]["items"][0] |= {"task": bad, "family": bad, "class": bad}
    page = render_page(summary, samples)
    assert "<script" not in page
    assert "\u202e" not in page


SHOWN = [
    ("conditions", "tools", "evaluators", "strict", "accept"),
    ("conditions", "tools", "evaluators", "strict", "j"),
    ("conditions", "tools", "evaluators", "strict", "n_assessed"),
    ("conditions", "tools", "evaluators", "judge-1.5b", "unassessed", "no_verdict"),
    ("conditions", "tools", "harm", "rate"),
    ("conditions", "tools", "harm", "paper_count"),
    ("conditions", "tools", "accepted", "strict", "harmful"),
    ("conditions", "tools", "outputs", "harmless"),
    ("conditions", "tools", "blind", "strict"),
    ("conditions", "tools", "decision_match", "value"),
    ("conditions", "model", "truncated"),
    ("conditions", "model", "identity_pass"),
    ("mean_tampered", "strict", "accept"),
    ("mean_tampered", "strict", "j"),
    ("noise_floor", "strict", "j"),
    ("noise_floor", "strict", "flips"),
    ("mutation", "strict", "killed"),
    ("mutation", "strict", "score"),
    ("blind_at", "0.9", "strict", "count"),
    ("blind_at", "0.9", "strict", "clean"),
    ("families", "tools", "secret", "forensic", "accept"),
    ("localisation", "tools", "tools"),
    ("auditors", "auditor:local:qwen2.5-coder-1.5b", "roc", "tools", "auc"),
    ("auditors", "auditor:local:qwen2.5-coder-1.5b", "n_assessed", "tools"),
    ("cost", "judge_calls"),
]


def test_every_number_comes_from_the_summary(
    summary: Summary, visible_text: Read
) -> None:
    """Each value that changes in the summary changes where the page prints it."""
    before = visible_text(render_page(summary, []))
    printed: dict[tuple[str, ...], tuple[str, ...]] = {}
    for place, path in enumerate(SHOWN):
        at = _parent(summary, path)
        if isinstance(at[path[-1]], float):
            value = 0.0321 + 0.0273 * place  # prints apart from its neighbours
            printed[path] = (f"{100 * value:.1f}", f"{value:.3f}")
        else:
            value = 7000 + place
            printed[path] = (str(value),)
        at[path[-1]] = value
    after = visible_text(render_page(summary, []))
    unmoved = [
        path
        for path, forms in printed.items()
        if sum(map(after.count, forms)) <= sum(map(before.count, forms))
    ]
    assert unmoved == []


def _parent(summary: Summary, path: tuple[str, ...]) -> dict[str, Any]:
    at = summary
    for key in path[:-1]:
        at = at[key]
    return at


NULLS = [
    ("conditions", "tools", "evaluators", "strict", "accept"),
    ("conditions", "tools", "evaluators", "strict", "ci95"),
    ("conditions", "tools", "evaluators", "strict", "j_ci95"),
    ("conditions", "tools", "evaluators", "strict", "bounds"),
    ("conditions", "tools", "blind", "strict"),
    ("conditions", "tools", "harm", "rate"),
    ("conditions", "tools", "harm", "ci95"),
    ("conditions", "tools", "decision_match", "value"),
    ("conditions", "tools", "identity_pass"),
    ("mean_tampered", "strict", "accept"),
    ("mean_tampered", "strict", "ci95"),
    ("noise_floor", "strict", "j"),
    ("noise_floor", "strict", "flips"),
    ("mutation", "strict", "score"),
    ("blind_at", "0.8", "strict", "count"),
    ("families", "tools", "secret", "standard", "accept"),
    ("localisation", "tools", "tools"),
    ("auditors", "auditor:local:qwen2.5-coder-1.5b", "roc", "tools", "auc"),
    ("provenance", "started"),
]


@pytest.mark.parametrize("path", NULLS, ids=".".join)
def test_undefined_never_becomes_a_number(
    summary: Summary, visible_text: Read, path: tuple[str, ...]
) -> None:
    """None prints as a dash or a reason; the word None and nan never appear."""
    _parent(summary, path)[path[-1]] = None
    if path[0] != "auditors":
        summary["auditors"] = {}
    text = visible_text(render_page(summary, []))
    assert not re.search(r"\b(None|nan|NaN|null)\b", text)


def test_a_scripted_run_is_labelled(summary: Summary, samples: Samples) -> None:
    """The label stands in the title and above the answer, and only there."""
    assert "scripted, no model" not in render_page(summary, samples)
    summary["scripted"] = True
    page = render_page(summary, samples)
    assert (
        page.index("(scripted, no model)</title>")
        < page.index("scripted, no model</span>")
        < page.index("<h1>")
    )


def test_unfit_evaluators_are_named_as_left_out(
    summary: Summary, visible_text: Read
) -> None:
    """The page says who is left out of claims, and why; silent when no one is."""
    assert "Left out of claims" in visible_text(render_page(summary, []))
    for each in summary["evaluators"]:
        each["fitness"] = None
    text = visible_text(render_page(summary, []))
    assert "Left out of claims" not in text
    assert "No evaluator of this run is a model." in text


def test_clean_that_falls_short_keeps_its_count(
    summary: Summary, visible_text: Read
) -> None:
    """The cross stands beside the count, it doesn't replace it."""
    summary["blind_at"] = {
        "0.8": {
            "standard": {"count": 3, "of": 6, "clean": 0.5, "clean_falls_short": True}
        }
    }
    assert re.search(
        r"3 of 6\s+clean 50\.0%\s+✗ clean falls short",
        visible_text(render_page(summary, [])),
    )


def test_localisation_marks_what_was_not_expected(summary: Summary) -> None:
    """A digest that moved without being tampered with stands out; a part is a number."""
    assert 'class="wrong"' not in render_page(summary, [])
    summary["localisation"]["tools"]["sampling"] = 0.5
    page = render_page(summary, [])
    assert re.search(r'class="wrong">50\.0%', page)


def test_a_small_run_renders(summary: Summary, visible_text: Read) -> None:
    """Without A/A, auditors, thresholds, samples, families or stack each gap is said."""
    for name in ("repeat", "prompt", "retrieval"):
        del summary["conditions"][name]
    del summary["conditions"]["model"]["evaluators"]["strict"]
    summary |= {
        "noise_floor": {},
        "auditors": {},
        "blind_at": {},
        "stack": {},
        "families": {},
    }
    summary |= {"localisation": {}, "mutation": {}, "mean_tampered": {}}
    text = visible_text(render_page(summary, []))
    for words in (
        "No A/A condition was run",
        "No samples were passed",
        "No stack was observed",
        "No localisation",
        "not run",
    ):
        assert words in text


def test_several_pairs_are_shown_apart(summary: Summary, visible_text: Read) -> None:
    """With more than one pair, each has its own table; a cell not run says so."""
    assert "The same by pair" not in visible_text(render_page(summary, []))
    summary["pairs"]["a -> b"] = {
        "clean": {"strict": {"accept": 0.321, "ci95": None, "n_assessed": 9, "n": 9}}
    }
    text = visible_text(render_page(summary, []))
    assert "The same by pair" in text
    assert "32.1%" in text


def test_an_auditor_without_a_condition_has_no_panel(
    summary: Summary, visible_text: Read
) -> None:
    """A tamper that an auditor wasn't asked about has no curve and no AUC."""
    for auditor in summary["auditors"].values():
        del auditor["flag_rate"]["model"]
        del auditor["roc"]["model"]
    assert "ROC of model: undefined" in visible_text(render_page(summary, []))


def test_a_summary_without_a_key_is_refused(summary: Summary) -> None:
    """A malformed summary is an input error that names what is missing."""
    del summary["conditions"]["model"]["harm"]
    with pytest.raises(InputError, match=r"schema 1 .*harm"):
        render_page(summary, [])
    del summary["settings"]
    with pytest.raises(InputError, match="'settings'"):
        render_page(summary, [])
