"""The checks by name. Adding one: a file in this folder, a line here, a name in `config.CHECKS`."""

from __future__ import annotations

import importlib

from evidencerails.checks.base import Check
from evidencerails.errors import SettingsError

_HOMES = {
    "citations": "evidencerails.checks.citations.check:CitationsCheck",
    "claims": "evidencerails.checks.claims.check:ClaimsCheck",
    "consistency": "evidencerails.checks.consistency:ConsistencyCheck",
    "grounding": "evidencerails.checks.grounding:GroundingCheck",
    "knowledge": "evidencerails.checks.knowledge.check:KnowledgeCheck",
    "logic": "evidencerails.checks.logic.check:LogicCheck",
    "structure": "evidencerails.checks.structure.check:StructureCheck",
    "tools": "evidencerails.checks.tools:ToolsCheck",
}


def get_check(name: str) -> Check:
    """The check of that name.

    Raises:
        SettingsError: there is no such check.
    """
    if name not in _HOMES:
        raise SettingsError(f"unknown check {name!r}; available: {', '.join(sorted(_HOMES))}")
    module, attribute = _HOMES[name].split(":")
    check: Check = getattr(importlib.import_module(module), attribute)()
    return check
