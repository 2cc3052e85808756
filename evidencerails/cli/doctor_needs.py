"""What a rail needs and the config does not give: the rail runs then, and has nothing to check with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evidencerails.cli.catalog import Rail
from evidencerails.cli.doctor_source import Problem, Source, configured_rails
from evidencerails.cli.embeddings_needed import EMBEDDINGS, can_download, missing_embeddings
from evidencerails.cli.init_plan import gives_evidence
from evidencerails.config import GuardConfig


def unmet_needs(source: Source, settings: GuardConfig) -> Iterator[Problem]:
    """Sources, a schema, evidence, a model or embeddings that a rail of the config will look for in vain."""
    rails = configured_rails(source)
    yield from _of_lookups(rails, settings)
    yield from _of_evidence(source, rails)
    yield from _of_models(source, rails)
    yield from _of_embeddings(source)


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


def _of_embeddings(source: Source) -> Iterator[Problem]:
    """The probes stand in for the embeddings, so that a first turn that cannot work would not show in them."""
    model = missing_embeddings(source.config, source.colang.values())
    if model is None:
        return
    remedy = f"add {EMBEDDINGS} to `models:` (in the place of the other one, if there is one): it is inside the wheel"
    if can_download():
        message = f"NeMo downloads its embedding model {model!r} at the first turn; without network that turn fails"
        yield Problem("note", "embeddings_download", message, remedy)
    else:
        message = (
            f"the first turn downloads the embedding model {model!r}, and nothing can be downloaded from here: it ends "
            "in an internal error, after retries that take most of a minute"
        )
        yield Problem("error", "embeddings_unreachable", message, remedy)
