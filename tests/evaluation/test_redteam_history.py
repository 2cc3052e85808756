import json
from collections.abc import Callable
from pathlib import Path

import pytest
from redteam_targets import FixedTarget, knows_all
from scipy.stats import binomtest

from evidencerails.config import GuardConfig
from evidencerails.errors import InputError
from evidencerails.evaluation.redteam.attacks import CATEGORIES, Attack, Probe
from evidencerails.evaluation.redteam.corpus import Corpus, Document
from evidencerails.evaluation.redteam.history import (
    SECTIONS,
    SHIPPED,
    Changes,
    changes_since,
    entries,
    new_failures,
    propose,
    read_suite,
    settings_fingerprints,
    sign_test,
    together,
    write_suite,
)
from evidencerails.evaluation.redteam.outcomes import Verdict
from evidencerails.evaluation.redteam.session import Plan, Run, attacks_from, run

BRIDGE = Document("bridge", "The Halden bridge opened in 1932. The Halden bridge is 412 metres long.")
MILL = Document("mill", "The Aker mill was built in 1854. The Aker mill has 14 millstones in Bergen.")
FEW = ("authority_impersonation", "unicode_tricks")


def misses_tricks(attack: Attack, probe: Probe) -> Verdict:
    return "passed" if attack.category == "unicode_tricks" else knows_all(attack, probe)


async def ran(
    history: Path, rule: object = knows_all, documents: tuple[Document, ...] = (BRIDGE,), **rest: object
) -> Run:
    plan = Plan(
        documents=documents, target=FixedTarget(rule), name="test", config=GuardConfig(), per_category=2,  # type: ignore[arg-type]
        categories=FEW, history=history, **rest,  # type: ignore[arg-type]
    )  # fmt: skip
    return await run(plan)


async def test_a_fall_is_told_with_the_categories_and_stays_an_alarm_until_the_score_is_back(tmp_path: Path) -> None:
    """2 + 2 attacks; without the tricks each of their 2 gets 0.5: mean 0.75. Sign test: 2 of 2 worse, p = 0.5."""
    history = tmp_path / "h.jsonl"
    assert (await ran(history)).fall is None
    fallen = (await ran(history, misses_tricks)).fall
    assert (fallen.baseline, fallen.score, fallen.degraded) == (1.0, 0.75, ("unicode_tricks",))
    assert (fallen.worse, fallen.better, fallen.p) == (2, 0, 0.5)
    assert "fallen from 1.000 to 0.750; degraded: unicode_tricks" in fallen.described()
    assert (await ran(history, misses_tricks)).fall is not None
    assert (await ran(history)).fall is None
    assert [entry["alarm"] for entry in entries(history)] == [False, True, True, False]


def test_the_sign_test_is_scipys() -> None:
    for worse, better in ((2, 0), (5, 1), (3, 3), (12, 4), (0, 7)):
        assert sign_test(worse, better) == pytest.approx(binomtest(worse, worse + better, 0.5).pvalue)
    assert sign_test(0, 0) is None


async def test_a_small_fall_is_none_and_another_target_no_baseline(tmp_path: Path) -> None:
    await ran(tmp_path / "h.jsonl")
    line = json.loads((tmp_path / "h.jsonl").read_text())
    assert (await ran(tmp_path / "h.jsonl", misses_tricks, max_drop=0.3)).fall is None
    (tmp_path / "h.jsonl").write_text(json.dumps({**line, "target": "other"}) + "\n")
    assert (await ran(tmp_path / "h.jsonl", misses_tricks)).fall is None


async def test_a_new_document_is_aimed_at(tmp_path: Path) -> None:
    history = tmp_path / "h.jsonl"
    await ran(history)
    again = await ran(history, only_changes=True, documents=(BRIDGE, MILL))
    assert {one.attack.document for one in again.results} == {"mill"}
    assert again.data["run"]["changed"] == "documents mill"


def test_changed_settings_call_for_the_attacks_that_they_bear_on() -> None:
    before = settings_fingerprints(GuardConfig(), {}, "1")
    assert settings_fingerprints(GuardConfig.load({"logic": {}}), {}, "1") == before
    last = {"documents": {}, "settings": before}
    changed = GuardConfig.load({"llm": {"max_retries": 5}})
    found = changes_since(last, {}, settings_fingerprints(changed, {}, "1"))
    assert found == Changes((), ("llm",)) and found.categories == tuple(c for c in CATEGORIES if c in SECTIONS["llm"])
    checks = changes_since(last, {}, settings_fingerprints(GuardConfig.load({"checks": ["claims"]}), {}, "1"))
    assert checks.sections == ("checks",) and checks.categories == CATEGORIES
    assert changes_since(last, {}, settings_fingerprints(GuardConfig(redaction="hash"), {}, "1")) == Changes()
    assert changes_since(None, {"a": "1"}, before) == Changes()


def test_a_suite_comes_back_as_it_was_but_static(tmp_path: Path) -> None:
    made = attacks_from(Corpus.of([BRIDGE, MILL]), 1).attacks
    write_suite(tmp_path / "s.jsonl", made)
    back = read_suite(tmp_path / "s.jsonl")
    assert [one.model_copy(update={"origin": "dynamic"}) for one in back] == made
    assert {one.origin for one in back} == {"static"}
    assert together(back, made) == back


@pytest.mark.parametrize(
    ("read", "line", "message"),
    [
        (read_suite, "{", "lines.jsonl:2: not an attack"),
        (read_suite, '{"id": "x"}', "lines.jsonl:2: not an attack: category"),
        (entries, "[1]", "lines.jsonl:2: not a run of the red team"),
        (entries, '{"schema": "other"}', "lines.jsonl:2: not a run of the red team"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_with_its_number(
    tmp_path: Path, read: Callable[[Path], object], line: str, message: str
) -> None:
    (tmp_path / "lines.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(InputError, match=message):
        read(tmp_path / "lines.jsonl")


async def test_new_failures_are_proposed_once_and_static_ones_never(tmp_path: Path) -> None:
    first = await ran(tmp_path / "h.jsonl", misses_tricks)
    failures = new_failures(first.results)
    assert {one.category for one in failures} == {"unicode_tricks"}
    assert propose(tmp_path / "p.jsonl", failures) == 2
    assert propose(tmp_path / "p.jsonl", failures) == 0
    adopted = read_suite(tmp_path / "p.jsonl")
    again = await ran(tmp_path / "h2.jsonl", misses_tricks, static=adopted)
    assert new_failures(again.results) == []


def test_the_shipped_suite_has_every_category() -> None:
    shipped = read_suite(SHIPPED)
    assert {one.category for one in shipped} == set(CATEGORIES)
    assert len({one.id for one in shipped}) == len(shipped) >= 2 * len(CATEGORIES)
