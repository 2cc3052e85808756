"""The keywords of `jsonschema` with bounds: each looks at the clock, patterns can be stopped, comparisons are exact."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from evidencerails.checks.structure.schema_clock import BoundedRe, running_clock


@lru_cache(maxsize=16)
def bounded(draft: Any) -> Any:
    """The validator class of a draft with its keywords rebound."""
    from jsonschema.validators import extend

    keywords = {name: _timed(_rebound(keyword)) for name, keyword in draft.VALIDATORS.items()}
    for name, ours in {"multipleOf": _multiple_of, "divisibleBy": _multiple_of, "format": _format}.items():
        if name in keywords:
            keywords[name] = _timed(ours)
    return extend(draft, keywords)


def _timed(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        running_clock.get().check()
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
        names["re"] = BoundedRe
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
