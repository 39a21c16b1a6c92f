"""One bench from settings to a finished store: open, record, run, let go."""

import asyncio
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evaluand.bench import agent, families, fitness, harm, plan, tamper
from evaluand.bench.fitness import SEED
from evaluand.bench.foolable import foolable
from evaluand.bench.forecast import Forecast
from evaluand.bench.judges import Judge, auditor, judge, wordings
from evaluand.bench.plan import Cell, Settings
from evaluand.bench.record import DATABASE, JUDGING, SCHEMA, begin, write_record
from evaluand.bench.rules import RULES
from evaluand.bench.run import Progress, Run, run
from evaluand.bench.suite import NAME, VERSION, tasks
from evaluand.chat.client import Model
from evaluand.chat.public import public
from evaluand.digest import sha256_hex, value_digest
from evaluand.errors import InputError
from evaluand.identity.manifest import COVERAGE, Manifest, digests
from evaluand.identity.stack import Stack
from evaluand.store import Store, exclusive

_LIBRARIES = ("numpy", "jinja2", "bm25s", "aiohttp", "xllamacpp")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where stacks and models come from.

    Args:
        load: From a model's name (None for the stack's own) to the declared stack.
        open_stack: From a stack to the model it asks; equal stacks share one.
        open_judge: From a model's name to the model, with its own template.
        stack: How the user named the stack.
    """

    load: Callable[[str | None], Stack]
    open_stack: Callable[[Stack], Model]
    open_judge: Callable[[str], Model]
    stack: str


@dataclass(frozen=True, kw_only=True)
class Conducted:
    """How a bench went.

    Args:
        asked: Requests sent.
        reused: Requests answered from the store.
        failures: Messages of units that have no result.
    """

    asked: int
    reused: int
    failures: tuple[str, ...]


def conduct(
    settings: Settings,
    sources: Sources,
    folder: Path,
    progress: Progress,
    *,
    command: str,
) -> Conducted:
    """Run a bench in a folder, or finish the one that is there.

    Args:
        settings: What to do.
        sources: Where stacks and models come from.
        folder: The run folder, made if need be.
        progress: Who is told.
        command: How to start it again, for the record.

    Raises:
        InputError: If settings or stack can't be run, or the folder holds another run.
        IntegrityError: If the stack changed since the run began.
        ModelError: If an endpoint is down.
        StoreError: If the store can't be written.
    """
    plan.check(settings)
    for name in settings.rules:
        foolable(RULES[name], tasks(SEED))
    forecast = Forecast(deadline_s=settings.minutes and settings.minutes * 60)
    cells = plan.cells(settings, sources.load, sources.open_stack)
    judges = [
        *(judge(sources.open_judge(name)) for name in settings.judges),
        *(auditor(sources.open_judge(name)) for name in settings.auditors),
    ]
    _check_names(judges)
    with exclusive(folder):
        record = begin(folder, _record(settings, sources, cells, judges, command))
        settled = plan.with_tasks(settings, record["tasks"])

        def decide(count: int) -> None:
            write_record(folder, {**record, "tasks": count})

        with Store(folder / DATABASE) as store:
            work = Run(
                settings=settled,
                cells=cells,
                judges=judges,
                store=store,
                progress=progress,
                forecast=forecast,
            )
            asker = asyncio.run(run(work, decide))
            failures = tuple(row["message"] for row in store.rows("failure"))
    return Conducted(
        asked=asker.counts["asked"],
        reused=asker.counts["reused"],
        failures=failures,
    )


def _check_names(judges: list[Judge]) -> None:
    names = [judge.name for judge in judges]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        msg = f"--judge, --auditor: two would be called {twice[0]}; serve them under different ids"
        raise InputError(msg)


def _record(
    settings: Settings,
    sources: Sources,
    cells: list[Cell],
    judges: list[Judge],
    command: str,
) -> dict[str, Any]:
    models = {c.model.name: dict(c.model.identity) for c in cells if c.model}
    models |= {f"{j.model.name}{JUDGING}": dict(j.model.identity) for j in judges}
    answering = [
        c.model.identity for c in cells if c.model and c.condition.name != "model"
    ]
    shares = all(c.model and c.agent.sampling.temperature == 0 for c in cells)
    return {
        "kind": "bench",
        "schema": SCHEMA,
        "settings": {
            **settings.document(),
            "tasks_asked": settings.tasks,
            "stack": sources.stack,
        },
        "tasks": settings.tasks,
        "scripted": bool(answering) and all(map(_is_script, answering)),
        "scripted_parts": [name for name, each in models.items() if _is_script(each)],
        "shares_replies": shares,
        "evaluators": _evaluators(settings, judges),
        "stack": {
            cell.pair: _declared(cell.stack.name, cell.expected)
            for cell in cells
            if cell.condition.name == "clean"
        },
        "provenance": {
            "models": models,
            "meanings": _meanings(),
            "wordings": {**wordings(), **_tamper_texts()},
            "seeds": list(settings.seeds),
        },
        "versions": _versions(),
        "started": _now().isoformat(timespec="seconds"),
        "command": public(command),
    }


def _evaluators(settings: Settings, judges: list[Judge]) -> list[dict[str, Any]]:
    rules = [
        {"name": name, "kind": "rule", "digest": RULES[name].digest, "model": None}
        for name in settings.rules
    ]
    asking = [
        {"name": j.name, "kind": j.kind, "digest": j.digest, "model": j.model.name}
        for j in judges
    ]
    covered = value_digest({"identity": list(COVERAGE[settings.coverage])})
    identity = {
        "name": "identity",
        "kind": "identity",
        "digest": covered,
        "model": None,
    }
    return [*rules, *asking, identity]


def _is_script(identity: Mapping[str, Any]) -> bool:
    return identity.get("kind") == "scripted"


def _declared(name: str, manifest: Manifest) -> dict[str, Any]:
    decisive = digests(manifest)
    return {
        "name": name,
        "identity_digest": manifest.identity_digest,
        "components": {
            kind: {
                **decisive["components"][kind],
                "grade": component.grade,
                "source": component.source,
                "leaves": dict(component.leaves),
            }
            for kind, component in manifest.components.items()
        },
        "notApplicable": decisive["notApplicable"],
        "undeclared": [
            kind
            for kind in COVERAGE["full"]
            if kind not in manifest.components and kind not in manifest.not_applicable
        ],
    }


def _meanings() -> dict[str, str]:
    """Return the versions that their authors bump when a result could change."""
    return {
        "suite": f"{NAME}/{VERSION}",
        "families": families.VERSION,
        "agent": agent.VERSION,
        "tampers": tamper.VERSION,
        "harm": harm.VERSION,
        "controls": fitness.VERSION,
    }


def _tamper_texts() -> Mapping[str, str]:
    names = ("prompt.md", "retrieval.md", "postprocess.py.txt")
    return {
        f"tampers/{name}": sha256_hex(tamper.text_of(name).encode()) for name in names
    }


def _versions() -> dict[str, Any]:
    return {
        "evaluand": version("evaluand"),
        "python": sys.version.split()[0],
        "platform": f"{platform.system()} {platform.machine()}",
        "libraries": {name: _installed(name) for name in _LIBRARIES},
    }


def _now() -> datetime:
    """Return the time, or the one that SOURCE_DATE_EPOCH tells reproducible builds."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (
        datetime.fromtimestamp(int(told), UTC) if told.isdigit() else datetime.now(UTC)
    )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
