"""A risky answer waits for a person: the turn is held, a reviewer corrects the answer, the corrected text leaves.

Run:  python examples/human_review.py [review.db]          (needs: pip install '.[store]')

The queue is in a temporary folder unless a file is named.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

from evidencerails import Guard
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store
from evidencerails.settings.operations import StoreSettings

SETTINGS = {
    "severity": {"stakes": "high"},  # stakes * (1 - confidence) is the risk; above 0.7 the turn waits
    "escalation": {"deadlines_s": {"blocking": 30}, "fallback": "block"},
    "policies": [{"when": {"kind": "unsupported_claim"}, "then": "escalate"}],
}
EVIDENCE = "Adults take at most 4 tablets a day. Do not combine the tablets with alcohol."


def reviewer(url: str) -> None:
    """Somebody else, somewhere else: `evidencerails review list`, `show` and `edit` do the same."""
    with Store(StoreSettings(url=url)) as store:
        queue = ReviewQueue(store)
        while not (waiting := queue.items()):
            time.sleep(0.1)
        found = queue.get(waiting[0].id)
        assert found.package is not None
        print(f"reviewer sees:  {found.package.output}")
        for claim in found.package.flagged_claims:
            print(f"                {claim.label}: {claim.span.text}")
        for suggestion in found.package.suggestions:
            print(f"                instead: {suggestion.text}")
        queue.decide(found.item.id, "edited", reviewer="Dr. Ruiz", text="Adults take at most 4 tablets a day.")


def main(url: str) -> None:
    """One answer that is wrong, one person, one corrected answer."""
    person = threading.Thread(target=reviewer, args=[url], daemon=True)
    person.start()
    guard = Guard({**SETTINGS, "store": {"url": url}})
    report = guard.check_sync("Adults take at most 14 tablets a day.", evidence=EVIDENCE)
    person.join(timeout=30)
    assert report.review is not None
    print(f"decision:       {report.decision}, review {report.review.state} by {report.review.reviewer}")
    print(f"user reads:     {report.answer}")
    guard.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "review.db"
        main(f"sqlite:///{file}")
