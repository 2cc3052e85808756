"""Answers to questions and turns of dialogues: HaluEval, TruthfulQA, BEGIN, RefChecker.

Formats as published: github.com/RUCAIBox/HaluEval (data/), github.com/sylinrl/TruthfulQA (TruthfulQA.csv),
github.com/google/BEGIN-dataset (*.tsv), github.com/amazon-science/RefChecker (benchmark/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidencerails.errors import InputError
from evidencerails.evaluation.datasets.reading import (
    Convert,
    Record,
    converted,
    json_list,
    json_records,
    table,
    text,
    yes,
)
from evidencerails.evaluation.rows import Problems, Row


def halueval_pairs(task: str, evidence: str, question: str | None, answer: str) -> Callable[[Record, str], list[Row]]:
    """A converter of a HaluEval task, where each record holds a right and a hallucinated text: two rows."""

    def convert(record: Record, number: str) -> list[Row]:
        prompt = _without_tags(text(record, question)) if question else ""
        source = text(record, evidence)
        return [
            Row(
                id=f"{number}-{kind[0]}",
                response=text(record, f"{kind}_{answer}"),
                hallucinated=kind == "hallucinated",
                evidence=(source,),
                prompt=prompt,
                document=f"halueval_{task}-{number}",
            )
            for kind in ("right", "hallucinated")
        ]

    return convert


def _without_tags(history: str) -> str:
    """A HaluEval dialogue marks speakers with `[Human]:` and `[Assistant]:`; only those marks go."""
    return history.replace("[Human]:", "User:").replace("[Assistant]:", "Assistant:").strip()


def halueval_general(record: Record, number: str) -> Row:
    """A ChatGPT answer that people judged; there is no evidence. The field was renamed between releases."""
    label = record.get("hallucination", record.get("hallucination_label"))
    return Row(
        id=str(record.get("ID", number)),
        response=text(record, "chatgpt_response"),
        hallucinated=None if label in (None, "") else yes(label),
        prompt=text(record, "user_query"),
    )


def truthfulqa(record: Record, number: str) -> list[Row]:
    """Every reference answer, true or false; there is no evidence. Both the CSV's and the hub's field names."""
    question = text(record, "Question", "question")
    answers = {
        False: _answers(record, "Correct Answers", "correct_answers"),
        True: _answers(record, "Incorrect Answers", "incorrect_answers"),
    }
    return [
        Row(
            id=f"{number}-{'i' if wrong else 'c'}{place}",
            response=answer,
            hallucinated=wrong,
            prompt=question,
            document=f"truthfulqa-{number}",
        )
        for wrong, group in answers.items()
        for place, answer in enumerate(group)
    ]


def _answers(record: Record, *names: str) -> list[str]:
    value: Any = next((record[name] for name in names if name in record), None)
    if value is None:
        raise KeyError(names[0])
    parts = value.split(";") if isinstance(value, str) else value
    return [part.strip() for part in parts if part.strip()]


def begin(record: Record, number: str) -> Row:
    """A turn of a dialogue system. Generic turns claim nothing about the knowledge: clean, as in TRUE (2204.04991)."""
    labels = {"fully attributable": False, "generic": False, "not fully attributable": True}
    label = text(record, "begin_label").strip().lower()
    if label not in labels:
        raise ValueError(f"begin_label is {label!r}; expected one of {', '.join(labels)}")
    return Row(
        id=number,
        response=text(record, "response"),
        hallucinated=labels[label],
        evidence=(text(record, "knowledge"),),
        prompt=text(record, "message"),
    )


def read_begin(files: list[Path], problems: Problems) -> Iterator[Row]:
    """The rows of BEGIN's tables; a row's id is its file and its number in it."""
    for file in files:
        for row in converted(table(file, problems, "\t", quoted=False), begin, problems):
            yield replace(row, id=f"{file.stem}-{row.id}")


def read_refchecker(files: list[Path], problems: Problems) -> Iterator[Row]:
    """RefChecker's annotated answers, joined with questions and contexts of the benchmark by id.

    A response with a triplet that is neutral or contradicted is hallucinated; one without triplets claims nothing.

    Raises:
        InputError: a file with annotations has no benchmark file (`nq.json`, `msmarco.json`, `dolly.json`) beside it.
    """
    contexts: dict[str, Record] = {}
    annotated = [file for file in files if file.stem.endswith("_answers")]
    for file in files:
        if file not in annotated:
            contexts.update((str(record.get("id")), record) for _, record in json_list(file, problems))
    if annotated and not contexts:
        raise InputError(
            "refchecker: answers without their contexts; also give nq.json, msmarco.json or dolly.json, which "
            "benchmark/data/download_data.sh of github.com/amazon-science/RefChecker writes"
        )
    for file in annotated:
        model = file.stem.removesuffix("_answers")
        yield from converted(
            json_list(file, problems),
            lambda record, number, model=model: _refchecker(record, number, model, contexts),  # type: ignore[misc]
            problems,
        )


def _refchecker(record: Record, number: str, model: str, contexts: dict[str, Record]) -> Row:
    identity = str(record.get("id", number))
    if identity not in contexts:
        raise ValueError(f"no context for id {identity}")
    context = contexts[identity]
    triplets = next((record[name] for name in record if name.endswith("_response_kg")), None)
    if triplets is None:
        raise KeyError("..._response_kg")
    labels = [str(triplet.get("human_label")) for triplet in triplets]
    unknown = set(labels) - {"Entailment", "Neutral", "Contradiction"}
    return Row(
        id=f"{model}-{identity}",
        response=text(record, "response"),
        hallucinated=None if unknown else any(label != "Entailment" for label in labels),
        evidence=tuple(_passages(context.get("context"))),
        prompt=str(context.get("question") or ""),
        grade=None if unknown or not labels else sum(label != "Entailment" for label in labels) / len(labels),
    )


def _passages(context: Any) -> list[str]:
    items = [context] if isinstance(context, str) else list(context or ())
    return [item if isinstance(item, str) else text(item, "text", "passage_text", "content") for item in items]


def read_with(convert: Convert, kind: str = "json") -> Callable[[list[Path], Problems], Iterator[Row]]:
    """A reader of files whose records become rows one by one; `kind` is `json` or `csv`."""

    def read(files: list[Path], problems: Problems) -> Iterator[Row]:
        for file in files:
            records = table(file, problems, ",") if kind == "csv" else json_records(file, problems)
            yield from converted(records, convert, problems)

    return read
