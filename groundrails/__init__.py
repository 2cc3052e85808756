"""Hallucination rails for NVIDIA NeMo Guardrails, and the engine behind them.

Importing this package loads nothing heavy: every public name is resolved on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Claim": "groundrails.report",
    "Exchange": "groundrails.exchange",
    "Finding": "groundrails.report",
    "GroundrailsError": "groundrails.errors",
    "Guard": "groundrails.guard",
    "GuardConfig": "groundrails.config",
    "Message": "groundrails.exchange",
    "Passage": "groundrails.exchange",
    "Report": "groundrails.report",
    "Sample": "groundrails.exchange",
    "Span": "groundrails.exchange",
    "ToolCall": "groundrails.exchange",
    "stream": "groundrails.streaming",
}

__all__ = ["__version__", *sorted(_HOMES)]

if TYPE_CHECKING:
    from groundrails.config import GuardConfig as GuardConfig
    from groundrails.errors import GroundrailsError as GroundrailsError
    from groundrails.exchange import Exchange as Exchange
    from groundrails.exchange import Message as Message
    from groundrails.exchange import Passage as Passage
    from groundrails.exchange import Sample as Sample
    from groundrails.exchange import Span as Span
    from groundrails.exchange import ToolCall as ToolCall
    from groundrails.guard import Guard as Guard
    from groundrails.report import Claim as Claim
    from groundrails.report import Finding as Finding
    from groundrails.report import Report as Report
    from groundrails.streaming import stream as stream


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'groundrails' has no attribute {name!r}; public names: {', '.join(__all__)}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
