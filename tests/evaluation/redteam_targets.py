"""Targets of known behaviour: what a red team must say about them can be worked out by hand."""

from collections.abc import Callable

from evidencerails.evaluation.redteam.attacks import Attack, Probe
from evidencerails.evaluation.redteam.outcomes import Outcome, Verdict


class FixedTarget:
    """A target that decides by a rule of the test's."""

    kind = "engine"
    brings_evidence = False
    concurrency = 3

    def __init__(
        self,
        rule: Callable[[Attack, Probe], Verdict],
        *,
        checks: tuple[str, ...] = ("grounding", "claims", "citations", "structure", "logic"),
        reply: str | None = None,
        names_attack: bool = False,
    ) -> None:
        self.rule, self.checks, self.reply, self.names_attack = rule, checks, reply, names_attack
        self.can_be_asked = reply is not None

    async def planted(self, attack: Attack, probe: Probe) -> Outcome:
        """The rule's verdict."""
        return Outcome(self.rule(attack, probe), "by rule", names_attack=self.names_attack, names_tampering=False)

    async def asked(self, attack: Attack) -> Outcome:
        """The reply, passed on."""
        return Outcome("passed", text=self.reply or "")


def knows_all(attack: Attack, probe: Probe) -> Verdict:
    """A perfect guard."""
    return "unverified" if probe.without_evidence else "flagged" if probe.is_wrong else "passed"
