"""What in a response makes a claim, and what is left alone: courtesy, refusals, questions, offers, reasoning, code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from evidencerails.exchange import Span
from evidencerails.text.json_answers import fields_of, json_parts
from evidencerails.text.phrases import COURTESY, NO_CLAIM, is_small_talk
from evidencerails.text.sentences import Block, Splitter, block_sentences, blocks, sentences_by
from evidencerails.text.values import values_of
from evidencerails.text.verbs import SENTENCE, VERB_AT

MAX_SHORT_ANSWER_WORDS = 6
"""A sentence of at most so many words, without a verb, is read together with the question it answers."""

_TAGS = "think|thinking|thought|reasoning|reflection|scratchpad|analysis|chain_of_thought"
_TAG = re.compile(rf"<(/?)({_TAGS})>|<\|(begin|end)_of_thought\|>", re.IGNORECASE)


def without_reasoning(text: str) -> list[Span]:
    """What is left of a response without its reasoning traces (`<think>…</think>` and the like), in order.

    Text before a closing tag that was never opened is reasoning too: some chat templates put the opening tag into the
    prompt. An opening tag that is never closed cuts nothing, and nothing is cut where no text would be left: that is
    what the reader sees, so it is checked.
    """
    if not _TAG.search(text):
        return [Span.of(text, 0, len(text))] if text.strip() else []
    return _outside(text) or [Span.of(text, 0, len(text))]


def is_reasoning_alone(text: str) -> bool:
    """True for a reasoning trace beside which nothing is said, or not yet."""
    return bool(_TAG.search(text)) and not _outside(text)


def _outside(text: str) -> list[Span]:
    kept: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    last = 0
    for match in _TAG.finditer(text):
        is_closing = match[1] == "/" or match[3] == "end"
        name = (match[2] or "thought").lower()
        if not is_closing:
            opened = opened or (match.start(), name)
        elif opened is None and not kept:
            last = match.end()
        elif opened is not None and opened[1] == name:
            kept.append((last, opened[0]))
            last, opened = match.end(), None
    kept.append((last, len(text)))
    return [Span.of(text, start, end) for start, end in kept if text[start:end].strip()]


def claim_sentences(text: str, splitter: Splitter | None = None) -> list[Span]:
    """The sentences of a response that make a claim, in order, with offsets in the whole response.

    Args:
        splitter: cuts the prose, in which reasoning is left out and data are blank lines, in place of our rules.

    Raises:
        InputError: what the splitter gives is not the text's own sentences.
    """
    found = []
    for part in without_reasoning(text):
        data = json_parts(part.text) if "{" in part.text else []
        prose = _blanked(part.text, data) if data else part.text
        stated = (s for s in (_stated_by(splitter, prose) if splitter else _prose(prose)) if makes_claim(s.text))
        filled = (span for span in data if fields_of(span.text))
        for span in sorted([*filled, *stated], key=lambda span: span.start):
            found.append(Span.of(text, part.start + span.start, part.start + span.end))
    return found


def _stated_by(splitter: Splitter, prose: str) -> Iterator[Span]:
    """The sentences of a splitter; of a heading that states something, its words."""
    for sentence in sentences_by(splitter, prose):
        is_heading = sentence.text.startswith("#")
        words = _words_of_label(prose, Block("heading", sentence.start, sentence.end)) if is_heading else sentence
        yield words if _states(words.text) else sentence


def _blanked(text: str, taken: list[Span]) -> str:
    """The text with the taken parts as empty lines; offsets stay."""
    for span in taken:
        text = text[: span.start] + "\n" * (span.end - span.start) + text[span.end :]
    return text


def bare_labels(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Headings, captions, alt texts and heads of tables that state nothing by their form, of two words or more, in
    order: "## Eiffel Tower, Rome".

    Evidence need not have them, but a right one does not contradict it.

    Args:
        sentences: what counts as a sentence already, such as a splitter's.
    """
    found = []
    for part in without_reasoning(text):
        prose = _blanked(part.text, json_parts(part.text)) if "{" in part.text else part.text
        labels = (_words_of_label(prose, block) for block, is_label in _labelled_blocks(prose) if is_label)
        bare = (span for span in labels if not _states(span.text) and len(_WORD.findall(span.text)) > 1)
        found += [Span.of(text, part.start + span.start, part.start + span.end) for span in bare]
    return [span for span in found if not any(span.start < one.end and one.start < span.end for one in sentences)]


def _prose(text: str) -> Iterator[Span]:
    for block, is_label in _labelled_blocks(text):
        if not is_label:
            yield from block_sentences(text, block)
        elif _states((words := _words_of_label(text, block)).text):
            yield from block_sentences(text, Block("row", words.start, words.end))


def _labelled_blocks(text: str) -> Iterator[tuple[Block, bool]]:
    """The blocks that are no code, each with True for a label, which names rather than states, as a rule: headings,
    titles, captions, alt texts, heads of tables."""
    parts = list(blocks(text))
    for block, following in zip_longest(parts, parts[1:]):
        line = text[block.start : block.end].strip()
        if block.kind == "code" and not _reads_as_prose(line):
            continue
        is_caption = block.kind == "heading" or _CAPTION.match(line) or _IMAGE.fullmatch(line)
        yield block, bool(is_caption) or (following is not None and _is_title_or_head(text, block, following))


_LABEL_MARK = re.compile(
    r"\s*(?:#{1,6}\s+)?(?:!\[)?[*_]{0,2}(?:(?:figure|fig\.|table|chart|image|photo|step|part|section)\s*[\d.]*[a-z]?\s*[:.–—-]\s+"
    r"|\d+(?:\.\d+)*[.)]?\s+(?=(?-i:[A-Z])))?",
    re.IGNORECASE,
)
"""What stands before the words of a heading, a caption or an alt text."""
_IMAGE = re.compile(r"!\[[^\[\]\n]*\]\([^()\s]*\)")
_CAPTION = re.compile(r"[*_]{0,2}(?:figure|fig\.|table|chart|image|photo)\s*\d+[a-z]?\s*[:.–—-]", re.IGNORECASE)
_ASKS_OR_INSTRUCTS = re.compile(
    r"(?:how|what|why|when|where|who|which|whether|if|getting|using|setting|about|frequently)\b", re.IGNORECASE
)


def _words_of_label(text: str, block: Block) -> Span:
    """A label without its marks: "## Refunds take 20 business days", "![The bridge, opened 1875](b.png)"."""
    mark = _LABEL_MARK.match(text, block.start, block.end)
    start, end = mark.end() if mark else block.start, block.end
    if (link := text.find("](", start, end)) >= 0:
        end = link
    return Span.of(text, start, end)


def _states(label: str) -> bool:
    """True for a label that states something by its form: it has a verb, or a value among several words."""
    words = clean(label).strip("#*_|: \t")
    has_value = len(words.split()) >= 4 and re.search(r"\d", words) and not _counts_what_follows(words)
    return len(words.split()) >= 3 and not _ASKS_OR_INSTRUCTS.match(words) and bool(SENTENCE.search(words) or has_value)


def _counts_what_follows(label: str) -> bool:
    """True for a label whose one value counts what stands below it: "3 things to know", "Top 5 sights in Halden"."""
    values = values_of(label)
    if values.temporal or len(values.quantities) != 1 or values.quantities[0].kind != "count":
        return False
    return len(label[: values.quantities[0].start].split()) <= 1


_CAPITALISED = re.compile(r"\s*(?:[-*] )?(?:[A-Z]|[A-Z][a-z]+) ")
_CODE_SIGNS = re.compile(r"[={}<>;\\]|\w\(|^\s*(?:#|//|/\*|\*|--|\$|>>>)")


def _reads_as_prose(line: str) -> bool:
    """True for a sentence that stands in a code block: a fence hides no claim."""
    if len(line.split()) < 4 or _CODE_SIGNS.search(line):
        return False
    return line.rstrip()[-1:] in ".!?" or (bool(_CAPITALISED.match(line) and SENTENCE.search(line)))


def _is_title_or_head(text: str, block: Block, following: Block) -> bool:
    """True for the head of a table, and for a short line without a full stop above a longer paragraph: "Early life"."""
    if block.kind == following.kind == "row":
        return re.search(r"\n[\s|:]*-{2,}[\s|:\-]*\n", text[block.end : following.start + 1]) is not None
    if block.kind != "prose" or following.kind == "row" or following.end - following.start < 40:
        return False
    line = text[block.start : block.end].strip()
    bare = line.strip("*_: ")
    is_short = len(bare.split()) <= MAX_SHORT_ANSWER_WORDS and bare[-1:].isalpha() and not re.search(r"\d|:", bare)
    is_bold = line.startswith("**") and line.rstrip(":").endswith("**")
    return is_short and bare[:1].isupper() and (is_bold or not VERB_AT.search(bare))


_CLOSERS = "\"'”’»)]*_ \t\r\n"
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def makes_claim(sentence: str) -> bool:
    """True if the sentence states something that can be true or false.

    Short answers do ("Lyon.", "1889", "Yes"). Greetings, thanks, offers, refusals, statements that nothing is known,
    pure questions, headings and lead-ins do not, unless a clause of the sentence also states something.
    """
    line = clean(sentence).strip()
    if not any(c.isalnum() for c in line) or re.match(r"#{1,6}\s", line):
        return False
    bare = line.rstrip(_CLOSERS).lstrip(_CLOSERS).lower().replace("’", "'")
    if not bare or _NUMBERING.fullmatch(bare):
        return False
    if _BY_THE_WAY.search(line):
        return True
    if bare[-1:] in "?？":
        return bool(_LOADED_QUESTION.search(bare)) or _told_before_question(bare) is not None
    if bare[-1:] in ":：" and _is_lead_in(bare.rstrip(":： ")):
        return False
    if not _some_clause_claims(bare.rstrip(".!…:：。！ ")):
        return False
    return is_bare_reply(line) or not is_small_talk(line)


_NUMBERING = re.compile(r"\(?(?:step |part |section )?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.):]")
_LOADED_QUESTION = re.compile(
    r"^(?:did|do) you know (?:that|the|it|he|she|they|there)\b"
    r"|^(?:do you realise|do you realize|can you believe|would you believe|have you heard|are you aware"
    r"|who (?:would|could) have (?:thought|guessed|known)|who knew) (?:that|the|it|he|she|they|there)(?: \S+){3}"
    r"|^(?:is|was)n't it [\w ]{1,30} that\b"
    r"|^(?:is|are|was|were|do|does|did|has|have|had)n't (?!(?:you|that|this|it|we|i|there)\b)"
)
"""Questions that state what they ask: "Isn't the tower in Lyon?"."""
_PAUSE = re.compile(r"\s*[,;–—]\s+|\s+-\s+")
_ASKS_OR_SUPPOSES = re.compile(
    r"\W*(?:(?:and|but|so|well|or) )?(?:(?:who|what|when|where|which|why|how|whose|is|are|do|does|did|can|could|would|"
    r"will|have|has|should|shall|may|was|were|any|ever|if|since|because|as|given|assuming|unless|until|while)(?:n't)?"
    r"|you (?:mentioned|asked|said|wrote|seem))\b"
)
_ASKED = re.compile(
    r"(?:(?:and|but|so) (?:who|where|when|which)\b|(?:(?:and|but|so) )?(?:what|why|how)\b"
    r"|(?:(?:and|but|so) )?(?:is|are|do|does|did|can|could|would|will|have|has|should|shall|may|was|were)(?:n't)?"
    r" (?:you|we|i|it|he|she|they|there|this|that|anyone|anybody)\b"
    r"|which \w+ (?:is|are|do|does|did|can|could|would|will)\b"
    r"|(?:who|where|when|which) (?:is|are|do|does|did|can|could|would|will|was|were) (?:you|it|he|she|they|we|i)\b)"
)
"""A question of its own; "which was late?" may say more of what stands before."""


def _told_before_question(sentence: str) -> tuple[str, str] | None:
    """The statement and the question of one sentence with both: "It opened in 1962, would you like to see it?"."""
    pauses = list(_PAUSE.finditer(sentence))
    if not pauses:
        return None
    stated, asked = sentence[: pauses[-1].start()], sentence[pauses[-1].end() :]
    low = stated.lower().replace("’", "'")
    is_sentence = SENTENCE.search(low) or (VERB_AT.search(low) and len(low.split()) > 3)
    if not is_sentence or _ASKS_OR_SUPPOSES.match(low):
        return None
    return (stated, asked) if _some_clause_claims(low) else None


def without_question(sentence: str) -> str:
    """A statement without the question behind it; the whole sentence if it has no such two parts, or if the question
    states something as well ("did you know that ...")."""
    parts = _told_before_question(sentence) if sentence.rstrip(_CLOSERS)[-1:] in ("?", "？") else None
    if parts is None:
        return sentence
    asked = parts[1].lower().replace("’", "'")
    return parts[0] if _ASKED.match(asked) and not _LOADED_QUESTION.search(asked) else sentence


_CLAUSE_SPLIT = re.compile(
    r",\s+(?=(?:i|we) (?:just |only |do |also )*(?:know|think|believe|heard|read|guess)\b)"
    r"|\s+(?:(?:other than|except)(?: that)?|more than that)\s+(?=(?:it|he|she|they|the|that|there)\b)"
    r"|,?\s+(?:but|however|although|though|because|since|yet|whereas|and(?=\s+(?:the|it|he|she|they|there|this)\b))"
    r"(?:,\s*|\s+)|[;；]\s*|\s+[–—-]\s+|[,:]\s+(?=(?:the|it|he|she|they|there)\b)"
)


_BY_THE_WAY = re.compile(
    r",\s+(?:which|who|whose \w+) (?:is|are|was|were|has|have|had|can|will|\w{3,}(?:ed|s))\b(?![^,]*,? or )(?=.*\d)"
)
"""A figure that an offer, a refusal or a question states by the way: "Do you mean Lyon, which was founded in 43?\""""


def _some_clause_claims(bare: str) -> bool:
    """True if what is left of a clause without courtesy is none of the wordings that state nothing."""
    for clause in filter(None, (part.strip(" ,") for part in _CLAUSE_SPLIT.split(bare))):
        at = 0
        while match := COURTESY.match(clause, at):
            at = match.end()
        rest = clause[at:]
        if rest and not any(p.fullmatch(clause) or p.fullmatch(rest) for p in NO_CLAIM):
            return True
    return False


_KNOWN = re.compile(
    r"(?:(?P<before>.{2,120}?)(?:,? (?:but|however)| ?,) )?i (?:(?:do|also|only|just|really) )*"
    r"(?:(?:know|think|believe|guess)(?: that)?|(?:read|heard|learned|learnt|remember|understand) that)[ ,]+"
    r"(?!(?:how|what|who|where|why|if|whether|when|which|about|of|so|not)\b)(?=\S+ \S+ \S+)",
    re.IGNORECASE,
)
"""What says no more than that its speaker knows the rest: "I'm not sure, but I know that ..."."""


def without_frame(sentence: str) -> str:
    """The part of a sentence that is claimed: "I've never seen it, but I know that he directed it" claims that he did.

    The whole sentence, if what stands before its "but" states something as well, or the rest is no sentence.
    """
    match = _KNOWN.match(sentence)
    if match is None:
        return sentence
    before = match["before"]
    if before and not is_bare_reply(before) and makes_claim(before):
        return sentence
    rest = sentence[match.end() :]
    return rest if SENTENCE.search(rest) else sentence


_LEADS = re.compile(
    r"^(?:here|below|these|those|some|in summary|summary|key|to summari[sz]e|for example|note|e\.g|i\.e)\b"
    r"|\b(?:following|as follows|below|listed here|these|steps?|include|includes|such as|are|is|answer|summary)$"
)
_PURPOSE = re.compile(r"(?:in order )?to(?: (?!(?:you|we|they|costs?|takes?|needs?|requires?|means)\b)[^\s,;:]+)+")
"""A purpose without a main clause: "To change your bank details:"."""


def _is_lead_in(bare: str) -> bool:
    """True for a line that only announces what comes after its colon."""
    words = _WORD.findall(bare)
    if _PURPOSE.fullmatch(bare) and not SENTENCE.search(bare):
        return True
    return len(words) <= 4 or (len(words) <= 20 and bool(_LEADS.search(bare)) and not re.search(r"\d", bare))


def is_short_answer(sentence: str) -> bool:
    """True for an answer that is no sentence of its own ("Lyon.", "In 1889", "Yes", "No, it is not."): it needs its
    question."""
    words = _WORD.findall(sentence)
    if not words or len(words) > MAX_SHORT_ANSWER_WORDS:
        return False
    is_yes_or_no = words[0].lower() in ("yes", "no", "yeah", "nope") and len(words) <= 3
    return is_yes_or_no or is_bare_reply(sentence) or not SENTENCE.search(sentence)


_BARE_REPLY = re.compile(
    r"(?=\w)(?:(?:yes|no|yeah|yep|nope|nah)\b[\s,.!–—-]*)?"
    r"(?:(?:it|he|she|they|i|we|you|that|this|there|one) (?:is|are|was|were|am|has|have|had|do|does|did|can|could|will|"
    r"would|shall|should|may|might|must)(?: not|n't)?|(?:it|he|she|they|we|you|that|there)'(?:s|re) not)?[\s.!]*",
    re.IGNORECASE,
)


def is_bare_reply(sentence: str) -> bool:
    """True for a yes or no without any word of its own: "Yes", "No, it is not.", "She did."."""
    return _BARE_REPLY.fullmatch(sentence.replace("’", "'").strip(_CLOSERS)) is not None


_BRACKET, _MARK = re.compile(r"\["), re.compile(r"[*_`]")
_MARKUP = (
    (_BRACKET, re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)"), r"\1"),  # [text](link)
    (
        _MARK,
        re.compile(r"(?<!\w)(?:\*\*|__)(?=\S)|(?<=\S)(?:\*\*|__)(?!\w)|(?<!\S)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"),
        "",
    ),
    (_BRACKET, re.compile(r"\s?\[(?:\d{1,3}(?:\s?[,–-]\s?\d{1,3})*|citation needed)\]"), ""),  # [1], [2, 3]
)
_SPACES = re.compile(r"\s\s+|[^\S ]")
_SPLIT_NOT = re.compile(
    r"(?:(?<=\bdo)|(?<=\bdoes)|(?<=\bdid)|(?<=\bis)|(?<=\bare)|(?<=\bwas)|(?<=\bwere)|(?<=\bca)|(?<=\bwo)"
    r"|(?<=\bcould)|(?<=\bwould)|(?<=\bshould)|(?<=\bhas)|(?<=\bhave)|(?<=\bhad)|(?<=\bmust)) n['’]t\b",
    re.IGNORECASE,
)
_SPLIT_APOSTROPHE = re.compile(
    r"(?<=\w) ['’] (?=(?:s|t|m|re|ve|d|ll)\b)"
    r"|(?:(?<=\bi)|(?<=\bit)|(?<=\bhe)|(?<=\bshe)|(?<=\bwe)|(?<=\bthey)|(?<=\byou)|(?<=\bthat)|(?<=\bthere)) ['’]"
    r"(?=(?:s|m|re|ve|d|ll)\b(?!-))",
    re.IGNORECASE,
)


def clean(text: str) -> str:
    """The text as a model should read it: no control or invisible characters, no markdown signs, single spaces; words
    that a tokeniser took apart ("isn ' t") are whole."""
    is_plain = text.isascii() and text.isprintable()
    if not is_plain:
        text = "".join(_shown(c) for c in unicodedata.normalize("NFC", text))
    for sign, pattern, replacement in _MARKUP:
        if sign.search(text):  # most texts have none, and looking for one sign is far quicker than for all it may do
            text = pattern.sub(replacement, text)
    if " '" in text or " ’" in text or " n'" in text or " n’" in text:
        text = _SPLIT_NOT.sub("n't", _SPLIT_APOSTROPHE.sub("'", text))
    if text.lstrip().startswith("|"):
        text = ", ".join(cell.strip() for cell in text.strip().strip("|").split("|") if cell.strip())
    if not is_plain or "  " in text:
        text = _SPACES.sub(" ", text)
    return text.strip()


def _shown(char: str) -> str:
    if char.isspace() or char == "\x00":
        return " "
    if "！" <= char <= "～":
        return chr(ord(char) - ord("！") + ord("!"))  # full-width forms: "１４" is 14
    return "" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co") else char
