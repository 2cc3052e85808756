"""The one place that touches the environment: secrets and addresses, by the names that the settings give them.

Nothing else of the environment changes what the engine does: only the command `check` takes settings from it
(`CHECK_VARIABLES`). Commands may also look at the terminal's own variables.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

JUDGE_MODEL = "JUDGE_MODEL"
CHECK_VARIABLES = {
    JUDGE_MODEL: "llm.judge.model",
    "NLI_THRESHOLD": "grounding.contradiction_threshold",
    "RISK_LOW_THRESHOLD": "scoring.risk.low",
    "RISK_HIGH_THRESHOLD": "scoring.risk.high",
}
"""Names that users of ChainCheck know, and the settings that they stand for."""


def variable(name: str | None) -> str | None:
    """The value of an environment variable; None if no name is given, or it is not set."""
    return os.environ.get(name) if name else None


@contextmanager
def temporarily(name: str, value: str) -> Iterator[None]:
    """A variable that other programs read has another value inside the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
