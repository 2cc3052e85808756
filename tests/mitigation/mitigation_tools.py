"""Texts of the tests in this folder, and what a model replies that corrects sentences."""

import json
from typing import Any

from evidencerails.report import Finding

EVIDENCE = (
    "The Halden bridge opened in 1932. It is 412 metres long. It was designed by Ove Lund, an engineer from Oslo. "
    "Tolls were abolished in 1974."
)
QUESTION = "What do you know about the Halden bridge?"
RESPONSE = "The Halden bridge was designed by Ove Lund. It opened in 1911. It is 412 metres long."
REPAIRED = "The Halden bridge was designed by Ove Lund. It opened in 1932. It is 412 metres long."
REWRITE_PROMPT = "You correct single sentences"


def rewrites(*texts: str) -> str:
    """A reply of a model that writes these sentences in the places of the flagged ones."""
    return json.dumps({"sentences": [{"number": n, "text": text} for n, text in enumerate(texts, start=1)]})


def finding(**fields: Any) -> Finding:
    """A finding of an unsupported claim, but for these fields."""
    given = {"kind": "unsupported_claim", "category": "contextual", "severity": "high", "origin": "extrinsic"}
    return Finding(**{**given, "reason": "r", "check": "c", "version": "1", **fields})
