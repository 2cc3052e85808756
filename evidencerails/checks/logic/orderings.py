# ruff: noqa: E501 - a pattern reads best in one line
"""Orderings: comparisons in one answer that cannot all be true, as "A > B, B > C, so C > A".

Each comparison is an edge of a directed graph, one graph for each scale (height, age, ...), tense and time named. A path
back to where it began that holds a strict comparison is a contradiction; the last comparison of it in the text is the
finding.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from evidencerails.checks.logic.masks import HIDDEN
from evidencerails.checks.logic.statements import Statement, is_asserted

MAX_COMPARISONS = 400
"""Comparisons of one text that are put together; later ones are left out."""

_SCALES: dict[str, tuple[str, str]] = {
    "height": ("taller higher", "shorter lower"),
    "age": ("older elder", "younger"),
    "size": ("bigger larger greater huger", "smaller tinier littler"),
    "weight": ("heavier", "lighter"),
    "speed": ("faster quicker swifter", "slower"),
    "wealth": ("richer wealthier", "poorer"),
    "length": ("longer", "briefer"),
    "temperature": ("hotter warmer", "colder cooler"),
    "time": ("later newer", "earlier sooner"),
    "strength": ("stronger mightier", "weaker"),
    "quality": ("better", "worse"),
    "distance": ("farther further", "closer nearer"),
    "price": ("pricier costlier dearer", "cheaper"),
    "width": ("wider broader", "narrower"),
    "depth": ("deeper", "shallower"),
    "brightness": ("brighter", "darker dimmer"),
    "loudness": ("louder noisier", "quieter"),
    "intelligence": ("smarter cleverer wiser", "dumber"),
    "hardness": ("harder tougher", "softer"),
    "thickness": ("thicker", "thinner"),
    "fullness": ("fuller", "emptier"),
    "density": ("denser", ""),
    "happiness": ("happier", "sadder"),
    "dryness": ("drier", "wetter"),
}
_DIRECTION = {
    word: (scale, sign)
    for scale, (more, less) in _SCALES.items()
    for sign, words in ((1, more), (-1, less))
    for word in words.split()
}
_DIRECTION |= {"shorter": ("height", -1)}
_SUPERLATIVE = {
    (word[:-1] + "st" if not word.endswith("er") else word[:-2] + "est"): pair for word, pair in _DIRECTION.items()
} | {"best": ("quality", 1), "worst": ("quality", -1)}
_WORDS = "|".join(sorted(_DIRECTION, key=len, reverse=True))
_SUPERLATIVES = "|".join(sorted(_SUPERLATIVE, key=len, reverse=True))
_COPULA = (
    r"(?:is|are|was|were|has been|will be|must be|ran|runs|finished|arrived|scored|came|weighs|costs|stands|looks)"
)
_DEGREE = r"(?:(?:also|even|much|far|slightly|a (?:bit|little|lot)|significantly|considerably|still|clearly|therefore|thus|then|\d[\d.]*\s?(?:cm|m|kg|years?|inches|km|points|percent|%))\s+)*"
_OBJECT = rf"[^\s,.;:!?(){HIDDEN}]+(?:[ \t]+[^\s,.;:!?(){HIDDEN}]+){{0,3}}"
_THAN = re.compile(
    rf"(?:(?P<copula>{_COPULA})\s+)?(?P<neg>not\s+|never\s+)?{_DEGREE}"
    rf"(?:(?P<word>{_WORDS})|(?P<more>more|less)\s+(?P<adjective>[a-z]{{3,20}}(?:ly)?))\s+than\s+(?=(?P<object>{_OBJECT}))",
    re.IGNORECASE,
)
_AS = re.compile(
    rf"(?P<copula>{_COPULA})\s+(?:just\s+|exactly\s+)?as\s+(?P<adjective>tall|old|big|large|heavy|fast|rich|long|hot|strong|good|expensive|wide|deep|smart)\s+as\s+(?=(?P<object>{_OBJECT}))",
    re.IGNORECASE,
)
_AS_SCALES = {
    "tall": "height",
    "old": "age",
    "big": "size",
    "large": "size",
    "heavy": "weight",
    "fast": "speed",
    "rich": "wealth",
    "long": "length",
    "hot": "temperature",
    "strong": "strength",
    "good": "quality",
    "expensive": "price",
    "wide": "width",
    "deep": "depth",
    "smart": "intelligence",
}
_SEQUENCE = re.compile(
    rf"(?P<copula>is|are|was|were|came|comes|happened|happens|occurred|occurs|arrived|finished|took place|goes|was born|was built|was founded)\s+"
    rf"(?P<word>before|after)\s+(?=(?P<object>{_OBJECT}))",
    re.IGNORECASE,
)
_MOST = re.compile(
    rf"(?P<copula>is|was|must be)\s+(?:therefore\s+|thus\s+|then\s+|also\s+)?the\s+(?P<word>{_SUPERLATIVES})\s*(?:of\s+(?:all|the\s+(?:three|four|five|two|group)|them(?:\s+all)?|these)|overall|among\s+them)?\s*(?=[.,;!\n]|$)",
    re.IGNORECASE,
)
_STOPS_SUBJECT = frozenset(
    """and so therefore thus hence because since while but that then which means if who though although as conclude
    concludes says consequently accordingly know knows given follows implies whereas or also""".split()  # noqa: SIM905
)
_STOPS_OBJECT = frozenset(
    """and so but which who that because since in on at by when while if then therefore thus hence as for with is are
    was were or to from during although though after before than too also""".split()  # noqa: SIM905
)
_NOBODY = frozenset(
    """it he she they we i you this that these those him her them one ones others other any all most everyone anyone
    ever expected usual average before me us there what who which each both some many average normal necessary possible
    ours theirs mine yours his hers""".split()  # noqa: SIM905
)
_ARTICLES = frozenset("the a an his her its their our my your".split())  # noqa: SIM905
_TIME = re.compile(
    r"\b(?:in|by|since|until|before|after|during)\s+(?:1\d|20)\d\d\b|\b(?:now|today|nowadays|currently|previously|formerly|"
    r"once|yesterday|tomorrow|last (?:year|month|week)|next (?:year|month|week)|used to|at first|initially|later on|in (?:winter|summer|spring|"
    r"autumn|january|february|march|april|may|june|july|august|september|october|november|december))\b",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(rf"[.!?;:\n(){HIDDEN}]|,\s")
_SENTENCE_START = re.compile(rf"[.!?](?=\s)|[\n{HIDDEN}]")


class Comparison(NamedTuple):
    """One comparison: `greater` is above `lesser`, or at least as high if it is not strict."""

    greater: str
    lesser: str
    scale: tuple[str, ...]
    is_strict: bool
    start: int
    end: int


def contradictory_orderings(text: str) -> Iterator[Statement]:
    """Every comparison of a masked text; one that the earlier ones rule out is wrong."""
    graphs: dict[tuple[str, ...], dict[str, list[Comparison]]] = defaultdict(lambda: defaultdict(list))
    for comparison in sorted(_comparisons(text), key=lambda c: c.start)[:MAX_COMPARISONS]:
        graph = graphs[comparison.scale]
        path = _path(graph, comparison.lesser, comparison.greater)
        is_against = path is not None and (comparison.is_strict or any(step.is_strict for step in path))
        if is_against and path is not None:
            path_text = ", ".join(f"{s.greater} {'above' if s.is_strict else 'not below'} {s.lesser}" for s in path)
            reason = f"against what the answer says before ({path_text}), on one scale: {comparison.scale[0]}"
            yield Statement("ordering", comparison.start, comparison.end, False, reason)
        else:
            graph[comparison.greater].append(comparison)
            yield Statement("ordering", comparison.start, comparison.end, True)
    yield from _superlatives(text, graphs)


def _path(graph: dict[str, list[Comparison]], start: str, goal: str) -> list[Comparison] | None:
    """Comparisons that lead from one name down to another, one with a strict step if there is any; None if none do."""
    found: list[Comparison] | None = None
    waiting: deque[tuple[str, bool, tuple[Comparison, ...]]] = deque([(start, False, ())])
    seen = {(start, False)}
    while waiting:
        name, is_strict, path = waiting.popleft()
        if name == goal and path:
            if is_strict:
                return list(path)
            found = found or list(path)
        for step in graph.get(name, ()):
            state = (step.lesser, is_strict or step.is_strict)
            if state not in seen:
                seen.add(state)
                waiting.append((*state, (*path, step)))
    return found


# ---- reading


def _comparisons(text: str) -> Iterator[Comparison]:
    for pattern in (_THAN, _AS, _SEQUENCE):
        for match in islice(pattern.finditer(text), MAX_COMPARISONS):
            found = _read(text, match)
            if found is not None:
                yield from found


def _read(text: str, match: re.Match[str]) -> list[Comparison] | None:
    subject, start = _subject(text, match.start(), has_copula=bool(match["copula"]))
    other, length = _object(match["object"])
    if not subject or not other or subject == other:
        return None
    end = match.start("object") + length
    if not is_asserted(text, start, end):
        return None
    names = match.re.groupindex
    place = (*_context(text, start, match["copula"] or ""), _qualifier(text, end))
    if match.re is _AS:
        same = (_AS_SCALES[match["adjective"].lower()], *place)
        return [
            Comparison(subject, other, same, False, start, end),
            Comparison(other, subject, same, False, start, end),
        ]
    scale, sign = _direction(match)
    is_negated = "neg" in names and bool(match["neg"])
    sign = -sign if is_negated else sign
    greater, lesser = (subject, other) if sign > 0 else (other, subject)
    return [Comparison(greater, lesser, (scale, *place), not is_negated, start, end)]


def _direction(match: re.Match[str]) -> tuple[str, int]:
    word = (match["word"] or "").lower()
    if match.re is _SEQUENCE:
        return f"sequence:{match['copula'].lower()}", 1 if word == "after" else -1
    if word:
        return _DIRECTION[word]
    adjective = match["adjective"].lower()
    scale = "price" if adjective in ("expensive", "costly") else adjective
    return scale, 1 if match["more"].lower() == "more" else -1


def _context(text: str, start: int, copula: str) -> tuple[str, str]:
    """Tense and time of a comparison: what was and what is need not agree."""
    sentence_start = max((m.end() for m in _SENTENCE_START.finditer(text, max(0, start - 300), start)), default=0)
    next_end = _SENTENCE_START.search(text, start)
    sentence = text[sentence_start : next_end.start() if next_end else len(text)][:600]
    time = _TIME.search(sentence)
    tense = "past" if copula.lower() in ("was", "were", "ran", "finished", "arrived", "scored", "came") else ""
    return tense, time[0].lower() if time else ""


_QUALIFIER = re.compile(r"\s+((?:in|for|on|at|among|during|when|with|under|if|as)\s[^,.;!?\n]{1,60})")


def _qualifier(text: str, end: int) -> str:
    """What a comparison is limited to: "in Oslo", "for students"."""
    found = _QUALIFIER.match(text, end)
    return found[1].lower() if found else ""


def _subject(text: str, end: int, *, has_copula: bool) -> tuple[str, int]:
    """The name that ends at a place, and where it begins; empty if it is nobody in particular."""
    window = max(0, end - 80)
    clause = max((m.end() for m in _CLAUSE_START.finditer(text, window, end)), default=window)
    words = [(m[0], m.start()) for m in re.finditer(r"\S+", text[clause:end])]
    kept: list[tuple[str, int]] = []
    for word, place in reversed(words):
        if word.strip("*_\"'“”").lower() in _STOPS_SUBJECT or len(kept) == 4:
            break
        kept.insert(0, (word, place))
    if not has_copula and len(kept) != len(words) and not kept:
        return "", end
    name = _normal([word for word, _ in kept])
    return (name, clause + kept[0][1]) if name and kept else ("", end)


def _object(raw: str) -> tuple[str, int]:
    """The name at the beginning of what follows "than", and how long it is."""
    kept, length = [], 0
    for match in re.finditer(r"\S+", raw):
        if match[0].strip("*_\"'“”").lower() in _STOPS_OBJECT:
            break
        kept.append(match[0])
        length = match.end()
    return _normal(kept), length


def _normal(words: Sequence[str]) -> str:
    """A name for comparing: small letters, no articles, no marks; empty for pronouns and quantities."""
    bare = [re.sub(r"^[\W_]+|[\W_]+$", "", word.lower()) for word in words]
    named = [word for word in bare if word and word not in _ARTICLES]
    bare = [re.sub(r"['’]s$", "", word) for word in named or bare if word]  # "A" may be a name
    if not bare or any(word in _NOBODY for word in bare) or all(re.fullmatch(r"[\d.,]+", word) for word in bare):
        return ""
    return " ".join(bare)


def _superlatives(text: str, graphs: dict[tuple[str, ...], dict[str, list[Comparison]]]) -> Iterator[Statement]:
    """ "So Ann is the tallest", where somebody stands above her."""
    for match in islice(_MOST.finditer(text), MAX_COMPARISONS):
        subject, start = _subject(text, match.start(), has_copula=True)
        if not subject or not is_asserted(text, start, match.end()):
            continue
        scale, sign = _SUPERLATIVE[match["word"].lower()]
        graph = graphs.get((scale, *_context(text, start, match["copula"]), ""))
        if graph is None:
            continue
        edges = [step for steps in graph.values() for step in steps if step.is_strict]
        against = next((s for s in edges if subject == (s.lesser if sign > 0 else s.greater)), None)
        known = any(subject in (step.greater, step.lesser) for step in edges)
        if against is not None:
            reason = f"against what the answer says ({against.greater} above {against.lesser}), on one scale: {scale}"
            yield Statement("ordering", start, match.end(), False, reason)
        elif known:
            yield Statement("ordering", start, match.end(), True)
