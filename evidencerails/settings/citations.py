"""Settings of the check `citations`, of the levels of entailment and of root causes."""

from __future__ import annotations

import datetime
from typing import Literal

from evidencerails.settings.base import Count, Section

CitationLevel = Literal["soft", "required", "verified", "strict"]
EntailmentLevel = Literal["sentence", "passage", "document"]


class CitationSettings(Section):
    """What an answer owes its sources."""

    level: CitationLevel = "verified"
    """`soft`: what is cited exists; `required`: and every claim cites; `verified`: and the cited passages entail the
    claim, quotations are verbatim; `strict`: and a claim that restates a source leaves nothing of it out."""
    scope: Literal["sentence", "paragraph", "answer"] = "sentence"
    """What a citation covers: its sentence; also those before it in its `paragraph` that have none; or, of a list of
    sources at the end, every sentence of the `answer` that has none."""


class RootCauseSettings(Section):
    """What is known about the generator, for the causes of a finding."""

    context_tokens: Count = 8_000
    """Tokens of context that the generator reads reliably; beyond, evidence in the middle may be lost."""
    training_cutoff: datetime.date | None = None
    """Date up to which the generator knows the world; unset: staleness of its knowledge is never named."""
    max_evidence_age_days: Count | None = None
    """Age from which dated evidence counts as stale; unset: only evidence that a newer passage contradicts."""


class GranularitySettings(Section):
    """Sizes at which entailment is reported beside the verdicts."""

    levels: tuple[EntailmentLevel, ...] = ()
    """`sentence`, `passage`, `document`; each costs about as much as the check `grounding`. Numbers for people."""
