"""Wordings that claim nothing, for `claimable`: all in lower case, each pattern linear in the length of a sentence."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

COURTESY = re.compile(
    r"(?:hi|hello|hey|greetings|welcome|howdy|good (?:morning|afternoon|evening|day|night|bye)|goodbye|bye|cheers|"
    r"thanks|thank you|many thanks|you're (?:very |most )?welcome|you are (?:very |most )?welcome|no problem|"
    r"my pleasure|great question|good question|(?:that's|that is|what) an? (?:great|good|excellent|interesting|"
    r"important) question|sure thing|sure|certainly|of course|absolutely|definitely|gladly|okay|ok|alright|all right|"
    r"got it|understood|i see|i understand|great|excellent|perfect|nice to meet you|take care|see you(?: soon|"
    r" later)?|good luck|congratulations|have an? (?:great|good|nice|wonderful) (?:day|one|evening|weekend|time)|"
    r"best regards|kind regards|sincerely|(?:i'm|i am|we're|we are) (?:so |very |really |truly )?(?:sorry|"
    r"afraid)(?: that)?|sorry|apologies|my apologies|(?:i|we) (?:sincerely )?apologi[sz]e|unfortunately|sadly|"
    r"regrettably|please|there|everyone|so much|very much|a lot|again|back|you|sir|madam|friend|today|about that|"
    r"however|at this time|currently|honestly|to be honest|for (?:asking|your \w+|reaching out|contacting us|sharing|"
    r"(?:the|any) (?:confusion|inconvenience|mistake|question)|"
    r"that|this)|to (?:you|hear (?:about )?(?:that|this|your \w+))|(?:based on|according to|from) [^,]{1,80},|"
    r"as an? (?:ai|artificial|large|language|virtual|digital|chat)[\w -]{0,60},)(?!\w)[ ,!.]*"
)
"""What may stand before or instead of a statement without making it one."""
_KNOW = (
    r"(?:know|say|tell|answer|determine|verify|confirm|find|see|provide|help(?! \w+ing| but)|assist|do|comply|comment|"
    r"give|offer|share|discuss|respond|access|speak|talk|advise|speculate|guess|be (?:sure|certain|"
    r"of (?:any )?(?:help|assistance))|have|fulfil+|recall|support|follow|choose|decide|obey|reconcile|satisfy|"
    r"generate|create|write|produce|engage|make|identify|conclude|infer|locate|look|browse|open|complete)"
)
_NOT = (
    r"(?:can't|cannot|can not|couldn't|could not|won't|will not|do not|don't|am not able to|'m not able to|"
    r"am unable to|'m unable to|wasn't able to|was unable to|were unable to|are unable to|'re unable to|"
    r"are not able to|'re not able to|unable to|not able to|am not allowed to|'m not allowed to|must decline to|"
    r"have to decline to|would rather not|'d rather not|prefer not to)"
)
_EVIDENCE = (
    r"(?:the |this |that |these |those |any |your |my |our )?(?:(?:provided|given|available|supplied|above|retrieved|"
    r"current|relevant|search|following|uploaded|attached|source) )*(?:context|documents?|passages?|text|sources?|"
    r"information|article|evidence|knowledge base|excerpts?|results?|materials?|data|files?|conversation|content|it)"
)
_NOT_IN_EVIDENCE = (
    _EVIDENCE + r"(?: that (?:was |were )?(?:provided|given)| provided| given| you (?:provided|shared|gave me))?"
    r" (?:do|does|did|is|are|has|have|was|were)(?:n't| not)"
    r" (?:\w+ly )?(?:mention|say|state|specify|contain|provide|include|indicate|give|discuss|address|cover|explain|"
    r"tell|describe|reveal|clarify|enough|sufficient|clear|mentioned|specified|stated|provided|available|given|"
    r"say anything|known|have|offer|list|disclose|answer)\b.{0,200}"
)
_NOTHING_KNOWN = (
    r"there (?:is|are|was|were) (?:no|not (?:any|enough)|insufficient|nothing) ?(?:\w+ ){0,2}(?:information|"
    r"mention|data|evidence|details?|indication|answer|record|context|reference)s?\b.{0,200}"
    r"|(?:no|insufficient|not enough) (?:\w+ )?(?:information|mention|data|details?|answer|evidence|context)\b.{0,120}"
    r"|(?:it|this|that) (?:is|was)(?:n't| not| un)(?: |)(?:mentioned|specified|stated|clear|known|"
    r"possible to (?:say|tell|determine)|provided|available|given|something i can)\b.{0,160}"
    r"|(?:the )?(?:answer|exact \w+|information) (?:is|was)(?:n't| not| un| )+(?:mentioned|specified|stated|"
    r"clear|known|provided|available|given|found)\b.{0,120}"
    r"|(?:not|un)(?: )?(?:mentioned|specified|stated|known|clear|available|answerable|enough information|"
    r"applicable|sure)(?: (?:in|from|by) .{0,80})?|n/a|none given|no idea|i have no idea.{0,120}"
)
_SOURCES = (
    r"(?:the |these |those |your |my |our |both )?(?:two |provided |given |retrieved |available )*(?:sources|passages|"
    r"documents|instructions|texts|requests|messages|statements|excerpts)"
)
_CONFLICT = (
    _SOURCES + r"(?: (?:above|here|you gave me|provided|given))?(?: (?:clearly|seem to|appear to))? "
    r"(?:(?:contradict|conflict with|disagree with) (?:each other|one another)|conflict|disagree|"
    r"are (?:contradictory|inconsistent|in conflict)(?: with each other)?)"
    r"(?: (?:about|on|regarding) (?:this|that|it|the (?:matter|question|point|issue)))?"
    r"(?:,? (?:so|and|therefore) (?:i|we)(?: |)" + _NOT + r" .{0,120})?"
)
"""An honest report that nothing can be said. "The sources disagree about the year 1932" states more, and is a claim."""
_REFUSAL = (
    r"(?:that |and |so )?(?:i|we)(?: (?:simply|really|just|also|currently|still|honestly|actually))?(?: |)"
    r"(?:" + _NOT + r"(?: (?:\w+ly|really|currently|actually))? " + _KNOW + r"\b.{0,240}"
    r"|(?:am|'m|are|'re) (?:not (?:sure|certain|aware|familiar|qualified|comfortable|designed|programmed|"
    r"trained)|unsure|uncertain|only able|limited)\b.{0,200}"
    r"|(?:have|had|found|find|see|'ve) (?:no|not|found no|not found|insufficient) .{0,200}|lack (?:the |"
    r"any )?(?:information|access|context|details?).{0,200}"
    r"|must (?:refuse|decline).{0,200}|decline to .{0,200})"
)
_OFFER = (
    r"(?:please )?(?:(?:let me know|feel free|don't hesitate|do not hesitate|reach out|get in touch)\b.{0,200}"
    r"|if (?:you|there(?:'s| is)) .{0,160}?[, ]+(?:please |just )?(?:let me know|feel free|don't hesitate|"
    r"do not hesitate|ask|reach out|contact|i(?:'m| am|'ll| will|'d| would| can)|we(?:'re| are)|just ask|"
    r"tell me).{0,120}"
    r"|if you (?:have|need|want|would like|'d like) (?:any |more |further |additional |other )+(?:\w+ ?){1,5}"
    r"|(?:i|we)(?:'m| am|'re| are|'d| would| will|'ll)(?: be)? (?:always )?(?:here to|happy to|glad to|"
    r"ready to|more than happy to|pleased to|delighted to|available to) (?:help|assist|answer|explain|provide|"
    r"discuss|clarify|support|elaborate|try|look|chat).{0,160}"
    r"|(?:i |we )?hope (?:this|that|it|you|these|the above)(?: \w+){0,3}? (?:helps?|helped|answers?|answered|clarif\w+|"
    r"clears?|is (?:helpful|useful|clear|fine|ok|okay)|was (?:helpful|useful)|makes sense|enjoy|like|find|have|"
    r"are (?:doing )?well|feel better|understand)\b.{0,60}|how (?:can|may) i (?:help|assist).{0,60}"
    r"|happy to help.{0,60}|glad (?:i could|to) (?:help|hear).{0,60}"
    r"|(?:could|can|would) you (?:please )?(?:provide|share|clarify|tell|give|specify|rephrase).{0,160}"
    r"|please (?:provide|share|clarify|specify|give me|tell me|ask|try|rephrase|upload|paste|contact|"
    r"consult|check|visit|refer to|see|verify|reach|wait|let)\b.{0,200}"
    r"|(?:i|we)(?:'d| would)? (?:recommend|suggest|advise|encourage)(?: that)?(?: you)?(?: to)? (?:consult|"
    r"contact|check|visit|verify|reach|speak|see|look|ask|refer|seek)\w*\b.{0,160}"
    r"|(?:let's|let us) (?:see|look|dive|start|begin|get started|explore|go|think|break|take).{0,100}|"
    r"let me (?:think|see|check|look|explain|help|try|start|break).{0,100})"
)
_LEAD_NOUN = (
    r"(?:summary|answer|list|overview|breakdown|explanation|information|details?|response|points?|facts?|"
    r"steps?|results?|examples?|"
    r"highlights?|takeaways?|findings|options?|tips|version|draft|translation|rewrite|outline|key \w+)"
)
_LEAD_IN = (
    r"(?:(?:sure|certainly|of course|okay|ok|absolutely|yes|great)[,!.]? )?(?:based on [^,]{1,80}, |"
    r"according to [^,]{1,80}, )?"
    r"(?:(?:here(?:'s| is| are)|below (?:is|are)|this is|these are|the following (?:is|are)) [\w' -]{0,40}?"
    + _LEAD_NOUN
    + r"\b[\w' -]{0,60}"
    r"|here (?:you go|it is|they are)|in (?:summary|short|conclusion)|to (?:summari[sz]e|conclude|"
    r"answer your question)"
    r"|here(?:'s| is| are) what (?:i|we) (?:found|know|have|can).{0,60})"
)
_ABOUT_ITSELF = (
    r"(?:as )?(?:i'm |i am )?(?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model|"
    r"virtual assistant|chat ?bot|digital assistant|ai[- ](?:powered )?(?:assistant|(?:language )?model))[\w ,-]{0,60}"
    r"|my (?:knowledge|training(?: data)?|information) .{0,120}|i(?:'m| am) (?:doing )?(?:well|fine|good|"
    r"great|here)(?:[, ]+(?:thanks|thank you).{0,30})?"
    r"|(?:note|please note|keep in mind) that i .{0,120}|source|sources|answer|question|note|references"
)
_REACTION = (
    r"(?:(?:oh|wow|ah|haha|hmm|well|yeah)[, !.]*)?that(?:'s| is| sounds| must be)"
    r"(?: (?:so|very|pretty|really|quite|just|too|super|an?))*"
    r" (?:awesome|cool|great|interesting|amazing|nice|fun|funny|neat|sad|crazy|impressive|wonderful|fascinating|"
    r"fantastic|shame|pity|lovely|incredible|exciting|hilarious|unfortunate|bad|good to (?:know|hear))"
    r"(?: (?:to (?:hear|know)|of you|though|then|idea|fact|thing|story))?"
)
"""What someone who listens says. With "it" or "was" it may sum up what the evidence says of something."""
_NEVER_DONE = (
    r"i(?:'ve| have) never (?!.* (?:that|which|who) )(?:\w+ )?(?:seen|heard|been (?:there|here|to)|played|tried|read|"
    r"watched|visited|met|gone|eaten|listened)\b[^\d,;:]{0,60}"
    r"|(?:(?:oh|wow|ah)[, ]+)?i (?:did(?:n't| not)|never) (?:know|knew) (?:that|this|it)"
    r"|(?:i|we) can (?:certainly |definitely |surely )?(?:help|assist)(?: you)?(?: with (?:that|this|it|your \w+))?"
    r"|(?:to \w+ you,? )?(?:i|we)(?:'ll| will|'d| would)? need (?:some |a few |a bit )?(?:more|further|additional) "
    r"(?:\w+ )?(?:details?|information|context)\b[^\d,;:]{0,60}"
    r"|i(?:'m| am) not (?:really )?(?:(?:a|much of a) (?:big |huge )?fan|into|interested)\b[^\d,;:]{0,60}"
)
"""What a speaker has not done, needs or does not care about, if it carries no figure and no second clause."""
NO_CLAIM = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        _REFUSAL,
        _NOT_IN_EVIDENCE,
        _CONFLICT,
        _NOTHING_KNOWN,
        _OFFER,
        _LEAD_IN,
        _ABOUT_ITSELF,
        _REACTION,
        _NEVER_DONE,
    )
)
"""A clause that one of these matches as a whole states nothing about the world."""


MAX_WORDS = 16
"""A longer sentence states something."""
_FILE = Path(__file__).with_name("small_talk.json")
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[!:?]")
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|double|dozen)\b")


def is_candidate(sentence: str) -> bool:
    """False for what is too long for small talk, is one word ("Lyon", which answers something), or has a number."""
    return 1 < len(sentence.split()) <= MAX_WORDS and not _NUMBER.search(sentence.lower())


def terms_of(sentence: str) -> list[str]:
    """Words, pairs of words, the first one and the last sign, whether there is a name, and the length."""
    words = [word.lower().replace("’", "'") for word in _TOKEN.findall(sentence)]
    if not words:
        return []
    has_name = any(
        word[:1].isupper() and word not in ("I",) and not word.startswith("I'") for word in sentence.split()[1:]
    )
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    length = f"#{min(len(words) // 3, 5)}"
    return [*words, *pairs, f"^{words[0]}", *(["#name"] if has_name else []), length]


def is_small_talk(sentence: str) -> bool:
    """True for a sentence that states nothing about the subject of the answer."""
    if not is_candidate(sentence):
        return False
    model = _model()
    weights: dict[str, float] = model["weights"]
    odds = model["intercept"] + sum(weights.get(term, 0.0) for term in set(terms_of(sentence)))
    return bool(odds > model["threshold"])


@lru_cache(maxsize=1)
def _model() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return data
