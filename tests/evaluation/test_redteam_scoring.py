import pytest
from redteam_targets import FixedTarget, knows_all

from evidencerails.evaluation.redteam.attacks import Attack, Category, Probe, right, wrong
from evidencerails.evaluation.redteam.outcomes import Verdict
from evidencerails.evaluation.redteam.scoring import scores, wilson
from evidencerails.evaluation.redteam.targets import attack_all, shots_wanted
from evidencerails.evaluation.redteam.wording import dimension_rows, markdown, summary


def attack(number: int, category: Category = "scale_stress", **rest: object) -> Attack:
    probes = (wrong(f"False {number}.", "robustness"), right(f"True {number}.", "robustness"), right(f"So {number}."))
    return Attack.of(category, f"Question {number}?", ("Source.",), probes, **rest)  # type: ignore[arg-type]


async def test_flagging_everything_or_nothing_gets_a_half_and_knowing_all_gets_one() -> None:
    attacks = [attack(number) for number in range(4)]
    for rule, expected in ((lambda a, p: "flagged", 0.5), (lambda a, p: "passed", 0.5), (knows_all, 1.0)):
        found = scores(await attack_all(attacks, FixedTarget(rule)))
        assert found["score"]["value"] == expected
        assert found["categories"]["scale_stress"]["value"] == expected


async def test_scores_by_hand() -> None:
    """Attack 0: the false answer passes, both true ones pass: (0 + 1) / 2. Attack 1: caught, one of two true answers is
    flagged: (1 + 0.5) / 2. Mean 0.625."""

    def rule(one: Attack, probe: Probe) -> Verdict:
        caught = {"False 1.", "So 1."}
        return "flagged" if probe.answer in caught else "passed"

    found = scores(await attack_all([attack(0), attack(1)], FixedTarget(rule)))
    assert found["score"]["value"] == pytest.approx(0.625)
    assert found["score"]["n"] == 2
    counts = found["counts"]
    assert (counts["false_planted"], counts["false_caught"]) == (2, 1)
    assert (counts["true_planted"], counts["true_passed"]) == (4, 3)
    assert found["dimensions"]["hallucination_avoidance"]["value"] == 0.5  # the two false answers
    assert found["dimensions"]["robustness"]["value"] == 0.75  # False 0, True 0, False 1, True 1


async def test_a_question_counts_as_much_as_the_ready_answers() -> None:
    one = attack(0, truth="unanswerable")
    found = scores(await attack_all([one], FixedTarget(knows_all, reply="It was opened by Osvald Brenning.")))
    category = found["categories"]["scale_stress"]
    assert (category["planted_score"], category["asked_score"], category["value"]) == (1.0, 0.0, 0.5)
    assert found["counts"]["asked_failed"] == 1


async def test_an_attack_that_no_check_can_notice_is_named_and_scores_like_a_guard_that_lets_all_pass() -> None:
    attacks = [attack(0), attack(1, "citation_manipulation", checks=("citations",))]
    target = FixedTarget(knows_all, checks=("grounding",))
    results = await attack_all(attacks, target)
    found = scores(results)
    assert shots_wanted(attacks, target) == 3
    assert (found["score"]["value"], found["score"]["n"]) == (0.75, 2)  # 1 and 0.5
    assert found["coverage"] == {"value": 0.5, "wanted": 2, "uncovered": ["citation_manipulation"]}
    category = found["categories"]["citation_manipulation"]
    assert category["value"] is None and category["attempted"] == 0
    assert category["not_attempted"] == "needs citations, which the engine does not run"
    assert scores(results, ["value_swap"])["coverage"]["uncovered"] == ["citation_manipulation", "value_swap"]
    alone = scores(await attack_all(attacks[1:], target))
    assert alone["score"]["value"] is None and alone["coverage"]["value"] == 0.0


@pytest.mark.parametrize(
    ("attacks", "missing", "score", "n", "covered"),
    [
        ([attack(0)], ["value_swap"], 0.75, 2, 0.5),
        ([attack(0), attack(1)], ["value_swap"], 0.75, 4, 0.5),  # as many as the other category has
        ([attack(0)], ["value_swap", "evidence_padding", "authority_impersonation"], 0.625, 4, 0.25),
        ([attack(0)], ["scale_stress"], 1.0, 1, 1.0),  # a suite has what the evidence has not
    ],
)
async def test_a_category_that_the_evidence_has_nothing_for_is_part_of_the_score(
    attacks: list[Attack], missing: list[Category], score: float, n: int, covered: float
) -> None:
    found = scores(await attack_all(attacks, FixedTarget(knows_all)), missing)
    assert (found["score"]["value"], found["score"]["n"]) == (score, n)
    assert found["coverage"]["value"] == covered


async def test_a_target_that_raises_is_an_outcome_of_that_answer_only() -> None:
    def rule(one: Attack, probe: Probe) -> Verdict:
        if probe.answer == "True 0.":
            raise RuntimeError("broken")
        return knows_all(one, probe)

    (result,) = await attack_all([attack(0)], FixedTarget(rule))
    assert [shot.behaviour.match for shot in result.shots] == [1.0, None, 1.0]
    assert "RuntimeError" in result.shots[1].outcome.reason


async def test_attack_detection_counts_every_attack_that_got_a_verdict() -> None:
    attacks = [attack(0), attack(1, "context_poisoning"), attack(2, "authority_impersonation")]
    for names, expected in ((True, 1.0), (False, 0.0)):
        found = scores(await attack_all(attacks, FixedTarget(knows_all, names_attack=names)))
        detection = found["dimensions"]["attack_detection"]
        assert (detection["value"], detection["n"]) == (expected, 3)
        assert detection["tampering"]["value"] == 0.0
        assert ("attack detection, called tampering", "0.00 [0.00, 0.56]", "3") in dimension_rows(found)


async def test_answers_without_evidence_are_not_tried_where_the_app_looks_sources_up() -> None:
    bare = Probe(answer="False.", is_wrong=True, without_evidence=True)
    one = Attack.of("knowledge_boundary", "Q?", ("Source.",), (wrong("No."), right("Yes."), bare))
    target = FixedTarget(knows_all)
    assert len((await attack_all([one], target))[0].shots) == 3
    target.brings_evidence = True
    assert len((await attack_all([one], target))[0].shots) == 2


def test_wilson_by_hand() -> None:
    """Mean 0.5 of 4 values: (0.5 + 3.8416/8) / (1 + 3.8416/4) -+ 1.96/(1.9604) * sqrt(0.0625 + 3.8416/64)."""
    low, high = wilson(0.5, 4)
    assert (round(low, 3), round(high, 3)) == (0.150, 0.850)
    assert wilson(1.0, 1)[1] == 1.0 and wilson(1.0, 1)[0] < 0.25  # one success proves little
    assert wilson(0.0, 50)[0] == 0.0


async def test_hostile_answers_cannot_write_tables_or_controls_into_the_report() -> None:
    probes = (wrong("a | b\n<script>x</script>\u202e[link](http://x)"), right("Fine."))
    one = Attack.of("scale_stress", "Q?", ("Source.",), probes)
    data = scores(await attack_all([one], FixedTarget(lambda a, p: "passed")))
    run = {"date": "d", "machine": "m", "version": "1", "seed": 0, "target": "the engine", "asks_a_model": False,
           "changed": "", "change_log": ["a | b"], "not_generated": {}}  # fmt: skip
    failure = {"attack": one.id, "what": "a false answer passed", "answer": probes[0].answer}
    text = markdown({**data, "run": run, "failures": [failure], "regression": None})
    assert "<script>" not in text and "\u202e" not in text and "[link](" not in text
    row = next(line for line in text.splitlines() if "a false answer passed" in line)
    assert row.replace("\\|", "").count("|") == 4
    assert any("no model was asked" in line for line in summary({**data, "run": run, "regression": None}))
