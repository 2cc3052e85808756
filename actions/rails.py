"""The actions that the flows execute. NeMo runs this file by its path and takes what is marked as an action."""

from evidencerails.adapters.nemo import rail_action
from evidencerails.adapters.nemo_before import grounded_answer

__all__ = ["grounded_answer"]

self_check_hallucination = rail_action("self check hallucination")  # takes the place of NeMo's own
hallucination_warning = rail_action("hallucination warning")
check_grounding = rail_action("check grounding")
check_claims = rail_action("check claims")
check_citations = rail_action("check citations")
check_knowledge = rail_action("check knowledge")
check_structure = rail_action("check structure")
check_logic = rail_action("check logic")
check_tool_calls = rail_action("check tool calls")
check_answerability = rail_action("check answerability")
