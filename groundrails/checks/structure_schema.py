"""A response's JSON against a JSON Schema, with bounds on time and without a network.

The library `jsonschema` does the work. Three things of its are replaced, because schema and response come from outside:
regular expressions run in the `regex` module, which can stop after a time limit; the comparison behind `uniqueItems` is
linear; `multipleOf` is exact, so that 19.99 is a multiple of 0.01. Every keyword looks at the clock. References are
resolved inside the schema and to the drafts that come with the library; nothing is ever fetched.
"""

from __future__ import annotations

import json
import math
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import regex

from groundrails.checks.structure_formats import FORMATS

MAX_SCHEMA_DEPTH = 200
DEFAULT_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DATA_KEYWORDS = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose value is data: what looks like a keyword inside is none."""


class SchemaProblem(ValueError):
    """A schema that cannot be used: it is invalid, refers to what is not there, or takes too long."""


class Clock(NamedTuple):
    """Until when a validation may run, and how long one match of a pattern may take."""

    ends_at: float
    pattern_timeout_s: float

    @classmethod
    def start(cls, timeout_s: float, pattern_timeout_s: float) -> Clock:
        """A clock that runs from now."""
        return cls(time.monotonic() + timeout_s, pattern_timeout_s)

    def check(self) -> float:
        """Seconds that are left.

        Raises:
            SchemaProblem: none.
        """
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise SchemaProblem("timeout: the validation took longer than structure.timeout_s")
        return left


_clock: ContextVar[Clock] = ContextVar("groundrails_structure_clock")


class _BoundedRe:
    """Stands in for the module `re` inside the library's keywords."""

    @staticmethod
    def search(pattern: str, text: str) -> Any:
        clock = _clock.get()
        limit = min(clock.pattern_timeout_s, clock.check())
        try:
            return _pattern(pattern).search(text, timeout=limit, concurrent=True)
        except TimeoutError:
            raise SchemaProblem(
                f"pattern_timeout: the pattern {pattern[:80]!r} took longer than structure.pattern_timeout_s on a text "
                f"of {len(text)} characters; it may backtrack without end"
            ) from None


@lru_cache(maxsize=512)
def _pattern(pattern: str) -> Any:
    return regex.compile(pattern)


def bounded_search(pattern: str, text: str, clock: Clock) -> bool:
    """Whether a pattern is found, within the clock's limits.

    Raises:
        SchemaProblem: the limit is reached.
    """
    token = _clock.set(clock)
    try:
        return _BoundedRe.search(pattern, text) is not None
    finally:
        _clock.reset(token)


# ---- compiling


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

        token = _clock.set(clock)
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
            _clock.reset(token)


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
    return Compiled(_bounded(draft)(root, registry=REGISTRY, format_checker=checker), root)


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
            _pattern(pattern)
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


# ---- the library's keywords, bounded


@lru_cache(maxsize=16)
def _bounded(draft: Any) -> Any:
    """The validator class of a draft with its keywords rebound."""
    from jsonschema.validators import extend

    keywords = {name: _timed(_rebound(keyword)) for name, keyword in draft.VALIDATORS.items()}
    for name, ours in {"multipleOf": _multiple_of, "divisibleBy": _multiple_of, "format": _format}.items():
        if name in keywords:
            keywords[name] = _timed(ours)
    return extend(draft, keywords)


def _timed(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _clock.get().check()
        return keyword(validator, value, instance, schema)

    return timed


def _rebound(keyword: Any) -> Any:
    """The library's function with our `re`, `uniq` and `equal` in place of those it looks up in its module."""
    if not isinstance(keyword, types.FunctionType):
        return keyword
    return _copy(keyword, _namespace(keyword.__module__))


@lru_cache(maxsize=8)
def _namespace(module: str) -> dict[str, Any]:
    import importlib

    names: dict[str, Any] = dict(vars(importlib.import_module(module)))
    if "re" in names:
        names["re"] = _BoundedRe
    for name, thing in list(names.items()):
        if isinstance(thing, types.FunctionType) and thing.__module__.startswith("jsonschema."):
            own = thing.__module__ == module
            names[name] = _copy(thing, names if own else _namespace(thing.__module__))
    names.update({"uniq": _are_unique, "equal": _are_equal})
    return names


def _copy(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def canonical(value: Any) -> str:
    """A text that is equal for values that JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def _are_equal(one: Any, two: Any) -> bool:
    return canonical(one) == canonical(two)


def _are_unique(items: Sequence[Any]) -> bool:
    return len({canonical(item) for item in items}) == len(items)


def _multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "number") or not math.isfinite(instance) or not step:
        return
    value, unit = Decimal(str(instance)), Decimal(str(step))
    if abs(value.adjusted() - unit.adjusted()) < 1000 and not _divides(value, unit):
        yield ValidationError(f"{instance!r} is not a multiple of {step!r}")


def _divides(value: Decimal, unit: Decimal) -> bool:
    from fractions import Fraction

    return (Fraction(value) / Fraction(unit)).denominator == 1


def _format(validator: Any, name: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    holds = validator.format_checker.checkers.get(name, (None,))[0] if isinstance(name, str) else None
    if holds is not None and isinstance(instance, str) and not holds(instance):
        yield ValidationError(f"{instance!r} is not a {name!r}")


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
