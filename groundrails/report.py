"""What a check says: claims, findings and the report, as plain immutable values."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from typing import Any, Literal

from pydantic import Field

from groundrails.exchange import Span, Value

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
RiskLevel = Literal["low", "medium", "high"]

DECISIONS: tuple[Decision, ...] = ("allow", "annotate", "warn", "regenerate", "abstain", "escalate", "block", "raise")
"""From mild to severe."""
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")
REPORT_SCHEMA_VERSION = 1
MAX_PLAIN_BYTES = 32_000
"""Upper bound of `Report.plain()`, so that `$hallucination_report` stays fit for `output_vars` (DESIGN, report)."""
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


class Report(Value):
    """The whole verdict on one response."""

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
    llm: LlmUsage = Field(default_factory=LlmUsage)
    evidence_from: str | None = None
    version: str = ""
    schema_version: int = REPORT_SCHEMA_VERSION

    @property
    def is_blocked(self) -> bool:
        """True if the decision keeps the response from the user."""
        return self.decision in ("abstain", "escalate", "block", "raise")

    def plain(
        self, *, max_bytes: int = MAX_PLAIN_BYTES, redaction: Redaction = "off", expose_evidence: bool = True
    ) -> dict[str, Any]:
        """The report as JSON-ready data of at most `max_bytes` bytes, for all that leaves the process.

        Claims and findings stand once, at the top; what did not fit is counted under `truncated`. `redaction` replaces
        every answer and evidence text by its hash, or leaves it out; without `expose_evidence` none of the evidence's
        words are in it.
        """
        data = self.model_dump(mode="json")
        for check in data["checks"].values():
            check.pop("claims"), check.pop("findings")
        if redaction != "off" or not expose_evidence:
            _redact(data, redaction, expose_evidence)
        return _fit(data, max_bytes)


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
    for item in (*data["claims"], *data["findings"]):
        for quote in item["evidence"]:
            if not expose_evidence:
                quote["span"].pop("text"), quote.pop("source")
            elif redaction != "off":
                _replace(quote["span"], "text", redaction)
        if redaction != "off":
            for holder, key in ((item, "text"), (item, "reason"), (item.get("span") or {}, "text")):
                _replace(holder, key, redaction)
    if redaction != "off":
        for check in data["checks"].values():
            check["details"] = {k: v for k, v in check["details"].items() if isinstance(v, (int, float, bool))}
            check["reason"] = reason_code(check["reason"])
        named = [f"{name}: {check['reason']}" for name, check in data["checks"].items() if check["reason"]]
        data["reason"] = "; ".join(named)


def _hide_what_may_quote_evidence(data: dict[str, Any]) -> None:
    """A model explains its verdict in words of the evidence; the list of contradicted sentences is nothing else."""
    told = {c["reason"]: _without_explanation(c) for c in data["claims"] if c["method"].startswith(JUDGED_BY_MODEL)}
    for item in (*data["findings"], *data["claims"]):
        item["reason"] = told.get(item["reason"], item["reason"])
    for holder in (data, *data["checks"].values()):
        for reason, shown in told.items():
            holder["reason"] = holder["reason"].replace(reason, shown)
    for check in data["checks"].values():
        for row in check["details"].get("contradicted_evidence", ()):
            row.pop("sentence", None)


def _without_explanation(claim: dict[str, Any]) -> str:
    """Why a verdict was not believed, or only what it was."""
    is_code = re.match(r"[a-z]+(_[a-z]+)+: ", claim["reason"])
    return str(claim["reason"].split("; ")[0]) if is_code else f"{claim['method']} says {claim['label']}"


def _replace(holder: dict[str, Any], key: str, redaction: Redaction) -> None:
    if key in holder:
        if redaction == "hash":
            holder[key] = text_hash(holder[key])
        else:
            del holder[key]


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


_LABEL_SEVERITY: dict[str, Severity] = {"contradicted": "high", "absent": "medium", "partially_supported": "low"}


def _mildness(item: dict[str, Any]) -> tuple[int, bool, float]:
    """Low for what matters most: by severity, findings before claims, then by score; supported claims come last."""
    severity = item.get("severity") or _LABEL_SEVERITY.get(item["label"])
    rank = SEVERITIES.index(severity) + 1 if severity else int(item["label"] == "unevaluatable")
    return -rank, "severity" not in item, -(item["score"] or 0.0)
