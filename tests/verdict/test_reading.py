"""What the reading promises whatever the weights are: a scripted model stands for the reader, all else is real."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_nli import ScriptedNli

from evidencerails.exchange import Passage
from evidencerails.nli.service import NliService
from evidencerails.settings.claims import GroundingSettings
from evidencerails.verdict.model import CLAIM_FEATURES, VerdictModel, logit, sigmoid
from evidencerails.verdict.reading import ClaimEvidence, judged_reading, read_claims


async def read(model: ScriptedNli, claims: list[str], *texts: str) -> list[ClaimEvidence]:
    passages = [Passage(id=str(n), text=text) for n, text in enumerate(texts, 1)]
    service = NliService(model)
    try:
        return (await read_claims(claims, passages, service)).claims
    finally:
        service.close()


def label(evidence: ClaimEvidence) -> str:
    return judged_reading(evidence, VerdictModel.load(), GroundingSettings()).label


async def test_each_passage_is_read_once_for_each_claim() -> None:
    model = ScriptedNli(lambda premise, claim: (0.9, 0.1, 0.0))
    await read(
        model, ["The Alpha has two years.", "The Beta has five."], "The Alpha has two years.", "The Beta has five."
    )
    assert len(model.asked) == len(set(model.asked)) == 4
    assert len({premise for premise, _ in model.asked}) == 2


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("But it opened in 1920.", "It opened in 1920."),
        ("However, in fact, it opened in 1920.", "It opened in 1920."),
        ("As a result, Lyon pays half.", "Lyon pays half."),
        ("Perhaps it opened in 1920.", "It opened in 1920."),
        ("So far, 40 people came.", "So far, 40 people came."),
        ("Overall revenue fell.", "Overall revenue fell."),
        ("Butter is salted.", "Butter is salted."),
    ],
)
async def test_words_that_tie_a_sentence_to_the_one_before_are_not_read(said: str, asked: str) -> None:
    model = ScriptedNli(lambda premise, claim: (0.9, 0.1, 0.0))
    (found,) = await read(model, [said], "It opened in 1889.")
    assert [claim for _, claim in model.asked] == [asked]
    assert found.hypothesis == said


async def test_what_a_passage_about_another_subject_supports_counts_half() -> None:
    def rule(premise: str, claim: str) -> tuple[float, float, float]:
        return (0.9, 0.1, 0.0) if "10 mg" in premise else (0.2, 0.3, 0.5)

    texts = ("Patient one was given 5 mg of the drug at night.", "The control group had 10 mg.")
    (found,) = await read(ScriptedNli(rule), ["Patient one was given 10 mg of the drug at night."], *texts)
    assert found.entailment == pytest.approx(0.45)
    assert found.contradiction == pytest.approx(0.5)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.02, 0.05, 0.1, 0.3]))
def test_the_probability_decides_what_is_supported(first: float, second: float, budget: float) -> None:
    import asyncio

    total = max(1.0, first + second)
    row = (first / total, max(0.0, 1 - (first + second) / total), second / total)
    (found,) = asyncio.run(read(ScriptedNli(lambda premise, claim: row), ["The bridge opened in 1962."], "The bridge."))
    model = VerdictModel.load()
    judged = judged_reading(found, model, GroundingSettings(max_false_warnings=budget))
    assert (judged.label == "supported") == (judged.verdict.score < model.warn_from(budget))
    assert judged.label != "contradicted" or found.contradiction > found.entailment


@pytest.mark.parametrize("contradiction", [0.85, 0.9, 0.98])
def test_a_clear_contradiction_is_never_supported(contradiction: float) -> None:
    features = {"entailment": logit(1 - contradiction), "contradiction": logit(contradiction)}
    model = VerdictModel.load()
    assert model.claim(features).score >= model.warn_from(0.1)


GIVEN = "The nurse gave patient one 10 mg of zolpidem on Monday at night."
SIMILAR = "The nurse gave patient two 10 mg of zolpidem on Monday at night."
OTHER = "The hospital hired a nurse."


@pytest.mark.parametrize(
    ("rows", "against"),
    [
        # The neighbour says the same of another patient: it shares less with the claim.
        ({GIVEN: (0.95, 0.04, 0.01), SIMILAR: (0.02, 0.08, 0.9)}, GIVEN),
        # A nearer one that contradicts outranks a chance support.
        ({OTHER: (0.6, 0.3, 0.1), GIVEN: (0.1, 0.05, 0.85)}, GIVEN),
        # Nothing supports it: the likeliest contradiction of those that are as near counts, a likelier one of another
        # thing does not.
        ({SIMILAR: (0.1, 0.2, 0.7), OTHER: (0.1, 0.05, 0.85)}, SIMILAR),
        ({SIMILAR: (0.1, 0.2, 0.7), GIVEN: (0.1, 0.3, 0.6)}, SIMILAR),
    ],
)
async def test_whose_contradiction_counts(rows: dict[str, tuple[float, float, float]], against: str) -> None:
    (found,) = await read(ScriptedNli(lambda premise, _: rows.get(premise, (0.0, 1.0, 0.0))), [GIVEN], *rows)
    assert found.against is not None and found.against.window.text == against
    assert found.contradiction == pytest.approx(rows[against][2])


async def test_a_claim_that_needs_two_parts_is_read_beside_both() -> None:
    def rule(premise: str, claim: str) -> tuple[float, float, float]:
        both = "Alpha weighs 3 kg" in premise and "Beta weighs 5 kg" in premise
        return (0.9, 0.1, 0.0) if both else (0.1, 0.8, 0.1)

    filler = "The weather of that week was ordinary in every way. " * 60
    texts = (filler + "The Alpha weighs 3 kg. " + filler, filler + "The Beta weighs 5 kg. " + filler)
    (found,) = await read(ScriptedNli(rule), ["The Beta weighs 2 kg more than the Alpha, which weighs 3 kg."], *texts)
    assert found.support is not None and len(found.support.window.parts) > 1
    assert found.support.nli.entailment == pytest.approx(0.9)


async def test_no_evidence_supports_nothing() -> None:
    (found,) = await read(ScriptedNli(lambda premise, claim: (1.0, 0.0, 0.0)), ["The bridge opened."], "  ")
    assert found.support is None and label(found) == "absent"


async def test_quotes_are_verbatim() -> None:
    text = "Intro here. Refunds are paid within 5 days. The end."
    (found,) = await read(ScriptedNli(lambda premise, claim: (0.9, 0.1, 0.0)), ["Refunds take 5 days."], text)
    quote = found.support.quote(found.hypothesis, 0.9)
    assert (
        quote is not None
        and text[quote.span.start : quote.span.end] == quote.span.text == "Refunds are paid within 5 days."
    )


def test_the_shipped_verdict_uses_known_features_and_sane_thresholds() -> None:
    model = VerdictModel.load()
    assert set(model.claim_model.weights) <= set(CLAIM_FEATURES)
    assert model.claim_model.weights["entailment"] < 0 < model.claim_model.weights["support_probe"]
    assert model.plain_model.weights["entailment"] < 0 < model.plain_model.weights["contradiction"]
    assert 0 < model.warn_from(0.1) < model.warn_from(0.02) < 1 and 0.5 <= model.block_from(0.02) <= 1


def test_a_smaller_budget_of_false_alarms_asks_for_more() -> None:
    model = VerdictModel.load()
    bars = [model.warn_from(rate) for rate in (0.0, 0.03, 0.1, 0.3, 1.0)]
    assert bars == sorted(bars, reverse=True)
    between = [model.block_from(rate) for rate in (0.02, 0.035, 0.05)]
    assert between == sorted(between, reverse=True)


async def test_probes_count_where_the_model_has_them() -> None:
    model, texts = VerdictModel.load(), ["The bridge opened."]
    (plain,) = await read(ScriptedNli(lambda premise, claim: (0.6, 0.3, 0.1)), texts, "It opened.")
    assert set(plain.features) == {"entailment", "contradiction"}
    scores = [model.claim({**plain.features, "support_probe": p, "contradiction_probe": 0.0}).score for p in (-1, 0, 1)]
    assert scores == sorted(scores) and scores[0] < scores[2]


def test_right_claims_add_up_to_nothing() -> None:
    model = VerdictModel.load()
    one = model.claim({"entailment": 3.0, "contradiction": -4.0})
    assert model.response([one] * 20) == one.score
    assert model.response([]) == 0.0


@pytest.mark.parametrize("probability", [0.0, 1e-12, 0.2, 0.5, 0.999, 1.0])
def test_log_odds_are_clipped_and_turned_back(probability: float) -> None:
    assert -6.0 <= logit(probability) <= 6.0
    if 0.01 < probability < 0.99:
        assert sigmoid(logit(probability)) == pytest.approx(probability)
