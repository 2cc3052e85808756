"""Settings of the check `logic`."""

from __future__ import annotations

from typing import Literal

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
