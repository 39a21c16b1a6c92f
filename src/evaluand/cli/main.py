"""``evaluand``: the entry point, and how errors become messages and exit codes."""

import os
import sys
import traceback
from collections.abc import Sequence

import click

from evaluand.cli.assets import models
from evaluand.cli.bench import bench
from evaluand.cli.doctor import doctor
from evaluand.cli.export import export
from evaluand.cli.identity import capture, verify
from evaluand.cli.report import report
from evaluand.errors import EvaluandError, InputError, StoreError
from evaluand.whole import STORAGE

INTERRUPTED = 130
BROKEN_PIPE = 141

_EXIT_CODES = """\b
Exit codes:
  0  done, or a match
  1  an integrity or gate finding
  2  wrong use or bad input
  3  too little coverage, or rows left without a verdict
  4  signature or trust failure
  5  the run's store failed
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=_EXIT_CODES,
)
@click.version_option(package_name="evaluand")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Say what an LLM evaluation evaluated, and what it would have missed."""


for command in (bench, report, export, capture, verify, models, doctor):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(args=given, prog_name="evaluand", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except EvaluandError as error:
        return _told(error, error.exit_code, debug="--debug" in given)
    except OSError as error:
        return _os_failed(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo(
            "\nInterrupted. What is done is kept; the same command resumes.", err=True
        )
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _os_failed(error: OSError) -> int:
    """Say what the system refused: a full or failing disk is 5, a wrong path 2."""
    # what is still buffered for a closed pipe or a full disk would fail again at the end
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the rest of the process
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    where = f"{str(error.filename)[:200]}: " if error.filename else ""
    click.echo(f"evaluand: {where}{error.strerror or error}", err=True)
    return StoreError.exit_code if error.errno in STORAGE else InputError.exit_code


def _told(error: EvaluandError, code: int, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    click.echo(f"evaluand: {error}", err=True)
    return code


def run() -> None:
    """Run as a program."""
    sys.exit(main())
