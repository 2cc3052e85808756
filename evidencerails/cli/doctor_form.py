"""Plants for the rails that look at an answer's form and logic: a wrong year tells them nothing.

The user's own schema is stood in for, as no answer that fits it is known here; what is proven is that the rail runs and
that its verdict holds. That the schema itself can be used is checked when the app starts.
"""

from __future__ import annotations

from typing import Any

from evidencerails.cli.doctor_standin import CLEAN, HALLUCINATION, Plant

STRUCTURE_FLOW = "check structure"
LOGIC_FLOW = "check logic"
FORM_PLANTS: dict[str, tuple[Plant, Plant]] = {
    STRUCTURE_FLOW: (
        HALLUCINATION._replace(answer='{"opened": "in spring"}'),
        CLEAN._replace(answer='{"opened": 1932}'),
    ),
    LOGIC_FLOW: (
        HALLUCINATION._replace(answer="Both tracks together are 2 * 412 = 825 metres long."),
        CLEAN._replace(answer="Both tracks together are 2 * 412 = 824 metres long."),
    ),
}
_STRUCTURE = {
    "schema": {"type": "object", "properties": {"opened": {"type": "integer"}}, "required": ["opened"]},
}


def with_own_schema(config: Any) -> None:
    """Put the stand-in in the place of the schema of a loaded config; changes the config."""
    settings = dict(config.custom_data.get("evidencerails") or {})
    config.custom_data = {**config.custom_data, "evidencerails": {**settings, "structure": _STRUCTURE}}
