"""Enough English verbs to find where a predicate begins, and whether a text is a sentence at all."""

from __future__ import annotations

import re

AUX = r"(?:is|am|are|was|were|has|have|had|does|do|did|can|could|will|would|shall|should|may|might|must)(?:n['’]t)?"
_IRREGULAR = (
    r"(?:won|lost|made|wrote|became|began|went|took|gave|led|met|came|got|held|kept|built|sold|bought|found|left|ran|"
    r"grew|rose|fell|drew|beat|broke|brought|caught|chose|cut|drove|fought|flew|hit|knew|laid|paid|put|read|rode|sang|"
    r"sat|saw|sent|set|shot|shut|spent|spoke|stood|swam|taught|thought|threw|told|understood|wore|felt|sought|lay|"
    r"ate|bore|born|bred|dealt|dug|fed|fled|forbade|forgot|froze|hid|hung|hurt|lent|lit|meant|overcame|shook|slept|"
    r"slid|sped|split|spread|stole|struck|swore|swept|tore|woke|withdrew|undertook)"
)
_REGULAR = (
    "play|work|live|include|contain|serve|stand|offer|provide|cover|consist|belong|feature|become|make|take|give|lead|"
    "come|get|hold|keep|run|grow|rise|fall|require|use|produce|support|allow|teach|write|own|operate|employ|host|"
    "house|flow|lie|begin|end|start|open|close|cost|weigh|measure|remain|show|sell|buy|build|speak|help|cause|affect|"
    "treat|reduce|increase|reach|receive|represent|border|attract|date|mark|mean|form|need|want|go|sit|occur|appear|"
    "ship|last|arrive|depart|leave|accept|exclude|charge|deliver|apply|bring|pay|agree|disagree|double|expire|win|lose"
)


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("ch", "sh", "go", "x", "ss")) else f"{verb}s"


_BASE = rf"(?:{_REGULAR})"
PRESENT = rf"(?:has|{'|'.join(map(_third_person, _REGULAR.split('|')))})"
PAST = rf"(?:(?!need|feed|seed|speed|breed|indeed|exceed|proceed|succeed)\w{{2,}}ed|{_IRREGULAR})"
FINITE = rf"(?:{AUX}|{PAST}|{PRESENT})"
VERB_AT = re.compile(rf"\b{FINITE}\b", re.IGNORECASE)
_NO_SUBJECT = (
    r"(?!(?i:the|a|an|his|her|its|their|our|my|your|of|and|or|most|more|very|so|as|by|to|in|on|at|for|with|from|no)\b)"
)
SENTENCE = re.compile(
    rf"\b(?!may \d){AUX}\b|n['’]t\b|\b(?i:it|he|she|that|there)['’]s\b"
    r"|(?:^|[^\w\s] ?|\b(?:and|but|that) )(?i:it|he|she|they|we|i|you) "
    r"(?!(?:and|or|of|to|in|on|at|for|with|from|alone|only)\b)[a-z]+"
    rf"|\b{_NO_SUBJECT}\w+ (?:(?:{_IRREGULAR}|{PRESENT}) \S|(?<!ly )[a-z]{{2,}}ed\b)"
    rf"|s {_BASE} \S"  # the subject is plural: "Refunds take 5 days"
)
"""The verb of a sentence: an auxiliary, or a verb behind its subject with (as "costs" is a noun as well) what it says:
in "A day ticket costs 9 euros", but not in "Shipping costs"."""


def first_verb(text: str) -> int | None:
    """Where the first finite verb of a text begins; None if no rule sees one."""
    match = VERB_AT.search(text)
    return match.start() if match else None
