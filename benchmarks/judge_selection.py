"""Which claims or answers a judge should be asked about: rules compared at the same number of calls.

All are put together from one run without a judge and one with (`judge_curve.merged`). A band's two ends are the best on
the very rows; a chance of error comes from the answers of the other documents, five folds, by label and score."""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from judge_curve import HIGHS, LOWS, UNSUPPORTED, Done, merged

from evidencerails import Report
from evidencerails.measures.metrics import is_between
from evidencerails.settings.scoring import CascadeSettings

BUDGETS = (1 / 3, 0.5, 2 / 3, 0.8)
"""Calls for one answer, second questions left out."""
FOLDS = 5
DRAWS = 1_000
PRIOR = (1.0, 4.0)
"""Wrong verdicts and verdicts that a label and score have before any was counted."""


class Choice(NamedTuple):
    """One rule at one strictness: for each answer whether it is asked about, and the sentences called rightly."""

    asked: list[bool]
    right: list[list[bool]]


class Answers:
    """Answers read without a judge and with one."""

    def __init__(self, local: Done, judged: Done, outcomes_of: Callable[[Any, Report], Iterator[Any]]) -> None:
        self.local, self.judged, self._outcomes_of = local, judged, outcomes_of
        self.cases = [case for case, _ in local]
        self.without = [self._called(case, report) for case, report in local]
        self.with_judge = [self._called(case, merged(r, j, lambda _: True)[0]) for (case, r), (_, j) in self._pairs()]
        self.chances = self._chances()

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.local, self.judged, strict=True)

    def _called(self, case: Any, report: Report) -> list[bool]:
        """For each sentence whether the verdict on it is right; what is not verified is not."""
        flags = (
            (one, one.is_flagged or (one.is_unverified and one.is_right)) for one in self._outcomes_of(case, report)
        )
        return [flag is not one.is_right for one, flag in flags]

    def by_claim(self, asks: Callable[[Any], bool]) -> Choice:
        """The claims that `asks` names are asked about."""
        asked, right = [], []
        for (case, report), (_, judged) in self._pairs():
            put_together, count = merged(report, judged, asks)
            asked.append(count > 0)
            right.append(self._called(case, put_together))
        return Choice(asked, right)

    def by_answer(self, worth: Sequence[float], least: float) -> Choice:
        """All claims of answers that are worth at least so much are asked about."""
        asked = [one >= least for one in worth]
        choices = zip(asked, self.with_judge, self.without, strict=True)
        return Choice(asked, [judged if is_asked else local for is_asked, judged, local in choices])

    def _chances(self) -> list[list[tuple[bool, float]]]:
        """For each claim whether it is called wrong, and the chance that the judge says otherwise."""
        folds = [zlib.crc32(case.group.encode()) % FOLDS for case in self.cases]
        counts: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
        every = []
        for fold, ((_, report), (_, judged)) in zip(folds, self._pairs(), strict=True):
            labels = {(one.span.start, one.span.end): one.label for one in judged.claims}
            own = []
            for claim in report.claims:
                bad = claim.label in UNSUPPORTED
                key = (bad, claim.label == "contradicted", int(10 * (0.5 if claim.score is None else claim.score)))
                own.append((bad, key))
                other = labels.get((claim.span.start, claim.span.end), claim.label)
                for n in set(range(FOLDS)) - {fold}:
                    counts[n, key][0] += (other in UNSUPPORTED) is not bad and other != "unevaluatable"
                    counts[n, key][1] += 1
            every.append(own)
        return [
            [(bad, (counts[fold, key][0] + PRIOR[0]) / (counts[fold, key][1] + PRIOR[1])) for bad, key in own]
            for fold, own in zip(folds, every, strict=True)
        ]

    def expected_errors(self) -> list[float]:
        """Of each answer, how many of its claims are called wrongly."""
        return [sum(chance for _, chance in own) for own in self.chances]

    def expected_share(self) -> list[float]:
        """Of each answer, what share of its claims is called wrongly."""
        return [sum(chance for _, chance in own) / max(1, len(own)) for own in self.chances]

    def chance_of_change(self) -> list[float]:
        """Of each answer, how likely the judge's verdicts turn its own from clean to flagged or back."""
        found = []
        for own in self.chances:
            clean = float(np.prod([chance if bad else 1 - chance for bad, chance in own]))
            found.append(clean if any(bad for bad, _ in own) else 1 - clean)
        return found

    def gain(self) -> list[float]:
        """Of each answer, what share of its sentences more the judge calls rightly: known only afterwards."""
        pairs = zip(self.with_judge, self.without, strict=True)
        return [(sum(judged) - sum(local)) / len(local) + 1e-6 * n for n, (judged, local) in enumerate(pairs)]

    def calls(self, choice: Choice) -> float:
        """For one answer, the mean of the sets."""
        of_set = defaultdict(list)
        for case, asked in zip(self.cases, choice.asked, strict=True):
            of_set[case.set].append(asked)
        return float(np.mean([np.mean(own) for own in of_set.values()]))

    def accuracies(self, choice: Choice) -> np.ndarray:
        """Balanced accuracy, the mean of the sets: of all answers, then of draws of their documents."""
        sums: dict[str, dict[str, np.ndarray]] = defaultdict(lambda: defaultdict(lambda: np.zeros(4)))
        for case, right in zip(self.cases, choice.right, strict=True):
            for (_, is_right, _), called in zip(case.labels, right, strict=True):
                sums[case.set][case.group] += np.array(
                    [is_right and called, is_right, not is_right and called, not is_right]
                )
        rng = np.random.default_rng(0)
        of_sets = []
        for groups in sums.values():
            rows = np.array(list(groups.values()))
            draws = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=DRAWS)
            totals = np.concatenate([np.ones((1, len(rows))), draws]) @ rows
            of_sets.append((totals[:, 0] / totals[:, 1] + totals[:, 2] / totals[:, 3]) / 2)
        return np.mean(of_sets, axis=0)


def rows_of_selection(answers: Answers) -> list[list[str]]:
    """A row for each rule, a column for each number of calls: accuracy with its interval, and what it has over the
    first rule."""
    bands = [CascadeSettings(low=low, high=high) for low, high in itertools.product(LOWS, HIGHS) if low < high]

    def ranked(worth: list[float]) -> list[Choice]:
        return [
            answers.by_answer(worth, least) for least in sorted(set(worth), reverse=True)[:: max(1, len(worth) // 150)]
        ]

    rules: dict[str, list[Choice]] = {
        "claims with a score in a band (the rail's)": [
            answers.by_claim(lambda c, band=band: is_between(c.score, band)) for band in bands
        ],
        "claims with a score in a band, and every `absent` one": [
            answers.by_claim(lambda c, band=band: c.label == "absent" or is_between(c.score, band)) for band in bands
        ],
        "answers with the most errors to expect": ranked(answers.expected_errors()),
        "answers with the largest share of errors to expect": ranked(answers.expected_share()),
        "answers whose own verdict is likeliest to change": ranked(answers.chance_of_change()),
        "answers that gain most, known afterwards": ranked(answers.gain()),
    }
    always = float(answers.accuracies(Choice([], answers.with_judge))[0])
    rows = [["asked about", *(f"{budget:.2f} calls an answer" for budget in BUDGETS)]]
    first: dict[float, np.ndarray] = {}
    for name, choices in rules.items():
        row = [name]
        points = [(answers.calls(choice), answers.accuracies(choice)) for choice in choices]
        for budget in BUDGETS:
            within = [found for calls, found in points if calls <= budget + 0.005]
            if not within:
                row.append("no band")
                continue
            best = max(within, key=lambda found: found[0])
            low, high = np.quantile(best[1:], (0.025, 0.975))
            text = f"{best[0]:.3f} ({low:.3f}–{high:.3f})"
            if budget in first:
                ends = np.quantile(best[1:] - first[budget][1:], (0.025, 0.975))
                text += f", {best[0] - first[budget][0]:+.3f} ({ends[0]:+.3f} to {ends[1]:+.3f})"
            first.setdefault(budget, best)
            row.append(text)
        rows.append(row)
    rows.append(["every answer", *["" for _ in BUDGETS[:-1]], f"{always:.3f} at 1.00"])
    return rows
