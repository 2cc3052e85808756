"""Each loader over a few records in the publisher's own format (sources: the modules' docstrings)."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from extras import needs

from evidencerails.errors import InputError
from evidencerails.evaluation.datasets import Dataset
from evidencerails.evaluation.datasets.sources import SOURCES
from evidencerails.evaluation.rows import GoldSentence


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def qags(text: str, *said: str) -> dict[str, Any]:
    return {"sentence": text, "responses": [{"worker_id": str(n), "response": one} for n, one in enumerate(said)]}


def expert(*values: int) -> list[dict[str, int]]:
    return [{"coherence": 2, "consistency": value, "fluency": 4, "relevance": 2} for value in values]


def noted(number: int, *labels: list[str]) -> dict[str, Any]:
    notes = [{"annot_id": n, "annotator_id": "x", "label": label, "summary_span": "production", "summary_start": 4,
              "summary_end": 14} for n, label in enumerate(labels)]  # fmt: skip
    return {"sample_id": number, "source": "A budget.", "summary": "The production budget.", "annotations": notes}


SPAN = {"start": 20, "end": 40, "text": "They come from Mars.", "label_type": "Evident Baseless Info"}
TRUE_SPAN = {**SPAN, "start": 0, "end": 5, "implicit_true": True}
RAGTRUTH = {"id": "7", "source_id": "14312", "model": "gpt-4", "split": "test", "quality": "good"}
QAGS = {"article": "An article.", "summary_sentences": [qags("One.", "yes", "yes", "no"), qags("Two.", "no", "no")]}
TWO = (GoldSentence("One.", False), GoldSentence("Two.", True))
PUBLISHED: dict[str, tuple[dict[str, str], list[dict[str, Any]]]] = {
    "halueval_qa": (
        {"data/qa_data.json": lines({"knowledge": "K.", "question": "Which?", "right_answer": "This.",
                                     "hallucinated_answer": "That."})},
        [{"response": "This.", "hallucinated": False, "evidence": ("K.",), "prompt": "Which?"},
         {"response": "That.", "hallucinated": True, "document": "halueval_qa-0"}],
    ),
    "halueval_general": (  # under both names of its label
        {"general_data.json": lines(
            {"ID": "1", "user_query": "Name words.", "chatgpt_response": "the, a", "hallucination_label": "no"},
            {"ID": "2", "user_query": "More?", "chatgpt_response": "sale", "hallucination": "yes"})},
        [{"id": "1", "hallucinated": False, "evidence": ()}, {"id": "2", "hallucinated": True}],
    ),
    "truthfulqa": (
        {"TruthfulQA.csv": "Type,Question,Best Answer,Correct Answers,Incorrect Answers\n"
         'A,What if you eat seeds?,They pass,"They pass; Nothing","You grow melons, in your stomach; Sick"\n'},
        [{"response": "They pass", "hallucinated": False}, {"response": "Nothing", "hallucinated": False},
         {"response": "You grow melons, in your stomach", "hallucinated": True},
         {"response": "Sick", "hallucinated": True, "document": "truthfulqa-0"}],
    ),
    "summeval": (  # hallucinated where one expert gives less than 5
        {"model_annotations.aligned.paired.jsonl": lines(
            {"id": "dm-1", "text": "T.", "model_id": "M11", "decoded": "R.", "expert_annotations": expert(5, 5, 5)},
            {"id": "dm-1", "text": "T.", "model_id": "M13", "decoded": "W.", "expert_annotations": expert(5, 5, 4)})},
        [{"hallucinated": False}, {"id": "dm-1-M13", "hallucinated": True, "grade": pytest.approx(-14 / 3)}],
    ),
    "summedits": (
        {"summedits_news.json": json.dumps([
            {"domain": "news", "id": "1", "doc": "Doc.", "summary": "Kept.", "label": 1, "edit_types": None},
            {"domain": "news", "id": "2", "doc": "Doc.", "summary": "Edited.", "label": 0}])},
        [{"response": "Kept.", "hallucinated": False}, {"response": "Edited.", "hallucinated": True}],
    ),
    "frank": (  # the majority of the annotators
        {"human_annotations_sentence.json": json.dumps([{
            "hash": "34", "model_name": "BART", "article": "An article.", "summary": "One. Two.",
            "summary_sentences": ["One.", "Two."], "summary_sentences_annotations": [
                {"annotator_0": ["NoE"], "annotator_1": ["EntE"], "annotator_2": ["NoE"]},
                {"annotator_0": ["OutE"], "annotator_1": ["EntE", "RelE"], "annotator_2": ["NoE"]}]}])},
        [{"id": "34-BART", "hallucinated": True, "grade": 0.5, "sentences": TWO}],
    ),
    **{f"qags_{name}": ({f"mturk_{name}.jsonl": lines(QAGS)},
                        [{"response": "One. Two.", "hallucinated": True, "sentences": TWO}])
       for name in ("cnndm", "xsum")},
    "wikibio": (
        {"wiki_bio_gpt3_hallucination_v3.json": json.dumps([{
            "gpt3_text": "One. Two.", "wiki_bio_text": "An article.", "wiki_bio_test_idx": 62464,
            "gpt3_sentences": ["One.", "Two."], "annotation": ["accurate", "major_inaccurate"],
            "gpt3_text_samples": ["Another.", "One more."]}])},
        [{"id": "62464", "hallucinated": True, "grade": 0.5, "samples": ("Another.", "One more."), "sentences": TWO}],
    ),
    "ragtruth": (  # joined with its sources; spans that are true are left out
        {"response.jsonl": lines(
            {**RAGTRUTH, "response": "Beets take an hour. They come from Mars.", "labels": [SPAN, TRUE_SPAN]},
            {**RAGTRUTH, "id": "8", "response": "Bake them.", "labels": [TRUE_SPAN | {"end": 4}]}),
         "source_info.jsonl": lines({"source_id": "14312", "task_type": "QA", "source_info": {
             "question": "how to prepare beets", "passages": "passage 1: Bake for 45 minutes."}})},
        [{"hallucinated": True, "spans": ((20, 40),), "prompt": "how to prepare beets",
          "evidence": ("passage 1: Bake for 45 minutes.",)}, {"hallucinated": False, "spans": ()}],
    ),
    "refchecker": (  # joined with its contexts
        {"human/msmarco_gpt4_answers.json": json.dumps([
            {"id": "1", "response": "A.", "claude2_response_kg": [{"human_label": "Entailment"}]},
            {"id": "2", "response": "B.", "claude2_response_kg": [{"human_label": "Contradiction"},
                                                                  {"human_label": "Entailment"}]}]),
         "data/msmarco.json": json.dumps([{"id": "1", "question": "Where?", "context": ["Paris, France."]},
                                          {"id": "2", "question": "Where?", "context": "Lyon, France."}])},
        [{"id": "msmarco_gpt4-1", "hallucinated": False, "grade": 0.0},
         {"id": "msmarco_gpt4-2", "hallucinated": True, "grade": 0.5, "evidence": ("Lyon, France.",)}],
    ),
    "faithbench": (  # unwanted spans alone count
        {"data_for_release/batch_1.json": json.dumps({"samples": [
            noted(0, ["Unwanted", "Unwanted.Intrinsic"], ["Unwanted.Extrinsic"]), noted(1, ["Benign"])]})},
        [{"id": "batch_1-0", "hallucinated": True, "spans": ((4, 14),)},
         {"id": "batch_1-1", "hallucinated": False, "spans": ()}],
    ),
    "begin": (
        {"cmu-dog/begin_dev_cmu.tsv": "model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label\n"
         'gpt2\tcmu\tHe said "no\ti like him\tbut i did n\'t\tNot fully attributable\n'
         "doha\tcmu\tKevin returns.\tObviously\thaha\tGeneric\n"
         "ctrl\tcmu\tWoody leads.\twhy\twoody leads.\tFully attributable\n"},
        [{"id": f"begin_dev_cmu-{n}", "hallucinated": n == 0} for n in range(3)],
    ),
}  # fmt: skip
"""Files as published, and what their rows must have."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_public_data_set(tmp_path: Path, name: str) -> None:
    files, expected = PUBLISHED[name]
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content, encoding="utf-8")
    dataset = Dataset.open(name, folder=tmp_path)
    rows = list(dataset.rows())
    assert [{key: getattr(row, key) for key in one} for row, one in zip(rows, expected, strict=True)] == expected
    assert dataset.problems.described() == ""


def test_refchecker_without_contexts_says_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "nq_gpt4_answers.json").write_text("[]")
    with pytest.raises(InputError, match=r"download_data\.sh"):
        list(Dataset.open("refchecker", folder=tmp_path).rows())


@pytest.mark.parametrize("name", SOURCES)
def test_a_missing_file_names_where_to_get_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="https://") as caught:
        Dataset.open(name, folder=tmp_path)
    assert SOURCES[name].files[0] in str(caught.value)


def test_an_unknown_name_shows_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'halueval_qa'"):
        Dataset.open("haluevalqa")
    with pytest.raises(InputError, match=r"there is no file 'rows\.jsonl'"):
        Dataset.open("rows.jsonl")


def test_own_shape_in_each_format(tmp_path: Path) -> None:
    records = [
        {"id": "1", "response": "It opened in 1932.", "hallucinated": False, "evidence": ["Opened in 1932.", "Yes."]},
        {"id": "2", "response": "It opened in 1911.", "hallucinated": True, "evidence": ["Opened in 1932."]},
    ]
    (tmp_path / "mine.jsonl.gz").write_bytes(gzip.compress(lines(*records).encode()))
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(records[0])
        writer.writerows([*[*r.values()][:3], json.dumps(r["evidence"])] for r in records)
        writer.writerow(["3", "one cell too few"])
    pyarrow = needs("pyarrow")
    needs("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(records), tmp_path / "mine.parquet")
    for name, malformed in (("mine.jsonl.gz", 0), ("mine.csv", 1), ("mine.parquet", 0)):
        dataset = Dataset.open(str(tmp_path / name))
        found = [(r.id, r.response, r.hallucinated, list(r.evidence)) for r in dataset.rows()]
        assert found == [tuple(record.values()) for record in records]
        assert dataset.problems.malformed == malformed


def test_what_a_row_may_have_besides(tmp_path: Path) -> None:
    sentences = [{"text": "One.", "supported": True}, {"text": "Two.", "supported": False}]
    record = {"response": "One. Two.", "sentences": sentences, "samples": ["S."], "spans": [[5, 9]], "grade": 0.5}
    (tmp_path / "mine.jsonl").write_text(lines(record))
    (row,) = Dataset.open(str(tmp_path / "mine.jsonl")).rows()
    assert row.hallucinated is True  # from its sentences
    assert (row.spans, row.samples, row.grade) == (((5, 9),), ("S.",), 0.5)


def test_bad_rows_are_counted_with_their_place_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    good = {"id": "a", "response": "Fine.", "evidence": ["Fine."], "hallucinated": False}
    file.write_bytes(
        lines(good).encode()
        + b'{"id": "b", "response": \n'
        + b"\xff\xfe\n"
        + b"\n"
        + lines(
            [1, 2],
            {"id": "c", "response": "No label.", "evidence": []},
            {"id": "d", "response": "  ", "hallucinated": True},
            {"id": "e", "hallucinated": True},
            {"id": "f", "response": "Odd.", "hallucinated": "maybe"},
            good,
            {**good, "response": "Another."},
            {"id": "g", "response": "Ab.", "hallucinated": True, "spans": [[0, 99]]},
        ).encode()
        + b"[" * 100_000
    )
    dataset = Dataset.open(str(file))
    rows = list(dataset.rows())
    assert [(row.id.split("#")[0], row.response) for row in rows] == [("a", "Fine."), ("a", "Another.")]
    assert len({row.id for row in rows}) == 2
    assert dataset.problems.counts() == {
        "rows": 2, "malformed": 7, "unlabelled": 1, "empty": 1, "duplicates": 1, "renamed": 1,
    }  # fmt: skip
    assert dataset.problems.examples[0].startswith("rows.jsonl:2: not JSON")
    assert dataset.problems.examples[1].startswith("rows.jsonl:3: not UTF-8")
    assert any(one.startswith("rows.jsonl:9: ") and "maybe" in one for one in dataset.problems.examples)


def test_a_sample_is_random_reproducible_and_in_order(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(lines(*({"id": n, "response": f"R{n}.", "hallucinated": n % 2 == 0} for n in range(200))))
    dataset = Dataset.open(str(file))
    first = [int(row.id) for row in dataset.rows(sample=50, seed=3)]
    assert first == [int(row.id) for row in dataset.rows(sample=50, seed=3)]
    assert first == sorted(first) and len(set(first)) == 50
    assert first != [int(row.id) for row in dataset.rows(sample=50, seed=4)]
    assert max(first) > 150 and min(first) < 50  # not the first rows


def test_forms_that_differ_from_the_publisher_s_files() -> None:
    summeval: Any = SOURCES["summeval"].convert(
        {"machine_summaries": ["A.", "B."], "consistency": [5.0, 4.666], "text": "T.", "id": "dm-1"}, "0"
    )
    assert [(row.response, row.hallucinated) for row in summeval] == [("A.", False), ("B.", True)]
    ragtruth: Any = SOURCES["ragtruth"].convert(
        {"id": "1", "query": "Q", "context": "C.", "output": "Bad text.",
         "hallucination_labels": '[{"start": 0, "end": 3, "text": "Bad"}]'}, "0",
    )  # fmt: skip
    assert ragtruth.spans == ((0, 3),)


def test_a_file_that_cannot_be_unpacked_to_its_end_is_told(tmp_path: Path) -> None:
    record = lines({"id": "1", "response": "One.", "hallucinated": False})
    whole = gzip.compress(b"".join(record.replace("1", str(n)).encode() for n in range(500)))
    for name, content in (
        ("cut", whole[: len(whole) // 2]),
        ("bad", whole[:30] + b"xxxxxxxx" + whole[38:]),
        ("no", b"no"),
    ):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(content)
        with pytest.raises(InputError, match=f"{name}.jsonl.gz' is cut short or damaged .*get it again"):
            list(Dataset.open(str(tmp_path / f"{name}.jsonl.gz")).rows())
