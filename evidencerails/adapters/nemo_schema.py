"""The schema of one answer inside NeMo: a context variable of the app, in place of the settings' own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evidencerails.adapters.nemo_plugin import Rail
from evidencerails.errors import InputError
from evidencerails.exchange import Exchange
from evidencerails.settings.structure import StructureSettings

NO_SCHEMA = "no_schema"


def lacks_schema(rail: Rail, context: Mapping[str, Any], settings: StructureSettings) -> bool:
    """True if the rail is about structure and nothing says what the answer should look like."""
    return "structure" in rail.checks and not settings.has_rules and not context.get(settings.variable)


def with_schema(exchange: Exchange, context: Mapping[str, Any], settings: StructureSettings) -> Exchange:
    """The exchange with the schema of the context variable, if there is one.

    Raises:
        InputError: the variable holds neither an object nor the JSON of one.
    """
    value = context.get(settings.variable)
    if not value:
        return exchange
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"${settings.variable} is no JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise InputError(f"${settings.variable} must be a JSON Schema, an object; got {type(value).__name__}")
    return exchange.model_copy(update={"response_schema": dict(value)})
