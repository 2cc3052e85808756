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
from evidencerails.errors import EvidencerailsError, KnowledgeError, traceback_summary

log = logging.getLogger("evidencerails")

CONCURRENT_LOOKUPS = 8
MAX_NEAR_SEARCHES = 20
"""Refuted values of one response for which near misses are searched."""


async def verdicts(lookups: Mapping[Lookup, Sequence[KnowledgeSource]], budget_s: float) -> dict[Lookup, Verdict]:
    """One verdict for each look-up; those that the budget does not reach are unverifiable."""
    deadline = time.monotonic() + budget_s
    slots = asyncio.Semaphore(CONCURRENT_LOOKUPS)

    async def one(lookup: Lookup, sources: Sequence[KnowledgeSource]) -> Verdict:
        async with slots:
            await asyncio.sleep(0)  # the event loop gets a turn, even if all are answered from memory
            return await _verdict(lookup, sources, deadline)

    answers = await asyncio.gather(*(one(lookup, sources) for lookup, sources in lookups.items()))
    found = dict(zip(lookups, answers, strict=True))
    refuted = [lookup for lookup, verdict in found.items() if verdict.outcome == "refuted" and verdict.source]
    for lookup in refuted[:MAX_NEAR_SEARCHES]:
        source = next(s for s in lookups[lookup] if s.name == found[lookup].source)
        near = found[lookup].near or await _near(source, lookup, deadline)
        found[lookup] = found[lookup]._replace(near=near)
    return found


async def _verdict(lookup: Lookup, sources: Sequence[KnowledgeSource], deadline: float) -> Verdict:
    """What the sources say about one look-up; `deadline` is a time of the monotonic clock."""
    if not lookup.text.strip() and not lookup.parts:
        return Verdict("refuted", "it is empty")
    if len(lookup.text) > MAX_VALUE_CHARACTERS:
        return Verdict("unverifiable", f"too_long: over {MAX_VALUE_CHARACTERS} characters")
    unanswered: list[str] = []
    refuted: Verdict | None = None
    for source in sorted(sources, key=lambda source: source.priority):
        try:
            answer = await _answer(source, lookup, deadline)
        except EvidencerailsError as error:
            unanswered.append(f"{source.name}: {error}")
            continue
        except Exception as error:  # boundary to the user's function, file, database or endpoint
            log.error("evidencerails: source %s failed: %s", source.name, traceback_summary(error))
            unanswered.append(f"{source.name}: failed: {type(error).__name__}")
            continue
        if answer is None:
            unanswered.append(f"{source.name}: cannot_tell: it has no column for this")
        elif answer.is_found:
            return Verdict("verified", f"found in {source.name!r}", source.name, answer.record)
        elif source.is_complete:
            refuted = refuted or Verdict("refuted", f"no record in {source.name!r}", source.name, near=answer.near)
    if unanswered:
        return Verdict("unverifiable", "; ".join(unanswered))
    return refuted or Verdict("unverifiable", "no_authoritative_source: no source is complete, and none has it")


async def _answer(source: KnowledgeSource, lookup: Lookup, deadline: float) -> Answer | None:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise KnowledgeError("budget_spent")
    try:
        answer = await asyncio.wait_for(source.lookup(lookup), left_s)
    except asyncio.TimeoutError:
        raise KnowledgeError("budget_spent: no answer within the budget of this response") from None
    if answer is not None and not isinstance(answer, Answer):
        raise TypeError(f"source {source.name!r} answered {type(answer).__name__}; expected Answer or None")
    return answer


async def _near(source: KnowledgeSource, lookup: Lookup, deadline: float) -> tuple[str, ...]:
    """What the source has that resembles the value; empty if there is no time, or the search fails: it is a hint."""
    try:
        return tuple(await asyncio.wait_for(source.near(lookup), max(0.0, deadline - time.monotonic())))
    except asyncio.TimeoutError:
        return ()
    except Exception as error:  # boundary, as above
        log.warning("evidencerails: source %s has no near values: %s", source.name, traceback_summary(error))
        return ()
