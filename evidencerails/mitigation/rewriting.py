"""Asking a model to write flagged sentences again, and refusing what does more, or less, than that.

Only the flagged sentences are taken from the reply; the rest of the answer is put back by us. So a model that rewrites
everything or drops text cannot: what it can still do is put something else into a flagged sentence's place, and each of
those is looked at here before the checks look at it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict

from evidencerails.errors import LlmReplyError, with_cause
from evidencerails.exchange import Exchange, Passage
from evidencerails.llm.parsing import ask, list_schema, parse_items
from evidencerails.measures.evidence import excerpts_for
from evidencerails.mitigation.pieces import Piece
from evidencerails.nli.base import ENTAILMENT
from evidencerails.nli.windows import content_terms
from evidencerails.report import Claim
from evidencerails.text.claimable import makes_claim
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import values_of
from evidencerails.verdict.reading import question_of

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession

TASK = "rewrite_sentences"
MAX_GROWTH = 2.0
"""How many times longer a sentence may become."""
ROOM = 60
"""Characters that a sentence may grow in any case, beyond `MAX_GROWTH`."""
MIN_KEPT_CLAIM = 0.5
"""P(entailment) of the new sentence for a supported claim of the old one, below which that claim counts as lost."""
MAX_NOVELTY = 0.5
"""Share of a new sentence's content words that neither the evidence nor the sentence before has; above, it was made up
rather than corrected."""
MAX_UNKNOWN_CHARACTERS = 240
"""Longest sentence that may stand in place of a claim and claim nothing itself."""
REPEATED_FROM = 90.0
"""rapidfuzz's ratio from which a sentence in a new text counts as one that stands elsewhere in the answer."""
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]+|[\w.+-]+@[\w-]+\.\w+", re.IGNORECASE)
VALUES_FROM_ELSEWHERE = frozenset({"logic_error", "structure_violation", "inconsistent_samples"})
"""Kinds whose correction may need a value that neither evidence nor answer has: computed, by the schema, of samples."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_DENIES = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|false|untrue|wrong|incorrect|den(?:y|ies|ied))\b|n['’]t\b",
    re.IGNORECASE,
)
_SAYS_UNKNOWN = re.compile(r"\b(?:not|no|nothing|unknown|unclear|unable|cannot)\b|n['’]t\b", re.IGNORECASE)
_HEDGES = re.compile(
    r"\b(?:(?-i:may)(?= [a-z])|might|could have|possibl[ey]|perhaps|maybe|probabl[ey]|presumably|"
    r"apparently|seemingly|supposedly|reportedly|allegedly|likely|unlikely|seems?|appears? to|"
    r"(?:is|was|are|were) (?:believed|thought|said|assumed) to|at (?:some|a certain|one) (?:point|time)|some ?time)\b",
    re.IGNORECASE,
)
_ASKS_FOR_A_VALUE = re.compile(
    r"\b(?:(?P<name>who|whom|whose|where|(?:what|which) (?:city|country|person|name))"
    r"|(?P<date>when|(?:what|which) (?:year|date|day|month))"
    r"|(?P<number>how (?!(?:do|does|did|is|are|was|were|can|could|to|come)\b)\w+"
    r"|what (?:number|amount|share|percentage|price)))\b",
    re.IGNORECASE,
)
"""What a question asks for, by the group's name."""
_REPAIR = (
    "That reply could not be read. Reply with the JSON object alone, one entry for each numbered sentence: "
    '{"sentences": [{"number": 1, "text": "..."}]}'
)


class _Rewritten(BaseModel):
    model_config = ConfigDict(strict=True)

    number: int
    text: str


_SCHEMA = list_schema("sentences", {"number": {"type": "integer"}, "text": {"type": "string"}})


class RewriteRefusedError(LlmReplyError):
    """A model's correction does something else than correct the flagged sentences."""


async def rewrite(
    pieces: Sequence[Piece], exchange: Exchange, context: CheckContext, session: LlmSession, *, note: str = ""
) -> dict[int, str]:
    """New texts of the flagged pieces, by their places; a sentence that the model left out is not among them.

    Args:
        note: what the prompt says about the last attempt.

    Raises:
        LlmReplyError: no reply could be read.
        LlmError: the provider failed, or the budget is spent.
    """
    flagged = [place for place, piece in enumerate(pieces) if piece.findings]
    messages = context.prompts.render(
        TASK,
        question=exchange.user_input or "(not given)",
        evidence=await context.nli.run(_evidence, pieces, exchange),
        answer="".join(piece.text for piece in pieces),
        sentences="\n".join(_described(n, pieces[place]) for n, place in enumerate(flagged, start=1)),
        note=note or "(none)",
    )
    found = await ask(
        session, messages, lambda reply: parse_rewrites(reply, len(flagged)), repair=_REPAIR, json_schema=_SCHEMA
    )
    return {flagged[number - 1]: text for number, text in found.items()}


def _described(number: int, piece: Piece) -> str:
    lines = [f"{number}. {' '.join(piece.text.split())}"]
    for finding in piece.findings:
        place = f' ("{" ".join(finding.span.text.split())}")' if finding.span else ""
        what = finding.label or finding.kind.replace("_", " ")
        issue = f"{what}{place}; {' '.join(finding.reason.split())}"
        lines.append(f"   wrong: {issue[:600]}")
        lines += [f'   the evidence says: "{" ".join(quote.span.text.split())}"' for quote in finding.evidence[:2]]
    return "\n".join(lines)


def _evidence(pieces: Sequence[Piece], exchange: Exchange) -> str:
    flagged = (piece for piece in pieces if piece.findings and piece.text.strip())
    claims = [Claim(text=piece.text, span=piece.before, label="absent") for piece in flagged]
    excerpts = excerpts_for(claims, exchange.evidence)
    return "\n\n".join(f"[{p.id}]\n{p.text.strip()}" for p in excerpts) or "(there is no evidence)"


def parse_rewrites(reply: str, count: int) -> dict[int, str]:
    """New texts by the number of the piece, from 1 to `count`.

    Raises:
        LlmReplyError: it holds none, or not in the form that was asked for.
    """
    found = parse_items(reply, "sentences", _Rewritten, number="number", count=count)
    return {one.number: one.text.strip() for one in found}


# ---- what is refused


async def refusal(
    pieces: Sequence[Piece],
    texts: Mapping[int, str],
    claims: Sequence[Claim],
    exchange: Exchange,
    context: CheckContext,
) -> str | None:
    """Why these texts may not take the places of the flagged pieces; None if they may."""
    rest = "".join(piece.text for place, piece in enumerate(pieces) if place not in texts)
    if not any(texts.values()) and not rest.strip():
        return "nothing_left: the correction takes the whole answer away"
    if _no_longer_answers(pieces, texts, exchange):
        return "no_answer: the correction takes out what the question asks for, and puts nothing in its place"
    problem = await context.nli.run(_first_problem, pieces, texts, rest, exchange)
    return problem or await _lost_claim(pieces, texts, claims, context)


def _no_longer_answers(pieces: Sequence[Piece], texts: Mapping[int, str], exchange: Exchange) -> bool:
    """True if the answer had dates, names or numbers, of the kind that was asked for if the question says which, and
    the new text has none."""
    question = question_of(exchange.user_input)
    asked, known = _ASKS_FOR_A_VALUE.search(question or ""), _values_in(question or "")

    def answers(text: str) -> bool:
        return any(asked is None or kind == asked.lastgroup for kind, _ in _values_in(text) - known)

    now = "".join(texts.get(place, piece.text) for place, piece in enumerate(pieces))
    return bool(question) and answers(exchange.response) and not answers(now)


def _values_in(text: str) -> set[tuple[str, str]]:
    """The numbers, parts of dates and names of a text; one word that begins a sentence need be no name."""
    found = values_of(text)
    numbers = {("number", f"{one.value:g} {one.unit}") for one in found.quantities}
    dates = {("date", one.value) for one in found.temporal if one.part != "date"}
    names = (one for one in found.names if not one.is_initial or len(one.words) > 1)
    return numbers | dates | {("name", one.words[-1].lower()) for one in names}


def _first_problem(pieces: Sequence[Piece], texts: Mapping[int, str], rest: str, exchange: Exchange) -> str | None:
    labels = (f"[{p.id}] [{number}] {p.source or ''}" for number, p in enumerate(exchange.evidence, start=1))
    given = "\n".join([exchange.user_input, exchange.response, *(p.text for p in exchange.evidence), *labels])
    others = [s.text for s in split_sentences(rest) if len(s.text) >= 20]
    for place, text in texts.items():
        correction = _Correction(text, pieces[place], given, others, exchange.evidence)
        for reason, find in _REFUSALS:
            found = find(correction)
            if found:
                return reason if found is True else with_cause(reason, ", ".join(found))
    return None


class _Correction(NamedTuple):
    """A new text for one piece, and what it is compared with."""

    text: str
    piece: Piece
    given: str
    """All that the model was given."""
    others: Sequence[str]
    """Longer sentences of the answer that stay."""
    passages: Sequence[Passage]

    @property
    def sentences(self) -> list[str]:
        return [span.text for span in split_sentences(self.text)]

    @property
    def takes_values_from_elsewhere(self) -> bool:
        """True if a finding asks for a value that neither evidence nor answer has."""
        return bool({finding.kind for finding in self.piece.findings} & VALUES_FROM_ELSEWHERE)


def _is_long(c: _Correction) -> bool:
    return len(c.text) > MAX_GROWTH * len(c.piece.text) + ROOM


def _is_several(c: _Correction) -> bool:
    has_line = "\n" in c.text and "\n" not in c.piece.text
    return has_line or len(c.sentences) > max(1, len(split_sentences(c.piece.text)))


def _has_new_address(c: _Correction) -> bool:
    return bool(set(_URL.findall(c.text)) - set(_URL.findall(c.given)))


def _repeats(c: _Correction) -> bool:
    from rapidfuzz import fuzz, process

    nearest = (process.extractOne(s, c.others, scorer=fuzz.ratio, score_cutoff=REPEATED_FROM) for s in c.sentences)
    return any(found is not None for found in nearest)


def _new_hedges(c: _Correction) -> list[str]:
    """Words that leave open what neither the sentence nor the evidence does."""
    known = "\n".join([c.piece.text, *(p.text for p in c.passages)])
    return sorted(set(_HEDGES.findall(c.text.lower())) - set(_HEDGES.findall(known.lower())))


def _calls_unknown(c: _Correction) -> bool:
    is_unknown = bool(c.text) and not makes_claim(c.text) and _SAYS_UNKNOWN.search(c.text) is not None
    return is_unknown and any(finding.label == "contradicted" for finding in c.piece.findings)


def _is_made_up(c: _Correction) -> bool:
    known = content_terms(c.given)
    claimed = [terms for s in c.sentences if makes_claim(s) and (terms := content_terms(s))]
    return any(len(terms - known) / len(terms) > MAX_NOVELTY for terms in claimed)


def _says_nothing(c: _Correction) -> bool:
    """True for a new text that is none of a corrected claim, a removed one, or one briefly said to be unknown."""
    about = content_terms(c.piece.text)
    idle = (s for s in c.sentences if not makes_claim(s))
    return any(
        not (_SAYS_UNKNOWN.search(s) and content_terms(s) & about) or len(s) > MAX_UNKNOWN_CHARACTERS for s in idle
    )


def _leaves_topic(c: _Correction) -> bool:
    """True for a claim with no word of the sentence that it replaces, or of the evidence on that."""
    quotes = [quote.span.text for finding in c.piece.findings for quote in finding.evidence]
    about = content_terms("\n".join([c.piece.text, *quotes]))
    return makes_claim(c.text) and bool(about) and not content_terms(c.text) & about


def _denies_alone(c: _Correction) -> bool:
    """True for a new negation where no sentence about the same thing in the evidence has one."""
    denying = [s for s in c.sentences if _DENIES.search(s) and makes_claim(s)]
    if not denying or _DENIES.search(c.piece.text):
        return False
    sentences = [s.text for passage in c.passages for s in split_sentences(passage.text)]
    negated = [content_terms(sentence) for sentence in sentences if _DENIES.search(sentence)]
    terms = [content_terms(sentence) for sentence in denying]
    return any(not any(len(own & about) * 2 >= len(own) for about in negated) for own in terms)


def _new_values(c: _Correction) -> list[str]:
    """Numbers and names that the given texts do not have."""
    if c.takes_values_from_elsewhere:
        return []
    numbers = {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(c.given)}
    new = [n for n in _NUMBER.findall(c.text) if n.replace(",", "").rstrip(".") not in numbers]
    words = c.given.lower()
    return new + [word for name in values_of(c.text).names for word in name.words if word not in words]


_REFUSALS: Sequence[tuple[str, Callable[[_Correction], bool | list[str]]]] = (
    ("grown: the correction is much longer than the sentence", _is_long),
    ("grown: a sentence became several", _is_several),
    ("new_address: the correction brings in a web or mail address that nothing given has", _has_new_address),
    ("repeats: the correction holds a sentence that stands elsewhere in the answer", _repeats),
    ("hedges: the correction leaves open what nothing given leaves open", _new_hedges),
    ("hedges: the correction calls unknown what the evidence says otherwise", _calls_unknown),
    ("made_up: most words of the correction stand neither in the answer nor in the evidence", _is_made_up),
    ("off_topic: the correction neither states nor briefly leaves open what the sentence was about", _says_nothing),
    ("off_topic: the correction speaks of something else than the sentence that it replaces", _leaves_topic),
    ("denies: the correction negates what no sentence of the evidence negates", _denies_alone),
    ("new_value: the correction has a number or name that nothing given has", _new_values),
)
"""Why a correction is refused, and what finds it, in the order in which they are asked."""


async def _lost_claim(
    pieces: Sequence[Piece], texts: Mapping[int, str], claims: Sequence[Claim], context: CheckContext
) -> str | None:
    """A supported claim inside a flagged sentence belongs to the rest: the new sentence has to state it still."""
    pairs, start = [], 0
    for place, piece in enumerate(pieces):
        end = start + len(piece.text)
        if place in texts:
            flagged = [f.span for f in piece.findings if f.span]
            own = (c for c in claims if c.label == "supported" and start <= c.span.start and c.span.end <= end)
            kept = (c for c in own if not any(s.start < c.span.end and s.end > c.span.start for s in flagged))
            pairs += [(texts[place], claim.text) for claim in kept if claim.span.text not in texts[place]]
        start = end
    if any(not text for text, _ in pairs):
        return "drops_supported: the correction takes out a sentence with a claim that is supported"
    for (_, claim), row in zip(pairs, await context.nli.scores(pairs), strict=True):
        if row[ENTAILMENT] < MIN_KEPT_CLAIM:
            return with_cause("drops_supported: the correction no longer states a claim that is supported", claim)
    return None
