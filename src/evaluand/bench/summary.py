"""From a run folder to its summary: every number is recomputed from the store alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluand.bench import blindness
from evaluand.bench.fitness import SEED, fitness
from evaluand.bench.foolable import foolable
from evaluand.bench.grid import Grid
from evaluand.bench.load import Loaded, load, share
from evaluand.bench.note import hollow, notes
from evaluand.bench.rules import RULES
from evaluand.bench.show import samples
from evaluand.bench.suite import tasks
from evaluand.bench.tamper import CONDITIONS
from evaluand.bench.task import FAMILIES
from evaluand.chat.served import Served

SCHEMA = 1
TAUS = (0.7, 0.8, 0.9)


@dataclass(frozen=True, kw_only=True)
class Derived:
    """What a report is drawn from: counts and estimates, and samples to read."""

    summary: dict[str, Any]
    samples: list[dict[str, Any]]


def derive(folder: Path) -> Derived:
    """Return the summary and the samples of a run; the same store gives the same bytes.

    Raises:
        InputError: If the folder holds no run, or one without tasks yet.
        StoreError: If the store can't be read.
    """
    loaded = load(folder)
    return Derived(summary=_summary(loaded), samples=samples(loaded))


def _summary(loaded: Loaded) -> dict[str, Any]:
    record, grid = loaded.record, loaded.grid
    settings = record["settings"]
    conditions: list[str] = settings["conditions"]
    names = [e["name"] for e in record["evaluators"] if e["kind"] != "identity"]
    tampers = [c for c in conditions if CONDITIONS[c].tamper]
    described = {c: _condition(loaded, c, names) for c in conditions}
    evaluators = [_evaluator(loaded, e) for e in record["evaluators"]]
    floors = _floors(grid, names, conditions)
    n_rows = len(grid.rows) * len(conditions)
    return {
        "kind": "bench",
        "schema": SCHEMA,
        "scripted": record["scripted"],
        "scripted_parts": [] if record["scripted"] else record["scripted_parts"],
        "settings": {**settings, "tasks": record["tasks"], "taus": list(TAUS)},
        "evaluators": evaluators,
        "conditions": described,
        "mean_tampered": _means(loaded, described, names, tampers),
        "noise_floor": floors,
        "mutation": _mutation(grid, described, names, tampers),
        "blind_at": _blind_at(described, names, tampers),
        "families": _families(grid, conditions, names),
        "pairs": _pairs(grid, conditions, names),
        "localisation": loaded.mismatches,
        "auditors": {
            e["name"]: {
                "model": e["model"],
                **blindness.audit(grid, e["name"], conditions),
            }
            for e in record["evaluators"]
            if e["kind"] == "auditor"
        },
        "without_output": _without_output(loaded, conditions),
        "cost": {"samples": n_rows, **loaded.cost},
        "stack": record["stack"],
        "provenance": {
            **record["provenance"],
            **record["versions"],
            "command": record["command"],
            "started": record["started"],
            "served": {name: _served(each) for name, each in loaded.served.items()},
        },
        "notes": [*notes(loaded, described, tampers), *hollow(evaluators)],
    }


def _condition(loaded: Loaded, name: str, evaluators: Sequence[str]) -> dict[str, Any]:
    grid, condition = loaded.grid, CONDITIONS[name]
    passes = loaded.identity[name]
    kinds = blindness.output_kinds(grid, name)
    counts = blindness.kind_counts(kinds)
    rows = {e: blindness.acceptance(grid, name, e) for e in evaluators}
    identity = _passing(passes)
    clean = _passing(loaded.identity["clean"])
    rows["identity"] = _identity_row(grid, identity, clean, n_pairs=len(passes))
    return {
        "n": len(grid.rows),
        "title": condition.title,
        "tamper": condition.tamper,
        "moves": sorted(condition.moves),
        "carries": sorted(condition.carries),
        "identity_pass": identity,
        "evaluators": rows,
        "blind": {e: blindness.blind_share(grid, name, e, passes) for e in evaluators},
        "harm": blindness.harm(grid, name),
        "accepted": {
            e: blindness.accepted_kinds(grid, name, e, kinds) for e in evaluators
        },
        "outputs": counts,
        "equivalent": condition.tamper and _all_identical(counts, len(grid.rows)),
        "decision_match": blindness.decision_match(grid, name),
        "truncated": loaded.truncated[name],
    }


def _without_output(loaded: Loaded, conditions: Sequence[str]) -> dict[str, Any]:
    """Return the condition in which most samples have no output, and why."""

    def shares(condition: str) -> float:
        return share([each is None for each in loaded.grid.outputs[condition]])

    worst = max(conditions, key=shares)
    return {
        "condition": worst,
        "share": shares(worst),
        "reasons": sorted(set(loaded.missing[worst])),
    }


def _served(served: Served) -> dict[str, Any]:
    """Return what an endpoint said of itself as a JSON value; a null name is no name."""

    def counted(names: Mapping[str | None, int]) -> list[dict[str, Any]]:
        order = sorted(names, key=lambda name: (name is None, name or ""))
        return [{"name": name, "replies": names[name]} for name in order]

    return {
        "requested": served.requested,
        "state": served.state,
        "unpinned": served.unpinned,
        "models": counted(served.models),
        "providers": counted(served.providers),
        "fingerprints": counted(served.fingerprints),
    }


def _all_identical(counts: Mapping[str, int], n: int) -> bool | None:
    """Whether all outputs equal the clean ones; None while some are not known."""
    if counts["identical"] < sum(counts.values()):
        return False
    return True if counts["identical"] == n else None


def _passing(passes: Mapping[str, bool | None]) -> float | None:
    """Return the share of pairs whose identity passes, None where one can't be told."""
    told = [each for each in passes.values() if each is not None]
    return share(told) if len(told) == len(passes) else None


def _identity_row(
    grid: Grid, passing: float | None, clean: float | None, *, n_pairs: int
) -> dict[str, Any]:
    """Return identity as a row of the table; it needs no sample, so it has no interval."""
    n = len(grid.rows)
    known = passing is not None
    return {
        "accept": passing,
        "ci95": None,
        "method": None,
        "n": n,
        "n_assessed": n if known else 0,
        "n_clusters": n_pairs,
        "unassessed": {} if known else {"undeclared": n},
        "bounds": [passing, passing] if known else [0.0, 1.0],
        "j": None if passing is None or clean is None else clean - passing,
        "j_ci95": None,
    }


def _floors(
    grid: Grid, names: Sequence[str], conditions: Sequence[str]
) -> dict[str, Any]:
    if "repeat" not in conditions:
        return {}
    return {name: blindness.noise_floor(grid, name) for name in names}


def _means(
    loaded: Loaded,
    described: Mapping[str, Any],
    names: Sequence[str],
    tampers: Sequence[str],
) -> dict[str, Any]:
    if not tampers:
        return {}
    grid = loaded.grid
    means = {
        name: blindness.estimate(grid.mean_accept(tampers, name))
        | blindness.discrimination(grid.mean_discrimination(tampers, name))
        for name in names
    }
    rates = [described[c]["identity_pass"] for c in tampers]
    passing = None if None in rates else share(rates)
    clean = described["clean"]["identity_pass"]
    means["identity"] = {
        "accept": passing,
        "ci95": None,
        "method": None,
        "j": None if passing is None or clean is None else clean - passing,
        "j_ci95": None,
    }
    return means


def _mutation(
    grid: Grid,
    described: Mapping[str, Any],
    names: Sequence[str],
    tampers: Sequence[str],
) -> dict[str, Any]:
    judged = [c for c in tampers if described[c]["equivalent"] is not True]
    scores = {
        name: blindness.mutation_score(
            {c: blindness.killed(grid, c, name) for c in judged},
            equivalent=len(tampers) - len(judged),
            repeated="repeat" in described,
        )
        for name in names
    }
    passes = {c: described[c]["identity_pass"] for c in tampers}
    caught = {c: None if rate is None else rate == 0 for c, rate in passes.items()}
    scores["identity"] = {
        **blindness.mutation_score(caught, equivalent=0, repeated=False),
        "rule": "killed when identity fails in every pair; no output is looked at",
    }
    return scores


def _blind_at(
    described: Mapping[str, Any], names: Sequence[str], tampers: Sequence[str]
) -> dict[str, Any]:
    identity = {c: described[c]["identity_pass"] for c in tampers}
    return {
        str(tau): {
            name: blindness.blind_at(
                tau,
                {c: described[c]["evaluators"][name]["accept"] for c in tampers},
                identity,
                described["clean"]["evaluators"][name]["accept"],
            )
            for name in names
        }
        for tau in TAUS
    }


def _families(
    grid: Grid, conditions: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    return {
        condition: {
            family: _masked(grid, condition, names, family=family)
            for family in FAMILIES
        }
        for condition in conditions
    }


def _pairs(
    grid: Grid, conditions: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    return {
        pair: {
            condition: _masked(grid, condition, names, pair=pair)
            for condition in conditions
        }
        for pair in dict.fromkeys(row.pair for row in grid.rows)
    }


def _masked(
    grid: Grid, condition: str, names: Sequence[str], **part: str
) -> dict[str, Any]:
    mask = grid.mask(**part)
    found = {}
    for name in names:
        value = grid.accept(condition, name, mask)
        applicable = int((mask & grid.applicable(condition, name)).sum())
        found[name] = blindness.estimate(value) | {
            "n": applicable,
            "n_assessed": value.n,
        }
    return found


def _evaluator(loaded: Loaded, entry: Mapping[str, Any]) -> dict[str, Any]:
    if entry["kind"] == "rule":
        taken = foolable(RULES[entry["name"]], tasks(SEED))
        return {**entry, "fitness": None, "foolable": taken}
    if entry["kind"] == "identity":
        return {**entry, "fitness": None}
    outcomes = loaded.controls.get(entry["digest"], {})
    per_family = loaded.record["settings"]["controls"]
    return {**entry, "fitness": fitness(outcomes, per_family, kind=entry["kind"])}
