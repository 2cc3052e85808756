"""The measures that ask no judge: scores worked out by hand, and what cannot be measured has no score."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scoring_tools import MakeContext, Row, TableEncoder, claims_of

from evidencerails.exchange import Exchange, TokenLogprob
from evidencerails.measures.base import MeasureResult, run_measure
from evidencerails.measures.logprobs import LogprobsMeasure, PlacedToken, align
from evidencerails.measures.ngram import NgramMeasure, words
from evidencerails.measures.nli import NliMeasure
from evidencerails.measures.self_consistency import SelfConsistencyMeasure, Verdict, agreement, verdict_of
from evidencerails.measures.semantic_entropy import SemanticEntropyMeasure, clusters_of, entropy, normalised_entropy
from evidencerails.measures.vectors import UNRELATED_F1, BertScoreMeasure, EmbeddingMeasure, bertscore_f1
from evidencerails.testing import ReplayServer

YES, NEUTRAL, NO = (0.9, 0.08, 0.02), (0.1, 0.8, 0.1), (0.02, 0.08, 0.9)
ANN, PAINTS = "Ann paints. Ann swims.", "Ann paints."
GERMAN = "Der Turm wurde im Jahr 1889 in Paris gebaut und ist seitdem das Wahrzeichen der Stadt."
Scored = Callable[..., Any]


@pytest.fixture
def scored(make_context: MakeContext) -> Scored:
    """Has a measure score parts of a response; `rows` is what the NLI model knows, the rest is the exchange."""

    async def run(
        measure: Any, response: str, *texts: str, rows: Any = None, context: Any = None, **fields: Any
    ) -> MeasureResult:
        own = context or make_context(rows)
        return await run_measure(measure, Exchange.of(response, **fields), claims_of(response, *texts), own)

    return run


def scores_of(result: MeasureResult) -> list[float | None]:
    return [claim.score for claim in result.claims]


def tokens(*pairs: tuple[str, float]) -> list[TokenLogprob]:
    return [TokenLogprob(token=text, logprob=value) for text, value in pairs]


# ---- what cannot be measured


OTHER_TOKENS = (
    tokens(("Ann", -0.1), (" sings.", -0.3)),
    tokens(("Ann", -0.1)),  # the beginning only
    tokens((ANN, -0.1), (" Bob", -0.1)),  # more than the response
    tokens(("\ufffd", -0.1)),
)
LONG = " ".join(f"Sentence number {n} is here." for n in range(21))


@pytest.mark.parametrize(  # where an input is missing: test_single.py
    ("measure", "response", "texts", "fields", "scores", "reason"),
    [
        (NliMeasure(), GERMAN, (GERMAN,), {"evidence": "E"}, [None], "language: de"),
        *((LogprobsMeasure(), ANN, (ANN,), {"logprobs": o}, [None], "logprobs_of_other_text") for o in OTHER_TOKENS),
        (LogprobsMeasure(), "Ann …", ("…",), {"logprobs": tokens(("Ann", -0.1), (" …", -3.0))}, [None], "no_tokens"),
        (SemanticEntropyMeasure(), LONG, (LONG,), {"samples": ["B."]}, [None], "too_long: 21 sentences, at most 20"),
        (SelfConsistencyMeasure(), '{"a": 1}', ("1",), {"samples": ["Sorry."]}, [None], "samples_not_json"),
        (SelfConsistencyMeasure(), '{"a": 1}  ', ("  ",), {"samples": ['{"a": 1}']}, [None], "no_field"),
        (NgramMeasure(), "Ann. ...", ("Ann.", "..."), {"samples": ["Ann."]}, [0.0, None], "no_words"),
    ],
)
async def test_what_cannot_be_measured_has_a_reason_and_no_score(
    scored: Scored, make_context: MakeContext, measure: Any, response: str, texts: Any, fields: Any, scores: Any,
    reason: str,
) -> None:  # fmt: skip
    result = await scored(measure, response, *texts, context=make_context(nli_languages=("en",)), **fields)
    assert (scores_of(result), result.claims[-1].reason) == (scores, reason)
    assert reason in result.reason or result.score is not None


@pytest.mark.parametrize("measure", [NliMeasure(), NgramMeasure(), BertScoreMeasure(), EmbeddingMeasure()])
async def test_no_claims_is_no_score(scored: Scored, measure: Any) -> None:
    result = await scored(measure, ANN, evidence="E", samples=["Ann."])
    assert (result.score, result.reason, result.claims) == (None, "no_claims", ())


async def test_samples_are_drawn_once_where_none_are_given(make_context: MakeContext, server: ReplayServer) -> None:
    measure, exchange, claims = EmbeddingMeasure(TableEncoder(VECTORS)), Exchange.of(PAINTS), claims_of(PAINTS, PAINTS)
    assert (await run_measure(measure, exchange, claims, make_context(server=server))).reason == "no_prompt"
    server.say(["Ann swims.", PAINTS])
    context = make_context(server=server, prompt="What does Ann do?")
    for _ in range(2):
        assert scores_of(await run_measure(measure, exchange, claims, context)) == [pytest.approx(0.2)]
    assert len(server.requests) == 1


# ---- nli


@pytest.mark.parametrize(
    ("rows", "score", "label"),
    [
        ([YES], 0.1, "supported"),
        ([NEUTRAL], 0.9, "absent"),
        ([NO], 0.98, "contradicted"),
        ([NEUTRAL, YES], 0.1, "supported"),  # support in any window is support
        ([NEUTRAL, NO], 0.9, "contradicted"),
    ],
)
async def test_nli_score_label_and_quote(scored: Scored, rows: list[Row], score: float, label: str) -> None:
    passages = [f"Passage {place}" for place in range(len(rows))]
    table = {(passage, "Ann paints."): row for passage, row in zip(passages, rows, strict=True)}
    result = await scored(NliMeasure(), ANN, "Ann paints.", rows=table, evidence=passages)
    (claim,) = result.claims
    assert (claim.score, claim.label, result.version) == (pytest.approx(score), label, "1+table@1")
    quoted = [] if label == "absent" else [passages[rows.index(YES if label == "supported" else NO)]]
    assert [quote.span.text for quote in claim.evidence] == quoted


# ---- ngram


async def test_ngram_is_1_for_a_word_of_the_claim_alone_and_0_for_one_that_all_texts_have(scored: Scored) -> None:
    # In all three texts: ann 4, paints 3, swims 1; T = 8, V = 3 and one for unseen words, k = 1.
    result = await scored(NgramMeasure(), ANN, PAINTS, "Ann swims.", samples=[PAINTS, PAINTS])
    assert scores_of(result) == pytest.approx([0.0, 1.0]) and result.score == 1.0
    average = (math.log(12 / 5) + math.log(12 / 2)) / 2
    assert result.claims[1].details == {
        "max_neg_logprob": pytest.approx(math.log(6)), "avg_neg_logprob": pytest.approx(average), "word": "swims"
    }  # fmt: skip


def test_words() -> None:
    assert words("It's 1,889.5 m² — Zürich’s!") == ["it's", "1,889.5", "m²", "zürich’s"]


# ---- logprobs


async def test_logprobs_are_one_minus_the_geometric_mean_of_the_probabilities(scored: Scored) -> None:
    given = tokens(
        ("Ann", -0.1), (" paints", -0.3), (".", -5.0), (" Ann", -0.2), (" sw", -1.0), ("ims", -2.0), (".", 0.0)
    )
    result = await scored(LogprobsMeasure(), ANN, "Ann paints.", "Ann swims.", logprobs=given)
    # Full stops do not count: (-.1 - .3) / 2 = -.2 and (-.2 - 1 - 2) / 3 = -1.0667
    assert scores_of(result) == pytest.approx([1 - math.exp(-0.2), 1 - math.exp(-3.2 / 3)])
    assert result.claims[1].details == {"mean_logprob": pytest.approx(-3.2 / 3), "min_logprob": -2.0, "tokens": 3}


def test_white_space_around_the_whole_may_differ() -> None:
    placed = align("Ann.", tokens(("\n", -0.5), (" Ann", -0.1), (".\n", -0.2)))
    assert placed == [PlacedToken(-2, -1, -0.5), PlacedToken(-1, 3, -0.1), PlacedToken(3, 5, -0.2)]
    assert align("  Ann.", tokens(("Ann.", -0.1))) == [PlacedToken(2, 6, -0.1)]
    assert align("", []) is align("  ", tokens((" ", -0.1))) is None


# ---- bertscore and embedding


WORDS = {"Ann": (1, 0), "paints": (0, 1), "swims": (0.6, 0.8), "runs": (0, -1)}
VECTORS = {"Ann paints.": (1, 0), "Ann swims.": (0.6, 0.8), "Ann does not.": (-1, 0), "Ann.": (0, 1)}


@pytest.mark.parametrize(
    ("candidate", "reference", "f1"),
    [
        ("Ann paints", "Ann paints", 1.0),
        # Cosines: Ann-Ann 1, Ann-swims .6, paints-Ann 0, paints-swims .8: precision and recall (1 + .8) / 2
        ("Ann paints", "Ann swims", 0.9),
        ("Ann", "Ann paints", 2 / 3),  # precision 1, recall (1 + 0) / 2: 2 * .5 / 1.5
        ("Ann", "", 0.0),
        ("", "Ann", 0.0),
        ("paints", "runs", 0.0),
    ],
)
def test_f1_by_greedy_matching(candidate: str, reference: str, f1: float) -> None:
    rows = [
        np.array([WORDS[name] for name in text.split()], np.float32).reshape(-1, 2) for text in (candidate, reference)
    ]
    assert bertscore_f1(*rows) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("floor", "samples", "score"),
    [
        (0.0, ["Ann swims. Ann paints.", "Ann swims."], 0.05),  # best in the first 1, in the second .9: 1 - .95
        (0.5, ["Ann swims."], 0.2),  # rescaled by the F1 of unrelated texts: 1 - (.9 - .5) / (1 - .5)
    ],
)
async def test_bertscore_is_1_minus_the_mean_over_samples_of_the_best_sentence(
    scored: Scored, monkeypatch: pytest.MonkeyPatch, floor: float, samples: list[str], score: float
) -> None:
    monkeypatch.setitem(UNRELATED_F1, "table-encoder", floor)
    result = await scored(BertScoreMeasure(TableEncoder(WORDS)), PAINTS, PAINTS, samples=samples)
    assert (scores_of(result), result.version) == ([pytest.approx(score)], "1+table-encoder@1")


@pytest.mark.parametrize(
    ("samples", "score"),
    [
        (["Ann swims. Ann paints."], 0.0),  # the nearest sentence counts
        (["Ann paints.", "Ann swims."], 0.2),  # mean over samples of the cosine: (1 + .6) / 2
        (["Ann does not."], 1.0),  # a negative cosine counts as 0
    ],
)
async def test_embedding_is_1_minus_the_mean_cosine(scored: Scored, samples: list[str], score: float) -> None:
    result = await scored(EmbeddingMeasure(TableEncoder(VECTORS)), PAINTS, PAINTS, samples=samples)
    assert scores_of(result) == [pytest.approx(score)]


# ---- semantic entropy


def mutual(*pairs: tuple[str, str]) -> dict[tuple[str, str], Row]:
    return {pair: YES for one, other in pairs for pair in ((one, other), (other, one))}


@pytest.mark.parametrize(
    ("sizes", "nats", "normalised"),
    [
        ([], 0.0, None),
        ([1], 0.0, None),
        ([3], 0.0, 0.0),
        ([1, 1], math.log(2), 1.0),
        ([2, 1], 0.6365, 0.5794),  # - 2/3 ln 2/3 - 1/3 ln 1/3; divided by ln 3
        ([2, 2], math.log(2), 0.5),  # ln 2 / ln 4
        ([1] * 5, math.log(5), 1.0),
    ],
)
def test_entropy(sizes: list[int], nats: float, normalised: float | None) -> None:
    assert entropy(sizes) == pytest.approx(nats, abs=1e-4)
    assert normalised_entropy(sizes) == (None if normalised is None else pytest.approx(normalised, abs=1e-4))


def test_clusters_are_formed_by_their_first_member() -> None:
    same = {(0, 2), (2, 3)}
    assert clusters_of(4, lambda one, other: (one, other) in same) == [[0, 2], [1], [3]]
    assert clusters_of(0, lambda one, other: True) == []


A, B, C = "The tower is in Paris.", "Paris is where it stands.", "The tower stands in Lyon."
OLD, STANDS = "The tower is old. It is in Paris.", "It stands in Paris. It is an old tower."
ONE_WAY = {(STANDS, "The tower is old."): YES, (STANDS, "It is in Paris."): YES, (OLD, "It stands in Paris."): YES}
WHERE, SHORT, WHOLE = "Where is the tower?", "Paris", "It stands in Paris, the capital of France."


@pytest.mark.parametrize(
    ("answer", "samples", "rows", "score", "clusters"),
    [
        (A, [B, C], mutual((A, B)), 0.5794, [[0, 1], [2]]),
        (A, [C], {(A, C): YES}, 1.0, [[0], [1]]),  # one-way entailment is another meaning
        ("The tower  is in Paris.", ["the tower is in paris."] * 3, {}, 0.0, [[0, 1, 2, 3]]),  # equal: no model
        (OLD, [STANDS], ONE_WAY, 1.0, [[0], [1]]),  # a longer answer must entail each sentence
        (OLD, [STANDS], {**ONE_WAY, (OLD, "It is an old tower."): YES}, 0.0, [[0, 1]]),
        (SHORT, [WHOLE], mutual((f"{WHERE} {SHORT}", f"{WHERE} {WHOLE}")), 0.0, [[0, 1]]),  # read with its question
    ],
)
async def test_meanings_are_counted_not_wordings(
    scored: Scored, answer: str, samples: list[str], rows: Any, score: float, clusters: list[list[int]]
) -> None:
    prompt = WHERE if answer == SHORT else None
    result = await scored(SemanticEntropyMeasure(), answer, answer, rows=rows, samples=samples, prompt=prompt)
    assert (result.score, result.details["clusters"]) == (pytest.approx(score, abs=1e-4), clusters)
    assert (scores_of(result), result.claims[0].reason) == ([None], "response_level")


# ---- self-consistency


@pytest.mark.parametrize(
    ("saying", "k", "contradicting", "verdict"),
    [
        (3, 3, 0, "consistent"),
        (2, 3, 1, "consistent"),  # ceil(3 / 2) = 2 is a majority
        (1, 3, 0, "inconsistent"),  # only the response says it
        (1, 3, 2, "inconsistent"),
        (3, 5, 2, "consistent"),
        (2, 5, 0, "uncertain"),
        (2, 5, 3, "inconsistent"),  # a majority says something else
        (1, 2, 0, "uncertain"),  # a tie is no majority
        (1, 2, 1, "uncertain"),
        (2, 2, 0, "consistent"),
        (2, 4, 2, "uncertain"),
        (2, 9, 0, "inconsistent"),  # 2 / 9 is below a quarter
    ],
)
def test_verdict(saying: int, k: int, contradicting: int, verdict: Verdict) -> None:
    assert verdict_of(saying, k, contradicting) == verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], None), (["a"], None), (["a", "a"], 1.0), (["a", "b"], 0.0), (["a", "a", "b"], 1 / 3), (["a"] * 4, 1.0)],
)
def test_agreement_is_the_share_of_equal_pairs(values: list[str], expected: float | None) -> None:
    assert agreement(values) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("stands", "score", "verdict"),
    [
        ([YES, YES], 0.0, "consistent"),
        ([YES, NO], 0.5, "consistent"),
        ([NO, NO], 1.0, "inconsistent"),
        ([None, None], 1.0, "inconsistent"),
        ([NO], 1.0, "uncertain"),
    ],
)
async def test_a_claim_is_scored_by_the_samples_that_do_not_say_it(
    scored: Scored, stands: Sequence[Row | None], score: float, verdict: str
) -> None:
    samples = [f"Sample {n}." for n in range(len(stands))]
    rows = {(s, A): row for s, row in zip(samples, stands, strict=True) if row}
    result = await scored(SelfConsistencyMeasure(), f"{A} {C}", A, C, rows=rows, samples=samples)
    claim, other = result.claims
    assert (claim.score, claim.details["verdict"], other.score) == (score, verdict, 1.0)
    counts = [claim.details[name] for name in ("supports", "contradicts", "silent")]
    assert counts == [stands.count(YES), stands.count(NO), stands.count(None)]


async def test_json_is_compared_field_by_field(scored: Scored) -> None:
    order = '{"city": "Paris", "year": 1889, "parts": [{"name": "iron"}]}'
    samples = ['{"city": "paris", "year": 1887.0, "parts": [{"name": "iron"}]}'] * 2
    texts = ('"city": "Paris"', '"year": 1889', "iron")
    result = await scored(SelfConsistencyMeasure(), order, *texts, samples=samples)
    assert scores_of(result) == [0.0, 1.0, 0.0]
    assert [claim.details["verdict"] for claim in result.claims] == ["consistent", "inconsistent", "consistent"]
    year = result.details["fields"]["year"]
    assert (year["agreement"], year["majority"]) == (pytest.approx(1 / 3), "1887")
    assert result.score == pytest.approx(1 - 7 / 9)  # the mean over the three fields of (1, 1/3, 1)


async def test_fields_that_others_lack_disagree_and_samples_that_are_no_json_are_counted(scored: Scored) -> None:
    samples = ['```json\n{"a": 1}\n```', '{"a": 1, "c": 3}', "Sorry."]
    result = await scored(SelfConsistencyMeasure(), '{"a": 1, "b": 2}', samples=samples)
    assert {path: entry["verdict"] for path, entry in result.details["fields"].items()} == {
        "a": "consistent",
        "b": "inconsistent",
        "c": "consistent",  # two of three have no such field
    }
    assert (result.details["samples"], result.details["samples_not_json"]) == (2, 1)
