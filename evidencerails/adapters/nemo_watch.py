"""Watching a guardrails app that runs inside a command: its reports and what the user sees, without its noise."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

from evidencerails.report import Report
from evidencerails.settings.environment import temporarily

SHADOW_TIMEOUT_S = 60.0
ACTS_ON_THE_WORLD = ("store", "escalation", "telemetry", "monitoring")
"""Settings that a trial must not have: it would keep its reports among the real ones, and ask people."""
INTERNAL_ERROR = "an internal error has occurred"
"""NeMo answers so when anything in a turn raised."""
_MARKS = re.compile(r" \[\?\d+\]|\[\^unsure-\d+\]|</?mark\b[^>]*>|<sup>\[\d+\]</sup>")
"""What `annotate` puts inside an answer, in each of its formats."""


@contextmanager
def quiet(*, level: int = logging.CRITICAL) -> Iterator[None]:
    """Keep log lines up to `level` and deprecations of others off the terminal, and NeMo's usage report off the net.

    NeMo logs whole prompts at INFO, and reports its use unless `DO_NOT_TRACK` is set.
    """
    disabled = logging.root.manager.disable
    logging.disable(level)
    try:
        with temporarily("DO_NOT_TRACK", "1"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


@contextmanager
def recorded(app: Any) -> Iterator[list[Report]]:
    """The reports that the app's guard makes inside the block."""
    from evidencerails.adapters.nemo_plugin import plugin_of

    plugin = plugin_of(app.runtime.llm_task_manager)
    reports: list[Report] = []
    if plugin is None:
        yield reports
        return
    guard, check = plugin.guard, plugin.guard.check_exchange

    async def check_and_keep(*arguments: Any, **options: Any) -> Report:
        report = await check(*arguments, **options)
        reports.append(report)
        return report

    guard.check_exchange = check_and_keep  # type: ignore[method-assign]
    try:
        yield reports
        plugin.wait_for_shadow(SHADOW_TIMEOUT_S)
    finally:
        guard.check_exchange = check  # type: ignore[method-assign]


def started(config: Any) -> Any:
    """The running app of a config; raises whatever NeMo, the plugin or the user's own code raises at the start."""
    from nemoguardrails import LLMRails

    return LLMRails(config)  # in this thread: in another one NeMo makes an event loop that nobody closes


def effect_on(answer: str, shown: Any) -> str:
    """What became of an answer on its way to the user: `passed`, `warned`, `blocked`, `raised` or `failed`."""
    message = shown if isinstance(shown, dict) else {"role": "assistant", "content": str(shown)}
    if message.get("role") == "exception":
        return "raised"
    text = str(message.get("content") or "").strip()
    if INTERNAL_ERROR in text:
        return "failed"
    if "blocked" in message or not (answer in text or answer in unescape(_MARKS.sub("", text))):
        return "blocked" if message.get("blocked", "Blocked").startswith("Blocked") else "failed"
    return "passed" if text == answer else "warned"


def started_for_trial(config: Any) -> Any:
    """The running app of a config without the settings that act on the world; changes the config."""
    given = (config.custom_data or {}).get("evidencerails") or {}
    kept = {name: value for name, value in given.items() if name not in ACTS_ON_THE_WORLD}
    config.custom_data = {**(config.custom_data or {}), "evidencerails": kept}
    return started(config)
