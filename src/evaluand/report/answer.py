"""What a run says, in one sentence computed from its summary."""

from evaluand.report.ladder import (
    Summary,
    evaluators,
    headline_tau,
    kinds,
    states,
    tampers,
)
from evaluand.report.number import tau_label


def claimants(summary: Summary) -> tuple[str, ...]:
    """Return the evaluators of outputs that a claim about the ladder may rest on.

    Left out: those not shown to be fit on their controls, those that don't accept
    the clean deployment at the threshold, and those without a verdict on some tamper.
    """
    tau = headline_tau(summary)
    of = len(tampers(summary))
    counts = summary["blind_at"][tau] if tau else {}
    fit, kind = states(summary), kinds(summary)
    return tuple(
        name
        for name in evaluators(summary)
        if kind[name] != "identity"
        and fit[name] == "fit"
        and counts.get(name, {}).get("count") is not None
        and counts[name]["of"] == of
        and not counts[name]["clean_falls_short"]
    )


def identity_words(summary: Summary) -> str:
    """Return what the identity check caught, and whether it let the clean stack pass."""
    passes = {name: each["identity_pass"] for name, each in _every(summary)}
    of = tampers(summary)
    known = [name for name in of if passes[name] is not None]
    if not known:
        return "the identity check was not run on a tamper"
    caught = sum(passes[name] == 0 for name in known)
    words = f"the identity check caught {caught} of {len(of)} with no sample"
    if len(known) < len(of):
        words += f" ({len(of) - len(known)} not checked)"
    if passes.get("clean") not in {None, 1.0}:
        words += ", but it refused the clean deployment too"
    return words


def _every(summary: Summary) -> list[tuple[str, Summary]]:
    return list(summary["conditions"].items())


def sentence(summary: Summary) -> str:
    """Return the run's answer: who accepted how many tampers, what identity caught."""
    if not tampers(summary):
        return (
            "This run holds no tamper, so it says nothing about what would be accepted."
        )
    identity = identity_words(summary)
    tau = headline_tau(summary)
    names = claimants(summary)
    if tau is None or not names:
        return (
            "No evaluator of outputs was both fit and at ease with the clean "
            f"deployment, so the ladder makes no claim; {identity}."
        )
    return f"{_accepted(summary, tau, names)}; {identity}."


def _accepted(summary: Summary, tau: str, names: tuple[str, ...]) -> str:
    counts = {name: summary["blind_at"][tau][name] for name in names}
    least = min(names, key=lambda name: counts[name]["count"])
    most = max(names, key=lambda name: counts[name]["count"])
    low, high = counts[least]["count"], counts[most]["count"]
    tail = f"of {counts[most]['of']} tampers at τ {tau_label(tau)}"
    if len(names) == 1:
        return (
            f"The one evaluator of outputs that counts, {most}, accepted {high} {tail}"
        )
    if low == high:
        return f"Each of {len(names)} evaluators of outputs accepted {high} {tail}"
    return (
        f"Evaluators of outputs accepted between {low} ({least}) "
        f"and {high} ({most}) {tail}"
    )


def script_words(summary: Summary) -> str:
    """Return what of a run was a script, empty where nothing was."""
    if summary["scripted"]:
        return "scripted, no model"
    parts = summary["scripted_parts"]
    return f"scripted in part: {', '.join(parts)}" if parts else ""


def unfinished_words(summary: Summary) -> str:
    """Return how much of the plan hasn't run, empty where all of it has."""
    cells = [
        cell
        for condition in summary["conditions"].values()
        for cell in condition["evaluators"].values()
    ]
    missing = sum(cell.get("unassessed", {}).get("not_run", 0) for cell in cells)
    if not missing:
        return ""
    return f"unfinished: {missing} of {sum(cell['n'] for cell in cells)} verdicts have not been given"


def left_out(summary: Summary) -> tuple[str, ...]:
    """Return the evaluators not shown to be fit, in ladder order."""
    return tuple(name for name, found in states(summary).items() if found != "fit")


def equivalent_words(summary: Summary) -> str:
    """Return which tampers change no output, empty where each changes one."""
    every = summary["conditions"]
    same = [name for name in tampers(summary) if every[name]["equivalent"]]
    if not same:
        return ""
    change, them = ("changes", "it") if len(same) == 1 else ("change", "them")
    return (
        f"{len(same)} of the {len(tampers(summary))} tampers {change} no output here "
        f"({', '.join(same)}): no evaluator of outputs can tell {them} from clean."
    )
