"""``python -m evaluand``."""

from evaluand.cli.main import run

run()
