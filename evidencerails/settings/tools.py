"""Settings of the check of tool calls: the known tools, and where the values of arguments are looked up."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from evidencerails.settings.base import Count, Positive, Section
from evidencerails.settings.knowledge import Function, SourceSettings


class ResolverSettings(Section):
    """Where the values of one argument must exist."""

    source: str | None = None
    """Name of a source, from `tools.sources` or `knowledge.sources`."""
    sources: tuple[str, ...] = ()
    """Several sources; the one of most authority is asked first."""
    function: Function = None
    """Import path `package.module:function`; it gets the value and returns True, False, a record or None."""
    match: Literal["exact", "folded"] = "exact"
    """Compare as written, or without case, accents and punctuation."""

    @model_validator(mode="after")
    def _one_place(self) -> ResolverSettings:
        if (self.source is not None) + bool(self.sources) + (self.function is not None) != 1:
            raise ValueError("give one of 'source', 'sources' and 'function'")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its sources."""
        return (self.source,) if self.source is not None else self.sources


class ToolsSettings(Section):
    """Tool calls: known tools, sources of values, and which argument is looked up where."""

    definitions: str | None = None
    """JSON file with the tools, for calls that come without them: a list of `{name, parameters}` or OpenAI's shape."""
    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    """Sources by a name of your own."""
    resolvers: dict[str, ResolverSettings] = Field(default_factory=dict)
    """By argument: `user_id`, `address.country` for a nested one, `delete_user.user_id` for one tool only."""
    budget_s: Positive = 5.0
    """Seconds for the calls of one turn; what was not checked by then is unverified."""
    max_calls: Count = 1_000
    """Calls of one turn that are looked at; more make the turn unverified."""
