"""Replies of a real large language model, recorded in `benchmarks/judge`, through the parsers and the rule of proof."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from reply_parsers import PARSERS

from evidencerails.checks.claims.llm import parse_verdicts
from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Passage
from evidencerails.measures.evidence import proof_of

REPOSITORY = Path(__file__).resolve().parents[2]
LEAST = 4
"""Recorded replies to each prompt; few chains of reasoning leave a step to the judge."""


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    """The recorded requests with their replies, by prompt."""
    beginnings = {
        prompt["messages"][0]["content"][:60]: prompt["task"]
        for path in (REPOSITORY / "prompts").glob("*.yml")
        for prompt in yaml.safe_load(path.read_text(encoding="utf-8"))["prompts"]
        if prompt["task"] in PARSERS
    }
    found: dict[str, list[dict[str, Any]]] = {task: [] for task in PARSERS}
    text = gzip.decompress((REPOSITORY / "benchmarks" / "judge" / "replies.jsonl.gz").read_bytes()).decode()
    for row in map(json.loads, text.splitlines()):
        task = beginnings.get(row["messages"][0]["content"][:60]) if len(row["messages"]) == 2 else None
        if task:
            found[task].append(row)
    return found


def test_recorded_replies_are_read(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert all(len(own) >= LEAST for own in rows.values()), {task: len(own) for task, own in rows.items()}
    refused = []
    for task, own in rows.items():
        for row in own:
            try:
                PARSERS[task](row["reply"])
            except LlmReplyError as error:
                refused.append(f"{task}: {error}")
    assert len(refused) <= 0.005 * sum(map(len, rows.values())), refused


@pytest.mark.slow
def test_right_verdicts_with_right_quotes_get_through(rows: dict[str, list[dict[str, Any]]]) -> None:
    cases = (REPOSITORY / "benchmarks" / "everyday_cases.jsonl").read_text(encoding="utf-8").splitlines()
    right = {case["statement"]: case["label"] == "supported" for case in map(json.loads, cases)}
    through: dict[str, bool] = {}
    for row in rows["classify_claims_batch"]:
        text = row["messages"][-1]["content"]
        passage = Passage(id="1", text=text.partition("<evidence>")[2].partition("</evidence>")[0])
        claims = dict(re.findall(r"^(\d+)\. (.+)$", text.partition("<claims>")[2].partition("</claims>")[0], re.M))
        for verdict in parse_verdicts(row["reply"]):
            claim = claims.get(str(verdict.claim), "")
            if right.get(claim) and verdict.label == "supported":
                objection = proof_of(verdict.quote, claim, [passage], is_support=True).objection
                through[claim] = through.get(claim, False) or not objection  # some were asked about twice
    assert len(through) >= 40, len(through)
    assert sum(through.values()) / len(through) >= 0.97, [
        claim for claim, is_proven in through.items() if not is_proven
    ]
