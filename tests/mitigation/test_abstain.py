"""Abstention before and after generation: reasons, thresholds, and a message that says what is missing."""

from datetime import datetime, timezone
from typing import Any

import pytest
from mitigation_tools import EVIDENCE, QUESTION, REPAIRED, RESPONSE

from evidencerails import Guard, GuardConfig, Report
from evidencerails.errors import SettingsError
from evidencerails.exchange import Passage
from evidencerails.mitigation.abstain import confidence_in
from evidencerails.mitigation.answerability import Asked, answerability, requires_facts
from evidencerails.nli.service import NliService
from evidencerails.report import Abstention
from evidencerails.settings.llm import NliSettings
from evidencerails.settings.mitigation import AbstentionSettings, AnswerabilitySettings

LIBRARY = "The library opens at 9 am on weekdays. A card costs 20 euros a year."
PASSAGES = (Passage(id="1", text=EVIDENCE), Passage(id="2", text=LIBRARY))


def report(status: str = "grounded", **metrics: float) -> Report:
    return Report(status=status, metrics=metrics)  # type: ignore[arg-type]


# ---- after generation


ALL = {"groundedness": 1.0, "measure_semantic_entropy": 0.1, "sample_disagreement": 0.2}
UNMEASURED = ("certainty", "self_consistency", "retrieval_quality")


@pytest.mark.parametrize(
    ("given", "retrieval", "confidence", "action", "missing"),
    [
        # .4 * 1 (groundedness) + .2 * .9 (1 - entropy) + .2 * .8 (1 - drift) + .2 * .5 (retrieval)
        (report(**ALL), 0.5, 0.84, "answer", ()),
        # what was not measured is left out: not .5 * .4 + 1 * .6, as if the rest were perfect
        (report(groundedness=0.5), None, 0.5, "partial", UNMEASURED),
        # two thresholds make three outcomes
        (report(groundedness=0.75), None, 0.75, "answer", UNMEASURED),
        (report(groundedness=0.74), None, 0.74, "partial", UNMEASURED),
        (report(groundedness=0.4), None, 0.4, "partial", UNMEASURED),
        (report(groundedness=0.39), None, 0.39, "abstain", UNMEASURED),
        (report("unverified"), None, None, "abstain", ("groundedness", *UNMEASURED)),
    ],
)
def test_confidence_and_what_follows_from_it(
    given: Report, retrieval: float | None, confidence: float | None, action: str, missing: tuple[str, ...]
) -> None:
    found = confidence_in(given, AbstentionSettings(), retrieval)
    assert found.confidence == (None if confidence is None else pytest.approx(confidence))
    assert (found.action, found.missing) == (action, missing)
    assert confidence is not None or found.reasons == ("not_measured",)


def test_an_answer_without_claims_is_no_reason_to_abstain() -> None:
    assert confidence_in(report(), AbstentionSettings(), 0.0).action == "answer"


@pytest.mark.parametrize(
    ("response", "decision"),
    [
        (REPAIRED, "allow"),
        (RESPONSE, "annotate"),
        ("It opened in 1911. Its handrails are made of gold. The mayor sold it in 1999.", "abstain"),
        ("Hello! How can I help?", "allow"),
    ],
)
async def test_a_guard_with_abstention(response: str, decision: str) -> None:
    settings = {"checks": ["grounding"], "abstention": {"enabled": True}, "policies": [{"when": {}, "then": "allow"}]}
    found = await Guard(settings).check(response, evidence=EVIDENCE, prompt=QUESTION)
    assert found.decision == decision
    assert found.abstention is not None
    if decision == "abstain":
        assert found.decided_by == "abstention: abstain"
        assert found.answer == found.abstention.message
        assert "The sources do not confirm" in found.answer
        assert "1911" not in found.answer and "gold" not in found.answer


async def test_no_evidence_is_named_as_what_is_missing() -> None:
    found = await Guard({"checks": ["grounding"], "abstention": {"enabled": True}}).check(RESPONSE)
    assert found.decision == "abstain"
    assert found.answer is not None
    assert "There was no source to answer from." in found.answer
    assert "provide a document that covers it" in found.answer


async def test_a_policy_may_abstain_without_the_weighing() -> None:
    settings = {"checks": ["grounding"], "policies": [{"when": {"label": "contradicted"}, "then": "abstain"}]}
    found = await Guard(settings).check(RESPONSE, evidence=EVIDENCE)
    assert (found.decision, found.is_blocked) == ("abstain", True)
    assert found.answer is not None and found.answer.startswith("I can't answer that reliably")


def test_thresholds_out_of_order_are_refused() -> None:
    with pytest.raises(SettingsError, match="expected partial_from <= answer_from"):
        GuardConfig.load({"abstention": {"partial_from": 0.9}})


# ---- before generation


async def answerable(
    question: str, passages: tuple[Passage, ...] = PASSAGES, now: datetime | None = None, **settings: Any
) -> Abstention:
    reader = NliService.from_settings(NliSettings())
    return await answerability(Asked(question), passages, AnswerabilitySettings(**settings), reader, now=now)


@pytest.mark.parametrize(("min_coverage", "reasons"), [(0.0, ()), (0.5, ()), (0.9, ("low_coverage",))])
async def test_evidence_that_covers_only_a_part_of_the_question(min_coverage: float, reasons: tuple[str, ...]) -> None:
    question = "When did the Halden bridge open, and who paid the painters?"
    found = await answerable(question, min_coverage=min_coverage, min_answer_score=0.0)
    assert found.reasons == reasons
    assert 0.5 <= found.parts["coverage"] < 0.9
    assert ("cover only a part" in found.message) is bool(reasons)


async def test_without_evidence_no_question_of_fact_is_answered() -> None:
    assert (await answerable("When did it open?", ())).reasons == ("no_relevant_evidence",)


@pytest.mark.parametrize(
    "text", ["Hello there!", "Thanks a lot", "How are you today?", "What's up?", "", "👋", "Good morning, everyone"]
)
async def test_small_talk_needs_no_evidence(text: str) -> None:
    assert not requires_facts(text)
    assert (await answerable(text, ())).action == "answer"


@pytest.mark.parametrize(
    "text", ["How tall is it?", "Where is it?", "Who are all the others?", "Thanks, and who is she?"]
)
def test_short_questions_ask_for_facts(text: str) -> None:
    assert requires_facts(text), "the greeting words in `tall`, or no word but pronouns, made it small talk"


@pytest.mark.parametrize(
    ("question", "is_in"),
    [("When did the Halden bridge open?", True), ("When can I borrow books?", True), ("How do I bake bread?", False)],
)
async def test_domain(question: str, is_in: bool) -> None:
    domain = ("bridges and other crossings", "the public library and its services")
    found = await answerable(question, domain=domain)
    assert (found.reasons != ("out_of_domain",)) is is_in
    if not is_in:
        assert "bridges and other crossings" in found.message


NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("metadata", "is_stale"),
    [
        ({"date": "2024-01-01"}, True),
        ({"date": "2026-05-01T10:00:00Z"}, False),
        ({"updated_at": 1_700_000_000}, True),
        ({"updated_at": "unknown", "date": "2020-01-01"}, True),
        ({"date": True}, False),
        ({"date": "once upon a time"}, False),
        ({"date": 1e300}, False),
        ({"date": "2025"}, False),
        ({"date": 2024}, True),
        ({"date": "2025-06"}, False),
        ({"date": "2025-05"}, True),
        ({"date": 1_743_090_350_654}, False),
        ({"date": "1743090350654"}, False),
        ({}, False),
    ],
)
async def test_stale_is_what_all_relevant_passages_are(metadata: dict[str, Any], is_stale: bool) -> None:
    passages = [Passage(id="1", text=EVIDENCE, metadata=metadata)]
    if is_stale:
        passages.append(Passage(id="2", text=EVIDENCE, metadata={"date": "2026-05-30"}))
    found = [await answerable(QUESTION, tuple(given), NOW, max_age_days=365) for given in (passages[:1], passages)]
    assert [one.reasons for one in found] == [("stale_evidence",) if is_stale else (), ()]


PLANS = ["The Basic plan includes 10 GB of storage.", "The Team plan includes 500 GB of storage."]
VISITS = " ".join(f"In the year {year} the harbour of Denby was visited by many ships." for year in range(1700, 2000))
LONG = f"{VISITS} The lighthouse keeper was called Tom Ashe."
TOWERS = [
    "The Eiffel Tower was built for the World's Fair of 1889. Stephen Sauvestre designed it. It is 330 metres tall.",
    "The Halden tower was finished in 1911 and restored in 1987. Its bells were cast in Graz.",
]


@pytest.mark.parametrize(
    ("said", "evidence", "reason"),
    [
        (["Who designed it?"], TOWERS[:1], None),
        (["Who is its designer?"], TOWERS[:1], None),
        (["How tall is it?"], TOWERS[:1], None),
        (["Is the tower older than 1900?"], TOWERS[:1], None),
        (["Tell me about the Eiffel Tower.", "Who designed it?"], TOWERS, None),
        (["When was the Halden tower finished?", "And the Eiffel Tower?"], TOWERS, None),
        (["What is the weather in Lisbon?", "Where were the bells of the Halden tower cast?"], TOWERS, None),
        (["Who designed the Eiffel Tower?", "Since when is it there?"], TOWERS, None),
        (["Who designed the Eiffel Tower?", "Are you sure?"], TOWERS, None),
        (["Where is the ticket office?", "When was it built?"], TOWERS[:1], "no_answer_in_evidence"),
        (["Do you have jobs?", "How tall is the Eiffel Tower?"], TOWERS, None),
        (["Explain how returns work."], ["Unused panels can be sent back within 30 days."], None),
        (["Who painted the Eiffel Tower?"], TOWERS, "no_answer_in_evidence"),
        (["How many people work in the Eiffel Tower?"], TOWERS, "no_answer_in_evidence"),
        (["Which museums are there in Graz?"], TOWERS, "no_answer_in_evidence"),
        (["When did Halden win the cup?"], TOWERS, "no_answer_in_evidence"),
        (["How long is the Golden Gate Bridge?", "Who designed it?"], TOWERS, "no_relevant_evidence"),
        (["Who was Marie Curie?", "Where was she born?"], ["Ada Ohm was born in Kobe."], "no_relevant_evidence"),
        (["Which plan has more storage, Basic or Team?"], PLANS, None),  # from two passages
        (["What was the name of the lighthouse keeper?"], [LONG], None),  # at the end of long evidence
        (["How old was the lighthouse keeper?"], [LONG], "no_answer_in_evidence"),
        (["What does a library card cost?"], [EVIDENCE, LIBRARY], None),
        (["When can I visit the library?"], [EVIDENCE, LIBRARY], None),
        (["What is the boiling point of water?"], [EVIDENCE, LIBRARY], "no_relevant_evidence"),
    ],
)
async def test_a_question_is_answered_where_the_evidence_says_it(
    said: list[str], evidence: list[str], reason: str | None
) -> None:
    # "Who designed it?" was refused as unlike any sentence; all that shared a name or a topic was answered.
    found = await Guard().answerability(said, evidence=evidence)
    assert (found.action, found.reasons) == (("abstain", (reason,)) if reason else ("answer", ()))


async def test_questions_are_read_by_a_model_that_knows_them_whatever_reads_the_claims() -> None:
    remote = {"nli": {"backend": "remote", "url": "http://127.0.0.1:9"}}
    assert (await Guard(remote).answerability("Who designed it?", evidence=TOWERS[:1])).action == "answer"


async def test_a_question_in_another_language_is_compared_by_its_words() -> None:
    question = "Wann wurde der Halden tower eigentlich fertiggestellt und wer hat ihn damals bezahlt?"
    found = await Guard().answerability(question, evidence=TOWERS)
    assert "answer_score" not in found.parts
