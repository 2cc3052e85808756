"""The content words of a text, and how many of them another text shares.

In: English text. Out: stems of its words without stop words, numbers, units and months, in which a contradiction often
lies; they are compared as typed values instead (`evidencerails.verdict.model`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from evidencerails.text.temporal import NUMBER_WORDS

_STOP_WORDS = frozenset(
    """a an the this that these those it its he she they him his her hers them their we you i me my our your who whom
    which what when where why how is are was were be been being am do does did has have had having will would can
    could shall should may might must not no nor and or but if then than so as of at by for from in into on onto out
    over to up with about after before between during through under again there here all any both each more most
    other some such only own same too very just also s t yes yeah yep nope nah""".split()  # noqa: SIM905
)
_VALUE_WORDS = frozenset(NUMBER_WORDS) - {"one"} | frozenset(
    """hundred third fourth fifth sixth seventh eighth ninth thousand k million m mn billion bn trillion percent pct
    dollar dollars usd euro euros eur pound pounds gbp km kilometre kilometres kilometer kilometers kms metre metres
    meter meters cm centimetre centimetres centimeter centimeters mile miles mi foot feet ft kg kilogram kilograms
    kilo kilos g gram grams mg milligram milligrams hour hours hr hrs h minute minutes mins seconds secs day days
    week weeks month months year years yr yrs jan january feb february march apr april jun june jul july aug august
    sep sept september oct october nov november dec december""".split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENDINGS = (("ies", 5, "y"), ("ing", 6, ""), ("ed", 5, ""), ("es", 5, ""), ("s", 4, ""), ("ly", 6, ""))
"""Ending, least length of the word, and what replaces the ending."""


@lru_cache(maxsize=50_000)
def stem_of(word: str) -> str:
    """The lower-cased word without the commonest English endings; empty for stop words."""
    word = re.sub(r"['’]\w{1,2}$", "", word)
    if word in _STOP_WORDS or not word:
        return ""
    for ending, least, instead in _ENDINGS:
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def content_of(text: str) -> list[str]:
    """Stems of the content words of a text, in order."""
    return [stem for word in _WORD.findall(text.lower()) if word not in _VALUE_WORDS and (stem := stem_of(word))]
