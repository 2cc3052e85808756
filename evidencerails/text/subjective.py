"""Sentences that no evidence could prove or refute: taste, wishes, feelings, and guesses that only time can settle.

HalluMeasure (EMNLP 2024) has a class of its own for them, `unevaluatable`. What such a wording carries along is checked
all the same: a number, a date, a second clause, or a plain fact behind "I think".
"""

from __future__ import annotations

import re
from typing import Literal

from evidencerails.text.claimable import clean
from evidencerails.text.values import values_of

Subject = Literal["opinion", "wish", "feeling", "guess"]

MAX_WORDS = 25
"""A longer sentence says more than that."""
_TASTE = (
    r"(?:amazing|awesome|awful|beautiful|boring|breathtaking|brilliant|charming|cool|cute|delicious|delightful|"
    r"disappointing|dull|elegant|enchanting|enjoyable|excellent|exciting|exquisite|fabulous|fantastic|fascinating|"
    r"fun|good|gorgeous|great|heart-?warming|horrible|impressive|incredible|inspiring|interesting|lovely|magical|"
    r"magnificent|marvellous|marvelous|memorable|nice|overrated|pleasant|pretty|remarkable|romantic|spectacular|"
    r"splendid|stunning|superb|tasty|terrible|thrilling|ugly|underrated|unforgettable|wonderful)"
)
_DEGREE = r"(?:(?:truly|really|very|quite|so|simply|just|absolutely|pretty|rather|such|also|always) ){0,3}"
_THING = (
    r"(?:place|spot|sight|view|city|town|village|country|experience|time|day|trip|visit|idea|choice|option|thing|"
    r"story|book|novel|film|movie|read|song|album|game|dish|meal|gift|example|one)"
)
_BE = r"(?:is|are|was|were|'s|looks?|looked|feels?|felt|sounds?|sounded|seems?|seemed|tastes?|tasted|remains?)"
_WHO = r"(?:[\w'’-]+ ){1,8}"
_TAIL = r"(?: (?:to|for|in which to) (?:\w+ ?){1,5})?"
_OPINION = re.compile(
    rf"{_WHO}{_BE} {_DEGREE}(?:an? )?{_DEGREE}(?:{_TASTE}(?:(?:,| and|, and) {_TASTE})*)(?: {_THING}{_TAIL})?"
    rf"|{_WHO}{_BE} {_DEGREE}(?:well )?worth (?:a (?:visit|try|trip|look|read)|it|seeing|visiting|reading|watching|"
    r"trying|the (?:wait|effort|trip|money))"
    rf"|what an? {_DEGREE}{_TASTE} \w+"
    r"|(?:it|that|this) (?:really )?(?:depends on|is a (?:matter|question) of) (?:your |one's |personal |individual )*"
    r"(?:taste|tastes|preference|preferences|mood|opinion|perspective)"
    r"|(?:you|everyone|anyone|visitors|readers|people) (?:will|'ll|would|are going to|is going to|are sure to) "
    r"(?:surely |certainly |definitely |absolutely |probably )?(?:love|like|enjoy|adore|hate) (?:it|this|that|them)",
)
_WISH = re.compile(
    r"(?:i|we)(?:'d| would)? (?:really |very much |do |just )?(?:hope|wish)\b.*|(?:let's|let us) hope\b.*|hopefully\b.*"
    r"|may (?:you|your|they|it|he|she)\b.*"
)
_FEELING = re.compile(
    r"i (?:really |truly |just |absolutely |personally |do |also )*(?:love|like|enjoy|adore|prefer|hate|dislike|"
    r"admire|miss|appreciate|feel)\b.*|i(?:'m| am) (?:so |very |really |a big |a huge |such a )*(?:happy|glad|excited|"
    r"sad|proud|curious|fan|fascinated|impressed)\b.*|my (?:personal )?favou?rite\b.*"
)
_GUESS = re.compile(
    r"(?:only )?time (?:will|would) tell\b.*|it remains to be seen\b.*|(?:nobody|no one|who) (?:knows|can say|"
    r"can tell) (?:what|how|where|whether|if)\b.*"
    r"|the future (?:looks|seems|is) (?:bright|uncertain|promising|bleak|open)\b.*"
    r"|i (?:would |'d )?(?:guess|bet|predict|expect|suspect|imagine)\b.*"
)
_FRAME = re.compile(
    r"(?:(?:in my (?:humble |personal |honest )?(?:opinion|view|experience|eyes)|personally|to me|for me|if you ask me|"
    r"as i see it|from my (?:point of view|perspective)|honestly|frankly)[, ]+|(?:i|we) (?:(?:really|personally|"
    r"honestly|do|strongly) )*(?:think|believe|find|feel|would say|'d say|must say|would argue)(?: that)?[, ]+)+"
)
_CARRIES_MORE = re.compile(
    r"\b(?:because|since|as it|which|who|whose|whereas|although|though|unlike|than|but|while)\b|[;:]"
)


def subject_of(claim: str) -> Subject | None:
    """What a claim is about if no evidence could decide it; None for anything that could be true or false.

    "I think the tower is beautiful" is an opinion, "I think the tower was built in 1901" is a statement of fact.
    """
    text = clean(claim)
    bare = re.sub(r"[\s.!…]+$", "", text).lower().replace("’", "'")
    if not bare or len(bare.split()) > MAX_WORDS or _CARRIES_MORE.search(bare):
        return None
    values = values_of(text)
    if values.quantities or values.temporal:
        return None
    bare = re.sub(r"\b(it|that|this|he|she)'s\b", r"\1 is", bare)
    own = _FRAME.sub("", bare, count=1) if _FRAME.match(bare) else bare
    if _OPINION.fullmatch(own):
        return "opinion"
    if len([name for name in values.names if not name.is_initial]) > 1:
        return None  # "I love that Ann Holm left the board of Nordvik" reports an event
    kinds: tuple[tuple[re.Pattern[str], Subject], ...] = ((_WISH, "wish"), (_FEELING, "feeling"), (_GUESS, "guess"))
    found = next((kind for pattern, kind in kinds if pattern.fullmatch(bare)), None)
    return None if found and _EVENT.search(bare) else found


_EVENT = re.compile(
    r"\b(?:that|how) (?!(?:you|it|this|they|i|we)\b)(?:\w+ )*?(?:was|were|is|are|has|have|had|did|\w{3,}ed)\b"
    r"|\b(?:guess|bet|predict|expect|suspect|imagine|feel)\b(?: that)? (?!(?:you|it will|this will|so)\b)\w+ .*"
    r"\b(?:was|were|is|are|has|have|had|\w{3,}ed)\b"
)
"""A fact behind the words: "I love that the bridge was closed", "I guess the mayor resigned"."""
