"""Answers that a careless detector lets through, with what each of its parts says; shared by all adapters.

Only the standard library: every peer's environment can import it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EVIDENCE = "The Eiffel Tower was completed in 1889 and stands in Paris. It is 330 metres tall."
FALSE = "The Eiffel Tower was completed in 1958 and stands in Lyon."
_HALLS = [f"The hall number {number} of the museum was opened in {1900 + number}." for number in range(10)]
TEN = " ".join(_HALLS)
TEN_EVIDENCE = " ".join([*_HALLS[:9], "The hall number 9 of the museum was opened in 1850."])
SLOW = "Take your time with text"
"""In an answer about which the stub LLM thinks as long as the slow NLI model."""
CONTRADICTION, ENTAILMENT, NEUTRAL = (0.98, 0.01, 0.01), (0.01, 0.98, 0.01), (0.02, 0.02, 0.96)
"""What a stub NLI model says, as contradiction, entailment, neutral."""


def case(answer: str, *, evidence: str = EVIDENCE, nli: Any = None, judge: str | None = None) -> dict[str, Any]:
    """One case: the answer, what the stub NLI model says of each claim, and what the stub LLM replies."""
    return {"answer": answer, "evidence": evidence, "nli": nli, "judge": judge}


CASES: dict[str, dict[str, Any]] = {
    "false answer, judge without a key": case(FALSE, judge=""),
    "false answer, judge replies in prose": case(FALSE, judge="Sure! I think this is not supported at all."),
    "one word, contradicted": case("Lyon.", nli="contradiction"),
    "1 of 10 claims contradicted": case(TEN, evidence=TEN_EVIDENCE, nli="last"),
    "every claim invented (NLI neutral)": case(FALSE, nli="neutral"),
    "NLI model fails": case(FALSE, nli="error"),
}


def stub_scores(kind: str, pairs: list[tuple[str, str]]) -> list[tuple[float, float, float]]:
    """Contradiction, entailment and neutral of each pair, by the kind of the case."""
    if kind == "error":
        raise RuntimeError("the stub model fails")
    fixed = {"contradiction": CONTRADICTION, "neutral": NEUTRAL, "entailment": ENTAILMENT}
    if kind in fixed:
        return [fixed[kind] for _ in pairs]
    return [CONTRADICTION if "number 9" in claim else ENTAILMENT for _, claim in pairs]


def rows_in(file: str) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def done(found: dict[str, Any]) -> None:
    """Hand the figures to the runner: one line of JSON, the last on standard output."""
    print("\n" + json.dumps(found))
