"""1 - the highest entailment over windows; absent is never clean."""

from __future__ import annotations

import pytest
from scoring_tools import MakeContext, Row, TableNli, claims_of, exchange_of

from evidencerails.errors import NliError
from evidencerails.measures.base import run_measure
from evidencerails.measures.nli import NliMeasure

ENTAILED, NEUTRAL, CONTRADICTED = (0.9, 0.08, 0.02), (0.1, 0.8, 0.1), (0.02, 0.08, 0.9)


@pytest.mark.parametrize(
    ("rows", "score", "label"),
    [
        ([ENTAILED], 0.1, "supported"),
        ([NEUTRAL], 0.9, "absent"),
        ([CONTRADICTED], 0.98, "contradicted"),
        ([NEUTRAL, ENTAILED], 0.1, "supported"),  # support in any window is support
        ([CONTRADICTED, ENTAILED], 0.1, "supported"),
        ([NEUTRAL, CONTRADICTED], 0.9, "contradicted"),
    ],
)
async def test_score_and_label(make_context: MakeContext, rows: list[Row], score: float, label: str) -> None:
    passages = [f"Passage {place}" for place in range(len(rows))]
    table = {(passage, "Ann paints."): row for passage, row in zip(passages, rows, strict=True)}
    exchange = exchange_of("Ann paints.", evidence=passages)
    result = await NliMeasure().measure(exchange, claims_of("Ann paints.", "Ann paints."), make_context(table))
    assert result.claims[0].score == pytest.approx(score)
    assert result.claims[0].label == label
    assert result.version == "1+table@1"


async def test_the_deciding_passage_is_quoted_verbatim(make_context: MakeContext) -> None:
    exchange = exchange_of("Ann paints.", evidence=[{"id": "a", "text": "Bob."}, {"id": "b", "text": "Ann swims."}])
    context = make_context({("Ann swims.", "Ann paints."): CONTRADICTED})
    result = await NliMeasure().measure(exchange, claims_of("Ann paints.", "Ann paints."), context)
    (quote,) = result.claims[0].evidence
    assert (quote.passage_id, quote.span.text, quote.score) == ("b", "Ann swims.", pytest.approx(0.9))


async def test_an_absent_claim_has_no_quote(make_context: MakeContext) -> None:
    exchange = exchange_of("Ann paints.", evidence=["Bob."])
    result = await NliMeasure().measure(exchange, claims_of("Ann paints.", "Ann paints."), make_context())
    assert result.claims[0].evidence == ()


async def test_the_response_is_as_bad_as_its_worst_claim(make_context: MakeContext) -> None:
    response = "Ann paints. Ann swims."
    context = make_context({("E", "Ann paints."): ENTAILED, ("E", "Ann swims."): CONTRADICTED})
    claims = claims_of(response, "Ann paints.", "Ann swims.")
    result = await NliMeasure().measure(exchange_of(response, evidence="E"), claims, context)
    assert result.score == pytest.approx(0.98)


async def test_without_evidence_nothing_is_measured(make_context: MakeContext) -> None:
    result = await NliMeasure().measure(exchange_of("A."), claims_of("A.", "A."), make_context())
    assert (result.score, result.reason, result.claims[0].score) == (None, "no_evidence", None)


async def test_no_claims_is_no_score(make_context: MakeContext) -> None:
    result = await NliMeasure().measure(exchange_of("A.", evidence="E"), [], make_context())
    assert (result.score, result.reason, result.claims) == (None, "no_claims", ())


async def test_a_language_the_model_does_not_know_is_not_measured(make_context: MakeContext) -> None:
    response = "Der Turm wurde im Jahr 1889 in Paris gebaut und ist seitdem das Wahrzeichen der Stadt."
    context = make_context(nli_languages=("en",))
    result = await NliMeasure().measure(exchange_of(response, evidence="E"), claims_of(response, response), context)
    assert (result.score, result.reason) == (None, "language: de")


async def test_a_failing_model_gives_no_score(make_context: MakeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: TableNli, pairs: object) -> None:
        raise NliError("out of memory")

    monkeypatch.setattr(TableNli, "scores", fail)
    result = await run_measure(NliMeasure(), exchange_of("A.", evidence="E"), claims_of("A.", "A."), make_context())
    assert (result.score, result.ran) == (None, False)
    assert result.reason == "measure_failed: NliError: out of memory"
