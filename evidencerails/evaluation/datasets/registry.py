"""The data sets by name: which files they are, where they come from, who reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from evidencerails.evaluation.datasets import answers, summaries
from evidencerails.evaluation.datasets.reading import Convert
from evidencerails.evaluation.rows import Problems, Row

Read = Callable[[list[Path], Problems], Iterator[Row]]


class Hub(NamedTuple):
    """A data set of the Hugging Face hub whose rows `convert` understands."""

    path: str
    config: str | None
    split: str
    convert: Convert


class Source(NamedTuple):
    """A public data set."""

    files: tuple[str, ...]
    """Names of the publisher's files; a pattern may match several. All patterns must match."""
    where: str
    read: Read
    hub: Hub | None = None
    beside: tuple[str, ...] = ()
    """Patterns of files that are read beside the named ones where they are there."""


_HALUEVAL = "https://github.com/RUCAIBox/HaluEval (folder data)"


def _halueval(task: str, evidence: str, question: str | None, answer: str) -> Source:
    convert = answers.halueval_pairs(task, evidence, question, answer)
    hub = Hub("pminervini/HaluEval", task, "data", convert)
    return Source((f"{task}_data.json",), _HALUEVAL, answers.read_with(convert), hub)


SOURCES: dict[str, Source] = {
    "halueval_qa": _halueval("qa", "knowledge", "question", "answer"),
    "halueval_dialogue": _halueval("dialogue", "knowledge", "dialogue_history", "response"),
    "halueval_summarization": _halueval("summarization", "document", None, "summary"),
    "halueval_general": Source(
        ("general_data.json",),
        _HALUEVAL,
        answers.read_with(answers.halueval_general),
        Hub("pminervini/HaluEval", "general", "data", answers.halueval_general),
    ),
    "truthfulqa": Source(
        ("TruthfulQA.csv",),
        "https://github.com/sylinrl/TruthfulQA",
        answers.read_with(answers.truthfulqa, "csv"),
        Hub("truthfulqa/truthful_qa", "generation", "validation", answers.truthfulqa),
    ),
    "summeval": Source(
        ("model_annotations.aligned.paired.jsonl*",),
        "https://github.com/Yale-LILY/SummEval (its data_processing/pair_data.py puts the CNN/DM articles in)",
        answers.read_with(summaries.summeval),
        Hub("mteb/summeval", None, "test", summaries.summeval),
    ),
    "summedits": Source(
        ("summedits*.json",),
        "https://github.com/salesforce/factualNLG (folder data/summedits)",
        answers.read_with(summaries.summedits),
        Hub("Salesforce/summedits", None, "train", summaries.summedits),
    ),
    "ragtruth": Source(
        ("response.jsonl*", "source_info.jsonl*"),
        "https://github.com/ParticleMedia/RAGTruth (folder dataset)",
        summaries.read_ragtruth,
        Hub("wandb/RAGTruth-processed", None, "test", summaries.ragtruth_hub),
    ),
    "frank": Source(
        ("human_annotations_sentence.json",),
        "https://github.com/artidoro/frank (folder data)",
        answers.read_with(summaries.frank),
    ),
    "qags_cnndm": Source(
        ("mturk_cnndm.jsonl*",), "https://github.com/W4ngatang/qags (folder data)", answers.read_with(summaries.qags)
    ),
    "qags_xsum": Source(
        ("mturk_xsum.jsonl*",), "https://github.com/W4ngatang/qags (folder data)", answers.read_with(summaries.qags)
    ),
    "wikibio": Source(
        ("*wiki_bio_gpt3_hallucination*.json*",),
        "https://huggingface.co/datasets/potsawee/wiki_bio_gpt3_hallucination, or the JSON file that "
        "https://github.com/potsawee/selfcheckgpt names",
        answers.read_with(summaries.wikibio),
        Hub("potsawee/wiki_bio_gpt3_hallucination", None, "evaluation", summaries.wikibio),
    ),
    "refchecker": Source(
        ("*_answers.json",),
        "https://github.com/amazon-science/RefChecker (benchmark/human_annotations_v1 and what "
        "benchmark/data/download_data.sh writes)",
        answers.read_refchecker,
        beside=("nq*.json", "msmarco*.json", "dolly*.json"),
    ),
    "faithbench": Source(
        ("batch_*.json",), "https://github.com/vectara/FaithBench (folder data_for_release)", summaries.read_faithbench
    ),
    "begin": Source(
        ("begin_*.tsv",),
        "https://github.com/google/BEGIN-dataset (folders cmu-dog, topicalchat, wow)",
        answers.read_begin,
    ),
}
"""Every public data set; `HaluEval` and `QAGS` have an entry for each part."""


def files_of(name: str, folder: Path) -> list[Path]:
    """The files of a data set in a folder, subfolders included; empty if one of its patterns matches nothing."""
    source = SOURCES[name]
    found = [sorted(folder.rglob(pattern)) for pattern in source.files]
    if not all(found):
        return []
    extra = [file for pattern in source.beside for file in sorted(folder.rglob(pattern))]
    return list(dict.fromkeys([file for group in found for file in group] + extra))
