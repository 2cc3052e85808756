"""The rails of this version by their flow names: what `init` offers, `doctor` plants and the documentation lists."""

from __future__ import annotations

from typing import NamedTuple

from evidencerails.adapters.nemo_flags import FLAGS

IMPORT_STATEMENT = "import evidencerails.plugin"
TOOL_FLOW = "check tool calls"
"""The flow under `rails.tool_output`; it has no flag."""


class Rail(NamedTuple):
    """One output flow."""

    flow: str
    check: str
    exception: str = ""
    """Empty for a rail that never blocks."""
    needs_evidence: bool = False
    message: str = "inform answer unknown"

    @property
    def flag(self) -> str:
        """The variable that asks for it."""
        return FLAGS[self.flow]

    @property
    def action(self) -> str:
        """The action that the flow calls."""
        return self.flow.replace(" ", "_")

    @property
    def can_block(self) -> bool:
        """False for a rail that only warns."""
        return bool(self.exception)


RAILS: dict[str, Rail] = {
    rail.flow: rail
    for rail in (
        Rail("self check hallucination", "consistency", "SelfCheckHallucinationRailException"),
        Rail("hallucination warning", "consistency", message="inform answer prone to hallucination"),
        Rail("check grounding", "grounding", "GroundingRailException", needs_evidence=True),
        Rail("check claims", "claims", "ClaimsRailException", needs_evidence=True),
        Rail("check citations", "citations", "CitationRailException", needs_evidence=True),
        Rail("check knowledge", "knowledge", "KnowledgeRailException"),
        Rail("check structure", "structure", "StructureRailException"),
        Rail("check logic", "logic", "LogicRailException"),
    )
}
