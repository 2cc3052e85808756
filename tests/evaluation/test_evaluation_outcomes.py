"""Sentences, spans and claims of an outcome, by hand; columns, baselines and results over them."""

import numpy as np
import pytest

from evidencerails.evaluation import results
from evidencerails.evaluation.outcomes import Outcome, Overlap, Part, Verdict, character_overlap, outcome_of
from evidencerails.evaluation.results import columns_of, method_metrics, risk_coverage_area
from evidencerails.evaluation.rows import GoldSentence, Row
from evidencerails.evaluation.session import comparison, verdicts_of

pytestmark = pytest.mark.usefixtures("few_resamples")
ANSWER = "It opened in 1978. It is long.  It costs nothing."
PARTS = (Part(0, 18, 0.9, True), Part(19, 30, 0.2, False))


def row(**fields: object) -> Row:
    return Row(id="1", response=ANSWER, hallucinated=True, evidence=("It opened in 1987.",), **fields)  # type: ignore[arg-type]


def verdict(*parts: Part) -> Verdict:
    return Verdict("hallucinated", 0.9, parts=parts)


def test_a_sentence_has_the_worst_score_of_the_parts_in_it() -> None:
    sentences = (
        GoldSentence("It opened in 1978.", True),
        GoldSentence("It is  long.", False),
        GoldSentence("It costs nothing.", False),
        GoldSentence("Not in there.", True),
        GoldSentence("It is long.", None),
    )
    found = outcome_of(row(sentences=sentences), "m", verdict(*PARTS), {})
    assert found.sentences == ((True, 0.9, True), (False, 0.2, False), (False, 0.0, False))
    assert found.lost_sentences == 1


def test_spans_by_characters() -> None:
    # flagged 0:18, gold 13:30: shared 13:18 (5), flagged alone 13, gold alone 12
    assert character_overlap([(0, 18)], [(13, 30)]) == Overlap(5, 13, 12)
    assert character_overlap([(0, 4), (2, 6)], [(5, 6), (5, 6)]) == Overlap(1, 5, 0)


def test_claims_touch_spans_where_the_data_set_has_them() -> None:
    assert outcome_of(row(spans=((25, 28),)), "m", verdict(*PARTS), {}).gold_parts == (False, True)
    assert outcome_of(row(), "m", verdict(*PARTS), {}).gold_parts is None
    unverified = outcome_of(row(spans=((25, 28),)), "m", Verdict("unverified", reason="x"), {})
    assert unverified.characters is None


def test_an_outcome_survives_its_line() -> None:
    found = outcome_of(row(spans=((25, 28),), grade=0.5), "m", verdict(*PARTS), {"length": 9.0})
    assert Outcome.model_validate_json(found.line()) == found and "\n" not in found.line()


def outcomes(statuses: str, labels: str, method: str = "m") -> list[Outcome]:
    """One a letter: h(allucinated), g(rounded), u(nverified); labels 1 or 0."""
    names = {"h": ("hallucinated", 0.9), "g": ("grounded", 0.1), "u": ("unverified", None)}
    return [
        Outcome(id=str(n), document=str(n), method=method, hallucinated=label == "1", status=names[one][0],  # type: ignore[arg-type]
                score=names[one][1], reason="why: because")
        for n, (one, label) in enumerate(zip(statuses, labels, strict=True))
    ]  # fmt: skip


def test_unverified_rows_are_apart_and_wrong_in_the_second_column() -> None:
    # verified: h1 h1 g0 g0 h0 -> TP 2, FP 1, TN 2; unverified: one of each label
    found = method_metrics(columns_of(outcomes("hhgghuu", "1100010"))["m"])
    assert (found["n"]["value"], found["unverified"]["value"]) == (7, 2)
    assert found["precision"]["value"] == pytest.approx(2 / 3)
    assert found["recall"]["value"] == 1.0
    assert found["recall"]["conservative"]["value"] == pytest.approx(2 / 3)
    assert found["precision"]["conservative"]["value"] == pytest.approx(2 / 4)
    assert found["coverage"]["value"] == pytest.approx(5 / 7)
    assert found["selective_risk"]["value"] == pytest.approx(1 / 5)
    assert found["false_abstention_rate"]["value"] == pytest.approx(2 / 4)
    assert found["leak_rate"]["value"] == 0.0
    assert found["abstention_precision"]["value"] == pytest.approx(1 / 2)


def test_claim_rates_by_hand() -> None:
    def claims(label: bool, *flags: bool) -> Outcome:
        parts = tuple((0, 1, 0.9 if flag else 0.1, flag) for flag in flags)
        return Outcome(id=f"{label}{len(flags)}", document=str(label), method="m", hallucinated=label,
                       status="hallucinated", score=0.9, parts=parts)  # fmt: skip

    found = method_metrics(columns_of([claims(True, True, True, False), claims(False, True, False, False, False)])["m"])
    assert found["claim_hallucinated_flagging_rate"]["value"] == pytest.approx(2 / 3)
    assert found["claim_clean_flagging_rate"]["value"] == pytest.approx(1 / 4)
    assert found["claim_discrimination_ratio"]["value"] == pytest.approx((2 / 3) / (1 / 4))
    assert found["factual_accuracy_rate"]["value"] == pytest.approx(4 / 7)


def test_risk_coverage_area_by_hand() -> None:
    def area(*rows: tuple[float, float, float]) -> float:
        return risk_coverage_area(np.array(list(rows), dtype=[(name, float) for name in ("label", "status", "score")]))

    # most certain first: right, wrong, right -> risks 0, 1/2, 1/3
    assert area((1, 1, 0.95), (0, 1, 0.9), (0, 0, 0.3)) == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    # nobody can say which of two equal ones comes first: both orders count
    assert area((1, 1, 0.9), (0, 1, 0.9)) == pytest.approx((0.5 + 0.5) / 2)


def test_correlations_of_equal_scores_are_undefined() -> None:
    found = method_metrics(columns_of(outcomes("hhh", "110"))["m"])
    assert found["spearman"]["value"] is None and "undefined" in found["spearman"]["reason"]


def test_baselines_by_hand() -> None:
    assert results.features(row()) == {"length": 10.0, "unseen_words": pytest.approx(3 / 4, abs=0.3)}
    assert "unseen_words" not in results.features(Row(id="1", response="A b.", hallucinated=True))
    # best F1: flag from 5 on: TP 2, FP 1 -> 4/5
    assert results.best_flags([1, 0, 1, 0], [9, 7, 5, 1]).tolist() == [True, True, True, False]
    assert results.best_direction([1, 0], [1.0, 5.0]).tolist() == [-1.0, -5.0]


def test_a_run_against_itself_has_no_p_value_and_one_class_no_area() -> None:
    same = verdicts_of(outcomes("hgu", "111"), "m")
    found = comparison(same, same, ("a", "a"))
    assert found["p_mcnemar"] is None and found["differences"]["f1"]["value"] == 0.0
    assert found["differences"]["auroc"]["value"] is None
    found = comparison(same, verdicts_of(outcomes("ghh", "111"), "m"), ("a", "b"))
    assert (found["only_first_right"], found["only_second_right"], found["p_mcnemar"]) == (1, 2, 1.0)
