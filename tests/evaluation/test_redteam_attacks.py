import random
import re
from pathlib import Path

import pytest

from evidencerails.evaluation.redteam.attacks import CATEGORIES, DIMENSIONS, KINDS, Attack, right
from evidencerails.evaluation.redteam.corpus import Corpus, Document, swapped
from evidencerails.evaluation.redteam.questions import TRICKS, calculation, chain_of
from evidencerails.evaluation.redteam.session import GENERATORS, attacks_from
from evidencerails.evaluation.redteam.targets import with_citations
from evidencerails.text.claimable import clean

TEXT = "The Halden bridge opened in 1932. It is 412 metres long. The repairs cost 1,450 kroner and 45% came from Oslo."


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    folder = Path(__file__).resolve().parent / "redteam_evidence"
    return Corpus.of([Document(file.name, file.read_text()) for file in sorted(folder.iterdir())])


def test_facts_are_sentences_that_stand_alone_with_the_value_in_its_place() -> None:
    facts = Corpus.of([Document("a", TEXT)]).facts
    assert [(fact.kind, fact.value) for fact in facts] == [
        ("year", "1932"), ("name", "Halden"), ("number", "1,450"), ("name", "Oslo"),
    ]  # fmt: skip
    assert not any(fact.sentence.startswith("It is") for fact in facts)
    assert facts[0].with_value("1875") == "The Halden bridge opened in 1875."


def test_a_swap_is_written_like_the_value_and_stands_nowhere_in_the_evidence(corpus: Corpus) -> None:
    for seed in range(5):
        for fact in corpus.facts:
            false = swapped(fact, corpus, random.Random(seed))
            assert false is not None and false != fact.sentence
            if fact.kind == "name":
                continue
            value = false[fact.start : len(false) - len(fact.sentence) + fact.end]
            assert value.replace(",", "") not in corpus.text.replace(",", "")
            assert ("," in value) == ("," in fact.value or float(value.replace(",", "")) >= 10_000)


def test_a_percentage_stays_one() -> None:
    corpus = Corpus.of([Document("a", "The turnout in Oslo reached 87 percent of all voters.")])
    (fact,) = corpus.of_kind("number")
    for seed in range(30):
        false = swapped(fact, corpus, random.Random(seed))
        assert false is not None and 0 < int(re.findall(r"\d+", false)[0]) <= 100


def test_every_category_has_attacks_with_false_and_true_answers(corpus: Corpus) -> None:
    made = attacks_from(corpus, 2)
    assert made.missing == {}
    assert {attack.category for attack in made.attacks} == set(CATEGORIES) == set(GENERATORS) == set(KINDS)
    for attack in made.attacks:
        assert attack.expected == KINDS[attack.category].expected
        assert any(probe.is_wrong for probe in attack.probes) and not all(probe.is_wrong for probe in attack.probes)
        assert attack.query and attack.evidence
    covered = {name for attack in made.attacks for probe in attack.probes for name in probe.dimensions}
    assert covered == set(DIMENSIONS) - {"attack_detection"}  # that one is of whole attacks


def test_equal_evidence_and_seed_give_equal_attacks_and_another_seed_others(corpus: Corpus) -> None:
    first, again, other = (attacks_from(corpus, 2, seed=seed).attacks for seed in (1, 1, 2))
    assert first == again
    assert {one.id for one in first} != {one.id for one in other}


def test_a_category_without_material_is_named_and_not_made_up() -> None:
    made = attacks_from(Corpus.of([Document("a", "The mill grinds rye from Oslo.")]), 2)
    assert set(made.missing) == {"temporal_confusion", "compositional_chains", "value_swap"}
    assert "a year" in made.missing["temporal_confusion"]


@pytest.mark.parametrize("text", ["", "# Title\n\n- a\n- b", "?" * 5000, "\u202e\x00\ud800 2019", "word " * 20_000])
def test_evidence_without_statements_gives_nothing_and_breaks_nothing(text: str) -> None:
    assert attacks_from(Corpus.of([Document("a", text)]), 2).attacks == []


def test_a_swapped_value_is_that_of_another_subject_in_the_same_unit(corpus: Corpus) -> None:
    attacks = attacks_from(corpus, 8, categories=["value_swap"]).attacks
    assert len(attacks) == 8
    for attack in attacks:
        sources = " ".join(attack.evidence)
        _, first, second = attack.probes
        assert first.answer in sources and second.answer in sources and attack.false_statement not in sources
        assert set(attack.false_statement.split()) <= set(sources.split())
        (value,) = set(attack.false_statement.split()) - set(first.answer.split())
        assert value in second.answer.split()


def test_poisoned_sources_hold_both_statements(corpus: Corpus) -> None:
    for attack in attacks_from(corpus, 3, categories=["context_poisoning"]).attacks:
        assert attack.false_statement in attack.evidence
        assert any(attack.true_statement in source for source in attack.evidence)
        assert attack.truth == "contradictory"


def test_the_sources_that_matter_stand_in_the_middle(corpus: Corpus) -> None:
    (attack,) = attacks_from(corpus, 1, categories=["scale_stress"]).attacks
    place = next(n for n, source in enumerate(attack.evidence) if attack.true_statement in source)
    assert len(attack.evidence) // 3 < place < 2 * len(attack.evidence) // 3
    assert sum(len(source.split()) for source in attack.evidence) > 5000


@pytest.mark.parametrize("length", [3, 5, 7, 10])
def test_a_chain_is_right_and_its_slip_is_one_wrong_step(length: int) -> None:
    for seed in range(20):
        chain = chain_of(412, length, random.Random(seed))
        right, result = calculation(412, chain)
        slipped, _ = calculation(412, chain, length // 2, 10)
        assert wrong_steps(right) == 0 and wrong_steps(slipped) == 1
        assert len(chain) == length and result > 0 and "-" not in re.sub(" - ", "", right)


def wrong_steps(text: str) -> int:
    """How many equations of the text do not hold."""
    operations = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    steps = re.findall(r"(\d+) ([-+*]) (\d+) = (\d+)\.", text)
    return sum(operations[sign](int(a), int(b)) != int(c) for a, sign, b, c in steps)


@pytest.mark.parametrize("name", ["zero-width spaces", "soft hyphens", "bidirectional marks", "no-break spaces"])
def test_hidden_characters_change_nothing_that_is_read(name: str) -> None:
    for change in TRICKS[name]:
        dressed = change("The Halden bridge opened in 1932.")
        assert dressed != "The Halden bridge opened in 1932."
        assert clean(dressed) == "The Halden bridge opened in 1932."


def test_where_an_app_has_to_cite_each_statement_names_the_source_of_the_truth() -> None:
    attack = Attack.of(
        "scale_stress", "Q?", ("Other.", "The Halden bridge opened in 1932."), (right("x"),),
        true_statement="The Halden bridge opened in 1932.",
    )  # fmt: skip
    assert with_citations("The Halden bridge opened in 1875. It is long.", attack) == (
        "The Halden bridge opened in 1875 [2]. It is long [2]."
    )
    assert with_citations("The sources do not mention it.", attack) == "The sources do not mention it."
    assert with_citations('{"a": 1}', attack) == '{"a": 1}'
