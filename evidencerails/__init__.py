"""Hallucination rails for NVIDIA NeMo Guardrails, and the engine behind them.

Importing this package loads nothing heavy: every public name is resolved on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evidencerails.version import __version__ as __version__

_HOMES = {
    "Claim": "evidencerails.report",
    "Exchange": "evidencerails.exchange",
    "Finding": "evidencerails.report",
    "EvidencerailsError": "evidencerails.errors",
    "Guard": "evidencerails.adapters.python",
    "GuardConfig": "evidencerails.config",
    "Message": "evidencerails.exchange",
    "Passage": "evidencerails.exchange",
    "Report": "evidencerails.report",
    "Sample": "evidencerails.exchange",
    "Span": "evidencerails.exchange",
    "ToolCall": "evidencerails.exchange",
    "stream": "evidencerails.adapters.streaming",
}

__all__ = ["__version__", *sorted(_HOMES)]

if TYPE_CHECKING:
    from evidencerails.adapters.python import Guard as Guard
    from evidencerails.adapters.streaming import stream as stream
    from evidencerails.config import GuardConfig as GuardConfig
    from evidencerails.errors import EvidencerailsError as EvidencerailsError
    from evidencerails.exchange import Exchange as Exchange
    from evidencerails.exchange import Message as Message
    from evidencerails.exchange import Passage as Passage
    from evidencerails.exchange import Sample as Sample
    from evidencerails.exchange import Span as Span
    from evidencerails.exchange import ToolCall as ToolCall
    from evidencerails.report import Claim as Claim
    from evidencerails.report import Finding as Finding
    from evidencerails.report import Report as Report


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'evidencerails' has no attribute {name!r}; public names: {', '.join(__all__)}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
