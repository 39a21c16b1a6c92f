"""Open what a bench needs by name: stacks from files, models from the names in them."""

from pathlib import Path

from evaluand.assets.fetch import path_of
from evaluand.bench.conduct import Sources
from evaluand.bench.script import SCRIPTS
from evaluand.bench.starter import reference_folder
from evaluand.chat.client import Model
from evaluand.chat.resolve import Pace, resolve
from evaluand.document import decode
from evaluand.identity.manifest import FileDigests
from evaluand.identity.stack import Stack, load_stack

REFERENCE = "the built-in reference stack"


def opener(stack: Path | None, pace: Pace | None = None) -> Sources:
    """Return the sources of a bench on a stack file, or on the reference stack.

    Stacks that ask the same model through the same template share one `Model`, so that
    its engine is started once.

    Args:
        stack: The stack's file or folder; None is the reference stack.
        pace: How endpoints are asked.
    """
    digests = FileDigests()
    opened: dict[tuple[str, str | None, Path | None], Model] = {}

    def share(name: str, template: str | None, weights: Path | None) -> Model:
        key = (name, template, weights)
        if key not in opened:
            opened[key] = _open(name, template, weights, digests, pace)
        return opened[key]

    def open_stack(running: Stack) -> Model:
        blob = running.chat_template
        template = decode(blob.content, source=blob.name) if blob else None
        return share(running.model.endpoint, template, running.model.weights)

    return Sources(
        load=lambda model: load_stack(
            stack or reference_folder(), model=model, weights_of=path_of
        ),
        open_stack=open_stack,
        open_judge=lambda name: share(name, None, None),
        stack=str(stack) if stack else REFERENCE,
    )


def open_judge(name: str, pace: Pace | None = None) -> Model:
    """Return a model with its own template, for judging stored outputs."""
    return _open(name, None, None, FileDigests(), pace)


def _open(
    name: str,
    template: str | None,
    weights: Path | None,
    digests: FileDigests,
    pace: Pace | None,
) -> Model:
    kind, _, local = name.partition(":")
    if kind == "local" and weights is None:
        weights = path_of(local)
    return resolve(
        name,
        scripts=SCRIPTS,
        template=template,
        weights=weights,
        weights_sha256=digests.file(weights) if weights else None,
        pace=pace,
    )
