"""Near-copies: a sentence of the evidence with something left out, put in, misspelt or joined to the next one.

Summaries copy. A model that sees edited copies only as contradictions takes every small difference for one; these
pairs show the differences that change nothing (left out, spelling, case) and those that merely add (neutral).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from training.augment import SentenceEditor, sentences, tokenised_style
from training.common import LABEL_IDS, Pair

ENTAILED, NEUTRAL = LABEL_IDS["entailment"], LABEL_IDS["neutral"]

# Where one of these stands, leaving words out may change more than it leaves out.
FRAGILE = re.compile(
    r"\b(not|no|never|neither|nor|none|without|only|few|little|hardly|rarely|unless|if|or|all|every|each|most|least|any"
    r"|n't|cannot|almost|nearly|allegedly|reportedly|may|might|could|would|until|except|despite|although)\b|n't",
    re.IGNORECASE,
)
TAIL = re.compile(
    r"\s+(?:in|on|at|during|after|before|with|for|from|near|by|as|under|to|alongside|because|when|while|where|which"
    r"|who|following|including)\s+(?:(?!\b(?:in|on|at|by|with|for|from)\b)[^.])*?([.!?]?)$"
)
PLAIN_ADVERB = re.compile(
    r"\b(?:also|then|later|recently|currently|eventually|finally|originally|primarily|mainly|officially|subsequently"
    r"|previously|initially|quickly|widely|well|now|still|soon|together|again|already|very|just|usually|largely"
    r"|highly|directly|generally|frequently|commonly|formally|publicly|reportedly)\s+"
)


def _without_aside(sentence: str) -> str:
    return re.sub(r"\s*[(\[][^()\[\]]*[)\]]|\s*(?:--|–|—)[^–—-]{3,60}(?:--|–|—)", "", sentence, count=1)


def _without_apposition(sentence: str) -> str:
    return re.sub(r"\s?,\s[^,.;]{1,50}\s?,(?=\s(?!and|or|but)[a-z])", "", sentence, count=1)


def _without_age(sentence: str) -> str:
    return re.sub(r"\s?,\s(?:aged\s)?\d{1,2}\s?,", "", re.sub(r"\b\d{1,2}-year-old\s", "", sentence), count=1)


def _without_adverb(sentence: str) -> str:
    return PLAIN_ADVERB.sub("", sentence, count=1)


def _without_opener(sentence: str) -> str:
    cut = re.sub(r"^(?:In|On|During|After|By|At|From|Since|For|As|With) [^,]{2,60}, (?=\w)", "", sentence, count=1)
    return cut[:1].upper() + cut[1:]


def _without_tail(sentence: str) -> str:
    cut = TAIL.sub(r"\1", sentence)
    return cut if len(cut.split()) >= 5 else sentence


def _without_later_clause(sentence: str) -> str:
    head = re.split(r"\s?(?:,|;)\s(?:and|but|which|who|where|while|with|making|including|after|as)\s", sentence)[0]
    return head.rstrip(" ,.") + "." if len(head.split()) >= 5 else sentence


CUTS: tuple[Callable[[str], str], ...] = (
    _without_aside,
    _without_apposition,
    _without_age,
    _without_adverb,
    _without_opener,
    _without_tail,
    _without_later_clause,
)


def cut(sentence: str, rng: random.Random) -> str | None:
    """The sentence with one or two parts left out that carry no condition; None where nothing fits."""
    if FRAGILE.search(sentence):
        return None
    shorter = sentence
    wanted = rng.choice((1, 1, 2))
    for part in rng.sample(CUTS, len(CUTS)):
        changed = part(shorter)
        if changed != shorter:
            shorter, wanted = changed, wanted - 1
        if not wanted:
            break
    return shorter if shorter != sentence and len(shorter.split()) >= 4 else None


def misspelt(sentence: str, rng: random.Random) -> str | None:
    """The sentence with one slip in a long lower-case word, a currency sign or a number's commas."""
    choice = rng.random()
    if choice < 0.3 and re.search(r"[£$€]\d", sentence):
        return re.sub(r"[£€](?=\d)", lambda _: rng.choice(("#", "£ ", "gbp ")), sentence)
    if choice < 0.5 and re.search(r"\d,\d{3}", sentence):
        return re.sub(r"(?<=\d),(?=\d{3})", "", sentence)
    words = list(re.finditer(r"\b[a-z]{6,}\b", sentence))
    if not words:
        return None
    match = rng.choice(words)
    word, place = match.group(), rng.randrange(1, len(match.group()) - 2)
    slips = (
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
    )
    return sentence[: match.start()] + rng.choice(slips) + sentence[match.end() :]


def joined(first: str, second: str, rng: random.Random) -> str:
    """Two sentences of one text as one."""
    start = second.split(" ", 1)[0]
    plain = start in {"He", "She", "It", "They", "The", "A", "An", "His", "Her", "Its", "Their", "This", "In", "On"}
    rest = second[:1].lower() + second[1:] if plain else second
    return first.rstrip(" .!?") + rng.choice((" and ", ", and ", " , ", " ; ", ", while ")) + rest


class NearCopies:
    """Near-copies of the sentences of passages, right ones and wrong ones alike."""

    def __init__(self, editor: SentenceEditor, rng: random.Random) -> None:
        self._editor, self._rng = editor, rng

    def pairs(self, passage: str) -> list[Pair]:
        """Pairs about one window of the passage; none where no sentence fits."""
        parts = sentences(passage)
        if not parts:
            return []
        size = self._rng.choice((1, 1, 2, 3, 3, 4, 5))
        start = self._rng.randrange(max(1, len(parts) - size + 1))
        window = parts[start : start + size]
        place = self._rng.randrange(len(window))
        sentence = window[place]
        if not 6 <= len(sentence.split()) <= 45:
            return []
        made = self._of_sentence(window, place)
        if place + 1 < len(window) and self._rng.random() < 0.6:
            made += self._of_two(window, place)
        return [self._restyled(pair) for pair in made]

    def _of_sentence(self, window: Sequence[str], place: int) -> list[Pair]:
        text, sentence, rng = " ".join(window), window[place], self._rng
        made = []
        shorter = cut(sentence, rng)
        if shorter:
            made.append(Pair(text, shorter, ENTAILED, "made/copy_cut"))
            # A word or two ("also", a comma) add nothing.
            if len(sentence.split()) - len(shorter.split()) > 2 and rng.random() < 0.6:
                # The other way round something is added that the evidence does not say.
                own = [*window[:place], shorter, *window[place + 1 :]]
                made.append(Pair(" ".join(own), sentence, NEUTRAL, "made/copy_added"))
        slip = misspelt(shorter or sentence, rng)
        if slip and rng.random() < 0.4:
            made.append(Pair(text, slip, ENTAILED, "made/copy_misspelt"))
        wrong = self._editor.wrong(shorter or sentence, text)
        if wrong and rng.random() < 0.45:
            made.append(Pair(text, wrong[0], wrong[1], f"made/copy_{wrong[2]}"))
        return made

    def _of_two(self, window: Sequence[str], place: int) -> list[Pair]:
        text, rng = " ".join(window), self._rng
        first, second = window[place], window[place + 1]
        if len(first.split()) + len(second.split()) > 60:
            return []
        if rng.random() < 0.6:
            return [Pair(text, joined(first, second, rng), ENTAILED, "made/copy_joined")]
        wrong = self._editor.wrong(second, text)
        return [Pair(text, joined(first, wrong[0], rng), wrong[1], "made/copy_joined_wrong")] if wrong else []

    def _restyled(self, pair: Pair) -> Pair:
        """Half of the hypotheses lower-cased and tokenised; of these some premises too."""
        if self._rng.random() < 0.5:
            return pair
        premise = tokenised_style(pair.premise) if self._rng.random() < 0.35 else pair.premise
        return Pair(premise, tokenised_style(pair.hypothesis), pair.label, pair.source)
