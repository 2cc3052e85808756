"""Orderings: comparisons in one answer that cannot all be true, as "A > B, B > C, so C > A".

In: a masked text. Out: a `Statement` for each comparison. Each is an edge of a directed graph, one graph for each scale
(height, age, ...), tense and time named. A path back to where it began is a contradiction; the last comparison of it in
the text is the finding.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from evidencerails.checks.logic.statements import HIDDEN, Statement, is_asserted

MAX_COMPARISONS = 400
"""Comparisons of one text that are put together; later ones are left out."""

_SCALES = """height: taller higher / shorter lower; age: older elder / younger; size: bigger larger greater / smaller;
weight: heavier / lighter; speed: faster quicker / slower; wealth: richer wealthier / poorer; length: longer /;
temperature: hotter warmer / colder cooler; time: later newer / earlier sooner; strength: stronger / weaker;
quality: better / worse; distance: farther further / closer nearer; price: pricier costlier dearer / cheaper;
width: wider broader / narrower; depth: deeper / shallower; brightness: brighter / darker dimmer;
loudness: louder noisier / quieter; intelligence: smarter cleverer wiser /; hardness: harder tougher / softer;
thickness: thicker / thinner; density: denser /"""
_DIRECTIONS = {
    word: (scale.split(":")[0].strip(), sign)
    for scale in _SCALES.split(";")
    for sign, part in zip((1, -1), scale.split(":")[1].split("/"), strict=True)
    for word in part.split()
}
_SUPERLATIVES = {re.sub(r"er$", "est", word): pair for word, pair in _DIRECTIONS.items()}
_SUPERLATIVES |= {"best": ("quality", 1), "worst": ("quality", -1)}
_COPULA = (
    r"(?:is|are|was|were|has been|will be|must be|ran|runs|finished|arrived|scored|came|weighs|costs|stands|looks)"
)
_DEGREE = (
    r"(?:(?:also|even|much|far|slightly|a (?:bit|little|lot)|significantly|considerably|still|clearly|therefore|thus|"
    r"then|\d[\d.]*\s?(?:cm|m|kg|years?|inches|km|points|percent|%))\s+)*"
)
_OBJECT = rf"[^\s,.;:!?(){HIDDEN}]+(?:[ \t]+[^\s,.;:!?(){HIDDEN}]+){{0,3}}"
_THAN = re.compile(
    rf"(?:(?P<copula>{_COPULA})\s+)?(?P<negation>not\s+|never\s+)?{_DEGREE}(?:(?P<word>{'|'.join(_DIRECTIONS)})"
    rf"|(?P<more>more|less)\s+(?P<adjective>[a-z]{{3,20}}(?:ly)?))\s+than\s+(?=(?P<object>{_OBJECT}))",
    re.IGNORECASE,
)
_MOST = re.compile(
    rf"(?P<copula>is|was|must be)\s+(?:therefore\s+|thus\s+|then\s+|also\s+)?the\s+(?P<word>{'|'.join(_SUPERLATIVES)})"
    r"\s*(?:of\s+(?:all|the\s+(?:three|four|five|two|group)|them(?:\s+all)?|these)|overall|among\s+them)?\s*(?=[.,;!\n]|$)",
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
    r"once|yesterday|tomorrow|last (?:year|month|week)|next (?:year|month|week)|used to|at first|initially|later on|"
    r"in (?:winter|summer|spring|autumn|january|february|march|april|may|june|july|august|september|october|november|"
    r"december))\b",
    re.IGNORECASE,
)
_QUALIFIER = re.compile(r"\s+((?:in|for|on|at|among|during|when|with|under|if|as)\s[^,.;!?\n]{1,60})")
_CLAUSE_START = re.compile(rf"[.!?;:\n(){HIDDEN}]|,\s")
_SENTENCE_START = re.compile(rf"[.!?](?=\s)|[\n{HIDDEN}]")

Scale = tuple[str, ...]
"""Name of the scale, tense, time, and what the comparison is limited to: other comparisons need not agree with it."""


class Comparison(NamedTuple):
    """One comparison: `greater` is above `lesser`."""

    greater: str
    lesser: str
    scale: Scale
    start: int
    end: int


def contradictory_orderings(text: str) -> Iterator[Statement]:
    """Every comparison of a masked text; one that the earlier ones rule out is wrong."""
    graphs: dict[Scale, dict[str, list[Comparison]]] = defaultdict(lambda: defaultdict(list))
    for comparison in sorted(_comparisons(text), key=lambda c: c.start)[:MAX_COMPARISONS]:
        graph = graphs[comparison.scale]
        path = _path(graph, comparison.lesser, comparison.greater)
        if path:
            steps = ", ".join(f"{step.greater} above {step.lesser}" for step in path)
            reason = f"against what the answer says before ({steps}), on one scale: {comparison.scale[0]}"
            yield Statement("ordering", comparison.start, comparison.end, False, reason)
        else:
            graph[comparison.greater].append(comparison)
            yield Statement("ordering", comparison.start, comparison.end, True)
    yield from _superlatives(text, graphs)


def _path(graph: dict[str, list[Comparison]], start: str, goal: str) -> list[Comparison]:
    """Comparisons that lead from one name down to another, as few as can be; empty if none do."""
    paths: dict[str, list[Comparison]] = {start: []}
    waiting = [start]
    for name in waiting:  # grows while it is read
        for step in graph.get(name, ()):
            if step.lesser not in paths:
                paths[step.lesser] = [*paths[name], step]
                waiting.append(step.lesser)
    return paths.get(goal, [])


def _comparisons(text: str) -> Iterator[Comparison]:
    for match in islice(_THAN.finditer(text), MAX_COMPARISONS):
        subject, start = _subject(text, match.start())
        other, length = _object(match["object"])
        end = match.start("object") + length
        if subject and other and subject != other and not match["negation"] and is_asserted(text, start, end):
            scale, sign = _direction(match)
            greater, lesser = (subject, other) if sign > 0 else (other, subject)
            qualifier = _QUALIFIER.match(text, end)
            place = (*_context(text, start, match["copula"] or ""), qualifier[1].lower() if qualifier else "")
            yield Comparison(greater, lesser, (scale, *place), start, end)


def _direction(match: re.Match[str]) -> tuple[str, int]:
    """The scale of a comparison, and whether its subject is above (1) or below (-1) the other."""
    if match["word"]:
        return _DIRECTIONS[match["word"].lower()]
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


def _subject(text: str, end: int) -> tuple[str, int]:
    """The name that ends at a place, and where it begins; empty if it is nobody in particular."""
    window = max(0, end - 80)
    clause = max((m.end() for m in _CLAUSE_START.finditer(text, window, end)), default=window)
    words = list(re.finditer(r"\S+", text[clause:end]))
    kept: list[re.Match[str]] = []
    for word in reversed(words):
        if _bare(word[0]) in _STOPS_SUBJECT or len(kept) == 4:
            break
        kept.insert(0, word)
    name = _name([word[0] for word in kept])
    return (name, clause + kept[0].start()) if name else ("", end)


def _object(raw: str) -> tuple[str, int]:
    """The name at the beginning of what follows "than", and how long it is."""
    kept, length = [], 0
    for word in re.finditer(r"\S+", raw):
        if _bare(word[0]) in _STOPS_OBJECT:
            break
        kept.append(word[0])
        length = word.end()
    return _name(kept), length


def _bare(word: str) -> str:
    return re.sub(r"^[\W_]+|[\W_]+$", "", word.lower())


def _name(words: Sequence[str]) -> str:
    """A name for comparing: small letters, no articles, no marks; empty for pronouns and quantities."""
    bare = [word for word in map(_bare, words) if word]
    bare = [re.sub(r"['’]s$", "", w) for w in [word for word in bare if word not in _ARTICLES] or bare]  # "A" is a name
    is_nobody = any(word in _NOBODY for word in bare) or all(re.fullmatch(r"[\d.,]+", word) for word in bare)
    return "" if is_nobody else " ".join(bare)


def _superlatives(text: str, graphs: dict[Scale, dict[str, list[Comparison]]]) -> Iterator[Statement]:
    """ "So Ann is the tallest", where somebody stands above her."""
    for match in islice(_MOST.finditer(text), MAX_COMPARISONS):
        subject, start = _subject(text, match.start())
        scale, sign = _SUPERLATIVES[match["word"].lower()]
        graph = graphs.get((scale, *_context(text, start, match["copula"]), ""), {})
        steps = [step for some in graph.values() for step in some if subject in (step.greater, step.lesser)]
        if steps and is_asserted(text, start, match.end()):
            against = next((step for step in steps if subject == (step.lesser if sign > 0 else step.greater)), None)
            reason = ""
            if against is not None:
                reason = (
                    f"against what the answer says ({against.greater} above {against.lesser}), on one scale: {scale}"
                )
            yield Statement("ordering", start, match.end(), against is None, reason)
