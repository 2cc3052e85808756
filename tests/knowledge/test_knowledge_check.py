"""The check `knowledge`: what is looked up, what a miss means, and what is shown to whom."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from evidencerails import Guard, Report
from evidencerails.errors import SettingsError

KNOWN = "Chen et al. (2019) showed that naps help."
MADE_UP = "Chen et al. (2021) showed that naps help."


@pytest.fixture
def papers(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "papers.csv"
    file.write_text(
        'authors,year,title\n"Chen, L.; Okafor, B.",2019,Naps and memory\n"Brandt, T.",2020,Sleep\n', encoding="utf-8"
    )
    fields = {"author": "authors", "year": "year", "title": "title"}
    return {
        "sources": {"papers": {"kind": "csv", "path": str(file), "fields": fields}},
        "entities": {"papers": {"sources": ["papers"]}},
    }


def checked(knowledge: dict[str, Any], response: str, *, evidence: Any = None, **settings: Any) -> Report:
    return Guard({"checks": ["knowledge"], "knowledge": knowledge, **settings}).check_sync(response, evidence=evidence)


def test_what_a_complete_source_lacks_is_a_fabrication(papers: dict[str, Any]) -> None:
    report = checked(papers, MADE_UP)
    assert (report.status, report.decision, report.hallucination_score) == ("hallucinated", "block", 1.0)
    (finding,) = report.findings
    assert (finding.kind, finding.check, finding.origin) == ("factual_fabrication", "knowledge", "extrinsic")
    assert finding.span is not None and finding.span.text == "Chen et al. (2021)"
    assert finding.reason.startswith("papers: no record in 'papers' of 'Chen 2021'; did you mean 'authors: Chen, L.")
    assert finding.evidence[0].passage_id == "papers"
    assert report.metrics["entities_refuted"] == 1.0


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (KNOWN, "all entities found"),
        ("Naps help.", "no_entities"),
        # what is not stated as a fact is left alone
        ("I could not find a paper by Chen et al. (2021).", ""),
        ("There is no such paper as Chen et al. (2021).", ""),
        ("Did Chen et al. (2021) show that?", ""),
        ("Suppose Chen et al. (2021) were right.", ""),
        ("<think>Chen et al. (2021) maybe?</think>Naps help.", ""),
    ],
)
def test_what_is_grounded(papers: dict[str, Any], response: str, reason: str) -> None:
    report = checked(papers, response)
    assert report.status == "grounded" and report.reason.startswith(reason)
    if response == KNOWN:
        assert (report.hallucination_score, report.metrics["existing_entity_rate"]) == (0.0, 1.0)


def test_without_sources_nothing_is_clean() -> None:
    report = checked({}, KNOWN)
    assert report.status == "unverified" and report.reason.startswith("no_sources")


@pytest.mark.parametrize(
    ("more", "response", "evidence", "skipped"),
    [
        ({}, MADE_UP, "A study of Chen and others, 2021, is about naps.", {"settled_by_evidence": 1}),
        ({}, MADE_UP.replace(" et al.", ""), MADE_UP.replace(" et al.", ""), {"settled_by_evidence": 1}),
        ({"min_severity": "critical"}, MADE_UP, None, {"below_min_severity": 1}),
        ({}, MADE_UP, "The museum opens at nine.", {}),
    ],
)
def test_what_the_evidence_settles_or_is_not_severe_is_not_looked_up(
    papers: dict[str, Any], more: dict[str, Any], response: str, evidence: str | None, skipped: dict[str, int]
) -> None:
    report = checked({**papers, **more}, response, evidence=evidence)
    assert report.status == ("grounded" if skipped else "hallucinated")
    assert report.checks["knowledge"].details.get("not_looked_up", {}) == skipped


def test_each_entity_is_one_finding_however_often_it_is_named(papers: dict[str, Any]) -> None:
    report = checked(papers, f"{MADE_UP} {MADE_UP} {KNOWN}")
    assert len(report.findings) == 1 and report.metrics["entities_verified"] == 1.0


def hangs(_: Any) -> bool:
    return threading.Event().wait()


def raises(_: Any) -> bool:
    raise RuntimeError("s3cret")


@pytest.mark.parametrize(
    ("function", "told"), [(hangs, "timeout"), (raises, "failed: RuntimeError"), (len, "bad_answer")]
)
def test_a_source_that_fails_leaves_the_answer_unverified(papers: dict[str, Any], function: Any, told: str) -> None:
    source = {"kind": "callable", "function": function, "timeout_s": 0.1}
    knowledge = {"sources": {"f": source}, "entities": {"papers": {"sources": ["f"]}}}
    report = checked(knowledge, KNOWN)
    assert (report.status, report.hallucination_score) == ("unverified", None)
    assert told in report.reason and "s3cret" not in json.dumps(report.plain())


def test_a_fabrication_beside_an_unknown_one_is_still_found(papers: dict[str, Any]) -> None:
    knowledge = {
        "sources": {**papers["sources"], "f": {"kind": "callable", "function": raises}},
        "entities": {**papers["entities"], "ids": {"sources": ["f"]}},
    }
    assert checked(knowledge, f"{MADE_UP} See order #12345.").status == "hallucinated"


def test_near_misses_stay_in_unless_evidence_is_exposed(papers: dict[str, Any]) -> None:
    report = checked(papers, MADE_UP)
    assert "Naps and memory" in json.dumps(report.plain())
    assert "Naps and memory" not in json.dumps(report.plain(expose_evidence=False))


def test_a_pattern_without_end_leaves_the_answer_unverified(papers: dict[str, Any]) -> None:
    entities = {"mine": {"sources": ["papers"], "pattern": r"(a+)+(a+)+(a+)+x|(a|aa|a?a)*(b|c)+$"}}
    report = checked({**papers, "entities": entities}, "a" * 60)
    assert report.status == "unverified" and "timeout" in report.reason.lower()


def test_five_hundred_entities_are_enough(papers: dict[str, Any]) -> None:
    response = " ".join(f"Chen et al. (2019) and usr_{n}a." for n in range(600))
    entities = {"ids": {"sources": ["all"]}}
    sources = {"all": {"kind": "callable", "function": lambda _: True}}
    report = checked({"sources": sources, "entities": entities, "budget_s": 60.0}, response)
    assert (report.status, report.reason[:17]) == ("unverified", "too_many_entities")


def test_drugs_of_an_extractor_of_your_own_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    (tmp_path / "labels.csv").write_text("name\nAtorvastatin\nMetformin\n", encoding="utf-8")
    knowledge = {
        "sources": {"labels": {"kind": "csv", "path": str(tmp_path / "labels.csv")}},
        "entities": {"drugs": {"sources": ["labels"], "function": "entity_extractors:drugs", "match": "folded"}},
    }
    assert checked(knowledge, "Take atorvastatin and 500 mg of metformin.").status == "grounded"
    report = checked(knowledge, "Take atorvastatine 20 mg.")
    assert report.status == "hallucinated" and "did you mean" in report.findings[0].reason


@pytest.mark.parametrize(
    ("knowledge", "told"),
    [
        ({"entities": {"papers": {"sources": ["nope"]}}}, "names 'nope', which is not in knowledge.sources"),
        ({"sources": {"s": {"kind": "cvs", "path": "x"}}}, "did you mean 'csv'"),
        ({"sources": {"s": {"kind": "csv", "pth": "x"}}}, "unknown key 'knowledge.sources.s.pth'; did you mean 'path'"),
        ({"sources": {"s": {"kind": "csv"}}}, "kind 'csv' needs the key 'path'"),
        ({"sources": {"s": {"kind": "csv", "path": "x", "url": "y"}}}, "key 'url' means nothing for kind 'csv'"),
        ({"sources": {"s": {"kind": "csv", "path": "nowhere.csv"}}}, "there is no file"),
        ({"sources": {"s": {"kind": "callable", "function": "nothing"}}}, "expected an import path"),
        ({"entities": {"x": {"sources": []}}}, "knowledge.entities.x.sources"),
    ],
)
def test_settings_that_cannot_work_are_named_at_load(knowledge: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Guard({"knowledge": knowledge})
    assert told in str(caught.value)


def test_relative_paths_lead_from_the_settings(tmp_path: Path, papers: dict[str, Any]) -> None:
    papers["sources"]["papers"]["path"] = "papers.csv"
    (tmp_path / "settings.yml").write_text(json.dumps({"checks": ["knowledge"], "knowledge": papers}), encoding="utf-8")
    assert Guard(tmp_path / "settings.yml").check_sync(MADE_UP).status == "hallucinated"
