"""Made documents: a few facts about prices, rules, times, people or figures, and what is right and wrong about them.

A small model reads a passage as a bag of words: "profit fell" supports "revenue fell" if the passage says that
something did. Here every passage tells several things of one kind, each in one of several wordings, and a wrong
statement takes the words of another fact of the same passage as often as words from elsewhere.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from training.common import LABEL_IDS, NOT_ENTAILED, Pair
from training.document_facts import KINDS, NUMBERS, SETTINGS, WORDS, Kind

ENTAILED, NEUTRAL, CONTRADICTED = (LABEL_IDS[name] for name in ("entailment", "neutral", "contradiction"))
Slots = dict[str, str]
SOURCE = "made/documents"
NAMED = tuple(name for kind in ("person", "firm", "drug", "team", "place", "month") for name in WORDS[kind])
LINKS = (", while ", ", and ", "; ", ", but ", ", whereas ")


@dataclass(frozen=True)
class Fact:
    kind: Kind
    slots: Slots

    def agrees_with(self, other: Fact) -> bool:
        """True if the other fact is of this kind and about the same thing, so that it may say the same."""
        return other.kind is self.kind and other.slots["x"] == self.slots["x"]

    def worded(self, template: str, rng: random.Random) -> str:
        """The template with this fact's values."""
        template = re.sub(r"(\w+(?:\|\w+)+)", lambda match: _choice(match[1], self.slots, rng), template)

        def value(match: re.Match[str]) -> str:
            name, _, kind = match[1].partition(":")
            text = drawn(kind, rng) if kind else self.slots[name.lower()]
            return _capital(text) if name[0].isupper() else text

        return _capital(re.sub(r"\{([^}]+)\}", value, template))


def _choice(words: str, slots: Slots, rng: random.Random) -> str:
    options = words.split("|")
    if options[-2:] == ["is", "are"] or options == ["was", "were"]:
        about = slots.get("x", "") if options == ["was", "were"] else slots.get("y", slots.get("x", ""))
        return options[about.split()[-1].endswith("s") and not about.endswith(("ss", "debt"))]
    return rng.choice(options)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def drawn(values: str, rng: random.Random) -> str:
    """A value of that name."""
    return NUMBERS[values](rng) if values in NUMBERS else rng.choice(WORDS[values])


def _facts(rng: random.Random) -> list[Fact]:
    """Facts of one document; no two of them could both be about the same thing and differ."""
    setting = rng.choice(SETTINGS)
    facts: list[Fact] = []
    taken: set[tuple[str, str]] = set()
    fixed = {values: drawn(values, rng) for values in ("drug", "vehicle") if rng.random() < 0.7}
    for _ in range(rng.choice((2, 3, 3, 4, 4, 5, 6))):
        name = rng.choice(setting)
        kind = KINDS[name]
        slots: Slots = {}
        for slot, values in kind.slots.items():
            value = fixed.get(values) or drawn(values, rng)
            for _ in range(5):
                if value not in slots.values():
                    break
                value = drawn(values, rng)
            slots[slot] = value
        if kind.slots.get("v") in ("time", "mg"):
            slots["v"], slots["w"] = sorted((slots["v"], slots["w"]), key=_first_number)
        subject = slots["x"]
        key = (
            (name, subject)
            if name not in ("effect", "may", "may not", "includes", "excludes")
            else (subject, slots["y"])
        )
        opposite = (_family(name), subject)
        if key in taken or opposite in taken or len(set(slots.values())) < len(slots):
            continue
        taken |= {key, opposite} if _family(name) else {key}
        facts.append(Fact(kind, slots))
    return facts


def _first_number(value: str) -> float:
    """For comparison: of "7:15" and "14:05", and of two amounts in one unit."""
    found = re.search(r"\d+(?::\d+)?", value)
    return float(found[0].replace(":", ".")) if found else 0.0


def _family(name: str) -> str:
    """Kinds that cannot both be told of one thing."""
    families = (("rose", "fell", "from to"), ("carried", "banned"), ("returned", "final"), ("vote", "rejected"))
    return next((family[0] + "*" for family in families if name in family), "")


def _passage(worded: Sequence[str], rng: random.Random) -> str:
    """The sentences one after the other, some joined to one."""
    parts: list[str] = []
    for sentence in worded:
        if parts and rng.random() < 0.35 and len(parts[-1].split()) < 22:
            first = sentence if sentence.split()[0][1:].lower() != sentence.split()[0][1:] else _small(sentence)
            parts[-1] = parts[-1].rstrip(".") + rng.choice(LINKS) + first
        else:
            parts.append(sentence)
    return " ".join(parts)


def _small(sentence: str) -> str:
    """Without its capital, unless it begins with a name."""
    is_name = sentence.startswith(NAMED)
    return sentence if is_name else sentence[:1].lower() + sentence[1:]


def _swapped(fact: Fact, others: Sequence[Fact], rng: random.Random) -> Fact | None:
    """The fact with one value of another fact in the passage, or one from elsewhere."""
    slot = rng.choice([name for name in fact.slots if name != "x" or rng.random() < 0.3] or ["x"])
    values = fact.kind.slots[slot]
    near = [
        other.slots[name]
        for other in others
        for name, kind in other.kind.slots.items()
        if kind == values and other.slots[name] not in fact.slots.values()
    ]
    if slot == "x":  # the same may be true of another thing
        return None
    new = rng.choice(near) if near and rng.random() < 0.7 else drawn(values, rng)
    if new in fact.slots.values() or (values == "age" and int(new) < int(fact.slots[slot])):
        return None  # a lower age limit follows from a higher one
    return Fact(fact.kind, {**fact.slots, slot: new})


MANY_VALUED = ("effect", "may", "may not", "includes", "excludes", "studied", "worked", "bought", "beat", "no service")


def _is_many_valued(kind: Kind) -> bool:
    return any(KINDS[name] is kind for name in MANY_VALUED)


def pairs(rng: random.Random, count: int, filler: Sequence[str] = ()) -> list[Pair]:
    """Made documents with statements about them: entailed, contradicted and neutral ones alike in words.

    Args:
        filler: sentences about other things, of which some stand in half of the documents.
    """
    made: list[Pair] = []
    while len(made) < count:
        if rng.random() < 0.12:
            made += _listing(rng)
            continue
        facts = _facts(rng)
        if len(facts) < 2:
            continue
        told = [rng.randrange(len(fact.kind.says)) for fact in facts]
        worded = [f.worded(f.kind.says[n], rng) for f, n in zip(facts, told, strict=True)]
        if filler and rng.random() < 0.4:
            worded.insert(rng.randint(0, len(worded)), rng.choice(filler))
        extra = rng.choice(facts)
        if rng.random() < 0.35:
            # What is neutral or wrong elsewhere is told here, so that no wording gives its label away.
            made += _told_otherwise(extra, worded, rng)
            continue
        passage = _passage(worded, rng)
        for fact, number in rng.sample(list(zip(facts, told, strict=True)), min(len(facts), 2)):
            made += _statements(fact, number, facts, passage, rng)
        made += _comparisons(facts, passage, rng)
    return made[:count]


def _told_otherwise(fact: Fact, worded: Sequence[str], rng: random.Random) -> list[Pair]:
    kind = fact.kind
    if kind.beyond and (not kind.denies or rng.random() < 0.5):
        more = fact.worded(rng.choice(kind.beyond), rng)
        passage = _passage(rng.sample([*worded, more], len(worded) + 1), rng)
        return [Pair(passage, more, ENTAILED, SOURCE)]
    if not kind.denies:
        return []
    denial = fact.worded(rng.choice(kind.denies), rng)
    return [
        Pair(denial, denial, ENTAILED, SOURCE),
        Pair(denial, fact.worded(rng.choice(kind.says), rng), CONTRADICTED, SOURCE),
    ]


NUMBER_WORDS = ("two", "three", "four", "five", "six")
LISTED = (
    ("firm", "place", ("{x} has offices in {all}.", "{x} works from {all}.", "The sites of {x} are {all}."),
     "{x} has an office in {one}.", "{x} has {n} offices."),
    ("person", "subject", ("{x} teaches {all}.", "The subjects of {x} are {all}.", "{x} is a teacher of {all}."),
     "{x} teaches {one}.", "{x} teaches {n} subjects."),
    ("drug", "effect", ("The side effects of {x} are {all}.", "{x} may cause {all}.", "With {x}, {all} can occur."),
     "{x} may cause {one}.", "{x} has {n} known side effects."),
    ("vehicle", "day", ("The {x} runs on {all}.", "On {all} there is a {x}.", "You can take the {x} on {all}."),
     "There is a {x} on {one}.", "The {x} runs on {n} days."),
    ("plan", "feature", ("{x} comes with {all}.", "{x} includes {all}.", "With {x} you get {all}."),
     "{x} includes {one}.", "{x} has {n} features."),
)  # fmt: skip


def _listing(rng: random.Random) -> list[Pair]:
    """Things in a list: which of them, which not, how many."""
    subjects, values, says, holds, counts = rng.choice(LISTED)
    size = rng.randint(2, 5)
    drawn_values = rng.sample(WORDS[values], size + 1)
    listed, missing = drawn_values[:-1], drawn_values[-1]
    x = rng.choice(WORDS[subjects])

    def put(template: str, **values: str) -> str:
        return _capital(template.format(x=x, **values))

    passage = put(rng.choice(says), all=", ".join(listed[:-1]) + " and " + listed[-1])
    turned = rng.sample(listed, size)
    again = put(rng.choice(says), all=", ".join(turned[:-1]) + " and " + turned[-1])
    wrong = rng.choice([word for word in NUMBER_WORDS if word != NUMBER_WORDS[size - 2]])
    made = [
        Pair(passage, put(holds, one=rng.choice(listed)), ENTAILED, SOURCE),
        Pair(passage, put(holds, one=missing), NOT_ENTAILED, SOURCE),
        Pair(passage, put(counts, n=NUMBER_WORDS[size - 2]), ENTAILED, SOURCE),
        Pair(passage, put(counts, n=wrong), CONTRADICTED, SOURCE),
    ]
    return [*made, Pair(passage, again, ENTAILED, SOURCE)] if again != passage else made


COMPARED = {
    "price": (
        ("{x} costs more than {y}.", "{x} is dearer than {y}."),
        ("{x} costs less than {y}.", "{x} is cheaper than {y}."),
    ),
    "tall": (
        ("{x} is higher than {y}.", "{x} is taller than {y}."),
        ("{x} is lower than {y}.", "{x} is not as high as {y}."),
    ),
    "rose": (
        ("{x} rose more than {y}.", "{x} grew faster than {y}."),
        ("{x} rose less than {y}.", "{x} grew more slowly than {y}."),
    ),
    "warranty": (
        ("The warranty on {x} is longer than that on {y}.",),
        ("The warranty on {x} is shorter than that on {y}.",),
    ),
}


def _comparisons(facts: Sequence[Fact], passage: str, rng: random.Random) -> list[Pair]:
    """Which of two things told in one unit has more."""
    made: list[Pair] = []
    for name, (more, less) in COMPARED.items():
        told = [fact for fact in facts if fact.kind is KINDS[name]]
        for first, second in itertools.pairwise(told):
            a, b = first.slots["v"], second.slots["v"]
            if re.sub(r"[\d. ]", "", a) != re.sub(r"[\d. ]", "", b) or _first_number(a) == _first_number(b):
                continue
            if rng.random() < 0.5:
                first, second, a, b = second, first, b, a
            is_more = _first_number(a) > _first_number(b)
            for templates, says_more in ((more, True), (less, False)):
                text = rng.choice(templates).format(x=first.slots["x"], y=second.slots["x"])
                label = ENTAILED if says_more == is_more else CONTRADICTED
                made.append(Pair(passage, _capital(text), label, SOURCE))
    return made


def _statements(fact: Fact, told: int, facts: Sequence[Fact], passage: str, rng: random.Random) -> list[Pair]:
    kind = fact.kind
    others = [other for other in facts if other is not fact]
    same = [text for place, text in enumerate(kind.says) if place != told]
    found = [Pair(passage, fact.worded(rng.choice([*same, *kind.weaker]), rng), ENTAILED, SOURCE)]
    if kind.denies and rng.random() < 0.6:
        found.append(Pair(passage, fact.worded(rng.choice(kind.denies), rng), CONTRADICTED, SOURCE))
    swapped = _swapped(fact, others, rng)
    if swapped is not None and not any(swapped.agrees_with(other) for other in others):
        changed = [slot for slot in fact.slots if swapped.slots[slot] != fact.slots[slot]]
        usable = [text for text in (*kind.says, *kind.weaker) if any(f"{{{s}}}" in text.lower() for s in changed)]
        label = NOT_ENTAILED if _is_many_valued(kind) else CONTRADICTED
        found.append(Pair(passage, swapped.worded(rng.choice(usable), rng), label, SOURCE))
    if kind.beyond and rng.random() < 0.45:
        found.append(Pair(passage, fact.worded(rng.choice(kind.beyond), rng), NEUTRAL, SOURCE))
    elsewhere = [name for name in KINDS if all(other.kind is not KINDS[name] for other in facts)]
    if rng.random() < 0.25:
        other = KINDS[rng.choice(elsewhere)]
        slots = {
            slot: fact.slots["x"] if fact.kind.slots["x"] == values and slot == "x" else drawn(values, rng)
            for slot, values in other.slots.items()
        }
        if not any(_conflict(Fact(other, slots), known) for known in facts):
            found.append(Pair(passage, Fact(other, slots).worded(rng.choice(other.says), rng), NEUTRAL, SOURCE))
    return found


def _conflict(new: Fact, known: Fact) -> bool:
    """True if the passage may settle the new fact: it is about the same thing."""
    return new.slots["x"] == known.slots["x"] and _family_of(new.kind) == _family_of(known.kind) != ""


def _family_of(kind: Kind) -> str:
    return next(_family(name) for name, known in KINDS.items() if known is kind)
