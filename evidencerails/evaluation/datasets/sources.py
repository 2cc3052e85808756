"""The public data sets by name: which files they are, where they come from, and how a record of them becomes rows.

In: records of the publisher's files, or of a copy in the hub's form. Out: `Row`s. A data set whose records name what
to take is one line of a table; the others have a function. A converter raises where a record cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evidencerails.errors import InputError
from evidencerails.evaluation.datasets.reading import (
    Convert,
    Placed,
    Record,
    converted,
    json_list,
    json_records,
    location,
    table,
    text,
    yes,
)
from evidencerails.evaluation.rows import GoldSentence, Problems, Row

FILE, JOINED = "@file", "@joined"
"""Fields that reading adds to a record: its file's name without ending, and the record of a file beside it."""


@dataclass(frozen=True)
class Flat:
    """A format in which each record is one response with a label."""

    response: str
    labels: Mapping[str, bool]
    """Label in lower case -> whether it means hallucinated."""
    label: tuple[str, ...]
    """Fields of the label: its name changed between releases."""
    evidence: str = ""
    prompt: str = ""
    id: str = ""

    def __call__(self, record: Record, number: str) -> Row:
        """The row of a record; one without a label is unlabelled, another label than the known ones is an error."""
        label = next((str(record[name]).strip().lower() for name in self.label if record.get(name) is not None), "")
        if label and label not in self.labels:
            raise ValueError(f"{self.label[0]} is {label!r}; expected one of {', '.join(self.labels)}")
        return Row(
            id=str(record.get(self.id, number)),
            response=text(record, self.response),
            hallucinated=self.labels.get(label),
            evidence=(text(record, self.evidence),) if self.evidence else (),
            prompt=text(record, self.prompt) if self.prompt else "",
        )


@dataclass(frozen=True)
class Pairs:
    """A task of HaluEval, where each record has a right and a hallucinated text: two rows."""

    task: str
    evidence: str
    prompt: str
    answer: str

    def __call__(self, record: Record, number: str) -> list[Row]:
        """Both rows; a dialogue marks its speakers with `[Human]:` and `[Assistant]:`, and only those marks go."""
        prompt = text(record, self.prompt) if self.prompt else ""
        return [
            Row(
                id=f"{number}-{kind[0]}",
                response=text(record, f"{kind}_{self.answer}"),
                hallucinated=kind == "hallucinated",
                evidence=(text(record, self.evidence),),
                prompt=prompt.replace("[Human]:", "User:").replace("[Assistant]:", "Assistant:").strip(),
                document=f"halueval_{self.task}-{number}",
            )
            for kind in ("right", "hallucinated")
        ]


def truthfulqa(record: Record, number: str) -> list[Row]:
    """Every reference answer, true or false; there is no evidence. Both the CSV's and the hub's field names."""
    rows: list[Row] = []
    for wrong, names in (
        (False, ("Correct Answers", "correct_answers")),
        (True, ("Incorrect Answers", "incorrect_answers")),
    ):
        given: Any = next((record[name] for name in names if name in record), None)
        if given is None:
            raise KeyError(names[0])
        answers = [one.strip() for one in (given.split(";") if isinstance(given, str) else given) if one.strip()]
        rows += [
            Row(id=f"{number}-{'i' if wrong else 'c'}{place}", response=answer, hallucinated=wrong,
                prompt=text(record, "Question", "question"), document=f"truthfulqa-{number}")
            for place, answer in enumerate(answers)
        ]  # fmt: skip
    return rows


def summeval(record: Record, number: str) -> list[Row]:
    """Summaries and their article, from the paired file or the hub's grouped form.

    Hallucinated: an expert gave less than 5 for consistency (SummaC, 2111.09525). The pairing script must have put the
    article in (`text`): SummEval ships without CNN/DM.
    """
    identity, article = str(record.get("id", number)), text(record, "text")
    if "machine_summaries" in record:
        marks = [[float(mark)] for mark in record["consistency"]]
        found = [
            (f"{identity}-{n}", *one) for n, one in enumerate(zip(record["machine_summaries"], marks, strict=True))
        ]
    else:
        marks = [[float(mark["consistency"]) for mark in record["expert_annotations"]]]
        found = [(f"{identity}-{record.get('model_id', number)}", text(record, "decoded"), marks[0])]
    return [
        Row(id=name, response=summary, hallucinated=min(each) < 5, evidence=(article,), grade=-sum(each) / len(each))
        for name, summary, each in found
    ]


def _judged(
    identity: str, response: str, evidence: str, sentences: Sequence[str], marks: Sequence[float], **more: Any
) -> Row:
    """A text whose sentences people judged, from 0 (right) to 1 (wrong): hallucinated if any is."""
    gold = tuple(GoldSentence(one, mark > 0) for one, mark in zip(sentences, marks, strict=True))
    return Row(id=identity, response=response, hallucinated=any(marks), evidence=(evidence,), sentences=gold,
               grade=sum(marks) / len(marks), **more)  # fmt: skip


def frank(record: Record, number: str) -> Row:
    """A summary whose sentences three people judged: a sentence is clean where a majority found no error (`NoE`)."""
    votes = [list(one.values()) for one in record["summary_sentences_annotations"]]
    wrong = [float(sum("NoE" not in kinds for kinds in each) * 2 > len(each)) for each in votes]
    identity = f"{record.get('hash', number)}-{record.get('model_name', '')}"
    return _judged(identity, text(record, "summary"), text(record, "article"), record["summary_sentences"], wrong)


def qags(record: Record, number: str) -> Row:
    """A summary whose sentences people judged (`yes` is supported); a sentence is clean where a majority says yes."""
    sentences = [text(item, "sentence") for item in record["summary_sentences"]]
    votes = [[yes(one["response"]) for one in item["responses"]] for item in record["summary_sentences"]]
    wrong = [float(sum(each) * 2 <= len(each)) for each in votes]
    return _judged(number, " ".join(sentences), text(record, "article"), sentences, wrong)


INACCURACY = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
"""SelfCheckGPT's own scale."""


def wikibio(record: Record, number: str) -> Row:
    """A GPT-3 biography with its samples; the evidence is the true article."""
    marks = [INACCURACY[one] if isinstance(one, str) else float(one) for one in record["annotation"]]
    identity, samples = str(record.get("wiki_bio_test_idx", number)), tuple(record.get("gpt3_text_samples") or ())
    return _judged(identity, text(record, "gpt3_text"), text(record, "wiki_bio_text"), record["gpt3_sentences"], marks,
                   samples=samples)  # fmt: skip


def ragtruth(record: Record, number: str) -> Row:
    """A response joined with its source (in the hub's copy: `context`, `output`, `hallucination_labels`); spans that
    are true but not in the source do not count."""
    response = text(record, "response", "output")
    labels = record["hallucination_labels"] if "hallucination_labels" in record else record["labels"]
    labels = json.loads(labels) if isinstance(labels, str) else labels or ()
    spans = tuple((int(one["start"]), int(one["end"])) for one in labels if not one.get("implicit_true"))
    for start, end in spans:
        if not 0 <= start < end <= len(response):
            raise ValueError(f"span {start}:{end} is not within the response of {len(response)} characters")
    if record.get(JOINED) is None and "context" not in record:
        raise ValueError(f"no source {record.get('source_id')!r} in source_info.jsonl")
    source: Any = record["context"] if "context" in record else record[JOINED]["source_info"]
    question = source.get("question") if isinstance(source, dict) else ""
    return Row(
        id=str(record.get("id", number)),
        response=response,
        hallucinated=bool(spans),
        evidence=(_source_text(source),),
        prompt=str(question or record.get("query") or ""),
        spans=spans,
    )


def _source_text(source: Any) -> str:
    """A source as text: summaries have one, questions have passages, data-to-text has a structure."""
    passages = source.get("passages") if isinstance(source, dict) else source
    return passages if isinstance(passages, str) else json.dumps(source, ensure_ascii=False)


def refchecker(record: Record, number: str) -> Row:
    """A response with a neutral or contradicted triplet is hallucinated; one without triplets claims nothing."""
    identity, context = str(record.get("id", number)), record.get(JOINED)
    if context is None:
        raise ValueError(f"no context for id {identity}")
    triplets = next((record[name] for name in record if name.endswith("_response_kg")), None)
    if triplets is None:
        raise KeyError("..._response_kg")
    labels = [str(triplet.get("human_label")) for triplet in triplets]
    unknown = set(labels) - {"Entailment", "Neutral", "Contradiction"}
    passages = context.get("context") or ()
    passages = [passages] if isinstance(passages, str) else passages
    return Row(
        id=f"{str(record[FILE]).removesuffix('_answers')}-{identity}",
        response=text(record, "response"),
        hallucinated=None if unknown else any(label != "Entailment" for label in labels),
        evidence=tuple(
            one if isinstance(one, str) else text(one, "text", "passage_text", "content") for one in passages
        ),
        prompt=str(context.get("question") or ""),
        grade=None if unknown or not labels else sum(label != "Entailment" for label in labels) / len(labels),
    )


def faithbench(record: Record, number: str) -> Row:
    """Hallucinated: an annotator marked a span as unwanted; benign and questionable spans alone do not count."""
    summary, notes = text(record, "summary"), record.get("annotations") or ()
    unwanted = [one for one in notes if any(str(label).startswith("Unwanted") for label in one["label"])]
    spans = {_span_in(summary, one) for one in unwanted}
    return Row(
        id=f"{record[FILE]}-{record.get('sample_id', number)}",
        response=summary,
        hallucinated=bool(unwanted),
        evidence=(text(record, "source"),),
        spans=tuple(sorted(span for span in spans if span)),
    )


def _span_in(summary: str, annotation: Record) -> tuple[int, int] | None:
    start, end = int(annotation["summary_start"]), int(annotation["summary_end"])
    if 0 <= start < end <= len(summary):
        return start, end
    return location(summary, str(annotation.get("summary_span") or ""))


def begin(record: Record, number: str) -> Row:
    """A turn of a dialogue system. Generic turns claim nothing about the knowledge: clean, as in TRUE (2204.04991)."""
    row = _BEGIN(record, f"{record[FILE]}-{number}")
    if row.hallucinated is None:
        raise KeyError("begin_label")
    return row


_BEGIN = Flat("response", {"fully attributable": False, "generic": False, "not fully attributable": True},
              ("begin_label",), "knowledge", "message")  # fmt: skip


class Source(NamedTuple):
    """A public data set."""

    files: tuple[str, ...]
    """Patterns of the publisher's files, all of which must match; the records of the first are the rows."""
    where: str
    convert: Convert
    form: Literal["json", "csv", "tsv", "samples"] = "json"
    """`samples`: one JSON object with a list of that name. TSV has no quotes."""
    join: str = ""
    """Field by which a row is joined with a record of the other files."""
    beside: tuple[str, ...] = ()
    """Patterns of files to join that need not match."""

    def read(self, files: Sequence[Path], problems: Problems) -> Iterator[Row]:
        """The rows of the files. `InputError`: a file cannot be read, or those to join are missing."""
        main = [file for file in files if fnmatch(file.name, self.files[0])]
        joined = {
            str(record.get(self.join)): record
            for file in files
            if file not in main
            for _, record in json_records(file, problems)
        }
        if self.join and not joined:
            raise InputError(f"{main[0].name} has no records to join with by {self.join!r}; also get {self.where}")
        for file in main:
            added = (
                (place, {**record, FILE: file.stem, JOINED: joined.get(str(record.get(self.join)))})
                for place, record in self._records(file, problems)
            )
            yield from converted(added, self.convert, problems)

    def _records(self, file: Path, problems: Problems) -> Iterable[Placed]:
        if self.form == "json":
            return json_records(file, problems)
        if self.form == "samples":
            return json_list(file, problems, key="samples")
        return table(file, problems, "," if self.form == "csv" else "\t", quoted=self.form == "csv")


_HALUEVAL = "https://github.com/RUCAIBox/HaluEval (folder data)"
_GENERAL = Flat("chatgpt_response", {"yes": True, "no": False}, ("hallucination", "hallucination_label"),
                prompt="user_query", id="ID")  # fmt: skip


def _halueval(task: str, convert: Convert) -> Source:
    return Source((f"{task}_data.json",), _HALUEVAL, convert)


SOURCES: dict[str, Source] = {
    "halueval_qa": _halueval("qa", Pairs("qa", "knowledge", "question", "answer")),
    "halueval_dialogue": _halueval("dialogue", Pairs("dialogue", "knowledge", "dialogue_history", "response")),
    "halueval_summarization": _halueval("summarization", Pairs("summarization", "document", "", "summary")),
    "halueval_general": _halueval("general", _GENERAL),
    "truthfulqa": Source(
        ("TruthfulQA.csv",),
        "https://github.com/sylinrl/TruthfulQA",
        truthfulqa,
        form="csv",
    ),
    "summeval": Source(
        ("model_annotations.aligned.paired.jsonl*",),
        "https://github.com/Yale-LILY/SummEval (its data_processing/pair_data.py puts the CNN/DM articles in)",
        summeval,
    ),
    "summedits": Source(
        ("summedits*.json",),
        "https://github.com/salesforce/factualNLG (folder data/summedits)",
        Flat("summary", {"1": False, "0": True, "true": False, "false": True}, ("label",), "doc", id="id"),
    ),
    "ragtruth": Source(
        ("response.jsonl*", "source_info.jsonl*"),
        "https://github.com/ParticleMedia/RAGTruth (folder dataset)",
        ragtruth,
        join="source_id",
    ),
    "frank": Source(("human_annotations_sentence.json",), "https://github.com/artidoro/frank (folder data)", frank),
    "qags_cnndm": Source(("mturk_cnndm.jsonl*",), "https://github.com/W4ngatang/qags (folder data)", qags),
    "qags_xsum": Source(("mturk_xsum.jsonl*",), "https://github.com/W4ngatang/qags (folder data)", qags),
    "wikibio": Source(
        ("*wiki_bio_gpt3_hallucination*.json*",),
        "https://huggingface.co/datasets/potsawee/wiki_bio_gpt3_hallucination, or the JSON file that "
        "https://github.com/potsawee/selfcheckgpt names",
        wikibio,
    ),
    "refchecker": Source(
        ("*_answers.json",),
        "https://github.com/amazon-science/RefChecker (benchmark/human_annotations_v1, and nq.json, msmarco.json or "
        "dolly.json, which benchmark/data/download_data.sh writes)",
        refchecker,
        join="id",
        beside=("nq*.json", "msmarco*.json", "dolly*.json"),
    ),
    "faithbench": Source(
        ("batch_*.json",),
        "https://github.com/vectara/FaithBench (folder data_for_release)",
        faithbench,
        form="samples",
    ),
    "begin": Source(
        ("begin_*.tsv",),
        "https://github.com/google/BEGIN-dataset (folders cmu-dog, topicalchat, wow)",
        begin,
        form="tsv",
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
