"""Settings of outside knowledge: the sources the user trusts, the entities that are looked up in them, and where the
values of tool calls' arguments are looked up."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema, field_validator, model_validator

from evidencerails.report import Severity
from evidencerails.settings.base import Count, Pattern, Positive, Section
from evidencerails.settings.problems import nearest

SourceKind = Literal["jsonl", "csv", "sqlalchemy", "http", "callable", "knowledge_base"]


class _Kind(NamedTuple):
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    """Further keys, besides `_COMMON`."""
    authority: int
    """Its priority; 1 is asked first."""


_KINDS: dict[SourceKind, _Kind] = {
    "jsonl": _Kind(("path",), ("field", "fields"), 1),
    "csv": _Kind(("path",), ("field", "fields"), 1),
    "sqlalchemy": _Kind(("url", "table"), ("field", "fields"), 2),
    "http": _Kind(("url",), ("field", "results", "missing_status", "api_key_env", "allow_private"), 3),
    "callable": _Kind(("function",), (), 2),
    "knowledge_base": _Kind((), (), 1),
}
_COMMON = ("authority", "complete", "timeout_s")


def _checked_function(value: Any) -> Any:
    if value is None or callable(value):
        return value
    module, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not module or not name or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise ValueError("expected an import path such as 'package.module:function', or a function")
    return value


Function = Annotated[Any, AfterValidator(_checked_function), WithJsonSchema({"type": "string"})]
"""An import path `package.module:function`, or in Python the function itself."""


class SourceSettings(Section):
    """One source of knowledge that the user trusts."""

    kind: SourceKind
    """A file, a database, an HTTP service, a function, or the knowledge base of the guardrails app."""
    path: str | None = None
    """File of `jsonl` and `csv`; relative to the settings, else to the current directory."""
    table: str | None = None
    """Table of `sqlalchemy`."""
    field: str | None = None
    """Column or key that holds the values; in `http`, the dotted path to it in a match. Unset: the first column, the
    whole line of `jsonl`, the whole match."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Columns for the parts of an entity, such as `{author: authors, year: year, title: title}` for papers."""
    url: SecretStr | None = None
    """Of `sqlalchemy`: a database URL; an SQLite file is found as `path` is and opened read-only. Of `http`: a URL with
    the placeholder `{value}`."""
    results: str | None = None
    """Of `http`: dotted path to the matches in the JSON answer; unset: the answer itself."""
    missing_status: tuple[int, ...] = ()
    """Of `http`: statuses that mean "does not exist", such as 404; any other status but 200 is a failure."""
    api_key_env: str | None = None
    """Of `http`: environment variable with a key that is sent as bearer token."""
    allow_private: bool = False
    """Of `http`: allow addresses in private networks and on this machine."""
    function: Function = None
    """Of `callable`: import path `package.module:function`; it gets the value and returns True, False, a record or
    None."""
    authority: int | None = Field(default=None, ge=1, le=5)
    """1 is asked first, 5 last; unset: by kind. Equal ones are asked in the order given."""
    complete: bool | None = None
    """Whether a value that is not in it does not exist; unset: true, but false for `knowledge_base`."""
    timeout_s: Positive = 2.0
    """Seconds to wait for one lookup."""

    @field_validator("missing_status")
    @classmethod
    def _never_found(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 400 <= status < 500 for status in value):
            raise ValueError("expected statuses from 400 to 499")
        return value

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> SourceSettings:
        kind = _KINDS[self.kind]
        for key in kind.needs:
            if not getattr(self, key):
                raise ValueError(f"kind {self.kind!r} needs the key {key!r}")
        valid = sorted((*kind.needs, *kind.takes, *_COMMON))
        for key in sorted(self.model_fields_set - {"kind", *valid}):
            raise ValueError(f"key {key!r} means nothing for kind {self.kind!r}; its keys: {', '.join(valid)}")
        if self.kind == "http" and "{value}" not in self.secret_url:
            raise ValueError("the url of an http source needs '{value}' where the value belongs")
        return self

    @property
    def secret_url(self) -> str:
        """The URL in clear text; empty if there is none."""
        return self.url.get_secret_value() if self.url else ""

    @property
    def priority(self) -> int:
        """1 to 5; 1 is asked first."""
        return self.authority or _KINDS[self.kind].authority

    @property
    def is_complete(self) -> bool:
        """True if what it does not have does not exist."""
        return self.kind != "knowledge_base" if self.complete is None else self.complete


class EntitySettings(Section):
    """One kind of entity that must exist: how it is found in an answer, and where it is looked up."""

    sources: tuple[str, ...] = Field(min_length=1)
    """Names of sources, from `knowledge.sources`."""
    pattern: Pattern | None = None
    """Regular expression of your own kind; its group `value`, or the whole match, is looked up."""
    function: Function = None
    """Import path of your own extractor: it gets the text and yields (start, end) pairs."""
    severity: Severity | None = None
    """Severity of an invented one; unset: that of the kind, `high` for your own."""
    match: Literal["exact", "folded"] | None = None
    """Compare as written, or without case, accents and punctuation; unset: that of the kind, `exact` for your own."""

    @model_validator(mode="after")
    def _one_way_to_find_it(self) -> EntitySettings:
        if self.pattern is not None and self.function is not None:
            raise ValueError("give 'pattern' or 'function', not both")
        return self


class KnowledgeSettings(Section):
    """Outside knowledge: what must exist is looked up in sources the user trusts."""

    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    """Sources, by names of your choice."""
    entities: dict[str, EntitySettings] = Field(default_factory=dict)
    """Kinds of names that are looked up: `papers`, `ids`, or your own."""
    budget_s: Positive = 3.0
    """Seconds for all lookups of one answer; names not looked up by then are unverified."""
    min_severity: Severity = "medium"
    """Entities of a lower severity are not looked up."""

    @model_validator(mode="after")
    def _names_that_exist(self) -> KnowledgeSettings:
        for kind, entity in self.entities.items():
            for name in entity.sources:
                if name not in self.sources:
                    hint = nearest(name, tuple(self.sources))
                    raise ValueError(f"entities.{kind}.sources names {name!r}, which is not in knowledge.sources{hint}")
        return self


class ResolverSettings(Section):
    """Where the values of one argument must exist."""

    source: str | None = None
    """Name of a source, from `tools.sources` or `knowledge.sources`."""
    sources: tuple[str, ...] = ()
    """Several sources, asked in the order of their authority."""
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
    """JSON file with the tools, for requests without them: a list of `{name, parameters}`, or OpenAI's format."""
    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    """Sources, by names of your choice."""
    resolvers: dict[str, ResolverSettings] = Field(default_factory=dict)
    """By argument: `user_id`, `address.country` for a nested one, `delete_user.user_id` for one tool only."""
    budget_s: Positive = 5.0
    """Seconds for the calls of one turn; calls not checked by then are unverified."""
    max_calls: Count = 1_000
    """Calls of one turn that are checked; with more, the turn is unverified."""
