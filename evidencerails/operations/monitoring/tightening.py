"""What an exhausted error budget changes by itself: sampling up, thresholds tightened, more escalation. It only ever
tightens, and all of it ends when the budget has recovered."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from evidencerails.errors import StoreError
from evidencerails.operations.monitoring.monitor import budget_now
from evidencerails.settings.escalation import EscalationSettings, TierThresholds
from evidencerails.settings.mitigation import AbstentionSettings, QualityGateSettings
from evidencerails.settings.store import SampleRates, StoreSettings

if TYPE_CHECKING:
    from evidencerails.config import GroundingSettings, GuardConfig
    from evidencerails.operations.store.store import Store
    from evidencerails.settings.monitoring import WhenExhausted

log = logging.getLogger("evidencerails")

UNVERIFIED_STRICTNESS = ("allow", "warn", "escalate", "block", "raise")


def tightened(config: GuardConfig) -> GuardConfig:
    """The settings while the budget is exhausted: each is the stricter of the usual and the one for that time."""
    then = config.monitoring.budget.when_exhausted
    if then is None:
        return config
    changed = {
        "store": _store(config.store, then),
        "grounding": _grounding(config.grounding, then),
        "quality_gate": _gate(config.quality_gate, then),
        "abstention": _abstention(config.abstention, then),
        "escalation": _escalation(config.escalation, then),
        "on_unverified": max(
            config.on_unverified, then.on_unverified or config.on_unverified, key=UNVERIFIED_STRICTNESS.index
        ),
    }
    return config.model_copy(update=changed)


class BudgetWatch:
    """Looks at the budget now and then in a thread of its own; says which settings are in force.

    Until the first look, and while the store cannot be read, the settings stay as they were.
    """

    def __init__(self, config: GuardConfig, store: Store) -> None:
        self._usual, self._strict = config, tightened(config)
        self._store, self._settings = store, config.monitoring
        self._is_exhausted = False
        self._ends = threading.Event()
        self._lock = threading.Lock()
        self._process = 0

    @property
    def settings_in_force(self) -> GuardConfig:
        """The usual settings, or the tightened ones while the budget is exhausted. Never waits."""
        if self._process != os.getpid() and not self._ends.is_set():  # threads do not survive a fork
            self._start()
        return self._strict if self._is_exhausted else self._usual

    def look(self) -> bool:
        """Look now. Returns whether the budget is exhausted.

        Raises:
            StoreError: the store cannot be read.
        """
        budget = budget_now(self._store, self._settings)
        is_exhausted = budget.state == "exhausted"
        if is_exhausted != self._is_exhausted:
            state = "is exhausted: stricter" if is_exhausted else "has recovered: the usual"
            spent = f"{budget.spent:.1f} of {budget.allowed:.1f} spent"
            log.warning("evidencerails: the error budget %s settings hold (%s)", state, spent)
        self._is_exhausted = is_exhausted
        return is_exhausted

    def close(self) -> None:
        """Stop looking."""
        self._ends.set()

    def _start(self) -> None:
        with self._lock:
            if self._process == os.getpid():
                return
            self._process = os.getpid()
            threading.Thread(target=self._run, name="evidencerails-budget", daemon=True).start()

    def _run(self) -> None:
        while not self._ends.is_set():
            try:
                self.look()
            except StoreError as error:
                log.warning("evidencerails: the error budget cannot be read: %s", error)
            self._ends.wait(self._settings.budget.poll_interval_s)


def _store(settings: StoreSettings | None, then: WhenExhausted) -> StoreSettings | None:
    if settings is None or then.sample is None:
        return settings
    rates = {name: max(getattr(settings.sample, name), getattr(then.sample, name)) for name in SampleRates.model_fields}
    return settings.model_copy(update={"sample": SampleRates(**rates)})


def _grounding(settings: GroundingSettings, then: WhenExhausted) -> GroundingSettings:
    if then.max_unsupported_score is None:
        return settings
    from evidencerails.verdict.model import VerdictModel

    usual = settings.max_unsupported_score
    usual = VerdictModel.load().warn_from(settings.max_false_warnings) if usual is None else usual
    return settings.model_copy(update={"max_unsupported_score": min(usual, then.max_unsupported_score)})


def _gate(settings: QualityGateSettings, then: WhenExhausted) -> QualityGateSettings:
    limits = [x for x in (settings.max_hallucination_score, then.max_hallucination_score) if x is not None]
    return settings.model_copy(update={"max_hallucination_score": min(limits)}) if limits else settings


def _abstention(settings: AbstentionSettings, then: WhenExhausted) -> AbstentionSettings:
    if then.answer_from is None and then.partial_from is None:
        return settings
    partial_from = max(settings.partial_from, then.partial_from or 0.0)
    answer_from = max(settings.answer_from, then.answer_from or 0.0, partial_from)
    return settings.model_copy(update={"enabled": True, "answer_from": answer_from, "partial_from": partial_from})


def _escalation(settings: EscalationSettings | None, then: WhenExhausted) -> EscalationSettings | None:
    if settings is None or then.tiers is None:
        return settings
    both = (settings.tiers, then.tiers)
    tiers = {name: min(getattr(one, name) for one in both) for name in TierThresholds.model_fields}
    return settings.model_copy(update={"tiers": TierThresholds(**tiers)})
