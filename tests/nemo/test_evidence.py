"""Evidence in every shape and from every place, the first that has any; what is none makes the answer unverified."""

import json
from pathlib import Path
from typing import Any

import pytest
from nemo_apps import CLEAN, EMBEDDINGS, EVIDENCE, PLANTED, QUESTION, App, app_yaml, checked, new_app, script, user

from evidencerails.adapters.nemo_evidence import (
    MAX_STATEMENTS,
    EvidenceSources,
    find_evidence,
    marked_context,
    statements,
)
from evidencerails.exchange import Message
from evidencerails.settings.claims import EvidenceSettings
from evidencerails.testing import ReplayServer

ALWAYS = """
custom_data: {evidencerails: {activation: always}}
rails: {output: {flows: [check grounding]}}
"""


STUDY = "Chen et al. (2019) showed that bridges sway."
BASE_IS_A_SOURCE = """
rails: {output: {flows: [check grounding, check knowledge]}}
custom_data:
  evidencerails:
    activation: always
    policies: [{when: {kind: [unsupported_claim, factual_fabrication]}, then: warn}]
    knowledge:
      sources: {wiki: {kind: knowledge_base, complete: true}}
      entities: {papers: {sources: [wiki]}}
"""


async def _found(settings: EvidenceSettings | None = None, **sources: Any) -> tuple[list[str], str | None]:
    given: dict[str, Any] = {"context": {}, "messages": [], "prompt": [], **sources}
    evidence = await find_evidence(settings or EvidenceSettings(), EvidenceSources(**given))
    return [passage.text for passage in evidence.passages], evidence.place


async def test_first_place_that_has_any_wins() -> None:
    async def search(question: str) -> list[dict[str, str]]:
        return [{"title": "Bridges", "body": f"found for {question}"}]

    tool = {"role": "tool", "content": "from a tool", "name": "search", "tool_call_id": "7"}
    system = {"role": "system", "content": "Context: from the system message"}
    sources: dict[str, Any] = {
        "context": {"evidence": "from the variable", "relevant_chunks": "from the chunks"},
        "messages": [system, tool],
        "search": search,
        "user_message": "it",
    }
    for place, remove in (
        ("variable", lambda: sources["context"].pop("evidence")),
        ("relevant_chunks", lambda: sources["context"].pop("relevant_chunks")),
        ("tool_messages", lambda: sources["messages"].remove(tool)),
        ("knowledge_base", lambda: sources.update(search=None)),
        ("system_context", lambda: sources["messages"].clear()),
        (None, lambda: None),
    ):
        assert (await _found(**sources))[1] == place
        remove()


async def test_order_of_the_settings_is_followed() -> None:
    settings = EvidenceSettings(places=("system_context", "variable"))
    messages = [{"role": "system", "content": "Context: this"}]
    assert await _found(settings, context={"evidence": "that"}, messages=messages) == (["this"], "system_context")


@pytest.mark.parametrize(
    ("chunk", "text"),
    [
        ({"title": "Hub 6 - Reset", "body": "Hold it for 15 seconds."}, "# Hub 6 - Reset\n\nHold it for 15 seconds."),
        ({"title": "", "body": "Hold it."}, "Hold it."),
        ({"body": "Hold it."}, "Hold it."),
        ({"title": "Hub 6", "text": "Hold it."}, "Hold it."),
        ("Hold it.", "Hold it."),
    ],
)
async def test_a_section_of_the_knowledge_base_stands_under_its_headings(chunk: Any, text: str) -> None:
    """NeMo splits an article at its headings and keeps them in `title`: "Hold it" alone does not say what to hold."""

    async def search(question: str) -> list[Any]:
        return [chunk]

    assert await _found(search=search, user_message="How do I reset it?") == ([text], "knowledge_base")


@pytest.mark.parametrize(
    ("context", "is_own"),
    [
        ({}, True),
        ({"retrieved_for": "An earlier question"}, False),
        ({"retrieved_for": None}, False),
        ({"relevant_chunks": "Given by the caller."}, False),
    ],
)
async def test_what_nemo_found_in_the_knowledge_base_has_its_headings(context: dict[str, Any], is_own: bool) -> None:
    async def search(query: str) -> list[dict[str, str]]:
        return [{"title": "Hub 6", "body": "Hold it."}, {"title": "Hub 4", "body": "Use a pin."}]

    found = {"relevant_chunks": "Hold it.\nUse a pin.", "relevant_chunks_sep": ["Hold it.", "Use a pin."]}
    context = {"retrieved_for": "How?", **found, **context}
    texts, place = await _found(context=context, search=search, user_message="How?")
    assert place == "relevant_chunks"
    assert ("# Hub 6\n\nHold it." in texts) == is_own


async def test_what_an_answer_states_is_looked_up_as_the_question_is() -> None:
    asked: list[str] = []

    async def search(query: str) -> list[dict[str, str]]:
        asked.append(query)
        return [{"title": "", "body": f"nearest to {query}"}, {"title": "", "body": f"next to {query}"}]

    answer = "You're welcome! The pass costs 9 euros. It is valid for two years."
    texts, _ = await _found(search=search, user_message="What does it cost?", answer=answer)
    assert asked == ["What does it cost?", "The pass costs 9 euros.", "It is valid for two years."]
    assert texts == [
        "nearest to What does it cost?",
        "next to What does it cost?",
        *(f"nearest to {q}" for q in asked[1:]),
    ]
    await _found(search=search, user_message="And?", answer=" ".join(f"Room {n} has {n} beds." for n in range(90)))
    assert len(asked) == 3 + 1 + MAX_STATEMENTS


async def test_chunks_of_nemos_retrieval_stay_apart() -> None:
    context = {"relevant_chunks": "a\nb\n", "relevant_chunks_sep": ["a", "b"]}
    assert await _found(context=context) == (["a", "b"], "relevant_chunks")
    assert await _found(context={**context, "relevant_chunks": "c"}) == (["c"], "relevant_chunks")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Context: It is red.", ["It is red."]),
        ("Use the following context to answer:\nIt is red.\n\nQuestion: What colour?", ["It is red."]),
        ("<context>\nIt is red.\n</context>\nWhat colour?", ["It is red."]),
        ("## Documents\nIt is red.", ["It is red."]),
        ("# This is some additional context:\n```markdown\nIt is red.\n```", ["It is red."]),
        ("Facts: a\nSources: b", ["a\nSources: b", "b"]),
        ("You are a helpful assistant.", []),
        ("In this context the colour is red.", []),
        ("What is the source of the Nile?", []),
    ],
)
def test_context_in_a_prompt(text: str, parts: list[str]) -> None:
    assert marked_context(text) == parts


DEFAULT_OF_NEMO = (
    "Below is a conversation between a helpful AI assistant and a user. The bot is designed to generate human-like "
    "text based on the input that it receives. The bot is talkative and provides lots of specific details. If the bot "
    "does not know the answer to a question, it truthfully says it does not know."
)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("You are a guide. Answer politely. The bridge was opened in 1962. Do not guess.",
         "The bridge was opened in 1962."),
        ("You help customers of Acme.\n\n- Refunds are paid within 5 days of your request.\n- Shipping is free.",
         "Refunds are paid within 5 days of your request. Shipping is free."),
        ("If an item is damaged, Acme pays for its return.", "If an item is damaged, Acme pays for its return."),
        ("Help is available at all hours.", "Help is available at all hours."),
        ("You are a helpful assistant. Answer in one sentence.", ""),
        ("You answer from the passages. What no passage says, you leave out.", ""),
        ("Avoid jargon. Short answers are best. If the user is angry, apologise.", ""),
        (DEFAULT_OF_NEMO, ""),
    ],
)  # fmt: skip
def test_facts_of_a_system_message_are_evidence_and_its_instructions_are_not(text: str, stated: str) -> None:
    assert statements(text) == stated


@pytest.mark.parametrize(("heading", "dialog"), [("", False), ("Context:\n", False), ("", True)])
async def test_facts_in_the_instructions_of_the_config_are_evidence(
    app: App, server: ReplayServer, heading: str, dialog: bool
) -> None:
    instructions = [{"type": "general", "content": f"You are a guide. Be brief.\n\n{heading}{EVIDENCE}"}]
    colang = "define user ask\n  'opened'\n\ndefine flow\n  user ask\n  bot respond\n" if dialog else ""
    more = EMBEDDINGS if dialog else ""
    rails = app(ALWAYS + f"instructions: {json.dumps(instructions)}\n", colang, more_models=more)
    for answer, status in ((PLANTED, "hallucinated"), (CLEAN, "grounded")):
        script(server, answer)
        if dialog:
            server.reply("  ask", when=lambda request: "user intent" in str(request.body).lower(), times=1)
        _, report = await checked(rails)
        assert (report["status"], report["evidence_from"]) == (status, "system_context"), report["reason"]


async def test_report_and_log_say_where_to_put_evidence(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    script(server, PLANTED)
    _, report = await checked(app(ALWAYS))
    assert "state the facts in `instructions`" in report["reason"]
    assert any("state the facts in `instructions`" in line and line.endswith(")]") for line in caplog.messages)


async def test_plain_system_message_is_the_last_resort() -> None:
    messages = [{"role": "system", "content": "You are a guide. The bridge is red."}, {"role": "user", "content": "Hi"}]
    assert await _found(messages=messages) == (["The bridge is red."], "system_context")
    prompt = [Message(role="system", content="Below is a chat. The bot is factual.")]
    assert await _found(prompt=prompt) == ([], None)


async def test_the_knowledge_base_is_evidence_and_a_source_to_look_up_in(
    server: ReplayServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NeMo never puts what it finds there into `relevant_chunks` in general mode."""
    from nemoguardrails import LLMRails, RailsConfig

    # NeMo keeps the index under the names of engine and model, beside where it was imported: a later encoder meets it.
    monkeypatch.setattr("nemoguardrails.kb.kb.CACHE_FOLDER", str(tmp_path / "cache"))
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "bridges.md").write_text(f"# Bridges\n\n## The Harbour Bridge\n\n{EVIDENCE}\n{STUDY}")
    yaml = app_yaml(server.base_url, BASE_IS_A_SOURCE, more_models=EMBEDDINGS)
    (tmp_path / "config.yml").write_text(yaml)
    app = LLMRails(RailsConfig.from_path(str(tmp_path)))
    for answer, check, status in (
        (PLANTED, "grounding", "hallucinated"),
        (CLEAN, "grounding", "grounded"),
        (STUDY.replace("2019", "2021"), "knowledge", "hallucinated"),
        (STUDY, "knowledge", "grounded"),
    ):
        script(server, answer)
        _, report = await checked(app)
        assert (report["checks"][check]["status"], report["evidence_from"]) == (status, "knowledge_base")


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ({"evidence": {"no": "text"}}, "bad_evidence: $evidence: evidence item 1 is dict"),
        ({"relevant_chunks": [3]}, "bad_evidence: relevant_chunks: evidence item 1 is int"),
    ],
)
async def test_without_usable_evidence_the_answer_is_unverified(app: App, context: dict[str, Any], reason: str) -> None:
    text, report = await _check_ready_answer(app(ALWAYS), {"x": 1, **context})
    assert report["status"] == "unverified"
    assert reason in report["reason"]
    assert text.startswith(PLANTED) and "could not be verified" in text


async def test_search_that_fails_makes_the_answer_unverified(server: ReplayServer) -> None:
    class BrokenBase:
        async def search_relevant_chunks(self, text: str) -> None:
            raise RuntimeError("index is gone")

    app = new_app(server, ALWAYS)
    app.runtime.register_action_param("kb", BrokenBase())
    _, report = await _check_ready_answer(app, {"x": 1})
    assert (report["status"], report["decision"]) == ("unverified", "warn")
    assert "check_failed: RuntimeError" in report["reason"]
    assert "index is gone" not in report["reason"]  # words of others stay inside unless evidence is exposed


async def _check_ready_answer(app: Any, context: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Output rails only: in general mode NeMo itself dies of a knowledge base or chunks that are broken."""
    return await checked(app, messages=[*user(context), {"role": "assistant", "content": PLANTED}], rails=["output"])


async def test_request_of_an_earlier_turn_is_not_taken_for_this_one(app: App, server: ReplayServer) -> None:
    """The event API does not set `raw_llm_request`, so what an earlier `generate_async` left there is still seen."""
    rails = app(ALWAYS)
    script(server, PLANTED)
    tool = {"role": "tool", "name": "bridges", "tool_call_id": "1", "content": EVIDENCE}
    await rails.generate_async(messages=[tool, {"role": "user", "content": QUESTION}])
    asked = {"type": "UtteranceUserActionFinished", "final_transcript": "Tell me something else, about cats."}
    data = [event.get("data", {}) for event in await rails.generate_events_async([asked])]
    reports = [found["hallucination_report"] for found in data if "hallucination_report" in found]
    assert reports[-1]["reason"].startswith("no_evidence")
