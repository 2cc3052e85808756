import json
from pathlib import Path

import pytest
import yaml
from commands import Run

from evidencerails.cli.demo import DATA

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("colang_is_parsed_once")]


def test_each_scene_ends_as_its_title_says(evidencerails: Run) -> None:
    done = evidencerails("demo", "--json")
    assert done.code == 0
    turns = json.loads(done.out)
    verdicts = [(turn["reports"][0]["status"], turn["reports"][0]["decision"]) for turn in turns]
    assert verdicts == [
        ("grounded", "allow"),
        ("hallucinated", "warn"),
        ("hallucinated", "block"),
        ("hallucinated", "block"),
        ("grounded", "allow"),  # the one that the rail misses
        ("unverified", "warn"),
    ]
    flagged = [[c["span"]["text"] for c in turn["reports"][0]["claims"] if c["label"] != "supported"] for turn in turns]
    assert any("the oldest recordings are removed automatically" in text for text in flagged[1])
    assert any("I've already registered your move" in text for text in flagged[2])
    assert any("Leaving early costs the full monthly price" in text for text in flagged[3])
    seen = [turn["user_sees"]["content"] for turn in turns]
    assert seen[0] == turns[0]["model"]
    assert seen[1].startswith(turns[1]["model"] + "\n\nThe previous answer is prone to hallucination")
    assert seen[2] == "I don't know the answer to that."
    assert seen[3]["type"] == "GroundingRailException"
    assert seen[4] == turns[4]["model"]
    assert seen[5].startswith(turns[5]["model"]) and "could not be verified" in seen[5]
    assert "no_evidence" in turns[5]["reports"][0]["reason"]


def test_the_demo_plays_a_part_of_the_support_bot(repository: Path) -> None:
    bot = repository / "examples" / "support_bot"
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    for name, text in data["articles"].items():
        assert text == (bot / "config" / "kb" / f"{name}.md").read_text(encoding="utf-8"), name
    rows = yaml.safe_load((bot / "questions.yml").read_text(encoding="utf-8"))
    answers = {(row["question"], row[side]) for row in rows for side in ("right", "wrong")}
    played = [(turn["question"], turn["answer"]) for turn in data["turns"] if turn["articles"]]
    assert len(played) == 5 and answers.issuperset(played)


def test_it_shows_claims_and_evidence_also_in_the_source_tree(evidencerails: Run, repository: Path) -> None:
    """NeMo loads `./actions` of the current directory, and looks there first for import paths."""
    done = evidencerails("demo", cwd=repository)
    assert done.code == 0
    assert "sources:   recordings.md (300 words)" in done.out
    assert "the oldest ⟦recordings⟧ are ⟦removed automatically⟧" in done.out
    assert "1: When the space is full, new recordings" in done.out
