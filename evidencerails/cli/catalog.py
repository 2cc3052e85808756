"""The rails of this version by their flow names: what `init` offers, `doctor` plants and the documentation lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

IMPORT_PATH = "evidencerails/plugin"
IMPORT_STATEMENT = "import evidencerails.plugin"


TOOL_FLOW = "check tool calls"
"""The flow under `rails.tool_output`; it has no flag."""


class Rail(NamedTuple):
    """One output flow."""

    flow: str
    flag: str
    action: str
    check: str
    exception: str
    """Empty for a rail that never blocks."""
    message: str
    needs_evidence: bool
    can_block: bool


RAILS: dict[str, Rail] = {
    rail.flow: rail
    for rail in (
        Rail(
            flow="self check hallucination",
            flag="check_hallucination",
            action="self_check_hallucination",
            check="consistency",
            exception="SelfCheckHallucinationRailException",
            message="inform answer unknown",
            needs_evidence=False,
            can_block=True,
        ),
        Rail(
            flow="hallucination warning",
            flag="hallucination_warning",
            action="hallucination_warning",
            check="consistency",
            exception="",
            message="inform answer prone to hallucination",
            needs_evidence=False,
            can_block=False,
        ),
        Rail(
            flow="check grounding",
            flag="check_grounding",
            action="check_grounding",
            check="grounding",
            exception="GroundingRailException",
            message="inform answer unknown",
            needs_evidence=True,
            can_block=True,
        ),
        Rail(
            flow="check claims",
            flag="check_claims",
            action="check_claims",
            check="claims",
            exception="ClaimsRailException",
            message="inform answer unknown",
            needs_evidence=True,
            can_block=True,
        ),
        Rail(
            flow="check citations",
            flag="check_citations",
            action="check_citations",
            check="citations",
            exception="CitationRailException",
            message="inform answer unknown",
            needs_evidence=True,
            can_block=True,
        ),
        Rail(
            flow="check knowledge",
            flag="check_knowledge",
            action="check_knowledge",
            check="knowledge",
            exception="KnowledgeRailException",
            message="inform answer unknown",
            needs_evidence=False,
            can_block=True,
        ),
        Rail(
            flow="check structure",
            flag="check_structure",
            action="check_structure",
            check="structure",
            exception="StructureRailException",
            message="inform answer unknown",
            needs_evidence=False,
            can_block=True,
        ),
        Rail(
            flow="check logic",
            flag="check_logic",
            action="check_logic",
            check="logic",
            exception="LogicRailException",
            message="inform answer unknown",
            needs_evidence=False,
            can_block=True,
        ),
    )
}

_SETS = re.compile(r"^[ \t]*\$(\w+)[ \t]*=(?!=)(?![ \t]*False\b)", re.MULTILINE)


def variables_set(colang: Iterable[str]) -> set[str]:
    """Names of the variables that Colang texts of either version set, to anything but False; comments do not count."""
    return {name for text in colang for name in _SETS.findall(text)}
