"""Rules of the settings for single fields, and for a response that is a bare text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from evidencerails.checks.structure.json import Path
from evidencerails.checks.structure.schema import compiled
from evidencerails.checks.structure.schema_clock import Clock
from evidencerails.checks.structure.violations import Violation, violations_of_error
from evidencerails.settings.structure import FieldRule, ValueRule


def violations_of_field(value: Any, rule: FieldRule, formats: bool, clock: Clock) -> Iterator[Violation]:
    """What does not fit a rule at the places that its pointer names."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in rule.pointer.split("/")[1:]]
    for path, found, is_there in _places(value, parts, ()):
        if not is_there:
            if rule.required:
                yield Violation("missing_field", path, f"nothing is at {rule.pointer}", "required")
        else:
            for violation in _of_rule(found, rule, formats, clock):
                yield violation._replace(path=(*path, *violation.path))


def _places(value: Any, parts: Sequence[str], path: Path) -> Iterator[tuple[Path, Any, bool]]:
    """The places that a pointer with wildcards names, each with whether there is anything."""
    if not parts:
        yield path, value, True
        return
    part, rest = parts[0], parts[1:]
    if part == "*":
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in items:
            yield from _places(child, rest, (*path, key))
    elif isinstance(value, dict) and part in value:
        yield from _places(value[part], rest, (*path, part))
    elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
        yield from _places(value[int(part)], rest, (*path, int(part)))
    else:
        yield path, None, False


def _of_rule(value: Any, rule: ValueRule, formats: bool, clock: Clock) -> Iterator[Violation]:
    for error in compiled(_as_schema(rule), formats=formats).errors(value, clock):
        yield from violations_of_error(error, clock)


def _as_schema(rule: ValueRule) -> dict[str, Any]:
    """The rule as a JSON Schema of one value. A bound on numbers means that it is one; so with patterns and texts."""
    schema: dict[str, Any] = {
        "enum": list(rule.enum) if rule.enum is not None else None,
        "pattern": rule.pattern,
        "minimum": rule.minimum,
        "maximum": rule.maximum,
        "minLength": rule.min_length,
        "maxLength": rule.max_length,
        "type": getattr(rule, "type", None),
    }
    if schema["type"] is None and (rule.minimum is not None or rule.maximum is not None):
        schema["type"] = "number"
    elif schema["type"] is None and any(schema[name] is not None for name in ("pattern", "minLength", "maxLength")):
        schema["type"] = "string"
    return {name: part for name, part in schema.items() if part is not None}


def violations_of_text(text: str, rule: ValueRule, clock: Clock) -> Iterator[Violation]:
    """What is wrong with a response that is a bare text; white space around it counts for its pattern alone.

    Raises:
        SchemaProblem: the time is up.
    """
    bare = text.strip()
    if rule.minimum is not None or rule.maximum is not None:
        try:
            number = json.loads(bare)
        except (ValueError, RecursionError):
            number = bare
        bounds = ValueRule(minimum=rule.minimum, maximum=rule.maximum)
        yield from _of_rule(number, bounds, False, clock)
    others = rule.model_copy(update={"minimum": None, "maximum": None})
    if others.enum is not None:
        others = others.model_copy(update={"enum": tuple(str(item) for item in others.enum)})
    if others.pattern is not None:
        yield from _of_rule(text, ValueRule(pattern=others.pattern), False, clock)
        others = others.model_copy(update={"pattern": None})
    yield from _of_rule(bare, others, False, clock)
