"""Shadow mode checks a sample by stakes, and what it keeps says how many answers it stands for."""

from pathlib import Path
from typing import Any

import pytest
from nemo_apps import EVIDENCE, PLANTED, App, user

from evidencerails.operations.store import queries
from evidencerails.testing import ReplayServer

SHADOW = (
    'custom_data: {{evidencerails: {{activation: shadow, store: {{url: "sqlite:///{file}"}}, '
    "monitoring: {{shadow_sample: {{low: 0.0, medium: 0.4, high: 1.0}}}}}}}}\n"
)


async def turns(rails: Any, stakes: str, count: int) -> list[Any]:
    """What the store has of so many turns."""
    for number in range(count):
        context = {"relevant_chunks": EVIDENCE, "stakes": stakes}
        reply = await rails.generate_async(messages=user(context, f"Question {number}?"))
        assert reply["content"] == PLANTED
    plugin = rails.runtime.llm_task_manager.evidencerails_plugin
    plugin.wait_for_shadow(60)
    assert plugin.guard.store.flush(30)
    return [row for row in queries.history(plugin.guard.store.engine) if row.stakes == stakes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stakes", "least", "most", "rate"), [("low", 0, 0, None), ("medium", 2, 18, 0.4), ("high", 8, 8, 1.0)]
)
async def test_as_many_answers_are_checked_as_their_stakes_say(
    app: App, server: ReplayServer, tmp_path: Path, stakes: str, least: int, most: int, rate: float | None
) -> None:
    server.default(PLANTED)
    rails = app(SHADOW.format(file=tmp_path / "reports.db"))
    kept = await turns(rails, stakes, 8 if stakes != "medium" else 20)
    assert least <= len(kept) <= most
    plugin = rails.runtime.llm_task_manager.evidencerails_plugin
    found = [queries.report(plugin.guard.store.engine, row.id) for row in kept]
    assert all(one is not None and one.sample_rate == rate for one in found)
    assert {row.status for row in kept} <= {"hallucinated"}
