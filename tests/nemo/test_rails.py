"""Each rail: flag, modes, its own exception, Colang 1.0 and 2.x."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, QUESTION, App, app_2, is_sampling, script, shown, user
from nemo_modes import MODES, Turn

from evidencerails.testing import ReplayServer

SCHEMA = {"type": "object", "properties": {"bridges": {"type": "integer"}}, "required": ["bridges"]}
PAPERS = {
    "sources": {"papers": {"kind": "csv", "path": "PAPERS", "fields": {"author": "author", "year": "year"}}},
    "entities": {"papers": {"sources": ["papers"]}},
}


@dataclass(frozen=True)
class Rail:
    """A rail with an answer that it has to block, one that it has to let pass, and what it says of the first."""

    flow: str
    bad: str
    good: str
    exception: str
    kind: str
    span: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def flag(self) -> str:
        return self.flow.replace(" ", "_").removeprefix("self_")


RAILS = [
    Rail("check grounding", PLANTED, CLEAN, "GroundingRailException", "unsupported_claim", PLANTED),
    Rail(
        "self check hallucination", PLANTED, CLEAN, "SelfCheckHallucinationRailException", "inconsistent_samples",
        PLANTED,
    ),
    Rail("check claims", PLANTED, CLEAN, "ClaimsRailException", "unsupported_claim", PLANTED),
    Rail(
        "check citations", CLEAN.replace(".", " [8]."), CLEAN.replace(".", " [1]."), "CitationRailException",
        "citation_violation", "[8]",
    ),
    Rail(
        "check knowledge", "Chen et al. (2021) showed that naps help.", "Chen et al. (2019) showed that naps help.",
        "KnowledgeRailException", "factual_fabrication", "Chen et al. (2021)", {"knowledge": PAPERS},
    ),
    Rail(
        "check structure", '{"bridges": "three"}', '{"bridges": 3}', "StructureRailException", "structure_violation",
        '"three"', {"structure": {"schema": SCHEMA}},
    ),
    Rail(
        "check logic", "Each of the 12 boxes holds 7 cups, and 12 * 7 = 85.",
        "Each of the 12 boxes holds 7 cups, and 12 * 7 = 84.", "LogicRailException", "logic_error", "12 * 7 = 85",
        {"policies": [{"when": {"kind": "logic_error"}, "then": "block"}]},
    ),
]  # fmt: skip
each_rail = pytest.mark.parametrize("rail", RAILS, ids=[rail.flow for rail in RAILS])


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("papers") / "papers.csv"
    file.write_text('author,year\n"Chen, L.",2019\n', encoding="utf-8")
    return str(file)


def settings_of(rail: Rail, papers: str, **more: Any) -> str:
    data = json.dumps({"evidencerails": {**rail.settings, **more}}).replace("PAPERS", papers)
    return f"custom_data: {data}\n"


@pytest.mark.parametrize("way", ["flag", "always", "no flag"])
@each_rail
async def test_a_bad_answer_is_blocked_and_a_good_one_passes(
    app: App, server: ReplayServer, papers: str, rail: Rail, way: str
) -> None:
    rails = app(settings_of(rail, papers, **({"activation": "always"} if way == "always" else {})), flows=rail.flow)
    context = {"evidence": EVIDENCE, **({rail.flag: True} if way == "flag" else {})}
    seen = await shown(rails, server, rail.bad, rail.good, context=context)
    assert seen == [rail.bad if way == "no flag" else BLOCKED, rail.good]
    assert any(map(is_sampling, server.requests)) is (way != "no flag" and rail.flag == "check_hallucination")


@pytest.mark.parametrize("mode", ["parallel", "output rails only", "check_async", "stream_async"])
@pytest.mark.parametrize("rail", RAILS[2:], ids=[rail.flow for rail in RAILS[2:]])
async def test_other_modes_catch_it_too(app: App, server: ReplayServer, papers: str, rail: Rail, mode: str) -> None:
    row = MODES[mode]
    rails = app(row.yaml.format(flow=rail.flow, flag_flows="[]") + settings_of(rail, papers))
    for answer, is_caught in ((rail.bad, True), (rail.good, False)):
        script(server, answer)
        seen = await row.ask(rails, Turn(answer, QUESTION, {"evidence": EVIDENCE, rail.flag: True}))
        assert seen.is_caught is is_caught, seen


@each_rail
async def test_the_rail_s_own_exception_names_kind_and_span(
    app: App, server: ReplayServer, papers: str, rail: Rail
) -> None:
    script(server, rail.bad)
    yaml = settings_of(rail, papers, activation="always") + "enable_rails_exceptions: true\n"
    message = await app(yaml, flows=rail.flow).generate_async(messages=user({"evidence": EVIDENCE}))
    assert message["role"] == "exception"
    content = message["content"]
    assert (content["type"], content["kinds"]) == (rail.exception, [rail.kind])
    assert rail.span in content["spans"][0]["text"] and content["spans"][0]["text"] in rail.bad


COLANG_2 = [(rail, True) for rail in RAILS] + [(rail, False) for rail in RAILS[:2]]


@pytest.mark.parametrize(("rail", "exceptions"), COLANG_2, ids=[f"{rail.flow}-{raises}" for rail, raises in COLANG_2])
async def test_colang_2(server: ReplayServer, papers: str, rail: Rail, exceptions: bool) -> None:
    more = "enable_rails_exceptions: true\n" if exceptions else ""
    rails = app_2(server, settings_of(rail, papers) + more, output=rail.flow, flags=[rail.flag])
    for answer, seen in ((rail.bad, BLOCKED), (rail.good, rail.good)):
        script(server, answer)
        message = await rails.generate_async(messages=user({"evidence": EVIDENCE}))
        events = {event["type"]: event for event in message.get("events", ())}
        if exceptions and answer == rail.bad:
            exception = events[rail.exception]
            assert exception["kinds"] == [rail.kind] and exception["spans"][0]["text"] in rail.bad
            assert rail.bad not in message["content"]
        else:
            assert message["content"] == seen
            findings = events["HallucinationReport"]["report"]["findings"]
            assert [finding["kind"] for finding in findings] == ([rail.kind] if answer == rail.bad else [])
