"""Logic: what the answer computes is computed again, and its chains of reasoning are audited.

In: an exchange; only its response is computed. Out: a finding for each statement that is wrong (`computed_statements`)
and each conclusion that does not follow (`reasoning`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from evidencerails.checks.base import CheckContext, concluded
from evidencerails.checks.logic.dates import dates_and_times
from evidencerails.checks.logic.formulas import formulas
from evidencerails.checks.logic.orderings import contradictory_orderings
from evidencerails.checks.logic.reasoning import (
    Audit,
    Step,
    audit_with_judge,
    audit_with_nli,
    steps_of,
    with_form_faults,
)
from evidencerails.checks.logic.skeleton import Convention, Skeleton
from evidencerails.checks.logic.statements import Statement, is_asserted, masked, sentences
from evidencerails.checks.logic.sums import sums_in_words
from evidencerails.checks.logic.syllogisms import form_faults
from evidencerails.exchange import Exchange, Span
from evidencerails.report import CheckResult, Finding
from evidencerails.settings.structure import LogicSettings
from evidencerails.text.language import unknown_language

RULE_LANGUAGES = ("en",)
"""Languages whose words the rules know; formulas are read in any."""
MAX_CHARACTERS = 100_000
"""Of a longer text only the beginning is computed, and the check says so."""
MAX_FINDINGS = 100
MAX_STEPS = 40
"""Steps of a response that are audited; the rest is reported as not audited."""
CERTAINTY = 0.97
"""Probability that a statement which was computed to be wrong is meant as it was read. The computing is exact; in the
reading `benchmarks/logic.py` finds no false alarm among its hundreds, and real answers are less tidy than those."""


class LogicCheck:
    """Arithmetic, percentages, dates and orderings by exact computation, reasoning by NLI or a judge.

    Nothing to compute and no conclusion: grounded, `nothing_to_compute`, as for answers without a claim. What was
    understood but could not be computed, text beyond the limit, and language that the rules do not know leave the
    answer unverified, unless an error was found.
    """

    name = "logic"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Compute and audit the response."""
        settings, response = context.config.logic, exchange.response
        statements = await context.nli.run(computed_statements, response, settings)
        steps = await context.nli.run(steps_of, response[:MAX_CHARACTERS]) if settings.audit != "off" else []
        language = await context.nli.run(unknown_language, response, RULE_LANGUAGES)
        audit = await _audit(steps[:MAX_STEPS], exchange, context)
        findings = _findings(statements, audit, response)
        gaps = [audit.stopped_by, next((s.reason for s in statements if s.is_right is None), "")]
        if len(response) > MAX_CHARACTERS:
            gaps.append(f"too_long: only the first {MAX_CHARACTERS} characters were read")
        if any(step.is_conclusion for step in steps[MAX_STEPS:]):
            gaps.append(f"too_many_steps: {MAX_STEPS} of {len(steps)} were audited")
        if language and not audit.stopped_by:
            gaps.append(f"{language}: only its formulas were read")
        gaps = list(filter(None, gaps))
        computed = f"{len(statements)} statements computed, {len(audit.verdicts)} steps audited"
        return concluded(
            self,
            findings,
            gaps,
            computed if statements or audit.verdicts else "nothing_to_compute",
            metrics=_metrics(statements, audit),
            details={
                "computed": dict(Counter(statement.kind for statement in statements)),
                "steps": len(steps),
                "audit": [
                    {"start": v.step.span.start, "end": v.step.span.end, "stand": v.stand, "reason": v.reason}
                    for v in audit.verdicts
                ],
                "not_checked": gaps,
            },
            version=f"{self.version}+{audit.version}" if audit.version else self.version,
        )


def computed_statements(response: str, settings: LogicSettings) -> list[Statement]:
    """Everything that a response states and that can be computed again, with what is wrong among it, in order.

    Where two readings of one span disagree, the one by which it is right counts.
    """
    text = masked(response[:MAX_CHARACTERS])
    found = [
        *(_computed(text) if settings.arithmetic else ()),
        *(dates_and_times(text) if settings.dates else ()),
        *(contradictory_orderings(text) if settings.orderings else ()),
    ]
    return _without_duplicates(found)


def _computed(text: str) -> Iterator[Statement]:
    """The sums of a masked text; with digits and separators each sentence is read in both conventions."""
    for start, end in sentences(text):
        conventions: Sequence[Convention] = (
            ("point", "comma") if re.search(r"\d[.,]\d", text[start:end]) else ("point",)
        )
        for convention in conventions:
            skeleton = Skeleton(text, start, end, convention)
            for one in (*formulas(skeleton), *sums_in_words(skeleton)):
                first, last = skeleton.span(one.start, one.end)
                if is_asserted(text, first, last):
                    yield one._replace(start=first, end=last)


def _without_duplicates(found: Iterable[Statement]) -> list[Statement]:
    kept: list[Statement] = []
    for one in sorted(found, key=lambda s: (s.start, -s.end)):
        same = next((k for k in kept if k.kind != "ordering" and one.kind != "ordering" and _is_same(k, one)), None)
        if same is None:
            kept.append(one)
        elif one.is_right and not same.is_right:
            kept[kept.index(same)] = one
    return kept


def _is_same(one: Statement, two: Statement) -> bool:
    """True if both end at the same place, or share most of the shorter one: then they are about one result."""
    shared = min(one.end, two.end) - max(one.start, two.start)
    return shared > 0 and (one.end == two.end or shared >= 0.8 * min(one.end - one.start, two.end - two.start))


async def _audit(steps: Sequence[Step], exchange: Exchange, context: CheckContext) -> Audit:
    if not any(step.is_conclusion for step in steps):
        return Audit()
    if context.config.logic.audit == "judge":
        audit = await audit_with_judge(steps, exchange, context)
    elif reason := await context.nli.run(unknown_language, exchange.response, context.nli.languages):
        return Audit(stopped_by=reason)
    else:
        audit = await audit_with_nli(steps, context)
    conclusions = [place for place, step in enumerate(steps) if step.is_conclusion]
    faults = await context.nli.run(form_faults, [step.text for step in steps], conclusions)
    return with_form_faults(audit, steps, faults)


def _findings(statements: Sequence[Statement], audit: Audit, response: str) -> list[Finding]:
    """The wrong statements, and the steps that do not follow, without those that a computation has found already."""
    wrong = [s for s in statements if s.is_right is False]
    found = [(Span.of(response, s.start, s.end), s.reason, str(s.kind), CERTAINTY) for s in wrong]
    for verdict in audit.verdicts:
        span = verdict.step.span
        is_computed = any(s.start < span.end and s.end > span.start for s in wrong)
        if verdict.stand in ("contradicted", "invalid") and not is_computed:
            found.append((span, verdict.reason, "invalid_step", verdict.score or 0.0))
    return [
        Finding(
            kind="logic_error",
            category="logical",
            severity="medium",
            origin="intrinsic",
            span=span,
            reason=reason,
            score=score,
            check=LogicCheck.name,
            version=LogicCheck.version,
            violation=violation,
        )
        for span, reason, violation, score in sorted(found, key=lambda one: one[0].start)[:MAX_FINDINGS]
    ]


def _metrics(statements: Sequence[Statement], audit: Audit) -> dict[str, float]:
    metrics = {"logic_statements": float(len(statements))}
    if audit.verdicts:
        follows = sum(verdict.stand == "follows" for verdict in audit.verdicts)
        metrics["logic_steps"] = float(len(audit.verdicts))
        metrics["logic_steps_shown"] = follows / len(audit.verdicts)
    return metrics
