"""The training data has no shortcut, and the packed reader reads a claim alike whatever stands beside it."""

import json
import random
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from extras import needs

torch = needs("torch")
pytest.importorskip("sklearn")
needs("onnx")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # fits and compiles: minutes where others run beside it

from training import int8  # noqa: E402
from training.balance import balanced_writers, shortcuts, statements_of  # noqa: E402
from training.common import LABELS, NOT_ENTAILED  # noqa: E402
from training.encoder import PackedReader, bucket  # noqa: E402
from training.export import four_bits  # noqa: E402
from training.sequences import collate, lexical_overlap, packed, rows_of, with_one_answer, with_other_value, written  # noqa: E402
from training.train import factor, loss_of  # noqa: E402

FOLDER = Path(__file__).parents[2] / "training"
PASSAGES = sorted((FOLDER / "passages").glob("*.jsonl"))
PHENOMENA = {
    *("subject", "swap", "number", "negation", "condition", "quantifier", "modality", "cause", "role", "detail"),
    *("reworded", "inference", "combined", "partly", "time", "absent_info", "verbatim", "order", "unit"),
}


@pytest.fixture(scope="module")
def reader() -> PackedReader:
    torch.manual_seed(0)
    return PackedReader(layers=2).eval()


def _logits(reader: PackedReader, *readings: tuple[list[int], list[list[int]]]) -> np.ndarray:
    batch = collate([packed(evidence, claims, [0] * len(claims)) for evidence, claims in readings])
    arrays = (batch.ids, batch.segments, batch.positions, batch.rows, batch.columns)
    with torch.no_grad():
        return reader(*(torch.from_numpy(array) for array in arrays)).numpy()


def test_a_claims_logits_do_not_depend_on_the_claims_beside_it(reader: PackedReader) -> None:
    evidence, claims = list(range(100, 160)), [[200, 201], [300, 301, 302, 303], [400]]
    alone = np.concatenate([_logits(reader, (evidence, [claim])) for claim in claims])
    np.testing.assert_allclose(_logits(reader, (evidence, claims)), alone, atol=1e-5)
    np.testing.assert_allclose(_logits(reader, (evidence, claims[::-1]))[::-1], alone, atol=1e-5)


def test_padding_changes_nothing(reader: PackedReader) -> None:
    short, long = ([100, 101, 102], [[200, 201]]), (list(range(100, 150)), [[300]])
    np.testing.assert_allclose(_logits(reader, short, long)[:1], _logits(reader, short), atol=1e-5)


@pytest.mark.skipif(not (which("c++") and which("ninja")), reason="kernels are compiled by c++ and ninja")
def test_products_in_int8_have_the_gradients_of_floats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    torch.manual_seed(3)
    inputs, weight, bias = torch.randn(6, 50, 768), torch.randn(3072, 768), torch.randn(3072)
    found = []
    for linear in (torch.nn.functional.linear, int8.linear):
        leaves = [part.clone().requires_grad_() for part in (inputs, weight, bias)]
        output = linear(*leaves)
        output.square().sum().backward()
        found.append([output.detach(), *(leaf.grad for leaf in leaves)])
    for one, other in zip(*found, strict=True):
        assert torch.nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.999


def test_buckets_are_those_of_mpnet() -> None:
    # transformers' MPNetEncoder.relative_position_bucket for the same distances
    distances = torch.tensor([-500, -128, -20, -8, -7, -1, 0, 1, 7, 8, 20, 128, 500])
    assert bucket(distances).tolist() == [15, 15, 10, 8, 7, 1, 0, 17, 23, 24, 26, 31, 31]


def test_two_way_loss_does_not_care_which_of_the_two_labels() -> None:
    labels = torch.tensor([NOT_ENTAILED])
    one, other = torch.tensor([[-4.0, 5.0, 0.0]]), torch.tensor([[-4.0, 0.0, 5.0]])
    assert loss_of(one, labels, 0.0).item() == pytest.approx(loss_of(other, labels, 0.0).item())
    assert loss_of(torch.tensor([[5.0, 0.0, 0.0]]), labels, 0.0).item() > 4


def test_the_rate_warms_up_stays_and_decays() -> None:
    assert [factor(step, 0.0, 10, 0.5) for step in (0, 4, 9, 50)] == [0.1, 0.5, 1.0, 1.0]
    assert [round(factor(99, elapsed, 10, 0.5), 2) for elapsed in (0.4, 0.5, 0.75, 1.0)] == [1.0, 1.0, 0.5, 0.0]


def test_four_bits_keep_a_table() -> None:
    table = np.random.default_rng(0).normal(size=(50, 64)).astype(np.float32)
    values, scales = four_bits(table)
    unpacked = np.empty_like(table)
    unpacked[:, 0::2], unpacked[:, 1::2] = values & 15, values >> 4
    restored = (unpacked - 8) * np.repeat(scales.astype(np.float32), 32, axis=1)
    assert ((restored - table) ** 2).mean() / (table**2).mean() < 0.012


@pytest.mark.parametrize("path", [*PASSAGES, FOLDER / "passages_held_out.jsonl"], ids=lambda path: path.stem)
def test_written_rows_have_the_form_that_training_reads(path: Path) -> None:
    rows = rows_of(path)
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["passages"] and (row["statements"] or row["answer"]["sentences"]), row["id"]
        for label, phenomenon, overlap, places, text in row["statements"]:
            assert label in "enc" and phenomenon in PHENOMENA and overlap in "hl" and text.strip(), row["id"]
            assert all(0 <= place < len(row["passages"]) for place in places), row["id"]


def test_answers_of_a_row_are_read_together_and_a_short_one_with_its_question() -> None:
    answers = [
        {"question": "When did it open?", "sentences": [["e", "short", "In 1932."]]},
        {"question": "Is it long?", "sentences": [["c", "reworded", "It is the shortest bridge of the whole county."]]},
    ]
    row = with_one_answer({"id": "Y1", "passages": ["The bridge opened in 1932."], "answers": answers})
    assert [sentence[-1] for sentence in row["answer"]["sentences"]] == [
        "When did it open? In 1932.",
        "It is the shortest bridge of the whole county.",
    ]
    assert "answers" not in row


def test_no_passage_is_held_out_and_trained_on() -> None:
    held_out = {passage for row in rows_of(FOLDER / "passages_held_out.jsonl") for passage in row["passages"]}
    trained = {passage for path in PASSAGES for row in rows_of(path) for passage in row["passages"]}
    developed = {p for path in FOLDER.glob("*_development.jsonl") for row in rows_of(path) for p in row["passages"]}
    cases = [path.read_text(encoding="utf-8") for path in (FOLDER.parent / "benchmarks").glob("*_answers.jsonl")]
    held_out |= {passage for text in cases for line in text.splitlines() for passage in json.loads(line)["passages"]}
    assert len(cases) == 2 and not held_out & (trained | developed) and not trained & developed


@pytest.fixture(scope="module")
def balanced() -> list[dict[str, object]]:
    return balanced_writers(map(rows_of, PASSAGES))


def test_no_surface_tells_right_from_wrong(balanced: list[dict[str, object]]) -> None:
    # Overlap alone had an AUROC of .66 in the older passages, the wrong way round.
    found = shortcuts(statements_of(balanced))
    assert {name: value for name, value in found.items() if not 0.45 <= value <= 0.55} == {}


@pytest.mark.parametrize("letter", [path.stem for path in PASSAGES])
def test_no_surface_tells_right_from_wrong_with_any_writer(balanced: list[dict[str, object]], letter: str) -> None:
    rows = [row for row in balanced if str(row["id"]).lower().startswith(letter)]
    found = shortcuts(statements_of(rows))
    # A writer has some 900 statements: chance alone spreads these figures by .02.
    assert {name: value for name, value in found.items() if not 0.42 <= value <= 0.58} == {}


def test_each_phenomenon_has_right_and_wrong_statements(balanced: list[dict[str, object]]) -> None:
    for phenomenon in PHENOMENA:
        labels = [s[0] == "e" for row in balanced for s in row["statements"] if s[1] == phenomenon]  # type: ignore[attr-defined]
        assert labels and 0.25 <= sum(labels) / len(labels) <= 0.75, phenomenon


def test_a_copy_with_another_value_is_among_the_statements() -> None:
    sentence = "The Alpha has a warranty of two years and weighs 12 kilograms."
    evidence = f"{sentence} The Beta weighs 15 kilograms."
    assert with_other_value(sentence, evidence, random.Random(0)) in {
        sentence.replace("12", "15"),
        sentence.replace("Alpha", "Beta"),
    }
    assert with_other_value("Nothing here has a value.", evidence, random.Random(0)) is None


def test_a_strangers_passage_takes_its_own_sentences_out_of_the_neutral_ones() -> None:
    row, other = (
        {"style": "x", "passages": [passage], "statements": [["e", "", "h", [0], claim]]}
        for passage, claim in (
            ("The Alpha opened in May of that year.", "A."),
            ("The Beta closed in June of that year.", "B."),
        )
    )
    for seed in range(30):
        for reading in written([row, other], random.Random(seed)):
            for text, label in reading.statements:
                if "closed in June" in text and "Beta closed" in reading.evidence:
                    assert LABELS[label] != "neutral" if label < len(LABELS) else True


def test_overlap_counts_content_words() -> None:
    assert lexical_overlap("The bridge is in Lyon", "A bridge of Lyon") == 1.0
    assert lexical_overlap("The bridge opened", "A bridge of Lyon") == 0.5
    assert lexical_overlap("is it", "A bridge of Lyon") == 0.0
