"""``evaluand capture`` and ``evaluand verify``: state what is deployed, and check it."""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evaluand.identity.descriptor import Descriptor
    from evaluand.identity.diff import Comparison, Difference
    from evaluand.identity.manifest import Manifest

WIDTH = 80
_COVERAGE = click.Choice(["dib", "full"])
_DIFFER = ("mismatch", "missing")
# Leaves shown by name; --json lists all.
_NAMED = 4


@click.command()
@click.argument("stack", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="D.json",
    help="Where the descriptor is written.",
)
@click.option(
    "--coverage",
    type=_COVERAGE,
    default="full",
    show_default=True,
    help="Which components the descriptor has to answer for.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def capture(stack: Path, output: Path, coverage: str, *, as_json: bool) -> int:
    """Hash every component of STACK and write its descriptor.

    STACK is a stack.yaml, or the folder it lies in. All components that it declares
    are hashed, whatever the coverage.
    """
    from evaluand.identity.descriptor import write

    descriptor = _capture(stack, coverage)
    write(descriptor, output)
    if as_json:
        click.echo(json.dumps(_captured(descriptor, output), indent=1))
        return 0
    click.echo("\n".join(_capture_lines(descriptor)))
    _tell_undeclared(descriptor.undeclared, "not covered by this descriptor")
    click.echo(f"\nWrote {output}, identity {descriptor.manifest.identity_digest}")
    return 0


def _capture(stack: Path, coverage: str) -> "Descriptor":
    from importlib.metadata import version

    from evaluand.identity.component import COVERAGE
    from evaluand.identity.descriptor import Descriptor

    return Descriptor(
        manifest=_observe(stack),
        required=COVERAGE[coverage],
        captured_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        capturer_version=version("evaluand"),
    )


def _observe(stack: Path) -> "Manifest":
    from evaluand.assets.fetch import path_of
    from evaluand.identity.manifest import observe
    from evaluand.identity.stack import load_stack

    return observe(load_stack(stack, weights_of=path_of))


def _captured(descriptor: "Descriptor", output: Path) -> dict[str, Any]:
    manifest = descriptor.manifest
    return {
        "descriptor": str(output),
        "identity": manifest.identity_digest,
        "grade": descriptor.overall_grade,
        "undeclared": list(descriptor.undeclared),
        "not_applicable": sorted(manifest.not_applicable),
        "components": {
            kind: {
                "digest": each.digest,
                "grade": each.grade,
                "source": each.source,
                "leaves": each.leaf_count,
            }
            for kind, each in manifest.components.items()
        },
    }


def _capture_lines(descriptor: "Descriptor") -> Iterable[str]:
    from evaluand.identity.component import KINDS

    manifest = descriptor.manifest
    yield _row("component", "grade", "digest        what")
    for kind in KINDS:
        each = manifest.components.get(kind)
        if each is not None:
            yield _row(kind, each.grade, f"{each.digest[:12]}  {each.source}")
        elif kind in manifest.not_applicable:
            yield _row(kind, "none", "the stack has none")
        else:
            yield _row(kind, "undeclared", "")


@click.command()
@click.argument("descriptor", type=click.Path(path_type=Path), metavar="D.json")
@click.option(
    "--stack",
    type=click.Path(path_type=Path),
    required=True,
    help="The stack that runs now.",
)
@click.option(
    "--require",
    "require",
    metavar="KIND,...",
    help="The components that decide, instead of the descriptor's coverage.",
)
@click.option("--coverage", type=_COVERAGE, help="The same by the name of a preset.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(
    descriptor: Path,
    stack: Path,
    require: str | None,
    coverage: str | None,
    *,
    as_json: bool,
) -> int:
    """Check that the stack that runs is the one that D.json states.

    Every byte is read again. Exit codes: 0 all required components match; 1 one
    differs or is missing; 2 bad input; 3 one is not declared, so nothing is known
    of it.
    """
    from evaluand.identity.descriptor import read
    from evaluand.identity.manifest import compare

    stated = read(descriptor)
    required = _required(require, coverage) or stated.required
    observed = _observe(stack)
    found = compare(stated.manifest, observed, required=required)
    code = exit_code(found)
    if as_json:
        value = _verified(found, stated.manifest, observed, code)
        click.echo(json.dumps(value, indent=1))
        return code
    declared = [k for k, c in observed.components.items() if c.grade == "declared"]
    click.echo("\n".join(_verify_lines(found, declared)))
    _tell_undeclared(found.unknown, "not both stated and found, so it is not verified")
    click.echo()
    click.echo(
        textwrap.fill(_verdict(found, code, declared), WIDTH, break_on_hyphens=False)
    )
    return code


def _required(require: str | None, coverage: str | None) -> tuple[str, ...] | None:
    from evaluand.identity.component import COVERAGE, KINDS

    if require is None:
        return COVERAGE[coverage] if coverage else None
    if coverage is not None:
        msg = "give --require or --coverage, not both"
        raise click.UsageError(msg)
    named = tuple(part.strip() for part in require.split(","))
    unknown = [name for name in named if name not in KINDS]
    if unknown:
        msg = f"--require: expected some of {', '.join(KINDS)}, got {unknown[0]!r}"
        raise click.UsageError(msg)
    return named


def exit_code(found: "Comparison") -> int:
    """Return 1 for a component that differs, 3 for one of which too little is known."""
    if found.wrong:
        return 1
    return 0 if found.matches else 3


def _verified(
    found: "Comparison", expected: "Manifest", observed: "Manifest", code: int
) -> dict[str, Any]:
    def digest(manifest: "Manifest", kind: str) -> str | None:
        component = manifest.components.get(kind)
        return component.digest if component else None

    return {
        "match": found.matches,
        "exit_code": code,
        "required": list(found.required),
        "identity": {
            "expected": expected.identity_digest,
            "observed": observed.identity_digest,
        },
        "components": {
            kind: {
                "state": each.state.value,
                "required": kind in found.required,
                "expected": digest(expected, kind),
                "observed": digest(observed, kind),
                "changed": list(each.changed),
                "added": list(each.added),
                "removed": list(each.removed),
                "note": each.note,
            }
            for kind, each in found.differences.items()
        },
    }


def _verify_lines(found: "Comparison", declared: Sequence[str]) -> Iterable[str]:
    yield _row("component", "state", "what differs")
    for kind, each in found.differences.items():
        state = each.state.value.replace("_", " ")
        extra = "" if kind in found.required else "not required"
        named = "the same name; its bytes were not read" if kind in declared else ""
        words = [extra, named if state == "match" else "", differs(each)]
        yield _row(kind, state, "; ".join(filter(None, words)))


def differs(difference: "Difference") -> str:
    """Return in words which leaves differ, and how."""
    lists: Mapping[str, tuple[str, ...]] = {
        "changed": difference.changed,
        "added": difference.added,
        "removed": difference.removed,
    }
    words = [f"{verb} {_names(names)}" for verb, names in lists.items() if names]
    return "; ".join([*([difference.note] if difference.note else []), *words])


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(_printable(name) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more (--json lists all)" if more > 0 else shown


def _printable(text: str) -> str:
    """Return hostile text without what a terminal would act on."""
    return "".join(
        each if each.isprintable() else f"<U+{ord(each):04X}>" for each in text
    )


def _row(kind: str, state: str, text: str) -> str:
    """Return one row of a table of 80 columns, its last column wrapped."""
    start = f"{kind:<14} {state:<14} "
    lines = textwrap.wrap(
        _printable(text), WIDTH - len(start), break_on_hyphens=False
    ) or [""]
    return "\n".join(
        [
            f"{start}{lines[0]}".rstrip(),
            *(" " * len(start) + line for line in lines[1:]),
        ]
    )


def _tell_undeclared(kinds: tuple[str, ...], meaning: str) -> None:
    for kind in kinds:
        click.echo(
            f"{kind} is {meaning}: declare it in stack.yaml, or write `{kind}: none` if the stack has none",
            err=True,
        )


def _verdict(found: "Comparison", code: int, declared: Sequence[str]) -> str:
    if code == 0:
        others = (k for k, v in found.differences.items() if v.state in _DIFFER)
        rest = ", ".join(others)
        what = f"match: as stated in {', '.join(found.required)}"
        if len(found.required) == len(found.differences):
            what = f"match: all {len(found.required)} components are as stated"
        named = [kind for kind in found.required if kind in declared]
        if named:
            what += f"; {', '.join(named)} by name alone"
        return f"{what}; not required, and different: {rest}" if rest else what
    wrong = found.wrong
    if wrong:
        return f"no match: {', '.join(wrong)} differ{'s' * (len(wrong) == 1)} from what the descriptor states"
    return f"no match: {', '.join(found.unknown)} not known, all else is as stated"
