"""What an answer inside NeMo is checked against: evidence of the first place that has any, and the schema of a turn."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evidencerails import executor
from evidencerails.adapters.nemo_calls import readable_messages
from evidencerails.errors import InputError
from evidencerails.exchange import Exchange, Message, Passage, as_passages, content_text
from evidencerails.report import PASS_EVIDENCE, Report
from evidencerails.settings.claims import EvidenceSettings
from evidencerails.settings.structure import StructureSettings
from evidencerails.text.claimable import claim_sentences
from evidencerails.text.sentences import split_sentences
from evidencerails.verdict.reading import hypotheses

_WORD = (
    r"(?:context|documents?|sources?|passages?|evidence|knowledge(?:[ \t]base)?|references?|background|facts|excerpts?)"
)
_MARKER = re.compile(
    rf"^[ \t]*<{_WORD}[^>\n]*>"  # <context>, <document id="1">
    rf"|^[ \t>*#_-]*(?:[\w']+[ \t]+){{0,9}}{_WORD}(?:[ \t]+(?!is|are|was|were)[\w']+){{0,4}}[*_]*[ \t]*:[*_]*"
    rf"|^[ \t]*\#+[ \t]*(?:[\w']+[ \t]+){{0,3}}{_WORD}[ \t]*$",  # ## Documents
    re.IGNORECASE | re.MULTILINE,
)
"""A heading such as `Context:`, `Answer using the following documents:`, `## Sources` or `<context>`; what follows it
is evidence."""
_MARKER_END = re.compile(
    r"^[ \t*#_-]*(?:question|user question|query|user|task|instructions?|answer)[*_]*[ \t]*:|^[ \t]*</|^[ \t]*={3,}",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\W*(?:(?:you|your|please|always|never|do not|don't|below is|the (?:bot|assistant)|as an?|today is)\b"
    r"|(?:if|when)\b(?=.*\b(?:you|bot|assistant|user|question|asked|unsure)\b)"
    r"|(?:answer|respond|reply|use|be|act|keep|only|write|speak|make|ensure|provide|say|follow|remember|try|help|avoid"
    r"|refuse|decline|stay|talk|explain|limit|cite|refer|offer|ask|greet|think|give|summari[sz]e|translate|pretend"
    r"|assume|refrain|include|mention)\b(?!\s+(?:is|are|was|were|can|may|must|will|has|have)\b))",
    re.IGNORECASE | re.DOTALL,
)
_ON_BEHAVIOUR = re.compile(
    r"\b(?:you|(?:ro|chat)?bots?|assistant|language model|conversation)\b"
    r"|^\W*(?:all |short )?(?:answers|replies)\b|:\s*$",
    re.IGNORECASE,
)
"""What may be about the model's own conduct. Beside a fact it does no harm; alone it is no evidence."""
NO_EVIDENCE_REMEDY = (
    "looked in {places}; state the facts in `instructions` or a system message, set ${variable}, or add a kb folder"
)
"""What the reason of a report says where no place had any evidence."""

MAX_STATEMENTS = 12
"""Statements of an answer that are looked up, each in a few milliseconds."""


class Evidence(NamedTuple):
    """The passages and the place of the settings they came from; both empty if no place had any."""

    passages: tuple[Passage, ...] = ()
    place: str | None = None


@dataclass(frozen=True, kw_only=True)
class EvidenceSources:
    context: Mapping[str, Any]
    messages: Sequence[Any]
    """The request's messages as the caller gave them, or those of the logged prompt."""
    prompt: Sequence[Message]
    """The prompt that wrote the answer: retrieval inside NeMo puts its chunks there."""
    search: Callable[[str], Awaitable[Any]] | None = None
    """Search of the app's knowledge base by user message."""
    user_message: str = ""
    answer: str = ""
    """What it states is looked up in the knowledge base, as the user's message is."""
    instructions: Sequence[str] = ()
    """Those of the app's config."""


async def find_evidence(settings: EvidenceSettings, sources: EvidenceSources) -> Evidence:
    """The evidence of the first place that has any. `InputError`: a place holds something that is no evidence; the
    message begins with that place."""
    for place in settings.places:
        try:
            if place == "knowledge_base" or (place == "relevant_chunks" and _nemo_retrieved(sources)):
                found = await _knowledge_base(sources)
            elif place == "variable":
                found = as_passages(sources.context.get(settings.variable))
            else:
                found = _READERS[place](sources)
        except InputError as error:
            name = f"${settings.variable}" if place == "variable" else place
            raise InputError(f"{name}: {error}") from error
        if found:
            return Evidence(found, place)
    return Evidence()


def _relevant_chunks(sources: EvidenceSources) -> tuple[Passage, ...]:
    """The context variable; NeMo joins the chunks it retrieved to one string and keeps them apart beside it."""
    chunks, apart = sources.context.get("relevant_chunks"), sources.context.get("relevant_chunks_sep")
    if isinstance(chunks, str) and isinstance(apart, list) and "\n".join(map(str, apart)).strip() == chunks.strip():
        return as_passages(apart)
    return as_passages(chunks)


def _nemo_retrieved(sources: EvidenceSources) -> bool:
    """True if the chunks are what NeMo found in the knowledge base for this message: the same search gives them, with
    the headings that the context variable lacks."""
    asked, chunks = sources.context.get("retrieved_for"), sources.context.get("relevant_chunks_sep")
    is_own = isinstance(chunks, list) and "\n".join(map(str, chunks)) == sources.context.get("relevant_chunks")
    return bool(chunks) and is_own and asked == sources.user_message and sources.search is not None


def _tool_messages(sources: EvidenceSources) -> tuple[Passage, ...]:
    found: list[Passage] = []
    for message in sources.messages:
        fields = message if isinstance(message, Mapping) else vars(message) if hasattr(message, "__dict__") else {}
        if str(fields.get("role") or fields.get("type")) not in ("tool", "function"):
            continue
        text = content_text(fields.get("content"))
        if text.strip():
            passage_id = str(fields.get("tool_call_id") or len(found) + 1)
            found.append(Passage(id=passage_id, text=text, source=str(fields.get("name") or "") or None))
    return tuple(found)


async def _knowledge_base(sources: EvidenceSources) -> tuple[Passage, ...]:
    """What the knowledge base finds for the user's message (in general mode it never reaches `relevant_chunks`), and
    what is nearest to each statement: of the few chunks for a question many lack what a right answer says."""
    if sources.search is None or not sources.user_message.strip():
        return ()
    stated = await executor.run(lambda: hypotheses(claim_sentences(sources.answer), sources.user_message))
    queries = [sources.user_message, *(one.text for one in stated[:MAX_STATEMENTS])]
    found, *nearest = await asyncio.gather(*map(sources.search, queries))
    if not isinstance(found, list):
        return as_passages(found)
    chunks = [*found, *(chunk for one in nearest if isinstance(one, list) for chunk in one[:1])]
    return as_passages([_under_its_title(chunk) for place, chunk in enumerate(chunks) if chunk not in chunks[:place]])


def _under_its_title(chunk: Any) -> Any:
    """NeMo's chunk as its index holds it. NeMo keeps the headings apart, and only they name what a section is about."""
    if not isinstance(chunk, Mapping) or not chunk.get("title") or not isinstance(chunk.get("body"), str):
        return chunk
    return {**chunk, "body": f"# {chunk['title']}\n\n{chunk['body']}"}


def _system_context(sources: EvidenceSources) -> tuple[Passage, ...]:
    """The parts of the request marked as context, else what system messages and the config's instructions state."""
    asked = [m for m in readable_messages(sources.messages) if m.role in ("system", "user")]
    system = [m.content for m in asked if m.role == "system"]
    prompts = [m.content for m in (*asked, *sources.prompt)]
    marked = [part for text in prompts for part in marked_context(text)]
    marked = marked or [part for text in sources.instructions for part in marked_context(text)]
    texts = marked or [statements(text) for text in (*system, *sources.instructions)]
    return as_passages(list(dict.fromkeys(texts)))


def evidence_in(messages: Sequence[Any]) -> tuple[Passage, ...]:
    """The evidence in a chat log: what tools gave back, and what system messages and marked parts state."""
    sources = EvidenceSources(context={}, messages=messages, prompt=())
    stated = [passage.model_copy(update={"source": "messages"}) for passage in _system_context(sources)]
    found = (*_tool_messages(sources), *stated)
    return tuple(passage.model_copy(update={"id": str(number)}) for number, passage in enumerate(found, start=1))


def marked_context(text: str) -> list[str]:
    """The parts of a prompt under a heading such as `Context:`, each up to the next question or closing tag."""
    found = []
    for marker in _MARKER.finditer(text):
        rest = text[marker.end() :]
        end = _MARKER_END.search(rest)
        part = rest[: end.start() if end else len(rest)]
        found.append(_FENCE.sub("", part).strip())
    return [part for part in found if part]


def statements(text: str) -> str:
    """A system message without its instructions to the model, which are no evidence for or against an answer.

    Returns: what is left if some sentence of it is clearly no instruction; else an empty text.
    """
    kept = [span.text for span in split_sentences(text) if not _INSTRUCTION.match(span.text)]
    if all(_ON_BEHAVIOUR.search(sentence) for sentence in kept):
        return ""
    return " ".join(kept).strip()


def instructions_of(config: Any) -> tuple[str, ...]:
    """The texts under `instructions:` of a guardrails config."""
    return tuple(instruction.content for instruction in config.instructions or ())


def with_remedy(report: Report, settings: EvidenceSettings) -> Report:
    """The report; where evidence was missing, its reasons say where it was looked for and where to put it."""
    remedy = f" ({NO_EVIDENCE_REMEDY.format(places=', '.join(settings.places), variable=settings.variable)})"
    missing = {name: result for name, result in report.checks.items() if "no_evidence" in result.reason}
    if not missing:
        return report
    checks = {
        name: one.model_copy(update={"reason": one.reason.replace(PASS_EVIDENCE, remedy)})
        for name, one in missing.items()
    }
    reason = report.reason.replace(PASS_EVIDENCE, remedy)
    return report.model_copy(update={"checks": {**report.checks, **checks}, "reason": reason})


SCHEMA_VARIABLE = "response_schema"
"""Context variable that may hold the schema of one answer."""


def lacks_schema(context: Mapping[str, Any], settings: StructureSettings) -> bool:
    """True if nothing says what the answer should look like."""
    return not settings.has_rules and not context.get(SCHEMA_VARIABLE)


def with_schema(exchange: Exchange, context: Mapping[str, Any]) -> Exchange:
    """The exchange with the schema of the context variable, if there is one. `InputError`: the variable holds neither
    an object nor the JSON of one."""
    value = context.get(SCHEMA_VARIABLE)
    if not value:
        return exchange
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"${SCHEMA_VARIABLE} is no JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise InputError(f"${SCHEMA_VARIABLE} must be a JSON Schema, an object; got {type(value).__name__}")
    return exchange.model_copy(update={"response_schema": dict(value)})


_READERS: dict[str, Callable[[EvidenceSources], tuple[Passage, ...]]] = {
    "relevant_chunks": _relevant_chunks,
    "tool_messages": _tool_messages,
    "system_context": _system_context,
}
