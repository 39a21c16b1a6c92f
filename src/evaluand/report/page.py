"""One self-contained page that shows a bench run: no script, no request, same bytes.

Everything shown is data that others wrote: the template escapes all of it, and each
text passes through `visible` on its way out.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, UndefinedError
from markupsafe import Markup

from evaluand.errors import InputError
from evaluand.report import answer, charts, ladder, number
from evaluand.report.difference import shown, sides
from evaluand.report.visible import breakable, visible

_FILTERS = {
    "percent": number.percent,
    "percent_range": number.percent_range,
    "points": number.points,
    "points_range": number.points_range,
    "decimal": number.decimal,
    "decimal_range": number.decimal_range,
    "tau": number.tau_label,
    "breakable": breakable,
}


def render_page(
    summary: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]
) -> str:
    """Return the report of a bench run as one HTML document.

    Args:
        summary: The run's ``summary.json``; None stands for what is undefined.
        samples: Per condition, the outputs to read: ``condition``, ``title`` and
            ``items`` with ``task``, ``family``, ``prompt``, ``clean``, ``output``,
            ``class`` and ``outcomes``.

    Returns:
        The page. It is a pure function: equal input gives equal bytes, and the text
        encodes as UTF-8 whatever a model wrote.

    Raises:
        InputError: The summary lacks a key of its schema.
    """
    try:
        return _render(summary, samples)
    except (KeyError, UndefinedError) as error:
        msg = (
            "the report expected a bench summary of schema 1 with every key, got one "
            f"without: {error}; derive the summary again from its run"
        )
        raise InputError(msg) from error


def _render(summary: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> str:
    template = _environment().from_string(_packaged("page.html.j2"))
    return template.render(
        s=summary,
        style=_trusted(_packaged("page.css")),
        answer=answer.sentence(summary),
        equivalent=answer.equivalent_words(summary),
        scripts=answer.script_words(summary),
        unfinished=answer.unfinished_words(summary),
        left_out=answer.left_out(summary),
        names=ladder.evaluators(summary),
        states=ladder.states(summary),
        kinds=ladder.kinds(summary),
        conditions=ladder.conditions(summary),
        tampers=ladder.tampers(summary),
        taus=ladder.taus(summary),
        main_tau=ladder.headline_tau(summary),
        families=ladder.families(summary),
        components=ladder.components(summary),
        cell=lambda condition, name: ladder.cell(summary, condition, name),
        mean=lambda name: ladder.mean_cell(summary, name),
        drawn=_ladder_charts(summary),
        auditors=[_auditor(summary, name) for name in summary["auditors"]],
        samples=[_sample_group(group) for group in samples],
    )


def _packaged(name: str) -> str:
    return files("evaluand.report").joinpath(name).read_text(encoding="utf-8")


def _trusted(own: str) -> Markup:
    return Markup(own)  # noqa: S704 - our style sheet and charts, whose texts are escaped


def _environment() -> Environment:
    def outgoing(value: Any) -> Any:
        plain = isinstance(value, str) and not isinstance(value, Markup)
        return visible(value) if plain else value

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=outgoing,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment


def _ladder_charts(summary: Mapping[str, Any]) -> dict[str, Markup]:
    tau = ladder.headline_tau(summary)
    threshold = None if tau is None else float(tau)
    rungs = [_rung(summary, each) for each in summary["evaluators"]]
    return {
        name: _trusted(charts.ladder(rungs, tau=threshold, upright=upright))
        for name, upright in (("wide", True), ("tall", False))
    }


def _rung(summary: Mapping[str, Any], evaluator: Mapping[str, Any]) -> charts.Rung:
    name = evaluator["name"]
    cells = {
        series: ladder.cell(summary, series, name)
        for series in ("clean", "repeat")
        if series in summary["conditions"]
    }
    cells["tampered"] = ladder.mean_cell(summary, name)
    defined = {k: cell for k, cell in cells.items() if cell["accept"] is not None}
    return charts.Rung(name=name, state=ladder.state(evaluator), marks=defined)


def _auditor(summary: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an auditor's charts, one pair a tamper; its place names their parts."""
    auditor = summary["auditors"][name]
    place = list(summary["auditors"]).index(name)
    panels = []
    for condition in ladder.tampers(summary):
        key = f"{place}-{condition}"
        panels.append(
            {
                "condition": condition,
                "flags": _flag_panel(auditor, condition, key),
                "roc": _roc_panel(auditor, condition, key),
                "auc": auditor["roc"].get(condition, {"auc": None, "ci95": None}),
            }
        )
    return {"name": name, "model": auditor["model"], "panels": panels, "raw": auditor}


def _flag_panel(auditor: Mapping[str, Any], condition: str, key: str) -> Markup | None:
    rates = auditor["flag_rate"]
    if condition not in rates:
        return None
    series = {"clean": "clean", "repeat": "repeat", "tampered": condition}
    lines = {name: rates[source] for name, source in series.items() if source in rates}
    return _trusted(
        charts.flag_rates(
            auditor["thresholds"], lines, name=f"flags-{key}", title=condition
        )
    )


def _roc_panel(auditor: Mapping[str, Any], condition: str, key: str) -> Markup | None:
    curve = auditor["roc"].get(condition)
    if not curve or curve["auc"] is None:
        return None
    title = f"{condition}  AUC {number.decimal(curve['auc'], 2)}"
    return _trusted(charts.roc(curve, name=f"roc-{key}", title=title))


def _sample_group(group: Mapping[str, Any]) -> dict[str, Any]:
    items = [_sample(item) for item in group["items"]]
    return {"condition": group["condition"], "title": group["title"], "samples": items}


def _sample(item: Mapping[str, Any]) -> dict[str, Any]:
    both = sides(item["clean"], item["output"])
    return {
        **item,
        "same": item["clean"] == item["output"],
        "prompt": shown(item["prompt"]),
        "clean": both.before,
        "output": both.after,
    }
