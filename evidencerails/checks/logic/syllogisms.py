"""Conclusions whose form alone shows that they do not follow: categorical syllogisms, exactly.

In: the steps of a response. Out: which conclusions are `contradicted` (they cannot be true together with the sentences
right before them) or `invalid` (they can be false though those are true and all their terms are theirs).

"All X are Y" and "S is Y" are read only where they can be read in one way: a hedge, a comma inside, a relative clause
or a pronoun as the subject makes a sentence no form, and what has no form is left to the audit by a model. They are
decided over the regions of a Venn diagram. Of 20,750 texts of public data sets 258 draw a conclusion, and none in this
form nor in one of if and then: the forms of textbooks are here for those who ask for them, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal, NamedTuple

from evidencerails.nli.windows import stems_of

MAX_PREMISES = 5
"""Sentences before a conclusion that are taken as its premises, the nearest."""
MAX_TERMS = 6
"""Terms that are compared; the work doubles with each."""
MAX_TERM_WORDS = 6
"""Words of the longest subject or predicate; longer ones are seldom the same twice."""

Fault = Literal["contradicted", "invalid"]
Quantity = Literal["all", "no", "some", "some_not"]
Term = tuple[str, ...]


class Categorical(NamedTuple):
    """A quantified sentence; one about a single thing says it of all things of that name."""

    quantity: Quantity
    subject: Term
    predicate: Term

    def excludes(self, region: frozenset[Term]) -> bool:
        """True if nothing may be in a region of the Venn diagram."""
        has_predicate = self.predicate in region
        is_excluded = {"all": not has_predicate, "no": has_predicate}.get(self.quantity, False)
        return self.subject in region and is_excluded

    def needs(self, region: frozenset[Term]) -> bool:
        """True for the regions of which one must not be empty; who says "all X" means that there are some."""
        has_predicate = self.predicate in region
        return self.subject in region and {"some": has_predicate, "some_not": not has_predicate}.get(
            self.quantity, True
        )

    def denied(self, *, is_single: bool) -> Categorical:
        """The opposite; of a single thing the opposite is true of all of it."""
        opposites: dict[Quantity, Quantity] = {"all": "some_not", "some_not": "all", "no": "some", "some": "no"}
        if is_single:
            opposites |= {"all": "no", "no": "all"}
        return self._replace(quantity=opposites[self.quantity])


def form_faults(steps: Sequence[str], conclusions: Sequence[int]) -> dict[int, Fault]:
    """Places of the conclusions that their form shows to be wrong, and how.

    Args:
        steps: sentences of a chain of reasoning, in order.
        conclusions: places of those that are drawn from the ones before.
    """
    if _ABOUT_ERRORS.search(" ".join(steps)):
        return {}  # a lesson on reasoning: its examples are not its own conclusions
    found: dict[int, Fault] = {}
    for place in conclusions:
        premises = steps[max(0, place - MAX_PREMISES) : place]
        fault = _categorical_fault(premises, steps[place])
        if fault:
            found[place] = fault
    return found


# ---- deciding


def _categorical_fault(premises: Sequence[str], conclusion: str) -> Fault | None:
    concluded = _categorical(conclusion)
    read: list[Categorical] = []
    for premise in reversed(premises):
        form = _categorical(premise)
        if form is None:
            break
        read.insert(0, form)
    if concluded is None or len(read) < 2:
        return None
    read = [_without_prefix(form, read) for form in read]
    concluded = _without_prefix(concluded, read)
    terms = {term for form in read for term in form[1:]}
    if len(terms) > MAX_TERMS + 1 or not {*concluded[1:]} <= terms or not _is_possible(read):
        return None  # also if the premises contradict each other: anything follows
    if not _is_possible([*read, concluded]):
        return "contradicted"
    is_single = _QUANTIFIER.match(_bare(conclusion)) is None
    is_open = _is_syllogism(read, concluded) and _is_possible([*read, concluded.denied(is_single=is_single)])
    return "invalid" if is_open else None


def _is_possible(forms: Sequence[Categorical]) -> bool:
    """True if all of them can be true together."""
    terms = sorted({term for form in forms for term in form[1:]})
    rows = product((False, True), repeat=len(terms))
    regions = [frozenset(term for term, is_in in zip(terms, row, strict=True) if is_in) for row in rows]
    left = [region for region in regions if not any(form.excludes(region) for form in forms)]
    return all(any(form.needs(region) for region in left) for form in forms)


def _is_syllogism(read: Sequence[Categorical], concluded: Categorical) -> bool:
    """True for two premises that share one term, and a conclusion about their other two."""
    if len(read) != 2:
        return False
    one, two = ({*form[1:]} for form in read)
    return len(one & two) == 1 and {*concluded[1:]} == one ^ two


_PREFIX = re.compile(r"^(?:non-?|im|in|un|ir|il)(?=\w{3})")


def _without_prefix(form: Categorical, others: Iterable[Categorical]) -> Categorical:
    """ "Socrates is immortal" as "Socrates is not mortal", where the others speak of mortals."""
    known = {other.predicate for other in others if other.predicate != form.predicate}
    turned: dict[Quantity, Quantity] = {"all": "no", "no": "all", "some": "some_not", "some_not": "some"}
    for place, word in enumerate(form.predicate):
        positive = (*form.predicate[:place], _PREFIX.sub("", word), *form.predicate[place + 1 :])
        if positive != form.predicate and positive in known:
            return Categorical(turned[form.quantity], form.subject, positive)
    return form


# ---- reading

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
_ABOUT_ERRORS = re.compile(
    r"\b(?:fallac\w*|invalid\w*|unsound|(?:does|do|did) not follow|doesn't follow|counter-?example|not valid|"
    r"incorrect\w*|false|wrong\w*|mistake\w*|absurd\w*|paradox\w*|nonsense|joke)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W*(?:(?:major |minor |first |second )?premise(?:\s+\w{1,2})?|given|fact|rule|conclusion|step\s+\d+|p\d|c)"
    r"\s*[:.)]\s*",
    re.IGNORECASE,
)
_VERB = (
    r"(?:is|are|was|were|must be|can|cannot|can't|isn't|aren't|wasn't|weren't|have|has|do not|does not|don't|doesn't)"
)
_COPULA = frozenset({"is", "are", "was", "were", "must be", "do", "does"})
_PLURAL = re.compile(r"(?:are|were|have|do)\b|(?:are|were|do)n't", re.IGNORECASE)
_SENTENCE = re.compile(rf"^(?P<subject>.+?)\s+(?P<verb>{_VERB})\s+(?P<not>not\s+)?(?P<rest>.+)$", re.IGNORECASE)
_QUANTIFIER = re.compile(
    r"^(?:(?P<all>all of the|all the|all|every|each|any|an?)|(?P<not_all>not all|not every)|(?P<no>no)"
    r"|(?P<some>some))\s+",
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"[,;:?()\"]|\bif\b", re.IGNORECASE)
_PRONOUNS = frozenset("he she it they we you i this these those that there what".split())  # noqa: SIM905
_ARTICLES = frozenset({"a", "an", "the", "kind", "type", "sort", "of"})


def _bare(sentence: str) -> str:
    return _LABEL.sub("", sentence).strip().rstrip(".!").strip().replace("’", "'")


def _categorical(sentence: str) -> Categorical | None:
    """The quantified form of a sentence; None if it has none, or could be read in several ways."""
    text = _bare(sentence)
    quantifier = _QUANTIFIER.match(text)
    found = _SENTENCE.match(text[quantifier.end() :] if quantifier else text)
    if found is None or _HEDGE.search(text) or _PUNCTUATION.search(text):
        return None
    verb = found["verb"].lower()
    plain = re.sub(r"\s+not$|n't$|not$", "", verb)
    is_negated = bool(found["not"]) or plain != verb
    subject = _term(found["subject"])
    predicate = _term(found["rest"]) if plain in _COPULA else (_word(plain), *_term(found["rest"]))
    if not (0 < len(subject) <= MAX_TERM_WORDS and 0 < len(predicate) <= MAX_TERM_WORDS):
        return None
    if found["subject"].split()[0].lower() in _PRONOUNS:
        return None
    word = str(quantifier.lastgroup) if quantifier else "one"
    is_article = quantifier is not None and quantifier[0].lower().strip() in ("a", "an")
    if word == "one" and _PLURAL.match(verb):
        return None  # "birds are animals" may mean some
    if is_negated and word in ("all", "not_all", "no") and not is_article:
        return None  # "all X are not Y" may mean none or not all
    quantities: dict[str, tuple[Quantity, Quantity]] = {
        **{"one": ("all", "no"), "all": ("all", "no"), "no": ("no", "no")},
        **{"some": ("some", "some_not"), "not_all": ("some_not", "some_not")},
    }
    return Categorical(quantities[word][is_negated], subject, predicate)


def _term(words: str) -> Term:
    return tuple(_word(word) for word in re.findall(r"[\w'-]+", words.lower()) if word not in _ARTICLES)


def _word(word: str) -> str:
    return _IRREGULAR.get(word) or next(iter(stems_of(word)), word)
