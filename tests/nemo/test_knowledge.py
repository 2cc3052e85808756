"""The flow `check knowledge`: flag, exception, the app's own knowledge base, Colang 1.0 and 2.x."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nemo_apps import BLOCKED, app_yaml_2, colang_2, make_app, user
from nemo_modes import MODES, Turn

from evidencerails.testing import ReplayServer

App = Callable[..., Any]
KNOWN = "Chen et al. (2019) showed that naps help."
MADE_UP = "Chen et al. (2021) showed that naps help."
QUESTION = "Do naps help?"
SETTINGS = """
custom_data:
  evidencerails:
    knowledge:
      sources: {{papers: {{kind: csv, path: "{path}", fields: {{author: author, year: year}}}}}}
      entities: {{papers: {{sources: [papers]}}}}
"""


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("papers") / "papers.csv"
    file.write_text('author,year\n"Chen, L.",2019\n', encoding="utf-8")
    return file


def asked(**context: Any) -> list[dict[str, Any]]:
    return user(context, QUESTION)


@pytest.mark.parametrize(("answer", "seen"), [(MADE_UP, BLOCKED), (KNOWN, KNOWN)])
async def test_an_invented_paper_is_blocked_and_a_real_one_passes(
    app: App, server: ReplayServer, papers: Path, answer: str, seen: str
) -> None:
    server.default(answer)
    rails = app(SETTINGS.format(path=papers), flows="check knowledge")
    response = await rails.generate_async(
        messages=asked(check_knowledge=True), options={"output_vars": ["hallucination_report"]}
    )
    assert response.response[0]["content"] == seen
    report = response.output_data["hallucination_report"]
    assert [finding["kind"] for finding in report["findings"]] == (["factual_fabrication"] if seen == BLOCKED else [])
    assert "Chen, L." not in str(report)


async def test_without_the_flag_nothing_is_checked(app: App, server: ReplayServer, papers: Path) -> None:
    server.default(MADE_UP)
    rails = app(SETTINGS.format(path=papers), flows="check knowledge")
    assert (await rails.generate_async(messages=asked()))["content"] == MADE_UP


async def test_the_exception_carries_the_span(app: App, server: ReplayServer, papers: Path) -> None:
    server.default(MADE_UP)
    rails = app(SETTINGS.format(path=papers) + "enable_rails_exceptions: true\n", flows="check knowledge")
    message = await rails.generate_async(messages=asked(check_knowledge=True))
    assert message["role"] == "exception"
    content = message["content"]
    assert (content["type"], content["kinds"]) == ("KnowledgeRailException", ["factual_fabrication"])
    assert [span["text"] for span in content["spans"]] == ["Chen et al. (2021)"]


async def test_without_sources_the_answer_is_unverified(app: App, server: ReplayServer) -> None:
    server.default(KNOWN)
    message = await app(flows="check knowledge").generate_async(messages=asked(check_knowledge=True))
    assert message["content"].startswith(KNOWN) and "could not be verified" in message["content"]


@pytest.mark.parametrize("mode", ["parallel", "output rails only", "check_async", "stream_async", "rails exceptions"])
async def test_other_modes_catch_it_too(app: App, server: ReplayServer, papers: Path, mode: str) -> None:
    row = MODES[mode]
    rails = app(row.yaml.format(flow="check knowledge", flag_flows="[]") + SETTINGS.format(path=papers))
    for answer, is_caught in ((MADE_UP, True), (KNOWN, False)):
        server.reset()
        server.default(answer)
        seen = await row.ask(rails, Turn(answer, QUESTION, {"check_knowledge": True}))
        assert seen.is_caught is is_caught, seen


KB_YAML = """
models:
  - type: main
    engine: openai
    model: gpt-4o-mini
    parameters: {{base_url: "{base_url}"}}
  - {{type: embeddings, engine: evidencerails, model: embedded}}
import_paths: [evidencerails/plugin]
rails: {{output: {{flows: [check knowledge]}}}}
custom_data:
  evidencerails:
    activation: always
    evidence: {{from: [variable]}}
    knowledge:
      sources: {{wiki: {{kind: knowledge_base, complete: {complete}}}}}
      entities: {{papers: {{sources: [wiki]}}}}
"""


@pytest.mark.parametrize(
    ("answer", "complete", "told"),
    [(KNOWN, "false", KNOWN), (MADE_UP, "false", "could not be verified"), (MADE_UP, "true", BLOCKED)],
)
async def test_the_app_s_own_knowledge_base_is_a_source(
    server: ReplayServer, tmp_path: Path, answer: str, complete: str, told: str
) -> None:
    from nemoguardrails import LLMRails, RailsConfig

    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "sleep.md").write_text("# Naps\n\nChen et al. (2019) is a study of naps.\n", encoding="utf-8")
    (tmp_path / "config.yml").write_text(KB_YAML.format(base_url=server.base_url, complete=complete), encoding="utf-8")
    server.default(answer)
    rails = LLMRails(RailsConfig.from_path(str(tmp_path)))
    assert told in (await rails.generate_async(messages=asked()))["content"]


@pytest.mark.parametrize("exceptions", [False, True])
async def test_colang_2(server: ReplayServer, papers: Path, exceptions: bool) -> None:
    more = "enable_rails_exceptions: true\n" if exceptions else ""
    yaml = app_yaml_2(server.base_url, SETTINGS.format(path=papers) + more)
    rails = make_app(yaml, colang_2(output="check knowledge", flags=["check_knowledge"]))
    server.default(MADE_UP)
    message = await rails.generate_async(messages=asked())
    events = {event["type"]: event for event in message.get("events", ())}
    if exceptions:
        assert events["KnowledgeRailException"]["kinds"] == ["factual_fabrication"]
    else:
        assert message["content"] == BLOCKED
        assert events["HallucinationReport"]["report"]["findings"][0]["check"] == "knowledge"
