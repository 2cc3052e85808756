"""Which language a text is in, decided carefully: a wrong guess would leave an English answer unchecked.

Most texts are settled by their function words or their script. Only what is left is given to py3langid, which carries
its model (loaded then, about 100 MB and one second); it is believed only when it is sure. Names, numbers and code are
in no language.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

MIN_LETTERS = 12
"""Fewer letters of an alphabet decide nothing: "Berlin", "No.", "Bonjour"."""
MIN_WORDS = 4
"""Fewer words may be all names: "Real Madrid", "La La Land"."""
MIN_LOWER_WORDS = 2
"""So many words must be written small: a list of names is in no language."""
MIN_SCRIPT_LETTERS = 3
"""A few letters are enough in a script of one language."""
MIN_FOREIGN_LETTERS = 8
"""Letters of another alphabet than the Latin one, from which a text that is mostly written in it is not English."""
MIN_CONFIDENCE = 0.4
"""py3langid's probability from which another language than English is believed."""
MAX_ENGLISH_CONFIDENCE = 0.01
"""...while English has at most this one. Of 24,000 English texts of the evaluation files one was
mistaken with these limits."""
ENGLISH_SHARE = 0.12
"""Share of English function words from which a text is English: others stay below 0.05, English is near 0.4."""
MAX_FOREIGN_ENGLISH_SHARE = 0.08
MAX_CHARACTERS = 4000
"""Characters from the start of a text that are enough to detect its language."""

LANGUAGES = tuple(
    """af ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km
    kn ko lo lt lv mk ml mn mr ms my nb ne nl nn no pa pl ps pt ro ru si sk sl sq sr sv sw ta te th tl tr
    uk ur uz vi zh""".split()  # noqa: SIM905
)
"""Languages that can be detected; rarer ones are mostly mistaken for these."""
_SAME = {"nb": "no", "nn": "no"}

# Words that no other of the common languages spells the same (so not: in, is, was, of, for, an, has, or).
_ENGLISH = frozenset(
    """the and that with from which this these those are were been being their they them she her his him have had having
    would should could will who whom whose when where while what there about after before between because during into
    over under through than then its it by be not but also other such only most more many some any each both you your we
    our said says did does doesn't didn't isn't wasn't""".split()  # noqa: SIM905 - words read better than a list
)
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),  # before Chinese: Japanese is written with both
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("hy", re.compile(r"[\u0530-\u058f]")),
    ("ka", re.compile(r"[\u10a0-\u10ff]")),
)
_NO_LANGUAGE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|(?<!\S)\S+@\S+|(?<![A-Za-z\d_])[A-Za-z_]*[\d_][A-Za-z\d_]*|<[^<>\n]{1,200}>|[{}()\[\];=<>|\\]+",
    re.DOTALL,
)
"""Code, addresses, names with numbers in them: of Latin letters alone, as Chinese sets no space beside a number."""
_LAST_LATIN = 0x24F
_LATIN_EXTENDED = re.compile(r"[\u1e00-\u1eff]")  # Vietnamese
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def detect_language(text: str) -> str | None:
    """ISO 639-1 code of the text's language; None if it cannot be detected."""
    prose = _NO_LANGUAGE.sub(" ", text[:MAX_CHARACTERS])
    words = _WORD.findall(prose)
    letters = sum(map(len, words))
    if not prose.isascii() and (by_script := _by_script(prose, letters)):
        return by_script
    if not words:
        return None
    english = sum(word.lower().replace("’", "'") in _ENGLISH for word in words) / len(words)
    if english >= ENGLISH_SHARE:
        return "en"
    if _is_foreign_alphabet(prose):
        return _by_model(prose, min_confidence=0.0)
    small = sum(word[0].islower() for word in words)
    if (
        letters < MIN_LETTERS
        or len(words) < MIN_WORDS
        or small < MIN_LOWER_WORDS
        or english > MAX_FOREIGN_ENGLISH_SHARE
    ):
        return None
    return _by_model(prose, min_confidence=MIN_CONFIDENCE)


def _is_foreign_alphabet(prose: str) -> bool:
    """Whether most letters are neither Latin nor of a script that `_by_script` knows: Cyrillic, Arabic, Indian ..."""
    letters = [letter for letter in prose if letter.isalpha()]
    foreign = sum(ord(letter) > _LAST_LATIN and not _LATIN_EXTENDED.match(letter) for letter in letters)
    return foreign >= MIN_FOREIGN_LETTERS and foreign * 2 > len(letters)


def _by_script(prose: str, letters: int) -> str | None:
    """The language of a script that only one of them is written in, if it makes up most of the text."""
    for language, script in _SCRIPTS:
        found = len(script.findall(prose))
        # Chinese characters say more than letters do, so a third of the text is most of it.
        if found >= MIN_SCRIPT_LETTERS and found * 3 >= letters:
            return language
    return None


def _by_model(prose: str, min_confidence: float) -> str | None:
    ranked = _identifier().rank(" ".join(prose.split()))
    language, best = ranked[0]
    if language == "en":
        return "en"
    is_sure = best >= min_confidence and dict(ranked).get("en", 0.0) <= MAX_ENGLISH_CONFIDENCE
    return _SAME.get(language, language) if is_sure else None


_loading = threading.Lock()


def _identifier() -> Any:
    with _loading:
        return _load_identifier()


@lru_cache(maxsize=1)
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([code for code in LANGUAGES if code in identifier.labels])
    return identifier


def unknown_language(text: str, languages: Sequence[str]) -> str:
    """The reason `language: xx` if the text is in a language that the model does not know; empty if it can be read."""
    if "*" in languages:
        return ""
    found = detect_language(text)
    return "" if found is None or found in languages else f"language: {found}"


def unknown_script(sentence: str, languages: Sequence[str]) -> str:
    """The reason `language: xx` for a sentence of an answer in a script that the model does not know; else empty.

    One sentence in Latin letters is too short to tell its language.
    """
    if sentence.isascii() or "*" in languages:
        return ""
    prose = _NO_LANGUAGE.sub(" ", sentence[:MAX_CHARACTERS])
    found = _by_script(prose, sum(map(len, _WORD.findall(prose))))
    if found is None and _is_foreign_alphabet(prose):
        found = _by_model(prose, min_confidence=0.0)
    return "" if found is None or found in languages else f"language: {found}"
