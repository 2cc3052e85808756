"""What the plugin keeps for one `LLMRails`: its guard, its turns, the checks that run off the path."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from evidencerails.adapters.nemo_rails import unread_flags
from evidencerails.adapters.nemo_turn import Recent, Turn
from evidencerails.config import GuardConfig
from evidencerails.errors import traceback_summary
from evidencerails.exchange import Stakes
from evidencerails.guard import Guard
from evidencerails.llm.sampling import Sampler
from evidencerails.llm.session import CallAllowance
from evidencerails.report import Report

log = logging.getLogger("evidencerails")

_ATTRIBUTE = "evidencerails_plugin"
MAX_SHADOW_CHECKS = 100
"""Shadow checks that may wait; beyond that they are dropped, with a log line."""


class NemoPlugin:
    """The plugin's state for one app. Two apps in a process share nothing but the model session."""

    def __init__(self, app: Any, guard: Guard) -> None:
        self.app = app
        self.guard = guard
        self.turns: Recent[Turn] = Recent()
        self.samplers: Recent[Sampler] = Recent()
        self.allowances: Recent[CallAllowance] = Recent()
        self._shadow = ThreadPoolExecutor(1, thread_name_prefix="evidencerails-shadow")
        self._shadow_checks: set[Future[None]] = set()
        self._seed = random.random()
        self._warned: set[str] = set()

    @property
    def config(self) -> GuardConfig:
        return self.guard.config

    @property
    def bot_messages(self) -> Mapping[str, Sequence[str]]:
        """The app's bot messages by name; empty in Colang 2.x, where they are flows."""
        messages: Mapping[str, Sequence[str]] = self.app.config.bot_messages or {}
        return messages

    @property
    def search_knowledge_base(self) -> Callable[[str], Awaitable[Any]] | None:
        """Search of the app's knowledge base; None if it has none. NeMo builds it after `init`."""
        kb = self.app.runtime.registered_action_params.get("kb")
        return kb.search_relevant_chunks if kb is not None else None

    @property
    def streams_before_check(self) -> bool:
        """True if a streaming user sees each chunk before the rail does (NeMo's default)."""
        streaming = self.app.config.rails.output.streaming
        return bool(streaming and streaming.enabled and streaming.stream_first)

    @property
    def model_name(self) -> str | None:
        """The app's main model, by the name in its settings; None if it has none there."""
        return next((model.model for model in self.app.config.models if model.type == "main"), None)

    def check_in_shadow(
        self,
        check: Callable[..., Coroutine[Any, Any, Report]],
        record: Callable[[Report], None],
        *,
        stakes: Stakes | None = None,
        key: str | None = None,
    ) -> None:
        """Run a check off the path, in a thread with an event loop of its own: a caller of the synchronous `generate`
        stops its loop as soon as it has the answer. What still waits when the process ends is run to its end.

        Args:
            stakes: of the answer; `monitoring.shadow_sample` says which share of such answers is checked at all.
            key: of the turn, all rails of which are checked or none; drawn at random if None.
        """
        share = float(getattr(self.config.monitoring.shadow_sample, stakes or self.config.severity.stakes))
        if (random.random() if key is None else random.Random(f"{self._seed} {key}").random()) >= share:
            return
        if len(self._shadow_checks) >= MAX_SHADOW_CHECKS:
            log.warning("evidencerails: shadow check dropped: %d are waiting", MAX_SHADOW_CHECKS)
            return
        future = self._shadow.submit(_run_and_record, lambda: check(sampling_rate=share), record)
        self._shadow_checks.add(future)
        future.add_done_callback(self._shadow_checks.discard)

    def wait_for_shadow(self, timeout_s: float | None = None) -> None:
        """Block until the shadow checks that wait now are done."""
        for future in list(self._shadow_checks):
            future.result(timeout_s)

    def warn_of_shown_text(self) -> None:
        """Say once, loudly, that `stream_first` lets users read what the rails have not seen."""
        self._warn_once(
            "evidencerails: rails.output.streaming.stream_first is true (NeMo's default): in stream_async users "
            "read each chunk BEFORE it is checked, and a block only stops the rest. Set "
            "rails.output.streaming.stream_first: false, or use evidencerails.stream(rails, ...)"
        )

    def warn_of_unread_flags(self, context: Mapping[str, Any]) -> None:
        """Say once of each flag that is set that no output rail of the app reads it (Colang 1.0)."""
        if self.app.config.colang_version != "1.0":
            return
        for flag, flow in unread_flags(context, self.app.config.rails.output.flows).items():
            self._warn_once(
                f"evidencerails: ${flag} is set, but {flow!r} is not among rails.output.flows: nothing reads it"
            )

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            log.warning(message)


def _run_and_record(check: Callable[[], Coroutine[Any, Any, Report]], record: Callable[[Report], None]) -> None:
    try:
        record(asyncio.run(check()))
    except Exception as error:  # boundary: nothing waits for a shadow check, so its failure can only be logged
        log.error("evidencerails: shadow check failed: %s", traceback_summary(error))


def attach(app: Any, plugin: NemoPlugin) -> None:
    """Make the plugin findable for the app's actions.

    It hangs on the task manager, since that is the one object of the app that NeMo injects into an action everywhere:
    the chunk calls of a stream get neither registered action parameters nor the knowledge base.
    """
    setattr(app.runtime.llm_task_manager, _ATTRIBUTE, plugin)


def plugin_of(llm_task_manager: Any) -> NemoPlugin | None:
    """The plugin of the app that this task manager belongs to; None if `init` did not run."""
    plugin: NemoPlugin | None = getattr(llm_task_manager, _ATTRIBUTE, None)
    return plugin
