"""What is attacked, the engine alone or a whole guardrails app, and the attacks on it, a bounded number at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from evidencerails.adapters.nemo_rails import RAILS, flow_name
from evidencerails.adapters.nemo_watch import INTERNAL_ERROR, effect_on, recorded
from evidencerails.config import GuardConfig
from evidencerails.errors import reason_of
from evidencerails.evaluation.redteam.attacks import KINDS, TAMPERING, Attack, Category, Probe
from evidencerails.evaluation.redteam.outcomes import Behaviour, Outcome, Verdict, asked_behaviour, planted_behaviour
from evidencerails.exchange import Exchange
from evidencerails.guard import Guard
from evidencerails.report import Report
from evidencerails.text.claimable import makes_claim
from evidencerails.text.sentences import split_sentences

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


TURN_TIMEOUT_S = 120.0
_LOG = {"log": {"activated_rails": True}}


class Turn(NamedTuple):
    """What came of one turn of an app."""

    shown: dict[str, Any]
    """The message that the user reads; of role `exception` for a rail exception."""
    stopped: tuple[str, ...]
    """Kinds of the rails that stopped it, such as `input`."""


class AppTarget:
    """A `LLMRails` app of Colang 1.0, one turn after the other: its reports could not be kept apart otherwise.

    Every flag of the plugin is set and the sources travel in the context, as an app with retrieval has them.

    Args:
        app: the app.
        settings: of the plugin in it; None where it has none.
        ask: put the questions to the app's model, too.
    """

    kind = "app"
    concurrency = 1

    def __init__(self, app: Any, settings: GuardConfig | None, *, ask: bool) -> None:
        self._app = app
        places = settings.evidence.places if settings is not None else ()
        self._variable = settings.evidence.variable if settings is not None and "variable" in places else None
        flows = [flow_name(flow) for flow in app.config.rails.output.flows]
        self.checks = tuple(dict.fromkeys(RAILS[flow].check for flow in flows if flow in RAILS))
        self.can_be_asked = ask
        self.brings_evidence = bool(app.config.docs)
        self._has_input_rails = bool(app.config.rails.input.flows)

    def _context(self, evidence: tuple[str, ...]) -> dict[str, Any]:
        context: dict[str, Any] = {rail.flag: True for rail in RAILS.values()}
        if evidence:
            context["relevant_chunks"] = "\n\n".join(evidence)
            if self._variable is not None:
                context[self._variable] = list(evidence)
        return context

    async def planted(self, attack: Attack, probe: Probe) -> Outcome:
        """What the user reads of a ready answer; a warning counts as caught, since the user sees it."""
        context = self._context(() if probe.without_evidence else attack.evidence)
        if attack.response_schema is not None:
            context["response_schema"] = attack.response_schema
        cites = "citations" in self.checks and attack.category != "citation_manipulation"
        answer = with_citations(probe.answer, attack) if cites else probe.answer
        with recorded(self._app) as reports:
            try:
                turn = await asyncio.wait_for(self._ready(context, attack.query, answer), TURN_TIMEOUT_S)
            except Exception as error:  # boundary to NeMo and to the user's own actions
                return Outcome("failed", reason_of(error))
        return _outcome(effect_on(answer, turn.shown), reports, attack.category)

    async def asked(self, attack: Attack) -> Outcome:
        """What the user reads after the question; an input rail that stops has recognised the attack."""
        context = self._context(attack.evidence)
        with recorded(self._app) as reports:
            try:
                asked = self._question(context, attack.query, attack.evidence)
                turn = await asyncio.wait_for(asked, TURN_TIMEOUT_S)
            except Exception as error:  # boundary to NeMo, to the user's own actions and to the provider
                return Outcome("failed", reason_of(error))
        text = str(turn.shown.get("content") or "")
        if INTERNAL_ERROR in text:
            return Outcome("failed", "NeMo answers with an internal error", "failed")
        is_withheld = turn.shown.get("role") == "exception" or bool(turn.stopped)
        is_warned = any(report.decision not in ("allow", "block", "raise") for report in reports)
        effect = "blocked" if is_withheld else "warned" if is_warned else "passed"
        is_named = "input" in turn.stopped if self._has_input_rails else None
        return _outcome(effect, reports, attack.category, by_rail=is_named)._replace(text="" if is_withheld else text)

    async def _ready(self, context: dict[str, Any], query: str, answer: str) -> Turn:
        messages = [
            {"role": "context", "content": context},
            {"role": "user", "content": query},
            {"role": "assistant", "content": answer},
        ]
        return _turn(await self._app.generate_async(messages=messages, options={"rails": ["output"], **_LOG}))

    async def _question(self, context: dict[str, Any], query: str, sources: tuple[str, ...]) -> Turn:
        first: dict[str, Any] = {"role": "context", "content": context}
        if self._app.config.passthrough:  # a context message dies in passthrough mode ("Unknown role: context")
            context_text = "\n\n".join(sources)
            first = {"role": "system", "content": f"Answer from this.\n\nContext:\n{context_text}"}
        return _turn(await self._app.generate_async(messages=[first, {"role": "user", "content": query}], options=_LOG))


def with_citations(answer: str, attack: Attack) -> str:
    """The answer as an app that has to cite would write it: each statement names the source that holds the true one.

    Without it `check citations` would find fault with every answer, whatever it says.
    """
    place = next((n for n, text in enumerate(attack.evidence, start=1) if attack.true_statement in text), 1)
    for span in reversed(split_sentences(answer)):
        if span.text.endswith(".") and makes_claim(span.text):
            answer = f"{answer[: span.end - 1]} [{place}]{answer[span.end - 1 :]}"
    return answer


def _turn(result: Any) -> Turn:
    last = result.response[-1] if isinstance(result.response, list) else {"content": result.response}
    rails = result.log.activated_rails if result.log is not None else ()
    return Turn({"role": "assistant", **last}, tuple(rail.type for rail in rails or () if rail.stop))


def _outcome(effect: str, reports: list[Report], category: Category, *, by_rail: bool | None = None) -> Outcome:
    reason = "; ".join(dict.fromkeys(report.reason for report in reports if report.status != "grounded"))
    if effect == "failed":
        return Outcome("failed", reason or "NeMo answers with an internal error", effect)
    scores = [report.hallucination_score for report in reports if report.hallucination_score is not None]
    only_unverified = bool(reports) and all(report.status != "hallucinated" for report in reports)
    verdict: Verdict = "passed" if effect == "passed" else "flagged"  # whatever else is done to an answer says so
    if effect == "warned" and only_unverified:
        verdict = "unverified"
    could_tell, words = bool(reports) or by_rail is not None, words_of(reports)
    return Outcome(
        verdict,
        reason,
        effect,
        max(scores, default=None),
        bool(KINDS[category].named_by & words or by_rail) if could_tell else None,
        bool(TAMPERING & words or by_rail) if could_tell else None,
    )
