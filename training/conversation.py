"""Made examples of conversation: yes/no answers, replies with an opener, transcripts with speakers."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from training.common import LABEL_IDS, NOT_ENTAILED, Pair

ENTAILED, NEUTRAL, CONTRADICTED = (LABEL_IDS[name] for name in ("entailment", "neutral", "contradiction"))
AUXILIARY = re.compile(r"^(.{2,60}?)\s(is|was|are|were|has|had|will|can|could|should)\s(?!not\b)(.{3,})$")
OPENERS = (
    "Yes, ", "Oh, ", "Well, ", "I think ", "I know that ", "Did you know that ", "That's right, ", "Interestingly, ",
    "Yeah, ", "Sure! ", "Actually, ", "I believe ", "I read that ", "Great question! ", "As far as I know, ",
    "Oh yes, I know that ", "That's cool! ", "I love that too. ", "According to the text, ", "In short, ", "i think ",
)  # fmt: skip
SPEAKERS = """Anna Ben Carla David Emma Frank Grace Henry Irene Jack Kate Leo Maria Nick Olivia Paul Rita Sam Tina
    Victor Wendy Tom Lucy Mark Julia Peter Nina Oscar Helen Greg""".split()  # noqa: SIM905
SAYS = ("{} says that {}", "{} tells {other} that {}", "{} mentions that {}", "According to {}, {}")


def yes_no(pairs: Sequence[Pair], rng: random.Random, limit: int) -> list[Pair]:
    """A question that the evidence answers with yes or no, and either answer."""
    made: list[Pair] = []
    for pair in rng.sample(list(pairs), len(pairs)):
        if len(made) >= limit:
            break
        match = AUXILIARY.match(pair.hypothesis.rstrip(" ."))
        if match is None or pair.label not in (ENTAILED, CONTRADICTED) or "," in match[1]:
            continue
        subject = match[1] if match[1].split()[0] not in ("The", "A", "An", "There", "It", "He", "She") else (
            match[1][0].lower() + match[1][1:]
        )  # fmt: skip
        question = f"{match[2].capitalize()} {subject} {match[3]}?"
        for says_yes in (True, False):
            is_right = says_yes == (pair.label == ENTAILED)
            answer = rng.choice(("Yes", "Yes.", "yes") if says_yes else ("No", "No.", "no"))
            label = ENTAILED if is_right else CONTRADICTED
            made.append(Pair(pair.premise, f"{question} {answer}", label, "made/yes_no"))
    return made


def with_opener(pair: Pair, rng: random.Random) -> Pair:
    """The pair with its hypothesis said the way people talk; what it claims stays."""
    opener, text = rng.choice(OPENERS), pair.hypothesis
    if opener.rstrip()[-1] not in "!." and text.split()[0] in ("The", "A", "An", "It", "There", "He", "She", "They"):
        text = text[0].lower() + text[1:]
    if opener.startswith("Did"):
        text = text.rstrip(" .") + "?"
    return Pair(pair.premise, opener + text, pair.label, pair.source)


def transcripts(sentences: Sequence[str], rng: random.Random, count: int) -> list[Pair]:
    """Who said what: short conversations, right and wrong reports of a line."""
    usable = [text for text in sentences if 5 <= len(text.split()) <= 22 and re.match(r"[A-Z]\w+ ", text)]
    made: list[Pair] = []
    while len(made) < count:
        people = rng.sample(SPEAKERS, rng.choice((2, 2, 2, 3)))
        lines = rng.sample(usable, rng.randint(3, 8))
        who = [people[i % len(people)] if rng.random() < 0.8 else rng.choice(people) for i in range(len(lines))]
        joiner = rng.choice((" ", "\n", " | "))
        premise = joiner.join(f"{name}: {line}" for name, line in zip(who, lines, strict=True))
        place = rng.randrange(len(lines))
        other = rng.choice([name for name in people if name != who[place]])
        made.append(Pair(premise, _report(who[place], other, lines[place], rng), ENTAILED, "made/said"))
        wrong = _report(other, who[place], lines[place], rng)
        made.append(Pair(premise, wrong, NOT_ENTAILED, "made/said_by_other"))
        if rng.random() < 0.3:
            made.append(Pair(premise, _report(who[place], other, rng.choice(usable), rng), NEUTRAL, "made/not_said"))
    return made


def _report(name: str, other: str, line: str, rng: random.Random) -> str:
    text = line.rstrip(" .") + "."
    text = text[0].lower() + text[1:] if text.split()[0] in ("The", "A", "An", "It", "There", "He", "She") else text
    form = rng.choice(SAYS)
    return form.replace("{other}", other).format(name, text)
