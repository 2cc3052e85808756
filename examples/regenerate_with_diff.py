"""An answer with two wrong facts, written again: only the flagged sentences change, and the diff says how.

Run:  python examples/regenerate_with_diff.py
"""

import json

from evidencerails import Guard
from evidencerails.testing import ReplayServer

EVIDENCE = "The Halden bridge opened in 1932. It is 412 metres long. It was designed by Ove Lund."
ANSWER = "The Halden bridge was designed by Ove Lund. It opened in 1911. The Halden bridge is 950 metres long."
CORRECTED = ["It opened in 1932.", "The Halden bridge is 412 metres long."]


def main() -> None:
    """Check, repair, check again; then the same with a model that makes something else up."""
    with ReplayServer() as server:
        guard = Guard(
            {
                "checks": ["grounding"],
                "llm": {"model": "replay", "base_url": server.base_url, "api_key": "none"},
                "policies": [{"when": {"kind": "unsupported_claim"}, "then": "regenerate"}],
            }
        )
        for corrected in (CORRECTED, ["It opened in 1899.", "It was painted green in 1950."]):
            server.reset()
            server.default(rewritten(corrected))
            report = guard.check_sync(ANSWER, evidence=EVIDENCE)
            print(f"{report.repair.status} after {report.repair.rounds} round(s), decision: {report.decision}")
            print(report.repair.diff or report.repair.reason)
            print(f"answer: {report.answer}\n")


def rewritten(sentences: list[str]) -> str:
    """What a model replies when it is asked to write the flagged sentences again."""
    return json.dumps({"sentences": [{"number": n, "text": text} for n, text in enumerate(sentences, start=1)]})


if __name__ == "__main__":
    main()
