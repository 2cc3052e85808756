"""The guard in real chains: ChatOpenAI over HTTP to a replay server, and the embedded model."""

import asyncio
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add, itemgetter
from typing import Any

import pytest
from chat_models import chat_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from pydantic import BaseModel

from evidencerails import Guard
from evidencerails.adapters.langchain_guard import REPORT_KEY
from evidencerails.errors import EvidencerailsError, InputError, ResponseBlockedError, SettingsError
from evidencerails.report import Report
from evidencerails.testing import ReplayServer

DOCUMENTS = [Document("The Halden bridge opened in 1932. It is 412 metres long.", metadata={"source": "halden.md"})]
QUESTION = "When did the Halden bridge open?"
RIGHT = "The Halden bridge opened in 1932."
WRONG = "The Halden bridge opened in 1911."
UNTOLD = "The museum ticket costs 6 euros."
UNKNOWN = "I don't know the answer to that."
UNVERIFIED = "This answer could not be verified. Please check it against a source you trust."
PRONE = (
    "The previous answer is prone to hallucination and may not be accurate. "
    "Please double check the answer using additional sources."
)
PROMPT = ChatPromptTemplate.from_messages([("human", "{context}\n\n{question}")])
INPUT = {"context": DOCUMENTS, "question": QUESTION}


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard()


def texts(server: ReplayServer) -> Runnable[Any, Any]:
    return PROMPT | chat_model(server) | StrOutputParser()


def rag(server: ReplayServer) -> Runnable[Any, Any]:
    """The usual chain: what was retrieved, the question, and the answer made of both."""
    return RunnablePassthrough.assign(answer=texts(server))


def added(pieces: Iterable[Any]) -> Any:
    """A stream as one output."""
    return reduce(add, pieces)


def deciding(then: str, **settings: Any) -> Guard:
    """A guard that does this with each unsupported claim."""
    return Guard(
        {"checks": ["grounding"], "policies": [{"when": {"kind": "unsupported_claim"}, "then": then}], **settings}
    )


DECIDED = [(RIGHT, RIGHT, "allow"), (WRONG, UNKNOWN, "block"), (UNTOLD, f"{UNTOLD}\n\n{PRONE}", "warn")]


@pytest.mark.slow
@pytest.mark.parametrize("answer, shown, decision", DECIDED)
async def test_a_mapping_keeps_its_shape_however_the_chain_is_called(
    answer: str, shown: str, decision: str, server: ReplayServer, guard: Guard
) -> None:
    server.default(answer)
    chain = rag(server) | guard.as_runnable()
    outputs = [chain.invoke(INPUT), await chain.ainvoke(INPUT)]
    outputs += [*chain.batch([INPUT, INPUT]), *await chain.abatch([INPUT, INPUT])]
    outputs += [added(chain.stream(INPUT)), added([piece async for piece in chain.astream(INPUT)])]
    assert len(server.requests) == 8
    for output in outputs:
        assert set(output) == {"context", "question", "answer", REPORT_KEY}
        assert (output["answer"], output["context"], output["question"]) == (shown, DOCUMENTS, QUESTION)
        assert output[REPORT_KEY].decision == decision
        assert output[REPORT_KEY].evidence_from == "argument"


async def test_a_stream_lets_nothing_through_before_the_check(server: ReplayServer, guard: Guard) -> None:
    server.default(f"{RIGHT} {WRONG}")
    chain = texts(server) | guard.as_runnable(evidence=DOCUMENTS)
    pieces = [*chain.stream(INPUT)]
    assert len(pieces) > 3 and "".join(pieces) == UNKNOWN
    assert "".join([piece async for piece in chain.astream(INPUT)]) == UNKNOWN
    server.reset()
    server.default(RIGHT)
    pieces = [piece async for piece in chain.astream(INPUT)]
    assert len(pieces) > 3 and "".join(pieces) == RIGHT


async def test_a_message_stays_a_message(server: ReplayServer, guard: Guard) -> None:
    server.default(UNTOLD)
    chain = PROMPT | chat_model(server) | guard.as_runnable(evidence=DOCUMENTS)
    whole = chain.invoke(INPUT)
    assert isinstance(whole, AIMessage) and whole.content == f"{UNTOLD}\n\n{PRONE}"
    assert whole.response_metadata[REPORT_KEY]["decision"] == "warn"
    assert whole.response_metadata["model_name"] and whole.usage_metadata  # what the model said of it stays
    pieces = [piece async for piece in chain.astream(INPUT)]
    assert all(isinstance(piece, AIMessageChunk) for piece in pieces)
    total = added(pieces)
    assert total.content == whole.content
    assert total.response_metadata[REPORT_KEY]["findings"][0]["label"] == "absent"
    assert {piece.id for piece in pieces} == {total.id}


def test_a_blocked_message_loses_its_tool_calls_and_an_allowed_one_keeps_them(guard: Guard) -> None:
    step = guard.as_runnable(evidence=DOCUMENTS, tools=[{"name": "book"}])
    call = {"name": "book", "args": {"year": 1932}, "id": "1", "type": "tool_call"}
    blocked = step.invoke(AIMessage(WRONG, id="m", tool_calls=[call], additional_kwargs={"reasoning_content": WRONG}))
    assert (blocked.content, blocked.id, blocked.tool_calls, blocked.additional_kwargs) == (UNKNOWN, "m", [], {})
    for text in (RIGHT, ""):
        allowed = step.invoke(AIMessage(text, tool_calls=[call]))
        assert (allowed.content, allowed.tool_calls) == (text, [call])
        total = added(step.stream(AIMessage(text, tool_calls=[call])))
        assert (total.content, total.tool_calls) == (text, [call])


def test_content_blocks_keep_what_is_not_text(guard: Guard) -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    step = guard.as_runnable(evidence=DOCUMENTS)
    right = [thinking, {"type": "text", "text": RIGHT}]
    assert step.invoke(AIMessage(right)).content == right
    noted = step.invoke(AIMessage([thinking, {"type": "text", "text": UNTOLD}])).content
    assert noted == [thinking, {"type": "text", "text": f"{UNTOLD}\n\n{PRONE}"}]
    assert step.invoke(AIMessage([thinking, {"type": "text", "text": WRONG}])).content == UNKNOWN


async def test_raise(server: ReplayServer, guard: Guard) -> None:
    chain = rag(server) | guard.as_runnable(on="raise")
    server.default(WRONG)
    with pytest.raises(ResponseBlockedError):
        await chain.ainvoke(INPUT)
    with pytest.raises(ResponseBlockedError):
        await anext(chain.astream(INPUT))
    with pytest.raises(ResponseBlockedError) as caught:  # at once: not a word of the answer leaves before the check
        next(chain.stream(INPUT))
    error = caught.value
    assert isinstance(error, EvidencerailsError) and error.report.claims[0].label == "contradicted"
    assert "hallucinated" in str(error) and "1911" not in str(error) and "1932" not in str(error)
    assert copy.copy(error).report == error.report
    server.reset()
    server.default(UNTOLD)
    assert chain.invoke(INPUT)["answer"] == f"{UNTOLD}\n\n{PRONE}"  # a warning is no reason to raise


def test_a_policy_that_raises_does_so_unless_the_report_is_returned() -> None:
    strict = Guard({"policies": [{"when": {"label": "absent"}, "then": "raise"}]})
    asked = {"answer": UNTOLD, "context": DOCUMENTS}
    with pytest.raises(ResponseBlockedError):
        strict.as_runnable(on="annotate").invoke(asked)
    assert strict.as_runnable(on="return").invoke(asked)[REPORT_KEY].decision == "raise"


async def test_return(server: ReplayServer, guard: Guard) -> None:
    server.default(WRONG)
    report = (texts(server) | guard.as_runnable(on="return", evidence=DOCUMENTS)).invoke(INPUT)
    assert isinstance(report, Report) and report.decision == "block"
    assert report.claims[0].evidence[0].source == "halden.md"
    chain = rag(server) | guard.as_runnable(on="return", report_key="verdict")
    streamed = [piece async for piece in chain.astream(INPUT)]
    assert len(streamed) == 1 and streamed[0]["answer"] == WRONG and streamed[0]["verdict"].status == "hallucinated"


ASKED = ChatPromptTemplate.from_template(QUESTION).invoke({})
SHAPES: list[dict[str, Any]] = [
    {"response": RIGHT, "evidence": DOCUMENTS},
    {"output": AIMessage(RIGHT), "input": QUESTION, "documents": ["Nothing.", DOCUMENTS[0]]},
    {"answer": RIGHT, "input": QUESTION, "context": DOCUMENTS[0].page_content, "chat_history": [HumanMessage("Hi")]},
    {"answer": RIGHT, "question": ASKED, "source_documents": [{"page_content": RIGHT}]},
    {"answer": RIGHT, "messages": [("human", "Hi"), AIMessageChunk("Hello")], "evidence": None, "context": DOCUMENTS},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_mappings(shape: dict[str, Any], guard: Guard) -> None:
    output = guard.as_runnable().invoke(shape)
    assert output[REPORT_KEY].status == "grounded", output[REPORT_KEY].reason
    key = next(iter(shape))
    changed = {**shape, key: AIMessage(WRONG) if isinstance(shape[key], AIMessage) else WRONG}
    shown = guard.as_runnable().invoke(changed)[key]
    assert (shown if isinstance(shown, str) else shown.content) == UNKNOWN


class Bridge(BaseModel):
    """A bridge."""

    name: str
    opened: int


@dataclass
class Plain:
    """The same as a dataclass."""

    name: str
    opened: int


def facts(opened: int) -> dict[str, Any]:
    return {"name": "Halden bridge", "opened": opened}


STRUCTURED: dict[str, Callable[[int], Any]] = {
    "pydantic": lambda opened: Bridge(**facts(opened)),
    "dataclass": lambda opened: Plain(**facts(opened)),
    "mapping": facts,
    "list": lambda opened: [Bridge(**facts(opened))],
    "under a key": lambda opened: {"answer": Bridge(**facts(opened)), "context": DOCUMENTS},
    "include_raw": lambda opened: {"raw": AIMessage("", tool_calls=[{"name": "Bridge", "args": facts(opened),
     "id": "1"}]), "parsed": Bridge(**facts(opened)), "parsing_error": None},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", STRUCTURED)
def test_the_fields_of_a_structured_answer_are_checked_and_the_object_goes_on(form: str, guard: Guard) -> None:
    step = guard.as_runnable(evidence=DOCUMENTS)
    right, wrong = STRUCTURED[form](1932), STRUCTURED[form](1911)
    passed = step.invoke(right)
    if isinstance(right, dict) and right.keys() & {"answer", "raw"}:
        assert passed == {**right, REPORT_KEY: passed[REPORT_KEY]}
    else:
        assert passed is right
    with pytest.raises(ResponseBlockedError) as caught:
        step.invoke(wrong)
    assert "contradicted" in {claim.label for claim in caught.value.report.claims}
    with pytest.raises(ResponseBlockedError):
        list(step.stream(wrong))


def test_what_could_not_be_parsed_is_checked_as_the_raw_message_with_its_calls(guard: Guard) -> None:
    output = guard.as_runnable(evidence=DOCUMENTS).invoke({"raw": AIMessage(WRONG), "parsed": None, "parsing_error": 7})
    assert (output["raw"].content, output["parsed"], output["parsing_error"]) == (UNKNOWN, None, 7)
    raw = AIMessage("", tool_calls=[{"name": "Bridge", "args": {"fact": WRONG}, "id": "1"}])
    with pytest.raises(ResponseBlockedError):
        guard.as_runnable(evidence=DOCUMENTS).invoke({"answer": {"raw": raw, "parsed": None, "parsing_error": 7}})


@pytest.mark.parametrize(("schema", "include_raw"), [(Bridge, False), (Bridge.model_json_schema(), True)])
async def test_structured_output_of_a_real_model(
    server: ReplayServer, guard: Guard, schema: Any, include_raw: bool
) -> None:
    structured = chat_model(server).with_structured_output(schema, method="function_calling", include_raw=include_raw)
    chain = structured | guard.as_runnable(evidence=DOCUMENTS)
    server.reply(when="Halden", tool_calls=[{"name": "Bridge", "arguments": facts(1932)}])
    expected = Bridge(**facts(1932)) if schema is Bridge else facts(1932)
    streamed = [piece async for piece in chain.astream(QUESTION)][-1]
    for found in (chain.invoke(QUESTION), await chain.ainvoke(QUESTION), streamed):
        assert (found["parsed"] if include_raw else found) == expected
    server.reset()
    server.reply(when="Halden", tool_calls=[{"name": "Bridge", "arguments": facts(1911)}])
    with pytest.raises(ResponseBlockedError):
        chain.invoke(QUESTION)


@pytest.mark.parametrize("year, text, status", [(1932, RIGHT, "grounded"), (1911, "", "hallucinated")])
def test_what_arguments_state_is_checked(year: int, text: str, status: str, guard: Guard) -> None:
    call = {"name": "note", "args": facts(year), "id": "1", "type": "tool_call"}
    step = guard.as_runnable(evidence=DOCUMENTS, tools=[{"name": "note"}])
    passed = step.invoke({"answer": AIMessage(text, tool_calls=[call])})
    assert passed[REPORT_KEY].status == status, passed[REPORT_KEY].reason
    assert passed["answer"].tool_calls == ([call] if status == "grounded" else [])


UNREADABLE = [
    (7, "got int"),
    (HumanMessage(RIGHT), "got HumanMessage"),
    ({"text": RIGHT, "context": DOCUMENTS}, "has no answer"),
    ({}, "has no answer"),
    ({"answer": RIGHT, "output": RIGHT}, "several answers"),
    ({"answer": [RIGHT]}, "got list"),
    ({"answer": RIGHT, "question": 7}, "question or history is int"),
]


@pytest.mark.parametrize("value, message", UNREADABLE)
async def test_what_cannot_be_read_is_told(value: Any, message: str, guard: Guard) -> None:
    step = guard.as_runnable()
    for ask in (step.invoke, lambda value: next(step.stream(value))):
        with pytest.raises(InputError, match=message):
            ask(value)
    with pytest.raises(InputError, match=message):
        await step.ainvoke(value)


def test_arguments_are_checked(guard: Guard) -> None:
    with pytest.raises(SettingsError, match="'shout'"):
        guard.as_runnable(on="shout")
    with pytest.raises(SettingsError, match="blocked"):
        guard.as_runnable(messages={"blocked": "no"})
    with pytest.raises(InputError, match="evidence"):
        guard.as_runnable().invoke(RIGHT, evidence=DOCUMENTS)
    assert guard.as_runnable(response_key="reply").invoke({"reply": WRONG, "context": DOCUMENTS})["reply"] == UNKNOWN
    with pytest.raises(InputError, match="'reply'"):
        guard.as_runnable(response_key="reply").invoke({"answer": RIGHT})


async def _fetch(value: Any) -> list[Document]:
    await asyncio.sleep(0)
    return DOCUMENTS


async def test_evidence_from_functions_coroutines_and_runnables(guard: Guard) -> None:
    asked = {"answer": WRONG, "question": QUESTION, "context": WRONG}  # what is fetched comes before what is given
    given: list[str] = []

    def search(question: str) -> list[Document]:
        given.append(question)
        return DOCUMENTS

    for evidence in (lambda _: DOCUMENTS, itemgetter("question") | RunnableLambda(search), DOCUMENTS):
        assert guard.as_runnable(evidence=evidence).invoke(asked)["answer"] == UNKNOWN
    assert (await guard.as_runnable(evidence=_fetch).ainvoke(asked))["answer"] == UNKNOWN
    assert given == [QUESTION]


def _broken(value: Any) -> Any:
    raise ConnectionError("index down")


@pytest.mark.parametrize(
    "evidence, reason, on_unverified, shown",
    [
        (_broken, "evidence_failed: ConnectionError; its own words: index down", "block", UNVERIFIED),
        ([7], "bad_evidence", "warn", f"{RIGHT}\n\n{UNVERIFIED}"),
        (None, "no_evidence", "allow", RIGHT),
    ],
)
async def test_without_evidence_it_is_unverified(evidence: Any, reason: str, on_unverified: str, shown: str) -> None:
    guard = Guard({"on_unverified": on_unverified})
    assert guard.as_runnable(evidence=evidence).invoke(RIGHT) == shown
    report = await guard.as_runnable(evidence=evidence, on="return").ainvoke(RIGHT)
    assert report.status == "unverified" and reason in report.reason and report.hallucination_score is None


def test_the_texts_can_be_the_apps_own(guard: Guard) -> None:
    step = guard.as_runnable(evidence=DOCUMENTS, messages={"inform answer unknown": "No {idea}."})
    assert step.invoke(WRONG) == "No {idea}."


async def test_consistency_uses_the_question(server: ReplayServer) -> None:
    server.reply(["It opened in 1875.", "It opened in 1954.", "It opened in 1790."])
    checking = Guard({"checks": ["consistency"], "on_unverified": "block"}, llm=chat_model(server))
    output = await checking.as_runnable().ainvoke({"answer": "It opened in 1911.", "question": QUESTION})
    assert output["answer"] == UNKNOWN and output[REPORT_KEY].findings[0].kind == "inconsistent_samples"
    assert all(request.last_user_text == QUESTION for request in server.requests)


def test_log_probabilities_reach_the_check() -> None:
    guard = Guard({"checks": ["grounding"], "scoring": {"measures": ["logprobs"]}})
    step = guard.as_runnable(evidence=DOCUMENTS, on="return")
    for tokens, reason in (
        ([{"token": RIGHT, "logprob": -0.5, "bytes": None, "top_logprobs": []}], None),
        ([{"tok": RIGHT}], "no_logprobs"),
    ):
        message = AIMessage(RIGHT, response_metadata={"logprobs": {"content": tokens}})
        report = step.invoke(message)
        assert report.checks["grounding"].details["measures"]["missing"].get("logprobs") == reason


class Seen(BaseCallbackHandler):
    """Names, tags and outcome of the runs."""

    def __init__(self) -> None:
        self.started, self.ended, self.failed = [], [], []

    def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> None:
        self.started.append((rest["name"], rest["tags"], rest["parent_run_id"]))

    def on_chain_end(self, outputs: Any, **rest: Any) -> None:
        self.ended.append(outputs)

    def on_chain_error(self, error: BaseException, **rest: Any) -> None:
        self.failed.append(error)


async def test_callbacks_tags_and_names_pass_through(guard: Guard) -> None:
    def fetch(value: Any) -> list[Document]:
        return DOCUMENTS

    for on, answer in (("annotate", RIGHT), ("raise", WRONG)):
        seen = Seen()
        step = guard.as_runnable(evidence=fetch, on=on).with_config(run_name="rail")
        try:
            await step.ainvoke(answer, {"callbacks": [seen], "tags": ["t"]})
        except ResponseBlockedError as error:
            assert seen.failed == [error]
        assert [name for name, _, _ in seen.started] == ["rail", "fetch"]
        assert seen.started[0][1] == ["t"] and seen.started[1][2] is not None  # the retriever runs below the guard
        assert (RIGHT in seen.ended) == (on == "annotate")


async def test_concurrent_chains_do_not_mix(server: ReplayServer, guard: Guard) -> None:
    step = guard.as_runnable(evidence=DOCUMENTS)
    assert await step.abatch([RIGHT, WRONG] * 8) == [RIGHT, UNKNOWN] * 8
    assert step.batch([RIGHT, WRONG] * 4) == [RIGHT, UNKNOWN] * 4


def test_a_repaired_answer_goes_on_in_the_chain(server: ReplayServer) -> None:
    correction = '{"sentences": [{"number": 1, "text": "The Halden bridge opened in 1932."}]}'
    server.reply(correction, when="You correct single sentences")
    server.default(WRONG)
    llm = {"model": "replay", "base_url": server.base_url, "api_key": "k"}
    output = (rag(server) | deciding("regenerate", llm=llm).as_runnable()).invoke(INPUT)
    assert output["answer"] == RIGHT
    assert output[REPORT_KEY].repair.status == "repaired"


@pytest.mark.parametrize(
    "then, answer, shown",
    [
        ("annotate", f"{RIGHT} {UNTOLD}", f"{RIGHT} {UNTOLD}[^unsure-1]\n\n[^unsure-1]: unsupported claim (absent"),
        ("abstain", WRONG, "I can't answer that reliably from the sources I have."),
    ],
)
def test_marks_and_abstentions_go_on_in_the_chain(then: str, answer: str, shown: str) -> None:
    step = deciding(then, annotation={"format": "markdown"}).as_runnable(evidence=DOCUMENTS)
    assert step.invoke(answer).startswith(shown)
