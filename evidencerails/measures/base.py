"""What every measure offers and gives back. A measure scores claims; a check decides.

"Could not measure" is a value of its own: a score of None with its reason, never 0 and never 1.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import Field, model_validator

from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError, reason_of, traceback_summary
from evidencerails.exchange import Exchange, Span, Value
from evidencerails.measures.calibrated import calibrated
from evidencerails.report import Label, Quote

if TYPE_CHECKING:
    from evidencerails.llm.cache import ReplyCache
    from evidencerails.llm.prompts import PromptLibrary
    from evidencerails.llm.sampling import Sampler
    from evidencerails.llm.session import LlmSession
    from evidencerails.nli.service import ExchangeNli
    from evidencerails.text.sentences import Splitter

log = logging.getLogger("evidencerails.measures")


@dataclass(frozen=True, kw_only=True)
class MeasureContext:
    """What a measure may use beside the exchange."""

    config: GuardConfig
    nli: ExchangeNli
    """Shared by the checks and measures of one exchange: none has a pair scored that another has asked about."""
    prompts: PromptLibrary
    llm: LlmSession | None = None
    """The model that wrote the response, under this response's budget; None if there is none."""
    judge: LlmSession | None = None
    sampler: Sampler | None = None
    """Draws further samples of the response; the samples of one turn are drawn once."""
    cache: ReplyCache | None = None
    """Replies of judges that this guard has read before."""
    splitter: Splitter | None = None
    """Cuts a response into sentences, in place of our rules."""


class Statement(Protocol):
    """What a measure reads of a claim; `report.Claim` is one."""

    @property
    def text(self) -> str:
        """Standalone wording."""
        ...

    @property
    def span(self) -> Span:
        """The words of the response it came from."""
        ...


class ClaimScore(Value):
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """How much speaks for a hallucination: 0 nothing, 1 everything. None if it could not be measured."""
    reason: str = ""
    """Why there is no score; or what the score rests on."""
    label: Label | None = None
    """The label this measure alone would give, where it distinguishes labels."""
    evidence: tuple[Quote, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _missing_score_has_a_reason(self) -> ClaimScore:
        if self.score is None and not self.reason:
            raise ValueError("a claim without a score needs a reason")
        return self


class MeasureResult(Value):
    """What one measure says about one response."""

    name: str
    version: str
    claims: tuple[ClaimScore, ...] = ()
    """One for each claim, in their order."""
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Of the whole response, direction as for claims; None if nothing could be measured."""
    reason: str = ""
    """Why the score, or the score of some claims, is missing."""
    details: dict[str, Any] = Field(default_factory=dict)
    duration_ms: float = Field(default=0.0, ge=0.0)
    """From start to end, waiting for what it shares with other measures included."""

    @property
    def ran(self) -> bool:
        return self.score is not None or any(claim.score is not None for claim in self.claims)


class UnmeasuredError(EvidencerailsError):
    """Raised by a measure that has nothing to go by; the message is the reason in its result."""


class Measure(Protocol):
    """One way to score claims. It may raise: `run_measure` turns that into a result without scores."""

    name: str
    version: str
    """Raised whenever its scores may change; model and prompt versions are added in the result."""

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Score the claims of one exchange."""
        ...


def result_of(
    measure: Measure, claims: Iterable[ClaimScore], *, version: str = "", details: dict[str, Any] | None = None
) -> MeasureResult:
    """The result of a claim-level measure. Its response score is the worst claim's: none is averaged away.

    With some claims unmeasured the score is that of the others, and the reason says how many are missing.
    """
    scored = tuple(claims)
    missing = [claim.reason for claim in scored if claim.score is None]
    reasons = list(dict.fromkeys(missing))
    reason = f"{len(missing)} of {len(scored)} claims not measured: {', '.join(reasons)}" if missing else ""
    if len(missing) == len(scored) and len(reasons) < 2:
        reason = reasons[0] if reasons else "no_claims"
    return MeasureResult(
        name=measure.name,
        version=f"{measure.version}+{version}" if version else measure.version,
        claims=scored,
        score=max((claim.score for claim in scored if claim.score is not None), default=None),
        reason=reason,
        details=details or {},
    )


async def run_measure(
    measure: Measure, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext
) -> MeasureResult:
    """Run one measure; whatever goes wrong inside becomes a result without scores that carries the error."""
    started = time.perf_counter()
    try:
        found = await measure.measure(exchange, claims, context)
        how = context.config.calibration.methods.get(found.name)
        if how is not None and found.score is not None:
            found = found.model_copy(update={"score": calibrated(found.score, how)})
    except Exception as error:  # boundary to models and providers: a failure here must never read as a score
        if not isinstance(error, EvidencerailsError):
            log.error("measure %s failed: %s", measure.name, traceback_summary(error))
        reason = str(error) if isinstance(error, UnmeasuredError) else f"measure_failed: {reason_of(error)}"
        scores = tuple(ClaimScore(reason=reason) for _ in claims)
        found = MeasureResult(name=measure.name, version=measure.version, claims=scores, reason=reason)
    return found.model_copy(update={"duration_ms": (time.perf_counter() - started) * 1000})


async def run_measures(
    measures: Sequence[Measure], exchange: Exchange, claims: Sequence[Statement], context: MeasureContext
) -> tuple[MeasureResult, ...]:
    """Run several measures at the same time; results in their order."""
    return tuple(await asyncio.gather(*(run_measure(measure, exchange, claims, context) for measure in measures)))


def clipped(value: float) -> float:
    """The value moved into [0, 1]: float noise of a model may leave it by a hair."""
    return min(1.0, max(0.0, float(value)))
