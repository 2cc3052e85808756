"""Users' shapes of evidence, prompts and samples become values, or errors that name the item."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from openai.types.chat.chat_completion import ChoiceLogprobs
from pydantic import ValidationError

from evidencerails import Exchange, Passage, Sample, Span
from evidencerails.errors import InputError
from evidencerails.exchange import as_messages, as_passages, as_samples


@dataclass
class Chunk:
    body: str
    title: str = "A title"
    metadata: dict[str, Any] = field(default_factory=lambda: {"doc_id": 7})


EVIDENCE = {
    "nothing": (None, []),
    "string": ("It is.", [("1", "It is.", None)]),
    "list of strings": (["A.", "B."], [("1", "A.", None), ("2", "B.", None)]),
    "blank ones are left out, places stay": (["", " ", "B."], [("3", "B.", None)]),
    "dict": ({"text": "A.", "id": "x", "source": "s"}, [("x", "A.", "s")]),
    "dict with content and url": ([{"content": "A.", "url": "http://a"}], [("1", "A.", "http://a")]),
    "number as id": ([{"text": "A.", "id": 3}], [("3", "A.", None)]),
    "document": (Document(page_content="A.", metadata={"source": "f.txt", "id": "d"}), [("d", "A.", "f.txt")]),
    "documents in a tuple": ((Document(page_content="A."),), [("1", "A.", None)]),
    "object": ([Chunk("A.")], [("7", "A.", "A title")]),
    "passage": (Passage(id="p", text="A."), [("p", "A.", None)]),
    "lists in a list": ([["A."], ["B."]], [("1", "A.", None), ("2", "B.", None)]),
    "content parts": ([{"content": [{"type": "text", "text": "A."}]}], [("1", "A.", None)]),
    "mixed": (["A.", {"text": "B."}], [("1", "A.", None), ("2", "B.", None)]),
}


@pytest.mark.parametrize("given, expected", EVIDENCE.values(), ids=EVIDENCE)
def test_evidence_in_every_shape(given: Any, expected: list[tuple[str, str, str | None]]) -> None:
    assert [(p.id, p.text, p.source) for p in as_passages(given)] == expected


@pytest.mark.parametrize(
    "given", [5, [5], [{"title": "no text"}], {"text": 5}, {"text": []}, [None], object(), b"bytes"]
)
def test_evidence_that_cannot_be_read_names_the_item(given: Any) -> None:
    with pytest.raises(InputError, match=r"evidence item 1 is \w+ without text"):
        as_passages(given)


def test_other_short_fields_of_evidence_are_metadata() -> None:
    given = {
        "content": "A.",
        "url": "u",
        "year": 2019,
        "author": ["S", "T"],
        "raw_content": "x" * 1001,
        "embedding": {},
    }
    (passage,) = as_passages({**given, "metadata": {"year": 2020, "page": 3}})
    assert (passage.text, passage.source) == ("A.", "u")
    assert passage.metadata == {"url": "u", "year": 2020, "author": ["S", "T"], "page": 3}


LOGPROBS: list[Any] = [
    {"token": "A", "logprob": -0.5, "bytes": [65], "top_logprobs": [{"token": "B", "logprob": -2.0, "bytes": None}]},
    {"token": ".", "logprob": -0.1, "bytes": None, "top_logprobs": []},
]


@pytest.mark.parametrize("shape", [LOGPROBS, {"content": LOGPROBS}, ChoiceLogprobs(content=LOGPROBS)])
def test_log_probabilities_as_openai_gives_them(shape: Any) -> None:
    for given in (shape, getattr(shape, "content", shape)):
        tokens = Exchange.of("A.", logprobs=given).logprobs
        assert [(one.token, one.logprob) for one in tokens] == [("A", -0.5), (".", -0.1)]
    assert Exchange.of("A.", logprobs={"content": None}).logprobs == ()


@pytest.mark.parametrize("given", ["A", 5, {"tokens": ["A"]}, [-0.5], [{"token": "A"}]])
def test_log_probabilities_of_another_shape_are_told_the_wanted_one(given: Any) -> None:
    with pytest.raises(InputError, match=r"^logprobs(\[1\])?: got .*: give a list of {token, logprob}"):
        Exchange.of("A.", logprobs=given)


def test_error_about_evidence_holds_none_of_its_words() -> None:
    with pytest.raises(InputError) as error:
        as_passages([{"chunk": "the secret memo"}])
    assert "secret" not in str(error.value) and "'chunk'" in str(error.value)


PROMPTS = {
    "nothing": (None, []),
    "string": ("Hi?", [("user", "Hi?")]),
    "OpenAI messages": ([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
                        [("system", "S"), ("user", "U")]),
    "content parts": ([{"role": "user", "content": [{"text": "a"}, "b", {"x": 1}]}], [("user", "a\nb")]),
    "null content": ([{"role": "assistant", "content": None}], [("assistant", "")]),
    "LangChain": (
        [SystemMessage("S"), HumanMessage("U"), AIMessage("A")],
        [("system", "S"), ("user", "U"), ("assistant", "A")],
    ),
    "one message": ({"role": "developer", "content": "D"}, [("system", "D")]),
    "NeMo's own kinds": ([{"role": "context", "content": {}}, {"role": "user", "content": "U"}], [("user", "U")]),
}  # fmt: skip


@pytest.mark.parametrize("given, expected", PROMPTS.values(), ids=PROMPTS)
def test_prompt_in_every_shape(given: Any, expected: list[tuple[str, str]]) -> None:
    assert [(m.role, m.content) for m in as_messages(given)] == expected


def test_unknown_role_is_named() -> None:
    with pytest.raises(InputError, match="prompt message 2 has role 'wizard'; expected one of system"):
        as_messages([{"role": "user", "content": "U"}, {"role": "wizard", "content": "W"}])


@pytest.mark.parametrize("given", ["one string", {"text": "A"}, [5], [None], 5, object()])
def test_samples_that_cannot_be_read(given: Any) -> None:
    with pytest.raises(InputError, match="sample"):
        as_samples(given)


def test_blank_samples_stay() -> None:
    assert as_samples(["A", " ", Sample(text="B")]) == (Sample(text="A"), Sample(text=" "), Sample(text="B"))


@pytest.mark.parametrize("response", [None, 5, b"x", ["a"]])
def test_response_must_be_text(response: Any) -> None:
    with pytest.raises(InputError, match="response must be a string, got"):
        Exchange.of(response)


def test_user_input_is_the_last_user_message() -> None:
    said = (("user", "first"), ("assistant", "a"), ("user", "last"))
    prompt = [{"role": role, "content": content} for role, content in said]
    assert Exchange.of("A", prompt=prompt).user_input == "last"
    assert Exchange.of("A").user_input == ""


def test_evidence_from_names_the_argument() -> None:
    assert Exchange.of("A", evidence="E").evidence_from == "argument"
    assert Exchange.of("A").evidence_from is None


def test_span_must_fit_its_text() -> None:
    assert Span.of("abcd", 1, 3) == Span(start=1, end=3, text="bc")
    with pytest.raises(ValidationError, match="does not fit its text"):
        Span(start=0, end=5, text="abc")


def test_values_are_immutable_and_refuse_unknown_fields() -> None:
    with pytest.raises(ValidationError):
        Passage(id="1", text="A").text = "B"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Passage(id="1", text="A", colour="red")  # type: ignore[call-arg]


def test_exchange_round_trips_through_json() -> None:
    exchange = Exchange.of("A \x00\u202e東", evidence=["E"], prompt="P?", samples=["S"])
    assert Exchange.model_validate_json(exchange.model_dump_json()) == exchange


def test_evidence_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError, match="nested without end"):
        as_passages(endless)


def test_evidence_whose_properties_fail_is_refused() -> None:
    class Broken:
        @property
        def page_content(self) -> str:
            raise RuntimeError("the words of a document")

    with pytest.raises(InputError, match="Broken cannot be read: RuntimeError") as caught:
        as_passages([Broken()])
    assert "words" not in str(caught.value)
