"""What a check says: claims, findings and the report, as plain immutable values."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from evidencerails.errors import redact_external_text
from evidencerails.exchange import Span, Stakes, Value

Status = Literal["grounded", "hallucinated", "unverified"]
CheckStatus = Literal["grounded", "hallucinated", "unverified", "skipped"]
Label = Literal["supported", "partially_supported", "contradicted", "absent", "unevaluatable"]
ErrorType = Literal[
    "number",
    "entity",
    "false_concatenation",
    "attribution_failure",
    "overgeneralization",
    "reasoning",
    "hyperbole",
    "temporal",
    "context_based_meaning",
    "other",
]
FindingKind = Literal[
    "unsupported_claim",
    "inconsistent_samples",
    "intrinsic_contradiction",
    "prompt_output_divergence",
    "factual_fabrication",
    "tool_call_hallucination",
    "citation_violation",
    "structure_violation",
    "logic_error",
]
Category = Literal["factual", "logical", "contextual", "confabulatory", "structural"]
Severity = Literal["low", "medium", "high", "critical"]
Origin = Literal["intrinsic", "extrinsic"]
Decision = Literal["allow", "annotate", "warn", "regenerate", "abstain", "escalate", "block", "raise"]
Redaction = Literal["off", "hash", "drop"]
RepairStatus = Literal["repaired", "not_converged", "refused", "unverified", "failed", "no_model", "nothing_to_repair"]
Verified = Literal["upheld", "refuted", "unanswered"]
ReviewTier = Literal["asynchronous", "synchronous", "blocking"]
ReviewState = Literal["pending", "approved", "rejected", "edited", "expired", "unavailable"]
RiskLevel = Literal["low", "medium", "high"]
RootCause = Literal[
    "knowledge_gap",
    "staleness",
    "distribution_shift",
    "context_overflow",
    "retrieval_miss",
    "retrieval_noise",
    "stale_evidence",
    "poisoned_evidence",
    "prompt_ambiguity",
]

DECISIONS: tuple[Decision, ...] = ("allow", "annotate", "warn", "regenerate", "abstain", "escalate", "block", "raise")
"""From mild to severe."""
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")
REPORT_SCHEMA_VERSION = 1
MAX_PLAIN_BYTES = 32_000
"""Upper bound of `Report.plain()`, so that `$hallucination_report` stays fit for `output_vars`."""
PASS_EVIDENCE = "; pass the sources as `evidence`"
"""Ends a reason `no_evidence`; a caller that takes evidence in another way puts its own words in this place."""
JUDGED_BY_MODEL = "llm:"
"""How the `method` of a claim begins whose label and reason are a language model's; the model's name follows."""


class Quote(Value):
    """The words of one passage that decided a claim; offsets count in that passage's text."""

    passage_id: str
    source: str | None = None
    span: Span
    score: float = Field(ge=0.0, le=1.0)
    """Probability of the relation that made this quote the decisive one."""


class NliScores(Value):
    """Probabilities of the three NLI relations for the deciding evidence window; they sum to 1."""

    entailment: float
    neutral: float
    contradiction: float


class Claim(Value):
    """The smallest checkable unit of a response and its verdict."""

    text: str
    span: Span
    spans: tuple[Span, ...] = ()
    """The parts of `span` that carry the claim, where words of other claims stand between; empty if all of it does."""
    label: Label
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Calibrated probability that the claim is NOT supported; None if it could not be evaluated."""
    error_types: tuple[ErrorType, ...] = ()
    evidence: tuple[Quote, ...] = ()
    reason: str = ""
    method: str = ""
    version: str = ""
    nli: NliScores | None = None
    parts: dict[str, float] = Field(default_factory=dict)
    """What moved the score: part name -> contribution in log-odds (positive = towards 'not supported')."""


class Cause(Value):
    """One thing that may have led to a finding."""

    cause: RootCause
    weight: float = Field(ge=0.0, le=1.0)
    """How strong its signs are; not a probability."""
    reason: str
    passage_id: str | None = None
    """The passage that it is about."""
    position: float | None = Field(default=None, ge=0.0, le=1.0)
    """Where that passage stands in the context, from 0 (its beginning) to 1; given for `context_overflow`."""


class Finding(Value):
    """One problem in a response."""

    kind: FindingKind
    category: Category
    severity: Severity
    origin: Origin
    span: Span | None = None
    reason: str
    evidence: tuple[Quote, ...] = ()
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Probability that this is a real problem; higher is worse."""
    check: str
    version: str
    label: Label | None = None
    """Label of the claim behind an `unsupported_claim`."""
    error_types: tuple[ErrorType, ...] = ()
    violation: str | None = None
    """What exactly was violated, for kinds that have several (citations, structure, tool calls)."""
    severity_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Weighted propagation risk, inverse detectability and consequence; `severity` bands it."""
    verification: Verified | None = None
    """What the chain of verification says about the claim behind it; None if it was not asked."""
    causes: tuple[Cause, ...] = ()
    """What may have led to it, the likeliest first; empty if no sign of any cause was found."""


class CheckResult(Value):
    """What one check said; `skipped` = it had nothing to do."""

    name: str
    status: CheckStatus
    reason: str = ""
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """The check's own calibrated probability that the response is not sound; None unless it ran to the end."""
    claims: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()
    metrics: dict[str, float] = Field(default_factory=dict)
    details: dict[str, Any] = Field(default_factory=dict)
    """Plain data for people and later tools: coverage, samples drawn, method, error."""
    version: str = ""
    duration_ms: float = Field(default=0.0, ge=0.0)


class LlmUsage(Value):
    """LLM work one report cost."""

    calls: int = 0
    round_trips: int = 0
    """Sequential waits on the critical path: concurrent calls count once."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    saved_calls: int = 0


class Change(Value):
    """One part of a response that a repair rewrote; an empty `after` took it out."""

    before: Span
    after: str
    reason: str
    """Of the findings in it."""


class Repair(Value):
    """What became of the attempt to repair a response; the report's findings are those of the response before it."""

    status: RepairStatus
    reason: str = ""
    text: str | None = None
    """The repaired response; None unless it was repaired."""
    rounds: int = 0
    diff: str = ""
    """Unified diff of response and repaired text, a sentence a line."""
    changes: tuple[Change, ...] = ()
    flagged: int = 0
    """Flagged findings before the first round."""
    remaining: int = 0
    """Flagged findings after the last round."""
    decision: Decision = "allow"
    """What the repaired text gets: `allow`, or a milder decision such as a warning for what is still open."""
    findings: tuple[Finding, ...] = ()
    """Findings about the repaired text; their spans count in it."""
    checks: dict[str, CheckStatus] = Field(default_factory=dict)
    """Status of each check on the repaired text."""


class VerifiedClaim(Value):
    """One claim, put to the chain of verification."""

    claim: str
    span: Span
    question: str = ""
    answer: str = ""
    outcome: Verified
    reason: str = ""
    evidence: tuple[Quote, ...] = ()
    expected_severity: float = Field(ge=0.0, le=1.0)


class Abstention(Value):
    """How sure the answer is, in four parts, and what follows."""

    action: Literal["answer", "partial", "abstain"]
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    """Weighted mean of the parts that were measured; None if none was."""
    parts: dict[str, float] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Parts that were not measured; they counted nothing."""
    reasons: tuple[str, ...] = ()
    message: str = ""
    """What the user is shown in place of the answer."""


class Gate(Value):
    """What the quality gate found."""

    passed: bool | None
    """None if there was no score to compare."""
    scores: dict[str, float] = Field(default_factory=dict)
    limits: dict[str, float] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Scores, and parts of the composite score, that were not measured; none of them counted as good."""


class Review(Value):
    """What became of an answer that was handed to a person."""

    id: str = ""
    """Of the item in the review queue; empty if it could not be queued."""
    tier: ReviewTier
    state: ReviewState
    """`pending` while nobody has decided; `expired` if nobody did in time; `unavailable` if there is no queue."""
    risk: float = Field(ge=0.0, le=1.0)
    """stakes * (1 - confidence)."""
    reviewer: str | None = None
    reason: str = ""


SHOWN_CHARACTERS = 160
"""Of a claim or its evidence in a printed report."""


class Report(Value):
    """The whole verdict on one response."""

    id: str = ""
    """Under which the store keeps the report; empty if none keeps it."""
    status: Status
    reason: str = ""
    decision: Decision = "allow"
    decided_by: str = ""
    """Which rule made the decision: a policy's number, `default`, `on_unverified` or `grounded`."""
    hallucination_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Calibrated probability that at least one claim is not supported; None when unverified."""
    risk_level: RiskLevel | None = None
    claims: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: dict[str, CheckResult] = Field(default_factory=dict)
    metrics: dict[str, float] = Field(default_factory=dict)
    timings_ms: dict[str, float] = Field(default_factory=dict)
    """Of each check, of each measure as `measure_<name>`, and `total`; what runs at the same time overlaps."""
    llm: LlmUsage = Field(default_factory=LlmUsage)
    stakes: Stakes = "medium"
    answer: str | None = None
    """What the user gets in the place of the response, such as a repaired text; None if the response stays."""
    repair: Repair | None = None
    verification: tuple[VerifiedClaim, ...] = ()
    abstention: Abstention | None = None
    gate: Gate | None = None
    review: Review | None = None
    root_causes: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Likeliest cause of the findings -> their category -> how many."""
    evidence_from: str | None = None
    version: str = ""
    schema_version: int = REPORT_SCHEMA_VERSION

    @property
    def is_blocked(self) -> bool:
        """True if the decision keeps the response from the user; a repair that did not come off does."""
        if self.decision == "regenerate":
            return self.answer is None
        return self.decision in ("abstain", "escalate", "block", "raise")

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """What a terminal shows of a report: the verdict, and how many claims and findings it has."""
        shown = ("status", "decision", "hallucination_score", "risk_level")
        yield from ((name, getattr(self, name)) for name in shown)
        yield from (("claims", len(self.claims)), ("findings", len(self.findings)))

    def __str__(self) -> str:
        """The verdict, and each claim that is not supported with its deciding evidence, a line each."""
        score = "" if self.hallucination_score is None else f", hallucination score {self.hallucination_score:.2f}"
        lines = [f"{self.status}{score}, decision {self.decision}" + (f": {self.reason}" if self.reason else "")]
        for claim in (one for one in self.claims if one.label != "supported"):
            quotes = [_shortened(quote.span.text, SHOWN_CHARACTERS) for quote in claim.evidence[:1]]
            said = f" (evidence: {quotes[0]!r})" if quotes else ""
            lines.append(f"  {claim.label}: {_shortened(claim.text, SHOWN_CHARACTERS)!r}{said}")
        lines += [f"  {one.kind}: {one.reason!r}" for one in self.findings if one.kind != "unsupported_claim"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """How a notebook shows the report: marked words, claims, evidence."""
        from evidencerails.report_page import notebook_view

        return notebook_view(self)

    def plain(
        self, *, max_bytes: int | None = MAX_PLAIN_BYTES, redaction: Redaction = "off", expose_evidence: bool = True
    ) -> dict[str, Any]:
        """The report as JSON-ready data of at most `max_bytes` bytes (None: whole), for all that leaves the process.

        Claims and findings stand once, at the top; what did not fit is counted under `truncated`. `redaction` replaces
        every answer and evidence text by its hash, or leaves it out; without `expose_evidence` none of the evidence's
        words are in it.
        """
        data = self.model_dump(mode="json")
        for check in data["checks"].values():
            check.pop("claims"), check.pop("findings")
        if redaction != "off" or not expose_evidence:
            _redact(data, redaction, expose_evidence)
        return data if max_bytes is None else _fit(data, max_bytes)


def text_hash(text: str) -> str:
    """A stand-in for a text that may not be shown: the same text gives the same one."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def reason_code(reason: str) -> str:
    """The code of a reason and its first word, as in `check_failed: LlmTimeoutError`; what follows may quote text."""
    parts = [part.strip() for part in reason.split(": ")]
    return ": ".join(parts[:2])[:120].replace("\n", " ")


def _redact(data: dict[str, Any], redaction: Redaction, expose_evidence: bool) -> None:
    if not expose_evidence:
        _hide_what_may_quote_evidence(data)
    repair = data["repair"] or {"findings": (), "changes": ()}
    for item in (*data["claims"], *data["findings"], *repair["findings"], *data["verification"]):
        for quote in item["evidence"]:
            if not expose_evidence:
                quote["span"].pop("text"), quote.pop("source")
            elif redaction != "off":
                _replace(quote["span"], "text", redaction)
        if redaction != "off":
            spans = [(span, "text") for span in (item.get("span") or {}, *item.get("spans", ()))]
            for holder, key in ((item, "text"), (item, "reason"), *spans):
                _replace(holder, key, redaction)
    if redaction != "off":
        _redact_mitigation(data, redaction)
        for check in data["checks"].values():
            check["details"] = {k: v for k, v in check["details"].items() if isinstance(v, (int, float, bool))}
            check["reason"] = reason_code(check["reason"])
        named = [f"{name}: {check['reason']}" for name, check in data["checks"].items() if check["reason"]]
        data["reason"] = "; ".join(named)


def _redact_mitigation(data: dict[str, Any], redaction: Redaction) -> None:
    """Texts of repair, verification and abstention; the user's own view of them is none of a report's business."""
    repair = data["repair"] or {"changes": ()}
    holders = [(data, "answer"), (repair, "text"), (repair, "diff"), (repair, "reason")]
    holders += [(data["abstention"] or {}, "message")]
    for change in repair["changes"]:
        holders += [(change["before"], "text"), (change, "after"), (change, "reason")]
    for verified in data["verification"]:
        holders += [(verified, key) for key in ("claim", "question", "answer")]
    for holder, key in holders:
        if holder.get(key):
            _replace(holder, key, redaction)


def _hide_what_may_quote_evidence(data: dict[str, Any]) -> None:
    """A model explains its verdict in words of the evidence, a provider may quote what it was sent, and the list of
    contradicted sentences is nothing else."""
    for check in data["checks"].values():
        data["reason"] = data["reason"].replace(check["reason"], redact_external_text(check["reason"]))
        check["details"] = _redact_external_text(check["details"])
    for holder in (data, *data["checks"].values(), *data["claims"], *data["findings"]):
        holder["reason"] = redact_external_text(holder["reason"])
    redacted = {c["reason"]: _without_explanation(c) for c in data["claims"] if c["method"].startswith(JUDGED_BY_MODEL)}
    for item in (*data["findings"], *data["claims"]):
        item["reason"] = redacted.get(item["reason"], item["reason"])
    for holder in (data, *data["checks"].values()):
        for reason, shown in redacted.items():
            holder["reason"] = holder["reason"].replace(reason, shown)
    for check in data["checks"].values():
        for row in check["details"].get("contradicted_evidence", ()):
            row.pop("sentence", None)
    for verified in data["verification"]:
        verified.pop("answer")
    for item in (data["repair"] or {"changes": ()})["changes"]:
        item["reason"] = redacted.get(item["reason"], item["reason"])


def _redact_external_text(value: Any) -> Any:
    if isinstance(value, str):
        return redact_external_text(value)
    if isinstance(value, dict):
        return {key: _redact_external_text(item) for key, item in value.items()}
    return [_redact_external_text(item) for item in value] if isinstance(value, list) else value


def _without_explanation(claim: dict[str, Any]) -> str:
    """Why a verdict was not believed, or only what it was."""
    is_code = re.match(r"[a-z]+(_[a-z]+)+: ", claim["reason"])
    return str(claim["reason"].split("; ")[0]) if is_code else f"{claim['method']} says {claim['label']}"


def _replace(holder: dict[str, Any], key: str, redaction: Redaction) -> None:
    if key in holder and redaction == "hash":
        holder[key] = text_hash(holder[key])
    else:
        holder.pop(key, None)


def _size(data: dict[str, Any]) -> int:
    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _shortened(reason: str, limit: int = 500) -> str:
    return reason if len(reason) <= limit else reason[: limit - 1] + "…"


def _fit(data: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """Drop the least needed items until the data fits: check details first, then claims and findings, mild ones first.

    What is kept stays in its order.
    """
    if _size(data) <= max_bytes:
        return data
    items = sorted(
        (_mildness(item), name, place) for name in ("findings", "claims") for place, item in enumerate(data[name])
    )
    everything = {name: data[name] for name in ("claims", "findings")}
    data["truncated"] = {"claims": 0, "findings": 0}
    for holder in (data, *data["checks"].values()):
        holder["reason"] = _shortened(holder.get("reason", ""))
    for check in data["checks"].values():
        check["details"] = {}
    _shrink_mitigation(data)

    def keep(count: int) -> bool:
        """Leave the `count` items that matter most in the data; true if it fits then."""
        kept = {(name, place) for _, name, place in items[:count]}
        for name, whole in everything.items():
            data[name] = [item for place, item in enumerate(whole) if (name, place) in kept]
            data["truncated"][name] = len(whole) - len(data[name])
        return _size(data) <= max_bytes

    most = bisect_left(range(len(items) + 1), True, key=lambda count: not keep(count)) - 1
    keep(max(0, most))
    return data


def _shrink_mitigation(data: dict[str, Any]) -> None:
    """Leave outcomes and counts of repair and verification, and no texts but the answer's."""
    if data["repair"]:
        data["repair"].update(diff="", changes=[], findings=[], text=None)
    data["verification"] = []
    if len((data["answer"] or "").encode("utf-8", "surrogatepass")) > MAX_PLAIN_BYTES // 2:
        data["answer"] = None


_LABEL_SEVERITY: dict[str, Severity] = {"contradicted": "high", "absent": "medium", "partially_supported": "low"}


def _mildness(item: dict[str, Any]) -> tuple[int, bool, float]:
    """Low for what matters most: by severity, findings before claims, then by score; supported claims come last."""
    severity = item.get("severity") or _LABEL_SEVERITY.get(item["label"])
    rank = SEVERITIES.index(severity) + 1 if severity else int(item["label"] == "unevaluatable")
    return -rank, "severity" not in item, -(item["score"] or 0.0)
