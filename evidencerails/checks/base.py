"""What every check offers and what it is given. No check knows which source called it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evidencerails.config import GuardConfig
from evidencerails.exchange import Exchange
from evidencerails.report import CheckResult

if TYPE_CHECKING:
    from evidencerails.checks.knowledge.sources import Sources
    from evidencerails.llm.cache import ReplyCache
    from evidencerails.llm.prompts import PromptLibrary
    from evidencerails.llm.sampling import Sampler
    from evidencerails.llm.session import LlmSession
    from evidencerails.nli.exchange_nli import ExchangeNli


@dataclass(frozen=True, kw_only=True)
class CheckContext:
    """What a check may use beside the exchange."""

    config: GuardConfig
    nli: ExchangeNli
    """Shared by the checks of one exchange: none has a pair scored that another has asked about."""
    prompts: PromptLibrary
    llm: LlmSession | None = None
    """The model that wrote the response, under this response's budget; None if there is none."""
    judge: LlmSession | None = None
    sampler: Sampler | None = None
    """Draws further samples of the response; the samples of one turn are drawn once."""
    cache: ReplyCache | None = None
    """Replies of judges that this guard has read before."""
    sources: Sources | None = None
    """Sources of knowledge that the settings name."""


class Check(Protocol):
    """One detector. An exception from `run` becomes an unverified result that carries the error."""

    name: str
    version: str

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check one exchange. Returns a result with status `skipped` if there is nothing to do."""
        ...
