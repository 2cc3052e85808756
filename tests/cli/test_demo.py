import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., Any]


def test_each_scene_ends_as_told(evidencerails: Run) -> None:
    done = evidencerails("demo", "--json")
    assert done.code == 0
    turns = json.loads(done.out)
    verdicts = [(turn["reports"][0]["status"], turn["reports"][0]["decision"]) for turn in turns]
    assert verdicts == [
        ("grounded", "allow"),
        ("hallucinated", "block"),
        ("hallucinated", "warn"),
        ("hallucinated", "block"),
        ("unverified", "warn"),
    ]
    seen = [turn["user_sees"]["content"] for turn in turns]
    assert seen[0] == turns[0]["model"]
    assert seen[1] == "I don't know the answer to that."
    assert seen[2].startswith(turns[2]["model"] + "\n\nThe previous answer is prone to hallucination")
    assert seen[3]["type"] == "GroundingRailException"
    assert seen[4].startswith(turns[4]["model"]) and "could not be verified" in seen[4]
    assert "no_evidence" in turns[4]["reports"][0]["reason"]


def test_the_blocked_words_and_their_evidence_are_shown_within_30_s(evidencerails: Run) -> None:
    done = evidencerails("demo")
    assert done.code == 0
    assert "within ⟦20⟧ business days" in done.out
    assert "method within 5 business days" in done.out
    seconds = float(done.err.split(" turns in ")[1].split(" s")[0])
    assert seconds < 30


def test_it_works_from_the_root_of_the_source_tree(process: Run, repository: Path) -> None:
    """NeMo loads `./actions` of the current directory, and looks there first for import paths."""
    assert process("demo", cwd=repository).code == 0
