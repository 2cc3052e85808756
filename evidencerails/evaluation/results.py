"""The metrics of a run with their intervals, ready for JSON.

In: outcomes. Out: `methods`, `baselines` and the `details` that the report draws. A metric is `{value, low, high}`, a
95 % bootstrap interval over documents; where it is undefined the value is null and `reason` says why. The values count
the rows that the method has a verdict on. `conservative`, where it is given, counts every unverified row as wrong: as
passed if hallucinated, as flagged with certainty if clean.

The baselines are what anyone can do without a detector. `everything_flagged` calls every response hallucinated,
`length` looks only at the number of words of the response, `unseen_words` only at the share of its content words that
the evidence lacks. The last two get the best threshold (and length the best direction) on the very rows they are
measured on, which flatters them: a method that does not beat them adds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from heapq import heappush, heappushpop
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Estimate, Floats, measured, of_ratio, of_rows
from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.rows import Row
from evidencerails.nli.windows import stems_of

FEATURES = ("length", "unseen_words")


def features(row: Row) -> dict[str, float]:
    """What the baselines see of a row; without evidence no word can be unseen."""
    found = {"length": float(len(row.response.split()))}
    if row.evidence:
        words = {stem for stem in stems_of(row.response) if not stem[0].isdigit()}
        known = {word for text in row.evidence for word in stems_of(text)}
        found["unseen_words"] = len(words - known) / max(1, len(words))
    return found


def best_direction(labels: ArrayLike, values: ArrayLike) -> Floats:
    """The values, turned so that hallucinated rows have the higher ones on average."""
    truth, seen = np.asarray(labels, dtype=np.bool_), np.asarray(values, dtype=np.float64)
    if truth.all() or not truth.any():
        return seen
    return seen if seen[truth].mean() >= seen[~truth].mean() else -seen


def best_flags(labels: ArrayLike, values: ArrayLike) -> Bools:
    """Flags at the threshold with the highest F1; the lowest such threshold where several are as good."""
    truth, seen = np.asarray(labels, dtype=np.bool_), np.asarray(values, dtype=np.float64)
    order = np.argsort(-seen, kind="stable")
    last = np.flatnonzero(np.r_[seen[order][1:] != seen[order][:-1], True])
    scores = 2 * np.cumsum(truth[order])[last] / np.maximum(truth.sum() + last + 1, 1)
    flags: Bools = seen >= seen[order][last[np.flatnonzero(scores == scores.max())[-1]]]
    return flags


Metrics = dict[str, dict[str, Any]]
WORST_KEPT = 20
_STATUS = {"hallucinated": 1.0, "grounded": 0.0}
"""Any other status is unverified: -1."""
_RESPONSE = ("label", "status", "score", "grade", "latency_ms", "llm_calls", "tokens", "group", *FEATURES)
_UNIT = ("label", "score", "flag", "group")
_OVERLAP = ("found", "wrong", "missed", "group")


class Columns:
    """All that the metrics read of one method, as numbers, so that a hundred thousand rows take a few megabytes."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("responses", "claims", "gold_claims", "sentences", "characters")
        }
        self.lost_sentences = 0
        self.reasons: Counter[str] = Counter()
        """Why rows are unverified, by the code of the reason."""
        self.worst: list[tuple[float, str]] = []
        """Rows judged wrongly, with how wrong (1 is certain and wrong)."""

    def add(self, one: Outcome, group: int) -> None:
        """Add one outcome; `group` is the number of its document."""
        label, status = one.hallucinated, _STATUS.get(one.status, -1.0)
        grade = float(label) if one.grade is None else one.grade
        features = (one.baselines.get(name) for name in FEATURES)
        row = (label, status, one.score, grade, one.latency_ms, one.llm_calls, one.tokens, group, *features)
        self._rows["responses"].append(row)
        if status < 0:
            self.reasons[one.reason.split(":")[0] or "no reason given"] += 1
            return
        self._rows["claims"] += [(label, score, flag, group) for _, _, score, flag in one.parts]
        gold = zip(one.gold_parts or (), one.parts, strict=False)
        self._rows["gold_claims"] += [(is_gold, score, flag, group) for is_gold, (_, _, score, flag) in gold]
        self._rows["sentences"] += [(*sentence, group) for sentence in one.sentences]
        self.lost_sentences += one.lost_sentences
        self._rows["characters"] += [(*one.characters, group)] if one.characters is not None else []
        if one.flagged != label:
            score = 0.5 if one.score is None else one.score
            item = (1.0 - score if label else score, one.id)
            (heappush if len(self.worst) < WORST_KEPT else heappushpop)(self.worst, item)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A table of numbers with named columns; a missing value is NaN."""
        names = {"responses": _RESPONSE, "characters": _OVERLAP}.get(name, _UNIT)
        return np.array(self._rows[name], dtype=[(column, np.float64) for column in names])


def columns_of(outcomes: Iterable[Outcome]) -> dict[str, Columns]:
    """The columns of each method, in the order in which the methods appear."""
    found: dict[str, Columns] = {}
    documents: dict[str, int] = {}
    for outcome in outcomes:
        group = documents.setdefault(outcome.document, len(documents))
        found.setdefault(outcome.method, Columns()).add(outcome, group)
    return found


def results_of(columns: Mapping[str, Columns], *, seed: int = 0) -> dict[str, Any]:
    """`methods`, `baselines` and `details` of a run."""
    first = next(iter(columns.values()), None)
    return {
        "methods": {name: method_metrics(column, seed=seed) for name, column in columns.items()},
        "baselines": _baselines(first, seed) if first is not None else {},
        "details": {name: _details(column) for name, column in columns.items()},
    }


def method_metrics(columns: Columns, *, seed: int = 0) -> Metrics:
    rows = columns["responses"]
    verified = rows["status"] >= 0
    found = {"n": _count(len(rows)), "unverified": _count(int((~verified).sum()))}
    found |= measured(_of_scores(rows[verified]), rows["group"][verified], seed)
    if not verified.all():
        wrong = rows.copy()
        wrong["status"][~verified] = wrong["score"][~verified] = 1 - wrong["label"][~verified]
        for name, one in measured(_of_scores(wrong), rows["group"], seed).items():
            found[name]["conservative"] = one
    found |= measured(_of_rows(rows), rows["group"], seed)
    scored = rows[verified & np.isfinite(rows["score"])]
    found |= measured(_of_certainty(scored), scored["group"], seed)
    return {**found, **_of_claims(columns, seed), **_of_sentences(columns, seed), **_of_spans(columns, seed)}


def _count(value: int) -> dict[str, Any]:
    return {"value": value, "low": value, "high": value}


def _of_flags(labels: Bools, flags: Bools, prefix: str = "") -> dict[str, Estimate]:
    return {prefix + name: one.estimate(labels, flags.astype(float)) for name, one in metrics.FLAG_METRICS.items()}


def _of_scores(rows: NDArray[Any]) -> dict[str, Estimate]:
    truth, scores = rows["label"] == 1, rows["score"]
    found, missing = _of_flags(truth, rows["status"] == 1), int((~np.isfinite(scores)).sum())
    for name, metric in metrics.SCORE_METRICS.items():
        unscored = of_ratio(truth, np.zeros(truth.size), f"{missing} verified rows have no score")
        found[name] = unscored if missing else metric.estimate(truth, scores)
    return found


def _of_rows(rows: NDArray[Any]) -> dict[str, Estimate]:
    """Cost, coverage, the risk of what is covered, and what showing only grounded answers costs.

    `false_abstention_rate`: clean responses that would not be shown (flagged or unverified). `leak_rate`: hallucinated
    ones that would be. `abstention_precision`: unverified rows that are hallucinated, so that abstaining was right.
    """
    truth, verified, flagged = rows["label"] == 1, rows["status"] >= 0, rows["status"] == 1
    passed, every = verified & ~flagged, np.ones(len(rows))
    percentiles = {
        f"latency_ms_p{share}": of_rows(partial(np.percentile, q=share), rows["latency_ms"]) for share in (50, 95)
    }
    return percentiles | {
        "llm_calls": of_ratio(rows["llm_calls"], every),
        "tokens": of_ratio(rows["tokens"], every),
        "coverage": of_ratio(verified, every),
        "selective_risk": of_ratio(verified & (flagged != truth), verified, "no verified row"),
        "false_abstention_rate": of_ratio(~truth & ~passed, ~truth, "no clean row"),
        "leak_rate": of_ratio(truth & passed, truth, "no hallucinated row"),
        "abstention_precision": of_ratio(truth & ~verified, ~verified, "no unverified row"),
    }


def _of_certainty(rows: NDArray[Any]) -> dict[str, Estimate]:
    """Area under risk and coverage; Spearman's correlation of the score with the grade, or else the label."""
    reason = "spearman is undefined: scores or grades are all equal"
    return {
        "risk_coverage_area": of_rows(risk_coverage_area, rows, "no scored row"),
        "spearman": of_rows(_spearman, rows, reason),
    }


def _spearman(rows: NDArray[Any]) -> float:
    pair = rows["score"], rows["grade"]
    if any(len(one) < 2 or np.ptp(one) == 0 for one in pair):
        return float("nan")
    return float(metrics.library("scipy.stats").spearmanr(*pair)[0])


def risk_coverage_area(rows: NDArray[Any]) -> float:
    """Mean error rate over all coverages, the least certain rows left out first (AURC, Geifman 2017); 0 is best.

    Certainty is the distance of the score from a half; rows of equal certainty share their mean risk.
    """
    certain = np.abs(rows["score"] - 0.5)
    order = np.argsort(-certain, kind="stable")
    wrong, certain = (rows["label"] != rows["status"])[order].astype(np.float64), certain[order]
    starts = np.flatnonzero(np.r_[True, certain[1:] != certain[:-1]])
    sizes = np.diff(np.r_[starts, len(wrong)])
    spread = np.repeat(np.add.reduceat(wrong, starts) / sizes, sizes)
    return float((np.cumsum(spread) / np.arange(1, len(wrong) + 1)).mean())


def _of_claims(columns: Columns, seed: int) -> Metrics:
    """Flagging rates of claims by their response's label, which needs nobody to label claims (ChainCheck's proxy).

    `factual_accuracy_rate` is the share of claims that the method calls correct; `claim_auroc` ranks claims by the
    response's label. With spans, `claim_f1` and its parts count a claim as hallucinated where it touches one.
    """
    claims, gold = columns["claims"], columns["gold_claims"]
    if not len(claims):
        return {}
    labels, flags = claims["label"] == 1, claims["flag"] == 1

    def discrimination(at: metrics.Places) -> float:
        bad, flagged = labels[at], flags[at]
        shares = (metrics.ratio((flagged & side).sum(), side.sum()) for side in (bad, ~bad))
        return metrics.ratio(*shares)

    rates = {
        "claim_clean_flagging_rate": of_ratio(flags & ~labels, ~labels, "no claim of a clean response"),
        "claim_hallucinated_flagging_rate": of_ratio(flags & labels, labels, "no claim of a hallucinated response"),
        "factual_accuracy_rate": of_ratio(~flags, np.ones(len(claims))),
        "claim_discrimination_ratio": Estimate(discrimination, len(claims)),
    }
    found = {"claims": _count(len(claims)), **measured(rates, claims["group"], seed)}
    found |= _ranked(claims, {"claim_auroc": (metrics.auroc, 1)}, seed)
    if len(gold):
        found |= measured(_of_flags(gold["label"] == 1, gold["flag"] == 1, "claim_"), gold["group"], seed)
    return found


def _of_sentences(columns: Columns, seed: int) -> Metrics:
    """Metrics over judged sentences; `sentence_auprc_factual` finds the clean ones (SelfCheckGPT's Factual)."""
    rows = columns["sentences"]
    if not len(rows):
        return {}
    ranked = {"sentence_auroc": (metrics.auroc, 1), "sentence_auprc": (metrics.auprc, 1),
              "sentence_auprc_factual": (metrics.auprc, -1)}  # fmt: skip
    flags = _of_flags(rows["label"] == 1, rows["flag"] == 1, "sentence_")
    return {
        **measured(flags, rows["group"], seed),
        **_ranked(rows, ranked, seed),
        "sentences": _count(len(rows)),
    }


def _ranked(units: NDArray[Any], wanted: Mapping[str, tuple[metrics.Metric, int]], seed: int) -> Metrics:
    """Metrics of the scored units; with the sign -1 the clean ones are to be found, by low scores."""
    rows = units[np.isfinite(units["score"])]
    estimates = {
        name: metric.estimate(rows["label"] == (sign > 0), sign * rows["score"])
        for name, (metric, sign) in wanted.items()
    }
    return measured(estimates, rows["group"], seed)


def _of_spans(columns: Columns, seed: int) -> Metrics:
    """Precision, recall and F1 of hallucinated characters, pooled over the responses that have spans."""
    rows = columns["characters"]
    hit, wrong, missed = (rows[name] for name in _OVERLAP[:3])
    ratios = {
        "span_characters_precision": of_ratio(hit, hit + wrong, "no span was marked"),
        "span_characters_recall": of_ratio(hit, hit + missed, "no response has a hallucinated span"),
        "span_characters_f1": of_ratio(2 * hit, 2 * hit + wrong + missed, "no span anywhere"),
    }
    return measured(ratios, rows["group"], seed) if len(rows) else {}


def _baselines(columns: Columns, seed: int) -> dict[str, Metrics]:
    rows = columns["responses"]
    truth = rows["label"] == 1
    every = {"everything_flagged": np.ones(truth.size), "length": best_direction(truth, rows["length"]),
             "unseen_words": rows["unseen_words"]}  # fmt: skip
    found: dict[str, Metrics] = {}
    for name, values in every.items():
        if not np.isfinite(values).all():
            reason = metrics.Interval(None, reason="rows without evidence").as_dict()
            found[name] = dict.fromkeys(("f1", "balanced_accuracy", "auroc", "auprc"), reason)
            continue
        estimates = _of_flags(truth, best_flags(truth, values))
        estimates |= {kind: metrics.SCORE_METRICS[kind].estimate(truth, values) for kind in ("auroc", "auprc")}
        found[name] = {"n": _count(truth.size), **measured(estimates, rows["group"], seed)}
    return found


def _details(columns: Columns) -> dict[str, Any]:
    """Counts, reasons, and the rows judged wrongly with most certainty."""
    rows = columns["responses"]
    known = rows[rows["status"] >= 0]
    labels, flags = known["label"] == 1, known["status"] == 1
    cells = {"tp": labels & flags, "fp": ~labels & flags, "fn": labels & ~flags, "tn": ~labels & ~flags}
    return {
        "unverified": dict(columns.reasons.most_common()),
        **({"confusion": {name: int(cell.sum()) for name, cell in cells.items()}} if known.size else {}),
        "lost_sentences": columns.lost_sentences,
        "worst": [{"id": row, "certainty": round(how, 4)} for how, row in sorted(columns.worst, reverse=True)],
    }
