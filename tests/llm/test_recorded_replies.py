"""Replies of a real large language model, recorded in `benchmarks/judge`, through the parsers and the rule of proof."""

import gzip
import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from reply_parsers import PARSERS

from evidencerails import Guard
from evidencerails.checks.claims.llm import parse_verdicts
from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Exchange, Message, Passage
from evidencerails.llm.parsing import ask
from evidencerails.measures.evidence import proof_of
from evidencerails.testing import ReplayServer

A_KIND = 40
"""Replies to one prompt that are read; drawn with one seed."""


LEAST = 4
"""Recorded replies to each prompt; few chains of reasoning leave a step to the judge."""


@pytest.fixture
def rows(repository: Path) -> dict[str, list[dict[str, Any]]]:
    """The recorded requests with their replies, by prompt."""
    beginnings = {
        prompt["messages"][0]["content"][:60]: prompt["task"]
        for path in (repository / "prompts").glob("*.yml")
        for prompt in yaml.safe_load(path.read_text(encoding="utf-8"))["prompts"]
        if prompt["task"] in PARSERS
    }
    found: dict[str, list[dict[str, Any]]] = {task: [] for task in PARSERS}
    text = gzip.decompress((repository / "benchmarks" / "judge" / "replies.jsonl.gz").read_bytes()).decode()
    for row in map(json.loads, text.splitlines()):
        task = beginnings.get(row["messages"][0]["content"][:60]) if len(row["messages"]) == 2 else None
        if task:
            found[task].append(row)
    return found


def key(messages: Any) -> str:
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


@pytest.mark.slow
async def test_recorded_replies_are_read_at_once(server: ReplayServer, rows: dict[str, list[dict[str, Any]]]) -> None:
    rng = random.Random(3)
    assert all(len(own) >= LEAST for own in rows.values()), {task: len(own) for task, own in rows.items()}
    replies = {key(row["messages"]): row["reply"] for own in rows.values() for row in own}
    read = total = 0
    server.default(lambda request: replies.get(key(request.body["messages"]), "never recorded"))
    llm = {
        "base_url": server.base_url,
        "model": "recorded",
        "api_key": "none",
        "budget": {"calls": 1000, "tokens": 10**8},
    }
    session = Guard({"llm": llm}).context(Exchange.of(""))[0].llm
    assert session is not None
    for task, own in rows.items():
        for row in rng.sample(own, min(A_KIND, len(own))):
            total += 1
            before = len(server.requests)
            try:
                await ask(session, [Message(**one) for one in row["messages"]], PARSERS[task], repair="again")
            except LlmReplyError:
                continue
            read += len(server.requests) == before + 1
    assert read / total >= 0.995, (read, total)


@pytest.mark.slow
def test_right_verdicts_with_right_quotes_get_through(repository: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    cases = (repository / "benchmarks" / "everyday_cases.jsonl").read_text(encoding="utf-8").splitlines()
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
