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
from evidencerails.evaluation.rows import GoldSentence, Row


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def table(*rows: tuple[str, ...]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def rows_of(name: str, folder: Path, **files: str) -> list[Row]:
    for file, content in files.items():
        path = folder / file.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    dataset = Dataset.open(name, folder=folder)
    found = list(dataset.rows())
    assert dataset.problems.described() == ""
    return found


def labels(rows: list[Row]) -> list[tuple[str, bool | None]]:
    return [(row.response, row.hallucinated) for row in rows]


def test_halueval_qa(tmp_path: Path) -> None:
    record = {
        "knowledge": "Arthur's Magazine (1844-1846) was an American literary periodical.",
        "question": "Which magazine was started first?",
        "right_answer": "Arthur's Magazine",
        "hallucinated_answer": "First for Women was started first.",
    }
    rows = rows_of("halueval_qa", tmp_path, **{"data__qa_data.json": lines(record)})
    assert labels(rows) == [("Arthur's Magazine", False), ("First for Women was started first.", True)]
    assert rows[0].evidence == (record["knowledge"],) and rows[0].prompt == record["question"]
    assert rows[0].document == rows[1].document


def test_halueval_general_under_both_field_names(tmp_path: Path) -> None:
    old = {"ID": "1", "user_query": "Name words.", "chatgpt_response": "the, a", "hallucination_label": "no"}
    new = {"ID": "2", "user_query": "Homophones?", "chatgpt_response": "sale, sail", "hallucination": "yes",
           "hallucination_spans": ["sale"]}  # fmt: skip
    rows = rows_of("halueval_general", tmp_path, **{"general_data.json": lines(old, new)})
    assert [(row.id, row.hallucinated, row.evidence) for row in rows] == [("1", False, ()), ("2", True, ())]


def test_truthfulqa(tmp_path: Path) -> None:
    content = (
        "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source\n"
        'Adversarial,Misconceptions,What happens to you if you eat watermelon seeds?,They pass,"They pass; Nothing '
        'happens","You grow watermelons, in your stomach; You get sick",https://example.org\n'
    )
    rows = rows_of("truthfulqa", tmp_path, **{"TruthfulQA.csv": content})
    assert labels(rows) == [
        ("They pass", False),
        ("Nothing happens", False),
        ("You grow watermelons, in your stomach", True),
        ("You get sick", True),
    ]
    assert {row.document for row in rows} == {"truthfulqa-0"}


def test_summeval_is_hallucinated_where_one_expert_gives_less_than_5(tmp_path: Path) -> None:
    def marks(*values: int) -> list[dict[str, int]]:
        return [{"coherence": 2, "consistency": value, "fluency": 4, "relevance": 2} for value in values]

    base = {"id": "dm-test-1", "text": "An article.", "references": ["r"], "turker_annotations": []}
    records = [
        {**base, "model_id": "M11", "decoded": "Right.", "expert_annotations": marks(5, 5, 5)},
        {**base, "model_id": "M13", "decoded": "Wrong.", "expert_annotations": marks(5, 5, 4)},
    ]
    rows = rows_of("summeval", tmp_path, **{"model_annotations.aligned.paired.jsonl": lines(*records)})
    assert labels(rows) == [("Right.", False), ("Wrong.", True)]
    assert rows[1].grade == pytest.approx(-14 / 3) and rows[1].id == "dm-test-1-M13"


def test_summedits(tmp_path: Path) -> None:
    records = [
        {"domain": "news", "id": "a_og-1", "doc": "Doc.", "summary": "Kept.", "label": 1, "edit_types": None},
        {"domain": "news", "id": "a_og-2", "doc": "Doc.", "summary": "Edited.", "label": 0, "edit_types": ["entity"]},
    ]
    rows = rows_of("summedits", tmp_path, **{"summedits_news.json": json.dumps(records)})
    assert labels(rows) == [("Kept.", False), ("Edited.", True)]


def test_frank_takes_the_majority_of_the_annotators(tmp_path: Path) -> None:
    record = {
        "hash": "34", "model_name": "BART", "article": "An article.", "summary": "One. Two.", "split": "test",
        "summary_sentences": ["One.", "Two."],
        "summary_sentences_annotations": [
            {"annotator_0": ["NoE"], "annotator_1": ["EntE"], "annotator_2": ["NoE"]},
            {"annotator_0": ["OutE"], "annotator_1": ["EntE", "RelE"], "annotator_2": ["NoE"]},
        ],
    }  # fmt: skip
    (row,) = rows_of("frank", tmp_path, **{"human_annotations_sentence.json": json.dumps([record])})
    assert row.id == "34-BART" and row.hallucinated is True and row.grade == 0.5
    assert row.sentences == (GoldSentence("One.", False), GoldSentence("Two.", True))


@pytest.mark.parametrize("name", ["cnndm", "xsum"])
def test_qags_takes_the_majority_of_the_workers(tmp_path: Path, name: str) -> None:
    def sentence(text: str, *said: str) -> dict[str, Any]:
        return {"sentence": text, "responses": [{"worker_id": str(n), "response": one} for n, one in enumerate(said)]}

    record = {"article": "An article.", "summary_sentences": [sentence("One.", "yes", "yes", "no"),
                                                              sentence("Two.", "no", "no", "yes")]}  # fmt: skip
    (row,) = rows_of(f"qags_{name}", tmp_path, **{f"mturk_{name}.jsonl": lines(record)})
    assert row.response == "One. Two." and row.hallucinated is True
    assert [sentence.hallucinated for sentence in row.sentences] == [False, True]


def test_wikibio(tmp_path: Path) -> None:
    record = {
        "gpt3_text": "He was born. He died.", "wiki_bio_text": "An article.", "wiki_bio_test_idx": 62464,
        "gpt3_sentences": ["He was born.", "He died."], "annotation": ["accurate", "major_inaccurate"],
        "gpt3_text_samples": ["Another.", "One more."],
    }  # fmt: skip
    (row,) = rows_of("wikibio", tmp_path, **{"wiki_bio_gpt3_hallucination_v3.json": json.dumps([record])})
    assert (row.id, row.hallucinated, row.grade, len(row.samples)) == ("62464", True, 0.5, 2)


def test_ragtruth_joins_sources_and_leaves_out_spans_that_are_true(tmp_path: Path) -> None:
    answer = "Beets take an hour. They come from Mars."
    span = {"start": 20, "end": 40, "text": "They come from Mars.", "meta": "", "label_type": "Evident Baseless Info"}
    true = {**span, "start": 0, "end": 5, "implicit_true": True}
    response = {
        "id": "7",
        "source_id": "14312",
        "model": "gpt-4",
        "temperature": 0.7,
        "split": "test",
        "quality": "good",
    }
    content = {"question": "how to prepare beets", "passages": "passage 1: Bake for 45 minutes."}
    source = {"source_id": "14312", "task_type": "QA", "source": "MARCO", "prompt": "...", "source_info": content}
    rows = rows_of(
        "ragtruth",
        tmp_path,
        **{
            "response.jsonl": lines({**response, "response": answer, "labels": [span, true]},
                                    {**response, "id": "8", "response": "Bake them.", "labels": [true | {"end": 4}]}),
            "source_info.jsonl": lines(source),
        },
    )  # fmt: skip
    assert [(row.hallucinated, row.spans) for row in rows] == [(True, ((20, 40),)), (False, ())]
    assert rows[0].prompt == "how to prepare beets"
    assert rows[0].evidence == ("passage 1: Bake for 45 minutes.",)


def test_refchecker_joins_answers_with_contexts(tmp_path: Path) -> None:
    answers = [
        {"id": "1", "response": "Paris is in France.", "claude2_response_kg": [
            {"triplet": ["Paris", "in", "France"], "human_label": "Entailment"}]},
        {"id": "2", "response": "Lyon is in Italy.", "claude2_response_kg": [
            {"triplet": ["Lyon", "in", "Italy"], "human_label": "Contradiction"},
            {"triplet": ["Lyon", "is", "city"], "human_label": "Entailment"}]},
    ]  # fmt: skip
    contexts = [{"id": "1", "question": "Where?", "context": ["Paris, France."]},
                {"id": "2", "question": "Where?", "context": "Lyon, France."}]  # fmt: skip
    rows = rows_of(
        "refchecker",
        tmp_path,
        **{"human__msmarco_gpt4_answers.json": json.dumps(answers), "data__msmarco.json": json.dumps(contexts)},
    )
    assert [(row.id, row.hallucinated, row.grade) for row in rows] == [
        ("msmarco_gpt4-1", False, 0.0),
        ("msmarco_gpt4-2", True, 0.5),
    ]
    assert rows[1].evidence == ("Lyon, France.",)


def test_refchecker_without_contexts_says_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "nq_gpt4_answers.json").write_text("[]")
    with pytest.raises(InputError, match=r"download_data\.sh"):
        list(Dataset.open("refchecker", folder=tmp_path).rows())


def test_faithbench_counts_unwanted_spans_only(tmp_path: Path) -> None:
    def sample(number: int, *labels: list[str]) -> dict[str, Any]:
        notes = [{"annot_id": n, "annotator_id": "x", "annotator_name": "A", "label": label, "note": "",
                  "summary_span": "production", "summary_start": 4, "summary_end": 14}
                 for n, label in enumerate(labels)]  # fmt: skip
        return {"sample_id": number, "source": "A budget.", "summary": "The production budget.", "annotations": notes,
                "metadata": {"summarizer": "m", "raw_sample_id": 15}}  # fmt: skip

    batch = {"samples": [sample(0, ["Unwanted", "Unwanted.Intrinsic"], ["Unwanted.Extrinsic"]), sample(1, ["Benign"])]}
    rows = rows_of("faithbench", tmp_path, **{"data_for_release__batch_1.json": json.dumps(batch)})
    assert [(row.id, row.hallucinated, row.spans) for row in rows] == [
        ("batch_1-0", True, ((4, 14),)),
        ("batch_1-1", False, ()),
    ]


def test_begin(tmp_path: Path) -> None:
    head = ("model_name", "data_source", "knowledge", "message", "response", "begin_label")
    content = table(
        head,
        ("gpt2", "cmu", 'He said "no', "i like him", "but i did n't", "Not fully attributable"),
        ("doha", "cmu", "Kevin returns.", "Obviously", "haha", "Generic"),
        ("ctrl", "cmu", "Woody leads.", "why", "woody leads.", "Fully attributable"),
    )
    rows = rows_of("begin", tmp_path, **{"cmu-dog__begin_dev_cmu.tsv": content})
    assert [(row.id, row.hallucinated) for row in rows] == [
        ("begin_dev_cmu-0", True),
        ("begin_dev_cmu-1", False),
        ("begin_dev_cmu-2", False),
    ]


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


def test_own_shape(tmp_path: Path) -> None:
    record = {
        "id": "x", "dataset": "mine", "prompt": "Q?", "evidence": ["E."], "response": "One. Two.", "samples": ["S."],
        "sentences": [{"text": "One.", "supported": True}, {"text": "Two.", "inaccuracy": 0.5}], "spans": [[5, 9]],
    }  # fmt: skip
    (tmp_path / "mine.jsonl.gz").write_bytes(gzip.compress(lines(record).encode()))
    (row,) = Dataset.open(str(tmp_path / "mine.jsonl.gz")).rows()
    assert row.hallucinated is True  # from its sentences
    assert (row.spans, row.samples, row.grade) == (((5, 9),), ("S.",), 0.5)


def test_own_shape_as_csv_and_parquet(tmp_path: Path) -> None:
    records = [
        {"id": "1", "response": "It opened in 1932.", "hallucinated": False, "evidence": ["Opened in 1932.", "Yes."]},
        {"id": "2", "response": "It opened in 1911.", "hallucinated": True, "evidence": ["Opened in 1932."]},
    ]
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(records[0])
        writer.writerows([*[*r.values()][:3], json.dumps(r["evidence"])] for r in records)
        writer.writerow(["3", "one cell too few"])
    pyarrow = needs("pyarrow")
    needs("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(records), tmp_path / "mine.parquet")
    for name, malformed in (("mine.csv", 1), ("mine.parquet", 0)):
        dataset = Dataset.open(str(tmp_path / name))
        found = [(r.id, r.response, r.hallucinated, list(r.evidence)) for r in dataset.rows()]
        assert found == [tuple(record.values()) for record in records]
        assert dataset.problems.malformed == malformed


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
    )
    dataset = Dataset.open(str(file))
    rows = list(dataset.rows())
    assert [(row.id.split("#")[0], row.response) for row in rows] == [("a", "Fine."), ("a", "Another.")]
    assert len({row.id for row in rows}) == 2
    assert dataset.problems.counts() == {
        "rows": 2, "malformed": 6, "unlabelled": 1, "empty": 1, "duplicates": 1, "renamed": 1,
    }  # fmt: skip
    assert dataset.problems.examples[0].startswith("rows.jsonl:2: not JSON")
    assert dataset.problems.examples[1].startswith("rows.jsonl:3: not JSON")
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


def test_reading_through_the_datasets_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real library over a local copy in the hub's form: a folder with the records of the split."""
    needs("datasets")
    record = {"doc": "Doc.", "summary": "Kept.", "label": 1, "id": "a", "domain": "news"}
    (tmp_path / "train.jsonl").write_text(lines(record, {**record, "id": "b", "summary": "Edited.", "label": 0}))
    source = SOURCES["summedits"]
    assert source.hub is not None
    monkeypatch.setitem(SOURCES, "summedits", source._replace(hub=source.hub._replace(path=str(tmp_path))))
    assert labels(list(Dataset.open("summedits", origin="hub").rows())) == [("Kept.", False), ("Edited.", True)]


def test_the_hub_forms_that_differ_from_the_files() -> None:
    summeval = SOURCES["summeval"].convert(
        {"machine_summaries": ["A.", "B."], "consistency": [5.0, 4.666], "text": "T.", "id": "dm-1"}, "0"
    )
    assert labels(list(summeval)) == [("A.", False), ("B.", True)]
    ragtruth = SOURCES["ragtruth"].convert(
        {"id": "1", "query": "Q", "context": "C.", "output": "Bad text.",
         "hallucination_labels": '[{"start": 0, "end": 3, "text": "Bad"}]'}, "0",
    )  # fmt: skip
    assert ragtruth.spans == ((0, 3),)  # type: ignore[union-attr]


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


def test_a_line_nested_without_end_is_malformed_and_the_rest_is_read(tmp_path: Path) -> None:
    good = lines({"id": "1", "response": "One.", "hallucinated": False})
    (tmp_path / "deep.jsonl").write_text(good + "[" * 100_000 + "\n")
    dataset = Dataset.open(str(tmp_path / "deep.jsonl"))
    assert [row.id for row in dataset.rows()] == ["1"]
    assert dataset.problems.malformed == 1
