"""A response's JSON against a JSON Schema, with bounds on time and without a network.

The library `jsonschema` does the work. Three things of its are replaced, because schema and response come from outside:
regular expressions run in the `regex` module, which can stop after a time limit; the comparison behind `uniqueItems` is
linear; `multipleOf` is exact, so that 19.99 is a multiple of 0.01. Every keyword looks at the clock. References are
resolved inside the schema and to the drafts that come with the library; nothing is ever fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import regex

from evidencerails.checks.structure.formats import FORMATS
from evidencerails.checks.structure.schema_clock import Clock, SchemaProblem, compiled_pattern, running_clock
from evidencerails.checks.structure.schema_keywords import bounded

MAX_SCHEMA_DEPTH = 200

DEFAULT_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_DATA_KEYWORDS = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose value is data: what looks like a keyword inside is none."""


class Compiled(NamedTuple):
    """A schema that has been found valid, ready to be used."""

    validator: Any
    root: dict[str, Any]

    def errors(self, value: Any, clock: Clock) -> Iterator[Any]:
        """The library's errors, in order of the schema.

        Raises:
            SchemaProblem: a reference leads nowhere, or the time is up.
        """
        from referencing.exceptions import Unresolvable

        token = running_clock.set(clock)
        try:
            yield from list(self.validator.iter_errors(value))
        except Unresolvable as error:
            raise SchemaProblem(
                f"unresolved_ref: $ref {getattr(error, 'ref', str(error))!r} is not in the schema; references are "
                "never fetched: put what it names under $defs"
            ) from None
        except RecursionError:
            raise SchemaProblem("endless_ref: the schema's references lead in a circle") from None
        finally:
            running_clock.reset(token)


def compiled(schema: Any, *, formats: bool = True) -> Compiled:
    """A schema as a validator of its draft.

    Raises:
        SchemaProblem: it is not valid; the place and the reason are named.
    """
    if not isinstance(schema, Mapping):
        raise SchemaProblem(f"bad_schema: a JSON Schema is an object, got {type(schema).__name__}")
    try:
        source = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaProblem(f"bad_schema: it is not JSON: {error}") from None
    return _compiled(source, formats)


@lru_cache(maxsize=64)
def _compiled(source: str, formats: bool) -> Compiled:
    from jsonschema import FormatChecker
    from jsonschema.exceptions import SchemaError
    from jsonschema_specifications import REGISTRY

    try:
        schema = json.loads(source)
        if _depth(schema) > MAX_SCHEMA_DEPTH:
            raise SchemaProblem(f"bad_schema: nested deeper than {MAX_SCHEMA_DEPTH} levels")
        draft = _draft_of(schema)
        draft.check_schema(schema, format_checker=FormatChecker(formats=()))
        _check_patterns(schema)
        root = _without_dialects(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        raise SchemaProblem(f"bad_schema: at /{place}: {_short(error.message)}") from None
    except RecursionError:
        raise SchemaProblem("bad_schema: nested too deeply") from None
    checker = FormatChecker(formats=())
    checker.checkers = {name: (holds, ()) for name, holds in FORMATS.items()} if formats else {}
    return Compiled(bounded(draft)(root, registry=REGISTRY, format_checker=checker), root)


def _draft_of(schema: dict[str, Any]) -> Any:
    from jsonschema.validators import validator_for

    named = schema.get("$schema", DEFAULT_DRAFT)
    draft = validator_for({"$schema": named}, default=None) if isinstance(named, str) else None
    if draft is None:
        raise SchemaProblem(f"bad_schema: unknown draft {named!r:.100}; known: draft-03 to draft-07, 2019-09, 2020-12")
    return draft


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        ]
    return depth


def _check_patterns(node: Any, place: str = "") -> None:
    """Every pattern compiles: the library would only find out when it meets a text to match."""
    if isinstance(node, list):
        for index, child in enumerate(node):
            _check_patterns(child, f"{place}/{index}")
    if not isinstance(node, dict):
        return
    patterns = [node["pattern"]] if isinstance(node.get("pattern"), str) else []
    keyed = node.get("patternProperties")
    for pattern in (*patterns, *(keyed if isinstance(keyed, dict) else ())):
        try:
            compiled_pattern(pattern)
        except regex.error as error:
            raise SchemaProblem(f"bad_schema: at {place or '/'}: {pattern!r:.80} is no pattern: {error}") from None
    for key, child in node.items():
        if key not in _DATA_KEYWORDS:
            _check_patterns(child, f"{place}/{key}")


def _without_dialects(node: Any) -> Any:
    """The schema without `$schema`: at a reference to it the library would take its own, unbounded class again."""
    if isinstance(node, list):
        return [_without_dialects(child) for child in node]
    if not isinstance(node, dict):
        return node
    return {
        key: child if key in _DATA_KEYWORDS else _without_dialects(child)
        for key, child in node.items()
        if not (key == "$schema" and isinstance(child, str))
    }


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
