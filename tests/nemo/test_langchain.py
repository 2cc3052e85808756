"""LangChain: `RunnableRails` around a chain, `GuardrailsMiddleware` in an agent, both over the same HTTP server."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from langchain_openai import ChatOpenAI
from nemo_apps import ALWAYS, BLOCKED, CLEAN, EVIDENCE, PLANTED, QUESTION, app_yaml, is_sampling, script
from nemo_modes import FLAGS

from evidencerails.testing import ReplayServer

RAIL = "rails: {{output: {{flows: [{flow}]}}}}\n"
GROUNDING = ALWAYS + RAIL.format(flow="check grounding")


@pytest_asyncio.fixture(loop_scope="session")
async def model(server: ReplayServer) -> AsyncIterator[ChatOpenAI]:
    # LangChain keeps one connection pool per address in the process, whose event loop has ended with an earlier test.
    async with httpx.AsyncClient() as own_pool:
        yield ChatOpenAI(
            model="gpt-4o-mini", base_url=server.base_url, api_key="test-key", max_retries=0, http_async_client=own_pool
        )


def _runnable_rails(server: ReplayServer, yaml: str, **options: Any) -> Any:
    from nemoguardrails import RailsConfig
    from nemoguardrails.integrations.langchain.runnable_rails import RunnableRails

    return RunnableRails(RailsConfig.from_content(yaml_content=app_yaml(server.base_url, yaml)), **options)


@pytest.mark.parametrize("flow", list(FLAGS))
async def test_runnable_rails_blocks_the_answer_of_a_chain(server: ReplayServer, model: ChatOpenAI, flow: str) -> None:
    from langchain_core.prompts import ChatPromptTemplate

    rails = _runnable_rails(server, ALWAYS + RAIL.format(flow=flow))
    prompt = ChatPromptTemplate.from_messages([("system", "Context:\n{evidence}"), ("user", "{question}")])
    chain = prompt | (rails | model)
    for answer, expected in ((PLANTED, BLOCKED), (CLEAN, CLEAN)):
        script(server, answer)
        message = await chain.ainvoke({"evidence": EVIDENCE, "question": QUESTION})
        assert message.content == expected
        assert any(map(is_sampling, server.requests)) is (flow == "self check hallucination")


@pytest.mark.parametrize(("flow", "flag"), [("self check hallucination", True), ("check grounding", False)])
async def test_what_a_guarded_runnable_is_given_sets_the_flag(
    server: ReplayServer, model: ChatOpenAI, flow: str, flag: bool
) -> None:
    """The keys of the input are context variables, so a caller asks for a check with one of them."""
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages([("user", "{input}")])
    runnable = prompt | model | StrOutputParser()
    rails = _runnable_rails(server, RAIL.format(flow=flow), runnable=runnable)
    for answer, expected in ((PLANTED, BLOCKED if flag else PLANTED), (CLEAN, CLEAN)):
        script(server, answer)
        given = {"input": QUESTION, "evidence": EVIDENCE, FLAGS[flow]: flag}
        assert await rails.ainvoke(given) == expected


@pytest.mark.slow
async def test_middleware_replaces_the_answer_of_an_agent(
    server: ReplayServer, model: ChatOpenAI, tmp_path: Path
) -> None:
    """No flag can be set there: `activation: always`."""
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage, SystemMessage
    from nemoguardrails.integrations.langchain.middleware import GuardrailsMiddleware

    (tmp_path / "config.yml").write_text(app_yaml(server.base_url, GROUNDING))
    middleware = GuardrailsMiddleware(config_path=str(tmp_path))
    agent = create_agent(model, tools=[], middleware=[middleware])
    asked = [SystemMessage(f"Context:\n{EVIDENCE}"), HumanMessage(QUESTION)]
    for answer, expected in ((PLANTED, middleware.blocked_output_message), (CLEAN, CLEAN)):
        script(server, answer)
        result = await agent.ainvoke({"messages": asked})
        assert result["messages"][-1].content == expected
