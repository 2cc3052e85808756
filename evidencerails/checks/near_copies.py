"""Do the words of a claim show what a sentence could contradict in it?

A small model calls a sentence that is copied but for a few words left out, or put in from elsewhere in the evidence, a
contradiction, and is very sure of it. Where no word shows a cause most such calls are wrong; of those with a cause, as
another value or a negation, most are right. So a sentence contradicts a claim that keeps close to it only for a cause
that can be shown. What is not contradicted may still be unsupported: that is for the verdict to say. The model card
measures the reading with and without this rule ("Rules of the reading").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import LCSseq

from evidencerails.checks.other_values import number_kinds
from evidencerails.scoring.words import Words, stem_of

NEAR_SHARE = 0.7
"""Share of its content words from which a claim keeps close to a sentence. Below, it is worded anew, and the model's
judgement is all there is."""
_CONDITIONS = frozenset(
    """not no never none nobody nothing neither nor cannot without n't if unless except until instead almost nearly
    barely hardly rarely seldom only few little less least former formerly false falsely wrong wrongly alleged
    allegedly reportedly supposed supposedly rumoured may might could would should possibly perhaps probably likely
    unlikely fail failed fails refuse refused refuses deny denied denies avoid avoided reject rejected rejects stop
    stopped before after against all every always some more most""".split()  # noqa: SIM905 - words read better than a list of strings
)
"""Words that turn round or limit what the rest says."""


def shows_cause(claim: Words, told: Words, *, missing_words: float = 0.0, missing_numbers: float = 0.0) -> bool:
    """True if the claim is worded anew, or differs from the sentence in more than words left out or put in.

    A cause is a word that no evidence has, another value, another name in the same place, a negation or condition that
    only one of the two has, or another order of the same words. A number that is only put in is none: the sentence says
    nothing about it. But where the sentence has one too that the claim lacks, it may stand in its place, whatever their
    units seem to be.

    Args:
        missing_words: share of the claim's content words that no evidence has, in [0, 1].
        missing_numbers: the same for its numbers.
    """
    content = {*claim.content}
    if not content or len(content & {*told.content}) / len(content) < NEAR_SHARE:
        return True
    return (
        missing_words > 0
        or (missing_numbers > 0 and bool(number_kinds(claim, told)) and bool(number_kinds(told, claim)))
        or has_other_condition(claim, told)
        or shows_swap(claim, told)
        or not _keeps_order(claim, told)
    )


def has_other_condition(claim: Words, told: Words) -> bool:
    """True if only one of the two has some negation or limiting word, in the part of the sentence that matches."""
    return _conditions(claim.running) != _conditions(_counterpart(claim, told))


def shows_swap(claim: Words, told: Words) -> bool:
    """True if each of the two has a number of one kind, a date or a name that the other lacks."""
    return _has_other_value(claim, told) or _has_other_name(claim, told)


def _counterpart(claim: Words, told: Words) -> tuple[str, ...]:
    """The words of the sentence from the first to the last that the claim has too; a long one says more besides."""
    own = {*_telling(claim.running)}
    places = [place for place, word in enumerate(told.running) if (stem_of(word) or word) in own]
    return told.running[places[0] : places[-1] + 1] if places else ()


def _conditions(running: Iterable[str]) -> frozenset[str]:
    return frozenset("not" if word.endswith("n't") or word == "cannot" else word for word in running) & _CONDITIONS


def _has_other_value(claim: Words, told: Words) -> bool:
    """True if each of the two has a number of one kind, or a date, that the other lacks."""
    has_number = bool(number_kinds(claim, told) & number_kinds(told, claim))
    return has_number or bool({*claim.dates} - {*told.dates} and {*told.dates} - {*claim.dates})


def _has_other_name(claim: Words, told: Words) -> bool:
    """True if each of the two has a name, inside the sentence, that the other lacks."""
    own, other = _stems(claim.names), _stems(told.names)
    return bool(own - other - {*told.content}) and bool(other - own - {*claim.content})


def _stems(names: Iterable[str]) -> set[str]:
    return {stem_of(name) or name for name in names}


def _keeps_order(claim: Words, told: Words) -> bool:
    """True if the content words and numbers that both have stand in the same order."""
    own, other = _telling(claim.running), _telling(told.running)
    return LCSseq.similarity(own, other) >= len({*own} & {*other})


def _telling(running: Sequence[str]) -> list[str]:
    return [stem or word for word in running if (stem := stem_of(word)) or word.isdigit()]
