"""The flow `check knowledge`: without sources, and with the app's own knowledge base."""

from pathlib import Path
from typing import Any

import pytest
from nemo_apps import BLOCKED, EMBEDDINGS, App, app_yaml, user

from evidencerails.testing import ReplayServer

KNOWN = "Chen et al. (2019) showed that naps help."
MADE_UP = "Chen et al. (2021) showed that naps help."
QUESTION = "Do naps help?"


def asked(**context: Any) -> list[dict[str, Any]]:
    return user(context, QUESTION)


async def test_without_sources_the_answer_is_unverified(app: App, server: ReplayServer) -> None:
    server.default(KNOWN)
    message = await app(flows="check knowledge").generate_async(messages=asked(check_knowledge=True))
    assert message["content"].startswith(KNOWN) and "could not be verified" in message["content"]


KB_YAML = """
custom_data:
  evidencerails:
    activation: always
    evidence: {from: [variable]}
    knowledge:
      sources: {wiki: {kind: knowledge_base, complete: COMPLETE}}
      entities: {papers: {sources: [wiki]}}
"""


@pytest.mark.parametrize(
    ("answer", "complete", "told"),
    [(KNOWN, "false", KNOWN), (MADE_UP, "false", "could not be verified"), (MADE_UP, "true", BLOCKED)],
)
async def test_the_app_s_own_knowledge_base_is_a_source(
    server: ReplayServer, tmp_path: Path, answer: str, complete: str, told: str
) -> None:
    from nemoguardrails import LLMRails, RailsConfig

    settings = KB_YAML.replace("COMPLETE", complete)
    yaml = app_yaml(server.base_url, settings, more_models=EMBEDDINGS, flows="check knowledge")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "sleep.md").write_text("# Naps\n\nChen et al. (2019) is a study of naps.\n", encoding="utf-8")
    (tmp_path / "config.yml").write_text(yaml, encoding="utf-8")
    server.default(answer)
    rails = LLMRails(RailsConfig.from_path(str(tmp_path)))
    assert told in (await rails.generate_async(messages=asked()))["content"]
