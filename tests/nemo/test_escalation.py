"""Reviews in real turns of NeMo: a held turn, and the event API, which must never wait."""

import asyncio
from pathlib import Path

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, App, app_2, script, user

from evidencerails.adapters.nemo_plugin import plugin_of
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store, queries
from evidencerails.settings.operations import StoreSettings
from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.slow

ESCALATE = """
custom_data:
  evidencerails:
    activation: always
    severity: {{stakes: high}}
    store: {{url: "{url}"}}
    escalation: {{deadlines_s: {{blocking: 30}}}}
    policies: [{{when: {{kind: unsupported_claim}}, then: escalate}}]
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


async def decide(url: str, verdict: str, text: str | None = None) -> None:
    with Store(StoreSettings(url=url)) as store:
        queue = ReviewQueue(store)
        while not (items := await asyncio.to_thread(queue.items)):  # noqa: ASYNC110, what is waited for is in a database
            await asyncio.sleep(0.02)
        await asyncio.to_thread(queue.decide, items[0].id, verdict, reviewer="ann", text=text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "text", "shown"), [("approved", None, PLANTED), ("edited", CLEAN, CLEAN), ("rejected", None, BLOCKED)]
)
async def test_a_turn_waits_for_the_reviewer(
    app: App, server: ReplayServer, url: str, verdict: str, text: str | None, shown: str
) -> None:
    script(server, PLANTED)
    rails = app(ESCALATE.format(url=url))
    reviewer = asyncio.create_task(decide(url, verdict, text))
    answer = await rails.generate_async(messages=user({"evidence": EVIDENCE}))
    await reviewer
    assert answer["content"] == shown
    store = plugin_of(rails.runtime.llm_task_manager).guard.store  # type: ignore[union-attr]
    assert store is not None and store.flush(10)
    (row,) = queries.history(store.engine)
    assert (row.flow, row.model, row.stakes) == ("check grounding", "gpt-4o-mini", "high")


async def test_the_event_api_never_waits(server: ReplayServer, url: str) -> None:
    script(server, PLANTED)
    rails = app_2(server, ESCALATE.format(url=url), output="check grounding")
    events = [
        {"type": "ContextUpdate", "data": {"evidence": EVIDENCE}},
        {"type": "UtteranceUserActionFinished", "final_transcript": "When was it opened?"},
    ]
    out, _ = await asyncio.wait_for(rails.process_events_async(events, {}, blocking=True), 20)
    said = [event["script"] for event in out if event["type"] == "StartUtteranceBotAction"]
    assert said == [BLOCKED]
    with Store(StoreSettings(url=url)) as store:
        (item,) = ReviewQueue(store).items()
        assert item.tier == "synchronous" and item.risk > 0.7  # in a turn that may wait it would be a blocking one
