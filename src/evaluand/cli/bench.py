"""``evaluand bench``: which tampers would this evaluation have accepted?"""

import json
import math
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluand.cli.report import print_ladder, write_report
from evaluand.cli.score import RULES, names, score, tasks
from evaluand.errors import InputError

if TYPE_CHECKING:
    from evaluand.bench.conduct import Conducted, Sources
    from evaluand.bench.gate import Gate
    from evaluand.bench.plan import Settings

CONDITIONS = "clean,repeat,model,prompt,tools,retrieval,dependencies,postprocessor"
MOST_WITHOUT_OUTPUT = 0.1


class _WithDefault(click.Group):
    """A group whose first argument may also be an argument of its default command."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(context, args)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, the default one under the group's own name."""
        name, command, rest = super().resolve_command(context, args)
        return ("" if name == "run" else name), command, rest


def _seeds(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = names(context, parameter, value)
    if not parts or not all(re.fullmatch("[0-9]{1,15}", part) for part in parts):
        msg = f"expected whole numbers such as 42,43,44, got {value!r}"
        raise click.BadParameter(msg)
    return tuple(map(int, parts))


def _finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value <= 1e6):
        msg = f"expected a number up to 1000000, got {value}"
        raise click.BadParameter(msg)
    return value


@click.group(cls=_WithDefault)
def bench() -> None:
    """Tamper with a stack, one component at a time, and see what is accepted."""


@bench.command("run", hidden=True)
@click.argument("stack", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="The run folder; an unfinished run in it is resumed.",
)
@click.option(
    "--preset",
    type=click.Choice(["quick", "full", "paper"]),
    default="quick",
    show_default=True,
    help="quick: seed 42, as many tasks as fit; full: 120 tasks; paper: 3 pairs, 3 seeds.",
)
@click.option("--model", help="Model of the built-in reference stack.")
@click.option(
    "--substitute",
    help="What the model tamper deploys; a smaller one by default where one is known.",
)
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="DECLARED:SUBSTITUTE",
    help="Both at once; may be repeated.",
)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    help="A judge, weakest first; may be repeated; none for no judge. By default the "
    "two reference models where they are what runs, else none.",
)
@click.option("--auditor", "auditors", multiple=True, help="An auditor; as --judge.")
@click.option("--tasks", type=click.IntRange(1, 120), help="Tasks per seed.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    help="Time asked for, where the number of tasks is not given.",
)
@click.option("--seeds", callback=_seeds, help="Suite seeds, such as 42,43,44.")
@click.option(
    "--conditions",
    callback=names,
    default=CONDITIONS,
    help="Names of conditions; clean must be among them.",
)
@click.option(
    "--evaluators",
    "rules",
    callback=names,
    default=RULES,
    help="Rule evaluators, weakest first.",
)
@click.option(
    "--coverage",
    type=click.Choice(["dib", "full"]),
    default="full",
    show_default=True,
    help="Which components identity covers.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 4096),
    help="Requests in flight per URL.  [default: 8]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    help="Seconds for one attempt of a request.  [default: 600]",
)
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", hidden=True
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="EVALUATOR[=CONDITION,...]",
    help="Exit 1 unless the evaluator kills these tampers (all, if none is named).",
)
@click.option(
    "--init",
    "init",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the reference stack to DIR for you to edit, and stop.",
)
@click.option("--json", "as_json", is_flag=True, help="Print summary.json.")
@click.pass_context
def run(
    context: click.Context,
    /,
    output: Path | None,
    init: Path | None,
    **options: Any,
) -> int:
    """Run the suite on STACK, clean and tampered, and report what was accepted.

    Without STACK, the built-in reference stack is run. MODEL is local:NAME,
    scripted[:PROFILE], openai/ID, anthropic/ID, openrouter/ID[@PROVIDER] or
    http(s)://HOST/v1#ID, where commas part URLs that answer alike.

    To score outputs that you have already: evaluand bench score --help.
    """
    if init is not None:
        _refuse_others(context)
        from evaluand.bench.starter import write_reference

        click.echo(f"Wrote the reference stack: {write_reference(init)}")
        return 0
    if output is None:
        msg = "name a run folder: evaluand bench -o RUN"
        raise click.UsageError(msg)
    return _conduct(output, **options)


def _refuse_others(context: click.Context) -> None:
    """Refuse options that would be passed over."""
    given = click.core.ParameterSource.COMMANDLINE
    for name in context.params:
        if name != "init" and context.get_parameter_source(name) is given:
            msg = f"--init writes the reference stack as it is; leave out {name.replace('_', '-')}, or edit the files"
            raise click.UsageError(msg)


def _conduct(
    output: Path, *, as_json: bool, gates: Sequence[str], **options: Any
) -> int:
    from evaluand.bench.conduct import conduct
    from evaluand.cli.progress import progress

    if options["engine"] != "local":
        msg = f"--engine {options['engine']}: not in this version yet; leave it out, or say local"
        raise InputError(msg)
    settings = _settings(options)
    wanted = _gates(settings, gates)
    sources = _sources(options)
    command = shlex.join(["evaluand", *sys.argv[1:]])
    with progress() as told:
        done = conduct(settings, sources, output, told, command=command)
    summary = write_report(output)
    if as_json:
        click.echo(json.dumps(summary, indent=1, sort_keys=True))
    else:
        print_ladder(summary, output)
    return _exit_code(summary, done, wanted)


def _settings(options: dict[str, Any]) -> "Settings":
    from evaluand.bench.plan import PRESETS, Settings, default_models

    preset = PRESETS[options["preset"]]
    pairs = _pairs(options, preset["pairs"])
    judges, auditors = default_models(pairs[0][0] or _own_model(options["stack"]))
    timed = options["tasks"] is None and (options["minutes"] or preset["tasks"] is None)
    return Settings(
        preset=options["preset"],
        pairs=pairs,
        seeds=options["seeds"] or preset["seeds"],
        tasks=None if timed else options["tasks"] or preset["tasks"],
        minutes=(options["minutes"] or preset["minutes"]) if timed else None,
        conditions=options["conditions"],
        coverage=options["coverage"],
        rules=options["rules"],
        judges=_given(options["judges"], judges),
        auditors=_given(options["auditors"], auditors),
        controls=preset["controls"],
    )


def _given(named: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
    if named == ("none",):
        return ()
    return named or default


def _pairs(
    options: dict[str, Any], preset: tuple[tuple[str | None, str], ...]
) -> tuple[tuple[str | None, str], ...]:
    """Return declared and substituted models; None stands for the stack's own."""
    from evaluand.bench.plan import default_substitute, split_pair

    named = options["model"] or options["substitute"]
    if options["pairs"]:
        if named:
            msg = "give --pair, or --model and --substitute, not both"
            raise click.UsageError(msg)
        return tuple(split_pair(pair) for pair in options["pairs"])
    if options["stack"] is None and not named:
        return preset
    declared = options["model"]
    if declared is None and options["stack"] is None:
        declared = preset[0][0]
    own = declared or _own_model(options["stack"])
    if options["substitute"] is None and "model" not in options["conditions"]:
        return ((declared, own),)
    return ((declared, options["substitute"] or default_substitute(own)),)


def _own_model(stack: Path | None) -> str:
    """Return the model that a stack file names."""
    from evaluand.identity.stack import load_stack

    return "" if stack is None else load_stack(stack).model.endpoint


def _sources(options: dict[str, Any]) -> "Sources":
    from evaluand.bench.open import opener
    from evaluand.chat.resolve import Pace

    given = {"concurrency": options["workers"], "timeout_s": options["timeout"]}
    pace = Pace(**{key: value for key, value in given.items() if value is not None})
    return opener(options["stack"], pace)


def _gates(settings: "Settings", gates: Sequence[str]) -> "list[Gate]":
    """Return what must be killed, refused here if this run can't have it."""
    from evaluand.bench.gate import parse_gate
    from evaluand.bench.plan import check, evaluators, tampers

    check(settings)
    names = evaluators(settings), tampers(settings)
    return [parse_gate(gate, *names) for gate in gates]


def _exit_code(
    summary: dict[str, Any], done: "Conducted", gates: "Sequence[Gate]"
) -> int:
    """Return 1 for a gate finding, 3 where too much is not known, else 0; say why."""
    from evaluand.bench.gate import answer

    answers = [answer(summary, gate) for gate in gates]
    found = [line for each in answers for line in each.survivors]
    untold = [line for each in answers for line in each.untold]
    short = [*_shortfalls(summary, done)]
    for line in (*found, *untold):
        click.echo(f"gate: {line}", err=True)
    for line in short:
        click.echo(f"evaluand: {line}", err=True)
    if found:
        return 1
    return 3 if untold or short else 0


def _shortfalls(summary: dict[str, Any], done: "Conducted") -> Iterator[str]:
    """Yield what kept the run from saying all that it was to say."""
    if done.failures:
        yield f"{len(done.failures)} samples or verdicts have no result, the last: {done.failures[-1]}; the same command tries them again"
    missing = summary["without_output"]
    if missing["share"] > MOST_WITHOUT_OUTPUT:
        yield f"{missing['share']:.0%} of the samples under {missing['condition']} have no output ({', '.join(missing['reasons'])}), more than {MOST_WITHOUT_OUTPUT:.0%}: rates over the rest say little"


bench.add_command(tasks)
bench.add_command(score)
