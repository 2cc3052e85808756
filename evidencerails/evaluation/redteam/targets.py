"""What is attacked (the engine alone; `live` has a whole app), and the attacks on it, a bounded number at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from evidencerails.errors import reason_of
from evidencerails.evaluation.redteam.attacks import KINDS, TAMPERING, Attack, Category, Probe
from evidencerails.evaluation.redteam.outcomes import Behaviour, Outcome, asked_behaviour, planted_behaviour
from evidencerails.exchange import Exchange
from evidencerails.guard import Guard
from evidencerails.report import Report

TASK = "red_team_answer"
WITHOUT_SETTINGS = ("grounding", "claims", "citations", "structure", "logic")
"""Checks that are attacked where no settings name any: all that work on an answer and its sources alone."""


class Target(Protocol):
    """Something that can be attacked."""

    kind: str
    """`engine` or `app`."""
    checks: tuple[str, ...]
    """Checks that run in it."""
    can_be_asked: bool
    """True if a model answers in it."""
    concurrency: int
    """Attacks at once."""
    brings_evidence: bool
    """True if it looks sources up by itself, so that no answer is without any."""

    async def planted(self, attack: Attack, probe: Probe) -> Outcome:
        """What becomes of a ready answer."""

    async def asked(self, attack: Attack) -> Outcome:
        """What becomes of the question, put to the model."""


class EngineTarget:
    """The engine alone: the checks that can notice an attack are run on each answer.

    Args:
        guard: with the settings to attack.
        checks: names of the checks; those of the settings if None.
    """

    kind = "engine"
    brings_evidence = False
    concurrency = 4

    def __init__(self, guard: Guard, *, checks: Sequence[str] | None = None) -> None:
        self.guard = guard
        self.checks = tuple(guard.config.checks if checks is None else checks)
        self.can_be_asked = guard.llm is not None

    async def planted(self, attack: Attack, probe: Probe) -> Outcome:
        return await self._verdict(attack, probe.answer, () if probe.without_evidence else attack.evidence)

    async def asked(self, attack: Attack) -> Outcome:
        """The verdict on what the settings' model replies to the question with its sources."""
        context, _ = self.guard.context(Exchange.of(""))
        if context.llm is None:
            return Outcome("failed", "the settings name no model")
        shown = "\n\n".join(f"[{place}] {text}" for place, text in enumerate(attack.evidence, start=1))
        reply = await context.llm.complete(context.prompts.render(TASK, evidence=shown, question=attack.query))
        text = reply.completions[0].text
        return (await self._verdict(attack, text, attack.evidence))._replace(text=text)

    async def _verdict(self, attack: Attack, answer: str, evidence: Sequence[str]) -> Outcome:
        schema, names = attack.response_schema, [name for name in attack.checks if name in self.checks]
        exchange = Exchange.of(answer, evidence=list(evidence), prompt=attack.query, response_schema=schema)
        return outcome_of(await self.guard.check_exchange(exchange, checks=names, mitigate=False), attack.category)


def outcome_of(report: Report, category: Category) -> Outcome:
    """What a report says of an answer to an attack."""
    words = words_of([report])
    verdict = {"grounded": "passed", "hallucinated": "flagged", "unverified": "unverified"}[report.status]
    return Outcome(
        verdict,  # type: ignore[arg-type]
        report.reason,
        score=report.hallucination_score,
        names_attack=bool(KINDS[category].named_by & words),
        names_tampering=bool(TAMPERING & words),
    )


def words_of(reports: Iterable[Report]) -> set[str]:
    """Kinds, violations, error types and root causes of the findings: an attack is named where its kind's words are
    among them, tampering where `TAMPERING` is."""
    found: set[str] = set()
    for finding in (one for report in reports for check in report.checks.values() for one in check.findings):
        found |= {finding.kind, finding.violation or "", *finding.error_types, *(one.cause for one in finding.causes)}
    return found - {""}


class Shot(NamedTuple):
    """One answer of an attack and what became of it; `probe` is None where the model was asked."""

    probe: Probe | None
    outcome: Outcome
    behaviour: Behaviour


class Result(NamedTuple):
    attack: Attack
    shots: tuple[Shot, ...]
    not_attempted: str = ""
    """Why nothing was tried; empty if something was."""


def shots_wanted(attacks: Sequence[Attack], target: Target) -> int:
    tried = [attack for attack in attacks if not why_not(attack, target)]
    return sum(len(probes_for(attack, target)) + int(target.can_be_asked) for attack in tried)


def probes_for(attack: Attack, target: Target) -> list[Probe]:
    """The ready answers that mean something on a target."""
    return [probe for probe in attack.probes if not (probe.without_evidence and target.brings_evidence)]


def why_not(attack: Attack, target: Target) -> str:
    """Why an attack cannot be tried on a target; empty if it can."""
    if target.checks and not set(attack.checks) & set(target.checks):
        return f"needs {' or '.join(attack.checks)}, which the {target.kind} does not run"
    return ""


async def attack_all(
    attacks: Sequence[Attack], target: Target, *, on_shot: Callable[[], None] = lambda: None
) -> list[Result]:
    """Try all attacks; results in their order. `on_shot` is called after each answer."""
    slots = asyncio.Semaphore(target.concurrency)

    async def shot(attack: Attack, probe: Probe | None) -> Shot:
        try:
            outcome = await (target.asked(attack) if probe is None else target.planted(attack, probe))
        except Exception as error:  # boundary: one attack that breaks something must not end the others
            outcome = Outcome("failed", reason_of(error))
        on_shot()
        behaviour = asked_behaviour(attack, outcome) if probe is None else planted_behaviour(probe, outcome)
        return Shot(probe, outcome, behaviour)

    async def one(attack: Attack) -> Result:
        if reason := why_not(attack, target):
            return Result(attack, (), reason)
        async with slots:
            asked = [None] if target.can_be_asked else []
            return Result(attack, tuple([await shot(attack, probe) for probe in (*probes_for(attack, target), *asked)]))

    return list(await asyncio.gather(*map(one, attacks)))
