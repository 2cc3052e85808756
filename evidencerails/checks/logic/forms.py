# ruff: noqa: E501 - a pattern reads best in one line
"""Sentences of logic: "All X are Y", "S is Y", "If P, then Q", read from words, or not read at all.

Only what can be read in one way is read. A hedge, a comma inside, a relative clause or a pronoun as the subject makes a
sentence no form: then nothing is said about it here.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from evidencerails.measures.lexical import stem_of

Quantity = Literal["all", "no", "some", "some_not", "one"]
Term = tuple[str, ...]
MAX_TERM_WORDS = 6
"""Words of the longest subject or predicate; longer ones are seldom the same twice."""

_IRREGULAR = {
    **{"men": "man", "women": "woman", "people": "person", "children": "child", "mice": "mouse", "geese": "goose"},
    **{"fish": "fish", "wolves": "wolf", "knives": "knife", "leaves": "leaf", "feet": "foot", "teeth": "tooth"},
    **{"has": "have", "had": "have", "does": "do", "species": "species", "sheep": "sheep"},
}
_HEDGE = re.compile(
    r"\b(?:probabl[ey]|likely|unlikely|may|might|could|would|should|perhaps|possibl[ey]|most|many|few|usually|often|"
    r"generally|typically|sometimes|normally|almost|nearly|unless|except|but|however|although|though|while|because|"
    r"since|whether|or|only|both|either|neither|than|who|whom|whose|which|when|where|appears?|seems?|suggests?|"
    r"assum\w+|suppos\w+|same|also|too|just|simply|still)\b",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\b(?:fallac\w*|invalid\w*|unsound|(?:does|do|did) not follow|doesn't follow|counter-?example|not valid|incorrect\w*|"
    r"false|wrong\w*|mistake\w*|absurd\w*|paradox\w*|nonsense|joke)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W*(?:(?:major |minor |first |second )?premise(?:\s+\w{1,2})?|given|fact|rule|conclusion|step\s+\d+|p\d|c)\s*[:.)]\s*",
    re.IGNORECASE,
)
_VERB = (
    r"(?:is|are|was|were|must be|can|cannot|can't|isn't|aren't|wasn't|weren't|have|has|do not|does not|don't|doesn't)"
)
_COPULA = frozenset({"is", "are", "was", "were", "must be", "isn't", "aren't", "wasn't", "weren't"})
_SENTENCE = re.compile(rf"^(?P<subject>.+?)\s+(?P<verb>{_VERB})\s+(?P<not>not\s+)?(?P<rest>.+)$", re.IGNORECASE)
_QUANTIFIER = re.compile(
    r"^(?P<word>not all|not every|all of the|all the|all|every|each|any|no|some)\s+", re.IGNORECASE
)
_IF = re.compile(r"^if\s+(?P<if>[^,]+?)(?:,\s*(?:then\s+)?|\s+then\s+)(?P<then>[^,]+)$", re.IGNORECASE)
_PRONOUNS = frozenset("he she it they we you i this these those that there what".split())  # noqa: SIM905
_ARTICLES = frozenset({"a", "an", "the", "kind", "type", "sort", "of"})
_NEGATED = re.compile(r"^(?:non-?|im|in|un|ir|il)(?=\w{3})")


class Categorical(NamedTuple):
    """A quantified sentence, or one about a single thing."""

    quantity: Quantity
    subject: Term
    predicate: Term
    is_negated: bool = False
    """Of a sentence about one thing: "Socrates is not mortal"."""


class Clause(NamedTuple):
    """A clause and whether it is denied."""

    words: Term
    is_negated: bool


class Conditional(NamedTuple):
    """If one clause holds, another does."""

    given: Clause
    then: Clause


def is_example_of_error(text: str) -> bool:
    """True if the text speaks of errors of reasoning, as a lesson does; its examples are not its own."""
    return _NOT_MEANT.search(text) is not None


def _bare(sentence: str) -> str:
    return _LABEL.sub("", sentence).strip().rstrip(".!").strip().replace("’", "'")


def categorical(sentence: str) -> Categorical | None:
    """The quantified form of a sentence; None if it has none, or could be read in several ways."""
    text = _bare(sentence)
    if _HEDGE.search(text) or re.search(r"[,;:?()\"]|\bif\b", text, re.IGNORECASE):
        return None
    quantifier = _QUANTIFIER.match(text)
    word = quantifier["word"].lower() if quantifier else ""
    found = _SENTENCE.match(text[quantifier.end() :] if quantifier else text)
    if found is None:
        return None
    is_negated, predicate = _predicate(found)
    subject = _term(found["subject"])
    if not _is_usable(subject, found["subject"]) or not predicate or len(predicate) > MAX_TERM_WORDS:
        return None
    if not word:
        return _unquantified(found, subject, predicate, is_negated=is_negated)
    if is_negated and word != "some":
        return None  # "all X are not Y" may mean none or not all
    names: dict[str, Quantity] = {"no": "no", "some": "some_not" if is_negated else "some"}
    quantity: Quantity = "some_not" if word.startswith("not ") else names.get(word, "all")
    return Categorical(quantity, subject, predicate)


def _unquantified(found: re.Match[str], subject: Term, predicate: Term, *, is_negated: bool) -> Categorical | None:
    first = found["subject"].split()[0].lower()
    if first in ("a", "an"):
        return Categorical("no" if is_negated else "all", subject, predicate)
    is_plural = found["verb"].lower() in ("are", "were", "aren't", "weren't", "have", "do not", "don't")
    return None if is_plural else Categorical("one", subject, predicate, is_negated)


def _predicate(found: re.Match[str]) -> tuple[bool, Term]:
    verb = found["verb"].lower()
    is_negated = bool(found["not"]) or verb.endswith(("n't", " not")) or verb == "cannot"
    plain = re.sub(r"\s+not$|n't$|not$", "", verb)
    if verb in _COPULA or plain in ("do", "does"):
        return is_negated, _term(found["rest"])
    return is_negated, (_word(plain), *_term(found["rest"]))


def _is_usable(subject: Term, words: str) -> bool:
    return 0 < len(subject) <= MAX_TERM_WORDS and words.split()[0].lower() not in _PRONOUNS


def conditional(sentence: str) -> Conditional | None:
    """The if-then form of a sentence."""
    found = _IF.match(_bare(sentence))
    if found is None or _HEDGE.search(found[0]):
        return None
    given, then = literal(found["if"]), literal(found["then"])
    return Conditional(given, then) if given and then else None


def literal(sentence: str) -> Clause | None:
    """A plain clause, its negation taken off."""
    text = _bare(sentence)
    if not text or _HEDGE.search(text) or re.search(r"[,;:?()\"]|\b(?:if|and)\b", text, re.IGNORECASE):
        return None
    words = re.findall(r"[\w'-]+", text.lower())
    plain = [word for word in (_positive(word) for word in words) if word]
    negations = sum(word == "not" or word.endswith("n't") or word == "cannot" for word in words)
    clause = tuple(_word(word) for word in plain if word not in ("the", "a", "an", "do", "does", "will", "must"))
    return Clause(clause, negations == 1) if clause and negations < 2 else None


def _positive(word: str) -> str:
    if word == "not":
        return ""
    return {"cannot": "can", "can't": "can", "won't": "will"}.get(word, re.sub(r"n't$", "", word))


def opposite(predicate: Term, known: frozenset[Term]) -> Term | None:
    """The known term that this one denies by its prefix: "immortal" where "mortal" is known."""
    for place, word in enumerate(predicate):
        plain = _NEGATED.sub("", word)
        positive = (*predicate[:place], plain, *predicate[place + 1 :])
        if plain != word and positive in known:
            return positive
    return None


def _term(words: str) -> Term:
    return tuple(_word(word) for word in re.findall(r"[\w'-]+", words.lower()) if word not in _ARTICLES)


def _word(word: str) -> str:
    return _IRREGULAR.get(word) or stem_of(word) or word
