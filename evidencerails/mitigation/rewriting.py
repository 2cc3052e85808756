"""Asking a model to write flagged sentences again, and refusing what does more, or less, than that.

Only the flagged sentences are taken from the reply; the rest of the answer is put back by us. So a model that rewrites
everything or drops text cannot: what it can still do is put something else into a flagged sentence's place, and each of
those is looked at here before the checks look at it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from evidencerails.errors import LlmReplyError, with_cause
from evidencerails.exchange import Exchange, Passage
from evidencerails.llm.parsing import ask, parse_items
from evidencerails.measures.evidence import excerpts_for
from evidencerails.mitigation.misplaced import Value, made_limits, misplaced_values, own_values
from evidencerails.mitigation.pieces import Piece
from evidencerails.nli.base import ENTAILMENT
from evidencerails.nli.windows import content_terms
from evidencerails.report import Claim, Finding
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
    model_config = ConfigDict(strict=True, json_schema_extra={"additionalProperties": False})

    number: int
    text: str


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": _Rewritten.model_json_schema()}},
    "required": ["sentences"],
    "additionalProperties": False,
}


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
    found = await ask(session, messages, lambda reply: _read(reply, len(flagged)), repair=_REPAIR, json_schema=_SCHEMA)
    return {flagged[number - 1]: text for number, text in found.items()}


def _described(number: int, piece: Piece) -> str:
    lines = [f"{number}. {' '.join(piece.text.split())}"]
    for finding in piece.findings:
        lines.append(f"   wrong: {_issue(finding)}")
        lines += [f'   the evidence says: "{" ".join(quote.span.text.split())}"' for quote in finding.evidence[:2]]
    return "\n".join(lines)


def _issue(finding: Finding) -> str:
    what = finding.label or finding.kind.replace("_", " ")
    place = f' ("{" ".join(finding.span.text.split())}")' if finding.span else ""
    return f"{what}{place}; {' '.join(finding.reason.split())}"[:600]


def _evidence(pieces: Sequence[Piece], exchange: Exchange) -> str:
    claims = [
        Claim(text=piece.text, span=piece.before, label="absent")
        for piece in pieces
        if piece.findings and piece.text.strip()
    ]
    excerpts = excerpts_for(claims, exchange.evidence).passages
    return "\n\n".join(f"[{p.id}]\n{p.text.strip()}" for p in excerpts) or "(there is no evidence)"


def _read(reply: str, count: int) -> dict[int, str]:
    """Texts by the sentences' numbers."""
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
    if not any(text for text in texts.values()) and not _rest(pieces, texts).strip():
        return "nothing_left: the correction takes the whole answer away"
    if _no_longer_answers(pieces, texts, exchange):
        return "no_answer: the correction takes out what the question asks for, and puts nothing in its place"
    problem = await context.nli.run(_first_problem, pieces, texts, exchange)
    return problem or await _lost_claim(pieces, texts, claims, context)


def _no_longer_answers(pieces: Sequence[Piece], texts: Mapping[int, str], exchange: Exchange) -> bool:
    """True if the answer had dates, names or numbers, of the kind that was asked for if the question says which, and
    the new text has none."""
    question = question_of(exchange.user_input)
    if not question:
        return False
    asked = _ASKS_FOR_A_VALUE.search(question)
    now = "".join(texts.get(place, piece.text) for place, piece in enumerate(pieces))
    known = own_values(question)
    before, after = (
        any(asked is None or _kind(value) == asked.lastgroup for value in own_values(text) - known)
        for text in (exchange.response, now)
    )
    return before and not after


def _kind(value: Value) -> str:
    return {"year": "date", "month": "date", "day": "date", "name": "name"}.get(value.kind, "number")


def _rest(pieces: Sequence[Piece], texts: Mapping[int, str]) -> str:
    return "".join(piece.text for place, piece in enumerate(pieces) if place not in texts)


def _first_problem(pieces: Sequence[Piece], texts: Mapping[int, str], exchange: Exchange) -> str | None:
    labels = (f"[{p.id}] [{number}] {p.source or ''}" for number, p in enumerate(exchange.evidence, start=1))
    given = "\n".join([exchange.user_input, exchange.response, *(p.text for p in exchange.evidence), *labels])
    others = [s.text for s in split_sentences(_rest(pieces, texts)) if len(s.text) >= 20]
    known = content_terms(given)
    evidence = "\n".join(p.text for p in exchange.evidence)
    for place, text in texts.items():
        old = pieces[place].text
        if len(text) > MAX_GROWTH * len(old) + ROOM:
            return f"grown: a sentence of {len(old)} characters became {len(text)}"
        if ("\n" in text and "\n" not in old) or len(split_sentences(text)) > max(1, len(split_sentences(old))):
            return "grown: a sentence became several"
        if set(_URL.findall(text)) - set(_URL.findall(given)):
            return "new_address: the correction brings in a web or mail address that nothing given has"
        if _repeats(text, others):
            return "repeats: the correction holds a sentence that stands elsewhere in the answer"
        problem = (
            _only_hedges(text, pieces[place], f"{old}\n{evidence}")
            or _made_up(text, old, known)
            or _leaves_topic(text, pieces[place])
            or _denies_alone(text, old, exchange)
        )
        if problem:
            return problem
        kinds = {finding.kind for finding in pieces[place].findings}
        if not kinds & VALUES_FROM_ELSEWHERE and (new := _new_values(text, given)):
            return with_cause("new_value: the correction has a number or name that nothing given has", ", ".join(new))
        if not kinds & VALUES_FROM_ELSEWHERE and (moved := _out_of_place(text, old, exchange.evidence)):
            return with_cause("misplaced_value: the evidence says this value of something else", ", ".join(moved))
    return None


def _new_values(text: str, given: str) -> list[str]:
    """Numbers and names of a text that the given texts do not have."""
    numbers = {_bare(number) for number in _NUMBER.findall(given)}
    words = given.lower()
    new = [number for number in _NUMBER.findall(text) if _bare(number) not in numbers]
    return new + [word for name in values_of(text).names for word in name.words if word not in words]


def _out_of_place(text: str, old: str, evidence: Sequence[Passage]) -> list[str]:
    return misplaced_values(text, old, evidence) or made_limits(text, evidence)


def _bare(number: str) -> str:
    return number.replace(",", "").rstrip(".")


def _denies_alone(text: str, old: str, exchange: Exchange) -> str | None:
    """Why a new negation may not stand: no sentence about the same thing in the evidence has one."""
    denying = [s.text for s in split_sentences(text) if _DENIES.search(s.text) and makes_claim(s.text)]
    if not denying or _DENIES.search(old):
        return None
    sentences = [s.text for passage in exchange.evidence for s in split_sentences(passage.text)]
    negated = [content_terms(sentence) for sentence in sentences if _DENIES.search(sentence)]
    for sentence in denying:
        terms = content_terms(sentence)
        if not any(len(terms & about) * 2 >= len(terms) for about in negated):
            return "denies: the correction negates what no sentence of the evidence negates"
    return None


def _repeats(text: str, others: Sequence[str]) -> bool:
    from rapidfuzz import fuzz, process

    return any(
        process.extractOne(sentence.text, others, scorer=fuzz.ratio, score_cutoff=REPEATED_FROM) is not None
        for sentence in split_sentences(text)
    )


def _only_hedges(text: str, piece: Piece, given: str) -> str | None:
    """Why a new text that leaves something open may not stand: neither the sentence nor the evidence leaves it open."""
    if new := set(_HEDGES.findall(text.lower())) - set(_HEDGES.findall(given.lower())):
        return with_cause("hedges: the correction leaves open what nothing given leaves open", ", ".join(sorted(new)))
    is_unknown = bool(text) and not makes_claim(text) and _SAYS_UNKNOWN.search(text) is not None
    if is_unknown and any(finding.label == "contradicted" for finding in piece.findings):
        return "hedges: the correction calls unknown what the evidence says otherwise"
    return None


def _made_up(text: str, old: str, known: set[str]) -> str | None:
    """Why a new text is none of a corrected claim, a removed one, or one said to be unknown."""
    sentences = [span.text for span in split_sentences(text)]
    for sentence in sentences:
        terms = content_terms(sentence)
        if makes_claim(sentence):
            if terms and len(terms - known) / len(terms) > MAX_NOVELTY:
                return "made_up: most words of the correction stand neither in the answer nor in the evidence"
        elif not (_SAYS_UNKNOWN.search(sentence) and terms & content_terms(old)):
            return "off_topic: the correction neither states nor leaves open what the sentence was about"
        elif len(sentence) > MAX_UNKNOWN_CHARACTERS:
            return "off_topic: the correction says at length that it says nothing"
    return None


def _leaves_topic(text: str, piece: Piece) -> str | None:
    """Why a new claim may not stand: none of its words is in the sentence it replaces, or in the evidence on that."""
    quotes = [quote.span.text for finding in piece.findings for quote in finding.evidence]
    about = content_terms("\n".join([piece.text, *quotes]))
    if makes_claim(text) and about and not content_terms(text) & about:
        return "off_topic: the correction speaks of something else than the sentence that it replaces"
    return None


async def _lost_claim(
    pieces: Sequence[Piece], texts: Mapping[int, str], claims: Sequence[Claim], context: CheckContext
) -> str | None:
    """A supported claim inside a flagged sentence belongs to the rest: the new sentence has to state it still."""
    pairs = []
    start = 0
    for place, piece in enumerate(pieces):
        end = start + len(piece.text)
        if place in texts:
            own = (claim for claim in claims if _is_kept_in(claim, piece, start, end))
            pairs += [(texts[place], claim.text) for claim in own if claim.span.text not in texts[place]]
        start = end
    if any(not text for text, _ in pairs):
        return "drops_supported: the correction takes out a sentence with a claim that is supported"
    for (_, claim), row in zip(pairs, await context.nli.scores(pairs), strict=True):
        if row[ENTAILMENT] < MIN_KEPT_CLAIM:
            return with_cause("drops_supported: the correction no longer states a claim that is supported", claim)
    return None


def _is_kept_in(claim: Claim, piece: Piece, start: int, end: int) -> bool:
    """True if the claim is supported and its words are a part of the piece that no finding is about."""
    inside = start <= claim.span.start and claim.span.end <= end
    flagged = (f.span for f in piece.findings if f.span)
    is_flagged = any(s.start < claim.span.end and s.end > claim.span.start for s in flagged)
    return inside and not is_flagged and claim.label == "supported"
