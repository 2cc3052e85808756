"""A response's JSON against a JSON Schema, with bounds on time and without a network.

The library `jsonschema` does the work. Three things of its are replaced, because schema and response come from outside:
regular expressions run in the `regex` module, which can stop after a time limit; the comparison behind `uniqueItems` is
linear; `multipleOf` is exact, so that 19.99 is a multiple of 0.01. Every keyword looks at the clock. References are
resolved inside the schema and to the drafts that come with the library; nothing is ever fetched.
"""

from __future__ import annotations

import datetime
import difflib
import importlib
import ipaddress
import json
import math
import time
import types
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import regex

DEFAULT_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DATA_KEYWORDS = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose value is data: what looks like a keyword inside is none."""
MIN_KEYWORD_RATIO = 0.86
"""difflib's ratio from which a key is a keyword misspelt: `require` is, `note` is not `not`."""
_EXAMPLE = '{"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}'


class SchemaProblem(ValueError):
    """A schema that cannot be used: it is invalid, refers to what is not there, or takes too long."""


class Compiled(NamedTuple):
    """A schema that has been found valid, ready to be used."""

    validator: Any
    root: dict[str, Any]

    def errors(self, value: Any) -> list[Any]:
        """The library's errors, in order of the schema; to be called within a `time_limit`.

        Raises:
            SchemaProblem: a reference leads nowhere, or the time is up.
        """
        from referencing.exceptions import Unresolvable

        try:
            return list(self.validator.iter_errors(value))
        except Unresolvable as error:
            raise SchemaProblem(
                f"unresolved_ref: $ref {getattr(error, 'ref', str(error))!r} is not in the schema; references are "
                "never fetched: put what it names under $defs"
            ) from None
        except RecursionError:
            raise SchemaProblem("endless_ref: the schema's references lead in a circle") from None


def compiled(schema: Any) -> Compiled:
    """A schema, bare or as OpenAI wraps it, as a validator of its draft.

    Raises:
        SchemaProblem: it is not valid; the place and the reason are named.
    """
    if not isinstance(schema, Mapping):
        raise SchemaProblem(f"bad_schema: a JSON Schema is an object, got {type(schema).__name__}")
    try:
        source = json.dumps(_unwrapped(schema), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaProblem(f"bad_schema: it is not JSON: {error}") from None
    return _compiled(source)


def _unwrapped(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema inside OpenAI's `{name, strict, schema}` or `{type: "json_schema", json_schema: {...}}`."""
    is_format = schema.get("type") == "json_schema"
    named = schema["json_schema"] if is_format and isinstance(schema.get("json_schema"), Mapping) else schema
    inner = named.get("schema")
    is_named = isinstance(named.get("name"), str) and "type" not in named
    return inner if isinstance(inner, Mapping) and (is_format or is_named) else schema


@lru_cache(maxsize=64)
def _compiled(source: str) -> Compiled:
    from jsonschema import FormatChecker
    from jsonschema.exceptions import SchemaError
    from jsonschema_specifications import REGISTRY

    try:
        schema = json.loads(source)
        draft = _draft_of(schema)
        draft.check_schema(schema, format_checker=FormatChecker(formats=()))
        _check_keywords(schema, draft)
        _check_patterns(schema)
        root = _without_dialects(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        raise SchemaProblem(f"bad_schema: at /{place}: {error.message:.200}") from None
    except RecursionError:
        raise SchemaProblem("bad_schema: nested too deeply") from None
    checker = FormatChecker(formats=())
    checker.checkers = {name: (_format(*form), ValueError) for name, form in FORMATS.items()}
    return Compiled(_bounded(draft)(root, registry=REGISTRY, format_checker=checker), root)


def _draft_of(schema: dict[str, Any]) -> Any:
    from jsonschema.validators import validator_for

    named = schema.get("$schema", DEFAULT_DRAFT)
    draft = validator_for({"$schema": named}, default=None) if isinstance(named, str) else None
    if draft is None:
        raise SchemaProblem(f"bad_schema: unknown draft {named!r:.100}; known: draft-03 to draft-07, 2019-09, 2020-12")
    return draft


def _check_keywords(schema: dict[str, Any], draft: Any) -> None:
    """A key at the root that is a keyword misspelt, or a schema whose keys say nothing of a response, would let
    everything pass."""
    unknown = [key for key in schema if key not in _known_keywords()]
    plain = {_in_letters(keyword): keyword for keyword in draft.VALIDATORS}
    for key in unknown:
        if near := difflib.get_close_matches(_in_letters(key), plain, 1, MIN_KEYWORD_RATIO):
            raise SchemaProblem(f"bad_schema: {key!r:.80} is no keyword of JSON Schema; write {plain[near[0]]!r}")
    if unknown and not draft.VALIDATORS.keys() & schema:
        raise SchemaProblem(
            f"bad_schema: none of its keys ({', '.join(map(repr, schema)):.80}) is a keyword of JSON Schema that "
            f"asks anything of a response; a schema looks like {_EXAMPLE}"
        )


@lru_cache(maxsize=1)
def _known_keywords() -> frozenset[str]:
    """The keywords of all drafts."""
    from jsonschema_specifications import REGISTRY

    return frozenset(key for uri in REGISTRY for key in REGISTRY[uri].contents.get("properties", ()))


def _in_letters(key: str) -> str:
    return str(regex.sub(r"[\W_]", "", key)).lower()


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


# ---- time


PATTERN_TIMEOUT_S = 0.5
"""Seconds for one match of a pattern."""
_ends_at: ContextVar[float] = ContextVar("evidencerails_structure_ends_at")


@contextmanager
def time_limit(timeout_s: float) -> Iterator[None]:
    """How long all validation inside may take; beyond, `SchemaProblem` is raised there."""
    token = _ends_at.set(time.monotonic() + timeout_s)
    try:
        yield
    finally:
        _ends_at.reset(token)


def _left_s() -> float:
    left = _ends_at.get() - time.monotonic()
    if left <= 0:
        raise SchemaProblem("timeout: the validation took longer than structure.timeout_s")
    return left


def pattern_found(pattern: str, text: str) -> bool:
    """Whether a pattern is found in the text.

    Raises:
        SchemaProblem: the time is up.
    """
    try:
        return _pattern(pattern).search(text, timeout=min(PATTERN_TIMEOUT_S, _left_s()), concurrent=True) is not None
    except TimeoutError:
        raise SchemaProblem(
            f"pattern_timeout: the pattern {pattern[:80]!r} took longer than {PATTERN_TIMEOUT_S:g} s on a text of "
            f"{len(text)} characters; it may backtrack without end"
        ) from None


_TOKEN = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", regex.DOTALL)
"""An escape, a class, or `$`."""
_ESCAPE = regex.compile(r"\\(.)", regex.DOTALL)
_IS_MULTILINE = regex.compile(r"\(\?[a-zA-Z]*m")


@lru_cache(maxsize=512)
def _pattern(pattern: str) -> Any:
    """The pattern in the module that can stop a match, as JSON Schema means it (ECMA-262): `$` is the very end, where
    Python also stands before a last line break, and `\\d` a digit of ASCII, where Python takes those of any script."""
    is_multiline = bool(_IS_MULTILINE.search(pattern))

    def as_python(match: regex.Match[str]) -> str:
        token: str = match[0]
        if token == "$":
            return token if is_multiline else r"\Z"
        if token in (r"\d", r"\D"):
            return "[0-9]" if token == r"\d" else "[^0-9]"
        if token[0] == "[":
            return str(_ESCAPE.sub(lambda escape: "0-9" if escape[1] == "d" else escape[0], token))
        return token

    return regex.compile(_TOKEN.sub(as_python, pattern))


# ---- the library's keywords with these bounds


@lru_cache(maxsize=16)
def _bounded(draft: Any) -> Any:
    """The validator class of a draft whose keywords look at the clock and use our patterns and comparisons."""
    from jsonschema.validators import extend

    keywords = {name: _timed(_rebound(keyword)) for name, keyword in draft.VALIDATORS.items()}
    for name in {"multipleOf", "divisibleBy"} & keywords.keys():
        keywords[name] = _timed(_multiple_of)
    return extend(draft, keywords)


def _timed(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _left_s()
        return keyword(validator, value, instance, schema)

    return timed


def _rebound(keyword: Any) -> Any:
    """The library's function with our `re`, `uniq` and `equal` in place of those it looks up in its module."""
    return _copy(keyword, _namespace(keyword.__module__)) if isinstance(keyword, types.FunctionType) else keyword


@lru_cache(maxsize=8)
def _namespace(module: str) -> dict[str, Any]:
    names: dict[str, Any] = dict(vars(importlib.import_module(module)))
    for name, thing in list(names.items()):
        if isinstance(thing, types.FunctionType) and thing.__module__.startswith("jsonschema."):
            names[name] = _copy(thing, names if thing.__module__ == module else _namespace(thing.__module__))
    names.update(re=types.SimpleNamespace(search=pattern_found), uniq=_are_unique, equal=_are_equal)
    return names  # the very one: the copied functions look their names up in it


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

    is_number = validator.is_type(instance, "number") and math.isfinite(instance)
    if is_number and step and (Fraction(str(instance)) / Fraction(str(step))).denominator != 1:
        yield ValidationError(f"{instance!r} is not a multiple of {step!r}")


# ---- formats

_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
FORMATS: dict[str, tuple[str, Callable[[str], object]]] = {
    "date": (r"\d{4}-\d\d-\d\d", datetime.date.fromisoformat),
    "date-time": (rf"\d{{4}}-\d\d-\d\d[Tt ]{_CLOCK}", lambda text: datetime.date.fromisoformat(text[:10])),
    "time": (_CLOCK, str),
    "email": (r"[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*", str),
    "ipv4": (r"[\d.]+", ipaddress.IPv4Address),
    "ipv6": (r"[\da-fA-F:.]+", ipaddress.IPv6Address),
    "uri": (r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+", urlsplit),
    "uuid": (r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", uuid.UUID),
}
"""Each format that is checked: its form, and what reads it or raises ValueError (RFC 3339, 3986). Others are
annotations, as the standard has it."""


def _format(form: str, read: Callable[[str], object]) -> Callable[[Any], bool]:
    pattern = _pattern(form)

    def fits(value: Any) -> bool:
        return not isinstance(value, str) or bool(pattern.fullmatch(value) and read(value))

    return fits
