"""Fit the curves from drift to probability on WikiBio-GPT3: evidencerails/measures/drift.json.

    python -m training.consistency --data DIR [--samples 10] [--out evidencerails/measures/drift.json]

The drift of `nli`, `bertscore` and `ngram` is what the check itself computes over the samples of the set. That of
`judge` is rebuilt from the published votes of GPT-3.5 with SelfCheckGPT's prompt, 20 a sentence, of which smaller
numbers are drawn. Each sentence is read with 1, 2, 3, 5 and all samples. A sentence is wrong if its inaccuracy is above
0; both labels count the same. Figures come from folds by biography, the shipped curve from all of them. Run it again
after each new NLI model.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy.optimize import minimize

from evidencerails.checks.agreement import bertscore_votes, ngram_votes, nli_votes
from evidencerails.checks.base import CheckContext
from evidencerails.config import GuardConfig
from evidencerails.exchange import Exchange, Sample, Span
from evidencerails.llm.prompts import PromptLibrary
from evidencerails.measures.drift import DriftCurve
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.service import ExchangeNli, NliService
from training.common import read_rows

COUNTS = (1, 2, 3, 5)
FOLDS = 5
RIDGE = 0.0003
PUBLISHED_VOTES = 20
BINS = 10
console = Console(stderr=True)


@dataclass(frozen=True)
class Drifts:
    """One row for each sentence and number of samples."""

    drift: np.ndarray
    samples: np.ndarray
    is_wrong: np.ndarray
    group: np.ndarray
    """Number of the biography."""

    def of(self, keep: np.ndarray) -> Drifts:
        return Drifts(self.drift[keep], self.samples[keep], self.is_wrong[keep], self.group[keep])

    @property
    def weights(self) -> np.ndarray:
        """Both labels the same, in sum 1."""
        shares = np.where(self.is_wrong, self.is_wrong.mean(), 1.0 - self.is_wrong.mean())
        return 1.0 / (2.0 * shares * len(shares))


def fit(rows: Drifts) -> DriftCurve:
    """The curve with the least weighted log loss."""

    def loss(values: np.ndarray) -> float:
        p = np.clip(_probabilities(_curve(values), rows), 1e-9, 1 - 1e-9)
        log_loss = -np.where(rows.is_wrong, np.log(p), np.log(1.0 - p))
        return float((rows.weights * log_loss).sum() + RIDGE * (values[1:] ** 2).sum() / len(values))

    best = minimize(loss, np.array([-1.0, 1.0, 0.0, 0.0]), method="L-BFGS-B")
    fitted = _curve(best.x).model_dump()
    return DriftCurve(**{name: round(value, 4) for name, value in fitted.items()})


def _curve(values: np.ndarray) -> DriftCurve:
    intercept, log_slope, prior, log_samples = (float(value) for value in np.clip(values, -6, 6))
    return DriftCurve(
        intercept=intercept,
        slope=float(np.exp(log_slope)),
        prior_drift=float(1 / (1 + np.exp(-prior))),
        prior_samples=float(np.exp(log_samples)),
    )


def _probabilities(curve: DriftCurve, rows: Drifts) -> np.ndarray:
    weight = rows.samples + curve.prior_samples
    mean = (rows.drift * rows.samples + curve.prior_drift * curve.prior_samples) / weight
    return 1.0 / (1.0 + np.exp(-(curve.intercept + curve.slope * mean)))


def figures(rows: Drifts) -> dict[str, float]:
    """Out-of-fold figures, both labels counting the same: calibration error and log loss, raw drift beside them."""
    found = np.zeros(len(rows.drift))
    for fold in range(FOLDS):
        held_out = rows.group % FOLDS == fold
        found[held_out] = _probabilities(fit(rows.of(~held_out)), rows.of(held_out))
    return {
        "sentences": int((rows.samples == rows.samples.max()).sum()),
        "calibration_error": _calibration_error(found, rows),
        "calibration_error_of_raw_drift": _calibration_error(rows.drift, rows),
        "log_loss": _log_loss(found, rows),
        "log_loss_of_raw_drift": _log_loss(rows.drift, rows),
    }


def _calibration_error(p: np.ndarray, rows: Drifts) -> float:
    """Expected calibration error over `BINS` bins of one width, the last one closed."""
    places = np.minimum((p * BINS).astype(int), BINS - 1)
    weights = rows.weights / rows.weights.sum()
    gaps = (abs((weights[places == b] * (p[places == b] - rows.is_wrong[places == b])).sum()) for b in range(BINS))
    return round(float(sum(gaps)), 4)


def _log_loss(p: np.ndarray, rows: Drifts) -> float:
    p = np.clip(p, 0.001, 0.999)
    losses = -np.where(rows.is_wrong, np.log(p), np.log(1.0 - p))
    return round(float((rows.weights * losses).sum() / rows.weights.sum()), 4)


async def read(rows: Sequence[Mapping[str, Any]], model: EmbeddedModel, most: int) -> dict[str, Drifts]:
    """The drift of every sentence, by way of comparing."""
    service = NliService(model)
    random = np.random.default_rng(0)
    found: dict[str, list[tuple[float, int, bool, int]]] = {"nli": [], "bertscore": [], "ngram": [], "judge": []}
    for number, row in enumerate(rows):
        sentences = [Span.of(s["text"], 0, len(s["text"])) for s in row["sentences"]]
        wrong = [s["inaccuracy"] > 0 for s in row["sentences"]]
        samples = [Sample(text=text) for text in row["samples"][:most]]
        context = CheckContext(config=GuardConfig(), nli=ExchangeNli(service), prompts=PromptLibrary.load())
        exchange = Exchange(response=row["response"])
        votes = (await nli_votes(exchange, sentences, samples, context)).rows
        near = bertscore_votes(sentences, samples).rows
        published = row.get("reference_scores", {}).get("prompt") or []
        for count in dict.fromkeys((*COUNTS, len(samples))):
            ngram = ngram_votes(sentences, samples[:count], row["response"]).rows
            for place, is_wrong in enumerate(wrong):
                nli = float(np.mean([vote.drift for vote in votes[place][:count]]))
                likeness = float(np.mean([vote.drift for vote in near[place][:count]]))
                found["nli"].append((nli, count, is_wrong, number))
                found["bertscore"].append((likeness, count, is_wrong, number))
                found["ngram"].append((ngram[place][0].drift, count, is_wrong, number))
                if len(published) == len(wrong):
                    against = round(published[place] * PUBLISHED_VOTES)
                    drawn = random.hypergeometric(against, PUBLISHED_VOTES - against, count) / count
                    found["judge"].append((float(drawn), count, is_wrong, number))
        console.log(f"{number + 1} of {len(rows)} biographies")
    service.close()
    return {name: Drifts(*(np.array(column) for column in zip(*some, strict=True))) for name, some in found.items()}


def main() -> None:
    """Read, fit, report, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--passages", type=int)
    parser.add_argument("--out", type=Path, default=Path("evidencerails/measures/drift.json"))
    options = parser.parse_args()
    model = EmbeddedModel()
    rows = list(read_rows(options.data / "bench" / "wikibio.jsonl.gz"))[: options.passages]
    drifts = asyncio.run(read(rows, model, options.samples))
    curves = {name: fit(some).model_dump() for name, some in drifts.items()}
    held_out = {name: figures(some) for name, some in drifts.items()}
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    data = {
        "version": f"{today:%Y.%m.%d}+{model.version.rpartition('+')[2]}",
        "curves": curves,
        "provenance": {
            "command": "python -m training.consistency --data DIR",
            "data": "WikiBio-GPT3 (SelfCheckGPT, arXiv 2303.08896)",
            "biographies": len(rows),
            "samples": options.samples,
            "nli": f"{model.name}@{model.version}",
            "judge": "published votes of gpt-3.5-turbo with SelfCheckGPT's prompt",
            "share_of_wrong_sentences": round(float(drifts["nli"].is_wrong.mean()), 4),
            "folds_by_biography": held_out,
        },
    }
    options.out.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    console.print_json(data=data)


if __name__ == "__main__":
    main()
