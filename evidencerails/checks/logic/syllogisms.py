"""Conclusions whose form alone shows that they do not follow: categorical syllogisms and if-then arguments, exactly.

A conclusion is held against the sentences right before it that have a form. It is `contradicted` if it cannot be true
together with them, `invalid` if it can be false though they are true and all its terms are theirs. What has no form is
left to the audit by a model.

Categories are decided over the regions of a Venn diagram: "all" and "no" empty some of them, "some" and a single thing
need one that is left (monadic logic, decidable). If-then arguments are decided by their truth table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal, NamedTuple

from evidencerails.checks.logic.chains import Step
from evidencerails.checks.logic.forms import (
    Categorical,
    Clause,
    Conditional,
    Term,
    categorical,
    conditional,
    is_example_of_error,
    literal,
    opposite,
)

MAX_PREMISES = 5
"""Sentences before a conclusion that are taken as its premises, the nearest."""
MAX_TERMS = 6
"""Terms, or clauses, that are held against each other; the work doubles with each."""

Fault = Literal["contradicted", "invalid"]


class Demand(NamedTuple):
    """Something that has all of some properties and none of others must exist."""

    has: frozenset[Term]
    lacks: frozenset[Term]


class Claims(NamedTuple):
    """What sentences say of categories: regions that are empty, and things that exist."""

    empty: tuple[Demand, ...]
    exist: tuple[Demand, ...]


def form_faults(steps: Sequence[Step]) -> dict[int, Fault]:
    """Places of conclusions that their form shows to be wrong, and how."""
    text = " ".join(step.text for step in steps)
    if is_example_of_error(text):
        return {}
    found: dict[int, Fault] = {}
    for place, step in enumerate(steps):
        if step.is_conclusion:
            premises = [earlier.text for earlier in steps[max(0, place - MAX_PREMISES) : place]]
            fault = _categorical_fault(premises, step.text) or _conditional_fault(premises, step.text)
            if fault:
                found[place] = fault
    return found


# ---- categories


def _categorical_fault(premises: Sequence[str], conclusion: str) -> Fault | None:
    concluded_form = categorical(conclusion)
    read = _nearest([categorical(premise) for premise in premises])
    if concluded_form is None or len(read) < 2:
        return None
    read = [_with_known_opposite(one, read) for one in read]
    concluded_form = _with_known_opposite(concluded_form, read)
    terms = _terms(read)
    if len(terms) > MAX_TERMS or not _terms([concluded_form]) <= terms or not _is_about(concluded_form, read):
        return None
    known = _claims(read)
    if not _possible(known, terms):
        return None  # they contradict each other already: anything follows
    if not _possible(_both(known, _claims([concluded_form])), terms):
        return "contradicted"
    is_open = _is_syllogism(read, concluded_form) and _possible(_both(known, _claims([_denied(concluded_form)])), terms)
    return "invalid" if is_open else None


def _is_syllogism(read: Sequence[Categorical], concluded_form: Categorical) -> bool:
    """True for two premises that share one term, and a conclusion about their other two."""
    if len(read) != 2:
        return False
    one, two = ({form.subject, form.predicate} for form in read)
    return len(one & two) == 1 and {concluded_form.subject, concluded_form.predicate} == one ^ two


def _nearest(read: Sequence[Categorical | None]) -> list[Categorical]:
    """The forms right before the conclusion, without a gap."""
    kept: list[Categorical] = []
    for one in reversed(read):
        if one is None:
            break
        kept.insert(0, one)
    return kept


def _with_known_opposite(one: Categorical, others: Iterable[Categorical]) -> Categorical:
    """ "Socrates is immortal" as "Socrates is not mortal", where the others speak of mortals."""
    known = frozenset(other.predicate for other in others if other.predicate != one.predicate)
    positive = opposite(one.predicate, known)
    if positive is None:
        return one
    turned: dict[str, Categorical] = {
        "all": one._replace(quantity="no", predicate=positive),
        "no": one._replace(quantity="all", predicate=positive),
        "some": one._replace(quantity="some_not", predicate=positive),
        "some_not": one._replace(quantity="some", predicate=positive),
        "one": one._replace(predicate=positive, is_negated=not one.is_negated),
    }
    return turned[one.quantity]


def _terms(read: Iterable[Categorical]) -> frozenset[Term]:
    return frozenset(
        term for one in read for term in ((one.predicate,) if one.quantity == "one" else (one.subject, one.predicate))
    )


def _is_about(concluded_form: Categorical, read: Sequence[Categorical]) -> bool:
    """True for a class, or for a thing that the premises name."""
    return concluded_form.quantity != "one" or any(
        one.quantity == "one" and one.subject == concluded_form.subject for one in read
    )


def _claims(read: Iterable[Categorical]) -> Claims:
    empty: list[Demand] = []
    exist: list[Demand] = []
    single: dict[Term, tuple[set[Term], set[Term]]] = {}
    for one in read:
        subject, predicate = frozenset({one.subject}), frozenset({one.predicate})
        if one.quantity == "one":
            single.setdefault(one.subject, (set(), set()))[one.is_negated].add(one.predicate)
        elif one.quantity == "all":
            empty.append(Demand(subject, predicate))
            exist.append(Demand(subject, frozenset()))  # whoever says "all X" means that there are some
        elif one.quantity == "no":
            empty.append(Demand(subject | predicate, frozenset()))
            exist.append(Demand(subject, frozenset()))
        elif one.quantity == "some":
            exist.append(Demand(subject | predicate, frozenset()))
        else:
            exist.append(Demand(subject, predicate))
    for name, (has, lacks) in single.items():
        exist.append(Demand(frozenset({("=", *name), *has}), frozenset(lacks)))
    return Claims(tuple(empty), tuple(exist))


def _both(one: Claims, two: Claims) -> Claims:
    """What both say together; what they say of one thing is said of the same one."""
    merged: dict[Term, Demand] = {}
    rest: list[Demand] = []
    for demand in (*one.exist, *two.exist):
        name = next((term for term in demand.has if term[0] == "="), None)
        if name is None:
            rest.append(demand)
        else:
            old = merged.get(name, Demand(frozenset(), frozenset()))
            merged[name] = Demand(old.has | demand.has, old.lacks | demand.lacks)
    return Claims((*one.empty, *two.empty), (*rest, *merged.values()))


def _possible(claims: Claims, terms: frozenset[Term]) -> bool:
    """True if a world is possible in which all of it holds."""
    order = sorted(terms)
    rows = product((0, 1), repeat=len(order))
    regions = [frozenset(term for term, is_in in zip(order, row, strict=True) if is_in) for row in rows]
    left = [region for region in regions if not any(_fits(region, demand) for demand in claims.empty)]
    return all(any(_fits(region, demand) for region in left) for demand in claims.exist)


def _fits(region: frozenset[Term], demand: Demand) -> bool:
    has = {term for term in demand.has if term[0] != "="}
    return has <= region and not region & demand.lacks


_OPPOSITES = {"all": "some_not", "some_not": "all", "no": "some", "some": "no"}


def _denied(concluded_form: Categorical) -> Categorical:
    if concluded_form.quantity == "one":
        return concluded_form._replace(is_negated=not concluded_form.is_negated)
    return concluded_form._replace(quantity=_OPPOSITES[concluded_form.quantity])  # type: ignore[arg-type]


# ---- if, then


def _conditional_fault(premises: Sequence[str], conclusion: str) -> Fault | None:
    concluded_form: Conditional | Clause | None = conditional(conclusion) or literal(conclusion)
    read: list[Conditional | Clause] = []
    for premise in reversed(premises):
        one: Conditional | Clause | None = conditional(premise) or literal(premise)
        if one is None:
            break
        read.insert(0, one)
        if len(read) == 2 and any(isinstance(one, Conditional) for one in read):
            break
    if concluded_form is None or len(read) != 2 or not any(isinstance(one, Conditional) for one in read):
        return None
    clauses = _clauses(read)
    if len(clauses) > 3 or not _clauses([concluded_form]) <= clauses:
        return None
    worlds = [dict(zip(sorted(clauses), row, strict=True)) for row in product((True, False), repeat=len(clauses))]
    left = [world for world in worlds if all(_holds(one, world) for one in read)]
    if not left or not any(_is_shared(one, read, concluded_form) for one in read):
        return None
    if not any(_holds(concluded_form, world) for world in left):
        return "contradicted"
    return None if all(_holds(concluded_form, world) for world in left) else "invalid"


def _clauses(read: Iterable[Conditional | Clause]) -> frozenset[Term]:
    return frozenset(part.words for one in read for part in (one if isinstance(one, Conditional) else (one,)))


def _is_shared(
    one: Conditional | Clause, read: Sequence[Conditional | Clause], concluded_form: Conditional | Clause
) -> bool:
    """True for a condition one of whose clauses another premise takes up, and the other the conclusion."""
    if not isinstance(one, Conditional):
        return False
    others = _clauses([other for other in read if other is not one])
    concluded = _clauses([concluded_form])
    given, then = one.given.words, one.then.words
    return (given in others and then in concluded) or (then in others and given in concluded)


def _holds(one: Conditional | Clause, world: dict[Term, bool]) -> bool:
    if isinstance(one, Conditional):
        return not _holds(one.given, world) or _holds(one.then, world)
    return world[one.words] != one.is_negated
