"""The flow `check citations`: policies by violation, numbers of a labelled context."""

import pytest
from nemo_apps import EVIDENCE, WARNING, App, checked, script, user

from evidencerails.testing import ReplayServer

CLEAN = "The Harbour Bridge of Porto Lindo was opened in 1962 [1]."
WRONG = "The Harbour Bridge of Porto Lindo was opened in 1999 [1]."
BARE = "The Harbour Bridge of Porto Lindo was opened in 1962."
FLAG = {"evidence": EVIDENCE, "check_citations": True}


@pytest.mark.parametrize(("answer", "violation"), [(WRONG, "non_entailing"), (BARE, "missing_citation")])
async def test_other_violations_warn_and_stand_in_the_report(
    app: App, server: ReplayServer, answer: str, violation: str
) -> None:
    server.default(answer)
    said, report = await checked(app(flows="check citations"), FLAG)
    assert said.startswith(answer) and WARNING in said
    assert [(f["kind"], f["violation"]) for f in report["findings"]] == [("citation_violation", violation)]


POLICIES = """
custom_data:
  evidencerails:
    policies:
      - {when: {kind: citation_violation, violation: non_entailing}, then: raise}
"""


async def test_a_policy_may_raise_the_rail_s_own_exception(app: App, server: ReplayServer) -> None:
    server.default(WRONG)
    message = await app(POLICIES, flows="check citations").generate_async(messages=user(FLAG))
    assert message["role"] == "exception"
    assert message["content"]["type"] == "CitationRailException"
    assert message["content"]["kinds"] == ["citation_violation"]
    assert message["content"]["spans"][0]["text"] in WRONG
    assert all("text" not in quote["span"] for quote in message["content"]["evidence"])


async def test_numbers_of_a_labelled_context_are_its_own(app: App, server: ReplayServer) -> None:
    """Retrieval hands NeMo one text in which the passages are numbered."""
    chunks = f"[1] The museum costs 6 euros.\n[2] {EVIDENCE}"
    for answer, is_kept in ((CLEAN.replace("[1]", "[2]"), True), (CLEAN, False)):
        script(server, answer)
        messages = user({"relevant_chunks": chunks, "check_citations": True})
        message = await app(flows="check citations").generate_async(messages=messages)
        assert (message["content"] == answer) is is_kept


async def test_without_evidence_nothing_passes_as_clean(app: App, server: ReplayServer) -> None:
    server.default(CLEAN)
    message = await app(flows="check citations").generate_async(messages=user({"check_citations": True}))
    assert "could not be verified" in message["content"]
