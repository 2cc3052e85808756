"""Texts with judged sentences or spans: SummEval, SummEdits, FRANK, QAGS, WikiBio, RAGTruth, FaithBench.

Formats as published: github.com/Yale-LILY/SummEval (model_annotations.aligned.paired.jsonl),
github.com/salesforce/factualNLG (data/summedits/), github.com/artidoro/frank (human_annotations_sentence.json),
github.com/W4ngatang/qags (mturk_*.jsonl), github.com/potsawee/selfcheckgpt (wiki_bio_gpt3_hallucination),
github.com/ParticleMedia/RAGTruth (response.jsonl, source_info.jsonl), github.com/vectara/FaithBench (batch_*.json).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evidencerails.evaluation.datasets.reading import Record, converted, json_lines, json_list, location, text, yes
from evidencerails.evaluation.rows import GoldSentence, Problems, Row

INACCURACY = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
"""SelfCheckGPT's own scale."""


def summeval(record: Record, number: str) -> list[Row]:
    """A summary and its article, from the paired file or the hub's grouped form.

    Hallucinated: an expert gave less than 5 for consistency (SummaC, 2111.09525). The pairing script must have put the
    article in (`text`): SummEval ships without CNN/DM.
    """
    if "machine_summaries" in record:
        return _summeval_group(record, number)
    marks = [float(mark["consistency"]) for mark in record["expert_annotations"]]
    return [_summeval_row(f"{text(record, 'id')}-{record.get('model_id', number)}", text(record, "decoded"),
                          text(record, "text"), sum(marks) / len(marks), min(marks) < 5)]  # fmt: skip


def _summeval_group(record: Record, number: str) -> list[Row]:
    pairs = zip(record["machine_summaries"], record["consistency"], strict=True)
    identity = str(record.get("id", number))
    return [
        _summeval_row(f"{identity}-{place}", summary, text(record, "text"), float(mark), float(mark) < 5)
        for place, (summary, mark) in enumerate(pairs)
    ]


def _summeval_row(identity: str, summary: str, article: str, mark: float, bad: bool) -> Row:
    return Row(id=identity, response=summary, hallucinated=bad, evidence=(article,), grade=-mark)


def summedits(record: Record, number: str) -> Row:
    """An edited summary and its document; the label 1 means consistent."""
    return Row(
        id=str(record.get("id", number)),
        response=text(record, "summary"),
        hallucinated=None if record.get("label") is None else not yes(record["label"]),
        evidence=(text(record, "doc"),),
    )


def frank(record: Record, number: str) -> Row:
    """A summary whose sentences three people judged: a sentence is clean where a majority found no error (`NoE`)."""
    votes = [list(one.values()) for one in record["summary_sentences_annotations"]]
    wrong = [sum("NoE" not in kinds for kinds in each) * 2 > len(each) for each in votes]
    sentences = tuple(GoldSentence(s, w) for s, w in zip(record["summary_sentences"], wrong, strict=True))
    return Row(
        id=f"{record.get('hash', number)}-{record.get('model_name', '')}",
        response=text(record, "summary"),
        hallucinated=any(wrong),
        evidence=(text(record, "article"),),
        sentences=sentences,
        grade=sum(wrong) / len(wrong),
    )


def qags(record: Record, number: str) -> Row:
    """A summary whose sentences people judged (`yes` is supported); a sentence is clean where a majority says yes."""
    sentences = []
    for item in record["summary_sentences"]:
        said = [yes(one["response"]) for one in item["responses"]]
        sentences.append(GoldSentence(text(item, "sentence"), sum(said) * 2 <= len(said)))
    return Row(
        id=number,
        response=" ".join(sentence.text for sentence in sentences),
        hallucinated=any(sentence.hallucinated for sentence in sentences),
        evidence=(text(record, "article"),),
        sentences=tuple(sentences),
        grade=sum(bool(s.hallucinated) for s in sentences) / len(sentences),
    )


def wikibio(record: Record, number: str) -> Row:
    """A GPT-3 biography with its samples; the evidence is the true article."""
    marks = [INACCURACY[one] if isinstance(one, str) else float(one) for one in record["annotation"]]
    pairs = zip(record["gpt3_sentences"], marks, strict=True)
    return Row(
        id=str(record.get("wiki_bio_test_idx", number)),
        response=text(record, "gpt3_text"),
        hallucinated=any(marks),
        evidence=(text(record, "wiki_bio_text"),),
        samples=tuple(record.get("gpt3_text_samples") or ()),
        sentences=tuple(GoldSentence(sentence, mark > 0) for sentence, mark in pairs),
        grade=sum(marks) / len(marks),
    )


def read_ragtruth(files: list[Path], problems: Problems) -> Iterator[Row]:
    """RAGTruth's responses joined with their sources; spans that are true but not in the source do not count."""
    sources: dict[str, Record] = {}
    for file in files:
        if file.name.startswith("source_info"):
            sources.update((str(record.get("source_id")), record) for _, record in json_lines(file, problems))
    for file in files:
        if file.name.startswith("response"):
            yield from converted(json_lines(file, problems), lambda r, n: _ragtruth(r, n, sources), problems)


def _ragtruth(record: Record, number: str, sources: dict[str, Record]) -> Row:
    source = sources.get(str(record.get("source_id")))
    if source is None:
        raise ValueError(f"no source {record.get('source_id')!r} in source_info.jsonl")
    return ragtruth_row(record, number, source["source_info"], _labels(record["labels"]))


def ragtruth_hub(record: Record, number: str) -> Row:
    """A row of the hub's processed copy (wandb/RAGTruth-processed): `context`, `output`, `hallucination_labels`."""
    plain = {**record, "response": text(record, "output")}
    labels = record["hallucination_labels"]
    return ragtruth_row(plain, number, text(record, "context"), _labels(labels))


def _labels(value: Any) -> list[dict[str, Any]]:
    return list(json.loads(value) if isinstance(value, str) else value or ())


def ragtruth_row(record: Record, number: str, source: Any, labels: Iterable[dict[str, Any]]) -> Row:
    """The row of one RAGTruth response."""
    response = text(record, "response")
    spans = tuple((int(one["start"]), int(one["end"])) for one in labels if not one.get("implicit_true"))
    for start, end in spans:
        if not 0 <= start < end <= len(response):
            raise ValueError(f"span {start}:{end} is not within the response of {len(response)} characters")
    question = source.get("question", "") if isinstance(source, dict) else ""
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
    if isinstance(source, str):
        return source
    if isinstance(source, dict) and isinstance(source.get("passages"), str):
        return str(source["passages"])
    return json.dumps(source, ensure_ascii=False)


def read_faithbench(files: list[Path], problems: Problems) -> Iterator[Row]:
    """FaithBench's batches; a sample's id counts within its batch."""
    for file in files:
        records = json_list(file, problems, key="samples")
        yield from converted(records, lambda r, n, name=file.stem: _faithbench(r, n, name), problems)  # type: ignore[misc]


def _faithbench(record: Record, number: str, batch: str) -> Row:
    """Hallucinated: an annotator marked a span as unwanted; benign and questionable spans alone do not count."""
    summary = text(record, "summary")
    unwanted = [
        a for a in record.get("annotations") or () if any(str(one).startswith("Unwanted") for one in a["label"])
    ]
    spans = {_span_in(summary, one) for one in unwanted}
    return Row(
        id=f"{batch}-{record.get('sample_id', number)}",
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
