"""Made examples for what plain NLI sets lack: long evidence, small changes, questions with short answers.

Everything is seeded by the caller's random generator and works on plain text; no model is needed except the
encoder's word embeddings, from which look-alike words (another city, another colour) are drawn.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from training.common import LABEL_IDS, NOT_ENTAILED, Pair

ENTAILED, NEUTRAL, CONTRADICTED = (LABEL_IDS[name] for name in ("entailment", "neutral", "contradiction"))

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
COUNTS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ANTONYMS = [
    pair.split("/")
    for pair in """increased/decreased rose/fell won/lost before/after more/less more/fewer first/last north/south
    east/west northern/southern eastern/western oldest/youngest largest/smallest highest/lowest higher/lower early/late
    earlier/later best/worst old/new older/younger male/female man/woman men/women boy/girl father/mother
    brother/sister husband/wife son/daughter accepted/rejected allowed/banned agreed/refused started/ended
    began/ended opened/closed always/never all/some all/none many/few most/few major/minor public/private
    rich/poor young/old hot/cold strong/weak success/failure success/disaster successful/unsuccessful
    positive/negative arrived/left bought/sold joined/left inside/outside above/below over/under day/night
    morning/evening summer/winter black/white living/dead alive/dead guilty/innocent likely/unlikely
    possible/impossible able/unable safe/dangerous support/oppose supported/opposed supports/opposes
    include/exclude increase/decrease increases/decreases rises/falls gained/lost defeat/victory war/peace
    love/hate loved/hated popular/unpopular common/rare approved/denied confirmed/denied success/failure""".split()  # noqa: SIM905 - words read better than a list of strings
]
OPPOSITE: dict[str, list[str]] = defaultdict(list)
for _left, _right in ANTONYMS:
    OPPOSITE[_left].append(_right)
    OPPOSITE[_right].append(_left)

STOP = frozenset(
    """the a an of in on at to for from by with and or but as is are was were be been being it its this that
    these those he she they his her their him them i you we our your who whom which what when where how not
    no than then there here had has have do does did will would can could may might shall should also into
    about after before over under more most some any all each other such only own same so too very if while
    during between out up down off""".split()  # noqa: SIM905
)
NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+(?:\s+(?:of|the|de|von|van)?\s?[A-Z][\w'’-]+)*")
LEADING_NAME = re.compile(r"^[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)+")
NUMBER = re.compile(r"(?<![\w.,])\$?\d[\d,]*(?:\.\d+)?(?![\w])")
YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
AUXILIARY = re.compile(r"\b(is|was|are|were|has|had|will|would|can|could|should|may|must|did|does|do)\b")


def sentences(text: str) -> list[str]:
    """Sentences of plain or tokenised text; rough, for training data only."""
    parts = re.split(r"(?<=[.!?])[\"'”)]*\s+(?=[A-Z\"“`(\d])", text.strip())
    return [part.strip() for part in parts if len(part.split()) >= 3]


def unique_sentences(text: str) -> str:
    """The text without repeated sentences (FEVER evidence repeats some)."""
    parts = re.split(r"(?<=[.!?]) (?=[A-Z])", text)
    return " ".join(dict.fromkeys(parts))


def content_words(text: str) -> set[str]:
    """Lower-cased words that carry content."""
    return {word for word in re.findall(r"\w+", text.lower()) if word not in STOP and len(word) > 1}


def names(text: str) -> list[str]:
    """Runs of capitalised words, the first word of a sentence only when the run is longer than that word."""
    found = [match.group() for match in NAME.finditer(text)]
    leading = LEADING_NAME.match(text)
    return list(dict.fromkeys(found + ([leading.group()] if leading else [])))


def tokenised_style(text: str) -> str:
    """Lower-cased text with spaces around punctuation, as many public summaries are."""
    return re.sub(r"\s+", " ", re.sub(r"([.,!?;:'\"()$%-])", r" \1 ", text.lower())).strip()


class Lookalikes:
    """Words of the same kind, from the encoder's input embeddings (paris for london, seven for six)."""

    def __init__(self, vocabulary: dict[str, int], embeddings: np.ndarray) -> None:
        self._words = {word: index for word, index in vocabulary.items() if word.isalpha() and len(word) > 2}
        self._names = list(self._words)
        rows = embeddings[[self._words[name] for name in self._names]]
        self._matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._position = {name: index for index, name in enumerate(self._names)}
        self._cache: dict[str, list[str]] = {}

    def of(self, word: str) -> list[str]:
        """Up to a dozen neighbours that are neither the same stem nor near-synonyms by spelling."""
        lower = word.lower()
        if lower not in self._position:
            return []
        if lower not in self._cache:
            similar = self._matrix @ self._matrix[self._position[lower]]
            order = np.argsort(-similar)[2:25]
            found = [self._names[index] for index in order if 0.3 < similar[index] < 0.7]
            self._cache[lower] = [name for name in found if name[:4] != lower[:4]][:12]
        return self._cache[lower]


class Index:
    """TF-IDF search over texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True, max_df=0.02, dtype=np.float32)
        self._matrix = self._vectorizer.fit_transform(self.texts)

    def nearest(self, queries: Sequence[str], count: int) -> list[list[int]]:
        """Positions of the `count` nearest texts of each query, best first."""
        found: list[list[int]] = []
        transposed = self._matrix.T.tocsr()
        for start in range(0, len(queries), 512):
            scores = self._vectorizer.transform(queries[start : start + 512]) @ transposed
            for row in range(scores.shape[0]):
                begin, end = scores.indptr[row], scores.indptr[row + 1]
                data, columns = scores.data[begin:end], scores.indices[begin:end]
                order = np.argsort(-data)[:count]
                found.append([int(columns[i]) for i in order])
        return found


def unsupported_claims(claims: Sequence[str], index: Index, rng: random.Random, limit: int) -> list[Pair]:
    """Claims without evidence beside evidence about the same thing: neutral, and hard."""
    chosen = rng.sample(list(claims), min(limit, len(claims)))
    pairs = []
    for claim, positions in zip(chosen, index.nearest(chosen, 4), strict=True):
        words = content_words(claim)
        usable = [
            index.texts[position]
            for position in positions
            # Evidence with nearly all words of the claim might support it after all.
            if 0.3 <= len(words & content_words(index.texts[position])) / max(1, len(words)) <= 0.8
        ]
        if usable:
            pairs.append(Pair(rng.choice(usable[:2]), claim, NEUTRAL, "made/unsupported_claim"))
    return pairs


def long_premises(pairs: Sequence[Pair], index: Index, rng: random.Random, limit: int) -> list[Pair]:
    """Evidence among sentences about the same things, at a random place; some without the evidence (neutral)."""
    chosen = rng.sample(list(pairs), min(limit, len(pairs)))
    neighbours = index.nearest([pair.premise + " " + pair.hypothesis for pair in chosen], 24)
    made = []
    for pair, positions in zip(chosen, neighbours, strict=True):
        own = content_words(pair.hypothesis)
        pool = [index.texts[position] for position in positions]
        # A distractor that holds most of the claim's words could decide the pair by itself.
        pool = [text for text in pool if text not in pair.premise and len(own & content_words(text)) <= 0.6 * len(own)]
        if len(pool) < 3:
            continue
        wanted = rng.choice((2, 3, 3, 4, 5, 6, 8, 12))
        parts = rng.sample(pool, min(wanted, len(pool)))
        if rng.random() < 0.2 and pair.label == ENTAILED:
            made.append(Pair(" ".join(parts), pair.hypothesis, NEUTRAL, "made/distractors_only"))
            continue
        parts.insert(rng.randrange(len(parts) + 1), pair.premise)
        made.append(Pair(" ".join(parts), pair.hypothesis, pair.label, "made/long_premise"))
    return made


def _replace_once(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text, count=1)


def swap_name(sentence: str, passage: str, rng: random.Random) -> str | None:
    """The sentence with one name replaced by another name of the passage."""
    own = names(sentence)
    other = [name for name in names(passage) if name not in sentence and not any(part in name for part in own)]
    if not own or not other:
        return None
    old = rng.choice(own)
    # Names of the same length are more often of the same type.
    same = [name for name in other if len(name.split()) == len(old.split())] or other
    return _replace_once(sentence, old, rng.choice(same))


def swap_roles(sentence: str, _passage: str, rng: random.Random) -> str | None:
    """The sentence with two of its names exchanged."""
    own = names(sentence)
    if len(own) < 2:
        return None
    left, right = rng.sample(own, 2)
    if left in right or right in left or re.search(rf"{re.escape(left)}\W+(and|or|,|&)\W+{re.escape(right)}", sentence):
        return None
    return (
        _replace_once(_replace_once(_replace_once(sentence, left, "\0"), right, left), "\0", right)
        if ("\0" not in sentence)
        else None
    )


def swap_number(sentence: str, passage: str, rng: random.Random) -> str | None:
    """The sentence with one number, count word, month or day replaced."""
    kinds = [[word for word in kind if re.search(rf"\b{word}\b", sentence)] for kind in (MONTHS, DAYS, COUNTS)]
    spots = [(word, kind) for found, kind in zip(kinds, (MONTHS, DAYS, COUNTS), strict=True) for word in found]
    numbers = [match.group() for match in NUMBER.finditer(sentence)]
    if not spots and not numbers:
        return None
    if spots and (not numbers or rng.random() < 0.4):
        word, kind = rng.choice(spots)
        return _replace_once(sentence, word, rng.choice([other for other in kind if other != word]))
    old = rng.choice(numbers)
    other = [match.group() for match in NUMBER.finditer(passage) if match.group() not in sentence]
    same = [number for number in other if bool(YEAR.fullmatch(number)) == bool(YEAR.fullmatch(old))]
    if same and rng.random() < 0.5:
        return sentence.replace(old, rng.choice(same), 1)
    return sentence.replace(old, _near_number(old, rng), 1)


def _near_number(text: str, rng: random.Random) -> str:
    """A number of the same shape with one digit changed."""
    places = [index for index, character in enumerate(text) if character.isdigit()]
    place = rng.choice(places)
    digits = [digit for digit in "123456789" if digit != text[place]]
    return text[:place] + rng.choice(digits) + text[place + 1 :]


def negate(sentence: str, _passage: str, rng: random.Random) -> str | None:
    """The sentence with a negation put in or taken out."""
    if re.search(r"\b(is|was|are|were|has|had|will|would|can|could|did|does|do) not\b", sentence):
        return re.sub(r"\b(is|was|are|were|has|had|will|would|can|could|did|does|do) not\b", r"\1", sentence, count=1)
    match = AUXILIARY.search(sentence)
    if match is None:
        return None
    word = "not" if rng.random() < 0.7 else rng.choice(("never", "no longer"))
    return f"{sentence[: match.end()]} {word}{sentence[match.end() :]}"


def use_antonym(sentence: str, _passage: str, rng: random.Random) -> str | None:
    """The sentence with one word replaced by its opposite."""
    found = [word for word in re.findall(r"[a-z]+", sentence) if word in OPPOSITE]
    if not found:
        return None
    word = rng.choice(found)
    return _replace_once(sentence, word, rng.choice(OPPOSITE[word]))


def light_edit(sentence: str, rng: random.Random) -> str:
    """The sentence, perhaps without an aside: what it says stays supported by the original."""
    choice = rng.random()
    if choice < 0.25:
        return re.sub(r"\s*\([^()]*\)", "", sentence)
    if choice < 0.4:
        return re.sub(r"^(However|Additionally|Moreover|Also|Then|Meanwhile|Later|Finally) ?, ", "", sentence)
    if choice < 0.55:
        head = re.split(r"(?:,| ,) (?:and|but|which|who|while|where) ", sentence)[0]
        return head.rstrip(" ,.") + "." if len(head.split()) >= 6 else sentence
    if choice < 0.65:
        return re.sub(r"^(?:In|On|During|After|By) [^,]{3,30}, (\w)", lambda match: match[1].upper(), sentence)
    return sentence


class SentenceEditor:
    """Pairs from passages: a sentence that the passage holds, edited (wrong) or not (right)."""

    def __init__(self, lookalikes: Lookalikes, rng: random.Random) -> None:
        self._lookalikes = lookalikes
        self._rng = rng
        self._edits = (
            (swap_name, NOT_ENTAILED, "name"),
            (swap_number, CONTRADICTED, "number"),
            (swap_roles, NOT_ENTAILED, "roles"),
            (negate, CONTRADICTED, "negation"),
            (use_antonym, CONTRADICTED, "antonym"),
            (self._swap_word, NOT_ENTAILED, "word"),
        )

    def _swap_word(self, sentence: str, _passage: str, rng: random.Random) -> str | None:
        words = [word for word in re.findall(r"\b[A-Za-z]{4,}\b", sentence) if word.lower() not in STOP]
        rng.shuffle(words)
        for word in words[:4]:
            similar = [other for other in self._lookalikes.of(word) if other not in sentence.lower()]
            if similar:
                new = rng.choice(similar)
                return _replace_once(sentence, word, new.capitalize() if word[0].isupper() else new)
        return None

    def wrong(self, sentence: str, passage: str) -> tuple[str, int, str] | None:
        """An edited sentence, its label and the kind of edit; None when no edit fits."""
        # The common edits first in a random order, so that rare ones (roles, antonyms) are used where they fit.
        for edit, label, kind in self._rng.sample(self._edits, len(self._edits)):
            changed = edit(sentence, passage, self._rng)
            if changed and changed != sentence and changed not in passage:
                return changed, label, kind
        return None

    def pairs(self, passage: str, count: int) -> list[Pair]:
        """Up to `count` right and wrong sentences each about windows of a passage."""
        parts = sentences(passage)
        if len(parts) < 2:
            return []
        made = []
        for _ in range(count):
            size = self._rng.choice((1, 2, 3, 3, 4, 5, 6, 8))
            start = self._rng.randrange(max(1, len(parts) - size + 1))
            window = parts[start : start + size]
            text = " ".join(window)
            sentence = self._rng.choice(window)
            if len(sentence.split()) > 45 or len(sentence.split()) < 5:
                continue
            made.extend(self._from_sentence(text, sentence))
            outside = parts[:start] + parts[start + size :]
            if outside and self._rng.random() < 0.35:
                made.append(Pair(text, self._rng.choice(outside), NEUTRAL, "made/other_sentence"))
        return made

    def _from_sentence(self, text: str, sentence: str) -> list[Pair]:
        made = []
        if self._rng.random() < 0.75:
            made.append(Pair(text, light_edit(sentence, self._rng), ENTAILED, "made/own_sentence"))
        edited = self.wrong(light_edit(sentence, self._rng), text)
        if edited:
            made.append(Pair(text, edited[0], edited[1], f"made/edit_{edited[2]}"))
        return made


def _question(claim: str, answer: str) -> tuple[str, str] | None:
    """(question, kind of answer) for a claim that names the answer once; None when none can be made."""
    if claim.count(answer) != 1:
        return None
    if YEAR.fullmatch(answer):
        kind, word = "year", "what year"
    elif NUMBER.fullmatch(answer):
        kind, word = "number", "how many" if not answer.startswith("$") else "how much"
    else:
        kind, word = "name", "what"
    body = claim.rstrip(" .")
    if body.startswith(answer):
        # "Who" where a verb follows a two-word name; else "what": good enough to teach the form.
        who = "Who" if kind == "name" and 2 <= len(answer.split()) <= 3 else word.capitalize()
        return who + body[len(answer) :] + "?", kind
    return body.replace(answer, word) + "?", kind


def questions(pairs: Sequence[Pair], rng: random.Random, limit: int) -> list[Pair]:
    """Question and short answer as hypothesis: the right answer, another of the same kind, or a whole sentence."""
    made: list[Pair] = []
    pool = [pair for pair in pairs if pair.label == ENTAILED and len(pair.hypothesis.split()) <= 20]
    corpus_names = [name for pair in pool[:4000] for name in names(pair.hypothesis)]
    for pair in rng.sample(pool, len(pool)):
        if len(made) >= limit:
            break
        found = names(pair.hypothesis) + [match.group() for match in NUMBER.finditer(pair.hypothesis)]
        found = [answer for answer in found if answer.lower() in pair.premise.lower()]
        if not found:
            continue
        answer = rng.choice(found)
        built = _question(pair.hypothesis, answer)
        if built is None:
            continue
        question, kind = built
        style = rng.random()
        right = answer if style < 0.75 else pair.hypothesis
        made.append(Pair(pair.premise, f"{question} {right}", ENTAILED, "made/answer"))
        wrong = _other_answer(answer, kind, pair, corpus_names, rng)
        wrong_text = wrong if style < 0.75 else _replace_once(pair.hypothesis, answer, wrong)
        made.append(Pair(pair.premise, f"{question} {wrong_text}", NOT_ENTAILED, "made/answer_wrong"))
    return made


def _other_answer(answer: str, kind: str, pair: Pair, corpus_names: list[str], rng: random.Random) -> str:
    """Another answer of the same kind, from the passage where it has one."""
    if kind == "name":
        own = [name for name in names(pair.premise) if name not in pair.hypothesis and answer not in name]
        return rng.choice(own) if own and rng.random() < 0.7 else rng.choice(corpus_names)
    own = [m.group() for m in NUMBER.finditer(pair.premise) if m.group() not in pair.hypothesis]
    return rng.choice(own) if own and rng.random() < 0.6 else _near_number(answer, rng)
