"""`python -m evidencerails`: the same program as the console script."""

from evidencerails.cli.main import run

run()
