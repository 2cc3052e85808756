"""What a rail needs and the config does not give: the rail runs then, and has nothing to check with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evidencerails.cli.catalog import Rail
from evidencerails.cli.doctor_source import Problem, Source, configured_rails
from evidencerails.cli.init_plan import gives_evidence
from evidencerails.config import GuardConfig

EMBEDDINGS = "{type: embeddings, engine: evidencerails, model: embedded}"


def unmet_needs(source: Source, settings: GuardConfig) -> Iterator[Problem]:
    """Sources, a schema, evidence, a model or embeddings that a rail of the config will look for in vain."""
    rails = configured_rails(source)
    yield from _of_lookups(rails, settings)
    yield from _of_evidence(source, rails)
    yield from _of_models(source, rails)


def _of_lookups(rails: Sequence[Rail], settings: GuardConfig) -> Iterator[Problem]:
    checks = {rail.check for rail in rails}
    if "knowledge" in checks and not settings.knowledge.entities:
        yield Problem(
            "error",
            "no_sources",
            "'check knowledge' has no source to look in: every answer is unverified",
            "name sources and entities under custom_data.evidencerails.knowledge, or take the flow out",
        )
    if "structure" in checks and not settings.structure.has_rules:
        yield Problem(
            "note",
            "no_schema",
            f"'check structure' has no schema: only answers of a turn with ${settings.structure.variable} are checked",
            "give one under custom_data.evidencerails.structure",
        )


def _of_evidence(source: Source, rails: Sequence[Rail]) -> Iterator[Problem]:
    flows = ", ".join(repr(rail.flow) for rail in rails if rail.needs_evidence)
    if flows and not gives_evidence(source.config, source.texts):
        yield Problem(
            "note",
            "no_evidence",
            f"nothing in the config gives {flows} evidence: an answer without any is unverified",
            "state the facts under `instructions:`, or let your program send $evidence, documents as tool messages or "
            "a system message that states them",
        )


def _of_models(source: Source, rails: Sequence[Rail]) -> Iterator[Problem]:
    config = source.config
    kinds = {model.type for model in config.models}
    sampling = [rail.flow for rail in rails if rail.check == "consistency"]
    if sampling and "main" not in kinds:
        yield Problem(
            "note",
            "no_model",
            f"the config names no main model, and {sampling[0]!r} asks it for further answers",
            "give one to LLMRails(config, llm=...), or every answer is unverified",
        )
    if "embeddings" not in kinds and _embeds(source):
        yield Problem(
            "note",
            "embeddings_download",
            "NeMo downloads its embedding model at the first turn; without network that turn dies",
            f"add {EMBEDDINGS} to `models:` to use the one inside the wheel",
        )


def _embeds(source: Source) -> bool:
    """True if a turn of the app looks for similar messages, flows or documents, with NeMo's default search."""
    config = source.config
    if source.is_colang_2:
        return any(re.search(r"^import (llm|nemoguardrails\.library)\b", t, re.M) for t in source.colang.values())
    searches = bool(config.user_messages) and config.core.embedding_search_provider.name == "default"
    return searches or (bool(config.docs) and config.knowledge_base.embedding_search_provider.name == "default")
