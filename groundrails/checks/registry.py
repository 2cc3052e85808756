"""The checks by name. Adding one: a file in this folder, a line here, a name in `config.CHECKS`."""

from __future__ import annotations

import importlib

from groundrails.checks.base import Check
from groundrails.errors import SettingsError

_HOMES = {
    "citations": "groundrails.checks.citations:CitationsCheck",
    "claims": "groundrails.checks.claims:ClaimsCheck",
    "consistency": "groundrails.checks.consistency:ConsistencyCheck",
    "grounding": "groundrails.checks.grounding:GroundingCheck",
    "knowledge": "groundrails.checks.knowledge:KnowledgeCheck",
    "logic": "groundrails.checks.logic.check:LogicCheck",
    "structure": "groundrails.checks.structure:StructureCheck",
    "tools": "groundrails.checks.tools:ToolsCheck",
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
