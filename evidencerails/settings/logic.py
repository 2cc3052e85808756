"""Settings of the check `logic`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evidencerails.settings.base import Section


class LogicSettings(Section):
    """Logic: what is computed again, and how chains of reasoning are audited."""

    arithmetic: bool = True
    """Formulas and sums in words, percentages, averages, properties of numbers."""
    dates: bool = True
    """Differences between dates and times, weekdays, ages, the calendar."""
    orderings: bool = True
    """Comparisons that cannot all be true."""
    audit: Literal["off", "nli", "judge"] = "nli"
    """Who audits the steps of a chain of reasoning: nobody, the NLI model, or a judge model (that of the settings, else
    the one that wrote the response)."""
    contradiction_threshold: float = Field(default=0.9, ge=0.0, le=1.0)
    """Probability of contradiction from which a step is an error, with `audit: nli`."""
    max_steps: int = Field(default=40, ge=2)
    """Steps of a response that are audited; the rest is reported as not audited."""
