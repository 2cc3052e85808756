"""Watching a guardrails app that runs inside a command: its reports and what the user sees, without its noise."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evidencerails.report import Report

SHADOW_TIMEOUT_S = 60.0
INTERNAL_ERROR = "an internal error has occurred"
"""NeMo answers so when anything in a turn raised."""


@contextmanager
def quiet(*, level: int = logging.CRITICAL) -> Iterator[None]:
    """Keep log lines up to `level` and deprecations of others off the terminal, and NeMo's usage report off the net.

    NeMo logs whole prompts at INFO, and reports its use unless `DO_NOT_TRACK` is set.
    """
    before, disabled = os.environ.get("DO_NOT_TRACK"), logging.root.manager.disable
    os.environ["DO_NOT_TRACK"] = "1"
    logging.disable(level)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        if before is None:
            del os.environ["DO_NOT_TRACK"]


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
    if "blocked" in message or answer not in text:
        return "blocked" if message.get("blocked", "Blocked").startswith("Blocked") else "failed"
    return "passed" if text == answer else "warned"
