"""What a generator was given, as far as it explains a wrong answer: relevance, place and age of each passage."""

from __future__ import annotations

import datetime
import math
import re
from functools import cached_property
from typing import Any, NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.lexical import content_of, lexical_overlap
from evidencerails.text.claimable import clean
from evidencerails.text.values import values_of
from evidencerails.verdict.model import missing_values

CHARACTERS_PER_TOKEN = 4.0
"""English text; good enough to distinguish the middle of a context from its ends."""
ENDS = 0.9
"""Attention that the very first and the very last token get beside the floor."""
FLOOR = 0.1
"""Attention that a token in the middle of an endless context keeps."""
REACH = 0.25
"""How far attention reaches into a context, as a share of what the generator reads reliably."""
MAX_READ = 40_000
"""Characters of a passage that are compared; a longer one is judged by its beginning."""
_DATE_KEYS = ("date", "updated", "updated_at", "modified", "last_modified", "published", "published_at", "timestamp",
              "year")  # fmt: skip
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rules|above|previous)\b"
    r"|\b(?:you are now|system prompt|as an ai|reply only with|you must (?:answer|say|reply|respond|tell))\b",
    re.IGNORECASE,
)
_NEWS = re.compile(
    r"\b(?:current(?:ly)?|latest|newest|now(?:adays)?|today|this (?:year|month|week)|right now|recent(?:ly)?|so far|"
    r"price|stock|version|release|still|these days|as of)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:it|they|them|that|this|those|these|he|she|him|her|there|one)\b", re.IGNORECASE)
_NAMED = re.compile(r"(?<=\s)[^\W\d_a-z]\w+|\d")


class Position(NamedTuple):
    """Where a passage is in what the generator read."""

    token: int
    """Estimated tokens before its middle."""
    context_tokens: int
    """Estimated tokens of all that was given."""
    share: float
    """0 at the beginning, 1 at the end."""
    attention: float
    """Expected attention, in [0, 1]; see `attention`."""


class ContextView:
    """One exchange as its generator saw it. Made once, asked for each finding."""

    def __init__(self, exchange: Exchange, today: datetime.date | None = None) -> None:
        """The age of evidence counts from `today`; the clock's if None."""
        self.passages = exchange.evidence
        self._prompt = " ".join(message.content for message in exchange.prompt)
        self._turns = sum(message.role == "user" for message in exchange.prompt)
        self._question = exchange.user_input
        self._today = today or datetime.date.today()
        self.has_question = bool(content_of(self._question))
        """True if the user's question is known and has words to compare."""
        self.asks_for_news = _NEWS.search(self._question) is not None
        """True if the question is about something that changes."""

    @cached_property
    def _texts(self) -> list[str]:
        return [clean(passage.text[:MAX_READ]) for passage in self.passages]

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [frozenset(content_of(text)) for text in self._texts]

    # ---- relevance

    @cached_property
    def relevance(self) -> list[float]:
        """How far each passage is about the question, in [0, 1]."""
        return [lexical_overlap(self._question, words) for words in self._words]

    @property
    def best_relevance(self) -> float:
        """Relevance of the passage most about the question; 0.0 without any."""
        return max(self.relevance, default=0.0)

    def overlap_with(self, text: str, place: int | None) -> float:
        """How far a passage is about the same thing as a text; 0.0 for no passage."""
        return 0.0 if place is None else lexical_overlap(text, self._words[place])

    def nearest_to(self, text: str) -> int | None:
        """Place of the passage that shares most words with a text; None if none shares any."""
        shares = [lexical_overlap(text, words) for words in self._words]
        best = max(range(len(shares)), key=shares.__getitem__, default=None)
        return best if best is not None and shares[best] > 0 else None

    def place_of(self, passage_id: str | None) -> int | None:
        """Place of the passage with this id, from 0."""
        return next((n for n, passage in enumerate(self.passages) if passage.id == passage_id), None)

    def with_values_of(self, text: str) -> list[int]:
        """Places of passages about the same thing that have all numbers, dates and names of a text; none if that has no
        number and no date."""
        values = values_of(text)
        if not values.quantities and not values.temporal:
            return []
        return [
            place
            for place, passage in enumerate(self._texts)
            if lexical_overlap(text, self._words[place]) >= 0.5 and not any(missing_values(text, passage).values())
        ]

    # ---- place

    def position_of(self, place: int, reliable_tokens: int) -> Position:
        """Where a passage is: in the prompt if it is found there, else in the evidence in its order."""
        text = self.passages[place].text
        at = self._prompt.find(text[:200])
        if at >= 0:
            whole = len(self._prompt)
        else:
            at = len(self._prompt) + sum(len(passage.text) for passage in self.passages[:place])
            whole = len(self._prompt) + sum(len(passage.text) for passage in self.passages)
        token, total = (at + len(text) / 2) / CHARACTERS_PER_TOKEN, max(1.0, whole / CHARACTERS_PER_TOKEN)
        return Position(round(token), round(total), min(1.0, token / total), attention(token, total, reliable_tokens))

    # ---- age

    def date_of(self, place: int | None) -> datetime.date | None:
        """Date of a passage from its metadata; None if it has none."""
        if place is None:
            return None
        metadata = self.passages[place].metadata
        return next((date for key in _DATE_KEYS if (date := _as_date(metadata.get(key))) is not None), None)

    def age_of(self, place: int | None) -> int | None:
        """Days since the date of a passage; None if it has none."""
        date = self.date_of(place)
        return None if date is None else (self._today - date).days

    # ---- the prompt

    @cached_property
    def giving_orders(self) -> list[int]:
        """Places of passages that give their reader orders: instructions hidden in evidence."""
        return [place for place, passage in enumerate(self.passages) if _ORDERS.search(passage.text[:MAX_READ])]

    def prompt_says(self, *words: str) -> bool:
        """True if the prompt has one of these words, or there is no prompt to look at."""
        return not self._prompt or re.search(rf"\b(?:{'|'.join(words)})\b", self._prompt, re.IGNORECASE) is not None

    @cached_property
    def ambiguity(self) -> str:
        """What the question leaves open; empty if nothing was seen."""
        is_short = self._turns == 1 and len(content_of(self._question)) <= 2
        if is_short and _POINTING.search(self._question) and not _NAMED.search(self._question):
            return "the question points at something that it does not name"
        if self._question.count("?") > 2:
            return f"the prompt asks {self._question.count('?')} questions at once"
        return ""


def attention(token: float, context_tokens: float, reliable_tokens: int) -> float:
    """Expected attention to a token, in [0, 1]: high at both ends, low in the middle of a long context."""
    reach = REACH * reliable_tokens
    ends = math.exp(-token / reach) + math.exp(-max(0.0, context_tokens - token) / reach)
    return min(1.0, ENDS * ends + FLOOR)


def _as_date(value: Any) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if isinstance(value, (int, float)) and 1e8 < value < 1e10:  # seconds since 1970
        return datetime.datetime.fromtimestamp(value, datetime.timezone.utc).date()
    if isinstance(value, int) and 1900 <= value <= 2100:
        return datetime.date(value, 1, 1)
    match = re.match(r"\s*(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", value) if isinstance(value, str) else None
    try:
        return datetime.date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) if match else None
    except ValueError:
        return None
