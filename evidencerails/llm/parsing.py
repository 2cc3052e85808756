"""Replies of judges, read strictly: what is no clear answer is an error, never a guess.

Tolerated around an answer: reasoning tags, code fences, prose, Markdown emphasis. Never tolerated: a verdict found as
a part of a word or sentence. NeMo's own rail asks whether "no" occurs anywhere, so that "known" blocks and
"contradiction" passes. No pattern here takes more than linear time, also on a reply that was made to be slow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Message
from evidencerails.llm.session import LlmSession

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_TAGS = "think|thinking|thought|reasoning|reflection|analysis|scratchpad"
_REASONING_TAG = re.compile(rf"<(?P<ends>/?)(?:{_TAGS})\b[^>]{{0,200}}>|\[(?P<ends_too>/?)THINK\]", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_END_TOKENS = re.compile(r"<\|(?:end|return|im_end|eot_id|endoftext)\|>|</s>")
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)```", re.DOTALL)


class _AgreementReply(BaseModel):
    verdict: str = Field(pattern=r"(?i)^\s*(yes|no)\s*\.?\s*$")


AGREEMENT_REPAIR = "Answer again with one word and nothing else: yes or no."


def without_reasoning(text: str) -> str:
    """The text without a model's reasoning: tagged blocks, what stands before a lone closing tag, other channels.

    An opening tag that is never closed leaves nothing after it: the answer was cut off before it began.
    """
    if _FINAL_CHANNEL in text:  # gpt-oss without its server's parser
        text = text.rsplit(_FINAL_CHANNEL, 1)[1]
    kept: list[str] = []
    place, is_inside = 0, False
    for tag in _REASONING_TAG.finditer(text):
        if tag["ends"] or tag["ends_too"]:
            kept = kept if is_inside else []
            place, is_inside = tag.end(), False
        elif not is_inside:
            kept.append(text[place : tag.start()])
            is_inside = True
    return _END_TOKENS.sub("", "".join(kept) + ("" if is_inside else text[place:])).strip()


# ---- yes or no

_LEAD = (
    r"(?:(?:so|therefore|thus)\s*,?\s*)?(?:(?:the|my)\s+)?(?:final\s+)?(?:answer|verdict|agreement|conclusion|result)"
)
_VERDICT_LINE = re.compile(rf"^(?:{_LEAD}\s*(?:is)?\s*[:=\-–—]?\s*)?(yes|no)\s*(?:[.,;:!\-–—(].*)?$", re.IGNORECASE)
_BARE_LINE = re.compile(rf"^(?:{_LEAD}\s*(?:is)?\s*[:=\-–—]?\s*)?(yes|no)\s*[.!]?$", re.IGNORECASE)
_STANDALONE = re.compile(r"(?:^|[.,;:!?\n])\s*(yes|no)\s*(?=[.,;:!?\n]|$)", re.IGNORECASE)
_CONFLICT = re.compile(r"\b(?:contradict\w*|conflict\w*|inconsisten\w*|disagree\w*)", re.IGNORECASE)
_AGREEMENT = re.compile(r"\b(?:agree\w*|consistent)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:no|not|nothing|none|never|neither|nor|without|free of)\b|n['’]t\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?\n](?=\s|$)")


def parse_agreement(reply: str) -> bool:
    """True if a reply to "does the statement agree with the paragraph?" says so (task `self_check_hallucination`).

    Counts: a reply or its last line that is a bare yes or no (after "Answer:" and the like), a yes or no before a
    punctuation mark at the start, or a JSON object with `verdict`. A reply that says both, or a yes or no whose own
    explanation says the opposite, does not. `LlmReplyError`: the reply holds no clear verdict.
    """
    text = without_reasoning(reply)
    if "{" in text:
        answer = _fitted(parse_json(text), _AgreementReply, "the reply's JSON")
        return answer.verdict.strip(" .").lower() == "yes"
    lines = [line for line in map(_plain, text.splitlines()) if line]
    if not lines:
        raise _unclear(text, "yes or no")
    verdicts = {found.lower() for found in _STANDALONE.findall("\n".join(lines))} | set(_verdicts_of(lines))
    verdict = verdicts.pop() if len(verdicts) == 1 else None
    is_placed = _VERDICT_LINE.match(lines[0]) or _BARE_LINE.match(lines[-1])
    if verdict is None or not is_placed or _takes_back(lines, verdict):
        raise _unclear(text, "yes or no")
    return verdict == "yes"


def _verdicts_of(lines: Sequence[str]) -> Iterator[str]:
    for found in (_VERDICT_LINE.match(lines[0]), *(_BARE_LINE.match(line) for line in lines[1:])):
        if found:
            yield found.group(1).lower()


def _plain(line: str) -> str:
    """A line without Markdown, quotes, fences and bullets around it."""
    line = re.sub(r"^\s*(?:[-*>#]+\s+|\d+[.)]\s+)", "", line)
    return re.sub(r"[*_`\"'“”‘’]+", "", line).strip() if "n't" not in line else line.strip(' *_`"')


def _takes_back(lines: Sequence[str], verdict: str) -> bool:
    """True if the explanation says the opposite: "Yes, they contradict", "Yes, not consistent", "No, no conflict"."""
    for sentence in _SENTENCE_END.split("\n".join(lines)):
        rest = _STANDALONE.sub("", sentence, count=1)
        is_negated = _NEGATION.search(rest) is not None
        if _CONFLICT.search(rest) and is_negated != (verdict == "yes"):
            return True
        if _AGREEMENT.search(rest) and is_negated and verdict == "yes":
            return True
    return False


# ---- JSON

MAX_JSON_STARTS = 200
"""Brackets in prose at which a JSON value is looked for."""
_JSON_START = re.compile(r"[{\[]")


def parse_json(reply: str) -> Any:
    """The one JSON object or array in a reply. `LlmReplyError`: there is none, or several different ones."""
    text = without_reasoning(reply)
    for candidate in (text, *(block.strip() for block in _FENCE.findall(text))):
        try:
            value = json.loads(candidate, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, (dict, list)):
            return value
    values = list(_embedded(text))
    if not values:
        raise _unclear(text, "a JSON object")
    if any(value != values[0] for value in values):
        raise LlmReplyError(f"the reply holds {len(values)} different JSON values; expected one")
    return values[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all different. `ValueError`: one says two things under one key, of which Python
    would take the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("the object has a key twice")
    return value


def _embedded(text: str) -> Iterator[Any]:
    """Complete JSON objects and arrays in prose, outermost only."""
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    place = 0
    for _ in range(MAX_JSON_STARTS):
        found = _JSON_START.search(text, place)
        if found is None:
            return
        try:
            value, place = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            place = found.end()
            continue
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
            yield value


def _fitted(value: Any, model: type[M], name: str) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'reply'}: {e['msg']}" for e in error.errors()[:5])
        raise LlmReplyError(f"{name} does not fit {model.__name__.strip('_')}: {problems}") from None


def parse_items(reply: str, key: str, model: type[M], *, number: str = "", count: int = 0) -> list[M]:
    """The list under `key`, or the bare list, of a reply as values of `model`; no entry is left out in silence.

    Args:
        number: field that says which of `count` questions an entry is about, from 1; each may be used once.

    Raises:
        LlmReplyError: there is no such list, it is empty, or an entry does not fit.
    """
    value = parse_json(reply)
    items = value.get(key) if isinstance(value, dict) else value
    if not isinstance(items, list) or not items:
        raise LlmReplyError(f"expected a list {key!r} with at least one entry")
    found = [_fitted(item, model, f"an entry of {key!r}") for item in items]
    numbers = [getattr(one, number) for one in found] if number else []
    if len(set(numbers)) < len(numbers) or not all(1 <= one <= count for one in numbers):
        raise LlmReplyError(f"expected each number from 1 to {count} at most once, got {numbers}")
    return found


def list_schema(name: str, fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """JSON schema of a reply, for providers that keep to one: an object with one list of objects of these fields."""
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": item}},
        "required": [name],
        "additionalProperties": False,
    }


def items_of(value: Any, key: str, model: type[M], *, as_text: str | None = None) -> list[M]:
    """The items of a list under `key`, of a bare list, or a single object, as far as they fit the model.

    Args:
        as_text: the field that an item which is a mere string stands for.
    """
    if isinstance(value, dict):
        inner = value.get(key)
        value = inner if isinstance(inner, list) else [value]
    found = []
    for item in value:
        given = {as_text: item} if as_text is not None and isinstance(item, str) else item
        try:
            found.append(model.model_validate(given))
        except ValidationError:
            continue
    return found


def _unclear(text: str, expected: str) -> LlmReplyError:
    """An error that describes the reply without repeating it: it may quote what was judged."""
    first = re.match(r"[A-Za-zÀ-ÿ]{1,20}\b", text)
    shown = f"{len(text)} characters, beginning with {first.group()!r}" if first else f"{len(text)} characters"
    return LlmReplyError(f"expected {expected}, got {shown if text else 'an empty reply'}")


# ---- asking


async def ask(
    session: LlmSession,
    messages: Sequence[Message],
    parse: Callable[[str], T],
    *,
    repair: str,
    json_schema: dict[str, Any] | None = None,
) -> T:
    """Ask a judge at temperature 0, parse its reply, and ask once more if it cannot be read.

    Args:
        repair: what the judge is sent after an unreadable reply.

    Raises:
        LlmReplyError: the second reply cannot be read either, or the session has no call left for one.
        LlmError: the provider failed.
    """

    async def once(prompt: Sequence[Message]) -> str:
        return (await session.complete(prompt, temperature=0.0, json_schema=json_schema)).completions[0].text

    reply = ""
    try:
        reply = await once(messages)
        return parse(reply)
    except LlmReplyError:
        if session.is_spent:
            raise
        return parse(await once(_with_repair(messages, reply, repair)))


def _with_repair(messages: Sequence[Message], reply: str, repair: str) -> tuple[Message, ...]:
    said = (Message(role="assistant", content=reply),) if reply.strip() else ()
    return (*messages, *said, Message(role="user", content=repair))
