"""What one planted turn came to, and whether the rail fired as configured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from evidencerails.config import GuardConfig
from evidencerails.report import Report

TURN_TIMEOUT_S = 60.0
INTERNAL_ERROR = "an internal error has occurred"
"""NeMo answers so when anything in a turn raised."""


class Seen(NamedTuple):
    """What one planted turn came to."""

    effect: str
    """`passed`, `blocked`, `warned`, `raised`, `failed` or `impossible`."""
    reports: tuple[Report, ...] = ()
    detail: str = ""


class Row(NamedTuple):
    """One rail in one mode."""

    flow: str
    flag: str
    mode: str
    planted: Seen
    clean: Seen
    fires: bool
    why: str


@contextmanager
def started(config: Any) -> Iterator[Any]:
    """The app of a config.

    Raises:
        Exception: whatever NeMo, the plugin or the user's own code raises at the start.
    """
    from nemoguardrails import LLMRails

    yield LLMRails(config)  # in this thread: in another one NeMo makes an event loop that nobody closes


def effect_on(answer: str, shown: Any) -> str:
    """What became of the answer on its way to the user."""
    message = shown if isinstance(shown, dict) else {"role": "assistant", "content": str(shown)}
    if message.get("role") == "exception":
        return "raised"
    text = str(message.get("content") or "").strip()
    if INTERNAL_ERROR in text:
        return "failed"
    if "blocked" in message or answer not in text:
        return "blocked" if message.get("blocked", "Blocked").startswith("Blocked") else "failed"
    return "passed" if text == answer else "warned"


_EFFECTS = {"allow": "passed", "annotate": "warned", "warn": "warned", "block": "blocked", "raise": "raised"}


def problem_with(planted: Seen, clean: Seen, settings: GuardConfig) -> str:
    """Why the rail does not fire as configured; empty if it does."""
    for name, seen in (("the planted hallucination", planted), ("the clean answer", clean)):
        if seen.effect == "failed":
            return f"the turn with {name} failed: {seen.detail or 'NeMo answers with an internal error (see -v)'}"
        if not seen.reports:
            return f"the check did not run on {name}"
    worst = next((r for r in planted.reports if r.status == "hallucinated"), None)
    if worst is None:
        return f"the planted hallucination was {planted.reports[-1].status}: {planted.reports[-1].reason}"
    wanted = "passed" if settings.activation == "shadow" else _EFFECTS.get(worst.decision, "blocked")
    if planted.effect != wanted and not (wanted in ("blocked", "raised") and planted.effect in ("blocked", "raised")):
        return f"the planted hallucination was found (decision {worst.decision}) but {planted.effect}"
    bad = next((r for r in clean.reports if r.status != "grounded"), None)
    if bad is not None:
        return f"the clean answer was {bad.status}: {bad.reason}"
    return "" if clean.effect == "passed" else f"the clean answer was {clean.effect}"
