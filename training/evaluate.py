"""Measure everything the model card reports, and write its tables.

    python -m training.evaluate --data DIR [--work-dir .training] [--card docs/model-card.md] [--only PART ...]

Results are kept in `evaluation.json` in the work folder; the card's tables are written from it, between markers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score

from evidencerails.nli.base import ENTAILMENT, LABELS
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.model_file import MODEL_FOLDER
from evidencerails.scoring.encoder import ENCODER_FOLDER
from evidencerails.scoring.verdict import CLAIM_FEATURES
from training import ablation, written
from training.card import write_card
from training.common import LABEL_IDS, read_rows
from training.reading import CachedModel, ReadRow
from training.speed import has_vnni, measure
from training.stages import stages_of
from training.vectors import compare
from training.verdict import fit, left_out_fit, read_sets

console = Console(stderr=True)
TRIED = Path(__file__).with_name("tried.json")
"""Figures of other weights, by what is told of them; of most the work folders are gone."""
RESAMPLES = 300
ABLATION_ROWS = 300  # of a set, for the rules of the reading
NLI_ONLY = ("entailment", "contradiction")
WORDS_ONLY = tuple(name for name in CLAIM_FEATURES if name not in NLI_ONLY)
Metric = Callable[[np.ndarray, np.ndarray], float]


def auroc(labels: np.ndarray, scores: np.ndarray) -> float:
    wrong = float(labels.sum())
    right = len(labels) - wrong
    if not wrong or not right:
        return float("nan")
    return (float(rankdata(scores)[labels == 1].sum()) - wrong * (wrong + 1) / 2) / (wrong * right)


def average_precision(labels: np.ndarray, scores: np.ndarray) -> float:
    return float(average_precision_score(labels, scores))


def f1(labels: np.ndarray, flagged: np.ndarray) -> float:
    hits = float((labels * flagged).sum())
    return 2 * hits / max(1e-9, float(labels.sum() + flagged.sum()))


def balanced_accuracy(labels: np.ndarray, flagged: np.ndarray) -> float:
    return float((flagged[labels == 1].mean() + (1 - flagged[labels == 0]).mean()) / 2)


def with_interval(
    metric: Metric, labels: Sequence[Any], scores: Sequence[Any] | np.ndarray, groups: Sequence[str]
) -> dict[str, Any]:
    """The measure with its 95 % interval, from resampling whole documents."""
    truth, values = np.asarray(labels, float), np.asarray(scores, float)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    lists = [np.asarray(places) for places in members.values()]
    generator = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        rows = np.concatenate([lists[i] for i in generator.integers(len(lists), size=len(lists))])
        drawn.append(metric(truth[rows], values[rows]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    value = metric(truth, values)
    return {"value": round(value, 4), "low": round(float(low), 4), "high": round(float(high), 4), "n": len(truth)}


def mean(_labels: np.ndarray, values: np.ndarray) -> float:
    return float(values.mean())


def nli_guesses(data: Path, model: CachedModel, most: int | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each NLI evaluation file: its name, and its rows (the first `most`) with `right` and `entailed_right` added.

    Two-way files compare entailed with not.
    """
    for path in sorted((data / "nli").glob("eval_*.jsonl.gz")):
        rows = list(read_rows(path))[:most]
        predicted = np.argmax(model.scores([(row["premise"], row["hypothesis"]) for row in rows]), axis=1)
        is_two_way = any(row["label"] == "not_entailment" for row in rows)
        for guess, row in zip(predicted, rows, strict=True):
            row["entailed_right"] = (LABELS[guess] == "entailment") == (row["label"] == "entailment")
            row["right"] = row["entailed_right"] if is_two_way else LABELS[guess] == row["label"]
        yield path.name.removesuffix(".jsonl.gz").removeprefix("eval_"), rows
    model.save()


def nli_accuracy(data: Path, model: CachedModel) -> dict[str, Any]:
    """Accuracy on the NLI evaluation files, with intervals."""
    found = {}
    for name, rows in nli_guesses(data, model):
        groups = [row["premise"][:80] for row in rows]
        measured = {"accuracy": "right", "entailed_or_not": "entailed_right"}
        found[name] = {
            told: with_interval(mean, [row[key] for row in rows], [row[key] for row in rows], groups)
            for told, key in measured.items()
        }
        console.log(f"{name}: {found[name]}")
    return found


def written_statements(model: CachedModel) -> dict[str, Any]:
    """Held-out written statements beside their passages, by style: accuracy, and AUROC of what does not follow."""
    trained, held_out = written.documents(), written.documents(written.HELD_OUT)
    pairs = [(" ".join(told["sentences"]), text) for told in held_out for _, _, text in told["statements"]]
    scores = model.scores(pairs)
    styles = np.asarray([told["style"] for told in held_out for _ in told["statements"]])
    labels = np.asarray([written.LABEL_OF[letter] for told in held_out for letter, _, _ in told["statements"]])
    right = (np.argmax(scores, axis=1) == labels).astype(float)
    wrong = (labels != LABEL_IDS["entailment"]).astype(float)
    found = {}
    for style in ("all", *sorted(set(styles.tolist()))):
        chosen = np.flatnonzero((styles == style) | (style == "all"))
        groups = [pairs[place][0] for place in chosen]
        of_style = [told for told in trained if style in ("all", told["style"])]
        found[style] = {
            "passages": len(of_style),
            "statements": sum(len(told["statements"]) for told in of_style),
            "held_out_passages": len(set(groups)),
            "accuracy": with_interval(mean, right[chosen].tolist(), right[chosen], groups),
            "auroc": with_interval(auroc, wrong[chosen].tolist(), 1.0 - scores[chosen, ENTAILMENT], groups),
        }
    model.save()
    return found


def split_scores(rows: Sequence[ReadRow], names: Sequence[str]) -> np.ndarray:
    """Response log-odds of each row from weights fitted on the other half of the set's documents."""
    halves = np.asarray([int(row.document, 16) % 2 for row in rows])
    scores = np.zeros(len(rows))
    for half in (0, 1):
        fitted = fit([row for row, own in zip(rows, halves, strict=True) if own != half], names)
        for place in np.flatnonzero(halves == half).tolist():
            scores[place] = fitted.response_logit(rows[place])
    return scores


def chosen_elsewhere(rows: Sequence[ReadRow], scores: np.ndarray, metric: Metric) -> np.ndarray:
    """1 where a row is flagged; the threshold of each half of the documents is the best one of the other half."""
    labels = np.asarray([row.is_hallucinated for row in rows], float)
    halves = np.asarray([int(row.document, 16) % 2 for row in rows])
    flagged = np.zeros(len(rows))
    for half in (0, 1):
        other = halves != half
        candidates = np.unique(np.quantile(scores[other], np.linspace(0.01, 0.99, 99)))
        best = max(candidates, key=lambda c: metric(labels[other], (scores[other] >= c).astype(float)))
        flagged[~other] = scores[~other] >= best
    return flagged


def measures(rows: Sequence[ReadRow], scores: np.ndarray) -> dict[str, Any]:
    """AUROC, F1 and balanced accuracy of one score over one set."""
    labels = [row.is_hallucinated for row in rows]
    groups = [row.document for row in rows]
    return {
        "auroc": with_interval(auroc, labels, scores, groups),
        "f1": with_interval(f1, labels, chosen_elsewhere(rows, scores, f1), groups),
        "balanced_accuracy": with_interval(
            balanced_accuracy, labels, chosen_elsewhere(rows, scores, balanced_accuracy), groups
        ),
    }


def nli_score(rows: Sequence[ReadRow]) -> np.ndarray:
    """The plain NLI score: the least entailed sentence."""
    return np.asarray([max((-claim["entailment"] for claim in row.claims), default=-20.0) for row in rows])


def bench(sets: dict[str, list[ReadRow]]) -> dict[str, Any]:
    """Every set: NLI alone, in-set, left out, and the trivial baselines."""
    found: dict[str, Any] = {}
    for name, rows in sets.items():
        left_out = {
            kind: np.asarray([fitted.response_logit(row) for row in rows])
            for kind, names in (
                ("left_out", CLAIM_FEATURES),
                ("left_out_words_only", WORDS_ONLY),
                ("left_out_nli_only", NLI_ONLY),
            )
            for fitted in [left_out_fit(sets, name, names)]
        }
        scores = {
            "nli": nli_score(rows),
            "in_set": split_scores(rows, CLAIM_FEATURES),
            **left_out,
            "length_only": np.asarray([row.response_words for row in rows], float),
            "unseen_words_only": np.asarray(
                [max((claim["missing_words"] for claim in row.claims), default=0.0) for row in rows]
            ),
        }
        found[name] = {kind: measures(rows, values) for kind, values in scores.items()}
        labels = np.asarray([row.is_hallucinated for row in rows], float)
        found[name]["everything_flagged"] = {"f1": {"value": round(f1(labels, np.ones(len(rows))), 4), "n": len(rows)}}
        found[name]["no_claims"] = sum(not row.claims for row in rows)
        brief = {
            kind: part["auroc"]["value"]
            for kind, part in found[name].items()
            if isinstance(part, dict) and "auroc" in part
        }
        own = found[name]["left_out"]
        console.log(f"{name}: {brief} f1 {own['f1']['value']} ba {own['balanced_accuracy']['value']}")
    return found


def wikibio(data: Path, model: CachedModel, samples: int = 10) -> dict[str, Any]:
    """Sentences of GPT-3 biographies against samples of the same model: AUC-PR of not factual, and of factual."""
    scores: dict[str, list[float]] = {"nli": [], "contradiction": [], "unseen_words": [], "nli_and_words": []}
    labels: list[float] = []
    groups: list[str] = []
    references: dict[str, list[float]] = {}
    for row in read_rows(data / "bench" / "wikibio.jsonl.gz"):
        texts = [sentence["text"] for sentence in row["sentences"]]
        drawn = row["samples"][:samples]
        found = consistency(texts, drawn, model)
        for name, values in found.items():
            scores[name].extend(values)
        labels += [sentence["inaccuracy"] for sentence in row["sentences"]]
        groups += [row["id"]] * len(texts)
        for name, values in row.get("reference_scores", {}).items():
            references.setdefault(name, []).extend(values)
    model.save()
    kinds = {**scores, **{f"published_{name}": values for name, values in references.items()}}
    wrong = [label > 0 for label in labels]
    result: dict[str, Any] = {}
    for name, values in kinds.items():
        if len(values) != len(labels):
            continue
        result[name] = {
            "auc_pr_not_factual": with_interval(average_precision, wrong, values, groups),
            "auc_pr_factual": with_interval(average_precision, [not w for w in wrong], [-v for v in values], groups),
            "pearson": round(float(np.corrcoef(values, labels)[0, 1]), 4),
        }
        console.log(f"wikibio {name}: {result[name]}")
    return result


def consistency(texts: Sequence[str], samples: Sequence[str], model: CachedModel) -> dict[str, list[float]]:
    """Scores of each sentence from how many samples support it; higher is less consistent."""
    from evidencerails.exchange import Passage
    from evidencerails.nli.windows import build_windows
    from evidencerails.scoring.words import WordIndex, features, words_of

    windows = [build_windows([Passage(id="s", text=text)], 60, model.token_offsets) for text in samples]
    pairs = [(window.text, text) for text in texts for part in windows for window in part]
    rows = iter(model.scores(pairs))
    indexes = [WordIndex([text]) for text in samples]
    found: dict[str, list[float]] = {"nli": [], "contradiction": [], "unseen_words": [], "nli_and_words": []}
    for text in texts:
        unsupported, against, unseen = [], [], []
        words = words_of(text)
        for part, index in zip(windows, indexes, strict=True):
            own = np.stack([next(rows) for _ in part])
            unsupported.append(1 - own[:, 0].max())
            against.append((own[:, 2] / (own[:, 0] + own[:, 2] + 1e-6)).mean())
            lacks = features(words, index, index)
            unseen.append((lacks["missing_words"] + lacks["missing_bigrams"] + lacks["missing_numbers"]) / 3)
        for name, values in (("nli", unsupported), ("contradiction", against), ("unseen_words", unseen)):
            found[name].append(float(np.mean(values)))
        found["nli_and_words"].append(float(np.mean(unsupported) + np.mean(unseen)) / 2)
    return found


def facts(work_dir: Path, folder: Path) -> dict[str, Any]:
    """What the earlier steps wrote down about themselves."""
    found: dict[str, Any] = {}
    if (folder / "model.json").exists():
        found["export"] = json.loads((folder / "model.json").read_text())
    if stages := stages_of(work_dir):
        found["stages"] = stages
    return found


def name_of(part: str) -> str:
    """Where results are kept: speeds of both kinds of processors stand in the card."""
    return "speed_without_vnni" if part == "speed" and not has_vnni() else part


PARTS = ("bench", "ablation", "further", "reading", "wikibio", "nli", "written", "vectors", "speed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--model", type=Path, default=MODEL_FOLDER, help="folder of the NLI model")
    parser.add_argument("--card", type=Path, help="model card whose tables are written")
    parser.add_argument("--limit", type=int, help="rows of each benchmark set, for a quick look")
    parser.add_argument(
        "--tried",
        nargs="*",
        default=[],
        metavar="NAME=FILE",
        help="evaluation.json of other weights, to keep",
    )
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    arguments = parser.parse_args()
    model = CachedModel(EmbeddedModel(arguments.model), arguments.work_dir)
    path = arguments.work_dir / "evaluation.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["model"] = {"name": model.name, "version": model.version}
    sets: dict[str, list[ReadRow]] = {}
    if {"bench", "ablation"} & {*arguments.only}:
        sets = read_sets(arguments.data, model, arguments.limit)
    steps: dict[str, Callable[[], Any]] = {
        "bench": lambda: bench(sets),
        "ablation": lambda: ablation.features(sets),
        "further": lambda: ablation.further(arguments.data, arguments.work_dir, model, ABLATION_ROWS),
        "reading": lambda: ablation.reading(arguments.data, arguments.work_dir, model, ABLATION_ROWS),
        "wikibio": lambda: wikibio(arguments.data, model),
        "nli": lambda: nli_accuracy(arguments.data, model),
        "written": lambda: written_statements(model),
        "vectors": lambda: compare(arguments.data, ENCODER_FOLDER),
        "speed": lambda: measure(threads=2, seconds=4.0),
    }
    for part in arguments.only:
        results[name_of(part)] = steps[part]()
        results |= facts(arguments.work_dir, arguments.model)
        path.write_text(json.dumps(results, indent=1))
    tried = json.loads(TRIED.read_text())
    for told, file in (each.split("=", 1) for each in arguments.tried):
        tried[told] = ablation.figures(json.loads(Path(file).read_text()))
        TRIED.write_text(json.dumps(tried, indent=1) + "\n")
    if {"bench", "nli"} <= results.keys():
        results["tried"] = {"shipped": ablation.figures(results), **tried}
        path.write_text(json.dumps(results, indent=1))
    if arguments.card:
        write_card(arguments.card, results)


if __name__ == "__main__":
    main()
