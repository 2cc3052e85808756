"""A guard with the check `citations` at any level, over the embedded model."""

from collections.abc import Callable
from typing import Any

import pytest

from evidencerails import Guard

EVIDENCE: list[Any] = [
    "The Halden bridge opened in 1932. It is 412 metres long and carries two railway tracks.",
    "Tickets for the museum at the north tower cost 6 euros. Children under 12 enter for free.",
    {
        "id": "repairs",
        "text": "The bridge was closed for repairs from 1998 to 2001. "
        'The mayor called the work "a triumph of patience over rust".',
        "source": "https://halden.example/repairs",
        "metadata": {"author": "M. Ortiz", "year": 2019},
    },
]
_guards: dict[str, Guard] = {}


@pytest.fixture
def guard() -> Callable[..., Guard]:
    """Makes a guard: `guard("strict", scope="paragraph")`; equal ones are shared."""

    def make(level: str = "verified", **settings: Any) -> Guard:
        key = repr((level, settings))
        if key not in _guards:
            _guards[key] = Guard({"checks": ["citations"], "citations": {"level": level, **settings}})
        return _guards[key]

    return make


@pytest.fixture
def evidence() -> list[Any]:
    """Three passages: by number, and by the id `repairs`, its URL or (Ortiz, 2019)."""
    return EVIDENCE
