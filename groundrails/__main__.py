"""`python -m groundrails`: the same program as the console script."""

from groundrails.cli.main import run

run()
