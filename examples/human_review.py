"""A risky answer waits for a person: the turn is held, a reviewer corrects the answer, the corrected text leaves.

Run:  python examples/human_review.py          (needs: pip install 'groundrails[store]')
"""

import threading
import time

from groundrails import Guard
from groundrails.config_store import StoreSettings
from groundrails.review.queue import ReviewQueue
from groundrails.store import Store

URL = "sqlite:///human_review.db"
SETTINGS = {
    "store": {"url": URL},
    "severity": {"stakes": "high"},  # stakes * (1 - confidence) is the risk; above 0.7 the turn waits
    "escalation": {"deadlines_s": {"blocking": 30}, "fallback": "block", "poll_s": 0.1},
    "policies": [{"when": {"kind": "unsupported_claim"}, "then": "escalate"}],
}
EVIDENCE = "Adults take at most 4 tablets a day. Do not combine the tablets with alcohol."


def reviewer() -> None:
    """Somebody else, somewhere else: `groundrails review list`, `show` and `edit` do the same."""
    with Store(StoreSettings(url=URL)) as store:
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


def main() -> None:
    """One answer that is wrong, one person, one corrected answer."""
    person = threading.Thread(target=reviewer, daemon=True)
    person.start()
    guard = Guard(SETTINGS)
    report = guard.check_sync("Adults take at most 14 tablets a day.", evidence=EVIDENCE)
    person.join(timeout=30)
    assert report.review is not None
    print(f"decision:       {report.decision}, review {report.review.state} by {report.review.reviewer}")
    print(f"user reads:     {report.answer}")
    guard.close()


if __name__ == "__main__":
    main()
