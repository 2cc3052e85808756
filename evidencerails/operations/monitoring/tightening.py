"""What an exhausted error budget changes by itself: sampling up, thresholds tightened, more escalation. It only ever
tightens, and all of it ends when the budget has recovered."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from evidencerails.errors import StoreError
from evidencerails.operations.monitoring.monitor import budget_now
from evidencerails.report import DECISIONS
from evidencerails.settings.base import Section
from evidencerails.verdict.model import VerdictModel

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.operations.store.store import Store

log = logging.getLogger("evidencerails")

S = TypeVar("S", bound=Section)
POLL_S = 60.0
"""Between looks at the budget, off every turn."""


def tightened(config: GuardConfig) -> GuardConfig:
    """The settings while the budget is exhausted: each is the stricter of the usual and the one for that time."""
    then = config.monitoring.budget.when_exhausted
    if then is None:
        return config
    changed: dict[str, dict[str, Any]] = {}
    if config.store is not None and then.sample is not None:
        changed["store"] = {"sample": _each(max, config.store.sample, then.sample)}
    if config.escalation is not None and then.tiers is not None:
        changed["escalation"] = {"tiers": _each(min, config.escalation.tiers, then.tiers)}
    if then.max_unsupported_score is not None:
        usual = config.grounding.max_unsupported_score
        usual = VerdictModel.load().warn_from(config.grounding.max_false_warnings) if usual is None else usual
        changed["grounding"] = {"max_unsupported_score": min(usual, then.max_unsupported_score)}
    if then.max_hallucination_score is not None:
        usual = config.quality_gate.max_hallucination_score
        usual = 1.0 if usual is None else usual
        changed["quality_gate"] = {"max_hallucination_score": min(usual, then.max_hallucination_score)}
    if then.answer_from is not None:
        changed["abstention"] = {"enabled": True, "answer_from": max(config.abstention.answer_from, then.answer_from)}
    sections = {name: getattr(config, name).model_copy(update=values) for name, values in changed.items()}
    both = (config.on_unverified, then.on_unverified or config.on_unverified)
    return config.model_copy(update={**sections, "on_unverified": max(both, key=DECISIONS.index)})


def _each(stricter: Callable[[float, float], float], usual: S, then: S) -> S:
    fields = type(usual).model_fields
    return type(usual)(**{name: stricter(getattr(usual, name), getattr(then, name)) for name in fields})


class BudgetWatch:
    """Looks at the budget now and then in a thread of its own; says which settings are in force.

    Until the first look, and while the store cannot be read, the settings stay as they were.
    """

    def __init__(self, config: GuardConfig, store: Store) -> None:
        self._usual, self._strict = config, tightened(config)
        self._store = store
        self._is_exhausted = False
        self._ends = threading.Event()
        self._lock = threading.Lock()
        self._process = 0

    @property
    def settings_in_force(self) -> GuardConfig:
        """The usual settings, or the tightened ones while the budget is exhausted. Never waits."""
        if self._process != os.getpid() and not self._ends.is_set():  # threads do not survive a fork
            with self._lock:
                if self._process != os.getpid():
                    self._process = os.getpid()
                    threading.Thread(target=self._run, name="evidencerails-budget", daemon=True).start()
        return self._strict if self._is_exhausted else self._usual

    def close(self) -> None:
        self._ends.set()

    def _run(self) -> None:
        while not self._ends.is_set():
            try:
                self._look()
            except StoreError as error:
                log.warning("evidencerails: the error budget cannot be read: %s", error)
            self._ends.wait(POLL_S)

    def _look(self) -> None:
        budget = budget_now(self._store, self._usual.monitoring)
        is_exhausted = budget.state == "exhausted"
        if is_exhausted != self._is_exhausted:
            state = "is exhausted: stricter" if is_exhausted else "has recovered: the usual"
            spent = f"{budget.spent:.1f} of {budget.allowed:.1f} spent"
            log.warning("evidencerails: the error budget %s settings hold (%s)", state, spent)
        self._is_exhausted = is_exhausted
