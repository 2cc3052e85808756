"""The training steps on tiny inputs: losses, schedule, quantisation, the graph, the verdict's fit."""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import random
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from extras import needs

torch = needs("torch")
needs("transformers")
pytest.importorskip("sklearn")
pytest.importorskip("onnx")

from evidencerails.nli.model_file import MODEL_FOLDER  # noqa: E402
from evidencerails.report import NliScores  # noqa: E402
from training import (  # noqa: E402
    ablation,
    augment,
    blend,
    conversation,
    data_ablation,
    documents,
    graph,
    kinds,
    prepare,
    processors,
    speed,
    voice,
    written,
)
from training.card import write_card  # noqa: E402
from training.common import LABEL_IDS, NOT_ENTAILED, Pair, share_of  # noqa: E402
from training.document_facts import KINDS  # noqa: E402
from training.evaluate import auroc, with_interval  # noqa: E402
from training.export import build  # noqa: E402
from training.prepare import Sources, made_pairs  # noqa: E402
from training.reading import ReadRow  # noqa: E402
from training.restore import published_weights  # noqa: E402
from training.stages import PUBLISHED, stages_of  # noqa: E402
from training.train import CrossEncoder, Recipe, Schedule, distilled, freeze, loss_of  # noqa: E402
from training.verdict import fit  # noqa: E402

pytestmark = pytest.mark.slow

EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday_cases.jsonl"
PASSAGE = (
    "Marie Curie was born in Warsaw in 1867. She moved to Paris in 1891 and met Pierre Curie there. "
    "In 1903 they won the Nobel Prize in Physics together with Henri Becquerel."
)


def test_two_way_loss_does_not_care_which_of_the_two_labels() -> None:
    labels = torch.tensor([NOT_ENTAILED])
    neutral = loss_of(torch.tensor([[0.0, 3.0, -1.0]]), labels, 0.05)
    contradicted = loss_of(torch.tensor([[0.0, -1.0, 3.0]]), labels, 0.05)
    entailed = loss_of(torch.tensor([[3.0, 0.0, -1.0]]), labels, 0.05)
    assert float(neutral) == pytest.approx(float(contradicted))
    assert float(entailed) > float(neutral) + 1


def test_a_teacher_who_agrees_teaches_nothing() -> None:
    sure = torch.tensor([[4.0, 0.0, -2.0], [0.0, 1.0, 3.0]])
    assert float(distilled(sure, sure + 7.0)) == pytest.approx(0.0, abs=1e-6)
    assert float(distilled(sure, sure.flip(-1))) > 0.5


def _index() -> augment.Index:
    return augment.Index([f"Bridge kl{n} is old." for n in range(120)])


def test_a_data_ablation_goes_on_where_it_stopped_and_knows_its_teacher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [Pair(f"The bridge {n} was opened in Lyon.", f"A bridge {n} is in Lyon.", 0, "mnli") for n in range(60)]
    two_way = [Pair(f"Tower {n} stands in Oslo.", f"Tower {n} is tall.", NOT_ENTAILED, "rte_glue") for n in range(60)]
    sources = Sources([*own, *two_way], [], [], [], _index())
    pool = data_ablation.Pool(sources, own, two_way, set(), seed=7)
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(data_ablation, "run", lambda *arguments: ran.append(arguments))
    monkeypatch.setattr(data_ablation, "measured", lambda _data, folder: {"mean": len(folder.name) / 100})
    monkeypatch.setattr(data_ablation, "PAIRS_A_STEP", 6)
    # The same tokenizer as the encoder's, which is a training-only dependency.
    monkeypatch.setattr(prepare, "encoder_folder", lambda: MODEL_FOLDER)

    def go(only: list[str]) -> dict[str, Any]:
        return data_ablation.ablation(lambda: pool, Path("data"), tmp_path, 20, 5, only, 1)

    found = go(["two-way sources, not entailed taken for neutral"])
    assert [step for step, *_ in ran] == ["train", "export"] * 2
    assert [*found["variants"]] == ["the base", "two-way sources, not entailed taken for neutral"]
    folder = tmp_path / "two-way-sources-not-entailed-taken-for-neutral"
    stored = np.load(folder / "train.npz")
    labels = dict(zip(*np.unique(stored["labels"], return_counts=True), strict=True))
    assert labels == {0: 20, 1: 10}  # a third is of the kind that is measured, and its third label was invented
    ran.clear()
    go(["two-way sources, not entailed taken for neutral", "self-distillation"])
    assert [step for step, *_ in ran] == ["train", "export"]  # what is measured is not trained again
    teacher = ran[0][ran[0].index("--teacher") + 1]
    assert Path(teacher) == tmp_path / "base" / "run" / "checkpoint.pt"


def test_made_pairs_do_not_depend_on_what_else_is_made() -> None:
    own = [Pair("Ann Holm.", f"Bridge {n} was opened by Ann Holm.", n % 3, "fever_nli") for n in range(90)]
    sources = Sources(own, own, [], [], _index())
    alone = made_pairs(sources, "voice", 7)
    made_pairs(sources, "questions", 7)
    assert alone
    assert alone == made_pairs(sources, "voice", 7) != made_pairs(sources, "voice", 8)


def test_a_share_thins_out_a_source_or_repeats_it() -> None:
    pairs = [Pair(f"Bridge {n}.", f"It is {n}.", 0, source) for n in range(1_000) for source in ("a", "b", "c", "d")]
    kept = Counter(pair.source for pair in prepare.shared(pairs, {"a": 0.3, "b": 2, "c": 1.5}, random.Random(7)))
    assert (kept["b"], kept["d"]) == (2_000, 1_000)
    assert abs(kept["a"] - 300) < 60
    assert abs(kept["c"] - 1_500) < 60


def test_made_documents_contradict_no_statement_that_they_entail() -> None:
    made = documents.pairs(random.Random(3), 8_000, ["The tower stands in Oslo."])
    labels: dict[tuple[str, str], set[int]] = {}
    for pair in made:
        assert not set("{}|") & set(pair.premise + pair.hypothesis)
        labels.setdefault((pair.premise, pair.hypothesis), set()).add(pair.label)
    assert [texts for texts, found in labels.items() if len(found) > 1] == []
    shares = Counter(pair.label for pair in made)
    assert min(shares[label] for label in range(3)) > 0.15 * len(made)  # no label can be guessed


def test_written_statements_keep_their_labels_beside_the_sentences_that_decide_them() -> None:
    made = written.pairs(random.Random(3))
    by_source = {source: [pair for pair in made if pair.source == source] for source in written.SOURCES}
    whole = by_source[written.WHOLE]
    assert len({(pair.premise, pair.hypothesis) for pair in whole}) == len(whole)
    shares = Counter(pair.label for pair in whole)
    assert min(shares.values()) > 0.2 * len(whole)  # no label can be guessed
    labels = {(pair.hypothesis, pair.label) for pair in whole}
    parts = {pair.hypothesis: pair for pair in by_source[written.PART]}
    assert all((pair.hypothesis, pair.label) in labels for pair in parts.values())
    rest = by_source[written.REST]
    assert {pair.label for pair in rest} == {NOT_ENTAILED}
    both = [(parts[pair.hypothesis].premise, pair.premise) for pair in rest if pair.hypothesis in parts]
    assert both and all(set(part.split(". ")).isdisjoint(others.split(". ")) for part, others in both[:50])


def test_written_documents_are_none_of_the_test() -> None:
    trained = {pair.premise for pair in written.pairs(random.Random(3)) if pair.source == written.WHOLE}
    for path in (EVERYDAY, EVERYDAY.parents[1] / "benchmarks" / "everyday_cases.jsonl"):
        assert trained.isdisjoint(json.loads(line)["passage"] for line in path.read_text().splitlines())
    held_out = written.pairs(random.Random(3), written.HELD_OUT)
    assert trained.isdisjoint(pair.premise for pair in held_out if pair.source == written.WHOLE)
    assert {told["style"] for told in written.documents(written.HELD_OUT)} == {
        told["style"] for told in written.documents()
    }


def test_made_documents_take_wrong_values_from_the_same_passage() -> None:
    made = [p for p in documents.pairs(random.Random(3), 8_000) if p.label == LABEL_IDS["contradiction"]]
    known = sum(set(re.findall(r"\d+", pair.hypothesis)) <= set(re.findall(r"\d+", pair.premise)) for pair in made)
    assert known / len(made) > 0.5


@pytest.mark.parametrize("name", list(KINDS))
def test_every_kind_of_fact_has_values_for_its_slots(name: str) -> None:
    kind, rng = KINDS[name], random.Random(3)
    fact = documents.Fact(kind, {slot: documents.drawn(values, rng) for slot, values in kind.slots.items()})
    for template in (*kind.says, *kind.weaker, *kind.denies, *kind.beyond):
        text = fact.worded(template, rng)
        assert text[0].isupper() or not text[0].isalpha()
        assert text.endswith(".") and "  " not in text
    assert len(kind.says) > 2  # one is told, another asked about


def test_a_share_is_a_name_and_a_number() -> None:
    assert share_of("curriculum/control=2") == ("curriculum/control", 2.0)
    assert share_of("a=b/checkpoint.pt=0.5") == ("a=b/checkpoint.pt", 0.5)
    with pytest.raises(argparse.ArgumentTypeError, match="'copies' is not NAME=NUMBER"):
        share_of("copies")


def test_the_card_tells_every_run_that_led_to_the_weights(tmp_path: Path) -> None:
    for number, start in (("1", None), ("2", tmp_path / "1" / "run" / "checkpoint.pt")):
        folder = tmp_path / number
        (folder / "run").mkdir(parents=True)
        sources = {
            "mpe": {"labels": {"0": 4, "2": int(number)}, "tokens": 90},
            f"only{number}": {"labels": {"1": 7}, "tokens": 9},
        }
        (folder / "prepare.json").write_text(json.dumps({"pairs": 20, "sources": sources}))
        recipe = {"passes": 1, "rate": 1e-4, "tokens": 4096, "smoothing": 0.05, "average": 0.998, "seed": 7}
        recipe |= {"frozen_layers": 2}
        recipe |= {"start": str(start)} if start else {}
        run = {"recipe": recipe, "steps": 10 * int(number), "all_steps": 40, "decay_from": None, "elapsed_s": 60}
        run["precision"] = "bf16"
        (folder / "run" / "run.json").write_text(json.dumps(run))
    card = tmp_path / "card.md"
    card.write_text("<!-- table: data -->\n<!-- end -->\n<!-- table: run -->\n<!-- end -->")
    write_card(card, {"stages": stages_of(tmp_path / "2")})
    text = card.read_text()
    assert "| `mpe` | entailed, contradicted | 5 | 6 |" in text
    assert "| `only2` | neutral | - | 7 |" in text
    assert "| steps | 10, 0.25 passes over the data | 20, 0.50 passes over the data |" in text


def test_a_run_from_published_weights_tells_how_those_were_made(tmp_path: Path) -> None:
    published = json.loads(PUBLISHED.read_text())
    assert all({"pairs", "sources", "steps", "precision"} <= stage.keys() for stage in published)
    folder = tmp_path / "next"
    (folder / "run").mkdir(parents=True)
    (folder / "published.json").write_text(PUBLISHED.read_text())
    (folder / "prepare.json").write_text(
        json.dumps({"pairs": 3, "sources": {"mpe": {"labels": {"0": 3}, "tokens": 9}}})
    )
    recipe = {**asdict(Recipe()), "start": str(folder / "published.pt")}
    run = {"recipe": recipe, "steps": 1, "all_steps": 3, "decay_from": None, "elapsed_s": 60, "precision": "fp32"}
    (folder / "run" / "run.json").write_text(json.dumps(run))
    assert stages_of(folder)[:-1] == published
    assert stages_of(folder)[-1]["pairs"] == 3


def test_a_rule_is_changed_for_the_time_of_a_measurement_only() -> None:
    from evidencerails.checks import evidence_nli

    before = evidence_nli.FAR_SHARE
    with ablation.changed(evidence_nli, {"FAR_SHARE": 0.0}):
        assert evidence_nli.FAR_SHARE == 0.0
    assert before == evidence_nli.FAR_SHARE
    for changes in ablation.READING.values():
        with ablation.changed(evidence_nli, changes):
            pass
    with pytest.raises(AttributeError), ablation.changed(evidence_nli, {"NO_SUCH_RULE": 1}):
        pass


def test_rate_warms_up_stays_and_decays_with_time() -> None:
    schedule = Schedule(Recipe(minutes=10, warmup_steps=10, decay_share=0.5), total_steps=10_000)
    assert schedule.factor(0, 0.0) == pytest.approx(0.1)
    assert schedule.factor(200, 299.0) == 1.0
    assert schedule.factor(201, 300.0) == pytest.approx(1.0)
    assert schedule.decay_from == 201
    assert schedule.factor(300, 450.0) == pytest.approx(0.5)
    assert schedule.factor(400, 600.0) is None


def test_schedule_by_steps_ends_with_them() -> None:
    schedule = Schedule(Recipe(steps=100, decay_from=50, minutes=None, warmup_steps=1), total_steps=1000)
    assert schedule.factor(75, 0.0) == pytest.approx(0.5)
    assert schedule.factor(100, 0.0) is None


@pytest.fixture(scope="module")
def tiny() -> CrossEncoder:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=200, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    )
    return CrossEncoder(BertModel(config, add_pooling_layer=False)).eval()


def _batch(lengths: list[int], width: int) -> dict[str, torch.Tensor]:
    ids = torch.from_numpy(np.random.default_rng(0).integers(1, 200, (len(lengths), width)))
    mask = torch.stack([(torch.arange(width) < length).long() for length in lengths])
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}


def test_int8_graph_follows_the_float_model_and_rows_stand_alone(tiny: CrossEncoder) -> None:
    import onnxruntime

    head = {name: tensor.numpy() for name, tensor in tiny.state_dict().items() if not name.startswith("encoder.")}
    made = build(tiny.encoder, [_batch([24] * 16, 24)], head, "tiny")
    assert made.opset_import[0].version <= 17
    assert made.ir_version <= 10
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    batch = _batch([24, 9, 15], 24)
    together = session.run(["logits"], {name: tensor.numpy() for name, tensor in batch.items()})[0]
    with torch.no_grad():
        exact = tiny(**batch).numpy()
    assert np.abs(together - exact).max() < 0.15 * np.abs(exact).max()
    alone = session.run(["logits"], {name: tensor[1:2, :9].numpy() for name, tensor in batch.items()})[0]
    assert np.abs(alone[0] - together[1]).max() < 1e-3


def test_published_weights_are_those_that_were_exported(tiny: CrossEncoder, tmp_path: Path) -> None:
    import onnx

    head = {name: tensor.numpy() for name, tensor in tiny.state_dict().items() if not name.startswith("encoder.")}
    onnx.save(build(tiny.encoder, [_batch([24] * 16, 24)], head, "tiny"), tmp_path / "model.onnx")
    other = CrossEncoder(type(tiny.encoder)(tiny.encoder.config, add_pooling_layer=False)).eval()
    words = "encoder.embeddings.word_embeddings.weight"  # never trained, so taken from the encoder
    state = {**other.state_dict(), words: tiny.state_dict()[words]}
    other.load_state_dict(published_weights(tmp_path / "model.onnx", state))
    batch = _batch([24, 9, 15], 24)
    with torch.no_grad():
        assert np.abs(other(**batch).numpy() - tiny(**batch).numpy()).max() < 0.02
    for name, tensor in other.state_dict().items():
        assert torch.allclose(tensor, tiny.state_dict()[name], atol=0.02), name


def test_a_blend_lies_between_its_weights(tiny: CrossEncoder) -> None:
    ours, zeros = tiny.state_dict(), {name: torch.zeros_like(tensor) for name, tensor in tiny.state_dict().items()}
    mixed = blend.blended([(zeros, 0.25), (ours, 0.75)])
    assert torch.allclose(mixed["classifier.weight"], 0.75 * ours["classifier.weight"])
    assert mixed.keys() == ours.keys()
    with pytest.raises(ValueError, match=r"sum to 1\.25"):
        blend.blended([(zeros, 0.5), (ours, 0.75)])


def test_only_the_layers_that_learn_change(tiny: CrossEncoder) -> None:
    model = copy.deepcopy(tiny)
    freeze(model, 1)
    trained = {name.split(".")[3] for name, p in model.named_parameters() if p.requires_grad and ".layer." in name}
    assert trained == {"1"}
    assert not any(p.requires_grad for p in model.encoder.embeddings.parameters())
    assert all(p.requires_grad for p in model.classifier.parameters())


def test_the_last_layer_reads_for_the_first_token_what_the_encoder_reads(tiny: CrossEncoder) -> None:
    batch = _batch([24, 9, 15], 24)
    with torch.no_grad():
        first = tiny.encoder(**batch).last_hidden_state[:, 0]
        assert torch.allclose(tiny.classifier(torch.tanh(tiny.dense(first))), tiny(**batch), atol=1e-5)


def test_graph_keeps_to_the_opset_of_old_runtimes() -> None:
    assert graph.OPSET <= 17
    assert graph.IR_VERSION <= 10


def test_edits_change_what_a_sentence_says() -> None:
    lookalikes = augment.Lookalikes({"warsaw": 0, "paris": 1}, np.eye(2))
    made = augment.SentenceEditor(lookalikes, random.Random(3)).pairs(PASSAGE, 40)
    wrong = [pair for pair in made if pair.source.startswith("made/edit")]
    assert wrong
    assert all(pair.hypothesis not in pair.premise for pair in wrong)
    assert all(pair.label != LABEL_IDS["entailment"] for pair in wrong)


def test_questions_ask_for_what_they_answer() -> None:
    pair = Pair(PASSAGE, "Marie Curie was born in Warsaw.", LABEL_IDS["entailment"], "fever_nli")
    made = augment.questions([pair], random.Random(1), 2)
    assert {made[0].label, made[1].label} == {LABEL_IDS["entailment"], NOT_ENTAILED}
    assert all("?" in pair.hypothesis for pair in made)


def _row(number: int, *, wrong: bool) -> ReadRow:
    generator = np.random.default_rng(number)
    noise = generator.normal(size=2)
    claim = {"entailment": -2.0 * wrong + noise[0], "missing_words": float(np.clip(0.4 * wrong + noise[1] * 0.1, 0, 1))}
    return ReadRow("set", str(number), f"{number % 20:x}", wrong, [claim], [wrong], 10)


def test_fit_separates_and_keeps_the_signs() -> None:
    rows = [_row(number, wrong=number % 2 == 0) for number in range(200)]
    fitted = fit(rows, ("entailment", "missing_words"))
    assert fitted.claim[0] < 0 < fitted.claim[1]
    scores = np.asarray([fitted.response_logit(row) for row in rows])
    assert auroc(np.asarray([row.is_hallucinated for row in rows], float), scores) > 0.9
    assert fitted.response_logit(ReadRow("set", "x", "0", False, [])) < -10


def test_intervals_hold_the_value() -> None:
    labels = [number % 2 for number in range(100)]
    scores = [label + (number % 7) / 5 for number, label in enumerate(labels)]
    found = with_interval(auroc, labels, scores, [str(number // 4) for number in range(100)])
    assert found["low"] <= found["value"] <= found["high"]
    assert found["n"] == 100


def test_card_tables_are_written_between_markers(tmp_path: Path) -> None:
    card = tmp_path / "card.md"
    card.write_text("a\n<!-- table: nli -->\nold\n<!-- end -->\nb\n<!-- table: speed -->\n<!-- end -->\n")
    measure = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 7}
    write_card(card, {"nli": {"x": {"accuracy": measure, "entailed_or_not": measure}}})
    text = card.read_text()
    assert "| `x` | 50.0 (40.0–60.0) | 50.0 (40.0–60.0) | 7 |" in text
    assert "old" not in text
    assert text.endswith("<!-- table: speed -->\n<!-- end -->\n")


def test_a_word_of_a_kind_becomes_another_of_that_kind() -> None:
    rng = random.Random(1)
    for sentence, kind in (
        ("A red car stops.", {"colour", "vehicle"}),
        ("She was born in France.", {"country"}),
        ("An Italian chef cooks.", {"nationality", "work"}),
    ):
        for _ in range(20):
            changed = kinds.other_of_kind(sentence, rng)
            assert changed is not None
            assert changed[0] != sentence
            assert changed[1] in kind


def test_the_article_fits_the_new_word() -> None:
    rng = random.Random(2)
    texts = {kinds.other_of_kind("He ate an apple.", rng)[0] for _ in range(60)}  # type: ignore[index]
    assert "He ate a banana." in texts
    assert "He ate an orange." in texts
    assert not any("an banana" in text or "a orange" in text for text in texts)


def test_a_person_never_becomes_one_of_the_same_sex() -> None:
    rng = random.Random(3)
    texts = {kinds.other_of_kind("A man waits.", rng)[0] for _ in range(40)}  # type: ignore[index]
    assert texts == {"A woman waits.", "A girl waits."}


def test_words_that_mean_the_same() -> None:
    assert kinds.same_meaning("The film begins.", random.Random(4)) in ("The movie begins.", "The film starts.")
    assert kinds.same_meaning("Nothing here fits.", random.Random(4)) is None


def test_yes_and_no_get_opposite_labels() -> None:
    pairs = [
        Pair(PASSAGE, "Marie Curie was born in Warsaw.", LABEL_IDS["entailment"], "x"),
        Pair(PASSAGE, "Marie Curie was born in Berlin.", LABEL_IDS["contradiction"], "x"),
    ]
    made = conversation.yes_no(pairs, random.Random(5), 4)
    labels = {
        (pair.hypothesis.split("?")[0], pair.hypothesis.split("? ")[1].strip(".").lower()): pair.label for pair in made
    }
    assert labels == {
        ("Was Marie Curie born in Warsaw", "yes"): LABEL_IDS["entailment"],
        ("Was Marie Curie born in Warsaw", "no"): LABEL_IDS["contradiction"],
        ("Was Marie Curie born in Berlin", "yes"): LABEL_IDS["contradiction"],
        ("Was Marie Curie born in Berlin", "no"): LABEL_IDS["entailment"],
    }


def test_a_transcript_names_the_speaker_of_the_line() -> None:
    sentences = [f"Number {place} is a sentence of its own kind." for place in range(40)]
    made = conversation.transcripts(sentences, random.Random(6), 60)
    for pair in made:
        line = next(text for text in sentences if text[1:] in pair.hypothesis)
        said = line in pair.premise
        if pair.source == "made/said":
            assert said
            assert pair.premise[: pair.premise.index(line)].rstrip(": ").endswith(_reporter(pair.hypothesis))
        if pair.source == "made/said_by_other":
            assert said
            assert not pair.premise[: pair.premise.index(line)].rstrip(": ").endswith(_reporter(pair.hypothesis))


@pytest.mark.parametrize(
    ("passive", "said", "reverse"),
    [
        ("The film was shot by Ann Holm in May.", "Ann Holm shot the film in May.", "The film shot Ann Holm in May."),
        ("It is owned by Nordvik.", "Nordvik owns it.", "It owns Nordvik."),
        ("Tide was written by Jo Lund.", "Jo Lund wrote Tide.", "Tide wrote Jo Lund."),
        ("He was not beaten by Ann Holm.", None, None),
        ("The tower was standing by Oslo.", None, None),
    ],
)  # fmt: skip
def test_a_passive_is_said_in_the_active_voice(passive: str, said: str | None, reverse: str | None) -> None:
    assert (voice.active(passive), voice.turned_round(passive)) == (said, reverse)


def test_voice_keeps_the_label_and_denies_the_reverse() -> None:
    examples = [Pair("Jo Lund's Tide.", f"Tide {n} was written by Jo Lund.", n % 3, "fever_nli") for n in range(60)]
    made = voice.pairs(examples, random.Random(3), 1_000)
    kept = [pair for pair in made if pair.premise == "Jo Lund's Tide."]
    assert [pair.label for pair in kept] == [int(pair.hypothesis.split()[-1].rstrip(".")) % 3 for pair in kept]
    wrong = [pair for pair in made if pair.source == "made/voice_reversed"]
    assert wrong
    assert {pair.label for pair in wrong} == {LABEL_IDS["contradiction"]}
    assert all(pair.hypothesis.endswith("wrote Jo Lund.") for pair in wrong)


def test_scores_of_two_processors_are_compared_pair_by_pair(tmp_path: Path) -> None:
    here = {"name": "here", "onnxruntime": "1.31", "model": "m", "labels": [0, 1], "scores": [[0.9, 0.1, 0.0]] * 2}
    there = {**here, "name": "there", "onnxruntime": "1.23", "labels": [0], "scores": [[0.4, 0.5, 0.1]]}
    found = processors.compared(here, there)
    assert found["n"] == 1  # what only one of them scored is not compared
    assert (found["same_label"], found["accuracy_here"], found["accuracy"]) == (0.0, 1.0, 0.0)
    assert found["largest_shift"] == pytest.approx(0.5)
    card = tmp_path / "card.md"
    card.write_text("<!-- table: processors -->\n<!-- end -->")
    write_card(card, {"processors": {"there": found}})
    assert "| there | 1.23 | 1 | 0.0% | 0.0% (100.0%) | 0.5000, 0.500 |" in card.read_text()
    with pytest.raises(ValueError, match="different models"):
        processors.compared(here, {**there, "model": "n"})


def test_every_kind_of_node_has_a_share_of_the_time() -> None:
    shares = speed.shares_of_time(40, calls=1)
    assert sum(shares.values()) == pytest.approx(1.0, abs=0.01)
    # A node of the graph that goes by another name would stand among the rest.
    assert all(shares[kind] > 0 for kind in speed.KINDS.values())


def test_what_windows_say_together_has_a_feature_for_every_name() -> None:
    scores = [NliScores(entailment=e, neutral=1 - e, contradiction=0.0) for e in (0.2, 0.9, 0.4)]
    found = ablation._of_windows(scores, None, {"entailment": 2.0, "missing_words": 0.5})
    assert {*found} == {name for names in ablation.FURTHER.values() for name in names}
    assert found["entailment_second"] == pytest.approx(float(np.log(0.4 / 0.6)))
    assert found["entailment_mean"] == pytest.approx(0.0)
    assert found["entailment_near"] == 0.5
    none = ablation._of_windows([], None, {"entailment": -6.0, "missing_words": 1.0})
    assert none["entailment_second"] == none["entailment_alone"] < -5


def _reporter(hypothesis: str) -> str:
    """Who, by the report, said it."""
    words = hypothesis.replace("According to ", "").replace(",", "").split()
    return words[0]


@pytest.mark.parametrize("step", ["prepare", "train", "blend", "export", "verdict", "evaluate", "data_ablation"])
def test_every_step_shows_its_arguments(
    step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [step, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"training.{step}").main()
    assert ended.value.code == 0
    assert "--work-dir" in capsys.readouterr().out
