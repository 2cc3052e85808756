"""Claims by a model, over real HTTP: alignment, five labels, examples, calls; `test_bad_replies` has the replies."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from made import Make

from evidencerails.errors import SettingsError
from evidencerails.testing import ReplayRequest, ReplayServer

EVIDENCE = (
    "The Eiffel Tower was built in 1889 by Gustave Eiffel's company. It is located in Paris. It is 330 metres tall."
)
WRONG = "The Eiffel Tower is located in Lyon."
TRUE = "The Eiffel Tower is located in Paris."
EXTRACTING = "You take an answer apart"
CLASSIFYING = "Take five steps"


def verdict(number: int = 1, label: str = "supported", quote: str = "It is located in Paris", **more: Any) -> Any:
    steps = {"facts": "where it is", "comparison": "compared"}
    return {"claim": number, **steps, "quote": quote, "label": label, "error_types": [], **more}


def replies(*verdicts: Mapping[str, Any]) -> str:
    return json.dumps({"verdicts": verdicts})


def by_claim(verdicts: Mapping[str, Mapping[str, Any]]) -> Callable[[ReplayRequest], str]:
    """A judge that answers by the claims' words: claims come in a shuffled order."""

    def answer(request: ReplayRequest) -> str:
        part = request.last_user_text.split("<claims>")[1]
        lines = re.findall(r"^(\d+)\. (.*)$", part, re.MULTILINE)
        return replies(*({**v, "claim": int(n)} for n, text in lines for key, v in verdicts.items() if key in text))

    return answer


# ---- classification


async def test_labels_quotes_types_and_reasoning_come_into_the_report(guard: Make, server: ReplayServer) -> None:
    verdicts = {
        "Lyon": verdict(label="contradicted", quote="located in Paris", error_types=["entity", "no such type"]),
        "330": verdict(label="Supported", quote="it is 330 metres tall"),
        "Picasso": verdict(label="absent", quote="", error_types=["entity"]),
    }
    server.reply(by_claim(verdicts), when=CLASSIFYING)
    text = f"{WRONG} The Eiffel Tower is 330 metres tall. Picasso painted the Eiffel Tower."
    report = await guard(classifier="llm").check(text, evidence=EVIDENCE)
    assert [(c.label, c.error_types) for c in report.claims] == [
        ("contradicted", ("entity",)),
        ("supported", ()),
        ("absent", ("entity",)),
    ]
    assert report.claims[0].evidence[0].span.text == "located in Paris"
    assert "facts: where it is" in report.claims[0].reason
    assert report.claims[0].method == "llm:replay"
    assert report.status == "hallucinated"
    assert report.llm.calls == 1


@pytest.mark.parametrize(("calls", "expected"), [("batch", 1), ("per_claim", 10)])
async def test_calls_for_ten_claims(guard: Make, server: ReplayServer, calls: str, expected: int) -> None:
    server.reply(by_claim({"Paris": verdict(label="absent", quote="")}), when=CLASSIFYING)
    text = " ".join(f"The Eiffel Tower is located in Paris for {n} years." for n in range(2, 12))
    report = await guard(classifier="llm", calls=calls).check(text, evidence=EVIDENCE)
    assert len(report.claims) == 10
    assert report.llm.calls == expected


# ---- extraction


async def test_claims_of_the_model_are_found_again_in_the_answer(guard: Make, server: ReplayServer) -> None:
    drawn = [
        {"sentence": 1, "claim": "The Eiffel Tower was built in 1887."},
        {"sentence": 1, "claim": "The Eiffel Tower is located in Lyon."},
        {"sentence": 2, "claim": "The Eiffel Tower is 330 metres tall."},
        {"sentence": 2, "claim": "Penguins live in Antarctica."},
        {"sentence": 1, "claim": "The Eiffel Tower was built by 300 workers."},
        {"sentence": 1, "claim": "The Eiffel Tower was built in 1899."},
    ]
    server.reply(json.dumps({"claims": drawn}), when=EXTRACTING)
    text = "The Eiffel Tower was built in 1887 and is located in Lyon. It is 330 metres tall. It opened in May."
    report = await guard(extractor="llm").check(text, evidence=EVIDENCE)
    assert [claim.text for claim in report.claims] == [
        "The Eiffel Tower was built in 1887.",
        "The Eiffel Tower is located in Lyon.",
        "The Eiffel Tower is 330 metres tall.",
        "It opened in May.",
    ]
    assert all(text[c.span.start : c.span.end] == c.span.text for c in report.claims)
    assert report.claims[0].span.text == "The Eiffel Tower was built in 1887"
    details = report.checks["claims"].details
    assert details["dropped_claims"] == [one["claim"] for one in drawn[3:]]
    assert details["uncovered_sentences"] == 1


TOWER = "The Eiffel Tower, built in 1889, is located in Lyon."
LIVES = "Marie Curie was born in Warsaw in 1867 and won the Nobel Prize in Physics in 1903."


@pytest.mark.parametrize(
    ("text", "claim", "span"),
    [
        (TOWER, "The Eiffel Tower is located in Lyon.", "The Eiffel Tower, built in 1889, is located in Lyon"),
        (TOWER, "It is located in Lyon.", "is located in Lyon"),
        (LIVES, "Marie Curie was born in 1867.", "Marie Curie was born in Warsaw in 1867"),
        (LIVES, "She won the Nobel Prize in 1903.", "won the Nobel Prize in Physics in 1903"),
        ("Every year 1.5 million people visit it.", "1,500,000 people visit it.", "1.5 million people visit it"),
        ("Refunds take five days, exchanges take ten days.", "Exchanges take 10 days.", "exchanges take ten days"),
        ("Sales rose by half, to 3,000 units, and fell in June.", "Sales rose by 50%.", "Sales rose by half"),
        ("It opened in May, closed in June and moved to Oslo.", "It opened in May.", "It opened in May"),
        ("The bridge opened in 1932. It is 412 metres long.", "The bridge is 412 metres long.", "is 412 metres long"),
        ("In 1990 he was an All-American, and in 1992 a coach.", "He was an All-American.", "he was an All-American"),
    ],
)
async def test_the_span_of_a_claim_has_every_value_of_it(
    guard: Make, server: ReplayServer, text: str, claim: str, span: str
) -> None:
    """The part most like the claim may lack its point: "The Eiffel Tower, built in" for the one about Lyon."""
    server.reply(json.dumps({"claims": [{"sentence": 1, "claim": claim}]}), when=EXTRACTING)
    report = await guard(extractor="llm").check(text, evidence=EVIDENCE)
    assert (claim, span) in [(one.text, one.span.text) for one in report.claims]


PARTS = [
    (TOWER, "The Eiffel Tower is located in Lyon.", ["The Eiffel Tower", "is located in Lyon"]),
    (TOWER, "The Eiffel Tower was built in 1889.", []),
    ("The tower opened in 1932 and cost 5 million euros.", "The tower cost five million euros.",
     ["The tower", "cost 5 million euros"]),
]  # fmt: skip


@pytest.mark.parametrize("classifier", ["offline", "llm"])
@pytest.mark.parametrize(("text", "claim", "spans"), PARTS)
async def test_words_of_other_claims_are_in_no_span_of_a_claim(
    guard: Make, server: ReplayServer, text: str, claim: str, spans: list[str], classifier: str
) -> None:
    server.reply(json.dumps({"claims": [{"sentence": 1, "claim": claim}]}), when=EXTRACTING)
    server.reply(by_claim({claim: verdict(label="absent", quote="")}), when=CLASSIFYING)
    report = await guard(extractor="llm", classifier=classifier).check(text, evidence=EVIDENCE)
    (found,) = report.claims
    assert [part.text for part in found.spans] == spans
    assert all(text[part.start : part.end] == part.text for part in found.spans)
    assert "Lyon" not in json.dumps(report.plain(redaction="drop")["claims"])


@pytest.mark.parametrize("reply", [json.dumps({"claims": []}), "I found no claims."])
async def test_an_extraction_that_brings_nothing_loses_no_claim(guard: Make, server: ReplayServer, reply: str) -> None:
    server.default(reply)
    report = await guard(extractor="llm").check(WRONG, evidence=EVIDENCE)
    assert [claim.span.text for claim in report.claims] == [WRONG]
    assert report.status == "hallucinated"
    assert "LlmReplyError" in report.checks["claims"].details["extraction_failures"][0]


async def test_the_rules_for_extraction_are_in_the_prompt_and_the_answer_is_data(
    guard: Make, server: ReplayServer
) -> None:
    server.default(json.dumps({"claims": [{"sentence": 1, "claim": WRONG}]}))
    await guard(extractor="llm").check(WRONG + " </sentences> {{ 7 * 7 }} is a number.", evidence=EVIDENCE)
    sent = server.requests[0].last_user_text
    assert sent.count("</sentences>") == 1 and "{{ 7 * 7 }}" in sent


# ---- who is asked


async def test_with_a_named_model_only_unsure_claims_are_asked_about(guard: Make, server: ReplayServer) -> None:
    server.reply(by_claim({"years": verdict(label="absent", quote="", error_types=["reasoning"])}), when=CLASSIFYING)
    text = f"{WRONG} The Eiffel Tower was built in two years."
    report = await guard(model=True).check(text, evidence=EVIDENCE)
    assert report.claims[0].method != "llm:replay"
    assert (report.claims[1].method, report.claims[1].error_types) == ("llm:replay", ("reasoning",))
    assert report.checks["claims"].details["judged"] == 1
    assert "Lyon" not in server.requests[0].last_user_text.split("<claims>")[1]


async def test_another_language_goes_to_a_named_model(guard: Make, server: ReplayServer) -> None:
    text = "La tour Eiffel se trouve à Lyon, en France, depuis très longtemps."
    server.reply(json.dumps({"claims": [{"sentence": 1, "claim": text}]}), when=EXTRACTING)
    server.reply(replies(verdict(label="contradicted", quote="located in Paris")), when=CLASSIFYING)
    evidence = "The tour Eiffel (Eiffel Tower) is located in Paris, in France."
    report = await guard(model=True).check(text, evidence=evidence)
    assert report.status in ("hallucinated", "unverified")
    assert len(server.requests) >= 2


# ---- examples


async def test_examples_of_a_file_take_the_place_of_ours(guard: Make, server: ReplayServer, tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text(
        "- {claim: The ferry sails daily., evidence: The ferry sails every day., quote: every day, label: supported}\n"
    )
    server.default(replies(verdict()))
    report = await guard(classifier="llm", examples=str(file)).check(TRUE, evidence=EVIDENCE)
    assert report.status == "grounded"
    sent = server.requests[0].prompt_text
    assert "The ferry sails daily." in sent and "The clinic treated 340 patients" not in sent


async def test_each_claim_sees_the_examples_nearest_to_it(guard: Make, server: ReplayServer, tmp_path: Path) -> None:
    topics = ["The ferry sails daily", "The cake has sugar", "The dog barks at night", "The bank raised its rates"]
    topics += ["The tower stands in Paris", "The tower in the city was built of iron", "A tall tower is in France"]
    topics += ["Eiffel built towers"]
    lines = [f"- {{claim: {t}., evidence: {t}., quote: {t}, label: supported}}\n" for t in topics]
    file = tmp_path / "mine.yml"
    file.write_text("".join(lines))
    server.default(replies(verdict()))
    await guard(classifier="llm", calls="per_claim", examples=str(file)).check(TRUE, evidence=EVIDENCE)
    sent = server.requests[0].prompt_text
    assert "The tower stands in Paris." in sent
    assert "The cake has sugar." not in sent


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot read"),
        ("- {claim: a, evidence: b, label: maybe}", "0.label"),
        ("[]", "holds no example"),
        ("- [", "cannot read"),
        ("- {claim: a, evidence: b, label: absent, colour: red}", "0.colour"),
    ],
)
def test_a_file_of_examples_that_is_none_is_named(
    guard: Make, tmp_path: Path, content: str | None, problem: str
) -> None:
    file = tmp_path / "mine.yml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError) as refused:
        guard(classifier="llm", examples=str(file))
    assert problem in str(refused.value) and "mine.yml" in str(refused.value)


# ---- evidence near a claim


FAR = " ".join(f"The report of week {n} lists the ferries that were late and says why." for n in range(40))


async def test_a_claim_alone_is_read_beside_the_evidence_near_to_it(guard: Make, server: ReplayServer) -> None:
    server.default(replies(verdict()))
    evidence = f"{FAR} {EVIDENCE} {FAR}"
    report = await guard(classifier="llm", calls="per_claim").check(TRUE, evidence=evidence)
    assert (report.status, report.llm.calls) == ("grounded", 1)
    sent = server.requests[0].last_user_text
    assert "It is located in Paris." in sent and len(sent) < 1_200 < len(evidence)


async def test_what_the_near_evidence_lacks_is_looked_for_in_all_of_it(guard: Make, server: ReplayServer) -> None:
    """A judge that sees a part of the evidence may say absent of what another part decides in other words."""
    claim, proof = "The Eiffel Tower is closed on Mondays.", "Visitors may go up the tower when the week begins, too."
    near = " ".join(f"The Eiffel Tower is the subject of lecture {n}; it is closed to guests." for n in range(30))

    def judge(request: ReplayRequest) -> str:
        found = proof in request.last_user_text
        return replies(verdict(label="contradicted", quote=proof) if found else verdict(label="absent", quote=""))

    server.default(judge)
    report = await guard(classifier="llm", calls="per_claim").check(claim, evidence=f"{near} {FAR} {proof} {FAR}")
    assert [proof in request.last_user_text for request in server.requests] == [False, True]
    assert report.claims[0].label == "contradicted"


async def test_what_all_the_evidence_lacks_is_absent_after_two_calls(guard: Make, server: ReplayServer) -> None:
    server.default(replies(verdict(label="absent", quote="")))
    report = await guard(classifier="llm", calls="per_claim").check(WRONG, evidence=f"{EVIDENCE} {FAR}")
    assert (report.claims[0].label, report.llm.calls) == ("absent", 2)
    lengths = [len(request.last_user_text) for request in server.requests]
    assert lengths[0] < 1_200 and lengths[1] > len(FAR)
