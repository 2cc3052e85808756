"""Claims of a response, without a model: sentences, cut into clauses where a rule can do so safely.

A claim is one predicate with its subject. Its span is verbatim; its text stands for itself: the subject is carried over
to a second predicate, a relative clause gets the noun it describes, a table cell its row and column, a list item its
lead-in. Where a rule would have to guess (reported speech, conditions, quotes, negations that reach over a
conjunction), the sentence stays whole. All of it is linear in the length of the response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from evidencerails.exchange import Span
from evidencerails.text.claimable import claim_sentences, clean, is_short_answer
from evidencerails.text.json_answers import fields_of
from evidencerails.text.sentences import Block, Splitter, blocks
from evidencerails.text.verbs import AUX, FINITE, PAST, PRESENT, VERB_AT

MIN_CLAUSE_WORDS = 3
"""A clause of fewer words is left with its sentence."""
MAX_SUBJECT_WORDS = 12
MAX_CUT_CHARACTERS = 600
"""A longer sentence stays whole: no rule reads it safely."""


class ExtractedClaim(NamedTuple):
    """One claim as found in a response."""

    text: str
    """Standalone wording."""
    span: Span
    """The words of the response it came from."""
    sentence: Span
    """The sentence it is a part of; equal to `span` if it is the whole."""
    extractor: str = "rules"
    """Who found it: `rules`, or `llm`."""
    spans: tuple[Span, ...] = ()
    """The parts of `span` that carry it, where words of other claims stand between; empty if all of it does."""


class _Piece(NamedTuple):
    """A clause of a sentence; offsets count in the response."""

    text: str
    start: int
    end: int
    before: str = ""
    """What the text has before the part's own words: the subject that was carried over."""


def extract_claims(response: str, splitter: Splitter | None = None) -> list[ExtractedClaim]:
    """The claims of a response in order. Every sentence that makes a claim is covered by at least one.

    Raises:
        InputError: what the splitter gives is not the text's own sentences.
    """
    contexts = _Contexts.of(response) if "\n" in response else None
    claims: list[ExtractedClaim] = []
    for sentence in claim_sentences(response, splitter):
        if contexts and contexts.is_told_by_items(sentence):
            continue
        if sentence.text[:1] in "{[" and (fields := fields_of(sentence.text)):
            spans = [Span.of(response, sentence.start + one.start, sentence.start + one.end) for one in fields]
            claims += [ExtractedClaim(one.text, span, span) for one, span in zip(fields, spans, strict=True)]
            continue
        own = contexts.claims(response, sentence) if contexts else []
        claims += own or sentence_claims(response, sentence)
    return claims


def sentence_claims(response: str, sentence: Span) -> list[ExtractedClaim]:
    """The claims of one sentence of a response; the whole sentence if it cannot be cut safely."""
    pieces = _pieces(sentence)
    if len(pieces) < 2:
        return [ExtractedClaim(clean(sentence.text), sentence, sentence)]
    return [ExtractedClaim(piece.text, Span.of(response, piece.start, piece.end), sentence) for piece in pieces]


_ADVERB = r"(?:(?:\w+ly|also|then|later|never|always|often|still|now|soon|again|even|just|since|subsequently)\s+)"

_NO_SUBJECT = re.compile(
    r"^(?:if|when|while|although|though|because|since|unless|as|after|before|once|whether|that|which|who|what|how|why|"
    r"where|there|not|neither|nor|either|only|despite|during|given|according|to|by|in|on|at|for|with|from|under|over|"
    r"[\"“‘'(])\b",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:sa(?:id|ys|y)|claim(?:s|ed)?|believ(?:e|es|ed)|argu(?:e|es|ed)|report(?:s|ed)?|stat(?:e|es|ed)|thinks?|"
    r"thought|announc(?:ed|es)|warn(?:s|ed)|den(?:y|ies|ied)|according to|suggest(?:s|ed)?|hop(?:e|es|ed)|expect(?:s|"
    r"ed)?|want(?:s|ed)?|if|unless|whether|whoever|would|told|tells|insist(?:s|ed)?|promis(?:ed|es)|neither|nor|"
    r"either|not only|both|between|instead of|rather than|no one|nobody|none)\b|[\"“”]",
    re.IGNORECASE,
)
_PRONOUN_SUBJECT = r"(?:he|she|it|they|we|this|that|these|those|there|i|you)"
_DETERMINED = (
    r"(?:(?:the|a|an|its|his|her|their|our|each|every|some|many|most|both|several|one|two|three|another|"
    r"all)\s+(?:[\w'’-]+\s+){1,5}?"
    r"|(?:[A-Z][\w'’.-]*\s+){1,4})"
)
_CLAUSE_JOINT = re.compile(
    rf"(?:;\s+(?:and\s+|but\s+|however,?\s+)?|,?\s+(?:but|while|whereas|yet)\s+|,\s+(?:and|so)\s+)"
    rf"(?=(?:(?i:{_PRONOUN_SUBJECT})\s+|{_DETERMINED}){_ADVERB}?(?i:{FINITE})\b)"
)
_AND_JOINT = re.compile(
    rf"\s+and\s+(?=(?:(?i:he|she|it|they|we)\s+|(?:the|its|his|her|"
    rf"their)\s+(?:[\w'’-]+\s+){{1,3}}?){_ADVERB}?(?i:{AUX})\b)"
)
_VERB_JOINT = re.compile(rf",?\s+(?:and|but)\s+(?:then\s+|later\s+|also\s+)?(?={_ADVERB}?(?:{FINITE})\b)")
_COMMA_JOINT = re.compile(rf",\s+(?={_ADVERB}?(?:{FINITE})\b)")


_MAY_BE_CUT = re.compile(r"[,;(]|\b(?:and|but|while|whereas|yet)\b")


def _pieces(sentence: Span) -> list[_Piece]:
    """Clauses of a sentence; fewer than two if it stays whole."""
    text = sentence.text
    if len(text) > MAX_CUT_CHARACTERS or not _MAY_BE_CUT.search(text) or text.rstrip(" \"”'*_)")[-1:] in "?:":
        return []
    pieces = [
        piece
        for clause in _independent(text)
        for inner in _without_insertions(text, clause)
        for piece in _predicates(text, inner)
    ]
    if len(pieces) < 2 or not all(_stands_alone(piece) for piece in pieces):
        return []
    return [piece._replace(start=piece.start + sentence.start, end=piece.end + sentence.start) for piece in pieces]


def _stands_alone(piece: _Piece) -> bool:
    return len(piece.text.split()) >= MIN_CLAUSE_WORDS and VERB_AT.search(piece.text) is not None


def _independent(text: str) -> list[_Piece]:
    """Clauses with a subject of their own."""
    if _NO_SUBJECT.match(text) and not re.match(r"(?:In|On|At|During|After|By|From)\s[^,]{1,60},\s", text):
        joints = list(re.finditer(r";\s+", text))
    else:
        joints = sorted([*_CLAUSE_JOINT.finditer(text), *_AND_JOINT.finditer(text)], key=lambda m: m.start())
    clauses, start = [], 0
    for joint in joints:
        before = text[start : joint.start()]
        if joint.start() <= start or _REPORTS.search(before) or not VERB_AT.search(before):
            continue
        clauses.append(_piece(text, start, joint.start()))
        start = joint.end()
    return [*clauses, _piece(text, start, len(text))]


def _piece(text: str, start: int, end: int) -> _Piece:
    """The part without white space and marks around it."""
    while start < end and text[start] in " \t\r\n,;":
        start += 1
    while end > start and text[end - 1] in " \t\r\n,;–—-":
        end -= 1
    return _Piece(clean(text[start:end]), start, end)


# ---- relative clauses, appositions and participles between commas

_INSERTION = re.compile(
    r"^(?P<subject>[^,;:()]{2,80}?)(?:,\s+(?P<inner>[^,;]{6,160}?),\s+|\s+\((?P<note>[^()]{6,80})\)\s+)(?P<rest>.+)$",
    re.DOTALL,
)
_RELATIVE = re.compile(rf"^(?:who|which|that)\s+(?={_ADVERB}?{FINITE}\b)", re.IGNORECASE)
_PARTICIPLE = re.compile(
    rf"^(?:originally\s+|first\s+|also\s+|formerly\s+|\w+ly\s+)?(?:{PAST}|known|written|given|born|sold|built|"
    rf"made)\s+(?:in|on|by|at|as|to|from|for|with|between|during|near)\b",
    re.IGNORECASE,
)
_NOUN_PHRASE = re.compile(r"^(?:an?|the|one of|former|current|his|her|its|their)\s+[^\d,]{3,}", re.IGNORECASE)
_BORN = re.compile(r"^born\b", re.IGNORECASE)


def _without_insertions(text: str, clause: _Piece) -> Iterator[_Piece]:
    """The clause; what stands between commas or brackets after its subject becomes a claim of its own."""
    match = _INSERTION.match(text[clause.start : clause.end])
    subject = clean(match["subject"]) if match else ""
    if (
        match is None
        or not _is_subject(subject)
        or not re.match(rf"{_ADVERB}?{FINITE}\b", match["rest"], re.IGNORECASE)
    ):
        yield clause
        return
    group = "inner" if match["inner"] else "note"
    stated = _stated(subject, clean(match[group]), match["rest"])
    if stated is None:
        yield clause
        return
    at = clause.start
    yield _Piece(stated, at + match.start(group), at + match.end(group))
    yield _Piece(f"{subject} {clean(match['rest'])}", at + match.start("rest"), clause.end, f"{subject} ")


def _stated(subject: str, inner: str, rest: str) -> str | None:
    """What an insertion says about the subject, as a sentence; None if no rule applies."""
    if _RELATIVE.match(inner):
        return f"{subject} {_RELATIVE.sub('', inner)}"
    if _BORN.match(inner) or _PARTICIPLE.match(inner):
        return f"{subject} {_be(subject, past=True)} {inner}"
    if _NOUN_PHRASE.match(inner) and not re.search(r"\b(?:and|or)\b", inner):
        is_past = not re.match(rf"(?:{PRESENT}|is|are|has|have|can|will)\b", rest, re.IGNORECASE)
        return f"{subject} {_be(subject, past=is_past)} {inner}"
    return None


def _be(subject: str, *, past: bool) -> str:
    is_plural = bool(re.search(r"\b(?:and|they|these|those|we)\b", subject, re.IGNORECASE))
    return ("were" if is_plural else "was") if past else ("are" if is_plural else "is")


def _is_subject(subject: str) -> bool:
    words = subject.split()
    return 0 < len(words) <= MAX_SUBJECT_WORDS and not _NO_SUBJECT.match(subject) and not VERB_AT.search(subject)


# ---- several predicates of one subject

_BY_SOMETHING = re.compile(
    rf"^{_ADVERB}?(\w+ed|built|sold|made|written|held|found|lost|won|led|taken|given)\s+(?:by|in|on|during|at)\b",
    re.IGNORECASE,
)
_NEVER_PASSIVE = frozenset(
    """died moved lived worked served retired returned remained arrived graduated resigned played studied married
    stayed settled travelled traveled continued appeared""".split()  # noqa: SIM905
)
_ARTICLE_BEFORE = re.compile(r"\b(?:a|an|the|very|more|both|most|its|his|her|their)\s+[\w-]+$", re.IGNORECASE)
_HAS_OBJECT = re.compile(
    r"(?:[a-z]+ly\s+|also\s+|then\s+|later\s+)*[\w'’]+\s+(?:(?:the|a|an|its|his|her|their|to|in|on|at|by|from|for|"
    r"with|as|it|him|them|that|two|three|four|five|six|seven|eight|nine|ten|many|several|all|some|more|over|into|up|"
    r"out|down|off)\b|[A-Z\d$£€])"
)


def _predicates(text: str, clause: _Piece) -> Iterator[_Piece]:
    """The clause cut at "and"/"but" before a second verb; each further predicate gets the subject of the first."""
    verb = VERB_AT.search(clause.text)
    subject = clause.text[: verb.start()].strip() if verb else ""
    raw = text[clause.start : clause.end]
    is_rewritten = clause.before + clean(raw) != clause.text  # an insertion: its text is not its own words
    joints = [] if verb is None or is_rewritten or not _is_subject(subject) else list(_VERB_JOINT.finditer(raw))
    if joints:  # "is in Paris, is tall and was painted"
        joints = sorted([*_COMMA_JOINT.finditer(raw, 0, joints[-1].start()), *joints], key=lambda m: m.start())
    start = 0
    carried = clause.before
    for joint in joints:
        before = carried + raw[start : joint.start()]
        if not _may_cut(before, raw[joint.end() :]):
            continue
        piece = _piece(text, clause.start + start, clause.start + joint.start())
        yield piece._replace(text=f"{carried}{piece.text}")
        carried = _carried(subject, clause.text, raw[joint.end() :])
        start = joint.end()
    piece = _piece(text, clause.start + start, clause.end)
    yield piece._replace(text=f"{carried}{piece.text}") if start else clause


def _may_cut(before: str, after: str) -> bool:
    """False where the second verb may belong to something else than the subject."""
    if _REPORTS.search(before) or not VERB_AT.search(before):
        return False
    if VERB_AT.match(before.split()[-1]):  # "caught and killed the gunman": both have one object
        return False
    if _ARTICLE_BEFORE.search(before) and not _HAS_OBJECT.match(after):  # "a large and heated pool"
        return False
    if re.search(r"\b(?:not|never|n['’]t|which|who|that|whose|where|to \w+)\b[^,]*$", before, re.IGNORECASE):
        return False
    first = re.match(r"(?:\w+ly\s+|also\s+|then\s+|later\s+)*([\w'’]+)\s+([\w'’]+)", after)
    return first is not None and first[2].lower() not in ("and", "or")


def _carried(subject: str, first: str, after: str) -> str:
    """The subject, with the auxiliary of a passive where the second predicate leaves it out."""
    match = _BY_SOMETHING.match(after)
    if match and match[1].lower() not in _NEVER_PASSIVE:
        passive = re.match(
            rf"^{re.escape(subject)}\s+(is|are|was|were|has been|have been|had been)\s+(?:\w+ly\s+)?\w+(?:ed|en|t|d|"
            rf"n|de)\b",
            first,
        )
        if passive:
            return f"{subject} {passive[1]} "
    return f"{subject} "


# ---- tables and lists: what stands around a line


class _Contexts:
    """Column names above table rows and lead-ins above list items, by where a line begins."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, list[str]]] = {}
        """Start of a row -> its end, the names of its columns."""
        self.leads: dict[int, str] = {}
        """Start of an item -> the words before the colon above the list."""

    @classmethod
    def of(cls, response: str) -> _Contexts:
        """Read the lines of a response once."""
        contexts = cls()
        header: list[str] | None = None
        lead = ""
        before: Block | None = None
        for block in blocks(response):
            text = response[block.start : block.end]
            if block.kind == "row":
                if before is None or before.kind != "row":
                    header = _cells(text) if _is_header(response, block) else None
                elif header:
                    contexts.rows[block.start] = (block.end, header)
            elif block.kind == "item" and lead:
                contexts.leads[block.start] = lead
            elif block.kind != "item":
                lead = _lead(text)
            before = block
        return contexts

    def is_told_by_items(self, sentence: Span) -> bool:
        """True for a lead-in that each item of its list repeats."""
        text = clean(sentence.text)
        return text.endswith(":") and any(text.rstrip(": ").endswith(lead) for lead in self.leads.values())

    def claims(self, response: str, sentence: Span) -> list[ExtractedClaim]:
        """Claims of a table row or of a list item that is no sentence; empty for all else."""
        at = next((n for n in (sentence.start, sentence.start - 1) if n in self.rows), None)
        if at is not None:
            return list(_row_claims(response, sentence, self.rows[at][1]))
        lead = self.leads.get(sentence.start)
        if lead and (is_short_answer(sentence.text) or not VERB_AT.search(sentence.text)):
            text = f"{lead} {clean(sentence.text)}"
            return [ExtractedClaim(text, sentence, sentence)]
        return []


def _is_header(response: str, block: Block) -> bool:
    return re.match(r"[^\n]*\n[\s|:]*-{2,}[\s|:\-]*(?:\n|$)", response[block.start : block.end + 400]) is not None


def _cells(row: str) -> list[str]:
    return [clean(cell) for cell in row.strip().strip("|").split("|")]


def _row_claims(response: str, row: Span, header: list[str]) -> Iterator[ExtractedClaim]:
    """One claim a cell: what the column says of the row's first cell."""
    cells = list(re.finditer(r"[^|]+", row.text))
    if len(cells) != len(header) or len(cells) < 2:
        return
    subject = clean(cells[0][0])
    for cell, column in zip(cells[1:], header[1:], strict=True):
        value = clean(cell[0])
        if not value or value in "-–—" or not column or not subject:
            continue
        start = row.start + cell.start() + len(cell[0]) - len(cell[0].lstrip())
        end = row.start + cell.start() + len(cell[0].rstrip())
        is_noun = not column.lower().endswith("ed")
        text = f"The {_as_noun(column)} of {subject} is {value}." if is_noun else f"{subject} {column.lower()} {value}."
        yield ExtractedClaim(text, Span.of(response, start, end), row)


def _as_noun(column: str) -> str:
    return column[0].lower() + column[1:] if column[1:].islower() else column


def _lead(text: str) -> str:
    """The words before a closing colon if they state something about what follows; else nothing."""
    line = clean(text[-300:]).strip()
    if not line.endswith(":"):
        return ""
    last = re.split(r"(?<=[.!?])\s+", line)[-1].rstrip(":").strip()
    announces = re.match(
        r"(?:here|these|those|below|the following|key|summary|note|some|for example)\b", last, re.IGNORECASE
    )
    ends = re.search(
        r"\b(?:following|as follows|below|these \w+|list|summary|steps?|points?|reasons?)$", last, re.IGNORECASE
    )
    return "" if announces or ends or not VERB_AT.search(last) else last
