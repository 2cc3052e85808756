"""LangChain's chat model over real HTTP.

LangChain keeps one connection pool per address in the process, and a pool belongs to the event loop it was first used
in. The system gives a port to several servers in turn, so each model has an address of its own, by its path.
"""

from itertools import count
from typing import Any

from langchain_openai import ChatOpenAI

from evidencerails.testing import ReplayServer

_NUMBERS = count(1)


def chat_model(server: ReplayServer, **options: Any) -> ChatOpenAI:
    """A model of the server."""
    own = server.base_url.replace("/v1", f"/model-{next(_NUMBERS)}/v1")
    return ChatOpenAI(model="replay", base_url=own, api_key="k", max_retries=0, **options)
