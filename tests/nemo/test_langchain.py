"""LangChain: `RunnableRails` around a chain, `GuardrailsMiddleware` in an agent, both over the same HTTP server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from langchain_openai import ChatOpenAI
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, QUESTION, app_yaml, is_sampling, script

from groundrails.testing import ReplayServer

ALWAYS = """
custom_data: {groundrails: {activation: always}}
rails: {output: {flows: [check grounding]}}
"""
CONSISTENCY = ALWAYS.replace("check grounding", "self check hallucination")


def _model(server: ReplayServer) -> ChatOpenAI:
    # LangChain keeps one connection pool per address in the process, whose event loop has ended with an earlier test.
    own_pool = httpx.AsyncClient()
    return ChatOpenAI(
        model="gpt-4o-mini", base_url=server.base_url, api_key="test-key", max_retries=0, http_async_client=own_pool
    )


async def test_runnable_rails_blocks_the_answer_of_a_chain(server: ReplayServer) -> None:
    from langchain_core.prompts import ChatPromptTemplate
    from nemoguardrails import RailsConfig
    from nemoguardrails.integrations.langchain.runnable_rails import RunnableRails

    rails = RunnableRails(RailsConfig.from_content(yaml_content=app_yaml(server.base_url, ALWAYS)))
    prompt = ChatPromptTemplate.from_messages([("system", "Context:\n{evidence}"), ("user", "{question}")])
    chain = prompt | (rails | _model(server))
    for answer, expected in ((PLANTED, BLOCKED), (CLEAN, CLEAN)):
        server.reset()
        script(server, answer)
        message = await chain.ainvoke({"evidence": EVIDENCE, "question": QUESTION})
        assert message.content == expected


async def test_runnable_rails_draws_samples_from_the_model_of_the_chain(server: ReplayServer) -> None:
    from nemoguardrails import RailsConfig
    from nemoguardrails.integrations.langchain.runnable_rails import RunnableRails

    rails = RunnableRails(RailsConfig.from_content(yaml_content=app_yaml(server.base_url, CONSISTENCY)))
    chain = rails | _model(server)
    for answer, expected in ((PLANTED, BLOCKED), (CLEAN, CLEAN)):
        server.reset()
        script(server, answer)
        message = await chain.ainvoke(QUESTION)
        assert getattr(message, "content", message) == expected
        assert any(is_sampling(request) for request in server.requests)


async def test_middleware_replaces_the_answer_of_an_agent(server: ReplayServer, tmp_path: Path) -> None:
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage, SystemMessage
    from nemoguardrails.integrations.langchain.middleware import GuardrailsMiddleware

    (tmp_path / "config.yml").write_text(app_yaml(server.base_url, ALWAYS))
    middleware = GuardrailsMiddleware(config_path=str(tmp_path))
    agent = create_agent(_model(server), tools=[], middleware=[middleware])
    asked = [SystemMessage(f"Context:\n{EVIDENCE}"), HumanMessage(QUESTION)]
    for answer, expected in ((PLANTED, middleware.blocked_output_message), (CLEAN, CLEAN)):
        server.reset()
        script(server, answer)
        result = await agent.ainvoke({"messages": asked})
        assert result["messages"][-1].content == expected


async def test_tool_results_of_an_agent_are_evidence(app: Callable[..., Any], server: ReplayServer) -> None:
    rails = app(ALWAYS)
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "tool", "name": "bridges", "tool_call_id": "1", "content": EVIDENCE},
    ]
    for answer, status in ((PLANTED, "blocked"), (CLEAN, "passed")):
        result = await rails.check_async([*messages, {"role": "assistant", "content": answer}])
        assert result.status.value == status
