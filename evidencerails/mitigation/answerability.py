"""Abstaining before generation: nothing relevant, low coverage, out of domain, stale.

What needs no facts (a greeting, thanks) is answered in any case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from evidencerails.exchange import Passage
from evidencerails.mitigation.abstain import message_for
from evidencerails.mitigation.relevance import Relevant, likeness, relevances, shared_terms
from evidencerails.nli.windows import content_terms
from evidencerails.report import Abstention
from evidencerails.settings.mitigation import AnswerabilitySettings

SECONDS_A_DAY = 86_400.0
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks?(?: you)?(?: (?:so|very) much| a lot)?|bye|"
    r"goodbye|see you|ok(?:ay)?|yes|no|great|nice|cool|please|sorry|welcome|how are you(?: (?:today|doing))?|"
    r"who are you|what can you do|nice to meet you|have a (?:nice|good) day|there|again|all|everyone)",
    re.IGNORECASE,
)


def answerability(
    question: str, passages: Sequence[Passage], settings: AnswerabilitySettings, *, now: datetime | None = None
) -> Abstention:
    """Whether a question can be answered from these passages; `action` is `answer` or `abstain`, never `partial`.

    Blocks: run it in a thread.
    """
    if not requires_facts(question):
        return Abstention(action="answer", reasons=("no_facts_asked",))
    parts: dict[str, float] = {}
    if settings.domain:
        parts["domain_match"] = max(likeness(question, settings.domain))
        if parts["domain_match"] < settings.min_domain_match:
            return _abstained("out_of_domain", parts, settings)
    found = [one for one in relevances(question, passages) if one.relevance >= settings.min_relevance]
    parts["retrieval_quality"] = max((one.relevance for one in found), default=0.0)
    if not found:
        return _abstained("no_relevant_evidence", parts, settings)
    parts["coverage"] = shared_terms(question, "\n".join(one.passage.text for one in found))
    if parts["coverage"] < settings.min_coverage:
        return _abstained("low_coverage", parts, settings)
    if settings.max_age_days is not None:
        age_days = freshest_age_days(found, settings, now or datetime.now(timezone.utc))
        if age_days is not None and age_days > settings.max_age_days:
            return _abstained("stale_evidence", parts, settings)
    return Abstention(action="answer", confidence=parts["retrieval_quality"], parts=parts)


def _abstained(reason: str, parts: dict[str, float], settings: AnswerabilitySettings) -> Abstention:
    message = message_for((reason,), domain=settings.domain)
    return Abstention(action="abstain", parts=parts, reasons=(reason,), message=message)


def requires_facts(question: str) -> bool:
    """False for greetings, thanks and the like, and for a text without content words."""
    rest = _SMALL_TALK.sub(" ", question)
    return bool(content_terms(rest))


def freshest_age_days(found: Sequence[Relevant], settings: AnswerabilitySettings, now: datetime) -> float | None:
    """Age in days of the newest relevant passage; None if the date of one cannot be read, for that one may be new."""
    ages = []
    for one in found:
        date = date_of(one.passage, settings.date_keys)
        if date is None:
            return None
        ages.append((now - date).total_seconds() / SECONDS_A_DAY)
    return min(ages, default=None)


def date_of(passage: Passage, keys: Sequence[str]) -> datetime | None:
    """Date in a passage's metadata, ISO 8601 text or seconds since 1970, UTC unless it says else; None without one."""
    for key in keys:
        date = _as_date(passage.metadata.get(key))
        if date is not None:
            return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return None


def _as_date(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, timezone.utc)
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip().replace("Z", "+00:00"))  # Python 3.10 reads no Z
    except (ValueError, OverflowError, OSError):
        return None
    if hasattr(value, "isoformat"):  # a date, as YAML makes them
        return _as_date(value.isoformat())
    return None
