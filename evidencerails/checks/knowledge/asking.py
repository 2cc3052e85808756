"""Asks the sources about what must exist: in the order of authority, within a latency budget.

A hit in any source verifies. A miss refutes only if a source that claims to be complete has answered, and none that
might have known better failed or was left unasked: a look-up that fails is never a verdict.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

from evidencerails.checks.knowledge.base import MAX_VALUE_CHARACTERS, Answer, KnowledgeSource, Lookup, Verdict
from evidencerails.errors import EvidencerailsError, KnowledgeError, place_of

log = logging.getLogger("evidencerails")

CONCURRENT_LOOKUPS = 8
MAX_NEAR_SEARCHES = 20
"""Refuted values of one response for which near misses are searched."""
NEW_WEIGHT = 0.2
"""Weight of the latest answer in the running mean of a source's latency."""
FEW_AT_ONCE = 200
"""Look-ups after which the event loop gets a turn, even if all are answered from memory."""


class Asker:
    """Sources with what is known about their latency."""

    def __init__(self) -> None:
        self._typical_s: dict[str, float] = {}

    async def verdicts(
        self, lookups: Mapping[Lookup, Sequence[KnowledgeSource]], budget_s: float
    ) -> dict[Lookup, Verdict]:
        """One verdict for each look-up; those that the budget does not reach are unverifiable."""
        deadline = time.monotonic() + budget_s
        slots = asyncio.Semaphore(CONCURRENT_LOOKUPS)
        found: dict[Lookup, Verdict] = {}

        async def one(place: int, lookup: Lookup, sources: Sequence[KnowledgeSource]) -> None:
            async with slots:
                if place % FEW_AT_ONCE == FEW_AT_ONCE - 1:
                    await asyncio.sleep(0)
                found[lookup] = await self.verdict(lookup, sources, deadline)

        await asyncio.gather(*(one(n, lookup, sources) for n, (lookup, sources) in enumerate(lookups.items())))
        await self._add_near(found, lookups, deadline)
        return {lookup: found[lookup] for lookup in lookups}

    async def verdict(self, lookup: Lookup, sources: Sequence[KnowledgeSource], deadline: float) -> Verdict:
        """What the sources say about one look-up; `deadline` is a time of the monotonic clock."""
        if not lookup.text.strip() and not lookup.parts:
            return Verdict("refuted", "it is empty")
        if len(lookup.text) > MAX_VALUE_CHARACTERS:
            return Verdict("unverifiable", f"too_long: over {MAX_VALUE_CHARACTERS} characters")
        unanswered: list[str] = []
        refuter = ""
        for source in sorted(sources, key=lambda source: source.priority):
            left_s = deadline - time.monotonic()
            if left_s <= 0 or self._typical_s.get(source.name, 0.0) > left_s:
                unanswered.append(f"{source.name}: budget_spent")
                continue
            try:
                answer = await self._ask(source, lookup, left_s)
            except EvidencerailsError as error:
                unanswered.append(f"{source.name}: {error}")
                continue
            except Exception as error:  # boundary to the user's function, file, database or endpoint
                log.error("evidencerails: source %s failed: %s", source.name, place_of(error))
                unanswered.append(f"{source.name}: failed: {type(error).__name__}")
                continue
            if answer is None:
                unanswered.append(f"{source.name}: cannot_tell: it has no column for this")
            elif answer.is_found:
                return Verdict("verified", f"found in {source.name!r}", source.name, answer.record)
            elif source.is_complete:
                refuter = refuter or source.name
        if unanswered:
            return Verdict("unverifiable", "; ".join(unanswered))
        if refuter:
            return Verdict("refuted", f"no record in {refuter!r}", refuter)
        return Verdict("unverifiable", "no_authoritative_source: no source is complete, and none has it")

    async def _ask(self, source: KnowledgeSource, lookup: Lookup, left_s: float) -> Answer | None:
        started = time.monotonic()
        try:
            answer = await asyncio.wait_for(source.lookup(lookup), left_s)
        except asyncio.TimeoutError:
            raise KnowledgeError("budget_spent: no answer within the budget of this response") from None
        took_s = time.monotonic() - started
        known_s = self._typical_s.get(source.name, took_s)
        self._typical_s[source.name] = known_s + NEW_WEIGHT * (took_s - known_s)
        if answer is not None and not isinstance(answer, Answer):
            raise TypeError(f"source {source.name!r} answered {type(answer).__name__}; expected Answer or None")
        return answer

    async def _add_near(
        self, found: dict[Lookup, Verdict], lookups: Mapping[Lookup, Sequence[KnowledgeSource]], deadline: float
    ) -> None:
        """Add what the refuting source has that resembles the value; without time the verdict stays as it is."""
        refuted = [lookup for lookup, verdict in found.items() if verdict.outcome == "refuted" and verdict.source]
        for lookup in refuted[:MAX_NEAR_SEARCHES]:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return
            source = next(s for s in lookups[lookup] if s.name == found[lookup].source)
            try:
                near = await asyncio.wait_for(source.near(lookup), left_s)
            except asyncio.TimeoutError:
                continue
            except Exception as error:  # boundary, as above: a hint that cannot be had changes nothing
                log.warning("evidencerails: source %s has no near values: %s", source.name, place_of(error))
                continue
            found[lookup] = found[lookup]._replace(near=tuple(near))
