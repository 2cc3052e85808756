"""The public data sets by name: which files they are, where they come from, and how a record of them becomes rows.

In: records of the publisher's files as published. Out: `Row`s. A converter raises where a record cannot be read. Any
other data set is read from a file in the project's own shape (`own`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from evidencerails.evaluation.datasets.reading import (
    Convert,
    Record,
    converted,
    json_records,
    table,
    text,
    yes,
)
from evidencerails.evaluation.rows import GoldSentence, Problems, Row

JOINED = "@joined"
"""Field that reading adds to a record: the record of a file beside it."""


def halueval_general(record: Record, number: str) -> Row:
    """A response of ChatGPT; the name of its label changed between releases."""
    label = next((record[name] for name in ("hallucination", "hallucination_label") if name in record), None)
    return Row(
        id=str(record.get("ID", number)),
        response=text(record, "chatgpt_response"),
        hallucinated=None if label is None else yes(label),
        prompt=text(record, "user_query"),
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
    """Every reference answer, true or false; there is no evidence."""
    return [
        Row(id=f"{number}-{name[0].lower()}{place}", response=answer, hallucinated=name == "Incorrect Answers",
            prompt=text(record, "Question"), document=f"truthfulqa-{number}")
        for name in ("Correct Answers", "Incorrect Answers")
        for place, answer in enumerate(filter(None, map(str.strip, text(record, name).split(";"))))
    ]  # fmt: skip


INACCURACY = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
"""SelfCheckGPT's own scale."""


def wikibio(record: Record, number: str) -> Row:
    """A GPT-3 biography with its samples; the evidence is the true article. Hallucinated if any sentence is."""
    marks = [INACCURACY[one] if isinstance(one, str) else float(one) for one in record["annotation"]]
    judged = zip(record["gpt3_sentences"], marks, strict=True)
    return Row(
        id=str(record.get("wiki_bio_test_idx", number)),
        response=text(record, "gpt3_text"),
        hallucinated=any(marks),
        evidence=(text(record, "wiki_bio_text"),),
        samples=tuple(record.get("gpt3_text_samples") or ()),
        sentences=tuple(GoldSentence(sentence, mark > 0) for sentence, mark in judged),
        grade=sum(marks) / len(marks),
    )


def ragtruth(record: Record, number: str) -> Row:
    """A response joined with its source; spans that are true but not in the source do not count."""
    response = text(record, "response")
    spans = tuple((int(one["start"]), int(one["end"])) for one in record["labels"] if not one.get("implicit_true"))
    for start, end in spans:
        if not 0 <= start < end <= len(response):
            raise ValueError(f"span {start}:{end} is not within the response of {len(response)} characters")
    if record.get(JOINED) is None:
        raise ValueError(f"no source {record.get('source_id')!r} in source_info.jsonl")
    source: Any = record[JOINED]["source_info"]
    question = source.get("question") if isinstance(source, dict) else ""
    return Row(
        id=str(record.get("id", number)),
        response=response,
        hallucinated=bool(spans),
        evidence=(_source_text(source),),
        prompt=str(question or ""),
        spans=spans,
    )


def _source_text(source: Any) -> str:
    """A source as text: summaries have one, questions have passages, data-to-text has a structure."""
    passages = source.get("passages") if isinstance(source, dict) else source
    return passages if isinstance(passages, str) else json.dumps(source, ensure_ascii=False)


class Source(NamedTuple):
    """A public data set."""

    files: tuple[str, ...]
    """Patterns of the publisher's files, all of which must match; the records of the first are the rows."""
    where: str
    convert: Convert
    join: str = ""
    """Field by which a row is joined with a record of the other files."""

    def read(self, files: Sequence[Path], problems: Problems) -> Iterator[Row]:
        """The rows of the files.

        Raises:
            InputError: a file cannot be read.
        """
        main = [file for file in files if fnmatch(file.name, self.files[0])]
        others = (record for file in files if file not in main for _, record in json_records(file, problems))
        joined = {str(record.get(self.join)): record for record in others}
        for file in main:
            records = table(file, problems) if file.suffix == ".csv" else json_records(file, problems)
            added = ((place, {**record, JOINED: joined.get(str(record.get(self.join)))}) for place, record in records)
            yield from converted(added, self.convert, problems)


_HALUEVAL = "https://github.com/RUCAIBox/HaluEval (folder data)"
SOURCES: dict[str, Source] = {
    "halueval_qa": Source(("qa_data.json",), _HALUEVAL, Pairs("qa", "knowledge", "question", "answer")),
    "halueval_dialogue": Source(
        ("dialogue_data.json",), _HALUEVAL, Pairs("dialogue", "knowledge", "dialogue_history", "response")
    ),
    "halueval_summarization": Source(
        ("summarization_data.json",), _HALUEVAL, Pairs("summarization", "document", "", "summary")
    ),
    "halueval_general": Source(("general_data.json",), _HALUEVAL, halueval_general),
    "truthfulqa": Source(("TruthfulQA.csv",), "https://github.com/sylinrl/TruthfulQA", truthfulqa),
    "ragtruth": Source(
        ("response.jsonl*", "source_info.jsonl*"),
        "https://github.com/ParticleMedia/RAGTruth (folder dataset)",
        ragtruth,
        join="source_id",
    ),
    "wikibio": Source(
        ("*wiki_bio_gpt3_hallucination*.json*",),
        "https://huggingface.co/datasets/potsawee/wiki_bio_gpt3_hallucination, or the JSON file that "
        "https://github.com/potsawee/selfcheckgpt names",
        wikibio,
    ),
}
"""Every public data set; `HaluEval` has an entry for each part."""


def files_of(name: str, folder: Path) -> list[Path]:
    """The files of a data set in a folder, subfolders included; empty if one of its patterns matches nothing."""
    found = [sorted(folder.rglob(pattern)) for pattern in SOURCES[name].files]
    return list(dict.fromkeys(file for group in found for file in group)) if all(found) else []
