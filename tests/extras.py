"""Packages that only the extra `dev-all` brings: without them their tests are skipped and say so."""

from typing import Any

import pytest


def needs(module: str) -> Any:
    """The module; without it the test, or the file that asks at its head, is skipped with the command that helps."""
    return pytest.importorskip(module, reason=f'{module} is not installed: pip install ".[dev-all]"')
