"""Writes the tables of the model card from the results; what stands between markers is never typed by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Table = tuple[list[str], list[list[str]]]
_BLOCK = "<!-- table: {name} -->\n{body}\n<!-- end -->"
_MARKED = re.compile(r"<!-- table: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
BENCH_KINDS = {
    "nli": "NLI alone",
    "in_set": "NLI + words, in set",
    "left_out": "NLI + words, left out",
    "left_out_nli_only": "NLI features, left out",
    "left_out_words_only": "words, left out",
    "length_only": "length alone",
    "unseen_words_only": "unseen words alone",
}


def write_card(path: Path, results: Mapping[str, Any]) -> None:
    """Replace every marked block whose results are there; others stay as they are."""

    def fill(match: re.Match[str]) -> str:
        make = TABLES.get(match[1])
        if make is None:
            raise ValueError(f"the card asks for an unknown table {match[1]!r}; known: {', '.join(sorted(TABLES))}")
        try:
            body = _markdown(make(results))
        except KeyError:  # this part was not evaluated
            return match[0]
        return _BLOCK.format(name=match[1], body=body)

    path.write_text(_MARKED.sub(fill, path.read_text(encoding="utf-8")), encoding="utf-8")


def _markdown(table: Table) -> str:
    head, rows = table
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(measure: Mapping[str, Any], *, percent: bool = False) -> str:
    scale, digits = (100, 1) if percent else (1, 3)
    value = f"{measure['value'] * scale:.{digits}f}"
    if "low" not in measure:
        return value
    return f"{value} ({measure['low'] * scale:.{digits}f}–{measure['high'] * scale:.{digits}f})"


def _data(results: Mapping[str, Any]) -> Table:
    """Pairs of each source in each run."""
    stages = results["stages"]
    names = ("entailed", "neutral", "contradicted", "not entailed")
    rows = []
    for source in sorted({source for stage in stages for source in stage["sources"]}):
        told = [stage["sources"].get(source, {"labels": [], "pairs": 0}) for stage in stages]
        labels = sorted({label for part in told for label in part["labels"]})
        counts = [f"{part['pairs']:,}" if part["pairs"] else "-" for part in told]
        rows.append([f"`{source}`", ", ".join(names[label] for label in labels), *counts])
    rows.append(["all, in tokens", "", *(f"{stage['tokens']:,}" for stage in stages)])
    return ["source", "labels", *(f"pairs, run {number}" for number in range(1, len(stages) + 1))], rows


def _run(results: Mapping[str, Any]) -> Table:
    """Settings of each run, and how far it came."""
    stages = results["stages"]
    columns = [_told_of_run(stage) for stage in stages]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return ["", *(f"run {number}" for number in range(1, len(stages) + 1))], rows


def _told_of_run(stage: Mapping[str, Any]) -> dict[str, str]:
    return {
        "pairs prepared": f"{stage['pairs']:,}",
        "steps": f"{stage['steps']:,}, {stage['passes']:.2f} passes over the data",
        "decay of the learning rate from step": f"{stage['decay_from']:,}" if stage["decay_from"] else "none",
        "wall-clock time": f"{stage['elapsed_s'] / 60:.0f} minutes on two shared cores, {stage['precision']}",
        "peak learning rate, tokens of a batch": f"{stage['rate']:g}, {stage['batch_tokens']:,}",
        "label smoothing, weight averaging": f"{stage['smoothing']:g}, {stage['average']:g} a step",
        "lowest layers kept as they were": str(stage["frozen_layers"] or "none"),
        "share of the mean with earlier weights": f"{stage['share']:g}" if stage["share"] < 1 else "-",
        "seed": str(stage["seed"]),
    }


def _nli(results: Mapping[str, Any]) -> Table:
    rows = [
        [
            f"`{name}`",
            _cell(part["accuracy"], percent=True),
            _cell(part["entailed_or_not"], percent=True),
            f"{part['accuracy']['n']:,}",
        ]
        for name, part in results["nli"].items()
    ]
    return ["evaluation file", "accuracy, %", "entailed or not, %", "n"], rows


def _written(results: Mapping[str, Any]) -> Table:
    rows = [
        [
            style,
            f"{part['passages']:,}",
            f"{part['statements']:,}",
            f"{part['accuracy']['n']:,} ({part['held_out_passages']})",
            _cell(part["accuracy"], percent=True),
            _cell(part["auroc"]),
        ]
        for style, part in results["written"].items()
    ]
    return ["style", "passages", "statements", "held out (passages)", "accuracy, %", "AUROC"], rows


# What was aimed at: (measure, part of the results, aim)
AIMS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("HaluEval-QA, AUROC, in set", ("bench", "halueval_qa", "in_set", "auroc"), 0.95),
    ("HaluEval-QA, F1, in set", ("bench", "halueval_qa", "in_set", "f1"), 0.88),
    ("HaluEval-QA, AUROC, left out", ("bench", "halueval_qa", "left_out", "auroc"), 0.88),
    ("HaluEval-QA, F1, left out", ("bench", "halueval_qa", "left_out", "f1"), 0.84),
    ("SummEval, AUROC, in set", ("bench", "summeval", "in_set", "auroc"), 0.82),
    ("SummEval, AUROC, left out", ("bench", "summeval", "left_out", "auroc"), 0.75),
    ("QAGS-CNN/DM, AUROC, in set", ("bench", "qags_cnndm", "in_set", "auroc"), 0.85),
    ("QAGS-CNN/DM, AUROC, left out", ("bench", "qags_cnndm", "left_out", "auroc"), 0.80),
    ("BEGIN, AUROC, in set", ("bench", "begin", "in_set", "auroc"), 0.95),
    ("BEGIN, AUROC, left out", ("bench", "begin", "left_out", "auroc"), 0.93),
    ("Q2, AUROC, left out", ("bench", "q2_wow", "left_out", "auroc"), 0.90),
    ("DialSummEval, AUROC, left out", ("bench", "dialsummeval", "left_out", "auroc"), 0.80),
    ("XSum faithfulness, AUROC, left out", ("bench", "xsum_faith", "left_out", "auroc"), 0.70),
    ("SummEdits, balanced accuracy, NLI", ("bench", "summedits", "nli", "balanced_accuracy"), 0.62),
    ("SummEdits, balanced accuracy, in set", ("bench", "summedits", "in_set", "balanced_accuracy"), 0.62),
    ("WikiBio, AUC-PR not factual", ("wikibio", "nli", "auc_pr_not_factual"), 0.852),
    ("MultiNLI matched, accuracy", ("nli", "mnli_dev_matched", "accuracy"), 0.78),
    ("Breaking NLI, accuracy", ("nli", "breaking_nli", "accuracy"), 0.85),
    ("ConTRoL dev, accuracy", ("nli", "control_dev", "accuracy"), 0.45),
)


def _aims(results: Mapping[str, Any]) -> Table:
    rows = []
    for told, path, aim in AIMS:
        measure: Any = results
        for key in path:
            measure = measure[key]
        rows.append([told, f"{aim:g}", _cell(measure), "yes" if measure["value"] >= aim else "no"])
    return ["measure", "aim", "reached", "met"], rows


def _bench(measure: str) -> Callable[[Mapping[str, Any]], Table]:
    def make(results: Mapping[str, Any]) -> Table:
        head = ["set", "n", *BENCH_KINDS.values()]
        rows = [
            [f"`{name}`", f"{part['nli'][measure]['n']:,}", *(_cell(part[kind][measure]) for kind in BENCH_KINDS)]
            for name, part in results["bench"].items()
        ]
        if measure == "f1":
            head.append("everything flagged")
            for row, part in zip(rows, results["bench"].values(), strict=True):
                row.append(_cell(part["everything_flagged"]["f1"]))
        return head, rows

    return make


def _wikibio(results: Mapping[str, Any]) -> Table:
    rows = [
        [name.replace("_", " "), _cell(part["auc_pr_not_factual"]), _cell(part["auc_pr_factual"]), str(part["pearson"])]
        for name, part in results["wikibio"].items()
    ]
    return ["score", "AUC-PR not factual", "AUC-PR factual", "Pearson"], rows


def _without(part: str, told: str) -> Callable[[Mapping[str, Any]], Table]:
    """A line for each thing that was left out or changed, a column for each measure."""

    def make(results: Mapping[str, Any]) -> Table:
        variants = results[part].get("variants", results[part])
        rows = [[name, *(_cell({"value": value}) for value in figures.values())] for name, figures in variants.items()]
        return [told, *next(iter(variants.values()))], rows

    return make


def _vectors(results: Mapping[str, Any]) -> Table:
    rows = [
        [name, f"{part['finds_premise']:.3f}", f"{part['rank_agreement']:.3f}", str(part["n"])]
        for name, part in results["vectors"].items()
    ]
    return ["encoder", "entailed sentence finds its premise", "rank agreement with float", "n"], rows


def _speed(part: str) -> Callable[[Mapping[str, Any]], Table]:
    def make(results: Mapping[str, Any]) -> Table:
        speed = results[part]
        names = {
            "embedded": "embedded, int8",
            "same_weights_float": "same weights, transformers, float",
            "deberta_v3_base_sized_float": "size of DeBERTa-v3-base, transformers, float",
        }
        rows = [
            [names[name], *(f"{value:,.1f}" for value in rates.values())]
            for name, rates in speed["pairs_per_processor_s"].items()
        ]
        shares = speed["share_of_int8_rate"].values()
        rows.append(["share of the int8 matrix rate", *(f"{value:.0%}" for value in shares)])
        return [f"pairs a processor second, {speed['threads']} threads", "40 tokens", "128 tokens", "512 tokens"], rows

    return make


def _time(part: str) -> Callable[[Mapping[str, Any]], Table]:
    def make(results: Mapping[str, Any]) -> Table:
        by_length = results[part]["time"]
        kinds = next(iter(by_length.values()))
        rows = [[kind, *(f"{shares[kind]:.0%}" for shares in by_length.values())] for kind in kinds]
        return ["share of the time", *(f"{length} tokens" for length in by_length)], rows

    return make


def _export(results: Mapping[str, Any]) -> Table:
    checks = results["export"]["checks"]
    told = {
        "accuracy, float": f"{checks['accuracy_float']:.4f}",
        "accuracy, int8": f"{checks['accuracy_int8']:.4f}",
        "same label": f"{checks['agreement']:.4f}",
        "largest shift of a probability alone against in a batch": f"{checks['largest_row_shift']:.1e}",
        "temperature, int8 and float": f"{checks['temperature']} and {checks['temperature_float']}",
        "size of model.onnx": f"{results['export']['files']['model.onnx']['bytes'] / 1e6:.1f} MB",
        "ONNX opset, IR": f"{results['export']['opset']}, {results['export']['ir_version']}",
    }
    return ["", "value"], [[name, value] for name, value in told.items()]


def _processors(results: Mapping[str, Any]) -> Table:
    rows = [
        [
            name,
            part["onnxruntime"],
            str(part["n"]),
            f"{part['same_label']:.1%}",
            f"{part['accuracy']:.1%} ({part['accuracy_here']:.1%})",
            f"{part['mean_shift']:.4f}, {part['largest_shift']:.3f}",
        ]
        for name, part in results["processors"].items()
    ]
    return [
        "processor",
        "onnxruntime",
        "n",
        "same label",
        "accuracy (here)",
        "shift of a probability: mean, largest",
    ], rows


TABLES: dict[str, Callable[[Mapping[str, Any]], Table]] = {
    "data": _data,
    "run": _run,
    "nli": _nli,
    "written": _written,
    "aims": _aims,
    "auroc": _bench("auroc"),
    "f1": _bench("f1"),
    "balanced-accuracy": _bench("balanced_accuracy"),
    "wikibio": _wikibio,
    "ablation": _without("ablation", "left out of the verdict"),
    "further": _without("further", "added to the verdict"),
    "reading": _without("reading", "the reading"),
    "tried": _without("tried", "weights"),
    "training-ablation": _without("training_ablation", "training"),
    "vectors": _vectors,
    "speed": _speed("speed"),
    "time": _time("speed"),
    "speed-without-vnni": _speed("speed_without_vnni"),
    "time-without-vnni": _time("speed_without_vnni"),
    "export": _export,
    "processors": _processors,
}
